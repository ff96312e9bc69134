/* compute/models/joint.c -- see joint.h.  At amplitude 1, with the factor L of the fit and V = L^-1
 * k(X, P) for the rows P: C = k(P, P) - V'V = R R', and a draw is the mean + amplitude R e. */
#include "compute/models/joint.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool joint_can(const struct model *m, size_t n)
{
    return m->kind->exact && m->L != NULL && m->Mv == m->M && n <= JOINT_ROWS;
}

/* R (n x n, lower triangle) <- the factor of C.  Rows that are nearly equal, or nearly known, leave
 * the matrix indefinite by rounding; a growing jitter mends that. */
static enum status factor(const struct exact_rows *pool, size_t M, const double *V, double *R,
                          const struct ctl *ctl, struct err *err)
{
    enum { BLOCK = 256 };
    const size_t n = pool->n;

    for (double jitter = 1e-12 + 1e-14 * (double)n;; jitter *= 100.0) {
        enum status rc = exact_matrix(pool, jitter, R, ctl, err);
        for (size_t j = 0; rc == ST_OK && j < n; j += BLOCK) {
            const size_t k = n - j < BLOCK ? n - j : BLOCK;
            rc = blas_dgemm(pool->pool, true, false, n - j, k, M, -1.0, V + j * M, M, V + j * M, M,
                            1.0, R + j * n + j, n, err);
        }
        if (rc == ST_OK)
            rc = blas_dpotrf(pool->pool, n, R, n, ctl, NULL, err);
        if (rc != ST_NOT_PD || jitter >= 1e-4)
            return rc;
        err_clear(err);
    }
}

/* F <- mean + amplitude R e for each draw. */
static enum status draws(const struct model *m, const struct functions_key *key, size_t n,
                         const double *mean, double *R, double *F, const struct tools *on,
                         struct err *err)
{
    const size_t S = key->count;
    const double amplitude = m->amplitudes[key->target];
    double *e = mem_calloc(S, n * sizeof *e, "normal numbers", err);

    if (e == NULL)
        return ST_NOMEM;
    for (size_t j = 1; j < n; j++)
        memset(R + j * n, 0, j * sizeof *R);
    for (size_t s = 0; s < S; s++)
        for (size_t i = 0; i < n; i++) {
            e[s * n + i] = rng_normal(key->seed, rng_stream(RNG_JOINT, (uint32_t)key->target),
                                      (uint64_t)(key->first + s) << 32 | i);
            F[s * n + i] = mean[key->target * n + i];
        }
    const enum status rc = blas_dgemm(on->pool, false, false, n, S, n, amplitude, R, n, e, n, 1.0,
                                      F, n, err);
    free(e);
    return rc;
}

enum status joint_values(const struct model *m, const struct source *src,
                         const struct functions_key *key, const struct tools *on, double *F,
                         struct err *err)
{
    const size_t n = src->n, M = m->M;
    double *mean = mem_calloc(m->t + 1, n * sizeof *mean, "predictions", err), *V = NULL, *R = NULL;
    enum status rc = mean ? model_predict(m, src, mean, NULL, on, err) : ST_NOMEM;
    double *P = rc == ST_OK ? exact_inputs(src, err) : NULL;

    if (rc == ST_OK && P == NULL)
        rc = err_status(err);
    if (rc == ST_OK) {
        V = mem_aligned(M * n + 1, sizeof *V, "covariances", err);
        R = V ? mem_aligned(n * n + 1, sizeof *R, "the covariance of the rows", err) : NULL;
        rc = R ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK) {
        const struct exact_rows train = { .k = &m->kernel, .hp = m->hp, .X = m->X, .n = M,
                                          .d = m->d, .pool = on->pool };
        exact_cross_wide(&train, P, src->d, n, V);
        rc = blas_dtrsm(on->pool, false, M, n, m->L, M, V, M, err);
    }
    if (rc == ST_OK) {
        const struct exact_rows pool = { .k = &m->kernel, .hp = m->hp, .X = P, .n = n, .d = src->d,
                                         .pool = on->pool };
        rc = factor(&pool, M, V, R, on->ctl, err);
    }
    if (rc == ST_OK)
        rc = draws(m, key, n, mean, R, F, on, err);
    free(mean);
    free(P);
    free(V);
    free(R);
    return rc;
}
