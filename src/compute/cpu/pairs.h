/* compute/cpu/pairs.h -- kernel values of many pairs of rows, and their products with vectors, in
 * single precision: the loops of each vector level (share/doc/methods.md 5.8, 5.9).
 *
 * The two rows of a pair are called row and column, after the kernel matrix.  What a kernel reads
 * of either is a list of numbers, its entries: inputs over their lengthscales, centred, as floats.
 * Columns lie in panels: entry e of column j is panel[e * PAIRS_PANEL + j].  Rows lie in groups:
 * entry e of row r is group[e * PAIRS_GROUP + r].  Values of a group with PAIRS_COLS columns are a
 * tile, K[r * PAIRS_COLS + j].
 *
 * Squared distances are sums of squares of differences, never differences of sums of squares, so
 * that rows that almost coincide keep their digits.  An input that is large beside its lengthscale
 * has two entries, whose sum it is: the nearest float and the nearest to the rest. */
#ifndef GPDESK_PAIRS_H
#define GPDESK_PAIRS_H

#include "compute/backend.h"
#include "compute/kernels/kernel.h"

#include <stdbool.h>
#include <stddef.h>

enum { PAIRS_PANEL = 64, PAIRS_COLS = 256, PAIRS_GROUP = 12 };
/* Vectors are multiplied in units of 16 at once; up to PAIRS_SINGLE are left for single sums. */
enum { PAIRS_UNIT = 16, PAIRS_SINGLE = 8, PAIRS_LANES = 16 };

/* The entries of a row: `plain` inputs with one, then `split` inputs with two each, first all
 * floats and then all rests.  dot: the number of a pair is the sum of products, not the squared
 * distance. */
struct pairs_entries { size_t plain, split; bool dot; };

/* How numbers s of pairs become values: weight times
 *   KERNEL_GAUSS  2^-s
 *   KERNEL_DECAY  (1 + p1 a + p2 a^2) 2^-a, a = sqrt(s)
 *   KERNEL_POWER  (1 + s)^-p1
 *   KERNEL_DOT, KERNEL_ONE  as in kernel.h
 * or a table (backend_radial in backend.h) over v = r / (1 + r), r = sqrt(s).  The result is
 * stored, multiplies what is there, or is added to it. */
enum pairs_mode { PAIRS_STORE, PAIRS_TIMES, PAIRS_ADD };
struct pairs_value {
    enum kernel_form form;
    float c, p1, p2, weight;
    const float *table; /* NULL: the form */
};
/* A closed form in these terms, with weight 1; all entries are to be multiplied by *scale. */
struct pairs_value pairs_value(const struct kernel_closed *, double *scale);

/* How many of k vectors are multiplied in units (the last one padded with zeros), and alone. */
struct pairs_vectors { size_t k, units, single; };
struct pairs_vectors pairs_vectors(size_t k);
/* Floats that a tile of PAIRS_COLS columns of these vectors takes, and doubles of its sums for a
 * row. */
size_t pairs_vectors_size(struct pairs_vectors);
size_t pairs_sums_size(struct pairs_vectors);

struct pairs_loops {
    /* S[r * PAIRS_COLS + j] <- the number of each pair of `rows` rows of a group with `cols`
     * columns of consecutive panels, a multiple of PAIRS_PANEL.  rows is rounded up. */
    void (*numbers)(struct pairs_entries, const float *panels, size_t cols, const float *group,
                    size_t rows, float *S);
    /* The values of such numbers, in K; K may be S. */
    void (*values)(const struct pairs_value *, enum pairs_mode, size_t rows, size_t cols,
                   const float *S, float *K);
    /* Converts columns j0 .. j0 + cols (at most PAIRS_COLS; the rest is 0) of k vectors, ldv
     * apart. */
    void (*vectors)(struct pairs_vectors, size_t cols, const double *V, size_t ldv, float *to);
    /* Adds to the sums of each row those of K times these vectors over the columns of a tile. Sums
     * of a tile are single, over tiles double. */
    void (*sums)(struct pairs_vectors, size_t rows, size_t cols, const float *K, const float *V,
                 double *sums);
};

/* The sum of vector c from the sums of a row. */
double pairs_sum(struct pairs_vectors, const double *sums, size_t c);

#endif
