/* compute/ctl.h -- watching and stopping long work.  The functions of compute report and ask; they
 * never draw, print, lock, or know of the program around them. */
#ifndef GPDESK_CTL_H
#define GPDESK_CTL_H

#include "compute/phase.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct cancel { atomic_bool stop; }; /* one per job; set by anyone, read by the worker */

/* One step of progress.  Copied by the listener. */
struct tick {
    enum phase phase;   /* PHASE_NONE: none has been reported yet */
    size_t done, total; /* total 0: unknown */
    double value;       /* see phase.h; NaN: none */
    double value2;      /* from a solver: the true residual if just recomputed; from a search: the
                         * best value so far; NaN: none */
    double target;      /* the value aimed at (rtol); NaN: none */
    bool counted;       /* from a solver: its steps are planned and end with `total`, at whatever
                         * residual */
    double passes;      /* from a solver: passes over the data so far, those of checks included */
    double ritz; /* from conjugate gradients: their smallest Ritz value, if just computed; else 0 */
    const char *method; /* from a solver: its name (static string); NULL: conjugate gradients */
    /* From a solve that is watched (struct solve_watch): at a look, how far its weights are from
     * those of another fit, |a - a*|^2 in the norms of K and of K^2, and the RMSE of held-out rows
     * in scaled units (NaN: there are none); the seconds so far that went into such looks. */
    bool measured;
    double error_k, error_k2, rmse, apart;
    bool sampled;        /* from a search: the value is an estimate from a sample of the rows, or
                          * from fewer columns */
    const double *point; /* from a search: hyperparameters of this evaluation, natural scale */
    size_t npoint;       /* length of point; the array is valid only during the call */
};

struct ctl {
    struct cancel *cancel;                          /* NULL: cannot be stopped */
    void (*tick)(void *ctx, const struct tick *);   /* called on the worker; NULL: no reports */
    void *ctx;
};

/* All accept a NULL ctl. */
void ctl_tell(const struct ctl *, enum phase, size_t done, size_t total, double value);
void ctl_tick(const struct ctl *, const struct tick *);
bool ctl_stopped(const struct ctl *); /* a relaxed atomic load */

#endif
