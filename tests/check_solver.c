/* tests/check_solver.c -- solvers against the golden problem, dense Cholesky and the properties of
 * conjugate gradients; what stops them, and what they leave behind. */
#include "compute/blas.h"
#include "compute/solver.h"

#include "base/mem.h"
#include "support.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A dense symmetric operator, with the faults that tests want. */
struct dense {
    size_t n;
    const double *A;
    size_t calls, fault_at; /* this application is wrong by 1e-3 of its size (0: none) */
    bool single;            /* rounds what it returns to float32 */
    size_t nan_at, cancel_at;
    struct cancel *cancel;
};

static enum status dense_apply(void *ctx, size_t k, const double *X, double *Y,
                               const struct ctl *ctl, struct err *err)
{
    struct dense *d = ctx;
    (void)ctl;
    d->calls++;
    if (d->calls == d->cancel_at) {
        atomic_store(&d->cancel->stop, true);
        return err_set(err, ST_CANCELLED, "stopped");
    }
    for (size_t c = 0; c < k; c++) {
        double *y = Y + c * d->n;
        blas_dsymv1(true, d->n, d->A, d->n, X + c * d->n, y);
        for (size_t i = 0; i < d->n; i++) {
            if (d->single)
                y[i] = (double)(float)y[i];
            if (d->calls == d->fault_at)
                y[i] *= 1.0 + 1e-3 * (double)(i % 3);
        }
        if (d->calls == d->nan_at)
            y[1] = NAN;
    }
    return ST_OK;
}

static struct linop linop(struct dense *d)
{
    return (struct linop){ .n = d->n, .apply = dense_apply, .ctx = d };
}

/* A = Q diag(w) Q' with a random Q. */
static double *with_spectrum(size_t n, const double *w, uint64_t seed)
{
    struct splitmix s;
    splitmix_init(&s, seed);
    double *Q = malloc(sizeof *Q * n * n), *S = malloc(sizeof *S * n * n);
    double *A = malloc(sizeof *A * n * n);
    for (size_t i = 0; i < n * n; i++)
        Q[i] = splitmix_normal(&s);
    ck_assert_int_eq(blas_dqr(NULL, n, n, Q, n, NULL), ST_OK);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            S[i + j * n] = Q[i + j * n] * w[j];
    blas_dgemm1(false, true, n, n, n, 1.0, S, n, Q, n, 0.0, A, n);
    free(Q), free(S);
    return A;
}

static double *ones(size_t n)
{
    double *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = 1.0 + 0.1 * (double)(i % 7);
    return x;
}

static double relative_residual(size_t n, const double *A, const double *b, const double *x)
{
    double *r = malloc(n * sizeof *r);
    blas_dsymv1(true, n, A, n, x, r);
    blas_daxpy(n, -1.0, b, r);
    const double rel = blas_dnrm2(n, r) / blas_dnrm2(n, b);
    free(r);
    return rel;
}

/* ---- golden: 50 x 50, kappa 1e4 --------------------------------------------------------------- */

struct heard {
    double rel[64], x_norm;
    size_t n, stop_at;
    struct cancel cancel;
};

static void hear(void *ctx, const struct tick *t)
{
    struct heard *h = ctx;
    if (strcmp(t->phase, "cg") != 0)
        return;
    if (t->done < 64) {
        h->rel[t->done] = t->value;
        h->n = t->done + 1;
    }
    if (h->stop_at && t->done == h->stop_at)
        atomic_store(&h->cancel.stop, true);
}

START_TEST(golden_cg)
{
    size_t n, c, k;
    double *A = support_golden("cg_A", &n, &c), *B = support_golden("cg_B", &n, &k);
    double *want = support_golden("cg_X", &n, &c), *Bt = malloc(sizeof *B * n * k);
    double *X = malloc(sizeof *X * n * k);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < k; j++)
            Bt[j * n + i] = B[i * k + j];
    struct dense d = { .n = n, .A = A };
    const struct linop op = linop(&d);
    struct solve_info info[3];
    const struct solve_opts o = { .rtol = 1e-12, .maxit = 500 };
    ck_assert_int_eq(cg_solve(&op, k, Bt, X, &o, NULL, info, NULL), ST_OK);
    for (size_t j = 0; j < k; j++) {
        ck_assert_int_eq(info[j].why, OUT_RTOL);
        ck_assert_double_le(info[j].true_residual, 1e-12);
        for (size_t i = 0; i < n; i++)
            ck_assert_double_eq_tol(X[j * n + i], want[i * k + j],
                                    1e-8 * (1.0 + fabs(want[i * k + j])));
        solve_info_free(&info[j]);
    }
    free(A), free(B), free(Bt), free(X), free(want);
}
END_TEST

/* From step 18 on this run multiplies rounding errors by a thousand per step: the golden file's own
 * residuals at steps 19 and 20 are 5e-4 and 0.3 away from the same run in 60 digits. */
enum { SOUND = 17 };

START_TEST(golden_history)
{
    size_t n, c, k, r;
    double *A = support_golden("cg_A", &n, &c), *B = support_golden("cg_B", &n, &k);
    double *want = support_golden("cg_X", &n, &c), *b = malloc(n * sizeof *b);
    double *rel = support_golden("cg_rel_resid_nopre", &r, &c), *e = malloc(n * sizeof *e);
    double *ab = support_golden("cg_alpha_beta_nopre", &r, &c), *Ae = malloc(n * sizeof *e);
    double *ritz = support_golden("cg_ritz_20", &r, &c), *x = malloc(n * sizeof *x);
    double *bound = support_golden("cg_Anorm_error_and_bound", &r, &c), T[400] = { 0 }, th[20];
    for (size_t i = 0; i < n; i++)
        b[i] = B[i * k];
    struct dense d = { .n = n, .A = A };
    const struct linop op = linop(&d);
    struct heard h = { .n = 0 };
    const struct ctl ctl = { .tick = hear, .ctx = &h };
    struct solve_info info;
    double e0 = 0.0;
    for (size_t steps = 1; steps <= 20; steps++) { /* the A-norm of the error after each */
        const struct solve_opts o = { .rtol = 1e-300, .maxit = steps };
        ck_assert_int_eq(cg_solve(&op, 1, b, x, &o, &ctl, &info, NULL), ST_OK);
        ck_assert_int_eq(info.why, OUT_MAXIT);
        ck_assert_uint_eq(info.iterations, steps);
        for (size_t i = 0; i < n; i++)
            e[i] = want[i * k] - x[i];
        blas_dsymv1(true, n, A, n, e, Ae);
        if (steps == 1)
            for (size_t i = 0; i < n; i++)
                e0 += want[i * k] * b[i]; /* x'A x = x'b */
        const double err = sqrt(blas_ddot(n, e, Ae) / e0);
        if (steps <= SOUND)
            ck_assert_double_eq_tol(err, bound[steps * 2], 1e-6 * bound[steps * 2]);
        ck_assert_double_le(err, bound[steps * 2 + 1]);
        if (steps < 20)
            solve_info_free(&info);
    }
    for (size_t i = 0; i <= SOUND; i++)
        ck_assert_double_eq_tol(h.rel[i], rel[i], 1e-6 * rel[i]);
    ck_assert_uint_eq(info.nhist, 20);
    for (size_t i = 0; i < 20; i++) {
        if (i < SOUND)
            ck_assert_double_eq_tol(info.alpha[i], ab[2 * i], 1e-6 * ab[2 * i]);
        if (i + 1 < SOUND)
            ck_assert_double_eq_tol(info.beta[i], ab[2 * i + 1], 1e-6 * ab[2 * i + 1]);
        T[i * 21] = 1.0 / info.alpha[i] + (i ? info.beta[i - 1] / info.alpha[i - 1] : 0.0);
        if (i < 19)
            T[i * 21 + 1] = sqrt(info.beta[i]) / info.alpha[i];
    }
    ck_assert_int_eq(blas_dsyevd(20, T, 20, th, false, NULL), ST_OK);
    for (size_t i = 12; i < 20; i++) /* those that have converged */
        ck_assert_double_eq_tol(th[i], ritz[i], 1e-6 * ritz[i]);
    solve_info_free(&info);
    free(A), free(B), free(want), free(b), free(rel), free(e), free(ab), free(Ae), free(ritz);
    free(x), free(bound);
}
END_TEST

/* ---- every solver with every preconditioner --------------------------------------------------- */

enum { N = 200, M = 48, K = 3 };

static double *features(size_t n, size_t m)
{
    struct splitmix s;
    splitmix_init(&s, 77);
    double *z = malloc(n * m * sizeof *z);
    for (size_t i = 0; i < n * m; i++)
        z[i] = splitmix_normal(&s) * pow(0.9, (double)(i % m));
    return z;
}

static size_t count_solvers(void)
{
    size_t n = 0;
    while (solver_at(n))
        n++;
    return n;
}

static size_t count_preconds(void)
{
    size_t n = 0;
    while (precond_at(n))
        n++;
    return n;
}

START_TEST(conformance)
{
    const struct solver_ops *ops = solver_at((size_t)_i / count_preconds());
    const struct precond_ops *pops = precond_at((size_t)_i % count_preconds());
    const double lam2 = 0.3;
    double *z = features(N, M), A[M * M], want[K * M], B[K * M], X[K * M];
    struct fop *f = fop_dense(z, N, M, M, NULL, NULL);
    struct precond *p;
    struct solve_info info[K];
    ck_assert_ptr_eq(solver_find(ops->name, NULL), ops);
    ck_assert_int_eq(fop_gram(f, NULL, A, NULL, NULL, NULL, NULL), ST_OK);
    for (size_t i = 0; i < M; i++)
        A[i + i * M] += lam2;
    ck_assert_int_eq(blas_dpotrf(NULL, M, A, M, NULL, NULL, NULL), ST_OK);
    for (size_t i = 0; i < K * M; i++)
        want[i] = B[i] = cos((double)(i * i));
    ck_assert_int_eq(blas_dtrsm(NULL, false, M, K, A, M, want, M, NULL), ST_OK);
    ck_assert_int_eq(blas_dtrsm(NULL, true, M, K, A, M, want, M, NULL), ST_OK);
    const struct precond_opts po = { .rank = 16, .seed = 5 };
    ck_assert_int_eq(pops->build(f, &po, NULL, &p, NULL), ST_OK);
    precond_set_noise(p, lam2);
    const struct solve_opts o = { .rtol = 1e-10, .maxit = 1000, .pre = p };
    ck_assert_int_eq(ops->solve(f, lam2, K, B, X, &o, NULL, info, NULL), ST_OK);
    for (size_t c = 0; c < K; c++) {
        ck_assert_int_eq(info[c].why, ops->iterative ? OUT_RTOL : OUT_DIRECT);
        ck_assert_double_le(info[c].true_residual, 1e-10);
        /* |x - x*| <= |r| / lam2 */
        for (size_t i = 0; i < M; i++)
            ck_assert_double_eq_tol(X[c * M + i], want[c * M + i], 1e-10 * 10.0 / lam2);
        solve_info_free(&info[c]);
    }
    precond_free(p);
    fop_free(f);
    free(z);
}
END_TEST

START_TEST(columns_agree_with_single_solves)
{
    const double lam2 = 0.05;
    double *z = features(N, M), B[K * M], X[K * M], x[M];
    struct fop *f = fop_dense(z, N, M, M, NULL, NULL);
    struct precond *p;
    struct solve_info info[K], one;
    for (size_t i = 0; i < K * M; i++) /* sizes 1, 1e-20 and 1e20: every column has its own scale */
        B[i] = sin((double)(i * i)) * (i < M ? 1.0 : i < 2 * M ? 1e-20 : 1e20);
    memset(B + M + 3, 0, (M - 3) * sizeof *B); /* a simple column ends earlier */
    const struct precond_opts po = { .rank = 8, .seed = 5 };
    ck_assert_int_eq(precond_find("srht2", NULL)->build(f, &po, NULL, &p, NULL), ST_OK);
    precond_set_noise(p, lam2);
    const struct solve_opts o = { .rtol = 1e-11, .maxit = 1000, .check_every = 7, .pre = p };
    const struct solver_ops *pcg = solver_find("pcg", NULL);
    ck_assert_int_eq(pcg->solve(f, lam2, K, B, X, &o, NULL, info, NULL), ST_OK);
    for (size_t c = 0; c < K; c++) {
        ck_assert_int_eq(pcg->solve(f, lam2, 1, B + c * M, x, &o, NULL, &one, NULL), ST_OK);
        ck_assert_int_eq(info[c].why, OUT_RTOL);
        ck_assert_double_eq_tol((double)one.iterations, (double)info[c].iterations, 4.0);
        const double size = blas_dnrm2(M, x);
        for (size_t i = 0; i < M; i++)
            ck_assert_double_eq_tol(x[i] / size, X[c * M + i] / size, 1e-8);
        solve_info_free(&info[c]);
        solve_info_free(&one);
    }
    precond_free(p);
    fop_free(f);
    free(z);
}
END_TEST

START_TEST(same_bits_for_any_thread_count)
{
    enum { n = 600, m = 700 };
    static const size_t threads[] = { 1, 2, 3, 8 };
    double *z = features(n, m), *b = ones(2 * m), *x = malloc(2 * m * sizeof *x);
    double *first = malloc(2 * m * sizeof *x);
    const struct solver_ops *ops = solver_at((size_t)_i);
    for (size_t t = 0; t < 4; t++) {
        struct pool *pool = pool_new(threads[t], NULL);
        struct fop *f = fop_dense(z, n, m, m, pool, NULL);
        struct precond *p;
        struct solve_info info[2];
        const struct precond_opts po = { .rank = 30, .seed = 5 };
        ck_assert_int_eq(precond_find("srht", NULL)->build(f, &po, NULL, &p, NULL), ST_OK);
        precond_set_noise(p, 1.0);
        const struct solve_opts o = { .rtol = 1e-8, .maxit = 40, .pre = p };
        ck_assert_int_eq(ops->solve(f, 1.0, 2, b, x, &o, NULL, info, NULL), ST_OK);
        if (t == 0)
            memcpy(first, x, 2 * m * sizeof *x);
        ck_assert_int_eq(memcmp(first, x, 2 * m * sizeof *x), 0);
        solve_info_free(&info[0]);
        solve_info_free(&info[1]);
        precond_free(p);
        fop_free(f);
        pool_free(pool);
    }
    free(z), free(b), free(x), free(first);
}
END_TEST

/* ---- properties ------------------------------------------------------------------------------- */

START_TEST(ends_within_distinct_eigenvalues)
{
    enum { n = 60 };
    double w[n], *b = ones(n), x[n];
    for (size_t i = 0; i < n; i++)
        w[i] = (double[]){ 0.1, 1.0, 3.0, 10.0, 12.0 }[i % 5];
    double *A = with_spectrum(n, w, 1);
    struct dense d = { .n = n, .A = A };
    const struct linop op = linop(&d);
    struct solve_info info;
    const struct solve_opts o = { .rtol = 1e-10, .maxit = 100 };
    ck_assert_int_eq(cg_solve(&op, 1, b, x, &o, NULL, &info, NULL), ST_OK);
    ck_assert_int_eq(info.why, OUT_RTOL);
    ck_assert_uint_le(info.iterations, 5);
    ck_assert_double_le(relative_residual(n, A, b, x), 1e-10);
    solve_info_free(&info);
    free(A), free(b);
}
END_TEST

enum { P = 80 };

/* kappa = 10^decades, geometric. */
static double *graded(double decades)
{
    double w[P];
    for (size_t i = 0; i < P; i++)
        w[i] = pow(10.0, -decades * (double)i / (P - 1));
    return with_spectrum(P, w, 2);
}

START_TEST(cancelled_at_a_step_keeps_the_iterate)
{
    double *A = graded(3.0), *b = ones(P), x[P], two[P];
    struct dense d = { .n = P, .A = A };
    const struct linop op = linop(&d);
    struct heard h = { .stop_at = 2 };
    const struct ctl ctl = { .cancel = &h.cancel, .tick = hear, .ctx = &h };
    struct solve_info info;
    struct solve_opts o = { .rtol = 1e-10, .maxit = 2 };
    ck_assert_int_eq(cg_solve(&op, 1, b, two, &o, NULL, &info, NULL), ST_OK);
    solve_info_free(&info);
    o.maxit = 100;
    ck_assert_int_eq(cg_solve(&op, 1, b, x, &o, &ctl, &info, NULL), ST_OK);
    ck_assert_int_eq(info.why, OUT_CANCELLED);
    ck_assert_uint_eq(info.iterations, 2);
    ck_assert_mem_eq(x, two, sizeof x);
    solve_info_free(&info);
    /* and within an application of A, the fourth here: three steps are kept */
    struct cancel stop = { false };
    const struct ctl inner = { .cancel = &stop };
    d = (struct dense){ .n = P, .A = A, .cancel_at = 4, .cancel = &stop };
    ck_assert_int_eq(cg_solve(&op, 1, b, x, &o, &inner, &info, NULL), ST_OK);
    ck_assert_int_eq(info.why, OUT_CANCELLED);
    ck_assert_uint_eq(info.iterations, 3);
    ck_assert_double_gt(blas_ddot(P, x, b), blas_ddot(P, two, b)); /* |e|_A^2 = b'x* - b'x */
    solve_info_free(&info);
    free(A), free(b);
}
END_TEST

START_TEST(warm_starts)
{
    double *A = graded(3.0), *b = ones(P), x[P], x0[P];
    struct dense d = { .n = P, .A = A };
    const struct linop op = linop(&d);
    struct solve_info info;
    struct solve_opts o = { .rtol = 1e-9, .maxit = 1000 };
    ck_assert_int_eq(cg_solve(&op, 1, b, x, &o, NULL, &info, NULL), ST_OK);
    const size_t cold = info.iterations;
    solve_info_free(&info);
    /* the solution, and a multiple of it: nothing is left to do */
    for (double scale = 1.0; scale < 10.0; scale += 4.0) {
        for (size_t i = 0; i < P; i++)
            x0[i] = scale * x[i];
        o = (struct solve_opts){ .rtol = 1e-8, .maxit = 1000, .x0 = x0 };
        double y[P];
        ck_assert_int_eq(cg_solve(&op, 1, b, y, &o, NULL, &info, NULL), ST_OK);
        ck_assert_int_eq(info.why, OUT_RTOL);
        ck_assert_uint_eq(info.iterations, 0);
        ck_assert_double_le(relative_residual(P, A, b, y), 1e-8);
        solve_info_free(&info);
    }
    /* a stopped solve goes on from where it was */
    o = (struct solve_opts){ .rtol = 1e-9, .maxit = cold - 10 };
    ck_assert_int_eq(cg_solve(&op, 1, b, x0, &o, NULL, &info, NULL), ST_OK);
    ck_assert_int_eq(info.why, OUT_MAXIT);
    solve_info_free(&info);
    o = (struct solve_opts){ .rtol = 1e-9, .maxit = 1000, .x0 = x0 };
    ck_assert_int_eq(cg_solve(&op, 1, b, x, &o, NULL, &info, NULL), ST_OK);
    ck_assert_int_eq(info.why, OUT_RTOL);
    ck_assert_uint_lt(info.iterations, cold);
    solve_info_free(&info);
    /* nonsense, zero and NaN as starts do no harm */
    for (int bad = 0; bad < 3; bad++) {
        for (size_t i = 0; i < P; i++)
            x0[i] = bad == 0 ? 1e30 * (double)(i % 5) : bad == 1 ? 0.0 : NAN;
        ck_assert_int_eq(cg_solve(&op, 1, b, x, &o, NULL, &info, NULL), ST_OK);
        ck_assert_int_eq(info.why, OUT_RTOL);
        ck_assert_double_le(relative_residual(P, A, b, x), 1e-9);
        solve_info_free(&info);
    }
    free(A), free(b);
}
END_TEST

START_TEST(not_numbers_and_not_positive)
{
    double *A = graded(2.0), *b = ones(P), x[2 * P], bb[2 * P];
    struct dense d = { .n = P, .A = A };
    const struct linop op = linop(&d);
    struct solve_info info[2];
    const struct solve_opts o = { .rtol = 1e-9, .maxit = 100 };
    /* one column with a NaN, one without: each has its own fate */
    memcpy(bb, b, P * sizeof *b);
    memcpy(bb + P, b, P * sizeof *b);
    bb[4] = NAN;
    ck_assert_int_eq(cg_solve(&op, 2, bb, x, &o, NULL, info, NULL), ST_OK);
    ck_assert_int_eq(info[0].why, OUT_BREAKDOWN);
    ck_assert_int_eq(info[1].why, OUT_RTOL);
    for (size_t i = 0; i < P; i++)
        ck_assert_double_eq(x[i], 0.0);
    solve_info_free(&info[0]);
    solve_info_free(&info[1]);
    /* b = 0 */
    memset(bb, 0, sizeof bb);
    ck_assert_int_eq(cg_solve(&op, 1, bb, x, &o, NULL, info, NULL), ST_OK);
    ck_assert_int_eq(info[0].why, OUT_RTOL);
    ck_assert_double_eq(x[3], 0.0);
    solve_info_free(&info[0]);
    /* a NaN in the middle leaves the iterate before it */
    d.calls = 0;
    d.nan_at = 5;
    ck_assert_int_eq(cg_solve(&op, 1, b, x, &o, NULL, info, NULL), ST_OK);
    ck_assert_int_eq(info[0].why, OUT_BREAKDOWN);
    ck_assert_double_lt(relative_residual(P, A, b, x), 1.0);
    solve_info_free(&info[0]);
    /* an indefinite matrix */
    double w[P], *B;
    for (size_t i = 0; i < P; i++)
        w[i] = i % 2 ? -1.0 : 1.0 + (double)i;
    B = with_spectrum(P, w, 3);
    struct dense e = { .n = P, .A = B };
    const struct linop iop = linop(&e);
    ck_assert_int_eq(cg_solve(&iop, 1, b, x, &o, NULL, info, NULL), ST_OK);
    ck_assert_int_eq(info[0].why, OUT_BREAKDOWN);
    ck_assert(isfinite(x[0]));
    solve_info_free(&info[0]);
    free(A), free(B), free(b);
}
END_TEST

/* The operator rounds to float32: the true residual stops near kappa * 6e-8 of the solution. */
START_TEST(float_limit_is_recognised)
{
    double *A = graded(5.0), *b = ones(P), x[P];
    struct dense d = { .n = P, .A = A, .single = true };
    const struct linop op = linop(&d);
    struct solve_info info;
    const struct solve_opts o = { .rtol = 1e-12, .maxit = 5000 };
    ck_assert_int_eq(cg_solve(&op, 1, b, x, &o, NULL, &info, NULL), ST_OK);
    ck_assert_int_eq(info.why, OUT_MAXIT);
    ck_assert(info.float_limit);
    ck_assert_uint_lt(info.iterations, 2000);
    ck_assert_uint_ge(info.replaced, 1);
    /* what is claimed is what the exact matrix says, up to the operator's own rounding */
    const double eps = 6e-8 * blas_dnrm2(P, x) / blas_dnrm2(P, b);
    ck_assert_double_le(relative_residual(P, A, b, x), info.true_residual + eps);
    ck_assert_double_le(info.true_residual, 100.0 * eps);
    solve_info_free(&info);
    free(A), free(b);
}
END_TEST

START_TEST(drift_is_repaired)
{
    double *A = graded(3.0), *b = ones(P), x[P];
    struct dense d = { .n = P, .A = A, .fault_at = 4 };
    const struct linop op = linop(&d);
    struct solve_info info;
    const struct solve_opts o = { .rtol = 1e-10, .maxit = 2000, .check_every = 10 };
    ck_assert_int_eq(cg_solve(&op, 1, b, x, &o, NULL, &info, NULL), ST_OK);
    ck_assert_int_eq(info.why, OUT_RTOL);
    ck_assert_uint_ge(info.replaced, 1);
    ck_assert_uint_le(info.nhist, info.iterations);
    ck_assert_double_le(relative_residual(P, A, b, x), 1.001e-10);
    solve_info_free(&info);
    free(A), free(b);
}
END_TEST

START_TEST(direct_refuses_and_stops)
{
    double *z = features(N, M), *b = ones(M), x[M];
    struct fop *f = fop_dense(z, N, M, M, NULL, NULL);
    const struct solver_ops *direct = solver_find("direct", NULL);
    struct solve_info info;
    struct err err = { 0 };
    const struct solve_opts o = { .rtol = 1e-6 };
    ck_assert_int_eq(direct->solve(f, -5.0, 1, b, x, &o, NULL, &info, &err), ST_NOT_PD);
    ck_assert_ptr_nonnull(strstr(err.hint, "noise"));
    struct cancel stop;
    atomic_init(&stop.stop, true);
    const struct ctl ctl = { .cancel = &stop };
    ck_assert_int_eq(direct->solve(f, 1.0, 1, b, x, &o, &ctl, &info, &err), ST_OK);
    ck_assert_int_eq(info.why, OUT_CANCELLED);
    ck_assert_double_eq(x[0], 0.0);
    ck_assert_ptr_null(solver_find("gradient", &err));
    ck_assert_int_eq(err.code, ST_NOT_FOUND);
    fop_free(f);
    free(z), free(b);
}
END_TEST

START_TEST(out_of_memory)
{
    double *z = features(N, M), *b = ones(M), x[M];
    struct fop *f = fop_dense(z, N, M, M, NULL, NULL);
    const struct solve_opts o = { .rtol = 1e-8, .maxit = 200 };
    for (size_t q = 0; solver_at(q); q++) {
        bool done = false;
        for (size_t nth = 1; !done && nth < 60; nth++) {
            struct solve_info info;
            struct err err = { 0 };
            mem_fail_after(nth);
            const enum status rc = solver_at(q)->solve(f, 1.0, 1, b, x, &o, NULL, &info, &err);
            mem_fail_after(0);
            ck_assert(rc == ST_OK || rc == ST_NOMEM);
            done = rc == ST_OK;
            solve_info_free(&info);
        }
        ck_assert(done);
    }
    fop_free(f);
    free(z), free(b);
}
END_TEST

START_TEST(outcomes_have_names)
{
    ck_assert_str_eq(outcome_name(OUT_RTOL), "rtol");
    ck_assert_str_eq(outcome_name(OUT_DIRECT), "direct");
    ck_assert_str_eq(outcome_name(OUT_MAXIT), "maxit");
    ck_assert_str_eq(outcome_name(OUT_CANCELLED), "cancelled");
    ck_assert_str_eq(outcome_name(OUT_BREAKDOWN), "breakdown");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("solver");
    TCase *t = tcase_create("solver");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, blas_init, NULL);
    tcase_add_loop_test(t, conformance, 0, (int)(count_solvers() * count_preconds()));
    tcase_add_test(t, columns_agree_with_single_solves);
    tcase_add_loop_test(t, same_bits_for_any_thread_count, 0, (int)count_solvers());
    tcase_add_test(t, ends_within_distinct_eigenvalues);
    tcase_add_test(t, cancelled_at_a_step_keeps_the_iterate);
    tcase_add_test(t, warm_starts);
    tcase_add_test(t, not_numbers_and_not_positive);
    tcase_add_test(t, float_limit_is_recognised);
    tcase_add_test(t, drift_is_repaired);
    tcase_add_test(t, direct_refuses_and_stops);
    tcase_add_test(t, out_of_memory);
    tcase_add_test(t, outcomes_have_names);
    if (support_shared("golden/cg_A.csv")) {
        tcase_add_test(t, golden_cg);
        tcase_add_test(t, golden_history);
    }
    suite_add_tcase(s, t);
    return support_run(s);
}
