/* app/runs/words/word_list.c -- see word_list.h.
 *
 * The function of such a kernel is linear in the counts of words: f(x) = sum of count times weight.
 * So the weight of a word is f at a row that is this word alone, with its mean and variance, for
 * every kind of model (14.7).  Where words have places, the letters before it are unknown ones. */
#include "app/runs/words/word_list.h"

#include "app/runs/fitting.h"
#include "app/runs/scoring/scoring.h"
#include "base/mem.h"
#include "compute/models/exact.h"
#include "data/kinds/kind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1024 };

static const struct layer *layer_of(const struct word_list *l)
{
    return &l->m.model->kernel.term[0].layer;
}

void word_list_free(struct word_list *l)
{
    movable_free(&l->m);
    encode_free(&l->e);
    free(l->x);
    free(l->upper);
    free(l->at);
    free(l->word);
    *l = (struct word_list){ 0 };
}

enum status word_list_take(struct word_list *l, const struct run *r, const char *target,
                           struct err *err)
{
    *l = (struct word_list){ 0 };
    enum status rc = movable_take(&l->m, r, target, false, err);
    if (rc != ST_OK)
        return rc;
    const struct layer_ops *ops = layer_of(l)->ops;
    if (l->m.model->kernel.nterms > 1 || !ops || !ops->counted || !word_list_alphabet(l)) {
        err_named(err, ST_UNSUPPORTED, "words",
                  "the kernel of %s does not count words alone, so that words have no weights",
                  r->id);
        err_hint(err, "kernel spectrum(n=3), then fit  |  kernel wd(n=6)  |  explain-row row:1");
        return ST_UNSUPPORTED;
    }
    l->placed = ops->counted == COUNTED_PLACES;
    l->strands = layer_of(l)->strands != 0;
    l->deviations = r->fit.variance != VAR_NONE;
    return ST_OK;
}

size_t word_list_shortest(const struct word_list *l)
{
    const struct layer *of = layer_of(l);

    if (of->ops->counted == COUNTED_PAIRS)
        return 2 * of->width;
    return l->placed ? 1 : of->shortest && of->shortest < of->width ? of->shortest : of->width;
}

const char *word_list_alphabet(const struct word_list *l)
{
    const struct enc_held *held = encoding_part(&l->m.enc, layer_of(l)->part);

    return held && held->kind->alphabet ? held->kind->alphabet(held->state) : NULL;
}

size_t word_list_letter(const struct word_at *w, size_t j)
{
    if (w->gap > 0 && j >= w->half && j < w->half + w->gap)
        return SIZE_MAX;
    return (size_t)(w->back ? w->last - w->at[w->letters - 1 - j] : w->at[j]);
}

void word_list_text(const struct word_list *l, const struct word_at *w, struct buf *out)
{
    const char *letters = word_list_alphabet(l);

    for (size_t j = 0; j < w->letters; j++) {
        const size_t at = word_list_letter(w, j);
        buf_putc(out, at == SIZE_MAX ? '.' : letters[at]);
    }
}

void word_list_unit(const struct word_list *l, struct buf *out)
{
    const struct encoding one = encoding_for(&l->m.enc, l->m.target);

    if (one.nclasses)
        buf_puts(out, "latent units");
    else
        buf_printf(out, "%s%.40s", one.yscale == Y_LOG ? "log of " : "", one.target);
}

/* Finding. */

static int by_letters(const struct word_at *a, const struct word_at *b)
{
    if (a->letters != b->letters)
        return a->letters < b->letters ? -1 : 1;
    for (size_t j = 0; j < a->letters; j++) {
        const size_t p = word_list_letter(a, j), q = word_list_letter(b, j);
        if (p != q)
            return p < q ? -1 : 1;
    }
    return 0;
}

/* Where words have no places, those anywhere in a row are equal. */
static int by_word(const struct word_at *a, const struct word_at *b, bool placed)
{
    if (placed && a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return by_letters(a, b);
}

static int by_word_and_row(const struct word_at *a, const struct word_at *b, bool placed)
{
    const int order = by_word(a, b, placed);

    if (order != 0)
        return order;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static int anywhere(const void *a, const void *b)
{
    return by_word_and_row(a, b, false);
}

static int at_places(const void *a, const void *b)
{
    return by_word_and_row(a, b, true);
}

/* Of a word and its reverse complement the lesser one stands for both. */
static void turn(struct word_at *w)
{
    struct word_at other = *w;

    other.back = true;
    if (by_letters(&other, w) < 0)
        w->back = true;
}

/* Pairs of words with all gaps between them, as words with letters between that may be any. */
static size_t pairs_of(const struct layer *of, const double *part, size_t row, struct word_at *out)
{
    const size_t length = (size_t)part[0], half = of->width;
    const double known = (double)(of->channels - of->others);
    size_t n = 0;

    for (size_t i = 0; i < length; i++)
        for (size_t gap = 0; gap <= of->gap && i + gap + 2 * half <= length; gap++) {
            const double *first = part + 1 + i, *second = first + half + gap;
            size_t k = 0;
            while (k < half && first[k] < known && second[k] < known)
                k++;
            if (k < half)
                continue;
            if (out) {
                out[n] = (struct word_at){ .at = first, .letters = 2 * half + gap, .place = i,
                                           .row = row, .last = known - 1.0, .half = half,
                                           .gap = gap };
                if (of->strands)
                    turn(&out[n]);
            }
            n++;
        }
    return n;
}

/* Counts (out NULL) or writes the words of a row; to 0: the pairs that the kernel counts. */
static size_t words_of(const struct word_list *l, size_t row, size_t from, size_t to,
                       struct word_at *out)
{
    const struct layer *of = layer_of(l);
    const double *x = l->x + row * l->e.base.d, *part = x + layer_first(of, x);
    const size_t length = (size_t)part[0];
    const double known = (double)(of->channels - of->others);
    size_t n = 0;

    if (to == 0)
        return pairs_of(of, part, row, out);
    for (size_t i = 0; i < length; i++)
        for (size_t k = 1; k <= to && i + k <= length && part[i + k] < known; k++) {
            if (k < from)
                continue;
            if (out) {
                out[n] = (struct word_at){ .at = part + 1 + i, .letters = k, .place = i,
                                           .row = row, .last = known - 1.0 };
                if (of->strands)
                    turn(&out[n]);
            }
            n++;
        }
    return n;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The halves of the target. */
static enum status halve(struct word_list *l, struct err *err)
{
    const size_t n = l->e.n;
    const double *y = l->e.yraw ? l->e.yraw + l->m.target * n : NULL;
    double *sorted = mem_calloc(n + 1, sizeof *sorted, "the targets", err), middle = 0.5;

    l->upper = sorted ? mem_calloc(n + 1, sizeof *l->upper, "the targets", err) : NULL;
    if (l->upper && y && !l->m.enc.nclasses) {
        memcpy(sorted, y, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_value);
        middle = n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
    }
    for (size_t i = 0; l->upper && y && i < n; i++) {
        l->upper[i] = y[i] > middle;
        l->rows_upper += l->upper[i];
    }
    free(sorted);
    return l->upper ? ST_OK : ST_NOMEM;
}

static enum status gather(struct word_list *l, struct err *err)
{
    l->word = mem_calloc(l->nat + 1, sizeof *l->word, "words", err);
    if (!l->word)
        return ST_NOMEM;
    for (size_t i = 0; i < l->nat; i++) {
        const bool again = i && by_word(&l->at[i - 1], &l->at[i], l->placed) == 0;
        if (!again)
            l->word[l->n++] = (struct word){ .first = i, .weight = NAN, .sd = NAN };
        struct word *w = &l->word[l->n - 1];
        w->places++;
        if (!again || l->at[i - 1].row != l->at[i].row) {
            w->rows++;
            w->upper += l->upper[l->at[i].row];
        }
    }
    return ST_OK;
}

enum status word_list_find(struct word_list *l, size_t from, size_t to, struct err *err)
{
    const struct layer *of = layer_of(l);
    enum status rc = fitting_rows(l->m.data, PART_TRAIN, false, &l->m.enc, &l->e, NULL, err);

    if (rc == ST_OK && l->e.base.d != l->m.model->d)
        rc = err_set(err, ST_SHAPE, "the data has %zu inputs, the model %zu", l->e.base.d,
                     l->m.model->d);
    if (rc == ST_OK)
        rc = halve(l, err);
    l->x = rc == ST_OK ? exact_inputs(&l->e.base, err) : NULL;
    if (!l->x)
        return rc != ST_OK ? rc : err_status(err);
    if (to == 0 && of->ops->counted != COUNTED_PAIRS) { /* with places, long ones hold short ones */
        to = of->width;
        from = of->shortest && of->shortest < to ? of->shortest : to;
    }
    for (size_t i = 0; i < l->e.n; i++)
        l->nat += words_of(l, i, from, to, NULL);
    l->at = mem_calloc(l->nat + 1, sizeof *l->at, "words", err);
    if (!l->at)
        return ST_NOMEM;
    for (size_t i = 0, k = 0; i < l->e.n; i++)
        k += words_of(l, i, from, to, l->at + k);
    qsort(l->at, l->nat, sizeof *l->at, l->placed ? at_places : anywhere);
    rc = gather(l, err);
    if (rc == ST_OK && l->n == 0) {
        rc = err_named(err, ST_STATE, "words", "no training row has a word of %zu letters",
                       from ? from : word_list_shortest(l));
        err_hint(err, "kernel spectrum(n=2), then fit  |  motif width=4");
    }
    return rc;
}

/* Weighing. */

/* A row that holds the word and nothing else. */
static void write_row(const struct word_list *l, const struct word_at *w, double *x)
{
    const struct layer *of = layer_of(l);
    const size_t before = l->placed ? w->place : 0;

    memcpy(x, l->x, l->e.base.d * sizeof *x);
    double *part = x + layer_first(of, x);
    part[0] = (double)(before + w->letters);
    for (size_t j = 0; j < before; j++)
        part[1 + j] = (double)of->channels;
    for (size_t j = 0; j < w->letters; j++) {
        const size_t at = word_list_letter(w, j);
        part[1 + before + j] = (double)(at == SIZE_MAX ? of->channels : at);
    }
}

/* The weights of words k0 to k1 - 1 of `which`, by rows of BLOCK words. */
static enum status weigh_block(struct word_list *l, const size_t *which, size_t k0, size_t k1,
                               double *x, bool sd, const struct tools *on, struct err *err)
{
    const struct encoding one = encoding_for(&l->m.enc, l->m.target);
    const size_t n = k1 - k0, d = l->e.base.d, t = l->m.model->t;
    const double unit = one.nclasses ? 1.0 : one.ysd;
    const struct model_ops *kind = l->m.model->kind;
    const double constant = kind->constant ? kind->constant(l->m.model) : 0.0;
    double *mean = x + BLOCK * d, *var = sd ? mean + BLOCK * t : NULL;
    struct source_array rows;

    for (size_t k = 0; k < n; k++) {
        const size_t i = which ? which[k0 + k] : k0 + k;
        write_row(l, &l->at[l->word[i].first], x + k * d);
    }
    source_array_init(&rows, x, n, d, d);
    rows.base.layout = l->e.base.layout;
    const enum status rc = model_predict(l->m.model, &rows.base, mean, var, on, err);
    for (size_t k = 0; rc == ST_OK && k < n; k++) {
        struct word *w = &l->word[which ? which[k0 + k] : k0 + k];
        w->weight = unit * (mean[l->m.target * n + k] - constant);
        if (var)
            w->sd = unit * sqrt(fmax(var[l->m.target * n + k], 0.0));
    }
    return rc;
}

enum status word_list_weigh(struct word_list *l, const size_t *which, size_t n, bool sd,
                            struct job *job, struct err *err)
{
    const struct tools on = { job->backend, job->pool, &job->ctl };
    enum status rc = ST_OK;

    sd = sd && l->deviations;
    if (sd)
        rc = scoring_factor(l->m.model, l->m.data, &l->m.enc, job, err);
    double *x = mem_calloc(BLOCK, (l->e.base.d + 2 * l->m.model->t) * sizeof *x, "words", err);
    if (rc == ST_OK && !x)
        rc = ST_NOMEM;
    for (size_t k = 0; rc == ST_OK && k < n; k += BLOCK) {
        if (ctl_stopped(&job->ctl))
            rc = err_set(err, ST_CANCELLED, "stopped");
        else
            rc = weigh_block(l, which, k, k + BLOCK < n ? k + BLOCK : n, x, sd, &on, err);
    }
    free(x);
    return rc;
}
