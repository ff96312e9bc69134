/* compute/kernels/kernels.h -- what the kernel files offer to the registry in kernel.c. */
#ifndef GPDESK_KERNELS_KERNELS_H
#define GPDESK_KERNELS_KERNELS_H

#include "compute/kernel.h"

extern const struct hparam kernel_lengthscale[]; /* the one hyperparameter of stationary kernels */

/* Appends the steps that project on Gaussian vectors (structured, three sign rows, one scale row);
 * returns how many. */
struct fm_step;
size_t kernel_gaussian_steps(struct fm_step *out);

extern const struct kernel_ops kernel_rbf, kernel_matern, kernel_cauchy, kernel_rq, kernel_linear,
    kernel_constant, kernel_poly, kernel_arccos, kernel_erf, kernel_periodic;
extern const struct kernel_ops kernel_power; /* inside graphpoly(..) alone: no row of the registry */

#endif
