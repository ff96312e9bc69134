/* compute/stats/parts.h -- for a kernel that is a sum of products: the contribution of each product
 * to the mean and the variance of a model (share/doc/methods.md 13.3). */
#ifndef GPDESK_PARTS_H
#define GPDESK_PARTS_H

#include "compute/models/model.h"

/* A copy of a model in which all other products have negligible weights.  The first product has no
 * weight; another one is therefore made far larger than it, and results are divided by scale again
 * (for features; by its square for a kernel). */
struct model_part { struct model m; double scale; };

/* Returns the number of products; first (KERNEL_MAX_TERMS) receives the first kernel of each. */
size_t parts_count(const struct kernel *, size_t *first);
/* *out: the product number `which` of n; it borrows from the model. */
void parts_of(const struct model *, const size_t *first, size_t n, size_t which,
              struct model_part *);
/* Mean and latent variance (NULL: not wanted) of one target of the whole model at n rows x (n x
 * m->d, row-major), in scaled units. */
enum status parts_whole(const struct model *, size_t target, size_t n, const double *x,
                        double *mean, double *var, const struct tools *, struct err *err);
/* Mean and variance of one product p.  The means of all products add up to that of the model less
 * its constant.  The variance with an exact model is beta^2 (s - |L^-1 v|^2), O(M^2) for each row,
 * where s and v (M) are the part w_p^2 k_p of k(x, x) and of k(X, x). */
enum status parts_predict(const struct model_part *, size_t target, size_t n, const double *x,
                          double *mean, double *var, const struct tools *, struct err *err);

#endif
