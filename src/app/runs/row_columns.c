/* app/runs/row_columns.c -- see row_columns.h. */
#include "app/runs/row_columns.h"

#include "app/core/kept.h"
#include "app/core/ws_tell.h"
#include "app/runs/movable.h"
#include "app/runs/scoring/row_class.h"
#include "app/shell/text_table.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/text.h"
#include "compute/features/featmap.h"
#include "compute/stats/neighbours.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OTHERS_MOST = 500, SHOWN = 5, NEAREST = 3, BARS_MOST = 24, FEATURES_MOST = 2048 };

/* change: the mean less its average with the column's values of other rows; typical: a row of the
 * training sample with the median or the most frequent value. */
struct moved { size_t c; double change; size_t typical; };
struct row_columns {
    struct movable m;
    size_t row;
    char *out;
    struct moved *of;
    double mean, average, sum;
    struct row_class class; /* predicted */
    size_t others; /* training rows whose values the columns took */
    struct neighbour near[NEAREST];
    size_t nnear;
};

static void row_free(struct job *job)
{
    struct row_columns *w = job->arg;

    if (!w)
        return;
    movable_free(&w->m);
    free(w->of);
    free(w->out);
    free(w);
    job->arg = NULL;
}

/* Computing. */

struct cell { double v; size_t row; };

static int by_value(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;

    return x->v != y->v ? (x->v > y->v) - (x->v < y->v) : (x->row > y->row) - (x->row < y->row);
}

/* The row (of the encoded training sample, which begins behind the first) with the median of a
 * column of numbers, or with its most frequent level; SIZE_MAX for other columns. */
static enum status typical(const struct movable *m, size_t c, size_t *row, struct err *err)
{
    const bool number = m->col[c].kind == MOVABLE_NUMBER;
    const struct encoded *e = &m->train.e;
    struct cell *p = mem_calloc(e->n, sizeof *p, "values", err);
    size_t n = 0, best = 0, most = 0;

    *row = SIZE_MAX;
    if (!p)
        return ST_NOMEM;
    for (size_t i = 1; m->col[c].kind != MOVABLE_OTHER && i < e->n; i++) {
        const struct column *col = &m->data->table->col[m->col[c].at];
        if (!column_missing(col, e->row[i]))
            p[n++] = (struct cell){ number ? column_at(col, e->row[i])
                                           : (double)col->code[e->row[i]],
                                    e->row[i] };
    }
    qsort(p, n, sizeof *p, by_value);
    for (size_t i = 0, j; !number && i < n; i = j) {
        for (j = i + 1; j < n && p[j].v == p[i].v; j++)
            continue;
        if (j - i > most) {
            most = j - i;
            best = i;
        }
    }
    if (n)
        *row = p[number ? n / 2 : best].row;
    free(p);
    return ST_OK;
}

static int by_change(const void *a, const void *b)
{
    const struct moved *x = a, *y = b;
    const double u = fabs(x->change), v = fabs(y->change);

    return u != v ? (u < v) - (u > v) : (x->c > y->c) - (x->c < y->c);
}

/* The change of each column: the row takes its value from each of the others in turn. */
static enum status changes(struct row_columns *w, const struct tools *on, struct err *err)
{
    const struct movable *m = &w->m;
    const struct encoding one = encoding_for(&m->enc, m->target);
    const size_t d = m->train.e.base.d, n = w->others;
    struct effects_steps steps = { .all = (m->ncol + 1) * (n + 1) };
    const size_t of = w->class.several ? w->class.taken : m->target;
    const struct effects_ask q = { .m = m->model, .target = of, .on = on, .steps = &steps,
                                   .less = w->class.several, .other = w->class.second,
                                   .rows = { &m->train.e.base, m->train.x, 1 } };
    bool *all = mem_calloc(d, sizeof *all, "inputs", err);
    double *each = all ? mem_calloc(n + 1, sizeof *each, "predictions", err) : NULL;
    size_t *from = each ? mem_calloc(n + 1, sizeof *from, "rows", err) : NULL;
    enum status rc = from ? ST_OK : ST_NOMEM;

    for (size_t i = 0; from && i <= n; i++) /* 0: the row itself */
        from[i] = i == 0 ? 0 : 1 + (i - 1) * (m->train.e.n - 1) / n;
    for (size_t k = 0; rc == ST_OK && k <= m->ncol; k++) { /* the last: all columns */
        bool *mask = k < m->ncol ? movable_mask(m, k, d, err) : all;
        double mean = 0.0;
        for (size_t j = 0; j < d; j++)
            all[j] = k == m->ncol;
        rc = mask ? effects_curve(&q, mask, m->train.x, from, n + 1, each, NULL, err) : ST_NOMEM;
        for (size_t i = 1; rc == ST_OK && i <= n; i++)
            mean += each[i] / (double)n;
        if (mask != all)
            free(mask);
        if (rc != ST_OK)
            break;
        w->mean = encoding_value(&one, each[0]);
        if (k == m->ncol) {
            w->average = encoding_value(&one, mean);
            break;
        }
        w->of[k] = (struct moved){ .c = k, .change = w->mean - encoding_value(&one, mean) };
        w->sum += w->of[k].change;
        rc = typical(m, k, &w->of[k].typical, err);
    }
    free(all);
    free(each);
    free(from);
    return rc;
}

/* The nearest of all training rows. */
static enum status nearest(struct row_columns *w, struct job *job, struct err *err)
{
    const struct model *model = w->m.model;
    struct source_subset own;
    const size_t first = 0;
    struct encoded e = { 0 };
    size_t *row = NULL, n = 0;
    struct neighbour *all = NULL;
    enum status rc = dataset_rows(w->m.data, PART_TRAIN, &row, &n, err);

    if (rc == ST_OK)
        rc = encode(&w->m.enc, w->m.data->table, row, n, true, &e, err);
    if (rc == ST_OK && e.base.d != w->m.train.e.base.d) {
        free(row);
        encode_free(&e);
        return ST_OK; /* sequences of other lengths */
    }
    if (rc == ST_OK) {
        all = mem_calloc(e.n + 1, sizeof *all, "neighbours", err);
        rc = all ? ST_OK : ST_NOMEM;
    }
    source_subset_init(&own, &w->m.train.e.base, &first, 1);
    const size_t least = featmap_least(&model->kernel, w->m.train.e.base.d),
                 want = model->kind->draws && model->M < FEATURES_MOST ? model->M : FEATURES_MOST;
    const struct neighbours_opts o = { .kernel = &model->kernel, .hp = model->hp,
                                       .features = (want > least ? want : least) / 2 * 2,
                                       .seed = model->seed, .backend = job->backend,
                                       .pool = job->pool };
    if (rc == ST_OK)
        rc = neighbours_measure(&o, &e.base, &own.base, all, &job->ctl, err);
    for (size_t i = 0; rc == ST_OK && i < e.n; i++)
        all[i].row = e.row[i];
    if (rc == ST_OK)
        neighbours_sort(all, e.n);
    for (size_t i = 0; rc == ST_OK && i < e.n && w->nnear < NEAREST; i++)
        if (all[i].row != w->row)
            w->near[w->nnear++] = all[i];
    free(row);
    free(all);
    encode_free(&e);
    return rc;
}

static enum status row_work(struct job *job, struct err *err)
{
    struct row_columns *w = job->arg;
    const struct tools on = { job->backend, job->pool, &job->ctl };
    enum status rc = movable_donors(&w->m, w->row, err);

    if (rc == ST_OK && (w->m.train.e.row[0] != w->row || w->m.train.e.n < 2))
        rc = err_set(err, ST_STATE, "row %zu has missing cells and was left out", w->row + 1);
    if (rc == ST_OK) /* of several classes it says which are compared */
        rc = row_class_of(w->m.model, w->m.data, &w->m.enc, &w->m.train.e.base, job, &w->class,
                          err);
    if (rc == ST_OK) {
        w->others = w->m.train.e.n - 1 < OTHERS_MOST ? w->m.train.e.n - 1 : OTHERS_MOST;
        w->of = mem_calloc(w->m.ncol, sizeof *w->of, "columns", err);
        rc = w->of ? changes(w, &on, err) : ST_NOMEM;
    }
    if (rc == ST_OK)
        qsort(w->of, w->m.ncol, sizeof *w->of, by_change);
    return rc == ST_OK ? nearest(w, job, err) : rc;
}

/* Reporting. */

/* The target of a row in its own units; NaN if it has none. */
static double target_of(const struct row_columns *w, size_t row)
{
    const struct encoding e = encoding_for(&w->m.enc, w->m.target);
    const struct table *t = w->m.data->table;
    const size_t j = e.target ? table_find(t, e.target) : SIZE_MAX;

    return j != SIZE_MAX && t->col[j].type == COL_REAL ? column_at(&t->col[j], row) : (double)NAN;
}

/* The class of a row; false for a target that is a number. */
static bool class_of(const struct row_columns *w, size_t row, struct buf *out)
{
    const struct encoding e = encoding_for(&w->m.enc, w->m.target);
    const size_t j = e.target && e.nclasses ? table_find(w->m.data->table, e.target) : SIZE_MAX;

    if (j != SIZE_MAX)
        table_cell(w->m.data->table, row, j, out);
    return j != SIZE_MAX;
}

/* The first line of a report: the row, its mean and its target or class. */
static void row_line(const struct row_columns *w, struct rec *rec)
{
    struct buf own = { 0 };

    if (class_of(w, w->row, &own)) {
        rec_str(rec, "class", buf_str(&own));
        rec_text(rec, "row %zu by %s: class ", w->row + 1, w->m.run);
        rec_safe(rec, buf_str(&own));
        rec_text(rec, "%s", w->class.known ? "; " : "");
        row_class_tell(&w->class, &w->m.enc, rec);
        buf_free(&own);
        rec_text(rec, w->class.several ? "; latent " : "; latent mean %.5g (above 0: ", w->mean);
        if (w->class.several) {
            row_class_words(&w->class, &w->m.enc, 24, &own);
            rec_text(rec, "%s %.5g, ", buf_str(&own), w->mean);
        } else {
            rec_safe(rec, w->m.enc.classes[1]);
            rec_text(rec, "), latent ");
        }
        rec_text(rec, "average of %zu training rows %.5g\n", w->others, w->average);
    } else {
        rec_text(rec, "row %zu by %s: mean %.5g, target %.5g; average of %zu training rows %.5g\n",
                 w->row + 1, w->m.run, w->mean, target_of(w, w->row), w->others, w->average);
    }
    buf_free(&own);
}

static void cell_of(const struct row_columns *w, const struct moved *v, size_t row,
                    struct buf *out)
{
    if (row != SIZE_MAX)
        movable_cell(&w->m, v->c, row, out);
}

static void show_of(const struct row_columns *w, const struct moved *v, size_t row,
                    struct buf *out)
{
    if (row != SIZE_MAX)
        movable_show(&w->m, v->c, row, out);
}

static struct figure *row_figure(const void *work, struct err *err)
{
    const struct row_columns *w = work;
    const struct encoding one = encoding_for(&w->m.enc, w->m.target);
    const size_t n = w->m.ncol < BARS_MOST ? w->m.ncol : BARS_MOST;
    double x[BARS_MOST], y[BARS_MOST];
    char *word[BARS_MOST] = { NULL }, title[96];
    struct buf label = { 0 }, pair = { 0 };

    for (size_t i = 0; i < n; i++) {
        struct buf b = { 0 }, cell = { 0 };
        x[i] = (double)i;
        y[i] = w->of[i].change;
        text_safe(&b, w->m.col[w->of[i].c].name, 16);
        show_of(w, &w->of[i], w->row, &cell);
        if (cell.len) {
            buf_puts(&b, " = ");
            text_safe(&b, buf_str(&cell), 12);
        }
        word[i] = buf_take(&b);
        buf_free(&cell);
    }
    buf_puts(&label, w->class.several ? "change of the latent "
                     : one.nclasses   ? "change of the latent mean, "
                                      : "change of the mean, ");
    if (w->class.several)
        row_class_words(&w->class, &w->m.enc, 16, &pair);
    else
        text_safe(&label, one.target, 40);
    buf_puts(&label, buf_str(&pair));
    snprintf(title, sizeof title, "Row %zu by %s: what each column changes", w->row + 1,
             w->m.run);
    struct figure *f = figure_new("row", title, err);
    struct series *s = f && figure_label(f, "column", buf_str(&label), err) == ST_OK
                           ? figure_add(f, "change", MARK_BARS, n, x, y, err)
                           : NULL;
    const bool ok = s && figure_names(&f->x, n, (const char *const *)word, err) == ST_OK &&
                    figure_verdict(f, err, "%s%s %.4g, average of training rows %.4g; most "
                                   "by %.40s, %+.3g", one.nclasses ? "latent " : "",
                                   pair.len ? buf_str(&pair) : "mean", w->mean, w->average,
                                   word[0], y[0]) == ST_OK;
    for (size_t i = 0; i < n; i++)
        free(word[i]);
    buf_free(&label);
    buf_free(&pair);
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}

static enum status row_csv(const void *work, struct err *err)
{
    const struct row_columns *w = work;
    struct buf b = { 0 };

    buf_puts(&b, "column,value,typical,change\n");
    for (size_t i = 0; i < w->m.ncol; i++) {
        struct buf value = { 0 }, usual = { 0 };
        cell_of(w, &w->of[i], w->row, &value);
        cell_of(w, &w->of[i], w->of[i].typical, &usual);
        text_csv_guarded(&b, w->m.col[w->of[i].c].name);
        buf_putc(&b, ',');
        movable_csv(&w->m, w->of[i].c, buf_str(&value), &b);
        buf_putc(&b, ',');
        movable_csv(&w->m, w->of[i].c, buf_str(&usual), &b);
        buf_printf(&b, ",%.12g\n", w->of[i].change);
        buf_free(&value);
        buf_free(&usual);
    }
    const enum status rc = b.failed ? err_nomem(err, b.len, "changes")
                                    : outfile_put(w->out, 0666, buf_str(&b), b.len, err);
    buf_free(&b);
    return rc;
}

static void columns_json(const struct row_columns *w, struct rec *rec)
{
    rec_array(rec, "columns");
    for (size_t i = 0; i < w->m.ncol; i++) {
        struct buf value = { 0 }, usual = { 0 };
        cell_of(w, &w->of[i], w->row, &value);
        cell_of(w, &w->of[i], w->of[i].typical, &usual);
        rec_item(rec);
        rec_str(rec, "column", w->m.col[w->of[i].c].name);
        rec_str(rec, "value", value.len ? buf_str(&value) : NULL);
        rec_str(rec, "typical", usual.len ? buf_str(&usual) : NULL);
        rec_num(rec, "change", w->of[i].change);
        rec_close(rec);
        buf_free(&value);
        buf_free(&usual);
    }
    rec_array_close(rec);
    rec_array(rec, "neighbours");
    for (size_t i = 0; i < w->nnear; i++) {
        rec_item(rec);
        rec_int(rec, "row", (int64_t)w->near[i].row + 1);
        rec_num(rec, "similarity", w->near[i].cosine);
        rec_num(rec, "target", target_of(w, w->near[i].row));
        struct buf level = { 0 };
        if (class_of(w, w->near[i].row, &level))
            rec_str(rec, "class", buf_str(&level));
        buf_free(&level);
        rec_close(rec);
    }
    rec_array_close(rec);
}

static void columns_table(const struct row_columns *w, struct rec *rec)
{
    static const char *const head[] = { "  column", "value", "typical", "change" };
    static const bool right[] = { false, false, false, true };
    struct text_table t;

    text_table_init(&t, 4);
    for (size_t i = 0; i < 4; i++)
        text_table_cell(&t, head[i], 0);
    for (size_t i = 0; i < w->m.ncol && i < SHOWN; i++) {
        struct buf name = { 0 }, value = { 0 }, usual = { 0 };
        buf_printf(&name, "  %s", w->m.col[w->of[i].c].name);
        show_of(w, &w->of[i], w->row, &value);
        show_of(w, &w->of[i], w->of[i].typical, &usual);
        text_table_cell(&t, buf_str(&name), 26);
        text_table_cell(&t, buf_str(&value), 16);
        text_table_cell(&t, buf_str(&usual), 16);
        text_table_printf(&t, "%+.4g", w->of[i].change);
        buf_free(&name);
        buf_free(&value);
        buf_free(&usual);
    }
    text_table_print(&t, right, &rec->text);
    text_table_free(&t);
    while (rec->text.len && rec->text.s[rec->text.len - 1] == '\n')
        rec->text.s[--rec->text.len] = '\0';
}

static void row_record(struct workspace *ws, const void *work)
{
    const struct row_columns *w = work;
    struct rec rec;

    rec_init(&rec, REC_RESULT, "explain-row");
    rec_str(&rec, "run", w->m.run);
    rec_int(&rec, "row", (int64_t)w->row + 1);
    rec_num(&rec, "mean", w->mean);
    rec_num(&rec, "target", target_of(w, w->row));
    rec_num(&rec, "average", w->average);
    rec_num(&rec, "together", w->sum);
    rec_int(&rec, "others", (int64_t)w->others);
    columns_json(w, &rec);
    row_line(w, &rec);
    columns_table(w, &rec);
    rec_text(&rec, "\n  all %zu together %+.4g, of %+.4g", w->m.ncol, w->sum,
             w->mean - w->average);
    for (size_t i = 0; i < w->nnear; i++)
        rec_text(&rec, "%s%zu (%.2f)", i ? ", " : "; nearest ", w->near[i].row + 1,
                 w->near[i].cosine);
    ws_emit(ws, &rec);
}

static void row_done(struct workspace *ws, struct job *job, enum status rc, const struct err *why)
{
    const struct row_columns *w = job->arg;
    const struct kept_end end = { "explain-row", "row", row_figure, w->out ? row_csv : NULL,
                                  row_record };

    kept_job_done(ws, job, rc, why, &end, w->m.run);
}

static const struct job_ops row_ops = { .verb = "explain-row", .work = row_work,
                                        .done = row_done, .free = row_free };

enum status row_columns_start(struct workspace *ws, const struct run *r, size_t row,
                              const char *target, const char *out, const char *line,
                              struct err *err)
{
    struct row_columns *w = mem_calloc(1, sizeof *w, "a job", err);
    enum status rc = w ? movable_take_any(&w->m, r, target, false, err) : ST_NOMEM;

    if (rc == ST_OK && row >= w->m.data->table->n)
        rc = err_set(err, ST_RANGE, "row %zu: the data have %zu rows", row + 1,
                     w->m.data->table->n);
    if (rc == ST_OK) {
        w->row = row;
        w->out = out ? mem_strdup(out, err) : NULL;
        rc = out && !w->out ? ST_NOMEM : ST_OK;
    }
    if (rc != ST_OK) {
        struct job tmp = { .arg = w };
        row_free(&tmp);
        return rc;
    }
    return ws_submit(ws, &row_ops, NULL, w, line, err);
}
