/* app/clustering.c -- kernel PCA and kernel k-means as background jobs: see clustering.h. */
#include "app/clustering.h"

#include "app/fitting.h"
#include "base/mem.h"
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
    char *color;
    struct pca_state out;
    size_t total;                     /* training rows in all */
    double seconds;
};

void pca_state_free(struct pca_state *p)
{
    kpca_free(&p->k);
    if (p->have_clusters)
        kmeans_free(&p->clusters);
    free(p->coords), free(p->row), free(p->color), free(p->color_name);
    memset(p, 0, sizeof *p);
}

static void clustering_free(struct job *job)
{
    struct clustering *c = job->arg;

    if (!c)
        return;
    dataset_unref(c->data);
    encoding_free(&c->enc);
    free(c->color);
    pca_state_free(&c->out);
    free(c);
    job->arg = NULL;
}

/* The value that colours the points. */
static enum status take_color(struct clustering *c, const struct encoded *e, struct err *err)
{
    const struct table *t = c->data->table;
    const char *name = c->color && strcmp(c->color, "target") ? c->color : c->enc.target;
    const size_t j = name ? table_find(t, name) : SIZE_MAX;

    if (j == SIZE_MAX) {
        err_set(err, ST_NOT_FOUND, "there is no column %s to colour by", name ? name : "(target)");
        err_hint(err, "cols lists them");
        return ST_NOT_FOUND;
    }
    c->out.color_name = mem_strdup(name, err);
    c->out.color = mem_calloc(e->n, sizeof *c->out.color, "colours", err);
    if (!c->out.color_name || !c->out.color)
        return ST_NOMEM;
    for (size_t i = 0; i < e->n; i++) {
        const struct column *col = &t->col[j];
        const size_t r = e->row[i];
        c->out.color[i] = col->type == COL_REAL ? column_at(col, r)
                          : col->type == COL_CATEGORY && col->code[r] != UINT32_MAX ? col->code[r]
                                                                                    : NAN;
    }
    return ST_OK;
}

static enum status cluster_coords(struct clustering *c, struct job *job, struct err *err)
{
    struct pca_state *p = &c->out;

    for (size_t i = 0; i < c->o.nk; i++) {
        struct kmeans km = { 0 };
        ctl_tell(&job->ctl, "clusters", i, c->o.nk, NAN);
        enum status rc = kmeans_fit(p->n, p->dims, p->coords, c->k[i], RESTARTS, c->seed, NULL,
                                    job->pool, &job->ctl, &km, err);
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

static enum status project(struct clustering *c, const struct encoded *e, struct job *job,
                           struct err *err)
{
    struct pca_state *p = &c->out;
    const struct fop_opts fo = { .pool = job->pool, .precision = PREC_FLOAT, .store = false };
    struct featmap *fm = featmap_new(&c->kernel, e->base.d, c->o.features, c->seed, err);
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
    featmap_free(fm);
    return rc;
}

static enum status bind_kernel(struct clustering *c, size_t d, struct err *err)
{
    size_t from[KERNEL_MAX_HP];
    double hp[KERNEL_MAX_HP];

    const enum status bound = encoding_bind(&c->enc, &c->kernel, err);
    if (bound != ST_OK || !kernel_has_ard(&c->kernel))
        return bound;
    size_t *group = NULL;
    if (kernel_has_groups(&c->kernel)) {
        group = mem_calloc(d, sizeof *group, "groups of inputs", err);
        const enum status rc = group ? dataset_groups(c->data, &c->enc, group, NULL, err) : ST_NOMEM;
        if (rc != ST_OK) {
            free(group);
            return rc;
        }
    }
    const enum status rc = kernel_bind_groups(&c->kernel, d, group, from, err);
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
        rc = bind_kernel(c, e.base.d, err);
    if (rc == ST_OK)
        rc = project(c, &e, job, err);
    if (rc == ST_OK) {
        p->n = e.n;
        p->row = e.row, e.row = NULL;
        rc = cluster_coords(c, job, err);
    }
    p->have = rc == ST_OK;
    encoded_free(&e);
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
    rec_num(&rec, "seconds", c->seconds);
    ws_emit(ws, &rec);
}

static void clustering_done(struct workspace *ws, struct job *job, enum status rc,
                            const struct err *err)
{
    struct clustering *c = job->arg;

    if (rc == ST_OK && job->discard)
        rc = ST_CANCELLED;
    if (rc == ST_CANCELLED) {
        ws_note(ws, "stopped", "%s was stopped; the coordinates from before are kept",
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
    pca_record(ws, c, job->ops->verb);
    pca_state_free(&ws->pca);
    ws->pca = c->out;
    memset(&c->out, 0, sizeof c->out);
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
