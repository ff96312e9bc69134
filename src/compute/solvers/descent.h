/* compute/solvers/descent.h -- what the gradient methods share: the start, the true residual and
 * what follows from it, the best iterate, the end.  For solvers/ and tests only.
 *
 * The ridge loss times n, f(w) = w'A w / 2 - b'w, has the gradient A w - b: the residual is the
 * gradient.  Inside, every right-hand side has norm 1. */
#ifndef GPDESK_SOLVERS_DESCENT_H
#define GPDESK_SOLVERS_DESCENT_H

#include "compute/solvers/solve.h"

enum look { LOOK_ON, LOOK_DONE, LOOK_WORSE }; /* worse: it diverges */

struct descent {
    struct ridge ridge;
    struct linop A;
    const struct solve_opts *o;
    const struct ctl *ctl;
    struct solve_info *info;
    struct err *err;
    const char *method;
    size_t M, k, it, maxit, halved;
    double rtol, passes;
    double *bnorm, *rel, *least;     /* by column: |b|; of the iterate; of the best one */
    double *B, *W, *G;               /* k vectors of M: b / |b|, iterate, gradient A w - b */
    double *best, *best_G, *work;    /* of the best iterates; k vectors to use */
};
/* Allocates everything for k right-hand sides B; the iterate is 0, or x0 on the best point of its
 * line.  The caller has set method, ridge, o, ctl, info and err, and zeroed the rest. */
enum status descent_new(struct descent *, size_t k, const double *B);
/* AX = A X for k vectors, counted. */
enum status descent_apply(struct descent *, const double *X, double *AX);
/* The true gradient at W, by one pass (fresh: G is it already); keeps what is better; tells. */
enum status descent_look(struct descent *, bool fresh, enum look *);
/* The iterate and gradient go back to the best ones. */
void descent_back(struct descent *);
/* A tick with the residuals at hand; checked: they are true ones. */
void descent_tell(struct descent *, bool checked);
/* A stop by the caller's wish becomes an outcome; fills info and X (iterate: of W, else the best)
 * and frees.  Returns rc otherwise. */
enum status descent_end(struct descent *, enum status rc, enum outcome why, bool iterate,
                        double *X);
/* Largest eigenvalue of P^-1 A by some power iterations (from below, a tenth added). */
enum status descent_top(struct descent *, const struct precond *, double *top);

/* One SVRG step away from the snapshot: v -= eta P^-1 (Q + lam2 v + G), with Q = s->work the
 * batch's Z'Z v, used up, and G = s->G; k vectors of M. */
enum status svrg_step(struct descent *s, const struct precond *, double eta, double *v);
/* Reddi, Kale & Kumar 2018: m, v, vh are moments (n), lr the step length. */
void amsgrad_step(size_t n, double lr, const double *g, double *m, double *v, double *vh,
                  double *w);
/* Kingma & Ba 2015, step t = 1, 2, ... */
void amsgrad_adam_step(size_t n, size_t t, double lr, const double *g, double *m, double *v,
                       double *w);

#endif
