/* compute/stats/neighbours.h -- the rows nearest to one row in the feature space of a kernel. */
#ifndef GPDESK_NEIGHBOURS_H
#define GPDESK_NEIGHBOURS_H

#include "compute/backend.h"
#include "compute/ctl.h"
#include "compute/features/source.h"
#include "compute/kernels/kernel.h"
#include "compute/pool.h"

/* cosine: z.z' / (|z| |z'|), the correlation of the kernel; distance: |z - z'|, of features with
 * amplitude 1. */
struct neighbour { double cosine, distance; size_t row; };
/* The kernel at natural hyperparameters hp, drawn with so many features (even) at a seed. */
struct neighbours_opts {
    const struct kernel *kernel;
    const double *hp;
    size_t features;
    uint64_t seed;
    const struct backend_ops *backend;
    struct pool *pool;
};

/* out[i]: row i of `all` against row 0 of `one`, in the order of the rows; both sources have the
 * same inputs.  Features are single precision, sums double.  O(n (cost of a feature row) ) time,
 * 64 rows of features in memory.  CANCELLED when ctl stops it. */
enum status neighbours_measure(const struct neighbours_opts *, const struct source *all,
                               const struct source *one, struct neighbour *out,
                               const struct ctl *, struct err *err);
/* Nearest first; equal distances by row. */
void neighbours_sort(struct neighbour *, size_t n);

#endif
