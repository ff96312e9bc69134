/* compute/likelihood/softmax.h -- several classes by the multinomial logistic model on random
 * features: its weights of largest posterior density, by Newton's method with conjugate gradients
 * (share/doc/methods.md 25; Rasmussen & Williams 2006, section 3.5).
 *
 * With features Z (n x M) at amplitude 1, the offset o_c of each class, and prior precision
 * lambda = 1 / amplitude^2 of the weights W (M x C),
 *   f_c = o_c + Z w_c,  p = softmax(f),
 *   loss(W) = - sum of u_i log p_i,y(i) + lambda |W|^2 / 2,  u_i the weight of the row's class. */
#ifndef GPDESK_SOFTMAX_H
#define GPDESK_SOFTMAX_H

#include "compute/likelihood/dirichlet.h"

/* A problem over rows (of which alpha is not used).  All but what softmax_open fills is borrowed
 * from the caller; offset: C numbers. */
struct softmax {
    struct dirichlet_rows rows;
    const double *offset;
    size_t n, M, C;
    struct fop *f;
    bool keep;         /* features are kept; else they are made in each pass */
    double *G;         /* Z'UZ (M x M), of which the preconditioner is made */
    double *L, prior;  /* its factor at a prior precision; 0: none yet */
};
/* keep: bytes that may be taken to keep the features.  O(n M^2).  RANGE for labels that are none.
 * Close it also after a failure. */
enum status softmax_open(struct softmax *, const struct dirichlet_rows *, const double *offset,
                         double keep, struct err *);
void softmax_close(struct softmax *);
/* Bytes of a problem beside the features that it keeps. */
double softmax_bytes(size_t n, size_t M, size_t C, size_t threads);

/* How a solve ended: passes over the rows, the gradient at the start and at the end relative to
 * that at W = 0. */
struct softmax_end { enum softmax_why { SOFTMAX_RTOL, SOFTMAX_MAXIT, SOFTMAX_STOPPED } why;
                     size_t steps, passes; double start, residual, loss; };
/* From W (C vectors of M) to where the gradient is at most rtol of that at 0, in at most maxit
 * steps.  When ctl stops it, W is what it was after the last step, and the status is OK. */
enum status softmax_solve(struct softmax *, double prior, double rtol, size_t maxit, double *W,
                          struct softmax_end *, struct err *);
/* f (C vectors of n) for rows of the same map: the functions without softmax. */
enum status softmax_functions(const struct dirichlet_rows *, const double *offset, const double *W,
                              double *f, struct err *);
/* The factors of Laplace's method (share/doc/methods.md 25.5): L_c L_c' = Z'H_c Z + prior I, one
 * after the other, M x M each.  Of two classes there is one, which serves both. */
size_t softmax_factors_of(size_t classes);
enum status softmax_factors(struct softmax *, double prior, const double *W, double *factors,
                            struct err *);
/* The logarithms of the shares of classes, with alpha rows more in each; of balanced ones all are
 * equal. */
void softmax_offset(const struct dirichlet_rows *, double *offset);

#endif
