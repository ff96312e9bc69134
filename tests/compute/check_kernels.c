/* tests/compute/check_kernels.c -- kernels that are no plain stationary ones, their sums and
 * products: golden matrices, features against exact values within Monte-Carlo bounds, the backend
 * against the plain reading of the steps, derivatives against differences. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "compute/backend.h"
#include "compute/features/featmap.h"
#include "compute/features/fop.h"
#include "compute/features/interp.h"
#include "compute/kernels/layers/symbol_windows.h"
#include "compute/likelihood/nmll.h"
#include "compute/rng.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Expressions; values of their hyperparameters; c of the Monte-Carlo bound c / sqrt(M) on the rms
 * error relative to sqrt(k_ii k_jj) (golden README, and products of independent factors). */
static const struct { const char *text; double hp[12]; double c; } list[] = {
    { "arccos", { 1.2 }, 1.6 },
    { "erf", { 0.9, 0.7 }, 1.2 }, /* 0.6 of an absolute error, k_ii >= 0.5 */
    { "poly(degree=2)", { 1.3 }, 1.5 },
    { "poly(degree=3,c=0.5)", { 1.7 }, 3.0 },
    { "poly(degree=4)", { 2.0 }, 5.0 },
    { "linear", { 0 }, 1e-9 },
    { "constant", { 0 }, 1e-9 },
    { "periodic", { 0.8, 1.7 }, 1.5 },
#ifdef HAVE_GSL
    { "matern(nu=1)", { 1.3 }, 1.5 },
    { "matern(nu=7/10) * linear", { 1.3 }, 3.0 },
#endif
    { "rbf + linear", { 1.1, 0.5 }, 1.5 },
    { "rbf + matern(nu=1/2)", { 1.1, 2.0, 0.5 }, 2.0 },
    { "linear + constant + cauchy", { 0.6, 0.8, 0.7 }, 2.0 },
    { "rbf * periodic", { 2.5, 0.9, 1.3 }, 1.5 },
    { "rbf * matern(nu=3/2)", { 1.5, 2.5 }, 1.5 },
    { "rbf * linear", { 1.5 }, 2.5 },
    { "poly(degree=2) * rbf + arccos", { 2.0, 1.5, 1.2, 0.3 }, 3.0 },
    { "matern(nu=1/2) * erf + linear * linear", { 2.0, 1.0, 0.8, 0.4 }, 3.5 },
    { "rbf * constant + constant * constant", { 1.0, 0.5 }, 1.5 },
    { "rbf(ard=3)", { 0.7, 1.5, 4.0 }, 1.5 },
    { "arccos(ard=3) + rbf", { 0.7, 1.5, 4.0, 1.1, 0.5 }, 2.0 },
    { "periodic(ard=3) * rbf(ard=3)", { 0.9, 1.5, 3.0, 2.1, 0.7, 1.5, 4.0 }, 1.5 },
    { "rbf(ard=1:2:1)", { 0.7, 2.5 }, 1.5 },
    { "matern(nu=1/2,ard=1x2:2)", { 2.0, 5.0 }, 2.0 },
    { "arccos(ard=1:2:1) + rbf(ard=3)", { 0.7, 1.5, 4.0, 1.1, 0.9, 0.5 }, 2.0 },
    { "periodic(ard=1:2x2) * erf(ard=1:2x2) + poly(degree=2,ard=1:2x2)",
      { 0.9, 3.0, 2.1, 1.5, 0.8, 0.7, 1.8, 2.5, 0.4 }, 3.0 },
};
enum { LIST = sizeof list / sizeof list[0], N = 37, D = 3 };

static struct kernel parsed(const char *text)
{
    struct kernel k;
    struct err err = { 0 };
    ck_assert_msg(kernel_parse(text, &k, NULL, &err) == ST_OK, "%s: %s", text, err.msg);
    return k;
}

static double *inputs(size_t n)
{
    double *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = rng_normal(11, rng_stream(RNG_TEST, 1), i);
    return x;
}

static void assert_close(size_t n, const double *a, const double *b, double tol, const char *what)
{
    double worst = 0.0, scale = 0.0;
    for (size_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(a[i] - b[i]));
        scale = fmax(scale, fabs(b[i]));
    }
    ck_assert_msg(worst <= tol * (scale + 1e-300), "%s: off by %g of %g", what, worst, scale);
}

/* Exact values. */

static const struct { const char *golden, *text; double hp[3], factor, tol;
} gold[] = {
    {"arccos1", "arccos", {0.5 / 1.2}, 0.25, 1e-10}, /* homogeneous: bias 0.5 is a factor 0.25 */
    {"erf", "erf", {1.0 / 1.2, 0.5}, 1.0, 1e-10},
    {"poly2c1", "poly(degree=2,c=1)", {1.0}, 1.0, 1e-12},
    {"poly3c0", "poly(degree=3,c=0)", {1.0}, 1.0, 1e-12},
    {"linear", "linear", {0}, 1.0, 1e-12},
};

START_TEST(golden_matrices)
{
    static const int dims[] = { 1, 3, 10, 20 };
    const struct kernel k = parsed(gold[_i].text);

    for (int at = 0; at < 4; at++) {
        char name[64];
        size_t n, d, r, c;
        snprintf(name, sizeof name, "kern_X_d%d", dims[at]);
        double *X = support_golden(name, &n, &d);
        snprintf(name, sizeof name, "kern_K_%s_d%d", gold[_i].golden, dims[at]);
        double *K = support_golden(name, &r, &c);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                const double v = gold[_i].factor *
                                 kernel_exact(&k, gold[_i].hp, d, X + i * d, X + j * d, NULL);
                ck_assert_msg(fabs(v - K[i * n + j]) <= gold[_i].tol * (1.0 + fabs(K[i * n + j])),
                              "%s (%zu,%zu): %.15g for %.15g", name, i, j, v, K[i * n + j]);
            }
        free(X), free(K);
    }
}
END_TEST

/* Groups of inputs with one lengthscale each, as ARD with equal values. */
START_TEST(golden_groups)
{
    const double s[10] = { 0.4, 0.4, 0.4, 0.4, 1.1, 1.1, 1.1, 2.0, 2.0, 2.0 };
    const struct kernel k = parsed("rbf(ard=10)");
    double l[10];
    size_t n, d, r, c;
    double *X = support_golden("kern_X_d10", &n, &d),
           *K = support_golden("kern_K_miniard_d10", &r, &c);

    for (size_t i = 0; i < 10; i++)
        l[i] = 1.0 / s[i];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            ck_assert(support_close(kernel_exact(&k, l, d, X + i * d, X + j * d, NULL),
                                    K[i * n + j], 1e-12));
    const struct kernel three = parsed("rbf(ard=1x4:2x3:3x3)");
    const double s3[3] = { 1.0 / 0.4, 1.0 / 1.1, 1.0 / 2.0 };
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            ck_assert(support_close(kernel_exact(&three, s3, d, X + i * d, X + j * d, NULL),
                                    K[i * n + j], 1e-12));
    free(X), free(K);
}
END_TEST

/* Groups are those of the inputs of a row: a kernel that reads inputs 2 and 3 of four has the
 * lengthscale of their group. */
START_TEST(groups_of_a_row)
{
    const struct kernel k = parsed("rbf(ard=1:2x2:3,inputs=2:3)");
    const double l[3] = { 0.7, 1.3, 2.1 }, x[4] = { 0.1, 0.2, 0.3, 0.4 },
                 y[4] = { 1.4, 0.9, -0.5, 2.0 };
    const double r2 = (pow(x[1] - y[1], 2.0) + pow(x[2] - y[2], 2.0)) / (l[1] * l[1]);
    double grad[3];

    ck_assert(support_close(kernel_exact(&k, l, 4, x, y, grad), exp(-0.5 * r2), 1e-14));
    ck_assert(grad[0] == 0.0 && grad[2] == 0.0);
    ck_assert(support_close(grad[1], r2 * exp(-0.5 * r2), 1e-14));
    for (size_t i = 1; i < 3; i++)
        ck_assert_uint_eq(kernel_lengthscale_of(&k, 0, i), 1);
}
END_TEST

/* The golden matrices from features of each of their inputs. */
START_TEST(golden_features)
{
    static const struct { const char *golden, *text; double hp[3], factor, c; } map[] = {
        { "arccos1", "arccos", { 0.5 / 1.2 }, 0.25, 1.6 }, /* c / sqrt(M), relative */
        { "erf", "erf", { 1.0 / 1.2, 0.5 }, 1.0, -0.6 },   /* absolute */
        { "poly2c1", "poly(degree=2,c=1)", { 1.0 }, 1.0, 1.5 },
    };
    static const int dims[] = { 1, 3, 10, 20 };
    enum { M = 4096, SEEDS = 3 };
    const struct kernel k = parsed(map[_i].text);

    for (int at = 0; at < 4; at++) {
        char name[64];
        size_t n, d, r, c;
        snprintf(name, sizeof name, "kern_X_d%d", dims[at]);
        double *X = support_golden(name, &n, &d);
        snprintf(name, sizeof name, "kern_K_%s_d%d", map[_i].golden, dims[at]);
        double *K = support_golden(name, &r, &c);
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct featmap *fm = featmap_new(&k, d, M, seed, NULL);
            double *Z = calloc(n * M + interp_work_for_tests(fm), sizeof *Z), sum = 0.0;
            for (size_t i = 0; i < n; i++)
                interp_row_for_tests(fm, map[_i].hp, X + i * d, Z + i * M, NULL, 0, Z + n * M);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++) {
                    double v = 0.0;
                    for (size_t m = 0; m < M; m++)
                        v += Z[i * M + m] * Z[j * M + m];
                    v = map[_i].factor * v - K[i * n + j];
                    if (map[_i].c > 0.0)
                        v /= sqrt(K[i * n + i] * K[j * n + j]);
                    sum += v * v / (double)(n * n);
                }
            ck_assert_msg(sqrt(sum) <= fabs(map[_i].c) / sqrt(M), "%s seed %d: rms %g of %g", name,
                          (int)seed, sqrt(sum), fabs(map[_i].c) / sqrt(M));
            featmap_free(fm);
            free(Z);
        }
        free(X), free(K);
    }
}
END_TEST

START_TEST(exact_gradients)
{
    const struct kernel k = parsed(list[_i].text);
    const size_t nhp = kernel_nhp(&k);
    double *x = inputs(8 * D), grad[12], up[12], down[12];

    for (size_t pair = 0; pair < 7; pair++) {
        const double *a = x + pair * D, *b = x + (pair + 1) * D;
        kernel_exact(&k, list[_i].hp, D, a, b, grad);
        for (size_t h = 0; h < nhp; h++) {
            memcpy(up, list[_i].hp, sizeof up);
            memcpy(down, list[_i].hp, sizeof down);
            up[h] *= exp(1e-5);
            down[h] *= exp(-1e-5);
            const double fd = (kernel_exact(&k, up, D, a, b, NULL) -
                               kernel_exact(&k, down, D, a, b, NULL)) / 2e-5;
            ck_assert_msg(fabs(fd - grad[h]) <= 1e-7 * (1.0 + fabs(fd)), "%s hp %zu: %g for %g",
                          list[_i].text, h, grad[h], fd);
        }
    }
    free(x);
}
END_TEST

START_TEST(names_and_bounds)
{
    static const char *const names[] = { "1.lengthscale", "2.lengthscale", "2.period",
                                         "3.lengthscale[1]", "3.lengthscale[2]", "4.lengthscale",
                                         "4.bias", "3.weight", "5.weight" };
    struct kernel k = parsed("rbf * periodic + matern(ard) * erf + constant");
    size_t from[KERNEL_MAX_HP];
    char name[KERNEL_NAME_MAX];
    struct hparam h;

    ck_assert_int_eq(kernel_bind(&k, 2, from, NULL), ST_OK);
    ck_assert_uint_eq(kernel_nhp(&k), sizeof names / sizeof *names);
    const size_t origin[] = { 0, 1, 2, 3, 3, 4, 5, 6, 7 };
    for (size_t i = 0; i < kernel_nhp(&k); i++) {
        kernel_hp_info(&k, i, name, &h);
        ck_assert_str_eq(name, names[i]);
        ck_assert(h.lo < h.init && h.init < h.hi);
        ck_assert_uint_eq(from[i], origin[i]);
    }
    double hp[KERNEL_MAX_HP];
    ck_assert_int_eq(kernel_parse("rbf(l=2) + periodic(period=3,l=4,weight=5) + linear(weight=6)",
                                  &k, hp, NULL), ST_OK);
    const double want[] = { 2, 4, 3, 5, 6 };
    for (size_t i = 0; i < 5; i++)
        ck_assert(hp[i] == want[i]);
}
END_TEST

/* Groups of inputs: written, bound to data, written again, bound to other data. */
START_TEST(groups_are_bound)
{
    static const struct { const char *text, *bound; } said[] = {
        { "rbf ard", "rbf(ard=5)" },
        { "matern(nu=3/2) ard", "matern(nu=3/2,ard=5)" },
        { "rbf(ard=group)", "rbf(ard=1:2x2:1:3)" },
        { "matern(nu=3/2) ard=group + linear * rbf(ard)",
          "matern(nu=3/2,ard=1:2x2:1:3) + linear * rbf(ard=5)" },
    };
    static const char *const wrong[] = {"rbf(ard=2x3)",
                                        "rbf(ard=1:3)",
                                        "rbf(ard=1x0)",
                                        "rbf(ard=1x)",
                                        "linear(ard=group)",
                                        "rbf(ard=1x3:2) * erf(ard=1x4)",
                                        "rbf(ard=1x3) + erf(ard=group)",
                                        "rbf(ard=1x9999)",
                                        "rbf(ard=groups)",
                                        "rbf arda",
                                        "rbf(ard=group) ard=3",
                                        "rbf(ard,ard)",
                                        "rbf(ard=8) ard"};
    const size_t group[] = { 70, 3, 3, 70, 5 }, other[] = { 70, 3, 3, 3, 5 };
    size_t from[KERNEL_MAX_HP];
    struct err err = { 0 };
    struct kernel k;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(kernel_parse(wrong[i], &k, NULL, &err) != ST_OK, "%s", wrong[i]);
        ck_assert(err.msg[0] != '\0');
    }
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        k = parsed(said[i].text);
        const bool groups = kernel_has_groups(&k);
        ck_assert_int_eq(kernel_bind_groups(&k, 5, group, from, NULL), ST_OK);
        for (int again = 0; again < 2; again++) { /* what is printed is read as the same */
            struct buf b = { 0 };
            kernel_print(&k, &b);
            ck_assert_str_eq(buf_str(&b), said[i].bound);
            k = parsed(said[i].bound);
            buf_free(&b);
        }
        ck_assert_int_eq(kernel_bind_groups(&k, 5, group, from, NULL), ST_OK);
        ck_assert_int_eq(kernel_bind(&k, 5, from, NULL), ST_OK);
        ck_assert_int_eq(kernel_bind(&k, 6, from, &err), ST_SHAPE);
        ck_assert_int_eq(kernel_bind_groups(&k, 5, other, from, &err), groups ? ST_SHAPE : ST_OK);
        ck_assert(!groups || strstr(err.hint, "ard=group"));
    }
    const size_t want[] = { 0, 1, 1, 0, 2 };
    for (size_t i = 0; i < 5; i++) { /* 3 of the first, weight last */
        ck_assert_uint_eq(kernel_lengthscale_of(&k, 0, i), want[i]);
        ck_assert(kernel_lengthscale_of(&k, 1, i) == SIZE_MAX);
        ck_assert_uint_eq(kernel_lengthscale_of(&k, 2, i), 3 + i);
    }
    ck_assert_uint_eq(kernel_nhp(&k), 9);

    /* one input, one group; more inputs than lengthscales are possible, and more groups */
    k = parsed("rbf(ard=group)");
    ck_assert_int_eq(kernel_bind_groups(&k, 1, group, from, NULL), ST_OK);
    struct buf b = { 0 };
    kernel_print(&k, &b);
    ck_assert_str_eq(buf_str(&b), "rbf(ard=1x1)");
    buf_free(&b);
    k = parsed("rbf(ard=1x1)");
    ck_assert_uint_eq(kernel_nhp(&k), 1);
    size_t many[900];
    for (size_t i = 0; i < 900; i++)
        many[i] = i % 9;
    k = parsed("rbf(ard=group)");
    ck_assert_int_eq(kernel_bind_groups(&k, 900, many, from, NULL), ST_OK);
    ck_assert_uint_eq(kernel_nhp(&k), 9);
    k = parsed("rbf(ard=group)");
    ck_assert_int_eq(kernel_bind(&k, 900, from, &err), ST_LIMIT);
    k = parsed("rbf(ard=group)");
    ck_assert_int_eq(kernel_bind(&k, KERNEL_MAX_GROUPED + 1, from, &err), ST_LIMIT);
}
END_TEST

/* Matern of any smoothness: by an integral for the Bessel function, K_nu(t) = int_0^oo
 * exp(-t cosh u) cosh(nu u) du, which the trapezoidal rule sums to all digits. */
#ifdef HAVE_GSL
START_TEST(matern_of_any_smoothness)
{
    static const double nus[] = { 0.6, 1.0, 1.2, 2.0, 2.4 };
    char text[40];
    const double l = 0.8;

    for (size_t i = 0; i < 5; i++) {
        const double nu = nus[i], x = 0.0;
        snprintf(text, sizeof text, "matern(nu=%.1f)", nu);
        const struct kernel k = parsed(text);
        for (double y = 0.05; y < 6.0; y *= 1.7) {
            const double t = sqrt(2.0 * nu) * y / l, h = 1e-3;
            double bessel = 0.5 * exp(-t), grad;
            for (double u = h; u < 12.0; u += h)
                bessel += exp(-t * cosh(u)) * cosh(nu * u);
            const double want = pow(2.0, 1.0 - nu) / tgamma(nu) * pow(t, nu) * h * bessel;
            ck_assert(support_close(kernel_exact(&k, &l, 1, &x, &y, &grad), want, 1e-11));
            const double up = l * exp(1e-5), down = l * exp(-1e-5);
            const double fd = (kernel_exact(&k, &up, 1, &x, &y, NULL) -
                               kernel_exact(&k, &down, 1, &x, &y, NULL)) / 2e-5;
            ck_assert(support_close(grad, fd, 1e-8));
        }
        ck_assert(kernel_exact(&k, &l, 1, &x, &x, NULL) == 1.0);
        const double far = 1e6;
        ck_assert(kernel_exact(&k, &l, 1, &x, &far, NULL) == 0.0);
    }
}
END_TEST
#endif

/* Features. */

/* Over four seeds: the errors of one are much alike over all pairs of rows. */
START_TEST(features_approximate)
{
    enum { M = 4096, ROWS = 12, SEEDS = 4 };
    const struct kernel k = parsed(list[_i].text);
    const double *hp = list[_i].hp;
    double *x = inputs(ROWS * D), sum = 0.0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct featmap *fm = featmap_new(&k, D, M, seed, NULL);
        double *Z = calloc(ROWS * M + interp_work_for_tests(fm), sizeof *Z);
        for (size_t i = 0; i < ROWS; i++)
            interp_row_for_tests(fm, hp, x + i * D, Z + i * M, NULL, 0, Z + ROWS * M);
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < ROWS; j++) {
                const double *a = x + i * D, *b = x + j * D;
                double v = -kernel_exact(&k, hp, D, a, b, NULL);
                for (size_t c = 0; c < M; c++)
                    v += Z[i * M + c] * Z[j * M + c];
                v /= sqrt(kernel_exact(&k, hp, D, a, a, NULL) *
                          kernel_exact(&k, hp, D, b, b, NULL));
                sum += v * v / (ROWS * ROWS * SEEDS);
            }
        featmap_free(fm);
        free(Z);
    }
    ck_assert_msg(sqrt(sum) <= list[_i].c / sqrt(M), "%s: rms %g of %g", list[_i].text, sqrt(sum),
                  list[_i].c / sqrt(M));
    free(x);
}
END_TEST

/* Degree 3 with the golden signs and rows; padding to 32 instead of 16 repeats the transform. */
START_TEST(golden_polynomial)
{
    size_t n, d, r, c, rows, M;
    double *X = support_golden("poly_srht_x", &n, &d),
           *S = support_golden("poly_srht_signs", &r, &c);
    double *R = support_golden("poly_srht_rows", &rows, &M);
    double *want = support_golden("poly_srht_features", &r, &c);
    const struct kernel k = parsed("poly(degree=3,c=0)");
    const double l = 1.0;

    ck_assert(rows == 3 && M == 8 && r == n && c == M);
    struct featmap *fm = featmap_new(&k, d, M, 1, NULL);
    struct fm_term *t = &fm->term[0];
    ck_assert_uint_eq(t->D, 32);
    for (size_t q = 0; q < 3; q++) {
        for (size_t i = 0; i < 16; i++)
            t->signs[q * t->nb * t->D + i] = (int8_t)S[q * 16 + i];
        for (size_t j = 0; j < M; j++)
            t->perm[q * t->nb * t->D + j] = (uint32_t)R[q * M + j];
    }
    struct source_array src;
    source_array_init(&src, X, n, d, d);
    const struct fop_opts fo = { .precision = PREC_DOUBLE };
    struct fop *f = fop_new(backend_cpu(), fm, &src.base, &fo, NULL);
    double *z = malloc(n * M * sizeof *z),
           *work = malloc((M + interp_work_for_tests(fm)) * sizeof *work);
    ck_assert_int_eq(fop_set(f, &l, NULL), ST_OK);
    ck_assert_int_eq(fop_tile64(f, 0, n, z, M, NULL), ST_OK);
    for (size_t i = 0; i < n; i++) {
        interp_row_for_tests(fm, &l, X + i * d, work, NULL, 0, work + M);
        for (size_t j = 0; j < M; j++) {
            ck_assert(support_close(z[i * M + j], want[i * M + j], 1e-12));
            ck_assert(support_close(work[j], want[i * M + j], 1e-12));
        }
    }
    fop_free(f);
    featmap_free(fm);
    free(X), free(S), free(R), free(want), free(z), free(work);
}
END_TEST

/* The backend. */

struct problem { struct kernel k; struct featmap *fm; double *x, *Z, *s; struct source_array src; };

/* s: row factors, which Z holds. */
static struct problem problem_new(size_t which, size_t M, bool weighted)
{
    struct problem p = { .k = parsed(list[which].text), .x = inputs(N * D) };
    p.fm = featmap_new(&p.k, D, M, 5, NULL);
    p.Z = malloc((N * M + interp_work_for_tests(p.fm)) * sizeof *p.Z);
    p.s = weighted ? malloc(N * sizeof *p.s) : NULL;
    source_array_init(&p.src, p.x, N, D, D);
    for (size_t i = 0; i < N; i++) {
        interp_row_for_tests(p.fm, list[which].hp, p.x + i * D, p.Z + i * M, NULL, 0, p.Z + N * M);
        if (weighted)
            p.s[i] = 0.5 + rng_uniform(3, rng_stream(RNG_TEST, 9), i);
        for (size_t j = 0; weighted && j < M; j++)
            p.Z[i * M + j] *= p.s[i];
    }
    return p;
}

static void problem_free(struct problem *p)
{
    featmap_free(p->fm);
    free(p->x), free(p->Z), free(p->s);
}

static void plain_pass(const struct problem *p, size_t M, size_t k, const double *P, double *T,
                       double *W)
{
    memset(W, 0, k * M * sizeof *W);
    for (size_t c = 0; c < k; c++)
        for (size_t i = 0; i < N; i++) {
            double t = 0.0;
            for (size_t j = 0; j < M; j++)
                t += p->Z[i * M + j] * P[c * M + j];
            T[c * N + i] = t;
            for (size_t j = 0; j < M; j++)
                W[c * M + j] += p->Z[i * M + j] * t;
        }
}

START_TEST(backend_reads_the_steps)
{
    enum { M = 394, K = 9 };
    double *P = inputs(K * M), *T = malloc(2 * K * N * sizeof *T),
           *W = malloc(2 * K * M * sizeof *W);
    double *z = malloc(N * M * sizeof *z);
    float *z32 = malloc(N * M * sizeof *z32);

    for (int how = 0; how < 8; how++) {
        const bool wide = how & 1, store = how & 2;
        struct problem p = problem_new((size_t)_i, M, how & 4);
        const struct fop_opts fo = { .precision = wide ? PREC_DOUBLE : PREC_FLOAT, .store = store,
                                     .row_scale = p.s };
        const double tol = wide ? 1e-11 : 3e-5;
        struct fop *f = fop_new(backend_cpu(), p.fm, &p.src.base, &fo, NULL);
        ck_assert_int_eq(fop_set(f, list[_i].hp, NULL), ST_OK);
        ck_assert_int_eq(fop_tile64(f, 0, N, z, M, NULL), ST_OK);
        assert_close(N * M, z, p.Z, 1e-11, list[_i].text);
        ck_assert_int_eq(fop_tile(f, 0, N, z32, M, NULL), ST_OK);
        for (size_t i = 0; i < N * M; i++)
            z[i] = (double)z32[i];
        assert_close(N * M, z, p.Z, tol + 1e-7, list[_i].text);
        for (size_t k = 1; k <= K; k += 4) { /* one, several, in groups */
            plain_pass(&p, M, k, P, T, W);
            for (int again = 0; again < 2; again++) { /* the second time from the store */
                ck_assert_int_eq(fop_pass(f, k, P, W + K * M, NULL, NULL), ST_OK);
                assert_close(k * M, W + K * M, W, 4.0 * tol, "pass");
            }
            ck_assert_int_eq(fop_zp(f, k, P, T + K * N, NULL, NULL), ST_OK);
            assert_close(k * N, T + K * N, T, 4.0 * tol, "zp");
            ck_assert_int_eq(fop_ztv(f, k, T, W + K * M, NULL, NULL), ST_OK);
            assert_close(k * M, W + K * M, W, 4.0 * tol, "ztv");
        }
        fop_free(f);
        problem_free(&p);
    }
    free(P), free(T), free(W), free(z), free(z32);
}
END_TEST

START_TEST(same_bits)
{
    enum { M = 394, ROWS = 3000 };
    const struct kernel k = parsed(list[_i].text);
    double *x = inputs(ROWS * D), *P = inputs(M), W[4][M];
    struct source_array src;

    source_array_init(&src, x, ROWS, D, D);
    for (size_t threads = 1, at = 0; at < 4; threads = at == 2 ? 8 : threads + 1, at++) {
        struct pool *pool = pool_new(threads, NULL);
        const struct fop_opts fo = { .pool = pool, .store = at == 1 };
        struct featmap *fm = featmap_new(&k, D, M, 5, NULL);
        struct fop *f = fop_new(backend_cpu(), fm, &src.base, &fo, NULL);
        ck_assert_int_eq(fop_set(f, list[_i].hp, NULL), ST_OK);
        ck_assert_int_eq(fop_pass(f, 1, P, W[at], NULL, NULL), ST_OK);
        ck_assert_int_eq(fop_pass(f, 1, P, W[at], NULL, NULL), ST_OK);
        ck_assert(at == 0 || memcmp(W[at], W[0], sizeof W[0]) == 0);
        fop_free(f);
        featmap_free(fm);
        pool_free(pool);
    }
    free(x), free(P);
}
END_TEST

/* sum B o dZ/dlog hp against the difference of sum B o Z. */
START_TEST(gradients_come_back)
{
    enum { M = 202 };
    const struct kernel k = parsed(list[_i].text);
    const size_t nhp = kernel_nhp(&k);
    double *B = inputs(N * M), *z = malloc(N * M * sizeof *z), grad[12] = { 0 }, hp[12];

    for (int weighted = 0; weighted < 2; weighted++) {
        struct problem p = problem_new((size_t)_i, M, weighted);
        const struct fop_opts fo = { .precision = PREC_DOUBLE, .row_scale = p.s };
        struct fop *f = fop_new(backend_cpu(), p.fm, &p.src.base, &fo, NULL);
        ck_assert_int_eq(fop_set(f, list[_i].hp, NULL), ST_OK);
        ck_assert_int_eq(fop_tile64(f, 0, N, z, M, NULL), ST_OK);
        memset(grad, 0, sizeof grad);
        ck_assert_int_eq(fop_grad(f, 0, N, z, B, M, grad, NULL), ST_OK);
        for (size_t h = 0; h < nhp; h++) {
            double v[2] = { 0.0, 0.0 };
            for (int side = 0; side < 2; side++) {
                memcpy(hp, list[_i].hp, sizeof hp);
                hp[h] *= exp(side ? 1e-5 : -1e-5);
                ck_assert_int_eq(fop_set(f, hp, NULL), ST_OK);
                ck_assert_int_eq(fop_tile64(f, 0, N, z, M, NULL), ST_OK);
                for (size_t i = 0; i < N * M; i++)
                    v[side] += B[i] * z[i];
            }
            const double fd = (v[1] - v[0]) / 2e-5;
            ck_assert_msg(fabs(fd - grad[h]) <= 1e-5 * (1.0 + fabs(fd)), "%s hp %zu: %g for %g",
                          list[_i].text, h, grad[h], fd);
        }
        fop_free(f);
        problem_free(&p);
    }
    free(B), free(z);
}
END_TEST

/* The likelihood over features, its gradient by differences; and with many features near that of
 * the exact kernel. */
START_TEST(likelihood_gradient)
{
    enum { M = 64 };
    const struct kernel k = parsed(list[_i].text);
    const size_t nhp = kernel_nhp(&k);
    double y[N], g[14], hp[12];
    struct problem p = problem_new((size_t)_i, M, false);
    const struct fop_opts fo = { .precision = PREC_DOUBLE };
    struct fop *f = fop_new(backend_cpu(), p.fm, &p.src.base, &fo, NULL);

    for (size_t i = 0; i < N; i++)
        y[i] = sin(2.0 * p.x[i * D]) + 0.3 * p.x[i * D + 1];
    double v;
    ck_assert_int_eq(
        nmll_features(f,
                      &(struct nmll_ask){
                          .y = y, .hp = list[_i].hp, .nhp = nhp, .amplitude = 1.1, .noise = 0.3},
                      &(struct nmll_told){.value = &v, .grad = g}, NULL, NULL),
        ST_OK);
    for (size_t h = 0; h < nhp; h++) {
        double at[2];
        for (int side = 0; side < 2; side++) {
            memcpy(hp, list[_i].hp, sizeof hp);
            hp[h] *= exp(side ? 1e-5 : -1e-5);
            ck_assert_int_eq(
                nmll_features(f,
                              &(struct nmll_ask){
                                  .y = y, .hp = hp, .nhp = nhp, .amplitude = 1.1, .noise = 0.3},
                              &(struct nmll_told){.value = &at[side]}, NULL, NULL),
                ST_OK);
        }
        const double fd = (at[1] - at[0]) / 2e-5;
        ck_assert_msg(fabs(fd - g[h]) <= 2e-5 * (1.0 + fabs(fd)), "%s hp %zu: %g for %g",
                      list[_i].text, h, g[h], fd);
    }
    fop_free(f);
    problem_free(&p);
}
END_TEST

START_TEST(columns_are_shared)
{
    struct err err = { 0 };
    struct kernel k = parsed("linear + rbf + arccos + constant");
    ck_assert_ptr_null(featmap_new(&k, 5, 8, 1, &err));
    ck_assert_ptr_nonnull(strstr(err.msg, "at least 10"));
    struct featmap *fm = featmap_new(&k, 5, 32, 1, NULL);
    size_t sum = 0;
    for (size_t i = 0; i < fm->nterms; i++)
        sum += fm->term[i].cols;
    ck_assert_uint_eq(sum, 32);
    ck_assert_uint_eq(fm->term[0].cols, 5);
    ck_assert_uint_eq(fm->term[1].col0, 0); /* the plain one */
    featmap_free(fm);
    k = parsed("linear + constant");
    ck_assert_uint_eq(featmap_most_for_tests(&k, 4), 5);
    k = parsed("linear + rbf");
    ck_assert_uint_eq(featmap_most_for_tests(&k, 4), SIZE_MAX);
    /* the least is what a map can be drawn with, and no less */
    static const char *const least[] = {"rbf", "linear", "rbf + linear",
                                        "constant + linear + matern", "rbf * linear + constant"};
    for (size_t i = 0; i < sizeof least / sizeof least[0]; i++)
        for (size_t d = 1; d < 6; d++) {
            ck_assert_int_eq(kernel_parse(least[i], &k, NULL, NULL), ST_OK);
            const size_t n = featmap_least(&k, d);
            struct featmap *map = featmap_new(&k, d, n, 1, NULL);
            ck_assert_ptr_nonnull(map);
            featmap_free(map);
            ck_assert_ptr_null(n > 2 ? featmap_new(&k, d, n - 2, 1, NULL) : NULL);
        }
}
END_TEST

/* Symbols in windows. */

static size_t squared_distance(const struct layer *w, const double *x, const double *y)
{
    size_t sum = 0;

    for (size_t i = 0; i < w->width; i++) {
        const bool p = x[i] < (double)w->channels, q = y[i] < (double)w->channels;
        if (p && q && x[i] != y[i])
            sum += 2;
        else if (p != q)
            sum++;
    }
    return sum;
}

/* Widths on both sides of what is counted sixteen at a time; rows longer than a tile; alphabets too
 * large for bytes; symbols outside the alphabet in one row, in both and in none. */
START_TEST(pairs_of_windows_are_counted_by_distance)
{
    static const size_t widths[] = { 1, 2, 9, 31, 32, 40 }, alphabets[] = { 4, 20, 254, 255, 300 };
    static size_t count[2 * KERNEL_WIDTH_MOST + 1], by_definition[2 * KERNEL_WIDTH_MOST + 1];
    static double x[2200], y[2200];
    const size_t m = _i == 0 ? 2100 : 1 + (size_t)rng_below(5, rng_stream(RNG_TEST, 1), _i, 200);
    const size_t n = 1 + (size_t)rng_below(5, rng_stream(RNG_TEST, 2), _i, 250);

    for (size_t a = 0; a < sizeof alphabets / sizeof *alphabets; a++)
        for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
            const struct layer w = { .width = widths[k], .channels = alphabets[a],
                                     .symbols = true };
            const size_t outside = _i % 3;
            for (size_t i = 0; i < m + w.width - 1; i++)
                x[i] = (double)rng_below(5, rng_stream(RNG_TEST, 3), i,
                                         w.channels + (outside > 0 ? 2 : 0));
            for (size_t i = 0; i < n + w.width - 1; i++)
                y[i] = i % 3 ? x[i] : (double)rng_below(5, rng_stream(RNG_TEST, 4), i,
                                                        w.channels + (outside > 1 ? 1 : 0));
            memset(by_definition, 0, sizeof by_definition);
            for (size_t i = 0; i < m; i++)
                for (size_t j = 0; j < n; j++)
                    by_definition[squared_distance(&w, x + i, y + j)]++;
            symbol_windows_count(&w, x, m, y, n, count);
            ck_assert_mem_eq(count, by_definition, (2 * w.width + 1) * sizeof *count);
        }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("kernels");
    TCase *t = tcase_create("kernels");

    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, exact_gradients, 0, LIST);
    tcase_add_test(t, names_and_bounds);
    tcase_add_test(t, groups_are_bound);
    tcase_add_test(t, groups_of_a_row);
    tcase_add_loop_test(t, features_approximate, 0, LIST);
    tcase_add_loop_test(t, backend_reads_the_steps, 0, LIST);
    tcase_add_loop_test(t, same_bits, 0, LIST);
    tcase_add_loop_test(t, gradients_come_back, 0, LIST);
    tcase_add_loop_test(t, likelihood_gradient, 0, LIST);
    tcase_add_test(t, columns_are_shared);
#ifdef HAVE_GSL
    tcase_add_test(t, matern_of_any_smoothness);
#endif
    if (support_shared("golden/kern_X_d1.csv")) {
        tcase_add_loop_test(t, golden_matrices, 0, (int)(sizeof gold / sizeof gold[0]));
        tcase_add_test(t, golden_groups);
        tcase_add_loop_test(t, golden_features, 0, 3);
        tcase_add_test(t, golden_polynomial);
    }
    tcase_add_loop_test(t, pairs_of_windows_are_counted_by_distance, 0, 12);
    suite_add_tcase(s, t);
    return support_run(s);
}
