/* compute/cpu/cpu_sweep.c -- products with Z (n x M) and its transpose: T = Z P, W = Z'V and
 * W = Z'(Z P) for k vectors, by sweeps over tiles of R rows, whose features are made anew or stored
 * in the precision of the products or in float16.
 *
 * Precision: products within a tile run in the precision of features; t of a row and the sums over
 * rows are float64.  Tiles are distributed over a fixed number of groups, the segments of share.h;
 * a group adds its tiles in order, and sums of groups do not depend on an order (fold.h): the bits
 * do not depend on the number of threads or processes. */
#include "compute/cpu/cpu_state.h"

#include "compute/fold.h"

#include <stdatomic.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sweep {
    struct cpu *c;
    size_t k;
    bool up;         /* t = Z P; else t = V */
    bool rounded;    /* use stored features in float16, if there are any */
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

/* The blocks of a term from b on that make up about `columns` columns, at least one. */
static struct simd_term term_blocks(const struct simd_term *t, size_t b, size_t columns)
{
    const size_t left = t->mf - b * t->D, blocks = columns / (2 * t->D);
    const size_t most = (blocks ? blocks : 1) * t->D;
    struct simd_term some = *t;

    some.mf = left < most ? left : most;
    some.nb = (some.mf + t->D - 1) / t->D;
    return some;
}

/* t += Z P for kept columns of a term, from col0 on, in `rows` rows from z on, t that of the first
 * row: for the right-hand sides that go one by one, and for all. */
static void term_dot_ones(struct cpu *c, const struct simd_term *term, size_t col0, const char *z,
                          size_t rows, struct split k, double *t)
{
    const size_t many = k.groups * c->real->lanes;

    if (k.ones) {
        const struct simd_up up = {k.ones, c->P + (many * c->M + col0) * c->real->size, c->M,
                                   t + many * c->R, c->R};
        c->real->dot(term, z, c->R, rows, &up);
    }
}

static void term_dot(struct cpu *c, const struct simd_term *term, size_t col0, const char *z,
                     size_t rows, struct split k, double *t)
{
    const size_t lanes = c->real->lanes;

    if (k.groups) {
        const struct simd_up up = {k.groups, c->P + col0 * lanes * c->real->size, c->M * lanes, t,
                                   c->R};
        c->real->dot_block(term, z, c->R, rows, &up);
    }
    term_dot_ones(c, term, col0, z, rows, k, t);
}

/* t += Z P for part i, over windows: its rows are made and transposed into columns first. */
static void tile_windows(struct cpu *c, struct worker *w, size_t i, size_t r0, size_t n, char *z,
                         struct split k)
{
    const struct simd_real *real = c->real;
    const struct part *p = &c->seg[i];
    const struct windows wins = windows_of(c, i, r0, w->rows + rows_bytes(c), w->scratch);
    const struct simd_inputs in = {w->x, c->src->d, n};
    const size_t size = real->size, lanes = real->lanes, ld = rows_ld(p);
    const bool spread = c->bits[i] && p->fm->nsteps == p->fm->nsum;

    z += p->col0 * c->R * size;
    if (spread)
        cpu_bits_columns(c, i, r0, 0, p->cols, z);
    else
        windows_columns(&wins, real, &in, 1.0, w->rows, ld);
    if (!spread)
        memset(z, 0, p->cols * c->R * size);
    for (size_t r = 0; !spread && r < n; r += lanes) /* a cache line of each column at a time */
        for (size_t j = 0; j < p->cols; j++)
            for (size_t q = r; q < n && q < r + lanes; q++)
                memcpy(z + (j * c->R + q) * size, w->rows + (q * ld + j) * size, size);
    for (size_t r = 0; r < c->R; r += lanes)
        term_dot(c, &c->term[i], p->col0, z + r * size, lanes, k, w->t + r);
}

/* Makes the features of a tile into z (NULL: not kept), and t += Z P. */
static enum status tile_generate(struct cpu *c, struct worker *w, size_t r0, size_t r1, char *z,
                                 struct split k, struct err *err)
{
    const struct simd_real *real = c->real;
    const size_t lanes = real->lanes, size = real->size, d = c->src->d;
    enum status rc = c->all_bits ? ST_OK : c->src->rows(c->src, r0, r1, w->x, err);

    for (size_t i = 0; rc == ST_OK && c->windows && i < c->nseg; i++)
        if (is_windows(&c->seg[i]))
            tile_windows(c, w, i, r0, r1 - r0, z, k);
    for (size_t r = 0; rc == ST_OK && r < c->R; r += lanes)
        for (size_t i = 0; i < c->nseg; i++) {
            if (is_windows(&c->seg[i]))
                continue;
            const size_t col0 = c->seg[i].col0, left = r < r1 - r0 ? r1 - r0 - r : 0;
            struct simd_inputs in = {.x = left ? w->x + r * d : w->x, .ldx = d,
                                     .n = left < lanes ? left : lanes};
            char *zt = z ? z + (col0 * c->R + r) * size : NULL;
            if (!c->seg[i].fm) {
                in.n = in.n ? in.n : 1;
                cpu_other_columns(c, real, &c->seg[i], &in, zt, c->R, w->scratch);
                term_dot(c, &c->term[i], col0, zt, lanes, k, w->t + r);
                continue;
            }
            in.x += c->seg[i].fm->first;
            if (k.groups) {
                const struct simd_up up = {k.groups, c->P + col0 * lanes * size, c->M * lanes,
                                           w->t + r, c->R};
                real->gen_block(&c->term[i], &in, zt, c->R, &up, w->scratch);
                term_dot_ones(c, &c->term[i], col0, zt, lanes, k, w->t + r);
            } else {
                const struct simd_up up = {k.ones, c->P + col0 * size, c->M, w->t + r, c->R};
                real->gen(&c->term[i], &in, zt, c->R, &up, w->scratch);
            }
        }
    return rc;
}

/* t += Z P of a tile from kept columns. */
static void tile_dot(struct cpu *c, struct worker *w, const char *z, struct split k)
{
    for (size_t i = 0; i < c->nseg; i++)
        term_dot(c, &c->term[i], c->seg[i].col0, z + c->seg[i].col0 * c->R * c->real->size, c->R, k,
                 w->t);
}

/* t of a tile: Z P, or the rows of V. */
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

/* Rounds t of a tile to the precision of features, in the layout that Z't reads; tile b of a
 * stack. */
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

/* Some columns of a stack of tiles: n of them from col0 on, which in the first tile begin at z. */
struct columns {
    size_t tiles, col0, n;
    const char *z;
};

/* part += Z't for some columns of a stack of tiles.  ahead: the columns after these, which are
 * prefetched, or NULL. */
static void columns_down(const struct cpu *c, const struct worker *w, const struct columns *cols,
                         struct split k, double *part, const char *ahead)
{
    const size_t lanes = c->real->lanes, many = k.groups * lanes, R = c->R;
    const struct simd_stack stack = { cols->tiles, R * c->M, R * (many + k.ones) };

    if (k.groups) {
        const struct simd_down down = {k.groups, w->tr, part + cols->col0 * lanes, c->M * lanes};
        c->real->axpy_block(cols->n, cols->z, R, R, stack, &down);
    }
    if (k.ones) {
        const struct simd_down down = {k.ones, w->tr + many * R * c->real->size,
                                       part + many * c->M + cols->col0, c->M};
        if (k.groups)
            c->real->axpy_stack(cols->n, cols->z, R, R, stack, &down);
        else
            c->real->axpy(cols->n, cols->z, R, R, &down, ahead);
    }
}

/* Applies row factors to t and writes results; rows past the end are set to 0. */
static void row_sums(struct sweep *s, struct worker *w, size_t r0, size_t r1)
{
    const struct cpu *c = s->c;

    for (size_t i = 0; i < s->k; i++) {
        double *t = w->t + i * c->R;
        if (c->opts.row_scale) /* T = S Z P; S^2 Z P for W = Z'S S Z P; or S V */
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

/* part += Z't of a stack, a few columns at a time, so that their sums stay in the cache. */
static void stack_down(const struct cpu *c, const struct worker *w, size_t tiles, const char *z,
                       struct split k, double *part, const char *ahead)
{
    const size_t step = tiles > 1 ? 128 : c->M;

    for (size_t col = 0; col < c->M; col += step) {
        const struct columns cols = {tiles, col, col + step < c->M ? step : c->M - col,
                                     z + col * c->R * c->real->size};
        columns_down(c, w, &cols, k, part, ahead);
    }
}

/* t of a stack of stored tiles: a few columns at a time in one tile after another, while their
 * right-hand sides are in the cache.  The sums have the same bits as those of tile_dot. */
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

/* Z P and Z't of some tiles of a group; more than one only with groups of right-hand sides. */
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
            zb = NULL; /* the columns are not needed again */
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

/* Some columns of a stored tile, converted from float16 into z. */
static void half_columns(const struct cpu *c, size_t tile, size_t col0, size_t cols, char *z)
{
    c->simd->widen(cols * c->R, c->half + (tile * c->M + col0) * c->R, (float *)(void *)z);
}

/* t += Z P, and part += Z't, of a tile, a few converted columns at a time, while they are in the
 * first-level cache.  During Z't the next tile is prefetched. */
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

/* part += Z't of a tile stored in float16. */
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
        columns_down(c, w, &(struct columns){1, col, cols, w->z}, k, part, NULL);
    }
}

/* Z P and Z't of one tile stored in float16, which is filled at the first use. */
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

/* Z P of a tile ("up") and Z't of the tile before ("down") run in one loop, a few columns of each
 * in turn: the one waits for memory while the other works in the cache.  The sums have the same
 * bits as when each runs alone. */
struct flow {
    struct cpu *c;
    struct worker *w;
    size_t k, stretches, rate; /* rate: stretches of `down` for each one of `up` */
    const char *up, *down;     /* the tiles; either may be NULL */
    double *part;              /* sums for the tile `down` */
    bool last;                 /* `up` is the last tile */
};

/* Columns that are processed at once: in a term of 4 q blocks those of four blocks, q apart; or
 * those of `blocks` adjacent blocks (q 0). */
struct stretch {
    const struct simd_term *t;
    size_t col0, b, q, blocks;
};

enum { FLOW_COLUMNS = 128 }; /* columns of a stretch in one place */

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

/* The first column of a stretch in place i. */
static size_t stretch_from(const struct stretch *s, size_t i)
{
    return s->col0 + 2 * (s->b + i * s->q) * s->t->D;
}

static size_t stretch_to(const struct stretch *s, size_t i)
{
    const size_t to = s->b + i * s->q + s->blocks;

    return s->col0 + 2 * (to == s->t->nb ? s->t->mf : to * s->t->D);
}

/* Z't takes whole vectors of columns; the rest at the end belongs to the next stretch. */
static size_t whole_vectors(const struct cpu *c, size_t col)
{
    return col == c->M ? col : col / c->real->lanes * c->real->lanes;
}

/* Z't of a stretch by itself. */
static void stretch_down(const struct flow *f, const struct stretch *s, const char *ahead)
{
    const struct cpu *c = f->c;

    for (size_t i = 0; i < stretch_places(s); i++) {
        const size_t from = whole_vectors(c, stretch_from(s, i)),
                     to = whole_vectors(c, stretch_to(s, i));
        const struct simd_down down = {f->k, f->w->tr, f->part + from, c->M};
        if (from < to)
            c->real->axpy(to - from, f->down + from * c->R * c->real->size, c->R, c->R, &down,
                          ahead);
    }
}

/* If Z't of s fits into the loop of a Z P, adds it to `four` and returns true. */
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

/* Adds up the sums of all blocks of a term, in their order. */
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

/* Z P of a stretch in four places, together with Z't of n stretches. */
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

/* Z P of any other stretch. */
static void stretch_up(const struct flow *f, const struct stretch *s)
{
    const struct cpu *c = f->c;
    const struct simd_term some = term_blocks(s->t, s->b, FLOW_COLUMNS);
    const size_t col = stretch_from(s, 0), size = c->real->size;
    const struct simd_up up = {f->k, c->P + col * size, c->M, f->w->t, c->R};

    c->real->dot(&some, f->up + col * c->R * size, c->R, c->R, &up);
}

/* Z P of one tile and Z't of another. */
static void flow_tile(const struct flow *f)
{
    const size_t bytes = f->c->R * f->c->real->size; /* the size of a column */
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

/* All tiles of some groups.  A tile's Z't follows once its t is complete. */
static void flow_groups(struct sweep *s, struct worker *w, size_t from, size_t to)
{
    struct cpu *c = s->c;
    const size_t bytes = c->R * c->M * c->real->size, begin = c->group[from];
    const size_t end = c->group[to];
    /* When two tiles fill the second-level cache, `down` is finished in the first half of `up`. */
    struct flow f = { .c = c, .w = w, .k = s->k, .rate = s->k == 1 && bytes > tile_bytes ? 2 : 1 };

    for (size_t i = 0; i < c->nseg; i++)
        f.stretches += term_stretches(&f, &c->term[i]);
    for (size_t tile = begin, group = from; tile <= end; tile++) {
        if (ctl_stopped(s->ctl))
            return;
        f.down = tile > begin ? c->Z + (tile - 1) * bytes : NULL;
        f.up = tile < end ? c->Z + tile * bytes : NULL;
        f.last = tile + 1 >= c->tiles;
        if (f.down && tile - 1 == c->group[group]) { /* the first of its group */
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

/* A task takes several groups, so that Z't of one group overlaps with Z P of the next. */
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
    pool_moved((double)(s->c->n / tasks) * (double)(s->c->M * s->c->real->size));
}

/* All tiles of a group of rows, in order. */
static void sweep_group(void *ctx, size_t g, size_t worker)
{
    struct sweep *s = ctx;
    struct cpu *c = s->c;
    double *part = c->part + g * c->kcap * c->M;
    const size_t end = c->group[g + 1], stack = stack_tiles(c, s->k);

    if (s->W)
        memset(part, 0, rhs_padded(c, s->k) * c->M * sizeof *part);
    for (size_t tile = c->group[g]; tile < end; tile += stack) {
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

/* The position of entry j of right-hand side i in P and in the partial sums of a group. */
static size_t rhs_at(const struct cpu *c, struct split k, size_t i, size_t j)
{
    const size_t lanes = c->real->lanes;

    return i / lanes < k.groups ? (i / lanes * c->M + j) * lanes + i % lanes : i * c->M + j;
}

/* The factor that column j in a tile does not contain. */
static double column_out(const struct cpu *c, size_t j)
{
    size_t t = 0;

    while (t + 1 < c->nseg && j >= c->seg[t + 1].col0)
        t++;
    return c->seg[t].out;
}

enum { MERGE_MOST = 256 }; /* numbers that are added at a time, so that all groups' are in cache */

/* Sums over groups, in the layout of those of a group, which do not depend on an order (fold.h);
 * with features in float64 they have two folds.  Where rows are shared with other processes, all
 * units have to be known before the first sum. */
struct merge {
    const struct sweep *s;
    enum { UNITS, SUMS, ALL } part; /* what a task does */
    double *unit, *sum, *rest;      /* of all sums (ALL: not used); the last two become W */
};

static void merge_units(const struct cpu *c, size_t at, size_t n, double *unit)
{
    memset(unit, 0, n * sizeof *unit);
    for (size_t g = 0; g < c->groups; g++)
        fold_bound(n, c->part + g * c->kcap * c->M + at, unit);
}

static void merge_sums(const struct cpu *c, size_t at, size_t n, const double *unit, double *sum,
                       double *rest)
{
    const bool both = c->real->size == sizeof(double);

    memset(sum, 0, n * sizeof *sum);
    memset(rest, 0, n * sizeof *rest);
    for (size_t g = 0; g < c->groups; g++)
        if (both)
            fold_add_both(n, GROUPS_MOST, c->part + g * c->kcap * c->M + at, unit, sum, rest);
        else
            fold_add(n, c->part + g * c->kcap * c->M + at, unit, sum);
}

/* W for columns j0 to j1 - 1 and `lanes` adjacent right-hand sides from i on, or for one (lanes
 * 1): sums times sqrt(1/mf) of the column's term. */
static void merge_out(const struct sweep *s, size_t i, size_t lanes, size_t j0, size_t j1,
                      const double *sum, const double *rest)
{
    for (size_t j = j0; j < j1; j++) {
        const double out = column_out(s->c, j);
        for (size_t l = 0; l < lanes && i + l < s->k; l++) {
            const size_t at = (j - j0) * lanes + l;
            s->W[(i + l) * s->c->M + j] = (sum[at] + rest[at]) * out;
        }
    }
}

static void merge_columns(const struct merge *m, size_t i, size_t lanes, size_t j0, size_t j1)
{
    const struct cpu *c = m->s->c;
    const size_t n = (j1 - j0) * lanes, at = i * c->M + j0 * lanes;
    double sum[MERGE_MOST], rest[MERGE_MOST], unit[MERGE_MOST];

    if (m->part == UNITS) {
        merge_units(c, at, n, m->unit + at);
    } else if (m->part == SUMS) {
        fold_units(n, GROUPS_MOST, m->unit + at);
        merge_sums(c, at, n, m->unit + at, m->sum + at, m->rest + at);
    } else {
        merge_units(c, at, n, unit);
        fold_units(n, GROUPS_MOST, unit);
        merge_sums(c, at, n, unit, sum, rest);
        merge_out(m->s, i, lanes, j0, j1, sum, rest);
    }
}

/* MERGE_COLS columns of all right-hand sides. */
static void sweep_merge(void *ctx, size_t task, size_t worker)
{
    const struct merge *m = ctx;
    const struct cpu *c = m->s->c;
    const struct split k = rhs_split(c, m->s->k);
    const size_t lanes = c->real->lanes, many = k.groups * lanes, step = MERGE_MOST / LANES_MOST;
    const size_t j0 = task * MERGE_COLS, j1 = j0 + MERGE_COLS < c->M ? j0 + MERGE_COLS : c->M;

    (void)worker;
    for (size_t i = 0; i < many; i += lanes)
        for (size_t j = j0; j < j1; j += step)
            merge_columns(m, i, lanes, j, j + step < j1 ? j + step : j1);
    for (size_t i = many; i < m->s->k; i++)
        merge_columns(m, i, 1, j0, j1);
}

/* W from the sums of all groups, those of other processes included. */
static enum status merge_run(const struct sweep *s, struct err *err)
{
    const struct cpu *c = s->c;
    const struct share *share = c->opts.share;
    const struct split k = rhs_split(c, s->k);
    const size_t tasks = (c->M + MERGE_COLS - 1) / MERGE_COLS, all = rhs_padded(c, s->k) * c->M;
    const size_t lanes = c->real->lanes, many = k.groups * lanes;
    struct merge m = { .s = s, .part = ALL };

    if (!share) {
        pool_run(c->opts.pool, tasks, sweep_merge, &m);
        return ST_OK;
    }
    m.unit = mem_aligned(3 * all, sizeof *m.unit, "sums of processes", err);
    if (!m.unit)
        return ST_NOMEM;
    m.sum = m.unit + all;
    m.rest = m.sum + all;
    m.part = UNITS;
    pool_run(c->opts.pool, tasks, sweep_merge, &m);
    enum status rc = share_most(share, all, m.unit, err);
    m.part = SUMS;
    if (rc == ST_OK)
        pool_run(c->opts.pool, tasks, sweep_merge, &m);
    if (rc == ST_OK)
        rc = share_sum(share, c->real->size == sizeof(double) ? 2 * all : all, m.sum, err);
    for (size_t i = 0; rc == ST_OK && i < many; i += lanes)
        merge_out(s, i, lanes, 0, c->M, m.sum + i * c->M, m.rest + i * c->M);
    for (size_t i = many; rc == ST_OK && i < s->k; i++)
        merge_out(s, i, 1, 0, c->M, m.sum + i * c->M, m.rest + i * c->M);
    free(m.unit);
    return rc;
}

/* c->P = P times the factor that columns lack, in the precision and layout of the products. */
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

/* Runs a sweep over all rows, then adds up the groups. */
static enum status sweep_run(struct sweep *s, const double *P, struct err *err)
{
    struct cpu *c = s->c;
    enum status rc = cpu_reserve(c, s->k, err);

    if (rc == ST_OK && s->k > 0 && c->signs)
        rc = cpu_bits_fill(c, s->ctl, err);
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
    return s->W ? merge_run(s, err) : ST_OK;
}

enum status cpu_pass(void *state, size_t k, const double *P, double *W,
                     const struct ctl *ctl, struct err *err)
{
    struct sweep s = { .c = state, .k = k, .up = true, .rounded = true, .W = W, .ctl = ctl };

    return sweep_run(&s, P, err);
}

enum status cpu_pass_exact(void *state, size_t k, const double *P, double *W,
                           const struct ctl *ctl, struct err *err)
{
    struct sweep s = { .c = state, .k = k, .up = true, .W = W, .ctl = ctl };

    return sweep_run(&s, P, err);
}

enum status cpu_zp(void *state, size_t k, const double *P, double *T, const struct ctl *ctl,
                   struct err *err)
{
    struct sweep s = { .c = state, .k = k, .up = true, .T = T, .ctl = ctl };

    return sweep_run(&s, P, err);
}

enum status cpu_ztv(void *state, size_t k, const double *V, double *W,
                    const struct ctl *ctl, struct err *err)
{
    struct sweep s = { .c = state, .k = k, .V = V, .W = W, .ctl = ctl };

    return sweep_run(&s, NULL, err);
}
