/* compute/cpu/backend_cpu.c -- the processor as a backend: recognises the paired SORF chain and
 * runs it fused, rows in vector lanes (simd.h); all other terms together are one part of the
 * columns, made by backend_steps.c.
 *
 * Rows are cut into tiles whose features fit the second-level cache; a tile's features are made
 * once, met by the right-hand sides column by column, and used again for Z't while still there.
 * Tiles are dealt to a fixed number of groups; a group adds its tiles in order into its own double
 * sums, groups are added in order: the thread count changes nothing. */
#include "compute/backend.h"

#include "base/mem.h"
#include "compute/cpu/backend_steps.h"
#include "compute/cpu/backend_windows.h"
#include "compute/cpu/simd.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUPS_MOST = 32,   /* partial sums over rows */
    TILE_ROWS_MOST = 128,
    TILE_ROWS_STEP = 16, /* the most lanes of any level: tiles do not depend on the level */
    RHS_BLOCK = 8,      /* from here on right-hand sides go in groups of a vector */
    MERGE_COLS = 128,   /* columns of one task when groups are added */
    LANES_MOST = 16,
};
static const size_t tile_bytes = (size_t)1 << 19; /* two of them fit a second-level cache */
static const size_t row_bytes = (size_t)16 << 20; /* of the rows of a tile */

struct worker {
    char *z;       /* tile of features, when not stored: M x R */
    double *x, *t; /* R x d; kcap x R */
    char *tr;      /* t rounded: kcap x R; of those in groups R x lanes each */
    char *blocks;  /* stored features: sums of R rows for each block of the longest term */
    char *rows;    /* of a part over windows: row-major, and its room (backend_windows.h) */
    void *scratch;
};

/* Columns that are made alike: those of a plain term, or of all that are none (fm NULL). */
struct part {
    const struct fm_term *fm;
    size_t col0, cols;
    double out; /* columns in a tile lack this factor */
};

struct cpu {
    const struct featmap *fm;
    const struct source *src;
    struct fop_opts opts;
    const struct simd *simd;
    const struct simd_real *real; /* of the precision asked for */
    struct part *seg;
    size_t nseg;
    struct simd_term *term, *term64; /* of each part, for real; for float64 tiles (the same when
                                      * real is f64) */
    struct steps *steps; /* of the last part, and of windows; NULL: all chains are plain */
    bool windows;                    /* a part is of windows: rows hold sequences */
    float **dense; /* of each part: its dense filters (windows_filters), or NULL */
    double *hp;
    size_t n, M, R, tiles, groups, kcap;
    struct worker *worker;
    size_t workers;
    struct mem_spares spares; /* for rows that are asked for a few at a time */
    double *part; /* groups x kcap x M; of right-hand sides in groups M x lanes each */
    char *P;      /* kcap x M, likewise; rounded, scaled by sqrt(1/mf) */
    char *Z;      /* stored features: tiles x M x R; or NULL */
    bool filled;
    uint16_t *half; /* the same in float16, and whether they are there; for passes alone */
    bool half_filled;
};

/* Opening. */

static void workers_free(struct cpu *c)
{
    for (size_t i = 0; c->worker && i < c->workers; i++) {
        struct worker *w = &c->worker[i];
        free(w->z);
        free(w->x);
        free(w->t);
        free(w->tr);
        free(w->blocks);
        free(w->rows);
        free(w->scratch);
    }
    free(c->worker);
    c->worker = NULL;
}

static void terms_free(const struct cpu *c, struct simd_term *t)
{
    for (size_t i = 0; t && i < c->nseg; i++)
        simd_term_free(&t[i]);
    free(t);
}

static void cpu_close(void *state)
{
    struct cpu *c = state;

    if (!c)
        return;
    workers_free(c);
    mem_spares_free(&c->spares);
    if (c->term64 != c->term)
        terms_free(c, c->term64);
    terms_free(c, c->term);
    steps_free(c->steps);
    for (size_t i = 0; c->dense && i < c->nseg; i++)
        free(c->dense[i]);
    free(c->dense);
    free(c->seg);
    free(c->hp);
    free(c->part);
    free(c->P);
    free(c->Z);
    free(c->half);
    free(c);
}

/* Plain terms first, then sums over windows, as their columns are; one part for all others. */
static enum status parts_make(struct cpu *c, struct err *err)
{
    size_t col = 0;

    c->seg = mem_calloc(c->fm->nterms + 1, sizeof *c->seg, "feature terms", err);
    if (!c->seg)
        return ST_NOMEM;
    for (size_t at = 0; at < 2 * c->fm->nterms; at++) {
        const struct fm_term *t = &c->fm->term[at % c->fm->nterms];
        c->windows |= featmap_is_windowed(t);
        if (at < c->fm->nterms ? !featmap_is_plain(t) : !featmap_is_windowed(t))
            continue;
        c->seg[c->nseg++] = (struct part){.fm = t, .col0 = t->col0, .cols = t->cols, .out = t->out};
        col += t->cols;
    }
    if (col < c->M)
        c->seg[c->nseg++] = (struct part){ .col0 = col, .cols = c->M - col, .out = 1.0 };
    return steps_new(c->fm, &c->steps, err);
}

static enum status filters_make(struct cpu *c, struct err *err)
{
    c->dense = mem_calloc(c->nseg + 1, sizeof *c->dense, "feature terms", err);
    for (size_t i = 0; c->dense && i < c->nseg; i++)
        if (c->seg[i].fm && featmap_sums_dense(c->seg[i].fm) &&
            !(c->dense[i] = windows_filters(c->seg[i].fm, err)))
            return ST_NOMEM;
    return c->dense ? ST_OK : ST_NOMEM;
}

static struct simd_term *terms_new(struct cpu *c, const struct simd_real *real, struct err *err)
{
    enum { D = 64 }; /* columns of the other part are summed by as many pairs */
    struct simd_term *t = mem_calloc(c->nseg, sizeof *t, "feature terms", err);

    for (size_t i = 0; t && i < c->nseg; i++) {
        const size_t mf = c->seg[i].cols / 2;
        const struct fm_term *fm = c->seg[i].fm;
        if (!fm || (featmap_is_windowed(fm) && !featmap_sums_plain(fm))) {
            t[i] = (struct simd_term){ .d = c->fm->d, .D = D, .dp = D, .mf = mf,
                                       .nb = (mf + D - 1) / D };
        } else if (real->prepare(&t[i], c->seg[i].fm, err) != ST_OK) {
            terms_free(c, t);
            return NULL;
        }
    }
    return t;
}

static size_t scratch_bytes(const struct cpu *c)
{
    size_t most = c->steps ? steps_scratch(c->steps, c->real) : 0;

    for (size_t i = 0; i < c->nseg; i++) {
        const size_t a = c->real->scratch(&c->term[i]), b = c->simd->f64.scratch(&c->term64[i]);
        most = a > most ? a : most;
        most = b > most ? b : most;
    }
    return most;
}

static bool is_windows(const struct part *p)
{
    return p->fm && featmap_is_windowed(p->fm);
}

/* Part i, over windows, with room for a tile. */
static struct windows windows_of(const struct cpu *c, size_t i, void *room)
{
    return (struct windows){.t = c->seg[i].fm,
                            .simd = c->simd,
                            .term = &c->term[i],
                            .term64 = &c->term64[i],
                            .dense = c->dense[i],
                            .steps = c->steps,
                            .hp = c->hp,
                            .room = room,
                            .rows = c->R,
                            .d = c->src->d};
}

/* Room for a tile of any part; back: and for its derivatives. */
static size_t room_bytes(const struct cpu *c, bool back)
{
    size_t most = 0;

    for (size_t i = 0; i < c->nseg; i++)
        if (is_windows(&c->seg[i])) {
            const struct windows w = windows_of(c, i, NULL);
            const size_t bytes = windows_room(&w, c->R, c->src->d, back);
            most = bytes > most ? bytes : most;
        }
    return most;
}

/* Numbers between rows of a part's columns on their way into a tile, and bytes of all. */
static size_t rows_ld(const struct part *p)
{
    return p->cols + TILE_ROWS_STEP;
}

static size_t rows_bytes(const struct cpu *c)
{
    size_t most = 0;

    for (size_t i = 0; i < c->nseg; i++)
        if (is_windows(&c->seg[i]) && rows_ld(&c->seg[i]) > most)
            most = rows_ld(&c->seg[i]);
    return mem_lines(c->R * most * c->real->size);
}

/* How k right-hand sides are met: so many groups of a vector, then so many one by one.  A few left
 * over are cheaper alone than a vector that is mostly filled up with nothing. */
struct split { size_t groups, ones; };

static struct split rhs_split(const struct cpu *c, size_t k)
{
    const size_t lanes = c->real->lanes, groups = k / lanes, left = k % lanes;

    if (k < RHS_BLOCK)
        return (struct split){ 0, k };
    return left < RHS_BLOCK ? (struct split){ groups, left } : (struct split){ groups + 1, 0 };
}

/* Right-hand sides with those that fill up the last group. */
static size_t rhs_padded(const struct cpu *c, size_t k)
{
    const struct split split = rhs_split(c, k);

    return split.groups * c->real->lanes + split.ones;
}

/* Tiles whose ways back are taken together: with many right-hand sides the sums of a tile of few
 * rows (a vector of doubles for each column) would cost as much as its products. */
static size_t stack_tiles(const struct cpu *c, size_t k)
{
    return rhs_split(c, k).groups && !c->half ? TILE_ROWS_MOST / c->R : 1;
}

static size_t blocks_most(const struct cpu *c)
{
    size_t most = 1;

    for (size_t i = 0; i < c->nseg; i++)
        most = c->term[i].nb > most ? c->term[i].nb : most;
    return most;
}

/* Workspace for k right-hand sides; grows, never shrinks. */
static enum status cpu_reserve(struct cpu *c, size_t k, struct err *err)
{
    const size_t size = c->real->size, stack = stack_tiles(c, k);
    bool ok = true;

    k = rhs_padded(c, k);
    if (k <= c->kcap)
        return ST_OK;
    workers_free(c);
    free(c->part);
    free(c->P);
    c->kcap = 0;
    c->part = mem_aligned(c->groups * k, c->M * sizeof *c->part, "partial sums", err);
    c->P = mem_aligned(k * c->M, size, "right-hand sides", err);
    c->worker = mem_calloc(c->workers, sizeof *c->worker, "workers", err);
    if (!c->part || !c->P || !c->worker)
        return ST_NOMEM;
    for (size_t i = 0; ok && i < c->workers; i++) {
        struct worker *w = &c->worker[i];
        w->z = c->Z ? NULL : mem_aligned(c->M * c->R * stack, size, "tiles of features", err);
        w->x = mem_aligned(c->R * c->src->d, sizeof *w->x, "tile of inputs", err);
        w->t = mem_aligned(k * c->R * stack, sizeof *w->t, "row sums", err);
        w->tr = mem_aligned(k * c->R * stack, size, "row sums", err);
        w->scratch = mem_aligned(scratch_bytes(c), 1, "tile scratch", err);
        w->blocks = c->Z ? mem_aligned(c->R * blocks_most(c), size, "row sums", err) : NULL;
        w->rows = c->windows ? mem_aligned(rows_bytes(c) + room_bytes(c, false), 1,
                                           "rows of features", err)
                             : NULL;
        ok = (c->Z ? w->blocks != NULL : w->z != NULL) && w->x && w->t && w->tr && w->scratch &&
             (!c->windows || w->rows);
    }
    if (!ok) {
        workers_free(c);
        return ST_NOMEM;
    }
    c->kcap = k;
    return ST_OK;
}

static void cut_rows(struct cpu *c)
{
    size_t R = TILE_ROWS_MOST;

    /* Sequences of tens of thousands of positions: few rows are in hand at once. */
    while (R > TILE_ROWS_STEP && (R * c->M * c->real->size > tile_bytes || R >= 2 * c->n ||
                                  (c->windows && R * c->src->d * sizeof(double) > row_bytes)))
        R /= 2;
    c->R = R;
    c->tiles = (c->n + R - 1) / R;
    c->groups = c->tiles < 1 ? 1 : c->tiles < GROUPS_MOST ? c->tiles : GROUPS_MOST;
}

static enum status cpu_init(struct cpu *c, struct err *err)
{
    c->hp = mem_calloc(kernel_nhp(&c->fm->kernel) + 1, sizeof *c->hp, "hyperparameters", err);
    if (!c->hp || parts_make(c, err) != ST_OK || filters_make(c, err) != ST_OK)
        return err && err->code != ST_OK ? err->code : ST_NOMEM;
    c->term = terms_new(c, c->real, err);
    c->term64 = c->real == &c->simd->f64 ? c->term : terms_new(c, &c->simd->f64, err);
    if (!c->term || !c->term64)
        return ST_NOMEM;
    cut_rows(c);
    if (c->opts.store && c->opts.half) {
        c->half = mem_aligned(c->tiles * c->R, c->M * sizeof *c->half, "stored features", err);
        if (!c->half)
            return ST_NOMEM;
    } else if (c->opts.store) {
        c->Z = mem_aligned(c->tiles * c->R, c->M * c->real->size, "stored features", err);
        if (!c->Z)
            return ST_NOMEM;
    }
    return cpu_reserve(c, 1, err);
}

static enum status cpu_set(void *state, const double *hp, struct err *err)
{
    struct cpu *c = state;
    const size_t nhp = kernel_nhp(&c->fm->kernel);

    for (size_t i = 0; i < nhp; i++)
        if (!(hp[i] > 0.0 && isfinite(hp[i])))
            return err_set(err, ST_RANGE, "hyperparameter %zu is %g; it must be positive", i + 1,
                           hp[i]);
    memcpy(c->hp, hp, nhp * sizeof *hp);
    for (size_t i = 0; i < c->nseg; i++) {
        const struct fm_term *t = c->seg[i].fm;
        if (t)
            c->seg[i].out = t->out * (t->weight == FM_NONE ? 1.0 : hp[t->weight]);
        for (size_t j = 0; t && c->term[i].inv && j < t->d; j++) {
            const double inv = 1.0 / hp[fm_lengthscale(&t->steps[0], j)];
            c->term[i].inv[j] = inv;
            c->term64[i].inv[j] = inv;
            if (c->term[i].wide)
                c->term[i].wide->inv[j] = inv;
        }
    }
    c->filled = c->half_filled = false;
    return ST_OK;
}

static void *cpu_open(const struct featmap *fm, const struct source *src,
                      const struct fop_opts *opts, struct err *err)
{
    struct cpu *c = mem_calloc(1, sizeof *c, "feature operator", err);
    if (!c)
        return NULL;
    *c = (struct cpu){ .fm = fm, .src = src, .opts = *opts, .n = src->n, .M = fm->M,
                       .simd = simd_now(), .workers = pool_threads(opts->pool) };
    c->real = opts->precision == PREC_DOUBLE ? &c->simd->f64 : &c->simd->f32;
    if (cpu_init(c, err) != ST_OK) {
        cpu_close(c);
        return NULL;
    }
    for (size_t i = 0; i < kernel_nhp(&fm->kernel); i++)
        c->hp[i] = 1.0;
    cpu_set(c, c->hp, NULL);
    return c;
}

/* Rows of Z. */

static void scale_rows(const struct cpu *c, const struct simd_real *real, size_t r0, size_t n,
                       void *z, size_t ld)
{
    for (size_t r = 0; z && r < n; r++) {
        const double s = c->opts.row_scale[r0 + r];
        if (real->size == sizeof(double))
            for (size_t j = 0; j < c->M; j++)
                ((double *)z)[r * ld + j] *= s;
        else
            for (size_t j = 0; j < c->M; j++)
                ((float *)z)[r * ld + j] = (float)(s * (double)((float *)z)[r * ld + j]);
    }
}

/* Columns of one lane tile from row 0 of z as rows of ld. */
static void turn(const struct simd_real *real, size_t n, size_t cols, const char *from, char *z,
                 size_t ld)
{
    for (size_t j = 0; j < cols; j++)
        for (size_t r = 0; r < n; r++)
            memcpy(z + (r * ld + j) * real->size, from + (j * real->lanes + r) * real->size,
                   real->size);
}

static void zero_rows(const struct simd_real *real, size_t n, size_t cols, char *z, size_t ld)
{
    for (size_t row = 0; row < n; row++)
        memset(z + row * ld * real->size, 0, cols * real->size);
}

/* The part without a loop of its own, for one lane tile: its terms, and columns of zeros. */
static void other_columns(const struct cpu *c, const struct simd_real *real, const struct part *p,
                          const double *x, size_t n, char *z, size_t cs, void *scratch)
{
    if (c->steps) {
        steps_fill(c->steps, c->simd, real, c->hp, x, c->src->d, n, p->col0, z, cs, scratch);
        return;
    }
    for (size_t j = 0; j < p->cols; j++)
        memset(z + j * cs * real->size, 0, real->lanes * real->size);
}

/* Columns of part i, which is over windows, or their derivatives in hyperparameter ihp: n rows of
 * x, each whole, into z, row-major, the part's first column. */
static void emit_sums(struct cpu *c, const struct simd_real *real, size_t i, const double *x,
                      size_t n, bool derivative, size_t ihp, char *z, size_t ld, void *scratch,
                      void *room)
{
    const struct part *p = &c->seg[i];
    const struct windows w = windows_of(c, i, room);

    if (!derivative || p->fm->weight == ihp)
        windows_columns(&w, real, x, c->src->d, n, p->out, z, ld, scratch);
    else if (p->fm->hp0 == ihp) /* no product: has_dtile */
        windows_slopes(&w, real, x, c->src->d, n, p->out, z, ld, scratch);
    else
        zero_rows(real, n, p->cols, z, ld);
}

/* The same of any other part, at most one lane tile; z or dz. */
static void emit_part(struct cpu *c, const struct simd_real *real, const struct simd_term *term,
                      const struct part *p, const double *x, size_t n, char *z, char *dz,
                      size_t ihp, size_t ld, char *columns, void *scratch)
{
    const size_t d = c->src->d;
    char *to = dz ? dz : z;

    if (!p->fm) { /* no derivatives: has_dtile */
        other_columns(c, real, p, x, n, columns, real->lanes, scratch);
        turn(real, n, p->cols, columns, to, ld);
    } else if (!dz || p->fm->weight == ihp) { /* d/d log weight is the columns themselves */
        real->rows(term, x + p->fm->first, d, n, p->out, to, NULL, ld, scratch);
    } else if (p->fm->hp0 == ihp) {
        real->rows(term, x + p->fm->first, d, n, p->out, NULL, to, ld, scratch);
    } else { /* this term does not depend on that hyperparameter */
        zero_rows(real, n, p->cols, to, ld);
    }
}

/* Rows in row-major order, some at a time, in precision `real`; z or dz. */
static enum status emit_rows(struct cpu *c, const struct simd_real *real, struct simd_term *term,
                             size_t r0, size_t r1, void *z, void *dz, size_t ihp, size_t ld,
                             struct err *err)
{
    const size_t lanes = c->windows ? c->R : real->lanes, d = c->src->d;
    const size_t other = c->nseg && !c->seg[c->nseg - 1].fm
                             ? c->seg[c->nseg - 1].cols * real->lanes * real->size : 0;
    const size_t inputs = mem_lines(lanes * d * sizeof(double)), after = inputs + mem_lines(other);
    const size_t end = after + mem_lines(scratch_bytes(c)),
                 room = c->windows ? room_bytes(c, false) : 0;
    char *work = mem_spare_take(&c->spares, end + room, "tile of features", err);
    double *x = (double *)(void *)work;
    char *columns = work ? work + inputs : NULL;
    void *scratch = work ? work + after : NULL;
    enum status rc = work ? ST_OK : ST_NOMEM;

    for (size_t r = r0; rc == ST_OK && r < r1; r += lanes) {
        const size_t n = r1 - r < lanes ? r1 - r : lanes, at = (r - r0) * ld;
        rc = c->src->rows(c->src, r, r + n, x, err);
        for (size_t i = 0; rc == ST_OK && i < c->nseg; i++) {
            char *to = (char *)(dz ? dz : z) + (at + c->seg[i].col0) * real->size;
            if (is_windows(&c->seg[i]))
                emit_sums(c, real, i, x, n, dz != NULL, ihp, to, ld, scratch, work + end);
            else
                for (size_t k = 0; k < n; k += real->lanes)
                    emit_part(c, real, &term[i], &c->seg[i], x + k * d,
                              n - k < real->lanes ? n - k : real->lanes,
                              z ? to + k * ld * real->size : NULL,
                              dz ? to + k * ld * real->size : NULL, ihp, ld, columns, scratch);
        }
        if (rc == ST_OK && c->opts.row_scale) {
            scale_rows(c, real, r, n, z ? (char *)z + at * real->size : NULL, ld);
            scale_rows(c, real, r, n, dz ? (char *)dz + at * real->size : NULL, ld);
        }
    }
    mem_spare_give(&c->spares, work);
    return rc;
}

static enum status cpu_tile64(void *state, size_t r0, size_t r1, double *z, size_t ld,
                              struct err *err)
{
    struct cpu *c = state;

    return emit_rows(c, &c->simd->f64, c->term64, r0, r1, z, NULL, 0, ld, err);
}

/* With ARD the derivative in one lengthscale would need a transform of its own for each: cpu_grad
 * has all of them for the price of one; and it alone knows the terms that are not plain. */
static bool cpu_has_dtile(void *state)
{
    const struct cpu *c = state;

    for (size_t i = 0; i < c->fm->nterms; i++)
        if (c->fm->term[i].nl > 1)
            return false;
    return c->steps == NULL;
}

static enum status cpu_dtile(void *state, size_t i, size_t r0, size_t r1, double *dz, size_t ld,
                             struct err *err)
{
    struct cpu *c = state;

    if (!cpu_has_dtile(c))
        return err_set(err, ST_UNSUPPORTED, "rows of derivatives are for plain kernels with one "
                       "lengthscale");
    return emit_rows(c, &c->simd->f64, c->term64, r0, r1, NULL, dz, i, ld, err);
}

/* Float rows; in double precision mode rounded from double ones. */
static enum status narrow_rows(struct cpu *c, bool derivative, size_t ihp, size_t r0, size_t r1,
                               float *z, size_t ld, struct err *err)
{
    double *row = mem_aligned(c->M, sizeof *row, "row of features", err);
    enum status rc = row ? ST_OK : ST_NOMEM;

    for (size_t r = r0; rc == ST_OK && r < r1; r++, z += ld) {
        rc = derivative ? cpu_dtile(c, ihp, r, r + 1, row, c->M, err)
                        : cpu_tile64(c, r, r + 1, row, c->M, err);
        for (size_t j = 0; rc == ST_OK && j < c->M; j++)
            z[j] = (float)row[j];
    }
    free(row);
    return rc;
}

static enum status cpu_tile(void *state, size_t r0, size_t r1, float *z, size_t ld,
                            struct err *err)
{
    struct cpu *c = state;

    if (c->real == &c->simd->f64)
        return narrow_rows(c, false, 0, r0, r1, z, ld, err);
    return emit_rows(c, c->real, c->term, r0, r1, z, NULL, 0, ld, err);
}

/* Heavy tails: the derivative needs the whole phase, which float would lose. */
static enum status cpu_dtile32(void *state, size_t i, size_t r0, size_t r1, float *dz, size_t ld,
                               struct err *err)
{
    struct cpu *c = state;

    for (size_t t = 0; t < c->nseg; t++)
        if (c->real == &c->simd->f64 || c->term[t].wide)
            return narrow_rows(c, true, i, r0, r1, dz, ld, err);
    return emit_rows(c, c->real, c->term, r0, r1, NULL, dz, i, ld, err);
}

/* Sweeps over the rows. */

struct sweep {
    struct cpu *c;
    size_t k;
    bool up;         /* t = Z P; else t = V */
    bool rounded;    /* with features in float16, if there is a store of them */
    const double *V; /* k vectors of n */
    double *T;       /* k vectors of n, or NULL */
    double *W;       /* k vectors of M, or NULL */
    const struct ctl *ctl;
    atomic_int failed;
    struct err errs[GROUPS_MOST];
};

static void round_to(const struct cpu *c, size_t n, const double *from, char *to)
{
    if (c->real->size == sizeof(double)) {
        memcpy(to, from, n * sizeof *from);
        return;
    }
    for (size_t i = 0; i < n; i++)
        ((float *)(void *)to)[i] = (float)from[i];
}

/* A term's blocks from b on, as many as make up about so many columns; at least one. */
static struct simd_term term_blocks(const struct simd_term *t, size_t b, size_t columns)
{
    const size_t left = t->mf - b * t->D, blocks = columns / (2 * t->D);
    const size_t most = (blocks ? blocks : 1) * t->D;
    struct simd_term some = *t;

    some.mf = left < most ? left : most;
    some.nb = (some.mf + t->D - 1) / t->D;
    return some;
}

/* t += Z P of a term's kept columns, from col0 on, in `rows` rows from z on, t of the first of
 * them: the right-hand sides that go one by one; and all. */
static void term_dot_ones(struct cpu *c, const struct simd_term *term, size_t col0, const char *z,
                          size_t rows, struct split k, double *t)
{
    const size_t many = k.groups * c->real->lanes;

    if (k.ones)
        c->real->dot(term, z, c->R, rows, k.ones, c->P + (many * c->M + col0) * c->real->size, c->M,
                     t + many * c->R, c->R);
}

static void term_dot(struct cpu *c, const struct simd_term *term, size_t col0, const char *z,
                     size_t rows, struct split k, double *t)
{
    const size_t lanes = c->real->lanes;

    if (k.groups)
        c->real->dot_block(term, z, c->R, rows, k.groups, c->P + col0 * lanes * c->real->size,
                           c->M * lanes, t, c->R);
    term_dot_ones(c, term, col0, z, rows, k, t);
}

/* The same for part i, over windows: its rows, turned into columns, then met. */
static void tile_windows(struct cpu *c, struct worker *w, size_t i, size_t n, char *z,
                         struct split k)
{
    const struct simd_real *real = c->real;
    const struct part *p = &c->seg[i];
    const struct windows wins = windows_of(c, i, w->rows + rows_bytes(c));
    const size_t size = real->size, lanes = real->lanes, ld = rows_ld(p);

    windows_columns(&wins, real, w->x, c->src->d, n, 1.0, w->rows, ld, w->scratch);
    z += p->col0 * c->R * size;
    memset(z, 0, p->cols * c->R * size);
    for (size_t r = 0; r < n; r += lanes) /* a cache line of each of few columns */
        for (size_t j = 0; j < p->cols; j++)
            for (size_t q = r; q < n && q < r + lanes; q++)
                memcpy(z + (j * c->R + q) * size, w->rows + (q * ld + j) * size, size);
    for (size_t r = 0; r < c->R; r += lanes)
        term_dot(c, &c->term[i], p->col0, z + r * size, lanes, k, w->t + r);
}

/* Features of a tile into z (NULL: not kept), and t += Z P. */
static enum status tile_generate(struct cpu *c, struct worker *w, size_t r0, size_t r1, char *z,
                                 struct split k, struct err *err)
{
    const struct simd_real *real = c->real;
    const size_t lanes = real->lanes, size = real->size, d = c->src->d;
    enum status rc = c->src->rows(c->src, r0, r1, w->x, err);

    for (size_t i = 0; rc == ST_OK && c->windows && i < c->nseg; i++)
        if (is_windows(&c->seg[i]))
            tile_windows(c, w, i, r1 - r0, z, k);
    for (size_t r = 0; rc == ST_OK && r < c->R; r += lanes)
        for (size_t i = 0; i < c->nseg; i++) {
            if (is_windows(&c->seg[i]))
                continue;
            const size_t col0 = c->seg[i].col0, left = r < r1 - r0 ? r1 - r0 - r : 0;
            const size_t n = left < lanes ? left : lanes;
            const double *x = (n ? w->x + r * d : w->x) + (c->seg[i].fm ? c->seg[i].fm->first : 0);
            char *zt = z ? z + (col0 * c->R + r) * size : NULL;
            if (!c->seg[i].fm) {
                other_columns(c, real, &c->seg[i], x, n ? n : 1, zt, c->R, w->scratch);
                term_dot(c, &c->term[i], col0, zt, lanes, k, w->t + r);
            } else if (k.groups) {
                real->gen_block(&c->term[i], x, d, n, zt, c->R, k.groups,
                                c->P + col0 * lanes * size, c->M * lanes, w->t + r, c->R,
                                w->scratch);
                term_dot_ones(c, &c->term[i], col0, zt, lanes, k, w->t + r);
            } else {
                real->gen(&c->term[i], x, d, n, zt, c->R, k.ones, c->P + col0 * size, c->M,
                          w->t + r, c->R, w->scratch);
            }
        }
    return rc;
}

/* t of a tile from kept columns. */
static void tile_dot(struct cpu *c, struct worker *w, const char *z, struct split k)
{
    for (size_t i = 0; i < c->nseg; i++)
        term_dot(c, &c->term[i], c->seg[i].col0, z + c->seg[i].col0 * c->R * c->real->size, c->R, k,
                 w->t);
}

/* t of a tile: Z P, or V. */
static enum status tile_up(struct sweep *s, struct worker *w, size_t r0, size_t r1, char *z,
                           struct err *err)
{
    struct cpu *c = s->c;
    const struct split k = s->up ? rhs_split(c, s->k) : (struct split){ 0, 0 };
    enum status rc = ST_OK;

    memset(w->t, 0, rhs_padded(c, s->k) * c->R * sizeof *w->t);
    if (!c->filled)
        rc = tile_generate(c, w, r0, r1, z, k, err);
    else if (s->up)
        tile_dot(c, w, z, k);
    for (size_t i = 0; !s->up && i < s->k; i++)
        memcpy(w->t + i * c->R, s->V + i * c->n + r0, (r1 - r0) * sizeof *w->t);
    return rc;
}

/* t of a tile as the way back takes it, tile b of a stack. */
static void tile_round(const struct cpu *c, const struct worker *w, size_t b, struct split k)
{
    const size_t lanes = c->real->lanes, many = k.groups * lanes, size = c->real->size;
    const size_t one = (many + k.ones) * c->R;
    const double *tb = w->t + b * one;
    char *tr = w->tr + b * one * size;

    for (size_t g = 0; g < k.groups; g++)
        for (size_t r = 0; r < c->R; r++)
            for (size_t i = 0; i < lanes; i++) {
                const double t = tb[(g * lanes + i) * c->R + r];
                const size_t at = (g * c->R + r) * lanes + i;
                if (size == sizeof(double))
                    ((double *)(void *)tr)[at] = t;
                else
                    ((float *)(void *)tr)[at] = (float)t;
            }
    round_to(c, k.ones * c->R, tb + many * c->R, tr + many * c->R * size);
}

/* part += Z't of some columns of a stack of tiles, as many as there are in it when there are
 * groups. ahead: the columns after z, or NULL. */
static void columns_down(const struct cpu *c, const struct worker *w, size_t tiles, const char *z,
                         size_t col0, size_t cols, struct split k, double *part,
                         const char *ahead)
{
    const size_t lanes = c->real->lanes, many = k.groups * lanes;
    const struct simd_stack stack = { tiles, c->R * c->M, c->R * (many + k.ones) };

    if (k.groups)
        c->real->axpy_block(cols, z, c->R, c->R, stack, k.groups, w->tr, part + col0 * lanes,
                            c->M * lanes);
    if (k.groups && k.ones)
        c->real->axpy_stack(cols, z, c->R, c->R, stack, k.ones,
                            w->tr + many * c->R * c->real->size, part + many * c->M + col0, c->M);
    else if (k.ones)
        c->real->axpy(cols, z, c->R, c->R, k.ones, w->tr + many * c->R * c->real->size,
                      part + many * c->M + col0, c->M, ahead);
}

/* Row factors and results; rows past the end count for nothing. */
static void row_sums(struct sweep *s, struct worker *w, size_t r0, size_t r1)
{
    const struct cpu *c = s->c;

    for (size_t i = 0; i < s->k; i++) {
        double *t = w->t + i * c->R;
        if (c->opts.row_scale) /* S Z P, S^2 Z P on the way to Z'S S Z P, or S V */
            for (size_t r = 0; r < r1 - r0; r++) {
                const double f = c->opts.row_scale[r0 + r];
                t[r] *= s->up && s->W ? f * f : f;
            }
        if (s->T)
            memcpy(s->T + i * c->n + r0, t, (r1 - r0) * sizeof *t);
        for (size_t r = r1 - r0; r < c->R; r++)
            t[r] = 0.0;
    }
}

/* The way back of a stack, a few columns at a time, so that their sums stay in the cache. */
static void stack_down(const struct cpu *c, const struct worker *w, size_t tiles, const char *z,
                       struct split k, double *part, const char *ahead)
{
    const size_t step = tiles > 1 ? 128 : c->M;

    for (size_t col = 0; col < c->M; col += step) {
        const size_t cols = col + step < c->M ? step : c->M - col;
        columns_down(c, w, tiles, z + col * c->R * c->real->size, col, cols, k, part, ahead);
    }
}

/* t of a stack of stored tiles: a few columns meet their right-hand sides in tile after tile while
 * those are in the cache.  The sums are those of tile_dot, bit for bit. */
static void stack_up(struct cpu *c, const struct worker *w, size_t tiles, const char *z,
                     struct split k)
{
    enum { COLUMNS = 128 };
    const size_t size = c->real->size, one = (k.groups * c->real->lanes + k.ones) * c->R;

    memset(w->t, 0, tiles * one * sizeof *w->t);
    for (size_t i = 0; i < c->nseg; i++) {
        const struct simd_term *t = &c->term[i];
        struct simd_term some;
        for (size_t b = 0; b < t->nb; b += some.nb) {
            const size_t col = c->seg[i].col0 + 2 * b * t->D;
            some = term_blocks(t, b, COLUMNS);
            for (size_t at = 0; at < tiles; at++)
                term_dot(c, &some, col, z + (at * c->M + col) * c->R * size, c->R, k,
                         w->t + at * one);
        }
    }
}

/* Some tiles of a group, up and down; several only with groups of right-hand sides. */
static enum status sweep_tiles(struct sweep *s, struct worker *w, size_t tile, size_t tiles,
                               double *part, struct err *err)
{
    struct cpu *c = s->c;
    const bool keep = c->half && !c->half_filled, stack = s->up && c->filled && tiles > 1;
    const size_t bytes = c->R * c->M * c->real->size, one = rhs_padded(c, s->k) * c->R;
    const struct split k = rhs_split(c, s->k);
    char *z = c->Z ? c->Z + tile * bytes : w->z;
    enum status rc = ST_OK;

    if (stack)
        stack_up(c, w, tiles, z, k);
    for (size_t b = 0; rc == ST_OK && b < tiles; b++) {
        const size_t r0 = (tile + b) * c->R, r1 = r0 + c->R < c->n ? r0 + c->R : c->n;
        char *zb = z + b * bytes;
        if (!c->Z && !s->W && !c->steps && !c->windows && !(k.groups && k.ones) && !keep)
            zb = NULL; /* nobody reads the columns again */
        struct worker wb = *w; /* with the sums of this tile */
        wb.t += b * one;
        if (!stack)
            rc = tile_up(s, &wb, r0, r1, zb, err);
        if (rc == ST_OK && keep)
            c->simd->narrow(c->M * c->R, (const float *)(const void *)zb,
                            c->half + (tile + b) * c->M * c->R);
        row_sums(s, &wb, r0, r1);
        if (s->W)
            tile_round(c, w, b, k);
    }
    if (rc == ST_OK && s->W)
        stack_down(c, w, tiles, z, k, part,
                   c->filled && tile + tiles < c->tiles ? z + tiles * bytes : NULL);
    return rc;
}

/* Features stored in float16. */

/* Some columns of a stored tile, widened into z. */
static void half_columns(const struct cpu *c, size_t tile, size_t col0, size_t cols, char *z)
{
    c->simd->widen(cols * c->R, c->half + (tile * c->M + col0) * c->R, (float *)(void *)z);
}

/* t += Z P, and part += Z't of a tile, a few columns at a time, which are met while they are in the
 * first-level cache.  On the way back the next tile is fetched. */
static void half_up(struct sweep *s, struct worker *w, size_t tile, struct split k)
{
    enum { COLUMNS = 128 };
    struct cpu *c = s->c;

    for (size_t i = 0; i < c->nseg; i++) {
        const struct simd_term *t = &c->term[i];
        struct simd_term some;
        for (size_t b = 0; b < t->nb; b += some.nb) {
            const size_t col = c->seg[i].col0 + 2 * b * t->D;
            some = term_blocks(t, b, COLUMNS);
            half_columns(c, tile, col, 2 * some.mf, w->z);
            term_dot(c, &some, col, w->z, c->R, k, w->t);
        }
    }
}

static void half_down(struct sweep *s, struct worker *w, size_t tile, struct split k, double *part)
{
    enum { COLUMNS = 64 };
    struct cpu *c = s->c;
    const size_t bytes = c->R * sizeof *c->half;

    for (size_t col = 0; col < c->M; col += COLUMNS) {
        const size_t cols = c->M - col < COLUMNS ? c->M - col : COLUMNS;
        const char *next = (const char *)(c->half + ((tile + 1) * c->M + col) * c->R);
        for (size_t i = 0; tile + 1 < c->tiles && i < cols * bytes; i += 64)
            __builtin_prefetch(next + i, 0, 2);
        half_columns(c, tile, col, cols, w->z);
        columns_down(c, w, 1, w->z, col, cols, k, part, NULL);
    }
}

static enum status half_tile(struct sweep *s, struct worker *w, size_t tile, size_t tiles,
                             double *part, struct err *err)
{
    (void)tiles; /* one: stack_tiles */
    struct cpu *c = s->c;
    const size_t r0 = tile * c->R, r1 = r0 + c->R < c->n ? r0 + c->R : c->n;
    const struct split k = rhs_split(c, s->k);

    if (!c->half_filled) {
        const enum status rc = tile_generate(c, w, r0, r1, w->z, (struct split){ 0, 0 }, err);
        if (rc != ST_OK)
            return rc;
        c->simd->narrow(c->M * c->R, (const float *)(const void *)w->z,
                        c->half + tile * c->M * c->R);
    }
    memset(w->t, 0, rhs_padded(c, s->k) * c->R * sizeof *w->t);
    half_up(s, w, tile, k);
    row_sums(s, w, r0, r1);
    tile_round(c, w, 0, k);
    half_down(s, w, tile, k, part);
    return ST_OK;
}

/* Stored features. */

/* The product of a tile with its right-hand sides and the way back of the tile before go in one
 * loop, a few columns of each in turn: the one waits for memory while the other works in the cache.
 * Columns go back in the order in which they came.  The sums are those of tile_dot and tile_down,
 * bit for bit. */
struct flow {
    struct cpu *c;
    struct worker *w;
    size_t k, stretches, rate; /* rate: stretches that go back while one comes */
    const char *up, *down;     /* the tiles; either may be NULL */
    double *part;              /* of the tile below */
    bool last;                 /* no tile follows that above */
};

/* Columns that are met at once: of a term of 4 q blocks those of four, q apart; or of `blocks` that
 * lie together (q 0). */
struct stretch {
    const struct simd_term *t;
    size_t col0, b, q, blocks;
};

enum { FLOW_COLUMNS = 128 }; /* of a stretch in one place */

static bool goes_in_four(const struct flow *f, const struct simd_term *t)
{
    return f->k == 1 && t->nb % 4 == 0 && t->mf == t->nb * t->D;
}

static size_t term_stretches(const struct flow *f, const struct simd_term *t)
{
    const size_t blocks = term_blocks(t, 0, FLOW_COLUMNS).nb;

    return goes_in_four(f, t) ? t->nb / 4 : (t->nb + blocks - 1) / blocks;
}

static struct stretch stretch_at(const struct flow *f, size_t at)
{
    const struct cpu *c = f->c;
    size_t i = 0;

    for (size_t n; at >= (n = term_stretches(f, &c->term[i])); i++)
        at -= n;
    const struct simd_term *t = &c->term[i];
    if (goes_in_four(f, t))
        return (struct stretch){ t, c->seg[i].col0, at, t->nb / 4, 1 };
    const size_t b = at * term_blocks(t, 0, FLOW_COLUMNS).nb;
    return (struct stretch){ t, c->seg[i].col0, b, 0, term_blocks(t, b, FLOW_COLUMNS).nb };
}

static size_t stretch_places(const struct stretch *s)
{
    return s->q ? 4 : 1;
}

/* Its columns in place i. */
static size_t stretch_from(const struct stretch *s, size_t i)
{
    return s->col0 + 2 * (s->b + i * s->q) * s->t->D;
}

static size_t stretch_to(const struct stretch *s, size_t i)
{
    const size_t to = s->b + i * s->q + s->blocks;

    return s->col0 + 2 * (to == s->t->nb ? s->t->mf : to * s->t->D);
}

/* On the way back whole vectors of columns: what is left over at the end belongs to the next
 * stretch. */
static size_t whole_vectors(const struct cpu *c, size_t col)
{
    return col == c->M ? col : col / c->real->lanes * c->real->lanes;
}

/* The way back of a stretch by itself. */
static void stretch_down(const struct flow *f, const struct stretch *s, const char *ahead)
{
    const struct cpu *c = f->c;

    for (size_t i = 0; i < stretch_places(s); i++) {
        const size_t from = whole_vectors(c, stretch_from(s, i)),
                     to = whole_vectors(c, stretch_to(s, i));
        if (from < to)
            c->real->axpy(to - from, f->down + from * c->R * c->real->size, c->R, c->R, f->k,
                          f->w->tr, f->part + from, c->M, ahead);
    }
}

/* Whether the way back of s fits into the loop of a way up; if so, it is there. */
static bool stretch_joins(const struct flow *f, const struct stretch *s, struct simd_flow *four)
{
    const struct cpu *c = f->c;
    const size_t lanes = c->real->lanes;

    if (!s->q || s->t->D != four->jn || s->col0 % lanes || c->M % lanes)
        return false;
    for (size_t i = 0; i < 4; i++) {
        const size_t col = stretch_from(s, i);
        four->down[four->pieces] = f->down + col * c->R * c->real->size;
        four->w[four->pieces++] = f->part + col;
    }
    return true;
}

/* The sums of all blocks of a term, in their order. */
static void blocks_merge(const struct flow *f, const struct simd_term *t)
{
    const size_t R = f->c->R;

    for (size_t b = 0; b < t->nb; b++)
        if (f->c->real->size == sizeof(float))
            f->c->simd->add(R, (const float *)(const void *)f->w->blocks + b * R, f->w->t);
        else
            for (size_t r = 0; r < R; r++)
                f->w->t[r] += ((const double *)(const void *)f->w->blocks)[b * R + r];
}

/* The way up of a stretch in four places, with the ways back of n. */
static void stretch_four(const struct flow *f, const struct stretch *s, const struct stretch *next,
                         size_t n, const struct stretch *down)
{
    const struct cpu *c = f->c;
    const size_t size = c->real->size, R = c->R;
    struct simd_flow four = { .jn = s->t->D };

    for (size_t i = 0; i < 4; i++) {
        const size_t col = stretch_from(s, i);
        const size_t to = next->q ? stretch_from(next, i) : stretch_from(next, 0) + i * 2 * s->t->D;
        four.z[i] = f->up + col * R * size;
        four.P[i] = c->P + col * size;
        four.sums[i] = f->w->blocks + (s->b + i * s->q) * R * size;
        four.ahead[i] = to > col ? f->up + to * R * size
                        : f->last ? four.z[i] : f->up + (c->M + to) * R * size;
    }
    for (size_t i = 0; i < n; i++)
        if (!stretch_joins(f, &down[i], &four))
            stretch_down(f, &down[i], NULL);
    c->real->flow(&four, R, R, f->w->tr);
    if (s->b + 1 == s->q)
        blocks_merge(f, s->t);
}

/* The way up of others. */
static void stretch_up(const struct flow *f, const struct stretch *s)
{
    const struct cpu *c = f->c;
    const struct simd_term some = term_blocks(s->t, s->b, FLOW_COLUMNS);
    const size_t col = stretch_from(s, 0), size = c->real->size;

    c->real->dot(&some, f->up + col * c->R * size, c->R, c->R, f->k, c->P + col * size, c->M,
                 f->w->t, c->R);
}

/* One tile up, one back. */
static void flow_tile(const struct flow *f)
{
    const size_t bytes = f->c->R * f->c->real->size; /* of a column */
    struct stretch down[SIMD_FLOW_PIECES / 4];

    for (size_t at = 0; at < f->stretches; at++) {
        const struct stretch s = stretch_at(f, at), next = stretch_at(f, (at + 1) % f->stretches);
        size_t n = 0;
        for (size_t i = at * f->rate; f->down && i < f->stretches && n < f->rate; i++)
            down[n++] = stretch_at(f, i);
        if (f->up && s.q) {
            stretch_four(f, &s, &next, n, down);
            continue;
        }
        if (f->up)
            stretch_up(f, &s);
        for (size_t i = 0; i < n; i++)
            stretch_down(f, &down[i],
                         f->up && at + 1 < f->stretches ? f->up + stretch_from(&next, 0) * bytes
                                                        : NULL);
    }
}

/* All tiles of some groups.  The sums of a tile leave for the way back once they are whole. */
static void flow_groups(struct sweep *s, struct worker *w, size_t from, size_t to)
{
    struct cpu *c = s->c;
    const size_t bytes = c->R * c->M * c->real->size, begin = c->tiles * from / c->groups;
    const size_t end = c->tiles * to / c->groups;
    /* Where two tiles fill the second-level cache, the one below goes while half of that above
     * comes. */
    struct flow f = { .c = c, .w = w, .k = s->k, .rate = s->k == 1 && bytes > tile_bytes ? 2 : 1 };

    for (size_t i = 0; i < c->nseg; i++)
        f.stretches += term_stretches(&f, &c->term[i]);
    for (size_t tile = begin, group = from; tile <= end; tile++) {
        if (ctl_stopped(s->ctl))
            return;
        f.down = tile > begin ? c->Z + (tile - 1) * bytes : NULL;
        f.up = tile < end ? c->Z + tile * bytes : NULL;
        f.last = tile + 1 >= c->tiles;
        if (f.down && tile - 1 == c->tiles * group / c->groups) { /* the first of its group */
            f.part = c->part + group++ * c->kcap * c->M;
            memset(f.part, 0, s->k * c->M * sizeof *f.part);
        }
        if (f.up)
            memset(w->t, 0, s->k * c->R * sizeof *w->t);
        flow_tile(&f);
        if (f.up) {
            row_sums(s, w, tile * c->R, tile * c->R + c->R < c->n ? tile * c->R + c->R : c->n);
            round_to(c, s->k * c->R, w->t, w->tr);
        }
    }
}

/* Groups go to a thread some at a time, so that the way back of one meets the way up of the next.
 */
static size_t flow_tasks(const struct cpu *c)
{
    const size_t tasks = c->workers == 1 ? 1 : 8 * c->workers;

    return tasks < c->groups ? tasks : c->groups;
}

static bool flows(const struct sweep *s)
{
    return s->c->filled && s->up && s->W && !rhs_split(s->c, s->k).groups && s->c->tiles;
}

static void flow_task(void *ctx, size_t task, size_t worker)
{
    struct sweep *s = ctx;
    const size_t tasks = flow_tasks(s->c), groups = s->c->groups;

    flow_groups(s, &s->c->worker[worker], groups * task / tasks, groups * (task + 1) / tasks);
}

static void sweep_group(void *ctx, size_t g, size_t worker)
{
    struct sweep *s = ctx;
    struct cpu *c = s->c;
    double *part = c->part + g * c->kcap * c->M;
    const size_t end = c->tiles * (g + 1) / c->groups, stack = stack_tiles(c, s->k);

    if (s->W)
        memset(part, 0, rhs_padded(c, s->k) * c->M * sizeof *part);
    for (size_t tile = c->tiles * g / c->groups; tile < end; tile += stack) {
        const size_t tiles = tile + stack < end ? stack : end - tile;
        if (s->failed || ctl_stopped(s->ctl))
            return;
        if ((c->half && s->rounded ? half_tile : sweep_tiles)(s, &c->worker[worker], tile, tiles,
                                                              part, &s->errs[g]) != ST_OK) {
            s->failed = 1;
            return;
        }
    }
}

/* Where entry j of right-hand side i is in P and in a group's partial sums. */
static size_t rhs_at(const struct cpu *c, struct split k, size_t i, size_t j)
{
    const size_t lanes = c->real->lanes;

    return i / lanes < k.groups ? (i / lanes * c->M + j) * lanes + i % lanes : i * c->M + j;
}

/* The factor that columns in a tile lack. */
static double column_out(const struct cpu *c, size_t j)
{
    size_t t = 0;

    while (t + 1 < c->nseg && j >= c->seg[t + 1].col0)
        t++;
    return c->seg[t].out;
}

/* W = sum of the groups of rows, in order, times sqrt(1/mf) of the column's term: of `lanes`
 * right-hand sides from i on, which lie together; or of one (lanes 1). */
static void merge_columns(const struct sweep *s, size_t i, size_t lanes, size_t j0, size_t j1)
{
    const struct cpu *c = s->c;
    const size_t n = (j1 - j0) * lanes;
    const double *part = c->part + i * c->M + j0 * lanes;
    double sum[MERGE_COLS * LANES_MOST];

    memcpy(sum, part, n * sizeof *sum);
    for (size_t g = 1; g < c->groups; g++) {
        part += c->kcap * c->M;
        for (size_t at = 0; at < n; at++)
            sum[at] += part[at];
    }
    for (size_t j = j0; j < j1; j++) {
        const double out = column_out(c, j);
        for (size_t l = 0; l < lanes && i + l < s->k; l++)
            s->W[(i + l) * c->M + j] = sum[(j - j0) * lanes + l] * out;
    }
}

static void sweep_merge(void *ctx, size_t task, size_t worker)
{
    const struct sweep *s = ctx;
    const struct cpu *c = s->c;
    const struct split k = rhs_split(c, s->k);
    const size_t lanes = c->real->lanes, many = k.groups * lanes;
    const size_t j0 = task * MERGE_COLS, j1 = j0 + MERGE_COLS < c->M ? j0 + MERGE_COLS : c->M;

    (void)worker;
    for (size_t i = 0; i < many; i += lanes)
        merge_columns(s, i, lanes, j0, j1);
    for (size_t i = many; i < s->k; i++)
        merge_columns(s, i, 1, j0, j1);
}

static void scale_rhs(struct cpu *c, size_t k, const double *P)
{
    const struct split split = rhs_split(c, k);

    memset(c->P, 0, rhs_padded(c, k) * c->M * c->real->size);
    for (size_t i = 0; i < k; i++)
        for (size_t t = 0; t < c->nseg; t++) {
            const struct part *term = &c->seg[t];
            for (size_t j = term->col0; j < term->col0 + term->cols; j++) {
                const double p = P[i * c->M + j] * term->out;
                if (c->real->size == sizeof(double))
                    ((double *)(void *)c->P)[rhs_at(c, split, i, j)] = p;
                else
                    ((float *)(void *)c->P)[rhs_at(c, split, i, j)] = (float)p;
            }
        }
}

/* All derivatives at once. */

/* Back through one block of the chain: u += D1 H D2 H D3 H S g, g the derivative in the phases. */
static void block_back(const struct simd_real *real, const struct fm_term *t, size_t b, double *v,
                       double *u)
{
    const size_t L = real->lanes, D = t->D;

    for (int s = 3; s-- > 0;) {
        const int8_t *sign = t->signs + ((size_t)s * t->nb + b) * D;
        real->fht(v, D);
        for (size_t i = 0; i < D; i++)
            for (size_t k = 0; sign[i] < 0 && k < L; k++)
                v[i * L + k] = -v[i * L + k];
    }
    for (size_t i = 0; i < t->d * L; i++)
        u[i] += v[i];
}

/* d/dp of a column pair (c cos p, c sin p) is (-its sine, its cosine): the features themselves are
 * all that is needed. */
static void term_back(const struct simd_real *real, const struct fm_term *t, size_t n,
                      const double *z, const double *B, size_t ld, double *v, double *u)
{
    const size_t L = real->lanes;

    memset(u, 0, t->d * L * sizeof *u);
    for (size_t b = 0; b < t->nb; b++) {
        memset(v, 0, t->D * L * sizeof *v);
        for (size_t i = 0; i < t->D && b * t->D + i < t->mf; i++) {
            const size_t j = b * t->D + i, at = t->col0 + 2 * j;
            for (size_t k = 0; k < n; k++)
                v[i * L + k] = t->scale[j] * (z[k * ld + at] * B[k * ld + at + 1] -
                                              z[k * ld + at + 1] * B[k * ld + at]);
        }
        block_back(real, t, b, v, u);
    }
}

/* The weights of summands: their columns are their own derivatives. */
static void weights_back(const struct cpu *c, size_t rows, const double *z, const double *B,
                         size_t ld, double *grad)
{
    for (size_t i = 0; i < c->fm->nterms; i++) {
        const struct fm_term *t = &c->fm->term[i];
        for (size_t r = 0; t->weight != FM_NONE && r < rows; r++)
            for (size_t j = t->col0; j < t->col0 + t->cols; j++)
                grad[t->weight] += z[r * ld + j] * B[r * ld + j];
    }
}

/* The lengthscales of plain terms for n rows; v: L (D + d). */
static void plain_back(const struct cpu *c, size_t n, const double *x, const double *z,
                       const double *B, size_t ld, size_t D, double *v, double *grad)
{
    const struct simd_real *real = &c->simd->f64;
    const size_t L = real->lanes, d = c->src->d;
    double *u = v + L * D;

    for (size_t i = 0; i < c->nseg; i++) {
        const struct fm_term *t = c->seg[i].fm;
        if (!t || featmap_is_windowed(t))
            continue;
        term_back(real, t, n, z, B, ld, v, u);
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < t->d; j++) {
                const size_t h = fm_lengthscale(&t->steps[0], j);
                grad[h] -= u[j * L + k] * x[k * d + t->first + j] / c->hp[h];
            }
    }
}

/* Sums over windows: their derivatives are not to be had from the features. */
static enum status windows_grad(struct cpu *c, size_t r0, size_t r1, const double *B, size_t ld,
                                double *grad, struct err *err)
{
    const size_t inputs = mem_lines(c->R * c->src->d * sizeof(double));
    const size_t end = inputs + mem_lines(scratch_bytes(c));
    char *work = mem_spare_take(&c->spares, end + room_bytes(c, true), "tile of derivatives", err);
    double *x = (double *)(void *)work;
    enum status rc = work ? ST_OK : ST_NOMEM;

    for (size_t r = r0; rc == ST_OK && r < r1; r += c->R) {
        const size_t n = r1 - r < c->R ? r1 - r : c->R;
        rc = c->src->rows(c->src, r, r + n, x, err);
        for (size_t i = 0; rc == ST_OK && i < c->nseg; i++) {
            const struct windows w = windows_of(c, i, work + end);
            if (is_windows(&c->seg[i]))
                windows_back(&w, x, c->src->d, n, c->seg[i].out, B + (r - r0) * ld, ld,
                             c->opts.row_scale ? c->opts.row_scale + r : NULL, grad, work + inputs);
        }
    }
    mem_spare_give(&c->spares, work);
    return rc;
}

static enum status cpu_grad(void *state, size_t r0, size_t r1, const double *z, const double *B,
                            size_t ld, double *grad, struct err *err)
{
    struct cpu *c = state;
    const size_t L = c->simd->f64.lanes, d = c->src->d;
    size_t D = 1;

    for (size_t i = 0; i < c->fm->nterms; i++)
        D = c->fm->term[i].D > D ? c->fm->term[i].D : D;
    double *x = mem_aligned(L * d, sizeof *x, "tile of inputs", err);
    double *v = x ? mem_aligned(L * (D + d), sizeof *v, "tile of derivatives", err) : NULL;
    void *scratch = v && c->steps ? mem_aligned(steps_scratch(c->steps, &c->simd->f64), 1,
                                                "tile scratch", err) : NULL;
    enum status rc = v && (scratch || !c->steps) ? ST_OK : ST_NOMEM;
    for (size_t r = r0; rc == ST_OK && r < r1; r += L) {
        const size_t n = r1 - r < L ? r1 - r : L, at = (r - r0) * ld;
        rc = c->src->rows(c->src, r, r + n, x, err);
        if (rc == ST_OK)
            plain_back(c, n, x, z + at, B + at, ld, D, v, grad);
        if (rc == ST_OK && c->steps)
            steps_grad(c->steps, c->simd, c->hp, x, d, n, B + at, ld,
                       c->opts.row_scale ? c->opts.row_scale + r : NULL, grad, scratch);
    }
    if (rc == ST_OK && c->windows)
        rc = windows_grad(c, r0, r1, B, ld, grad, err);
    if (rc == ST_OK)
        weights_back(c, r1 - r0, z, B, ld, grad);
    free(x);
    free(v);
    free(scratch);
    return rc;
}

static enum status sweep_run(struct sweep *s, const double *P, struct err *err)
{
    struct cpu *c = s->c;
    const enum status rc = cpu_reserve(c, s->k, err);

    if (rc != ST_OK || s->k == 0)
        return rc;
    if (P)
        scale_rhs(c, s->k, P);
    if (flows(s))
        pool_run(c->opts.pool, flow_tasks(c), flow_task, s);
    else
        pool_run(c->opts.pool, c->groups, sweep_group, s);
    for (size_t g = 0; s->failed && g < c->groups; g++)
        if (s->errs[g].code != ST_OK) {
            if (err)
                *err = s->errs[g];
            return s->errs[g].code;
        }
    if (ctl_stopped(s->ctl))
        return err_set(err, ST_CANCELLED, "stopped while passing over the rows");
    c->filled = c->Z != NULL;
    c->half_filled = c->half != NULL;
    if (s->W)
        pool_run(c->opts.pool, (c->M + MERGE_COLS - 1) / MERGE_COLS, sweep_merge, s);
    return ST_OK;
}

static enum status cpu_pass(void *state, size_t k, const double *P, double *W,
                            const struct ctl *ctl, struct err *err)
{
    struct sweep s = { .c = state, .k = k, .up = true, .rounded = true, .W = W, .ctl = ctl };

    return sweep_run(&s, P, err);
}

static enum status cpu_pass_exact(void *state, size_t k, const double *P, double *W,
                                  const struct ctl *ctl, struct err *err)
{
    struct sweep s = { .c = state, .k = k, .up = true, .W = W, .ctl = ctl };

    return sweep_run(&s, P, err);
}

static void cpu_unhalve(void *state)
{
    struct cpu *c = state;

    free(c->half);
    c->half = NULL;
    c->half_filled = false;
}

static enum status cpu_zp(void *state, size_t k, const double *P, double *T, const struct ctl *ctl,
                          struct err *err)
{
    struct sweep s = { .c = state, .k = k, .up = true, .T = T, .ctl = ctl };

    return sweep_run(&s, P, err);
}

static enum status cpu_ztv(void *state, size_t k, const double *V, double *W,
                           const struct ctl *ctl, struct err *err)
{
    struct sweep s = { .c = state, .k = k, .V = V, .W = W, .ctl = ctl };

    return sweep_run(&s, NULL, err);
}

static int cpu_probe(char *why, size_t len)
{
    if (why && len)
        why[0] = '\0';
    return 1;
}

static const struct backend_ops cpu_ops = {
    .abi = BACKEND_ABI,
    .name = "cpu",
    .summary = "this processor: vector loops chosen at start, our own threads",
    .probe = cpu_probe,
    .open = cpu_open,
    .close = cpu_close,
    .set = cpu_set,
    .pass = cpu_pass,
    .pass_exact = cpu_pass_exact,
    .unhalve = cpu_unhalve,
    .zp = cpu_zp,
    .ztv = cpu_ztv,
    .tile = cpu_tile,
    .tile64 = cpu_tile64,
    .dtile = cpu_dtile,
    .dtile32 = cpu_dtile32,
    .has_dtile = cpu_has_dtile,
    .grad = cpu_grad,
};

const struct backend_ops *backend_cpu(void)
{
    return &cpu_ops;
}
