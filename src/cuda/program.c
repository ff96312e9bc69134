/* cuda/program.c -- see program.h. */
#include "cuda/program.h"

#include "base/mem.h"
#include "cuda/project.h"

#include <stdlib.h>
#include <string.h>

/* Makes a copy on the device that lives as long as the program. */
static enum status hold(struct program *p, void **out, const void *from, size_t bytes,
                        struct err *err)
{
    enum status rc = device_alloc(p->dev, out, bytes ? bytes : 8, "the feature map", err);

    if (rc != ST_OK)
        return rc;
    p->held[p->nheld++] = *out;
    return from && bytes ? device_upload(p->dev, STREAM_WORK, *out, from, bytes, err) : ST_OK;
}

static struct sweep_shape shape_of(size_t M)
{
    const size_t warp = 32, most = (size_t)SWEEP_THREADS * SWEEP_COLS;
    const size_t slices = (M + most - 1) / most, cols = (M + slices - 1) / slices;
    const size_t threads = (cols + SWEEP_COLS * warp - 1) / (SWEEP_COLS * warp) * warp;

    return (struct sweep_shape){ (int)slices, (int)threads };
}

/* The inputs of a step that begins a kernel: those of a window, or its own. */
static size_t inputs(const struct fm_term *t, size_t q)
{
    return t->windows && q < t->nsum ? t->d : t->steps[q].count;
}

/* The hyperparameter that divides input j; windows have one for all inputs. */
static size_t lengthscale(const struct fm_term *t, size_t q, size_t j)
{
    const struct fm_step *s = &t->steps[q];

    return t->windows && q < t->nsum ? s->index : fm_lengthscale(s, j);
}

/* The largest number of hyperparameters that any step or term refers to. */
static size_t count_hp(const struct featmap *fm)
{
    size_t n = 0;

    for (size_t i = 0; i < fm->nterms; i++) {
        const struct fm_term *t = &fm->term[i];
        if (t->weight != FM_NONE && t->weight + 1 > n)
            n = t->weight + 1;
        for (size_t q = 0; q < t->nsteps; q++) {
            const struct fm_step *s = &t->steps[q];
            const bool reads = s->op == FM_SCALE_IN || s->op == FM_CIRCLE || s->op == FM_WINDOWS;
            for (size_t j = 0; reads && s->index != FM_NONE && j < inputs(t, q); j++)
                n = lengthscale(t, q, j) + 1 > n ? lengthscale(t, q, j) + 1 : n;
            if (s->op == FM_CIRCLE && s->also + 1 > n)
                n = s->also + 1;
            if (s->op == FM_APPEND && s->index != FM_NONE && s->index + 1 > n)
                n = s->index + 1;
        }
    }
    return n;
}

static bool begins(enum fm_op op)
{
    return op == FM_SCALE_IN || op == FM_CIRCLE || op == FM_WINDOWS;
}

/* Counts the rows of each table that the steps of a term use. */
static void count_rows(const struct fm_term *t, size_t *signs, size_t *scales, size_t *perms)
{
    *signs = *scales = *perms = 0;
    for (size_t q = 0; q < t->nsteps; q++) {
        const size_t rows = t->steps[q].index + 1;
        size_t *of = t->steps[q].op == FM_SIGN      ? signs
                     : t->steps[q].op == FM_SCALE   ? scales
                     : t->steps[q].op == FM_SHUFFLE ? perms
                                                    : NULL;
        if (of && rows > *of)
            *of = rows;
    }
}

static enum status term_tables(struct program *p, size_t i, struct err *err)
{
    const struct fm_term *t = &p->fm->term[i];
    struct dev_term *to = &p->term[i];
    const size_t one = t->nb * t->D;
    size_t signs, scales, perms;
    void *at;

    count_rows(t, &signs, &scales, &perms);
    *to = (struct dev_term){ .d = (int)t->d, .D = (int)t->D, .nb = (int)t->nb,
                             .nsteps = (int)t->nsteps, .paired = t->paired, .mf = t->mf,
                             .col0 = t->col0, .cols = t->cols, .first = (int)t->first,
                             .copied = t->nb ? 0 : t->steps[0].op == FM_ONE ? 2 : 1 };
    if (t->windows) {
        to->first = (int)(t->windows->flat + t->windows->part);
        to->parts = t->windows->parts > 1;
        to->width = (int)t->windows->width;
        to->channels = (int)t->windows->channels;
        to->symbols = t->windows->symbols;
        to->average = t->windows->average == AVERAGE_SQRT   ? 0
                      : t->windows->average == AVERAGE_NONE ? 1
                                                            : 2;
        to->nsum = (int)t->nsum;
        to->sum_paired = t->sum_paired;
        p->windows = true;
    }
    for (size_t q = 0; q < t->nsteps; q++) {
        if (t->steps[q].op == FM_PHASE)
            *(t->windows && q < t->nsum ? &to->sum_phase : &to->phase) = 1;
        p->x64 |= t->steps[q].op == FM_CIRCLE;
    }
    p->wide[i] |= t->phase64;
    p->x64 |= p->wide[i];
    p->D = t->nb && t->D > p->D ? t->D : p->D;
    enum status rc = hold(p, &at, t->signs, signs * one, err);
    to->signs = at;
    if (rc == ST_OK)
        rc = hold(p, &at, t->scale, scales * one * sizeof *t->scale, err);
    to->scale = at;
    if (rc == ST_OK)
        rc = hold(p, &at, t->perm, perms * one * sizeof *t->perm, err);
    to->perm = at;
    if (rc == ST_OK)
        rc = hold(p, &at, t->filter, t->filter ? t->d * one * sizeof *t->filter : 0, err);
    to->filter = at;
    return rc;
}

/* True for the chain of a single stationary kernel (featmap_is_plain). */
static bool is_plain(const struct fm_term *t)
{
    static const enum fm_op chain[] = { FM_SCALE_IN, FM_SIGN, FM_FHT,   FM_SIGN,  FM_FHT,
                                        FM_SIGN,     FM_FHT,  FM_SCALE, FM_SINCOS };
    const size_t n = sizeof chain / sizeof *chain;

    for (size_t q = 0; t->nsteps == n && q < n; q++)
        if (t->steps[q].op != chain[q])
            return false;
    return t->nsteps == n && !t->windows && t->steps[0].index != FM_NONE &&
           t->steps[1].index == 0 && t->steps[3].index == 1 && t->steps[5].index == 2 &&
           t->steps[7].index == 0;
}

/* Row k of the transpose of block b of S H D H D H D, in turns. */
static void dense_column(const struct fm_term *t, size_t b, size_t k, double *v)
{
    const size_t one = t->nb * t->D, base = b * t->D;

    memset(v, 0, t->D * sizeof *v);
    v[k] = 1.0;
    for (size_t r = 0; r < 3; r++) {
        for (size_t i = 0; i < t->D; i++)
            v[i] = t->signs[r * one + base + i] < 0 ? -v[i] : v[i];
        for (size_t h = 1; h < t->D; h *= 2)
            for (size_t i = 0; i < t->D; i++)
                if ((i & h) == 0) {
                    const double p = v[i], q = v[i + h];
                    v[i] = p + q;
                    v[i + h] = p - q;
                }
    }
    for (size_t i = 0; i < t->D; i++)
        v[i] *= t->scale[base + i] * 0.15915494309189533577;
}

/* W of a plain term in the order of the matrix units. Each frequency is divided by a power of
 * two. */
static void dense_words(const struct fm_term *t, size_t d, size_t ks, const double *columns,
                        uint32_t *words, float *scale)
{
    for (size_t j = 0; j < t->mf; j++) {
        const double *w = columns + j * d;
        double most = 0.0;
        for (size_t k = 0; k < d; k++)
            most = fmax(most, fabs(w[k]));
        const int e = most > 0.0 ? ilogb(most) : 0;
        scale[j] = (float)ldexp(1.0, e);
        for (size_t k = 0; k < d; k++) {
            uint16_t half[2];
            split_half((float)ldexp(w[k], -e), &half[0], &half[1]);
            for (int lo = 0; lo < 2; lo++)
                words[((size_t)project_sixteen((int)j) * ks + k / 16) * 256 +
                      (size_t)project_word((int)(j % 32), (int)(k % 16) & ~1, lo)] |=
                    (uint32_t)half[lo] << (k % 2 ? 16 : 0);
        }
    }
}

static enum status dense_tables(struct program *p, size_t i, struct err *err)
{
    const struct fm_term *t = &p->fm->term[i];
    const size_t d = t->steps[0].count, ks = (d + 31) / 32 * 2, groups = project_sixteens(t->mf);
    double *v = mem_calloc(t->D, sizeof *v, "the feature map", err);
    double *columns = mem_calloc(t->nb * t->D, d * sizeof *columns, "the feature map", err);
    uint32_t *words = mem_calloc(groups * ks, 256 * sizeof *words, "the feature map", err);
    float *scale = mem_calloc(groups, 16 * sizeof *scale, "the feature map", err);
    void *W = NULL, *s = NULL;
    enum status rc = v && columns && words && scale ? ST_OK : ST_NOMEM;

    for (size_t b = 0; rc == ST_OK && b < t->nb; b++)
        for (size_t k = 0; k < d; k++) {
            dense_column(t, b, k, v);
            for (size_t j = 0; j < t->D; j++)
                columns[(b * t->D + j) * d + k] = v[j];
        }
    if (rc == ST_OK)
        dense_words(t, d, ks, columns, words, scale);
    if (rc == ST_OK)
        rc = hold(p, &W, words, groups * ks * 256 * sizeof *words, err);
    if (rc == ST_OK)
        rc = hold(p, &s, scale, groups * 16 * sizeof *scale, err);
    if (rc == ST_OK) /* the local tables must be uploaded before this returns */
        rc = device_wait(p->dev, err);
    if (rc == ST_OK)
        p->dense[i] = (struct project_args){ .first = (int)t->steps[0].first, .d = (int)d, .W = W,
                                             .scale = s, .ks = (int)ks, .per = 32, .mf = t->mf,
                                             .col0 = t->col0 };
    free(v);
    free(columns);
    free(words);
    free(scale);
    return rc;
}

/* Tables of the fused loop: 16 frequencies for each thread of the sweep. Those after the last one
 * are cosines of zero, and their columns are never read. */
static enum status chain_tables(struct program *p, struct err *err)
{
    const struct fm_term *t = &p->fm->term[0];
    const size_t threads = (size_t)p->shape.slices * (size_t)p->shape.threads;
    uint32_t *signs = mem_calloc(threads, 2 * sizeof *signs, "the feature map", err);
    float *scale = mem_calloc(threads, 16 * sizeof *scale, "the feature map", err);
    enum status rc = signs && scale ? ST_OK : ST_NOMEM;
    void *at = NULL;

    for (size_t i = 0; rc == ST_OK && i < threads; i++)
        for (size_t j = 16 * i; j < 16 * i + 16 && j < t->nb * t->D; j++) {
            const uint32_t bit = (uint32_t)(j - 16 * i), one = t->nb * t->D;
            if (t->signs[j] < 0)
                signs[2 * i] |= 1u << bit;
            if (t->signs[one + j] < 0)
                signs[2 * i] |= 1u << (bit + 16);
            if (t->signs[2 * one + j] < 0)
                signs[2 * i + 1] |= 1u << bit;
            scale[j] = j < t->mf ? (float)(t->scale[j] * 0.15915494309189533577) : 0.0F;
        }
    if (rc == ST_OK)
        rc = hold(p, &at, signs, threads * 2 * sizeof *signs, err);
    p->fused.signs = at;
    if (rc == ST_OK)
        rc = hold(p, &at, scale, threads * 16 * sizeof *scale, err);
    p->fused.scale = at;
    if (rc == ST_OK)
        rc = hold(p, &p->d_inv32, NULL, p->ninv * sizeof(float), err);
    p->fused.D = (int)t->D;
    p->pad = (struct pad_args){.first = (int)t->steps[0].first,
                               .d = (int)t->steps[0].count,
                               .D = (int)t->D,
                               .inv = p->d_inv32};
    while ((size_t)1 << p->pad.bits < t->D)
        p->pad.bits++;
    if (rc == ST_OK) /* the tables above must be uploaded before this returns */
        rc = device_wait(p->dev, err);
    free(signs);
    free(scale);
    return rc;
}

static enum status program_tables(struct program *p, struct err *err)
{
    const struct featmap *fm = p->fm;
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < fm->nterms; i++) {
        p->inv_at[i] = p->ninv;
        for (size_t q = 0; q < fm->term[i].nsteps; q++)
            p->ninv += begins(fm->term[i].steps[q].op) ? inputs(&fm->term[i], q) : 0;
        p->nsteps += fm->term[i].nsteps;
        rc = term_tables(p, i, err);
    }
    p->steps =
        rc == ST_OK ? mem_calloc(p->nsteps + 1, sizeof *p->steps, "the feature map", err) : NULL;
    p->inv = p->steps ? mem_calloc(p->ninv + 1, sizeof *p->inv, "the feature map", err) : NULL;
    p->column = p->inv ? mem_calloc(fm->M, sizeof *p->column, "the feature map", err) : NULL;
    if (rc == ST_OK && !p->column)
        rc = ST_NOMEM;
    if (rc == ST_OK)
        rc = hold(p, &p->d_steps, NULL, p->nsteps * sizeof *p->steps, err);
    if (rc == ST_OK)
        rc = hold(p, &p->d_inv, NULL, p->ninv * sizeof *p->inv, err);
    if (rc == ST_OK)
        rc = hold(p, &p->d_column, NULL, fm->M * sizeof *p->column, err);
    return rc;
}

enum status program_new(struct program *p, struct device *dev, const struct featmap *fm, bool wide,
                        struct err *err)
{
    const struct fm_term *t = &fm->term[0];

    *p = (struct program){ .dev = dev, .fm = fm, .nterms = fm->nterms, .nhp = count_hp(fm),
                           .shape = shape_of(fm->M), .x64 = wide };
    for (size_t i = 0; i < fm->nterms; i++)
        p->wide[i] = wide;
    enum status rc = program_tables(p, err);
    p->bounded = true;
    for (size_t i = 0; i < fm->nterms; i++)
        for (size_t q = 0; q < fm->term[i].nsteps; q++) {
            const enum fm_op op = fm->term[i].steps[q].op;
            p->bounded &= op != FM_TIMES && op != FM_RELU && op != FM_ERF && op != FM_COPY &&
                          op != FM_EMIT && op != FM_WINDOWS && op != FM_TURN;
        }
    p->chain = !p->x64 && fm->nterms == 1 && is_plain(t) && t->D >= 32 &&
               t->D <= 512 && t->col0 == 0;
    if (rc == ST_OK && p->chain)
        rc = chain_tables(p, err);
    for (size_t i = 0; rc == ST_OK && i < fm->nterms; i++) {
        p->cols += fm->term[i].cols;
        if (!p->wide[i] && is_plain(&fm->term[i]) && fm->term[i].mf &&
            fm->term[i].steps[0].count <= PROJECT_MOST)
            rc = dense_tables(p, i, err);
    }
    if (rc == ST_OK)
        rc = device_wait(dev, err);
    if (rc != ST_OK)
        program_free(p);
    return rc;
}

void program_free(struct program *p)
{
    for (size_t i = 0; i < p->nheld; i++)
        device_free(p->dev, p->held[i]);
    free(p->steps);
    free(p->inv);
    free(p->column);
    p->nheld = 0;
    p->steps = NULL;
    p->inv = p->column = NULL;
}

static void term_set(struct program *p, size_t i, const double *hp, size_t first)
{
    const struct fm_term *t = &p->fm->term[i];
    double *inv = p->inv + p->inv_at[i];
    size_t at = 0;

    p->out[i] = t->out * (t->weight == FM_NONE ? 1.0 : hp[t->weight]);
    for (size_t j = t->col0; j < t->col0 + t->cols; j++)
        p->column[j] = p->out[i];
    for (size_t q = 0; q < t->nsteps; q++) {
        const struct fm_step *s = &t->steps[q];
        struct dev_step *to = &p->steps[first + q];
        *to = (struct dev_step){ .op = s->op, .value = s->value, .first = (int)s->first,
                                 .count = (int)s->count,
                                 .row = s->index == FM_NONE ? -1 : (int)s->index };
        if (s->op == FM_CIRCLE)
            to->value = 1.0 / hp[s->also];
        if (s->op == FM_APPEND) {
            to->value = s->value * (s->index == FM_NONE ? 1.0 : hp[s->index]);
            to->count = (int)(s->count ? s->count : t->d);
        }
        if (!begins(s->op))
            continue;
        to->row = s->index == FM_NONE ? -1 : (int)at;
        for (size_t j = 0; j < inputs(t, q); j++, at++)
            inv[at] = s->index == FM_NONE ? 1.0 : 1.0 / hp[lengthscale(t, q, j)];
    }
}

enum status program_set(struct program *p, const double *hp, struct err *err)
{
    size_t first = 0;
    float *inv = p->chain ? mem_calloc(p->ninv, sizeof *inv, "the feature map", err) : NULL;
    enum status rc = p->chain && !inv ? ST_NOMEM : ST_OK;

    for (size_t i = 0; i < p->nterms; i++) {
        term_set(p, i, hp, first);
        p->term[i].steps = (const struct dev_step *)p->d_steps + first;
        p->term[i].inv = (const double *)p->d_inv + p->inv_at[i];
        p->dense[i].inv = p->term[i].inv;
        first += p->fm->term[i].nsteps;
    }
    for (size_t j = 0; inv && j < p->ninv; j++)
        inv[j] = (float)p->inv[j];
    if (rc == ST_OK)
        rc = device_upload(p->dev, STREAM_WORK, p->d_steps, p->steps,
                           p->nsteps * sizeof *p->steps, err);
    if (rc == ST_OK)
        rc = device_upload(p->dev, STREAM_WORK, p->d_inv, p->inv, p->ninv * sizeof *p->inv, err);
    if (rc == ST_OK)
        rc = device_upload(p->dev, STREAM_WORK, p->d_column, p->column,
                           p->fm->M * sizeof *p->column, err);
    if (rc == ST_OK && p->chain)
        rc = device_upload(p->dev, STREAM_WORK, p->d_inv32, inv, p->ninv * sizeof *inv, err);
    if (rc == ST_OK)
        rc = device_wait(p->dev, err);
    free(inv);
    return rc;
}

/* Going backwards through the steps. */

enum status program_links(const struct program *p, size_t i, struct back_args *a, struct err *err)
{
    const struct fm_term *t = &p->fm->term[i];
    int open = -1;

    a->links = a->inner = 0;
    for (size_t q = 0; t->nb && q < t->nsteps; q++) {
        const enum fm_op op = t->steps[q].op;
        const bool ends = op == FM_PHASE || op == FM_TIMES || op == FM_RELU || op == FM_ERF ||
                          ((op == FM_SINCOS || op == FM_EMIT) && open >= 0);
        if (begins(op))
            open = (int)q;
        if (!ends || open < 0)
            continue;
        if (a->links == BACK_LINKS)
            return err_set(err, ST_UNSUPPORTED, "a product of more than %d projections",
                           BACK_LINKS);
        a->link[a->links++] = (struct dev_link){ open, (int)q + 1 };
        a->inner += t->windows && q < t->nsum;
        open = -1;
    }
    return ST_OK;
}

/* One link: the derivative with respect to each of its inputs, times the input. */
static void collect_link(const struct fm_term *t, struct dev_link k, size_t D, const double *sum,
                         double *grad)
{
    const size_t q = (size_t)k.q0;
    const struct fm_step *s = &t->steps[q];

    for (size_t j = 0; j < inputs(t, q); j++) {
        const size_t h = s->index == FM_NONE ? 0 : lengthscale(t, q, j);
        if (s->op == FM_CIRCLE)
            grad[s->also] += sum[D + 2 * j] + sum[D + 2 * j + 1];
        if (s->index != FM_NONE)
            grad[h] -= s->op == FM_CIRCLE ? sum[2 * j] + sum[2 * j + 1] : sum[j];
    }
    for (size_t r = q + 1; r < (size_t)k.q1; r++)
        if (t->steps[r].op == FM_APPEND && t->steps[r].index != FM_NONE)
            grad[t->steps[r].index] += sum[t->steps[r].count ? t->steps[r].count : t->d];
}

void program_collect(const struct program *p, size_t i, const struct back_args *a,
                     const double *sum, double *grad)
{
    const struct fm_term *t = &p->fm->term[i];
    const size_t D = t->D, own = a->s.term.copied ? 0 : 2 * (size_t)a->links * D;

    for (int l = 0; l < a->links; l++)
        collect_link(t, a->link[l], D, sum + 2 * (size_t)l * D, grad);
    for (size_t j = own; t->weight != FM_NONE && j < a->slots; j++)
        grad[t->weight] += sum[j];
}
