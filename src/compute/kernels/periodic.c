/* compute/kernels/periodic.c -- the periodic kernel (share/doc/methods.md 2.8; MacKay 1998): the
 * squared exponential kernel of points u on a circle onto which each input is wound,
 * |u - u'|^2 = 4 sin^2(pi delta / period).  Its features are those of rbf at (cos, sin)(2 pi x / p)
 * / l (3.7). */
#include "compute/features/featmap.h"
#include "compute/kernels/kernels.h"

#include <math.h>

static size_t periodic_recipe(const double *params, bool alone, struct fm_step *out)
{
    size_t n = 0;

    (void)params, (void)alone;
    out[n++] = (struct fm_step){ .op = FM_CIRCLE, .index = 0, .also = 1 };
    n += kernel_gaussian_steps(out + n);
    out[n++] = (struct fm_step){ .op = FM_PHASE };
    return n;
}

/* k = exp(-sum 2 s_i^2), s_i = sin(a_i) / l_i, a_i = pi (x_i - y_i) / p; derivatives 2.14. */
static double periodic_pair(const double *params, const double *hp, size_t nl, size_t d,
                            const double *x, const double *y, double *grad)
{
    double sum = 0.0, turn = 0.0;

    (void)params;
    for (size_t i = 0; grad && i < nl; i++)
        grad[i] = 0.0;
    for (size_t i = 0; i < d; i++) {
        const double l = hp[nl > 1 ? i : 0], a = M_PI * (x[i] - y[i]) / hp[nl], s = sin(a) / l;
        sum += 2.0 * s * s;
        turn += 4.0 * a * s * cos(a) / l;
        if (grad)
            grad[nl > 1 ? i : 0] += 4.0 * s * s;
    }
    const double k = exp(-sum);
    for (size_t i = 0; grad && i < nl; i++)
        grad[i] *= k;
    if (grad)
        grad[nl] = turn * k;
    return k;
}

/* dk/dx_i = -4 k s_i cos(a_i) (pi / p) / l_i. */
static void periodic_slope(const double *params, const double *hp, size_t nl, size_t d,
                           const double *x, const double *y, double *dx)
{
    const double k = periodic_pair(params, hp, nl, d, x, y, NULL);

    for (size_t i = 0; i < d; i++) {
        const double l = hp[nl > 1 ? i : 0], a = M_PI * (x[i] - y[i]) / hp[nl];
        dx[i] = -4.0 * k * sin(a) * cos(a) * M_PI / (hp[nl] * l * l);
    }
}

static const struct hparam periodic_hparams[] = {
    { "lengthscale", "of the circle of radius 1", 1e-2, 1e3, 1.0,
      "small: many wiggles within a period; l for short" },
    { "period", "standard deviations of the inputs", 1e-3, 1e3, 1.0,
      "distance after which the function repeats" },
    { 0 },
};

static const char *periodic_code(const double *params)
{
    (void)params;
    return "exp(-0.5 * r2)";
}

static struct kernel_closed periodic_closed(const double *params)
{
    (void)params;
    return (struct kernel_closed){ .form = KERNEL_GAUSS, .circle = true, .c = 0.5 };
}

const struct kernel_ops kernel_periodic = {
    .name = "periodic",
    .title = "Periodic",
    .formula = "exp(-2 sin^2(pi delta/period)/l^2), a product over inputs",
    .cite = "MacKay 1998; Rasmussen & Williams 2006, 4.2.3",
    .hparams = periodic_hparams,
    .of_distance = true,
    .recipe = periodic_recipe,
    .pair = periodic_pair,
    .slope = periodic_slope,
    .code = periodic_code,
    .closed = periodic_closed,
};
