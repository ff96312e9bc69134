/* compute/kernels/kernels.h -- what the kernel files offer to the registry in kernel.c. */
#ifndef GPDESK_KERNELS_KERNELS_H
#define GPDESK_KERNELS_KERNELS_H

#include "compute/kernel.h"

extern const struct hparam kernel_lengthscale[]; /* the one hyperparameter of stationary kernels */

extern const struct kernel_ops kernel_rbf, kernel_matern, kernel_cauchy, kernel_rq;

#endif
