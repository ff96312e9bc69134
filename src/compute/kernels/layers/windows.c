/* compute/kernels/layers/windows.c -- exact sums of a kernel over the windows of two rows
 * (share/doc/methods.md 4.1 to 4.3). */
#include "compute/kernels/layers/windows.h"

#include "compute/kernels/kernel.h"
#include "compute/kernels/layers/symbol_windows.h"

#include <math.h>

/* The number of pairs of nodes with both symbols outside the alphabet: equal, but with product
 * 0. */
static size_t unknown_pairs(const struct layer *w, const double *x, size_t m,
                            const double *y, size_t n)
{
    size_t a = 0, b = 0;

    for (size_t i = 0; i < m; i++)
        a += x[1 + i] >= (double)w->channels;
    for (size_t i = 0; i < n; i++)
        b += y[1 + i] >= (double)w->channels;
    return a * b;
}

/* sum over distances of count(r^2) k(r / l), and in *slope that of dk/dlog l (NULL: not wanted). */
static double symbols_exact(const struct kterm *t, double l, const double *x, size_t m,
                            const double *y, size_t n, double *slope)
{
    size_t count[2 * KERNEL_WIDTH_MOST + 1];
    double sum = 0.0;

    symbol_windows_count(&t->layer, x + 1, m, y + 1, n, count);
    for (size_t i = 0; i <= 2 * t->layer.width; i++) {
        if (count[i] == 0)
            continue;
        if (!t->ops->exact) { /* powers of products of nodes: 1 for equal symbols, else 0 */
            sum += i == 0 ? (double)(count[0] - unknown_pairs(&t->layer, x, m, y, n)) : 0.0;
            continue;
        }
        sum += (double)count[i] * t->ops->exact(t->params, sqrt((double)i) / l);
        if (slope)
            *slope += (double)count[i] * t->ops->dlogl(t->params, sqrt((double)i) / l);
    }
    return sum;
}

double windows_exact(const struct kterm *t, const double *hp, const double *x, const double *y,
                     double *grad)
{
    const struct layer *w = &t->layer;
    const double one = 1.0, l = t->ops->exact ? hp[0] : 1.0;
    const size_t m = windows_count(w, x), n = windows_count(w, y);
    double sum = 0.0, slope = 0.0;

    if (w->symbols && m > 0 && n > 0)
        sum = symbols_exact(t, l, x, m, y, n, grad ? &slope : NULL);
    for (size_t a = 0; !w->symbols && a < m; a++)
        for (size_t b = 0; b < n; b++) {
            const double *p = x + 1 + a * w->channels, *q = y + 1 + b * w->channels;
            double r2 = 0.0;
            for (size_t i = 0; !t->ops->exact && i < w->width * w->channels; i++)
                r2 += p[i] * q[i];
            if (!t->ops->exact) {
                sum += t->ops->pair(t->params, NULL, 1, 1, &r2, &one, NULL);
                continue;
            }
            for (size_t i = 0; i < w->width * w->channels; i++)
                r2 += (p[i] - q[i]) * (p[i] - q[i]);
            sum += t->ops->exact(t->params, sqrt(r2) / l);
            slope += grad ? t->ops->dlogl(t->params, sqrt(r2) / l) : 0.0;
        }
    const double c = windows_factor(w, m) * windows_factor(w, n);
    if (grad && t->ops->exact)
        grad[0] = c * slope;
    return c * sum;
}

enum status windows_check(const struct kernel *k, size_t from, struct err *err)
{
    const struct kterm *t = &k->term[from];

    if (k->nterms == from + 1 && t->ops->exact && t->ard == 0)
        return ST_OK;
    err_set(err, ST_UNSUPPORTED,
            "%s takes one stationary kernel with one lengthscale: rbf, matern, cauchy or rq",
            t->layer.ops->name);
    err_hint(err, "conv(rbf,width=9)  |  fastconv(EXPRESSION,width=9)  takes any");
    return ST_UNSUPPORTED;
}

static const char *const averages[] = { "sqrt", "none", "full", NULL };
static const char *const norms[] = { "standard", "unit", "raw", NULL };

#define WINDOWS_NORM                                                                               \
    {                                                                                              \
        .name = "norm", .offset = offsetof(struct layer, norm), .words = norms,                    \
        .expected = "standard, unit or raw", .quiet = true                                         \
    }
#define WINDOWS_AVERAGE                                                                            \
    {                                                                                              \
        .name = "average", .offset = offsetof(struct layer, average), .words = averages,           \
        .expected = "sqrt, none or full"                                                           \
    }

const struct layer_setting windows_settings[] = {
    { .name = "width", .offset = offsetof(struct layer, width), .most = KERNEL_WIDTH_MOST },
    WINDOWS_NORM,
    WINDOWS_AVERAGE,
    { 0 },
};

const struct layer_setting windows_settings_one_position[] = { WINDOWS_NORM, WINDOWS_AVERAGE,
                                                               { 0 } };
