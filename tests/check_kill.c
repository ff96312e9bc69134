/* tests/check_kill.c -- what a batch has said on stdout is in its session after kill -9.
 *
 * The program itself is killed, at random moments of batches that fit, tune and score small models.
 * Counted is what stood on stdout: every result is a statement in the session's command table;
 * every run that a result names is there and complete, with the figures of the line; no name that
 * has been seen, even in progress, is used for another run.  GPDESK_KILLS: how many kills (20).
 *
 * Proposals and measurements the same: every id that has been printed is in the session and means
 * the same row, every value that was printed as told is told, and a statement that was not printed
 * is there whole or not at all.
 *
 * A factor of 4,096 features has 67 MB, which follow the results in pieces: GPDESK_KILLS_LARGE (1)
 * kills fall while it is written. */
#include "app/session/store.h"
#include "data/prepare_rows.h"

#include "store_support.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATEMENTS = 60, ROUNDS_EACH = 10, NAMES_MOST = 4000, LINES_MOST = 4000 };

static char *dir;
static char session[512], script[512];

/* What the batches on one session have shown. */
struct seen {
    char name[NAMES_MOST][16];
    int round[NAMES_MOST];
    size_t n;
};
static struct seen seen;
static size_t total_lines, total_runs, total_kills;

static void set_up(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    dir = support_tmpdir();
    snprintf(session, sizeof session, "%s", support_path(dir, "a.gpd"));
    snprintf(script, sizeof script, "%s", support_path(dir, "work.gps"));
}

static void tear_down(void)
{
    support_rmdir(dir);
}

/* Every fit has a factor that takes a while to write. */
static void write_large_script(void)
{
    static const char text[] = "demo toy n=40 seed=1\nsplit test=25% seed=1\nkernel rbf\n"
                               "fit features=4096 seed=1\nscore\nfit features=4096 seed=2\nscore\n"
                               "fit features=32\nscore\n";
    support_write(script, text, sizeof text - 1);
}

/* Fits, scores and now and then a tuning; one fit in eight has a factor that is written apart. */
static void write_script(struct splitmix *g, bool fresh)
{
    FILE *f = fopen(script, "w");

    ck_assert(f != NULL);
    if (fresh)
        fprintf(f, "demo toy n=40\nsplit test=25%%\nkernel rbf\n");
    for (int i = 0; i < STATEMENTS; i++) {
        const unsigned kind = (unsigned)(splitmix_next(g) % 16);
        if (kind == 0)
            fprintf(f, "tune features=32 evals=3\n");
        else
            fprintf(f, "fit features=%d seed=%d\nscore\n", kind < 3 ? 1024 : 32 + (int)kind, i);
    }
    ck_assert_int_eq(fclose(f), 0);
}

static pid_t start(int *out)
{
    const char *top = getenv("top_builddir");
    char program[600];
    int fd[2];

    snprintf(program, sizeof program, "%s/gpdesk", top ? top : ".");
    ck_assert_int_eq(pipe(fd), 0);
    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        dup2(fd[1], STDOUT_FILENO);
        close(fd[0]);
        close(fd[1]);
        execl(program, program, "--no-config", "--threads=1", "--format", "json", "-s", session,
              "-f", script, (char *)NULL);
        _exit(127);
    }
    close(fd[1]);
    *out = fd[0];
    return pid;
}

/* Reads until `lines` lines have come or the output ends; SIZE_MAX: to its end. */
static void read_lines(int fd, size_t lines, struct buf *text)
{
    char c[4096];
    size_t n = 0;

    for (ssize_t got; n < lines && (got = read(fd, c, sizeof c)) > 0;) {
        buf_putn(text, c, (size_t)got);
        for (ssize_t i = 0; i < got; i++)
            n += c[i] == '\n';
    }
}

static size_t count(const char *what)
{
    sqlite3 *db;
    sqlite3_stmt *q;

    if (access(session, F_OK) != 0)
        return 0;
    ck_assert_int_eq(sqlite3_open_v2(session, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    ck_assert_msg(sqlite3_prepare_v2(db, what, -1, &q, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    ck_assert_int_eq(sqlite3_step(q), SQLITE_ROW);
    const size_t n = (size_t)sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return n;
}

/* The value of a member, as text; false: none, or null. */
static bool member(const char *line, const char *key, char *out, size_t len)
{
    char pattern[40];

    snprintf(pattern, sizeof pattern, "\"%s\":", key);
    const char *at = strstr(line, pattern);
    if (!at || !strncmp(at + strlen(pattern), "null", 4))
        return false;
    at += strlen(pattern);
    at += *at == '"';
    snprintf(out, len, "%.*s", (int)strcspn(at, "\",}"), at);
    return true;
}

static void note_name(const char *name, int round)
{
    for (size_t i = 0; i < seen.n; i++)
        if (!strcmp(seen.name[i], name)) {
            ck_assert_msg(seen.round[i] == round, "%s was used in round %d and again in %d", name,
                          seen.round[i], round);
            return;
        }
    ck_assert_uint_lt(seen.n, NAMES_MOST);
    snprintf(seen.name[seen.n], sizeof seen.name[0], "%s", name);
    seen.round[seen.n++] = round;
}

static void check_run(struct desk *d, const char *line, const char *command, const char *name)
{
    const struct run *r = ws_run(d->ws, name, NULL);
    char text[40];

    ck_assert_msg(r != NULL, "%s was acknowledged and is lost: %s", name, line);
    ck_assert_msg(r->state == RUN_DONE, "%s is %s: %s", name, run_state_name(r->state), line);
    ck_assert_msg(r->kind != RUN_FIT || r->model, "the model of %s is lost", name);
    if (strcmp(command, "score"))
        return;
    ck_assert_msg(r->has_score, "the score of %s is lost: %s", name, line);
    const char *own = strstr(line, "\"baseline\":["); /* scores of simple models come first */
    own = own ? strchr(own, ']') : line;
    ck_assert(own && member(own, "rmse", text, sizeof text));
    ck_assert_msg(strtod(text, NULL) == r->score_raw.rmse, "%s: %s", name, line);
}

/* The whole lines of the output against the session.  Returns how many results there were. */
static size_t check_lines(struct desk *d, char *text, int round)
{
    size_t results = 0;

    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        char type[16], command[40], name[16];
        *end = '\0';
        ck_assert_msg(member(line, "type", type, sizeof type), "%s", line);
        if (strcmp(type, "tick") && member(line, "run", name, sizeof name))
            note_name(name, round);
        if (strcmp(type, "result"))
            continue;
        results++;
        ck_assert(member(line, "command", command, sizeof command));
        if (strcmp(type, "tick") && member(line, "run", name, sizeof name)) {
            check_run(d, line, command, name);
            total_runs += strcmp(command, "score") != 0;
        }
    }
    return results;
}

/* Starts the batch, kills it after `lines` lines and then a moment of up to 20 ms, and gathers what
 * it printed. */
static void kill_batch(struct splitmix *g, size_t lines, struct buf *text)
{
    int out, status;
    const pid_t pid = start(&out);

    read_lines(out, lines, text);
    usleep((useconds_t)(splitmix_next(g) % 20000));
    kill(pid, SIGKILL);
    read_lines(out, SIZE_MAX, text);
    close(out);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "the batch failed: %d\n%s",
                  WEXITSTATUS(status), buf_str(text));
    total_kills += WIFSIGNALED(status);
}

static void kill_once(struct splitmix *g, int round)
{
    const bool fresh = round % ROUNDS_EACH == 0;
    struct buf text = { 0 };
    struct err err = { 0 };
    struct desk d;

    if (fresh) {
        char other[540];
        unlink(session);
        snprintf(other, sizeof other, "%s-wal", session);
        unlink(other);
        memset(&seen, 0, sizeof seen);
    }
    write_script(g, access(session, F_OK) != 0 || count("SELECT count(*) FROM dataset") == 0);
    const size_t before = count("SELECT count(*) FROM command");
    kill_batch(g, splitmix_next(g) % (2 * STATEMENTS), &text);
    if (access(session, F_OK) != 0) {
        ck_assert_msg(!strstr(buf_str(&text), "\"result\""), "%s", buf_str(&text));
        buf_free(&text);
        return;
    }
    ck_assert_msg(desk_open(&d, session, &err) == ST_OK, "%s", err.msg);
    ck_assert_msg(!strstr(buf_str(&d.said), "warning"), "%s", buf_str(&d.said));
    char *copy = buf_take(&text);
    const size_t results = check_lines(&d, copy, round);
    desk_close(&d);
    const size_t after = count("SELECT count(*) FROM command");
    ck_assert_msg(results <= after - before, "%zu results were printed, %zu statements are kept",
                  results, after - before);
    total_lines += results;
    free(copy);
}

START_TEST(kill_9_loses_nothing_that_was_printed)
{
    const char *kills = getenv("GPDESK_KILLS");
    struct splitmix g;

    splitmix_init(&g, 99);
    for (int i = 0, n = kills ? atoi(kills) : 20; i < n; i++)
        kill_once(&g, i);
    fprintf(stderr, "# %zu kills: %zu results printed, %zu runs named, none lost\n", total_kills,
            total_lines, total_runs);
    ck_assert_uint_gt(total_kills, 3); /* the test tests something */
    ck_assert_uint_gt(total_lines, 30);
    ck_assert_uint_gt(total_runs, 10);
}
END_TEST

/* Bytes of the factor of r1 that are in the session. */
static size_t factor_bytes(void)
{
    return count("SELECT coalesce(sum(length(data)), 0) FROM blob WHERE owner = 'r1' AND "
                 "what = 'L'");
}

/* Once the first fit has been printed its factor is written: killed there, nothing of the fit is
 * lost, and it scores the same whether its factor is whole, in part or not there. */
START_TEST(kill_9_while_a_large_factor_is_written)
{
    const char *kills = getenv("GPDESK_KILLS_LARGE");
    const size_t whole = (size_t)4096 * 4097 / 2 * sizeof(double);
    size_t parted = 0, n = kills ? (size_t)atoi(kills) : 1;
    struct splitmix g;

    splitmix_init(&g, 199);
    for (size_t i = 0; i < n; i++) {
        struct buf text = { 0 };
        struct err err = { 0 };
        struct desk d;
        int out, status;
        unlink(session);
        write_large_script();
        const pid_t pid = start(&out);
        /* demo, split, kernel, fit: their results, and perhaps notes and ticks in between. */
        while (!strstr(buf_str(&text), "\"command\":\"fit\"")) {
            const size_t before = text.len;
            read_lines(out, 1, &text);
            ck_assert_msg(text.len > before, "no fit was printed:\n%s", buf_str(&text));
        }
        usleep((useconds_t)(splitmix_next(&g) % 100000));
        kill(pid, SIGKILL);
        read_lines(out, SIZE_MAX, &text);
        close(out);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_msg(desk_open(&d, session, &err) == ST_OK, "%s", err.msg);
        ck_assert_msg(!strstr(buf_str(&d.said), "warning"), "%s", buf_str(&d.said));
        char *copy = buf_take(&text);
        memset(&seen, 0, sizeof seen);
        ck_assert_uint_ge(check_lines(&d, copy, (int)i), 4);
        free(copy);
        ck_assert(desk_run(&d, "score r1"));
        const double rmse = ws_run(d.ws, "r1", NULL)->score_raw.rmse;
        desk_close(&d);
        const size_t bytes = factor_bytes();
        ck_assert(bytes <= whole);
        parted += bytes < whole;
        ck_assert(desk_open(&d, NULL, &err) == ST_OK);
        ck_assert(desk_run(&d, "demo toy n=40 seed=1; split test=25% seed=1; kernel rbf; "
                           "fit features=4096 seed=1; score"));
        ck_assert(fabs(ws_run(d.ws, "r1", NULL)->score_raw.rmse - rmse) < 1e-9);
        desk_close(&d);
    }
    fprintf(stderr, "# %zu kills behind a factor of 4,096 features: in %zu it was not whole\n", n,
            parted);
}
END_TEST

/* Rounds of suggest and tell, killed anywhere. The script of a round tells the ids that the output
 * of earlier rounds has printed, three a statement, and asks for more. */

enum { ASKED_MOST = 4000 };
struct proposals {
    char cells[ASKED_MOST][80]; /* of id s(k + 1), as the session had them; "": not seen */
    bool told[ASKED_MOST];      /* printed as told */
    size_t n;
};
static struct proposals proposals;

/* What the measurement of an id is. */
static double value_of(size_t k)
{
    return 1.0 + 0.25 * (double)(k % 37);
}

/* The state of proposal k in the session. */
static const struct prepare_rows_asked *find_proposal(const struct prepare_rows *r, size_t k)
{
    char id[16];

    snprintf(id, sizeof id, "s%zu", k + 1);
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->at[i].id, id))
            return &r->at[i];
    return NULL;
}

/* Pending ids are told by threes; every other statement is a suggest or a fit. */
/* fitted: the session has a fit; a kill can come between the data and the first one. */
static void write_telling(struct splitmix *g, const struct prepare_rows *had, bool fitted)
{
    FILE *f = fopen(script, "w");
    size_t k = 0;

    ck_assert(f != NULL);
    if (!had)
        fprintf(f, "demo toy n=20 seed=1\n");
    if (!fitted)
        fprintf(f, "kernel rbf\nfit solver=exact\n");
    for (int i = 0; i < 40; i++) {
        size_t n = 0;
        for (; had && k < had->n && n < 3; k++)
            if (had->at[k].state == ROWS_PENDING) {
                const size_t id = strtoul(had->at[k].id + 1, NULL, 10);
                fprintf(f, n++ ? " %s=%.17g" : "tell %s=%.17g", had->at[k].id, value_of(id));
            }
        if (n)
            fprintf(f, "\n");
        if (splitmix_next(g) % 8 == 0)
            fprintf(f, "fit solver=exact\n");
        fprintf(f, "suggest 3 by=sd seed=%u candidates=300\n", (unsigned)(splitmix_next(g) % 999));
    }
    ck_assert_int_eq(fclose(f), 0);
}

/* The proposals of the session against what was known of them. */
static void check_proposals(const struct prepare_rows *r)
{
    for (size_t k = 0; k < proposals.n; k++) {
        const struct prepare_rows_asked *p = find_proposal(r, k);
        if (!*proposals.cells[k])
            continue;
        ck_assert_msg(p != NULL, "s%zu was printed and is lost", k + 1);
        if (!strcmp(proposals.cells[k], "?"))
            snprintf(proposals.cells[k], sizeof proposals.cells[k], "%s", p->cells);
        ck_assert_str_eq(proposals.cells[k], p->cells);
        char *y = p->measured ? prepare_rows_text(p->measured, "y") : NULL;
        ck_assert_msg(!proposals.told[k] || y, "s%zu was told and is pending again", k + 1);
        if (y) {
            ck_assert(strtod(y, NULL) == value_of(k + 1));
            proposals.told[k] = true;
        }
        free(y);
    }
    for (size_t i = 0; i < r->n; i++) { /* also those that nobody has read of */
        const size_t k = strtoul(r->at[i].id + 1, NULL, 10) - 1;
        ck_assert_uint_lt(k, ASKED_MOST);
        if (!*proposals.cells[k])
            snprintf(proposals.cells[k], sizeof proposals.cells[k], "%s", r->at[i].cells);
        proposals.n = k + 1 > proposals.n ? k + 1 : proposals.n;
    }
}

/* Ids that were printed, and the statements of tell, whose ids are in the script in this order. */
static void read_printed(char *text)
{
    size_t tells = 0;

    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        char command[40] = "";
        *end = '\0';
        if (!strstr(line, "\"type\":\"result\"") || !member(line, "command", command, 40))
            continue;
        tells += !strcmp(command, "tell");
        for (const char *p = line; !strcmp(command, "suggest") &&
                                   (p = strstr(p, "\"id\":\"s")) != NULL; p += 6) {
            const size_t k = strtoul(p + 7, NULL, 10) - 1;
            ck_assert_uint_lt(k, ASKED_MOST);
            ck_assert_msg(!*proposals.cells[k], "s%zu was given out twice", k + 1);
            snprintf(proposals.cells[k], sizeof proposals.cells[k], "?");
            proposals.n = k + 1 > proposals.n ? k + 1 : proposals.n;
        }
        total_lines++;
    }
    FILE *f = fopen(script, "r");
    char line[256];
    ck_assert(f != NULL);
    while (tells > 0 && fgets(line, sizeof line, f)) {
        if (strncmp(line, "tell ", 5) != 0)
            continue;
        tells--;
        for (const char *p = line; (p = strstr(p, " s")) != NULL; p += 2) {
            proposals.told[strtoul(p + 2, NULL, 10) - 1] = true;
            total_runs++;
        }
    }
    fclose(f);
}

/* All three of a statement or none: their ids stand together. */
static void check_whole(const struct prepare_rows *r)
{
    FILE *f = fopen(script, "r");
    char line[256];

    ck_assert(f != NULL);
    while (fgets(line, sizeof line, f)) {
        size_t n = 0, measured = 0;
        if (strncmp(line, "tell ", 5) != 0)
            continue;
        for (const char *p = line; (p = strstr(p, " s")) != NULL; p += 2, n++) {
            const struct prepare_rows_asked *a = find_proposal(r, strtoul(p + 2, NULL, 10) - 1);
            measured += a && a->state == ROWS_MEASURED;
        }
        ck_assert_msg(measured == 0 || measured == n, "%zu of %zu of %s", measured, n, line);
    }
    fclose(f);
}

static void kill_telling(struct splitmix *g)
{
    struct buf text = { 0 };
    struct err err = { 0 };
    struct prepare_rows r = { 0 };
    struct desk d;
    const bool had = access(session, F_OK) == 0 && count("SELECT count(*) FROM dataset") > 0;
    bool fitted = false;

    if (had) {
        ck_assert_msg(desk_open(&d, session, &err) == ST_OK, "%s", err.msg);
        ck_assert(prepare_rows_read(d.ws->data[0]->steps, &r, &err) == ST_OK);
        for (size_t i = 0; i < d.ws->nrun; i++)
            fitted |= d.ws->run[i]->model != NULL;
        desk_close(&d);
    } else {
        unlink(session);
    }
    write_telling(g, had ? &r : NULL, fitted);
    prepare_rows_free(&r);
    kill_batch(g, splitmix_next(g) % 100, &text);
    char *copy = buf_take(&text);
    ck_assert(copy != NULL);
    read_printed(copy);
    free(copy);
    if (access(session, F_OK) != 0 || count("SELECT count(*) FROM dataset") == 0) {
        ck_assert_uint_eq(proposals.n, 0);
        return;
    }
    ck_assert_msg(desk_open(&d, session, &err) == ST_OK, "%s", err.msg);
    ck_assert_msg(!strstr(buf_str(&d.said), "warning"), "%s", buf_str(&d.said));
    ck_assert(prepare_rows_read(d.ws->data[0]->steps, &r, &err) == ST_OK);
    check_proposals(&r);
    check_whole(&r);
    prepare_rows_free(&r);
    desk_close(&d);
}

START_TEST(kill_9_loses_nothing_that_was_told)
{
    const char *kills = getenv("GPDESK_KILLS");
    struct splitmix g;

    splitmix_init(&g, 299);
    total_kills = total_lines = total_runs = 0;
    memset(&proposals, 0, sizeof proposals);
    for (int i = 0, n = kills ? atoi(kills) : 12; i < n; i++) {
        if (proposals.n > 300) { /* another session */
            char other[540];
            unlink(session);
            snprintf(other, sizeof other, "%s-wal", session);
            unlink(other);
            memset(&proposals, 0, sizeof proposals);
        }
        kill_telling(&g);
    }
    fprintf(stderr, "# %zu kills: %zu results printed, %zu values told, none lost\n", total_kills,
            total_lines, total_runs);
    ck_assert_uint_gt(total_kills, 3);
    ck_assert_uint_gt(total_runs, 10);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("kill");
    TCase *tc = tcase_create("kill");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, getenv("GPDESK_KILLS") || getenv("GPDESK_KILLS_LARGE") ? 3600 : 300);
    tcase_add_test(tc, kill_9_loses_nothing_that_was_printed);
    tcase_add_test(tc, kill_9_loses_nothing_that_was_told);
    tcase_add_test(tc, kill_9_while_a_large_factor_is_written);
    suite_add_tcase(s, tc);
    return support_run(s);
}
