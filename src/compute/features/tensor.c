/* compute/features/tensor.c -- features of tanimotodp (tensor.h; share/doc/methods.md 4.14 to
 * 4.17).
 *
 * A count sketch of a row has as many numbers that are not zero as the row has places, so that a
 * circular convolution with it is that many additions of shifted vectors: of any length, and faster
 * than Fourier transforms for rows of some hundred places.  Each term begins with the count sketch
 * of its prefactor, which rows of the same norm share. */
#include "compute/features/tensor.h"

#include "base/mem.h"
#include "compute/features/circular.h"
#include "compute/gamma.h"
#include "compute/kernels/layers/places.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Norms. */

/* The least ratio of squares of norms for which the prefactor is made: below it, it would need too
 * many points. */
static const double zeta_least = 1e-4;
/* Norms are kept within these, so that their squares are doubles. */
static const double norm_least = 1e-150, norm_most = 1e150;

static double raised(double v, double power)
{
    return power == 0.5 ? sqrt(v) : power == 1.0 ? v : pow(v, power);
}

/* The norm of a row of counts to a power is that of its entries divided by the greatest one, which
 * is *most to the power, times that one. */
static double norm_of(double power, const double *x, double *most, double *relative)
{
    double sum = 0.0;

    *most = 0.0;
    for (size_t i = 0; i < places_count(x); i++)
        *most = fmax(*most, places_value(x, i));
    for (size_t i = 0; i < places_count(x); i++)
        sum += raised(places_value(x, i) / *most, 2.0 * power);
    *relative = sqrt(sum);
    return *relative * raised(*most, power);
}

static double bounded_norm(const struct kterm *t, const double *x)
{
    double most, relative;
    const double norm = norm_of(t->params[0], x, &most, &relative);

    return norm < norm_most ? fmax(norm, norm_least) : norm_most;
}

/* Calls one(ctx, the counts that kernel t reads) for each row of a source. */
static enum status each_row(const struct kterm *t, const struct source *s,
                            void (*one)(void *ctx, const struct kterm *, const double *x),
                            void *ctx, struct err *err)
{
    enum { ROWS = 64 };
    double *x = mem_calloc(s->d, ROWS * sizeof *x, "rows of counts", err);
    enum status rc = x != NULL ? ST_OK : ST_NOMEM;

    for (size_t r = 0; rc == ST_OK && r < s->n; r += ROWS) {
        const size_t end = r + ROWS < s->n ? r + ROWS : s->n;
        rc = s->rows(s, r, end, x, err);
        for (size_t i = r; rc == ST_OK && i < end; i++)
            one(ctx, t, x + (i - r) * s->d + layer_first(&t->layer, x + (i - r) * s->d));
    }
    free(x);
    return rc;
}

struct norms { double least, most; };

static void see_norm(void *ctx, const struct kterm *t, const double *x)
{
    struct norms *n = ctx;

    if (places_count(x) == 0)
        return;
    const double norm = bounded_norm(t, x);
    n->least = fmin(n->least, norm);
    n->most = fmax(n->most, norm);
}

enum status tensor_norms(struct kernel *k, const struct source *s, struct err *err)
{
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < k->nterms; i++) {
        struct layer *l = &k->term[i].layer;
        struct norms n = { INFINITY, 0.0 };
        if (l->ops == NULL || l->terms == 0 || l->largest > 0.0)
            continue;
        rc = each_row(&k->term[i], s, see_norm, &n, err);
        if (rc != ST_OK)
            return rc;
        l->largest = n.most > 0.0 ? n.most : 1.0;
        l->zeta = n.most > 0.0 ? (n.least / n.most) * (n.least / n.most) : 1.0;
        l->zeta = fmax(l->zeta, zeta_least);
    }
    return rc;
}

static void see_longer(void *ctx, const struct kterm *t, const double *x)
{
    size_t *longer = ctx;

    *longer += places_count(x) > 0 && bounded_norm(t, x) > t->layer.largest * (1.0 + 1e-12);
}

enum status tensor_longer(const struct kernel *k, const struct source *s, size_t *rows,
                          struct err *err)
{
    enum status rc = ST_OK;

    *rows = 0;
    for (size_t i = 0; rc == ST_OK && i < k->nterms; i++) {
        size_t longer = 0;
        if (k->term[i].layer.ops == NULL || k->term[i].layer.terms == 0)
            continue;
        rc = each_row(&k->term[i], s, see_longer, &longer, err);
        *rows = longer > *rows ? longer : *rows;
    }
    return rc;
}

/* Shares. */

size_t tensor_least(const struct layer *l)
{
    return 1 + l->terms;
}

/* floor(share (mf - 1)), at least 1; the first term has what is left. */
static size_t share_of(const struct layer *l, size_t mf, size_t r)
{
    size_t share[TENSOR_TERMS_MOST + 1], used = 0;
    double all = 0.0;

    for (size_t i = 1; i <= l->terms; i++)
        all += pow((double)i, l->shares);
    for (size_t i = 2; i <= l->terms; i++) {
        share[i] = (size_t)(pow((double)i, l->shares) / all * (double)(mf - 1));
        share[i] = share[i] > 0 ? share[i] : 1;
        used += share[i];
    }
    for (size_t i = l->terms; used >= mf - 1; i = i > 2 ? i - 1 : l->terms) { /* a few columns */
        used -= share[i] > 1;
        share[i] -= share[i] > 1;
    }
    share[1] = mf - 1 - used;
    return share[r];
}

size_t tensor_share_for_tests(const struct layer *l, size_t mf, size_t r)
{
    return share_of(l, mf, r);
}

/* The prefactor. */

/* Features of (a + b)^-r for squared norms a, b from zeta to 1: exp(lead - a at), a for each point
 * of a rule with equal steps in the quantiles of a gamma distribution. */
struct point { double lead, at; };

static struct point point_of(size_t r, double zeta, double u, size_t n)
{
    const double s = (double)r * zeta, c = 2.0 * zeta * zeta;
    const double lng = gamma_log_quantile(s, u) - log(c), g = exp(lng);

    return (struct point){ 0.5 * (lgamma(s) - s * log(c) - lgamma((double)r)) + 0.5 * c * g +
                               0.5 * ((double)r - s) * lng - 0.5 * log((double)n), g };
}

/* u + i / n, i from 1, less its whole part, and never 0. */
static double step_at(double u, size_t i, size_t n)
{
    const double at = fmod(u + (double)i / (double)n, 1.0);

    return fmin(fmax(at, 1e-12), 1.0 - 1e-12);
}

void tensor_prefactor_for_tests(size_t r, double zeta, double u, size_t n, double a, double *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct point p = point_of(r, zeta, step_at(u, i + 1, n), n);
        out[i] = exp(p.lead - a * p.at);
    }
}

/* How many points: with these the relative error of (a + b)^-r is below 3e-5 for zeta from 0.001 to
 * 1, and points of any weight are some hundreds. */
static size_t points_for(double zeta)
{
    const double n = 5.0 / zeta;

    return n < 256.0 ? 256 : (size_t)n;
}

/* Drawing. */

/* A term: its columns and points; of each point the column and the sign.  pair: the index of its
 * first copy of a row among those of all terms. */
struct series {
    size_t r, col, m, npoints, pair;
    struct point *point;
    uint32_t *at;
    double *sign;
};

/* word: for the residual, the random words of its inputs, 1 and the columns of the other terms. */
struct tensor {
    size_t mf, nterms, most; /* most: columns of the largest term */
    double power, largest;
    enum layer_bias bias;
    uint64_t seed, stream;
    struct series term[TENSOR_TERMS_MOST];
    size_t nword;
    uint32_t *word;
    struct circular *circular;
};

/* Random words: blocks of four of them for each (block, index); those of places come first. */
enum { WORDS_POINTS = 256, WORDS_START = 512, WORDS_RESIDUAL = 768 };
enum { PAIRS_MOST = TENSOR_TERMS_MOST * (TENSOR_TERMS_MOST + 1) / 2 };

static void words_of(const struct tensor *t, size_t block, uint32_t index, uint32_t w[4])
{
    rng_u32x4(t->seed, t->stream, (uint64_t)block << 32 | index, w);
}

/* A word as a column below m and a sign. */
static uint32_t word_column(uint32_t w, size_t m)
{
    return (uint32_t)((uint64_t)(w >> 1) * m >> 31);
}
static double word_sign(uint32_t w)
{
    return w & 1 ? -1.0 : 1.0;
}

void tensor_free(struct tensor *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->nterms; i++) {
        free(t->term[i].point);
        free(t->term[i].at);
        free(t->term[i].sign);
    }
    free(t->word);
    circular_free(t->circular);
    free(t);
}

/* Keeps the points that matter. */
static enum status draw_term(struct tensor *t, struct series *s, double zeta, struct err *err)
{
    enum { NOTHING = -42 }; /* e^-84 beside the sum of squares of features, which is about 1 */
    const size_t n = points_for(zeta);
    const double u = rng_uniform(t->seed, t->stream, (uint64_t)WORDS_START << 32 | s->r);
    uint32_t w[4];

    s->point = mem_calloc(n, sizeof *s->point, "points", err);
    s->at = mem_calloc(n, sizeof *s->at, "points", err);
    s->sign = mem_calloc(n, sizeof *s->sign, "points", err);
    if (s->point == NULL || s->at == NULL || s->sign == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct point p = point_of(s->r, zeta, step_at(u, i + 1, n), n);
        if (!(p.lead > NOTHING))
            continue;
        words_of(t, WORDS_POINTS + s->r, (uint32_t)i, w);
        s->point[s->npoints] = p;
        s->at[s->npoints] = word_column(w[0], s->m);
        s->sign[s->npoints++] = word_sign(w[0]);
    }
    return ST_OK;
}

static enum status draw_residual(struct tensor *t, struct err *err)
{
    const struct series *last = &t->term[t->nterms - 1];
    uint32_t w[4];

    t->nword = t->mf - last->m; /* 1 takes the place of the column of rows without counts */
    t->word = mem_calloc(t->nword, sizeof *t->word, "columns", err);
    t->circular = circular_new(last->m, err);
    if (t->word == NULL || t->circular == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < t->nword; i++) {
        words_of(t, WORDS_RESIDUAL, (uint32_t)i, w);
        t->word[i] = w[0];
    }
    return ST_OK;
}

struct tensor *tensor_new(const struct layer *l, double power, size_t mf, uint64_t seed,
                          uint64_t stream, struct err *err)
{
    struct tensor *t = NULL;
    enum status rc = ST_OK;

    if (!(l->largest > 0.0)) {
        err_set(err, ST_STATE, "the norms of the training rows are not known");
        return NULL;
    }
    t = mem_calloc(1, sizeof *t, "features of counts", err);
    if (t == NULL)
        return NULL;
    *t = (struct tensor){ .mf = mf, .power = power, .largest = l->largest, .bias = l->bias,
                          .seed = seed, .stream = stream };
    for (size_t r = 1, col = 1, pair = 0; rc == ST_OK && r <= l->terms; r++) {
        struct series *s = &t->term[t->nterms++];
        *s = (struct series){ .r = r, .col = col, .m = share_of(l, mf, r), .pair = pair };
        col += s->m;
        pair += r;
        t->most = s->m > t->most ? s->m : t->most;
        rc = draw_term(t, s, l->zeta, err);
    }
    if (rc == ST_OK && l->bias == BIAS_SKETCH && l->terms > 1)
        rc = draw_residual(t, err);
    if (rc == ST_OK)
        return t;
    tensor_free(t);
    return NULL;
}

double tensor_bytes(const struct layer *l, size_t mf)
{
    const double zeta = l->largest > 0.0 ? l->zeta : 0.01;
    const double point = sizeof(struct point) + sizeof(uint32_t) + sizeof(double);

    return point * (double)l->terms * (double)points_for(zeta) +
           (l->bias == BIAS_SKETCH ? 64.0 * (double)mf : 0.0);
}

/* Rows. */

/* Workspace.  norm, order: of the rows; base: the count sketches of the prefactors of all terms;
 * front, back: vectors twice over; value, at, signed_: the entries of a row, and of its sketch;
 * word: the random words of its places, PAIRS of them; z: its columns; work: of convolutions. */
struct room {
    double *norm, *base, *front, *back, *value, *entry, *z, *work;
    uint32_t *order, *at, *word;
    size_t bytes;
};

static size_t blocks_of(const struct tensor *t)
{
    return (t->nterms * (t->nterms + 1) / 2 + 3) / 4;
}

static struct room room_of(const struct tensor *t, size_t d, char *at)
{
    const size_t places = d / COUNTS_CHANNELS + 1, work = t->word ? circular_work(t->circular) : 0;
    const size_t size[] = { TENSOR_ROWS_MOST, t->mf, 2 * t->most, 2 * t->most, places, places,
                            t->mf, work };
    struct room r = { .bytes = 0 };
    double **const real[] = { &r.norm, &r.base, &r.front, &r.back, &r.value, &r.entry, &r.z,
                              &r.work };

    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        *real[i] = at ? (double *)(void *)(at + r.bytes) : NULL;
        r.bytes += mem_lines(size[i] * sizeof(double));
    }
    const size_t words[] = { TENSOR_ROWS_MOST, places, 4 * blocks_of(t) * places };
    uint32_t **const whole[] = { &r.order, &r.at, &r.word };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        *whole[i] = at ? (uint32_t *)(void *)(at + r.bytes) : NULL;
        r.bytes += mem_lines(words[i] * sizeof(uint32_t));
    }
    return r;
}

size_t tensor_room(const struct tensor *t, size_t d)
{
    return room_of(t, d, NULL).bytes;
}

static void plain_fold(size_t m, size_t n, const uint32_t *at, const double *value,
                       const double *in, double *out)
{
    for (size_t b = 0; b < m; b++) {
        out[b] = 0.0;
        for (size_t i = 0; i < n; i++)
            out[b] += value[i] * in[at[i] + b];
    }
}
static const struct tensor_loops plain = { plain_fold };

/* out (m) <- the convolution of in (m, twice over) with a count sketch: value[i] at column[i]. */
static void fold(const struct tensor_loops *loops, size_t m, size_t n, uint32_t *column,
                 const double *value, const double *in, double *out)
{
    for (size_t i = 0; i < n; i++)
        column[i] = (uint32_t)m - column[i];
    loops->fold(m, n, column, value, in, out);
}

/* The square of the norm of a row as scaled: at most 1. */
static double squared(const struct tensor *t, const double *x)
{
    double most, relative;
    const double norm = places_count(x) ? norm_of(t->power, x, &most, &relative) / t->largest : 0.0;

    return norm < 1.0 ? norm * norm : 1.0;
}

/* The entries of a row as scaled. */
static void entries(const struct tensor *t, const double *x, double *value)
{
    double most, relative;
    const double norm = norm_of(t->power, x, &most, &relative);
    const double by = norm < t->largest ? t->largest / raised(most, t->power) : relative;

    for (size_t i = 0; i < places_count(x); i++)
        value[i] = raised(places_value(x, i) / most, t->power) / by;
}

/* The count sketches of all prefactors at a squared norm. */
static void bases(const struct tensor *t, double norm, double *base)
{
    memset(base, 0, t->mf * sizeof *base);
    for (size_t k = 0; k < t->nterms; k++) {
        const struct series *s = &t->term[k];
        for (size_t i = 0; i < s->npoints; i++)
            base[s->col + s->at[i]] += s->sign[i] * exp(s->point[i].lead - norm * s->point[i].at);
    }
}

/* z <- the columns of a term: its base folded with r count sketches of the row. */
static void term_row(const struct series *s, const struct tensor_loops *loops, size_t places,
                     const struct room *w)
{
    const size_t m = s->m;
    double *out = w->z + s->col;

    memcpy(w->front, w->base + s->col, m * sizeof *w->front);
    for (size_t l = 0; l < s->r; l++) {
        memcpy(w->front + m, w->front, m * sizeof *w->front);
        for (size_t i = 0; i < places; i++) {
            const uint32_t word = w->word[(s->pair + l) * places + i];
            w->at[i] = word_column(word, m);
            w->entry[i] = word_sign(word) * w->value[i];
        }
        fold(loops, m, places, w->at, w->entry, w->front, l + 1 < s->r ? w->back : out);
        if (l + 1 < s->r)
            memcpy(w->front, w->back, m * sizeof *w->front);
    }
}

/* The last term times 1 + all others, in place of it. */
static void residual(const struct tensor *t, const struct room *w)
{
    const struct series *last = &t->term[t->nterms - 1];
    double *z = w->z + last->col;

    memset(w->back, 0, last->m * sizeof *w->back);
    for (size_t i = 0; i < t->nword; i++)
        w->back[word_column(t->word[i], last->m)] +=
            word_sign(t->word[i]) * (i == 0 ? 1.0 : w->z[i]);
    circular_product(t->circular, z, w->back, z, w->work);
}

static void normalize(size_t n, double *z)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += z[i] * z[i];
    for (size_t i = 0; sum > 0.0 && i < n; i++)
        z[i] /= sqrt(sum);
}

static void one_row(const struct tensor *t, const struct tensor_loops *loops, const double *x,
                    const struct room *w)
{
    const size_t n = places_count(x), blocks = blocks_of(t);
    uint32_t words[4];

    memset(w->z, 0, t->mf * sizeof *w->z);
    if (n == 0) {
        w->z[0] = 1.0;
        return;
    }
    entries(t, x, w->value);
    for (size_t i = 0; i < n; i++)
        for (size_t b = 0; b < blocks; b++) {
            words_of(t, b, (uint32_t)places_at(x, i), words);
            for (size_t j = 0; j < 4; j++)
                w->word[(4 * b + j) * n + i] = words[j];
        }
    for (size_t k = 0; k < t->nterms; k++)
        term_row(&t->term[k], loops, n, w);
    if (t->word != NULL)
        residual(t, w);
    if (t->bias == BIAS_NORMALIZE)
        normalize(t->mf, w->z);
}

/* The rows in the order of their norms, by insertion. */
static void sort_rows(const struct tensor *t, size_t n, const double *x, size_t ldx,
                      const struct room *w)
{
    for (size_t r = 0; r < n; r++) {
        size_t i = r;
        w->norm[r] = squared(t, x + r * ldx);
        for (; i > 0 && w->norm[w->order[i - 1]] > w->norm[r]; i--)
            w->order[i] = w->order[i - 1];
        w->order[i] = (uint32_t)r;
    }
}

void tensor_rows(const struct tensor *t, const struct tensor_loops *loops, size_t n,
                 const double *x, size_t ldx, size_t d, const struct tensor_to *to, void *room)
{
    const struct room w = room_of(t, d, room);
    double at = -1.0;

    sort_rows(t, n, x, ldx, &w);
    for (size_t i = 0; i < n; i++) {
        const size_t r = w.order[i];
        if (w.norm[r] != at && places_count(x + r * ldx) > 0)
            bases(t, at = w.norm[r], w.base);
        one_row(t, loops ? loops : &plain, x + r * ldx, &w);
        for (size_t j = 0; j < t->mf; j++)
            if (to->z64 != NULL)
                to->z64[r * to->ld + j] = to->out * w.z[j];
            else
                to->z32[r * to->ld + j] = (float)(to->out * w.z[j]);
    }
}

void tensor_sketch_for_tests(size_t r, size_t m, size_t n, const double *row, const double *hash,
                             const double *sign, double *out)
{
    double *in = calloc(2 * m, sizeof *in), *entry = calloc(n, sizeof *entry);
    uint32_t *at = calloc(n, sizeof *at);

    for (size_t l = 0; in && entry && at && l < r; l++) {
        if (l == 0)
            in[0] = 1.0;
        else
            memcpy(in, out, m * sizeof *in);
        memcpy(in + m, in, m * sizeof *in);
        for (size_t i = 0; i < n; i++) {
            at[i] = (uint32_t)hash[l * n + i];
            entry[i] = sign[l * n + i] * row[i];
        }
        fold(&plain, m, n, at, entry, in, out);
    }
    free(in);
    free(entry);
    free(at);
}
