/* ui/lifecycle.c -- signals, the end of a session, paths. See lifecycle.h. */
#include "ui/lifecycle.h"

#include "app/shell/command.h"
#include "app/core/job.h"
#include "app/runs/restarts.h"
#include "app/session/store.h"
#include "app/core/workspace.h"
#include "app/core/workspace_exec.h"
#include "base/buf.h"
#include "base/dirs.h"
#include "app/core/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Handlers that write to a pipe instead of a signalfd: OpenBLAS starts its threads before main with
 * no signal blocked, and a signalfd would never see a signal that one of them receives. */
static const int wanted[] = { SIGHUP, SIGTERM, SIGINT, SIGWINCH, SIGTSTP, SIGCONT };
enum { WANTED = sizeof wanted / sizeof *wanted };
static volatile sig_atomic_t pending[WANTED];
static int wake[2] = { -1, -1 };

/* HUP and TERM: the process ends within this time even if the main loop is stuck. */
enum { END_WITHIN = 30, SAVING_TURNS = 20 };
static volatile sig_atomic_t saving, ending;
static unsigned end_within = END_WITHIN;
static void (*on_late)(void);

static void on_signal(int sig)
{
    const int saved = errno;
    for (size_t i = 0; i < WANTED; i++)
        if (wanted[i] == sig)
            pending[i] = 1;
    ssize_t n = write(wake[1], "s", 1);      /* a full pipe is as good: the signals will be read */
    (void)n;
    if ((sig == SIGHUP || sig == SIGTERM) && !ending) {
        ending = sig;
        alarm(end_within);
    }
    errno = saved;
}

/* Writing the session may take longer when only the terminal blocks the rest; a disk gets more
 * time. */
static void on_alarm(int sig)
{
    static volatile sig_atomic_t turns;
    (void)sig;
    if (saving && turns++ < SAVING_TURNS) {
        alarm(end_within);
        return;
    }
    if (on_late)
        on_late();
    _exit(128 + ending);
}

void lifecycle_signal_late(void (*restore)(void))
{
    const char *s = getenv("GPDESK_END_WITHIN");
    const struct sigaction sa = { .sa_handler = on_alarm };
    if (s && *s > '0' && *s <= '9')
        end_within = (unsigned)atoi(s);
    on_late = restore;
    sigaction(SIGALRM, &sa, NULL);
}

static void install(void)
{
    struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    for (size_t i = 0; i < WANTED; i++)
        sigaction(wanted[i], &sa, NULL);
}

/* Input and output are UTF-8 in any locale, except that C and POSIX get ASCII glyphs. */
static bool ascii;

static bool asks_for_ascii(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
    for (size_t i = 0; i < 3; i++) {
        const char *s = getenv(names[i]);
        if (s && *s)
            return strcmp(s, "C") == 0 || strcmp(s, "POSIX") == 0;
    }
    return false;                       /* no locale is set: almost all terminals support UTF-8 */
}

void lifecycle_prepare(void)
{
    signal(SIGPIPE, SIG_IGN);
    setlocale(LC_ALL, "");
    if (MB_CUR_MAX == 1 && setlocale(LC_CTYPE, "C.UTF-8")) {
        ascii = asks_for_ascii();
        setenv("LC_ALL", "C.UTF-8", 1);      /* readline reads the environment again */
    }
    setlocale(LC_NUMERIC, "C");
}

bool lifecycle_ascii(void)
{
    return ascii;
}

int lifecycle_signal_open(void)
{
    if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0)
        return -1;
    for (size_t i = 0; i < WANTED; i++)
        pending[i] = 0;
    install();
    return wake[0];
}

void lifecycle_signal_close(void)
{
    if (wake[0] < 0)
        return;
    /* The rest of the program is short. The handlers of curses, which were installed before, clean
     * up inside the signal handler: with them a Ctrl-C while the process ended made it fail or
     * deadlock. */
    for (size_t i = 0; i < WANTED; i++)
        signal(wanted[i], wanted[i] == SIGINT || wanted[i] == SIGTSTP ? SIG_IGN : SIG_DFL);
    close(wake[0]);
    close(wake[1]);
    wake[0] = wake[1] = -1;
}

int lifecycle_signal_next(void)
{
    char bytes[64];
    while (read(wake[0], bytes, sizeof bytes) > 0)
        ;
    for (size_t i = 0; i < WANTED; i++)
        if (pending[i]) {
            pending[i] = 0;
            return wanted[i];
        }
    return 0;
}

void lifecycle_suspend(void)
{
    signal(SIGTSTP, SIG_DFL);
    kill(getpid(), SIGTSTP);        /* stops here; ignored if nobody could continue the process */
    install();
}

double lifecycle_ring_after(void)
{
    const char *s = getenv("GPDESK_BELL_AFTER");
    return s && *s >= '0' && *s <= '9' ? atof(s) : 30;
}

/* True if a key or a signal asks to stop waiting. */
static bool hurried(const struct pollfd *signals, struct pollfd *keys)
{
    char bytes[64];
    for (int sig; signals->revents && (sig = lifecycle_signal_next()) != 0;)
        if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP)
            return true;
    if (!keys->revents)
        return false;
    const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n <= 0)
        keys->fd = -1;                       /* the terminal is gone and sends no more keys */
    for (ssize_t i = 0; i < n; i++)
        if (bytes[i] == ('C' & 31) || bytes[i] == ('D' & 31))
            return true;
    return false;
}

void lifecycle_stop_line(struct workspace *ws, const struct job_view *j, char line[40])
{
    const struct run *r = ws_run(ws, j->name, NULL);

    if (r && restarts_left(ws, r, 1)) /* other restarts wait after it */
        snprintf(line, 40, "stop restarts");
    else
        snprintf(line, 40, "stop %s", j->name);
}

void lifecycle_finish(struct workspace *ws, bool keys)
{
    const double limit = job_now() + 10;
    struct pollfd p[3] = {
        {workspace_fd(ws), POLLIN, 0}, {wake[0], POLLIN, 0}, {keys ? STDIN_FILENO : -1, POLLIN, 0}};
    bool enough = false;
    workspace_forget(ws, 0, NULL);
    jobs_stop(ws->jobs, "*", false, NULL);
    while (workspace_busy(ws) && job_now() < limit && !enough) {
        poll(p, 3, 200);
        enough = hurried(&p[1], &p[2]);
        workspace_pump(ws);
        workspace_forget(ws, 0, NULL);
    }
    saving = 1;
    if (store_of(ws))
        store_flush(store_of(ws), NULL);
    saving = 0;
}

char *lifecycle_history_path(bool *first)
{
    struct buf path = { 0 };

    *first = false;
    if (!dirs_path(DIRS_STATE, "history", &path) || dirs_make_parent(path.s, NULL) != ST_OK) {
        buf_free(&path);
        return NULL;
    }
    *first = access(path.s, F_OK) != 0 && errno == ENOENT;
    return buf_take(&path);
}

char **lifecycle_complete(void *ws, const char *line, unsigned long pos, unsigned long *start)
{
    return command_complete(ws, line, pos, start);
}
