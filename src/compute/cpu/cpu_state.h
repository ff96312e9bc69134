/* compute/cpu/cpu_state.h -- the state that the files of the CPU backend share, and how rows and
 * right-hand sides are cut. */
#ifndef GPDESK_CPU_STATE_H
#define GPDESK_CPU_STATE_H

#include "compute/backend.h"

#include "base/mem.h"
#include "compute/cpu/backend_steps.h"
#include "compute/cpu/backend_windows.h"
#include "compute/cpu/simd.h"
#include "compute/share.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    GROUPS_MOST = SHARE_SEGMENTS,  /* partial sums over rows, each by one task */
    TILE_ROWS_MOST = SHARE_ROWS, /* a multiple of the rows of any tile */
    TILE_ROWS_STEP = 16, /* the most lanes of any level, so that tiles do not depend on it */
    RHS_BLOCK = 8,      /* from this number on, right-hand sides go in groups of a vector */
    MERGE_COLS = 128,   /* columns that one task adds up over the groups */
    LANES_MOST = 16,
};
static const size_t tile_bytes = (size_t)1 << 19; /* two of them fit a second-level cache */
static const size_t row_bytes = (size_t)16 << 20; /* the most for the input rows of a tile */

struct worker {
    char *z;       /* tile of features, when not stored: M x R */
    double *x, *t; /* R x d; kcap x R */
    char *tr;      /* t in the precision of features: kcap x R; for groups R x lanes each */
    char *blocks;  /* stored features: sums of R rows for each block of the longest term */
    char *rows;    /* for a part over windows: its columns by row, and room (backend_windows.h) */
    void *scratch;
};

/* A range of columns that are made in one way: those of a plain term or of a term over windows, or
 * of all other terms together (fm NULL). */
struct part {
    const struct fm_term *fm;
    size_t col0, cols;
    double out; /* the factor that columns in a tile do not contain yet */
};

struct cpu {
    const struct featmap *fm;
    const struct source *src;
    struct fop_opts opts;
    const struct simd *simd;
    const struct simd_real *real; /* of the precision asked for */
    struct part *seg;
    size_t nseg;
    struct simd_term *term, *term64; /* of each part: for real, and for float64 tiles (the same when
                                      * real is f64) */
    struct steps *steps; /* of the last part, and of windows; NULL: all chains are plain */
    bool windows;                    /* a part is of windows: rows hold sequences */
    float **dense; /* of each part: its dense filters (windows_filters), or NULL */
    double *hp;
    size_t n, M, R, tiles, groups, kcap;
    size_t group[GROUPS_MOST + 1]; /* the first tile of each group, which is a segment (share.h);
                                    * that of c->groups is behind the last tile */
    struct worker *worker;
    size_t workers;
    struct mem_spares spares; /* workspace for requests of a few rows */
    double *part; /* groups x kcap x M sums; for right-hand sides in groups M x lanes each */
    char *P;      /* kcap x M (for groups M x lanes each): P rounded, times sqrt(1/mf) */
    char *Z;      /* stored features: tiles x M x R; or NULL */
    bool filled;
    uint16_t *half; /* stored features in float16, for passes only; or NULL */
    bool half_filled;
    uint64_t **bits; /* of each part of signs (featmap_is_signed): its columns as bits, each of
                      * cpu_bits_words(n) words; NULL: other parts, or not filled */
    bool signs, all_bits; /* some part has signs; all columns are signs times one constant each */
    atomic_bool bits_filled;
    pthread_mutex_t bits_lock;
};

static inline bool is_windows(const struct part *p)
{
    return p->fm && featmap_is_windowed(p->fm);
}

/* cpu_bits.c: words of a column; makes the bits of all rows, by the pool or (need: callable from
 * any task) alone; features of a tile of R rows from r0 on, as columns (col counts in the part);
 * backend_ops.gram for columns of bits. */
size_t cpu_bits_words(size_t n);
enum status cpu_bits_fill(struct cpu *, const struct ctl *, struct err *err);
enum status cpu_bits_need(struct cpu *, struct err *err);
void cpu_bits_columns(const struct cpu *, size_t i, size_t r0, size_t col, size_t cols, char *z);
enum status cpu_gram(void *state, size_t ny, const double *y, double *G, size_t ld, double *zty,
                     const struct ctl *, struct err *err);

/* The description of part i, over windows, for rows from `row` on, with room for a tile and scratch
 * of one worker. */
static inline struct windows windows_of(const struct cpu *c, size_t i, size_t row, void *room,
                                        void *scratch)
{
    return (struct windows){.t = c->seg[i].fm,
                            .simd = c->simd,
                            .term = &c->term[i],
                            .term64 = &c->term64[i],
                            .dense = c->dense[i],
                            .steps = c->steps,
                            .hp = c->hp,
                            .room = room,
                            .scratch = scratch,
                            .bits = c->bits[i],
                            .words = cpu_bits_words(c->n),
                            .row = row,
                            .rows = c->R,
                            .d = c->src->d};
}

/* The distance between rows of a part over windows before they become columns of a tile, and the
 * bytes of all rows. */
static inline size_t rows_ld(const struct part *p)
{
    return p->cols + TILE_ROWS_STEP;
}

static inline size_t rows_bytes(const struct cpu *c)
{
    size_t most = 0;

    for (size_t i = 0; i < c->nseg; i++)
        if (is_windows(&c->seg[i]) && rows_ld(&c->seg[i]) > most)
            most = rows_ld(&c->seg[i]);
    return mem_lines(c->R * most * c->real->size);
}

/* How k right-hand sides are divided: groups of a vector, then the rest one by one.  A small rest
 * is cheaper one by one than as a vector that is mostly empty. */
struct split { size_t groups, ones; };

static inline struct split rhs_split(const struct cpu *c, size_t k)
{
    const size_t lanes = c->real->lanes, groups = k / lanes, left = k % lanes;

    if (k < RHS_BLOCK)
        return (struct split){ 0, k };
    return left < RHS_BLOCK ? (struct split){ groups, left } : (struct split){ groups + 1, 0 };
}

/* The number of right-hand sides with the padding of the last group. */
static inline size_t rhs_padded(const struct cpu *c, size_t k)
{
    const struct split split = rhs_split(c, k);

    return split.groups * c->real->lanes + split.ones;
}

/* The number of tiles whose products Z't are taken together.  With many right-hand sides, adding
 * the sums of a tile with few rows (a vector of doubles for each column) would cost as much as its
 * products. */
static inline size_t stack_tiles(const struct cpu *c, size_t k)
{
    return rhs_split(c, k).groups && !c->half ? TILE_ROWS_MOST / c->R : 1;
}

/* cpu_open.c: open, close, set and unhalve of backend_ops; workspace for k right-hand sides, which
 * only grows; the bytes of scratch, and of room for a tile of any part (back: with its
 * derivatives). */
void *cpu_open(const struct featmap *, const struct source *, const struct fop_opts *,
               struct err *err);
void cpu_close(void *state);
enum status cpu_set(void *state, const double *hp, struct err *err);
void cpu_unhalve(void *state);
enum status cpu_reserve(struct cpu *, size_t k, struct err *err);
size_t cpu_scratch_bytes(const struct cpu *);
size_t cpu_room_bytes(const struct cpu *, bool back);
/* Makes the columns of the part without a loop of its own for one lane tile: its terms, and columns
 * of zeros. */
void cpu_other_columns(const struct cpu *, const struct simd_real *, const struct part *,
                       const struct simd_inputs *, char *z, size_t cs, void *scratch);

/* cpu_sweep.c: products with Z and its transpose by sweeps over the rows (backend_ops). */
enum status cpu_pass(void *state, size_t k, const double *P, double *W, const struct ctl *,
                     struct err *err);
enum status cpu_pass_exact(void *state, size_t k, const double *P, double *W,
                           const struct ctl *, struct err *err);
enum status cpu_zp(void *state, size_t k, const double *P, double *T, const struct ctl *,
                   struct err *err);
enum status cpu_ztv(void *state, size_t k, const double *V, double *W, const struct ctl *,
                    struct err *err);

/* cpu_grad.c: the derivatives in all hyperparameters at once (backend_ops.grad). */
enum status cpu_grad(void *state, size_t r0, size_t r1, const double *z, const double *B,
                     size_t ld, double *grad, struct err *err);

#endif
