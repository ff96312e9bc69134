/* compute/kernels/matern.c -- the Matern kernel with nu = 1/2, 3/2, 5/2 and, with GSL, any nu
 * between (share/doc/methods.md 2.2 to 2.5; Rasmussen & Williams 2006, equations 4.14 to 4.17).
 * Its spectral density is a multivariate t with 2 nu degrees of freedom: a Gaussian frequency
 * divided by sqrt(chi-square(2 nu) / (2 nu)) (3.4). */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "compute/kernels/kernels.h"
#include "compute/rng.h"

#include <math.h>
#ifdef HAVE_GSL
#include <gsl/gsl_sf_bessel.h>
#include <gsl/gsl_version.h>
#endif

static bool matern_nu_valid(double nu)
{
#ifdef HAVE_GSL
    return nu >= 0.5 && nu <= 2.5;
#else
    return nu == 0.5 || nu == 1.5 || nu == 2.5;
#endif
}

/* 2^(1-nu) / Gamma(nu) t^power K_order(t), t > 0, as the exponential of a sum of logarithms, so
 * that no factor overflows or underflows by itself; 0 beyond t = 700, where exp(-t) underflows.
 * The GSL functions with _e report their errors and never abort. */
static double matern_bessel(double nu, double power, double order, double t)
{
#ifdef HAVE_GSL
    gsl_sf_result log_k;
    if (t > 700.0 || gsl_sf_bessel_lnKnu_e(order, t, &log_k) != 0)
        return 0.0;
    return exp((1.0 - nu) * M_LN2 - lgamma(nu) + power * log(t) + log_k.val);
#else
    (void)nu, (void)power, (void)order, (void)t;
    return NAN;
#endif
}

static bool matern_heavy(const double *params)
{
    return params[0] < 1.0;
}

/* 1 / sqrt(g_j), g_j ~ chi-square(2 nu) / (2 nu) (3.4): one draw for each frequency.  One draw for
 * a block or a coordinate would be another kernel. */
static double matern_radial(const double *params, uint64_t seed, uint64_t stream, uint64_t j)
{
    const double dof = 2.0 * params[0];

    return 1.0 / sqrt(rng_chi2(seed, stream, j, dof) / dof);
}

/* t = sqrt(2 nu) r / l.  Rounding in the Bessel function must not lift the value above 1. */
static double matern_exact(const double *params, double r)
{
    const double nu = params[0], a = sqrt(2.0 * nu) * r;

    if (nu == 0.5)
        return exp(-a);
    if (nu == 1.5)
        return (1.0 + a) * exp(-a);
    if (nu == 2.5)
        return (1.0 + a + a * a / 3.0) * exp(-a);
    return a > 1e-8 ? fmin(matern_bessel(nu, nu, nu, a), 1.0) : 1.0;
}

/* dk/dlog l = -t dk/dt; for general nu (t^nu K_nu)' = -t^nu K_(nu-1), which gives
 * 2^(1-nu) / Gamma(nu) t^(nu+1) K_|nu-1|(t). */
static double matern_dlogl(const double *params, double r)
{
    const double nu = params[0], a = sqrt(2.0 * nu) * r;

    if (nu == 0.5)
        return a * exp(-a);
    if (nu == 1.5)
        return a * a * exp(-a);
    if (nu == 2.5)
        return a * a * (1.0 + a) / 3.0 * exp(-a);
    return a > 1e-8 ? matern_bessel(nu, nu + 1.0, fabs(nu - 1.0), a) : 0.0;
}

static const struct kparam matern_params[] = {
#ifdef HAVE_GSL
    { "nu", 0.5, 2.5, 2.5, "smoothness, from 1/2 (rough) to 5/2 (twice differentiable)",
      matern_nu_valid, NULL, NULL },
#else
    {"nu", 0.5, 2.5, 2.5,
     "smoothness: 1/2 (rough), 3/2 or 5/2 (twice differentiable); a build with "
     "the GNU Scientific Library has all between",
     matern_nu_valid, NULL},
#endif
    { 0 },
};

static const char *matern_code(const double *params)
{
    return params[0] == 0.5   ? "exp(-sqrt(r2))"
           : params[0] == 1.5 ? "(1.0 + sqrt(3.0 * r2)) * exp(-sqrt(3.0 * r2))"
           : params[0] == 2.5
               ? "(1.0 + sqrt(5.0 * r2) + 5.0 / 3.0 * r2) * exp(-sqrt(5.0 * r2))"
               : NULL; /* a Bessel function */
}

static struct kernel_closed matern_closed(const double *params)
{
    const double nu = params[0];

    return (struct kernel_closed){ .form = nu == 0.5 || nu == 1.5 || nu == 2.5 ? KERNEL_DECAY
                                                                               : KERNEL_NONE,
                                   .c = sqrt(2.0 * nu), .p1 = nu > 1.0 ? 1.0 : 0.0,
                                   .p2 = nu > 2.0 ? 1.0 / 3.0 : 0.0 };
}

const struct kernel_ops kernel_matern = {
    .name = "matern",
    .title = "Matern",
#ifdef HAVE_GSL
    .formula = "nu=1/2: exp(-a); 3/2: (1+a) exp(-a); 5/2: (1+a+a^2/3) exp(-a); else "
               "2^(1-nu)/Gamma(nu) a^nu K_nu(a); a = sqrt(2 nu) r/l",
#else
    .formula = "nu=1/2: exp(-a); 3/2: (1+a) exp(-a); 5/2: (1+a+a^2/3) exp(-a); a = sqrt(2 nu) r/l",
#endif
    .cite = "Rasmussen & Williams 2006, 4.2; Rahimi & Recht 2007",
#ifdef HAVE_GSL
    .built = "any nu from 1/2 to 5/2, by the GNU Scientific Library " GSL_VERSION,
#else
    .built =
        "nu = 1/2, 3/2, 5/2; a build with the GNU Scientific Library (libgsl-dev) has all between",
#endif
    .params = matern_params,
    .examples = (const char *const[]){ "matern(nu=1/2)", "matern(nu=3/2)", "matern(nu=5/2)", NULL },
    .hparams = kernel_lengthscale,
    .radial = matern_radial,
    .heavy = matern_heavy,
    .exact = matern_exact,
    .dlogl = matern_dlogl,
    .code = matern_code,
    .closed = matern_closed,
};
