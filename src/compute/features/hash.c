/* compute/features/hash.c -- consistent weighted sampling (hash.h; share/doc/methods.md 4.10).
 *
 * Many rows share few pairs of a place and its value.  Draws are made once for each place, keys
 * once for each pair, and a row then looks up the keys of its own pairs: pairs are numbered by how
 * often they occur, so that those in use most stand side by side. */
#include "compute/features/hash.h"

#include "base/mem.h"
#include "compute/kernels/layers/places.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One block of random bits: 25 of each word for a uniform number, and the 28 that are left for
 * b.  -ln(u v) of two uniform numbers is of Gamma(2, 1). */
static struct hash_draw draw_for(const struct fm_term *t, size_t feature, uint32_t place)
{
    uint32_t w[4], rest = 0;
    double u[4];

    rng_u32x4(t->seed, t->stream, (uint64_t)feature << 32 | place, w);
    for (int i = 0; i < 4; i++) {
        u[i] = ((double)(w[i] >> 7) + 0.5) * 0x1p-25;
        rest = rest << 7 | (w[i] & 127);
    }
    return (struct hash_draw){ .r = -log(u[0] * u[1]), .lnc = log(-log(u[2] * u[3])),
                               .b = ((double)rest + 0.5) * 0x1p-28 };
}

struct hash_draw hash_draw_for_tests(const struct fm_term *t, size_t feature, uint32_t place)
{
    return draw_for(t, feature, place);
}

/* ln a and the bin t of a place with this value: t = floor(ln x / r + b), ln y = r (t - b), ln a =
 * ln c - ln y - r. */
static double key_of(const struct hash_draw *k, double lnx, double *t)
{
    const double at = lnx / k->r + k->b, down = (double)(int64_t)at; /* |at| < 2^36 */

    *t = down - (double)(down > at);
    return k->lnc - k->r * (*t - k->b) - k->r;
}

size_t hash_least_for_tests(const double *x, const struct hash_draw *draw, double *t)
{
    size_t at = SIZE_MAX;
    double least = INFINITY;

    for (size_t i = 0; i < places_count(x); i++) {
        double bin;
        const double a = key_of(&draw[i], log(places_value(x, i)), &bin);
        if (a < least) {
            least = a;
            at = i;
            *t = bin;
        }
    }
    return at;
}

/* Symbols. */

static const double no_bin = 0x1p60; /* of rows without counts: no value has it */

static uint64_t mixed(uint64_t h)
{
    h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
    h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

/* What a feature mixes with the symbols of its places. */
static uint64_t feature_bits(const struct fm_term *t, size_t feature)
{
    return mixed(mixed(t->seed ^ mixed(t->stream)) + (uint64_t)feature);
}

/* The bits of the symbol (place, t), of which the highest is its sign. */
static uint64_t symbol(uint64_t of, uint32_t place, double t)
{
    return mixed((of ^ (uint64_t)place * UINT64_C(0x9e3779b97f4a7c15)) +
                 (uint64_t)(int64_t)t * UINT64_C(0xff51afd7ed558ccd));
}

/* ln a in single precision with the sign in its lowest bit. */
static float signed_key(double lna, uint64_t bits)
{
    const float f = (float)lna;
    uint32_t u;
    float key;

    memcpy(&u, &f, sizeof u);
    u = (u & ~UINT32_C(1)) | (uint32_t)(bits >> 63);
    memcpy(&key, &u, sizeof key);
    return key;
}

static bool is_negative(float key)
{
    uint32_t u;

    memcpy(&u, &key, sizeof u);
    return u & 1;
}

/* A normal number: Box & Muller, the halves of the bits of a symbol as two uniform numbers. */
static double normal_of(uint64_t bits)
{
    const double u = ((double)(bits >> 32) + 0.5) * 0x1p-32,
                 v = ((double)(bits & UINT32_MAX) + 0.5) * 0x1p-32;

    return sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v);
}

static double value_of(const struct fm_term *t, float key, uint64_t bits)
{
    return featmap_is_signed(t) ? (is_negative(key) ? -1.0 : 1.0) : normal_of(bits);
}

double hash_value(const struct fm_term *t, size_t feature, const double *x)
{
    const uint64_t of = feature_bits(t, feature);
    uint64_t bits = symbol(of, 0, no_bin);
    float least = signed_key(0.0, bits);

    for (size_t i = 0; i < places_count(x); i++) {
        const uint32_t place = (uint32_t)places_at(x, i);
        const struct hash_draw draw = draw_for(t, feature, place);
        double bin;
        const double lna = key_of(&draw, log(places_value(x, i)), &bin);
        const uint64_t own = symbol(of, place, bin);
        const float key = signed_key(lna, own);
        if (i == 0 || key < least) {
            least = key;
            bits = own;
        }
    }
    return value_of(t, least, bits);
}

/* Rows. */

/* A place with one of its values.  `empty`: that of rows without counts. */
struct pair { uint32_t place, uses; double value; bool empty; };

/* Row i has the pairs at[first[i]] .. at[first[i + 1] - 1].  slot: open addressing by place and
 * value, index of the pair plus 1.  order: the pairs by place. */
struct hash_rows {
    size_t n, nfirst, nat, npairs, nslots;
    uint32_t *first, *at, *slot, *order;
    struct pair *pair;
    size_t first_cap, at_cap, pair_cap;
};

struct hash_rows *hash_rows_new(struct err *err)
{
    struct hash_rows *h = mem_calloc(1, sizeof *h, "rows of counts", err);

    if (h && mem_grow((void **)&h->first, &h->first_cap, 1, sizeof *h->first, "rows of counts",
                      err) != ST_OK) {
        free(h);
        return NULL;
    }
    if (h)
        h->first[0] = 0;
    return h;
}

void hash_rows_free(struct hash_rows *h)
{
    if (!h)
        return;
    free(h->first);
    free(h->at);
    free(h->slot);
    free(h->order);
    free(h->pair);
    free(h);
}

static bool same(const struct pair *p, const struct pair *q)
{
    return p->place == q->place && p->value == q->value && p->empty == q->empty;
}

static size_t slot_of(const struct hash_rows *h, const struct pair *p)
{
    uint64_t v;

    memcpy(&v, &p->value, sizeof v);
    size_t s = (size_t)mixed(p->place + mixed(v + p->empty)) & (h->nslots - 1);
    while (h->slot[s] != 0 && !same(&h->pair[h->slot[s] - 1], p))
        s = (s + 1) & (h->nslots - 1);
    return s;
}

static enum status slots_grow(struct hash_rows *h, struct err *err)
{
    const size_t more = h->nslots ? 2 * h->nslots : 1024;
    uint32_t *slot = mem_calloc(more, sizeof *slot, "rows of counts", err);

    if (!slot)
        return ST_NOMEM;
    free(h->slot);
    h->slot = slot;
    h->nslots = more;
    for (size_t i = 0; i < h->npairs; i++)
        h->slot[slot_of(h, &h->pair[i])] = (uint32_t)i + 1;
    return ST_OK;
}

/* Adds a pair to the last row. */
static enum status pair_add(struct hash_rows *h, const struct pair *p, struct err *err)
{
    enum status rc = mem_grow((void **)&h->at, &h->at_cap, h->nat + 1, sizeof *h->at,
                              "rows of counts", err);

    if (rc == ST_OK && 2 * h->npairs >= h->nslots)
        rc = slots_grow(h, err);
    if (rc == ST_OK)
        rc = mem_grow((void **)&h->pair, &h->pair_cap, h->npairs + 1, sizeof *h->pair,
                      "rows of counts", err);
    if (rc != ST_OK)
        return rc;
    const size_t s = slot_of(h, p);
    if (h->slot[s] == 0) {
        h->pair[h->npairs++] = *p;
        h->slot[s] = (uint32_t)h->npairs;
    }
    h->pair[h->slot[s] - 1].uses++;
    h->at[h->nat++] = h->slot[s] - 1;
    return ST_OK;
}

enum status hash_rows_add(struct hash_rows *h, size_t n, const double *x, size_t ldx,
                          struct err *err)
{
    enum status rc = mem_grow((void **)&h->first, &h->first_cap, h->n + n + 1, sizeof *h->first,
                              "rows of counts", err);

    for (size_t r = 0; rc == ST_OK && r < n; r++, x += ldx) {
        const size_t places = places_count(x);
        for (size_t i = 0; rc == ST_OK && i < places; i++)
            rc = pair_add(h, &(struct pair){ .place = (uint32_t)places_at(x, i),
                                             .value = places_value(x, i) }, err);
        if (rc == ST_OK && places == 0)
            rc = pair_add(h, &(struct pair){ .empty = true, .value = 1.0 }, err);
        h->first[++h->n] = (uint32_t)h->nat;
    }
    return rc;
}

struct rank { uint32_t at, uses; };

static int by_uses(const void *a, const void *b)
{
    const struct rank *p = a, *q = b;

    return p->uses != q->uses ? (p->uses > q->uses ? -1 : 1) : (p->at < q->at ? -1 : p->at > q->at);
}

struct spot { uint32_t at, place; };

static int by_place(const void *a, const void *b)
{
    const struct spot *p = a, *q = b;

    return p->place != q->place ? (p->place < q->place ? -1 : 1)
                                : (p->at < q->at ? -1 : p->at > q->at);
}

/* Numbers the pairs by their uses. */
static enum status renumber(struct hash_rows *h, struct err *err)
{
    struct rank *rank = mem_calloc(h->npairs + 1, sizeof *rank, "rows of counts", err);
    uint32_t *now = mem_calloc(h->npairs + 1, sizeof *now, "rows of counts", err);
    struct pair *pair = mem_calloc(h->npairs + 1, sizeof *pair, "rows of counts", err);
    const bool ok = rank && now && pair;

    for (size_t i = 0; ok && i < h->npairs; i++)
        rank[i] = (struct rank){ (uint32_t)i, h->pair[i].uses };
    if (ok)
        qsort(rank, h->npairs, sizeof *rank, by_uses);
    for (size_t i = 0; ok && i < h->npairs; i++) {
        now[rank[i].at] = (uint32_t)i;
        pair[i] = h->pair[rank[i].at];
    }
    for (size_t i = 0; ok && i < h->nat; i++)
        h->at[i] = now[h->at[i]];
    free(rank);
    free(now);
    free(ok ? h->pair : pair);
    if (ok)
        h->pair = pair;
    return ok ? ST_OK : ST_NOMEM;
}

enum status hash_rows_end(struct hash_rows *h, struct err *err)
{
    enum status rc = renumber(h, err);
    struct spot *spot =
        rc == ST_OK ? mem_calloc(h->npairs + 1, sizeof *spot, "rows of counts", err) : NULL;

    h->order = spot ? mem_calloc(h->npairs + 1, sizeof *h->order, "rows of counts", err) : NULL;
    if (h->order) {
        for (size_t i = 0; i < h->npairs; i++)
            spot[i] = (struct spot){ (uint32_t)i, h->pair[i].place };
        qsort(spot, h->npairs, sizeof *spot, by_place);
        for (size_t i = 0; i < h->npairs; i++)
            h->order[i] = spot[i].at;
    }
    free(spot);
    free(h->slot);
    h->slot = NULL;
    return h->order ? ST_OK : ST_NOMEM;
}

/* Groups of features.  The workspace holds the keys of each pair side by side, then the values of
 * their symbols (hash_values) or the signs of some rows. */

size_t hash_work_bytes(const struct hash_rows *h)
{
    return mem_lines(h->npairs * HASH_GROUP * (sizeof(float) + sizeof(double)) +
                     64 * sizeof(uint16_t));
}

static size_t group_size(const struct fm_term *t, size_t g)
{
    const size_t left = t->mf - g * HASH_GROUP;

    return left < HASH_GROUP ? left : HASH_GROUP;
}

/* The keys of all pairs, and unless NULL the values of their symbols; features past the last are
 * left as they are. */
static void group_keys(const struct fm_term *t, size_t g, const struct hash_rows *h, float *key,
                       double *value)
{
    const size_t features = group_size(t, g);
    uint64_t of[HASH_GROUP];
    struct hash_draw draw[HASH_GROUP];
    uint32_t place = 0;
    bool drawn = false;

    for (size_t f = 0; f < features; f++)
        of[f] = feature_bits(t, g * HASH_GROUP + f);
    for (size_t i = 0; i < h->npairs; i++) {
        const size_t at = h->order[i];
        const struct pair *p = &h->pair[at];
        const double lnx = log(p->value);
        if (!p->empty && (!drawn || p->place != place))
            for (size_t f = 0; f < features; f++)
                draw[f] = draw_for(t, g * HASH_GROUP + f, p->place);
        drawn |= !p->empty;
        place = p->empty ? place : p->place;
        for (size_t f = 0; f < features; f++) {
            double bin = no_bin, lna = 0.0;
            if (!p->empty)
                lna = key_of(&draw[f], lnx, &bin);
            const uint64_t bits = symbol(of[f], p->empty ? 0 : p->place, bin);
            key[at * HASH_GROUP + f] = signed_key(lna, bits);
            if (value)
                value[at * HASH_GROUP + f] = value_of(t, key[at * HASH_GROUP + f], bits);
        }
    }
}

/* Turns 8 rows of 8 bits: bit c of byte r becomes bit r of byte c (Warren, Hacker's Delight,
 * 7-3). */
static uint64_t turned(uint64_t x)
{
    uint64_t t = (x ^ x >> 7) & UINT64_C(0x00aa00aa00aa00aa);

    x ^= t ^ t << 7;
    t = (x ^ x >> 14) & UINT64_C(0x0000cccc0000cccc);
    x ^= t ^ t << 14;
    t = (x ^ x >> 28) & UINT64_C(0x00000000f0f0f0f0);
    return x ^ t ^ t << 28;
}

/* Bit f of signs[r], for 64 rows, becomes bit r of word[f]. */
static void turn_words(const uint16_t signs[64], uint64_t word[HASH_GROUP])
{
    memset(word, 0, HASH_GROUP * sizeof *word);
    for (size_t r = 0; r < 64; r += 8)
        for (size_t half = 0; half < 2; half++) {
            uint64_t x = 0;
            for (size_t i = 0; i < 8; i++)
                x |= (uint64_t)(signs[r + i] >> (8 * half) & 255) << (8 * i);
            x = turned(x);
            for (size_t f = 0; f < 8; f++)
                word[8 * half + f] |= (x >> (8 * f) & 255) << r;
        }
}

void hash_signs(const struct fm_term *t, size_t g, const struct hash_rows *h,
                const struct hash_loops *loops, void *work, uint64_t *bits, size_t words)
{
    const size_t features = group_size(t, g);
    float *key = work;
    uint16_t *signs = (uint16_t *)(void *)(key + h->npairs * HASH_GROUP);
    uint64_t word[HASH_GROUP];

    if (features < HASH_GROUP)
        memset(key, 0, h->npairs * HASH_GROUP * sizeof *key);
    group_keys(t, g, h, key, NULL);
    for (size_t r = 0; r < h->n; r += 64) {
        const size_t n = h->n - r < 64 ? h->n - r : 64;
        memset(signs, 0, 64 * sizeof *signs);
        loops->signs(n, h->first + r, h->at, key, signs);
        turn_words(signs, word);
        for (size_t f = 0; f < features; f++)
            bits[f * words + r / 64] = word[f];
    }
}

void hash_values(const struct fm_term *t, size_t g, const struct hash_rows *h, void *work,
                 double *z, size_t ldz)
{
    const size_t features = group_size(t, g);
    double *value = work;
    float *key = (float *)(void *)(value + h->npairs * HASH_GROUP);

    group_keys(t, g, h, key, value);
    for (size_t r = 0; r < h->n; r++)
        for (size_t f = 0; f < features; f++) {
            size_t least = h->at[h->first[r]];
            for (size_t i = h->first[r] + 1; i < h->first[r + 1]; i++)
                if (key[h->at[i] * HASH_GROUP + f] < key[least * HASH_GROUP + f])
                    least = h->at[i];
            z[r * ldz + f] = value[least * HASH_GROUP + f];
        }
}
