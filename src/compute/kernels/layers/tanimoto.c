/* compute/kernels/layers/tanimoto.c -- tanimoto: the similarity of two rows of counts, the sum of
 * the lesser values over the sum of the greater ones (share/doc/methods.md 4.6; Ralaivola et al.
 * 2005; Tripp et al. 2023).  It has no hyperparameters; two rows without any count are equal.
 *
 * A tile turns its rows into columns: for each place that occurs in one of them it keeps the values
 * of all of them side by side.  A row is then compared with the whole tile by one addition of
 * vectors for each of its own places.  Sums of whole numbers are exact, so that the order of the
 * additions does not matter, and bytes (which the vector loops of cpu/counts.h add) or short
 * integers can take the place of doubles where all fit; others are added in ascending order of
 * places here and there.  Where all values are 1, rows are bits, and what they share is counted
 * (cpu/bits.h). */
#include "base/mem.h"
#include "compute/cpu/bits.h"
#include "compute/cpu/simd.h"
#include "compute/features/featmap.h"
#include "compute/kernels/kernel.h"
#include "compute/kernels/kernel_tile.h"
#include "compute/kernels/layers/layer.h"
#include "compute/kernels/layers/places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The sum of the greater values is a + b - least. */
static double similarity(double a, double b, double least)
{
    const double most = a + b - least;

    return most > 0.0 ? least / most : 1.0;
}

/* Places are in ascending order, so that both rows are read once. */
static double tanimoto_exact(const struct kterm *t, const double *hp, const double *x,
                             const double *y, double *grad)
{
    const size_t m = places_count(x), n = places_count(y);
    double least = 0.0;

    (void)t, (void)hp, (void)grad;
    for (size_t i = 0, j = 0; i < m && j < n;) {
        const double p = places_at(x, i), q = places_at(y, j);
        if (p == q)
            least += fmin(places_value(x, i), places_value(y, j));
        i += p <= q;
        j += q <= p;
    }
    return similarity(places_sum(x), places_sum(y), least);
}

/* Tiles. */

enum { LANES = 16, STRIPS = KERNEL_TILE / LANES, FOUND = 256 };

/* in: the places of the tile; values: a strip of LANES rows for each place, all places of a strip
 * together, 0 where a row has none; whole: for each place the values of all rows as short integers,
 * where they are whole numbers and no row has a sum above WHOLE_MOST, else NULL; bytes: the same
 * where no value is above COUNTS_MOST. */
enum { WHOLE_MOST = INT16_MAX };
/* line: where all values are 1, the bits of all rows by place, BITS_ROWS rows beside each other
 * (cpu/bits.h), `lines` lines of words for each such group; else NULL.  direct: for places below
 * DIRECT the index of each plus 1, in place of its slots; NULL: some place is above. */
enum { DIRECT = 8192, LINES_MOST = 32 };
struct tile {
    struct places_index in;
    size_t rows, strips, lines;
    uint16_t *direct;
    uint64_t *line;
    const struct bits_loops *count;
    double *values, sum[KERNEL_TILE];
    int16_t *whole;
    uint8_t *bytes;
    const struct counts_loops *loops;
};
_Static_assert((int)COUNTS_ROWS == (int)KERNEL_TILE, "loops over counts take whole tiles");

static void tile_free(void *tile)
{
    struct tile *t = tile;

    if (t == NULL)
        return;
    places_index_free(&t->in);
    free(t->values);
    free(t->whole);
    free(t->bytes);
    free(t->direct);
    free(t->line);
    free(t);
}

static double *strip_at(const struct tile *t, size_t strip, size_t index)
{
    return t->values + (strip * t->in.n + index) * LANES;
}

/* True for the whole numbers that short integers hold. */
static bool is_whole(double v)
{
    return v <= WHOLE_MOST && v == (double)(int16_t)v;
}

/* The index of a place plus 1; 0: no row of the tile has it. */
static inline uint32_t index_of(const struct tile *t, double place)
{
    if (t->direct) {
        const size_t p = (size_t)place;
        return t->direct[p < DIRECT ? p : DIRECT];
    }
    return places_find(&t->in, (uint32_t)place);
}

/* The tile as bits, that of a place at its index plus 1: bit 0 is left for places that no row of
 * the tile has.  Without memory for them counts do it. */
static void tile_bits(struct tile *t, const double *y, size_t stride)
{
    const size_t lines = t->in.n / (64 * BITS_LINE) + 1;
    const size_t words = lines * BITS_LINE, all = words * KERNEL_TILE;

    if (lines > LINES_MOST)
        return;
    t->line = mem_aligned(all, sizeof *t->line, "a tile of bits", NULL);
    if (t->line == NULL)
        return;
    memset(t->line, 0, all * sizeof *t->line);
    t->lines = lines;
    t->count = bits_now();
    for (size_t j = 0; j < t->rows; j++, y += stride)
        for (size_t i = 0; i < places_count(y); i++) {
            const size_t at = index_of(t, places_at(y, i));
            t->line[(j / BITS_ROWS * words + at / 64) * BITS_ROWS + j % BITS_ROWS] |=
                UINT64_C(1) << (at % 64);
        }
}

/* Marks the places of a row in bytes, by their index plus 1; false if some value is not 1.  To set
 * bits of one word after the other would wait for each. */
static bool mark_places(const struct tile *t, const double *x, uint8_t *byte)
{
    const size_t n = places_count(x);
    const double one = 1.0;
    uint64_t want, differ = 0;

    memcpy(&want, &one, sizeof want);
    for (size_t i = 0; i < n; i++) {
        const double value = places_value(x, i);
        uint64_t have;
        memcpy(&have, &value, sizeof have);
        differ |= have ^ want;
        byte[index_of(t, places_at(x, i))] = 1;
    }
    return differ == 0;
}

/* What a row shares with those of the tile, by its bits; false if some value is not 1. */
static bool bits_least(const struct tile *t, const double *x, double least[KERNEL_TILE])
{
    const size_t words = t->lines * BITS_LINE;
    uint64_t bits[LINES_MOST * BITS_LINE] __attribute__((aligned(64)));
    uint8_t byte[LINES_MOST * BITS_LINE * 64] __attribute__((aligned(64)));

    memset(byte, 0, words * 64);
    if (!mark_places(t, x, byte))
        return false;
    t->count->pack(t->lines, byte, bits);
    for (size_t g = 0; g * BITS_ROWS < KERNEL_TILE; g++)
        t->count->share(t->lines, bits, t->line + g * words * BITS_ROWS, least + g * BITS_ROWS);
    return true;
}

/* Fills the values of all rows. */
static void tile_fill(struct tile *t, const double *y, size_t stride)
{
    for (size_t j = 0; j < t->rows; j++, y += stride)
        for (size_t i = 0; i < places_count(y); i++) {
            const size_t at = index_of(t, places_at(y, i)) - 1;
            strip_at(t, j / LANES, at)[j % LANES] = places_value(y, i);
            if (t->whole != NULL)
                t->whole[at * KERNEL_TILE + j] = (int16_t)places_value(y, i);
            if (t->bytes != NULL)
                t->bytes[at * KERNEL_TILE + j] = (uint8_t)places_value(y, i);
        }
}

/* Takes a table of all places in place of the slots, where it is small. */
static void tile_direct(struct tile *t)
{
    bool few = true;

    for (size_t i = 0; i < t->in.n; i++)
        few &= t->in.place[i] < DIRECT;
    t->direct = few ? calloc(DIRECT + 1, sizeof *t->direct) : NULL;
    for (size_t i = 0; t->direct != NULL && i < t->in.n; i++)
        t->direct[t->in.place[i]] = (uint16_t)(i + 1);
}

static void *tile_make(const struct kterm *l, size_t rows, const double *y, size_t stride)
{
    struct tile *t = calloc(1, sizeof *t);
    size_t all = 0;
    bool whole = true;
    double most = 0.0;

    (void)l;
    if (t == NULL)
        return NULL;
    t->rows = rows;
    t->strips = (rows + LANES - 1) / LANES;
    for (size_t j = 0; j < rows; j++) {
        all += places_count(y + j * stride);
        for (size_t i = 0; whole && i < places_count(y + j * stride); i++) {
            whole = is_whole(places_value(y + j * stride, i));
            most = places_value(y + j * stride, i) > most ? places_value(y + j * stride, i) : most;
        }
        whole = whole && places_sum(y + j * stride) <= WHOLE_MOST;
    }
    const bool room = places_index_init(&t->in, all);
    for (size_t j = 0; room && j < rows; j++) {
        t->sum[j] = places_sum(y + j * stride);
        places_enter(&t->in, y + j * stride);
    }
    if (room) {
        tile_direct(t);
        t->values = calloc(t->strips * t->in.n + 1, LANES * sizeof *t->values);
    }
    if (t->values == NULL) {
        tile_free(t);
        return NULL;
    }
    if (whole) /* without memory for these the others do */
        t->whole = calloc(t->in.n + 1, KERNEL_TILE * sizeof *t->whole);
    if (whole && most <= COUNTS_MOST)
        t->bytes = mem_aligned(t->in.n + 1, KERNEL_TILE, "a tile of counts", NULL);
    if (t->bytes != NULL)
        memset(t->bytes, 0, (t->in.n + 1) * KERNEL_TILE);
    t->loops = &cpu_simd_now()->counts;
    tile_fill(t, y, stride);
    if (whole && most <= 1.0)
        tile_bits(t, y, stride);
    return t;
}

/* Some places of a row that its tile has, with the row's values; whole: all are whole numbers;
 * bytes: none is above COUNTS_MOST. */
struct found { size_t n; bool whole, bytes; uint32_t index[FOUND]; double value[FOUND]; };

/* sum[j] += the lesser values of the row and row j of a strip. */
static void strip_add(const struct tile *t, size_t strip, const struct found *f, double *sum)
{
    const double *values = strip_at(t, strip, 0);
    double least[LANES];

    memcpy(least, sum, sizeof least);
    for (size_t i = 0; i < f->n; i++) {
        const double *y = values + (size_t)f->index[i] * LANES, v = f->value[i];
        for (size_t j = 0; j < LANES; j++)
            least[j] += y[j] < v ? y[j] : v;
    }
    memcpy(sum, least, sizeof least);
}

/* The same for all rows, in whole numbers: their sums are at most that of the tile's row. */
static void whole_add(const struct tile *t, const struct found *f, double *sum)
{
    int16_t least[KERNEL_TILE] = { 0 };

    for (size_t i = 0; i < f->n; i++) {
        const int16_t *y = t->whole + (size_t)f->index[i] * KERNEL_TILE;
        const int16_t v = (int16_t)f->value[i];
        for (size_t j = 0; j < KERNEL_TILE; j++)
            least[j] = (int16_t)(least[j] + (y[j] < v ? y[j] : v));
    }
    for (size_t j = 0; j < KERNEL_TILE; j++)
        sum[j] += (double)least[j];
}

/* The same in bytes, as many places at once as their values leave room for. */
static void bytes_add(const struct tile *t, const struct found *f, double *sum)
{
    uint8_t value[FOUND], least[KERNEL_TILE];

    for (size_t i = 0, n; i < f->n; i += n) {
        double room = COUNTS_MOST;
        for (n = 0; i + n < f->n && f->value[i + n] <= room; n++) {
            room -= f->value[i + n];
            value[n] = (uint8_t)f->value[i + n];
        }
        t->loops->least(n, f->index + i, value, t->bytes, least);
        for (size_t j = 0; j < KERNEL_TILE; j++)
            sum[j] += (double)least[j];
    }
}

/* Adds what was found to the sums of all rows of the tile. */
static void tile_add(const struct tile *t, struct found *f, double *sum)
{
    const bool whole = t->whole != NULL && f->whole;

    if (whole && t->bytes != NULL && f->bytes)
        bytes_add(t, f, sum);
    else if (whole && f->n > 0)
        whole_add(t, f, sum);
    for (size_t s = 0; !whole && f->n > 0 && s < t->strips; s++)
        strip_add(t, s, f, sum + s * LANES);
    f->n = 0;
    f->whole = f->bytes = true;
}

/* What a row has in common with all rows of the tile, by its counts; returns their sum. */
static double counts_least(const struct tile *t, const double *x, double least[KERNEL_TILE])
{
    struct found f;
    double sum = 0.0;

    f.n = 0;
    f.whole = f.bytes = true;
    memset(least, 0, KERNEL_TILE * sizeof *least);
    for (size_t i = 0; i < places_count(x); i++) {
        const uint32_t s = index_of(t, places_at(x, i));
        sum += places_value(x, i);
        if (s == 0)
            continue;
        f.whole &= is_whole(places_value(x, i));
        f.bytes &= places_value(x, i) <= COUNTS_MOST;
        f.index[f.n] = s - 1;
        f.value[f.n++] = places_value(x, i);
        if (f.n == FOUND)
            tile_add(t, &f, least);
    }
    tile_add(t, &f, least);
    return sum;
}

static void tile_values(const void *tile, size_t m, const double *x, size_t stride, double *out,
                        size_t ld)
{
    const struct tile *t = tile;

    for (size_t r = 0; r < m; r++, x += stride) {
        double least[KERNEL_TILE], ratio[KERNEL_TILE];
        /* The next row, about as long, comes near; into the first cache, it would wait for room. */
        for (size_t i = 0; r + 1 < m && i <= 2 * places_count(x); i += 8)
            __builtin_prefetch(x + stride + i, 0, 2);
        const double sum = t->line != NULL && bits_least(t, x, least) ? (double)places_count(x)
                                                                      : counts_least(t, x, least);
        t->loops->ratio(sum, t->sum, least, ratio);
        for (size_t j = 0; j < t->rows; j++)
            out[r + j * ld] = ratio[j];
    }
}

static const struct layer_tile_ops tile_ops = { tile_make, tile_free, tile_values };

#define TITLE "Similarity of counts"
#define FORMULA "sum of min(a_i, b_i) / sum of max(a_i, b_i), 1 for two rows without counts"
#define CITE "Ralaivola et al. 2005; Tripp et al. 2023"

/* What stands inside is never evaluated: the layer compares whole rows. */
static double counts_pair(const double *params, const double *hp, size_t nl, size_t d,
                          const double *x, const double *y, double *grad)
{
    (void)params, (void)hp, (void)nl, (void)d, (void)x, (void)y, (void)grad;
    return 1.0;
}

/* The features are signs of hashes (features/hash.h). */
static size_t counts_recipe(const double *params, bool alone, struct fm_step *out)
{
    (void)params, (void)alone;
    out[0] = (struct fm_step){ .op = FM_HASH };
    return 1;
}

static const struct hparam none[] = { { 0 } };

static const char *const symbols[] = { "signs", "gauss", NULL };
static const struct layer_setting settings[] = {
    { .name = "xi", .offset = offsetof(struct layer, symbol), .words = symbols,
      .expected = "signs or gauss", .quiet = true },
    { 0 },
};

static const struct kernel_ops counts = {
    .name = "counts",
    .title = TITLE,
    .formula = FORMULA,
    .cite = CITE,
    .hparams = none,
    .recipe = counts_recipe,
    .pair = counts_pair,
};

const struct layer_ops layer_tanimoto = {
    .name = "tanimoto",
    .title = TITLE,
    .formula = FORMULA,
    .cite = CITE,
    .example = "tanimoto",
    .help = "tanimoto   compares counts, such as fingerprints of molecules (cells like 33:4 80:1); "
            "it has no\n"
            "           hyperparameters; its features are signs (xi=gauss: normal numbers, whose "
            "errors are\n"
            "           larger)\n",
    .kind = LAYER_WINDOWS,
    .rows = ROWS_COUNTS,
    .start = { .width = 1, .channels = COUNTS_CHANNELS },
    .settings = settings,
    .hint = "kernel tanimoto  |  kernel tanimoto(xi=gauss)",
    .inside = &counts,
    .exact = tanimoto_exact,
    .tile = &tile_ops,
};
