/* tests/compute/check_precond.c -- preconditioners against the golden Nystrom problem (64 x 64,
 * rank 16, lam2 = 0.5), identities that hold for every one of them, and thread counts. */
#include "compute/linalg/blas.h"
#include "compute/preconds/precond.h"
#include "compute/preconds/precond_impl.h"
#include "compute/rng.h"
#include "compute/solvers/solver.h"

#include "base/mem.h"
#include "support.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 64, L = 16 };
static const double lam2 = 0.5;

static double *G, *Z; /* golden Gram matrix; Z'Z = G */
static struct fop *f;

/* Z = diag(sqrt(ev)) V', row-major: rows of Z are scaled eigenvectors. */
static void golden_setup(void)
{
    size_t r, c;
    double ev[M];
    blas_init();
    G = support_golden("nys_ZtZ", &r, &c);
    ck_assert(r == M && c == M);
    for (size_t i = 0; i < M; i++) /* of what follows some reads one triangle */
        for (size_t j = 0; j < i; j++)
            ck_assert_double_eq_tol(G[i * M + j], G[j * M + i], 1e-12 * G[0]);
    Z = malloc(sizeof *Z * M * M);
    memcpy(Z, G, sizeof *Z * M * M);
    ck_assert_int_eq(blas_dsyevd(M, Z, M, ev, true, NULL), ST_OK);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < M; j++)
            Z[i * M + j] *= sqrt(fmax(ev[i], 0.0));
    f = fop_dense_for_tests(Z, M, M, M, NULL, NULL);
    ck_assert_ptr_nonnull(f);
}

static void golden_teardown(void)
{
    fop_free(f);
    free(G);
    free(Z);
}

static const struct construction {
    const char *name;
    bool gauss;
    int passes;
} constructions[] = { { "gauss", true, 1 }, { "gauss2", true, 2 }, { "srht", false, 1 },
                      { "srht2", false, 2 }, { "srht3", false, 3 } };

/* Omega' = sqrt(64/16) rows of H/8 times the signs: parity of the common bits gives H. */
static double *golden_omega(bool gauss)
{
    size_t r, c;
    double *Omega = malloc(sizeof *Omega * M * L);
    double *rows = support_golden(gauss ? "nys_Omega_gauss" : "nys_srht_rows", &r, &c);
    double *signs = support_golden("nys_srht_signs", &r, &c);
    for (size_t j = 0; j < L; j++)
        for (size_t i = 0; i < M; i++)
            Omega[j * M + i] = gauss ? rows[i * L + j]
                                     : signs[i] * 0.25 *
                                           (__builtin_parityll((size_t)rows[j] & i) ? -1 : 1);
    free(rows);
    free(signs);
    return Omega;
}

static struct precond *golden_build(const struct construction *k)
{
    struct precond *p;
    double *Omega = golden_omega(k->gauss);
    ck_assert_int_eq(nystrom_build_for_tests(f, L, Omega, k->gauss, k->passes, NULL, &p, NULL),
                     ST_OK);
    free(Omega);
    precond_set_noise(p, lam2);
    return p;
}

static double golden(const char *what, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "%s_%s", what, name);
    return support_golden_scalar("nys_scalars", key);
}

/* Extreme eigenvalues of P^1/2 A^-1 P^1/2, inverted: those of P^-1/2 A P^-1/2. */
static double *whitened(const struct precond *p, const double *A)
{
    double *V = malloc(sizeof *V * M * M), *w = malloc(sizeof *w * M);
    memcpy(V, A, sizeof *V * M * M);
    ck_assert_int_eq(blas_dpotrf(NULL, M, V, M, NULL, NULL, NULL), ST_OK);
    ck_assert_int_eq(blas_dpotri(NULL, M, V, M, NULL), ST_OK);
    for (size_t j = 0; j < M; j++)
        for (size_t i = 0; i < j; i++)
            V[i + j * M] = V[j + i * M];
    for (int side = 0; side < 2; side++) { /* P^1/2 from the left, transpose, again */
        ck_assert_int_eq(precond_sqrt(p, NULL, M, V, V, NULL), ST_OK);
        for (size_t j = 0; j < M; j++)
            for (size_t i = 0; i < j; i++) {
                const double t = V[i + j * M];
                V[i + j * M] = V[j + i * M];
                V[j + i * M] = t;
            }
    }
    ck_assert_int_eq(blas_dsyevd(M, V, M, w, false, NULL), ST_OK);
    for (size_t i = 0; i < M; i++)
        w[i] = 1.0 / w[i]; /* descending now */
    free(V);
    return w;
}

START_TEST(golden_nystrom)
{
    const struct construction *k = &constructions[_i];
    struct precond *p = golden_build(k);
    char file[64];
    size_t r, c;
    snprintf(file, sizeof file, "nys_lambda_%s", k->name);
    double *want = support_golden(file, &r, &c);
    const double *ev = precond_eigenvalues(p);
    ck_assert_uint_eq(precond_rank(p), L);
    for (size_t i = 0; i < L; i++)
        ck_assert_double_eq_tol(ev[i], want[i], 1e-7 * want[0]);
    if (strcmp(k->name, "srht2") == 0) { /* P^-1 v by the golden eigenvectors and eigenvalues */
        double *U = support_golden("slq_U", &r, &c), *E = support_golden("slq_Lambda", &r, &c);
        double v[M], pv[M], by[M];
        for (size_t i = 0; i < M; i++)
            by[i] = v[i] = sin(1.7 * (double)i) + 0.3;
        ck_assert_int_eq(precond_apply(p, NULL, 1, v, pv, NULL), ST_OK);
        for (size_t j = 0; j < L; j++) {
            double t = 0.0;
            ck_assert_double_eq_tol(ev[j], E[j], 1e-7 * E[0]);
            for (size_t i = 0; i < M; i++)
                t += U[i * L + j] * v[i];
            t *= (E[L - 1] + lam2) / (E[j] + lam2) - 1.0;
            for (size_t i = 0; i < M; i++)
                by[i] += U[i * L + j] * t;
        }
        for (size_t i = 0; i < M; i++)
            ck_assert_double_eq_tol(pv[i], by[i], 1e-6);
        free(U), free(E);
    }
    const double bL = golden("betaL", k->name), kappa = golden("kappa", k->name);
    ck_assert_double_eq_tol(precond_ratio(p), bL / lam2, 1e-6 * bL / lam2);
    ck_assert_double_eq_tol(precond_logdet(p), golden("logdetP", k->name),
                            1e-6 * golden("logdetP", k->name));
    for (size_t i = 0; i < M; i++) /* A = G + lam2 I */
        G[i + i * M] += lam2;
    double *w = whitened(p, G);
    ck_assert_double_eq_tol(w[0] / w[M - 1], kappa, 1e-6 * kappa);
    double logdet = precond_logdet(p);
    for (size_t i = 0; i < M; i++)
        logdet += log(w[i]);
    ck_assert_double_eq_tol(logdet, support_golden_scalar("nys_scalars", "logdetA"), 1e-6);
    double *eig = support_golden("nys_eig", &r, &c), least = INFINITY;
    for (size_t i = 0; i < r * c; i++)
        least = fmin(least, eig[i]);
    ck_assert_double_ge(w[0] / w[M - 1], fmax(1.0, (bL + lam2) / (least + lam2)) * (1 - 1e-9));
    ck_assert_double_le(w[0] / w[M - 1], 1.0 + (bL + golden("err2", k->name)) / lam2);
    free(w), free(want), free(eig);
    precond_free(p);
}
END_TEST

/* How far U E U' is from G, in both norms; how far the best of that rank is, by the spectrum. */
START_TEST(golden_errors)
{
    const struct construction *k = &constructions[_i];
    struct precond *p = golden_build(k);
    double D[M * M], w[M], square = 0.0, rest = 0.0;
    size_t r, c;
    double *eig = support_golden("nys_eig", &r, &c);

    ck_assert_uint_eq(r * c, M);
    memcpy(D, G, sizeof D);
    for (size_t q = 0; q < L; q++)
        for (size_t j = 0; j < M; j++)
            blas_daxpy(M, -p->ev[q] * p->U[q * M + j], p->U + q * M, D + j * M);
    for (size_t i = 0; i < M * M; i++)
        square += D[i] * D[i];
    ck_assert_int_eq(blas_dsyevd(M, D, M, w, false, NULL), ST_OK);
    const double err2 = golden("err2", k->name), errF = golden("errF", k->name);
    ck_assert_double_eq_tol(fmax(-w[0], w[M - 1]), err2, 1e-6 * err2);
    ck_assert_double_eq_tol(sqrt(square), errF, 1e-6 * errF);
    const bool descending = eig[0] > eig[M - 1];
    memcpy(D, G, sizeof D);
    ck_assert_int_eq(blas_dsyevd(M, D, M, w, false, NULL), ST_OK);
    for (size_t i = 0; i < M; i++)
        ck_assert_double_eq_tol(eig[descending ? M - 1 - i : i], w[i], 1e-8);
    for (size_t i = L; i < M; i++) {
        const double e = eig[descending ? i : M - 1 - i];
        rest += e * e;
    }
    const double next = eig[descending ? L : M - 1 - L], least = eig[descending ? M - 1 : 0];
    const double most = eig[descending ? 0 : M - 1];
    ck_assert_double_eq_tol(next, golden("best_rankL", "err2"), 1e-6 * next);
    ck_assert_double_eq_tol(sqrt(rest), golden("best_rankL", "errF"), 1e-6 * sqrt(rest));
    ck_assert_double_ge(err2, next);
    ck_assert_double_eq_tol((most + lam2) / (least + lam2), golden("kappa", "unpre"), 1e-4);
    ck_assert(support_golden_scalar("nys_scalars", "lam2") == lam2);
    precond_free(p);
    free(eig);
}
END_TEST

/* Without a preconditioner. */
START_TEST(golden_plain_steps)
{
    size_t r, c;
    double *b = support_golden("nys_Zty", &r, &c), x[M];
    struct ridge ridge = { f, lam2 };
    const struct linop A = solve_ridge(&ridge);
    struct solve_info info;
    const struct solve_opts o = { .rtol = 1e-6, .maxit = 100 };

    ck_assert_int_eq(cg_solve(&A, 1, b, x, &o, NULL, &info, NULL), ST_OK);
    ck_assert_int_eq(info.why, OUT_RTOL);
    /* Rounding decides about the last one or two of some twenty steps. */
    ck_assert_double_le(fabs((double)info.iterations - golden("cg_iters_1e-6", "none")), 1.0);
    solve_info_free(&info);
    free(b);
}
END_TEST

/* Extreme Ritz values from the histories of conjugate gradients (share/doc/methods.md 10.1). */
static double ritz_kappa(const struct solve_info *in)
{
    const size_t m = in->nhist;
    double *T = calloc(m * m, sizeof *T), *th = calloc(m, sizeof *th);
    for (size_t i = 0; i < m; i++) {
        T[i + i * m] = 1.0 / in->alpha[i] + (i ? in->beta[i - 1] / in->alpha[i - 1] : 0.0);
        if (i + 1 < m)
            T[i + 1 + i * m] = sqrt(in->beta[i]) / in->alpha[i];
    }
    ck_assert_int_eq(blas_dsyevd(m, T, m, th, false, NULL), ST_OK);
    const double kappa = th[m - 1] / th[0];
    free(T), free(th);
    return kappa;
}

START_TEST(golden_steps)
{
    const struct construction *k = &constructions[_i];
    struct precond *p = golden_build(k);
    size_t r, c;
    double *b = support_golden("nys_Zty", &r, &c), *want = support_golden("nys_w_solution", &r, &c);
    double x[M];
    struct ridge ridge = { f, lam2 };
    const struct linop A = solve_ridge(&ridge);
    struct solve_info info;
    struct solve_opts o = { .rtol = 1e-6, .maxit = 100, .pre = p };
    ck_assert_int_eq(cg_solve(&A, 1, b, x, &o, NULL, &info, NULL), ST_OK);
    ck_assert_int_eq(info.why, OUT_RTOL);
    ck_assert_double_eq_tol((double)info.iterations, golden("pcg_iters_1e-6", k->name), 1.0);
    if ((double)info.iterations == golden("pcg_iters_1e-6", k->name)) {
        const double kappa = golden("kappa_ritz", k->name);
        ck_assert_double_eq_tol(ritz_kappa(&info), kappa, 1e-6 * kappa);
    }
    solve_info_free(&info);
    o.rtol = 1e-12;
    ck_assert_int_eq(cg_solve(&A, 1, b, x, &o, NULL, &info, NULL), ST_OK);
    for (size_t i = 0; i < M; i++)
        ck_assert_double_eq_tol(x[i], want[i], 1e-8 * (1.0 + fabs(want[i])));
    solve_info_free(&info);
    precond_free(p);
    free(b), free(want);
}
END_TEST

/* e1' log(T) e1 of each probe after 20 steps with the srht2 preconditioner. */
START_TEST(golden_lanczos_terms)
{
    enum { STEPS = 20, PROBES = 6 };
    struct precond *p = golden_build(&constructions[3]);
    size_t r, c;
    double *probes = support_golden("slq_gauss_probes", &r, &c);
    double *terms = support_golden("slq_terms", &r, &c);
    double n[PROBES * M], rhs[PROBES * M], x[PROBES * M], T[STEPS * STEPS], th[STEPS];
    struct ridge ridge = { f, lam2 };
    const struct linop A = solve_ridge(&ridge);
    struct solve_info info[PROBES];
    for (size_t q = 0; q < PROBES; q++)
        for (size_t i = 0; i < M; i++)
            n[q * M + i] = probes[i * PROBES + q];
    ck_assert_int_eq(precond_sqrt(p, NULL, PROBES, n, rhs, NULL), ST_OK);
    const struct solve_opts o = { .rtol = 1e-300, .maxit = STEPS, .pre = p };
    ck_assert_int_eq(cg_solve(&A, PROBES, rhs, x, &o, NULL, info, NULL), ST_OK);
    for (size_t q = 0; q < PROBES; q++) {
        const size_t m = info[q].nhist; /* fewer where the recursion has reached zero */
        ck_assert_uint_le(m, STEPS);
        memset(T, 0, sizeof T);
        for (size_t i = 0; i < m; i++) {
            const double *a = info[q].alpha, *b = info[q].beta;
            T[i + i * m] = 1.0 / a[i] + (i ? b[i - 1] / a[i - 1] : 0.0);
            if (i + 1 < m)
                T[i + 1 + i * m] = sqrt(b[i]) / a[i];
        }
        ck_assert_int_eq(blas_dsyevd(m, T, m, th, true, NULL), ST_OK);
        double e = 0.0;
        for (size_t i = 0; i < m; i++)
            e += T[i * m] * T[i * m] * log(th[i]);
        ck_assert_double_eq_tol(blas_ddot(M, n + q * M, n + q * M), terms[q * 4], 1e-7 * 100);
        ck_assert_double_eq_tol(e, terms[q * 4 + 1], 1e-7);
        double z[M]; /* the other estimate: |P^-1/2 c|^2 as conjugate gradients see it */
        ck_assert_int_eq(precond_apply(p, NULL, 1, rhs + q * M, z, NULL), ST_OK);
        ck_assert_double_eq_tol(blas_ddot(M, rhs + q * M, z) * e, terms[q * 4 + 2], 1e-7 * M);
        ck_assert_double_eq_tol(M * e, terms[q * 4 + 3], 1e-7 * M);
        solve_info_free(&info[q]);
    }
    precond_free(p);
    free(probes), free(terms);
}
END_TEST

/* A matrix (n x n) by its columns and its diagonal alone. */
struct by_columns { size_t n; const double *K; };

static enum status given_columns(void *ctx, size_t m, const size_t *at, double *C,
                                 const struct ctl *ctl, struct err *err)
{
    const struct by_columns *k = ctx;

    (void)ctl;
    (void)err;
    for (size_t j = 0; j < m; j++)
        memcpy(C + j * k->n, k->K + at[j] * k->n, k->n * sizeof *C);
    return ST_OK;
}

static enum status given_diagonal(void *ctx, double *diag, const struct ctl *ctl, struct err *err)
{
    const struct by_columns *k = ctx;

    (void)ctl;
    (void)err;
    for (size_t i = 0; i < k->n; i++)
        diag[i] = k->K[i * k->n + i];
    return ST_OK;
}

static struct linop by_columns(struct by_columns *k)
{
    return (struct linop){ .n = k->n, .ctx = k, .columns = given_columns,
                           .diagonal = given_diagonal };
}

/* Pivots at random have the probabilities of 8.10: of a diagonal matrix g, pair i, j in that order
 * has g_i g_j / (sum (sum - g_i)).  Frequencies within 4 standard errors; pairs are told by their
 * product, which is the product of the preconditioner's eigenvalues. */
START_TEST(random_pivots_have_their_probabilities)
{
    enum { SIZE = 4, DRAWS = 4000 };
    static const double g[SIZE] = { 1.0, 2.0, 5.0, 11.0 };
    double K[SIZE * SIZE] = { 0 }, sum = 0.0;
    struct by_columns k = { SIZE, K };
    const struct linop A = by_columns(&k);
    size_t first[SIZE] = { 0 }, pairs[SIZE][SIZE] = { { 0 } };

    for (size_t i = 0; i < SIZE; i++) {
        K[i * SIZE + i] = g[i];
        sum += g[i];
    }
    for (uint64_t seed = 0; seed < DRAWS; seed++)
        for (size_t rank = 1; rank <= 2; rank++) {
            struct precond *p = NULL;
            const struct precond_opts o = { .rank = rank, .seed = seed };
            ck_assert_int_eq(precond_rpchol.build(&A, &o, NULL, &p, NULL), ST_OK);
            const double *ev = precond_eigenvalues(p);
            for (size_t i = 0; i < SIZE; i++)
                for (size_t j = 0; j < SIZE; j++)
                    if (rank == 1 && i == j && fabs(ev[0] - g[i]) < 1e-12)
                        first[i]++;
                    else if (rank == 2 && i > j && fabs(ev[0] - g[i]) < 1e-12 &&
                             fabs(ev[1] - g[j]) < 1e-12)
                        pairs[i][j]++;
            precond_free(p);
        }
    for (size_t i = 0; i < SIZE; i++)
        for (size_t j = 0; j <= i; j++) {
            const double q = i == j ? g[i] / sum
                                    : g[i] * g[j] / sum * (1.0 / (sum - g[i]) + 1.0 / (sum - g[j]));
            const double got = (double)(i == j ? first[i] : pairs[i][j]) / DRAWS;
            ck_assert_msg(fabs(got - q) <= 4.0 * sqrt(q * (1.0 - q) / DRAWS), "%zu %zu: %g, %g", i,
                          j, got, q);
        }
}
END_TEST

/* Among diagonals that are equal to rounding the smallest index is the pivot, also where it is not
 * among the largest of a block: L of a diagonal matrix has the roots of its first entries. */
START_TEST(pivots_of_equal_diagonals)
{
    enum { SIZE = 100, R = 40 };
    double *K = calloc(SIZE * SIZE + SIZE * R, sizeof *K), *F = K + SIZE * SIZE;
    size_t pivots[R];
    struct by_columns k = { SIZE, K };
    struct linop A = by_columns(&k);

    A.single = true;
    for (size_t i = 0; i < SIZE; i++)
        K[i * SIZE + i] = 1.0 + 1e-9 * (double)i;
    ck_assert_int_eq(pchol_factor(&A, R, F, pivots, NULL, NULL, NULL), ST_OK);
    for (size_t j = 0; j < R; j++) {
        ck_assert_uint_eq(pivots[j], j);
        for (size_t i = 0; i < SIZE; i++)
            ck_assert(fabs(F[j * SIZE + i] - (i == j ? sqrt(K[i * SIZE + i]) : 0.0)) < 1e-15);
    }
    free(K);
}
END_TEST

/* Matern-3/2, s = 1, 60 points: pivots, factor, what is left, determinants, and conjugate gradients
 * that need fewer steps. */
START_TEST(golden_pivoted_cholesky)
{
    enum { R = 15, MOST = 60 };
    const double noise = 0.01;
    size_t n, d, r, c, pivots[R], steps[2];
    double *X = support_golden("pchol_X", &n, &d), *at = support_golden("pchol_pivots", &r, &c);
    double *trace = support_golden("pchol_residual_trace", &r, &c);
    double *want = support_golden("pchol_L", &r, &c);
    double *dets = support_golden("pchol_logdetP", &r, &c);
    double K[MOST * MOST], root[MOST * MOST] = { 0 }, F[MOST * R], left[R], b[MOST], x[MOST];
    struct err err = { 0 };

    ck_assert_uint_eq(n, MOST);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double s = 0.0;
            for (size_t q = 0; q < d; q++)
                s += pow(X[i * d + q] - X[j * d + q], 2.0);
            const double a = sqrt(3.0 * s);
            K[i * n + j] = (1.0 + a) * exp(-a);
        }
    memcpy(root, K, sizeof K);
    ck_assert_int_eq(blas_dpotrf(NULL, n, root, n, NULL, NULL, NULL), ST_OK);
    for (size_t j = 0; j < n; j++) /* K = Z'Z with Z = L', whose rows are the columns of L */
        memset(root + j * n, 0, j * sizeof *root);
    struct fop *op = fop_dense_for_tests(root, n, n, n, NULL, NULL);
    struct by_columns given = { n, K };
    const struct linop systems[] = { solve_ridge(&(struct ridge){ op, 0.0 }), by_columns(&given) };
    for (size_t w = 0; w < 2; w++) { /* by products with Z, and from the columns themselves */
        ck_assert_msg(pchol_factor(&systems[w], R, F, pivots, left, NULL, &err) == ST_OK, "%s",
                      err.msg);
        for (size_t j = 0; j < R; j++) {
            ck_assert_uint_eq(pivots[j], (size_t)at[j]);
            ck_assert_msg(support_close(left[j], trace[j], 1e-10), "%zu: %g", j,
                          left[j] - trace[j]);
            for (size_t i = 0; i < n; i++)
                ck_assert(support_close(F[j * n + i], want[i * R + j], 1e-10));
        }
    }
    struct precond *p;
    const struct precond_opts o = { .rank = R };
    ck_assert_int_eq(precond_find("pchol", NULL)->build(SOLVE_RIDGE(op, 0.0), &o, NULL, &p, NULL),
                     ST_OK);
    double logdet = (double)(n - R) * log(noise), whole = 0.0;
    for (size_t i = 0; i < R; i++)
        logdet += log(precond_eigenvalues(p)[i] + noise);
    ck_assert(support_close(logdet, dets[0], 1e-10));
    for (size_t i = 0; i < n; i++)
        K[i * n + i] += noise;
    ck_assert_int_eq(blas_dpotrf(NULL, n, K, n, NULL, NULL, NULL), ST_OK);
    for (size_t i = 0; i < n; i++)
        whole += 2.0 * log(K[i * n + i]);
    ck_assert(support_close(whole, dets[1], 1e-10));
    precond_set_noise(p, noise);
    for (size_t i = 0; i < n; i++)
        b[i] = sin(3.0 * (double)i);
    for (size_t w = 0; w < 2; w++) {
        struct ridge ridge = { op, noise };
        const struct linop A = solve_ridge(&ridge);
        struct solve_info info;
        const struct solve_opts so = { .rtol = 1e-6, .maxit = 500, .pre = w ? p : NULL };
        ck_assert_int_eq(cg_solve(&A, 1, b, x, &so, NULL, &info, NULL), ST_OK);
        ck_assert_int_eq(info.why, OUT_RTOL);
        steps[w] = info.iterations;
        solve_info_free(&info);
    }
    ck_assert_uint_lt(3 * steps[1], 2 * steps[0]);
    precond_free(p);
    fop_free(op);
    free(X), free(at), free(trace), free(want), free(dets);
}
END_TEST

/* Every preconditioner of the registry. */

enum { N = 150, D = 40 };

static double *features(uint64_t seed, size_t n, size_t d)
{
    struct splitmix s;
    splitmix_init(&s, seed);
    double *z = malloc(n * d * sizeof *z);
    for (size_t i = 0; i < n * d; i++) /* columns of falling size: a spectrum to find */
        z[i] = splitmix_normal(&s) * pow(0.8, (double)(i % d));
    return z;
}

static size_t npreconds(void)
{
    size_t n = 0;
    while (precond_at(n))
        n++;
    return n;
}

START_TEST(identities)
{
    const struct precond_ops *ops = precond_at((size_t)_i);
    double *z = features(3, N, D), I[D * D], S[D * D], P[D * D], w[D];
    struct fop *op = fop_dense_for_tests(z, N, D, D, NULL, NULL);
    struct precond *p;
    ck_assert_ptr_eq(precond_find(ops->name, NULL), ops);
    const struct precond_opts o = { .rank = 12, .seed = 9 };
    ck_assert_int_eq(ops->build(SOLVE_RIDGE(op, 0.0), &o, NULL, &p, NULL), ST_OK);
    ck_assert_str_eq(precond_row(p)->name, ops->name);
    static const double noises[] = { 1.0, 1e-4, 30.0 };
    for (size_t q = 0; q < 3; q++) {
        precond_set_noise(p, noises[q]);
        memset(I, 0, sizeof I);
        for (size_t i = 0; i < D; i++)
            I[i + i * D] = 1.0;
        ck_assert_int_eq(precond_sqrt(p, NULL, D, I, S, NULL), ST_OK);
        ck_assert_int_eq(blas_dgemm(NULL, false, true, D, D, D, 1.0, S, D, S, D, 0.0, P, D, NULL),
                         ST_OK);
        memcpy(I, P, sizeof I); /* P^-1 P = I, in place */
        ck_assert_int_eq(precond_apply(p, NULL, D, I, I, NULL), ST_OK);
        for (size_t i = 0; i < D; i++)
            for (size_t j = 0; j < D; j++) {
                ck_assert_double_eq_tol(I[i + j * D], i == j, 1e-9);
                ck_assert_double_eq_tol(P[i + j * D], P[j + i * D], 1e-9 * P[0]);
            }
        ck_assert_int_eq(blas_dsyevd(D, P, D, w, false, NULL), ST_OK);
        double logdet = 0.0;
        for (size_t i = 0; i < D; i++)
            logdet += log(w[i]);
        ck_assert_double_eq_tol(logdet, precond_logdet(p), 1e-8 * (1.0 + fabs(logdet)));
        if (precond_eigenvalues(p))
            ck_assert_double_eq_tol(precond_ratio(p), precond_eigenvalues(p)[11] / noises[q],
                                    1e-12 * precond_ratio(p));
        else
            ck_assert(isnan(precond_ratio(p)));
    }
    precond_free(p);
    fop_free(op);
    free(z);
}
END_TEST

/* The whole factor where rounding leaves Z'Z indefinite by more than the noise: a little more noise
 * makes it one that serves, here on columns that are all sums of three. */
START_TEST(whole_factor_of_low_rank)
{
    enum { n = 90 };
    const struct precond_ops *ops = precond_find("gram", NULL);
    double *a = features(5, n, 3), *z = malloc(sizeof *z * n * D), b[D], x[D];
    struct precond *p;
    struct solve_info info;
    const struct precond_opts po = { .lam2 = 1e-16 };

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < D; j++)
            z[i * D + j] =
                100.0 * (a[i * 3] * sin((double)j) + a[i * 3 + 1] * cos(2.0 * (double)j) +
                         a[i * 3 + 2] / (1.0 + (double)j));
    struct fop *op = fop_dense_for_tests(z, n, D, D, NULL, NULL);
    ck_assert_int_eq(ops->build(SOLVE_RIDGE(op, 0.0), &po, NULL, &p, NULL), ST_OK);
    precond_set_noise(p, 1e-3);
    ck_assert_int_eq(fop_ztv(op, 1, z, b, NULL, NULL), ST_OK); /* in the range of Z' */
    struct ridge ridge = { op, 1e-3 };
    const struct linop A = solve_ridge(&ridge);
    const struct solve_opts o = { .rtol = 1e-8, .maxit = 100, .pre = p };
    ck_assert_int_eq(cg_solve(&A, 1, b, x, &o, NULL, &info, NULL), ST_OK);
    ck_assert_int_eq(info.why, OUT_RTOL);
    ck_assert_uint_le(info.iterations, 20);
    solve_info_free(&info);
    precond_free(p);
    fop_free(op);
    free(a), free(z);
}
END_TEST

/* Full rank: the approximation is exact, so P is A over its smallest eigenvalue. */
START_TEST(full_rank_is_exact)
{
    double *z = features(4, N, D), A[D * D], w[D];
    struct fop *op = fop_dense_for_tests(z, N, D, D, NULL, NULL);
    static const char *const names[] = { "gauss", "srht", "srht2", "pchol" };
    ck_assert_int_eq(fop_gram(op, NULL, A, NULL, NULL, NULL, NULL), ST_OK);
    ck_assert_int_eq(blas_dsyevd(D, A, D, w, false, NULL), ST_OK);
    for (size_t q = 0; q < 4; q++) {
        struct precond *p;
        const struct precond_opts o = { .rank = D, .seed = 1 };
        ck_assert_int_eq(precond_find(names[q], NULL)->build(SOLVE_RIDGE(op, 0.0), &o, NULL, &p,
                                                             NULL), ST_OK);
        for (size_t i = 0; i < D; i++)
            ck_assert_double_eq_tol(precond_eigenvalues(p)[i], w[D - 1 - i], 1e-10 * w[D - 1]);
        precond_free(p);
    }
    fop_free(op);
    free(z);
}
END_TEST

/* The factor of Z'Z leaves next to nothing to do, also where the noise is far below single
 * precision's reach of the largest eigenvalue; and serves any number of right-hand sides. */
START_TEST(whole_factor)
{
    enum { K = 3 };
    double *z = features(10, N, D), *b = features(11, K, D), X[K * D], R[K * D];
    const double noise = _i ? 1e-3 : 1.0;
    struct fop *op = fop_dense_for_tests(z, N, D, D, NULL, NULL);
    struct precond *p;
    struct solve_info info[K];
    ck_assert_int_eq(
        precond_find("gram", NULL)->build(SOLVE_RIDGE(op, 0.0), &(struct precond_opts){.lam2 = 7.0},
                                          NULL, &p, NULL),
        ST_OK);
    ck_assert_uint_eq(precond_rank(p), 0);
    precond_set_noise(p, noise);
    const struct solve_opts o = { .rtol = 1e-11, .maxit = 50, .pre = p };
    ck_assert_int_eq(
        solver_find("pcg", NULL)->solve(SOLVE_RIDGE(op, noise), K, b, X, &o, NULL, info, NULL),
        ST_OK);
    ck_assert_int_eq(fop_pass(op, K, X, R, NULL, NULL), ST_OK);
    for (size_t c = 0; c < K; c++) {
        ck_assert_int_eq(info[c].why, OUT_RTOL);
        ck_assert_uint_le(info[c].iterations, 3);
        for (size_t i = 0; i < D; i++)
            ck_assert_double_eq_tol(R[c * D + i] + noise * X[c * D + i], b[c * D + i], 1e-9);
        solve_info_free(&info[c]);
    }
    precond_free(p);
    fop_free(op);
    free(z), free(b);
}
END_TEST

/* Fewer independent columns than the rank asked for: eigenvalues end in zeros, nothing breaks. */
START_TEST(rank_deficient)
{
    double *z = features(5, N, D), x[D], y[D];
    struct precond *p;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 5; j < D; j++)
            z[i * D + j] = j < 30 ? z[i * D + j % 5] : 0.0;
    struct fop *op = fop_dense_for_tests(z, N, D, D, NULL, NULL);
    for (size_t q = 2; q < npreconds(); q++) {
        const struct precond_opts o = { .rank = 20, .seed = 2 };
        ck_assert_int_eq(precond_at(q)->build(SOLVE_RIDGE(op, 0.0), &o, NULL, &p, NULL), ST_OK);
        const double *ev = precond_eigenvalues(p);
        for (size_t i = 1; ev && i < 20; i++)
            ck_assert(ev[i] >= 0.0 && ev[i] <= ev[i - 1] && (i < 5 || ev[i] < 1e-10 * ev[0]));
        for (size_t i = 0; i < D; i++)
            x[i] = (double)i - 3.0;
        ck_assert_int_eq(precond_apply(p, NULL, 1, x, y, NULL), ST_OK);
        ck_assert_double_gt(blas_ddot(D, x, y), 0.0);
        precond_free(p);
    }
    fop_free(op);
    free(z);
}
END_TEST

START_TEST(refusals)
{
    double *z = features(6, N, D);
    struct fop *op = fop_dense_for_tests(z, N, D, D, NULL, NULL);
    struct precond *p;
    struct err err = { 0 };
    struct precond_opts o = { .rank = D + 1 };
    ck_assert_int_eq(precond_find("srht2", NULL)->build(SOLVE_RIDGE(op, 0.0), &o, NULL, &p, &err),
                     ST_RANGE);
    ck_assert(err.hint[0] && p == NULL);
    o.rank = 0;
    ck_assert_int_eq(precond_find("gauss", NULL)->build(SOLVE_RIDGE(op, 0.0), &o, NULL, &p, &err),
                     ST_RANGE);
    ck_assert_ptr_null(precond_find("cholesky", &err));
    ck_assert_int_eq(err.code, ST_NOT_FOUND);
    struct cancel stop;
    atomic_init(&stop.stop, true);
    const struct ctl ctl = { .cancel = &stop };
    o.rank = 8;
    for (size_t q = 0; q < npreconds(); q++) {
        if (precond_at(q)->identity) /* there is nothing to stop */
            continue;
        ck_assert_int_eq(precond_at(q)->build(SOLVE_RIDGE(op, 0.0), &o, &ctl, &p, &err),
                         ST_CANCELLED);
        ck_assert_ptr_null(p);
    }
    z[7] = NAN;
    ck_assert_int_eq(precond_find("srht2", NULL)->build(SOLVE_RIDGE(op, 0.0), &o, NULL, &p, &err),
                     ST_RANGE);
    fop_free(op);
    free(z);
}
END_TEST

/* Every allocation fails once: an error or a success, never a leak or a crash. */
START_TEST(out_of_memory)
{
    double *z = features(7, N, D);
    struct fop *op = fop_dense_for_tests(z, N, D, D, NULL, NULL);
    for (size_t q = 0; q < npreconds(); q++) {
        const struct precond_opts o = { .rank = 8, .seed = 1 };
        bool done = false;
        for (size_t nth = 1; !done && nth < 60; nth++) {
            struct precond *p = NULL;
            struct err err = { 0 };
            mem_fail_after_for_tests(nth);
            const enum status rc = precond_at(q)->build(SOLVE_RIDGE(op, 0.0), &o, NULL, &p, &err);
            mem_fail_after_for_tests(0);
            ck_assert(rc == ST_OK || rc == ST_NOMEM);
            done = rc == ST_OK;
            precond_free(p);
        }
        ck_assert(done);
    }
    fop_free(op);
    free(z);
}
END_TEST

START_TEST(same_bits_for_any_thread_count)
{
    enum { n = 700, m = 300, rank = 70 };
    static const size_t threads[] = { 1, 2, 3, 8 };
    double *z = features(8, n, m), *x = malloc(2 * m * sizeof *x);
    double *first = malloc(sizeof *x * (2 * m + rank)), *now = malloc(sizeof *x * (2 * m + rank));
    for (size_t q = 1; q < npreconds(); q++)
        for (size_t t = 0; t < 4; t++) {
            struct pool *pool = pool_new(threads[t], NULL);
            struct fop *op = fop_dense_for_tests(z, n, m, m, pool, NULL);
            struct precond *p;
            const struct precond_opts o = { .rank = rank, .seed = 11 };
            ck_assert_int_eq(precond_at(q)->build(SOLVE_RIDGE(op, 0.0), &o, NULL, &p, NULL), ST_OK);
            for (size_t i = 0; i < 2 * m; i++)
                x[i] = (double)(i % 17) - 5.0;
            memset(now, 0, sizeof *now * (2 * m + rank));
            ck_assert_int_eq(precond_apply(p, pool, 2, x, now, NULL), ST_OK);
            if (precond_eigenvalues(p))
                memcpy(now + 2 * m, precond_eigenvalues(p), rank * sizeof *now);
            if (t == 0)
                memcpy(first, now, sizeof *now * (2 * m + rank));
            ck_assert_int_eq(memcmp(first, now, sizeof *now * (2 * m + rank)), 0);
            precond_free(p);
            fop_free(op);
            pool_free(pool);
        }
    free(z), free(x), free(first), free(now);
}
END_TEST

/* A diagonal matrix by itself against the operator whose Z is its root: the same construction. */
START_TEST(diagonal_as_its_operator)
{
    enum { SIDE = 60, RANK = 7 };
    double *root = calloc(SIDE * SIDE, sizeof *root), diagonal[SIDE],
           *Omega = malloc(sizeof *Omega * SIDE * RANK);
    double x[SIDE], by_f[SIDE], by_d[SIDE];
    struct precond *p = NULL, *q = NULL;

    for (size_t i = 0; i < SIDE; i++) {
        diagonal[i] = 5.0 * pow(0.8, (double)i);
        root[i * SIDE + i] = sqrt(diagonal[i]);
        x[i] = cos((double)(3 * i));
    }
    for (size_t i = 0; i < SIDE * RANK; i++)
        Omega[i] = rng_normal(4, rng_stream(RNG_TEST, 8), i);
    struct fop *dense = fop_dense_for_tests(root, SIDE, SIDE, SIDE, NULL, NULL);
    for (int passes = 1; passes <= 3; passes++) {
        ck_assert_int_eq(nystrom_build_for_tests(dense, RANK, Omega, true, passes, NULL, &p, NULL),
                         ST_OK);
        ck_assert_int_eq(nystrom_diagonal(SIDE, diagonal, RANK, Omega, passes, NULL, &q, NULL),
                         ST_OK);
        precond_set_noise(p, 0.01);
        precond_set_noise(q, 0.01);
        ck_assert_int_eq(precond_apply(p, NULL, 1, x, by_f, NULL), ST_OK);
        ck_assert_int_eq(precond_apply(q, NULL, 1, x, by_d, NULL), ST_OK);
        ck_assert_double_eq_tol(precond_ratio(p) / precond_ratio(q), 1.0, 1e-9);
        for (size_t i = 0; i < SIDE; i++)
            ck_assert_double_eq_tol(by_f[i], by_d[i], 1e-9 * (1.0 + fabs(by_f[i])));
        precond_free(p);
        precond_free(q);
    }
    ck_assert_int_eq(nystrom_diagonal(SIDE, diagonal, SIDE + 1, Omega, 1, NULL, &q, NULL),
                     ST_RANGE);
    fop_free(dense);
    free(root), free(Omega);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("precond");
    TCase *t = tcase_create("registry");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, blas_init, NULL);
    tcase_add_loop_test(t, whole_factor, 0, 2);
    tcase_add_loop_test(t, identities, 0, (int)npreconds());
    tcase_add_test(t, diagonal_as_its_operator);
    tcase_add_test(t, whole_factor_of_low_rank);
    tcase_add_test(t, full_rank_is_exact);
    tcase_add_test(t, rank_deficient);
    tcase_add_test(t, refusals);
    tcase_add_test(t, out_of_memory);
    tcase_add_test(t, same_bits_for_any_thread_count);
    tcase_add_test(t, random_pivots_have_their_probabilities);
    tcase_add_test(t, pivots_of_equal_diagonals);
    suite_add_tcase(s, t);
    if (support_shared("golden/nys_ZtZ.csv")) {
        t = tcase_create("golden");
        tcase_set_timeout(t, 60);
        tcase_add_checked_fixture(t, golden_setup, golden_teardown);
        tcase_add_loop_test(t, golden_nystrom, 0, 5);
        tcase_add_loop_test(t, golden_steps, 0, 5);
        tcase_add_loop_test(t, golden_errors, 0, 5);
        tcase_add_test(t, golden_plain_steps);
        tcase_add_test(t, golden_lanczos_terms);
        tcase_add_test(t, golden_pivoted_cholesky);
        suite_add_tcase(s, t);
    }
    return support_run(s);
}
