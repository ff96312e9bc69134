/* compute/inducing/select.c -- what the ways to choose inducing points share. */
#include "compute/inducing/select.h"

#include "base/mem.h"
#include "compute/inducing/basis.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t select_count(const struct select_opts *o, size_t n)
{
    return o->m < n ? o->m : n;
}

size_t select_part(const struct row_layout *l, const double *row, size_t p)
{
    return l->nparts > 1 ? (size_t)row[l->flat + p] : l->flat;
}

double select_param(const struct select_job *job, size_t i)
{
    const double given = job->o->params[i];

    return given != 0.0 ? given : job->o->ops->params[i].init;
}

size_t select_steps(const struct select_job *job, size_t i)
{
    const double v = select_param(job, i);

    return (size_t)(v < 0.0 ? ceil(-v * (double)select_count(job->o, job->rows->n)) : v);
}

/* Points. */

enum status select_points_new(size_t m, size_t d, struct select_points *p, struct err *err)
{
    *p = (struct select_points){ .m = m };
    p->Z = mem_calloc(m, d * sizeof *p->Z, "the inducing points", err);
    p->origin = p->Z ? mem_calloc(m, sizeof *p->origin, "the inducing points", err) : NULL;
    if (p->origin)
        return ST_OK;
    select_points_free(p);
    return ST_NOMEM;
}

void select_points_free(struct select_points *p)
{
    free(p->Z);
    free(p->origin);
    *p = (struct select_points){ 0 };
}

void select_take(const struct select_job *job, size_t i, size_t row)
{
    const size_t d = job->rows->d;

    memcpy(job->out->Z + i * d, job->rows->X + row * d, d * sizeof(double));
    job->out->origin[i] = (double)row;
}

void select_put(const struct select_job *job, size_t i, const double *z)
{
    memcpy(job->out->Z + i * job->rows->d, z, job->rows->d * sizeof *z);
    job->out->origin[i] = -1.0;
}

enum status select_basis(const struct select_job *job, size_t most, bool span, struct basis *b,
                         struct err *err)
{
    const struct basis_of of = { .rows = job->rows, .y = span ? NULL : job->y,
                                 .amplitude = job->amplitude, .t = job->t, .ratio = job->ratio,
                                 .bound = job->o->approx != BOUND_DTC };

    return basis_new(&of, most, b, err);
}

/* A row that cannot be told from the others would make K_zz singular; among few distinct rows the
 * search for another one ends. */
enum status select_fill(struct select_job *job, struct basis *span, size_t have, struct err *err)
{
    enum { IN_VAIN = 1000 };
    const size_t n = job->rows->n, d = job->rows->d, m = job->out->m;
    size_t *order = mem_calloc(n, sizeof *order, "an order of rows", err), vain = 0;
    struct basis_try *t = order ? basis_try_new(span, 1, err) : NULL;
    enum status rc = t ? ST_OK : ST_NOMEM;

    if (rc == ST_OK)
        rng_permutation(job->seed, rng_stream(RNG_INDUCING, 0), n, order);
    for (size_t i = 0; rc == ST_OK && i < n && have < m && vain < IN_VAIN + 10 * m; i++) {
        const double *x = job->rows->X + order[i] * d;
        bool there = false;
        for (size_t j = 0; j < have && !there; j++)
            there = job->out->origin[j] == (double)order[i];
        if (there)
            continue;
        rc = basis_tries(span, 1, x, t, err);
        if (rc == ST_OK && t->spanned) {
            vain++;
            continue;
        }
        if (rc == ST_OK) {
            basis_add(span, x, t);
            select_take(job, have++, order[i]);
        }
    }
    job->out->skipped += vain;
    job->out->m = have;
    basis_try_free(t);
    free(order);
    if (rc == ST_OK && have == 0)
        rc = err_set(err, ST_RANGE,
                     "the kernel of every training row with itself is 0: there is nothing to keep");
    return rc;
}

void select_tick(const struct select_job *job, size_t done, size_t total, double value, double best,
                 double accepted)
{
    ctl_tick(job->ctl, &(struct tick){ .phase = PHASE_INDUCING, .done = done, .total = total,
                                       .value = value, .value2 = best, .target = NAN,
                                       .passes = accepted,
                                       .method = phase_word(PHASE_INDUCING) });
}
