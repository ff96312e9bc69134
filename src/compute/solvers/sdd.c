/* compute/solvers/sdd.c -- stochastic dual descent (Lin, Padhy, Antoran and others, ICLR 2024,
 * algorithm 1; share/doc/methods.md 9.10): momentum steps on random coordinates of the dual
 * objective a'A a / 2 - a'b, A = G + lam2 I (n x n), whose gradient in coordinate i takes row i of
 * the kernel alone.  The error of a batch vanishes with the residual, so that the steps need not
 * become shorter.
 *
 * Two other estimates of the gradient, for comparison, have errors that do not vanish: G a from
 * random features drawn anew in each step, and from random coordinates of it, with lam2 a - b taken
 * as a whole (the paper's Figure 2). */
#include "compute/solvers/solver.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/rng.h"
#include "compute/solvers/dual.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH, MOMENTUM, STEP, AVERAGE, NOISE };
enum { BY_COORDINATES = 1, BY_FEATURES, BY_PRODUCT, STREAM_SKETCH = 0x7ffffffc };

static const struct solver_param sdd_params[] = {
    { "batch", 1, 1e6, 512, true, .help = "rows of a step, drawn with replacement" },
    { "momentum", 0, 0.99, 0.9, false, .help = "Nesterov's momentum; auto: more where that pays",
      .zero = true },
    { "step", 1e-6, 1e3, 0.8, false, .help = "length of a step, in longest stable ones" },
    { "average", 1, 3, 1, true, .help = "the mean that is returned (arithmetic: of the last 30 %)",
      .words = DUAL_AVERAGES },
    { "noise", 1, 3, 1, true, .help = "what is random in a gradient: for comparison, features or "
                                      "the product alone",
      .words = "coordinates,features,product" },
    { .name = NULL },
};

struct sdd {
    size_t *at; /* the batch, where the gradient has all coordinates, */
    double *W;  /* and its rows of G u (batch x k) */
};

static enum status begin(struct dual *d)
{
    double most;
    const enum status rc = dual_diagonal(d, &most);

    d->m = d->batch = d->batch < d->n ? d->batch : d->n;
    d->cost = (double)d->m / (double)d->n;
    const double top = d->lambda1 + d->A->lam2, noise = (most + d->A->lam2) / (double)d->m;
    if (d->free_momentum)
        d->momentum = dual_momentum(d, top, noise);
    d->limit = dual_limit(d, top, noise);
    d->unit = (double)d->m; /* length n / B of the gradient, n beta / n of the step */
    d->at = rc == ST_OK ? mem_calloc(d->m, sizeof *d->at, "a batch", d->err) : NULL;
    return rc == ST_OK && !d->at ? ST_NOMEM : rc;
}

/* The same limit for an estimate that has all coordinates. */
static enum status begin_whole(struct dual *d)
{
    struct sdd *s = d->own;
    const enum status rc = begin(d);

    s->at = d->at;
    d->at = NULL;
    d->m = d->n;
    d->unit = (double)d->n;
    s->W = rc == ST_OK ? mem_calloc(d->batch, d->k * sizeof *s->W, "a batch", d->err) : NULL;
    return rc == ST_OK && !s->W ? ST_NOMEM : rc;
}

/* E = A u - b at the batch, whose squares are n / B of those of all rows. */
static enum status gradient(struct dual *d)
{
    const size_t n = d->n, m = d->m;

    dual_draw(d, m, d->at);
    const enum status rc = d->A->rows(d->A->ctx, m, d->at, d->k, d->u, d->E, d->ctl, d->err);
    for (size_t c = 0; rc == ST_OK && c < d->k; c++) {
        double sum = 0.0;
        for (size_t j = 0; j < m; j++) {
            const size_t i = d->at[j];
            double *e = &d->E[c * m + j];
            *e += d->A->lam2 * d->u[c * n + i] - d->B[c * n + i];
            sum += *e * *e;
        }
        d->square[c] = sum * (double)n / (double)m;
    }
    return rc;
}

/* E += lam2 u - b. */
static void add_rest(struct dual *d)
{
    for (size_t i = 0; i < d->k * d->n; i++)
        d->E[i] += d->A->lam2 * d->u[i] - d->B[i];
}

/* E = F F'u + lam2 u - b with as many features as a batch has rows. */
static enum status gradient_features(struct dual *d)
{
    const size_t n = d->n;
    const uint64_t draw = rng_u64(d->seed, rng_stream(RNG_BATCH, STREAM_SKETCH), d->it);
    const enum status rc =
        d->A->sketch(d->A->ctx, d->batch, draw, d->k, d->u, d->E, d->ctl, d->err);

    add_rest(d);
    for (size_t c = 0; c < d->k; c++)
        d->square[c] = blas_ddot(n, d->E + c * n, d->E + c * n);
    return rc;
}

/* E = n / B sum e_i (G u)_i + lam2 u - b over a batch. */
static enum status gradient_product(struct dual *d)
{
    struct sdd *s = d->own;
    const size_t n = d->n, m = d->batch;
    const double share = (double)n / (double)m;

    dual_draw(d, m, s->at);
    const enum status rc = d->A->rows(d->A->ctx, m, s->at, d->k, d->u, s->W, d->ctl, d->err);
    memset(d->E, 0, d->k * n * sizeof *d->E);
    for (size_t c = 0; rc == ST_OK && c < d->k; c++) {
        d->square[c] = 0.0;
        for (size_t j = 0; j < m; j++) {
            const size_t i = c * n + s->at[j];
            const double e = s->W[c * m + j] + d->A->lam2 * d->u[i] - d->B[i];
            d->E[i] += share * s->W[c * m + j];
            d->square[c] += share * e * e;
        }
    }
    add_rest(d);
    return rc;
}

static const struct dual_method methods[] = {
    { .name = "sdd", .code = 1, .begin = begin, .gradient = gradient, .sampled = true,
      .batches = true },
    { .name = "sdd", .code = 5, .begin = begin_whole, .gradient = gradient_features,
      .sampled = true },
    { .name = "sdd", .code = 6, .begin = begin_whole, .gradient = gradient_product,
      .sampled = true },
};

static enum status sdd_solve(const struct linop *A, size_t k, const double *B, double *X,
                             const struct solve_opts *o, const struct ctl *ctl,
                             struct solve_info *info, struct err *err)
{
    const size_t noise = (size_t)solve_param(sdd_params, o, NOISE);
    struct sdd s = { NULL };
    struct dual d = { .how = &methods[noise - 1], .A = A, .k = k, .B = B, .o = o, .ctl = ctl,
                      .info = info, .err = err, .batch = (size_t)solve_param(sdd_params, o, BATCH),
                      .momentum = solve_param(sdd_params, o, MOMENTUM),
                      .free_momentum = noise == BY_COORDINATES &&
                                       (!o->params || o->params[MOMENTUM] == 0.0),
                      .step = solve_param(sdd_params, o, STEP), .own = &s,
                      .average = (enum dual_average)solve_param(sdd_params, o, AVERAGE) };
    enum status rc = solve_suits(&sdd_solver, A, err);

    if (rc == ST_OK && noise == BY_FEATURES && !A->sketch) {
        rc = err_set(err, ST_UNSUPPORTED, "noise=features needs random features of the kernel");
        err_hint(err, "fit model=exact solver=sdd(noise=product)");
    }
    if (rc == ST_OK)
        rc = dual_run(&d, X);
    free(s.at);
    free(s.W);
    return rc;
}

const struct solver_ops sdd_solver = {
    .name = "sdd", .title = "Stochastic dual descent",
    .help = "Lin and others 2024: exact kernels of many rows; good predictions long before a small "
            "residual",
    .iterative = true, .stochastic = true, .dual = true, .coarse = true, .params = sdd_params,
    .solve = sdd_solve,
};
