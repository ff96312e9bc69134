/* compute/interp.c -- a feature map step by step (see interp.h).  Slow and obvious on purpose. */
#include "compute/interp.h"

#include <math.h>
#include <string.h>

size_t interp_work(const struct featmap *fm)
{
    size_t most = 0;

    for (size_t t = 0; t < fm->nterms; t++)
        most = fm->term[t].D > most ? fm->term[t].D : most;
    return most;
}

static void fht(double *v, size_t n)
{
    for (size_t h = 1; h < n; h *= 2)
        for (size_t i = 0; i < n; i += 2 * h)
            for (size_t j = i; j < i + h; j++) {
                const double a = v[j], b = v[j + h];
                v[j] = a + b;
                v[j + h] = a - b;
            }
}

/* cos and sin columns of frequencies p, and their derivative: dp/dlog l = -p. */
static void sincos_out(const struct fm_term *t, const double *p, size_t j0, size_t j1, double c,
                       double *z, double *dz)
{
    for (size_t j = j0; j < j1; j++) {
        const double q = p[j - j0], cosine = cos(q), sine = sin(q);
        z[t->col0 + 2 * j] = c * cosine;
        z[t->col0 + 2 * j + 1] = c * sine;
        if (dz) {
            dz[t->col0 + 2 * j] = c * sine * q;
            dz[t->col0 + 2 * j + 1] = -c * cosine * q;
        }
    }
}

static void block(const struct fm_term *t, size_t b, const double *hp, const double *x, double *z,
                  double *dz, double *v)
{
    const size_t D = t->D, at = b * D, end = at + D < t->mf ? at + D : t->mf;

    for (size_t s = 0; s < t->nsteps; s++) {
        const struct fm_step *step = &t->steps[s];
        switch (step->op) {
        case FM_SCALE_IN:
            memset(v, 0, D * sizeof *v);
            for (size_t i = 0; i < t->d; i++)
                v[i] = x[i] / hp[step->index + (t->nl > 1 ? i : 0)];
            break;
        case FM_SIGN:
            for (size_t i = 0; i < D; i++)
                v[i] *= t->signs[(step->index * t->nb + b) * D + i];
            break;
        case FM_FHT:
            fht(v, D);
            break;
        case FM_SCALE:
            for (size_t i = 0; i < D; i++)
                v[i] *= t->scale[at + i];
            break;
        case FM_SINCOS:
            sincos_out(t, v, at, end, step->value, z, dz);
            break;
        }
    }
}

void interp_row(const struct featmap *fm, const double *hp, const double *x, double *z, double *dz,
                size_t ihp, double *work)
{
    for (size_t i = 0; i < fm->nterms; i++) {
        const struct fm_term *t = &fm->term[i];
        const bool ours = dz && t->hp0 == ihp;
        for (size_t b = 0; b < t->nb; b++)
            block(t, b, hp, x, z, ours ? dz : NULL, work);
        if (dz && !ours)
            memset(dz + t->col0, 0, t->cols * sizeof *dz);
    }
}
