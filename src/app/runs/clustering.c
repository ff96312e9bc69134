/* app/runs/clustering.c -- kernel PCA and kernel k-means as background jobs: see clustering.h. */
#include "app/runs/clustering.h"

#include "app/runs/fit_setup.h"
#include "app/runs/fitting.h"
#include "app/core/ws_tell.h"
#include "data/kinds/kind.h"
#include "data/prepare.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_K = 64, RESTARTS = 10 };

struct clustering {
    struct dataset *data;
    struct encoding enc; bool has_enc;
    struct kernel kernel; double hp[KERNEL_MAX_HP]; uint64_t seed;
    struct clustering_opts o;
    size_t k[MAX_K]; double silhouette[MAX_K];
    char *color, *file, *path;
    size_t missing_cells, unseen_levels;  /* in the new rows */
    struct pca_state out;
    size_t total;                     /* number of all training rows */
    double seconds;
};

static void release(struct pca_state *p)
{
    kpca_free(&p->k);
    if (p->have_clusters)
        kmeans_free(&p->clusters);
    free(p->coords), free(p->row), free(p->color), free(p->color_name);
    free(p->fresh), free(p->fresh_row), free(p->fresh_label);
    memset(p, 0, sizeof *p);
}

static void state_free(void *state)
{
    release(state);
    free(state);
}

const struct owner clustering_owner = { .name = "components", .free = state_free };

const struct pca_state *clustering_state_of(const struct workspace *ws)
{
    static const struct pca_state none;
    const struct pca_state *p = owner_state(ws, &clustering_owner);

    return p ? p : &none;
}

static void clustering_free(struct job *job)
{
    struct clustering *c = job->arg;

    if (!c)
        return;
    dataset_unref(c->data);
    encoding_free(&c->enc);
    free(c->color), free(c->file), free(c->path);
    release(&c->out);
    free(c);
    job->arg = NULL;
}

/* An input whose cells have a length; SIZE_MAX: none. */
static size_t long_column(const struct dataset *d)
{
    for (size_t j = 0; j < d->table->ncols; j++)
        if (kind_of(&d->table->col[j])->length && d->role[j] == ROLE_INPUT)
            return j;
    return SIZE_MAX;
}

/* What colours a row: a number, the level of a category, how long a cell is. */
static double color_of(const struct column *c, size_t row)
{
    if (kind_of(c)->length)
        return (double)kind_of(c)->length(c, row);
    if (c->type == COL_REAL)
        return column_at(c, row);
    return c->type == COL_CATEGORY && c->code[row] != UINT32_MAX ? (double)c->code[row]
                                                                 : (double)NAN;
}

/* Reads the values that colour the points. */
static enum status take_color(struct clustering *c, const struct encoded *e, struct err *err)
{
    const struct table *t = c->data->table;
    const char *name = c->color && strcmp(c->color, "target") ? c->color : c->enc.target;
    size_t j = name ? table_find(t, name) : SIZE_MAX;

    if (j == SIZE_MAX && name && !strcmp(name, "length"))
        j = long_column(c->data);
    if (j == SIZE_MAX) {
        err_set(err, ST_NOT_FOUND, "there is no column %s to colour by", name ? name : "(target)");
        err_hint(err, "cols lists them");
        return ST_NOT_FOUND;
    }
    c->out.color_name = mem_strdup(name, err);
    c->out.color = mem_calloc(e->n, sizeof *c->out.color, "colours", err);
    if (!c->out.color_name || !c->out.color)
        return ST_NOMEM;
    for (size_t i = 0; i < e->n; i++)
        c->out.color[i] = color_of(&t->col[j], e->row[i]);
    return ST_OK;
}

static enum status cluster_coords(struct clustering *c, struct job *job, struct err *err)
{
    struct pca_state *p = &c->out;

    for (size_t i = 0; i < c->o.nk; i++) {
        struct kmeans km = { 0 };
        ctl_tell(&job->ctl, PHASE_CLUSTERS, i, c->o.nk, NAN);
        const struct kmeans_opts o = { .k = c->k[i], .restarts = RESTARTS, .seed = c->seed,
                                       .pool = job->pool };
        enum status rc = kmeans_fit(p->n, p->dims, p->coords, &o, &job->ctl, &km, err);
        if (rc != ST_OK)
            return rc;
        c->silhouette[i] = km.silhouette;
        p->k_tried[i] = c->k[i], p->silhouettes[i] = km.silhouette, p->nk = i + 1;
        if (!p->have_clusters || km.silhouette > p->clusters.silhouette) {
            if (p->have_clusters)
                kmeans_free(&p->clusters);
            p->clusters = km;
            p->have_clusters = true;
        } else {
            kmeans_free(&km);
        }
    }
    return ST_OK;
}

/* Projects the rows of another file onto the same components. */
static enum status place_new(struct clustering *c, const struct featmap *fm, struct job *job,
                             struct err *err)
{
    const struct fop_opts fo = {
        .pool = job->pool, .ctl = &job->ctl, .precision = PREC_FLOAT, .store = false};
    const struct import_opts io = { .header = -1, .mem_limit = job->limits.memory };
    struct pca_state *p = &c->out;
    struct encoded e = { 0 };
    struct table *t = NULL;
    struct fop *fop = NULL;
    size_t *rows = NULL, n = 0;
    enum status rc = import_file(c->file, &io, &job->ctl, &t, err);

    if (rc == ST_OK)
        rc = prepare_new_data(&c->enc, &t, &rows, &n, &job->ctl, NULL, err);
    if (rc == ST_OK)
        rc = encode(&c->enc, t, rows, n, false, &e, err);
    free(rows);
    if (rc == ST_OK) {
        p->nfresh = e.n;
        p->fresh = mem_calloc(e.n * p->dims + 1, sizeof *p->fresh, "coordinates", err);
        p->fresh_label = mem_calloc(e.n + 1, sizeof *p->fresh_label, "labels", err);
        fop = p->fresh && p->fresh_label ? fop_new(job->backend, fm, &e.base, &fo, err) : NULL;
        rc = fop ? fop_set(fop, c->hp, err) : err_status(err);
    }
    if (rc == ST_OK)
        rc = kpca_project(&p->k, fop, p->fresh, &job->ctl, err);
    if (rc == ST_OK)
        p->fresh_row = e.row, e.row = NULL;
    c->missing_cells = e.missing_cells;
    c->unseen_levels = e.unseen_levels;
    fop_free(fop);
    encode_free(&e);
    table_unref(t);
    return rc;
}

/* Assigns each new row to the nearest centre. */
static void label_new(struct pca_state *p)
{
    for (size_t i = 0; i < p->nfresh; i++) {
        double best = INFINITY;
        for (size_t k = 0; k < p->clusters.k; k++) {
            double d2 = 0;
            for (size_t j = 0; j < p->dims; j++) {
                const double d = p->fresh[i * p->dims + j] - p->clusters.centers[k * p->dims + j];
                d2 += d * d;
            }
            if (d2 < best)
                best = d2, p->fresh_label[i] = k;
        }
    }
}

/* color is NaN if it is unknown. */
static void csv_line(struct buf *b, const struct pca_state *p, const char *set, size_t row,
                     const double *x, size_t label, double color)
{
    buf_printf(b, "%s,%zu", set, row + 1);
    for (size_t j = 0; j < p->dims; j++)
        buf_printf(b, ",%.9g", x[j]);
    if (p->have_clusters)
        buf_printf(b, ",%zu", label);
    buf_putc(b, ',');
    if (isfinite(color))
        buf_printf(b, "%.9g", color);
    buf_putc(b, '\n');
}

static enum status flush(struct outfile *o, struct buf *b, bool all, struct err *err)
{
    enum status rc = b->failed ? err_nomem(err, b->len, "coordinates") : ST_OK;

    if (rc == ST_OK && (all || b->len > 1 << 20)) {
        rc = outfile_write(o, b->s, b->len, err);
        buf_clear(b);
    }
    return rc;
}

static enum status write_rows(const struct clustering *c, struct err *err)
{
    const struct pca_state *p = &c->out;
    struct outfile o;
    struct buf b = { 0 };
    enum status rc = outfile_open(&o, c->path, 0666, err);

    if (rc != ST_OK)
        return rc;
    buf_puts(&b, "set,row");
    for (size_t j = 0; j < p->dims; j++)
        buf_printf(&b, ",pc%zu", j + 1);
    /* the colour has its own name as heading if that name needs no quotes and is not taken */
    buf_printf(&b, "%s,%s\n", p->have_clusters ? ",cluster" : "",
               strpbrk(p->color_name, ",\"\r\n") || !strncmp(p->color_name, "pc", 2)
                   ? "color"
                   : p->color_name);
    for (size_t i = 0; rc == ST_OK && i < p->n; i++) {
        csv_line(&b, p, "train", p->row[i], p->coords + i * p->dims,
                 p->have_clusters ? p->clusters.label[i] : 0, p->color[i]);
        rc = flush(&o, &b, false, err);
    }
    for (size_t i = 0; rc == ST_OK && i < p->nfresh; i++) {
        csv_line(&b, p, "new", p->fresh_row[i], p->fresh + i * p->dims, p->fresh_label[i],
                 (double)NAN);
        rc = flush(&o, &b, false, err);
    }
    if (rc == ST_OK)
        rc = flush(&o, &b, true, err);
    buf_free(&b);
    if (rc == ST_OK)
        return outfile_commit(&o, err);
    outfile_abort(&o);
    return rc;
}

static enum status project(struct clustering *c, const struct encoded *e, struct job *job,
                           struct err *err)
{
    struct pca_state *p = &c->out;
    const struct fop_opts fo = {
        .pool = job->pool, .ctl = &job->ctl, .precision = PREC_FLOAT, .store = false};
    if (kernel_learned_features(&c->kernel))
        c->o.features = kernel_learned_features(&c->kernel);
    struct featmap *fm = featmap_new(&c->kernel, e->base.d, c->o.features, c->seed, err);
    if (fm == NULL && kernel_draws_none(&c->kernel))
        err_hint(err, "kernel rbf; fit; %s", job->ops->verb);
    struct fop *fop = fm ? fop_new(job->backend, fm, &e->base, &fo, err) : NULL;
    enum status rc = fop ? fop_set(fop, c->hp, err) : err ? err->code : ST_NOMEM;

    if (rc == ST_OK)
        rc = kpca_fit(fop, c->o.dims, c->seed, &job->ctl, &p->k, err);
    if (rc == ST_OK) {
        p->dims = p->k.p;
        p->coords = mem_calloc(e->n * p->dims, sizeof *p->coords, "coordinates", err);
        rc = p->coords ? kpca_project(&p->k, fop, p->coords, &job->ctl, err) : ST_NOMEM;
    }
    fop_free(fop);
    if (rc == ST_OK && c->file)
        rc = place_new(c, fm, job, err);
    featmap_free(fm);
    return rc;
}

static enum status bind_kernel(struct clustering *c, const struct source *rows, struct err *err)
{
    size_t from[KERNEL_MAX_HP];
    double hp[KERNEL_MAX_HP];

    const enum status bound = fit_setup_bind_rows(&c->enc, &c->kernel, rows, err);
    if (bound != ST_OK || !kernel_has_ard(&c->kernel))
        return bound;
    size_t *group = NULL;
    if (kernel_has_groups(&c->kernel)) {
        group = mem_calloc(rows->d, sizeof *group, "groups of inputs", err);
        const enum status rc =
            group ? dataset_groups(c->data, &c->enc, group, NULL, err) : ST_NOMEM;
        if (rc != ST_OK) {
            free(group);
            return rc;
        }
    }
    const enum status rc = kernel_bind_groups(&c->kernel, rows->d, group, from, err);
    free(group);
    memcpy(hp, c->hp, sizeof hp);
    for (size_t i = 0; rc == ST_OK && i < kernel_nhp(&c->kernel); i++)
        c->hp[i] = hp[from[i]];
    return rc;
}

static enum status clustering_work(struct job *job, struct err *err)
{
    struct clustering *c = job->arg;
    struct pca_state *p = &c->out;
    struct encoded e = { 0 };
    size_t *rows = NULL, n = 0;
    const double t0 = job_now();
    enum status rc = dataset_rows(c->data, PART_TRAIN, &rows, &n, err);

    if (rc == ST_OK && !c->has_enc)
        rc = encoding_fit(c->data, rows, n, &c->enc, NULL, err);
    c->total = n;
    if (rc == ST_OK && n > c->o.rows) {
        for (size_t i = 0; i < c->o.rows; i++)
            rows[i] = rows[(size_t)((double)i * (double)n / (double)c->o.rows)];
        n = c->o.rows;
        p->sampled = true;
    }
    if (rc == ST_OK)
        rc = encode(&c->enc, c->data->table, rows, n, false, &e, err);
    free(rows);
    if (rc == ST_OK && c->o.dims >= e.n)
        rc = err_set(err, ST_RANGE, "dims=%zu needs more than %zu rows", c->o.dims, e.n);
    if (rc == ST_OK)
        rc = take_color(c, &e, err);
    if (rc == ST_OK)
        rc = bind_kernel(c, &e.base, err);
    if (rc == ST_OK)
        rc = project(c, &e, job, err);
    if (rc == ST_OK) {
        p->n = e.n;
        p->row = e.row, e.row = NULL;
        rc = cluster_coords(c, job, err);
    }
    if (rc == ST_OK && p->have_clusters)
        label_new(p);
    if (rc == ST_OK && c->path)
        rc = write_rows(c, err);
    p->have = rc == ST_OK;
    encode_free(&e);
    c->seconds = job_now() - t0;
    return rc;
}

static void pca_record(struct workspace *ws, struct clustering *c, const char *verb)
{
    struct pca_state *p = &c->out;
    struct rec rec;
    double share[64];
    size_t nshare = p->dims < 64 ? p->dims : 64;
    char sec[32];

    rec_init(&rec, REC_RESULT, verb);
    rec_str(&rec, "run", p->run[0] ? p->run : NULL);
    rec_int(&rec, "rows", (int64_t)p->n);
    rec_bool(&rec, "sampled", p->sampled);
    rec_int(&rec, "features", (int64_t)c->o.features);
    rec_int(&rec, "dims", (int64_t)p->dims);
    for (size_t i = 0; i < nshare; i++)
        share[i] = p->k.ev[i] / p->k.total;
    rec_nums(&rec, "share", share, nshare);
    text_seconds(sec, sizeof sec, c->seconds);
    rec_text(&rec, "kernel PCA of %zu rows%s, %zu features (%s)\n  share of variance:", p->n,
             p->sampled ? " (an even sample of the training rows)" : "", c->o.features, sec);
    for (size_t i = 0; i < nshare && i < 10; i++)
        rec_text(&rec, " %.1f%%", 100 * share[i]);
    if (p->have_clusters) {
        size_t count[MAX_K] = { 0 };
        double sizes[MAX_K];
        for (size_t i = 0; i < p->n; i++)
            count[p->clusters.label[i]]++;
        for (size_t j = 0; j < p->clusters.k; j++)
            sizes[j] = (double)count[j];
        rec_int(&rec, "k", (int64_t)p->clusters.k);
        rec_num(&rec, "silhouette", p->clusters.silhouette);
        rec_num(&rec, "inertia", p->clusters.inertia);
        rec_nums(&rec, "sizes", sizes, p->clusters.k);
        rec_text(&rec, "\n  %zu clusters, silhouette %.3f, sizes", p->clusters.k,
                 p->clusters.silhouette);
        for (size_t j = 0; j < p->clusters.k; j++)
            rec_text(&rec, " %zu", count[j]);
        if (c->o.nk > 1) {
            rec_nums(&rec, "silhouettes", c->silhouette, c->o.nk);
            rec_text(&rec, "\n  silhouette by k:");
            for (size_t i = 0; i < c->o.nk; i++)
                rec_text(&rec, "  %zu: %.3f", c->k[i], c->silhouette[i]);
        }
    }
    if (c->file) {
        rec_int(&rec, "new_rows", (int64_t)p->nfresh);
        rec_text(&rec, "\n  %zu rows of ", p->nfresh);
        text_safe(&rec.text, c->file, 0);
        rec_text(&rec, " placed%s", p->have_clusters ? ", each assigned to the nearest "
                                                       "centre" : "");
    }
    if (c->path) {
        rec_str(&rec, "out", c->path);
        rec_text(&rec, "\n  written to ");
        text_safe(&rec.text, c->path, 0);
    }
    rec_num(&rec, "seconds", c->seconds);
    ws_emit(ws, &rec);
}

static void clustering_done(struct workspace *ws, struct job *job, enum status rc,
                            const struct err *err)
{
    struct clustering *c = job->arg;
    struct err failed = { 0 };

    if (rc == ST_OK && job->discard)
        rc = ST_CANCELLED;
    if (rc == ST_CANCELLED) {
        ws_note(ws, "stopped", "%s was stopped; the earlier coordinates are kept",
                job->ops->verb);
        ws->unconverged = true;
        return;
    }
    if (rc != ST_OK) {
        ws_error(ws, err, job->line);
        return;
    }
    if (c->out.sampled)
        ws_note(ws, "sample", "%zu of %zu training rows were used (an even sample)", c->out.n,
                c->total);
    if (c->missing_cells)
        ws_note(ws, "missing",
                "%zu missing cell%s of the new rows %s filled as the missing policy says",
                c->missing_cells, c->missing_cells == 1 ? "" : "s",
                c->missing_cells == 1 ? "was" : "were");
    if (c->unseen_levels)
        ws_warn(ws, "unseen", "%zu cell%s of the new rows hold%s a category never seen in training",
                c->unseen_levels, c->unseen_levels == 1 ? "" : "s",
                c->unseen_levels == 1 ? "s" : "");
    struct pca_state *kept = mem_calloc(1, sizeof *kept, "the components", &failed);
    if (!kept) {
        ws_error(ws, &failed, job->line);
        return;
    }
    pca_record(ws, c, job->ops->verb);
    *kept = c->out;
    memset(&c->out, 0, sizeof c->out);
    owner_take(ws, &clustering_owner, kept);
    ws->serial++;
}

static const struct job_ops pca_ops = { .verb = "pca", .work = clustering_work,
                                        .done = clustering_done, .free = clustering_free };
static const struct job_ops cluster_ops = { .verb = "cluster", .work = clustering_work,
                                            .done = clustering_done, .free = clustering_free };

static enum status from_run(struct clustering *c, const struct run *r, struct err *err)
{
    c->kernel = r->model->kernel;
    memcpy(c->hp, r->model->hp, sizeof c->hp);
    c->seed = r->model->seed;
    snprintf(c->out.run, sizeof c->out.run, "%s", r->id);
    c->has_enc = true;
    return encoding_copy(&c->enc, &r->enc, err);
}

enum status clustering_run(struct workspace *ws, struct dataset *d, const struct run *r,
                           const struct clustering_opts *o, const char *line, struct err *err)
{
    struct clustering *c = mem_calloc(1, sizeof *c, "job", err);
    enum status rc = c ? ST_OK : ST_NOMEM;

    if (rc == ST_OK && o->nk > MAX_K)
        rc = err_set(err, ST_RANGE, "%zu values of k are too many; at most %d", o->nk, MAX_K);
    if (rc == ST_OK && r) {
        rc = from_run(c, r, err);
    } else if (rc == ST_OK) {
        c->kernel = ws->kernel;
        memcpy(c->hp, ws->hp, sizeof c->hp);
        c->seed = ws->opt.seed;
    }
    if (rc == ST_OK) {
        c->o = *o;
        if (o->nk)
            memcpy(c->k, o->k, o->nk * sizeof *c->k);
        c->o.k = c->k;
        c->color = o->color ? mem_strdup(o->color, err) : NULL;
        c->file = o->file ? mem_strdup(o->file, err) : NULL;
        c->path = o->out ? mem_strdup(o->out, err) : NULL;
        c->o.color = c->color;
        c->data = dataset_snapshot(d, err);
        rc = c->data ? ST_OK : ST_NOMEM;
        if (rc == ST_OK)
            c->data->kernel = c->kernel;
    }
    if (rc != ST_OK) {
        struct job tmp = { .arg = c };
        clustering_free(&tmp);
        return rc;
    }
    return ws_submit(ws, o->nk ? &cluster_ops : &pca_ops, NULL, c, line, err);
}
