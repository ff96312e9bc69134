/* app/race.c -- several solvers on one system: see race.h.
 *
 * A race is nothing but lines that a user could have typed, and the session keeps those. */
#include "app/race.h"

#include "compute/solver.h"

#include <stdlib.h>
#include <string.h>

enum { RACERS_MOST = 8 };

/* Length of the next solver with its brackets; 0: the brackets do not close. */
static size_t racer_length(const char *s)
{
    size_t n = 0;
    int depth = 0;

    for (; s[n] && (depth > 0 || s[n] != ','); n++)
        depth += s[n] == '(' ? 1 : s[n] == ')' ? -1 : 0;
    return depth != 0 ? 0 : n;
}

static bool is_param(const struct solver_ops *s, const char *key, size_t n)
{
    for (size_t i = 0; s->params && s->params[i].name; i++)
        if (strlen(s->params[i].name) == n && strncmp(s->params[i].name, key, n) == 0)
            return true;
    return false;
}

/* One "key=value" of a bracket to where it belongs. */
static void place(const struct solver_ops *s, const char *key, size_t n, struct buf *own,
                  struct buf *fit)
{
    const bool mine = is_param(s, key, strcspn(key, "="));

    if (mine)
        buf_printf(own, "%c%.*s", own->len ? ',' : '(', (int)n, key);
    else
        buf_printf(fit, " %.*s", (int)n, key);
}

static enum status racer(const char *text, size_t n, const char *settings, struct buf *out,
                         struct err *err)
{
    struct buf own = { 0 }, fit = { 0 };
    char word[SOLVER_TEXT_MAX] = "";
    const size_t name = strcspn(text, "(") < n ? strcspn(text, "(") : n;

    if (n >= sizeof word)
        return err_set(err, ST_USAGE, "\"%.40s...\" is too long for a solver", text);
    memcpy(word, text, name);
    const struct solver_ops *s = solver_find(word, err);
    if (s == NULL)
        return ST_NOT_FOUND;
    if (!s->iterative) {
        err_set(err, ST_USAGE, "solver %s does not iterate: there is no race", s->name);
        err_hint(err, "fit solver=%s", s->name);
        return ST_USAGE;
    }
    for (size_t at = name + 1; at + 1 < n;) {
        size_t len = strcspn(text + at, ",)");
        place(s, text + at, len, &own, &fit);
        at += len + 1;
    }
    const bool variances = strstr(settings, "variance=") || strstr(buf_str(&fit), "variance=");
    buf_printf(out, "fit solver=%s%s%s%s %s%s\n", s->name, buf_str(&own), own.len ? ")" : "",
               buf_str(&fit), settings, variances ? "" : " variance=none");
    buf_free(&own);
    buf_free(&fit);
    return ST_OK;
}

enum status race_text(const char *solvers, const char *settings, const char *by, size_t first,
                      struct buf *out, struct err *err)
{
    size_t count = 0;

    for (const char *p = solvers;; p++) {
        const size_t n = racer_length(p);
        if (n == 0 || count == RACERS_MOST) {
            err_set(err, ST_USAGE, n ? "a race is for at most %d solvers"
                                     : "a race needs solvers with commas between, at most %d",
                    RACERS_MOST);
            err_hint(err, "race pcg(rank=256),psvrg,lbfgs");
            return ST_USAGE;
        }
        const enum status rc = racer(p, n, settings, out, err);
        if (rc != ST_OK)
            return rc;
        count++;
        p += n;
        if (*p == '\0')
            break;
    }
    buf_puts(out, "plot residual");
    for (size_t i = 0; i < count; i++)
        buf_printf(out, " r%zu", first + i);
    buf_printf(out, " by=%s\n", by);
    return out->failed ? err_set(err, ST_NOMEM, "out of memory") : ST_OK;
}

enum status cmd_race(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *settings = args_text(a, "settings");
    struct buf text = { 0 };
    enum status rc = race_text(args_text(a, "solvers"), settings ? settings : "",
                               args_text(a, "by"), ws->nfit + 1, &text, err);

    if (rc == ST_OK && ws->show) /* live, one by one; all of them at the end */
        ws->show(ws->show_ctx, "residual", "");
    if (rc == ST_OK)
        rc = workspace_exec_from(ws, buf_str(&text), "the race", 1);
    if (rc != ST_OK && err->code == ST_OK)
        err_set(err, rc, "the race does not parse; nothing of it was run");
    buf_free(&text);
    return rc;
}
