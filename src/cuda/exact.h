/* cuda/exact.h -- an exact kernel on the device: what exact.c and descent.c share. */
#ifndef GPDESK_CUDA_EXACT_H
#define GPDESK_CUDA_EXACT_H

#include "cuda/backend_impl.h"

enum { EXACT_HELD = 5 };
struct exact_there {
    struct device *dev;
    struct device_info info;
    struct radial_args args;   /* X, inv, table and related arrays */
    /* d numbers: subtracted from all rows, so that single precision keeps their digits. */
    double *centre;
    float *inv;                /* over lengthscales; times the scale of a closed form */
    void *held[EXACT_HELD];    /* X, inv, tables, norms, halves of X */
    size_t k;                  /* vectors that stay; 0: none */
    struct room Y, V, at, part, out, own, levels, packed, norms, values;
    /* Distances on matrix units: sixteens of inputs (0: by differences), and the unit. */
    struct many_args many;
    double largest;            /* the largest norm of a row, over the lengthscales */
};

enum status exact_room(struct exact_there *, struct room *, size_t bytes, const char *what,
                       struct err *);
/* Parts of the products of a.r.m rows with the packed vectors into e->part, which grows: chunks of
 * columns such that the device is busy; a->r.chunks is set. */
enum status exact_many(struct exact_there *, struct many_args *a, struct err *);
/* Numbers of a vector packed for a launch with K of them, and its bytes. */
size_t exact_packed(const struct exact_there *, int K);
/* The index list as numbers of the device, in e->at. */
enum status exact_list(struct exact_there *, size_t m, const size_t *at, struct err *);
/* Seconds that a product of so many rows with K vectors takes, by count. */
double exact_counted(const struct exact_there *, size_t rows, int K);

extern const struct backend_descent descent_ops; /* descent.c */

#endif
