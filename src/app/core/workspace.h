/* app/core/workspace.h -- what is loaded, chosen, running and finished.  Owned by the main thread;
 * workers get immutable snapshots and hand results back through events. */
#ifndef GPDESK_WORKSPACE_H
#define GPDESK_WORKSPACE_H

#include "app/shell/command.h"
#include "app/shell/options.h"
#include "app/core/owner.h"
#include "app/core/run.h"
#include "app/shell/rec.h"

struct job;
struct job_ops;
struct ws_screen;
struct workspace {
    struct dataset **data; size_t ndata; size_t cur;   /* cur == SIZE_MAX: none */
    struct kernel kernel; double hp[KERNEL_MAX_HP]; double amplitude, noise; bool hp_tuned;
    bool scale_tuned;             /* amplitude and noise come from a tuning, not from the user */
    struct tune_bound hp_bound[KERNEL_MAX_HP], amp_bound, noise_bound; /* from `set l=a..b` */
    struct run **run; size_t nrun; size_t nfit, ntune;  /* order of creation */
    struct run **bin; size_t nbin; /* not shown: dropped, or of later than what is looked at */
    size_t runs_made;             /* runs ever made: the next serial */
    char last_fit[16];
    char told[40], shown[40]; /* for explain: the last command's warning or error; the last result's
                               * command, or the plot it drew */
    struct options opt;
    struct sink *sinks;
    const struct owner *const *owner; void **state; /* what other modules keep here: owner.h */
    struct pool *pool; const struct backend_ops *backend;
    char device[12];              /* the option that chose the backend */
    struct jobs *jobs;            /* worker thread, queue, event queue: job.h */
    size_t warnings, errors; bool unconverged;
    bool quit;
    char **script; size_t nscript; /* canonical state-changing lines so far */
    unsigned serial;              /* grows with every change; views redraw by it */
    const struct ws_screen *screen; void *screen_ctx; /* a full screen; NULL: there is none */
    size_t look;                  /* of several targets, the one that the screen's pictures show */
    struct expect_tally { size_t figures, differ; double worst; char first[200]; } expected;
    struct ws_line *lines;        /* statements in hand and waiting: workspace_exec.c */
    struct options_origin *origin; /* who set which option: options.c */
    enum status first_error;      /* of this program run: the exit code comes from it */
    bool first_error_output;      /* ... and it was about writing */
    bool interactive;             /* somebody is at the keyboard */
    bool no_session;              /* none is to be started by itself */
};
/* The owners of state are lent: a list that ends in NULL (app/commands/app.h has that of the
 * program). */
struct workspace *workspace_new(const struct options *, const struct owner *const *, struct err *);
void workspace_free(struct workspace *);   /* stops jobs first */
/* As new, but for options, jobs and sinks; closes the session. No job may be running. */
void workspace_clear(struct workspace *);

/* Ends the worker; false: a job is in a step that cannot be interrupted, and workspace_free would
 * wait for it.  The caller then ends the session and the process without freeing. */
bool workspace_end(struct workspace *, double seconds);
/* USAGE when the file is "-" while somebody types there. */
enum status ws_no_keyboard(const struct workspace *, const char *path, struct err *);
/* Queues a job for the command being executed: job_new and jobs_submit. On failure ops->free has
 * been called for arg. */
enum status ws_submit(struct workspace *, const struct job_ops *, const char *name, void *arg,
                      const char *line, struct err *);
/* Where hyperparameters and their bounds are kept: hp one a hyperparameter of the kernel. */
struct ws_hyper { double *hp, *amplitude, *noise; };
struct ws_hyper_bounds { struct tune_bound *hp, *amplitude, *noise; };
/* Hyperparameter keys of a command over a kernel: values into `value` and (where the bounds are not
 * NULL) fixed in them; intervals into the bounds, refused where these are NULL. */
enum status hyper_args_merge(const struct kernel *, const struct args *,
                             const struct ws_hyper *value, const struct ws_hyper_bounds *,
                             struct err *);
/* Makes a kernel the current one; starting values where hp is NaN. */
void ws_kernel_take(struct workspace *, const struct kernel *, const double *hp);
/* Where a hyperparameter lives: index in hp, nhp for amplitude, nhp + 1 for noise. */
enum status hyper_args_slot(const struct kernel *, const char *name, size_t *slot, size_t *count,
                       struct err *);
struct dataset *ws_dataset(struct workspace *, const char *name,
                           struct err *); /* NULL/".": current */
/* "r7", "run:r7", ".", NULL: the last fit; patterns are not taken. */
struct run *ws_run(struct workspace *, const char *name, struct err *);
struct run *ws_run_new(struct workspace *, enum run_kind, struct err *);
struct run *ws_newest_running(struct workspace *);

#endif
