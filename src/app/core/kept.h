/* app/core/kept.h -- figures made by jobs, kept by name until another of the same name replaces
 * them. `plot NAME` and the panes of the screen show them. */
#ifndef GPDESK_KEPT_H
#define GPDESK_KEPT_H

#include "app/core/job.h"
#include "app/core/owner.h"
#include "figure/figure.h"

extern const struct owner kept_owner;
/* Keeps a figure under its name and frees the earlier one of that name. Takes ownership of the
 * figure, on failure too. */
enum status kept_take(struct workspace *, struct figure *, struct err *);
/* A copy of the figure of that name, which the caller frees. If there is none, a figure that shows
 * `reason` as its text. */
struct figure *kept_copy(struct workspace *, const char *name, const char *reason, struct err *);

/* How the job of a command ends whose result is a record and mostly a figure: the parts of it, each
 * of the job's own work. */
struct kept_end {
    const char *verb, *view; /* view: shown when all is well; NULL: none */
    struct figure *(*draw)(const void *work, struct err *);   /* NULL: it has no figure */
    enum status (*write)(const void *work, struct err *);     /* its file; NULL: none was asked */
    void (*tell)(struct workspace *, const void *work);       /* notes and the record */
};
/* Main thread, from the job's `done`: says that it was stopped or failed, or keeps the figure,
 * writes the file, tells the result and shows the view with it. run: whose figure it is. */
void kept_job_done(struct workspace *, struct job *, enum status, const struct err *,
                   const struct kept_end *, const char *run);

#endif
