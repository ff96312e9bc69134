/* compute/kernels/kernels.h -- the list of kernels, and functions that their files share with those
 * of kernel expressions. */
#ifndef GPDESK_KERNELS_KERNELS_H
#define GPDESK_KERNELS_KERNELS_H

#include "compute/kernels/kernel.h"

extern const struct hparam kernel_lengthscale[]; /* the one hyperparameter of stationary kernels */
extern const struct hparam kernel_weight;        /* of a product after the first */

/* Writes the steps of a structured projection on Gaussian vectors, with three rows of signs and one
 * of scales (share/doc/methods.md 3.2); returns how many. */
struct fm_step;
size_t kernel_gaussian_steps(struct fm_step *out);

/* What maps that learn share: the words of norm= and rows=, their one step, and that a parameter is
 * a whole number. */
extern const char *const kernel_learned_norms[], *const kernel_learned_lengths[];
size_t kernel_learned_recipe(const double *params, bool alone, struct fm_step *out);
bool kernel_learned_whole(double v);

/* The registry: a row for every kernel there is, in the order in which help lists them. */
#define KERNEL_ROWS(row) \
    row(kernel_rbf)      \
    row(kernel_matern)   \
    row(kernel_cauchy)   \
    row(kernel_rq)       \
    row(kernel_periodic) \
    row(kernel_linear)   \
    row(kernel_poly)     \
    row(kernel_arccos)   \
    row(kernel_erf)      \
    row(kernel_constant) \
    row(kernel_mlp)      \
    row(kernel_cnn)

#define KERNEL_DECLARED(name) extern const struct kernel_ops name;
KERNEL_ROWS(KERNEL_DECLARED)
#undef KERNEL_DECLARED
static inline size_t kernel_ops_nhp(const struct kernel_ops *ops)
{
    size_t n = 0;

    while (ops->hparams && ops->hparams[n].name)
        n++;
    return n;
}

/* The hyperparameters of a kernel: with ARD one lengthscale for each input or group. */
static inline size_t kernel_term_nhp(const struct kterm *t)
{
    const size_t n = kernel_ops_nhp(t->ops);

    return t->ard == 0 || t->ard == KERNEL_ARD ? n : n - 1 + t->ard;
}

/* 1 when kernel t is the last of a product other than the first, so that its weight follows. */
size_t kernel_weight_after(const struct kernel *, size_t t);

#endif
