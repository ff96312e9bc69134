/* app/runs/fit_setup.h -- what a job that diagnoses a fit reads: the rows and settings of a fit
 * that is planned or was made. */
#ifndef GPDESK_FIT_SETUP_H
#define GPDESK_FIT_SETUP_H

#include "app/core/job.h"
#include "app/core/workspace.h"
#include "compute/stats/diagnose.h"

struct fit_setup {
    struct dataset *data;               /* a snapshot */
    /* has_enc: enc is that of the run; otherwise it is fitted on the training rows */
    struct encoding enc; bool has_enc;
    struct fit_opts o;
    struct encoded e;                   /* filled by fit_setup_open */
};
/* From options, for a planned fit; or from a finished run, with the settings it ended with. STATE
 * if the run has no data. */
enum status fit_setup_of_data(struct fit_setup *, struct dataset *, const struct fit_opts *,
                              struct err *);
enum status fit_setup_of_run(struct fit_setup *, const struct run *, struct err *);
/* The same also of classes, for what reads their rows alone. */
enum status fit_setup_of_any(struct fit_setup *, const struct run *, struct err *);
/* Says beforehand, in a note, when the diagnosis will take more than a fifth of the cheapest fit
 * that it is about (diagnose_cost): seconds of one core, `further` those of what else it does. */
void fit_setup_cost(struct workspace *, const struct fit_setup *, const struct diagnose_ask *,
                    bool ranked, double further);
/* Worker thread: encodes the training rows and binds the kernel to their inputs. */
enum status fit_setup_open(struct fit_setup *, struct err *);
void fit_setup_free(struct fit_setup *);
/* Fixes in a kernel what follows from an encoding and its rows, but for lengthscales of ARD. */
enum status fit_setup_bind_rows(const struct encoding *, struct kernel *, const struct source *rows,
                                struct err *);
/* Binds a kernel with ARD or without to rows that an encoding of the data gives; hp (KERNEL_MAX_HP)
 * becomes that of the bound kernel.  Errors are those of kernel_bind_groups. */
enum status fit_setup_bind_kernel(const struct dataset *, const struct encoding *,
                                  const struct source *rows, struct kernel *, double *hp,
                                  struct err *);

#endif
