/* app/session/store.c -- the session's public side: the main thread hands over copies, one thread
 * writes.
 *
 * The main thread builds each record (text, JSON, packed numbers) and puts it in a queue; the
 * writing thread takes all that waits, writes it in one transaction and syncs.  What one command
 * changes is handed over together (store_hold), so that no file ever holds half of it.  Commands
 * and runs are written at once, points of a running trace and messages within two seconds.  What
 * cannot be written (disk full) stays in the queue and is tried again. */
#include "app/session/store.h"

#include "app/session/store_impl.h"
#include "app/core/ws_tell.h"
#include "config.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum {
    LAZY_S = 2,              /* the longest that trace points and messages wait */
    RETRY_S = 3,             /* between tries when the disk is full */
    PENDING_MOST = 20000,    /* records kept while nothing can be written; then lazy ones go */
    FACTORS_KEPT = 5,        /* newest fits whose variance factor is kept */
    CHECKPOINT_FROM = 8 << 20,
};
#define FACTOR_MOST ((uint64_t)1 << 30) /* bytes; larger factors are recomputed from the data */

enum op_kind { OP_COMMAND, OP_SCRIPT, OP_STATE, OP_DATASET, OP_RUN, OP_BLOB, OP_PART, OP_DROP,
               OP_MODEL, OP_MESSAGE, OP_META, OP_SNAPSHOT, OP_PAST, OP_FORGET, OP_FLUSH, OP_COPY,
               OP_VISIT };
/* Reads in the writing thread while the main thread waits. */
typedef enum status visit_fn(struct sdb *, void *ctx, struct err *err);
struct waiter {
    bool done;
    enum status rc;
    struct err err;
};
struct op {
    enum op_kind kind;
    bool lazy;
    int64_t id;
    double seconds;
    char *text[4];
    void *data;
    size_t n;
    struct model *model;
    bool factor;
    struct waiter *waiter; /* FLUSH, COPY, VISIT: on the caller's stack */
    visit_fn *visit;
    void *ctx;
    struct op *next;
};

/* What the file holds of a run. */
struct kept_run {
    char name[16];
    int64_t data;               /* the dataset it was made from, loaded or not */
    int64_t row;
    char *body;                 /* as last written */
    size_t parts, points;       /* of its trace */
    bool whole_trace, history, encoding, model, factor;
    double traced;              /* when points were last handed over, seconds */
};
struct store {
    struct workspace *ws;
    struct sdb *db;             /* the thread's alone once it runs */
    char *path;
    pthread_t thread;
    bool threaded;
    pthread_mutex_t lock;
    pthread_cond_t work, answered;
    /* Under the lock. */
    struct op *head, *tail;
    struct op *held,
        *held_tail; /* the main thread's: of the command that runs, not handed over yet */
    size_t holds;
    size_t pending;
    bool stop;
    char trouble[200];
    /* The main thread's. */
    char shown[200];
    bool told;
    struct store_version *version;
    size_t nversion, capversion;
    int64_t next_dataset, next_run, next_snapshot;
    size_t nscript;
    char *state;
    struct store_away *away;
    size_t naway;
    struct kept_run *run;
    size_t nrun, caprun;
    _Atomic int64_t saved_at;
};

static double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The queue. */

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

static void set_trouble(struct store *st, const char *words)
{
    pthread_mutex_lock(&st->lock);
    snprintf(st->trouble, sizeof st->trouble, "%.190s", words);
    pthread_mutex_unlock(&st->lock);
}

static struct op *op_new(struct store *st, enum op_kind kind)
{
    struct op *op = mem_calloc(1, sizeof *op, "a record of the session", NULL);

    if (op)
        op->kind = kind;
    else
        set_trouble(st, "out of memory");
    return op;
}

static char *copied(struct store *st, const char *s)
{
    char *copy = mem_strdup(s ? s : "", NULL);

    if (!copy)
        set_trouble(st, "out of memory");
    return copy;
}

/* Under the lock. */
static void hand_over(struct store *st)
{
    if (!st->held)
        return;
    if (st->tail)
        st->tail->next = st->held;
    else
        st->head = st->held;
    st->tail = st->held_tail;
    st->held = st->held_tail = NULL;
    pthread_cond_signal(&st->work);
}

void store_hold(struct store *st)
{
    if (st)
        st->holds++;
}

void store_release(struct store *st)
{
    if (!st || st->holds == 0 || --st->holds > 0)
        return;
    pthread_mutex_lock(&st->lock);
    hand_over(st);
    pthread_mutex_unlock(&st->lock);
}

/* Takes the record; a text that could not be copied makes it void. */
static void push(struct store *st, struct op *op, size_t texts)
{
    for (size_t i = 0; i < texts; i++)
        if (!op->text[i]) {
            op_free(op);
            return;
        }
    pthread_mutex_lock(&st->lock);
    if (op->lazy && st->pending >= PENDING_MOST) {
        pthread_mutex_unlock(&st->lock);
        op_free(op);
        return;
    }
    if (st->held_tail)
        st->held_tail->next = op;
    else
        st->held = op;
    st->held_tail = op;
    st->pending++;
    if (st->holds == 0 || op->waiter) /* whoever waits for the disk waits for all before it, too */
        hand_over(st);
    pthread_mutex_unlock(&st->lock);
}

/* Writing: the thread. */

static enum status put_doubles(struct sdb *db, const char *owner, const char *what, const double *v,
                               size_t n, struct err *err)
{
    const size_t per = SDB_PART / sizeof(double);
    enum status rc = sdb_drop_blob(db, owner, what, err);
    double *part = rc == ST_OK ? mem_calloc(per, sizeof *part, "a part of a model", err) : NULL;

    if (!part)
        return rc == ST_OK ? ST_NOMEM : rc;
    for (size_t at = 0, k = 0; rc == ST_OK && (at < n || k == 0); at += per, k++) {
        const size_t m = n - at < per ? n - at : per;
        memcpy(part, v + at, m * sizeof *v);
        store_pack_doubles(part, m);
        rc = sdb_put_part(db, owner, what, (int64_t)k, part, m * sizeof *v, err);
    }
    free(part);
    return rc;
}

/* The lower triangle of the column-major factor, column by column. */
static enum status put_factor(struct sdb *db, const char *owner, const struct model *m,
                              struct err *err)
{
    const size_t per = SDB_PART / sizeof(double);
    enum status rc = sdb_drop_blob(db, owner, "L", err);
    double *part = rc == ST_OK ? mem_calloc(per, sizeof *part, "a part of a model", err) : NULL;
    size_t fill = 0;
    int64_t k = 0;

    if (!part)
        return rc == ST_OK ? ST_NOMEM : rc;
    for (size_t j = 0; rc == ST_OK && j < m->Mv; j++) {
        const double *col = m->L + j * m->Mv + j;
        for (size_t left = m->Mv - j; rc == ST_OK && left > 0;) {
            const size_t take = left < per - fill ? left : per - fill;
            memcpy(part + fill, col, take * sizeof *col);
            fill += take;
            col += take;
            left -= take;
            if (fill == per || (j + 1 == m->Mv && left == 0)) {
                store_pack_doubles(part, fill);
                rc = sdb_put_part(db, owner, "L", k++, part, fill * sizeof *part, err);
                fill = 0;
            }
        }
    }
    free(part);
    return rc;
}

static enum status put_model(struct sdb *db, const struct op *op, struct err *err)
{
    const struct model *m = op->model;
    enum status rc = put_doubles(db, op->text[0], "w", m->w, m->t * m->M, err);

    if (rc == ST_OK && m->X)
        rc = put_doubles(db, op->text[0], "X", m->X, m->M * m->d, err);
    if (rc == ST_OK && op->factor)
        rc = put_factor(db, op->text[0], m, err);
    return rc;
}

/* Replaces a blob by n bytes, in parts. */
static enum status put_bytes(struct sdb *db, const struct op *op, struct err *err)
{
    enum status rc = sdb_drop_blob(db, op->text[0], op->text[1], err);

    for (size_t at = 0, k = 0; rc == ST_OK && (at < op->n || k == 0); at += SDB_PART, k++)
        rc = sdb_put_part(db, op->text[0], op->text[1], (int64_t)k, (const char *)op->data + at,
                          op->n - at < SDB_PART ? op->n - at : SDB_PART, err);
    return rc;
}

static enum status apply(struct sdb *db, const struct op *op, struct err *err)
{
    char *const *t = op->text;

    switch (op->kind) {
    case OP_COMMAND:
        return sdb_put_command(db, op->id, t[0], t[1], op->seconds, err);
    case OP_SCRIPT:
        return sdb_put_script(db, op->id, t[0], err);
    case OP_STATE:
        return sdb_put_state(db, t[0], t[1], err);
    case OP_META:
        return sdb_put_meta(db, t[0], t[1], err);
    case OP_DATASET:
        return sdb_put_dataset(db, op->id, t[0], err);
    case OP_RUN:
        return sdb_put_run(db, op->id, t[0], t[1], err);
    case OP_BLOB:
        return put_bytes(db, op, err);
    case OP_PART:
        return sdb_put_part(db, t[0], t[1], op->id, op->data, op->n, err);
    case OP_DROP:
        return sdb_drop_blob(db, t[0], t[1], err);
    case OP_MODEL:
        return put_model(db, op, err);
    case OP_MESSAGE:
        return sdb_put_message(db, op->id, t[0], t[1], t[2], t[3], err);
    case OP_SNAPSHOT:
        return sdb_put_snapshot(db, op->id, t[0], err);
    case OP_PAST:
        return sdb_put_past(db, op->id, op->data, err);
    case OP_FORGET:
        return sdb_forget_run(db, t[0], err);
    case OP_FLUSH:
    case OP_COPY:
    case OP_VISIT:
        break;
    }
    return ST_OK;
}

static size_t op_bytes(const struct op *op)
{
    size_t n = op->n;

    if (op->model) {
        n += op->model->t * op->model->M * sizeof(double);
        if (op->factor)
            n += op->model->Mv * op->model->Mv / 2 * sizeof(double);
    }
    return n;
}

/* One transaction over the whole list.  *bad: the record that will never go in; NULL: the failure
 * concerns all and may pass. */
static enum status write_list(struct store *st, struct op *list, struct op **bad, size_t *bytes,
                              struct err *err)
{
    enum status rc = sdb_begin(st->db, err);

    *bad = NULL;
    *bytes = 0;
    for (struct op *op = list; op && rc == ST_OK; op = op->next) {
        rc = apply(st->db, op, err);
        *bytes += op_bytes(op);
        if (rc != ST_OK && !sdb_retry(st->db))
            *bad = op;
    }
    if (rc == ST_OK)
        rc = sdb_commit(st->db, err);
    if (rc != ST_OK)
        sdb_rollback(st->db);
    return rc;
}

static void answer(struct store *st, struct op *op, enum status rc, const struct err *err)
{
    pthread_mutex_lock(&st->lock);
    op->waiter->rc = rc;
    if (err)
        op->waiter->err = *err;
    op->waiter->done = true;
    pthread_cond_broadcast(&st->answered);
    pthread_mutex_unlock(&st->lock);
}

/* Answers everybody who waits in the list and takes their records out of it. */
static struct op *answer_all(struct store *st, struct op *list, enum status rc,
                             const struct err *err)
{
    struct op **at = &list;

    while (*at) {
        struct op *op = *at;
        if (!op->waiter) {
            at = &op->next;
            continue;
        }
        *at = op->next;
        struct err own = { 0 };
        enum status mine = rc;
        if (rc == ST_OK && op->kind == OP_COPY)
            mine = sdb_copy(st->db, op->text[0], &own);
        if (op->kind == OP_VISIT) /* reading goes on when writing cannot */
            mine = op->visit(st->db, op->ctx, &own);
        answer(st, op, mine, rc == ST_OK || op->kind == OP_VISIT ? &own : err);
        op_free(op);
    }
    return list;
}

static void list_free(struct op *list)
{
    while (list) {
        struct op *next = list->next;
        op_free(list);
        list = next;
    }
}

/* Writes a list; returns what is still to be written (a failure that may pass), else NULL. */
static struct op *write_all(struct store *st, struct op *list)
{
    for (;;) {
        struct err err = { 0 };
        struct op *bad;
        size_t bytes;
        enum status rc = write_list(st, list, &bad, &bytes, &err);

        if (rc == ST_OK) {
            atomic_store(&st->saved_at, (int64_t)time(NULL));
            set_trouble(st, "");
            list_free(answer_all(st, list, ST_OK, NULL));
            if (bytes > CHECKPOINT_FROM)
                sdb_checkpoint(st->db);
            return NULL;
        }
        log_info("session: %s", err.msg);
        set_trouble(st, err.msg);
        if (!bad)
            return answer_all(st, list, rc, &err);
        struct op **at = &list;
        while (*at != bad)
            at = &(*at)->next;
        *at = bad->next;
        op_free(bad);
    }
}

static void wait_for_work(struct store *st, bool behind)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += RETRY_S;
    while (!st->stop && !st->head) {
        if (!behind)
            pthread_cond_wait(&st->work, &st->lock);
        else if (pthread_cond_timedwait(&st->work, &st->lock, &until) == ETIMEDOUT)
            return;
    }
}

static bool all_lazy(const struct op *op)
{
    for (; op; op = op->next)
        if (!op->lazy)
            return false;
    return true;
}

/* Lets trace points and messages gather for a while. */
static void wait_lazily(struct store *st)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += LAZY_S;
    while (!st->stop && all_lazy(st->head))
        if (pthread_cond_timedwait(&st->work, &st->lock, &until) == ETIMEDOUT)
            return;
}

static void *writer(void *arg)
{
    struct store *st = arg;
    struct op *left = NULL; /* what could not be written yet */
    bool stop = false;

    while (!stop) {
        pthread_mutex_lock(&st->lock);
        wait_for_work(st, left != NULL);
        wait_lazily(st);
        stop = st->stop;
        struct op **end = &left;
        while (*end)
            end = &(*end)->next;
        *end = st->head;
        st->head = st->tail = NULL;
        pthread_mutex_unlock(&st->lock);
        if (left)
            left = write_all(st, left);
        size_t n = 0;
        for (struct op *op = left; op; op = op->next)
            n++;
        pthread_mutex_lock(&st->lock);
        st->pending = n;
        for (struct op *op = st->head; op; op = op->next)
            st->pending++;
        for (struct op *op = st->held; op; op = op->next)
            st->pending++;
        pthread_mutex_unlock(&st->lock);
    }
    list_free(left);
    return NULL;
}

/* Signals belong to the main thread. */
static enum status start_thread(struct store *st, struct err *err)
{
    pthread_condattr_t attr;
    sigset_t all, old;

    pthread_mutex_init(&st->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&st->work, &attr);
    pthread_cond_init(&st->answered, &attr);
    pthread_condattr_destroy(&attr);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int rc = pthread_create(&st->thread, NULL, writer, st);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    st->threaded = rc == 0;
    if (rc != 0)
        return err_set(err, ST_LIMIT, "the session's thread cannot start: %s", strerror(rc));
    return ST_OK;
}

static enum status ask_thread(struct store *st, enum op_kind kind, const char *path,
                              visit_fn *visit, void *ctx, struct err *err)
{
    struct waiter w = { .rc = ST_OK };
    struct op *op = op_new(st, kind);

    if (!op)
        return err_nomem(err, sizeof *op, "a record of the session");
    op->waiter = &w;
    op->visit = visit;
    op->ctx = ctx;
    op->text[0] = copied(st, path);
    if (!op->text[0]) {
        op_free(op);
        return err_nomem(err, 0, "a path");
    }
    push(st, op, 1);
    pthread_mutex_lock(&st->lock);
    while (!w.done)
        pthread_cond_wait(&st->answered, &st->lock);
    pthread_mutex_unlock(&st->lock);
    if (w.rc != ST_OK && err)
        *err = w.err;
    return w.rc;
}

/* Handing over: the main thread. */

static void put_text(struct store *st, enum op_kind kind, int64_t id, const char *a, const char *b)
{
    struct op *op = op_new(st, kind);

    if (!op)
        return;
    op->id = id;
    op->text[0] = copied(st, a);
    op->text[1] = copied(st, b);
    push(st, op, 2);
}

/* Takes data. */
static void put_blob(struct store *st, enum op_kind kind, const char *owner, const char *what,
                     int64_t part, void *data, size_t n, bool lazy)
{
    struct op *op = op_new(st, kind);

    if (!op) {
        free(data);
        return;
    }
    op->id = part;
    op->lazy = lazy;
    op->data = data;
    op->n = n;
    op->text[0] = copied(st, owner);
    op->text[1] = copied(st, what);
    push(st, op, 2);
}

static void put_copy(struct store *st, const char *owner, const char *what, const void *data,
                     size_t n)
{
    void *copy = mem_calloc(n, 1, "a record of the session", NULL);

    if (!copy) {
        set_trouble(st, "out of memory");
        return;
    }
    if (n)
        memcpy(copy, data, n);
    put_blob(st, OP_BLOB, owner, what, 0, copy, n, false);
}

/* Says once that nothing can be written, and once that it can again. */
static void tell_trouble(struct store *st)
{
    const char *words = store_trouble(st);

    if (*words && !st->told) {
        st->told = true;
        ws_tell(st->ws, REC_WARNING, NULL, "session", "free space, then: save",
                "the session is not being saved: %s", words);
    } else if (!*words && st->told) {
        st->told = false;
        ws_note(st->ws, "session", "the session is being saved again");
    }
}

void store_command(struct store *st, const char *line, enum status rc, double seconds)
{
    struct op *op = op_new(st, OP_COMMAND);

    if (!op)
        return;
    op->id = (int64_t)time(NULL);
    op->seconds = seconds;
    op->text[0] = copied(st, line);
    op->text[1] = copied(st, status_name(rc));
    push(st, op, 2);
    tell_trouble(st);
}

void store_message(struct store *st, const struct rec *r)
{
    if (r->type == REC_RESULT || r->type == REC_TICK)
        return; /* results are in the runs; a page of help need not be kept */
    struct op *op = op_new(st, OP_MESSAGE);

    if (!op)
        return;
    op->lazy = true;
    op->id = (int64_t)time(NULL);
    op->text[0] = copied(st, rec_type_name(r->type));
    op->text[1] = copied(st, r->name);
    op->text[2] = copied(st, r->run);
    op->text[3] = copied(st, buf_str(&r->text));
    push(st, op, 4);
}

/* The number under which this very state of a dataset is kept; written when it is new. */
static int64_t dataset_version(struct store *st, const struct workspace *ws,
                               const struct dataset *ds)
{
    struct buf body = { 0 };
    char owner[24];

    if (!ds || !ds->table)
        return 0;
    store_json_dataset(&body, ds, store_recipe(ws, ds));
    for (size_t i = st->nversion; i-- > 0;)
        if (strcmp(st->version[i].body, buf_str(&body)) == 0) {
            buf_free(&body);
            return st->version[i].id;
        }
    char *text = buf_take(&body);
    if (!text || mem_grow((void **)&st->version, &st->capversion, st->nversion + 1,
                          sizeof *st->version, "the session", NULL) != ST_OK) {
        free(text);
        set_trouble(st, "out of memory");
        return 0;
    }
    const int64_t id = st->next_dataset++;
    st->version[st->nversion++] = (struct store_version){ .id = id, .body = text };
    put_text(st, OP_DATASET, id, text, "");
    snprintf(owner, sizeof owner, "d%lld", (long long)id);
    if (ds->split.part)
        put_copy(st, owner, "part", ds->split.part, ds->table->n);
    if (ds->split.fold) {
        uint32_t *fold = mem_calloc(ds->table->n, sizeof *fold, "folds", NULL);
        if (!fold)
            return id;
        for (size_t i = 0; i < ds->table->n; i++)
            fold[i] = htole32(ds->split.fold[i]);
        put_blob(st, OP_BLOB, owner, "fold", 0, fold, ds->table->n * sizeof *fold, false);
    }
    return id;
}

static int64_t put_snapshot(void *ctx, const struct snapshot *s)
{
    struct store *st = ctx;
    struct buf body = { 0 };
    int64_t *ids = mem_calloc(s->ndata ? s->ndata : 1, sizeof *ids, "the session", NULL);

    for (size_t i = 0; ids && i < s->ndata; i++)
        ids[i] = dataset_version(st, st->ws, s->data[i]);
    if (ids)
        store_json_snapshot(&body, s, ids);
    free(ids);
    if (!body.len || body.failed) {
        buf_free(&body);
        set_trouble(st, "out of memory");
        return 0;
    }
    put_text(st, OP_SNAPSHOT, st->next_snapshot, buf_str(&body), "");
    buf_free(&body);
    return st->next_snapshot++;
}

/* Lines of the script that are new, or new at their place, and what is known of them. */
static void put_script(struct store *st, const struct workspace *ws)
{
    timeline_each_new((struct workspace *)ws, put_snapshot, st);
    for (; st->nscript < ws->nscript; st->nscript++) {
        const struct past *p = timeline_past(ws, st->nscript);
        put_text(st, OP_SCRIPT, (int64_t)st->nscript + 1, ws->script[st->nscript], "");
        struct op *op = p ? op_new(st, OP_PAST) : NULL;
        if (!op)
            continue;
        op->id = (int64_t)st->nscript + 1;
        op->data = mem_calloc(1, sizeof *p, "a record of the session", NULL);
        if (op->data) {
            memcpy(op->data, p, sizeof *p);
            push(st, op, 0);
        } else {
            op_free(op);
        }
    }
}

void store_script_from(struct store *st, size_t at)
{
    st->nscript = at < st->nscript ? at : st->nscript;
}

void store_state(struct store *st, const struct workspace *ws)
{
    struct buf body = { 0 };
    size_t away = 0;

    if (timeline_view(ws) != SIZE_MAX)
        return; /* what is shown is not what is current */
    int64_t *ids = mem_calloc(ws->ndata + st->naway, sizeof *ids, "the session", NULL);
    put_script(st, ws);
    if (!ids) {
        set_trouble(st, "out of memory");
        return;
    }
    for (size_t i = 0; i < ws->ndata; i++)
        ids[i] = dataset_version(st, ws, ws->data[i]);
    /* One opened since under its name takes an absent dataset's place. */
    for (size_t i = 0; i < st->naway; i++) {
        bool replaced = false;
        for (size_t k = 0; k < ws->ndata && !replaced; k++)
            replaced = strcmp(ws->data[k]->name, st->away[i].name) == 0;
        if (!replaced)
            ids[ws->ndata + away++] = st->away[i].id;
    }
    store_json_state(&body, ws, ids, away);
    free(ids);
    char *text = buf_take(&body);
    if (!text) {
        set_trouble(st, "out of memory");
        return;
    }
    if (!st->state || strcmp(st->state, text) != 0)
        put_text(st, OP_STATE, 0, "workspace", text);
    free(st->state);
    st->state = text;
}

static struct kept_run *kept(struct store *st, const struct run *r)
{
    for (size_t i = 0; i < st->nrun; i++)
        if (strcmp(st->run[i].name, r->id) == 0)
            return &st->run[i];
    if (mem_grow((void **)&st->run, &st->caprun, st->nrun + 1, sizeof *st->run, "the session",
                 NULL) != ST_OK) {
        set_trouble(st, "out of memory");
        return NULL;
    }
    struct kept_run *k = &st->run[st->nrun++];
    *k = (struct kept_run){ .row = st->next_run++ };
    snprintf(k->name, sizeof k->name, "%s", r->id);
    return k;
}

static bool ended(const struct run *r)
{
    return r->state != RUN_QUEUED && r->state != RUN_RUNNING;
}

void store_trace(struct store *st, const struct run *r)
{
    struct kept_run *k = kept(st, r);
    const double now = seconds_now();

    if (!k || k->whole_trace || r->ntrace < k->points)
        return;
    if (!k->body && !ended(r))
        store_run(st, r); /* a run that a crash interrupts is known */
    const size_t from = ended(r) ? 0 : k->points, n = r->ntrace - from;
    if (!ended(r) && (n == 0 || now - k->traced < 1))
        return; /* gathered; the next call or the run's end brings them */
    unsigned char *packed = mem_calloc(n, STORE_POINT, "a trace", NULL);
    if (!packed) {
        set_trouble(st, "out of memory");
        return;
    }
    store_pack_points(packed, r->trace + from, n);
    if (ended(r)) /* one piece replaces the many */
        put_blob(st, OP_BLOB, r->id, "trace", 0, packed, n * STORE_POINT, false);
    else
        put_blob(st, OP_PART, r->id, "trace", (int64_t)k->parts++, packed, n * STORE_POINT, true);
    k->points = r->ntrace;
    k->whole_trace = ended(r);
    k->traced = now;
}

/* Every evaluation of a tuning. */
static void put_tuning(struct store *st, const struct run *r)
{
    const struct tune_result *t = &r->tune;
    const size_t n = t->ntrace * (t->nhp + STORE_TUNE_EXTRA);
    double *packed = mem_calloc(n, sizeof *packed, "a trace", NULL);

    if (!packed) {
        set_trouble(st, "out of memory");
        return;
    }
    store_pack_tuning(packed, t);
    put_blob(st, OP_BLOB, r->id, "tuning", 0, packed, n * sizeof *packed, false);
}

static void put_encoding(struct store *st, struct kept_run *k, const struct run *r)
{
    char *text = r->has_enc && !k->encoding ? encoding_to_json(&r->enc, NULL) : NULL;

    if (!text)
        return;
    put_blob(st, OP_BLOB, r->id, "encoding", 0, text, strlen(text), false);
    k->encoding = true;
}

/* The coefficients of CG: what Lanczos estimates are made of. */
static void put_history(struct store *st, struct kept_run *k, const struct run *r)
{
    const struct solve_info *s = &r->solve;

    if (k->history || !ended(r))
        return;
    if (r->kind == RUN_TUNE) {
        put_tuning(st, r);
        k->history = true;
    }
    if (!s->alpha || !s->beta)
        return;
    double *both = mem_calloc(2 * s->nhist, sizeof *both, "a trace", NULL);
    if (!both)
        return;
    memcpy(both, s->alpha, s->nhist * sizeof *both);
    memcpy(both + s->nhist, s->beta, s->nhist * sizeof *both);
    store_pack_doubles(both, 2 * s->nhist);
    put_blob(st, OP_BLOB, r->id, "cg", 0, both, 2 * s->nhist * sizeof *both, false);
    k->history = true;
}

void store_run(struct store *st, const struct run *r)
{
    struct kept_run *k = kept(st, r);
    struct buf body = { 0 };

    if (!k)
        return;
    /* What the row speaks of goes first: a run that is known as done has its weights, encoding and
     * trace, whatever happens in between. */
    if (ended(r) && r->model && !k->model)
        store_model(st, r, true);
    put_encoding(st, k, r);
    if (ended(r)) {
        store_trace(st, r);
        put_history(st, k, r);
    }
    if (r->data && r->data->table)
        k->data = dataset_version(st, st->ws, r->data);
    store_json_run(&body, r, k->data);
    char *text = buf_take(&body);
    if (!text) {
        set_trouble(st, "out of memory");
        return;
    }
    if (k->body && strcmp(k->body, text) == 0) {
        free(text);
    } else {
        put_text(st, OP_RUN, k->row, r->id, text);
        free(k->body);
        k->body = text;
    }
    if (ended(r) && r->star && k->model && !k->factor && r->model && r->model->L)
        store_model(st, r, true);
}

/* Is this run among those whose variance factor is kept? */
static bool keeps_factor(const struct workspace *ws, const char *name)
{
    size_t newer = 0;

    for (size_t i = ws->nrun; i-- > 0;) {
        const struct run *r = ws->run[i];
        if (r->kind != RUN_FIT || !r->model)
            continue;
        if (strcmp(r->id, name) == 0)
            return r->star || newer < FACTORS_KEPT;
        newer++;
    }
    return false;
}

static void drop_old_factors(struct store *st)
{
    for (size_t i = 0; i < st->nrun; i++)
        if (st->run[i].factor && !keeps_factor(st->ws, st->run[i].name)) {
            put_text(st, OP_DROP, 0, st->run[i].name, "L");
            st->run[i].factor = false;
        }
}

void store_forget_run(struct store *st, const struct run *r)
{
    for (size_t i = 0; i < st->nrun; i++)
        if (strcmp(st->run[i].name, r->id) == 0) {
            free(st->run[i].body);
            memmove(&st->run[i], &st->run[i + 1], (--st->nrun - i) * sizeof *st->run);
            break;
        }
    put_text(st, OP_FORGET, 0, r->id, "");
}

void store_model(struct store *st, const struct run *r, bool with_factor)
{
    struct kept_run *k = kept(st, r);
    struct model *m = r->model;

    if (!k || !m)
        return;
    if (with_factor && m->L && (uint64_t)m->Mv * (m->Mv + 1) / 2 * sizeof(double) > FACTOR_MOST) {
        ws_note(st->ws, "session", "the variance factor of %s is too large for the session: it is "
                "worked out again from the data after a resume", r->id);
        with_factor = false;
    }
    if (k->model && (k->factor || !with_factor || !m->L))
        return; /* immutable: written once */
    struct op *op = op_new(st, OP_MODEL);
    if (!op)
        return;
    op->model = model_ref(m);
    op->factor = with_factor && m->L; /* decided here: a job may work the factor out meanwhile */
    op->text[0] = copied(st, r->id);
    const bool op_factor = op->factor;
    push(st, op, 1);
    k->model = true;
    k->factor |= op_factor;
    drop_old_factors(st);
}

/* Life. */

static void put_meta(struct store *st)
{
    struct utsname u;
    char created[32];

    snprintf(created, sizeof created, "%lld", (long long)time(NULL));
    put_text(st, OP_META, 0, "program", "gpdesk " PACKAGE_VERSION);
    put_text(st, OP_META, 0, "created", created);
    if (uname(&u) == 0)
        put_text(st, OP_META, 0, "machine", u.machine);
}

/* A session that begins with work already done. */
static void put_everything(struct store *st)
{
    struct workspace *ws = st->ws;

    store_state(st, ws);
    for (size_t i = 0; i < ws->nrun; i++) {
        if (ws->run[i]->state == RUN_QUEUED)
            continue;
        if (ended(ws->run[i]) && ws->run[i]->model)
            store_model(st, ws->run[i], keeps_factor(ws, ws->run[i]->id));
        store_run(st, ws->run[i]);
    }
    for (size_t i = 0; i < ws->nbin; i++)
        store_run(st, ws->bin[i]);
}

/* What the file holds already need not be written again. */
static enum status take_loaded(struct store *st, struct store_loaded *l, struct err *err)
{
    st->version = l->version;
    st->nversion = st->capversion = l->nversion;
    l->version = NULL;
    l->nversion = 0;
    st->next_dataset = l->next_dataset;
    st->next_run = l->next_run;
    st->next_snapshot = l->next_snapshot;
    st->nscript = l->nscript;
    st->away = l->away;
    st->naway = l->naway;
    l->away = NULL;
    l->naway = 0;
    enum status rc = mem_grow((void **)&st->run, &st->caprun, l->nrun, sizeof *st->run,
                              "the session", err);
    for (size_t i = 0; rc == ST_OK && i < l->nrun; i++) {
        struct kept_run *k = &st->run[st->nrun++];
        *k = (struct kept_run){.row = l->run[i].row,
                               .data = l->run[i].data,
                               .parts = l->run[i].parts,
                               .points = l->run[i].points,
                               .whole_trace = true,
                               .history = true,
                               .encoding = true,
                               .model = l->run[i].model,
                               .factor = l->run[i].factor,
                               .body = l->run[i].body};
        l->run[i].body = NULL;
        snprintf(k->name, sizeof k->name, "%s", l->run[i].name);
    }
    return rc;
}

static void store_free(struct store *st)
{
    sdb_close(st->db);
    for (size_t i = 0; i < st->nversion; i++)
        free(st->version[i].body);
    for (size_t i = 0; i < st->nrun; i++)
        free(st->run[i].body);
    for (size_t i = 0; i < st->naway; i++)
        free(st->away[i].name);
    free(st->away);
    free(st->version);
    free(st->run);
    free(st->state);
    free(st->path);
    free(st);
}

static void tell_resumed(struct workspace *ws)
{
    struct buf words = { 0 };

    buf_printf(&words, "%zu dataset%s, %zu run%s", ws->ndata, ws->ndata == 1 ? "" : "s", ws->nrun,
               ws->nrun == 1 ? "" : "s");
    if (ws->cur < ws->ndata) {
        buf_puts(&words, "; current: ");
        text_safe(&words, ws->data[ws->cur]->name, 60);
    }
    for (size_t i = 0; i < ws->nrun; i++)
        if (strncmp(ws->run[i]->verdict, "interrupted", 11) == 0)
            buf_printf(&words, "; %s was %s", ws->run[i]->id, ws->run[i]->verdict);
    ws_note(ws, "session", "going on with %s: %s", sdb_shown(store_of(ws)->db), buf_str(&words));
    buf_free(&words);
}

enum status store_open(struct workspace *ws, const char *path, struct err *err)
{
    struct store_loaded loaded = { .next_dataset = 1, .next_run = 1,
                                   .next_snapshot = 1 };
    bool fresh = false;

    if (timeline_view(ws) != SIZE_MAX) {
        err_set(err, ST_STATE,
                "what is shown is an earlier state; a session begins with the present");
        err_hint(err, "at now");
        return ST_STATE;
    }
    if (store_of(ws))
        return err_set(err, ST_STATE, "a session is open already: %s", sdb_shown(store_of(ws)->db));
    struct store *st = mem_calloc(1, sizeof *st, "the session", err);
    if (!st)
        return ST_NOMEM;
    st->ws = ws;
    st->db = sdb_open(path, SDB_CREATE, &fresh, err);
    enum status rc = !st->db ? (err && err->code ? err->code : ST_IO) : ST_OK;
    if (rc == ST_OK && !(st->path = mem_strdup(sdb_path(st->db), err)))
        rc = ST_NOMEM;
    if (rc == ST_OK && !fresh)
        rc = store_load(ws, st->db, &loaded, err);
    if (rc == ST_OK)
        rc = take_loaded(st, &loaded, err);
    if (rc == ST_OK)
        rc = start_thread(st, err);
    store_loaded_free(&loaded);
    if (rc != ST_OK) {
        store_free(st);
        return rc;
    }
    owner_take(ws, &store_owner, st);
    if (fresh)
        put_meta(st);
    else
        tell_resumed(ws);
    put_everything(st);
    return ST_OK;
}

enum status store_probe(const char *path, struct err *err)
{
    bool fresh;
    struct sdb *db = sdb_open(path, SDB_OPEN, &fresh, err);

    if (!db)
        return err && err->code ? err->code : ST_IO;
    sdb_close(db);
    return ST_OK;
}

void store_close(struct store *st)
{
    if (!st)
        return;
    if (store_of(st->ws) == st)
        owner_release(st->ws, &store_owner);
    pthread_mutex_lock(&st->lock);
    hand_over(st);
    st->stop = true;
    pthread_cond_signal(&st->work);
    pthread_mutex_unlock(&st->lock);
    pthread_join(st->thread, NULL);
    list_free(st->head);
    if (*st->trouble)
        ws_warn(st->ws, "session", "the session was not saved to its end: %s", st->trouble);
    pthread_cond_destroy(&st->work);
    pthread_cond_destroy(&st->answered);
    pthread_mutex_destroy(&st->lock);
    store_free(st);
}

const char *store_path(const struct store *st)
{
    return st->path;
}

const char *store_shown(const struct store *st)
{
    return sdb_shown(st->db); /* never changes: no lock */
}

enum status store_flush(struct store *st, struct err *err)
{
    return ask_thread(st, OP_FLUSH, "", NULL, NULL, err);
}

enum status store_copy(struct store *st, const char *path, struct err *err)
{
    return ask_thread(st, OP_COPY, path, NULL, NULL, err);
}

void store_put_part(struct store *st, const char *owner, const char *what, int64_t part, void *data,
                    size_t n)
{
    put_blob(st, OP_PART, owner, what, part, data, n, false);
}

void store_drop_blob(struct store *st, const char *owner, const char *what)
{
    put_text(st, OP_DROP, 0, owner, what);
}

struct asking { const char *owner, *what; uint64_t bytes; bool has; };

static enum status look_for_blob(struct sdb *db, void *ctx, struct err *err)
{
    struct asking *a = ctx;

    (void)err;
    a->has = sdb_blob_size(db, a->owner, a->what) == a->bytes;
    return ST_OK;
}

bool store_has_blob(struct store *st, const char *owner, const char *what, uint64_t bytes)
{
    struct asking a = { .owner = owner, .what = what, .bytes = bytes };

    return ask_thread(st, OP_VISIT, "", look_for_blob, &a, NULL) == ST_OK && a.has;
}

struct recalling { struct store *st; int64_t id; struct snapshot *out; };

static enum status recall(struct sdb *db, void *ctx, struct err *err)
{
    struct recalling *r = ctx;
    char *body = sdb_snapshot(db, r->id, err);

    if (!body)
        return err->code ? err->code : ST_FORMAT;
    const enum status rc = store_load_snapshot(r->st->ws, db, r->st->version, r->st->nversion, body,
                                               &r->out, err);
    if (rc == ST_OK)
        r->out->id = r->id;
    free(body);
    return rc;
}

enum status store_recall(struct store *st, int64_t id, struct snapshot **out, struct err *err)
{
    struct recalling r = { .st = st, .id = id };
    const enum status rc = ask_thread(st, OP_VISIT, "", recall, &r, err);

    *out = r.out;
    return rc;
}

int64_t store_saved_at(const struct store *st)
{
    return atomic_load(&st->saved_at);
}

const char *store_trouble(const struct store *st)
{
    struct store *own = (struct store *)st; /* the copy shown is not part of its value */

    pthread_mutex_lock(&own->lock);
    memcpy(own->shown, own->trouble, sizeof own->shown);
    pthread_mutex_unlock(&own->lock);
    return own->shown;
}
