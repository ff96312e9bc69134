/* compute/solvers/dual_there.c -- steps of a dual descent on the device that makes the products
 * (dual.h; backend.h, struct backend_descent).  Iterate, velocity and average stay there from step
 * to step and are copied back where the course of the descent needs them.
 *
 * Whatever fails there, the descent goes on here from the last copy: the steps since then, with
 * their estimates, are made once more, with the same batches. */
#include "compute/solvers/dual.h"

#include "base/mem.h"
#include "compute/backend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_MOST = 1024, COASTS_MOST = 16384 }; /* steps of a run; in the table of coasts */
static const double STANDS_STILL = 1e-15;      /* a velocity at the end of the table */

struct dual_there {
    void *at;
    bool ahead;     /* the device has made steps since the last copy, */
    struct dual was; /* when this was the descent: its counters */
    double *kept;   /* and these its estimates: run and least */
    size_t *draws;  /* batches of a run */
    double *square; /* and the sums of their squares */
};

static void keep(struct dual *d)
{
    struct dual_there *s = d->there;

    s->was = *d;
    memcpy(s->kept, d->run, d->k * sizeof *s->kept);
    memcpy(s->kept + d->k, d->least, d->k * sizeof *s->kept);
    s->ahead = false;
}

void dual_there_close(struct dual *d)
{
    struct dual_there *s = d->there;

    if (s == NULL)
        return;
    if (s->at)
        d->A->descent->close(s->at);
    free(s->kept);
    free(s->draws);
    free(s->square);
    free(s);
    d->there = NULL;
}

/* Goes back to the last copy and stays here. */
static void lose(struct dual *d)
{
    const struct dual_there *s = d->there;

    if (s->ahead) {
        d->it = s->was.it;
        d->since = s->was.since;
        d->near = s->was.near;
        d->passes = s->was.passes;
        d->walked = s->was.walked;
        d->path.t = s->was.path.t;
        memcpy(d->run, s->kept, d->k * sizeof *d->run);
        memcpy(d->least, s->kept + d->k, d->k * sizeof *d->least);
    }
    dual_there_close(d);
}

void dual_there_put(struct dual *d)
{
    const struct dual_path *p = &d->path;
    struct err quiet = { 0 };

    if (d->there == NULL)
        return;
    keep(d);
    if (d->A->descent->put(d->there->at, p->t, p->w, p->v, p->a, p->last, &quiet) != ST_OK)
        lose(d);
}

void dual_there_get(struct dual *d)
{
    struct dual_path *p = &d->path;
    struct err quiet = { 0 };

    if (d->there == NULL || !d->there->ahead)
        return;
    if (d->A->descent->get(d->there->at, p->w, p->v, p->a, p->last, &quiet) == ST_OK)
        keep(d);
    else
        lose(d);
}

/* The table of coasts, as far as velocities live; *coasts its length. */
static double *table(const struct dual_path *p, size_t *coasts)
{
    const double far = p->rho > 0.0 ? ceil(log(STANDS_STILL) / log(p->rho)) : 1.0;
    double *f = far < COASTS_MOST - 2 ? mem_calloc((size_t)far + 2, 4 * sizeof *f, "coasts", NULL)
                                      : NULL;

    *coasts = (size_t)far + 2;
    for (size_t m = 0; f && m < *coasts; m++)
        dual_path_coast(p, m, f + 4 * m);
    return f;
}

void dual_there_open(struct dual *d)
{
    const struct backend_descent *ops = d->A->descent;
    struct dual_there *s = ops && d->how->batches && d->average != DUAL_ARITHMETIC
                               ? mem_calloc(1, sizeof *s, "a descent", NULL) : NULL;
    struct err quiet = { 0 };
    size_t coasts;

    if (s == NULL)
        return;
    d->there = s;
    double *coast = table(&d->path, &coasts);
    s->kept = mem_calloc(2 * d->k, sizeof *s->kept, "a descent", NULL);
    s->draws = mem_calloc(RUN_MOST * d->m, sizeof *s->draws, "batches", NULL);
    s->square = mem_calloc(RUN_MOST * d->k, sizeof *s->square, "batches", NULL);
    if (coast && s->kept && s->draws && s->square)
        s->at = ops->open(d->A->there,
                          &(struct backend_path){ .k = d->k, .batch = d->m, .coasts = coasts,
                                                  .rho = d->path.rho,
                                                  .newest = d->average == DUAL_NONE ? 0.0
                                                                                    : d->path.r,
                                                  .lam2 = d->A->lam2, .averaged = d->path.a != NULL,
                                                  .coast = coast, .row = d->A->row, .B = d->B },
                          &quiet);
    free(coast);
    if (s->at)
        dual_there_put(d);
    else
        dual_there_close(d);
}

enum status dual_there_run(struct dual *d, size_t most, const double **square, size_t *done)
{
    struct dual_there *s = d->there;
    const size_t steps = most < RUN_MOST ? most : RUN_MOST, it = d->it;
    struct err quiet = { 0 };

    *square = s->square;
    for (size_t j = 0; j < steps; j++, d->it++)
        dual_draw(d, d->m, s->draws + j * d->m);
    d->it = it;
    s->ahead = true;
    const enum status rc = d->A->descent->run(s->at, steps, s->draws,
                                              d->step * d->limit / d->unit, s->square, done,
                                              d->ctl, &quiet);
    if (rc == ST_OK)
        return ST_OK;
    *done = 0;
    if (rc == ST_CANCELLED) {
        *d->err = quiet;
        return rc;
    }
    lose(d);
    return ST_OK;
}
