/* cuda/cg.h -- the two halves of a conjugate-gradient step, before and after the product with Z'Z.
 * One block handles one right-hand side, everything in double, with sums in a fixed order. M
 * numbers are little work beside n M. */
#ifndef GPDESK_CUDA_CG_H
#define GPDESK_CUDA_CG_H

#include "cuda/kernels.h"

/* sum[0] = the sum of all. Every thread may read it until the next SYNC. */
DEV void cg_total(double *sum)
{
    for (int h = CG_THREADS / 2; h > 0; h /= 2) {
        SYNC();
        LANES(t, CG_THREADS)
            if (t < h)
                sum[t] += sum[t + h];
    }
    SYNC();
}

/* out[col] = the norm of column col, which has M numbers. */
DEV void norm_block(size_t M, const double *A, size_t col, double *out, double *smem)
{
    LANES(t, CG_THREADS) {
        double s = 0.0;
        for (size_t i = (size_t)t; i < M; i += CG_THREADS)
            s += A[col * M + i] * A[col * M + i];
        smem[t] = s;
    }
    cg_total(smem);
    LANES(t, CG_THREADS)
        if (t == 0)
            out[col] = sqrt(smem[0]);
}

/* True if an earlier step has ended the run. */
DEV int cg_over(const struct cg_args *a, int step)
{
    const struct dev_cg_step *before = a->history + (size_t)(step - 1) * (size_t)a->active;
    int over = 0;

    for (int i = 0; step > 0 && i < a->active; i++)
        over |= before[i].event != 0;
    return over;
}

/* rz = r'z, and the new direction p = z + beta p.  smem: CG_THREADS doubles. */
DEV void cg_direction_block(const struct cg_args *a, int slot, double *smem)
{
    const int step = a->step[slot];
    struct dev_cg_step *now = a->history + (size_t)step * (size_t)a->active + slot;
    const int fresh = step == 0 && a->slot[slot].fresh, over = cg_over(a, step);
    const double before = step > 0 && !over ? (now - a->active)->rz : a->slot[slot].rz;
    const size_t first = (size_t)slot * a->M;

    LANES(t, CG_THREADS) {
        double s = 0.0;
        for (size_t i = (size_t)t; !over && i < a->M; i += CG_THREADS)
            s += a->R[first + i] * a->Z[first + i];
        smem[t] = s;
    }
    cg_total(smem);
    const double rz = smem[0];
    const int good = rz > 0.0 && isfinite(rz);
    const double beta = fresh ? 0.0 : rz / before;
    LANES(t, CG_THREADS) {
        if (t == 0) {
            now->rz = rz;
            now->beta = beta;
            now->event = over ? CG_SKIPPED : good ? 0 : 2;
        }
        for (size_t i = (size_t)t; !over && good && i < a->M; i += CG_THREADS)
            a->P[first + i] = fresh ? a->Z[first + i] : a->Z[first + i] + beta * a->P[first + i];
    }
}

/* q = W + lam2 p; alpha = rz / p'q; x += alpha p, r -= alpha q, |r|. */
DEV void cg_step_block(const struct cg_args *a, int slot, double *smem)
{
    struct dev_cg_step *now = a->history + (size_t)a->step[slot] * (size_t)a->active + slot;
    const size_t first = (size_t)slot * a->M;
    const int work = now->event == 0;
    const double rz = now->rz;

    LANES(t, CG_THREADS) {
        double s = 0.0;
        for (size_t i = first + (size_t)t; work && i < first + a->M; i += CG_THREADS)
            s += a->P[i] * (a->W[i] + a->lam2 * a->P[i]);
        smem[t] = s;
    }
    cg_total(smem);
    const double pq = smem[0], alpha = rz / pq;
    const int good = work && pq > 0.0 && isfinite(alpha);
    SYNC();
    LANES(t, CG_THREADS) {
        double s = 0.0;
        for (size_t i = first + (size_t)t; good && i < first + a->M; i += CG_THREADS) {
            const double q = a->W[i] + a->lam2 * a->P[i], r = a->R[i] - alpha * q;
            a->X[i] += alpha * a->P[i];
            a->R[i] = r;
            s += r * r;
        }
        smem[t] = s;
    }
    cg_total(smem);
    const double rel = sqrt(smem[0]);
    LANES(t, CG_THREADS) {
        if (t == 0 && work) {
            now->alpha = alpha;
            now->rel = rel;
            now->event = !good ? 3 : rel <= a->slot[slot].goal ? 1 : 0;
        }
        if (t == 0)
            a->step[slot]++;
    }
}

/* Entry i, j of struct gram_args, i >= j. */
DEV void gram_ready_one(const struct gram_args *a, size_t i, size_t j)
{
    double v = (double)a->A[i + j * a->M] * (a->row ? a->row[i] * a->row[j] : 1.0);

    if (i == j)
        v = v * (1.0 + (double)a->relative) + a->lam2;
    a->A[i + j * a->M] = (float)v;
}

#endif
