/* compute/features/fop_panel.h -- the workspace of a product Z'B over all rows (fop_products.c):
 * how its rows are cut and what its sums can be at most. */
#ifndef GPDESK_FOP_PANEL_H
#define GPDESK_FOP_PANEL_H

#include "compute/cpu/simd.h"
#include "compute/features/fop_impl.h"

#include <stdatomic.h>

enum {
    CHUNK_ROWS = 256,   /* the most rows whose products are summed in float32 */
    CHUNK_STEP = 32,    /* rows that matrix units take at once */
    TERM_ROWS = 2048,   /* the most rows of a term, where a product is not summed by segments */
    BLOCK_ROWS = 4096,  /* the most rows that tasks share, if a term has no more */
    PIECE_ROWS = 64,    /* rows of them that a task makes */
    OWN_CHUNKS = 4,     /* chunks in a block of a task's own */
    SKETCH_ROWS = 128,  /* rows and columns of Z Omega that a task makes */
    SKETCH_COLS = 128,
    TILE = 512,         /* edge of a tile of the result, */
    TILE_LEAST = 256,   /* less where there are not TASKS tiles, */
    TILE_UNITS = 256,   /* on matrix units */
    TASKS = 64,         /* tasks that a product should have */
    PAD = 16,           /* keeps rows of Z from falling into the same cache sets */
    STRIP = 1024,       /* numbers whose units are found at a time */
};

static inline size_t at_least(size_t a, size_t b)
{
    return a > b ? a : b;
}

static inline size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How a product of n rows is shared, by n, the columns of both factors and the precision alone. */
struct cut {
    bool apart;             /* by segments */
    size_t segments, edge;  /* segments: a power of two (share.h) */
};

/* Rows whose sums are a term of the sum over all rows (fold.h): a segment, or a part of one.  They
 * are cut into chunks of about equal length, multiples of CHUNK_STEP but for the last. */
struct term { size_t r0, rows, chunks; };

/* The first row of chunk c. */
static inline size_t chunk_row(const struct term *t, size_t c)
{
    const size_t steps = (t->rows + CHUNK_STEP - 1) / CHUNK_STEP;

    return t->r0 + at_most(t->rows, steps * c / t->chunks * CHUNK_STEP);
}

/* Chunks c0 to c1 - 1 of a term, which a block has from its chunk `slot` on. */
struct span { const struct term *t; size_t c0, c1, slot; };

/* Some rows that a task makes, of the block's term number `term` and in its chunk `slot`. */
struct slice { size_t r0, r1, term, slot; };

/* Rows of features, from row0 on, and where their products go. */
struct block {
    size_t row0;
    char *z, *b;    /* Z and the right factor, row-major or packed */
    double *C;      /* of the product, with leading dimension ldc */
    size_t ldc;
};

/* The workspace of one product Z'B over rows, in single or double precision; B is Z again (Gram),
 * dZ, or Z Omega (sketch). */
struct panel {
    struct fop *f;
    bool dbl;
    struct cut cut;
    struct term *term;         /* those whose rows are here */
    size_t terms, count, rows; /* how many; of all processes, at most; the most rows of one */
    size_t size, most;         /* bytes of a number; rows of a block */
    size_t slots;              /* chunks of a block */
    size_t ldz, ldb, L;        /* leading dimensions; columns of the right factor */
    bool own;                  /* the right factor is not Z itself */
    struct block *block;       /* one, or one for each worker */
    char *z, *b;               /* their rows (b NULL: the right factor is Z) */
    size_t z_bytes, b_bytes;   /* of one block */
    const struct simd_tiles *units; /* matrix units: z and b hold packed chunks, chunk_bytes
                                     * apart */
    size_t chunk_bytes;
    char *omega;               /* sketch: M x L */
    bool derivative;           /* b is dZ/dlog hp[ihp] */
    size_t ihp;
    char *tmp;                 /* for each worker: a chunk's product, rows of dtile or to be
                                * packed */
    size_t tmp_bytes;
    double *sum;               /* for each worker a tile of the result, and what blocks add to it;
                                * or for each segment of a batch its result: columns of lds */
    size_t lds, batch;
    double *rest;              /* the second fold, M x L, or NULL */
    size_t ny;                 /* Gram: also Z'y for ny vectors y of n, by slices or segments */
    const double *y;
    double *zty, *zty_rest;    /* parts of ny x M; its second fold */
    bool centred;              /* rows of Z lack the centre, and their sums are wanted */
    double *cols;              /* parts of M, sums of columns; then the total and its second fold */
    size_t parts;
    double *C;                 /* result: M x L, column-major */
    size_t ldc;
    bool lower;                /* only tiles on and below the diagonal */
    /* Bounds of the sums of a term: its entry (i, j) is at most di[i] dj[j]; that of Z'y
     * dz[i] dy[t]; that of a column times ds at most. */
    double *di, *dj, *dz, *dy, ds;
    atomic_bool beyond;        /* a term was more than its bound */
    const struct ctl *ctl;
    size_t at, now;            /* the first term of the batch or block, and how many there are */
    struct slice *slice, *strip; /* of the block: rows that tasks make, and multiply by omega */
    size_t slices, strips;
    atomic_int failed;
    struct err *errs;          /* of each part */
};

static inline double row_factor(const struct fop *f, size_t row)
{
    return f->row_scale ? f->row_scale[row] : 1.0;
}

/* fop_panel.c: a workspace.  right: the columns of the right factor if it has storage of its own,
 * else 0. */
struct panel *fop_panel_new(struct fop *, size_t right, bool units, bool lower, struct err *);
/* For a Gram (lower), or for Z'dZ; and gives it back. */
struct panel *fop_panel_gram(struct fop *, bool derivative, struct err *);
void fop_panel_done(struct panel *);
/* How many terms the block from term `at` on has. */
size_t fop_panel_block(const struct panel *, size_t at);

/* fop_products.c: rows r0 to r1 - 1 of dZ, and n columns from j on of Z Omega. */
enum status fop_product_slopes(struct panel *, size_t r0, size_t r1, size_t worker, char *out,
                               struct err *);
void fop_product_omega(const struct panel *, size_t rows, const char *z, size_t j, size_t n,
                       char *b);

/* fop_bounds.c: finds the bounds of terms, from a sample of rows or from all. */
enum status fop_bounds_find(struct panel *, bool all, struct err *);

#endif
