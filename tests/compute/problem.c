/* tests/compute/problem.c -- see problem.h. */
#include "tests/compute/problem.h"

#include "compute/features/interp.h"
#include "compute/rng.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct kernel parsed(const char *text, double hp[KERNEL_MAX_HP])
{
    struct kernel k;
    struct err err = { 0 };

    ck_assert_msg(kernel_parse(text, &k, hp, &err) == ST_OK, "%s: %s", text, err.msg);
    return k;
}

double *normals(size_t n, uint32_t sub)
{
    double *v = malloc(n * sizeof *v);

    for (size_t i = 0; i < n; i++)
        v[i] = rng_normal(11, rng_stream(RNG_TEST, sub), i);
    return v;
}

struct problem problem_new(const char *kernel, size_t n, size_t d, size_t M, double l)
{
    struct problem p = { .n = n, .d = d, .M = M, .l = l };
    const struct kernel k = parsed(kernel, NULL);

    p.X = normals(n * d, 100);
    p.fm = featmap_new(&k, d, M, 5, NULL);
    ck_assert_ptr_nonnull(p.fm);
    p.Z = calloc(n * M + interp_work_for_tests(p.fm), sizeof *p.Z);
    for (size_t i = 0; i < n; i++)
        interp_row_for_tests(p.fm, &l, p.X + i * d, p.Z + i * M, NULL, 0, p.Z + n * M);
    source_array_init(&p.src, p.X, n, d, d);
    return p;
}

void problem_free(struct problem *p)
{
    featmap_free(p->fm);
    free(p->X);
    free(p->Z);
}

struct fop *problem_fop(const struct problem *p, struct pool *pool, enum precision precision,
                        bool store)
{
    const struct fop_opts opts = { .pool = pool, .precision = precision, .store = store,
                                   .row_scale = p->scale };
    struct fop *f = fop_new(backend_cpu(), p->fm, &p->src.base, &opts, NULL);

    ck_assert_ptr_nonnull(f);
    ck_assert(fop_set(f, &p->l, NULL) == ST_OK);
    ck_assert_uint_eq(fop_rows(f), p->n);
    ck_assert_uint_eq(fop_cols(f), p->M);
    ck_assert(fop_precision(f) == precision);
    return f;
}

double norm(size_t n, const double *v)
{
    double s = 0.0;

    for (size_t i = 0; i < n; i++)
        s += v[i] * v[i];
    return sqrt(s);
}

void assert_near(size_t n, const double *got, const double *want, double tol,
                 const char *what)
{
    double s = 0.0;

    for (size_t i = 0; i < n; i++)
        s += (got[i] - want[i]) * (got[i] - want[i]);
    ck_assert_msg(sqrt(s) <= tol * norm(n, want), "%s: %.3g of %.3g", what, sqrt(s), norm(n, want));
}

void plain_products(const struct problem *p, size_t k, const double *P, double *T, double *W)
{
    memset(W, 0, k * p->M * sizeof *W);
    for (size_t c = 0; c < k; c++)
        for (size_t i = 0; i < p->n; i++) {
            double t = 0.0;
            for (size_t j = 0; j < p->M; j++)
                t += p->Z[i * p->M + j] * P[c * p->M + j];
            T[c * p->n + i] = t;
            for (size_t j = 0; j < p->M; j++)
                W[c * p->M + j] += p->Z[i * p->M + j] * t;
        }
}

const struct problem_shape shapes[N_SHAPES] = {
    { "rbf", 1, 1, 2 },         { "rbf", 17, 2, 90 },   { "matern(nu=3/2)", 700, 8, 258 },
    { "matern(nu=1/2)", 150, 3, 130 }, { "cauchy", 300, 33, 1000 }, { "rbf", 90, 300, 1026 },
    { "matern", 40, 1500, 300 }, { "rbf", 17, 2500, 300 }, { "rbf", 33, 5000, 600 },
};

double tolerance(enum precision precision)
{
    return precision == PREC_DOUBLE ? 1e-11 : 3e-5;
}

void check_products(const struct problem *p, enum precision precision, bool store)
{
    static const size_t ks[] = { 1, 2, 5, 9, RHS };
    struct fop *f = problem_fop(p, NULL, precision, store);
    const double tol = tolerance(precision);
    double *P = normals(RHS * p->M, 101), *T = malloc(RHS * p->n * sizeof *T);
    double *W = malloc(RHS * p->M * sizeof *W), *T0 = malloc(RHS * p->n * sizeof *T);
    double *W0 = malloc(RHS * p->M * sizeof *W);

    plain_products(p, RHS, P, T0, W0);
    for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++) {
        const size_t k = ks[i];
        ck_assert(fop_pass(f, k, P, W, NULL, NULL) == ST_OK);
        assert_near(k * p->M, W, W0, tol, "pass");
        ck_assert(fop_zp(f, k, P, T, NULL, NULL) == ST_OK);
        assert_near(k * p->n, T, T0, tol, "zp");
        ck_assert(fop_ztv(f, k, T0, W, NULL, NULL) == ST_OK);
        assert_near(k * p->M, W, W0, tol, "ztv");
    }
    fop_free(f);
    free(P);
    free(T);
    free(W);
    free(T0);
    free(W0);
}
