/* tests/compute/check_fit.c -- how a model is fitted: solvers that agree, starts from other fits,
 * the scale that follows the features, stopping, refusing, plans by memory, float16, and requests
 * for memory that fail.  check_model.c tests what a fitted model predicts. */
#include "fits.h"

#include "compute/backend.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/models/model.h"
#include "compute/models/model_forecast.h"
#include "compute/models/model_impl.h"
#include "compute/likelihood/nmll.h"
#include "compute/rng.h"
#include "base/mem.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(solvers_agree)
{
    struct prob *p = prob_make();
    struct fit_info a, b, c;
    struct fit_opts o = options("matern(nu=5/2)", "direct", 256);
    o.precision = PREC_DOUBLE;
    o.rtol = 1e-10;
    struct model *direct = fit(&p->src.base, p->y, &o, NULL, &a);
    o.solver = "pcg";
    o.rank = 64;
    struct model *pcg = fit(&p->src.base, p->y, &o, NULL, &b);
    o.solver = "cg";
    o.maxit = 5000;
    struct model *cg = fit(&p->src.base, p->y, &o, NULL, &c);
    ck_assert_str_eq(a.solver, "direct");
    ck_assert_int_eq(a.why, OUT_DIRECT);
    ck_assert_double_le(a.true_residual, 1e-10);
    ck_assert_int_eq(b.why, OUT_RTOL);
    ck_assert_int_eq(c.why, OUT_RTOL);
    ck_assert(b.rank == 64 && b.ratio > 0.0 && b.iterations < c.iterations);
    double norm = 0, dp = 0, dc = 0;
    for (size_t i = 0; i < 256; i++) {
        norm += direct->w[i] * direct->w[i];
        dp += pow(direct->w[i] - pcg->w[i], 2);
        dc += pow(direct->w[i] - cg->w[i], 2);
    }
    /* error of w <= kappa(A) rtol |w|; kappa ~ n / ratio = 7e4 */
    ck_assert_double_le(sqrt(dp / norm), 7e-6);
    ck_assert_double_le(sqrt(dc / norm), 7e-6);
    ck_assert(pcg->Mv == 256 && memcmp(pcg->L, direct->L, sizeof(double)) == 0);
    model_unref(pcg), model_unref(cg);
    static const enum plan plans[] = { PLAN_STORE, PLAN_REGENERATE, PLAN_DIRECT };
    static const char *const words[] = { "store", "regenerate", "direct" };
    for (size_t i = 0; i < 6; i++) { /* iterations on the features, and on Z'Z formed once */
        o.solver = i % 2 ? "cg" : "pcg";
        o.plan = plans[i / 2];
        struct model *m = fit(&p->src.base, p->y, &o, NULL, &b);
        ck_assert_str_eq(b.plan, words[i / 2]);
        ck_assert_str_eq(b.solver, o.solver);
        ck_assert_int_eq(b.why, OUT_RTOL);
        dp = 0;
        for (size_t j = 0; j < 256; j++)
            dp += pow(direct->w[j] - m->w[j], 2);
        ck_assert_double_le(sqrt(dp / norm), 7e-6);
        /* whether the factor is of the formed Z'Z or of one made for it, it is the direct fit's */
        ck_assert(m->Mv == 256 && memcmp(m->L, direct->L, 256 * 256 * sizeof *m->L) == 0);
        model_unref(m);
    }
    model_unref(direct);
    free(p);
}
END_TEST

/* From a stopped fit, and from fits with other hyperparameters: never more iterations than from
 * zero, and the same weights.  SVRG only from its own: a start that is nearer in the A-norm may lie
 * in directions that a gradient method is slow in. */
START_TEST(warm_starts_save_iterations)
{
    static const char *const solver[] = { "pcg", "cg", "lbfgs", "psvrg" };
    static const struct { double l, noise; size_t maxit; } from[] = {
        { 1.0, 0.1, 15 }, { 1.02, 0.1, 5000 }, { 1.1, 0.1, 5000 }, { 1.0, 0.13, 5000 },
        { 0.95, 0.08, 5000 }, { 1.0, 0.1, 5000 },
    };
    struct prob *p = prob_make();
    struct fit_info cold, other, warm;
    struct fit_opts o = options("matern(nu=5/2)", solver[_i], 256);

    o.precision = PREC_DOUBLE;
    o.rtol = 1e-9;
    o.rank = _i == 3 ? 128 : 64;
    o.maxit = 5000;
    o.variance = VAR_NONE;
    struct model *want = fit(&p->src.base, p->y, &o, NULL, &cold);
    ck_assert(cold.why == OUT_RTOL && !cold.warm);
    ck_assert_double_eq_tol(cold.start_residual, 1.0, 1e-12);
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        struct fit_opts f = o;
        double norm = 0, diff = 0;
        if (_i == 3 && i > 0 && i < 5)
            continue;
        f.hp[0] = from[i].l;
        f.noise = from[i].noise;
        f.maxit = _i == 3 && from[i].maxit == 15 ? 4 : from[i].maxit;
        struct model *start = fit(&p->src.base, p->y, &f, NULL, &other);
        f = o;
        f.start = start;
        struct model *m = fit(&p->src.base, p->y, &f, NULL, &warm);
        ck_assert(warm.why == OUT_RTOL && warm.warm);
        ck_assert_msg(warm.iterations <= cold.iterations, "%s from %zu: %zu, cold %zu", solver[_i],
                      i, warm.iterations, cold.iterations);
        if (i == 5) /* the solution itself */
            ck_assert_uint_le(warm.iterations, 1);
        for (size_t j = 0; j < 256; j++) {
            norm += want->w[j] * want->w[j];
            diff += pow(want->w[j] - m->w[j], 2);
        }
        /* each within kappa rtol |w|, kappa about n / ratio = 7e4 */
        ck_assert_double_le(sqrt(diff / norm), 2 * 7e4 * 1e-9);
        model_unref(m);
        model_unref(start);
    }
    model_unref(want);
    free(p);
}
END_TEST

/* From fewer or more features, another seed, another kernel, an exact fit: the start is near (that
 * of a model that predicts these rows), a few iterations more than from zero at most, and the
 * weights are the same.  A direct solve does without. */
START_TEST(starts_of_other_features_are_projected)
{
    static const struct {
        const char *kernel, *solver;
        size_t features;
        uint64_t seed;
        double start;
    } from[] = {{"rbf", "pcg", 128, 3, 0.3},   {"rbf", "pcg", 512, 3, 0.3},
                {"rbf", "pcg", 256, 4, 0.3},   {"matern(nu=5/2)", "pcg", 256, 3, 0.3},
                {"rbf", "exact", 256, 3, 0.3}, {"rbf", "direct", 64, 9, 0.5}};
    struct prob *p = prob_make();
    struct fit_info cold, warm;
    struct fit_opts o = options("rbf", "pcg", 256);

    o.precision = PREC_DOUBLE;
    o.rtol = 1e-9;
    o.rank = 64;
    o.maxit = 5000;
    o.variance = VAR_NONE;
    struct model *want = fit(&p->src.base, p->y, &o, NULL, &cold);
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        struct fit_opts f = options(from[i].kernel, from[i].solver, from[i].features);
        double norm = 0, diff = 0;
        f.seed = from[i].seed;
        struct model *start = fit(&p->src.base, p->y, &f, NULL, &warm);
        f = o;
        f.start = start;
        struct model *m = fit(&p->src.base, p->y, &f, NULL, &warm);
        ck_assert(warm.why == OUT_RTOL && warm.warm && warm.projected);
        ck_assert_msg(warm.start_residual < from[i].start, "%zu begins at %g", i,
                      warm.start_residual);
        ck_assert_msg(warm.iterations <= cold.iterations + 3, "%zu: %zu iterations, %zu from zero",
                      i, warm.iterations, cold.iterations);
        for (size_t j = 0; j < 256; j++) {
            norm += want->w[j] * want->w[j];
            diff += pow(want->w[j] - m->w[j], 2);
        }
        ck_assert_double_le(sqrt(diff / norm), 2 * 7e4 * 1e-9);
        model_unref(m);
        f.solver = "direct";
        m = fit(&p->src.base, p->y, &f, NULL, &warm);
        ck_assert(warm.why == OUT_DIRECT && !warm.warm);
        model_unref(m);
        model_unref(start);
    }
    model_unref(want);
    free(p);
}
END_TEST

/* Rows of the problem in another order, some of them moved. */
struct part { double X[N * D], y[N]; struct source_array src; };

static struct part *part_of(const struct prob *p, size_t n, const size_t *at)
{
    struct part *q = calloc(1, sizeof *q);

    for (size_t i = 0; i < n; i++) {
        memcpy(q->X + i * D, p->X + at[i] * D, D * sizeof *q->X);
        q->y[i] = p->y[at[i]];
    }
    source_array_init(&q->src, q->X, n, D, D);
    return q;
}

/* An exact kernel has a weight for each row: a start on fewer rows, in another order, gives its
 * weights to these rows alone, which saves products, and the solution is Cholesky's.  Also with
 * functions, and with 0, 1 and all rows the same. */
START_TEST(exact_starts_are_matched_by_rows)
{
    enum { OLD = 640 };
    const size_t samples = _i == 0 ? 0 : 3;
    struct prob *p = prob_make();
    struct fit_info cold, warm;
    struct fit_opts o = options("matern(nu=3/2)", "cg", 0);
    size_t at[N];

    o.kind = model_kind_named("exact");
    o.rtol = 1e-4;
    o.maxit = 2000;
    o.variance = samples ? VAR_SAMPLES : VAR_NONE;
    o.samples = samples;
    for (size_t i = 0; i < N; i++) /* 3 and 700 have no common divisor */
        at[i] = (3 * i + 11) % N;
    memcpy(p->X + at[4] * D, p->X + at[2] * D, D * sizeof *p->X); /* a row that is there twice */
    struct part *old = part_of(p, OLD, at);
    struct model *start = fit(&old->src.base, old->y, &o, NULL, &warm), *m;
    struct model *zero = fit(&p->src.base, p->y, &o, NULL, &cold);
    o.start = start;
    m = fit(&p->src.base, p->y, &o, NULL, &warm);
    ck_assert(warm.why == OUT_RTOL && warm.warm && !warm.projected);
    ck_assert_uint_eq(warm.start_rows, OLD);
    ck_assert_msg(warm.start_residual < 0.5, "it begins at %g", warm.start_residual);
    ck_assert_msg(10 * warm.iterations <= 9 * cold.iterations, "%zu iterations, %zu from zero",
                  warm.iterations, cold.iterations);
    o.start = NULL;
    o.solver = "exact";
    struct model *want = fit(&p->src.base, p->y, &o, NULL, &cold);
    double norm = 0.0, diff = 0.0, far = 0.0;
    for (size_t i = 0; i < (1 + samples) * N; i++) {
        const double w = i < N ? want->w[i] : want->a[i - N], a = i < N ? m->w[i] : m->a[i - N];
        norm += w * w;
        diff += (a - w) * (a - w);
        far += i < N ? pow(zero->w[i] - w, 2) : 0.0;
    }
    /* |A^-1 r| <= rtol |y| / ratio; |w| is of the size of |y| or more, ratio 0.01 */
    ck_assert_double_le(sqrt(diff / norm), 1e-4 / 0.01);
    ck_assert_double_gt(far, 0.0);
    model_unref(m);

    /* All in their order, one weight of which is moved: the rows are the same, not the numbers. */
    o.solver = "cg";
    o.start = zero;
    m = fit(&p->src.base, p->y, &o, NULL, &warm);
    ck_assert(warm.start_rows == N && warm.iterations <= 1);
    model_unref(m);
    /* As many rows, but one of them differs: it is none of the start's. */
    p->X[at[9] * D] += 1e-9;
    m = fit(&p->src.base, p->y, &o, NULL, &warm);
    ck_assert_uint_eq(warm.start_rows, N - 1);
    model_unref(m);
    /* None is the same: the start's predictions serve. */
    for (size_t i = 0; i < N; i++)
        p->X[i * D + 1] += 1e-3;
    m = fit(&p->src.base, p->y, &o, NULL, &warm);
    ck_assert(warm.projected && warm.start_rows == 0);
    model_unref(m);
    /* Nor are they by the start's own inputs where the rows are given as this fit encodes them. */
    double *rows = calloc(N * D, sizeof *rows);
    memcpy(rows, p->X, sizeof p->X);
    o.start_rows = rows;
    m = fit(&p->src.base, p->y, &o, NULL, &warm);
    ck_assert(!warm.projected && warm.start_rows == N);
    free(rows);
    model_unref(m), model_unref(start), model_unref(zero), model_unref(want);
    free(old);
    free(p);
}
END_TEST

/* The forecast of conjugate gradients from a sample.  Of all rows it is the count itself, but for
 * products in single precision, which cost conjugacy (106 iterations, and 141 with these); of a
 * quarter of them within a factor of 2 (nine fits of real data: 1.6), also in the note of a fit,
 * which chooses by it. */
START_TEST(iterations_are_forecast)
{
    enum { MANY = 2400 };
    static double X[MANY * D], y[MANY];
    struct fit_info info;
    struct fit_opts o = options("matern(nu=3/2)", "pcg", 0);
    struct source_array src;
    struct rank_guess g[2];
    const size_t ranks[2] = { 0, 100 };
    const char *at;
    size_t rows, told;

    for (size_t i = 0; i < MANY; i++) {
        for (size_t j = 0; j < D; j++)
            X[i * D + j] = rng_normal(3, rng_stream(RNG_TEST, 21), i * D + j);
        y[i] = sin(X[i * D]) + X[i * D + 1] * X[i * D + 2] +
               0.1 * rng_normal(3, rng_stream(RNG_TEST, 22), i);
    }
    o.kind = model_kind_named("exact");
    o.rtol = 1e-3;
    o.maxit = 2000;
    o.variance = VAR_NONE;
    for (size_t n = 600; n <= MANY; n += MANY - 600) {
        source_array_init(&src, X, n, D, D);
        struct forecast_ask q = { .rows = &src.base, .y = y, .opts = &o,
                                  .ratio = o.noise * o.noise / (o.amplitude * o.amplitude),
                                  .precond = &precond_pchol, .ranks = ranks, .count = 2,
                                  .sample = 600, .most = 2000 };
        const struct tools on = { backend_cpu(), NULL, NULL };
        ck_assert_int_eq(model_forecast(&q, &on, g, &rows, NULL), ST_OK);
        ck_assert_uint_eq(rows, 600);
        for (size_t r = 0; r < 2; r++) {
            const double far = n == 600 ? 1.5 : 2.0;
            o.solver = r ? "pcg" : "cg";
            o.rank = 100;
            model_unref(fit(&src.base, y, &o, NULL, &info));
            const double taken = (double)info.iterations;
            ck_assert_int_eq(info.why, OUT_RTOL);
            ck_assert_msg(g[r].iterations <= far * taken && taken <= far * g[r].iterations,
                          "%zu rows, rank %zu: %g for %g", n, ranks[r], g[r].iterations, taken);
            ck_assert(g[r].low <= g[r].iterations && g[r].iterations <= g[r].high);
            at = strstr(info.plan_note, r ? "pcg about " : "cg about ");
            ck_assert_ptr_nonnull(at);
            if (n == 600) { /* too few to ask */
                ck_assert_ptr_null(strstr(info.plan_note, " products"));
                continue;
            }
            ck_assert_int_eq(sscanf(strstr(at, "about "), "about %zu products", &told), 1);
            ck_assert_msg((double)told <= 2.0 * taken && taken <= 2.0 * (double)told,
                          "%s: %g taken", info.plan_note, taken);
        }
    }
    struct forecast_ask far = { .rows = &src.base, .y = y, .opts = &o, .ratio = 1e-4,
                                .precond = &precond_pchol, .ranks = (size_t[]){ 300 }, .count = 1,
                                .sample = 600, .most = 5 };
    const struct tools on = { backend_cpu(), NULL, NULL };
    ck_assert_int_eq(model_forecast(&far, &on, g, &rows, NULL), ST_OK);
    ck_assert(g[0].more && isinf(g[0].high)); /* the rank is too large for the sample */
    far.precond = &precond_gram;
    struct err err = { 0 };
    ck_assert_int_eq(model_forecast(&far, &on, g, &rows, &err), ST_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.hint, "precond=pchol"));
}
END_TEST

/* A model of other inputs, or of another number of targets, says nothing of these rows. */
START_TEST(starts_of_other_data_are_refused)
{
    struct prob *p = prob_make();
    struct fit_info info;
    struct fit_opts o = options("rbf", "pcg", 128);
    struct model *start = fit(&p->src.base, p->y, &o, NULL, &info), *m = NULL;

    for (size_t i = 0; i < 2; i++) {
        struct err err = { 0 };
        struct model other = *start;
        other.d += i == 0;
        other.t += i == 1;
        o.start = &other;
        ck_assert_int_eq(model_fit(&p->src.base, p->y, &o,
                                   &(struct tools){backend_cpu(), NULL, NULL}, &m, &info, NULL,
                                   &err),
                         ST_STATE);
        ck_assert_ptr_nonnull(strstr(err.msg, i ? "target" : "inputs"));
    }
    model_unref(start);
    free(p);
}
END_TEST

/* Squared leave-one-out error of ridge regression, from the leverages: r_i / (1 - h_ii). */
/* *se: of the mean, relative to it. */
static double leave_one_out(const double *Z, const double *y, double ratio, double *se)
{
    enum { M = 256 };
    double *A = calloc(M * M, sizeof *A), *b = calloc(M, sizeof *b), *h = calloc(M, sizeof *h);
    double sum = 0.0, square = 0.0;

    blas_dgemm1(false, true, M, M, N, 1.0, Z, M, Z, M, 0.0, A, M);
    blas_dgemm1(false, false, M, 1, N, 1.0, Z, M, y, N, 0.0, b, M);
    for (size_t i = 0; i < M; i++)
        A[i + i * M] += ratio;
    ck_assert_int_eq(blas_dpotrf(NULL, M, A, M, NULL, NULL, NULL), ST_OK);
    blas_dtrsm(NULL, false, M, 1, A, M, b, M, NULL);
    for (size_t i = 0; i < N; i++) {
        memcpy(h, Z + i * M, M * sizeof *h);
        blas_dtrsm(NULL, false, M, 1, A, M, h, M, NULL);
        const double e = (y[i] - blas_ddot(M, h, b)) / (1.0 - blas_ddot(M, h, h));
        sum += e * e / N;
        square += e * e * e * e / N;
    }
    *se = sqrt((square - sum * sum) / N) / sum;
    free(A), free(b), free(h);
    return sum;
}

/* From a noise that is far off, a fit comes to predict as well as the best ratio does, by exact
 * leave-one-out errors; for less noise it leaves what it was given only where that gains more than
 * the standard error of the error; the amplitude is then the likeliest; unless it is told to keep
 * both. */
START_TEST(scale_follows_the_features)
{
    struct prob *p = prob_make();
    struct fit_info kept, info;
    struct fit_opts o = options("matern(nu=5/2)", _i % 2 ? "pcg" : "direct", 256);
    struct nmll_eig q;
    double amp, se, least = 0.0, best = INFINITY, *Z = malloc(N * 256 * sizeof *Z);

    o.precision = PREC_DOUBLE;
    o.rtol = 1e-9;
    o.rank = 64;
    o.amplitude = 3.0;
    o.noise = (const double[]){ 0.9, 0.1, 0.35 }[_i / 2];
    struct model *a = fit(&p->src.base, p->y, &o, NULL, &kept);
    o.keep_scale = false;
    struct model *b = fit(&p->src.base, p->y, &o, NULL, &info);

    ck_assert(kept.scale == 1.0 && a->amplitude == 3.0 && a->noise == o.noise);
    const struct fop_opts fo = { .precision = o.precision };
    struct model_map z;
    ck_assert_int_eq(model_open(b, 256, &p->src.base, &fo, backend_cpu(), &z, NULL), ST_OK);
    struct fop *f = z.f;
    ck_assert_int_eq(fop_tile64(f, 0, N, Z, 256, NULL), ST_OK);
    ck_assert_int_eq(nmll_eig_for_tests(f, p->y, false, NULL, &q, NULL), ST_OK);
    const double ratio = model_ratio(b->amplitude, b->noise), given = o.noise * o.noise / 9.0;
    for (double r = given / 12; r < given * 13; r *= 1.5)
        if (leave_one_out(Z, p->y, r, &se) < best)
            best = leave_one_out(Z, p->y, r, &se), least = se;
    const double own = leave_one_out(Z, p->y, ratio, &se);
    const double gain = log(leave_one_out(Z, p->y, given, &se) / best);
    if (_i / 2 == 2) { /* a tie */
        ck_assert(gain > 0.0 && gain < 0.7 * least);
        ck_assert(near_rel(ratio, given, 1e-12));
    } else {
        ck_assert(_i / 2 == 0 ? gain > 1.5 * least : ratio > given);
        ck_assert_double_le(own, 1.03 * best);
    }
    nmll_eig_profile(&q, ratio, &amp);
    ck_assert(near_rel(b->amplitude, amp, 1e-7));
    ck_assert(near_rel(info.scale, amp / 3.0, 1e-7));
    nmll_eig_free(&q);
    fop_free(f);
    featmap_free(z.map);
    model_unref(a), model_unref(b);
    free(Z), free(p);
}
END_TEST

/* Stopping, refusing, failing. */

struct stopper { struct cancel cancel; enum phase phase; size_t after; };
static void stop_at(void *ctx, const struct tick *t)
{
    struct stopper *s = ctx;
    if (t->phase == s->phase && t->done >= s->after)
        atomic_store(&s->cancel.stop, true);
}

START_TEST(stopped_fit_keeps_its_iterate)
{
    struct prob *p = prob_make();
    struct stopper s = { .phase = PHASE_ITERATE, .after = 3 };
    struct ctl ctl = { &s.cancel, stop_at, &s };
    struct fit_info info;
    struct model *m = NULL;
    double mean[T], norm = 0.0;
    struct fit_opts o = options("rbf", "cg", 512);
    o.rtol = 1e-12;
    ck_assert_int_eq(model_fit(&p->src.base, p->y, &o, &(struct tools){backend_cpu(), NULL, &ctl},
                               &m, &info, NULL, NULL),
                     ST_OK);
    ck_assert_int_eq(info.why, OUT_CANCELLED);
    ck_assert(info.iterations >= 3 && info.iterations < 10);
    ck_assert_ptr_null(m->L);
    ck_assert_str_eq(info.warning_name, "no-variance");
    for (size_t i = 0; i < m->M; i++)
        norm += m->w[i] * m->w[i];
    ck_assert(norm > 0.0);
    ck_assert_int_eq(model_predict(m, &p->test.base, mean, NULL,
                                   &(struct tools){backend_cpu(), NULL, NULL}, NULL),
                     ST_OK);
    model_unref(m);

    struct stopper v = { .phase = PHASE_VARIANCE, .after = 0 };
    ctl = (struct ctl){ &v.cancel, stop_at, &v };
    o.solver = "pcg";
    o.rtol = 1e-6;
    ck_assert_int_eq(model_fit(&p->src.base, p->y, &o, &(struct tools){backend_cpu(), NULL, &ctl},
                               &m, &info, NULL, NULL),
                     ST_OK);
    ck_assert_int_eq(info.why, OUT_RTOL); /* the weights are good; only the variances are missing */
    ck_assert_ptr_null(m->L);
    model_unref(m);

    struct stopper g = { .phase = PHASE_GRAM, .after = 0 };
    ctl = (struct ctl){ &g.cancel, stop_at, &g };
    o.solver = "direct";
    ck_assert_int_eq(model_fit(&p->src.base, p->y, &o, &(struct tools){backend_cpu(), NULL, &ctl},
                               &m, &info, NULL, NULL),
                     ST_CANCELLED);
    ck_assert_ptr_null(m);
    free(p);
}
END_TEST

START_TEST(refusals)
{
    struct prob *p = prob_make();
    struct err err;
    struct fit_info info;
    struct model *m;
    double flat[N];
    struct fit_opts o = options("rbf", "direct", 64);

    for (size_t i = 0; i < N; i++)
        flat[i] = 0.25;
    ck_assert_int_eq(model_fit(&p->src.base, flat, &o, &(struct tools){backend_cpu(), NULL, NULL},
                               &m, &info, NULL, &err),
                     ST_RANGE);
    ck_assert_str_eq(err.name, "constant-target");
    o.features = 63;
    ck_assert_int_eq(model_fit(&p->src.base, p->y, &o, &(struct tools){backend_cpu(), NULL, NULL},
                               &m, &info, NULL, &err),
                     ST_RANGE);
    o.features = 64;
    o.noise = 0.0;
    ck_assert_int_eq(model_fit(&p->src.base, p->y, &o, &(struct tools){backend_cpu(), NULL, NULL},
                               &m, &info, NULL, &err),
                     ST_RANGE);
    o.noise = 0.1;
    o.mem_limit = 1000;
    ck_assert_int_eq(model_fit(&p->src.base, p->y, &o, &(struct tools){backend_cpu(), NULL, NULL},
                               &m, &info, NULL, &err),
                     ST_LIMIT);
    ck_assert_str_eq(err.name, "memory");
    o.mem_limit = 0;
    o.plan = PLAN_STORE;
    ck_assert_int_eq(model_fit(&p->src.base, p->y, &o, &(struct tools){backend_cpu(), NULL, NULL},
                               &m, &info, NULL, &err),
                     ST_USAGE);
    o.plan = PLAN_AUTO;
    o.solver = "nonesuch";
    ck_assert_int_eq(model_fit(&p->src.base, p->y, &o, &(struct tools){backend_cpu(), NULL, NULL},
                               &m, &info, NULL, &err),
                     ST_NOT_FOUND);
    free(p);
}
END_TEST

START_TEST(plan_follows_sizes)
{
    struct fit_opts o = options("rbf", "auto", 1024);
    enum plan plan;
    size_t bytes, less;
    char note[256];

    ck_assert_int_eq(model_plan(100000, 10, &o, 2, &plan, &bytes, note, NULL), ST_OK);
    ck_assert_int_eq(plan, PLAN_DIRECT);
    o.features = 16384;
    o.rank = 32;
    o.solver = "pcg";
    o.mem_limit = (size_t)16 << 30;
    ck_assert_int_eq(model_plan(100000, 8, &o, 2, &plan, &bytes, note, NULL), ST_OK);
    ck_assert_int_eq(plan, PLAN_STORE);
    ck_assert_ptr_nonnull(strstr(note, "stores the features"));
    ck_assert(bytes > 100000 * 16384 * 4ul);
    /* Many cores wait for a memory that they share; a way that the user asked for stays. */
    ck_assert_int_eq(model_plan(100000, 8, &o, 64, &plan, &less, note, NULL), ST_OK);
    ck_assert_int_eq(plan, PLAN_REGENERATE);
    ck_assert(less < bytes);
    o.plan = PLAN_STORE;
    ck_assert_int_eq(model_plan(100000, 8, &o, 64, &plan, &less, note, NULL), ST_OK);
    ck_assert_int_eq(plan, PLAN_STORE);
    o.plan = PLAN_AUTO;
    o.mem_limit = (size_t)2 << 30; /* Z does not fit: regenerated */
    ck_assert_int_eq(model_plan(100000, 8, &o, 2, &plan, &less, note, NULL), ST_OK);
    ck_assert_int_eq(plan, PLAN_REGENERATE);
    ck_assert(less < bytes && less < ((size_t)2 << 30));
    o.features = 4096; /* a sketch of rank 1024 costs more than Z'Z */
    o.rank = 1024;
    ck_assert_int_eq(model_plan(36000, 8, &o, 2, &plan, &less, note, NULL), ST_OK);
    ck_assert_int_eq(plan, PLAN_DIRECT);
    ck_assert_ptr_nonnull(strstr(note, "iterates on it"));
    o.plan = PLAN_STORE; /* as asked */
    ck_assert_int_eq(model_plan(36000, 8, &o, 2, &plan, &less, note, NULL), ST_OK);
    ck_assert_int_eq(plan, PLAN_STORE);
    o.plan = PLAN_AUTO;
    o.mem_limit = (size_t)1 << 30;
    o.solver = "exact";
    ck_assert_int_eq(model_plan(36000, 8, &o, 2, &plan, &less, note, NULL), ST_LIMIT);
}
END_TEST

/* By itself float16 is taken where float32 does not fit and it does, and only where it may be. */
START_TEST(float16_by_memory)
{
    struct fit_opts o = options("rbf", "pcg", 16384);
    enum plan plan;
    size_t half, whole, anew, bytes;
    char note[256];
    struct err err;

    o.rank = 32;
    o.mem_limit = (size_t)64 << 30;
    o.store = STORE_FLOAT16;
    ck_assert_int_eq(model_plan(100000, 8, &o, 2, &plan, &half, note, NULL), ST_OK);
    ck_assert_int_eq(plan, PLAN_STORE);
    ck_assert(strstr(note, "stores the features in float16 (") == note);
    o.store = STORE_FLOAT32;
    ck_assert_int_eq(model_plan(100000, 8, &o, 2, &plan, &whole, note, NULL), ST_OK);
    ck_assert_ptr_nonnull(strstr(note, "in float16 ("));
    ck_assert_uint_eq(whole - half, (size_t)2 * 100000 * 16384);
    o.store = STORE_AUTO;
    o.plan = PLAN_REGENERATE;
    ck_assert_int_eq(model_plan(100000, 8, &o, 2, &plan, &anew, note, NULL), ST_OK);
    o.plan = PLAN_AUTO;
    o.mem_limit = whole;
    ck_assert_int_eq(model_plan(100000, 8, &o, 2, &plan, &bytes, note, NULL), ST_OK);
    ck_assert(plan == PLAN_STORE && bytes == whole);
    o.mem_limit = whole - 1;
    ck_assert_int_eq(model_plan(100000, 8, &o, 2, &plan, &bytes, note, NULL), ST_OK);
    if (strcmp(cpu_level(), "portable") != 0) /* where making them anew is no faster */
        ck_assert(plan == PLAN_STORE && bytes == half);
    o.mem_limit = half - 1;
    ck_assert_int_eq(model_plan(100000, 8, &o, 2, &plan, &bytes, note, NULL), ST_OK);
    ck_assert(plan == PLAN_REGENERATE && bytes == anew);
    o.mem_limit = whole - 1;
    o.precision = PREC_DOUBLE; /* never rounded, */
    ck_assert_int_eq(model_plan(100000, 8, &o, 2, &plan, &bytes, note, NULL), ST_OK);
    ck_assert_int_ne(plan, PLAN_STORE);
    o.precision = PREC_FLOAT;
    o.solver = "lbfgs"; /* not with solvers that would not notice, */
    o.store = STORE_FLOAT32;
    o.mem_limit = (size_t)64 << 30;
    ck_assert_int_eq(model_plan(100000, 8, &o, 2, &plan, &bytes, note, NULL), ST_OK);
    o.store = STORE_AUTO;
    o.mem_limit = bytes - 1;
    ck_assert_int_eq(model_plan(100000, 8, &o, 2, &plan, &bytes, note, NULL), ST_OK);
    ck_assert_int_ne(plan, PLAN_STORE);
    o.store = STORE_FLOAT16;
    ck_assert_int_eq(model_plan(100000, 8, &o, 2, &plan, &bytes, note, &err), ST_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.msg, "pcg"));
    o.solver = "pcg";
    ck_assert_int_eq(kernel_parse("rbf + linear", &o.kernel, o.hp, NULL), ST_OK);
    ck_assert_int_eq(model_plan(100000, 8, &o, 2, &plan, &bytes, note, &err), ST_UNSUPPORTED);
    o.store = STORE_AUTO; /* and not where features have no bound */
    ck_assert_int_eq(model_plan(100000, 8, &o, 2, &plan, &bytes, note, NULL), ST_OK);
    ck_assert_int_ne(plan, PLAN_STORE);
    ck_assert_ptr_null(strstr(note, "float16"));
    o.store = STORE_FLOAT32;
    o.plan = PLAN_REGENERATE;
    ck_assert_int_eq(model_plan(100000, 8, &o, 2, &plan, &bytes, note, &err), ST_USAGE);
}
END_TEST

/* A fit with rounded features is the fit without, to what rtol allows; where they are too coarse it
 * goes on without them, and says so. */
START_TEST(float16_fits)
{
    struct prob *p = prob_make();

    for (int hard = 0; hard < 2; hard++) {
        struct fit_opts o = options("rbf", "pcg", 512);
        struct model *m[2];
        struct fit_info info[2];
        double *mean[2];
        o.rank = 64;
        o.rtol = 1e-6;
        o.maxit = 2000;
        o.keep_scale = true;
        o.variance = VAR_NONE;
        if (hard)
            o.noise = 1e-4 * o.amplitude;
        for (int half = 0; half < 2; half++) {
            o.store = half ? STORE_FLOAT16 : STORE_FLOAT32;
            mean[half] = malloc(p->src.base.n * sizeof *mean[half]);
            ck_assert_int_eq(model_fit(&p->src.base, p->y, &o,
                                       &(struct tools){backend_cpu(), NULL, NULL}, &m[half],
                                       &info[half], NULL, NULL),
                             ST_OK);
            ck_assert_int_eq(info[half].half, half);
            ck_assert_str_eq(info[half].plan, "store");
            ck_assert_int_eq(model_predict(m[half], &p->src.base, mean[half], NULL,
                                           &(struct tools){backend_cpu(), NULL, NULL}, NULL),
                             ST_OK);
        }
        if (!hard) {
            ck_assert_int_eq(info[1].why, OUT_RTOL);
            ck_assert_double_le(info[1].true_residual, 1e-6);
            ck_assert_str_eq(info[1].warning, "");
        } else { /* noise of a ten thousandth: both at the limit of single precision */
            ck_assert_double_le(info[1].true_residual, 10.0 * info[0].true_residual);
        }
        for (size_t i = 0; !hard && i < p->src.base.n; i++)
            ck_assert_double_eq_tol(mean[0][i], mean[1][i], 1e-3);
        for (int half = 0; half < 2; half++) {
            model_unref(m[half]);
            free(mean[half]);
        }
    }
    free(p);
}
END_TEST

START_TEST(allocation_failures_are_errors)
{
    struct prob *p = prob_make();
    const char *const solver[] = { "direct", "pcg", "exact" };
    struct source_array src;
    size_t failures = 0;

    source_array_init(&src, p->X, 90, D, D);
    for (size_t w = 0; w < 3; w++)
        for (size_t i = 1; i < 120; i++) { /* a failed residual or the like is survived */
            struct fit_opts o = options("rbf", solver[w], w == 2 ? 0 : 64);
            struct fit_info info;
            struct model *m = NULL;
            struct err err = { 0 };
            o.rank = 16;
            mem_fail_after_for_tests(i);
            const enum status rc =
                model_fit(&src.base, p->y, &o, &(struct tools){backend_cpu(), NULL, NULL}, &m,
                          &info, NULL, &err);
            mem_fail_after_for_tests(0);
            if (rc == ST_OK) {
                model_unref(m);
                continue;
            }
            failures++;
            ck_assert_int_eq(rc, ST_NOMEM);
            ck_assert_ptr_null(m);
        }
    ck_assert(failures > 10);
    free(p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fit");
    TCase *t = tcase_create("fit");

    blas_init();
    tcase_set_timeout(t, 300);
    tcase_add_test(t, solvers_agree);
    tcase_add_loop_test(t, warm_starts_save_iterations, 0, 4);
    tcase_add_test(t, starts_of_other_features_are_projected);
    tcase_add_test(t, starts_of_other_data_are_refused);
    tcase_add_loop_test(t, exact_starts_are_matched_by_rows, 0, 2);
    tcase_add_test(t, iterations_are_forecast);
    tcase_add_loop_test(t, scale_follows_the_features, 0, 6);
    tcase_add_test(t, stopped_fit_keeps_its_iterate);
    tcase_add_test(t, refusals);
    tcase_add_test(t, plan_follows_sizes);
    tcase_add_test(t, float16_by_memory);
    tcase_add_test(t, float16_fits);
    tcase_add_test(t, allocation_failures_are_errors);
    suite_add_tcase(s, t);
    return support_run(s);
}
