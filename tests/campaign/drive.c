/* tests/campaign/drive.c -- runs the program under faults.c, once for every call that can fail, and
 * judges what is left.
 *
 *   drive [--scene=S] [--class=C] [--error=E] [--from] [--first=N] [--last=N] [--step=N]
 *         [--sample=N] [--jobs=N] [--verbose]
 *
 * One line a row (scene, class, error): how many calls were refused, how the program ended.  A
 * failure prints the command that repeats it.  --from: every later call fails, too.  Exit status 1:
 * something was found.  top_builddir names the build. */
#include "judge.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct row {
    const struct scene *scene;
    const char *class, *error;
    bool from;
    size_t first, last, step, sample; /* sample: so many places, spread over all */
    int jobs;
};
static void judge(struct job *j, const struct row *r, int status)
{
    char path[PATH];
    const char *class = r->class;
    bool error, warning;

    join(path, j->dir, "said");
    char *said = slurp(path);
    join(path, j->dir, "said.err");
    char *mutter = slurp(path);
    join(path, j->whole, "said");
    char *whole = slurp(path);
    const bool killed = status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
                        (!strcmp(r->error, "kill") || !strcmp(r->error, "half"));
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
    else if (code > 0 && code != 5)
        found(j, "exit %d: %.300s%.100s", code, mutter,
              strstr(said, "\"type\":\"error\"") ? strstr(said, "\"type\":\"error\"") : "");
    else if (code == 5 && !error && !strstr(mutter, "gpdesk: "))
        found(j, "exit 5 without a word");
    if (code == 5 && (!strcmp(class, "write") || !strcmp(class, "read")) &&
        (!strcmp(r->error, "EINTR") || !strcmp(r->error, "short")))
        found(j, "a %s that is interrupted or short is done again, not told", class);
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

/* The number behind a word in the file of FAULT_COUNT, or 0. */
static size_t counted(const char *path, const char *word)
{
    char key[64], *text = slurp(path);
    size_t n = 0;

    snprintf(key, sizeof key, "%s ", word);
    for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        if (!strncmp(p, key, strlen(key)))
            n = strtoul(p + strlen(key), NULL, 10);
    free(text);
    return n;
}

/* Memory that is still held when the process ends: no more than without faults. */
static void check_leaks(struct job *j, const char *base, const char *count)
{
    char path[PATH];

    join(path, base, "count");
    const size_t usual = counted(path, "held"), now = counted(count, "held");
    if (now > usual)
        found(j, "%zu blocks of memory are held at the end, without faults %zu", now, usual);
}

/* On a screen: it ends, by itself or by TERM, and the session of before is as it was. */
static void judge_screen(struct job *j, const struct row *r, int status)
{
    char path[PATH];
    const int code = status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    const bool killed = status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
                        (!strcmp(r->error, "kill") || !strcmp(r->error, "half"));

    join(path, j->dir, "said");
    char *said = slurp(path);
    const size_t n = strlen(said);
    const char *end = said + (n > 300 ? n - 300 : 0);
    if (status < 0)
        found(j, "it hangs (%d s)", LIMIT_MS / 1000);
    else if (!killed && WIFSIGNALED(status) && WTERMSIG(status) != SIGTERM)
        found(j, "it crashes (signal %d): %.300s", WTERMSIG(status), end);
    else if (code > 0 && code != 5 && code != 128 + SIGTERM)
        found(j, "exit %d: %.300s", code, end);
    check_left(j, killed || status < 0);
    check_session(j, "", true);
    __atomic_add_fetch(killed ? &sum->killed : code == 5 ? &sum->told
                       : code > 5 ? &sum->warned : &sum->whole, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&sum->runs, 1, __ATOMIC_RELAXED);
    free(said);
}

static void one(const struct row *r, const char *base, const char *dir, size_t at)
{
    char preload[PATH + 20], class[64], n[64], error[64];
    char from[] = "FAULT_FROM=1", trace[PATH + 20], count[PATH + 20];
    char whole[PATH], ready[PATH];
    char *fault[] = { preload, class, n, error, trace, count, r->from ? from : NULL, NULL };

    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", shim);
    snprintf(class, sizeof class, "FAULT_CLASS=%s", r->class);
    snprintf(n, sizeof n, "FAULT_AT=%zu", at);
    snprintf(error, sizeof error, "FAULT_ERROR=%s", r->error);
    struct job j = { .scene = r->scene, .dir = dir, .whole = whole };
    snprintf(j.trace, sizeof j.trace, "%.4000s.trace", dir);
    snprintf(trace, sizeof trace, "FAULT_TRACE=%s", j.trace);
    snprintf(count, sizeof count, "FAULT_COUNT=%.4000s.count", dir);
    unlink(j.trace);
    unlink(strchr(count, '=') + 1);
    join(whole, base, "whole");
    join(ready, base, "ready");
    empty(dir);
    copy_files(ready, dir);
    const int status = (r->scene->typed ? run_typed : run)(dir, r->scene->session, r->scene->lines,
                                                           "said", fault);
    snprintf(j.repeat, sizeof j.repeat, "top_builddir=%s %s --scene=%s --class=%s --error=%s%s "
             "--first=%zu --last=%zu --verbose", top, self_path, r->scene->name, r->class, r->error,
             r->from ? " --from" : "", at, at);
    check_leaks(&j, base, strchr(count, '=') + 1);
    (r->scene->typed ? judge_screen : judge)(&j, r, status);
}

/* How often the class was called in the run without faults. */
static size_t count_calls(const struct row *r, const char *base)
{
    char count[PATH];

    prepare(r->scene, base);
    join(count, base, "count");
    return counted(count, r->class);
}

static bool drive(struct row *r, const char *base)
{
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    const size_t calls = count_calls(r, base);
    const size_t last = r->last && r->last < calls ? r->last : calls;
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
           "%zu killed, %zu found (%.0f s; opens in %zu ms)\n",
           r->scene->name, r->class, r->error, r->from ? "on" : "once", calls, sum->runs,
           sum->whole, sum->warned, sum->told, sum->killed, sum->found,
           (double)(ended.tv_sec - begun.tv_sec), sum->opens_ms);
    fflush(stdout);
    return sum->found == 0;
}

/* Takes the options; rows that no option names are all of them. */
int main(int argc, char **argv)
{
    struct row want = { .first = 1, .step = 1, .jobs = 1 };
    const char *scene = NULL, *v;
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
    char *dir = begin();
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        for (size_t k = 0; k < sizeof faults / sizeof *faults; k++)
            for (int from = 0; from < 2; from++) {
                struct row r = want;
                if ((scene && strcmp(scene, scenes[i].name)) ||
                    (want.class && strcmp(want.class, faults[k].class)) ||
                    (want.error && strcmp(want.error, faults[k].error)) ||
                    (!want.class && !strstr(scenes[i].classes, faults[k].class)) ||
                    (!want.error && !strcmp(faults[k].class, "alloc") &&
                     !strcmp(faults[k].error, "kill")) ||
                    (from && (!faults[k].from)) || (want.last && from != onward) ||
                    (onward && !from))
                    continue;
                r.scene = &scenes[i], r.class = faults[k].class, r.error = faults[k].error;
                r.from = from;
                good &= drive(&r, dir);
            }
    end(dir);
    return good ? 0 : 1;
}
