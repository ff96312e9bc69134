/* ui/views/words.c -- runs in words, next steps and axes: shared by several views. */
#include "app/runs/fitting.h"
#include "ui/views/words.h"

#include "app/core/condition.h"
#include "app/core/trace.h"
#include "app/plots/plot_rows.h"
#include "app/runs/intervals.h"
#include "app/runs/scoring/scoring.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

char words_glyph(const struct run *r)
{
    switch (r->state) {
    case RUN_QUEUED: return '.';
    case RUN_RUNNING: return '>';
    case RUN_STOPPED: return '~';
    case RUN_FAILED: return 'x';
    case RUN_DONE: break;
    }
    return r->kind == RUN_FIT && r->info.why < 0 ? '!' : ' ';
}

static void put(struct buf *b, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void put(struct buf *b, const char *key, const char *fmt, ...)
{
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    buf_printf(b, "%s\t", key);
    text_safe(b, line, 0);
    buf_putc(b, '\n');
}

static void put_num(struct buf *b, const char *key, double v)
{
    char s[40];
    if (isnan(v))
        return;
    text_number(s, sizeof s, v);
    put(b, key, "%s", s);
}

/* Writes amplitudes or noises on one line if there are few; names are shortened to what every
 * reader knows. */
static void each_scale(struct buf *line, const char *name, size_t t, const double *v)
{
    char a[40];

    buf_puts(line, name);
    if (fitting_scales_equal(t, v)) {
        text_number(a, sizeof a, v[0]);
        buf_printf(line, " %s (all %zu)", a, t);
        return;
    }
    for (size_t j = 0; j < t && j < 4; j++) {
        text_number(a, sizeof a, v[j]);
        buf_printf(line, " %s", a);
    }
    buf_puts(line, t > 4 ? " ..." : "");
}

static void hp_lines(const struct run *r, const double *hp, size_t t, const double *amplitudes,
                     const double *noises, struct buf *b)
{
    char a[40], name[KERNEL_NAME_MAX];
    double given[KERNEL_MAX_HP];
    struct kernel parsed, *k = &parsed;
    struct buf line = { 0 };
    if (!r->kernel_text || kernel_parse(r->kernel_text, k, given, NULL) != ST_OK)
        return;
    size_t n = kernel_nhp(k);
    for (size_t i = 0; i < n && i < 6; i++) {
        struct hparam info;
        kernel_hp_info(k, i, name, &info);
        text_number(a, sizeof a, hp[i]);
        /* possibly followed by an index */
        const bool length = strncmp(name, "lengthscale", 11) == 0;
        buf_printf(&line, "%s%s %s  ", length ? "l" : "", name + (length ? 11 : 0), a);
    }
    if (n > 6)
        buf_printf(&line, "(%zu more)  ", n - 6);
    each_scale(&line, "amplitude", t, amplitudes);
    if (noises)
        each_scale(&line, "  noise", t, noises);
    put(b, "scaled", "%s", buf_str(&line));
    buf_free(&line);
}

/* "matern(nu=5/2)" becomes "matern 5/2" for narrow columns. */
void words_kernel(const struct run *r, char *out, size_t len)
{
    const char *s = r->kernel_text ? r->kernel_text : "-";
    size_t n = 0;
    while (*s && n + 1 < len) {
        if (strncmp(s, "(nu=", 4) == 0) {
            out[n++] = ' ';
            s += 4;
        } else if (*s == ')') {
            s++;
        } else {
            out[n++] = *s++;
        }
    }
    out[n] = '\0';
}

/* Scores of probabilities of two classes. */
static void class_lines(const struct metrics *m, struct buf *b)
{
    put(b, "accuracy", "%.4f (the commoner class %.4f)", m->accuracy, m->majority);
    put(b, "log loss", "%.4f nats (of the base rate %.4f)", m->log_loss, m->log_loss_constant);
    if (isfinite(m->auroc))
        put(b, "AUROC", "%.4f, AUPRC %.4f", m->auroc, m->auprc);
    put(b, "ECE", "%.4f, Brier %.4f", m->ece, m->brier);
}

static void score_lines(const struct run *r, struct buf *b)
{
    static const char *const part[] = { "train", "valid", "test" };
    char s[40], t[40];
    if (!r->has_score)
        return;
    text_count(s, sizeof s, r->score_rows);
    char of[40];
    put(b, "score on", "%s, %s rows%s%s", part[r->score_part % 3], s, r->nmore ? ";" : "",
        run_suffix(r, 0, of, sizeof of));
    if (isfinite(r->score_raw.log_loss)) {
        class_lines(&r->score_raw, b);
        return;
    }
    text_number(s, sizeof s, r->score_raw.rmse);
    text_number(t, sizeof t, r->score_scaled.rmse);
    put(b, "RMSE", "%s (scaled %s)", s, t);
    text_number(s, sizeof s, r->score_raw.r2);
    put(b, "R2", "%s", s);
    text_number(s, sizeof s, r->score_scaled.nlpd);
    text_number(t, sizeof t, r->score_scaled.nlpd_constant);
    put(b, "NLPD", "%s scaled (constant sd: %s)", s, t);
    put(b, "coverage", "50 %%: %.3f  90 %%: %.3f  95 %%: %.3f (standard error %.3f)",
        r->score_scaled.coverage50, r->score_scaled.coverage90, r->score_scaled.coverage95,
        judgement_share_se(r->score_rows, 0.95));
    if (intervals_reached(r, 5e-3))
        put(b, "", "intervals at 95 %% reach %.2f sd instead of 1.96",
            reach_at(&r->model->reach[0], 0.95));
    struct buf simple = { 0 };
    scoring_run_baseline_words(&simple, r, 0);
    if (simple.len)
        put(b, "baselines", "%s", buf_str(&simple));
    buf_free(&simple);
    for (size_t j = 1; j <= r->nmore; j++) {
        const struct metrics *m = run_metrics(r, j, false);
        text_number(s, sizeof s, m->rmse);
        text_number(t, sizeof t, m->nlpd);
        put(b, "", "RMSE %s, NLPD %s scaled, 95 %%: %.3f%s", s, t, m->coverage95,
            run_suffix(r, j, of, sizeof of));
    }
}

/* For a running fit: how fast it converges and when it will reach the target, with a range. */
static void forecast_lines(const struct run *r, struct buf *b)
{
    struct trace_fit f;
    char s[40];
    if (r->ntrace == 0)
        return;
    const struct trace_point *p = &r->trace[r->ntrace - 1];
    if (trace_estimated(r))
        put(b, "residual", "true %.2e, estimate %.2e at it %u, target %.0e", trace_last(r),
            p->value, p->step, r->trace_target);
    else
        put(b, "residual", "%.2e at it %u, target %.0e", p->value, p->step, r->trace_target);
    trace_fit_run(r, &f);
    if (isnan(f.rate))
        return;
    put(b, "rate", "x%.4g per iteration (R2 %.2f)", f.rate, f.r2);
    if (!isfinite(f.forecast) || f.r2 < 0.9) {
        put(b, "forecast", "? %s", f.rate >= 1 ? "(it does not fall)" : "(too uneven to say)");
        return;
    }
    if (f.more) {
        put(b, "forecast", "more than it %.0f", f.lo);
        return;
    }
    const double each = p->step ? (double)p->seconds / p->step : NAN;
    text_seconds(s, sizeof s, fmax(0, (f.forecast - p->step) * each));
    if (isfinite(f.lo) && isfinite(f.hi))
        put(b, "forecast", "it %.0f (%.0f..%.0f), about %s", f.forecast, f.lo, f.hi, s);
    else
        put(b, "forecast", "it %.0f, about %s", f.forecast, s);
}

static void time_lines(const struct fit_info *f, struct buf *b)
{
    char s[40], t[40], u[40], v[40];
    text_seconds(s, sizeof s, f->seconds.total);
    text_seconds(t, sizeof t, f->seconds.solve);
    text_seconds(u, sizeof u, f->seconds.precond);
    text_seconds(v, sizeof v, f->seconds.variance);
    if (f->rank)
        put(b, "time", "%s: preconditioner %s, solve %s, variance %s", s, u, t, v);
    else
        put(b, "time", "%s: solve %s, variance %s", s, t, v);
    if (f->peak_bytes) {
        mem_format(s, sizeof s, (double)f->peak_bytes);
        put(b, "memory", "%s", s);
    }
}

/* Describes how the iteration went; nothing for a direct solve. */
static void solve_lines(const struct fit_info *f, struct buf *b)
{
    char s[80];
    if (f->why == OUT_DIRECT)
        return;
    put(b, "stopped", "%s after %zu iterations", solve_outcome(f->why), f->iterations);
    if (isfinite(f->residual))
        put(b, "residual", "%.2e, true %.2e", f->residual, f->true_residual);
    else if (isfinite(f->evidence))
        put(b, "evidence", "%.2f nats", f->evidence);
    if (f->passes > 0) {
        condition_words(s, sizeof s, CONDITION_SEEN, f->condition);
        put(b, "condition", "%s", s);
        if (condition_known(f->condition_plain) && f->condition_plain != f->condition) {
            condition_words(s, sizeof s, CONDITION_BOUND, f->condition_plain);
            put(b, "", "without preconditioner %s", s);
        }
    }
    if (f->passes > 0)
        put(b, "passes", "%.0f over the data", f->passes);
}

static void fit_lines(const struct run *r, struct buf *b)
{
    const struct fit_info *f = &r->info;
    char s[40];
    bool over = (r->state == RUN_DONE || r->state == RUN_STOPPED) && f->solver[0];
    /* A fit may have rescaled the values of the tuning; the model knows those it used. */
    hp_lines(r, r->fit.hp, r->model ? r->model->t : 1,
             r->model ? r->model->amplitudes : &r->fit.amplitude,
             run_model_kind(r)->classes ? NULL : r->model ? r->model->noises : &r->fit.noise, b);
    if (!over) {
        put(b, "solver", "%s, features %zu", r->fit.solver ? r->fit.solver : "auto",
            r->fit.features);
        forecast_lines(r, b);
        return;
    }
    if (!run_model_kind(r)->draws)
        put(b, "solver", "%s, %zu rows", f->solver, f->rows);
    else
        put(b, "solver", "%s, %zu features", f->solver, f->features);
    if (f->rank)
        put(b, "precond", "%s rank %zu", f->precond, f->rank);
    solve_lines(f, b);
    score_lines(r, b);
    if (f->rank && isfinite(f->ratio)) {
        text_number(s, sizeof s, f->ratio);
        put(b, "ratio", "%s, eigenvalue at the rank / noise", s);
    }
    if (isfinite(f->effective_dimension)) {
        text_number(s, sizeof s, f->effective_dimension);
        const size_t of = f->variance_features ? f->variance_features : f->features;
        if (of)
            put(b, "eff. dim.", "%s of %zu", s, of);
        else
            put(b, "eff. dim.", "%s", s);
    }
    time_lines(f, b);
}

static void tune_lines(const struct run *r, struct buf *b)
{
    const struct tune_result *t = &r->tune;
    char s[40];
    if (r->topt.restarts > 1)
        put(b, "restart", "%zu of %zu", r->topt.restart + 1, r->topt.restarts);
    if (run_model_kind(r)->draws)
        put(b, "features", "%zu", r->topt.features);
    else
        put(b, "by", "the %s", run_model_kind(r)->words);
    if ((r->state == RUN_DONE || r->state == RUN_STOPPED) && t->evaluations) {
        hp_lines(r, t->best.hp, r->topt.targets ? r->topt.targets : 1, t->best.amplitudes,
                 run_model_kind(r)->classes ? NULL : t->best.noises, b);
        put_num(b, "NMLL", t->best.nmll);
        put(b, "after", "%zu evaluations", t->evaluations);
        put_num(b, "eff. dim.", t->effective_dimension);
        text_seconds(s, sizeof s, r->ended - r->started);
        put(b, "time", "%s", s);
    } else if (r->ntrace && isfinite(r->trace[r->ntrace - 1].value2)) {
        text_number(s, sizeof s, r->trace[r->ntrace - 1].value2);
        put(b, "best NMLL", "%s after %zu evaluations", s, r->ntrace);
    }
}

void words_details(const struct run *r, struct buf *b)
{
    put(b, "run", "%s %s on %s%s", r->id, run_state_name(r->state),
        r->dataset_name ? r->dataset_name : "lost data", r->star ? ", starred" : "");
    if (r->kernel_text)
        put(b, "kernel", "%s", r->kernel_text);
    if (r->kind == RUN_FIT) {
        fit_lines(r, b);
        if (r->info.warning[0])
            put(b, "warning", "%s", r->info.warning);
    } else {
        tune_lines(r, b);
    }
    if (r->state == RUN_FAILED)
        put(b, "failed", "%s", r->failure.msg);
    if (r->note && *r->note)
        put(b, "note", "%s", r->note);
    if (r->command)
        put(b, "command", "%s", r->command);
}

void words_line(const struct run *r, struct buf *b)
{
    if (r->state == RUN_FAILED)
        buf_printf(b, "%s failed: ", r->id);
    else if (r->verdict[0] == '\0')
        buf_printf(b, "%s %s", r->id, run_state_name(r->state));
    else if (strncmp(r->verdict, r->id, strlen(r->id)) != 0)
        buf_printf(b, "%s ", r->id);
    text_safe(b, r->state == RUN_FAILED ? r->failure.msg : r->verdict, 0);
}

/* What tuning finds: the hyperparameters that the kernel has, each name once, amplitude, and noise
 * where the likelihood has one. */
static void found_by_tuning(const struct workspace *ws, const struct dataset *d, struct buf *b)
{
    enum { SHOWN = 3 };
    char name[KERNEL_NAME_MAX], seen[SHOWN][KERNEL_NAME_MAX];
    size_t n = 0;

    buf_puts(b, "tune\tfind ");
    for (size_t i = 0; i < kernel_nhp(&ws->kernel) && n < SHOWN; i++) {
        struct hparam info;
        kernel_hp_info(&ws->kernel, i, name, &info);
        const char *dot = strchr(name, '.'), *base = dot ? dot + 1 : name;
        size_t k = 0;
        snprintf(seen[n], sizeof seen[n], "%.*s", (int)strcspn(base, "[("), base);
        while (strcmp(seen[k], seen[n]) != 0)
            k++;
        if (k == n)
            buf_printf(b, "%s%s", n ? ", " : "", seen[n]), n++;
    }
    if (d->link) /* two classes have no noise */
        buf_puts(b, n ? " and amplitude\n" : "the amplitude\n");
    else
        buf_printf(b, "%samplitude and noise\n", n ? ", " : "");
}

void words_next(const struct workspace *ws, struct buf *b)
{
    if (ws->cur >= ws->ndata) {
        buf_puts(b, "demo co2\tbundled data: CO2 at Mauna Loa\n"
                    "open FILE.csv target=NAME\tyour own table\n"
                    "help\tall commands\n");
        return;
    }
    const struct dataset *d = ws->data[ws->cur];
    const struct run *tune = NULL, *fit = NULL;
    for (size_t i = 0; i < ws->nrun; i++) {
        if (ws->run[i]->kind == RUN_TUNE && ws->run[i]->state == RUN_DONE)
            tune = ws->run[i];
        if (ws->run[i]->kind == RUN_FIT && ws->run[i]->model)
            fit = ws->run[i];
    }
    if (!d->split.part)
        buf_puts(b, "split test=20%\tkeep rows aside to judge by\n");
    if (!tune)
        found_by_tuning(ws, d, b);
    if (!fit)
        buf_puts(b, "fit\tfit the model\n");
    else if (!fit->has_score && d->split.part)
        buf_puts(b, "score\terror and coverage on the test rows\n");
    else
        buf_puts(b, "check\tcalibration, outliers, variance\n"
                    "predict FILE.csv out=PRED.csv\tpredict new rows\n"
                    "save FILE.gpd\tkeep all of this\n");
}
