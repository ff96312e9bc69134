/* compute/kernels/kernel_exact.c -- the value of a kernel expression at two rows, its gradient in
 * the logarithms of the hyperparameters (share/doc/methods.md 2.13, 2.18) and that in one of the
 * rows (5.13). */
#include "compute/kernels/kernel.h"

#include "compute/kernels/kernels.h"

#include <math.h>
#include <string.h>

/* One kernel at two rows, with `each` lengthscales, 1 or d; grad: derivatives in its own
 * hyperparameters, or NULL.  a^2 = sum u_i^2 with u_i = (x_i - y_i) / l_i, by differences: it does
 * not cancel for rows that almost coincide. */
static double ops_exact(const struct kterm *term, const double *hp, size_t each, size_t d,
                        const double *x, const double *y, double *grad)
{
    double r2 = 0.0;

    if (term->ops->pair)
        return term->ops->pair(term->params, hp, each, d, x, y, grad);
    for (size_t i = 0; i < d; i++) {
        const double u = (x[i] - y[i]) / hp[each > 1 ? i : 0];
        r2 += u * u;
    }
    const double a = sqrt(r2);
    if (grad) { /* dk/dlog l_i = g(a) u_i^2 / a^2 with g = dk/dlog l = -a k'(a) (2.13) */
        const double all = term->ops->dlogl(term->params, a);
        if (each == 1)
            grad[0] = all;
        for (size_t i = 0; each > 1 && i < d; i++) {
            const double u = (x[i] - y[i]) / hp[i];
            grad[i] = r2 > 0.0 ? all * u * u / r2 : 0.0;
        }
    }
    return term->ops->exact(term->params, a);
}

/* A kernel with lengthscales by group: computed with one for each input, whose derivatives are then
 * added over each group.  x and y are the d inputs that it reads, from term->first on. */
static double grouped_exact(const struct kernel *k, const struct kterm *term, const double *hp,
                            size_t d, const double *x, const double *y, double *grad)
{
    const uint8_t *group = k->group + term->first;
    double own[KERNEL_MAX_GROUPED + KERNEL_MAX_HP], back[KERNEL_MAX_GROUPED + KERNEL_MAX_HP];
    const size_t nl = term->ard, rest = kernel_term_nhp(term) - nl;

    for (size_t i = 0; i < d; i++)
        own[i] = hp[group[i]];
    memcpy(own + d, hp + nl, rest * sizeof *own);
    const double v = ops_exact(term, own, d, d, x, y, grad ? back : NULL);
    if (!grad)
        return v;
    memset(grad, 0, nl * sizeof *grad);
    for (size_t i = 0; i < d; i++)
        grad[group[i]] += back[i];
    memcpy(grad + nl, back + d, rest * sizeof *grad);
    return v;
}

double kernel_exact_mapped(const struct kterm *term, const double *hp, const double *x,
                           const double *y)
{
    return ops_exact(term, hp, 1, term->net->shape.out, x, y, NULL);
}

/* A kernel that learns, or one on the coordinates of a map. */
static double learned_exact(const struct kterm *term, const double *hp, size_t d, const double *x,
                            const double *y, double *grad)
{
    double c[2 * NET_OUT_MOST];

    if (!term->net || term->net->shape.inputs != d)
        return NAN;
    if (!term->map)
        return net_value(term->net, x, y);
    const size_t q = term->net->shape.out;
    if (net_rows(term->net, 1, x, d, c, q, NULL) != ST_OK ||
        net_rows(term->net, 1, y, d, c + q, q, NULL) != ST_OK)
        return NAN;
    return ops_exact(term, hp, 1, q, c, c + q, grad);
}

/* Kernel t of an expression, on the inputs or windows that it reads. */
static double term_exact(const struct kernel *k, size_t t, const double *hp, size_t d,
                         const double *x, const double *y, double *grad)
{
    const struct kterm *term = &k->term[t];

    if (kterm_reads_windows(term))
        return term->layer.ops->exact(term, hp, x + layer_first(&term->layer, x),
                                      y + layer_first(&term->layer, y), grad);
    if (kterm_learns(term))
        return learned_exact(term, hp, d, x, y, grad);
    x += term->first;
    y += term->first;
    d = kernel_inputs(k, t, d);
    if (term->grouped && term->ard > 1)
        return grouped_exact(k, term, hp, d, x, y, grad);
    return ops_exact(term, hp, term->ard == 0 ? 1 : term->ard, d, x, y, grad);
}

double kernel_exact_term(const struct kernel *k, size_t t, const double *hp, size_t d,
                         const double *x, const double *y)
{
    return term_exact(k, t, hp, d, x, y, NULL);
}

/* k = sum_p w_p^2 prod_f k_f (2.18): the derivative in a hyperparameter of factor f is that of k_f
 * times the other factors and the squared weight; in log w_p it is 2 w_p^2 prod_f k_f. */
double kernel_exact(const struct kernel *k, const double *hp, size_t d, const double *x,
                    const double *y, double *grad)
{
    double sum = 0.0;

    if (k->nterms == 1)
        return term_exact(k, 0, hp, d, x, y, grad);
    for (size_t t = 0, end; t < k->nterms; t = end) { /* a product: kernels t to end - 1 */
        double v[KERNEL_MAX_TERMS], all = 1.0;
        size_t at[KERNEL_MAX_TERMS], n = 0;
        const struct kernel_place p = kernel_place(k, t);
        const double w = p.weight == SIZE_MAX ? 1.0 : hp[p.weight];
        for (end = t; end < k->nterms && (end == t || k->term[end].times); end++) {
            at[end - t] = p.hp0 + n;
            v[end - t] = term_exact(k, end, hp + at[end - t], d, x, y,
                                    grad ? grad + at[end - t] : NULL);
            n += kernel_term_nhp(&k->term[end]);
            all *= v[end - t];
        }
        sum += w * w * all;
        if (grad && p.weight != SIZE_MAX)
            grad[p.weight] = 2.0 * w * w * all;
        for (size_t i = t; grad && i < end; i++) { /* others: w^2 times the other factors */
            double others = w * w;
            for (size_t j = t; j < end; j++)
                others *= j == i ? 1.0 : v[j - t];
            for (size_t h = 0; h < kernel_term_nhp(&k->term[i]); h++)
                grad[at[i - t] + h] *= others;
        }
    }
    return sum;
}

/* The gradient in a row. */

/* A kernel of a distance: dk/dx_i = -g(a) / a^2 u_i / l_i with g = dk/dlog l; g / a^2 has a limit
 * at a = 0. */
static void radial_slope(const struct kterm *term, const double *hp, size_t each, size_t d,
                           const double *x, const double *y, double *dx)
{
    double r2 = 0.0;

    for (size_t i = 0; i < d; i++) {
        const double u = (x[i] - y[i]) / hp[each > 1 ? i : 0];
        r2 += u * u;
        dx[i] = u / hp[each > 1 ? i : 0];
    }
    const double at = fmax(sqrt(r2), 1e-6);
    const double c = -term->ops->dlogl(term->params, at) / (at * at);
    for (size_t i = 0; i < d; i++)
        dx[i] *= c;
}

/* The gradient of kernel t in the inputs that it reads. */
static void term_slope(const struct kernel *k, size_t t, const double *hp, size_t d,
                         const double *x, const double *y, double *dx)
{
    const struct kterm *term = &k->term[t];
    const size_t own = kernel_inputs(k, t, d), nl = term->ard;
    double each[KERNEL_MAX_GROUPED + KERNEL_MAX_HP];
    size_t n = nl == 0 ? 1 : nl;

    if (term->grouped && nl > 1) {
        for (size_t i = 0; i < own; i++)
            each[i] = hp[k->group[i]];
        memcpy(each + own, hp + nl, (kernel_term_nhp(term) - nl) * sizeof *each);
        hp = each;
        n = own;
    }
    x += term->first;
    y += term->first;
    if (term->ops->slope)
        term->ops->slope(term->params, hp, n, own, x, y, dx);
    else
        radial_slope(term, hp, n, own, x, y, dx);
}

double kernel_exact_slope(const struct kernel *k, const double *hp, size_t d, const double *x,
                          const double *y, double *dx, double *work)
{
    double sum = 0.0;

    memset(dx, 0, d * sizeof *dx);
    for (size_t t = 0, end; t < k->nterms; t = end) { /* a product: kernels t to end - 1 */
        double v[KERNEL_MAX_TERMS], all = 1.0;
        const struct kernel_place p = kernel_place(k, t);
        const double w = p.weight == SIZE_MAX ? 1.0 : hp[p.weight];
        for (end = t; end < k->nterms && (end == t || k->term[end].times); end++) {
            v[end - t] = term_exact(k, end, hp + kernel_place(k, end).hp0, d, x, y, NULL);
            all *= v[end - t];
        }
        sum += w * w * all;
        for (size_t i = t; i < end; i++) {
            double others = w * w;
            for (size_t j = t; j < end; j++)
                others *= j == i ? 1.0 : v[j - t];
            term_slope(k, i, hp + kernel_place(k, i).hp0, d, x, y, work);
            for (size_t e = 0; e < kernel_inputs(k, i, d); e++)
                dx[k->term[i].first + e] += others * work[e];
        }
    }
    return sum;
}

bool kernel_exact_slopes(const struct kernel *k, const char **which)
{
    for (size_t t = 0; t < k->nterms; t++) {
        const struct kterm *term = &k->term[t];
        *which = term->ops->title;
        if (kterm_reads_windows(term) || kterm_learns(term) ||
            (term->ops->heavy && term->ops->heavy(term->params)))
            return false;
    }
    return true;
}
