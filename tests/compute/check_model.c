/* tests/compute/check_model.c -- fits and predictions: golden values, a dense long double formula,
 * Monte Carlo bounds of drawn features, the same bits for any thread count and after a rebuild. */
#include "compute/backend.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/models/model.h"
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

static bool near_rel(double a, double b, double tol)
{
    return fabs(a - b) <= tol * fmax(fabs(a), fabs(b)) + 1e-300;
}

static struct kernel parse(const char *text)
{
    struct kernel k;
    double set[KERNEL_MAX_HP];
    ck_assert_int_eq(kernel_parse(text, &k, set, NULL), ST_OK);
    return k;
}

/* A fit whose amplitude and noise stay as given. */
static struct fit_opts options(const char *kernel, const char *solver, size_t features)
{
    struct fit_opts o = { .solver = solver, .features = features, .rtol = 1e-8, .maxit = 500,
                          .seed = 3, .kernel = parse(kernel), .amplitude = 1.0, .noise = 0.1,
                          .keep_scale = true };
    o.hp[0] = 1.0;
    return o;
}

static struct model *fit(const struct source *src, const double *y, const struct fit_opts *o,
                         struct pool *pool, struct fit_info *info)
{
    struct model *m = NULL;
    struct err err = { 0 };
    const enum status rc =
        model_fit(src, y, o, &(struct tools){backend_cpu(), pool, NULL}, &m, info, NULL, &err);
    ck_assert_msg(rc == ST_OK, "%s", err.msg);
    return m;
}

/* Golden: exact GP. */

static const char *const gp_kernel[] = { "rbf", "matern(nu=3/2)", "matern(nu=5/2)" };
static const char *const gp_name[] = { "rbf", "mat32", "mat52" };

START_TEST(exact_predictions_are_golden)
{
    size_t n, d, nt, r, c;
    char name[40];
    double *X = support_golden("gp_X", &n, &d), *y = support_golden("gp_y", &r, &c);
    double *Xt = support_golden("gp_Xtest", &nt, &d);
    struct source_array src, test;
    struct fit_info info;
    struct fit_opts o = options(gp_kernel[_i], "exact", 0);

    source_array_init(&src, X, n, d, d);
    source_array_init(&test, Xt, nt, d, d);
    o.hp[0] = 1.0 / 0.9;
    o.amplitude = sqrt(1.7);
    o.noise = sqrt(0.05);
    struct model *m = fit(&src.base, y, &o, NULL, &info);
    ck_assert_int_eq(info.why, OUT_DIRECT);
    snprintf(name, sizeof name, "gp_alpha_%s", gp_name[_i]);
    double *alpha = support_golden(name, &r, &c);
    for (size_t i = 0; i < n; i++) /* ours is at amplitude 1 */
        ck_assert_double_le(fabs(m->w[i] / 1.7 - alpha[i]), 1e-10 * (1.0 + fabs(alpha[i])));
    snprintf(name, sizeof name, "gp_pred_%s", gp_name[_i]);
    double *want = support_golden(name, &r, &c), mean[64], var[64];
    ck_assert_uint_eq(r, nt);
    ck_assert_int_eq(
        model_predict(m, &test.base, mean, var, &(struct tools){backend_cpu(), NULL, NULL}, NULL),
        ST_OK);
    for (size_t i = 0; i < nt; i++) {
        ck_assert_double_le(fabs(mean[i] - want[i * c]), 1e-10 * (1.0 + fabs(want[i * c])));
        ck_assert(near_rel(var[i], want[i * c + 1], 1e-9));
        ck_assert(near_rel(var[i] + m->noise * m->noise, want[i * c + 2], 1e-10));
    }
    model_unref(m);
    free(X), free(y), free(Xt), free(alpha), free(want);
}
END_TEST

/* Golden: a given feature matrix. */

/* var_f = lam2 |L^-1 z|^2 for one row; destroys z. */
static double variance_of(const double *L, size_t M, double lam2, double *z)
{
    ck_assert_int_eq(blas_dtrsm(NULL, false, M, 1, L, M, z, M, NULL), ST_OK);
    return lam2 * blas_ddot(M, z, z);
}

START_TEST(feature_weights_are_golden)
{
    size_t n, M, nt, r, c;
    double *Z = support_golden("fs_Z", &n, &M), *y = support_golden("fs_y", &r, &c);
    double *Zt = support_golden("fs_Zstar", &nt, &c), *w = support_golden("fs_w", &r, &c);
    double *pred = support_golden("fs_pred", &r, &c);
    struct fop *f = fop_dense_for_tests(Z, n, M, M, NULL, NULL);
    double b[64];
    struct gram_factor g = { .ratio = 0.03, .b = b };

    ck_assert_int_eq(model_factor(f, 1, y, &g, NULL, NULL), ST_OK);
    ck_assert(g.jitter == 0.0);
    double *L = g.L;
    blas_dtrsm(NULL, false, M, 1, L, M, b, M, NULL);
    blas_dtrsm(NULL, true, M, 1, L, M, b, M, NULL);
    for (size_t i = 0; i < M; i++)
        ck_assert(near_rel(b[i], w[i], 1e-10));
    for (size_t i = 0; i < nt; i++) {
        ck_assert(near_rel(blas_ddot(M, Zt + i * M, w), pred[i * 2], 1e-10));
        ck_assert(near_rel(variance_of(L, M, 0.03, Zt + i * M), pred[i * 2 + 1], 1e-10));
    }
    free(L);
    fop_free(f);
    free(Z), free(y), free(Zt), free(w), free(pred);
}
END_TEST

START_TEST(prefix_variance_is_golden)
{
    size_t n, M, nt, r, c;
    double *Z = support_golden("fs_Z", &n, &M), *Zt = support_golden("fs_Zstar", &nt, &c);
    double *want = support_golden("fs_var12", &r, &c);
    struct fop *f = fop_dense_for_tests(Z, n, 12, M, NULL, NULL);

    struct gram_factor g = { .ratio = 0.03 };
    ck_assert_int_eq(model_factor(f, 1, NULL, &g, NULL, NULL), ST_OK);
    double *L = g.L;
    for (size_t i = 0; i < nt; i++)
        ck_assert(near_rel(variance_of(L, 12, 0.03, Zt + i * M), want[i], 1e-10));
    free(L);
    fop_free(f);
    free(Z), free(Zt), free(want);
}
END_TEST

START_TEST(effective_dimension_is_golden)
{
    size_t n, M, r, c;
    double *Z = support_golden("fs_Z", &n, &M), *ev = support_golden("fs_eig", &r, &c);
    double effdim, want = 0.0;
    struct fop *f = fop_dense_for_tests(Z, n, M, M, NULL, NULL);

    struct gram_factor g = { .ratio = 0.03 };
    ck_assert_int_eq(model_factor(f, 1, NULL, &g, NULL, NULL), ST_OK);
    double *L = g.L;
    ck_assert_int_eq(model_effdim(NULL, M, L, 0.03, &effdim, NULL, NULL), ST_OK);
    for (size_t i = 0; i < r; i++)
        want += ev[i] / (ev[i] + 0.03);
    ck_assert(near_rel(effdim, want, 1e-10));
    free(L);
    fop_free(f);
    free(Z), free(ev);
}
END_TEST

/* The half's effective dimension is that of its columns, with the variance of all. */
START_TEST(half_is_rescaled)
{
    enum { N2 = 300, M2 = 128 };
    double *Z = malloc(N2 * M2 * sizeof *Z), half, own;

    for (size_t i = 0; i < N2 * M2; i++)
        Z[i] = rng_normal(8, rng_stream(RNG_TEST, 4), i) * exp(-0.02 * (double)(i % M2));
    struct fop *f = fop_dense_for_tests(Z, N2, M2, M2, NULL, NULL);
    struct gram_factor g = { .ratio = 0.02 };
    ck_assert_int_eq(model_factor(f, 1, NULL, &g, NULL, NULL), ST_OK);
    double *L = g.L;
    ck_assert_int_eq(model_effdim_half(NULL, M2, L, 0.02, &half, NULL, NULL), ST_OK);
    fop_free(f);
    for (size_t i = 0; i < N2 * M2; i++)
        Z[i] *= sqrt(2.0);
    f = fop_dense_for_tests(Z, N2, M2 / 2, M2, NULL, NULL);
    struct gram_factor h = { .ratio = 0.02 };
    ck_assert_int_eq(model_factor(f, 1, NULL, &h, NULL, NULL), ST_OK);
    double *H = h.L;
    ck_assert_int_eq(model_effdim(NULL, M2 / 2, H, 0.02, &own, NULL, NULL), ST_OK);
    ck_assert(near_rel(half, own, 1e-9));
    fop_free(f);
    free(L), free(H), free(Z);
}
END_TEST

/* A Gram that is no Gram: the factor is found with a jitter, and the jitter is told. */
START_TEST(indefinite_gram_gets_jitter)
{
    enum { N = 6, M = 12 }; /* rank 6 of 12: singular without noise */
    double Z[N * M];
    for (size_t i = 0; i < N * M; i++)
        Z[i] = rng_normal(1, rng_stream(RNG_TEST, 9), i);
    struct fop *f = fop_dense_for_tests(Z, N, M, M, NULL, NULL);
    struct gram_factor g = { .ratio = 0.0 };
    ck_assert_int_eq(model_factor(f, 1, NULL, &g, NULL, NULL), ST_OK);
    double *L = g.L;
    ck_assert(g.jitter > 0.0 && g.jitter < 1e-4);
    free(L);
    fop_free(f);
}
END_TEST

/* The big problem of golden/README.md. */

enum { BN = 1500, BD = 4, BT = 50 };
struct big { double *X, *y, *Xt; struct source_array src, test; };

static double big_truth(const double *x)
{
    return sin(6 * x[0]) + 4 * (x[1] - .5) * (x[1] - .5) + x[2] * x[3];
}

static struct big big_make(void)
{
    struct big b = { .X = malloc(BN * BD * 8), .y = malloc(BN * 8), .Xt = malloc(BT * BD * 8) };
    struct splitmix g;

    ck_assert(b.X && b.y && b.Xt);
    splitmix_init(&g, 2003);
    for (size_t i = 0; i < BN * BD; i++)
        b.X[i] = splitmix_uniform(&g);
    for (size_t i = 0; i < BN; i++)
        b.y[i] = big_truth(b.X + i * BD) + 0.1 * splitmix_normal(&g);
    for (size_t i = 0; i < BT * BD; i++)
        b.Xt[i] = splitmix_uniform(&g);
    const struct { const char *key; double is; } ends[] = {
        { "x00", b.X[0] },   { "x01", b.X[1] },         { "xlast", b.X[BN * BD - 1] },
        { "y0", b.y[0] },    { "ylast", b.y[BN - 1] },
        { "xt0", b.Xt[0] },  { "xtlast", b.Xt[BT * BD - 1] },
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        ck_assert_msg(
            near_rel(ends[i].is, support_golden_scalar("big_scalars", ends[i].key), 1e-12), "%s",
            ends[i].key);
    source_array_init(&b.src, b.X, BN, BD, BD);
    source_array_init(&b.test, b.Xt, BT, BD, BD);
    return b;
}

static void big_free(struct big *b)
{
    free(b->X), free(b->y), free(b->Xt);
}

/* The matrix itself, by its own factor and eigenvalues: 0.01 on the diagonal. */
static void big_matrix_is_golden(const struct big *b, const struct kernel *k, const double *hp,
                                 const char *name, struct pool *pool)
{
    double *K = malloc(sizeof *K * BN * BN), *F = malloc(sizeof *F * BN * BN),
           *a = malloc(sizeof *a * BN);
    double *w = malloc(sizeof *w * BN), logdet = 0.0;
    char key[40];

    ck_assert(K && F && a && w);
    ck_assert_int_eq(
        exact_matrix(
            &(struct exact_rows){.k = k, .hp = hp, .X = b->X, .n = BN, .d = BD, .pool = pool}, 0.01,
            K, NULL, NULL),
        ST_OK);
    memcpy(F, K, sizeof *F * BN * BN);
    memcpy(a, b->y, sizeof *a * BN);
    ck_assert_int_eq(blas_dpotrf(pool, BN, F, BN, NULL, NULL, NULL), ST_OK);
    for (size_t i = 0; i < BN; i++)
        logdet += 2.0 * log(F[i + i * BN]);
    ck_assert_int_eq(blas_dtrsm(pool, false, BN, 1, F, BN, a, BN, NULL), ST_OK);
    ck_assert_int_eq(blas_dtrsm(pool, true, BN, 1, F, BN, a, BN, NULL), ST_OK);
    ck_assert_int_eq(blas_dsyevd(BN, K, BN, w, false, NULL), ST_OK);
    const struct { const char *what; double is; } found[] = {
        { "logdet", logdet },
        { "y_Kinv_y", blas_ddot(BN, b->y, a) },
        { "alpha_norm2", blas_ddot(BN, a, a) },
        { "eigmin", w[0] },
        { "eigmax", w[BN - 1] },
    };
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        snprintf(key, sizeof key, "%s_%s", found[i].what, name);
        ck_assert_msg(near_rel(found[i].is, support_golden_scalar("big_scalars", key), 1e-8),
                      "%s: %.17g", key, found[i].is);
    }
    free(K), free(F), free(a), free(w);
}

START_TEST(big_exact_is_golden)
{
    struct big b = big_make();
    struct pool *pool = pool_new(2, NULL);
    struct fit_info info;
    size_t r, c;
    double mean[BT], var[BT], nmll;
    const char *name = _i ? "mat32" : "rbf";
    char key[40];
    struct fit_opts o = options(_i ? "matern(nu=3/2)" : "rbf", "exact", 0);

    o.hp[0] = 0.5;
    struct model *m = fit(&b.src.base, b.y, &o, pool, &info);
    snprintf(key, sizeof key, "big_pred_%s", name);
    double *want = support_golden(key, &r, &c);
    ck_assert_int_eq(
        model_predict(m, &b.test.base, mean, var, &(struct tools){backend_cpu(), pool, NULL}, NULL),
        ST_OK);
    for (size_t i = 0; i < BT; i++) {
        ck_assert_double_le(fabs(mean[i] - want[i * c]), 1e-8 * (1.0 + fabs(want[i * c])));
        ck_assert_double_le(fabs(var[i] - want[i * c + 1]), 1e-8 * want[i * c + 1] + 1e-12);
    }
    snprintf(key, sizeof key, "neff_%s", name);
    ck_assert(near_rel(info.effective_dimension, support_golden_scalar("big_scalars", key), 1e-8));
    snprintf(key, sizeof key, "nmll_%s", name);
    ck_assert_int_eq(
        nmll_exact(&m->kernel, &b.src.base,
                   &(struct nmll_ask){.y = b.y, .hp = m->hp, .amplitude = 1.0, .noise = 0.1},
                   &(struct nmll_told){.value = &nmll}, pool, NULL, NULL),
        ST_OK);
    ck_assert(near_rel(nmll, support_golden_scalar("big_scalars", key), 1e-8));
    double squares = 0.0; /* against the function without its noise */
    for (size_t i = 0; i < BT; i++)
        squares += pow(mean[i] - big_truth(b.Xt + i * BD), 2.0) / BT;
    snprintf(key, sizeof key, "rmse_%s", name);
    ck_assert_msg(near_rel(sqrt(squares), support_golden_scalar("big_scalars", key), 1e-8), "%.17g",
                  sqrt(squares));
    big_matrix_is_golden(&b, &m->kernel, m->hp, name, pool);
    free(want);
    model_unref(m);
    pool_free(pool);
    big_free(&b);
}
END_TEST

/* Bounds of golden/README.md, for one fixed seed: over 24 seeds the excess of the NMLL here is 246,
 * 53 and 16 on average with a long tail at 256 features. */
START_TEST(big_features_within_bounds)
{
    static const struct { size_t M; double mean, var, nmll, mat32; } bound[] = {
        { 256, 0.06, 0.6, 220, 0.12 }, { 1024, 0.035, 0.35, 90, 0.09 },
        { 4096, 0.016, 0.18, 30, 0.075 },
    };
    struct big b = big_make();
    struct pool *pool = pool_new(2, NULL);
    size_t r, c;

    for (int mat = 0; mat < 2; mat++) {
        double *want = support_golden(mat ? "big_pred_mat32" : "big_pred_rbf", &r, &c);
        double mean[BT], var[BT], e2 = 0.0, v2 = 0.0, nmll;
        struct fit_info info;
        struct fit_opts o = options(mat ? "matern(nu=3/2)" : "rbf", "direct", bound[_i].M);
        o.seed = 4;
        o.hp[0] = 0.5;
        struct model *m = fit(&b.src.base, b.y, &o, pool, &info);
        ck_assert_int_eq(model_predict(m, &b.test.base, mean, var,
                                       &(struct tools){backend_cpu(), pool, NULL}, NULL),
                         ST_OK);
        for (size_t i = 0; i < BT; i++) {
            e2 += pow(mean[i] - want[i * c], 2) / BT;
            v2 += pow(var[i] / want[i * c + 1] - 1.0, 2) / BT;
        }
        ck_assert_double_le(sqrt(e2), mat ? bound[_i].mat32 : bound[_i].mean);
        if (!mat) {
            ck_assert_double_le(sqrt(v2), bound[_i].var);
            const struct fop_opts fo = { .pool = pool, .precision = o.precision };
            struct model_map z;
            ck_assert_int_eq(
                model_open(m, bound[_i].M, &b.src.base, &fo, backend_cpu(), &z, NULL), ST_OK);
            struct fop *f = z.f;
            ck_assert_int_eq(
                nmll_features(f,
                              &(struct nmll_ask){
                                  .y = b.y, .hp = m->hp, .nhp = 1, .amplitude = 1.0, .noise = 0.1},
                              &(struct nmll_told){.value = &nmll}, NULL, NULL),
                ST_OK);
            ck_assert_double_le(nmll - support_golden_scalar("big_scalars", "nmll_rbf"),
                                bound[_i].nmll);
            fop_free(f);
            featmap_free(z.map);
        }
        if (mat && bound[_i].M <= 1024) /* exact 1013: these features cannot hold it */
            ck_assert_str_eq(info.warning_name, "starved");
        if (!mat && bound[_i].M == 4096)
            ck_assert_str_eq(info.warning_name, "");
        free(want);
        model_unref(m);
    }
    pool_free(pool);
    big_free(&b);
}
END_TEST

/* A problem of our own. */

enum { N = 700, D = 3, T = 150 };
struct prob { double X[N * D], y[N], Xt[T * D]; struct source_array src, test; };

static struct prob *prob_make(void)
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

/* mean and var_f of an exact GP by LDL' in long double. */
static void dense_gp(const struct prob *p, size_t n, const struct kernel *k, const double *hp,
                     double amp2, double lam2, const double *xt, double *mean, double *var)
{
    long double *K = malloc(n * n * sizeof *K), *u = malloc(n * sizeof *u),
                *v = malloc(n * sizeof *v), mu = 0, vv = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            K[i * n + j] = (long double)amp2 * kernel_exact(k, hp, D, p->X + i * D, p->X + j * D,
                                                            NULL) + (i == j ? lam2 : 0.0);
        u[i] = p->y[i];
        v[i] = (long double)amp2 * kernel_exact(k, hp, D, p->X + i * D, xt, NULL);
    }
    for (size_t c = 0; c < n; c++) {
        for (size_t i = c + 1; i < n; i++) {
            const long double l = K[i * n + c] / K[c * n + c];
            for (size_t j = c + 1; j < n; j++)
                K[i * n + j] -= l * K[c * n + j];
            u[i] -= l * u[c];
            v[i] -= l * v[c];
        }
        mu += u[c] * v[c] / K[c * n + c];
        vv += v[c] * v[c] / K[c * n + c];
    }
    *mean = (double)mu;
    *var = (double)(amp2 - vv);
    free(K), free(u), free(v);
}

START_TEST(exact_agrees_with_long_double)
{
    enum { SMALL = 120 };
    static const char *const text[] = { "rbf", "matern(nu=1/2)", "matern(nu=3/2)",
                                        "matern(nu=5/2)", "cauchy" };
    struct prob *p = prob_make();
    struct fit_opts o = options(text[_i], "exact", 0);
    struct source_array src;
    struct fit_info info;
    double mean[T], var[T];

    o.amplitude = 1.3;
    o.noise = 0.05;
    source_array_init(&src, p->X, SMALL, D, D);
    struct model *m = fit(&src.base, p->y, &o, NULL, &info);
    ck_assert_int_eq(model_predict(m, &p->test.base, mean, var,
                                   &(struct tools){backend_cpu(), NULL, NULL}, NULL),
                     ST_OK);
    for (size_t i = 0; i < T; i += 37) {
        double mu, v;
        dense_gp(p, SMALL, &o.kernel, o.hp, 1.69, 0.0025, p->Xt + i * D, &mu, &v);
        ck_assert_double_le(fabs(mean[i] - mu), 1e-9 * (1.0 + fabs(mu)));
        ck_assert_double_le(fabs(var[i] - v), 1e-9);
    }
    model_unref(m);
    free(p);
}
END_TEST

/* Duplicate rows and hardly any noise: singular in double precision, fitted with a note. */
START_TEST(exact_survives_duplicates)
{
    struct prob *p = prob_make();
    struct fit_opts o = options("rbf", "exact", 0);
    struct fit_info info;
    double mean[T], var[T];

    memcpy(p->X + N / 2 * D, p->X, N / 2 * D * sizeof *p->X);
    o.noise = 1e-9;
    struct model *m = fit(&p->src.base, p->y, &o, NULL, &info);
    ck_assert_str_eq(info.warning_name, "jitter");
    ck_assert_int_eq(model_predict(m, &p->test.base, mean, var,
                                   &(struct tools){backend_cpu(), NULL, NULL}, NULL),
                     ST_OK);
    for (size_t i = 0; i < T; i++)
        ck_assert(isfinite(mean[i]) && var[i] >= 0.0);
    model_unref(m);
    free(p);
}
END_TEST

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

/* Weights, factor and predictions of a whole fit: 1, 2 and 3 threads. */
START_TEST(same_bits_for_any_thread_count)
{
    static const struct { const char *solver; size_t features, rank; enum plan plan; } way[] = {
        { "direct", 384, 0, PLAN_AUTO }, { "pcg", 384, 96, PLAN_STORE },
        { "pcg", 384, 96, PLAN_REGENERATE }, { "exact", 0, 0, PLAN_AUTO },
        { "pcg", 384, 96, PLAN_DIRECT },
    };
    struct prob *p = prob_make();
    struct model *first = NULL;
    double mean[3][T], var[3][T];

    for (size_t t = 0; t < 3; t++) {
        struct pool *pool = pool_new(t + 1, NULL);
        struct fit_opts o = options("matern(nu=3/2)", way[_i].solver, way[_i].features);
        struct fit_info info;
        o.rank = way[_i].rank;
        o.plan = way[_i].plan;
        o.keep_scale = false;
        o.variance = VAR_COUNT;
        o.variance_count = 256;
        struct model *m = fit(&p->src.base, p->y, &o, pool, &info);
        ck_assert_int_eq(model_predict(m, &p->test.base, mean[t], var[t],
                                       &(struct tools){backend_cpu(), pool, NULL}, NULL),
                         ST_OK);
        if (first == NULL) {
            first = m;
            pool_free(pool);
            continue;
        }
        ck_assert(memcmp(m->w, first->w, m->M * sizeof *m->w) == 0);
        ck_assert(m->noise == first->noise && m->Mv == first->Mv);
        for (size_t j = 0; j < m->Mv; j++) /* the factor's lower triangle */
            ck_assert(memcmp(m->L + j + j * m->Mv, first->L + j + j * m->Mv,
                             (m->Mv - j) * sizeof *m->L) == 0);
        ck_assert(memcmp(mean[t], mean[0], sizeof mean[0]) == 0);
        ck_assert(memcmp(var[t], var[0], sizeof var[0]) == 0);
        model_unref(m);
        pool_free(pool);
    }
    model_unref(first);
    free(p);
}
END_TEST

/* A model restored without its factor gets the same bits back from the data. */
START_TEST(rebuilt_variance_has_the_same_bits)
{
    struct prob *p = prob_make();
    struct fit_info info;
    double mean[T], var[T], mean2[T], var2[T], effdim;
    const char *solver = _i == 0 ? "direct" : _i == 1 ? "pcg" : "exact";
    struct fit_opts o = options("matern(nu=5/2)", solver, _i == 2 ? 0 : 320);
    o.rank = 64;
    o.keep_scale = false;
    struct model *m = fit(&p->src.base, p->y, &o, NULL, &info);
    const size_t Mv = m->Mv;

    ck_assert_int_eq(model_predict(m, &p->test.base, mean, var,
                                   &(struct tools){backend_cpu(), NULL, NULL}, NULL),
                     ST_OK);
    free(m->L);
    m->L = NULL;
    ck_assert_int_eq(model_predict(m, &p->test.base, mean2, var2,
                                   &(struct tools){backend_cpu(), NULL, NULL}, NULL),
                     ST_STATE);
    ck_assert_int_eq(model_predict(m, &p->test.base, mean2, NULL,
                                   &(struct tools){backend_cpu(), NULL, NULL}, NULL),
                     ST_OK);
    ck_assert(memcmp(mean, mean2, sizeof mean) == 0);
    struct pool *pool = pool_new(2, NULL);
    ck_assert_int_eq(model_variance(m, &p->src.base, Mv, &(struct tools){backend_cpu(), pool, NULL},
                                    &effdim, NULL),
                     ST_OK);
    ck_assert_int_eq(model_predict(m, &p->test.base, mean2, var2,
                                   &(struct tools){backend_cpu(), pool, NULL}, NULL),
                     ST_OK);
    ck_assert(memcmp(var, var2, sizeof var) == 0);
    ck_assert(effdim == info.effective_dimension);
    pool_free(pool);
    model_unref(m);
    free(p);
}
END_TEST

/* Predictions of a row do not depend on the rows around its tile. */
START_TEST(predictions_do_not_depend_on_chunks)
{
    struct prob *p = prob_make();
    struct fit_info info;
    double mean[T], var[T], mean2[T], var2[T];
    struct fit_opts o = options("rbf", "direct", 256);
    struct model *m = fit(&p->src.base, p->y, &o, NULL, &info);

    ck_assert_int_eq(model_predict(m, &p->test.base, mean, var,
                                   &(struct tools){backend_cpu(), NULL, NULL}, NULL),
                     ST_OK);
    for (size_t r = 0; r < T; r += 64) { /* a multiple of every tile */
        struct source_array part;
        source_array_init(&part, p->Xt + r * D, T - r < 64 ? T - r : 64, D, D);
        ck_assert_int_eq(model_predict(m, &part.base, mean2 + r, var2 + r,
                                       &(struct tools){backend_cpu(), NULL, NULL}, NULL),
                         ST_OK);
    }
    ck_assert(memcmp(mean, mean2, sizeof mean) == 0);
    ck_assert(memcmp(var, var2, sizeof var) == 0);
    model_unref(m);
    free(p);
}
END_TEST

/* Fewer features for the variance: the prior far from the data keeps its scale
 * (share/doc/methods.md 6), and near the data both agree within the sampling error of the maps. */
START_TEST(variance_modes)
{
    struct prob *p = prob_make();
    struct fit_info all, few, none;
    double mean[T], va[T], vf[T], far[D] = { 60, -60, 60 }, m1, v1, sum = 0;
    struct source_array away;
    struct fit_opts o = options("rbf", "pcg", 1024);
    o.rank = 128;
    source_array_init(&away, far, 1, D, D);
    o.variance = VAR_ALL;
    struct model *a = fit(&p->src.base, p->y, &o, NULL, &all);
    o.variance = VAR_COUNT;
    o.variance_count = 256;
    struct model *f = fit(&p->src.base, p->y, &o, NULL, &few);
    o.variance = VAR_NONE;
    struct model *n = fit(&p->src.base, p->y, &o, NULL, &none);

    ck_assert_uint_eq(all.variance_features, 1024);
    ck_assert_uint_eq(few.variance_features, 256);
    ck_assert_uint_eq(none.variance_features, 0);
    ck_assert(isnan(none.effective_dimension) && few.effective_dimension > 10);
    ck_assert_int_eq(
        model_predict(n, &p->test.base, mean, va, &(struct tools){backend_cpu(), NULL, NULL}, NULL),
        ST_STATE);
    model_predict(a, &p->test.base, mean, va, &(struct tools){ backend_cpu(), NULL, NULL }, NULL);
    model_predict(f, &p->test.base, mean, vf, &(struct tools){ backend_cpu(), NULL, NULL }, NULL);
    for (size_t i = 0; i < T; i++)
        sum += vf[i] / va[i] / T;
    ck_assert(sum > 0.3 && sum < 1.5); /* a raw prefix would give about a quarter of that */
    model_predict(f, &away.base, &m1, &v1, &(struct tools){ backend_cpu(), NULL, NULL }, NULL);
    ck_assert_double_le(v1, 1.0 + 1e-6); /* never above the prior */
    ck_assert(v1 > 0.2);
    model_unref(a), model_unref(f), model_unref(n);
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

/* Weights of rows. */

/* A row of weight 2 is the same row twice: the same posterior, and where the program takes the
 * amplitude from the data the same quadratic form, over fewer rows. */
enum { WN = 60, WD = 2, WT = 7 };

START_TEST(weights_are_repetitions)
{
    static const struct { const char *solver; enum precision precision; double tol; } how[] = {
        { "exact", PREC_DOUBLE, 1e-9 }, { "direct", PREC_DOUBLE, 1e-8 },
        { "direct", PREC_FLOAT, 2e-4 }, { "pcg", PREC_DOUBLE, 1e-7 }, { "pcg", PREC_FLOAT, 5e-4 },
    };
    double X[2 * WN * WD], y[2 * WN], xt[WT * WD], scale[WN], mean[2][WT], var[2][WT];
    struct source_array src[2], test;
    size_t n = WN;

    for (size_t i = 0; i < WN * WD; i++)
        X[i] = 2.0 * rng_uniform(5, 1, i) - 1.0;
    for (size_t i = 0; i < WN; i++)
        y[i] = sin(3.0 * X[i * WD]) + X[i * WD + 1] + 0.3 * rng_normal(5, 2, i);
    for (size_t i = 0; i < WT * WD; i++)
        xt[i] = 2.0 * rng_uniform(5, 3, i) - 1.0;
    for (size_t i = 0; i < WN; i++) {
        scale[i] = i % 3 ? 1.0 : sqrt(2.0);
        if (i % 3)
            continue;
        memcpy(X + n * WD, X + i * WD, WD * sizeof *X);
        y[n++] = y[i];
    }
    source_array_init(&src[0], X, WN, WD, WD);
    src[0].base.row_scale = scale;
    source_array_init(&src[1], X, n, WD, WD);
    source_array_init(&test, xt, WT, WD, WD);
    for (int v = 0; v < 2; v++) {
        struct fit_opts o = options("matern(nu=5/2)", how[_i].solver, 64);
        struct fit_info info;
        o.noise = 0.3;
        o.precision = how[_i].precision;
        o.rank = 16;
        struct model *m = fit(&src[v].base, y, &o, NULL, &info);
        ck_assert_int_eq(model_predict(m, &test.base, mean[v], var[v],
                                       &(struct tools){backend_cpu(), NULL, NULL}, NULL),
                         ST_OK);
        /* rebuilt from the data, as after a resume */
        double again[WT];
        ck_assert_int_eq(model_variance(m, &src[v].base, m->Mv,
                                        &(struct tools){backend_cpu(), NULL, NULL}, NULL, NULL),
                         ST_OK);
        ck_assert_int_eq(model_predict(m, &test.base, mean[v], again,
                                       &(struct tools){backend_cpu(), NULL, NULL}, NULL),
                         ST_OK);
        for (size_t i = 0; i < WT; i++)
            ck_assert(near_rel(again[i], var[v][i], 1e-9));
        model_unref(m);
    }
    for (size_t i = 0; i < WT; i++) {
        ck_assert_double_le(fabs(mean[0][i] - mean[1][i]), how[_i].tol);
        ck_assert(near_rel(var[0][i], var[1][i], 10.0 * how[_i].tol));
    }
}
END_TEST

START_TEST(weights_must_be_positive)
{
    const double X[6] = { 0, 1, 2, 3, 4, 5 }, y[6] = { 0, 1, 0, 1, 0, 1 };
    double scale[6] = { 1, 1, 1, 0, 1, 1 };
    struct source_array src;
    struct fit_opts o = options("rbf", "exact", 0);
    struct fit_info info;
    struct model *m;
    struct err err = { 0 };

    source_array_init(&src, X, 6, 1, 1);
    src.base.row_scale = scale;
    ck_assert_int_eq(model_fit(&src.base, y, &o, &(struct tools){backend_cpu(), NULL, NULL}, &m,
                               &info, NULL, &err),
                     ST_RANGE);
    ck_assert_ptr_nonnull(strstr(err.msg, "row 4"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("model");
    TCase *t = tcase_create("model");

    support_need("golden/gp_X.csv");
    blas_init();
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, exact_predictions_are_golden, 0, 3);
    tcase_add_test(t, feature_weights_are_golden);
    tcase_add_test(t, prefix_variance_is_golden);
    tcase_add_test(t, effective_dimension_is_golden);
    tcase_add_test(t, half_is_rescaled);
    tcase_add_test(t, indefinite_gram_gets_jitter);
    tcase_add_loop_test(t, big_exact_is_golden, 0, 2);
    tcase_add_loop_test(t, big_features_within_bounds, 0, 3);
    tcase_add_loop_test(t, exact_agrees_with_long_double, 0, 5);
    tcase_add_test(t, exact_survives_duplicates);
    tcase_add_test(t, solvers_agree);
    tcase_add_loop_test(t, warm_starts_save_iterations, 0, 4);
    tcase_add_test(t, starts_of_other_features_are_projected);
    tcase_add_test(t, starts_of_other_data_are_refused);
    tcase_add_loop_test(t, same_bits_for_any_thread_count, 0, 5);
    tcase_add_loop_test(t, rebuilt_variance_has_the_same_bits, 0, 3);
    tcase_add_test(t, predictions_do_not_depend_on_chunks);
    tcase_add_test(t, variance_modes);
    tcase_add_loop_test(t, scale_follows_the_features, 0, 6);
    tcase_add_test(t, stopped_fit_keeps_its_iterate);
    tcase_add_test(t, refusals);
    tcase_add_test(t, plan_follows_sizes);
    tcase_add_test(t, float16_by_memory);
    tcase_add_test(t, float16_fits);
    tcase_add_test(t, allocation_failures_are_errors);
    tcase_add_loop_test(t, weights_are_repetitions, 0, 5);
    tcase_add_test(t, weights_must_be_positive);
    suite_add_tcase(s, t);
    return support_run(s);
}
