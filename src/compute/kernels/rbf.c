/* compute/kernels/rbf.c -- the squared exponential kernel exp(-a^2 / 2) (share/doc/methods.md 2.1;
 * Rasmussen & Williams 2006, equation 4.9).  Its frequencies are Gaussian, which is SORF without a
 * radial factor (3.2). */
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

static const char *rbf_code(const double *params)
{
    (void)params;
    return "exp(-0.5 * r2)";
}

static struct kernel_closed rbf_closed(const double *params)
{
    (void)params;
    return (struct kernel_closed){ .form = KERNEL_GAUSS, .c = 0.5 };
}

const struct kernel_ops kernel_rbf = {
    .name = "rbf",
    .title = "Squared exponential",
    .formula = "exp(-a^2/2), a = r/l",
    .cite = "Rahimi & Recht 2007; Yu et al. 2016 (SORF)",
    .hparams = kernel_lengthscale,
    .exact = rbf_exact,
    .dlogl = rbf_dlogl,
    .code = rbf_code,
    .closed = rbf_closed,
};
