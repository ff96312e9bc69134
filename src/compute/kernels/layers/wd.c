/* compute/kernels/layers/wd.c -- wd(n=6,shift=0): the weighted degree kernel of aligned sequences,
 * which counts equal words of 1 to n letters at the same place in both, or at most `shift` places
 * off; a word of k letters weighs 2 (n - k + 1)/(n (n + 1)), and d places off 1 - d/(shift + 1)
 * times that (share/doc/methods.md 4.8; Raetsch & Sonnenburg 2004).  A word with a letter outside
 * the alphabet is no word.  It has no hyperparameters.
 *
 * If words off their place had the full weight, the matrix of values could have negative
 * eigenvalues.  With these weights the value is a dot product: shift + 1 places in a row are a
 * stretch, and words are counted in each stretch, by 1/(shift + 1).
 *
 * Equal words come in runs: r equal letters in a row hold r - k + 1 words of k letters. */
#include "compute/kernels/layers/wordlist.h"

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

/* Of the letters of x from place a on and those of y from place b on. */
static double sum_of_runs(const struct layer *l, const double *x, size_t a, const double *y,
                          size_t b)
{
    const size_t m = (size_t)x[0], n = (size_t)y[0];
    double sum = 0.0;
    size_t run = 0;

    for (; a < m && b < n; a++, b++) {
        if (x[1 + a] == y[1 + b] && x[1 + a] < (double)wordlist_letters(l)) {
            run++;
            continue;
        }
        sum += run > 0 ? run_weight((double)run, (double)l->width) : 0.0;
        run = 0;
    }
    return sum + (run > 0 ? run_weight((double)run, (double)l->width) : 0.0);
}

static double sum_of_shifts(const struct layer *l, const double *x, const double *y)
{
    double sum = sum_of_runs(l, x, 0, y, 0);

    for (size_t d = 1; d <= l->shift; d++)
        sum += (1.0 - (double)d / (double)(l->shift + 1)) *
               (sum_of_runs(l, x, d, y, 0) + sum_of_runs(l, x, 0, y, d));
    return sum;
}

static double wd_length(const struct layer *l, const double *x)
{
    const double own = l->cosine ? sum_of_shifts(l, x, x) : 1.0;

    return own > 0.0 ? sqrt(own) : 1.0;
}

static double wd_exact(const struct kterm *t, const double *hp, const double *x, const double *y,
                       double *grad)
{
    const struct layer *l = &t->layer;
    const double sum = sum_of_shifts(l, x, y);

    (void)hp, (void)grad;
    return l->cosine ? sum / (wd_length(l, x) * wd_length(l, y)) : sum;
}

/* Words as features: a word in a stretch is one of its own.  Stretch i + t, t = 0 to shift, holds
 * place i. */

static double kinds_at_a_place(const struct layer *l)
{
    double n = 0.0;

    for (size_t k = 1; k <= l->width; k++)
        n += pow((double)wordlist_letters(l), (double)k);
    return n;
}

static double wd_kinds(const struct layer *l)
{
    return l->positions ? (double)(l->positions + l->shift) * kinds_at_a_place(l) : 0.0;
}

/* A permutation of 64 bits without order: of murmur3. */
static uint64_t mixed(uint64_t h)
{
    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 33;
}

/* The words that begin at place i.  Otherwise than numbered, the bits are those of a hash of the
 * stretch and of the letters up to there, so that long words need no large numbers. */
static void words_at(const struct layer *l, const double *x, size_t i, size_t stretch, uint64_t per,
                     layer_word_fn *take, void *ctx)
{
    const size_t length = (size_t)x[0];
    const double n = (double)l->width, stretches = (double)(l->shift + 1);
    const uint64_t c = wordlist_letters(l);
    uint64_t word = 0, bits = mixed(stretch + 1), kinds = c, first = stretch * per;

    for (size_t k = 1; k <= l->width && i + k <= length && x[i + k] < (double)c; k++) {
        word = word * c + (uint64_t)x[i + k];
        bits = mixed(bits + (uint64_t)x[i + k] + 1);
        take(ctx, per ? first + word : bits,
             sqrt(2.0 * (n - (double)k + 1.0) / (n * (n + 1.0) * stretches)));
        first += kinds;
        kinds *= c;
    }
}

/* Numbered, a place past the longest training row has none. */
static void wd_each(const struct layer *l, const double *x, bool numbered, layer_word_fn *take,
                    void *ctx)
{
    const uint64_t per = numbered ? (uint64_t)kinds_at_a_place(l) : 0;

    for (size_t i = 0; i < (size_t)x[0] && (!numbered || i < l->positions); i++)
        for (size_t t = 0; t <= l->shift; t++)
            words_at(l, x, i, i + t, per, take, ctx);
}

static size_t wd_least(const struct layer *l)
{
    (void)l;
    return 1;
}

static const struct layer_word_ops word_ops = { wd_kinds, wd_each, wd_length, wd_least };

static const struct layer_setting settings[] = {
    { .name = "n", .offset = offsetof(struct layer, width), .most = KERNEL_WIDTH_MOST },
    { .name = "shift", .offset = offsetof(struct layer, shift), .most = KERNEL_WIDTH_MOST,
      .zero = true, .quiet = true },
    WORDLIST_NORM,
    { 0 },
};

#define TITLE "Weighted degree"
#define FORMULA "sum over places and k = 1..n of 2(n-k+1)/(n(n+1)) [words of k letters are equal]"
#define CITE "Raetsch & Sonnenburg 2004"

static const struct kernel_ops places = {
    .name = "places",
    .title = TITLE,
    .formula = FORMULA,
    .cite = CITE,
    .hparams = wordlist_hparams,
    .recipe = layer_words_recipe,
    .pair = wordlist_pair,
};

const struct layer_ops layer_wd = {
    .name = "wd",
    .title = TITLE,
    .formula = FORMULA ", at most shift places off, norm=none|cosine",
    .cite = CITE,
    .example = "wd(n=6)",
    .help = "wd(n=6)   compares aligned sequences: equal words of 1 to 6 letters at the same "
            "place, short\n"
            "           ones weighing more; shift=2 counts those up to 2 places off, too, the "
            "further off the\n"
            "           less. It has no hyperparameters. Features are words, or hashes of words\n",
    .kind = LAYER_WINDOWS,
    .counted = COUNTED_PLACES,
    .rows = ROWS_SYMBOLS,
    .family = &layer_conv,
    .start = { .width = 6 },
    .settings = settings,
    .hint = "kernel wd(n=6)  |  wd(n=6,shift=2)",
    .inside = &places,
    .exact = wd_exact,
    .words = &word_ops,
};
