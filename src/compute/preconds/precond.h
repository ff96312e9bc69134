/* compute/preconds/precond.h -- preconditioners P for A = G + lam2 I (M x M; compute/linop.h), lam2
 * the ratio of noise to amplitude squared: the registry, and the Nystrom form
 * (share/doc/methods.md 8).  G is Z'Z, or the matrix of an exact kernel.  A change of lam2 or of
 * the amplitude needs no rebuild. */
#ifndef GPDESK_PRECOND_H
#define GPDESK_PRECOND_H

#include "compute/ctl.h"
#include "compute/features/fop.h"
#include "compute/linop.h"

struct precond;
struct precond_opts {
    size_t rank;
    double lam2; /* gram: the value it will be used with, which saves a factorisation; 0: 1 */
    uint64_t seed;
    const struct precond *like; /* Nystrom: the preconditioner of a similar matrix with the same
                                 * rank.  Its basis becomes the test matrix, which saves the pass
                                 * that finds one.  NULL: a random test matrix */
};
struct precond_own;
/* A preconditioner's row.  Plan, rank and report of a fit depend on these members, never on the
 * name. */
struct precond_ops {
    const char *name, *title, *help; /* "none" "jacobi" "srht2" "pchol" ... */
    bool ranked;                     /* has a rank, which is chosen or given */
    bool factored;                   /* a factor of all of Z'Z: few iterations, n M^2 work */
    bool identity;                   /* P = I */
    int sketches;                    /* the number of random sketches of Z'Z, each a pass over the
                                      * data, in its construction */
    size_t (*rank)(size_t features); /* the rank when none is given; NULL: by predicted time, which
                                      * is known for random sketches */
    const struct precond_own *own;   /* operations of its own form; NULL: diagonal or Nystrom */
    enum status (*build)(const struct linop *, const struct precond_opts *, const struct ctl *,
                         struct precond **out, struct err *);
};
/* The registry: a row for each, in the order in which help lists them. */
#define PRECOND_ROWS(row) \
    row(precond_none)     \
    row(precond_jacobi)   \
    row(precond_gauss)    \
    row(precond_srht)     \
    row(precond_srht2)    \
    row(precond_pchol)    \
    row(precond_rpchol)   \
    row(precond_gram)

#define PRECOND_DECLARED(name) extern const struct precond_ops name;
PRECOND_ROWS(PRECOND_DECLARED)
#undef PRECOND_DECLARED
const struct precond_ops *precond_at(size_t i); /* NULL past the end */
const struct precond_ops *precond_find(const char *name, struct err *err); /* NULL: the usual one */
const struct precond_ops *precond_usual(void); /* the default */

void precond_free(struct precond *);
size_t precond_rank(const struct precond *);
const struct precond_ops *precond_row(const struct precond *);
/* Sets lam2 for the following calls.  After a build it is 1, or that of the options. */
void precond_set_noise(struct precond *, double lam2);
/* Approximate leading eigenvalues of Z'Z, descending (rank of them); NULL for none/jacobi. */
const double *precond_eigenvalues(const struct precond *);
double precond_ratio(const struct precond *); /* ev_rank / lam2; NaN without a spectrum */
/* precond_apply: Y = P^-1 X.  precond_sqrt: Y = S X with S S' = P (S is symmetric but for gram).
 * Both for k vectors of M; Y may equal X.  share/doc/methods.md 8.5, 8.6. */
enum status precond_apply(const struct precond *, struct pool *, size_t k, const double *X,
                          double *Y, struct err *);
enum status precond_sqrt(const struct precond *, struct pool *, size_t k, const double *X,
                         double *Y, struct err *);
/* P^-1 in the form that a device takes.  work (precond_inverse_work numbers) and P become part of
 * the result and must outlive it.  False when there is no such form. */
bool precond_inverse(const struct precond *, double *work, struct backend_inverse *);
size_t precond_inverse_work(const struct precond *);
double precond_logdet(const struct precond *); /* log|P| (share/doc/methods.md 8.7) */
/* For the golden tests: Nystrom from a given test matrix Omega (M x L, column-major;
 * orthonormalised when `qr`, else taken as orthonormal up to one scale) with 1 to 3 passes. */
enum status nystrom_build_for_tests(struct fop *, size_t L, const double *Omega, bool qr,
                                    int passes, const struct ctl *, struct precond **out,
                                    struct err *);
/* Nystrom of a diagonal matrix (M), Omega orthonormalised: shows how the construction treats a
 * given spectrum (model_rank.c). */
enum status nystrom_diagonal(size_t M, const double *diagonal, size_t L, const double *Omega,
                             int passes, struct pool *, struct precond **out, struct err *err);
/* Greedy pivoted Cholesky of G (share/doc/methods.md 8.9): L (M x R, column-major), its pivots (R)
 * and the trace of the remainder after each (R); both may be NULL.  Where the numerical rank ends,
 * the further columns of L are 0 and the further pivots and traces are not written. */
enum status pchol_factor(const struct linop *, size_t R, double *L, size_t *pivots, double *left,
                         const struct ctl *ctl, struct err *err);

#endif
