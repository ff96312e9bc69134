/* data/kinds/kind_note.c -- what the notes of several kinds of rows have in common. */
#include "data/kinds/kind.h"

void kind_note_empty(const struct table *t, const struct column *c, const char *whole,
                     const char *part, struct buf *notes)
{
    size_t empty = 0, first = 0;

    for (size_t i = 0; i < t->n; i++)
        if (column_missing(c, i) && empty++ == 0)
            first = i;
    if (empty == 0)
        return;
    const bool record = c->cells->line != NULL && c->cells->line(c, first) > 0;
    buf_printf(notes, "warning[empty]: %zu %s%s without a %s, first ", empty,
               record ? "record" : whole, empty == 1 ? " is" : "s are", part);
    table_where(t, c, first, notes);
    buf_puts(notes, ": missing drop leaves such rows out\n");
}

void kind_note_lengths(size_t shortest, size_t longest, const char *part, struct buf *out)
{
    if (shortest == longest)
        buf_printf(out, "%zu %ss each", longest, part);
    else
        buf_printf(out, "%zu to %zu %ss", shortest, longest, part);
}
