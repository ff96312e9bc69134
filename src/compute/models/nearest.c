/* compute/models/nearest.c -- nearest training rows by tiles of kernel values.
 *
 * All rows are compared with a group of others in the loops of exact products (exact_form.h): in
 * single precision, by the squared scaled distance itself where the kernel is one that falls with
 * it, which keeps the order of near rows whose correlations all round to 1.  Somewhat more rows
 * than wanted are kept from that, and the correlations of these, in double precision, decide.
 * Kernels without such loops are compared in double precision from the start. */
#include "compute/models/nearest.h"

#include "base/mem.h"
#include "compute/cpu/simd.h"
#include "compute/kernels/kernel_tile.h"
#include "compute/models/exact_form.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(NEAREST_GROUP == (int)PAIRS_GROUP, "a group of the loops over pairs");

struct nearest {
    struct exact_rows r;
    struct exact_form *form; /* NULL: values in double precision */
    bool falls;              /* the form's numbers are compared instead of values */
    double *inv;             /* 1 / sqrt(k(x_i, x_i)) (n), 0 where that is 0 */
};

/* A row with its nearness; near[0] of a heap is the least near one. */
struct near { double key; size_t at; };

struct nearest_room {
    size_t m, keep;      /* neighbours; rows that are kept of the tiles */
    size_t count[NEAREST_GROUP];
    struct near *near;   /* NEAREST_GROUP heaps of keep */
    float *group;        /* the rows packed */
    struct exact_scratch tile;
    double *values;      /* NEAREST_GROUP x PAIRS_COLS, in double precision */
};

/* Opening. */

static void diagonal_task(void *ctx, size_t task, size_t worker)
{
    const struct nearest *s = ctx;
    const struct exact_rows *r = &s->r;
    const size_t i0 = task * PAIRS_COLS, end = i0 + PAIRS_COLS, i1 = end < r->n ? end : r->n;

    (void)worker;
    for (size_t i = i0; i < i1; i++) {
        const double *x = r->X + i * r->d, own = kernel_exact(r->k, r->hp, r->d, x, x, NULL);
        s->inv[i] = own > 0.0 ? 1.0 / sqrt(own) : 0.0;
    }
}

enum status nearest_open(const struct exact_rows *r, struct nearest **out, struct err *err)
{
    struct nearest *s = mem_calloc(1, sizeof *s, "the nearest rows", err);
    enum status rc = s ? ST_OK : ST_NOMEM;

    *out = NULL;
    if (s == NULL)
        return rc;
    s->r = *r;
    s->inv = mem_calloc(r->n + 1, sizeof *s->inv, "the nearest rows", err);
    rc = s->inv ? exact_form_new(&s->r, &s->form, err) : ST_NOMEM;
    if (rc != ST_OK) {
        nearest_close(s);
        return rc;
    }
    s->falls = s->form && exact_form_falls(s->form);
    pool_run(r->pool, (r->n + PAIRS_COLS - 1) / PAIRS_COLS, diagonal_task, s);
    *out = s;
    return ST_OK;
}

void nearest_close(struct nearest *s)
{
    if (s == NULL)
        return;
    exact_form_free(s->form);
    free(s->inv);
    free(s);
}

struct nearest_room *nearest_room_new(const struct nearest *s, size_t m, struct err *err)
{
    struct nearest_room *o = mem_calloc(1, sizeof *o, "the nearest rows", err);
    const size_t tile = PAIRS_GROUP * PAIRS_COLS;

    if (o == NULL)
        return NULL;
    o->m = m < s->r.n ? m : s->r.n;
    o->keep = o->m + (s->form ? o->m / 8 + 16 : 0);
    o->keep = o->keep < s->r.n ? o->keep : s->r.n;
    o->near = mem_calloc(NEAREST_GROUP * o->keep + 1, sizeof *o->near, "the nearest rows", err);
    o->values = o->near ? mem_aligned(tile, sizeof *o->values, "a tile of kernel values", err)
                        : NULL;
    if (o->values && s->form) {
        const size_t entries = exact_form_entries(s->form) * PAIRS_GROUP;
        o->group = mem_aligned(entries + 1, sizeof *o->group, "packed rows", err);
        o->tile.K = o->group ? mem_aligned(3 * tile, sizeof(float), "a tile of kernel values", err)
                             : NULL;
        if (o->tile.K) {
            memset(o->group, 0, (entries + 1) * sizeof *o->group);
            memset(o->tile.K, 0, 3 * tile * sizeof(float));
            o->tile.S = o->tile.K + tile;
            o->tile.P = o->tile.S + tile;
        }
    }
    if (o->values && (!s->form || o->tile.K))
        return o;
    nearest_room_free(o);
    return NULL;
}

void nearest_room_free(struct nearest_room *o)
{
    if (o == NULL)
        return;
    free(o->near);
    free(o->group);
    free(o->tile.K);
    free(o->values);
    free(o);
}

/* Heaps. */

/* True if a is nearer than b. */
static bool nearer(struct near a, struct near b)
{
    return a.key > b.key || (a.key == b.key && a.at < b.at);
}

static void sink(struct near *h, size_t n, size_t i)
{
    const struct near moved = h[i];

    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && nearer(h[child], h[child + 1]))
            child++;
        if (nearer(h[child], moved))
            break;
        h[i] = h[child];
    }
    h[i] = moved;
}

/* Takes a row in if it is nearer than the last of `keep`.  Rows come in ascending order. */
static void take(struct near *h, size_t *n, size_t keep, double key, size_t at)
{
    const struct near row = { isnan(key) ? -INFINITY : key, at };

    if (*n < keep) {
        h[(*n)++] = row;
        for (size_t i = *n == keep ? keep / 2 : 0; i-- > 0;)
            sink(h, keep, i);
    } else if (nearer(row, h[0])) {
        h[0] = row;
        sink(h, keep, 0);
    }
}

static int by_nearness(const void *a, const void *b)
{
    const struct near *x = a, *y = b;
    return nearer(*x, *y) ? -1 : 1;
}

static int by_number(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Search. */

/* The tile from row j0 of X, in single precision: what is compared, and greater where nearer. */
static void tile_single(const struct nearest *s, struct nearest_room *o, size_t rows, size_t j0,
                        size_t cols)
{
    const struct pairs_loops *loops = &cpu_simd_now()->pairs;
    const size_t t = j0 / PAIRS_COLS;

    if (s->falls)
        exact_form_numbers(s->form, loops, t, o->group, rows, o->tile.K);
    else
        exact_form_values(s->form, loops, t, o->group, rows, &o->tile);
    for (size_t r = 0; r < rows; r++) {
        const float *K = o->tile.K + r * PAIRS_COLS;
        double *to = o->values + r * PAIRS_COLS;
        for (size_t j = 0; s->falls && j < cols; j++)
            to[j] = -(double)K[j];
        for (size_t j = 0; !s->falls && j < cols; j++)
            to[j] = (double)K[j] * s->inv[j0 + j];
    }
}

/* The same in double precision, by tiles where the kernel has them (tile NULL: pair by pair). */
static void tile_double(const struct nearest *s, struct nearest_room *o,
                        const struct kernel_tile *tile, size_t rows, const double *Y, size_t wide,
                        size_t j0, size_t cols)
{
    const struct exact_rows *x = &s->r;

    if (tile != NULL)
        kernel_tile_values(tile, cols, x->X + j0 * x->d, x->d, o->values, PAIRS_COLS);
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < cols; j++) {
            double *to = o->values + r * PAIRS_COLS + j;
            if (tile == NULL)
                *to = kernel_exact(x->k, x->hp, x->d, x->X + (j0 + j) * x->d, Y + r * wide, NULL);
            *to *= s->inv[j0 + j];
        }
}

/* The m nearest of the rows that were kept, by correlations in double precision, ascending. */
static void decide(const struct nearest *s, struct nearest_room *o, size_t r, const double *y,
                   size_t *at)
{
    const struct exact_rows *x = &s->r;
    struct near *h = o->near + r * o->keep;
    const size_t n = o->count[r], m = n < o->m ? n : o->m;

    for (size_t i = 0; s->form && n > m && i < n; i++) {
        const size_t row = h[i].at;
        h[i].key = s->inv[row] * kernel_exact(x->k, x->hp, x->d, x->X + row * x->d, y, NULL);
        h[i].key = isnan(h[i].key) ? -INFINITY : h[i].key;
    }
    if (n > m)
        qsort(h, n, sizeof *h, by_nearness);
    for (size_t i = 0; i < m; i++)
        at[i] = h[i].at;
    qsort(at, m, sizeof *at, by_number);
}

size_t nearest_find(const struct nearest *s, struct nearest_room *o, size_t rows, const double *Y,
                    size_t wide, const size_t *without, size_t *at)
{
    const struct exact_rows *x = &s->r;
    struct kernel_tile *tile = !s->form && kernel_tile_has(x->k)
                                   ? kernel_tile_new(x->k, x->hp, x->d, rows, Y, wide)
                                   : NULL;

    memset(o->count, 0, sizeof o->count);
    for (size_t r = 0; s->form && r < rows; r++)
        exact_form_row(s->form, Y + r * wide, r, o->group);
    for (size_t j0 = 0; j0 < x->n; j0 += PAIRS_COLS) {
        const size_t cols = x->n - j0 < PAIRS_COLS ? x->n - j0 : PAIRS_COLS;
        if (s->form)
            tile_single(s, o, rows, j0, cols);
        else
            tile_double(s, o, tile, rows, Y, wide, j0, cols);
        for (size_t r = 0; r < rows; r++) {
            struct near *h = o->near + r * o->keep;
            const double *v = o->values + r * PAIRS_COLS;
            for (size_t j = 0; j < cols; j++)
                if ((o->count[r] < o->keep || !(v[j] <= h[0].key)) &&
                    !(without && without[r] == j0 + j))
                    take(h, &o->count[r], o->keep, v[j], j0 + j);
        }
    }
    kernel_tile_free(tile);
    for (size_t r = 0; r < rows; r++)
        decide(s, o, r, Y + r * wide, at + r * o->m);
    return o->count[0] < o->m ? o->count[0] : o->m;
}
