/* compute/kernels/layers/wd.c -- wd(n=6): the weighted degree kernel of aligned sequences, which
 * counts equal words of 1 to n letters at the same place in both; a word of k letters weighs
 * 2 (n - k + 1)/(n (n + 1)) (share/doc/methods.md 4.8; Raetsch & Sonnenburg 2004).  A word with a
 * letter outside the alphabet is no word.  It has no hyperparameters.
 *
 * Equal words come in runs: r equal letters in a row hold r - k + 1 words of k letters. */
#include "compute/kernels/kernel.h"
#include "compute/kernels/layers/layer.h"

#include <math.h>

/* The weight of all words inside a run of r equal letters, for words of at most n letters. */
static double run_weight(double r, double n)
{
    const double m = r < n ? r : n;
    /* sum over k = 1..m of (n + 1 - k)(r + 1 - k) */
    const double sum = m * (n + 1.0) * (r + 1.0) - (n + r + 2.0) * m * (m + 1.0) / 2.0 +
                       m * (m + 1.0) * (2.0 * m + 1.0) / 6.0;

    return 2.0 * sum / (n * (n + 1.0));
}

static double sum_of_runs(const struct layer *l, const double *x, const double *y)
{
    const size_t length = (size_t)(x[0] < y[0] ? x[0] : y[0]);
    double sum = 0.0;
    size_t run = 0;

    for (size_t i = 0; i < length; i++) {
        if (x[1 + i] == y[1 + i] && x[1 + i] < (double)l->channels) {
            run++;
            continue;
        }
        sum += run > 0 ? run_weight((double)run, (double)l->width) : 0.0;
        run = 0;
    }
    return sum + (run > 0 ? run_weight((double)run, (double)l->width) : 0.0);
}

static double wd_exact(const struct kterm *t, const double *hp, const double *x, const double *y,
                       double *grad)
{
    (void)hp, (void)grad;
    return sum_of_runs(&t->layer, x, y);
}

/* Words as features: a word at a place is one of its own. */

static double kinds_at_a_place(const struct layer *l)
{
    double n = 0.0;

    for (size_t k = 1; k <= l->width; k++)
        n += pow((double)l->channels, (double)k);
    return n;
}

static double wd_kinds(const struct layer *l)
{
    return (double)l->positions * kinds_at_a_place(l);
}

/* A permutation of 64 bits without order: of murmur3. */
static uint64_t mixed(uint64_t h)
{
    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 33;
}

/* Numbered, a place past the longest training row has none.  Otherwise the bits are those of a hash
 * of the letters up to there, so that long words need no large numbers. */
static void wd_each(const struct layer *l, const double *x, bool numbered, layer_word_fn *take,
                    void *ctx)
{
    const size_t length = (size_t)x[0];
    const double n = (double)l->width;
    const uint64_t per = numbered ? (uint64_t)kinds_at_a_place(l) : 0;

    for (size_t i = 0; i < length && (!numbered || i < l->positions); i++) {
        uint64_t word = 0, bits = mixed(i + 1), kinds = l->channels, first = i * per;
        for (size_t k = 1; k <= l->width && i + k <= length; k++) {
            if (x[i + k] >= (double)l->channels)
                break;
            word = word * l->channels + (uint64_t)x[i + k];
            bits = mixed(bits + (uint64_t)x[i + k] + 1);
            take(ctx, numbered ? first + word : bits,
                 sqrt(2.0 * (n - (double)k + 1.0) / (n * (n + 1.0))));
            first += kinds;
            kinds *= l->channels;
        }
    }
}

static double wd_length(const struct layer *l, const double *x)
{
    (void)l, (void)x;
    return 1.0;
}

static const struct layer_word_ops word_ops = { wd_kinds, wd_each, wd_length };

static const struct layer_setting settings[] = {
    { .name = "n", .offset = offsetof(struct layer, width), .most = KERNEL_WIDTH_MOST },
    { 0 },
};

#define TITLE "Weighted degree"
#define FORMULA "sum over places and k = 1..n of 2(n-k+1)/(n(n+1)) [words of k letters are equal]"
#define CITE "Raetsch & Sonnenburg 2004"

/* What stands inside is never evaluated: the layer compares whole sequences. */
static double places_pair(const double *params, const double *hp, size_t nl, size_t d,
                          const double *x, const double *y, double *grad)
{
    (void)params, (void)hp, (void)nl, (void)d, (void)x, (void)y, (void)grad;
    return 1.0;
}

static const struct hparam none[] = { { 0 } };

static const struct kernel_ops places = {
    .name = "places",
    .title = TITLE,
    .formula = FORMULA,
    .cite = CITE,
    .hparams = none,
    .recipe = layer_words_recipe,
    .pair = places_pair,
};

const struct layer_ops layer_wd = {
    .name = "wd",
    .title = TITLE,
    .formula = FORMULA,
    .cite = CITE,
    .example = "wd(n=6)",
    .help = "wd(n=6)   compares aligned sequences: equal words of 1 to 6 letters at the same "
            "place, short\n"
            "           ones weighing more. It has no hyperparameters. Features are words, or "
            "hashes of words\n",
    .kind = LAYER_WINDOWS,
    .rows = ROWS_SYMBOLS,
    .family = &layer_conv,
    .start = { .width = 6 },
    .settings = settings,
    .hint = "kernel wd(n=6)",
    .inside = &places,
    .exact = wd_exact,
    .words = &word_ops,
};
