/* ui/plain.c -- line mode: no curses, no redrawing, one event per line. It is for TERM=dumb,
 * --plain, screen readers, logs and tests. At a terminal readline edits the line; otherwise lines
 * are read as they arrive. */
#include "ui/ui.h"

#include "app/core/job.h"
#include "app/session/store.h"
#include "app/teach/lesson.h"
#include "app/core/workspace.h"
#include "app/core/workspace_exec.h"
#include "base/text.h"
#include "ui/lifecycle.h"
#include "ui/prompt.h"
#include "ui/desk.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PROGRESS 10.0        /* seconds between progress lines of a running job */

struct plain {
    struct workspace *ws;
    bool tty, ended;         /* ended: there is no more input */
    bool quit_asked;
    bool toggles;            /* F5 returns to the screen */
    bool unsaved;            /* the user was told that output is not on disk yet */
    double began;            /* when the running job began; 0: none */
    int exit_signal;
    double told;             /* when progress was last reported */
    char told_job[16];
    struct buf in;           /* standard input that is not a terminal: an incomplete line */
    char editing[8];         /* the keys that the prompt has: set editing= */
};

/* Prints text above the prompt. The text is escaped. */
static void say(FILE *to, const char *text)
{
    struct buf b = { 0 };
    prompt_hide();
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        char *line = strndup(p, n);
        if (line)
            text_safe(&b, line, 0);
        free(line);
        buf_putc(&b, '\n');
        p += n + (p[n] == '\n');
    }
    fputs(buf_str(&b), to);
    fflush(to);
    buf_free(&b);
}

static void on_rec(void *ctx, const struct rec *r)
{
    struct buf b = { 0 };
    (void)ctx;
    if (r->type == REC_TICK)
        return;
    rec_text_lines(r, &b);
    if (b.len)
        say(r->type == REC_RESULT ? stdout : stderr, buf_str(&b));
    buf_free(&b);
}

static void progress(struct plain *p)
{
    struct job_view j;
    double now = desk_now();
    if (!jobs_view(p->ws->jobs, 0, &j)) {
        p->told_job[0] = '\0';
        if (p->ws->opt.bell && p->began > 0 && now - p->began > lifecycle_ring_after() && p->tty)
            fputs("\007", stdout), fflush(stdout);
        p->began = 0;
        return;
    }
    p->began = now - j.seconds;
    if (strcmp(j.name, p->told_job) != 0) {
        snprintf(p->told_job, sizeof p->told_job, "%s", j.name);
        p->told = now;
        return;
    }
    if (now < p->told + PROGRESS)
        return;
    p->told = now;
    struct buf b = { 0 };
    char s[40];
    buf_printf(&b, "job %s: %s", j.name,
               j.tick.phase ? phase_word(j.tick.phase) : j.verb ? j.verb : "");
    if (j.tick.phase && j.tick.total)
        buf_printf(&b, " %zu/%zu", j.tick.done, j.tick.total);
    if (j.tick.phase && !isnan(j.tick.value))
        buf_printf(&b, ", value %.4g", j.tick.value);
    text_seconds(s, sizeof s, j.seconds);
    buf_printf(&b, ", %s", s);
    if (!isnan(j.progress.left)) {
        text_seconds(s, sizeof s, j.progress.left);
        buf_printf(&b, ", %s left", s);
    }
    say(stderr, buf_str(&b));
    buf_free(&b);
}

static void on_line(void *ctx, const char *line)
{
    struct plain *p = ctx;
    char taught[48];
    p->quit_asked = false;
    if (p->tty && lesson_shorthand(p->ws, line, taught, sizeof taught))
        workspace_exec(p->ws, taught);
    else if (line[strspn(line, " \t\n")])
        workspace_exec(p->ws, line);
}

static void on_end(void *ctx)
{
    struct plain *p = ctx;
    size_t n = jobs_count(p->ws->jobs);
    fputc('\n', stdout);
    if (n && !p->quit_asked && p->tty) {
        p->quit_asked = true;
        fprintf(stderr, "%zu job%s: Ctrl-D again stops %s, keeps the best so far, and quits\n", n,
                n == 1 ? "" : "s", n == 1 ? "it" : "them");
        return;
    }
    p->ws->quit = true;
}

static char **on_complete(void *ctx, const char *line, size_t pos, size_t *start)
{
    return lifecycle_complete(((struct plain *)ctx)->ws, line, pos, start);
}

static void on_matches(void *ctx, char *const *match, size_t n)
{
    struct buf b = { 0 };
    (void)ctx;
    for (size_t i = 0; i < n && i < 100; i++)
        buf_printf(&b, "%s%s", i ? "  " : "", match[i]);
    if (n > 100)
        buf_printf(&b, "  and %zu more", n - 100);
    say(stdout, buf_str(&b));
    buf_free(&b);
}

static void interrupt(struct plain *p)
{
    struct job_view j;
    if (p->tty && !prompt_empty()) {
        fputs("^C\n", stdout);
        prompt_clear();
        prompt_hide();
    } else if (jobs_view(p->ws->jobs, 0, &j)) {
        char line[40];
        lifecycle_stop_line(p->ws, &j, line);
        say(stdout, line);
        workspace_exec(p->ws, line);
    } else {
        say(stderr, "nothing is running. To leave: quit, or Ctrl-D");
    }
}

static void take_signals(struct plain *p)
{
    struct winsize w;
    for (int sig; (sig = lifecycle_signal_next()) != 0;)
        switch (sig) {
        case SIGWINCH:
            if (p->tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row && w.ws_col)
                prompt_resize(w.ws_row, w.ws_col);
            break;
        case SIGINT: interrupt(p); break;
        case SIGTSTP:
            if (p->tty)
                prompt_suspend();
            lifecycle_suspend();
            break;
        case SIGCONT:
            if (p->tty)
                prompt_resume();
            break;
        default:
            p->exit_signal = sig;
            p->ws->quit = true;
        }
}

/* Reads lines from standard input that is not a terminal. */
static void read_lines(struct plain *p)
{
    char bytes[4096], *nl;
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n > 0)
        buf_putn(&p->in, bytes, (size_t)n);
    else
        p->ended = true;
    while (p->in.len && !p->ws->quit) {
        nl = memchr(p->in.s, '\n', p->in.len);
        if (!nl && !p->ended)
            return;
        size_t k = nl ? (size_t)(nl - p->in.s) : p->in.len;
        char *line = strndup(p->in.s, k);
        if (line)
            on_line(p, line);
        free(line);
        k += nl != NULL;
        p->in.len -= k;
        memmove(p->in.s, p->in.s + k, p->in.len);
    }
}

/* Reports when printed results are not on disk in time, and when they are. Returns how long the
 * loop may wait, in milliseconds. */
static int watch_session(struct plain *p)
{
    struct store *st = store_of(p->ws);
    const double unsaved = st && !*store_trouble(st) ? store_unsaved(st) : 0;

    if (p->unsaved != (unsaved >= STORE_UNSAVED_SHOWN)) {
        p->unsaved = !p->unsaved;
        say(stderr, p->unsaved ? "not saved yet: the disk is slow" : "saved");
    }
    return unsaved > 0 ? 100 : jobs_count(p->ws->jobs) ? 1000 : -1;
}

/* Another choice of keys takes effect at the next line. */
static void watch_editing(struct plain *p)
{
    const char *now = p->ws->opt.editing;

    if (!p->tty || !*now || strcmp(p->editing, now) == 0)
        return;
    snprintf(p->editing, sizeof p->editing, "%s", now);
    prompt_editing(now);
}

static void run_loop(struct plain *p, int sigfd)
{
    while (!p->ws->quit && !(p->toggles && !p->ws->opt.plain)) {
        struct pollfd f[3] = {
            { workspace_fd(p->ws), POLLIN, 0 }, { sigfd, POLLIN, 0 }, { STDIN_FILENO, POLLIN, 0 } };
        if (p->ended && !workspace_busy(p->ws))
            break;
        const int wait = watch_session(p);
        watch_editing(p);
        prompt_show();
        int ready = poll(f, p->ended ? 2 : 3, wait);
        if (ready < 0 && errno != EINTR && errno != ENOMEM)
            break;
        if (ready < 0 && errno == ENOMEM)
            usleep(10000);
        take_signals(p);
        if (ready < 0)
            continue;
        if (f[0].revents)
            workspace_pump(p->ws);
        if (f[2].revents && p->tty && !(f[2].revents & POLLIN)) {
            p->exit_signal = SIGHUP;          /* the terminal is gone */
            break;
        }
        if (f[2].revents && p->tty)
            prompt_read();
        else if (f[2].revents)
            read_lines(p);
        progress(p);
    }
}

static void on_toggle(void *ctx)
{
    struct plain *p = ctx;
    if (p->toggles)
        workspace_exec(p->ws, "set plain=no");
    else
        say(stderr, "there is no screen to go to: gpdesk without --plain starts on one");
}

static void on_dropped(void *ctx, const char *words)
{
    (void)ctx;
    say(stderr, words);
}

static void first_lines(struct plain *p, const struct ui_opts *o)
{
    if (o->start)
        o->start(p->ws, o->ctx);
    for (size_t i = 0; i < o->nlines && !p->ws->quit; i++) {
        char echo[600];
        snprintf(echo, sizeof echo, "%s%s", PROMPT_TEXT, o->line[i]);
        say(stdout, echo);
        workspace_exec(p->ws, o->line[i]);
    }
}

/* Runs line mode until the end, or until the user switches to the screen. */
static void plain_lines(struct plain *p, const struct ui_opts *o, const char *why)
{
    struct workspace *ws = p->ws;
    struct sink sink = { on_rec, p, ws->sinks };
    struct prompt_hooks hooks = { on_line, on_end, on_complete, on_matches, p, on_toggle,
                                  on_dropped };
    int sigfd = lifecycle_signal_open();
    bool first = false;
    ws->interactive = p->tty;
    ws->sinks = &sink;
    if (why)
        say(stderr, why);
    if (p->tty) {
        char *history = lifecycle_history_path(&first);
        if (first && !ws->ndata && !o->nlines && !p->toggles)
            say(stdout,
                "To begin: open FILE.csv target=NAME, or tour (five minutes on bundled data), or "
                "lesson, or help. Ctrl-D leaves.");
        prompt_open_plain(&hooks, history);
        snprintf(p->editing, sizeof p->editing, "auto");
        free(history);
    }
    if (!p->toggles)
        first_lines(p, o);
    run_loop(p, sigfd);
    const bool ending = ws->quit || !p->toggles;
    if (ending && jobs_count(ws->jobs))
        say(stderr, "stopping what runs, keeping the best so far ...");
    if (ending)
        lifecycle_finish(ws, false);              /* here Ctrl-C at the terminal is a signal */
    prompt_hide();
    prompt_close();
    ws->sinks = sink.next;
    buf_free(&p->in);
    lifecycle_signal_close();
}

int plain_run(struct workspace *ws, const struct ui_opts *o, const char *why)
{
    struct plain p = { .ws = ws, .tty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) };
    lifecycle_signal_late(NULL);
    plain_lines(&p, o, why);
    return p.exit_signal ? 128 + p.exit_signal : 0;
}

int plain_again(struct workspace *ws, const struct ui_opts *o)
{
    struct plain p = { .ws = ws, .tty = true, .toggles = true };
    plain_lines(&p, o, "line mode: one event a line; F5 or  set plain=no  goes back to the screen");
    return p.exit_signal ? 128 + p.exit_signal : ws->quit ? 0 : -1;
}
