/* app/core/batch.c -- runs scripts to their end. See batch.h. */
#include "app/core/batch.h"

#include "app/shell/args.h"
#include "app/core/job.h"
#include "app/core/workspace_exec.h"
#include "app/core/ws_tell.h"
#include "data/formats/npy_set.h"
#include "app/shell/script.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ERRORS_SHOWN = 20, SOURCE_DEPTH = 16, SOURCED_MOST = 1000 };

static int signals[2] = { -1, -1 }; /* a pipe that the handler writes to */

static volatile sig_atomic_t running, untaken;

/* Signals are caught on any thread, because BLAS starts its own threads before main with no signal
 * blocked. If two earlier signals have not been handled when another arrives, the main thread is
 * stuck (reading a script from a pipe that never ends, for example), and the signal ends the
 * process. */
static void on_signal(int sig)
{
    const int keep = errno;
    const unsigned char byte = (unsigned char)sig;

    if (!running || untaken++ > 1)
        _exit(128 + sig);

    if (write(signals[1], &byte, 1) < 0)
        errno = keep; /* the pipe already holds enough signals */
    errno = keep;
}

void batch_prepare(void)
{
    struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    static const int caught[] = { SIGINT, SIGTERM, SIGHUP };

    signal(SIGPIPE, SIG_IGN);
    if (pipe2(signals, O_NONBLOCK | O_CLOEXEC) != 0)
        return;
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) {
        struct sigaction old;
        /* Under nohup, SIGHUP stays ignored. SIGINT is caught even if it is ignored: shells ignore
         * it for commands started with &, so a SIGINT that does arrive was sent on purpose. */
        if (caught[i] != SIGHUP ||
            (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN))
            sigaction(caught[i], &act, NULL);
    }
}

static int take_signal(void)
{
    unsigned char byte;

    if (signals[0] < 0 || read(signals[0], &byte, 1) != 1)
        return 0;
    untaken = 0;
    return byte;
}

/* Checking before the run. */

/* A check of each statement, called after the statement has parsed. */
typedef void visit_fn(struct workspace *, void *ctx, const struct command *, const struct args *,
                      const char *name, size_t line);
struct checker {
    struct workspace *ws;
    visit_fn *visit; void *ctx;   /* NULL: only parse */
    size_t bad, sourced;
};
/* The scripts that are being read, innermost first: each one is sourced by the next. */
struct reading { const struct reading *from; dev_t dev; ino_t ino; unsigned depth; };

static void check_text(struct checker *, const char *text, const char *name,
                       const struct reading *from);

static void complain(struct checker *c, const struct err *err, const char *text, const char *name,
                     size_t line)
{
    char in[400];

    if (++c->bad > ERRORS_SHOWN)
        return;
    if (name && line)
        snprintf(in, sizeof in, "%.180s  (line %zu of %.120s)", text, line, name);
    else
        snprintf(in, sizeof in, "%.240s", text);
    ws_error(c->ws, err, in);
}

/* A script that names another script by `source` is checked together with it, as far as the other
 * file can be read in advance. A script that sources itself would never end. Only the first
 * SOURCED_MOST sourced scripts are read before the run. */
static void check_source(struct checker *c, const struct args *a, const char *in, size_t line,
                         const struct reading *from)
{
    const char *path = args_text(a, "file");
    struct reading here = { .from = from, .depth = from->depth + 1 };
    struct err err = { 0 };
    struct stat st;
    char *text = NULL;

    if (!path || !strcmp(path, "-") || here.depth > SOURCE_DEPTH || stat(path, &st) != 0)
        return;
    here.dev = st.st_dev;
    here.ino = st.st_ino;
    for (const struct reading *r = from; r && S_ISREG(st.st_mode); r = r->from)
        if (r->dev == here.dev && r->ino == here.ino) {
            err_set(&err, ST_USAGE, "%.200s sources itself", path);
            err_hint(&err, "help source");
            complain(c, &err, args_line(a), in, line);
            return;
        }
    if (++c->sourced > SOURCED_MOST || script_read(path, &text, NULL) != ST_OK)
        return;
    check_text(c, text, path, &here);
    free(text);
}

static void check_text(struct checker *c, const char *text, const char *name,
                       const struct reading *from)
{
    struct statement *st = NULL;
    struct err err = { 0 };
    size_t n = 0;

    if (command_split(text, &st, &n, &err) != ST_OK) {
        complain(c, &err, name ? name : text, NULL, 0);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct command *cmd;
        struct args *a = NULL;
        err_clear(&err);
        if (command_parse(st[i].text, &cmd, &a, &err) != ST_OK) {
            complain(c, &err, st[i].text, name, st[i].line);
            continue;
        }
        if (!strcmp(cmd->name, "source"))
            check_source(c, a, name, st[i].line, from);
        if (c->visit)
            c->visit(c->ws, c->ctx, cmd, a, name, name ? st[i].line : 0);
        args_free(a);
    }
    command_statements_free(st, n);
}

static bool check_all(struct checker *c, const struct batch_item *item, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct reading here = { 0 };
        struct stat st;
        if (item[i].name && stat(item[i].name, &st) == 0)
            here.dev = st.st_dev, here.ino = st.st_ino;
        check_text(c, item[i].text, item[i].name, &here);
    }
    if (c->bad > ERRORS_SHOWN)
        ws_note(c->ws, "more", "and %zu more errors", c->bad - ERRORS_SHOWN);
    return c->bad == 0;
}

bool batch_check(struct workspace *ws, const struct batch_item *item, size_t n)
{
    struct checker c = { .ws = ws };

    return check_all(&c, item, n);
}

/* Running. */

/* Waits for the workspace or a signal. If the kernel has no memory to wait with, a look every 10 ms
 * does the same. */
static void wait_for(struct pollfd fd[2])
{
    if (poll(fd, 2, 1000) < 0 && errno != EINTR)
        usleep(10000);
}

/* Stops the running job, keeping its best iterate, and waits for it. A second signal ends the
 * wait. */
static void stop_all(struct workspace *ws)
{
    struct pollfd fd[2] = { { .fd = workspace_fd(ws), .events = POLLIN },
                            { .fd = signals[0], .events = POLLIN } };

    workspace_forget(ws, 0, NULL);
    jobs_stop(ws->jobs, "*", false, NULL);
    while (jobs_count(ws->jobs) > 0) {
        wait_for(fd);
        if (take_signal())
            return;
        jobs_pump(ws->jobs, ws);
        workspace_forget(ws, 0, NULL);
    }
}

/* Runs until no job and no statement is left. Returns the number of the signal that ended it, or
 * 0. */
static int drain(struct workspace *ws, struct rec_writer *w)
{
    struct pollfd fd[2] = { { .fd = workspace_fd(ws), .events = POLLIN },
                            { .fd = signals[0], .events = POLLIN } };

    for (;;) {
        const int sig = take_signal();
        if (sig || w->broken)
            return sig ? sig : SIGPIPE;
        if (!workspace_busy(ws) || ws->quit)
            return 0;
        wait_for(fd);
        workspace_pump(ws);
    }
}

int batch_status(const struct workspace *ws)
{
    switch (ws->first_error) {
    case ST_OK:
        return ws->unconverged && !ws->opt.accept_unconverged ? EXIT_UNCONVERGED : EXIT_DONE;
    case ST_NOMEM: case ST_LIMIT:
        return EXIT_RESOURCES;
    case ST_IO: case ST_FORMAT:
        return ws->first_error_output ? EXIT_FAILED : EXIT_INPUT;
    default:
        return EXIT_FAILED;
    }
}

int batch_run(struct workspace *ws, struct rec_writer *w, const struct batch_item *item, size_t n)
{
    struct checker c = { .ws = ws };
    int sig = 0;

    if (!check_all(&c, item, n))
        return batch_status(ws) == EXIT_RESOURCES ? EXIT_RESOURCES : EXIT_USAGE_GP;
    running = 1;
    for (size_t i = 0; i < n && !sig && !ws->quit; i++) {
        const size_t errors = ws->errors;
        workspace_exec_from(ws, item[i].text, item[i].name, item[i].name != NULL);
        sig = drain(ws, w);
        if (ws->errors > errors && !ws->opt.keep_going)
            break;
    }
    if (sig == SIGPIPE && w->broken_errno && w->broken_errno != EPIPE) {
        sig = 0; /* the writer has said so */
        ws->first_error = ST_LIMIT;
    }
    if (sig) {
        if (sig != SIGPIPE)
            ws_note(ws, "signal", "stopped by signal %d (%s)", sig, strsignal(sig));
        stop_all(ws);
        return 128 + sig;
    }
    if (jobs_count(ws->jobs) > 0) /* `quit`, or a failure while a job is running */
        stop_all(ws);
    return batch_status(ws);
}

/* Dry runs.
 *
 * Cheap work is done in memory, so that columns, splits and memory estimates are those of the real
 * run: data is read, prepared and split, but fits are planned instead of computed (fitting.c).
 * Nothing is written. Only problems and plans are reported. */

enum { DRY_FILE_MAX = 256 << 20 };

struct dry {
    size_t commands, plans;
    bool blind;             /* the current data was too large to read */
    struct sink sink, *to;
};

static void dry_hear(void *ctx, const struct rec *r)
{
    struct dry *d = ctx;

    if (r->type == REC_TICK || r->type == REC_NOTE ||
        (r->type == REC_RESULT && strcmp(r->name, "dry")))
        return;
    d->plans += r->type == REC_RESULT;
    for (struct sink *s = d->to; s; s = s->next)
        s->take(s->ctx, r);
}

/* Checks the input files of a statement. Returns false if a file is missing (already reported) or
 * too large to read. */
static bool dry_files(struct workspace *ws, struct dry *d, const struct command *cmd,
                      const struct args *a, const char *in)
{
    bool good = true;

    for (size_t k = 0; k < ARGS_MAX && cmd->args[k].name; k++) {
        const char *path = args_text(a, cmd->args[k].name);
        struct err err = { 0 };
        struct stat st;
        if (cmd->args[k].type != ARG_FILE || !path || npy_set_is_pattern(path))
            continue;
        if (cmd->args[k].flags & ARGF_RUN && args_looks_like_run(path))
            continue;
        if (!strcmp(path, "-") || (stat(path, &st) == 0 && st.st_size > DRY_FILE_MAX)) {
            d->blind = true;
            good = false;
        } else if (access(path, R_OK) != 0) {
            err_system(&err, errno, NULL, "%.300s: %s", path, strerror(errno));
            ws_error(ws, &err, in);
            good = false;
        }
    }
    return good;
}

static void dry_visit(struct workspace *ws, void *ctx, const struct command *cmd,
                      const struct args *a, const char *name, size_t line)
{
    struct dry *d = ctx;

    d->commands++;
    if (cmd->flags & CMD_SETS && !(cmd->flags & CMD_NEEDS_DATA))
        d->blind = false;
    if (!dry_files(ws, d, cmd, a, args_line(a)) || !(cmd->flags & CMD_DRY) ||
        (d->blind && cmd->flags & CMD_NEEDS_DATA))
        return;
    workspace_exec_from(ws, args_line(a), name, line);
    workspace_drain(ws);
}

int batch_dry(struct workspace *ws, const struct batch_item *item, size_t n)
{
    struct checker parse = { .ws = ws };
    struct dry d = { .to = ws->sinks };
    struct checker c = { .ws = ws, .visit = dry_visit, .ctx = &d };

    if (!check_all(&parse, item, n))
        return batch_status(ws) == EXIT_RESOURCES ? EXIT_RESOURCES : EXIT_USAGE_GP;
    d.sink = (struct sink){ dry_hear, &d, NULL };
    ws->sinks = &d.sink;
    check_all(&c, item, n);
    ws->sinks = d.to;
    struct rec r;
    rec_init(&r, REC_RESULT, "dry");
    rec_int(&r, "commands", (int64_t)d.commands);
    rec_int(&r, "errors", (int64_t)ws->errors);
    rec_text(&r, "%zu command%s parse%s; nothing was run", d.commands, d.commands == 1 ? "" : "s",
             d.commands == 1 ? "s" : "");
    ws_emit(ws, &r);
    return batch_status(ws);
}
