/* data/kinds/kind_type.c -- the words by which types= and `cols type=` name the type of a column.
 * They depend only on the list of kinds, so that formats can use them. */
#include "data/kinds/kind.h"

#include <stdio.h>
#include <string.h>

#define KIND_TYPE(name, type) type,
static const char *const types[] = { [COL_REAL] = "real", [COL_CATEGORY] = "category",
                                     [COL_TEXT] = "text", KIND_ROWS(KIND_TYPE) };
#undef KIND_TYPE
enum { NTYPES = sizeof types / sizeof *types };

/* True if word k exists and differs from those before it. */
static bool is_new(size_t k)
{
    for (size_t i = 0; types[k] != NULL && i < k; i++)
        if (types[i] != NULL && strcmp(types[i], types[k]) == 0)
            return false;
    return types[k] != NULL;
}

const char *kind_type_at(size_t i)
{
    for (size_t k = 0; k < NTYPES; k++)
        if (is_new(k) && i-- == 0)
            return types[k];
    return NULL;
}

const char *kind_type_choices(void)
{
    static char words[256];
    char *end = words;
    const char *type;

    for (size_t i = 0; (type = kind_type_at(i)) != NULL; i++)
        end += snprintf(end, (size_t)(words + sizeof words - end), "%s%s", i > 0 ? "|" : "", type);
    return words;
}
