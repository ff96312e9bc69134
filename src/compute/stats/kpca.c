/* compute/stats/kpca.c -- kernel PCA in feature space: principal directions of the centred features
 * (share/doc/methods.md 12.1).
 *
 * n C = Z'Z - n mu mu' is M x M and has the nonzero eigenvalues of the centred n x n kernel matrix.
 * With up to EXACT_FEATURES columns it is formed and decomposed.  With more it is only multiplied:
 * subspace iteration (Halko, Martinsson & Tropp 2011) on p + SPARE directions, each step one pass
 * over the data, until the wanted eigenvalues no longer change. */
#include "compute/stats/kpca.h"

#include "base/mem.h"
#include "compute/features/fop_rows.h"
#include "compute/linalg/blas.h"
#include "compute/preconds/precond.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXACT_FEATURES = 1024, /* up to here the covariance itself is decomposed */
    SPARE = 16,            /* directions beyond those asked for */
    SWEEPS = 10,
    BLOCK = 16             /* columns projected at once */
};

void kpca_free(struct kpca *k)
{
    if (!k)
        return;
    free(k->mu);
    free(k->V);
    free(k->ev);
    *k = (struct kpca){ 0 };
}

/* k->mu := mean feature. */
static enum status mean_feature(struct fop *f, struct kpca *k, const struct ctl *ctl,
                                struct err *err)
{
    const size_t n = fop_rows(f);
    double *one = mem_calloc(n, sizeof *one, "mean feature", err);
    if (!one)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++)
        one[i] = 1.0;
    const enum status rc = fop_ztv(f, 1, one, k->mu, ctl, err);
    free(one);
    if (rc == ST_OK)
        blas_dscal(k->M, 1.0 / (double)n, k->mu);
    return rc;
}

/* Column `from` of V, its sign fixed, becomes direction `to`. */
static void take_direction(struct kpca *k, size_t to, const double *v, double ev)
{
    double *out = k->V + to * k->M, top = 0.0;
    for (size_t i = 0; i < k->M; i++)
        if (fabs(v[i]) > fabs(top))
            top = v[i];
    for (size_t i = 0; i < k->M; i++)
        out[i] = top < 0.0 ? -v[i] : v[i];
    k->ev[to] = fmax(ev, 0.0);
}

/* n C = Z'Z - n mu mu' is formed and decomposed. The subtraction loses digits only where the
 * features are nearly constant, and such directions have small eigenvalues. */
static enum status fit_exact(struct fop *f, struct kpca *k, const struct ctl *ctl, struct err *err)
{
    const size_t M = k->M;
    const double n = (double)fop_rows(f);
    double *C = mem_aligned(M * (M + k->p) + k->p, sizeof *C, "feature covariance", err);
    if (!C)
        return ST_NOMEM;
    double *V = C + M * M, *w = V + M * k->p;
    enum status rc = fop_gram(f, NULL, C, NULL, NULL, ctl, err);
    if (rc == ST_OK) {
        for (size_t j = 0; j < M; j++)
            blas_daxpy(M, -n * k->mu[j], k->mu, C + j * M);
        k->total = 0.0;
        for (size_t j = 0; j < M; j++)
            k->total += C[j + j * M];
        rc = blas_dsyevr(M, k->p, C, M, w, V, M, err);
    }
    for (size_t j = 0; rc == ST_OK && j < k->p; j++)
        take_direction(k, j, V + (k->p - 1 - j) * M, w[k->p - 1 - j]);
    free(C);
    return rc;
}

/* Y = (Z'Z - n mu mu') Q, Q and Y of M x L: a sketch less the rank-one part, so that no centred
 * copy of Z is needed. */
static enum status centred_sketch(struct fop *f, const struct kpca *k, size_t L, const double *Q,
                                  double *Y, const struct ctl *ctl, struct err *err)
{
    const enum status rc = fop_sketch(f, L, Q, Y, ctl, err);
    const double n = (double)fop_rows(f);
    for (size_t c = 0; rc == ST_OK && c < L; c++)
        blas_daxpy(k->M, -n * blas_ddot(k->M, k->mu, Q + c * k->M), k->mu, Y + c * k->M);
    return rc;
}

/* Rayleigh-Ritz: T = Q'Y = S diag(w) S' (L x L), eigenvalues ascending; S overwrites T.  T is
 * symmetric but for rounding; the mean of its two triangles is decomposed. */
static enum status ritz(struct pool *pool, size_t M, size_t L, const double *Q, const double *Y,
                        double *T, double *w, struct err *err)
{
    enum status rc = blas_dgemm(pool, true, false, L, L, M, 1.0, Q, M, Y, M, 0.0, T, L, err);
    for (size_t j = 0; rc == ST_OK && j < L; j++)
        for (size_t i = j + 1; i < L; i++)
            T[i + j * L] = 0.5 * (T[i + j * L] + T[j + i * L]);
    return rc == ST_OK ? blas_dsyevd(L, T, L, w, true, err) : rc;
}

/* True if no wanted eigenvalue has changed by more than 1e-6 of the largest one. */
static bool settled(size_t p, size_t L, const double *w, const double *before)
{
    for (size_t j = 0; j < p; j++)
        if (!(fabs(w[L - 1 - j] - before[L - 1 - j]) <= 1e-6 * w[L - 1]))
            return false;
    return true;
}

/* Subspace iteration: Q := orthonormal basis of n C Q, made orthonormal anew by QR after every
 * step, since its columns would all turn towards the leading direction otherwise. */
static enum status fit_random(struct fop *f, struct kpca *k, uint64_t seed, const struct ctl *ctl,
                              struct err *err)
{
    const size_t M = k->M, L = k->p + SPARE < M ? k->p + SPARE : M;
    struct pool *pool = fop_pool(f);
    double *Q = mem_aligned(2 * M * L + L * (L + 2), sizeof *Q, "principal directions", err);
    if (!Q)
        return ST_NOMEM;
    double *Y = Q + M * L, *T = Y + M * L, *w = T + L * L, *before = w + L;
    for (size_t i = 0; i < M * L; i++)
        Q[i] = rng_normal(seed, rng_stream(RNG_PCA, 0), i);
    memset(before, 0, L * sizeof *before);
    enum status rc = blas_dqr(pool, M, L, Q, M, err);
    for (int sweep = 0; rc == ST_OK; sweep++) {
        ctl_tell(ctl, PHASE_PCA, (size_t)sweep, SWEEPS, NAN);
        rc = centred_sketch(f, k, L, Q, Y, ctl, err);
        if (rc == ST_OK)
            rc = ritz(pool, M, L, Q, Y, T, w, err);
        if (rc != ST_OK || sweep + 1 == SWEEPS || settled(k->p, L, w, before))
            break;
        memcpy(before, w, L * sizeof *before);
        memcpy(Q, Y, M * L * sizeof *Q);
        rc = blas_dqr(pool, M, L, Q, M, err);
    }
    if (rc == ST_OK) /* Y is free: Q S, ascending */
        rc = blas_dgemm(pool, false, false, M, L, L, 1.0, Q, M, T, L, 0.0, Y, M, err);
    for (size_t j = 0; rc == ST_OK && j < k->p; j++)
        take_direction(k, j, Y + (L - 1 - j) * M, w[L - 1 - j]);
    free(Q);
    return rc;
}

/* Sum of all eigenvalues: trace of Z'Z - n mu mu'. */
static enum status total_variance(struct fop *f, struct kpca *k, const struct ctl *ctl,
                                  struct err *err)
{
    double *diag = mem_calloc(k->M, sizeof *diag, "feature variances", err);
    if (!diag)
        return ST_NOMEM;
    const enum status rc = fop_diagonal(f, diag, ctl, err);
    k->total = -(double)fop_rows(f) * blas_ddot(k->M, k->mu, k->mu);
    for (size_t j = 0; j < k->M; j++)
        k->total += diag[j];
    free(diag);
    return rc;
}

enum status kpca_fit(struct fop *f, size_t p, uint64_t seed, const struct ctl *ctl, struct kpca *k,
                     struct err *err)
{
    const size_t M = fop_cols(f);
    *k = (struct kpca){ .M = M, .p = p };
    if (p < 1 || p > M)
        return err_set(err, ST_RANGE, "%zu components of %zu features: between 1 and %zu", p, M, M);
    if (fop_rows(f) == 0)
        return err_set(err, ST_RANGE, "no rows to analyse");
    k->mu = mem_calloc(M, sizeof *k->mu, "mean feature", err);
    k->V = k->mu ? mem_aligned(M * p, sizeof *k->V, "principal directions", err) : NULL;
    k->ev = k->V ? mem_calloc(p, sizeof *k->ev, "principal variances", err) : NULL;
    enum status rc = k->ev ? mean_feature(f, k, ctl, err) : ST_NOMEM;
    if (rc == ST_OK && M <= EXACT_FEATURES) {
        rc = fit_exact(f, k, ctl, err);
    } else if (rc == ST_OK) {
        rc = total_variance(f, k, ctl, err);
        if (rc == ST_OK)
            rc = fit_random(f, k, seed, ctl, err);
    }
    if (rc != ST_OK)
        kpca_free(k);
    return rc;
}

/* Rows of coordinates from the m columns T (n each) of directions j on, less their centres. */
struct turn {
    size_t n, p, j, m;
    const double *T;
    double *coords, centre[BLOCK];
};
enum { TURN_ROWS = 4096 };

static void turn_rows(void *ctx, size_t task, size_t worker)
{
    const struct turn *t = ctx;
    const size_t end = (task + 1) * TURN_ROWS < t->n ? (task + 1) * TURN_ROWS : t->n;

    (void)worker;
    for (size_t i = task * TURN_ROWS; i < end; i++)
        for (size_t c = 0; c < t->m; c++)
            t->coords[i * t->p + t->j + c] = t->T[c * t->n + i] - t->centre[c];
}

enum status kpca_project(const struct kpca *k, struct fop *f, double *coords,
                         const struct ctl *ctl, struct err *err)
{
    const size_t n = fop_rows(f), p = k->p;
    if (fop_cols(f) != k->M)
        return err_set(err, ST_SHAPE, "directions of %zu features, data of %zu", k->M, fop_cols(f));
    double *T = mem_aligned(n * (p < BLOCK ? p : BLOCK), sizeof *T, "coordinates", err);
    enum status rc = T ? ST_OK : ST_NOMEM;
    for (size_t j = 0; rc == ST_OK && j < p; j += BLOCK) {
        const size_t m = p - j < BLOCK ? p - j : BLOCK;
        rc = fop_zp(f, m, k->V + j * k->M, T, ctl, err);
        struct turn turn = { .n = n, .p = p, .j = j, .m = m, .T = T, .coords = coords };
        for (size_t c = 0; c < m; c++)
            turn.centre[c] = blas_ddot(k->M, k->mu, k->V + (j + c) * k->M);
        if (rc == ST_OK)
            pool_run(fop_pool(f), (n + TURN_ROWS - 1) / TURN_ROWS, turn_rows, &turn);
    }
    free(T);
    return rc;
}
