/* compute/kernels/linear.c -- the linear kernel x.x' (share/doc/methods.md 2.9): Bayesian
 * regression on the inputs, which are its features.  In a product it is a random projection of the
 * inputs, which is unbiased, too (3.11). */
#include "compute/features/featmap.h"
#include "compute/kernels/kernels.h"

static size_t linear_recipe(const double *params, bool alone, struct fm_step *out)
{
    (void)params;
    if (alone) {
        out[0] = (struct fm_step){ .op = FM_COPY };
        return 1;
    }
    out[0] = (struct fm_step){ .op = FM_SCALE_IN, .index = FM_NONE };
    out[1] = (struct fm_step){ .op = FM_SIGN };
    out[2] = (struct fm_step){ .op = FM_FHT };
    out[3] = (struct fm_step){ .op = FM_TIMES };
    return 4;
}

static double linear_pair(const double *params, const double *hp, size_t nl, size_t d,
                          const double *x, const double *y, double *grad)
{
    double sum = 0.0;

    (void)params, (void)hp, (void)nl, (void)grad;
    for (size_t i = 0; i < d; i++)
        sum += x[i] * y[i];
    return sum;
}

static void linear_slope(const double *params, const double *hp, size_t nl, size_t d,
                         const double *x, const double *y, double *dx)
{
    (void)params, (void)hp, (void)nl, (void)x;
    for (size_t i = 0; i < d; i++)
        dx[i] = y[i];
}

static const struct hparam none[] = { { 0 } };

static const char *linear_code(const double *params)
{
    (void)params;
    return "uv";
}

static struct kernel_closed linear_closed(const double *params)
{
    (void)params;
    return (struct kernel_closed){ .form = KERNEL_DOT, .p1 = 1.0 };
}

const struct kernel_ops kernel_linear = {
    .name = "linear",
    .title = "Linear",
    .formula = "x.y",
    .cite = "Rasmussen & Williams 2006, 4.2.2",
    .hparams = none,
    .recipe = linear_recipe,
    .pair = linear_pair,
    .slope = linear_slope,
    .code = linear_code,
    .closed = linear_closed,
};
