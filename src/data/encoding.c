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
const char *const encoding_xscale_words[] = { "standard", "none", NULL };

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
    free(e->held.column);
    if (e->held.state != NULL && e->held.kind->state_free != NULL)
        e->held.kind->state_free(e->held.state);
    free(e->held.state);
    *e = (struct encoding){ 0 };
}

/* Copies the column's name and the state of the kind into an encoding that already has everything
 * else. */
static bool copy_held(const struct enc_held *from, struct enc_held *to, struct err *err)
{
    to->column = from->column != NULL ? mem_strdup(from->column, err) : NULL;
    to->state = NULL;
    if (from->column == NULL || to->column == NULL || from->state == NULL)
        return (from->column == NULL) == (to->column == NULL);
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
    bool good = copy_held(&src->held, &dst->held, err);
    dst->more =
        src->nmore > 0 ? mem_calloc(src->nmore, sizeof *dst->more, "an encoding", err) : NULL;
    dst->col =
        src->col != NULL ? mem_calloc(src->ncol, sizeof *dst->col, "an encoding", err) : NULL;
    good = good && (dst->col != NULL || src->col == NULL) &&
           (src->target == NULL || dst->target != NULL) &&
           (src->weight == NULL || dst->weight != NULL) &&
           (src->steps == NULL || dst->steps != NULL) && (src->nmore == 0 || dst->more != NULL);
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

enum status encoding_bind(const struct encoding *e, struct kernel *k, struct err *err)
{
    const struct layer *l = &e->held.layer;
    const bool bound = k->layer.channels != 0;
    enum status rc = kernel_bind_rows(k, l->channels, l->symbols, l->positions, err);

    if (rc == ST_OK)
        rc = kernel_bind_flat(k, e->ncol, err);
    if (rc == ST_OK && e->nparts > 0 && e->nparts != k->nterms)
        rc = err_set(err, ST_SHAPE,
                     "the data were encoded for an expression of %zu kernels, not %zu", e->nparts,
                     k->nterms);
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
