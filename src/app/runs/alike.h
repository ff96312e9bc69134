/* app/runs/alike.h -- how alike rows of counts are, by exact values of the kernel tanimoto, in
 * tiles: no matrix of all pairs is kept. */
#ifndef GPDESK_ALIKE_H
#define GPDESK_ALIKE_H

#include "compute/ctl.h"
#include "compute/pool.h"
#include "data/kinds/counts.h"

/* n rows of a column that holds counts. */
struct alike_rows {
    const struct counts *counts;
    const size_t *row;
    size_t n;
};
struct alike_pair { size_t a, b; double similarity; }; /* indices of alike_rows */
struct alike_pairs {
    struct alike_pair *at;
    size_t n, cap;
    size_t alike, equal; /* of all pairs: at least `least`; those of them with similarity 1 */
};
struct alike_ask {
    const struct alike_rows *a, *b; /* b NULL: pairs within a, each once.  A row is compared with
                                     * itself in neither case */
    double least;                   /* pairs at least so alike are counted, and kept if: */
    /* is called by several threads; NULL: all are kept */
    bool (*keep)(const void *ctx, size_t a, size_t b, double similarity);
    const void *ctx;
    struct pool *pool;
};
/* Pairs in the order of a, then of b, for any number of threads.  nearest (NULL, or one for each of
 * a): the largest similarity to another row.  CANCELLED, NOMEM. Free pairs->at. */
enum status alike_compare(const struct alike_ask *, struct alike_pairs *, double *nearest,
                          const struct ctl *, struct err *);

#endif
