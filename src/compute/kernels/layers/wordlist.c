/* compute/kernels/layers/wordlist.c -- counts of words (wordlist.h).
 *
 * A word is one 64-bit number.  The words of a sequence are sorted once and equal ones counted.  A
 * tile keeps, for each word that occurs in one of its rows, how often it occurs in each of them,
 * side by side, so that a row is compared with the whole tile by one multiplication of vectors for
 * each of its own words.  Counts are whole numbers, whose sums of products are exact below 2^53:
 * their order does not matter. */
#include "compute/kernels/layers/wordlist.h"

#include "compute/kernels/kernel_tile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const wordlist_norms[] = { "none", "cosine", NULL };
const char *const wordlist_strands[] = { "one", "both", NULL };
const struct hparam wordlist_hparams[] = { { 0 } };

double wordlist_pair(const double *params, const double *hp, size_t nl, size_t d, const double *x,
                     const double *y, double *grad)
{
    (void)params, (void)hp, (void)nl, (void)d, (void)x, (void)y, (void)grad;
    return 1.0;
}

/* Numbers of words. */

/* Of pairs of the first letter and the last one that are not complements, half come first in their
 * word and half in its reverse complement; where they are, the letters between them decide. */
double wordlist_kinds(const struct layer *l, size_t k)
{
    const double c = (double)wordlist_letters(l);
    double n = k % 2 ? c / 2.0 : 1.0, inner = k % 2 ? c : 1.0;

    if (!l->strands)
        return pow(c, (double)k);
    for (size_t i = k % 2; i < k; i += 2) {
        n = c * (c - 1.0) / 2.0 * inner + c * n;
        inner *= c * c;
    }
    return n;
}

/* Letters in the order ACGT have the numbers 3, 2, 1, 0 in a reverse complement in place of 0, 1,
 * 2, 3. */
uint64_t wordlist_strand(const struct layer *l, uint64_t word, size_t k)
{
    const uint64_t c = wordlist_letters(l);
    uint64_t back = 0;

    if (!l->strands)
        return word;
    for (uint64_t i = 0, rest = word; i < k; i++, rest /= c)
        back = back * c + (c - 1 - rest % c);
    return back < word ? back : word;
}

/* From outside to inside, as wordlist_kinds counts. */
uint64_t wordlist_number(const struct layer *l, uint64_t word, size_t k)
{
    const uint64_t c = wordlist_letters(l);
    uint64_t at = 0, place = 1; /* of the first letter */

    if (!l->strands)
        return word;
    for (size_t i = 1; i < k; i++)
        place *= c;
    for (;;) {
        const uint64_t first = word / place, last = word % c;
        if (k == 1)
            return at + first;
        const uint64_t inner = word % place / c, within = place / c;
        if (first + last < c - 1) /* before it: pairs with a lesser first letter */
            return at + (first * (2 * c - 1 - first) / 2 + last) * within + inner;
        k -= 2;
        at += c * (c - 1) / 2 * within + first * (uint64_t)wordlist_kinds(l, k);
        if (k == 0)
            return at;
        word = inner;
        place = within / c;
    }
}

/* Counts. */

/* The words of a row, ascending, and how often each occurs; NULL: no memory. */
struct words { size_t n, room; uint64_t *word; double *times; };

static void words_add(void *ctx, uint64_t word, double weight)
{
    struct words *w = ctx;

    (void)weight;
    if (w->word != NULL && w->n == w->room) {
        uint64_t *more = realloc(w->word, 2 * w->room * sizeof *more);
        if (more == NULL)
            free(w->word);
        w->word = more;
        w->room *= 2;
    }
    if (w->word != NULL)
        w->word[w->n++] = word;
}

/* Sorts n words, by their bytes from the lowest one on; bytes in which all are equal are passed
 * over.  spare: room for n more. */
static void words_sort(size_t n, uint64_t *word, uint64_t *spare)
{
    uint64_t *from = word, *to = spare, all = ~UINT64_C(0), any = 0;

    for (size_t i = 0; i < n; i++) {
        all &= word[i];
        any |= word[i];
    }
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t begins[257] = { 0 };
        if (((all ^ any) >> shift & 255) == 0)
            continue;
        for (size_t i = 0; i < n; i++)
            begins[1 + (from[i] >> shift & 255)]++;
        for (size_t b = 0; b < 256; b++)
            begins[b + 1] += begins[b];
        for (size_t i = 0; i < n; i++)
            to[begins[from[i] >> shift & 255]++] = from[i];
        uint64_t *const sorted = to;
        to = from;
        from = sorted;
    }
    if (from != word)
        memcpy(word, from, n * sizeof *word);
}

static void words_free(struct words *w)
{
    free(w->word);
    free(w->times);
    *w = (struct words){ 0 };
}

/* False when memory is short; w then holds nothing. */
static bool words_count(const struct layer *l, const double *x, struct words *w)
{
    *w = (struct words){ .room = 256 };
    w->word = malloc(w->room * sizeof *w->word);
    l->ops->words->each(l, x, false, words_add, w);
    _Static_assert(sizeof *w->times == sizeof *w->word, "counts serve as room for the sort");
    w->times = w->word ? malloc((w->n + 1) * sizeof *w->times) : NULL;
    if (w->times == NULL) {
        words_free(w);
        return false;
    }
    const size_t all = w->n;
    words_sort(all, w->word, (uint64_t *)(void *)w->times);
    w->n = 0;
    for (size_t i = 0, j; i < all; i = j) {
        for (j = i + 1; j < all && w->word[j] == w->word[i];)
            j++;
        w->word[w->n] = w->word[i];
        w->times[w->n++] = (double)(j - i);
    }
    return true;
}

static double squares(const struct words *w)
{
    double sum = 0.0;

    for (size_t i = 0; i < w->n; i++)
        sum += w->times[i] * w->times[i];
    return sum;
}

static double products(const struct words *a, const struct words *b)
{
    double sum = 0.0;

    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        const uint64_t p = a->word[i], q = b->word[j];
        if (p == q)
            sum += a->times[i] * b->times[j];
        i += p <= q;
        j += q <= p;
    }
    return sum;
}

/* A row without words is at right angles to all rows, itself too. */
static double scaled(const struct layer *l, double sum, double a, double b)
{
    return !l->cosine || sum == 0.0 ? sum : sum / sqrt(a * b);
}

double wordlist_exact(const struct kterm *t, const double *hp, const double *x, const double *y,
                      double *grad)
{
    const struct layer *l = &t->layer;
    struct words a, b;

    (void)hp, (void)grad;
    if (!words_count(l, x, &a))
        return NAN;
    if (x == y) {
        const double own = squares(&a);
        words_free(&a);
        return scaled(l, own, own, own);
    }
    if (!words_count(l, y, &b)) {
        words_free(&a);
        return NAN;
    }
    const double value = scaled(l, products(&a, &b), squares(&a), squares(&b));
    words_free(&a);
    words_free(&b);
    return value;
}

double wordlist_length(const struct layer *l, const double *x)
{
    struct words w;

    if (!l->cosine)
        return 1.0;
    if (!words_count(l, x, &w))
        return NAN;
    const double sum = squares(&w);
    words_free(&w);
    return sum > 0.0 ? sqrt(sum) : 1.0;
}

/* Tiles. */

/* row: the words of each row.  word: those of all rows, ascending; times: KERNEL_TILE numbers for
 * each of them.  Where there are more of them than WORDS_MOST (32 MiB), times is NULL, and pairs of
 * rows are merged; rows with more than ROWS_MOST in all go pair by pair. */
enum { WORDS_MOST = 1 << 16, ROWS_MOST = 1 << 22 };
struct tile {
    struct layer layer;
    size_t rows, n;
    struct words row[KERNEL_TILE];
    uint64_t *word;
    double *times, square[KERNEL_TILE];
};

static void tile_free(void *tile)
{
    struct tile *t = tile;

    for (size_t j = 0; t != NULL && j < t->rows; j++)
        words_free(&t->row[j]);
    if (t != NULL) {
        free(t->word);
        free(t->times);
    }
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
static bool tile_words(struct tile *t, size_t most)
{
    size_t all = 0;

    uint64_t *spare = malloc((most + 1) * sizeof *spare);

    t->word = spare ? malloc((most + 1) * sizeof *t->word) : NULL;
    if (t->word == NULL) {
        free(spare);
        return false;
    }
    for (size_t j = 0; j < t->rows; j++) {
        memcpy(t->word + all, t->row[j].word, t->row[j].n * sizeof *t->word);
        all += t->row[j].n;
    }
    words_sort(all, t->word, spare);
    free(spare);
    for (size_t i = 0; i < all; i++)
        if (t->n == 0 || t->word[t->n - 1] != t->word[i])
            t->word[t->n++] = t->word[i];
    return true;
}

static void *tile_make(const struct kterm *of, size_t rows, const double *y, size_t stride)
{
    struct tile *t = calloc(1, sizeof *t);
    size_t most = 0;
    bool fits = t != NULL;

    for (; fits && t->rows < rows; y += stride) {
        t->layer = of->layer;
        fits = words_count(&t->layer, y, &t->row[t->rows]);
        t->square[t->rows] = squares(&t->row[t->rows]);
        most += t->row[t->rows++].n;
        fits &= most <= ROWS_MOST;
    }
    if (!fits || !tile_words(t, most)) {
        tile_free(t);
        return NULL;
    }
    if (t->n <= WORDS_MOST)
        t->times = calloc(t->n + 1, KERNEL_TILE * sizeof *t->times);
    for (size_t j = 0; t->times != NULL && j < rows; j++)
        for (size_t i = 0; i < t->row[j].n; i++)
            t->times[tile_find(t, t->row[j].word[i]) * KERNEL_TILE + j] = t->row[j].times[i];
    return t;
}

static void tile_row(const struct tile *t, const struct words *w, double *out, size_t ld)
{
    const double own = squares(w);
    double sum[KERNEL_TILE] = { 0.0 };

    for (size_t i = 0; t->times != NULL && i < w->n; i++) {
        const size_t at = tile_find(t, w->word[i]);
        const double *times = t->times + at * KERNEL_TILE;
        for (size_t j = 0; at < t->n && j < KERNEL_TILE; j++)
            sum[j] += w->times[i] * times[j];
    }
    for (size_t j = 0; t->times == NULL && j < t->rows; j++)
        sum[j] = products(w, &t->row[j]);
    for (size_t j = 0; j < t->rows; j++)
        out[j * ld] = scaled(&t->layer, sum[j], own, t->square[j]);
}

static void tile_values(const void *tile, size_t m, const double *x, size_t stride, double *out,
                        size_t ld)
{
    const struct tile *t = tile;
    struct words w;

    for (size_t r = 0; r < m; r++) {
        const bool room = words_count(&t->layer, x + r * stride, &w);
        for (size_t j = 0; !room && j < t->rows; j++)
            out[r + j * ld] = NAN; /* no memory: what reads the values refuses them */
        if (room)
            tile_row(t, &w, out + r, ld);
        words_free(&w);
    }
}

const struct layer_tile_ops wordlist_tile = { tile_make, tile_free, tile_values };
