/* app/runs/race.h -- several fits of one system side by side: solvers, preconditioners, ranks,
 * kernels; one after the other, and their residuals on one clock. */
#ifndef GPDESK_RACE_H
#define GPDESK_RACE_H

#include "app/core/workspace.h"

enum { RACERS_MOST = 8 };
struct race {
    size_t n;
    char label[RACERS_MOST][96];   /* what is its own: "pcg rank=64" */
    size_t first[RACERS_MOST +
                 1]; /* serial of the next run when it began; SIZE_MAX: not yet; last: the end */
    char by[12];                   /* passes seconds iteration */
    double seconds, losers; /* each is stopped after so many, or at so many times the clock of
                             * the first to arrive; 0: no limit */
    size_t stopped;                /* bit i: told to stop by one of these */
};
extern const struct owner race_owner;
struct race *race_of(const struct workspace *); /* the last one; NULL: none */
enum status cmd_race(struct workspace *, const struct args *, struct err *);
/* Of the workspace's race: which contender a run is (SIZE_MAX: none); the run of one (NULL: none
 * yet). */
size_t race_index(const struct workspace *, const struct run *);
struct run *race_run(const struct workspace *, size_t i);
/* A point on the clock by "passes", "seconds" or "iteration"; its unit. */
double race_clock(const struct trace_point *, const char *by);
const char *race_unit(const char *by);
/* The clock when the run reached its target; INFINITY: not (yet). */
double race_arrival(const struct run *, const char *by);
/* After each step of a fit: stops one that has lost. */
void race_watch(struct workspace *, const struct run *);

#endif
