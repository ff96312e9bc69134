/* compute/kernels/rq.c -- the rational quadratic kernel (1 + a^2 / (2 alpha))^-alpha
 * (share/doc/methods.md 2.7; Rasmussen & Williams 2006, equation 4.19): a mixture of squared
 * exponentials over an inverse squared lengthscale that is gamma-distributed with shape alpha.
 * Frequencies are multiplied by the root of such a draw (3.6).  log1p keeps the value accurate for
 * large alpha. */
#include "compute/kernels/kernels.h"
#include "compute/rng.h"

#include <math.h>

static double rq_radial(const double *params, uint64_t seed, uint64_t stream, uint64_t j)
{
    return sqrt(rng_gamma(seed, stream, j, params[0]) / params[0]);
}

static double rq_exact(const double *params, double a)
{
    return exp(-params[0] * log1p(0.5 * a * a / params[0]));
}

static double rq_dlogl(const double *params, double a)
{
    return a * a * rq_exact(params, a) / (1.0 + 0.5 * a * a / params[0]);
}

static const struct kparam rq_params[] = {
    { "alpha", 0.05, 1000.0, 1.0,
      "shape: small for lengthscales far apart, large for the squared exponential; 0.05 to 1000",
      NULL, NULL, NULL },
    { 0 },
};

static const char *rq_code(const double *params)
{
    (void)params;
    return "exp(-p0 * log1p(0.5 * r2 / p0))";
}

static struct kernel_closed rq_closed(const double *params)
{
    return (struct kernel_closed){ .form = KERNEL_POWER, .c = 0.5 / params[0], .p1 = params[0] };
}

const struct kernel_ops kernel_rq = {
    .name = "rq",
    .title = "Rational quadratic",
    .formula = "(1 + a^2/(2 alpha))^-alpha, a = r/l",
    .cite = "Rasmussen & Williams 2006, 4.2",
    .params = rq_params,
    .hparams = kernel_lengthscale,
    .radial = rq_radial,
    .exact = rq_exact,
    .dlogl = rq_dlogl,
    .code = rq_code,
    .closed = rq_closed,
};
