/* compute/features/featmap.c -- drawing a kernel: Rademacher signs, chi row lengths and radial
 * factors of structured orthogonal random features (SORF; Yu et al. 2016), normalised so that
 * z.z = 1 (share/doc/methods.md 3.1 to 3.11).  Correction to Parkinson & Wang, Algorithm S1: the
 * factor is sqrt(1/Mf), Mf the number of frequencies. */
#include "compute/features/featmap.h"

#include "base/mem.h"
#include "compute/features/tensor.h"
#include "compute/kernels/kernels.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The least padded width D.  Narrower transforms give a biased kernel in few dimensions: it is
 * wrong by up to 0.30 at D = 2, at any number of features (share/doc/methods.md 3, Corrections). */
enum { DRAWN_WIDTH_MIN = 32 };

/* Steps. */

/* The steps of one kernel, with indices that count from its own first hyperparameter and rows. */
static size_t factor_steps(const struct kterm *k, bool alone, struct fm_step *out)
{
    if (k->ops->recipe)
        return k->ops->recipe(k->params, alone, out);
    out[0] = (struct fm_step){ .op = FM_SCALE_IN };
    const struct layer_ops *layer = k->layer.ops;
    size_t n = 1 + (layer && layer->project ? layer->project : kernel_gaussian_steps)(out + 1);
    if (!alone)
        out[n++] = (struct fm_step){ .op = FM_PHASE };
    return n;
}

/* The numbers of rows and the width that a list of steps needs. */
struct needs { size_t signs, perms, scales, width; bool phase, finite, dense, hashed; };

static struct needs needs_of(const struct fm_step *s, size_t n, size_t d)
{
    struct needs r = { .width = d };

    for (size_t i = 0; i < n; i++) {
        const size_t rows = s[i].index + 1;
        if (s[i].op == FM_SIGN && rows > r.signs)
            r.signs = rows;
        if (s[i].op == FM_SHUFFLE && rows > r.perms)
            r.perms = rows;
        if (s[i].op == FM_SCALE && rows > r.scales)
            r.scales = rows;
        if (s[i].op == FM_CIRCLE && r.width < 2 * d)
            r.width = 2 * d;
        if (s[i].op == FM_APPEND && r.width < d + 1)
            r.width = d + 1;
        r.phase |= s[i].op == FM_PHASE;
        r.hashed |= s[i].op == FM_HASH || s[i].op == FM_WORDS || s[i].op == FM_TENSOR;
        r.dense |= s[i].op == FM_DENSE;
        r.finite |= s[i].op == FM_COPY || s[i].op == FM_ONE;
    }
    return r;
}

/* The index of hyperparameter i of a kernel with p.nl lengthscales: its first, or one after
 * those. */
static size_t hp_at(struct kernel_place p, size_t i)
{
    return i == FM_NONE ? FM_NONE : i == 0 ? p.hp0 : p.hp0 + p.nl - 1 + i;
}

/* The numbers of a row of d that kernel t reads: of one that learns, or stands behind a map, what
 * the operator puts behind them (learned.h). */
struct reach { size_t first, count; };
static struct reach reads(const struct kernel *k, size_t t, size_t d)
{
    if (kterm_learns(&k->term[t])) {
        const struct kernel_block b = kernel_learned_block(k, t);
        return (struct reach){ d + b.first, b.count };
    }
    return (struct reach){ k->term[t].first, kernel_inputs(k, t, d) };
}

/* Shifts the indices of the steps of kernel t to its place in the product; in: its inputs. */
static void place_steps(struct fm_step *s, size_t n, const struct kernel *k, size_t t,
                        struct reach in, const struct needs *before)
{
    const struct kernel_place p = kernel_place(k, t);

    for (size_t i = 0; i < n; i++)
        switch (s[i].op) {
        case FM_SCALE_IN:
        case FM_CIRCLE:
        case FM_APPEND:
            s[i].index = hp_at(p, s[i].index);
            s[i].group = k->term[t].grouped ? k->group + k->term[t].first : NULL;
            s[i].also = s[i].op == FM_CIRCLE ? hp_at(p, s[i].also) : p.nl;
            s[i].first = in.first;
            s[i].count = in.count;
            break;
        case FM_COPY:
            s[i].first = in.first;
            s[i].count = in.count;
            break;
        case FM_SIGN:
            s[i].index += before->signs;
            break;
        case FM_SHUFFLE:
            s[i].index += before->perms;
            break;
        case FM_SCALE:
            s[i].index += before->scales;
            break;
        default:
            break;
        }
}

/* The kernels of the product that begins at kernel t, in the order of its steps: a kernel over
 * windows comes first.  Returns how many there are. */
static size_t product_kernels(const struct kernel *k, size_t t, size_t out[KERNEL_MAX_TERMS])
{
    size_t n = 0, first = 0;

    if (k->term[t].ops->learns) /* a product of maps is one block of numbers */
        return out[0] = t, 1;
    for (size_t i = t; i < k->nterms && (i == t || k->term[i].times); i++) {
        if (kterm_reads_windows(&k->term[i]))
            first = n;
        out[n++] = i;
    }
    const size_t front = out[first];
    memmove(out + 1, out, first * sizeof *out);
    out[0] = front;
    return n;
}

/* Ends the first factor of a product over windows: FM_SUM, before the steps of the other
 * factors. */
static void end_windows(struct fm_step *s, size_t *n, bool paired, const struct layer *l)
{
    if (s[0].op == FM_HASH || s[0].op == FM_WORDS) {
        s[0].value = s[0].op == FM_HASH && l->symbol == SYMBOL_GAUSS;
        s[(*n)++].op = FM_SUM;
        return;
    }
    if (s[0].op == FM_TENSOR) {
        s[(*n)++].op = FM_SUM;
        return;
    }
    s[0].op = FM_WINDOWS;
    s[(*n)++].op = paired ? FM_SINCOS : FM_EMIT;
    s[(*n)++].op = FM_SUM;
}

/* The steps of the product that begins at kernel t (NULL: no memory), and their needs. */
static struct fm_step *product_steps(const struct kernel *k, size_t t, size_t d, struct fm_term *to,
                                     struct needs *all, struct err *err)
{
    size_t at[KERNEL_MAX_TERMS], n = 0;
    const size_t factors = product_kernels(k, t, at);
    const bool windows = kterm_reads_windows(&k->term[at[0]]);
    struct fm_step *s =
        mem_calloc(factors * (KERNEL_RECIPE + 1) + 4, sizeof *s, "feature map", err);

    *all = (struct needs){ 0 };
    bool plain = false;
    for (size_t i = 0; s && i < factors; i++) {
        const struct kterm *term = &k->term[at[i]];
        const struct reach in = reads(k, at[i], d);
        const bool alone = factors == 1 || (windows && i == 0);
        const size_t own = factor_steps(term, alone, s + n);
        const struct needs r = needs_of(s + n, own, in.count);
        place_steps(s + n, own, k, at[i], in, all);
        all->signs += r.signs;
        all->perms += r.perms;
        all->scales += r.scales;
        all->width = r.width > all->width ? r.width : all->width;
        all->phase |= r.phase;
        all->dense |= r.dense;
        all->finite |= r.finite && !windows;
        plain = alone && !term->ops->recipe;
        n += own;
        if (windows && i == 0) {
            to->sum_paired = plain || r.phase;
            all->phase = to->sum_paired;
            end_windows(s, &n, to->sum_paired, &term->layer);
            to->nsum = n;
        }
    }
    to->paired = !all->finite && (plain || all->phase);
    if (s && !all->finite && !windows)
        s[n++].op = to->paired ? FM_SINCOS : FM_EMIT;
    if (s && windows && factors > 1)
        s[n++].op = FM_TURN;
    to->nsteps = n;
    return s;
}

static bool is_chain(const struct fm_step *s, enum fm_op first)
{
    static const enum fm_op chain[] = { FM_SCALE_IN, FM_SIGN, FM_FHT,   FM_SIGN,  FM_FHT,
                                        FM_SIGN,     FM_FHT,  FM_SCALE, FM_SINCOS };

    if (s[0].op != first)
        return false;
    for (size_t i = 1; i < sizeof chain / sizeof chain[0]; i++)
        if (s[i].op != chain[i])
            return false;
    return s[1].index == 0 && s[3].index == 1 && s[5].index == 2;
}
enum { CHAIN = 9 };

bool featmap_is_plain(const struct fm_term *t)
{
    return t->nsteps == CHAIN && t->D >= 2 && is_chain(t->steps, FM_SCALE_IN);
}

bool featmap_sums_plain(const struct fm_term *t)
{
    return t->windows && t->nsum == CHAIN + 1 && t->D >= 2 && is_chain(t->steps, FM_WINDOWS);
}

bool featmap_all_signed(const struct featmap *fm)
{
    bool all = fm->nterms > 0;
    size_t cols = 0;

    for (size_t i = 0; i < fm->nterms; i++) {
        all &= featmap_is_signed(&fm->term[i]) && fm->term[i].nsteps == fm->term[i].nsum;
        cols += fm->term[i].cols;
    }
    return all && cols == fm->M;
}

bool featmap_kernel_signed(const struct kernel *k)
{
    bool all = k->nterms > 0;

    for (size_t t = 0; t < k->nterms; t++) {
        struct fm_step steps[KERNEL_RECIPE + 1];
        const size_t n = factor_steps(&k->term[t], true, steps);
        all &= n == 1 && steps[0].op == FM_HASH && k->term[t].layer.symbol == SYMBOL_SIGNS &&
               !k->term[t].times;
    }
    return all;
}

bool featmap_kernel_hashed(const struct kernel *k)
{
    bool some = false;

    for (size_t t = 0; t < k->nterms; t++) {
        struct fm_step steps[KERNEL_RECIPE + 1];
        some |= needs_of(steps, factor_steps(&k->term[t], true, steps), 1).hashed;
    }
    return some;
}

static size_t pow2_at_least(size_t n)
{
    size_t p = 1;

    while (p < n)
        p *= 2;
    return p;
}

static size_t products(const struct kernel *k)
{
    size_t n = 0;

    for (size_t t = 0; t < k->nterms; t++)
        n += t == 0 || !k->term[t].times;
    return n;
}

static size_t product_at(const struct kernel *k, size_t i)
{
    size_t t = 0;

    while (i > 0)
        i -= !k->term[++t].times;
    return t;
}

static struct featmap *map_alloc(const struct kernel *k, size_t d, size_t M, struct err *err)
{
    struct featmap *fm = mem_calloc(1, sizeof *fm, "feature map", err);

    if (!fm)
        return NULL;
    fm->nterms = products(k);
    fm->term = mem_calloc(fm->nterms, sizeof *fm->term, "feature map", err);
    if (!fm->term) {
        free(fm);
        return NULL;
    }
    fm->d = d;
    fm->M = M;
    fm->kernel = *k;
    return fm;
}

/* Sets the steps and sizes of the product that begins at kernel t; columns are shared out later.
 * D 0: chosen here.  k is the map's own copy, because steps point to its groups. */
static enum status term_plan(struct fm_term *t, const struct kernel *k, size_t at, size_t d,
                             size_t D, struct needs *r, struct err *err)
{
    size_t own[KERNEL_MAX_TERMS];
    const size_t factors = product_kernels(k, at, own);
    const struct kterm *head = &k->term[own[0]];
    const struct kernel_place p = kernel_place(k, own[0]);

    for (size_t i = 0; i < factors; i++)
        if (kernel_inputs(k, own[i], d) == 0)
            return err_set(err, ST_STATE, kterm_reads_windows(&k->term[own[i]])
                           ? "a kernel over windows is drawn for rows of sequences"
                           : "a kernel beside conv is drawn for rows with numbers too");
    *t = (struct fm_term){
        .d = reads(k, own[0], d).count, .hp0 = p.hp0, .nl = p.nl, .weight = p.weight, .out = 1.0};
    t->first = reads(k, own[0], d).first;
    t->windows = kterm_reads_windows(head) ? &head->layer : NULL;
    t->steps = product_steps(k, at, d, t, r, err);
    if (!t->steps)
        return ST_NOMEM;
    for (size_t i = 0; i < factors; i++)
        t->phase64 |=
            k->term[own[i]].ops->heavy && k->term[own[i]].ops->heavy(k->term[own[i]].params);
    t->D = D ? D : pow2_at_least(r->width < DRAWN_WIDTH_MIN ? DRAWN_WIDTH_MIN : r->width);
    if (r->finite)
        t->cols = t->steps[0].op == FM_COPY ? t->d : 1;
    return ST_OK;
}

/* Allocates signs, scales, permutations and filters for mf frequencies in nb blocks of D; out =
 * sqrt(1/mf) (3.1). */
static enum status term_alloc(struct fm_term *t, size_t mf, const struct needs *r, struct err *err)
{
    t->mf = mf;
    t->nb = (mf + t->D - 1) / t->D;
    t->cols = t->paired ? 2 * mf : mf;
    t->out = featmap_is_words(t) ? 1.0 : sqrt(1.0 / (double)mf);
    t->signs = mem_calloc(r->signs * t->nb + 1, t->D, "feature signs", err);
    t->scale = mem_calloc(r->scales * t->nb + 1, t->D * sizeof *t->scale, "feature scales", err);
    t->perm = r->perms ? mem_calloc(r->perms * t->nb, t->D * sizeof *t->perm, "feature order", err)
                       : NULL;
    if (r->dense)
        t->filter = mem_calloc(t->nb * t->D, t->d * sizeof *t->filter, "dense filters", err);
    return t->signs && t->scale && (t->perm || !r->perms) && (t->filter || !r->dense) ? ST_OK
                                                                                      : ST_NOMEM;
}

/* D^(-3/2), folded into the scales (3.2). */
static double fht_norm(size_t D)
{
    return 1.0 / ((double)D * sqrt((double)D)); /* three transforms, 1/sqrt(D) each */
}

/* Draws one kernel's rows of signs, scales and permutations, which follow those of `from`.  A scale
 * is chi_j times the radial factor of frequency j (3.3 to 3.6) times D^(-3/2). */
static void factor_draw(struct fm_term *t, const struct kterm *k, uint32_t sub, uint64_t seed,
                        const struct needs *from, const struct needs *own)
{
    const size_t n = t->nb * t->D, ns = own->signs * n;
    int8_t *signs = t->signs + from->signs * n;
    double *scale = t->scale + from->scales * n;
    uint32_t *perm = t->perm + from->perms * n;

    for (size_t i = 0; i < ns; i += 128) { /* 128 signs per block of random bits */
        uint32_t bits[4];
        rng_u32x4(seed, rng_stream(RNG_SIGNS, sub), i / 128, bits);
        for (size_t j = 0; j < 128 && i + j < ns; j++)
            signs[i + j] = bits[j / 32] >> (j % 32) & 1 ? -1 : 1;
    }
    for (size_t j = 0; j < own->scales * n; j++) {
        const double chi = sqrt(rng_chi2(seed, rng_stream(RNG_CHI, sub), j, (double)t->D));
        scale[j] = chi * fht_norm(t->D);
        if (k->ops->radial)
            scale[j] *= k->ops->radial(k->params, seed, rng_stream(RNG_RADIAL, sub), j);
    }
    for (size_t b = 0; b < own->perms * t->nb; b++) { /* the shuffle of Fisher & Yates */
        uint32_t *p = perm + b * t->D;
        for (size_t j = 0; j < t->D; j++)
            p[j] = (uint32_t)j;
        for (size_t j = t->D; j-- > 1;) {
            const size_t q = (size_t)rng_below(seed, rng_stream(RNG_SHUFFLE, sub), b * t->D + j,
                                               j + 1);
            const uint32_t was = p[j];
            p[j] = p[q];
            p[q] = was;
        }
    }
}

/* Draws dense filters with independent Gaussian entries; the radial factor of a heavier spectrum
 * multiplies each filter as a whole (3.4 to 3.6). */
static void filters_draw(struct fm_term *t, const struct kterm *k, uint32_t sub, uint64_t seed)
{
    const size_t n = t->nb * t->D;

    for (size_t j = 0; j < t->mf; j++) {
        const double by =
            k->ops->radial ? k->ops->radial(k->params, seed, rng_stream(RNG_RADIAL, sub), j) : 1.0;
        for (size_t i = 0; i < t->d; i++)
            t->filter[i * n + j] = by * rng_normal(seed, rng_stream(RNG_DENSE, sub), j * t->d + i);
    }
}

/* Draws all kernels of a product one after the other, each from streams of its own. */
static void term_draw(struct fm_term *t, const struct kernel *k, size_t at, uint64_t seed)
{
    struct needs from = { 0 };
    struct fm_step steps[KERNEL_RECIPE + 1];
    size_t factor[KERNEL_MAX_TERMS];
    const size_t n = product_kernels(k, at, factor);

    for (size_t j = 0; j < n; j++) {
        const size_t i = factor[j];
        const bool alone = n == 1 || (j == 0 && t->windows);
        const struct needs own = needs_of(steps, factor_steps(&k->term[i], alone, steps), t->d);
        if (own.hashed) {
            t->seed = seed;
            t->stream = rng_stream(RNG_HASH, (uint32_t)i);
        }
        factor_draw(t, &k->term[i], (uint32_t)i, seed, &from, &own);
        if (own.dense)
            filters_draw(t, &k->term[i], (uint32_t)i, seed);
        from.signs += own.signs;
        from.scales += own.scales;
        from.perms += own.perms;
    }
}

static enum status tensor_draw(struct fm_term *t, struct err *err)
{
    t->tensor = tensor_new(t->windows, t->steps[0].value, t->mf, t->seed,
                           rng_stream(RNG_TENSOR, (uint32_t)t->stream), err);
    t->out = 1.0; /* the columns of a term of the series add up to it */
    return t->tensor ? ST_OK : err_status(err);
}

/* The number of columns of product i if it is fixed; SIZE_MAX: it can have any number. */
static size_t fixed_columns(const struct kernel *k, size_t i, size_t d)
{
    const size_t t = product_at(k, i), count = reads(k, t, d).count;
    struct fm_step steps[KERNEL_RECIPE + 1];

    if (kterm_reads_windows(&k->term[t]) ||
        (t + 1 < k->nterms && k->term[t + 1].times && !k->term[t].ops->learns))
        return SIZE_MAX;
    const size_t n = factor_steps(&k->term[t], true, steps);
    return !needs_of(steps, n, count).finite ? SIZE_MAX : steps[0].op == FM_COPY ? count : 1;
}

size_t featmap_most_for_tests(const struct kernel *k, size_t d)
{
    size_t most = 0;

    for (size_t i = 0; i < products(k); i++) {
        const size_t own = fixed_columns(k, i, d);
        if (own == SIZE_MAX)
            return SIZE_MAX;
        most += own;
    }
    return most;
}

/* Counts every product as if all columns were its own: signs and scales are a few numbers for each
 * frequency, dense filters (in both precisions) as many as a window has. */
double featmap_bytes(const struct kernel *k, size_t d, size_t M)
{
    double most = 0.0;

    for (size_t t = 0; t < k->nterms; t++) {
        const size_t own = kernel_inputs(k, t, d);
        const double D = (double)pow2_at_least(own < DRAWN_WIDTH_MIN ? DRAWN_WIDTH_MIN : own + 1);
        const double mf = D * ceil(0.5 * (double)M / D);
        struct fm_step steps[KERNEL_RECIPE + 1];
        const struct needs r = needs_of(steps, factor_steps(&k->term[t], true, steps), own);
        const double each = r.dense ? 12.0 * (double)own : 3.0 + 8.0 + 4.0 * 3.0 + 2.0 * 8.0;
        const struct layer *l = &k->term[t].layer;
        most = fmax(most, mf * each + 8.0 * (double)own +
                              (l->ops && l->terms > 0 ? tensor_bytes(l, M) : 0.0));
    }
    return most;
}

/* The columns that every term needs which has no fixed number of them. */
static size_t drawn_least(const struct kernel *k)
{
    size_t least = 2;

    for (size_t t = 0; t < k->nterms; t++) {
        const struct layer *l = &k->term[t].layer;
        if (l->ops && l->terms > 0 && 2 * tensor_least(l) > least)
            least = 2 * tensor_least(l); /* twice: in a product with pairs it has half of them */
    }
    return least;
}

size_t featmap_least(const struct kernel *k, size_t d)
{
    size_t fixed = 0, drawn = 0;

    for (size_t i = 0; i < products(k); i++) {
        const size_t own = fixed_columns(k, i, d);
        fixed += own == SIZE_MAX ? 0 : own;
        drawn += own == SIZE_MAX;
    }
    const size_t least = (fixed + 1) / 2 * 2 + drawn_least(k) * drawn;
    return least < 2 ? 2 : least;
}

/* The columns that a term takes of at most `most`: counts of words that are no factor of a product
 * need as many as there can be words, or one more, so that those after it begin at an even one. */
static size_t words_columns(const struct fm_term *t, size_t most)
{
    const double kinds = featmap_is_words(t) && t->nsteps == t->nsum
                             ? t->windows->ops->words->kinds(t->windows) : 0.0;

    return kinds > 0.0 && kinds < (double)most ? ((size_t)kinds + 1) / 2 * 2 : most;
}

/* Shares out the columns.  Terms with a fixed number take that; the others share the rest in equal
 * numbers of frequencies, of which the first terms take the remainder, and words no more than they
 * need.  An odd column goes to a term that is neither paired nor over windows, or stays zero. */
static enum status share_columns(struct featmap *fm, const struct needs *r, size_t *mf,
                                 struct err *err)
{
    const size_t least = drawn_least(&fm->kernel);
    size_t fixed = 0, drawn = 0;

    for (size_t i = 0; i < fm->nterms; i++) {
        fixed += r[i].finite ? fm->term[i].cols : 0;
        drawn += !r[i].finite;
    }
    if (fm->M % 2 != 0 || fm->M < fixed + least * drawn || fm->M < 2)
        return err_set(err, ST_RANGE, "features=%zu: the number must be even and at least %zu",
                       fm->M, (fixed + 1) / 2 * 2 + least * drawn);
    size_t left = fm->M - fixed;
    for (size_t i = 0; i < fm->nterms; i++)
        if (!r[i].finite && featmap_is_words(&fm->term[i])) {
            const size_t most = left / 2 / drawn * 2;
            mf[i] = words_columns(&fm->term[i], most);
            if (mf[i] < most) {
                left -= mf[i];
                drawn--;
            } else {
                mf[i] = 0;
            }
        }
    for (size_t i = 0; i < fm->nterms; i++) {
        if (r[i].finite || mf[i] > 0)
            continue;
        const size_t pairs = left / 2, mine = (pairs + drawn - 1) / drawn;
        mf[i] = fm->term[i].paired ? mine : 2 * mine;
        if (!fm->term[i].paired && !fm->term[i].windows && left % 2) {
            mf[i]++;
            left--;
        }
        left -= 2 * mine;
        drawn--;
    }
    return ST_OK;
}

static void place_columns(struct featmap *fm)
{
    size_t col = 0;

    for (int kind = 2; kind >= 0; kind--)
        for (size_t i = 0; i < fm->nterms; i++)
            if ((featmap_is_plain(&fm->term[i]) ? 2 : featmap_is_windowed(&fm->term[i])) == kind) {
                fm->term[i].col0 = col;
                col += fm->term[i].cols;
            }
}

/* Steps and numbers of columns of all terms. */
static enum status map_plan(struct featmap *fm, struct needs *r, size_t *mf, struct err *err)
{
    const struct kernel *k = &fm->kernel;
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < fm->nterms; i++)
        rc = term_plan(&fm->term[i], k, product_at(k, i), fm->d, 0, &r[i], err);
    return rc == ST_OK ? share_columns(fm, r, mf, err) : rc;
}

bool featmap_is_kernel(const struct kernel *k, size_t d, size_t M)
{
    struct needs r[KERNEL_MAX_TERMS];
    size_t mf[KERNEL_MAX_TERMS] = { 0 };
    struct featmap *fm = map_alloc(k, d, M, NULL);
    bool all = fm != NULL && map_plan(fm, r, mf, NULL) == ST_OK;

    for (size_t t = 0; all && t < fm->nterms; t++)
        all = r[t].finite || words_columns(&fm->term[t], mf[t] + 2) <= mf[t];
    featmap_free(fm);
    return all;
}

bool featmap_words(const struct kernel *k, size_t d, size_t M, size_t i, double *kinds,
                   size_t *columns)
{
    struct needs r[KERNEL_MAX_TERMS];
    size_t mf[KERNEL_MAX_TERMS] = { 0 };
    struct featmap *fm = map_alloc(k, d, M, NULL);
    bool found = false;

    if (fm != NULL && map_plan(fm, r, mf, NULL) == ST_OK)
        for (size_t t = 0; !found && t < fm->nterms; t++)
            if (featmap_is_words(&fm->term[t]) && i-- == 0) {
                const struct layer *l = fm->term[t].windows;
                *kinds = l->ops->words->kinds(l);
                *columns = mf[t];
                found = true;
            }
    featmap_free(fm);
    return found;
}

/* Steps, columns and random numbers of all terms. */
static enum status map_fill(struct featmap *fm, struct err *err)
{
    const struct kernel *k = &fm->kernel;
    struct needs r[KERNEL_MAX_TERMS];
    size_t mf[KERNEL_MAX_TERMS] = { 0 };
    enum status rc = map_plan(fm, r, mf, err);

    for (size_t i = 0; rc == ST_OK && i < fm->nterms; i++) {
        if (r[i].finite)
            continue;
        rc = term_alloc(&fm->term[i], mf[i], &r[i], err);
        if (rc == ST_OK)
            term_draw(&fm->term[i], k, product_at(k, i), fm->seed);
        if (rc == ST_OK && fm->term[i].steps[0].op == FM_TENSOR)
            rc = tensor_draw(&fm->term[i], err);
    }
    if (rc == ST_OK)
        place_columns(fm);
    return rc;
}

struct featmap *featmap_new(const struct kernel *k, size_t d, size_t M, uint64_t seed,
                            struct err *err)
{
    if (k->nterms == 0 || d == 0) {
        err_set(err, ST_RANGE, "a feature map needs a kernel and inputs");
        return NULL;
    }
    if (kernel_draws_none(k)) {
        const struct layer_ops *layer = kernel_drawn_none(k);
        err_named(err, ST_UNSUPPORTED, "no-features",
                  layer ? "%s has no random features: models with it are exact"
                        : "a product of two sequences has no random features: models with it are "
                          "exact",
                  layer ? layer->name : "");
        err_hint(err, "fit model=exact, without features=");
        return NULL;
    }
    for (size_t i = 0; i < k->nterms; i++)
        if (k->term[i].ard != 0 &&
            (k->term[i].grouped ? k->ngrouped : k->term[i].ard) !=
                (k->term[i].grouped && k->term[i].count ? d : kernel_inputs(k, i, d))) {
            err_set(err, ST_SHAPE,
                    "a kernel with a lengthscale for each input is drawn for as many "
                    "inputs as it has, not %zu",
                    d);
            return NULL;
        }
    struct featmap *fm = map_alloc(k, d, M, err);
    if (!fm)
        return NULL;
    fm->seed = seed;
    if (map_fill(fm, err) != ST_OK) {
        featmap_free(fm);
        return NULL;
    }
    return fm;
}

struct featmap *featmap_given_for_tests(const struct kernel *k, size_t d, size_t D, size_t mf,
                                        const int8_t *signs, const double *chi, struct err *err)
{
    struct needs r;

    if (!kernel_is_radial(k) || kernel_reads_windows(k) || D < d || D < 2 ||
        D != pow2_at_least(D) || mf == 0) {
        err_set(err, ST_SHAPE, "a given feature map needs one stationary kernel and a power of two "
                "D >= d=%zu", d);
        return NULL;
    }
    struct featmap *fm = map_alloc(k, d, 2 * mf, err);
    if (!fm)
        return NULL;
    struct fm_term *t = &fm->term[0];
    if (term_plan(t, &fm->kernel, 0, d, D, &r, err) != ST_OK ||
        term_alloc(t, mf, &r, err) != ST_OK) {
        featmap_free(fm);
        return NULL;
    }
    for (size_t i = 0; i < 3 * t->nb * D; i++)
        t->signs[i] = signs[i];
    for (size_t j = 0; j < mf; j++)
        t->scale[j] = chi[j] * fht_norm(D);
    return fm;
}

void featmap_free(struct featmap *fm)
{
    if (!fm)
        return;
    for (size_t i = 0; i < fm->nterms; i++) {
        free((void *)fm->term[i].steps);
        free(fm->term[i].signs);
        free(fm->term[i].scale);
        free(fm->term[i].perm);
        free(fm->term[i].filter);
        tensor_free(fm->term[i].tensor);
    }
    free(fm->term);
    free(fm);
}
