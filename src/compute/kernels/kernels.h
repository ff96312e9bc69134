/* compute/kernels/kernels.h -- what the kernel files offer to the registry in kernel.c. */
#ifndef GPDESK_KERNELS_KERNELS_H
#define GPDESK_KERNELS_KERNELS_H

#include "compute/kernels/kernel.h"

extern const struct hparam kernel_lengthscale[]; /* the one hyperparameter of stationary kernels */

/* Appends the steps that project on Gaussian vectors (structured, three sign rows, one scale row);
 * returns how many. */
struct fm_step;
size_t kernel_gaussian_steps(struct fm_step *out);

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
    row(kernel_constant)

#define KERNEL_DECLARED(name) extern const struct kernel_ops name;
KERNEL_ROWS(KERNEL_DECLARED)
#undef KERNEL_DECLARED
extern const struct kernel_ops
    kernel_power; /* inside graphpoly(..) alone: no row of the registry */

#endif
