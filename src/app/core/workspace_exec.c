/* app/core/workspace_exec.c -- see workspace_exec.h. */
#include "app/core/rank_notes.h"
#include "app/core/workspace_exec.h"

#include "app/core/default_kernel.h"
#include "app/core/job.h"
#include "app/core/workspace_impl.h"
#include "app/core/ws_tell.h"
#include "app/shell/args.h"
#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SOURCE_DEPTH = 16 };

static void waiting_free(struct waiting *w)
{
    args_free(w->args);
    w->args = NULL;
}

void workspace_lines_free(struct ws_line *l)
{
    for (size_t i = 0; l && i < l->n; i++)
        waiting_free(&l->v[i]);
    if (l && l->v)
        free(l->v - l->spare);
    free(l);
}

static bool is_load(const struct command *c) /* True for `open` and `demo`. */
{
    return c->flags & CMD_SETS && !(c->flags & CMD_NEEDS_DATA);
}

/* True if statement k of the queue has to wait. A session typed ahead gives the same results as a
 * script, but commands that only look never wait for a fit. See workspace_exec. */
static bool blocked(const struct workspace *ws, size_t k)
{
    const struct waiting *w = &ws->lines->v[k];
    const unsigned flags = w->cmd->flags;
    bool load_ahead = jobs_pending(ws->jobs, CMD_SETS, CMD_NEEDS_DATA);

    if (jobs_has_group(ws->jobs, w->group))
        return true;
    for (size_t i = 0; i < k; i++) {
        if (ws->lines->v[i].group == w->group || ws->lines->v[i].parent == w->group)
            return true;
        load_ahead |= is_load(ws->lines->v[i].cmd);
    }
    if (flags & (CMD_JOB | CMD_BARRIER))
        return k > 0 || jobs_count(ws->jobs) > 0;
    if (flags & CMD_CHANGES)
        return k > 0 || jobs_pending(ws->jobs, CMD_SETS, 0);
    return flags & CMD_NEEDS_DATA && load_ahead;
}

/* After a failure, drops the rest of the line or script. */
static void drop_group(struct workspace *ws, unsigned long group)
{
    struct ws_line *l = ws->lines;
    size_t kept = 0, dropped = 0;

    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].group == group) {
            waiting_free(&l->v[i]);
            dropped++;
        } else {
            l->v[kept++] = l->v[i];
        }
    l->n = kept;
    if (dropped)
        ws_note(ws, "not-run", "%zu command%s after it %s not run", dropped, dropped > 1 ? "s" : "",
                dropped > 1 ? "were" : "was");
}

/* A statement that failed ends its line or script unless keep_going is set. A point of a sweep
 * always ends its own line: the next statement would otherwise run with settings that the sweep's
 * table does not show. */
static void after_failure(struct workspace *ws, unsigned long group)
{
    bool apart = false;

    for (size_t i = 0; i < ws->lines->n; i++)
        apart |= ws->lines->v[i].group == group && ws->lines->v[i].parent != 0;
    if (apart || !ws->opt.keep_going)
        drop_group(ws, group);
}

bool workspace_remember(struct workspace *ws, const char *mark, const char *command, size_t at)
{
    char **grown = realloc(ws->script, (ws->nscript + 1) * sizeof *grown);
    struct buf text = { 0 };

    buf_printf(&text, "%s%s", mark, command);
    char *line = grown ? buf_take(&text) : NULL;

    buf_free(&text);
    if (grown)
        ws->script = grown;
    else
        err_nomem(NULL, (ws->nscript + 1) * sizeof *grown, "the script");
    if (!line)
        return false;
    memmove(&ws->script[at + 1], &ws->script[at], (ws->nscript - at) * sizeof *ws->script);
    ws->script[at] = line;
    ws->nscript++;
    return true;
}

/* True for options about this keyboard (F4 and F5 set them). */
static bool of_keyboard(const struct args *a)
{
    const struct option_row *o;
    const char *name, *value;
    bool all = args_opts(a) > 0 && args_hp(a) == 0;

    for (size_t i = 0; all && (name = args_opt_at(a, i, &value)) != NULL; i++)
        all = (o = option_find(name, NULL)) != NULL && o->arg.flags & OPTION_KEYBOARD;
    return all;
}

/* True if the line only asks. For example, `kernel` alone shows the kernel; as a line of the script
 * it would replace the earlier choice. */
static bool asks(const struct command *cmd, const struct args *a)
{
    return (!(cmd->flags & CMD_JOB) && !args_any(a)) || of_keyboard(a);
}

/* True if a statement or its job has changed the state. A kernel that follows the data does so
 * first, so that it belongs to the same step of undo. */
static bool has_changed(struct workspace *ws, const char *line, enum status rc)
{
    if (rc == ST_OK)
        default_kernel_follow(ws);
    return owner_changed_any(ws, line);
}

/* Called after a statement or its job has ended. */
static void statement_ended(struct workspace *ws, const struct command *cmd, const struct args *a,
                            enum status rc, double seconds, bool changed)
{
    const bool looks = of_keyboard(a) || (asks(cmd, a) && !changed);
    struct owner_step step = { .cmd = cmd, .args = a, .rc = rc, .seconds = seconds,
                               .changed = changed, .at = owner_place(ws, a) };

    step.kept = (rc == ST_OK || rc == ST_CANCELLED) && cmd->flags & CMD_CHANGES && !looks &&
                workspace_remember(ws, rc == ST_OK ? "" : WORKSPACE_INTERRUPTED, args_line(a),
                                   step.at);
    owner_ended_all(ws, &step);
    ws->serial++;
}

/* Refuses a change while an earlier state is shown. */
static enum status read_only(struct workspace *ws, const struct command *cmd, struct err *err)
{
    err_named(err, ST_STATE, "read-only",
              "the state after command %zu is shown; it cannot be changed", owner_shown(ws));
    err_hint(err, "at now   |   branch, then %.60s", cmd->name);
    return ST_STATE;
}

static enum status check_needs(struct workspace *ws, const struct command *cmd,
                               const struct args *a, struct err *err)
{
    if (cmd->flags & CMD_NEEDS_DATA && !ws_dataset(ws, NULL, err))
        return ST_STATE;
    if (cmd->flags & CMD_NEEDS_MODEL && !ws_run(ws, NULL, err))
        return ST_STATE;
    if (cmd->flags & (CMD_CHANGES | CMD_SETS) && !(cmd->flags & CMD_ANYTIME) && !asks(cmd, a) &&
        owner_shown(ws) != SIZE_MAX)
        return read_only(ws, cmd, err);
    return ST_OK;
}

static void execute(struct workspace *ws, const struct waiting *w)
{
    struct ws_line *l = ws->lines;
    struct err err = { 0 };
    const double t0 = job_now();
    const size_t warnings = ws->warnings, errors = ws->errors;

    if (!ws_tell_silent(w->cmd->name))
        *ws->told = '\0';
    l->cmd = w->cmd;
    l->args = w->args;
    l->group = w->group;
    l->depth = w->depth;
    snprintf(l->origin, sizeof l->origin, "%s", w->origin);
    l->submitted = false;
    l->executing = true;
    l->insert = 0;
    owner_begin_all(ws);
    limits_enter(ws_limits(ws)); /* for what this thread itself computes */
    enum status rc = check_needs(ws, w->cmd, w->args, &err);
    if (rc == ST_OK)
        rc = w->cmd->exec(ws, w->args, &err);
    l->executing = false;
    if (rc == ST_OK && owner_strayed_any(ws))
        rc = read_only(ws, w->cmd, &err);
    if (rc != ST_OK)
        ws_error(ws, &err, NULL);
    else if (ws->opt.strict && ws->warnings > warnings && ws->errors == errors) {
        rc = err_named(&err, ST_STATE, "strict", "a warning counts as an error (--strict)");
        ws_error(ws, &err, NULL);
    }
    if (rc != ST_OK && !l->submitted)
        owner_revert_all(ws); /* an error leaves everything as it was */
    const bool changed = has_changed(ws, args_line(w->args), rc);
    if (!l->submitted)
        statement_ended(ws, w->cmd, w->args, rc, job_now() - t0, changed);
    else if (w->cmd->flags & CMD_CHANGES)
        owner_queued_all(ws, w->args);
    owner_end_all(ws);
    if (rc != ST_OK)
        after_failure(ws, w->group);
    l->cmd = NULL;
    l->args = NULL;
    *l->origin = '\0';
}

/* Runs all statements that need not wait. */
static void advance(struct workspace *ws)
{
    struct ws_line *l = ws->lines;

    if (l->executing)
        return;
    for (size_t i = 0; i < l->n && !ws->quit;) {
        if (blocked(ws, i)) {
            i++;
            continue;
        }
        struct waiting w = l->v[i];
        /* this is the first statement of a long script: nothing has to move */
        memmove(&l->v[1], &l->v[0], i * sizeof w);
        l->v++;
        l->spare++;
        l->n--;
        execute(ws, &w);
        waiting_free(&w);
        i = 0; /* the statement may have unblocked an earlier one */
    }
}

/* Adds n parsed statements to the queue: at its end, or directly after the `source` that reads
 * them. On success they are moved out of w. */
static enum status enqueue(struct workspace *ws, const struct waiting *w, size_t n, struct err *err)
{
    struct ws_line *l = ws->lines;

    if (l->spare > 0) { /* reuse the space of statements that have run */
        memmove(l->v - l->spare, l->v, l->n * sizeof *l->v);
        l->v -= l->spare;
        l->spare = 0;
    }
    enum status rc = mem_grow((void **)&l->v, &l->cap, l->n + n, sizeof *l->v, "a script", err);
    if (rc != ST_OK)
        return rc;
    const size_t at = l->executing ? l->insert : l->n;
    memmove(&l->v[at + n], &l->v[at], (l->n - at) * sizeof *l->v);
    memcpy(&l->v[at], w, n * sizeof *w);
    l->insert += l->executing ? n : 0;
    l->n += n;
    return ST_OK;
}

static void place(char out[160], const char *name, size_t line)
{
    *out = '\0';
    if (name && line)
        snprintf(out, 160, "line %zu of %.120s", line, name);
    else if (name)
        snprintf(out, 160, "%.150s", name);
}

static void parse_error(struct workspace *ws, const struct err *err, const char *text,
                        const char *origin)
{
    struct ws_line *l = ws->lines;
    char keep[160];

    snprintf(keep, sizeof keep, "%s", l->origin);
    snprintf(l->origin, sizeof l->origin, "%s", origin);
    ws_error(ws, err, text);
    snprintf(l->origin, sizeof l->origin, "%s", keep);
}

/* If a line cannot begin now, reports what it waits for. */
static void tell_waiting(struct workspace *ws, unsigned long group, unsigned long number)
{
    struct job_view v;

    for (size_t i = 0; i < ws->lines->n; i++)
        if (ws->lines->v[i].group == group && ws->lines->v[i].number == number) {
            char hint[40];
            const bool job = jobs_view(ws->jobs, 0, &v);
            snprintf(hint, sizeof hint, "stop q%lu", number);
            ws_tell(ws, REC_NOTE, NULL, "waits", hint, "%.120s waits in line behind %s",
                    args_line(ws->lines->v[i].args), job ? v.name : "what was typed earlier");
            return;
        }
}

static enum status exec_text(struct workspace *ws, const char *text, const char *name,
                             size_t first_line, bool apart)
{
    struct ws_line *l = ws->lines;
    struct statement *st = NULL;
    struct waiting *w = NULL;
    struct err err = { 0 };
    size_t n = 0, i, bad = 0;
    enum status rc = command_split(text, &st, &n, &err), first = rc;
    const size_t errors = ws->errors;

    if (rc != ST_OK) {
        parse_error(ws, &err, NULL, name ? name : "");
        return rc;
    }
    w = mem_calloc(n ? n : 1, sizeof *w, "a script", &err);
    const unsigned long group = l->executing && !apart ? l->group : ++l->groups;
    for (i = 0; w && i < n; i++) {
        place(w[i].origin, name, first_line ? st[i].line + first_line - 1 : 0);
        w[i].group = group;
        w[i].parent = apart && l->executing ? l->group : 0;
        w[i].depth = l->executing ? l->depth + 1 : 0;
        rc = command_parse(st[i].text, &w[i].cmd, &w[i].args, &err);
        if (rc != ST_OK) {
            parse_error(ws, &err, st[i].text, w[i].origin);
            first = first == ST_OK ? rc : first;
            bad++;
        }
    }
    if (!w) {
        parse_error(ws, &err, NULL, name ? name : "");
        first = ST_NOMEM;
    } else if (!bad && n && w[0].depth > SOURCE_DEPTH) {
        err_set(&err, ST_LIMIT, "scripts source each other more than %d deep", SOURCE_DEPTH);
        parse_error(ws, &err, NULL, w[0].origin);
        first = ST_LIMIT;
        /* with keep_going too: otherwise each level would multiply the rest */
        drop_group(ws, l->group);
    }
    const unsigned long first_number = l->numbers + 1;
    for (i = 0; w && i < n; i++)
        w[i].number = ++l->numbers;
    if (first == ST_OK && n && (first = enqueue(ws, w, n, &err)) != ST_OK)
        parse_error(ws, &err, NULL, w[0].origin);
    for (i = 0; w && first != ST_OK && i < n; i++)
        waiting_free(&w[i]);
    free(w);
    command_statements_free(st, n);
    if (first != ST_OK)
        return first;
    advance(ws);
    if (ws->interactive && !l->executing)
        tell_waiting(ws, group, first_number);
    return ws->errors > errors ? ST_STATE : ST_OK;
}

enum status workspace_exec_from(struct workspace *ws, const char *text, const char *name,
                                size_t first_line)
{
    return exec_text(ws, text, name, first_line, false);
}

enum status workspace_exec_apart(struct workspace *ws, const char *text, const char *name)
{
    return exec_text(ws, text, name, 1, true);
}

enum status workspace_exec(struct workspace *ws, const char *line)
{
    return workspace_exec_from(ws, line, NULL, 0);
}

size_t workspace_waiting(const struct workspace *ws)
{
    return ws->lines->n;
}

const char *workspace_waiting_at(const struct workspace *ws, size_t i, unsigned long *number)
{
    if (i >= ws->lines->n)
        return NULL;
    if (number)
        *number = ws->lines->v[i].number;
    return args_line(ws->lines->v[i].args);
}

enum status workspace_forget(struct workspace *ws, unsigned long number, struct err *err)
{
    struct ws_line *l = ws->lines;
    size_t kept = 0, hits = 0;

    for (size_t i = 0; i < l->n; i++)
        if (number == 0 || l->v[i].number == number) {
            waiting_free(&l->v[i]);
            hits++;
        } else {
            l->v[kept++] = l->v[i];
        }
    l->n = kept;
    l->insert = l->insert > kept ? kept : l->insert;
    if (!hits && number)
        return err_set(err, ST_NOT_FOUND, "q%lu does not wait in line", number);
    return ST_OK;
}

bool workspace_busy(const struct workspace *ws)
{
    return ws->lines->n > 0 || jobs_count(ws->jobs) > 0;
}

int workspace_fd(const struct workspace *ws)
{
    return jobs_fd(ws->jobs);
}

void workspace_pump(struct workspace *ws)
{
    jobs_pump(ws->jobs, ws);
    advance(ws);
    owner_pump_all(ws);
}

void workspace_drain(struct workspace *ws)
{
    struct pollfd fd = { .fd = workspace_fd(ws), .events = POLLIN };

    while (workspace_busy(ws) && !ws->quit) {
        if (poll(&fd, 1, 1000) < 0 && errno != EINTR)
            usleep(10000); /* no memory to wait with: look again */
        workspace_pump(ws);
    }
}

void workspace_job_begin(struct workspace *ws, const struct job *job)
{
    struct ws_line *l = ws->lines;

    owner_begin_all(ws);
    l->warned = ws->warnings;
    l->cmd = job->cmd;
    l->args = job->args;
    l->group = job->group;
    snprintf(l->origin, sizeof l->origin, "%s", job->origin);
    rank_notes_warn(ws, job); /* before the result */
    struct run *r = args_looks_like_run(job->name) ? ws_run(ws, job->name, NULL) : NULL;
    if (!r)
        return;
    snprintf(l->run, sizeof l->run, "%s", job->name);
    if (!(r->started > 0.0)) /* it ended before its first tick */
        r->started = job->started;
}

void workspace_job_end(struct workspace *ws, const struct job *job, enum status rc)
{
    struct ws_line *l = ws->lines;

    rank_notes_tell(ws, job);
    if (rc == ST_OK && ws->opt.strict && ws->warnings > l->warned) {
        struct err err;
        rc = err_named(&err, ST_STATE, "strict", "a warning counts as an error (--strict)");
        ws_error(ws, &err, NULL);
    }
    if (!job->more) { /* a statement counts as one line and one step, however many jobs it has */
        const bool changed = has_changed(ws, job->line, rc);
        if (job->cmd && job->args)
            statement_ended(ws, job->cmd, job->args, rc,
                            job->started > 0.0 ? job_now() - job->started : 0.0, changed);
    }
    if (rc != ST_OK)
        after_failure(ws, job->group);
    owner_end_all(ws);
    l->cmd = NULL;
    l->args = NULL;
    *l->origin = '\0';
    *l->run = '\0';
}
