/* compute/stats/kpca.h -- kernel PCA and kernel k-means in feature space
 * (share/doc/methods.md 12). */
#ifndef GPDESK_KPCA_H
#define GPDESK_KPCA_H

#include "compute/features/fop.h"

struct kpca {
    size_t M, p;
    double *mu;      /* M: mean feature */
    double *V;       /* M x p, column-major: principal directions, largest first */
    double *ev;      /* p: eigenvalues of n C (= those of the centred kernel) */
    double total;    /* trace: sum of all eigenvalues, for shares */
};
/* Principal directions of the centred features: from the covariance itself when M is small, else by
 * subspace iteration (kpca.c).  Signs are fixed: the entry of largest magnitude in each direction
 * is positive.  RANGE unless 1 <= p <= M.  The caller frees the result with kpca_free. */
enum status kpca_fit(struct fop *, size_t p, uint64_t seed, const struct ctl *, struct kpca *,
                     struct err *);
void kpca_free(struct kpca *);
/* coords (n x p row-major) <- the coordinates (z - mu)'V of the operator's rows
 * (share/doc/methods.md 12.1). */
enum status kpca_project(const struct kpca *, struct fop *, double *coords, const struct ctl *,
                         struct err *);

struct kmeans {
    size_t k, d, n;
    double *centers;       /* k x d */
    size_t *label;         /* n */
    double inertia, silhouette; /* share/doc/methods.md 12.2, 12.3 */
    size_t iterations;
};
struct kmeans_opts {
    size_t k, restarts;
    uint64_t seed;
    const size_t *start; /* k row indices, for one run from there; NULL: drawn by k-means++ */
    struct pool *pool;
};
/* Lloyd's iteration from k-means++, the best of `restarts` starts; an empty cluster takes the
 * farthest row.  X: n x d row-major.  The silhouette is that of at most 2000 rows.  RANGE for k
 * outside 1 to n or inputs that are not finite.  The caller frees the result with kmeans_free. */
enum status kmeans_fit(size_t n, size_t d, const double *X, const struct kmeans_opts *,
                       const struct ctl *, struct kmeans *, struct err *);
void kmeans_free(struct kmeans *);

#endif
