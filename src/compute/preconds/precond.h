/* compute/preconds/precond.h -- preconditioners for A = Z'Z + lam2 I: the registry and Nystrom
 * (share/doc/methods.md 8).  A change of lam2 or amplitude needs no rebuild. */
#ifndef GPDESK_PRECOND_H
#define GPDESK_PRECOND_H

#include "compute/ctl.h"
#include "compute/features/fop.h"

struct precond;
struct precond_opts {
    size_t rank;
    double lam2; /* gram: what it will be set to, which saves a factorisation; 0: 1 */
    uint64_t seed;
    const struct precond *like; /* Nystrom: of a matrix like this one, and the same rank; its basis
                                 * is then the test matrix, which saves the pass that looks for one.
                                 * NULL: a random test matrix */
};
struct precond_own;
/* A preconditioner's row.  What decides about a fit (its plan, its rank, what is reported) is asked
 * of these members and never of the name. */
struct precond_ops {
    const char *name, *title, *help; /* "none" "jacobi" "gauss" "srht" "srht2" "pchol" "gram" */
    bool ranked;                     /* has a rank, which is chosen or given */
    bool factored;                   /* a factor of all of Z'Z: few iterations, n M^2 work */
    bool identity;                   /* P = I */
    int sketches;                    /* random sketches of Z'Z, each a pass over the data, that its
                                      * construction takes; 0: it takes none */
    size_t (*rank)(size_t features); /* the rank where none is given; NULL: by predicted time, which
                                      * holds for random sketches */
    const struct precond_own *own; /* operations of a form of its own; NULL: diagonal or Nystrom */
    enum status (*build)(struct fop *, const struct precond_opts *, const struct ctl *,
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
    row(precond_gram)

#define PRECOND_DECLARED(name) extern const struct precond_ops name;
PRECOND_ROWS(PRECOND_DECLARED)
#undef PRECOND_DECLARED
const struct precond_ops *precond_at(size_t i); /* NULL past the end */
const struct precond_ops *precond_find(const char *name, struct err *err); /* NULL: the usual one */
const struct precond_ops *precond_usual(void); /* where none is asked for */

void precond_free(struct precond *);
size_t precond_rank(const struct precond *);
const struct precond_ops *precond_row(const struct precond *);
/* Sets lam2 for what follows (1, or that of the options, after a build). */
void precond_set_noise(struct precond *, double lam2);
/* Approximate leading eigenvalues of Z'Z, descending (rank of them); NULL for none/jacobi. */
const double *precond_eigenvalues(const struct precond *);
double precond_ratio(const struct precond *); /* ev_rank / lam2; NaN where there is no spectrum */
/* Y = P^-1 X, Y = S X with S S' = P (and S = S' but for gram) for k vectors of M; Y may equal X. */
enum status precond_apply(const struct precond *, struct pool *, size_t k, const double *X,
                          double *Y, struct err *);
enum status precond_sqrt(const struct precond *, struct pool *, size_t k, const double *X,
                         double *Y, struct err *);
/* P^-1 as a device takes it; work: precond_inverse_work
 * numbers, part of the result, as P is.  False: it does not. */
bool precond_inverse(const struct precond *, double *work, struct backend_inverse *);
size_t precond_inverse_work(const struct precond *);
double precond_logdet(const struct precond *);
/* The diagonal of Z'Z (M), by one generation of the features. */
enum status precond_diagonal(struct fop *, double *diag, const struct ctl *, struct err *);
/* Nystrom from a given test matrix Omega (M x L, column-major; orthonormalised inside when `qr`,
 * else taken as orthonormal up to one scale), `passes` 1..3: the golden tests' door. */
enum status nystrom_build_for_tests(struct fop *, size_t L, const double *Omega, bool qr,
                                    int passes, const struct ctl *, struct precond **out,
                                    struct err *);
/* The same of a diagonal matrix (M), Omega orthonormalised: what the construction leaves of a
 * spectrum. */
enum status nystrom_diagonal(size_t M, const double *diagonal, size_t L, const double *Omega,
                             int passes, struct pool *, struct precond **out, struct err *err);
/* Pivoted Cholesky of Z'Z, greedy: L (M x R, column-major), its pivots (R) and the trace of what is
 * left after each; both may be NULL.  L ends in columns of 0 where the rank does (then those of
 * pivots and traces are untouched). */
enum status pchol_factor(struct fop *f, size_t R, double *L, size_t *pivots, double *left,
                         const struct ctl *ctl, struct err *err);

#endif
