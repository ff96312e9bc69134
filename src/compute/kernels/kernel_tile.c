/* compute/kernels/kernel_tile.c -- kernel expressions by tile (kernel_tile.h): a sum of products
 * (share/doc/methods.md 2.18), each factor by its own loops over a tile, or pair by pair. */
#include "compute/kernels/kernel_tile.h"

#include "compute/kernels/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SOME = 64 }; /* rows that are compared at once where there are several kernels */

struct kernel_tile {
    const struct kernel *k;
    const double *hp, *Y;
    size_t d, rows, ldy;
    void *of[KERNEL_MAX_TERMS]; /* what each kernel has prepared; NULL: pair by pair */
};

/* A kernel that learns, or one behind a map: the features (the coordinates) of the tile's rows,
 * those of others by groups. */

struct learned_tile { const struct net *net; size_t rows; double F[]; };

static void *learned_make(const struct kterm *term, size_t rows, const double *y, size_t stride)
{
    const struct net *net = term->net;
    const size_t q = net->shape.out;
    struct learned_tile *t = malloc(sizeof *t + rows * q * sizeof t->F[0]);

    if (t != NULL) {
        t->net = net;
        t->rows = rows;
    }
    if (t != NULL && net_rows(net, rows, y, stride, t->F, q, NULL) != ST_OK) {
        free(t);
        t = NULL;
    }
    return t;
}

static double dot(size_t n, const double *x, const double *y)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* behind: the kernel behind the map, with its hyperparameters; NULL: the features are its own. */
static void mapped_values(const struct learned_tile *t, const struct kterm *behind,
                          const double *hp, size_t m, const double *x, size_t stride, double *out,
                          size_t ld)
{
    const size_t q = t->net->shape.out;
    double *f = malloc(SOME * q * sizeof *f);

    for (size_t i0 = 0; i0 < m; i0 += SOME) {
        const size_t n = m - i0 < SOME ? m - i0 : SOME;
        const bool made = f != NULL &&
                          net_rows(t->net, n, x + i0 * stride, stride, f, q, NULL) == ST_OK;
        for (size_t j = 0; j < t->rows; j++)
            for (size_t i = 0; i < n; i++) {
                const double *b = t->F + j * q;
                out[i0 + i + j * ld] = !made    ? NAN
                                       : behind ? kernel_exact_mapped(behind, hp, f + i * q, b)
                                                : dot(q, f + i * q, b);
            }
    }
    free(f);
}

static void learned_values(const void *tile, size_t m, const double *x, size_t stride, double *out,
                           size_t ld)
{
    mapped_values(tile, NULL, NULL, m, x, stride, out, ld);
}

static const struct layer_tile_ops learned_ops = { learned_make, free, learned_values };

static const struct layer_tile_ops *tile_ops(const struct kernel *k, size_t t)
{
    const struct kterm *term = &k->term[t];

    if (kterm_learns(term))
        return term->net ? &learned_ops : NULL;
    return kterm_reads_windows(term) ? term->layer.ops->tile : NULL;
}

/* Where the numbers that kernel t reads begin in a row. */
static size_t first_of(const struct kernel *k, size_t t, const double *row)
{
    return kterm_learns(&k->term[t]) ? 0 : layer_first(&k->term[t].layer, row);
}

bool kernel_tile_has(const struct kernel *k)
{
    bool has = false;

    for (size_t t = 0; t < k->nterms; t++)
        has |= tile_ops(k, t) != NULL;
    return has;
}

struct kernel_tile *kernel_tile_new(const struct kernel *k, const double *hp, size_t d, size_t rows,
                                    const double *Y, size_t ldy)
{
    struct kernel_tile *tile = calloc(1, sizeof *tile);

    if (tile == NULL)
        return NULL;
    *tile = (struct kernel_tile){ .k = k, .hp = hp, .Y = Y, .d = d, .rows = rows, .ldy = ldy };
    for (size_t t = 0; t < k->nterms; t++)
        if (tile_ops(k, t) != NULL)
            tile->of[t] = tile_ops(k, t)->make(&k->term[t], rows, Y + first_of(k, t, Y), ldy);
    return tile;
}

void kernel_tile_free(struct kernel_tile *tile)
{
    for (size_t t = 0; tile != NULL && t < tile->k->nterms; t++)
        if (tile->of[t] != NULL)
            tile_ops(tile->k, t)->free(tile->of[t]);
    free(tile);
}

/* The values of kernel t alone, at m rows. */
static void term_values(const struct kernel_tile *tile, size_t t, size_t m, const double *X,
                        size_t ldx, double *out, size_t ld)
{
    const struct kernel *k = tile->k;
    const double *hp = tile->hp + kernel_place(k, t).hp0;

    if (tile->of[t] != NULL && k->term[t].map) {
        mapped_values(tile->of[t], &k->term[t], hp, m, X, ldx, out, ld);
        return;
    }
    if (tile->of[t] != NULL) {
        tile_ops(k, t)->values(tile->of[t], m, X + first_of(k, t, X), ldx, out, ld);
        return;
    }
    for (size_t j = 0; j < tile->rows; j++)
        for (size_t i = 0; i < m; i++)
            out[i + j * ld] = kernel_exact_term(k, t, hp, tile->d, X + i * ldx,
                                                tile->Y + j * tile->ldy);
}

/* At most SOME rows: sum over products of w^2 times the product of their kernels, in the order of
 * kernel_exact. */
static void sum_values(const struct kernel_tile *tile, size_t m, const double *X, size_t ldx,
                       double *out, size_t ld)
{
    const struct kernel *k = tile->k;
    double product[SOME * KERNEL_TILE], one[SOME * KERNEL_TILE];

    for (size_t t = 0, end; t < k->nterms; t = end) {
        const struct kernel_place p = kernel_place(k, t);
        const double w = p.weight == SIZE_MAX ? 1.0 : tile->hp[p.weight];
        term_values(tile, t, m, X, ldx, product, SOME);
        for (end = t + 1; end < k->nterms && k->term[end].times; end++) {
            term_values(tile, end, m, X, ldx, one, SOME);
            for (size_t j = 0; j < tile->rows; j++)
                for (size_t i = 0; i < m; i++)
                    product[i + j * SOME] *= one[i + j * SOME];
        }
        for (size_t j = 0; j < tile->rows; j++)
            for (size_t i = 0; i < m; i++)
                out[i + j * ld] = (t > 0 ? out[i + j * ld] : 0.0) + w * w * product[i + j * SOME];
    }
}

void kernel_tile_values(const struct kernel_tile *tile, size_t m, const double *X, size_t ldx,
                        double *out, size_t ld)
{
    if (tile->k->nterms == 1) {
        term_values(tile, 0, m, X, ldx, out, ld);
        return;
    }
    for (size_t i = 0; i < m; i += SOME)
        sum_values(tile, m - i < SOME ? m - i : SOME, X + i * ldx, ldx, out + i, ld);
}
