/* tests/campaign/terminal.c -- the program behind a terminal that is taken away, stopped or
 * flooded.
 *
 *   terminal GPDESK SESSION STEP...     (in line mode; on the screen with TERMINAL_SCREEN set)
 *
 * A step is one of
 *   wait:TEXT   until TEXT has been printed behind what the last step of this kind waited for
 *   type:LINE   a line, with Return
 *   key:C       Ctrl and this letter
 *   paste:N     N bytes of text without a line end, while what is printed is read
 *   pasted:N    the same between the marks of a bracketed paste
 *   memory:KB   fails if the program has ever had more in memory
 *   stop:MS     SIGSTOP, and SIGCONT after so many milliseconds
 *   hup         SIGHUP to the program
 *   close       the terminal is closed
 *   end         until the program has ended; prints "exit N" or "signal N"
 * Exit status 0: every step was done.  1: a text was waited for in vain, or the program did not
 * end; then what was printed last goes to stderr.  A wait lasts two minutes at most. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT = 1200, TENTH_MS = 100, TAIL = 1 << 16 };

static int tty;
static pid_t child;
static char text[TAIL + 1]; /* printed since the last wait, without its oldest part */
static size_t length;

static void keep(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (length == TAIL) {
            memmove(text, text + TAIL / 2, TAIL / 2);
            length = TAIL / 2;
        }
        if (bytes[i] != '\0')
            text[length++] = bytes[i];
    }
    text[length] = '\0';
}

/* Reads what comes within a tenth of a second, or until `writable`.  False: nothing will come. */
static bool take(bool *writable)
{
    struct pollfd p = { tty, (short)(POLLIN | (writable ? POLLOUT : 0)), 0 };
    char bytes[65536];

    if (poll(&p, 1, TENTH_MS) < 0)
        return errno == EINTR;
    if (writable)
        *writable = (p.revents & POLLOUT) != 0;
    if (p.revents & (POLLIN | POLLHUP)) {
        const ssize_t n = read(tty, bytes, sizeof bytes);
        if (n > 0)
            keep(bytes, (size_t)n);
        return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
    }
    return true;
}

static bool put(const char *bytes, size_t n)
{
    for (int idle = 0; n > 0 && idle < LIMIT;) {
        bool writable;
        if (!take(&writable))
            return false;
        const ssize_t k = writable ? write(tty, bytes, n < 1024 ? n : 1024) : 0;
        if (k < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        idle = k > 0 ? 0 : idle + 1;
        bytes += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
    return n == 0;
}

static bool wait_for(const char *what)
{
    for (int i = 0; i < LIMIT; i++) {
        const char *found = strstr(text, what);
        if (found) { /* what follows may be waited for next: a prompt, say */
            length -= (size_t)(found - text) + strlen(what);
            memmove(text, found + strlen(what), length + 1);
            return true;
        }
        if (!take(NULL))
            return strstr(text, what) != NULL;
    }
    return false;
}

static bool paste(size_t n)
{
    char *bytes = malloc(n + 1);

    if (!bytes)
        return false;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)('a' + i % 26);
    const bool done = put(bytes, n);
    free(bytes);
    return done;
}

static bool within(long most)
{
    char path[64], line[256];
    long peak = -1;

    snprintf(path, sizeof path, "/proc/%ld/status", (long)child);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "VmHWM: %ld", &peak);
    if (f)
        fclose(f);
    if (peak > most)
        fprintf(stderr, "%ld kB at most, not %ld\n", peak, most);
    return peak <= most;
}

static bool end_of_program(void)
{
    for (int i = 0, status; i < LIMIT; i++) {
        if (waitpid(child, &status, WNOHANG) == child) {
            if (WIFEXITED(status))
                printf("exit %d\n", WEXITSTATUS(status));
            else
                printf("signal %d\n", WTERMSIG(status));
            return true;
        }
        if (tty < 0 || !take(NULL))
            usleep(TENTH_MS * 1000);
    }
    return false;
}

static bool step(const char *s)
{
    const char *colon = strchr(s, ':'), *value = colon ? colon + 1 : "";
    char line[2000];

    if (!strncmp(s, "wait:", 5))
        return wait_for(value);
    if (!strncmp(s, "type:", 5))
        return put(line, (size_t)snprintf(line, sizeof line, "%s\r", value));
    if (!strncmp(s, "key:", 4))
        return put((const char[]){ (char)(*value & 0x1f) }, 1);
    if (!strncmp(s, "paste:", 6))
        return paste(strtoul(value, NULL, 10));
    if (!strncmp(s, "pasted:", 7))
        return put("\033[200~", 6) && paste(strtoul(value, NULL, 10)) && put("\033[201~", 6);
    if (!strncmp(s, "memory:", 7))
        return within(strtol(value, NULL, 10));
    if (!strncmp(s, "stop:", 5)) {
        kill(child, SIGSTOP);
        usleep((useconds_t)strtoul(value, NULL, 10) * 1000);
        return kill(child, SIGCONT) == 0;
    }
    if (!strcmp(s, "hup"))
        return kill(child, SIGHUP) == 0;
    if (!strcmp(s, "close")) {
        close(tty);
        tty = -1;
        return true;
    }
    return !strcmp(s, "end") && end_of_program();
}

int main(int argc, char **argv)
{
    const struct winsize size = { .ws_row = 40, .ws_col = 120 };

    if (argc < 4)
        return 2;
    child = forkpty(&tty, NULL, NULL, &size);
    if (child < 0) {
        perror("forkpty");
        return 77;
    }
    if (child == 0) {
        const char *screen = getenv("TERMINAL_SCREEN");
        setenv("TERM", "xterm-256color", 1);
        setenv("GPDESK_LEARN", "off", 1);
        execl(argv[1], argv[1], "--no-config", "--threads=1",
              screen && *screen ? "--no-config" : "--plain", "-s", argv[2], (char *)NULL);
        _exit(99);
    }
    /* A write that waits, while the program waits until its output is read, would wait for ever. */
    (void)fcntl(tty, F_SETFL, O_NONBLOCK);
    for (int i = 3; i < argc; i++)
        if (!step(argv[i])) {
            fprintf(stderr, "in vain: %s; printed last:\n%.3000s\n", argv[i],
                    length > 3000 ? text + length - 3000 : text);
            kill(child, SIGKILL);
            return 1;
        }
    return 0;
}
