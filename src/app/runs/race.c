/* app/runs/race.c -- several fits of one system. See race.h.
 *
 * A race consists only of lines that a user could have typed, and the session keeps those. Each
 * line is preceded by `race point=i`, as in a sweep. After the last one comes `race`, which shows
 * the table. */
#include "app/runs/race.h"

#include "app/shell/args.h"
#include "app/shell/command.h"
#include "app/shell/text_table.h"
#include "app/core/job.h"
#include "app/core/trace.h"
#include "app/core/workspace_exec.h"
#include "app/core/ws_tell.h"
#include "app/core/ws_screen.h"
#include "app/runs/sweep.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/solvers/solver.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AXES_MOST = 4 };
static const char *const axis_names[] = {"rank",   "features",  "precond",
                                         "kernel", "precision", "plan"};

struct field {
    struct race *race;
    struct sweep_key axis[AXES_MOST]; /* settings that have several values */
    size_t naxes;
    struct buf common;   /* settings that are the same for all contenders */
};

static void field_free(struct field *f)
{
    for (size_t i = 0; i < f->naxes; i++)
        sweep_key_free(&f->axis[i]);
    buf_free(&f->common);
}

static enum status usage(struct err *err, const char *hint)
{
    err_hint(err, "%s", hint);
    return ST_USAGE;
}

/* Settings. */

/* Reads a setting of the race itself. */
static enum status own_setting(struct race *r, const char *key, const char *value, bool *is,
                               struct err *err)
{
    static const struct arg seconds = {"for", ARG_SECONDS, 0,         NULL, 0.001,
                                       1e9,   NULL,        "seconds", NULL};
    static const struct arg times = { "losers", ARG_REAL, 0, NULL, 1, 1e6, NULL, "times", NULL };

    r->against = r->against || !strcmp(key, "against"); /* and a setting of fit */
    *is = true;
    if (!strcmp(key, "for"))
        return command_number(&seconds, value, &r->seconds, err);
    if (!strcmp(key, "losers"))
        return command_number(&times, value, &r->losers, err);
    if (!strcmp(key, "by")) {
        if (strcmp(value, "passes") && strcmp(value, "seconds") && strcmp(value, "iteration")) {
            err_set(err, ST_USAGE, "by=%.40s is not one of passes, seconds, iteration", value);
            return usage(err, "race pcg,lbfgs by=seconds");
        }
        snprintf(r->by, sizeof r->by, "%s", value);
        return ST_OK;
    }
    *is = false;
    return ST_OK;
}

static enum status add_axis(struct field *f, const char *key, const char *value, bool *is,
                            struct err *err)
{
    struct sweep_key k = { 0 };

    *is = false;
    for (size_t i = 0; i < sizeof axis_names / sizeof *axis_names; i++)
        *is |= !strcmp(key, axis_names[i]);
    if (!*is)
        return ST_OK;
    snprintf(k.name, sizeof k.name, "%s", key);
    const enum status rc = sweep_values(&k, value, err);
    if (rc != ST_OK || k.n < 2 || f->naxes == AXES_MOST) {
        *is = rc == ST_OK && k.n >= 2;
        sweep_key_free(&k);
        return rc != ST_OK || !*is ? rc
                                   : err_set(err, ST_LIMIT,
                                             "at most %d settings of a race can have "
                                             "several values",
                                             AXES_MOST);
    }
    f->axis[f->naxes++] = k;
    return ST_OK;
}

static enum status read_settings(struct field *f, const char *text, struct err *err)
{
    enum status rc = ST_OK;

    while (rc == ST_OK && *text) {
        const size_t n = text_span(text, " \t\r\n\v\f"), key = strcspn(text, "=");
        bool own = false, axis = false;
        if (n && key < n) {
            const char *name = strndupa(text, key), *value = strndupa(text + key + 1, n - key - 1);
            rc = own_setting(f->race, name, value, &own, err);
            if (rc == ST_OK && !own)
                rc = add_axis(f, name, value, &axis, err);
        }
        if (n && !own && !axis)
            buf_printf(&f->common, " %.*s", (int)n, text);
        for (text += n; isspace((unsigned char)*text); text++)
            ;
    }
    return rc;
}

/* Contenders. */

static bool is_param(const struct solver_ops *s, const char *key, size_t n)
{
    for (size_t i = 0; s->params && s->params[i].name; i++)
        if (strlen(s->params[i].name) == n && strncmp(s->params[i].name, key, n) == 0)
            return true;
    return false;
}

/* Splits what is in brackets into parameters of the solver and arguments of fit. */
static void brackets(const struct solver_ops *s, const char *text, size_t n, struct buf *own,
                     struct buf *fit)
{
    for (size_t at = 0; at < n;) {
        const size_t span = text_span(text + at, ",)"), len = span < n - at ? span : n - at;
        if (is_param(s, text + at, strcspn(text + at, "=")))
            buf_printf(own, "%c%.*s", own->len ? ',' : '(', (int)len, text + at);
        else
            buf_printf(fit, " %.*s", (int)len, text + at);
        at += len + 1;
    }
    if (own->len)
        buf_putc(own, ')');
}

static enum status solver_of(const char *text, size_t n, const struct solver_ops **s,
                             struct err *err)
{
    char word[SOLVER_TEXT_MAX] = "";
    const size_t name = strcspn(text, "(") < n ? strcspn(text, "(") : n;

    if (n >= sizeof word)
        return err_set(err, ST_USAGE, "\"%.40s...\" is too long for a solver", text);
    memcpy(word, text, name);
    *s = solver_find(word, err);
    if (!*s)
        return ST_NOT_FOUND;
    if ((*s)->iterative)
        return ST_OK;
    err_set(err, ST_USAGE, "solver %s does not iterate, so it cannot race", (*s)->name);
    err_hint(err, "fit solver=%s", (*s)->name);
    return ST_USAGE;
}

/* Writes the line and the label of one contender: a solver and one value of each axis. */
static void contender(const struct field *f, const struct solver_ops *s, const struct buf *own,
                      const struct buf *fit, const size_t *at, struct buf *line, char label[96])
{
    struct buf name = { 0 };

    buf_printf(line, "fit solver=%s%s%s", s->name, buf_str(own), buf_str(fit));
    buf_printf(&name, "%s%s%s", s->name, buf_str(own), buf_str(fit));
    for (size_t k = 0; k < f->naxes; k++) {
        const struct sweep_key *key = &f->axis[k];
        buf_printf(line, " %s=", key->name);
        command_quote(line, key->value[at[k]]);
        buf_printf(&name, " %s%s", strcmp(key->name, "kernel") ? key->name : "",
                   strcmp(key->name, "kernel") ? "=" : "");
        buf_puts(&name, key->value[at[k]]);
    }
    buf_puts(line, buf_str(&f->common));
    if (!strstr(buf_str(line), " variance="))
        buf_puts(line, " variance=none");
    buf_putc(line, '\n');
    snprintf(label, 96, "%s", buf_str(&name));
    buf_free(&name);
}

/* All combinations of the settings with one solver. */
static enum status contenders(struct field *f, const char *text, size_t n, struct buf *lines,
                              struct err *err)
{
    struct buf own = { 0 }, fit = { 0 };
    const struct solver_ops *s = NULL;
    enum status rc = solver_of(text, n, &s, err);
    size_t all = 1, at[AXES_MOST];
    const size_t name = strcspn(text, "(");

    if (rc != ST_OK)
        return rc;
    if (name + 1 < n)
        brackets(s, text + name + 1, n - name - 2, &own, &fit);
    for (size_t k = 0; k < f->naxes; k++)
        all *= f->axis[k].n;
    for (size_t i = 0; rc == ST_OK && i < all; i++) {
        size_t left = i;
        for (size_t k = 0; k < f->naxes; k++) {
            at[k] = left % f->axis[k].n;
            left /= f->axis[k].n;
        }
        if (f->race->n == RACERS_MOST) {
            err_set(err, ST_USAGE, "a race takes at most %d contenders", RACERS_MOST);
            rc = usage(err, "race pcg(rank=256),psvrg,lbfgs");
            break;
        }
        contender(f, s, &own, &fit, at, &lines[f->race->n], f->race->label[f->race->n]);
        rc = lines[f->race->n].failed ? err_set(err, ST_NOMEM, "out of memory") : ST_OK;
        f->race->first[f->race->n++] = SIZE_MAX;
    }
    buf_free(&own);
    buf_free(&fit);
    return rc;
}

/* "pcg(rank=256),svrg(batch=64),lbfgs" ("" or NULL: pcg) and settings of fit, of which rank=,
 * features=, precond=, kernel=, precision= and plan= may be lists: a line of `fit` for each
 * combination.  What stands in brackets and is no parameter of the solver is one of fit.  by=, for=
 * and losers= among the settings are the race's own.  lines: one buffer each, freed by the caller.
 */
static enum status parse_race(const char *solvers, const char *settings, struct race *out,
                              struct buf lines[RACERS_MOST], struct err *err)
{
    struct field f = { .race = out };
    enum status rc = read_settings(&f, settings ? settings : "", err);

    for (const char *p = solvers && *solvers ? solvers : solver_usual()->name; rc == ST_OK; p++) {
        const size_t n = text_span(p, ",");
        if (n == 0 || (strcspn(p, "(") < n && p[n - 1] != ')')) {
            err_set(err, ST_USAGE, "a race needs solvers separated by commas, at most %d",
                    RACERS_MOST);
            rc = usage(err, "race pcg(rank=256),psvrg,lbfgs");
            break;
        }
        rc = contenders(&f, p, n, lines, err);
        p += n;
        if (*p == '\0')
            break;
    }
    out->first[out->n] = SIZE_MAX;
    if (rc == ST_OK && out->n < 2) {
        err_set(err, ST_USAGE, "a race needs at least two contenders");
        rc = usage(err, "race pcg(rank=256),psvrg,lbfgs   or   race rank=64,256,1024");
    }
    field_free(&f);
    return rc;
}

/* The runs. */

struct run *race_run(const struct workspace *ws, size_t i)
{
    const struct race *c = race_of(ws);

    if (!c || i >= c->n || c->first[i] == SIZE_MAX ||
        c->first[i] == c->first[i + 1]) /* it has made no run */
        return NULL;
    for (size_t k = 0; k < ws->nrun; k++)
        if (ws->run[k]->serial == c->first[i] && ws->run[k]->kind == RUN_FIT)
            return ws->run[k];
    return NULL;
}

const struct owner race_owner = { .name = "race", .free = free };

struct race *race_of(const struct workspace *ws)
{
    return owner_state(ws, &race_owner);
}

size_t race_index(const struct workspace *ws, const struct run *r)
{
    for (size_t i = 0; race_of(ws) && i < race_of(ws)->n; i++)
        if (race_run(ws, i) == r)
            return i;
    return SIZE_MAX;
}

double race_clock(const struct trace_point *t, const char *by)
{
    return *by == 's' ? (double)t->seconds : *by == 'p' ? t->passes : (double)t->step;
}

double race_arrival(const struct run *r, const char *by)
{
    for (size_t i = 0; i < r->ntrace; i++)
        if (trace_residual(r, i) <= r->trace_target)
            return race_clock(&r->trace[i], by);
    return INFINITY;
}

void race_watch(struct workspace *ws, const struct run *r)
{
    struct race *c = race_of(ws);
    const size_t me =
        c && (c->seconds > 0.0 || c->losers > 0.0) && r->ntrace ? race_index(ws, r) : SIZE_MAX;
    double best = INFINITY;
    const char *who = "";

    if (me == SIZE_MAX || c->stopped >> me & 1 || isfinite(race_arrival(r, c->by)))
        return;
    for (size_t i = 0; i < me; i++) {
        const struct run *o = race_run(ws, i);
        if (o && race_arrival(o, c->by) < best)
            best = race_arrival(o, c->by), who = o->id;
    }
    const double now = race_clock(&r->trace[r->ntrace - 1], c->by),
                 seconds = r->trace[r->ntrace - 1].seconds;
    const bool late = c->seconds > 0.0 && seconds > c->seconds;
    const bool lost = c->losers > 0.0 && isfinite(best) && now > c->losers * best;
    if ((!late && !lost) || jobs_stop(ws->jobs, r->id, false, NULL) != ST_OK)
        return;
    c->stopped |= (size_t)1 << me;
    if (lost)
        ws_tell(ws, REC_NOTE, r->id, "race", NULL,
                "%s (%s) is stopped: it has taken %.3g times what %s took "
                "(losers=%g)",
                r->id, c->label[me], now / best, who, c->losers);
    else
        ws_tell(ws, REC_NOTE, r->id, "race", NULL,
                "%s (%s) is stopped after %.3g s, the limit set by for=", r->id,
                c->label[me], seconds);
}

/* The table. */

struct place { size_t i; const struct run *run; double arrival, residual; };

static int by_place(const void *a, const void *b)
{
    const struct place *p = a, *q = b;

    if (p->arrival != q->arrival)
        return p->arrival < q->arrival ? -1 : 1;
    /* among those that did not arrive, the smallest residual first */
    if (p->residual != q->residual)
        return !(p->residual > q->residual) ? -1 : 1;
    return p->i < q->i ? -1 : 1;
}

static size_t places(const struct workspace *ws, struct place *out)
{
    const struct race *c = race_of(ws);

    for (size_t i = 0; i < c->n; i++) {
        const struct run *r = race_run(ws, i);
        out[i] = (struct place){ i, r, INFINITY, INFINITY };
        if (r && r->ntrace) {
            out[i].arrival = race_arrival(r, c->by);
            out[i].residual = trace_last(r);
        }
    }
    qsort(out, c->n, sizeof *out, by_place);
    return c->n;
}

static void number(struct text_table *g, double v, const char *fmt)
{
    char text[32];

    if (!isfinite(v)) {
        text_table_cell(g, "", 0);
        return;
    }
    snprintf(text, sizeof text, *fmt == '0' ? "%.0f" : *fmt == 'e' ? "%.1e" : "%.3g", v);
    text_table_cell(g, text, 0);
}

static void place_row(const struct race *c, const struct place *p, size_t rank,
                      struct text_table *g, struct rec *rec)
{
    const struct run *r = p->run;
    const struct trace_point *last = r && r->ntrace ? &r->trace[r->ntrace - 1] : NULL;
    const bool arrived = isfinite(p->arrival);
    const double its = last ? (double)last->step : NAN, passes = last ? last->passes : NAN;
    const double seconds = last ? (double)last->seconds : NAN;

    rec_item(rec);
    if (arrived)
        rec_int(rec, "place", (int64_t)rank);
    else
        rec_null(rec, "place");
    rec_str(rec, "run", r ? r->id : NULL);
    rec_str(rec, "name", c->label[p->i]);
    rec_str(rec, "state", r ? run_state_name(r->state) : NULL);
    rec_num(rec, "iterations", its);
    rec_num(rec, "passes", passes);
    rec_num(rec, "seconds", seconds);
    rec_num(rec, "residual", last ? trace_last(r) : NAN);
    rec_num(rec, "arrival", arrived ? p->arrival : NAN);
    const struct trace_point *look = r ? trace_look(r) : NULL;
    if (c->against) {
        rec_num(rec, "error_k", look ? look->error_k : NAN);
        rec_num(rec, "error_k2", look ? look->error_k2 : NAN);
        rec_num(rec, "rmse_scaled", look ? look->rmse : NAN);
    }
    rec_close(rec);
    if (arrived)
        text_table_printf(g, "%zu", rank);
    else
        text_table_cell(g, "-", 0);
    text_table_cell(g, r ? r->id : "-", 0);
    text_table_cell(g, c->label[p->i], 34);
    number(g, its, "0");
    number(g, passes, "0");
    number(g, seconds, "3");
    number(g, last ? trace_last(r) : NAN, "e");
    if (c->against) {
        number(g, look ? look->error_k : NAN, "e");
        number(g, look ? look->error_k2 : NAN, "e");
        number(g, look ? look->rmse : NAN, "3");
    }
    text_table_cell(g, !r ? "not run" : arrived ? "" : run_state_name(r->state), 0);
}

const char *race_unit(const char *by)
{
    return *by == 's' ? "s" : *by == 'p' ? "passes" : "iterations";
}

static enum status race_table(struct workspace *ws, struct err *err)
{
    static const char *const heads[2][11] = {
        { "", "run", "contender", "it", "passes", "seconds", "residual", "" },
        { "", "run", "contender", "it", "passes", "seconds", "residual", "|a-a*| K", "K^2",
          "rmse", "" },
    };
    static const bool right[2][11] = {
        { true, false, false, true, true, true, true, false },
        { true, false, false, true, true, true, true, true, true, true, false },
    };
    const struct race *c = race_of(ws);
    struct place p[RACERS_MOST];
    struct text_table g;
    struct rec rec;

    if (!c) {
        err_set(err, ST_STATE, "no race has been run yet");
        err_hint(err, "race pcg(rank=256),psvrg,lbfgs");
        return ST_STATE;
    }
    const size_t n = places(ws, p);
    const bool any = isfinite(p[0].arrival);
    rec_init(&rec, REC_RESULT, "race");
    rec_str(&rec, "by", c->by);
    rec_num(&rec, "rtol", p[0].run ? p[0].run->trace_target : NAN);
    rec_str(&rec, "first", any ? p[0].run->id : NULL);
    rec_array(&rec, "contenders");
    const size_t columns = c->against ? 11 : 8;
    text_table_init(&g, columns);
    for (size_t i = 0; i < columns; i++)
        text_table_cell(&g, heads[c->against][i], 0);
    for (size_t i = 0; i < n; i++)
        place_row(c, &p[i], i + 1, &g, &rec);
    rec_array_close(&rec);
    text_table_print(&g, right[c->against], &rec.text);
    text_table_free(&g);
    if (!any)
        rec_text(&rec, "  none has reached its target");
    else if (isfinite(p[1].arrival))
        rec_text(&rec, "  %s (%s) is first: %.3g against %.3g %s", p[0].run->id, c->label[p[0].i],
                 p[0].arrival, p[1].arrival, race_unit(c->by));
    else
        rec_text(&rec, "  %s (%s) is first, with %.3g %s; no other has reached its target",
                 p[0].run->id, c->label[p[0].i], p[0].arrival, race_unit(c->by));
    rec_text(&rec, "; plot race draws it");
    ws_emit(ws, &rec);
    return ST_OK;
}

/* The command. */

bool race_running(const struct workspace *ws)
{
    const struct race *c = race_of(ws);

    return c && c->first[0] != SIZE_MAX && c->first[c->n] == SIZE_MAX;
}

static enum status race_mark(struct workspace *ws, const char *text, struct err *err)
{
    size_t i;
    char more;

    if (!race_of(ws) || sscanf(text, "point=%zu%c", &i, &more) != 1 || i > race_of(ws)->n)
        return err_set(err, ST_USAGE, "race point= belongs to the lines that a race writes itself");
    race_of(ws)->first[i] = ws->runs_made;
    return ST_OK;
}

static enum status race_start(struct workspace *ws, const struct buf *lines, struct err *err)
{
    enum status rc = ST_OK;
    struct buf all = { 0 };

    for (size_t i = 0; rc == ST_OK && i < race_of(ws)->n;
         i++) { /* a contender that fails does not stop the others */
        struct buf text = { 0 };
        buf_printf(&text, "race point=%zu\n%s", i, buf_str(&lines[i]));
        rc = text.failed ? err_set(err, ST_NOMEM, "out of memory")
                         : workspace_exec_apart(ws, buf_str(&text), "the race");
        buf_free(&text);
    }
    buf_printf(&all, "race point=%zu\nrace\nplot race by=%s\n", race_of(ws)->n, race_of(ws)->by);
    if (rc == ST_OK)
        rc = workspace_exec_apart(ws, buf_str(&all), "the race");
    buf_free(&all);
    if (rc != ST_OK && err->code == ST_OK)
        err_set(err, rc, "the race does not parse, so its remaining fits are not run");
    return rc;
}

enum status cmd_race(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *settings = args_text(a, "settings"), *solvers = args_text(a, "solvers");
    struct buf lines[RACERS_MOST] = { 0 };
    struct race *r = NULL;
    enum status rc = ST_OK;

    if (!solvers && !settings)
        return race_table(ws, err);
    if (!solvers && settings && !strncmp(settings, "point=", 6))
        return race_mark(ws, settings, err);
    const struct dataset *d = ws_dataset(ws, NULL, NULL);
    if (d && d->link) {
        err_named(err, ST_UNSUPPORTED, "classes", "a race solves the linear system of a "
                  "regression, and the target holds classes");
        err_hint(err, "likelihood gaussian  (regression on the class, of numbers)  |  fit");
        return ST_UNSUPPORTED;
    }
    r = mem_calloc(1, sizeof *r, "a race", err);
    if (!r)
        return ST_NOMEM;
    snprintf(r->by, sizeof r->by, "%s", args_text(a, "by"));
    r->seconds = args_given(a, "for") ? args_num(a, "for") : 0.0;
    r->losers = args_given(a, "losers") ? args_num(a, "losers") : 0.0;
    rc = parse_race(solvers, settings, r, lines, err);
    for (size_t i = 0; rc == ST_OK && i < r->n; i++) { /* nothing runs unless everything parses */
        const struct command *cmd = NULL;
        struct args *parsed = NULL;
        rc = command_parse(strndupa(buf_str(&lines[i]), lines[i].len - 1), &cmd, &parsed, err);
        args_free(parsed);
    }
    if (rc == ST_OK) {
        owner_take(ws, &race_owner, r);
        ws_screen_show(ws, "race", ""); /* the plot shows the race while it runs */
        rc = race_start(ws, lines, err);
    } else {
        free(r);
    }
    for (size_t i = 0; i < RACERS_MOST; i++)
        buf_free(&lines[i]);
    return rc;
}
