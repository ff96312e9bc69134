/* figure/gnuplot_child.c -- starts and ends a gnuplot process. */
#include "figure/gnuplot_child.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KILL_MS = 2000 };

long long child_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *child_program(struct err *err)
{
    const char *name = getenv("GPDESK_GNUPLOT"), *path = getenv("PATH");
    struct buf b = { 0 };

    if (name == NULL || *name == '\0')
        name = "gnuplot";
    if (strchr(name, '/') != NULL) {
        if (is_program(name))
            return mem_strdup(name, err);
        err_set(err, ST_NOT_FOUND, "the program GPDESK_GNUPLOT names is not there");
        return NULL;
    }
    if (path == NULL || *path == '\0')
        path = "/usr/local/bin:/usr/bin:/bin";
    for (const char *p = path;; p++) {
        const size_t n = strcspn(p, ":");
        buf_clear(&b);
        buf_putn(&b, n > 0 ? p : ".", n > 0 ? n : 1);
        buf_putc(&b, '/');
        buf_puts(&b, name);
        if (b.failed)
            break;
        if (n > 0 && is_program(buf_str(&b)))
            return buf_take(&b); /* an empty entry of PATH never means the current directory */
        p += n;
        if (*p == '\0')
            break;
    }
    const bool failed = b.failed;
    buf_free(&b);
    if (failed)
        err_nomem(err, 0, "the path of gnuplot");
    else
        err_set(err, ST_NOT_FOUND, "gnuplot is not installed");
    return NULL;
}

/* The environment of the child: paths for fonts and temporary files, UTF-8, nothing else. */
enum { ENV_SLOTS = 16 };

static void environment(bool display, char *env[ENV_SLOTS], struct buf store[ENV_SLOTS])
{
    /* The last four say where windows are shown. */
    static const char *const keep[] = {
        "HOME",    "XDG_CACHE_HOME", "TMPDIR",          "FONTCONFIG_FILE", "FONTCONFIG_PATH",
        "DISPLAY", "XAUTHORITY",     "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR"};
    const size_t kept = sizeof keep / sizeof keep[0] - (display ? 0 : 4);
    size_t n = 0;

    buf_puts(&store[n++], "PATH=/usr/local/bin:/usr/bin:/bin");
    buf_puts(&store[n++], "LANG=C.UTF-8");
    buf_puts(&store[n++], "LC_ALL=C.UTF-8");
    buf_puts(&store[n++], "TERM=dumb");
    for (size_t i = 0; i < kept; i++) {
        const char *v = getenv(keep[i]);
        if (v != NULL)
            buf_printf(&store[n++], "%s=%s", keep[i], v);
    }
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (store[i].s != NULL && !store[i].failed)
            env[k++] = store[i].s;
    env[k] = NULL;
}

/* Runs in the child between fork and exec, so that only async-signal-safe calls are allowed. */
static void become(const char *program, const char *dir, const int fd[3], pid_t parent,
                   char *const env[])
{
    char *const argv[] = { (char *)program, "-d", NULL };
    sigset_t none;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(126); /* the parent died before prctl */
    for (int s = 1; s < 32; s++)
        signal(s, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dir != NULL && chdir(dir) != 0)
        _exit(126);
    for (int i = 0; i < 3; i++)
        if (dup2(fd[i], i) < 0)
            _exit(126);
    close_range(3, ~0u, 0);
    execve(program, argv, env);
    _exit(127);
}

/* Moves a descriptor above 0, 1 and 2, which the child replaces. */
static int above_std(int fd)
{
    if (fd < 0 || fd > 2)
        return fd;
    const int up = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return up;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static bool set_nonblocking(int fd)
{
    const int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static enum status begin(struct child *c, const char *program, const char *dir, bool display,
                         struct err *err)
{
    /* Its stdin is a socket pair, because writing to a pipe without a reader would raise
     * SIGPIPE. */
    int in[2] = { -1, -1 }, out[2] = { -1, -1 }, er[2] = { -1, -1 };
    char *env[ENV_SLOTS];
    struct buf store[ENV_SLOTS] = { 0 };
    pid_t pid = -1;

    *c = (struct child){ 0, -1, -1, -1 };
    bool ok = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) == 0 &&
              pipe2(out, O_CLOEXEC) == 0 && pipe2(er, O_CLOEXEC) == 0;
    for (int i = 0; ok && i < 2; i++) {
        in[i] = above_std(in[i]);
        out[i] = above_std(out[i]);
        er[i] = above_std(er[i]);
        ok = in[i] >= 0 && out[i] >= 0 && er[i] >= 0;
    }
    ok = ok && set_nonblocking(in[0]) && set_nonblocking(out[0]) && set_nonblocking(er[0]);
    if (ok) {
        const int fd[3] = { in[1], out[1], er[1] };
        const pid_t parent = getpid();
        environment(display, env, store);
        pid = fork();
        if (pid == 0)
            become(program, dir, fd, parent, env);
    }
    const int why = errno;
    for (int i = 0; i < ENV_SLOTS; i++)
        buf_free(&store[i]);
    close_fd(&in[1]);
    close_fd(&out[1]);
    close_fd(&er[1]);
    if (pid < 0) {
        close_fd(&in[0]);
        close_fd(&out[0]);
        close_fd(&er[0]);
        return err_system(err, why, NULL, "gnuplot cannot be started: %s", strerror(why));
    }
    /* Also here, because either process may run first; after exec it fails without harm. */
    setpgid(pid, pid);
    *c = (struct child){ pid, in[0], out[0], er[0] };
    return ST_OK;
}

enum status child_start(struct child *c, const char *program, const char *dir, struct err *err)
{
    return begin(c, program, dir, false, err);
}

enum status child_start_display(struct child *c, const char *program, struct err *err)
{
    return begin(c, program, NULL, true, err);
}

void child_close_input(struct child *c)
{
    close_fd(&c->in);
}

bool child_ended(struct child *c, int *status)
{
    *status = -1;
    if (c->pid <= 0)
        return true;
    pid_t r;
    do {
        r = waitpid(c->pid, status, WNOHANG);
    } while (r < 0 && errno == EINTR);
    if (r == 0)
        return false;
    if (r < 0)
        *status = -1; /* another waitpid has taken its status */
    c->pid = 0;
    return true;
}

void child_kill(struct child *c)
{
    close_fd(&c->in);
    close_fd(&c->out);
    close_fd(&c->err);
    if (c->pid > 0) {
        int status;
        if (kill(-c->pid, SIGKILL) != 0)
            kill(c->pid, SIGKILL);
        /* A process that waits for a disk does not die even from SIGKILL; then it is left
         * behind. */
        for (int i = 0; i < KILL_MS && !child_ended(c, &status); i++)
            nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    }
    c->pid = 0;
}

ssize_t child_write(struct child *c, const void *bytes, size_t n)
{
    return send(c->in, bytes, n, MSG_NOSIGNAL);
}
