/* compute/pool.h -- the only compute threads of the program.
 *
 * Work is cut into tasks whose number and content never depend on the number of threads.  A task
 * writes only its own outputs, and sums over tasks are merged afterwards in the order of tasks.
 * The result therefore has the same bits for any number of threads. */
#ifndef GPDESK_POOL_H
#define GPDESK_POOL_H

#include "base/status.h"

#include <stddef.h>

struct pool;
typedef void pool_fn(void *ctx, size_t task, size_t worker); /* worker < pool_threads() */

/* threads >= 1 includes the calling thread.  RANGE, LIMIT or NOMEM on failure. */
struct pool *pool_new(size_t threads, struct err *err);
void pool_free(struct pool *); /* NULL is fine */
size_t pool_threads(const struct pool *); /* 1 for NULL */
/* Runs fn(ctx, task, worker) for task 0 to tasks - 1 and returns when all have ended.  The calling
 * thread works, too.  Where a task calls pool_run on the same pool, the inner tasks run one after
 * the other in its thread, as its worker.  With a NULL pool everything runs in the caller. */
void pool_run(struct pool *, size_t tasks, pool_fn *fn, void *ctx);

#endif
