/* app/runs/export.c -- the command `export`: writes a run as JSON, CSV or NPY, or as a paragraph
 * for a paper.
 *
 * share/doc/export.md describes what each file holds. Keys may be added but are never removed. */
#include "config.h"

#include "app/runs/export.h"
#include "app/runs/fitting.h"
#include "app/runs/intervals.h"
#include "app/runs/predictor/predictor.h"
#include "app/runs/scoring/scoring.h"
#include "app/session/timeline.h"
#include "app/core/workspace.h"
#include "app/core/ws_tell.h"
#include "app/runs/clustering.h"
#include "data/prepare.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/text.h"
#include "compute/backend.h"
#include "compute/likelihood/likelihood.h"

#include <endian.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The tuning behind a fit. */

static const struct split *split_of(const struct run *r)
{
    return r->data && r->data->table && r->data->split.how ? &r->data->split : NULL;
}

/* JSON. */

static void json_data(struct rec *j, const struct run *r)
{
    const struct table *t = r->data ? r->data->table : NULL;
    const struct split *s = split_of(r);

    rec_open(j, "data");
    rec_str(j, "name", r->dataset_name);
    rec_str(j, "path", t ? t->path : NULL);
    rec_str(j, "checksum", t && *t->checksum ? t->checksum : NULL);
    rec_num(j, "rows", t ? (double)t->n : NAN);
    rec_str(j, "split", s ? s->how : NULL);
    rec_num(j, "train", s && s->part ? (double)s->count[PART_TRAIN] : t ? (double)t->n : NAN);
    rec_num(j, "test", s && s->part ? (double)s->count[PART_TEST] : NAN);
    rec_array(j, "inputs");
    for (size_t i = 0; r->has_enc && r->enc.col && i < r->enc.d; i++) {
        const struct enc_col *c = &r->enc.col[i];
        rec_item(j);
        rec_str(j, "column", c->column);
        rec_str(j, "level", c->level);
        rec_num(j, "mean", c->mean);
        rec_num(j, "sd", c->sd);
        rec_close(j);
    }
    rec_array_close(j);
    rec_array(j, "targets");
    for (size_t k = 0; r->has_enc && k < encoding_targets(&r->enc); k++) {
        const struct encoding e = encoding_for(&r->enc, k);
        rec_item(j);
        rec_str(j, "column", e.target);
        rec_num(j, "mean", e.ymean);
        rec_num(j, "sd", e.ysd);
        rec_str(j, "scale", encoding_yscale_words[e.yscale]);
        rec_close(j);
    }
    rec_array_close(j);
    rec_close(j);
}

static void json_settings(struct rec *j, const struct run *r)
{
    const bool fit = r->kind == RUN_FIT;

    rec_open(j, "settings");
    rec_str(j, "line", r->command);
    rec_int(j, "seed", (int64_t)(fit ? r->fit.seed : r->topt.seed));
    rec_str(j, "precision", (fit ? r->fit.precision : r->topt.precision) == PREC_DOUBLE ? "double"
                                                                                        : "float");
    rec_num(j, "rtol", fit ? r->fit.rtol : NAN);
    rec_num(j, "maxit", fit ? (double)r->fit.maxit : NAN);
    rec_close(j);
}

static void json_metrics(struct rec *j, const char *key, const struct metrics *m)
{
    rec_open(j, key);
    rec_num(j, "rmse", m->rmse);
    rec_num(j, "mae", m->mae);
    rec_num(j, "r2", m->r2);
    rec_num(j, "pearson", m->pearson);
    rec_num(j, "spearman", m->spearman);
    if (isfinite(m->auroc)) {
        rec_num(j, "auroc", m->auroc);
        rec_num(j, "auprc", m->auprc);
    }
    rec_num(j, "nlpd", m->nlpd);
    rec_num(j, "nlpd_constant", m->nlpd_constant);
    rec_num(j, "crps", m->crps);
    rec_num(j, "coverage50", m->coverage50);
    rec_num(j, "coverage90", m->coverage90);
    rec_num(j, "coverage95", m->coverage95);
    rec_close(j);
}

static void json_scores(struct rec *j, const struct run *r)
{
    const struct metrics *m;

    rec_array(j, "scores");
    for (size_t k = 0; (m = run_metrics(r, k, true)) != NULL; k++) {
        rec_item(j);
        rec_str(j, "target", r->has_enc ? encoding_for(&r->enc, k).target : NULL);
        rec_str(j, "on", dataset_part_words[r->score_part]);
        rec_int(j, "rows", (int64_t)r->score_rows);
        json_metrics(j, "raw", m);
        json_metrics(j, "scaled", run_metrics(r, k, false));
        rec_close(j);
    }
    rec_array_close(j);
    scoring_run_baseline_json(j, r);
}

/* The steps of a map that a fit learned anew, for which a fit has no iterations. */
static const char *const learned_trace[] = { "step", "seconds", "nmll", "amplitude", "noise",
                                             "aside_nlpd", "aside_error" };
enum { LEARNED_COLUMNS = sizeof learned_trace / sizeof *learned_trace };

static double learned_value(const struct run *r, size_t i, size_t what)
{
    const struct trace_point *p = &r->learned[i];

    return what == 0 ? p->step : what == 1 ? (double)p->seconds
           : what == 2 ? p->value : p->point[what - 3];
}

static void json_learned(struct rec *j, const struct run *r)
{
    double *v = r->nlearned ? mem_calloc(r->nlearned, sizeof *v, "a trace", NULL) : NULL;

    if (!v)
        return;
    rec_open(j, "learned");
    for (size_t c = 0; c < LEARNED_COLUMNS; c++) {
        for (size_t i = 0; i < r->nlearned; i++)
            v[i] = learned_value(r, i, c);
        rec_nums(j, learned_trace[c], v, r->nlearned);
    }
    rec_close(j);
    free(v);
}

static double trace_value(const struct run *r, size_t i, int what)
{
    const struct trace_point *p = &r->trace[i];

    return what == 0 ? p->step : what == 1 ? (double)p->seconds : what == 2 ? p->value
         : what == 3 ? p->value2 : r->kind == RUN_FIT ? p->passes : NAN;
}

static const char *const fit_trace[] = {"iteration", "seconds", "residual", "true_residual",
                                        "passes"};
static const char *const tune_trace[] = { "evaluation", "seconds", "score", "best" };

/* Columns of the trace. Those of a tuning end with its hyperparameters, amplitude and noise. */
static size_t trace_columns(const struct run *r)
{
    return r->kind == RUN_FIT ? 5 : 4;
}

static const char *trace_name(const struct run *r, size_t c)
{
    return r->kind == RUN_FIT ? fit_trace[c] : tune_trace[c];
}

static void json_trace(struct rec *j, const struct run *r)
{
    double *v = mem_calloc(r->ntrace ? r->ntrace : 1, sizeof *v, "a trace", NULL);

    rec_open(j, "trace");
    for (size_t c = 0; v && c < trace_columns(r); c++) {
        for (size_t i = 0; i < r->ntrace; i++)
            v[i] = trace_value(r, i, (int)c);
        rec_nums(j, trace_name(r, c), v, r->ntrace);
    }
    rec_close(j);
    free(v);
}

static void write_json(const struct workspace *ws, const struct run *r, struct buf *out)
{
    const struct run *t = r->kind == RUN_FIT ? ws_tuning_of(ws, r) : NULL;
    struct rec j;

    rec_init(&j, REC_RESULT, "export");
    rec_str(&j, "program", "gpdesk " PACKAGE_VERSION);
    rec_str(&j, "run", r->id);
    rec_str(&j, "kind", r->kind == RUN_FIT ? "fit" : "tune");
    rec_str(&j, "state", run_state_name(r->state));
    rec_int(&j, "created", r->created);
    rec_num(&j, "seconds_wall", r->ended > r->started ? r->ended - r->started : NAN);
    rec_str(&j, "kernel", r->kernel_text);
    rec_str(&j, "verdict", r->verdict);
    rec_str(&j, "note", r->note);
    rec_bool(&j, "star", r->star);
    rec_str(&j, "tuned_by", t ? t->id : NULL);
    json_data(&j, r);
    json_settings(&j, r);
    rec_open(&j, "result");
    fitting_json(&j, r);
    rec_close(&j);
    json_scores(&j, r);
    json_trace(&j, r);
    json_learned(&j, r);
    rec_json_line(&j, out);
    rec_free(&j);
}

/* Tables: CSV and NPY. */

/* A table to be written: column names and numbers, row by row. */
struct sheet { char **name; size_t cols, rows; double *v; };

static void sheet_free(struct sheet *s)
{
    for (size_t i = 0; s->name && i < s->cols; i++)
        free(s->name[i]);
    free(s->name);
    free(s->v);
    *s = (struct sheet){ 0 };
}

static enum status sheet_init(struct sheet *s, size_t rows, size_t cols, struct err *err)
{
    s->rows = rows;
    s->cols = cols;
    s->name = mem_calloc(cols, sizeof *s->name, "a table", err);
    const size_t cells = rows * cols;
    s->v = s->name ? mem_calloc(cells ? cells : 1, sizeof *s->v, "a table", err) : NULL;
    return s->v ? ST_OK : ST_NOMEM;
}

static enum status name_column(struct sheet *s, size_t c, const char *name, const char *of,
                               struct err *err)
{
    struct buf b = { 0 };

    buf_printf(&b, "%s%s%s", name, of ? "_" : "", of ? of : "");
    s->name[c] = buf_take(&b);
    return s->name[c] ? ST_OK : err_nomem(err, 0, "a name");
}

/* hint: the command to type before the run's name. */
static enum status need(const struct run *r, bool have, const char *what, const char *hint,
                        struct err *err)
{
    if (have)
        return ST_OK;
    err_named(err, ST_STATE, "no-export", "%s has no %s", r->id, what);
    err_hint(err, "%s %s", hint, r->id);
    return ST_STATE;
}

/* Every evaluation of a tuning, with the point where the objective was evaluated. */
static enum status tuning_sheet(const struct run *r, struct sheet *s, struct err *err)
{
    const struct tune_result *t = &r->tune;
    const size_t n = t->nhp;
    char name[KERNEL_NAME_MAX];
    enum status rc = sheet_init(s, t->ntrace, n + 4, err);

    for (size_t c = 0; rc == ST_OK && c < s->cols; c++) {
        if (c > 1 && c < n + 2)
            kernel_hp_info(&r->fit.kernel, c - 2, name, NULL);
        else
            snprintf(name, sizeof name, "%s", c == 0 ? "evaluation" : c == 1 ? "nmll"
                                              : c == n + 2 ? "amplitude" : "noise");
        rc = name_column(s, c, name, NULL, err);
        for (size_t i = 0; i < s->rows; i++) {
            const struct tune_point *p = &t->trace[i];
            s->v[i * s->cols + c] = c == 0 ? (double)i + 1.0 : c == 1 ? p->nmll
                                  : c < n + 2 ? p->hp[c - 2] : c == n + 2 ? p->amplitude : p->noise;
        }
    }
    return rc;
}

static enum status learned_sheet(const struct run *r, struct sheet *s, struct err *err)
{
    enum status rc = sheet_init(s, r->nlearned, LEARNED_COLUMNS, err);

    for (size_t c = 0; rc == ST_OK && c < s->cols; c++) {
        rc = name_column(s, c, learned_trace[c], NULL, err);
        for (size_t i = 0; i < s->rows; i++)
            s->v[i * s->cols + c] = learned_value(r, i, c);
    }
    return rc;
}

static enum status trace_sheet(const struct run *r, struct sheet *s, struct err *err)
{
    if (r->kind == RUN_TUNE && r->tune.ntrace)
        return tuning_sheet(r, s, err);
    if (r->nlearned && !r->ntrace)
        return learned_sheet(r, s, err);

    enum status rc = need(r, r->ntrace > 0, "trace: nothing was iterated", "show",
                          err);

    if (rc == ST_OK)
        rc = sheet_init(s, r->ntrace, trace_columns(r), err);
    for (size_t c = 0; rc == ST_OK && c < s->cols; c++) {
        rc = name_column(s, c, trace_name(r, c), NULL, err);
        for (size_t i = 0; i < s->rows; i++)
            s->v[i * s->cols + c] = trace_value(r, i, (int)c);
    }
    return rc;
}

/* Columns: row (from 1), part (0 train, 1 valid, 2 test), then for each target y, the mean and both
 * standard deviations. */
static enum status prediction_sheet(const struct run *r, struct sheet *s, struct err *err)
{
    static const char *const names[] = { "y", "mean", "sd_latent", "sd" };
    const struct prediction *p[2] = { r->has_train ? &r->train_pred : NULL,
                                      r->has_test ? &r->test_pred : NULL };
    enum status rc = need(r, p[0] || p[1], "predictions in memory", "score", err);
    const size_t t = p[1] ? p[1]->t : p[0] ? p[0]->t : 0;
    size_t at = 0;

    if (rc == ST_OK)
        rc = sheet_init(s, (p[0] ? p[0]->n : 0) + (p[1] ? p[1]->n : 0), 2 + 4 * t, err);
    if (rc == ST_OK)
        rc = name_column(s, 0, "row", NULL, err);
    if (rc == ST_OK)
        rc = name_column(s, 1, "part", NULL, err);
    for (size_t k = 0; k < t; k++)
        for (size_t c = 0; rc == ST_OK && c < 4; c++)
            rc = name_column(s, 2 + 4 * k + c, names[c],
                             t > 1 && r->has_enc ? encoding_for(&r->enc, k).target : NULL, err);
    for (int which = 0; rc == ST_OK && which < 2; which++)
        for (size_t i = 0; p[which] && i < p[which]->n; i++, at++) {
            double *row = s->v + at * s->cols;
            row[0] = (double)p[which]->row[i] + 1.0;
            row[1] = (double)p[which]->part;
            for (size_t k = 0; k < t; k++) {
                const size_t j = k * p[which]->n + i;
                row[2 + 4 * k] = p[which]->y ? p[which]->y[j] : NAN;
                row[3 + 4 * k] = p[which]->mean[j];
                row[4 + 4 * k] = p[which]->sd_latent ? p[which]->sd_latent[j] : NAN;
                row[5 + 4 * k] = p[which]->sd ? p[which]->sd[j] : NAN;
            }
        }
    return rc;
}

/* One column for each target. */
static enum status weight_sheet(const struct run *r, struct sheet *s, struct err *err)
{
    const struct model *m = r->model;
    enum status rc = need(r, m != NULL, "weights", "show", err);

    if (rc == ST_OK)
        rc = sheet_init(s, m->M, m->t, err);
    for (size_t k = 0; rc == ST_OK && k < s->cols; k++) {
        rc = name_column(s, k, "w", m->t > 1 && r->has_enc ? encoding_for(&r->enc, k).target : NULL,
                         err);
        for (size_t i = 0; i < m->M; i++)
            s->v[i * s->cols + k] = m->w[k * m->M + i];
    }
    return rc;
}

/* Components of the last pca; after clustering, their labels too. */
static enum status coordinate_sheet(const struct workspace *ws, const struct run *r,
                                    struct sheet *s, struct err *err)
{
    const struct pca_state *p = clustering_state_of(ws);
    const bool labels = p->have_clusters && p->clusters.n == p->n;
    enum status rc = need(r, p->have && p->coords, "coordinates", "pca", err);
    char name[24];

    if (rc == ST_OK)
        rc = sheet_init(s, p->n, 1 + p->dims + labels, err);
    for (size_t c = 0; rc == ST_OK && c < s->cols; c++) {
        snprintf(name, sizeof name, c == 0 ? "row" : c <= p->dims ? "pc%zu" : "cluster", c);
        rc = name_column(s, c, name, NULL, err);
        for (size_t i = 0; i < p->n; i++)
            s->v[i * s->cols + c] = c == 0 ? (double)(p->row ? p->row[i] : i) + 1.0
                                  : c <= p->dims ? p->coords[i * p->dims + c - 1]
                                                 : (double)p->clusters.label[i] + 1.0;
    }
    return rc;
}

static enum status make_sheet(const struct workspace *ws, const struct run *r, const char *what,
                              bool npy, struct sheet *s, struct err *err)
{
    if (!strcmp(what, "auto"))
        what = r->kind == RUN_TUNE ? "trace" : npy ? "weights"
             : r->has_test || r->has_train || !r->ntrace ? "predictions" : "trace";
    return !strcmp(what, "trace")         ? trace_sheet(r, s, err)
           : !strcmp(what, "predictions") ? prediction_sheet(r, s, err)
           : !strcmp(what, "weights")     ? weight_sheet(r, s, err)
                                          : coordinate_sheet(ws, r, s, err);
}

static void write_csv(const struct sheet *s, text_csv_fn *csv, struct buf *out)
{
    for (size_t c = 0; c < s->cols; c++) {
        if (c)
            buf_putc(out, ',');
        csv(out, s->name[c]);
    }
    buf_putc(out, '\n');
    for (size_t i = 0; i < s->rows * s->cols; i++) {
        if (!isnan(s->v[i]))
            buf_json_double(out, s->v[i]);
        buf_putc(out, (i + 1) % s->cols ? ',' : '\n');
    }
}

/* Appends an NPY file (version 1.0) of rows x cols doubles. */
static void write_npy(struct buf *out, const double *v, size_t rows, size_t cols)
{
    enum { HEAD = 128 }; /* length of magic, lengths and header together: a multiple of 64 */
    char head[HEAD];
    const unsigned char magic[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, HEAD - 10, 0 };

    memset(head, ' ', sizeof head);
    const int n = snprintf(head, sizeof head, "{'descr': '<f8', 'fortran_order': False, "
                           "'shape': (%zu, %zu), }", rows, cols);
    head[n] = ' ';
    head[HEAD - 11] = '\n';
    buf_putn(out, (const char *)magic, sizeof magic);
    buf_putn(out, head, HEAD - 10);
    for (size_t i = 0; i < rows * cols; i++) {
        uint64_t u;
        memcpy(&u, &v[i], sizeof u);
        u = htole64(u);
        buf_putn(out, (const char *)&u, sizeof u);
    }
}

/* A paragraph. */

static void count_words(struct buf *b, size_t n)
{
    char text[32];

    text_count(text, sizeof text, n);
    buf_puts(b, text);
}

static void figure_words(struct buf *b, const char *before, double v)
{
    char text[40];

    if (!isfinite(v))
        return;
    text_number(text, sizeof text, v);
    buf_printf(b, "%s%s", before, text);
}

/* What was done to inputs and targets before the model saw them. */
static void scaling_words(struct buf *b, const struct run *r)
{
    const enum x_scale x = r->data ? r->data->xscale : X_STANDARD;
    const bool inputs = x == X_STANDARD;
    const bool targets = !r->has_enc || r->enc.yscale != Y_NONE;
    const char *many = r->has_enc && encoding_targets(&r->enc) > 1 ? "s" : "";

    buf_puts(b, ". ");
    if (inputs || targets)
        buf_printf(b,
                   "%s%s%s %s standardised with the means and standard deviations of the training "
                   "rows%s. ",
                   inputs ? "Inputs" : "",
                   inputs && targets ? " and target" : targets ? "Target" : "",
                   targets ? many : "", inputs || *many ? "were" : "was",
                   targets && r->has_enc && r->enc.yscale == Y_LOG
                       ? " (the target after taking logarithms)"
                       : "");
    if (!inputs)
        buf_puts(b, x == X_COMMON ? "Inputs were centred and divided by one standard deviation, "
                                    "the root of the mean of their variances in the training "
                                    "rows. "
                                  : "Inputs were used as they are. ");
    if (!targets)
        buf_printf(b, "The target%s %s used as %s. ", many, *many ? "were" : "was",
                   *many ? "they are" : "it is");
}

static void data_words(struct buf *b, const struct run *r)
{
    const struct split *s = split_of(r);
    const struct table *t = r->data ? r->data->table : NULL;
    const size_t train = r->kind == RUN_FIT ? r->info.rows : s && s->part ? s->count[PART_TRAIN]
                       : t ? t->n : 0;

    buf_puts(b, "Data: ");
    text_safe(b, r->dataset_name ? r->dataset_name : "?", 60);
    if (t) {
        buf_puts(b, ", ");
        count_words(b, t->n);
        buf_printf(b, " rows%s%s%s", *t->checksum ? " (" : "", t->checksum,
                   *t->checksum ? ")" : "");
    }
    if (s && s->part)
        buf_printf(b, "; split %s: %zu training and %zu test rows", s->how, s->count[PART_TRAIN],
                   s->count[PART_TEST]);
    else if (train)
        buf_printf(b, "; %zu training rows", train);
    if (r->has_enc)
        buf_printf(b, "; %zu inputs after encoding", r->enc.d);
    for (size_t k = 0; r->has_enc && k < encoding_targets(&r->enc); k++) {
        buf_puts(b, k ? ", " : encoding_targets(&r->enc) > 1 ? "; targets " : "; target ");
        text_safe(b, encoding_for(&r->enc, k).target, 40);
    }
    scaling_words(b, r);
}

/* What makes classes of the latent function; NULL where the target is a number. */
static const struct likelihood_ops *classes_of(const struct run *r)
{
    const struct likelihood_ops *l = r->kind == RUN_FIT ? r->fit.likelihood : r->topt.likelihood;

    return l && l->classes ? l : NULL;
}

static void model_words(struct buf *b, const struct run *r)
{
    const struct likelihood_ops *classes = classes_of(r);
    const struct kernel *k = &r->fit.kernel;
    const struct model_ops *kind = run_model_kind(r);

    buf_printf(b, "Model: Gaussian process with covariance %s", r->kernel_text);
    for (size_t i = 0; i < k->nterms; i++)
        buf_printf(b, "%s%s, %s", i ? "; " : " (", k->term[i].ops->title, k->term[i].ops->formula);
    buf_printf(b, "%s%s%s", k->nterms ? ")" : "", classes ? ", of which the target is a class: "
                                                          : " and Gaussian noise",
               classes ? classes->title : "");
    if (!kind->draws) {
        buf_printf(b, ", %s%s. ", kind->exact ? "evaluated exactly" : "approximated by the ",
                   kind->exact ? "" : kind->words);
        return;
    }
    if (kernel_learned_features(k)) {
        buf_printf(b, ", whose %zu features a network has learned (Wilson et al. 2016). ",
                   kernel_learned_features(k));
        return;
    }
    if (kernel_learns(k))
        buf_puts(b, ", in which a network has learned features or coordinates (Wilson et al. "
                    "2016)");
    buf_puts(b, ", approximated by ");
    count_words(b, r->kind == RUN_FIT ? r->info.features : r->topt.features);
    buf_printf(
        b,
        " random features (Rahimi & Recht 2007; structured orthogonal: Yu et al. 2016) drawn "
        "with seed %" PRIu64 ", computed in %s precision. ",
        r->kind == RUN_FIT ? r->fit.seed : r->topt.seed,
        (r->kind == RUN_FIT ? r->fit.precision : r->topt.precision) == PREC_DOUBLE ? "double"
                                                                                   : "single");
}

static void tuning_words(struct buf *b, const struct run *t)
{
    static const char *const objective[] = {"the negative log marginal likelihood",
                                            "the leave-one-out error",
                                            "the error on the validation rows"};
    const struct tuner_ops *how = t->topt.method ? tuner_find(t->topt.method, NULL) : NULL;

    if (kernel_learns(&t->fit.kernel)) {
        buf_printf(b, "Network, amplitude and noise (%s): %zu steps of Adam (Kingma & Ba 2015) on "
                   "the negative log marginal likelihood of subsets of the training rows", t->id,
                   t->tune.evaluations);
        figure_words(b, ", that of all rows ", t->tune.best.nmll);
        buf_printf(b, ", seed %" PRIu64 ". ", t->topt.seed);
        return;
    }
    buf_printf(b, "Hyperparameters (%s): minimum of %s found by %s in %zu evaluations", t->id,
               objective[t->topt.objective], how ? how->title : "search", t->tune.evaluations);
    if (!run_model_kind(t)->draws) {
        buf_printf(b, " with the %s", run_model_kind(t)->words);
    } else {
        buf_puts(b, " with ");
        count_words(b, t->topt.features);
        buf_puts(b, " features");
    }
    figure_words(b, ", value ", t->tune.best.nmll);
    buf_printf(b, ", seed %" PRIu64 ". ", t->topt.seed);
}

/* How far its intervals reach, where that is not as far as those of normal distributions. */
static void reach_words(struct buf *b, const struct run *r)
{
    if (!intervals_reached(r, 5e-3))
        return;
    buf_puts(b, "; ");
    intervals_reach(b, r);
    if (r->model->t > 1)
        buf_puts(b, ", for the first target");
}

/* What the fit did to the amplitude and noise that it was given (fit rescale=...).  Of several
 * targets each has an amplitude of its own, and what they share is the ratio. */
static void rescale_words(struct buf *b, const struct run *r)
{
    static const double least = 1e-3;
    const double amplitude = r->fit.amplitude, noise = r->fit.noise;
    const double ratio = noise / amplitude, now = r->info.noise / r->info.amplitude;

    if (r->kind != RUN_FIT || !r->model || r->model->kind->classes)
        return;
    if (!intervals_moved(r, least)) {
        reach_words(b, r);
        return;
    }
    if (r->model->t == 1)
        buf_printf(b, "; the fit moved amplitude %.4g and noise %.4g to these values, ", amplitude,
                   noise);
    else if (fabs(now - ratio) > least * ratio)
        buf_printf(b,
                   "; the fit moved the ratio of noise to amplitude from %.4g to %.4g and the "
                   "amplitude of each target: ", ratio, now);
    else
        buf_printf(b,
                   "; the fit kept the ratio of noise to amplitude, %.4g, and moved the amplitude "
                   "of each target, that of the first from %.4g: ", ratio, amplitude);
    intervals_rule(b, r);
    if (r->model->t > 1)
        buf_puts(b, ", for the first target");
    reach_words(b, r);
}

static void scale_words(struct buf *b, const struct run *r)
{
    struct buf hp = { 0 };

    const bool noise = !run_model_kind(r)->classes; /* which have none */

    if (r->kind == RUN_FIT && r->model)
        fitting_scales_text(&hp, &r->fit.kernel, r->model->hp, r->model->t, r->model->amplitudes,
                            noise ? r->model->noises : NULL);
    else if (r->kind == RUN_TUNE && r->tune.evaluations)
        fitting_scales_text(&hp, &r->fit.kernel, r->tune.best.hp, r->topt.targets,
                            r->tune.best.amplitudes, noise ? r->tune.best.noises : NULL);
    if (!hp.len)
        return;
    const bool raw = r->has_enc && r->enc.yscale == Y_NONE && r->data &&
                     r->data->xscale == X_NONE;
    buf_puts(b, raw ? "Values in the units of the data: " : "Values in standardised units: ");
    /* Hyperparameters are separated by three blanks. */
    for (const char *p = buf_str(&hp); *p; p++) {
        if (p[0] == ' ' && p[1] == ' ') {
            buf_puts(b, ", ");
            p += strspn(p, " ") - 1;
        } else {
            buf_putc(b, *p);
        }
    }
    rescale_words(b, r);
    buf_puts(b, ". ");
    buf_free(&hp);
}

static void solver_words(struct buf *b, const struct run *r)
{
    const struct fit_info *i = &r->info;
    const struct solver_ops *s = solver_find(i->solver, NULL);
    const struct precond_ops *p = *i->precond ? precond_find(i->precond, NULL) : NULL;

    const struct likelihood_ops *classes = classes_of(r);

    if (classes && classes->posterior) {
        buf_printf(b, "Posterior: %s, %zu iterations. ", classes->method, i->iterations);
        return;
    }
    if (i->why == OUT_DIRECT) {
        buf_puts(b, "Weights: Cholesky factorisation. ");
        return;
    }
    buf_printf(b, "Weights: %s", s ? s->title : i->solver);
    if (p && p->factored)
        buf_puts(b,
                 " preconditioned by the Cholesky factor of Z'Z + lambda^2 I in single precision");
    if (i->rank && p)
        buf_printf(b, " with a preconditioner of rank %zu (%s; Frangella, Tropp & Udell 2023)",
                   i->rank, p->title);
    buf_printf(b, ", %s after %zu iterations, relative residual %.2g (tolerance %.2g). ",
               solve_outcome(i->why), i->iterations, i->true_residual, r->fit.rtol);
}

/* What simple models score at the same rows. */
static void baseline_words(struct buf *b, const struct run *r, size_t target)
{
    const struct metrics *mean = run_baseline(r, BASELINE_MEAN, target, true),
                         *ridge = run_baseline(r, BASELINE_RIDGE, target, true);

    if (mean) {
        figure_words(b, "The training mean alone has RMSE ", mean->rmse);
        figure_words(b, " and NLPD ", mean->nlpd);
        buf_puts(b, ridge ? "; " : " there. ");
    }
    if (ridge) {
        figure_words(b, mean ? "ridge regression on the same inputs has RMSE "
                             : "Ridge regression on the same inputs has RMSE ", ridge->rmse);
        figure_words(b, " and NLPD ", ridge->nlpd);
        buf_puts(b, " there. ");
    }
}

static void class_score_words(struct buf *b, const struct metrics *m)
{
    figure_words(b, " accuracy ", m->accuracy);
    figure_words(b, " (the commonest class alone: ", m->majority);
    figure_words(b, "), log loss ", m->log_loss);
    figure_words(b, " nats a row (the shares of the classes alone: ", m->log_loss_constant);
    figure_words(b, "), Brier score ", m->brier);
    figure_words(b, ", expected calibration error ", m->ece);
    figure_words(b, ", AUROC ", m->auroc);
    buf_puts(b, ". ");
}

/* How rows kept aside have set probabilities, variances and intervals. */
static void calibration_words_of(struct buf *b, const struct run *r)
{
    const struct fit_info *i = &r->info;

    if (i->calibration_rows == 0)
        return;
    buf_printf(b, "By %zu rows that the model was not fitted to, ", i->calibration_rows);
    if (i->calibration_temperature > 0.0)
        buf_printf(b, "latent functions were divided by the temperature %.4g",
                   i->calibration_temperature);
    if (i->calibration_set > 0.0)
        buf_printf(b, "%sprediction sets at %g %% were made (split conformal)",
                   i->calibration_temperature > 0.0 ? ", and " : "", 100.0 * i->calibration_level);
    if (i->calibration_factor > 0.0)
        buf_printf(b, "variances were multiplied by %.4g, and intervals at %g %% reach %.4g sd",
                   i->calibration_factor, 100.0 * i->calibration_level, i->calibration_reach);
    buf_puts(b, ". ");
}

static void score_words(struct buf *b, const struct run *r)
{
    const struct metrics *m, *scaled;
    char of[40];

    for (size_t k = 0; (m = run_metrics(r, k, true)) != NULL; k++) {
        scaled = run_metrics(r, k, false);
        buf_printf(b, "On %zu %s rows%s:", r->score_rows,
                   dataset_part_names[r->score_part],
                   run_suffix(r, k, of, sizeof of));
        if (classes_of(r)) {
            class_score_words(b, m);
            continue;
        }
        figure_words(b, " RMSE ", m->rmse);
        figure_words(b, " (", scaled->rmse);
        buf_puts(b, " of the training standard deviation)");
        figure_words(b, ", MAE ", m->mae);
        figure_words(b, ", NLPD ", m->nlpd);
        figure_words(b, ", CRPS ", m->crps);
        if (isfinite(m->coverage95))
            buf_printf(b,
                       ", %.1f %% of targets inside the central 95 %% interval (standard error "
                       "%.1f %%)",
                       100.0 * m->coverage95, 100.0 * judgement_share_se(m->n, 0.95));
        buf_puts(b, ". ");
        baseline_words(b, r, k);
    }
}

/* The references for the methods used, each once. */
static void source_words(struct buf *b, const struct run *r)
{
    const struct kernel *k = &r->fit.kernel;

    buf_printf(b, "Computed with gpdesk %s (%s). Sources: ", PACKAGE_VERSION, cpu_level());
    for (size_t i = 0; i < k->nterms; i++) {
        bool told = false;
        for (size_t j = 0; j < i; j++)
            told |= k->term[j].ops == k->term[i].ops;
        if (!told && k->term[i].ops->cite)
            buf_printf(b, "%s: %s; ", k->term[i].ops->title, k->term[i].ops->cite);
    }
    const struct model_ops *kind = r->kind == RUN_FIT && r->model ? r->model->kind : NULL;
    buf_printf(b, "method: %s.\n", (kind ? kind : model_kind_usual(false))->cite);
}

void export_words(const struct workspace *ws, const struct run *r, struct buf *out)
{
    const struct run *t = r->kind == RUN_TUNE ? r : ws_tuning_of(ws, r);

    data_words(out, r);
    model_words(out, r);
    if (t && t->tune.evaluations)
        tuning_words(out, t);
    scale_words(out, r);
    if (r->kind == RUN_FIT && r->model)
        solver_words(out, r);
    calibration_words_of(out, r);
    score_words(out, r);
    source_words(out, r);
}

/* The command. */

static bool ends_with(const char *path, const char *tail)
{
    const size_t n = strlen(path), m = strlen(tail);

    return n > m && strcasecmp(path + n - m, tail) == 0;
}

static enum status write_table(const struct workspace *ws, const struct run *r,
                               const struct args *a, bool npy, struct buf *out, struct err *err)
{
    text_csv_fn *csv = strcmp(args_text(a, "quote"), "no") ? text_csv_guarded : text_csv;
    struct sheet s = { 0 };
    const enum status rc = make_sheet(ws, r, args_text(a, "what"), npy, &s, err);

    if (rc == ST_OK && npy)
        write_npy(out, s.v, s.rows, s.cols);
    else if (rc == ST_OK)
        write_csv(&s, csv, out);
    sheet_free(&s);
    return rc;
}

/* The language of as=, or that of the file's ending; NULL: none. */
static const struct predictor_language *language_of(const struct args *a)
{
    const char *as = args_text(a, "as"), *out = args_text(a, "out");
    const char *dot = out ? strrchr(out, '.') : NULL;

    return strcmp(as, "auto") ? predictor_language_find(as)
           : dot              ? predictor_language_of(dot)
                              : NULL;
}

/* Says which preparation of the table a program repeats. */
static void tell_prepared(struct workspace *ws, const struct run *r)
{
    const char *steps = r->enc.steps ? r->enc.steps : "";
    const bool left = !strncmp(steps, "molecules ", 10) || strstr(steps, "\nmolecules ");

    if (*steps)
        ws_tell(ws, REC_NOTE, r->id, "prepared", left ? "predict NEW.csv" : NULL,
                "the program renames, computes and leaves out rows as where, let and rename did; "
                "it tells how many rows it leaves out%s",
                left ? "; columns made of molecules it reads ready-made" : "");
}

static enum status write_program(struct workspace *ws, const struct run *r, const struct args *a,
                                 struct buf *text, struct err *err)
{
    const struct predictor_language *in = language_of(a);
    const bool asked = args_bool(a, "sd");
    bool sd;

    if (!args_text(a, "out")) {
        err_named(err, ST_USAGE, "format", "as=%s writes a program, which needs a file", in->name);
        err_hint(err, "export %s as=%s out=%s%s", r->id, in->name, r->id, in->ending);
        return ST_USAGE;
    }
    enum status rc = predictor_write(r, in, asked, &sd, text, err);
    if (rc == ST_OK)
        tell_prepared(ws, r);
    if (rc == ST_OK && r->model->precision == PREC_FLOAT && r->model->kind->draws)
        ws_tell(ws, REC_NOTE, r->id, "single", "fit precision=double, then export",
                "%s has features in single precision, the program computes them in double: its "
                "means differ by that rounding, up to some 1e-5 sd where the noise is small",
                r->id);
    if (rc == ST_OK && sd && !asked && r->enc.yscale == Y_LOG)
        ws_tell(ws, REC_NOTE, r->id, "log-mean", NULL,
                "under y=log the mean needs the variance: the program has the factor for it, and "
                "computes standard deviations, too");
    return rc;
}

static enum status write_as(struct workspace *ws, const struct run *r, const struct args *a,
                            struct buf *text, struct err *err)
{
    const char *out = args_text(a, "out");

    if (language_of(a))
        return write_program(ws, r, a, text, err);
    if (!out || ends_with(out, ".txt")) {
        export_words(ws, r, text);
        return ST_OK;
    }
    if (ends_with(out, ".json")) {
        write_json(ws, r, text);
        return ST_OK;
    }
    if (ends_with(out, ".csv") || ends_with(out, ".npy"))
        return write_table(ws, r, a, ends_with(out, ".npy"), text, err);
    err_named(err, ST_USAGE, "format", "%.200s: the ending gives the format: .json .csv .npy "
              ".txt .py .c", out);
    err_hint(err, "export %s out=%s.json", r->id, r->id);
    return ST_USAGE;
}

static enum status cmd_export(struct workspace *ws, const struct args *a, struct err *err)
{
    struct run *run = ws_run(ws, args_text(a, "run"), err);
    const char *out = args_text(a, "out");
    struct buf text = { 0 };
    char size[32];
    struct rec r;

    if (!run)
        return err->code;
    if (run->state == RUN_QUEUED || run->state == RUN_RUNNING) {
        err_set(err, ST_STATE, "%s is still running", run->id);
        err_hint(err, "wait; then export %s", run->id);
        return ST_STATE;
    }
    if (run_one_function(run, err) != ST_OK)
        return ST_UNSUPPORTED;
    enum status rc = write_as(ws, run, a, &text, err);
    if (rc == ST_OK && text.failed)
        rc = err_nomem(err, text.cap, "an export");
    if (rc == ST_OK && out)
        rc = outfile_put(out, 0666, text.s, text.len, err);
    if (rc != ST_OK) {
        buf_free(&text);
        return rc;
    }
    rec_init(&r, REC_RESULT, "export");
    rec_str(&r, "run", run->id);
    rec_str(&r, "out", out);
    rec_int(&r, "bytes", (int64_t)text.len);
    rec_str(&r, "text", out ? NULL : buf_str(&text));
    if (out) {
        mem_format(size, sizeof size, (double)text.len);
        rec_text(&r, "%s is in ", run->id);
        rec_safe(&r, out);
        rec_text(&r, " (%s)", size);
    } else {
        buf_putn(&r.text, text.s, text.len - 1);
    }
    buf_free(&text);
    ws_emit(ws, &r);
    return ST_OK;
}

const struct command export_rows[] = {
    {"export",
     "session",
     "Write a run as JSON, CSV, NPY, a program that predicts, or a paragraph for a paper",
     "export r1\nexport r1 out=r1.json\nexport r1 as=python out=r1.py",
     {{"run", ARG_RUN, ARGF_POS, ".", 0, 0, NULL, NULL, "run (default: the last fit)"},
      {"out", ARG_OUT, 0, NULL, 0, 0, NULL, NULL,
       "file to write: .json has everything, .csv and .npy a table, .txt the paragraph, "
       ".py and .c a program; default: show the paragraph"},
      {"as", ARG_CHOICE, 0, "auto", 0, 0, "auto|python|c", NULL,
       "a program that predicts new rows by itself: Python with NumPy, or C with libm; auto: by "
       "the ending of the file"},
      {"sd", ARG_BOOL, 0, "no", 0, 0, NULL, NULL,
       "the program computes standard deviations, too, and holds their factor"},
      {"what", ARG_CHOICE, 0, "auto", 0, 0, "auto|predictions|trace|weights|coordinates", NULL,
       "table for .csv and .npy; auto: the predictions of the last score (.csv) or the weights "
       "(.npy), for a tuning its trace; coordinates: those of the last pca"},
      {"quote", ARG_CHOICE, 0, "no", 0, 0, "no|formulas", NULL,
       "formulas: put an apostrophe before names in .csv that begin with = + - @, for "
       "spreadsheets"}},
     0,
     cmd_export,
     "The keys of the JSON file and the columns of the tables are described in "
     "share/doc/export.md."},
    {.name = NULL},
};
