/* compute/features/interp.c -- a feature map step by step (interp.h; share/doc/methods.md 3).  Slow
 * and simple on purpose. */
#include "compute/features/interp.h"
#include "compute/features/hash.h"
#include "compute/features/tensor.h"
#include "compute/features/words.h"
#include "compute/kernels/layers/windows.h"

#include <math.h>
#include <string.h>

size_t interp_work_for_tests(const struct featmap *fm)
{
    size_t most = 1, room = 0;

    for (size_t t = 0; t < fm->nterms; t++) {
        const struct tensor *own = fm->term[t].tensor;
        const size_t numbers = own ? tensor_room(own, fm->d) / sizeof(double) : 0;
        most = fm->term[t].D > most ? fm->term[t].D : most;
        room = numbers > room ? numbers : room;
    }
    return 4 * most + 2 * fm->M + room; /* v, p, g and a copy; columns of a window */
}

/* v := H v, unnormalised, in natural order: log2(n) stages of sums and differences. */
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

/* z = c g (cos p, sin p) for frequencies j0 .. j1 (3.1), and the derivative in log l: p is
 * proportional to 1 / l, so that dp/dlog l = -p and dz = c g (p sin p, -p cos p). */
static void sincos_out(const struct fm_term *t, const double *p, const double *g, size_t j0,
                       size_t j1, double c, double *z, double *dz)
{
    for (size_t j = j0; j < j1; j++) {
        const double q = p[j - j0], cosine = g[j - j0] * cos(q), sine = g[j - j0] * sin(q);
        z[t->col0 + 2 * j] = c * cosine;
        z[t->col0 + 2 * j + 1] = c * sine;
        if (dz) {
            dz[t->col0 + 2 * j] = c * sine * q;
            dz[t->col0 + 2 * j + 1] = -c * cosine * q;
        }
    }
}

/* v = (cos, sin)(2 pi x_i / period) / l_i for each input (3.7). */
static void circle(const struct fm_step *s, const double *hp, const double *x, double *v)
{
    for (size_t i = 0; i < s->count; i++) {
        const double l = hp[fm_lengthscale(s, i)];
        v[2 * i] = cos(2.0 * M_PI * x[i] / hp[s->also]) / l;
        v[2 * i + 1] = sin(2.0 * M_PI * x[i] / hp[s->also]) / l;
    }
}

/* v = a window, symbols as unit vectors, over the lengthscale if it has one. */
static void window(const struct fm_term *t, const struct fm_step *s, const double *hp,
                   const double *x, double *v)
{
    const struct layer *w = t->windows;

    for (size_t i = 0; i < w->width; i++)
        for (size_t e = 0; e < w->channels; e++)
            v[i * w->channels + e] =
                (w->symbols ? (double)(x[i] == (double)e) : x[i * w->channels + e]) /
                (s->index == FM_NONE ? 1.0 : hp[s->index]);
}

/* Multiplies sums over windows by the other factors of a product: by g, and turned by the phase p.
 * In place, from the last column to the first, because pairs need more room. */
static void turn(const struct fm_term *t, const double *p, const double *g, size_t j0, size_t j1,
                 double *z)
{
    for (size_t j = j1; j-- > j0;) {
        const double *from = z + t->col0 + (t->sum_paired ? 2 * j : j);
        const double a = g[j - j0] * from[0], b = t->sum_paired ? g[j - j0] * from[1] : 0.0;
        const double cosine = p ? cos(p[j - j0]) : 1.0, sine = p ? sin(p[j - j0]) : 0.0;
        z[t->col0 + (t->paired ? 2 * j : j)] = a * cosine - b * sine;
        if (t->paired)
            z[t->col0 + 2 * j + 1] = a * sine + b * cosine;
    }
}

/* A linear step of v (D numbers of the block that begins at `at`); was: workspace of D numbers. */
static void linear_step(const struct fm_term *t, const struct fm_step *step, size_t at, double *v,
                        double *was)
{
    const size_t D = t->D, rows = t->nb * D;

    switch (step->op) {
    case FM_SIGN:
        for (size_t i = 0; i < D; i++)
            v[i] *= t->signs[step->index * rows + at + i];
        break;
    case FM_FHT:
        fht(v, D);
        break;
    case FM_SHUFFLE:
        memcpy(was, v, D * sizeof *v);
        for (size_t i = 0; i < D; i++)
            v[i] = was[t->perm[step->index * rows + at + i]];
        break;
    case FM_DENSE:
        memcpy(was, v, D * sizeof *v);
        for (size_t i = 0; i < D; i++) {
            v[i] = 0.0;
            for (size_t e = 0; e < t->d; e++)
                v[i] += t->filter[e * rows + at + i] * was[e];
        }
        break;
    default: /* FM_SCALE */
        for (size_t i = 0; i < D; i++)
            v[i] *= t->scale[step->index * rows + at + i];
        break;
    }
}

/* A term in evaluation.  row: its inputs (with windows: the symbols or vectors of a window); c: the
 * factor of its columns; z, and dz unless NULL: those of the row; v: workspace of 4 D numbers. */
struct working {
    const struct fm_term *t;
    const double *hp, *row;
    double c, *z, *dz, *v;
};

/* Runs steps s0 to s1 - 1 of block b. */
static void block(const struct working *k, size_t b, size_t s0, size_t s1)
{
    const struct fm_term *t = k->t;
    const double *hp = k->hp, *row = k->row, c = k->c;
    double *z = k->z, *dz = k->dz, *v = k->v;
    const size_t D = t->D, at = b * D, end = at + D < t->mf ? at + D : t->mf;
    double *p = v + D, *g = p + D, *was = g + D;
    bool phase = false;

    for (size_t i = 0; i < D; i++) {
        p[i] = 0.0;
        g[i] = 1.0;
    }
    for (size_t s = s0; s < s1; s++) {
        const struct fm_step *step = &t->steps[s];
        const double *x = row + (t->windows && s < t->nsum ? 0 : step->first);
        switch (step->op) {
        case FM_SCALE_IN:
            memset(v, 0, D * sizeof *v);
            if (t->windows && s < t->nsum)
                window(t, step, hp, x, v);
            for (size_t i = 0; !(t->windows && s < t->nsum) && i < step->count; i++)
                v[i] = x[i] / (step->index == FM_NONE ? 1.0 : hp[fm_lengthscale(step, i)]);
            break;
        case FM_CIRCLE:
            memset(v, 0, D * sizeof *v);
            circle(step, hp, x, v);
            break;
        case FM_WINDOWS:
            memset(v, 0, D * sizeof *v);
            window(t, step, hp, x, v);
            break;
        case FM_APPEND:
            v[step->count ? step->count : t->d] =
                step->value * (step->index == FM_NONE ? 1.0 : hp[step->index]);
            break;
        case FM_SIGN:
        case FM_FHT:
        case FM_SHUFFLE:
        case FM_DENSE:
        case FM_SCALE:
            linear_step(t, step, at, v, was);
            break;
        case FM_PHASE:
            phase = true;
            for (size_t i = 0; i < D; i++)
                p[i] += v[i];
            break;
        case FM_TIMES:
        case FM_RELU:
        case FM_ERF:
            for (size_t i = 0; i < D; i++)
                g[i] *= step->op == FM_TIMES  ? v[i]
                        : step->op == FM_RELU ? step->value * fmax(v[i], 0.0)
                                              : erf(v[i]);
            break;
        case FM_SINCOS:
            sincos_out(t, phase ? p : v, g, at, end, c, z, dz);
            break;
        case FM_EMIT:
            for (size_t j = at; j < end; j++)
                z[t->col0 + j] = c * g[j - at];
            break;
        case FM_COPY:
        case FM_ONE:
        case FM_SUM:
        case FM_HASH:
        case FM_WORDS:
        case FM_TENSOR:
            break;
        case FM_TURN:
            turn(t, phase ? p : NULL, g, at, end, z);
            break;
        }
    }
}

/* The other factors of a product over windows. */
static void turn_blocks(const struct fm_term *t, const double *hp, const double *row, double *z,
                        double *work)
{
    const struct working rest = { t, hp, row, 1.0, z, NULL, work };

    for (size_t b = t->nb; t->nsteps > t->nsum && b-- > 0;)
        block(&rest, b, t->nsum, t->nsteps);
}

/* Counts of words (4.11). */
static void counted(const struct fm_term *t, const double *hp, const double *row, double out,
                    double *z, double *work)
{
    words_row(t, row + featmap_first(t, row), z + t->col0);
    for (size_t j = 0; j < t->mf; j++)
        z[t->col0 + j] *= out;
    turn_blocks(t, hp, row, z, work);
}

/* A row of counts: its symbols, feature by feature (4.10), or its sketches (4.16). */
static void placed(const struct fm_term *t, const double *hp, const double *row, size_t d,
                   double out, double *z, double *work)
{
    const double *x = row + featmap_first(t, row);
    const struct tensor_to to = { .out = out, .z64 = z + t->col0, .ld = t->mf };

    for (size_t j = 0; !t->tensor && j < t->mf; j++)
        z[t->col0 + j] = out * hash_value(t, j, x);
    if (t->tensor)
        tensor_rows(t->tensor, NULL, 1, x, 0, d, &to, work);
    turn_blocks(t, hp, row, z, work);
}

/* z = c sum over windows of z0 (4.1), then the other factors of the product.  `one` holds the
 * columns of one window.  dz only without such factors. */
static void windows(const struct fm_term *t, const double *hp, const double *row, double out,
                    double *z, double *dz, double *work, size_t wide)
{
    const double *x = row + featmap_first(t, row);
    const size_t m = windows_count(t->windows, x),
                 per = t->windows->symbols ? 1 : t->windows->channels;
    const double c = out * windows_factor(t->windows, m);
    double *one = work + wide, *back = one + t->cols;
    struct fm_term own = *t;

    own.col0 = 0;
    own.paired = t->sum_paired;
    for (size_t a = 0; a < m; a++) {
        const struct working w = { &own, hp, x + 1 + a * per, c, one, back, work };
        for (size_t b = 0; b < t->nb; b++)
            block(&w, b, 0, t->nsum);
        for (size_t j = 0; j < (t->sum_paired ? 2 : 1) * t->mf; j++) {
            z[t->col0 + j] += one[j];
            if (dz)
                dz[t->col0 + j] += back[j];
        }
    }
    turn_blocks(t, hp, row, z, work);
}

void interp_row_for_tests(const struct featmap *fm, const double *hp, const double *x, double *z,
                          double *dz, size_t ihp, double *work)
{
    memset(z, 0, fm->M * sizeof *z);
    if (dz)
        memset(dz, 0, fm->M * sizeof *dz);
    for (size_t i = 0; i < fm->nterms; i++) {
        const struct fm_term *t = &fm->term[i];
        const double c = t->out * (t->weight == FM_NONE ? 1.0 : hp[t->weight]);
        const bool ours = dz && t->hp0 == ihp && featmap_is_plain(t);
        if (featmap_is_words(t))
            counted(t, hp, x, c, z, work);
        else if (featmap_is_counts(t))
            placed(t, hp, x, fm->d, c, z, work);
        else if (t->windows)
            windows(t, hp, x, c, z, dz && t->hp0 == ihp && t->nsteps == t->nsum ? dz : NULL, work,
                    4 * t->D);
        const struct working w = { t, hp, x, c, z, ours ? dz : NULL, work };
        for (size_t b = 0; !t->windows && b < t->nb; b++)
            block(&w, b, 0, t->nsteps);
        for (size_t j = 0; t->nb == 0 && j < t->cols; j++)
            z[t->col0 + j] = c * (t->steps[0].op == FM_COPY ? x[t->first + j] : 1.0);
        if (dz && t->weight == ihp)
            memcpy(dz + t->col0, z + t->col0, t->cols * sizeof *dz);
    }
}
