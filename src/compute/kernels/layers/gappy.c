/* compute/kernels/layers/gappy.c -- gappy(n=2,gap=2): pairs of words of n letters with 0 to `gap`
 * letters between them, which may be any letters.  Two pairs are equal when both words and the
 * number of letters between them are (share/doc/methods.md 4.13; Kuksa, Huang & Pavlovic 2008).  A
 * word with a letter outside the alphabet is no word.  It has no hyperparameters. */
#include "compute/kernels/layers/wordlist.h"

#include <math.h>

/* The longest words of which 64 bits hold pairs and the letters between. */
static size_t gappy_widest(const struct layer *l)
{
    const uint64_t c = wordlist_letters(l) < 2 ? 2 : wordlist_letters(l);
    const uint64_t most = (UINT64_C(1) << 63) / (l->gap + 1);
    size_t letters = 0;

    for (uint64_t v = 1; v <= most / c; v *= c)
        letters++;
    return letters >= 2 ? letters / 2 : 1;
}

static double gappy_kinds(const struct layer *l)
{
    return (double)(l->gap + 1) * wordlist_kinds(l, 2 * l->width);
}

/* The word of n letters at x; false: one of them is outside the alphabet. */
static bool word_at(const struct layer *l, const double *x, uint64_t *word)
{
    *word = 0;
    for (size_t i = 0; i < l->width; i++) {
        if (x[i] >= (double)wordlist_letters(l))
            return false;
        *word = *word * wordlist_letters(l) + (uint64_t)x[i];
    }
    return true;
}

/* The reverse complement of a pair is that of its letters without those between. */
static void gappy_each(const struct layer *l, const double *x, bool numbered, layer_word_fn *take,
                       void *ctx)
{
    const size_t n = l->width, length = (size_t)x[0];
    const uint64_t one = (uint64_t)pow((double)wordlist_letters(l), (double)n);
    const uint64_t per = numbered ? (uint64_t)wordlist_kinds(l, 2 * n) : one * one;
    uint64_t first, last;

    for (size_t i = 0; i + 2 * n <= length; i++) {
        const bool known = word_at(l, x + 1 + i, &first);
        for (size_t g = 0; known && g <= l->gap && i + g + 2 * n <= length; g++) {
            if (!word_at(l, x + 1 + i + n + g, &last))
                continue;
            const uint64_t pair = wordlist_strand(l, first * one + last, 2 * n);
            take(ctx, g * per + (numbered ? wordlist_number(l, pair, 2 * n) : pair), 1.0);
        }
    }
}

static size_t gappy_least(const struct layer *l)
{
    return 2 * l->width;
}

static const struct layer_word_ops word_ops = { gappy_kinds, gappy_each, wordlist_length,
                                               gappy_least };

static const struct layer_setting settings[] = {
    { .name = "n", .offset = offsetof(struct layer, width), .most = KERNEL_WIDTH_MOST },
    { .name = "gap", .offset = offsetof(struct layer, gap), .most = KERNEL_WIDTH_MOST,
      .zero = true },
    WORDLIST_NORM,
    WORDLIST_STRANDS,
    { 0 },
};

#define TITLE "Pairs of words with a gap"
#define FORMULA "sum over pairs of words with 0 to gap letters between: how often in the one * " \
                "how often in the other"
#define CITE "Kuksa, Huang & Pavlovic 2008"

static const struct kernel_ops pairs = {
    .name = "pairs",
    .title = TITLE,
    .formula = FORMULA,
    .cite = CITE,
    .hparams = wordlist_hparams,
    .recipe = layer_words_recipe,
    .pair = wordlist_pair,
};

const struct layer_ops layer_gappy = {
    .name = "gappy",
    .title = TITLE,
    .formula = FORMULA ", norm=none|cosine, strands=one|both",
    .cite = CITE,
    .example = "gappy(n=2,gap=2)",
    .help = "gappy(n=2,gap=2)   counts pairs of words of n letters with 0 to gap letters between "
            "them, whatever\n"
            "           these are; with another number of letters between it is another pair\n",
    .kind = LAYER_WINDOWS,
    .counted = COUNTED_PAIRS,
    .rows = ROWS_SYMBOLS,
    .family = &layer_conv,
    .start = { .width = 2, .gap = 2 },
    .settings = settings,
    .hint = "kernel gappy(n=2,gap=2)  |  gappy(n=3,gap=4,norm=cosine)",
    .inside = &pairs,
    .widest = gappy_widest,
    .exact = wordlist_exact,
    .tile = &wordlist_tile,
    .words = &word_ops,
};
