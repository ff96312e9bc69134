/* tests/cuda/solves.c -- what uses operators, on the device and here: conjugate gradients,
 * preconditioners, exact kernels, the marginal likelihood, factorisations (pair.h). */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "pair.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/models/exact_system.h"
#include "compute/models/exact_form.h"
#include "compute/likelihood/nmll.h"
#include "compute/likelihood/nmll_impl.h"
#include "compute/preconds/precond.h"
#include "compute/rng.h"
#include "compute/solvers/solver.h"
#include "emulated_device.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Conjugate gradients. */

/* Solves with every preconditioner, few and many right-hand sides, from a start and with probes: on
 * the device the same steps as here, up to the rounding of the operators.  In double the steps are
 * compared one by one. */
static const struct {
    const char *kernel, *precond;
    size_t k, nprobes;
    struct job how;
} solves[] = {
    {"rbf", NULL, 1, 0, {.precision = PREC_DOUBLE}},
    {"matern(nu=5/2)", "srht2", 1, 0, {.store = true}},
    {"matern(nu=5/2)", "srht2", 3, 0, {.precision = PREC_DOUBLE, .weighted = true}},
    {"rbf(ard)", "gauss", 7, 5, {.store = true, .half = true}},
    {"rbf + linear", "jacobi", 13, 0, {.weighted = true}},
    {"rbf * periodic", "srht", 13, 9, {.precision = PREC_DOUBLE, .store = true}},
    {"matern(nu=1/2)", "none", 2, 0, {.store = true}},
};
enum { SOLVES = sizeof solves / sizeof *solves };

START_TEST(gradients_there)
{
    struct job j = solves[_i].how;
    j.kernel = solves[_i].kernel;
    j.n = 150, j.d = 4, j.M = 96;
    struct pair p = pair_open(&j);
    const size_t M = j.M, k = solves[_i].k;
    double *b = normals(5, k * M), *x0 = normals(6, k * M), *x[2];
    struct solve_info *info[2];
    struct precond *pre = NULL;

    ck_assert_ptr_nonnull(gpdesk_backend()->cg);
    if (solves[_i].precond)
        ok(precond_find(solves[_i].precond, NULL)
               ->build(SOLVE_RIDGE(p.cpu, 0.0), &(struct precond_opts){.rank = 24}, NULL, &pre,
                       &fail));
    if (pre)
        precond_set_noise(pre, 0.4);
    for (size_t i = 0; i < M; i++) /* one that has nothing to do, one that begins at its end */
        b[(k - 1) * M + i] = k > 2 ? 0.0 : b[(k - 1) * M + i];
    for (int o = 0; o < 2; o++) {
        struct fop *f = o ? p.dev : p.cpu;
        x[o] = normals(7, k * M);
        info[o] = mem_calloc(k, sizeof *info[o], "outcomes", NULL);
        const struct solve_opts so = {.rtol = j.precision == PREC_DOUBLE ? 1e-9 : 1e-5,
                                      .maxit = 300,
                                      .nprobes = solves[_i].nprobes,
                                      .probe_rtol = 1e-2,
                                      .pre = pre,
                                      .x0 = _i % 2 ? x0 : NULL};
        const size_t before = emulated_launches();
        ok(solver_find("pcg", NULL)
               ->solve(SOLVE_RIDGE(f, 0.4), k, b, x[o], &so, NULL, info[o], &fail));
#ifndef ON_DEVICE
        if (o) /* not a pass of the operator for each step, but launches of its own */
            ck_assert_uint_gt(emulated_launches() - before, 5 * info[o][0].iterations);
#else
        (void)before;
#endif
    }
    ck_assert(!fop_lost(p.dev, NULL));
    for (size_t c = 0; c < k; c++) {
        const struct solve_info *h = &info[0][c], *d = &info[1][c];
        const bool probe = c < solves[_i].nprobes;
        ck_assert_int_eq(d->why, h->why);
        ck_assert_int_eq(d->why, OUT_RTOL);
        ck_assert_double_le(apart(M, x[1] + c * M, x[0] + c * M),
                            probe ? 3e-2 : j.precision == PREC_DOUBLE ? 1e-7 : 1e-3);
        if (!probe)
            ck_assert_double_le(d->true_residual, 1e-5);
        for (size_t i = 0; j.precision == PREC_DOUBLE && i < 12 && i < h->nhist; i++) {
            ck_assert_uint_lt(i, d->nhist);
            ck_assert_double_le(fabs(d->alpha[i] - h->alpha[i]), 1e-6 * fabs(h->alpha[i]));
            ck_assert_double_le(fabs(d->beta[i] - h->beta[i]), 1e-5 * fabs(h->beta[i]) + 1e-12);
        }
        if (j.precision == PREC_DOUBLE) {
            ck_assert_uint_le(d->iterations, h->iterations + 2);
            ck_assert_uint_le(h->iterations, d->iterations + 2);
        }
    }
    for (int o = 0; o < 2; o++) {
        for (size_t c = 0; c < k; c++)
            solve_info_free(&info[o][c]);
        free(info[o]), free(x[o]);
    }
    precond_free(pre);
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(b), free(x0);
}
END_TEST

#ifndef ON_DEVICE
/* Steps that are recorded and launched again are those that are launched one by one, bit by bit:
 * with every preconditioner, features stored or made anew, when columns leave and when memory moves
 * between runs. */
START_TEST(recorded_steps)
{
    static const char *const pres[] = { "none", "jacobi", "srht" };
    struct job j = { .kernel = "matern(nu=5/2)", .n = 150, .d = 4, .M = 96, .store = _i > 0,
                     .half = _i == 2 };
    double *b = normals(5, 5 * j.M), *x[2];

    for (int o = 0; o < 2; o++) {
        struct pair p = pair_open(&j);
        struct precond *pre = NULL;
        struct solve_info info[3];
        setenv("GPDESK_EMU_GRAPHS", o ? "1" : "0", 1);
        ok(precond_find(pres[_i], NULL)
               ->build(SOLVE_RIDGE(p.cpu, 0.0), &(struct precond_opts){.rank = 24}, NULL, &pre,
                       &fail));
        precond_set_noise(pre, 0.4);
        x[o] = normals(7, 3 * j.M);
        const size_t before = emulated_replays();
        const struct solve_opts so = {.rtol = 1e-5,
                                      .maxit = 300,
                                      .pre = pre,
                                      .nprobes = 1,
                                      .probe_rtol = 0.1,
                                      .check_every = 10};
        ok(solver_find("pcg", NULL)
               ->solve(SOLVE_RIDGE(p.dev, 0.4), 3, b, x[o], &so, NULL, info, &fail));
        const size_t replays = emulated_replays() - before;
        ck_assert_msg(o ? replays > info[1].iterations / 2 : replays == 0, "%zu of %zu", replays,
                      info[1].iterations);
        for (int c = 0; c < 3; c++)
            solve_info_free(&info[c]);
        struct fop_cg *cg = fop_cg_open(p.dev, 1, 0.5, &(struct backend_inverse){ .L = 0 });
        struct cg_slot slot = { .fresh = true };
        struct cg_step step[12];
        size_t done;
        ok(fop_cg_put(cg, 0, x[o], b, &fail));
        for (int run = 0; run < 3;
             run++) { /* between them a pass of more vectors, which wants more room */
            for (size_t left = 4; left > 0;
                 left -= done) { /* a run ends when it has taken some time */
                ok(fop_cg_run(cg, 1, left, &slot, step, &done, NULL, &fail));
                ck_assert(done > 0 && done <= left);
                slot = (struct cg_slot){ .rz = step[done - 1].rz };
            }
            double *W = normals(8, 5 * j.M);
            ok(fop_pass(p.dev, (size_t)run + 3, b, W, NULL, &fail));
            free(W);
        }
        ok(fop_cg_get(cg, 0, x[o], NULL, &fail));
        fop_cg_close(cg);
        precond_free(pre);
        ck_assert(!fop_lost(p.dev, NULL));
        pair_close(&p);
        ck_assert_uint_eq(emulated_used(), 0);
    }
    ck_assert_mem_eq(x[0], x[1], 3 * j.M * sizeof *x[0]);
    free(b), free(x[0]), free(x[1]);
}
END_TEST
#endif

/* A run ends with the first event of any column, and nothing is done after it. */
START_TEST(events)
{
    struct job j = { .kernel = "rbf", .n = 60, .d = 3, .M = 64, .precision = PREC_DOUBLE };
    struct pair p = pair_open(&j);
    const size_t M = j.M;
    double *b = normals(5, 2 * M), *x = mem_calloc(2 * M, sizeof *x, "x", NULL), *r = normals(8, M);
    struct cg_slot slot[2] = { { .goal = 0.0, .fresh = true }, { .goal = 0.0, .fresh = true } };
    struct cg_step step[40];
    size_t done;

    for (size_t i = 0; i < M; i++)
        b[M + i] = 0.0; /* r'z = 0 in the first step */
    struct fop_cg *cg = fop_cg_open(p.dev, 2, 0.5, &(struct backend_inverse){ .L = 0 });
    ck_assert_ptr_nonnull(cg);
    ok(fop_cg_put(cg, 0, x, b, &fail));
    ok(fop_cg_put(cg, 1, x, b + M, &fail));
    ok(fop_cg_run(cg, 2, 20, slot, step, &done, NULL, &fail));
    ck_assert_uint_eq(done, 1);
    ck_assert_int_eq(step[0].event, CG_NONE);
    ck_assert_int_eq(step[1].event, CG_BAD_RZ);
    ok(fop_cg_get(cg, 0, NULL, r, &fail));
    ck_assert_double_le(fabs(norm(M, r) - step[0].rel), 1e-12 * step[0].rel);
    ok(fop_cg_swap(cg, 0, 1, &fail)); /* the other way round, alone, up to a goal */
    ok(fop_cg_swap(cg, 1, 0, &fail));
    slot[0] = (struct cg_slot){ .rz = step[0].rz, .goal = 0.3 * step[0].rel };
    ok(fop_cg_run(cg, 1, 30, slot, step, &done, NULL, &fail));
    ck_assert_uint_gt(done, 1);
    ck_assert_uint_lt(done, 30);
    for (size_t i = 0; i < done; i++)
        ck_assert_int_eq(step[i].event, i + 1 < done ? CG_NONE : CG_GOAL);
    ok(fop_cg_get(cg, 0, x, r, &fail));
    double *Ax = normals(9, M); /* r is b - A x of the x that is there */
    ok(fop_pass(p.cpu, 1, x, Ax, NULL, &fail));
    for (size_t i = 0; i < M; i++)
        Ax[i] = b[i] - Ax[i] - 0.5 * x[i];
    ck_assert_double_le(apart(M, r, Ax), 1e-10);
    fop_cg_close(cg);
    pair_close(&p);
    free(b), free(x), free(r), free(Ax);
}
END_TEST

/* The whole factor made there: a few steps where there are hundreds without, of every kind of
 * features; and after the device is lost the processor's own. */
START_TEST(factor_there)
{
    static const struct { const char *kernel; struct job how; } of[] = {
        { "rbf", { .precision = PREC_FLOAT } },
        { "matern(nu=5/2)", { .precision = PREC_FLOAT, .store = true, .half = true } },
        { "rbf + linear", { .precision = PREC_FLOAT, .weighted = true } },
        { "rbf * periodic", { .precision = PREC_DOUBLE } },
    };
    const bool lost = _i / 4 == 1, full = _i / 4 == 2;
    struct job j = of[_i % 4].how;
    j.kernel = of[_i % 4].kernel;
    j.n = 300, j.d = 4, j.M = 120;
    struct pair p = pair_open(&j);
    const double noise = j.precision == PREC_DOUBLE ? 1e-3 : 0.1;
    double *b = normals(5, 3 * j.M), *x[2];
    size_t steps[2] = { 0, 0 };
    char at[24];

    for (int o = 0; o < 2; o++) {
        struct fop *f = o ? p.dev : p.cpu;
        struct precond *pre = NULL;
        struct solve_info info[3];
        const struct precond_opts po = { .lam2 = noise };
        x[o] = normals(7, 3 * j.M);
        const size_t before = emulated_launches();
#ifndef ON_DEVICE
        if (o && full) {
            snprintf(at, sizeof at, "%zu", emulated_used() + 20000);
            setenv("GPDESK_EMU_FULL", at, 1);
        }
#endif
        const enum status rc = precond_find("gram", NULL)->build(SOLVE_RIDGE(f, 0.0), &po, NULL,
                                                                 &pre, &fail);
        unsetenv("GPDESK_EMU_FULL");
        if (o && full) { /* an error with numbers, and nothing is lost */
            ck_assert_int_eq(rc, ST_NOMEM);
            ck_assert_msg(strstr(fail.msg, "the device has no ") != NULL, "%s", fail.msg);
            ck_assert(!fop_lost(f, NULL));
            memcpy(x[1], x[0], 3 * j.M * sizeof *x[1]);
            break;
        }
        ck_assert_msg(rc == ST_OK, "%s", fail.msg);
        const size_t made = emulated_launches() - before;
#ifndef ON_DEVICE
        ck_assert_int_eq(made > 2, o); /* features, products, a factor */
        if (o && lost) {
            snprintf(at, sizeof at, "%zu", emulated_launches() + 4);
            setenv("GPDESK_EMU_LOST", at, 1);
        }
#else
        (void)at, (void)made;
#endif
        precond_set_noise(pre, noise);
        const struct solve_opts so = {
            .rtol = j.precision == PREC_DOUBLE ? 1e-9 : 1e-5, .maxit = 60, .pre = pre};
        ok(solver_find("pcg", NULL)
               ->solve(SOLVE_RIDGE(f, noise), 3, b, x[o], &so, NULL, info, &fail));
        unsetenv("GPDESK_EMU_LOST");
        ck_assert_int_eq(fop_lost(f, NULL), o && lost);
        for (size_t c = 0; c < 3; c++) {
            ck_assert_int_eq(info[c].why, OUT_RTOL);
            ck_assert_uint_le(info[c].iterations, 12);
            steps[o] += info[c].iterations;
            solve_info_free(&info[c]);
        }
        precond_free(pre);
    }
    /* Residuals of 1e-5 and features 1e-5 apart, times the condition of some 1e4. */
    ck_assert_double_le(apart(3 * j.M, x[1], x[0]), j.precision == PREC_DOUBLE ? 1e-4 : 0.2);
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(b), free(x[0]), free(x[1]);
}
END_TEST

/* Exact kernels. */

/* K V without K, against K: sums and products, inputs of their own, more rows than a tile, near and
 * far points; of the rows themselves and of others. */
START_TEST(exact_there)
{
    static const struct { const char *kernel; bool there;
    } of[] = {
        {"rbf", true},
        {"matern(nu=1/2)", true},
        {"matern(nu=5/2,ard)", true},
        {"cauchy", true},
        {"rbf(ard=2,inputs=2:3) * matern(nu=3/2,inputs=4:5) + cauchy", true},
        {"rbf + matern(nu=3/2) * rbf(ard)", true},
        {"rbf + linear", false},
        {"periodic", false},
    };
    enum { N = 150, D = 5, K = 6, OTHER = 70 };
    double *X = normals(60, N * D), *Y = normals(61, OTHER * D), *V = normals(62, K * N),
           hp[KERNEL_MAX_HP];
    double *C = mem_calloc(N * N, sizeof *C, "kernel", NULL), *W = normals(63, K * N);
    struct kernel k;
    struct exact_op *op;
    size_t from[KERNEL_MAX_HP];

    ok(kernel_parse(of[_i].kernel, &k, NULL, &fail));
    ok(kernel_bind(&k, D, from, &fail));
    for (size_t h = 0; h < KERNEL_MAX_HP; h++)
        hp[h] = exp(0.3 * normal(64, h));
    for (size_t i = 0; i < D; i++) { /* coincident, near and far */
        X[D + i] = X[i];
        X[2 * D + i] = X[i] + 1e-4;
        X[3 * D + i] = 1e5;
    }
    struct pool *pool = pool_new(2, NULL);
    ok(exact_op_open(gpdesk_backend(),
                     &(struct exact_rows){.k = &k, .hp = hp, .X = X, .n = N, .d = D, .pool = pool},
                     &op, &fail));
    ck_assert_int_eq(exact_op_there(op, NULL), of[_i].there);
    for (int other = 0; other < 3;
         other++) { /* rows of their own; others; these with the device lost */
        const size_t m = other ? OTHER : N;
#ifndef ON_DEVICE
        if (other == 2)
            setenv("GPDESK_EMU_LOST", "1", 1);
#endif
        const double *Yo = other ? Y : X;
        exact_cross(&(struct exact_rows){ .k = &k, .hp = hp, .X = X, .n = N, .d = D }, Yo, m, C);
        for (int back = 0; back < 2; back++) { /* other orders of threads: the same bits */
            double *again = normals(65, K * m);
#ifndef ON_DEVICE
            emu_order = back;
#endif
            ok(exact_op_apply(op, m, other ? Y : NULL, K, V, again, NULL, &fail));
            if (back)
                ck_assert_mem_eq(again, W, K * m * sizeof *W);
            memcpy(W, again, K * m * sizeof *W);
            free(again);
        }
        for (size_t c = 0; c < K; c++)
            for (size_t i = 0; i < m; i++) {
                double s = 0.0, size = 0.0;
                for (size_t j = 0; j < N; j++) {
                    s += C[i * N + j] * V[c * N + j];
                    size += fabs(C[i * N + j] * V[c * N + j]);
                }
                /* Single precision of distances and of the table. */
                ck_assert_msg(fabs(s - W[c * m + i]) <= 4e-6 * size + 1e-6,
                              "%s: %g, not %g (of %g)", of[_i].kernel, W[c * m + i], s, size);
            }
    }
#ifndef ON_DEVICE
    struct err why = { 0 };
    unsetenv("GPDESK_EMU_LOST");
    ck_assert(!exact_op_there(op, &why));
    ck_assert_int_eq(why.code, of[_i].there ? ST_BACKEND : ST_OK);
#endif
    struct cancel cancel = { true };
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(
            exact_op_apply(op, N, NULL, 1, V, W, &(struct ctl){.cancel = &cancel}, &fail),
            ST_CANCELLED);
        exact_op_close(op);
        op = NULL;
        if (!again)
            ok(exact_op_open(
                gpdesk_backend(),
                &(struct exact_rows){.k = &k, .hp = hp, .X = X, .n = N, .d = D, .pool = pool}, &op,
                &fail));
    }
    pool_free(pool);
    ck_assert_uint_eq(emulated_used(), 0);
    free(X), free(Y), free(V), free(C), free(W);
}
END_TEST

/* Products with many vectors, on matrix units: kernels and inputs for which distances are made
 * there and for which they are not; rows that coincide, are near, or lie far from all others; an
 * offset of 1e3; all rows, others, chosen ones, vectors that stay, columns. */

struct many {
    struct kernel k;
    struct backend_radial radial;
    struct backend_closed closed[KERNEL_MAX_TERMS];
    double *X, hp[KERNEL_MAX_HP];
    float *numbers;
    size_t n, d;
    void *at;
};

static const struct backend_exact *many_ops(void)
{
    return gpdesk_backend()->exact;
}

static struct many many_open(const char *kernel, size_t n, size_t d, double offset)
{
    struct many m = { .X = normals(80, n * d), .n = n, .d = d };
    size_t from[KERNEL_MAX_HP];

    ok(kernel_parse(kernel, &m.k, NULL, &fail));
    ok(kernel_bind(&m.k, d, from, &fail));
    for (size_t h = 0; h < KERNEL_MAX_HP; h++)
        m.hp[h] = exp(0.3 * normal(81, h)) * sqrt((double)d / 2.0);
    for (size_t i = 0; i < d; i++) {
        m.X[d + i] = m.X[i];
        m.X[2 * d + i] = m.X[i] + 1e-4;
        m.X[3 * d + i] = 6.0;
    }
    for (size_t i = 0; i < n * d; i++)
        m.X[i] = (double)(float)(m.X[i] + offset);
    const size_t F = m.k.nterms, table = 4 * BACKEND_TABLE;
    m.numbers = mem_calloc(F * (d + table + 1), sizeof *m.numbers, "a kernel", NULL);
    float *tables = m.numbers + F * d, *weight = tables + F * table;
    ck_assert(exact_form_radial(&m.k, m.hp, d, m.numbers, tables, weight, m.closed));
    m.radial = (struct backend_radial){ d, F, m.numbers, tables, weight, m.closed };
    m.at = many_ops()->open(&m.radial, n, m.X, &fail);
    ck_assert_msg(m.at != NULL, "%s", fail.msg);
    return m;
}

static void many_close(struct many *m)
{
    many_ops()->close(m->at);
    free(m->X), free(m->numbers);
}

/* W (m x k) is the product of values C (m x n) with V, up to `tol` of the sum of absolute terms
 * where V has its largest entries everywhere. */
static void many_near(const struct many *a, size_t m, const double *C, size_t k, const double *V,
                      const double *W, double tol)
{
    for (size_t c = 0; c < k; c++) {
        double most = 0.0;
        for (size_t j = 0; j < a->n; j++)
            most = fmax(most, fabs(V[c * a->n + j]));
        for (size_t i = 0; i < m; i++) {
            double s = 0.0, size = 0.0;
            for (size_t j = 0; j < a->n; j++) {
                s += C[i * a->n + j] * V[c * a->n + j];
                size += fabs(C[i * a->n + j]) * most;
            }
            ck_assert_msg(fabs(s - W[c * m + i]) <= tol * size, "row %zu, vector %zu: %g, not %g",
                          i, c, W[c * m + i], s);
        }
    }
}

START_TEST(many_vectors)
{
    static const struct {
        const char *kernel;
        size_t n, d, k;
        double offset;
        bool units;
    } of[] = {
        { "rbf", 150, 5, 6, 0.0, true },
        { "matern(nu=3/2,ard)", 150, 26, 65, 0.0, true },
        { "matern(nu=3/2)", 150, 5, 20, 1e3, true },
        { "matern(nu=5/2)", 161, 40, 9, 0.0, true },
        { "cauchy", 97, 100, 13, 0.0, true },
        { "rbf", 130, 120, 73, 0.0, true },
        { "matern(nu=1/2)", 150, 5, 30, 0.0, false },
        { "rbf(inputs=1:2) * matern(nu=3/2,inputs=3:5) + cauchy", 150, 5, 77, 1e3, false },
        { "rq", 150, 130, 8, 0.0, false },
    };
    enum { OTHER = 140, CHOSEN = 11, FEW_VALUES = 6 };
    const size_t n = of[_i].n, d = of[_i].d, k = of[_i].k;
#ifndef ON_DEVICE
    const size_t before = emulated_requests();
#endif
    struct many a = many_open(of[_i].kernel, n, d, of[_i].offset);
#ifndef ON_DEVICE
    ck_assert_uint_eq(emulated_requests() - before, of[_i].units ? 5 : 3); /* norms and halves */
#endif
    const struct exact_rows rows = { .k = &a.k, .hp = a.hp, .X = a.X, .n = n, .d = d };
    double *Y = normals(82, OTHER * d), *V = normals(83, k * n), *R = normals(84, CHOSEN * d);
    double *C = mem_calloc((n + OTHER) * n, sizeof *C, "values", NULL);
    double *W = mem_calloc((n + OTHER) * k, sizeof *W, "products", NULL);
    double *again = mem_calloc((n + OTHER) * k, sizeof *W, "products", NULL);
    const size_t at[CHOSEN] = { 3, 0, 1, 2, 17, 17, n - 1, 0, 64, 33, 5 };
    /* Squares of 120 differences are rounded to some 2e-6 of the value, as those of radial.h. */
    const double tol = 4e-6;

    for (size_t i = 0; i < OTHER * d; i++)
        Y[i] += of[_i].offset;
    for (size_t j = 0; j < n; j++)
        V[j] *= exp(normal(85, j)); /* one of entries of different sizes */
    exact_cross(&rows, a.X, n, C);
    for (int order = 0; order < 2; order++) {
#ifndef ON_DEVICE
        emu_order = order;
#endif
        ok(many_ops()->apply(a.at, n, NULL, k, V, order ? again : W, NULL, &fail));
    }
    ck_assert_mem_eq(again, W, n * k * sizeof *W);
    many_near(&a, n, C, k, V, W, tol);
    memset(again, 0, n * FEW_VALUES * sizeof *again); /* values themselves: near rows keep digits */
    for (size_t c = 0; c < FEW_VALUES; c++)
        again[c * n + c] = 1.0;
    ok(many_ops()->apply(a.at, n, NULL, FEW_VALUES, again, W, NULL, &fail));
    for (size_t i = 0; i < n * FEW_VALUES; i++)
        ck_assert_double_eq_tol(W[i], C[i % n * n + i / n], 5e-6 + 2e-6 * (double)a.k.nterms);
    exact_cross(&rows, Y, OTHER, C);
    ok(many_ops()->apply(a.at, OTHER, Y, k, V, W, NULL, &fail));
    many_near(&a, OTHER, C, k, V, W, tol);
    ok(many_ops()->hold(a.at, k, V, &fail)); /* stays */
    ok(many_ops()->apply(a.at, OTHER, Y, k, NULL, again, NULL, &fail));
    ck_assert_mem_eq(again, W, OTHER * k * sizeof *W);
    for (size_t i = 0; i < CHOSEN; i++)
        memcpy(R + i * d, a.X + at[i] * d, d * sizeof *R);
    exact_cross(&rows, R, CHOSEN, C);
    for (size_t some = 1; some <= k; some += k - 1) { /* one by radial.h, all by many.h */
        ok(many_ops()->rows(a.at, CHOSEN, at, some, V, W, NULL, &fail));
        many_near(&a, CHOSEN, C, some, V, W, tol);
    }
    ok(many_ops()->columns(a.at, CHOSEN, at, W, NULL, &fail)); /* n x CHOSEN by columns: C itself */
    for (size_t i = 0; i < CHOSEN * n; i++)
        ck_assert_double_eq_tol(W[i], C[i], 4e-6 * (double)a.k.nterms);
    ck_assert_double_eq_tol(W[0 * n + 3], W[1 * n + 0], 1e-6); /* a row with itself */
    many_close(&a);
    ck_assert_uint_eq(emulated_used(), 0);
    free(Y), free(V), free(R), free(C), free(W), free(again);
}
END_TEST

/* Steps of dual descent there, against Algorithm 1 with dense vectors and the matrix: the errors of
 * every batch, the iterate and its geometric average; weighted rows, repeated indices, coordinates
 * that are met at once, late (more steps than the table has) and never.  First steps are asked for
 * one at a time, then as many as there are. */
START_TEST(descent_there)
{
    enum { N = 300, D = 4, B = 24, SINGLY = 70, T = SINGLY + 60, COASTS = 48 };
    static const size_t of[] = { 1, 20, 66 };
    const size_t k = of[_i];
    const double rho = 0.5, r = 0.05, lam2 = 0.3, length = 0.02, q = 1.0 - r;
    struct many a = many_open("matern(nu=3/2)", N, D, 0.0);
    const struct exact_rows rows = { .k = &a.k, .hp = a.hp, .X = a.X, .n = N, .d = D };
    double *K = mem_calloc(N * N, sizeof *K, "values", NULL), *b = normals(90, k * N);
    double *x = mem_calloc(5 * k * N, sizeof *x, "vectors", NULL), *v = x + k * N, *m = v + k * N;
    double *W = mem_calloc(4 * k * N, sizeof *W, "vectors", NULL), *V = W + k * N, *A = V + k * N;
    double row[N], coast[4 * COASTS], *square = mem_calloc(T * k, sizeof *square, "squares", NULL);
    double *want = mem_calloc(T * k, sizeof *want, "squares", NULL);
    size_t at[T * B], last[N] = { 0 }, done = 0;
    const struct backend_descent *ops = many_ops()->descent;

    exact_cross(&rows, a.X, N, K);
    for (size_t i = 0; i < N; i++)
        row[i] = exp(0.2 * normal(91, i));
    for (size_t i = 0; i < T * B; i++) /* the last fifty are never met, some twice in a batch */
        at[i] = (size_t)(fabs(normal(92, i)) * 80.0) % (N - 50);
    for (size_t j = 0; j < COASTS; j++) {
        const double p = pow(rho, (double)j), s = pow(q, (double)j);
        coast[4 * j] = p;
        coast[4 * j + 1] = s;
        coast[4 * j + 2] = 1.0 - s;
        coast[4 * j + 3] = -r * rho / (1.0 - rho) * rho * (s - p) / (q - rho);
    }
    for (size_t t = 0; t < T; t++) /* as it is printed */
        for (size_t c = 0; c < k; c++) {
            double g[N] = { 0 }, *xc = x + c * N, *vc = v + c * N, *mc = m + c * N;
            for (size_t j = 0; j < B; j++) {
                const size_t i = at[t * B + j];
                double e = lam2 * (xc[i] + rho * vc[i]) - b[c * N + i];
                for (size_t l = 0; l < N; l++)
                    e += row[i] * K[i * N + l] * row[l] * (xc[l] + rho * vc[l]);
                g[i] += e;
                want[t * k + c] += e * e;
            }
            for (size_t i = 0; i < N; i++) {
                vc[i] = rho * vc[i] - length * g[i];
                xc[i] += vc[i];
                mc[i] = r * xc[i] + q * mc[i];
            }
        }
    void *d = ops->open(a.at, &(struct backend_path){ .k = k, .batch = B, .coasts = COASTS,
                                                      .rho = rho, .newest = r, .lam2 = lam2,
                                                      .averaged = true, .coast = coast,
                                                      .row = row, .B = b }, &fail);
    ck_assert_msg(d != NULL, "%s", fail.msg);
    ok(ops->put(d, 0, W, V, A, last, &fail));
    for (size_t t = 0; t < T; t += done) {
        const size_t most = t < SINGLY ? 1 : T - t;
        ok(ops->run(d, most, at + t * B, length, square + t * k, &done, NULL, &fail));
        ck_assert_uint_gt(done, 0);
        ck_assert_uint_le(done, most);
    }
    ok(ops->get(d, W, V, A, last, &fail));
    for (size_t i = 0; i < T * k; i++) /* single precision of 300 products of both */
        ck_assert_double_eq_tol(square[i], want[i], 1e-4 * want[i] + 1e-8);
    double worst = 0.0, most = 0.0;
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < k; c++) {
            double w = W[i * k + c], u = V[i * k + c], mean = A[i * k + c];
            const double rest = (double)(T - last[i]), p = pow(rho, rest), s = pow(q, rest);
            mean = s * mean + (1.0 - s) * w - r * rho / (1.0 - rho) * rho * (s - p) / (q - rho) * u;
            w -= rho / (1.0 - rho) * p * u;
            worst = fmax(worst, fmax(fabs(w - x[c * N + i]), fabs(mean - m[c * N + i])));
            most = fmax(most, fabs(x[c * N + i]));
        }
    ck_assert_msg(worst <= 1e-5 * most, "%g of %g", worst, most);
    ck_assert_uint_eq(last[N - 1], 0);
    ops->close(d);
    many_close(&a);
    ck_assert_uint_eq(emulated_used(), 0);
    free(K), free(b), free(x), free(W), free(square), free(want);
}
END_TEST

/* The solver on a system whose products are made there: the same batches as here, so that weights,
 * steps and the looks at the residual are those of the processor but for single precision; one
 * vector and many, with row factors, without an average, with steps too long (which are halved);
 * and a device that is lost on the way (_i 4), whose steps are made again here. */
START_TEST(dual_solves_there)
{
    enum { N = 260, D = 3 };
    static const struct { size_t k; double step, average; bool row; } of[] = {
        { 1, 0.8, 1, false }, { 20, 0.8, 1, true }, { 3, 0.8, 3, false }, { 2, 8.0, 1, false },
        { 3, 0.8, 1, true } };
    const size_t k = of[_i].k;
    double *X = normals(95, N * D), *B = normals(96, k * N), *W = normals(97, 2 * k * N);
    double row[N], params[8] = { 0 };
    const struct solver_ops *sdd = solver_find("sdd", &fail);
    struct solve_info info[2][20] = { 0 };
    size_t from[KERNEL_MAX_HP];
    struct kernel K;

    double hp[KERNEL_MAX_HP] = { 0 };
    ok(kernel_parse("matern(nu=3/2)", &K, hp, &fail));
    ok(kernel_bind(&K, D, from, &fail));
    hp[0] = 1.5;
    for (size_t i = 0; i < N; i++)
        row[i] = exp(0.2 * normal(98, i));
    params[0] = 32.0;
    params[1] = 0.9;
    params[2] = of[_i].step;
    params[3] = of[_i].average;
    params[4] = 1.0;
    const struct exact_rows r = { .k = &K, .hp = hp, .X = X, .n = N, .d = D,
                                  .row_scale = of[_i].row ? row : NULL };
    const struct solve_opts o = { .rtol = 1e-12, .maxit = 600, .params = params, .seed = 4 };
    for (int there = 0; there < 2; there++) {
        struct exact_system *s;
        ok(exact_system_open(there ? gpdesk_backend() : backend_cpu(), &r, &s, &fail));
        const struct linop A = exact_system_linop(s, 0.3);
        ck_assert_int_eq(A.descent != NULL, there);
#ifndef ON_DEVICE
        char at[24];
        snprintf(at, sizeof at, "%zu", emulated_launches() + 500);
        if (there && _i == 4)
            setenv("GPDESK_EMU_LOST", at, 1);
#endif
        ok(sdd->solve(&A, k, B, W + there * k * N, &o, NULL, info[there], &fail));
#ifndef ON_DEVICE
        unsetenv("GPDESK_EMU_LOST");
        if (there)
            ck_assert_int_eq(exact_op_there(exact_system_op(s), NULL), _i != 4);
#endif
        exact_system_close(s);
    }
    ck_assert_uint_eq(info[1][0].iterations, info[0][0].iterations);
    ck_assert_uint_eq(info[1][0].halved, info[0][0].halved);
    ck_assert(info[0][0].halved > 0 || _i != 3);
    ck_assert_double_le(info[1][0].true_residual, 1.01 * info[0][0].true_residual + 1e-5);
    ck_assert_msg(apart(k * N, W + k * N, W) <= 1e-4, "%g", apart(k * N, W + k * N, W));
    for (size_t c = 0; c < 2 * k; c++)
        solve_info_free(&info[c / k][c % k]);
    ck_assert_uint_eq(emulated_used(), 0);
    free(X), free(B), free(W);
}
END_TEST

/* Marginal likelihood. */

/* Value and gradient, by the Gram and by probes, with the features there and here; a device that is
 * lost in the middle of the gradient leaves the processor's (_i / 2 1). */
START_TEST(likelihood_there)
{
    struct job j = { .kernel = "rbf(ard) * periodic + matern(nu=5/2)", .n = 150, .d = 3, .M = 64,
                     .store = true, .precision = _i % 2 ? PREC_DOUBLE : PREC_FLOAT };
    struct pair p = pair_open(&j);
    const size_t nhp = kernel_nhp(&p.k);
    const struct nmll_slq_opts slq = { .rank = 16, .probes = 5, .rtol = 1e-9, .probe_rtol = 1e-6 };
    double *y = normals(50, j.n), value[2][2], g[2][2][KERNEL_MAX_HP + 2], se;
    size_t its;
    char at[24];

    for (int o = 0; o < 2; o++) {
        struct fop *f = o ? p.dev : p.cpu;
        ok(nmll_slq(
            f, &(struct nmll_ask){.y = y, .hp = p.hp, .nhp = nhp, .amplitude = 1.3, .noise = 0.4},
            &slq,
            &(struct nmll_told){
                .value = &value[1][o], .se = &se, .grad = g[1][o], .iterations = &its},
            NULL, &fail));
        if (o && _i / 2) {
            snprintf(at, sizeof at, "%zu", emulated_launches() + 14);
            setenv("GPDESK_EMU_LOST", at, 1);
        }
        ok(nmll_features(
            f, &(struct nmll_ask){.y = y, .hp = p.hp, .nhp = nhp, .amplitude = 1.3, .noise = 0.4},
            &(struct nmll_told){.value = &value[0][o], .grad = g[0][o]}, NULL, &fail));
    }
    unsetenv("GPDESK_EMU_LOST");
#ifndef ON_DEVICE
    ck_assert_int_eq(fop_lost(p.dev, NULL), _i / 2 == 1);
#endif
    const double tol = j.precision == PREC_DOUBLE ? 1e-9 : 1e-4;
    for (int how = 0; how < 2; how++) {
        ck_assert_double_le(fabs(value[how][1] - value[how][0]), tol * fabs(value[how][0]));
        ck_assert_msg(apart(nhp + 2, g[how][1], g[how][0]) <= (how ? fmax(10.0 * tol, 1e-6) : tol),
                      "%d: %g", how, apart(nhp + 2, g[how][1], g[how][0]));
    }
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(y);
}
END_TEST

#ifndef ON_DEVICE
/* The best amplitudes and noises by factors on the device and by the tridiagonal form here: the
 * same values, gradients and effective dimensions; one target and two, free and at a bound, of
 * features and of an exact kernel; and a device that is lost in the middle (_i 1), full (2), or
 * asked to stop (3). */
START_TEST(profiles_there)
{
    struct job j = {
        .kernel = "matern(nu=5/2)", .n = 160, .d = 3, .M = 80, .precision = PREC_DOUBLE};
    struct pair p = pair_open(&j);
    static const double noise_bounds[][2] = { { 1e-3, 10.0 }, { 0.9, 10.0 }, { 1e-4, 5e-3 } };
    const double ab[2] = { 1e-2, 1e2 };
    double *y = normals(70, 2 * j.n), amp[2][2], noise[2][2], g[2][KERNEL_MAX_HP], value[2], dim[2];
    struct cancel cancel = { true };
    bool limited = false;
    char at[24];

    for (size_t i = 0; i < j.n; i++) {
        y[i] = sin(2.0 * p.x[i * j.d]) + 0.2 * y[i];
        y[j.n + i] = p.x[i * j.d + 1] + 0.3 * y[j.n + i];
    }
    setenv("GPDESK_EMU_DENSE", "16", 1);
    for (int exact = 0; exact < 2; exact++)
        for (size_t t = 1; t <= 2; t++)
            for (int b = 0; b < 3; b++) {
                enum status rc = ST_OK;
                const double *nb = noise_bounds[b];
                for (int o = 0; o < 2; o++) {
                    const size_t before = emulated_launches();
                    amp[o][0] = 1.0, noise[o][0] = 0.5;
                    if (o)
                        blas_on(gpdesk_backend()->dense);
                    if (o && _i == 1) {
                        snprintf(at, sizeof at, "%zu", emulated_calls() + 40);
                        setenv("GPDESK_EMU_FAIL", at, 1);
                    }
                    if (o && _i == 2)
                        setenv("GPDESK_EMU_FULL", "1000", 1);
                    const struct ctl ctl = { .cancel = o && _i == 3 ? &cancel : NULL };
                    if (exact)
                        rc = nmll_exact(
                            &p.k, &p.src->base,
                            &(struct nmll_ask){
                                .t = t,
                                .y = y,
                                .hp = p.hp,
                                .scale = NMLL_BEST,
                                .within = &(struct nmll_bounds){{ab[0], ab[1]}, {nb[0], nb[1]}}},
                            &(struct nmll_told){.value = &value[o],
                                                .amplitude = amp[o],
                                                .noise = noise[o],
                                                .effdim = &dim[o]},
                            p.pool, &ctl, &fail);
                    else
                        rc = nmll_features(
                            p.cpu,
                            &(struct nmll_ask){
                                .t = t,
                                .y = y,
                                .hp = p.hp,
                                .nhp = kernel_nhp(&p.k),
                                .scale = NMLL_BEST,
                                .within = &(struct nmll_bounds){{ab[0], ab[1]}, {nb[0], nb[1]}}},
                            &(struct nmll_told){.value = &value[o],
                                                .amplitude = amp[o],
                                                .noise = noise[o],
                                                .grad = b ? NULL : g[o],
                                                .effdim = &dim[o],
                                                .limited = &limited},
                            &ctl, &fail);
                    blas_on(NULL);
                    unsetenv("GPDESK_EMU_FAIL");
                    unsetenv("GPDESK_EMU_FULL");
                    ck_assert_msg(rc == (o && _i == 3 ? ST_CANCELLED : ST_OK), "%s", fail.msg);
                    ck_assert(!limited);
                    ck_assert(o || emulated_launches() == before);
                    if (o && _i == 0) /* factors, not a form */
                        ck_assert_uint_gt(emulated_launches() - before, 30);
                }
                if (_i == 3)
                    continue;
                /* Where noise and amplitude are both at a bound there is a corner, and no parabola.
                 */
                ck_assert_msg(fabs(value[1] - value[0]) <= (b == 2 ? 1e-5 * fabs(value[0]) : 1e-5),
                              "%s, %zu targets, bounds %d: %.9g, not %.9g (noise %g, %g)",
                              exact ? "exact" : "features", t, b, value[1], value[0], noise[1][0],
                              noise[0][0]);
                ck_assert_double_le(fabs(dim[1] - dim[0]), 1e-2);
                for (size_t q = 0; q < t; q++) {
                    ck_assert_double_le(fabs(log(amp[1][q] / amp[0][q])), 1e-3);
                    ck_assert_double_le(fabs(log(noise[1][q] / noise[0][q])), 1e-3);
                }
                if (!exact && !b)
                    ck_assert_double_le(apart(kernel_nhp(&p.k), g[1], g[0]), 1e-3);
            }
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(y);
}
END_TEST
#endif

/* Factorisations. */

#ifdef ON_DEVICE
enum { DENSE = 1500, SMALL_DENSE = 1100 };
#else
enum { DENSE = 150, SMALL_DENSE = 40 };
#endif

/* A = B'B / n + I / 10 of random B: lower triangle, and NaN above where nobody may look. */
static double *matrix(size_t n, size_t ld)
{
    double *B = normals(20, n * n), *A = mem_calloc(n, ld * sizeof *A, "a matrix", NULL);

    for (size_t j = 0; j < n; j++) {
        for (size_t i = j; i < n; i++)
            for (size_t q = 0; q < n; q++)
                A[j * ld + i] += B[i * n + q] * B[j * n + q] / (double)n;
        A[j * ld + j] += 0.1;
    }
    free(B);
    return A;
}

static double *copy_of(size_t n, const double *A)
{
    double *B = mem_calloc(n, sizeof *B, "a copy", NULL);

    memcpy(B, A, n * sizeof *B);
    return B;
}

/* Each by blas.h with the device and without: factor, inverse, tridiagonal form (what follows from
 * it), eigenpairs.  What lies above the diagonal stays as it was. */
START_TEST(factorisations)
{
    const size_t n = _i ? SMALL_DENSE : DENSE, ld = n + (_i ? 3 : 0), size = n * ld;
    double *A = matrix(n, ld), *F[2], *w[2], *d[2], *e[2], *b[2];
    size_t before[2], pivot = 0;

    setenv("GPDESK_EMU_DENSE", "32", 1);
    for (size_t j = 1; j < n; j++)
        A[j * ld] = 777.0; /* above the diagonal */
    for (int o = 0; o < 2; o++) {
        blas_on(o ? gpdesk_backend()->dense : NULL);
        before[o] = emulated_launches();
        ck_assert_uint_eq(before[o], before[0]); /* here nothing is launched */
        F[o] = copy_of(size, A);
        ok(blas_dpotrf(NULL, n, F[o], ld, NULL, NULL, &fail));
        ck_assert(F[o][ld] == 777.0);
        w[o] = copy_of(size, F[o]);
        ok(blas_dpotri(NULL, n, w[o], ld, &fail));
        ck_assert(w[o][ld] == 777.0);
    }
#ifndef ON_DEVICE
    ck_assert_uint_gt(emulated_launches(), before[1]);
#endif
    ck_assert_double_le(apart(size, F[1], F[0]), 1e-11);
    ck_assert_double_le(apart(size, w[1], w[0]), 1e-10);
    free(F[0]), free(F[1]), free(w[0]), free(w[1]);
    for (int o = 0; o < 2; o++) { /* |T - x I| and b'(A - x I)^-1 b of both forms, by a recursion */
        blas_on(o ? gpdesk_backend()->dense : NULL);
        F[o] = copy_of(size, A);
        d[o] = normals(22, n), e[o] = normals(23, n), b[o] = normals(24, 2 * n);
        ok(blas_tridiag(NULL, n, F[o], ld, d[o], e[o], 2, b[o], n, &fail));
        w[o] = mem_calloc(4, sizeof *w[o], "moments", NULL);
        for (int c = 0; c < 2; c++) {
            double delta = 1.0, u = 0.0;
            for (size_t i = 0; i < n; i++) {
                const double l = i ? e[o][i - 1] / delta : 0.0;
                delta = d[o][i] + 0.5 - (i ? l * e[o][i - 1] : 0.0);
                u = b[o][(size_t)c * n + i] - l * u;
                w[o][c] += u * u / delta;
                w[o][2] += log(delta);
            }
        }
        free(F[o]), free(d[o]), free(e[o]), free(b[o]);
    }
    ck_assert_double_le(apart(3, w[1], w[0]), 1e-11);
    free(w[0]), free(w[1]);
    for (int o = 0; o < 2; o++) {
        blas_on(o ? gpdesk_backend()->dense : NULL);
        F[o] = copy_of(size, A);
        w[o] = normals(25, n);
        ok(blas_dsyevd(n, F[o], ld, w[o], true, &fail));
    }
    ck_assert_double_le(apart(n, w[1], w[0]), 1e-12);
    for (size_t j = 0; j < n; j++) { /* A v = w v */
        double worst = 0.0;
        for (size_t i = 0; i < n; i += 7) {
            double s = 0.0;
            for (size_t q = 0; q < n; q++)
                s += (q > i ? A[i * ld + q] : A[q * ld + i]) * F[1][j * ld + q];
            worst = fmax(worst, fabs(s - w[1][j] * F[1][j * ld + i]));
        }
        ck_assert_double_le(worst, 1e-11);
    }
    A[ld * (n - 2) + n - 2] = -1.0; /* indefinite, and asked to stop */
    ck_assert_int_eq(blas_dpotrf(NULL, n, A, ld, NULL, &pivot, &fail), ST_NOT_PD);
    ck_assert_uint_eq(pivot, n - 2);
    struct cancel cancel = { true };
    ck_assert_int_eq(blas_dpotrf(NULL, n, A, ld, &(struct ctl){ .cancel = &cancel }, NULL, &fail),
                     ST_CANCELLED);
    blas_on(NULL);
    free(F[0]), free(F[1]), free(w[0]), free(w[1]), free(A);
    ck_assert_uint_eq(emulated_used(), 0);
}
END_TEST

/* The preconditioner made there is the one made here: the same products with any vector,
 * eigenvalues; half precision of the sketch alone is between them. */
START_TEST(preconditioner_there)
{
    static const char *const names[] = { "gauss", "srht", "srht2" };
    struct job j = { .kernel = "rbf", .n = 130, .d = 4, .M = 160, .store = _i == 1,
                     .precision = _i == 2 ? PREC_DOUBLE : PREC_FLOAT };
    struct pair p = pair_open(&j);
    struct precond *pre[2] = { NULL, NULL };
    double *x = normals(30, 2 * j.M), *y[2];
    const size_t L = 40;

    for (int o = 0; o < 2; o++) {
        const size_t before = emulated_launches();
        ok(precond_find(names[_i], NULL)
               ->build(SOLVE_RIDGE(o ? p.dev : p.cpu, 0.0), &(struct precond_opts){.rank = L}, NULL,
                       &pre[o], &fail));
#ifndef ON_DEVICE
        ck_assert_int_eq(emulated_launches() - before > 20, o);
#else
        (void)before;
#endif
        precond_set_noise(pre[o], 0.3);
        y[o] = normals(31, 2 * j.M);
        ok(precond_apply(pre[o], p.pool, 2, x, y[o], &fail));
    }
    const double *ea = precond_eigenvalues(pre[0]), *eb = precond_eigenvalues(pre[1]);
    for (size_t i = 0; i < L; i++)
        ck_assert_double_le(fabs(ea[i] - eb[i]), (_i == 2 ? 1e-7 : 2e-3) * ea[0]);
    for (size_t i = 1; i < L; i++)
        ck_assert(eb[i] <= eb[i - 1] && eb[i] >= 0.0);
    ck_assert_double_le(apart(2 * j.M, y[1], y[0]), _i == 2 ? 1e-5 : 3e-2);
    for (int o = 0; o < 2; o++)
        precond_free(pre[o]), free(y[o]);
    ck_assert(!fop_lost(p.dev, NULL));
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(x);
}
END_TEST

void solves_add(TCase *t)
{
#ifdef ON_DEVICE
    enum { LIKELIHOODS = 2, FACTORS = 4 };
#else
    enum { LIKELIHOODS = 4, FACTORS = 12 };

    tcase_add_loop_test(t, profiles_there, 0, 4);
    tcase_add_loop_test(t, recorded_steps, 0, 3);
#endif
    tcase_add_loop_test(t, gradients_there, 0, SOLVES);
    tcase_add_test(t, events);
    tcase_add_loop_test(t, likelihood_there, 0, LIKELIHOODS);
    tcase_add_loop_test(t, factorisations, 0, 2);
    tcase_add_loop_test(t, preconditioner_there, 0, 3);
    tcase_add_loop_test(t, exact_there, 0, 8);
    tcase_add_loop_test(t, many_vectors, 0, 9);
    tcase_add_loop_test(t, descent_there, 0, 3);
    tcase_add_loop_test(t, dual_solves_there, 0, 5);
    tcase_add_loop_test(t, factor_there, 0, FACTORS);
}
