/* app/session/transcript.c -- writes a session as a script that repeats it. See transcript.h.
 *
 * What was undone is left out if nothing that stays was made in between. Of the rest, a line is
 * left out only if nothing after it can depend on it: data that another `open` replaces, a split
 * that is replaced before anything was made from it, fits that are not the last, and tunings whose
 * result a later `kernel` and `tune` replace. Runs get the numbers that they will have when the
 * script runs. */
#include "app/session/transcript.h"

#include "app/shell/args.h"
#include "app/session/expect.h"
#include "app/session/timeline.h"
#include "app/session/transcript_rows.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct line {
    const char *line;
    char verb[24];
    const struct command *cmd; /* NULL: it does not parse, or no longer does */
    struct args *args;
    const struct run *run;     /* the run that a tune or fit made */
    const struct past *past;   /* NULL: from a session that did not record it */
    char last[16];             /* the last fit at the time when it ended */
    char id[16];               /* the run's new name */
    size_t node;               /* in the tree of states, after it */
    size_t written;            /* commands that stand for it in the script */
    bool keep, back;           /* back: an `undo` of ours, to `node` */
    bool bins;                 /* it puts a run into the bin */
    bool interrupted;          /* it is a comment: there is no result, or not the whole one */
    bool whole;                /* interrupted, and run to its end here: a later fit began from it */
    bool loose;                /* its figures depend on where something was interrupted */
};

static bool is(const struct line *s, const char *verb)
{
    return strcmp(s->verb, verb) == 0;
}

/* It makes a run with a model. */
static bool makes_fit(const struct line *s)
{
    return is(s, "fit") || is(s, "calibrate");
}

static bool loads(const struct line *s)
{
    return is(s, "open") || is(s, "demo");
}

/* Which run a line made. */

static bool has_result(const struct run *r)
{
    return r->kind == RUN_FIT ? r->model != NULL || r->info.solver[0] : r->tune.evaluations > 0;
}

/* The run that this line made, after the one with serial `from`. Runs in the bin count. */
static const struct run *run_made(const struct workspace *ws, const struct line *s, size_t from)
{
    const enum run_kind kind = makes_fit(s) ? RUN_FIT : RUN_TUNE;
    const struct run *found = NULL;

    for (size_t i = 0; i < ws->nrun + ws->nbin; i++) {
        const struct run *r = i < ws->nrun ? ws->run[i] : ws->bin[i - ws->nrun];
        if (r->serial >= from && r->kind == kind && r->command &&
            strcmp(r->command, s->line) == 0 &&
            (r->state == RUN_DONE || r->state == RUN_STOPPED) && has_result(r) &&
            (!found || r->serial < found->serial))
            found = r;
    }
    return found;
}

/* Runs are in the order of their lines. A run that failed has no line. */
static void find_runs(const struct workspace *ws, struct line *s, size_t n)
{
    size_t from = 0;

    for (size_t i = 0; i < n; i++) {
        if (!is(&s[i], "tune") && !makes_fit(&s[i]))
            continue;
        s[i].run = run_made(ws, &s[i], from);
        from = s[i].run ? s[i].run->serial + 1 : from;
    }
}

/* The name of a run without "run:". */
static const char *bare(const char *name)
{
    return name && !strncmp(name, "run:", 4) ? name + 4 : name;
}

/* The run that a line concerns: score, note, star. */
static const char *about(const struct line *s)
{
    const char *of = s->args ? bare(args_text(s->args, "run")) : NULL;

    return of && strcmp(of, ".") != 0 ? of : *s->last ? s->last : NULL;
}

static size_t line_of(const struct line *s, size_t n, const char *id)
{
    for (size_t i = 0; id && i < n; i++)
        if (s[i].run && strcmp(s[i].run->id, id) == 0)
            return i;
    return SIZE_MAX;
}

/* What was undone.
 *
 * The states that the lines went through are a tree: a line that makes a step adds a node below
 * the state that it found, undo and redo move in the tree, `branch` goes anywhere in it.  A line
 * that changes no state (a fit, a score) is a node, too, without a step.  The script walks this
 * tree: to the last fit and to the fits that it began from, in their order, then to what is
 * current.  So a line that was undone is left out, one that was done again is in, and what led only
 * to the last fit is taken back by one `undo`. */

struct node {
    size_t line, ord, parent; /* from 1: of the lines; of the line's steps, 0: it made none */
};
struct way {
    struct node *node; /* node[0]: the beginning */
    size_t n, cap;
    size_t *at;        /* the node after line i, from 1; at[0] = 0 */
    struct { size_t before, after; } *stack; /* steps, as undo and redo see them */
    size_t top, done, capstack;
    bool nomem;        /* a request for memory failed: there is no script */
};

static void way_free(struct way *w)
{
    free(w->node);
    free(w->at);
    free(w->stack);
}

static size_t way_node(struct way *w, size_t line, size_t ord, size_t parent)
{
    if (mem_grow((void **)&w->node, &w->cap, w->n + 1, sizeof *w->node, "a script", NULL) !=
        ST_OK) {
        w->nomem = true;
        return SIZE_MAX;
    }
    w->node[w->n] = (struct node){ line, ord, parent };
    return w->n++;
}

static bool way_push(struct way *w, size_t before, size_t after)
{
    if (mem_grow((void **)&w->stack, &w->capstack, w->done + 1, sizeof *w->stack, "a script",
                 NULL) != ST_OK) {
        w->nomem = true;
        return false;
    }
    w->stack[w->done].before = before;
    w->stack[w->done].after = after;
    w->top = ++w->done;
    return true;
}

/* Line i (from 1), which begins at node `from`; false: it cannot be followed. */
static bool way_line(struct way *w, const struct past *p, size_t i, size_t from)
{
    const enum past_kind kind = p ? p->kind : PAST_STEPS;
    size_t to = from;

    if (kind == PAST_UNDO) {
        if (!p->count || p->count > w->done)
            return false;
        w->done -= p->count;
        to = w->stack[w->done].before;
    } else if (kind == PAST_REDO) {
        if (!p->count || p->count > w->top - w->done)
            return false;
        w->done += p->count;
        to = w->stack[w->done - 1].after;
    } else if (kind == PAST_BRANCH) {
        to = w->at[p->count];
        if (!way_push(w, from, to))
            return false;
    } else if (!p || !p->count) {
        to = way_node(w, i, 0, from);
    }
    for (size_t k = 1; kind == PAST_STEPS && p && k <= p->count && to != SIZE_MAX; k++) {
        const size_t before = to;
        to = way_node(w, i, k, before);
        if (to == SIZE_MAX || !way_push(w, before, to))
            return false;
    }
    w->at[i] = to;
    return to != SIZE_MAX;
}

static bool way_find(struct way *w, const struct line *s, size_t n)
{
    w->at = mem_calloc(n + 1, sizeof *w->at, "a script", NULL);
    bool good = w->at && way_node(w, 0, 0, 0) == 0;

    w->nomem |= !w->at;

    for (size_t i = 1; i <= n && good; i++)
        good = way_line(w, s[i - 1].past, i, w->at[i - 1]);
    return good;
}

/* Is node a the node b, or on the way to it? */
static bool way_above(const struct way *w, size_t a, size_t b)
{
    while (b > a) /* parents have smaller numbers */
        b = w->node[b].parent;
    return a == b;
}

/* Where the ways to a and b part, and a line that leads on to b begins. */
static size_t way_parting(const struct way *w, size_t a, size_t b)
{
    size_t to = a, next = b;

    while (!way_above(w, to, b))
        to = w->node[to].parent;
    while (next != to && w->node[next].parent != to)
        next = w->node[next].parent;
    while (next != to && w->node[next].ord > 1) {
        next = to;
        to = w->node[to].parent;
    }
    return to;
}

/* The lines of the script in their order. */
struct script { struct line *line; size_t n, cap; struct way way; bool goes_back; };

static bool script_add(struct script *t, struct line s)
{
    if (mem_grow((void **)&t->line, &t->cap, t->n + 1, sizeof s, "a script", NULL) != ST_OK) {
        t->way.nomem = true;
        return false;
    }
    t->line[t->n++] = s;
    return true;
}

static bool script_back(struct script *t, size_t to)
{
    t->goes_back = true;
    return script_add(t, (struct line){ .line = "undo", .verb = "undo", .node = to, .keep = true,
                                        .back = true });
}

/* From node a to node b. */
static bool script_walk(struct script *t, const struct line *s, size_t a, size_t b)
{
    struct way *w = &t->way;
    const size_t from = way_parting(w, a, b);
    size_t len = 0;
    bool steps = false;

    for (size_t k = a; k != from; k = w->node[k].parent)
        steps |= w->node[k].ord > 0;
    if (steps && !script_back(t, from))
        return false;
    for (size_t k = b; k != from; k = w->node[k].parent)
        len++;
    size_t *path = mem_calloc(len ? len : 1, sizeof *path, "a script", NULL);
    for (size_t k = b, i = len; path && i-- > 0; k = w->node[k].parent)
        path[i] = k;
    bool good = path != NULL;

    w->nomem |= !path;
    for (size_t i = 0; good && i < len; i++) {
        const struct node *at = &w->node[path[i]];
        if (i + 1 < len && w->node[path[i + 1]].line == at->line)
            continue;
        struct line one = s[at->line - 1];
        const size_t count = one.past ? one.past->count : 0;
        one.node = at->ord ? path[i] + (count - at->ord) : path[i]; /* its steps stand together */
        good = script_add(t, one) && (at->ord == 0 || at->ord == count || script_back(t, path[i]));
    }
    free(path);
    return good;
}

/* The arguments of a fit that name the one that it begins from, or is compared with. */
enum { STARTS = 3 };
static const char *const starts[STARTS] = { "from", "continue", "against" };

/* The line of the fit that line i calibrated. */
static size_t calibrated(const struct line *s, size_t n, size_t i)
{
    const char *of = bare(args_text(s[i].args, "run"));
    size_t before = i;

    if (of && strcmp(of, ".") != 0)
        return line_of(s, n, of);
    while (before-- > 0)
        if (makes_fit(&s[before]) && s[before].run)
            return before;
    return SIZE_MAX;
}

/* Marks the fit of line `fit` and those that it named (`from=`, `continue=`, `against=`). */
static void mark_needed(const struct line *s, size_t n, size_t fit, bool *needed)
{
    while (fit != SIZE_MAX && !needed[fit]) {
        size_t before = SIZE_MAX;
        needed[fit] = true;
        for (size_t k = 0; s[fit].args && is(&s[fit], "fit") && k < STARTS; k++)
            if (args_given(s[fit].args, starts[k]))
                before = line_of(s, n, bare(args_text(s[fit].args, starts[k])));
        if (s[fit].args && is(&s[fit], "calibrate"))
            before = calibrated(s, n, fit);
        fit = before;
    }
}

/* Marks the fits from which lines made steps of their own (suggest), and what those began from. */
static void mark_read(const struct line *s, size_t n, bool *needed)
{
    for (size_t i = 0; i < n; i++)
        if (s[i].cmd && s[i].cmd->flags & CMD_NEEDS_MODEL && s[i].past && s[i].past->count > 0)
            mark_needed(s, n, line_of(s, n, about(&s[i])), needed);
}

/* True if the line makes a fit and a step: on the way to what is current it would be the last. */
static bool is_fit_with_step(const struct line *s)
{
    return makes_fit(s) && s->past && s->past->count > 0;
}

/* Puts into the script what is in force; false: only doing all of it again leads there. */
static bool script_in_force(struct script *t, const struct line *s, size_t n, size_t fit)
{
    bool *needed = mem_calloc(n ? n : 1, sizeof *needed, "a script", NULL);
    bool good = needed && way_find(&t->way, s, n);
    size_t at = 0;

    t->way.nomem |= !needed;

    if (good)
        mark_needed(s, n, fit, needed);
    if (good)
        mark_read(s, n, needed);
    for (size_t i = 0; i < n && good; i++)
        if (needed[i]) {
            good = script_walk(t, s, at, t->way.at[i + 1]);
            at = t->way.at[i + 1];
        }
    const size_t made = t->n;
    if (good)
        good = script_walk(t, s, at, t->way.at[n]);
    for (size_t i = made; i < t->n && fit != SIZE_MAX && good; i++)
        good = !is_fit_with_step(&t->line[i]);
    for (size_t i = 0; i < t->n && good; i++) {
        struct line *one = &t->line[i];
        one->keep = one->back || !one->past || one->past->count > 0 || one->run ||
                    one->interrupted || is(one, "score");
    }
    free(needed);
    return good;
}

/* Leaving out what was replaced. */

static size_t last_of(const struct line *s, size_t n, const char *verb)
{
    for (size_t i = n; i-- > 0;)
        if (s[i].keep && is(&s[i], verb))
            return i;
    return SIZE_MAX;
}

/* Drops everything before the last `open` if no later line depends on it. */
static void drop_old_data(struct line *s, size_t n, size_t fit)
{
    size_t load = SIZE_MAX, kernel = SIZE_MAX, tune = last_of(s, n, "tune");

    for (size_t i = 0; i < n; i++)
        if (s[i].keep && loads(&s[i]))
            load = i;
    /* The last fit, or amplitude and noise, come from older data. */
    if (load == SIZE_MAX || (fit != SIZE_MAX && fit < load) || (tune != SIZE_MAX && tune < load))
        return;
    for (size_t i = load; i < n; i++)
        if (s[i].keep && (is(&s[i], "use") || is(&s[i], "drop")))
            return;
    for (size_t i = load; i-- > 0 && kernel == SIZE_MAX;)
        if (s[i].keep && is(&s[i], "kernel"))
            kernel = i;
    for (size_t i = 0; i < load; i++)
        s[i].keep &= is(&s[i], "set") || i == kernel;
}

/* Drops fits other than the current one and those that it started from. */
static void drop_old_fits(struct line *s, size_t n, size_t fit)
{
    bool *needed = mem_calloc(n ? n : 1, sizeof *needed, "a script", NULL);

    if (needed)
        mark_needed(s, n, fit, needed);
    if (needed)
        mark_read(s, n, needed);
    for (size_t i = 0; needed && i < n; i++) {
        if (makes_fit(&s[i]))
            s[i].keep &= needed[i] || s[i].interrupted || is_fit_with_step(&s[i]);
        if (is(&s[i], "score"))
            s[i].keep &= fit != SIZE_MAX && i > fit && about(&s[i]) &&
                         line_of(s, n, about(&s[i])) == fit;
    }
    free(needed);
}

/* Keeps notes, stars and the bin only for runs that the script makes. */
static void drop_old_marks(struct line *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t made = is(&s[i], "note") || is(&s[i], "star") ? line_of(s, n, about(&s[i]))
                                                                   : SIZE_MAX;
        if (is(&s[i], "note") || is(&s[i], "star"))
            s[i].keep &= made != SIZE_MAX && s[made].keep;
        s[i].keep &= !s[i].bins;
    }
}

/* Drops a score if a later one of the same fit repeats it. */
static void drop_repeated_scores(struct line *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n && is(&s[i], "score") && !makes_fit(&s[k]); k++)
            if (s[k].keep && strcmp(s[k].line, s[i].line) == 0)
                s[i].keep = false;
}

/* Drops tunings before a `kernel` that is followed by a later tuning. */
static void drop_old_tunings(struct line *s, size_t n)
{
    const size_t kernel = last_of(s, n, "kernel"), tune = last_of(s, n, "tune");

    if (kernel == SIZE_MAX || tune == SIZE_MAX || tune < kernel)
        return;
    for (size_t i = 0; i < kernel; i++)
        if (is(&s[i], "tune"))
            s[i].keep = false;
}

static bool computes(const struct line *s)
{
    return s->keep && (is(s, "tune") || makes_fit(s) || is(s, "score"));
}

/* Drops settings that are set again before anything was computed from them. */
static void drop_replaced(struct line *s, size_t n)
{
    static const char *const verbs[] = { "split", "kernel", "missing", "use" };

    for (size_t v = 0; v < sizeof verbs / sizeof *verbs; v++)
        for (size_t i = 0; i < n; i++) {
            if (!s[i].keep || !is(&s[i], verbs[v]))
                continue;
            for (size_t k = i + 1; k < n && !computes(&s[k]) && !loads(&s[k]); k++) {
                /* A split by a column permanently removes that column from the inputs. */
                const bool column = s[i].args && is(&s[i], "split") &&
                                    args_given(s[i].args, "column") &&
                                    !args_given(s[i].args, "file");
                if (s[k].keep && is(&s[k], verbs[v]) && !column && !is(&s[i], "missing")) {
                    s[i].keep = false;
                    break;
                }
            }
        }
}

/* Writing. */

/* The absolute path of the table that an `open` line read. */
static const char *read_from(const struct workspace *ws, const struct line *s)
{
    const char *file = s->args ? args_text(s->args, "file") : NULL;
    const char *slash = file ? strrchr(file, '/') : NULL, *base = slash ? slash + 1 : file;

    for (size_t i = ws->ndata; file && i-- > 0;) {
        const char *path = ws->data[i]->table->path, *end = path ? strrchr(path, '/') : NULL;
        if (end && strcmp(end + 1, base) == 0)
            return path;
    }
    return NULL;
}

/* The position and length of the file name in a line that opens it; NULL if there is none. */
static const char *file_in(const struct workspace *ws, const struct line *s, const char **path,
                           size_t *len)
{
    struct buf quoted = { 0 };
    const char *at = NULL;

    *path = is(s, "open") ? read_from(ws, s) : NULL;
    if (*path) {
        command_quote(&quoted, args_text(s->args, "file"));
        at = strstr(s->line, buf_str(&quoted));
        *len = quoted.len;
    }
    buf_free(&quoted);
    return at;
}

/* True if the word of n bytes at p is the name of a run in this line. *name: where the name begins
 * in it. */
static bool names_run(const struct line *s, const char *p, size_t n, size_t word, size_t *name)
{
    const char *eq = memchr(p, '=', n);
    const size_t key = eq ? (size_t)(eq - p) : 0;
    bool known = false;

    if (!s->cmd || (is(s, "note") && word != 1))
        return false;
    for (size_t k = 0; k < ARGS_MAX && s->cmd->args[k].name && !known; k++) {
        const struct arg *a = &s->cmd->args[k];
        known = (a->type == ARG_RUN || (is(s, "drop") && a->type == ARG_WORD)) &&
                (eq ? strlen(a->name) == key && !strncmp(a->name, p, key) : a->flags & ARGF_POS);
    }
    *name = eq ? key + 1 : 0;
    if (known && n - *name > 4 && !strncmp(p + *name, "run:", 4))
        *name += 4;
    return known && (p[*name] == 'r' || p[*name] == 't') && n - *name > 1 &&
           strspn(p + *name + 1, "0123456789") >= n - *name - 1;
}

/* Writes the line with the new names of the runs. */
static void put_renamed(struct buf *out, const struct line *all, size_t n, const struct line *s)
{
    size_t word = 0;

    for (const char *p = s->line; *p; word++) {
        const size_t len = strcspn(p, " ");
        size_t name = 0;
        char id[24];
        bool done = false;
        if (word > 0 && names_run(s, p, len, word, &name) && len - name < sizeof id) {
            snprintf(id, sizeof id, "%.*s", (int)(len - name), p + name);
            const size_t made = line_of(all, n, id);
            done = made != SIZE_MAX && *all[made].id;
            if (done) {
                buf_putn(out, p, name);
                buf_puts(out, all[made].id);
            }
        }
        if (!done)
            buf_putn(out, p, len);
        p += len;
        const size_t blanks = strspn(p, " ");
        buf_putn(out, p, blanks);
        p += blanks;
    }
}

/* A note or star without a name is for the fit that was the last one then. */
static void put_named(struct buf *out, const struct line *all, size_t n, const struct line *s)
{
    const size_t made = line_of(all, n, about(s));

    if (args_given(s->args, "run") || made == SIZE_MAX || !*all[made].id) {
        put_renamed(out, all, n, s);
        return;
    }
    buf_printf(out, "%s %s%s", s->verb, all[made].id, s->line + strlen(s->verb));
}

static void put_line(struct buf *out, const struct workspace *ws, const struct line *all, size_t n,
                     const struct line *s)
{
    const char *path;
    size_t len;
    const char *at = file_in(ws, s, &path, &len);

    if (at) {
        buf_putn(out, s->line, (size_t)(at - s->line));
        command_quote(out, path);
        buf_puts(out, at + len);
    } else if (s->args && (is(s, "note") || is(s, "star"))) {
        put_named(out, all, n, s);
    } else {
        put_renamed(out, all, n, s);
    }
    buf_putc(out, '\n');
}

/* Writes the expected figures of a line, which are checked when it runs again. */
static void put_expected(struct buf *out, const struct line *all, size_t n, const struct line *s,
                         size_t *checks)
{
    const struct run *r = s->run;
    const char *id = s->id;

    if (is(s, "score") && about(s)) {
        const size_t made = line_of(all, n, about(s));
        r = made == SIZE_MAX ? NULL : all[made].run;
        id = made == SIZE_MAX ? "" : all[made].id;
    }
    if (!r || !*id || s->loose)
        return;
    struct buf figures = { 0 };
    expect_figures(r, is(s, "score"), &figures);
    out->failed |= figures.failed;
    if (figures.len) {
        buf_printf(out, "expect %s %s\n", id, buf_str(&figures));
        ++*checks;
    }
    buf_free(&figures);
}

/* True if line i is the last `score` of its run. The figures of earlier ones are not kept. */
static bool last_score(const struct line *s, size_t n, size_t i)
{
    for (size_t k = i + 1; k < n; k++)
        if (s[k].keep && is(&s[k], "score") && about(&s[k]) && about(&s[i]) &&
            !strcmp(about(&s[k]), about(&s[i])))
            return false;
    return true;
}

/* True if the line is in a script as a command; one that was interrupted is a comment. */
static bool stands(const struct line *s)
{
    return s->keep && !(s->interrupted && !s->whole && (is(s, "#") || is(s, "fit")));
}

/* Writes `branch N` with N counted in lines of this script. */
static void put_branch(struct buf *out, const struct line *s, size_t i)
{
    size_t between = 0;

    for (size_t k = s[i].past->count; k < i; k++)
        between += stands(&s[k]) ? s[k].written : 0;
    buf_printf(out, "branch -%zu\n", between);
}

/* `undo` to the state after `node`: how many of the steps of this script that takes.  `step` has
 * those steps, of which this leaves the rest. */
static void put_back(struct buf *out, const struct way *w, size_t node, size_t *step, size_t *n)
{
    const size_t before = *n;

    while (*n && !way_above(w, step[*n - 1], node))
        --*n;
    if (before - *n == 1)
        buf_puts(out, "undo\n");
    else if (before > *n)
        buf_printf(out, "undo %zu\n", before - *n);
}

/* What an interrupted tuning had found by then, as settings.  A lengthscale for each input is a
 * comment: a kernel has them only once it has met its data. */
static void put_found(struct buf *out, const struct line *s)
{
    const struct run *r = s->run;

    if (s->args && args_given(s->args, "kernel")) {
        buf_puts(out, "kernel ");
        kernel_print(&r->fit.kernel, out);
        buf_putc(out, '\n');
    }
    const bool each = kernel_has_ard(&r->fit.kernel);
    buf_puts(out, "set amplitude=");
    buf_json_double(out, r->tune.best.amplitude);
    if (!r->topt.likelihood) { /* classes have no noise */
        buf_puts(out, " noise=");
        buf_json_double(out, r->tune.best.noise);
    }
    for (size_t i = 0; i < r->tune.nhp; i++) {
        char name[KERNEL_NAME_MAX];
        kernel_hp_info(&r->fit.kernel, i, name, NULL);
        buf_printf(out, "%s%s=", each && i == 0 ? "\n# not set: " : " ", name);
        buf_json_double(out, r->tune.best.hp[i]);
    }
    buf_putc(out, '\n');
}

/* A line that was interrupted: a comment, and what has to stand for it. */
static void put_interrupted(struct buf *out, const struct line *s)
{
    if (is(s, "#")) {
        buf_printf(out, "%s\n", s->line);
    } else if (is(s, "tune")) {
        buf_printf(out, "# interrupted after %zu evaluations, the best of which is set here: %s\n",
                   s->run->tune.evaluations, s->line);
        put_found(out, s);
    } else if (s->whole) {
        buf_printf(out, "# was interrupted at iteration %zu, runs to its end here\n",
                   s->run->info.iterations);
    } else {
        buf_printf(out, "# interrupted at iteration %zu: %s\n", s->run->info.iterations, s->line);
    }
}

/* The line of the run that line s begins from, scores or marks; SIZE_MAX: none. */
static size_t line_meant(const struct line *all, size_t n, const struct line *s)
{
    if (is(s, "score") || is(s, "note") || is(s, "star"))
        return line_of(all, n, about(s));
    if (is(s, "drop") && s->args)
        return line_of(all, n, bare(args_text(s->args, "what")));
    for (size_t k = 0; is(s, "fit") && s->args && k < 2; k++)
        if (args_given(s->args, starts[k]))
            return line_of(all, n, bare(args_text(s->args, starts[k])));
    return SIZE_MAX;
}

/* Which interrupted fits the script needs whole, and which lines it has no use for without.  Of a
 * whole history nothing is left out. */
static void settle_interrupted(struct line *s, size_t n, bool all)
{
    bool loose = false;

    for (size_t i = 0; i < n; i++) {
        const size_t made = s[i].keep ? line_meant(s, n, &s[i]) : SIZE_MAX;
        if (made != SIZE_MAX && s[made].interrupted && made != i) {
            if (all || (makes_fit(&s[i]) && !s[i].interrupted))
                s[made].whole = true;
            else if (!s[made].whole)
                s[i].keep = false;
        }
    }
    for (size_t i = 0; i < n; i++) {
        const size_t made = s[i].keep ? line_meant(s, n, &s[i]) : SIZE_MAX;
        if (is(&s[i], "tune") && s[i].keep)
            loose = s[i].interrupted;
        s[i].loose = loose || s[i].whole || (made != SIZE_MAX && s[made].loose);
    }
}

/* The commands that stand for proposals and for measurements from a file: 0: the line itself does.
 * Several of them need `undo`s that are counted anew. */
static size_t put_rows(struct buf *out, const struct workspace *ws, const struct line *s,
                       bool several)
{
    const bool asks = is(s, "suggest") || is(s, "ask"),
               tells = is(s, "tell") && s->args && args_text(s->args, "file");

    if ((!asks && !tells) || !s->past || s->past->kind != PAST_STEPS || s->past->count != 1)
        return 0;
    const struct transcript_rows at = {
        .line = s->line, .number = (size_t)(s->past - timeline_past(ws, 0)) + 1,
        .goal = tells && args_given(s->args, "goal") ? args_text(s->args, "goal") : NULL,
        .most = several ? SIZE_MAX : 1 };
    return transcript_rows_put(out, ws, &at);
}

/* way NULL: every line is literally there. */
static void put_lines(struct buf *out, const struct workspace *ws, struct line *s, size_t n,
                      const struct way *way)
{
    size_t fits = 0, tunes = 0, checks = 0, nstep = 0;
    size_t *step = way ? mem_calloc(way->n * 2 + n, sizeof *step, "a script", NULL) : NULL;

    out->failed |= way && !step;
    for (size_t i = 0; i < n && !out->failed; i++) {
        if (!s[i].keep)
            continue;
        if (s[i].back) {
            put_back(out, way, s[i].node, step, &nstep);
            continue;
        }
        const size_t count = s[i].past ? s[i].past->count : 0;
        for (size_t k = count; step && k-- > 0;)
            step[nstep++] = s[i].node - k;
        s[i].written = 1;
        if (s[i].interrupted)
            put_interrupted(out, &s[i]);
        if (s[i].interrupted && !s[i].whole)
            continue;
        if (makes_fit(&s[i]))
            snprintf(s[i].id, sizeof s[i].id, "r%zu", ++fits);
        else if (is(&s[i], "tune"))
            snprintf(s[i].id, sizeof s[i].id, "t%zu", ++tunes);
        const size_t rows = put_rows(out, ws, &s[i], step != NULL);
        for (size_t k = 1; step && k < rows; k++)
            step[nstep++] = s[i].node; /* one `undo` for each */
        if (rows)
            s[i].written = rows;
        else if (s[i].past && s[i].past->kind == PAST_BRANCH)
            put_branch(out, s, i);
        else
            put_line(out, ws, s, n, &s[i]);
        if (!is(&s[i], "score") || last_score(s, n, i))
            put_expected(out, s, n, &s[i], &checks);
    }
    free(step);
    if (checks)
        buf_puts(out, "expect\n");
}

static void read_lines(const struct workspace *ws, struct line *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s[i].line = ws->script[i];
        s[i].keep = true;
        s[i].past = timeline_past(ws, i);
        if (s[i].past && !s[i].past->at)
            s[i].past = NULL;
        snprintf(s[i].verb, sizeof s[i].verb, "%.*s", (int)strcspn(s[i].line, " "), s[i].line);
        if (command_parse(s[i].line, &s[i].cmd, &s[i].args, NULL) != ST_OK)
            s[i].args = NULL;
    }
    find_runs(ws, s, n);
    for (size_t i = 0; i < n; i++)
        if (is(&s[i], "drop") && s[i].args)
            s[i].bins = line_of(s, n, bare(args_text(s[i].args, "what"))) != SIZE_MAX;
        else if (!is(&s[i], "#"))
            s[i].interrupted = s[i].run && run_interrupted(s[i].run);
        else
            (void)timeline_command(s[i].line, &s[i].interrupted);
    for (size_t i = 0; i < n; i++)
        if (s[i].past)
            snprintf(s[i].last, sizeof s[i].last, "%s", s[i].past->last);
        else if (makes_fit(&s[i]) && s[i].run)
            snprintf(s[i].last, sizeof s[i].last, "%s", s[i].run->id);
        else if (i)
            memcpy(s[i].last, s[i - 1].last, sizeof s[i].last);
}

/* Leaves out what nothing that stays depends on. */
static void shorten(const struct workspace *ws, struct script *t)
{
    struct line *s = t->line;
    const size_t n = t->n, fit = line_of(s, n, ws->last_fit);

    drop_old_fits(s, n, fit);
    drop_old_marks(s, n);
    drop_repeated_scores(s, n);
    if (t->goes_back)
        return; /* what the lines replace is what `undo` goes back to */
    drop_old_data(s, n, fit);
    drop_old_tunings(s, n);
    drop_replaced(s, n);
}

/* The script of the lines s: in force, or (also when that cannot be told) all of them. */
static void write_script(const struct workspace *ws, bool all, struct line *s, size_t n,
                         struct buf *out)
{
    struct script t = { .line = NULL };
    const size_t fit = line_of(s, n, ws->last_fit);
    bool seeded = false;

    const bool short_one = !all && script_in_force(&t, s, n, fit);
    out->failed |= t.way.nomem;
    if (short_one) {
        shorten(ws, &t);
        s = t.line;
        n = t.n;
    }
    settle_interrupted(s, n, !short_one);
    for (size_t i = 0; i < n; i++)
        seeded |= s[i].keep && is(&s[i], "set") && strstr(s[i].line, " seed=") != NULL;
    buf_puts(out, "#!/usr/bin/env -S gpdesk -f\n");
    if (!seeded)
        buf_printf(out, "set seed=%" PRIu64 "\n", ws->opt.seed);
    put_lines(out, ws, s, n, short_one ? &t.way : NULL);
    free(t.line);
    way_free(&t.way);
}

enum status transcript(const struct workspace *ws, bool all, struct buf *out, struct err *err)
{
    const size_t view = timeline_view(ws), n = view < ws->nscript ? view : ws->nscript;
    struct line *s = mem_calloc(n ? n : 1, sizeof *s, "a script", err);

    if (!s)
        return ST_NOMEM;
    read_lines(ws, s, n);
    write_script(ws, all, s, n, out);
    for (size_t i = 0; i < n; i++)
        args_free(s[i].args);
    free(s);
    return out->failed ? err_nomem(err, out->cap, "a script") : ST_OK;
}

enum status transcript_interrupted(const struct workspace *ws, bool *out, struct err *err)
{
    struct line *s = mem_calloc(ws->nscript ? ws->nscript : 1, sizeof *s, "a script", err);

    if (!s)
        return ST_NOMEM;
    read_lines(ws, s, ws->nscript);
    for (size_t i = 0; i < ws->nscript; i++) {
        out[i] = s[i].interrupted;
        args_free(s[i].args);
    }
    free(s);
    return ST_OK;
}
