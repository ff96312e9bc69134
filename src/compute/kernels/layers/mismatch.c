/* compute/kernels/layers/mismatch.c -- mismatch(n=5,m=1): words of n letters, each counted with all
 * words that differ from it in at most m letters (share/doc/methods.md 4.12; Leslie, Eskin, Cohen,
 * Weston & Noble 2004).  mismatch(n,m=0) is spectrum(n).  A word with a letter outside the alphabet
 * is no word.  It has no hyperparameters. */
#include "compute/kernels/layers/wordlist.h"

enum { NEAR_MOST = 65536 }; /* words that one word may be counted with */

/* The words within m letters of a word of n. */
static double near_words(const struct layer *l, size_t n)
{
    double one = 1.0, all = 1.0;

    for (size_t i = 1; i <= l->mismatches && i <= n; i++) {
        one *= (double)(n - i + 1) / (double)i * ((double)wordlist_letters(l) - 1.0);
        all += one;
    }
    return all;
}

/* The longest words that 64 bits hold and that have at most NEAR_MOST words near them. */
static size_t mismatch_widest(const struct layer *l)
{
    const uint64_t c = wordlist_letters(l) < 2 ? 2 : wordlist_letters(l);
    size_t n = 0;

    for (uint64_t v = 1; v <= (UINT64_C(1) << 63) / c && near_words(l, n + 1) <= NEAR_MOST; v *= c)
        n++;
    return n > 0 ? n : 1;
}

static double mismatch_kinds(const struct layer *l)
{
    return wordlist_kinds(l, l->width);
}

struct walk {
    const struct layer *l;
    const double *letter;
    bool numbered;
    layer_word_fn *take;
    void *ctx;
};

/* Goes on from the first k letters of a word, which are those of the sequence but for `left` that
 * may still differ. */
static void walk(const struct walk *w, size_t k, size_t left, uint64_t word)
{
    const struct layer *l = w->l;
    const uint64_t c = wordlist_letters(l);

    if (k == l->width) {
        word = wordlist_strand(l, word, k);
        w->take(w->ctx, w->numbered ? wordlist_number(l, word, k) : word, 1.0);
        return;
    }
    for (uint64_t digit = 0; digit < c; digit++) {
        const bool same = (double)digit == w->letter[k];
        if (same || left > 0)
            walk(w, k + 1, left - !same, word * c + digit);
    }
}

static void mismatch_each(const struct layer *l, const double *x, bool numbered,
                          layer_word_fn *take, void *ctx)
{
    size_t known = 0; /* letters before the next one that are in the alphabet */

    for (size_t i = 0; i < (size_t)x[0]; i++) {
        known = x[1 + i] < (double)wordlist_letters(l) ? known + 1 : 0;
        if (known < l->width)
            continue;
        const struct walk w = { l, x + 2 + i - l->width, numbered, take, ctx };
        walk(&w, 0, l->mismatches, 0);
    }
}

static size_t mismatch_least(const struct layer *l)
{
    return l->width;
}

static const struct layer_word_ops word_ops = { mismatch_kinds, mismatch_each, wordlist_length,
                                               mismatch_least };

static const struct layer_setting settings[] = {
    { .name = "n", .offset = offsetof(struct layer, width), .most = KERNEL_WIDTH_MOST },
    { .name = "m", .offset = offsetof(struct layer, mismatches), .most = 8, .zero = true },
    WORDLIST_NORM,
    WORDLIST_STRANDS,
    { 0 },
};

#define TITLE "Words with mismatches"
#define FORMULA "as spectrum, each word counted with all that differ in at most m letters"
#define CITE "Leslie, Eskin, Cohen, Weston & Noble 2004"

static const struct kernel_ops mismatches = {
    .name = "mismatches",
    .title = TITLE,
    .formula = FORMULA,
    .cite = CITE,
    .hparams = wordlist_hparams,
    .recipe = layer_words_recipe,
    .pair = wordlist_pair,
};

const struct layer_ops layer_mismatch = {
    .name = "mismatch",
    .title = TITLE,
    .formula = FORMULA ", norm=none|cosine, strands=one|both",
    .cite = CITE,
    .example = "mismatch(n=5,m=1)",
    .help = "mismatch(n=5,m=1)   counts words as spectrum does, each together with all words that "
            "differ\n"
            "           from it in at most m letters\n",
    .kind = LAYER_WINDOWS,
    .counted = COUNTED_WORDS,
    .rows = ROWS_SYMBOLS,
    .family = &layer_conv,
    .start = { .width = 5, .mismatches = 1 },
    .settings = settings,
    .hint = "kernel mismatch(n=5,m=1)  |  mismatch(n=6,m=1,norm=cosine)",
    .inside = &mismatches,
    .widest = mismatch_widest,
    .exact = wordlist_exact,
    .tile = &wordlist_tile,
    .words = &word_ops,
};
