/* app/runs/inducing_run.c -- see inducing_run.h. */
#include "app/runs/inducing_run.h"

#include "app/core/job.h"
#include "app/core/ws_tell.h"
#include "app/runs/fitting.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/text.h"
#include "compute/inducing/select.h"
#include "compute/inducing/sites.h"
#include "compute/inducing/weigh.h"
#include "compute/models/exact.h"
#include "data/kinds/kind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 20 };

struct kept_point {
    size_t row;     /* of the table: itself, or the nearest; SIZE_MAX: none */
    size_t letters; /* in which it differs from that row; 0: it is that row; SIZE_MAX: unknown */
    double target, loss;
};

struct keeping {
    char run[16], *path;
    struct dataset *data;
    struct encoding enc;
    struct model *model;
    struct kept_point *point;
    size_t *order; /* of the points, by what they are worth */
    double value, seconds;
    bool kept_scale; /* the fit left its amplitude as it was */
};

static void keeping_free(struct job *job)
{
    struct keeping *k = job->arg;

    if (!k)
        return;
    dataset_unref(k->data);
    encoding_free(&k->enc);
    model_unref(k->model);
    free(k->path);
    free(k->point);
    free(k->order);
    free(k);
    job->arg = NULL;
}

/* A point as text: the letters of its parts, if it has some. */
static void point_text(const struct keeping *k, size_t i, struct buf *b)
{
    const struct row_layout l = encoding_layout(&k->enc);
    const double *z = k->model->X + i * k->model->d;

    for (size_t p = 0; p < l.nparts; p++) {
        const struct enc_held *held = encoding_part(&k->enc, p);
        const char *letters =
            held && held->kind->alphabet ? held->kind->alphabet(held->state) : NULL;
        const double *part = z + select_part(&l, z, p);
        if (!letters || l.part[p].rows != ROWS_SYMBOLS)
            continue;
        const double known = (double)strlen(letters);
        if (b->len)
            buf_putc(b, ' ');
        for (size_t q = 1; q <= (size_t)part[0]; q++)
            buf_putc(b, part[q] < known ? letters[(size_t)part[q]] : '?');
    }
}

static void describe(struct keeping *k, const struct encoded *e, const double *X)
{
    const struct model *m = k->model;

    for (size_t i = 0; i < m->M; i++) {
        struct kept_point *p = &k->point[i];
        size_t row = SIZE_MAX;
        const bool own = m->origin[i] >= 0.0 && m->origin[i] < (double)e->n;
        if (own) {
            row = (size_t)m->origin[i];
            p->letters = 0;
        } else {
            p->letters = weigh_letters(&e->base, X, e->n, m->d, m->X + i * m->d, &row);
        }
        p->row = row < e->n ? e->row[row] : SIZE_MAX;
        p->target = own && e->yraw ? e->yraw[row] : NAN;
    }
}

static enum status weigh(struct keeping *k, const struct encoded *e, const double *X,
                         const double *y, struct job *job, struct err *err)
{
    const struct model *m = k->model;
    const struct columns_of rows = { .k = &m->kernel, .hp = m->hp, .X = X, .n = e->n, .d = m->d,
                                     .row_scale = e->base.row_scale, .pool = job->pool };
    struct bound b = { .approx = m->approx, .m = m->M, .t = m->t, .y = y };
    struct bound_at at = { 0 };
    double *loss = mem_calloc(m->M, sizeof *loss, "the points' worth", err);
    enum status rc = loss ? bound_make(&rows, m->X, &b, &job->ctl, err) : ST_NOMEM;

    if (rc == ST_OK)
        rc = bound_at(&b, m->noise * m->noise / (m->amplitude * m->amplitude), &at, err);
    double amplitude[TARGETS_MOST]; /* the likeliest, as in the figures of the fit */
    for (size_t j = 0; rc == ST_OK && j < m->t; j++)
        amplitude[j] = k->kept_scale ? m->amplitudes[j] : sqrt(at.c[j] / (double)e->n);
    if (rc == ST_OK) {
        k->value = -bound_value(&b, &at, amplitude);
        rc = weigh_points(&rows, m->X, &b, &at, amplitude, loss, &job->ctl, err);
    }
    for (size_t i = 0; rc == ST_OK && i < m->M; i++)
        k->point[i].loss = loss[i];
    bound_at_free(&at);
    bound_free(&b);
    free(loss);
    return rc;
}

/* Of two classes: the posterior of the fit once more, then what each point adds at its sites. */
static enum status weigh_classes(struct keeping *k, const struct encoded *e, const double *X,
                                 struct job *job, struct err *err)
{
    const struct model *m = k->model;
    const struct columns_of rows = { .k = &m->kernel, .hp = m->hp, .X = X, .n = e->n, .d = m->d,
                                     .pool = job->pool };
    struct sites s = { 0 };
    double *loss = mem_calloc(m->M + e->n, sizeof *loss, "the points' worth", err);
    enum status rc = loss ? sites_make(&rows, m->X, m->M, m->likelihood, e->y, &s, &job->ctl, err)
                          : ST_NOMEM;

    if (rc == ST_OK && encoding_labels(&k->enc).balanced) {
        latent_balance(e->n, e->y, loss + m->M);
        s.l.weight = loss + m->M;
    }
    if (rc == ST_OK)
        rc = sites_at(&s, m->amplitude, 0.0, &job->ctl, err);
    if (rc == ST_OK)
        rc = sites_weigh(&rows, m->X, &s, loss, &job->ctl, err);
    for (size_t i = 0; rc == ST_OK && i < m->M; i++)
        k->point[i].loss = loss[i];
    sites_free(&s);
    free(loss);
    return rc;
}

/* Points by what they are worth, most first. */
static void sort_points(struct keeping *k)
{
    for (size_t i = 0; i < k->model->M; i++) {
        size_t j = i;
        while (j > 0 && k->point[k->order[j - 1]].loss < k->point[i].loss) {
            k->order[j] = k->order[j - 1];
            j--;
        }
        k->order[j] = i;
    }
}

static void csv_point(const struct keeping *k, size_t i, struct buf *b)
{
    const struct kept_point *p = &k->point[i];
    const struct model *m = k->model;

    buf_printf(b, "%zu,", i + 1);
    if (p->row != SIZE_MAX && p->letters == 0)
        buf_printf(b, "%zu", p->row + 1);
    buf_putc(b, ',');
    if (isfinite(p->target))
        buf_json_double(b, p->target);
    buf_putc(b, ',');
    if (p->letters != SIZE_MAX)
        buf_printf(b, "%zu", p->letters);
    buf_putc(b, ',');
    if (p->row != SIZE_MAX)
        buf_printf(b, "%zu", p->row + 1);
    buf_putc(b, ',');
    buf_json_double(b, p->loss);
    buf_putc(b, ',');
    point_text(k, i, b);
    for (size_t j = 0; j < k->enc.ncol && j < m->d; j++) {
        buf_putc(b, ',');
        buf_json_double(b, m->X[i * m->d + j]);
    }
    buf_putc(b, '\n');
}

static enum status write_points(const struct keeping *k, struct err *err)
{
    struct outfile o;
    struct buf b = { 0 };
    enum status rc = outfile_open(&o, k->path, 0666, err);

    if (rc != ST_OK)
        return rc;
    buf_puts(&b, "point,row,target,letters,nearest,loss,sequence");
    for (size_t j = 0; j < k->enc.ncol && j < k->model->d; j++)
        buf_printf(&b, ",input%zu", j + 1);
    buf_putc(&b, '\n');
    for (size_t i = 0; i < k->model->M; i++)
        csv_point(k, i, &b);
    rc = b.failed ? err_nomem(err, b.len, "the points") : outfile_write(&o, b.s, b.len, err);
    buf_free(&b);
    if (rc == ST_OK)
        return outfile_commit(&o, err);
    outfile_abort(&o);
    return rc;
}

static enum status keeping_work(struct job *job, struct err *err)
{
    struct keeping *k = job->arg;
    const double t0 = job_now();
    struct encoded e = { 0 };
    double *weighted = NULL, *X = NULL;
    enum status rc = fitting_rows(k->data, PART_TRAIN, false, &k->enc, &e, NULL, err);

    if (rc == ST_OK && e.base.d != k->model->d)
        rc = err_set(err, ST_SHAPE, "the data has %zu inputs, the model %zu", e.base.d,
                     k->model->d);
    if (rc == ST_OK) {
        X = exact_inputs(&e.base, err);
        weighted = X ? mem_calloc(e.t, e.n * sizeof *weighted, "the targets", err) : NULL;
        rc = weighted ? ST_OK : err_status(err);
    }
    for (size_t j = 0; rc == ST_OK && j < e.t * e.n; j++)
        weighted[j] = e.y[j] * (e.base.row_scale ? e.base.row_scale[j % e.n] : 1.0);
    if (rc == ST_OK)
        describe(k, &e, X);
    if (rc == ST_OK && k->model->kind->classes)
        rc = weigh_classes(k, &e, X, job, err);
    else if (rc == ST_OK)
        rc = weigh(k, &e, X, weighted, job, err);
    if (rc == ST_OK)
        sort_points(k);
    if (rc == ST_OK && k->path)
        rc = write_points(k, err);
    free(weighted);
    free(X);
    encode_free(&e);
    k->seconds = job_now() - t0;
    return rc;
}

/* The class of a training row; NULL: the target is a number, or the point is no row. */
static const char *class_of(const struct keeping *k, const struct kept_point *p)
{
    return k->model->kind->classes && isfinite(p->target) ? k->enc.classes[p->target > 0.5] : NULL;
}

static void points_json(struct rec *rec, const struct keeping *k)
{
    rec_array(rec, "points");
    for (size_t i = 0; i < k->model->M; i++) {
        const struct kept_point *p = &k->point[i];
        struct buf text = { 0 };
        rec_item(rec);
        rec_int(rec, "point", (int64_t)i + 1);
        if (p->row != SIZE_MAX && p->letters == 0)
            rec_int(rec, "row", (int64_t)p->row + 1);
        else
            rec_null(rec, "row");
        rec_num(rec, "target", p->target);
        if (class_of(k, p))
            rec_str(rec, "class", class_of(k, p));
        if (p->letters != SIZE_MAX)
            rec_int(rec, "letters", (int64_t)p->letters);
        else
            rec_null(rec, "letters");
        if (p->row != SIZE_MAX)
            rec_int(rec, "nearest", (int64_t)p->row + 1);
        else
            rec_null(rec, "nearest");
        rec_num(rec, "loss", p->loss);
        point_text(k, i, &text);
        if (text.len)
            rec_str(rec, "sequence", buf_str(&text));
        buf_free(&text);
        rec_close(rec);
    }
    rec_array_close(rec);
}

static void points_text(struct rec *rec, const struct keeping *k)
{
    const size_t m = k->model->M, shown = m < SHOWN ? m : SHOWN;

    rec_text(rec, "\n  %5s  %-22s %10s %12s", "point", "what it is", "target", "loss without");
    for (size_t i = 0; i < shown; i++) {
        const size_t at = k->order[i];
        const struct kept_point *p = &k->point[at];
        char what[48] = "no training row", target[24] = "-", loss[24];
        if (p->row != SIZE_MAX && p->letters == 0)
            snprintf(what, sizeof what, "row %zu", p->row + 1);
        else if (p->letters != SIZE_MAX)
            snprintf(what, sizeof what, "%zu letter%s from row %zu", p->letters,
                     p->letters == 1 ? "" : "s", p->row + 1);
        struct buf text = { 0 };
        if (class_of(k, p)) {
            text_safe(&text, class_of(k, p), 10);
            snprintf(target, sizeof target, "%.23s", buf_str(&text));
            buf_free(&text);
        } else if (isfinite(p->target)) {
            text_number(target, sizeof target, p->target);
        }
        text_number(loss, sizeof loss, p->loss);
        rec_text(rec, "\n  %5zu  %-22s %10s %12s", at + 1, what, target, loss);
        text = (struct buf){ 0 };
        point_text(k, at, &text);
        if (text.len)
            rec_text(rec, "  %.40s%s", buf_str(&text), text.len > 40 ? "..." : "");
        buf_free(&text);
    }
    if (shown < m)
        rec_text(rec, "\n  ... %zu more, of less worth (inducing out=FILE has all)", m - shown);
}

static void keeping_done(struct workspace *ws, struct job *job, enum status rc,
                         const struct err *err)
{
    struct keeping *k = job->arg;
    struct rec rec;
    size_t outside = 0;

    if (rc == ST_CANCELLED) {
        ws_note(ws, "stopped", "%s: stopped before the points were weighed", k->run);
        return;
    }
    if (rc != ST_OK) {
        ws_error(ws, err, job->line);
        return;
    }
    for (size_t i = 0; i < k->model->M; i++)
        outside += k->model->origin[i] < 0.0;
    rec_init(&rec, REC_RESULT, "inducing");
    snprintf(rec.run, sizeof rec.run, "%s", k->run);
    rec_str(&rec, "run", k->run);
    rec_str(&rec, "approx", bound_approx_words[k->model->approx]);
    rec_int(&rec, "inducing", (int64_t)k->model->M);
    rec_int(&rec, "inducing_outside", (int64_t)outside);
    rec_num(&rec, "log_likelihood", k->value);
    if (k->path)
        rec_str(&rec, "out", k->path);
    points_json(&rec, k);
    rec_num(&rec, "seconds", k->seconds);
    rec_text(&rec, "%s keeps %zu points, %zu of them training rows; %s %.2f nats", k->run,
             k->model->M, k->model->M - outside,
             k->model->kind->classes       ? "evidence"
             : k->model->approx == BOUND_VFE ? "bound"
                                             : "log likelihood (no bound)", k->value);
    points_text(&rec, k);
    ws_emit(ws, &rec);
}

static const struct job_ops ops = { "inducing", keeping_work, keeping_done, NULL, keeping_free };

enum status inducing_run_start(struct workspace *ws, const struct run *r, const char *out,
                               const char *line, struct err *err)
{
    if (r->kind != RUN_FIT || !r->model || !r->model->origin || r->model->kind->margin) {
        err_set(err, ST_STATE, "%s keeps no inducing points%s", r->id,
                r->model && r->model->origin ? ", but support vectors, which are not chosen" : "");
        err_hint(err, "fit solver=sparse inducing=100, then inducing");
        return ST_STATE;
    }
    if (!r->data) {
        err_set(err, ST_STATE, "the data of %s is no longer loaded", r->id);
        err_hint(err, "open FILE, then fit solver=sparse");
        return ST_STATE;
    }
    struct keeping *k = mem_calloc(1, sizeof *k, "job", err);
    enum status rc = k ? encoding_copy(&k->enc, &r->enc, err) : ST_NOMEM;
    if (rc == ST_OK) {
        snprintf(k->run, sizeof k->run, "%s", r->id);
        k->kept_scale = r->fit.keep_scale;
        k->value = r->info.evidence; /* of two classes */
        k->data = dataset_ref(r->data);
        k->model = model_ref(r->model);
        k->point = mem_calloc(k->model->M, sizeof *k->point, "points", err);
        k->order = k->point ? mem_calloc(k->model->M, sizeof *k->order, "points", err) : NULL;
        k->path = k->order && out ? mem_strdup(out, err) : NULL;
        rc = k->order && (k->path || !out) ? ST_OK : ST_NOMEM;
    }
    if (rc != ST_OK) {
        struct job tmp = { .arg = k };
        keeping_free(&tmp);
        return rc;
    }
    return ws_submit(ws, &ops, NULL, k, line, err);
}

double inducing_run_target(const struct run *r, const struct column *c, size_t row)
{
    struct buf word = { 0 };
    double class = NAN;

    if (c->type == COL_REAL)
        return column_at(c, row);
    const char *own = table_column_text(c, row, &word);
    for (size_t k = 0; own && k < r->enc.nclasses; k++)
        if (!strcmp(own, r->enc.classes[k]))
            class = (double)k;
    buf_free(&word);
    return class;
}

size_t *inducing_run_rows(const struct run *r, size_t *n)
{
    const struct table *t = r->data ? r->data->table : NULL;
    const size_t target = r->data ? dataset_target(r->data) : SIZE_MAX;
    size_t *rows = NULL, all = 0;

    *n = 0;
    if (!t || target >= t->ncols || !r->has_enc || encoding_targets(&r->enc) > 1 ||
        dataset_rows(r->data, PART_TRAIN, &rows, &all, NULL) != ST_OK)
        return NULL;
    for (size_t i = 0; i < all; i++) /* rows without a target train nothing */
        if (isfinite(inducing_run_target(r, &t->col[target], rows[i])))
            rows[(*n)++] = rows[i];
    if (*n == r->info.rows)
        return rows;
    free(rows);
    *n = 0;
    return NULL;
}

void inducing_run_text(struct rec *rec, const struct run *r)
{
    const struct fit_info *i = &r->info;

    if (i->inducing)
        rec_text(rec, "\n  %zu inducing points", i->inducing);
    if (i->inducing && i->level != 0.0)
        rec_text(rec, "   level %.3g: the mean of the function far from them", i->level);
    if (i->inducing && !r->model->kind->classes)
        rec_text(rec, "   %s %.2f nats",
                 isfinite(i->bound) ? "bound of the log likelihood"
                                    : "log likelihood so far as the points carry it, no bound:",
                 i->objective);
}

void inducing_run_notes(struct workspace *ws, const struct run *r)
{
    const struct fit_info *i = &r->info;
    const char *what = r->fit.inducing.approx == BOUND_VFE ? "bound" : "log likelihood";
    char outside[48] = "", again[80] = "", skipped[128] = "";

    if (!i->inducing)
        return;
    if (i->outside)
        snprintf(outside, sizeof outside, ", %zu of them no training rows", i->outside);
    if (i->choices > 1)
        snprintf(again, sizeof again, "; chosen %zu times, because the noise had moved",
                 i->choices);
    if (i->skipped)
        snprintf(skipped, sizeof skipped, "; %zu candidate%s that others span %s left out",
                 i->skipped, i->skipped == 1 ? "" : "s", i->skipped == 1 ? "was" : "were");
    ws_tell(ws, REC_NOTE, r->id, "inducing", NULL, "%zu inducing points%s%s%s", i->inducing,
            outside, again, skipped);
    if (i->inducing < r->fit.inducing.m && r->state != RUN_STOPPED &&
        r->fit.inducing.m <= i->rows)
        ws_tell(ws, REC_NOTE, r->id, "inducing-fewer", NULL,
                "inducing=%zu were asked for: the other rows cannot be told from what %zu span",
                r->fit.inducing.m, i->inducing);
    if (!r->fit.keep_scale && !r->fit.keep_ratio &&
        fabs(log(i->noise_best / r->fit.noise)) > log(1.5))
        ws_tell(ws, REC_NOTE, r->id, "sparse-noise", NULL,
                "the noise moved from %.3g to %.3g, which suits these points: the %s rose from "
                "%.6g to %.6g", r->fit.noise, i->noise_best, what, i->bound_given,
                i->objective_best);
}
