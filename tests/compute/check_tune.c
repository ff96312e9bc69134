/* tests/compute/check_tune.c -- the search for hyperparameters: golden optima, bounds, fixed
 * values, stops, and that nothing comes out worse than it went in. */
#include "compute/backend.h"
#include "compute/linalg/blas.h"
#include "compute/rng.h"
#include "compute/models/tuning.h"
#include "compute/tuners/tune.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kernel parse(const char *text)
{
    struct kernel k;
    double set[KERNEL_MAX_HP];
    ck_assert_int_eq(kernel_parse(text, &k, set, NULL), ST_OK);
    return k;
}

static struct tune_opts options(size_t features)
{
    return (struct tune_opts){ .method = "bayes", .features = features, .polish = true, .seed = 5 };
}

enum { N = 600, D = 2 };
struct prob { double X[N * D], y[N]; struct source_array src; };

/* A smooth function of two inputs with noise 0.2, scaled to unit variance. */
static struct prob *prob_make(double noise)
{
    struct prob *p = malloc(sizeof *p);
    double mean = 0, var = 0;

    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i < N * D; i++)
        p->X[i] = rng_normal(31, rng_stream(RNG_TEST, 1), i);
    for (size_t i = 0; i < N; i++) {
        p->y[i] = noise < 0 ? 0.0 : sin(1.5 * p->X[i * D]) + cos(p->X[i * D + 1]);
        p->y[i] += fabs(noise) * rng_normal(31, rng_stream(RNG_TEST, 2), i);
        mean += p->y[i] / N;
    }
    for (size_t i = 0; i < N; i++)
        var += (p->y[i] - mean) * (p->y[i] - mean) / N;
    for (size_t i = 0; i < N; i++)
        p->y[i] = (p->y[i] - mean) / sqrt(var);
    source_array_init(&p->src, p->X, N, D, D);
    return p;
}

static struct tune_result run(const struct prob *p, const char *kernel, const struct tune_opts *o,
                              struct pool *pool)
{
    struct kernel k = parse(kernel);
    struct tune_result res;
    struct err err = { 0 };
    const enum status rc =
        tune_run(&k, &p->src.base, p->y, o, &(struct tools){backend_cpu(), pool, NULL}, &res, &err);
    ck_assert_msg(rc == ST_OK, "%s", err.msg);
    return res;
}

/* NMLL at a point, by nmll_features on all rows. */
static double score(const struct prob *p, const char *kernel, const struct tune_opts *o,
                    const struct tune_point *at)
{
    struct kernel k = parse(kernel);
    struct fop_opts fo = { .precision = o->precision };
    struct featmap *map = featmap_new(&k, D, o->features, o->seed, NULL);
    struct fop *f = fop_new(backend_cpu(), map, &p->src.base, &fo, NULL);
    double v;
    ck_assert_int_eq(
        nmll_features(
            f,
            &(struct nmll_ask){
                .y = p->y, .hp = at->hp, .nhp = 1, .amplitude = at->amplitude, .noise = at->noise},
            &(struct nmll_told){.value = &v}, NULL, NULL),
        ST_OK);
    fop_free(f);
    featmap_free(map);
    return v;
}

/* The exact kernel's golden optimum (found there by another optimiser). */
START_TEST(exact_optimum_is_golden)
{
    static const char *const text[] = { "rbf", "matern(nu=3/2)", "matern(nu=5/2)" };
    static const char *const name[] = { "rbf", "mat32", "mat52" };
    size_t n, d, r, c;
    char key[40];
    double *X = support_golden("gp_X", &n, &d), *y = support_golden("gp_y", &r, &c);
    struct source_array src;
    struct kernel k = parse(text[_i]);
    struct tune_opts o = options(0);
    struct tune_result res;
    struct err err = { 0 };

    source_array_init(&src, X, n, d, d);
    o.kind = &exact_model;
    o.mem_limit = (size_t)1 << 30;
    ck_assert_msg(tune_run(&k, &src.base, y, &o, &(struct tools){backend_cpu(), NULL, NULL}, &res,
                           &err) == ST_OK,
                  "%s", err.msg);
    snprintf(key, sizeof key, "opt_nmll_%s", name[_i]);
    const double want = support_golden_scalar("gp_scalars", key);
    ck_assert_double_le(res.best.nmll, want + 1e-6 * fabs(want));
    /* The same valley, not a better one elsewhere. */
    snprintf(key, sizeof key, "opt_s_%s", name[_i]);
    ck_assert_double_le(fabs(res.best.hp[0] * support_golden_scalar("gp_scalars", key) - 1), 1e-3);
    snprintf(key, sizeof key, "opt_lam2_%s", name[_i]);
    ck_assert_double_le(fabs(res.best.noise / sqrt(support_golden_scalar("gp_scalars", key)) - 1),
                        1e-3);
    ck_assert(!res.best.subsampled && res.best.effdim > 1.0);
    ck_assert_int_eq(res.at_lower | res.at_upper, 0);
    tune_result_free(&res);
    free(X), free(y);
}
END_TEST

/* Two of many inputs matter, and no single lengthscale sees them: the best of those calls all of it
 * noise.  One for each finds the two. */
START_TEST(ard_finds_the_inputs)
{
    enum { ROWS = 500, INPUTS = 20, A = 3, B = 11 };
    double *X = malloc(ROWS * INPUTS * sizeof *X), *y = malloc(ROWS * sizeof *y);
    struct source_array src;
    struct kernel one = parse("rbf"), each = parse("rbf(ard=20)");
    struct tune_opts o = options(256);
    struct tune_result res;

    for (size_t i = 0; i < ROWS * INPUTS; i++)
        X[i] = rng_normal(21, rng_stream(RNG_TEST, 1), i);
    for (size_t i = 0; i < ROWS; i++)
        y[i] = 1.4 * sin(2.5 * X[i * INPUTS + A] + X[i * INPUTS + B]) +
               0.1 * rng_normal(21, rng_stream(RNG_TEST, 2), i);
    source_array_init(&src, X, ROWS, INPUTS, INPUTS);
    ck_assert_int_eq(
        tune_run(&one, &src.base, y, &o, &(struct tools){backend_cpu(), NULL, NULL}, &res, NULL),
        ST_OK);
    ck_assert_double_ge(res.best.noise, 0.7); /* the premise */
    tune_result_free(&res);
    ck_assert_int_eq(
        tune_run(&each, &src.base, y, &o, &(struct tools){backend_cpu(), NULL, NULL}, &res, NULL),
        ST_OK);
    ck_assert_double_le(res.best.noise, 0.2); /* 0.1 was put in */
    for (size_t i = 0; i < INPUTS; i++) {
        if (i == A || i == B)
            ck_assert_double_le(res.best.hp[i], 5.0);
        else
            ck_assert_double_ge(res.best.hp[i], 10.0);
    }
    tune_result_free(&res);
    free(X), free(y);
}
END_TEST

/* With ARD in a sum the search over one lengthscale leaves what was given as it is (a period that
 * nothing would find again), and all weights. */
START_TEST(ard_keeps_what_is_given)
{
    enum { PERIOD = 3, WEIGHT = 4, FIRST = 10 };
    struct prob *p = prob_make(0.2);
    struct tune_opts o = options(64);
    double start[] = { 1.0, 1.0, 1.0, 0.3, 1.0 };
    o.start = start;

    for (int given = 0; given < 2; given++) {
        start[PERIOD] = given ? 0.3 : 1.0; /* 1 is where it starts by itself */
        struct tune_result res = run(p, "rbf(ard=2) * periodic + linear", &o, NULL);
        size_t kept = 0;
        ck_assert_uint_gt(res.ntrace, FIRST);
        for (size_t i = 0; i < FIRST; i++) {
            ck_assert(support_close(res.trace[i].hp[WEIGHT], 1.0, 1e-9));
            ck_assert(support_close(res.trace[i].hp[0], res.trace[i].hp[1], 1e-9));
            kept += support_close(res.trace[i].hp[PERIOD], start[PERIOD], 1e-9);
        }
        ck_assert(given ? kept == FIRST : kept < 3);
        ck_assert_double_le(res.best.noise, 0.4);
        tune_result_free(&res);
    }
    free(p);
}
END_TEST

/* Every method, with and without polish: what is reported is what the formula gives there, and a
 * dense grid finds nothing better. */
START_TEST(methods_find_the_optimum)
{
    static const char *const method[] = { "bayes", "grid", "lbfgs", "neldermead", "bobyqa" };
    struct prob *p = prob_make(0.2);
    struct tune_opts o = options(128);
    o.method = method[_i];
    o.precision = PREC_DOUBLE;
    struct tune_result res = run(p, "rbf", &o, NULL);
    const double v = score(p, "rbf", &o, &res.best);
    ck_assert_double_le(fabs(v - res.best.nmll), 1e-6 * fabs(v));

    struct kernel k = parse("rbf");
    struct fop_opts fo = { .precision = PREC_DOUBLE };
    struct featmap *map = featmap_new(&k, D, o.features, o.seed, NULL);
    struct fop *f = fop_new(backend_cpu(), map, &p->src.base, &fo, NULL);
    const double ab[2] = { 0.05, 50 }, nb[2] = { 1e-4, 10 };
    for (double l = 0.02; l < 900; l *= 1.5) {
        double value, a = 0, s = 0;
        ck_assert_int_eq(
            nmll_features(
                f,
                &(struct nmll_ask){.y = p->y,
                                   .hp = &l,
                                   .nhp = 1,
                                   .scale = NMLL_BEST,
                                   .within = &(struct nmll_bounds){{ab[0], ab[1]}, {nb[0], nb[1]}}},
                &(struct nmll_told){.value = &value, .amplitude = &a, .noise = &s}, NULL, NULL),
            ST_OK);
        ck_assert_double_le(res.best.nmll, value + 1e-6 * fabs(value));
    }
    fop_free(f);
    featmap_free(map);
    ck_assert_int_eq(res.why, TUNE_DONE);
    ck_assert_uint_eq(res.ntrace, res.evaluations);
    ck_assert(!res.degenerate);
    for (size_t i = 0; i < res.ntrace; i++)
        ck_assert(!(res.trace[i].nmll < res.best.nmll));
    tune_result_free(&res);
    free(p);
}
END_TEST

/* Search on a sample, result on all rows. */
START_TEST(sample_then_all_rows)
{
    struct prob *p = prob_make(0.2);
    struct tune_opts o = options(128);
    o.subsample = 200;
    struct tune_result res = run(p, "matern(nu=5/2)", &o, NULL);
    size_t sampled = 0;
    for (size_t i = 0; i < res.ntrace; i++)
        sampled += res.trace[i].subsampled;
    ck_assert(sampled >= 10 && sampled < res.ntrace);
    ck_assert(!res.best.subsampled);
    const double v = score(p, "matern(nu=5/2)", &o, &res.best);
    ck_assert_double_le(fabs(v - res.best.nmll), 1e-4 * fabs(v));
    o.subsample = 0;
    struct tune_result all = run(p, "matern(nu=5/2)", &o, NULL);
    ck_assert_double_le(fabs(all.best.nmll - res.best.nmll), 0.05);
    /* Without a polish the sample's best is still scored on all rows. */
    o.subsample = 200;
    o.polish = false;
    struct tune_result rough = run(p, "matern(nu=5/2)", &o, NULL);
    ck_assert(!rough.best.subsampled);
    ck_assert_double_le(all.best.nmll, rough.best.nmll + 0.05);
    tune_result_free(&res), tune_result_free(&all), tune_result_free(&rough);
    free(p);
}
END_TEST

/* Of many rows the descent in one hyperparameter goes by values alone.  Where it ends, no value of
 * a fine grid around it is less, by the likelihood itself; with the optimum beyond a bound (1, 2)
 * it ends there; and it makes no more evaluations than it may (3). */
START_TEST(many_rows_end_at_the_least_value)
{
    enum { ROWS = 4500, FEATURES = 64 };
    static const struct tune_bound bounds[] = { { .lo = 0.0 }, { .lo = 4, .hi = 20 },
                                                { .lo = 0.2, .hi = 0.5 }, { .lo = 0.0 } };
    double *X = malloc(ROWS * sizeof *X), *y = malloc(ROWS * sizeof *y);
    struct source_array src;
    struct kernel k = parse("rbf");
    struct tune_opts o = options(FEATURES);
    struct tune_result res;

    for (size_t i = 0; i < ROWS; i++) {
        X[i] = rng_normal(33, rng_stream(RNG_TEST, 1), i);
        y[i] = 1.3 * sin(1.5 * X[i]) + 0.3 * rng_normal(33, rng_stream(RNG_TEST, 2), i);
    }
    source_array_init(&src, X, ROWS, 1, 1);
    o.precision = PREC_DOUBLE;
    o.hp[0] = bounds[_i];
    o.max_evals = _i == 3 ? 14 : 0;
    ck_assert_int_eq(tune_run(&k, &src.base, y, &o, &(struct tools){backend_cpu(), NULL, NULL},
                              &res, NULL), ST_OK);
    ck_assert(!res.best.subsampled);
    ck_assert_msg((res.at_lower & 1u) == (_i == 1), "%g", res.best.hp[0]);
    ck_assert_msg((res.at_upper & 1u) == (_i == 2), "%g %g", res.best.hp[0], res.best.nmll);
    ck_assert_uint_le(res.evaluations, _i == 3 ? 14 : 21);
    struct featmap *map = featmap_new(&k, 1, FEATURES, o.seed, NULL);
    struct fop *f = fop_new(backend_cpu(), map, &src.base,
                            &(struct fop_opts){ .precision = PREC_DOUBLE }, NULL);
    for (int i = -40; i <= 40 && _i < 3; i++) {
        const double l = res.best.hp[0] * exp(0.005 * i);
        const struct nmll_bounds within = { { tune_amplitude_range[0], tune_amplitude_range[1] },
                                            { tune_noise_range[0], tune_noise_range[1] } };
        struct nmll_ask ask = { .y = y, .hp = &l, .nhp = 1, .scale = NMLL_BEST, .amplitude = 1.0,
                                .noise = 0.3, .within = &within };
        double v, amplitude, noise;
        if (_i > 0 && (l < bounds[_i].lo || l > bounds[_i].hi))
            continue;
        ck_assert_int_eq(nmll_features(f, &ask, &(struct nmll_told){ .value = &v,
                                                                     .amplitude = &amplitude,
                                                                     .noise = &noise },
                                       NULL, NULL), ST_OK);
        ck_assert_double_ge(v, res.best.nmll - 5e-6 * ROWS);
        if (i == 0)
            ck_assert_double_le(fabs(v - res.best.nmll), 1e-4);
    }
    fop_free(f);
    featmap_free(map);
    tune_result_free(&res);
    free(X), free(y);
}
END_TEST

/* By probes: the descent ends where they cannot tell a further step's gain, says so, and has lost
 * no more than that; exactly the same problem takes more steps. */
START_TEST(probes_end_at_a_tie)
{
    struct prob *p = prob_make(0.2);
    struct tune_opts o = options(128);
    o.precision = PREC_DOUBLE;
    struct tune_result exact = run(p, "matern(nu=5/2)", &o, NULL);
    o.approx = true;
    o.rank = 8;
    o.probes = 6;
    struct tune_result res = run(p, "matern(nu=5/2)", &o, NULL);
    ck_assert_int_eq(res.why, TUNE_TIE);
    ck_assert(res.best.se > 0.0 && res.tie_gain < res.tie_error && res.tie_error < res.best.se);
    ck_assert_msg(strstr(res.verdict, "a tie"), "%s", res.verdict);
    ck_assert_double_le(fabs(score(p, "matern(nu=5/2)", &o, &res.best) - res.best.nmll),
                        4.0 * res.best.se);
    ck_assert_double_le(score(p, "matern(nu=5/2)", &o, &res.best) - exact.best.nmll,
                        2.0 * res.best.se);
    tune_result_free(&res), tune_result_free(&exact);
    free(p);
}
END_TEST

/* With nothing or only amplitude and noise to search for, and where the Gram would cost less: what
 * is reported comes of probes all the same. */
START_TEST(probes_where_asked_for)
{
    struct prob *p = prob_make(0.2);
    struct tune_opts o = options(128);
    o.precision = PREC_DOUBLE;
    o.approx = true;
    o.rank = 16;
    o.probes = 8;
    o.hp[0] = (struct tune_bound){ .fixed = true, .value = 1.3 };
    if (_i) {
        o.amplitude = (struct tune_bound){ .fixed = true, .value = 1.0 };
        o.noise = (struct tune_bound){ .fixed = true, .value = 0.3 };
    }
    struct tune_result res = run(p, "rbf", &o, NULL);
    const double v = score(p, "rbf", &o, &res.best);
    ck_assert(res.best.se > 0.0 && !res.best.subsampled);
    ck_assert(res.best.nmll != v && fabs(res.best.nmll - v) < 4.0 * res.best.se);
    if (_i)
        ck_assert(res.best.amplitude == 1.0 && res.best.noise == 0.3);
    for (size_t i = 0; i < res.ntrace; i++)
        ck_assert(res.trace[i].subsampled == !(res.trace[i].se > 0.0));
    tune_result_free(&res);
    free(p);
}
END_TEST

/* A rank that was chosen where a sample of ten rows saw no noise does not stay where all rows see
 * some. */
START_TEST(rank_follows_the_noise)
{
    struct prob *p = prob_make(0.3);
    struct tune_opts o = options(512);
    size_t rank[2];

    o.precision = PREC_DOUBLE;
    o.approx = true;
    o.probes = 4;
    o.hp[0] = (struct tune_bound){ .fixed = true, .value = 0.4 };
    o.amplitude = (struct tune_bound){ .fixed = true, .value = 1.0 };
    for (int i = 0; i < 2; i++) { /* what suits one setting */
        o.noise = (struct tune_bound){ .fixed = true, .value = i ? 0.25 : 1e-4 };
        struct tune_result at = run(p, "matern(nu=3/2)", &o, NULL);
        rank[i] = at.rank;
        tune_result_free(&at);
    }
    ck_assert_uint_gt(rank[0], rank[1]); /* the premise */
    o.noise = (struct tune_bound){ 0 };
    o.subsample = 10;
    o.max_evals = 150;
    struct tune_result res = run(p, "matern(nu=3/2)", &o, NULL);
    ck_assert_double_le(res.trace[1].noise, 1e-3);
    ck_assert_msg(res.best.noise > 0.1 && res.best.noise < 0.5, "noise %g, %zu evaluations",
                  res.best.noise, res.evaluations);
    ck_assert_uint_lt(res.rank, rank[0]);
    ck_assert_double_le(fabs(score(p, "matern(nu=3/2)", &o, &res.best) - res.best.nmll),
                        4.0 * res.best.se);
    tune_result_free(&res);
    o.rank = rank[0]; /* one that was given stays */
    res = run(p, "matern(nu=3/2)", &o, NULL);
    ck_assert_uint_eq(res.rank, rank[0]);
    tune_result_free(&res);
    free(p);
}
END_TEST

START_TEST(never_worse_than_the_start)
{
    struct prob *p = prob_make(0.2);
    struct tune_opts o = options(128);
    const double start[] = { 0.9 };
    o.start = start;
    o.max_evals = 3;
    o.method = "grid"; /* three points, none near the optimum */
    o.polish = _i;
    struct tune_result res = run(p, "rbf", &o, NULL);
    o.hp[0] = (struct tune_bound){ .fixed = true, .value = 0.9 };
    struct tune_result at = run(p, "rbf", &o, NULL);
    ck_assert_double_le(res.best.nmll, at.best.nmll + 1e-3);
    tune_result_free(&res), tune_result_free(&at);
    free(p);
}
END_TEST

/* A start that the search did not look at, and a sample beside all rows: whatever the sample says
 * of the start, the result is one of all rows.  0: a start far off; 1: one that is not; 2: one that
 * the sample alone rules out. */
START_TEST(starts_beside_a_sample)
{
    struct prob *p = prob_make(0.2);
    struct tune_opts o = options(128);
    const double start[] = { _i == 0 ? 300.0 : _i == 1 ? 0.9 : 0.011 };
    o.precision = PREC_DOUBLE; /* an amplitude at its bound leaves single precision no digits */
    o.start = start;
    o.subsample = 150;
    o.max_evals = 3;
    o.method = "grid";
    struct tune_result res = run(p, "rbf", &o, NULL);
    ck_assert(!res.best.subsampled);
    o.hp[0] = (struct tune_bound){ .fixed = true, .value = start[0] };
    struct tune_result at = run(p, "rbf", &o, NULL);
    ck_assert_double_le(res.best.nmll, at.best.nmll + 1e-3);
    ck_assert(_i == 1 || res.best.nmll < at.best.nmll - 50.0);
    ck_assert_double_le(fabs(res.best.nmll - score(p, "rbf", &o, &res.best)),
                        1e-3 * N); /* all rows' */
    tune_result_free(&res), tune_result_free(&at);
    free(p);
}
END_TEST

/* A start in a better valley than the one searched is polished, not only kept. */
START_TEST(better_starts_are_polished)
{
    enum { ROWS = 300 };
    double X[ROWS], y[ROWS];
    struct source_array src;
    struct kernel k = parse("periodic");
    struct tune_opts o = options(128);
    const double start[] = { 1.0, 0.7006 };
    struct tune_result res, at;

    for (size_t i = 0; i < ROWS; i++) {
        X[i] = 20.0 * rng_uniform(41, rng_stream(RNG_TEST, 1), i);
        y[i] =
            1.4 * sin(2.0 * M_PI * X[i] / 0.7) + 0.1 * rng_normal(41, rng_stream(RNG_TEST, 2), i);
    }
    source_array_init(&src, X, ROWS, 1, 1);
    o.method = "grid";
    o.max_evals = 30;
    o.precision = PREC_DOUBLE;
    o.start = start;
    ck_assert_int_eq(
        tune_run(&k, &src.base, y, &o, &(struct tools){backend_cpu(), NULL, NULL}, &res, NULL),
        ST_OK);
    o.hp[0] = (struct tune_bound){ .fixed = true, .value = start[0] };
    o.hp[1] = (struct tune_bound){ .fixed = true, .value = start[1] };
    ck_assert_int_eq(
        tune_run(&k, &src.base, y, &o, &(struct tools){backend_cpu(), NULL, NULL}, &at, NULL),
        ST_OK);
    ck_assert_double_le(res.best.nmll, at.best.nmll - 5.0);
    ck_assert_double_le(fabs(res.best.hp[1] - 0.7), 0.0004);
    tune_result_free(&res), tune_result_free(&at);
}
END_TEST

/* A limit holds whatever the method, with and without a search on fewer rows, and the result is not
 * worse than the start from three evaluations on. */
START_TEST(limits_hold)
{
    static const char *const method[] = { "bayes", "grid", "lbfgs", "neldermead", "bobyqa" };
    static const size_t limit[] = { 1, 2, 3, 4, 5, 8, 13 };
    struct prob *p = prob_make(0.2);
    struct tune_opts o = options(64), plain;
    const double start[] = { 0.9 };
    struct tune_result at;

    o.precision = PREC_DOUBLE; /* an amplitude at its bound leaves single precision no digits */
    o.method = method[_i];
    o.start = start;
    plain = o;
    plain.hp[0] = (struct tune_bound){ .fixed = true, .value = start[0] };
    plain.polish = false;
    at = run(p, "rbf", &plain, NULL);
    for (size_t k = 0; k < 2 * sizeof limit / sizeof *limit; k++) {
        o.max_evals = limit[k / 2];
        o.subsample = k % 2 ? 150 : 0;
        struct tune_result res = run(p, "rbf", &o, NULL);
        ck_assert_uint_ge(res.evaluations, 1);
        ck_assert_uint_le(res.evaluations, o.max_evals);
        ck_assert_uint_eq(res.evaluations, res.ntrace);
        ck_assert(isfinite(res.best.nmll));
        if (o.max_evals > 2)
            ck_assert_double_le(res.best.nmll, at.best.nmll + 1e-6 * fabs(at.best.nmll));
        tune_result_free(&res);
    }
    tune_result_free(&at);
    free(p);
}
END_TEST

/* Searches of several: the first is the one that there would be alone (one descent of it), each
 * other begins elsewhere on the same features, and none ends worse than it began. */
START_TEST(restarts_begin_apart)
{
    enum { RESTARTS = 3 };
    static const char *const method[] = { "bayes", "grid", "lbfgs", "neldermead", "bobyqa" };
    struct prob *p = prob_make(0.2);
    struct tune_opts o = options(128), plain;
    const double start[] = { 0.9 };
    struct tune_result res[RESTARTS];

    o.method = method[_i];
    o.precision = PREC_DOUBLE;
    o.start = start;
    plain = o;
    o.restarts = RESTARTS;
    for (o.restart = 0; o.restart < RESTARTS; o.restart++) {
        res[o.restart] = run(p, "rbf", &o, NULL);
        const struct tune_result *r = &res[o.restart];
        const double v = score(p, "rbf", &o, &r->best);
        ck_assert_double_le(fabs(v - r->best.nmll), 1e-6 * fabs(v)); /* the same features */
        ck_assert_double_le(r->best.nmll, r->trace[0].nmll);
        if (_i <
            2) /* these look everywhere: all find the one valley; a descent may end on a plain */
            ck_assert_double_le(r->best.nmll, res[0].best.nmll + 0.05);
    }
    for (size_t i = 1; i < RESTARTS; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert(res[i].trace[0].hp[0] != res[j].trace[0].hp[0]);
    if (!strcmp(o.method, "bayes") || !strcmp(o.method, "grid")) {
        struct tune_result alone = run(p, "rbf", &plain, NULL);
        ck_assert_uint_eq(alone.ntrace, res[0].ntrace);
        ck_assert(alone.best.nmll == res[0].best.nmll && alone.best.hp[0] == res[0].best.hp[0]);
        tune_result_free(&alone);
    }
    for (size_t i = 0; i < RESTARTS; i++)
        tune_result_free(&res[i]);
    free(p);
}
END_TEST

/* A period far from the true one is a valley of its own: a descent from there stays, another start
 * finds the way. */
START_TEST(restarts_find_another_valley)
{
    enum { ROWS = 300, RESTARTS = 8 };
    double X[ROWS], y[ROWS], least = INFINITY;
    struct source_array src;
    struct kernel k = parse("periodic");
    struct tune_opts o = options(128);
    const double start[] = { 1.0, 7.3 };
    double first = NAN, turns = NAN;

    for (size_t i = 0; i < ROWS; i++) {
        X[i] = 20.0 * rng_uniform(41, rng_stream(RNG_TEST, 1), i);
        y[i] =
            1.4 * sin(2.0 * M_PI * X[i] / 0.7) + 0.1 * rng_normal(41, rng_stream(RNG_TEST, 2), i);
    }
    source_array_init(&src, X, ROWS, 1, 1);
    o.method = "lbfgs";
    o.precision = PREC_DOUBLE;
    o.start = start;
    o.restarts = RESTARTS;
    for (o.restart = 0; o.restart < RESTARTS; o.restart++) {
        struct tune_result res;
        ck_assert_int_eq(
            tune_run(&k, &src.base, y, &o, &(struct tools){backend_cpu(), NULL, NULL}, &res, NULL),
            ST_OK);
        if (o.restart == 0)
            first = res.best.noise;
        if (res.best.nmll < least) {
            least = res.best.nmll;
            turns = res.best.hp[1] / 0.7; /* the period, or several of them */
        }
        if (o.restart + 1 == RESTARTS)
            ck_assert_msg(first > 0.2, "the start's own valley has noise %g",
                          first); /* the premise */
        tune_result_free(&res);
    }
    ck_assert_double_le(least, -100.0);
    ck_assert_double_le(fabs(turns - round(turns)), 0.02);
}
END_TEST

/* With a lengthscale for each input the descents begin apart, too. */
START_TEST(restarts_of_many_lengthscales)
{
    struct prob *p = prob_make(0.2);
    struct tune_opts o = options(128);
    struct tune_result res[2];

    o.restarts = 2;
    for (o.restart = 0; o.restart < 2; o.restart++)
        res[o.restart] = run(p, "rbf(ard=2) * periodic + linear", &o, NULL);
    ck_assert(res[0].trace[0].hp[0] != res[1].trace[0].hp[0]);
    ck_assert_double_le(fmin(res[0].best.noise, res[1].best.noise), 0.4);
    tune_result_free(&res[0]), tune_result_free(&res[1]);
    free(p);
}
END_TEST

/* Forty inputs, of which one matters, or all: the result counts the lengthscales at a bound, also
 * those beyond the bits of at_lower and at_upper, and the verdict says how many there are. */
START_TEST(many_bounds_are_counted)
{
    enum { INPUTS = 40, ROWS = 120 };
    double *x = malloc(sizeof(double) * ROWS * INPUTS), y[ROWS];
    struct source_array src;
    struct kernel k = parse("rbf(ard=40)");
    struct err err = { 0 };

    ck_assert_ptr_nonnull(x);
    for (size_t i = 0; i < ROWS * INPUTS; i++)
        x[i] = rng_normal(31, rng_stream(RNG_TEST, 3), i);
    source_array_init(&src, x, ROWS, INPUTS, INPUTS);
    for (int all = 0; all < 2; all++) {
        struct tune_opts o = options(128);
        struct tune_result res;
        char words[80];
        size_t at = 0;

        o.max_evals = 150;
        if (all) /* with so little amplitude the function needs short lengthscales */
            o.amplitude = o.noise = (struct tune_bound){ .fixed = true, .value = 0.5 };
        for (size_t i = 0; i < INPUTS; i++)
            o.hp[i] = all ? (struct tune_bound){ .lo = 50.0, .hi = 5000.0 }
                          : (struct tune_bound){ .lo = 0.5, .hi = 4.0 };
        for (size_t i = 0; i < ROWS; i++) {
            y[i] = 0.05 * rng_normal(31, rng_stream(RNG_TEST, 4), i);
            for (size_t j = 0; j < (all ? INPUTS : 1); j++)
                y[i] += sin(x[i * INPUTS + j]) / (all ? 4.0 : 1.0);
        }
        const struct tools on = { backend_cpu(), NULL, NULL };
        ck_assert_int_eq(tune_run(&k, &src.base, y, &o, &on, &res, &err), ST_OK);
        for (size_t i = 0; i < INPUTS; i++)
            at += all ? res.best.hp[i] <= 50.0 * 1.005 : res.best.hp[i] >= 4.0 / 1.005;
        ck_assert_msg(at > 30, "all=%d: %zu at a bound", all, at); /* the premise: more than bits */
        ck_assert_uint_eq(all ? res.nlower : res.idle, at);
        if (all)
            snprintf(words, sizeof words, "(and %zu more are at a bound)",
                     res.nlower + res.nupper - 1);
        else
            snprintf(words, sizeof words, "but for %zu of %d lengthscales at their upper bound", at,
                     INPUTS);
        ck_assert_msg(strstr(res.verdict, words), "%s: %s", words, res.verdict);
        tune_result_free(&res);
    }
    free(x);
}
END_TEST

/* In a sum, only lengthscales of ARD at their upper bound are inputs without influence.  The second
 * lengthscale grows to its bound because the target does not depend on x2.  In the first case the
 * target is linear in x1, and the linear kernel would take more than its largest weight. */
START_TEST(only_lengthscales_are_idle)
{
    struct prob *p = prob_make(0.2);
    struct kernel k = parse("rbf(ard) + linear");
    struct tune_result res;
    size_t from[KERNEL_MAX_HP];
    double y[N];

    ck_assert_int_eq(kernel_bind(&k, D, from, NULL), ST_OK);
    const size_t weight = kernel_nhp(&k) - 1;
    ck_assert_uint_eq(kernel_place(&k, 1).weight, weight);
    for (size_t i = 0; i < N; i++)
        y[i] = (_i ? sin(2.0 * p->X[i * D]) : 0.9 * p->X[i * D]) +
               0.3 * rng_normal(31, rng_stream(RNG_TEST, 3), i);
    struct tune_opts o = options(64);
    o.method = "lbfgs";
    o.hp[1] = (struct tune_bound){ .lo = 0.5, .hi = 1.5 };
    o.hp[weight] = _i ? (struct tune_bound){ .fixed = true, .value = 0.5 }
                      : (struct tune_bound){ .lo = 0.01, .hi = 0.02 };
    ck_assert_int_eq(tune_run(&k, &p->src.base, y, &o,
                              &(struct tools){backend_cpu(), NULL, NULL}, &res, NULL),
                     ST_OK);
    ck_assert_msg(res.best.hp[1] >= 1.5 / 1.005, "%g", res.best.hp[1]); /* the premises */
    ck_assert_msg(_i || res.best.hp[weight] >= 0.02 / 1.005, "%g", res.best.hp[weight]);
    ck_assert_uint_eq(res.idle, 1);
    ck_assert_uint_eq(res.nupper, _i == 0);
    ck_assert_uint_eq(res.at_upper, _i ? 0 : tune_bit(kernel_nhp(&k), weight));
    ck_assert_msg(strstr(res.verdict, _i ? "but for 1 of 2 lengthscales at their upper bound"
                                         : "weight is at its upper bound, 0.02"),
                  "%s", res.verdict);
    tune_result_free(&res);
    free(p);
}
END_TEST

START_TEST(fixed_values_and_bounds)
{
    struct prob *p = prob_make(0.2);
    struct tune_opts o = options(128);
    o.noise = (struct tune_bound){ .fixed = true, .value = 0.5 };
    o.hp[0] = (struct tune_bound){ .lo = 3.0, .hi = 8.0 };
    struct tune_result res = run(p, "rbf", &o, NULL);
    ck_assert(res.best.noise == 0.5);
    ck_assert(res.best.hp[0] >= 3.0 && res.best.hp[0] <= 8.0);
    for (size_t i = 0; i < res.ntrace; i++)
        ck_assert(res.trace[i].hp[0] >= 3.0 && res.trace[i].hp[0] <= 8.0);
    ck_assert_int_eq(res.at_lower & 1u, 1u); /* the optimum is near 1 */
    ck_assert_int_eq(res.at_upper & 1u, 0);
    ck_assert_ptr_nonnull(strstr(res.verdict, "lengthscale is at its lower bound"));
    tune_result_free(&res);

    o = options(128);
    o.hp[0] = (struct tune_bound){ .fixed = true, .value = 1.2 };
    o.amplitude = (struct tune_bound){ .fixed = true, .value = 1.5 };
    o.noise = (struct tune_bound){ .fixed = true, .value = 0.3 };
    res = run(p, "rbf", &o, NULL);
    ck_assert(res.best.hp[0] == 1.2 && res.best.amplitude == 1.5);
    ck_assert_double_le(fabs(res.best.noise - 0.3), 1e-12);
    ck_assert_uint_eq(res.evaluations, 1);
    tune_result_free(&res);

    struct kernel k = parse("rbf");
    struct err err;
    o.hp[0] = (struct tune_bound){ .lo = 5, .hi = 2 };
    ck_assert_int_eq(tune_run(&k, &p->src.base, p->y, &o,
                              &(struct tools){backend_cpu(), NULL, NULL}, &res, &err),
                     ST_RANGE);
    free(p);
}
END_TEST

START_TEST(pure_noise_is_degenerate)
{
    struct prob *p = prob_make(-1.0);
    struct tune_opts o = options(64);
    struct tune_result res = run(p, "matern(nu=3/2)", &o, NULL);
    ck_assert_msg(res.degenerate, "l %g amplitude %g noise %g", res.best.hp[0], res.best.amplitude,
                  res.best.noise);
    ck_assert_ptr_nonnull(strstr(res.verdict, "noise explains"));
    tune_result_free(&res);
    free(p);
}
END_TEST

/* Hardly any noise at all: single precision makes the Gram indefinite somewhere in the bounds; that
 * is a bad point, not a failure. */
START_TEST(noise_free_data_are_survived)
{
    struct prob *p = prob_make(0.0);
    struct tune_opts o = options(_i ? 1600 : 256); /* both ways to the best noise */
    o.hp[0] = (struct tune_bound){ .lo = 0.5, .hi = 20 };
    o.max_evals = 6;
    struct pool *pool = pool_new(2, NULL);
    struct tune_result res = run(p, "rbf", &o, pool);
    ck_assert(isfinite(res.best.nmll) && res.best.noise < 0.05);
    tune_result_free(&res);
    pool_free(pool);
    free(p);
}
END_TEST

struct stopper { struct cancel cancel; size_t after, ticks; double best; };
static void stop_after(void *ctx, const struct tick *t)
{
    struct stopper *s = ctx;
    ck_assert_int_eq(t->phase, PHASE_TUNE);
    ck_assert_uint_eq(t->npoint, 3);
    ck_assert(t->point[0] > 0 && t->point[1] > 0 && t->point[2] > 0);
    s->ticks++;
    s->best = t->value2;
    if (t->done >= s->after)
        atomic_store(&s->cancel.stop, true);
}

START_TEST(stop_keeps_the_best)
{
    struct prob *p = prob_make(0.2);
    struct kernel k = parse("rbf");
    struct tune_opts o = options(128);
    struct tune_result res;

    for (size_t after = 1; after < 16; after += 7) {
        struct stopper s = { .after = after };
        struct ctl ctl = { &s.cancel, stop_after, &s };
        ck_assert_int_eq(tune_run(&k, &p->src.base, p->y, &o,
                                  &(struct tools){backend_cpu(), NULL, &ctl}, &res, NULL),
                         ST_OK);
        ck_assert_int_eq(res.why, TUNE_CANCELLED);
        ck_assert_uint_eq(res.evaluations, after);
        ck_assert_uint_eq(s.ticks, after);
        ck_assert(res.best.nmll == s.best);
        tune_result_free(&res);
    }
    struct stopper s = { .after = 1 };
    struct ctl ctl = { &s.cancel, stop_after, &s };
    atomic_store(&s.cancel.stop, true);
    ck_assert_int_eq(tune_run(&k, &p->src.base, p->y, &o,
                              &(struct tools){backend_cpu(), NULL, &ctl}, &res, NULL),
                     ST_CANCELLED);
    free(p);
}
END_TEST

START_TEST(same_bits_for_any_thread_count)
{
    struct prob *p = prob_make(0.2);
    struct tune_opts o = options(128);
    struct tune_result first = { 0 };

    o.subsample = 300;
    o.kind = _i ? &exact_model : NULL;
    for (size_t t = 1; t <= 3; t++) {
        struct pool *pool = pool_new(t, NULL);
        struct tune_result res = run(p, "matern(nu=5/2)", &o, pool);
        if (t == 1) {
            first = res;
        } else {
            ck_assert_uint_eq(res.ntrace, first.ntrace);
            for (size_t i = 0; i < res.ntrace; i++)
                ck_assert(res.trace[i].nmll == first.trace[i].nmll &&
                          res.trace[i].hp[0] == first.trace[i].hp[0] &&
                          res.trace[i].noise == first.trace[i].noise);
            tune_result_free(&res);
        }
        pool_free(pool);
    }
    tune_result_free(&first);
    free(p);
}
END_TEST

START_TEST(registry_and_refusals)
{
    struct prob *p = prob_make(0.2);
    struct kernel k = parse("rbf");
    struct tune_opts o = options(128);
    struct tune_result res;
    struct err err;
    static double many_y[20000];
    struct source_array many;

    for (size_t i = 0; tuner_at(i); i++) {
        ck_assert_ptr_eq(tuner_find(tuner_at(i)->name, &err), tuner_at(i));
        ck_assert(tuner_at(i)->title[0] && tuner_at(i)->help[0]);
    }
    for (size_t i = 0; model_kind_at(i); i++) { /* every kind can be tuned, or says what not */
        const struct model_tuning *m = model_kind_at(i)->tuning;
        ck_assert(m && m->best && m->at && m->allowed && m->close);
        ck_assert((m->errors || m->no_errors) && (m->probes || m->no_probes));
        const struct tuning_sizes z = m->sizes(&k, N, D, 64, 50);
        ck_assert(z.rows == 50 && z.cols > 0 && z.cols <= z.all_cols);
    }
    ck_assert_ptr_null(tuner_find("nonesuch", &err));
    ck_assert_int_eq(err.code, ST_NOT_FOUND);
    o.method = "nonesuch";
    ck_assert_int_eq(tune_run(&k, &p->src.base, p->y, &o,
                              &(struct tools){backend_cpu(), NULL, NULL}, &res, &err),
                     ST_NOT_FOUND);
    o = options(7);
    ck_assert_int_eq(tune_run(&k, &p->src.base, p->y, &o,
                              &(struct tools){backend_cpu(), NULL, NULL}, &res, &err),
                     ST_RANGE);
    o = options(64);
    double flat[N] = { 0 };
    ck_assert_int_eq(tune_run(&k, &p->src.base, flat, &o,
                              &(struct tools){backend_cpu(), NULL, NULL}, &res, &err),
                     ST_RANGE);
    o.kind = &exact_model;
    o.mem_limit = (size_t)1 << 30;
    many_y[0] = 1;
    source_array_init(&many, many_y, 20000, 1, 1);
    ck_assert_int_eq(tune_run(&k, &many.base, many_y, &o,
                              &(struct tools){backend_cpu(), NULL, NULL}, &res, &err),
                     ST_LIMIT);
    ck_assert_ptr_nonnull(strstr(err.msg, "20,000 rows"));
    free(p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tune");
    TCase *t = tcase_create("tune");

    support_need("golden/gp_X.csv");
    blas_init();
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, exact_optimum_is_golden, 0, 3);
    tcase_add_loop_test(t, methods_find_the_optimum, 0, 5);
    tcase_add_test(t, sample_then_all_rows);
    tcase_add_loop_test(t, many_rows_end_at_the_least_value, 0, 4);
    tcase_add_loop_test(t, never_worse_than_the_start, 0, 2);
    tcase_add_loop_test(t, starts_beside_a_sample, 0, 3);
    tcase_add_test(t, better_starts_are_polished);
    tcase_add_loop_test(t, limits_hold, 0, 5);
    tcase_add_loop_test(t, restarts_begin_apart, 0, 5);
    tcase_add_test(t, restarts_find_another_valley);
    tcase_add_test(t, restarts_of_many_lengthscales);
    tcase_add_test(t, many_bounds_are_counted);
    tcase_add_loop_test(t, only_lengthscales_are_idle, 0, 2);
    tcase_add_test(t, fixed_values_and_bounds);
    tcase_add_test(t, pure_noise_is_degenerate);
    tcase_add_loop_test(t, noise_free_data_are_survived, 0, 2);
    tcase_add_test(t, ard_finds_the_inputs);
    tcase_add_test(t, ard_keeps_what_is_given);
    tcase_add_test(t, probes_end_at_a_tie);
    tcase_add_loop_test(t, probes_where_asked_for, 0, 2);
    tcase_add_test(t, rank_follows_the_noise);
    tcase_add_test(t, stop_keeps_the_best);
    tcase_add_loop_test(t, same_bits_for_any_thread_count, 0, 2);
    tcase_add_test(t, registry_and_refusals);
    suite_add_tcase(s, t);
    return support_run(s);
}
