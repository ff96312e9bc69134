/* tests/compute/check_functions.c -- functions drawn from the posterior: the shared golden files,
 * means and covariances of many draws against the model's own and against independent values, and
 * the same bits for any number of threads and any division into sets. */
#include "base/mem.h"
#include "compute/backend.h"
#include "compute/models/functions.h"
#include "compute/models/joint.h"
#include "compute/rng.h"
#include "compute/stats/acquisition.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct kernel parse(const char *text)
{
    struct kernel k;
    double set[KERNEL_MAX_HP];

    ck_assert_int_eq(kernel_parse(text, &k, set, NULL), ST_OK);
    return k;
}

static struct tools alone(void)
{
    return (struct tools){ .be = backend_cpu() };
}

/* A fit at given hyperparameters: features 0, the exact kernel. */
static struct model *fit(const char *kernel, size_t features, double noise, double amplitude,
                         const struct source *src, const double *y, size_t t, double l)
{
    struct fit_opts o = { .solver = features ? "direct" : "exact", .features = features,
                          .variance = VAR_ALL, .precision = PREC_DOUBLE, .kernel = parse(kernel),
                          .amplitude = amplitude, .noise = noise, .keep_scale = true, .seed = 3,
                          .targets = t, .hp = { l } };
    const struct tools on = alone();
    struct fit_info info;
    struct model *m = NULL;
    struct err err = { 0 };

    model_fit(src, y, &o, &on, &m, &info, NULL, &err);
    ck_assert_msg(m != NULL, "%s: %s", kernel, err.msg);
    return m;
}

static double *values(const struct model *m, const struct functions_key *key,
                      const struct source *src, struct pool *pool)
{
    struct tools on = { .be = backend_cpu(), .pool = pool };
    struct functions *f = NULL;
    struct err err = { 0 };
    double *F = malloc(key->count * src->n * sizeof *F);

    ck_assert_ptr_nonnull(F);
    ck_assert_msg(functions_new(m, key, &on, &f, &err) == ST_OK, "%s", err.msg);
    ck_assert_msg(functions_values(f, src, F, &on, &err) == ST_OK, "%s", err.msg);
    functions_free(f);
    return F;
}

/* The same by joint draws. */
static double *joint(const struct model *m, const struct functions_key *key,
                     const struct source *src)
{
    const struct tools on = alone();
    struct err err = { 0 };
    double *F = malloc(key->count * src->n * sizeof *F);

    ck_assert_ptr_nonnull(F);
    ck_assert(joint_can(m, src->n) && !joint_can(m, JOINT_ROWS + 1));
    ck_assert_msg(joint_values(m, src, key, &on, F, &err) == ST_OK, "%s", err.msg);
    return F;
}

/* The mean and the covariance of S draws of n values against given ones, each within 4 standard
 * errors: those of a mean are sqrt(C_ii / S), those of a covariance sqrt((C_ii C_jj + C_ij^2) /
 * S). */
static void check_moments(const double *F, size_t S, size_t n, const double *mean, const double *C)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (size_t s = 0; s < S; s++)
            sum += F[s * n + i] - mean[i];
        ck_assert_msg(fabs(sum / (double)S) <= 4.0 * sqrt(C[i * n + i] / (double)S),
                      "mean of row %zu is off by %g", i, sum / (double)S);
        for (size_t j = 0; j <= i; j++) {
            double c = 0.0;
            for (size_t s = 0; s < S; s++)
                c += (F[s * n + i] - mean[i]) * (F[s * n + j] - mean[j]) / (double)S;
            const double se = sqrt((C[i * n + i] * C[j * n + j] + C[i * n + j] * C[i * n + j]) /
                                   (double)S);
            ck_assert_msg(fabs(c - C[i * n + j]) <= 4.0 * se,
                          "covariance of %zu and %zu: %g, not %g", i, j, c, C[i * n + j]);
        }
    }
}

/* The golden problem: K = Phi Phi', which is the linear kernel of the rows of Phi; 30 rows train,
 * 5 are predicted, the noise variance is 0.1. */
enum { N = 30, T = 5, W = 200 };
struct golden { double *Phi, *y; struct source_array src, test; };

static struct golden golden(void)
{
    struct golden g;
    size_t rows, cols;

    g.Phi = support_golden("pathwise_Phi", &rows, &cols);
    ck_assert(rows == N + T && cols == W);
    g.y = support_golden("sdd_b", &rows, &cols);
    ck_assert(rows == N && cols == 1);
    source_array_init(&g.src, g.Phi, N, W, W);
    source_array_init(&g.test, g.Phi + N * W, T, W, W);
    return g;
}

static void golden_free(struct golden *g)
{
    free(g->Phi);
    free(g->y);
}

START_TEST(test_given_normals)
{
    struct golden g = golden();
    size_t rows, cols;
    double *w = support_golden("pathwise_w", &rows, &cols),
           *zeta = support_golden("pathwise_zeta", &rows, &cols),
           *sample = support_golden("pathwise_sample", &rows, &cols), F[T];
    struct model *m = fit("linear", 0, sqrt(0.1), 1.0, &g.src.base, g.y, 1, 0.0);
    const struct tools on = alone();
    struct functions *f = NULL;

    ck_assert_int_eq(functions_given_for_tests(m, W, w, zeta, &on, &f, NULL), ST_OK);
    ck_assert_int_eq(functions_values(f, &g.test.base, F, &on, NULL), ST_OK);
    for (size_t i = 0; i < T; i++)
        ck_assert_msg(support_close(F[i], sample[i], 1e-8), "%zu: %.12g, not %.12g", i, F[i],
                      sample[i]);
    functions_free(f);
    model_unref(m);
    free(w), free(zeta), free(sample);
    golden_free(&g);
}
END_TEST

/* Every kind of model, and joint draws, have the golden posterior, because the linear kernel's
 * features are exact. */
START_TEST(test_golden_moments)
{
    enum { S = SUPPORT_DRAWS(1000) };
    struct golden g = golden();
    size_t rows, cols;
    double *both = support_golden("pathwise_mean_cov", &rows, &cols), mean[T], C[T * T];
    const struct functions_key key = { .seed = 11, .count = S };
    struct model *m = fit("linear", _i == 1 ? W : 0, sqrt(0.1), 1.0, &g.src.base, g.y, 1, 0.0);
    double *F = _i == 2 ? joint(m, &key, &g.test.base) : values(m, &key, &g.test.base, NULL);

    for (size_t i = 0; i < T; i++) {
        mean[i] = both[i * (T + 1)];
        memcpy(C + i * T, both + i * (T + 1) + 1, T * sizeof *C);
    }
    check_moments(F, S, T, mean, C);
    free(F);
    free(both);
    model_unref(m);
    golden_free(&g);
}
END_TEST

/* A curved problem with weights of rows, two targets and an amplitude. */
enum { ROWS = 60, D = 2, NEW = 12 };
struct prob { double X[ROWS * D], y[2 * ROWS], scale[ROWS], Xt[NEW * D];
              struct source_array src, test; };

static void prob_make(struct prob *p)
{
    for (size_t i = 0; i < ROWS * D; i++)
        p->X[i] = rng_normal(5, rng_stream(RNG_TEST, 1), i);
    for (size_t i = 0; i < NEW * D; i++)
        p->Xt[i] = 1.5 * rng_normal(5, rng_stream(RNG_TEST, 2), i);
    for (size_t i = 0; i < ROWS; i++) {
        p->y[i] = sin(2.0 * p->X[i * D]);
        p->y[ROWS + i] = p->X[i * D + 1] - 0.3;
        p->scale[i] = i % 3 ? 1.0 : 2.0;
    }
    source_array_init(&p->src, p->X, ROWS, D, D);
    source_array_init(&p->test, p->Xt, NEW, D, D);
    p->src.base.row_scale = p->scale;
}

/* Means and variances of both targets are those that the model predicts.  Functions of one seed
 * share the features of their prior, which are unbiased but scatter: the standard errors are those
 * of the estimates of many seeds. */
START_TEST(test_predicted_moments)
{
    enum { SEEDS = 200, S = SUPPORT_DRAWS(60) };
    const size_t seeds = _i == 2 ? SEEDS : 40;
    struct prob p;
    double mean[2 * NEW], var[2 * NEW], got[2][SEEDS][NEW];
    const struct tools on = alone();

    prob_make(&p);
    struct model *m = fit("matern(nu=3/2)", _i == 1 ? 512 : 0, 0.3, 1.7, &p.src.base, p.y, 2,
                          0.8);
    ck_assert_int_eq(model_predict(m, &p.test.base, mean, var, &on, NULL), ST_OK);
    for (size_t j = 0; j < 2; j++) {
        const double *mj = mean + j * NEW, *vj = var + j * NEW;
        for (size_t k = 0; k < seeds; k++) {
            const struct functions_key key = { .seed = k, .target = j, .count = S };
            double *F = _i == 2 ? joint(m, &key, &p.test.base)
                                : values(m, &key, &p.test.base, NULL);
            for (size_t i = 0; i < NEW; i++) {
                got[0][k][i] = got[1][k][i] = 0.0;
                for (size_t s = 0; s < S; s++) {
                    const double d = F[s * NEW + i] - mj[i];
                    got[0][k][i] += d / S;
                    got[1][k][i] += (d * d - vj[i]) / S;
                }
            }
            free(F);
        }
        for (size_t i = 0; i < 2 * NEW; i++) {
            double sum = 0.0, squares = 0.0;
            for (size_t k = 0; k < seeds; k++) {
                const double v = got[i / NEW][k][i % NEW];
                sum += v / (double)seeds;
                squares += v * v / (double)seeds;
            }
            const double se = sqrt((squares - sum * sum) / ((double)seeds - 1.0));
            ck_assert_msg(fabs(sum) <= 4.0 * se, "target %zu, %s of row %zu: off by %g, se %g", j,
                          i < NEW ? "mean" : "variance", i % NEW, sum, se);
        }
    }
    model_unref(m);
}
END_TEST

START_TEST(test_same_bits)
{
    struct prob p;
    struct pool *pool = pool_new(3, NULL);

    prob_make(&p);
    p.test.base.n = NEW;
    struct model *m = fit("rbf", _i ? 256 : 0, 0.2, 1.0, &p.src.base, p.y, 1, 1.0);
    double *all = values(m, &(struct functions_key){ .seed = 9, .count = 6 }, &p.test.base, NULL),
           *more = values(m, &(struct functions_key){ .seed = 9, .count = 6 }, &p.test.base, pool),
           *last = values(m, &(struct functions_key){ .seed = 9, .first = 4, .count = 2 },
                          &p.test.base, NULL),
           *other = values(m, &(struct functions_key){ .seed = 10, .count = 1 }, &p.test.base,
                           NULL);

    ck_assert(!memcmp(all, more, 6 * NEW * sizeof *all));
    for (size_t i = 0; i < 2 * NEW; i++) /* sums of other lengths of a block of right-hand sides */
        ck_assert(support_close(last[i], all[4 * NEW + i], 1e-9));
    ck_assert(fabs(other[0] - all[0]) > 1e-6);
    free(all), free(more), free(last), free(other);
    model_unref(m);
    pool_free(pool);
}
END_TEST

/* Gradients against central differences of the functions' own values, for every kernel and for
 * sums, products, ARD and groups, on exact models and on features.  With steps of h = 1e-5 the
 * differences err by h^2 times third derivatives (some 1e3 for features of heavy tails at l = 0.8),
 * and by 1e-15 / h of rounding.  relu features have kinks: steps rarely cross one. */
static const char *const smooth[] = {
    "rbf", "matern(nu=3/2)", "matern(nu=5/2)", "cauchy", "rq", "rq(alpha=0.5)", "periodic",
    "linear", "poly(degree=2)", "poly(degree=3)", "arccos", "erf", "constant + rbf",
    "matern(nu=3/2,ard)", "rbf * periodic + linear", "rbf(ard) * linear + rq(weight=0.5)",
    "rbf(ard=1:2:1)", "poly(degree=2) * rbf", "periodic(ard)", "erf(ard) + arccos(ard)",
};
enum { SMOOTH = sizeof smooth / sizeof *smooth, DIM = 3, GRADS = 5, FUNCS = 2 };

static struct model *smooth_fit(const char *text, size_t features, const struct source *src,
                                const double *y)
{
    struct fit_opts o = { .solver = features ? "direct" : "exact", .features = features,
                          .variance = VAR_ALL, .precision = PREC_DOUBLE, .amplitude = 1.3,
                          .noise = 0.4, .keep_scale = true, .seed = 3, .targets = 1 };
    const struct tools on = alone();
    struct fit_info info;
    struct model *m = NULL;
    struct err err = { 0 };

    ck_assert_msg(kernel_parse(text, &o.kernel, o.hp, &err) == ST_OK, "%s: %s", text, err.msg);
    ck_assert_int_eq(kernel_bind(&o.kernel, DIM, (size_t[KERNEL_MAX_HP]){ 0 }, &err), ST_OK);
    for (size_t i = 0; i < kernel_nhp(&o.kernel); i++)
        o.hp[i] = 0.8 + 0.15 * (double)i;
    model_fit(src, y, &o, &on, &m, &info, NULL, &err);
    ck_assert_msg(m != NULL, "%s: %s", text, err.msg);
    return m;
}

START_TEST(test_gradients)
{
    enum { LEARNT = 20, EACH = 2 * DIM + 1, POINTS = GRADS * EACH };
    const bool exact = _i % 2 == 0;
    const char *text = smooth[_i / 2];
    const double h = 1e-5;
    double X[LEARNT * DIM], y[LEARNT], at[POINTS * DIM], F[FUNCS * POINTS], rows[GRADS * DIM],
        value[GRADS], G[GRADS * DIM];
    size_t which[GRADS];
    struct source_array src, points;
    const struct tools on = alone();
    struct functions *f = NULL;
    struct err err = { 0 };

    for (size_t i = 0; i < LEARNT * DIM; i++)
        X[i] = rng_normal(5, rng_stream(RNG_TEST, 3), i);
    for (size_t i = 0; i < LEARNT; i++)
        y[i] = sin(X[i * DIM]) + X[i * DIM + 1];
    for (size_t i = 0; i < GRADS; i++) {
        which[i] = i % FUNCS;
        for (size_t e = 0; e < DIM; e++) /* the first is a training row */
            rows[i * DIM + e] = i == 0 ? X[e] : rng_normal(5, rng_stream(RNG_TEST, 4), i * DIM + e);
        for (size_t c = 0; c < EACH; c++)
            for (size_t e = 0; e < DIM; e++)
                at[(i * EACH + c) * DIM + e] =
                    rows[i * DIM + e] + (c == 2 * e + 1 ? h : c == 2 * e + 2 ? -h : 0.0);
    }
    source_array_init(&src, X, LEARNT, DIM, DIM);
    source_array_init(&points, at, POINTS, DIM, DIM);
    struct model *m = smooth_fit(text, exact ? 0 : 256, &src.base, y);
    ck_assert_int_eq(functions_new(m, &(struct functions_key){ .seed = 7, .count = FUNCS }, &on, &f,
                                   &err), ST_OK);
    ck_assert_int_eq(functions_values(f, &points.base, F, &on, NULL), ST_OK);
    const enum status rc = functions_slopes(f, GRADS, rows, which, value, G, &on, &err);
    ck_assert_msg(rc == ST_OK, "%s: %s", text, err.msg);
    for (size_t i = 0; i < GRADS; i++) {
        const double *own = F + which[i] * POINTS + i * EACH;
        ck_assert_msg(support_close(value[i], own[0], 1e-9), "%s: %.12g, not %.12g", text, value[i],
                      own[0]);
        for (size_t e = 0; e < DIM; e++) {
            const double slope = (own[2 * e + 1] - own[2 * e + 2]) / (2.0 * h);
            const double got = G[i * DIM + e];
            ck_assert_msg(fabs(got - slope) <= 2e-5 * (1.0 + fabs(slope)),
                          "%s %s: slope %zu of row %zu is %.9g, not %.9g", text,
                          exact ? "exactly" : "by features", e, i, got, slope);
        }
    }
    functions_free(f);
    model_unref(m);
}
END_TEST

/* Matern 1/2 has a kink at each row: its functions have no gradient, and say so. */
START_TEST(test_no_gradient)
{
    struct prob p;
    struct err err = { 0 };
    struct functions *f = NULL;
    const struct tools on = alone();
    double F, G[D];
    size_t which = 0;

    prob_make(&p);
    struct model *m = fit("matern(nu=1/2)", 0, 0.3, 1.0, &p.src.base, p.y, 1, 1.0);
    ck_assert(!functions_smooth(m, NULL));
    ck_assert_int_eq(functions_new(m, &(struct functions_key){ .count = 1 }, &on, &f, NULL), ST_OK);
    ck_assert_int_eq(functions_slopes(f, 1, p.X, &which, &F, G, &on, &err),
                     ST_UNSUPPORTED);
    ck_assert(strstr(err.msg, "no gradient") && err.hint[0]);
    functions_free(f);
    model_unref(m);
}
END_TEST

/* Functions that a fit solves for, S of them by that solver: exact with features 0. */
static struct model *fit_solved(const char *kernel, size_t features, const char *solver, size_t S,
                                size_t maxit, const struct source *src, const double *y, size_t t)
{
    struct fit_opts o = { .kind = model_kind_usual(features == 0), .solver = solver,
                          .features = features, .variance = VAR_SAMPLES, .samples = S,
                          .precision = PREC_DOUBLE, .kernel = parse(kernel), .amplitude = 1.7,
                          .noise = 0.4, .keep_scale = true, .seed = 3, .targets = t, .rtol = 1e-9,
                          .maxit = maxit, .precond = features ? "jacobi" : "pchol",
                          .hp = { 0.8 } };
    const struct tools on = alone();
    struct fit_info info;
    struct model *m = NULL;
    struct err err = { 0 };

    model_fit(src, y, &o, &on, &m, &info, NULL, &err);
    ck_assert_msg(m != NULL, "%s: %s", kernel, err.msg);
    ck_assert(m->L == NULL && m->S == S && info.samples == S);
    return m;
}

static const struct { size_t features; const char *solver; } ways[] = {
    { 0, "exact" }, { 0, "pcg" }, { 0, "sdd" }, { 512, "direct" }, { 512, "pcg" },
};
enum { WAYS = sizeof ways / sizeof *ways };

/* Their variances against those of the factor, for two targets and rows with weights, by each
 * solver, which shares a block with y: within 4 standard errors sqrt(2 / S) of a mean of S squares.
 * The prior of an exact kernel has 8192 features, whose own scatter of about sqrt(1 / 8192) of the
 * prior variance is added.  sdd ends after its 200 products, two digits from the end. */
START_TEST(test_variances)
{
    enum { S = SUPPORT_DRAWS(800) };
    struct prob p;
    double mean[2 * NEW], var[2 * NEW], want[2 * NEW], same[2 * NEW];
    const struct tools on = alone();

    prob_make(&p);
    struct model *m = fit_solved("matern(nu=3/2)", ways[_i].features, ways[_i].solver, S, 0,
                                 &p.src.base, p.y, 2);
    struct model *by = fit("matern(nu=3/2)", ways[_i].features, 0.4, 1.7, &p.src.base, p.y, 2, 0.8);
    ck_assert_int_eq(model_predict(m, &p.test.base, mean, var, &on, NULL), ST_OK);
    ck_assert_int_eq(model_predict(by, &p.test.base, same, want, &on, NULL), ST_OK);
    for (size_t i = 0; i < 2 * NEW; i++) {
        const double se = sqrt(2.0 / S) * want[i] + 1.7 * 1.7 * sqrt(1.0 / 8192.0);
        ck_assert_msg(fabs(var[i] - want[i]) <= 4.0 * se, "%s: variance %zu: %g, not %g",
                      ways[_i].solver, i, var[i], want[i]);
        ck_assert_msg(fabs(mean[i] - same[i]) <= 0.02, "%s: mean %zu: %g, not %g", ways[_i].solver,
                      i, mean[i], same[i]);
    }
    model_unref(m);
    model_unref(by);
}
END_TEST

/* The functions themselves: their mean square around the prediction is that variance to rounding,
 * for both targets; a part of the set is part of the set; more than there are is refused. */
START_TEST(test_solved_functions)
{
    enum { S = 6 };
    struct prob p;
    double mean[2 * NEW], var[2 * NEW];
    const struct tools on = alone();
    struct functions *f = NULL;
    struct err err = { 0 };

    prob_make(&p);
    struct model *m = fit_solved("matern(nu=3/2)", ways[_i].features, ways[_i].solver, S, 0,
                                 &p.src.base, p.y, 2);
    ck_assert_int_eq(model_predict(m, &p.test.base, mean, var, &on, NULL), ST_OK);
    for (size_t j = 0; j < 2; j++) {
        double *F = values(m, &(struct functions_key){ .target = j, .count = S }, &p.test.base,
                           NULL),
               *last = values(m, &(struct functions_key){ .target = j, .first = 4, .count = 2 },
                              &p.test.base, NULL);
        for (size_t i = 0; i < NEW; i++) {
            double sum = 0.0;
            for (size_t s = 0; s < S; s++)
                sum += (F[s * NEW + i] - mean[j * NEW + i]) * (F[s * NEW + i] - mean[j * NEW + i]);
            ck_assert(support_close(var[j * NEW + i], sum / S, 1e-7));
            ck_assert(support_close(last[NEW + i], F[5 * NEW + i], 1e-7));
        }
        free(F), free(last);
    }
    ck_assert_int_eq(functions_new(m, &(struct functions_key){ .first = 4, .count = 3 }, &on, &f,
                                   &err), ST_STATE);
    ck_assert(f == NULL && strstr(err.msg, "6 functions") && strstr(err.hint, "samples=64"));
    model_unref(m);
}
END_TEST

/* The golden posterior by functions that a Cholesky factor and conjugate gradients solve for. */
START_TEST(test_golden_solved)
{
    enum { S = SUPPORT_DRAWS(1000) };
    struct golden g = golden();
    size_t rows, cols;
    double *both = support_golden("pathwise_mean_cov", &rows, &cols), mean[T], C[T * T];
    struct fit_opts o = { .kind = model_kind_usual(true), .solver = _i ? "pcg" : "exact",
                          .variance = VAR_SAMPLES, .samples = S, .precision = PREC_DOUBLE,
                          .kernel = parse("linear"), .amplitude = 1.0, .noise = sqrt(0.1),
                          .keep_scale = true, .seed = 4, .rtol = 1e-9, .precond = "pchol" };
    const struct tools on = alone();
    struct fit_info info;
    struct model *m = NULL;

    ck_assert_int_eq(model_fit(&g.src.base, g.y, &o, &on, &m, &info, NULL, NULL), ST_OK);
    double *F = values(m, &(struct functions_key){ .count = S }, &g.test.base, NULL);
    for (size_t i = 0; i < T; i++) {
        mean[i] = both[i * (T + 1)];
        memcpy(C + i * T, both + i * (T + 1) + 1, T * sizeof *C);
    }
    check_moments(F, S, T, mean, C);
    free(F);
    free(both);
    model_unref(m);
    golden_free(&g);
}
END_TEST

/* 64 functions scatter variances by sqrt(2 / 64) = 18 %, and solves that were stopped far from
 * their end make them too large: a function that was not conditioned still has the prior's. */
START_TEST(test_trap)
{
    enum { SEEDS = 24, S = 64 };
    struct prob p;
    double mean[NEW], var[NEW], want[NEW], sum = 0.0, squares = 0.0, inflated = 0.0;
    const struct tools on = alone();

    prob_make(&p);
    for (size_t i = 0; i < NEW * D; i++) /* new rows among the training rows */
        p.Xt[i] = 0.5 * p.Xt[i];
    struct model *by = fit("matern(nu=3/2)", 0, 0.4, 1.7, &p.src.base, p.y, 1, 0.8);
    ck_assert_int_eq(model_predict(by, &p.test.base, mean, want, &on, NULL), ST_OK);
    for (size_t k = 0; k < SEEDS; k++) {
        struct fit_opts o = { .kind = model_kind_usual(true), .solver = "exact",
                              .variance = VAR_SAMPLES, .samples = S, .precision = PREC_DOUBLE,
                              .kernel = parse("matern(nu=3/2)"), .amplitude = 1.7, .noise = 0.4,
                              .keep_scale = true, .seed = k, .hp = { 0.8 } };
        struct fit_info info;
        struct model *m = NULL;
        ck_assert_int_eq(model_fit(&p.src.base, p.y, &o, &on, &m, &info, NULL, NULL), ST_OK);
        ck_assert_int_eq(model_predict(m, &p.test.base, mean, var, &on, NULL), ST_OK);
        for (size_t i = 0; i < NEW; i++) {
            const double off = var[i] / want[i] - 1.0;
            sum += off / (SEEDS * NEW);
            squares += off * off / (SEEDS * NEW);
        }
        model_unref(m);
    }
    /* Rows of one set are dependent; 24 sets give the scatter to 1 / sqrt(2 * 24) = 15 % at the
     * least, and the mean to 18 % / sqrt(24) = 4 %. */
    const double scatter = sqrt(squares - sum * sum);
    ck_assert_msg(fabs(sum) < 4.0 * 0.04 && fabs(scatter / sqrt(2.0 / S) - 1.0) < 4.0 * 0.15,
                  "mean error %g, scatter %g", sum, scatter);
    struct model *m = fit_solved("matern(nu=3/2)", 0, "cg", S, 2, &p.src.base, p.y, 1);
    ck_assert_int_eq(model_predict(m, &p.test.base, mean, var, &on, NULL), ST_OK);
    for (size_t i = 0; i < NEW; i++)
        inflated += var[i] / want[i] / NEW;
    ck_assert_msg(inflated > 1.3, "stopped after two steps: %g times the variance", inflated);
    model_unref(m);
    model_unref(by);
}
END_TEST

START_TEST(test_refusals)
{
    struct prob p;
    struct err err = { 0 };
    struct fit_opts o = { .solver = "direct", .features = 128, .variance = VAR_COUNT,
                          .variance_count = 64, .precision = PREC_DOUBLE, .kernel = parse("rbf"),
                          .amplitude = 1.0, .noise = 0.3, .keep_scale = true, .hp = { 1.0 } };
    const struct tools on = alone();
    const struct functions_key key = { .count = 1 };
    struct functions *f;
    struct fit_info info;
    struct model *m = NULL;

    prob_make(&p);
    for (int none = 0; none < 2; none++) {
        o.variance = none ? VAR_NONE : VAR_COUNT;
        ck_assert_int_eq(model_fit(&p.src.base, p.y, &o, &on, &m, &info, NULL, NULL), ST_OK);
        ck_assert_int_eq(functions_new(m, &key, &on, &f, &err), ST_STATE);
        ck_assert(f == NULL && strstr(err.hint, "variance=all"));
        model_unref(m);
    }
}
END_TEST

/* Expected improvement and chance against sums over a fine grid of the normal density, whose error
 * at 20,000 midpoints over 16 standard deviations is below 1e-6 of the spread. */
START_TEST(test_acquisition)
{
    static const struct acquisition goals[] = {
        { GOAL_MAX, 0.0, 0.4 }, { GOAL_MIN, 0.0, 0.2 }, { GOAL_VALUE, 0.5, -0.3 } };
    static const double means[] = { -1.0, 0.3, 0.55, 2.0 }, sds[] = { 0.05, 0.7 };
    enum { GRID = 20000 };

    for (size_t g = 0; g < 3; g++)
        for (size_t c = 0; c < 8; c++) {
            const double m = means[c % 4], sd = sds[c / 4], step = 16.0 / GRID;
            double better = 0.0, chance = 0.0;
            for (size_t i = 0; i < GRID; i++) {
                const double z = -8.0 + ((double)i + 0.5) * step,
                             p = exp(-0.5 * z * z) / sqrt(2.0 * M_PI) * step,
                             u = acquisition_utility(&goals[g], m + sd * z) - goals[g].best;
                better += u > 0.0 ? p * u : 0.0;
                chance += u > 0.0 ? p : 0.0;
            }
            ck_assert(fabs(acquisition_improvement(&goals[g], m, sd) - better) < 1e-6);
            ck_assert(fabs(acquisition_chance(&goals[g], m, sd) - chance) < 1e-3);
        }
    ck_assert(acquisition_bound(&goals[0], 1.0, 0.5) == 2.0);
    ck_assert(acquisition_bound(&goals[1], 1.0, 0.5) == 0.0);
    ck_assert(acquisition_bound(&goals[2], 0.6, 0.5) == 0.0);
    ck_assert(acquisition_improvement(&goals[0], 0.5, 0.0) > 0.0999);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("functions");
    TCase *tc = tcase_create("functions");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_given_normals);
    tcase_add_loop_test(tc, test_golden_moments, 0, 3);
    tcase_add_loop_test(tc, test_predicted_moments, 0, 3);
    tcase_add_loop_test(tc, test_same_bits, 0, 2);
    tcase_add_loop_test(tc, test_gradients, 0, 2 * SMOOTH);
    tcase_add_test(tc, test_no_gradient);
    tcase_add_loop_test(tc, test_variances, 0, WAYS);
    tcase_add_loop_test(tc, test_solved_functions, 0, WAYS);
    tcase_add_loop_test(tc, test_golden_solved, 0, 2);
    tcase_add_test(tc, test_trap);
    tcase_add_test(tc, test_refusals);
    tcase_add_test(tc, test_acquisition);
    suite_add_tcase(s, tc);
    return support_run(s);
}
