/* tests/compute/check_nmll.c -- marginal likelihoods against golden values, a dense formula in long
 * double, and central differences. */
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/features/featmap.h"
#include "compute/likelihood/nmll.h"
#include "compute/preconds/precond.h"
#include "compute/rng.h"
#include "compute/solvers/solve.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LOG_2PI_L = 1.8378770664093454836;

static bool near_rel(double a, double b, double tol)
{
    return fabs(a - b) <= tol * fmax(fabs(a), fabs(b)) + 1e-300;
}

struct fs { double *Z, *y; size_t n, M; struct fop *f; };

static struct fs fs_open(size_t rows)
{
    struct fs fs = { 0 };
    size_t r, c;

    fs.Z = support_golden("fs_Z", &fs.n, &fs.M);
    fs.y = support_golden("fs_y", &r, &c);
    ck_assert_uint_eq(r * c, fs.n);
    if (rows)
        fs.n = rows;
    fs.f = fop_dense_for_tests(fs.Z, fs.n, fs.M, fs.M, NULL, NULL);
    ck_assert_ptr_nonnull(fs.f);
    return fs;
}

static void fs_close(struct fs *fs)
{
    fop_free(fs->f);
    free(fs->Z);
    free(fs->y);
}

/* Both forms of the spectrum, on the whole golden grid, and one Cholesky of nmll_features. */
START_TEST(grid_agrees)
{
    static const double beta[] = { 0.5, 1, 2, 4 }, lam2[] = { .001, .01, .03, .3 };
    struct fs fs = fs_open(0);
    size_t r, c;
    double *want = support_golden("fs_nmll_grid", &r, &c);
    struct nmll_eig tri, eig;

    ck_assert_int_eq(nmll_eig_for_tests(fs.f, fs.y, false, NULL, &tri, NULL), ST_OK);
    ck_assert_int_eq(nmll_eig_for_tests(fs.f, fs.y, true, NULL, &eig, NULL), ST_OK);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++) {
            double direct;
            ck_assert_int_eq(
                nmll_features(
                    fs.f,
                    &(struct nmll_ask){.y = fs.y, .amplitude = beta[i], .noise = sqrt(lam2[j])},
                    &(struct nmll_told){.value = &direct}, NULL, NULL),
                ST_OK);
            ck_assert(near_rel(nmll_eig_at(&tri, beta[i], sqrt(lam2[j])), want[i * c + j], 1e-10));
            ck_assert(near_rel(nmll_eig_at(&eig, beta[i], sqrt(lam2[j])), want[i * c + j], 1e-10));
            ck_assert(near_rel(direct, want[i * c + j], 1e-10));
        }
    nmll_eig_free(&tri);
    nmll_eig_free(&eig);
    free(want);
    fs_close(&fs);
}
END_TEST

START_TEST(spectrum_agrees)
{
    struct fs fs = fs_open(0);
    size_t r, c;
    double *want = support_golden("fs_eig", &r, &c), sum = 0.0;
    struct nmll_eig eig, tri;

    ck_assert_int_eq(nmll_eig_for_tests(fs.f, fs.y, true, NULL, &eig, NULL), ST_OK);
    ck_assert_int_eq(nmll_eig_for_tests(fs.f, fs.y, false, NULL, &tri, NULL), ST_OK);
    ck_assert_uint_eq(r * c, eig.M);
    const bool descending = want[0] > want[r - 1];
    for (size_t i = 0; i < r; i++) {
        const double w = want[descending ? r - 1 - i : i];
        ck_assert(fabs(eig.d[i] - w) <= 1e-10 * want[descending ? 0 : r - 1]);
        sum += w / (w + 0.03);
    }
    ck_assert(near_rel(nmll_eig_effdim(&eig, 0.03), sum, 1e-10));
    ck_assert(near_rel(nmll_eig_effdim(&tri, 0.03), sum, 1e-10));
    nmll_eig_free(&eig);
    nmll_eig_free(&tri);
    free(want);
    fs_close(&fs);
}
END_TEST

START_TEST(gradient_is_golden)
{
    struct fs fs = fs_open(0);
    double v, g[2], effdim;

    ck_assert_int_eq(
        nmll_features(fs.f, &(struct nmll_ask){.y = fs.y, .amplitude = 1.0, .noise = sqrt(0.03)},
                      &(struct nmll_told){.value = &v, .grad = g, .effdim = &effdim}, NULL, NULL),
        ST_OK);
    ck_assert(near_rel(v, support_golden_scalar("fs_scalars", "nmll_b1_l003"), 1e-10));
    ck_assert(near_rel(g[0], support_golden_scalar("fs_scalars", "dnmll_dlogbeta"), 1e-6));
    ck_assert(near_rel(g[1], 2.0 * support_golden_scalar("fs_scalars", "dnmll_dloglam2"), 1e-6));
    ck_assert(effdim > 0.0 && effdim < 24.0);
    fs_close(&fs);
}
END_TEST

START_TEST(profile_and_joint_optimum)
{
    struct fs fs = fs_open(0);
    struct nmll_eig q;
    const double ab[2] = { 1e-3, 1e3 }, nb[2] = { 1e-4, 1e2 };
    double amp, noise;

    ck_assert_int_eq(nmll_eig_for_tests(fs.f, fs.y, false, NULL, &q, NULL), ST_OK);
    const double v = nmll_eig_profile(&q, 0.03, &amp);
    ck_assert(near_rel(v, support_golden_scalar("fs_scalars", "profile_nmll"), 1e-10));
    ck_assert(near_rel(amp * amp, support_golden_scalar("fs_scalars", "profile_beta2"), 1e-10));
    const double best =
        nmll_eig_best(&q, &(struct nmll_bounds){{ab[0], ab[1]}, {nb[0], nb[1]}}, &amp, &noise);
    ck_assert(near_rel(best, support_golden_scalar("fs_scalars", "opt_nmll"), 1e-8));
    ck_assert(near_rel(amp, support_golden_scalar("fs_scalars", "opt_beta"), 1e-5));
    ck_assert(near_rel(noise * noise, support_golden_scalar("fs_scalars", "opt_lam2"), 1e-5));
    ck_assert(near_rel(best, nmll_eig_at(&q, amp, noise), 1e-12));
    nmll_eig_free(&q);
    fs_close(&fs);
}
END_TEST

START_TEST(bounds_hold)
{
    struct fs fs = fs_open(0);
    struct nmll_eig q;
    double amp, noise, least = INFINITY;
    const double ab[2] = { 0.5, 1.2 }, nb[2] = { 0.2, 0.2 };

    ck_assert_int_eq(nmll_eig_for_tests(fs.f, fs.y, false, NULL, &q, NULL), ST_OK);
    const double best =
        nmll_eig_best(&q, &(struct nmll_bounds){{ab[0], ab[1]}, {nb[0], nb[1]}}, &amp, &noise);
    ck_assert(amp >= 0.5 - 1e-9 && amp <= 1.2 + 1e-9);
    ck_assert(fabs(noise - 0.2) < 1e-9);
    for (double a = 0.5; a <= 1.2; a += 0.001)
        least = fmin(least, nmll_eig_at(&q, a, 0.2));
    ck_assert(best <= least + 1e-9);
    ck_assert(best >= least - 1e-3);
    const double fixed_a[2] = { 2.0, 2.0 }, fixed_n[2] = { 0.3, 0.3 };
    ck_assert(near_rel(
        nmll_eig_best(&q, &(struct nmll_bounds){{fixed_a[0], fixed_a[1]}, {fixed_n[0], fixed_n[1]}},
                      &amp, &noise),
        nmll_eig_at(&q, 2.0, 0.3), 1e-12));
    nmll_eig_free(&q);
    fs_close(&fs);
}
END_TEST

START_TEST(rank_deficient)
{
    struct fs fs = fs_open(15);
    struct nmll_eig q;
    double v;
    const double want = support_golden_scalar("fs_scalars", "rankdef_nmll_b1_l003");

    ck_assert_int_eq(nmll_eig_for_tests(fs.f, fs.y, false, NULL, &q, NULL), ST_OK);
    ck_assert(near_rel(nmll_eig_at(&q, 1.0, sqrt(0.03)), want, 1e-10));
    ck_assert_int_eq(
        nmll_features(fs.f, &(struct nmll_ask){.y = fs.y, .amplitude = 1.0, .noise = sqrt(0.03)},
                      &(struct nmll_told){.value = &v}, NULL, NULL),
        ST_OK);
    ck_assert(near_rel(v, want, 1e-10));
    nmll_eig_free(&q);
    fs_close(&fs);
}
END_TEST

/* A Gram that rounding made indefinite has values where the noise is ten times its most negative
 * eigenvalue, and none below. */
START_TEST(indefinite_is_refused)
{
    enum { M = 40 };
    double G[M * M], b[M];
    struct nmll_eig q;

    for (size_t j = 0; j < M; j++)
        for (size_t i = 0; i < M; i++) /* diag(1..M) with one eigenvalue -1e-3, rotated */
            G[i + j * M] = 0.0;
    for (size_t i = 0; i < M; i++) {
        G[i + i * M] = i == 7 ? -1e-3 : 1.0 + (double)i;
        b[i] = 0.01 * sin((double)i);
    }
    for (size_t k = 0; k + 1 < M; k++) { /* plane rotations keep the spectrum */
        const double c = cos(0.3 + (double)k), s = sin(0.3 + (double)k);
        for (size_t i = 0; i < M; i++) {
            const double a = G[i + k * M], d = G[i + (k + 1) * M];
            G[i + k * M] = c * a - s * d;
            G[i + (k + 1) * M] = s * a + c * d;
        }
        for (size_t j = 0; j < M; j++) {
            const double a = G[k + j * M], d = G[k + 1 + j * M];
            G[k + j * M] = c * a - s * d;
            G[k + 1 + j * M] = s * a + c * d;
        }
    }
    ck_assert_int_eq(
        nmll_eig_make(
            NULL,
            &(struct nmll_system){.n = 100, .M = M, .t = 1, .G = G, .b = b, .yty = &(double){1e4}},
            false, &q, NULL),
        ST_OK);
    ck_assert(isfinite(nmll_eig_at(&q, 1.0, 0.2)));
    ck_assert(isinf(nmll_eig_at(&q, 1.0, 1e-3)));
    for (double ratio = 1e-6; ratio < 9.9e-3; ratio *= 1.1)
        ck_assert(isinf(nmll_eig_at(&q, 1.0, sqrt(ratio))));
    for (double ratio = 1.05e-2; ratio < 1.0; ratio *= 1.1)
        ck_assert(isfinite(nmll_eig_at(&q, 1.0, sqrt(ratio))));
    nmll_eig_free(&q);
}
END_TEST

/* The exact kernel. */

static const char *const kernels[] = { "rbf", "matern(nu=3/2)", "matern(nu=5/2)" };
static const char *const golden_name[] = { "rbf", "mat32", "mat52" };

static double scalar_of(const char *prefix, const char *name, const char *suffix)
{
    char key[80];
    snprintf(key, sizeof key, "%s%s%s", prefix, name, suffix);
    return support_golden_scalar("gp_scalars", key);
}

START_TEST(exact_is_golden)
{
    size_t n, d, r, c;
    double *X = support_golden("gp_X", &n, &d), *y = support_golden("gp_y", &r, &c);
    struct source_array src;
    struct kernel k;
    double hp_set[KERNEL_MAX_HP], v, g[3], effdim;
    const double hp = 1.0 / 0.9, amp = sqrt(1.7), noise = sqrt(0.05);
    const char *name = golden_name[_i];

    source_array_init(&src, X, n, d, d);
    ck_assert_int_eq(kernel_parse(kernels[_i], &k, hp_set, NULL), ST_OK);
    ck_assert_int_eq(
        nmll_exact(
            &k, &src.base, &(struct nmll_ask){.y = y, .hp = &hp, .amplitude = amp, .noise = noise},
            &(struct nmll_told){.value = &v, .grad = g, .effdim = &effdim}, NULL, NULL, NULL),
        ST_OK);
    ck_assert(near_rel(v, scalar_of("nmll_", name, ""), 1e-10));
    /* hp is the lengthscale 1/s and amplitude a standard deviation: signs and factors change. */
    ck_assert(near_rel(g[0], -scalar_of("dnmll_", name, "_dlogs"), 1e-7));
    ck_assert(near_rel(g[1], 2.0 * scalar_of("dnmll_", name, "_dlogamp2"), 1e-7));
    ck_assert(near_rel(g[2], 2.0 * scalar_of("dnmll_", name, "_dloglam2"), 1e-7));
    const double ab[2] = { amp, amp }, nb[2] = { noise, noise };
    double a2, n2, v2, e2;
    ck_assert_int_eq(
        nmll_exact(
            &k, &src.base,
            &(struct nmll_ask){.y = y,
                               .hp = &hp,
                               .scale = NMLL_BEST,
                               .within = &(struct nmll_bounds){{ab[0], ab[1]}, {nb[0], nb[1]}}},
            &(struct nmll_told){.value = &v2, .amplitude = &a2, .noise = &n2, .effdim = &e2}, NULL,
            NULL, NULL),
        ST_OK);
    ck_assert(near_rel(v2, v, 1e-10));
    ck_assert(near_rel(e2, effdim, 1e-8));
    free(X);
    free(y);
}
END_TEST

START_TEST(exact_at_golden_optimum_is_flat)
{
    size_t n, d, r, c;
    double *X = support_golden("gp_X", &n, &d), *y = support_golden("gp_y", &r, &c);
    struct source_array src;
    struct kernel k;
    double hp_set[KERNEL_MAX_HP], v, g[3];
    const char *name = golden_name[_i];
    const double hp = 1.0 / scalar_of("opt_s_", name, "");
    const double amp = sqrt(scalar_of("opt_amp2_", name, ""));
    const double noise = sqrt(scalar_of("opt_lam2_", name, ""));

    source_array_init(&src, X, n, d, d);
    ck_assert_int_eq(kernel_parse(kernels[_i], &k, hp_set, NULL), ST_OK);
    ck_assert_int_eq(
        nmll_exact(&k, &src.base,
                   &(struct nmll_ask){.y = y, .hp = &hp, .amplitude = amp, .noise = noise},
                   &(struct nmll_told){.value = &v, .grad = g}, NULL, NULL, NULL),
        ST_OK);
    ck_assert(near_rel(v, scalar_of("opt_nmll_", name, ""), 1e-9));
    for (size_t i = 0; i < 3; i++) /* a simplex search stops this flat */
        ck_assert(fabs(g[i]) < 2e-3);
    free(X);
    free(y);
}
END_TEST

/* Drawn features: gradients by central differences, value by a dense formula. */

enum { DN = 150, DD = 3, DM = 64 };

static void draw(double *X, double *y)
{
    for (size_t i = 0; i < DN * DD; i++)
        X[i] = rng_normal(11, rng_stream(RNG_TEST, 1), i);
    for (size_t i = 0; i < DN; i++)
        y[i] = sin(2.0 * X[i * DD]) + X[i * DD + 1] +
               0.1 * rng_normal(11, rng_stream(RNG_TEST, 2), i);
}

/* NMLL of y ~ N(0, b2 Z Z' + lam2 I) by elimination in long double on the n x n matrix. */
static double dense_nmll(const double *Z, size_t n, size_t M, const double *y, double b2,
                         double lam2)
{
    long double *K = malloc(n * n * sizeof *K), *u = malloc(n * sizeof *u);
    long double logdet = 0.0L, quad = 0.0L;

    ck_assert(K != NULL && u != NULL);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            long double s = i == j ? (long double)lam2 : 0.0L;
            for (size_t c = 0; c < M; c++)
                s += (long double)b2 * Z[i * M + c] * Z[j * M + c];
            K[i * n + j] = s;
        }
    for (size_t i = 0; i < n; i++)
        u[i] = y[i];
    for (size_t k = 0; k < n; k++) { /* LDL' by rows */
        const long double p = K[k * n + k];
        ck_assert(p > 0.0L);
        logdet += logl(p);
        quad += u[k] * u[k] / p;
        for (size_t i = k + 1; i < n; i++) {
            const long double l = K[i * n + k] / p;
            for (size_t j = k + 1; j < n; j++)
                K[i * n + j] -= l * K[k * n + j];
            u[i] -= l * u[k];
        }
    }
    free(K);
    free(u);
    return (double)(0.5L * (quad + logdet + (long double)n * LOG_2PI_L));
}

START_TEST(features_gradient_and_value)
{
    static const char *const text[] = { "rbf", "matern(nu=1/2)", "matern(nu=3/2)", "matern(nu=5/2)",
                                        "cauchy" };
    double X[DN * DD], y[DN], hp_set[KERNEL_MAX_HP], g[3], v, up, dn;
    struct source_array src;
    struct kernel k;
    struct fop_opts fo = { .precision = PREC_DOUBLE };
    const double hp = 1.3, amp = 1.1, noise = 0.2, h = 1e-5;

    draw(X, y);
    source_array_init(&src, X, DN, DD, DD);
    ck_assert_int_eq(kernel_parse(text[_i], &k, hp_set, NULL), ST_OK);
    struct featmap *map = featmap_new(&k, DD, DM, 5, NULL);
    struct fop *f = fop_new(backend_cpu(), map, &src.base, &fo, NULL);
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(
        nmll_features(
            f, &(struct nmll_ask){.y = y, .hp = &hp, .nhp = 1, .amplitude = amp, .noise = noise},
            &(struct nmll_told){.value = &v, .grad = g}, NULL, NULL),
        ST_OK);

    double *Z = malloc(DN * DM * sizeof *Z);
    ck_assert_int_eq(fop_tile64(f, 0, DN, Z, DM, NULL), ST_OK);
    ck_assert(near_rel(v, dense_nmll(Z, DN, DM, y, amp * amp, noise * noise), 1e-10));
    free(Z);

    for (size_t i = 0; i < 3; i++) {
        const double hp1 = hp * (i == 0 ? exp(h) : 1), hp0 = hp * (i == 0 ? exp(-h) : 1);
        const double a1 = amp * (i == 1 ? exp(h) : 1), a0 = amp * (i == 1 ? exp(-h) : 1);
        const double n1 = noise * (i == 2 ? exp(h) : 1), n0 = noise * (i == 2 ? exp(-h) : 1);
        ck_assert_int_eq(
            nmll_features(
                f, &(struct nmll_ask){.y = y, .hp = &hp1, .nhp = 1, .amplitude = a1, .noise = n1},
                &(struct nmll_told){.value = &up}, NULL, NULL),
            ST_OK);
        ck_assert_int_eq(
            nmll_features(
                f, &(struct nmll_ask){.y = y, .hp = &hp0, .nhp = 1, .amplitude = a0, .noise = n0},
                &(struct nmll_told){.value = &dn}, NULL, NULL),
            ST_OK);
        /* truncation h^2 |f'''| / 6, rounding eps |f| / h */
        ck_assert_double_le(fabs(g[i] - (up - dn) / (2 * h)), 1e-5 * (1.0 + fabs(g[i])));
    }
    /* The profiled form: least over both, and its gradient in the lengthscale. */
    const double ab[2] = { 0.05, 50 }, nb[2] = { 1e-4, 10 };
    double best, a, s, grad, ed;
    ck_assert_int_eq(
        nmll_features(
            f,
            &(struct nmll_ask){.y = y,
                               .hp = &hp,
                               .nhp = 1,
                               .scale = NMLL_BEST,
                               .within = &(struct nmll_bounds){{ab[0], ab[1]}, {nb[0], nb[1]}}},
            &(struct nmll_told){
                .value = &best, .amplitude = &a, .noise = &s, .grad = &grad, .effdim = &ed},
            NULL, NULL),
        ST_OK);
    ck_assert_int_eq(
        nmll_features(f,
                      &(struct nmll_ask){.y = y, .hp = &hp, .nhp = 1, .amplitude = a, .noise = s},
                      &(struct nmll_told){.value = &v, .grad = g, .effdim = &up}, NULL, NULL),
        ST_OK);
    ck_assert(near_rel(best, v, 1e-9));
    ck_assert(near_rel(ed, up, 1e-6));
    ck_assert_double_le(fabs(g[1]) + fabs(g[2]), 1e-3); /* a minimum in both */
    ck_assert_double_le(fabs(g[0] - grad), 1e-6 * (1.0 + fabs(grad)));
    fop_free(f);
    featmap_free(map);
}
END_TEST

/* Fewer rows than columns: through Z Z', against the Gram of one Cholesky. */
START_TEST(fewer_rows_than_columns)
{
    static const char *const text[] = { "rbf", "matern(nu=3/2)", "cauchy" };
    double X[DN * DD], y[DN], hp_set[KERNEL_MAX_HP], g[3], v, best, a, s, grad, ed, edp;
    const double hp = 0.9, ab[2] = { 0.05, 50 }, nb[2] = { 1e-4, 10 };
    struct source_array src;
    struct kernel k;
    struct fop_opts fo = { .precision = PREC_DOUBLE };

    draw(X, y);
    source_array_init(&src, X, DN, DD, DD);
    ck_assert_int_eq(kernel_parse(text[_i], &k, hp_set, NULL), ST_OK);
    struct featmap *map = featmap_new(&k, DD, 4 * DN, 5, NULL);
    struct fop *f = fop_new(backend_cpu(), map, &src.base, &fo, NULL);
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(
        nmll_features(
            f,
            &(struct nmll_ask){.y = y,
                               .hp = &hp,
                               .nhp = 1,
                               .scale = NMLL_BEST,
                               .within = &(struct nmll_bounds){{ab[0], ab[1]}, {nb[0], nb[1]}}},
            &(struct nmll_told){
                .value = &best, .amplitude = &a, .noise = &s, .grad = &grad, .effdim = &ed},
            NULL, NULL),
        ST_OK);
    ck_assert_int_eq(
        nmll_features(f,
                      &(struct nmll_ask){.y = y, .hp = &hp, .nhp = 1, .amplitude = a, .noise = s},
                      &(struct nmll_told){.value = &v, .grad = g, .effdim = &edp}, NULL, NULL),
        ST_OK);
    ck_assert(near_rel(best, v, 1e-9));
    ck_assert(near_rel(ed, edp, 1e-6));
    ck_assert_double_le(fabs(g[1]) + fabs(g[2]), 1e-3); /* a minimum in both */
    ck_assert_double_le(fabs(g[0] - grad), 1e-6 * (1.0 + fabs(grad)));
    fop_free(f);
    featmap_free(map);
}
END_TEST

/* With features in single precision the gradient is as good as they are, and the same for any
 * number of threads; more rows than a tile has. */
START_TEST(ard_gradient_in_single_precision)
{
    enum { ROWS = 450, COLS = 96 };
    const double ab[2] = { 0.05, 50 }, nb[2] = { 1e-4, 10 };
    double X[ROWS * DD], y[ROWS], set[KERNEL_MAX_HP], hp[DD], grad[4][DD], v[4], a, s;
    struct source_array src;
    struct kernel k;

    for (size_t i = 0; i < ROWS * DD; i++)
        X[i] = rng_normal(17, rng_stream(RNG_TEST, 1), i);
    for (size_t i = 0; i < ROWS; i++)
        y[i] =
            sin(X[i * DD]) + cos(X[i * DD + 1]) + 0.1 * rng_normal(17, rng_stream(RNG_TEST, 2), i);
    source_array_init(&src, X, ROWS, DD, DD);
    ck_assert_int_eq(kernel_parse("matern(nu=3/2,ard=3)", &k, set, NULL), ST_OK);
    for (size_t i = 0; i < DD; i++)
        hp[i] = 0.7 + 0.5 * (double)i;
    for (size_t run = 0; run < 4; run++) { /* double; single by 1, 2, 3 threads */
        struct pool *pool = run ? pool_new(run, NULL) : NULL;
        const struct fop_opts fo = { .pool = pool, .precision = run ? PREC_FLOAT : PREC_DOUBLE };
        struct featmap *map = featmap_new(&k, DD, COLS, 5, NULL);
        struct fop *f = fop_new(backend_cpu(), map, &src.base, &fo, NULL);
        ck_assert_int_eq(
            nmll_features(
                f,
                &(struct nmll_ask){.y = y,
                                   .hp = hp,
                                   .nhp = DD,
                                   .scale = NMLL_BEST,
                                   .within = &(struct nmll_bounds){{ab[0], ab[1]}, {nb[0], nb[1]}}},
                &(struct nmll_told){
                    .value = &v[run], .amplitude = &a, .noise = &s, .grad = grad[run]},
                NULL, NULL),
            ST_OK);
        fop_free(f);
        featmap_free(map);
        pool_free(pool);
    }
    ck_assert_double_le(fabs(v[1] - v[0]), 4e-6 * ROWS + 1e-5 * fabs(v[0]));
    for (size_t i = 0; i < DD; i++) { /* 2^-24 of sums that cancel to a hundredth */
        ck_assert_double_le(fabs(grad[1][i] - grad[0][i]), 1e-4 * (1.0 + fabs(grad[0][i])));
        ck_assert(grad[2][i] == grad[1][i] && grad[3][i] == grad[1][i]);
    }
}
END_TEST

/* One lengthscale for each input: the gradient in all of them, by central differences; with rows
 * more than columns, fewer, and on the exact kernel. */
START_TEST(ard_gradient)
{
    static const char *const text[] = { "rbf(ard=3)", "matern(nu=3/2,ard=3)", "cauchy(ard=3)" };
    const double ab[2] = { 0.05, 50 }, nb[2] = { 1e-4, 10 }, h = 1e-5;
    double X[DN * DD], y[DN], set[KERNEL_MAX_HP], hp[DD], grad[DD + 2], v, up, dn, a, s;
    const size_t M = _i % 3 == 0 ? DM : 4 * DN;
    struct source_array src;
    struct kernel k;
    struct fop_opts fo = { .precision = PREC_DOUBLE };

    draw(X, y);
    source_array_init(&src, X, DN, DD, DD);
    ck_assert_int_eq(kernel_parse(text[_i / 3], &k, set, NULL), ST_OK);
    ck_assert_uint_eq(kernel_nhp(&k), DD);
    for (size_t i = 0; i < DD; i++)
        hp[i] = 0.7 + 0.5 * (double)i;
    struct featmap *map = featmap_new(&k, DD, M, 5, NULL);
    struct fop *f = map ? fop_new(backend_cpu(), map, &src.base, &fo, NULL) : NULL;
    ck_assert_ptr_nonnull(f);
    for (size_t i = 0; i <= DD; i++) {
        double *best[] = { &v, &up, &dn };
        for (int side = i < DD ? 1 : 0; side <= (i < DD ? 2 : 0); side++) {
            double at[DD];
            memcpy(at, hp, sizeof at);
            if (i < DD)
                at[i] *= exp(side == 1 ? h : -h);
            if (_i % 3 == 2)
                ck_assert_int_eq(
                    nmll_exact(
                        &k, &src.base,
                        &(struct nmll_ask){.y = y, .hp = at, .amplitude = 1.1, .noise = 0.2},
                        &(struct nmll_told){.value = best[side], .grad = i < DD ? NULL : grad},
                        NULL, NULL, NULL),
                    ST_OK);
            else
                ck_assert_int_eq(nmll_features(f,
                                               &(struct nmll_ask){
                                                   .y = y,
                                                   .hp = at,
                                                   .nhp = DD,
                                                   .scale = NMLL_BEST,
                                                   .within = &(struct nmll_bounds){{ab[0], ab[1]},
                                                                                   {nb[0], nb[1]}}},
                                               &(struct nmll_told){.value = best[side],
                                                                   .amplitude = &a,
                                                                   .noise = &s,
                                                                   .grad = i < DD ? NULL : grad},
                                               NULL, NULL),
                                 ST_OK);
        }
        set[i] = i < DD ? (up - dn) / (2 * h) : v;
    }
    for (size_t i = 0; i < DD; i++) /* truncation h^2, rounding eps |f| / h, and the inner search */
        ck_assert_double_le(fabs(grad[i] - set[i]), 2e-5 * (1.0 + fabs(grad[i])));
    fop_free(f);
    featmap_free(map);
}
END_TEST

/* Without the Gram, against one Cholesky: within the error that it claims, far less where the
 * preconditioner has taken everything, and along the same gradient. */
START_TEST(quadrature_agrees)
{
    enum { M = 128 };
    double X[DN * DD], y[DN], set[KERNEL_MAX_HP], hp[DD] = { 0.8, 1.5, 3.0 };
    double g[DD + 2], gs[DD + 2], v, vs, se, more;
    const double amp = 1.1, noise = 0.2;
    struct nmll_slq_opts o = { .rank = 16, .probes = 100, .rtol = 1e-9, .seed = 3 };
    struct source_array src;
    struct kernel k;
    struct fop_opts fo = { .precision = PREC_DOUBLE };
    size_t its;

    draw(X, y);
    source_array_init(&src, X, DN, DD, DD);
    ck_assert_int_eq(kernel_parse("matern(nu=3/2,ard=3)", &k, set, NULL), ST_OK);
    struct featmap *map = featmap_new(&k, DD, M, 5, NULL);
    struct fop *f = fop_new(backend_cpu(), map, &src.base, &fo, NULL);
    ck_assert_int_eq(
        nmll_features(
            f, &(struct nmll_ask){.y = y, .hp = hp, .nhp = DD, .amplitude = amp, .noise = noise},
            &(struct nmll_told){.value = &v, .grad = g}, NULL, NULL),
        ST_OK);
    ck_assert_int_eq(
        nmll_slq(f,
                 &(struct nmll_ask){.y = y, .hp = hp, .nhp = DD, .amplitude = amp, .noise = noise},
                 &o, &(struct nmll_told){.value = &vs, .se = &se, .grad = gs, .iterations = &its},
                 NULL, NULL),
        ST_OK);
    ck_assert(se > 0.0 && its > 3);
    ck_assert_double_le(fabs(vs - v), 3.5 * se);
    ck_assert_double_le(se, 0.05 * (double)DN);
    o.probes = 2000;
    ck_assert_int_eq(
        nmll_slq(f,
                 &(struct nmll_ask){.y = y, .hp = hp, .nhp = DD, .amplitude = amp, .noise = noise},
                 &o, &(struct nmll_told){.value = &vs, .se = &more, .grad = gs, .iterations = &its},
                 NULL, NULL),
        ST_OK);
    ck_assert_double_le(fabs(vs - v), 3.5 * more);
    ck_assert_double_le(fabs(more / se - sqrt(100.0 / 2000.0)), 0.35 * sqrt(100.0 / 2000.0));
    for (size_t i = 0; i < DD + 2; i++) /* Monte Carlo: each trace is a mean over 2000 probes */
        ck_assert_double_le(fabs(gs[i] - g[i]), 0.03 * (5.0 + fabs(g[i])));
    o.probes = 10;
    o.rank = 64; /* half of the columns: the rest of the spectrum is noise */
    ck_assert_int_eq(
        nmll_slq(f,
                 &(struct nmll_ask){.y = y, .hp = hp, .nhp = DD, .amplitude = amp, .noise = noise},
                 &o, &(struct nmll_told){.value = &vs, .se = &more}, NULL, NULL),
        ST_OK);
    ck_assert_double_le(fabs(vs - v), 3.5 * more);
    ck_assert_double_le(more, se);
    /* A preconditioner kept from a setting nearby is worth its own first pass. */
    struct precond *kept = NULL;
    o.kept = &kept;
    const double near[DD] = { 0.9 * hp[0], hp[1], 1.1 * hp[2] };
    ck_assert_int_eq(
        nmll_slq(
            f, &(struct nmll_ask){.y = y, .hp = near, .nhp = DD, .amplitude = amp, .noise = noise},
            &o, &(struct nmll_told){.value = &vs, .se = &se}, NULL, NULL),
        ST_OK);
    ck_assert_ptr_nonnull(kept);
    ck_assert_int_eq(
        nmll_slq(f,
                 &(struct nmll_ask){.y = y, .hp = hp, .nhp = DD, .amplitude = amp, .noise = noise},
                 &o, &(struct nmll_told){.value = &vs, .se = &se}, NULL, NULL),
        ST_OK);
    ck_assert_double_le(fabs(vs - v), 3.5 * se);
    ck_assert_double_le(se, 1.5 * more);
    precond_free(kept);
    fop_free(f);
    featmap_free(map);
}
END_TEST

/* What each probe says, exactly: n'log(P^-1/2 A P^-1/2)n / n'n by an eigendecomposition, with the
 * same preconditioner and probes; and the traces of the gradients, c'A^-1 P^-1 c with c = P^1/2 n.
 */
START_TEST(each_probe_is_exact)
{
    enum { M = 64, PROBES = 4 };
    const double amp = 1.1, noise = 0.2, ratio = noise * noise / (amp * amp);
    double X[DN * DD], y[DN], set[KERNEL_MAX_HP], hp[DD] = { 0.8, 1.5, 3.0 };
    double *A = malloc(5 * M * M * sizeof *A), *C = A + M * M, *R = C + M * M, *W = R + M * M;
    double *S = W + M * M;
    double b[M], w[M], th[M], terms[PROBES], v, se, g[DD + 2], trace = 0.0, yty;
    struct nmll_slq_opts o = {.rank = 12,
                              .probes = PROBES,
                              .rtol = 1e-13,
                              .probe_rtol = 1e-13,
                              .seed = 3,
                              .terms = terms};
    const struct precond_opts po = { .rank = o.rank, .seed = o.seed };
    struct fop_opts fo = { .precision = PREC_DOUBLE };
    struct source_array src;
    struct precond *p;
    struct kernel k;

    draw(X, y);
    source_array_init(&src, X, DN, DD, DD);
    ck_assert_int_eq(kernel_parse("matern(nu=3/2,ard=3)", &k, set, NULL), ST_OK);
    struct featmap *map = featmap_new(&k, DD, M, 5, NULL);
    struct fop *f = fop_new(backend_cpu(), map, &src.base, &fo, NULL);
    ck_assert_int_eq(
        nmll_slq(f,
                 &(struct nmll_ask){.y = y, .hp = hp, .nhp = DD, .amplitude = amp, .noise = noise},
                 &o, &(struct nmll_told){.value = &v, .se = &se, .grad = g}, NULL, NULL),
        ST_OK);

    ck_assert_int_eq(precond_find("srht2", NULL)->build(SOLVE_RIDGE(f, 0.0), &po, NULL, &p, NULL),
                     ST_OK);
    precond_set_noise(p, ratio);
    ck_assert_int_eq(fop_gram(f, y, A, b, &yty, NULL, NULL), ST_OK);
    for (size_t j = 0; j < M; j++) {
        A[j + j * M] += ratio;
        for (size_t i = 0; i < M; i++) {
            A[i + j * M] = i < j ? A[j + i * M] : A[i + j * M];
            S[i + j * M] = i == j;
        }
    }
    ck_assert_int_eq(precond_sqrt(p, NULL, M, S, R, NULL), ST_OK);
    memcpy(S, R, M * M * sizeof *S); /* P^1/2; R becomes P^-1 P^1/2 */
    ck_assert_int_eq(precond_apply(p, NULL, M, S, R, NULL), ST_OK);
    blas_dgemm1(false, false, M, M, M, 1.0, A, M, R, M, 0.0, C, M);
    blas_dgemm1(true, false, M, M, M, 1.0, R, M, C, M, 0.0, W, M);
    ck_assert_int_eq(blas_dsyevd(M, W, M, th, true, NULL), ST_OK);
    memcpy(C, A, M * M * sizeof *C);
    ck_assert_int_eq(blas_dpotrf(NULL, M, C, M, NULL, NULL, NULL), ST_OK);
    for (size_t q = 0; q < PROBES; q++) {
        double n[M], c[M], d[M], log_form = 0.0;
        for (size_t i = 0; i < M; i++)
            n[i] = rng_normal(o.seed, rng_stream(RNG_PROBE, (uint32_t)q), i);
        for (size_t i = 0; i < M; i++)
            log_form += pow(blas_ddot(M, W + i * M, n), 2.0) * log(th[i]);
        log_form /= blas_ddot(M, n, n);
        ck_assert_double_eq_tol(terms[q], 0.5 * M * log_form, 1e-8 * M * fabs(log_form));
        ck_assert_int_eq(precond_sqrt(p, NULL, 1, n, c, NULL), ST_OK);
        ck_assert_int_eq(precond_apply(p, NULL, 1, c, d, NULL), ST_OK);
        ck_assert_int_eq(blas_dtrsm(NULL, false, M, 1, C, M, c, M, NULL), ST_OK);
        ck_assert_int_eq(blas_dtrsm(NULL, true, M, 1, C, M, c, M, NULL), ST_OK);
        trace += blas_ddot(M, c, d) / PROBES;
    }
    memcpy(w, b, sizeof w);
    ck_assert_int_eq(blas_dtrsm(NULL, false, M, 1, C, M, w, M, NULL), ST_OK);
    ck_assert_int_eq(blas_dtrsm(NULL, true, M, 1, C, M, w, M, NULL), ST_OK);
    const double ww = blas_ddot(M, w, w), rr = yty - blas_ddot(M, b, w) - ratio * ww;
    ck_assert(near_rel(g[DD], -ww / (amp * amp) + M - ratio * trace, 1e-7));
    ck_assert(near_rel(g[DD + 1], -rr / (noise * noise) + ((double)DN - M) + ratio * trace, 1e-7));
    precond_free(p);
    fop_free(f);
    featmap_free(map);
    free(A);
}
END_TEST

/* Further probes of a few steps: the error wanted is reached for less work than as many whole
 * probes, it is the true one over seeds, and the work has a limit. */
START_TEST(further_probes_reach_the_error)
{
    enum { M = 128, SEEDS = 24 };
    double X[DN * DD], y[DN], set[KERNEL_MAX_HP], hp[DD] = {0.8, 1.5, 3.0}, v, vs, se,
                                                  squares = 0.0;
    struct nmll_slq_opts o = { .rank = 16, .probes = 16, .rtol = 1e-9, .seed = 3 };
    struct source_array src;
    struct kernel k;
    struct fop_opts fo = { .precision = PREC_DOUBLE };
    size_t used = 0, least = SIZE_MAX;

    draw(X, y);
    source_array_init(&src, X, DN, DD, DD);
    ck_assert_int_eq(kernel_parse("matern(nu=3/2,ard=3)", &k, set, NULL), ST_OK);
    struct featmap *map = featmap_new(&k, DD, M, 5, NULL);
    struct fop *f = fop_new(backend_cpu(), map, &src.base, &fo, NULL);
    ck_assert_int_eq(
        nmll_features(
            f, &(struct nmll_ask){.y = y, .hp = hp, .nhp = DD, .amplitude = 1.1, .noise = 0.2},
            &(struct nmll_told){.value = &v}, NULL, NULL),
        ST_OK);
    ck_assert_int_eq(
        nmll_slq(f, &(struct nmll_ask){.y = y, .hp = hp, .nhp = DD, .amplitude = 1.1, .noise = 0.2},
                 &o, &(struct nmll_told){.value = &vs, .se = &se}, NULL, NULL),
        ST_OK);
    const double first = se;
    o.used = &used;
    o.error = first / 5.0;
    o.most = 100.0;
    for (uint64_t s = 1; s <= SEEDS; s++) {
        o.seed = s;
        ck_assert_int_eq(
            nmll_slq(
                f, &(struct nmll_ask){.y = y, .hp = hp, .nhp = DD, .amplitude = 1.1, .noise = 0.2},
                &o, &(struct nmll_told){.value = &vs, .se = &se}, NULL, NULL),
            ST_OK);
        ck_assert_double_le(se, 1.01 * o.error);
        ck_assert_double_gt(se, 0.3 * o.error);
        ck_assert_double_le(fabs(vs - v), 4.0 * se);
        squares += (vs - v) * (vs - v) / (se * se) / SEEDS;
        least = used < least ? used : least;
    }
    ck_assert_uint_gt(least, 16 * 8); /* 25 times fewer variance */
    ck_assert(squares > 0.35 && squares < 2.1); /* chi-squared of 24: 0.1 % and 99.9 % */
    o.most = 1.0;
    o.error = first / 100.0;
    ck_assert_int_eq(
        nmll_slq(f, &(struct nmll_ask){.y = y, .hp = hp, .nhp = DD, .amplitude = 1.1, .noise = 0.2},
                 &o, &(struct nmll_told){.value = &vs, .se = &se}, NULL, NULL),
        ST_OK);
    ck_assert(se > o.error && se < first);
    ck_assert_double_le(fabs(vs - v), 4.0 * se);
    o.error = 2.0 * first; /* good enough as it is */
    ck_assert_int_eq(
        nmll_slq(f, &(struct nmll_ask){.y = y, .hp = hp, .nhp = DD, .amplitude = 1.1, .noise = 0.2},
                 &o, &(struct nmll_told){.value = &vs, .se = &se}, NULL, NULL),
        ST_OK);
    ck_assert_uint_eq(used, 16);
    fop_free(f);
    featmap_free(map);
}
END_TEST

/* The error of a difference, from what each of the common probes says of it: as large as
 * differences over many seeds are off, and far less than the error of each value. */
START_TEST(errors_of_differences)
{
    enum { M = 128, PROBES = 16, SEEDS = 40 };
    double X[DN * DD], y[DN], set[KERNEL_MAX_HP], hp[2][DD] = {{0.8, 1.5, 3.0}, {0.84, 1.45, 3.1}};
    double v[2], at[2], se[2], terms[2][PROBES], rms = 0.0, share = 0.0;
    struct nmll_slq_opts o = { .rank = 16, .probes = PROBES, .rtol = 1e-9 };
    struct source_array src;
    struct kernel k;
    struct fop_opts fo = { .precision = PREC_DOUBLE };

    /* share/doc/methods.md 10.6: differences 1, 0, 3 have squared deviations 14/3 from 4/3. */
    const double a[] = { 1.0, 2.0, 4.0 }, b[] = { 0.0, 2.0, 1.0 };
    ck_assert_double_eq_tol(nmll_slq_difference(3, a, b), sqrt(14.0 / 3.0 / (3.0 * 2.0)), 1e-15);
    draw(X, y);
    source_array_init(&src, X, DN, DD, DD);
    ck_assert_int_eq(kernel_parse("matern(nu=3/2,ard=3)", &k, set, NULL), ST_OK);
    struct featmap *map = featmap_new(&k, DD, M, 5, NULL);
    struct fop *f = fop_new(backend_cpu(), map, &src.base, &fo, NULL);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(
            nmll_features(
                f,
                &(struct nmll_ask){.y = y, .hp = hp[i], .nhp = DD, .amplitude = 1.1, .noise = 0.2},
                &(struct nmll_told){.value = &v[i]}, NULL, NULL),
            ST_OK);
    for (uint64_t s = 1; s <= SEEDS; s++) {
        o.seed = s;
        for (size_t i = 0; i < 2; i++) {
            o.terms = terms[i];
            ck_assert_int_eq(
                nmll_slq(f,
                         &(struct nmll_ask){
                             .y = y, .hp = hp[i], .nhp = DD, .amplitude = 1.1, .noise = 0.2},
                         &o, &(struct nmll_told){.value = &at[i], .se = &se[i]}, NULL, NULL),
                ST_OK);
        }
        const double error = nmll_slq_difference(PROBES, terms[0], terms[1]);
        ck_assert(error > 0.0);
        rms += pow((at[0] - at[1] - (v[0] - v[1])) / error, 2) / SEEDS;
        share += error / se[0] / SEEDS;
    }
    ck_assert_double_le(share, 0.5);
    ck_assert_double_ge(sqrt(rms), 0.7); /* Student's t of 15: 1.07; 40 of them +- 0.12, at 3 sd */
    ck_assert_double_le(sqrt(rms), 1.5);
    fop_free(f);
    featmap_free(map);
}
END_TEST

/* Error of predicting a target at z by ridge regression on all rows but one, by elimination. */
static double ridge_error(const double *Z, size_t n, size_t M, const double *y, double ratio,
                          size_t without, const double *z, double target)
{
    double *A = malloc(M * (M + 1) * sizeof *A), e = target;

    ck_assert_ptr_nonnull(A);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j <= M; j++) {
            double s = i == j ? ratio : 0.0;
            for (size_t r = 0; r < n; r++)
                s += r == without ? 0.0 : Z[r * M + i] * (j < M ? Z[r * M + j] : y[r]);
            A[i * (M + 1) + j] = s;
        }
    for (size_t c = 0; c < M; c++)
        for (size_t i = 0; i < M; i++) {
            const double l = i == c ? 0.0 : A[i * (M + 1) + c] / A[c * (M + 1) + c];
            for (size_t j = c; l != 0.0 && j <= M; j++)
                A[i * (M + 1) + j] -= l * A[c * (M + 1) + j];
        }
    for (size_t c = 0; c < M; c++)
        e -= z[c] * A[c * (M + 1) + M] / A[c * (M + 1) + c];
    free(A);
    return e;
}

/* Mean squared error of predicting each row from all others. */
static double refit_mse(const double *Z, size_t n, size_t M, const double *y, double ratio)
{
    double sum = 0.0;

    for (size_t out = 0; out < n; out++)
        sum += pow(ridge_error(Z, n, M, y, ratio, out, Z + out * M, y[out]), 2.0);
    return sum / (double)n;
}

/* Leave-one-out errors from one spectrum against as many refits as there are rows; at a fixed
 * ratio, and where it chooses the ratio itself. */
START_TEST(leave_one_out)
{
    enum { N = 30 };
    const size_t M = _i ? 50 : 14;
    double *Z = malloc(N * M * sizeof *Z), y[N], mse, nmll, a, s, v;

    for (size_t i = 0; i < N * M; i++)
        Z[i] = rng_normal(5, rng_stream(RNG_TEST, 7), i) / sqrt((double)M);
    for (size_t i = 0; i < N; i++) {
        y[i] = 0.4 * rng_normal(5, rng_stream(RNG_TEST, 8), i);
        for (size_t c = 0; c < 5; c++)
            y[i] += Z[i * M + c];
    }
    struct fop *f = fop_dense_for_tests(Z, N, M, M, NULL, NULL);
    const double one[2] = { 1, 1 }, noise[2] = { 0.3, 0.3 };
    ck_assert_int_eq(
        nmll_loo(f,
                 &(struct nmll_ask){
                     .y = y,
                     .scale = NMLL_BEST,
                     .within = &(struct nmll_bounds){{one[0], one[1]}, {noise[0], noise[1]}}},
                 NULL, NULL,
                 &(struct nmll_told){.mse = &mse, .value = &nmll, .amplitude = &a, .noise = &s},
                 NULL, NULL),
        ST_OK);
    ck_assert(near_rel(mse, refit_mse(Z, N, M, y, 0.09), 1e-9));
    ck_assert_double_eq_tol(a, 1.0, 1e-12);
    ck_assert_double_eq_tol(s, 0.3, 1e-12);
    ck_assert_int_eq(nmll_features(f, &(struct nmll_ask){.y = y, .amplitude = a, .noise = s},
                                   &(struct nmll_told){.value = &v}, NULL, NULL),
                     ST_OK);
    ck_assert(near_rel(nmll, v, 1e-9));

    const double ab[2] = { 0.01, 100 }, nb[2] = { 1e-3, 100 };
    ck_assert_int_eq(
        nmll_loo(
            f,
            &(struct nmll_ask){.y = y,
                               .scale = NMLL_BEST,
                               .within = &(struct nmll_bounds){{ab[0], ab[1]}, {nb[0], nb[1]}}},
            NULL, NULL,
            &(struct nmll_told){.mse = &mse, .value = &nmll, .amplitude = &a, .noise = &s}, NULL,
            NULL),
        ST_OK);
    const double ratio = s * s / (a * a);
    ck_assert(near_rel(mse, refit_mse(Z, N, M, y, ratio), 1e-9));
    /* least within the bounds, up to where the search ends on a plateau */
    ck_assert_double_le(mse, refit_mse(Z, N, M, y, ratio * 1.5) * (1.0 + 1e-4));
    ck_assert_double_le(mse, refit_mse(Z, N, M, y, ratio / 1.5) * (1.0 + 1e-4));

    /* The last 8 rows kept for validation. */
    enum { V = 8 };
    struct fop *train = fop_dense_for_tests(Z, N - V, M, M, NULL, NULL);
    struct fop *valid = fop_dense_for_tests(Z + (N - V) * M, V, M, M, NULL, NULL);
    double want = 0.0;
    for (size_t i = N - V; i < N; i++)
        want += pow(ridge_error(Z, N - V, M, y, 0.09, N, Z + i * M, y[i]), 2.0) / V;
    ck_assert_int_eq(
        nmll_loo(train,
                 &(struct nmll_ask){
                     .y = y,
                     .scale = NMLL_BEST,
                     .within = &(struct nmll_bounds){{one[0], one[1]}, {noise[0], noise[1]}}},
                 valid, y + N - V,
                 &(struct nmll_told){.mse = &mse, .value = &nmll, .amplitude = &a, .noise = &s},
                 NULL, NULL),
        ST_OK);
    ck_assert(near_rel(mse, want, 1e-9));
    fop_free(train);
    fop_free(valid);
    fop_free(f);
    free(Z);
}
END_TEST

/* A row of weight 2 is the same row twice, but for the density of the difference of the two, which
 * is 0: N(y1; f, s2) N(y2; f, s2) = N(y; f, s2/2) / (2 s sqrt(pi)), s the noise. */
START_TEST(weights_are_repetitions)
{
    enum { N = 40, D = 2, M = 32 };
    double X[2 * N * D], y[2 * N], yw[N], scale[N], v[2], g[2][3], hp = 0.8;
    const double amp = 1.2, noise = 0.3;
    struct source_array src[2];
    struct kernel k;
    double set[KERNEL_MAX_HP], logs = 0.0;
    size_t n = N;

    ck_assert_int_eq(kernel_parse("matern(nu=5/2)", &k, set, NULL), ST_OK);
    for (size_t i = 0; i < N * D; i++)
        X[i] = 2.0 * rng_uniform(6, 1, i) - 1.0;
    for (size_t i = 0; i < N; i++) {
        y[i] = sin(3.0 * X[i * D]) + 0.3 * rng_normal(6, 2, i);
        scale[i] = i % 2 ? 1.0 : sqrt(2.0);
        yw[i] = scale[i] * y[i];
        logs += log(scale[i]);
        if (i % 2)
            continue;
        memcpy(X + n * D, X + i * D, D * sizeof *X);
        y[n++] = y[i];
    }
    source_array_init(&src[0], X, N, D, D);
    src[0].base.row_scale = scale;
    source_array_init(&src[1], X, n, D, D);
    struct featmap *map = featmap_new(&k, D, M, 3, NULL);
    for (int s = 0; s < 2; s++) {
        const double *t = s ? y : yw;
        if (_i == 0) {
            ck_assert_int_eq(
                nmll_exact(&k, &src[s].base,
                           &(struct nmll_ask){.y = t, .hp = &hp, .amplitude = amp, .noise = noise},
                           &(struct nmll_told){.value = &v[s], .grad = g[s]}, NULL, NULL, NULL),
                ST_OK);
            continue;
        }
        const struct fop_opts fo = { .precision = PREC_DOUBLE,
                                     .row_scale = src[s].base.row_scale };
        struct fop *f = fop_new(backend_cpu(), map, &src[s].base, &fo, NULL);
        ck_assert_ptr_nonnull(f);
        ck_assert_int_eq(
            nmll_features(
                f,
                &(struct nmll_ask){.y = t, .hp = &hp, .nhp = 1, .amplitude = amp, .noise = noise},
                &(struct nmll_told){.value = &v[s], .grad = g[s]}, NULL, NULL),
            ST_OK);
        fop_free(f);
    }
    const double twice = (double)(n - N);
    ck_assert(near_rel(v[0] - logs + twice * log(2.0 * noise * sqrt(M_PI)), v[1], 1e-9));
    ck_assert(near_rel(g[0][0], g[1][0], 1e-7));
    ck_assert(near_rel(g[0][1], g[1][1], 1e-7));
    ck_assert(near_rel(g[0][2] + twice, g[1][2], 1e-7));
    featmap_free(map);
}
END_TEST

START_TEST(refuses_nonsense)
{
    struct fs fs = fs_open(0);
    double v;
    struct err err;

    ck_assert_int_eq(nmll_features(fs.f,
                                   &(struct nmll_ask){.y = fs.y, .amplitude = 0.0, .noise = 0.1},
                                   &(struct nmll_told){.value = &v}, NULL, &err),
                     ST_RANGE);
    ck_assert_int_eq(nmll_features(fs.f,
                                   &(struct nmll_ask){.y = fs.y, .amplitude = 1.0, .noise = NAN},
                                   &(struct nmll_told){.value = &v}, NULL, &err),
                     ST_RANGE);
    ck_assert_int_eq(exact_allowed(50000, 1, (size_t)1 << 34, &err), ST_LIMIT);
    ck_assert_ptr_nonnull(strstr(err.msg, "50,000 rows needs"));
    ck_assert_int_eq(exact_allowed(50000, 1, (size_t)20000000000, &err), ST_OK); /* 8 n^2 bytes */
    ck_assert_int_eq(exact_allowed(1000, 2, 1 << 20, &err), ST_LIMIT);
    ck_assert_int_eq(exact_allowed(1000, 2, 0, &err), ST_OK);
    fs_close(&fs);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("nmll");
    TCase *t = tcase_create("nmll");

    support_need("golden/fs_Z.csv");
    blas_init();
    tcase_set_timeout(t, 120);
    tcase_add_test(t, grid_agrees);
    tcase_add_test(t, spectrum_agrees);
    tcase_add_test(t, gradient_is_golden);
    tcase_add_test(t, profile_and_joint_optimum);
    tcase_add_test(t, bounds_hold);
    tcase_add_test(t, rank_deficient);
    tcase_add_test(t, indefinite_is_refused);
    tcase_add_loop_test(t, exact_is_golden, 0, 3);
    tcase_add_loop_test(t, exact_at_golden_optimum_is_flat, 0, 3);
    tcase_add_loop_test(t, features_gradient_and_value, 0, 5);
    tcase_add_loop_test(t, fewer_rows_than_columns, 0, 3);
    tcase_add_loop_test(t, leave_one_out, 0, 2);
    tcase_add_test(t, ard_gradient_in_single_precision);
    tcase_add_loop_test(t, ard_gradient, 0, 9);
    tcase_add_test(t, quadrature_agrees);
    tcase_add_test(t, each_probe_is_exact);
    tcase_add_test(t, errors_of_differences);
    tcase_add_test(t, further_probes_reach_the_error);
    tcase_add_loop_test(t, weights_are_repetitions, 0, 2);
    tcase_add_test(t, refuses_nonsense);
    suite_add_tcase(s, t);
    return support_run(s);
}
