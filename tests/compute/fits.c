/* tests/compute/fits.c -- the fits of fits.h. */
#include "fits.h"

#include "compute/backend.h"
#include "compute/rng.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

bool near_rel(double a, double b, double tol)
{
    return fabs(a - b) <= tol * fmax(fabs(a), fabs(b)) + 1e-300;
}

struct kernel parse(const char *text)
{
    struct kernel k;
    double set[KERNEL_MAX_HP];
    ck_assert_int_eq(kernel_parse(text, &k, set, NULL), ST_OK);
    return k;
}

struct fit_opts options(const char *kernel, const char *solver, size_t features)
{
    struct fit_opts o = { .solver = solver, .features = features, .rtol = 1e-8, .maxit = 500,
                          .seed = 3, .kernel = parse(kernel), .amplitude = 1.0, .noise = 0.1,
                          .keep_scale = true };
    o.hp[0] = 1.0;
    return o;
}

struct model *fit(const struct source *src, const double *y, const struct fit_opts *o,
                         struct pool *pool, struct fit_info *info)
{
    struct model *m = NULL;
    struct err err = { 0 };
    const enum status rc =
        model_fit(src, y, o, &(struct tools){backend_cpu(), pool, NULL}, &m, info, NULL, &err);
    ck_assert_msg(rc == ST_OK, "%s", err.msg);
    return m;
}

struct prob *prob_make(void)
{
    struct prob *p = malloc(sizeof *p);

    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i < N * D; i++)
        p->X[i] = rng_normal(21, rng_stream(RNG_TEST, 1), i);
    for (size_t i = 0; i < T * D; i++)
        p->Xt[i] = rng_normal(21, rng_stream(RNG_TEST, 2), i);
    for (size_t i = 0; i < N; i++)
        p->y[i] = sin(2 * p->X[i * D]) + 0.5 * p->X[i * D + 1] * p->X[i * D + 2] +
                  0.1 * rng_normal(21, rng_stream(RNG_TEST, 3), i);
    source_array_init(&p->src, p->X, N, D, D);
    source_array_init(&p->test, p->Xt, T, D, D);
    return p;
}
