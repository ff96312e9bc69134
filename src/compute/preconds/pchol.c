/* compute/preconds/pchol.c -- partial pivoted Cholesky G ~ L L' of G (M x M), L of M x R
 * (Harbrecht, Peters & Schneider 2012; share/doc/methods.md 8.9): the preconditioner that Gardner
 * et al. (2018) and Lin et al. (2023) use for exact GPs, and that works on Z'Z as well.  Each step
 * takes the column with the largest remaining diagonal, and among equal ones the smallest index:
 *   l_j = (G_i - sum_q l_q l_q(i)) / sqrt(diag_i),  diag -= l_j^2.
 * The remainder stays positive semidefinite in exact arithmetic; its diagonal is clamped at 0, and
 * the factorisation ends where the diagonal has fallen to rounding.
 *
 * With random pivots (RPCholesky; Chen, Epperly, Tropp & Webber 2022; share/doc/methods.md 8.10) a
 * column is taken with the probability of its remaining diagonal: outliers, which are largest and
 * explain nothing else, then matter as little as they should.  Proposals are drawn in blocks from
 * the diagonal at that moment and accepted with the share of it that is left, which gives the same
 * distribution (rejection sampling; Epperly, Tropp & Webber 2024).
 *
 * A column of Z'Z costs a pass over the data, so columns are fetched in blocks: those with the
 * largest diagonals at that moment.  The pivots are still the greedy ones, because a pivot that was
 * not fetched starts a new block. */
#include "compute/preconds/precond_impl.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32 };
/* A diagonal below this share of the largest initial one is rounding: of a product in double
 * precision, and in single. */
static const double least_share[] = { 1e-13, 1e-5 };

struct pchol {
    const struct linop *A;
    const struct ctl *ctl;
    struct err *err;
    size_t M, R;
    double *L;             /* M x R */
    double *diag;          /* the diagonal of the remainder (M); -1 where a pivot was chosen */
    double *C;             /* M x BLOCK: columns of G */
    size_t at[BLOCK], nat; /* the indices of those columns */
    uint64_t seed, drawn;  /* random pivots: the stream, and numbers drawn so far */
};

/* The smallest index among the diagonals that are the largest, to rounding. */
static size_t largest(const struct pchol *s)
{
    const double tie = 1.0 - least_share[s->A->single];
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

/* Fetches the columns with the largest remaining diagonals, at most `most`, in one pass; column i,
 * which ties with the largest to rounding, is among them. */
static enum status fetch(struct pchol *s, size_t i, size_t most)
{
    s->nat = 0;
    for (size_t b = 0; b < BLOCK && b < most; b++) {
        size_t best = s->M;
        for (size_t r = 0; r < s->M; r++)
            if (s->diag[r] > 0.0 && (best == s->M || s->diag[r] > s->diag[best]) &&
                fetched(s, r) == s->nat)
                best = r;
        if (best == s->M)
            break;
        s->at[s->nat++] = best;
    }
    if (fetched(s, i) == s->nat)
        s->at[s->nat - 1] = i;
    return s->A->columns(s->A->ctx, s->nat, s->at, s->C, s->ctl, s->err);
}

static double next_uniform(struct pchol *s)
{
    return rng_uniform(s->seed, rng_stream(RNG_SKETCH, 3), s->drawn++);
}

/* Fetches the columns of proposals drawn with the probabilities of the remaining diagonal, which
 * goes to `was` (BLOCK); none where it has fallen to `stop`. */
static enum status propose(struct pchol *s, double stop, double *was)
{
    double sum = 0.0;

    s->nat = 0;
    for (size_t i = 0; i < s->M; i++)
        sum += fmax(0.0, s->diag[i]);
    if (!(s->diag[largest(s)] > stop))
        return ST_OK;
    for (; s->nat < BLOCK; s->nat++) {
        double left = next_uniform(s) * sum;
        size_t i = 0, last = 0;
        for (; i < s->M && left >= 0.0; i++)
            if (s->diag[i] > 0.0) {
                left -= s->diag[i];
                last = i;
            }
        s->at[s->nat] = last;
        was[s->nat] = s->diag[last];
    }
    return s->A->columns(s->A->ctx, s->nat, s->at, s->C, s->ctl, s->err);
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
    const double stop = least_share[s->A->single] * s->diag[largest(s)];
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
            rc = fetch(s, i, s->R - j);
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

/* Up to R columns of L at random pivots. */
static enum status random_columns(struct pchol *s)
{
    const double stop = least_share[s->A->single] * s->diag[largest(s)];
    double was[BLOCK];
    size_t b = 0;

    for (size_t j = 0; j < s->R;) {
        if (ctl_stopped(s->ctl))
            return err_set(s->err, ST_CANCELLED, "stopped at pivot %zu", j);
        if (b == s->nat) {
            ctl_tell(s->ctl, PHASE_PRECOND, j, s->R, NAN);
            const enum status rc = propose(s, stop, was);
            if (rc != ST_OK || s->nat == 0)
                return rc; /* the rest of L stays 0: G has no higher rank */
            b = 0;
        }
        const size_t i = s->at[b];
        if (s->diag[i] > 0.0 && next_uniform(s) * was[b] < s->diag[i])
            eliminate(s, j++, i, s->C + b * s->M);
        b++;
    }
    return ST_OK;
}

/* L (M x R), with seed at random pivots. */
static enum status factor(const struct linop *A, const uint64_t *seed, size_t R, double *L,
                          size_t *pivots, double *left, const struct ctl *ctl, struct err *err)
{
    const size_t M = A->n;
    struct pchol s = { .A = A, .ctl = ctl, .err = err, .M = M, .R = R, .L = L };
    enum status rc;

    memset(L, 0, M * R * sizeof *L);
    s.diag = mem_aligned(M * (BLOCK + 1), sizeof *s.diag, "columns of the matrix", err);
    if (s.diag == NULL)
        return ST_NOMEM;
    s.C = s.diag + M;
    s.seed = seed ? *seed : 0;
    rc = A->diagonal(A->ctx, s.diag, ctl, err);
    for (size_t i = 0; rc == ST_OK && i < M; i++)
        if (!isfinite(s.diag[i]))
            rc = err_set(err, ST_RANGE, "the diagonal of the matrix is not finite");
    if (rc == ST_OK)
        rc = seed ? random_columns(&s) : columns(&s, pivots, left);
    free(s.diag);
    return rc;
}

enum status pchol_factor(const struct linop *A, size_t R, double *L, size_t *pivots, double *left,
                         const struct ctl *ctl, struct err *err)
{
    return factor(A, NULL, R, L, pivots, left, ctl, err);
}

/* L by pivoted Cholesky, then U and ev from the eigenproblem of L'L, so that
 * share/doc/methods.md 8.5 to 8.7 apply. */
static enum status build(const struct linop *A, const struct precond_ops *ops,
                         const uint64_t *seed, size_t R, const struct ctl *ctl,
                         struct precond **out, struct err *err)
{
    const size_t M = A->n;
    double *L = NULL;
    struct precond *p = NULL;
    enum status rc = precond_check_rank(R, M, err);

    *out = NULL;
    if (rc == ST_OK) {
        p = precond_new(ops, M, err);
        L = p ? mem_aligned(M * R, sizeof *L, "the pivoted factor", err) : NULL;
        rc = L ? factor(A, seed, R, L, NULL, NULL, ctl, err) : ST_NOMEM;
    }
    if (rc == ST_OK)
        rc = precond_from_root(p, A->pool, R, L, err);
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

static enum status pchol_build(const struct linop *A, const struct precond_opts *opts,
                               const struct ctl *ctl, struct precond **out, struct err *err)
{
    return build(A, &precond_pchol, NULL, opts->rank, ctl, out, err);
}

static enum status rpchol_build(const struct linop *A, const struct precond_opts *opts,
                                const struct ctl *ctl, struct precond **out, struct err *err)
{
    return build(A, &precond_rpchol, &opts->seed, opts->rank, ctl, out, err);
}

/* The rank of Lin et al. (2023), as predictions of time exist only for random sketches. */
static size_t pchol_rank(size_t features)
{
    return features < 200 ? (features + 1) / 2 : 100;
}

const struct precond_ops precond_pchol = {
    .name = "pchol", .title = "Pivoted Cholesky",
    .help = "takes columns of the matrix one by one, the largest first: for exact kernels",
    .build = pchol_build, .ranked = true, .rank = pchol_rank,
};

const struct precond_ops precond_rpchol = {
    .name = "rpchol", .title = "Pivoted Cholesky, random pivots",
    .help = "pchol with pivots drawn at random by their size: where outliers would mislead it",
    .build = rpchol_build, .ranked = true, .rank = pchol_rank,
};
