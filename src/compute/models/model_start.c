/* compute/models/model_start.c -- where the iterations of a fit begin when another model is given.
 *
 * If that model has the same features, its weights are the start.  With other features (number,
 * seed or kernel) its weights mean nothing, but its function does.  With f (n) its predictions of
 * the training rows, the ridge regression of f on the new features is A1^-1 Z'f, and
 *   w0 = P^-1 Z'f  (M)                                              (share/doc/methods.md 9.8)
 * is its approximation by the preconditioner P, for one more pass over the rows.  The solvers scale
 * w0 to the best point on its line.
 *
 * An exact kernel has a weight for each row.  The rows of the start are found by their inputs, so
 * that it may have had fewer rows, or the same in another order; new ones begin at 0. */
#include "compute/models/model_impl.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

bool model_start_same(const struct model *s, const struct model *m)
{
    struct buf a = { 0 }, b = { 0 };

    kernel_print(&s->kernel, &a);
    kernel_print(&m->kernel, &b);
    const bool same = s->kind == m->kind && s->d == m->d &&
                      strcmp(buf_str(&a), buf_str(&b)) == 0 &&
                      (!m->kind->draws || (s->M == m->M && s->seed == m->seed));
    buf_free(&a);
    buf_free(&b);
    return same;
}

/* Rows of d inputs in the order of their bytes; equal ones in their own order. */
struct order { const double *X; size_t d; };

static int by_bytes(const void *a, const void *b, void *ctx)
{
    const struct order *o = ctx;
    const size_t i = *(const size_t *)a, j = *(const size_t *)b;
    const int c = memcmp(o->X + i * o->d, o->X + j * o->d, o->d * sizeof *o->X);

    return c != 0 ? c : (i > j) - (i < j);
}

static size_t *sorted(const double *X, size_t n, size_t d, struct err *err)
{
    struct order o = { X, d };
    size_t *at = mem_calloc(n, sizeof *at, "the order of rows", err);

    for (size_t i = 0; at && i < n; i++)
        at[i] = i;
    if (at)
        qsort_r(at, n, sizeof *at, by_bytes, &o);
    return at;
}

enum status model_start_rows(const struct model *s, const double *X, const struct model *m,
                             size_t **from, size_t *found, struct err *err)
{
    const size_t d = m->d;
    size_t *old = sorted(X, s->M, d, err), *new = old ? sorted(m->X, m->M, d, err) : NULL;
    size_t *of = new ? mem_calloc(m->M, sizeof *of, "the rows of the start", err) : NULL;

    *found = 0;
    *from = of;
    for (size_t i = 0, j = 0; of && i < m->M; i++) {
        int c = 1;
        while (j < s->M && (c = memcmp(X + old[j] * d, m->X + new[i] * d, d * sizeof *X)) < 0)
            j++;
        of[new[i]] = j < s->M && c == 0 ? old[j++] : SIZE_MAX;
        *found += of[new[i]] != SIZE_MAX;
    }
    free(old);
    free(new);
    return of ? ST_OK : ST_NOMEM;
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
