/* app/study.h -- what a diagnosing job reads: rows and the settings of a fit, made or to come. */
#ifndef GPDESK_STUDY_H
#define GPDESK_STUDY_H

#include "app/job.h"
#include "app/workspace.h"

struct study {
    struct dataset *data;               /* a snapshot */
    struct encoding enc; bool has_enc;  /* of the run; else fitted on the training rows */
    struct fit_opts o;
    struct encoded e;                   /* by study_open */
};
/* A fit to come with these options; or one that was made, at what it ended with.  STATE: the run has
 * no data. */
enum status study_of_data(struct study *, struct dataset *, const struct fit_opts *, struct err *);
enum status study_of_run(struct study *, const struct run *, struct err *);
/* On the worker: the training rows, and the kernel bound to their inputs. */
enum status study_open(struct study *, struct err *);
void study_free(struct study *);

#endif
