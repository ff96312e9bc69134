/* app/shell/rec.c -- records as JSON lines and as lines for people. See rec.h. */
#include "app/shell/rec.h"

#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *rec_type_name(enum rec_type type)
{
    static const char *const names[] = { "result", "note", "warning", "error", "tick" };

    return names[type];
}

void rec_init(struct rec *r, enum rec_type type, const char *name)
{
    memset(r, 0, sizeof *r);
    r->type = type;
    r->unreported = err_unreported();
    snprintf(r->name, sizeof r->name, "%s", name ? name : "");
}

/* Is it whole? A part that memory ran out for while the record was made may be missing without a
 * trace in its text: a name, or a list of values. */
static bool whole(const struct rec *r)
{
    return !r->text.failed && !r->json.failed &&
           (r->type != REC_RESULT || r->unreported == err_unreported());
}

void rec_free(struct rec *r)
{
    buf_free(&r->text);
    buf_free(&r->json);
}

static void key_of(struct rec *r, const char *key)
{
    buf_putc(&r->json, ',');
    buf_json_string(&r->json, key);
    buf_putc(&r->json, ':');
}

void rec_str(struct rec *r, const char *key, const char *value)
{
    key_of(r, key);
    if (value)
        buf_json_string(&r->json, value);
    else
        buf_puts(&r->json, "null");
}

void rec_num(struct rec *r, const char *key, double value)
{
    key_of(r, key);
    buf_json_double(&r->json, value);
}

void rec_int(struct rec *r, const char *key, int64_t value)
{
    key_of(r, key);
    buf_printf(&r->json, "%" PRId64, value);
}

void rec_bool(struct rec *r, const char *key, bool value)
{
    key_of(r, key);
    buf_puts(&r->json, value ? "true" : "false");
}

void rec_null(struct rec *r, const char *key)
{
    key_of(r, key);
    buf_puts(&r->json, "null");
}

void rec_nums(struct rec *r, const char *key, const double *v, size_t n)
{
    key_of(r, key);
    buf_putc(&r->json, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_putc(&r->json, ',');
        buf_json_double(&r->json, v[i]);
    }
    buf_putc(&r->json, ']');
}

void rec_strs(struct rec *r, const char *key, const char *const *v, size_t n)
{
    key_of(r, key);
    buf_putc(&r->json, '[');
    for (size_t i = 0; i < n; i++) {
        buf_puts(&r->json, i ? "," : "");
        buf_json_string(&r->json, v[i]);
    }
    buf_putc(&r->json, ']');
}

void rec_open(struct rec *r, const char *key)
{
    key_of(r, key);
    buf_putc(&r->json, '{');
}

void rec_array(struct rec *r, const char *key)
{
    key_of(r, key);
    buf_putc(&r->json, '[');
}

void rec_item(struct rec *r)
{
    if (r->json.len && r->json.s[r->json.len - 1] != '[')
        buf_putc(&r->json, ',');
    buf_putc(&r->json, '{');
}

void rec_close(struct rec *r)
{
    buf_putc(&r->json, '}');
}

void rec_array_close(struct rec *r)
{
    buf_putc(&r->json, ']');
}

void rec_text(struct rec *r, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&r->text, fmt, ap);
    va_end(ap);
}

void rec_safe(struct rec *r, const char *s)
{
    text_safe(&r->text, s, 0);
}

/* Writes the members in r->json. Since each begins with a comma, the comma after an opening bracket
 * is dropped. */
static void members(const struct rec *r, struct buf *out)
{
    const char *s = buf_str(&r->json);
    bool quoted = false, escaped = false;
    char prev = '\0';

    for (; *s; s++) {
        if (!quoted && *s == ',' && (prev == '{' || prev == '['))
            continue;
        if (escaped)
            escaped = false;
        else if (quoted && *s == '\\')
            escaped = true;
        else if (*s == '"')
            quoted = !quoted;
        buf_putc(out, *s);
        prev = *s;
    }
}

void rec_json_line(const struct rec *r, struct buf *out)
{
    buf_printf(out, "{\"v\":1,\"type\":\"%s\"", rec_type_name(r->type));
    if (r->type == REC_RESULT) {
        buf_puts(out, ",\"command\":");
        buf_json_string(out, r->name);
    } else if (r->type != REC_TICK) {
        buf_puts(out, ",\"name\":");
        buf_json_string(out, r->name);
    }
    if (r->type != REC_RESULT) {
        buf_puts(out, ",\"run\":");
        if (*r->run)
            buf_json_string(out, r->run);
        else
            buf_puts(out, "null");
    }
    if (r->type == REC_NOTE || r->type == REC_WARNING || r->type == REC_ERROR) {
        buf_puts(out, ",\"message\":");
        buf_json_string(out, buf_str(&r->text));
        buf_puts(out, ",\"try\":");
        if (*r->hint)
            buf_json_string(out, r->hint);
        else
            buf_puts(out, "null");
        buf_puts(out, ",\"in\":");
        if (*r->in)
            buf_json_string(out, r->in);
        else
            buf_puts(out, "null");
    }
    members(r, out);
    buf_puts(out, "}\n");
    if (r->type == REC_RESULT && !whole(r)) /* it may be on its way into a file */
        out->failed = true;
}

/* Appends text line by line, escaped for a terminal, with `indent` in front of all lines but the
 * first. */
static void safe_lines(struct buf *out, const char *text, const char *indent)
{
    for (bool first = true; *text || first; first = false) {
        const char *end = strchr(text, '\n');
        const size_t n = end ? (size_t)(end - text) : strlen(text);
        char *line = strndup(text, n);
        if (!first)
            buf_puts(out, indent);
        if (line)
            text_safe(out, line, 0);
        else
            out->failed = true;
        free(line);
        buf_putc(out, '\n');
        text += n + (end != NULL);
    }
}

void rec_text_lines(const struct rec *r, struct buf *out)
{
    if (r->type == REC_RESULT || r->type == REC_TICK) {
        if (r->text.len)
            safe_lines(out, buf_str(&r->text), "");
        return;
    }
    buf_printf(out, "%s[%s]: ", rec_type_name(r->type), r->name);
    safe_lines(out, buf_str(&r->text), "  ");
    if (*r->in && r->type != REC_NOTE) {
        buf_puts(out, "  in   ");
        safe_lines(out, r->in, "       ");
    }
    if (*r->hint) {
        buf_puts(out, "  try  ");
        safe_lines(out, r->hint, "       ");
    }
}

/* The writer. */

/* The value of a numeric member of the record's JSON, used to limit progress lines; NaN if
 * absent. */
static double member(const struct rec *r, const char *key)
{
    char pattern[40];
    const char *at;

    snprintf(pattern, sizeof pattern, ",\"%s\":", key);
    at = strstr(buf_str(&r->json), pattern);
    return at && at[strlen(pattern)] != 'n' ? strtod(at + strlen(pattern), NULL) : NAN;
}

/* True if a progress line is due: another job or phase, 10 % more, or 10 s later. */
static bool tick_due(struct rec_writer *w, const struct rec *r)
{
    const double share = member(r, "share"), t = clock_now();
    const bool other = strcmp(w->tick_run, r->run) || strcmp(w->tick_phase, r->name);

    /* A job that ends at once needs no line. If the share is NaN, the comparison is false and only
     * the clock counts. */
    if (member(r, "seconds") < 2.0)
        return false;
    if (!other && !(share >= w->tick_share + 0.1) && t < w->tick_at + 10.0)
        return false;
    snprintf(w->tick_run, sizeof w->tick_run, "%s", r->run);
    snprintf(w->tick_phase, sizeof w->tick_phase, "%.23s", r->name);
    w->tick_share = isnan(share) ? 0.0 : floor(share * 10.0) / 10.0;
    w->tick_at = t;
    return true;
}

/* A line that waits (rec_writer_hold). */
struct rec_held { struct rec_held *next; FILE *to; uint64_t ticket; size_t n; char text[]; };

/* Writes all bytes, past stdio, which loses what a write that was interrupted or cut short did not
 * take. */
static bool write_all(FILE *to, const char *text, size_t n)
{
    const int fd = fileno(to);

    errno = 0;
    if (fflush(to) != 0 || fd < 0)
        return fd < 0 && fwrite(text, 1, n, to) == n && fflush(to) == 0;
    while (n > 0) {
        const ssize_t k = write(fd, text, n);
        if (k >= 0) {
            text += k;
            n -= (size_t)k;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            struct pollfd p = { .fd = fd, .events = POLLOUT };
            poll(&p, 1, 1000);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

static void write_line(struct rec_writer *w, FILE *to, const char *text, size_t n)
{
    if (w->broken && to == w->out)
        return;
    if (to == w->err)
        fflush(w->out);
    if (write_all(to, text, n) || to != w->out)
        return;
    w->broken = true;
    w->broken_errno = errno;
    if (errno != EPIPE)
        fprintf(w->err, "gpdesk: cannot write to the output: %s\n", strerror(w->broken_errno));
}

void rec_writer_release(struct rec_writer *w, uint64_t ticket)
{
    while (w->held && w->held->ticket <= ticket) {
        struct rec_held *h = w->held;
        write_line(w, h->to, h->text, h->n);
        w->held = h->next;
        if (!w->held)
            w->held_end = &w->held;
        free(h);
    }
}

const char *rec_no_memory(bool json)
{
    return json ? "{\"v\":1,\"type\":\"error\",\"name\":\"memory\",\"run\":null,"
                  "\"message\":\"out of memory: there is none left to report this in full\","
                  "\"try\":\"free memory, or a smaller --mem= and --threads=\",\"in\":null}\n"
                : "gpdesk: out of memory: there is none left to report this in full\n"
                  "  try  free memory, or a smaller --mem= and --threads=\n";
}

/* Writes all waiting lines although the session may not contain what they say; that is reported
 * before them. */
static void release_for_want_of_memory(struct rec_writer *w)
{
    const char *line = rec_no_memory(w->json);

    write_line(w, w->json ? w->out : w->err, line, strlen(line));
    rec_writer_release(w, UINT64_MAX);
}

static bool hold_line(struct rec_writer *w, const struct rec *r, FILE *to)
{
    const uint64_t ticket = !w->ticket || r->type == REC_TICK ? 0 : w->ticket(w->ticket_ctx);
    struct rec_held *h = NULL;

    if (w->ticket && (ticket > 0 || w->held))
        h = malloc(sizeof *h + w->line.len);
    if (!h && w->ticket && (ticket > 0 || w->held)) { /* write it in order, even if late */
        err_nomem(NULL, sizeof *h + w->line.len, "a line");
        release_for_want_of_memory(w);
    }
    if (!h)
        return false;
    *h = (struct rec_held){ .to = to, .ticket = ticket, .n = w->line.len };
    memcpy(h->text, w->line.s, w->line.len);
    *w->held_end = h;
    w->held_end = &h->next;
    return true;
}

void rec_writer_hold(struct rec_writer *w, uint64_t (*ticket)(void *ctx), void *ctx)
{
    w->ticket = ticket;
    w->ticket_ctx = ctx;
}

static void writer_take(void *ctx, const struct rec *r)
{
    struct rec_writer *w = ctx;
    FILE *to = w->json || r->type == REC_RESULT ? w->out : w->err;

    const bool lost = w->broken && to == w->out;
    if (lost && (r->type != REC_ERROR || w->broken_errno == EPIPE))
        return;
    if (w->quiet && (r->type == REC_TICK || r->type == REC_NOTE))
        return;
    if (!w->json && r->type == REC_TICK && !tick_due(w, r))
        return;
    const bool good = whole(r);
    buf_clear(&w->line);
    if (w->json && !lost)
        rec_json_line(r, &w->line);
    else
        rec_text_lines(r, &w->line);
    if (w->line.failed || !good) {
        err_nomem(NULL, w->line.len, "a line"); /* half a line is useless; the exit status tells */
        if (r->type == REC_ERROR || r->type == REC_WARNING)
            release_for_want_of_memory(w);
        return;
    }
    if (w->line.len == 0)
        return;
    if (lost) /* a failure is still reported, where it can be */
        write_line(w, w->err, w->line.s, w->line.len);
    else if (!hold_line(w, r, to))
        write_line(w, to, w->line.s, w->line.len);
}

void rec_writer_init(struct rec_writer *w, FILE *out, FILE *err, bool json, bool quiet)
{
    memset(w, 0, sizeof *w);
    w->sink = (struct sink){ writer_take, w, NULL };
    w->out = out;
    w->err = err;
    w->json = json;
    w->quiet = quiet;
    w->held_end = &w->held;
}

void rec_writer_free(struct rec_writer *w)
{
    rec_writer_release(w, UINT64_MAX);
    buf_free(&w->line);
}
