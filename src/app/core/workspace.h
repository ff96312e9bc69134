/* app/core/workspace.h -- what is loaded, chosen, running and finished.  Owned by the main thread;
 * workers get immutable snapshots and hand results back through events. */
#ifndef GPDESK_WORKSPACE_H
#define GPDESK_WORKSPACE_H

#include "app/shell/command.h"
#include "app/shell/options.h"
#include "app/core/owner.h"
#include "data/dataset.h"
#include "app/shell/rec.h"
#include "compute/stats/metrics.h"
#include "compute/models/model.h"
#include "compute/tuners/tune.h"

#include <poll.h>
#include <stdio.h>

enum run_kind { RUN_TUNE, RUN_FIT };
enum run_state { RUN_QUEUED, RUN_RUNNING, RUN_DONE, RUN_STOPPED, RUN_FAILED };
const char *run_state_name(enum run_state);

/* A point of a run's trace. Of a solver: step = iteration, value = recursive residual, value2 =
 * true residual (NaN where it was not computed), passes = passes over the data (NaN in old
 * sessions). Of a search: step = evaluation, value = objective, value2 = the best so far, point
 * = hyperparameters, amplitude, noise. */
struct trace_point {
    uint32_t step;
    float seconds;
    double value, value2;
    union {
        double passes;
        double point[6];
    };
};

struct prediction {      /* of rows of the training dataset or of new data, units of the target */
    enum part part; size_t n, t; /* rows, targets: t vectors of n below, but for row */
    size_t *row; double *y, *mean, *sd_latent, *sd;   /* y NaN when unknown */
    double *y_scaled, *mean_scaled, *var_scaled;      /* var includes the noise */
};
void prediction_free(struct prediction *); /* what it holds */

struct run {
    char id[16];                 /* "r7", "t2" */
    enum run_kind kind; enum run_state state;
    struct dataset *data;        /* snapshot; NULL when the session could not find the file */
    char *dataset_name, *kernel_text, *command; /* canonical */
    struct encoding enc; bool has_enc;
    struct fit_opts fit; struct fit_info info; /* RUN_FIT */
    struct model *model;         /* RUN_FIT, once done */
    struct tune_opts topt; struct tune_result tune; /* RUN_TUNE (start points into the run) */
    struct solve_info solve;     /* alpha, beta of the run */
    struct trace_point *trace; size_t ntrace, captrace;
    double trace_target;         /* rtol */
    struct tick last;            /* newest tick (point NULL) */
    double started, ended;       /* seconds, monotonic while running; wall time in created */
    int64_t created;             /* unix time */
    bool has_score; struct metrics score_scaled, score_raw; enum part score_part; size_t score_rows;
    struct metrics (*more)[2]; size_t nmore; /* of the targets after the first: scaled, raw */
    struct prediction train_pred, test_pred; bool has_train, has_test; /* of the last score/check */
    char *note; bool star, dropped; /* dropped: in the bin */
    size_t serial;               /* in the order of creation, from 0 */
    struct err failure;          /* RUN_FAILED */
    char verdict[256];           /* one sentence for the tables and views */
};

struct job;
struct job_ops;
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
    /* Set by a full screen: `plot NAME [run ...]` without out= asks it to show the plot (runs with
     * blanks between them, those after the first drawn over it; "" when none applies) and then says
     * one line instead of drawing text; false: it has no place for this one.  NULL: nobody shows
     * plots. */
    bool (*show)(void *ctx, const char *plot, const char *runs);
    void *show_ctx;
    /* Set by a full screen: takes a copy of a picture of sixel graphics and shows it until a key.
     * false: the terminal has not said that it shows such pictures (where that turns out later, it
     * is told as an error).  NULL: standard output is asked. */
    bool (*picture)(void *ctx, const char *sixel, size_t n);
    /* Set by a full screen, too: what commands about it ask (cmd_screen.c): "view" DIGIT, "layout"
     * and "theme" NAME, "palette" LETTERS, "copy" cell|view|line (the text comes in `said`),
     * "clipboard" TEXT, "conflict".  said: what to tell of it.  NULL: there is no screen. */
    enum status (*screen)(void *ctx, const char *verb, const char *what, struct buf *said,
                          struct err *);
    void *screen_ctx;
    size_t look;                  /* of several targets, the one that the screen's pictures show */
    struct expect_tally { size_t figures, differ; double worst; char first[200]; } expected;
    struct ws_line *lines;        /* statements in hand and waiting: workspace.c */
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

/* Runs one line (several statements; also a whole script).  Everything is parsed before the first
 * runs.  Jobs are queued and the call returns; failures have already been emitted as error records
 * and drop the rest of the line.  A statement that depends on what a job in hand will leave behind
 * waits for it in line (`jobs` lists it), so that a session typed ahead gives what a script gives.
 */
enum status workspace_exec(struct workspace *, const char *line);
/* The same for a text from a named place (a script): messages say "line 12 of NAME". */
enum status workspace_exec_from(struct workspace *, const char *text, const char *name,
                                size_t first_line);
/* From a command that is being executed: the same, but a failure drops no more than this text. */
enum status workspace_exec_apart(struct workspace *, const char *text, const char *name);
/* Statements that wait in line; and each (NULL past the end). */
size_t workspace_waiting(const struct workspace *);
const char *workspace_waiting_at(const struct workspace *, size_t i, unsigned long *number);
/* Takes one out again (`stop q3`): NOT_FOUND; 0: all. */
enum status workspace_forget(struct workspace *, unsigned long number, struct err *);
bool workspace_busy(const struct workspace *); /* a job runs, or something waits */
/* Ends the worker; false: a job is in a step that cannot be interrupted, and workspace_free would
 * wait for it.  The caller then ends the session and the process without freeing. */
bool workspace_end(struct workspace *, double seconds);
/* USAGE when the file is "-" while somebody types there. */
enum status ws_no_keyboard(const struct workspace *, const char *path, struct err *);
/* Runs until no job is left and nothing waits. */
void workspace_drain(struct workspace *);
/* For the poll loop. */
int workspace_fd(const struct workspace *);
void workspace_pump(struct workspace *);   /* takes all events; calls sinks */

void ws_emit(struct workspace *, struct rec *); /* to all sinks; frees the rec's content */
void ws_note(struct workspace *, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ws_warn(struct workspace *, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ws_error(struct workspace *, const struct err *, const char *in);
/* note or warning with everything: run ("" or NULL: none), way out (NULL: none). */
void ws_tell(struct workspace *, enum rec_type, const char *run, const char *name,
             const char *hint, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Lines "note[name]: text" and "warning[name]: text", as tables, datasets and encodings keep them:
 * one record each. */
void ws_tell_lines(struct workspace *, const char *lines);
/* Around job_ops.done (job.c): messages get the job's place in the script; then the script, the
 * session and the rest of its line take note of the outcome. */
void workspace_job_begin(struct workspace *, const struct job *);
void workspace_job_end(struct workspace *, const struct job *, enum status rc);
/* Queues a job for the command being executed: job_new and jobs_submit. On failure ops->free has
 * been called for arg. */
enum status ws_submit(struct workspace *, const struct job_ops *, const char *name, void *arg,
                      const char *line, struct err *);
/* Hyperparameter keys of a command over a kernel: values into hp, amplitude, noise and (where the
 * bounds are not NULL) fixed in them; intervals into the bounds, refused where these are NULL. */
enum status ws_hp_merge(const struct kernel *, const struct args *, double *hp, double *amplitude,
                        double *noise, struct tune_bound *hp_bound, struct tune_bound *amp_bound,
                        struct tune_bound *noise_bound, struct err *);
/* Makes a kernel the current one; starting values where hp is NaN. */
void ws_kernel_take(struct workspace *, const struct kernel *, const double *hp);
/* Where a hyperparameter lives: index in hp, nhp for amplitude, nhp + 1 for noise. */
enum status ws_hp_slot(const struct kernel *, const char *name, size_t *slot, size_t *count,
                       struct err *);
struct dataset *ws_dataset(struct workspace *, const char *name,
                           struct err *); /* NULL/".": current */
/* "r7", "run:r7", ".", NULL: the last fit; patterns are not taken. */
struct run *ws_run(struct workspace *, const char *name, struct err *);
struct run *ws_run_new(struct workspace *, enum run_kind, struct err *);
struct run *ws_newest_running(struct workspace *);
void ws_run_free(struct run *);
/* Scores of target j: scaled[0] and raw[1]; NULL: none. */
const struct metrics *ws_run_metrics(const struct run *, size_t j, bool raw);
/* How many targets a run has; the index of one by name, NULL the first (NOT_FOUND names them). */
size_t ws_run_targets(const struct run *);
enum status ws_run_target(const struct run *, const char *name, size_t *j, struct err *);
/* " of NAME" where a run has several targets, else "": for titles. */
const char *ws_run_of(const struct run *, size_t j, char *out, size_t len);

#endif
