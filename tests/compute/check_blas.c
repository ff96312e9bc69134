/* tests/compute/check_blas.c -- products and factorisations against long double loops and
 * identities, and the same bits for 1, 2, 3 and 64 threads. */
#include "compute/linalg/blas.h"

#include "base/mem.h"
#include "support.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct splitmix rng;

static double *uniform(size_t n)
{
    double *x = malloc((n ? n : 1) * sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (size_t i = 0; i < n; i++)
        x[i] = 2.0 * splitmix_uniform(&rng) - 1.0;
    return x;
}

static double *copy(const double *x, size_t n)
{
    double *y = malloc(n * sizeof *y);
    ck_assert_ptr_nonnull(y);
    memcpy(y, x, n * sizeof *y);
    return y;
}

/* Symmetric positive definite: B B'/n + I, condition number a few. */
static double *spd(size_t n, size_t ld)
{
    double *B = uniform(n * n), *A = calloc(n * ld, sizeof *A), scale = 1.0 / (double)n;
    blas_dgemm1(false, true, n, n, n, scale, B, n, B, n, 0.0, A, ld);
    for (size_t i = 0; i < n; i++)
        A[i + i * ld] += 1.0;
    free(B);
    return A;
}

/* Keeps the largest |a - b| (infinite for NaN): one assertion per matrix, not per entry. */
static void widen(double *gap, double a, double b)
{
    const double e = fabs(a - b);
    if (!(e <= *gap))
        *gap = isnan(e) ? INFINITY : e;
}

static double at(const double *A, size_t ld, bool t, size_t i, size_t j)
{
    return t ? A[j + i * ld] : A[i + j * ld];
}

static void check_product(bool ta, bool tb, size_t m, size_t n, size_t k)
{
    const size_t lda = (ta ? k : m) + 3, ldb = (tb ? n : k) + 1, ldc = m + 2;
    double *A = uniform(lda * (ta ? m : k)), *B = uniform(ldb * (tb ? k : n));
    double *C = uniform(ldc * n), *C0 = copy(C, ldc * n);
    ck_assert_int_eq(blas_dgemm(NULL, ta, tb, m, n, k, 1.5, A, lda, B, ldb, -0.5, C, ldc, NULL),
                     ST_OK);
    double gap = 0.0;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < m; i++) {
            long double s = 0.0L;
            for (size_t q = 0; q < k; q++)
                s += (long double)at(A, lda, ta, i, q) * at(B, ldb, tb, q, j);
            widen(&gap, C[i + j * ldc], (double)(1.5L * s - 0.5L * C0[i + j * ldc]));
        }
    /* k products of numbers below 1, each rounded once or twice */
    ck_assert_double_le(gap, 4.0 * (double)(k + 2) * DBL_EPSILON);
    free(A), free(B), free(C), free(C0);
}

START_TEST(products)
{
    static const size_t shape[][3] = { { 1, 1, 1 },    { 5, 1, 7 },     { 70, 3, 20 },
                                       { 300, 1, 90 }, { 130, 65, 33 }, { 3, 200, 515 } };
    const bool ta = _i & 1, tb = _i & 2;
    for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
        check_product(ta, tb, shape[s][0], shape[s][1], shape[s][2]);
    /* beta = 0 overwrites whatever C held; nothing to do is fine. */
    double a = 2.0, b = 3.0, c = NAN;
    ck_assert_int_eq(blas_dgemm(NULL, ta, tb, 1, 1, 1, 1.0, &a, 1, &b, 1, 0.0, &c, 1, NULL), ST_OK);
    ck_assert_double_eq(c, 6.0);
    ck_assert_int_eq(blas_dgemm(NULL, ta, tb, 0, 1, 1, 1.0, &a, 1, &b, 1, 0.0, &c, 1, NULL), ST_OK);
    struct err err = { 0 };
    ck_assert_int_eq(blas_dgemm(NULL, ta, tb, (size_t)1 << 32, 1, 1, 1.0, &a, 1, &b, 1, 0.0, &c, 1,
                                &err), ST_LIMIT);
}
END_TEST

/* Tiles of every edge, and none fits. */
static const size_t gram_sizes[] = { 15, 301, 1100, 2100 };
enum { NGRAMS = sizeof gram_sizes / sizeof *gram_sizes };

START_TEST(gram_is_symmetric_product)
{
    const size_t m = _i < 2 ? 57 : 7, n = gram_sizes[_i], lda = m + 1, ld = n + 3;
    double *A = uniform(lda * n), *G = calloc(ld * n, sizeof *G), *H = calloc(n * n, sizeof *H);
    ck_assert_int_eq(blas_dgram(NULL, m, n, A, lda, G, ld, NULL), ST_OK);
    blas_dgemm1(true, false, n, n, m, 1.0, A, lda, A, lda, 0.0, H, n);
    double gap = 0.0, skew = 0.0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            widen(&gap, G[i + j * ld], H[i + j * n]);
            widen(&skew, G[i + j * ld], G[j + i * ld]);
        }
    ck_assert_double_le(gap, 2.0 * (double)m * DBL_EPSILON);
    ck_assert_double_eq(skew, 0.0);
    for (size_t threads = 2; threads <= 8; threads += 3) {
        struct pool *pool = pool_new(threads, NULL);
        double *again = calloc(ld * n, sizeof *again);
        ck_assert_int_eq(blas_dgram(pool, m, n, A, lda, again, ld, NULL), ST_OK);
        ck_assert_int_eq(memcmp(again, G, ld * n * sizeof *G), 0);
        pool_free(pool);
        free(again);
    }
    free(A), free(G), free(H);
}
END_TEST

/* Sizes around every tile and panel boundary of blas_factor.c. */
static const size_t sizes[] = { 1, 2, 37, 128, 129, 257, 513, 700, 1537 };
enum { NSIZES = sizeof sizes / sizeof *sizes };

START_TEST(cholesky)
{
    const size_t n = sizes[_i], ld = n + 5;
    double *A = spd(n, ld), *L = copy(A, n * ld), *P = uniform(n * n), *T = calloc(n * n, 8);
    struct err err = { 0 };
    double gap = 0.0, upper = 0.0;
    ck_assert_int_eq(blas_dpotrf(NULL, n, L, ld, NULL, NULL, &err), ST_OK);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            if (i < j)
                widen(&upper, L[i + j * ld], A[i + j * ld]);
            else
                T[i + j * n] = L[i + j * ld];
        }
    blas_dgemm1(false, true, n, n, n, 1.0, T, n, T, n, 0.0, P, n);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            widen(&gap, P[i + j * n], A[i + j * ld]);
    ck_assert_double_le(gap, 4.0 * (double)n * DBL_EPSILON);
    ck_assert_double_eq(upper, 0.0); /* untouched */
    free(A), free(L), free(P), free(T);
}
END_TEST

START_TEST(cholesky_refuses)
{
    const size_t n = 700, at_pivot = 400;
    double *A = spd(n, n), *B = copy(A, n * n);
    size_t pivot = 0;
    struct err err = { 0 };
    B[at_pivot + at_pivot * n] = -1.0;
    ck_assert_int_eq(blas_dpotrf(NULL, n, B, n, NULL, &pivot, &err), ST_NOT_PD);
    ck_assert_uint_eq(pivot, at_pivot);
    ck_assert_ptr_nonnull(strstr(err.msg, "pivot 401"));
    memcpy(B, A, n * n * sizeof *B);
    B[650 + 20 * n] = NAN;
    ck_assert_int_eq(blas_dpotrf(NULL, n, B, n, NULL, &pivot, &err), ST_NOT_PD);
    ck_assert_uint_eq(pivot, 650);
    struct cancel cancel;
    atomic_init(&cancel.stop, true);
    const struct ctl ctl = { .cancel = &cancel };
    ck_assert_int_eq(blas_dpotrf(NULL, n, A, n, &ctl, NULL, &err), ST_CANCELLED);
    free(A), free(B);
}
END_TEST

START_TEST(triangular_solves)
{
    const size_t n = sizes[_i], ld = n + 1;
    static const size_t columns[] = { 1, 3, 70 };
    double *L = spd(n, ld);
    ck_assert_int_eq(blas_dpotrf(NULL, n, L, ld, NULL, NULL, NULL), ST_OK);
    double *T = calloc(n * n, sizeof *T); /* a clean lower triangle to multiply by */
    for (size_t j = 0; j < n; j++)
        memcpy(T + j + j * n, L + j + j * ld, (n - j) * sizeof *T);
    for (size_t c = 0; c < 3; c++)
        for (int trans = 0; trans < 2; trans++) {
            const size_t k = columns[c];
            double *X = uniform(n * k), *B = uniform(n * k), *Y = uniform(k * n);
            blas_dgemm1(trans, false, n, k, n, 1.0, T, n, X, n, 0.0, B, n);
            ck_assert_int_eq(blas_dtrsm(NULL, trans, n, k, L, ld, B, n, NULL), ST_OK);
            blas_dgemm1(true, trans, k, n, n, 1.0, X, n, T, n, 0.0, Y, k);
            ck_assert_int_eq(blas_dtrsm_right(NULL, trans, k, n, L, ld, Y, k, NULL), ST_OK);
            double gap = 0.0;
            for (size_t j = 0; j < k; j++)
                for (size_t i = 0; i < n; i++) {
                    widen(&gap, B[i + j * n], X[i + j * n]);
                    widen(&gap, Y[j + i * k], X[i + j * n]);
                }
            ck_assert_double_le(gap, 16.0 * (double)(n + 4) * DBL_EPSILON); /* kappa(L) < 3 */
            free(X), free(B), free(Y);
        }
    free(L), free(T);
}
END_TEST

/* A unit factor with -1 below the diagonal: every pivot is 1, and L^-1 has 2^(n-2) in a corner, so
 * that the least eigenvalue of L L' is below 4^(2-n). */
START_TEST(small_eigenvalues_behind_large_pivots)
{
    enum { N = 20 };
    double L[N * N] = { 0.0 };
    struct err err = { 0 };

    for (size_t j = 0; j < N; j++)
        for (size_t i = j; i < N; i++)
            L[i + j * N] = i == j ? 1.0 : -1.0;
    ck_assert_int_eq(blas_sound(NULL, N, L, N, 1e-6, &err), ST_NOT_PD);
    ck_assert_ptr_nonnull(strstr(err.msg, "20 x 20"));
    ck_assert_int_eq(blas_sound(NULL, N, L, N, 1e-20, NULL), ST_OK);
    for (size_t j = 0; j < N; j++)
        for (size_t i = j + 1; i < N; i++)
            L[i + j * N] = 0.0;
    ck_assert_int_eq(blas_sound(NULL, N, L, N, 1.0 - 1e-12, NULL), ST_OK);
    ck_assert_int_eq(blas_sound(NULL, N, L, N, 1.0 + 1e-12, NULL), ST_NOT_PD);
    ck_assert_int_eq(blas_sound(NULL, 0, L, N, 1.0, NULL), ST_OK);
}
END_TEST

/* The same with 1,100 columns: 2^1098 is no double, and the factor is refused. */
START_TEST(eigenvalues_below_all_numbers)
{
    enum { N = 1100 };
    double *L = malloc((size_t)N * N * sizeof *L);

    for (size_t j = 0; j < N; j++)
        for (size_t i = 0; i < N; i++)
            L[i + j * N] = i == j ? 1.0 : i > j ? -1.0 : 0.0;
    ck_assert_int_eq(blas_sound(NULL, N, L, N, 1e-6, NULL), ST_NOT_PD);
    free(L);
}
END_TEST

/* A task has as many columns as suits the threads: L is read seldom for few of them, and many have
 * enough to do. */
START_TEST(tasks_of_columns)
{
    enum { N = 300, K = 333 }; /* two and a half diagonal blocks; 13 columns are left */
    double *L = spd(N, N), *B = uniform(N * K), *one = copy(B, N * K);
    double *T = calloc(N * N, sizeof *T), *back = calloc(N * K, sizeof *back), gap = 0.0;

    ck_assert_uint_eq(blas_task_columns(5000, 2), 4 * BLAS_COLUMNS);
    ck_assert_uint_eq(blas_task_columns(5000, 16), BLAS_COLUMNS);
    ck_assert_uint_eq(blas_task_columns(1, 1), BLAS_COLUMNS);
    ck_assert_int_eq(blas_dpotrf(NULL, N, L, N, NULL, NULL, NULL), ST_OK);
    ck_assert_int_eq(blas_dtrsm_task(N, K, L, N, one, N, NULL), ST_OK);
    for (size_t w = BLAS_COLUMNS; w <= 4 * BLAS_COLUMNS; w *= 2) {
        double *X = copy(B, N * K);
        for (size_t c = 0; c < K; c += w)
            ck_assert_int_eq(blas_dtrsm_task(N, K - c < w ? K - c : w, L, N, X + c * N, N, NULL),
                             ST_OK);
        ck_assert_mem_eq(X, one, N * K * sizeof *X);
        free(X);
    }
    for (size_t j = 0; j < N; j++)
        memcpy(T + j + j * N, L + j + j * N, (N - j) * sizeof *T);
    blas_dgemm1(false, false, N, K, N, 1.0, T, N, one, N, 0.0, back, N);
    for (size_t i = 0; i < N * K; i++)
        widen(&gap, back[i], B[i]);
    ck_assert_double_le(gap, 16.0 * (N + 4) * DBL_EPSILON);
    free(L), free(B), free(one), free(T), free(back);
}
END_TEST

START_TEST(inverse)
{
    const size_t n = sizes[_i];
    double *A = spd(n, n), *V = copy(A, n * n), *P = uniform(n * n);
    ck_assert_int_eq(blas_dpotrf(NULL, n, V, n, NULL, NULL, NULL), ST_OK);
    ck_assert_int_eq(blas_dpotri(NULL, n, V, n, NULL), ST_OK);
    double gap = 0.0, upper = 0.0;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < j; i++) {
            widen(&upper, V[i + j * n], A[i + j * n]);
            V[i + j * n] = V[j + i * n];
        }
    blas_dgemm1(false, false, n, n, n, 1.0, A, n, V, n, 0.0, P, n);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            widen(&gap, P[i + j * n], i == j);
    ck_assert_double_le(gap, 16.0 * (double)(n + 4) * DBL_EPSILON);
    ck_assert_double_eq(upper, 0.0); /* untouched */
    free(A), free(V), free(P);
}
END_TEST

/* The diagonal of the inverse, from the sums of squares of columns of L^-1. */
START_TEST(inverse_squares)
{
    const size_t n = sizes[_i], ld = n + 3;
    double *L = spd(n, ld), *V = calloc(n * n, sizeof *V), *d = uniform(n), gap = 0.0;
    ck_assert_int_eq(blas_dpotrf(NULL, n, L, ld, NULL, NULL, NULL), ST_OK);
    for (size_t j = 0; j < n; j++)
        memcpy(V + j + j * n, L + j + j * ld, (n - j) * sizeof *V);
    ck_assert_int_eq(blas_dpotri(NULL, n, V, n, NULL), ST_OK);
    ck_assert_int_eq(blas_inverse_squares(NULL, n, L, ld, d, NULL, NULL), ST_OK);
    for (size_t j = 0; j < n; j++)
        widen(&gap, d[j], V[j + j * n]);
    ck_assert_double_le(gap, 16.0 * (double)(n + 4) * DBL_EPSILON);
    free(L), free(V), free(d);
}
END_TEST

START_TEST(eigenproblem)
{
    const size_t n = sizes[_i], ld = n + 2;
    if (n > 700)
        return;
    double *A = spd(n, ld), *V = copy(A, n * ld), *w = uniform(n), *w1 = uniform(n);
    double *AV = uniform(n * n), *O = copy(A, n * ld);
    ck_assert_int_eq(blas_dsyevd(n, V, ld, w, true, NULL), ST_OK);
    ck_assert_int_eq(blas_dsyevd(n, O, ld, w1, false, NULL), ST_OK);
    blas_dgemm1(false, false, n, n, n, 1.0, A, ld, V, ld, 0.0, AV, n);
    double gap = 0.0;
    for (size_t j = 0; j < n; j++) {
        ck_assert(j == 0 || w[j] >= w[j - 1]);
        widen(&gap, w[j], w1[j]);
        for (size_t i = 0; i < n; i++)
            widen(&gap, AV[i + j * n], w[j] * V[i + j * ld]);
    }
    ck_assert_double_le(gap, 16.0 * (double)(n + 8) * DBL_EPSILON);
    O[0] = INFINITY;
    ck_assert_int_eq(blas_dsyevd(n, O, ld, w1, true, NULL), ST_RANGE);
    free(A), free(V), free(w), free(w1), free(AV), free(O);
}
END_TEST

/* Some of them, few and all, beside all of them. */
START_TEST(largest_eigenvalues)
{
    const size_t n = sizes[_i], ld = n + 2, some[] = { 1, n / 8, n };
    if (n > 700)
        return;
    double *A = spd(n, ld), *O = copy(A, n * ld), *w = uniform(n), *w1 = uniform(n);
    double *V = uniform(n * ld), *AV = uniform(n * n);
    ck_assert_int_eq(blas_dsyevd(n, O, ld, w, true, NULL), ST_OK);
    for (size_t k = 0; k < 3; k++) {
        const size_t p = some[k] < n ? some[k] : n;
        double *C = copy(A, n * ld), gap = 0.0, square = 0.0;
        ck_assert_int_eq(blas_dsyevr(n, p, C, ld, w1, V, ld, NULL), ST_OK);
        blas_dgemm1(false, false, n, p, n, 1.0, A, ld, V, ld, 0.0, AV, n);
        for (size_t j = 0; j < p; j++) {
            widen(&gap, w1[j], w[n - p + j]);
            for (size_t i = 0; i < n; i++)
                widen(&gap, AV[i + j * n], w1[j] * V[i + j * ld]);
            for (size_t i = 0; i <= j; i++)
                widen(&square, blas_ddot(n, V + i * ld, V + j * ld), i == j);
        }
        ck_assert_double_le(gap, 32.0 * (double)(n + 8) * DBL_EPSILON);
        ck_assert_double_le(square, 32.0 * (double)(n + 8) * DBL_EPSILON);
        free(C);
    }
    A[0] = NAN;
    ck_assert(n == 0 || blas_dsyevr(n, n / 8, A, ld, w1, V, ld, NULL) == ST_RANGE);
    free(A), free(O), free(w), free(w1), free(V), free(AV);
}
END_TEST

/* x'T y for the tridiagonal T. */
static double tridiagonal_form(size_t n, const double *d, const double *e, const double *x,
                               const double *y)
{
    double s = 0.0;
    for (size_t i = 0; i < n; i++)
        s += x[i] * (d[i] * y[i] + (i ? e[i - 1] * y[i - 1] : 0.0) +
                     (i + 1 < n ? e[i] * y[i + 1] : 0.0));
    return s;
}

START_TEST(tridiagonal)
{
    const size_t n = sizes[_i], k = 3;
    double *A = spd(n, n), *W = copy(A, n * n), *b = uniform(n * k), *q = copy(b, n * k);
    double *d = uniform(n), *e = uniform(n), *Ab = uniform(n * k);
    ck_assert_int_eq(blas_tridiag(NULL, n, W, n, d, e, k, q, n, NULL), ST_OK);
    blas_dgemm1(false, false, n, k, n, 1.0, A, n, b, n, 0.0, Ab, n);
    const double tol = 64.0 * (double)n * (double)n * DBL_EPSILON;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++) { /* Q orthogonal, T = Q'A Q */
            ck_assert_double_eq_tol(blas_ddot(n, q + i * n, q + j * n),
                                    blas_ddot(n, b + i * n, b + j * n), tol);
            ck_assert_double_eq_tol(tridiagonal_form(n, d, e, q + i * n, q + j * n),
                                    blas_ddot(n, b + i * n, Ab + j * n), tol);
        }
    double trace = 0.0, frob = 0.0, trace_t = 0.0, frob_t = 0.0;
    for (size_t i = 0; i < n; i++) {
        trace += A[i + i * n], trace_t += d[i];
        frob_t += d[i] * d[i] + (i ? 2.0 * e[i - 1] * e[i - 1] : 0.0);
        for (size_t j = 0; j < n; j++)
            frob += A[i + j * n] * A[i + j * n];
    }
    ck_assert_double_eq_tol(trace, trace_t, tol);
    ck_assert_double_eq_tol(frob, frob_t, tol * 4.0);
    free(A), free(W), free(b), free(q), free(d), free(e), free(Ab);
}
END_TEST

static void check_orthonormal(size_t m, size_t n, const double *Q, size_t ld)
{
    double gap = 0.0;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i <= j; i++)
            widen(&gap, blas_ddot(m, Q + i * ld, Q + j * ld), i == j);
    ck_assert_double_le(gap, 64.0 * sqrt((double)m) * DBL_EPSILON);
}

/* 0: uniform; 1: columns of sizes 1e-200 to 1e200; 2: condition number 1e12 (neighbouring columns
 * nearly equal); 3: repeated and zero columns. */
static double *awkward(int kind, size_t m, size_t n, size_t ld)
{
    double *A = uniform(ld * n);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < m; i++) {
            double *a = A + i + j * ld;
            if (kind == 1)
                *a *= pow(10.0, 400.0 * (double)j / (double)n - 200.0);
            else if (kind == 2 && j % 7)
                *a = A[i + (j - j % 7) * ld] + 1e-12 * *a;
            else if (kind == 3 && j % 5 == 1)
                *a = 0.0;
            else if (kind == 3 && j % 5 == 3)
                *a = A[i + (j - 1) * ld];
        }
    return A;
}

START_TEST(thin_qr)
{
    const size_t m = 611, n = 75, ld = m + 2;
    double *A = awkward(_i, m, n, ld), *Q = copy(A, ld * n), *C = uniform(n), *r = uniform(m);
    ck_assert_int_eq(blas_dqr(NULL, m, n, Q, ld, NULL), ST_OK);
    check_orthonormal(m, n, Q, ld);
    for (size_t j = 0; j < n; j++) { /* every column of A lies in the span of Q */
        double *a = A + j * ld, norm = blas_dnrm2(m, a);
        if (norm > 0.0)
            for (size_t i = 0; i < m; i++)
                a[i] /= norm;
        memcpy(r, a, m * sizeof *r);
        blas_dgemv1(true, m, n, 1.0, Q, ld, a, 0.0, C);
        blas_dgemv1(false, m, n, -1.0, Q, ld, C, 1.0, r);
        ck_assert_double_lt(blas_dnrm2(m, r), 1e3 * sqrt((double)m) * DBL_EPSILON);
    }
    Q[5] = NAN;
    ck_assert_int_eq(blas_dqr(NULL, m, n, Q, ld, NULL), ST_RANGE);
    ck_assert_int_eq(blas_dqr(NULL, n, m, Q, ld, NULL), ST_SHAPE);
    free(A), free(Q), free(C), free(r);
}
END_TEST

/* A = U0 diag(s) V0' with known s, tall and nearly square. */
START_TEST(thin_svd)
{
    const size_t m = _i ? 50 : 400, n = 40;
    double *U0 = uniform(m * n), *V0 = uniform(n * n), *A = uniform(m * n), *W = uniform(m * n);
    double s0[40], s[40];
    ck_assert_int_eq(blas_dqr(NULL, m, n, U0, m, NULL), ST_OK);
    ck_assert_int_eq(blas_dqr(NULL, n, n, V0, n, NULL), ST_OK);
    for (size_t j = 0; j < n; j++) {
        s0[j] = j + 2 < n ? pow(10.0, -(double)j / 4.0) : 0.0; /* rank n - 2 */
        for (size_t i = 0; i < m; i++)
            W[i + j * m] = U0[i + j * m] * s0[j];
    }
    blas_dgemm1(false, true, m, n, n, 1.0, W, m, V0, n, 0.0, A, m);
    ck_assert_int_eq(blas_dsvd_for_tests(NULL, m, n, A, m, s, NULL), ST_OK);
    check_orthonormal(m, n, A, m);
    for (size_t j = 0; j < n; j++) {
        ck_assert_double_eq_tol(s[j], s0[j], 64.0 * DBL_EPSILON * (double)n);
        if (j < 8) /* well separated: the vectors agree up to sign */
            ck_assert_double_eq_tol(fabs(blas_ddot(m, A + j * m, U0 + j * m)), 1.0, 1e-11);
    }
    A[3] = NAN;
    ck_assert_int_eq(blas_dsvd_for_tests(NULL, m, n, A, m, s, NULL), ST_RANGE);
    free(U0), free(V0), free(A), free(W);
}
END_TEST

/* Everything tiled, run on `threads` threads (0: no pool); the outputs are appended to out. */
static size_t all_steps(size_t threads, double *out)
{
    enum { N = 900, K = 90 };
    struct pool *pool = threads ? pool_new(threads, NULL) : NULL;
    splitmix_init(&rng, 5);
    double *A = spd(N, N), *X = uniform(N * K), *Y = uniform(N * K), s[K], *p = out;
    ck_assert_int_eq(blas_dpotrf(pool, N, A, N, NULL, NULL, NULL), ST_OK);
    memcpy(p, A, N * N * sizeof *p), p += N * N;
    ck_assert_int_eq(blas_inverse_squares(pool, N, A, N, p, NULL, NULL), ST_OK);
    p += N;
    ck_assert_int_eq(blas_dtrsm(pool, false, N, K, A, N, X, N, NULL), ST_OK);
    ck_assert_int_eq(blas_dtrsm(pool, true, N, 1, A, N, X, N, NULL), ST_OK);
    ck_assert_int_eq(blas_dpotri(pool, N, A, N, NULL), ST_OK);
    memcpy(p, A, N * N * sizeof *p), p += N * N;
    ck_assert_int_eq(blas_dgemm(pool, false, false, N, K, N, 1.0, A, N, X, N, 0.0, Y, N, NULL),
                     ST_OK);
    memcpy(p, Y, N * K * sizeof *p), p += N * K;
    ck_assert_int_eq(blas_dsvd_for_tests(pool, N, K, Y, N, s, NULL), ST_OK);
    memcpy(p, s, sizeof s), p += K;
    memcpy(p, Y, N * K * sizeof *p), p += N * K;
    ck_assert_int_eq(blas_dgram(pool, N, K, X, N, A, K, NULL), ST_OK);
    memcpy(p, A, K * K * sizeof *p), p += K * K;
    free(A);
    A = spd(N, N); /* two-stage: above blas_tridiag.c's TWO_STAGE */
    ck_assert_int_eq(blas_tridiag(pool, N, A, N, p, p + N, 2, X, N, NULL), ST_OK);
    memcpy(p + 2 * N, X, 2 * N * sizeof *p), p += 4 * N;
    free(A), free(X), free(Y);
    pool_free(pool);
    return (size_t)(p - out);
}

START_TEST(same_bits_for_any_thread_count)
{
    static const size_t threads[] = { 1, 2, 3, 64 };
    double *a = malloc(2200000 * sizeof *a), *b = malloc(2200000 * sizeof *b);
    const size_t n = all_steps(0, a);
    ck_assert_uint_lt(n, 2200000);
    for (size_t t = 0; t < 4; t++) {
        ck_assert_uint_eq(all_steps(threads[t], b), n);
        ck_assert_int_eq(memcmp(a, b, n * sizeof *a), 0);
    }
    free(a), free(b);
}
END_TEST

/* Several groups of columns of an inverse, and products and a basis of more than one tile. */
START_TEST(large_steps_have_the_same_bits)
{
    enum { N = 1100, K = 300 };
    static const size_t threads[] = { 1, 2, 3, 64 };
    double *L = spd(N, N), *X = uniform(N * K), *first = NULL;
    ck_assert_int_eq(blas_dpotrf(NULL, N, L, N, NULL, NULL, NULL), ST_OK);
    for (size_t t = 0; t < 4; t++) {
        struct pool *pool = pool_new(threads[t], NULL);
        double *out = calloc(N + N * K + N * N, sizeof *out), *Q = out + N, *P = Q + N * K;
        memcpy(Q, X, N * K * sizeof *Q);
        ck_assert_int_eq(blas_inverse_squares(pool, N, L, N, out, NULL, NULL), ST_OK);
        ck_assert_int_eq(blas_dtrsm(pool, false, N, K, L, N, Q, N, NULL), ST_OK);
        ck_assert_int_eq(blas_dqr(pool, N, K, Q, N, NULL), ST_OK);
        ck_assert_int_eq(blas_dgemm(pool, false, true, N, N, K, 1.0, Q, N, Q, N, 0.0, P, N, NULL),
                         ST_OK);
        if (first) {
            ck_assert_int_eq(memcmp(first, out, (N + N * K + N * N) * sizeof *out), 0);
            free(out);
        } else {
            first = out;
        }
        pool_free(pool);
    }
    free(L), free(X), free(first);
}
END_TEST

START_TEST(out_of_memory_is_an_error)
{
    double *A = spd(200, 200), s[40], e[200];
    struct err err = { 0 };
    for (size_t nth = 1; nth <= 2; nth++) {
        mem_fail_after_for_tests(nth);
        ck_assert_int_eq(blas_dsyevd(40, A, 200, s, true, &err), ST_NOMEM);
        mem_fail_after_for_tests(nth);
        ck_assert_int_eq(blas_dsyevr(40, 2, A, 200, s, e, 40, &err), ST_NOMEM);
        mem_fail_after_for_tests(nth);
        ck_assert_int_eq(blas_dsvd_for_tests(NULL, 200, 40, A, 200, s, &err), ST_NOMEM);
    }
    mem_fail_after_for_tests(1);
    ck_assert_int_eq(blas_dqr(NULL, 200, 40, A, 200, &err), ST_NOMEM);
    mem_fail_after_for_tests(1);
    ck_assert_int_eq(blas_inverse_squares(NULL, 40, A, 200, s, NULL, &err), ST_NOMEM);
    mem_fail_after_for_tests(1);
    ck_assert_int_eq(blas_tridiag(NULL, 40, A, 200, s, e, 0, NULL, 40, &err), ST_NOMEM);
    mem_fail_after_for_tests(0);
    free(A);
}
END_TEST

START_TEST(library_is_described)
{
    struct err err = { 0 };
    ck_assert_ptr_nonnull(strstr(blas_describe(), "OpenBLAS"));
    ck_assert(blas_flavour_ok_for_tests(&err) || err.hint[0]);
}
END_TEST

#ifdef __x86_64__
/* Also where the processor is newer than the library. */
START_TEST(kernels_suit_the_processor)
{
    if (getenv("OPENBLAS_CORETYPE") || !__builtin_cpu_supports("avx2"))
        return;
    ck_assert_ptr_null(strstr(blas_describe(), "Prescott"));
    ck_assert_ptr_null(strstr(blas_describe(), "Barcelona"));
}
END_TEST
#endif

static void fresh(void)
{
    splitmix_init(&rng, 20);
    blas_init();
}

int main(void)
{
    Suite *s = suite_create("blas");
    TCase *t = tcase_create("blas");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, fresh, NULL);
    tcase_add_loop_test(t, products, 0, 4);
    tcase_add_loop_test(t, gram_is_symmetric_product, 0, NGRAMS);
    tcase_add_loop_test(t, cholesky, 0, NSIZES);
    tcase_add_test(t, cholesky_refuses);
    tcase_add_loop_test(t, triangular_solves, 0, NSIZES);
    tcase_add_test(t, small_eigenvalues_behind_large_pivots);
    tcase_add_test(t, eigenvalues_below_all_numbers);
    tcase_add_test(t, tasks_of_columns);
    tcase_add_loop_test(t, inverse, 0, NSIZES);
    tcase_add_loop_test(t, inverse_squares, 0, NSIZES);
    tcase_add_loop_test(t, eigenproblem, 0, NSIZES);
    tcase_add_loop_test(t, largest_eigenvalues, 0, NSIZES);
    tcase_add_loop_test(t, tridiagonal, 0, NSIZES);
    tcase_add_loop_test(t, thin_qr, 0, 4);
    tcase_add_loop_test(t, thin_svd, 0, 2);
    tcase_add_test(t, same_bits_for_any_thread_count);
    tcase_add_test(t, large_steps_have_the_same_bits);
    tcase_add_test(t, out_of_memory_is_an_error);
    tcase_add_test(t, library_is_described);
#ifdef __x86_64__
    tcase_add_test(t, kernels_suit_the_processor);
#endif
    suite_add_tcase(s, t);
    return support_run(s);
}
