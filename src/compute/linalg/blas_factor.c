/* compute/linalg/blas_factor.c -- factorisations cut into fixed tiles over our pool: Cholesky,
 * triangular solves, inverse, thin QR and SVD (Golub & Van Loan 2013, chapters 3 to 5).  Sizes of
 * tiles depend on shapes alone and no tile is summed by two tasks, so that the bits do not depend
 * on the number of threads. */
#include "compute/linalg/blas.h"

#include "base/mem.h"
#include "compute/backend.h"
#include "compute/linalg/blas_kernels.h"
#include "compute/rng.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Cholesky, right-looking: with A = [A11 .; A21 A22] a step factors A11 = L11 L11', solves the
 * panel L21 = A21 L11'^-1, and updates A22 -= L21 L21'. */

struct potrf {
    double *A;              /* the remaining matrix, from the diagonal block on */
    size_t n, lda, nb;      /* its size; the panel's width */
};

enum { PANEL_ROWS = 128, UPDATE = 384 };

static void potrf_panel(void *ctx, size_t task, size_t worker)
{
    (void)worker;
    const struct potrf *p = ctx;
    const size_t r = p->nb + task * PANEL_ROWS;
    blas_trsm1(true, true, least(PANEL_ROWS, p->n - r), p->nb, 1.0, p->A, p->lda, p->A + r,
               p->lda);
}

/* A tile of the trailing update A22 -= L21 L21'. */
static void potrf_update(void *ctx, size_t task, size_t worker)
{
    (void)worker;
    const struct potrf *p = ctx;
    size_t i, j;
    blas_lower_tile(task, &i, &j);
    i = p->nb + i * UPDATE, j = p->nb + j * UPDATE;
    const size_t ni = least(UPDATE, p->n - i), nj = least(UPDATE, p->n - j);
    double *C = p->A + i + j * p->lda;
    if (i == j)
        blas_dsyrk1(true, false, ni, p->nb, -1.0, p->A + i, p->lda, 1.0, C, p->lda);
    else
        blas_dgemm1(false, true, ni, nj, p->nb, -1.0, p->A + i, p->lda, p->A + j, p->lda, 1.0, C,
                    p->lda);
}

/* 1 + the index of the first diagonal entry that is not a positive finite number, or 0. */
static size_t bad_pivot(size_t n, const double *L, size_t ldl)
{
    for (size_t i = 0; i < n; i++)
        if (!(L[i + i * ldl] > 0.0) || !isfinite(L[i + i * ldl]))
            return i + 1;
    return 0;
}

enum status blas_dpotrf(struct pool *pool, size_t n, double *A, size_t lda, const struct ctl *ctl,
                        size_t *pivot, struct err *err)
{
    enum status rc = blas_fits(n, lda, 0, err);
    if (rc != ST_OK)
        return rc;
    const struct backend_dense *other = blas_elsewhere(n);
    if (other && blas_answered(rc = other->potrf(n, A, lda, ctl, pivot, err), err))
        return rc;
    const size_t width = n >= 6144 ? 384 : n >= 1536 ? 256 : 128;
    for (size_t j = 0; j < n; j += width) {
        struct potrf p = { A + j + j * lda, n - j, lda, least(width, n - j) };
        if (ctl_stopped(ctl))
            return err_set(err, ST_CANCELLED, "the factorisation was stopped");
        size_t bad = blas_potrf1(p.nb, p.A, lda);
        if (!bad)
            bad = bad_pivot(p.nb, p.A, lda);
        if (bad) {
            if (pivot)
                *pivot = j + bad - 1;
            return err_set(err, ST_NOT_PD,
                           "the %zu x %zu matrix is not positive definite (pivot %zu)", n, n,
                           j + bad);
        }
        if (p.nb == p.n)
            break;
        const size_t below = p.n - p.nb, t = blas_tiles(below, UPDATE);
        pool_run(pool, blas_tiles(below, PANEL_ROWS), potrf_panel, &p);
        pool_run(pool, t * (t + 1) / 2, potrf_update, &p);
    }
    return ST_OK;
}

/* Triangular solves. */

struct trsm {
    const double *L;
    double *X;
    size_t m, n, ldl, ldx, tile; /* X is m x n */
    bool trans;
    double alpha;
};

static void trsm_columns(void *ctx, size_t task, size_t worker)
{
    (void)worker;
    const struct trsm *s = ctx;
    const size_t c = task * s->tile, nc = least(s->tile, s->n - c);
    double *X = s->X + c * s->ldx;
    if (nc == 1)
        blas_trsv1(s->trans, s->m, s->L, s->ldl, X);
    else
        blas_trsm1(false, s->trans, s->m, nc, 1.0, s->L, s->ldl, X, s->ldx);
}

/* SOLVE: the order of a diagonal block.  Solves with one are five times slower than products, and
 * as fast by 32 columns as by more.  TASK_ROWS: rows of a product in a task of columns. */
enum { SOLVE = 128, SOLVE_COLUMNS = 32, SUMMED = 16, TASK_ROWS = 512 };

/* Works by blocks of rows: a solve with the diagonal block over tiles of columns, then a product
 * over tiles of the remaining rows, so that even a few right-hand sides occupy every worker.
 * lower: column c of X is 0 above its row c (and not trans). */
static enum status solve(struct pool *pool, bool trans, bool lower, size_t n, size_t k,
                         const struct trsm *by, struct err *err)
{
    enum status rc = ST_OK;
    const size_t nb = SOLVE, blocks = blas_tiles(n, nb), ldl = by->ldl, ldx = by->ldx;
    const double *L = by->L;
    double *X = by->X;

    for (size_t q = 0; q < blocks && rc == ST_OK; q++) {
        const size_t b = (trans ? blocks - 1 - q : q) * nb, m = least(nb, n - b);
        const size_t c = lower ? least(k, b + m) : k; /* columns that are not 0 */
        struct trsm s = { L + b + b * ldl, X + b, m, c, ldl, ldx, SOLVE_COLUMNS, trans, 1.0 };
        pool_run(pool, blas_tiles(c, s.tile), trsm_columns, &s);
        if (trans && b)
            rc = blas_dgemm(pool, true, false, b, c, m, -1.0, L + b, ldl, X + b, ldx, 1.0, X, ldx,
                            err);
        else if (!trans && b + m < n)
            rc = blas_dgemm(pool, false, false, n - b - m, c, m, -1.0, L + b + m + b * ldl, ldl,
                            X + b, ldx, 1.0, X + b + m, ldx, err);
    }
    return rc;
}

enum status blas_dtrsm(struct pool *pool, bool trans, size_t n, size_t k, const double *L,
                       size_t ldl, double *X, size_t ldx, struct err *err)
{
    const enum status rc = blas_fits(n, k, ldl > ldx ? ldl : ldx, err);

    if (rc != ST_OK || n == 0 || k == 0)
        return rc;
    return solve(pool, trans, false, n, k,
                 &(struct trsm){ .L = L, .X = X, .ldl = ldl, .ldx = ldx }, err);
}

/* Some columns of the identity, or of the inverse and where their sums of squares go. */
struct squares { double *X, *sum; size_t m, k; };

static void unit_columns(void *ctx, size_t task, size_t worker)
{
    const struct squares *s = ctx;

    (void)worker;
    for (size_t c = task * SUMMED; c < least(s->k, (task + 1) * SUMMED); c++) {
        memset(s->X + c * s->m, 0, s->m * sizeof *s->X);
        s->X[c + c * s->m] = 1.0;
    }
}

static void squares_columns(void *ctx, size_t task, size_t worker)
{
    const struct squares *s = ctx;

    (void)worker;
    for (size_t c = task * SUMMED; c < least(s->k, (task + 1) * SUMMED); c++) {
        const double *x = s->X + c + c * s->m;
        s->sum[c] = blas_ddot(s->m - c, x, x);
    }
}

size_t blas_inverse_columns(size_t n)
{
    return least(n, n < 1024 ? 256 : n < 4096 ? 512 : 1024);
}

/* Columns from j on have zeros above row j, so that a solve of order n - j is enough. */
enum status blas_inverse_squares(struct pool *pool, size_t n, const double *L, size_t ldl,
                                 double *sum, const struct ctl *ctl, struct err *err)
{
    const size_t some = blas_inverse_columns(n);
    enum status rc = blas_fits(n, ldl, 0, err);
    double *X = rc == ST_OK ? mem_aligned(n * some, sizeof *X, "columns of the inverse factor", err)
                            : NULL;

    if (rc == ST_OK && !X)
        rc = ST_NOMEM;
    for (size_t j = 0; rc == ST_OK && j < n; j += some) {
        struct squares s = { X, sum + j, n - j, least(n - j, some) };
        pool_run(pool, blas_tiles(s.k, SUMMED), unit_columns, &s);
        rc = solve(pool, false, true, s.m, s.k,
                   &(struct trsm){ .L = L + j + j * ldl, .X = X, .ldl = ldl, .ldx = s.m }, err);
        if (rc == ST_OK)
            pool_run(pool, blas_tiles(s.k, SUMMED), squares_columns, &s);
        if (rc == ST_OK && ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "stopped");
    }
    free(X);
    return rc;
}

/* w = (L L')^-1 v. */
static enum status solve_both(struct pool *pool, size_t n, const double *L, size_t ldl,
                              const double *v, double *w, struct err *err)
{
    memcpy(w, v, n * sizeof *w);
    const enum status rc = blas_dtrsm(pool, false, n, 1, L, ldl, w, n, err);
    return rc == ST_OK ? blas_dtrsm(pool, true, n, 1, L, ldl, w, n, err) : rc;
}

/* An upper bound of the least eigenvalue of L L' (in: its least pivot): no Ritz value of the
 * inverse is above the inverse's largest eigenvalue, and a few Lanczos steps from a random vector
 * come close to one that lies apart (Golub & Van Loan 2013, 10.1). */
static enum status least_bound(struct pool *pool, size_t n, const double *L, size_t ldl,
                               double *bound, struct err *err)
{
    enum { STEPS = 4 };
    const uint64_t stream = rng_stream(RNG_LEAST, 0);
    double d[STEPS], e[STEPS], low, most, *room = mem_calloc(3 * n, sizeof *room, "vectors", err);
    double *u = room, *v = room ? u + n : NULL, *w = room ? v + n : NULL;
    enum status rc = room ? ST_OK : ST_NOMEM;
    size_t k = 0;

    for (size_t i = 0; rc == ST_OK && i < n; i++)
        v[i] = (rng_u64(0, stream, i) & 1 ? 1.0 : -1.0) / sqrt((double)n);
    while (rc == ST_OK && k < STEPS) {
        rc = solve_both(pool, n, L, ldl, v, w, err);
        d[k] = blas_ddot(n, v, w);
        blas_daxpy(n, -d[k], v, w);
        blas_daxpy(n, k > 0 ? -e[k - 1] : 0.0, u, w);
        e[k] = blas_dnrm2(n, w);
        if (rc == ST_OK && !isfinite(d[k] + e[k])) { /* no number is as small as the eigenvalue */
            *bound = 0.0;
            break;
        }
        const bool apart = e[k] > 4.0 * DBL_EPSILON * fabs(d[k]);
        k++;
        if (!apart) /* the inverse keeps what the vectors span */
            break;
        blas_dscal(n, 1.0 / e[k - 1], w);
        double *const next = u;
        u = v, v = w, w = next;
    }
    if (rc == ST_OK && *bound > 0.0)
        rc = blas_tridiag_ends(k, d, e, &low, &most, err);
    if (rc == ST_OK && *bound > 0.0)
        *bound = 1.0 / most;
    free(room);
    return rc;
}

enum status blas_sound(struct pool *pool, size_t n, const double *L, size_t ldl, double least,
                       struct err *err)
{
    double bound = INFINITY;
    enum status rc = ST_OK;

    if (!(least > 0.0) || n == 0)
        return ST_OK;
    for (size_t i = 0; i < n; i++)
        bound = fmin(bound, L[i + i * ldl] * L[i + i * ldl]);
    if (bound >= least)
        rc = least_bound(pool, n, L, ldl, &bound, err);
    if (rc == ST_OK && bound < least)
        rc = err_set(err, ST_NOT_PD, "rounding in the %zu x %zu matrix is as large as the noise",
                     n, n);
    return rc;
}

size_t blas_task_columns(size_t k, size_t threads)
{
    enum { EACH = 4 }; /* tasks of a thread at least */
    size_t columns = BLAS_COLUMNS;

    while (columns < 4 * BLAS_COLUMNS && k >= 2 * columns * threads * EACH)
        columns *= 2;
    return columns;
}

/* X -= L B for mi x m L, m x k B and mi x k X, BLAS_COLUMNS at a time where L is not a whole tile:
 * for small products OpenBLAS has other kernels, with other bits. */
static void task_product(size_t mi, size_t m, size_t k, const double *L, size_t ldl,
                         const double *B, double *X, size_t ldx)
{
    const size_t step = mi == TASK_ROWS ? k : BLAS_COLUMNS;

    for (size_t c = 0; c < k; c += step)
        blas_dgemm1(false, false, mi, step, m, -1.0, L, ldl, B + c * ldx, ldx, 1.0, X + c * ldx,
                    ldx);
}

enum status blas_dtrsm_task(size_t n, size_t k, const double *L, size_t ldl, double *X, size_t ldx,
                            struct err *err)
{
    const size_t whole = k / BLAS_COLUMNS * BLAS_COLUMNS;
    const enum status rc = blas_fits(n, k, ldl > ldx ? ldl : ldx, err);

    if (rc != ST_OK)
        return rc;
    for (size_t b = 0; b < n; b += SOLVE) {
        const size_t m = least(SOLVE, n - b);
        for (size_t c = 0; c < whole; c += BLAS_COLUMNS)
            blas_trsm1(false, false, m, BLAS_COLUMNS, 1.0, L + b + b * ldl, ldl, X + b + c * ldx,
                       ldx);
        for (size_t i = b + m; i < n; i += TASK_ROWS)
            task_product(least(TASK_ROWS, n - i), m, whole, L + i + b * ldl, ldl, X + b, X + i,
                         ldx);
    }
    return blas_dtrsm(NULL, false, n, k - whole, L, ldl, X + whole * ldx, ldx, err);
}

static void trsm_rows(void *ctx, size_t task, size_t worker)
{
    (void)worker;
    const struct trsm *s = ctx;
    const size_t r = task * s->tile;
    blas_trsm1(true, s->trans, least(s->tile, s->m - r), s->n, s->alpha, s->L, s->ldl, s->X + r,
               s->ldx);
}

/* X := alpha X L^-1, or with trans alpha X L^-T, by blocks of columns, as above.  The remaining
 * blocks are multiplied by alpha in their first product. */
static enum status trsm_right(struct pool *pool, bool trans, size_t m, size_t n, double alpha,
                              const double *L, size_t ldl, double *X, size_t ldx, struct err *err)
{
    enum status rc = blas_fits(m, n, ldl > ldx ? ldl : ldx, err);
    const size_t blocks = blas_tiles(n, SOLVE);

    for (size_t q = 0; rc == ST_OK && m > 0 && q < blocks; q++) {
        const size_t b = (trans ? q : blocks - 1 - q) * SOLVE, nb = least(SOLVE, n - b);
        const double first = q == 0 ? alpha : 1.0;
        struct trsm s = {L + b + b * ldl,       X + b * ldx, m,    nb, ldl, ldx,
                         m >= 4096 ? 256 : 128, trans,       first};
        pool_run(pool, blas_tiles(m, s.tile), trsm_rows, &s);
        if (!trans && b)
            rc = blas_dgemm(pool, false, false, m, b, nb, -1.0, X + b * ldx, ldx, L + b, ldl, first,
                            X, ldx, err);
        else if (trans && b + nb < n)
            rc = blas_dgemm(pool, false, true, m, n - b - nb, nb, -1.0, X + b * ldx, ldx,
                            L + b + nb + b * ldl, ldl, first, X + (b + nb) * ldx, ldx, err);
    }
    return rc;
}

enum status blas_dtrsm_right(struct pool *pool, bool trans, size_t m, size_t n, const double *L,
                             size_t ldl, double *X, size_t ldx, struct err *err)
{
    return trsm_right(pool, trans, m, n, 1.0, L, ldl, X, ldx, err);
}

/* The inverse A^-1 = L^-T L^-1 from the factor, by halves, so that nearly all work is in tiled
 * solves and products. */

enum { INVERSE_LEAF = 256, TIMES = 128, SUM = 512 };

static size_t half(size_t n)
{
    return (n / 2 + INVERSE_LEAF - 1) / INVERSE_LEAF * INVERSE_LEAF;
}

struct times { const double *L; double *X; size_t n, k, ld; bool trans; };

/* X := L X or L'X, L lower triangular, over tiles of columns. */
static void times_columns(void *ctx, size_t task, size_t worker)
{
    (void)worker;
    const struct times *t = ctx;
    const size_t c = task * TIMES;
    blas_trmm1(t->trans, t->n, least(TIMES, t->k - c), t->L, t->ld, t->X + c * t->ld, t->ld);
}

/* [L11 0; L21 L22]^-1 = [L11^-1 0; -L22^-1 L21 L11^-1, L22^-1]: L21 is multiplied by the inverse of
 * L22 and solved with L11, in the order of LAPACK's dtrtri. */
static enum status invert_lower(struct pool *pool, size_t n, double *L, size_t ldl,
                                struct err *err)
{
    if (n <= INVERSE_LEAF) {
        blas_trtri1(n, L, ldl);
        return ST_OK;
    }
    const size_t h = half(n), r = n - h;
    struct times t = { L + h + h * ldl, L + h, r, h, ldl, false };
    enum status rc = invert_lower(pool, r, L + h + h * ldl, ldl, err);
    if (rc == ST_OK) {
        pool_run(pool, blas_tiles(h, TIMES), times_columns, &t);
        rc = trsm_right(pool, false, r, h, -1.0, L, ldl, L + h, ldl, err);
    }
    return rc == ST_OK ? invert_lower(pool, h, L, ldl, err) : rc;
}

struct lauum {
    double *A;
    const double *B;     /* A += B'B (lower), A n x n, B k x n */
    size_t n, k, ld;
};

/* A tile of A += B'B, lower triangle. */
static void lauum_add(void *ctx, size_t task, size_t worker)
{
    (void)worker;
    const struct lauum *u = ctx;
    size_t i, j;
    blas_lower_tile(task, &i, &j);
    i *= SUM, j *= SUM;
    const size_t ni = least(SUM, u->n - i), nj = least(SUM, u->n - j);
    double *C = u->A + i + j * u->ld;
    if (i == j)
        blas_dsyrk1(true, true, ni, u->k, 1.0, u->B + i * u->ld, u->ld, 1.0, C, u->ld);
    else
        blas_dgemm1(true, false, ni, nj, u->k, 1.0, u->B + i * u->ld, u->ld, u->B + j * u->ld,
                    u->ld, 1.0, C, u->ld);
}

/* X := X'X, lower: [X11'X11 + X21'X21, . ; X22'X21, X22'X22] */
static void square_lower(struct pool *pool, size_t n, double *X, size_t ld)
{
    if (n <= INVERSE_LEAF) {
        blas_lauum1(n, X, ld);
        return;
    }
    const size_t h = half(n), r = n - h, t = blas_tiles(h, SUM);
    square_lower(pool, h, X, ld);
    struct lauum add = { X, X + h, h, r, ld };
    pool_run(pool, t * (t + 1) / 2, lauum_add, &add);
    struct times times = { X + h + h * ld, X + h, r, h, ld, true };
    pool_run(pool, blas_tiles(h, TIMES), times_columns, &times);
    square_lower(pool, r, X + h + h * ld, ld);
}

enum status blas_dpotri(struct pool *pool, size_t n, double *A, size_t lda, struct err *err)
{
    enum status rc = blas_fits(n, lda, 0, err);
    if (rc == ST_OK && bad_pivot(n, A, lda))
        rc = err_set(err, ST_NOT_PD, "the factor to invert is singular");
    const struct backend_dense *other = rc == ST_OK ? blas_elsewhere(n) : NULL;
    if (other && blas_answered(rc = other->potri(n, A, lda, err), err))
        return rc;
    rc = other ? ST_OK : rc;
    if (rc == ST_OK)
        rc = invert_lower(pool, n, A, lda, err);
    if (rc == ST_OK)
        square_lower(pool, n, A, lda);
    return rc;
}

/* Thin QR and SVD. */

struct scale {
    double *A, *d;
    size_t m, lda;
};

static void scale_column(void *ctx, size_t task, size_t worker)
{
    (void)worker;
    const struct scale *s = ctx;
    double *a = s->A + task * s->lda;
    const double norm = blas_dnrm2(s->m, a);
    s->d[task] = norm;
    if (norm > 0.0 && isfinite(norm))
        for (size_t i = 0; i < s->m; i++) /* a division: 1 / norm may overflow */
            a[i] /= norm;
}

/* The largest entry of |G - I|; infinite when G holds NaN. */
static double distance_to_identity(size_t n, const double *G)
{
    double worst = 0.0;
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            const double e = fabs(G[i + j * n] - (i == j));
            if (!(e <= worst))
                worst = isnan(e) ? INFINITY : e;
        }
    return worst;
}

/* The Cholesky factor of G + shift I, with a shift of 0 first, then 20 n eps, growing tenfold until
 * the factor exists.  The upper triangle keeps G, which has both, for the next attempt; the
 * diagonal (about 1) is restored from d. */
static enum status shifted_potrf(struct pool *pool, size_t n, double *G, double *d,
                                 struct err *err)
{
    for (size_t i = 0; i < n; i++)
        d[i] = G[i + i * n];
    double shift = 0.0;
    for (int attempt = 0; attempt < 8; attempt++) {
        for (size_t j = 0; attempt && j < n; j++) {
            G[j + j * n] = d[j] + shift;
            for (size_t i = j + 1; i < n; i++)
                G[i + j * n] = G[j + i * n];
        }
        const enum status rc = blas_dpotrf(pool, n, G, n, NULL, NULL, err);
        if (rc != ST_NOT_PD)
            return rc;
        shift = shift > 0.0 ? 10.0 * shift : 20.0 * (double)n * DBL_EPSILON;
    }
    return ST_NOT_PD;
}

/* Cholesky QR: G = A'A = R'R, A := A R^-1, repeated until A'A is the identity to rounding.  One
 * step squares the condition number and is not stable by itself; repeated steps are, and where G is
 * singular in double precision a shift makes the first one possible (Fukaya, Kannan, Nakatsukasa,
 * Yamamoto & Yanagisawa, SIAM J. Sci. Comput. 42 (2020)).  Columns are scaled to unit length first.
 * If A does not have full rank, Householder's method takes over.  The steps are products and
 * triangular solves, at the speed of dgemm. */
enum status blas_dqr(struct pool *pool, size_t m, size_t n, double *A, size_t lda, struct err *err)
{
    if (m < n)
        return err_set(err, ST_SHAPE, "a thin QR needs rows >= columns, not %zu x %zu", m, n);
    enum status rc = blas_fits(m, n, lda, err);
    if (rc != ST_OK || n == 0)
        return rc;
    double *G = mem_aligned(n * (n + 1), sizeof *G, "QR workspace", err);
    if (!G)
        return ST_NOMEM;
    struct scale s = { A, G + n * n, m, lda };
    pool_run(pool, n, scale_column, &s);
    for (size_t j = 0; j < n && rc == ST_OK; j++)
        if (!isfinite(s.d[j]))
            rc = err_set(err, ST_RANGE, "column %zu of a matrix to orthonormalise is not finite",
                         j + 1);
    const double tol = 8.0 * DBL_EPSILON * sqrt((double)m);
    bool done = false;
    for (int sweep = 0; sweep < 5 && rc == ST_OK && !done; sweep++) {
        rc = blas_dgram(pool, m, n, A, lda, G, n, err);
        if (rc != ST_OK || (done = distance_to_identity(n, G) <= tol))
            break;
        rc = shifted_potrf(pool, n, G, G + n * n, err);
        if (rc == ST_OK)
            rc = blas_dtrsm_right(pool, true, m, n, G, n, A, lda, err);
        else if (rc == ST_NOT_PD) {
            rc = ST_OK;
            break;
        }
    }
    free(G);
    return rc != ST_OK || done ? rc : blas_house_qr1(m, n, A, lda, err);
}

enum status blas_dsvd_for_tests(struct pool *pool, size_t m, size_t n, double *A, size_t lda,
                                double *s, struct err *err)
{
    if (m < n)
        return err_set(err, ST_SHAPE, "a thin SVD needs rows >= columns, not %zu x %zu", m, n);
    enum status rc = blas_fits(m, n, lda, err);
    if (rc == ST_OK)
        rc = blas_finite(false, m, n, A, lda, err);
    if (rc != ST_OK || n == 0)
        return rc;
    const bool tall = m >= 2 * n && m >= 128;
    double *R = mem_aligned(2 * n * n + (tall ? m * n : 0), sizeof *R, "SVD workspace", err);
    if (!R)
        return ST_NOMEM;
    double *Vt = R + n * n, *Q = Vt + n * n;
    if (!tall) {
        rc = blas_gesdd1(m, n, A, lda, s, Vt, n, err);
    } else { /* A = Q (Q'A), then the SVD of the n x n factor */
        for (size_t j = 0; j < n; j++)
            memcpy(Q + j * m, A + j * lda, m * sizeof *Q);
        rc = blas_dqr(pool, m, n, Q, m, err);
        if (rc == ST_OK)
            rc = blas_dgemm(pool, true, false, n, n, m, 1.0, Q, m, A, lda, 0.0, R, n, err);
        if (rc == ST_OK)
            rc = blas_gesdd1(n, n, R, n, s, Vt, n, err);
        if (rc == ST_OK)
            rc = blas_dgemm(pool, false, false, m, n, n, 1.0, Q, m, R, n, 0.0, A, lda, err);
    }
    free(R);
    return rc;
}
