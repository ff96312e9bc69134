/* compute/backend_windows.c -- see backend_windows.h. */
#include "compute/backend_windows.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4 * WINDOWS_ROWS_MOST };

struct place { uint32_t row; uint8_t lane; };

/* A tile on its way.  The windows in hand fill the lanes; then they are made and added. */
struct tile {
    const struct fm_term *t;
    const struct simd_real *real;
    const struct simd_term *term;
    const double *x;
    size_t ldx, n, per;
    bool derivative;
    void *z, *scratch;
    size_t ldz;
    uint64_t *hash;           /* n x positions + 1: of the numbers of a position */
    size_t ldh;
    const double *at[SIMD_LANES_MOST];
    size_t used;              /* lanes */
    size_t count[WINDOWS_ROWS_MOST];
    uint8_t lane[WINDOWS_ROWS_MOST][SIMD_LANES_MOST]; /* of each row: those it has, in order */
    struct simd_windows k;
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
        const size_t len = kernel_windows(s->t->windows, x) ? (size_t)x[0] : 0;
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

static void flush(struct tile *s)
{
    uint8_t all[WINDOWS_ROWS_MOST * SIMD_LANES_MOST];
    uint32_t first[WINDOWS_ROWS_MOST + 1];

    if (s->used == 0)
        return;
    first[0] = 0;
    for (size_t r = 0; r < s->n; r++) {
        memcpy(all + first[r], s->lane[r], s->count[r]);
        first[r + 1] = first[r] + (uint32_t)s->count[r];
        s->count[r] = 0;
    }
    s->k.n = s->used;
    s->k.at = s->at;
    s->k.rows = s->n;
    s->k.first = first;
    s->k.lane = all;
    s->real->windows(s->term, &s->k, s->z, s->ldz, s->scratch);
    s->used = 0;
}

/* The different windows that begin at position a, each with the rows that have it.  At most one
 * window a row: a row never has more lanes than there are. */
static void add_position(struct tile *s, size_t a, uint32_t *slot, uint32_t stamp)
{
    const struct kernel_layer *w = s->t->windows;
    const size_t bytes = w->width * s->per * sizeof(double);
    const double *seen[WINDOWS_ROWS_MOST];
    uint32_t group[WINDOWS_ROWS_MOST];
    size_t groups = 0;

    for (size_t r = 0; r < s->n; r++) {
        const double *x = s->x + r * s->ldx;
        group[r] = UINT32_MAX;
        if (a >= kernel_windows(w, x))
            continue;
        const double *win = x + 1 + a * s->per;
        uint64_t h = 0;
        for (size_t q = 0; q < w->width; q++)
            h = h * 0x9e3779b97f4a7c15u + s->hash[r * s->ldh + a + q];
        size_t i = (size_t)(mix(h) % SLOTS);
        /* a slot: stamp of the position, number of the window */
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

enum status windows_rows(const struct fm_term *t, const struct simd_real *real,
                         const struct simd_term *term, const double *x, size_t ldx, size_t n,
                         bool derivative, double out, void *z, size_t ldz, void *scratch,
                         struct err *err)
{
    const struct kernel_layer *w = t->windows;
    struct tile *s = mem_calloc(1, sizeof *s, "windows", err);
    size_t longest = 0, most = 0;

    for (size_t r = 0; r < n; r++) {
        const size_t m = kernel_windows(w, x + r * ldx);
        most = m > most ? m : most;
        longest = m && (size_t)x[r * ldx] > longest ? (size_t)x[r * ldx] : longest;
    }
    uint32_t *slot = s ? mem_calloc(SLOTS, 2 * sizeof *slot, "windows", err) : NULL;
    if (s) {
        *s = (struct tile){ .t = t, .real = real, .term = term, .x = x, .ldx = ldx, .n = n,
                            .per = w->symbols ? 1 : w->channels, .derivative = derivative, .z = z,
                            .ldz = ldz, .scratch = scratch, .ldh = longest };
        s->hash = mem_calloc(n * longest + 1, sizeof *s->hash, "windows", err);
        s->k = (struct simd_windows){ .width = w->width, .channels = w->channels,
                                      .symbols = w->symbols, .derivative = derivative };
        s->k.x = mem_aligned(real->lanes * t->d, sizeof(double), "windows", err);
        s->k.turned = mem_aligned(real->lanes * (2 * t->D + SIMD_TURNED_PAD), real->size, "windows",
                                  err);
    }
    const bool ok = s && slot && s->hash && s->k.x && s->k.turned;
    for (size_t r = 0; ok && r < n; r++)
        memset((char *)z + r * ldz * real->size, 0, t->cols * real->size);
    if (ok)
        hash_positions(s);
    for (size_t a = 0; ok && a < most; a++)
        add_position(s, a, slot, (uint32_t)(a + 1));
    if (ok)
        flush(s);
    for (size_t r = 0; ok && r < n; r++)
        scale_row(real, t->cols, out * kernel_window_factor(w, kernel_windows(w, x + r * ldx)),
                  (char *)z + r * ldz * real->size);
    if (s) {
        free(s->hash);
        free(s->k.x);
        free(s->k.turned);
    }
    free(s);
    free(slot);
    return ok ? ST_OK : ST_NOMEM;
}

/* ---- any term over windows ----------------------------------------------------------------------- */

/* The sums that the term begins with. */
static enum status sum_rows(const struct windows *w, const struct simd_real *real, const double *x, size_t ldx,
                            size_t n, double out, void *z, size_t ldz, void *scratch, struct err *err)
{
    const struct fm_term *t = w->t;

    if (featmap_sums_plain(t))
        return windows_rows(t, real, real == &w->simd->f64 ? w->term64 : w->term, x + t->first, ldx, n, false,
                            out, z, ldz, scratch, err);
    steps_sum_rows(w->steps, t, real, w->hp, out, x + t->first, ldx, n, z, ldz, scratch);
    return ST_OK;
}

static size_t sum_columns(const struct fm_term *t)
{
    return (t->sum_paired ? 2 : 1) * t->mf;
}

enum status windows_columns(const struct windows *w, const struct simd_real *real, const double *x, size_t ldx,
                            size_t n, double out, void *z, size_t ldz, void *scratch, struct err *err)
{
    if (!steps_turns(w->steps, w->t))
        return sum_rows(w, real, x, ldx, n, out, z, ldz, scratch, err);
    const size_t cols = sum_columns(w->t);
    double *sum = mem_aligned(n * cols, sizeof *sum, "sums over windows", err);
    const enum status rc = sum ? sum_rows(w, &w->simd->f64, x, ldx, n, out, sum, cols, scratch, err) : ST_NOMEM;

    if (rc == ST_OK)
        steps_turn_rows(w->steps, w->t, w->simd, real, w->hp, x, ldx, n, sum, cols, z, ldz, scratch);
    free(sum);
    return rc;
}

/* back: what comes back to the sums, of whose features the hyperparameter is the lengthscale. */
static enum status sum_back(const struct windows *w, const double *x, size_t ldx, size_t n, double out,
                            const double *back, double *dz, double *grad, void *scratch, struct err *err)
{
    const struct fm_term *t = w->t;
    const size_t cols = sum_columns(t);

    if (!featmap_sums_plain(t)) /* has no hyperparameter */
        return ST_OK;
    const enum status rc = windows_rows(t, &w->simd->f64, w->term64, x + t->first, ldx, n, true, out, dz, cols,
                                        scratch, err);
    for (size_t r = 0; rc == ST_OK && r < n; r++)
        for (size_t j = 0; j < cols; j++)
            grad[t->hp0] += dz[r * cols + j] * back[r * cols + j];
    return rc;
}

enum status windows_back(const struct windows *w, const double *x, size_t ldx, size_t n, double out,
                         const double *B, size_t ld, const double *factor, double *grad, void *scratch,
                         struct err *err)
{
    const struct fm_term *t = w->t;
    const size_t cols = sum_columns(t), L = w->simd->f64.lanes;
    double *sum = mem_aligned(2 * n * cols, sizeof *sum, "derivatives over windows", err);
    double *back = sum ? sum + n * cols : NULL;
    enum status rc = sum ? ST_OK : ST_NOMEM;

    if (rc == ST_OK && steps_turns(w->steps, t)) {
        rc = sum_rows(w, &w->simd->f64, x, ldx, n, out, sum, cols, scratch, err);
        for (size_t r = 0; rc == ST_OK && r < n; r += L)
            steps_turn_grad(w->steps, t, w->simd, w->hp, x + r * ldx, ldx, n - r < L ? n - r : L, sum + r * cols,
                            back + r * cols, cols, B + r * ld, ld, factor ? factor + r : NULL, grad, scratch);
    } else if (rc == ST_OK) {
        for (size_t r = 0; r < n; r++)
            for (size_t j = 0; j < cols; j++)
                back[r * cols + j] = B[r * ld + t->col0 + j] * (factor ? factor[r] : 1.0);
    }
    if (rc == ST_OK)
        rc = sum_back(w, x, ldx, n, out, back, sum, grad, scratch, err);
    free(sum);
    return rc;
}
