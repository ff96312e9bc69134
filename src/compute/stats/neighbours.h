/* compute/stats/neighbours.h -- the rows nearest to one row in the feature space of a kernel, where
 * z.z' ~ k(x, x') (share/doc/methods.md 1.4). */
#ifndef GPDESK_NEIGHBOURS_H
#define GPDESK_NEIGHBOURS_H

#include "compute/backend.h"
#include "compute/ctl.h"
#include "compute/features/source.h"
#include "compute/kernels/kernel.h"
#include "compute/pool.h"

/* cosine: z.z' / (|z| |z'|), the prior correlation of the function at the two rows; distance:
 * |z - z'|.  Features have amplitude 1. */
struct neighbour { double cosine, distance; size_t row; };
/* The kernel at hyperparameters hp (natural scale), and the number (even) and seed of its
 * features. */
struct neighbours_opts {
    const struct kernel *kernel;
    const double *hp;
    size_t features;
    uint64_t seed;
    const struct backend_ops *backend;
    struct pool *pool;
};

/* True if the kernel has loops over tiles, or no random features: its own values are compared. */
bool neighbours_exact(const struct kernel *);
/* out[i]: row i of `all` compared with row 0 of `one`; both sources have the same inputs.  Features
 * (unless neighbours_exact) are in single precision, sums in double.  Time is that of n rows of
 * features, memory that of 64.  CANCELLED when ctl stops it. */
enum status neighbours_measure(const struct neighbours_opts *, const struct source *all,
                               const struct source *one, struct neighbour *out,
                               const struct ctl *, struct err *err);
/* Sorts by distance, nearest first; equal distances by row. */
void neighbours_sort(struct neighbour *, size_t n);

#endif
