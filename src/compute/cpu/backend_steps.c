/* compute/cpu/backend_steps.c -- terms of a feature map by general chains of steps
 * (backend_steps.h; share/doc/methods.md 3).  With v_f the projection of factor f, a column is the
 * product of the gains g_f(v_fj), times the cosine or sine of the sum of the phases v_fj.  The
 * derivatives follow by reverse accumulation through the same steps (3.13). */
#include "compute/cpu/backend_steps.h"
#include "compute/kernels/layers/windows.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A link: the way from a row to one vector of phases or gains. */
struct link {
    enum fm_op in;             /* FM_SCALE_IN, FM_CIRCLE */
    const struct fm_step *first; /* the step that reads the row: its lengthscales */
    size_t x0, d;              /* first input and number of inputs */
    size_t l, period;          /* indices of hyperparameters; l FM_NONE: inputs are not scaled */
    bool append;
    size_t append_hp;
    double value;              /* of the appended entry */
    size_t sign0, nsigns, perm, scale; /* rows of the term's arrays; FM_NONE: none */
    enum fm_op end;            /* FM_PHASE, FM_TIMES, FM_RELU, FM_ERF */
    double gain;
};
struct chain {
    const struct fm_term *term;
    size_t nlinks, gains;      /* number of links, and of those that multiply */
    struct link *link;
    bool paired;               /* makes cosines and sines */
};
/* A term over windows: the chain that is summed, unless it is plain, and the other factors. */
struct sum { struct chain inner, turn; };
struct steps {
    const struct featmap *fm;
    size_t n, end;             /* chains; columns of the map that have a term */
    struct chain *chain;
    size_t nsums;
    struct sum *sum;
};

/* Cutting steps into links. */

static bool cut_link(const struct fm_step **at, const struct fm_step *end, struct link *k)
{
    const struct fm_step *s = *at;

    *k = (struct link){.in = s->op,
                       .first = s,
                       .x0 = s->first,
                       .d = s->count,
                       .l = s->index,
                       .perm = FM_NONE,
                       .scale = FM_NONE,
                       .append_hp = FM_NONE,
                       .end = FM_ONE};
    if (s->op == FM_CIRCLE) {
        k->period = s->also;
    } else if (s->op == FM_WINDOWS) { /* the window is passed in as a row */
        k->in = FM_SCALE_IN;
        k->x0 = 0;
    } else if (s->op != FM_SCALE_IN) {
        return false;
    }
    for (s++; s < end && s->op != FM_SIGN; s++) {
        if (s->op != FM_APPEND || k->append)
            return false;
        k->append = true;
        k->append_hp = s->index;
        k->value = s->value;
    }
    for (; s + 1 < end && s->op == FM_SIGN; s += 2) {
        if (s[1].op != FM_FHT || (k->nsigns > 0 && s->index != k->sign0 + k->nsigns))
            return false;
        k->sign0 = k->nsigns == 0 ? s->index : k->sign0;
        k->nsigns++;
    }
    for (; s < end && (s->op == FM_SHUFFLE || s->op == FM_SCALE); s++) {
        if (s->op == FM_SHUFFLE && k->scale != FM_NONE)
            return false;
        *(s->op == FM_SHUFFLE ? &k->perm : &k->scale) = s->index;
    }
    if (s >= end || k->nsigns == 0 ||
        (s->op != FM_PHASE && s->op != FM_TIMES && s->op != FM_RELU && s->op != FM_ERF))
        return false;
    k->end = s->op;
    k->gain = s->value;
    *at = s + 1;
    return true;
}

/* Cuts the steps from s up to `end`, which emits, into the links of a chain. */
static enum status cut_chain(const struct fm_term *t, const struct fm_step *s,
                             const struct fm_step *end, struct chain *c, struct err *err)
{
    *c = (struct chain){.term = t,
                        .paired = end->op == FM_SINCOS || (end->op == FM_TURN && t->paired)};
    if (t->nb == 0)
        return ST_OK;
    c->link = mem_calloc(t->nsteps, sizeof *c->link, "feature steps", err);
    if (!c->link)
        return ST_NOMEM;
    while (s < end) {
        struct link *k = &c->link[c->nlinks];
        if (!cut_link(&s, end, k))
            return err_set(err, ST_UNSUPPORTED, "the processor backend has no loop for this list "
                           "of feature steps");
        c->gains += k->end != FM_PHASE;
        c->nlinks++;
    }
    return ST_OK;
}

/* True where the sums of a term over windows have loops of their own, without links. */
static bool sums_alone(const struct fm_term *t)
{
    return featmap_sums_plain(t) || featmap_sums_dense(t) || featmap_is_counts(t);
}

static enum status cut_sum(const struct fm_term *t, struct sum *u, struct err *err)
{
    const struct fm_step *sum = t->steps + t->nsum - 1, *end = t->steps + t->nsteps - 1;
    enum status rc = ST_OK;

    *u = (struct sum){ .inner = { .term = t }, .turn = { .term = t } };
    if (!sums_alone(t))
        rc = cut_chain(t, t->steps, sum - 1, &u->inner, err);
    return rc == ST_OK && end > sum ? cut_chain(t, sum + 1, end, &u->turn, err) : rc;
}

enum status steps_new(const struct featmap *fm, struct steps **out, struct err *err)
{
    struct steps *s = mem_calloc(1, sizeof *s, "feature steps", err);
    enum status rc = s ? ST_OK : ST_NOMEM;

    *out = NULL;
    if (rc == ST_OK) {
        s->fm = fm;
        s->chain = mem_calloc(fm->nterms, sizeof *s->chain, "feature steps", err);
        s->sum = s->chain ? mem_calloc(fm->nterms, sizeof *s->sum, "feature steps", err) : NULL;
        rc = s->sum ? ST_OK : ST_NOMEM;
    }
    for (size_t i = 0; rc == ST_OK && i < fm->nterms; i++) {
        const struct fm_term *t = &fm->term[i];
        s->end = t->col0 + t->cols > s->end ? t->col0 + t->cols : s->end;
        if (featmap_is_windowed(t) && (!sums_alone(t) || t->nsteps > t->nsum))
            rc = cut_sum(t, &s->sum[s->nsums++], err);
        else if (!featmap_is_plain(t) && !featmap_is_windowed(t))
            rc = cut_chain(t, t->steps, t->steps + t->nsteps - 1, &s->chain[s->n++], err);
    }
    if (rc == ST_OK && s->n + s->nsums > 0) {
        *out = s;
        return ST_OK;
    }
    steps_free(s);
    return rc;
}

void steps_free(struct steps *s)
{
    if (!s)
        return;
    for (size_t i = 0; s->chain && i < s->n; i++)
        free(s->chain[i].link);
    for (size_t i = 0; s->sum && i < s->nsums; i++) {
        free(s->sum[i].inner.link);
        free(s->sum[i].turn.link);
    }
    free(s->chain);
    free(s->sum);
    free(s);
}

/* Columns. */

/* Window a of a sequence as width * channels numbers. */
static void window_vector(const struct layer *w, const double *row, size_t a, double *out)
{
    const size_t C = w->channels;

    if (!w->symbols) {
        memcpy(out, row + 1 + a * C, w->width * C * sizeof *out);
        return;
    }
    memset(out, 0, w->width * C * sizeof *out);
    for (size_t q = 0; q < w->width; q++)
        if (row[1 + a + q] < (double)C)
            out[q * C + (size_t)row[1 + a + q]] = 1.0;
}

#define REAL float
#define N(name) name##_f32
#include "compute/cpu/backend_steps_real.h"
#undef REAL
#undef N
#define REAL double
#define N(name) name##_f64
#include "compute/cpu/backend_steps_real.h"

static double out_of(const struct fm_term *t, const double *hp)
{
    return t->out * (t->weight == FM_NONE ? 1.0 : hp[t->weight]);
}

/* For columns: v, w, p, g and an input for each link; for derivatives also its values and the
 * derivatives in its input; with heavy tails columns in double. */
static size_t chain_scratch(const struct chain *c)
{
    const size_t n = c->term->D * SIMD_LANES_MOST * (8 + 3 * c->nlinks) * sizeof(double);

    return n + (c->term->phase64 ? c->term->cols * SIMD_LANES_MOST * sizeof(double) : 0);
}

/* The same with the windows in the lanes and their columns. */
static size_t sum_scratch(const struct sum *u)
{
    return (u->inner.term->d + u->inner.term->cols) * SIMD_LANES_MOST * sizeof(double);
}

size_t steps_scratch(const struct steps *s, const struct simd_real *real)
{
    size_t most = 0;

    for (size_t i = 0; i < s->n; i++) {
        const size_t n = chain_scratch(&s->chain[i]);
        most = n > most ? n : most;
    }
    for (size_t i = 0; i < s->nsums; i++) {
        const size_t a = chain_scratch(&s->sum[i].inner) + sum_scratch(&s->sum[i]);
        const size_t b = chain_scratch(&s->sum[i].turn);
        most = a > most ? a : most;
        most = b > most ? b : most;
    }
    (void)real;
    return most;
}

/* A term with heavy tails: single precision phases far beyond 2 pi would be noise, so that columns
 * are made in double and rounded. */
static void heavy_term(const struct chain *c, const struct steps_work *work,
                       const struct simd_inputs *in, float *z, size_t cs)
{
    const struct fm_term *t = c->term;
    const size_t L = work->simd->f64.lanes, lanes = work->real->lanes;
    double *wide = work->scratch;
    const struct steps_work in_double = {work->steps, work->simd, &work->simd->f64, work->hp,
                                         wide + t->cols * L};

    for (size_t r = 0; r < lanes; r += L) {
        const size_t left = in->n > r ? in->n - r : 0;
        const struct simd_inputs some = {left ? in->x + r * in->ldx : in->x, in->ldx,
                                         left ? (left < L ? left : L) : 1};
        term_f64(c, &in_double, out_of(t, work->hp), &some, wide, L);
        for (size_t j = 0; j < t->cols; j++)
            for (size_t i = 0; i < L && r + i < lanes; i++)
                z[j * cs + r + i] = (float)wide[j * L + i];
    }
}

void steps_fill(const struct steps_work *work, const struct simd_inputs *in, size_t col0, void *z,
                size_t cs)
{
    const struct steps *s = work->steps;
    const struct simd_real *real = work->real;
    const size_t L = real->lanes;
    char *to = z;

    for (size_t i = 0; i < s->n; i++) {
        const struct chain *c = &s->chain[i];
        const struct fm_term *t = c->term;
        void *at = to + (t->col0 - col0) * cs * real->size;
        if (real == &work->simd->f64)
            term_f64(c, work, out_of(t, work->hp), in, at, cs);
        else if (t->phase64)
            heavy_term(c, work, in, at, cs);
        else
            term_f32(c, work, out_of(t, work->hp), in, at, cs);
    }
    for (size_t j = s->end; j < s->fm->M; j++)
        memset(to + (j - col0) * cs * real->size, 0, L * real->size);
}

/* Sums over windows. */

static const struct sum *sum_of(const struct steps *s, const struct fm_term *t)
{
    for (size_t i = 0; s && i < s->nsums; i++)
        if (s->sum[i].inner.term == t)
            return &s->sum[i];
    return NULL;
}

bool steps_turns(const struct steps *s, const struct fm_term *t)
{
    const struct sum *u = sum_of(s, t);

    return u && u->turn.nlinks > 0;
}

void steps_sum_rows(const struct steps_work *work, const struct fm_term *t,
                    const struct simd_inputs *in, double out, void *z, size_t ldz)
{
    const struct chain *c = &sum_of(work->steps, t)->inner;

    if (work->real->size == sizeof(double))
        sum_rows_f64(c, work, out, in, z, ldz);
    else
        sum_rows_f32(c, work, out, in, z, ldz);
}

/* The other factors of a product over windows for a lane tile: their phases p and gains g in one
 * block, D x lanes each (phase, gain: whether there are any), workspace v and w of that size, and
 * the input u of each link. */
struct turn {
    double *v, *w, *p, *g, *u;
    bool phase, gain;
};

static struct turn turn_in(const struct fm_term *t, size_t lanes, double *scratch)
{
    const size_t one = t->D * lanes;

    return (struct turn){.v = scratch,
                         .w = scratch + one,
                         .p = scratch + 2 * one,
                         .g = scratch + 3 * one,
                         .u = scratch + 4 * one};
}

/* Phases and gains of block b from the inputs of its links. */
static void turn_block(const struct chain *c, const struct simd_real *real, size_t b,
                       struct turn *k)
{
    const size_t one = c->term->D * real->lanes;

    k->phase = k->gain = false;
    for (size_t i = 0; i < c->nlinks; i++) {
        const bool is_phase = c->link[i].end == FM_PHASE;
        forward_f64(&c->link[i], c->term, real, b, k->u + i * one, k->v, k->w);
        real->combine(c->link[i].end, c->link[i].gain, c->term->D, k->v, is_phase ? k->p : k->g,
                      is_phase ? !k->phase : !k->gain);
        k->phase |= is_phase;
        k->gain |= !is_phase;
    }
}

static void put(const struct simd_real *real, void *z, size_t at, double v)
{
    if (real->size == sizeof(double))
        ((double *)z)[at] = v;
    else
        ((float *)z)[at] = (float)v;
}

void steps_turn_rows(const struct steps_work *work, const struct fm_term *t,
                     const struct simd_inputs *in, const double *sum, size_t lds, void *z,
                     size_t ldz)
{
    const struct chain *c = &sum_of(work->steps, t)->turn;
    const struct simd_real *real = work->real, *f64 = &work->simd->f64;
    const struct steps_work in_double = {work->steps, work->simd, f64, work->hp, work->scratch};
    const size_t L = f64->lanes, one = t->D * L, n = in->n;
    struct turn turn = turn_in(t, L, work->scratch);

    for (size_t r0 = 0; r0 < n; r0 += L) {
        const struct simd_inputs some = {in->x + r0 * in->ldx, in->ldx, n - r0 < L ? n - r0 : L};
        for (size_t i = 0; i < c->nlinks; i++)
            input_f64(&c->link[i], t, &in_double, &some, turn.u + i * one);
        for (size_t b = 0; b < t->nb; b++) {
            turn_block(c, f64, b, &turn);
            const bool phase = turn.phase;
            for (size_t i = 0; i < t->D && b * t->D + i < t->mf; i++)
                for (size_t r = 0; r < some.n; r++) {
                    const size_t j = b * t->D + i, at = i * L + r;
                    const double k = turn.gain ? turn.g[at] : 1.0, q = phase ? turn.p[at] : 0.0;
                    const double *from = sum + (r0 + r) * lds;
                    const double a = k * from[t->sum_paired ? 2 * j : j];
                    const double e = t->sum_paired ? k * from[2 * j + 1] : 0.0;
                    const double cosine = phase ? cos(q) : 1.0, sine = phase ? sin(q) : 0.0;
                    put(real, z, (r0 + r) * ldz + (t->paired ? 2 * j : j), a * cosine - e * sine);
                    if (t->paired)
                        put(real, z, (r0 + r) * ldz + 2 * j + 1, a * sine + e * cosine);
                }
        }
    }
}

/* Derivatives. */

struct back {
    const struct chain *c;
    const struct steps_work *work; /* real is f64 */
    const struct simd_real *real;
    const struct simd_inputs *in;
    const struct steps_back *out;
    const double *sum; /* products over windows: n rows of sums, */
    double *sum_back;  /* and the derivatives in them; else NULL */
    size_t lds;
    double *v, *w, *p, *g, *a; /* D x lanes each; a: the derivative in the gain */
    double *u, *f, *ub;        /* for each link: input, projection, derivative in the input */
};

static double slope(const struct link *k, double v)
{
    return k->end == FM_TIMES  ? 1.0
           : k->end == FM_RELU ? (v > 0.0 ? k->gain : 0.0)
                               : M_2_SQRTPI * exp(-v * v);
}

static double value(const struct link *k, double v)
{
    return k->end == FM_TIMES ? v : k->end == FM_RELU ? k->gain * fmax(v, 0.0) : erf(v);
}

/* The entry of B of one column and row, times the row factor. */
static double column(const struct back *k, size_t col, size_t r)
{
    const struct steps_back *b = k->out;

    return r < k->in->n ? b->B[r * b->ld + col] * (b->factor ? b->factor[r] : 1.0) : 0.0;
}

/* A product over windows, as turn_rows makes it: the derivatives in the sum, the phase and the
 * gain. */
static void turn_values(struct back *k, size_t b, size_t jn, bool phase, bool gain)
{
    const struct fm_term *t = k->c->term;
    const size_t L = k->real->lanes, n = k->in->n;

    for (size_t i = 0; i < jn; i++)
        for (size_t r = 0; r < n; r++) {
            const size_t at = i * L + r, j = b * t->D + i, col = t->paired ? 2 * j : j;
            const size_t from = r * k->lds + (t->sum_paired ? 2 * j : j);
            const double cosine = phase ? cos(k->p[at]) : 1.0, sine = phase ? sin(k->p[at]) : 0.0;
            const double g = gain ? k->g[at] : 1.0, c = k->sum[from],
                         s = t->sum_paired ? k->sum[from + 1] : 0.0;
            const double ba = column(k, t->col0 + col, r),
                         bb = t->paired ? column(k, t->col0 + col + 1, r) : 0.0;
            const double a0 = c * cosine - s * sine, b0 = c * sine + s * cosine;
            k->a[at] = ba * a0 + bb * b0;
            k->p[at] = g * (bb * a0 - ba * b0);
            k->sum_back[from] = g * (ba * cosine + bb * sine);
            if (t->sum_paired)
                k->sum_back[from + 1] = g * (bb * cosine - ba * sine);
        }
    for (size_t i = 0; i < t->D; i++) /* 0 beyond the rows and the block */
        for (size_t r = 0; r < L; r++)
            if (i >= jn || r >= n)
                k->p[i * L + r] = 0.0;
}

/* Computes p, g and f of a block; then p becomes the derivative in the phase and a that in the
 * gain. */
static void block_values(struct back *k, size_t b, size_t jn, double out)
{
    const struct fm_term *t = k->c->term;
    const size_t L = k->real->lanes, one = t->D * L;
    bool phase = false, gain = false;

    for (size_t i = 0; i < k->c->nlinks; i++) {
        const struct link *link = &k->c->link[i];
        const bool is_phase = link->end == FM_PHASE;
        forward_f64(link, t, k->real, b, k->u + i * one, k->f + i * one, k->w);
        k->real->combine(link->end, link->gain, t->D, k->f + i * one, is_phase ? k->p : k->g,
                         is_phase ? !phase : !gain);
        phase |= is_phase;
        gain |= !is_phase;
    }
    memset(k->a, 0, one * sizeof *k->a);
    if (k->sum) {
        turn_values(k, b, jn, phase, gain);
        return;
    }
    if (!t->paired) {
        for (size_t j = 0; j < jn; j++)
            for (size_t r = 0; r < L; r++)
                k->a[j * L + r] = out * column(k, t->col0 + b * t->D + j, r);
        return;
    }
    for (size_t i = 0; i < jn * L; i++)
        k->p[i] *= M_1_PI;
    k->real->sincospi(jn * L, k->p, k->w, k->v); /* sine, cosine */
    memset(k->p, 0, one * sizeof *k->p);
    for (size_t j = 0; j < jn; j++)
        for (size_t r = 0; r < L; r++) {
            const size_t at = j * L + r, col = t->col0 + 2 * (b * t->D + j);
            const double bc = column(k, col, r), bs = column(k, col + 1, r);
            k->a[at] = out * (k->v[at] * bc + k->w[at] * bs);
            k->p[at] = out * (gain ? k->g[at] : 1.0) * (k->v[at] * bs - k->w[at] * bc);
        }
}

/* Adds to ub the derivative in the input of link i, through the transposed projection of a
 * block. */
static void block_back(struct back *k, size_t b, size_t i)
{
    const struct chain *c = k->c;
    const struct link *link = &c->link[i];
    const struct fm_term *t = c->term;
    const size_t L = k->real->lanes, D = t->D, one = D * L, rows = t->nb * D;

    if (link->end == FM_PHASE) {
        memcpy(k->v, k->p, one * sizeof *k->v);
    } else {
        for (size_t e = 0; e < one; e++)
            k->v[e] = k->a[e] * slope(link, k->f[i * one + e]);
        for (size_t m = 0; m < c->nlinks; m++)
            for (size_t e = 0; m != i && c->link[m].end != FM_PHASE && e < one; e++)
                k->v[e] *= value(&c->link[m], k->f[m * one + e]);
    }
    const double *scale = link->scale == FM_NONE ? NULL : t->scale + link->scale * rows + b * D;
    for (size_t e = 0; scale && e < one; e++)
        k->v[e] *= scale[e / L];
    if (link->perm != FM_NONE) {
        const uint32_t *perm = t->perm + link->perm * rows + b * D;
        memcpy(k->w, k->v, one * sizeof *k->w);
        for (size_t j = 0; j < D; j++)
            memcpy(k->v + perm[j] * L, k->w + j * L, L * sizeof *k->v);
    }
    for (size_t s = link->nsigns; s-- > 0;) {
        const int8_t *sign = t->signs + (link->sign0 + s) * rows + b * D;
        k->real->fht(k->v, D);
        for (size_t e = 0; e < one; e++)
            k->v[e] *= sign[e / L];
    }
    for (size_t e = 0; e < one; e++)
        k->ub[i * one + e] += k->v[e];
}

/* The derivatives in the hyperparameters of link i from those in its input. */
static void input_back(const struct back *k, size_t i, double *grad)
{
    const struct link *link = &k->c->link[i];
    const struct fm_term *t = k->c->term;
    const size_t L = k->real->lanes, one = t->D * L;
    const double *u = k->u + i * one, *ub = k->ub + i * one;

    for (size_t r = 0; r < k->in->n; r++) {
        const double *x = k->in->x + r * k->in->ldx + link->first->first;
        const size_t d = link->first->count;
        for (size_t j = 0; link->l != FM_NONE && j < d; j++) {
            const size_t h = fm_lengthscale(link->first, j);
            if (link->in == FM_SCALE_IN) {
                grad[h] -= ub[j * L + r] * u[j * L + r];
                continue;
            }
            const size_t c = 2 * j * L + r, s = c + L;
            const double angle = 2.0 * M_PI * x[j] / k->work->hp[link->period];
            grad[h] -= ub[c] * u[c] + ub[s] * u[s];
            grad[link->period] += angle * (ub[c] * u[s] - ub[s] * u[c]);
        }
        if (link->append && link->append_hp != FM_NONE)
            grad[link->append_hp] += ub[d * L + r] * u[d * L + r];
    }
}

/* The derivatives of a chain: inputs and values forward, then back through each block to the
 * inputs and hyperparameters. */
static void chain_grad(struct back *k, double *grad)
{
    const struct chain *c = k->c;
    const struct fm_term *t = c->term;
    const size_t one = t->D * k->real->lanes;

    k->v = k->work->scratch;
    k->w = k->v + one;
    k->p = k->w + one;
    k->g = k->p + one;
    k->a = k->g + one;
    k->u = k->a + one;
    k->f = k->u + c->nlinks * one;
    k->ub = k->f + c->nlinks * one;
    memset(k->ub, 0, c->nlinks * one * sizeof *k->ub);
    for (size_t i = 0; i < c->nlinks; i++)
        input_f64(&c->link[i], t, k->work, k->in, k->u + i * one);
    for (size_t b = 0; b < t->nb; b++) {
        const size_t left = t->mf - b * t->D;
        block_values(k, b, left < t->D ? left : t->D, out_of(t, k->work->hp));
        for (size_t i = 0; i < c->nlinks; i++)
            block_back(k, b, i);
    }
    for (size_t i = 0; i < c->nlinks; i++)
        input_back(k, i, grad);
}

void steps_grad(const struct steps_work *work, const struct simd_inputs *in,
                const struct steps_back *out, double *grad)
{
    for (size_t i = 0; i < work->steps->n; i++) {
        struct back k = {.c = &work->steps->chain[i],
                         .work = work,
                         .real = work->real,
                         .in = in,
                         .out = out};
        chain_grad(&k, grad);
    }
}

void steps_turn_grad(const struct steps_work *work, const struct fm_term *t,
                     const struct simd_inputs *in, const double *sum, double *sum_back, size_t lds,
                     const struct steps_back *out, double *grad)
{
    struct back k = {.c = &sum_of(work->steps, t)->turn,
                     .work = work,
                     .real = work->real,
                     .in = in,
                     .out = out,
                     .sum = sum,
                     .sum_back = sum_back,
                     .lds = lds};

    chain_grad(&k, grad);
}
