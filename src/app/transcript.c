/* app/transcript.c -- a session written as a script that does it again: see transcript.h.
 *
 * A line is left out only when what follows cannot depend on it: data that another `open` replaces,
 * a split that is replaced before anything was made from it, fits that are not the last, tunings
 * whose result a later `kernel` and `tune` replace. */
#include "app/transcript.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct step {
    const char *line;
    char verb[24];
    const struct command *cmd; /* NULL: it does not parse (any more) */
    struct args *args;
    const struct run *run;     /* of a tune or fit */
    bool keep;
};

static bool is(const struct step *s, const char *verb)
{
    return strcmp(s->verb, verb) == 0;
}

static bool loads(const struct step *s)
{
    return is(s, "open") || is(s, "demo");
}

/* ---- which run a line made ------------------------------------------------------------------------- */

/* Runs come in the order of the lines; one that failed has no line. */
static void find_runs(const struct workspace *ws, struct step *s, size_t n)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        if (!is(&s[i], "tune") && !is(&s[i], "fit"))
            continue;
        const enum run_kind kind = is(&s[i], "fit") ? RUN_FIT : RUN_TUNE;
        for (size_t k = at; k < ws->nrun; k++) {
            const struct run *r = ws->run[k];
            if (r->kind == kind && r->command && strcmp(r->command, s[i].line) == 0 &&
                (r->state == RUN_DONE || r->state == RUN_STOPPED)) {
                s[i].run = r;
                at = k + 1;
                break;
            }
        }
    }
}

/* ---- what may go -------------------------------------------------------------------------------------- */

static size_t last_of(const struct step *s, size_t n, const char *verb)
{
    for (size_t i = n; i-- > 0;)
        if (s[i].keep && is(&s[i], verb))
            return i;
    return SIZE_MAX;
}

/* Everything before the last `open` that no later line reaches back to. */
static void drop_old_data(struct step *s, size_t n)
{
    size_t load = SIZE_MAX, kernel = SIZE_MAX;

    for (size_t i = 0; i < n; i++)
        if (loads(&s[i]))
            load = i;
    if (load == SIZE_MAX)
        return;
    for (size_t i = load; i < n; i++)
        if (is(&s[i], "use"))
            return;
    for (size_t i = load; i-- > 0 && kernel == SIZE_MAX;)
        if (is(&s[i], "kernel"))
            kernel = i;
    /* A tuning before it with no kernel since is where the next one starts. */
    for (size_t i = kernel == SIZE_MAX ? 0 : kernel; i < load; i++)
        if (is(&s[i], "tune") && last_of(s, n, "kernel") < load)
            return;
    for (size_t i = 0; i < load; i++)
        s[i].keep = is(&s[i], "set") || i == kernel;
}

static void drop_old_fits(struct step *s, size_t n)
{
    const size_t fit = last_of(s, n, "fit");

    for (size_t i = 0; i < n; i++) {
        if (is(&s[i], "fit") && i != fit)
            s[i].keep = false;
        if (!is(&s[i], "score"))
            continue;
        const char *of = s[i].args ? args_text(s[i].args, "run") : NULL;
        const bool named = of && strcmp(of, ".") != 0 && fit != SIZE_MAX && s[fit].run;
        s[i].keep = fit != SIZE_MAX && i > fit &&
                    (!named || strcmp(strncmp(of, "run:", 4) ? of : of + 4, s[fit].run->id) == 0);
    }
}

/* A score that a later one of the same fit repeats. */
static void drop_repeated_scores(struct step *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n && is(&s[i], "score") && !is(&s[k], "fit"); k++)
            if (s[k].keep && strcmp(s[k].line, s[i].line) == 0)
                s[i].keep = false;
}

/* Tunings before a `kernel` that a later tuning follows. */
static void drop_old_tunings(struct step *s, size_t n)
{
    const size_t kernel = last_of(s, n, "kernel"), tune = last_of(s, n, "tune");

    if (kernel == SIZE_MAX || tune == SIZE_MAX || tune < kernel)
        return;
    for (size_t i = 0; i < kernel; i++)
        if (is(&s[i], "tune"))
            s[i].keep = false;
}

static bool computes(const struct step *s)
{
    return s->keep && (is(s, "tune") || is(s, "fit") || is(s, "score"));
}

/* Settings that the same setting replaces before anything was computed from them. */
static void drop_replaced(struct step *s, size_t n)
{
    static const char *const verbs[] = { "split", "kernel", "missing", "use" };

    for (size_t v = 0; v < sizeof verbs / sizeof *verbs; v++)
        for (size_t i = 0; i < n; i++) {
            if (!s[i].keep || !is(&s[i], verbs[v]))
                continue;
            for (size_t k = i + 1; k < n && !computes(&s[k]) && !loads(&s[k]); k++) {
                /* A split by a column takes that column from the inputs, for good. */
                const bool column = s[i].args && is(&s[i], "split") &&
                                    args_given(s[i].args, "column") && !args_given(s[i].args, "file");
                if (s[k].keep && is(&s[k], verbs[v]) && !column && !is(&s[i], "missing")) {
                    s[i].keep = false;
                    break;
                }
            }
        }
}

/* ---- writing -------------------------------------------------------------------------------------------- */

/* The absolute path of the table that an `open` line read. */
static const char *read_from(const struct workspace *ws, const struct step *s)
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

static void put_line(struct buf *out, const struct workspace *ws, const struct step *s)
{
    const char *path = is(s, "open") ? read_from(ws, s) : NULL;
    const char *file = path ? args_text(s->args, "file") : NULL;
    struct buf quoted = { 0 };
    const char *at = NULL;

    if (file) {
        command_quote(&quoted, file);
        at = strstr(s->line, buf_str(&quoted));
    }
    if (at) {
        buf_putn(out, s->line, (size_t)(at - s->line));
        command_quote(out, path);
        buf_puts(out, at + quoted.len);
    } else {
        buf_puts(out, s->line);
    }
    buf_putc(out, '\n');
    buf_free(&quoted);
}

static void put_tuned(struct buf *out, const struct run *r, size_t number)
{
    const struct tune_result *t = &r->tune;

    buf_printf(out, "# t%zu: nmll ", number);
    buf_json_double(out, t->best.nmll);
    for (size_t i = 0; i < t->nhp; i++) {
        char name[KERNEL_NAME_MAX];
        struct hparam h;
        kernel_hp_info(&r->fit.kernel, i, name, &h);
        buf_printf(out, ", %s ", name);
        buf_json_double(out, t->best.hp[i]);
    }
    for (int noise = 0; noise < 2; noise++) {
        buf_puts(out, noise ? ", noise" : ", amplitude");
        for (size_t j = 0; j < (r->topt.targets ? r->topt.targets : 1); j++) {
            buf_putc(out, ' ');
            buf_json_double(out, (noise ? t->best.noises : t->best.amplitudes)[j]);
        }
    }
    buf_putc(out, '\n');
}

static void put_fitted(struct buf *out, const struct run *r, size_t number)
{
    buf_printf(out, "# r%zu: %s, %zu features, %zu iterations, true residual ", number,
               outcome_name(r->info.why), r->info.features, r->info.iterations);
    buf_json_double(out, r->info.true_residual);
    buf_putc(out, '\n');
}

static void put_scored(struct buf *out, const struct run *r)
{
    const struct metrics *m;
    char of[40];

    for (size_t j = 0; (m = ws_run_metrics(r, j, false)); j++) {
        buf_printf(out, "# score%s: rmse_scaled ", ws_run_of(r, j, of, sizeof of));
        buf_json_double(out, m->rmse);
        buf_puts(out, ", nlpd_scaled ");
        buf_json_double(out, m->nlpd);
        buf_puts(out, ", coverage95 ");
        buf_json_double(out, m->coverage95);
        buf_putc(out, '\n');
    }
}

/* `score r7` under the number that the run gets this time. */
static void put_score(struct buf *out, const struct step *s, const struct run *fit, size_t number)
{
    char old[24];

    snprintf(old, sizeof old, "%s", fit->id);
    const char *at = strstr(s->line, old);
    if (at && at > s->line && strchr(" =:", at[-1])) {
        buf_putn(out, s->line, (size_t)(at - s->line));
        buf_printf(out, "r%zu%s\n", number, at + strlen(old));
    } else {
        buf_printf(out, "%s\n", s->line);
    }
}

static const struct run *by_id(const struct workspace *ws, const char *id)
{
    for (size_t i = 0; i < ws->nrun; i++)
        if (strcmp(ws->run[i]->id, id) == 0)
            return ws->run[i];
    return NULL;
}

static void put_steps(struct buf *out, const struct workspace *ws, const struct step *s, size_t n,
                      bool all)
{
    const struct run *fit = NULL;
    size_t fits = 0, tunes = 0, last_score = SIZE_MAX;

    for (size_t i = 0; i < n; i++)
        if (s[i].keep && is(&s[i], "score"))
            last_score = i;
    for (size_t i = 0; i < n; i++) {
        if (!s[i].keep)
            continue;
        if (is(&s[i], "fit") && s[i].run)
            fit = s[i].run;
        if (is(&s[i], "score") && fit && !all) {
            put_score(out, &s[i], fit, fits);
        } else {
            put_line(out, ws, &s[i]);
        }
        if (is(&s[i], "tune")) {
            tunes++;
            if (s[i].run)
                put_tuned(out, s[i].run, tunes);
        } else if (is(&s[i], "fit")) {
            fits++;
            if (s[i].run)
                put_fitted(out, s[i].run, fits);
        } else if (i == last_score) {
            const char *of = s[i].args ? args_text(s[i].args, "run") : NULL;
            const struct run *r = of && strcmp(of, ".") ? by_id(ws, strncmp(of, "run:", 4) ? of : of + 4)
                                                        : fit;
            if (r && r->has_score)
                put_scored(out, r);
        }
    }
}

enum status transcript(const struct workspace *ws, bool all, struct buf *out, struct err *err)
{
    const size_t n = ws->nscript;
    struct step *s = mem_calloc(n, sizeof *s, "a script", err);
    bool seeded = false;

    if (!s)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++) {
        s[i].line = ws->script[i];
        s[i].keep = true;
        snprintf(s[i].verb, sizeof s[i].verb, "%.*s", (int)strcspn(s[i].line, " "), s[i].line);
        if (command_parse(s[i].line, &s[i].cmd, &s[i].args, NULL) != ST_OK)
            s[i].args = NULL;
        seeded |= is(&s[i], "set") && strstr(s[i].line, " seed=") != NULL;
    }
    find_runs(ws, s, n);
    if (!all) {
        drop_old_data(s, n);
        drop_old_fits(s, n);
        drop_repeated_scores(s, n);
        drop_old_tunings(s, n);
        drop_replaced(s, n);
    }
    buf_puts(out, "#!/usr/bin/env -S gpdesk -f\n");
    if (!seeded)
        buf_printf(out, "set seed=%" PRIu64 "\n", ws->opt.seed);
    put_steps(out, ws, s, n, all);
    for (size_t i = 0; i < n; i++)
        args_free(s[i].args);
    free(s);
    return out->failed ? err_nomem(err, out->cap, "a script") : ST_OK;
}
