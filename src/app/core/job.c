/* app/core/job.c -- the worker thread and what passes between it and the main thread. See job.h.
 *
 * One mutex guards the list of slots. The worker writes ticks into its slot. The main thread takes
 * them out in jobs_pump, which is the only place where they reach the workspace. An eventfd wakes
 * the main loop. */
#include "app/core/job.h"

#include "app/core/workspace.h"
#include "app/core/workspace_exec.h"
#include "app/core/ws_tell.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { POINT_MAX = 8, QUEUE_MAX = 1 << 20 };

struct event {           /* a tick that must not be lost */
    struct tick tick;
    double seconds, point[POINT_MAX];
};
struct slot {
    struct slot *next;
    struct job *job;
    enum { SLOT_QUEUED, SLOT_RUNNING, SLOT_ENDED } state;
    bool stopping, fresh;    /* `tick` has not yet been reported */
    bool unseen;             /* `tick` has no value and has not yet been passed to ops->tick */
    struct event *event; size_t nevent, capevent;
    size_t gaps;             /* points of a trace for which there was no room */
    struct progress progress; /* progress.tick is the newest tick */
    enum status rc; struct err err;
    double told_at; bool told;      /* main thread only: when the last tick record was written */
    enum phase told_phase;
};
struct jobs {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct slot *list;       /* oldest first; at most one is running */
    int fd;
    size_t submitted;        /* main thread */
    bool quit, poked;
    bool joined;             /* main thread: the worker has ended and was joined */
    bool paused;             /* the running job is to wait at its next step */
};

double job_now(void)
{
    return clock_now();
}

/* Worker side. */

static void poke(struct jobs *q) /* lock held */
{
    const uint64_t one = 1;

    if (q->poked)
        return;
    q->poked = true;
    while (write(q->fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* What the worker's ctl points to. */
struct listener { struct jobs *q; struct slot *s; };

/* Ticks that carry a value are points of a trace, and all are kept or counted as lost.  Of the
 * others only the newest is kept. */
static void keep_event(struct slot *s, const struct tick *t, double seconds)
{
    if (isnan(t->value))
        return;
    if (s->nevent >= QUEUE_MAX || mem_grow((void **)&s->event, &s->capevent, s->nevent + 1,
                                           sizeof *s->event, "trace", NULL) != ST_OK) {
        s->gaps++;
        return;
    }
    struct event *e = &s->event[s->nevent++];
    e->tick = *t;
    e->tick.npoint = t->point ? t->npoint < POINT_MAX ? t->npoint : POINT_MAX : 0;
    e->seconds = seconds;
    if (e->tick.npoint)
        memcpy(e->point, t->point, e->tick.npoint * sizeof *e->point);
    e->tick.point = NULL;
}

static void on_tick(void *ctx, const struct tick *t)
{
    struct listener *l = ctx;
    struct slot *s = l->s;

    pthread_mutex_lock(&l->q->lock);
    const double seconds = job_now() - s->job->started;
    keep_event(s, t, seconds);
    progress_tick(&s->progress, t, seconds);
    s->fresh = true;
    s->unseen = isnan(t->value);
    poke(l->q);
    while (l->q->paused && !l->q->quit && !atomic_load(&s->job->cancel.stop))
        pthread_cond_wait(&l->q->wake, &l->q->lock);
    pthread_mutex_unlock(&l->q->lock);
}

static struct slot *next_queued(struct jobs *q) /* lock held */
{
    for (struct slot *s = q->list; s; s = s->next)
        if (s->state == SLOT_QUEUED)
            return s;
    return NULL;
}

static void *worker(void *arg)
{
    struct jobs *q = arg;
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_mutex_lock(&q->lock);
    for (;;) {
        struct slot *s = next_queued(q);
        if (q->quit)
            break;
        if (!s) {
            pthread_cond_wait(&q->wake, &q->lock);
            continue;
        }
        struct listener l = { q, s };
        struct err err = { 0 };
        s->state = SLOT_RUNNING;
        s->job->started = job_now();
        s->job->ctl = (struct ctl){ &s->job->cancel, on_tick, &l };
        poke(q);
        pthread_mutex_unlock(&q->lock);
        limits_enter(s->job->limits);
        const enum status rc = s->job->ops->work(s->job, &err);
        pthread_mutex_lock(&q->lock);
        s->rc = rc;
        s->err = err;
        s->state = SLOT_ENDED;
        q->paused = false;
        poke(q);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* Creating and freeing. */

struct jobs *jobs_new(struct err *err)
{
    struct jobs *q = mem_calloc(1, sizeof *q, "the job queue", err);

    if (!q)
        return NULL;
    q->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->wake, NULL);
    const int failed = q->fd < 0 ? errno : pthread_create(&q->thread, NULL, worker, q);
    if (failed) {
        err_set(err, ST_INTERNAL, "the background thread cannot start: %s", strerror(failed));
        if (q->fd >= 0)
            close(q->fd);
        pthread_mutex_destroy(&q->lock);
        pthread_cond_destroy(&q->wake);
        free(q);
        return NULL;
    }
    return q;
}

static void job_free(struct job *job)
{
    if (!job)
        return;
    if (job->ops->free)
        job->ops->free(job);
    args_free(job->args);
    free(job->line);
    free(job);
}

static void slot_free(struct slot *s)
{
    job_free(s->job);
    free(s->event);
    progress_free(&s->progress);
    free(s);
}

static void ask_to_end(struct jobs *q)
{
    pthread_mutex_lock(&q->lock);
    q->quit = true;
    for (struct slot *s = q->list; s; s = s->next)
        atomic_store_explicit(&s->job->cancel.stop, true, memory_order_relaxed);
    pthread_cond_broadcast(&q->wake);
    pthread_mutex_unlock(&q->lock);
}

bool jobs_end(struct jobs *q, double seconds)
{
    struct timespec until;

    ask_to_end(q);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    if (!q->joined)
        q->joined = pthread_clockjoin_np(q->thread, NULL, CLOCK_MONOTONIC, &until) == 0;
    return q->joined;
}

void jobs_free(struct jobs *q)
{
    if (!q)
        return;
    ask_to_end(q);
    if (!q->joined)
        pthread_join(q->thread, NULL);
    for (struct slot *s = q->list, *next; s; s = next) {
        next = s->next;
        slot_free(s);
    }
    close(q->fd);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->wake);
    free(q);
}

struct job *job_make(const struct job_ops *ops, const char *name, void *arg, const char *line,
                     struct err *err)
{
    struct job *job = mem_calloc(1, sizeof *job, "a job", err);
    char *copy = mem_strdup(line ? line : ops->verb, err);

    if (!job || !copy) {
        struct job orphan = { .ops = ops, .arg = arg };
        if (ops->free)
            ops->free(&orphan);
        free(job);
        free(copy);
        return NULL;
    }
    job->ops = ops;
    job->arg = arg;
    job->line = copy;
    job->limits = limits_now();
    job->queued = job_now();
    snprintf(job->name, sizeof job->name, "%s", name ? name : ops->verb);
    atomic_init(&job->cancel.stop, false);
    return job;
}

enum status jobs_submit(struct jobs *q, struct job *job, struct err *err)
{
    struct slot *s = job ? mem_calloc(1, sizeof *s, "a job", err) : NULL;

    if (!s) {
        job_free(job);
        return ST_NOMEM;
    }
    s->job = job;
    q->submitted++;
    pthread_mutex_lock(&q->lock);
    struct slot **end = &q->list;
    while (*end)
        end = &(*end)->next;
    *end = s;
    pthread_cond_signal(&q->wake);
    pthread_mutex_unlock(&q->lock);
    return ST_OK;
}

size_t jobs_submitted(const struct jobs *q)
{
    return q->submitted;
}

/* Main-thread side. */

static void stop_slot(struct jobs *q, struct slot *s, bool discard) /* lock held */
{
    s->job->discard |= discard;
    if (s->state == SLOT_QUEUED) {
        s->state = SLOT_ENDED;
        s->rc = err_set(&s->err, ST_CANCELLED, "%s was removed from the queue", s->job->name);
        poke(q);
    } else if (s->state == SLOT_RUNNING) {
        s->stopping = true;
        atomic_store_explicit(&s->job->cancel.stop, true, memory_order_relaxed);
        pthread_cond_broadcast(&q->wake); /* it may be paused */
    }
}

enum status jobs_stop(struct jobs *q, const char *name, bool discard, struct err *err)
{
    size_t hits = 0;

    pthread_mutex_lock(&q->lock);
    for (struct slot *s = q->list; s; s = s->next) {
        if (s->state == SLOT_ENDED)
            continue;
        if (!name ? s->state == SLOT_RUNNING : !strcmp(name, "*") || !strcmp(name, s->job->name)) {
            stop_slot(q, s, discard);
            hits++;
        }
    }
    pthread_mutex_unlock(&q->lock);
    if (hits)
        return ST_OK;
    if (!name || !strcmp(name, "*"))
        return err_set(err, ST_STATE, "no job is running");
    err_set(err, ST_NOT_FOUND, "no job %.40s is running or queued", name);
    err_hint(err, "jobs");
    return ST_NOT_FOUND;
}

enum status jobs_pause(struct jobs *q, bool paused, struct err *err)
{
    bool running = false;

    pthread_mutex_lock(&q->lock);
    for (struct slot *s = q->list; s; s = s->next)
        running |= s->state == SLOT_RUNNING;
    const bool was = q->paused;
    if (running || !paused)
        q->paused = paused;
    pthread_cond_broadcast(&q->wake);
    pthread_mutex_unlock(&q->lock);
    if (paused && !running)
        return err_set(err, ST_STATE, "no job is running");
    if (!paused && !was)
        return err_set(err, ST_STATE, "no job is paused");
    return ST_OK;
}

static struct jobs *writable(const struct jobs *q) /* locking does not count as a change */
{
    return (struct jobs *)(uintptr_t)q;
}

size_t jobs_count(const struct jobs *cq)
{
    struct jobs *q = writable(cq);
    size_t n = 0;

    pthread_mutex_lock(&q->lock);
    for (struct slot *s = q->list; s; s = s->next)
        n++;
    pthread_mutex_unlock(&q->lock);
    return n;
}

bool jobs_pending(const struct jobs *cq, unsigned with, unsigned without)
{
    struct jobs *q = writable(cq);
    bool found = false;

    pthread_mutex_lock(&q->lock);
    for (struct slot *s = q->list; s && !found; s = s->next) {
        const unsigned flags = s->job->cmd ? s->job->cmd->flags : 0;
        found = (flags & with) == with && !(flags & without);
    }
    pthread_mutex_unlock(&q->lock);
    return found;
}

bool jobs_has_group(const struct jobs *cq, unsigned long group)
{
    struct jobs *q = writable(cq);
    bool found = false;

    pthread_mutex_lock(&q->lock);
    for (struct slot *s = q->list; s && !found; s = s->next)
        found = s->job->group == group;
    pthread_mutex_unlock(&q->lock);
    return found;
}

static void slot_view(const struct slot *s, struct job_view *v)
{
    const struct job *job = s->job;

    memset(v, 0, sizeof *v);
    snprintf(v->name, sizeof v->name, "%s", job->name);
    snprintf(v->line, sizeof v->line, "%.159s", job->line);
    v->verb = job->ops->verb;
    v->running = s->state == SLOT_RUNNING;
    v->stopping = s->stopping;
    v->tick = s->progress.tick;
    v->seconds = s->state == SLOT_QUEUED ? 0.0 : job_now() - job->started;
    progress_view(&s->progress, v->running ? v->seconds : NAN, &v->progress);
}

bool jobs_view(const struct jobs *cq, size_t i, struct job_view *out)
{
    struct jobs *q = writable(cq);
    bool found = false;

    pthread_mutex_lock(&q->lock);
    for (struct slot *s = q->list; s && !found; s = s->next)
        if (s->state != SLOT_ENDED && i-- == 0) {
            slot_view(s, out);
            out->paused = out->running && q->paused && !s->stopping;
            found = true;
        }
    pthread_mutex_unlock(&q->lock);
    return found;
}

int jobs_fd(const struct jobs *q)
{
    return q->fd;
}

/* Progress as text and as records. */

void job_words(const struct job_view *v, struct buf *out)
{
    const struct tick *t = &v->tick;
    const struct progress_view *p = &v->progress;
    const enum phase_kind kind = phase_kind(t->phase);
    char num[32];

    buf_printf(out, "%s %s", v->name, t->method  ? t->method
                                     : t->phase ? phase_word(t->phase)
                                                : v->verb);
    if (t->phase && t->total)
        buf_printf(out, " %zu/%zu", t->done, t->total);
    if (v->stopping)
        buf_puts(out, "  stopped");
    if (v->paused)
        buf_puts(out, "  paused");
    if (kind == PHASE_RESIDUAL) {
        buf_printf(out, "  %s %.1e", solver_estimates(t->method) ? "estimate" : "resid", t->value);
        if (t->target > 0.0)
            buf_printf(out, " -> %.0e", t->target);
    } else if ((kind == PHASE_SEARCH || kind == PHASE_CHOICE) && isfinite(t->value)) {
        text_number(num, sizeof num, isfinite(t->value2) ? t->value2 : t->value);
        buf_printf(out, "  %s %s (best)", phase_value(t->phase), num);
    }
    if (p->rate >= 0.95 && kind == PHASE_RESIDUAL)
        buf_printf(out, "  %.1f it/s", p->rate);
    const bool guess = isfinite(p->left) || kind != PHASE_STEPS;
    if (v->running && !v->stopping && guess) {
        text_seconds(num, sizeof num, isfinite(p->left) ? p->left : NAN);
        buf_printf(out, "  %s left", num);
    }
}

static void tick_record(struct workspace *ws, const struct job_view *v, double seconds)
{
    const struct tick *t = &v->tick;
    const enum phase_kind kind = phase_kind(t->phase);
    char best[24];
    struct rec r;

    rec_init(&r, REC_TICK, t->phase ? phase_word(t->phase) : v->verb);
    snprintf(r.run, sizeof r.run, "%s", v->name);
    rec_str(&r, "phase", r.name);
    if (kind == PHASE_RESIDUAL) {
        rec_int(&r, "iterations", (int64_t)t->done);
        rec_num(&r, "residual", t->value);
        rec_num(&r, "true_residual", t->value2);
        if (solver_estimates(t->method))
            rec_bool(&r, "estimated", true);
        if (t->measured) {
            rec_num(&r, "error_k", t->error_k);
            rec_num(&r, "error_k2", t->error_k2);
            rec_num(&r, "rmse_scaled", t->rmse);
        }
        rec_num(&r, "target", t->target);
        rec_num(&r, "passes", t->passes);
        rec_str(&r, "method", t->method ? t->method : "cg");
    } else if (kind == PHASE_SEARCH) {
        rec_int(&r, "evaluations", (int64_t)t->done);
        snprintf(best, sizeof best, "%s_best", phase_value(t->phase));
        rec_num(&r, phase_value(t->phase), t->value);
        rec_num(&r, best, t->value2);
        rec_bool(&r, "subsampled", t->sampled);
    } else {
        rec_int(&r, "done", (int64_t)t->done);
        if (kind == PHASE_CHOICE) {
            rec_num(&r, phase_value(t->phase), t->value);
            rec_num(&r, "bound_best", t->value2);
            rec_num(&r, "accepted", t->passes);
        }
    }
    if (t->total)
        rec_int(&r, "total", (int64_t)t->total);
    else
        rec_null(&r, "total");
    rec_num(&r, "share", v->progress.share);
    rec_num(&r, "rate", v->progress.rate);
    rec_num(&r, "left", v->progress.left);
    rec_num(&r, "seconds", seconds);
    rec_text(&r, "job ");
    job_words(v, &r.text);
    ws_emit(ws, &r);
}

/* Dispatching events on the main thread. */

struct taken {
    struct event *event; size_t nevent;
    bool tell, ended, unseen;
    struct tick newest;
    struct job_view view;
    double at;
};

/* Moves everything that the main thread needs out of a slot. The lock is held. */
static bool take_slot(struct slot *s, struct taken *out)
{
    memset(out, 0, sizeof *out);
    out->event = s->event;
    out->nevent = s->nevent;
    s->event = NULL;
    s->nevent = s->capevent = 0;
    out->ended = s->state == SLOT_ENDED;
    out->unseen = s->unseen;
    out->newest = s->progress.tick;
    out->at = s->progress.tick_at;
    s->unseen = false;
    const double now = job_now();
    const bool other = s->told_phase != s->progress.phase;
    if (s->fresh && (other || !s->told || now >= s->told_at + 0.25 || out->ended)) {
        slot_view(s, &out->view);
        out->tell = true;
        s->fresh = false;
        s->told = true;
        s->told_at = now;
        s->told_phase = s->progress.phase;
    }
    return out->nevent || out->tell || out->ended || out->unseen;
}

static void finish(struct jobs *q, struct workspace *ws, struct slot *s)
{
    struct job *job = s->job;
    enum status rc = s->rc;

    pthread_mutex_lock(&q->lock);
    for (struct slot **p = &q->list; *p; p = &(*p)->next)
        if (*p == s) {
            *p = s->next;
            break;
        }
    pthread_mutex_unlock(&q->lock);
    if (job->discard && rc == ST_OK)
        rc = err_set(&s->err, ST_CANCELLED, "%s was stopped and dropped", job->name);
    job->rc = rc;
    if (ws) {
        workspace_job_begin(ws, job);
        job->gaps += s->gaps;
        if (job->gaps)
            ws_warn(ws, "trace",
                    "points that %s told were lost for want of memory (%zu): plots and rates lack "
                    "them", job->name, job->gaps);
        job->ops->done(ws, job, rc, &s->err);
        workspace_job_end(ws, job, job->rc);
    }
    slot_free(s);
}

void jobs_pump(struct jobs *q, struct workspace *ws)
{
    uint64_t count;

    while (read(q->fd, &count, sizeof count) < 0 && errno == EINTR)
        ;
    pthread_mutex_lock(&q->lock);
    q->poked = false;
    struct slot *s = q->list;
    while (s) {
        struct slot *next = s->next;
        struct taken t;
        if (!take_slot(s, &t)) {
            s = next;
            continue;
        }
        pthread_mutex_unlock(&q->lock);
        for (size_t i = 0; i < t.nevent && s->job->ops->tick; i++) {
            struct event *e = &t.event[i];
            e->tick.point = e->tick.npoint ? e->point : NULL;
            s->job->tick_seconds = e->seconds;
            s->job->ops->tick(ws, s->job, &e->tick);
        }
        free(t.event);
        if (t.unseen && s->job->ops->tick) {
            s->job->tick_seconds = t.at;
            s->job->ops->tick(ws, s->job, &t.newest);
        }
        if (t.tell && ws)
            tick_record(ws, &t.view, t.at);
        if (t.ended)
            finish(q, ws, s);
        pthread_mutex_lock(&q->lock);
        s = next;
    }
    pthread_mutex_unlock(&q->lock);
}
