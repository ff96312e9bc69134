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
/* Randomised two-pass range finder on centred Z (exact covariance when M is small). Signs are
 * fixed: the entry of largest magnitude in each direction is positive. */
enum status kpca_fit(struct fop *, size_t p, uint64_t seed, const struct ctl *, struct kpca *,
                     struct err *);
void kpca_free(struct kpca *);
/* Coordinates (z - mu)'V of the operator's rows: n x p row-major. */
enum status kpca_project(const struct kpca *, struct fop *, double *coords, const struct ctl *,
                         struct err *);

struct kmeans {
    size_t k, d, n;
    double *centers;       /* k x d */
    size_t *label;         /* n */
    double inertia, silhouette;
    size_t iterations;
};
struct kmeans_opts {
    size_t k, restarts;
    uint64_t seed;
    const size_t *start; /* k row indices, for one run from there; NULL: drawn by k-means++ */
    struct pool *pool;
};
/* Lloyd's iterations from k-means++ with `restarts` starts; an empty cluster takes the farthest
 * point.  X: n x d row-major.  Silhouette on at most 2000 rows. */
enum status kmeans_fit(size_t n, size_t d, const double *X, const struct kmeans_opts *,
                       const struct ctl *, struct kmeans *, struct err *);
void kmeans_free(struct kmeans *);

#endif
