/* compute/inducing/dpp.c -- inducing points as a draw of a determinantal point process: sets of m
 * training rows with probability proportional to det K_S, by a chain of exchanges (Kulesza & Taskar
 * 2012; Anari, Oveis Gharan & Rezaei 2016).  With probability 1/2 a step does nothing; otherwise a
 * random point and a random row outside change places with probability
 * min(1, det K_(S-i+j) / det K_S), the ratio of their distances from the span of the others, which
 * the coordinates of basis.h give in O(m^2). */
#include "compute/inducing/basis.h"
#include "compute/inducing/select.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The distance of a point from the span of the others, squared: 1 over the entry of K_zz^-1. */
static double alone(const struct basis *b, size_t place, double *work)
{
    memset(work, 0, b->m * sizeof *work);
    work[place] = 1.0;
    if (blas_dtrsm(NULL, false, b->m, 1, b->L, b->most, work, b->most, NULL) != ST_OK)
        return NAN;
    return 1.0 / blas_ddot(b->m, work, work);
}

struct chain {
    struct select_job *job;
    struct basis b;
    struct basis_try *t;
    size_t *row;   /* the row of each place */
    bool *inside;  /* n */
    double *work;
    size_t moved;
};

static enum status step(struct chain *c, size_t i, struct err *err)
{
    const uint64_t seed = c->job->seed, stream = rng_stream(RNG_INDUCING, 0xd0000000u);
    const size_t n = c->job->rows->n, m = c->b.m;
    const double *X = c->job->rows->X;

    if (rng_uniform(seed, stream, 4 * i) < 0.5)
        return ST_OK;
    const size_t place = (size_t)rng_below(seed, stream, 4 * i + 1, m);
    const size_t other = (size_t)rng_below(seed, stream, 4 * i + 2, n);
    if (c->inside[other]) /* the proposal is symmetric with such steps, too */
        return ST_OK;
    const double *z = X + other * c->job->rows->d, now = alone(&c->b, place, c->work);
    enum status rc = basis_exchange(&c->b, place, z, c->t, err);
    if (rc != ST_OK || c->t->spanned ||
        !(rng_uniform(seed, stream, 4 * i + 3) < c->t->d / now))
        return rc;
    const size_t out = c->row[place];
    basis_remove(&c->b, place);
    memmove(c->row + place, c->row + place + 1, (m - 1 - place) * sizeof *c->row);
    rc = basis_tries(&c->b, 1, z, c->t, err);
    if (rc != ST_OK)
        return rc;
    const bool spanned = c->t->spanned; /* rounding: the old one comes back */
    const size_t in = spanned ? out : other;
    if (spanned)
        rc = basis_tries(&c->b, 1, X + out * c->job->rows->d, c->t, err);
    if (rc == ST_OK)
        basis_add(&c->b, X + in * c->job->rows->d, c->t);
    c->row[m - 1] = in;
    c->inside[out] = spanned;
    c->inside[other] = !spanned;
    c->moved += !spanned;
    return rc;
}

static enum status run_chain(struct chain *c, struct err *err)
{
    struct select_job *job = c->job;
    const double given = select_param(job, 0), n = (double)job->rows->n;
    const double most = 2e5, usual = fmin(n * (double)job->out->m, most);
    const size_t steps = given == 0.0 ? (size_t)usual : select_steps(job, 0);
    const size_t each = c->b.m ? c->b.m : 1;
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < steps && c->b.m < job->rows->n; i++) {
        rc = step(c, i, err);
        if (rc == ST_OK && (i + 1) % (256 * each) == 0)
            rc = basis_refresh(&c->b, err);
        if (rc == ST_OK && (i + 1) % each == 0) {
            select_tick(job, i + 1, steps, NAN, NAN, (double)c->moved / (double)(i + 1));
            if ((job->stopped = ctl_stopped(job->ctl)))
                break;
        }
    }
    return rc;
}

static enum status dpp_choose(struct select_job *job, struct err *err)
{
    const size_t n = job->rows->n;
    struct chain c = { .job = job };
    enum status rc = select_basis(job, job->out->m, true, &c.b, err);

    if (rc != ST_OK)
        return rc;
    rc = select_fill(job, &c.b, 0, err);
    c.t = rc == ST_OK ? basis_try_new(&c.b, 1, err) : NULL;
    c.row = c.t ? mem_calloc(c.b.m, sizeof *c.row, "the chain", err) : NULL;
    c.work = c.row ? mem_calloc(c.b.m, sizeof *c.work, "the chain", err) : NULL;
    c.inside = c.work ? mem_calloc(n, sizeof *c.inside, "the chain", err) : NULL;
    if (rc == ST_OK && c.inside == NULL)
        rc = ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < c.b.m; i++) {
        c.row[i] = (size_t)job->out->origin[i];
        c.inside[c.row[i]] = true;
    }
    if (rc == ST_OK)
        rc = run_chain(&c, err);
    for (size_t i = 0; rc == ST_OK && i < c.b.m; i++)
        select_take(job, i, c.row[i]);
    free(c.inside);
    free(c.work);
    free(c.row);
    basis_try_free(c.t);
    basis_free(&c.b);
    return rc;
}

static const struct solver_param params[] = {
    { .name = "steps", .lo = 1, .hi = 1e9, .whole = true, .each = true,
      .help = "exchanges that are tried: a number, or 20m for 20 of each point; rows times points, "
              "at most 200000, unless it is given" },
    { .name = NULL },
};

const struct select_ops dpp_select = {
    .name = "dpp",
    .help = "rows unlike one another, drawn with probability det K (a k-DPP, by exchanges)",
    .params = params,
    .choose = dpp_choose,
};
