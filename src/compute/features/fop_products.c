/* compute/features/fop_products.c -- products of matrix with matrix for a feature operator: Gram,
 * its derivative, sketches.  Rows come in chunks; a tile's sums inside one chunk are float32, and
 * chunks meet in float64.  On matrix units (simd_tiles) the Grams take features packed for them,
 * rounded to 17 bits.
 *
 * There are two ways to share the work, and sizes alone choose.  A small result is summed over
 * segments of rows: a task makes the chunks of its segment and adds their products to sums of its
 * own, and segments are added in order.  A larger one is dealt out by
 * its tiles: a block of rows is made by small pieces, then tasks walk over its chunks in order.
 * Either way nothing depends on who computed what, nor on how many segments or rows the workspace
 * holds at a time. */
#include "compute/features/fop_impl.h"

#include "base/limits.h"
#include "base/mem.h"
#include "compute/cpu/simd.h"
#include "compute/features/gram.h"
#include "compute/linalg/blas.h"
#include "compute/linalg/blas_kernels.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_ROWS = 256,   /* rows whose products are summed in float32 */
    CHUNKS_MOST = 16,   /* chunks in a block of rows that tasks share */
    PIECE_ROWS = 64,    /* rows of it that a task makes */
    PIECES_MOST = CHUNKS_MOST * CHUNK_ROWS / PIECE_ROWS,
    OWN_CHUNKS = 4,     /* chunks in a block of a task's own */
    SKETCH_ROWS = 128,  /* rows and columns of Z Omega that a task makes */
    SKETCH_COLS = 256,
    TILE = 512,         /* edge of a tile of the result, */
    TILE_LEAST = 256,   /* less where there are not TASKS tiles, */
    TILE_UNITS = 256,   /* on matrix units */
    TASKS = 64,         /* tasks that a product should have, */
    SEGMENT_MOST = 32,  /* but chunks in a segment, */
    SEGMENT_LEAST = 2,  /* and at least so many, or twice as many with more than SMALL columns */
    SMALL = 512,
    SEGMENTED = 2048,   /* results of this edge squared or less are summed by segments */
    MERGE_COLS = 8,     /* columns of the result in which a task adds up segments */
    MIRROR = 256,       /* edge of a tile that a task mirrors */
    PAD = 16,           /* keeps rows of Z from falling into the same cache sets */
};
static const size_t sums_bytes = (size_t)128 << 20; /* of segments, but one for each thread */
/* Of a workspace of a Gram that is kept, and for each thread. */
static const size_t stays_bytes = (size_t)64 << 20, stays_each = (size_t)8 << 20;

/* How a product of n rows is shared, by n, the columns of both factors and the precision alone. */
struct cut {
    bool apart;             /* by segments */
    size_t chunks, segments, edge;
};

static size_t at_least(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Tiles of a result, of which only those on and below the diagonal are made with `lower`. */
static size_t tiles_of(size_t M, size_t L, size_t edge, bool lower)
{
    const size_t down = blas_tiles(M, edge);

    return lower ? down * (down + 1) / 2 : down * blas_tiles(L, edge);
}

static struct cut cut_of(size_t n, size_t M, size_t L, bool units, bool lower)
{
    struct cut cut = { .chunks = blas_tiles(n, CHUNK_ROWS), .segments = 1 };
    const bool small = M * L <= (size_t)SMALL * SMALL;
    const size_t least = small ? SEGMENT_LEAST : 2 * SEGMENT_LEAST;
    const size_t worth = small                                    ? 4 * SEGMENT_LEAST
                         : M * L <= (size_t)4 * SMALL * SMALL ? 64
                                                                  : 256;

    cut.apart = M * L <= (size_t)SEGMENTED * SEGMENTED && cut.chunks >= worth;
    if (cut.apart) {
        const size_t each = at_least(least, blas_tiles(cut.chunks, TASKS));
        cut.segments = blas_tiles(cut.chunks, at_most(each, SEGMENT_MOST));
    }
    cut.edge = units ? TILE_UNITS : TILE;
    while (!units && !cut.apart && cut.edge > TILE_LEAST &&
           tiles_of(M, L, cut.edge, lower) < TASKS)
        cut.edge -= TILE_LEAST / 2;
    return cut;
}

/* The first chunk of segment s. */
static size_t segment_from(const struct cut *cut, size_t s)
{
    return cut->chunks * s / cut->segments;
}

/* Bytes of the sums of a segment that are touched. */
static double segment_bytes(size_t M, size_t L, size_t edge, bool lower)
{
    const double down = (double)(M + PAD), across = (double)L;

    return 8.0 * (lower && M > edge ? 0.5 * across * (down + (double)edge) : across * down);
}

/* Segments that are summed at a time: up to four for each thread, at least one. */
static size_t batch_of(const struct cut *cut, double bytes, size_t threads)
{
    const size_t held = (size_t)((double)sums_bytes / bytes) / threads;

    return at_most(cut->segments, threads * at_least(1, at_most(4, held)));
}

/* Rows of features, in chunks, and where their products go. */
struct block {
    size_t r0, rows, chunks;
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
    size_t size, most;         /* bytes of a number; rows of a block */
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
    double *sum;               /* for each worker a tile of the result; or for each segment of a
                                * batch its result: columns of lds */
    size_t lds, batch;
    size_t ny;                 /* Gram: also Z'y for ny vectors y of n, by pieces or segments */
    const double *y;
    double *zty;               /* parts of ny x M */
    double *cols;              /* with a centre: parts of M, sums of columns; then the total */
    size_t parts;
    double *C;                 /* result: M x L, column-major */
    size_t ldc;
    bool lower;                /* only tiles on and below the diagonal */
    const struct ctl *ctl;
    size_t segment;            /* the first of the batch */
    atomic_int failed;
    struct err *errs;          /* of each part */
};

void fop_panel_free(struct panel *p)
{
    if (!p)
        return;
    free(p->block);
    free(p->z);
    free(p->b);
    free(p->omega);
    free(p->tmp);
    free(p->sum);
    free(p->zty);
    free(p->cols);
    free(p->errs);
    free(p);
}

static size_t block_rows(size_t n, size_t bytes, size_t columns, size_t size)
{
    const size_t chunks = bytes / (CHUNK_ROWS * columns * size);

    return at_most(n, CHUNK_ROWS * at_least(1, at_most(chunks, CHUNKS_MOST)));
}

/* Fills in the sizes of a product's workspace; right: columns of a right factor with storage of
 * its own, else 0. */
static void panel_sizes(struct panel *p, size_t n, size_t M, size_t right, size_t threads)
{
    const size_t columns = M + (p->units ? M : right);
    const size_t shared = block_rows(n, limits_block_bytes() / (p->units ? 1 : 2), columns,
                                     p->size);

    p->L = right ? right : M;
    p->ldz = M + PAD;
    p->ldb = p->L + PAD;
    p->most = p->cut.apart ? at_most(shared, OWN_CHUNKS * CHUNK_ROWS) : shared;
    const size_t chunks = blas_tiles(p->most, CHUNK_ROWS);
    p->chunk_bytes = p->units ? p->units->bytes(M) : 0;
    p->z_bytes = p->units ? chunks * p->chunk_bytes : p->most * p->ldz * p->size;
    p->b_bytes = p->units ? p->z_bytes : right ? p->most * p->ldb * p->size : 0;
    p->tmp_bytes = p->units ? CHUNK_ROWS * p->ldz * sizeof(float)
                   : p->dbl ? sizeof(double) : at_least(M, TILE * TILE) * sizeof(double);
    p->lds = p->cut.apart ? M + PAD : p->cut.edge + PAD;
    p->batch = p->cut.apart ? batch_of(&p->cut, segment_bytes(M, p->L, p->cut.edge, p->lower),
                                       threads)
                            : threads;
    p->parts = p->cut.apart ? p->batch : PIECES_MOST;
}

/* The sum of what panel_new allocates, as far as it is touched. */
static double panel_bytes(const struct panel *p, size_t M, size_t right, size_t threads)
{
    const double T = (double)threads, blocks = p->cut.apart ? T : 1.0;
    const double sums = p->cut.apart
                            ? segment_bytes(M, p->L, p->cut.edge, p->lower)
                            : 8.0 * (double)(p->cut.edge * p->lds);

    return blocks * (double)(p->z_bytes + p->b_bytes) + T * (double)p->tmp_bytes +
           (double)p->batch * sums + (p->units ? 0.0 : (double)(M * right * p->size));
}

static struct panel panel_of(size_t n, size_t M, size_t right, enum precision precision, bool units,
                             bool lower, size_t threads)
{
    const bool dbl = precision == PREC_DOUBLE;
    struct panel p = { .dbl = dbl, .size = dbl ? sizeof(double) : sizeof(float), .lower = lower,
                       .units = units ? cpu_simd_now()->tiles : NULL,
                       .cut = cut_of(n, M, right ? right : M, units, lower) };

    panel_sizes(&p, n, M, right, threads ? threads : 1);
    return p;
}

/* True when matrix units can compute Z'Z in this precision. */
static bool has_units(enum precision precision)
{
    return cpu_simd_now()->tiles && precision == PREC_FLOAT;
}

double fop_product_bytes(size_t n, size_t M, size_t L, enum precision precision, size_t threads)
{
    const size_t T = threads ? threads : 1;
    const struct panel p = panel_of(n, M, L, precision, L == 0 && has_units(precision), L == 0, T);

    return panel_bytes(&p, M, L, T);
}

/* True for a workspace that is small enough to be kept for the next product. */
static bool stays(double bytes, size_t threads)
{
    return bytes <= (double)(stays_bytes + threads * stays_each);
}

double fop_kept_bytes(size_t n, size_t M, enum precision precision, size_t threads)
{
    const double bytes = fop_product_bytes(n, M, 0, precision, threads);

    return stays(bytes, threads) ? bytes : 0.0;
}

/* Partial sums of groups of rows, right-hand sides, and a tile of features for each thread, as
 * backend_cpu.c allocates them. */
double fop_pass_bytes(size_t M, size_t k, enum precision precision, size_t threads)
{
    enum { GROUPS = 64, TILE_BYTES = 1 << 19, ROWS = 16 };
    const double size = precision == PREC_DOUBLE ? 8.0 : 4.0, tile = (double)M * ROWS * size;

    return (double)(M * k) * (8.0 * GROUPS + size) +
           (double)(threads ? threads : 1) * (tile > TILE_BYTES ? tile : TILE_BYTES);
}

/* right: the columns of the right factor if it has storage of its own, else 0. */
static struct panel *panel_new(struct fop *f, size_t right, bool units, bool lower,
                               struct err *err)
{
    const size_t threads = pool_threads(f->pool);
    struct panel *p = mem_calloc(1, sizeof *p, "row block", err);

    if (!p)
        return NULL;
    *p = panel_of(f->n, f->M, right, f->precision, units, lower, threads);
    p->f = f;
    p->own = right != 0;
    const size_t blocks = p->cut.apart ? threads : 1;
    const size_t sums = p->cut.apart ? p->L : p->cut.edge;
    p->block = mem_calloc(blocks, sizeof *p->block, "row block", err);
    p->errs = p->block ? mem_calloc(p->parts, sizeof *p->errs, "row block", err) : NULL;
    p->z = p->errs ? mem_aligned(blocks, p->z_bytes, "features of a row block", err) : NULL;
    const bool b = p->z && p->b_bytes;
    p->b = b ? mem_aligned(blocks, p->b_bytes, "right factor of a row block", err) : NULL;
    p->tmp = p->z ? mem_aligned(threads, p->tmp_bytes, "product tiles", err) : NULL;
    p->sum = p->tmp ? mem_aligned(p->batch * sums, p->lds * sizeof *p->sum, "product tiles", err)
                    : NULL;
    if (!p->sum || (b && !p->b)) {
        fop_panel_free(p);
        return NULL;
    }
    for (size_t i = 0; i < blocks; i++) {
        p->block[i].z = p->z + i * p->z_bytes;
        p->block[i].b = p->b ? p->b + i * p->b_bytes : NULL;
    }
    return p;
}

/* True when matrix units compute Z'Z (derivative: Z'dZ). */
static bool units_serve(const struct fop *f, bool derivative)
{
    return has_units(f->precision) && !f->Z && (!derivative || back_ops(f)->dtile32);
}

/* A panel for a Gram (lower), or for Z'dZ. */
static struct panel *panel_gram(struct fop *f, bool derivative, struct err *err)
{
    struct panel *kept = f->panel;

    if (derivative || !kept)
        return panel_new(f, derivative ? f->M : 0, units_serve(f, derivative), !derivative, err);
    f->panel = NULL;
    return kept;
}

/* Frees a workspace, or keeps that of a Gram: a search makes many of them, and the pages of a kept
 * workspace need not be cleared again. */
static void panel_done(struct panel *p)
{
    const size_t threads = p ? pool_threads(p->f->pool) : 1;

    if (!p || !p->lower || !stays(panel_bytes(p, p->f->M, 0, threads), threads)) {
        fop_panel_free(p);
        return;
    }
    free(p->zty);
    p->zty = NULL;
    p->y = NULL;
    p->failed = 0;
    memset(p->errs, 0, p->parts * sizeof *p->errs);
    p->f->panel = p;
}

/* dZ in float32, if need be converted from the backend's float64 rows, a few at a time. */
static enum status derivative_rows(struct panel *p, size_t r0, size_t r1, size_t worker, char *out,
                                   struct err *err)
{
    const struct fop *f = p->f;
    double *row = (double *)(void *)(p->tmp + worker * p->tmp_bytes);
    const size_t step = p->tmp_bytes / sizeof(double) / f->M;

    if (p->dbl)
        return back_ops(f)->dtile(back_state(f), p->ihp, r0, r1, (double *)(void *)out, p->ldb,
                                  err);
    if (back_ops(f)->dtile32)
        return back_ops(f)->dtile32(back_state(f), p->ihp, r0, r1, (float *)(void *)out, p->ldb,
                                    err);
    for (size_t r = r0; r < r1; r += step) {
        const size_t e = r + step < r1 ? r + step : r1;
        const enum status rc = back_ops(f)->dtile(back_state(f), p->ihp, r, e, row, f->M, err);
        if (rc != ST_OK)
            return rc;
        for (size_t i = 0; i < e - r; i++)
            for (size_t j = 0; j < f->M; j++)
                ((float *)(void *)out)[(r - r0 + i) * p->ldb + j] = (float)row[i * f->M + j];
    }
    return ST_OK;
}

/* Rows of a chunk: where they go in its block, and sums of their own to which they are added. */
struct rows {
    size_t r0, r1;
    char *z, *b;
    double *zty, *cols; /* NULL: not wanted */
};

/* zty += Z'y for all y, in double precision. */
static void zty_rows(const struct panel *p, const struct rows *at, const char *z)
{
    const size_t M = p->f->M, n = p->f->n;

    for (size_t r = at->r0; r < at->r1; r++, z += p->ldz * p->size)
        for (size_t t = 0; t < p->ny; t++) {
            if (p->dbl)
                blas_daxpy(M, p->y[t * n + r], (const double *)(const void *)z, at->zty + t * M);
            else
                cpu_simd_now()->axpy_rows(M, p->y[t * n + r], (const float *)(const void *)z,
                                          at->zty + t * M);
        }
}

static double row_factor(const struct fop *f, size_t row)
{
    return f->row_scale ? f->row_scale[row] : 1.0;
}

/* Subtracts the centre from rows of Z and adds up what is left (derivative: adds up rows of dZ). */
static void centre_rows(const struct panel *p, const struct rows *at, bool derivative, float *z,
                        size_t ldz)
{
    const size_t M = p->f->M;

    for (size_t r = at->r0; r < at->r1; r++, z += ldz) {
        const double s = row_factor(p->f, r);
        for (size_t j = 0; !derivative && j < M; j++)
            z[j] = (float)((double)z[j] - s * p->f->centre[j]);
        if (derivative == p->derivative)
            cpu_simd_now()->axpy_rows(M, s, z, at->cols);
    }
}

/* Packs a chunk of rows for matrix units, one factor after the other. */
static enum status packed_rows(struct panel *p, const struct rows *at, size_t worker,
                               struct err *err)
{
    const size_t r0 = at->r0, r1 = at->r1;
    char *row = p->tmp + worker * p->tmp_bytes;
    float *z = (float *)(void *)row;
    enum status rc = fop_tile(p->f, r0, r1, z, p->ldz, err);

    if (rc != ST_OK)
        return rc;
    if (at->zty && at->cols) /* before the centre is subtracted */
        zty_rows(p, at, row);
    if (at->cols)
        centre_rows(p, at, false, z, p->ldz);
    p->units->pack(r1 - r0, p->f->M, z, p->ldz, p->derivative ? NULL : at->b, at->z);
    if (at->zty && !at->cols)
        zty_rows(p, at, row);
    if (p->derivative)
        rc = derivative_rows(p, r0, r1, worker, row, err);
    if (rc == ST_OK && p->derivative && at->cols)
        centre_rows(p, at, true, z, p->ldb);
    if (rc == ST_OK && p->derivative)
        p->units->pack(r1 - r0, p->f->M, z, p->ldz, at->b, NULL);
    return rc;
}

/* Makes rows of Z and, for a derivative, of dZ. */
static enum status rows_make(struct panel *p, const struct rows *at, size_t worker,
                             struct err *err)
{
    struct fop *f = p->f;
    enum status rc;

    if (p->units)
        return packed_rows(p, at, worker, err);
    rc = p->dbl ? fop_tile64(f, at->r0, at->r1, (double *)(void *)at->z, p->ldz, err)
                : fop_tile(f, at->r0, at->r1, (float *)(void *)at->z, p->ldz, err);
    if (rc == ST_OK && p->derivative)
        rc = derivative_rows(p, at->r0, at->r1, worker, at->b, err);
    if (rc != ST_OK)
        return rc;
    if (at->zty)
        zty_rows(p, at, at->z);
    if (at->cols)
        centre_rows(p, at, false, (float *)(void *)at->z, p->ldz);
    if (at->cols && p->derivative)
        centre_rows(p, at, true, (float *)(void *)at->b, p->ldb);
    return ST_OK;
}

/* n columns from j on of Z Omega, for some rows at z.  Row-major T = Z Omega is column-major
 * T' = Omega' Z'. */
static void sketch_rows(const struct panel *p, size_t rows, const char *z, size_t j, size_t n,
                        char *b)
{
    const size_t M = p->f->M;
    const char *omega = p->omega + j * M * p->size;

    b += j * p->size;
    if (p->dbl)
        blas_dgemm1(true, false, n, rows, M, 1.0, (const double *)(const void *)omega, M,
                    (const double *)(const void *)z, p->ldz, 0.0, (double *)(void *)b, p->ldb);
    else
        blas_sgemm1(true, false, n, rows, M, 1.0F, (const float *)(const void *)omega, M,
                    (const float *)(const void *)z, p->ldz, 0.0F, (float *)(void *)b, p->ldb);
}

/* Part of a result: mi rows from i0 on, nj columns from j0 on; sum has leading dimension lds and
 * counts as 0 with `fresh`. */
struct part_of { size_t i0, mi, j0, nj, lds; double *sum; bool fresh; };

/* sum += sum over the chunks of a block of Z_chunk' B_chunk. */
static void product_tile(const struct panel *p, const struct block *k, const struct part_of *t,
                         size_t worker)
{
    const bool diagonal = p->lower && t->i0 == t->j0;
    float *tmp = (float *)(void *)(p->tmp + worker * p->tmp_bytes);

    for (size_t at = 0; at < k->rows; at += CHUNK_ROWS) {
        const size_t rows = at_most(k->rows - at, CHUNK_ROWS);
        const bool fresh = t->fresh && at == 0;
        const double kept = fresh ? 0.0 : 1.0;
        const char *z = k->z + (at * p->ldz + t->i0) * p->size;
        const char *b = (p->own ? k->b + at * p->ldb * p->size : k->z + at * p->ldz * p->size) +
                        t->j0 * p->size;
        if (p->dbl && diagonal)
            blas_dsyrk1(true, false, t->mi, rows, 1.0, (const double *)(const void *)z, p->ldz,
                        kept, t->sum, t->lds);
        else if (p->dbl)
            blas_dgemm1(false, true, t->mi, t->nj, rows, 1.0, (const double *)(const void *)z,
                        p->ldz, (const double *)(const void *)b, p->ldb, kept, t->sum, t->lds);
        else if (diagonal)
            blas_ssyrk1(true, false, t->mi, rows, 1.0F, (const float *)(const void *)z, p->ldz,
                        0.0F, tmp, TILE);
        else
            blas_sgemm1(false, true, t->mi, t->nj, rows, 1.0F, (const float *)(const void *)z,
                        p->ldz, (const float *)(const void *)b, p->ldb, 0.0F, tmp, TILE);
        for (size_t j = 0; !p->dbl && j < t->nj; j++) {
            const size_t top = diagonal ? j : 0;
            if (fresh)
                memset(t->sum + j * t->lds + top, 0, (t->mi - top) * sizeof *t->sum);
            cpu_simd_now()->add(t->mi - top, tmp + j * TILE + top, t->sum + j * t->lds + top);
        }
    }
}

static void units_tile(const struct panel *p, const struct block *k, const struct part_of *t)
{
    for (size_t c = 0; c < k->chunks; c++) {
        const size_t left = k->rows - c * CHUNK_ROWS;
        const char *z = k->z + c * p->chunk_bytes, *b = k->b + c * p->chunk_bytes;
        const bool more = c + 1 < k->chunks;
        const struct simd_product product = {
            .rows = at_most(left, CHUNK_ROWS),
            .right = z,
            .i0 = t->i0,
            .mi = t->mi,
            .left = b,
            .j0 = t->j0,
            .nj = t->nj,
            .lower = p->lower,
            .next_right = more ? z + p->chunk_bytes : NULL,
            .next_left = more ? b + p->chunk_bytes : NULL};
        p->units->product(&product, t->sum, t->lds);
    }
}

static void tile_add(const struct panel *p, const struct block *k, const struct part_of *t,
                     size_t worker)
{
    for (size_t j = 0; p->units && t->fresh && j < t->nj; j++)
        memset(t->sum + j * t->lds, 0, t->mi * sizeof *t->sum);
    if (p->units)
        units_tile(p, k, t);
    else
        product_tile(p, k, t, worker);
}

/* Products by segments. */

/* The products of a task's block, added to the sums of its segment. */
static void block_products(const struct panel *p, const struct block *k, bool fresh,
                           size_t worker)
{
    const size_t M = p->f->M, edge = p->cut.edge;

    for (size_t j = 0; j < p->L; j += edge)
        for (size_t i = p->lower ? j : 0; i < M; i += edge) {
            const struct part_of t = { i, at_most(M - i, edge), j, at_most(p->L - j, edge),
                                       k->ldc, k->C + j * k->ldc + i, fresh };
            tile_add(p, k, &t, worker);
        }
}

/* Makes the rows of a task's block. */
static enum status block_make(struct panel *p, const struct block *k, size_t task, size_t worker)
{
    enum status rc = ST_OK;

    for (size_t c = 0; rc == ST_OK && c < k->chunks; c++) {
        const size_t r0 = k->r0 + c * CHUNK_ROWS, at = c * CHUNK_ROWS;
        const struct rows rows = {
            .r0 = r0,
            .r1 = at_most(r0 + CHUNK_ROWS, k->r0 + k->rows),
            .z = k->z + (p->units ? c * p->chunk_bytes : at * p->ldz * p->size),
            .b = k->b + (p->units ? c * p->chunk_bytes : at * p->ldb * p->size),
            .zty = p->zty ? p->zty + task * p->ny * p->f->M : NULL,
            .cols = p->cols ? p->cols + task * p->f->M : NULL,
        };
        rc = rows_make(p, &rows, worker, &p->errs[task]);
        if (rc == ST_OK && p->omega)
            sketch_rows(p, rows.r1 - r0, rows.z, 0, p->L, rows.b);
    }
    return rc;
}

/* The sums of one segment of rows. */
static void segment_task(void *ctx, size_t task, size_t worker)
{
    struct panel *p = ctx;
    struct block *k = &p->block[worker];
    const size_t M = p->f->M, s = p->segment + task;
    const size_t begin = segment_from(&p->cut, s) * CHUNK_ROWS;
    const size_t end = at_most(segment_from(&p->cut, s + 1) * CHUNK_ROWS, p->f->n);

    k->C = p->sum + task * p->L * p->lds;
    k->ldc = p->lds;
    if (p->zty)
        memset(p->zty + task * p->ny * M, 0, p->ny * M * sizeof *p->zty);
    if (p->cols)
        memset(p->cols + task * M, 0, M * sizeof *p->cols);
    for (k->r0 = begin; k->r0 < end; k->r0 += k->rows) {
        if (p->failed || ctl_stopped(p->ctl))
            return;
        k->rows = at_most(end - k->r0, p->most);
        k->chunks = blas_tiles(k->rows, CHUNK_ROWS);
        if (block_make(p, k, task, worker) != ST_OK) {
            p->failed = 1;
            return;
        }
        block_products(p, k, k->r0 == begin, worker);
    }
}

/* Adds the segments of a batch to some columns of the result, in order. */
static void segments_merge(void *ctx, size_t task, size_t worker)
{
    const struct panel *p = ctx;
    const size_t M = p->f->M, end = at_most((task + 1) * MERGE_COLS, p->L);
    const size_t segments = at_most(p->batch, p->cut.segments - p->segment);

    (void)worker;
    for (size_t j = task * MERGE_COLS; j < end; j++) {
        const size_t top = p->lower ? j : 0;
        double *C = p->C + j * p->ldc;
        for (size_t s = 0; s < segments; s++) {
            const double *sum = p->sum + (s * p->L + j) * p->lds;
            if (p->segment + s == 0)
                memcpy(C + top, sum + top, (M - top) * sizeof *C);
            else
                blas_daxpy(M - top, 1.0, sum + top, C + top);
        }
    }
    pool_moved(8.0 * (double)(segments * M * MERGE_COLS) * (p->lower ? 0.5 : 1.0));
}

/* The upper triangle of a tile of the result. */
static void mirror_task(void *ctx, size_t task, size_t worker)
{
    const struct panel *p = ctx;
    const size_t M = p->f->M;
    size_t i, j;

    (void)worker;
    blas_lower_tile(task, &i, &j);
    i *= MIRROR, j *= MIRROR;
    blas_mirror(i, at_most(M - i, MIRROR), j, at_most(M - j, MIRROR), p->C, p->ldc);
}

/* Products by tiles of the result. */

/* The sums of a tile over a block of rows.  They are made in a buffer, because columns of C, often
 * a power of two apart, would evict each other from the cache at every chunk.  They continue those
 * of the earlier blocks, chunk after chunk, so that the size of a block does not change the
 * result. */
static void result_tile(struct panel *p, size_t i0, size_t j0, size_t worker)
{
    const struct block *k = p->block;
    const size_t M = p->f->M, edge = p->cut.edge;
    const struct part_of t = { i0, at_most(M - i0, edge), j0, at_most(p->L - j0, edge), p->lds,
                               p->sum + worker * edge * p->lds, k->r0 == 0 };

    for (size_t j = 0; k->r0 && j < t.nj; j++) {
        const size_t top = p->lower && i0 == j0 ? j : 0;
        memcpy(t.sum + j * p->lds + top, p->C + (j0 + j) * p->ldc + i0 + top,
               (t.mi - top) * sizeof *t.sum);
    }
    tile_add(p, k, &t, worker);
    for (size_t j = 0; j < t.nj; j++) {
        const size_t top = p->lower && i0 == j0 ? j : 0;
        memcpy(p->C + (j0 + j) * p->ldc + i0 + top, t.sum + j * p->lds + top,
               (t.mi - top) * sizeof *t.sum);
    }
    if (p->lower && k->r0 + k->rows == p->f->n)
        blas_mirror(i0, t.mi, j0, t.nj, p->C, p->ldc);
}

static void panel_tile(void *ctx, size_t task, size_t worker)
{
    struct panel *p = ctx;
    const size_t edge = p->cut.edge, down = blas_tiles(p->f->M, edge);
    size_t i, j;

    if (ctl_stopped(p->ctl))
        return;
    if (p->lower) { /* the halves on the diagonal last */
        if (task >= down * (down - 1) / 2) {
            i = j = task - down * (down - 1) / 2;
        } else {
            blas_lower_tile(task, &i, &j);
            i++;
        }
        result_tile(p, i * edge, j * edge, worker);
    } else {
        result_tile(p, task % down * edge, task / down * edge, worker);
    }
}

/* Makes a piece of the block (on matrix units a chunk), with sums of its own. */
static void panel_piece(void *ctx, size_t piece, size_t worker)
{
    struct panel *p = ctx;
    const struct block *k = p->block;
    const size_t step = p->units ? CHUNK_ROWS : PIECE_ROWS, at = piece * step;
    const size_t M = p->f->M, r0 = k->r0 + at;
    const struct rows rows = {
        .r0 = r0,
        .r1 = at_most(r0 + step, k->r0 + k->rows),
        .z = k->z + (p->units ? piece * p->chunk_bytes : at * p->ldz * p->size),
        .b = k->b + (p->units ? piece * p->chunk_bytes : at * p->ldb * p->size),
        .zty = p->zty ? p->zty + piece * p->ny * M : NULL,
        .cols = p->cols ? p->cols + piece * M : NULL,
    };

    if (p->failed || ctl_stopped(p->ctl))
        return;
    if (p->zty)
        memset(rows.zty, 0, p->ny * M * sizeof *rows.zty);
    if (p->cols)
        memset(rows.cols, 0, M * sizeof *rows.cols);
    if (rows_make(p, &rows, worker, &p->errs[piece]) != ST_OK)
        p->failed = 1;
}

/* A tile of Z Omega. */
static void sketch_task(void *ctx, size_t task, size_t worker)
{
    const struct panel *p = ctx;
    const struct block *k = p->block;
    const size_t across = blas_tiles(p->L, SKETCH_COLS), at = task / across * SKETCH_ROWS;
    const size_t j = task % across * SKETCH_COLS;

    (void)worker;
    if (!ctl_stopped(p->ctl))
        sketch_rows(p, at_most(k->rows - at, SKETCH_ROWS), k->z + at * p->ldz * p->size, j,
                    at_most(p->L - j, SKETCH_COLS), k->b + at * p->ldb * p->size);
}

/* The centre: the mean of some rows, which is close enough to the mean of all. */
static enum status centre_find(struct fop *f, struct err *err)
{
    enum { SOME = 64 };
    const size_t M = f->M, n = f->n < SOME ? f->n : SOME;
    float *z = f->centre ? NULL : mem_aligned(n * M, sizeof *z, "rows of features", err);
    double *c = z ? mem_calloc(M, sizeof *c, "a centre", err) : NULL;
    enum status rc = f->centre || c ? ST_OK : ST_NOMEM;

    if (c)
        rc = fop_tile(f, 0, n, z, M, err);
    for (size_t r = 0; c && rc == ST_OK && r < n; r++)
        cpu_simd_now()->axpy_rows(M, 1.0 / (row_factor(f, r) * (double)n), z + r * M, c);
    free(z);
    if (c && rc == ST_OK)
        f->centre = c;
    else
        free(c);
    return rc;
}

/* Adds to C what the centre m (M) took away.  With rows s_i (z_i - m), s_i the row factors, u the
 * sums of their columns times s_i, and w = sum s_i^2:
 *   Z'Z = C + m u' + u m' + w m m';  Z'dZ = C + m u', u the sums of the columns of dZ. */
static void centre_back(const struct panel *p)
{
    const size_t M = p->f->M;
    const double *m = p->f->centre, *u = p->cols + p->parts * M;
    double w = 0.0;

    for (size_t r = 0; r < p->f->n; r++)
        w += row_factor(p->f, r) * row_factor(p->f, r);
    for (size_t j = 0; j < M; j++) {
        double *C = p->C + j * p->ldc;
        for (size_t i = 0; p->derivative && i < M; i++)
            C[i] += m[i] * u[j];
        for (size_t i = 0; !p->derivative && i < M; i++) {
            const size_t a = i < j ? i : j, b = i < j ? j : i; /* the same bits in both triangles */
            C[i] += (u[a] * m[b] + m[a] * u[b]) + w * m[a] * m[b];
        }
    }
}

/* Adds what the parts of a batch or block have summed apart from the product, in order; the first
 * error of a part. */
static enum status parts_merge(struct panel *p, size_t parts, double *zty, struct err *err)
{
    const size_t M = p->f->M;

    for (size_t i = 0; p->failed && i < parts; i++)
        if (p->errs[i].code != ST_OK) {
            if (err)
                *err = p->errs[i];
            return p->errs[i].code;
        }
    for (size_t i = 0; zty && i < parts; i++)
        blas_daxpy(p->ny * M, 1.0, p->zty + i * p->ny * M, zty);
    for (size_t i = 0; p->cols && i < parts; i++)
        blas_daxpy(M, 1.0, p->cols + i * M, p->cols + p->parts * M);
    return ST_OK;
}

static enum status stopped_at(size_t row, size_t n, enum phase phase, struct err *err)
{
    return err_set(err, ST_CANCELLED, "stopped at row %zu of %zu (%s)", row, n, phase_word(phase));
}

static enum status segments_run(struct panel *p, double *zty, enum phase phase, struct err *err)
{
    struct fop *f = p->f;
    const size_t tiles = blas_tiles(f->M, MIRROR);
    enum status rc = ST_OK;

    for (p->segment = 0; rc == ST_OK && p->segment < p->cut.segments; p->segment += p->batch) {
        const size_t now = at_most(p->batch, p->cut.segments - p->segment);
        const size_t row = at_most(segment_from(&p->cut, p->segment) * CHUNK_ROWS, f->n);
        ctl_tell(p->ctl, phase, row, f->n, NAN);
        pool_run(f->pool, now, segment_task, p);
        rc = parts_merge(p, now, zty, err);
        if (rc == ST_OK && ctl_stopped(p->ctl))
            rc = stopped_at(row, f->n, phase, err);
        if (rc == ST_OK)
            pool_run(f->pool, blas_tiles(p->L, MERGE_COLS), segments_merge, p);
    }
    if (rc == ST_OK && p->lower)
        pool_run(f->pool, tiles * (tiles + 1) / 2, mirror_task, p);
    return rc;
}

static enum status tiles_run(struct panel *p, double *zty, enum phase phase, struct err *err)
{
    struct fop *f = p->f;
    struct block *k = p->block;
    const size_t tiles = tiles_of(f->M, p->L, p->cut.edge, p->lower);
    enum status rc = ST_OK;

    for (k->r0 = 0; rc == ST_OK && k->r0 < f->n; k->r0 += p->most) {
        k->rows = at_most(f->n - k->r0, p->most);
        k->chunks = blas_tiles(k->rows, CHUNK_ROWS);
        const size_t pieces = p->units ? k->chunks : blas_tiles(k->rows, PIECE_ROWS);
        ctl_tell(p->ctl, phase, k->r0, f->n, NAN);
        pool_run(f->pool, pieces, panel_piece, p);
        if (!p->failed && p->omega)
            pool_run(f->pool, blas_tiles(k->rows, SKETCH_ROWS) * blas_tiles(p->L, SKETCH_COLS),
                     sketch_task, p);
        if (!p->failed && !ctl_stopped(p->ctl))
            pool_run(f->pool, tiles, panel_tile, p);
        rc = parts_merge(p, pieces, zty, err);
        if (rc == ST_OK && ctl_stopped(p->ctl))
            rc = stopped_at(k->r0, f->n, phase, err);
    }
    return rc;
}

/* C = Z'B over all rows. */
static enum status panel_run(struct panel *p, double *C, size_t ldc, double *zty, enum phase phase,
                             const struct ctl *ctl, struct err *err)
{
    struct fop *f = p->f;
    enum status rc = ST_OK;

    p->C = C;
    p->ldc = ldc;
    p->ctl = ctl;
    if (f->centres && !p->omega) {
        free(p->cols);
        p->cols = mem_calloc(p->parts + 1, f->M * sizeof *p->cols, "sums of columns", err);
        rc = p->cols ? centre_find(f, err) : ST_NOMEM;
    }
    if (rc == ST_OK)
        rc = (p->cut.apart ? segments_run : tiles_run)(p, zty, phase, err);
    if (rc == ST_OK && p->cols)
        centre_back(p);
    if (rc == ST_OK)
        ctl_tell(ctl, phase, f->n, f->n, NAN);
    return rc;
}

/* G = Z'Z and zty = Z'y, on the device or by blocks of rows; only tiles on and below the
 * diagonal are computed. */
static enum status gram_into(struct fop *f, size_t ny, const double *y, double *G, size_t ld,
                             double *zty, const struct ctl *ctl, struct err *err)
{
    if (!f->Z && ops_of(f)->gram) {
        ctl_tell(ctl, PHASE_GRAM, 0, f->n, NAN);
        const enum status done = ops_of(f)->gram(state_of(f), ny, y, G, ld, zty, ctl, err);
        if (!fop_goes_on(f, done, err) && done != ST_UNSUPPORTED) {
            ctl_tell(ctl, PHASE_GRAM, f->n, f->n, NAN);
            return done;
        }
    }
    struct panel *p = panel_gram(f, false, err);
    enum status rc = p ? ST_OK : ST_NOMEM;

    if (rc == ST_OK && y && zty) {
        p->y = y;
        p->ny = ny;
        p->zty = mem_calloc(p->parts * ny, f->M * sizeof *p->zty, "partial sums", err);
        memset(zty, 0, ny * f->M * sizeof *zty);
        rc = p->zty ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK) {
        rc = panel_run(p, G, ld, p->zty ? zty : NULL, PHASE_GRAM, ctl, err);
    }
    panel_done(p);
    return rc;
}

enum status fop_gram(struct fop *f, const double *y, double *G, double *zty, double *yty,
                     const struct ctl *ctl, struct err *err)
{
    return fop_gram_of(f, 1, y, G, zty, yty, ctl, err);
}

enum status fop_gram_of(struct fop *f, size_t ny, const double *y, double *G, double *zty,
                        double *yty, const struct ctl *ctl, struct err *err)
{
    enum status rc = ST_OK;

    if (!f->formed)
        rc = gram_into(f, ny, y, G, f->M, zty, ctl, err);
    for (size_t j = 0; f->formed && j < f->M; j++)
        memcpy(G + j * f->M, f->formed->A + j * f->formed->ld, f->M * sizeof *G);
    if (f->formed && y && zty)
        rc = fop_ztv(f, ny, y, zty, ctl, err);
    for (size_t t = 0; rc == ST_OK && y && yty && t < ny; t++)
        yty[t] = blas_ddot(f->n, y + t * f->n, y + t * f->n);
    return rc;
}

enum status fop_form(struct fop *f, const struct ctl *ctl, struct err *err)
{
    struct gram *g = NULL;
    enum status rc = f->formed ? ST_OK : gram_new(&g, f->M, err);

    if (rc == ST_OK && g)
        rc = gram_into(f, 0, NULL, g->A, g->ld, NULL, ctl, err);
    if (rc != ST_OK)
        gram_free(g);
    else if (g)
        f->formed = g;
    return rc;
}

enum status fop_dgram(struct fop *f, size_t ihp, double *C, const struct ctl *ctl, struct err *err)
{
    if (f->Z)
        return err_set(err, ST_STATE, "a given feature matrix has no hyperparameters");
    if (ops_of(f)->dgram) {
        const enum status done = ops_of(f)->dgram(state_of(f), ihp, C, ctl, err);
        if (done != ST_UNSUPPORTED && !fop_goes_on(f, done, err))
            return done;
        err_clear(err);
    }
    struct panel *p = panel_gram(f, true, err);
    enum status rc = p ? ST_OK : ST_NOMEM;

    if (rc == ST_OK) {
        p->derivative = true;
        p->ihp = ihp;
        rc = panel_run(p, C, f->M, NULL, PHASE_GRAM, ctl, err);
    }
    panel_done(p);
    return rc;
}

/* Y = Z'(Z Omega) from a formed matrix, on the device, or by blocks of rows. */
static enum status sketch(struct fop *f, size_t L, const double *Omega, double *Y, bool rough,
                          const struct ctl *ctl, struct err *err)
{
    if (f->formed && ctl_stopped(ctl))
        return err_set(err, ST_CANCELLED, "stopped");
    if (f->formed)
        return blas_dgemm(f->pool, false, false, f->M, L, f->M, 1.0, f->formed->A, f->formed->ld,
                          Omega, f->M, 0.0, Y, f->M, err);
    if (f->be && !f->lost && f->be->sketch) {
        ctl_tell(ctl, PHASE_SKETCH, 0, f->n, NAN);
        const enum status done = f->be->sketch(f->state, L, Omega, Y, rough, ctl, err);
        if (!fop_goes_on(f, done, err)) {
            ctl_tell(ctl, PHASE_SKETCH, f->n, f->n, NAN);
            return done;
        }
    }
    struct panel *p = panel_new(f, L, false, false, err);
    enum status rc = p ? ST_OK : ST_NOMEM;

    if (rc == ST_OK) {
        p->omega = mem_aligned(f->M * L, p->size, "test matrix", err);
        rc = p->omega ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK) {
        for (size_t i = 0; i < f->M * L; i++) {
            if (p->dbl)
                ((double *)(void *)p->omega)[i] = Omega[i];
            else
                ((float *)(void *)p->omega)[i] = (float)Omega[i];
        }
        rc = panel_run(p, Y, f->M, NULL, PHASE_SKETCH, ctl, err);
    }
    fop_panel_free(p);
    return rc;
}

enum status fop_sketch(struct fop *f, size_t L, const double *Omega, double *Y,
                       const struct ctl *ctl, struct err *err)
{
    return sketch(f, L, Omega, Y, false, ctl, err);
}

enum status fop_sketch_rough(struct fop *f, size_t L, const double *Omega, double *Y,
                             const struct ctl *ctl, struct err *err)
{
    return sketch(f, L, Omega, Y, true, ctl, err);
}
