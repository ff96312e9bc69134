/* compute/models/model_average.c -- the variance of the average of the function over a group of
 * rows (share/doc/methods.md 14.2), jointly: the function's values at neighbouring rows are
 * correlated, so that the variance of their average says more than the average of their
 * variances. */
#include "compute/models/model_impl.h"

#include "base/mem.h"
#include "compute/features/fop_rows.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fills column g of a->c, and a->prior[g] where that is used. */
typedef enum status group_fn(const struct averaging *, size_t g, double *work, struct err *);

struct groups {
    const struct averaging *a;
    group_fn *fn;
    double *work; /* per worker */
    size_t len;
    int failed;
    struct err *errs; /* per worker */
};

static void group_task(void *ctx, size_t g, size_t worker)
{
    struct groups *s = ctx;

    if (__atomic_load_n(&s->failed, __ATOMIC_RELAXED) || ctl_stopped(s->a->on.ctl))
        return;
    if (s->fn(s->a, g, s->work + worker * s->len, &s->errs[worker]) != ST_OK)
        __atomic_store_n(&s->failed, (int)worker + 1, __ATOMIC_RELAXED);
}

/* Each group is one task and is summed in the order of its rows. */
static enum status all_groups(const struct averaging *a, group_fn *fn, size_t len, struct err *err)
{
    const size_t threads = pool_threads(a->on.pool);
    struct groups s = { .a = a, .fn = fn, .len = len };

    s.work = mem_aligned(threads * len, sizeof *s.work, "averages", err);
    s.errs = s.work ? mem_calloc(threads, sizeof *s.errs, "error slots", err) : NULL;
    enum status rc = s.errs ? ST_OK : ST_NOMEM;
    if (rc == ST_OK)
        pool_run(a->on.pool, a->groups, group_task, &s);
    if (rc == ST_OK && s.failed) {
        const struct err *e = &s.errs[s.failed - 1];
        if (err != NULL)
            *err = *e;
        rc = e->code != ST_OK ? e->code : ST_INTERNAL;
    }
    if (rc == ST_OK && ctl_stopped(a->on.ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    free(s.work);
    free(s.errs);
    return rc;
}

/* a->c <- L^-1 a->c. */
static enum status solve(const struct averaging *a, struct err *err)
{
    return blas_dtrsm(a->on.pool, false, a->m->Mv, a->groups, a->m->L, a->m->Mv, a->c, a->m->Mv,
                      err);
}

/* Features: c = mean z, with the rounding of those in the factor. */

enum status model_average_features(struct averaging *a, struct err *err)
{
    const struct model *m = a->m;
    const struct fop_opts fo = {.pool = a->on.pool, .ctl = a->on.ctl, .precision = m->precision};
    struct model_map z = { .f = NULL };
    enum status rc = model_open(m, m->Mv, a->src, &fo, a->on.be, &z, err);

    const struct fop_groups of = { a->groups, a->each, m->precision };
    if (rc == ST_OK)
        rc = fop_means(z.f, &of, a->c, a->on.ctl, err);
    model_close(&z);
    if (rc == ST_OK)
        rc = solve(a, err);
    for (size_t g = 0; rc == ST_OK && g < a->groups; g++) {
        const double q = blas_ddot(m->Mv, a->c + g * m->Mv, a->c + g * m->Mv);
        for (size_t j = 0; j < m->t; j++)
            a->var[j * a->groups + g] = m->noises[j] * m->noises[j] * q;
    }
    return rc;
}

/* Exact: c = mean k(X, x_i), and the prior variance of the average, mean k(x_i, x_l) over all pairs
 * of rows of the group. */

static enum status exact_group(const struct averaging *a, size_t g, double *work, struct err *err)
{
    const struct model *m = a->m;
    const size_t n = m->M, each = a->each, d = a->src->d;
    double *X = work, *C = work + each * d, *c = a->c + g * n, sum = 0.0;
    enum status rc = a->src->rows(a->src, g * each, (g + 1) * each, X, err);
    const struct exact_rows train = { .k = &m->kernel, .hp = m->hp, .X = m->X, .n = n,
                                       .d = m->d },
                            own = { .k = &m->kernel, .hp = m->hp, .X = X, .n = each, .d = d };

    for (size_t r = 0; rc == ST_OK && r < each; r += MODEL_TILE) {
        const size_t rows = each - r < MODEL_TILE ? each - r : MODEL_TILE;
        exact_cross_wide(&train, X + r * d, d, rows, C);
        for (size_t i = 0; i < rows; i++)
            blas_daxpy(n, 1.0 / (double)each, C + i * n, c);
        exact_cross(&own, X + r * d, rows, C);
        for (size_t i = 0; i < rows * each; i++)
            sum += C[i];
        if (ctl_stopped(a->on.ctl))
            rc = err_set(err, ST_CANCELLED, "stopped");
    }
    a->prior[g] = sum / ((double)each * (double)each);
    return rc;
}

enum status model_average_exact(struct averaging *a, struct err *err)
{
    const struct model *m = a->m;
    const size_t wide = m->M > a->each ? m->M : a->each;
    enum status rc = all_groups(a, exact_group, a->each * a->src->d + MODEL_TILE * wide + 8, err);

    if (rc == ST_OK)
        rc = solve(a, err);
    for (size_t g = 0; rc == ST_OK && g < a->groups; g++) {
        const double q = blas_ddot(m->Mv, a->c + g * m->Mv, a->c + g * m->Mv);
        for (size_t j = 0; j < m->t; j++)
            a->var[j * a->groups + g] =
                m->amplitudes[j] * m->amplitudes[j] * fmax(a->prior[g] - q, 0.0);
    }
    return rc;
}

enum status model_average_sparse(struct averaging *a, struct err *err)
{
    const struct model *m = a->m;
    const size_t n = m->M, wide = n > a->each ? n : a->each;
    double *L = model_sparse_factor(m, a->on.pool, err);
    enum status rc = L ? all_groups(a, exact_group, a->each * a->src->d + MODEL_TILE * wide + 8,
                                    err)
                       : err_status(err);

    if (rc == ST_OK)
        rc = blas_dtrsm(a->on.pool, false, n, a->groups, L, n, a->c, n, err);
    free(L);
    for (size_t g = 0; rc == ST_OK && g < a->groups; g++)
        a->prior[g] = fmax(a->prior[g] - blas_ddot(n, a->c + g * n, a->c + g * n), 0.0);
    if (rc == ST_OK)
        rc = solve(a, err);
    for (size_t g = 0; rc == ST_OK && g < a->groups; g++)
        for (size_t j = 0; j < m->t; j++)
            a->var[j * a->groups + g] =
                m->amplitudes[j] * m->amplitudes[j] *
                (a->prior[g] + blas_ddot(n, a->c + g * n, a->c + g * n));
    return rc;
}

enum status model_average(const struct model *m, const struct source *src, size_t each,
                          double *var, const struct tools *on, struct err *err)
{
    enum status rc = source_suits(src, &m->kernel, err);
    struct averaging a = { .m = m, .src = src, .each = each, .groups = src->n / each, .var = var,
                           .on = *on };

    if (rc != ST_OK)
        return rc;
    if (!m->kind->suits(m, src, err))
        return ST_SHAPE;
    if (m->L == NULL || m->kind->average == NULL)
        return err_set(err, ST_STATE, "this model keeps no variances");
    a.c = mem_aligned(a.groups * m->Mv + a.groups, sizeof *a.c, "averages", err);
    if (a.c == NULL)
        return ST_NOMEM;
    memset(a.c, 0, (a.groups * m->Mv + a.groups) * sizeof *a.c);
    a.prior = a.c + a.groups * m->Mv;
    rc = m->kind->average(&a, err);
    free(a.c);
    return rc;
}
