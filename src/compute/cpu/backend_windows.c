/* compute/cpu/backend_windows.c -- sums over the windows of sequences (backend_windows.h;
 * share/doc/methods.md 4.1). */
#include "compute/cpu/backend_windows.h"
#include "compute/features/hash.h"
#include "compute/features/tensor.h"
#include "compute/features/words.h"
#include "compute/kernels/layers/windows.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4 * WINDOWS_ROWS_MOST };

/* Full lanes of windows with the rows that have them.  They are kept, because dense filters are
 * applied a block at a time to many of them, while the block is in the cache. */
enum { KEPT_MOST = 192 };
struct kept {
    size_t used;
    const double *at[SIMD_LANES_MOST];
    uint32_t first[WINDOWS_ROWS_MOST + 1];
    uint8_t lane[WINDOWS_ROWS_MOST * SIMD_LANES_MOST];
};

/* A tile in progress.  Windows are collected until they fill the lanes, then their features are
 * made and added. */
struct tile {
    const struct fm_term *t;
    const struct simd_real *real;
    const struct simd_term *term;
    const double *x;
    size_t ldx, n, per;
    bool derivative;
    void *z, *scratch;
    size_t ldz;
    uint64_t *hash;           /* n x (positions + 1): hashes of the numbers of each position */
    size_t ldh;
    const double *at[SIMD_LANES_MOST];
    size_t used;              /* lanes in use */
    size_t count[WINDOWS_ROWS_MOST];
    uint8_t lane[WINDOWS_ROWS_MOST][SIMD_LANES_MOST]; /* of each row: those it has, in order */
    struct simd_windows k;
    struct simd_dense dense;  /* filter NULL: none */
    struct kept *kept;        /* KEPT_MOST of them */
    size_t nkept;
};

static uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    return h;
}

static void hash_positions(struct tile *s)
{
    for (size_t r = 0; r < s->n; r++) {
        const double *x = s->x + r * s->ldx;
        const size_t len = windows_count(s->t->windows, x) ? (size_t)x[0] : 0;
        for (size_t p = 0; p < len; p++) {
            uint64_t h = 1, bits;
            for (size_t i = 0; i < s->per; i++) {
                memcpy(&bits, x + 1 + p * s->per + i, sizeof bits);
                h = mix(h + bits);
            }
            s->hash[r * s->ldh + p] = h;
        }
    }
}

static void take(struct tile *s, const struct kept *k)
{
    s->k.n = k->used;
    s->k.at = k->at;
    s->k.rows = s->n;
    s->k.first = k->first;
    s->k.lane = k->lane;
}

/* Applies one block of dense filters after another, each to all kept windows. */
static void run_kept(struct tile *s)
{
    for (size_t j0 = 0; j0 < s->dense.mf; j0 += SIMD_DENSE_BLOCK)
        for (size_t i = 0; i < s->nkept; i++) {
            take(s, &s->kept[i]);
            s->real->dense(&s->dense, j0, &s->k, s->z, s->ldz);
        }
    s->nkept = 0;
}

static void flush(struct tile *s)
{
    struct kept *k = &s->kept[s->nkept];

    if (s->used == 0)
        return;
    k->first[0] = 0;
    for (size_t r = 0; r < s->n; r++) {
        memcpy(k->lane + k->first[r], s->lane[r], s->count[r]);
        k->first[r + 1] = k->first[r] + (uint32_t)s->count[r];
        s->count[r] = 0;
    }
    memcpy(k->at, s->at, s->used * sizeof *k->at);
    k->used = s->used;
    s->used = 0;
    if (s->dense.filter) {
        if (++s->nkept == KEPT_MOST)
            run_kept(s);
        return;
    }
    take(s, k);
    s->real->windows(s->term, &s->k, s->z, s->ldz, s->scratch);
}

/* Finds the distinct windows that begin at position a, each with the rows that have it.  A row has
 * at most one window at a position. */
static void add_position(struct tile *s, size_t a, uint32_t *slot, uint32_t stamp)
{
    const struct layer *w = s->t->windows;
    const size_t bytes = w->width * s->per * sizeof(double);
    const double *seen[WINDOWS_ROWS_MOST];
    uint32_t group[WINDOWS_ROWS_MOST];
    size_t groups = 0;

    for (size_t r = 0; r < s->n; r++) {
        const double *x = s->x + r * s->ldx;
        group[r] = UINT32_MAX;
        if (a >= windows_count(w, x))
            continue;
        const double *win = x + 1 + a * s->per;
        uint64_t h = 0;
        for (size_t q = 0; q < w->width; q++)
            h = h * 0x9e3779b97f4a7c15u + s->hash[r * s->ldh + a + q];
        size_t i = (size_t)(mix(h) % SLOTS);
        /* A slot holds the stamp of the position and the index of a window. */
        while (slot[2 * i] == stamp && memcmp(seen[slot[2 * i + 1]], win, bytes) != 0)
            i = (i + 1) % SLOTS;
        if (slot[2 * i] != stamp) {
            slot[2 * i] = stamp;
            slot[2 * i + 1] = (uint32_t)groups;
            seen[groups++] = win;
        }
        group[r] = slot[2 * i + 1];
    }
    for (size_t g = 0; g < groups; g++) {
        if (s->used == s->real->lanes)
            flush(s);
        for (size_t r = 0; r < s->n; r++)
            if (group[r] == g)
                s->lane[r][s->count[r]++] = (uint8_t)s->used;
        s->at[s->used++] = seen[g];
    }
}

static void scale_row(const struct simd_real *real, size_t cols, double c, void *z)
{
    if (real->size == sizeof(double))
        for (size_t j = 0; j < cols; j++)
            ((double *)z)[j] *= c;
    else
        for (size_t j = 0; j < cols; j++)
            ((float *)z)[j] *= (float)c;
}

static size_t filter_ld(const struct fm_term *t)
{
    return (t->nb * t->D + SIMD_DENSE_PAD - 1) / SIMD_DENSE_PAD * SIMD_DENSE_PAD;
}

float *windows_filters(const struct fm_term *t, struct err *err)
{
    const size_t ld = filter_ld(t), n = t->nb * t->D;
    float *f = mem_aligned(ld * t->d, sizeof *f, "dense filters", err);

    for (size_t i = 0; f && i < t->d; i++)
        for (size_t j = 0; j < ld; j++)
            f[i * ld + j] = j < n ? (float)(t->filter[i * n + j] * M_1_PI) : 0.0F;
    return f;
}

static struct simd_dense dense_of(const struct windows *w, const struct simd_real *real)
{
    const struct fm_term *t = w->t;
    const bool narrow = real->size == sizeof(float);
    const double inv = featmap_sums_dense(t) ? 1.0 / w->hp[t->hp0] : 0.0;

    return (struct simd_dense){ .d = t->d, .mf = t->mf, .ld = narrow ? filter_ld(t) : t->nb * t->D,
                                .filter = narrow ? (const void *)w->dense : t->filter,
                                .inv = narrow ? inv : inv * M_1_PI };
}

static size_t sum_columns(const struct fm_term *t)
{
    return (t->sum_paired ? 2 : 1) * t->mf;
}

/* Workspace. */

/* Offsets in w->room, in bytes: the tile, the slots of a position's windows, hashes of all
 * positions, kept windows, windows as inputs and as columns, the words of a row, sums in
 * float64. */
struct places { size_t slot, hash, kept, x, turned, words, sum, end; };

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The offsets for `rows` rows of d numbers, with `sums` sums in float64 for each. */
static struct places places_of(const struct windows *w, size_t rows, size_t d, size_t sums)
{
    const struct fm_term *t = w->t;
    const struct simd_real *f32 = &w->simd->f32, *f64 = &w->simd->f64;
    const bool dense = featmap_sums_dense(t), made_here = dense || featmap_sums_plain(t);
    const size_t lanes = larger(f32->lanes, 4),
                 lanes64 = larger(f64->lanes, 4); /* dense: four windows at once */
    const size_t cols = (dense ? 2 * SIMD_DENSE_BLOCK : 2 * t->D) + SIMD_TURNED_PAD;
    const size_t per = t->windows->symbols ? 1 : t->windows->channels; /* numbers of a position */
    struct places p;

    p.slot = mem_lines(sizeof(struct tile));
    p.hash = p.slot + 2 * SLOTS * sizeof(uint32_t);
    p.kept = p.hash + mem_lines((rows * (d / per) + 1) * sizeof(uint64_t));
    p.x = p.kept + mem_lines((dense ? KEPT_MOST : 1) * sizeof(struct kept));
    p.turned = p.x + mem_lines(lanes * t->d * sizeof(double));
    p.sum = p.turned + mem_lines(larger(lanes * cols * f32->size, lanes64 * cols * f64->size));
    if (!made_here) /* backend_steps.c makes the columns, or tensor.c */
        p.sum = t->tensor ? tensor_room(t->tensor, d) : 0;
    p.words = p.sum;
    p.sum += featmap_is_words(t) ? mem_lines(t->mf * sizeof(double)) : 0;
    p.end = p.sum + mem_lines(sums * rows * sum_columns(t) * sizeof(double));
    return p;
}

/* True for float32 features whose sums are made in float64: those of dense filters with heavy tails
 * (chains have their own way), and those of factors of a product. */
static bool needs_sum(const struct windows *w)
{
    return steps_turns(w->steps, w->t) || (featmap_sums_dense(w->t) && w->t->phase64);
}

size_t windows_room(const struct windows *w, size_t rows, size_t d, bool back)
{
    return places_of(w, rows, d, back ? 2 : needs_sum(w)).end;
}

static void *room_at(const struct windows *w, size_t at)
{
    return (char *)w->room + at;
}

/* Sums over windows. */

static struct tile *tile_in_room(const struct windows *u, const struct simd_real *real,
                                 const struct simd_inputs *in, size_t longest, struct places at)
{
    const struct fm_term *t = u->t;
    const struct layer *w = t->windows;
    struct tile *s = u->room;

    *s = (struct tile){.t = t,
                       .real = real,
                       .term = real == &u->simd->f64 ? u->term64 : u->term,
                       .x = in->x,
                       .ldx = in->ldx,
                       .n = in->n,
                       .scratch = u->scratch,
                       .per = w->symbols ? 1 : w->channels,
                       .ldh = longest,
                       .dense = dense_of(u, real),
                       .hash = room_at(u, at.hash),
                       .kept = room_at(u, at.kept)};
    s->k = (struct simd_windows){ .width = w->width, .channels = w->channels, .symbols = w->symbols,
                                  .x = room_at(u, at.x), .turned = room_at(u, at.turned) };
    return s;
}

/* For up to u->rows rows of sequences: sums over windows, or their derivatives in log l, times
 * `out` and the factor of each row. */
static void windows_rows(const struct windows *u, const struct simd_real *real,
                         const struct simd_inputs *in, bool derivative, double out, void *z,
                         size_t ldz)
{
    const struct fm_term *t = u->t;
    const double *x = in->x;
    const size_t ldx = in->ldx, n = in->n;
    const struct layer *w = t->windows;
    const struct places at = places_of(u, u->rows, u->d, 0);
    uint32_t *slot = room_at(u, at.slot);
    size_t longest = 0, most = 0;

    for (size_t r = 0; r < n; r++) {
        const size_t m = windows_count(w, x + r * ldx);
        most = m > most ? m : most;
        longest = m && (size_t)x[r * ldx] > longest ? (size_t)x[r * ldx] : longest;
    }
    struct tile *s = tile_in_room(u, real, in, longest, at);
    s->derivative = s->k.derivative = derivative;
    s->z = z;
    s->ldz = ldz;
    memset(slot, 0, 2 * SLOTS * sizeof *slot);
    for (size_t r = 0; r < n; r++)
        memset((char *)z + r * ldz * real->size, 0, t->cols * real->size);
    hash_positions(s);
    for (size_t a = 0; a < most; a++)
        add_position(s, a, slot, (uint32_t)(a + 1));
    flush(s);
    run_kept(s);
    for (size_t r = 0; r < n; r++)
        scale_row(real, t->cols, out * windows_factor(w, windows_count(w, x + r * ldx)),
                  (char *)z + r * ldz * real->size);
}

/* The part of the room for sums in float64, rows x columns. */
static double *room_for_sums(const struct windows *w)
{
    return room_at(w, places_of(w, w->rows, w->d, 0).sum);
}

/* Any term over windows. */

/* With heavy tails and dense filters, sums are made in float64 and rounded. */
static void heavy_rows(const struct windows *w, const struct simd_inputs *in, bool derivative,
                       double out, float *z, size_t ldz)
{
    const size_t cols = sum_columns(w->t);
    double *wide = room_for_sums(w);

    windows_rows(w, &w->simd->f64, in, derivative, out, wide, cols);
    for (size_t r = 0; r < in->n; r++)
        for (size_t j = 0; j < cols; j++)
            z[r * ldz + j] = (float)wide[r * cols + j];
}

/* Sums of stationary kernels, by chains or dense filters. */
static void paired_rows(const struct windows *w, const struct simd_real *real,
                        const struct simd_inputs *in, bool derivative, double out, void *z,
                        size_t ldz)
{
    if (featmap_sums_dense(w->t) && w->t->phase64 && real->size == sizeof(float))
        heavy_rows(w, in, derivative, out, z, ldz);
    else
        windows_rows(w, real, in, derivative, out, z, ldz);
}

static struct steps_work steps_of(const struct windows *w, const struct simd_real *real)
{
    return (struct steps_work){w->steps, w->simd, real, w->hp, w->scratch};
}

static void put_row(const struct simd_real *real, void *z, size_t at, double v)
{
    if (real->size == sizeof(double))
        ((double *)z)[at] = v;
    else
        ((float *)z)[at] = (float)v;
}

/* Signs from bits. */
static void sign_rows(const struct windows *w, const struct simd_real *real, size_t n, double out,
                      void *z, size_t ldz)
{
    for (size_t j = 0; j < w->t->mf; j++)
        for (size_t r = 0; r < n; r++) {
            const size_t at = w->row + r;
            put_row(real, z, r * ldz + j,
                    w->bits[j * w->words + at / 64] >> (at % 64) & 1 ? -out : out);
        }
}

/* The symbols of rows of counts: the rows of a tile share draws and keys.  Without memory for that
 * each is made by itself. */
static void hash_rows(const struct windows *w, const struct simd_real *real,
                      const struct simd_inputs *in, double out, void *z, size_t ldz)
{
    const struct fm_term *t = w->t;
    struct hash_rows *h = hash_rows_new(NULL);
    double *value = NULL;
    void *work = NULL;

    if (h && hash_rows_add(h, in->n, in->x, in->ldx, NULL) == ST_OK &&
        hash_rows_end(h, NULL) == ST_OK) {
        work = mem_aligned(hash_work_bytes(h), 1, "keys of counts", NULL);
        value = mem_aligned(in->n, HASH_GROUP * sizeof *value, "hashes", NULL);
    }
    for (size_t g = 0; g * HASH_GROUP < t->mf; g++) {
        if (work && value)
            hash_values(t, g, h, work, value, HASH_GROUP);
        for (size_t r = 0; r < in->n; r++)
            for (size_t j = g * HASH_GROUP; j < t->mf && j < (g + 1) * HASH_GROUP; j++)
                put_row(real, z, r * ldz + j,
                        out * (work && value ? value[r * HASH_GROUP + j % HASH_GROUP]
                                             : hash_value(t, j, in->x + r * in->ldx)));
    }
    free(value);
    free(work);
    hash_rows_free(h);
}

/* Counts of words, made in float64 in the room for sums. */
static void words_rows(const struct windows *w, const struct simd_real *real,
                       const struct simd_inputs *in, double out, void *z, size_t ldz)
{
    double *row = room_at(w, places_of(w, w->rows, w->d, 1).words);

    for (size_t r = 0; r < in->n; r++) {
        words_row(w->t, in->x + r * in->ldx, row);
        for (size_t j = 0; j < w->t->mf; j++)
            put_row(real, z, r * ldz + j, out * row[j]);
    }
}

static void tensor_columns(const struct windows *w, const struct simd_real *real,
                           const struct simd_inputs *in, double out, void *z, size_t ldz)
{
    const struct tensor_to to = { .out = out, .ld = ldz,
                                  .z64 = real->size == sizeof(double) ? z : NULL, .z32 = z };

    tensor_rows(w->t->tensor, &w->simd->tensor, in->n, in->x, in->ldx, w->d, &to, w->room);
}

/* The sums over windows with which a term begins. */
static void sum_rows(const struct windows *w, const struct simd_real *real,
                     const struct simd_inputs *in, double out, void *z, size_t ldz)
{
    const struct fm_term *t = w->t;
    const struct simd_inputs own = {in->x + featmap_first(t, in->x), in->ldx, in->n};
    const struct steps_work work = steps_of(w, real);

    if (w->bits)
        sign_rows(w, real, in->n, out, z, ldz);
    else if (featmap_is_hashed(t))
        hash_rows(w, real, &own, out, z, ldz);
    else if (featmap_is_words(t))
        words_rows(w, real, &own, out, z, ldz);
    else if (t->tensor)
        tensor_columns(w, real, &own, out, z, ldz);
    else if (featmap_sums_plain(t) || featmap_sums_dense(t))
        paired_rows(w, real, &own, false, out, z, ldz);
    else
        steps_sum_rows(&work, t, &own, out, z, ldz);
}

void windows_slopes(const struct windows *w, const struct simd_real *real,
                    const struct simd_inputs *in, double out, void *z, size_t ldz)
{
    const struct simd_inputs own = {in->x + featmap_first(w->t, in->x), in->ldx, in->n};

    paired_rows(w, real, &own, true, out, z, ldz);
}

void windows_columns(const struct windows *w, const struct simd_real *real,
                     const struct simd_inputs *in, double out, void *z, size_t ldz)
{
    const size_t cols = sum_columns(w->t);
    const struct steps_work work = steps_of(w, real);
    double *sum = room_for_sums(w);

    if (!steps_turns(w->steps, w->t)) {
        sum_rows(w, real, in, out, z, ldz);
        return;
    }
    sum_rows(w, &w->simd->f64, in, out, sum, cols);
    steps_turn_rows(&work, w->t, in, sum, cols, z, ldz);
}

/* The derivative in the lengthscale of a sum over windows from `back`, the derivatives in the
 * sums. */
static void sum_back(const struct windows *w, const struct simd_inputs *in, double out,
                     const double *back, double *dz, double *grad)
{
    const struct fm_term *t = w->t;
    const size_t cols = sum_columns(t);

    if (!featmap_sums_plain(t) && !featmap_sums_dense(t)) /* it has no hyperparameter */
        return;
    windows_slopes(w, &w->simd->f64, in, out, dz, cols);
    for (size_t r = 0; r < in->n; r++)
        for (size_t j = 0; j < cols; j++)
            grad[t->hp0] += dz[r * cols + j] * back[r * cols + j];
}

void windows_back(const struct windows *w, const struct simd_inputs *in, double out,
                  const struct steps_back *b, double *grad)
{
    const struct fm_term *t = w->t;
    const size_t cols = sum_columns(t), L = w->simd->f64.lanes, n = in->n;
    const struct steps_work work = steps_of(w, &w->simd->f64);
    double *sum = room_for_sums(w), *back = sum + n * cols;

    if (steps_turns(w->steps, t)) {
        sum_rows(w, &w->simd->f64, in, out, sum, cols);
        for (size_t r = 0; r < n; r += L) {
            const struct simd_inputs some = {in->x + r * in->ldx, in->ldx, n - r < L ? n - r : L};
            const struct steps_back of = {b->B + r * b->ld, b->ld,
                                          b->factor ? b->factor + r : NULL};
            steps_turn_grad(&work, t, &some, sum + r * cols, back + r * cols, cols, &of, grad);
        }
    } else {
        for (size_t r = 0; r < n; r++)
            for (size_t j = 0; j < cols; j++)
                back[r * cols + j] =
                    b->B[r * b->ld + t->col0 + j] * (b->factor ? b->factor[r] : 1.0);
    }
    sum_back(w, in, out, back, sum, grad);
}
