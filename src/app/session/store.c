/* app/session/store.c -- the public side of the session: the main thread hands over copies, and one
 * thread writes.
 *
 * The main thread builds each record (text, JSON, packed numbers) and puts it into the queue
 * (store_queue.h). The changes of one statement are handed over together (store_hold), so that no
 * file ever contains half of it. Commands and runs are written at once. Messages and the points of
 * a running trace are written with them, or a little later. */
#include "app/session/store.h"

#include "app/session/store_gate.h"
#include "app/session/store_impl.h"
#include "app/session/store_queue.h"
#include "app/core/workspace_exec.h"
#include "app/core/ws_tell.h"
#include "config.h"
#include "base/mem.h"
#include "base/text.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

enum { FACTORS_KEPT = 5 }; /* the number of newest fits whose variance factor is kept */
#define FACTOR_MOST ((uint64_t)1 << 30) /* bytes; larger factors are recomputed from the data */
/* Seconds that records may wait for others: messages, and points of a running trace. */
#define MESSAGE_WAITS 0.1
#define TRACE_WAITS 2.0

/* What the file contains of a run. */
struct kept_run {
    char name[16];
    int64_t data;               /* the dataset it was made from, loaded or not */
    int64_t row;
    char *body;                 /* as last written */
    size_t parts, points;       /* parts and points of its trace */
    bool whole_trace, history, learned, encoding, weights, model, factor, unfinished;
    bool forgotten;             /* it was removed, and the file has not been told yet */
    double traced;              /* when points were last handed over, in seconds */
};
struct store {
    struct workspace *ws;
    struct sdb *db;             /* used only by the writing thread once that runs */
    struct store_queue *queue;
    char *path;
    char shown[200];            /* the text that store_trouble has lent */
    bool told;                  /* the user was told that nothing can be written */
    bool fresh, described;      /* a new session; its metadata are written */
    bool mending;
    dev_t device; ino_t inode;  /* of the file that is written to */
    size_t named[2], reserved[2]; /* by kind: the last number used, the last one reserved for us */
    struct store_version *version;
    size_t nversion, capversion;
    int64_t next_dataset, next_run, next_snapshot;
    size_t nscript;
    char *state;
    struct store_away *away;
    size_t naway;
    struct kept_run *run;
    size_t nrun, caprun;
};

/* Without memory a record is missed. What refers to it is then not written either, and all that is
 * missing is made again later (store_mend): the functions that make records compare the number of
 * misses before and after. */
static void lost(struct store *st)
{
    store_queue_missed(st->queue);
}

static size_t misses(const struct store *st)
{
    return store_queue_misses(st->queue);
}

void store_hold(struct store *st)
{
    if (st)
        store_queue_hold(st->queue);
}

void store_release(struct store *st)
{
    if (!st)
        return;
    store_mend(st);
    store_queue_release(st->queue);
}

static void put_text(struct store *st, enum op_kind kind, int64_t id, const char *a, const char *b)
{
    store_queue_text(st->queue, kind, id, a, b);
}

/* Takes ownership of data. */
static void put_blob(struct store *st, enum op_kind kind, const char *owner, const char *what,
                     int64_t part, void *data, size_t n, double wait)
{
    store_queue_blob(st->queue, kind, owner, what, part, data, n, wait);
}

static void put_copy(struct store *st, const char *owner, const char *what, const void *data,
                     size_t n)
{
    void *copy = mem_calloc(n, 1, "a record of the session", NULL);

    if (!copy) {
        lost(st);
        return;
    }
    if (n)
        memcpy(copy, data, n);
    put_blob(st, OP_BLOB, owner, what, 0, copy, n, 0);
}

/* Says once that nothing can be written, and once that writing works again. */
void store_tell_trouble(struct store *st)
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
    struct op *op = store_queue_op(st->queue, OP_COMMAND);

    if (!op)
        return;
    op->id = (int64_t)time(NULL);
    op->seconds = seconds;
    op->text[0] = store_queue_copy(st->queue, line);
    op->text[1] = store_queue_copy(st->queue, status_name(rc));
    store_queue_push(st->queue, op, 2);
    store_tell_trouble(st);
}

void store_message(struct store *st, const struct rec *r)
{
    if (r->type == REC_RESULT || r->type == REC_TICK)
        return; /* results are in the runs; a help page need not be kept */
    struct op *op = store_queue_op(st->queue, OP_MESSAGE);

    if (!op)
        return;
    op->due = store_queue_now() + MESSAGE_WAITS;
    op->id = (int64_t)time(NULL);
    op->text[0] = store_queue_copy(st->queue, rec_type_name(r->type));
    op->text[1] = store_queue_copy(st->queue, r->name);
    op->text[2] = store_queue_copy(st->queue, r->run);
    op->text[3] = store_queue_copy(st->queue, buf_str(&r->text));
    store_queue_push(st->queue, op, 4);
}

static void put_folds(struct store *st, const char *owner, const struct dataset *ds)
{
    uint32_t *fold = mem_calloc(ds->table->n, sizeof *fold, "folds", NULL);

    if (!fold) {
        lost(st);
        return;
    }
    for (size_t i = 0; i < ds->table->n; i++)
        fold[i] = htole32(ds->split.fold[i]);
    put_blob(st, OP_BLOB, owner, "fold", 0, fold, ds->table->n * sizeof *fold, 0);
}

/* The number under which this exact state of a dataset is stored; a new state is written. 0: there
 * is no dataset, or it was missed. */
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
        lost(st);
        return 0;
    }
    const int64_t id = st->next_dataset++;
    const size_t before = misses(st);
    put_text(st, OP_DATASET, id, text, "");
    snprintf(owner, sizeof owner, "d%lld", (long long)id);
    if (ds->split.part)
        put_copy(st, owner, "part", ds->split.part, ds->table->n);
    if (ds->split.fold)
        put_folds(st, owner, ds);
    if (misses(st) != before) {
        free(text);
        return 0;
    }
    st->version[st->nversion++] = (struct store_version){ .id = id, .body = text };
    return id;
}

static int64_t put_snapshot(void *ctx, const struct snapshot *s)
{
    struct store *st = ctx;
    struct buf body = { 0 };
    const size_t before = misses(st);
    int64_t *ids = mem_calloc(s->ndata ? s->ndata : 1, sizeof *ids, "the session", NULL);

    for (size_t i = 0; ids && i < s->ndata; i++)
        ids[i] = dataset_version(st, st->ws, s->data[i]);
    if (ids)
        store_json_snapshot(&body, s, ids);
    free(ids);
    if (!body.len || body.failed)
        lost(st);
    if (misses(st) == before)
        put_text(st, OP_SNAPSHOT, st->next_snapshot, buf_str(&body), "");
    buf_free(&body);
    return misses(st) == before ? st->next_snapshot++ : 0;
}

/* Writes the lines of the script that are new, or have moved, with what is known of them. It stops
 * at the first that is missed: the next call begins there. */
static void put_script(struct store *st, const struct workspace *ws)
{
    const size_t before = misses(st);

    timeline_each_new((struct workspace *)ws, put_snapshot, st);
    for (; st->nscript < ws->nscript && misses(st) == before; st->nscript++) {
        const struct past *p = timeline_past(ws, st->nscript);
        put_text(st, OP_SCRIPT, (int64_t)st->nscript + 1, ws->script[st->nscript], "");
        struct op *op = p ? store_queue_op(st->queue, OP_PAST) : NULL;
        if (!op)
            continue;
        op->id = (int64_t)st->nscript + 1;
        op->data = mem_calloc(1, sizeof *p, "a record of the session", NULL);
        if (op->data)
            memcpy(op->data, p, sizeof *p);
        else
            lost(st);
        store_queue_push(st->queue, op, op->data ? 0 : 1); /* the record is void without its data */
    }
    if (misses(st) != before && st->nscript > 0)
        st->nscript--; /* the line before may be the one that was missed: it is written again */
}

void store_script_from(struct store *st, size_t at)
{
    st->nscript = at < st->nscript ? at : st->nscript;
}

void store_state(struct store *st, const struct workspace *ws)
{
    const size_t before = misses(st);
    struct buf body = { 0 };
    size_t away = 0;

    if (timeline_view(ws) != SIZE_MAX)
        return; /* the state that is shown is not the current one */
    int64_t *ids = mem_calloc(ws->ndata + st->naway, sizeof *ids, "the session", NULL);
    put_script(st, ws);
    if (!ids) {
        lost(st);
        return;
    }
    for (size_t i = 0; i < ws->ndata; i++)
        ids[i] = dataset_version(st, ws, ws->data[i]);
    /* A dataset that has been opened since under the same name replaces an absent one. */
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
    if (!text)
        lost(st);
    if (misses(st) == before && (!st->state || strcmp(st->state, text) != 0))
        put_text(st, OP_STATE, 0, "workspace", text);
    if (misses(st) != before) {
        free(text);
        return;
    }
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
        lost(st);
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
    const double now = store_queue_now();

    if (!k || k->whole_trace || r->ntrace < k->points)
        return;
    if (!k->body && !ended(r))
        store_run(st, r); /* so that a run interrupted by a crash is known */
    const size_t from = ended(r) ? 0 : k->points, n = r->ntrace - from;
    if (!ended(r) && (n == 0 || now - k->traced < 1))
        return; /* they are collected; the next call or the end of the run writes them */
    unsigned char *packed = mem_calloc(n, STORE_POINT, "a trace", NULL);
    if (!packed) {
        lost(st);
        return;
    }
    store_pack_points(packed, r->trace + from, n);
    const size_t before = misses(st);
    if (ended(r)) /* one piece replaces the many small ones */
        put_blob(st, OP_BLOB, r->id, "trace", 0, packed, n * STORE_POINT, 0);
    else
        put_blob(st, OP_PART, r->id, "trace", (int64_t)k->parts, packed, n * STORE_POINT,
                 TRACE_WAITS);
    if (misses(st) != before)
        return;
    k->parts += !ended(r);
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
        lost(st);
        return;
    }
    store_pack_tuning(packed, t);
    put_blob(st, OP_BLOB, r->id, "tuning", 0, packed, n * sizeof *packed, 0);
}

static void put_encoding(struct store *st, struct kept_run *k, const struct run *r)
{
    if (!r->has_enc || k->encoding)
        return;
    char *text = encoding_to_json(&r->enc, NULL);
    if (!text) {
        lost(st);
        return;
    }
    const size_t before = misses(st);
    put_blob(st, OP_BLOB, r->id, "encoding", 0, text, strlen(text), 0);
    k->encoding = misses(st) == before;
}

/* What the maps of a kernel have learned, one block after the other, before the first text that
 * names them. */
static void put_weights(struct store *st, struct kept_run *k, const struct run *r)
{
    const struct kernel_nets nets = kernel_learned_nets(&r->fit.kernel);
    size_t n = 0;

    for (size_t t = 0; t < KERNEL_MAX_TERMS; t++)
        n += nets.of[t] ? net_bytes(nets.of[t]) : 0;
    if (n == 0 || k->weights)
        return;
    unsigned char *bytes = mem_calloc(n, 1, "weights", NULL), *at = bytes;
    if (!bytes) {
        lost(st);
        return;
    }
    for (size_t t = 0; t < KERNEL_MAX_TERMS; t++)
        if (nets.of[t]) {
            net_write(nets.of[t], at);
            at += net_bytes(nets.of[t]);
        }
    const size_t before = misses(st);
    put_blob(st, OP_BLOB, r->id, STORE_WEIGHTS, 0, bytes, n, 0);
    k->weights = misses(st) == before;
}

/* The steps of a map that a fit learned anew. */
static void put_learned(struct store *st, struct kept_run *k, const struct run *r)
{
    const size_t n = r->nlearned, before = misses(st);
    unsigned char *packed = k->learned || !n ? NULL : mem_calloc(n, STORE_POINT, "a trace", NULL);

    if (k->learned || !n)
        return;
    if (!packed) {
        lost(st);
        return;
    }
    store_pack_points(packed, r->learned, n);
    put_blob(st, OP_BLOB, r->id, "learned", 0, packed, n * STORE_POINT, 0);
    k->learned = misses(st) == before;
}

/* The coefficients of conjugate gradients, from which Lanczos estimates are made. */
static void put_history(struct store *st, struct kept_run *k, const struct run *r)
{
    const struct solve_info *s = &r->solve;
    const size_t before = misses(st);

    if (k->history || !ended(r))
        return;
    if (r->kind == RUN_TUNE) {
        put_tuning(st, r);
        k->history = misses(st) == before;
    }
    if (!s->alpha || !s->beta)
        return;
    double *both = mem_calloc(2 * s->nhist, sizeof *both, "a trace", NULL);
    if (!both) {
        lost(st);
        return;
    }
    memcpy(both, s->alpha, s->nhist * sizeof *both);
    memcpy(both + s->nhist, s->beta, s->nhist * sizeof *both);
    store_pack_doubles(both, 2 * s->nhist);
    put_blob(st, OP_BLOB, r->id, "cg", 0, both, 2 * s->nhist * sizeof *both, 0);
    k->history = misses(st) == before;
}

void store_run(struct store *st, const struct run *r)
{
    struct kept_run *k = kept(st, r);
    const size_t before = misses(st);
    struct buf body = { 0 };

    if (!k)
        return;
    /* What the run's row refers to is written first: a run that is known as done has its weights,
     * encoding and trace, whatever happens in between. */
    put_weights(st, k, r);
    if (ended(r) && r->model && !k->model)
        store_model(st, r, true);
    put_encoding(st, k, r);
    if (ended(r)) {
        store_trace(st, r);
        put_learned(st, k, r);
        put_history(st, k, r);
    }
    const int64_t data = r->data && r->data->table ? dataset_version(st, st->ws, r->data) : k->data;
    if (misses(st) != before)
        return; /* the row of before, if there is one, is whole */
    k->data = data;
    store_json_run(&body, r, k->data);
    char *text = buf_take(&body);
    if (!text) {
        lost(st);
        return;
    }
    if (k->body && strcmp(k->body, text) == 0) {
        free(text);
    } else {
        put_text(st, OP_RUN, k->row, r->id, text);
        free(k->body);
        k->body = text;
        if (misses(st) != before) { /* the next call writes it again */
            free(k->body);
            k->body = NULL;
        }
    }
    if (ended(r) && r->star && k->model && !k->factor && r->model && r->model->L)
        store_model(st, r, true);
}

/* True if this run is one of those whose variance factor is kept. */
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

static void drop_factor(struct store *st, const char *run)
{
    put_text(st, OP_DROP, 0, run, STORE_FACTOR);
    put_text(st, OP_DROP, 0, run, STORE_FACTOR_SINGLE);
}

static void drop_old_factors(struct store *st)
{
    for (size_t i = 0; i < st->nrun; i++)
        if (st->run[i].factor && !keeps_factor(st->ws, st->run[i].name)) {
            const size_t before = misses(st);
            drop_factor(st, st->run[i].name);
            st->run[i].factor = misses(st) != before;
        }
}

/* Of those, only a part was written before the last program ended. */
static void drop_unfinished(struct store *st)
{
    for (size_t i = 0; i < st->nrun; i++)
        if (st->run[i].unfinished) {
            const size_t before = misses(st);
            drop_factor(st, st->run[i].name);
            st->run[i].unfinished = misses(st) != before;
        }
}

static bool forget(struct store *st, const char *name)
{
    const size_t before = misses(st);

    put_text(st, OP_FORGET, 0, name, "");
    return misses(st) == before;
}

static void drop_run(struct store *st, size_t i)
{
    free(st->run[i].body);
    memmove(&st->run[i], &st->run[i + 1], (--st->nrun - i) * sizeof *st->run);
}

void store_forget_run(struct store *st, const struct run *r)
{
    const bool gone = forget(st, r->id);

    for (size_t i = 0; i < st->nrun; i++)
        if (strcmp(st->run[i].name, r->id) == 0) {
            st->run[i].forgotten = true;
            if (gone)
                drop_run(st, i);
            break;
        }
}

/* False: it was missed. */
static bool put_model(struct store *st, enum op_kind kind, const struct run *r)
{
    const size_t before = misses(st);
    struct op *op = store_queue_op(st->queue, kind);

    if (!op)
        return false;
    op->model = model_ref(r->model);
    op->text[0] = store_queue_copy(st->queue, r->id);
    store_queue_push(st->queue, op, 1);
    return misses(st) == before;
}

void store_model(struct store *st, const struct run *r, bool with_factor)
{
    struct kept_run *k = kept(st, r);
    struct model *m = r->model;

    if (!k || !m)
        return;
    /* With its training inputs a model has all that its factor is made of; weights of rows are not
     * among them. A star keeps the factor. */
    with_factor = with_factor && (r->star || !m->kind->keeps_rows || r->enc.weight);
    if (with_factor && m->L && (uint64_t)m->Mv * (m->Mv + 1) / 2 * sizeof(double) > FACTOR_MOST) {
        ws_note(st->ws, "session", "the variance factor of %s is too large for the session: it is "
                "worked out again from the data after a resume", r->id);
        with_factor = false;
    }
    /* Weights never change and are written once. Whether the factor is written is decided here,
     * because a job may still be computing it. */
    if (!k->model)
        k->model = put_model(st, OP_MODEL, r);
    if (k->model && !k->factor && with_factor && m->L)
        k->factor = put_model(st, OP_FACTOR, r);
    drop_old_factors(st);
}

/* Opening and closing. */

/* The key of the numbers of run names that must not be used again. */
static const char names_key[] = "names";
/* In a batch several names are reserved at once, so that one sync is enough for all of them. */
enum { NAMES_AHEAD = 8 };

static void names_words(const size_t number[2], char *out, size_t len)
{
    snprintf(out, len, "%zu %zu", number[RUN_FIT], number[RUN_TUNE]);
}

void store_named(struct store *st, const struct run *r)
{
    const size_t number = strtoul(r->id + 1, NULL, 10), before = misses(st);
    char words[64];

    if (number > st->named[r->kind])
        st->named[r->kind] = number;
    if (number <= st->reserved[r->kind])
        return;
    st->reserved[r->kind] = number + (st->ws->interactive ? 0 : NAMES_AHEAD - 1);
    names_words(st->reserved, words, sizeof words);
    if (st->ws->interactive) /* the keyboard never waits for the disk: until then it is "unsaved" */
        put_text(st, OP_META, 0, names_key, words);
    else
        store_queue_sync_meta(st->queue, names_key, words);
    if (misses(st) != before)
        st->reserved[r->kind] = 0; /* so that the next name, or put_names, writes them again */
}

/* If the last program was killed, someone may have seen the names that it had reserved. */
static void take_names(struct store *st)
{
    struct workspace *ws = st->ws;
    char *words = store_db_meta(st->db, names_key);
    unsigned long fits, tunes;

    if (words && sscanf(words, "%7lu %7lu", &fits, &tunes) == 2) {
        ws->nfit = fits > ws->nfit ? fits : ws->nfit;
        ws->ntune = tunes > ws->ntune ? tunes : ws->ntune;
    }
    free(words);
    st->named[RUN_FIT] = st->reserved[RUN_FIT] = ws->nfit;
    st->named[RUN_TUNE] = st->reserved[RUN_TUNE] = ws->ntune;
}

static void put_meta(struct store *st)
{
    const size_t before = misses(st);
    struct utsname u;
    char created[32];

    snprintf(created, sizeof created, "%lld", (long long)time(NULL));
    put_text(st, OP_META, 0, "program", "gpdesk " PACKAGE_VERSION);
    put_text(st, OP_META, 0, "created", created);
    if (uname(&u) == 0)
        put_text(st, OP_META, 0, "machine", u.machine);
    st->described = misses(st) == before;
}

/* The names that are used, without those that were only set aside. */
static void put_names(struct store *st)
{
    const size_t before = misses(st);
    char words[200];

    if (memcmp(st->named, st->reserved, sizeof st->named) == 0)
        return;
    names_words(st->named, words, sizeof words);
    put_text(st, OP_META, 0, names_key, words);
    if (misses(st) == before)
        memcpy(st->reserved, st->named, sizeof st->reserved);
}

/* Writes everything that the file does not contain yet: for a session that begins after work has
 * been done, and after records were missed. */
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

void store_mend(struct store *st)
{
    /* While an earlier state is shown, the present one cannot be recorded. */
    if (!store_queue_missing(st->queue) || st->mending || timeline_view(st->ws) != SIZE_MAX)
        return;
    const size_t before = misses(st);

    st->mending = true;
    store_hold(st);
    if (st->fresh && !st->described)
        put_meta(st);
    for (size_t i = st->nrun; i-- > 0;)
        if (st->run[i].forgotten && forget(st, st->run[i].name))
            drop_run(st, i);
    drop_unfinished(st);
    drop_old_factors(st);
    put_names(st);
    put_everything(st);
    /* Lines of the two logs, of commands and of messages, are not made again: no session is
     * restored from them. */
    if (misses(st) == before)
        store_queue_mended(st->queue);
    store_release(st);
    st->mending = false;
}

/* Notes what the file already contains, so that it is not written again. */
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
                               .history = true, .learned = true,
                               .encoding = true,
                               .weights = true,
                               .model = l->run[i].model,
                               .factor = l->run[i].factor,
                               .unfinished = l->run[i].unfinished,
                               .body = l->run[i].body};
        l->run[i].body = NULL;
        snprintf(k->name, sizeof k->name, "%s", l->run[i].name);
    }
    return rc;
}

static void store_free(struct store *st)
{
    store_queue_free(st->queue);
    store_db_close(st->db);
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
    ws_note(ws, "session", "going on with %s: %s", store_db_shown(store_of(ws)->db),
            buf_str(&words));
    buf_free(&words);
}

struct recalling { struct store *st; int64_t id; struct snapshot *out; };

static enum status recall(struct sdb *db, void *ctx, struct err *err)
{
    struct recalling *r = ctx;
    char *body = store_db_snapshot(db, r->id, err);

    if (!body)
        return err->code ? err->code : ST_FORMAT;
    const enum status rc = store_load_snapshot(r->st->ws, db, r->st->version, r->st->nversion, body,
                                               &r->out, err);
    if (rc == ST_OK)
        r->out->id = r->id;
    free(body);
    return rc;
}

/* A state kept under `id` (timeline.h), with its data as far as they are available.  The caller
 * owns it. */
static enum status recall_state(struct store *st, int64_t id, struct snapshot **out,
                                struct err *err)
{
    struct recalling r = { .st = st, .id = id };
    const enum status rc = store_queue_ask(st->queue, OP_VISIT, "", recall, &r, err);

    *out = r.out;
    return rc;
}

static enum status give_back(void *st, int64_t id, struct snapshot **out, struct err *err)
{
    return recall_state(st, id, out, err);
}

static void keep_run(void *st, const struct run *r)
{
    store_run(st, r);
}

static const struct timeline_keeper keeper = { give_back, keep_run };

enum status store_open(struct workspace *ws, const char *path, struct err *err)
{
    struct store_loaded loaded = { .next_dataset = 1, .next_run = 1,
                                   .next_snapshot = 1 };
    bool fresh = false;

    if (timeline_view(ws) != SIZE_MAX) {
        err_set(err, ST_STATE,
                "an earlier state is shown; a session begins with the present");
        err_hint(err, "at now");
        return ST_STATE;
    }
    if (store_of(ws))
        return err_set(err, ST_STATE, "a session is open already: %s",
                       store_db_shown(store_of(ws)->db));
    struct store *st = mem_calloc(1, sizeof *st, "the session", err);
    if (!st)
        return ST_NOMEM;
    st->ws = ws;
    st->db = store_db_open(path, SDB_CREATE, &fresh, err);
    enum status rc = !st->db ? (err && err->code ? err->code : ST_IO) : ST_OK;
    if (rc == ST_OK && !(st->path = mem_strdup(store_db_path(st->db), err)))
        rc = ST_NOMEM;
    struct stat file;
    if (rc == ST_OK && lstat(st->path, &file) != 0)
        rc = err_system(err, errno, "session", "%s: %s", store_db_shown(st->db), strerror(errno));
    if (rc == ST_OK) {
        st->device = file.st_dev;
        st->inode = file.st_ino;
    }
    if (rc == ST_OK && !fresh)
        rc = store_load(ws, st->db, &loaded, err);
    if (rc == ST_OK)
        rc = take_loaded(st, &loaded, err);
    if (rc == ST_OK)
        take_names(st);
    if (rc == ST_OK && !(st->queue = store_queue_new(st->db, workspace_fd(ws), err)))
        rc = ST_LIMIT;
    store_loaded_free(&loaded);
    if (rc != ST_OK) {
        if (st->db && !fresh) /* no part of it stays, as if that were the session */
            workspace_clear(ws);
        store_free(st);
        return rc;
    }
    owner_take(ws, &store_owner, st);
    timeline_keep(ws, &keeper, st);
    st->fresh = fresh;
    if (fresh)
        put_meta(st);
    else
        tell_resumed(ws);
    drop_unfinished(st);
    put_everything(st);
    store_mend(st);
    return ST_OK;
}

enum status store_probe(const char *path, struct err *err)
{
    bool fresh;
    struct sdb *db = store_db_open(path, SDB_OPEN, &fresh, err);

    if (!db)
        return err && err->code ? err->code : ST_IO;
    store_db_close(db);
    return ST_OK;
}

bool store_close(struct store *st)
{
    char words[200];

    if (!st)
        return true;
    if (store_of(st->ws) == st)
        owner_release(st->ws, &store_owner);
    store_mend(st);
    timeline_keep(st->ws, NULL, NULL);
    put_names(st);
    store_queue_end(st->queue);
    store_queue_trouble(st->queue, words, sizeof words);
    store_gate_release(st->ws);
    if (*words)
        ws_warn(st->ws, "session", "the session was not saved completely: %s", words);
    store_free(st);
    return !*words;
}

const char *store_path(const struct store *st)
{
    return st->path;
}

const char *store_shown(const struct store *st)
{
    return store_db_shown(st->db); /* it never changes, so no lock is needed */
}

/* Fails if the file that is written to no longer has its name. */
static enum status still_there(const struct store *st, struct err *err)
{
    struct stat now;
    const bool there = lstat(st->path, &now) == 0;

    if (there && now.st_dev == st->device && now.st_ino == st->inode)
        return ST_OK;
    err_named(err, ST_IO, "session-gone", "%s was %s while it was open: this work has no file",
              store_db_shown(st->db), there ? "replaced by another file" : "removed or moved");
    err_hint(err, "save ANOTHER.gpd");
    return ST_IO;
}

enum status store_flush(struct store *st, struct err *err)
{
    struct err first = { 0 };

    store_mend(st);
    put_names(st);
    enum status rc = store_queue_ask(st->queue, OP_FLUSH, "", NULL, NULL, &first);
    if (rc != ST_OK) { /* a failure that has passed since costs nothing */
        store_mend(st);
        rc = store_queue_ask(st->queue, OP_FLUSH, "", NULL, NULL, err);
    }
    return rc == ST_OK ? still_there(st, err) : rc;
}

enum status store_copy(struct store *st, const char *path, struct err *err)
{
    store_mend(st);
    return store_queue_ask(st->queue, OP_COPY, path, NULL, NULL, err);
}

bool store_put_part(struct store *st, const char *owner, const char *what, int64_t part, void *data,
                    size_t n)
{
    const size_t before = misses(st);

    put_blob(st, OP_PART, owner, what, part, data, n, 0);
    return misses(st) == before;
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
    a->has = store_db_blob_size(db, a->owner, a->what) == a->bytes;
    return ST_OK;
}

bool store_has_blob(struct store *st, const char *owner, const char *what, uint64_t bytes)
{
    struct asking a = { .owner = owner, .what = what, .bytes = bytes };

    return store_queue_ask(st->queue, OP_VISIT, "", look_for_blob, &a, NULL) == ST_OK && a.has;
}

int64_t store_saved_at(const struct store *st)
{
    return store_queue_saved_at(st->queue);
}

double store_unsaved(const struct store *st)
{
    return store_queue_unsaved(st->queue);
}

uint64_t store_ticket(const struct store *st)
{
    return store_queue_ticket(st->queue);
}

uint64_t store_durable(const struct store *st)
{
    return store_queue_durable(st->queue);
}

const char *store_trouble(const struct store *st)
{
    struct store *own = (struct store *)st; /* the copy that is lent does not count as a change */

    store_queue_trouble(st->queue, own->shown, sizeof own->shown);
    return own->shown;
}
