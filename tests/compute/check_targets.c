/* tests/compute/check_targets.c -- several targets: likelihoods, fits and tunings of t targets
 * against a dense formula in long double, against one target at a time, and against central
 * differences; one pass for all, and the same bits for any thread count. */
#include "base/mem.h"
#include "compute/backend.h"
#include "compute/linalg/blas.h"
#include "compute/features/featmap.h"
#include "compute/models/model.h"
#include "compute/likelihood/nmll.h"
#include "compute/rng.h"
#include "compute/tuners/tune.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 140, D = 3, T = 3, NT = 70 };
static const double wide_a[2] = { 0.01, 100 }, wide_n[2] = { 1e-4, 20 };

/* Three targets of unlike shape, size and noise. */
struct prob { double X[N * D], Xt[NT * D], y[T * N]; struct source_array src, test; };

static struct prob *prob_make(void)
{
    struct prob *p = calloc(1, sizeof *p);

    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i < N * D; i++)
        p->X[i] = rng_normal(11, rng_stream(RNG_TEST, 1), i);
    for (size_t i = 0; i < NT * D; i++)
        p->Xt[i] = rng_normal(11, rng_stream(RNG_TEST, 3), i);
    for (size_t i = 0; i < N; i++) {
        const double *x = p->X + i * D, e = rng_normal(11, rng_stream(RNG_TEST, 2), i);
        p->y[i] = sin(2.0 * x[0]) + 0.1 * e;
        p->y[N + i] = 3.0 * cos(x[1]) * x[2] + 0.5 * rng_normal(11, rng_stream(RNG_TEST, 4), i);
        p->y[2 * N + i] = 0.2 * x[2] + 0.05 * rng_normal(11, rng_stream(RNG_TEST, 5), i);
    }
    source_array_init(&p->src, p->X, N, D, D);
    source_array_init(&p->test, p->Xt, NT, D, D);
    return p;
}

static struct kernel parse(const char *text)
{
    struct kernel k;
    double set[KERNEL_MAX_HP];
    ck_assert_int_eq(kernel_parse(text, &k, set, NULL), ST_OK);
    return k;
}

struct feats { struct featmap *map; struct fop *f; double *Z; size_t M; };

static struct feats feats_make(const struct prob *p, const char *kernel, size_t M, const double *hp)
{
    const struct kernel k = parse(kernel);
    struct fop_opts fo = { .precision = PREC_DOUBLE };
    struct feats s = { .M = M };

    s.map = featmap_new(&k, D, M, 5, NULL);
    s.f = fop_new(backend_cpu(), s.map, &p->src.base, &fo, NULL);
    s.Z = malloc(N * M * sizeof *s.Z);
    ck_assert(s.f && s.Z);
    ck_assert_int_eq(fop_set(s.f, hp, NULL), ST_OK);
    ck_assert_int_eq(fop_tile64(s.f, 0, N, s.Z, M, NULL), ST_OK);
    return s;
}

static void feats_free(struct feats *s)
{
    fop_free(s->f);
    featmap_free(s->map);
    free(s->Z);
}

/* c = y' C^-1 y for t targets and log|C|, C (n x n) by elimination in long double. */
static void dense(const double *C, size_t n, size_t t, const double *y, double *c, double *logdet)
{
    long double *K = malloc(n * n * sizeof *K), *u = malloc(t * n * sizeof *u), log_det = 0;

    ck_assert(K && u);
    for (size_t i = 0; i < n * n; i++)
        K[i] = C[i];
    for (size_t i = 0; i < t * n; i++)
        u[i] = y[i];
    memset(c, 0, t * sizeof *c);
    for (size_t k = 0; k < n; k++) {
        const long double p = K[k * n + k];
        ck_assert(p > 0);
        log_det += logl(p);
        for (size_t j = 0; j < t; j++)
            c[j] += (double)(u[j * n + k] * u[j * n + k] / p);
        for (size_t i = k + 1; i < n; i++) {
            const long double l = K[i * n + k] / p;
            for (size_t j = k + 1; j < n; j++)
                K[i * n + j] -= l * K[k * n + j];
            for (size_t j = 0; j < t; j++)
                u[j * n + i] -= l * u[j * n + k];
        }
    }
    *logdet = (double)log_det;
    free(K);
    free(u);
}

/* K1 + ratio I of features, or of the kernel itself. */
static double *dense_matrix(const struct prob *p, const struct feats *s, const struct kernel *k,
                            const double *hp, double ratio)
{
    double *C = calloc(N * N, sizeof *C);

    ck_assert_ptr_nonnull(C);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            C[i * N + j] = (i == j ? ratio : 0.0) +
                           (s ? blas_ddot(s->M, s->Z + i * s->M, s->Z + j * s->M)
                              : kernel_exact(k, hp, D, p->X + i * D, p->X + j * D, NULL));
    return C;
}

/* Sum over the targets, each with its own amplitude: clamped, or at its best. */
static double dense_nmll(const struct prob *p, const struct feats *s, const struct kernel *k,
                         const double *hp, double ratio, const double ab[2], const double nb[2])
{
    double *C = dense_matrix(p, s, k, hp, ratio), c[T], logdet, sum = 0.0;

    dense(C, N, T, p->y, c, &logdet);
    for (size_t j = 0; j < T; j++) {
        double a = sqrt(c[j] / N);
        a = fmin(fmax(a, fmax(ab[0], nb[0] / sqrt(ratio))), fmin(ab[1], nb[1] / sqrt(ratio)));
        sum += 0.5 * (c[j] / (a * a) + logdet + N * log(2.0 * M_PI * a * a));
    }
    free(C);
    return sum;
}

static double ratio_of(const double *a, const double *s)
{
    return s[0] * s[0] / (a[0] * a[0]);
}

/* Likelihoods. */

/* Z'Z (rows > columns), Z Z' (rows < columns) and the exact kernel: the sum of the closed forms at
 * one ratio, which is the best one. */
START_TEST(likelihoods_add_up)
{
    const struct kernel k = parse("matern(nu=3/2)");
    const double hp = 1.4;
    struct prob *p = prob_make();
    struct feats s = { 0 };
    double v, a[T], n[T], ed;

    if (_i < 2)
        s = feats_make(p, "matern(nu=3/2)", _i ? 4 * N : 64, &hp);
    const struct feats *of = _i < 2 ? &s : NULL;
    ck_assert_int_eq(
        _i < 2
            ? nmll_features(
                  s.f,
                  &(struct nmll_ask){.t = T,
                                     .y = p->y,
                                     .hp = &hp,
                                     .nhp = 1,
                                     .scale = NMLL_BEST,
                                     .within = &(struct nmll_bounds){{wide_a[0], wide_a[1]},
                                                                     {wide_n[0], wide_n[1]}}},
                  &(struct nmll_told){.value = &v, .amplitude = a, .noise = n, .effdim = &ed}, NULL,
                  NULL)
            : nmll_exact(
                  &k, &p->src.base,
                  &(struct nmll_ask){.t = T,
                                     .y = p->y,
                                     .hp = &hp,
                                     .scale = NMLL_BEST,
                                     .within = &(struct nmll_bounds){{wide_a[0], wide_a[1]},
                                                                     {wide_n[0], wide_n[1]}}},
                  &(struct nmll_told){.value = &v, .amplitude = a, .noise = n, .effdim = &ed}, NULL,
                  NULL, NULL),
        ST_OK);
    const double ratio = ratio_of(a, n);
    ck_assert(support_close(v, dense_nmll(p, of, &k, &hp, ratio, wide_a, wide_n), 1e-9));
    ck_assert_double_le(v, dense_nmll(p, of, &k, &hp, 1.1 * ratio, wide_a, wide_n));
    ck_assert_double_le(v, dense_nmll(p, of, &k, &hp, ratio / 1.1, wide_a, wide_n));
    double *C = dense_matrix(p, of, &k, &hp, ratio), c[T], logdet;
    dense(C, N, T, p->y, c, &logdet);
    for (size_t j = 0; j < T; j++) {
        ck_assert(support_close(a[j], sqrt(c[j] / N), 1e-8));
        ck_assert(support_close(n[j], sqrt(ratio * c[j] / N), 1e-8));
    }
    free(C);
    if (_i < 2)
        feats_free(&s);
    free(p);
}
END_TEST

/* A bound that holds one target's amplitude leaves those of the others alone. */
START_TEST(bounds_hold_for_each)
{
    const struct kernel k = parse("rbf");
    const double hp = 1.2, ab[2] = { 0.3, 1.5 }, nb[2] = { 0.08, 0.4 };
    struct prob *p = prob_make();
    struct feats s = feats_make(p, "rbf", _i ? 4 * N : 64, &hp);
    double v, a[T], n[T];

    ck_assert_int_eq(
        nmll_features(
            s.f,
            &(struct nmll_ask){.t = T,
                               .y = p->y,
                               .hp = &hp,
                               .nhp = 1,
                               .scale = NMLL_BEST,
                               .within = &(struct nmll_bounds){{ab[0], ab[1]}, {nb[0], nb[1]}}},
            &(struct nmll_told){.value = &v, .amplitude = a, .noise = n}, NULL, NULL),
        ST_OK);
    ck_assert(support_close(v, dense_nmll(p, &s, &k, &hp, ratio_of(a, n), ab, nb), 1e-9));
    size_t held = 0;
    for (size_t j = 0; j < T; j++) {
        ck_assert(a[j] >= ab[0] - 1e-12 && a[j] <= ab[1] + 1e-12);
        ck_assert(n[j] >= nb[0] - 1e-12 && n[j] <= nb[1] + 1e-12);
        held += a[j] > ab[1] - 1e-9 || a[j] < ab[0] + 1e-9 || n[j] > nb[1] - 1e-9 ||
                n[j] < nb[0] + 1e-9;
    }
    ck_assert(held >= 1 && held < T);
    feats_free(&s);
    free(p);
}
END_TEST

/* Gradients of the profiled value, by central differences of itself. */
START_TEST(gradients)
{
    static const struct { const char *kernel; size_t nhp, M; } what[] = {
        { "rbf", 1, 64 }, { "matern(nu=5/2)", 1, 4 * N }, { "matern(nu=3/2,ard=3)", 3, 64 },
        { "rbf(ard=3)", 3, 4 * N },
    };
    const double start[3] = { 1.1, 1.6, 2.2 }, h = 1e-5;
    struct prob *p = prob_make();
    struct feats s = feats_make(p, what[_i].kernel, what[_i].M, start);
    double v, a[T], n[T], g[3], up, down;

    ck_assert_int_eq(
        nmll_features(s.f,
                      &(struct nmll_ask){.t = T,
                                         .y = p->y,
                                         .hp = start,
                                         .nhp = what[_i].nhp,
                                         .scale = NMLL_BEST,
                                         .within = &(struct nmll_bounds){{wide_a[0], wide_a[1]},
                                                                         {wide_n[0], wide_n[1]}}},
                      &(struct nmll_told){.value = &v, .amplitude = a, .noise = n, .grad = g}, NULL,
                      NULL),
        ST_OK);
    for (size_t i = 0; i < what[_i].nhp; i++) {
        double at[3];
        memcpy(at, start, sizeof at);
        at[i] = start[i] * exp(h);
        ck_assert_int_eq(
            nmll_features(
                s.f,
                &(struct nmll_ask){.t = T,
                                   .y = p->y,
                                   .hp = at,
                                   .nhp = what[_i].nhp,
                                   .scale = NMLL_BEST,
                                   .within = &(struct nmll_bounds){{wide_a[0], wide_a[1]},
                                                                   {wide_n[0], wide_n[1]}}},
                &(struct nmll_told){.value = &up, .amplitude = a, .noise = n}, NULL, NULL),
            ST_OK);
        at[i] = start[i] * exp(-h);
        ck_assert_int_eq(
            nmll_features(
                s.f,
                &(struct nmll_ask){.t = T,
                                   .y = p->y,
                                   .hp = at,
                                   .nhp = what[_i].nhp,
                                   .scale = NMLL_BEST,
                                   .within = &(struct nmll_bounds){{wide_a[0], wide_a[1]},
                                                                   {wide_n[0], wide_n[1]}}},
                &(struct nmll_told){.value = &down, .amplitude = a, .noise = n}, NULL, NULL),
            ST_OK);
        /* truncation h^2, rounding eps |f| / h, and the inner search */
        ck_assert_double_le(fabs(g[i] - (up - down) / (2 * h)), 3e-5 * (1.0 + fabs(g[i])));
    }
    feats_free(&s);
    free(p);
}
END_TEST

/* At a given ratio: value, and the gradient in it too, where bounds of the noise hold amplitudes.
 */
START_TEST(exact_at_a_ratio)
{
    static const double nb[2][2] = { { 1e-4, 20 }, { 0.06, 0.3 } };
    const struct kernel k = parse("matern(nu=5/2)");
    struct prob *p = prob_make();
    const double hp = 1.3, ratio = 0.02, h = 1e-5;
    double v, a[T], n[T], g[2], up, down, lo = exp(-h) * hp, hi = exp(h) * hp;

    const struct nmll_bounds in = { { wide_a[0], wide_a[1] }, { nb[_i][0], nb[_i][1] } };

#define AT(where, at, out, slope)                                                                  \
    ck_assert_int_eq(                                                                              \
        nmll_exact(                                                                                \
            &k, &p->src.base,                                                                      \
            &(struct nmll_ask){                                                                    \
                .t = T, .y = p->y, .hp = where, .scale = NMLL_RATIO, .ratio = at, .within = &in},  \
            &(struct nmll_told){.value = out, .amplitude = a, .noise = n, .grad = slope}, NULL,    \
            NULL, NULL),                                                                           \
        ST_OK)
    AT(&hp, ratio, &v, g);
    ck_assert(support_close(v, dense_nmll(p, NULL, &k, &hp, ratio, wide_a, nb[_i]), 1e-10));
    for (size_t j = 0; j < T; j++)
        ck_assert(support_close(n[j], a[j] * sqrt(ratio), 1e-12));
    AT(&hi, ratio, &up, NULL);
    AT(&lo, ratio, &down, NULL);
    ck_assert_double_le(fabs(g[0] - (up - down) / (2 * h)), 1e-5 * (1.0 + fabs(g[0])));
    AT(&hp, ratio * exp(2 * h), &up, NULL);
    AT(&hp, ratio * exp(-2 * h), &down, NULL);
    ck_assert_double_le(fabs(g[1] - (up - down) / (2 * h)), 1e-5 * (1.0 + fabs(g[1])));
#undef AT
    free(p);
}
END_TEST

/* By probes: the data are further columns; within the error that it claims, along the gradient. */
START_TEST(probes_at_a_ratio)
{
    const struct kernel k = parse("matern(nu=3/2,ard=3)");
    const double hp[3] = { 0.8, 1.5, 3.0 }, ratio = 0.03, h = 1e-4;
    struct nmll_slq_opts o = { .rank = 16, .probes = 1000, .rtol = 1e-9, .seed = 3 };
    struct prob *p = prob_make();
    struct feats s = feats_make(p, "matern(nu=3/2,ard=3)", 128, hp);
    double v, se, a[T], n[T], g[4];

    ck_assert_int_eq(
        nmll_slq(s.f,
                 &(struct nmll_ask){.t = T,
                                    .y = p->y,
                                    .hp = hp,
                                    .nhp = 3,
                                    .scale = NMLL_RATIO,
                                    .ratio = ratio,
                                    .within = &(struct nmll_bounds){{wide_a[0], wide_a[1]},
                                                                    {wide_n[0], wide_n[1]}}},
                 &o,
                 &(struct nmll_told){.value = &v, .se = &se, .amplitude = a, .noise = n, .grad = g},
                 NULL, NULL),
        ST_OK);
    const double want = dense_nmll(p, &s, &k, hp, ratio, wide_a, wide_n);
    ck_assert_double_le(fabs(v - want), 3.5 * se);
    ck_assert(se > 0.0 && se < 0.02 * T * N);
    double *C = dense_matrix(p, &s, &k, hp, ratio), c[T], logdet;
    dense(C, N, T, p->y, c, &logdet); /* of the targets' own columns nothing is random */
    for (size_t j = 0; j < T; j++)
        ck_assert(support_close(a[j], sqrt(c[j] / N), 1e-7));
    free(C);
    const double up = dense_nmll(p, &s, &k, hp, ratio * exp(2 * h), wide_a, wide_n);
    const double down = dense_nmll(p, &s, &k, hp, ratio * exp(-2 * h), wide_a, wide_n);
    /* Monte Carlo: T traces, each a mean over 1000 probes */
    ck_assert_double_le(fabs(g[3] - (up - down) / (2 * h)), 0.05 * T * (5.0 + fabs(g[3]) / T));
    for (size_t i = 0; i < 3; i++) {
        double at[3], side[2];
        for (size_t d = 0; d < 2; d++) {
            memcpy(at, hp, sizeof at);
            at[i] = hp[i] * exp(d ? -h : h);
            struct feats m = feats_make(p, "matern(nu=3/2,ard=3)", 128, at);
            side[d] = dense_nmll(p, &m, &k, at, ratio, wide_a, wide_n);
            feats_free(&m);
        }
        ck_assert_double_le(fabs(g[i] - (side[0] - side[1]) / (2 * h)),
                            0.05 * T * (5.0 + fabs(g[i]) / T));
    }
    feats_free(&s);
    free(p);
}
END_TEST

/* Leave-one-out errors: at a fixed ratio the geometric mean of those of single targets. */
START_TEST(leave_one_out)
{
    const double hp = 1.3, one[2] = { 1, 1 }, noise[2] = { 0.2, 0.2 };
    struct prob *p = prob_make();
    struct feats s = feats_make(p, "rbf", _i ? 4 * N : 64, &hp);
    double mse, v, a[T], n[T], logs = 0.0, sum = 0.0;

    for (size_t j = 0; j < T; j++) {
        ck_assert_int_eq(
            nmll_loo(s.f,
                     &(struct nmll_ask){
                         .y = p->y + j * N,
                         .hp = &hp,
                         .nhp = 1,
                         .scale = NMLL_BEST,
                         .within = &(struct nmll_bounds){{one[0], one[1]}, {noise[0], noise[1]}}},
                     NULL, NULL,
                     &(struct nmll_told){.mse = &mse, .value = &v, .amplitude = a, .noise = n},
                     NULL, NULL),
            ST_OK);
        logs += log(mse) / T;
        sum += v;
    }
    ck_assert_int_eq(
        nmll_loo(s.f,
                 &(struct nmll_ask){
                     .t = T,
                     .y = p->y,
                     .hp = &hp,
                     .nhp = 1,
                     .scale = NMLL_BEST,
                     .within = &(struct nmll_bounds){{one[0], one[1]}, {noise[0], noise[1]}}},
                 NULL, NULL,
                 &(struct nmll_told){.mse = &mse, .value = &v, .amplitude = a, .noise = n}, NULL,
                 NULL),
        ST_OK);
    ck_assert(support_close(log(mse), logs, 1e-9));
    ck_assert(support_close(v, sum, 1e-10));
    feats_free(&s);
    free(p);
}
END_TEST

/* Fits. */

static struct fit_opts options(const char *kernel, const char *solver, size_t features)
{
    struct fit_opts o = { .solver = solver, .features = features, .rtol = 1e-9, .maxit = 5000,
                          .seed = 3, .kernel = parse(kernel), .amplitude = 1.0, .noise = 0.2,
                          .keep_ratio = true, .targets = T, .precision = PREC_DOUBLE,
                          .variance = VAR_ALL };
    o.hp[0] = 1.4;
    return o;
}

static struct model *fit(const struct prob *p, const double *y, const struct fit_opts *o,
                         const struct backend_ops *be, struct pool *pool, struct fit_info *info)
{
    struct model *m = NULL;
    struct err err = { 0 };
    const enum status rc =
        model_fit(&p->src.base, y, o, &(struct tools){be, pool, NULL}, &m, info, NULL, &err);
    ck_assert_msg(rc == ST_OK, "%s", err.msg);
    return m;
}

/* Every solver: means, amplitudes and variances of the T targets against the dense formulas, which
 * know nothing of features' algebra: mean = k' C^-1 y, var = amplitude^2 (k** - k' C^-1 k). */
START_TEST(fits_agree_with_dense)
{
    static const struct {
        const char *solver;
        size_t M, rank;
        enum plan plan;
        double rtol, tol;
    } how[] = {
        {"exact", 0, 0, PLAN_AUTO, 1e-9, 1e-9},    {"direct", 96, 0, PLAN_AUTO, 1e-9, 1e-8},
        {"pcg", 96, 24, PLAN_STORE, 1e-10, 1e-7},  {"pcg", 96, 24, PLAN_REGENERATE, 1e-10, 1e-7},
        {"pcg", 96, 24, PLAN_DIRECT, 1e-10, 1e-7}, {"cg", 96, 0, PLAN_REGENERATE, 1e-10, 1e-7},
        {"lbfgs", 96, 0, PLAN_STORE, 1e-9, 1e-6},  {"psvrg", 96, 48, PLAN_STORE, 1e-8, 1e-5},
    };
    struct prob *p = prob_make();
    struct fit_opts o = options("matern(nu=3/2)", how[_i].solver, how[_i].M);
    struct fit_info info;
    const double ratio = 0.04;
    double mean[T * NT], var[T * NT], c[T], logdet;

    o.rank = how[_i].rank;
    o.plan = how[_i].plan;
    o.rtol = how[_i].rtol;
    struct model *m = fit(p, p->y, &o, backend_cpu(), NULL, &info);
    ck_assert_uint_eq(m->t, T);
    ck_assert_uint_eq(info.targets, T);
    ck_assert_int_eq(model_predict(m, &p->test.base, mean, var,
                                   &(struct tools){backend_cpu(), NULL, NULL}, NULL),
                     ST_OK);

    const bool exact = how[_i].M == 0;
    struct feats s = { 0 };
    double *Zt = NULL;
    if (!exact) { /* the same map: of the fit's seed */
        struct fop_opts fo = { .precision = PREC_DOUBLE };
        s.M = how[_i].M;
        s.map = featmap_new(&o.kernel, D, s.M, o.seed, NULL);
        for (int test = 0; test < 2; test++) {
            struct fop *f = fop_new(backend_cpu(), s.map, test ? &p->test.base : &p->src.base, &fo,
                                    NULL);
            double *Z = malloc((test ? NT : N) * s.M * sizeof *Z);
            ck_assert(f && Z && fop_set(f, o.hp, NULL) == ST_OK);
            ck_assert_int_eq(fop_tile64(f, 0, test ? NT : N, Z, s.M, NULL), ST_OK);
            fop_free(f);
            *(test ? &Zt : &s.Z) = Z;
        }
    }
    double *C = dense_matrix(p, exact ? NULL : &s, &o.kernel, o.hp, ratio);
    dense(C, N, T, p->y, c, &logdet);
    for (size_t j = 0; j < T; j++) {
        ck_assert_double_le(fabs(m->amplitudes[j] / sqrt(c[j] / N) - 1.0), how[_i].tol);
        ck_assert(support_close(m->noises[j], m->amplitudes[j] * 0.2, 1e-12));
    }
    ck_assert(m->amplitude == m->amplitudes[0] && m->noise == m->noises[0]);
    for (size_t i = 0; i < NT; i += 7) { /* k' C^-1 y by polarisation: (y + k)' - (y - k)', / 4 */
        double row[2 * T * N], both[2 * T], k[N], kk;
        const double *x = p->Xt + i * D;
        for (size_t r = 0; r < N; r++)
            k[r] = exact ? kernel_exact(&o.kernel, o.hp, D, p->X + r * D, x, NULL)
                         : blas_ddot(s.M, s.Z + r * s.M, Zt + i * s.M);
        for (size_t j = 0; j < 2 * T; j++)
            for (size_t r = 0; r < N; r++)
                row[j * N + r] = p->y[j / 2 * N + r] + (j % 2 ? -k[r] : k[r]);
        dense(C, N, 2 * T, row, both, &logdet);
        dense(C, N, 1, k, &kk, &logdet);
        const double prior = exact ? kernel_exact(&o.kernel, o.hp, D, x, x, NULL)
                                   : blas_ddot(s.M, Zt + i * s.M, Zt + i * s.M);
        for (size_t j = 0; j < T; j++) {
            const double want = 0.25 * (both[2 * j] - both[2 * j + 1]);
            const double a2 = m->amplitudes[j] * m->amplitudes[j];
            ck_assert_double_le(fabs(mean[j * NT + i] - want), 10 * how[_i].tol * (1 + fabs(want)));
            ck_assert_double_le(fabs(var[j * NT + i] - a2 * (prior - kk)), 1e-7 * a2);
        }
    }
    double worst = 0.0, most = 0.0;
    for (size_t j = 0; j < T; j++) {
        worst = fmax(worst, info.target[j].true_residual);
        most = fmax(most, info.target[j].iterations);
    }
    if (!exact)
        ck_assert(info.true_residual == worst);
    if (info.why == OUT_RTOL)
        ck_assert(info.iterations == (size_t)most && worst <= how[_i].rtol);
    free(C);
    free(Zt);
    if (!exact)
        feats_free(&s);
    model_unref(m);
    free(p);
}
END_TEST

/* A backend that counts: how often features are generated for a product, and for how many vectors.
 */
static size_t passes, vectors;

static enum status counted_pass(void *state, size_t k, const double *P, double *W,
                                const struct ctl *ctl, struct err *err)
{
    passes++;
    vectors += k;
    return backend_cpu()->pass(state, k, P, W, ctl, err);
}

START_TEST(one_pass_for_all_targets)
{
    static const char *const solver[] = { "pcg", "cg", "lbfgs" };
    struct backend_ops counting = *backend_cpu();
    struct prob *p = prob_make();
    struct fit_opts o = options("matern(nu=3/2)", solver[_i], 128);
    struct fit_info info;
    size_t most = 0, sum = 0;

    counting.pass = counted_pass;
    o.plan = PLAN_REGENERATE;
    o.rank = 16;
    o.rtol = 1e-6;
    o.variance = VAR_NONE;
    for (size_t j = 0; j < T; j++) {
        o.targets = 1;
        passes = 0;
        model_unref(fit(p, p->y + j * N, &o, &counting, NULL, &info));
        ck_assert_int_eq(info.why, OUT_RTOL);
        ck_assert_uint_eq(passes, (size_t)info.passes);
        most = passes > most ? passes : most;
        sum += passes;
    }
    o.targets = T;
    passes = vectors = 0;
    model_unref(fit(p, p->y, &o, &counting, NULL, &info));
    ck_assert_int_eq(info.why, OUT_RTOL);
    ck_assert_uint_eq(passes, (size_t)info.passes);
    /* The slowest target's passes, and a check of the true residual when another has ended before.
     */
    ck_assert_msg(passes <= most + 2 * T && passes < sum,
                  "%zu passes; one by one at most %zu, in all "
                  "%zu",
                  passes, most, sum);
    ck_assert(vectors > passes && vectors <= T * passes);
    free(p);
}
END_TEST

/* Weights, scales and predictions: 1, 2, 3 and 8 threads. */
START_TEST(same_bits_for_any_thread_count)
{
    static const struct {
        const char *solver;
        size_t M;
        enum plan plan;
        enum precision precision;
    } way[] = {
        {"exact", 0, PLAN_AUTO, PREC_DOUBLE},   {"direct", 192, PLAN_AUTO, PREC_FLOAT},
        {"pcg", 192, PLAN_STORE, PREC_FLOAT},   {"pcg", 192, PLAN_REGENERATE, PREC_FLOAT},
        {"pcg", 192, PLAN_DIRECT, PREC_FLOAT},  {"pcg", 192, PLAN_REGENERATE, PREC_DOUBLE},
        {"psvrg", 192, PLAN_STORE, PREC_FLOAT},
    };
    static const size_t threads[] = { 1, 2, 3, 8 };
    struct prob *p = prob_make();
    struct model *first = NULL;
    double mean[2][T * NT], var[2][T * NT];

    for (size_t t = 0; t < 4; t++) {
        struct pool *pool = pool_new(threads[t], NULL);
        struct fit_opts o = options("matern(nu=5/2)", way[_i].solver, way[_i].M);
        struct fit_info info;
        o.keep_ratio = false; /* the ratio is refined too */
        o.plan = way[_i].plan;
        o.precision = way[_i].precision;
        o.rank = 32;
        o.rtol = 1e-4;
        o.maxit = 60;
        struct model *m = fit(p, p->y, &o, backend_cpu(), pool, &info);
        ck_assert_int_eq(model_predict(m, &p->test.base, mean[t > 0], var[t > 0],
                                       &(struct tools){backend_cpu(), pool, NULL}, NULL),
                         ST_OK);
        if (first) {
            ck_assert(memcmp(m->w, first->w, T * m->M * sizeof *m->w) == 0);
            ck_assert(memcmp(m->amplitudes, first->amplitudes, sizeof m->amplitudes) == 0);
            ck_assert(memcmp(m->noises, first->noises, sizeof m->noises) == 0);
            ck_assert(memcmp(mean[1], mean[0], sizeof mean[0]) == 0);
            ck_assert(memcmp(var[1], var[0], sizeof var[0]) == 0);
            model_unref(m);
        } else {
            first = m;
        }
        pool_free(pool);
    }
    model_unref(first);
    free(p);
}
END_TEST

/* Weighted rows: as if one target had been fitted at a time. */
START_TEST(weighted_rows)
{
    static const char *const solver[] = { "exact", "direct", "pcg" };
    struct prob *p = prob_make();
    struct fit_opts o = options("rbf", solver[_i], _i ? 96 : 0);
    struct fit_info info;
    double scale[N], mean[T * NT], var[T * NT], one[NT], var1[NT];

    for (size_t i = 0; i < N; i++)
        scale[i] = 0.5 + rng_uniform(2, 9, i);
    p->src.base.row_scale = scale;
    o.rank = 24;
    o.rtol = 1e-10;
    struct model *m = fit(p, p->y, &o, backend_cpu(), NULL, &info);
    ck_assert_int_eq(model_predict(m, &p->test.base, mean, var,
                                   &(struct tools){backend_cpu(), NULL, NULL}, NULL),
                     ST_OK);
    o.targets = 0;
    for (size_t j = 0; j < T; j++) {
        struct model *s = fit(p, p->y + j * N, &o, backend_cpu(), NULL, &info);
        ck_assert_int_eq(model_predict(s, &p->test.base, one, var1,
                                       &(struct tools){backend_cpu(), NULL, NULL}, NULL),
                         ST_OK);
        ck_assert(support_close(s->amplitude, m->amplitudes[j], 1e-8));
        for (size_t i = 0; i < NT; i++) {
            ck_assert(support_close(mean[j * NT + i], one[i], 1e-7));
            ck_assert(support_close(var[j * NT + i], var1[i], 1e-8));
        }
        model_unref(s);
    }
    model_unref(m);
    free(p);
}
END_TEST

/* Whatever allocation fails: an error, no model, nothing lost (the leak checker looks). */
START_TEST(allocation_failures_are_errors)
{
    static const char *const solver[] = { "direct", "pcg", "exact", "lbfgs" };
    struct prob *p = prob_make();
    struct source_array src;
    const double hp = 1.2;
    double y[T * 60], v, a[T], n[T], g[2];
    size_t failures = 0;

    for (size_t j = 0; j < T; j++)
        memcpy(y + j * 60, p->y + j * N, 60 * sizeof *y);
    source_array_init(&src, p->X, 60, D, D);
    for (size_t w = 0; w < 4; w++)
        for (size_t i = 1; i < 140; i++) {
            struct fit_opts o = options("rbf", solver[w], w == 2 ? 0 : 64);
            struct fit_info info;
            struct model *m = NULL;
            struct err err = { 0 };
            o.rank = 16;
            o.keep_ratio = i % 2;
            mem_fail_after_for_tests(i);
            const enum status rc =
                model_fit(&src.base, y, &o, &(struct tools){backend_cpu(), NULL, NULL}, &m, &info,
                          NULL, &err);
            mem_fail_after_for_tests(0);
            if (rc == ST_OK) {
                model_unref(m);
                continue;
            }
            failures++;
            ck_assert_int_eq(rc, ST_NOMEM);
            ck_assert_ptr_null(m);
        }
    ck_assert(failures > 20);
    for (size_t M = 32; M <= 4 * N; M += 4 * N - 32) {
        struct feats s = feats_make(p, "rbf", M, &hp);
        const struct nmll_slq_opts o = { .rank = 8, .probes = 4, .rtol = 1e-6, .seed = 1 };
        for (size_t i = 1; i < 60; i++) {
            enum status rc[3];
            mem_fail_after_for_tests(i);
            rc[0] = nmll_features(
                s.f,
                &(struct nmll_ask){.t = T,
                                   .y = p->y,
                                   .hp = &hp,
                                   .nhp = 1,
                                   .scale = NMLL_BEST,
                                   .within = &(struct nmll_bounds){{wide_a[0], wide_a[1]},
                                                                   {wide_n[0], wide_n[1]}}},
                &(struct nmll_told){.value = &v, .amplitude = a, .noise = n, .grad = g}, NULL,
                NULL);
            mem_fail_after_for_tests(i);
            rc[1] = nmll_loo(
                s.f,
                &(struct nmll_ask){.t = T,
                                   .y = p->y,
                                   .hp = &hp,
                                   .nhp = 1,
                                   .scale = NMLL_BEST,
                                   .within = &(struct nmll_bounds){{wide_a[0], wide_a[1]},
                                                                   {wide_n[0], wide_n[1]}}},
                NULL, NULL, &(struct nmll_told){.mse = &v, .value = &v, .amplitude = a, .noise = n},
                NULL, NULL);
            mem_fail_after_for_tests(i);
            rc[2] = nmll_slq(
                s.f,
                &(struct nmll_ask){.t = T,
                                   .y = p->y,
                                   .hp = &hp,
                                   .nhp = 1,
                                   .scale = NMLL_RATIO,
                                   .ratio = 0.1,
                                   .within = &(struct nmll_bounds){{wide_a[0], wide_a[1]},
                                                                   {wide_n[0], wide_n[1]}}},
                &o, &(struct nmll_told){.value = &v, .amplitude = a, .noise = n, .grad = g}, NULL,
                NULL);
            mem_fail_after_for_tests(0);
            for (size_t k = 0; k < 3; k++)
                ck_assert(rc[k] == ST_OK || rc[k] == ST_NOMEM);
        }
        feats_free(&s);
    }
    free(p);
}
END_TEST

START_TEST(starts)
{
    struct prob *p = prob_make();
    struct fit_opts o = options("rbf", "pcg", 96);
    struct fit_info info;
    struct model *m = fit(p, p->y, &o, backend_cpu(), NULL, &info), *out = NULL;
    struct err err = { 0 };

    o.start = m;
    model_unref(fit(p, p->y, &o, backend_cpu(), NULL, &info));
    ck_assert(info.warm && info.iterations <= 1 && info.start_residual < 1e-6);
    o.targets = 2;
    ck_assert_int_eq(model_fit(&p->src.base, p->y, &o, &(struct tools){backend_cpu(), NULL, NULL},
                               &out, &info, NULL, &err),
                     ST_STATE);
    ck_assert_ptr_nonnull(strstr(err.msg, "3 targets"));
    o.start = NULL;
    for (size_t i = 0; i < N; i++)
        p->y[N + i] = 4.0;
    ck_assert_int_eq(model_fit(&p->src.base, p->y, &o, &(struct tools){backend_cpu(), NULL, NULL},
                               &out, &info, NULL, &err),
                     ST_RANGE);
    o.targets = TARGETS_MOST + 1;
    ck_assert_int_eq(model_fit(&p->src.base, p->y, &o, &(struct tools){backend_cpu(), NULL, NULL},
                               &out, &info, NULL, &err),
                     ST_RANGE);
    model_unref(m);
    free(p);
}
END_TEST

/* Tuning. */

/* Every way to tune: of the same target three times the value is threefold and the point the same;
 * of three targets the value is the sum of the dense closed forms at the point it names. */
START_TEST(tunings)
{
    static const struct { const char *method; bool exact, approx; enum tune_objective objective;
                          size_t features, rows;
    } way[] = {
        {"bayes", true, false, TUNE_NMLL, 0, 0},        {"bayes", false, false, TUNE_NMLL, 64, 0},
        {"bayes", false, false, TUNE_NMLL, 320, 0},     {"lbfgs", false, false, TUNE_NMLL, 64, 90},
        {"bayes", false, false, TUNE_LOO, 64, 0},       {"grid", true, false, TUNE_NMLL, 0, 0},
        {"neldermead", false, false, TUNE_NMLL, 64, 0}, {"bayes", false, true, TUNE_NMLL, 64, 90},
    };
    struct prob *p = prob_make();
    const struct kernel k = parse("matern(nu=5/2)");
    struct tune_opts o = {.method = way[_i].method,
                          .kind = way[_i].exact ? &exact_model : NULL,
                          .approx = way[_i].approx,
                          .objective = way[_i].objective,
                          .features = way[_i].features,
                          .subsample = way[_i].rows,
                          .polish = true,
                          .seed = 4,
                          .rank = 24,
                          .probes = 24,
                          .precision = PREC_DOUBLE};
    struct tune_result one, three;
    double again[T * N];

    ck_assert_int_eq(tune_run(&k, &p->src.base, p->y, &o,
                              &(struct tools){backend_cpu(), NULL, NULL}, &one, NULL),
                     ST_OK);
    for (size_t j = 0; j < T; j++)
        memcpy(again + j * N, p->y, N * sizeof *again);
    o.targets = T;
    ck_assert_int_eq(tune_run(&k, &p->src.base, again, &o,
                              &(struct tools){backend_cpu(), NULL, NULL}, &three, NULL),
                     ST_OK);
    /* The same valley; descents that are scaled otherwise stop elsewhere on its floor. */
    ck_assert_double_le(fabs(three.best.score / T - one.best.score), 0.01 + 3.0 * one.best.se);
    ck_assert_double_le(fabs(log(three.best.hp[0] / one.best.hp[0])), 0.05);
    for (size_t j = 0; j < T; j++) {
        ck_assert_double_le(fabs(log(three.best.amplitudes[j] / one.best.amplitude)), 0.1);
        ck_assert_double_le(fabs(log(three.best.noises[j] / one.best.noise)), 0.1);
    }
    tune_result_free(&three);
    tune_result_free(&one);

    ck_assert_int_eq(tune_run(&k, &p->src.base, p->y, &o,
                              &(struct tools){backend_cpu(), NULL, NULL}, &three, NULL),
                     ST_OK);
    const struct tune_point *b = &three.best;
    struct feats s = { 0 };
    if (!way[_i].exact) {
        struct fop_opts fo = { .precision = PREC_DOUBLE };
        s.M = o.features;
        s.map = featmap_new(&k, D, s.M, o.seed, NULL);
        s.f = fop_new(backend_cpu(), s.map, &p->src.base, &fo, NULL);
        s.Z = malloc(N * s.M * sizeof *s.Z);
        ck_assert(s.f && s.Z && fop_set(s.f, b->hp, NULL) == ST_OK);
        ck_assert_int_eq(fop_tile64(s.f, 0, N, s.Z, s.M, NULL), ST_OK);
    }
    const double a[2] = { 0.05, 50.0 }, n[2] = { 1e-4, 10.0 }; /* the default bounds */
    const double want = dense_nmll(p, way[_i].exact ? NULL : &s, &k, b->hp,
                                   ratio_of(b->amplitudes, b->noises), a, n);
    ck_assert_msg(fabs(b->nmll - want) <= 1e-6 * (1.0 + fabs(want)) + 4.0 * b->se, "%.9g %.9g",
                  b->nmll, want);
    ck_assert(!b->subsampled);
    ck_assert(b->amplitude == b->amplitudes[0] && b->noise == b->noises[0]);
    if (!way[_i].exact)
        feats_free(&s);
    tune_result_free(&three);
    free(p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("targets");
    TCase *t = tcase_create("targets");

    blas_init();
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, likelihoods_add_up, 0, 3);
    tcase_add_loop_test(t, bounds_hold_for_each, 0, 2);
    tcase_add_loop_test(t, gradients, 0, 4);
    tcase_add_loop_test(t, exact_at_a_ratio, 0, 2);
    tcase_add_test(t, probes_at_a_ratio);
    tcase_add_loop_test(t, leave_one_out, 0, 2);
    tcase_add_loop_test(t, fits_agree_with_dense, 0, 8);
    tcase_add_loop_test(t, one_pass_for_all_targets, 0, 3);
    tcase_add_loop_test(t, same_bits_for_any_thread_count, 0, 7);
    tcase_add_loop_test(t, weighted_rows, 0, 3);
    tcase_add_test(t, allocation_failures_are_errors);
    tcase_add_test(t, starts);
    tcase_add_loop_test(t, tunings, 0, 8);
    suite_add_tcase(s, t);
    return support_run(s);
}
