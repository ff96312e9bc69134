/* app/session/transcript.c -- a session written as a script that does it again: see transcript.h.
 *
 * What was undone is left out where nothing that stays was made in between.  Of the rest a line is
 * left out only when what follows cannot depend on it: data that another `open` replaces, a split
 * that is replaced before anything was made from it, fits that are not the last, tunings whose
 * result a later `kernel` and `tune` replace.  Runs have the numbers that they get when the script
 * runs. */
#include "app/session/transcript.h"

#include "app/shell/args.h"
#include "app/session/expect.h"
#include "app/session/timeline.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct line {
    const char *line;
    char verb[24];
    const struct command *cmd; /* NULL: it does not parse (any more) */
    struct args *args;
    const struct run *run;     /* of a tune or fit */
    const struct past *past;   /* NULL: of a session before there were any */
    char last[16];             /* the last fit, when it ended */
    char id[16];               /* the run's new name */
    bool keep;
};

static bool is(const struct line *s, const char *verb)
{
    return strcmp(s->verb, verb) == 0;
}

static bool loads(const struct line *s)
{
    return is(s, "open") || is(s, "demo");
}

/* Which run a line made. */

/* The run after the one with serial `from` that this line made; those in the bin count. */
static const struct run *run_made(const struct workspace *ws, const struct line *s, size_t from)
{
    const enum run_kind kind = is(s, "fit") ? RUN_FIT : RUN_TUNE;
    const struct run *found = NULL;

    for (size_t i = 0; i < ws->nrun + ws->nbin; i++) {
        const struct run *r = i < ws->nrun ? ws->run[i] : ws->bin[i - ws->nrun];
        if (r->serial >= from && r->kind == kind && r->command &&
            strcmp(r->command, s->line) == 0 &&
            (r->state == RUN_DONE || r->state == RUN_STOPPED) &&
            (!found || r->serial < found->serial))
            found = r;
    }
    return found;
}

/* Runs come in the order of the lines; one that failed has no line. */
static void find_runs(const struct workspace *ws, struct line *s, size_t n)
{
    size_t from = 0;

    for (size_t i = 0; i < n; i++) {
        if (!is(&s[i], "tune") && !is(&s[i], "fit"))
            continue;
        s[i].run = run_made(ws, &s[i], from);
        from = s[i].run ? s[i].run->serial + 1 : from;
    }
}

/* "r7" or "run:r7" without what stands before the name. */
static const char *bare(const char *name)
{
    return name && !strncmp(name, "run:", 4) ? name + 4 : name;
}

/* The run that a line is about: score, note, star. */
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

/* What was undone. */

enum { DEPTH_MOST = 4096 };

/* The way of lines that leads to what is current: way[i] is the line before line i on it, from 1;
 * 0: the beginning.  Line i, when it went back, on or elsewhere, is the end of the way of line
 * at[i].  Returns false when only doing all of it again leads there: a line that did two things,
 * and one undone. */
static bool find_way(const struct line *s, size_t n, size_t *at, size_t *way)
{
    size_t stack[DEPTH_MOST], top = 0, done = 0;

    for (size_t i = 1; i <= n; i++) {
        const struct past *p = s[i - 1].past;
        const enum past_kind kind = p ? p->kind : PAST_STEPS;
        at[i] = i;
        way[i] = at[i - 1];
        if (kind == PAST_UNDO) {
            if (p->count > done)
                return false;
            done -= p->count;
            const size_t c = stack[done];
            if (done > 0 && stack[done - 1] == c)
                return false;
            at[i] = at[c - 1];
        } else if (kind == PAST_REDO) {
            if (p->count > top - done)
                return false;
            done += p->count;
            const size_t c = stack[done - 1];
            if (done < top && stack[done] == c)
                return false;
            at[i] = at[c];
        } else if (kind == PAST_BRANCH) {
            at[i] = at[p->count];
        }
        const size_t pushes = kind == PAST_BRANCH ? 1 : kind == PAST_STEPS && p ? p->count : 0;
        if (done + pushes > DEPTH_MOST)
            return false;
        for (size_t k = 0; k < pushes; k++)
            stack[done++] = i;
        if (pushes)
            top = done;
    }
    return true;
}

/* Leaves out what was undone, and what changed nothing; false when the last fit was made in
 * between: then all of it has to be done again. */
static bool drop_undone(struct line *s, size_t n, size_t fit, struct err *err)
{
    size_t *at = mem_calloc(2 * (n + 1), sizeof *at, "a script", err), *way = at + n + 1;
    bool *on = mem_calloc(n + 1, sizeof *on, "a script", err);
    bool good = at && on && find_way(s, n, at, way);

    for (size_t i = good ? at[n] : 0; i > 0; i = way[i])
        on[i - 1] = true;
    good = good && (fit == SIZE_MAX || on[fit]);
    for (size_t i = 0; good && i < n; i++)
        s[i].keep = on[i] && (!s[i].past || s[i].past->count > 0 || s[i].run || is(&s[i], "score"));
    free(at);
    free(on);
    return good;
}

/* What may go. */

static size_t last_of(const struct line *s, size_t n, const char *verb)
{
    for (size_t i = n; i-- > 0;)
        if (s[i].keep && is(&s[i], verb))
            return i;
    return SIZE_MAX;
}

/* Everything before the last `open` that no later line reaches back to. */
static void drop_old_data(struct line *s, size_t n, size_t fit)
{
    size_t load = SIZE_MAX, kernel = SIZE_MAX, tune = last_of(s, n, "tune");

    for (size_t i = 0; i < n; i++)
        if (s[i].keep && loads(&s[i]))
            load = i;
    /* The last fit was made of older data, or amplitude and noise were. */
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

/* Fits other than the one that is current, and those that it began from. */
static void drop_old_fits(struct line *s, size_t n, size_t fit)
{
    static const char *const starts[] = { "from", "continue" };
    bool *needed = mem_calloc(n ? n : 1, sizeof *needed, "a script", NULL);

    for (size_t i = fit; needed && i != SIZE_MAX && !needed[i];) {
        needed[i] = true;
        size_t before = SIZE_MAX;
        for (size_t k = 0; s[i].args && k < 2; k++)
            if (args_given(s[i].args, starts[k]))
                before = line_of(s, n, bare(args_text(s[i].args, starts[k])));
        i = before;
    }
    for (size_t i = 0; needed && i < n; i++) {
        if (is(&s[i], "fit"))
            s[i].keep &= needed[i] || (s[i].past && s[i].past->count > 0);
        if (is(&s[i], "score"))
            s[i].keep &= fit != SIZE_MAX && i > fit && about(&s[i]) &&
                         line_of(s, n, about(&s[i])) == fit;
    }
    free(needed);
}

/* Remarks, stars and the bin concern runs: those that the script makes. */
static void drop_old_marks(struct line *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t made = is(&s[i], "note") || is(&s[i], "star") ? line_of(s, n, about(&s[i]))
                                                                   : SIZE_MAX;
        if (is(&s[i], "note") || is(&s[i], "star"))
            s[i].keep &= made != SIZE_MAX && s[made].keep;
        const char *what = is(&s[i], "drop") && s[i].args ? args_text(s[i].args, "what") : NULL;
        if (what && line_of(s, n, bare(what)) != SIZE_MAX)
            s[i].keep = false;
    }
}

/* A score that a later one of the same fit repeats. */
static void drop_repeated_scores(struct line *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n && is(&s[i], "score") && !is(&s[k], "fit"); k++)
            if (s[k].keep && strcmp(s[k].line, s[i].line) == 0)
                s[i].keep = false;
}

/* Tunings before a `kernel` that a later tuning follows. */
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
    return s->keep && (is(s, "tune") || is(s, "fit") || is(s, "score"));
}

/* Settings that the same setting replaces before anything was computed from them. */
static void drop_replaced(struct line *s, size_t n)
{
    static const char *const verbs[] = { "split", "kernel", "missing", "use" };

    for (size_t v = 0; v < sizeof verbs / sizeof *verbs; v++)
        for (size_t i = 0; i < n; i++) {
            if (!s[i].keep || !is(&s[i], verbs[v]))
                continue;
            for (size_t k = i + 1; k < n && !computes(&s[k]) && !loads(&s[k]); k++) {
                /* A split by a column takes that column from the inputs, for good. */
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

/* Where in a line the file stands that it opens; its length.  NULL: nowhere. */
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

/* Is the word at p, of n bytes, the name of a run in this line?  *name: where it begins in it. */
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

/* The line with the runs' new names. */
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

/* A remark or star without a name is for the fit that was the last one then. */
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

/* What is to come of a line, checked when it is run again. */
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
    if (!r || !*id)
        return;
    struct buf figures = { 0 };
    expect_figures(r, is(s, "score"), &figures);
    if (figures.len) {
        buf_printf(out, "expect %s %s\n", id, buf_str(&figures));
        ++*checks;
    }
    buf_free(&figures);
}

/* Is line i the last `score` of its run?  The figures of earlier ones are not kept. */
static bool last_score(const struct line *s, size_t n, size_t i)
{
    for (size_t k = i + 1; k < n; k++)
        if (s[k].keep && is(&s[k], "score") && about(&s[k]) && about(&s[i]) &&
            !strcmp(about(&s[k]), about(&s[i])))
            return false;
    return true;
}

/* `branch 12` says how many lines of this script lie in between. */
static void put_branch(struct buf *out, const struct line *s, size_t i)
{
    size_t between = 0;

    for (size_t k = s[i].past->count; k < i; k++)
        between += s[k].keep;
    buf_printf(out, "branch -%zu\n", between);
}

static void put_lines(struct buf *out, const struct workspace *ws, struct line *s, size_t n)
{
    size_t fits = 0, tunes = 0, checks = 0;

    for (size_t i = 0; i < n; i++) {
        if (!s[i].keep)
            continue;
        if (is(&s[i], "fit"))
            snprintf(s[i].id, sizeof s[i].id, "r%zu", ++fits);
        else if (is(&s[i], "tune"))
            snprintf(s[i].id, sizeof s[i].id, "t%zu", ++tunes);
        if (s[i].past && s[i].past->kind == PAST_BRANCH)
            put_branch(out, s, i);
        else
            put_line(out, ws, s, n, &s[i]);
        if (!is(&s[i], "score") || last_score(s, n, i))
            put_expected(out, s, n, &s[i], &checks);
    }
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
        if (s[i].past)
            snprintf(s[i].last, sizeof s[i].last, "%s", s[i].past->last);
        else if (is(&s[i], "fit") && s[i].run)
            snprintf(s[i].last, sizeof s[i].last, "%s", s[i].run->id);
        else if (i)
            memcpy(s[i].last, s[i - 1].last, sizeof s[i].last);
}

static void shorten(const struct workspace *ws, struct line *s, size_t n, struct err *err)
{
    const size_t fit = line_of(s, n, ws->last_fit);

    if (!drop_undone(s, n, fit, err))
        return; /* what was undone must be there to be undone */
    drop_old_fits(s, n, fit);
    drop_old_marks(s, n);
    drop_old_data(s, n, fit);
    drop_repeated_scores(s, n);
    drop_old_tunings(s, n);
    drop_replaced(s, n);
}

enum status transcript(const struct workspace *ws, bool all, struct buf *out, struct err *err)
{
    const size_t view = timeline_view(ws), n = view < ws->nscript ? view : ws->nscript;
    struct line *s = mem_calloc(n ? n : 1, sizeof *s, "a script", err);
    bool seeded = false;

    if (!s)
        return ST_NOMEM;
    read_lines(ws, s, n);
    if (!all)
        shorten(ws, s, n, err);
    for (size_t i = 0; i < n; i++)
        seeded |= s[i].keep && is(&s[i], "set") && strstr(s[i].line, " seed=") != NULL;
    buf_puts(out, "#!/usr/bin/env -S gpdesk -f\n");
    if (!seeded)
        buf_printf(out, "set seed=%" PRIu64 "\n", ws->opt.seed);
    put_lines(out, ws, s, n);
    for (size_t i = 0; i < n; i++)
        args_free(s[i].args);
    free(s);
    return out->failed ? err_nomem(err, out->cap, "a script") : ST_OK;
}
