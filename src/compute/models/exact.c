/* compute/models/exact.c -- exact kernel matrices by tiles over the pool and their Cholesky factor
 * (Rasmussen & Williams 2006, algorithm 2.1; share/doc/methods.md 5.1).  K is n x n at amplitude 1,
 * in double precision; only its lower triangle is computed. */
#include "compute/models/exact.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/kernels/kernel_tile.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAIR_SECONDS 25e-9 /* a usual kernel value in double precision */
#define FLOPS 50e9         /* of one core in a factorisation */
enum { TILE = KERNEL_TILE }; /* columns of a task: fixed, so that no sum depends on the threads */

double exact_seconds_of(size_t n, double pair)
{
    const double rows = (double)n;
    return 0.5 * rows * rows * pair + rows * rows * rows / 3.0 / FLOPS;
}

double exact_seconds(size_t n)
{
    return exact_seconds_of(n, PAIR_SECONDS);
}

enum status exact_allowed(size_t n, size_t matrices, size_t mem_limit, struct err *err)
{
    const double bytes = 8.0 * (double)n * (double)n * (double)matrices;
    char mem[32], time[32], rows[32];

    if (mem_limit == 0 || bytes <= (double)mem_limit)
        return ST_OK;
    mem_format(mem, sizeof mem, bytes);
    text_count(rows, sizeof rows, n);
    text_seconds(time, sizeof time, exact_seconds(n));
    err_named(err, ST_LIMIT, "exact-size",
              "a Cholesky factor of %s rows needs %s and about %s of one core", rows, mem, time);
    err_hint(err, "fit model=exact solver=pcg  (without the matrix), or fit features=8192");
    return ST_LIMIT;
}

double *exact_inputs(const struct source *src, struct err *err)
{
    double *X = mem_aligned(src->n * src->d + 1, sizeof *X, "the inputs", err);

    if (X != NULL && src->layout.nparts > 0) /* nothing is written behind a row's last position */
        memset(X, 0, (src->n * src->d + 1) * sizeof *X);
    if (X != NULL && src->rows(src, 0, src->n, X, err) != ST_OK) {
        free(X);
        X = NULL;
    }
    return X;
}

/* A job over blocks of TILE columns: K is written, or W is summed with dK. */
struct matrix_job {
    const struct exact_rows *r;
    size_t nhp;
    double diag;
    double *K;       /* n x n, out; or NULL, and */
    const double *W; /* n x n, in; NULL: of rank k, */
    size_t k;
    const double *P, *Q; /* from n x k */
    double *part;    /* tasks x nhp sums, added in the order of tasks */
    const struct ctl *ctl;
    size_t done;     /* entries of K, atomic */
};

/* s_i s_j, the row factors of entry (i, j). */
static double factor(const struct exact_rows *r, size_t i, size_t j)
{
    return r->row_scale ? r->row_scale[i] * r->row_scale[j] : 1.0;
}

/* Columns j0 .. j1 of S K1 S + diag I by a tile: those of its own rows, then all below.  False:
 * memory is short. */
static bool matrix_tile(const struct matrix_job *m, size_t j0, size_t j1)
{
    const struct exact_rows *r = m->r;
    const size_t n = r->n, d = r->d, cols = j1 - j0;
    struct kernel_tile *tile = kernel_tile_new(r->k, r->hp, d, cols, r->X + j0 * d, d);
    double own[TILE * TILE];

    if (tile == NULL)
        return false;
    kernel_tile_values(tile, cols, r->X + j0 * d, d, own, TILE);
    if (j1 < n)
        kernel_tile_values(tile, n - j1, r->X + j1 * d, d, m->K + j1 + j0 * n, n);
    for (size_t j = j0; j < j1; j++) {
        for (size_t i = j; i < j1; i++)
            m->K[i + j * n] = own[i - j0 + (j - j0) * TILE];
        for (size_t i = j; r->row_scale && i < n; i++)
            m->K[i + j * n] *= factor(r, i, j);
        m->K[j + j * n] += m->diag;
    }
    kernel_tile_free(tile);
    return true;
}

/* Tells, in the thread of the caller, how much of the lower triangle there is: entries that are no
 * tiles take their time. */
static void count_entries(struct matrix_job *m, size_t entries, size_t worker)
{
    const size_t n = m->r->n;
    const size_t done = __atomic_add_fetch(&m->done, entries, __ATOMIC_RELAXED);

    if (worker == 0 && m->r->pool)
        ctl_tell(m->ctl, PHASE_KERNEL, done, n * (n + 1) / 2, NAN);
}

/* Columns j0 .. j1 of S K1 S + diag I, from the diagonal down. */
static void matrix_task(void *ctx, size_t task, size_t worker)
{
    struct matrix_job *m = ctx;
    const struct exact_rows *r = m->r;
    const size_t n = r->n, d = r->d, j0 = task * TILE, j1 = j0 + TILE < n ? j0 + TILE : n;

    if (ctl_stopped(m->ctl) || (kernel_tile_has(r->k) && matrix_tile(m, j0, j1)))
        return;
    for (size_t j = j0; j < j1 && !ctl_stopped(m->ctl); j++) {
        const double *xj = r->X + j * d;
        m->K[j + j * n] = factor(r, j, j) * kernel_exact(r->k, r->hp, d, xj, xj, NULL) + m->diag;
        for (size_t i = j + 1; i < n; i++)
            m->K[i + j * n] = factor(r, i, j) *
                              kernel_exact(r->k, r->hp, d, r->X + i * d, xj, NULL);
        count_entries(m, n - j, worker);
    }
}

enum status exact_matrix(const struct exact_rows *r, double diag, double *K, const struct ctl *ctl,
                         struct err *err)
{
    struct matrix_job m = { .r = r, .diag = diag, .K = K, .ctl = ctl };

    pool_run(r->pool, (r->n + TILE - 1) / TILE, matrix_task, &m);
    return ctl_stopped(ctl) ? err_set(err, ST_CANCELLED, "stopped") : ST_OK;
}

/* part[h] += sum of W_ij s_i s_j dK1_ij / dlog hp[h] over a tile from the diagonal down; an entry
 * below the diagonal counts twice.  Entry (i, j) of W is at W[i - i0 + (j - j0) ld].  Kernels give
 * the derivative in the logarithm. */
static void contract_tile(const struct matrix_job *m, size_t i0, size_t i1, size_t j0, size_t j1,
                          const double *W, size_t ld, double *part)
{
    const struct exact_rows *r = m->r;
    const size_t d = r->d;
    double grad[KERNEL_MAX_HP];

    for (size_t j = j0; j < j1 && !ctl_stopped(m->ctl); j++)
        for (size_t i = i0 > j ? i0 : j; i < i1; i++) {
            const double w = W[i - i0 + (j - j0) * ld] * factor(r, i, j) * (i == j ? 1.0 : 2.0);
            kernel_exact(r->k, r->hp, d, r->X + i * d, r->X + j * d, grad);
            for (size_t h = 0; h < m->nhp; h++)
                part[h] += w * grad[h];
        }
}

/* The columns of a task, all rows from the diagonal down. */
static void contract_task(void *ctx, size_t task, size_t worker)
{
    const struct matrix_job *m = ctx;
    const size_t n = m->r->n, j0 = task * TILE, j1 = j0 + TILE < n ? j0 + TILE : n;
    double W[TILE * TILE], *part = m->part + task * m->nhp;

    (void)worker;
    if (m->W != NULL && !ctl_stopped(m->ctl))
        contract_tile(m, j0, n, j0, j1, m->W + j0 + j0 * n, n, part);
    for (size_t i0 = j0; m->W == NULL && i0 < n && !ctl_stopped(m->ctl); i0 += TILE) {
        const size_t i1 = i0 + TILE < n ? i0 + TILE : n;
        blas_dgemm1(false, true, i1 - i0, j1 - j0, m->k, 0.5, m->P + i0, n, m->Q + j0, n, 0.0, W,
                    TILE);
        blas_dgemm1(false, true, i1 - i0, j1 - j0, m->k, 0.5, m->Q + i0, n, m->P + j0, n, 1.0, W,
                    TILE);
        contract_tile(m, i0, i1, j0, j1, W, TILE, part);
    }
}

static enum status contract(struct matrix_job *m, double *sum, struct err *err)
{
    const size_t tasks = (m->r->n + TILE - 1) / TILE, nhp = kernel_nhp(m->r->k);

    if (nhp == 0)
        return ST_OK;
    m->nhp = nhp;
    m->part = mem_calloc(tasks * nhp, sizeof *m->part, "partial sums", err);
    if (m->part == NULL)
        return ST_NOMEM;
    pool_run(m->r->pool, tasks, contract_task, m);
    for (size_t h = 0; h < nhp; h++) {
        sum[h] = 0.0;
        for (size_t t = 0; t < tasks; t++)
            sum[h] += m->part[t * nhp + h];
    }
    free(m->part);
    return ctl_stopped(m->ctl) ? err_set(err, ST_CANCELLED, "stopped") : ST_OK;
}

enum status exact_contract(const struct exact_rows *r, const double *W, double *sum,
                           const struct ctl *ctl, struct err *err)
{
    struct matrix_job m = { .r = r, .W = W, .ctl = ctl };

    return contract(&m, sum, err);
}

enum status exact_contract_low(const struct exact_rows *r, size_t k, const double *P,
                               const double *Q, double *sum, const struct ctl *ctl,
                               struct err *err)
{
    struct matrix_job m = { .r = r, .k = k, .P = P, .Q = Q, .ctl = ctl };

    return contract(&m, sum, err);
}

/* each: test rows of a task. */
struct cross_job { const struct exact_rows *r; const double *Xt; size_t wide, m, each; double *C; };

static void cross_task(void *ctx, size_t task, size_t worker)
{
    const struct cross_job *c = ctx;
    const struct exact_rows *r = c->r;
    const size_t t0 = task * c->each, t1 = t0 + c->each < c->m ? t0 + c->each : c->m;
    struct kernel_tile *tile =
        kernel_tile_has(r->k)
            ? kernel_tile_new(r->k, r->hp, r->d, t1 - t0, c->Xt + t0 * c->wide, c->wide)
            : NULL;

    (void)worker;
    if (tile != NULL)
        kernel_tile_values(tile, r->n, r->X, r->d, c->C + t0 * r->n, r->n);
    for (size_t t = t0; tile == NULL && t < t1; t++)
        for (size_t i = 0; i < r->n; i++)
            c->C[i + t * r->n] = kernel_exact(r->k, r->hp, r->d, r->X + i * r->d,
                                              c->Xt + t * c->wide, NULL);
    kernel_tile_free(tile);
}

void exact_cross_wide(const struct exact_rows *r, const double *Xt, size_t wide, size_t m,
                      double *C)
{
    struct cross_job c = { .r = r, .Xt = Xt, .wide = wide, .m = m, .C = C,
                           .each = kernel_tile_has(r->k) ? KERNEL_TILE : 8 };

    pool_run(r->pool, (m + c.each - 1) / c.each, cross_task, &c);
}

void exact_cross(const struct exact_rows *r, const double *Xt, size_t m, double *C)
{
    exact_cross_wide(r, Xt, r->d, m, C);
}

/* K := L with L L' = S K1 S + (ratio + jitter) I.  A Cholesky factorisation is backward stable: it
 * fails only where the smallest eigenvalue is within rounding, about n times the machine epsilon of
 * the largest, of 0.  Such a matrix (repeated rows and hardly any noise) gets a jitter: 1e-12 +
 * 1e-14 n first, then a hundred times more, up to a last attempt from 1e-4 on.  The matrix is
 * computed anew each time, because the failed factorisation has overwritten it. */
enum status exact_factor(const struct exact_rows *r, double ratio, double *K, double *jitter,
                         const struct ctl *ctl, struct err *err)
{
    const size_t n = r->n;

    *jitter = 0.0;
    for (;;) {
        enum status rc = exact_matrix(r, ratio + *jitter, K, ctl, err);
        if (rc == ST_OK)
            rc = blas_dpotrf(r->pool, n, K, n, ctl, NULL, err);
        if (rc != ST_NOT_PD || *jitter >= 1e-4)
            return rc;
        *jitter = *jitter > 0.0 ? *jitter * 100.0 : 1e-14 * (double)n + 1e-12;
    }
}
