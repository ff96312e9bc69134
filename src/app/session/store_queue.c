/* app/session/store_queue.c -- the queue of records, and the thread that writes them. See
 * store_queue.h. */
#include "app/session/store_queue.h"

#include "app/session/store_impl.h"
#include "app/session/store_write.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    RETRY_S = 3,             /* seconds between attempts when the disk is full */
    /* records kept while nothing can be written; beyond that, lazy ones are dropped */
    PENDING_MOST = 20000,
    TRIES_AT_END = 2, /* attempts before a session is closed without its last rows */
    PARTS_AT_ONCE = 2, /* parts of a factor per transaction; a row waits no longer than for these */
    CHECKPOINT_FROM = 8 << 20, /* bytes */
};

struct waiter {
    bool done;
    struct limits limits; /* a visit reads under those of the thread that asks */
    enum status rc;
    struct err err;
};

struct store_queue {
    struct sdb *db;             /* borrowed; used only by the thread */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work, answered;
    int wake;                   /* -1: no notification */
    /* Guarded by the lock. */
    struct op *head, *tail;
    struct op *held, *held_tail; /* records of the running statement, not handed over yet */
    size_t holds;
    size_t pending;
    uint64_t handed, durable;   /* tickets */
    double waits_since; /* when the oldest record that is not durable was handed over; 0: none */
    bool stop;
    char trouble[200], lost[200]; /* a problem that may pass; records that can never be written */
    _Atomic int64_t saved_at;
    /* Used only by the main thread: records that there was no memory to make. */
    size_t misses;
    bool missing;
    /* Used only by the thread. */
    struct op *left;            /* rows that could not be written yet */
    struct op *bulk;            /* factors that wait, in order */
    struct op *asked;           /* callers that wait until everything is written */
    size_t bulk_bytes;
    bool failed;                /* the last attempt failed and is repeated at retry_at */
    double retry_at;
};

double store_queue_now(void)
{
    return clock_now();
}

/* Records. */

static void op_free(struct op *op)
{
    if (!op)
        return;
    for (size_t i = 0; i < sizeof op->text / sizeof *op->text; i++)
        free(op->text[i]);
    free(op->data);
    model_unref(op->model);
    free(op);
}

static void list_free(struct op *list)
{
    while (list) {
        struct op *next = list->next;
        op_free(list);
        list = next;
    }
}

static void list_append(struct op **list, struct op *op)
{
    while (*list)
        list = &(*list)->next;
    *list = op;
}

static void set_trouble(struct store_queue *q, const char *words)
{
    pthread_mutex_lock(&q->lock);
    snprintf(q->trouble, sizeof q->trouble, "%.190s", words);
    pthread_mutex_unlock(&q->lock);
}

/* A record that the database refuses for good. */
static void lose(struct store_queue *q, const char *why)
{
    pthread_mutex_lock(&q->lock);
    if (!*q->lost)
        snprintf(q->lost, sizeof q->lost, "a part of the session is lost: %.160s", why);
    pthread_mutex_unlock(&q->lock);
}

static const char no_room[] = "out of memory: a part of the session is not recorded yet";

void store_queue_missed(struct store_queue *q)
{
    q->misses++;
    q->missing = true;
}

size_t store_queue_misses(const struct store_queue *q)
{
    return q->misses;
}

bool store_queue_missing(const struct store_queue *q)
{
    return q->missing;
}

void store_queue_mended(struct store_queue *q)
{
    q->missing = false;
}

static struct op *new_op(enum op_kind kind)
{
    struct op *op = mem_calloc(1, sizeof *op, "a record of the session", NULL);

    if (op)
        op->kind = kind;
    return op;
}

struct op *store_queue_op(struct store_queue *q, enum op_kind kind)
{
    struct op *op = new_op(kind);

    if (!op)
        store_queue_missed(q);
    return op;
}

char *store_queue_copy(struct store_queue *q, const char *s)
{
    char *copy = mem_strdup(s ? s : "", NULL);

    if (!copy)
        store_queue_missed(q);
    return copy;
}

/* Handing over. */

/* Gives a ticket to a list of records whose last is `tail`. The lock is held. */
static void enqueue(struct store_queue *q, struct op *list, struct op *tail)
{
    bool rows = false;

    q->handed++;
    for (struct op *op = list; op; op = op->next) {
        op->ticket = q->handed;
        rows |= op->due <= 0 && !op->waiter;
    }
    if (rows && !(q->waits_since > 0))
        q->waits_since = store_queue_now();
    if (q->tail)
        q->tail->next = list;
    else
        q->head = list;
    q->tail = tail;
    pthread_cond_signal(&q->work);
}

/* The lock is held. */
static void hand_over(struct store_queue *q)
{
    if (!q->held)
        return;
    enqueue(q, q->held, q->held_tail);
    q->held = q->held_tail = NULL;
}

void store_queue_hold(struct store_queue *q)
{
    q->holds++;
}

void store_queue_release(struct store_queue *q)
{
    if (q->holds == 0 || --q->holds > 0)
        return;
    pthread_mutex_lock(&q->lock);
    hand_over(q);
    pthread_mutex_unlock(&q->lock);
}

void store_queue_push(struct store_queue *q, struct op *op, size_t texts)
{
    for (size_t i = 0; i < texts; i++)
        if (!op->text[i]) {
            op_free(op);
            return;
        }
    pthread_mutex_lock(&q->lock);
    if (op->due > 0 && q->pending >= PENDING_MOST) {
        pthread_mutex_unlock(&q->lock);
        op_free(op);
        return;
    }
    if (q->held_tail)
        q->held_tail->next = op;
    else
        q->held = op;
    q->held_tail = op;
    q->pending++;
    /* a caller that waits for the disk waits for everything before it, too */
    if (q->holds == 0 || op->waiter)
        hand_over(q);
    pthread_mutex_unlock(&q->lock);
}

void store_queue_text(struct store_queue *q, enum op_kind kind, int64_t id, const char *a,
                      const char *b)
{
    struct op *op = store_queue_op(q, kind);

    if (!op)
        return;
    op->id = id;
    op->text[0] = store_queue_copy(q, a);
    op->text[1] = store_queue_copy(q, b);
    store_queue_push(q, op, 2);
}

void store_queue_blob(struct store_queue *q, enum op_kind kind, const char *owner, const char *what,
                      int64_t part, void *data, size_t n, double wait)
{
    struct op *op = store_queue_op(q, kind);

    if (!op) {
        free(data);
        return;
    }
    op->id = part;
    op->due = wait > 0 ? store_queue_now() + wait : 0;
    op->data = data;
    op->n = n;
    op->text[0] = store_queue_copy(q, owner);
    op->text[1] = store_queue_copy(q, what);
    store_queue_push(q, op, 2);
}

static enum status wait_for(struct store_queue *q, struct waiter *w, struct err *err)
{
    pthread_mutex_lock(&q->lock);
    while (!w->done)
        pthread_cond_wait(&q->answered, &q->lock);
    pthread_mutex_unlock(&q->lock);
    if (w->rc != ST_OK && err)
        *err = w->err;
    return w->rc;
}

enum status store_queue_ask(struct store_queue *q, enum op_kind kind, const char *path,
                            store_visit_fn *visit, void *ctx, struct err *err)
{
    struct waiter w = { .rc = ST_OK, .limits = limits_now() };
    struct op *op = new_op(kind); /* a question is no record: nothing is missed without it */

    if (!op)
        return err_nomem(err, sizeof *op, "a record of the session");
    op->waiter = &w;
    op->visit = visit;
    op->ctx = ctx;
    op->text[0] = mem_strdup(path, NULL);
    if (!op->text[0]) {
        op_free(op);
        return err_nomem(err, 0, "a path");
    }
    store_queue_push(q, op, 1);
    const enum status rc = wait_for(q, &w, err);
    pthread_mutex_lock(&q->lock);
    const char *lost = *q->lost ? q->lost : q->missing ? no_room : NULL;
    pthread_mutex_unlock(&q->lock);
    return lost && rc == ST_OK && kind != OP_VISIT
        ? err_named(err, ST_NOMEM, "session", "%s", lost) : rc;
}

static enum status look_at_nothing(struct sdb *db, void *ctx, struct err *err)
{
    (void)db;
    (void)ctx;
    (void)err;
    return ST_OK;
}

void store_queue_sync_meta(struct store_queue *q, const char *key, const char *value)
{
    struct waiter w = { .rc = ST_OK, .limits = limits_now() };
    struct op *op = store_queue_op(q, OP_META), *seen = op ? store_queue_op(q, OP_VISIT) : NULL;

    if (op) {
        op->text[0] = store_queue_copy(q, key);
        op->text[1] = store_queue_copy(q, value);
    }
    if (!seen || !op->text[0] || !op->text[1]) {
        op_free(op);
        op_free(seen);
        return;
    }
    seen->waiter = &w;
    seen->visit = look_at_nothing;
    op->next = seen;
    pthread_mutex_lock(&q->lock);
    enqueue(q, op, seen);
    q->pending += 2;
    pthread_mutex_unlock(&q->lock);
    (void)wait_for(q, &w, NULL);
}

uint64_t store_queue_ticket(const struct store_queue *q)
{
    return q->holds > 0 ? q->handed + 1 : q->handed; /* only the main thread changes them */
}

uint64_t store_queue_durable(struct store_queue *q)
{
    pthread_mutex_lock(&q->lock);
    const uint64_t durable = q->durable;
    pthread_mutex_unlock(&q->lock);
    return durable;
}

double store_queue_unsaved(struct store_queue *q)
{
    pthread_mutex_lock(&q->lock);
    const double since = q->waits_since;
    pthread_mutex_unlock(&q->lock);
    return since > 0 ? store_queue_now() - since : 0;
}

int64_t store_queue_saved_at(const struct store_queue *q)
{
    return atomic_load(&q->saved_at);
}

void store_queue_trouble(struct store_queue *q, char *out, size_t len)
{
    pthread_mutex_lock(&q->lock);
    snprintf(out, len, "%s", *q->lost ? q->lost : q->missing ? no_room : q->trouble);
    pthread_mutex_unlock(&q->lock);
}

/* Writing, on the thread. */

/* Writes the whole list in one transaction. *bad: a record that can never be written; NULL: the
 * failure concerns all of them and may pass. */
static enum status write_list(struct store_queue *q, struct op *list, struct op **bad,
                              size_t *bytes, struct err *err)
{
    enum status rc = store_db_begin(q->db, err);

    *bad = NULL;
    *bytes = 0;
    for (struct op *op = list; op && rc == ST_OK; op = op->next) {
        rc = store_write_op(q->db, op, err);
        *bytes += store_write_bytes(op);
        if (rc != ST_OK && rc != ST_NOMEM && !store_db_retry(q->db))
            *bad = op;
    }
    if (rc == ST_OK)
        rc = store_db_commit(q->db, err);
    if (rc != ST_OK)
        store_db_rollback(q->db);
    return rc;
}

/* Answers a waiting caller and frees the record. */
static void answer(struct store_queue *q, struct op *op, enum status rc, const struct err *err)
{
    struct err own = { 0 };
    enum status mine = rc;

    if (rc == ST_OK && op->kind == OP_COPY)
        mine = store_db_copy(q->db, op->text[0], &own);
    if (op->kind == OP_VISIT) { /* reading still works if writing does not */
        limits_enter(op->waiter->limits);
        mine = op->visit(q->db, op->ctx, &own);
    }
    pthread_mutex_lock(&q->lock);
    op->waiter->rc = mine;
    op->waiter->err = rc == ST_OK || op->kind == OP_VISIT || !err ? own : *err;
    op->waiter->done = true;
    pthread_cond_broadcast(&q->answered);
    pthread_mutex_unlock(&q->lock);
    op_free(op);
}

static void answer_asked(struct store_queue *q, enum status rc, const struct err *err)
{
    while (q->asked) {
        struct op *op = q->asked;
        q->asked = op->next;
        answer(q, op, rc, err);
    }
}

/* Takes the waiting callers out of a list that could not be written, and tells them so. */
static struct op *refuse_all(struct store_queue *q, struct op *list, enum status rc,
                             const struct err *err)
{
    for (struct op **at = &list; *at;) {
        struct op *op = *at;
        if (!op->waiter) {
            at = &op->next;
            continue;
        }
        *at = op->next;
        answer(q, op, rc, err);
    }
    answer_asked(q, rc, err);
    return list;
}

/* Drops factors of an owner that are no longer wanted. */
static void cancel_bulk(struct store_queue *q, const char *owner)
{
    for (struct op **at = &q->bulk; *at;) {
        struct op *op = *at;
        if (strcmp(op->text[0], owner) != 0) {
            at = &op->next;
            continue;
        }
        *at = op->next;
        op_free(op);
    }
}

/* The rows are on disk: what remains of the list are factors and callers that wait for
 * everything. */
static void sort_written(struct store_queue *q, struct op *list)
{
    while (list) {
        struct op *op = list;
        list = op->next;
        op->next = NULL;
        if (op->kind == OP_FORGET || (op->kind == OP_DROP && !strcmp(op->text[1], STORE_FACTOR)))
            cancel_bulk(q, op->text[0]);
        if (store_write_bulky(op))
            list_append(&q->bulk, op);
        else if (op->kind == OP_VISIT)
            answer(q, op, ST_OK, NULL);
        else if (op->waiter)
            list_append(&q->asked, op);
        else
            op_free(op);
    }
}

static void tell_durable(struct store_queue *q, uint64_t ticket)
{
    const uint64_t one = 1;

    atomic_store(&q->saved_at, (int64_t)time(NULL));
    pthread_mutex_lock(&q->lock);
    if (ticket > q->durable)
        q->durable = ticket;
    if (!q->bulk)
        *q->trouble = '\0';
    q->waits_since = 0;
    for (const struct op *op = q->head; op && !(q->waits_since > 0); op = op->next)
        if (op->due <= 0 && !op->waiter)
            q->waits_since = store_queue_now();
    pthread_mutex_unlock(&q->lock);
    while (q->wake >= 0 && write(q->wake, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* Nothing can be written for now; another attempt will follow. */
static void fail(struct store_queue *q, const struct err *err)
{
    const uint64_t one = 1;

    log_info("session: %s", err->msg);
    set_trouble(q, err->msg);
    q->failed = true;
    q->retry_at = store_queue_now() + RETRY_S;
    while (q->wake >= 0 && write(q->wake, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* Writes the rows that wait. Those that cannot be written for now stay. */
static void write_rows(struct store_queue *q)
{
    uint64_t ticket = 0;

    for (const struct op *op = q->left; op; op = op->next)
        ticket = op->ticket;
    for (;;) {
        struct err err = { 0 };
        struct op *bad;
        size_t bytes;
        const enum status rc = write_list(q, q->left, &bad, &bytes, &err);

        if (rc == ST_OK) {
            struct op *list = q->left;
            q->left = NULL;
            q->failed = false;
            tell_durable(q, ticket);
            sort_written(q, list);
            if (bytes > CHECKPOINT_FROM)
                store_db_checkpoint(q->db);
            return;
        }
        if (!bad) {
            fail(q, &err);
            q->left = refuse_all(q, q->left, rc, &err);
            return;
        }
        log_info("session: %s", err.msg);
        lose(q, err.msg);
        struct op **at = &q->left;
        while (*at != bad)
            at = &(*at)->next;
        *at = bad->next;
        op_free(bad);
    }
}

/* Writes a part of the first factor that waits. */
static void write_bulk(struct store_queue *q)
{
    struct op *op = q->bulk;
    if (store_write_weigh(op)) /* a part of the work, so that a row need not wait for all of it */
        return;
    const struct op before = *op;
    struct err err = { 0 };
    enum status rc = store_db_begin(q->db, &err);

    if (rc == ST_OK)
        rc = store_write_factor(q->db, op, PARTS_AT_ONCE, &err);
    if (rc == ST_OK)
        rc = store_db_commit(q->db, &err);
    if (rc != ST_OK) {
        store_db_rollback(q->db);
        op->at = before.at;
    }
    q->failed = false;
    if (rc == ST_NOMEM || (rc != ST_OK && store_db_retry(q->db))) {
        fail(q, &err);
        answer_asked(q, rc, &err);
        return;
    }
    q->bulk_bytes += (size_t)(op->at.part - before.at.part) * SDB_PART;
    if (rc != ST_OK)
        log_info("session: %s", err.msg); /* it will be recomputed from the data */
    if (rc != ST_OK || op->at.column >= op->model->Mv) {
        q->bulk = op->next;
        op_free(op);
    }
    if (!q->bulk) {
        set_trouble(q, "");
        if (q->bulk_bytes > (size_t)CHECKPOINT_FROM)
            store_db_checkpoint(q->db);
        q->bulk_bytes = 0;
    }
}

/* When there is something to do next; infinity: not before something is handed over. The lock is
 * held. */
static double next_due(const struct store_queue *q)
{
    double t = INFINITY;

    if (q->stop)
        return 0;
    for (const struct op *op = q->head; op; op = op->next)
        t = fmin(t, op->due);
    if (q->left || q->bulk)
        t = fmin(t, q->failed ? q->retry_at : 0);
    return t;
}

static void wait_for_work(struct store_queue *q)
{
    double t;

    while ((t = next_due(q)) > store_queue_now()) {
        struct timespec until = { .tv_sec = isinf(t) ? 0 : (time_t)t };
        until.tv_nsec = isinf(t) ? 0 : (long)(1e9 * (t - (double)until.tv_sec));
        if (isinf(t))
            pthread_cond_wait(&q->work, &q->lock);
        else
            pthread_cond_timedwait(&q->work, &q->lock, &until);
    }
}

static size_t length(const struct op *op)
{
    size_t n = 0;

    for (; op; op = op->next)
        n++;
    return n;
}

static void *writer(void *arg)
{
    struct store_queue *q = arg;
    size_t tries = 0;

    for (bool stop = false;
         !stop || ((q->left || q->bulk) && (!q->failed || tries < TRIES_AT_END));) {
        pthread_mutex_lock(&q->lock);
        wait_for_work(q);
        stop = q->stop;
        list_append(&q->left, q->head);
        q->head = q->tail = NULL;
        pthread_mutex_unlock(&q->lock);
        tries += stop && (tries == 0 || q->failed);
        if (q->left)
            write_rows(q);
        else if (q->bulk)
            write_bulk(q);
        if (!q->bulk)
            answer_asked(q, ST_OK, NULL);
        pthread_mutex_lock(&q->lock);
        q->pending = length(q->left) + length(q->bulk) + length(q->head) + length(q->held);
        pthread_mutex_unlock(&q->lock);
    }
    return NULL;
}

/* Starting and ending. */

struct store_queue *store_queue_new(struct sdb *db, int wake, struct err *err)
{
    struct store_queue *q = mem_calloc(1, sizeof *q, "the session", err);
    pthread_condattr_t attr;
    sigset_t all, old;

    if (!q)
        return NULL;
    q->db = db;
    q->wake = wake < 0 ? -1 : fcntl(wake, F_DUPFD_CLOEXEC, 0);
    pthread_mutex_init(&q->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&q->work, &attr);
    pthread_cond_init(&q->answered, &attr);
    pthread_condattr_destroy(&attr);
    sigfillset(&all); /* signals are handled by the main thread */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int rc = pthread_create(&q->thread, NULL, writer, q);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc == 0)
        return q;
    store_queue_free(q);
    err_set(err, ST_LIMIT, "the session's thread cannot start: %s", strerror(rc));
    return NULL;
}

void store_queue_end(struct store_queue *q)
{
    pthread_mutex_lock(&q->lock);
    hand_over(q);
    q->stop = true;
    pthread_cond_signal(&q->work);
    pthread_mutex_unlock(&q->lock);
    pthread_join(q->thread, NULL);
}

void store_queue_free(struct store_queue *q)
{
    if (!q)
        return;
    list_free(q->head);
    list_free(q->held);
    list_free(q->left);
    list_free(q->bulk);
    if (q->wake >= 0)
        close(q->wake);
    pthread_cond_destroy(&q->work);
    pthread_cond_destroy(&q->answered);
    pthread_mutex_destroy(&q->lock);
    free(q);
}
