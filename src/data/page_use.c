/* data/page_use.c -- see page_use.h. */
#include "data/page_use.h"

size_t page_use_row_bytes(const struct column *c)
{
    if (c->type == COL_HELD)
        return c->cells->row_bytes(c);
    return c->in != NULL ? mapped_array_stride(c->in) : c->type == COL_CATEGORY ? sizeof *c->code
                                                                          : sizeof *c->v;
}

size_t page_use_touched(const size_t *row, size_t n, size_t width)
{
    const size_t ends = n == 0                ? 0
                        : row[n - 1] > row[0] ? row[n - 1] - row[0]
                                              : row[0] - row[n - 1];
    const size_t columns = width / sizeof(double) + 1, most = n * 65536 * columns;
    const size_t span = (ends + 1) * width;

    if (n == 1) /* rows are not read one after the other */
        return most;
    return span < 1024 ? 1024 : span < most ? span : most; /* rows ascend, or nearly so */
}

enum status page_use_check(const struct table *t, size_t first, size_t last, struct err *err)
{
    const enum status rc = table_check(t, first, last, err);

    if (rc != ST_OK || spill_cut() == t->cuts)
        return rc;
    err_named(err, ST_IO, "changed",
              "a file in which the data is kept was cut short while it was in use");
    err_hint(err, "open the data again");
    return ST_IO;
}
