/* base/status.c -- the words of each status, and functions that fill a struct err. */
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *words;
} statuses[] = {
#define _(id, name, words) { name, words },
    STATUS_LIST(_)
#undef _
};

const char *status_name(enum status code)
{
    return (unsigned)code < N_STATUS ? statuses[code].name : "internal";
}

const char *status_words(enum status code)
{
    return (unsigned)code < N_STATUS ? statuses[code].words : "an unknown status";
}

/* snprintf cuts at any byte; a message must not end within a character. */
static void cut_whole(char *s, size_t size)
{
    size_t n = strlen(s);
    if (n + 1 < size)
        return;
    size_t start = n;
    while (start > 0 && ((unsigned char)s[start - 1] & 0xc0) == 0x80)
        start--;
    if (start == 0)
        return;
    const unsigned char lead = (unsigned char)s[start - 1];
    const size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    if (n - (start - 1) < need)
        s[start - 1] = '\0';
}

static void fill(struct err *err, enum status code, const char *name, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));
static void fill(struct err *err, enum status code, const char *name, const char *fmt, va_list ap)
{
    /* The arguments may point into *err (a message that is passed on): write it elsewhere first. */
    char msg[sizeof err->msg];
    char keep[sizeof err->name];

    vsnprintf(msg, sizeof msg, fmt, ap);
    cut_whole(msg, sizeof msg);
    snprintf(keep, sizeof keep, "%s", name);
    err->code = code;
    memcpy(err->name, keep, sizeof keep);
    memcpy(err->msg, msg, sizeof msg);
    err->hint[0] = '\0';
    err->machine = code == ST_NOMEM;
}

enum status err_set(struct err *err, enum status code, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        fill(err, code, status_name(code), fmt, ap);
        va_end(ap);
    }
    return code;
}

enum status err_named(struct err *err, enum status code, const char *name, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        fill(err, code, name, fmt, ap);
        va_end(ap);
    }
    return code;
}

static bool of_the_machine(int why)
{
    return why == ENOSPC || why == EDQUOT || why == EFBIG || why == EIO || why == ENOMEM ||
           why == EMFILE || why == ENFILE || why == EAGAIN || why == EINTR;
}

enum status err_system(struct err *err, int why, const char *name, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        fill(err, ST_IO, name ? name : status_name(ST_IO), fmt, ap);
        va_end(ap);
        err->machine = of_the_machine(why);
    }
    return ST_IO;
}

void err_hint(struct err *err, const char *fmt, ...)
{
    if (!err)
        return;
    char hint[sizeof err->hint];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(hint, sizeof hint, fmt, ap);
    va_end(ap);
    cut_whole(hint, sizeof hint);
    memcpy(err->hint, hint, sizeof hint);
}

void err_prefix(struct err *err, const char *fmt, ...)
{
    if (!err)
        return;
    char msg[sizeof err->msg];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    if ((size_t)n < sizeof msg)
        snprintf(msg + n, sizeof msg - (size_t)n, "%s", err->msg);
    cut_whole(msg, sizeof msg);
    memcpy(err->msg, msg, sizeof msg);
}

static atomic_size_t unreported;

size_t err_unreported(void)
{
    return atomic_load(&unreported);
}

static atomic_size_t refused;

size_t err_refused(void)
{
    return atomic_load(&refused);
}

enum status err_nomem(struct err *err, size_t bytes, const char *what)
{
    enum { LARGE = 1 << 20 };

    if (!err)
        atomic_fetch_add(&unreported, 1);
    if (bytes < LARGE)
        atomic_fetch_add(&refused, 1);
    return err_set(err, ST_NOMEM, "out of memory: %s needs %.4g MB more than there is", what,
                   (double)bytes / (1024.0 * 1024.0));
}

enum status err_status(const struct err *err)
{
    return err && err->code != ST_OK ? err->code : ST_NOMEM;
}

void err_clear(struct err *err)
{
    if (!err)
        return;
    memset(err, 0, sizeof *err);
    snprintf(err->name, sizeof err->name, "%s", status_name(ST_OK));
}
