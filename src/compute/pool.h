/* compute/pool.h -- the only compute threads of the program.
 *
 * Work is cut into tasks whose number and content never depend on the thread count; a task writes
 * only its own outputs; sums over tasks are merged afterwards in task order.  So 1, 2 or 3 threads
 * give the same bits. */
#ifndef GPDESK_POOL_H
#define GPDESK_POOL_H

#include "base/status.h"

#include <stddef.h>

struct pool;
typedef void pool_fn(void *ctx, size_t task, size_t worker); /* worker < pool_threads() */

struct pool *pool_new(size_t threads, struct err *err); /* threads >= 1, the caller's included */
void pool_free(struct pool *);
size_t pool_threads(const struct pool *); /* 1 for NULL */
/* Runs fn(ctx, 0..tasks-1, worker) and returns when all have ended.  The calling thread works too.
 * Not reentrant: a task must not call pool_run on the same pool.  NULL pool: runs in the caller. */
void pool_run(struct pool *, size_t tasks, pool_fn *fn, void *ctx);

#endif
