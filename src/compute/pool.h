/* compute/pool.h -- the only compute threads of the program.
 *
 * Work is cut into tasks whose number and content never depend on the number of threads.  A task
 * writes only its own outputs, and sums over tasks are merged afterwards in the order of tasks.
 * The result therefore has the same bits for any number of threads. */
#ifndef GPDESK_POOL_H
#define GPDESK_POOL_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;
typedef void pool_fn(void *ctx, size_t task, size_t worker); /* worker < pool_threads() */

/* threads >= 1 includes the calling thread.  RANGE, LIMIT or NOMEM on failure. */
struct pool *pool_new(size_t threads, struct err *err);
void pool_free(struct pool *); /* NULL is fine */
size_t pool_threads(const struct pool *); /* 1 for NULL */
/* Runs fn(ctx, task, worker) for task 0 to tasks - 1 and returns when all have ended.  The calling
 * thread works, too.  Where a task calls pool_run on the same pool, the inner tasks run one after
 * the other in its thread, as its worker.  With a NULL pool everything runs in the caller.  `name`
 * is a static string for the trace. */
void pool_run(struct pool *, size_t tasks, pool_fn *fn, void *ctx);
void pool_run_as(struct pool *, const char *name, size_t tasks, pool_fn *fn, void *ctx);
#define pool_run(pool, tasks, fn, ...) pool_run_as(pool, #fn, tasks, fn, __VA_ARGS__)

/* A trace, for benchmarks: one record for each task of the outermost calls of pool_run.  `job`
 * counts these calls from 0.  start and end are processor time of the calling thread, which runs
 * all tasks in order meanwhile; from the end of a job to the start of the next one it worked
 * alone. */
struct pool_task {
    const char *name; /* of the function, as the source has it */
    size_t job;
    double start, end; /* seconds */
    double bytes;      /* moved between memory and the processor, as far as pool_moved was told */
};
struct pool_trace {
    struct pool_task *task; /* room for `room`, the caller's */
    size_t room, used;      /* tasks beyond room are counted but not recorded */
    size_t jobs;
    size_t threads;         /* what pool_threads answers meanwhile */
};
/* Records from now on (NULL: no longer).  Without a trace a job costs a test of a pointer more. */
void pool_trace_for_tests(struct pool *, struct pool_trace *);
/* The task at work moves these bytes from or to memory; nothing without a trace. */
void pool_moved(double bytes);

#endif
