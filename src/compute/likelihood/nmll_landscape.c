/* compute/likelihood/nmll_landscape.c -- the NMLL of a sample of rows over a grid of settings
 * (nmll_landscape.h; share/doc/methods.md 5, 6, 10). */
#include "compute/likelihood/nmll_landscape.h"

#include "base/mem.h"
#include "compute/features/featmap.h"
#include "compute/features/fop.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct nmll_landscape {
    struct nmll_landscape_opts o;
    struct source_subset src;
    size_t *row;      /* n: the sampled rows, as indices into all rows */
    double *y, *X;    /* t x n targets times the row factors; n x d inputs (exact kernel only) */
    double *scale;    /* n row factors of the sample, or NULL */
    double log_scale; /* the sum of their logarithms, subtracted from the NMLL of each target */
    size_t n, t;      /* rows of the sample, targets */
    struct featmap *fm;
    struct fop *fop;
};

void nmll_landscape_close(struct nmll_landscape *l)
{
    if (!l)
        return;
    fop_free(l->fop);
    featmap_free(l->fm);
    free(l->y), free(l->X), free(l->scale), free(l->row);
    free(l);
}

/* Chooses the rows of the sample, evenly spaced, and copies their targets and row factors. */
static enum status take_rows(struct nmll_landscape *l, const struct nmll_landscape_rows *r,
                             struct err *err)
{
    const size_t all = r->rows->n;

    l->row = mem_calloc(l->n + 1, sizeof *l->row, "rows", err);
    l->y = l->row ? mem_calloc(l->t * l->n, sizeof *l->y, "targets", err) : NULL;
    l->scale = l->y && r->row_scale ? mem_calloc(l->n, sizeof *l->scale, "weights", err) : NULL;
    if (!l->y || (r->row_scale && !l->scale))
        return ST_NOMEM;
    for (size_t i = 0; i < l->n; i++)
        l->row[i] = (size_t)((double)i * (double)all / (double)l->n);
    source_subset_init(&l->src, r->rows, l->row, l->n);
    for (size_t i = 0; i < l->n; i++) {
        const double s = l->scale ? l->scale[i] = r->row_scale[l->row[i]] : 1;
        l->log_scale += log(s);
        for (size_t j = 0; j < l->t; j++)
            l->y[j * l->n + i] = s * r->y[j * all + l->row[i]];
    }
    l->src.base.row_scale = l->scale;
    return ST_OK;
}

/* The inputs of the exact kernel, or the feature operator, over the sample. */
static enum status open_matrix(struct nmll_landscape *l, struct err *err)
{
    const struct nmll_landscape_opts *o = &l->o;

    if (o->exact) {
        l->X = exact_inputs(&l->src.base, err);
        return l->X ? ST_OK : err_status(err);
    }
    const struct fop_opts fo = { .pool = o->pool, .precision = o->precision,
                                 .row_scale = l->scale };
    l->fm = featmap_new(o->kernel, l->src.base.d, o->features, o->seed, err);
    if (l->fm == NULL && kernel_draws_none(o->kernel))
        err_hint(err, "without features= and nmll=approx the exact kernel is computed");
    l->fop = l->fm ? fop_new(o->backend, l->fm, &l->src.base, &fo, err) : NULL;
    return l->fop ? ST_OK : err_status(err);
}

struct nmll_landscape *nmll_landscape_open(const struct nmll_landscape_opts *o,
                                           const struct nmll_landscape_rows *r, size_t n,
                                           struct err *err)
{
    struct nmll_landscape *l = mem_calloc(1, sizeof *l, "a landscape", err);

    if (!l)
        return NULL;
    l->o = *o;
    l->n = n;
    l->t = r->t;
    if (take_rows(l, r, err) == ST_OK && open_matrix(l, err) == ST_OK)
        return l;
    nmll_landscape_close(l);
    return NULL;
}

static struct exact_rows rows_of(const struct nmll_landscape *l, const double *hp)
{
    return (struct exact_rows){ .k = l->o.kernel, .hp = hp, .X = l->X, .n = l->n,
                                .d = l->src.base.d, .row_scale = l->scale, .pool = l->o.pool };
}

/* K <- K1 (n x n) at hp, b <- the targets (t x n), yty <- y'y of each. */
static enum status exact_system(struct nmll_landscape *l, const double *hp, double *K, double *b,
                                double *yty, const struct ctl *ctl, struct err *err)
{
    const struct exact_rows rows = rows_of(l, hp);

    memcpy(b, l->y, l->t * l->n * sizeof *b);
    for (size_t j = 0; j < l->t; j++)
        yty[j] = blas_ddot(l->n, l->y + j * l->n, l->y + j * l->n);
    return exact_matrix(&rows, 0, K, ctl, err);
}

enum status nmll_landscape_at(struct nmll_landscape *l, const double *hp, struct nmll_eig *out,
                              const struct ctl *ctl, struct err *err)
{
    const size_t M = l->o.exact ? l->n : fop_cols(l->fop);
    double *G = mem_aligned(M * M, sizeof *G, "a Gram matrix", err);
    double *b = G ? mem_calloc(l->t * (M + 1), sizeof *b, "a right-hand side", err) : NULL;
    double *yty = b ? b + l->t * M : NULL;
    enum status rc = b ? ST_OK : ST_NOMEM;

    if (rc == ST_OK && l->o.exact) {
        rc = exact_system(l, hp, G, b, yty, ctl, err);
    } else if (rc == ST_OK) {
        rc = fop_set(l->fop, hp, err);
        if (rc == ST_OK)
            rc = fop_gram_of(l->fop, l->t, l->y, G, b, yty, ctl, err);
    }
    if (rc == ST_OK && ctl_stopped(ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    const struct nmll_system system = { .n = l->n, .M = M, .t = l->t, .G = G, .b = b, .yty = yty,
                                        .dual = l->o.exact };
    if (rc == ST_OK)
        rc = nmll_eig_make(l->o.pool, &system, false, out, err);
    free(G), free(b);
    return rc;
}

double nmll_landscape_best(const struct nmll_landscape *l, const struct nmll_eig *q,
                           const struct nmll_bounds *within)
{
    double a[TARGETS_MOST], w[TARGETS_MOST];

    return nmll_eig_best(q, within, a, w) - (double)l->t * l->log_scale;
}

/* At a fixed ratio of noise and amplitude the NMLL at amplitude b is C + n log b + Q / (2 b^2)
 * (share/doc/methods.md 6.2).  With f = Q / (2 b^2), the fit, the value at 2 b is larger by
 * n log 2 - 3 f / 4, which gives f. */
struct nmll_parts nmll_landscape_parts(const struct nmll_landscape *l, const struct nmll_eig *q,
                                       double amplitude, double noise)
{
    const double n = (double)l->n, constant = 0.5 * n * log(2 * M_PI);
    const double one = nmll_eig_at(q, amplitude, noise);
    const double two = nmll_eig_at(q, 2 * amplitude, 2 * noise);
    struct nmll_parts p = { .fit = (n * log(2) - (two - one)) * 4 / 3,
                            .value = one - l->log_scale };

    p.complexity = p.value - p.fit - constant;
    return p;
}

enum status nmll_landscape_probe(struct nmll_landscape *l, const struct nmll_landscape_point *at,
                                 const struct nmll_slq_opts *so, double *value, double *se,
                                 const struct ctl *ctl, struct err *err)
{
    const double amplitude = at->amplitude, noise = at->noise;
    const struct nmll_bounds within = { { amplitude, amplitude }, { noise, noise } };
    const struct nmll_ask ask = { .t = l->t, .y = l->y,
                                  .hp = at->hp, .nhp = kernel_nhp(l->o.kernel),
                                  .scale = l->t > 1 ? NMLL_RATIO : NMLL_GIVEN,
                                  .amplitude = amplitude, .noise = noise,
                                  .ratio = noise * noise / (amplitude * amplitude),
                                  .within = &within };
    double a[TARGETS_MOST], w[TARGETS_MOST];
    const struct nmll_told told = { .value = value, .se = se, .amplitude = a, .noise = w };
    const struct exact_rows rows = rows_of(l, at->hp);
    enum status rc = l->o.exact ? nmll_slq_exact(l->o.backend, &rows, l->o.store, &ask, so, &told,
                                                 ctl, err)
                                : nmll_slq(l->fop, &ask, so, &told, ctl, err);

    if (rc == ST_OK)
        *value -= (double)l->t * l->log_scale;
    if (rc == ST_NOT_PD || rc == ST_RANGE) {
        *value = NAN;
        rc = ST_OK;
    }
    return rc;
}
