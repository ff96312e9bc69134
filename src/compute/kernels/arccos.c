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

/* Lengths and scalar product of u and v, and sine and cosine of their angle t, from the chord c
 * between the unit vectors, cos t = 1 - c^2/2, because acos loses half of the digits near 0. */
struct angle { double nx, ny, xy, sine, cosine; };

static struct angle angle_of(const double *hp, size_t nl, size_t d, const double *x,
                             const double *y)
{
    double xx = 1.0, yy = 1.0, xy = 1.0, chord = 0.0;

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
    return (struct angle){ nx, ny, xy, sqrt(chord) * sqrt(fmax(1.0 - chord / 4.0, 0.0)),
                           1.0 - chord / 2.0 };
}

/* k = |u| |v| (sin t + (pi - t) cos t) / pi, dk = (sin t (|v| d|u| + |u| d|v|) + (pi - t) d(u.v)) /
 * pi (2.16): the terms in dt cancel. */
static double arccos_pair(const double *params, const double *hp, size_t nl, size_t d,
                          const double *x, const double *y, double *grad)
{
    const struct angle a = angle_of(hp, nl, d, x, y);
    const double nx = a.nx, ny = a.ny, sine = a.sine;

    (void)params;
    const double t = atan2(sine, a.cosine);
    for (size_t i = 0; grad && i < nl; i++)
        grad[i] = 0.0;
    for (size_t i = 0; grad && i < d; i++) {
        const double l = hp[nl > 1 ? i : 0], u = x[i] / l, v = y[i] / l;
        grad[nl > 1 ? i : 0] -= (sine * (ny * u * u / nx + nx * v * v / ny) +
                                 2.0 * (M_PI - t) * u * v) / M_PI;
    }
    return (nx * ny * sine + (M_PI - t) * a.xy) / M_PI;
}

/* dk/du_i = (sin t |v| u_i / |u| + (pi - t) v_i) / pi. */
static void arccos_slope(const double *params, const double *hp, size_t nl, size_t d,
                         const double *x, const double *y, double *dx)
{
    const struct angle a = angle_of(hp, nl, d, x, y);
    const double t = atan2(a.sine, a.cosine);

    (void)params;
    for (size_t i = 0; i < d; i++) {
        const double l = hp[nl > 1 ? i : 0];
        dx[i] = (a.sine * a.ny / a.nx * x[i] + (M_PI - t) * y[i]) / (M_PI * l * l);
    }
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
    .slope = arccos_slope,
    .code = arccos_code,
};
