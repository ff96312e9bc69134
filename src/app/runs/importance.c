/* app/runs/importance.c -- see importance.h. */
#include "app/runs/importance.h"

#include "app/core/kept.h"
#include "app/core/ws_tell.h"
#include "app/runs/interactions.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/text.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIR_COLUMNS = 5, BARS_MOST = 24 };
static const double sure = 2.0; /* standard errors */

struct of_column { size_t c; struct effects_rise r; };
struct importance {
    struct movable m;
    size_t rows, repeats, top;
    enum importance_by by;
    bool pairs;
    char *out;
    struct of_column *of;
    struct interaction pair[PAIR_COLUMNS * (PAIR_COLUMNS - 1) / 2];
    size_t npairs;
    double rmse;
};

static void importance_free(struct job *job)
{
    struct importance *w = job->arg;

    if (!w)
        return;
    movable_free(&w->m);
    free(w->of);
    free(w->out);
    free(w);
    job->arg = NULL;
}

/* Computing. */

static int by_rise(const void *a, const void *b)
{
    const struct of_column *x = a, *y = b;

    return x->r.rise != y->r.rise ? (x->r.rise < y->r.rise) - (x->r.rise > y->r.rise)
                                  : (x->c > y->c) - (x->c < y->c);
}

/* Predictions in units of the target. */
static void to_units(const struct movable *m, size_t n, double *v)
{
    const struct encoding one = encoding_for(&m->enc, m->target);

    for (size_t i = 0; i < n; i++)
        v[i] = encoding_value(&one, v[i]);
}

static enum status columns(struct importance *w, const struct effects_ask *q, double *mean,
                           double *moved, struct err *err)
{
    const size_t n = q->rows.n, d = q->rows.like->d;
    const double *y = w->m.sample.e.yraw + w->m.target * n;
    enum status rc = ST_OK;

    for (size_t c = 0; rc == ST_OK && c < w->m.ncol; c++) {
        bool *mask = movable_mask(&w->m, c, d, err);
        rc = !mask ? ST_NOMEM
                   : effects_permuted(q, mask, w->repeats, w->m.model->seed,
                                      rng_stream(RNG_EFFECTS, (uint32_t)(1000 + c * w->repeats)),
                                      moved, err);
        free(mask);
        if (rc != ST_OK)
            break;
        to_units(&w->m, w->repeats * n, moved);
        w->of[c].c = c;
        effects_rise(n, w->repeats, y, mean, moved, &w->of[c].r);
    }
    return rc;
}

static enum status importance_work(struct job *job, struct err *err)
{
    struct importance *w = job->arg;
    const struct tools on = { job->backend, job->pool, &job->ctl };
    enum status rc = movable_sample(&w->m, w->rows, err);
    if (rc == ST_OK && w->by == IMPORTANCE_POSITION)
        rc = movable_positions_agree(&w->m, err);
    const size_t n = w->m.sample.e.n,
                 most = w->m.ncol < PAIR_COLUMNS ? w->m.ncol : PAIR_COLUMNS;
    struct effects_ask q = movable_ask(&w->m, &on);
    struct effects_steps steps = {
        .all = w->m.ncol * w->repeats * n + (w->pairs ? interactions_predictions(n, most) : 0) };

    q.steps = &steps;
    if (rc == ST_OK && (n < 3 || !w->m.sample.e.yraw)) {
        rc = err_set(err, ST_STATE, "importance needs three rows with a target, and there are %zu",
                     n);
        err_hint(err, "split test=20%%, then fit");
    }
    double *mean = rc == ST_OK ? mem_calloc(n * (w->m.model->t + w->repeats), sizeof *mean,
                                            "predictions", err)
                               : NULL;
    w->of = mean ? mem_calloc(w->m.ncol, sizeof *w->of, "columns", err) : NULL;
    if (rc == ST_OK)
        rc = w->of ? model_predict(w->m.model, &w->m.sample.e.base, mean, NULL, &on, err)
                   : ST_NOMEM;
    if (rc == ST_OK) {
        memmove(mean, mean + w->m.target * n, n * sizeof *mean);
        to_units(&w->m, n, mean);
        rc = columns(w, &q, mean, mean + n * w->m.model->t, err);
    }
    free(mean);
    if (rc != ST_OK)
        return rc;
    w->rmse = w->of[0].r.rmse;
    qsort(w->of, w->m.ncol, sizeof *w->of, by_rise);
    size_t col[PAIR_COLUMNS], k = 0;
    for (size_t i = 0; w->pairs && i < w->m.ncol && k < PAIR_COLUMNS; i++)
        col[k++] = w->of[i].c;
    w->npairs = k * (k - (k > 0)) / 2;
    if (w->npairs)
        rc = interactions_measure(&w->m, k, col, w->pair, &q, err);
    interactions_sort(w->pair, w->npairs);
    return rc;
}

/* Drawing. */

static bool draw_bars(struct figure *f, size_t n, const double *y, const double *half,
                      const char *const *name, struct err *err)
{
    double x[BARS_MOST], bx[3 * BARS_MOST], by[3 * BARS_MOST];

    for (size_t i = 0; i < n; i++) {
        x[i] = bx[3 * i] = bx[3 * i + 1] = (double)i;
        bx[3 * i + 2] = by[3 * i + 2] = NAN;
        by[3 * i] = half ? y[i] - half[i] : 0.0;
        by[3 * i + 1] = half ? y[i] + half[i] : 0.0;
    }
    struct series *s = figure_add(f, half ? "rise" : "H", MARK_BARS, n, x, y, err);
    if (!s)
        return false;
    s->color = 0;
    s = half ? figure_add(f, "2 standard errors", MARK_LINE, 3 * n, bx, by, err) : s;
    if (s && half)
        s->color = 1;
    return s && figure_names(&f->x, n, name, err) == ST_OK;
}

static const char *what_of(const struct importance *w)
{
    return w->by == IMPORTANCE_GROUP ? "group" : w->by == IMPORTANCE_POSITION ? "position"
                                                                              : "column";
}

static void name_of(const struct importance *w, size_t c, struct buf *out)
{
    if (w->m.col[c].first)
        buf_puts(out, w->m.col[c].first < w->m.col[c].last ? "positions " : "position ");
    text_safe(out, w->m.col[c].name, 16);
}

static void words_free(size_t n, char **word)
{
    for (size_t i = 0; i < n; i++)
        free(word[i]);
}

static struct figure *rise_panel(const struct importance *w, struct err *err)
{
    const struct encoding one = encoding_for(&w->m.enc, w->m.target);
    const size_t n = w->m.ncol < BARS_MOST ? w->m.ncol : BARS_MOST;
    double y[BARS_MOST], half[BARS_MOST];
    char *word[BARS_MOST] = { NULL }, title[96];
    struct buf label = { 0 };

    for (size_t i = 0; i < n; i++) {
        struct buf b = { 0 };
        y[i] = w->of[i].r.rise;
        half[i] = sure * w->of[i].r.se;
        name_of(w, w->of[i].c, &b);
        word[i] = buf_take(&b);
    }
    buf_puts(&label, "rise of the RMSE, ");
    text_safe(&label, one.target, 40);
    snprintf(title, sizeof title, "Importance of %ss (%s)", what_of(w), w->m.run);
    struct figure *f = figure_new("importance", title, err);
    struct buf first = { 0 };
    name_of(w, w->of[0].c, &first);
    const bool ok = f && figure_label(f, what_of(w), buf_str(&label), err) == ST_OK &&
                    draw_bars(f, n, y, half, (const char *const *)word, err) &&
                    figure_verdict(f, err, "RMSE %.4g; %s permuted adds %.3g (standard error %.2g)",
                                   w->rmse, buf_str(&first), w->of[0].r.rise, w->of[0].r.se)
                        == ST_OK;
    words_free(n, word);
    buf_free(&label);
    buf_free(&first);
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}

/* True if there is nothing but positions of one sequence, so that they can be drawn in order. */
static bool along(const struct importance *w)
{
    for (size_t c = 0; c < w->m.ncol; c++)
        if (!w->m.col[c].first || (c && w->m.col[c].first <= w->m.col[c - 1].last))
            return false;
    return w->m.ncol > 1;
}

/* The rise along a sequence, each span at its middle. */
static bool draw_curve(const struct importance *w, struct figure *f, struct err *err)
{
    const size_t n = w->m.ncol;
    double *x = mem_calloc(4 * n, sizeof *x, "a plot", err);
    bool ok = x != NULL;

    for (size_t i = 0; ok && i < n; i++) {
        const size_t c = w->of[i].c;
        x[c] = 0.5 * (double)(w->m.col[c].first + w->m.col[c].last);
        x[n + c] = w->of[i].r.rise;
        x[2 * n + c] = w->of[i].r.rise - sure * w->of[i].r.se;
        x[3 * n + c] = w->of[i].r.rise + sure * w->of[i].r.se;
    }
    ok = ok && figure_add_band(f, "2 standard errors", n, x, x + 2 * n, x + 3 * n, err) &&
         figure_add(f, "rise", MARK_LINEPOINTS, n, x, x + n, err);
    free(x);
    return ok;
}

static struct figure *curve_panel(const struct importance *w, struct err *err)
{
    const struct encoding one = encoding_for(&w->m.enc, w->m.target);
    char title[96];
    struct buf label = { 0 }, first = { 0 };

    buf_puts(&label, "rise of the RMSE, ");
    text_safe(&label, one.target, 40);
    name_of(w, w->of[0].c, &first);
    snprintf(title, sizeof title, "Importance along the sequence (%s)", w->m.run);
    struct figure *f = figure_new("importance", title, err);
    const bool ok = f && figure_label(f, "position", buf_str(&label), err) == ST_OK &&
                    draw_curve(w, f, err) &&
                    figure_verdict(f, err, "RMSE %.4g; %s permuted adds %.3g (standard error %.2g)",
                                   w->rmse, buf_str(&first), w->of[0].r.rise, w->of[0].r.se)
                        == ST_OK;
    buf_free(&label);
    buf_free(&first);
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}

static struct figure *pairs_panel(const struct importance *w, struct err *err)
{
    double y[BARS_MOST];
    char *word[BARS_MOST] = { NULL };

    for (size_t i = 0; i < w->npairs; i++) {
        struct buf b = { 0 };
        y[i] = w->pair[i].h;
        name_of(w, w->pair[i].a, &b);
        buf_puts(&b, " * ");
        name_of(w, w->pair[i].b, &b);
        word[i] = buf_take(&b);
    }
    struct figure *f = figure_new("importance", "Interactions", err);
    const bool ok = f && figure_label(f, "pair", "H", err) == ST_OK &&
                    draw_bars(f, w->npairs, y, NULL, (const char *const *)word, err);
    words_free(w->npairs, word);
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}

static struct figure *draw(const struct importance *w, struct err *err)
{
    struct figure *f = along(w) ? curve_panel(w, err) : rise_panel(w, err);

    if (!f || !w->npairs)
        return f;
    f->next = pairs_panel(w, err);
    if (f->next)
        return f;
    figure_free(f);
    return NULL;
}

/* Reporting. */

static void json(const struct importance *w, struct rec *rec)
{
    const struct encoding one = encoding_for(&w->m.enc, w->m.target);
    char key[16];

    rec_str(rec, "run", w->m.run);
    rec_str(rec, "target", one.target);
    rec_str(rec, "part", dataset_part_words[w->m.part]);
    rec_int(rec, "rows", (int64_t)w->m.sample.e.n);
    rec_int(rec, "permutations", (int64_t)w->repeats);
    rec_num(rec, "rmse", w->rmse);
    snprintf(key, sizeof key, "%ss", what_of(w));
    rec_array(rec, key);
    for (size_t i = 0; i < w->m.ncol; i++) {
        const struct effects_rise *r = &w->of[i].r;
        const struct movable_column *c = &w->m.col[w->of[i].c];
        rec_item(rec);
        rec_str(rec, "name", c->name);
        if (c->first) {
            rec_int(rec, "first", (int64_t)c->first);
            rec_int(rec, "last", (int64_t)c->last);
        }
        rec_num(rec, "rise", r->rise);
        rec_num(rec, "se", r->se);
        rec_num(rec, "mse_rise", r->mse);
        rec_num(rec, "mse_se", r->mse_se);
        rec_bool(rec, "sure", r->rise > sure * r->se);
        rec_close(rec);
    }
    rec_array_close(rec);
    rec_array(rec, "pairs");
    for (size_t i = 0; i < w->npairs; i++) {
        rec_item(rec);
        rec_str(rec, "a", w->m.col[w->pair[i].a].name);
        rec_str(rec, "b", w->m.col[w->pair[i].b].name);
        rec_num(rec, "h", w->pair[i].h);
        rec_num(rec, "sd", w->pair[i].part * one.ysd);
        rec_close(rec);
    }
    rec_array_close(rec);
}

/* The names of what the error does not clearly depend on, in one line. */
static void unsure(const struct importance *w, struct rec *rec)
{
    size_t n = 0;
    struct buf b = { 0 };

    for (size_t i = 0; i < w->m.ncol; i++)
        if (fabs(w->of[i].r.rise) <= sure * w->of[i].r.se) {
            if (b.len < 26) {
                buf_puts(&b, n ? ", " : "");
                name_of(w, w->of[i].c, &b);
            } else if (b.s[b.len - 1] != '.') {
                buf_puts(&b, ", ..");
            }
            n++;
        }
    if (n)
        rec_text(rec, "\n  within 2 standard errors of 0 (%zu of %zu): %s", n, w->m.ncol,
                 buf_str(&b));
    buf_free(&b);
}

/* The name in the table. */
static void shown(const struct importance *w, size_t c, struct buf *out)
{
    if (w->m.col[c].first)
        name_of(w, c, out);
    else
        text_safe(out, w->m.col[c].name, 24);
}

static void importance_record(struct workspace *ws, const struct importance *w)
{
    const struct encoding one = encoding_for(&w->m.enc, w->m.target);
    const size_t top = w->npairs && w->top > 3 ? w->top - 1 : w->top;
    struct buf rows = { 0 };
    struct rec rec;
    int wide = 0;

    rec_init(&rec, REC_RESULT, "importance");
    json(w, &rec);
    movable_words(&w->m, &rows);
    rec_text(&rec, "importance by %s: rise of the RMSE of ", w->m.run);
    text_safe(&rec.text, one.target, 16);
    rec_text(&rec, ", %.4g over %s", w->rmse, buf_str(&rows));
    buf_free(&rows);
    for (size_t i = 0; i < w->m.ncol && i < top; i++) {
        struct buf b = { 0 };
        shown(w, w->of[i].c, &b);
        const int width = (int)text_width(buf_str(&b));
        wide = width > wide ? width : wide;
        buf_free(&b);
    }
    for (size_t i = 0; i < w->m.ncol && i < top; i++) {
        struct buf b = { 0 };
        shown(w, w->of[i].c, &b);
        rec_text(&rec, "\n  %s%*s  %+.4g  standard error %.2g", buf_str(&b),
                 wide - (int)text_width(buf_str(&b)), "", w->of[i].r.rise, w->of[i].r.se);
        buf_free(&b);
    }
    unsure(w, &rec);
    for (size_t i = 0; i < w->npairs && i < 2; i++) {
        rec_text(&rec, i ? ", " : "\n  largest interactions: ");
        name_of(w, w->pair[i].a, &rec.text);
        rec_text(&rec, " * ");
        name_of(w, w->pair[i].b, &rec.text);
        rec_text(&rec, " H %.2g", w->pair[i].h);
    }
    ws_emit(ws, &rec);
}

static enum status importance_csv(const void *work, struct err *err)
{
    const struct importance *w = work;
    struct buf b = { 0 };

    buf_puts(&b, "name,rise,se,mse_rise,mse_se\n"); /* in order of importance */
    for (size_t i = 0; i < w->m.ncol; i++) {
        const struct effects_rise *r = &w->of[i].r;
        text_csv_guarded(&b, w->m.col[w->of[i].c].name);
        buf_printf(&b, ",%.12g,%.12g,%.12g,%.12g\n", r->rise, r->se, r->mse, r->mse_se);
    }
    const enum status rc = b.failed ? err_nomem(err, b.len, "importance")
                                    : outfile_put(w->out, 0666, buf_str(&b), b.len, err);
    buf_free(&b);
    return rc;
}

static struct figure *importance_figure(const void *work, struct err *err)
{
    return draw(work, err);
}

static void importance_tell(struct workspace *ws, const void *work)
{
    const struct importance *w = work;

    if (w->m.part == PART_TRAIN)
        ws_note(ws, "no-test", "these are training rows, whose errors are too small; split "
                "test=20%% and fit again for held-out ones");
    importance_record(ws, w);
}

static void importance_done(struct workspace *ws, struct job *job, enum status rc,
                            const struct err *why)
{
    const struct importance *w = job->arg;
    const struct kept_end end = { "importance", "importance", importance_figure,
                                  w->out ? importance_csv : NULL, importance_tell };

    kept_job_done(ws, job, rc, why, &end, w->m.run);
}

static const struct job_ops importance_ops = { .verb = "importance", .work = importance_work,
                                               .done = importance_done,
                                               .free = importance_free };

/* One column that is a sequence: its importance is that of the model, but positions differ. */
static enum status check_columns(const struct movable *m, struct err *err)
{
    if (m->ncol > 1 || (m->ncol == 1 && m->col[0].kind != MOVABLE_OTHER))
        return ST_OK;
    err_set(err, ST_UNSUPPORTED, "%s reads one column of sequences or nodes, and no other",
            m->run);
    err_hint(err, "importance by=position  |  explain-row row:1  changes each letter or node of "
             "a row");
    return ST_UNSUPPORTED;
}

static void tell_cost(struct workspace *ws, const struct importance *w)
{
    const size_t cols = w->m.ncol < PAIR_COLUMNS ? w->m.ncol : PAIR_COLUMNS;

    movable_tell_cost(ws, &w->m,
                      (double)(w->m.ncol * w->repeats) * (double)w->rows +
                          (w->pairs ? (double)interactions_predictions(w->rows, cols) : 0.0),
                      0.0, w->pairs);
}

enum status importance_start(struct workspace *ws, const struct run *r,
                             const struct importance_opts *o, const char *line, struct err *err)
{
    struct importance *w = mem_calloc(1, sizeof *w, "job", err);
    enum status rc =
        w ? movable_take(&w->m, r, o->target, o->by == IMPORTANCE_GROUP, err) : ST_NOMEM;

    if (rc == ST_OK && o->window && o->by != IMPORTANCE_POSITION) {
        err_set(err, ST_USAGE, "window= belongs to by=position");
        err_hint(err, "importance by=position window=%zu", o->window);
        rc = ST_USAGE;
    }
    if (rc == ST_OK)
        rc = o->by == IMPORTANCE_POSITION ? movable_positions(&w->m, o->window, err)
                                          : check_columns(&w->m, err);
    if (rc == ST_OK) {
        w->rows = o->rows;
        w->repeats = o->repeats;
        w->top = o->top;
        w->by = o->by;
        w->pairs = o->pairs;
        w->out = o->out ? mem_strdup(o->out, err) : NULL;
        rc = o->out && !w->out ? ST_NOMEM : ST_OK;
    }
    if (rc != ST_OK) {
        struct job tmp = { .arg = w };
        importance_free(&tmp);
        return rc;
    }
    tell_cost(ws, w);
    return ws_submit(ws, &importance_ops, NULL, w, line, err);
}
