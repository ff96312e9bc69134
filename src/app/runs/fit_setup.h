/* app/runs/fit_setup.h -- what a diagnosing job reads: rows and the settings of a fit, made or to
 * come. */
#ifndef GPDESK_FIT_SETUP_H
#define GPDESK_FIT_SETUP_H

#include "app/core/job.h"
#include "app/core/workspace.h"

struct fit_setup {
    struct dataset *data;               /* a snapshot */
    struct encoding enc; bool has_enc;  /* of the run; else fitted on the training rows */
    struct fit_opts o;
    struct encoded e;                   /* by fit_setup_open */
};
/* A fit to come with these options; or one that was made, at what it ended with.  STATE: the run
 * has no data. */
enum status fit_setup_of_data(struct fit_setup *, struct dataset *, const struct fit_opts *,
                              struct err *);
enum status fit_setup_of_run(struct fit_setup *, const struct run *, struct err *);
/* On the worker: the training rows, and the kernel bound to their inputs. */
enum status fit_setup_open(struct fit_setup *, struct err *);
void fit_setup_free(struct fit_setup *);

#endif
