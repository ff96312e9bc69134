/* app/runs/fitting.h -- tuning and fitting as background jobs: from a dataset snapshot to a run. */
#ifndef GPDESK_FITTING_H
#define GPDESK_FITTING_H

#include "app/core/job.h"
#include "app/core/workspace.h"

/* fitting_tune_widths and fitting_fit queue a job for a new run and return at once; the outcome
 * arrives as a result record.  Each of the widths of windows, or lengths of words, is searched for
 * (none given: that of the kernel alone), and the one with the least objective is kept.  `name` is
 * layer_width_name of the layers whose it is. */
enum { FITTING_WIDTHS = 16 };
struct fitting_widths { const char *name; size_t n; const size_t *v; };
enum status fitting_tune_widths(struct workspace *, struct dataset *, const struct kernel *,
                                const struct tune_opts *, struct fitting_widths, const char *line,
                                struct err *);
enum status fitting_fit(struct workspace *, struct dataset *, const struct fit_opts *,
                        const char *line, struct err *);
/* Encodes the rows of a part; every job begins with this. If fit_encoding, enc is fitted on the
 * training rows; otherwise it is used as it is. notes (may be NULL) collects lines to report. */
enum status fitting_rows(const struct dataset *, enum part, bool fit_encoding, struct encoding *enc,
                         struct encoded *out, struct buf *notes, struct err *);
/* Writes what a finished run found, as its result record shows it ("solver", "iterations", "nmll",
 * ...); writes nothing for a run without a result. Values that do not apply are null.
 *
 * Keys of an iterative fit: "passes" over the data; "start_residual" of a warm start; "rate" and
 * "rate_r2", the factor per iteration and the R^2 of its line; "condition", a lower bound from the
 * coefficients of conjugate gradients (with "ritz_min" and "ritz_max"), and "condition_plain", an
 * upper bound without the preconditioner (null: not known); "step_halved", how often a step
 * diverged; "rank_chosen" (auto or given), "rank_predicted_iterations", "rank_prediction_error"
 * (predicted over taken, less 1) and "ranks", the table from which the rank was chosen.
 *
 * Key of a tuning: "sampled" is true if its value is an estimate from a sample of the rows, as it
 * is when the tuning was stopped early. */
void fitting_json(struct rec *, const struct run *);
/* Hyperparameters as the JSON object {"lengthscale":..,"amplitude":..,"noise":..} and as text. */
void fitting_hp_json(struct rec *, const struct kernel *, const double *hp, double amplitude,
                     double noise);
void fitting_hp_text(struct buf *, const struct kernel *, const double *hp, double amplitude,
                     double noise);
/* The same with t amplitudes and noises (noises NULL: there are none). */
void fitting_scales_json(struct rec *, const struct kernel *, const double *hp, size_t t,
                         const double *amplitudes, const double *noises);
void fitting_scales_text(struct buf *, const struct kernel *, const double *hp, size_t t,
                         const double *amplitudes, const double *noises);
/* More than one, and all alike: they are then told once. */
bool fitting_scales_equal(size_t t, const double *v);
/* Writes the names of the targets as "targets"; nothing if there is only one. */
void fitting_targets_json(struct rec *, const struct encoding *);

#endif
