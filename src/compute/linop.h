/* compute/linop.h -- a symmetric positive definite system A = G + lam2 I of order n as operations,
 * never as a matrix: what solvers, preconditioners and estimates ask of it.  Two systems implement
 * it: G = Z'Z of random features (order M; solvers/solve.h, solve_ridge), and G = S K1 S of the
 * exact kernel (order n; models/exact_system.h).
 *
 * Vectors follow one another (column-major).  Every operation may be stopped (CANCELLED) and gives
 * the same bits for any number of threads. */
#ifndef GPDESK_LINOP_H
#define GPDESK_LINOP_H

#include "base/status.h"
#include "compute/ctl.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backend_descent;
struct fop;
struct pool;

typedef enum status apply_fn(void *ctx, size_t k, const double *X, double *AX, const struct ctl *,
                             struct err *);
/* pool serves the preconditioner; NULL is fine.  Everything is borrowed.  All members but n, apply
 * and ctx are optional: conjugate gradients need no more. */
struct linop {
    size_t n;
    apply_fn *apply; /* AX <- A X for k vectors */
    apply_fn *exact; /* if apply rounds, the exact operator, for residuals; else NULL */
    void *ctx;
    struct pool *pool;
    struct fop *fop; /* if A is Z'Z + lam2 I of this operator, which may then keep the vectors of
                      * the recursion on its device; else NULL */
    /* Steps of a dual descent on the device that makes the products, for its state `there` and the
     * n row factors S of G = S K S (NULL: 1); NULL: there are none. */
    const struct backend_descent *descent;
    void *there;
    const double *row;
    double lam2;
    bool single;       /* products are rounded to single precision */
    apply_fn *product; /* G X, without lam2 */
    /* W (m x k, each vector of m) <- rows at[] of G X, without lam2; indices may repeat.  NULL:
     * chosen rows cost as much as a product. */
    enum status (*rows)(void *ctx, size_t m, const size_t *at, size_t k, const double *X,
                        double *W, const struct ctl *, struct err *);
    /* C (n x m) <- columns at[] of G, without lam2. */
    enum status (*columns)(void *ctx, size_t m, const size_t *at, double *C, const struct ctl *,
                           struct err *);
    /* C (m x m) <- entries at[] x at[] of G. */
    enum status (*block)(void *ctx, size_t m, const size_t *at, double *C, const struct ctl *,
                         struct err *);
    enum status (*diagonal)(void *ctx, double *diag, const struct ctl *, struct err *); /* of G */
    /* Y <- F F'X for k vectors with m random features F (n x m) whose expected F F' is G; `draw`
     * seeds them. */
    enum status (*sketch)(void *ctx, size_t m, uint64_t draw, size_t k, const double *X, double *Y,
                          const struct ctl *, struct err *);
    /* Seconds of one core for that many rows of G times k vectors; rows = n: a product. */
    double (*seconds)(const void *ctx, size_t rows, size_t k);
};

#endif
