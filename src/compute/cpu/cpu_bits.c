/* compute/cpu/cpu_bits.c -- features that are signs (FM_HASH), kept as bits (share/doc/methods.md
 * 4.10).  All rows are hashed at once, a few features after the others, because the draws for a
 * place and its values serve every row; tiles of columns and rows are then spread from the bits.
 * Gram matrices count the bits in which columns differ: n - 2 times that is their product. */
#include "compute/cpu/cpu_state.h"

#include "compute/cpu/bits.h"
#include "compute/features/hash.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRETCH = 1 << 17, /* rows whose pairs are kept at once; whole lines of bits */
    CHUNK = 256,       /* rows that are read at once */
    GRAM_TILE = 64,    /* columns of a tile of a Gram matrix */
};

size_t cpu_bits_words(size_t n)
{
    return (n + 64 * BITS_LINE - 1) / (64 * BITS_LINE) * BITS_LINE;
}

/* Reads rows r0 to r1 - 1. */
static enum status rows_read(const struct cpu *c, const struct fm_term *t, struct hash_rows *h,
                             size_t r0, size_t r1, struct err *err)
{
    const size_t d = c->src->d;
    double *x = mem_aligned(CHUNK * d, sizeof *x, "rows of counts", err);
    enum status rc = x ? ST_OK : ST_NOMEM;

    for (size_t r = r0; rc == ST_OK && r < r1; r += CHUNK) {
        const size_t end = r + CHUNK < r1 ? r + CHUNK : r1;
        rc = c->src->rows(c->src, r, end, x, err);
        if (rc == ST_OK)
            rc = hash_rows_add(h, end - r, x + featmap_first(t, x), d, err);
    }
    free(x);
    return rc == ST_OK ? hash_rows_end(h, err) : rc;
}

/* A stretch of rows of one term. */
struct fill {
    struct cpu *c;
    const struct fm_term *t;
    const struct hash_rows *rows;
    uint64_t *word; /* of the first row and feature */
    size_t words;
    char *work;     /* of all workers */
    size_t bytes;
    const struct ctl *ctl;
};

static void fill_task(void *ctx, size_t g, size_t worker)
{
    const struct fill *f = ctx;

    if (!ctl_stopped(f->ctl))
        hash_signs(f->t, g, f->rows, &f->c->simd->hash, f->work + worker * f->bytes,
                   f->word + g * HASH_GROUP * f->words, f->words);
}

static enum status stretch_fill(struct cpu *c, size_t i, size_t r0, size_t r1, struct pool *pool,
                                const struct ctl *ctl, struct err *err)
{
    const struct fm_term *t = c->seg[i].fm;
    struct hash_rows *h = hash_rows_new(err);
    enum status rc = h ? rows_read(c, t, h, r0, r1, err) : ST_NOMEM;
    struct fill f = { .c = c, .t = t, .rows = h, .word = c->bits[i] + r0 / 64,
                      .words = cpu_bits_words(c->n), .ctl = ctl };

    if (rc == ST_OK) {
        f.bytes = hash_work_bytes(h);
        f.work = mem_aligned(pool_threads(pool), f.bytes, "keys of counts", err);
        rc = f.work ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK)
        pool_run(pool, (t->mf + HASH_GROUP - 1) / HASH_GROUP, fill_task, &f);
    free(f.work);
    hash_rows_free(h);
    return rc;
}

static enum status part_fill(struct cpu *c, size_t i, struct pool *pool, const struct ctl *ctl,
                             struct err *err)
{
    const size_t words = cpu_bits_words(c->n), mf = c->seg[i].fm->mf;
    enum status rc = ST_OK;

    if (!c->bits[i])
        c->bits[i] = mem_aligned(mf * words + BITS_LINE, sizeof *c->bits[i], "features as bits",
                                 err);
    if (!c->bits[i])
        return ST_NOMEM;
    memset(c->bits[i], 0, mf * words * sizeof *c->bits[i]);
    for (size_t r = 0; rc == ST_OK && r < c->n; r += STRETCH) {
        rc = stretch_fill(c, i, r, r + STRETCH < c->n ? r + STRETCH : c->n, pool, ctl, err);
        if (rc == ST_OK && ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "stopped at row %zu of %zu of the hashes", r, c->n);
    }
    return rc;
}

static enum status fill(struct cpu *c, struct pool *pool, const struct ctl *ctl, struct err *err)
{
    enum status rc = ST_OK;

    pthread_mutex_lock(&c->bits_lock);
    for (size_t i = 0; rc == ST_OK && !c->bits_filled && i < c->nseg; i++)
        if (c->seg[i].fm && featmap_is_signed(c->seg[i].fm))
            rc = part_fill(c, i, pool, ctl, err);
    if (rc == ST_OK)
        atomic_store(&c->bits_filled, true);
    pthread_mutex_unlock(&c->bits_lock);
    return rc;
}

enum status cpu_bits_fill(struct cpu *c, const struct ctl *ctl, struct err *err)
{
    return atomic_load(&c->bits_filled) ? ST_OK : fill(c, c->opts.pool, ctl, err);
}

enum status cpu_bits_need(struct cpu *c, struct err *err)
{
    return atomic_load(&c->bits_filled) ? ST_OK : fill(c, NULL, NULL, err);
}

/* The 16 bits of rows from r on (a multiple of 16) in a column. */
static uint16_t bits_at(const uint64_t *column, size_t r)
{
    return (uint16_t)(column[r / 64] >> (r % 64));
}

void cpu_bits_columns(const struct cpu *c, size_t i, size_t r0, size_t col, size_t cols, char *z)
{
    const size_t words = cpu_bits_words(c->n), size = c->real->size;

    for (size_t j = 0; j < cols; j++) {
        const uint64_t *column = c->bits[i] + (col + j) * words;
        uint16_t bits[TILE_ROWS_MOST / 16];
        for (size_t r = 0; r < c->R; r += 16)
            bits[r / 16] = r0 + r < 64 * words ? bits_at(column, r0 + r) : 0;
        if (size == sizeof(float))
            c->simd->hash.columns32(c->R, bits, (float *)(void *)(z + j * c->R * size));
        else
            c->simd->hash.columns64(c->R, bits, (double *)(void *)(z + j * c->R * size));
    }
}

/* Gram matrices. */

struct gram_job {
    const struct cpu *c;
    const uint64_t **column;
    const double *out;
    double *G;
    size_t ld;
    const struct ctl *ctl;
};

/* Entries of BITS_BLOCK columns from i on times as many from j on, where they exist. */
static void gram_block(const struct gram_job *g, size_t i, size_t j)
{
    const struct cpu *c = g->c;
    const uint64_t *a[BITS_BLOCK], *b[BITS_BLOCK];
    uint64_t differ[BITS_BLOCK * BITS_BLOCK];

    for (size_t q = 0; q < BITS_BLOCK; q++) {
        a[q] = g->column[i + q < c->M ? i + q : c->M - 1];
        b[q] = g->column[j + q < c->M ? j + q : c->M - 1];
    }
    bits_now()->differ(cpu_bits_words(c->n) / BITS_LINE, a, b, differ);
    for (size_t q = 0; q < BITS_BLOCK && i + q < c->M; q++)
        for (size_t p = 0; p < BITS_BLOCK && j + p < c->M; p++) {
            const double n = (double)c->n - 2.0 * (double)differ[BITS_BLOCK * q + p];
            const double v = c->opts.share ? n : g->out[i + q] * g->out[j + p] * n;
            g->G[(j + p) * g->ld + i + q] = v;
            g->G[(i + q) * g->ld + j + p] = v;
        }
}

static void gram_task(void *ctx, size_t task, size_t worker)
{
    const struct gram_job *g = ctx;
    size_t i = 0, j = 0;

    (void)worker;
    if (ctl_stopped(g->ctl))
        return;
    while ((i + 1) * (i + 2) / 2 <= task)
        i++;
    j = task - i * (i + 1) / 2;
    for (size_t p = i * GRAM_TILE; p < (i + 1) * GRAM_TILE && p < g->c->M; p += BITS_BLOCK)
        for (size_t q = j * GRAM_TILE; q < (j + 1) * GRAM_TILE && q <= p; q += BITS_BLOCK)
            gram_block(g, p, q);
}

/* Adds up what the processes have counted, whole numbers, and scales it. */
static enum status gram_shared(const struct gram_job *g, struct err *err)
{
    const size_t M = g->c->M;
    const enum status rc = share_sum_matrix(g->c->opts.share, M, M, true, g->G, g->ld, err);

    for (size_t j = 0; rc == ST_OK && j < M; j++)
        for (size_t i = j; i < M; i++) {
            g->G[j * g->ld + i] *= g->out[i] * g->out[j];
            g->G[i * g->ld + j] = g->G[j * g->ld + i];
        }
    return rc;
}

enum status cpu_gram(void *state, size_t ny, const double *y, double *G, size_t ld, double *zty,
                     const struct ctl *ctl, struct err *err)
{
    struct cpu *c = state;
    const size_t down = (c->M + GRAM_TILE - 1) / GRAM_TILE;

    if (!c->all_bits || c->opts.row_scale)
        return ST_UNSUPPORTED;
    enum status rc = cpu_bits_fill(c, ctl, err);
    if (rc != ST_OK)
        return rc;
    const uint64_t **column = mem_calloc(c->M, sizeof *column, "columns of bits", err);
    double *out = column ? mem_calloc(c->M, sizeof *out, "columns of bits", err) : NULL;
    for (size_t i = 0; out && i < c->nseg; i++)
        for (size_t j = 0; j < c->seg[i].cols; j++) {
            column[c->seg[i].col0 + j] = c->bits[i] + j * cpu_bits_words(c->n);
            out[c->seg[i].col0 + j] = c->seg[i].out;
        }
    struct gram_job g = { c, column, out, G, ld, ctl };
    if (out)
        pool_run(c->opts.pool, down * (down + 1) / 2, gram_task, &g);
    rc = out ? ST_OK : ST_NOMEM;
    if (rc == ST_OK && ctl_stopped(ctl))
        rc = err_set(err, ST_CANCELLED, "stopped in the Gram matrix");
    if (rc == ST_OK && c->opts.share)
        rc = gram_shared(&g, err);
    free(column);
    free(out);
    return rc == ST_OK && y && zty ? cpu_ztv(c, ny, y, zty, ctl, err) : rc;
}
