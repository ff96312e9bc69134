/* compute/stats/neighbours.c -- distances in feature space (neighbours.h).  |z - z'|^2 is computed
 * as |z|^2 + |z'|^2 - 2 z.z', clamped at 0: for rows that almost coincide it loses half of the
 * digits, which is enough to rank neighbours. */
#include "compute/stats/neighbours.h"

#include "base/mem.h"
#include "compute/features/featmap.h"
#include "compute/features/fop.h"

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
    float *z = mem_calloc(BLOCK * M, sizeof *z, "features", err);
    enum status rc = z ? ST_OK : ST_NOMEM;
    double size = 0.0;

    for (size_t j = 0; j < M; j++)
        size += (double)own[j] * (double)own[j];
    for (size_t r = 0; rc == ST_OK && r < n; r += BLOCK) {
        const size_t some = n - r < BLOCK ? n - r : BLOCK;
        ctl_tell(ctl, PHASE_ROWS, r, n, (double)NAN);
        rc = ctl_stopped(ctl) ? err_set(err, ST_CANCELLED, "stopped")
                              : fop_tile(fop, r, r + some, z, M, err);
        for (size_t i = 0; rc == ST_OK && i < some; i++) {
            double dot = 0.0, norm = 0.0;
            for (size_t j = 0; j < M; j++) {
                dot += (double)own[j] * (double)z[i * M + j];
                norm += (double)z[i * M + j] * (double)z[i * M + j];
            }
            out[r + i] = (struct neighbour){ dot / sqrt(fmax(size * norm, 1e-300)),
                                             sqrt(fmax(size + norm - 2.0 * dot, 0.0)), r + i };
        }
    }
    free(z);
    return rc;
}

enum status neighbours_measure(const struct neighbours_opts *o, const struct source *all,
                               const struct source *one, struct neighbour *out,
                               const struct ctl *ctl, struct err *err)
{
    const struct fop_opts fo = { .pool = o->pool, .precision = PREC_FLOAT };
    struct featmap *fm = featmap_new(o->kernel, all->d, o->features, o->seed, err);
    struct fop *single = fm ? fop_new(o->backend, fm, one, &fo, err) : NULL;
    struct fop *many = single ? fop_new(o->backend, fm, all, &fo, err) : NULL;
    float *z = many ? mem_calloc(o->features, sizeof *z, "features", err) : NULL;
    enum status rc = z ? ST_OK : err && err->code != ST_OK ? err->code : ST_NOMEM;

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
