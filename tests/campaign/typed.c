/* tests/campaign/typed.c -- the program on a screen, in a terminal of 80 x 24 (judge.h). */
#include "judge.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { QUIET_MS = 250, START_MS = 30000, END_MS = 5000 };

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Reads into fd until nothing has come for `quiet` milliseconds, or until `most` are over.  False:
 * the other side has gone. */
static bool listen_to(int tty, int fd, int quiet, int most)
{
    const long end = now_ms() + most;

    for (struct pollfd p = { tty, POLLIN, 0 }; now_ms() < end;) {
        char bytes[65536];
        if (poll(&p, 1, quiet) == 0)
            return true;
        const ssize_t n = read(tty, bytes, sizeof bytes);
        if (n <= 0 && errno != EINTR)
            return false;
        if (n > 0 && write(fd, bytes, (size_t)n) != n)
            die("what is on the screen");
    }
    return true;
}

/* A busy machine may take seconds to start it; before that TERM would be no word of the program. */
static bool await_prompt(int tty, int fd, const char *path)
{
    const long end = now_ms() + START_MS;
    bool there = true, ready = false;

    while (there && !ready && now_ms() < end) {
        there = listen_to(tty, fd, QUIET_MS, QUIET_MS);
        char *said = slurp(path);
        ready = strstr(said, "gpdesk>") != NULL;
        free(said);
    }
    return there;
}

static bool has_ended(pid_t pid, int *status, int ms, int tty, int fd)
{
    const long end = now_ms() + ms;

    do {
        if (waitpid(pid, status, WNOHANG) == pid)
            return true;
        if (!listen_to(tty, fd, 20, 20))
            usleep(2000);
    } while (now_ms() < end);
    return false;
}

int run_typed(const char *dir, const char *session, const char *lines, const char *out,
              char *const fault[])
{
    const struct winsize size = { .ws_row = 24, .ws_col = 80 };
    char path[PATH], line[600];
    int tty, status;

    join(path, dir, out);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const pid_t pid = forkpty(&tty, NULL, NULL, &size);
    if (pid == 0) {
        setenv("TERM", "xterm", 1);
        place(dir);
        for (size_t i = 0; fault && fault[i]; i++)
            putenv(fault[i]);
        execl(program, program, "--no-config", "--threads=1", "-s", session, (char *)NULL);
        _exit(99);
    }
    bool there = await_prompt(tty, fd, path);
    for (const char *p = lines; there && *p; p += strspn(p, "; ")) {
        const size_t n = strcspn(p, ";");
        snprintf(line, sizeof line, "%.*s\r", (int)n, p);
        there = write(tty, line, strlen(line)) >= 0 && listen_to(tty, fd, QUIET_MS, LIMIT_MS / 10);
        p += n;
    }
    if (there && write(tty, "\033:\025quit\r", 8) < 0)
        there = false;
    bool ended = has_ended(pid, &status, END_MS, tty, fd);
    if (!ended) { /* a program that does not read `quit` any more ends by a signal */
        kill(pid, SIGTERM);
        ended = has_ended(pid, &status, LIMIT_MS, tty, fd);
    }
    if (!ended) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    close(tty);
    close(fd);
    return ended ? status : -1;
}
