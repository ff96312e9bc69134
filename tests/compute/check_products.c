/* tests/compute/check_products.c -- the marginal likelihood of the exact kernel by products with it
 * and random probes (share/doc/methods.md 10.7), against golden values and Cholesky factors. */
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/likelihood/nmll.h"
#include "compute/rng.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DN = 150, DD = 3 };

static bool near_rel(double a, double b, double tol)
{
    return fabs(a - b) <= tol * fmax(fabs(a), fabs(b)) + 1e-300;
}

static const char *const kernels[] = { "rbf", "matern(nu=3/2)", "matern(nu=5/2)" };
static const char *const golden[] = { "rbf", "mat32", "mat52" };

static double scalar_of(const char *prefix, const char *name, const char *suffix)
{
    char key[80];
    snprintf(key, sizeof key, "%s%s%s", prefix, name, suffix);
    return support_golden_scalar("gp_scalars", key);
}

static void draw(size_t n, double *X, double *y)
{
    for (size_t i = 0; i < n * DD; i++)
        X[i] = rng_normal(11, rng_stream(RNG_TEST, 1), i);
    for (size_t i = 0; i < n; i++)
        y[i] = sin(2.0 * X[i * DD]) + X[i * DD + 1] +
               0.2 * rng_normal(11, rng_stream(RNG_TEST, 2), i);
}

/* The exact kernel by products alone.  Probes sqrt(n) e_i are complete: the sum over them is
 * log|A| and the traces themselves, so that value and gradient are the golden ones, to the single
 * precision of products. */
START_TEST(exact_products_are_golden)
{
    size_t n, d, r, c;
    double *X = support_golden("gp_X", &n, &d), *y = support_golden("gp_y", &r, &c), v, se, g[3];
    double set[KERNEL_MAX_HP];
    const double hp = 1.0 / 0.9;
    const struct nmll_ask ask = { .y = y, .hp = &hp, .nhp = 1, .amplitude = sqrt(1.7),
                                  .noise = sqrt(0.05) };
    const struct nmll_slq_opts o = { .rank = 8, .probes = n, .rtol = 1e-10, .probe_rtol = 1e-10,
                                     .unit_for_tests = true };
    const char *name = golden[_i];
    struct kernel k;

    ck_assert_int_eq(kernel_parse(kernels[_i], &k, set, NULL), ST_OK);
    const struct exact_rows rows = { .k = &k, .hp = &hp, .X = X, .n = n, .d = d };
    ck_assert_int_eq(nmll_slq_exact(backend_cpu(), &rows, _i == 1, &ask, &o,
                                    &(struct nmll_told){ .value = &v, .se = &se, .grad = g }, NULL,
                                    NULL),
                     ST_OK);
    ck_assert(near_rel(v, scalar_of("nmll_", name, ""), 1e-5));
    ck_assert_double_le(fabs(g[0] + scalar_of("dnmll_", name, "_dlogs")), 1e-4 * (1 + fabs(g[0])));
    ck_assert_double_le(fabs(g[1] - 2.0 * scalar_of("dnmll_", name, "_dlogamp2")),
                        1e-4 * (1.0 + fabs(g[1])));
    ck_assert_double_le(fabs(g[2] - 2.0 * scalar_of("dnmll_", name, "_dloglam2")),
                        1e-4 * (1.0 + fabs(g[2])));
    free(X);
    free(y);
}
END_TEST

/* One with many inputs for vector code, one by pairs, a sum with its own amplitude. */
static const char *const by_products[] = { "matern(nu=3/2,ard=3)", "arccos",
                                           "rbf+matern(nu=1/2)" };

/* Against a Cholesky factor of the same rows: complete probes with row factors and two targets,
 * their amplitudes at their best. */
START_TEST(exact_products_agree)
{
    double X[DN * DD], y[2 * DN], s[DN], set[KERNEL_MAX_HP], hp[KERNEL_MAX_HP], v[2], a[2][2];
    double w[2][2], g[2][KERNEL_MAX_HP + 2];
    const struct nmll_bounds in = { { 0.05, 50.0 }, { 1e-3, 10.0 } };
    const struct nmll_slq_opts o = { .rank = 20, .probes = DN, .rtol = 1e-10, .probe_rtol = 1e-10,
                                     .unit_for_tests = true };
    struct source_array src;
    struct kernel k;

    draw(DN, X, y);
    for (size_t i = 0; i < DN; i++) {
        s[i] = 1.0 + 0.5 * sin((double)i);
        y[DN + i] = s[i] * cos(3.0 * X[i * DD + 2]);
        y[i] *= s[i];
    }
    source_array_init(&src, X, DN, DD, DD);
    src.base.row_scale = s;
    ck_assert_int_eq(kernel_parse(by_products[_i], &k, set, NULL), ST_OK);
    const size_t nhp = kernel_nhp(&k);
    for (size_t i = 0; i < nhp; i++)
        hp[i] = 0.8 + 0.4 * (double)i;
    const struct exact_rows rows = { .k = &k, .hp = hp, .X = X, .n = DN, .d = DD, .row_scale = s };
    const struct nmll_ask ask = { .t = 2, .y = y, .hp = hp, .nhp = nhp, .scale = NMLL_RATIO,
                                  .ratio = 0.02, .within = &in };
    struct nmll_told told[2];
    for (int i = 0; i < 2; i++)
        told[i] = (struct nmll_told){ .value = &v[i], .amplitude = a[i], .noise = w[i],
                                      .grad = g[i] };
    ck_assert_int_eq(nmll_exact(&k, &src.base, &ask, &told[0], NULL, NULL, NULL), ST_OK);
    ck_assert_int_eq(nmll_slq_exact(backend_cpu(), &rows, true, &ask, &o, &told[1], NULL, NULL),
                     ST_OK);
    ck_assert(near_rel(v[0], v[1], 2e-5));
    for (int q = 0; q < 2; q++) {
        ck_assert(near_rel(a[0][q], a[1][q], 2e-5));
        ck_assert(near_rel(w[0][q], w[1][q], 2e-5));
    }
    for (size_t i = 0; i <= nhp; i++)
        ck_assert_double_le(fabs(g[0][i] - g[1][i]), 3e-4 * (1.0 + fabs(g[0][i])));
}
END_TEST

/* Random probes at a thousand rows: within the error that is told, along the same gradient, and
 * the same bits for any number of threads; a stop ends it. */
START_TEST(exact_products_by_chance)
{
    enum { ROWS = 1000 };
    double *X = malloc(ROWS * (DD + 1) * sizeof *X), *y = X + ROWS * DD, set[KERNEL_MAX_HP];
    double hp[DD] = { 0.8, 1.5, 3.0 }, v, g[DD + 2], vs[2], se[2], gs[2][DD + 2];
    const struct nmll_ask ask = { .y = y, .hp = hp, .nhp = DD, .amplitude = 1.1, .noise = 0.2 };
    const struct nmll_slq_opts o = { .rank = 100, .probes = 64, .rtol = 1e-6, .seed = 3 };
    struct source_array src;
    struct kernel k;

    draw(ROWS, X, y);
    source_array_init(&src, X, ROWS, DD, DD);
    ck_assert_int_eq(kernel_parse("matern(nu=3/2,ard=3)", &k, set, NULL), ST_OK);
    ck_assert_int_eq(nmll_exact(&k, &src.base, &ask,
                                &(struct nmll_told){ .value = &v, .grad = g }, NULL, NULL, NULL),
                     ST_OK);
    for (int i = 0; i < 2; i++) {
        struct pool *pool = pool_new(i ? 3 : 1, NULL);
        const struct exact_rows rows = { .k = &k, .hp = hp, .X = X, .n = ROWS, .d = DD,
                                         .pool = pool };
        ck_assert_int_eq(nmll_slq_exact(backend_cpu(), &rows, i == 1, &ask, &o,
                                        &(struct nmll_told){ .value = &vs[i], .se = &se[i],
                                                             .grad = gs[i] },
                                        NULL, NULL),
                         ST_OK);
        pool_free(pool);
    }
    ck_assert(vs[0] == vs[1] && se[0] == se[1] && memcmp(gs[0], gs[1], sizeof gs[0]) == 0);
    ck_assert(se[0] > 0.0 && se[0] < 0.01 * ROWS);
    ck_assert_double_le(fabs(vs[0] - v), 3.5 * se[0]);
    /* A trace is a mean of quadratic forms u'Bu over 64 probes, with eigenvalues of B of at most
     * about 1: variance 2 |B|^2 <= 2 n each. */
    for (size_t i = 0; i < DD + 2; i++)
        ck_assert_double_le(fabs(gs[0][i] - g[i]), 3.5 * sqrt(2.0 * ROWS / 64.0));
    const struct exact_rows rows = { .k = &k, .hp = hp, .X = X, .n = ROWS, .d = DD };
    struct cancel stop = { true };
    ck_assert_int_eq(nmll_slq_exact(backend_cpu(), &rows, false, &ask, &o,
                                    &(struct nmll_told){ .value = &v, .grad = g },
                                    &(struct ctl){ .cancel = &stop }, NULL),
                     ST_CANCELLED);
    free(X);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("products");
    TCase *t = tcase_create("products");

    support_need("golden/gp_X.csv");
    blas_init();
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, exact_products_are_golden, 0, 3);
    tcase_add_loop_test(t, exact_products_agree, 0, 3);
    tcase_add_test(t, exact_products_by_chance);
    suite_add_tcase(s, t);
    return support_run(s);
}
