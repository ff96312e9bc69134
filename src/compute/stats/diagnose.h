/* compute/stats/diagnose.h -- before a fit: what it will cost at each rank; and the spectrum behind
 * that. */
#ifndef GPDESK_DIAGNOSE_H
#define GPDESK_DIAGNOSE_H

#include "compute/models/exact.h"
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
void diagnose_advice_free(struct advice *);

/* What is diagnosed: a fit by opts of rows and y (opts->targets vectors, scaled). */
struct diagnose_ask {
    const struct source *rows;
    const double *y;
    const struct fit_opts *opts;
    const size_t *ranks; /* count of them, for the table (0: no preconditioner); NULL: a ladder */
    size_t count, solves;
    size_t sample;       /* rows of the sketch; 0: 2048 */
};
/* One sketch on a sample of rows, and a table over the ranks.  Ticks "sketch" "ranks".  The same
 * numbers for any number of threads. */
enum status diagnose_advise(const struct diagnose_ask *, const struct tools *, struct advice *,
                            struct err *);
/* The spectrum alone, at the ratio given; no table. */
enum status diagnose_spectrum(const struct diagnose_ask *, const struct tools *, struct advice *,
                              struct err *);

/* Leave-one-out residuals y_i - mean_-i of an exact GP on m given rows (K1 + ratio I; scaled units,
 * whatever the amplitude): e_i = a_i / (A^-1)_ii, A a = y; and their predicted standard deviations
 * at amplitude 1, sd_i = (A^-1)_ii^-1/2 (NULL: not wanted).  With row factors, which are roots of
 * the rows' weights: rows, targets, residuals and their deviations times these.  work: m x m,
 * destroyed. */
enum status diagnose_loo(const struct exact_rows *, const double *y, double ratio, double *e,
                         double *sd, double *work, const struct ctl *, struct err *);

#endif
