/* tests/compute/check_conform.c -- every kernel over windows and nodes of the registries, on every
 * form of rows it reads, at every processor level: features against the slow interpreter and the
 * exact kernel, derivatives against differences, every solver against Cholesky, the same bits for
 * any number of threads.  A new row of any registry is tested by being there (kernels of columns:
 * check_registry.c).
 *
 * What can fail on its own is tested on its own: features and passes in every combination of level,
 * form and kernel; solvers, which know an operator by its passes alone, in every pair of solver,
 * kernel, form and level, but not in all of their products. */
#include "tests/support.h"

#include "base/mem.h"
#include "compute/backend.h"
#include "compute/linalg/blas.h"
#include "compute/features/fop.h"
#include "compute/features/interp.h"
#include "compute/rng.h"
#include "compute/solvers/solver.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 32, M = 64, CHANNELS = 4, MOST = 14, TEXT = 96, K = 2 };

/* What there is. */

/* Rows: letters of one length and of different ones, sets of nodes, arrays of as many nodes (NPY),
 * stretches of a series. */
static const struct form { const char *name; bool symbols, ragged; size_t channels, before;
} forms[] = {
    { "aligned letters", true, false, CHANNELS, 0 }, { "letters", true, true, CHANNELS, 0 },
    { "nodes", false, true, CHANNELS, 0 },           { "array", false, false, CHANNELS, 0 },
    { "series", false, false, 1, 0 },                { "letters behind counts", true, true,
                                                       CHANNELS, 2 },
};
/* `before`: a number and so many counts stand before the sequence. */
enum { FORMS = sizeof forms / sizeof forms[0] };
static const char *const levels[] = { "portable", "avx2", "avx512", "amx" };
enum { LEVELS = sizeof levels / sizeof levels[0] };

/* Expression i: each layer with each kernel that it takes, in each way to average; false past the
 * end. */
static bool expression(size_t i, char text[TEXT])
{
    static const char *const average[] = { "sqrt", "none", "full" };
    size_t n = 0;

    for (size_t l = 0; layer_at(l); l++) {
        const char *name = layer_at(l)->name;
        for (size_t k = 0; kernel_at(k); k++) {
            struct kernel kernel;
            snprintf(text, TEXT, "%s(%s%s,average=%s)", name, kernel_at(k)->name,
                     strstr(name, "graph") ? "" : ",width=3", average[n % 3]);
            if (kernel_parse(text, &kernel, NULL, NULL) == ST_OK && kernel_reads_windows(&kernel) &&
                n++ == i)
                return true;
        }
        for (size_t degree = 2; degree <= 4; degree++) {
            struct kernel kernel;
            snprintf(text, TEXT, "%s(degree=%zu,average=%s)", name, degree, average[n % 3]);
            if (kernel_parse(text, &kernel, NULL, NULL) == ST_OK && kernel_reads_windows(&kernel) &&
                n++ == i)
                return true;
        }
    }
    return false;
}

static size_t count_expressions(void)
{
    char text[TEXT];
    size_t n = 0;

    while (expression(n, text))
        n++;
    return n;
}

/* One of them on some rows. */

struct setup {
    char text[TEXT];
    const struct form *form;
    struct kernel kernel;
    struct source_array src;
    size_t d;
    double *x, hp[KERNEL_MAX_HP];
};

static void setup_new(struct setup *s, size_t expr, size_t form)
{
    struct err err = { 0 };

    *s = (struct setup){ .form = &forms[form] };
    ck_assert(expression(expr, s->text));
    ck_assert_msg(kernel_parse(s->text, &s->kernel, NULL, &err) == ST_OK, "%s", err.msg);
    const unsigned kind = s->form->symbols ? ROWS_SYMBOLS : ROWS_VECTORS;
    const size_t behind[KERNEL_MAX_TERMS] = { 1, 1 }, before = s->form->before;
    struct row_layout rows = { .nparts = 1, .part = { { kind, s->form->channels, 0 } } };
    if (before > 0)
        rows = (struct row_layout){ .flat = 1, .nparts = 2,
                                    .part = { { ROWS_COUNTS, COUNTS_CHANNELS, 0 }, rows.part[0] } };
    ck_assert_int_eq(kernel_bind_rows(&s->kernel, &rows, before > 0 ? behind : NULL, &err), ST_OK);
    const size_t per = s->form->symbols ? 1 : s->form->channels, head = row_layout_head(&rows),
                 first = before > 0 ? head + 1 + before * COUNTS_CHANNELS : 0;
    s->d = first + 1 + MOST * per;
    s->x = mem_calloc(N * s->d, sizeof *s->x, "rows", NULL);
    for (size_t r = 0; r < N; r++) {
        double *row = s->x + r * s->d, *x = row + first;
        if (before > 0) {
            row[1] = (double)head;
            row[2] = (double)first;
            row[head] = (double)before;
        }
        for (size_t c = 0; c < before; c++)
            row[head + 1 + c * COUNTS_CHANNELS] = row[head + 2 + c * COUNTS_CHANNELS] =
                (double)(c + 1);
        x[0] = s->form->ragged ? (double)(3 + rng_below(3, rng_stream(RNG_TEST, 1), r, MOST - 2))
                               : MOST;
        for (size_t j = 1; j < s->d - first;
             j++) /* a sequence of letters, some unknown, changed here and there */
            x[j] = !s->form->symbols ? 0.5 * rng_normal(3, rng_stream(RNG_TEST, 2), r * s->d + j)
                   : rng_below(3, rng_stream(RNG_TEST, 3), r * s->d + j, 4) > 0
                       ? (double)rng_below(3, rng_stream(RNG_TEST, 4), j, CHANNELS)
                       : (double)rng_below(3, rng_stream(RNG_TEST, 5), r * s->d + j, CHANNELS + 1);
    }
    source_array_init(&s->src, s->x, N, s->d, s->d);
    s->src.base.layout = rows;
    for (size_t h = 0; h < KERNEL_MAX_HP; h++)
        s->hp[h] = 1.2;
}

static struct fop *open_fop(const struct setup *s, const struct featmap *map,
                            const struct fop_opts *o)
{
    struct err err = { 0 };
    struct fop *f = fop_new(backend_cpu(), map, &s->src.base, o, &err);

    ck_assert_msg(f != NULL, "%s on %s: %s", s->text, s->form->name, err.msg);
    ck_assert_int_eq(fop_set(f, s->hp, NULL), ST_OK);
    return f;
}

/* Each iteration is a process of its own, so that a level can be forced; one that this machine has
 * not is left out. (Processes are few: under sanitizers each takes longer to end than its tests
 * take to run.) */
static bool take_level(size_t i)
{
    return cpu_force_level(levels[i], NULL) == ST_OK;
}

/* Calls a test for each kernel on each form of rows. */
static void for_each(void (*test)(size_t expr, size_t form))
{
    for (size_t form = 0; form < FORMS; form++)
        for (size_t e = 0; e < count_expressions(); e++)
            test(e, form);
}

/* Tests. */

static void level_features(size_t e, size_t form)
{
    struct setup s;

    setup_new(&s, e, form);
    struct featmap *map = featmap_new(&s.kernel, s.d, M, 7, NULL);
    struct fop *f = open_fop(&s, map, &(struct fop_opts){ .precision = PREC_FLOAT });
    double *work = mem_calloc(interp_work_for_tests(map), sizeof *work, "work", NULL), z[M];
    double *Z = mem_calloc(N * M, sizeof *Z, "rows", NULL);
    float *F = mem_calloc(N * M, sizeof *F, "rows", NULL);
    double off64 = 0.0, off32 = 0.0;
    bool whole = true; /* fmax would lose what is not a number */
    ck_assert_int_eq(fop_tile64(f, 0, N, Z, M, NULL), ST_OK);
    ck_assert_int_eq(fop_tile(f, 0, N, F, M, NULL), ST_OK);
    for (size_t r = 0; r < N; r++) {
        double size = 1e-12;
        interp_row_for_tests(map, s.hp, s.x + r * s.d, z, NULL, 0, work);
        for (size_t j = 0; j < M; j++)
            size = fmax(size, fabs(z[j]));
        for (size_t j = 0; j < M; j++) {
            whole = whole && isfinite(Z[r * M + j]) && isfinite(F[r * M + j]) && isfinite(z[j]);
            off64 = fmax(off64, fabs(Z[r * M + j] - z[j]) / size);
            off32 = fmax(off32, fabs((double)F[r * M + j] - z[j]) / size);
        }
    }
    /* float64: rounding of 14 windows; float32: phases of heavy spectra are made in float64, others
     * stay below some 100 half turns.  (One assertion for all: each is a write to a pipe.) */
    ck_assert_msg(whole && off64 <= 1e-9, "%s on %s, %s: off by %g", s.text, s.form->name,
                  cpu_level(), off64);
    ck_assert_msg(off32 <= 1e-4, "%s on %s, %s in float32: off by %g", s.text, s.form->name,
                  cpu_level(), off32);
    free(work), free(Z), free(F), free(s.x);
    fop_free(f);
    featmap_free(map);
}

START_TEST(features_of_every_level)
{
    if (take_level((size_t)_i))
        for_each(level_features);
}
END_TEST

static void near_exact(size_t e, size_t form)
{
    enum { WIDE = 8192 };
    struct setup s;

    setup_new(&s, e, form);
    struct featmap *map = featmap_new(&s.kernel, s.d, WIDE, 7, NULL);
    struct fop *f = open_fop(&s, map, &(struct fop_opts){ .precision = PREC_DOUBLE });
    double *Z = mem_calloc(N * WIDE, sizeof *Z, "rows", NULL), off = 0.0, all = 0.0, self[N];

    ck_assert_int_eq(fop_tile64(f, 0, N, Z, WIDE, NULL), ST_OK);
    for (size_t i = 0; i < N; i++)
        self[i] = kernel_exact(&s.kernel, s.hp, s.d, s.x + i * s.d, s.x + i * s.d, NULL);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++) { /* each pair once, but it counts in both orders */
            const double twice = i == j ? 1.0 : 2.0;
            double dot = 0.0;
            for (size_t c = 0; c < WIDE; c++)
                dot += Z[i * WIDE + c] * Z[j * WIDE + c];
            const double v = kernel_exact(&s.kernel, s.hp, s.d, s.x + i * s.d, s.x + j * s.d, NULL);
            off += twice * (dot - v) * (dot - v);
            all += twice * self[i] * self[j];
        }
    /* 1.1 / sqrt(M) of sqrt(k(x,x) k(y,y)) for one pair of polynomial features of degree 2 (golden
     * README), whose deviation grows by sqrt(3) a degree; with pairs of sines 1 / sqrt(M/2).  Twice
     * that. */
    const struct kterm *term = &s.kernel.term[0];
    const double degree = term->layer.ops->inside ? term->params[0] - 2.0 : 0.0;
    ck_assert_msg(sqrt(off / all) <= 2.0 * 1.41 * pow(1.73, degree) / sqrt(WIDE), "%s on %s: %g",
                  s.text, s.form->name, sqrt(off / all));
    free(Z), free(s.x);
    fop_free(f);
    featmap_free(map);
}

START_TEST(features_near_exact)
{
    for_each(near_exact);
}
END_TEST

/* The sum of B o Z against its derivatives, and the exact kernel against its own. */
static void derive(size_t e, size_t form)
{
    struct setup s;

    setup_new(&s, e, form);
    struct featmap *map = featmap_new(&s.kernel, s.d, M, 7, NULL);
    struct fop *f = open_fop(&s, map, &(struct fop_opts){ .precision = PREC_DOUBLE });
    double *Z = mem_calloc(N * M, sizeof *Z, "rows", NULL),
           *B = mem_calloc(N * M, sizeof *B, "rows", NULL);
    double grad[KERNEL_MAX_HP] = { 0 };
    const double h = 1e-6;

    for (size_t i = 0; i < N * M; i++)
        B[i] = rng_normal(3, rng_stream(RNG_TEST, 6), i);
    ck_assert_int_eq(fop_tile64(f, 0, N, Z, M, NULL), ST_OK);
    ck_assert_int_eq(fop_grad(f, 0, N, Z, B, M, grad, NULL), ST_OK);
    for (size_t k = 0; k < kernel_nhp(&s.kernel); k++) {
        double value[2], size = 0.0, exact[2], slope[KERNEL_MAX_HP];
        const double was = s.hp[k];
        kernel_exact(&s.kernel, s.hp, s.d, s.x, s.x + s.d, slope);
        for (int up = 0; up < 2; up++) {
            s.hp[k] = was * exp(up ? h : -h);
            exact[up] = kernel_exact(&s.kernel, s.hp, s.d, s.x, s.x + s.d, NULL);
            ck_assert_int_eq(fop_set(f, s.hp, NULL), ST_OK);
            ck_assert_int_eq(fop_tile64(f, 0, N, Z, M, NULL), ST_OK);
            value[up] = size = 0.0;
            for (size_t i = 0; i < N * M; i++) {
                value[up] += B[i] * Z[i];
                size += fabs(B[i] * Z[i]);
            }
        }
        s.hp[k] = was;
        /* rounding of the sum over the step; third derivatives of heavy spectra's phases */
        ck_assert_msg(fabs((value[1] - value[0]) / (2.0 * h) - grad[k]) <= 1e-6 * size,
                      "%s on %s: %g, not %g", s.text, s.form->name, grad[k],
                      (value[1] - value[0]) / (2.0 * h));
        ck_assert(support_close((exact[1] - exact[0]) / (2.0 * h), slope[k], 1e-6));
    }
    free(Z), free(B), free(s.x);
    fop_free(f);
    featmap_free(map);
}

START_TEST(derivatives)
{
    for_each(derive);
}
END_TEST

/* (Z'Z + lam2 I) w = b by Cholesky on the operator's own rows. */
static double reference(struct fop *f, const double *b, double *w)
{
    double *Z = mem_calloc(N * M, sizeof *Z, "rows", NULL),
           *A = mem_calloc(M * M, sizeof *A, "system", NULL);
    double lam2 = 0.0;

    ck_assert_int_eq(fop_tile64(f, 0, N, Z, M, NULL), ST_OK);
    for (size_t i = 0; i < N * M; i++)
        lam2 += 10.0 * Z[i] * Z[i] / N;
    for (size_t r = 0; r < N; r++)
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < M; j++)
                A[i * M + j] += Z[r * M + i] * Z[r * M + j];
    for (size_t i = 0; i < M; i++)
        A[i * M + i] += lam2;
    memcpy(w, b, K * M * sizeof *w);
    ck_assert_int_eq(blas_dpotrf(NULL, M, A, M, NULL, NULL, NULL), ST_OK);
    ck_assert_int_eq(blas_dtrsm(NULL, false, M, K, A, M, w, M, NULL), ST_OK);
    ck_assert_int_eq(blas_dtrsm(NULL, true, M, K, A, M, w, M, NULL), ST_OK);
    free(Z), free(A);
    return lam2;
}

/* Solver q meets a third of the kernels on each form of rows, and each kernel on one or two of the
 * five forms. */
static bool meet(size_t q, size_t e, size_t form)
{
    return (q + e + form) % 3 == 0;
}

/* One solver on one system: within what its own residual says, |x - x*| <= |b - A x| / lam2. */
static void check_solver(const struct setup *s, struct fop *f, const struct solver_ops *ops,
                         double lam2, const double *b, const double *want)
{
    static const double batch[SOLVER_MAX_PARAMS] = { 16 };
    struct precond *p = NULL;
    struct solve_info info[K];
    struct err err = { 0 };
    double x[K * M];

    if (ops->uses_precond) {
        const struct precond_opts po = { .rank = 16, .seed = 5 };
        ck_assert_int_eq(precond_at(0)->build(SOLVE_RIDGE(f, 0.0), &po, NULL, &p, NULL), ST_OK);
        precond_set_noise(p, lam2);
    }
    const struct solve_opts o = {.rtol = ops->stochastic ? 1e-6 : 1e-10,
                                 .maxit = ops->coarse ? 50 : 300,
                                 .pre = p,
                                 .seed = 7,
                                 .params = ops->stochastic ? batch : NULL};
    ck_assert_msg(ops->solve(SOLVE_RIDGE(f, lam2), K, b, x, &o, NULL, info, &err) == ST_OK,
                  "%s: %s", ops->name, err.msg);
    for (size_t c = 0; c < K; c++) {
        const double residual = info[c].true_residual;
        double off = 0.0, norm = 0.0;
        for (size_t i = 0; i < M; i++) {
            off += pow(x[c * M + i] - want[c * M + i], 2.0);
            norm += b[c * M + i] * b[c * M + i];
        }
        ck_assert_msg(ops->coarse ? residual <= 0.05
                                  : info[c].why == (ops->iterative ? OUT_RTOL : OUT_DIRECT),
                      "%s of %s on %s, %s: %s at %g", ops->name, s->text, s->form->name,
                      cpu_level(), solve_outcome(info[c].why), residual);
        ck_assert_msg(sqrt(off) <= (1.01 * residual + 1e-11) * sqrt(norm) / lam2,
                      "%s of %s on %s, %s: off by %g", ops->name, s->text, s->form->name,
                      cpu_level(), sqrt(off));
    }
    solve_info_free(&info[0]);
    solve_info_free(&info[1]);
    precond_free(p);
}

static void solve_each(size_t e, size_t form)
{
    struct setup s;
    double b[K * M], want[K * M], lam2 = 0.0;

    setup_new(&s, e, form);
    struct featmap *map = featmap_new(&s.kernel, s.d, M, 7, NULL);
    for (size_t i = 0; i < K * M; i++)
        b[i] = cos((double)(i * i)) + 0.2;
    for (int store = 0; store < 2; store++) {
        struct fop *f =
            open_fop(&s, map, &(struct fop_opts){.precision = PREC_DOUBLE, .store = store == 1});
        lam2 = store ? lam2 : reference(f, b, want);
        for (size_t q = 0; solver_at(q); q++) /* slow ones meet a quarter of the kernels */
            if (meet(q, e, form) && !solver_at(q)->dual &&
                !(solver_at(q)->stochastic && (store || e % 4)))
                check_solver(&s, f, solver_at(q), lam2, b, want);
        fop_free(f);
    }
    featmap_free(map);
    free(s.x);
}

START_TEST(every_solver)
{
    if (!take_level((size_t)_i))
        return;
    blas_init();
    for_each(solve_each);
}
END_TEST

static void same_bits(size_t e, size_t form)
{
    struct setup s;
    double p[K * M], w[3][K * M];

    setup_new(&s, e, form);
    struct featmap *map = featmap_new(&s.kernel, s.d, M, 7, NULL);
    for (size_t i = 0; i < K * M; i++)
        p[i] = rng_normal(3, rng_stream(RNG_TEST, 7), i);
    for (size_t t = 0; t < 3; t++) {
        struct pool *pool = pool_new(t + 1, NULL);
        struct fop *f = open_fop(&s, map, &(struct fop_opts){ .pool = pool });
        ck_assert_int_eq(fop_pass(f, K, p, w[t], NULL, NULL), ST_OK);
        ck_assert_msg(memcmp(w[0], w[t], sizeof w[0]) == 0, "%s on %s with %zu threads", s.text,
                      s.form->name, t + 1);
        fop_free(f);
        pool_free(pool);
    }
    featmap_free(map);
    free(s.x);
}

START_TEST(same_bits_for_any_thread_count)
{
    for_each(same_bits);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("conform");
    TCase *t = tcase_create("conform");

    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, features_of_every_level, 0, LEVELS);
    tcase_add_test(t, features_near_exact);
    tcase_add_test(t, derivatives);
    tcase_add_loop_test(t, every_solver, 0, LEVELS);
    tcase_add_test(t, same_bits_for_any_thread_count);
    suite_add_tcase(s, t);
    return support_run(s);
}
