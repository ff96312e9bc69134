/* compute/ranks/wire.c -- messages between the front end and a rank (wire.h). */
#include "config.h"

#include "compute/ranks/wire.h"

#include "base/clock.h"
#include "compute/backend.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Waits until the descriptor is ready, as long as patience lasts. */
static enum status ready(const struct wire *w, int fd, short events, struct err *err)
{
    const double begun = clock_now();
    double stopped = 0.0; /* when that was seen */

    for (;;) {
        struct pollfd p = { .fd = fd, .events = events };
        if (poll(&p, 1, WIRE_LOOK_MS) > 0)
            return ST_OK;
        const double now = clock_now();
        if (w->patience > 0.0 && now - begun >= w->patience)
            return err_set(err, ST_IO, "it did not answer for %.3g s", w->patience);
        stopped = stopped > 0.0 || !ctl_stopped(w->ctl) ? stopped : now;
        if (stopped > 0.0 && now - stopped >= 1e-3 * WIRE_STOPPED_MS)
            return err_set(err, ST_IO, "it did not answer when it was stopped");
    }
}

static enum status over(int why, struct err *err)
{
    return why == 0 || why == EPIPE || why == ECONNRESET
               ? err_set(err, ST_IO, "it has ended")
               : err_system(err, why, NULL, "its connection failed: %s", strerror(why));
}

enum status wire_put(const struct wire *w, const void *data, size_t bytes, struct err *err)
{
    const char *at = data;

    while (bytes > 0) {
        ssize_t n = send(w->out, at, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == ENOTSOCK)
            n = write(w->out, at, bytes);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            const enum status rc = ready(w, w->out, POLLOUT, err);
            if (rc != ST_OK)
                return rc;
        } else if (n < 0 && errno != EINTR) {
            return over(errno, err);
        } else if (n > 0) {
            at += n;
            bytes -= (size_t)n;
        }
    }
    return ST_OK;
}

enum status wire_get(const struct wire *w, void *data, size_t bytes, struct err *err)
{
    char *at = data;

    while (bytes > 0) {
        const ssize_t n = read(w->in, at, bytes);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            const enum status rc = ready(w, w->in, POLLIN, err);
            if (rc != ST_OK)
                return rc;
        } else if (n == 0 || (n < 0 && errno != EINTR)) {
            return over(n == 0 ? 0 : errno, err);
        } else if (n > 0) {
            at += n;
            bytes -= (size_t)n;
        }
    }
    return ST_OK;
}

enum status wire_skip(const struct wire *w, uint64_t bytes, struct err *err)
{
    char some[4096];
    enum status rc = ST_OK;

    while (rc == ST_OK && bytes > 0) {
        const size_t n = bytes < sizeof some ? (size_t)bytes : sizeof some;
        rc = wire_get(w, some, n, err);
        bytes -= n;
    }
    return rc;
}

enum status wire_begin(const struct wire *w, enum wire_kind kind, uint64_t bytes, struct err *err)
{
    const struct wire_head head = { WIRE_MAGIC, kind, bytes };

    return wire_put(w, &head, sizeof head, err);
}

enum status wire_next(const struct wire *w, struct wire_head *head, struct err *err)
{
    const enum status rc = wire_get(w, head, sizeof *head, err);

    if (rc == ST_OK && (head->magic != WIRE_MAGIC || head->kind >= WIRE_KINDS ||
                        head->bytes > WIRE_MOST_BYTES))
        return err_set(err, ST_FORMAT, "it sends what is no message");
    return rc;
}

bool wire_waits(const struct wire *w, int milliseconds)
{
    struct pollfd p = { .fd = w->in, .events = POLLIN };

    return poll(&p, 1, milliseconds) > 0;
}

bool wire_takes(const struct wire *w)
{
    struct pollfd p = {.fd = w->out, .events = POLLOUT};

    return poll(&p, 1, 0) > 0;
}

/* Finds the build identification of the program itself, the first object that is listed. */
static int find_build(struct dl_phdr_info *info, size_t size, void *ctx)
{
    char *out = ctx;

    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;
        while (p->p_type == PT_NOTE && end - at > (ptrdiff_t)sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof note);
            const unsigned char *id =
                (const unsigned char *)at + sizeof note + (note.n_namesz + 3) / 4 * 4;
            if (note.n_type == NT_GNU_BUILD_ID)
                for (size_t b = 0; b < note.n_descsz && 2 * b + 2 < 48; b++)
                    snprintf(out + 2 * b, 3, "%02x", id[b]);
            at += sizeof note + (note.n_namesz + 3) / 4 * 4 + (note.n_descsz + 3) / 4 * 4;
        }
    }
    return 1;
}

void wire_hello_of(struct wire_hello *h, size_t threads)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);

    *h = (struct wire_hello){ .version = WIRE_VERSION, .threads = (uint32_t)threads, .machines = 1,
                              .cores = cores > 0 ? (uint32_t)cores : 1,
                              .pid = (uint32_t)getpid() };
    snprintf(h->program, sizeof h->program, "%s", PACKAGE_VERSION);
    dl_iterate_phdr(find_build, h->build);
    snprintf(h->level, sizeof h->level, "%s", cpu_level());
    snprintf(h->blas, sizeof h->blas, "%s", cpu_blas());
    if (gethostname(h->host, sizeof h->host - 1) != 0)
        snprintf(h->host, sizeof h->host, "unknown");
}

bool wire_hello_sound(struct wire_hello *h)
{
    char *const word[] = { h->program, h->build, h->level, h->blas, h->host, h->card };
    const size_t size[] = { sizeof h->program, sizeof h->build, sizeof h->level, sizeof h->blas,
                            sizeof h->host,    sizeof h->card };

    for (size_t i = 0; i < sizeof size / sizeof size[0]; i++) {
        word[i][size[i] - 1] = '\0';
        for (char *c = word[i]; *c; c++)
            if (*c < ' ' || *c > '~')
                *c = '?';
    }
    return h->version == WIRE_VERSION && h->threads > 0 && h->device < 1 << 16 &&
           h->machines > 0 && h->machines < 1 << 16;
}

bool wire_hello_alike(const struct wire_hello *here, const struct wire_hello *there,
                      struct err *err)
{
    if (strcmp(here->program, there->program) != 0 || strcmp(here->build, there->build) != 0) {
        err_set(err, ST_BACKEND, "%s has another gpdesk: version %s, build %.12s; here %s, %.12s",
                there->host, there->program, there->build, here->program, here->build);
        err_hint(err, "make install   (the same build on each host)");
    } else if (strcmp(here->level, there->level) != 0) {
        err_set(err, ST_BACKEND, "%s computes with %s, this machine with %s: sums would differ",
                there->host, there->level, here->level);
        err_hint(err, "gpdesk --cpu=avx2   (a level that all hosts have)");
    } else {
        return true;
    }
    return false;
}
