/* compute/preconds/precond.c -- making, applying and querying a preconditioner.
 *
 * Nystrom (Frangella, Tropp & Udell 2023; share/doc/methods.md 8.5 to 8.7): with G = Z'Z ~
 * U diag(ev) U', U (M x L) with orthonormal columns, ev descending and bL = ev_L,
 *   P^-1   = I + U diag((bL + lam2) / (ev + lam2) - 1) U'
 *   P^1/2  = I + U diag(sqrt((ev + lam2) / (bL + lam2)) - 1) U'
 *   log|P| = sum log((ev_i + lam2) / (bL + lam2)),
 * so that one pair of tall products serves every power: O(M L) for a vector.  All eigenvalues of
 * P^-1 lie in (0, 1] because ev >= bL >= 0 and lam2 > 0. */
#include "compute/preconds/precond_impl.h"

#include "base/mem.h"
#include "compute/linalg/tall.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct precond *precond_new(const struct precond_ops *ops, size_t M, struct err *err)
{
    struct precond *p = mem_calloc(1, sizeof *p, "preconditioner", err);
    struct mem_spares *spares = p ? mem_calloc(1, sizeof *spares, "preconditioner", err) : NULL;
    if (!spares) {
        free(p);
        return NULL;
    }
    *p = (struct precond){ .ops = ops, .M = M, .lam2 = 1.0, .spares = spares };
    return p;
}

void precond_free(struct precond *p)
{
    if (!p)
        return;
    free(p->diag);
    free(p->U);
    free(p->ev);
    if (p->ops->own)
        p->ops->own->free(p);
    mem_spares_free(p->spares);
    free(p->spares);
    free(p);
}

size_t precond_rank(const struct precond *p)
{
    return p->L;
}

const struct precond_ops *precond_row(const struct precond *p)
{
    return p->ops;
}

void precond_set_noise(struct precond *p, double lam2)
{
    p->lam2 = lam2;
}

const double *precond_eigenvalues(const struct precond *p)
{
    return p->ev;
}

double precond_ratio(const struct precond *p)
{
    return p->ev ? p->ev[p->L - 1] / p->lam2 : NAN;
}

double precond_logdet(const struct precond *p)
{
    double sum = 0.0;
    if (p->ops->own)
        return p->ops->own->logdet(p);
    if (p->diag)
        for (size_t i = 0; i < p->M; i++)
            sum += log(p->diag[i] + p->lam2);
    else if (p->U)
        for (size_t i = 0; i < p->L; i++)
            sum += log((p->ev[i] + p->lam2) / (p->ev[p->L - 1] + p->lam2));
    return sum;
}

size_t precond_inverse_work(const struct precond *p)
{
    return p->diag ? p->M : p->L;
}

/* c of P^-1 = I + U diag(c) U'. */
static void weights(const struct precond *p, double *c)
{
    for (size_t i = 0; i < p->L; i++)
        c[i] = (p->ev[p->L - 1] + p->lam2) / (p->ev[i] + p->lam2) - 1.0;
}

bool precond_inverse(const struct precond *p, double *work, struct backend_inverse *out)
{
    *out = (struct backend_inverse){.U = p->U, .L = p->U ? p->L : 0, .factor = p->ops->own != NULL};
    for (size_t i = 0; p->diag && i < p->M; i++)
        work[i] = 1.0 / (p->diag[i] + p->lam2);
    if (p->U)
        weights(p, work);
    if (p->diag)
        out->d = work;
    else if (p->U)
        out->c = work;
    return !p->ops->own || p->ops->own->there(p);
}

/* Y = P^1/2 X when root, else Y = P^-1 X (M x k). */
static enum status apply(const struct precond *p, struct pool *pool, bool root, size_t k,
                         const double *X, double *Y, struct err *err)
{
    const size_t M = p->M, L = p->L;
    if (Y != X)
        memcpy(Y, X, M * k * sizeof *Y);
    if (p->ops->own)
        return p->ops->own->apply(p, pool, root, k, Y, err);
    for (size_t c = 0; p->diag && c < k; c++)
        for (size_t i = 0; i < M; i++) {
            const double d = p->diag[i] + p->lam2;
            Y[c * M + i] *= root ? sqrt(d) : 1.0 / d;
        }
    if (!p->U || k == 0)
        return ST_OK;
    const struct tall b = { M, L, 0, M, p->U, M };
    const size_t numbers = L + k + tall_work(&b, k);
    double *c = mem_spare_take(p->spares, numbers * sizeof *c, "applying the preconditioner", err);
    if (!c)
        return ST_NOMEM;
    if (root)
        for (size_t i = 0; i < L; i++)
            c[i] = sqrt((p->ev[i] + p->lam2) / (p->ev[L - 1] + p->lam2)) - 1.0;
    else
        weights(p, c);
    tall_bounds(M, k, Y, M, c + L);
    const enum status rc = tall_add(&b, NULL, pool, k, c, Y, M, c + L + k, err);
    mem_spare_give(p->spares, c);
    return rc;
}

enum status precond_apply(const struct precond *p, struct pool *pool, size_t k, const double *X,
                          double *Y, struct err *err)
{
    return apply(p, pool, false, k, X, Y, err);
}

enum status precond_sqrt(const struct precond *p, struct pool *pool, size_t k, const double *X,
                         double *Y, struct err *err)
{
    return apply(p, pool, true, k, X, Y, err);
}
