/* app/runs/race.h -- several fits of one system (with different solvers, preconditioners, ranks or
 * kernels), run one after the other and compared by residual over time. */
#ifndef GPDESK_RACE_H
#define GPDESK_RACE_H

#include "app/core/workspace.h"

enum { RACERS_MOST = 8 };
struct race {
    size_t n;
    char label[RACERS_MOST][96];   /* what distinguishes this contender: "pcg rank=64" */
    /* Serial of the next run when each contender began (SIZE_MAX: not begun), and at the end. */
    size_t first[RACERS_MOST + 1];
    char by[12];                   /* "passes", "seconds" or "iteration" */
    bool against;                  /* the contenders are compared with a solution */
    /* A contender is stopped after `seconds`, or at `losers` times the clock of the first to
     * arrive. 0: no limit. */
    double seconds, losers;
    size_t stopped;                /* bit i is set if one of these limits stopped contender i */
};
extern const struct owner race_owner;
struct race *race_of(const struct workspace *); /* the last race; NULL if there is none */
enum status cmd_race(struct workspace *, const struct args *, struct err *);
bool race_running(const struct workspace *);
/* In the workspace's race: the contender that a run belongs to (SIZE_MAX: none); the run of
 * contender i (NULL: none yet). */
size_t race_index(const struct workspace *, const struct run *);
struct run *race_run(const struct workspace *, size_t i);
/* The clock of a point of a trace: its passes, seconds or iteration, chosen by `by`; the unit of
 * that clock. */
double race_clock(const struct trace_point *, const char *by);
const char *race_unit(const char *by);
/* The clock when the run reached its target; INFINITY if it has not. */
double race_arrival(const struct run *, const char *by);
/* Called after each step of a fit: stops it if it has lost. */
void race_watch(struct workspace *, const struct run *);

#endif
