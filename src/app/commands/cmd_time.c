/* app/commands/cmd_time.c -- the commands about time: history, undo, redo, at, branch; and about
 * the bin: star, drop, purge. */
#include "app/commands/commands.h"
#include "app/shell/text_table.h"
#include "app/core/job.h"
#include "app/session/store.h"
#include "app/session/timeline.h"
#include "app/session/transcript.h"
#include "app/core/workspace.h"
#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* History. */

static void clock_words(char *out, size_t len, int64_t at)
{
    const time_t t = (time_t)at;
    struct tm tm;

    if (at <= 0 || !localtime_r(&t, &tm) || !strftime(out, len, "%m-%d %H:%M", &tm))
        snprintf(out, len, "-");
}

/* How a line of the history is marked. */
struct line_mark { bool undone, interrupted; };

static void history_row(const struct workspace *ws, size_t i, const struct line_mark *is,
                        struct text_table *g, struct rec *r)
{
    bool comment;
    const char *line = timeline_command(ws->script[i], &comment);
    const struct past *p = timeline_past(ws, i);
    const size_t shown = timeline_view(ws) == SIZE_MAX ? ws->nscript : timeline_view(ws);
    char when[24] = "-", took[32] = "";

    if (p && p->at)
        clock_words(when, sizeof when, p->at);
    if (p && p->seconds >= 0.1)
        text_seconds(took, sizeof took, p->seconds);
    rec_item(r);
    rec_int(r, "number", (int64_t)i + 1);
    rec_str(r, "line", line);
    rec_num(r, "seconds", p && p->at ? p->seconds : NAN);
    if (p && p->at)
        rec_int(r, "at", p->at);
    else
        rec_null(r, "at");
    rec_bool(r, "undone", is->undone);
    rec_bool(r, "interrupted", is->interrupted);
    rec_close(r);
    text_table_printf(g, "%s%zu", i + 1 == shown ? ">" : " ", i + 1);
    text_table_cell(g, when, 0);
    text_table_cell(g, took, 0);
    text_table_cell(g, is->undone ? "undone" : is->interrupted ? "interrupted" : "", 0);
    text_table_cell(g, line, 100);
}

static void history_steps(const struct workspace *ws, struct rec *r)
{
    size_t undone;
    const size_t done = timeline_steps(ws, &undone);

    rec_int(r, "undo", (int64_t)done);
    rec_int(r, "redo", (int64_t)undone);
    if (timeline_view(ws) == SIZE_MAX)
        rec_null(r, "view");
    else
        rec_int(r, "view", (int64_t)timeline_view(ws));
    rec_text(r, "%zu step%s can be undone, %zu redone", done, done == 1 ? "" : "s", undone);
    if (timeline_view(ws) != SIZE_MAX)
        rec_text(r, "; this is the state after command %zu (at now | branch)", timeline_view(ws));
    else if (ws->nscript)
        rec_text(r, "; at N shows the state after command N");
}

static enum status cmd_history(struct workspace *ws, const struct args *a, struct err *err)
{
    static const bool right[] = { true, false, true, false, false };
    const size_t most = (size_t)args_int(a, "lines", 50);
    const size_t from = ws->nscript > most ? ws->nscript - most : 0;
    const size_t n = ws->nscript;
    bool *undone = mem_calloc(n + 1, 2 * sizeof *undone, "the history", err);
    bool *interrupted = undone + n + 1;
    struct text_table g;
    struct rec r;

    if (!undone || timeline_undone(ws, undone, err) != ST_OK ||
        transcript_interrupted(ws, interrupted, err) != ST_OK) {
        free(undone);
        return ST_NOMEM;
    }
    rec_init(&r, REC_RESULT, "history");
    rec_array(&r, "commands");
    text_table_init(&g, 5);
    for (size_t i = from; i < ws->nscript; i++)
        history_row(ws, i, &(struct line_mark){ undone[i], interrupted[i] }, &g, &r);
    rec_array_close(&r);
    if (from)
        rec_text(&r, "%zu earlier: history %zu\n", from, ws->nscript);
    if (ws->nscript)
        text_table_print(&g, right, &r.text);
    history_steps(ws, &r);
    text_table_free(&g);
    free(undone);
    ws_emit(ws, &r);
    return ST_OK;
}

/* Undo, redo. */

/* Describes the current state in one line. */
static void current_words(const struct workspace *ws, struct buf *out)
{
    struct buf kernel = { 0 };

    if (ws->cur < ws->ndata) {
        const struct dataset *d = ws->data[ws->cur];
        text_safe(out, d->name, 40);
        buf_printf(out, ", %s, ", d->split.how ? d->split.how : "not split");
    } else {
        buf_puts(out, "no data, ");
    }
    kernel_print(&ws->kernel, &kernel);
    buf_puts(out, buf_str(&kernel));
    buf_free(&kernel);
}

static void current_json(const struct workspace *ws, struct rec *r)
{
    struct buf kernel = { 0 };

    rec_str(r, "dataset", ws->cur < ws->ndata ? ws->data[ws->cur]->name : NULL);
    kernel_print(&ws->kernel, &kernel);
    rec_str(r, "kernel", buf_str(&kernel));
    rec_str(r, "run", *ws->last_fit ? ws->last_fit : NULL);
    buf_free(&kernel);
}

static enum status move(struct workspace *ws, const struct args *a, bool back, struct err *err)
{
    const long n = args_int(a, "steps", 1);
    struct buf now = { 0 };
    const char *line = NULL;
    struct rec r;
    size_t undone;
    const enum status rc = timeline_move(ws, back ? -n : n, &line, err);

    if (rc != ST_OK)
        return rc;
    const size_t done = timeline_steps(ws, &undone);
    rec_init(&r, REC_RESULT, back ? "undo" : "redo");
    rec_str(&r, "line", line);
    rec_int(&r, "undo", (int64_t)done);
    rec_int(&r, "redo", (int64_t)undone);
    current_json(ws, &r);
    rec_text(&r, back ? "undone: " : "redone: ");
    rec_safe(&r, line ? line : "?");
    if (n > 1)
        rec_text(&r, back ? " and %ld more after it" : " and %ld more before it", n - 1);
    current_words(ws, &now);
    rec_text(&r, "\n  now %s", buf_str(&now));
    buf_free(&now);
    ws_emit(ws, &r);
    return ST_OK;
}

static enum status cmd_undo(struct workspace *ws, const struct args *a, struct err *err)
{
    return move(ws, a, true, err);
}

static enum status cmd_redo(struct workspace *ws, const struct args *a, struct err *err)
{
    return move(ws, a, false, err);
}

/* At, branch. */

/* Reads 12, -1 (one command back), +1 or now. */
static enum status place(const struct workspace *ws, const char *text, size_t *n, struct err *err)
{
    const size_t view = timeline_view(ws), here = view == SIZE_MAX ? ws->nscript : view;
    const char sign = *text == '-' || *text == '+' ? *text : '\0';
    char *end;

    if (!strcmp(text, "now")) {
        *n = SIZE_MAX;
        return ST_OK;
    }
    const char *digits = text + (sign != '\0');
    const unsigned long v = strtoul(digits, &end, 10);
    if (!isdigit((unsigned char)*digits) || *end || v > 1000000) {
        err_set(err, ST_USAGE, "'%.40s' is not a place; give a number of `history`, -1, +1 or "
                               "now", text);
        err_hint(err, "history");
        return ST_USAGE;
    }
    if (sign == '-' && v > here)
        return err_named(err, ST_RANGE, "no-command", "there are only %zu earlier commands", here);
    *n = sign == '-' ? here - v : sign == '+' ? here + v : v;
    if (sign == '+' && *n >= ws->nscript)
        *n = SIZE_MAX;
    return ST_OK;
}

static void tell_view(struct workspace *ws, const char *command)
{
    const size_t n = timeline_view(ws);
    struct buf now = { 0 };
    struct rec r;

    rec_init(&r, REC_RESULT, command);
    if (n == SIZE_MAX)
        rec_null(&r, "view");
    else
        rec_int(&r, "view", (int64_t)n);
    rec_str(&r, "line", n && n != SIZE_MAX ? ws->script[n - 1] : NULL);
    current_json(ws, &r);
    rec_int(&r, "runs", (int64_t)ws->nrun);
    current_words(ws, &now);
    if (n == SIZE_MAX) {
        rec_text(&r, "now: %s", buf_str(&now));
    } else {
        rec_text(&r, "the state after command %zu%s", n, n ? ": " : "");
        if (n)
            rec_safe(&r, ws->script[n - 1]);
        rec_text(&r, "\n"
                     "  %s; %zu run%s.  Read-only: at now returns, branch continues from here",
                 buf_str(&now), ws->nrun, ws->nrun == 1 ? "" : "s");
    }
    buf_free(&now);
    ws_emit(ws, &r);
}

static enum status may_look(struct workspace *ws, struct err *err)
{
    if (!jobs_pending(ws->jobs, CMD_SETS, 0))
        return ST_OK;
    err_named(err, ST_STATE, "busy", "a running job will change the current state");
    err_hint(err, "wait; then at N");
    return ST_STATE;
}

static enum status cmd_at(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *where = args_text(a, "where");
    size_t n = SIZE_MAX;
    enum status rc = where ? place(ws, where, &n, err) : ST_OK;

    if (rc == ST_OK && where && n != SIZE_MAX)
        rc = may_look(ws, err);
    if (rc == ST_OK && where)
        rc = timeline_look(ws, n, err);
    if (rc == ST_OK)
        tell_view(ws, "at");
    return rc;
}

static enum status cmd_branch(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *where = args_text(a, "where");
    size_t n = timeline_view(ws);
    enum status rc = where ? place(ws, where, &n, err) : ST_OK;
    struct buf now = { 0 };
    struct rec r;

    if (rc == ST_OK && n == SIZE_MAX) {
        err_named(err, ST_STATE, "no-branch", "branch needs an earlier state, and this is the "
                                              "present one");
        err_hint(err, "at 12; branch   |   branch 12   |   history");
        return ST_STATE;
    }
    if (rc == ST_OK)
        rc = timeline_branch(ws, n, err);
    if (rc != ST_OK)
        return rc;
    rec_init(&r, REC_RESULT, "branch");
    rec_int(&r, "from", (int64_t)n);
    current_json(ws, &r);
    current_words(ws, &now);
    rec_text(&r, "continuing from command %zu: %s\n"
                 "  all runs are kept; undo goes back", n,
             buf_str(&now));
    buf_free(&now);
    ws_emit(ws, &r);
    return ST_OK;
}

/* Star, drop, purge. */

static enum status cmd_star(struct workspace *ws, const struct args *a, struct err *err)
{
    struct run *run = ws_run(ws, args_text(a, "run"), err);
    struct rec r;

    if (!run)
        return err->code;
    run->star = !args_bool(a, "off");
    if (store_of(ws))
        store_run(store_of(ws), run);
    rec_init(&r, REC_RESULT, "star");
    rec_str(&r, "run", run->id);
    rec_bool(&r, "star", run->star);
    rec_text(&r, run->star ? "%s has a star" : "%s has no star", run->id);
    ws_emit(ws, &r);
    return ST_OK;
}

static bool works(const struct run *r)
{
    return r->state == RUN_QUEUED || r->state == RUN_RUNNING;
}

static enum status drop_run(struct workspace *ws, const char *name, struct err *err)
{
    struct run *run = ws_run(ws, name, err);
    char id[16];
    struct rec r;

    if (!run)
        return err->code;
    if (works(run)) {
        err_set(err, ST_STATE, "%s is still running", run->id);
        err_hint(err, "stop %s", run->id);
        return ST_STATE;
    }
    snprintf(id, sizeof id, "%s", run->id);
    run->dropped = true;
    if (store_of(ws))
        store_run(store_of(ws), run);
    timeline_arrange(ws, SIZE_MAX);
    timeline_last_fit(ws);
    rec_init(&r, REC_RESULT, "drop");
    rec_str(&r, "run", id);
    rec_null(&r, "dataset");
    rec_text(&r, "%s is in the bin  (undo brings it back; purge empties the bin)", id);
    ws_emit(ws, &r);
    return ST_OK;
}

static size_t used_by(const struct workspace *ws, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < ws->nrun; i++)
        n += ws->run[i]->dataset_name && !strcmp(ws->run[i]->dataset_name, name);
    return n;
}

static enum status drop_dataset(struct workspace *ws, const char *name, struct err *err)
{
    struct dataset *d = ws_dataset(ws, name, err);
    size_t i = 0;
    struct rec r;

    if (!d)
        return err->code;
    const size_t used = used_by(ws, d->name);
    rec_init(&r, REC_RESULT, "drop");
    rec_null(&r, "run");
    rec_str(&r, "dataset", d->name);
    rec_int(&r, "used_by", (int64_t)used);
    rec_safe(&r, d->name);
    rec_text(&r, " is in the bin");
    if (used)
        rec_text(&r, "; %zu run%s made from it stay%s", used, used == 1 ? "" : "s",
                 used == 1 ? "s" : "");
    while (ws->data[i] != d)
        i++;
    dataset_unref(d);
    memmove(&ws->data[i], &ws->data[i + 1], (--ws->ndata - i) * sizeof *ws->data);
    ws->cur = !ws->ndata ? SIZE_MAX : ws->cur > i || ws->cur == ws->ndata ? ws->cur - 1 : ws->cur;
    if (ws->ndata) {
        rec_text(&r, "; current: ");
        rec_safe(&r, ws->data[ws->cur]->name);
    }
    rec_text(&r, "  (undo brings it back)");
    ws_emit(ws, &r);
    return ST_OK;
}

static enum status cmd_drop(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *what = args_text(a, "what");
    bool run = !strncmp(what, "run:", 4), data = !strncmp(what, "dataset:", 8);

    if (!run && !data) {
        run = ws_run(ws, what, NULL) && strcmp(what, ".");
        data = ws_dataset(ws, what, NULL) && strcmp(what, ".");
    }
    if (run && data) {
        err_set(err, ST_AMBIGUOUS, "%.60s is both a run and a dataset", what);
        err_hint(err, "drop run:%.60s   |   drop dataset:%.60s", what, what);
        return ST_AMBIGUOUS;
    }
    if (!run && !data) {
        err_set(err, ST_NOT_FOUND, "%.60s is neither a run nor a dataset", what);
        err_hint(err, "runs   |   data");
        return ST_NOT_FOUND;
    }
    return run ? drop_run(ws, what, err) : drop_dataset(ws, what, err);
}

static size_t purge_runs(struct workspace *ws)
{
    size_t gone = 0, kept = 0;

    for (size_t i = 0; i < ws->nbin; i++) {
        if (!ws->bin[i]->dropped) {
            ws->bin[kept++] = ws->bin[i];
            continue;
        }
        if (store_of(ws))
            store_forget_run(store_of(ws), ws->bin[i]);
        run_free(ws->bin[i]);
        gone++;
    }
    ws->nbin = kept;
    return gone;
}

static enum status cmd_purge(struct workspace *ws, const struct args *a, struct err *err)
{
    size_t undone, runs = 0;
    const size_t steps = timeline_steps(ws, &undone) + undone;
    struct rec r;

    if (timeline_view(ws) != SIZE_MAX) {
        err_named(err, ST_STATE, "read-only", "this is an earlier state, which is read-only");
        err_hint(err, "at now, then purge");
        return ST_STATE;
    }
    for (size_t i = 0; i < ws->nbin; i++)
        runs += ws->bin[i]->dropped;
    const bool yes = args_bool(a, "yes");
    rec_init(&r, REC_RESULT, "purge");
    rec_bool(&r, "done", yes);
    rec_int(&r, "runs", (int64_t)runs);
    rec_int(&r, "steps", (int64_t)steps);
    rec_text(&r, "%zu run%s of the bin%s", runs, runs == 1 ? "" : "s", runs ? " (" : "");
    for (size_t i = 0, n = 0; i < ws->nbin; i++)
        if (ws->bin[i]->dropped)
            rec_text(&r, "%s%s", n++ ? " " : "", ws->bin[i]->id);
    rec_text(&r, "%s and %zu step%s of undo, with the data that only they hold,%s", runs ? ")" : "",
             steps, steps == 1 ? "" : "s", yes ? " are gone" : "\nwould be gone for good. "
             "To do it: purge yes");
    if (yes) {
        purge_runs(ws);
        timeline_forget(ws);
        if (store_of(ws))
            store_state(store_of(ws), ws);
    }
    ws_emit(ws, &r);
    return ST_OK;
}

/* The rows. */

const struct command cmd_time_rows[] = {
    {"history",
     "session",
     "List what has been done, numbered, and what is undone",
     "history",
     {{"lines", ARG_INT, ARGF_POS, "50", 1, 1e6, NULL, "lines", "number of lines, the newest"}},
     0,
     cmd_history,
     "These are the commands that changed something or made a run. at N shows the state after\n"
     "command N, undo and redo go through the changes one by one, and script all=yes writes all\n"
     "commands."},
    {"undo",
     "session",
     "Take back the last change: roles, split, kernel, options, drops, notes",
     "undo",
     {{"steps", ARG_INT, ARGF_POS, "1", 1, STEPS_MOST, NULL, "steps", "number of steps"}},
     CMD_CHANGES,
     cmd_undo,
     "Nothing is lost: redo repeats what undo took back. Runs always stay, with the data they\n"
     "were made from. A session keeps the steps, so undo works after resume."},
    {"redo",
     "session",
     "Repeat what undo took back",
     "redo",
     {{"steps", ARG_INT, ARGF_POS, "1", 1, STEPS_MOST, NULL, "steps", "number of steps"}},
     CMD_CHANGES,
     cmd_redo,
     NULL},
    {"at",
     "session",
     "Show everything as it was after an earlier command, read-only",
     "at 3",
     {{"where", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "a number of history, -1 or +1 (one command back or forward), or now"}},
     0,
     cmd_at,
     "Data, settings and runs are as they were then. Nothing can be changed until at now, or\n"
     "until branch, which continues from there. Commands that only look still work: summary,\n"
     "plot, predict, script."},
    {"branch",
     "session",
     "Continue from an earlier state",
     "branch 3",
     {{"where", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "a number of history, -1 (before the last command); default: the state that at shows"}},
     CMD_CHANGES | CMD_ANYTIME,
     cmd_branch,
     "The earlier state becomes the present one. This is a change like any other: undo takes it\n"
     "back. All runs stay."},
    {"star",
     "work",
     "Mark a run as worth keeping",
     "star r1",
     {{"run", ARG_RUN, ARGF_POS, ".", 0, 0, NULL, NULL, "run (default: the last fit)"},
      {"off", ARG_BOOL, 0, "no", 0, 0, NULL, NULL, "remove the star"}},
     CMD_CHANGES,
     cmd_star,
     "runs stars lists them; a session keeps everything that they need to predict."},
    {"drop",
     "work",
     "Move a run or a dataset to the bin",
     "drop run:r1",
     {{"what", ARG_WORD, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0, NULL, NULL,
       "r4, run:r4 or dataset:NAME"}},
     CMD_CHANGES,
     cmd_drop,
     "undo brings it back, until purge has emptied the bin."},
    {"purge",
     "work",
     "Empty the bin and forget the steps of undo",
     "purge",
     {{"yes", ARG_BOOL, 0, "no", 0, 0, NULL, NULL,
       "do it; without yes: show what would be removed"}},
     0,
     cmd_purge,
     "This is the only command that undo cannot take back."},
    {.name = NULL},
};
