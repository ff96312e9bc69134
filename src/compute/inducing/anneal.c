/* compute/inducing/anneal.c -- inducing points by simulated annealing of the variational bound
 * (share/doc/methods.md 22.8): a random point changes one random letter into another letter of the
 * alphabet, or where rows hold no letters it moves to another training row.  The loss is minus the
 * bound; a change dE > 0 is accepted with probability exp(-dE / T), T = T0 q^step.  T0 is the mean
 * |dE| of 50 random changes of the start, and q such that T ends at T0 / 1000.  The best set of all
 * is kept.  A step costs O(n m + m^2) (basis.h). */
#include "compute/inducing/basis.h"
#include "compute/inducing/select.h"

#include "base/mem.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 50, DRAWS = 4 };

struct anneal {
    struct select_job *job;
    struct basis b;
    struct basis_try *t;
    double *z;            /* d: the proposal */
    double *origin;       /* of each place: its row, or -1 */
    struct select_points kept; /* the best set, with room for one more point */
    double best;
    double from;          /* the origin of the proposal */
    size_t m, moved, since; /* accepted; since the last refresh */
};

static uint64_t draw(const struct anneal *a, size_t i, size_t which, uint64_t below)
{
    return rng_below(a->job->seed, rng_stream(RNG_INDUCING, 0xa0000000u), DRAWS * i + which, below);
}

/* The letters of the alphabet, which has two or more; 0: the part does not change. */
static size_t alphabet_of(const struct row_part *p)
{
    const size_t letters = p->rows == ROWS_SYMBOLS ? p->channels - p->others : 0;

    return letters > 1 ? letters : 0;
}

/* The letters of a row's parts that can change. */
static size_t letters_of(const struct row_layout *l, const double *row)
{
    size_t n = 0;

    for (size_t p = 0; p < l->nparts; p++)
        if (alphabet_of(&l->part[p]) > 0)
            n += (size_t)row[select_part(l, row, p)];
    return n;
}

/* Letter k of them, and the letters of its alphabet. */
static double *letter_at(const struct row_layout *l, double *row, size_t k, size_t *letters)
{
    for (size_t p = 0; p < l->nparts; p++) {
        double *part = row + select_part(l, row, p);
        *letters = alphabet_of(&l->part[p]);
        if (*letters == 0)
            continue;
        if (k < (size_t)part[0])
            return part + 1 + k;
        k -= (size_t)part[0];
    }
    return NULL;
}

/* True if two rows agree in all that has a meaning. */
static bool same_row(const struct row_layout *l, size_t d, const double *x, const double *z)
{
    if (memcmp(x, z, (l->nparts ? row_layout_head(l) : d) * sizeof *x) != 0)
        return false;
    for (size_t p = 0; p < l->nparts; p++) {
        const double *a = x + select_part(l, x, p), *b = z + select_part(l, z, p);
        const size_t each = l->part[p].rows == ROWS_SYMBOLS ? 1 : l->part[p].channels;
        if (a[0] != b[0] || memcmp(a, b, (1 + (size_t)a[0] * each) * sizeof *a) != 0)
            return false;
    }
    return true;
}

/* The row that a point of letters equals; -1: none. */
static double row_like(const struct select_job *job, const double *z)
{
    const size_t d = job->rows->d;

    for (size_t i = 0; i < job->rows->n; i++)
        if (same_row(&job->src->layout, d, job->rows->X + i * d, z))
            return (double)i;
    return -1.0;
}

/* Makes the proposal of step i for a place. */
static void propose(struct anneal *a, size_t i, size_t place)
{
    const struct row_layout *l = &a->job->src->layout;
    const size_t d = a->job->rows->d, n = a->job->rows->n;

    memcpy(a->z, basis_point(&a->b, place), d * sizeof *a->z);
    const size_t length = letters_of(l, a->z);
    if (length > 0) {
        size_t all;
        double *letter = letter_at(l, a->z, (size_t)draw(a, i, 1, length), &all);
        const size_t others = *letter < (double)all ? all - 1 : all;
        const double other = (double)draw(a, i, 2, others);
        *letter = other < *letter ? other : other + 1.0;
        a->from = -2.0; /* not known yet */
        return;
    }
    const size_t row = (size_t)draw(a, i, 1, n);
    memcpy(a->z, a->job->rows->X + row * d, d * sizeof *a->z);
    a->from = (double)row;
}

static void keep_best(struct anneal *a)
{
    const size_t d = a->job->rows->d;

    if (!(a->b.value < a->best))
        return;
    a->best = a->b.value;
    for (size_t k = 0; k < a->b.m; k++)
        memcpy(a->kept.Z + k * d, basis_point(&a->b, k), d * sizeof *a->z);
    memcpy(a->kept.origin, a->origin, a->b.m * sizeof *a->origin);
}

/* The proposal takes the place. */
static enum status accept(struct anneal *a, size_t place, struct err *err)
{
    struct basis *b = &a->b;
    const size_t d = a->job->rows->d;
    double *old = a->kept.Z + a->m * d;
    const double was = a->origin[place];

    memcpy(old, basis_point(b, place), d * sizeof *old);
    basis_remove(b, place);
    memmove(a->origin + place, a->origin + place + 1, (b->m - place) * sizeof *a->origin);
    enum status rc = basis_tries(b, 1, a->z, a->t, err);
    const bool back = rc == ST_OK && a->t->spanned; /* by rounding: the old one comes back */
    if (back)
        rc = basis_tries(b, 1, old, a->t, err);
    if (rc != ST_OK)
        return rc;
    basis_add(b, back ? old : a->z, a->t);
    a->origin[b->m - 1] = back ? was : a->from;
    a->moved += !back;
    if (++a->since == 4 * a->m) { /* the inverse has lost digits */
        a->since = 0;
        rc = basis_refresh(b, err);
    }
    keep_best(a);
    return rc;
}

/* The mean change of 50 random exchanges; 1 where none has a value. */
static enum status first_temperature(struct anneal *a, double *T, struct err *err)
{
    double sum = 0.0;
    size_t some = 0;
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < TRIALS; i++) {
        const size_t place = (size_t)draw(a, i, 0, a->b.m);
        propose(a, i, place);
        rc = basis_exchange(&a->b, place, a->z, a->t, err);
        if (rc == ST_OK && isfinite(a->t->value)) {
            sum += fabs(a->t->value - a->b.value);
            some++;
        }
    }
    *T = sum > 0.0 ? sum / (double)some : 1.0;
    return rc;
}

static enum status run_anneal(struct anneal *a, struct err *err)
{
    const size_t steps = select_steps(a->job, 0), each = a->b.m;
    const uint64_t chance = rng_stream(RNG_INDUCING, 0xa0000001u);
    double T;
    enum status rc = first_temperature(a, &T, err);
    const double q = pow(1e-3, 1.0 / (double)(steps ? steps : 1));

    for (size_t i = 0; rc == ST_OK && i < steps; i++, T *= q) {
        const size_t place = (size_t)draw(a, TRIALS + i, 0, a->b.m);
        propose(a, TRIALS + i, place);
        rc = basis_exchange(&a->b, place, a->z, a->t, err);
        const double dE = a->t->value - a->b.value;
        if (rc == ST_OK && isfinite(dE) &&
            (dE <= 0.0 || rng_uniform(a->job->seed, chance, i) < exp(-dE / T)))
            rc = accept(a, place, err);
        if (rc == ST_OK && ((i + 1) % each == 0 || i + 1 == steps)) {
            select_tick(a->job, i + 1, steps, -a->b.value, -a->best,
                        (double)a->moved / (double)(i + 1));
            if ((a->job->stopped = ctl_stopped(a->job->ctl)))
                break;
        }
    }
    return rc;
}

/* Random rows are the start. */
static enum status start(struct anneal *a, struct err *err)
{
    struct select_job *job = a->job;
    struct basis span;
    enum status rc = select_basis(job, a->m, true, &span, err);

    if (rc != ST_OK)
        return rc;
    rc = select_fill(job, &span, 0, err);
    basis_free(&span);
    a->m = rc == ST_OK ? job->out->m : a->m;
    for (size_t k = 0; rc == ST_OK && k < a->m; k++) {
        const double *z = job->out->Z + k * job->rows->d;
        rc = basis_tries(&a->b, 1, z, a->t, err);
        if (rc != ST_OK || a->t->spanned)
            continue;
        a->origin[a->b.m] = job->out->origin[k];
        basis_add(&a->b, z, a->t);
    }
    keep_best(a);
    return rc;
}

static enum status anneal_choose(struct select_job *job, struct err *err)
{
    const size_t m = job->out->m, d = job->rows->d;
    struct anneal a = { .job = job, .m = m, .best = INFINITY };
    const struct basis_of of = { .rows = job->rows, .y = job->y, .amplitude = job->amplitude,
                                 .t = job->t, .ratio = job->ratio, .bound = true };
    enum status rc = basis_new(&of, m, &a.b, err);

    if (rc != ST_OK)
        return rc;
    a.t = basis_try_new(&a.b, 1, err);
    a.z = a.t ? mem_calloc(d, sizeof *a.z, "the annealing", err) : NULL;
    a.origin = a.z ? mem_calloc(m, sizeof *a.origin, "the annealing", err) : NULL;
    rc = a.origin ? select_points_new(m + 1, d, &a.kept, err) : ST_NOMEM;
    if (rc == ST_OK)
        rc = start(&a, err);
    if (rc == ST_OK && a.b.m > 0)
        rc = run_anneal(&a, err);
    job->out->m = a.b.m;
    for (size_t k = 0; rc == ST_OK && k < a.b.m; k++) {
        const double *z = a.kept.Z + k * d, from = a.kept.origin[k];
        const double row = from == -2.0 ? row_like(job, z) : from;
        select_put(job, k, z);
        job->out->origin[k] = row;
    }
    select_points_free(&a.kept);
    free(a.origin);
    free(a.z);
    basis_try_free(a.t);
    basis_free(&a.b);
    return rc;
}

static const struct solver_param params[] = {
    { .name = "steps", .lo = 1, .hi = 1e9, .init = -20, .whole = true, .each = true,
      .help = "changes that are tried: a number, or 20m for 20 of each point" },
    { .name = NULL },
};

const struct select_ops anneal_select = {
    .name = "anneal",
    .help = "change one letter of a random point (of vectors and molecules: to another row) at a "
            "falling temperature",
    .judged = true,
    .params = params,
    .choose = anneal_choose,
};
