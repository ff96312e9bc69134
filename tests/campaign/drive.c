/* tests/campaign/drive.c -- runs the program under faults.c, once for every call that can fail, and
 * judges what is left.
 *
 *   drive [--scene=S] [--class=C] [--error=E] [--from] [--first=N] [--last=N] [--step=N]
 *         [--sample=N] [--jobs=N] [--verbose]
 *
 * One line a row (scene, class, error): how many calls were refused, how the program ended.  A
 * failure prints the command that repeats it.  --from: every later call fails, too.  Exit status 1:
 * something was found.  top_builddir names the build. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scenes.h"

enum { LIMIT_MS = 60000, TEXT = 1 << 20, FINDS_SHOWN = 6 };

struct row {
    const struct scene *scene;
    const char *class, *error;
    bool from;
    size_t first, last, step, sample; /* sample: so many places, spread over all */
    int jobs;
};
/* What all jobs of a row have counted; shared memory. */
struct sum {
    size_t runs, whole, warned, told, killed, found;
};
static struct sum *sum;
enum { PATH = 5000 };
static char program[PATH], shim[PATH], top[PATH], self_path[PATH];
static bool verbose;

static void __attribute__((noinline)) join(char out[PATH], const char *dir, const char *name)
{
    if ((size_t)snprintf(out, PATH, "%s%s%s", dir, *name ? "/" : "", name) >= PATH)
        *out = '\0';
}

static void die(const char *what)
{
    fprintf(stderr, "drive: %s: %s\n", what, strerror(errno));
    exit(99);
}

static char *slurp(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = calloc(1, TEXT + 1);

    if (f && text) {
        text[fread(text, 1, TEXT, f)] = '\0';
        fclose(f);
    }
    return text;
}

static void empty(const char *dir)
{
    char command[2 * PATH + 40];

    snprintf(command, sizeof command, "rm -rf '%s' && mkdir -p '%s/tmp'", dir, dir);
    if (system(command) != 0)
        die(dir);
}

static void copy_files(const char *from, const char *to)
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

/* Runs the program in dir; returns the wait status, or -1 when it had to be killed. */
static int run(const char *dir, const char *session, const char *lines, const char *out,
               char *const fault[])
{
    const pid_t pid = fork();
    int status;

    if (pid == 0) {
        char tmp[PATH], home[PATH];
        join(tmp, dir, "tmp");
        join(home, top, "home");
        if (chdir(dir) != 0)
            _exit(99);
        const int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        char errors[64];
        snprintf(errors, sizeof errors, "%s.err", out);
        const int er = open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        const int in = open("/dev/null", O_RDONLY);
        dup2(in, 0), dup2(fd, 1), dup2(er, 2);
        close(in), close(fd), close(er);
        setenv("TMPDIR", tmp, 1);
        setenv("XDG_STATE_HOME", home, 1), setenv("XDG_CACHE_HOME", tmp, 1);
        setenv("XDG_CONFIG_HOME", home, 1), setenv("OPENBLAS_NUM_THREADS", "1", 1);
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
        const pid_t got = waitpid(pid, &status, WNOHANG);
        if (got == pid)
            return status;
        usleep(ms < 100 ? 1000 : 10000);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return -1;
}

/* Reading what was printed. */

static const char *member(const char *line, const char *key, char *value, size_t len)
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
    static const char *const moving[] = { "\"seconds\":", "\"features\":0", "\"solve\":",
                                          "\"variance\":", "\"total\":", "\"precond\":",
                                          "_bytes\":", "\"bytes\":" };
    size_t n = 0;

    while (*line && *line != '\n' && n + 1 < len) {
        size_t skip = 0;
        for (size_t i = 0; i < sizeof moving / sizeof *moving && !skip; i++)
            if (!strncmp(line, moving[i], strlen(moving[i])))
                skip = strlen(moving[i]);
        const bool path = !strncmp(line, "\"path\":\"/", 9);
        if (path)
            line += 8 + strcspn(line + 8, "\"\n");
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

static bool next_line(const char **at, char *line, size_t len)
{
    const char *end = strchr(*at, '\n');

    if (!end)
        return false;
    snprintf(line, len, "%.*s", (int)(end - *at), *at);
    *at = end + 1;
    return true;
}

static bool same_file(const char *dir, const char *other, const char *name)
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

/* Judging. */

struct job {
    const struct row *row;
    const char *dir, *whole; /* whole: the directory of a run without faults */
    size_t at;
    bool bad;
};

static void found(struct job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void found(struct job *j, const char *fmt, ...)
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
    printf("FOUND %s: %s\n  repeat: top_builddir=%s %s --scene=%s --class=%s --error=%s%s "
           "--first=%zu --last=%zu --verbose\n",
           j->row->scene->name, text, top, self_path, j->row->scene->name, j->row->class,
           j->row->error, j->row->from ? " --from" : "", j->at, j->at);
    fflush(stdout);
}

static void check_left(struct job *j, bool killed)
{
    char tmp[PATH];
    DIR *d = opendir(j->dir);

    join(tmp, j->dir, j->row->scene->session);
    const bool there = access(tmp, F_OK) == 0; /* what SQLite keeps beside it is a part of it */
    for (const struct dirent *e; d && !killed && (e = readdir(d)) != NULL;) {
        char want[PATH];
        join(want, j->whole, e->d_name);
        const size_t n = strlen(e->d_name);
        const bool ours = !strncmp(e->d_name, j->row->scene->session, 5) && n > 5;
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

/* The session opens, and what was acknowledged is there: runs by name, files to the byte, and the
 * predictions of r1.  all: nothing was said to be lost, and no warning is expected. */
static void check_session(struct job *j, const char *said, bool all)
{
    char path[PATH], line[1 << 16], command[40], run_name[40], want[80];
    const char *session = j->row->scene->session;
    bool r1 = false, any = false;

    join(path, j->dir, session);
    for (const char *p = said; next_line(&p, line, sizeof line);)
        if (strstr(line, "\"type\":\"result\"")) {
            any = true;
            r1 |= !strcmp(member(line, "command", command, 40), "fit") &&
                  !strcmp(member(line, "run", run_name, 40), "r1");
        }
    r1 |= j->row->scene->starts_with_r1 && all;
    if (access(path, F_OK) != 0) {
        if (any)
            found(j, "results were printed and there is no session");
        return;
    }
    char lines[600];
    snprintf(lines, sizeof lines, "resume %s; runs%s", session,
             r1 ? "; predict run=r1 out=again.csv" : "");
    const int status = run(j->dir, NULL, lines, "again", NULL);
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
        if (r1 && j->row->scene->predicts && !same_file(j->dir, j->whole, "again.csv"))
            found(j, "r1 predicts otherwise");
    }
    free(again);
}

/* Errors have a text; a result that was printed is that of the run without faults, with its
 * file. */
static void check_lines(struct job *j, const char *said, const char *whole, bool *error,
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

static size_t results(const char *text)
{
    size_t n = 0;

    for (const char *p = text; (p = strstr(p, "\"type\":\"result\"")) != NULL; p++)
        n++;
    return n;
}

/* Cuts the text at the first line that says that the session is not written: what follows was not
 * acknowledged.  False: there is such a line. */
static bool acknowledged(char *said)
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

static void judge(struct job *j, int status)
{
    char path[PATH];
    const char *class = j->row->class;
    bool error, warning;

    join(path, j->dir, "said");
    char *said = slurp(path);
    join(path, j->dir, "said.err");
    char *mutter = slurp(path);
    join(path, j->whole, "said");
    char *whole = slurp(path);
    const bool killed = status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
                        (!strcmp(j->row->error, "kill") || !strcmp(j->row->error, "half"));
    const int code = status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    check_lines(j, said, whole, &error, &warning);
    const bool stdout_cut = !strcmp(class, "write") && strstr(mutter, "output");
    if (status < 0)
        found(j, "it hangs (%d s)", LIMIT_MS / 1000);
    else if (!killed && WIFSIGNALED(status))
        found(j, "it crashes (signal %d): %.300s", WTERMSIG(status), mutter);
    else if (code == 0 && error)
        found(j, "exit 0 with an error");
    else if (code == 0 && !warning && results(said) < results(whole))
        found(j, "exit 0 and results are missing");
    else if (code == 4 && error && !strcmp(class, "read"))
        ; /* SQLite calls a file damaged that the disk does not read */
    else if (code > 0 && code != 5)
        found(j, "exit %d: %.300s%.100s", code, mutter,
              strstr(said, "\"type\":\"error\"") ? strstr(said, "\"type\":\"error\"") : "");
    else if (code == 5 && !error && !strstr(mutter, "gpdesk: "))
        found(j, "exit 5 without a word");
    if (code == 5 && !error && strstr(mutter, "gpdesk: \n"))
        found(j, "exit 5 with an empty text");
    check_left(j, killed || status < 0);
    if (verbose || (j->bad && getenv("DRIVE_SHOW")))
        printf("status %d\n%s%s", status, said, mutter);
    const bool all = acknowledged(said);
    check_session(j, stdout_cut ? "" : said, all);
    __atomic_add_fetch(killed ? &sum->killed : code == 5 ? &sum->told
                       : warning ? &sum->warned : &sum->whole, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&sum->runs, 1, __ATOMIC_RELAXED);
    free(said);
    free(mutter);
    free(whole);
}

static void one(const struct row *r, const char *base, const char *dir, size_t at)
{
    char preload[PATH + 20], class[64], n[64], error[64];
    char from[] = "FAULT_FROM=1", trace[] = "FAULT_TRACE=1";
    char whole[PATH], ready[PATH];
    char *fault[] = { preload, class, n, error, r->from ? from : verbose ? trace : NULL,
                      verbose ? trace : NULL, NULL };

    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", shim);
    snprintf(class, sizeof class, "FAULT_CLASS=%s", r->class);
    snprintf(n, sizeof n, "FAULT_AT=%zu", at);
    snprintf(error, sizeof error, "FAULT_ERROR=%s", r->error);
    join(whole, base, "whole");
    join(ready, base, "ready");
    empty(dir);
    copy_files(ready, dir);
    const int status = run(dir, r->scene->session, r->scene->lines, "said", fault);
    struct job j = { .row = r, .dir = dir, .whole = whole, .at = at };
    judge(&j, status);
}

/* How often the class is called in a run without faults, whose directory stays. */
static size_t count_calls(const struct row *r, const char *base)
{
    char ready[PATH], whole[PATH], preload[PATH + 20], count[PATH + 20], key[64];
    size_t n = 0;

    join(ready, base, "ready");
    join(whole, base, "whole");
    empty(ready);
    if (r->scene->data) {
        char path[PATH];
        join(path, ready, "cells.csv");
        FILE *f = fopen(path, "w");
        if (!f || fputs(r->scene->data, f) < 0 || fclose(f) != 0)
            die(path);
    }
    if (r->scene->before && run(ready, r->scene->session, r->scene->before, "before", NULL) != 0)
        die(r->scene->before);
    empty(whole);
    copy_files(ready, whole);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", shim);
    snprintf(count, sizeof count, "FAULT_COUNT=%s/count", base);
    char *fault[] = { preload, count, NULL };
    const int status = run(whole, r->scene->session, r->scene->lines, "said", fault);
    join(count, base, "count");
    char *text = slurp(count);
    snprintf(key, sizeof key, "%s ", r->class);
    for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        if (!strncmp(p, key, strlen(key)))
            n = strtoul(p + strlen(key), NULL, 10);
    free(text);
    if (status != 0 || run(whole, NULL, r->scene->again, "again", NULL) != 0) {
        printf("FOUND %s: the scene fails without faults (status %d)\n", r->scene->name, status);
        exit(1);
    }
    return n;
}

static bool drive(struct row *r, const char *base)
{
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    const size_t calls = count_calls(r, base);
    const size_t last = r->last ? r->last : calls;
    if (r->sample && calls > r->sample) {
        r->step = calls / r->sample;
        r->first = 1 + r->step / 2;
    }

    *sum = (struct sum){ 0 };
    for (int k = 0; k < r->jobs; k++)
        if (fork() == 0) {
            char dir[PATH];
            snprintf(dir, sizeof dir, "%s/job%d", base, k);
            size_t i = 0;
            for (size_t at = r->first; at <= last; at += r->step, i++)
                if (i % (size_t)r->jobs == (size_t)k)
                    one(r, base, dir, at);
            fflush(stdout);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    clock_gettime(CLOCK_MONOTONIC, &ended);
    printf("%-8s %-7s %-7s %-4s %6zu calls %6zu tried: %zu whole, %zu with a warning, %zu told, "
           "%zu killed, %zu found (%.0f s)\n", r->scene->name, r->class, r->error,
           r->from ? "on" : "once", calls, sum->runs, sum->whole, sum->warned, sum->told,
           sum->killed, sum->found, (double)(ended.tv_sec - begun.tv_sec));
    fflush(stdout);
    return sum->found == 0;
}

static const char *option(const char *arg, const char *name)
{
    const size_t n = strlen(name);

    return !strncmp(arg, "--", 2) && !strncmp(arg + 2, name, n) && arg[2 + n] == '=' ? arg + 3 + n
                                                                                    : NULL;
}

/* Takes the options; rows that no option names are all of them. */
int main(int argc, char **argv)
{
    struct row want = { .first = 1, .step = 1, .jobs = 1 };
    const char *scene = NULL, *build = getenv("top_builddir"), *v;
    char base[] = "/dev/shm/gpdesk-campaign.XXXXXX", elsewhere[] = "/tmp/gpdesk-campaign.XXXXXX";
    bool good = true, onward = false;

    for (int i = 1; i < argc; i++) {
        if ((v = option(argv[i], "scene")) != NULL) scene = v;
        else if ((v = option(argv[i], "class")) != NULL) want.class = v;
        else if ((v = option(argv[i], "error")) != NULL) want.error = v;
        else if ((v = option(argv[i], "first")) != NULL) want.first = strtoul(v, NULL, 10);
        else if ((v = option(argv[i], "last")) != NULL) want.last = strtoul(v, NULL, 10);
        else if ((v = option(argv[i], "step")) != NULL) want.step = strtoul(v, NULL, 10);
        else if ((v = option(argv[i], "sample")) != NULL) want.sample = strtoul(v, NULL, 10);
        else if ((v = option(argv[i], "jobs")) != NULL) want.jobs = atoi(v);
        else if (!strcmp(argv[i], "--from")) onward = true;
        else if (!strcmp(argv[i], "--verbose")) verbose = true;
        else {
            fprintf(stderr, "drive: what is %s?\n", argv[i]);
            return 2;
        }
    }
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
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        for (size_t k = 0; k < sizeof faults / sizeof *faults; k++)
            for (int from = 0; from < 2; from++) {
                struct row r = want;
                if ((scene && strcmp(scene, scenes[i].name)) ||
                    (want.class && strcmp(want.class, faults[k].class)) ||
                    (want.error && strcmp(want.error, faults[k].error)) ||
                    (!want.class && !strstr(scenes[i].classes, faults[k].class)) ||
                    (from && (!faults[k].from)) || (want.last && from != onward) ||
                    (onward && !from))
                    continue;
                r.scene = &scenes[i], r.class = faults[k].class, r.error = faults[k].error;
                r.from = from;
                good &= drive(&r, dir);
            }
    if (good || !getenv("DRIVE_KEEP")) {
        char command[PATH + 20];
        snprintf(command, sizeof command, "rm -rf '%s'", dir);
        good &= system(command) == 0;
    }
    return good ? 0 : 1;
}
