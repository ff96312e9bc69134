/* compute/kernels/poly.c -- the polynomial kernel (x.x' / l^2 + c)^degree (share/doc/methods.md
 * 2.10).  Its features are a TensorSRHT (3.10; Ahle et al. 2020): each factor of the power is a
 * randomised Hadamard projection of u = (x / l, sqrt c) of its own, and a feature is the product of
 * one entry of each.  The factors are independent and unbiased, and so is the product; its variance
 * grows about as 3^degree. */
#include "compute/features/featmap.h"
#include "compute/kernels/kernels.h"

#include <math.h>

static size_t poly_recipe(const double *params, bool alone, struct fm_step *out)
{
    size_t n = 0;

    (void)alone;
    for (size_t q = 0; q < (size_t)params[0]; q++) {
        out[n++] = (struct fm_step){ .op = FM_SCALE_IN };
        out[n++] = (struct fm_step){ .op = FM_APPEND, .index = FM_NONE, .value = sqrt(params[1]) };
        out[n++] = (struct fm_step){ .op = FM_SIGN, .index = q };
        out[n++] = (struct fm_step){ .op = FM_FHT };
        out[n++] = (struct fm_step){ .op = FM_SHUFFLE, .index = q };
        out[n++] = (struct fm_step){ .op = FM_TIMES };
    }
    return n;
}

/* k = q^p, dk/dlog l_i = -2 p q^(p-1) x_i y_i / l_i^2, q = x.y / l^2 + c (2.15). */
static double poly_pair(const double *params, const double *hp, size_t nl, size_t d,
                        const double *x, const double *y, double *grad)
{
    const double p = params[0];
    double sum = params[1];

    for (size_t i = 0; i < d; i++) {
        const double l = hp[nl > 1 ? i : 0];
        sum += x[i] * y[i] / (l * l);
    }
    for (size_t i = 0; grad && i < nl; i++)
        grad[i] = 0.0;
    for (size_t i = 0; grad && i < d; i++) {
        const double l = hp[nl > 1 ? i : 0];
        grad[nl > 1 ? i : 0] -= 2.0 * p * pow(sum, p - 1.0) * x[i] * y[i] / (l * l);
    }
    return pow(sum, p);
}

/* dk/dx_i = p q^(p-1) y_i / l_i^2. */
static void poly_slope(const double *params, const double *hp, size_t nl, size_t d,
                       const double *x, const double *y, double *dx)
{
    double q = params[1];

    for (size_t i = 0; i < d; i++) {
        const double l = hp[nl > 1 ? i : 0];
        q += x[i] * y[i] / (l * l);
    }
    for (size_t i = 0; i < d; i++) {
        const double l = hp[nl > 1 ? i : 0];
        dx[i] = params[0] * pow(q, params[0] - 1.0) * y[i] / (l * l);
    }
}

static bool poly_whole(double v)
{
    return v == floor(v);
}

static const struct kparam poly_params[] = {
    { "degree", 2.0, 4.0, 2.0, "2, 3 or 4", poly_whole, NULL, NULL },
    { "c", 0.0, 100.0, 1.0, "weight of the lower degrees, 0 to 100", NULL, NULL, NULL },
    { 0 },
};

static const char *poly_code(const double *params)
{
    (void)params;
    return "pow(uv, p0)";
}

static struct kernel_closed poly_closed(const double *params)
{
    return (struct kernel_closed){ .form = KERNEL_DOT, .c = params[1], .p1 = params[0] };
}

const struct kernel_ops kernel_poly = {
    .name = "poly",
    .title = "Polynomial",
    .formula = "(x.y/l^2 + c)^degree",
    .cite = "Rasmussen & Williams 2006, 4.2.2; Ahle et al. 2020",
    .params = poly_params,
    .hparams = kernel_lengthscale,
    .recipe = poly_recipe,
    .pair = poly_pair,
    .slope = poly_slope,
    .code = poly_code,
    .closed = poly_closed,
};
