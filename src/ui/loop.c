/* ui/loop.c -- signals, the end of a session, paths; see loop.h. */
#include "ui/loop.h"

#include "app/command.h"
#include "app/job.h"
#include "app/store.h"
#include "app/workspace.h"
#include "ui/ui.h"
#include "ui/view.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

static void wanted(sigset_t *set)
{
    static const int list[] = { SIGHUP, SIGTERM, SIGINT, SIGWINCH, SIGTSTP, SIGCONT };
    sigemptyset(set);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        sigaddset(set, list[i]);
}

void ui_prepare(void)
{
    sigset_t set;
    wanted(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    setlocale(LC_ALL, "");
    if (MB_CUR_MAX == 1)
        setlocale(LC_CTYPE, "C.UTF-8");
    setlocale(LC_NUMERIC, "C");
}

int loop_signal_fd(void)
{
    sigset_t set;
    wanted(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int loop_signal_next(int fd)
{
    struct signalfd_siginfo si;
    return fd >= 0 && read(fd, &si, sizeof si) == (ssize_t)sizeof si ? (int)si.ssi_signo : 0;
}

void loop_suspend(void)
{
    sigset_t tstp, old;
    sigemptyset(&tstp);
    sigaddset(&tstp, SIGTSTP);
    signal(SIGTSTP, SIG_DFL);
    kill(getpid(), SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &tstp, &old);   /* stops here */
    sigprocmask(SIG_SETMASK, &old, NULL);
}

void loop_finish(struct workspace *ws)
{
    const double limit = desk_now() + 10;
    workspace_forget(ws, 0, NULL);
    jobs_stop(ws->jobs, "*", false, NULL);
    while (workspace_busy(ws) && desk_now() < limit) {
        struct pollfd p = { workspace_fd(ws), POLLIN, 0 };
        poll(&p, 1, 200);
        workspace_pump(ws);
    }
    if (ws->store)
        store_flush(ws->store, NULL);
}

/* Makes the directories of a path, as mkdir -p of all but its last part. */
static void make_parents(char *path)
{
    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            mkdir(path, 0700);
            *p = '/';
        }
}

char *loop_history_path(bool *first)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int n = -1;
    if (state && *state == '/')
        n = asprintf(&path, "%s/gpdesk/history", state);
    else if (home && *home == '/')
        n = asprintf(&path, "%s/.local/state/gpdesk/history", home);
    *first = false;
    if (n < 0)
        return NULL;
    make_parents(path);
    *first = access(path, F_OK) != 0 && errno == ENOENT;
    return path;
}

char **loop_complete(void *ws, const char *line, unsigned long pos, unsigned long *start)
{
    return command_complete(ws, line, pos, start);
}
