/* tests/check_salvage.c -- the command `salvage`: a damaged page of a session costs what is on that
 * page. Each page of small sessions is overwritten in turn; what should be left is known from the
 * undamaged file, which SQLite reads. */
#include "app/session/store.h"

#include "store_support.h"
#include "support.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, ZEROS = 0, RANDOM = 1, RUNS = 3 };

static char *dir;
static char whole[512], broken[512], new[512];

static void set_up(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    dir = support_tmpdir();
    snprintf(whole, sizeof whole, "%s/whole.gpd", dir);
    snprintf(broken, sizeof broken, "%s/broken.gpd", dir);
    snprintf(new, sizeof new, "%s/new.gpd", dir);
}

static void tear_down(void)
{
    support_rmdir(dir);
}

static void run(struct desk *d, const char *line)
{
    ck_assert_msg(desk_run(d, line), "%s\n%s", line, buf_str(&d->said));
}

static void make_session(int notes)
{
    struct desk d;
    struct err err = { 0 };
    char line[160];

    ck_assert_msg(desk_open(&d, whole, &err) == ST_OK, "%s", err.msg);
    run(&d, "demo friedman1 n=100 seed=3; split test=20%; kernel rbf; fit features=32; score; "
            "tune features=32 evals=3; fit features=64 solver=pcg rank=8; score");
    for (int i = 0; i < notes; i++) {
        snprintf(line, sizeof line, "note r1 \"number %d: enough words for a few hundred rows to "
                 "need an inner page\"", i);
        run(&d, line);
    }
    desk_close(&d);
}

static char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    struct stat st;

    ck_assert_msg(f && fstat(fileno(f), &st) == 0, "%s: %s", path, strerror(errno));
    char *bytes = calloc(1, (size_t)st.st_size + 1);
    *n = fread(bytes, 1, (size_t)st.st_size, f);
    fclose(f);
    return bytes;
}

static int64_t count(const char *path, const char *table)
{
    sqlite3 *db;
    sqlite3_stmt *q;
    char sql[80];

    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(q), SQLITE_ROW);
    const int64_t n = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return n;
}

/* Files in the directory that are neither of the three sessions nor a prediction. */
static int strangers(void)
{
    DIR *at = opendir(dir);
    int n = 0;

    ck_assert(at != NULL);
    for (struct dirent *e; (e = readdir(at)) != NULL;)
        n += e->d_name[0] != '.' && strcmp(e->d_name, "whole.gpd") &&
             strcmp(e->d_name, "broken.gpd") && strcmp(e->d_name, "new.gpd") &&
             !strstr(e->d_name, ".csv");
    closedir(at);
    return n;
}

static void write_damaged(const char *bytes, size_t n, size_t page, int fill)
{
    struct splitmix g;
    char *copy = malloc(n);

    splitmix_init(&g, 1000 + page);
    memcpy(copy, bytes, n);
    for (size_t i = 0; i < PAGE; i++)
        copy[page * PAGE + i] = fill == ZEROS ? 0 : (char)splitmix_next(&g);
    support_write(broken, copy, n);
    free(copy);
}

/* What the runs of a session predict; NULL for one without a model. */
static void predictions(const char *path, char *out[RUNS])
{
    static const char *const names[RUNS] = { "r1", "t1", "r2" };
    struct desk d;
    struct err err = { 0 };
    char line[640], csv[512];

    ck_assert_msg(desk_open(&d, path, &err) == ST_OK, "%s", err.msg);
    for (int i = 0; i < RUNS; i++) {
        const struct run *r = ws_run(d.ws, names[i], NULL);
        size_t n;
        out[i] = NULL;
        if (!r || !r->model)
            continue;
        snprintf(csv, sizeof csv, "%s/%s.csv", dir, names[i]);
        unlink(csv);
        snprintf(line, sizeof line, "predict run=%s out=%s", names[i], csv);
        if (desk_run(&d, line)) /* the data may be lost */
            out[i] = slurp(csv, &n);
    }
    desk_close(&d);
}

static void free_all(char *text[RUNS])
{
    for (int i = 0; i < RUNS; i++)
        free(text[i]);
}

static enum status salvage(struct store_salvaged *got, struct err *err)
{
    unlink(new);
    *got = (struct store_salvaged){ .rows = 0 };
    *err = (struct err){ 0 };
    return store_salvage(NULL, broken, new, got, err);
}

/* Tests. */

/* Whole runs predict the same bits; one that does not predict is named. */
START_TEST(a_damaged_page_costs_that_page)
{
    struct store_salvaged got;
    struct err err;
    size_t n, after;
    char *was[RUNS], *now[RUNS];

    make_session(0);
    char *bytes = slurp(whole, &n);
    predictions(whole, was);
    ck_assert(was[0] && was[2]);
    bytes = (free(bytes), slurp(whole, &n));
    for (size_t page = 0; page < n / PAGE; page++) {
        write_damaged(bytes, n, page, _i);
        char *before = slurp(broken, &after);
        ck_assert_msg(salvage(&got, &err) == ST_OK, "page %zu: %s", page + 1, err.msg);
        char *unchanged = slurp(broken, &after);
        ck_assert(after == n && memcmp(before, unchanged, n) == 0);
        ck_assert_int_eq(strangers(), 0);
        predictions(new, now);
        for (int i = 0; i < RUNS; i += 2) {
            const char *name = i ? "r2" : "r1";
            ck_assert_msg(!now[i] || !strcmp(was[i], now[i]), "page %zu: %s predicts other values",
                          page + 1, name);
            ck_assert_msg(now[i] || strstr(buf_str(&got.lost), name) ||
                          strstr(buf_str(&got.lost), "dataset"), "page %zu: %s is lost:\n%s",
                          page + 1, name, buf_str(&got.lost));
        }
        free_all(now);
        free(before);
        free(unchanged);
        store_salvaged_free(&got);
    }
    free_all(was);
    free(bytes);
}
END_TEST

/* Each row of these tables is on one page, so that over all pages each is lost once: an inner page
 * costs nothing. Tables of several pages have one. A scored run and a snapshot, the last two
 * tables, may need several pages, and each of these costs it. */
START_TEST(every_row_is_lost_once)
{
    static const char *const names[] = { "command", "script", "message", "past", "dataset",
                                         "run", "snapshot" };
    enum { TABLES = sizeof names / sizeof *names };
    struct store_salvaged got;
    struct err err;
    size_t n;
    int64_t rows[TABLES], lost[TABLES] = { 0 };

    make_session(60);
    for (size_t t = 0; t < TABLES; t++)
        rows[t] = count(whole, names[t]);
    char *bytes = slurp(whole, &n);
    for (size_t page = 0; page < n / PAGE; page++) {
        write_damaged(bytes, n, page, page % 2 ? ZEROS : RANDOM);
        ck_assert_msg(salvage(&got, &err) == ST_OK, "page %zu: %s", page + 1, err.msg);
        int64_t gone = 0;
        for (size_t t = 0; t < TABLES; t++) {
            const int64_t missing = rows[t] - count(new, names[t]);
            ck_assert_int_ge(missing, 0);
            lost[t] += missing;
            gone += missing;
        }
        ck_assert_msg(gone == 0 || got.nlost > 0, "page %zu: %lld rows are lost and not named",
                      page + 1, (long long)gone);
        store_salvaged_free(&got);
    }
    for (size_t t = 0; t + 1 < TABLES; t++)
        ck_assert_msg(t + 2 < TABLES ? lost[t] == rows[t] : lost[t] >= rows[t],
                      "%s: %lld rows, %lld lost", names[t], (long long)rows[t],
                      (long long)lost[t]);
    free(bytes);
}
END_TEST

/* Several pages at once, also of those that SQLite needs to open the file at all. */
START_TEST(many_damaged_pages)
{
    struct store_salvaged got;
    struct err err;
    struct splitmix g;
    size_t n;

    make_session(20);
    char *bytes = slurp(whole, &n);
    splitmix_init(&g, 50 + (uint64_t)_i);
    for (int times = 0; times < 20; times++) {
        char *copy = malloc(n);
        memcpy(copy, bytes, n);
        for (uint64_t k = 1 + splitmix_next(&g) % 12; k > 0; k--) {
            const size_t at = splitmix_next(&g) % n;
            const size_t len = 1 + splitmix_next(&g) % (2 * PAGE);
            for (size_t i = at; i < n && i < at + len; i++)
                copy[i] = (char)splitmix_next(&g);
        }
        support_write(broken, copy, times % 4 == 3 ? n - splitmix_next(&g) % (n / 2) : n);
        free(copy);
        if (salvage(&got, &err) == ST_OK) {
            char *now[RUNS];
            predictions(new, now);
            free_all(now);
        } else {
            ck_assert_msg(*err.msg && access(new, F_OK) != 0, "%s", err.msg);
        }
        ck_assert_int_eq(strangers(), 0);
        store_salvaged_free(&got);
    }
    free(bytes);
}
END_TEST

/* The command names what it found; a damaged session names the command. */
START_TEST(the_command_and_its_hint)
{
    struct store_salvaged got;
    struct desk d;
    struct err err = { 0 };
    size_t n;
    char line[1600];

    make_session(0);
    char *bytes = slurp(whole, &n);
    write_damaged(bytes, n, 8, ZEROS);
    ck_assert(desk_open(&d, broken, &err) != ST_OK);
    ck_assert_msg(!strncmp(err.hint, "salvage ", 8), "%s: %s", err.msg, err.hint);
    desk_close(&d);
    write_damaged(bytes, n, 0, ZEROS);
    err = (struct err){ 0 };
    ck_assert(desk_open(&d, broken, &err) != ST_OK);
    ck_assert_msg(!strncmp(err.hint, "salvage ", 8), "%s: %s", err.msg, err.hint);
    snprintf(line, sizeof line, "salvage %s %s; resume %s; score r1", broken, new, new);
    run(&d, line);
    snprintf(line, sizeof line, "salvage %s %s", broken, new);
    ck_assert(!desk_run(&d, line) && strstr(buf_str(&d.said), "is not written over"));
    snprintf(line, sizeof line, "salvage %s %s/other.gpd", new, dir);
    ck_assert(!desk_run(&d, line) && strstr(buf_str(&d.said), "is the session that is open"));
    desk_close(&d);
    support_write(broken, "a,b\n1,2\n", 8);
    ck_assert(salvage(&got, &err) == ST_FORMAT);
    ck_assert_msg(strstr(err.msg, "never was a session"), "%s", err.msg);
    ck_assert_int_eq(access(new, F_OK), -1);
    store_salvaged_free(&got);
    free(bytes);
}
END_TEST

/* What a killed program left in the log is in the new session, too. */
START_TEST(the_log_beside_it_counts)
{
    struct store_salvaged got;
    struct err err = { 0 };
    int status;

    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct desk d;
        if (desk_open(&d, broken, &err) != ST_OK ||
            !desk_run(&d, "demo toy n=40; kernel rbf; fit features=32; note r1 kept") ||
            store_flush(store_of(d.ws), &err) != ST_OK)
            _exit(1);
        raise(SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    ck_assert_msg(salvage(&got, &err) == ST_OK, "%s", err.msg);
    ck_assert_msg(got.nlost == 0, "%s", buf_str(&got.lost));
    ck_assert_uint_eq(got.runs, 1);
    ck_assert_uint_eq(got.lines, 4);
    store_salvaged_free(&got);
}
END_TEST

/* Nothing in the file runs, and nothing but rows is copied. */
START_TEST(nothing_in_it_is_executed)
{
    struct store_salvaged got;
    struct err err;
    sqlite3 *db;
    size_t n;

    make_session(0);
    char *bytes = slurp(whole, &n);
    support_write(broken, bytes, n);
    ck_assert_int_eq(sqlite3_open(broken, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; "
                                  "END; CREATE VIEW v AS SELECT 1; DROP TABLE past; "
                                  "CREATE VIEW past AS SELECT * FROM run", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    ck_assert_msg(salvage(&got, &err) == ST_OK, "%s", err.msg);
    ck_assert_int_eq(count(new, "run"), RUNS);
    ck_assert_int_eq(count(new, "sqlite_schema WHERE type IN ('view', 'trigger')"), 0);
    store_salvaged_free(&got);
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("salvage");
    const struct {
        const char *name;
        const TTest *test;
        int loop;
    } group[] = {
        { "pages", a_damaged_page_costs_that_page, 2 },
        { "rows", every_row_is_lost_once, 1 },
        { "many", many_damaged_pages, 3 },
        { "command", the_command_and_its_hint, 1 },
        { "log", the_log_beside_it_counts, 1 },
        { "hostile", nothing_in_it_is_executed, 1 },
    };
    for (size_t i = 0; i < sizeof group / sizeof *group; i++) {
        TCase *tc = tcase_create(group[i].name);
        tcase_add_checked_fixture(tc, set_up, tear_down);
        tcase_set_timeout(tc, 240);
        tcase_add_loop_test(tc, group[i].test, 0, group[i].loop);
        suite_add_tcase(s, tc);
    }
    return support_run(s);
}
