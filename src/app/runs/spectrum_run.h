/* app/runs/spectrum_run.h -- the spectrum of a fit's system: estimated from a sketch, and as the
 * solver saw it. */
#ifndef GPDESK_SPECTRUM_RUN_H
#define GPDESK_SPECTRUM_RUN_H

#include "app/core/workspace.h"
#include "compute/stats/diagnose.h"

/* The result of the last `spectrum`. */
struct spectrum_run_state {
    bool have;
    char run[16];             /* "": the current settings instead of a run */
    struct advice a;          /* from diagnose_spectrum */
    bool iterated;            /* the run was not solved directly */
    size_t rank;              /* rank of the run's preconditioner; 0: none */
    /* Ritz values of P^-1 A, descending; none if the solver had no recursion */
    double *ritz; size_t nritz;
    size_t steps;             /* of the recursion; its first nritz are shown */
    double condition_before, condition_after, seconds; /* after: NaN if unknown */
};
extern const struct owner spectrum_run_owner;
struct spectrum_run_state *spectrum_run_of(const struct workspace *); /* NULL if there is none */
/* Queues the job for a run or, if the run is NULL, for a planned fit with these options. */
enum status spectrum_run_start(struct workspace *, const struct run *, struct dataset *,
                           const struct fit_opts *, size_t rows, const char *line, struct err *);
struct figure *spectrum_run_figure(struct workspace *, struct run *, const struct args *,
                                   struct err *);

#endif
