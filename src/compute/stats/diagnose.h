/* compute/stats/diagnose.h -- a forecast before a fit: its cost at each rank of the preconditioner,
 * the spectrum that it follows from, and leave-one-out residuals of a sample
 * (share/doc/methods.md 13, 5.6). */
#ifndef GPDESK_DIAGNOSE_H
#define GPDESK_DIAGNOSE_H

#include "compute/models/exact.h"
#include "compute/models/model.h"
#include "compute/stats/spectrum.h"

struct advice {
    size_t n, M, sample, solves; /* M: features, 0 for an exact kernel */
    double given, ratio; /* noise^2 / amplitude^2 as given, and as the fit would use it */
    bool refined;            /* ratio comes from the search that the fit makes, */
    bool left;               /* or that search was left out, because it would take too long here */
    double effective_dimension;     /* with these features (share/doc/methods.md 6.7) */
    double kernel_dimension;        /* of the kernel itself, as with infinitely many features */
    /* Of the direct solver.  Seconds are those of one core, and those of the search for the noise
     * ratio are among them. */
    double direct_seconds, direct_bytes;
    double search_seconds; /* that search before an iterative solve; 0: the fit makes none */
    struct advice_way way[ADVICE_WAYS]; /* an exact kernel: solvers that step on its rows */
    size_t ways;
    size_t rows, best;
    struct rank_guess row[RANK_GUESSES];
    struct spectrum spectrum;
};
void diagnose_advice_free(struct advice *);

/* The fit in question: rows, y (opts->targets vectors, scaled), and its options.  All borrowed. */
struct diagnose_ask {
    const struct source *rows;
    const double *y;
    const struct fit_opts *opts;
    const size_t *ranks; /* count ranks for the table (0: no preconditioner); NULL: a ladder */
    size_t count, solves; /* solves: how many solves one preconditioner will serve; 0: 1 */
    size_t sample;       /* rows of the sketch; 0: 2048 */
};
/* Takes the spectrum of a sample of rows and makes the table over ranks.  The caller frees it
 * (diagnose_advice_free).  The numbers are the same for any number of threads. */
enum status diagnose_advise(const struct diagnose_ask *, const struct tools *, struct advice *,
                            struct err *);
/* What the above will cost, `ranked`: with the table; and the quickest way to make the fit that it
 * is about: seconds of one core, from n rows, sizes and options alone (of the ask, sample and count
 * are read).  0: not known. */
struct diagnose_cost {
    double advice, fit;
    double steps; /* of that, of an exact kernel: iterations on its sample, over all ranks */
};
struct diagnose_cost diagnose_cost(size_t n, const struct fit_opts *, const struct diagnose_ask *,
                                   bool ranked);
/* The spectrum alone, at the given ratio, without the table. */
enum status diagnose_spectrum(const struct diagnose_ask *, const struct tools *, struct advice *,
                              struct err *);

/* Leave-one-out residuals y_i - mean_-i of an exact GP on m given rows, with A = K1 + ratio I (m x
 * m), in scaled units; they do not depend on the amplitude:
 *   e_i = a_i / (A^-1)_ii,  a = A^-1 y,  sd_i = (A^-1)_ii^-1/2 at amplitude 1
 * (share/doc/methods.md 5.6; Rasmussen & Williams 2006, equations 5.10 to 5.12).  sd may be NULL.
 * With row factors (the roots of the weights), rows, targets, residuals and deviations are those
 * times the factors.  work: m x m, overwritten.  NOT_PD as exact_factor. */
enum status diagnose_loo(const struct exact_rows *, const double *y, double ratio, double *e,
                         double *sd, double *work, const struct ctl *, struct err *);

#endif
