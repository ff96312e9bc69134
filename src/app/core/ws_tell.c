/* app/core/ws_tell.c -- see ws_tell.h. */
#include "app/core/ws_tell.h"

#include "app/core/workspace_impl.h"
#include "app/shell/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool ws_tell_silent(const char *command)
{
    static const char *const silent[] = { "explain", "help", "lesson", "answer", "note", "wait" };

    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        if (!strcmp(command, silent[i]))
            return true;
    return false;
}

static void note_last(struct workspace *ws, const struct rec *r)
{
    if (r->type == REC_WARNING || r->type == REC_ERROR)
        snprintf(ws->told, sizeof ws->told, "%s", r->name);
    else if (r->type == REC_RESULT && !ws_tell_silent(r->name))
        snprintf(ws->shown, sizeof ws->shown, "%s", r->name);
}

void ws_emit(struct workspace *ws, struct rec *r)
{
    note_last(ws, r);
    for (struct sink *s = ws->sinks; s; s = s->next)
        s->take(s->ctx, r);
    if (r->type != REC_TICK)
        owner_told_all(ws, r);
    ws->serial++;
    rec_free(r);
}

static void vtell(struct workspace *ws, enum rec_type type, const char *run, const char *name,
                  const char *hint, const char *fmt, va_list ap)
    __attribute__((format(printf, 6, 0)));
static void vtell(struct workspace *ws, enum rec_type type, const char *run, const char *name,
                  const char *hint, const char *fmt, va_list ap)
{
    struct rec r;

    rec_init(&r, type, name);
    buf_vprintf(&r.text, fmt, ap);
    snprintf(r.run, sizeof r.run, "%s", run ? run : ws->lines->run);
    if (hint)
        snprintf(r.hint, sizeof r.hint, "%s", hint);
    if (type == REC_WARNING) {
        ws->warnings++;
        const char *line = ws->lines->args ? args_line(ws->lines->args) : NULL;
        if (line && *ws->lines->origin)
            snprintf(r.in, sizeof r.in, "%.90s  (%.150s)", line, ws->lines->origin);
    }
    ws_emit(ws, &r);
}

void ws_note(struct workspace *ws, const char *name, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vtell(ws, REC_NOTE, NULL, name, NULL, fmt, ap);
    va_end(ap);
}

void ws_warn(struct workspace *ws, const char *name, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vtell(ws, REC_WARNING, NULL, name, NULL, fmt, ap);
    va_end(ap);
}

void ws_tell(struct workspace *ws, enum rec_type type, const char *run, const char *name,
             const char *hint, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vtell(ws, type, run, name, hint, fmt, ap);
    va_end(ap);
}

void ws_tell_lines(struct workspace *ws, const char *lines)
{
    for (const char *s = lines != NULL ? lines : ""; *s;) {
        const size_t len = strcspn(s, "\n");
        const char *open = memchr(s, '[', len), *close = memchr(s, ']', len);
        char name[40] = "data";
        size_t head = 0;
        if (open && close && open < close && close + 2 < s + len && close[1] == ':') {
            snprintf(name, sizeof name, "%.*s", (int)(close - open - 1), open + 1);
            head = (size_t)(close + 3 - s);
        }
        if (len > head)
            ws_tell(ws, strncmp(s, "warning[", 8) ? REC_NOTE : REC_WARNING, NULL, name, NULL,
                    "%.*s", (int)(len - head), s + head);
        s += len + (s[len] == '\n');
    }
}

/* True if the failure is about writing output, not about reading input. */
static bool about_output(const struct err *err)
{
    return !strcmp(err->name, "write") || !strcmp(err->name, "no-reader") ||
           !strcmp(err->name, "output") || !strcmp(err->name, "gnuplot") ||
           !strcmp(err->name, "exists");
}

/* What to try if the place that failed gave no hint: the usage of the command that was not
 * understood, or the help page of the message, which shows the current numbers. */
static void way_out(const struct err *err, const char *line, const char *name, char *out,
                    size_t len)
{
    char verb[32] = "";
    const bool said = err->code == ST_USAGE || err->code == ST_RANGE || err->code == ST_AMBIGUOUS ||
                      err->code == ST_NOT_FOUND || err->code == ST_STATE;

    if (line)
        snprintf(verb, sizeof verb, "%.*s", (int)strcspn(line, " \t\n;"), line);
    const struct command *cmd = *verb ? command_find(verb, NULL) : NULL;
    if (*err->hint)
        snprintf(out, len, "%s", err->hint);
    else if (said && cmd)
        snprintf(out, len, "help %s", cmd->name);
    else
        snprintf(out, len, "explain %s", name);
}

void ws_error(struct workspace *ws, const struct err *err, const char *in)
{
    struct rec r;
    const char *line = in ? in : ws->lines->args ? args_line(ws->lines->args) : NULL;

    rec_init(&r, REC_ERROR, err->name[0] ? err->name : status_name(err->code));
    buf_puts(&r.text, err->msg[0] ? err->msg : status_words(err->code));
    way_out(err, line, r.name, r.hint, sizeof r.hint);
    snprintf(r.run, sizeof r.run, "%s", ws->lines->run);
    if (line && *ws->lines->origin)
        snprintf(r.in, sizeof r.in, "%.90s  (%.150s)", line, ws->lines->origin);
    else if (line)
        snprintf(r.in, sizeof r.in, "%.250s", line);
    ws->errors++;
    if (ws->first_error == ST_OK) {
        ws->first_error = err->code ? err->code : ST_INTERNAL;
        if (err->machine || !strcmp(err->name, "disk"))
            ws->first_error = ST_LIMIT;
        ws->first_error_output = about_output(err);
    }
    ws_emit(ws, &r);
}
