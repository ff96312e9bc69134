/* compute/solvers/descent.h -- functions that the gradient methods share: the start, the true
 * residual and the decisions from it, the best iterate, the end.  For solvers/ and tests only.
 *
 * The loss f(w) = |y - Z w|^2 / 2 + lam2 |w|^2 / 2 = w'A w / 2 - b'w + constant has the gradient
 * A w - b, so that the gradient is the negative residual.  Right-hand sides are scaled to norm
 * 1. */
#ifndef GPDESK_SOLVERS_DESCENT_H
#define GPDESK_SOLVERS_DESCENT_H

#include "compute/solvers/solve.h"

enum look { LOOK_ON, LOOK_DONE, LOOK_WORSE }; /* continue; converged; diverging */

struct descent {
    struct linop A;
    const struct solve_opts *o;
    const struct ctl *ctl;
    struct solve_info *info;
    struct err *err;
    const char *method;
    size_t M, k, it, maxit, halved;
    double rtol, passes;
    double *bnorm, *rel, *least;     /* by column: |b|; residual of the iterate; of the best one */
    double *B, *W, *G;               /* k vectors of M: b / |b|, iterate, gradient A w - b */
    double *best, *best_G, *work;    /* best iterates and their gradients; workspace (k x M) */
};
/* Allocates everything for k right-hand sides B.  The iterate is 0, or x0 scaled to the best point
 * on its line (9.8).  The caller has set method, A, o, ctl, info and err, and zeroed the
 * rest. */
enum status descent_new(struct descent *, size_t k, const double *B);
/* AX = A X for k vectors; counts one pass. */
enum status descent_apply(struct descent *, const double *X, double *AX);
/* Computes the true gradient at W by one pass (fresh: G holds it already), keeps the best iterates,
 * decides (*look) and reports. */
enum status descent_look(struct descent *, bool fresh, enum look *);
/* Resets iterate and gradient to the best ones. */
void descent_back(struct descent *);
/* Reports the current residuals; checked: they are true ones. */
void descent_tell(struct descent *, bool checked);
/* Fills info and X (with iterate from W, else from the best iterates) and frees everything.  A stop
 * on request becomes an outcome with status OK; otherwise the result is rc. */
enum status descent_end(struct descent *, enum status rc, enum outcome why, bool iterate,
                        double *X);
/* *top: the largest eigenvalue of P^-1 A by power iterations.  They give a lower bound, to which a
 * tenth is added. */
enum status descent_top(struct descent *, const struct precond *, double *top);

/* One SVRG step away from the snapshot (share/doc/methods.md 9.3): v -= eta P^-1 (Q + lam2 v + G),
 * with Q = s->work the batch's estimate of Z'Z v, overwritten, and G = s->G; k vectors of M. */
enum status svrg_step(struct descent *s, const struct precond *, double eta, double *v);
/* One AMSGrad step (share/doc/methods.md 9.5; Reddi, Kale & Kumar 2018): g gradient, m, v and vh
 * moments, w weights (n each), lr the step length. */
void amsgrad_step(size_t n, double lr, const double *g, double *m, double *v, double *vh,
                  double *w);
/* Adam step t = 1, 2, ... (share/doc/methods.md 9.6; Kingma & Ba 2015). */
void amsgrad_adam_step(size_t n, size_t t, double lr, const double *g, double *m, double *v,
                       double *w);

#endif
