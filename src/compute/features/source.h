/* compute/features/source.h -- rows of inputs, wherever they are stored.  compute reads data only
 * through this interface; the program implements it over its tables, tests implement it over
 * arrays. */
#ifndef GPDESK_SOURCE_H
#define GPDESK_SOURCE_H

#include "base/status.h"
#include "compute/kernels/layers/row_layout.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most targets that one model can have, with one kernel and one noise ratio for all: classes,
 * each of which is one, or columns of numbers. */
enum { TARGETS_MOST = 256, TARGET_COLUMNS_MOST = 64 };
/* Targets that are labels, 0 to classes - 1 (at most TARGETS_MOST classes), what is added to the
 * count of each class, and whether all classes weigh the same (compute/likelihood/dirichlet.h);
 * classes 0: they are numbers. */
struct source_labels { size_t classes; double alpha; bool balanced; };

/* Where the numbers of rows lie in files, for processes that see the same files.  It is a hint:
 * whoever reads there checks the rows by their own sum (compute/ranks/content.h), since a file may
 * be another one on another machine, or another one by now.
 *
 * A file has `rows` rows of an array, from row `first` on.  The number of row r and column c is at
 * byte at + (r - first) row + c column: a real ('f'), signed ('i'), unsigned ('u') or truth value
 * ('b') of `size` bytes, in the other byte order with `swap`. */
struct source_file {
    const char *path;
    uint64_t first, rows, at, row, column;
    uint32_t size;
    char kind;
    bool swap;
};
/* What becomes of a number of the file: itself; 1 where it is `is`, else 0; 1 where it is missing,
 * else 0.  Missing are NaN and, of whole numbers that name a level, UINT32_MAX; `fill` then takes
 * the place.  Last it is scaled (source_scaled). */
enum source_reads { SOURCE_NUMBER, SOURCE_IS, SOURCE_MISSING };
struct source_input {
    uint32_t file, files; /* those of the array, one behind the other by rows */
    uint32_t column;      /* of the array */
    uint32_t reads;       /* enum source_reads */
    double is, fill, mean, sd, limit;
    bool constant;
};
struct source_places {
    size_t nfiles, d;
    const struct source_file *file;
    const struct source_input *input; /* d */
    const size_t *row;                /* of each row of the source, that of the arrays */
};
/* (x - mean) / sd, limited to -limit..limit unless limit is 0; *cut is set where it was. */
static inline double source_scaled(double x, double mean, double sd, double limit, bool *cut)
{
    const double z = (x - mean) / sd;

    *cut = limit > 0.0 && fabs(z) > limit;
    return *cut ? copysign(limit, z) : z;
}

struct source {
    size_t n, d; /* rows, inputs (numbers of a row) */
    /* Writes rows r0..r1-1 into x ((r1-r0) x d, row-major), already standardised.  It is called
     * from several threads at the same time and must not keep state between calls. */
    enum status (*rows)(const struct source *, size_t r0, size_t r1, double *x, struct err *);
    void *ctx;
    /* n square roots of the weights of rows (the noise variance of row i is noise^2 / w_i), or
     * NULL: all 1.  Training multiplies features and targets by them; prediction does not use
     * them. */
    const double *row_scale;
    /* What a row consists of; without parts it is d numbers.  Kernels over windows (LAYER_WINDOWS)
     * read a part each, all others the numbers. */
    struct row_layout layout;
    /* Sources with one name have the same rows; 0: none is known. */
    uint64_t name;
    const struct source_places *places; /* NULL: not known */
};

/* A source over a row-major n x d array, which is borrowed. */
struct source_array { struct source base; const double *x; size_t ld; };
void source_array_init(struct source_array *, const double *x, size_t n, size_t d, size_t ld);
/* A source of rows idx[0..n) of another source; both are borrowed.  If that has a row_scale, the
 * caller has to gather it. */
struct source_subset { struct source base; const struct source *of; const size_t *idx; };
void source_subset_init(struct source_subset *, const struct source *of, const size_t *idx,
                        size_t n);

/* True if a row of d numbers from elsewhere is as the layout says: its parts begin and end in it,
 * and places of counts are in order. */
bool source_row_sound(const struct row_layout *, size_t d, const double *row);
/* SHAPE unless the kernel can read these rows. */
struct kernel;
enum status source_suits(const struct source *, const struct kernel *, struct err *);

#endif
