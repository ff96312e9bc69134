/* tests/check_store.c -- sessions: what goes in comes back to the bit; what is damaged, hostile,
 * locked or half written is noticed. */
#include "app/session/store.h"

#include "app/session/store_impl.h"
#include "app/session/transcript.h"
#include "store_support.h"
#include "support.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *dir;
static char session[512], csv[512];

static void set_up(void)
{
    /* In memory where possible: a sync then costs nothing, and nothing here needs a disk. */
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    dir = support_tmpdir();
    snprintf(session, sizeof session, "%s", support_path(dir, "a.gpd"));
    snprintf(csv, sizeof csv, "%s", support_path(dir, "made up.csv"));
}

static void tear_down(void)
{
    support_rmdir(dir);
}

/* Helpers. */

static void write_csv(size_t n, double shift)
{
    struct splitmix g;
    FILE *f = fopen(csv, "w");

    ck_assert(f != NULL);
    splitmix_init(&g, 11);
    fprintf(f, "a;b;kind;mask;y\n");
    for (size_t i = 0; i < n; i++) {
        const double a = splitmix_uniform(&g), b = splitmix_normal(&g);
        fprintf(f, "%.6f;%.6f;%s;%d;%.6f\n", a, b, i % 3 ? i % 3 == 1 ? "red" : "green" : "blue",
                i % 4 == 3, sin(6 * a) + 0.3 * b + 0.1 * splitmix_normal(&g) + shift);
    }
    fclose(f);
}

static void run(struct desk *d, const char *line)
{
    const bool good = desk_run(d, line);
    ck_assert_msg(good, "%s\n%s", line, buf_str(&d->said));
}

static void runf(struct desk *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void runf(struct desk *d, const char *fmt, ...)
{
    struct buf line = { 0 };
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&line, fmt, ap);
    va_end(ap);
    run(d, buf_str(&line));
    buf_free(&line);
}

static void begin(struct desk *d, const char *path)
{
    struct err err = { 0 };
    const enum status rc = desk_open(d, path, &err);
    ck_assert_msg(rc == ST_OK, "%s", err.msg);
}

static char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
    struct stat st;
    ck_assert_int_eq(fstat(fileno(f), &st), 0);
    char *bytes = malloc((size_t)st.st_size + 1);
    *n = fread(bytes, 1, (size_t)st.st_size, f);
    bytes[*n] = '\0';
    fclose(f);
    return bytes;
}

static void same_files(const char *a, const char *b)
{
    size_t n, m;
    char *x = slurp(a, &n), *y = slurp(b, &m);
    ck_assert_uint_eq(n, m);
    ck_assert(memcmp(x, y, n) == 0);
    ck_assert_uint_gt(n, 100);
    free(x);
    free(y);
}

/* Everything about a run that can be written as text, and sums of its arrays. */
static char *portrait(const struct run *r)
{
    struct buf b = { 0 };

    store_json_run(&b, r, 0);
    if (r->has_enc) {
        char *enc = encoding_to_json(&r->enc, NULL);
        buf_puts(&b, enc);
        free(enc);
    }
    if (r->model)
        for (size_t i = 0; i < r->model->M; i++)
            buf_printf(&b, " %a", r->model->w[i]);
    for (size_t i = 0; i < r->ntrace; i++)
        buf_printf(&b, " %u:%a:%a:%a:%a", (unsigned)r->trace[i].step, (double)r->trace[i].seconds,
                   r->trace[i].value, r->trace[i].value2, r->trace[i].point[0]);
    for (size_t i = 0; i < r->solve.nhist; i++)
        buf_printf(&b, " %a/%a", r->solve.alpha[i], r->solve.beta[i]);
    for (size_t i = 0; i < r->tune.ntrace; i++)
        buf_printf(&b, " %a,%a", r->tune.trace[i].hp[0], r->tune.trace[i].nmll);
    return buf_take(&b);
}

static char *workspace_portrait(const struct workspace *ws)
{
    struct buf b = { 0 };
    int64_t ids[16] = { 0 };

    ck_assert_uint_le(ws->ndata, 16);
    store_json_state(&b, ws, ids, 0);
    for (size_t i = 0; i < ws->ndata; i++)
        store_json_dataset(&b, ws->data[i], store_recipe(ws, ws->data[i]));
    for (size_t i = 0; i < ws->nscript; i++)
        buf_printf(&b, "%s\n", ws->script[i]);
    return buf_take(&b);
}

/* Lines that use most of what a session keeps. */
static void work(struct desk *d)
{
    runf(d, "open '%s' sep=semicolon target=y id=a", csv);
    run(d, "cols a role=input");
    run(d, "split column=mask");
    run(d, "missing mean");
    run(d, "kernel matern(nu=3/2)");
    run(d, "set l=0.05..20");
    run(d, "tune features=64 evals=4");
    run(d, "fit features=128 solver=pcg rank=16 rtol=1e-8");
    run(d, "score");
    run(d, "fit solver=exact");
    run(d, "score");
    run(d, "note r1 a first 'try' with \"quotes\" and more");
}

/* Round trips. */

START_TEST(everything_comes_back)
{
    struct desk d;
    char *runs[8], *before, *after;
    size_t n;

    write_csv(80, 0);
    begin(&d, session);
    work(&d);
    runf(&d, "predict run=r1 out='%s'", support_path(dir, "r1.csv"));
    runf(&d, "predict run=r2 out='%s'", support_path(dir, "r2.csv"));
    runf(&d, "predict '%s' run=r1 out='%s'", csv, support_path(dir, "n1.csv"));
    n = d.ws->nrun;
    ck_assert_uint_eq(n, 3);
    for (size_t i = 0; i < n; i++)
        runs[i] = portrait(d.ws->run[i]);
    before = workspace_portrait(d.ws);
    ck_assert_int_eq(store_flush(store_of(d.ws), NULL), ST_OK);
    ck_assert_int_gt(store_saved_at(store_of(d.ws)), 0);
    desk_close(&d);

    begin(&d, session);
    ck_assert_msg(!strstr(buf_str(&d.said), "warning"), "%s", buf_str(&d.said));
    ck_assert(strstr(buf_str(&d.said), "going on with") != NULL);
    ck_assert_uint_eq(d.ws->nrun, n);
    for (size_t i = 0; i < n; i++) {
        char *again = portrait(d.ws->run[i]);
        ck_assert_str_eq(again, runs[i]);
        free(again);
        free(runs[i]);
    }
    after = workspace_portrait(d.ws);
    ck_assert_str_eq(after, before);
    ck_assert_str_eq(d.ws->last_fit, "r2");
    ck_assert_uint_eq(d.ws->opt.seed, 7);
    runf(&d, "predict run=r1 out='%s'", support_path(dir, "r1b.csv"));
    runf(&d, "predict run=r2 out='%s'", support_path(dir, "r2b.csv"));
    runf(&d, "predict '%s' run=r1 out='%s'", csv, support_path(dir, "n1b.csv"));
    desk_close(&d);
    same_files(support_path(dir, "r1.csv"), support_path(dir, "r1b.csv"));
    same_files(support_path(dir, "r2.csv"), support_path(dir, "r2b.csv"));
    same_files(support_path(dir, "n1.csv"), support_path(dir, "n1b.csv"));
    free(before);
    free(after);
}
END_TEST

START_TEST(work_goes_on_after_a_resume)
{
    struct desk d;

    write_csv(60, 0);
    begin(&d, session);
    work(&d);
    desk_close(&d);
    for (int i = 0; i < 3; i++) {
        begin(&d, session);
        run(&d, "fit features=64");
        ck_assert_uint_eq(d.ws->nrun, 4u + (unsigned)i);
        ck_assert_int_eq(d.ws->last_fit[0], 'r');
        ck_assert_uint_eq(d.ws->nfit, 3u + (unsigned)i);
        desk_close(&d);
    }
}
END_TEST

START_TEST(demos_and_folds_come_back)
{
    struct desk d;
    char *before, *after;

    begin(&d, session);
    run(&d, "demo draw n=50 kernel=rbf(l=0.3) noise=0.1 seed=4; split folds=5; demo co2; "
            "split test=20% seed=3; use draw; scale y=none");
    before = workspace_portrait(d.ws);
    desk_close(&d);
    begin(&d, session);
    after = workspace_portrait(d.ws);
    ck_assert_str_eq(after, before);
    ck_assert_msg(!strstr(buf_str(&d.said), "warning"), "%s", buf_str(&d.said));
    ck_assert_uint_eq(d.ws->cur, 0);
    ck_assert_uint_eq(d.ws->data[0]->split.nfolds, 5);
    desk_close(&d);
    free(before);
    free(after);
}
END_TEST

/* The factor is kept for the last five fits and for starred ones; the others predict the same. */
START_TEST(factors_are_kept_for_the_newest_and_the_starred)
{
    struct desk d;

    write_csv(60, 0);
    begin(&d, session);
    runf(&d, "open '%s' target=y; kernel rbf", csv);
    for (int i = 0; i < 8; i++)
        runf(&d, "fit features=%d", 32 + 2 * i);
    d.ws->run[0]->star = true;
    store_run(store_of(d.ws), d.ws->run[0]);
    runf(&d, "predict '%s' run=r2 out='%s'", csv, support_path(dir, "a.csv"));
    desk_close(&d);
    begin(&d, session);
    ck_assert_uint_eq(d.ws->nrun, 8);
    for (size_t i = 0; i < 8; i++) {
        ck_assert(d.ws->run[i]->model != NULL && d.ws->run[i]->model->w != NULL);
        ck_assert_msg((d.ws->run[i]->model->L != NULL) == (i == 0 || i >= 3), "r%zu", i + 1);
    }
    ck_assert(d.ws->run[0]->star);
    runf(&d, "predict '%s' run=r2 out='%s'", csv, support_path(dir, "b.csv"));
    desk_close(&d);
    same_files(support_path(dir, "a.csv"), support_path(dir, "b.csv"));
}
END_TEST

/* The bytes of the arrays of r1 with this name. */
static int64_t array_bytes(const char *what)
{
    sqlite3 *db;
    sqlite3_stmt *q;

    ck_assert_int_eq(sqlite3_open_v2(session, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT coalesce(sum(length(data)), 0) FROM blob "
                                        "WHERE owner = 'r1' AND what = ?1", -1, &q, NULL),
                     SQLITE_OK);
    sqlite3_bind_text(q, 1, what, -1, SQLITE_STATIC);
    ck_assert_int_eq(sqlite3_step(q), SQLITE_ROW);
    const int64_t n = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return n;
}

/* The factor of a fit with many features takes four bytes a number where the standard deviations
 * stay within 1e-6 of themselves, and eight where the noise is so small that they would not; the
 * means keep their bits. */
START_TEST(large_factors_take_half_where_it_costs_nothing)
{
    enum { FEATURES = 600, TRIANGLE = FEATURES * (FEATURES + 1) / 2 };
    struct desk d;
    const bool single = _i == 0;
    char *before, *after;
    double worst = 0;
    size_t n;

    write_csv(120, 0);
    begin(&d, session);
    runf(&d, "open '%s' target=y; kernel rbf; fit features=%d l=2 noise=%s rescale=no", csv,
         FEATURES, single ? "0.1" : "0.00001");
    runf(&d, "predict '%s' out='%s'", csv, support_path(dir, "a.csv"));
    desk_close(&d);
    ck_assert_int_eq(array_bytes("L"), single ? 0 : 8 * TRIANGLE);
    ck_assert_int_eq(array_bytes("L4"), single ? 4 * TRIANGLE : 0);
    begin(&d, session);
    ck_assert(d.ws->run[0]->model->L != NULL);
    runf(&d, "predict '%s' out='%s'", csv, support_path(dir, "b.csv"));
    desk_close(&d);
    if (!single)
        same_files(support_path(dir, "a.csv"), support_path(dir, "b.csv"));
    before = slurp(support_path(dir, "a.csv"), &n);
    after = slurp(support_path(dir, "b.csv"), &n);
    char *a = strchr(before, '\n'), *b = strchr(after, '\n');
    for (int rows = 0; rows < 120; rows++, a = strchr(a + 1, '\n'), b = strchr(b + 1, '\n')) {
        size_t row[2];
        double v[2][3]; /* mean, sd_latent, sd */
        ck_assert_int_eq(sscanf(a, " %zu,%lf,%lf,%lf", &row[0], &v[0][0], &v[0][1], &v[0][2]), 4);
        ck_assert_int_eq(sscanf(b, " %zu,%lf,%lf,%lf", &row[1], &v[1][0], &v[1][1], &v[1][2]), 4);
        ck_assert(row[0] == row[1] && v[0][0] == v[1][0]);
        worst = fmax(worst, fabs(v[0][1] / v[1][1] - 1));
        worst = fmax(worst, fabs(v[0][2] / v[1][2] - 1));
    }
    ck_assert_msg(single ? worst > 0 && worst < 1e-6 : worst == 0, "%g", worst);
    free(before);
    free(after);
}
END_TEST

START_TEST(interrupted_runs_are_stopped_ones)
{
    struct desk d;
    struct err err;

    begin(&d, session);
    run(&d, "demo toy n=40; kernel rbf; fit features=32");
    struct run *r = ws_run_new(d.ws, RUN_FIT, &err);
    ck_assert(r != NULL);
    r->state = RUN_RUNNING;
    r->dataset_name = strdup("toy");
    r->kernel_text = strdup("rbf");
    r->fit = d.ws->run[0]->fit;
    r->captrace = r->ntrace = 2;
    r->trace = calloc(2, sizeof *r->trace);
    r->trace[1].step = 97;
    r->trace[1].value = 0.25;
    store_trace(store_of(d.ws), r);
    ck_assert_int_eq(store_flush(store_of(d.ws), &err), ST_OK);
    r->ntrace = 0; /* what comes later is lost */
    r->state = RUN_QUEUED;
    desk_close(&d);
    begin(&d, session);
    ck_assert_uint_eq(d.ws->nrun, 2);
    r = d.ws->run[1];
    ck_assert_int_eq(r->state, RUN_STOPPED);
    ck_assert_uint_eq(r->ntrace, 2);
    ck_assert_uint_eq(r->trace[1].step, 97);
    ck_assert(strstr(r->verdict, "97") && strstr(buf_str(&d.said), "interrupted"));
    ck_assert_str_eq(d.ws->last_fit, "r1");
    desk_close(&d);
}
END_TEST

/* Data that has changed. */

START_TEST(changed_data_is_told)
{
    struct desk d;

    write_csv(60, 0);
    begin(&d, session);
    work(&d);
    runf(&d, "predict '%s' run=r1 out='%s'", csv, support_path(dir, "a.csv"));
    desk_close(&d);

    char *copy;
    size_t n;
    copy = slurp(csv, &n);
    write_csv(61, 1);
    begin(&d, session);
    ck_assert_msg(strstr(buf_str(&d.said), "has changed"), "%s", buf_str(&d.said));
    ck_assert_uint_eq(d.ws->ndata, 1);
    ck_assert_uint_eq(d.ws->data[0]->table->n, 61);
    ck_assert_uint_eq(d.ws->nrun, 3);
    ck_assert(d.ws->run[1]->data == NULL && d.ws->run[1]->model != NULL);
    desk_close(&d);

    ck_assert_int_eq(unlink(csv), 0);
    begin(&d, session);
    ck_assert_msg(strstr(buf_str(&d.said), "cannot be loaded"), "%s", buf_str(&d.said));
    ck_assert_uint_eq(d.ws->ndata, 0);
    ck_assert_uint_eq(d.ws->nrun, 3);
    const char *elsewhere = support_path(dir, "elsewhere.csv");
    support_write(elsewhere, copy, n);
    runf(&d, "predict '%s' run=r1 out='%s' sep=semicolon", elsewhere, support_path(dir, "b.csv"));
    desk_close(&d);
    same_files(support_path(dir, "a.csv"), support_path(dir, "b.csv"));

    /* The file is back: so are the dataset and, for the fits that were made from it, the scores. */
    support_write(csv, copy, n);
    free(copy);
    begin(&d, session);
    ck_assert_uint_eq(d.ws->ndata, 1);
    ck_assert_ptr_nonnull(d.ws->run[1]->data);
    run(&d, "score r1");
    desk_close(&d);
}
END_TEST

/* A session that names a pipe or a device as its data must not hang or read it. */
START_TEST(data_must_be_a_file)
{
    struct desk d;

    write_csv(40, 0);
    begin(&d, session);
    runf(&d, "open '%s' target=y", csv);
    desk_close(&d);
    unlink(csv);
    ck_assert_int_eq(mkfifo(csv, 0600), 0);
    begin(&d, session);
    ck_assert(strstr(buf_str(&d.said), "cannot be loaded") != NULL);
    desk_close(&d);
}
END_TEST

/* Files that are refused. */

static void refused(const char *path, const char *word)
{
    struct desk d;
    struct err err = { 0 };
    const enum status rc = desk_open(&d, path, &err);

    ck_assert_msg(rc != ST_OK, "%s was opened", path);
    ck_assert_msg(strstr(err.msg, word) != NULL, "'%s' lacks '%s'", err.msg, word);
    ck_assert(store_of(d.ws) == NULL);
    desk_close(&d);
}

static void sql(const char *path, const char *text)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    char *why = NULL;
    ck_assert_msg(sqlite3_exec(db, text, NULL, NULL, &why) == SQLITE_OK, "%s: %s", text, why);
    sqlite3_close(db);
}

static void make_session(void)
{
    struct desk d;
    begin(&d, session);
    run(&d, "demo toy n=30; kernel rbf; fit features=32");
    desk_close(&d);
}

START_TEST(odd_files_are_refused)
{
    const char *path = support_path(dir, "odd");
    struct stat st;

    refused(dir, "is a directory");
    refused(support_path(dir, "no/where.gpd"), "No such file");
    support_write(path, "a,b\n1,2\n", 8);
    refused(path, "not an SQLite database");
    char page[4096];
    memset(page, 'x', sizeof page);
    support_write(path, page, sizeof page);
    refused(path, "not an SQLite database");
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    refused(path, "regular file");
    unlink(path);
    sql(path, "CREATE TABLE t(x); PRAGMA application_id=123");
    refused(path, "no session of gpdesk");
    unlink(path);

    make_session();
    ck_assert_int_eq(symlink(session, path), 0);
    refused(path, "symbolic link");
    unlink(path);
    if (geteuid() != 0) {
        ck_assert_int_eq(chmod(session, 0400), 0);
        refused(session, "cannot be written");
        ck_assert_int_eq(chmod(session, 0600), 0);
    }
    ck_assert_int_eq(stat(session, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600); /* nobody else's business */
    sql(session, "PRAGMA user_version=99");
    refused(session, "newer gpdesk");
    sql(session, "PRAGMA user_version=0");
    refused(session, "damaged");
}
END_TEST

START_TEST(empty_files_become_sessions)
{
    struct desk d;
    support_write(session, "", 0);
    begin(&d, session);
    run(&d, "demo toy n=30");
    desk_close(&d);
    begin(&d, session);
    ck_assert_uint_eq(d.ws->ndata, 1);
    desk_close(&d);
}
END_TEST

static const char *const hostile[] = {
    "CREATE VIEW run2 AS SELECT 1",
    "CREATE TRIGGER t AFTER INSERT ON command BEGIN DELETE FROM run; END",
    "CREATE TABLE more(x)",
    "CREATE INDEX i ON run(body)",
    "ALTER TABLE run ADD COLUMN x",
    "CREATE VIRTUAL TABLE v USING fts5(x)",
    "DROP TABLE run; CREATE VIEW run(id, name, body, sum) AS WITH RECURSIVE c(x) AS "
    "(SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x, 'r' || x, '{}', 0 FROM c",
    "DROP TABLE state; CREATE TABLE state(key TEXT, body TEXT "
    "GENERATED ALWAYS AS (hex(zeroblob(400000000))), sum INTEGER)",
};

START_TEST(hostile_schemas_are_refused)
{
    make_session();
    sql(session, hostile[_i]);
    refused(session, "tables are not those of a session");
}
END_TEST

START_TEST(changed_rows_are_left_out)
{
    struct desk d;
    static const char *const change[] = {
        "UPDATE run SET body = replace(body, '\"seed\":7', '\"seed\":8')",
        "UPDATE run SET name = 'r7'",
        "UPDATE run SET body = x'00ff'",
        "UPDATE run SET id = id + 1",
        "UPDATE run SET body = '{}'",
    };
    make_session();
    sql(session, change[_i]);
    begin(&d, session);
    ck_assert_uint_eq(d.ws->nrun, 0);
    ck_assert(strstr(buf_str(&d.said), "[session-damage]") != NULL);
    ck_assert_uint_eq(d.ws->ndata, 1);
    /* Work goes on, under a new number. */
    run(&d, "fit features=32");
    ck_assert_str_eq(d.ws->last_fit, "r2");
    desk_close(&d);
    begin(&d, session);
    ck_assert_uint_eq(d.ws->nrun, 1);
    desk_close(&d);
}
END_TEST

START_TEST(damaged_arrays_leave_the_rest)
{
    struct desk d;
    make_session();
    sql(session, "UPDATE blob SET data = zeroblob(length(data)) WHERE what = 'w'");
    begin(&d, session);
    ck_assert_uint_eq(d.ws->nrun, 1);
    ck_assert(d.ws->run[0]->model == NULL);
    ck_assert(strstr(buf_str(&d.said), "fit it again") != NULL);
    desk_close(&d);

    unlink(session);
    make_session();
    sql(session, "DELETE FROM blob WHERE what = 'L'");
    begin(&d, session);
    ck_assert(d.ws->run[0]->model != NULL && d.ws->run[0]->model->L == NULL);
    desk_close(&d);

    unlink(session);
    make_session();
    sql(session, "UPDATE state SET body = replace(body, 'rbf', 'rbg')");
    begin(&d, session);
    ck_assert(strstr(buf_str(&d.said), "current dataset") != NULL);
    ck_assert_uint_eq(d.ws->nrun, 1);
    desk_close(&d);
}
END_TEST

/* Random damage. */

enum { FLIPS = 250 };

/* Where two long texts part; Check's messages are short. */
static void show_difference(const char *a, const char *b)
{
    size_t at = 0;

    while (a[at] && a[at] == b[at])
        at++;
    at = at > 60 ? at - 60 : 0;
    ck_abort_msg("silently different at %zu:\n%.200s\n%.200s", at, a + at, b + at);
}

/* What is loaded equals the original or is not there. */
static void check_loaded(const struct desk *d, char *const *runs, size_t n, const char *state)
{
    for (size_t i = 0; i < d->ws->nrun; i++) {
        const struct run *r = d->ws->run[i];
        const size_t k = (size_t)(r->kind == RUN_TUNE ? 0 : r->id[1] - '0');
        ck_assert_uint_lt(k, n);
        if (!r->model && r->kind == RUN_FIT)
            continue; /* told as damaged */
        char *again = portrait(r);
        /* The trace may end early; what is there is right. */
        if (strcmp(again, runs[k]) != 0)
            if (!strstr(buf_str(&d->said), "damaged"))
                show_difference(again, runs[k]);
        free(again);
    }
    char *now = workspace_portrait(d->ws);
    if (strcmp(now, state) != 0 && !strstr(buf_str(&d->said), "warning"))
        show_difference(now, state);
    free(now);
}

START_TEST(random_damage_is_noticed)
{
    struct desk d;
    struct splitmix g;
    struct err err;
    char *runs[3], *state;
    size_t n, refusals = 0, clean = 0;

    write_csv(40, 0);
    begin(&d, session);
    work(&d);
    desk_close(&d);
    begin(&d, session); /* as it comes back whole */
    ck_assert_uint_eq(d.ws->nrun, 3);
    for (size_t i = 0; i < 3; i++)
        runs[i] = portrait(d.ws->run[i]);
    state = workspace_portrait(d.ws);
    desk_close(&d);
    char *whole = slurp(session, &n), *bytes = malloc(n);
    const char *hurt = support_path(dir, "hurt.gpd");

    splitmix_init(&g, 2026);
    for (int i = 0; i < FLIPS; i++) {
        memcpy(bytes, whole, n);
        size_t len = n;
        for (unsigned k = 0; k <= (unsigned)i % 4; k++) {
            const size_t at = splitmix_next(&g) % (i % 3 ? n : 4096); /* headers more often */
            bytes[at] = (char)(bytes[at] ^ 1 << splitmix_next(&g) % 8);
        }
        if (i % 25 == 24)
            len = splitmix_next(&g) % n; /* cut off */
        support_write(hurt, bytes, len);
        if (desk_open(&d, hurt, &err) != ST_OK) {
            ck_assert(err.msg[0] != '\0');
            refusals++;
        } else {
            check_loaded(&d, runs, 3, state);
            clean += !strstr(buf_str(&d.said), "warning");
        }
        desk_close(&d);
        unlink(hurt);
        unlink(support_path(dir, "hurt.gpd-wal"));
        unlink(support_path(dir, "hurt.gpd-journal"));
    }
    /* Neither all nor none: the test tests something. */
    ck_assert_uint_gt(refusals, 10);
    ck_assert_uint_gt(clean, 10);
    for (size_t i = 0; i < 3; i++)
        free(runs[i]);
    free(state);
    free(whole);
    free(bytes);
}
END_TEST

/* Two programs, full disks, kill -9. */

START_TEST(a_session_has_one_owner)
{
    struct desk d, other;
    struct err err;

    begin(&d, session);
    run(&d, "demo toy n=30");
    ck_assert_int_eq(store_flush(store_of(d.ws), &err), ST_OK);
    ck_assert_int_ne(desk_open(&other, session, &err), ST_OK);
    ck_assert_msg(strstr(err.msg, "open in another gpdesk") != NULL, "%s", err.msg);
    desk_close(&other);
    run(&d, "kernel rbf");
    desk_close(&d);
    begin(&d, session);
    ck_assert_uint_eq(d.ws->nscript, 2);
    desk_close(&d);
}
END_TEST

/* Refused after it has been read: a stack of threads that no address space holds. */
START_TEST(what_was_not_opened_whole_leaves_nothing)
{
    struct desk d;
    struct err err = { 0 };
    pthread_attr_t usual, huge;

    write_csv(60, 0);
    begin(&d, session);
    work(&d);
    desk_close(&d);
    begin(&d, NULL);
    ck_assert_int_eq(pthread_getattr_default_np(&usual), 0);
    ck_assert_int_eq(pthread_attr_init(&huge), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&huge, (size_t)1 << 48), 0);
    ck_assert_int_eq(pthread_setattr_default_np(&huge), 0);
    ck_assert_int_eq(store_open(d.ws, session, &err), ST_LIMIT);
    ck_assert_int_eq(pthread_setattr_default_np(&usual), 0);
    ck_assert_msg(strstr(err.msg, "thread cannot start") != NULL, "%s", err.msg);
    ck_assert_uint_eq(d.ws->nrun, 0);
    ck_assert_uint_eq(d.ws->nscript, 0);
    ck_assert_uint_eq(d.ws->ndata, 0);
    ck_assert_int_eq(store_open(d.ws, session, &err), ST_OK);
    ck_assert_uint_gt(d.ws->nrun, 0);
    desk_close(&d);
}
END_TEST

START_TEST(a_full_disk_is_survived)
{
    struct desk d;
    struct err err = { 0 };
    struct stat st;
    struct rlimit none, limit;

    write_csv(200, 0);
    begin(&d, session);
    runf(&d, "open '%s' target=y; kernel rbf; fit features=256", csv);
    ck_assert_int_eq(store_flush(store_of(d.ws), &err), ST_OK);
    signal(SIGXFSZ, SIG_IGN); /* writing beyond the limit then fails, as on a full disk */
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &none), 0);
    ck_assert_int_eq(stat(support_path(dir, "a.gpd-wal"), &st), 0);
    limit = none;
    limit.rlim_cur = (rlim_t)st.st_size + 20000;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    run(&d, "fit features=512");
    ck_assert_int_ne(store_flush(store_of(d.ws), &err), ST_OK);
    ck_assert_str_ne(store_trouble(store_of(d.ws)), "");
    ck_assert(err.msg[0] != '\0');
    run(&d, "fit features=32"); /* the work itself goes on */
    ck_assert_msg(strstr(buf_str(&d.said), "not being saved") != NULL, "%s", buf_str(&d.said));
    ck_assert(!desk_run(&d, "save"));
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
    run(&d, "save");
    ck_assert_str_eq(store_trouble(store_of(d.ws)), "");
    desk_close(&d);
    begin(&d, session);
    ck_assert_uint_eq(d.ws->nrun, 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert(d.ws->run[i]->model != NULL);
    desk_close(&d);
}
END_TEST

/* Commands. */

START_TEST(save_copies_and_begins)
{
    struct desk d;
    const char *copy = support_path(dir, "copy.gpd");

    begin(&d, NULL);
    run(&d, "demo toy n=30; kernel rbf; fit features=32");
    runf(&d, "save '%s'", session); /* begins one, with all that was done */
    ck_assert_str_eq(strrchr(store_path(store_of(d.ws)), '/'), "/a.gpd");
    runf(&d, "save '%s'", copy);
    ck_assert_str_eq(strrchr(store_path(store_of(d.ws)), '/'), "/a.gpd");
    char line[600];
    snprintf(line, sizeof line, "save '%s'", copy);
    ck_assert(!desk_run(&d, line)); /* never over a file */
    desk_close(&d);
    for (int i = 0; i < 2; i++) {
        begin(&d, i ? copy : session);
        ck_assert_uint_eq(d.ws->nrun, 1);
        ck_assert(d.ws->run[0]->model != NULL);
        desk_close(&d);
    }
}
END_TEST

START_TEST(a_session_that_is_gone_is_told)
{
    struct desk d;
    struct err err = { 0 };
    const char *copy = support_path(dir, "rescued.gpd");

    begin(&d, session);
    run(&d, "demo toy n=30; kernel rbf; fit features=32; save");
    if (_i == 0)
        ck_assert_int_eq(unlink(session), 0);
    else if (_i == 1)
        ck_assert_int_eq(rename(session, support_path(dir, "moved.gpd")), 0);
    else {
        support_write(support_path(dir, "new"), "x", 1);
        ck_assert_int_eq(rename(support_path(dir, "new"), session), 0);
    }
    ck_assert(!desk_run(&d, "save"));
    ck_assert_msg(strstr(buf_str(&d.said), "error[session-gone]") &&
                  strstr(buf_str(&d.said), _i == 2 ? "replaced" : "removed or moved"), "%s",
                  buf_str(&d.said));
    runf(&d, "save '%s'", copy); /* the way out that the message names */
    desk_close(&d);
    ck_assert_msg(desk_open(&d, copy, &err) == ST_OK, "%s", err.msg);
    ck_assert_uint_eq(d.ws->nrun, 1);
    desk_close(&d);
}
END_TEST

START_TEST(sessions_start_by_themselves_and_resume)
{
    struct desk d;

    setenv("XDG_STATE_HOME", dir, 1);
    begin(&d, NULL);
    d.ws->interactive = true;
    run(&d, "help");
    ck_assert(store_of(d.ws) == NULL); /* nothing to keep yet */
    run(&d, "demo toy n=30");
    ck_assert(store_of(d.ws) != NULL);
    run(&d, "kernel rbf; fit features=32; sessions");
    desk_close(&d);

    begin(&d, NULL);
    d.ws->interactive = true;
    run(&d, "demo co2; resume");
    ck_assert_uint_eq(d.ws->ndata, 1);
    ck_assert_str_eq(d.ws->data[0]->name, "toy");
    ck_assert_uint_eq(d.ws->nrun, 1);
    ck_assert(!desk_run(&d, "resume nothing-of-that-name"));
    ck_assert_uint_eq(d.ws->nrun, 1);
    run(&d, "resume"); /* the other one */
    ck_assert_str_eq(d.ws->data[0]->name, "co2");
    desk_close(&d);
}
END_TEST

/* A line that only shows a setting takes no part in the script. */
START_TEST(questions_are_no_part_of_the_script)
{
    struct desk d;
    struct buf text = { 0 };

    write_csv(40, 0);
    begin(&d, NULL);
    runf(&d, "open '%s' target=y; kernel rbf; scale y=none; kernel; scale; missing; fit", csv);
    ck_assert_int_eq(transcript(d.ws, false, &text, NULL), ST_OK);
    ck_assert_msg(strstr(buf_str(&text), "\nkernel rbf\n") && strstr(buf_str(&text), "\nfit\n") &&
                  !strstr(buf_str(&text), "\nkernel\n") && !strstr(buf_str(&text), "\nscale\n") &&
                  !strstr(buf_str(&text), "\nmissing\n"), "%s", buf_str(&text));
    buf_free(&text);
    desk_close(&d);
}
END_TEST

/* A script written and run again gives the same figures. */
START_TEST(scripts_replay_to_the_same_figures)
{
    struct desk d, again;
    struct buf text = { 0 };
    char *first, *second;

    write_csv(80, 0);
    begin(&d, NULL);
    work(&d);
    ck_assert_int_eq(transcript(d.ws, true, &text, NULL), ST_OK);
    begin(&again, NULL);
    run(&again, buf_str(&text));
    ck_assert_uint_eq(again.ws->nrun, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct run *a = d.ws->run[i], *b = again.ws->run[i];
        if (a->kind == RUN_TUNE)
            ck_assert(a->tune.best.nmll == b->tune.best.nmll);
        else
            ck_assert(a->score_scaled.rmse == b->score_scaled.rmse &&
                      a->score_scaled.nlpd == b->score_scaled.nlpd);
    }
    first = workspace_portrait(d.ws);
    second = workspace_portrait(again.ws);
    desk_close(&again);
    ck_assert(strstr(first, "matern") && strstr(second, "matern"));
    free(first);
    free(second);

    /* The short one leads to the last fit. */
    buf_clear(&text);
    run(&d, "kernel rbf; kernel matern(nu=5/2); tune features=64 evals=3; split test=50%; split "
            "test=25%; "
            "fit features=64; fit features=128; score");
    ck_assert_int_eq(transcript(d.ws, false, &text, NULL), ST_OK);
    ck_assert(!strstr(buf_str(&text), "kernel rbf") && !strstr(buf_str(&text), "test=50%"));
    ck_assert(strstr(buf_str(&text), "\nexpect r1 outcome ") &&
              strstr(buf_str(&text), "\nexpect r1 rmse_scaled "));
    begin(&again, NULL);
    run(&again, buf_str(&text)); /* which fails where a figure differs */
    ck_assert_uint_gt(again.ws->expected.figures, 8);
    ck_assert(again.ws->expected.worst == 0.0);
    ck_assert(again.ws->run[again.ws->nrun - 1]->score_scaled.rmse ==
              d.ws->run[d.ws->nrun - 1]->score_scaled.rmse);
    desk_close(&again);
    desk_close(&d);
    buf_free(&text);
}
END_TEST

START_TEST(hostile_names_survive)
{
    struct desk d;
    char *before, *after;

    snprintf(csv, sizeof csv, "%s/%s", dir, "it's `$(touch x)` %s; \x1b[31m.csv");
    write_csv(40, 0);
    begin(&d, session);
    runf(&d, "open \"%s\" target=y name=\"a'b;c %%s\"; split test=25%%", csv);
    run(&d, "kernel rbf; fit features=32");
    before = workspace_portrait(d.ws);
    desk_close(&d);
    begin(&d, session);
    ck_assert_msg(!strstr(buf_str(&d.said), "warning"), "%s", buf_str(&d.said));
    after = workspace_portrait(d.ws);
    ck_assert_str_eq(before, after);
    ck_assert(d.ws->run[0]->data != NULL);
    desk_close(&d);
    free(before);
    free(after);
}
END_TEST

/* What SQLite finds at a path of a text: its type, and its text as `->>` gives it. */
static char *judged(sqlite3 *db, const char *text, const char *path, const char *what)
{
    sqlite3_stmt *q;
    char sql[80], *out = NULL;

    snprintf(sql, sizeof sql, strcmp(what, "type") ? "SELECT ?1 %s ?2" : "SELECT json_type(?1, ?2)",
             what);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    sqlite3_bind_text(q, 1, text, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 2, path, -1, SQLITE_STATIC);
    if (sqlite3_step(q) == SQLITE_ROW && sqlite3_column_text(q, 0))
        out = strdup((const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    return out;
}

/* Bodies as nobody here writes them: blanks, escapes, keys twice, empty lists, long numbers. */
START_TEST(bodies_are_read_as_sqlite_reads_them)
{
    static const char *const texts[] = {
        "{\"a\":1,\"b\":[1.5,-2e-3,\"x\",null,true,false,{\"c\":[[],[7]]}],\"name\":\"r1\"}",
        " {\n \"a\" : -0.1234567890123456789 ,\t\"b\" : [ ] , \"name\" : \"q \\\"u\\\\ \\u00e9\\n, "
        "] }\" } ",
        "{\"a\":18446744073709551615,\"a\":2,\"b\":[[\"]\",\"[\"],{\"c\":{}},3],\"name\":\"\",\"l."
        "min\":4}",
        "{\"\":{\"a\":5},\"name\":null,\"b\":{\"c\":[0.1,1E5,123456789012345678]}}",
    };
    static const char *const paths[] = {
        "$.a",      "$.b",      "$.b[0]",     "$.b[1]",      "$.b[2]",      "$.b[3]",
        "$.b[4]",   "$.b[5]",   "$.b[6]",     "$.b[6].c",    "$.b[6].c[0]", "$.b[6].c[1][0]",
        "$.b[7]",   "$.name",   "$.\"name\"", "$.\"l.min\"", "$.b[0][1]",   "$.b.c",
        "$.b.c[0]", "$.b.c[1]", "$.b.c[2]",   "$.none",      "$.a.b",       "$.name[0]",
    };
    struct err err = { 0 };
    bool fresh;
    sqlite3 *judge;
    struct sdb *db = store_db_open(session, SDB_CREATE, &fresh, &err);
    ck_assert_msg(db != NULL, "%s", err.msg);
    ck_assert_int_eq(sqlite3_open(":memory:", &judge), SQLITE_OK);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
            struct jdoc j;
            ck_assert_msg(store_doc_open(&j, db, texts[i]), "%s: %s", texts[i], j.bad);
            char *type = judged(judge, texts[i], paths[k], "type"),
                 *raw = judged(judge, texts[i], paths[k], "->"),
                 *plain = judged(judge, texts[i], paths[k], "->>"),
                 *got = store_doc_raw_for_tests(&j, "%s", paths[k]);
            const bool null = !type || !strcmp(type, "null");
            ck_assert_msg(store_doc_has(&j, "%s", paths[k]) == !null, "%s of %s", paths[k],
                          texts[i]);
            ck_assert(null == !got);
            if (!null && type[0] != 'o' &&
                type[0] != 'a') /* SQLite takes the blanks out of those */
                ck_assert_str_eq(got, raw);
            if (type && !strcmp(type, "text")) {
                char *text = store_doc_str(&j, "%s", paths[k]);
                ck_assert_str_eq(text, plain);
                free(text);
            }
            if (type && !strcmp(type, "array")) {
                size_t n = 0;
                char at[80];
                for (bool there = true; there; n += there) {
                    snprintf(at, sizeof at, "%s[%zu]", paths[k], n);
                    char *item = judged(judge, texts[i], at, "type");
                    there = item != NULL;
                    free(item);
                }
                ck_assert_uint_eq(store_doc_len(&j, 100, "%s", paths[k]), n);
            }
            if (type && !strcmp(type, "real")) {
                const double x = store_doc_num(&j, "%s", paths[k]);
                ck_assert(x == strtod(raw, NULL));
            }
            ck_assert_msg(store_doc_ok(&j), "%s of %s: %s", paths[k], texts[i], j.bad);
            free(type), free(raw), free(plain), free(got);
            store_doc_close(&j);
        }
    struct jdoc j;
    static const char *const bad[] = {"", "{", "[1]", "7", "{\"a\":1}x", "{'a':1}", "{\"a\":[1,]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!store_doc_open(&j, db, bad[i]) && !store_doc_ok(&j), "%s", bad[i]);
    char deep[600] = "{\"a\":";
    const size_t at = strlen(deep);
    memset(deep + at, '[', 200);
    memset(deep + at + 200, ']', 200);
    strcpy(deep + at + 400, "}");
    ck_assert(!store_doc_open(&j, db, deep));
    ck_assert_str_eq(j.bad, "its JSON is nested too deep");
    sqlite3_close(judge);
    store_db_close(db);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store");
    const struct {
        const char *name;
        const TTest *test;
        int loop;
    } group[] = {
        { "back", everything_comes_back, 1 },
        { "on", work_goes_on_after_a_resume, 1 },
        { "demo", demos_and_folds_come_back, 1 },
        { "factor", factors_are_kept_for_the_newest_and_the_starred, 1 },
        { "single", large_factors_take_half_where_it_costs_nothing, 2 },
        { "interrupted", interrupted_runs_are_stopped_ones, 1 },
        { "changed", changed_data_is_told, 1 },
        { "pipe", data_must_be_a_file, 1 },
        { "odd", odd_files_are_refused, 1 },
        { "empty", empty_files_become_sessions, 1 },
        { "hostile", hostile_schemas_are_refused, (int)(sizeof hostile / sizeof *hostile) },
        { "rows", changed_rows_are_left_out, 5 },
        { "arrays", damaged_arrays_leave_the_rest, 1 },
        { "flips", random_damage_is_noticed, 1 },
        { "owner", a_session_has_one_owner, 1 },
        { "whole", what_was_not_opened_whole_leaves_nothing, 1 },
        { "full", a_full_disk_is_survived, 1 },
        { "save", save_copies_and_begins, 1 },
        { "gone", a_session_that_is_gone_is_told, 3 },
        { "auto", sessions_start_by_themselves_and_resume, 1 },
        { "questions", questions_are_no_part_of_the_script, 1 },
        { "script", scripts_replay_to_the_same_figures, 1 },
        { "names", hostile_names_survive, 1 },
        { "bodies", bodies_are_read_as_sqlite_reads_them, 1 },
    };
    for (size_t i = 0; i < sizeof group / sizeof *group; i++) {
        TCase *tc = tcase_create(group[i].name);
        tcase_add_checked_fixture(tc, set_up, tear_down);
        tcase_set_timeout(tc, 120);
        tcase_add_loop_test(tc, group[i].test, 0, group[i].loop);
        suite_add_tcase(s, tc);
    }
    return support_run(s);
}
