/* app/runs/spectrum_run.h -- the spectrum of a fit's system: from a sketch, and as its solver saw
 * it. */
#ifndef GPDESK_SPECTRUM_RUN_H
#define GPDESK_SPECTRUM_RUN_H

#include "app/core/workspace.h"
#include "compute/stats/diagnose.h"

/* The last one. */
struct spectrum_run_state {
    bool have;
    char run[16];             /* "": the current settings */
    struct advice a;          /* of diagnose_spectrum */
    size_t rank;              /* of the run's preconditioner; 0: none */
    double *ritz; size_t nritz; /* of P^-1 A, descending; none where the solver had no recursion */
    double condition_before, condition_after, seconds; /* after: NaN: unknown */
};
extern const struct owner spectrum_run_owner;
struct spectrum_run_state *spectrum_run_of(const struct workspace *); /* NULL: none */
/* Of a run, or (NULL) of a fit to come by these options.  Queues the job. */
enum status spectrum_run_start(struct workspace *, const struct run *, struct dataset *,
                           const struct fit_opts *, size_t rows, const char *line, struct err *);
struct figure *spectrum_run_figure(struct workspace *, struct run *, const struct args *,
                                   struct err *);

#endif
