/* compute/likelihood/softmax.c -- see softmax.h.  Passes over the rows are those of the feature
 * operator (fop_rows.h, fop_softmax), wherever the rows are. */
#include "compute/likelihood/softmax.h"

#include "base/mem.h"
#include "compute/features/featmap.h"
#include "compute/features/fop_rows.h"
#include "compute/likelihood/likelihood.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct likelihood_ops softmax_likelihood = {
    .name = "softmax",
    .link = "softmax",
    .title = "several classes, by one multinomial logistic model",
    .method = "Newton's method",
    .classes = true,
    .several = true,
};

enum {
    CG_MOST = 250,   /* products with the Hessian for a step */
    HALVINGS = 30    /* of a step */
};
static const double armijo = 1e-4, loosest = 0.1;

void softmax_offset(const struct dirichlet_rows *r, double *offset)
{
    const double n = (double)r->src->n, C = (double)r->classes;

    for (size_t c = 0; c < r->classes; c++)
        offset[c] = r->alpha;
    for (size_t i = 0; i < r->src->n; i++)
        offset[(size_t)r->labels[i]] += 1.0;
    for (size_t c = 0; c < r->classes; c++)
        offset[c] = r->weight ? -log(C) : log(offset[c] / (n + C * r->alpha));
}

/* The sums. */

double softmax_bytes(size_t n, size_t M, size_t C, size_t threads)
{
    const double m = (double)M, c = (double)C;

    return 8.0 * (2.0 * m * m + 6.0 * m * c) + fop_softmax_bytes(n, M, C, threads);
}

/* Z'SZ with squares S of row factors (NULL: 1), both triangles. */
static enum status gram(const struct dirichlet_rows *r, const double *scale, double *G,
                        struct err *err)
{
    const struct fop_opts fo = {
        .pool = r->on.pool, .ctl = r->on.ctl, .precision = r->precision, .row_scale = scale};
    struct fop *f = fop_new(r->on.be, r->map, r->src, &fo, err);
    enum status rc = f ? fop_set(f, r->hp, err) : err_status(err);

    if (rc == ST_OK)
        rc = fop_gram(f, NULL, G, NULL, NULL, r->on.ctl, err);
    fop_free(f);
    return rc;
}

static double weight_of(const struct dirichlet_rows *r, size_t i)
{
    return r->weight ? r->weight[(size_t)r->labels[i]] : 1.0;
}

static enum status weighted_gram(struct softmax *s, struct err *err)
{
    double *scale = s->rows.weight ? mem_calloc(s->n + 1, sizeof *scale, "weights of rows", err)
                                   : NULL;

    if (s->rows.weight && !scale)
        return ST_NOMEM;
    for (size_t i = 0; scale && i < s->n; i++)
        scale[i] = sqrt(weight_of(&s->rows, i));
    const enum status rc = gram(&s->rows, scale, s->G, err);
    free(scale);
    return rc;
}

enum status softmax_open(struct softmax *s, const struct dirichlet_rows *rows,
                         const double *offset, double keep, struct err *err)
{
    const struct fop_opts fo = {
        .pool = rows->on.pool, .ctl = rows->on.ctl, .precision = rows->precision};
    enum status rc = dirichlet_labels(rows, err);

    *s = (struct softmax){ .rows = *rows, .offset = offset, .n = rows->src->n, .M = rows->map->M,
                           .C = rows->classes };
    if (rc != ST_OK)
        return rc;
    s->f = fop_new(rows->on.be, rows->map, rows->src, &fo, err);
    rc = s->f ? fop_set(s->f, rows->hp, err) : err_status(err);
    if (rc != ST_OK)
        return rc;
    s->G = mem_aligned(2 * s->M * s->M, sizeof *s->G, "the Gram matrix", err);
    if (s->G == NULL)
        return ST_NOMEM;
    s->L = s->G + s->M * s->M;
    s->keep = 8.0 * (double)s->n * (double)s->M <= keep;
    return weighted_gram(s, err);
}

void softmax_close(struct softmax *s)
{
    fop_free(s->f);
    free(s->G);
    *s = (struct softmax){ .f = NULL };
}

/* A pass over all rows at weights W. */
static struct fop_softmax pass_of(const struct softmax *s, const double *W)
{
    return (struct fop_softmax){ .classes = s->C, .labels = s->rows.labels,
                                 .weight = s->rows.weight, .offset = s->offset, .W = W,
                                 .keep = s->keep };
}

/* Newton's method.  Vectors of M C numbers each. */
struct newton {
    struct softmax *s;
    double prior, *W, *g, *x, *r, *z, *p, *Hp;
    size_t n, passes;
};

/* The loss at W, with its gradient. */
static enum status at(struct newton *t, const double *W, double *loss, double *g, struct err *err)
{
    const struct fop_softmax of = pass_of(t->s, W);
    const enum status rc = fop_softmax(t->s->f, &of, g, loss, t->s->rows.on.ctl, err);

    t->passes++;
    if (rc != ST_OK)
        return rc;
    *loss += 0.5 * t->prior * blas_ddot(t->n, W, W);
    blas_daxpy(t->n, t->prior, W, g);
    return ST_OK;
}

/* The factor of G / C + prior I, which is the Hessian of equal probabilities on what differs
 * between the classes (25.4). */
static enum status precondition(struct softmax *s, double prior, struct err *err)
{
    const size_t M = s->M;
    double jitter = 0.0;
    enum status rc;

    if (s->prior == prior)
        return ST_OK;
    s->prior = 0.0;
    do {
        for (size_t k = 0; k < M * M; k++)
            s->L[k] = s->G[k] / (double)s->C;
        for (size_t j = 0; j < M; j++)
            s->L[j + j * M] += prior + jitter;
        err_clear(err);
        rc = blas_dpotrf(s->rows.on.pool, M, s->L, M, s->rows.on.ctl, NULL, err);
        jitter = jitter > 0.0 ? 10.0 * jitter : 1e-10 * (double)s->n;
    } while (rc == ST_NOT_PD && jitter < 1e-3 * (double)s->n);
    s->prior = rc == ST_OK ? prior : 0.0;
    return rc;
}

static enum status apply(const struct newton *t, const double *r, double *z, struct err *err)
{
    const struct softmax *s = t->s;

    memcpy(z, r, t->n * sizeof *z);
    const enum status rc = blas_dtrsm(s->rows.on.pool, false, s->M, s->C, s->L, s->M, z, s->M, err);
    return rc == ST_OK ? blas_dtrsm(s->rows.on.pool, true, s->M, s->C, s->L, s->M, z, s->M, err)
                       : rc;
}

static enum status product(struct newton *t, struct err *err)
{
    struct fop_softmax of = pass_of(t->s, t->W);

    of.V = t->p;
    const enum status rc = fop_softmax(t->s->f, &of, t->Hp, NULL, t->s->rows.on.ctl, err);

    t->passes++;
    if (rc == ST_OK)
        blas_daxpy(t->n, t->prior, t->p, t->Hp);
    return rc;
}

/* x <- about -H^-1 g: conjugate gradients until the preconditioned residual has fallen to `enough`
 * of its size (Nocedal & Wright, Numerical Optimization 2006, algorithm 7.1). */
static enum status direction(struct newton *t, double enough, struct err *err)
{
    double rz, start;

    memset(t->x, 0, t->n * sizeof *t->x);
    for (size_t k = 0; k < t->n; k++)
        t->r[k] = -t->g[k];
    enum status rc = apply(t, t->r, t->z, err);
    if (rc != ST_OK)
        return rc;
    memcpy(t->p, t->z, t->n * sizeof *t->p);
    start = rz = blas_ddot(t->n, t->r, t->z);
    for (size_t k = 0; k < CG_MOST && rz > enough * enough * start && rz > 0.0; k++) {
        rc = product(t, err);
        if (rc != ST_OK)
            return rc;
        const double curve = blas_ddot(t->n, t->p, t->Hp), before = rz;
        if (!(curve > 0.0))
            break;
        blas_daxpy(t->n, rz / curve, t->p, t->x);
        blas_daxpy(t->n, -rz / curve, t->Hp, t->r);
        rc = apply(t, t->r, t->z, err);
        if (rc != ST_OK)
            return rc;
        rz = blas_ddot(t->n, t->r, t->z);
        blas_dscal(t->n, rz / before, t->p);
        blas_daxpy(t->n, 1.0, t->z, t->p);
    }
    return ST_OK;
}

/* Goes along x, halving until the loss falls as far as its slope promises; W, loss and gradient
 * are then those of the new place.  *moved is false where no step is short enough. */
static enum status step(struct newton *t, double *loss, bool *moved, struct err *err)
{
    const double slope = blas_ddot(t->n, t->g, t->x);
    double length = 1.0, value;

    *moved = false;
    for (int k = 0; k < HALVINGS && slope < 0.0; k++, length *= 0.5) {
        memcpy(t->z, t->W, t->n * sizeof *t->z);
        blas_daxpy(t->n, length, t->x, t->z);
        const enum status rc = at(t, t->z, &value, t->r, err);
        if (rc != ST_OK)
            return rc;
        if (!(value <= *loss + armijo * length * slope))
            continue;
        memcpy(t->W, t->z, t->n * sizeof *t->W);
        memcpy(t->g, t->r, t->n * sizeof *t->g);
        *moved = value < *loss;
        *loss = value;
        return ST_OK;
    }
    return ST_OK;
}

static void tell(const struct newton *t, const struct softmax_end *e, size_t maxit, double rtol)
{
    const struct tick k = { .phase = PHASE_ITERATE, .done = e->steps, .total = maxit,
                            .value = e->residual, .value2 = NAN, .target = rtol,
                            .passes = (double)t->passes, .method = "newton" };

    ctl_tick(t->s->rows.on.ctl, &k);
}

static enum status climb(struct newton *t, double rtol, size_t maxit, struct softmax_end *e,
                         struct err *err)
{
    double scale, loss;
    bool moved = true;

    memset(t->x, 0, t->n * sizeof *t->x);
    enum status rc = at(t, t->x, &loss, t->g, err);
    scale = blas_dnrm2(t->n, t->g);
    if (rc == ST_OK && blas_dnrm2(t->n, t->W) > 0.0)
        rc = at(t, t->W, &loss, t->g, err);
    if (rc == ST_OK)
        rc = precondition(t->s, t->prior, err);
    for (;;) {
        e->residual = rc == ST_OK && scale > 0.0 ? blas_dnrm2(t->n, t->g) / scale : e->residual;
        e->loss = rc == ST_OK ? loss : e->loss;
        e->start = e->steps == 0 ? e->residual : e->start;
        if (rc != ST_OK)
            return rc;
        tell(t, e, maxit, rtol);
        e->why = e->residual <= rtol || !moved || scale == 0.0 ? SOFTMAX_RTOL : SOFTMAX_MAXIT;
        if (e->why == SOFTMAX_RTOL || e->steps >= maxit)
            return ST_OK;
        rc = direction(t, fmin(loosest, sqrt(e->residual)), err);
        if (rc == ST_OK)
            rc = step(t, &loss, &moved, err);
        e->steps += rc == ST_OK;
    }
}

enum status softmax_solve(struct softmax *s, double prior, double rtol, size_t maxit, double *W,
                          struct softmax_end *e, struct err *err)
{
    const size_t n = s->M * s->C;
    double *all = mem_aligned(6 * n, sizeof *all, "vectors of Newton's method", err);
    struct newton t = { .s = s, .prior = prior, .W = W, .n = n, .g = all, .x = all + n,
                        .r = all + 2 * n, .z = all + 3 * n, .p = all + 4 * n, .Hp = all + 5 * n };

    *e = (struct softmax_end){ .residual = NAN, .loss = NAN };
    enum status rc = all ? climb(&t, rtol, maxit, e, err) : ST_NOMEM;
    e->passes = t.passes;
    if (rc == ST_CANCELLED) {
        err_clear(err);
        e->why = SOFTMAX_STOPPED;
        rc = ST_OK;
    }
    free(all);
    return rc;
}

enum status softmax_functions(const struct dirichlet_rows *r, const double *offset,
                              const double *W, double *f, struct err *err)
{
    const struct fop_opts fo = {.pool = r->on.pool, .ctl = r->on.ctl, .precision = r->precision};
    struct fop *op = fop_new(r->on.be, r->map, r->src, &fo, err);
    enum status rc = op ? fop_set(op, r->hp, err) : err_status(err);

    if (rc == ST_OK)
        rc = fop_zp(op, r->classes, W, f, r->on.ctl, err);
    for (size_t c = 0; rc == ST_OK && c < r->classes; c++)
        for (size_t i = 0; i < r->src->n; i++)
            f[c * r->src->n + i] += offset[c];
    fop_free(op);
    return rc;
}

/* Laplace's method. */

size_t softmax_factors_of(size_t classes)
{
    return classes > 2 ? classes : 1;
}

static enum status factor(const struct softmax *s, double prior, double *L, struct err *err)
{
    const size_t M = s->M;
    const double most = 1e-4 * (double)s->n;
    double jitter = 0.0;

    blas_mirror(0, M, 0, M, L, M); /* the upper triangle keeps the sums */
    double *diagonal = mem_calloc(M, sizeof *diagonal, "a diagonal", err);
    enum status rc = diagonal ? ST_OK : ST_NOMEM;
    for (size_t j = 0; rc == ST_OK && j < M; j++)
        diagonal[j] = L[j + j * M];
    while (rc == ST_OK) {
        for (size_t j = 0; j < M; j++) {
            for (size_t i = j + 1; i < M; i++)
                L[i + j * M] = L[j + i * M];
            L[j + j * M] = diagonal[j] + prior + jitter;
        }
        rc = blas_dpotrf(s->rows.on.pool, M, L, M, s->rows.on.ctl, NULL, err);
        if (rc == ST_OK && jitter <= most)
            rc = blas_sound(s->rows.on.pool, M, L, M, 0.5 * (prior + jitter), err);
        if (rc != ST_NOT_PD || jitter > most)
            break;
        jitter = jitter > 0.0 ? 10.0 * jitter : 1e-10 * (double)s->n;
        err_clear(err);
        rc = ST_OK;
    }
    free(diagonal);
    return rc;
}

enum status softmax_factors(struct softmax *s, double prior, const double *W, double *factors,
                            struct err *err)
{
    double *h = mem_calloc(s->n + 1, sizeof *h, "weights of rows", err);
    enum status rc = h ? ST_OK : ST_NOMEM;

    for (size_t c = 0; rc == ST_OK && c < softmax_factors_of(s->C); c++) {
        double *L = factors + c * s->M * s->M;
        struct fop_softmax of = pass_of(s, W);
        of.h = h;
        of.c = c;
        rc = fop_softmax(s->f, &of, NULL, NULL, s->rows.on.ctl, err);
        for (size_t i = 0; rc == ST_OK && i < s->n; i++)
            h[i] = sqrt(h[i]);
        if (rc == ST_OK)
            rc = gram(&s->rows, h, L, err);
        if (rc == ST_OK)
            rc = factor(s, prior, L, err);
        ctl_tell(s->rows.on.ctl, PHASE_FACTOR, c + 1, softmax_factors_of(s->C), NAN);
    }
    free(h);
    return rc;
}
