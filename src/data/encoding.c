/* data/encoding.c -- an encoding as a value: copying and freeing it, its targets, what it fixes in
 * a kernel, and the conversion back to units of the target. */
#include "data/encoding.h"

#include "data/kinds/kind.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const encoding_missing_words[] = { "error", "mean", "median", "drop", NULL };
const char *const encoding_yscale_words[] = { "standard", "log", "none", NULL };
const char *const encoding_xscale_words[] = { "standard", "none", "common", NULL };

void encoding_free(struct encoding *e)
{
    for (size_t j = 0; e->col != NULL && j < e->ncol; j++) {
        free(e->col[j].column);
        free(e->col[j].level);
    }
    free(e->col);
    free(e->target);
    for (size_t j = 0; e->more != NULL && j < e->nmore; j++)
        free(e->more[j].name);
    free(e->more);
    free(e->weight);
    free(e->steps);
    for (size_t c = 0; e->classes != NULL && c < e->nclasses; c++)
        free(e->classes[c]);
    free(e->classes);
    free(e->rule);
    for (size_t k = 0; e->held != NULL && k < e->nheld; k++) {
        struct enc_held *h = &e->held[k];
        free(h->column);
        if (h->state != NULL && h->kind->state_free != NULL)
            h->kind->state_free(h->state);
        free(h->state);
    }
    free(e->held);
    *e = (struct encoding){ 0 };
}

/* Copies what is kept about a column: its name and the state of the kind. */
static bool copy_held(const struct enc_held *from, struct enc_held *to, struct err *err)
{
    *to = *from;
    to->column = mem_strdup(from->column, err);
    to->state = NULL;
    if (to->column == NULL || from->state == NULL)
        return to->column != NULL;
    to->state = mem_calloc(1, from->kind->state_bytes, "an encoding", err);
    if (to->state != NULL && from->kind->state_copy != NULL)
        return from->kind->state_copy(to->state, from->state, err) == ST_OK;
    if (to->state != NULL)
        memcpy(to->state, from->state, from->kind->state_bytes);
    return to->state != NULL;
}

enum status encoding_copy(struct encoding *dst, const struct encoding *src, struct err *err)
{
    *dst = *src;
    dst->target = src->target != NULL ? mem_strdup(src->target, err) : NULL;
    dst->weight = src->weight != NULL ? mem_strdup(src->weight, err) : NULL;
    dst->steps = src->steps != NULL ? mem_strdup(src->steps, err) : NULL;
    dst->rule = src->rule != NULL ? mem_strdup(src->rule, err) : NULL;
    dst->classes = src->nclasses > 0 ? mem_calloc(src->nclasses, sizeof *dst->classes, "classes",
                                                  err)
                                     : NULL;
    bool all = (dst->classes != NULL || src->nclasses == 0) &&
               (dst->rule != NULL || src->rule == NULL);
    for (size_t c = 0; c < src->nclasses && all; c++)
        all = (dst->classes[c] = mem_strdup(src->classes[c], err)) != NULL;
    dst->held =
        src->nheld > 0 ? mem_calloc(src->nheld, sizeof *dst->held, "an encoding", err) : NULL;
    bool good = all && (dst->held != NULL || src->nheld == 0);
    for (size_t k = 0; k < src->nheld && good; k++)
        good = copy_held(&src->held[k], &dst->held[k], err);
    dst->more =
        src->nmore > 0 ? mem_calloc(src->nmore, sizeof *dst->more, "an encoding", err) : NULL;
    dst->col =
        src->col != NULL ? mem_calloc(src->ncol, sizeof *dst->col, "an encoding", err) : NULL;
    good = good && (dst->col != NULL || src->col == NULL) &&
           (src->target == NULL || dst->target != NULL) &&
           (src->weight == NULL || dst->weight != NULL) &&
           (src->steps == NULL || dst->steps != NULL) &&
           (src->nmore == 0 || dst->more != NULL);
    for (size_t j = 0; j < src->nmore && good; j++) {
        dst->more[j] = src->more[j];
        dst->more[j].name = mem_strdup(src->more[j].name, err);
        good = dst->more[j].name != NULL;
    }
    for (size_t j = 0; src->col != NULL && j < src->ncol && good; j++) {
        dst->col[j] = src->col[j];
        dst->col[j].level = NULL;
        dst->col[j].column = mem_strdup(src->col[j].column, err);
        if (src->col[j].level != NULL)
            dst->col[j].level = mem_strdup(src->col[j].level, err);
        good = dst->col[j].column != NULL && (src->col[j].level == NULL) ==
                                                 (dst->col[j].level == NULL);
    }
    if (good)
        return ST_OK;
    encoding_free(dst);
    return ST_NOMEM;
}

struct source_labels encoding_labels(const struct encoding *e)
{
    return e->alpha > 0.0 ? (struct source_labels){ e->nclasses, e->alpha, e->balanced }
                          : (struct source_labels){ 0, 0.0, e->nclasses == 2 && e->balanced };
}

size_t encoding_targets(const struct encoding *e)
{
    return 1 + e->nmore;
}

struct encoding encoding_for(const struct encoding *e, size_t j)
{
    struct encoding one = *e;
    if (j > 0) {
        one.target = e->more[j - 1].name;
        one.ymean = e->more[j - 1].mean;
        one.ysd = e->more[j - 1].sd;
        one.yown = e->more[j - 1].own;
    }
    one.nmore = 0;
    one.more = NULL;
    return one;
}

enum status encoding_find(const struct encoding *e, const char *name, size_t *j, struct err *err)
{
    char word[64];
    *j = 0;
    if (name == NULL || *name == '\0')
        return ST_OK;
    for (size_t i = 0; i < encoding_targets(e); i++)
        if (strcmp(encoding_for(e, i).target, name) == 0) {
            *j = i;
            return ST_OK;
        }
    struct buf all = { 0 };
    for (size_t i = 0; i < encoding_targets(e) && i < 12; i++) {
        buf_puts(&all, i > 0 ? ", " : "");
        text_safe(&all, encoding_for(e, i).target, 40);
    }
    err_set(err, ST_NOT_FOUND, "%s is not a target of this run",
            text_quoted(name, word, sizeof word));
    err_hint(err, "one of its targets: %s", buf_str(&all));
    buf_free(&all);
    return ST_NOT_FOUND;
}

/* The part of a row that an entry of `held` with inputs is. */
static size_t row_part(const struct encoding *e, const struct enc_held *h)
{
    size_t p = 0;

    for (const struct enc_held *q = e->held; q != h; q++)
        p += q->inputs > 0;
    return p;
}

const struct enc_held *encoding_part(const struct encoding *e, size_t p)
{
    for (size_t k = 0; k < e->nheld; k++)
        if (e->held[k].inputs > 0 && p-- == 0)
            return &e->held[k];
    return NULL;
}

size_t encoding_part_first(const struct encoding *e, size_t p)
{
    const struct row_layout rows = encoding_layout(e);
    size_t at = row_layout_head(&rows);

    for (size_t q = 0; q < p; q++)
        at += encoding_part(e, q)->inputs;
    return at;
}

struct row_layout encoding_layout(const struct encoding *e)
{
    struct row_layout l = { 0 };

    for (size_t k = 0; k < e->nheld; k++) {
        const struct layer *own = &e->held[k].layer;
        if (e->held[k].inputs > 0)
            l.part[l.nparts++] =
                (struct row_part){ layer_rows(own), own->channels, own->positions, own->others };
    }
    l.flat = l.nparts > 0 ? e->ncol : 0;
    return l;
}

bool encoding_reads(const struct encoding *e, const char *column)
{
    bool reads = false;

    for (size_t k = 0; k < e->nheld; k++)
        reads |= strcmp(e->held[k].column, column) == 0;
    for (size_t j = 0; !reads && j < e->ncol; j++)
        reads = strcmp(e->col[j].column, column) == 0;
    return reads;
}

void encoding_width(struct encoding *e)
{
    const struct row_layout rows = encoding_layout(e);

    e->d = rows.nparts > 0 ? row_layout_head(&rows) : e->ncol;
    for (size_t k = 0; k < e->nheld; k++)
        e->d += e->held[k].inputs;
}

const struct enc_held *encoding_held(const struct encoding *e, const struct enc_col *c)
{
    const struct enc_held *same = NULL;

    for (size_t k = 0; k < e->nheld && c->kind >= ENC_FILTER; k++) {
        const struct enc_held *h = &e->held[k];
        if (c->kind == ENC_FILTER && layer_kind(&h->layer) != LAYER_NUMBERS)
            continue;
        if (strcmp(h->column, c->column) == 0)
            return h;
        if (same == NULL && h->kind == c->of) /* sessions of earlier versions kept one for all */
            same = h;
    }
    return same;
}

/* For each kernel over windows, the part of a row that it reads. */
static void parts_of(const struct encoding *e, const struct kernel *k,
                     size_t part[KERNEL_MAX_TERMS])
{
    for (size_t t = 0; t < KERNEL_MAX_TERMS; t++)
        part[t] = t < e->nparts && kterm_reads_windows(&k->term[t])
                      ? row_part(e, &e->held[e->part[t].held])
                      : 0;
}

/* True if kernel t reads part p of a row as the encoding writes it. */
static bool layer_binds(const struct layer *l, const struct row_layout *rows, size_t p)
{
    return l->flat == rows->flat && l->channels == rows->part[p].channels &&
           !(l->ops->widest && l->width > l->ops->widest(l)) &&
           layer_rows(l) == rows->part[p].rows &&
           l->parts == (rows->nparts > 1 ? rows->nparts : 0) && l->part == p;
}

bool encoding_binds(const struct encoding *e, const struct kernel *k)
{
    const struct row_layout rows = encoding_layout(e);
    size_t part[KERNEL_MAX_TERMS];

    if (kernel_reads_windows(k) != (rows.nparts > 0) || (e->nparts > 0 && e->nparts != k->nterms) ||
        (e->nparts == 0 && kernel_reads_parts(k)))
        return false;
    parts_of(e, k, part);
    for (size_t t = 0; t < k->nterms; t++) {
        const struct kterm *term = &k->term[t];
        const size_t held = e->nparts > 0 ? e->part[t].held : 0;
        if (kterm_reads_windows(term) && (!layer_binds(&term->layer, &rows, part[t]) ||
                                          e->held[held].inputs == 0 ||
                                          layer_least(&term->layer) > e->held[held].layer.width))
            return false;
        if (e->nparts > 0 &&
            (term->first != e->part[t].first || term->count != e->part[t].n))
            return false;
    }
    return true;
}

enum status encoding_bind(const struct encoding *e, struct kernel *k, struct err *err)
{
    const struct row_layout rows = encoding_layout(e);
    size_t part[KERNEL_MAX_TERMS];
    bool bound = false;

    for (size_t t = 0; t < k->nterms; t++) {
        const struct layer *l = &k->term[t].layer;
        bound |= kterm_reads_windows(&k->term[t]) && l->channels != l->ops->start.channels;
    }
    if (e->nparts > 0 && e->nparts != k->nterms)
        return err_set(err, ST_SHAPE,
                       "the data were encoded for an expression of %zu kernels, not %zu",
                       e->nparts, k->nterms);
    parts_of(e, k, part);
    enum status rc = rows.nparts > 0 ? kernel_bind_rows(k, &rows, part, err) : ST_OK;
    for (size_t t = 0; rc == ST_OK && t < e->nparts; t++)
        if (e->part[t].n > 0)
            rc = kernel_bind_inputs(k, t, e->part[t].first, e->part[t].n, err);
    if (rc == ST_OK && !bound)
        kernel_choose_filters(k);
    return rc;
}

double encoding_value(const struct encoding *e, double scaled)
{
    double y = scaled * e->ysd + e->ymean;
    return e->yscale == Y_LOG ? exp(y) : y;
}

double encoding_scaled(const struct encoding *e, double value)
{
    if (e->yscale == Y_LOG)
        value = value > 0.0 ? log(value) : -INFINITY;
    return (value - e->ymean) / e->ysd;
}

void encoding_unscale(const struct encoding *e, size_t n, const double *mean, const double *var,
                      double *out_mean, double *out_sd)
{
    for (size_t i = 0; i < n; i++) {
        double m = mean[i] * e->ysd + e->ymean, v = var ? var[i] * e->ysd * e->ysd : 0;
        if (e->yscale == Y_LOG) /* the sd of a log-normal */
            out_mean[i] = exp(m + 0.5 * v);
        else
            out_mean[i] = m;
        if (var)
            out_sd[i] = e->yscale == Y_LOG ? out_mean[i] * sqrt(expm1(v)) : sqrt(v);
    }
}
