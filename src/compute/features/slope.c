/* compute/features/slope.c -- values and gradients of functions on a feature map (slope.h).  Each
 * block of D frequencies runs its steps forward, keeps the phase and the projection behind each
 * gain, and then runs them backward with the derivative in v: a sign, a scale and a Hadamard
 * transform are their own transposes, a shuffle puts back. */
#include "compute/features/slope.h"

#include <math.h>
#include <string.h>

/* Steps of a term that multiply the gain. */
static size_t gains(const struct fm_term *t)
{
    size_t n = 0;

    for (size_t s = 0; s < t->nsteps; s++)
        n += t->steps[s].op == FM_TIMES || t->steps[s].op == FM_RELU || t->steps[s].op == FM_ERF;
    return n;
}

size_t slope_work(const struct featmap *fm)
{
    size_t most = 1;

    for (size_t t = 0; t < fm->nterms; t++) {
        const size_t own = fm->term[t].D * (5 + gains(&fm->term[t]));
        most = own > most ? own : most;
    }
    return most;
}

static void transform(double *v, size_t n)
{
    for (size_t h = 1; h < n; h *= 2)
        for (size_t i = 0; i < n; i += 2 * h)
            for (size_t j = i; j < i + h; j++) {
                const double a = v[j], b = v[j + h];
                v[j] = a + b;
                v[j + h] = a - b;
            }
}

/* A block under way.  v: the vector, then the derivative in it; p, dp: the phase and the derivative
 * in it; dg: that in the gain; was: scratch; f: the projection behind each gain (D each). */
struct block {
    const struct fm_term *t;
    const double *hp, *x;
    size_t at;
    double *v, *p, *dp, *dg, *was, *f;
    size_t ngains;
    bool phase;
};

static double gain_value(const struct fm_step *s, double v)
{
    return s->op == FM_TIMES ? v : s->op == FM_RELU ? s->value * fmax(v, 0.0) : erf(v);
}

static double gain_slope(const struct fm_step *s, double v)
{
    return s->op == FM_TIMES  ? 1.0
           : s->op == FM_RELU ? (v > 0.0 ? s->value : 0.0)
                              : M_2_SQRTPI * exp(-v * v);
}

/* v = (cos, sin)(2 pi x_i / period) / l_i, or back from the derivative in v to that in x. */
static void circle(const struct block *k, const struct fm_step *s, double *dx)
{
    const double *x = k->x + s->first, turn = 2.0 * M_PI / k->hp[s->also];

    for (size_t i = 0; i < s->count; i++) {
        const double l = k->hp[fm_lengthscale(s, i)], c = cos(turn * x[i]), sine = sin(turn * x[i]);
        double *v = k->v + 2 * i;
        if (dx) {
            dx[s->first + i] += turn * (v[1] * c - v[0] * sine) / l;
            continue;
        }
        v[0] = c / l;
        v[1] = sine / l;
    }
}

static double inverse(const struct block *k, const struct fm_step *s, size_t i)
{
    return s->index == FM_NONE ? 1.0 : 1.0 / k->hp[fm_lengthscale(s, i)];
}

/* A step of v that is its own transpose. */
static void symmetric(const struct block *k, const struct fm_step *s)
{
    const size_t D = k->t->D, row = s->index * k->t->nb * D + k->at;

    if (s->op == FM_FHT)
        transform(k->v, D);
    for (size_t i = 0; s->op == FM_SIGN && i < D; i++)
        k->v[i] *= k->t->signs[row + i];
    for (size_t i = 0; s->op == FM_SCALE && i < D; i++)
        k->v[i] *= k->t->scale[row + i];
}

static void shuffle(const struct block *k, const struct fm_step *s, bool back)
{
    const size_t D = k->t->D;
    const uint32_t *perm = k->t->perm + s->index * k->t->nb * D + k->at;

    memcpy(k->was, k->v, D * sizeof *k->v);
    for (size_t i = 0; i < D; i++)
        k->v[back ? perm[i] : i] = k->was[back ? i : perm[i]];
}

static void forward(struct block *k)
{
    const struct fm_term *t = k->t;
    const size_t D = t->D;

    k->ngains = 0;
    k->phase = false;
    memset(k->p, 0, D * sizeof *k->p);
    for (size_t n = 0; n < t->nsteps; n++) {
        const struct fm_step *s = &t->steps[n];
        switch (s->op) {
        case FM_SCALE_IN:
            memset(k->v, 0, D * sizeof *k->v);
            for (size_t i = 0; i < s->count; i++)
                k->v[i] = k->x[s->first + i] * inverse(k, s, i);
            break;
        case FM_CIRCLE:
            memset(k->v, 0, D * sizeof *k->v);
            circle(k, s, NULL);
            break;
        case FM_APPEND:
            k->v[s->count ? s->count : t->d] = s->value *
                                               (s->index == FM_NONE ? 1.0 : k->hp[s->index]);
            break;
        case FM_SHUFFLE:
            shuffle(k, s, false);
            break;
        case FM_PHASE:
            k->phase = true;
            for (size_t i = 0; i < D; i++)
                k->p[i] += k->v[i];
            break;
        case FM_TIMES:
        case FM_RELU:
        case FM_ERF:
            memcpy(k->f + k->ngains++ * D, k->v, D * sizeof *k->v);
            break;
        default:
            symmetric(k, s);
            break;
        }
    }
    if (!k->phase)
        memcpy(k->p, k->v, D * sizeof *k->p);
}

/* The product of the gains of frequency i, but for number `out` (SIZE_MAX: of all). */
static double gain(const struct block *k, size_t i, size_t out)
{
    double all = 1.0;

    for (size_t n = 0, g = 0; g < k->ngains; n++) {
        const enum fm_op op = k->t->steps[n].op;
        if (op != FM_TIMES && op != FM_RELU && op != FM_ERF)
            continue;
        if (g != out)
            all *= gain_value(&k->t->steps[n], k->f[g * k->t->D + i]);
        g++;
    }
    return all;
}

/* The value of the block's columns with weights w, and the derivatives in phase and gain; c: the
 * factor of its columns. */
static double outputs(struct block *k, double c, const double *w)
{
    const struct fm_term *t = k->t;
    const size_t left = t->mf - k->at, n = left < t->D ? left : t->D;
    double sum = 0.0;

    memset(k->dp, 0, t->D * sizeof *k->dp);
    memset(k->dg, 0, t->D * sizeof *k->dg);
    for (size_t i = 0; i < n; i++) {
        const size_t j = k->at + i;
        const double g = k->ngains ? gain(k, i, SIZE_MAX) : 1.0;
        if (!t->paired) {
            k->dg[i] = c * w[t->col0 + j];
            sum += g * k->dg[i];
            continue;
        }
        const double wc = c * w[t->col0 + 2 * j], ws = c * w[t->col0 + 2 * j + 1];
        const double cosine = cos(k->p[i]), sine = sin(k->p[i]);
        k->dg[i] = wc * cosine + ws * sine;
        k->dp[i] = g * (ws * cosine - wc * sine);
        sum += g * k->dg[i];
    }
    return sum;
}

static void backward(struct block *k, double *dx)
{
    const struct fm_term *t = k->t;
    const size_t D = t->D;
    size_t g = k->ngains;

    if (t->paired && !k->phase)
        memcpy(k->v, k->dp, D * sizeof *k->v);
    for (size_t n = t->nsteps; n-- > 0;) {
        const struct fm_step *s = &t->steps[n];
        switch (s->op) {
        case FM_SCALE_IN:
            for (size_t i = 0; i < s->count; i++)
                dx[s->first + i] += k->v[i] * inverse(k, s, i);
            break;
        case FM_CIRCLE:
            circle(k, s, dx);
            break;
        case FM_SHUFFLE:
            shuffle(k, s, true);
            break;
        case FM_PHASE:
            memcpy(k->v, k->dp, D * sizeof *k->v);
            break;
        case FM_TIMES:
        case FM_RELU:
        case FM_ERF:
            g--;
            for (size_t i = 0; i < D; i++)
                k->v[i] = k->dg[i] * gain(k, i, g) * gain_slope(s, k->f[g * D + i]);
            break;
        default:
            symmetric(k, s);
            break;
        }
    }
}

double slope_row(const struct featmap *fm, const double *hp, const double *w, const double *x,
                 double *dx, double *work)
{
    double sum = 0.0;

    memset(dx, 0, fm->d * sizeof *dx);
    for (size_t n = 0; n < fm->nterms; n++) {
        const struct fm_term *t = &fm->term[n];
        const double c = t->out * (t->weight == FM_NONE ? 1.0 : hp[t->weight]);
        const size_t D = t->D;
        struct block k = { .t = t, .hp = hp, .x = x, .v = work, .p = work + D,
                           .dp = work + 2 * D, .dg = work + 3 * D, .was = work + 4 * D,
                           .f = work + 5 * D };
        for (size_t j = 0; t->nb == 0 && j < t->cols; j++) {
            const bool copied = t->steps[0].op == FM_COPY;
            sum += c * w[t->col0 + j] * (copied ? x[t->first + j] : 1.0);
            if (copied)
                dx[t->first + j] += c * w[t->col0 + j];
        }
        for (size_t b = 0; b < t->nb; b++) {
            k.at = b * D;
            forward(&k);
            sum += outputs(&k, c, w);
            backward(&k, dx);
        }
    }
    return sum;
}
