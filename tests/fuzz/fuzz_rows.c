/* tests/fuzz/fuzz_rows.c -- what a session believes, in memory: the rows of the text of rows.h,
 * with valid checksums, are read by the reader of sessions from one database that stays open and
 * never is a file.  Held to: it ends, and what it takes is sound (numbers in their ranges, arrays
 * of their sizes); earlier states are read or refused with a reason; and the commands that look at
 * everything work on it, of every fourth input the quick ones, of every sixteenth a prediction. */
#include "fuzz.h"

#include "app/session/store_impl.h"
#include "app/session/timeline.h"
#include "app/shell/options.h"
#include "rows.h"
#include "store_support.h"

#include <dlfcn.h>
#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>

static struct sdb *db;
static struct desk desk;
static struct options plain;
static struct options_origin *plain_who;

/* A third of the time went into making statements from their texts, always the same ones.  Here
 * they stay: what the program prepares comes from this list, and is only reset in the end. */
static struct kept {
    sqlite3_stmt *q;
    char *sql;
    bool taken;
} kept[64];
static int (*make)(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
static int (*end)(sqlite3_stmt *);

int sqlite3_prepare_v2(sqlite3 *of, const char *sql, int len, sqlite3_stmt **q, const char **tail)
{
    size_t at = 0;

    if (!make)
        make = (int (*)(sqlite3 *, const char *, int, sqlite3_stmt **, const char **))dlsym(
            RTLD_NEXT, "sqlite3_prepare_v2");
    while (at < sizeof kept / sizeof *kept && kept[at].sql &&
           (kept[at].taken || strcmp(kept[at].sql, sql) != 0))
        at++;
    struct kept *k = at < sizeof kept / sizeof *kept ? &kept[at] : NULL;
    if (!k || len >= 0 || tail || !db || of != store_db_handle(db))
        return make(of, sql, len, q, tail);
    if (!k->sql) {
        const int rc = make(of, sql, len, &k->q, NULL);
        *q = k->q;
        if (rc != SQLITE_OK || !(k->sql = strdup(sql)))
            return rc;
    }
    k->taken = true;
    *q = k->q;
    return SQLITE_OK;
}

int sqlite3_finalize(sqlite3_stmt *q)
{
    if (!end)
        end = (int (*)(sqlite3_stmt *))dlsym(RTLD_NEXT, "sqlite3_finalize");
    for (size_t i = 0; q && i < sizeof kept / sizeof *kept; i++)
        if (kept[i].q == q && kept[i].taken) {
            kept[i].taken = false;
            sqlite3_clear_bindings(q);
            return sqlite3_reset(q);
        }
    return end(q);
}

static void begin(void)
{
    struct err err = { 0 };
    bool schema = true;

    /* One thread uses the database, and nobody asks for its memory. */
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    db = store_db_open_copy(":memory:", "the session", true, &schema, &err);
    if (!db)
        fuzz_fail(err.msg);
    sqlite3_progress_handler(store_db_handle(db), 0, NULL, NULL); /* a copy is given two minutes */
    for (size_t i = 0; store_migration[i]; i++)
        if (sqlite3_exec(store_db_handle(db), store_migration[i], NULL, NULL, NULL) != SQLITE_OK)
            fuzz_fail("no tables");
    if (desk_open(&desk, NULL, &err) != ST_OK)
        fuzz_fail(err.msg);
    plain = desk.ws->opt;
    plain_who = options_origin_copy(desk.ws->origin, &err);
    if (!plain_who)
        fuzz_fail(err.msg);
}

static void positive(double v, bool zero, const char *why)
{
    if (!(v > 0.0 || (zero && v == 0.0)) || !isfinite(v))
        fuzz_fail(why);
}

static void sound(const struct run *r)
{
    const struct model *m = r->model;

    if (!m)
        return;
    if (!r->has_enc || r->enc.d != m->d || m->Mv > m->M || !m->w)
        fuzz_fail("a model that contradicts itself");
    if (m->kind->keeps_inputs != (m->X != NULL))
        fuzz_fail("a model without its rows");
    positive(m->amplitude, false, "the amplitude of a model");
    positive(m->noise, true, "the noise of a model");
    for (size_t k = 0; k < kernel_nhp(&m->kernel); k++)
        if (!isfinite(m->hp[k]))
            fuzz_fail("a hyperparameter of a model");
}

static void look(const struct workspace *ws)
{
    for (size_t i = 0; i < ws->nrun; i++)
        sound(ws->run[i]);
    if (ws->cur != SIZE_MAX && ws->cur >= ws->ndata)
        fuzz_fail("a current dataset that is not there");
    positive(ws->amplitude, false, "the amplitude");
    positive(ws->noise, true, "the noise");
    for (size_t k = 0; k < kernel_nhp(&ws->kernel); k++)
        if (!isfinite(ws->hp[k]))
            fuzz_fail("a hyperparameter");
}

/* One of the earlier states, as undo and `at` read it. */
static void look_back(struct workspace *ws, const struct store_loaded *loaded, unsigned which)
{
    const int64_t last = store_db_last_snapshot(db);
    struct snapshot *s = NULL;
    struct err err = { 0 };

    if (last <= 0)
        return;
    char *body = store_db_snapshot(db, last - (int64_t)(which % 4), &err);
    if (body && store_load_snapshot(ws, db, loaded->version, loaded->nversion, body, &s, &err) !=
                    ST_OK && !err.msg[0])
        fuzz_fail("a state refused without a reason");
    timeline_snapshot_unref(s);
    free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct store_loaded loaded = { .next_dataset = 1, .next_run = 1, .next_snapshot = 1 };
    struct err err = { 0 };
    char *text = malloc(n + 1);
    unsigned sum = 0;

    if (!db)
        begin();
    if (!text)
        return 0;
    for (size_t i = 0; i < n; i++)
        sum = 31 * sum + data[i];
    memcpy(text, data, n);
    text[n] = '\0';
    if (store_db_begin(db, NULL) != ST_OK)
        fuzz_fail("no transaction");
    rows_put(db, text);
    free(text);
    struct workspace *ws = desk.ws;
    if (store_load(ws, db, &loaded, &err) != ST_OK) {
        if (!err.msg[0])
            fuzz_fail("refused without a reason");
    } else {
        look(ws);
        look_back(ws, &loaded, sum);
        if (sum / 7 % 4 == 0)
            (void)desk_run(&desk, "runs; data; get; kernel; script all=yes");
        if (sum / 7 % 16 == 0)
            (void)desk_run(&desk, "describe residual; show run:r1; show run:t1; compare r1 t1; "
                                  "predict");
    }
    store_loaded_free(&loaded);
    store_db_rollback(db);
    workspace_clear(ws);
    options_restore(&ws->opt, ws->origin, &plain, plain_who);
    buf_clear(&desk.said);
    return 0;
}

static uint64_t state;

static size_t draw(size_t below) /* xorshift64: fixed, so that a failure repeats */
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return below ? (size_t)(state % below) : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed)
{
    state = 88172645463325252u + seed;
    return rows_mutate(data, n, most, draw);
}
