/* compute/kernels/erf.c -- the kernel of an infinitely wide layer of sigmoids erf(w.u) over
 * u = (bias, x / l), w ~ N(0, I) (share/doc/methods.md 2.12; Williams 1998).  Its features are
 * sqrt(1 / M) erf(w.u) (3.9). */
#include "compute/features/featmap.h"
#include "compute/kernels/kernels.h"

#include <math.h>

static size_t erf_recipe(const double *params, bool alone, struct fm_step *out)
{
    size_t n = 0;

    (void)params, (void)alone;
    out[n++] = (struct fm_step){ .op = FM_SCALE_IN };
    out[n++] = (struct fm_step){ .op = FM_APPEND, .index = 1, .value = 1.0 };
    n += kernel_gaussian_steps(out + n);
    out[n++] = (struct fm_step){ .op = FM_ERF };
    return n;
}

/* k = (2/pi) asin(q), q = 2 u.v / sqrt(A B), A = 1 + 2 u.u, B = 1 + 2 v.v; derivatives 2.17.  |q| <
 * 1 but for rounding, hence the clamps. */
static double erf_pair(const double *params, const double *hp, size_t nl, size_t d,
                       const double *x, const double *y, double *grad)
{
    const double b2 = hp[nl] * hp[nl];
    double xx = b2, yy = b2, xy = b2;

    (void)params;
    for (size_t i = 0; i < d; i++) {
        const double l = hp[nl > 1 ? i : 0], u = x[i] / l, v = y[i] / l;
        xx += u * u;
        yy += v * v;
        xy += u * v;
    }
    const double A = 1.0 + 2.0 * xx, B = 1.0 + 2.0 * yy, root = sqrt(A * B), q = 2.0 * xy / root;
    const double slope = 2.0 / M_PI / sqrt(fmax(1.0 - q * q, 1e-300));
    for (size_t i = 0; grad && i <= nl; i++)
        grad[i] = 0.0;
    for (size_t i = 0; grad && i < d; i++) {
        const double l = hp[nl > 1 ? i : 0], u = x[i] / l, v = y[i] / l;
        grad[nl > 1 ? i : 0] -= slope * (4.0 * u * v / root - 2.0 * q * (u * u / A + v * v / B));
    }
    if (grad)
        grad[nl] = slope * (4.0 * b2 / root - 2.0 * q * b2 * (1.0 / A + 1.0 / B));
    return 2.0 / M_PI * asin(fmin(fmax(q, -1.0), 1.0));
}

/* dq/du_i = 2 v_i / root - 2 q u_i / A. */
static void erf_slope(const double *params, const double *hp, size_t nl, size_t d, const double *x,
                      const double *y, double *dx)
{
    double xx = hp[nl] * hp[nl], yy = xx, xy = xx;

    (void)params;
    for (size_t i = 0; i < d; i++) {
        const double l = hp[nl > 1 ? i : 0];
        xx += x[i] * x[i] / (l * l);
        yy += y[i] * y[i] / (l * l);
        xy += x[i] * y[i] / (l * l);
    }
    const double A = 1.0 + 2.0 * xx, root = sqrt(A * (1.0 + 2.0 * yy)), q = 2.0 * xy / root;
    const double slope = 2.0 / M_PI / sqrt(fmax(1.0 - q * q, 1e-300));
    for (size_t i = 0; i < d; i++) {
        const double l = hp[nl > 1 ? i : 0];
        dx[i] = slope * (2.0 * y[i] / root - 2.0 * q * x[i] / A) / (l * l);
    }
}

static const struct hparam erf_hparams[] = {
    { "lengthscale", "standard deviations of the inputs", 1e-2, 1e3, 1.0,
      "distance over which a unit goes from one end to the other; l for short" },
    { "bias", "of the units' offset", 1e-2, 1e2, 1.0, "how far from the origin units may switch" },
    { 0 },
};

static const char *erf_code(const double *params)
{
    (void)params;
    return "2.0 / M_PI * asin(2.0 * uv / sqrt((1.0 + 2.0 * uu) * (1.0 + 2.0 * vv)))";
}

const struct kernel_ops kernel_erf = {
    .name = "erf",
    .title = "Sigmoid layer (erf)",
    .formula = "2/pi asin(2 u.v / sqrt((1 + 2 u.u)(1 + 2 v.v))), u = (bias, x/l)",
    .cite = "Williams 1998",
    .hparams = erf_hparams,
    .recipe = erf_recipe,
    .pair = erf_pair,
    .slope = erf_slope,
    .code = erf_code,
};
