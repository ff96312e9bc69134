/* app/core/measures.h -- the one table of the figures of a run: residual and iterations of a fit,
 * likelihood of a tuning, scores, seconds, bytes.
 *
 * Result records, session files, `runs`, `compare`, `sweep`, `score folds`, `expect`, the pages of
 * `explain` and lessons all read it. A new figure of a run is a row here, and a member of the
 * struct that holds it. */
#ifndef GPDESK_MEASURES_H
#define GPDESK_MEASURES_H

#include "app/core/workspace.h"

/* Which struct holds a figure. MEASURE_OF_RUN: it is computed from the run by the row's
 * functions. */
enum measure_of {
    MEASURE_OF_RUN,
    MEASURE_OF_INFO,   /* struct fit_info of a fit */
    MEASURE_OF_RESULT, /* struct tune_result of a tuning */
    MEASURE_OF_POINT,  /* struct tune_point: the best point of a tuning */
    MEASURE_OF_RAW,    /* struct metrics of a scored fit, per target, in the target's units */
    MEASURE_OF_SCALED  /* struct metrics with the training sd of the target as unit */
};
enum measure_type {
    MEASURE_REAL,   /* double; NaN: no value */
    MEASURE_COUNT,  /* size_t */
    MEASURE_FLAG,   /* bool */
    MEASURE_WORD,   /* char [] */
    MEASURE_OUTCOME /* enum outcome */
};
/* Which of two values is better. NEAREST: the one closer to `goal`. */
enum measure_better { MEASURE_NEITHER, MEASURE_LOWER, MEASURE_HIGHER, MEASURE_NEAREST };
/* Groups of a result record. Each group is written as consecutive keys (fitting.c, scoring.c). */
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
/* Whether sessions of every version have the figure, or only later ones. */
enum measure_age { MEASURE_ALWAYS, MEASURE_LATER };

struct measure {
    const char *name;  /* name in JSON, expect and pages: "true_residual"; NULL: only in sessions */
    const char *session; /* key in session files; NULL: not saved under a key of its own */
    const char *brief;   /* name in show= of sweep and sort= of runs; NULL: not offered there */
    const char *head;    /* heading of its column */
    const char *words;   /* what it is, with its unit: used on axes and in lists */
    const char *unit;    /* "" for a pure number */
    enum measure_better better;
    double goal;
    enum measure_of of;
    enum measure_type type;
    size_t at, size;     /* offset and size of the member */
    double least;        /* a smaller value means that the figure is not known; 0: no such limit */
    enum measure_age age;
    enum measure_group group;
    bool whole;          /* shown as a whole number if it is positive */
    bool omit;           /* if there is no value, omit the key instead of writing null */
    bool compare, folds; /* shown in `compare`; shown in `score folds` */
    /* position among the columns of `sweep`, and among the lines of `expect` */
    unsigned char sweep, expect;
    bool (*applies)(const struct run *);  /* NULL: applies to all runs that have the struct */
    double (*number)(const struct run *); /* for MEASURE_OF_RUN */
    const char *(*word)(const struct run *);
};

const struct measure *measure_at(size_t i); /* NULL if i is past the end */
/* Finds a figure of this kind of run by its name or its brief name; NULL if there is none. */
const struct measure *measure_find(const char *name, enum run_kind);
const struct measure *measure_brief(const char *brief, enum run_kind);
/* The i-th column of `sweep`, the i-th line of `expect`; NULL if i is past the end. */
const struct measure *measure_of_sweep(size_t i);
const struct measure *measure_of_expect(size_t i);

/* True if the run has the figure and the figure is meaningful for it (iterations of a direct solve
 * are not). */
bool measure_applies(const struct measure *, const struct run *);
/* The stored value, whether or not it applies; NaN if the run does not have it. target: for scores,
 * which target. */
double measure_number(const struct measure *, const struct run *, size_t target);
const char *measure_word(const struct measure *, const struct run *); /* NULL if there is none */
/* Reads a score from a struct metrics. */
double measure_score(const struct measure *, const struct metrics *);
/* The mean of a score over the run's targets; for any other figure, its value where it applies. */
double measure_mean(const struct measure *, const struct run *);
/* A key for sorting runs: a smaller key is better. */
double measure_order(const struct measure *, const struct run *);
/* Writes all keys of a group. */
void measures_json(struct rec *, const struct run *, enum measure_group);

#endif
