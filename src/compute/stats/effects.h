/* compute/stats/effects.h -- what a model has learned of its inputs, by replacing some of them:
 * partial dependence, permutation importance, interactions (share/doc/methods.md, group 14).  An
 * input is replaced by that of another row (a donor), never by a made-up number, so that the inputs
 * of one column (levels, seasons, positions) stay consistent. */
#ifndef GPDESK_EFFECTS_H
#define GPDESK_EFFECTS_H

#include "compute/models/model.h"
#include "compute/features/source.h"

/* n rows of inputs (n x d, row-major, borrowed) and a source that says what they are, with their
 * d. */
struct effects_rows {
    const struct source *like;
    const double *x;
    size_t n;
};

/* What is asked of a model, in scaled units of one of its targets, or of that less another one. */
struct effects_ask {
    const struct model *m;
    size_t target;
    bool less; size_t other; /* target less other; without variances (var NULL) */
    struct effects_rows rows;
    const struct tools *on;
    /* Steps of PHASE_EFFECTS, one for each prediction: those so far, which the functions below
     * count and tell, and all.  NULL: they tell nothing. */
    struct effects_steps { size_t done, all; } *steps;
};
/* Partial dependence (14.1): at each of `places` donors all rows take the inputs that move.
 * each (places x rows.n): the predictions; var (places; NULL: not wanted): the variance of their
 * average at a place.  Memory is bounded by blocks of places. */
enum status effects_curve(const struct effects_ask *, const bool *moves, const double *donors,
                          const size_t *from, size_t places, double *each, double *var,
                          struct err *);
/* Predictions with the inputs that move permuted among the rows, `repeats` times (repeats x
 * rows.n).  Permutation p is drawn at (seed, stream + p). */
enum status effects_permuted(const struct effects_ask *, const bool *moves, size_t repeats,
                             uint64_t seed, uint64_t stream, double *moved, struct err *);

/* The rise of the error by permutations (14.3), with standard errors over the rows. */
struct effects_rise { double rmse, permuted, rise, se, mse, mse_se; };
/* y, mean: n targets and predictions; moved: repeats x n. */
void effects_rise(size_t n, size_t repeats, const double *y, const double *mean,
                  const double *moved, struct effects_rise *);
/* Friedman's H of two inputs (14.5) from partial dependences at n places: of both together and of
 * each alone.  *part: the root mean square of what only both together explain; *h is NaN where the
 * joint dependence is constant. */
void effects_interaction(size_t n, const double *both, const double *a, const double *b, double *h,
                         double *part);

#endif
