/* compute/stats/diagnose.h -- before a fit: what it will cost at each rank; and the spectrum behind
 * that. */
#ifndef GPDESK_DIAGNOSE_H
#define GPDESK_DIAGNOSE_H

#include "compute/models/model.h"
#include "compute/stats/spectrum.h"

struct advice {
    size_t n, M, sample, solves;
    double given, ratio; /* noise over amplitude, squared: as given, and as a fit would have it */
    bool refined;            /* these differ because the fit's own search was made, */
    bool left;               /* or were not compared: that search would take too long for advice */
    double effective_dimension;     /* at these features; */
    double kernel_dimension;        /* of the kernel itself: as if features were without number */
    double direct_seconds, direct_bytes; /* seconds here and below: of one core */
    size_t rows, best;
    struct rank_guess row[RANK_GUESSES];
    struct spectrum spectrum;
};
void advice_free(struct advice *);

/* One sketch on a sample of rows (`sample`; 0: 2048) of a fit by opts, and a table over the ranks
 * given (0: no preconditioner; NULL: a ladder with none).  y: opts->targets vectors, scaled.
 * Ticks "sketch" "ranks".  Same numbers for any thread count. */
enum status diagnose_advise(const struct source *, const double *y, const struct fit_opts *opts,
                            const size_t *ranks, size_t count, size_t solves, size_t sample,
                            const struct backend_ops *, struct pool *, const struct ctl *,
                            struct advice *, struct err *);
/* The spectrum alone, at the ratio given; no table. */
enum status diagnose_spectrum(const struct source *, const double *y, const struct fit_opts *opts,
                              size_t sample, const struct backend_ops *, struct pool *,
                              const struct ctl *, struct advice *, struct err *);

/* Leave-one-out residuals y_i - mean_-i of an exact GP on m given rows (X: m x d; K1 + ratio I;
 * scaled units, whatever the amplitude): e_i = a_i / (A^-1)_ii, A a = y; and their predicted
 * standard deviations at amplitude 1, sd_i = (A^-1)_ii^-1/2 (NULL: not wanted).  row_scale (m,
 * roots of the rows' weights; NULL: all 1): rows, targets, residuals and their deviations times
 * that.  work: m x m, destroyed. */
enum status diagnose_loo(const struct kernel *, const double *hp, const double *X, size_t m,
                         size_t d, const double *y, const double *row_scale, double ratio,
                         double *e, double *sd, double *work, struct pool *, const struct ctl *,
                         struct err *);

#endif
