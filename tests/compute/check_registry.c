/* tests/compute/check_registry.c -- every solver with every preconditioner on every kernel of the
 * registries, over features stored, made anew and multiplied out, against Cholesky; and the same
 * bits for any number of threads.  A new row of any registry is tested by being there. */
#include "compute/backend.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact_system.h"
#include "compute/rng.h"
#include "compute/solvers/solver.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N = 256,
    D = 4,
    M = 48,
    K = 2,
    FORMS = 2,
    POSITIONS = 12,
    LETTERS = 4,
    WIDE = POSITIONS + 1, /* a sequence */
    WIDEST = 1 + 2 + 2 * WIDE /* a number, two sequences and where they begin */
};
static double lam2; /* 10 times the mean of k(x, x), so that the conditions are alike */
static const double coarse_most = 0.05; /* what a solver without vanishing errors still reaches */
static const double batch[SOLVER_MAX_PARAMS] = { 64 }; /* of stochastic ones: several an epoch */

/* Weights that stand for learned ones. */
static void take_nets(struct kernel *k)
{
    for (size_t t = 0; t < k->nterms; t++) {
        float w[200];
        if (!kterm_learns(&k->term[t]))
            continue;
        for (size_t j = 0; j < sizeof w / sizeof *w; j++)
            w[j] = (float)rng_normal(11, rng_stream(RNG_TEST, 7 + (uint32_t)t), j);
        const struct net_shape shape = kernel_learned_shape(k, t, D);
        k->term[t].net = net_keep(&shape, w, NULL);
    }
}

/* Plain, and with one lengthscale for each input where the kernel has such a form. */
static bool kernel_form(size_t i, bool ard, struct kernel *k, double hp[KERNEL_MAX_HP])
{
    char text[64];
    size_t from[KERNEL_MAX_HP];
    struct err err = { 0 };

    const struct kernel_ops *ops = kernel_at(i);
    const char *small = ops->fits ? "channels=5,out=4" : "width=6,out=4"; /* an image of 2 x 2 */
    snprintf(text, sizeof text, ard || ops->learns ? "%s(%s)" : "%s", ops->name,
             ard ? "ard" : small);
    if (kernel_parse(text, k, hp, &err) != ST_OK || kernel_bind(k, D, from, &err) != ST_OK) {
        ck_assert_msg(ard, "%s: %s", text, err.msg); /* only some take ard */
        return false;
    }
    take_nets(k);
    for (size_t h = 0; h < kernel_nhp(k); h++) {
        struct hparam info;
        char name[KERNEL_NAME_MAX];
        kernel_hp_info(k, h, name, &info);
        hp[h] = strncmp(name, "lengthscale", 11) == 0 ? 0.8 + 0.1 * (double)h : info.init;
    }
    return true;
}

static size_t count_kernels(void)
{
    size_t n = 0;
    while (kernel_at(n))
        n++;
    return n;
}

/* Kernels that are made of others; how many sequences or sets of nodes they read, one each. */
static const struct { const char *text; size_t parts;
} made[] = {
    {"rbf + linear", 0},
    {"rbf * periodic", 0},
    {"rbf * linear + cauchy", 0},
    {"mlp(width=6,out=4) * mlp(width=6,out=2) + rbf", 0},
    {"mlp(matern(nu=3/2),width=6,out=4)", 0},
    {"mlp(width=6,out=3) + mlp(rbf,width=5,out=1)", 0}, /* each with a column of zeros beside */
    {"conv(rbf,width=3)", 1},
    {"convdense(cauchy,width=3)", 1},
    {"conv(matern(nu=3/2),width=5,average=full)", 1},
    {"graph(cauchy)", 1},
    {"graphpoly(degree=2)", 1},
    {"graphpoly(degree=3,norm=unit)", 1},
    {"conv(rbf,width=3) + rbf * convdense(cauchy,width=2)", 2},
};
enum { MADE = sizeof made / sizeof *made };
static const struct row_layout layout[] = {
    { 0 },
    { .nparts = 1, .part = { { ROWS_SYMBOLS, LETTERS, 0 } } },
    { .flat = 1, .nparts = 2,
      .part = { { ROWS_SYMBOLS, LETTERS, 0 }, { ROWS_SYMBOLS, LETTERS, 0 } } },
};
static const size_t width[] = { D, WIDE, WIDEST };

static size_t made_form(size_t i, struct kernel *k, double hp[KERNEL_MAX_HP])
{
    size_t from[KERNEL_MAX_HP], part[KERNEL_MAX_TERMS] = { 0 }, parts = 0;
    struct err err = { 0 };

    ck_assert_msg(kernel_parse(made[i].text, k, hp, &err) == ST_OK, "%s: %s", made[i].text,
                  err.msg);
    for (size_t t = 0; t < k->nterms; t++)
        part[t] = kterm_reads_windows(&k->term[t]) ? parts++ : 0;
    ck_assert_uint_eq(parts, made[i].parts);
    ck_assert_msg(parts ? kernel_bind_rows(k, &layout[parts], part, &err) == ST_OK
                        : kernel_bind(k, D, from, &err) == ST_OK,
                  "%s: %s", made[i].text, err.msg);
    take_nets(k);
    for (size_t h = 0; h < kernel_nhp(k); h++) {
        struct hparam info;
        char name[KERNEL_NAME_MAX];
        kernel_hp_info(k, h, name, &info);
        hp[h] = info.init;
    }
    return parts;
}

/* D numbers, or letters of up to POSITIONS positions; two sequences stand behind a number and the
 * places where they begin. */
static void draw_rows(double *x, size_t parts)
{
    const uint64_t stream = rng_stream(RNG_TEST, 1);

    for (size_t i = 0; i < N * width[parts]; i++) {
        const size_t at = i % width[parts], head = parts == 2 ? 3 : 0;
        if (parts == 0 || (parts == 2 && at == 0))
            x[i] = rng_normal(11, stream, i);
        else if (at < head)
            x[i] = (double)(head + (at - 1) * WIDE);
        else
            x[i] = (at - head) % WIDE ? (double)rng_below(11, stream, i, LETTERS)
                                      : (double)(5 + rng_below(11, stream, i, POSITIONS - 4));
    }
}

struct system {
    double x[N * WIDEST], B[K * M], want[K * M], norm[K];
    struct source_array src;
    struct featmap *map;
    struct kernel kernel;
    double hp[KERNEL_MAX_HP], size; /* size: |A| from above */
};

static struct fop *open_fop(const struct system *s, enum precision precision, bool store,
                            bool formed, struct pool *pool)
{
    const struct fop_opts o = { .pool = pool, .precision = precision, .store = store };
    struct err err = { 0 };
    struct fop *f = fop_new(backend_cpu(), s->map, &s->src.base, &o, &err);

    ck_assert_msg(f != NULL, "%s", err.msg);
    ck_assert_int_eq(fop_set(f, s->hp, NULL), ST_OK);
    if (formed)
        ck_assert_int_eq(fop_form(f, NULL, NULL), ST_OK);
    return f;
}

/* The reference: the operator's own rows in double precision, multiplied out here. */
static bool system_new(struct system *s, size_t kernel, bool ard)
{
    double z[N * M], A[M * M] = { 0 };

    const size_t parts =
        kernel < count_kernels() ? 0 : made_form(kernel - count_kernels(), &s->kernel, s->hp);
    const size_t d = width[parts];

    if (kernel < count_kernels() && !kernel_form(kernel, ard, &s->kernel, s->hp))
        return false;
    draw_rows(s->x, parts);
    for (size_t i = 0; i < K * M; i++)
        s->want[i] = s->B[i] = cos((double)(i * i)) + 0.2;
    source_array_init(&s->src, s->x, N, d, d);
    s->src.base.layout = layout[parts];
    s->map = featmap_new(&s->kernel, d, M, 5, NULL);
    ck_assert_ptr_nonnull(s->map);
    struct fop *f = open_fop(s, PREC_DOUBLE, false, false, NULL);
    ck_assert_int_eq(fop_tile64(f, 0, N, z, M, NULL), ST_OK);
    fop_free(f);
    lam2 = 0.0;
    for (size_t i = 0; i < N * M; i++)
        lam2 += 10.0 * z[i] * z[i] / N;
    s->size = lam2;
    for (size_t r = 0; r < N; r++)
        for (size_t i = 0; i < M; i++) {
            s->size += z[r * M + i] * z[r * M + i];
            for (size_t j = 0; j < M; j++)
                A[i * M + j] += z[r * M + i] * z[r * M + j];
        }
    for (size_t i = 0; i < M; i++)
        A[i * M + i] += lam2;
    ck_assert_int_eq(blas_dpotrf(NULL, M, A, M, NULL, NULL, NULL), ST_OK);
    ck_assert_int_eq(blas_dtrsm(NULL, false, M, K, A, M, s->want, M, NULL), ST_OK);
    ck_assert_int_eq(blas_dtrsm(NULL, true, M, K, A, M, s->want, M, NULL), ST_OK);
    for (size_t c = 0; c < K; c++)
        s->norm[c] = blas_dnrm2(M, s->B + c * M);
    return true;
}

static size_t count_solvers(void)
{
    size_t n = 0;
    while (solver_at(n))
        n++;
    return n;
}

static struct precond *precond_for(struct fop *f, const struct precond_ops *ops)
{
    const struct precond_opts po = { .rank = 16, .seed = 5 };
    struct precond *p = NULL;
    struct err err = { 0 };

    ck_assert_msg(ops->build(SOLVE_RIDGE(f, 0.0), &po, NULL, &p, &err) == ST_OK, "%s: %s",
                  ops->name, err.msg);
    precond_set_noise(p, lam2);
    return p;
}

/* |x - x*| <= |b - A x| / lam2, and a float32 operator is itself 4e-7 |A| away from the one that
 * the reference was made of. */
static void compare(const struct system *s, const struct solver_ops *ops, const char *with,
                    enum precision precision, const double *X, const struct solve_info *info)
{
    const double off = precision == PREC_FLOAT ? 4e-7 : 1e-13;

    for (size_t c = 0; c < K; c++) {
        double e2 = 0.0, w2 = 0.0;
        if (ops->coarse)
            ck_assert_msg(info[c].true_residual <= coarse_most, "%s: %.1e", ops->name,
                          info[c].true_residual);
        else
            ck_assert_msg(info[c].why == (ops->iterative ? OUT_RTOL : OUT_DIRECT),
                      "%s %s: %s at %.1e", ops->name, with, solve_outcome(info[c].why),
                      info[c].true_residual);
        for (size_t i = 0; i < M; i++) {
            e2 += pow(X[c * M + i] - s->want[c * M + i], 2.0);
            w2 += pow(s->want[c * M + i], 2.0);
        }
        const double most = (info[c].true_residual * s->norm[c] + off * s->size * sqrt(w2)) / lam2;
        ck_assert_msg(sqrt(e2) <= most, "%s %s: error %.2e, at most %.2e", ops->name, with,
                      sqrt(e2), most);
    }
}

START_TEST(every_combination)
{
    static const struct { enum precision p; bool store, formed; double rtol; } way[] = {
        { PREC_DOUBLE, false, false, 1e-10 }, { PREC_FLOAT, false, false, 1e-5 },
        { PREC_FLOAT, true, false, 1e-5 }, { PREC_FLOAT, false, true, 1e-10 },
    };
    struct system *s = calloc(1, sizeof *s);

    const size_t plain = count_kernels() * FORMS, i0 = (size_t)_i;
    if (!(i0 < plain ? system_new(s, i0 / FORMS, i0 % FORMS == 1)
                     : system_new(s, count_kernels() + i0 - plain, false))) {
        free(s);
        return;
    }
    for (size_t w = 0; w < sizeof way / sizeof *way; w++) {
        struct fop *f = open_fop(s, way[w].p, way[w].store, way[w].formed, NULL);
        for (size_t q = 0; precond_at(q); q++) {
            struct precond *p = precond_for(f, precond_at(q));
            for (size_t i = 0; solver_at(i); i++) {
                const struct solver_ops *ops = solver_at(i);
                const struct solve_opts o = {.rtol = ops->stochastic ? fmax(1e-7, way[w].rtol)
                                                                     : way[w].rtol,
                                             .maxit = ops->coarse ? 30 : 200,
                                             .pre = p,
                                             .seed = 7,
                                             .params = ops->stochastic ? batch : NULL};
                struct solve_info info[K];
                struct err err = { 0 };
                double X[K * M];
                const bool again = w > 0 && strcmp(precond_at(q)->name, "srht2") != 0;
                if ((!ops->uses_precond && q > 0) || (ops->stochastic && again && q > 0))
                    continue; /* slow ones meet every preconditioner once */
                if (ops->dual) {
                    ck_assert_int_eq(ops->solve(SOLVE_RIDGE(f, lam2), K, s->B, X, &o, NULL, info,
                                                &err), ST_UNSUPPORTED);
                    ck_assert_str_eq(err.name, "solver-dual");
                    continue;
                }
                ck_assert_msg(
                    ops->solve(SOLVE_RIDGE(f, lam2), K, s->B, X, &o, NULL, info, &err) == ST_OK,
                    "%s: %s", ops->name, err.msg);
                compare(s, ops, precond_at(q)->name, way[w].p, X, info);
                solve_info_free(&info[0]);
                solve_info_free(&info[1]);
            }
            precond_free(p);
        }
        fop_free(f);
    }
    featmap_free(s->map);
    free(s);
}
END_TEST

/* Few iterations: bits that differ would show, and need not have converged. */
START_TEST(same_bits_for_any_thread_count)
{
    static const size_t threads[] = { 1, 2, 3, 8 };
    const struct solver_ops *ops = solver_at((size_t)_i);
    struct system *s = calloc(1, sizeof *s);
    double first[K * M], X[K * M];

    for (size_t k = 0; !ops->dual && k < count_kernels() + MADE; k++)
        for (int form = 0; form < 3; form++) {
            if (ops->stochastic && form == 1)
                continue; /* batches make their features anew in every plan */
            ck_assert(system_new(s, k, false));
            for (size_t t = 0; t < 4; t++) {
                struct pool *pool = pool_new(threads[t], NULL);
                struct fop *f = open_fop(s, PREC_FLOAT, form == 1, form == 2, pool);
                struct precond *p = precond_for(f, precond_find("srht2", NULL));
                struct solve_info info[K];
                const struct solve_opts o = { .rtol = 1e-9, .maxit = 6, .pre = p, .seed = 3,
                                              .params = ops->stochastic ? batch : NULL };
                ck_assert_int_eq(
                    ops->solve(SOLVE_RIDGE(f, lam2), K, s->B, X, &o, NULL, info, NULL), ST_OK);
                if (t == 0)
                    memcpy(first, X, sizeof X);
                ck_assert_int_eq(memcmp(first, X, sizeof X), 0);
                solve_info_free(&info[0]);
                solve_info_free(&info[1]);
                precond_free(p);
                fop_free(f);
                pool_free(pool);
            }
            featmap_free(s->map);
        }
    free(s);
}
END_TEST

/* The exact kernel: the same solvers and preconditioners on S K1 S + lam2 I. */

enum { NE = 60 };

struct exact_case {
    double x[NE * WIDEST], scale[NE], K[NE * NE], A[NE * NE], B[K * NE], want[K * NE], norm, lam2;
    struct kernel kernel;
    double hp[KERNEL_MAX_HP];
    size_t d;
};

/* The reference: the matrix entry by entry, and Cholesky. */
static bool exact_new(struct exact_case *e, size_t kernel, bool ard, bool weighted)
{
    const size_t parts =
        kernel < count_kernels() ? 0 : made_form(kernel - count_kernels(), &e->kernel, e->hp);
    double all[N * WIDEST], trace = 0.0;

    if (kernel < count_kernels() && !kernel_form(kernel, ard, &e->kernel, e->hp))
        return false;
    e->d = width[parts];
    draw_rows(all, parts);
    memcpy(e->x, all, NE * e->d * sizeof *all);
    for (size_t i = 0; i < NE; i++)
        e->scale[i] = weighted ? 0.5 + 0.01 * (double)i : 1.0;
    for (size_t i = 0; i < NE; i++)
        for (size_t j = 0; j < NE; j++)
            e->K[i * NE + j] = e->scale[i] * e->scale[j] *
                               kernel_exact(&e->kernel, e->hp, e->d, e->x + i * e->d,
                                            e->x + j * e->d, NULL);
    for (size_t i = 0; i < NE; i++)
        trace += e->K[i * NE + i];
    e->lam2 = 0.02 * trace;
    e->norm = trace + e->lam2; /* |A| from above */
    memcpy(e->A, e->K, sizeof e->A);
    for (size_t i = 0; i < NE; i++)
        e->A[i * NE + i] += e->lam2;
    for (size_t i = 0; i < K * NE; i++)
        e->want[i] = e->B[i] = cos((double)(i * i)) + 0.2;
    ck_assert_int_eq(blas_dpotrf(NULL, NE, e->A, NE, NULL, NULL, NULL), ST_OK);
    ck_assert_int_eq(blas_dtrsm(NULL, false, NE, K, e->A, NE, e->want, NE, NULL), ST_OK);
    ck_assert_int_eq(blas_dtrsm(NULL, true, NE, K, e->A, NE, e->want, NE, NULL), ST_OK);
    return true;
}

static struct exact_system *exact_open(const struct exact_case *e, struct pool *pool)
{
    const struct exact_rows r = { .k = &e->kernel, .hp = e->hp, .X = e->x, .n = NE, .d = e->d,
                                  .row_scale = e->scale, .pool = pool };
    struct exact_system *s = NULL;

    ck_assert_int_eq(exact_system_open(backend_cpu(), &r, &s, NULL), ST_OK);
    return s;
}

/* Single precision kernel values are 1e-5 of the largest away (issue 17, traps). */
static void near_matrix(const struct exact_case *e, size_t m, double got, double want)
{
    ck_assert_msg(fabs(got - want) <= 1e-5 * e->norm, "%zu: %.9g, not %.9g", m, got, want);
}

/* Every member of the interface against the matrix. */
static void check_members(const struct exact_case *e, const struct linop *A)
{
    const size_t at[5] = { 3, 58, 3, 0, 41 };
    double *X = calloc(8 * NE, sizeof *X), *Y = X + 2 * NE, *C = Y + NE;

    for (size_t i = 0; i < 2 * NE; i++)
        X[i] = sin((double)i);
    ck_assert_int_eq(A->rows(A->ctx, 5, at, 2, X, Y, NULL, NULL), ST_OK);
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < 5; i++)
            near_matrix(e, i, Y[c * 5 + i], blas_ddot(NE, e->K + at[i] * NE, X + c * NE));
    ck_assert_int_eq(A->columns(A->ctx, 5, at, C, NULL, NULL), ST_OK);
    for (size_t j = 0; j < 5 * NE; j++)
        near_matrix(e, j, C[j], e->K[at[j / NE] * NE + j % NE]);
    ck_assert_int_eq(A->block(A->ctx, 5, at, C, NULL, NULL), ST_OK);
    for (size_t j = 0; j < 25; j++)
        near_matrix(e, j, C[j], e->K[at[j / 5] * NE + at[j % 5]]);
    ck_assert_int_eq(A->diagonal(A->ctx, Y, NULL, NULL), ST_OK);
    for (size_t i = 0; i < NE; i++)
        near_matrix(e, i, Y[i], e->K[i * NE + i]);
    ck_assert_int_eq(A->apply(A->ctx, 2, X, C, NULL, NULL), ST_OK);
    for (size_t i = 0; i < 2 * NE; i++)
        near_matrix(e, i, C[i], blas_ddot(NE, e->K + i % NE * NE, X + i / NE * NE) +
                                    e->lam2 * X[i]);
    ck_assert_int_eq(A->product(A->ctx, 1, X, C, NULL, NULL), ST_OK);
    for (size_t i = 0; i < NE; i++)
        near_matrix(e, i, C[i], blas_ddot(NE, e->K + i * NE, X));
    ck_assert(A->seconds(A->ctx, NE, 1) > 0.0);
    ck_assert(A->seconds(A->ctx, NE, 8) < 8.0 * A->seconds(A->ctx, NE, 1));
    free(X);
}

static void exact_solve(const struct exact_case *e, const struct linop *A,
                        const struct solver_ops *ops, const struct precond *p)
{
    const struct solve_opts o = { .rtol = 1e-6, .maxit = 200, .pre = p, .seed = 7 };
    struct solve_info info[K];
    struct err err = { 0 };
    double X[K * NE];

    if (ops->primal) {
        ck_assert_int_eq(ops->solve(A, K, e->B, X, &o, NULL, info, &err), ST_UNSUPPORTED);
        ck_assert_str_eq(err.name, "solver-primal");
        ck_assert_ptr_nonnull(strstr(err.hint, "model=exact solver=pcg"));
        return;
    }
    const enum status rc = ops->solve(A, K, e->B, X, &o, NULL, info, &err);
    if (rc == ST_UNSUPPORTED && ops->dual) { /* sgd has no random features of sequences */
        ck_assert_ptr_nonnull(strstr(err.hint, "model=exact solver=sdd"));
        return;
    }
    ck_assert_msg(rc == ST_OK, "%s: %s", ops->name, err.msg);
    for (size_t c = 0; c < K; c++) {
        double e2 = 0.0, w2 = 0.0;
        if (!ops->dual)
            ck_assert_msg(info[c].why > 0, "%s: %s at %.1e", ops->name,
                          solve_outcome(info[c].why), info[c].true_residual);
        for (size_t i = c * NE; i < (c + 1) * NE; i++) {
            e2 += pow(X[i] - e->want[i], 2.0);
            w2 += pow(e->want[i], 2.0);
        }
        const double most = (info[c].true_residual * blas_dnrm2(NE, e->B + c * NE) +
                             1e-5 * e->norm * sqrt(w2)) / e->lam2;
        ck_assert_msg(sqrt(e2) <= most, "%s: error %.2e, at most %.2e", ops->name, sqrt(e2), most);
        solve_info_free(&info[c]);
    }
}

START_TEST(every_combination_exact)
{
    struct exact_case *e = calloc(1, sizeof *e);
    const size_t plain = count_kernels() * FORMS, i0 = (size_t)_i;

    if (!(i0 < plain ? exact_new(e, i0 / FORMS, i0 % FORMS == 1, i0 % FORMS == 0)
                     : exact_new(e, count_kernels() + i0 - plain, false, true))) {
        free(e);
        return;
    }
    struct exact_system *s = exact_open(e, NULL);
    const struct linop A = exact_system_linop(s, e->lam2);
    check_members(e, &A);
    for (size_t q = 0; precond_at(q); q++) {
        const struct precond_opts po = { .rank = 16, .seed = 5 };
        struct precond *p = NULL;
        struct err err = { 0 };
        const enum status rc = precond_at(q)->build(&A, &po, NULL, &p, &err);
        if (precond_at(q)->factored) { /* a factor of Z'Z */
            ck_assert_int_eq(rc, ST_UNSUPPORTED);
            ck_assert_str_eq(err.name, "precond-features");
            ck_assert_ptr_nonnull(strstr(err.hint, "precond=pchol"));
            continue;
        }
        ck_assert_msg(rc == ST_OK, "%s: %s", precond_at(q)->name, err.msg);
        precond_set_noise(p, e->lam2);
        for (size_t i = 0; solver_at(i); i++)
            if (solver_at(i)->uses_precond || q == 0)
                exact_solve(e, &A, solver_at(i), p);
        precond_free(p);
    }
    exact_system_close(s);
    free(e);
}
END_TEST

START_TEST(exact_same_bits_for_any_thread_count)
{
    const struct solver_ops *ops = solver_at((size_t)_i);
    struct exact_case *e = calloc(1, sizeof *e);
    double first[K * NE], X[K * NE];

    for (size_t t = 1; !ops->primal && t <= 3; t++) {
        struct pool *pool = pool_new(t, NULL);
        ck_assert(exact_new(e, 0, false, true));
        struct exact_system *s = exact_open(e, pool);
        const struct linop A = exact_system_linop(s, e->lam2);
        struct precond *p = NULL;
        const struct precond_opts po = { .rank = 16, .seed = 5 };
        struct solve_opts o = { .rtol = 1e-9, .maxit = 6, .seed = 3 };
        struct solve_info info[K];
        ck_assert_int_eq(precond_rpchol.build(&A, &po, NULL, &p, NULL), ST_OK);
        precond_set_noise(p, e->lam2);
        o.pre = p;
        ck_assert_int_eq(ops->solve(&A, K, e->B, X, &o, NULL, info, NULL), ST_OK);
        if (t == 1)
            memcpy(first, X, sizeof X);
        ck_assert_int_eq(memcmp(first, X, sizeof X), 0);
        for (size_t c = 0; c < K; c++)
            solve_info_free(&info[c]);
        precond_free(p);
        exact_system_close(s);
        pool_free(pool);
    }
    free(e);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("registry");
    TCase *t = tcase_create("registry");

    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, blas_init, NULL);
    tcase_add_loop_test(t, every_combination, 0, (int)(count_kernels() * FORMS + MADE));
    tcase_add_loop_test(t, same_bits_for_any_thread_count, 0, (int)count_solvers());
    tcase_add_loop_test(t, every_combination_exact, 0, (int)(count_kernels() * FORMS + MADE));
    tcase_add_loop_test(t, exact_same_bits_for_any_thread_count, 0, (int)count_solvers());
    suite_add_tcase(s, t);
    return support_run(s);
}
