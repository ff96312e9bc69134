/* app/core/advise_state.h -- what `advise` found last and what fits have taught since: made by
 * app/runs/advise.c, kept in the session by app/session. */
#ifndef GPDESK_ADVISE_STATE_H
#define GPDESK_ADVISE_STATE_H

#include "app/core/owner.h"
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
void advise_state_free(struct advise_state *); /* NULL is fine */
extern const struct owner advise_state_owner;
struct advise_state *advise_state_of(const struct workspace *); /* NULL: none */

#endif
