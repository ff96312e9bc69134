/* compute/ctl.h -- watching and stopping long work.  compute reports and asks; it never draws,
 * prints, locks or knows of the program around it. */
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
    double value2;      /* a solver: the true residual when just recomputed; a search: the
                         * best so far; NaN: none */
    double target;      /* value aimed at (rtol); NaN: none */
    double passes;      /* a solver: passes over the data so far, those of checks included */
    const char *method; /* a solver: its name (static string); NULL: conjugate gradients */
    const double
        *point; /* a search: hyperparameters of this evaluation, natural scale; else NULL */
    size_t npoint;       /* length of point; the array is only valid during the call */
};

struct ctl {
    struct cancel *cancel;                          /* NULL: cannot be stopped */
    void (*tick)(void *ctx, const struct tick *);   /* NULL: nobody listens; called on the worker */
    void *ctx;
};

/* All accept a NULL ctl. */
void ctl_tell(const struct ctl *, enum phase, size_t done, size_t total, double value);
void ctl_tick(const struct ctl *, const struct tick *);
bool ctl_stopped(const struct ctl *); /* a relaxed atomic load */

#endif
