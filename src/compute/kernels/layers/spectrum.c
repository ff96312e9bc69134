/* compute/kernels/layers/spectrum.c -- spectrum(n=3): the number of pairs of equal words of n
 * letters in two sequences: how often each word occurs in the one, times how often in the other
 * (share/doc/methods.md 4.7; Leslie, Eskin & Noble 2002).  spectrum(n=1..5) adds the words of all
 * lengths from 1 to 5.  With strands=both a word of DNA and its reverse complement count as one.  A
 * word with a letter outside the alphabet is no word.  It has no hyperparameters.
 *
 * A word is one 64-bit number.  The words of a sequence are sorted once and equal ones counted.  A
 * tile keeps, for each word that occurs in one of its rows, how often it occurs in each of them,
 * side by side, so that a row is compared with the whole tile by one multiplication of vectors for
 * each of its own words.  Counts are whole numbers, whose sums of products are exact below 2^53:
 * their order does not matter. */
#include "compute/kernels/kernel.h"
#include "compute/kernels/kernel_tile.h"
#include "compute/kernels/layers/layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The words of a row, ascending, and how often each occurs. */
struct words { size_t n; uint64_t *word; double *times; };

/* Digits need a base of at least 2 for words of different lengths to differ. */
static uint64_t base_of(const struct layer *l)
{
    return l->channels < 2 ? 2 : l->channels;
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

static int by_word(const void *a, const void *b)
{
    const uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;

    return (p > q) - (p < q);
}

/* Writes all words that begin at a position of the sequence; returns how many.  Of a word and its
 * reverse complement, whose letters in the order ACGT have the numbers 3, 2, 1, 0 in place of 0, 1,
 * 2, 3, the lesser number stands for both. */
static size_t words_at(const struct layer *l, const double *letter, size_t left, uint64_t *out)
{
    const size_t longest = left < l->width ? left : l->width;
    uint64_t word = 1; /* so that words of different lengths differ */
    uint64_t back = 0, place = 1; /* the reverse complement, without the leading 1 */
    size_t n = 0;

    for (size_t k = 1; k <= longest && letter[k - 1] < (double)l->channels; k++) {
        const uint64_t digit = (uint64_t)letter[k - 1];
        word = word * base_of(l) + digit;
        back += (l->channels - 1 - digit) * place;
        place *= base_of(l);
        if (k >= shortest(l))
            out[n++] = l->strands && place + back < word ? place + back : word;
    }
    return n;
}

/* The room that the words of a sequence x can take. */
static size_t words_most(const struct layer *l, const double *x)
{
    return (size_t)x[0] * (l->width - shortest(l) + 1);
}

/* Fills w, whose arrays have room for words_most. */
static void words_count(const struct layer *l, const double *x, struct words *w)
{
    const size_t length = (size_t)x[0];
    size_t all = 0;

    for (size_t i = 0; i < length; i++)
        all += words_at(l, x + 1 + i, length - i, w->word + all);
    qsort(w->word, all, sizeof *w->word, by_word);
    w->n = 0;
    for (size_t i = 0, j; i < all; i = j) {
        for (j = i + 1; j < all && w->word[j] == w->word[i];)
            j++;
        w->word[w->n] = w->word[i];
        w->times[w->n++] = (double)(j - i);
    }
}

static void words_free(struct words *w)
{
    free(w->word);
    free(w->times);
}

/* False when memory is short. */
static bool words_new(size_t most, struct words *w)
{
    *w = (struct words){ 0, malloc((most + 1) * sizeof *w->word),
                         malloc((most + 1) * sizeof *w->times) };
    if (w->word && w->times)
        return true;
    words_free(w);
    return false;
}

static double squares(const struct words *w)
{
    double sum = 0.0;

    for (size_t i = 0; i < w->n; i++)
        sum += w->times[i] * w->times[i];
    return sum;
}

/* A row without words is at right angles to all rows, itself too. */
static double scaled(const struct layer *l, double sum, double a, double b)
{
    return !l->cosine || sum == 0.0 ? sum : sum / sqrt(a * b);
}

static double spectrum_exact(const struct kterm *t, const double *hp, const double *x,
                             const double *y, double *grad)
{
    const struct layer *l = &t->layer;
    struct words a, b;
    double sum = 0.0;

    (void)hp, (void)grad;
    if (!words_new(words_most(l, x), &a))
        return NAN;
    if (!words_new(words_most(l, y), &b)) {
        words_free(&a);
        return NAN;
    }
    words_count(l, x, &a);
    words_count(l, y, &b);
    for (size_t i = 0, j = 0; i < a.n && j < b.n;) {
        const uint64_t p = a.word[i], q = b.word[j];
        if (p == q)
            sum += a.times[i] * b.times[j];
        i += p <= q;
        j += q <= p;
    }
    sum = scaled(l, sum, squares(&a), squares(&b));
    words_free(&a);
    words_free(&b);
    return sum;
}

/* Words as features. */

/* How many different words of k letters there can be.  Of pairs of the first letter and the last
 * one that are not complements, half come first in their word and half in its reverse complement;
 * where they are, the letters between them decide. */
static double kinds_of(const struct layer *l, size_t k)
{
    const double c = (double)l->channels;
    double n = k % 2 ? c / 2.0 : 1.0, inner = k % 2 ? c : 1.0;

    if (!l->strands)
        return pow(c, (double)k);
    for (size_t i = k % 2 ? 1 : 0; i < k; i += 2) {
        n = c * (c - 1.0) / 2.0 * inner + c * n;
        inner *= c * c;
    }
    return n;
}

static double spectrum_kinds(const struct layer *l)
{
    double n = 0.0;

    for (size_t k = shortest(l); k <= l->width; k++)
        n += kinds_of(l, k);
    return n;
}

/* The number of a word of k letters among those, digits without its leading 1; with strands=both it
 * is the lesser one of the two: from outside to inside, as kinds_of counts. */
static uint64_t number_of(const struct layer *l, uint64_t digits, size_t k)
{
    const uint64_t c = l->channels;
    uint64_t at = 0, place = 1; /* of the first letter */

    if (!l->strands)
        return digits;
    for (size_t i = 1; i < k; i++)
        place *= c;
    for (;;) {
        const uint64_t first = digits / place, last = digits % c;
        if (k == 1)
            return at + first;
        const uint64_t inner = digits % place / c, within = place / c;
        if (first + last < c - 1) /* before it: pairs with a lesser first letter */
            return at + (first * (2 * c - 1 - first) / 2 + last) * within + inner;
        at += c * (c - 1) / 2 * within;
        k -= 2;
        at += first * (uint64_t)kinds_of(l, k);
        if (k == 0)
            return at;
        digits = inner;
        place = within / c;
    }
}

/* Numbers begin with the shortest words. */
static void spectrum_each(const struct layer *l, const double *x, bool numbered,
                          layer_word_fn *take, void *ctx)
{
    const size_t length = (size_t)x[0], from = shortest(l), lengths = l->width - from + 1;
    uint64_t word[KERNEL_WIDTH_MOST], lead[KERNEL_WIDTH_MOST], before[KERNEL_WIDTH_MOST];

    for (size_t k = 0; numbered && k < lengths; k++) {
        lead[k] = k ? lead[k - 1] * base_of(l) : (uint64_t)pow((double)base_of(l), (double)from);
        before[k] = k ? before[k - 1] + (uint64_t)kinds_of(l, from + k - 1) : 0;
    }
    for (size_t i = 0; i < length; i++) {
        const size_t n = words_at(l, x + 1 + i, length - i, word);
        for (size_t k = 0; k < n; k++)
            take(ctx, numbered ? before[k] + number_of(l, word[k] - lead[k], from + k) : word[k],
                 1.0);
    }
}

static double spectrum_length(const struct layer *l, const double *x)
{
    struct words w;

    if (!l->cosine)
        return 1.0;
    if (!words_new(words_most(l, x), &w))
        return NAN;
    words_count(l, x, &w);
    const double sum = squares(&w);
    words_free(&w);
    return sum > 0.0 ? sqrt(sum) : 1.0;
}

static const struct layer_word_ops word_ops = { spectrum_kinds, spectrum_each, spectrum_length };

/* Tiles. */

/* word: all words of its rows, ascending; times: KERNEL_TILE numbers for each of them.  Long rows
 * with more words than WORDS_MOST (32 MiB) go pair by pair. */
enum { WORDS_MOST = 1 << 16 };
struct tile {
    struct layer layer;
    size_t rows, n;
    uint64_t *word;
    double *times, square[KERNEL_TILE];
};

static void tile_free(void *tile)
{
    struct tile *t = tile;

    if (t == NULL)
        return;
    free(t->word);
    free(t->times);
    free(t);
}

/* The index of a word in the tile; t->n: it has none such. */
static size_t tile_find(const struct tile *t, uint64_t word)
{
    size_t lo = 0, hi = t->n;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (t->word[mid] < word)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < t->n && t->word[lo] == word ? lo : t->n;
}

/* All words of all rows, each once. */
static bool tile_words(struct tile *t, const double *y, size_t stride)
{
    size_t most = 0, all = 0;

    for (size_t j = 0; j < t->rows; j++)
        most += words_most(&t->layer, y + j * stride);
    t->word = malloc((most + 1) * sizeof *t->word);
    for (size_t j = 0; t->word && j < t->rows; j++) {
        const double *x = y + j * stride;
        for (size_t i = 0, length = (size_t)x[0]; i < length; i++)
            all += words_at(&t->layer, x + 1 + i, length - i, t->word + all);
    }
    if (!t->word)
        return false;
    qsort(t->word, all, sizeof *t->word, by_word);
    for (size_t i = 0; i < all; i++)
        if (t->n == 0 || t->word[t->n - 1] != t->word[i])
            t->word[t->n++] = t->word[i];
    return true;
}

static void *tile_make(const struct kterm *of, size_t rows, const double *y, size_t stride)
{
    const struct layer *l = &of->layer;
    struct tile *t = calloc(1, sizeof *t);

    if (t == NULL)
        return NULL;
    t->layer = *l;
    t->rows = rows;
    if (tile_words(t, y, stride) && t->n <= WORDS_MOST)
        t->times = calloc(t->n + 1, KERNEL_TILE * sizeof *t->times);
    if (t->times == NULL) {
        tile_free(t);
        return NULL;
    }
    for (size_t j = 0; j < rows; j++, y += stride)
        for (size_t i = 0, length = (size_t)y[0]; i < length; i++) {
            uint64_t word[KERNEL_WIDTH_MOST];
            const size_t n = words_at(l, y + 1 + i, length - i, word);
            for (size_t k = 0; k < n; k++)
                t->times[tile_find(t, word[k]) * KERNEL_TILE + j] += 1.0;
        }
    for (size_t i = 0; i < t->n; i++)
        for (size_t j = 0; j < KERNEL_TILE; j++)
            t->square[j] += t->times[i * KERNEL_TILE + j] * t->times[i * KERNEL_TILE + j];
    return t;
}

static void tile_row(const struct tile *t, const struct words *w, double *out, size_t ld)
{
    const double own = squares(w);
    double sum[KERNEL_TILE] = { 0.0 };

    for (size_t i = 0; i < w->n; i++) {
        const size_t at = tile_find(t, w->word[i]);
        const double *times = t->times + at * KERNEL_TILE;
        for (size_t j = 0; at < t->n && j < KERNEL_TILE; j++)
            sum[j] += w->times[i] * times[j];
    }
    for (size_t j = 0; j < t->rows; j++)
        out[j * ld] = scaled(&t->layer, sum[j], own, t->square[j]);
}

static void tile_values(const void *tile, size_t m, const double *x, size_t stride, double *out,
                        size_t ld)
{
    const struct tile *t = tile;
    size_t most = 0;
    struct words w;

    for (size_t r = 0; r < m; r++) {
        const size_t own = words_most(&t->layer, x + r * stride);
        most = own > most ? own : most;
    }
    const bool room = words_new(most, &w);
    for (size_t r = 0; r < m; r++) {
        if (room)
            words_count(&t->layer, x + r * stride, &w);
        for (size_t j = 0; !room && j < t->rows; j++)
            out[r + j * ld] = NAN; /* no memory: what reads the values refuses them */
        if (room)
            tile_row(t, &w, out + r, ld);
    }
    if (room)
        words_free(&w);
}

static const struct layer_tile_ops tile_ops = { tile_make, tile_free, tile_values };

static const char *const scales[] = { "none", "cosine", NULL };
static const char *const strands[] = { "one", "both", NULL };

static const struct layer_setting settings[] = {
    { .name = "n", .offset = offsetof(struct layer, width), .most = KERNEL_WIDTH_MOST,
      .from = offsetof(struct layer, shortest) },
    { .name = "norm", .offset = offsetof(struct layer, cosine), .words = scales,
      .expected = "none or cosine", .quiet = true },
    { .name = "strands", .offset = offsetof(struct layer, strands), .words = strands,
      .expected = "one or both", .quiet = true },
    { 0 },
};

#define TITLE "Spectrum of words"
#define FORMULA "sum over words of n letters: how often in the one * how often in the other"
#define CITE "Leslie, Eskin & Noble 2002"

/* What stands inside is never evaluated: the layer compares whole sequences. */
static double words_pair(const double *params, const double *hp, size_t nl, size_t d,
                         const double *x, const double *y, double *grad)
{
    (void)params, (void)hp, (void)nl, (void)d, (void)x, (void)y, (void)grad;
    return 1.0;
}

static const struct hparam none[] = { { 0 } };

static const struct kernel_ops words = {
    .name = "words",
    .title = TITLE,
    .formula = FORMULA,
    .cite = CITE,
    .hparams = none,
    .recipe = layer_words_recipe,
    .pair = words_pair,
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
            "           width=2,3,4 chooses n. Features are words, or hashes of words\n",
    .kind = LAYER_WINDOWS,
    .rows = ROWS_SYMBOLS,
    .family = &layer_conv,
    .start = { .width = 3 },
    .settings = settings,
    .hint = "kernel spectrum(n=3)  |  spectrum(n=1..5,norm=cosine)",
    .inside = &words,
    .widest = spectrum_widest,
    .exact = spectrum_exact,
    .tile = &tile_ops,
    .words = &word_ops,
};
