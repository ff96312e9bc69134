/* compute/kernels/rbf.c -- squared exponential: Gaussian frequencies, so SORF as it is. */
#include "compute/kernels/kernels.h"

#include <math.h>

static double rbf_exact(const double *params, double a)
{
    (void)params;
    return exp(-0.5 * a * a);
}

static double rbf_dlogl(const double *params, double a)
{
    return a * a * rbf_exact(params, a);
}

const struct kernel_ops kernel_rbf = {
    .name = "rbf",
    .title = "Squared exponential",
    .formula = "exp(-a^2/2), a = r/l",
    .cite = "Rahimi & Recht 2007; Yu et al. 2016 (SORF)",
    .hparams = kernel_lengthscale,
    .exact = rbf_exact,
    .dlogl = rbf_dlogl,
};
