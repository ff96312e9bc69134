/* tests/compute/check_intervals.c -- left-out residuals of a fit against fits that really leave a
 * row out, the scale that follows them, and the judgement of intervals against closed forms and
 * simulated errors. */
#include "compute/backend.h"
#include "compute/models/model.h"
#include "compute/models/rescale.h"
#include "compute/rng.h"
#include "compute/stats/judgement.h"
#include "compute/stats/metrics.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 40, D = 2, M = 24, TARGETS = 2 };

/* Numbers one after the other. */
struct draws { uint64_t seed, next; };

static double normal(struct draws *g)
{
    return rng_normal(g->seed, 1, g->next++);
}

struct problem { double X[N * D], y[TARGETS * N], scale[N]; };

/* Two smooth functions with noise, and weights of rows between 1/4 and 4. */
static void problem_make(struct problem *p)
{
    struct draws g = { 11, 0 };

    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < D; j++)
            p->X[i * D + j] = 2.0 * normal(&g);
        p->y[i] = sin(p->X[i * D]) + 0.2 * normal(&g);
        p->y[N + i] = cos(p->X[i * D + 1]) + 0.6 * normal(&g);
        p->scale[i] = 0.5 + 1.5 * rng_uniform(11, 2, i);
    }
}

static struct fit_opts options(const char *solver)
{
    struct fit_opts o = { .solver = solver, .features = M, .rtol = 1e-13, .maxit = 2000, .seed = 3,
                          .amplitude = 0.8, .noise = 0.3, .keep_scale = true, .targets = TARGETS,
                          .precision = PREC_DOUBLE };
    double set[KERNEL_MAX_HP];

    ck_assert_int_eq(kernel_parse("rbf", &o.kernel, set, NULL), ST_OK);
    o.hp[0] = 1.3;
    return o;
}

static struct model *fit(const struct source *src, const double *y, const struct fit_opts *o,
                         struct fit_info *info)
{
    struct model *m = NULL;
    struct err err = { 0 };
    const enum status rc = model_fit(src, y, o, &(struct tools){ backend_cpu(), NULL, NULL }, &m,
                                     info, NULL, &err);

    ck_assert_msg(rc == ST_OK, "%s", err.msg);
    return m;
}

/* The square of a left-out row's error over its predictive variance, by a fit without the row, the
 * latent variance and the error (NULL: not wanted). */
static double without(const struct problem *p, const struct fit_opts *o, bool weighted, size_t row,
                      size_t target, double *latent, double *error)
{
    double X[N * D], y[TARGETS * N], scale[N], mean[TARGETS], var[TARGETS];
    struct source_array rest, one;
    struct fit_info info;
    size_t k = 0;

    for (size_t i = 0; i < N; i++) {
        if (i == row)
            continue;
        memcpy(X + k * D, p->X + i * D, D * sizeof *X);
        scale[k] = p->scale[i];
        for (size_t t = 0; t < TARGETS; t++)
            y[t * (N - 1) + k] = p->y[t * N + i];
        k++;
    }
    source_array_init(&rest, X, N - 1, D, D);
    rest.base.row_scale = weighted ? scale : NULL;
    struct model *m = fit(&rest.base, y, o, &info);
    source_array_init(&one, p->X + row * D, 1, D, D);
    ck_assert_int_eq(model_predict(m, &one.base, mean, var,
                                   &(struct tools){ backend_cpu(), NULL, NULL }, NULL), ST_OK);
    const double s = weighted ? p->scale[row] : 1.0;
    const double e = p->y[target * N + row] - mean[target];
    const double v = var[target] + m->noises[target] * m->noises[target] / (s * s);
    if (latent)
        *latent = var[0];
    if (error)
        *error = e;
    model_unref(m);
    return e * e / v;
}

/* Directly, iteratively, with fewer features for the variance than for the mean, and exactly;
 * without weights and with them. */
static const struct way {
    const char *solver;
    size_t variance;
    bool weighted;
    size_t features; /* more than M, and so more than the rows */
} ways[] = {
    { "direct", 0, false, 0 }, { "direct", 0, true, 0 },    { "cg", 0, false, 0 },
    { "cg", 12, false, 0 },    { "cg", 12, true, 0 },       { "direct", 12, false, 0 },
    { "exact", 0, false, 0 },  { "exact", 0, true, 0 },     { "direct", 0, false, 128 },
    { "direct", 0, true, 128 }, { "direct", 64, false, 128 },
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static struct fit_opts options_of(const struct way *w)
{
    struct fit_opts o = options(w->solver);

    if (w->features)
        o.features = w->features;
    if (w->variance) {
        o.variance = VAR_COUNT;
        o.variance_count = w->variance;
    }
    return o;
}

/* N fits without a row each give what the fit reports of its left-out rows.  Tolerance: the
 * iterative solves end at 1e-13 of the right-hand side, and 1 - h divides their rounding. */
START_TEST(left_out_rows_are_those_of_real_refits)
{
    const struct way *w = &ways[_i];
    struct fit_opts o = options_of(w);
    struct problem p;
    struct source_array src;
    struct fit_info info;
    double z2[N], mean = 0.0, squares = 0.0, inside = 0.0;

    problem_make(&p);
    source_array_init(&src, p.X, N, D, D);
    src.base.row_scale = w->weighted ? p.scale : NULL;
    model_unref(fit(&src.base, p.y, &o, &info));
    ck_assert_uint_eq(info.left_out_rows, N);
    for (size_t i = 0; i < N; i++) {
        z2[i] = without(&p, &o, w->weighted, i, 0, NULL, NULL);
        mean += z2[i] / N;
        inside += z2[i] <= 1.959964 * 1.959964 ? 1.0 / N : 0.0;
    }
    for (size_t i = 0; i < N; i++)
        squares += (z2[i] - mean) * (z2[i] - mean);
    ck_assert_double_eq_tol(info.left_out_z2, mean, 1e-8 * mean);
    ck_assert_double_eq_tol(info.left_out_before, mean, 1e-8 * mean);
    ck_assert_double_eq_tol(info.left_out_z2_se, fmax(sqrt(squares) / N, mean * sqrt(2.0 / N)),
                            1e-7 * mean);
    ck_assert_double_eq_tol(info.left_out_coverage95, inside, 1e-12);
}
END_TEST

static int ascending(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* With more features than rows and little noise, 1 - h is tiny: a solve that ends early does not
 * show in the left-out rows.  Tolerance: both come from the same n x n matrix in double. */
START_TEST(left_out_errors_do_not_magnify_a_loose_solve)
{
    struct fit_opts o = options("cg"), exact = options("direct");
    struct problem p;
    struct source_array src;
    struct fit_info loose, direct;

    problem_make(&p);
    source_array_init(&src, p.X, N, D, D);
    o.features = exact.features = 128;
    o.noise = exact.noise = 1e-3;
    o.rtol = 1e-3;
    model_unref(fit(&src.base, p.y, &o, &loose));
    model_unref(fit(&src.base, p.y, &exact, &direct));
    ck_assert_double_gt(loose.true_residual, 1e-6);
    ck_assert_double_eq_tol(loose.left_out_before, direct.left_out_before,
                            1e-6 * direct.left_out_before);
}
END_TEST

/* How far 6.20 reaches at a level with n values of z^2, in ascending order, in 1.96 and the like;
 * its own words, beside compute/stats/reach.c. */
static double reached(const double *z2, size_t n, double level, double doubt)
{
    const double normal = metrics_normal_quantile(0.5 + 0.5 * level);
    size_t inside = 0, k = 1;

    for (size_t i = 0; i < n; i++)
        inside += sqrt(z2[i]) <= normal;
    while ((double)k < (double)(n + 1) * level - 1e-9)
        k++;
    const double away =
        ((double)inside / (double)n - level) / sqrt(level * (1.0 - level) / (double)n);
    const double share = 1.0 / (1.0 + pow(doubt / away, 2.0));
    return k > n ? normal : exp((1.0 - share) * log(normal) + share * 0.5 * log(z2[k - 1]));
}

/* With the rule of left-out rows the mean z^2 of each target, by real refits at the amplitude and
 * noise that the fit chose, is what 6.17 says, and the intervals reach as far as 6.20 says; the
 * weights, and with them the means, are those of the likeliest amplitude. */
START_TEST(the_scale_makes_left_out_errors_as_large_as_predicted)
{
    const struct way *w = &ways[_i];
    struct fit_opts o = options_of(w), likeliest;
    struct problem p;
    struct source_array src;
    struct fit_info info;

    problem_make(&p);
    source_array_init(&src, p.X, N, D, D);
    src.base.row_scale = w->weighted ? p.scale : NULL;
    o.keep_scale = false;
    o.keep_ratio = true;
    likeliest = o;
    o.scale = SCALE_LEFT_OUT;
    struct model *a = fit(&src.base, p.y, &likeliest, &info), *b = fit(&src.base, p.y, &o, &info);
    ck_assert(memcmp(a->w, b->w, a->t * a->M * sizeof *a->w) == 0);
    for (size_t t = 0; t < TARGETS; t++) {
        double before = 0.0, after = 0.0, squares = 0.0, z[N], last = 0.0;
        struct fit_opts given = options_of(w);
        double now[N];
        for (size_t i = 0; i < N; i++) {
            given.amplitude = a->amplitudes[t], given.noise = a->noises[t];
            const double z2 = without(&p, &given, w->weighted, i, t, NULL, NULL);
            before += z2 / N;
            squares += z2 * z2;
            z[i] = z2;
            given.amplitude = b->amplitudes[t], given.noise = b->noises[t];
            now[i] = without(&p, &given, w->weighted, i, t, NULL, NULL);
            after += now[i] / N;
        }
        /* intervals become narrower by no more than the standard error allows */
        const double sd = sqrt(squares / N - before * before) / sqrt(N);
        const double se = fmax(sd, before * sqrt(2.0 / N));
        const double mean = before >= 1.0 ? before : fmin(1.0, before + se);
        /* and half of the way wider to where a cautious interval reaches */
        qsort(z, N, sizeof *z, ascending);
        for (size_t i = 0; i < N; i++)
            z[i] /= mean;
        const double factor = mean * fmax(1.0, reached(z, N, 0.95, sqrt(2.0)) / 1.9599639845);
        ck_assert_double_eq_tol(after, before / factor, 1e-7);
        qsort(now, N, sizeof *now, ascending);
        for (size_t l = 0; l < REACH_LEVELS; l++) {
            const double level = reach_level(l);
            last = fmax(last, reached(now, N, level, 1.0));
            ck_assert_double_eq_tol(reach_at(&b->reach[t], level), last, 1e-7);
            ck_assert_double_eq_tol(reach_at(&a->reach[t], level),
                                    metrics_normal_quantile(0.5 + 0.5 * level), 1e-12);
        }
        if (t == 0) {
            double inside = 0.0;
            for (size_t i = 0; i < N; i++)
                inside += sqrt(now[i]) <= info.reach95 * (1.0 + 1e-9) ? 1.0 / N : 0.0;
            ck_assert_double_eq_tol(info.left_out_coverage95, inside, 1e-12);
            ck_assert_double_eq(info.reach95, reach_at(&b->reach[0], 0.95));
        }
        ck_assert_double_eq_tol(b->noises[t] / b->amplitudes[t], 0.3 / 0.8, 1e-10);
    }
    model_unref(a);
    model_unref(b);
}
END_TEST

/* The continuous ranked probability score of a normal distribution at an error e, by the
 * definition: the integral of (Phi(x / sd) - [x >= e])^2, by the midpoint rule on either side of e.
 * */
static double ranked(double e, double sd)
{
    enum { STEPS = 400 };
    const double far = fabs(e) + 8.0 * sd, below = (e + far) / STEPS, above = (far - e) / STEPS;
    double sum = 0.0;

    for (int k = 0; k < STEPS; k++) {
        const double low = 0.5 * erfc((far - (k + 0.5) * below) / sd * sqrt(0.5));
        const double high = 0.5 * erfc((e + (k + 0.5) * above) / sd * sqrt(0.5));
        sum += low * low * below + high * high * above;
    }
    return sum;
}

/* The mean score of left-out rows by N fits without a row each at the amplitude at which mean z^2
 * is 1, of all targets the geometric mean; errors and deviations of weighted rows are multiplied by
 * the square root of the weight. */
static double refitted_error(const struct problem *p, const struct way *w, double ratio)
{
    struct fit_opts o = options_of(w);
    double logs = 0.0;

    o.amplitude = 1.0;
    o.noise = sqrt(ratio);
    for (size_t t = 0; t < TARGETS; t++) {
        double e[N], sd[N], z2 = 0.0, sum = 0.0;
        for (size_t i = 0; i < N; i++) {
            const double s = w->weighted ? p->scale[i] : 1.0;
            double latent;
            without(p, &o, w->weighted, i, t, &latent, &e[i]);
            e[i] *= s;
            sd[i] = sqrt(s * s * latent + ratio);
            z2 += e[i] * e[i] / (sd[i] * sd[i]) / N;
        }
        for (size_t i = 0; i < N; i++)
            sum += ranked(e[i], sqrt(z2) * sd[i]);
        logs += log(sum / N) / TARGETS;
    }
    return exp(logs);
}

/* From noise that is too little by six powers of ten, as an exact tuning may leave it to fewer
 * features, and from far too much, a fit comes to the ratio of the best left-out score: at most 3 %
 * above the least on a grid of powers of ten from 1e-11 to 1e3, by real refits. */
START_TEST(the_ratio_goes_as_far_as_left_out_rows_want)
{
    static const struct way far[] = {
        { "direct", 0, false, 128 }, { "direct", 0, true, 128 }, { "cg", 0, false, 128 },
        { "direct", 0, false, 0 },
    };
    static const double given[] = { 1e-8, 10.0 };
    const struct way *w = &far[_i];
    struct problem p;
    struct source_array src;
    struct fit_info info;
    double least = INFINITY;

    problem_make(&p);
    source_array_init(&src, p.X, N, D, D);
    src.base.row_scale = w->weighted ? p.scale : NULL;
    for (int k = -11; k <= 3; k++)
        least = fmin(least, refitted_error(&p, w, pow(10.0, k)));
    for (size_t k = 0; k < 2; k++) {
        struct fit_opts o = options_of(w);
        o.keep_scale = false;
        o.amplitude = 1.0;
        o.noise = sqrt(given[k]);
        struct model *m = fit(&src.base, p.y, &o, &info);
        const double ratio = m->noise * m->noise / (m->amplitude * m->amplitude);
        model_unref(m);
        ck_assert_double_gt(refitted_error(&p, w, given[k]), 1.2 * least);
        ck_assert_double_le(refitted_error(&p, w, ratio), 1.03 * least);
    }
}
END_TEST

/* The 99 % quantile of the latent variances of left-out rows, of 40 rows the largest, is that of
 * fits without a row each. */
START_TEST(latent_variances_of_left_out_rows)
{
    const struct way *w = &ways[_i];
    struct fit_opts o = options_of(w);
    struct problem p;
    struct source_array src;
    struct fit_info info;
    double latent[N];

    problem_make(&p);
    source_array_init(&src, p.X, N, D, D);
    src.base.row_scale = w->weighted ? p.scale : NULL;
    model_unref(fit(&src.base, p.y, &o, &info));
    for (size_t i = 0; i < N; i++)
        without(&p, &o, w->weighted, i, 0, &latent[i], NULL);
    qsort(latent, N, sizeof *latent, ascending);
    ck_assert_double_eq_tol(info.left_out_latent99 * o.amplitude * o.amplitude, latent[N - 1],
                            1e-8 * latent[N - 1]);
}
END_TEST

/* The table of rules: each word enters the options that the table finds again. */
START_TEST(rescale_words_are_those_of_the_options)
{
    char choices[64] = "";
    size_t n = 0;

    for (const struct rescale *r; (r = rescale_at_for_tests(n)) != NULL; n++) {
        struct fit_opts o = { 0 };
        rescale_apply(r, &o);
        ck_assert_ptr_eq(rescale_of(&o), r);
        ck_assert_ptr_eq(rescale_find(r->name), r);
        strcat(strcat(choices, n ? "|" : ""), r->name);
    }
    ck_assert_str_eq(choices, RESCALE_CHOICES);
    ck_assert_ptr_null(rescale_find("maybe"));
}
END_TEST

/* The judgement. */

/* Normal errors of n rows with the given sd, judged against variance 1. */
static struct judged simulated(size_t n, double sd, uint64_t seed)
{
    struct draws g = { seed, 0 };
    double *e2 = malloc(n * sizeof *e2);

    for (size_t i = 0; i < n; i++) {
        const double e = sd * normal(&g);
        e2[i] = e * e;
    }
    const struct judged j = judgement_squares(n, e2, 1.0, NULL);
    free(e2);
    return j;
}

/* The bounds of the mean z^2 are those of the coverage for normal errors: with variances too small
 * by the factor z^2 the coverage is 2 Phi(1.96 / z) - 1. */
START_TEST(bounds_of_both_figures_agree)
{
    static const double shares[] = { 0.93, 0.97 };

    for (int i = 0; i < 2; i++) {
        const double z = metrics_normal_quantile(0.975) /
                         metrics_normal_quantile(0.5 + 0.5 * shares[i]);
        const double in = i == 0 ? 0.9999 : 1.0001; /* towards 1 */
        ck_assert_int_eq(judgement_of(1000000000, 0.95, z * z * in, NAN).spread, JUDGED_RIGHT);
        ck_assert_int_eq(judgement_of(1000000000, 0.95, z * z / in, NAN).spread,
                         i == 0 ? JUDGED_NARROW : JUDGED_WIDE);
    }
}
END_TEST

/* Calibrated errors are called so in at least 97 of 100 simulations for any number of rows: two
 * tests at 2.5 standard errors have a level of 1.2 % each, less where the share must also be
 * outside of 0.93 to 0.97.  Errors 1.3 times as large or as small are found with 800 rows, where
 * they are off by more than 6 standard errors. */
START_TEST(simulated_errors_are_judged_rightly)
{
    static const size_t rows[] = { 30, 100, 800, 5000 };

    for (size_t r = 0; r < 4; r++) {
        size_t wrong = 0;
        for (uint64_t s = 0; s < 200; s++)
            wrong += simulated(rows[r], 1.0, 1000 * r + s).verdict != INTERVALS_HOLD;
        ck_assert_uint_le(wrong, 12);
    }
    for (uint64_t s = 0; s < 50; s++) {
        ck_assert_int_eq(simulated(800, 1.3, s).verdict, INTERVALS_NARROW);
        ck_assert_int_eq(simulated(800, 1.0 / 1.3, s).verdict, INTERVALS_WIDE);
    }
}
END_TEST

/* Figures that were judged wrongly before: 92.1 % of 800 rows is 3.7 standard errors low, a mean
 * z^2 of 1.26 is as far from 1 as one of 1 / 1.26; few rows decide nothing, and small deviations of
 * many rows do no harm. */
START_TEST(known_figures_are_judged)
{
    static const struct { size_t n; double cover, z2; enum judged_verdict v; } known[] = {
        { 800, 0.921, 1.26, INTERVALS_NARROW }, { 800, 0.921, NAN, INTERVALS_NARROW },
        { 800, 0.94, 1.0, INTERVALS_HOLD },     { 800, 0.95, 1.26, INTERVALS_TAILS },
        { 800, 0.976, 0.56, INTERVALS_WIDE },   { 800, 0.96, 0.56, INTERVALS_WIDE },
        { 40, 0.90, 1.26, INTERVALS_HOLD },     { 200000, 0.945, 1.03, INTERVALS_HOLD },
        { 200000, 0.975, 1.3, INTERVALS_TAILS }, { 800, 1.0, 0.0, INTERVALS_WIDE },
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const struct judged j = judgement_of(known[i].n, known[i].cover, known[i].z2, NAN);
        ck_assert_msg(j.verdict == known[i].v, "%zu rows, %g, %g: %s", known[i].n, known[i].cover,
                      known[i].z2, judgement_word(j.verdict));
    }
    const struct judged j = judgement_of(800, 0.921, 1.26, NAN);
    ck_assert_double_eq_tol(j.coverage95_se, sqrt(0.95 * 0.05 / 800.0), 1e-15);
    ck_assert_double_eq_tol((0.95 - 0.921) / j.coverage95_se, 3.76, 0.01);
    ck_assert_double_eq_tol(j.z2_se, 1.26 * sqrt(2.0 / 800.0), 1e-12);
}
END_TEST

/* Heavy tails widen the error of the mean z^2, so that a few outliers are no verdict on all rows:
 * Student errors with 3 degrees of freedom, variance 3, scaled to cover 95 % (their quantile is
 * 3.182). */
START_TEST(outliers_are_told_from_narrow_intervals)
{
    struct draws g = { 77, 0 };
    double e2[2000];

    for (size_t i = 0; i < 2000; i++) {
        double chi = 0.0;
        for (int k = 0; k < 3; k++) {
            const double x = normal(&g);
            chi += x * x;
        }
        const double t = normal(&g) / sqrt(chi / 3.0) * 1.959964 / 3.182446;
        e2[i] = t * t;
    }
    const struct judged j = judgement_squares(2000, e2, 1.0, NULL);
    ck_assert_int_eq(j.coverage, JUDGED_RIGHT);
    ck_assert(j.verdict == INTERVALS_HOLD || j.verdict == INTERVALS_TAILS);
    ck_assert_double_gt(j.z2_se, 1.5 * sqrt(2.0 / 2000.0));
}
END_TEST

/* Where mean z^2 is right and the share is high: uniform errors (kurtosis 1.8) of variance 1 all
 * lie inside, at most sqrt 3 = 1.73; of a mixture of 97 % small errors and 3 % large ones (sd 0.5
 * and 5, variance 0.99) nearly all small ones do. */
START_TEST(no_scale_serves_errors_that_are_not_normal)
{
    enum { ROWS = 4000 };
    static double e2[ROWS];
    struct draws g = { 5, 0 };

    for (size_t i = 0; i < ROWS; i++)
        e2[i] = pow(sqrt(12.0) * (rng_uniform(5, 3, i) - 0.5), 2.0);
    const struct judged flat = judgement_squares(ROWS, e2, 1.0, NULL);
    ck_assert_double_eq_tol(flat.kurtosis, 1.8, 0.1);
    ck_assert_double_ge(flat.coverage95, 1.0);
    ck_assert_int_eq(flat.verdict, INTERVALS_BOUNDED);
    for (size_t i = 0; i < ROWS; i++)
        e2[i] = pow((rng_uniform(5, 4, i) < 0.03 ? 5.0 : 0.5) * normal(&g), 2.0);
    const struct judged tails = judgement_squares(ROWS, e2, 1.0, NULL);
    ck_assert_double_gt(tails.kurtosis, 10.0);
    ck_assert_int_eq(tails.spread, JUDGED_RIGHT);
    ck_assert_int_eq(tails.verdict, INTERVALS_TAILS);
}
END_TEST

/* The reach of errors whose quantiles are known, from 20000 of them: uniform ones (level p at
 * sqrt 3 p), Laplace ones (-log(1 - p)/sqrt 2) and normal ones, all of variance 1.  Tolerance: 4
 * standard errors sqrt(p (1 - p)/n)/density of each quantile. */
static double uniform_error(size_t i)
{
    return sqrt(12.0) * (rng_uniform(8, 5, i) - 0.5);
}

static double uniform_reach(double p) { return sqrt(3.0) * p; }
static double uniform_density(double q) { return q < sqrt(3.0) ? 1.0 / sqrt(3.0) : 0.0; }

static double laplace_error(size_t i)
{
    return -log(1.0 - rng_uniform(8, 6, i)) / sqrt(2.0);
}

static double laplace_reach(double p) { return -log(1.0 - p) / sqrt(2.0); }
static double laplace_density(double q) { return sqrt(2.0) * exp(-sqrt(2.0) * q); }

static double normal_error(size_t i) { return rng_normal(8, 7, i); }
static double normal_reach(double p) { return metrics_normal_quantile(0.5 + 0.5 * p); }
static double normal_density(double q) { return sqrt(2.0 / M_PI) * exp(-0.5 * q * q); }

static const struct law {
    double (*error)(size_t), (*reach)(double), (*density)(double);
} laws[] = { { uniform_error, uniform_reach, uniform_density },
             { laplace_error, laplace_reach, laplace_density },
             { normal_error, normal_reach, normal_density } };

START_TEST(reach_is_that_of_the_errors)
{
    enum { ROWS = 20000 };
    static double z2[ROWS], mean[ROWS], y[ROWS], var[ROWS];
    const struct law *law = &laws[_i];
    double share[REACH_LEVELS], levels[REACH_LEVELS];

    for (size_t i = 0; i < ROWS; i++)
        z2[i] = 4.0 * pow(law->error(i), 2.0); /* of variance 4 */
    qsort(z2, ROWS, sizeof *z2, ascending);
    const struct reach r = reach_left_out(ROWS, z2, 4.0, 1.0);
    ck_assert(reach_holds(&r));
    for (size_t l = 0; l < REACH_LEVELS; l++) {
        const double p = reach_level(l), q = law->reach(p);
        ck_assert_double_eq_tol(reach_at(&r, p), q,
                                4.0 * sqrt(p * (1.0 - p) / ROWS) / law->density(q));
    }
    /* so many new errors lie inside: 4 binomial standard errors, of both samples */
    for (size_t i = 0; i < ROWS; i++)
        y[i] = 0.5 * law->error(ROWS + i), mean[i] = 0.0, var[i] = 0.25;
    for (size_t l = 0; l < REACH_LEVELS; l++)
        levels[l] = reach_level(l);
    metrics_coverage(ROWS, y, mean, var, &r, REACH_LEVELS, levels, share);
    for (size_t l = 0; l < REACH_LEVELS; l++)
        ck_assert_double_eq_tol(share[l], levels[l],
                                4.0 * sqrt(2.0 * levels[l] * (1.0 - levels[l]) / ROWS));
    /* 1.96 sd hold all uniform errors: that is what it is for */
    metrics_coverage(ROWS, y, mean, var, NULL, REACH_LEVELS, levels, share);
    if (_i == 0)
        ck_assert_double_ge(share[3], 1.0);
}
END_TEST

/* Between the levels and beyond them: growing, alike on both sides, and undone by the inverse. */
START_TEST(reach_grows_with_the_level)
{
    const struct reach tails = { { 0.1, 0.3, 0.8, 1.2, 6.0 } }, none = { { 0.0 } };
    double last = 0.0;

    for (int i = 1; i < 400; i++) {
        const double z = 0.01 * i, at = reach_from_normal(&tails, z);
        ck_assert_double_gt(at, last);
        ck_assert_double_eq(reach_from_normal(&tails, -z), -at);
        ck_assert_double_eq_tol(reach_to_normal(&tails, at), z, 1e-12 * z);
        ck_assert_double_eq_tol(reach_to_normal(&tails, -at), -z, 1e-12 * z);
        ck_assert_double_eq(reach_from_normal(&none, z), z);
        last = at;
    }
    for (size_t l = 0; l < REACH_LEVELS; l++) {
        const double z = metrics_normal_quantile(0.5 + 0.5 * reach_level(l));
        ck_assert_double_eq_tol(reach_from_normal(&tails, z), tails.at[l], 1e-12);
        ck_assert_double_eq(reach_at(&tails, reach_level(l)), tails.at[l]);
        ck_assert_double_eq_tol(reach_at(NULL, reach_level(l)), z, 1e-14);
    }
    ck_assert(reach_holds(&tails) && reach_holds(&none));
    ck_assert(reach_is_normal(&none) && reach_is_normal(NULL) && !reach_is_normal(&tails));
    ck_assert(!reach_holds(&(struct reach){ { 1.0, 0.9, 1.0, 1.0, 1.0 } }));
    ck_assert(!reach_holds(&(struct reach){ { 0.0, 0.9, 1.0, 1.0, 1.0 } }));
    ck_assert(!reach_holds(&(struct reach){ { 1.0, 1.0, 1.0, 1.0, NAN } }));
    ck_assert(!reach_holds(&(struct reach){ { 1.0, 1.0, 1.0, 1.0, INFINITY } }));
}
END_TEST

/* Few left-out rows move little: of 10 rows no level beyond 10/11 is known, and rows that agree
 * with the level to their standard error move an interval half of the way at most. */
START_TEST(few_rows_say_little)
{
    double z2[10];

    for (size_t i = 0; i < 10; i++)
        z2[i] = 1e-6;
    struct reach r = reach_left_out(10, z2, 1.0, 1.0);
    ck_assert_double_eq(reach_at(&r, 0.95), reach_at(NULL, 0.95));
    ck_assert_double_eq(reach_at(&r, 0.99), reach_at(NULL, 0.99));
    ck_assert_double_lt(reach_at(&r, 0.5), 0.01); /* 10 of 10 instead of 5: 3 standard errors */
    r = reach_left_out(0, z2, 1.0, 1.0);
    ck_assert(reach_is_normal(&r));
    for (size_t i = 0; i < 10; i++)
        z2[i] = 0.0; /* no error at all: there is no scale to follow */
    r = reach_left_out(10, z2, 1.0, 1.0);
    ck_assert(reach_is_normal(&r));
}
END_TEST

/* 100 rows whose likeliest class has 0.8: the standard error of its share is 0.04, so that shares
 * from 0.7 to 0.9 hold; of 10,000 rows it is 0.004, and from 0.79 to 0.81. */
START_TEST(probabilities_by_hand)
{
    const struct judged_classes few = judgement_classes(100, 0.8, 0.7, 0.16);

    ck_assert_double_eq_tol(few.se, 0.04, 1e-15);
    ck_assert_int_eq(few.verdict, PROBABILITIES_HOLD);
    ck_assert_int_eq(judgement_classes(100, 0.8, 0.69, 0.16).verdict, PROBABILITIES_SURE);
    ck_assert_int_eq(judgement_classes(100, 0.8, 0.91, 0.16).verdict, PROBABILITIES_CAUTIOUS);
    ck_assert_int_eq(judgement_classes(10000, 0.8, 0.79, 0.16).verdict, PROBABILITIES_HOLD);
    ck_assert_int_eq(judgement_classes(10000, 0.8, 0.7899, 0.16).verdict, PROBABILITIES_SURE);
    ck_assert_int_eq(judgement_classes(1000000, 0.8, 0.809, 0.16).verdict, PROBABILITIES_HOLD);
    ck_assert_int_eq(judgement_classes(50, 1.0, 1.0, 0.0).verdict, PROBABILITIES_HOLD);
    ck_assert_int_eq(judgement_classes(50, 1.0, 0.9, 0.0).verdict, PROBABILITIES_SURE);
    ck_assert_str_eq(judgement_classes_word(PROBABILITIES_SURE), "are too sure");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("intervals");
    TCase *tc = tcase_create("left out");

    tcase_add_loop_test(tc, left_out_rows_are_those_of_real_refits, 0, WAYS);
    tcase_add_test(tc, probabilities_by_hand);
    tcase_add_test(tc, left_out_errors_do_not_magnify_a_loose_solve);
    tcase_add_loop_test(tc, the_scale_makes_left_out_errors_as_large_as_predicted, 0, WAYS);
    tcase_add_loop_test(tc, the_ratio_goes_as_far_as_left_out_rows_want, 0, 4);
    tcase_add_loop_test(tc, latent_variances_of_left_out_rows, 0, WAYS);
    tcase_add_test(tc, rescale_words_are_those_of_the_options);
    suite_add_tcase(s, tc);
    tc = tcase_create("judgement");
    tcase_add_test(tc, bounds_of_both_figures_agree);
    tcase_add_test(tc, simulated_errors_are_judged_rightly);
    tcase_add_test(tc, known_figures_are_judged);
    tcase_add_test(tc, outliers_are_told_from_narrow_intervals);
    tcase_add_test(tc, no_scale_serves_errors_that_are_not_normal);
    suite_add_tcase(s, tc);
    tc = tcase_create("reach");
    tcase_add_loop_test(tc, reach_is_that_of_the_errors, 0, 3);
    tcase_add_test(tc, reach_grows_with_the_level);
    tcase_add_test(tc, few_rows_say_little);
    suite_add_tcase(s, tc);
    return support_run(s);
}
