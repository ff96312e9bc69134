/* compute/kernels/matern.c -- Matern with nu = 1/2, 3/2, 5/2: its spectrum is a multivariate t with
 * 2 nu degrees of freedom, a Gaussian frequency divided by sqrt(chi-square(2 nu) / (2 nu)). */
#include "compute/kernels/kernels.h"
#include "compute/rng.h"

#include <math.h>

static bool matern_nu_valid(double nu)
{
    return nu == 0.5 || nu == 1.5 || nu == 2.5;
}

static bool matern_heavy(const double *params)
{
    return params[0] < 1.0;
}

/* One divisor per frequency; one per block or per coordinate would be another kernel. */
static double matern_radial(const double *params, uint64_t seed, uint64_t stream, uint64_t j)
{
    const double dof = 2.0 * params[0];

    return 1.0 / sqrt(rng_chi2(seed, stream, j, dof) / dof);
}

static double matern_exact(const double *params, double r)
{
    const double nu = params[0], a = sqrt(2.0 * nu) * r;

    if (nu == 0.5)
        return exp(-a);
    if (nu == 1.5)
        return (1.0 + a) * exp(-a);
    return (1.0 + a + a * a / 3.0) * exp(-a);
}

static double matern_dlogl(const double *params, double r)
{
    const double nu = params[0], a = sqrt(2.0 * nu) * r;

    if (nu == 0.5)
        return a * exp(-a);
    if (nu == 1.5)
        return a * a * exp(-a);
    return a * a * (1.0 + a) / 3.0 * exp(-a);
}

static const struct kparam matern_params[] = {
    { "nu", 0.5, 2.5, 2.5, "smoothness: 1/2 (rough), 3/2 or 5/2 (twice differentiable)",
      matern_nu_valid },
    { 0 },
};

const struct kernel_ops kernel_matern = {
    .name = "matern",
    .title = "Matern",
    .formula = "nu=1/2: exp(-a); 3/2: (1+a) exp(-a); 5/2: (1+a+a^2/3) exp(-a); a = sqrt(2 nu) r/l",
    .cite = "Rasmussen & Williams 2006, 4.2; Rahimi & Recht 2007",
    .params = matern_params,
    .hparams = kernel_lengthscale,
    .radial = matern_radial,
    .heavy = matern_heavy,
    .exact = matern_exact,
    .dlogl = matern_dlogl,
};
