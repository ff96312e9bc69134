/* app/commands/cmd_report.c -- the command `report`: a run as one HTML page that needs nothing
 * else: no network, no script, no further file.
 *
 * Names of data, columns and files come from outside. They reach the page through html_text alone,
 * and pictures through figure_svg, which escapes them in the same way. */
#include "config.h"

#include "app/commands/commands.h"

#include "app/core/measures.h"
#include "app/core/workspace.h"
#include "app/core/workspace_exec.h"
#include "app/core/ws_tell.h"
#include "app/plots/plot_rows.h"
#include "app/runs/export.h"
#include "app/runs/fitting.h"
#include "app/runs/scoring/scoring.h"
#include "app/session/transcript.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/text.h"
#include "data/kinds/kind.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { COLUMNS_SHOWN = 60, PLOTS_MOST = 16, WIDE = 860, HIGH = 420, PANEL_WIDE = 520,
       PANEL_HIGH = 340 };

/* Text of the page. */

/* Appends text from outside: markup characters as entities, what is no character as U+FFFD. */
static void html_text(struct buf *b, const char *s)
{
    while (s && *s) {
        uint32_t point;
        const size_t n = text_decode(s, &point);
        const bool control = n == 0 || (point < 32 && point != '\n' && point != '\t') ||
                             (point >= 0x7f && point < 0xa0) || (point & 0xfffe) == 0xfffe ||
                             (point >= 0x202a && point <= 0x202e) ||
                             (point >= 0x2066 && point <= 0x2069); /* overrides of direction */
        if (control)
            buf_puts(b, "\xef\xbf\xbd");
        else if (strchr("<>&\"'", *s))
            buf_printf(b, "&#%d;", *s);
        else
            buf_putn(b, s, n);
        s += n ? n : 1;
    }
}

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1a1c1f;--soft:#5c6370;--line:#d9dce1;--page:#fff;"
    "--card:#f6f7f9;--mark:#0b5cad}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e6e8eb;--soft:#a2a9b4;--line:#3a3f47;"
    "--page:#16181c;--card:#1f2227;--mark:#7cb7f5}}\n"
    "body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);"
    "max-width:58rem;margin:2rem auto;padding:0 1.2rem}\n"
    "h1{font-size:1.7rem;margin:0}h2{font-size:1.2rem;margin:2.2rem 0 .6rem;"
    "border-bottom:1px solid var(--line);padding-bottom:.25rem}\n"
    "p.verdict{font-size:1.1rem;color:var(--mark);margin:.4rem 0}p.soft,figcaption,caption{"
    "color:var(--soft)}\n"
    "table{border-collapse:collapse;margin:.6rem 0;font-variant-numeric:tabular-nums}"
    "caption{text-align:left}th,td{padding:.2rem .9rem .2rem 0;text-align:left;"
    "border-bottom:1px solid var(--line)}td.n,th.n{text-align:right;white-space:nowrap}"
    "td.t{overflow-wrap:anywhere}"
    "th{font-weight:600;white-space:nowrap}\n"
    "pre{background:var(--card);padding:.8rem;border-radius:6px;white-space:pre-wrap;"
    "overflow-wrap:anywhere;font-size:.85rem}\n"
    "figure{margin:1.2rem 0;break-inside:avoid}svg{max-width:100%;height:auto;border-radius:6px}\n"
    "@media print{:root{--ink:#000;--soft:#444;--line:#bbb;--page:#fff;--card:#fff;--mark:#000}"
    "body{max-width:none;margin:0;font-size:11pt}h2{break-after:avoid}tr{break-inside:avoid}}\n";

static void page_head(struct buf *b, const struct run *r)
{
    buf_puts(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                "<title>");
    html_text(b, r->dataset_name);
    buf_printf(b, ", %s: Gaussian process</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>",
               r->id, style);
    html_text(b, r->dataset_name);
    buf_printf(b, ": Gaussian process %s</h1>\n", r->id);
    if (*r->verdict) {
        buf_puts(b, "<p class=\"verdict\">");
        html_text(b, r->verdict);
        buf_puts(b, "</p>\n");
    }
    if (r->note && *r->note) {
        buf_puts(b, "<p>");
        html_text(b, r->note);
        buf_puts(b, "</p>\n");
    }
}

/* A row of a table of two columns. */
static void fact(struct buf *b, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    buf_puts(b, "<tr><th>");
    html_text(b, name);
    buf_puts(b, "</th><td class=\"t\">");
    html_text(b, value);
    buf_puts(b, "</td></tr>\n");
}

static void fact_count(struct buf *b, const char *name, size_t n)
{
    char text[32];

    text_count(text, sizeof text, n);
    fact(b, name, text);
}

static void number_cell(struct buf *b, double v)
{
    char text[40] = "";

    if (isfinite(v))
        text_number(text, sizeof text, v);
    buf_printf(b, "<td class=\"n\">%s</td>", text);
}

/* Data. */

static void column_row(struct buf *b, const struct dataset *d, size_t c)
{
    const struct column *col = &d->table->col[c];
    struct col_summary s = { .mean = NAN, .sd = NAN, .min = NAN, .max = NAN };
    const bool number = col->type == COL_REAL &&
                        column_summary(d->table, c, NULL, d->table->n, &s, NULL) == ST_OK;

    buf_puts(b, "<tr><td class=\"t\">");
    html_text(b, col->name);
    buf_printf(b, "</td><td>%s</td><td>", dataset_role_name(d->role[c]));
    html_text(b, kind_type(col));
    if (col->type == COL_CATEGORY)
        buf_printf(b, ", %zu levels", col->nlevels);
    buf_printf(b, "</td><td class=\"n\">%zu</td>", col->missing);
    number_cell(b, number ? s.mean : NAN);
    number_cell(b, number ? s.sd : NAN);
    number_cell(b, number ? s.min : NAN);
    number_cell(b, number ? s.max : NAN);
    buf_puts(b, "</tr>\n");
}

/* The lines "warning[name]: text" of a list of notes. */
static void warnings(struct buf *b, const char *lines)
{
    for (const char *p = lines; p && *p;) {
        const size_t len = strcspn(p, "\n");
        const char *text = strstr(p, "]: ");
        if (!strncmp(p, "warning[", 8) && text && text < p + len) {
            struct buf line = { 0 };
            buf_putn(&line, text + 3, len - (size_t)(text + 3 - p));
            buf_puts(b, "<p><strong>Warning:</strong> ");
            html_text(b, buf_str(&line));
            buf_puts(b, "</p>\n");
            b->failed |= line.failed;
            buf_free(&line);
        }
        p += len + (p[len] == '\n');
    }
}

/* Warnings about the data, and about inputs that may give the target away. */
static void data_warnings(struct buf *b, const struct dataset *d)
{
    struct buf leaks = { 0 };
    struct err ignored; /* out of memory: only these warnings are lost */

    warnings(b, d->table->notes);
    warnings(b, d->notes);
    if (summary_leaks(d, false, &leaks, &ignored) == ST_OK)
        warnings(b, buf_str(&leaks));
    buf_free(&leaks);
}

/* What was done to the table after it was read, in order, as the lines that do it. */
static void steps_list(struct buf *b, const char *steps)
{
    if (!steps || !*steps)
        return;
    buf_puts(b, "<p>The table was prepared by</p>\n<ol class=\"steps\">\n");
    for (const char *p = steps; *p;) {
        struct buf line = { 0 };
        const size_t len = strcspn(p, "\n");
        buf_putn(&line, p, len);
        buf_puts(b, "<li><code>");
        html_text(b, buf_str(&line));
        buf_puts(b, "</code></li>\n");
        b->failed |= line.failed;
        buf_free(&line);
        p += len + (p[len] == '\n');
    }
    buf_puts(b, "</ol>\n");
}

/* How the cells become what the model reads. */
static void scale_facts(struct buf *b, const struct run *r)
{
    static const char *const targets[] = { "standardised", "standardised after taking logarithms",
                                           "not scaled" };
    static const char *const inputs[] = { "standardised", "not scaled" };
    static const char *const missing[] = { "refused", "filled with the mean of training rows",
                                           "filled with the median of training rows",
                                           "their rows are left out" };
    const struct dataset *d = r->data;

    if (!d || d->table->missing > 0)
        fact(b, "missing cells", missing[r->enc.missing]);
    if (d && d->missing_flag)
        fact(b, "marks of missing cells", "an input of 0 or 1 beside each filled column");
    if (d)
        fact(b, "inputs", inputs[d->xscale]);
    fact(b, "target", targets[r->enc.yscale]);
}

static void data_section(struct buf *b, const struct run *r)
{
    const struct dataset *d = r->data;
    const struct table *t = d ? d->table : NULL;

    buf_puts(b, "<h2>Data</h2>\n<table>\n");
    fact(b, "name", r->dataset_name);
    fact(b, "file", t ? t->path : "not loaded in this session");
    fact(b, "checksum", t ? t->checksum : NULL);
    if (t)
        fact_count(b, "rows", t->n);
    if (d && d->split.how) {
        fact(b, "split", d->split.how);
        fact_count(b, "training rows", d->split.part ? d->split.count[PART_TRAIN] : t->n);
        fact_count(b, "test rows", d->split.part ? d->split.count[PART_TEST] : 0);
    } else if (d) {
        fact(b, "split", "none: all rows train");
    }
    fact_count(b, "inputs after encoding", r->enc.d);
    scale_facts(b, r);
    buf_puts(b, "</table>\n");
    steps_list(b, d ? d->steps : r->enc.steps);
    if (!t)
        return;
    buf_puts(b, "<table>\n<tr><th>column</th><th>role</th><th>type</th><th class=\"n\">missing</th>"
                "<th class=\"n\">mean</th><th class=\"n\">sd</th><th class=\"n\">least</th>"
                "<th class=\"n\">largest</th></tr>\n");
    for (size_t c = 0; c < t->ncols && c < COLUMNS_SHOWN; c++)
        column_row(b, d, c);
    buf_puts(b, "</table>\n");
    if (t->ncols > COLUMNS_SHOWN)
        buf_printf(b, "<p class=\"soft\">and %zu more columns</p>\n", t->ncols - COLUMNS_SHOWN);
    data_warnings(b, d);
}

/* Model. */

static void model_section(struct buf *b, const struct workspace *ws, const struct run *r)
{
    const struct run *tuned = ws_tuning_of(ws, r);
    const struct kernel *k = &r->fit.kernel;
    struct buf text = { 0 };
    char seconds[32];

    buf_puts(b, "<h2>Model</h2>\n<table>\n");
    fact(b, "kernel", r->kernel_text);
    for (size_t t = 0; t < k->nterms; t++) {
        buf_clear(&text);
        buf_printf(&text, "%s: %s", k->term[t].ops->title, k->term[t].ops->formula);
        fact(b, k->nterms > 1 ? "factor" : "formula", buf_str(&text));
    }
    buf_clear(&text);
    fitting_scales_text(&text, k, r->model->hp, r->model->t, r->model->amplitudes,
                        r->model->noises);
    fact(b, "hyperparameters", buf_str(&text));
    fact(b, "tuned by", tuned ? tuned->command : "not tuned");
    fact(b, "fitted by", r->command);
    fact_count(b, r->model->kind->keeps_rows     ? "training rows"
               : r->model->kind->keeps_inputs ? "inducing points"
                                              : "features", r->model->M);
    fact(b, "solver", r->info.solver);
    fact(b, "preconditioner", r->info.precond);
    buf_clear(&text);
    buf_printf(&text, "%.2g", r->info.true_residual);
    fact(b, "relative residual", isfinite(r->info.true_residual) ? buf_str(&text) : NULL);
    text_seconds(seconds, sizeof seconds, r->info.seconds.total);
    fact(b, "time", seconds);
    fact(b, "warning", r->info.warning);
    buf_puts(b, "</table>\n");
    buf_free(&text);
}

/* Scores. */

/* True if rows were held out that can be predicted now. */
static bool holds_out(const struct run *r)
{
    return r->data && r->data->split.part && r->data->split.count[PART_TEST] > 0;
}

/* The scores of target j, and in columns beside them those of simple models. */
static void scores_table(struct buf *b, const struct run *r, size_t j)
{
    const struct measure *m;

    buf_puts(b, "<tr><th>score</th><th class=\"n\">value</th>");
    for (size_t k = 0; k < BASELINES; k++)
        if (run_baseline(r, k, j, true))
            buf_printf(b, "<th class=\"n\">%s</th>", run_baseline_words[k]);
    buf_puts(b, "<th>what it is</th></tr>\n");
    for (size_t i = 0; (m = measure_at(i)) != NULL; i++) {
        const double v = m->group == MEASURE_SCORES ? measure_number(m, r, j) : NAN;
        if (!isfinite(v) || !m->name)
            continue;
        buf_puts(b, "<tr><td>");
        html_text(b, m->name);
        buf_puts(b, "</td>");
        number_cell(b, v);
        for (size_t k = 0; k < BASELINES; k++) {
            const struct metrics *of = run_baseline(r, k, j, m->of == MEASURE_OF_RAW);
            if (of)
                number_cell(b, measure_score(m, of));
        }
        buf_puts(b, "<td>");
        html_text(b, m->words);
        buf_puts(b, "</td></tr>\n");
    }
    buf_puts(b, "</table>\n");
}

/* What the columns of the simple models are, or why there is none of ridge regression. */
static void baseline_section(struct buf *b, const struct run *r)
{
    const struct run_baseline *simple = r->baseline;

    if (!simple)
        return;
    if (simple->have[BASELINE_MEAN])
        buf_puts(b, "<p>mean: the training mean with the training standard deviation, at the same "
                    "rows.</p>\n");
    if (simple->have[BASELINE_RIDGE]) {
        buf_printf(b, "<p>ridge: ridge regression on the same inputs, as %zu numbers.</p>\n",
                   simple->inputs);
    } else if (*simple->why) {
        buf_puts(b, "<p>No ridge regression: ");
        html_text(b, simple->why);
        buf_puts(b, ".</p>\n");
    }
}

static void scores_section(struct buf *b, const struct run *r)
{
    static const char *const parts[] = { "training", "validation", "test" };
    char of[64];

    buf_puts(b, "<h2>Scores</h2>\n");
    if (!r->has_score && holds_out(r)) {
        buf_printf(b, "<p>This run was not scored. In gpdesk: score %s, then report %s.</p>\n",
                   r->id, r->id);
        return;
    }
    if (!r->has_score) {
        buf_puts(b, "<p>No rows were held out to score on. In gpdesk: split test=20%, then fit, "
                    "then report.</p>\n");
        return;
    }
    for (size_t j = 0; j < run_targets(r); j++) {
        buf_puts(b, "<table>\n<caption>");
        buf_printf(b, "%zu %s rows", r->score_rows, parts[r->score_part]);
        html_text(b, run_suffix(r, j, of, sizeof of));
        buf_puts(b, "</caption>\n");
        scores_table(b, r, j);
        const struct metrics *raw = run_metrics(r, j, true);
        if (raw && isfinite(raw->coverage95))
            buf_printf(b,
                       "<p>%.1f %% of the targets lie inside the 95 %% interval, %.1f %% inside "
                       "the 50 %% one: %s.</p>\n",
                       100.0 * raw->coverage95, 100.0 * raw->coverage50,
                       r->score_part == PART_TRAIN ? "rows that the model was fitted to"
                                                   : scoring_coverage_words(raw));
    }
    baseline_section(b, r);
}

/* What `check` finds, for each target. */
static void check_section(struct buf *b, const struct run *r)
{
    struct scoring_finding f[SCORING_FINDINGS];
    char of[64];

    for (size_t j = 0; j < run_targets(r); j++) {
        const size_t n = scoring_findings(r, j, f);
        if (n == 0)
            continue;
        buf_puts(b, "<table>\n<caption>check of the predicted uncertainty");
        html_text(b, run_suffix(r, j, of, sizeof of));
        buf_puts(b, "</caption>\n");
        for (size_t i = 0; i < n; i++) {
            buf_printf(b, "<tr><th>%s</th><td>%s</td><td class=\"t\">", f[i].name,
                       f[i].ok ? "ok" : "!");
            html_text(b, f[i].text);
            buf_puts(b, "</td></tr>\n");
        }
        buf_puts(b, "</table>\n");
    }
}

/* Pictures. */

/* Names of clips are unique in a drawing; those of several drawings get the number of theirs. */
static void put_svg(struct buf *b, const char *svg, size_t number)
{
    static const char *const marks[] = { "id=\"c", "url(#c" };
    const char *p = strstr(svg, "<svg");

    while (p && *p) {
        size_t k = 0, len = 1;
        while (k < 2 && strncmp(p, marks[k], strlen(marks[k])) != 0)
            k++;
        if (k < 2) {
            len = strlen(marks[k]);
            buf_putn(b, p, len);
            buf_printf(b, "%zu-", number);
        } else {
            buf_putc(b, *p);
        }
        p += len;
    }
}

static void put_figure(struct buf *b, const struct plot_ops *plot, const struct figure *f,
                       size_t number)
{
    struct buf svg = { 0 };
    size_t panels = 0;

    for (const struct figure *p = f; p; p = p->next)
        panels++;
    const size_t across = f->across > 1 ? f->across : 1, down = (panels + across - 1) / across;
    figure_svg(f, across > 1 ? across * PANEL_WIDE : WIDE, down > 1 ? down * PANEL_HIGH : HIGH,
               false, &svg);
    b->failed |= svg.failed;
    buf_printf(b, "<figure id=\"%s\">\n", plot->name);
    put_svg(b, buf_str(&svg), number);
    buf_puts(b, "<figcaption><strong>");
    html_text(b, plot->title);
    buf_puts(b, "</strong>");
    for (const struct figure *p = f; p; p = p->next)
        if (p->verdict) {
            buf_puts(b, "<br/>");
            html_text(b, p->verdict);
        }
    buf_puts(b, "</figcaption>\n</figure>\n");
    buf_free(&svg);
}

/* Finds the plot that *list begins with, and moves *list to the next name; NULL with an error. */
static const struct plot_ops *next_plot(const char **list, struct err *err)
{
    char word[32];
    const size_t len = strcspn(*list, ",");

    snprintf(word, sizeof word, "%.*s", (int)(len < sizeof word ? len : sizeof word - 1), *list);
    *list += len + ((*list)[len] == ',');
    return plot_find(word, err);
}

static enum status plots_known(const char *list, struct err *err)
{
    while (*list)
        if (!next_plot(&list, err))
            return err->code;
    return ST_OK;
}

/* Draws the plots of the list; those that the user did not name are left out where there is
 * nothing to draw. The names of those that are there go to drawn. */
static enum status plots_section(struct buf *b, struct workspace *ws, struct run *r,
                                 const char *list, bool named, const char **drawn, size_t *n,
                                 struct err *err)
{
    buf_puts(b, "<h2>Check and plots</h2>\n");
    check_section(b, r);
    while (*list && *n < PLOTS_MOST) {
        const struct plot_ops *plot = next_plot(&list, err);
        struct figure *f = plot ? plot->make(ws, r, NULL, err) : NULL;
        if (!f)
            return err->code;
        if (!f->reason || named) {
            put_figure(b, plot, f, *n);
            drawn[(*n)++] = plot->name;
        }
        figure_free(f);
    }
    return ST_OK;
}

static enum status text_section(struct buf *b, const struct workspace *ws, const struct run *r,
                                struct err *err)
{
    struct buf text = { 0 };

    buf_puts(b, "<h2>Methods</h2>\n<p>");
    export_words(ws, r, &text);
    html_text(b, buf_str(&text));
    buf_clear(&text);
    buf_puts(b, "</p>\n<h2>Script</h2>\n<p class=\"soft\">gpdesk -f FILE repeats it.</p>\n<pre>");
    const enum status rc = transcript(ws, false, &text, err);
    html_text(b, buf_str(&text));
    buf_puts(b, "</pre>\n<p class=\"soft\">Made by gpdesk " PACKAGE_VERSION
                ".</p>\n</body>\n</html>\n");
    b->failed |= text.failed;
    buf_free(&text);
    return rc;
}

/* The command. */

static enum status suits(const struct run *r, const char *out, struct err *err)
{
    const char *dot = strrchr(out, '.');

    if (r->kind != RUN_FIT || !r->model || !r->has_enc) {
        err_set(err, ST_STATE, "%s has no fitted model", r->id);
        err_hint(err, r->kind == RUN_TUNE ? "fit, then report" : "wait, or fit");
        return ST_STATE;
    }
    if (!dot || (strcasecmp(dot, ".html") != 0 && strcasecmp(dot, ".htm") != 0)) {
        err_named(err, ST_USAGE, "format", "%.200s: a report is one HTML file", out);
        err_hint(err, "report %s out=report.html; a browser prints it as PDF (Ctrl+P)", r->id);
        return ST_USAGE;
    }
    return ST_OK;
}

/* Scores are missing, or the predictions that plots need, as in a session that was opened again. */
static bool wants_score(const struct run *r)
{
    return holds_out(r) && !(r->has_score && (r->has_test || r->has_train));
}

/* Scores the run first, then writes the report. */
static enum status score_first(struct workspace *ws, const struct run *r, const char *out,
                               const char *list, struct err *err)
{
    struct buf text = { 0 };

    buf_printf(&text, "score %s\nreport %s score=no out=", r->id, r->id);
    command_quote(&text, out);
    if (list) {
        buf_puts(&text, " plots=");
        command_quote(&text, list);
    }
    const enum status rc = text.failed ? err_nomem(err, text.cap, "a line")
                                       : workspace_exec_apart(ws, buf_str(&text), "the report");
    buf_free(&text);
    return rc;
}

static enum status cmd_report(struct workspace *ws, const struct args *a, struct err *err)
{
    static const char by_default[] = "parity,check,sderror,residual,path,ard,columns";
    struct run *run = ws_run(ws, args_text(a, "run"), err);
    const char *out = args_text(a, "out"), *list = args_text(a, "plots");
    const char *drawn[PLOTS_MOST];
    struct buf b = { 0 };
    size_t n = 0;
    char size[32];
    struct rec r;
    enum status rc = run ? suits(run, out, err) : err->code;

    if (rc == ST_OK && list)
        rc = plots_known(list, err);
    if (rc == ST_OK && args_bool(a, "score") && wants_score(run))
        return score_first(ws, run, out, list, err);
    if (rc != ST_OK)
        return rc;
    page_head(&b, run);
    data_section(&b, run);
    model_section(&b, ws, run);
    scores_section(&b, run);
    rc = plots_section(&b, ws, run, list ? list : by_default, list != NULL, drawn, &n, err);
    if (rc == ST_OK)
        rc = text_section(&b, ws, run, err);
    if (rc == ST_OK && b.failed)
        rc = err_nomem(err, b.cap, "a report");
    if (rc == ST_OK)
        rc = outfile_put(out, 0666, b.s, b.len, err);
    if (rc == ST_OK) {
        rec_init(&r, REC_RESULT, "report");
        rec_str(&r, "run", run->id);
        rec_str(&r, "out", out);
        rec_int(&r, "bytes", (int64_t)b.len);
        rec_strs(&r, "plots", drawn, n);
        rec_bool(&r, "scored", run->has_score);
        mem_format(size, sizeof size, (double)b.len);
        rec_text(&r, "the report on %s is in ", run->id);
        rec_safe(&r, out);
        rec_text(&r, " (%s, %zu plot%s)%s", size, n, n == 1 ? "" : "s",
                 run->has_score   ? ""
                 : holds_out(run) ? "; it has no scores: score first"
                                  : "; it has no scores, because no rows were held out");
        ws_emit(ws, &r);
    }
    buf_free(&b);
    return rc;
}

const struct command cmd_report_rows[] = {
    {"report",
     "session",
     "Write data, model, scores, plots, methods and script as one HTML page",
     "report out=report.html",
     {{"run", ARG_RUN, ARGF_POS, ".", 0, 0, NULL, NULL, "run (default: the last fit)"},
      {"out", ARG_OUT, ARGF_REQUIRED, NULL, 0, 0, NULL, NULL, "HTML file to write"},
      {"plots", ARG_PLOTS, 0, NULL, 0, 0, NULL, NULL,
       "names of plots, separated by commas; default: parity,check,sderror,residual,path,ard,"
       "columns, as far as there is something to draw"},
      {"score", ARG_BOOL, 0, "yes", 0, 0, NULL, NULL,
       "score the run first, if it has no scores; no: write what there is"}},
     CMD_NEEDS_MODEL | CMD_BARRIER,
     cmd_report,
     "The page needs nothing else: pictures are inside, there are no scripts and no links. It\n"
     "lists how the table was prepared, the split, scores and what check finds. A run that was\n"
     "not scored is scored first, on its test rows. For PDF, print the page from a browser."},
    {.name = NULL},
};
