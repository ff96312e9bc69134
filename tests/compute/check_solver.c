/* tests/compute/check_solver.c -- solvers against the golden problem, dense Cholesky and the
 * properties of conjugate gradients; what stops them, and what they leave behind. */
#include "compute/linalg/blas.h"
#include "compute/stats/ritz.h"
#include "compute/rng.h"
#include "compute/solvers/solver.h"
#include "compute/solvers/batch.h"
#include "compute/solvers/descent.h"

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

/* Golden: 50 x 50, kappa 1e4. */

struct heard {
    double rel[64], x_norm;
    size_t n, stop_at;
    struct cancel cancel;
};

static void hear(void *ctx, const struct tick *t)
{
    struct heard *h = ctx;
    if (t->phase != PHASE_ITERATE)
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
    for (size_t i = 0; i < n; i++) /* the product reads one triangle */
        for (size_t j = 0; j < i; j++)
            ck_assert_double_eq_tol(A[i * n + j], A[j * n + i], 1e-10 * fabs(A[i * n + j]));
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

static double history_tol(size_t step)
{
    return fmin(0.9, 1e-6 * pow(1e3, step > SOUND ? (double)(step - SOUND) : 0.0));
}

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
    ck_assert(bound[0] == 1.0 && rel[0] == 1.0); /* before the first step */
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
    for (size_t i = 0; i <= 20; i++)
        ck_assert_double_eq_tol(h.rel[i], rel[i], history_tol(i) * rel[i]);
    ck_assert_uint_eq(info.nhist, 20);
    for (size_t i = 0; i < 20; i++) {
        ck_assert_double_eq_tol(info.alpha[i], ab[2 * i], history_tol(i + 1) * ab[2 * i]);
        if (i < 19)
            ck_assert_double_eq_tol(info.beta[i], ab[2 * i + 1],
                                    history_tol(i + 1) * ab[2 * i + 1]);
        T[i * 21] = 1.0 / info.alpha[i] + (i ? info.beta[i - 1] / info.alpha[i - 1] : 0.0);
        if (i < 19)
            T[i * 21 + 1] = sqrt(info.beta[i]) / info.alpha[i];
    }
    ck_assert_int_eq(blas_dsyevd(20, T, 20, th, false, NULL), ST_OK);
    double own[20], condition, least, most;
    size_t count;
    ck_assert_int_eq(ritz_values(&info, own, &count, NULL), ST_OK);
    ck_assert_uint_eq(count, 20);
    for (size_t i = 0; i < 20; i++) /* against LAPACK's eigensolver */
        ck_assert_double_eq_tol(own[i], th[i], 1e-10 * th[i] + 1e-13 * th[19]);
    for (size_t i = 0; i < 20; i++) /* the last nine have converged, the others follow the steps */
        ck_assert_double_eq_tol(own[i], ritz[i], (i < 11 ? 3e-2 : 1e-6) * ritz[i]);
    ck_assert_int_eq(ritz_condition(&info, &condition, &least, &most, NULL), ST_OK);
    ck_assert_double_eq_tol(least, own[0], 1e-13 * own[19]); /* two algorithms, of LAPACK and own */
    ck_assert_double_eq_tol(most, own[19], 1e-13 * own[19]);
    ck_assert(condition == most / least);
    ck_assert_double_le(condition, 1e4 * (1.0 + 1e-9)); /* from within the spectrum: kappa is 1e4 */
    solve_info_free(&info);
    free(A), free(B), free(want), free(b), free(rel), free(e), free(ab), free(Ae), free(ritz);
    free(x), free(bound);
}
END_TEST

/* Every solver with every preconditioner. */

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
    if (ops->dual)
        return; /* check_dual */
    const struct precond_ops *pops = precond_at((size_t)_i % count_preconds());
    const double lam2 = ops->stochastic ? 30.0 : 0.3; /* condition 30 and 3000 */
    const double batch[SOLVER_MAX_PARAMS] = { 20 };
    double *z = features(N, M), A[M * M], want[K * M], B[K * M], X[K * M];
    struct fop *f = fop_dense_for_tests(z, N, M, M, NULL, NULL);
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
    ck_assert_int_eq(pops->build(SOLVE_RIDGE(f, 0.0), &po, NULL, &p, NULL), ST_OK);
    precond_set_noise(p, lam2);
    const struct solve_opts o = { .rtol = 1e-10, .maxit = 4000, .pre = p, .seed = 4,
                                  .params = ops->stochastic ? batch : NULL };
    ck_assert_int_eq(ops->solve(SOLVE_RIDGE(f, lam2), K, B, X, &o, NULL, info, NULL), ST_OK);
    for (size_t c = 0; c < K; c++) {
        if (ops->coarse) { /* check_registry knows what it reaches */
            solve_info_free(&info[c]);
            continue;
        }
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
    struct fop *f = fop_dense_for_tests(z, N, M, M, NULL, NULL);
    struct precond *p;
    struct solve_info info[K], one;
    for (size_t i = 0; i < K * M; i++) /* sizes 1, 1e-20 and 1e20: every column has its own scale */
        B[i] = sin((double)(i * i)) * (i < M ? 1.0 : i < 2 * M ? 1e-20 : 1e20);
    memset(B + M + 3, 0, (M - 3) * sizeof *B); /* a simple column ends earlier */
    const struct precond_opts po = { .rank = 8, .seed = 5 };
    ck_assert_int_eq(precond_find("srht2", NULL)->build(SOLVE_RIDGE(f, 0.0), &po, NULL, &p, NULL),
                     ST_OK);
    precond_set_noise(p, lam2);
    const struct solve_opts o = { .rtol = 1e-11, .maxit = 1000, .check_every = 7, .pre = p };
    const struct solver_ops *pcg = solver_find("pcg", NULL);
    ck_assert_int_eq(pcg->solve(SOLVE_RIDGE(f, lam2), K, B, X, &o, NULL, info, NULL), ST_OK);
    for (size_t c = 0; c < K; c++) {
        ck_assert_int_eq(
            pcg->solve(SOLVE_RIDGE(f, lam2), 1, B + c * M, x, &o, NULL, &one, NULL), ST_OK);
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
    for (size_t t = 0; !ops->dual && t < 4; t++) {
        struct pool *pool = pool_new(threads[t], NULL);
        struct fop *f = fop_dense_for_tests(z, n, m, m, pool, NULL);
        struct precond *p;
        struct solve_info info[2];
        const struct precond_opts po = { .rank = 30, .seed = 5 };
        ck_assert_int_eq(precond_find("srht", NULL)->build(SOLVE_RIDGE(f, 0.0), &po, NULL, &p,
                                                           NULL), ST_OK);
        precond_set_noise(p, 1.0);
        const struct solve_opts o = { .rtol = 1e-8, .maxit = 40, .pre = p };
        ck_assert_int_eq(ops->solve(SOLVE_RIDGE(f, 1.0), 2, b, x, &o, NULL, info, NULL), ST_OK);
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

/* Stochastic gradients. */

enum { OPT_N = 80, OPT_M = 6, OPT_STEPS = 40, OPT_BLOCK = 8 };
static const double opt_lam2 = 0.5;
static const size_t opt_rows[] = { 1, 2, 10, 11, 40 };

/* 80 rows in blocks of 8, one block a batch, in the golden order. */
struct opt { double *Z, *y, *ids, b[OPT_M]; struct fop *f; struct batch batch; };

static void opt_new(struct opt *o)
{
    size_t r, c;
    o->Z = support_golden("opt_Z", &r, &c);
    ck_assert(r == OPT_N && c == OPT_M);
    o->y = support_golden("opt_y", &r, &c);
    o->ids = support_golden("opt_batches", &r, &c);
    ck_assert_uint_eq(r, OPT_STEPS);
    o->f = fop_dense_for_tests(o->Z, OPT_N, OPT_M, OPT_M, NULL, NULL);
    ck_assert_int_eq(fop_ztv(o->f, 1, o->y, o->b, NULL, NULL), ST_OK);
    ck_assert_int_eq(batch_new_of(&o->batch, o->f, OPT_BLOCK, 1, 1, NULL), ST_OK);
    ck_assert_uint_eq(o->batch.count, OPT_N / OPT_BLOCK);
}

static void opt_free(struct opt *o)
{
    batch_free(&o->batch);
    fop_free(o->f);
    free(o->Z), free(o->y), free(o->ids);
}

static void same_row(const char *what, const double *want, const double *w)
{
    for (size_t i = 0; i < OPT_M; i++)
        ck_assert_msg(support_close(w[i], want[i], 1e-10), "%s: %.17g, not %.17g", what, w[i],
                      want[i]);
}

/* 0: plain, eta 0.1; 1: with the exact three leading eigenpairs, eta 0.3.  Golden steps are those
 * of the mean loss: eta / n here. */
START_TEST(golden_svrg)
{
    struct opt o;
    size_t r, c, row = 0;
    double *want = support_golden(_i ? "psvrg_trace" : "svrg_trace", &r, &c), w[OPT_M] = { 0 };
    double G[OPT_M], Q[OPT_M], v[OPT_M] = { 0 }, A[OPT_M * OPT_M], ev[OPT_M], top[3 * OPT_M];
    struct precond *p = NULL;

    opt_new(&o);
    if (_i) {
        ck_assert_int_eq(fop_gram(o.f, NULL, A, NULL, NULL, NULL, NULL), ST_OK);
        ck_assert_int_eq(blas_dsyevd(OPT_M, A, OPT_M, ev, true, NULL), ST_OK);
        memcpy(top, A + 3 * OPT_M, sizeof top);
        ck_assert_int_eq(nystrom_build_for_tests(o.f, 3, top, true, 1, NULL, &p, NULL), ST_OK);
        precond_set_noise(p, opt_lam2);
    }
    for (size_t t = 0; t < OPT_STEPS; t++) {
        const size_t block = (size_t)o.ids[t];
        if (t % 10 == 0) {
            for (size_t i = 0; i < OPT_M; i++)
                w[i] += v[i];
            memset(v, 0, sizeof v);
            ck_assert_int_eq(fop_pass(o.f, 1, w, G, NULL, NULL), ST_OK);
            for (size_t i = 0; i < OPT_M; i++)
                G[i] += opt_lam2 * w[i] - o.b[i];
        }
        ck_assert_int_eq(batch_pass_at(&o.batch, &block, v, Q, NULL), ST_OK);
        struct descent at = { .A.lam2 = opt_lam2, .M = OPT_M, .k = 1, .G = G, .work = Q };
        ck_assert_int_eq(svrg_step(&at, p, (_i ? 0.3 : 0.1) / OPT_N, v), ST_OK);
        if (t + 1 == opt_rows[row]) {
            double now[OPT_M];
            for (size_t i = 0; i < OPT_M; i++)
                now[i] = w[i] + v[i];
            same_row(_i ? "psvrg" : "svrg", want + OPT_M * row++, now);
        }
    }
    ck_assert_uint_eq(row, r);
    precond_free(p);
    opt_free(&o);
    free(want);
}
END_TEST

/* The golden gradients use the batch's own targets: Z_B'y_B in the place of b.  0: AMSGrad, 1:
 * Adam. */
START_TEST(golden_moments)
{
    static const size_t at[] = { 1, 2, 10, 40 };
    struct opt o;
    size_t r, c, row = 0;
    double *want = support_golden(_i ? "adam_trace" : "amsgrad_trace", &r, &c), w[OPT_M] = { 0 };
    double g[OPT_M];
    double m[OPT_M] = { 0 }, v[OPT_M] = { 0 }, vh[OPT_M] = { 0 };

    opt_new(&o);
    for (size_t t = 0; t < OPT_STEPS; t++) {
        const size_t block = (size_t)o.ids[t];
        ck_assert_int_eq(batch_pass_at(&o.batch, &block, w, g, NULL), ST_OK);
        for (size_t i = 0; i < OPT_M; i++) {
            double zy = 0.0;
            for (size_t j = block * OPT_BLOCK; j < (block + 1) * OPT_BLOCK; j++)
                zy += o.Z[j * OPT_M + i] * o.y[j];
            g[i] = (g[i] + opt_lam2 * w[i]) / OPT_N - zy / OPT_BLOCK;
        }
        if (_i)
            amsgrad_adam_step(OPT_M, t + 1, 0.05, g, m, v, w);
        else
            amsgrad_step(OPT_M, 0.05, g, m, v, vh, w);
        if (t + 1 == at[row])
            same_row(_i ? "adam" : "amsgrad", want + OPT_M * row++, w);
    }
    ck_assert_uint_eq(row, r);
    opt_free(&o);
    free(want);
}
END_TEST

/* What all of them descend to. */
START_TEST(golden_optimum)
{
    static const struct solver_ops *const solvers[] = { &direct_solver, &cg_solver, &lbfgs_solver };
    const struct solve_opts so = { .rtol = 1e-12, .maxit = 1000 };
    struct opt o;
    size_t r, c;
    double *want = support_golden("opt_wstar", &r, &c), w[OPT_M];
    struct solve_info info;

    ck_assert_uint_eq(r, OPT_M);
    opt_new(&o);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(
            solvers[i]->solve(SOLVE_RIDGE(o.f, opt_lam2), 1, o.b, w, &so, NULL, &info, NULL),
            ST_OK);
        same_row(solvers[i]->name, want, w);
        solve_info_free(&info);
    }
    opt_free(&o);
    free(want);
}
END_TEST

/* Over an epoch the batches add up to all rows, whatever their number; the order is the seed's. */
START_TEST(batches_cover_the_rows)
{
    double *z = features(N, M), P[M], W[M], sum[M] = { 0 }, all[M];
    struct fop *f = fop_dense_for_tests(z, N, M, M, NULL, NULL);
    struct batch b;
    size_t first[4];

    for (size_t i = 0; i < M; i++)
        P[i] = sin((double)i);
    ck_assert_int_eq(batch_new_of(&b, f, 10, 5, 1, NULL), ST_OK);
    ck_assert_uint_eq(b.count, 4);
    batch_shuffle(&b, 3, 0);
    memcpy(first, b.order, sizeof first);
    batch_shuffle(&b, 3, 1);
    ck_assert_int_ne(memcmp(first, b.order, sizeof first), 0);
    batch_shuffle(&b, 3, 0);
    ck_assert_int_eq(memcmp(first, b.order, sizeof first), 0);
    for (size_t i = 0; i < b.count; i++) {
        ck_assert_int_eq(batch_pass(&b, i, P, W, NULL), ST_OK);
        blas_daxpy(M, 1.0 / (double)b.count, W, sum);
    }
    ck_assert_int_eq(fop_pass(f, 1, P, all, NULL, NULL), ST_OK);
    for (size_t i = 0; i < M; i++)
        ck_assert(support_close(sum[i], all[i], 1e-12));
    batch_free(&b);
    /* Blocks that a batch does not divide: still scaled by their share of the rows. */
    static const size_t some[] = { 0, 7, 19 };
    ck_assert_int_eq(batch_new_of(&b, f, 10, 3, 1, NULL), ST_OK);
    ck_assert_uint_eq(b.count, 6);
    ck_assert_int_eq(batch_pass_at(&b, some, P, W, NULL), ST_OK);
    memset(sum, 0, sizeof sum);
    for (size_t q = 0; q < 3; q++)
        for (size_t r = 10 * some[q]; r < 10 * some[q] + 10; r++)
            blas_daxpy(M, 20.0 / 3.0 * blas_ddot(M, z + r * M, P), z + r * M, sum);
    for (size_t i = 0; i < M; i++)
        ck_assert(support_close(W[i], sum[i], 1e-12));
    batch_free(&b);
    fop_free(f);
    free(z);
}
END_TEST

/* A step far beyond the stable one diverges, is halved, and the solve still ends well. */
START_TEST(divergence_is_mended)
{
    static const char *const names[] = { "svrg", "psvrg", "amsgrad", "adam" };
    const struct solver_ops *ops = solver_find(names[_i], NULL);
    double *z = features(N, M), *b = ones(M), x[M];
    const double wild[SOLVER_MAX_PARAMS] = { 20, 0, 30 };
    struct fop *f = fop_dense_for_tests(z, N, M, M, NULL, NULL);
    struct precond *p;
    struct solve_info info;
    const struct precond_opts po = { .rank = 16, .seed = 5 };

    ck_assert_int_eq(precond_find("srht2", NULL)->build(SOLVE_RIDGE(f, 0.0), &po, NULL, &p, NULL),
                     ST_OK);
    precond_set_noise(p, 3.0);
    const struct solve_opts o = { .rtol = _i >= 2 ? 0.1 : 1e-8, .maxit = 2000, .pre = p, .seed = 1,
                                  .params = wild };
    ck_assert_int_eq(ops->solve(SOLVE_RIDGE(f, 3.0), 1, b, x, &o, NULL, &info, NULL), ST_OK);
    ck_assert_int_eq(info.why, OUT_RTOL);
    ck_assert_uint_ge(info.halved, 1);
    ck_assert_double_gt(info.passes, (double)info.iterations);
    double A[M * M];
    ck_assert_int_eq(fop_gram(f, NULL, A, NULL, NULL, NULL, NULL), ST_OK);
    for (size_t i = 0; i < M; i++)
        A[i * M + i] += 3.0;
    ck_assert_double_eq_tol(relative_residual(M, A, b, x), info.true_residual,
                            1e-6 * info.true_residual + 1e-14);
    solve_info_free(&info);
    precond_free(p);
    fop_free(f);
    free(z), free(b);
}
END_TEST

/* Stopped at any iteration: the best iterate so far, and its residual told truly. */
START_TEST(gradient_methods_stop)
{
    static const char *const names[] = { "svrg", "psvrg", "amsgrad", "lbfgs", "adam" };
    const struct solver_ops *ops = solver_find(names[_i], NULL);
    double *z = features(N, M), *b = ones(M), x[M], A[M * M];
    struct fop *f = fop_dense_for_tests(z, N, M, M, NULL, NULL);
    struct heard h = { .stop_at = 3 };
    const struct ctl ctl = { .cancel = &h.cancel, .tick = hear, .ctx = &h };
    struct solve_info info;
    const struct solve_opts o = { .rtol = 1e-12, .maxit = 100, .seed = 1 };

    ck_assert_int_eq(ops->solve(SOLVE_RIDGE(f, 1.0), 1, b, x, &o, &ctl, &info, NULL), ST_OK);
    ck_assert_int_eq(info.why, OUT_CANCELLED);
    ck_assert_uint_eq(info.iterations, 3);
    ck_assert_uint_ge(h.n, 4); /* the start, and three steps */
    ck_assert_int_eq(fop_gram(f, NULL, A, NULL, NULL, NULL, NULL), ST_OK);
    for (size_t i = 0; i < M; i++)
        A[i * M + i] += 1.0;
    ck_assert_double_eq_tol(relative_residual(M, A, b, x), info.residual, 1e-9);
    solve_info_free(&info);
    fop_free(f);
    free(z), free(b);
}
END_TEST

/* With exact steps the iterates are those of conjugate gradients (Nocedal & Wright, theorem 7.4):
 * the same residual after the same number of steps, until rounding parts them; unit steps are
 * never better. */
START_TEST(lbfgs_is_cg_with_exact_steps)
{
    double *z = features(N, M), *b = ones(M), x[M];
    struct fop *f = fop_dense_for_tests(z, N, M, M, NULL, NULL);
    struct heard cg = { .n = 0 }, exact = { .n = 0 }, wolfe = { .n = 0 };
    struct heard *each[] = { &cg, &exact, &wolfe };
    const double unit[SOLVER_MAX_PARAMS] = { 0, 1 };
    size_t its[3];

    for (int i = 0; i < 3; i++) {
        const struct ctl ctl = { .tick = hear, .ctx = each[i] };
        struct solve_info info;
        const struct solve_opts o = { .rtol = 1e-6, .maxit = 500, .params = i == 2 ? unit : NULL };
        const struct solver_ops *ops = i ? solver_find("lbfgs", NULL) : solver_find("cg", NULL);
        ck_assert_int_eq(ops->solve(SOLVE_RIDGE(f, 20.0), 1, b, x, &o, &ctl, &info, NULL),
                         ST_OK);
        ck_assert_int_eq(info.why, OUT_RTOL);
        its[i] = info.iterations;
        solve_info_free(&info);
    }
    ck_assert_uint_ge(cg.n, 12);
    for (size_t i = 0; i < 12; i++)
        ck_assert_double_eq_tol(exact.rel[i], cg.rel[i], 1e-6 * cg.rel[i]);
    ck_assert_uint_ge(its[2], its[0]);
    fop_free(f);
    free(z), free(b);
}
END_TEST

/* wolfe=1 against BFGS written out: a dense H from the remembered pairs, H0 = s'y / y'y, the unit
 * step where both strong Wolfe conditions hold, else the exact one.  0: unit steps are right at
 * once; 1: much too short at first, 2: much too long. */
START_TEST(wolfe_steps_are_those_of_bfgs)
{
    enum { n = 8, STEPS = 5 };
    static const double scale[] = { 1.0, 1e-3, 1e3 };
    const struct solver_ops *ops = solver_find("lbfgs", NULL);
    double Z[n * n], A[n * n], b[n], w[n], x[n], want[n] = { 0 }, g[n], S[STEPS][n], Y[STEPS][n];
    const double lam2 = 0.1 * scale[_i], wolfe[SOLVER_MAX_PARAMS] = { 10, 1 };
    size_t unit_steps = 0;

    for (size_t i = 0; i < n; i++)
        w[i] = scale[_i] * (0.5 + (double)i);
    double *Q = with_spectrum(n, w, 12), *V = malloc(sizeof *V * n * n);
    memcpy(V, Q, sizeof *V * n * n);
    ck_assert_int_eq(blas_dsyevd(n, V, n, w, true, NULL), ST_OK);
    for (size_t i = 0; i < n; i++) { /* Z = diag(sqrt(w)) V' */
        for (size_t j = 0; j < n; j++) {
            Z[i * n + j] = sqrt(w[i]) * V[j + i * n];
            A[i * n + j] = Q[i * n + j] + (i == j ? lam2 : 0.0);
        }
        b[i] = cos(1.3 * (double)i) / 3.0;
    }
    const double bnorm = blas_dnrm2(n, b);
    for (size_t i = 0; i < n; i++)
        g[i] = -b[i] / bnorm; /* the solver's right-hand side has length 1 */
    struct fop *f = fop_dense_for_tests(Z, n, n, n, NULL, NULL);
    for (size_t step = 0; step < STEPS; step++) {
        double H[n * n] = { 0 }, T[n * n], d[n], q[n];
        const double yy = step ? blas_ddot(n, Y[step - 1], Y[step - 1]) : 1.0;
        for (size_t i = 0; i < n; i++)
            H[i * n + i] = step ? blas_ddot(n, S[step - 1], Y[step - 1]) / yy : 1.0;
        for (size_t k = 0; k < step; k++) { /* H = (I - rho s y') H (I - rho y s') + rho s s' */
            const double rho = 1.0 / blas_ddot(n, S[k], Y[k]);
            for (int side = 0; side < 2; side++) {
                for (size_t j = 0; j < n; j++) {
                    double yH = 0.0;
                    for (size_t i = 0; i < n; i++)
                        yH += Y[k][i] * H[i * n + j];
                    for (size_t i = 0; i < n; i++)
                        T[j * n + i] = H[i * n + j] - rho * S[k][i] * yH; /* and transposed */
                }
                memcpy(H, T, sizeof H);
            }
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++)
                    H[i * n + j] += rho * S[k][i] * S[k][j];
        }
        for (size_t i = 0; i < n; i++)
            d[i] = -blas_ddot(n, H + i * n, g);
        for (size_t i = 0; i < n; i++)
            q[i] = blas_ddot(n, A + i * n, d);
        const double slope = blas_ddot(n, g, d), curve = blas_ddot(n, d, q);
        const double unit = step ? 1.0 : 1.0 / blas_dnrm2(n, g);
        const bool good = unit * slope + 0.5 * unit * unit * curve <= 1e-4 * unit * slope &&
                          fabs(slope + unit * curve) <= 0.9 * fabs(slope);
        const double t = good ? unit : -slope / curve;
        unit_steps += good;
        for (size_t i = 0; i < n; i++) {
            want[i] += t * d[i] * bnorm;
            S[step][i] = t * d[i];
            Y[step][i] = t * q[i];
            g[i] += t * q[i];
        }
        const struct solve_opts o = { .rtol = 1e-14, .maxit = step + 1, .params = wolfe };
        struct solve_info info;
        ck_assert_int_eq(ops->solve(SOLVE_RIDGE(f, lam2), 1, b, x, &o, NULL, &info, NULL),
                         ST_OK);
        ck_assert_uint_eq(info.iterations, step + 1);
        for (size_t i = 0; i < n; i++)
            ck_assert_double_eq_tol(x[i], want[i], 1e-9 * blas_dnrm2(n, want));
        solve_info_free(&info);
    }
    ck_assert_uint_gt(unit_steps, 0);
    ck_assert(_i == 0 || unit_steps < STEPS);
    fop_free(f);
    free(Q), free(V);
}
END_TEST

/* The step of the rule is stable, half of it wastes no more than it must, and 3.5 times as much is
 * not (share/doc/methods.md 9.4: to about twice).  0: plain, 1: preconditioned. */
START_TEST(steps_of_the_rule_are_near_the_limit)
{
    const struct solver_ops *ops = solver_find(_i ? "psvrg" : "svrg", NULL);
    double *z = features(N, M), *b = ones(M), x[M];
    struct fop *f = fop_dense_for_tests(z, N, M, M, NULL, NULL);
    struct precond *p;
    struct solve_info info;
    const struct precond_opts po = { .rank = 16, .seed = 5 };

    ck_assert_int_eq(precond_find("srht2", NULL)->build(SOLVE_RIDGE(f, 0.0), &po, NULL, &p, NULL),
                     ST_OK);
    precond_set_noise(p, 3.0);
    for (int far = 0; far < 2; far++) {
        const double params[SOLVER_MAX_PARAMS] = {N, 1,
                                                  far ? 3.5 : 1.0}; /* all rows: 1 / eigenvalue */
        const struct solve_opts o = {
            .rtol = 1e-8, .maxit = 40, .pre = p, .seed = 1, .params = params};
        ck_assert_int_eq(ops->solve(SOLVE_RIDGE(f, 3.0), 1, b, x, &o, NULL, &info, NULL),
                         ST_OK);
        ck_assert(far ? info.halved > 0 : info.halved == 0);
        solve_info_free(&info);
    }
    precond_free(p);
    fop_free(f);
    free(z), free(b);
}
END_TEST

START_TEST(parameters_are_parsed)
{
    const struct solver_ops *ops;
    double p[SOLVER_MAX_PARAMS];
    struct err err = { 0 };

    ck_assert_int_eq(solver_parse("svrg(step=0.5,batch=256)", &ops, p, &err), ST_OK);
    ck_assert_str_eq(ops->name, "svrg");
    ck_assert(p[0] == 256 && p[1] == 0 && p[2] == 0.5);
    ck_assert_int_eq(solver_parse("pcg", &ops, p, &err), ST_OK);
    ck_assert_str_eq(ops->name, "pcg");
    ck_assert(p[0] == 0 && p[1] == 0 && p[2] == 0);
    static const struct { const char *text; enum status rc;
    } bad[] = {
        {"svrg(", ST_USAGE},          {"svrg()", ST_USAGE},          {"svrg(batch=)", ST_RANGE},
        {"svrg(batch=0)", ST_RANGE},  {"svrg(batch=1.5)", ST_RANGE}, {"svrg(x=1)", ST_NOT_FOUND},
        {"svrg(batch=3", ST_USAGE},   {"svrg(batch=3)x", ST_USAGE},  {"pcg(batch=3)", ST_NOT_FOUND},
        {"sgdm", ST_NOT_FOUND},       {"svrg(batch=nan)", ST_RANGE}, {"", ST_NOT_FOUND},
        {"svrg(batch=1,)", ST_USAGE}, {"lbfgs(wolfe=2)", ST_RANGE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(solver_parse(bad[i].text, &ops, p, &err) == bad[i].rc, "%s", bad[i].text);
}
END_TEST

/* Properties. */

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
    /* from another start, the best point on the line through 0 and it (share/doc/methods.md 9.8):
     * 1 - |e|_A^2 / |x|_A^2 = (b'x0)^2 / (x0'A x0 b'x) */
    double Ax0[P], left[P], bx0 = 0.0, xAx = 0.0;
    for (size_t i = 0; i < P; i++)
        x0[i] = (double)(i % 5) - 1.5;
    for (size_t i = 0; i < P; i++) {
        Ax0[i] = 0.0;
        for (size_t j = 0; j < P; j++)
            Ax0[i] += A[i * P + j] * x0[j];
        bx0 += b[i] * x0[i];
        xAx += x0[i] * Ax0[i];
    }
    for (size_t i = 0; i < P; i++)
        left[i] = b[i] - bx0 / xAx * Ax0[i];
    ck_assert_int_eq(cg_solve(&op, 1, b, x, &o, NULL, &info, NULL), ST_OK);
    ck_assert_double_eq_tol(info.start, blas_dnrm2(P, left) / blas_dnrm2(P, b), 1e-12);
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

/* Features rounded to float16: rtol holds for the unrounded operator, by replacements; without them
 * the residual stays where the rounding leaves it. */
START_TEST(rounded_features_are_corrected)
{
    enum { ROWS = 1500, INPUTS = 3, COLS = 256 };
    struct kernel kernel;
    struct source_array src;
    double *x = malloc(ROWS * INPUTS * sizeof *x), *y = malloc(2 * ROWS * sizeof *y);
    double hp[KERNEL_MAX_HP], b[2 * COLS], w[2 * COLS], Aw[2 * COLS];
    for (size_t i = 0; i < ROWS * INPUTS; i++)
        x[i] = rng_normal(5, rng_stream(RNG_TEST, 3), i);
    for (size_t i = 0; i < 2 * ROWS; i++)
        y[i] = sin(2.0 * x[i % ROWS * INPUTS]) + rng_normal(5, rng_stream(RNG_TEST, 4), i);
    ck_assert_int_eq(kernel_parse("matern(nu=3/2)", &kernel, hp, NULL), ST_OK);
    hp[0] = 1.5;
    source_array_init(&src, x, ROWS, INPUTS, INPUTS);
    struct featmap *fm = featmap_new(&kernel, INPUTS, COLS, 7, NULL);
    for (int half = 0; half < 2; half++) {
        const struct fop_opts o = { .precision = PREC_FLOAT, .store = true, .half = half == 1 };
        struct fop *f = fop_new(backend_cpu(), fm, &src.base, &o, NULL);
        const double lam2 = 0.05;
        struct ridge ridge = { f, lam2 };
        struct solve_info info[2];
        const struct solve_opts so = { .rtol = 1e-6, .maxit = 400 };
        ck_assert_int_eq(fop_set(f, hp, NULL), ST_OK);
        ck_assert_int_eq(fop_ztv(f, 2, y, b, NULL, NULL), ST_OK);
        ck_assert_int_eq(pcg_solver.solve(SOLVE_RIDGE(f, lam2), 2, b, w, &so, NULL, info, NULL),
                         ST_OK);
        for (size_t c = 0; c < 2; c++) {
            ck_assert_int_eq(info[c].why, OUT_RTOL);
            ck_assert_uint_eq(info[c].replaced > 0, half == 1);
            solve_info_free(&info[c]);
        }
        struct linop A = solve_ridge(&ridge);
        ck_assert_int_eq(A.exact != NULL, half);
        A.exact = NULL;
        if (half) /* the rounded operator for what it is */
            ck_assert_int_eq(cg_solve(&A, 2, b, w, &so, NULL, info, NULL), ST_OK);
        fop_unhalve(f);
        ck_assert_int_eq(fop_pass(f, 2, w, Aw, NULL, NULL), ST_OK);
        for (size_t c = 0; c < 2; c++) {
            double r2 = 0.0;
            for (size_t i = c * COLS; i < (c + 1) * COLS; i++)
                r2 += pow(b[i] - Aw[i] - lam2 * w[i], 2);
            const double rel = sqrt(r2) / blas_dnrm2(COLS, b + c * COLS);
            ck_assert_msg(half ? rel > 1e-5 : rel < 2e-6, "%d: %.3g", half, rel);
            if (half)
                solve_info_free(&info[c]);
        }
        fop_free(f);
    }
    featmap_free(fm);
    free(x), free(y);
}
END_TEST

START_TEST(direct_refuses_and_stops)
{
    double *z = features(N, M), *b = ones(M), x[M];
    struct fop *f = fop_dense_for_tests(z, N, M, M, NULL, NULL);
    const struct solver_ops *direct = solver_find("direct", NULL);
    struct solve_info info;
    struct err err = { 0 };
    const struct solve_opts o = { .rtol = 1e-6 };
    ck_assert_int_eq(direct->solve(SOLVE_RIDGE(f, -5.0), 1, b, x, &o, NULL, &info, &err),
                     ST_NOT_PD);
    ck_assert_ptr_nonnull(strstr(err.hint, "noise"));
    struct cancel stop;
    atomic_init(&stop.stop, true);
    const struct ctl ctl = { .cancel = &stop };
    ck_assert_int_eq(direct->solve(SOLVE_RIDGE(f, 1.0), 1, b, x, &o, &ctl, &info, &err), ST_OK);
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
    struct fop *f = fop_dense_for_tests(z, N, M, M, NULL, NULL);
    const struct solve_opts o = { .rtol = 1e-8, .maxit = 200 };
    for (size_t q = 0; solver_at(q); q++) {
        bool done = solver_at(q)->dual;
        for (size_t nth = 1; !done && nth < 60; nth++) {
            struct solve_info info;
            struct err err = { 0 };
            mem_fail_after_for_tests(nth);
            const enum status rc =
                solver_at(q)->solve(SOLVE_RIDGE(f, 1.0), 1, b, x, &o, NULL, &info, &err);
            mem_fail_after_for_tests(0);
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

/* The second difference has the eigenvalues 2 - 2 cos(k pi / (n + 1)); and blocks, multiples, zero.
 */
START_TEST(tridiagonal_spectra)
{
    enum { n = 300 };
    double d[n], e[n];
    for (int kind = 0; kind < 3; kind++) {
        const double scale = kind == 1 ? 1e-200 : 1e150;
        for (size_t i = 0; i < n; i++) {
            d[i] = 2.0 * scale;
            e[i] = kind == 2 ? 0.0 : -scale;
        }
        ck_assert_int_eq(ritz_tridiag(n, d, e, NULL, NULL), ST_OK);
        for (size_t k = 1; k <= n; k++) {
            const double want = kind == 2 ? 2.0 : 2.0 - 2.0 * cos((double)k * M_PI / (n + 1));
            ck_assert_double_eq_tol(d[k - 1] / scale, want, 1e-13);
        }
    }
    d[0] = 3.0, d[1] = NAN, e[0] = 1.0;
    ck_assert_int_eq(ritz_tridiag(2, d, e, NULL, NULL), ST_RANGE);
    ck_assert_int_eq(ritz_tridiag(1, d, e, NULL, NULL), ST_OK);
    ck_assert_double_eq(d[0], 3.0);
    ck_assert_int_eq(ritz_tridiag(0, d, e, NULL, NULL), ST_OK);
}
END_TEST

/* A fit that stops after tens of thousands of iterations asks for the two ends alone: their closed
 * form at 60,000, where all eigenvalues would take a minute. */
START_TEST(tridiagonal_ends)
{
    enum { n = 60000 };
    double *d = malloc(n * sizeof *d), *e = malloc(n * sizeof *e), least, most, condition;
    for (size_t i = 0; i < n; i++) {
        d[i] = 2.0;
        e[i] = -1.0;
    }
    ck_assert_int_eq(blas_tridiag_ends(n, d, e, &least, &most, NULL), ST_OK);
    ck_assert_double_eq_tol(least, 2.0 - 2.0 * cos(M_PI / (n + 1)), 1e-14);
    ck_assert_double_eq_tol(most, 2.0 + 2.0 * cos(M_PI / (n + 1)), 1e-14);
    ck_assert_int_eq(blas_tridiag_ends(1, d, e, &least, &most, NULL), ST_OK);
    ck_assert(least == 2.0 && most == 2.0);
    ck_assert_int_eq(blas_tridiag_ends(0, d, e, &least, &most, NULL), ST_OK);
    ck_assert(isnan(least) && isnan(most));
    e[0] = NAN;
    ck_assert_int_ne(blas_tridiag_ends(2, d, e, &least, &most, NULL), ST_OK);
    ck_assert(isnan(least) && isnan(most));
    /* As coefficients: alpha = 1/2 throughout makes the diagonal 2 + 2 beta. */
    struct solve_info in = { .alpha = d, .beta = e, .nhist = n };
    for (size_t i = 0; i < n; i++) {
        d[i] = 0.5;
        e[i] = 0.25;
    }
    size_t count;
    double *theta = malloc(RITZ_MOST * sizeof *theta);
    ck_assert_int_eq(ritz_values(&in, theta, &count, NULL), ST_OK);
    ck_assert_uint_eq(count, RITZ_MOST);
    ck_assert_int_eq(ritz_condition(&in, &condition, &least, &most, NULL), ST_OK);
    ck_assert_double_gt(condition, 1.0);
    ck_assert(least <= theta[0] && most >= theta[RITZ_MOST - 1]); /* of all steps, not the first */
    free(theta), free(d), free(e);
}
END_TEST

START_TEST(outcomes_have_names)
{
    ck_assert_str_eq(solve_outcome(OUT_RTOL), "rtol");
    ck_assert_str_eq(solve_outcome(OUT_DIRECT), "direct");
    ck_assert_str_eq(solve_outcome(OUT_MAXIT), "maxit");
    ck_assert_str_eq(solve_outcome(OUT_CANCELLED), "cancelled");
    ck_assert_str_eq(solve_outcome(OUT_BREAKDOWN), "breakdown");
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
    tcase_add_test(t, rounded_features_are_corrected);
    tcase_add_test(t, direct_refuses_and_stops);
    tcase_add_test(t, out_of_memory);
    tcase_add_test(t, outcomes_have_names);
    tcase_add_test(t, tridiagonal_spectra);
    tcase_add_test(t, tridiagonal_ends);
    tcase_add_test(t, batches_cover_the_rows);
    tcase_add_loop_test(t, divergence_is_mended, 0, 4);
    tcase_add_loop_test(t, gradient_methods_stop, 0, 5);
    tcase_add_test(t, lbfgs_is_cg_with_exact_steps);
    tcase_add_loop_test(t, wolfe_steps_are_those_of_bfgs, 0, 3);
    tcase_add_loop_test(t, steps_of_the_rule_are_near_the_limit, 0, 2);
    tcase_add_test(t, parameters_are_parsed);
    if (support_shared("golden/opt_Z.csv")) {
        tcase_add_loop_test(t, golden_svrg, 0, 2);
        tcase_add_loop_test(t, golden_moments, 0, 2);
        tcase_add_test(t, golden_optimum);
    }
    if (support_shared("golden/cg_A.csv")) {
        tcase_add_test(t, golden_cg);
        tcase_add_test(t, golden_history);
    }
    suite_add_tcase(s, t);
    return support_run(s);
}
