/* tests/compute/check_softmax.c -- the multinomial logistic model and the discriminant of several
 * classes: golden Laplace posteriors of two, dense Newton steps of three, a dense discriminant,
 * threads, weights, a stop. */
#include "support.h"

#include "base/mem.h"
#include "compute/features/featmap.h"
#include "compute/likelihood/discriminant.h"
#include "compute/likelihood/held.h"
#include "compute/likelihood/softmax.h"
#include "compute/models/model.h"
#include "compute/pool.h"
#include "compute/rng.h"

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

/* x <- A^-1 x (n x n, row-major; destroyed) by Gauss's elimination with pivots. */
static void eliminate(size_t n, double *A, double *x)
{
    for (size_t p = 0; p < n; p++) {
        size_t best = p;
        for (size_t i = p; i < n; i++)
            best = fabs(A[i * n + p]) > fabs(A[best * n + p]) ? i : best;
        for (size_t j = 0; j < n; j++) {
            const double t = A[p * n + j];
            A[p * n + j] = A[best * n + j];
            A[best * n + j] = t;
        }
        const double t = x[p];
        x[p] = x[best];
        x[best] = t;
        for (size_t i = 0; i < n; i++) {
            const double f = i == p ? 0.0 : A[i * n + p] / A[p * n + p];
            for (size_t j = p; f != 0.0 && j < n; j++)
                A[i * n + j] -= f * A[p * n + j];
            x[i] -= f * x[p];
        }
    }
    for (size_t i = 0; i < n; i++)
        x[i] /= A[i * n + i];
}

/* Rows whose features are their inputs (the linear kernel), at labels. */
struct prob {
    struct kernel k;
    struct source_array src;
    struct featmap *map;
    struct dirichlet_rows rows;
    double hp[KERNEL_MAX_HP];
};

static void open_prob(struct prob *p, const double *X, size_t n, size_t d, const double *labels,
                      size_t classes, struct pool *pool)
{
    *p = (struct prob){ .k = parse("linear"), .hp = { 1.0 } };
    source_array_init(&p->src, X, n, d, d);
    p->map = featmap_new(&p->k, d, d, 1, NULL);
    ck_assert_ptr_nonnull(p->map);
    ck_assert_uint_eq(p->map->M, d);
    p->rows = (struct dirichlet_rows){ .map = p->map, .src = &p->src.base, .labels = labels,
                                       .hp = p->hp, .classes = classes, .alpha = 0.01,
                                       .precision = PREC_DOUBLE,
                                       .on = { .be = backend_cpu(), .pool = pool } };
}

/* Two classes of golden rows: f_1 - f_0 with prior 2 K1 is the function of golden Laplace, whose
 * kernel is 2 exp(-r^2 / 2).  The features are the rows of the Cholesky factor over all rows. */
enum { N = 30, T = 10, W = N + T };
START_TEST(golden_laplace)
{
    static const double zero[2] = { 0.0 };
    size_t n, d, c;
    double *X = support_golden("cls_X", &n, &d), *Xt = support_golden("cls_Xtest", &n, &d);
    double *y = support_golden("cls_y", &n, &c), *mode = support_golden("laplace_mode", &n, &c);
    double *want = support_golden("laplace_pred", &n, &c), F[W * W] = { 0.0 }, label[N];
    double w[2 * W] = { 0.0 }, *L = calloc(W * W, sizeof *L);
    struct softmax_end end;
    struct softmax s;
    struct prob p;

    for (size_t i = 0; i < W; i++)
        for (size_t j = 0; j <= i; j++) {
            const double *a = i < N ? X + 2 * i : Xt + 2 * (i - N);
            const double *b = j < N ? X + 2 * j : Xt + 2 * (j - N);
            double v = exp(-0.5 * ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])));
            for (size_t k = 0; k < j; k++)
                v -= F[i * W + k] * F[j * W + k];
            F[i * W + j] = i == j ? sqrt(fmax(v, 1e-14)) : v / F[j * W + j];
        }
    for (size_t i = 0; i < N; i++)
        label[i] = y[i] > 0.0;
    open_prob(&p, F, N, W, label, 2, NULL);
    ck_assert_ptr_nonnull(L);
    ck_assert_int_eq(softmax_open(&s, &p.rows, zero, 1e9, NULL), ST_OK);
    ck_assert_int_eq(softmax_solve(&s, 1.0, 1e-12, 100, w, &end, NULL), ST_OK);
    ck_assert_int_eq(softmax_factors(&s, 1.0, w, L, NULL), ST_OK);
    for (size_t i = 0; i < W; i++) {
        double f = 0.0, v[W], var = 0.0;
        for (size_t j = 0; j < W; j++) {
            f += F[i * W + j] * (w[W + j] - w[j]);
            v[j] = F[i * W + j];
            for (size_t k = 0; k < j; k++)
                v[j] -= L[j + k * W] * v[k];
            v[j] /= L[j + j * W];
            var += 2.0 * v[j] * v[j];
        }
        ck_assert_double_eq_tol(f, i < N ? mode[i] : want[3 * (i - N)], 1e-6);
        if (i >= N)
            ck_assert_double_eq_tol(var, want[3 * (i - N) + 1], 1e-6);
    }
    softmax_close(&s);
    featmap_free(p.map);
    free(X), free(Xt), free(y), free(mode), free(want), free(L);
}
END_TEST

/* Three classes of drawn rows. */
enum { R = 300, D = 6, C = 3 };
static double data[R * D], labels[R];

static void draw(void)
{
    for (size_t i = 0; i < R; i++) {
        labels[i] = (double)(i * 7 % 11 % C);
        for (size_t j = 0; j < D; j++)
            data[i * D + j] = rng_normal(3, rng_stream(RNG_TEST, 0), i * D + j) +
                              (j == (size_t)labels[i] ? 1.0 : 0.0);
    }
}

/* One dense Newton step of the whole problem from w, with the Hessian of all classes; the largest
 * change. */
static double dense_step(const double *w, double prior, const double *offset,
                         const double *weight, double *to)
{
    enum { ALL = C * D };
    static double H[ALL * ALL];
    double g[ALL], most = 0.0;

    memset(H, 0, sizeof H);
    for (size_t k = 0; k < ALL; k++) {
        H[k * ALL + k] = prior;
        g[k] = prior * w[k];
    }
    for (size_t i = 0; i < R; i++) {
        const double u = weight ? weight[(size_t)labels[i]] : 1.0, *x = data + i * D;
        double p[C], sum = 0.0;
        for (size_t c = 0; c < C; c++) {
            p[c] = offset[c];
            for (size_t j = 0; j < D; j++)
                p[c] += x[j] * w[c * D + j];
            sum += p[c] = exp(p[c]);
        }
        for (size_t c = 0; c < C; c++)
            p[c] /= sum;
        for (size_t k = 0; k < ALL; k++) {
            g[k] += u * x[k % D] * (p[k / D] - (labels[i] == (double)(k / D)));
            for (size_t l = 0; l < ALL; l++)
                H[k * ALL + l] += u * x[k % D] * x[l % D] * p[k / D] *
                                  ((k / D == l / D ? 1.0 : 0.0) - p[l / D]);
        }
    }
    eliminate(ALL, H, g);
    for (size_t k = 0; k < ALL; k++) {
        to[k] = w[k] - g[k];
        most = fmax(most, fabs(g[k]));
    }
    return most;
}

START_TEST(dense_newton)
{
    static const double offset[C] = { -0.3, 0.4, 0.1 }, weights[C] = { 0.5, 2.0, 1.25 };
    const double *weight = _i ? weights : NULL;
    struct pool *three = pool_new(3, NULL);
    double w[2][C * D], to[C * D], sum;
    struct prob p;

    draw();
    for (int k = 0; k < 2; k++) { /* kept features and one thread; made in each pass, and three */
        struct softmax_end end;
        struct softmax s;
        open_prob(&p, data, R, D, labels, C, k ? three : NULL);
        p.rows.weight = weight;
        memset(w[k], 0, sizeof w[k]);
        ck_assert_int_eq(softmax_open(&s, &p.rows, offset, k ? 0.0 : 1e9, NULL), ST_OK);
        ck_assert(s.keep == !k);
        ck_assert_int_eq(softmax_solve(&s, 0.3, 1e-10, 100, w[k], &end, NULL), ST_OK);
        ck_assert_int_eq(end.why, SOFTMAX_RTOL);
        softmax_close(&s);
        featmap_free(p.map);
    }
    ck_assert(memcmp(w[0], w[1], sizeof w[0]) == 0);
    ck_assert(dense_step(w[0], 0.3, offset, weight, to) < 1e-8);
    for (size_t j = 0; j < D; j++) { /* the prior leaves no common part */
        sum = w[0][j] + w[0][D + j] + w[0][2 * D + j];
        ck_assert(fabs(sum) < 1e-8);
    }
    pool_free(three);
}
END_TEST

/* A cancelled solve leaves the weights that it was given. */
START_TEST(stopped)
{
    static const double offset[C] = { 0.0 };
    struct cancel cancel = { .stop = false };
    const struct ctl ctl = { .cancel = &cancel };
    double w[C * D];
    struct softmax_end end;
    struct softmax s;
    struct prob p;

    draw();
    open_prob(&p, data, R, D, labels, C, NULL);
    p.rows.on.ctl = &ctl;
    for (size_t k = 0; k < C * D; k++)
        w[k] = 0.25;
    ck_assert_int_eq(softmax_open(&s, &p.rows, offset, 1e9, NULL), ST_OK);
    atomic_store(&cancel.stop, true);
    ck_assert_int_eq(softmax_solve(&s, 0.3, 1e-6, 100, w, &end, NULL), ST_OK);
    ck_assert_int_eq(end.why, SOFTMAX_STOPPED);
    for (size_t k = 0; k < C * D; k++)
        ck_assert(w[k] == 0.25);
    softmax_close(&s);
    labels[5] = 3.0;
    ck_assert_int_eq(softmax_open(&s, &p.rows, offset, 1e9, NULL), ST_RANGE);
    softmax_close(&s);
    featmap_free(p.map);
}
END_TEST

/* The discriminant of a dense covariance: (W + lambda I)^-1 by elimination. */
START_TEST(dense_discriminant)
{
    static const double weights[C] = { 0.5, 2.0, 1.25 };
    const size_t classes = _i == 2 ? 2 : C;
    const double *weight = _i == 1 ? weights : NULL, lambda = 0.7;
    double mean[C][D] = { { 0.0 } }, size[C] = { 0.0 }, all = 0.0, w[C * D], constant[C];
    struct discriminant d;
    struct prob p;

    draw();
    for (size_t i = 0; i < R; i++) {
        labels[i] = fmin(labels[i], (double)classes - 1.0);
        const double u = weight ? weight[(size_t)labels[i]] : 1.0;
        size[(size_t)labels[i]] += u;
        all += u;
        for (size_t j = 0; j < D; j++)
            mean[(size_t)labels[i]][j] += u * data[i * D + j];
    }
    for (size_t c = 0; c < classes; c++)
        for (size_t j = 0; j < D; j++)
            mean[c][j] /= size[c];
    open_prob(&p, data, R, D, labels, classes, NULL);
    p.rows.weight = weight;
    ck_assert_int_eq(discriminant_open(&d, &p.rows, NULL), ST_OK);
    ck_assert_int_eq(discriminant_at(&d, lambda, w, constant, NULL), ST_OK);
    for (size_t c = 0; c < classes; c++) {
        double S[D * D] = { 0.0 }, x[D], half = 0.0;
        for (size_t i = 0; i < R; i++) {
            const size_t own = (size_t)labels[i];
            for (size_t k = 0; k < D * D; k++)
                S[k] += (weight ? weight[own] : 1.0) / all *
                        (data[i * D + k / D] - mean[own][k / D]) *
                        (data[i * D + k % D] - mean[own][k % D]);
        }
        for (size_t j = 0; j < D; j++) {
            S[j * D + j] += lambda / all;
            x[j] = mean[c][j];
        }
        eliminate(D, S, x);
        for (size_t j = 0; j < D; j++) {
            ck_assert_double_eq_tol(w[c * D + j], x[j], 1e-10);
            half -= 0.5 * mean[c][j] * x[j];
        }
        ck_assert_double_eq_tol(constant[c], half, 1e-10);
    }
    discriminant_close(&d);
    featmap_free(p.map);
}
END_TEST

/* Left-out rows: each once in the folds of few rows, and never among those to learn from. */
START_TEST(rows_left_out)
{
    size_t seen[R] = { 0 };
    struct prob p;

    draw();
    open_prob(&p, data, R, D, labels, C, NULL);
    ck_assert_uint_eq(held_folds(R), HELD_FOLDS);
    ck_assert_uint_eq(held_folds(100000), 1);
    for (size_t k = 0; k < HELD_FOLDS; k++) {
        struct held h;
        bool in[R] = { false };
        ck_assert_int_eq(held_make(&h, &p.rows, k, 7, NULL), ST_OK);
        for (size_t i = 0; i < h.rows.base.n; i++) {
            seen[h.rows.idx[i]]++;
            in[h.rows.idx[i]] = true;
            ck_assert(h.out.labels[i] == labels[h.rows.idx[i]]);
        }
        ck_assert_uint_eq(h.rows.base.n + h.train_rows.base.n, R);
        for (size_t i = 0; i < h.train_rows.base.n; i++) {
            ck_assert(!in[h.train_rows.idx[i]]);
            ck_assert(h.train.labels[i] == labels[h.train_rows.idx[i]]);
        }
        held_free(&h);
    }
    for (size_t i = 0; i < R; i++)
        ck_assert_uint_eq(seen[i], 1);
    featmap_free(p.map);
}
END_TEST

/* Rows that a map has not seen are the ones left out, and nothing else is. */
START_TEST(rows_not_seen)
{
    static const size_t unseen[4] = { 17, 3, 29, 8 };
    bool in[R] = { false };
    struct held h;
    struct prob p;

    draw();
    open_prob(&p, data, R, D, labels, C, NULL);
    p.rows.unseen = unseen;
    p.rows.nunseen = 4;
    ck_assert_int_eq(held_make(&h, &p.rows, 0, 7, NULL), ST_OK);
    ck_assert_uint_eq(h.rows.base.n, 4);
    ck_assert_uint_eq(h.train_rows.base.n, R - 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(h.rows.idx[i], unseen[i]);
        ck_assert(h.out.labels[i] == labels[unseen[i]]);
        in[unseen[i]] = true;
    }
    for (size_t i = 0; i < R - 4; i++) {
        const size_t row = h.train_rows.idx[i];
        ck_assert(!in[row] && h.train.labels[i] == labels[row]);
        in[row] = true;
    }
    held_free(&h);
    featmap_free(p.map);
}
END_TEST

/* Shares of classes with alpha rows more in each; equal ones where classes are balanced. */
START_TEST(offsets)
{
    const double y[] = { 0, 0, 0, 2 }, X[8] = { 0 };
    double o[3], one[3] = { 1.0, 1.0, 1.0 };
    struct prob p;

    open_prob(&p, X, 4, 2, y, 3, NULL);
    softmax_offset(&p.rows, o);
    ck_assert_double_eq_tol(o[0], log(3.01 / 4.03), 1e-14);
    ck_assert_double_eq_tol(o[1], log(0.01 / 4.03), 1e-14);
    ck_assert_double_eq_tol(o[2], log(1.01 / 4.03), 1e-14);
    p.rows.weight = one;
    softmax_offset(&p.rows, o);
    ck_assert_double_eq_tol(o[1], -log(3.0), 1e-14);
    featmap_free(p.map);
}
END_TEST

/* What a session may hold: a state with labels, offsets and variances that are none. */
/* A fit that was stopped before its first step has no gradient to tell. */
START_TEST(stopped_at_once)
{
    const struct fit_info none = { .why = OUT_CANCELLED, .residual = NAN, .amplitude = 2.0,
                                   .left_out_nlpd = NAN };
    struct fit_info some = none;
    char words[300];

    softmax_model.verdict(&none, words, sizeof words);
    ck_assert_str_eq(words, "stopped on request after 0 Newton steps and 0 passes, at amplitude 2");
    some.residual = 0.5;
    softmax_model.verdict(&some, words, sizeof words);
    ck_assert_ptr_nonnull(strstr(words, "the gradient is 5.0e-01 of its start"));
}
END_TEST

START_TEST(hostile_models)
{
    const struct model_ops *kind = _i ? &discriminant_model : &softmax_model;
    double state[1 + C + 4] = { 0.01, -1.0, -1.0, -1.0, 0.0, 1.0, 2.0, 1.0 };
    struct model m = { .kind = kind, .t = C, .M = 8, .state = state, .nstate = 1 + C + 4 };

    ck_assert_int_eq(kind->loaded(&m, 4, NULL), ST_OK);
    state[5] = 3.0; /* no class */
    ck_assert_int_ne(kind->loaded(&m, 4, NULL), ST_OK);
    state[5] = 0.5;
    ck_assert_int_ne(kind->loaded(&m, 4, NULL), ST_OK);
    state[5] = 1.0;
    state[2] = NAN; /* an offset */
    ck_assert_int_eq(kind->loaded(&m, 4, NULL), ST_FORMAT);
    state[2] = 0.0;
    state[0] = 0.0; /* alpha */
    ck_assert_int_ne(kind->loaded(&m, 4, NULL), ST_OK);
    state[0] = 0.01;
    ck_assert_int_ne(kind->loaded(&m, 5, NULL), ST_OK); /* rows */
    m.Mv = 4;
    ck_assert_int_eq(kind->loaded(&m, 4, NULL), ST_FORMAT);
    m.Mv = 8;
    ck_assert(kind->loaded(&m, 4, NULL) == (_i ? ST_FORMAT : ST_OK));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("softmax");
    TCase *tc = tcase_create("softmax");

    tcase_add_test(tc, golden_laplace);
    tcase_add_loop_test(tc, dense_newton, 0, 2);
    tcase_add_test(tc, stopped);
    tcase_add_loop_test(tc, dense_discriminant, 0, 3);
    tcase_add_test(tc, rows_left_out);
    tcase_add_test(tc, rows_not_seen);
    tcase_add_test(tc, offsets);
    tcase_add_test(tc, stopped_at_once);
    tcase_add_loop_test(tc, hostile_models, 0, 2);
    suite_add_tcase(s, tc);
    return support_run(s);
}
