/* compute/features/fop_rows.c -- sums and forms over the rows of a feature operator (fop_rows.h),
 * by the backend where it has them, else over tiles of rows made here. */
#include "compute/features/fop_rows.h"

#include "base/mem.h"
#include "compute/cpu/simd.h"
#include "compute/features/fop_impl.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Tasks over rows.  Each has `parts` sums of its own, which are folded (fold.h), and each worker
 * has `work` bytes.  Rows are cut into tasks in the same way however many processes share them. */
struct row_job;
typedef enum status row_fn(const struct row_job *, size_t task, void *work, double *part,
                           struct err *);
struct row_job {
    struct fop *f;
    row_fn *fn;
    const void *ask;
    const char *what; /* "stopped while ..." */
    size_t tasks, rows, parts, work;
    size_t count;  /* tasks of all processes */
    /* Where sums are wanted: the first task of each segment of the cut that processes follow, as
     * many as here; a segment's last task may have less rows.  segments 0: rows are cut from the
     * first one here on. */
    size_t segments, first[SHARE_SEGMENTS + 1], row[SHARE_SEGMENTS + 1];
    const struct ctl *ctl;
    char *room;
    double *part;
    atomic_int failed; /* 1 + the worker whose error counts */
    struct err *errs;
};

static void row_task(void *ctx, size_t task, size_t worker)
{
    struct row_job *j = ctx;

    if (j->failed || ctl_stopped(j->ctl))
        return;
    if (j->fn(j, task, j->room + worker * j->work, j->part + task * j->parts, &j->errs[worker]) !=
        ST_OK) {
        int none = 0;
        atomic_compare_exchange_strong(&j->failed, &none, (int)worker + 1);
    }
}

/* sum (`parts` numbers) += the sums of each task, here and elsewhere. */
static enum status job_fold(const struct row_job *j, double *sum, struct err *err)
{
    const struct share_parts parts = { j->count, j->tasks, j->parts, j->part, true };
    double *all = mem_calloc(j->parts + 1, sizeof *all, "partial sums", err);
    const enum status rc = all ? share_fold(j->f->share, j->f->pool, &parts, all, err) : ST_NOMEM;

    if (rc == ST_OK)
        blas_daxpy(j->parts, 1.0, all, sum);
    free(all);
    return rc;
}

/* Runs all tasks; sum (`parts` numbers; NULL: none) += the sums of each task. */
static enum status job_run(struct row_job *j, double *sum, struct err *err)
{
    const size_t threads = pool_threads(j->f->pool);
    enum status rc = ST_OK;

    j->work = mem_lines(j->work);
    j->room = mem_aligned(threads, j->work + 1, "tiles of rows", err);
    j->errs = j->room ? mem_calloc(threads, sizeof *j->errs, "tiles of rows", err) : NULL;
    j->part = j->errs ? mem_calloc(j->tasks * j->parts + 1, sizeof *j->part, "partial sums", err)
                      : NULL;
    if (!j->part)
        rc = ST_NOMEM;
    else
        pool_run(j->f->pool, j->tasks, row_task, j);
    if (rc == ST_OK && j->failed) {
        const struct err *e = &j->errs[j->failed - 1];
        if (err)
            *err = *e;
        rc = e->code != ST_OK ? e->code : ST_INTERNAL;
    }
    if (rc == ST_OK && ctl_stopped(j->ctl))
        rc = err_set(err, ST_CANCELLED, "stopped while %s", j->what);
    if (rc == ST_OK && sum)
        rc = job_fold(j, sum, err);
    free(j->room);
    free(j->errs);
    free(j->part);
    return rc;
}

/* The rows of a task, which are neighbours. */
static size_t tile_of(const struct row_job *j, size_t task, size_t *r0)
{
    size_t s = 0, end = j->f->n;

    *r0 = task * j->rows;
    if (j->segments) {
        while (j->first[s + 1] <= task)
            s++;
        *r0 = j->row[s] + (task - j->first[s]) * j->rows;
        end = j->row[s + 1];
    }
    return *r0 + j->rows < end ? j->rows : end - *r0;
}

static struct row_job job_of(struct fop *f, row_fn *fn, const void *ask, size_t rows,
                             const char *what)
{
    return (struct row_job){ .f = f, .fn = fn, .ask = ask, .what = what, .rows = rows,
                             .tasks = (f->n + rows - 1) / rows };
}

/* A job with sums. */
static struct row_job sum_of(struct fop *f, row_fn *fn, const void *ask, size_t rows,
                             const char *what)
{
    const size_t all = share_rows(f->share, f->n), of = share_segments(all, SHARE_JOINED);
    struct row_job j = { .f = f, .fn = fn, .ask = ask, .what = what, .rows = rows };

    for (size_t s = 0, r0, r1; s < of; s++) {
        j.count += (share_row(all, s + 1, of) - share_row(all, s, of) + rows - 1) / rows;
        share_part(f->share, f->n, s, of, &r0, &r1);
        if (r0 == r1)
            continue;
        j.first[j.segments] = j.tasks;
        j.row[j.segments++] = r0;
        j.tasks += (r1 - r0 + rows - 1) / rows;
    }
    j.first[j.segments] = j.tasks;
    j.row[j.segments] = f->n;
    return j;
}

/* Rows r0 to r1 - 1 as float64 numbers, made in `precision`; `wide` has room for half as many
 * numbers again. */
static enum status tile_made(struct fop *f, enum precision precision, size_t r0, size_t r1,
                             double *wide, struct err *err)
{
    const size_t all = (r1 - r0) * f->M;
    float *z = (float *)(void *)(wide + all);

    if (precision == PREC_DOUBLE)
        return fop_tile64(f, r0, r1, wide, f->M, err);
    const enum status rc = fop_tile(f, r0, r1, z, f->M, err);
    for (size_t i = 0; rc == ST_OK && i < all; i++)
        wide[i] = (double)z[i];
    return rc;
}

static size_t made_bytes(const struct fop *f, size_t rows)
{
    return rows * f->M * (sizeof(double) + sizeof(float)) + sizeof(double);
}

/* True when the backend's function for this has answered.  UNSUPPORTED, and a device that fails,
 * leave the work to tiles. */
static bool answered(struct fop *f, enum status rc, struct err *err)
{
    if (rc != ST_UNSUPPORTED)
        return !fop_goes_on(f, rc, err);
    err_clear(err);
    return false;
}

static const struct backend_ops *there(const struct fop *f)
{
    static const struct backend_ops none;

    return f->be ? ops_of(f) : &none;
}

/* The diagonal. */

enum { STEP = 32 }; /* rows of features made at once */

/* Sums z_ij^2 over a segment of the rows. */
static enum status diagonal_group(const struct row_job *j, size_t g, void *work, double *sum,
                                  struct err *err)
{
    struct fop *f = j->f;
    const size_t M = f->M;
    size_t begin, end;
    double *z = work;

    share_part(f->share, f->n, g, SHARE_SEGMENTS, &begin, &end);
    for (size_t r = begin; r < end; r += STEP) {
        const size_t to = r + STEP < end ? r + STEP : end;
        if (ctl_stopped(j->ctl))
            return ST_OK;
        const enum status rc = tile_made(f, f->precision, r, to, z, err);
        if (rc != ST_OK)
            return rc;
        for (size_t i = 0; i < to - r; i++)
            for (size_t c = 0; c < M; c++)
                sum[c] += z[i * M + c] * z[i * M + c];
    }
    return ST_OK;
}

enum status fop_diagonal(struct fop *f, double *diag, const struct ctl *ctl, struct err *err)
{
    size_t ld;
    const double *G = fop_formed(f, &ld);

    for (size_t i = 0; G && i < f->M; i++)
        diag[i] = G[i * ld + i];
    if (G)
        return ST_OK;
    ctl_tell(ctl, PHASE_DIAGONAL, 0, 1, NAN);
    if (there(f)->diagonal) {
        const enum status rc = there(f)->diagonal(state_of(f), diag, ctl, err);
        if (answered(f, rc, err))
            return rc;
    }
    struct row_job j = sum_of(f, diagonal_group, NULL, STEP, "summing the diagonal");
    j.ctl = ctl;
    j.tasks = j.count = SHARE_SEGMENTS;
    j.parts = f->M;
    j.work = made_bytes(f, STEP);
    memset(diag, 0, f->M * sizeof *diag);
    return job_run(&j, diag, err);
}

/* Derivatives. */

enum {
    FORM_ROWS = 128, /* of a tile of derivatives */
    BACK_ROWS = 192, /* the most rows of a tile with S, and about its most numbers */
    BACK_MOST = 1 << 20,
    BACK_FEW = 64, /* rows of a tile without S */
    OUTER_ROWS = 32,
};

bool fop_slopes_apart(const struct fop *f)
{
    const struct backend_ops *be = there(f);

    return fop_has_dtile(f) && (be->dgram || !be->back);
}

struct form { size_t ihp; const double *r, *w; };

static enum status form_tile(const struct row_job *j, size_t task, void *work, double *part,
                             struct err *err)
{
    const struct form *h = j->ask;
    const size_t M = j->f->M;
    size_t r0;
    const size_t rows = tile_of(j, task, &r0);
    double *dz = work;
    const enum status rc = fop_dtile(j->f, h->ihp, r0, r0 + rows, dz, M, err);

    for (size_t i = 0; rc == ST_OK && i < rows; i++)
        *part += h->r[r0 + i] * blas_ddot(M, dz + i * M, h->w);
    return rc;
}

enum status fop_slope_form(struct fop *f, size_t ihp, const double *r, const double *w, double *out,
                           struct err *err)
{
    if (there(f)->slope_form) {
        const enum status rc = there(f)->slope_form(state_of(f), ihp, r, w, out, err);
        if (answered(f, rc, err))
            return rc;
    }
    const struct form ask = { ihp, r, w };
    struct row_job j = sum_of(f, form_tile, &ask, FORM_ROWS, "summing derivatives");
    j.parts = 1;
    j.work = FORM_ROWS * f->M * sizeof(double);
    *out = 0.0;
    return job_run(&j, out, err);
}

struct back { const struct fop_slope *of; const float *S32; };

/* B <- Z S for a tile (rows x M).  Single precision loses nothing where features are single: an
 * element of B is then as accurate as they are, and the sum over all elements is more accurate.
 * z: room for two tiles in single precision. */
static void back_product(const struct back *b, size_t M, size_t rows, const double *Z, double *B,
                         float *z)
{
    const size_t all = rows * M;
    float *p = z + all;

    if (b->S32 == NULL) {
        blas_dgemm1(false, false, M, rows, M, 1.0, b->of->S, M, Z, M, 0.0, B, M);
        return;
    }
    for (size_t i = 0; i < all; i++)
        z[i] = (float)Z[i];
    blas_sgemm1(false, false, M, rows, M, 1.0F, b->S32, M, z, M, 0.0F, p, M);
    for (size_t i = 0; i < all; i++)
        B[i] = (double)p[i];
}

static enum status back_tile(const struct row_job *j, size_t task, void *work, double *part,
                             struct err *err)
{
    const struct back *b = j->ask;
    const struct fop_slope *s = b->of;
    const size_t M = j->f->M, n = j->f->n;
    size_t r0;
    const size_t rows = tile_of(j, task, &r0);
    double *Z = work, *B = Z + rows * M;
    enum status rc = fop_tile64(j->f, r0, r0 + rows, Z, M, err);

    if (rc != ST_OK)
        return rc;
    if (s->S)
        back_product(b, M, rows, Z, B, (float *)(void *)(B + rows * M));
    else
        blas_dgemm1(false, true, M, rows, s->k, 1.0, s->V, M, s->T + r0, n, 0.0, B, M);
    for (size_t i = 0; s->S && i < rows; i++)
        for (size_t c = 0; c < s->k; c++)
            blas_daxpy(M, s->T[c * n + r0 + i], s->V + c * M, B + i * M);
    return fop_grad(j->f, r0, r0 + rows, Z, B, M, part, err);
}

/* The sum on the device; UNSUPPORTED when it has none, or has no room, or failed, and grad is then
 * as before: a device that is lost half way has added some rows already. */
static enum status back_there(struct fop *f, const struct fop_slope *s, double *grad,
                              const struct ctl *ctl, struct err *err)
{
    if (!there(f)->back)
        return ST_UNSUPPORTED;
    double *before = mem_calloc(s->nhp + 1, sizeof *before, "a gradient", err);
    if (!before)
        return ST_NOMEM;
    memcpy(before, grad, s->nhp * sizeof *grad);
    enum status rc = there(f)->back(state_of(f), s->S, s->k, s->T, s->V, grad, ctl, err);
    if (rc != ST_OK && rc != ST_CANCELLED) {
        if (!fop_goes_on(f, rc, err))
            err_clear(err);
        memcpy(grad, before, s->nhp * sizeof *grad);
        rc = ST_UNSUPPORTED;
    }
    free(before);
    return rc;
}

enum status fop_back(struct fop *f, const struct fop_slope *s, double *grad, const struct ctl *ctl,
                     struct err *err)
{
    const size_t M = f->M, most = BACK_MOST / M > 64 ? BACK_MOST / M : 64;
    const size_t rows = !s->S ? BACK_FEW : most < BACK_ROWS ? most : BACK_ROWS;
    const bool single = s->S && f->precision == PREC_FLOAT;
    enum status rc = back_there(f, s, grad, ctl, err);

    if (rc != ST_UNSUPPORTED)
        return rc;
    float *S32 = single ? mem_aligned(M * M, sizeof *S32, "the gradient's matrix", err) : NULL;
    if (single && !S32)
        return ST_NOMEM;
    for (size_t i = 0; single && i < M * M; i++)
        S32[i] = (float)s->S[i];
    const struct back ask = { s, S32 };
    struct row_job j = sum_of(f, back_tile, &ask, rows, "summing derivatives");
    j.ctl = ctl;
    j.parts = s->nhp;
    j.work = rows * M * (2 * sizeof(double) + (single ? 2 * sizeof(float) : 0));
    rc = job_run(&j, grad, err);
    free(S32);
    return rc;
}

/* Forms of single rows. */

struct forms { const struct fop_factors *of; double *q; };

/* V = L^-1 Z' (M x rows) by a triangular solve; a tile ends with rows of zeros. */
static enum status forms_tile(const struct row_job *j, size_t task, void *work, double *part,
                              struct err *err)
{
    const struct forms *s = j->ask;
    const size_t M = j->f->M;
    size_t r0;
    const size_t rows = tile_of(j, task, &r0);
    const size_t all = (rows + BLAS_COLUMNS - 1) / BLAS_COLUMNS * BLAS_COLUMNS;
    double *Z = work, *V = s->of->count > 1 ? Z + j->rows * M * 3 / 2 : Z;
    enum status rc = tile_made(j->f, s->of->precision, r0, r0 + rows, Z, err);

    (void)part;
    if (rc == ST_OK)
        memset(Z + rows * M, 0, (all - rows) * M * sizeof *Z);
    for (size_t c = 0; rc == ST_OK && c < s->of->count; c++) {
        if (V != Z)
            memcpy(V, Z, all * M * sizeof *V);
        rc = blas_dtrsm_task(M, all, s->of->L + c * M * M, M, V, M, err);
        for (size_t i = 0; rc == ST_OK && i < rows; i++)
            s->q[c * j->f->n + r0 + i] = blas_ddot(M, V + i * M, V + i * M);
    }
    return rc;
}

enum status fop_forms(struct fop *f, const struct fop_factors *of, double *q, const struct ctl *ctl,
                      struct err *err)
{
    if (there(f)->forms) {
        const enum status rc = there(f)->forms(state_of(f), of, q, ctl, err);
        if (answered(f, rc, err))
            return rc;
    }
    const struct forms ask = { of, q };
    const size_t rows = blas_task_columns(f->n, pool_threads(f->pool));
    struct row_job j = job_of(f, forms_tile, &ask, rows, "predicting");
    j.ctl = ctl;
    j.work = j.rows * f->M * (of->count > 1 ? 20 : 12) + 64;
    return job_run(&j, NULL, err);
}

/* Groups are cut where segments begin (share.h), so that each piece is in one process. */
struct piece { size_t r0, r1; };
struct means { const struct fop_groups *of; const struct piece *piece; double *sum; };

static enum status means_piece(const struct row_job *j, size_t i, void *work, double *part,
                               struct err *err)
{
    const struct means *s = j->ask;
    const size_t M = j->f->M, end = s->piece[i].r1;
    double *z = work;

    (void)part;
    for (size_t r = s->piece[i].r0; r < end; r += FOP_FORM_ROWS) {
        const size_t to = end - r < FOP_FORM_ROWS ? end : r + FOP_FORM_ROWS;
        const enum status rc = ctl_stopped(j->ctl)
                                   ? ST_OK : tile_made(j->f, s->of->precision, r, to, z, err);
        if (rc != ST_OK || ctl_stopped(j->ctl))
            return rc;
        for (size_t k = 0; k < to - r; k++)
            blas_daxpy(M, 1.0 / (double)s->of->each, z + k * M, s->sum + i * M);
    }
    return ST_OK;
}

/* The pieces of group g that are here, to piece (NULL: none are written). */
static size_t pieces_of(const struct fop *f, const struct fop_groups *of, size_t g,
                        struct piece *piece)
{
    const size_t all = share_rows(f->share, f->n), from = share_from(f->share);
    const size_t begin = g * of->each, end = begin + of->each;
    size_t n = 0;

    for (size_t s = 0; s < SHARE_SEGMENTS; s++) {
        const size_t a = share_row(all, s, SHARE_SEGMENTS);
        const size_t b = share_row(all, s + 1, SHARE_SEGMENTS);
        const size_t r0 = a > begin ? a : begin, r1 = b < end ? b : end;
        if (r0 >= r1 || r0 < from || r0 >= from + f->n)
            continue;
        if (piece)
            piece[n] = (struct piece){ r0 - from, r1 - from };
        n++;
    }
    return n;
}

/* C += the means, from the sums of all pieces. */
static enum status means_fold(struct fop *f, const struct fop_groups *of, const double *sum,
                              double *C, struct err *err)
{
    double *all = mem_calloc(f->M, sizeof *all, "averages of rows", err);
    enum status rc = all ? ST_OK : ST_NOMEM;
    size_t at = 0;

    for (size_t g = 0; rc == ST_OK && g < of->groups; g++) {
        const struct share_parts parts = { SHARE_SEGMENTS, pieces_of(f, of, g, NULL), f->M,
                                           sum + at * f->M, true };
        rc = share_fold(f->share, f->pool, &parts, all, err);
        if (rc == ST_OK)
            blas_daxpy(f->M, 1.0, all, C + g * f->M);
        at += parts.parts;
    }
    free(all);
    return rc;
}

enum status fop_means(struct fop *f, const struct fop_groups *of, double *C, const struct ctl *ctl,
                      struct err *err)
{
    size_t n = 0;

    if (there(f)->means) {
        const enum status rc = there(f)->means(state_of(f), of, C, ctl, err);
        if (answered(f, rc, err))
            return rc;
    }
    for (size_t g = 0; g < of->groups; g++)
        n += pieces_of(f, of, g, NULL);
    struct piece *piece = mem_calloc(n + 1, sizeof *piece, "averages of rows", err);
    double *sum = piece ? mem_calloc(n + 1, f->M * sizeof *sum, "averages of rows", err) : NULL;
    enum status rc = sum ? ST_OK : ST_NOMEM;
    for (size_t g = 0, at = 0; sum && g < of->groups; g++)
        at += pieces_of(f, of, g, piece + at);
    const struct means ask = { of, piece, sum };
    struct row_job j = job_of(f, means_piece, &ask, FOP_FORM_ROWS, "averaging rows");
    j.ctl = ctl;
    j.tasks = n;
    j.work = made_bytes(f, FOP_FORM_ROWS);
    if (rc == ST_OK)
        rc = job_run(&j, NULL, err);
    if (rc == ST_OK)
        rc = means_fold(f, of, sum, C, err);
    free(piece);
    free(sum);
    return rc;
}

struct dots { const float *v; double *dot, *square; };

static enum status dots_tile(const struct row_job *j, size_t task, void *work, double *part,
                             struct err *err)
{
    const struct dots *s = j->ask;
    const size_t M = j->f->M;
    size_t r0;
    const size_t rows = tile_of(j, task, &r0);
    float *z = work;
    const enum status rc = fop_tile(j->f, r0, r0 + rows, z, M, err);

    (void)part;
    for (size_t i = 0; rc == ST_OK && i < rows; i++) {
        double dot = 0.0, square = 0.0;
        for (size_t c = 0; c < M; c++) {
            dot += (double)s->v[c] * (double)z[i * M + c];
            square += (double)z[i * M + c] * (double)z[i * M + c];
        }
        s->dot[r0 + i] = dot;
        s->square[r0 + i] = square;
    }
    return rc;
}

enum status fop_dots(struct fop *f, const float *v, double *dot, double *square,
                     const struct ctl *ctl, struct err *err)
{
    ctl_tell(ctl, PHASE_ROWS, 0, f->n, NAN);
    if (there(f)->dots) {
        const enum status rc = there(f)->dots(state_of(f), v, dot, square, ctl, err);
        if (answered(f, rc, err))
            return rc;
    }
    const struct dots ask = { v, dot, square };
    struct row_job j = job_of(f, dots_tile, &ask, FOP_FORM_ROWS, "measuring rows");
    j.ctl = ctl;
    j.work = FOP_FORM_ROWS * f->M * sizeof(float);
    return job_run(&j, NULL, err);
}

/* The kernel matrix of few rows. */

static enum status outer_rows(const struct row_job *j, size_t task, void *work, double *part,
                              struct err *err)
{
    double *Z = j->f->outer;
    size_t r0;
    const size_t rows = tile_of(j, task, &r0);

    (void)work;
    (void)part;
    return fop_tile64(j->f, r0, r0 + rows, Z + r0 * j->f->M, j->f->M, err);
}

void fop_outer_drop(struct fop *f)
{
    free(f->outer);
    f->outer = NULL;
}

/* f->outer (n x M, row-major): the features of all rows. */
enum status fop_outer_make(struct fop *f, const struct ctl *ctl, struct err *err)
{
    struct row_job j = job_of(f, outer_rows, NULL, OUTER_ROWS, "making the features");

    if (f->outer)
        return ST_OK;
    f->outer = mem_aligned(f->n * f->M, sizeof *f->outer, "the features", err);
    j.ctl = ctl;
    const enum status rc = f->outer ? job_run(&j, NULL, err) : ST_NOMEM;
    if (rc != ST_OK)
        fop_outer_drop(f);
    return rc;
}

enum status fop_outer(struct fop *f, bool keep, double *K, const struct ctl *ctl, struct err *err)
{
    if (there(f)->outer) {
        const enum status rc = there(f)->outer(state_of(f), keep, K, ctl, err);
        if (answered(f, rc, err))
            return rc;
    }
    enum status rc = fop_outer_make(f, ctl, err);

    if (rc == ST_OK)
        rc = blas_dgram(f->pool, f->M, f->n, f->outer, f->M, K, f->n, err);
    if (!keep)
        fop_outer_drop(f);
    return rc;
}

static enum status outer_tile(const struct row_job *j, size_t task, void *work, double *part,
                              struct err *err)
{
    const double *W = j->ask;
    const size_t M = j->f->M;
    size_t r0;
    const size_t rows = tile_of(j, task, &r0);

    (void)work;
    return fop_grad(j->f, r0, r0 + rows, j->f->outer + r0 * M, W + r0 * M, M, part, err);
}

enum status fop_outer_back(struct fop *f, const double *S, size_t nhp, double *grad,
                           const struct ctl *ctl, struct err *err)
{
    if (there(f)->outer_back) {
        const enum status rc = there(f)->outer_back(state_of(f), S, nhp, grad, ctl, err);
        if (answered(f, rc, err))
            return rc;
    }
    const size_t n = f->n, M = f->M;
    double *W = mem_aligned(n * M, sizeof *W, "the gradient's weights", err);
    enum status rc = W ? fop_outer_make(f, ctl, err) : ST_NOMEM;

    if (rc == ST_OK)
        rc = blas_dgemm(f->pool, false, false, M, n, n, 1.0, f->outer, M, S, n, 0.0, W, M, err);
    if (rc == ST_OK && nhp > 0) {
        struct row_job j = sum_of(f, outer_tile, W, OUTER_ROWS, "summing derivatives");
        j.ctl = ctl;
        j.parts = nhp;
        rc = job_run(&j, grad, err);
    }
    fop_outer_drop(f);
    free(W);
    return rc;
}

/* Products with some rows. */

struct fop_blocks {
    struct fop *f;
    size_t rows, per, k;
    size_t room, groups;        /* groups of blocks that there is room for, and that there are, a
                                 * task each: those whose first row is in the same segment */
    const size_t *at;
    size_t segment[SHARE_SEGMENTS]; /* of each group */
    double *part;               /* sums of each group, k x M */
    char *z, *t, *w, *p;        /* workspace of each worker; p: P in the operator's precision */
    enum status rc[SHARE_SEGMENTS]; /* of each group */
};

static size_t number_bytes(const struct fop *f)
{
    return f->precision == PREC_DOUBLE ? sizeof(double) : sizeof(float);
}

void fop_blocks_free(struct fop_blocks *s)
{
    if (!s)
        return;
    free(s->part);
    free(s->z);
    free(s->t);
    free(s->w);
    free(s->p);
    free(s);
}

struct fop_blocks *fop_blocks_new(struct fop *f, size_t rows, size_t per, size_t k, struct err *err)
{
    const size_t M = f->M, threads = pool_threads(f->pool), size = number_bytes(f);
    struct fop_blocks *s = mem_calloc(1, sizeof *s, "sums of a batch", err);

    if (!s)
        return NULL;
    *s = (struct fop_blocks){ .f = f, .rows = rows, .per = per, .k = k };
    s->room = per < SHARE_SEGMENTS ? per : SHARE_SEGMENTS;
    s->part = mem_aligned(s->room * k, M * sizeof *s->part, "sums of a batch", err);
    s->z = s->part ? mem_aligned(threads * rows, M * size, "features of a batch", err) : NULL;
    s->t = s->z ? mem_aligned(threads * rows, k * size, "features of a batch", err) : NULL;
    s->w = s->t ? mem_aligned(threads * k, M * size, "sums of a batch", err) : NULL;
    s->p = s->w ? mem_aligned(k, M * size, "right-hand sides of a batch", err) : NULL;
    if (f->share && SHARE_ROWS % rows) {
        err_set(err, ST_SHAPE, "blocks of %zu rows may be in two processes", rows);
        free(s->p);
        s->p = NULL;
    }
    if (!s->p) {
        fop_blocks_free(s);
        return NULL;
    }
    return s;
}

/* part (k x M) += z'(z P) over the block of rows that begins with r0, z m x M. */
static enum status block_products(struct fop_blocks *s, size_t r0, size_t worker, double *part)
{
    const size_t n = s->f->n, M = s->f->M, k = s->k;
    const size_t r1 = r0 + s->rows < n ? r0 + s->rows : n, m = r1 - r0;
    const size_t size = number_bytes(s->f);
    void *z = s->z + worker * s->rows * M * size, *t = s->t + worker * s->rows * k * size;
    void *w = s->w + worker * k * M * size, *p = s->p;

    if (size == sizeof(double)) { /* row-major z is column-major z' */
        const enum status rc = fop_tile64(s->f, r0, r1, z, M, NULL);
        if (rc != ST_OK)
            return rc;
        blas_dgemm1(true, false, m, k, M, 1.0, z, M, p, M, 0.0, t, m);
        blas_dgemm1(false, false, M, k, m, 1.0, z, M, t, m, 1.0, part, M);
        return ST_OK;
    }
    const enum status rc = fop_tile(s->f, r0, r1, z, M, NULL);
    if (rc != ST_OK)
        return rc;
    blas_sgemm1(true, false, m, k, M, 1.0F, z, M, p, M, 0.0F, t, m);
    blas_sgemm1(false, false, M, k, m, 1.0F, z, M, t, m, 0.0F, w, M);
    cpu_simd_now()->add(M * k, w, part);
    return ST_OK;
}

static void group_products(void *ctx, size_t g, size_t worker)
{
    struct fop_blocks *s = ctx;
    const struct share *share = s->f->share;
    double *part = s->part + g * s->k * s->f->M;
    size_t begin, end;

    share_part(share, s->f->n, s->segment[g], SHARE_SEGMENTS, &begin, &end);
    memset(part, 0, s->k * s->f->M * sizeof *part);
    s->rc[g] = ST_OK;
    for (size_t i = 0; i < s->per; i++) {
        const size_t row = s->at[i] * s->rows - share_from(share);
        if (row >= begin && row < end && s->rc[g] == ST_OK)
            s->rc[g] = block_products(s, row, worker, part);
    }
}

/* Finds the segments that have blocks here. */
static void groups_find(struct fop_blocks *s)
{
    s->groups = 0;
    for (size_t g = 0; g < SHARE_SEGMENTS; g++) {
        size_t begin, end;
        bool some = false;
        share_part(s->f->share, s->f->n, g, SHARE_SEGMENTS, &begin, &end);
        for (size_t i = 0; i < s->per; i++) {
            const size_t row = s->at[i] * s->rows - share_from(s->f->share);
            some |= row >= begin && row < end;
        }
        if (some)
            s->segment[s->groups++] = g;
    }
}

enum status fop_blocks_pass(struct fop_blocks *s, const size_t *at, const double *P, double *W,
                            struct err *err)
{
    struct fop *f = s->f;
    const size_t all = s->k * f->M;

    if (there(f)->blocks) {
        const struct fop_chosen ask = { s->rows, s->per, at };
        const enum status rc = there(f)->blocks(state_of(f), &ask, s->k, P, W, err);
        if (answered(f, rc, err))
            return rc;
    }
    s->at = at;
    groups_find(s);
    if (number_bytes(f) == sizeof(double))
        memcpy(s->p, P, all * sizeof *P);
    else
        for (size_t j = 0; j < all; j++)
            ((float *)(void *)s->p)[j] = (float)P[j];
    pool_run(f->pool, s->groups, group_products, s);
    for (size_t g = 0; g < s->groups; g++)
        if (s->rc[g] != ST_OK)
            return err_set(err, s->rc[g], "the features of a batch could not be made");
    const bool both = number_bytes(f) == sizeof(double);
    const struct share_parts parts = { SHARE_SEGMENTS, s->groups, all, s->part, both };
    return share_fold(f->share, f->pool, &parts, W, err);
}
