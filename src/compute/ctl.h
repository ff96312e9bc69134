/* compute/ctl.h -- watching and stopping long work.  compute reports and asks; it never draws,
 * prints, locks or knows of the program around it. */
#ifndef GPDESK_CTL_H
#define GPDESK_CTL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct cancel { atomic_bool stop; }; /* one per job; set by anyone, read by the worker */

/* One step of progress.  Copied by the listener; phase is a static string. */
struct tick {
    const char *phase;  /* "features" "gram" "precond" "cg" "tune" "variance" "predict" ... */
    size_t done, total; /* total 0: unknown */
    double value;       /* residual, nmll, ...; NaN: none */
    double value2;      /* cg: true residual when just recomputed; tune: best so far; NaN: none */
    double target;      /* value aimed at (rtol); NaN: none */
    double passes;      /* cg: passes over the data so far, those of checks included */
    const char *method; /* cg: which solver (static string); NULL: conjugate gradients */
    const double *point; /* tune: hyperparameters of this evaluation, natural scale; else NULL */
    size_t npoint;       /* length of point; the array is only valid during the call */
};

struct ctl {
    struct cancel *cancel;                          /* NULL: cannot be stopped */
    void (*tick)(void *ctx, const struct tick *);   /* NULL: nobody listens; called on the worker */
    void *ctx;
};

/* All accept a NULL ctl. */
void ctl_tell(const struct ctl *, const char *phase, size_t done, size_t total, double value);
void ctl_tick(const struct ctl *, const struct tick *);
bool ctl_stopped(const struct ctl *); /* a relaxed atomic load */

#endif
