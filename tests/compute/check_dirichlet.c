/* tests/compute/check_dirichlet.c -- several classes as regressions: golden targets, functions,
 * probabilities and marginal likelihoods, gradients by differences, threads; scores of labels. */
#include "support.h"

#include "base/mem.h"
#include "compute/features/featmap.h"
#include "compute/likelihood/dirichlet.h"
#include "compute/likelihood/dirichlet_columns.h"
#include "compute/likelihood/dirichlet_exact.h"
#include "compute/likelihood/likelihood.h"
#include "compute/models/model.h"
#include "compute/pool.h"
#include "compute/rng.h"
#include "compute/stats/label_scores.h"

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

static const struct { const char *suffix; double alpha; } golden_alpha[] = { { "a0p01", 0.01 },
                                                                             { "a0p1", 0.1 } };

static double *golden(const char *what, int i, size_t *rows, size_t *cols)
{
    char name[64];

    snprintf(name, sizeof name, "%s_%s", what, golden_alpha[i].suffix);
    return support_golden(name, rows, cols);
}

START_TEST(golden_targets_and_noise)
{
    size_t n, C, k;
    double *y = golden("dir_ytilde", _i, &n, &C), *s = golden("dir_s2tilde", _i, &n, &C);
    double *label = support_golden("dir_labels", &n, &k);
    struct dirichlet_value of[2];

    dirichlet_values(golden_alpha[_i].alpha, of);
    for (size_t i = 0; i < n * C; i++) {
        const struct dirichlet_value *v = &of[label[i / C] == (double)(i % C)];
        ck_assert(fabs(v->y - y[i]) <= 1e-12 * fabs(y[i]) && fabs(v->var - s[i]) <= 1e-12 * s[i]);
    }
    free(y);
    free(s);
    free(label);
}
END_TEST

/* The linear kernel's features are its inputs.  With the rows of the Cholesky factor of a kernel
 * matrix over all rows, those for training first, they are those of that kernel, exactly. */
enum { N = 36, T = 12, C = 3, W = N + T };
struct as_rows { double X[W * W], *label; struct source_array src, test; };

static double rbf(const double *a, const double *b)
{
    const double dx = a[0] - b[0], dy = a[1] - b[1];

    return exp(-0.5 * (dx * dx + dy * dy));
}

static void as_rows_make(struct as_rows *r)
{
    size_t n, d;
    double *X = support_golden("dir_X", &n, &d), *new = support_golden("dir_Xtest", &n, &d);

    r->label = support_golden("dir_labels", &n, &d);
    memset(r->X, 0, sizeof r->X);
    for (size_t i = 0; i < W; i++)
        for (size_t j = 0; j <= i; j++) {
            double v = rbf(i < N ? X + 2 * i : new + 2 * (i - N),
                           j < N ? X + 2 * j : new + 2 * (j - N));
            for (size_t k = 0; k < j; k++)
                v -= r->X[i * W + k] * r->X[j * W + k];
            r->X[i * W + j] = i == j ? sqrt(fmax(v, 0.0)) : v / r->X[j * W + j];
        }
    source_array_init(&r->src, r->X, N, W, W);
    source_array_init(&r->test, r->X + N * W, T, W, W);
    free(X);
    free(new);
}

/* What a map that learns asks of its features: the same figures, from given columns. */
START_TEST(golden_functions_of_given_columns)
{
    struct as_rows r;
    size_t n, k;
    double *latent = golden("dir_latent", _i, &n, &k), log_scale[C], w[C * W], mean[C];
    double *inverse = calloc(C * W * W, sizeof *inverse);
    char key[32];

    as_rows_make(&r);
    ck_assert_ptr_nonnull(inverse);
    for (size_t c = 0; c < C; c++)
        log_scale[c] = log(3.0);
    struct dirichlet_columns d = { .n = N, .q = W, .classes = C, .F = r.X, .labels = r.label,
                                   .log_scale = log_scale, .alpha = golden_alpha[_i].alpha,
                                   .w = w, .mean = mean, .inverse = inverse };
    ck_assert_int_eq(dirichlet_columns(&d, NULL, NULL), ST_OK);
    snprintf(key, sizeof key, "nmll_%s", golden_alpha[_i].suffix);
    const double nmll = support_golden_scalar("dir_scalars", key);
    ck_assert_double_eq_tol(d.nmll, nmll, 1e-8 * nmll);
    for (size_t t = 0; t < T; t++)
        for (size_t c = 0; c < C; c++) {
            const double *f = r.X + (N + t) * W;
            double m = mean[c], v = 0.0;
            for (size_t i = 0; i < W; i++) {
                m += w[c * W + i] * f[i];
                for (size_t j = 0; j < W; j++)
                    v += d.v_off * f[i] * f[j] * inverse[(c * W + j) * W + i];
            }
            ck_assert_double_eq_tol(m, latent[t * 2 * C + c], 1e-8);
            ck_assert_double_eq_tol(v, latent[t * 2 * C + C + c], 1e-8);
        }
    free(inverse);
    free(latent);
    free(r.label);
}
END_TEST

/* A fit to these rows, of features or (exact) of the kernel itself, has the golden figures. */
static void golden_fit(int _i, struct source *train, const struct source *test,
                       const double *label, const struct kernel *kernel, bool exact)
{
    size_t n, k;
    double *latent = golden("dir_latent", _i, &n, &k), *probs = golden("dir_probs", _i, &n, &k);
    char key[32];
    const struct fit_opts o = { .likelihood = &dirichlet_likelihood,
                                .solver = exact ? "exact" : "auto",
                                .labels = { C, golden_alpha[_i].alpha }, .features = W,
                                .kernel = *kernel, .hp = { 1.0 }, .amplitude = sqrt(3.0),
                                .noise = 1.0, .keep_scale = true, .precision = PREC_DOUBLE,
                                .seed = 1 };
    const struct tools on = { .be = backend_cpu() };
    struct fit_info info;
    struct model *m = NULL;
    struct err err = { 0 };
    double mean[C * T], var[C * T], p[C * T];

    ck_assert_msg(model_fit(train, label, &o, &on, &m, &info, NULL, &err) == ST_OK, "%s",
                  err.msg);
    ck_assert(m->kind->exact == exact);
    snprintf(key, sizeof key, "nmll_%s", golden_alpha[_i].suffix);
    const double nmll = support_golden_scalar("dir_scalars", key);
    ck_assert_msg(fabs(-info.evidence - nmll) <= 1e-8 * nmll, "%.12g, not %.12g", -info.evidence,
                  nmll);
    ck_assert_int_eq(model_predict(m, test, mean, var, &on, NULL), ST_OK);
    ck_assert_int_eq(dirichlet_softmax(NULL, T, C, mean, var, 1.0, p, NULL), ST_OK);
    for (size_t t = 0; t < T; t++) {
        double all = 0.0;
        for (size_t c = 0; c < C; c++) {
            const double *want = latent + t * 2 * C + c;
            ck_assert(fabs(mean[c * T + t] - want[0]) <= 1e-8);
            ck_assert(fabs(var[c * T + t] - want[C]) <= 1e-8);
            /* pairs of draws: at most 2 / sqrt(draws) */
            ck_assert_msg(fabs(p[c * T + t] - probs[t * C + c]) <= 2.0 / 32.0, "%g, not %g",
                          p[c * T + t], probs[t * C + c]);
            all += p[c * T + t];
        }
        ck_assert(fabs(all - 1.0) <= 1e-12);
    }
    /* the factors once more */
    double again[C * T];
    free(m->factors);
    m->factors = NULL;
    ck_assert_int_eq(model_predict(m, test, mean, again, &on, NULL), ST_STATE);
    ck_assert_int_eq(model_variance(m, train, 0, &on, NULL, NULL), ST_OK);
    ck_assert_int_eq(model_predict(m, test, mean, again, &on, NULL), ST_OK);
    ck_assert_int_eq(memcmp(var, again, sizeof var), 0);
    /* labels that a damaged session may hold */
    static const double wrong[] = { 1e9, -1.0, 0.5, NAN };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        m->state[1 + C + 7] = wrong[i];
        ck_assert_int_eq(model_variance(m, train, 0, &on, NULL, NULL), ST_STATE);
    }
    model_unref(m);
    free(latent);
    free(probs);
}

START_TEST(golden_functions_and_probabilities)
{
    const struct kernel linear = parse("linear");
    struct as_rows r;

    as_rows_make(&r);
    golden_fit(_i, &r.src.base, &r.test.base, r.label, &linear, false);
    free(r.label);
}
END_TEST

START_TEST(golden_functions_under_the_exact_kernel)
{
    size_t n, d, k;
    double *X = support_golden("dir_X", &n, &d), *new = support_golden("dir_Xtest", &n, &d);
    double *label = support_golden("dir_labels", &n, &k);
    const struct kernel rbf_kernel = parse("rbf");
    struct source_array src, test;

    source_array_init(&src, X, N, d, d);
    source_array_init(&test, new, T, d, d);
    golden_fit(_i, &src.base, &test.base, label, &rbf_kernel, true);
    free(X);
    free(new);
    free(label);
}
END_TEST

/* Two classes by the integral agree with draws of a third that never wins. */
START_TEST(two_classes_by_the_integral)
{
    const double mean[] = { 0.3, -1.2, -1e3 }, var[] = { 0.7, 2.5, 1e-6 };
    double two[2], three[3];

    ck_assert_int_eq(dirichlet_softmax(NULL, 1, 2, mean, var, 1.0, two, NULL), ST_OK);
    ck_assert_int_eq(dirichlet_softmax(NULL, 1, 3, mean, var, 1.0, three, NULL), ST_OK);
    ck_assert(fabs(two[0] - three[0]) <= 2.0 / 32.0 && three[2] == 0.0);
    ck_assert(fabs(two[0] + two[1] - 1.0) <= 1e-12);
    /* without variances it is the logistic function, also at a temperature */
    const double none[] = { 0.0, 0.0 };
    ck_assert_int_eq(dirichlet_softmax(NULL, 1, 2, mean, none, 2.0, two, NULL), ST_OK);
    ck_assert(fabs(two[0] - 1.0 / (1.0 + exp(-0.75))) <= 1e-9);
}
END_TEST

/* A problem of three classes in two inputs. */
enum { ROWS = 90 };
struct prob { double X[ROWS * 2], label[ROWS]; struct source_array src; };

static void prob_make(struct prob *p)
{
    for (size_t i = 0; i < ROWS; i++) {
        const double *x = p->X + 2 * i;
        for (size_t j = 0; j < 2; j++)
            p->X[2 * i + j] = rng_normal(3, rng_stream(RNG_TEST, 5), 2 * i + j);
        p->label[i] = x[0] > 0.7 ? 2.0 : x[1] > 0.0;
    }
    source_array_init(&p->src, p->X, ROWS, 2, 2);
}

/* The functions of the classes, solved directly, are those of a regression of each class on its
 * values with its noise in each row, by preconditioned conjugate gradients. */
START_TEST(each_class_by_conjugate_gradients)
{
    enum { FEATURES = 48, CLASSES = 3 };
    struct prob p;
    struct fit_opts o = { .likelihood = &dirichlet_likelihood, .solver = "auto",
                          .labels = { CLASSES, 0.02, _i == 1 }, .features = FEATURES,
                          .kernel = parse("rbf"), .hp = { 1.1 }, .amplitude = 1.7, .noise = 1.0,
                          .keep_scale = true, .precision = PREC_DOUBLE, .seed = 4 };
    const struct tools on = { .be = backend_cpu() };
    struct fit_info info;
    struct model *m = NULL, *one;
    double all[CLASSES * ROWS], own[ROWS], y[ROWS], scale[ROWS];
    struct dirichlet_value of[2];

    prob_make(&p);
    ck_assert_int_eq(model_fit(&p.src.base, p.label, &o, &on, &m, &info, NULL, NULL), ST_OK);
    ck_assert_int_eq(model_predict(m, &p.src.base, all, NULL, &on, NULL), ST_OK);
    dirichlet_values(0.02, of);
    o.likelihood = NULL;
    memset(&o.labels, 0, sizeof o.labels);
    o.targets = 1;
    o.solver = "pcg";
    o.rtol = 1e-12;
    o.maxit = 500;
    for (size_t c = 0; c < CLASSES; c++) {
        const double mean = m->state[1 + c];
        for (size_t i = 0; i < ROWS; i++) {
            const struct dirichlet_value *v = &of[p.label[i] == (double)c];
            const double w = _i ? m->state[1 + CLASSES + ROWS + (size_t)p.label[i]] : 1.0;
            scale[i] = sqrt(w / v->var);
            y[i] = v->y - mean;
        }
        p.src.base.row_scale = scale;
        ck_assert_int_eq(model_fit(&p.src.base, y, &o, &on, &one, &info, NULL, NULL), ST_OK);
        ck_assert_str_eq(info.solver, "pcg");
        p.src.base.row_scale = NULL;
        ck_assert_int_eq(model_predict(one, &p.src.base, own, NULL, &on, NULL), ST_OK);
        for (size_t i = 0; i < ROWS; i++)
            ck_assert_msg(fabs(own[i] + mean - all[c * ROWS + i]) <= 1e-8, "%zu, %zu: %g, not %g",
                          c, i, own[i] + mean, all[c * ROWS + i]);
        model_unref(one);
    }
    model_unref(m);
}
END_TEST

/* exact: of the kernel itself, otherwise of 64 features; weight: of the classes, or NULL. */
static bool exact;
static const double *weight;
static const double weights[3] = { 0.5, 2.0, 3.0 };

static double value_at(const struct prob *p, const struct kernel *k, struct pool *pool,
                       const double *hp, double amplitude, enum nmll_scale scale, double *grad,
                       double *best)
{
    struct featmap *map = featmap_new(k, 2, 64, 9, NULL);
    const struct nmll_bounds within = { { 0.05, 50.0 }, { 1.0, 1.0 } };
    const struct dirichlet_rows rows = { .map = map, .src = &p->src.base, .labels = p->label,
                                         .hp = hp, .classes = 3, .alpha = 0.02,
                                         .weight = weight, .precision = PREC_DOUBLE,
                                         .on = { .be = backend_cpu(), .pool = pool } };
    const struct nmll_ask ask = { .t = 1, .y = p->label, .hp = hp, .nhp = kernel_nhp(k),
                                  .scale = scale, .amplitude = amplitude, .noise = 1.0,
                                  .within = &within };
    double value = NAN, noise;

    *best = amplitude;
    const struct nmll_told told = { .value = &value, .amplitude = best, .noise = &noise,
                                    .grad = grad };
    const struct dirichlet_exact d = { .classes = 3, .labels = p->label, .alpha = 0.02,
                                       .weight = weight, .pool = pool };
    struct err err = { 0 };
    const enum status rc = exact ? dirichlet_exact_nmll(k, &p->src.base, &d, &ask, &told, &err)
                                 : dirichlet_nmll(&rows, &ask, &told, &err);
    ck_assert_msg(rc == ST_OK, "%s", err.msg);
    featmap_free(map);
    return value;
}

START_TEST(gradient_by_differences)
{
    struct prob p;
    const struct kernel k = parse(_i % 2 ? "matern(nu=5/2) + linear" : "rbf");
    const size_t nhp = kernel_nhp(&k);
    double hp[KERNEL_MAX_HP] = { 0.9, 0.6, 0.8 }, grad[KERNEL_MAX_HP + 2], best;
    const double h = 1e-5;

    exact = _i / 2 % 2;
    weight = _i / 4 ? weights : NULL;
    prob_make(&p);
    value_at(&p, &k, NULL, hp, 2.0, NMLL_GIVEN, grad, &best);
    for (size_t i = 0; i <= nhp; i++) {
        double up[KERNEL_MAX_HP], down[KERNEL_MAX_HP], at[2] = { 2.0, 2.0 };
        memcpy(up, hp, sizeof up);
        memcpy(down, hp, sizeof down);
        if (i < nhp)
            up[i] *= exp(h), down[i] *= exp(-h);
        else
            at[0] *= exp(h), at[1] *= exp(-h);
        const double got = (value_at(&p, &k, NULL, up, at[0], NMLL_GIVEN, NULL, &best) -
                            value_at(&p, &k, NULL, down, at[1], NMLL_GIVEN, NULL, &best)) /
                           (2.0 * h);
        ck_assert_msg(fabs(got - grad[i]) <= 1e-5 * (1.0 + fabs(got)), "%zu: %.9g, not %.9g", i,
                      grad[i], got);
    }
}
END_TEST

/* A row of weight 2 is the row twice; the class of a function is weighed by its own weight. */
START_TEST(weights_are_repetitions)
{
    enum { M = 32, TWICE = 2 * ROWS };
    const struct kernel k = parse("rbf");
    const double hp[] = { 0.9 }, two[3] = { 1.0, 2.0, 1.0 };
    struct featmap *map = featmap_new(&k, 2, M, 9, NULL);
    struct prob p;
    double X[2 * TWICE], label[TWICE], L[2][M * M], w[2][M], value;
    struct source_array src;
    size_t n = 0;

    prob_make(&p);
    for (size_t i = 0; i < ROWS; i++)
        for (int times = 0; times < (p.label[i] == 1.0 ? 2 : 1); times++, n++) {
            memcpy(X + 2 * n, p.X + 2 * i, 2 * sizeof *X);
            label[n] = p.label[i];
        }
    source_array_init(&src, X, n, 2, 2);
    for (size_t c = 0; c < 3; c++) {
        double mean[2];
        for (int often = 0; often < 2; often++) {
            const struct dirichlet_rows rows = {
                .map = map, .src = often ? &src.base : &p.src.base,
                .labels = often ? label : p.label, .hp = hp, .classes = 3, .alpha = 0.02,
                .weight = often ? NULL : two, .precision = PREC_DOUBLE,
                .on = { .be = backend_cpu() } };
            struct dirichlet d;
            ck_assert_int_eq(dirichlet_open(&d, &rows, NULL), ST_OK);
            ck_assert_int_eq(dirichlet_take(&d, c, NULL), ST_OK);
            ck_assert_int_eq(dirichlet_at(&d, 1.5, L[often], w[often], &value, NULL), ST_OK);
            mean[often] = d.mean;
            dirichlet_close(&d);
        }
        ck_assert(fabs(mean[0] - mean[1]) <= 1e-12);
        for (size_t j = 0; j < M; j++) {
            ck_assert(fabs(w[0][j] - w[1][j]) <= 1e-8 * (1.0 + fabs(w[1][j])));
            for (size_t i = j; i < M; i++)
                ck_assert(fabs(L[0][i + j * M] - L[1][i + j * M]) <= 1e-9 * (double)n);
        }
    }
    featmap_free(map);
}
END_TEST

/* The features of the linear kernel are exact, so both ways give one likelihood. */
START_TEST(weights_under_the_exact_kernel)
{
    struct prob p;
    const struct kernel k = parse("linear");
    double hp[KERNEL_MAX_HP] = { 0.9 }, value[2], best, balanced[3];

    prob_make(&p);
    weight = weights;
    for (int i = 0; i < 2; i++) {
        exact = i;
        value[i] = value_at(&p, &k, NULL, hp, 1.3, NMLL_GIVEN, NULL, &best);
    }
    ck_assert_msg(fabs(value[0] - value[1]) <= 1e-7 * fabs(value[1]), "%.12g, not %.12g", value[0],
                  value[1]);
    weight = NULL;
    exact = false;
    const double plain = value_at(&p, &k, NULL, hp, 1.3, NMLL_GIVEN, NULL, &best);
    ck_assert(fabs(plain - value[0]) > 1.0);
    /* balanced: each class with rows has the same sum, and all together n */
    dirichlet_balance(ROWS, 3, p.label, balanced);
    for (size_t c = 0; c < 3; c++) {
        double sum = 0.0;
        for (size_t i = 0; i < ROWS; i++)
            sum += p.label[i] == (double)c ? balanced[c] : 0.0;
        ck_assert(fabs(sum - ROWS / 3.0) <= 1e-12);
    }
}
END_TEST

/* The best amplitudes are no worse than any common one, and threads do not change a bit. */
START_TEST(best_amplitudes_and_threads)
{
    struct prob p;
    const struct kernel k = parse("rbf");
    double hp[KERNEL_MAX_HP] = { 0.9 }, grad[2][KERNEL_MAX_HP + 2], best, most;
    struct pool *three = pool_new(3, NULL);

    exact = _i;
    weight = NULL;
    prob_make(&p);
    const double value = value_at(&p, &k, NULL, hp, 1.0, NMLL_BEST, grad[0], &best);
    for (double a = 0.25; a < 20.0; a *= 2.0)
        ck_assert(value <= value_at(&p, &k, NULL, hp, a, NMLL_GIVEN, NULL, &most) + 1e-6);
    ck_assert(value_at(&p, &k, three, hp, 1.0, NMLL_BEST, grad[1], &best) == value);
    ck_assert(grad[0][0] == grad[1][0]);
    pool_free(three);
}
END_TEST

/* Smooth functions of many rows: features in single precision, whose rounding is far above what is
 * added to the diagonal, give about the likelihood of double precision. */
START_TEST(rounding_is_no_evidence)
{
    enum { n = 8000, d = 3, classes = 13 };
    double *X = calloc(n * d, sizeof *X), *label = calloc(n, sizeof *label), value[2], best[2];
    const struct kernel k = parse("rbf");
    const double hp[] = { 1.0 };
    const struct nmll_bounds within = { { 0.01, 2e3 }, { 1.0, 1.0 } };
    struct source_array src;

    for (size_t i = 0; i < n; i++) {
        double u[d];
        for (size_t j = 0; j < d; j++) {
            u[j] = rng_uniform(3, rng_stream(RNG_TEST, 6), d * i + j);
            X[d * i + j] = sqrt(12.0) * (u[j] - 0.5);
        }
        label[i] = floor(10.0 * u[0] * u[1] + 3.0 * u[2]);
    }
    source_array_init(&src, X, n, d, d);
    struct featmap *map = featmap_new(&k, d, 256, 9, NULL);
    for (int at = 0; at < 2; at++) {
        const struct dirichlet_rows rows = { .map = map, .src = &src.base, .labels = label,
                                             .hp = hp, .classes = classes, .alpha = 0.01,
                                             .precision = at ? PREC_DOUBLE : PREC_FLOAT,
                                             .on = { .be = backend_cpu() } };
        const struct nmll_ask ask = { .t = 1, .y = label, .hp = hp, .nhp = 1, .scale = NMLL_BEST,
                                      .within = &within };
        best[at] = 20.0;
        const struct nmll_told told = { .value = &value[at], .amplitude = &best[at] };
        ck_assert_int_eq(dirichlet_nmll(&rows, &ask, &told, NULL), ST_OK);
    }
    ck_assert_msg(value[0] >= value[1] * 0.99 && value[0] <= value[1] * 1.05, "%.9g and %.9g",
                  value[0], value[1]);
    featmap_free(map);
    free(X);
    free(label);
}
END_TEST

/* The softmax of golden logits over a temperature. */
START_TEST(golden_label_scores)
{
    size_t n, K, one;
    double *f = support_golden("cal_logits", &n, &K), *label = support_golden("cal_labels", &n,
                                                                              &one);
    double *p = calloc(n * K, sizeof *p);
    struct metrics m;
    const double T_opt = support_golden_scalar("cal_scalars", "T_opt");

    for (int at = 0; at < 2; at++) {
        const double temperature = at ? T_opt : 1.0;
        for (size_t i = 0; i < n; i++) {
            double all = 0.0;
            for (size_t c = 0; c < K; c++)
                all += exp(f[i * K + c] / temperature);
            for (size_t c = 0; c < K; c++)
                p[c * n + i] = exp(f[i * K + c] / temperature) / all;
        }
        ck_assert_int_eq(label_scores(n, K, label, p, NULL, &m, NULL), ST_OK);
        const struct { const char *key; double got; } of[2][5] = {
            { { "ece15_T1", m.ece }, { "mce15_T1", m.mce }, { "nll_T1", m.log_loss },
              { "brier_T1", m.brier }, { "err_T1", 1.0 - m.accuracy } },
            { { "ece15_Topt", m.ece }, { "nll_Topt", m.log_loss } },
        };
        for (size_t j = 0; j < 5 && of[at][j].key; j++) {
            const double want = support_golden_scalar("cal_scalars", of[at][j].key);
            ck_assert_msg(fabs(of[at][j].got - want) <= 1e-10, "%s: %.12g, not %.12g",
                          of[at][j].key, of[at][j].got, want);
        }
    }
    free(f);
    free(label);
    free(p);
}
END_TEST

/* A bin of confidence holds its upper end, (k/15, (k+1)/15]: 0.8 is 12/15.  The first of two rows
 * is right and the second wrong: in one bin they are off by 0.8 - 1/2, in two by 0.2 and 0.8. */
START_TEST(bins_at_their_edges)
{
    static const struct { double second, ece, mce; } of[] = {
        { 0.8, 0.3, 0.3 }, { 0.8 - 1e-12, 0.3, 0.3 }, { 0.8 + 1e-12, 0.5, 0.8 }, { 1.0, 0.6, 1.0 },
    };
    const double label[2] = { 0, 1 };
    struct metrics m;

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const double p[4] = { 0.8, of[i].second, 1.0 - 0.8, 1.0 - of[i].second };
        ck_assert_int_eq(label_scores(2, 2, label, p, NULL, &m, NULL), ST_OK);
        ck_assert_double_eq_tol(m.ece, of[i].ece, 1e-11);
        ck_assert_double_eq_tol(m.mce, of[i].mce, 1e-11);
    }
}
END_TEST

/* Equal probabilities are half in order: of the six pairs of each class against the others, ties
 * count a half. */
START_TEST(areas_with_ties)
{
    const double label[5] = { 0, 0, 1, 1, 1 };
    const double p[10] = { 0.5, 0.7, 0.5, 0.5, 0.2, 0.5, 0.3, 0.5, 0.5, 0.8 };
    struct metrics m;

    ck_assert_int_eq(label_scores(5, 2, label, p, NULL, &m, NULL), ST_OK);
    ck_assert_double_eq_tol(m.auroc, (0.5 + 0.5 + 1 + 3) / 6, 1e-15);
}
END_TEST

/* By hand: five rows of three classes, of which one has no row. */
START_TEST(scores_by_hand)
{
    enum { n = 5, K = 3 };
    const double label[n] = { 0, 0, 0, 2, 2 };
    const double p[K * n] = { 0.7, 0.4, 0.1, 0.2, 0.6,  0.1, 0.4, 0.2, 0.1, 0.1,
                              0.2, 0.2, 0.7, 0.7, 0.3 };
    size_t count[K * K];
    struct metrics m;
    struct err err = { 0 };

    ck_assert_int_eq(label_scores(n, K, label, p, NULL, &m, NULL), ST_OK);
    const double taken[n] = { 0, 0, 2, 2, 0 }, other[n] = { 0, 2, 2, 2, 2 };
    label_scores_confusion(n, K, label, taken, count);
    ck_assert(count[0] == 2 && count[2] == 1 && count[6] == 1 && count[8] == 1);
    ck_assert(fabs(m.accuracy - 0.6) < 1e-15 && fabs(m.majority - 0.6) < 1e-15);
    ck_assert(fabs(m.balanced_accuracy - 0.5 * (2.0 / 3.0 + 0.5)) < 1e-15);
    ck_assert(fabs(m.log_loss_constant + 0.6 * log(0.6) + 0.4 * log(0.4)) < 1e-15);
    ck_assert(fabs(m.log_loss +
                   (log(0.7) + log(0.4) + log(0.1) + log(0.7) + log(0.3)) / 5.0) < 1e-15);
    const double ece = m.ece, loss = m.log_loss;
    ck_assert_int_eq(label_scores(n, K, label, p, other, &m, NULL), ST_OK);
    ck_assert(fabs(m.accuracy - 0.6) < 1e-15 && m.ece == ece && m.log_loss == loss);
    ck_assert(fabs(m.balanced_accuracy - 0.5 * (1.0 / 3.0 + 1.0)) < 1e-15);
    const double wrong[n] = { 0, 0, 3, 2, 2 };
    ck_assert_int_eq(label_scores(n, K, wrong, p, NULL, &m, &err), ST_RANGE);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("dirichlet");
    TCase *t = tcase_create("dirichlet");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, golden_targets_and_noise, 0, 2);
    tcase_add_loop_test(t, golden_functions_of_given_columns, 0, 2);
    tcase_add_loop_test(t, golden_functions_and_probabilities, 0, 2);
    tcase_add_loop_test(t, golden_functions_under_the_exact_kernel, 0, 2);
    tcase_add_test(t, two_classes_by_the_integral);
    tcase_add_loop_test(t, gradient_by_differences, 0, 8);
    tcase_add_test(t, weights_are_repetitions);
    tcase_add_test(t, weights_under_the_exact_kernel);
    tcase_add_loop_test(t, each_class_by_conjugate_gradients, 0, 2);
    tcase_add_loop_test(t, best_amplitudes_and_threads, 0, 2);
    tcase_add_test(t, rounding_is_no_evidence);
    tcase_add_test(t, golden_label_scores);
    tcase_add_test(t, scores_by_hand);
    tcase_add_test(t, bins_at_their_edges);
    tcase_add_test(t, areas_with_ties);
    suite_add_tcase(s, t);
    return support_run(s);
}
