/* compute/cpu/cpu_open.c -- opening, setting and closing the CPU backend: which columns are made in
 * one way, how rows are cut into tiles, and workspace. */
#include "compute/cpu/cpu_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

void cpu_close(void *state)
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
    for (size_t i = 0; c->bits && i < c->nseg; i++)
        free(c->bits[i]);
    free(c->bits);
    pthread_mutex_destroy(&c->bits_lock);
    free(c->seg);
    free(c->hp);
    free(c->part);
    free(c->P);
    free(c->Z);
    free(c->half);
    free(c);
}

/* Divides the columns into parts: one for each plain term, then one for each sum over windows, in
 * the order of the columns, and one for all other terms. */
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
    enum { D = 64 }; /* columns of the part of other terms are summed by this many pairs */
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

size_t cpu_scratch_bytes(const struct cpu *c)
{
    size_t most = c->steps ? steps_scratch(c->steps, c->real) : 0;

    for (size_t i = 0; i < c->nseg; i++) {
        const size_t a = c->real->scratch(&c->term[i]), b = c->simd->f64.scratch(&c->term64[i]);
        most = a > most ? a : most;
        most = b > most ? b : most;
    }
    return most;
}

size_t cpu_room_bytes(const struct cpu *c, bool back)
{
    size_t most = 0;

    for (size_t i = 0; i < c->nseg; i++)
        if (is_windows(&c->seg[i])) {
            const struct windows w = windows_of(c, i, 0, NULL, NULL);
            const size_t bytes = windows_room(&w, c->R, c->src->d, back);
            most = bytes > most ? bytes : most;
        }
    return most;
}

static size_t blocks_most(const struct cpu *c)
{
    size_t most = 1;

    for (size_t i = 0; i < c->nseg; i++)
        most = c->term[i].nb > most ? c->term[i].nb : most;
    return most;
}

enum status cpu_reserve(struct cpu *c, size_t k, struct err *err)
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
        w->scratch = mem_aligned(cpu_scratch_bytes(c), 1, "tile scratch", err);
        w->blocks = c->Z ? mem_aligned(c->R * blocks_most(c), size, "row sums", err) : NULL;
        w->rows = c->windows ? mem_aligned(rows_bytes(c) + cpu_room_bytes(c, false), 1,
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
    const size_t all = share_rows(c->opts.share, c->n);
    size_t R = TILE_ROWS_MOST;

    /* For sequences of tens of thousands of positions a tile has only a few rows. */
    while (R > TILE_ROWS_STEP && (R * c->M * c->real->size > tile_bytes || R >= 2 * all ||
                                  (c->windows && R * c->src->d * sizeof(double) > row_bytes)))
        R /= 2;
    c->R = R;
    c->tiles = (c->n + R - 1) / R;
    for (size_t s = 0, r0, r1; s < GROUPS_MOST; s++) {
        share_part(c->opts.share, c->n, s, GROUPS_MOST, &r0, &r1);
        if (r0 < r1)
            c->group[c->groups++] = r0 / R;
    }
    c->groups += c->groups == 0; /* no rows */
    c->group[c->groups] = c->tiles;
}

static enum status cpu_init(struct cpu *c, struct err *err)
{
    c->hp = mem_calloc(kernel_nhp(&c->fm->kernel) + 1, sizeof *c->hp, "hyperparameters", err);
    if (!c->hp || parts_make(c, err) != ST_OK || filters_make(c, err) != ST_OK)
        return err_status(err);
    c->term = terms_new(c, c->real, err);
    c->term64 = c->real == &c->simd->f64 ? c->term : terms_new(c, &c->simd->f64, err);
    if (!c->term || !c->term64)
        return ST_NOMEM;
    c->bits = mem_calloc(c->nseg + 1, sizeof *c->bits, "feature terms", err);
    if (!c->bits)
        return ST_NOMEM;
    for (size_t i = 0; i < c->nseg; i++)
        c->signs |= c->seg[i].fm && featmap_is_signed(c->seg[i].fm);
    c->all_bits = featmap_all_signed(c->fm);
    c->opts.store &= !c->all_bits; /* the bits are what is kept */
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

enum status cpu_set(void *state, const double *hp, struct err *err)
{
    struct cpu *c = state;
    const size_t nhp = kernel_nhp(&c->fm->kernel);

    for (size_t i = 0; i < nhp; i++)
        if (!(hp[i] > 0.0 && isfinite(hp[i])))
            return err_set(err, ST_RANGE, "hyperparameter %zu is %g; it must be positive", i + 1,
                           hp[i]);
    if (nhp > 0) /* a learned map may have none, and hp is then NULL */
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

void *cpu_open(const struct featmap *fm, const struct source *src,
               const struct fop_opts *opts, struct err *err)
{
    struct cpu *c = mem_calloc(1, sizeof *c, "feature operator", err);
    if (!c)
        return NULL;
    *c = (struct cpu){ .fm = fm, .src = src, .opts = *opts, .n = src->n, .M = fm->M,
                       .simd = cpu_simd_now(), .workers = pool_threads(opts->pool) };
    pthread_mutex_init(&c->bits_lock, NULL);
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

void cpu_unhalve(void *state)
{
    struct cpu *c = state;

    free(c->half);
    c->half = NULL;
    c->half_filled = false;
}

void cpu_other_columns(const struct cpu *c, const struct simd_real *real, const struct part *p,
                       const struct simd_inputs *in, char *z, size_t cs, void *scratch)
{
    const struct steps_work work = {c->steps, c->simd, real, c->hp, scratch};

    if (c->steps) {
        steps_fill(&work, in, p->col0, z, cs);
        return;
    }
    for (size_t j = 0; j < p->cols; j++)
        memset(z + j * cs * real->size, 0, real->lanes * real->size);
}
