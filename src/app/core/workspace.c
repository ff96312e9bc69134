/* app/core/workspace.c -- the state of a session, the statements in hand, and telling what happens:
 * see workspace.h. */
#include "app/core/workspace.h"

#include "app/shell/args.h"
#include "data/cache.h"
#include "app/core/job.h"
#include "app/shell/options.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"
#include "compute/backend_load.h"
#include "compute/features/fop.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A statement that has been parsed and waits for its turn. */
struct waiting {
    const struct command *cmd;
    struct args *args;
    unsigned long group, number; /* of its line or script; its own, for `stop q3` */
    unsigned long parent;        /* group of the statement that queued it apart; 0: none */
    unsigned depth;              /* of nested source */
    char origin[160];            /* "line 12 of mine.gps"; "" for typed lines */
};
struct ws_line {
    struct waiting *v; size_t n, cap;
    unsigned long groups, numbers;
    /* The statement being executed, or whose job's outcome is being told. */
    const struct command *cmd;
    struct args *args;
    unsigned long group;
    unsigned depth;
    char origin[160];
    char run[16];                /* of the job being told of; "" */
    bool executing, submitted;
    size_t warned;               /* warnings before a job's outcome was told */
    size_t insert;               /* where `source` puts what it reads */
};
enum { SOURCE_DEPTH = 16 };

const char *run_state_name(enum run_state s)
{
    static const char *const names[] = { "queued", "running", "done", "stopped", "failed" };

    return names[s];
}

/* Life. */

static enum status default_kernel(struct workspace *ws, struct err *err)
{
    double set[KERNEL_MAX_HP];
    enum status rc = kernel_parse("matern(nu=5/2)", &ws->kernel, set, NULL);

    if (rc != ST_OK)
        rc = kernel_parse("rbf", &ws->kernel, set, err);
    for (size_t i = 0; rc == ST_OK && i < kernel_nhp(&ws->kernel); i++) {
        char name[KERNEL_NAME_MAX];
        struct hparam h;
        kernel_hp_info(&ws->kernel, i, name, &h);
        ws->hp[i] = h.init;
    }
    ws->amplitude = 1.0;
    ws->noise = 0.1;
    return rc;
}

struct workspace *workspace_new(const struct options *opt, const struct owner *const *owners,
                                struct err *err)
{
    struct workspace *ws = mem_calloc(1, sizeof *ws, "the workspace", err);

    if (!ws)
        return NULL;
    ws->opt = *opt;
    ws->cur = SIZE_MAX;
    ws->lines = mem_calloc(1, sizeof *ws->lines, "the workspace", err);
    ws->origin = ws->lines ? options_origin_new(err) : NULL;
    ws->backend = backend_cpu();
    if (!ws->origin || owner_make_all(ws, owners, err) != ST_OK ||
        default_kernel(ws, err) != ST_OK ||
        !(ws->pool = pool_new(opt->threads ? opt->threads : 1, err)) || !(ws->jobs = jobs_new(err))) {
        workspace_free(ws);
        return NULL;
    }
    return ws;
}

void prediction_free(struct prediction *p)
{
    free(p->row), free(p->y), free(p->mean), free(p->sd_latent), free(p->sd);
    free(p->y_scaled), free(p->mean_scaled), free(p->var_scaled);
    memset(p, 0, sizeof *p);
}

void ws_run_free(struct run *r)
{
    if (!r)
        return;
    dataset_unref(r->data);
    free(r->dataset_name);
    free(r->kernel_text);
    free(r->command);
    if (r->has_enc)
        encoding_free(&r->enc);
    model_unref(r->model);
    tune_result_free(&r->tune);
    solve_info_free(&r->solve);
    free(r->trace);
    prediction_free(&r->train_pred);
    prediction_free(&r->test_pred);
    free(r->more);
    free(r->note);
    free(r);
}

const struct metrics *ws_run_metrics(const struct run *r, size_t j, bool raw)
{
    if (!r || !r->has_score || j > r->nmore)
        return NULL;
    return j > 0 ? &r->more[j - 1][raw] : raw ? &r->score_raw : &r->score_scaled;
}

size_t ws_run_targets(const struct run *r)
{
    return r && r->has_enc ? encoding_targets(&r->enc) : 1;
}

enum status ws_run_target(const struct run *r, const char *name, size_t *j, struct err *err)
{
    *j = 0;
    if (!name || !r)
        return ST_OK;
    if (!r->has_enc)
        return err_set(err, ST_STATE, "%s has nothing yet of which a target could be shown", r->id);
    return encoding_find(&r->enc, name, j, err);
}

const char *ws_run_of(const struct run *r, size_t j, char *out, size_t len)
{
    struct buf b = { 0 };

    *out = '\0';
    if (ws_run_targets(r) < 2)
        return out;
    text_safe(&b, encoding_for(&r->enc, j).target, 24);
    snprintf(out, len, " of %s", buf_str(&b));
    buf_free(&b);
    return out;
}

static void waiting_free(struct waiting *w)
{
    args_free(w->args);
    w->args = NULL;
}

/* Everything loaded, fitted and remembered. */
static void release(struct workspace *ws)
{
    for (size_t i = 0; i < ws->nrun; i++)
        ws_run_free(ws->run[i]);
    for (size_t i = 0; i < ws->nbin; i++)
        ws_run_free(ws->bin[i]);
    for (size_t i = 0; i < ws->ndata; i++)
        dataset_unref(ws->data[i]);
    for (size_t i = 0; i < ws->nscript; i++)
        free(ws->script[i]);
    free(ws->run);
    free(ws->bin);
    free(ws->data);
    free(ws->script);
}

void workspace_clear(struct workspace *ws)
{
    owner_clear_all(ws); /* the session is closed before its runs go */
    release(ws);
    ws->run = ws->bin = NULL;
    ws->data = NULL;
    ws->script = NULL;
    ws->nrun = ws->nbin = ws->runs_made = ws->ndata = ws->nscript = ws->nfit = ws->ntune = 0;
    ws->cur = SIZE_MAX;
    *ws->last_fit = '\0';
    memset(ws->hp_bound, 0, sizeof ws->hp_bound);
    memset(&ws->amp_bound, 0, sizeof ws->amp_bound);
    memset(&ws->noise_bound, 0, sizeof ws->noise_bound);
    ws->expected = (struct expect_tally){ 0 };
    ws->hp_tuned = false;
    (void)default_kernel(ws, NULL);
    ws->serial++;
}

bool workspace_end(struct workspace *ws, double seconds)
{
    return jobs_end(ws->jobs, seconds);
}

void workspace_free(struct workspace *ws)
{
    if (!ws)
        return;
    jobs_free(ws->jobs);
    for (size_t i = 0; ws->lines && i < ws->lines->n; i++)
        waiting_free(&ws->lines->v[i]);
    owner_free_all(ws);
    release(ws);
    pool_free(ws->pool);
    if (ws->lines)
        free(ws->lines->v);
    free(ws->lines);
    free(ws->origin);
    free(ws);
}

/* Telling. */

/* What `explain` alone explains: the last command's warning or error, else its result. */
static bool is_silent(const char *command)
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
    else if (r->type == REC_RESULT && !is_silent(r->name))
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

/* Is the failure about what we write, not about what we read? */
static bool about_output(const struct err *err)
{
    return !strcmp(err->name, "write") || !strcmp(err->name, "no-reader") ||
           !strcmp(err->name, "output") || !strcmp(err->name, "gnuplot") ||
           !strcmp(err->name, "exists");
}

/* What to try when nobody said better: the usage of the command that was not understood, else the
 * page of the message, which knows the current numbers. */
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
        if (!strcmp(err->name, "disk"))
            ws->first_error = ST_LIMIT;
        ws->first_error_output = about_output(err);
    }
    ws_emit(ws, &r);
}

/* Looking up. */

struct dataset *ws_dataset(struct workspace *ws, const char *name, struct err *err)
{
    if (name && !strncmp(name, "dataset:", 8))
        name += 8;
    if (!name || !strcmp(name, ".")) {
        if (ws->cur < ws->ndata)
            return ws->data[ws->cur];
        err_named(err, ST_STATE, "no-data", "no data is loaded yet");
        err_hint(err, "open FILE   |   demo co2");
        return NULL;
    }
    for (size_t i = ws->ndata; i-- > 0;)
        if (!strcmp(ws->data[i]->name, name))
            return ws->data[i];
    if (!strcmp(name, "-1") && ws->ndata > 1)
        return ws->data[ws->cur > 0 ? ws->cur - 1 : ws->ndata - 1];
    err_set(err, ST_NOT_FOUND, "no dataset is called %.80s", name);
    err_hint(err, "data");
    return NULL;
}

enum status ws_no_keyboard(const struct workspace *ws, const char *path, struct err *err)
{
    if (!ws->interactive || !path || strcmp(path, "-"))
        return ST_OK;
    err_set(err, ST_USAGE, "standard input is the keyboard here");
    err_hint(err, "name a file, or paste the lines of a script");
    return ST_USAGE;
}

struct run *ws_run(struct workspace *ws, const char *name, struct err *err)
{
    const char *id = name;
    size_t back = 0, fits = 0;

    if (id && !strncmp(id, "run:", 4))
        id += 4;
    if (!id || !strcmp(id, "."))
        id = ws->last_fit;
    else if (*id == '-')
        back = (size_t)strtoul(id + 1, NULL, 10);
    for (size_t i = ws->nrun; back && i-- > 0;)
        if (ws->run[i]->kind == RUN_FIT && fits++ == back)
            return ws->run[i];
    for (size_t i = 0; i < ws->nrun && *id; i++)
        if (!strcmp(ws->run[i]->id, id))
            return ws->run[i];
    for (size_t i = 0; i < ws->nbin && *id; i++)
        if (!strcmp(ws->bin[i]->id, id)) {
            if (ws->bin[i]->dropped) {
                err_named(err, ST_STATE, "dropped", "%s is in the bin", id);
                err_hint(err, "undo");
            } else {
                err_named(err, ST_STATE, "later", "%s was made later than what is shown", id);
                err_hint(err, "at now");
            }
            return NULL;
        }
    if (!ws->nrun || !name || !strcmp(name, ".")) {
        err_named(err, ST_STATE, "no-run", "nothing has been fitted yet");
        err_hint(err, "fit");
    } else {
        err_set(err, ST_NOT_FOUND, "there is no run %.40s", name);
        err_hint(err, "runs");
    }
    return NULL;
}

struct run *ws_run_new(struct workspace *ws, enum run_kind kind, struct err *err)
{
    struct run *r = mem_calloc(1, sizeof *r, "a run", err), **grown;

    if (!r)
        return NULL;
    grown = realloc(ws->run, (ws->nrun + 1) * sizeof *grown);
    if (!grown) {
        free(r);
        err_nomem(err, (ws->nrun + 1) * sizeof *grown, "the list of runs");
        return NULL;
    }
    ws->run = grown;
    ws->run[ws->nrun++] = r;
    r->kind = kind;
    r->serial = ws->runs_made++;
    r->state = RUN_QUEUED;
    r->created = (int64_t)time(NULL);
    r->trace_target = NAN;
    r->last.value = r->last.value2 = r->last.target = NAN;
    snprintf(r->id, sizeof r->id, "%c%zu", kind == RUN_FIT ? 'r' : 't',
             kind == RUN_FIT ? ++ws->nfit : ++ws->ntune);
    ws->serial++;
    return r;
}

struct run *ws_newest_running(struct workspace *ws)
{
    for (size_t i = ws->nrun; i-- > 0;)
        if (ws->run[i]->state == RUN_RUNNING || ws->run[i]->state == RUN_QUEUED)
            return ws->run[i];
    return NULL;
}

/* Statements. */

static bool is_load(const struct command *c) /* open, demo */
{
    return c->flags & CMD_SETS && !(c->flags & CMD_NEEDS_DATA);
}

/* Must statement k of the queue wait?  See workspace_exec: what is typed ahead gives what a script
 * gives; looking around never waits for a fit. */
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

/* Drops what is left of a line or script after a failure. */
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

/* A statement that failed ends its line or script, unless keep_going; that of a sweep's point
 * always, or the next one would stand for other settings than the table says. */
static void after_failure(struct workspace *ws, unsigned long group)
{
    bool apart = false;

    for (size_t i = 0; i < ws->lines->n; i++)
        apart |= ws->lines->v[i].group == group && ws->lines->v[i].parent != 0;
    if (apart || !ws->opt.keep_going)
        drop_group(ws, group);
}

/* Into the script at `at`, a place of before when other commands ended while its job ran. */
static bool remember(struct workspace *ws, const struct args *a, size_t at)
{
    char **grown = realloc(ws->script, (ws->nscript + 1) * sizeof *grown);
    char *line = grown ? strdup(args_line(a)) : NULL;

    if (grown)
        ws->script = grown;
    if (!line)
        return false;
    memmove(&ws->script[at + 1], &ws->script[at], (ws->nscript - at) * sizeof *ws->script);
    ws->script[at] = line;
    ws->nscript++;
    return true;
}

/* F4 and F5: about the keyboard one sits at, so nothing that is worked on changes. */
static bool of_keyboard(const struct args *a)
{
    const char *line = args_line(a);

    return (!strncmp(line, "set plain=", 10) || !strncmp(line, "set mouse=", 10)) &&
           !strchr(line + 10, ' ');
}

/* After a statement or its job has ended. */
static void statement_ended(struct workspace *ws, const struct command *cmd, const struct args *a,
                            enum status rc, double seconds, bool changed)
{
    /* `kernel` alone shows the kernel: a line of the script would replace the choice before it. */
    const bool asks =
        (!(cmd->flags & CMD_JOB) && !strchr(args_line(a), ' ') && !changed) || of_keyboard(a);
    struct owner_step step = { .cmd = cmd, .args = a, .rc = rc, .seconds = seconds,
                               .changed = changed, .at = owner_place(ws, a) };

    step.kept = rc == ST_OK && cmd->flags & CMD_CHANGES && !asks && remember(ws, a, step.at);
    owner_ended_all(ws, &step);
    ws->serial++;
}

/* What is shown is an earlier state. */
static enum status read_only(struct workspace *ws, const struct command *cmd, struct err *err)
{
    err_named(err, ST_STATE, "read-only",
              "what is shown is as after command %zu; it cannot be changed", owner_shown(ws));
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
    const bool asks = (!(cmd->flags & CMD_JOB) && !strchr(args_line(a), ' ')) || of_keyboard(a);
    if (cmd->flags & (CMD_CHANGES | CMD_SETS) && !(cmd->flags & CMD_ANYTIME) && !asks &&
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

    if (!is_silent(w->cmd->name))
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
    const bool changed = owner_changed_any(ws, args_line(w->args));
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

/* Runs all that need not wait. */
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
        memmove(&l->v[i], &l->v[i + 1], (l->n - i - 1) * sizeof w);
        l->n--;
        execute(ws, &w);
        waiting_free(&w);
        i = 0; /* what it did may free an earlier one */
    }
}

/* Puts a parsed statement in line: at the end, or behind the `source` that brings it. */
static enum status enqueue(struct workspace *ws, const struct waiting *w, struct err *err)
{
    struct ws_line *l = ws->lines;
    enum status rc = mem_grow((void **)&l->v, &l->cap, l->n + 1, sizeof *l->v, "a script", err);

    if (rc != ST_OK)
        return rc;
    const size_t at = l->executing ? l->insert++ : l->n;
    memmove(&l->v[at + 1], &l->v[at], (l->n - at) * sizeof *l->v);
    l->v[at] = *w;
    l->n++;
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

/* A line that does not even begin now: say what it waits for. */
static void tell_waiting(struct workspace *ws, unsigned long group, unsigned long number)
{
    struct job_view v;

    for (size_t i = 0; i < ws->lines->n; i++)
        if (ws->lines->v[i].group == group && ws->lines->v[i].number == number) {
            char hint[40];
            const bool job = jobs_view(ws->jobs, 0, &v);
            snprintf(hint, sizeof hint, "stop q%lu", number);
            ws_tell(ws, REC_NOTE, NULL, "waits", hint, "%.120s waits in line behind %s",
                    args_line(ws->lines->v[i].args), job ? v.name : "what was typed before");
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
    if (!w)
        first = ST_NOMEM;
    else if (!bad && n && w[0].depth > SOURCE_DEPTH) {
        err_set(&err, ST_LIMIT, "scripts source each other more than %d deep", SOURCE_DEPTH);
        parse_error(ws, &err, NULL, w[0].origin);
        first = ST_LIMIT;
    }
    const unsigned long first_number = l->numbers + 1;
    for (i = 0; w && i < n; i++) {
        w[i].number = ++l->numbers;
        if (first == ST_OK && (first = enqueue(ws, &w[i], &err)) == ST_OK)
            continue;
        waiting_free(&w[i]);
    }
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
}

void workspace_drain(struct workspace *ws)
{
    struct pollfd fd = { .fd = workspace_fd(ws), .events = POLLIN };

    while (workspace_busy(ws) && !ws->quit) {
        if (poll(&fd, 1, 1000) < 0 && errno != EINTR)
            return;
        workspace_pump(ws);
    }
}

void ws_kernel_take(struct workspace *ws, const struct kernel *k, const double *hp)
{
    const size_t n = kernel_nhp(k);

    ws->kernel = *k;
    for (size_t i = 0; i < n; i++) {
        struct hparam h;
        char name[KERNEL_NAME_MAX];
        kernel_hp_info(k, i, name, &h);
        ws->hp[i] = isfinite(hp[i]) ? hp[i] : h.init;
        ws->hp_bound[i] = (struct tune_bound){ h.lo, h.hi, false, 0 };
    }
    ws->hp_tuned = ws->scale_tuned = false;
    ws->serial++;
}

/* Jobs. */

/* A changed number of threads takes effect where no job uses the pool. */
static void fit_pool(struct workspace *ws)
{
    struct pool *pool;

    if (jobs_count(ws->jobs) > 0 || pool_threads(ws->pool) == ws->opt.threads)
        return;
    pool = pool_new(ws->opt.threads, NULL);
    if (!pool)
        return;
    pool_free(ws->pool);
    ws->pool = pool;
}

/* So does another device.  One that is not to be had is told of once, and the processor serves. */
static void fit_device(struct workspace *ws)
{
    struct err err = { 0 };

    if (jobs_count(ws->jobs) > 0 || strcmp(ws->device, ws->opt.device) == 0)
        return;
    snprintf(ws->device, sizeof ws->device, "%s", ws->opt.device);
    if (backend_choose(ws->device, &ws->backend, &err) != ST_OK)
        ws_warn(ws, "device", "%s; this processor computes", err.msg);
}

struct job *job_new(struct workspace *ws, const struct job_ops *ops, const char *name, void *arg,
                    const char *line, struct err *err)
{
    struct ws_line *l = ws->lines;
    struct job *job = job_make(ops, name, arg, line, err);

    if (!job)
        return NULL;
    fit_pool(ws);
    fit_device(ws);
    job->pool = ws->pool;
    job->backend = ws->backend;
    job->mem_limit = ws->opt.mem;
    spill_limit(ws->opt.mem / 4);
    spill_directory(*cache_dir() ? cache_dir() : NULL);
    cache_limit(ws->opt.cache);
    fop_memory(ws->opt.mem);
    job->cmd = l->cmd;
    job->args = l->args ? args_ref(l->args) : NULL;
    job->group = l->group;
    snprintf(job->origin, sizeof job->origin, "%s", l->origin);
    return job;
}

enum status ws_submit(struct workspace *ws, const struct job_ops *ops, const char *name, void *arg,
                      const char *line, struct err *err)
{
    struct job *job = job_new(ws, ops, name, arg, line, err);

    if (!job)
        return ST_NOMEM;
    enum status rc = jobs_submit(ws->jobs, job, err);
    ws->lines->submitted |= rc == ST_OK;
    return rc;
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
    struct run *r = args_looks_like_run(job->name) ? ws_run(ws, job->name, NULL) : NULL;
    if (!r)
        return;
    snprintf(l->run, sizeof l->run, "%s", job->name);
    if (!(r->started > 0.0)) /* over before its first tick */
        r->started = job->started;
}

void workspace_job_end(struct workspace *ws, const struct job *job, enum status rc)
{
    struct ws_line *l = ws->lines;

    if (rc == ST_OK && ws->opt.strict && ws->warnings > l->warned) {
        struct err err;
        rc = err_named(&err, ST_STATE, "strict", "a warning counts as an error (--strict)");
        ws_error(ws, &err, NULL);
    }
    if (!job->more) { /* a statement is one line and one step, whatever number of jobs it has */
        const bool changed = owner_changed_any(ws, job->line);
        if (job->cmd && job->args)
            statement_ended(ws, job->cmd, job->args, rc, job_now() - job->started, changed);
    }
    if (rc != ST_OK)
        after_failure(ws, job->group);
    owner_end_all(ws);
    l->cmd = NULL;
    l->args = NULL;
    *l->origin = '\0';
    *l->run = '\0';
}
