/* cuda/backend_impl.h -- an operator on a device, and what the files of the driver share. */
#ifndef GPDESK_CUDA_BACKEND_IMPL_H
#define GPDESK_CUDA_BACKEND_IMPL_H

#include "compute/backend.h"
#include "cuda/device.h"
#include "cuda/program.h"
#include "cuda/steps.h"

#include <pthread.h>

/* Device memory that grows and is kept. */
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
    /* The rows of sums; and whether these were ever less than all.  Stored features are then made
     * before they are summed, so that the first sum has the bits of all others. */
    size_t from, to;
    bool ranged;
    int clusters, blocks;     /* clusters of a sweep; blocks of each */
    /* Whether all inputs should stay on the device; whether they are there. */
    bool resident, x_there;
    void *x[2];               /* all inputs, or two chunks of them */
    size_t chunk;             /* rows in a chunk */
    void *stage[2];           /* pinned */
    void *temp;               /* rows being converted to single precision */
    size_t next, turn;        /* which of the two chunks, and tiles, is next */
    bool recording;           /* launches are being recorded: nothing may be waited for */
    size_t moves;             /* changes when memory used by recorded launches has moved */
    bool half, filled;        /* for stored features */
    void *store;
    void *factor;             /* n row factors, or NULL */
    struct room P, V, T, part, W, tile, left, right, sums, out, scratch, pad;
    struct room chol;         /* M x M in single precision: a factor of Z'Z + lam2 I, for */
    bool factored;            /* the current features if this is true */
    double *host;             /* P in the layout of sweeps */
    size_t host_bytes;
};

struct sweep {
    size_t k;
    bool up, exact;          /* up: t = Z P, otherwise t = V; exact: never use rounded features */
    const double *P, *V;
    double *T, *W;
    int K;                   /* right-hand sides of this round */
    struct sweep_args args;
    enum sweep_source from;
    bool there;              /* P and W are device memory */
    bool split; /* slices are swept one after the other, because clusters cannot be that large */
};

/* Matrices are column-major on the device; Z' is M x rows. In single precision, the sums of a tile
 * are float32. */
struct product {
    bool dbl;                /* features and products are double */
    bool there;              /* P and W of product_run are device memory */
    size_t k;
    bool up;
    const void *P;           /* on the device: right factor, in the precision of the product */
    double *W;               /* on the device: M x k, sums */
    double *T;               /* on the host: k vectors of n, or NULL */
    const double *V;         /* on the host */
    double *temp;            /* on the host: k vectors for the rows of a tile */
    double *G;               /* on the device: Gram matrix, M x M, or NULL */
};

/* Called for tiles of at most `most` rows of [r0, r1), in order. x: their inputs on the device. */
typedef enum status tile_fn(struct cuda *c, void *ctx, size_t r0, size_t r1, const void *x,
                            struct err *err);

enum { READ_ROWS = 512 }; /* rows read by one task */

/* tiles.c. */
enum status tiles_over(struct cuda *, size_t r0, size_t r1, size_t most, tile_fn *fn, void *ctx,
                       const struct ctl *, struct err *);
enum status tiles_room(struct cuda *, struct room *, size_t bytes, const char *what, struct err *);
/* Computes rows r0..r1-1 of all terms from the inputs x, into z. */
enum status tiles_rows(struct cuda *, size_t r0, size_t r1, const void *x, void *z, enum dev_form,
                       size_t ld, struct err *);
/* The number of rows of a tile, given the bytes for each row: at most those of sums. */
size_t tiles_height(const struct cuda *, size_t bytes);
/* True if a pass over k right-hand sides now consists only of launches. */
bool tiles_plain(const struct cuda *, size_t k);
enum status tiles_stopped(const struct ctl *, struct err *);
/* The caller of these two holds the operator's lock. */
enum status tiles_run(struct cuda *, struct sweep *, const struct ctl *, struct err *);
enum status tiles_product(struct cuda *, struct product *, const double *P, double *W,
                          const struct ctl *, struct err *);
/* Device memory for a grid that needs more than the available shared memory. */
enum status tiles_scratch(struct cuda *, struct room *, struct steps_grid, struct steps_args *,
                          struct err *);

/* Defined in chosen.c: the device on which new operators are opened. */
size_t chosen_device(void);
void chosen_set(size_t index);

/* Defined in ranges.c: Y = Z'(Z Omega), both M x L on the device; rough as in fop_sketch_rough. */
enum status ranges_sketch(struct cuda *, size_t L, const double *Omega, double *Y, bool rough,
                           const struct ctl *, struct err *);
enum status ranges_build(void *state, size_t L, int passes, double *Omega, double *ev,
                          const struct ctl *, struct err *);
/* Defined in gradients.c: as backend_ops.back. */
enum status gradients_back(void *state, const double *S, size_t k, const double *T,
                           const double *V, double *grad, const struct ctl *, struct err *);
/* Defined in factor.c: as backend_ops.factor. Z = P^-1 R for k vectors; temp has k M numbers. */
enum status factor_make(void *state, double lam2, const struct ctl *, struct err *);
enum status factor_apply(struct cuda *, size_t k, const double *R, float *temp, double *Z,
                         struct err *);
extern const struct backend_cg cg_ops;       /* cg.c */
extern const struct backend_dense dense_ops; /* dense.c */
extern const struct backend_exact exact_ops; /* exact.c */
extern const struct backend_nets affine_ops; /* affine.c */

#endif
