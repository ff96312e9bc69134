/* cuda/descent.h -- a step of stochastic dual descent (share/doc/methods.md 9.10 to 9.12) for the
 * coordinates of its batch, all right-hand sides at once; all else stays where it is, and is
 * brought forward when it is met (compute/solvers/dual_path.c). */
#ifndef GPDESK_CUDA_DESCENT_H
#define GPDESK_CUDA_DESCENT_H

#include "cuda/kernels.h"

/* Brings w, v and the average of one coordinate forward by `gap` steps; more than the table has go
 * in parts. */
DEV void descent_bring(const struct descent_args *a, uint32_t gap, double w, double *v,
                       double *mean)
{
    while (gap > 0) {
        const uint32_t some = gap < (uint32_t)a->coasts ? gap : (uint32_t)a->coasts - 1;
        const double *f = a->coast + (size_t)some * 4;
        *mean = f[1] * *mean + f[2] * w + f[3] * *v;
        *v *= f[0];
        gap -= some;
    }
}

/* The entry j of the gradient of vector c: row_i (K u)_i + lam2 u_i - b_i. */
DEV double descent_error(const struct descent_args *a, int c, size_t j)
{
    const struct descent_entry e = a->batch[j];
    const size_t at = (size_t)c * a->n + e.at;
    const uint32_t rest = e.gap - 1;
    const double decay = rest < (uint32_t)a->coasts ? a->coast[(size_t)rest * 4] : 0.0;
    const double u = a->w[at] - a->rho * a->rho / (1.0 - a->rho) * decay * a->v[at];
    double sum = 0.0;

    for (int q = 0; q < a->chunks; q++)
        sum += a->part[((size_t)q * (size_t)a->k + (size_t)c) * a->m + j];
    return (a->row ? a->row[e.at] : 1.0) * sum + a->lam2 * u - a->B[at];
}

/* Vector c.  smem: DESCENT_THREADS numbers. */
DEV void descent_block(const struct descent_args *a, int c, double *smem)
{
    double *E = a->E + (size_t)c * a->m;

    LANES(t, DESCENT_THREADS) {
        double own = 0.0;
        for (size_t j = (size_t)t; j < a->m; j += DESCENT_THREADS) {
            E[j] = descent_error(a, c, j);
            own += E[j] * E[j];
        }
        smem[t] = own;
    }
    for (int h = DESCENT_THREADS / 2; h > 0; h /= 2) {
        SYNC();
        LANES(t, DESCENT_THREADS)
            if (t < h)
                smem[t] += smem[t + h];
    }
    SYNC();
    LANES(t, DESCENT_THREADS) {
        if (t == 0)
            a->square[c] = smem[0];
        for (size_t j = (size_t)t; j < a->m; j += DESCENT_THREADS) {
            const struct descent_entry e = a->batch[j];
            const size_t at = (size_t)c * a->n + e.at;
            if (!e.first)
                continue;
            double w = a->w[at], v = a->v[at], mean = a->a ? a->a[at] : 0.0;
            descent_bring(a, e.gap, w, &v, &mean);
            for (uint32_t q = (uint32_t)j; q != DESCENT_LAST; q = a->batch[q].next) {
                const double d = a->length * E[q];
                v -= d;
                w -= d / (1.0 - a->rho);
                mean -= a->newest * d;
            }
            a->w[at] = w;
            a->v[at] = v;
            if (a->a)
                a->a[at] = mean;
            if (c == 0) /* the other vectors read `gap` */
                a->last[e.at] = a->t;
        }
    }
}

#endif
