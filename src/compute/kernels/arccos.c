/* compute/kernels/arccos.c -- the arc-cosine kernel of order 1 (share/doc/methods.md 2.11; Cho &
 * Saul 2009): an infinitely wide layer of rectified linear units over u = (1, x / l).  The leading
 * 1 is the bias, without which the function is homogeneous and fits no offset.  Its features are
 * sqrt(2 / M) max(0, w.u), w ~ N(0, I) (3.8). */
#include "compute/features/featmap.h"
#include "compute/kernels/kernels.h"

#include <math.h>

static size_t arccos_recipe(const double *params, bool alone, struct fm_step *out)
{
    size_t n = 0;

    (void)params, (void)alone;
    out[n++] = (struct fm_step){ .op = FM_SCALE_IN };
    out[n++] = (struct fm_step){ .op = FM_APPEND, .index = FM_NONE, .value = 1.0 };
    n += kernel_gaussian_steps(out + n);
    out[n++] = (struct fm_step){ .op = FM_RELU, .value = M_SQRT2 };
    return n;
}

/* k = |u| |v| (sin t + (pi - t) cos t) / pi, t the angle of u and v.  It is taken from the chord c
 * between the unit vectors, t = atan2(c sqrt(1 - c^2/4), 1 - c^2/2), because acos loses half of the
 * digits near 0.  dk = (sin t (|v| d|u| + |u| d|v|) + (pi - t) d(u.v)) / pi (2.16): the terms in dt
 * cancel. */
static double arccos_pair(const double *params, const double *hp, size_t nl, size_t d,
                          const double *x, const double *y, double *grad)
{
    double xx = 1.0, yy = 1.0, xy = 1.0, chord = 0.0;

    (void)params;
    for (size_t i = 0; i < d; i++) {
        const double l = hp[nl > 1 ? i : 0], u = x[i] / l, v = y[i] / l;
        xx += u * u;
        yy += v * v;
        xy += u * v;
    }
    const double nx = sqrt(xx), ny = sqrt(yy);
    chord = (1.0 / nx - 1.0 / ny) * (1.0 / nx - 1.0 / ny);
    for (size_t i = 0; i < d; i++) {
        const double l = hp[nl > 1 ? i : 0], c = x[i] / l / nx - y[i] / l / ny;
        chord += c * c;
    }
    const double sine = sqrt(chord) * sqrt(fmax(1.0 - chord / 4.0, 0.0)),
                 cosine = 1.0 - chord / 2.0;
    const double t = atan2(sine, cosine);
    for (size_t i = 0; grad && i < nl; i++)
        grad[i] = 0.0;
    for (size_t i = 0; grad && i < d; i++) {
        const double l = hp[nl > 1 ? i : 0], u = x[i] / l, v = y[i] / l;
        grad[nl > 1 ? i : 0] -= (sine * (ny * u * u / nx + nx * v * v / ny) +
                                 2.0 * (M_PI - t) * u * v) / M_PI;
    }
    return (nx * ny * sine + (M_PI - t) * xy) / M_PI;
}

static const char *arccos_code(const double *params)
{
    (void)params;
    return "sqrt(uu * vv) * (sin(angle) + (M_PI - angle) * cos(angle)) / M_PI";
}

const struct kernel_ops kernel_arccos = {
    .name = "arccos",
    .title = "Arc-cosine, order 1",
    .formula = "|u| |v| (sin t + (pi - t) cos t) / pi, u = (1, x/l), v = (1, y/l), t their angle",
    .cite = "Cho & Saul 2009",
    .hparams = kernel_lengthscale,
    .recipe = arccos_recipe,
    .pair = arccos_pair,
    .code = arccos_code,
};
