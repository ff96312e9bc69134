/* app/core/measures.h -- the one table of what can be told of a run in figures: residuals and
 * iterations of a fit, the likelihood of a tuning, scores, seconds, bytes.
 *
 * Result records, session files, `runs`, `compare`, `sweep`, `score folds`, `expect`, the pages of
 * `explain` and lessons all read it.  A new figure of a run is a row here (and the member of the
 * struct that holds it). */
#ifndef GPDESK_MEASURES_H
#define GPDESK_MEASURES_H

#include "app/core/workspace.h"

/* Where a figure is kept; MEASURE_OF_RUN: computed from the run by the row's functions. */
enum measure_of {
    MEASURE_OF_RUN,
    MEASURE_OF_INFO,   /* struct fit_info: of fits */
    MEASURE_OF_RESULT, /* struct tune_result: of tunings */
    MEASURE_OF_POINT,  /* struct tune_point: the best of a tuning */
    MEASURE_OF_RAW,    /* struct metrics, units of the target: of scored fits, by target */
    MEASURE_OF_SCALED  /* struct metrics, training sd of the target = 1 */
};
enum measure_type {
    MEASURE_REAL,   /* double; NaN: there is none */
    MEASURE_COUNT,  /* size_t */
    MEASURE_FLAG,   /* bool */
    MEASURE_WORD,   /* char [] */
    MEASURE_OUTCOME /* enum outcome */
};
/* Which of two values is the better one; NEAREST: that nearer to `goal`. */
enum measure_better { MEASURE_NEITHER, MEASURE_LOWER, MEASURE_HIGHER, MEASURE_NEAREST };
/* Groups of a result record: each is written as one run of keys (fitting.c, scoring.c). */
enum measure_group {
    MEASURE_NO_GROUP,
    MEASURE_SYSTEM,
    MEASURE_ITERATION,
    MEASURE_VARIANCE,
    MEASURE_ROWS,
    MEASURE_SECONDS,
    MEASURE_COST,
    MEASURE_SEARCH,
    MEASURE_OBJECTIVE,
    MEASURE_PROBES,
    MEASURE_SEARCHED,
    MEASURE_SCORES,
    MEASURE_CHECKS
};
/* What a session of an older version has for it. */
enum measure_age { MEASURE_ALWAYS, MEASURE_LATER };

struct measure {
    const char *name;    /* in JSON, expect, pages: "true_residual"; NULL: only in sessions */
    const char *session; /* key in session files; NULL: not kept under this name */
    const char *brief;   /* in show= of sweep and sort= of runs; NULL: not there */
    const char *head;    /* head of a column */
    const char *words;   /* what it is, with its unit: on axes and in lists */
    const char *unit;    /* "" where it is a pure number */
    enum measure_better better;
    double goal;
    enum measure_of of;
    enum measure_type type;
    size_t at, size;     /* of the member */
    enum measure_age age;
    enum measure_group group;
    bool whole;          /* shown as a whole number, where it is positive */
    bool omit;           /* leave the key out instead of writing null */
    bool compare, folds; /* a row of `compare`; of `score folds` */
    unsigned char sweep, expect; /* place among the columns of `sweep`, in the lines of `expect` */
    bool (*applies)(const struct run *);  /* NULL: to all runs that have the struct */
    double (*number)(const struct run *); /* MEASURE_OF_RUN */
    const char *(*word)(const struct run *);
};

const struct measure *measure_at(size_t i); /* NULL past the end */
/* By name or brief name among those that such runs have; NULL: none. */
const struct measure *measure_find(const char *name, enum run_kind);
const struct measure *measure_brief(const char *brief, enum run_kind);
/* Those with a place in `sweep` or `expect`, in that order; NULL past the end. */
const struct measure *measure_of_sweep(size_t i);
const struct measure *measure_of_expect(size_t i);

/* Does the run have it, and does it mean something for it (iterations of a direct solve do not)? */
bool measure_applies(const struct measure *, const struct run *);
/* As it is kept, whether or not it applies; NaN: the run does not have it.  target: of scores. */
double measure_number(const struct measure *, const struct run *, size_t target);
const char *measure_word(const struct measure *, const struct run *); /* NULL: none */
/* A score out of a struct metrics. */
double measure_score(const struct measure *, const struct metrics *);
/* A score's mean over the targets of a run; any other figure as it is where it applies. */
double measure_mean(const struct measure *, const struct run *);
/* Less is better: what the runs are sorted by. */
double measure_order(const struct measure *, const struct run *);
/* All keys of a group. */
void measures_json(struct rec *, const struct run *, enum measure_group);

#endif
