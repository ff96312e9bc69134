/* tests/compute/check_dual.c -- descents in dual variables: golden traces, Algorithm 1 written
 * densely, generated spectra, divergence, stops, averages. */
#include "base/mem.h"
#include "compute/kernels/kernel.h"
#include "compute/linalg/blas.h"
#include "compute/pool.h"
#include "compute/solvers/dual.h"
#include "compute/solvers/solver.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A = G + lam2 I with a dense G; the indices of all batches are recorded. */
struct dense {
    size_t n, m, drawn, room;
    double *G, lam2;
    size_t *seen;
    const double *F; /* n x nf, row-major: the features of the regulariser */
    size_t nf;
    struct pool *pool;
};

static enum status times(struct dense *d, double lam2, size_t k, const double *X, double *Y)
{
    for (size_t c = 0; c < k; c++) {
        blas_dsymv1(true, d->n, d->G, d->n, X + c * d->n, Y + c * d->n);
        blas_daxpy(d->n, lam2, X + c * d->n, Y + c * d->n);
    }
    return ST_OK;
}

static enum status dense_apply(void *ctx, size_t k, const double *X, double *Y,
                               const struct ctl *ctl, struct err *err)
{
    struct dense *d = ctx;
    (void)err;
    return ctl_stopped(ctl) ? ST_CANCELLED : times(d, d->lam2, k, X, Y);
}

static enum status dense_rows(void *ctx, size_t m, const size_t *at, size_t k, const double *X,
                              double *W, const struct ctl *ctl, struct err *err)
{
    struct dense *d = ctx;
    (void)ctl, (void)err;
    for (size_t j = 0; j < m; j++) {
        if (d->seen && d->drawn < d->room)
            d->seen[d->drawn++] = at[j];
        for (size_t c = 0; c < k; c++)
            W[c * m + j] = blas_ddot(d->n, d->G + at[j] * d->n, X + c * d->n);
    }
    return ST_OK;
}

static enum status dense_columns(void *ctx, size_t m, const size_t *at, double *C,
                                 const struct ctl *ctl, struct err *err)
{
    struct dense *d = ctx;
    (void)ctl, (void)err;
    for (size_t j = 0; j < m; j++)
        memcpy(C + j * d->n, d->G + at[j] * d->n, d->n * sizeof *C);
    return ST_OK;
}

static enum status dense_block(void *ctx, size_t m, const size_t *at, double *C,
                               const struct ctl *ctl, struct err *err)
{
    const struct dense *d = ctx;
    (void)ctl, (void)err;
    for (size_t j = 0; j < m * m; j++)
        C[j] = d->G[at[j / m] * d->n + at[j % m]];
    return ST_OK;
}

static enum status dense_diagonal(void *ctx, double *diag, const struct ctl *ctl, struct err *err)
{
    const struct dense *d = ctx;
    (void)ctl, (void)err;
    for (size_t i = 0; i < d->n; i++)
        diag[i] = d->G[i * d->n + i];
    return ST_OK;
}

static enum status dense_sketch(void *ctx, size_t m, uint64_t draw, size_t k, const double *X,
                                double *Y, const struct ctl *ctl, struct err *err)
{
    const struct dense *d = ctx;
    double t[64];
    (void)m, (void)draw, (void)ctl, (void)err;
    for (size_t c = 0; c < k; c++) { /* row-major F is column-major F' */
        blas_dgemm1(false, false, d->nf, 1, d->n, 1.0, d->F, d->nf, X + c * d->n, d->n, 0.0, t,
                    d->nf);
        blas_dgemm1(true, false, d->n, 1, d->nf, 1.0, d->F, d->nf, t, d->nf, 0.0, Y + c * d->n,
                    d->n);
    }
    return ST_OK;
}

static struct linop linop(struct dense *d)
{
    return (struct linop){ .n = d->n, .apply = dense_apply, .ctx = d, .lam2 = d->lam2,
                           .rows = dense_rows, .columns = dense_columns, .pool = d->pool,
                           .block = dense_block, .diagonal = dense_diagonal,
                           .sketch = d->F ? dense_sketch : NULL };
}

/* G = Q diag(w) Q' with a random Q. */
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

/* A Matern 3/2 kernel of n points on a line, with repeated ones. */
static double *on_a_line(size_t n, double l)
{
    double *G = malloc(sizeof *G * n * n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const double r = sqrt(3.0) * fabs(floor((double)i * 0.8) - floor((double)j * 0.8)) / l;
            G[i + j * n] = (1.0 + r) * exp(-r);
        }
    return G;
}

static double *waves(size_t n, size_t k)
{
    double *b = malloc(sizeof *b * n * k);
    for (size_t i = 0; i < n * k; i++)
        b[i] = sin(0.01 * (double)(i % n) * (1.0 + (double)(i / n))) + 0.1 * cos((double)(i * i));
    return b;
}

/* |A^-1 b - x|_A over |A^-1 b|_A. */
static double error_of(const struct dense *d, const double *b, const double *x)
{
    const size_t n = d->n;
    double *L = malloc(sizeof *L * n * n), *a = malloc(2 * sizeof *a * n), *e = a + n;
    memcpy(L, d->G, sizeof *L * n * n);
    for (size_t i = 0; i < n; i++)
        L[i + i * n] += d->lam2;
    memcpy(a, b, n * sizeof *a);
    ck_assert_int_eq(blas_dpotrf(NULL, n, L, n, NULL, NULL, NULL), ST_OK);
    ck_assert_int_eq(blas_dtrsm(NULL, false, n, 1, L, n, a, n, NULL), ST_OK);
    ck_assert_int_eq(blas_dtrsm(NULL, true, n, 1, L, n, a, n, NULL), ST_OK);
    const double all = blas_ddot(n, a, b);
    for (size_t i = 0; i < n; i++)
        a[i] -= x[i];
    ck_assert_int_eq(times((struct dense *)d, d->lam2, 1, a, e), ST_OK);
    const double left = sqrt(fmax(0.0, blas_ddot(n, a, e)) / all);
    free(L), free(a);
    return left;
}

/* Stops at a step. */
struct heard {
    size_t stop_at, n;
    double value, value2;
    struct cancel cancel;
};

static void hear(void *ctx, const struct tick *t)
{
    struct heard *h = ctx;
    h->n++;
    h->value = t->value;
    if (!isnan(t->value2))
        h->value2 = t->value2;
    if (h->stop_at && t->done == h->stop_at)
        atomic_store(&h->cancel.stop, true);
}

/* The caller frees the result. */
static struct solve_info solve_kept(const char *text, struct dense *d, size_t k, const double *b,
                                    double *x, struct solve_opts o, struct heard *h)
{
    const struct solver_ops *ops;
    double params[SOLVER_MAX_PARAMS];
    struct solve_info info[8];
    struct err err = { 0 };
    const struct linop A = linop(d);
    const struct ctl ctl = { .cancel = h ? &h->cancel : NULL, .tick = h ? hear : NULL, .ctx = h };

    ck_assert_msg(solver_parse(text, &ops, params, &err) == ST_OK, "%s: %s", text, err.msg);
    o.params = params;
    ck_assert_msg(ops->solve(&A, k, b, x, &o, &ctl, info, &err) == ST_OK, "%s: %s", text, err.msg);
    for (size_t c = 1; c < k; c++)
        solve_info_free(&info[c]);
    return info[0];
}

static struct solve_info solve(const char *text, struct dense *d, size_t k, const double *b,
                               double *x, struct solve_opts o, struct heard *h)
{
    struct solve_info in = solve_kept(text, d, k, b, x, o, h);
    solve_info_free(&in);
    return in;
}

/* The golden traces of G.1 and G.2: given batches, n beta, momentum 0.9, r = 100 / 400. */

struct golden { struct dense d; double *b, *trace; size_t batch, rows, *at; };

static struct golden golden_new(const char *trace)
{
    struct golden g = { .d = { .lam2 = 0.1 } };
    size_t n, c, r, steps;
    double *batches = support_golden("sdd_batches", &steps, &g.batch);

    g.d.G = support_golden("sdd_K", &g.d.n, &c);
    g.b = support_golden("sdd_b", &n, &c);
    g.trace = support_golden(trace, &r, &c);
    ck_assert_uint_eq(c, g.d.n);
    g.rows = r;
    g.at = malloc(steps * g.batch * sizeof *g.at);
    for (size_t i = 0; i < steps * g.batch; i++)
        g.at[i] = (size_t)batches[i];
    free(batches);
    return g;
}

static void golden_free(struct golden *g)
{
    free(g->d.G), free(g->b), free(g->trace), free(g->at);
}

static void check_trace(struct golden *g, const char *solver, double n_beta, const size_t *steps)
{
    const struct solve_opts o = { .rtol = 1e-12, .maxit = 400 };
    double x[64], limit;
    char text[SOLVER_TEXT_MAX];

    snprintf(text, sizeof text, "%s(batch=%zu)", solver, g->batch);
    struct heard once = { .stop_at = 1 };
    limit = solve(text, &g->d, 1, g->b, x, o, &once).step_limit;
    for (size_t r = 0; r < g->rows; r++) {
        const size_t t = steps[r / 2];
        struct heard h = { .stop_at = t };
        snprintf(text, sizeof text, "%s(batch=%zu,step=%.17g,average=%s)", solver, g->batch,
                 n_beta / limit, r % 2 ? "geometric" : "none");
        dual_draws_for_tests(g->at);
        const struct solve_info in = solve(text, &g->d, 1, g->b, x, o, &h);
        dual_draws_for_tests(NULL);
        ck_assert_uint_eq(in.iterations, t);
        ck_assert_uint_eq(in.halved, 0);
        ck_assert_double_eq_tol(in.step, n_beta, 1e-12);
        const double sum = r % 2 ? 1.0 - pow(0.75, (double)t) : 1.0; /* its average begins at 0 */
        for (size_t i = 0; i < g->d.n; i++)
            ck_assert_double_eq_tol(sum * x[i], g->trace[r * g->d.n + i],
                                    1e-10 * (1.0 + fabs(g->trace[r * g->d.n + i])));
    }
}

/* The matrix of the traces is that of its inputs: the Matern 3/2 kernel, lengthscale 1. */
START_TEST(golden_kernel)
{
    struct kernel k;
    double hp[KERNEL_MAX_HP];
    size_t n, d, m, c;
    double *X = support_golden("sdd_X", &n, &d), *K = support_golden("sdd_K", &m, &c);

    ck_assert_int_eq(kernel_parse("matern(nu=3/2,l=1)", &k, hp, NULL), ST_OK);
    ck_assert_uint_eq(n, m);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            ck_assert_double_eq_tol(kernel_exact(&k, hp, d, X + i * d, X + j * d, NULL),
                                    K[i * n + j], 1e-12);
    free(X);
    free(K);
}
END_TEST

START_TEST(golden_sdd)
{
    static const size_t steps[] = { 1, 2, 3, 10, 50, 400 };
    struct golden g = golden_new("sdd_trace");

    ck_assert_uint_eq(g.rows, 12);
    check_trace(&g, "sdd", 0.5, steps);
    size_t repeated = 0; /* the batches have indices twice, so that adding them up is tested */
    for (size_t j = 1; j < g.batch; j++)
        repeated += g.at[j] == g.at[j - 1];
    ck_assert_uint_gt(repeated, 0);
    size_t n, c;
    double *want = support_golden("sdd_alpha_star", &n, &c), x[64];
    const struct solve_opts exact = { .rtol = 1e-13, .maxit = 20000 };
    ck_assert_int_eq(solve("gd", &g.d, 1, g.b, x, exact, NULL).why, OUT_RTOL);
    for (size_t i = 0; i < n; i++)
        ck_assert_double_eq_tol(x[i], want[i], 1e-10 * (1.0 + fabs(want[i])));
    free(want);
    golden_free(&g);
}
END_TEST

START_TEST(golden_sgd)
{
    static const size_t steps[] = { 1, 2, 10, 60 };
    struct golden g = golden_new("sgd_trace");
    size_t n;

    double *F = support_golden("sgd_features", &n, &g.d.nf);
    g.d.F = F;
    ck_assert_uint_eq(g.rows, 8);
    check_trace(&g, "sgd", 0.02, steps);
    free(F);
    golden_free(&g);
}
END_TEST

/* Algorithm 1 as it is printed, with dense vectors, on the batches that the solver has drawn; for
 * the first steps the average is that of a descent of only so many. */
static void printed(const struct dense *d, size_t batch, double n_beta, double rho, size_t first,
                    size_t T, const double *b, double *average)
{
    const size_t n = d->n;
    double *v = calloc(4 * n, sizeof *v), *a = v + n, *u = a + n, *g = u + n, sum = 0.0;

    memset(average, 0, n * sizeof *average);
    for (size_t t = 0; t < T; t++) {
        const double r = fmin(1.0, 100.0 / (double)(t < first ? first : T));
        memset(g, 0, n * sizeof *g);
        for (size_t i = 0; i < n; i++)
            u[i] = a[i] + rho * v[i];
        for (size_t j = 0; j < batch; j++) {
            const size_t i = d->seen[t * batch + j];
            g[i] += (double)n / (double)batch *
                    (blas_ddot(n, d->G + i * n, u) + d->lam2 * u[i] - b[i]);
        }
        for (size_t i = 0; i < n; i++) {
            v[i] = rho * v[i] - n_beta / (double)n * g[i];
            a[i] += v[i];
            average[i] = r * a[i] + (1.0 - r) * average[i];
        }
        sum = r + (1.0 - r) * sum;
    }
    for (size_t i = 0; i < n; i++)
        average[i] /= sum;
    free(v);
}

/* 1000 steps: the weights 1 - r of the average and the momentum are the same number. */
START_TEST(lazy_form_is_algorithm_1)
{
    static const struct { size_t steps; double rho; } cases[] = {
        { 50, 0.9 }, { 137, 0.9 }, { 1000, 0.9 }, { 3000, 0.5 }, { 700, 0.0 },
    };
    enum { N = 200, B = 8, K = 3 };
    const double rho = cases[_i].rho;
    const size_t T = cases[_i].steps, room = B * T;
    struct dense d = { .n = N, .G = on_a_line(N, 9.0), .lam2 = 0.05, .room = room };
    double *b = waves(N, K), *x = malloc(sizeof *x * K * N), want[N];
    char text[SOLVER_TEXT_MAX];

    d.seen = malloc(room * sizeof *d.seen);
    snprintf(text, sizeof text, "sdd(batch=%d,momentum=%g,step=0.5)", B, rho);
    const struct solve_info in =
        solve(text, &d, K, b, x, (struct solve_opts){ .maxit = T, .seed = 3 }, NULL);
    ck_assert_uint_eq(in.iterations, T);
    ck_assert_uint_eq(in.halved, 0);
    ck_assert_uint_eq(in.batch, B);
    ck_assert_uint_eq(d.drawn, room);
    for (size_t c = 0; c < K; c++) {
        double most = 0.0;
        printed(&d, B, in.step, rho, T, T, b + c * N, want);
        for (size_t i = 0; i < N; i++)
            most = fmax(most, fabs(want[i]));
        for (size_t i = 0; i < N; i++)
            ck_assert_double_eq_tol(x[c * N + i], want[i], 1e-12 * most);
    }
    free(d.G), free(d.seen), free(b), free(x);
}
END_TEST

/* K and the noise four times as large, as for amplitude 2: the weights are a quarter, bit for bit,
 * and so is the step. */
START_TEST(amplitude_scales_the_step)
{
    enum { N = 300 };
    struct dense d = { .n = N, .G = on_a_line(N, 20.0), .lam2 = 0.01 };
    double *b = waves(N, 1), x[N], y[N];
    const struct solve_opts o = { .maxit = 500, .seed = 1 };

    const struct solve_info one = solve("sdd(batch=32)", &d, 1, b, x, o, NULL);
    for (size_t i = 0; i < N * N; i++)
        d.G[i] *= 4.0;
    d.lam2 *= 4.0;
    const struct solve_info two = solve("sdd(batch=32)", &d, 1, b, y, o, NULL);
    for (size_t i = 0; i < N; i++)
        ck_assert_double_eq(x[i], 4.0 * y[i]);
    ck_assert_double_eq(one.step, 4.0 * two.step);
    ck_assert_double_eq_tol(one.step, 0.8 * one.step_limit, 1e-12 * one.step);
    free(d.G), free(b);
}
END_TEST

/* Spectra with diagonals near 1 whose largest eigenvalue over n is from 0.005 to 0.9: the step of
 * the rule never has to be halved, three times the limit ends well all the same. */
START_TEST(step_of_the_rule)
{
    static const double share[] = { 0.005, 0.02, 0.1, 0.3, 0.6, 0.9 };
    enum { N = 400 };
    const double top = share[_i] * N;
    double w[N], x[N], sum = 0.0;

    for (size_t j = 1; j < N; j++)
        sum += w[j] = share[_i] < 0.01 ? 1.0 : pow((double)j, -1.5);
    w[0] = top;
    for (size_t j = 1; j < N; j++)
        w[j] = fmin(top, w[j] * (N - top) / sum);
    struct dense d = { .n = N, .G = with_spectrum(N, w, 7), .lam2 = 0.05 };
    double *b = waves(N, 1);
    for (int far = 0; far < 2; far++) {
        const struct solve_info in =
            solve(far ? "sdd(batch=200,step=3)" : "sdd(batch=200)", &d, 1, b, x,
                  (struct solve_opts){ .maxit = 3000, .seed = 11 }, NULL);
        ck_assert_double_eq_tol(in.lambda1, share[_i], 0.05 * share[_i]);
        ck_assert_msg(far ? in.halved >= 1 : in.halved == 0, "%g: %zu", share[_i], in.halved);
        const double error = error_of(&d, b, x);
        ck_assert_msg(error < 0.2, "%g: %g", share[_i], error);
    }
    free(d.G), free(b);
}
END_TEST

/* Momentum of the rule (9.15), by hand: 0.9 where a batch's error is as large as the largest
 * eigenvalue or steps are few, 0.99 where it is far below; then directions of small eigenvalues get
 * further in as many steps, and an unbroken run has the bits of one that goes on. */
START_TEST(momentum_of_the_rule)
{
    enum { N = 400, B = 200, STEPS = 2000 };
    double w[N], x[N];

    for (size_t j = 0; j < N; j++) /* diagonal entries 1.00, lambda1 = 0.3 n */
        w[j] = j == 0 ? 120.0 : 280.0 / 399.0;
    struct dense flat = { .n = N, .G = with_spectrum(N, w, 7), .lam2 = 0.05 };
    double *b = waves(N, 1);
    const struct solve_opts few = { .maxit = 50, .seed = 3 }, all = { .maxit = STEPS, .seed = 3 };
    struct solve_info in = solve("sdd(batch=200)", &flat, 1, b, x, few, NULL);
    ck_assert_double_eq_tol(in.momentum, 0.9, 1e-12); /* fmax(0.9, 1 - 10 / 50) */
    in = solve("sdd(batch=200)", &flat, 1, b, x, all, NULL);
    double most = 0.0;
    for (size_t i = 0; i < N; i++)
        most = fmax(most, flat.G[i * N + i]);
    const double brake = N * (most + 0.05) / B / (1.5 * (120.0 + 0.05));
    ck_assert_double_eq_tol(in.momentum, 1.0 - fmax(brake, 0.01), 1e-4);
    ck_assert(in.momentum > 0.91 && in.halved == 0);
    free(flat.G);

    struct dense d = { .n = N, .G = on_a_line(N, 40.0), .lam2 = 1e-2 };
    solve("sdd(batch=200,momentum=0.9)", &d, 1, b, x, all, NULL);
    const double before = error_of(&d, b, x);
    in = solve("sdd(batch=200)", &d, 1, b, x, all, NULL);
    const double after = error_of(&d, b, x);
    ck_assert_msg(in.momentum >= 0.98 && after < 0.5 * before, "%g: %g, with 0.9 %g", in.momentum,
                  after, before);
    free(d.G), free(b);
}
END_TEST

/* The average of a path that stands still is where it stands, however few its steps. */
START_TEST(average_has_no_bias)
{
    enum { N = 700, K = 2 };
    double X[K * N], Y[K * N];
    struct dual_path p = { .n = N, .k = K, .rho = 0.9, .r = 0.005, .average = DUAL_GEOMETRIC + _i,
                           .from = _i == 1 ? 3 : 0 };

    for (size_t i = 0; i < K * N; i++)
        X[i] = cos((double)i);
    ck_assert_int_eq(dual_path_new(&p, NULL), ST_OK);
    dual_path_start(&p, X);
    const size_t at[2] = { 5, 699 };
    const double still[2 * K] = { 0 };
    for (size_t t = 1; t <= 300; t++) {
        dual_path_step(&p, 2, at, 0.1, still);
        dual_path_result(&p, Y);
        for (size_t i = 0; i < K * N; i++)
            ck_assert_double_eq_tol(Y[i], X[i], 1e-13);
        dual_path_ahead(&p, Y);
        for (size_t i = 0; i < K * N; i++)
            ck_assert_double_eq_tol(Y[i], X[i], 1e-15);
    }
    dual_path_free(&p);
}
END_TEST

/* A stop leaves the average over the steps made, which is finite and better than no weights. */
START_TEST(stop_leaves_the_average)
{
    enum { N = 300 };
    struct dense d = { .n = N, .G = on_a_line(N, 20.0), .lam2 = 0.1 };
    double *b = waves(N, 1), x[N], late[N];
    struct heard h = { .stop_at = 60 }, first = { .stop_at = 1 };
    const struct solve_opts o = { .rtol = 1e-14, .maxit = 900, .seed = 5 };

    struct solve_info in = solve("sdd(batch=64)", &d, 1, b, x, o, &h);
    ck_assert_int_eq(in.why, OUT_CANCELLED);
    ck_assert_uint_eq(in.iterations, 60);
    ck_assert(isfinite(in.residual) && isnan(in.true_residual));
    for (size_t i = 0; i < N; i++)
        ck_assert(isfinite(x[i]));
    const double early = error_of(&d, b, x);
    in = solve("sdd(batch=64)", &d, 1, b, late, o, NULL);
    ck_assert_int_eq(in.why, OUT_MAXIT);
    ck_assert_double_lt(early, 0.7);
    ck_assert_double_lt(error_of(&d, b, late), early);
    in = solve("sdd(batch=64)", &d, 1, b, x, o, &first);
    ck_assert_uint_eq(in.iterations, 1);
    for (size_t i = 0; i < N; i++)
        ck_assert(isfinite(x[i]));
    free(d.G), free(b);
}
END_TEST

/* Goes on from a given start, which is scaled to the best point on its line. */
START_TEST(warm_start)
{
    enum { N = 300 };
    struct dense d = { .n = N, .G = on_a_line(N, 20.0), .lam2 = 0.1 };
    double *b = waves(N, 1), x[N], y[N], half[N];

    solve("sdd(batch=64)", &d, 1, b, x, (struct solve_opts){ .maxit = 900, .seed = 5 }, NULL);
    for (size_t i = 0; i < N; i++)
        half[i] = 0.5 * x[i];
    const struct solve_info in =
        solve("sdd(batch=64)", &d, 1, b, y,
              (struct solve_opts){ .maxit = 900, .seed = 6, .x0 = half }, NULL);
    ck_assert_double_lt(in.start, 0.5);
    ck_assert_double_lt(error_of(&d, b, y), error_of(&d, b, x));
    free(d.G), free(b);
}
END_TEST

/* The tolerance ends it, on the true residual; estimates of batches are near that. */
START_TEST(tolerance_ends_it)
{
    static const char *const solvers[] = { "sdd(batch=32)", "gd", "sdd(batch=1000,momentum=0)",
                                           "sdd(batch=32,average=none)" };
    enum { N = 200, K = 3 };
    struct dense d = { .n = N, .G = on_a_line(N, 5.0), .lam2 = 1.0 };
    double *b = waves(N, K), x[K * N], r[N];
    struct heard h = { 0 };

    memset(b + N, 0, N * sizeof *b); /* its solution is 0 */
    const struct solve_info in = solve(solvers[_i], &d, K, b, x,
                                       (struct solve_opts){ .rtol = 1e-3, .maxit = 20000 }, &h);
    ck_assert_int_eq(in.why, OUT_RTOL);
    ck_assert_double_le(in.true_residual, 1e-3);
    ck_assert_uint_lt(in.iterations, 20000);
    ck_assert_double_eq(h.value2 <= 1e-3, 1);
    ck_assert_double_lt(h.value, 0.1);
    times(&d, d.lam2, 1, x, r);
    blas_daxpy(N, -1.0, b, r);
    ck_assert_double_eq_tol(blas_dnrm2(N, r) / blas_dnrm2(N, b), in.true_residual, 1e-12);
    for (size_t i = N; i < 2 * N; i++)
        ck_assert_double_eq(x[i], 0.0);
    ck_assert_uint_le(in.batch, N);
    free(d.G), free(b);
}
END_TEST

/* Full gradients: the limit of the rule is one, for both objectives; the dual one needs far fewer
 * products. */
START_TEST(limits_of_full_gradients)
{
    enum { N = 200 };
    static const char *const dual[] = { "gd(step=0.98)", "gd(step=1.1)",
                                        "gd(momentum=0,step=1.1)" };
    static const char *const primal[] = { "gd(objective=primal,step=0.98)",
                                          "gd(objective=primal,step=1.1)",
                                          "gd(objective=primal,momentum=0,step=1.1)" };
    struct dense d = { .n = N, .G = on_a_line(N, 10.0), .lam2 = 0.1 };
    double *b = waves(N, 1), x[N], y[N];
    const struct solve_opts o = { .maxit = 1000, .rtol = 1e-12, .seed = 2 };

    for (int i = 0; i < 3; i++) {
        const struct solve_info a = solve(dual[i], &d, 1, b, x, o, NULL);
        const struct solve_info p = solve(primal[i], &d, 1, b, y, o, NULL);
        ck_assert_msg(i ? a.halved && p.halved : !a.halved && !p.halved, "%d: %zu, %zu", i,
                      a.halved, p.halved);
        ck_assert_double_lt(error_of(&d, b, x), error_of(&d, b, y));
        ck_assert_double_lt(error_of(&d, b, x), 0.05);
    }
    free(d.G), free(b);
}
END_TEST

/* Blocks, each solved exactly.  One block of all rows is the solution.  An epoch is Gauss-Seidel:
 * here by plain loops over single rows, whose order the system has seen.  In as many passes it gets
 * a hundred times as near as a gradient where small eigenvalues matter, and rows that are there
 * twice beside no noise do not stop it. */
START_TEST(blocks_are_solved)
{
    enum { N = 400, EPOCHS = 3 };
    struct dense d = { .n = N, .G = on_a_line(N, 40.0), .lam2 = 1e-2, .room = EPOCHS * N };
    double *b = waves(N, 2), *x = malloc(2 * sizeof *x * N), want[N] = { 0 };

    solve("blocks(batch=400)", &d, 2, b, x, (struct solve_opts){ .maxit = 1, .seed = 3 }, NULL);
    ck_assert_double_le(error_of(&d, b, x), 1e-10);

    d.seen = malloc(d.room * sizeof *d.seen);
    solve("blocks(batch=1,momentum=0)", &d, 1, b, x,
          (struct solve_opts){ .maxit = EPOCHS * N, .seed = 3, .rtol = 1e-12 }, NULL);
    ck_assert_uint_eq(d.drawn, d.room);
    bool met[EPOCHS][N] = { { false } };
    for (size_t t = 0; t < d.room; t++) {
        const size_t i = d.seen[t];
        ck_assert(!met[t / N][i]); /* each row once an epoch */
        met[t / N][i] = true;
        want[i] += (b[i] - d.lam2 * want[i] - blas_ddot(N, d.G + i * N, want)) /
                   (d.G[i + i * N] + d.lam2);
    }
    for (size_t i = 0; i < N; i++)
        ck_assert_double_eq_tol(x[i], want[i], 1e-9 * blas_dnrm2(N, want));
    free(d.seen);
    d.seen = NULL;

    const struct solve_opts o = { .maxit = 300, .seed = 5, .rtol = 1e-9 };
    solve("sdd(batch=40)", &d, 1, b, x, o, NULL);
    const double gradient = error_of(&d, b, x);
    struct solve_info in = solve("blocks(batch=40)", &d, 1, b, x, o, NULL);
    ck_assert_msg(error_of(&d, b, x) < 0.01 * gradient, "%g, by gradients %g", error_of(&d, b, x),
                  gradient);
    ck_assert(in.halved == 0 && in.step_limit == 0.0 && in.batch == 40);
    d.lam2 = 1e-13;
    in = solve("blocks(batch=40)", &d, 1, b, x, o, NULL);
    ck_assert(in.why == OUT_MAXIT && in.halved == 0);
    free(d.G), free(b), free(x);
}
END_TEST

/* Accelerated blocks of one row: the three sequences of Tu et al. (2017) by plain loops over the
 * rows that the system has seen, with nu the number of blocks and mu = 5 / nu^2.  In larger blocks
 * they come nearer than plain ones. */
START_TEST(blocks_are_accelerated)
{
    enum { N = 60, EPOCHS = 4, MORE = 400 };
    struct dense d = { .n = N, .G = on_a_line(N, 6.0), .lam2 = 1e-2, .room = EPOCHS * N };
    double *b = waves(N, 1), x[N], w[N] = { 0 }, v[N] = { 0 }, z[N];
    const double nu = N, mu = 5.0 / (nu * nu);
    const double fade = 1.0 - sqrt(mu / nu), gain = 1.0 / sqrt(mu * nu);

    d.seen = malloc(d.room * sizeof *d.seen);
    solve("blocks(batch=1)", &d, 1, b, x,
          (struct solve_opts){ .maxit = EPOCHS * N, .seed = 3, .rtol = 1e-12 }, NULL);
    ck_assert_uint_eq(d.drawn, d.room);
    for (size_t t = 0; t < d.room; t++) {
        const size_t i = d.seen[t];
        for (size_t j = 0; j < N; j++)
            z[j] = (v[j] + gain * nu * w[j]) / (1.0 + gain * nu);
        const double step = (blas_ddot(N, d.G + i * N, z) + d.lam2 * z[i] - b[i]) /
                            (d.G[i + i * N] + d.lam2);
        for (size_t j = 0; j < N; j++) {
            v[j] = fade * v[j] + (1.0 - fade) * z[j];
            w[j] = z[j];
        }
        w[i] -= step;
        v[i] -= gain * step;
    }
    for (size_t i = 0; i < N; i++)
        ck_assert_double_eq_tol(x[i], w[i], 1e-9 * blas_dnrm2(N, w));
    free(d.G), free(d.seen), free(b);

    struct dense big = { .n = MORE, .G = on_a_line(MORE, 10.0), .lam2 = 1e-2 };
    double *c = waves(MORE, 1), *y = malloc(sizeof *y * MORE);
    const struct solve_opts o = { .maxit = 100 * 40, .seed = 5, .rtol = 1e-12 };
    solve("blocks(batch=10,momentum=0)", &big, 1, c, y, o, NULL);
    const double plain = error_of(&big, c, y);
    const struct solve_info in = solve("blocks(batch=10)", &big, 1, c, y, o, NULL);
    ck_assert_msg(error_of(&big, c, y) < 0.5 * plain, "%g, plain %g", error_of(&big, c, y), plain);
    ck_assert_uint_eq(in.halved, 0);
    free(big.G), free(c), free(y);
}
END_TEST

START_TEST(same_bits_for_any_thread_count)
{
    static const char *const solvers[] = { "sdd(batch=64)", "gd", "sgd(batch=16)",
                                           "sdd(batch=64,average=arithmetic)",
                                           "blocks(batch=64)", "blocks(batch=300)" };
    enum { N = 1300, K = 3 };
    struct dense d = { .n = N, .G = on_a_line(N, 30.0), .lam2 = 0.1 };
    double *b = waves(N, K), *x = malloc(2 * sizeof *x * K * N), *F = calloc(N, sizeof *F);

    d.F = F;
    d.nf = 1;
    for (size_t t = 1; t <= 3; t++) {
        d.pool = pool_new(t, NULL);
        solve(solvers[_i], &d, K, b, x + (t > 1) * K * N,
              (struct solve_opts){ .maxit = 30, .seed = 4 }, NULL);
        if (t > 1)
            ck_assert_int_eq(memcmp(x, x + K * N, K * N * sizeof *x), 0);
        pool_free(d.pool);
    }
    free(d.G), free(b), free(x), free(F);
}
END_TEST

/* A descent that is stopped twice and goes on, on other numbers of threads, ends with the bits of
 * one that is not. */
START_TEST(continued_is_unbroken)
{
    static const char *const solvers[] = {
        "sdd(batch=64)", "sdd(batch=64,average=arithmetic)", "sdd(batch=64,average=none)",
        "sdd(batch=64,step=6)", "gd", "gd(objective=primal)", "sgd(batch=16)",
        "blocks(batch=64,momentum=0.5)", "blocks(batch=40)",
    };
    enum { N = 600, K = 2, STEPS = 300 };
    static const size_t stops[] = { 37, 190, 0 };
    struct dense d = { .n = N, .G = on_a_line(N, 30.0), .lam2 = 0.1 };
    double *b = waves(N, K), *F = calloc(N, sizeof *F), *state = NULL;
    static double x[K * N], y[K * N];
    const struct solve_opts all = { .maxit = STEPS, .seed = 4, .rtol = 1e-9 };
    struct solve_info part;

    d.F = F;
    d.nf = 1;
    struct solve_info whole = solve_kept(solvers[_i], &d, K, b, x, all, NULL);
    ck_assert_ptr_nonnull(whole.state);
    size_t nstate = 0, made = 0;
    for (size_t s = 0; s < 3; s++) {
        struct heard h = { .stop_at = stops[s] };
        struct solve_opts o = all;
        o.state = state;
        o.nstate = nstate;
        o.maxit = made ? 0 : STEPS;
        d.pool = pool_new(s + 1, NULL);
        part = solve_kept(solvers[_i], &d, K, b, y, o, &h);
        pool_free(d.pool);
        free(state);
        state = part.state;
        nstate = part.nstate;
        ck_assert_uint_eq(part.resumed, made);
        made += part.iterations;
        ck_assert_int_eq(part.why, s < 2 ? OUT_CANCELLED : OUT_MAXIT);
    }
    ck_assert_uint_eq(made, STEPS);
    ck_assert_uint_eq(part.halved, whole.halved);
    ck_assert(strstr(solvers[_i], "step=6") == NULL || whole.halved > 0);
    ck_assert_uint_eq(nstate, whole.nstate);
    ck_assert_int_eq(memcmp(x, y, sizeof x), 0);
    ck_assert_int_eq(memcmp(state, whole.state, nstate * sizeof *state), 0);
    free(state);
    solve_info_free(&whole);
    free(d.G), free(b), free(F);
}
END_TEST

/* After its last step a descent takes as many more as it is asked for: the iterate is that of one
 * descent, and the average one with the weights of the longer descent from there on. */
START_TEST(more_steps)
{
    enum { N = 200, B = 8, FIRST = 150, T = 400 };
    struct dense d = { .n = N, .G = on_a_line(N, 9.0), .lam2 = 0.05, .room = B * T };
    double *b = waves(N, 1), x[N], y[N], want[N];
    struct solve_opts o = { .maxit = FIRST, .seed = 3, .rtol = 1e-9 };

    struct solve_info in = solve_kept("sdd(batch=8,average=none)", &d, 1, b, x, o, NULL), more;
    more = solve("sdd(batch=8,average=none)", &d, 1, b, x,
                 (struct solve_opts){ .maxit = T - FIRST, .rtol = 1e-9, .state = in.state,
                                      .nstate = in.nstate }, NULL);
    ck_assert_uint_eq(more.iterations, T - FIRST);
    solve("sdd(batch=8,average=none)", &d, 1, b, y,
          (struct solve_opts){ .maxit = T, .seed = 3, .rtol = 1e-9 }, NULL);
    ck_assert_int_eq(memcmp(x, y, sizeof x), 0);
    solve_info_free(&in);
    d.seen = malloc(B * T * sizeof *d.seen);
    in = solve_kept("sdd(batch=8)", &d, 1, b, x, o, NULL);
    o = (struct solve_opts){ .maxit = T - FIRST, .rtol = 1e-9, .state = in.state,
                             .nstate = in.nstate };
    more = solve("sdd(batch=8)", &d, 1, b, x, o, NULL);
    ck_assert_uint_eq(more.resumed, FIRST);
    printed(&d, B, in.step, 0.9, FIRST, T, b, want);
    for (size_t i = 0; i < N; i++)
        ck_assert_double_eq_tol(x[i], want[i], 1e-12 * blas_dnrm2(N, want));
    /* Another batch, noise or right-hand side is another descent. */
    ck_assert_uint_eq(solve("sdd(batch=9)", &d, 1, b, x, o, NULL).resumed, 0);
    d.lam2 = 0.06;
    ck_assert_uint_eq(solve("sdd(batch=8)", &d, 1, b, x, o, NULL).resumed, 0);
    d.lam2 = 0.05;
    b[3] += 1.0;
    ck_assert_uint_eq(solve("sdd(batch=8)", &d, 1, b, x, o, NULL).resumed, 0);
    solve_info_free(&in);
    free(d.G), free(b), free(d.seen);
}
END_TEST

/* Where only G u is sampled, the gradient is n / B sum e_i (G u)_i + lam2 u - b. */
START_TEST(noise_of_the_product)
{
    enum { N = 150, B = 30, T = 60 };
    struct dense d = { .n = N, .G = on_a_line(N, 9.0), .lam2 = 0.5, .room = B * T };
    double *b = waves(N, 1), x[N], a[N] = { 0 }, v[N] = { 0 }, u[N], g[N];

    d.seen = malloc(B * T * sizeof *d.seen);
    const struct solve_info in =
        solve("sdd(batch=30,noise=product,average=none,step=0.2)", &d, 1, b, x,
              (struct solve_opts){ .maxit = T, .seed = 3, .rtol = 1e-9 }, NULL);
    ck_assert_uint_eq(in.halved, 0);
    for (size_t t = 0; t < T; t++) {
        for (size_t i = 0; i < N; i++)
            u[i] = a[i] + 0.9 * v[i];
        for (size_t i = 0; i < N; i++)
            g[i] = d.lam2 * u[i] - b[i];
        for (size_t j = 0; j < B; j++) {
            const size_t i = d.seen[t * B + j];
            g[i] += (double)N / B * blas_ddot(N, d.G + i * N, u);
        }
        for (size_t i = 0; i < N; i++) {
            v[i] = 0.9 * v[i] - in.step / N * g[i];
            a[i] += v[i];
        }
    }
    for (size_t i = 0; i < N; i++)
        ck_assert_double_eq_tol(x[i], a[i], 1e-12 * blas_dnrm2(N, a));
    free(d.G), free(b), free(d.seen);
}
END_TEST

/* With features that stay the same the solution is that of F F' + lam2 I. */
START_TEST(noise_of_features)
{
    enum { N = 100, M = 5 };
    struct dense d = { .n = N, .G = on_a_line(N, 9.0), .lam2 = 2.0, .nf = M };
    double *b = waves(N, 1), x[N], F[N * M];

    for (size_t i = 0; i < N * M; i++)
        F[i] = cos((double)(i * i % 97)) * 0.3;
    d.F = F;
    solve("sdd(batch=50,noise=features,average=none)", &d, 1, b, x,
          (struct solve_opts){ .maxit = 3000, .seed = 3, .rtol = 1e-14 }, NULL);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            d.G[i + j * N] = blas_ddot(M, F + i * M, F + j * M);
    ck_assert_double_lt(error_of(&d, b, x), 1e-6);
    free(d.G), free(b);
}
END_TEST

/* A caller sees the iterate at the beginning, about every so many passes, and at the end, where it
 * is what the solve returns. */
struct seen { struct solve_watch hook; size_t n, looks; double *last, passes; bool early; };

static void see(struct solve_watch *hook, const double *X, const struct ctl *ctl, struct tick *t)
{
    struct seen *s = (struct seen *)hook;
    (void)ctl;
    memcpy(s->last, X, s->n * sizeof *X);
    ck_assert(!s->early); /* it was the end */
    s->early = s->looks > 0 && t->passes < s->passes + hook->every;
    s->passes = t->passes;
    s->looks++;
    t->measured = true;
}

START_TEST(watched)
{
    static const char *const solvers[] = { "sdd(batch=32)", "gd", "sgd(batch=16)", "cg" };
    enum { N = 300, K = 2 };
    struct dense d = { .n = N, .G = on_a_line(N, 20.0), .lam2 = 0.1 };
    double *b = waves(N, K), x[K * N], last[K * N], *F = calloc(N, sizeof *F);
    struct seen s = { .hook = { .look = see, .every = 4.0 }, .n = K * N, .last = last };
    struct heard h = { 0 };

    d.F = F;
    d.nf = 1;
    struct solve_opts o = { .maxit = 120, .seed = 5, .rtol = 1e-13, .watch = &s.hook };
    const struct solve_info in = solve(solvers[_i], &d, K, b, x, o, &h);
    ck_assert_uint_ge(s.looks, (size_t)(in.passes / 8.0));
    ck_assert_uint_le(s.looks, (size_t)(in.passes / 4.0) + 2);
    if (in.why == OUT_MAXIT || in.why == OUT_RTOL)
        ck_assert_int_eq(memcmp(x, last, sizeof x), 0);
    free(d.G), free(b), free(F);
}
END_TEST

START_TEST(words_and_zero)
{
    const struct solver_ops *ops;
    double params[SOLVER_MAX_PARAMS];
    struct err err = { 0 };

    ck_assert_int_eq(solver_parse("sdd(momentum=0,average=none,step=auto)", &ops, params, &err),
                     ST_OK);
    const struct solve_opts o = { .params = params };
    ck_assert_double_eq(solve_param(ops->params, &o, 1), 0.0);
    ck_assert_double_eq(solve_param(ops->params, &o, 2), 0.8);
    ck_assert_double_eq(solve_param(ops->params, &o, 3), DUAL_NONE);
    ck_assert(solver_param_holds(&ops->params[1], params[1]));
    ck_assert(!solver_param_holds(&ops->params[2], SOLVER_ZERO));
    ck_assert_int_eq(solver_parse("sdd(average=median)", &ops, params, &err), ST_RANGE);
    ck_assert_ptr_nonnull(strstr(err.msg, "geometric,arithmetic,none"));
    ck_assert_int_eq(solver_parse("sdd(average=2)", &ops, params, &err), ST_RANGE);
    ck_assert_int_eq(solver_parse("sdd(batch=0)", &ops, params, &err), ST_RANGE);
    ck_assert_int_eq(solver_parse("sdd(momentum=1)", &ops, params, &err), ST_RANGE);
}
END_TEST

START_TEST(out_of_memory)
{
    static const char *const names[] = { "sdd", "gd", "sgd", "blocks" };
    enum { N = 40 };
    struct dense d = { .n = N, .G = on_a_line(N, 3.0), .lam2 = 0.1 };
    double *b = waves(N, 2), x[2 * N], F[N] = { 0 };
    bool done = false;

    d.F = F;
    d.nf = 1;
    const struct linop A = linop(&d);
    for (size_t nth = 1; !done; nth++) {
        const struct solve_opts o = { .maxit = 3 };
        struct solve_info info[2];
        struct err err = { 0 };
        mem_fail_after_for_tests(nth);
        const enum status rc =
            solver_find(names[_i], NULL)->solve(&A, 2, b, x, &o, NULL, info, &err);
        mem_fail_after_for_tests(0);
        solve_info_free(&info[0]);
        ck_assert(rc == ST_OK || rc == ST_NOMEM);
        done = rc == ST_OK;
        ck_assert(done ? nth > 3 : err.msg[0] != '\0');
    }
    free(d.G), free(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("dual");
    TCase *t = tcase_create("dual");
    tcase_set_timeout(t, 60);
    if (support_shared("golden/sdd_K.csv")) {
        tcase_add_test(t, golden_kernel);
        tcase_add_test(t, golden_sdd);
        tcase_add_test(t, golden_sgd);
    }
    tcase_add_loop_test(t, lazy_form_is_algorithm_1, 0, 5);
    tcase_add_test(t, amplitude_scales_the_step);
    tcase_add_loop_test(t, step_of_the_rule, 0, 6);
    tcase_add_test(t, momentum_of_the_rule);
    tcase_add_loop_test(t, average_has_no_bias, 0, 3);
    tcase_add_test(t, stop_leaves_the_average);
    tcase_add_test(t, warm_start);
    tcase_add_loop_test(t, tolerance_ends_it, 0, 4);
    tcase_add_test(t, limits_of_full_gradients);
    tcase_add_test(t, blocks_are_solved);
    tcase_add_test(t, blocks_are_accelerated);
    tcase_add_loop_test(t, same_bits_for_any_thread_count, 0, 6);
    tcase_add_loop_test(t, continued_is_unbroken, 0, 9);
    tcase_add_test(t, more_steps);
    tcase_add_test(t, noise_of_the_product);
    tcase_add_test(t, noise_of_features);
    tcase_add_loop_test(t, watched, 0, 4);
    tcase_add_test(t, words_and_zero);
    tcase_add_loop_test(t, out_of_memory, 0, 4);
    suite_add_tcase(s, t);
    return support_run(s);
}
