/* compute/kernels/kernel_exact.c -- the value of a kernel expression at two rows, and its gradient
 * in the logarithms of the hyperparameters (share/doc/methods.md 2.13, 2.18). */
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
 * added over each group. */
static double grouped_exact(const struct kernel *k, const struct kterm *term, const double *hp,
                            size_t d, const double *x, const double *y, double *grad)
{
    double own[KERNEL_MAX_GROUPED + KERNEL_MAX_HP], back[KERNEL_MAX_GROUPED + KERNEL_MAX_HP];
    const size_t nl = term->ard, rest = kernel_term_nhp(term) - nl;

    for (size_t i = 0; i < d; i++)
        own[i] = hp[k->group[i]];
    memcpy(own + d, hp + nl, rest * sizeof *own);
    const double v = ops_exact(term, own, d, d, x, y, grad ? back : NULL);
    if (!grad)
        return v;
    memset(grad, 0, nl * sizeof *grad);
    for (size_t i = 0; i < d; i++)
        grad[k->group[i]] += back[i];
    memcpy(grad + nl, back + d, rest * sizeof *grad);
    return v;
}

/* Kernel t of an expression, on the inputs or windows that it reads. */
static double term_exact(const struct kernel *k, size_t t, const double *hp, size_t d,
                         const double *x, const double *y, double *grad)
{
    const struct kterm *term = &k->term[t];

    if (kterm_reads_windows(term))
        return term->layer.ops->exact(term, hp, x + term->layer.flat, y + term->layer.flat, grad);
    x += term->first;
    y += term->first;
    d = kernel_inputs(k, t, d);
    if (term->grouped && term->ard > 1)
        return grouped_exact(k, term, hp, d, x, y, grad);
    return ops_exact(term, hp, term->ard == 0 ? 1 : term->ard, d, x, y, grad);
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
