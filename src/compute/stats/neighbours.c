/* compute/stats/neighbours.c -- distances in feature space (neighbours.h).  |z - z'|^2 is computed
 * as |z|^2 + |z'|^2 - 2 z.z', clamped at 0: for rows that almost coincide it loses half of the
 * digits, which is enough to rank neighbours. */
#include "compute/stats/neighbours.h"

#include "base/mem.h"
#include "compute/features/featmap.h"
#include "compute/features/fop_rows.h"
#include "compute/kernels/kernel_tile.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCK = 64 };

static int by_distance(const void *a, const void *b)
{
    const struct neighbour *x = a, *y = b;

    return x->distance != y->distance ? (x->distance > y->distance) - (x->distance < y->distance)
                                      : (x->row > y->row) - (x->row < y->row);
}

void neighbours_sort(struct neighbour *v, size_t n)
{
    qsort(v, n, sizeof *v, by_distance);
}

/* All rows of the operator against `own`, the M features of the one row: |z - z'|^2 is
 * |z|^2 + |z'|^2 - 2 z.z', which rounding may make negative. */
static enum status measure(struct fop *fop, size_t n, size_t M, const float *own,
                           struct neighbour *out, const struct ctl *ctl, struct err *err)
{
    double *dot = mem_calloc(2 * n, sizeof *dot, "distances", err), *square = dot ? dot + n : NULL;
    const enum status rc = dot ? fop_dots(fop, own, dot, square, ctl, err) : ST_NOMEM;
    double size = 0.0;

    for (size_t j = 0; j < M; j++)
        size += (double)own[j] * (double)own[j];
    for (size_t i = 0; rc == ST_OK && i < n; i++)
        out[i] = (struct neighbour){ dot[i] / sqrt(fmax(size * square[i], 1e-300)),
                                     sqrt(fmax(size + square[i] - 2.0 * dot[i], 0.0)), i };
    free(dot);
    return rc;
}

bool neighbours_exact(const struct kernel *k)
{
    return (kernel_tile_has(k) && !kernel_learns(k)) || kernel_draws_none(k);
}

/* By values of the kernel: cosine k(x, x') / sqrt(k(x, x) k(x', x')), distance sqrt(k(x, x) +
 * k(x', x') - 2 k(x, x')).  Rows of the two sources can differ in width where they hold
 * sequences. */
static enum status measure_exact(const struct neighbours_opts *o, const struct source *all,
                                 const struct source *one, struct neighbour *out,
                                 const struct ctl *ctl, struct err *err)
{
    const size_t d = all->d;
    const struct kernel *k = o->kernel;
    double *x = mem_calloc(BLOCK * d + one->d, sizeof *x, "rows", err),
           *own = x ? x + BLOCK * d : NULL, v[BLOCK];
    enum status rc = x ? one->rows(one, 0, 1, own, err) : ST_NOMEM;
    struct kernel_tile *tile =
        rc == ST_OK ? kernel_tile_new(k, o->hp, one->d, 1, own, one->d) : NULL;
    const double size = tile ? kernel_exact(k, o->hp, one->d, own, own, NULL) : 0.0;

    if (rc == ST_OK && tile == NULL)
        rc = err_nomem(err, BLOCK, "rows");
    for (size_t r = 0; rc == ST_OK && r < all->n; r += BLOCK) {
        const size_t some = all->n - r < BLOCK ? all->n - r : BLOCK;
        ctl_tell(ctl, PHASE_ROWS, r, all->n, (double)NAN);
        rc = ctl_stopped(ctl) ? err_set(err, ST_CANCELLED, "stopped")
                              : all->rows(all, r, r + some, x, err);
        if (rc == ST_OK)
            kernel_tile_values(tile, some, x, d, v, BLOCK);
        for (size_t i = 0; rc == ST_OK && i < some; i++) {
            const double norm = kernel_exact(k, o->hp, d, x + i * d, x + i * d, NULL);
            out[r + i] = (struct neighbour){ v[i] / sqrt(fmax(size * norm, 1e-300)),
                                             sqrt(fmax(size + norm - 2.0 * v[i], 0.0)), r + i };
        }
    }
    kernel_tile_free(tile);
    free(x);
    return rc;
}

enum status neighbours_measure(const struct neighbours_opts *o, const struct source *all,
                               const struct source *one, struct neighbour *out,
                               const struct ctl *ctl, struct err *err)
{
    const struct fop_opts fo = {.pool = o->pool, .ctl = ctl, .precision = PREC_FLOAT};

    if (neighbours_exact(o->kernel))
        return measure_exact(o, all, one, out, ctl, err);
    struct featmap *fm = featmap_new(o->kernel, all->d, o->features, o->seed, err);
    struct fop *single = fm ? fop_new(o->backend, fm, one, &fo, err) : NULL;
    struct fop *many = single ? fop_new(o->backend, fm, all, &fo, err) : NULL;
    float *z = many ? mem_calloc(o->features, sizeof *z, "features", err) : NULL;
    enum status rc = z ? ST_OK : err_status(err);

    if (rc == ST_OK)
        rc = fop_set(single, o->hp, err);
    if (rc == ST_OK)
        rc = fop_set(many, o->hp, err);
    if (rc == ST_OK)
        rc = fop_tile(single, 0, 1, z, o->features, err);
    if (rc == ST_OK)
        rc = measure(many, all->n, o->features, z, out, ctl, err);
    fop_free(single);
    fop_free(many);
    featmap_free(fm);
    free(z);
    return rc;
}
