/* compute/likelihood/dirichlet_columns.c -- see dirichlet_columns.h.  The rows are put in the order
 * of their classes, so that those of a class are one block; A_c is as in dirichlet.h. */
#include "compute/likelihood/dirichlet_columns.h"

#include "base/mem.h"
#include "compute/likelihood/dirichlet.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows in the order of their classes: row[i] is the i-th of them, and those of class c are first[c]
 * to first[c + 1] - 1. */
struct sorted { size_t *row, *first; double *F, *B, *R, *P; };

static void sort_rows(const struct dirichlet_columns *c, struct sorted *s)
{
    for (size_t i = 0; i < c->n; i++)
        s->first[(size_t)c->labels[i] + 1]++;
    for (size_t k = 0; k < c->classes; k++)
        s->first[k + 1] += s->first[k];
    for (size_t i = 0; i < c->n; i++)
        s->row[s->first[(size_t)c->labels[i]]++] = i;
    memmove(s->first + 1, s->first, c->classes * sizeof *s->first);
    s->first[0] = 0;
    for (size_t i = 0; i < c->n; i++)
        memcpy(s->F + i * c->q, c->F + s->row[i] * c->q, c->q * sizeof *s->F);
}

static enum status open_rows(const struct dirichlet_columns *c, struct sorted *s, struct err *err)
{
    const size_t n = c->n, q = c->q, C = c->classes;

    s->row = mem_calloc(n + C + 2, sizeof *s->row, "rows by class", err);
    s->F = s->row ? mem_aligned(2 * n * q + n * C + q * q, sizeof *s->F, "features by class",
                                err)
                  : NULL;
    if (!s->F)
        return ST_NOMEM;
    s->first = s->row + n;
    s->B = s->F + n * q;
    s->R = s->B + n * q;
    s->P = s->R + n * C;
    memset(s->P, 0, q * q * sizeof *s->P);
    sort_rows(c, s);
    return ST_OK;
}

/* The sum of n rows of q. */
static void add_up(size_t n, size_t q, const double *F, double *sum)
{
    memset(sum, 0, q * sizeof *sum);
    for (size_t i = 0; i < n; i++)
        blas_daxpy(q, 1.0, F + i * q, sum);
}

/* The regression of class k: weights, inverse, NMLL, derivative in its amplitude; adds to P, and
 * the part of its own rows to B. */
static enum status one_class(struct dirichlet_columns *c, const struct sorted *s,
                             struct dirichlet *d, size_t k, struct err *err)
{
    const size_t q = c->q, r0 = s->first[k];
    const double share = (double)(s->first[k + 1] - r0) / (double)c->n;
    const double amplitude = exp(0.5 * c->log_scale[k]);
    const double rho = d->of[0].var / (amplitude * amplitude), *own = s->F + r0 * q;
    double *w = c->w + k * q, *inverse = c->inverse + k * q * q, value, trace = 0.0;

    d->nown = s->first[k + 1] - r0;
    d->own_part = (double)d->nown;
    d->mean = share * d->of[1].y + (1.0 - share) * d->of[0].y;
    memset(d->Gc, 0, q * q * sizeof *d->Gc);
    enum status rc = d->nown ? blas_dgemm(d->rows.on.pool, false, true, q, q, d->nown, 1.0, own, q,
                                          own, q, 0.0, d->Gc, q, err)
                             : ST_OK;
    add_up(d->nown, q, own, d->sumc);
    if (rc == ST_OK)
        rc = dirichlet_at(d, amplitude, inverse, w, &value, err);
    if (rc == ST_OK)
        rc = blas_dpotri(d->rows.on.pool, q, inverse, q, err);
    if (rc != ST_OK)
        return rc;
    blas_mirror(0, q, 0, q, inverse, q);
    for (size_t j = 0; j < q; j++)
        trace += inverse[j + j * q];
    c->mean[k] = d->mean;
    c->nmll += value;
    if (c->dscale)
        c->dscale[k] = 0.5 * ((double)q - rho * trace - rho * blas_ddot(q, w, w) / d->of[0].var);
    blas_daxpy(q * q, 1.0, inverse, s->P);
    return c->dF && d->nown
               ? blas_dgemm(d->rows.on.pool, false, false, q, d->nown, q,
                            d->of[0].var / d->of[1].var - 1.0, inverse, q, own, q, 0.0,
                            s->B + r0 * q, q, err)
               : ST_OK;
}

/* dF = F P + (v_off / v_own - 1) Fc A_c^-1 - R W' (23.9), by the order of the rows. */
static enum status back(struct dirichlet_columns *c, const struct sorted *s,
                        const struct dirichlet *d, struct err *err)
{
    const size_t n = c->n, q = c->q, C = c->classes;
    struct pool *pool = d->rows.on.pool;
    enum status rc = blas_dgemm(pool, false, false, q, n, q, 1.0, s->P, q, s->F, q, 1.0, s->B, q,
                                err);

    if (rc == ST_OK)
        rc = blas_dgemm(pool, true, false, C, n, q, 1.0, c->w, q, s->F, q, 0.0, s->R, C, err);
    for (size_t i = 0; rc == ST_OK && i < n; i++)
        for (size_t k = 0; k < C; k++) {
            const struct dirichlet_value *v = &d->of[i >= s->first[k] && i < s->first[k + 1]];
            s->R[i * C + k] = (v->y - c->mean[k] - s->R[i * C + k]) / v->var;
        }
    if (rc == ST_OK)
        rc = blas_dgemm(pool, false, false, q, n, C, -1.0, c->w, q, s->R, C, 1.0, s->B, q, err);
    for (size_t i = 0; rc == ST_OK && i < n; i++)
        memcpy(c->dF + s->row[i] * q, s->B + i * q, q * sizeof *c->dF);
    return rc;
}

enum status dirichlet_columns(struct dirichlet_columns *c, struct pool *pool, struct err *err)
{
    const size_t q = c->q;
    struct sorted s = { NULL };
    struct dirichlet d = { .n = c->n, .M = q, .total = (double)c->n,
                           .rows = { .classes = c->classes, .alpha = c->alpha,
                                     .on = { .pool = pool } } };
    double *sums = mem_aligned(2 * q * q + 2 * q, sizeof *sums, "sums of classes", err);
    enum status rc = sums ? open_rows(c, &s, err) : ST_NOMEM;

    dirichlet_values(c->alpha, d.of);
    c->nmll = 0.0;
    c->v_off = d.of[0].var;
    if (rc == ST_OK) {
        d.G = sums;
        d.Gc = d.G + q * q;
        d.sum = d.Gc + q * q;
        d.sumc = d.sum + q;
        rc = blas_dgemm(pool, false, true, q, q, c->n, 1.0, s.F, q, s.F, q, 0.0, d.G, q, err);
        add_up(c->n, q, s.F, d.sum);
    }
    for (size_t j = 0; rc == ST_OK && j < q; j++)
        if (!isfinite(d.G[j + j * q]))
            rc = err_set(err, ST_NOT_PD, "the learned features are not finite");
    for (size_t k = 0; rc == ST_OK && k < c->classes; k++)
        rc = one_class(c, &s, &d, k, err);
    if (rc == ST_OK && c->dF)
        rc = back(c, &s, &d, err);
    free(s.row);
    free(s.F);
    free(sums);
    return rc;
}
