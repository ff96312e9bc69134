/* app/core/workspace.h -- what is loaded, chosen, running and finished. The main thread owns it.
 * Workers get immutable snapshots and return their results through events. */
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
    struct dataset **data; size_t ndata; size_t cur;   /* SIZE_MAX: no dataset is current */
    struct kernel kernel; double hp[KERNEL_MAX_HP]; double amplitude, noise; bool hp_tuned;
    bool kernel_chosen; /* by the user; otherwise it follows the data: default_kernel.h */
    bool scale_tuned;   /* amplitude and noise come from a tuning and were not set by the user */
    struct tune_bound hp_bound[KERNEL_MAX_HP], amp_bound, noise_bound; /* from `set l=a..b` */
    struct run **run; size_t nrun; size_t nfit, ntune;  /* in order of creation */
    /* runs that are not shown: dropped, or made later than the state being shown */
    struct run **bin; size_t nbin;
    size_t runs_made;             /* number of runs ever made: the next serial */
    size_t asked;                 /* number of the last proposal ever made: ids are not used again,
                                   * whatever is undone, because plates with them may be out */
    char last_fit[16];
    /* For `explain`: the last command that gave a warning or an error; the command of the last
     * result, or the plot it drew. */
    char told[40], shown[40];
    struct options opt;
    struct sink *sinks;
    const struct owner *const *owner; void **state; /* state of other modules: owner.h */
    struct pool *pool; const struct backend_ops *backend;
    char device[12];              /* the value of the option `device` that chose the backend */
    struct jobs *jobs;            /* worker thread, queue, event queue: job.h */
    size_t warnings, errors; bool unconverged;
    bool quit;
    /* the lines that have changed the state so far, in canonical form */
    char **script; size_t nscript;
    unsigned serial;              /* grows with every change; views redraw when it differs */
    const struct ws_screen *screen; void *screen_ctx; /* the full screen; NULL if there is none */
    uint64_t cache_most;          /* limit of the cache at the last job */
    size_t look;                  /* of several targets, the one that the screen shows */
    struct expect_tally { size_t figures, differ; double worst; char first[200]; } expected;
    struct ws_line *lines;        /* statements being executed and waiting: workspace_exec.c */
    struct options_origin *origin; /* who set which option: options.c */
    enum status first_error;   /* first error since the program started: it decides the exit code */
    bool first_error_output;      /* that error was about writing */
    bool interactive;             /* somebody is at the keyboard */
    bool no_session;              /* do not start a session automatically */
};
/* The list of owners is borrowed and ends in NULL (app/commands/app.h has that of the program).
 * Returns NULL and fills err if memory or the worker thread cannot be had. */
struct workspace *workspace_new(const struct options *, const struct owner *const *, struct err *);
void workspace_free(struct workspace *);   /* stops jobs first; NULL is allowed */
/* Resets the workspace except options, jobs and sinks, and closes the session. No job may be
 * running. */
void workspace_clear(struct workspace *);

/* Ends the worker thread, waiting at most `seconds`. Returns false if a job is in a step that
 * cannot be interrupted; workspace_free would wait for it. The caller then ends the session and
 * exits without freeing. */
bool workspace_end(struct workspace *, double seconds);
/* Returns USAGE if the path is "-" while standard input is the keyboard. */
enum status ws_no_keyboard(const struct workspace *, const char *path, struct err *);
/* The limits that the options set. */
struct limits ws_limits(const struct workspace *);
/* Makes a job for the statement being executed and queues it. On failure
 * ops->free has been called for arg. */
enum status ws_submit(struct workspace *, const struct job_ops *, const char *name, void *arg,
                      const char *line, struct err *);
/* Where hyperparameters and their bounds are stored. hp has one element for each hyperparameter of
 * the kernel. */
struct ws_hyper { double *hp, *amplitude, *noise; };
struct ws_hyper_bounds { struct tune_bound *hp, *amplitude, *noise; };
/* Reads the arguments that name hyperparameters. Values go into `value`, and are marked as fixed in
 * the bounds if those are not NULL. Intervals go into the bounds; if those are NULL, intervals are
 * refused. */
enum status hyper_args_merge(const struct kernel *, const struct args *,
                             const struct ws_hyper *value, const struct ws_hyper_bounds *,
                             struct err *);
/* Where the line has a list (l=0.5,0.6,2) and the kernel has lengthscales of which it is not known
 * yet how many: binds it to the inputs of the dataset (NULL: STATE), with its hyperparameters hp
 * and, unless NULL, their bounds. USAGE if the line has a noise and the target is a class. */
enum status hyper_args_bind(const struct args *, const struct dataset *, struct kernel *,
                            double *hp, struct tune_bound *bound, struct err *err);
/* USAGE unless a list of that many values fits the slots that a name has. */
enum status hyper_args_count(const struct kernel *, const char *name, size_t slots, size_t values,
                             struct err *err);
/* Makes a copy of this kernel the current kernel. An hp that is NaN takes its starting value. */
void ws_kernel_take(struct workspace *, const struct kernel *, const double *hp);
/* Where a hyperparameter is stored: its index in hp, nhp for the amplitude, nhp + 1 for the noise.
 * *count is the number of consecutive slots it names. */
enum status hyper_args_slot(const struct kernel *, const char *name, size_t *slot, size_t *count,
                       struct err *);
struct dataset *ws_dataset(struct workspace *, const char *name,
                           struct err *); /* NULL or ".": the current dataset */
/* Finds a run by "r7" or "run:r7"; "." or NULL is the last fit. Patterns are not accepted. */
struct run *ws_run(struct workspace *, const char *name, struct err *);
/* The tuning that found the hyperparameters of a fit: the last one before it with the same values.
 * NULL if there is none. */
const struct run *ws_tuning_of(const struct workspace *, const struct run *fit);
struct run *ws_run_new(struct workspace *, enum run_kind, struct err *);
void ws_run_drop(struct workspace *, struct run *); /* the newest, which is not to begin */
struct run *ws_newest_running(struct workspace *);

#endif
