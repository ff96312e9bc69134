/* compute/preconds/gram.c -- the Cholesky factor of Z'Z + lam2 I itself (M x M), with Z'Z summed in
 * lower precision than the operator's: in single precision here, and on a device with features in
 * half precision.  Its error is all that is left to conjugate gradients: a few iterations, as in
 * iterative refinement (share/doc/methods.md 8).
 *
 * A device keeps its own factor (fop_factor).  When the CPU applies the preconditioner, it makes a
 * factor of its own at the first call: one matrix, with Z'Z in the strict upper triangle and the
 * factor for the current lam2 in the lower one. */
#include "compute/preconds/precond_impl.h"

#include "compute/linalg/blas.h"
#include "compute/linalg/blas_kernels.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct whole {
    struct fop *f;        /* borrowed; outlives the preconditioner */
    pthread_mutex_t lock; /* several threads may apply it */
    bool there;           /* the device has a factor, */
    double there_lam2;    /* for this lam2 */
    double *A, *diag;     /* M x M: Z'Z above, factor below; M: diagonal of Z'Z */
    double lam2;          /* of the factor in A; NaN: none */
};

static void gram_free(struct precond *p)
{
    struct whole *w = p->whole;

    if (!w)
        return;
    pthread_mutex_destroy(&w->lock);
    free(w->A);
    free(w->diag);
    free(w);
}

/* Z'Z (M x M) into A and its diagonal into diag. */
static enum status make_gram(struct whole *w, const struct ctl *ctl, struct err *err)
{
    const size_t M = fop_cols(w->f);
    double *A = mem_aligned(M * (M + 1), sizeof *A, "Z'Z as a preconditioner", err);
    enum status rc = A ? fop_gram(w->f, NULL, A, NULL, NULL, ctl, err) : ST_NOMEM;

    w->diag = rc == ST_OK ? mem_aligned(M, sizeof *w->diag, "Z'Z as a preconditioner", err) : NULL;
    if (rc == ST_OK && !w->diag)
        rc = ST_NOMEM;
    if (rc != ST_OK) {
        free(A);
        return rc;
    }
    for (size_t i = 0; i < M; i++)
        w->diag[i] = A[i + i * M];
    w->A = A;
    w->lam2 = NAN;
    return ST_OK;
}

/* The factor for lam2, or, where rounding has made Z'Z indefinite, for lam2 plus a shift that
 * starts at 1e-8 of the largest diagonal and grows tenfold.  A preconditioner may be that
 * inexact. */
static enum status make_factor(struct whole *w, double lam2, struct pool *pool,
                               const struct ctl *ctl, struct err *err)
{
    const size_t M = fop_cols(w->f);
    enum status rc = ST_NOT_PD;
    double largest = 0.0, shift = 0.0;

    for (size_t i = 0; i < M; i++)
        largest = fmax(largest, w->diag[i]);
    for (int i = 0; i < 8 && rc == ST_NOT_PD; i++) {
        err_clear(err);
        for (size_t j = 0; j < M; j++) {
            w->A[j + j * M] = w->diag[j] + lam2 + shift;
            for (size_t q = j + 1; q < M; q++)
                w->A[q + j * M] = w->A[j + q * M];
        }
        rc = blas_dpotrf(pool, M, w->A, M, ctl, NULL, err);
        shift = shift > 0.0 ? 10.0 * shift : 1e-8 * largest;
    }
    w->lam2 = rc == ST_OK ? lam2 : NAN;
    return rc;
}

/* Makes the CPU's factor for the current lam2 if it is not there. */
static enum status ready(const struct precond *p, struct pool *pool, struct err *err)
{
    struct whole *w = p->whole;
    enum status rc = ST_OK;

    pthread_mutex_lock(&w->lock);
    if (!w->A)
        rc = make_gram(w, NULL, err);
    if (rc == ST_OK && w->lam2 != p->lam2)
        rc = make_factor(w, p->lam2, pool, NULL, err);
    pthread_mutex_unlock(&w->lock);
    return rc;
}

static enum status gram_apply(const struct precond *p, struct pool *pool, bool root, size_t k,
                              double *Y, struct err *err)
{
    enum status rc = ready(p, pool, err);
    const double *L = p->whole->A;

    for (size_t c = 0; root && rc == ST_OK && c < k; c++)
        blas_trmm1(false, p->M, 1, L, p->M, Y + c * p->M, p->M);
    if (root || rc != ST_OK)
        return rc;
    rc = blas_dtrsm(pool, false, p->M, k, L, p->M, Y, p->M, err);
    return rc == ST_OK ? blas_dtrsm(pool, true, p->M, k, L, p->M, Y, p->M, err) : rc;
}

static double gram_logdet(const struct precond *p)
{
    double sum = 0.0;

    if (ready(p, NULL, NULL) != ST_OK)
        return NAN;
    for (size_t i = 0; i < p->M; i++)
        sum += 2.0 * log(p->whole->A[i + i * p->M]);
    return sum;
}

static bool gram_there(const struct precond *p)
{
    struct whole *w = p->whole;

    pthread_mutex_lock(&w->lock);
    if (w->there && w->there_lam2 != p->lam2) {
        w->there = fop_factor(w->f, p->lam2, NULL, NULL) == ST_OK;
        w->there_lam2 = p->lam2;
    }
    const bool there = w->there;
    pthread_mutex_unlock(&w->lock);
    return there;
}

static enum status gram_build(const struct linop *A, const struct precond_opts *opts,
                              const struct ctl *ctl, struct precond **out, struct err *err)
{
    struct fop *f = A->fop;

    *out = NULL;
    if (f == NULL) {
        err_named(err, ST_UNSUPPORTED, "precond-features",
                  "precond=gram is a factor of Z'Z, which an exact kernel does not have");
        err_hint(err, "fit model=exact solver=pcg precond=pchol, or fit solver=exact");
        return ST_UNSUPPORTED;
    }
    struct precond *p = precond_new(&precond_gram, fop_cols(f), err);
    struct whole *w = p ? mem_calloc(1, sizeof *w, "preconditioner", err) : NULL;
    enum status rc = w ? ST_OK : ST_NOMEM;

    if (w) {
        *w = (struct whole){.f = f, .lam2 = NAN, .there_lam2 = opts->lam2 > 0.0 ? opts->lam2 : 1.0};
        pthread_mutex_init(&w->lock, NULL);
        p->whole = w;
        p->lam2 = w->there_lam2;
        ctl_tell(ctl, PHASE_PRECOND, 0, 2, NAN);
        rc = fop_factor(f, w->there_lam2, ctl, err);
        w->there = rc == ST_OK;
        if (rc == ST_UNSUPPORTED)
            rc = make_gram(w, ctl, err);
    }
    ctl_tell(ctl, PHASE_PRECOND, 1, 2, NAN);
    if (rc == ST_OK && !w->there)
        rc = make_factor(w, p->lam2, fop_pool(f), ctl, err);
    if (rc != ST_OK) {
        precond_free(p);
        return rc;
    }
    *out = p;
    return ST_OK;
}

static const struct precond_own own = {
    .free = gram_free, .apply = gram_apply, .logdet = gram_logdet, .there = gram_there,
};

const struct precond_ops precond_gram = {
    .name = "gram",
    .title = "Cholesky factor of Z'Z",
    .help = "the whole factor, summed in lower precision: few iterations, n M^2 work and M^2 "
            "memory",
    .build = gram_build,
    .factored = true,
    .own = &own,
};
