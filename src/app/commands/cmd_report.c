/* app/commands/cmd_report.c -- the command `report`: a run as a document that needs nothing else.
 * It is filled here, once; figure/document.h says what becomes of it. */
#include "config.h"

#include "app/commands/commands.h"

#include "app/core/job.h"
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
#include "figure/document.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { COLUMNS_SHOWN = 60, PLOTS_MOST = 16 };

/* Adds a block of formatted text. */
static void say(struct document *, enum document_kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void say(struct document *d, enum document_kind kind, const char *fmt, ...)
{
    struct buf text = { 0 };
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    document_add(d, kind, buf_str(&text));
    d->failed |= text.failed;
    buf_free(&text);
}

/* Data. */

static void column_row(struct document *doc, const struct dataset *d, size_t c)
{
    const struct column *col = &d->table->col[c];
    struct col_summary s = { .mean = NAN, .sd = NAN, .min = NAN, .max = NAN };
    const bool number = col->type == COL_REAL &&
                        column_summary(d->table, c, NULL, d->table->n, &s, NULL) == ST_OK;
    const double v[] = { s.mean, s.sd, s.min, s.max };
    struct buf text = { 0 };

    document_cell(doc, col->name);
    document_cell(doc, dataset_role_name(d->role[c]));
    buf_puts(&text, kind_type(col));
    if (col->type == COL_CATEGORY)
        buf_printf(&text, ", %zu levels", col->nlevels);
    document_cell(doc, buf_str(&text));
    buf_clear(&text);
    buf_printf(&text, "%zu", col->missing);
    document_cell(doc, buf_str(&text));
    for (size_t k = 0; k < sizeof v / sizeof v[0]; k++)
        document_cell_number(doc, number ? v[k] : NAN);
    doc->failed |= text.failed;
    buf_free(&text);
}

static void columns_table(struct document *doc, const struct dataset *d)
{
    static const char *const numbers[] = { "missing", "mean", "sd", "least", "largest" };
    const size_t n = d->table->ncols;

    document_table(doc, NULL);
    document_column(doc, DOCUMENT_TEXT, "column");
    document_column(doc, DOCUMENT_WORD, "role");
    document_column(doc, DOCUMENT_WORD, "type");
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
        document_column(doc, DOCUMENT_NUMBER, numbers[k]);
    for (size_t c = 0; c < n && c < COLUMNS_SHOWN; c++)
        column_row(doc, d, c);
    if (n > COLUMNS_SHOWN)
        say(doc, DOCUMENT_REMARK, "and %zu more columns", n - COLUMNS_SHOWN);
}

/* The lines "warning[name]: text" of a list of notes. */
static void warnings(struct document *doc, const char *lines)
{
    for (const char *p = lines; p && *p;) {
        const size_t len = strcspn(p, "\n");
        const char *text = strstr(p, "]: ");
        if (!strncmp(p, "warning[", 8) && text && text < p + len)
            say(doc, DOCUMENT_WARNING, "%.*s", (int)(len - (size_t)(text + 3 - p)), text + 3);
        p += len + (p[len] == '\n');
    }
}

/* Warnings about the data, and about inputs that may give the target away. */
static void data_warnings(struct document *doc, const struct dataset *d)
{
    struct buf leaks = { 0 };
    struct err ignored; /* out of memory: only these warnings are lost */

    warnings(doc, d->table->notes);
    warnings(doc, d->notes);
    if (summary_leaks(d, false, &leaks, &ignored) == ST_OK)
        warnings(doc, buf_str(&leaks));
    buf_free(&leaks);
}

/* What was done to the table after it was read, in order, as the lines that do it. */
static void steps_list(struct document *doc, const char *steps)
{
    if (!steps || !*steps)
        return;
    document_add(doc, DOCUMENT_PARAGRAPH, "The table was prepared by");
    for (const char *p = steps; *p;) {
        const size_t len = strcspn(p, "\n");
        say(doc, DOCUMENT_STEP, "%.*s", (int)len, p);
        p += len + (p[len] == '\n');
    }
}

/* How the cells become what the model reads. */
static void scale_facts(struct document *doc, const struct run *r)
{
    static const char *const targets[] = { "standardised", "standardised after taking logarithms",
                                           "not scaled" };
    static const char *const inputs[] = { "standardised", "not scaled",
                                          "centred, and divided by one sd for all" };
    static const char *const missing[] = { "refused", "filled with the mean of training rows",
                                           "filled with the median of training rows",
                                           "their rows are left out" };
    const struct dataset *d = r->data;

    if (!d || d->table->missing > 0)
        document_fact(doc, "missing cells", missing[r->enc.missing]);
    if (d && d->missing_flag)
        document_fact(doc, "marks of missing cells",
                      "an input of 0 or 1 beside each filled column");
    if (d)
        document_fact(doc, "inputs", inputs[d->xscale]);
    document_fact(doc, "target", targets[r->enc.yscale]);
}

static void data_section(struct document *doc, const struct run *r)
{
    const struct dataset *d = r->data;
    const struct table *t = d ? d->table : NULL;

    document_add(doc, DOCUMENT_HEADING, "Data");
    document_facts(doc);
    document_fact(doc, "name", r->dataset_name);
    document_fact(doc, "file", t ? t->path : "not loaded in this session");
    document_fact(doc, "checksum", t ? t->checksum : NULL);
    if (t)
        document_fact_count(doc, "rows", t->n);
    if (d && d->split.how) {
        document_fact(doc, "split", d->split.how);
        document_fact_count(doc, "training rows",
                            d->split.part ? d->split.count[PART_TRAIN] : t->n);
        document_fact_count(doc, "test rows", d->split.part ? d->split.count[PART_TEST] : 0);
    } else if (d) {
        document_fact(doc, "split", "none: all rows train");
    }
    document_fact_count(doc, "inputs after encoding", r->enc.d);
    scale_facts(doc, r);
    steps_list(doc, d ? d->steps : r->enc.steps);
    if (!t)
        return;
    columns_table(doc, d);
    data_warnings(doc, d);
}

/* Model. */

static void model_section(struct document *doc, const struct workspace *ws, const struct run *r)
{
    const struct run *tuned = ws_tuning_of(ws, r);
    const struct kernel *k = &r->fit.kernel;
    struct buf text = { 0 };
    char seconds[32];

    document_add(doc, DOCUMENT_HEADING, "Model");
    document_facts(doc);
    document_fact(doc, "kernel", r->kernel_text);
    for (size_t t = 0; t < k->nterms; t++) {
        buf_clear(&text);
        buf_printf(&text, "%s: %s", k->term[t].ops->title, k->term[t].ops->formula);
        document_fact(doc, k->nterms > 1 ? "factor" : "formula", buf_str(&text));
    }
    buf_clear(&text);
    fitting_scales_text(&text, k, r->model->hp, r->model->t, r->model->amplitudes,
                        r->model->kind->classes ? NULL : r->model->noises);
    document_fact(doc, "hyperparameters", buf_str(&text));
    document_fact(doc, "tuned by", tuned ? tuned->command : "not tuned");
    document_fact(doc, "fitted by", r->command);
    document_fact_count(doc, r->model->kind->keeps_rows     ? "training rows"
                             : r->model->kind->margin       ? "support vectors"
                             : r->model->kind->keeps_inputs ? "inducing points"
                                                            : "features", r->model->M);
    document_fact(doc, "solver", r->info.solver);
    document_fact(doc, "preconditioner", r->info.precond);
    buf_clear(&text);
    buf_printf(&text, "%.2g", r->info.true_residual);
    document_fact(doc, "relative residual",
                  isfinite(r->info.true_residual) ? buf_str(&text) : NULL);
    text_seconds(seconds, sizeof seconds, r->info.seconds.total);
    document_fact(doc, "time", seconds);
    document_fact(doc, "warning", r->info.warning);
    doc->failed |= text.failed;
    buf_free(&text);
}

/* Scores. */

/* True if rows were held out that can be predicted now. */
static bool holds_out(const struct run *r)
{
    return r->data && r->data->split.part && r->data->split.count[PART_TEST] > 0;
}

/* The scores of target j, and in columns beside them those of simple models. */
static void scores_table(struct document *doc, const struct run *r, size_t j)
{
    const struct measure *m;

    document_column(doc, DOCUMENT_WORD, "score");
    document_column(doc, DOCUMENT_NUMBER, "value");
    for (size_t k = 0; k < BASELINES; k++)
        if (run_baseline(r, k, j, true))
            document_column(doc, DOCUMENT_NUMBER, run_baseline_words[k]);
    document_column(doc, DOCUMENT_WORD, "what it is");
    for (size_t i = 0; (m = measure_at(i)) != NULL; i++) {
        const double v = m->group == MEASURE_SCORES ? measure_number(m, r, j) : NAN;
        if (!isfinite(v) || !m->name)
            continue;
        document_cell(doc, m->name);
        document_cell_number(doc, v);
        for (size_t k = 0; k < BASELINES; k++) {
            const struct metrics *of = run_baseline(r, k, j, m->of == MEASURE_OF_RAW);
            if (run_baseline(r, k, j, true))
                document_cell_number(doc, of ? measure_score(m, of) : NAN);
        }
        document_cell(doc, m->words);
    }
}

/* What the columns of the simple models are, or why there is none of ridge regression. */
static void baseline_section(struct document *doc, const struct run *r)
{
    const struct run_baseline *simple = r->baseline;

    if (!simple)
        return;
    if (simple->have[BASELINE_MEAN])
        document_add(doc, DOCUMENT_PARAGRAPH, "mean: the training mean with the training standard "
                                              "deviation, at the same rows.");
    if (simple->have[BASELINE_RIDGE])
        say(doc, DOCUMENT_PARAGRAPH,
            "ridge: ridge regression on the same inputs, as %zu numbers.", simple->inputs);
    else if (*simple->why)
        say(doc, DOCUMENT_PARAGRAPH, "No ridge regression: %s.", simple->why);
}

static void scores_section(struct document *doc, const struct run *r)
{
    static const char *const parts[] = { "training", "validation", "test" };
    struct buf caption = { 0 };
    char of[64];

    document_add(doc, DOCUMENT_HEADING, "Scores");
    if (!r->has_score && holds_out(r)) {
        say(doc, DOCUMENT_PARAGRAPH,
            "This run was not scored. In gpdesk: score %s, then report %s.", r->id, r->id);
        return;
    }
    if (!r->has_score) {
        document_add(doc, DOCUMENT_PARAGRAPH, "No rows were held out to score on. In gpdesk: split "
                                              "test=20%, then fit, then report.");
        return;
    }
    for (size_t j = 0; j < run_targets(r); j++) {
        buf_clear(&caption);
        buf_printf(&caption, "%zu %s rows%s", r->score_rows, parts[r->score_part],
                   run_suffix(r, j, of, sizeof of));
        document_table(doc, buf_str(&caption));
        scores_table(doc, r, j);
        const struct metrics *raw = run_metrics(r, j, true);
        if (raw && isfinite(raw->coverage95))
            say(doc, DOCUMENT_PARAGRAPH,
                "%.1f %% of the targets lie inside the 95 %% interval, %.1f %% inside the 50 %% "
                "one: %s.", 100.0 * raw->coverage95, 100.0 * raw->coverage50,
                r->score_part == PART_TRAIN ? "rows that the model was fitted to"
                                            : scoring_coverage_words(raw));
    }
    doc->failed |= caption.failed;
    buf_free(&caption);
    baseline_section(doc, r);
}

/* What `check` finds, for each target. */
static void check_section(struct document *doc, const struct run *r)
{
    struct scoring_finding f[SCORING_FINDINGS];
    struct buf caption = { 0 };
    char of[64];

    for (size_t j = 0; j < run_targets(r); j++) {
        const size_t n = scoring_findings(r, j, f);
        if (n == 0)
            continue;
        buf_clear(&caption);
        buf_printf(&caption, "check of the predicted uncertainty%s",
                   run_suffix(r, j, of, sizeof of));
        document_table(doc, buf_str(&caption));
        document_column(doc, DOCUMENT_NAME, NULL);
        document_column(doc, DOCUMENT_WORD, NULL);
        document_column(doc, DOCUMENT_TEXT, NULL);
        for (size_t i = 0; i < n; i++) {
            document_cell(doc, f[i].name);
            document_cell(doc, f[i].ok ? "ok" : "!");
            document_cell(doc, f[i].text);
        }
    }
    doc->failed |= caption.failed;
    buf_free(&caption);
}

/* Pictures. */

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
static enum status plots_section(struct document *doc, struct workspace *ws, struct run *r,
                                 const char *list, bool named, const char **drawn, size_t *n,
                                 struct err *err)
{
    document_add(doc, DOCUMENT_HEADING, "Check and plots");
    check_section(doc, r);
    while (*list && *n < PLOTS_MOST) {
        const struct plot_ops *plot = next_plot(&list, err);
        struct figure *f = plot ? plot->make(ws, r, NULL, err) : NULL;
        if (!f)
            return err->code;
        if (f->reason && !named) {
            figure_free(f);
            continue;
        }
        document_figure(doc, plot->name, plot->title, f);
        drawn[(*n)++] = plot->name;
    }
    return ST_OK;
}

static enum status text_section(struct document *doc, const struct workspace *ws,
                                const struct run *r, struct err *err)
{
    struct buf text = { 0 };

    document_add(doc, DOCUMENT_HEADING, "Methods");
    export_words(ws, r, &text);
    document_add(doc, DOCUMENT_PARAGRAPH, buf_str(&text));
    buf_clear(&text);
    document_add(doc, DOCUMENT_HEADING, "Script");
    document_add(doc, DOCUMENT_REMARK, "gpdesk -f FILE repeats it.");
    const enum status rc = transcript(ws, false, &text, err);
    document_add(doc, DOCUMENT_CODE, buf_str(&text));
    doc->failed |= text.failed;
    buf_free(&text);
    return rc;
}

/* An empty document with its titles, and what the run says of itself. */
static struct document *begin(const struct run *r, struct err *err)
{
    struct buf title = { 0 }, headline = { 0 };

    buf_printf(&title, "%s, %s: Gaussian process", r->dataset_name, r->id);
    buf_printf(&headline, "%s: Gaussian process %s", r->dataset_name, r->id);
    struct document *doc = document_new(buf_str(&title), buf_str(&headline),
                                        "Made by gpdesk " PACKAGE_VERSION ".", err);
    if (doc) {
        doc->failed |= title.failed || headline.failed;
        if (*r->verdict)
            document_add(doc, DOCUMENT_VERDICT, r->verdict);
        if (r->note && *r->note)
            document_add(doc, DOCUMENT_PARAGRAPH, r->note);
    }
    buf_free(&title);
    buf_free(&headline);
    return doc;
}

/* Fills a document with all that is known of the run. NULL with an error. */
static struct document *fill(struct workspace *ws, struct run *run, const char *list, bool named,
                             const char **drawn, size_t *n, struct err *err)
{
    struct document *doc = begin(run, err);

    if (!doc)
        return NULL;
    data_section(doc, run);
    model_section(doc, ws, run);
    scores_section(doc, run);
    enum status rc = plots_section(doc, ws, run, list, named, drawn, n, err);
    if (rc == ST_OK)
        rc = text_section(doc, ws, run, err);
    if (rc == ST_OK && doc->failed)
        rc = err_nomem(err, 0, "a report");
    if (rc == ST_OK)
        return doc;
    document_free(doc);
    return NULL;
}

/* The command. */

static bool is_pdf(const char *out)
{
    const char *dot = strrchr(out, '.');

    return dot && strcasecmp(dot, ".pdf") == 0;
}

static enum status suits(const struct run *r, const char *out, struct err *err)
{
    const char *dot = strrchr(out, '.');

    if (r->kind != RUN_FIT || !r->model || !r->has_enc) {
        err_set(err, ST_STATE, "%s has no fitted model", r->id);
        err_hint(err, r->kind == RUN_TUNE ? "fit, then report" : "wait, or fit");
        return ST_STATE;
    }
    if (!dot || (strcasecmp(dot, ".html") != 0 && strcasecmp(dot, ".htm") != 0 && !is_pdf(out))) {
        err_named(err, ST_USAGE, "format", "%.200s: a report is written as .html or .pdf", out);
        err_hint(err, "report %s out=report.html", r->id);
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

/* A report that is being written. The plots are names of rows of the table of plots. */
struct report {
    struct document *doc;
    char *out, run[16];
    const char *drawn[PLOTS_MOST];
    size_t plots, rare, bytes;
    bool scored, holds_out;
};

static void report_free(struct report *p)
{
    if (!p)
        return;
    document_free(p->doc);
    free(p->out);
    free(p);
}

static void tell(struct workspace *ws, const struct report *p)
{
    char size[32];
    struct rec r;

    rec_init(&r, REC_RESULT, "report");
    rec_str(&r, "run", p->run);
    rec_str(&r, "out", p->out);
    rec_int(&r, "bytes", (int64_t)p->bytes);
    rec_strs(&r, "plots", p->drawn, p->plots);
    rec_bool(&r, "scored", p->scored);
    mem_format(size, sizeof size, (double)p->bytes);
    rec_text(&r, "the report on %s is in ", p->run);
    rec_safe(&r, p->out);
    rec_text(&r, " (%s, %zu plot%s)%s", size, p->plots, p->plots == 1 ? "" : "s",
             p->scored      ? ""
             : p->holds_out ? "; it has no scores: score first"
                            : "; it has no scores, because no rows were held out");
    ws_emit(ws, &r);
}

/* PDF: a job, because gnuplot takes a second, or hangs. */

static enum status pdf_work(struct job *job, struct err *err)
{
    struct report *p = job->arg;
    struct stat st;
    const enum status rc = document_pdf(&job->ctl, p->doc, p->out, &p->rare, err);

    if (rc == ST_OK && stat(p->out, &st) == 0)
        p->bytes = (size_t)st.st_size;
    return rc;
}

static void pdf_done(struct workspace *ws, struct job *job, enum status rc, const struct err *err)
{
    const struct report *p = job->arg;

    if (rc == ST_CANCELLED || job->discard) {
        ws_note(ws, "stopped", "report was stopped; no file was written");
        ws->unconverged = true;
        return;
    }
    if (rc != ST_OK) {
        ws_error(ws, err, job->line);
        return;
    }
    if (p->rare > 0)
        ws_note(ws, "gnuplot", "letters that fonts often lack are written as \\u and a number: "
                "report %s out=report.html shows them", p->run);
    tell(ws, p);
}

static void pdf_free(struct job *job)
{
    report_free(job->arg);
    job->arg = NULL;
}

static const struct job_ops pdf_ops = { .verb = "report", .work = pdf_work, .done = pdf_done,
                                        .free = pdf_free };

static enum status write_html(struct workspace *ws, struct report *p, struct err *err)
{
    struct buf b = { 0 };

    document_html(p->doc, &b);
    const enum status rc = b.failed ? err_nomem(err, b.cap, "a report")
                                    : outfile_put(p->out, 0666, b.s, b.len, err);
    p->bytes = b.len;
    buf_free(&b);
    if (rc == ST_OK)
        tell(ws, p);
    return rc;
}

static enum status cmd_report(struct workspace *ws, const struct args *a, struct err *err)
{
    static const char by_default[] = "parity,check,sderror,residual,path,ard,columns";
    struct run *run = ws_run(ws, args_text(a, "run"), err);
    const char *out = args_text(a, "out"), *list = args_text(a, "plots");
    enum status rc = run ? suits(run, out, err) : err->code;

    if (rc == ST_OK && list)
        rc = plots_known(list, err);
    if (rc == ST_OK && args_bool(a, "score") && wants_score(run))
        return score_first(ws, run, out, list, err);
    struct report *p = rc == ST_OK ? mem_calloc(1, sizeof *p, "a report", err) : NULL;
    if (!p)
        return err->code;
    snprintf(p->run, sizeof p->run, "%s", run->id);
    p->scored = run->has_score;
    p->holds_out = holds_out(run);
    p->out = mem_strdup(out, err);
    p->doc = p->out ? fill(ws, run, list ? list : by_default, list != NULL, p->drawn, &p->plots,
                           err) : NULL;
    if (p->doc && is_pdf(out))
        return ws_submit(ws, &pdf_ops, NULL, p, args_line(a), err);
    rc = p->doc ? write_html(ws, p, err) : err->code;
    report_free(p);
    return rc;
}

const struct command cmd_report_rows[] = {
    {"report",
     "session",
     "Write data, model, scores, plots, methods and script as one HTML or PDF file",
     "report out=report.html",
     {{"run", ARG_RUN, ARGF_POS, ".", 0, 0, NULL, NULL, "run (default: the last fit)"},
      {"out", ARG_OUT, ARGF_REQUIRED, NULL, 0, 0, NULL, NULL,
       "file to write: .html, or .pdf, which gnuplot draws"},
      {"plots", ARG_PLOTS, 0, NULL, 0, 0, NULL, NULL,
       "names of plots, separated by commas; default: parity,check,sderror,residual,path,ard,"
       "columns, as far as there is something to draw"},
      {"score", ARG_BOOL, 0, "yes", 0, 0, NULL, NULL,
       "score the run first, if it has no scores; no: write what there is"}},
     CMD_NEEDS_MODEL | CMD_BARRIER,
     cmd_report,
     "The file needs nothing else: pictures are inside, there are no scripts and no links. It\n"
     "lists how the table was prepared, the split, scores and what check finds. A run that was\n"
     "not scored is scored first, on its test rows. A .pdf has A4 pages with the same contents\n"
     "and needs gnuplot; letters that fonts often lack are numbers there (\\u65e5)."},
    {.name = NULL},
};
