/* tests/compute/check_kpca.c -- kernel PCA and k-means against golden values, the direct
 * eigenproblem and planted structure. */
#include "compute/linalg/blas.h"
#include "compute/stats/kpca.h"

#include "base/mem.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Z (n x n) with Z Z' = K: V diag(sqrt(ev)). */
static double *root_of(size_t n, const double *K)
{
    double *V = malloc(n * n * sizeof *V), *Z = malloc(n * n * sizeof *Z);
    double *w = malloc(n * sizeof *w);
    memcpy(V, K, n * n * sizeof *V);
    ck_assert_int_eq(blas_dsyevd(n, V, n, w, true, NULL), ST_OK);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            Z[i * n + j] = V[i + j * n] * sqrt(fmax(w[j], 0.0));
    free(V), free(w);
    return Z;
}

/* The golden kernel PCA has no features: exact ones come from a root of the joint kernel. */
START_TEST(golden_kernel_pca)
{
    size_t n, t, d, c;
    double *X = support_golden("kpca_X", &n, &d), *T = support_golden("kpca_Xtest", &t, &d);
    double *eig = support_golden("kpca_eig", &c, &d), *K = malloc((n + t) * (n + t) * sizeof *K);
    double *train = support_golden("kpca_abs_coords", &n, &c);
    double *test = support_golden("kpca_abs_coords_test", &t, &c);
    for (size_t i = 0; i < n + t; i++)
        for (size_t j = 0; j < n + t; j++) {
            const double *x = i < n ? X + 2 * i : T + 2 * (i - n);
            const double *y = j < n ? X + 2 * j : T + 2 * (j - n);
            const double a = x[0] - y[0], b = x[1] - y[1];
            K[i * (n + t) + j] = exp(-0.5 * (a * a + b * b));
        }
    double *Z = root_of(n + t, K), *coords = malloc((n + t) * c * sizeof *coords);
    struct fop *f = fop_dense_for_tests(Z, n, n + t, n + t, NULL, NULL);
    struct fop *g = fop_dense_for_tests(Z + n * (n + t), t, n + t, n + t, NULL, NULL);
    struct kpca k;
    ck_assert_int_eq(kpca_fit(f, c, 1, NULL, &k, NULL), ST_OK);
    ck_assert_int_eq(kpca_project(&k, f, coords, NULL, NULL), ST_OK);
    ck_assert_int_eq(kpca_project(&k, g, coords + n * c, NULL, NULL), ST_OK);
    for (size_t j = 0; j < c; j++)
        ck_assert_double_eq_tol(k.ev[j], eig[j], 1e-8 * (1.0 + eig[j]));
    for (size_t i = 0; i < n * c; i++)
        ck_assert_double_eq_tol(fabs(coords[i]), train[i], 1e-8);
    for (size_t i = 0; i < t * c; i++)
        ck_assert_double_eq_tol(fabs(coords[n * c + i]), test[i], 1e-8);
    kpca_free(&k);
    fop_free(f), fop_free(g);
    free(X), free(T), free(eig), free(K), free(train), free(test), free(Z), free(coords);
}
END_TEST

START_TEST(golden_feature_pca)
{
    size_t n, m, c, q;
    double *Z = support_golden("pca_Z", &n, &m), *sing = support_golden("pca_sing", &q, &c);
    double *want = support_golden("pca_abs_scores", &n, &c), *coords = malloc(n * c * sizeof *want);
    struct fop *f = fop_dense_for_tests(Z, n, m, m, NULL, NULL);
    struct kpca k;
    double total = 0.0;
    ck_assert_int_eq(kpca_fit(f, c, 1, NULL, &k, NULL), ST_OK);
    ck_assert_int_eq(kpca_project(&k, f, coords, NULL, NULL), ST_OK);
    for (size_t j = 0; j < q; j++)
        total += sing[j] * sing[j];
    ck_assert_double_eq_tol(k.total, total, 1e-8 * total);
    for (size_t j = 0; j < c; j++)
        ck_assert_double_eq_tol(k.ev[j], sing[j] * sing[j], 1e-8 * total);
    for (size_t i = 0; i < n * c; i++)
        ck_assert_double_eq_tol(fabs(coords[i]), want[i], 1e-8 * (1.0 + want[i]));
    kpca_free(&k);
    fop_free(f);
    free(Z), free(sing), free(want), free(coords);
}
END_TEST

/* More features than the direct limit: the same leading eigenvalues as the n x n centred kernel,
 * the same bits for every thread count, the sign rule. */
START_TEST(many_features)
{
    enum { n = 120, M = 1100, p = 5 };
    static const size_t threads[] = { 1, 2, 3, 8 };
    struct splitmix s;
    splitmix_init(&s, 4);
    double *Z = malloc(n * M * sizeof *Z), *Zc = malloc(n * M * sizeof *Z), K[n * n], w[n];
    double *first = malloc(M * p * sizeof *first);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < M; j++)
            Z[i * M + j] = 1.0 + splitmix_normal(&s) * pow(0.99, (double)j);
    for (size_t j = 0; j < M; j++) {
        double mean = 0.0;
        for (size_t i = 0; i < n; i++)
            mean += Z[i * M + j] / n;
        for (size_t i = 0; i < n; i++)
            Zc[i * M + j] = Z[i * M + j] - mean;
    }
    ck_assert_int_eq(blas_dgram(NULL, M, n, Zc, M, K, n, NULL), ST_OK);
    double total = 0.0;
    for (size_t i = 0; i < n; i++)
        total += K[i + i * n];
    ck_assert_int_eq(blas_dsyevd(n, K, n, w, false, NULL), ST_OK);
    for (size_t t = 0; t < 4; t++) {
        struct pool *pool = pool_new(threads[t], NULL);
        struct fop *f = fop_dense_for_tests(Z, n, M, M, pool, NULL);
        struct kpca k;
        ck_assert_int_eq(kpca_fit(f, p, 9, NULL, &k, NULL), ST_OK);
        ck_assert_double_eq_tol(k.total, total, 1e-10 * total);
        for (size_t j = 0; j < p; j++) {
            ck_assert_double_eq_tol(k.ev[j], w[n - 1 - j], 2e-5 * w[n - 1]);
            double top = 0.0;
            for (size_t i = 0; i < M; i++)
                if (fabs(k.V[j * M + i]) > fabs(top))
                    top = k.V[j * M + i];
            ck_assert_double_gt(top, 0.0);
        }
        if (t == 0)
            memcpy(first, k.V, M * p * sizeof *first);
        ck_assert_int_eq(memcmp(first, k.V, M * p * sizeof *first), 0);
        kpca_free(&k);
        fop_free(f);
        pool_free(pool);
    }
    free(Z), free(Zc), free(first);
}
END_TEST

START_TEST(pca_refusals)
{
    double Z[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 2, 1 };
    struct fop *f = fop_dense_for_tests(Z, 4, 3, 3, NULL, NULL);
    struct kpca k;
    struct err err = { 0 };
    ck_assert_int_eq(kpca_fit(f, 4, 1, NULL, &k, &err), ST_RANGE);
    ck_assert_int_eq(kpca_fit(f, 0, 1, NULL, &k, &err), ST_RANGE);
    bool done = false;
    for (size_t nth = 1; !done && nth < 40; nth++) {
        mem_fail_after_for_tests(nth);
        const enum status rc = kpca_fit(f, 2, 1, NULL, &k, &err);
        mem_fail_after_for_tests(0);
        ck_assert(rc == ST_OK || rc == ST_NOMEM);
        done = rc == ST_OK;
        kpca_free(&k);
    }
    ck_assert(done);
    fop_free(f);
}
END_TEST

/* K-means. */

START_TEST(golden_lloyd)
{
    size_t n, d, k, c;
    double *X = support_golden("km_X", &n, &d), *want = support_golden("km_lloyd_centers", &k, &d);
    double *label = support_golden("km_lloyd_labels", &n, &c);
    static const size_t start[] = { 0, 1, 2 };
    struct kmeans m;
    ck_assert_int_eq(kmeans_fit(n, d, X, &(struct kmeans_opts){ 3, 1, 1, start, NULL },
                                NULL, &m, NULL),
                     ST_OK);
    for (size_t i = 0; i < n; i++)
        ck_assert_uint_eq(m.label[i], (size_t)label[i]);
    for (size_t i = 0; i < k * d; i++)
        ck_assert(support_close(m.centers[i], want[i], 1e-10));
    const double inertia = support_golden_scalar("km_scalars", "lloyd_inertia_from_first3");
    ck_assert(support_close(m.inertia, inertia, 1e-10));
    kmeans_free(&m);
    free(X), free(want), free(label);
}
END_TEST

START_TEST(golden_best)
{
    size_t n, d, k, c;
    double *X = support_golden("km_X", &n, &d);
    double *want = support_golden("km_best_centers_sorted", &k, &c);
    for (size_t q = 2; q <= 5; q++) {
        struct kmeans m;
        char key[32];
        ck_assert_int_eq(kmeans_fit(n, d, X, &(struct kmeans_opts){ q, 100, 7, NULL, NULL },
                                    NULL, &m, NULL),
                         ST_OK);
        snprintf(key, sizeof key, "best_inertia_k%zu", q);
        ck_assert(support_close(m.inertia, support_golden_scalar("km_scalars", key), 1e-10));
        snprintf(key, sizeof key, q == 3 ? "silhouette_best" : "silhouette_k%zu", q);
        ck_assert(support_close(m.silhouette, support_golden_scalar("km_scalars", key), 1e-10));
        for (size_t a = 0; q == 3 && a < 3; a++) { /* in whatever order */
            bool found = false;
            for (size_t b = 0; b < 3; b++)
                found = found || (support_close(m.centers[a * d], want[b * d], 1e-10) &&
                                  support_close(m.centers[a * d + 1], want[b * d + 1], 1e-10));
            ck_assert(found);
        }
        kmeans_free(&m);
    }
    free(X), free(want);
}
END_TEST

/* On exact features k-means is kernel k-means: tr K - sum_c (1/n_c) sum K_ij for given labels. */
START_TEST(golden_kernel_objective)
{
    size_t n, d;
    double *X = support_golden("km_X", &n, &d), *K = malloc(n * n * sizeof *K), objective = 0.0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const double a = X[i * d] - X[j * d], b = X[i * d + 1] - X[j * d + 1];
            K[i * n + j] = exp(-0.125 * (a * a + b * b)); /* s = 0.5 */
        }
    double *Z = root_of(n, K);
    static const size_t start[] = { 0, 20, 40 };
    struct kmeans m;
    ck_assert_int_eq(kmeans_fit(n, n, Z, &(struct kmeans_opts){ 3, 1, 1, start, NULL },
                                NULL, &m, NULL),
                     ST_OK);
    for (size_t i = 0; i < n; i++) {
        objective += K[i * n + i];
        for (size_t j = 0, size = 0; j < n; j++) {
            for (size_t q = size = 0; q < n; q++)
                size += m.label[q] == m.label[i];
            if (m.label[i] == m.label[j])
                objective -= K[i * n + j] / (double)size;
        }
    }
    ck_assert_double_eq_tol(m.inertia, objective, 1e-10);
    /* from one point of each planted cluster it does not end above the planted labels */
    const double planted =
        support_golden_scalar("km_scalars", "kernel_kmeans_objective_true_labels");
    ck_assert_double_le(m.inertia, planted * (1.0 + 1e-9));
    kmeans_free(&m);
    free(X), free(K), free(Z);
}
END_TEST

START_TEST(planted_clusters_for_any_thread_count)
{
    enum { n = 5000, d = 3, k = 6 };
    static const size_t threads[] = { 0, 1, 2, 3, 8 };
    struct splitmix s;
    splitmix_init(&s, 12);
    double *X = malloc(n * d * sizeof *X);
    struct kmeans first = { 0 };
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            X[i * d + j] = 10.0 * (double)((i % k >> (j == 2 ? 0 : j)) & 3) * (double)(j + 1) +
                           splitmix_normal(&s) * 0.3;
    for (size_t t = 0; t < 5; t++) {
        struct pool *pool = threads[t] ? pool_new(threads[t], NULL) : NULL;
        struct kmeans m;
        ck_assert_int_eq(kmeans_fit(n, d, X, &(struct kmeans_opts){ k, 3, 5, NULL, pool },
                                    NULL, &m, NULL),
                         ST_OK);
        for (size_t i = k; i < n; i++) /* rows i and i + k share a cluster, and only those */
            ck_assert_uint_eq(m.label[i], m.label[i - k]);
        ck_assert_double_gt(m.silhouette, 0.9);
        /* within: n d 0.09, up to four standard errors of a chi-square sum */
        ck_assert_double_eq_tol(m.inertia, n * d * 0.09, 4.0 * 0.09 * sqrt(2.0 * n * d));
        if (t == 0) {
            first = m;
        } else {
            ck_assert_mem_eq(m.centers, first.centers, k * d * sizeof *m.centers);
            ck_assert_mem_eq(m.label, first.label, n * sizeof *m.label);
            ck_assert_double_eq(m.silhouette, first.silhouette);
            kmeans_free(&m);
        }
        pool_free(pool);
    }
    kmeans_free(&first);
    free(X);
}
END_TEST

START_TEST(kmeans_corners)
{
    double X[20];
    struct kmeans m;
    struct err err = { 0 };
    for (size_t i = 0; i < 20; i++)
        X[i] = i < 10 ? 1.0 : 2.0; /* two distinct points */
    ck_assert_int_eq(kmeans_fit(20, 1, X, &(struct kmeans_opts){ 5, 3, 1, NULL, NULL },
                                NULL, &m, NULL),
                     ST_OK);
    ck_assert_double_eq(m.inertia, 0.0);
    kmeans_free(&m);
    ck_assert_int_eq(kmeans_fit(20, 1, X, &(struct kmeans_opts){ 1, 3, 1, NULL, NULL },
                                NULL, &m, NULL),
                     ST_OK);
    ck_assert_double_eq_tol(m.centers[0], 1.5, 1e-15);
    ck_assert(isnan(m.silhouette));
    kmeans_free(&m);
    /* starts that coincide leave clusters empty: they take the farthest points, 9.5 and 9, which
     * is where Lloyd stays: {0, 0, 0, 5} around 1.25 */
    static const size_t same_start[] = { 0, 1, 2 };
    double Y[6] = { 0.0, 0.0, 0.0, 5.0, 9.0, 9.5 };
    ck_assert_int_eq(kmeans_fit(6, 1, Y, &(struct kmeans_opts){ 3, 1, 1, same_start, NULL },
                                NULL, &m, NULL),
                     ST_OK);
    ck_assert_double_eq_tol(m.inertia, 18.75, 1e-12);
    kmeans_free(&m);
    ck_assert_int_eq(kmeans_fit(20, 1, X, &(struct kmeans_opts){ 21, 3, 1, NULL, NULL },
                                NULL, &m, &err),
                     ST_RANGE);
    ck_assert_int_eq(kmeans_fit(20, 1, X, &(struct kmeans_opts){ 0, 3, 1, NULL, NULL },
                                NULL, &m, &err),
                     ST_RANGE);
    X[3] = NAN;
    ck_assert_int_eq(kmeans_fit(20, 1, X, &(struct kmeans_opts){ 2, 3, 1, NULL, NULL },
                                NULL, &m, &err),
                     ST_RANGE);
    X[3] = 1.0;
    struct cancel stop;
    atomic_init(&stop.stop, true);
    const struct ctl ctl = { .cancel = &stop };
    ck_assert_int_eq(kmeans_fit(20, 1, X, &(struct kmeans_opts){ 2, 3, 1, NULL, NULL },
                                &ctl, &m, &err),
                     ST_CANCELLED);
    bool done = false;
    for (size_t nth = 1; !done && nth < 40; nth++) {
        mem_fail_after_for_tests(nth);
        const enum status rc =
            kmeans_fit(20, 1, X, &(struct kmeans_opts){ 2, 3, 1, NULL, NULL }, NULL, &m, &err);
        mem_fail_after_for_tests(0);
        ck_assert(rc == ST_OK || rc == ST_NOMEM);
        done = rc == ST_OK;
        kmeans_free(&m);
    }
    ck_assert(done);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("kpca");
    TCase *t = tcase_create("kpca");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, blas_init, NULL);
    tcase_add_test(t, many_features);
    tcase_add_test(t, pca_refusals);
    tcase_add_test(t, planted_clusters_for_any_thread_count);
    tcase_add_test(t, kmeans_corners);
    if (support_shared("golden/kpca_X.csv")) {
        tcase_add_test(t, golden_kernel_pca);
        tcase_add_test(t, golden_feature_pca);
        tcase_add_test(t, golden_lloyd);
        tcase_add_test(t, golden_best);
        tcase_add_test(t, golden_kernel_objective);
    }
    suite_add_tcase(s, t);
    return support_run(s);
}
