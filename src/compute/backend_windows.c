/* compute/backend_windows.c -- see backend_windows.h. */
#include "compute/backend_windows.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4 * WINDOWS_ROWS_MOST };

/* Windows that filled the lanes, and the rows that have them: kept, as dense filters are taken a block at a
 * time for many of them, while the block's numbers are in the cache. */
enum { KEPT_MOST = 192 };
struct kept {
    size_t used;
    const double *at[SIMD_LANES_MOST];
    uint32_t first[WINDOWS_ROWS_MOST + 1];
    uint8_t lane[WINDOWS_ROWS_MOST * SIMD_LANES_MOST];
};

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

static void take(struct tile *s, const struct kept *k)
{
    s->k.n = k->used;
    s->k.at = k->at;
    s->k.rows = s->n;
    s->k.first = k->first;
    s->k.lane = k->lane;
}

/* Block after block of the dense filters, each for all windows that were kept. */
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

/* n <= WINDOWS_ROWS_MOST rows x of sequences (ldx apart): sums over windows or their derivatives in log l,
 * times `out` and each row's own factor. */
static enum status windows_rows(const struct windows *u, const struct simd_real *real, const double *x, size_t ldx,
                                size_t n, bool derivative, double out, void *z, size_t ldz, void *scratch,
                                struct err *err)
{
    const struct fm_term *t = u->t;
    const struct simd_term *term = real == &u->simd->f64 ? u->term64 : u->term;
    const struct kernel_layer *w = t->windows;
    const struct simd_dense dense = dense_of(u, real);
    const size_t lanes = real->lanes < 4 ? 4 : real->lanes; /* dense filters take four windows at once */
    const size_t turned = dense.filter ? 2 * SIMD_DENSE_BLOCK : 2 * t->D;
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
                            .ldz = ldz, .scratch = scratch, .ldh = longest, .dense = dense };
        s->hash = mem_calloc(n * longest + 1, sizeof *s->hash, "windows", err);
        s->k = (struct simd_windows){ .width = w->width, .channels = w->channels,
                                      .symbols = w->symbols, .derivative = derivative };
        s->kept = mem_calloc(dense.filter ? KEPT_MOST : 1, sizeof *s->kept, "windows", err);
        s->k.x = mem_aligned(lanes * t->d, sizeof(double), "windows", err);
        s->k.turned = mem_aligned(lanes * (turned + SIMD_TURNED_PAD), real->size, "windows",
                                  err);
    }
    const bool ok = s && slot && s->hash && s->kept && s->k.x && s->k.turned;
    for (size_t r = 0; ok && r < n; r++)
        memset((char *)z + r * ldz * real->size, 0, t->cols * real->size);
    if (ok)
        hash_positions(s);
    for (size_t a = 0; ok && a < most; a++)
        add_position(s, a, slot, (uint32_t)(a + 1));
    if (ok)
        flush(s);
    if (ok)
        run_kept(s);
    for (size_t r = 0; ok && r < n; r++)
        scale_row(real, t->cols, out * kernel_window_factor(w, kernel_windows(w, x + r * ldx)),
                  (char *)z + r * ldz * real->size);
    if (s) {
        free(s->hash);
        free(s->kept);
        free(s->k.x);
        free(s->k.turned);
    }
    free(s);
    free(slot);
    return ok ? ST_OK : ST_NOMEM;
}

/* ---- any term over windows ----------------------------------------------------------------------- */

static size_t sum_columns(const struct fm_term *t)
{
    return (t->sum_paired ? 2 : 1) * t->mf;
}

/* Sums of heavy tails by dense filters are made in float64 and rounded (chains have their own way). */
static enum status heavy_rows(const struct windows *w, const double *x, size_t ldx, size_t n, bool derivative,
                              double out, float *z, size_t ldz, void *scratch, struct err *err)
{
    const size_t cols = sum_columns(w->t);
    double *wide = mem_aligned(n * cols, sizeof *wide, "sums over windows", err);
    const enum status rc = wide ? windows_rows(w, &w->simd->f64, x, ldx, n, derivative, out, wide, cols, scratch,
                                               err) : ST_NOMEM;

    for (size_t r = 0; rc == ST_OK && r < n; r++)
        for (size_t j = 0; j < cols; j++)
            z[r * ldz + j] = (float)wide[r * cols + j];
    free(wide);
    return rc;
}

/* Of stationary kernels, by chains or dense filters. */
static enum status paired_rows(const struct windows *w, const struct simd_real *real, const double *x, size_t ldx,
                               size_t n, bool derivative, double out, void *z, size_t ldz, void *scratch,
                               struct err *err)
{
    if (featmap_sums_dense(w->t) && w->t->phase64 && real->size == sizeof(float))
        return heavy_rows(w, x, ldx, n, derivative, out, z, ldz, scratch, err);
    return windows_rows(w, real, x, ldx, n, derivative, out, z, ldz, scratch, err);
}

/* The sums that the term begins with. */
static enum status sum_rows(const struct windows *w, const struct simd_real *real, const double *x, size_t ldx,
                            size_t n, double out, void *z, size_t ldz, void *scratch, struct err *err)
{
    const struct fm_term *t = w->t;

    if (featmap_sums_plain(t) || featmap_sums_dense(t))
        return paired_rows(w, real, x + t->first, ldx, n, false, out, z, ldz, scratch, err);
    steps_sum_rows(w->steps, t, real, w->hp, out, x + t->first, ldx, n, z, ldz, scratch);
    return ST_OK;
}

enum status windows_slopes(const struct windows *w, const struct simd_real *real, const double *x, size_t ldx,
                           size_t n, double out, void *z, size_t ldz, void *scratch, struct err *err)
{
    return paired_rows(w, real, x + w->t->first, ldx, n, true, out, z, ldz, scratch, err);
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

    if (!featmap_sums_plain(t) && !featmap_sums_dense(t)) /* has no hyperparameter */
        return ST_OK;
    const enum status rc = windows_slopes(w, &w->simd->f64, x, ldx, n, out, dz, cols, scratch, err);
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
