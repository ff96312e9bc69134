/* compute/preconds/pchol.c -- partial pivoted Cholesky G ~ L L' of G = Z'Z (M x M), L of M x R
 * (Harbrecht, Peters & Schneider 2012; share/doc/methods.md 8.9): the preconditioner that Gardner
 * et al. (2018) and Lin et al. (2023) use for exact GPs, applied here to the features.  Each step
 * takes the column with the largest remaining diagonal, and among equal ones the smallest index:
 *   l_j = (G_i - sum_q l_q l_q(i)) / sqrt(diag_i),  diag -= l_j^2.
 * The remainder stays positive semidefinite in exact arithmetic; its diagonal is clamped at 0, and
 * the factorisation ends where the diagonal has fallen to rounding.
 *
 * A column of G costs a pass over the data, so columns are fetched in blocks: those with the
 * largest diagonals at that moment.  The pivots are still the greedy ones, because a pivot that was
 * not fetched starts a new block. */
#include "compute/preconds/precond_impl.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32 };
/* A diagonal below this share of the largest initial one is rounding. */
static const double least_share[] = { [PREC_FLOAT] = 1e-5, [PREC_DOUBLE] = 1e-13 };

struct pchol {
    struct fop *f;
    const struct ctl *ctl;
    struct err *err;
    size_t M, R;
    double *L;             /* M x R */
    double *diag;          /* the diagonal of the remainder (M); -1 where a pivot was chosen */
    double *E, *C;         /* M x BLOCK: unit vectors, and the columns of G that they fetch */
    size_t at[BLOCK], nat; /* the indices of those columns */
};

/* The smallest index among the diagonals that are the largest, to rounding. */
static size_t largest(const struct pchol *s)
{
    const double tie = 1.0 - least_share[fop_precision(s->f)];
    double most = 0.0;
    size_t best = 0;

    for (size_t i = 0; i < s->M; i++)
        most = fmax(most, s->diag[i]);
    while (best < s->M && s->diag[best] < tie * most)
        best++;
    return best;
}

/* The position of column i among the fetched ones; nat if it is not there. */
static size_t fetched(const struct pchol *s, size_t i)
{
    size_t j = 0;
    while (j < s->nat && s->at[j] != i)
        j++;
    return j;
}

/* Fetches the columns with the largest remaining diagonals, at most `most`, in one pass. */
static enum status fetch(struct pchol *s, size_t most)
{
    s->nat = 0;
    for (size_t b = 0; b < BLOCK && b < most; b++) {
        size_t best = s->M;
        for (size_t i = 0; i < s->M; i++)
            if (s->diag[i] > 0.0 && (best == s->M || s->diag[i] > s->diag[best]) &&
                fetched(s, i) == s->nat)
                best = i;
        if (best == s->M)
            break;
        s->at[s->nat++] = best;
    }
    memset(s->E, 0, s->M * BLOCK * sizeof *s->E);
    for (size_t b = 0; b < s->nat; b++)
        s->E[b * s->M + s->at[b]] = 1.0;
    return fop_pass(s->f, s->nat, s->E, s->C, s->ctl, s->err);
}

/* Column j of L at pivot i, from column i of G (`from`); then the remaining diagonal. */
static void eliminate(struct pchol *s, size_t j, size_t i, const double *from)
{
    double *l = s->L + j * s->M;
    const double root = sqrt(s->diag[i]);

    memcpy(l, from, s->M * sizeof *l);
    for (size_t q = 0; q < j; q++)
        blas_daxpy(s->M, -s->L[q * s->M + i], s->L + q * s->M, l);
    for (size_t r = 0; r < s->M; r++) {
        l[r] = s->diag[r] < 0.0 ? 0.0 : l[r] / root; /* rows of earlier pivots are done */
        if (s->diag[r] >= 0.0)
            s->diag[r] = fmax(0.0, s->diag[r] - l[r] * l[r]);
    }
    l[i] = root;
    s->diag[i] = -1.0;
}

/* Up to R columns of L. */
static enum status columns(struct pchol *s, size_t *pivots, double *left)
{
    const double stop = least_share[fop_precision(s->f)] * s->diag[largest(s)];
    enum status rc = ST_OK;

    for (size_t j = 0; rc == ST_OK && j < s->R; j++) {
        const size_t i = largest(s);
        if (!(s->diag[i] > stop))
            break; /* the rest of L stays 0: G has no higher rank */
        ctl_tell(s->ctl, PHASE_PRECOND, j, s->R, NAN);
        if (ctl_stopped(s->ctl))
            return err_set(s->err, ST_CANCELLED, "stopped at pivot %zu", j);
        size_t b = fetched(s, i);
        if (b == s->nat) {
            rc = fetch(s, s->R - j);
            b = fetched(s, i);
        }
        if (rc == ST_OK)
            eliminate(s, j, i, s->C + b * s->M);
        if (rc == ST_OK && pivots)
            pivots[j] = i;
        if (rc == ST_OK && left) {
            left[j] = 0.0;
            for (size_t r = 0; r < s->M; r++)
                left[j] += fmax(0.0, s->diag[r]);
        }
    }
    return rc;
}

enum status pchol_factor(struct fop *f, size_t R, double *L, size_t *pivots, double *left,
                         const struct ctl *ctl, struct err *err)
{
    const size_t M = fop_cols(f);
    struct pchol s = { .f = f, .ctl = ctl, .err = err, .M = M, .R = R, .L = L };
    enum status rc;

    memset(L, 0, M * R * sizeof *L);
    s.diag = mem_aligned(M * (2 * BLOCK + 1), sizeof *s.diag, "columns of Z'Z", err);
    if (s.diag == NULL)
        return ST_NOMEM;
    s.E = s.diag + M;
    s.C = s.E + M * BLOCK;
    rc = precond_diagonal(f, s.diag, ctl, err);
    for (size_t i = 0; rc == ST_OK && i < M; i++)
        if (!isfinite(s.diag[i]))
            rc = err_set(err, ST_RANGE, "the diagonal of Z'Z is not finite");
    if (rc == ST_OK)
        rc = columns(&s, pivots, left);
    free(s.diag);
    return rc;
}

/* L by pivoted Cholesky, then U and ev from the eigenproblem of L'L, so that
 * share/doc/methods.md 8.5 to 8.7 apply. */
static enum status pchol_build(struct fop *f, const struct precond_opts *opts,
                               const struct ctl *ctl, struct precond **out, struct err *err)
{
    const size_t M = fop_cols(f), R = opts->rank;
    double *L = NULL;
    struct precond *p = NULL;
    enum status rc = precond_check_rank(R, M, err);

    *out = NULL;
    if (rc == ST_OK) {
        p = precond_new(&precond_pchol, M, err);
        L = p ? mem_aligned(M * R, sizeof *L, "the pivoted factor", err) : NULL;
        rc = L ? pchol_factor(f, R, L, NULL, NULL, ctl, err) : ST_NOMEM;
    }
    if (rc == ST_OK)
        rc = precond_from_root(p, fop_pool(f), R, L, err);
    if (rc == ST_OK)
        ctl_tell(ctl, PHASE_PRECOND, R, R, NAN);
    free(L);
    if (rc != ST_OK) {
        precond_free(p);
        return rc;
    }
    *out = p;
    return ST_OK;
}

/* The rank of Lin et al. (2023), as predictions of time exist only for random sketches. */
static size_t pchol_rank(size_t features)
{
    return features < 200 ? (features + 1) / 2 : 100;
}

const struct precond_ops precond_pchol = {
    .name = "pchol", .title = "Pivoted Cholesky",
    .help = "takes columns of Z'Z one by one, the largest first; for comparison with exact GPs",
    .build = pchol_build, .ranked = true, .rank = pchol_rank,
};
