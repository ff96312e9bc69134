/* app/shell/words.c -- see words.h. */
#include "app/shell/words.h"

#include <string.h>

static const struct words_row *const none[] = { NULL };
static const struct words_row *const *rows = none;

void words_use(const struct words_row *const *list)
{
    rows = list;
}

const struct words_row *words_of(enum arg_type type)
{
    for (size_t i = 0; rows[i]; i++)
        if (rows[i]->type == type)
            return rows[i];
    return NULL;
}

static const struct words_row *named(const char *name, size_t len)
{
    for (size_t i = 0; rows[i]; i++)
        if (rows[i]->name && strlen(rows[i]->name) == len && !strncmp(rows[i]->name, name, len))
            return rows[i];
    return NULL;
}

void words_expand(const char *text, struct buf *out)
{
    for (const char *p = text; *p;) {
        const size_t len = *p == '{' ? strcspn(p + 1, "{}") : 0;
        const struct words_row *w = len && p[len + 1] == '}' ? named(p + 1, len) : NULL;
        const char *name;
        if (!w) {
            buf_putc(out, *p++);
            continue;
        }
        for (size_t i = 0; (name = w->at(NULL, i)) != NULL; i++)
            buf_printf(out, "%s%s", i ? ", " : "", name);
        p += len + 2;
    }
}
