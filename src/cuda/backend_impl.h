/* cuda/backend_impl.h -- an operator on a device, and what the files of the driver share. */
#ifndef GPDESK_CUDA_BACKEND_IMPL_H
#define GPDESK_CUDA_BACKEND_IMPL_H

#include "compute/backend.h"
#include "cuda/device.h"
#include "cuda/program.h"
#include "cuda/steps.h"

#include <pthread.h>

/* Memory that grows and stays. */
struct room { void *at; size_t bytes; };

struct cuda {
    struct device *dev;
    struct device_info info;
    const struct featmap *fm;
    const struct source *src;
    struct fop_opts opts;
    pthread_mutex_t lock;
    struct program prog;
    size_t n, M, d, xsize, tile_bytes;
    int clusters, blocks;     /* clusters of a sweep, blocks of each */
    bool resident, x_there;   /* all inputs are to stay; are there */
    void *x[2];               /* all of them, or two chunks */
    size_t chunk;             /* rows of a chunk */
    void *stage[2];           /* pinned */
    void *temp;               /* rows on their way to single precision */
    size_t next, turn;        /* chunk, tile: which of the two */
    bool recording;           /* launches are remembered: nothing is waited for */
    size_t moves;             /* changes when memory that they name has gone elsewhere */
    bool half, filled;        /* of stored features */
    void *store;
    void *factor;             /* n row factors, or NULL */
    struct room P, V, T, part, W, tile, left, right, sums, out, scratch, pad;
    struct room chol;         /* M x M in single precision: a factor of Z'Z + lam2 I, where */
    bool factored;            /* it is one of the present features */
    double *host;             /* P in the layout */
    size_t host_bytes;
};

struct sweep {
    size_t k;
    bool up, exact;          /* t = Z P, else t = V; never from rounded features */
    const double *P, *V;
    double *T, *W;
    int K;                   /* right-hand sides of this round */
    struct sweep_args args;
    enum sweep_source from;
    bool there;              /* P and W are on the device */
    bool split;              /* slices are swept one after the other: no clusters so large */
};

/* Column-major on the device, Z' is M x rows.  In single precision a tile's sums are float32. */
struct product {
    bool dbl;                /* features and products */
    bool there;              /* P and W of product_run are on the device */
    size_t k;
    bool up;
    const void *P;           /* device: right factor, in the precision of the product */
    double *W;               /* device: M x k, summed */
    double *T;               /* host: k vectors of n, or NULL */
    const double *V;         /* host */
    double *temp;            /* host: k vectors of a tile's rows */
    double *G;               /* device: Gram, M x M; or NULL */
};

/* fn for tiles of at most `most` rows of [r0, r1), in order; x: their inputs on the device. */
typedef enum status tile_fn(struct cuda *c, void *ctx, size_t r0, size_t r1, const void *x,
                            struct err *err);

enum { READ_ROWS = 512 }; /* rows that one task reads */

/* tiles.c. */
enum status tiles_over(struct cuda *, size_t r0, size_t r1, size_t most, tile_fn *fn, void *ctx,
                       const struct ctl *, struct err *);
enum status tiles_room(struct cuda *, struct room *, size_t bytes, const char *what, struct err *);
/* Rows r0..r1-1 of all terms, of inputs x, into z. */
enum status tiles_rows(struct cuda *, size_t r0, size_t r1, const void *x, void *z, enum dev_form,
                       size_t ld, struct err *);
/* Rows of a tile that takes so many bytes for each. */
size_t tiles_height(const struct cuda *, size_t bytes);
/* True if a pass of k right-hand sides is nothing but launches by now. */
bool tiles_plain(const struct cuda *, size_t k);
enum status tiles_stopped(const struct ctl *, struct err *);
/* The caller holds the operator's lock for these two. */
enum status tiles_run(struct cuda *, struct sweep *, const struct ctl *, struct err *);
enum status tiles_product(struct cuda *, struct product *, const double *P, double *W,
                          const struct ctl *, struct err *);
/* Room on the device where a grid wants more than shared memory. */
enum status tiles_scratch(struct cuda *, struct room *, struct steps_grid, struct steps_args *,
                          struct err *);

/* chosen.c: the device that opens what is opened from now on. */
size_t chosen_device(void);
void chosen_set(size_t index);

/* ranges.c: Y = Z'(Z Omega), both M x L on the device; rough as in fop_sketch_rough. */
enum status ranges_sketch(struct cuda *, size_t L, const double *Omega, double *Y, bool rough,
                           const struct ctl *, struct err *);
enum status ranges_build(void *state, size_t L, int passes, double *Omega, double *ev,
                          const struct ctl *, struct err *);
/* gradients.c: as backend_ops.back. */
enum status gradients_back(void *state, const double *S, size_t k, const double *T,
                           const double *V, double *grad, const struct ctl *, struct err *);
/* factor.c: as backend_ops.factor; Z = P^-1 R of k vectors, temp k M numbers. */
enum status factor_make(void *state, double lam2, const struct ctl *, struct err *);
enum status factor_apply(struct cuda *, size_t k, const double *R, float *temp, double *Z,
                         struct err *);
extern const struct backend_cg cg_ops;       /* cg.c */
extern const struct backend_dense dense_ops; /* dense.c */
extern const struct backend_exact exact_ops; /* exact.c */

#endif
