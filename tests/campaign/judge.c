/* tests/campaign/judge.c -- runs the program in a directory and judges what it has printed and
 * left behind (judge.h). */
#include "judge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct sum *sum;
char program[PATH], shim[PATH], top[PATH], self_path[PATH];
bool verbose;
size_t run_ms;

void join(char out[PATH], const char *dir, const char *name)
{
    if ((size_t)snprintf(out, PATH, "%s%s%s", dir, *name ? "/" : "", name) >= PATH)
        *out = '\0';
}

void die(const char *what)
{
    fprintf(stderr, "drive: %s: %s\n", what, strerror(errno));
    exit(99);
}

char *slurp(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = calloc(1, TEXT + 1);

    if (f && text) {
        text[fread(text, 1, TEXT, f)] = '\0';
        fclose(f);
    }
    return text;
}

void empty(const char *dir)
{
    char command[2 * PATH + 40];

    snprintf(command, sizeof command, "rm -rf '%s' && mkdir -p '%s/tmp'", dir, dir);
    if (system(command) != 0)
        die(dir);
}

void copy_files(const char *from, const char *to)
{
    DIR *d = opendir(from);

    for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
        char a[PATH], b[PATH];
        struct stat st;
        join(a, from, e->d_name);
        join(b, to, e->d_name);
        if (stat(a, &st) != 0 || !S_ISREG(st.st_mode))
            continue;
        const int in = open(a, O_RDONLY), out = open(b, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        char bytes[65536];
        for (ssize_t n; (n = read(in, bytes, sizeof bytes)) > 0;)
            if (write(out, bytes, (size_t)n) != n)
                die(b);
        close(in);
        close(out);
    }
    if (d)
        closedir(d);
}

/* Of a child: goes to dir, and keeps all files of the program there. */
void place(const char *dir)
{
    char tmp[PATH], home[PATH];

    join(tmp, dir, "tmp");
    join(home, top, "home");
    if (chdir(dir) != 0)
        _exit(99);
    setenv("TMPDIR", tmp, 1);
    setenv("XDG_STATE_HOME", home, 1), setenv("XDG_CACHE_HOME", tmp, 1);
    setenv("XDG_CONFIG_HOME", home, 1), setenv("OPENBLAS_NUM_THREADS", "1", 1);
}

/* Runs the program in dir; returns the wait status, or -1 when it had to be killed. */
int run(const char *dir, const char *session, const char *lines, const char *out,
               char *const fault[])
{
    const pid_t pid = fork();
    struct rusage used;
    int status;

    run_ms = 0;
    if (pid == 0) {
        place(dir);
        const int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        char errors[64];
        snprintf(errors, sizeof errors, "%s.err", out);
        const int er = open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        const int in = open("/dev/null", O_RDONLY);
        dup2(in, 0), dup2(fd, 1), dup2(er, 2);
        close(in), close(fd), close(er);
        for (size_t i = 0; fault && fault[i]; i++)
            putenv(fault[i]);
        if (session)
            execl(program, program, "--no-config", "--threads=1", "--format", "json", "-q", "-s",
                  session, "-e", lines, (char *)NULL);
        execl(program, program, "--no-config", "--threads=1", "--format", "json", "-q", "-k", "-e",
              lines, (char *)NULL);
        _exit(99);
    }
    for (int ms = 0; ms < LIMIT_MS; ms += ms < 100 ? 1 : 10) {
        const pid_t got = wait4(pid, &status, WNOHANG, &used);
        if (got == pid) {
            run_ms = (size_t)((used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
                              (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000);
            return status;
        }
        usleep(ms < 100 ? 1000 : 10000);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return -1;
}

/* Reading what was printed. */

const char *member(const char *line, const char *key, char *value, size_t len)
{
    char pattern[64];

    snprintf(pattern, sizeof pattern, "\"%s\":", key);
    const char *at = strstr(line, pattern), *end = strchr(line, '\n');
    *value = '\0';
    if (!at || (end && at > end))
        return value;
    at += strlen(pattern);
    at += *at == '"';
    snprintf(value, len, "%.*s", (int)strcspn(at, "\",}\n"), at);
    return value;
}

/* Times and sizes of memory differ from run to run: their digits are dropped. */
static void mask(const char *line, char *out, size_t len)
{
    static const char phases[] = "\"seconds\":{"; /* short ones are of the form 5e-05 */
    static const char *const moving[] = { "\"seconds\":", "\"features\":0", "\"solve\":",
                                          "\"variance\":", "\"total\":", "\"precond\":",
                                          "\"sums\":", "_bytes\":", "\"bytes\":" };
    size_t n = 0;

    while (*line && *line != '\n' && n + 1 < len) {
        size_t skip = 0;
        for (size_t i = 0; i < sizeof moving / sizeof *moving && !skip; i++)
            if (!strncmp(line, moving[i], strlen(moving[i])))
                skip = strlen(moving[i]);
        if (!strncmp(line, phases, sizeof phases - 1))
            line += strcspn(line, "}");
        if (!strncmp(line, "\"path\":\"/", 9)) /* each run is in a directory of its own */
            line += 8 + strcspn(line + 8, "\"\n");
        if (!strncmp(line, "\"session\":\"/", 12))
            line += 11 + strcspn(line + 11, "\"\n");
        if (skip) {
            line += skip;
            while (*line && strchr("0123456789.e-+", *line))
                line++;
            continue;
        }
        out[n++] = *line++;
    }
    out[n] = '\0';
}

bool next_line(const char **at, char *line, size_t len)
{
    const char *end = strchr(*at, '\n');

    if (!end)
        return false;
    snprintf(line, len, "%.*s", (int)(end - *at), *at);
    *at = end + 1;
    return true;
}

bool same_file(const char *dir, const char *other, const char *name)
{
    char a[PATH], b[PATH];

    join(a, dir, name);
    join(b, other, name);
    char *x = slurp(a), *y = slurp(b);
    const size_t n = strlen(x), nn = strlen(name);
    bool same = access(a, R_OK) == 0 && !strcmp(x, y);
    if (nn > 4 && !strcmp(name + nn - 4, ".svg")) /* gnuplot's or, without it, the program's own */
        same = n > 7 && strstr(x + n - 8, "</svg>") != NULL;
    if (nn > 4 && (!strcmp(name + nn - 4, ".png") || !strcmp(name + nn - 5, ".html")))
        same = access(a, R_OK) == 0; /* dates */
    free(x);
    free(y);
    return same;
}

/* The functions of the program that led to the refused call, from the innermost, by addr2line where
 * it is installed: what is the 5331st request of one run may be the 5330th of the next. */
static void show_trace(const char *path)
{
    char line[600], command[PATH + 600];
    FILE *f = fopen(path, "r");

    for (int n = 0; f && n < 6 && fgets(line, sizeof line, f);) {
        const char *from = strstr(line, "/gpdesk(+0x");
        if (!from)
            continue;
        snprintf(command, sizeof command, "addr2line -fspe '%s' %.*s 2>&1", program,
                 (int)strcspn(from + 9, ")"), from + 9);
        FILE *p = popen(command, "r");
        if (p && fgets(line, sizeof line, p))
            printf("  from: %s", line);
        if (p)
            pclose(p);
        n++;
    }
    if (f)
        fclose(f);
}

void found(struct job *j, const char *fmt, ...)
{
    char text[2000];
    va_list ap;

    j->bad = true;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (__atomic_add_fetch(&sum->found, 1, __ATOMIC_RELAXED) > FINDS_SHOWN &&
        !verbose && !getenv("DRIVE_SHOW"))
        return;
    printf("FOUND %s: %s\n  repeat: %s\n", j->scene->name, text, j->repeat);
    if (*j->trace)
        show_trace(j->trace);
    fflush(stdout);
}

void check_left(struct job *j, bool killed)
{
    char tmp[PATH];
    DIR *d = opendir(j->dir);

    join(tmp, j->dir, j->scene->session);
    const bool there = access(tmp, F_OK) == 0; /* what SQLite keeps beside it is a part of it */
    for (const struct dirent *e; d && !killed && (e = readdir(d)) != NULL;) {
        char want[PATH];
        join(want, j->whole, e->d_name);
        const size_t n = strlen(e->d_name);
        const bool ours = !strncmp(e->d_name, j->scene->session, 5) && n > 5;
        if (!(ours && there) && access(want, F_OK) != 0 && strncmp(e->d_name, "again", 5) != 0)
            found(j, "%s is left behind", e->d_name);
    }
    if (d)
        closedir(d);
    join(tmp, j->dir, "tmp");
    d = opendir(tmp);
    for (const struct dirent *e; d && !killed && (e = readdir(d)) != NULL;)
        if (*e->d_name != '.' && strcmp(e->d_name, "gpdesk") != 0)
            found(j, "tmp/%s is left behind", e->d_name);
    if (d)
        closedir(d);
}

/* Keeps the longest opening.  What is too long is judged in the campaign alone (make campaign): a
 * sample of it has to pass on a machine of any speed. */
static void time_opening(struct job *j)
{
    const char *campaign = getenv("GPDESK_CAMPAIGN");

    if (run_ms > sum->opens_ms)
        sum->opens_ms = run_ms; /* jobs beside this one may overwrite it; each judges its own */
    if (run_ms > OPENS_MS && campaign && !strcmp(campaign, "all"))
        found(j, "the session opens, but takes %zu ms of the processor", run_ms);
}

/* The session opens, and what was acknowledged is there: runs by name, files to the byte, and the
 * predictions of r1.  all: nothing was said to be lost, and no warning is expected. */
void check_session(struct job *j, const char *said, bool all)
{
    char path[PATH], line[1 << 16], command[40], run_name[40], want[80];
    const char *session = j->scene->session;
    bool r1 = false, any = false;

    join(path, j->dir, session);
    for (const char *p = said; next_line(&p, line, sizeof line);)
        if (strstr(line, "\"type\":\"result\"")) {
            any = true;
            r1 |= !strcmp(member(line, "command", command, 40), "fit") &&
                  !strcmp(member(line, "run", run_name, 40), "r1");
        }
    r1 |= j->scene->starts_with_r1 && all;
    if (access(path, F_OK) != 0) {
        if (any)
            found(j, "results were printed and there is no session");
        return;
    }
    char lines[600];
    snprintf(lines, sizeof lines, "resume %s; runs%s", session,
             r1 ? "; predict run=r1 out=again.csv" : "");
    const int status = run(j->dir, NULL, lines, "again", NULL);
    time_opening(j);
    join(path, j->dir, "again");
    char *again = slurp(path);
    if (!strstr(again, "\"command\":\"runs\"") ||
        ((all || r1) && (status != 0 || strstr(again, "\"type\":\"error\""))) ||
        (all && strstr(again, "\"type\":\"warning\""))) {
        const char *why = strstr(again, "\"message\":");
        found(j, "the session does not open whole (status %d): %.300s", status, why ? why : again);
    } else {
        for (const char *p = said; next_line(&p, line, sizeof line);) {
            if (!strstr(line, "\"type\":\"result\"") ||
                !*member(line, "run", run_name, 40) || !strcmp(run_name, "null"))
                continue;
            snprintf(want, sizeof want, "{\"run\":\"%s\"", run_name);
            if (!strstr(again, want))
                found(j, "%s was printed and is not in the session", run_name);
        }
        if (r1 && j->scene->predicts && !same_file(j->dir, j->whole, "again.csv"))
            found(j, "r1 predicts otherwise");
    }
    free(again);
}

/* Errors have a text; a result that was printed is that of the run without faults, with its
 * file. */
void check_lines(struct job *j, const char *said, const char *whole, bool *error,
                        bool *warning)
{
    char line[1 << 16], a[1 << 16], b[1 << 16], text[200], file[200];

    *error = *warning = false;
    for (const char *p = said; next_line(&p, line, sizeof line);) {
        const bool is_error = strstr(line, "\"type\":\"error\"") != NULL;
        *warning |= strstr(line, "\"type\":\"warning\"") != NULL;
        if (is_error && !*member(line, "message", text, sizeof text))
            found(j, "an error without a text: %.300s", line);
        *error |= is_error;
        if (!strstr(line, "\"type\":\"result\""))
            continue;
        mask(line, a, sizeof a);
        bool known = false;
        char other[1 << 16];
        for (const char *q = whole; !known && next_line(&q, other, sizeof other);) {
            mask(other, b, sizeof b);
            known = !strcmp(a, b);
        }
        if (!known && !*warning)
            found(j, "a result that is not that of the whole run: %.300s", line);
        if (*member(line, "out", file, sizeof file) && known && !same_file(j->dir, j->whole, file))
            found(j, "%s was printed and is not whole", file);
    }
}

size_t results(const char *text)
{
    size_t n = 0;

    for (const char *p = text; (p = strstr(p, "\"type\":\"result\"")) != NULL; p++)
        n++;
    return n;
}

/* Cuts the text at the first line that says that the session is not written: what follows was not
 * acknowledged.  False: there is such a line. */
bool acknowledged(char *said)
{
    static const char *const trouble[] = { "\"name\":\"session\"", "\"name\":\"write\"",
                                           "\"name\":\"disk\"", "\"name\":\"memory\"",
                                           "\"name\":\"limit\"", "\"name\":\"session-behind\"" };

    for (char *p = said, *end; (end = strchr(p, '\n')) != NULL; p = end + 1) {
        *end = '\0';
        bool bad = strstr(p, "\"type\":\"result\"") == NULL;
        bool named = false;
        for (size_t i = 0; bad && i < sizeof trouble / sizeof *trouble; i++)
            named |= strstr(p, trouble[i]) != NULL;
        *end = '\n';
        if (named) {
            *p = '\0';
            return false;
        }
    }
    return true;
}

/* Takes from a session what schema 2 has added: the program migrates it when it opens. */
static void make_old(const char *path)
{
    sqlite3 *db;

    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db, "DROP TABLE snapshot; DROP TABLE past; PRAGMA user_version=1;"
                         "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL) != SQLITE_OK)
        die(path);
    sqlite3_close(db);
}

/* Makes base/ready, where the scene starts, and base/whole, where it has run without faults. */
void prepare(const struct scene *scene, const char *base)
{
    char ready[PATH], whole[PATH], preload[PATH + 20], count[PATH + 20];

    join(ready, base, "ready");
    join(whole, base, "whole");
    empty(ready);
    if (scene->data) {
        char path[PATH];
        join(path, ready, "cells.csv");
        FILE *f = fopen(path, "w");
        if (!f || fputs(scene->data, f) < 0 || fclose(f) != 0)
            die(path);
    }
    if (scene->before && run(ready, scene->session, scene->before, "before", NULL) != 0)
        die(scene->before);
    if (scene->old) {
        char path[PATH];
        join(path, ready, scene->session);
        make_old(path);
    }
    empty(whole);
    copy_files(ready, whole);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", shim);
    snprintf(count, sizeof count, "FAULT_COUNT=%s/count", base);
    char *fault[] = { preload, count, NULL };
    const int status = (scene->typed ? run_typed : run)(whole, scene->session, scene->lines, "said",
                                                        fault);
    if (status != 0 || run(whole, NULL, scene->again, "again", NULL) != 0) {
        printf("FOUND %s: the scene fails without faults (status %d)\n", scene->name, status);
        exit(1);
    }
}

/* A directory for a campaign, in memory where there is one; and where the program is. */
char *begin(void)
{
    static char base[] = "/dev/shm/gpdesk-campaign.XXXXXX";
    static char elsewhere[] = "/tmp/gpdesk-campaign.XXXXXX";
    const char *build = getenv("top_builddir");

    if (!realpath(build ? build : ".", top) || !realpath("/proc/self/exe", self_path))
        die("the build");
    join(program, top, "gpdesk");
    join(shim, top, "tests/campaign/faults.so");
    if (access(program, X_OK) != 0 || access(shim, R_OK) != 0)
        die(shim);
    sum = mmap(NULL, sizeof *sum, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *dir = mkdtemp(base);
    dir = dir ? dir : mkdtemp(elsewhere);
    if (!dir || sum == MAP_FAILED)
        die("a directory");
    setvbuf(stdout, NULL, _IOLBF, 0);
    return dir;
}

void end(const char *dir)
{
    char command[PATH + 20];

    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (!getenv("DRIVE_KEEP") && system(command) != 0)
        die(dir);
}

const char *option(const char *arg, const char *name)
{
    const size_t n = strlen(name);

    return !strncmp(arg, "--", 2) && !strncmp(arg + 2, name, n) && arg[2 + n] == '=' ? arg + 3 + n
                                                                                    : NULL;
}
