/* compute/phase.h -- the phases of long work: one row for each, read by progress lines, JSON ticks,
 * traces and error messages. */
#ifndef GPDESK_PHASE_H
#define GPDESK_PHASE_H

#include <stddef.h>

/* The meaning of the ticks of a phase:
 *   STEPS     `done` counts steps of any kind; `value`, if there is one, is not part of a trace
 *   RESIDUAL  `done` counts iterations of a solver; `value` is the relative residual, which falls
 *             towards `target`; the tick is a point of the run's trace
 *   CHOICE    `done` counts rounds of a choice of points; `value` is the bound of the set, `value2`
 *             the best so far; the tick is a round of the run
 *   SEARCH    `done` counts evaluations of an objective; `value` is the objective and `value2` the
 *             best so far; the tick is a point of the run's trace */
enum phase_kind { PHASE_STEPS, PHASE_RESIDUAL, PHASE_SEARCH, PHASE_CHOICE };

/* Identifier, word in output and sessions, kind, name of the tick's value in JSON (NULL: none). */
#define PHASE_LIST(_) \
    _(NONE, "", PHASE_STEPS, NULL) \
    _(READ, "read", PHASE_STEPS, NULL) \
    _(READ_REPEATED, "read: repeated rows", PHASE_STEPS, NULL) \
    _(READ_KEPT, "read: kept columns", PHASE_STEPS, NULL) \
    _(SUMMARY, "summary", PHASE_STEPS, NULL) \
    _(FEATURES, "features", PHASE_STEPS, NULL) \
    _(KERNEL, "kernel", PHASE_STEPS, NULL) \
    _(GRAM, "gram", PHASE_STEPS, NULL) \
    _(SKETCH, "sketch", PHASE_STEPS, NULL) \
    _(DIAGONAL, "diagonal", PHASE_STEPS, NULL) \
    _(PRECOND, "precond", PHASE_STEPS, NULL) \
    _(RANKS, "ranks", PHASE_STEPS, NULL) \
    _(START, "start", PHASE_STEPS, NULL) \
    _(SOLVE, "solve", PHASE_STEPS, NULL) \
    _(CHOLESKY, "cholesky", PHASE_STEPS, NULL) \
    _(FACTOR, "factor", PHASE_STEPS, NULL) \
    _(ITERATE, "cg", PHASE_RESIDUAL, "residual") \
    _(NOISE, "noise", PHASE_STEPS, NULL) \
    _(NOISE_SEARCH, "noise search", PHASE_STEPS, NULL) \
    _(VARIANCE, "variance", PHASE_STEPS, NULL) \
    _(PREDICT, "predict", PHASE_STEPS, NULL) \
    _(TUNE, "tune", PHASE_SEARCH, "nmll") \
    _(TUNE_LOO, "tune-loo", PHASE_SEARCH, "loo") \
    _(TUNE_VALIDATION, "tune-validation", PHASE_SEARCH, "validation") \
    _(FOLDS, "folds", PHASE_STEPS, NULL) \
    _(ROUNDS, "rounds", PHASE_STEPS, NULL) \
    _(PCA, "pca", PHASE_STEPS, NULL) \
    _(KMEANS, "kmeans", PHASE_STEPS, NULL) \
    _(CLUSTERS, "clusters", PHASE_STEPS, NULL) \
    _(ROWS, "rows", PHASE_STEPS, NULL) \
    _(LEFT_OUT, "left one out", PHASE_STEPS, NULL) \
    _(SPECTRUM, "spectrum", PHASE_STEPS, NULL) \
    _(LANDSCAPE, "landscape", PHASE_STEPS, NULL) \
    _(TRADEOFF, "tradeoff", PHASE_STEPS, NULL) \
    _(EFFECTS, "effects", PHASE_STEPS, NULL) \
    _(INDUCING, "inducing", PHASE_CHOICE, "bound") \
    _(TEMPERATURE, "temperature", PHASE_STEPS, NULL) \
    _(AMPLITUDE, "amplitude", PHASE_STEPS, NULL)

enum phase {
#define PHASE_ID(id, word, kind, value) PHASE_##id,
    PHASE_LIST(PHASE_ID)
#undef PHASE_ID
    N_PHASES
};

const char *phase_word(enum phase);         /* "" for PHASE_NONE */
enum phase_kind phase_kind(enum phase);
const char *phase_value(enum phase);        /* the name of its value; NULL: it carries none */

#endif
