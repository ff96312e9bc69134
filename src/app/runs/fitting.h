/* app/runs/fitting.h -- tuning and fitting as background jobs: from a dataset snapshot to a run. */
#ifndef GPDESK_FITTING_H
#define GPDESK_FITTING_H

#include "app/core/job.h"
#include "app/core/workspace.h"

/* fitting_tune_widths and fitting_fit queue a job for a new run and return at once; the outcome
 * arrives as a result record.  Each of the widths of windows given is searched for (none: the width
 * of the kernel alone), and the one with the least objective is kept. */
enum { FITTING_WIDTHS = 16 };
struct fitting_widths { size_t n; const size_t *v; };
enum status fitting_tune_widths(struct workspace *, struct dataset *, const struct kernel *,
                                const struct tune_opts *, struct fitting_widths, const char *line,
                                struct err *);
enum status fitting_fit(struct workspace *, struct dataset *, const struct fit_opts *,
                        const char *line, struct err *);
/* Rows of a part, encoded: the common opening of every job.  enc is fitted on the training rows
 * when `fit_encoding`, else used as it is.  notes (may be NULL) collects what to tell. */
enum status fitting_rows(const struct dataset *, enum part, bool fit_encoding, struct encoding *enc,
                         struct encoded *out, struct buf *notes, struct err *);
/* What a finished run found, as its result record has it ("solver", "iterations", "nmll", ...);
 * nothing for a run without a result.  Of an iteration: "passes" over the data; "start_residual" of
 * a warm start; "rate" and "rate_r2", the factor per iteration and how straight it is; "condition"
 * by the coefficients of conjugate gradients (with "ritz_min", "ritz_max") and "condition_plain"
 * without the preconditioner; "step_halved", how often a step diverged; "rank_chosen" auto or
 * given, "rank_predicted_iterations", "rank_prediction_error" (predicted over taken, less 1) and
 * "ranks", the table of the choice.  Of a tuning: "sampled", whether its value is an estimate from
 * a sample of the rows, as it is where it was stopped early.  null where it does not apply. */
void fitting_json(struct rec *, const struct run *);
/* Hyperparameters as {"lengthscale":..,"amplitude":..,"noise":..} and as words. */
void fitting_hp_json(struct rec *, const struct kernel *, const double *hp, double amplitude,
                     double noise);
void fitting_hp_text(struct buf *, const struct kernel *, const double *hp, double amplitude,
                     double noise);
/* The same with t amplitudes and noises. */
void fitting_scales_text(struct buf *, const struct kernel *, const double *hp, size_t t,
                         const double *amplitudes, const double *noises);
/* "targets": their names; nothing for one. */
void fitting_targets_json(struct rec *, const struct encoding *);

#endif
