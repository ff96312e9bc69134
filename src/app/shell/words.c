/* app/shell/words.c -- see words.h. */
#include "app/shell/words.h"

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
