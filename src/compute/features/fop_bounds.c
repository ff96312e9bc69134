/* compute/features/fop_bounds.c -- what the sums of terms of a product Z'B can be at most, before
 * they are made (fop_panel.h, fold.h).
 *
 * By Cauchy and Schwarz, entry (i, j) of a term is at most the square root of the sums of squares
 * of columns i and j over its rows.  First they are guessed from a sample: the largest mean square
 * of at most SAMPLES groups of SAMPLE neighbouring rows, times the rows of a term.  A term that is
 * beyond is noticed when it is added, and everything starts again with the largest sums of squares
 * of all terms.  Neither depends on how rows are shared among threads and processes. */
#include "compute/features/fop_panel.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/linalg/blas_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLES = 16, /* groups of rows of a sample, at most, */
    SAMPLE = 16,  /* each of so many rows; rows that are made at once */
    APART = 8,    /* units of SHARE_ROWS rows in each of which there is a group */
};
/* Bounds are so many times what they should be: for samples that are not typical, and for the
 * rounding of products. */
static const double headroom = 4.0;
/* A column whose sample is 0 counts as one with this part of the largest mean square: with a sample
 * of 256 rows, it is likely that no more than one row in 256 differs from 0. */
static const double unseen = 1.0 / 256.0;

struct look {
    struct panel *p;
    bool all;
    char *room;      /* of each worker: rows of Z and of B */
    size_t bytes;
    double *squares; /* of each worker: the largest sums of Z, the raw Z and B, and those of the
                      * group or term at work */
    struct err *errs;
    atomic_int failed;
};

/* Columns whose squares are summed: of Z, with a centre also of Z as it is, and of B. */
static size_t columns_of(const struct panel *p)
{
    return p->f->M * (p->centred ? 2 : 1) + (p->own ? p->L : 0);
}

static void squares_add(const struct panel *p, size_t rows, size_t cols, const char *z, size_t ld,
                        double *sum)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < cols; j++) {
            const double v = p->dbl ? ((const double *)(const void *)z)[r * ld + j]
                                    : (double)((const float *)(const void *)z)[r * ld + j];
            sum[j] += v * v;
        }
}

/* sum += the squares of rows r0 to r1 - 1, at most SAMPLE. */
static enum status rows_look(struct look *s, size_t r0, size_t r1, size_t worker, double *sum,
                             struct err *err)
{
    struct panel *p = s->p;
    struct fop *f = p->f;
    const size_t M = f->M, rows = r1 - r0;
    char *z = s->room + worker * s->bytes, *b = z + SAMPLE * p->ldz * p->size;
    enum status rc = p->dbl ? fop_tile64(f, r0, r1, (double *)(void *)z, p->ldz, err)
                            : fop_tile(f, r0, r1, (float *)(void *)z, p->ldz, err);

    if (rc == ST_OK && p->derivative)
        rc = fop_product_slopes(p, r0, r1, worker, b, err);
    if (rc != ST_OK)
        return rc;
    if (p->omega)
        fop_product_omega(p, rows, z, 0, p->L, b);
    if (p->centred) {
        squares_add(p, rows, M, z, p->ldz, sum + M);
        for (size_t r = 0; r < rows; r++)
            for (size_t j = 0; j < M; j++) {
                float *at = (float *)(void *)z + r * p->ldz + j;
                *at = (float)((double)*at - row_factor(f, r0 + r) * f->centre[j]);
            }
    }
    squares_add(p, rows, M, z, p->ldz, sum);
    if (p->own)
        squares_add(p, rows, p->L, b, p->ldb, sum + columns_of(p) - p->L);
    return ST_OK;
}

/* The groups of a sample of n rows. */
static size_t samples_of(size_t n)
{
    return at_least(1, at_most(SAMPLES, n / (APART * SHARE_ROWS)));
}

/* The rows here of group i of the sample; the first row follows from the number of all rows. */
static void sample_rows(const struct fop *f, size_t i, size_t *r0, size_t *r1)
{
    const size_t all = share_rows(f->share, f->n), from = share_from(f->share);
    const size_t units = (all + SHARE_ROWS - 1) / SHARE_ROWS;
    const size_t row = units * i / samples_of(all) * SHARE_ROWS;
    const bool here = row >= from && row < from + f->n;

    *r0 = here ? row - from : 0;
    *r1 = here ? at_most(*r0 + SAMPLE, f->n) : 0;
}

/* One group of the sample, or one term. */
static void look_task(void *ctx, size_t task, size_t worker)
{
    struct look *s = ctx;
    struct panel *p = s->p;
    const size_t cols = columns_of(p);
    double *most = s->squares + worker * 2 * cols, *sum = most + cols;
    size_t r0, r1;

    if (s->all) {
        r0 = p->term[task].r0;
        r1 = r0 + p->term[task].rows;
    } else {
        sample_rows(p->f, task, &r0, &r1);
    }
    if (s->failed || ctl_stopped(p->ctl) || r0 == r1)
        return;
    memset(sum, 0, cols * sizeof *sum);
    for (size_t r = r0; r < r1; r += SAMPLE)
        if (rows_look(s, r, at_most(r + SAMPLE, r1), worker, sum, &s->errs[worker]) != ST_OK) {
            s->failed = 1;
            return;
        }
    const double factor = s->all ? 1.0 : (double)p->rows / (double)(r1 - r0);
    for (size_t j = 0; j < cols; j++)
        most[j] = fmax(most[j], factor * sum[j]);
}

/* d[j] = the root of the bounds of squares: of columns that the sample has as 0, of a part of the
 * largest. */
static void roots(size_t n, const double *squares, bool all, double *d)
{
    double most = 0.0;

    for (size_t j = 0; j < n; j++)
        most = fmax(most, squares[j]);
    for (size_t j = 0; j < n; j++)
        d[j] = sqrt(headroom * (squares[j] > 0.0 || all ? squares[j] : unseen * most));
}

/* The largest sum of squares of a vector over a term: v of n numbers here (NULL: ones). */
static double vector_squares(const struct panel *p, const double *v)
{
    double most = 0.0;

    if (!v)
        return (double)p->rows;
    for (size_t t = 0; t < p->terms; t++) {
        const double *x = v + p->term[t].r0;
        most = fmax(most, blas_ddot(p->term[t].rows, x, x));
    }
    return most;
}

static enum status look_merge(struct look *s, size_t threads, struct err *err)
{
    struct panel *p = s->p;
    const size_t M = p->f->M, cols = columns_of(p);

    for (size_t t = 0; s->failed && t < threads; t++)
        if (s->errs[t].code != ST_OK) {
            if (err)
                *err = s->errs[t];
            return s->errs[t].code;
        }
    if (ctl_stopped(p->ctl))
        return err_set(err, ST_CANCELLED, "stopped while looking at the sizes of features");
    for (size_t t = 1; t < threads; t++)
        for (size_t j = 0; j < cols; j++)
            s->squares[j] = fmax(s->squares[j], s->squares[t * 2 * cols + j]);
    const enum status rc = share_most(p->f->share, cols, s->squares, err);
    if (rc != ST_OK)
        return rc;
    roots(M, s->squares, s->all, p->di);
    roots(M, s->squares + (p->centred ? M : 0), s->all, p->dz);
    if (p->own)
        roots(p->L, s->squares + cols - p->L, s->all, p->dj);
    return ST_OK;
}

/* Bounds of the vectors y and of the row factors. */
static enum status vectors_look(struct panel *p, struct err *err)
{
    double *most = mem_calloc(p->ny + 1, sizeof *most, "bounds of sums", err);

    if (!most)
        return ST_NOMEM;
    free(p->dy);
    p->dy = most;
    for (size_t t = 0; t < p->ny; t++)
        most[t] = vector_squares(p, p->y + t * p->f->n);
    most[p->ny] = vector_squares(p, p->f->row_scale);
    const enum status rc = share_most(p->f->share, p->ny + 1, most, err);
    for (size_t t = 0; t <= p->ny; t++)
        most[t] = sqrt(headroom * most[t]);
    p->ds = most[p->ny];
    return rc;
}

enum status fop_bounds_find(struct panel *p, bool all, struct err *err)
{
    const size_t threads = pool_threads(p->f->pool), cols = columns_of(p);
    struct look s = { .p = p, .all = all };

    s.bytes = mem_lines(SAMPLE * (p->ldz + (p->own ? p->ldb : 0)) * p->size);
    s.room = mem_aligned(threads, s.bytes, "a sample's features", err);
    s.squares = s.room ? mem_calloc(threads * 2, cols * sizeof *s.squares, "bounds of sums", err)
                       : NULL;
    s.errs = s.squares ? mem_calloc(threads, sizeof *s.errs, "bounds of sums", err) : NULL;
    enum status rc = s.errs ? ST_OK : ST_NOMEM;
    if (rc == ST_OK) {
        pool_run(p->f->pool, all ? p->terms : samples_of(share_rows(p->f->share, p->f->n)),
                 look_task, &s);
        rc = look_merge(&s, threads, err);
    }
    if (rc == ST_OK)
        rc = vectors_look(p, err);
    free(s.room);
    free(s.squares);
    free(s.errs);
    return rc;
}
