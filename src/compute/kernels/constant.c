/* compute/kernels/constant.c -- the constant kernel k = 1: an intercept, whose feature is one
 * column of ones and whose prior standard deviation is the weight of its product (Rasmussen &
 * Williams 2006, section 2.7). */
#include "compute/features/featmap.h"
#include "compute/kernels/kernels.h"

static size_t constant_recipe(const double *params, bool alone, struct fm_step *out)
{
    (void)params;
    out[0] = (struct fm_step){ .op = FM_ONE };
    return alone ? 1 : 0;
}

static double constant_pair(const double *params, const double *hp, size_t nl, size_t d,
                            const double *x, const double *y, double *grad)
{
    (void)params, (void)hp, (void)nl, (void)d, (void)x, (void)y, (void)grad;
    return 1.0;
}

static void constant_slope(const double *params, const double *hp, size_t nl, size_t d,
                           const double *x, const double *y, double *dx)
{
    (void)params, (void)hp, (void)nl, (void)x, (void)y;
    for (size_t i = 0; i < d; i++)
        dx[i] = 0.0;
}

static const struct hparam none[] = { { 0 } };

static const char *constant_code(const double *params)
{
    (void)params;
    return "1.0";
}

static struct kernel_closed constant_closed(const double *params)
{
    (void)params;
    return (struct kernel_closed){ .form = KERNEL_ONE };
}

const struct kernel_ops kernel_constant = {
    .name = "constant",
    .title = "Constant (intercept)",
    .formula = "1",
    .cite = "Rasmussen & Williams 2006, 2.7",
    .hparams = none,
    .blind = true,
    .recipe = constant_recipe,
    .pair = constant_pair,
    .slope = constant_slope,
    .code = constant_code,
    .closed = constant_closed,
};
