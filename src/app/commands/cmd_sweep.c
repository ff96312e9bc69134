/* app/commands/cmd_sweep.c -- the command `sweep`: queues the statements of each point as `source`
 * does, each point on its own so that one that fails does not stop the others, and then its own
 * table. */
#include "app/shell/commands.h"
#include "app/shell/text_table.h"
#include "app/runs/sweep.h"
#include "app/core/workspace.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The run that point i made: the last of its kind before the next point began. */
static const struct run *run_of(const struct workspace *ws, const struct sweep *s, size_t i)
{
    if (s->first[i] == SIZE_MAX)
        return NULL;
    const size_t end =
        i + 1 < s->npoints && s->first[i + 1] != SIZE_MAX ? s->first[i + 1] : ws->runs_made;
    const struct run *found = NULL;

    for (size_t r = 0; r < ws->nrun; r++)
        if (ws->run[r]->serial >= s->first[i] && ws->run[r]->serial < end &&
            (ws->run[r]->kind == RUN_FIT) == s->fits)
            found = ws->run[r];
    return found;
}

enum measure { RMSE, NLPD, COVERAGE, NMLL, EFFDIM, ITERATIONS, SECONDS, MEASURES };
static const struct { const char *key, *head, *show, *axis; } measures[MEASURES] = {
    { "rmse_scaled", "rmse/sd", "rmse", "RMSE over the target's sd" },
    { "nlpd_scaled", "nlpd", "nlpd", "NLPD (nats a row, scaled)" },
    { "coverage95", "cover95", "coverage", "share inside the 95 % interval" },
    { "nmll", "nmll", "nmll", "NMLL (nats)" },
    { "effective_dimension", "effdim", "effdim", "effective dimension" },
    { "iterations", "it", "iterations", "iterations" },
    { "seconds", "seconds", "seconds", "seconds" },
};

/* A scaled score, the mean over the run's targets. */
static double score_mean(const struct run *r, size_t at)
{
    const struct metrics *m;
    double sum = 0.0, v;
    size_t n = 0;

    for (; (m = ws_run_metrics(r, n, false)); n++) {
        memcpy(&v, (const char *)m + at, sizeof v);
        sum += v;
    }
    return n ? sum / (double)n : NAN;
}

static double measure(const struct run *r, enum measure m)
{
    const bool fit = r && r->kind == RUN_FIT;

    switch (m) {
    case RMSE: return score_mean(r, offsetof(struct metrics, rmse));
    case NLPD: return score_mean(r, offsetof(struct metrics, nlpd));
    case COVERAGE: return score_mean(r, offsetof(struct metrics, coverage95));
    case NMLL: return r && !fit && r->state != RUN_FAILED ? r->tune.best.nmll : NAN;
    case EFFDIM:
        return fit && r->info.effective_dimension > 0.0 ? round(r->info.effective_dimension) : NAN;
    case ITERATIONS:
        return fit && r->info.why != OUT_DIRECT && r->info.why != OUT_RUNNING
                   ? (double)r->info.iterations
                   : NAN;
    case SECONDS: return r && r->ended > r->started ? r->ended - r->started : NAN;
    case MEASURES: break;
    }
    return NAN;
}

static bool wanted(const struct sweep *s, enum measure m)
{
    return s->fits ? m != NMLL : m == NMLL || m == SECONDS;
}

static void mean_and_sd(const struct workspace *ws, const struct sweep *s, enum measure m,
                        double *mean, double *sd)
{
    double sum = 0.0, squares = 0.0, n = 0.0;

    for (size_t i = 0; i < s->npoints; i++) {
        const double v = measure(run_of(ws, s, i), m);
        if (isfinite(v)) {
            sum += v;
            n += 1.0;
        }
    }
    *mean = n > 0.0 ? sum / n : NAN;
    for (size_t i = 0; i < s->npoints; i++) {
        const double v = measure(run_of(ws, s, i), m);
        if (isfinite(v))
            squares += (v - *mean) * (v - *mean);
    }
    *sd = n > 1.0 ? sqrt(squares / (n - 1.0)) : NAN;
}

static void put(struct text_table *g, double v)
{
    char text[32] = "";

    if (isfinite(v))
        text_number(text, sizeof text, v);
    text_table_cell(g, text, 0);
}

static void sweep_rows(const struct workspace *ws, const struct sweep *s, struct text_table *g,
                       struct rec *r)
{
    for (size_t i = 0; i < s->npoints; i++) {
        const struct run *run = run_of(ws, s, i);
        rec_item(r);
        for (size_t k = 0; k < s->nkeys; k++) {
            const char *v = s->key[k].value[sweep_index(s, i, k)];
            rec_str(r, s->key[k].name, v);
            text_table_cell(g, v, 32);
        }
        rec_str(r, "run", run ? run->id : NULL);
        rec_str(r, "state", run ? run_state_name(run->state) : NULL);
        text_table_cell(g, run ? run->id : "-", 0);
        for (int m = 0; m < MEASURES; m++) {
            if (!wanted(s, m))
                continue;
            rec_num(r, measures[m].key, measure(run, m));
            put(g, measure(run, m));
        }
        rec_close(r);
    }
}

static void sweep_means(const struct workspace *ws, const struct sweep *s, struct text_table *g,
                        struct rec *r)
{
    double mean[MEASURES], sd[MEASURES];

    for (int m = 0; m < MEASURES; m++)
        mean_and_sd(ws, s, m, &mean[m], &sd[m]);
    for (int which = 0; which < 2; which++) {
        rec_open(r, which ? "sd" : "mean");
        text_table_cell(g, which ? "sd" : "mean", 0);
        for (size_t k = 0; k < s->nkeys; k++)
            text_table_cell(g, "", 0);
        for (int m = 0; m < MEASURES; m++)
            if (wanted(s, m)) {
                rec_num(r, measures[m].key, which ? sd[m] : mean[m]);
                put(g, which ? sd[m] : mean[m]);
            }
        rec_close(r);
    }
}

static enum status sweep_table(struct workspace *ws, struct err *err)
{
    const struct sweep *s = sweep_of(ws);
    bool right[SWEEP_KEYS + 1 + MEASURES] = { false };
    struct text_table g;
    struct rec r;
    size_t cols = 0;

    if (!s) {
        err_set(err, ST_STATE, "nothing has been swept yet");
        err_hint(err, "sweep rank=256,512,1024");
        return ST_STATE;
    }
    rec_init(&r, REC_RESULT, "sweep");
    cols = s->nkeys + 1;
    for (int m = 0; m < MEASURES; m++)
        if (wanted(s, m))
            right[cols++] = true;
    text_table_init(&g, cols);
    for (size_t k = 0; k < s->nkeys; k++)
        text_table_cell(&g, s->key[k].name, 0);
    text_table_cell(&g, "run", 0);
    for (int m = 0; m < MEASURES; m++)
        if (wanted(s, m))
            text_table_cell(&g, measures[m].head, 0);
    rec_str(&r, "show", s->show);
    rec_array(&r, "points");
    sweep_rows(ws, s, &g, &r);
    rec_array_close(&r);
    sweep_means(ws, s, &g, &r);
    text_table_print(&g, right, &r.text);
    const struct run *first = run_of(ws, s, 0);
    if (ws_run_targets(first) > 1)
        rec_text(&r, "  scores are means over %zu targets\n", ws_run_targets(first));
    rec_text(&r, "  plot sweep draws it");
    text_table_free(&g);
    ws_emit(ws, &r);
    return ST_OK;
}

/* The first line of all statements of a point is `sweep point=i`. */
static enum status sweep_mark(struct workspace *ws, const char *text, struct err *err)
{
    size_t i;
    char more;

    if (!sweep_of(ws) || sscanf(text, "point=%zu%c", &i, &more) != 1 || i >= sweep_of(ws)->npoints)
        return err_set(err, ST_USAGE, "sweep point= is what sweep writes for itself");
    sweep_of(ws)->first[i] = ws->runs_made;
    return ST_OK;
}

static enum status sweep_start(struct workspace *ws, struct sweep *s, struct err *err)
{
    enum status rc = ST_OK;

    s->first = mem_calloc(s->npoints, sizeof *s->first, "a sweep", err);
    if (!s->first)
        return ST_NOMEM;
    for (size_t i = 0; i < s->npoints; i++)
        s->first[i] = SIZE_MAX;
    for (size_t i = 0; rc == ST_OK && i < s->npoints; i++) {
        struct buf lines = { 0 };
        sweep_statements(s, i, &lines);
        rc = lines.failed ? err_nomem(err, lines.len, "a sweep")
                          : workspace_exec_apart(ws, buf_str(&lines), "sweep");
        buf_free(&lines);
    }
    struct buf after = { 0 };
    sweep_after(s, &after);
    if (rc == ST_OK)
        rc = after.failed ? err_nomem(err, after.len, "a sweep")
                          : workspace_exec_apart(ws, buf_str(&after), "sweep");
    buf_free(&after);
    return rc;
}

/* Columns that are none of the dataset's are looked for in the file that the split in use is of. */
static enum status same_file(const struct workspace *ws, struct sweep *s, struct err *err)
{
    const struct dataset *d = ws->cur < ws->ndata ? ws->data[ws->cur] : NULL;
    static const char begins[] = "file=\"";
    const struct sweep_key *split = NULL;

    for (size_t k = 0; k < s->nkeys; k++)
        split = strcmp(s->key[k].name, "split") ? split : &s->key[k];
    if (s->split || !split || !d || !d->split.how ||
        strncmp(d->split.how, begins, sizeof begins - 1))
        return ST_OK;
    const char *path = d->split.how + sizeof begins - 1, *end = strchr(path, '"');
    if (!end || memchr(path, '\\', (size_t)(end - path)) ||
        table_find(d->table, split->value[0]) != SIZE_MAX)
        return ST_OK;
    s->split = strndup(path, (size_t)(end - path));
    return s->split ? ST_OK : err_nomem(err, strlen(path), "a sweep");
}

static enum status cmd_sweep(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *text = args_text(a, "grid");
    struct sweep s;

    if (!text || !*text)
        return sweep_table(ws, err);
    if (!strncmp(text, "point=", 6))
        return sweep_mark(ws, text, err);
    enum status rc = sweep_parse(text, &s, err);
    if (rc != ST_OK)
        return rc;
    rc = same_file(ws, &s, err);
    if (rc != ST_OK) {
        sweep_free(&s);
        return rc;
    }
    struct sweep *kept = mem_calloc(1, sizeof *kept, "a sweep", err);
    if (!kept) {
        sweep_free(&s);
        return ST_NOMEM;
    }
    *kept = s;
    owner_take(ws, &sweep_owner, kept);
    rc = sweep_start(ws, kept, err);
    if (rc != ST_OK && err->code == ST_OK) /* a point that does not parse has been told */
        err_set(err, rc, "sweep: a point cannot be run");
    return rc;
}

/* The plot. */

static bool numeric(const struct sweep_key *k, double *x)
{
    for (size_t i = 0; i < k->n; i++)
        if (!text_scaled(k->value[i], &x[i]))
            return false;
    return true;
}

/* Evenly spaced on the log scale rather than on the plain one? */
static bool wants_log(const double *x, size_t n)
{
    return n > 2 && x[0] > 0.0 && x[n - 1] / x[0] >= 4.0 && x[2] - x[1] > 1.4 * (x[1] - x[0]);
}

static enum status add_curve(struct figure *f, const struct workspace *ws, const struct sweep *s,
                             size_t outer, enum measure m, const double *x, struct err *err)
{
    double y[SWEEP_VALUES];
    struct buf title = { 0 };
    const size_t n = s->key[0].n;

    for (size_t i = 0; i < n; i++)
        y[i] = measure(run_of(ws, s, outer * n + i), m);
    for (size_t k = 1; k < s->nkeys; k++)
        buf_printf(&title, "%s%s=%s", k > 1 ? " " : "", s->key[k].name,
                   s->key[k].value[sweep_index(s, outer * n, k)]);
    const bool ok =
        figure_add(f, s->nkeys > 1 ? buf_str(&title) : NULL, MARK_LINEPOINTS, n, x, y, err) != NULL;
    buf_free(&title);
    return ok ? ST_OK : ST_NOMEM;
}

/* All values within a thousandth of each other. */
static bool no_difference(const struct workspace *ws, const struct sweep *s, enum measure m)
{
    double lo = INFINITY, hi = -INFINITY;
    size_t n = 0;

    for (size_t i = 0; i < s->npoints; i++) {
        const double v = measure(run_of(ws, s, i), m);
        if (!isfinite(v))
            continue;
        lo = fmin(lo, v);
        hi = fmax(hi, v);
        n++;
    }
    return n > 1 && lo > 0.0 && hi - lo <= 1e-3 * hi && m != SECONDS;
}

struct figure *sweep_figure(struct workspace *ws, struct run *r, const struct args *a,
                            struct err *err)
{
    const struct sweep *s = sweep_of(ws);
    enum measure m = RMSE;
    double x[SWEEP_VALUES], best = INFINITY;
    size_t at = SIZE_MAX;

    (void)r, (void)a;
    if (!s)
        return figure_empty("sweep", "Nothing has been swept yet. try: sweep rank=256,512,1024",
                            err);
    while (strcmp(measures[m].show, s->show))
        m++;
    const bool numbers = numeric(&s->key[0], x);
    for (size_t i = 0; !numbers && i < s->key[0].n; i++)
        x[i] = (double)i;
    struct figure *f = figure_new("sweep", "Sweep", err);
    bool ok = f && figure_label(f, s->key[0].name, measures[m].axis, err) == ST_OK;
    if (ok) {
        f->x.log = numbers && wants_log(x, s->key[0].n);
        ok = numbers ||
             figure_names(&f->x, s->key[0].n, (const char *const *)s->key[0].value, err) == ST_OK;
    }
    for (size_t outer = 0; ok && outer < s->npoints / s->key[0].n; outer++)
        ok = add_curve(f, ws, s, outer, m, x, err) == ST_OK;
    for (size_t i = 0; i < s->npoints; i++)
        if (measure(run_of(ws, s, i), m) < best) {
            best = measure(run_of(ws, s, i), m);
            at = i;
        }
    const bool same = ok && at != SIZE_MAX && no_difference(ws, s, m);
    if (same) { /* no differences of rounding, drawn from edge to edge */
        f->y.lo = best - 0.05 * fabs(best);
        f->y.hi = best + 0.05 * fabs(best);
    }
    if (ok && at == SIZE_MAX) {
        char why[200];
        figure_free(f);
        snprintf(why, sizeof why, "No point of the sweep has %s%s",
                 m == ITERATIONS ? "iterations: " : "a value of ",
                 m == ITERATIONS ? "the fits were solved directly. try: sweep ... fit='solver=pcg'"
                                 : s->show);
        return figure_empty("sweep", why, err);
    }
    if (same) {
        ok = figure_verdict(f, err, "%s: %.4g at every point (they differ by less than 0.1 %%)",
                            measures[m].head, best) == ST_OK;
    } else if (ok && m != COVERAGE && m != EFFDIM) {
        struct buf words = { 0 };
        for (size_t k = 0; k < s->nkeys; k++)
            buf_printf(&words, " %s=%s", s->key[k].name, s->key[k].value[sweep_index(s, at, k)]);
        ok = figure_verdict(f, err, "least %s: %.4g at%s", measures[m].axis, best,
                            buf_str(&words)) == ST_OK;
        buf_free(&words);
    }
    if (!ok) {
        figure_free(f);
        return NULL;
    }
    return f;
}

/* The learning curve. */

/* error ~ rows^-slope by least squares over the logarithms, over the larger half of the rows. */
static bool power_law(const double *x, const double *y, size_t n, double *slope)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, k = 0;

    for (size_t i = n > 3 ? n / 2 : 0; i < n; i++) {
        if (!(x[i] > 0.0) || !(y[i] > 0.0) || !isfinite(y[i]))
            continue;
        const double a = log(x[i]), b = log(y[i]);
        sx += a, sy += b, sxx += a * a, sxy += a * b, k += 1.0;
    }
    const double det = k * sxx - sx * sx;
    *slope = -(k * sxy - sx * sy) / det;
    return k >= 2.0 && det > 1e-9 * sxx;
}

/* The curve of the settings `outer`, at the rows that its fits really had. */
static size_t learning_points(const struct workspace *ws, const struct sweep *s, size_t outer,
                              enum measure m, double *x, double *y)
{
    const size_t n = s->key[0].n;
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        const struct run *r = run_of(ws, s, outer * n + i);
        if (r == NULL || !isfinite(measure(r, m)))
            continue;
        x[k] = (double)r->info.rows;
        y[k++] = measure(r, m);
    }
    return k;
}

static enum status learning_verdict(struct figure *f, const double *x, const double *y, size_t n,
                                    struct err *err)
{
    double slope;
    char rows[32], more[32];

    if (n == 0)
        return figure_verdict(f, err, "no fit has been scored yet");
    text_count(rows, sizeof rows, (uint64_t)x[n - 1]);
    text_count(more, sizeof more, (uint64_t)(2.0 * x[n - 1]));
    if (!f->y.log || !power_law(x, y, n, &slope))
        return figure_verdict(f, err, "%.4g at %s rows", y[n - 1], rows);
    if (slope < 0.02)
        return figure_verdict(f, err,
                              "%.4g at %s rows, and more rows no longer help: noise or the model "
                              "limits it",
                              y[n - 1], rows);
    return figure_verdict(f, err,
                          "%.4g at %s rows; it falls as rows^-%.2f: %s rows would give about %.3g",
                          y[n - 1], rows, slope, more, y[n - 1] * pow(2.0, -slope));
}

struct figure *learning_figure(struct workspace *ws, struct run *r, const struct args *a,
                               struct err *err)
{
    const struct sweep *s = sweep_of(ws);
    double x[SWEEP_VALUES], y[SWEEP_VALUES];
    enum measure m = RMSE;
    size_t n = 0;

    (void)r, (void)a;
    if (!s || strcmp(s->key[0].name, "rows") != 0 || !s->fits)
        return figure_empty("learning", "No learning curve yet. try: sweep rows=500..16000", err);
    while (strcmp(measures[m].show, s->show))
        m++;
    struct figure *f = figure_new("learning", "Learning curve", err);
    bool ok = f && figure_label(f, "training rows", measures[m].axis, err) == ST_OK;
    if (ok) {
        f->x.log = true;
        f->y.log = m == RMSE || m == SECONDS || m == ITERATIONS;
    }
    for (size_t outer = 0; ok && outer < s->npoints / s->key[0].n; outer++) {
        struct buf title = { 0 };
        for (size_t k = 1; k < s->nkeys; k++)
            buf_printf(&title, "%s%s=%s", k > 1 ? " " : "", s->key[k].name,
                       s->key[k].value[sweep_index(s, outer * s->key[0].n, k)]);
        n = learning_points(ws, s, outer, m, x, y);
        ok = figure_add(f, s->nkeys > 1 ? buf_str(&title) : NULL, MARK_LINEPOINTS, n, x, y, err) !=
             NULL;
        buf_free(&title);
        if (ok && outer == 0)
            ok = learning_verdict(f, x, y, n, err) == ST_OK;
    }
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}

const struct command cmd_sweep_rows[] = {
    {"sweep",
     "work",
     "A grid of settings as one table and plot",
     "sweep rank=32,64,128",
     {{"grid", ARG_TEXT, ARGF_POS | ARGF_REST, NULL, 0, 0, NULL, NULL,
       "key=values of fit and tune, kernel=, data=, rows=, split= (columns; file=FILE); show=, "
       "tune='..', fit='..'"}},
     CMD_BARRIER,
     cmd_sweep,
     "Each point is a fit and a score; with show=nmll a tuning at the values given. Values: a,b,c; "
     "a..b;\n"
     "a..b/step; a..b*2; name0..name4. sweep alone shows the last table again; plot sweep draws "
     "it.\n"
     "show=rmse|nlpd|nmll|coverage|effdim|iterations|seconds; effdim is the effective dimension. A "
     "sweep\n"
     "over split=, kernel=, data= or rows= tunes at each point (tune=no: it does not). rows= is "
     "the number\n"
     "of training rows: plot learning draws the error against it.\n"
     "  sweep rows=500..16000 tune='features=1024' fit='features=4096'\n"
     "  sweep l=0.1..10 noise=0.01,0.1 show=nmll\n"
     "  sweep split=split0..split4 file=splits.csv tune='features=1024' fit='features=4096'"},
    {.name = NULL},
};
