/* compute/kernels/cauchy.c -- the isotropic Cauchy kernel 1 / (1 + a^2 / 2), the rational quadratic
 * of shape 1 (share/doc/methods.md 2.6): a scale mixture of Gaussians, whose frequencies are
 * multiplied by the root of an exponential draw (3.5). */
#include "compute/kernels/kernels.h"
#include "compute/rng.h"

#include <math.h>

static double cauchy_radial(const double *params, uint64_t seed, uint64_t stream, uint64_t j)
{
    (void)params;
    return sqrt(rng_exponential(seed, stream, j));
}

static double cauchy_exact(const double *params, double a)
{
    (void)params;
    return 1.0 / (1.0 + 0.5 * a * a);
}

static double cauchy_dlogl(const double *params, double a)
{
    const double k = cauchy_exact(params, a);

    return a * a * k * k;
}

static const char *cauchy_code(const double *params)
{
    (void)params;
    return "1.0 / (1.0 + 0.5 * r2)";
}

static struct kernel_closed cauchy_closed(const double *params)
{
    (void)params;
    return (struct kernel_closed){ .form = KERNEL_POWER, .c = 0.5, .p1 = 1.0 };
}

const struct kernel_ops kernel_cauchy = {
    .name = "cauchy",
    .title = "Cauchy",
    .formula = "1/(1 + a^2/2), a = r/l",
    .cite = "Rasmussen & Williams 2006, 4.2 (rational quadratic, shape 1)",
    .hparams = kernel_lengthscale,
    .radial = cauchy_radial,
    .exact = cauchy_exact,
    .dlogl = cauchy_dlogl,
    .code = cauchy_code,
    .closed = cauchy_closed,
};
