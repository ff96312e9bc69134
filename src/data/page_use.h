/* data/page_use.h -- how much of a table on disk a loop over its rows brings into memory (spill.h),
 * and whether the files it is read from have changed. */
#ifndef GPDESK_PAGE_USE_H
#define GPDESK_PAGE_USE_H

#include "data/table.h"
#include "base/spill.h"

/* Rows handled together; rows that are far apart bring 64 KB per column into memory. */
enum { PAGE_USE_PIECE = 32 };

/* Bytes from one row of a column to the next. */
size_t page_use_row_bytes(const struct column *);
/* Bytes that these rows bring into memory, `width` bytes from one to the next: the system maps
 * about 64 KB around each. */
size_t page_use_touched(const size_t *row, size_t n, size_t width);
/* Call it in a loop over rows after reading row i. */
static inline void page_use_step(const size_t *rows, size_t i, size_t width)
{
    if (i % PAGE_USE_PIECE == PAGE_USE_PIECE - 1)
        spill_used(page_use_touched(rows + i + 1 - PAGE_USE_PIECE, PAGE_USE_PIECE, width));
}
/* Checks that the rows first..last, if they are read in place, have not changed. IO "changed". */
enum status page_use_check(const struct table *, size_t first, size_t last, struct err *err);

#endif
