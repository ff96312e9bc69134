/* compute/models/model_start.c -- where the iterations of a fit begin when another model is given.
 *
 * If that model has the same features, its weights are the start.  With other features (number,
 * seed or kernel) its weights mean nothing, but its function does.  With f (n) its predictions of
 * the training rows, the ridge regression of f on the new features is A1^-1 Z'f, and
 *   w0 = P^-1 Z'f  (M)                                              (share/doc/methods.md 9.8)
 * is its approximation by the preconditioner P, for one more pass over the rows.  The solvers scale
 * w0 to the best point on its line. */
#include "compute/models/model_impl.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

bool model_start_same(const struct model *s, const struct model *m)
{
    struct buf a = { 0 }, b = { 0 };

    kernel_print(&s->kernel, &a);
    kernel_print(&m->kernel, &b);
    const bool same = s->kind == m->kind && s->M == m->M && s->seed == m->seed && s->d == m->d &&
                      strcmp(buf_str(&a), buf_str(&b)) == 0;
    buf_free(&a);
    buf_free(&b);
    return same;
}

enum status model_start_check(const struct model *s, const struct source *src, size_t targets,
                              struct err *err)
{
    if (s == NULL)
        return ST_OK;
    if (s->t != targets)
        return err_set(err, ST_STATE, "the start has weights for %zu target%s, not for %zu", s->t,
                       s->t == 1 ? "" : "s", targets);
    if (s->d != src->d)
        return err_set(err, ST_STATE,
                       "the start is a model of %zu inputs, not of %zu: it says nothing "
                       "of these rows",
                       s->d, src->d);
    return ST_OK;
}

enum status model_start_project(const struct model *s, const struct source *src, struct fop *f,
                                const struct precond *pre, const struct tools *on, double **w0,
                                struct err *err)
{
    const size_t n = src->n, M = fop_cols(f);
    double *mean = mem_calloc(s->t * n, sizeof *mean, "the start's predictions", err);
    double *w = mean ? mem_calloc(s->t * M, sizeof *w, "the start", err) : NULL;
    enum status rc = w ? model_predict(s, src, mean, NULL, on, err) : ST_NOMEM;

    for (size_t j = 0; rc == ST_OK && src->row_scale && j < s->t; j++)
        for (size_t i = 0; i < n; i++)
            mean[j * n + i] *= src->row_scale[i];
    if (rc == ST_OK)
        rc = fop_ztv(f, s->t, mean, w, on->ctl, err);
    if (rc == ST_OK && pre != NULL)
        rc = precond_apply(pre, on->pool, s->t, w, w, err);
    free(mean);
    if (rc != ST_OK) {
        free(w);
        w = NULL;
    }
    *w0 = w;
    return rc;
}
