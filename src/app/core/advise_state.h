/* app/core/advise_state.h -- what `advise` last found, and what later fits have taught it. The
 * state is made by app/runs/advise.c and saved in the session file by app/session. */
#ifndef GPDESK_ADVISE_STATE_H
#define GPDESK_ADVISE_STATE_H

#include "app/core/owner.h"
#include "compute/stats/diagnose.h"

enum { ADVISE_TRUTHS = 64 };
/* A fit that followed the advice: the iterations and seconds it took, and the number of iterations
 * that the uncorrected law had predicted. */
struct advise_truth { char run[16]; size_t rank; double expected, iterations, build, solve; };

/* The last advice and the corrections learned since. There is one of these for each session. */
struct advise_state {
    struct advice a;    /* rows as the law predicts them, uncorrected; the spectrum is not kept */
    bool have;
    char *dataset, *kernel, *command;
    double rtol, factor;       /* the iterations shown are those of the law times this factor */
    size_t maxit, threads, features;
    double seconds, condition; /* condition number of Z'Z + noise; 0: unknown */
    bool plain, single;        /* law=plain was given; features are in single precision */
    struct advise_truth truth[ADVISE_TRUTHS];
    size_t ntruth;             /* number of entries of `truth`, all for this advice */
    double error_sum;       /* sum of log(iterations / predicted) over the fits of this session */
    size_t errors;
};
void advise_state_free(struct advise_state *); /* NULL is allowed */
extern const struct owner advise_state_owner;
struct advise_state *advise_state_of(const struct workspace *); /* NULL if there is no advice */

#endif
