/* compute/tuners/tune_impl.h -- the job that tuners share, which evaluates the objective at two
 * fidelities.  For src/compute/tuners only.
 *
 * A search evaluates many points and needs them only roughly: it uses fewer rows and columns
 * ("low").  Reported values come from all rows and all columns ("full").  Positions are
 * u[0..nfree): the free hyperparameters, mapped from [log lo, log hi] to [0, 1]. */
#ifndef GPDESK_TUNE_IMPL_H
#define GPDESK_TUNE_IMPL_H

#include "compute/models/tuning.h"
#include "compute/tuners/tune.h"

enum { TUNE_DEFAULT_EVALS = 30, TUNE_MANY_EVALS = 90, TUNE_MANY_ROWS = 4000 };

/* Rows of a level that were taken from another, copied once, with the targets and row factors. */
struct tune_rows {
    struct source_subset subset;
    struct source_array sample;
    size_t *idx;
    double *x, *y, *s;
};

struct tune_job {
    const struct kernel *kernel;
    const struct tune_opts *opts;
    const struct model_tuning *kind;
    struct tuning_task task;
    const struct ctl *ctl;
    struct ctl quiet;               /* stops like ctl, without ticks from inside an evaluation */
    struct tune_result *res;
    size_t trace_cap, max_evals, targets;
    size_t nhp, nfree, free_at[KERNEL_MAX_HP];
    double lo[KERNEL_MAX_HP], hi[KERNEL_MAX_HP]; /* natural scale; equal when fixed */
    double start[KERNEL_MAX_HP];
    bool have_start;                             /* the start was chosen by the caller: score it */
    struct nmll_bounds within;                   /* of amplitude and noise; equal when fixed */
    struct tuning_level low, full;               /* low.n == full.n && low.M == full.M: the same */
    bool have_low;                               /* low is cheaper than full */
    struct tune_rows some, few;                  /* those of full, if not all; those of low */
    double *yown;                                /* weighted targets */
    struct tune_point best_low;                  /* score +inf: none yet */
    double start_low;                            /* the start's score at the low level; NaN: none */
    bool other_probes; /* approx: the rank was chosen anew since the value before the last, so that
                          the two cannot be compared probe by probe */
    double error;                                /* approx: standard error wanted; 0: any */
    size_t nprobes;                              /* approx: number of probes, and */
    double *terms, *best_terms, *other_terms;    /* their terms (nmll_slq_opts) for the last value,
                                                    the best one, and one to compare with */
};

void tune_to_hp(const struct tune_job *, const double *u, double *hp);
void tune_from_hp(const struct tune_job *, const double *hp, double *u);
/* One evaluation with amplitude and noise at their best within bounds.  It is recorded in the
 * trace, reported and counted.  gradu: d nmll / d u (nfree), or NULL.  A point where the arithmetic
 * fails has nmll = +inf and is not an error.  CANCELLED when stopped, or at the limit of
 * evaluations (tune_opts.max_evals). */
enum status tune_eval(struct tune_job *, const double *u, bool full, double *gradu,
                      struct tune_point *out, struct err *);
/* Points (count x nfree) that tune_eval will be asked for next, not `full` and without gradients:
 * those at the front that can be are evaluated side by side.  Returns after how many of them it
 * should be called again, at least 1. */
size_t tune_ahead(struct tune_job *, const double *u, size_t count);
/* One evaluation at a given amplitude and noise, on all rows; gradu has nfree + 2 entries, the last
 * two in log amplitude and log noise.  With several targets only the ratio of noise to amplitude is
 * used: each target has its best amplitude, and the derivative in log amplitude is 0. */
enum status tune_eval_at(struct tune_job *, const double *u, double amplitude, double noise,
                         double *gradu, struct tune_point *out, struct err *);
/* True when the full level is searched with amplitude and noise at their best for each kernel
 * setting; false when it is searched in all of them jointly (model_tuning.joint, or by probes). */
bool tune_profiles_full(const struct tune_job *);
/* Descends from a point by L-BFGS with exact gradients (tune_nlopt.c), with at most max_evals
 * evaluations, which are recorded in the job. */
enum status tune_descend(struct tune_job *, const struct tune_point *from, bool full,
                         size_t max_evals, struct err *);
/* The same in a single hyperparameter by values alone, which takes less time (tune_line.c): on all
 * rows and columns.  tune_line_suits: whether it can be asked for. */
bool tune_line_suits(const struct tune_job *);
enum status tune_line(struct tune_job *, const struct tune_point *from, size_t max_evals,
                      struct err *);
/* The value of the full level is computed to double precision, and so quickly that its optimum is
 * found to as many digits as it has.  Single precision makes the value rough below about 4e-6 nats
 * a row. */
bool tune_is_smooth(const struct tune_job *);
double tune_tolerance(const struct tune_job *); /* of the value at which a descent ends, nats */
/* Descends without gradients: by the simplex of Nelder & Mead, or by Powell's BOBYQA, which models
 * the objective by a quadratic (with a single free hyperparameter the simplex is used). */
enum tune_free { TUNE_SIMPLEX, TUNE_BOBYQA };
enum status tune_descend_free(struct tune_job *, const struct tune_point *from, bool full,
                              enum tune_free, double step, size_t max_evals, struct err *err);
/* Finds the start among the points that were scored on all rows with amplitude and noise at their
 * best. */
bool tune_scored(const struct tune_job *, struct tune_point *start);
size_t tune_evals_left(const struct tune_job *); /* evaluations left in the search's share */
/* A random point within a third of the range of the start: draw `which` of a stream of RNG_TUNE. */
void tune_scatter(const struct tune_job *, uint32_t stream, size_t which, double *u);
/* tune_starts: how many descents from different points a search makes, `most`, or one where
 * restarts are separate searches.  tune_stream: a stream of RNG_TUNE of this search alone. */
size_t tune_starts(const struct tune_job *, size_t most);
uint64_t tune_stream(const struct tune_job *, uint32_t base);

/* The registry: a row for each, in the order in which help lists them; the first is the default. */
#define TUNER_ROWS(row) \
    row(tuner_bayes)    \
    row(tuner_grid)     \
    row(tuner_lbfgs)    \
    row(tuner_simplex)  \
    row(tuner_bobyqa)

#define TUNER_DECLARED(name) extern const struct tuner_ops name;
TUNER_ROWS(TUNER_DECLARED)
#undef TUNER_DECLARED

#endif
