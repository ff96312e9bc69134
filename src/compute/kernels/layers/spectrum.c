/* compute/kernels/layers/spectrum.c -- spectrum(n=3): the number of pairs of equal words of n
 * letters in two sequences: how often each word occurs in the one, times how often in the other
 * (share/doc/methods.md 4.7; Leslie, Eskin & Noble 2002).  spectrum(n=1..5) adds the words of all
 * lengths from 1 to 5.  With strands=both a word of DNA and its reverse complement count as one.  A
 * word with a letter outside the alphabet is no word.  It has no hyperparameters. */
#include "compute/kernels/layers/wordlist.h"

#include <math.h>

/* Digits need a base of at least 2 for words of different lengths to differ. */
static uint64_t base_of(const struct layer *l)
{
    return wordlist_letters(l) < 2 ? 2 : wordlist_letters(l);
}

static size_t shortest(const struct layer *l)
{
    return l->shortest && l->shortest < l->width ? l->shortest : l->width;
}

/* The longest words that 64 bits hold: a leading 1, then a digit for each letter. */
static size_t spectrum_widest(const struct layer *l)
{
    const uint64_t most = UINT64_C(1) << 63; /* the largest leading digit */
    size_t n = 0;

    for (uint64_t v = 1; v <= most / base_of(l); v *= base_of(l))
        n++;
    return n;
}

/* Writes all words that begin at a position of the sequence; returns how many.  Of a word and its
 * reverse complement, whose letters in the order ACGT have the numbers 3, 2, 1, 0 in place of 0, 1,
 * 2, 3, the lesser number stands for both. */
static size_t words_at(const struct layer *l, const double *letter, size_t left, uint64_t *out)
{
    const size_t longest = left < l->width ? left : l->width;
    const uint64_t letters = wordlist_letters(l);
    uint64_t word = 1; /* so that words of different lengths differ */
    uint64_t back = 0, place = 1; /* the reverse complement, without the leading 1 */
    size_t n = 0;

    for (size_t k = 1; k <= longest && letter[k - 1] < (double)letters; k++) {
        const uint64_t digit = (uint64_t)letter[k - 1];
        word = word * base_of(l) + digit;
        back += (letters - 1 - digit) * place;
        place *= base_of(l);
        if (k >= shortest(l))
            out[n++] = l->strands && place + back < word ? place + back : word;
    }
    return n;
}

static double spectrum_kinds(const struct layer *l)
{
    double n = 0.0;

    for (size_t k = shortest(l); k <= l->width; k++)
        n += wordlist_kinds(l, k);
    return n;
}

/* Numbers begin with the shortest words. */
static void spectrum_each(const struct layer *l, const double *x, bool numbered,
                          layer_word_fn *take, void *ctx)
{
    const size_t length = (size_t)x[0], from = shortest(l), lengths = l->width - from + 1;
    uint64_t word[KERNEL_WIDTH_MOST], lead[KERNEL_WIDTH_MOST], before[KERNEL_WIDTH_MOST];

    for (size_t k = 0; numbered && k < lengths; k++) {
        lead[k] = k ? lead[k - 1] * base_of(l) : (uint64_t)pow((double)base_of(l), (double)from);
        before[k] = k ? before[k - 1] + (uint64_t)wordlist_kinds(l, from + k - 1) : 0;
    }
    for (size_t i = 0; i < length; i++) {
        const size_t n = words_at(l, x + 1 + i, length - i, word);
        for (size_t k = 0; k < n; k++)
            take(ctx, numbered ? before[k] + wordlist_number(l, word[k] - lead[k], from + k)
                               : word[k], 1.0);
    }
}

static const struct layer_word_ops word_ops = { spectrum_kinds, spectrum_each, wordlist_length,
                                               shortest };

static const struct layer_setting settings[] = {
    { .name = "n", .offset = offsetof(struct layer, width), .most = KERNEL_WIDTH_MOST,
      .from = offsetof(struct layer, shortest) },
    WORDLIST_NORM,
    WORDLIST_STRANDS,
    { 0 },
};

#define TITLE "Spectrum of words"
#define FORMULA "sum over words of n letters: how often in the one * how often in the other"
#define CITE "Leslie, Eskin & Noble 2002"

static const struct kernel_ops words = {
    .name = "words",
    .title = TITLE,
    .formula = FORMULA,
    .cite = CITE,
    .hparams = wordlist_hparams,
    .recipe = layer_words_recipe,
    .pair = wordlist_pair,
};

const struct layer_ops layer_spectrum = {
    .name = "spectrum",
    .title = TITLE,
    .formula = FORMULA ", n=3 or n=1..5, norm=none|cosine, strands=one|both",
    .cite = CITE,
    .example = "spectrum(n=3)",
    .help = "spectrum(n=3,norm=none)   counts equal words of n letters in two sequences; n=1..5 "
            "counts words\n"
            "           of all these lengths; norm=cosine divides by their lengths as vectors; of "
            "DNA, strands=both\n"
            "           takes a word and its reverse complement for one. It has no "
            "hyperparameters; tune\n"
            "           n=2..6 chooses n. Features are words, or hashes of words\n",
    .kind = LAYER_WINDOWS,
    .counted = COUNTED_WORDS,
    .rows = ROWS_SYMBOLS,
    .family = &layer_conv,
    .start = { .width = 3 },
    .settings = settings,
    .hint = "kernel spectrum(n=3)  |  spectrum(n=1..5,norm=cosine)",
    .inside = &words,
    .widest = spectrum_widest,
    .exact = wordlist_exact,
    .tile = &wordlist_tile,
    .words = &word_ops,
};
