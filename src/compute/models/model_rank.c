/* compute/models/model_rank.c -- the rank of a preconditioner, from evidence.
 *
 * The spectrum of Z'Z and the targets along it come from a sample of rows (spectrum.h).  How many
 * steps conjugate gradients take with a rank is then not bounded but tried: on a small diagonal
 * system with that spectrum, thinned out so that the rank is at most RANK_SMALL of it, the very
 * construction of the preconditioner is run and the very solver counts its iterations.  So the
 * directions that a sketch misses, a decay that lets the iteration converge faster than its
 * condition number says, and targets rougher than the model are all in it.
 *
 * Costs come from sizes (model_plan.c), not from clocks: the same data, the same rank. */
#include "compute/models/model_impl.h"

#include "base/mem.h"
#include "compute/preconds/precond.h"
#include "compute/rng.h"
#include "compute/stats/spectrum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANK_SMALL = 96,  /* a rank in the small system, */
    SPAN = 6,         /* times the rank: as far as that is evenly thinned out, */
    MODES_MOST = 1600, /* and its size */
    FINEST = 8,       /* times as fine, by doubling, where iterations come near its size: */
    ENOUGH = 6,       /* fewer than one in so many */
    BEYOND = 4,       /* times the iterations that are allowed: as far as they are counted */
};
static const double finest_most = 16e6;       /* its modes squared, or so: the work of a step */
static const double tail_width = 1.0 / 128.0; /* of their index: modes further down */

/* The small system. */

struct small { size_t n; double *lam, *b; double thin; bool cut; /* short of all eigenvalues */ };

/* Eigenvalues at evenly spaced indices, one for every `thin`, and what lies along them; `fine`
 * times as many as usual. */
static enum status small_new(const struct spectrum *s, size_t rank, int fine, struct small *out,
                             struct err *err)
{
    const double all = (double)(s->n < s->M ? s->n : s->M);
    double at = 0.0, left = 0.0; /* indices, and what is left of the group in hand */
    size_t g = 0;

    const size_t most = (size_t)fine * MODES_MOST;
    *out = (struct small){ .thin = fmax(1.0, (double)rank / (fine * RANK_SMALL)) };
    out->lam = mem_calloc(2 * most, sizeof *out->lam, "a small system", err);
    if (out->lam == NULL)
        return ST_NOMEM;
    out->b = out->lam + most;
    left = s->groups ? s->count[0] : 0.0;
    while (at < all - 0.5 && out->n < most) {
        double width = out->thin, b2 = 0.0;
        if (at >= SPAN * (double)rank)
            width = fmax(out->thin, at * tail_width / fine);
        width = fmin(width, all - at);
        out->lam[out->n] = spectrum_at(s, at + 0.5 * (width + 1.0));
        for (double want = width; want > 1e-9 && g < s->groups;) {
            const double part = fmin(want, left);
            b2 += s->b2[g] * part / s->count[g];
            want -= part;
            left -= part;
            if (!(left > 1e-9) && ++g < s->groups)
                left = s->count[g];
        }
        out->b[out->n++] = sqrt(b2);
        at += width;
    }
    out->cut = at < all - 0.5;
    return ST_OK;
}

struct diagonal { const double *lam; size_t n; double lam2; };

static enum status diagonal_apply(void *ctx, size_t k, const double *X, double *AX,
                                  const struct ctl *ctl, struct err *err)
{
    const struct diagonal *d = ctx;

    (void)ctl, (void)err;
    for (size_t c = 0; c < k; c++)
        for (size_t i = 0; i < d->n; i++)
            AX[c * d->n + i] = (d->lam[i] + d->lam2) * X[c * d->n + i];
    return ST_OK;
}

/* The construction of `passes` sketches on the small system. */
static enum status small_precond(const struct small *s, size_t rank, int passes, double lam2,
                                 struct precond **pre, struct err *err)
{
    const size_t n = s->n;
    size_t L = (size_t)lround((double)rank / s->thin);

    L = L < 1 ? 1 : L > n ? n : L;
    double *Omega = mem_calloc(n * L, sizeof *Omega, "a small system", err);
    if (Omega == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n * L; i++)
        Omega[i] = rng_normal(rank, rng_stream(RNG_SKETCH, 3), i);
    const enum status rc = nystrom_diagonal(n, s->lam, L, Omega, passes, NULL, pre, err);
    if (rc == ST_OK)
        precond_set_noise(*pre, lam2);
    free(Omega);
    return rc;
}

/* *modes 0: the system would be too large. */
static enum status small_iterations(const struct rank_system *q, size_t rank, int fine,
                                    size_t *modes, double *iterations, double *ratio,
                                    struct err *err)
{
    struct small s;
    struct precond *pre = NULL;
    struct solve_info info = { 0 };
    enum status rc = small_new(q->s, rank, fine, &s, err);
    const double L = (double)rank / s.thin;
    if (rc == ST_OK && fine > 1 && (s.cut || (double)s.n * ((double)s.n + L) > finest_most)) {
        free(s.lam);
        *modes = 0; /* too large: what was counted stands */
        return ST_OK;
    }
    double *x = rc == ST_OK ? mem_calloc(s.n, sizeof *x, "a small system", err) : NULL;

    if (rc == ST_OK && x == NULL)
        rc = ST_NOMEM;
    if (rc == ST_OK && rank > 0)
        rc = small_precond(&s, rank, q->passes, q->lam2, &pre, err);
    if (rc == ST_OK) {
        struct diagonal d = { s.lam, s.n, q->lam2 };
        const struct linop A = { .n = s.n, .apply = diagonal_apply, .ctx = &d };
        const struct solve_opts o = { .rtol = q->rtol, .maxit = q->maxit,
                                      .check_every = q->maxit + 1, .pre = pre };
        rc = cg_solve(&A, 1, s.b, x, &o, NULL, &info, err);
    }
    if (rc == ST_OK) {
        *iterations = info.why == OUT_RTOL ? (double)info.iterations : (double)q->maxit;
        *ratio = pre ? precond_ratio(pre) : NAN;
        *modes = s.n;
    }
    solve_info_free(&info);
    precond_free(pre);
    free(x);
    free(s.lam);
    return rc;
}

/* Conjugate gradients end early where there are few eigenvalues: then more of them.  finest: how
 * far, and how far it came; last (NULL: not wanted): iterations at the step before. */
static enum status refine(const struct rank_system *q, size_t rank, int *finest, double *iterations,
                          double *last, double *ratio, struct err *err)
{
    const size_t all = q->s->n < q->s->M ? q->s->n : q->s->M;
    const int most = *finest;
    size_t modes = 0;
    enum status rc = ST_OK;

    *iterations = *ratio = NAN;
    for (int fine = 1; rc == ST_OK && fine <= most; fine *= 2) {
        const double before = *iterations;
        if (fine > 1 && (before < (double)(modes / ENOUGH) || modes >= all))
            break;
        rc = small_iterations(q, rank, fine, &modes, iterations, ratio, err);
        if (rc != ST_OK || modes == 0)
            break;
        *finest = fine;
        if (last)
            *last = fine > 1 ? before : *iterations;
    }
    return rc;
}

enum status model_rank_iterations_for_tests(const struct rank_system *q, size_t rank,
                                            double *iterations, double *ratio, struct err *err)
{
    int finest = FINEST;

    return refine(q, rank, &finest, iterations, NULL, ratio, err);
}

/* The table. */

static int sketches(const struct fit_opts *o)
{
    const struct precond_ops *p = precond_find(o->precond, NULL);

    return p && p->sketches > 1 ? p->sketches : 1;
}

struct table {
    struct rank_system s, half; /* half.s NULL: none */
    struct rank_choice *c;
    enum status rc[RANK_GUESSES];
    struct err err[RANK_GUESSES];
    const struct ctl *ctl;
};

/* One guess; its range from what half of the sample would have said. */
static void guess(void *ctx, size_t i, size_t worker)
{
    struct table *t = ctx;
    struct rank_guess *g = &t->c->at[i];
    double other, last, ignored, spread = log(1.25);

    (void)worker;
    int finest = FINEST;
    t->rc[i] = ctl_stopped(t->ctl)
                   ? err_set(&t->err[i], ST_CANCELLED, "stopped")
                   : refine(&t->s, g->rank, &finest, &g->iterations, &last, &g->ratio, &t->err[i]);
    if (t->rc[i] != ST_OK)
        return;
    g->iterations = fmax(1.0, g->iterations);
    if (t->half.s) { /* both counted one step less finely: that costs a quarter */
        finest = finest > 1 ? finest / 2 : 1;
        t->rc[i] = refine(&t->half, g->rank, &finest, &other, NULL, &ignored, &t->err[i]);
        if (t->rc[i] != ST_OK)
            return;
        spread = fmax(spread, fabs(log(fmax(1.0, other) / fmax(1.0, last))));
    }
    g->low = fmax(1.0, floor(g->iterations * exp(-spread)));
    g->high = ceil(g->iterations * exp(spread));
    g->capped = g->iterations >= (double)t->s.maxit;
}

static size_t next_rank(size_t r)
{
    return r == 0 ? RANK_LEAST : r < 64 ? 2 * r : (r & (r - 1)) == 0 ? r + r / 2 : r / 3 * 4;
}

/* The ranks to look at: those asked for, or a ladder. */
static void ladder(const struct rank_question *q, size_t n, struct rank_choice *c)
{
    const struct fit_opts *o = q->o;
    const size_t most = o->features / 2;

    for (size_t r = 0; q->ranks == NULL && c->n < RANK_GUESSES && r <= most && r <= RANK_MOST;
         r = next_rank(r)) {
        const double bytes = model_plan_costs(n, q->d, o, q->plan, r, sketches(o)).bytes;
        if (r > q->plan->rank && o->mem_limit && bytes > (double)o->mem_limit)
            break;
        c->at[c->n++].rank = r;
    }
    for (size_t i = 0; q->ranks && i < q->count && c->n < RANK_GUESSES; i++)
        c->at[c->n++].rank = q->ranks[i];
}

enum status model_rank_table(const struct spectrum *s, const struct spectrum *half,
                             const struct rank_question *q, struct pool *pool,
                             struct rank_choice *c, const struct ctl *ctl, struct err *err)
{
    const struct fit_opts *o = q->o;
    const double maxit = o->maxit ? (double)o->maxit : 500.0;
    struct table t = { .s = { .s = s, .lam2 = q->ratio, .passes = sketches(o),
                              .rtol = o->rtol > 0.0 ? o->rtol : 1e-6,
                              .maxit = BEYOND * (size_t)maxit },
                       .c = c, .ctl = ctl };
    double least = INFINITY, few = INFINITY;

    t.half = t.s;
    t.half.s = half;
    *c = (struct rank_choice){ .rows = s->sample, .none = o->precond == NULL };
    ladder(q, s->n, c);
    pool_run(pool, c->n, guess, &t);
    for (size_t i = 0; i < c->n; i++) {
        struct rank_guess *g = &c->at[i];
        if (t.rc[i] != ST_OK) {
            if (err)
                *err = t.err[i];
            return t.rc[i];
        }
        const struct rank_cost cost =
            model_plan_costs(s->n, q->d, o, q->plan, g->rank, sketches(o));
        g->build = cost.build;
        g->iteration = cost.iteration;
        g->bytes = cost.bytes;
        g->seconds = g->build + (double)q->solves * g->iterations * g->iteration;
        if (g->rank == 0 && !c->none)
            continue;
        /* one that ends in time before one that does not; of those that do not, the nearest to it
         */
        if (g->iterations <= maxit ? g->seconds < least : isinf(least) && g->iterations < few) {
            least = g->iterations <= maxit ? g->seconds : least;
            few = fmin(few, g->iterations);
            c->best = i;
        }
    }
    return ST_OK;
}

enum status model_rank_choose(struct fop *f, const double *y, const struct rank_question *q,
                              struct rank_choice *c, const struct ctl *ctl, struct err *err)
{
    const struct fit_opts *o = q->o;
    struct spectrum s;
    const struct spectrum_ask ask = { o->targets ? o->targets : 1, y, 0, o->mem_limit };
    enum status rc = spectrum_sample(f, &ask, &s, NULL, ctl, err);

    if (rc != ST_OK)
        return rc;
    rc = model_rank_table(&s, NULL, q, fop_pool(f), c, ctl, err);
    spectrum_free(&s);
    return rc;
}
