/* compute/pool.c -- the compute threads: a fixed number of helpers that wait on a condition
 * variable.
 *
 * A job is a function and a number of tasks; threads take the next task from an atomic counter.
 * Which thread runs a task is left to chance, but not what the task computes. */
#include "compute/pool.h"

#include "compute/linalg/blas.h"

#include "base/limits.h"
#include "base/mem.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

struct worker {
    struct pool *pool;
    size_t index; /* 1 .. threads-1; the calling thread is worker 0 */
    pthread_t id;
};

struct pool {
    size_t threads, started; /* started: helpers that are running */
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    uint64_t job;    /* grows by one per job; under lock */
    size_t busy;     /* helpers still inside the current job; under lock */
    bool quit;       /* under lock */
    pool_fn *fn;     /* the current job; written under lock before it is announced */
    void *ctx;
    struct limits limits; /* of the thread that hands out the tasks */
    size_t tasks;
    atomic_size_t next; /* next task to hand out */
    struct worker *worker;
    struct pool_trace *trace; /* NULL: none */
};

/* The pool whose task this thread is in, and which of its workers the thread is. */
static _Thread_local struct { struct pool *pool; size_t worker; } inside;

static void pool_work(struct pool *p, size_t worker)
{
    struct pool *const outer = inside.pool;
    const size_t outer_worker = inside.worker;

    inside.pool = p;
    inside.worker = worker;
    for (;;) {
        const size_t task = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
        if (task >= p->tasks)
            break;
        p->fn(p->ctx, task, worker);
    }
    inside.pool = outer;
    inside.worker = outer_worker;
}

static void *pool_main(void *arg)
{
    struct worker *w = arg;
    struct pool *p = w->pool;
    uint64_t seen = 0;

    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (!p->quit && p->job == seen)
            pthread_cond_wait(&p->work, &p->lock);
        if (p->quit)
            break;
        seen = p->job;
        limits_enter(p->limits);
        pthread_mutex_unlock(&p->lock);
        pool_work(p, w->index);
        pthread_mutex_lock(&p->lock);
        if (--p->busy == 0)
            pthread_cond_signal(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Starts the helpers with all signals blocked: signals belong to the main thread. */
static enum status pool_start(struct pool *p, struct err *err)
{
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (size_t i = 0; i + 1 < p->threads; i++) {
        p->worker[i] = (struct worker){ .pool = p, .index = i + 1 };
        if (pthread_create(&p->worker[i].id, NULL, pool_main, &p->worker[i]) != 0)
            break;
        p->started++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (p->started + 1 < p->threads)
        return err_set(err, ST_LIMIT, "could not start compute thread %zu of %zu",
                       p->started + 2, p->threads);
    return ST_OK;
}

struct pool *pool_new(size_t threads, struct err *err)
{
    enum { MOST = 4096 };

    /* Two of our threads inside a BLAS with threads of its own can deadlock (seen with OpenBLAS
     * 0.3.21).  A pool therefore requires single-threaded BLAS. */
    blas_init();
    if (threads < 1 || threads > MOST) {
        err_set(err, ST_RANGE, "threads=%zu is outside 1 to %d", threads, MOST);
        return NULL;
    }
    struct pool *p = mem_calloc(1, sizeof *p, "thread pool", err);
    if (!p)
        return NULL;
    p->threads = threads;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    atomic_init(&p->next, 0);
    if (threads > 1) {
        p->worker = mem_calloc(threads - 1, sizeof *p->worker, "thread pool", err);
        if (!p->worker || pool_start(p, err) != ST_OK) {
            pool_free(p);
            return NULL;
        }
    }
    return p;
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->quit = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->started; i++)
        pthread_join(p->worker[i].id, NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    free(p->worker);
    free(p);
}

size_t pool_threads(const struct pool *p)
{
    return !p ? 1 : p->trace ? p->trace->threads : p->threads;
}

/* The record of the task at work in this thread, or NULL. */
static _Thread_local struct pool_task *traced;

void pool_trace_for_tests(struct pool *p, struct pool_trace *trace)
{
    p->trace = trace;
}

void pool_moved(double bytes)
{
    if (traced)
        traced->bytes += bytes;
}

static double processor_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void traced_run(struct pool *p, const char *name, size_t tasks, pool_fn *fn, void *ctx)
{
    struct pool_trace *trace = p->trace;
    struct pool_task beyond;

    inside.pool = p;
    inside.worker = 0;
    for (size_t i = 0; i < tasks; i++, trace->used++) {
        traced = trace->used < trace->room ? &trace->task[trace->used] : &beyond;
        *traced = (struct pool_task){ .name = name, .job = trace->jobs };
        traced->start = processor_time();
        fn(ctx, i, 0);
        traced->end = processor_time();
    }
    traced = NULL;
    inside.pool = NULL;
    trace->jobs++;
}

void(pool_run)(struct pool *p, size_t tasks, pool_fn *fn, void *ctx)
{
    pool_run_as(p, "a module's", tasks, fn, ctx);
}

void pool_run_as(struct pool *p, const char *name, size_t tasks, pool_fn *fn, void *ctx)
{
    const bool nested = p && inside.pool == p;

    if (p && p->trace && !nested) {
        traced_run(p, name, tasks, fn, ctx);
        return;
    }
    if (!p || p->threads == 1 || tasks < 2 || nested) {
        for (size_t i = 0; i < tasks; i++)
            fn(ctx, i, nested ? inside.worker : 0);
        return;
    }
    pthread_mutex_lock(&p->lock);
    p->fn = fn;
    p->ctx = ctx;
    p->limits = limits_now();
    p->tasks = tasks;
    atomic_store_explicit(&p->next, 0, memory_order_relaxed);
    p->busy = p->started;
    p->job++;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);

    pool_work(p, 0);

    pthread_mutex_lock(&p->lock);
    while (p->busy > 0)
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}
