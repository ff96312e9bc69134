/* app/core/job.h -- one worker thread, a queue of jobs, and the events they send back.
 *
 * A job starts from immutable inputs and ends by handing over a result. Ticks are coalesced: of a
 * job's ticks only the newest is kept, except trace points, which are all kept. Done events are
 * never dropped. Unless stated otherwise, functions are called on the main thread. */
#ifndef GPDESK_JOB_H
#define GPDESK_JOB_H

#include "app/core/progress.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct args;
struct command;
struct workspace;
struct job;
struct job_ops {
    const char *verb;                                        /* "fit" */
    /* worker thread; must not touch the workspace */
    enum status (*work)(struct job *, struct err *);
    /* Main thread: takes the result and emits records. rc is what work returned; CANCELLED is not a
     * failure. */
    void (*done)(struct workspace *, struct job *, enum status rc, const struct err *);
    void (*tick)(struct workspace *, struct job *,
                 const struct tick *);                       /* main thread; may be NULL */
    void (*free)(struct job *);                              /* frees job->arg */
};
struct job {
    const struct job_ops *ops;
    char name[16];            /* the run's id, or the verb if there is no run */
    char *line;               /* canonical command line */
    void *arg;                /* the job's own inputs and outputs */
    struct cancel cancel;
    struct ctl ctl;           /* pass this to compute */
    struct pool *pool; const struct backend_ops *backend;
    struct limits limits;     /* the worker enters them while it runs the job */
    double queued, started;   /* monotonic seconds */
    bool discard;             /* stop now and drop the result; done is called with ST_CANCELLED */
    size_t gaps;              /* points of a trace that were lost for want of memory */
    double tick_seconds;      /* seconds from the start to the tick that is passed to ops->tick */
    const struct command *cmd; /* set by ws_submit from the statement being executed */
    struct args *args;
    unsigned long group;      /* shared by all statements of one line or script */
    char origin[160];         /* "line 12 of mine.gps", or "" */
    enum status rc;           /* final status; `done` may change it */
    bool more;                /* set by `done`: other jobs of the same statement are not finished */
};

struct jobs;
struct jobs *jobs_new(struct err *);
void jobs_free(struct jobs *);   /* cancels the running job and joins the worker */
/* Asks all jobs to stop, accepts no new ones, and waits at most `seconds` for the worker. Returns
 * false if the worker is in a step that cannot be interrupted; jobs_free would wait for that
 * step. */
bool jobs_end(struct jobs *, double seconds);
/* Takes ownership of the job, on failure too. */
enum status jobs_submit(struct jobs *, struct job *, struct err *);
/* Makes a job without the fields that ws_submit sets from the workspace. On failure arg
 * is freed. */
struct job *job_make(const struct job_ops *, const char *name, void *arg, const char *line,
                     struct err *err);
/* Stops a running job by its cancel flag, or removes a queued one. The job is shown as stopped at
 * once. name: NULL for the running job, "*" for all. discard drops its result. STATE if no job is
 * running, NOT_FOUND if none has that name. */
enum status jobs_stop(struct jobs *, const char *name, bool discard, struct err *);
/* Pauses the running job at its next step, or lets it continue. A paused job can be stopped. STATE
 * if no job is running, or none is paused. */
enum status jobs_pause(struct jobs *, bool paused, struct err *err);
size_t jobs_count(const struct jobs *);            /* queued and running jobs */
size_t jobs_submitted(const struct jobs *);        /* jobs submitted so far */
/* A copy of a job's state, taken under the lock; i = 0 is the running job. A job that is `stopping`
 * is shown to the user as stopped: the result of a library call that it is still in is dropped. */
struct job_view { char name[16]; const char *verb; char line[160]; bool running, stopping, paused;
    struct tick tick;
    double seconds;
    struct progress_view progress;
};
bool jobs_view(const struct jobs *, size_t i, struct job_view *);
int jobs_fd(const struct jobs *);                  /* readable while events wait */
void jobs_pump(struct jobs *, struct workspace *); /* main thread: dispatches ticks and results */
/* True if there is a job whose command has all flags in `with` and none in `without`; true if there
 * is a job of that group. */
bool jobs_pending(const struct jobs *, unsigned with, unsigned without);
bool jobs_has_group(const struct jobs *, unsigned long group);
/* The job line: "r7 cg 97/500 resid 5.3e-04 -> 1e-06 8.6 it/s 10.7 s left". */
void job_words(const struct job_view *, struct buf *out);
double job_now(void);                              /* monotonic seconds */

#endif
