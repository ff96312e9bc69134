/* compute/solvers/dual.h -- functions that the descents in dual variables share: the iterate and
 * its average in lazy form, and the course of a descent.  For solvers/ and tests only.
 *
 * The systems are A = G + lam2 I (n x n) with G a kernel matrix; g below is a gradient of either
 * the dual loss a'A a / 2 - a'b or the primal loss |b - G a|^2 / 2 + lam2 a'G a / 2, both of which
 * have their minimum at a = A^-1 b (share/doc/methods.md 9.9). */
#ifndef GPDESK_SOLVERS_DUAL_H
#define GPDESK_SOLVERS_DUAL_H

#include "compute/solvers/solve.h"

enum dual_average { DUAL_GEOMETRIC = 1, DUAL_ARITHMETIC, DUAL_NONE };
#define DUAL_AVERAGES "geometric,arithmetic,none" /* words of a parameter, in that order */

/* Iterate a, velocity v and average of k vectors of n.  A step changes the coordinates of a batch;
 * all others move on by their velocity alone, which has a closed form (share/doc/methods.md 9.11,
 * 9.12).  Each coordinate therefore stands where the last step that met it has left it, and is
 * brought forward when it is met again.  The k values of a coordinate are neighbours. */
struct dual_path {
    size_t n, k;
    double rho, r;             /* momentum; weight of the newest iterate in a geometric average */
    double kept;               /* the share of a step that the velocity does not take (9.19) */
    enum dual_average average;
    size_t from;               /* an arithmetic average begins behind this step */
    struct pool *pool;
    size_t t;                  /* steps since the start */
    size_t changed;            /* the step at which r got its value, */
    double log_before;         /* and the logarithm of the weight of 0 in the average until then */
    double *w, *v, *a;         /* a + rho / (1 - rho) v; v; the sum of the average (NULL: none) */
    size_t *last;              /* the step at which w, v and a of a coordinate are */
    double *power;             /* rho^m for m < powers; beyond them it is 0 */
    size_t powers;
};
/* Allocates all.  The caller has set n, k, rho, r, average, from and pool, and zeroed the rest;
 * dual_path_free also after a failure. */
enum status dual_path_new(struct dual_path *, struct err *);
void dual_path_free(struct dual_path *);
/* Starts at X (k vectors of n, one after the other; NULL: 0) with velocity 0 and no average. */
void dual_path_start(struct dual_path *, const double *X);
/* U <- a + rho v (k vectors of n), the point at which Nesterov's gradient is taken. */
void dual_path_ahead(const struct dual_path *, double *U);
/* a <- a + rho v - length g, v <- rho v - (1 - kept) length g, and the average, where g has E (m x
 * k, each vector of m) in its coordinates at[] and 0 elsewhere; repeated indices add up.  at NULL:
 * m = n, all of them. */
void dual_path_step(struct dual_path *, size_t m, const size_t *at, double length,
                    const double *E);
/* f (4) <- what m steps that leave a coordinate alone make of it: v <- f0 v and the sum of the
 * average <- f1 sum + f2 w + f3 v, with v from before them. */
void dual_path_coast(const struct dual_path *, size_t m, double f[4]);
/* X <- the average over the steps made, divided by the sum of its weights; without one the
 * iterate. */
void dual_path_result(const struct dual_path *, double *X);

/* From now on the average has this r, or begins behind step `from`, unless it has begun. */
void dual_path_reweigh(struct dual_path *, double r, size_t from);

/* A descent under way. */
struct dual;
struct dual_method {
    const char *name;
    double code; /* of this method in a state (dual_state.c) */
    /* Sets m, cost, limit and unit, and allocates what the method needs (at, own). */
    enum status (*begin)(struct dual *);
    /* From u: the gradient's coordinates E at at[], and for each column an estimate (square) of
     * |A u - b|^2. */
    enum status (*gradient)(struct dual *);
    bool sampled; /* that estimate is one of a random batch */
    bool batches; /* E is A u - b at a batch of dual_draw, which a device can compute */
    bool exact_step; /* E is a step and no gradient: its length needs no eigenvalue */
};
struct dual {
    const struct dual_method *how;
    const struct linop *A;
    size_t k;
    const double *B;
    const struct solve_opts *o;
    const struct ctl *ctl;
    struct solve_info *info;
    struct err *err;
    /* Given by the solver's parameters. */
    size_t batch;              /* 0: all rows; `begin` lowers it to n */
    double momentum, step;     /* the step counts in limits, */
    double given;              /* and this is the one that was asked for */
    bool free_momentum;        /* `begin` may take more momentum than is given */
    double kept;               /* of the path; `begin` may set it */
    enum dual_average average;
    void *own;                 /* of the method */
    /* By `begin`. */
    size_t m;                  /* coordinates of a step */
    double cost;               /* passes of a step */
    double limit, unit;        /* the longest stable n beta; a step is step limit / unit long */
    /* By dual_run. */
    size_t n, it, maxit, halved, looks, since; /* since: steps after the last halving */
    size_t begun;              /* steps made by the solve that this one goes on from */
    uint64_t seed;             /* of the batches */
    bool near;                 /* all estimates are within the tolerance */
    bool due;                  /* a look is due, but a stop came first */
    double watched;            /* passes at which the caller looked last */
    double rtol, passes, walked; /* walked: passes of steps alone */
    double lambda1;            /* the largest eigenvalue of G */
    struct dual_path path;
    size_t *at;                /* NULL: all coordinates */
    double *u, *work, *E;
    double *bnorm, *square; /* by column: |b|; the estimate of `gradient`; running, relative: */
    double *run, *least;      /* the mean of estimates, squared; the least of its roots */
    double *rel, *seen;       /* true residuals: of X; of the last look */
    struct dual_there *there; /* steps are made on a device; NULL: here */
};
/* Steps on the device that makes the products (dual_there.c).  open: if there is one that can, else
 * there stays NULL.  put and get: the path to the device and back, if there is one.  run: some
 * steps, at most `most`, with d->step; square (steps x k) has the sums of squared errors.  Only a
 * stop fails; a device that is lost makes `there` NULL, and `done` 0. */
void dual_there_open(struct dual *);
void dual_there_close(struct dual *);
void dual_there_put(struct dual *);
void dual_there_get(struct dual *);
enum status dual_there_run(struct dual *, size_t most, const double **square, size_t *done);
/* The course of a descent: start, step length, steps, looks, end.  Fills X and info.  The caller
 * has set what the first two groups name and zeroed the rest. */
enum status dual_run(struct dual *, double *X);
/* The state of a descent (dual_state.c): all that its further course depends on, with the last good
 * average X.  take: into the first info; without memory there is none.  fits: the options have a
 * state of a descent on this system by this method with these parameters.  restore: after `begin`
 * and dual_path_new. */
void dual_state_take(const struct dual *, const double *X);
bool dual_state_fits(const struct dual *);
void dual_state_plan(struct dual *); /* maxit and begun, from the state */
void dual_state_system(struct dual *); /* lambda1 and momentum */
void dual_state_restore(struct dual *, double *X);
/* *most: the largest diagonal entry of G. */
enum status dual_diagonal(struct dual *, double *most);
/* The longest stable n beta of a step with momentum (share/doc/methods.md 9.13): top is the largest
 * eigenvalue of the mean Hessian, n noise what a batch adds to it. */
double dual_limit(const struct dual *, double top, double noise);
/* The momentum for a descent that may choose (9.15), at least the one it has; top and noise as for
 * dual_limit. */
double dual_momentum(const struct dual *, double top, double noise);
/* Draws m indices of a step: independent, with replacement, a function of seed and step alone. */
void dual_draw(const struct dual *, size_t m, size_t *at);
/* For tests: the indices of all steps, m a step; NULL: drawn again. */
void dual_draws_for_tests(const size_t *at);

#endif
