/* app/runs/advise.h -- what a fit will cost at each rank, and what it then did cost. */
#ifndef GPDESK_ADVISE_H
#define GPDESK_ADVISE_H

#include "app/core/workspace.h"
#include "compute/stats/diagnose.h"

enum { ADVISE_TRUTHS = 64 };
/* A fit that was advised on: what it took beside what was expected without a correction. */
struct advise_truth { char run[16]; size_t rank; double expected, iterations, build, solve; };

/* The last advice, and what fits have taught since.  One for a session. */
struct advise_state {
    struct advice a;           /* rows as the law has them, uncorrected; its spectrum is not kept */
    bool have;
    char *dataset, *kernel, *command;
    double rtol, factor;       /* iterations shown are the law's times the factor */
    size_t maxit, threads, features;
    double seconds, condition; /* of Z'Z and its noise; 0: not known */
    bool plain, single;        /* law=plain; features in single precision */
    struct advise_truth truth[ADVISE_TRUTHS];
    size_t ntruth;             /* of this advice */
    double error_sum;          /* of log(iterations / expected) over the fits of this session */
    size_t errors;
};
void advise_free(struct advise_state *); /* NULL is fine */

struct advise_opts { const size_t *rank; size_t nrank, solves, rows; bool plain; };
/* Queues the job; the table arrives as a result record. */
enum status advise_start(struct workspace *, struct dataset *, const struct fit_opts *,
                         const struct advise_opts *, const char *line, struct err *);
/* A fit has ended: its truth is laid over the prediction, and corrects the law. */
void advise_learn(struct workspace *, const struct run *);
struct figure *advise_figure(struct workspace *, struct run *, const struct args *, struct err *);

#endif
