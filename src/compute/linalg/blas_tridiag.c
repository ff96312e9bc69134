/* compute/linalg/blas_tridiag.c -- reduction of a symmetric matrix to tridiagonal form, A = Q T Q'
 * (n x n), in two stages (Bischof, Lang & Sun, ACM Trans. Math. Software 26 (2000)): full to a band
 * of width BAND by block reflectors, all in products of matrices over the pool; then the band to
 * tridiagonal form by chasing bulges, in the cache.  Both stages are orthogonal similarity
 * transformations, hence backward stable.
 *
 * LAPACK's dsytrd spends half of its work in products with one vector and waits for memory.  For
 * n = 2048 the two stages need half of its time on one core, and can be shared among several.  The
 * transformations are applied to a few vectors on the way and are not kept. */
#include "compute/linalg/blas.h"

#include "base/mem.h"
#include "compute/backend.h"
#include "compute/linalg/blas_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BAND = 32,
    TILE = 256,     /* rows of A that a task reads or writes; the grid is fixed on A */
    TWO_STAGE = 512 /* below this size LAPACK is as quick */
};

struct reduce {
    size_t n, lda, at, m, kb; /* trailing matrix A(at.., at..), m x m; reflectors in the panel */
    double *A;
    double *V, *X;            /* n x BAND each, m rows used: reflectors; A V */
    double *P, *R;            /* n x 2 BAND: [V W], [W V] */
    double *T, *S, *tau;      /* BAND x BAND: triangular factor, T'V'Y; BAND */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The rows [from, to) of A in grid row `tile` that lie in the trailing matrix. */
static void tile_rows(const struct reduce *s, size_t tile, size_t *from, size_t *to)
{
    *from = tile * TILE > s->at ? tile * TILE : s->at;
    *to = least((tile + 1) * TILE, s->n);
}

/* X(rows) = A(rows, :) V, from tiles on and below the diagonal; diagonal tiles are full. */
static void times_v(void *ctx, size_t task, size_t worker)
{
    (void)worker;
    const struct reduce *s = ctx;
    size_t from, to;
    tile_rows(s, s->at / TILE + task, &from, &to);
    const size_t rows = to - from, rest = s->n - to, ld = s->lda;
    double *X = s->X + (from - s->at);
    /* left of and on the diagonal: A(from:to, at:to) */
    blas_dgemm1(false, false, rows, s->kb, to - s->at, 1.0, s->A + from + s->at * ld, ld, s->V,
                s->n, 0.0, X, s->n);
    if (rest) /* to the right, by symmetry: A(to:n, from:to)' */
        blas_dgemm1(true, false, rows, s->kb, rest, 1.0, s->A + to + from * ld, ld,
                    s->V + (to - s->at), s->n, 1.0, X, s->n);
}

/* One tile of A -= V W' + W V' = [V W] [W V]'. */
static void update_tile(void *ctx, size_t task, size_t worker)
{
    (void)worker;
    const struct reduce *s = ctx;
    size_t i, j, i0, i1, j0, j1;
    blas_lower_tile(task, &i, &j);
    tile_rows(s, s->at / TILE + i, &i0, &i1);
    tile_rows(s, s->at / TILE + j, &j0, &j1);
    blas_dgemm1(false, true, i1 - i0, j1 - j0, 2 * s->kb, -1.0, s->P + (i0 - s->at), s->n,
                s->R + (j0 - s->at), s->n, 1.0, s->A + i0 + j0 * s->lda, s->lda);
}

/* Copies the upper triangles of diagonal tiles from the lower ones. */
static void fill_diagonal_tiles(const struct reduce *s)
{
    for (size_t j = 0; j < s->n; j++)
        for (size_t i = j + 1; i < least((j / TILE + 1) * TILE, s->n); i++)
            s->A[j + i * s->lda] = s->A[i + j * s->lda];
}

/* The two-sided update by H = I - V T V': H'A H = A - V W' - W V' with Y = A V T, S = T'V'Y and
 * W = Y - V S / 2.  P = [V W], R = [W V]. */
static void make_update(struct reduce *s)
{
    const size_t m = s->m, n = s->n, kb = s->kb;
    double *Y = s->P, *W = s->R, VY[BAND * BAND];
    blas_dgemm1(false, false, m, kb, kb, 1.0, s->X, n, s->T, BAND, 0.0, Y, n);
    blas_dgemm1(true, false, kb, kb, m, 1.0, s->V, n, Y, n, 0.0, VY, BAND);
    blas_dgemm1(true, false, kb, kb, kb, 1.0, s->T, BAND, VY, BAND, 0.0, s->S, BAND);
    for (size_t j = 0; j < kb; j++)
        memcpy(W + j * n, Y + j * n, m * sizeof *W);
    blas_dgemm1(false, false, m, kb, kb, -0.5, s->V, n, s->S, BAND, 1.0, W, n);
    for (size_t j = 0; j < kb; j++) {
        memcpy(s->P + j * n, s->V + j * n, m * sizeof *W);
        memcpy(s->P + (kb + j) * n, W + j * n, m * sizeof *W);
        memcpy(s->R + (kb + j) * n, s->V + j * n, m * sizeof *W);
    }
}

/* QR of the panel A(at.., at - BAND..): R stays in the band of A, the reflectors go to V and T. */
static enum status factor_panel(struct reduce *s, struct err *err)
{
    double *panel = s->A + s->at + (s->at - BAND) * s->lda;
    const enum status rc = blas_reflectors1(s->m, BAND, panel, s->lda, s->tau, err);
    if (rc != ST_OK)
        return rc;
    for (size_t j = 0; j < s->kb; j++) {
        double *v = s->V + j * s->n;
        memset(v, 0, j * sizeof *v);
        v[j] = 1.0;
        memcpy(v + j + 1, panel + j + 1 + j * s->lda, (s->m - j - 1) * sizeof *v);
    }
    blas_larft1(s->m, s->kb, s->V, s->n, s->tau, s->T, BAND);
    return ST_OK;
}

/* b := (I - V T'V') b */
static void reflect_vectors(const struct reduce *s, size_t k, double *b, size_t ldb)
{
    double t[BAND], u[BAND];
    for (size_t c = 0; c < k; c++) {
        double *x = b + s->at + c * ldb;
        blas_dgemv1(true, s->m, s->kb, 1.0, s->V, s->n, x, 0.0, t);
        blas_dgemv1(true, s->kb, s->kb, 1.0, s->T, BAND, t, 0.0, u);
        for (size_t j = 0; j < s->kb; j++)
            blas_daxpy(s->m, -u[j], s->V + j * s->n, x);
    }
}

/* The first stage: for each panel QR, the product A V, the update of rank 2 BAND, and the
 * reflectors applied to b. */
static enum status full_to_band(struct pool *pool, size_t n, double *A, size_t lda, size_t k,
                                double *b, size_t ldb, struct err *err)
{
    struct reduce s = { .n = n, .lda = lda, .A = A };
    s.V = mem_aligned(6 * n * BAND + 2 * BAND * BAND + BAND, sizeof *s.V, "band reduction", err);
    if (!s.V)
        return ST_NOMEM;
    s.X = s.V + n * BAND;
    s.P = s.X + n * BAND;
    s.R = s.P + 2 * n * BAND;
    s.T = s.R + 2 * n * BAND;
    s.S = s.T + BAND * BAND;
    s.tau = s.S + BAND * BAND;
    fill_diagonal_tiles(&s);
    enum status rc = ST_OK;
    for (s.at = BAND; s.at + 1 < n && rc == ST_OK; s.at += BAND) {
        s.m = n - s.at;
        s.kb = least(s.m, BAND);
        if ((rc = factor_panel(&s, err)) != ST_OK)
            break;
        const size_t t = blas_tiles(n, TILE) - s.at / TILE;
        pool_run(pool, t, times_v, &s);
        make_update(&s);
        pool_run(pool, t * (t + 1) / 2, update_tile, &s);
        reflect_vectors(&s, k, b, ldb);
    }
    free(s.V);
    return rc;
}

/* Band to tridiagonal form.  Column j of the band is stored at AB + j * 2 BAND, beginning with its
 * diagonal entry, so that entry (i, j) is AB[i + j (2 BAND - 1)]: blocks on or below the diagonal
 * are plain matrices with that leading dimension.  A bulge reaches down 2 BAND - 1 rows. */

enum { LDB = 2 * BAND - 1 };

struct chase {
    size_t n, k, ldb;
    double *AB, *b;
    double v[BAND], w[BAND], tau;
};

/* The Householder reflector I - tau v v' that annihilates all but the first of the m entries of x;
 * x becomes the result. */
static void reflector(struct chase *s, size_t m, double *x)
{
    s->tau = blas_larfg1(m, x, x + 1);
    s->v[0] = 1.0;
    for (size_t i = 1; i < m; i++) {
        s->v[i] = x[i];
        x[i] = 0.0;
    }
}

/* D := H D H for the diagonal block from row r on, and b := H b. */
static void both_sides(struct chase *s, size_t r, size_t m)
{
    double *D = s->AB + r + r * LDB;
    if (s->tau == 0.0)
        return;
    blas_dsymv1(true, m, D, LDB, s->v, s->w);
    const double a = -0.5 * s->tau * s->tau * blas_ddot(m, s->w, s->v);
    for (size_t i = 0; i < m; i++)
        s->w[i] = s->tau * s->w[i] + a * s->v[i];
    blas_syr21(m, -1.0, s->v, s->w, D, LDB);
    for (size_t c = 0; c < s->k; c++) {
        double *x = s->b + r + c * s->ldb;
        blas_daxpy(m, -s->tau * blas_ddot(m, s->v, x), s->v, x);
    }
}

/* Annihilates column c below the subdiagonal, then the first column of each bulge that this causes
 * further down. */
static void sweep(struct chase *s, size_t c)
{
    size_t r = c + 1, m = least(BAND, s->n - r);
    reflector(s, m, s->AB + r + c * LDB);
    for (;;) {
        both_sides(s, r, m);
        const size_t next = r + m, m2 = least(BAND, s->n - next);
        if (m2 == 0)
            return;
        double *B = s->AB + next + r * LDB;
        if (s->tau != 0.0) { /* B := B H, which creates a bulge */
            blas_dgemv1(false, m2, m, 1.0, B, LDB, s->v, 0.0, s->w);
            blas_dger1(m2, m, -s->tau, s->w, s->v, B, LDB);
        }
        reflector(s, m2, B);
        if (s->tau != 0.0 && m > 1) {
            blas_dgemv1(true, m2, m - 1, 1.0, B + LDB, LDB, s->v, 0.0, s->w);
            blas_dger1(m2, m - 1, -s->tau, s->v, s->w, B + LDB, LDB);
        }
        r = next;
        m = m2;
    }
}

/* The second stage: one sweep for each column, 6 n^2 BAND operations. */
static enum status band_to_tridiagonal(size_t n, const double *A, size_t lda, double *d, double *e,
                                       size_t k, double *b, size_t ldb, struct err *err)
{
    struct chase s = { .n = n, .k = k, .ldb = ldb, .b = b };
    s.AB = mem_calloc(n + 1, (LDB + 1) * sizeof *s.AB, "band matrix", err);
    if (!s.AB)
        return ST_NOMEM;
    for (size_t j = 0; j < n; j++)
        memcpy(s.AB + j + j * LDB, A + j + j * lda, least(BAND + 1, n - j) * sizeof *A);
    for (size_t c = 0; c + 2 < n; c++)
        sweep(&s, c);
    for (size_t j = 0; j < n; j++) {
        d[j] = s.AB[j + j * LDB];
        if (j + 1 < n)
            e[j] = s.AB[j + 1 + j * LDB];
    }
    free(s.AB);
    return ST_OK;
}

enum status blas_tridiag(struct pool *pool, size_t n, double *A, size_t lda, double *d, double *e,
                         size_t k, double *b, size_t ldb, struct err *err)
{
    enum status rc = blas_fits(n, lda, ldb, err);
    if (rc == ST_OK)
        rc = blas_finite(true, n, n, A, lda, err);
    if (rc != ST_OK || n == 0)
        return rc;
    if (n == 1) { /* no off-diagonal: e may be NULL */
        d[0] = A[0];
        return ST_OK;
    }
    const struct backend_dense *other = blas_elsewhere(n);
    if (other && blas_answered(rc = other->tridiag(n, A, lda, d, e, k, b, ldb, err), err))
        return rc;
    if (n < TWO_STAGE)
        return blas_sytrd1(n, A, lda, d, e, k, b, ldb, err);
    rc = full_to_band(pool, n, A, lda, k, b, ldb, err);
    return rc == ST_OK ? band_to_tridiagonal(n, A, lda, d, e, k, b, ldb, err) : rc;
}
