/* compute/stats/parts.h -- what the products of a kernel that is a sum each contribute to the mean
 * and the variance of a model. */
#ifndef GPDESK_PARTS_H
#define GPDESK_PARTS_H

#include "compute/models/model.h"

/* A model whose other products have weights next to nothing.  The first product has no weight, so
 * that the one wanted is made far larger than it instead, and results are divided by scale again
 * (features; its square for a kernel). */
struct model_part { struct model m; double scale; };

/* first (KERNEL_MAX_TERMS): the first kernel of each product; returns how many products. */
size_t parts_count(const struct kernel *, size_t *first);
/* The product that begins at kernel first[which] of n.  It lends from the model. */
void parts_of(const struct model *, const size_t *first, size_t n, size_t which,
              struct model_part *);
/* Mean and variance (NULL: not wanted) of one target at n rows x (row-major n x m->d), in scaled
 * units; of all of the model. */
enum status parts_whole(const struct model *, size_t target, size_t n, const double *x,
                        double *mean, double *var, const struct tools *, struct err *err);
/* The same of one product: the means of all products add up to that of the model.  An exact model's
 * variance is beta^2 (k_p(x, x) - |L^-1 k_p|^2), O(M^2) for each row. */
enum status parts_predict(const struct model_part *, size_t target, size_t n, const double *x,
                          double *mean, double *var, const struct tools *, struct err *err);

#endif
