/* data/molecules/helper.c -- one process of gpdesk-molecules (helper.h). */
#include "data/molecules/helper.h"

#include "base/buf.h"
#include "base/subprocess.h"
#include "base/dirs.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A helper that computes is judged by its processor time, so that a busy machine changes nothing.
 * One that does not is given up after this many times as long by the clock. */
static const double patience = 15;

static const char rebuild[] = "make install   (builds and installs gpdesk and gpdesk-molecules)";

/* Where the program is. */

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *helper_program(struct err *err)
{
    const char *asked = getenv("GPDESK_MOLECULES");
    struct buf path = { 0 };

    if (asked && *asked) {
        buf_printf(&path, "%s%s", strchr(asked, '/') ? "" : "./", asked); /* never from PATH */
        if (!path.failed && is_program(asked))
            return buf_take(&path);
        buf_free(&path);
        err_set(err, ST_NOT_FOUND, "GPDESK_MOLECULES names %.300s, which is not a program", asked);
        err_hint(err, "unset GPDESK_MOLECULES, or name gpdesk-molecules with its path");
        return NULL;
    }
    for (size_t n = 0;
         dirs_beside(n, "gpdesk-molecules", "../libexec/gpdesk", PKGLIBEXECDIR, &path); n++)
        if (!path.failed && is_program(buf_str(&path)))
            return buf_take(&path);
    buf_free(&path);
    err_set(err, ST_NOT_FOUND,
            "gpdesk-molecules, which reads SMILES with RDKit, is not installed with this gpdesk");
    err_hint(err, "install librdkit-dev, libboost-dev and g++, then ./configure && make install");
    return NULL;
}

/* Time. */

static double seconds_of(clockid_t clock)
{
    struct timespec t = { 0 };

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The processor time of a process so far. */
static double cpu_of(pid_t pid)
{
    clockid_t clock;

    return pid > 0 && clock_getcpuclockid(pid, &clock) == 0 ? seconds_of(clock) : 0;
}

static void begin_to_wait(struct helper *h, enum helper_doing doing)
{
    h->doing = doing;
    h->since = seconds_of(CLOCK_MONOTONIC);
    h->cpu = cpu_of(h->pid);
    h->len = 0;
}

/* Starting and ending. */

static int spawn(struct helper *h, const char *program, size_t memory, int end)
{
    char parent[24], bytes[24];
    char *const argv[] = { (char *)program, "serve", parent, bytes, NULL };

    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    snprintf(bytes, sizeof bytes, "%zu", memory);
    return subprocess_start(argv, end, &h->pid);
}

/* A request fits the buffer of the socket as a whole, because no other is on its way. */
static void put(struct helper *h, uint32_t kind, const void *body, size_t n, const char *text,
                size_t length)
{
    unsigned char all[sizeof(struct molecules_head) + MOLECULES_REQUEST_MOST];
    const struct molecules_head head = { MOLECULES_MAGIC, kind, ++h->serial,
                                         (uint32_t)(n + length) };

    memcpy(all, &head, sizeof head);
    if (n > 0)
        memcpy(all + sizeof head, body, n);
    if (length > 0)
        memcpy(all + sizeof head + n, text, length);
    const size_t bytes = sizeof head + n + length;
    if (send(h->fd, all, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)bytes)
        shutdown(h->fd, SHUT_RDWR); /* it reads no more, and helper_look finds the end */
}

enum status helper_start(struct helper *h, const char *program, size_t memory, struct err *err)
{
    const int room = 4 * MOLECULES_REQUEST_MOST;
    int end[2] = { -1, -1 };
    int why = 0;

    helper_end(h);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) != 0) {
        why = errno;
    } else {
        setsockopt(end[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        why = spawn(h, program, memory, end[1]);
        close(end[1]);
        if (why != 0)
            close(end[0]);
    }
    if (why != 0) {
        err_system(err, why, NULL, "%.300s cannot be started: %s", program, strerror(why));
        err_hint(err, "%.200s --version   (tells whether it runs)", program);
        return ST_IO;
    }
    h->fd = end[0];
    begin_to_wait(h, HELPER_STARTING);
    put(h, MOLECULES_VERSION, NULL, 0, NULL, 0);
    return ST_OK;
}

static void forget(struct helper *h)
{
    if (h->fd >= 0)
        close(h->fd);
    h->fd = -1;
    h->pid = 0;
    h->doing = HELPER_ENDED;
    h->len = 0;
}

static void kill_it(struct helper *h)
{
    if (h->pid > 0) {
        subprocess_kill(h->pid);
        subprocess_collect(h->pid, 2000, NULL);
    }
    forget(h);
}

void helper_end(struct helper *h)
{
    if (h->doing != HELPER_ENDED)
        kill_it(h);
    free(h->in);
    h->in = NULL;
    h->cap = 0;
}

void helper_ask(struct helper *h, const struct molecules_ask *ask, const char *text, size_t length)
{
    begin_to_wait(h, HELPER_BUSY);
    h->asked = *ask;
    put(h, MOLECULES_READ, ask, sizeof *ask, text, length);
}

/* Listening. */

static enum status rubbish(struct helper *h, const char *program, const char *what, struct err *err)
{
    kill_it(h);
    err_set(err, ST_BACKEND, "%.300s writes what is no answer (%s)", program, what);
    err_hint(err, "%s", rebuild);
    return ST_BACKEND;
}

/* It has ended, or closed its end: what became of it, for a start that failed. */
static enum status lost(struct helper *h, const char *program, enum helper_event *event,
                        struct err *err)
{
    const bool starting = h->doing == HELPER_STARTING;
    const pid_t pid = h->pid;
    int status;

    subprocess_collect(pid, 100, &status);
    if (status == -1)
        kill_it(h);
    else
        forget(h);
    *event = HELPER_LOST;
    if (!starting)
        return ST_OK;
    if (status != -1 && WIFSIGNALED(status))
        err_set(err, ST_BACKEND, "%.300s was ended by signal %d before it could answer", program,
                WTERMSIG(status));
    else
        err_set(err, ST_BACKEND, "%.300s ended before it could answer (exit status %d)", program,
                status != -1 ? WEXITSTATUS(status) : -1);
    err_hint(err, "%.200s --version   (tells what it lacks)", program);
    return ST_BACKEND;
}

static enum status told_version(struct helper *h, const char *program, struct err *err)
{
    const unsigned char *body = h->in + sizeof(struct molecules_head);
    const size_t bytes = h->len - sizeof(struct molecules_head);
    uint32_t number;

    if (bytes < sizeof number || bytes - sizeof number >= sizeof h->version)
        return rubbish(h, program, "a version of a wrong length", err);
    memcpy(&number, body, sizeof number);
    if (number != MOLECULES_PROTOCOL) {
        kill_it(h);
        err_set(err, ST_BACKEND, "%.300s speaks version %u of the protocol, this gpdesk version %u",
                program, number, (unsigned)MOLECULES_PROTOCOL);
        err_hint(err, "%s", rebuild);
        return ST_BACKEND;
    }
    const size_t n = bytes - sizeof number;
    if (n == 0 || !molecules_printable((const char *)body + sizeof number, n))
        return rubbish(h, program, "a version that is no text", err);
    memcpy(h->version, body + sizeof number, n);
    h->version[n] = '\0';
    h->doing = HELPER_IDLE;
    return ST_OK;
}

/* How many bytes the message has, as far as is known; 0 and what is wrong if it is none. */
static size_t message_bytes(const struct helper *h, const char **wrong)
{
    const bool starting = h->doing == HELPER_STARTING;
    struct molecules_head head;

    if (h->len < sizeof head)
        return sizeof head;
    memcpy(&head, h->in, sizeof head);
    *wrong = molecules_head_wrong(&head, starting ? MOLECULES_IS : MOLECULES_GOT,
                                  starting ? MOLECULES_REASON_MOST + 4 : MOLECULES_REPLY_MOST);
    if (!*wrong && head.serial != h->serial)
        *wrong = "an answer to another question";
    return *wrong ? 0 : sizeof head + head.bytes;
}

/* Reads until the message is there or no more has come.  *wrong: it is none; *over: its end. */
static enum status read_some(struct helper *h, const char **wrong, bool *over, bool *whole,
                             struct err *err)
{
    for (;;) {
        const size_t need = message_bytes(h, wrong);
        if (*wrong)
            return ST_OK;
        *whole = h->len == need; /* with a head alone, `need` has its body, too */
        if (*whole)
            return ST_OK;
        const enum status rc =
            mem_grow((void **)&h->in, &h->cap, need, 1, "an answer about a molecule", err);
        if (rc != ST_OK)
            return rc;
        const ssize_t n = recv(h->fd, h->in + h->len, need - h->len, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return ST_OK;
        *over = n <= 0;
        if (*over)
            return ST_OK;
        h->len += (size_t)n;
    }
}

/* Has it had its time? */
static enum status judge_time(struct helper *h, const char *program, double seconds,
                              enum helper_event *event, struct err *err)
{
    const bool starting = h->doing == HELPER_STARTING;
    const bool computed = !starting && cpu_of(h->pid) - h->cpu > seconds;

    if (!computed && seconds_of(CLOCK_MONOTONIC) - h->since <= patience * seconds)
        return ST_OK;
    kill_it(h);
    *event = computed ? HELPER_SLOW : HELPER_LOST;
    if (!starting)
        return ST_OK;
    err_set(err, ST_BACKEND, "%.300s does not answer within %.3g s", program, patience * seconds);
    err_hint(err, "%.200s --version   (tells whether it runs)", program);
    return ST_BACKEND;
}

enum status helper_look(struct helper *h, const char *program, double seconds,
                        enum helper_event *event, struct err *err)
{
    const char *wrong = NULL;
    bool over = false, whole = false;

    *event = HELPER_NOTHING;
    if (h->doing != HELPER_STARTING && h->doing != HELPER_BUSY)
        return ST_OK;
    const enum status rc = read_some(h, &wrong, &over, &whole, err);
    if (rc != ST_OK)
        return rc;
    if (wrong)
        return rubbish(h, program, wrong, err);
    if (over)
        return lost(h, program, event, err);
    if (!whole)
        return judge_time(h, program, seconds, event, err);
    *event = h->doing == HELPER_STARTING ? HELPER_READY : HELPER_ANSWERED;
    if (h->doing == HELPER_STARTING)
        return told_version(h, program, err);
    h->doing = HELPER_IDLE;
    return ST_OK;
}

enum status helper_answer(struct helper *h, const char *program, struct molecules_reply *reply,
                          struct err *err)
{
    const size_t head = sizeof(struct molecules_head);
    const char *wrong = molecules_reply_parse(h->in + head, h->len - head, &h->asked, reply);

    return wrong ? rubbish(h, program, wrong, err) : ST_OK;
}
