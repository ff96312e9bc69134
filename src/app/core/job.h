/* app/core/job.h -- one worker thread, a queue of jobs, and the events that come back.
 *
 * A job starts from immutable inputs and ends by handing over a result; ticks are coalesced (only
 * the newest of a job matters, trace points are all kept); done events are never dropped. */
#ifndef GPDESK_JOB_H
#define GPDESK_JOB_H

#include "app/core/progress.h"
#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct args;
struct command;
struct workspace;
struct job;
struct job_ops {
    const char *verb;                                        /* "fit" */
    enum status (*work)(struct job *, struct err *); /* worker thread; no workspace access */
    /* main thread: take the result, emit records; rc of work (CANCELLED is not a failure). */
    void (*done)(struct workspace *, struct job *, enum status rc, const struct err *);
    void (*tick)(struct workspace *, struct job *,
                 const struct tick *);                       /* main thread; may be NULL */
    void (*free)(struct job *);                              /* releases job->arg */
};
struct job {
    const struct job_ops *ops;
    char name[16];            /* the run's id, or the verb */
    char *line;               /* canonical command */
    void *arg;                /* the job's own inputs and outputs */
    struct cancel cancel;
    struct ctl ctl;           /* hand this to compute */
    struct pool *pool; const struct backend_ops *backend;
    size_t mem_limit;
    double queued, started;   /* monotonic seconds */
    bool discard;             /* stop now: drop the result (done is called with ST_CANCELLED) */
    double tick_seconds;      /* of the tick being handed to ops->tick: since the start */
    const struct command *cmd; /* set by job_new from the command in hand */
    struct args *args;
    unsigned long group;      /* statements of one line or script share it */
    char origin[160];         /* "line 12 of mine.gps", or "" */
    enum status rc;           /* how it ended; `done` may say otherwise */
    bool more;                /* set by `done`: others of the same statement are not over yet */
};

struct jobs;
struct jobs *jobs_new(struct err *);
void jobs_free(struct jobs *);   /* cancels, joins */
/* Asks all to stop and takes no more; waits for the worker, but no longer than so many seconds.
 * false: it is in a step that cannot be interrupted, for which jobs_free would wait. */
bool jobs_end(struct jobs *, double seconds);
/* Takes ownership of the job (also on failure). */
enum status jobs_submit(struct jobs *, struct job *, struct err *);
/* The bare job, for tests: job_new adds what the workspace gives. On failure arg is released. */
struct job *job_make(const struct job_ops *, const char *name, void *arg, const char *line,
                     struct err *err);
struct job *job_new(struct workspace *, const struct job_ops *, const char *name, void *arg,
                    const char *line, struct err *);
/* Sets the cancel flag (running) or removes (queued). The job shows as stopped at once. name NULL:
 * the running one; "*": all. */
enum status jobs_stop(struct jobs *, const char *name, bool discard, struct err *);
/* The running job waits at its next step until it goes on or is stopped; STATE: none, or none
 * paused. */
enum status jobs_pause(struct jobs *, bool paused, struct err *err);
size_t jobs_count(const struct jobs *);            /* queued and running */
size_t jobs_submitted(const struct jobs *);        /* so far */
/* i = 0: the running one. Copied out under the lock. `stopping` jobs count as stopped for people;
 * what a library call still does is dropped. */
struct job_view { char name[16]; const char *verb; char line[160]; bool running, stopping, paused;
    struct tick tick;
    double seconds;
    struct progress_view progress;
};
bool jobs_view(const struct jobs *, size_t i, struct job_view *);
int jobs_fd(const struct jobs *);                  /* readable when events wait */
void jobs_pump(struct jobs *, struct workspace *); /* main thread: dispatches tick and done */
/* Is there a job whose command has all flags `with` and none of `without`; one of that group? */
bool jobs_pending(const struct jobs *, unsigned with, unsigned without);
bool jobs_has_group(const struct jobs *, unsigned long group);
/* "r7 cg 97/500  resid 5.3e-04 -> 1e-06  8.6 it/s  10.7 s left": the job line. */
void job_words(const struct job_view *, struct buf *out);
double job_now(void);                              /* monotonic seconds */

#endif
