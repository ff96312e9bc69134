/* compute/models/model_rank.c -- choosing the rank of a preconditioner by predicted time
 * (share/doc/methods.md 13).
 *
 * A sample of rows gives the spectrum of Z'Z and the size of Z'y along it (spectrum.h).  The number
 * of iterations of conjugate gradients with a rank is then not bounded by 9.2 but counted: a small
 * diagonal system with that spectrum is set up, thinned so that the rank becomes at most
 * RANK_SMALL, the preconditioner is built for it by its own code, and the solver itself counts its
 * iterations. This takes into account the directions that a sketch misses, a decay of the spectrum
 * that lets the iteration converge faster than its condition number says, and targets rougher than
 * the model.
 *
 * Costs are computed from sizes (model_plan.c), not measured, so that the same data give the same
 * rank. */
#include "compute/models/model_impl.h"

#include "base/mem.h"
#include "compute/preconds/precond.h"
#include "compute/rng.h"
#include "compute/stats/spectrum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANK_SMALL = 96,   /* the largest rank in the small system */
    SPAN = 6,          /* the spectrum is thinned evenly up to this many times the rank */
    MODES_MOST = 1600, /* the largest size of the small system */
    FINEST = 8,        /* the most that its size is multiplied by, in doublings, when */
    ENOUGH = 6,        /* iterations are more than its size over this */
    BEYOND = 4,        /* iterations are counted up to this many times the limit of the fit */
};
static const double finest_most = 16e6;       /* largest work of a step: about its size squared */
static const double tail_width = 1.0 / 128.0; /* width of a mode over its index, in the tail */

/* The small system. */

/* Eigenvalues lam (n) and right-hand side b (n); one mode stands for `thin` eigenvalues.  cut: it
 * does not reach the end of the spectrum. */
struct small { size_t n; double *lam, *b; double thin; bool cut; };

/* Takes eigenvalues at evenly spaced indices, one for every `thin` (in the tail at geometrically
 * growing distances), with b_i^2 the sum of (Z'y)^2 over the eigenvectors that the mode stands for.
 * `fine` multiplies their number. */
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

/* AX <- (diag(lam) + lam2 I) X, k vectors of n. */
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

/* The Nystrom preconditioner of the small system (share/doc/methods.md 8.1 to 8.3) with a Gaussian
 * test matrix Omega (n x L), of which `passes` sketches are taken. */
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

/* Iterations on the small system, `fine` times as fine as usual.  *modes: its size; 0 where it
 * would be too large, and nothing was counted. */
static enum status small_iterations(const struct rank_system *q, size_t rank, int fine,
                                    size_t *modes, double *iterations, double *ratio,
                                    struct err *err)
{
    struct small s;
    struct precond *pre = NULL;
    struct solve_info info = { 0 };
    struct ctl quiet = { .cancel = q->ctl ? q->ctl->cancel : NULL };
    enum status rc = small_new(q->s, rank, fine, &s, err);
    const double L = (double)rank / s.thin;
    if (rc == ST_OK && fine > 1 && (s.cut || (double)s.n * ((double)s.n + L) > finest_most)) {
        free(s.lam);
        *modes = 0; /* too large: the earlier count stands */
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
        rc = cg_solve(&A, 1, s.b, x, &o, &quiet, &info, err);
    }
    if (rc == ST_OK && info.why == OUT_CANCELLED)
        rc = err_set(err, ST_CANCELLED, "stopped");
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

/* Conjugate gradients end after as many iterations as there are distinct eigenvalues, so that a
 * small system would flatter them.  Its size is therefore doubled until the iterations are few
 * against it.  *finest: in, the largest factor; out, the one reached.  *last (NULL: not wanted):
 * the iterations one doubling earlier. */
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

/* How many sketches the preconditioner of the options takes. */
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

/* How far the truth may lie from a count, as logarithms of factors; measured by
 * tests/bench/forecast.sh.  Counts on a spectrum that is known are off by the random sketch, by
 * what the thinned system leaves out, and upwards by rounding: conjugate gradients in finite
 * precision find large eigenvalues again and again, each time at the cost of a step (Greenbaum,
 * *Linear Algebra Appl.* 113 (1989)), and a count beyond half of the order of the system shows that
 * this has begun.  A spectrum from a sample of rows is off by as much as that of half of the sample
 * is, and its end is extrapolated: where that decides, only a third of the count is sure. */
static const double known_down = 1.3, known_up = 1.6, lost_up = 2.2, sampled = 2.0, beyond = 3.0;

static void range(const struct table *t, struct rank_guess *g, double halves)
{
    const struct spectrum *s = t->s.s;
    const double all = (double)(s->n < s->M ? s->n : s->M);
    double down = log(known_down), up = log(g->iterations > 0.5 * all ? lost_up : known_up);

    const bool unseen = s->sample < s->n && spectrum_dimension(s, t->s.lam2) > s->known;

    if (s->sample < s->n) {
        down = fmax(down, fmax(log(unseen ? beyond : sampled), halves));
        up = fmax(up, fmax(log(sampled), halves));
    }
    g->capped = g->iterations >= (double)t->s.maxit;
    g->more = g->capped || unseen;
    g->low = fmax(1.0, floor(g->iterations * exp(g->capped && !unseen ? 0.0 : -down)));
    g->high = g->more ? INFINITY : ceil(g->iterations * exp(up)) + 1.0;
}

/* Fills one row of the table. */
static void guess(void *ctx, size_t i, size_t worker)
{
    struct table *t = ctx;
    struct rank_guess *g = &t->c->at[i];
    double other, last, ignored, halves = 0.0;

    (void)worker;
    int finest = FINEST;
    t->rc[i] = ctl_stopped(t->ctl)
                   ? err_set(&t->err[i], ST_CANCELLED, "stopped")
                   : refine(&t->s, g->rank, &finest, &g->iterations, &last, &g->ratio, &t->err[i]);
    if (t->rc[i] != ST_OK)
        return;
    g->iterations = fmax(1.0, g->iterations);
    if (t->half.s) { /* both counts one doubling earlier, which costs a quarter of the time */
        finest = finest > 1 ? finest / 2 : 1;
        t->rc[i] = refine(&t->half, g->rank, &finest, &other, NULL, &ignored, &t->err[i]);
        if (t->rc[i] != ST_OK)
            return;
        halves = fabs(log(fmax(1.0, other) / fmax(1.0, last)));
    }
    range(t, g, halves);
}

/* The ladder of ranks: 0, 16, 32, 64, 96, 128, 192, 256, ... */
static size_t next_rank(size_t r)
{
    return r == 0 ? RANK_LEAST : r < 64 ? 2 * r : (r & (r - 1)) == 0 ? r + r / 2 : r / 3 * 4;
}

/* The ranks of the table: those asked for, or the ladder as far as memory allows. */
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
                              .maxit = BEYOND * (size_t)maxit, .ctl = ctl },
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
        /* The quickest of those that converge within maxit; without any, the fewest iterations. */
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
    const struct spectrum_ask ask = { o->targets ? o->targets : 1, y, 0, o->mem_limit, false };
    enum status rc = spectrum_sample(f, &ask, &s, NULL, ctl, err);

    if (rc != ST_OK)
        return rc;
    rc = model_rank_table(&s, NULL, q, fop_pool(f), c, ctl, err);
    spectrum_free(&s);
    return rc;
}
