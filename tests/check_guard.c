/* tests/check_guard.c -- files beside a session: nothing of the user's is removed or changed by a
 * journal or a log that stands there, and what a killed program leaves is recovered. */
#include "app/session/store.h"

#include "app/session/store_impl.h"
#include "store_support.h"
#include "support.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, SECTOR = 512 };

static const unsigned char magic[8] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7 };
static char *dir;
static char session[512], journal[520], log_file[520], precious[512];

static void set_up(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    dir = support_tmpdir();
    setenv("XDG_STATE_HOME", dir, 1);
    ck_assert_int_eq(mkdir(support_path(dir, "gpdesk"), 0700), 0);
    snprintf(session, sizeof session, "%s/gpdesk/a.gpd", dir);
    snprintf(journal, sizeof journal, "%s-journal", session);
    snprintf(log_file, sizeof log_file, "%s-wal", session);
    snprintf(precious, sizeof precious, "%s/precious.txt", dir);
    support_write(precious, "years of work\n", 14);
}

static void tear_down(void)
{
    support_rmdir(dir);
}

static void run(struct desk *d, const char *line)
{
    ck_assert_msg(desk_run(d, line), "%s\n%s", line, buf_str(&d->said));
}

static void make_session(void)
{
    struct desk d;
    struct err err = { 0 };

    ck_assert_msg(desk_open(&d, session, &err) == ST_OK, "%s", err.msg);
    run(&d, "demo toy n=30; kernel rbf; fit features=32; fit features=64");
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

static void big_endian(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> (24 - 8 * i));
}

/* A journal of SQLite with these records: a page number, and the byte that fills the page; NULL
 * bytes: the page as it is given.  Checksums are right (fileformat2.html, 3). */
static size_t journal_of(unsigned char *out, uint32_t before, uint32_t page_no,
                         const unsigned char *page)
{
    uint32_t sum = 7;

    memset(out, 0, SECTOR);
    memcpy(out, magic, sizeof magic);
    big_endian(out + 8, page ? 1 : 0);
    big_endian(out + 12, 7); /* the nonce */
    big_endian(out + 16, before);
    big_endian(out + 20, SECTOR);
    big_endian(out + 24, PAGE);
    if (!page)
        return SECTOR;
    big_endian(out + SECTOR, page_no);
    memcpy(out + SECTOR + 4, page, PAGE);
    for (int i = PAGE - 200; i > 0; i -= 200)
        sum += page[i];
    big_endian(out + SECTOR + 4 + PAGE, sum);
    return SECTOR + 4 + PAGE + 4;
}

static size_t add_super(unsigned char *out, const char *name)
{
    const size_t n = strlen(name);
    uint32_t sum = 0;

    big_endian(out, PAGE == 4096 ? 0x40000000 / PAGE + 1 : 0); /* the page of the locks */
    memcpy(out + 4, name, n);
    for (size_t i = 0; i < n; i++)
        sum += (uint32_t)(signed char)name[i];
    big_endian(out + 4 + n, (uint32_t)n);
    big_endian(out + 8 + n, sum);
    memcpy(out + 12 + n, magic, sizeof magic);
    return n + 20;
}

/* What makes each file beside the session; `says`: part of the refusal. */
static void put_super(void)
{
    unsigned char bytes[2048];
    size_t n = add_super(bytes, precious);
    support_write(journal, bytes, n);
}

static void put_super_behind_header(void)
{
    unsigned char bytes[8192];
    size_t n = journal_of(bytes, 1, 0, NULL);
    n += add_super(bytes + n, precious);
    support_write(journal, bytes, n);
}

/* Not hot for SQLite, but no journal of ours either. */
static void put_super_cold(void)
{
    unsigned char bytes[8192] = { 0 };
    const size_t n = 512 + add_super(bytes + 512, precious);
    support_write(journal, bytes, n);
}

static void put_notes(void)
{
    support_write(journal, "my journal of these weeks\n", 26);
}

static void put_link(void)
{
    ck_assert_int_eq(symlink(precious, journal), 0);
}

static void put_link_log(void)
{
    ck_assert_int_eq(symlink(precious, log_file), 0);
}

static void put_hard_link(void)
{
    ck_assert_int_eq(link(precious, log_file), 0);
}

static void put_pipe(void)
{
    ck_assert_int_eq(mkfifo(journal, 0600), 0);
}

static void put_directory(void)
{
    ck_assert_int_eq(mkdir(journal, 0700), 0);
}

static void put_huge(void)
{
    unsigned char bytes[8192];
    const size_t n = journal_of(bytes, 1, 0, NULL);
    support_write(journal, bytes, n);
    ck_assert_int_eq(truncate(journal, (off_t)100 << 30), 0);
}

/* Page 1 of another kind of database. */
static void put_foreign(void)
{
    unsigned char page[PAGE] = "SQLite format 3", bytes[8192];
    page[16] = 0x10;
    big_endian(page + 68, 12345);
    support_write(journal, bytes, journal_of(bytes, 2, 1, page));
}

/* A journal in perfect form that puts rubbish in the place of the schema's second page. */
static void put_rubbish(void)
{
    unsigned char page[PAGE], bytes[8192];
    memset(page, 0x5a, sizeof page);
    support_write(journal, bytes, journal_of(bytes, 40, 2, page));
}

static const struct {
    void (*put)(void);
    const char *says, *file;
} beside[] = {
    { put_super, "names a second file", "-journal" },
    { put_super_behind_header, "names a second file", "-journal" },
    { put_super_cold, "names a second file", "-journal" },
    { put_notes, "not a journal of SQLite", "-journal" },
    { put_link, "is a symbolic link", "-journal" },
    { put_link_log, "is a symbolic link", "-wal" },
    { put_hard_link, "another name", "-wal" },
    { put_pipe, "is a named pipe", "-journal" },
    { put_directory, "is a directory", "-journal" },
    { put_huge, "is larger than the session", "-journal" },
    { put_foreign, "other contents", "-journal" },
    { put_rubbish, "does not lead back", "-journal" },
};

static void check_untouched(const char *was, size_t n, const struct stat *before, const char *file)
{
    size_t m, len;
    char *now = slurp(session, &m), *text = slurp(precious, &len);
    struct stat st;

    ck_assert_str_eq(text, "years of work\n");
    ck_assert_uint_eq(n, m);
    ck_assert(memcmp(was, now, n) == 0);
    ck_assert_int_eq(lstat(file, &st), 0);
    ck_assert(st.st_ino == before->st_ino && st.st_size == before->st_size);
    free(text);
    free(now);
}

START_TEST(hostile_files_are_refused)
{
    struct desk d;
    struct err err = { 0 };
    struct stat before;
    size_t n;

    make_session();
    char *was = slurp(session, &n);
    beside[_i].put();
    const char *file = strcmp(beside[_i].file, "-wal") ? journal : log_file;
    ck_assert_int_eq(lstat(file, &before), 0);
    ck_assert_int_ne(desk_open(&d, session, &err), ST_OK);
    ck_assert_msg(strstr(err.msg, beside[_i].says) && strstr(err.msg, beside[_i].file), "%s",
                  err.msg);
    ck_assert_msg(strstr(err.hint, "mv ") && strstr(err.hint, beside[_i].file), "%s", err.hint);
    check_untouched(was, n, &before, file);
    run(&d, "sessions"); /* looks at all of them */
    check_untouched(was, n, &before, file);
    ck_assert(!desk_run(&d, "resume"));
    check_untouched(was, n, &before, file);
    desk_close(&d);
    ck_assert_int_eq(beside[_i].put == put_directory ? rmdir(file) : unlink(file), 0);
    ck_assert_msg(desk_open(&d, session, &err) == ST_OK, "%s", err.msg);
    ck_assert_uint_eq(d.ws->nrun, 2);
    desk_close(&d);
    free(was);
}
END_TEST

/* A log or a journal whose session has gone would be applied to, or removed for, a new one. */
START_TEST(what_lost_its_session_is_kept)
{
    struct desk d;
    struct err err = { 0 };
    char line[600];

    const char *file = _i ? journal : log_file;
    support_write(file, "the only copy", 13);
    ck_assert_int_ne(desk_open(&d, session, &err), ST_OK);
    ck_assert_msg(strstr(err.msg, "belongs to a session that is not there"), "%s", err.msg);
    ck_assert_int_ne(access(session, F_OK), 0);
    run(&d, "demo toy n=20");
    snprintf(line, sizeof line, "save '%s'", session);
    ck_assert(!desk_run(&d, line));
    ck_assert_int_ne(access(session, F_OK), 0);
    desk_close(&d);
    /* Nor may a copy of a session get it as its log. */
    snprintf(line, sizeof line, "%s/other.gpd", dir);
    ck_assert_msg(desk_open(&d, line, &err) == ST_OK, "%s", err.msg);
    snprintf(line, sizeof line, "save '%s'", session);
    ck_assert(!desk_run(&d, line));
    ck_assert_int_ne(access(session, F_OK), 0);
    desk_close(&d);
    size_t n;
    char *text = slurp(file, &n);
    ck_assert_str_eq(text, "the only copy");
    free(text);
}
END_TEST

/* Leaves a hot journal as a program does that is killed while it changes pages: with WAL not
 * granted, every transaction has one. */
static void die_in_a_transaction(void)
{
    const pid_t pid = fork();
    int status;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        sqlite3 *db;
        if (sqlite3_open(session, &db) != SQLITE_OK ||
            sqlite3_exec(db, "PRAGMA journal_mode=DELETE; PRAGMA cache_size=1; BEGIN;"
                         "UPDATE run SET body = 'lost' || hex(zeroblob(9000));"
                         "UPDATE blob SET data = zeroblob(20000), what = what || 'x';"
                         "INSERT INTO meta VALUES('x', hex(zeroblob(50000)), 0)", NULL, NULL,
                         NULL) != SQLITE_OK)
            _exit(1);
        raise(SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
}

START_TEST(a_journal_of_a_killed_program_is_rolled_back)
{
    struct desk d;
    struct err err = { 0 };
    struct stat st;
    size_t n, m, k;

    make_session();
    char *was = slurp(session, &n);
    die_in_a_transaction();
    char *torn = slurp(session, &m), *hot = slurp(journal, &k);
    ck_assert_uint_gt(k, SECTOR);
    ck_assert(m != n || memcmp(was, torn, n) != 0);
    desk_open(&d, NULL, &err);
    run(&d, "sessions"); /* does not open it */
    desk_close(&d);
    char *now = slurp(journal, &n);
    ck_assert(n == k && memcmp(now, hot, n) == 0);
    ck_assert_msg(desk_open(&d, session, &err) == ST_OK, "%s", err.msg);
    ck_assert_msg(!strstr(buf_str(&d.said), "warning"), "%s", buf_str(&d.said));
    ck_assert_uint_eq(d.ws->nrun, 2);
    ck_assert(d.ws->run[1]->model && d.ws->run[1]->model->M == 64);
    ck_assert_int_ne(lstat(journal, &st), 0);
    desk_close(&d);
    free(now);
    free(was);
    free(torn);
    free(hot);
}
END_TEST

/* A list neither recovers nor changes a session that was not closed. */
START_TEST(lists_leave_logs_alone)
{
    struct desk d;
    struct err err = { 0 };
    struct stat before, after;
    int status;

    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        if (desk_open(&d, session, &err) != ST_OK ||
            !desk_run(&d, "demo toy n=30; kernel rbf; fit features=32") ||
            store_flush(store_of(d.ws), &err) != ST_OK)
            _exit(1);
        raise(SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(stat(log_file, &before), 0);
    ck_assert_int_gt(before.st_size, 0);
    desk_open(&d, NULL, &err);
    run(&d, "sessions");
    desk_close(&d);
    ck_assert_int_eq(stat(log_file, &after), 0);
    ck_assert(before.st_ino == after.st_ino && before.st_size == after.st_size);
    ck_assert_msg(desk_open(&d, session, &err) == ST_OK, "%s", err.msg);
    ck_assert_uint_eq(d.ws->nrun, 1);
    desk_close(&d);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("guard");
    const struct {
        const char *name;
        const TTest *test;
        int loop;
    } group[] = {
        { "hostile", hostile_files_are_refused, (int)(sizeof beside / sizeof *beside) },
        { "orphans", what_lost_its_session_is_kept, 2 },
        { "rollback", a_journal_of_a_killed_program_is_rolled_back, 1 },
        { "lists", lists_leave_logs_alone, 1 },
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
