/* compute/models/exact_op.c -- products with an exact kernel matrix (share/doc/methods.md 5.7 to
 * 5.9).
 *
 * A task is a block of rows.  It goes over all columns in tiles of fixed size, computes the kernel
 * values of a group of rows with a tile once, or reads them where they are stored, and multiplies
 * them with all vectors.  Sums of a tile are single precision, over tiles double; no sum depends on
 * the thread count. */
#include "compute/models/exact.h"

#include "base/mem.h"
#include "compute/backend.h"
#include "compute/cpu/simd.h"
#include "compute/kernels/kernel_tile.h"
#include "compute/kernels/layers/symbol_windows.h"
#include "compute/models/exact_form.h"
#include "compute/models/exact_stored.h"
#include "compute/phase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* PAIR_BLOCK divides KERNEL_TILE. */
enum {
    GROUPS = 4, BLOCK = GROUPS * PAIRS_GROUP /* rows of a task */, PAIR_BLOCK = 8,
    STORE_ROWS = 32 * BLOCK, /* rows between two reports while the matrix is stored */
};

struct exact_op {
    const struct backend_exact *be;
    void *at;       /* the backend's object; NULL: the CPU computes */
    void *lost;     /* that of a device that was lost, which a descent may still name */
    struct err why; /* the error of a device that was lost */
    struct exact_rows r;
    struct exact_form *form; /* NULL: not packed, or computed pair by pair */
    struct exact_stored *stored; /* all values of K1; NULL: each product computes them */
    struct mem_spares spare; /* packed vectors and scratch between calls */
};

/* Opens the operator on the backend's device if it has one for this kernel; otherwise op->at stays
 * NULL and the CPU computes.  Only NOMEM is a failure. */
static enum status open_there(struct exact_op *op, const struct backend_exact *be, struct err *err)
{
    const size_t F = op->r.k->nterms, d = op->r.d, table = 4 * BACKEND_TABLE;
    float *form = mem_calloc(F * (d + table + 1), sizeof *form, "an exact kernel", err);
    float *tables = form ? form + F * d : NULL, *weight = form ? tables + F * table : NULL;
    struct backend_closed closed[KERNEL_MAX_TERMS];
    const bool good = form && exact_form_radial(op->r.k, op->r.hp, d, form, tables, weight, closed);

    if (good)
        op->at = be->open(&(struct backend_radial){ d, F, form, tables, weight, closed }, op->r.n,
                          op->r.X, err);
    free(form);
    if (!form || (good && !op->at && err && err->code == ST_NOMEM))
        return ST_NOMEM;
    if (good && !op->at && err)
        op->why = *err;
    err_clear(err);
    op->be = be;
    return ST_OK;
}

/* Packs the rows for the CPU if the kernel allows it and it was not done before. */
static enum status open_here(struct exact_op *op, struct err *err)
{
    return op->form ? ST_OK : exact_form_new(&op->r, &op->form, err);
}

enum status exact_op_open(const struct backend_ops *be, const struct exact_rows *r,
                          struct exact_op **out, struct err *err)
{
    struct exact_op *op = mem_calloc(1, sizeof *op, "an exact kernel", err);
    enum status rc = op ? ST_OK : ST_NOMEM;

    *out = NULL;
    if (op)
        op->r = *r;
    if (op && be && be->exact)
        rc = open_there(op, be->exact, err);
    if (rc == ST_OK && !op->at)
        rc = open_here(op, err);
    if (rc == ST_OK)
        *out = op;
    else
        exact_op_close(op);
    return rc;
}

void exact_op_close(struct exact_op *op)
{
    if (!op)
        return;
    if (op->at)
        op->be->close(op->at);
    if (op->lost)
        op->be->close(op->lost);
    exact_form_free(op->form);
    exact_stored_free(op->stored);
    mem_spares_free(&op->spare);
    free(op);
}

bool exact_op_there(const struct exact_op *op, struct err *why)
{
    if (!op->at && why)
        *why = op->why;
    return op->at != NULL;
}

const struct backend_descent *exact_op_descent(const struct exact_op *op, void **there)
{
    *there = op->at;
    return op->at && !op->stored ? op->be->descent : NULL;
}

bool exact_op_single(const struct exact_op *op)
{
    return op->at || op->form || op->stored;
}

/* What is asked for: m rows, either those of Y or those of X that `at` names, and their products W
 * with k vectors V; or themselves, as columns of C or to be stored. */
struct product {
    struct exact_op *op;
    size_t m;
    const double *Y;
    const size_t *at;
    size_t k;
    const double *V;
    double *W, *C;
    const struct exact_stored *from; /* where values are read; NULL: they are computed */
    struct exact_stored *into;       /* where they are written, and */
    size_t first;                    /* the row there of the first one */
    const struct ctl *ctl;
    /* In single precision: */
    const struct simd *simd;
    const struct pairs_loops *loops;
    struct pairs_vectors vectors;
    size_t tile, each; /* floats of a packed tile of vectors; bytes of scratch of one worker */
    float *packed;
    char *scratch;
};

/* Inputs of row r of those asked for. */
static const double *row_of(const struct product *p, size_t r)
{
    return p->at ? p->op->r.X + p->at[r] * p->op->r.d : p->Y + r * p->op->r.d;
}

/* Pair by pair. */

static void pair_task(void *ctx, size_t task, size_t worker)
{
    const struct product *p = ctx;
    const struct exact_rows *x = &p->op->r;
    const size_t end = (task + 1) * PAIR_BLOCK, r1 = end < p->m ? end : p->m;

    (void)worker;
    for (size_t r = task * PAIR_BLOCK; r < r1; r++) {
        const double *row = row_of(p, r);
        for (size_t c = 0; c < p->k; c++)
            p->W[c * p->m + r] = 0.0;
        for (size_t i = 0; i < x->n && !ctl_stopped(p->ctl); i++) {
            const double v = kernel_exact(x->k, x->hp, x->d, row, x->X + i * x->d, NULL);
            for (size_t c = 0; c < p->k; c++)
                p->W[c * p->m + r] += v * p->V[c * x->n + i];
            if (p->C)
                p->C[r * x->n + i] = v;
        }
    }
}

/* By tiles of rows, each compared with all columns, some at a time: the sums have the bits of
 * pair_task. */
static void tile_task(void *ctx, size_t task, size_t worker)
{
    enum { SOME = 128 };
    const struct product *p = ctx;
    const struct exact_rows *x = &p->op->r;
    const size_t r0 = task * KERNEL_TILE, left = p->m - r0,
                 rows = left < KERNEL_TILE ? left : KERNEL_TILE;
    double *Y = calloc(rows, x->d * sizeof *Y), *v = calloc(rows, SOME * sizeof *v);

    (void)worker;
    for (size_t r = 0; Y && v && r < rows; r++)
        memcpy(Y + r * x->d, row_of(p, r0 + r), x->d * sizeof *Y);
    struct kernel_tile *tile =
        Y && v ? kernel_tile_new(x->k, x->hp, x->d, rows, Y, x->d) : NULL;
    if (tile == NULL) /* memory is short */
        for (size_t t = r0 / PAIR_BLOCK; t < (r0 + rows + PAIR_BLOCK - 1) / PAIR_BLOCK; t++)
            pair_task(ctx, t, worker);
    for (size_t c = 0; tile && c < p->k; c++)
        memset(p->W + c * p->m + r0, 0, rows * sizeof *p->W);
    for (size_t i0 = 0; tile && i0 < x->n && !ctl_stopped(p->ctl); i0 += SOME) {
        const size_t some = x->n - i0 < SOME ? x->n - i0 : SOME;
        kernel_tile_values(tile, some, x->X + i0 * x->d, x->d, v, SOME);
        for (size_t r = 0; r < rows; r++) {
            for (size_t c = 0; c < p->k; c++)
                for (size_t i = 0; i < some; i++)
                    p->W[c * p->m + r0 + r] += v[r * SOME + i] * p->V[c * x->n + i0 + i];
            if (p->C)
                memcpy(p->C + (r0 + r) * x->n + i0, v + r * SOME, some * sizeof *v);
        }
    }
    kernel_tile_free(tile);
    free(Y);
    free(v);
}

/* In single precision: tiles of values that are computed in vector code or pair by pair, or read
 * where they are stored. */

static size_t tiles_of(const struct exact_op *op)
{
    return (op->r.n + PAIRS_COLS - 1) / PAIRS_COLS;
}

/* The columns of tile t in whole panels. */
static size_t cols_of(const struct exact_op *op, size_t t)
{
    const size_t left = op->r.n - t * PAIRS_COLS,
                 whole = (left + PAIRS_PANEL - 1) / PAIRS_PANEL * PAIRS_PANEL;

    return whole < PAIRS_COLS ? whole : PAIRS_COLS;
}

/* Floats of a row that is packed for the values. */
static size_t entries_of(const struct product *p)
{
    return p->op->form && !p->from ? exact_form_entries(p->op->form) : 0;
}

/* Scratch of a worker: rows of a block packed, their sums, and three tiles. */
struct scratch {
    float *rows;
    double *sums;
    struct exact_scratch tile;
};

static size_t tile_bytes(void)
{
    return PAIRS_GROUP * PAIRS_COLS * sizeof(float);
}

static size_t rows_bytes(const struct product *p)
{
    return mem_lines(BLOCK * entries_of(p) * sizeof(float));
}

static size_t scratch_bytes(const struct product *p)
{
    return rows_bytes(p) + mem_lines(BLOCK * pairs_sums_size(p->vectors) * sizeof(double)) +
           3 * tile_bytes();
}

static struct scratch scratch_of(const struct product *p, size_t worker)
{
    char *at = p->scratch + worker * p->each;
    struct scratch s;

    s.rows = (float *)(void *)at;
    s.sums = (double *)(void *)(at + rows_bytes(p));
    at += p->each - 3 * tile_bytes();
    s.tile.K = (float *)(void *)at;
    s.tile.S = (float *)(void *)(at + tile_bytes());
    s.tile.P = (float *)(void *)(at + 2 * tile_bytes());
    return s;
}

/* Converts a tile of columns of all vectors. */
static void vectors_task(void *ctx, size_t task, size_t worker)
{
    const struct product *p = ctx;
    const size_t n = p->op->r.n, j0 = task * PAIRS_COLS,
                 cols = n - j0 < PAIRS_COLS ? n - j0 : PAIRS_COLS;

    (void)worker;
    if (!ctl_stopped(p->ctl))
        p->loops->vectors(p->vectors, cols, p->V + j0, n, p->packed + task * p->tile);
}

/* The values of rows r0 .. r0 + rows with tile t, as parts of columns of C. */
static void write_columns(const struct product *p, size_t t, size_t r0, size_t rows, const float *K)
{
    const size_t n = p->op->r.n, j0 = t * PAIRS_COLS,
                 cols = n - j0 < PAIRS_COLS ? n - j0 : PAIRS_COLS;

    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < cols; j++)
            p->C[(r0 + r) * n + j0 + j] = (double)K[r * PAIRS_COLS + j];
}

/* K <- tile t of `rows` rows from r0, pair by pair; 0 past the last column. */
static void pair_values(const struct product *p, size_t t, size_t r0, size_t rows, float *K)
{
    const struct exact_rows *x = &p->op->r;
    const size_t j0 = t * PAIRS_COLS, cols = cols_of(p->op, t);

    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < cols; j++)
            K[r * PAIRS_COLS + j] =
                j0 + j < x->n ? (float)kernel_exact(x->k, x->hp, x->d, row_of(p, r0 + r),
                                                    x->X + (j0 + j) * x->d, NULL)
                              : 0.0F;
}

/* The rows of a block as a tile of the kernel: the values of pair_values, of the whole block with a
 * tile of columns at once.  tile NULL: the kernel has no such loops, or memory is short. */
struct prepared { double *Y, *v; struct kernel_tile *tile; size_t r0, rows; };

static struct prepared prepare_block(const struct product *p, size_t r0, size_t rows)
{
    const struct exact_rows *x = &p->op->r;
    struct prepared b = { .r0 = r0, .rows = rows };

    if (p->from || p->op->form || !kernel_tile_has(x->k))
        return b;
    b.Y = calloc(rows, x->d * sizeof *b.Y);
    b.v = calloc(rows, PAIRS_COLS * sizeof *b.v);
    for (size_t r = 0; b.Y && b.v && r < rows; r++)
        memcpy(b.Y + r * x->d, row_of(p, r0 + r), x->d * sizeof *b.Y);
    if (b.Y && b.v)
        b.tile = kernel_tile_new(x->k, x->hp, x->d, rows, b.Y, x->d);
    return b;
}

static void prepared_free(struct prepared *b)
{
    kernel_tile_free(b->tile);
    free(b->Y);
    free(b->v);
}

/* Computes tile t of the whole block. */
static void prepared_values(const struct product *p, const struct prepared *b, size_t t)
{
    const struct exact_rows *x = &p->op->r;
    const size_t j0 = t * PAIRS_COLS, left = x->n - j0, m = left < PAIRS_COLS ? left : PAIRS_COLS;

    if (b->tile != NULL)
        kernel_tile_values(b->tile, m, x->X + j0 * x->d, x->d, b->v, PAIRS_COLS);
}

/* K <- its rows r0 to r0 + rows; 0 past the last column. */
static void prepared_get(const struct product *p, const struct prepared *b, size_t t, size_t r0,
                         size_t rows, float *K)
{
    const size_t left = p->op->r.n - t * PAIRS_COLS, m = left < PAIRS_COLS ? left : PAIRS_COLS;

    memset(K, 0, rows * PAIRS_COLS * sizeof *K);
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < m; j++)
            K[r * PAIRS_COLS + j] = (float)b->v[(r0 - b->r0 + r) * PAIRS_COLS + j];
}

/* Tile t of `rows` rows from r0; `group` are these rows packed. */
static const float *tile_values(const struct product *p, const struct scratch *s,
                                const struct prepared *b, size_t t, size_t r0, size_t rows,
                                const float *group)
{
    if (p->from)
        return exact_stored_get(p->from, p->simd, t, r0, rows, p->at ? p->at + r0 : NULL,
                                cols_of(p->op, t), s->tile.K);
    if (p->op->form)
        exact_form_values(p->op->form, p->loops, t, group, rows, &s->tile);
    else if (b->tile != NULL)
        prepared_get(p, b, t, r0, rows, s->tile.K);
    else
        pair_values(p, t, r0, rows, s->tile.K);
    return s->tile.K;
}

/* Packs the rows of a block. */
static void pack_block(const struct product *p, size_t r0, size_t rows, float *to)
{
    const size_t group = entries_of(p) * PAIRS_GROUP;

    memset(to, 0, rows_bytes(p));
    for (size_t r = 0; r < rows && group > 0; r++)
        exact_form_row(p->op->form, row_of(p, r0 + r), r % PAIRS_GROUP,
                       to + r / PAIRS_GROUP * group);
}

static void block_task(void *ctx, size_t task, size_t worker)
{
    const struct product *p = ctx;
    const struct scratch s = scratch_of(p, worker);
    const size_t r0 = task * BLOCK, left = p->m - r0, rows = left < BLOCK ? left : BLOCK;
    const size_t group = entries_of(p) * PAIRS_GROUP, lds = pairs_sums_size(p->vectors);
    struct prepared block = prepare_block(p, r0, rows);

    pack_block(p, r0, rows, s.rows);
    memset(s.sums, 0, BLOCK * lds * sizeof *s.sums);
    for (size_t t = 0; t < tiles_of(p->op) && !ctl_stopped(p->ctl); t++) {
        const size_t cols = cols_of(p->op, t);
        prepared_values(p, &block, t);
        for (size_t r = 0; r < rows; r += PAIRS_GROUP) {
            const size_t some = rows - r < PAIRS_GROUP ? rows - r : PAIRS_GROUP;
            const float *K = tile_values(p, &s, &block, t, r0 + r, some,
                                         s.rows + r / PAIRS_GROUP * group);
            if (p->into)
                exact_stored_put(p->into, p->simd, t, p->first + r0 + r, some, cols, K);
            else if (p->C)
                write_columns(p, t, r0 + r, some, K);
            else
                p->loops->sums(p->vectors, some, cols, K, p->packed + t * p->tile,
                               s.sums + r * lds);
        }
    }
    prepared_free(&block);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < p->k; c++)
            p->W[c * p->m + r0 + r] = pairs_sum(p->vectors, s.sums + r * lds, c);
}

static enum status run_blocks(struct product *p, struct err *err)
{
    struct exact_op *op = p->op;
    const size_t tiles = tiles_of(op);

    p->simd = cpu_simd_now();
    p->loops = &p->simd->pairs;
    p->vectors = pairs_vectors(p->k);
    p->tile = pairs_vectors_size(p->vectors);
    p->each = scratch_bytes(p);
    p->packed = mem_spare_take(&op->spare, tiles * p->tile * sizeof *p->packed + 64,
                               "the vectors of a product", err);
    p->scratch = p->packed ? mem_spare_take(&op->spare, pool_threads(op->r.pool) * p->each,
                                            "a product with the exact kernel", err)
                           : NULL;
    if (p->scratch) {
        if (p->k > 0)
            pool_run(op->r.pool, tiles, vectors_task, p);
        memset(p->scratch, 0, pool_threads(op->r.pool) * p->each);
        pool_run(op->r.pool, (p->m + BLOCK - 1) / BLOCK, block_task, p);
    }
    mem_spare_give(&op->spare, p->packed);
    mem_spare_give(&op->spare, p->scratch);
    return p->scratch ? ST_OK : ST_NOMEM;
}

static enum status run_here(struct product *p, struct err *err)
{
    enum status rc = open_here(p->op, err);

    if (rc == ST_OK && (p->op->form || p->from || p->into))
        rc = run_blocks(p, err);
    else if (rc == ST_OK && kernel_tile_has(p->op->r.k))
        pool_run(p->op->r.pool, (p->m + KERNEL_TILE - 1) / KERNEL_TILE, tile_task, p);
    else if (rc == ST_OK)
        pool_run(p->op->r.pool, (p->m + PAIR_BLOCK - 1) / PAIR_BLOCK, pair_task, p);
    if (rc != ST_OK)
        return rc;
    return ctl_stopped(p->ctl) ? err_set(err, ST_CANCELLED, "stopped") : ST_OK;
}

/* On the device, if there is one. *done is false if it is not, or was lost: then the CPU
 * computes. */
static enum status run_there(struct product *p, const double *Y, bool *done, struct err *err)
{
    struct exact_op *op = p->op;
    enum status rc;

    *done = op->at != NULL;
    if (!*done)
        return ST_OK;
    if (p->C)
        rc = op->be->columns(op->at, p->m, p->at, p->C, p->ctl, err);
    else if (p->at)
        rc = op->be->rows(op->at, p->m, p->at, p->k, p->V, p->W, p->ctl, err);
    else
        rc = op->be->apply(op->at, p->m, Y, p->k, p->V, p->W, p->ctl, err);
    if (rc != ST_BACKEND)
        return rc;
    op->why = err ? *err : (struct err){ .code = ST_BACKEND };
    err_clear(err);
    op->lost = op->at;
    op->at = NULL;
    *done = false;
    return ST_OK;
}

enum status exact_op_apply(struct exact_op *op, size_t m, const double *Y, size_t k,
                           const double *V, double *W, const struct ctl *ctl, struct err *err)
{
    struct product p = { .op = op, .m = Y ? m : op->r.n, .Y = Y ? Y : op->r.X, .k = k, .V = V,
                         .W = W, .from = Y ? NULL : op->stored, .ctl = ctl };
    bool done;
    const enum status rc = run_there(&p, Y, &done, err);

    return done ? rc : run_here(&p, err);
}

enum status exact_op_anew(struct exact_op *op, size_t k, const double *V, double *W,
                          const struct ctl *ctl, struct err *err)
{
    return exact_op_apply(op, op->r.n, op->r.X, k, V, W, ctl, err);
}

enum status exact_op_rows(struct exact_op *op, size_t m, const size_t *at, size_t k,
                          const double *V, double *W, const struct ctl *ctl, struct err *err)
{
    struct product p = { .op = op, .m = m, .at = at, .k = k, .V = V, .W = W,
                         .from = op->stored, .ctl = ctl };
    bool done;
    const enum status rc = run_there(&p, NULL, &done, err);

    return done ? rc : run_here(&p, err);
}

enum status exact_op_columns(struct exact_op *op, size_t m, const size_t *at, double *C,
                             const struct ctl *ctl, struct err *err)
{
    struct product p = { .op = op, .m = m, .at = at, .C = C, .ctl = ctl };
    bool done;
    const enum status rc = run_there(&p, NULL, &done, err);

    return done ? rc : run_here(&p, err);
}

/* Storing. */

/* Fills the matrix by parts. */
static enum status fill(struct exact_op *op, struct exact_stored *into, const struct ctl *ctl,
                        struct err *err)
{
    const size_t n = op->r.n;
    enum status rc = ST_OK;

    for (size_t r0 = 0; r0 < n && rc == ST_OK; r0 += STORE_ROWS) {
        const size_t m = n - r0 < STORE_ROWS ? n - r0 : STORE_ROWS;
        struct product p = { .op = op, .m = m, .Y = op->r.X + r0 * op->r.d, .into = into,
                             .first = r0, .ctl = ctl };
        rc = run_here(&p, err);
        ctl_tell(ctl, PHASE_KERNEL, r0 + m, n, NAN);
    }
    if (rc != ST_OK || !atomic_load(&into->beyond))
        return rc;
    err_set(err, ST_RANGE, "this kernel has values beyond 65504, the largest number of float16");
    err_hint(err, "fit plan=store store=float32");
    return ST_RANGE;
}

enum status exact_op_store(struct exact_op *op, bool half, const struct ctl *ctl, struct err *err)
{
    struct exact_stored *s = exact_stored_new(op->r.n, half, err);

    if (op->at) {
        op->be->close(op->at);
        op->at = NULL;
    }
    const enum status rc = s ? fill(op, s, ctl, err) : ST_NOMEM;
    if (rc == ST_OK)
        op->stored = s;
    else
        exact_stored_free(s);
    return rc;
}

bool exact_op_rounds(const struct exact_op *op)
{
    return op->stored && (op->stored->half || !op->form);
}

/* Time. */

/* Nanoseconds of one core at 3.6 GHz, as measured (tests/bench/bench_products.c).  With vectors of
 * 16 numbers: an entry of a pair, a closed form, a table, a product with a vector.  In
 * kernel_exact: a kernel at a pair of rows or of windows, each of its inputs, and each on a circle;
 * what a power takes more, and a kernel without a closed form (90 to 230); at a pair of a tile. */
static const double NS_ENTRY = 0.0095, NS_FORM = 0.15, NS_TABLE = 1.7, NS_VECTOR = 0.009,
                    NS_PAIR = 10.0, NS_INPUT = 1.2, NS_TURN = 28.0, NS_POWER = 25.0,
                    NS_SLOW = 150.0, NS_TILE = 10.0, NS_READ = 0.045 /* a stored byte */;

/* Pairs of windows that kernel t compares for a pair of rows of the usual length; 1 without
 * windows. */
static double window_pairs(const struct kterm *t)
{
    const struct layer *l = &t->layer;
    const double windows = l->positions > l->width ? (double)(l->positions - l->width + 1) : 1.0;

    return kterm_reads_windows(t) ? windows * windows : 1.0;
}

/* Nanoseconds of kernel t at a pair of rows in double precision. */
static double pair_ns(const struct kernel *k, size_t t, size_t d)
{
    const struct kterm *term = &k->term[t];
    struct kernel_closed c = { .form = KERNEL_NONE };

    if (term->ops->closed)
        c = term->ops->closed(term->params);
    const double more = c.form == KERNEL_NONE    ? NS_SLOW
                        : c.form == KERNEL_POWER ? NS_POWER
                                                 : 0.0;

    if (kterm_reads_windows(term) && term->layer.ops->tile)
        return NS_TILE;
    if (kterm_reads_windows(term) && term->layer.symbols)
        return window_pairs(term) * symbol_windows_ns(&term->layer);
    return window_pairs(term) * (NS_PAIR + more + (c.circle ? NS_TURN : NS_INPUT) *
                                                      (double)kernel_inputs(k, t, d));
}

double exact_op_pair(const struct kernel *k, size_t d)
{
    double ns = 0.0;

    for (size_t t = 0; t < k->nterms; t++)
        ns += pair_ns(k, t, d);
    return 1e-9 * ns;
}

double exact_op_cost(const struct kernel *k, size_t d, size_t vectors)
{
    const double wide = 16.0 / (double)cpu_simd_now()->f32.lanes;
    const bool single = exact_form_has(k, d);
    double ns = (double)vectors * (single ? NS_VECTOR * wide : 1.0);

    for (size_t t = 0; t < k->nterms; t++)
        ns += single ? wide * (NS_ENTRY * (double)kernel_inputs(k, t, d) +
                               (k->term[t].ops->closed ? NS_FORM : NS_TABLE))
                     : pair_ns(k, t, d);
    return 1e-9 * ns;
}

double exact_op_stored_cost(bool half, size_t vectors)
{
    const double wide = 16.0 / (double)cpu_simd_now()->f32.lanes;

    return 1e-9 * (NS_READ * (half ? 2.0 : 4.0) + NS_VECTOR * wide * (double)vectors);
}

bool exact_op_keeps(size_t n, size_t mem_limit)
{
    const double room = mem_limit ? (double)mem_limit : 0.5 * (double)mem_physical();

    return exact_op_stored_bytes(n, false) < 0.5 * room;
}

double exact_op_stored_bytes(size_t n, bool half)
{
    return exact_stored_bytes(n, half);
}

double exact_op_seconds(const struct exact_op *op, size_t rows, size_t k)
{
    const double pair = op->stored ? exact_op_stored_cost(op->stored->half, k)
                                   : exact_op_cost(op->r.k, op->r.d, k);

    return pair * (double)rows * (double)op->r.n;
}
