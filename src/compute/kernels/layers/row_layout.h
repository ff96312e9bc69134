/* compute/kernels/layers/row_layout.h -- what a row of inputs consists of: numbers, and sequences
 * behind them. */
#ifndef GPDESK_ROW_LAYOUT_H
#define GPDESK_ROW_LAYOUT_H

#include <stddef.h>

/* The kinds of a part of a row: numbers in columns, or positions that hold symbols, vectors or
 * counts.  A layer says in the same terms what it reads, a kind of rows what it provides
 * (data/kinds). */
enum { ROWS_NUMBERS = 1, ROWS_SYMBOLS = 2, ROWS_VECTORS = 4, ROWS_COUNTS = 8 };
/* The numbers of a position of ROWS_COUNTS: its place (0 to 2^32 - 1), in ascending order, and its
 * value (above 0). */
enum { COUNTS_CHANNELS = 2 };

/* A part with positions: the number of positions of a row, then each position: a symbol (below
 * `channels` it stands for that unit vector, else for the zero vector), or `channels` numbers.
 * What follows the last position, up to the next part, has no meaning. */
struct row_part {
    unsigned rows;    /* ROWS_SYMBOLS, ROWS_VECTORS or ROWS_COUNTS */
    size_t channels;
    size_t positions; /* of the longest training row, for costs; 0: not known */
    size_t others;    /* the last of the symbols, none or one, that stand for all other letters:
                       * no letters of the alphabet */
};

/* A row has `flat` numbers (or none), then its parts with positions; without such parts all of it
 * is numbers.  A single part begins right behind the numbers.  Several begin where the row says:
 * there is one number for each of them after the `flat` ones, the index in the row at which it
 * begins.  So new rows may hold longer sequences than those that a kernel was made for.  These
 * numbers are equal in all rows of a source. */
enum { ROW_PARTS_MOST = 8 };
struct row_layout { size_t flat, nparts; struct row_part part[ROW_PARTS_MOST]; };

/* The numbers before the first part. */
static inline size_t row_layout_head(const struct row_layout *l)
{
    return l->flat + (l->nparts > 1 ? l->nparts : 0);
}

#endif
