/* app/runs/fit_start.h -- the run that the iterations of a fit start from: the one that from= or
 * continue= names, or after `tell` the last fit by itself. */
#ifndef GPDESK_FIT_START_H
#define GPDESK_FIT_START_H

#include "app/core/workspace.h"

struct fit_start {
    char id[16];            /* of the run; empty: it is no longer there, or there is none */
    struct dataset *origin; /* its data; NULL: not loaded */
    bool by_itself;         /* it was not asked for: rows were told since */
};
/* The model to start from, which stays the run's, or NULL: that of the options, else that of the
 * last fit where the data are its data with rows that were told since (app/runs/telling.h), and
 * kernel, kind of model, features and seed are the same.  Hyperparameters may differ.  Contenders
 * of a race all start at zero. */
const struct model *fit_start_choose(struct workspace *, const struct dataset *,
                                     const struct fit_opts *, struct fit_start *);
void fit_start_free(struct fit_start *);
/* On the worker, before the fit of the rows e.  Exact kernels: encodes the rows of the start as
 * this fit encodes rows, so that they are found again although means and deviations of inputs have
 * moved; *old (zeroed; the caller frees it) holds them as long as the options point to them.  A
 * start that was chosen by itself and does not suit the rows any more is given back. */
void fit_start_rows(const struct fit_start *, struct encoding *, const struct encoded *e,
                    struct encoded *old, struct fit_opts *);
/* Tells where the iterations of a finished fit began, if not at zero; given: there was a start. */
void fit_start_note(struct workspace *, const struct run *, const struct fit_start *, bool given);

#endif
