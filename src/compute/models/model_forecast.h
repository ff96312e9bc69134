/* compute/models/model_forecast.h -- how many iterations conjugate gradients will take on an exact
 * kernel of many rows, from a sample of them (share/doc/methods.md 9.16).
 *
 * Of m of n rows the matrix has about m/n of each eigenvalue, so that K_mm + (m/n) ratio I, which
 * is formed and solved, has the condition of the whole system; a preconditioner takes its pivots
 * there as it would from all rows.  What a sample cannot show are the smallest eigenvalues: half of
 * the sample tells how the count grows with the rows. */
#ifndef GPDESK_MODEL_FORECAST_H
#define GPDESK_MODEL_FORECAST_H

#include "compute/models/model.h"
#include "compute/preconds/precond.h"

enum { FORECAST_ROWS = 1024 }; /* the usual sample */
struct forecast_ask {
    const struct source *rows;
    const double *y;              /* opts->targets vectors, times the row factors */
    const struct fit_opts *opts;  /* kernel, tolerance, seed; samples: one more right-hand side */
    double ratio;
    const struct precond_ops *precond;
    const size_t *ranks; size_t count; /* at most RANK_GUESSES; 0: no preconditioner */
    size_t sample;                /* 0: FORECAST_ROWS */
    size_t most;                  /* iterations that are counted */
};
/* Fills rank, ratio, iterations with their range, capped and more of `count` guesses, and *rows of
 * the sample: ranks of more than a quarter of it are not told (more, from 0).  UNSUPPORTED for a
 * preconditioner that needs features.  Takes about 16 m^2 bytes and, for each rank, the time of its
 * iterations on m rows.  The same numbers for any number of threads. */
enum status model_forecast(const struct forecast_ask *, const struct tools *, struct rank_guess *,
                           size_t *rows, struct err *);

#endif
