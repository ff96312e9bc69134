/* compute/tuners/tune_line.c -- descent in a single hyperparameter by values alone: a bracket,
 * parabolas through its points, then Brent's method (GSL).
 *
 * The gradient of a likelihood of many rows costs two products of n M^2 where its value costs half
 * of one (share/doc/methods.md 6.12), and in one dimension a parabola through three values does for
 * it what the gradient does for L-BFGS. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "compute/tuners/tune_impl.h"

#ifdef HAVE_GSL
#include <gsl/gsl_errno.h>
#include <gsl/gsl_min.h>
#endif

#include <math.h>
#include <pthread.h>
#include <stddef.h>

#ifdef HAVE_GSL

/* The first step, a share of the log range of the bounds, how much longer each further one is, and
 * the width of a bracket that is small enough. */
static const double first_step = 0.02, growth = 1.6, narrow = 2e-4;
/* The steps by parabolas at most, and how far from the best point they stay, as a share of the way
 * to the bracket's end. */
enum { KEPT = 24, PARABOLAS = 6 };
static const double apart = 0.05;

struct line {
    struct tune_job *job;
    size_t left;             /* evaluations that may still be made */
    double tol;              /* of the value, nats */
    double u[KEPT], f[KEPT]; /* the best points, the best first */
    size_t kept;
    double wall;             /* stands for a point without a value */
    enum status rc;
    struct err *err;
};

static void keep(struct line *l, double u, double f)
{
    size_t at = l->kept < KEPT ? l->kept++ : KEPT;

    for (; at > 0 && f < l->f[at - 1]; at--)
        if (at < KEPT) {
            l->u[at] = l->u[at - 1];
            l->f[at] = l->f[at - 1];
        }
    if (at < KEPT) {
        l->u[at] = u;
        l->f[at] = f;
    }
}

static double line_value(double u, void *ctx)
{
    struct line *l = ctx;
    struct tune_point p;
    double f = l->wall;

    if (l->rc != ST_OK || l->left == 0)
        return l->wall;
    l->left--;
    l->rc = tune_eval(l->job, &u, true, NULL, &p, l->err);
    if (l->rc != ST_OK)
        return l->wall;
    if (isfinite(p.nmll)) {
        f = p.nmll;
        l->wall = l->kept ? fmax(l->wall, f + fabs(f) + 1e3) : f + fabs(f) + 1e3;
    }
    keep(l, u, f);
    return f;
}

/* By how much the least value of the parabola through the best point and two others is below the
 * best value; INFINITY when the parabola has none, or a point is missing. */
static double promise(const struct line *l, size_t i, size_t k)
{
    const double *u = l->u, *f = l->f;

    if (i >= l->kept || k >= l->kept)
        return INFINITY;
    const double a = (f[i] - f[0]) / (u[i] - u[0]), b = (f[k] - f[i]) / (u[k] - u[i]);
    const double h = (b - a) / (u[k] - u[0]);
    if (!(h > 0.0))
        return INFINITY;
    const double at = 0.5 * (u[0] + u[i]) - 0.5 * a / h;
    return -(at - u[0]) * (a + h * (at - u[i]));
}

/* The point next to the best one on one side; l->kept when there is none. */
static size_t beside(const struct line *l, bool above)
{
    size_t at = l->kept;

    for (size_t i = 1; i < l->kept; i++)
        if ((l->u[i] > l->u[0]) == above &&
            (at == l->kept || fabs(l->u[i] - l->u[0]) < fabs(l->u[at] - l->u[0])))
            at = i;
    return at;
}

/* A single parabola through distant points, or through points on one side, may err by much: those
 * through the best points and that through the neighbours have to agree. */
static bool settled(const struct line *l)
{
    return promise(l, 1, 2) < l->tol && promise(l, 1, 3) < l->tol &&
           promise(l, beside(l, false), beside(l, true)) < l->tol;
}

static bool ended(const struct line *l)
{
    return l->rc != ST_OK || l->left == 0 || settled(l);
}

/* Three points of which the middle one, b, is the least; a and c may lie on either side. */
struct bracket { double a, b, c, fa, fb, fc; };

static bool encloses(const struct bracket *k)
{
    return k->fa > k->fb && k->fc > k->fb;
}

/* Goes downhill from `from`, in longer and longer steps, until the value rises.  False when the
 * descent has ended, when the least value lies on a bound, or where all values are the same. */
static bool enclose(struct line *l, double from, struct bracket *k)
{
    double step = from > first_step ? -first_step : first_step;

    k->a = from;
    k->fa = line_value(k->a, l);
    k->b = from + step;
    if (l->rc != ST_OK || l->f[0] >= l->wall)
        return false; /* no value at the start: nothing to descend from */
    k->fb = line_value(k->b, l);
    if (k->fb > k->fa) {
        *k = (struct bracket){ .a = k->b, .b = k->a, .fa = k->fb, .fb = k->fa };
        step = -step;
    }
    while (!ended(l)) {
        k->c = fmin(fmax(k->b + step, 0.0), 1.0);
        if (k->c == k->b)
            return false;
        k->fc = line_value(k->c, l);
        if (k->fc > k->fb)
            return l->rc == ST_OK && encloses(k);
        k->a = k->b;
        k->fa = k->fb;
        k->b = k->c;
        k->fb = k->fc;
        step *= growth;
    }
    return false;
}

/* The least point of the parabola through a bracket, but not where the best point almost is. */
static double lowest(const struct bracket *k)
{
    const double s = (k->fb - k->fa) / (k->b - k->a), t = (k->fc - k->fb) / (k->c - k->b);
    const double h = (t - s) / (k->c - k->a); /* > 0: b is the least of the three */
    const double u = 0.5 * (k->a + k->b) - 0.5 * s / h;
    const double towards = (u < k->b) == (k->a < k->b) ? k->a : k->c;
    const double step = fmax(fabs(u - k->b), apart * fabs(towards - k->b));

    return towards < k->b ? k->b - step : k->b + step;
}

/* Brent's method begins with golden sections of its bracket.  The points that enclosed the least
 * value are near each other, and parabolas through them come to it in fewer evaluations. */
static void step_by_parabolas(struct line *l, struct bracket *k)
{
    for (size_t i = 0; i < PARABOLAS && encloses(k) && !ended(l); i++) {
        const double u = lowest(k), f = line_value(u, l);
        const bool on_a = (u < k->b) == (k->a < k->b);
        if (l->rc != ST_OK)
            return;
        if (f < k->fb && on_a)
            *k = (struct bracket){ k->a, u, k->b, k->fa, f, k->fb };
        else if (f < k->fb)
            *k = (struct bracket){ k->b, u, k->c, k->fb, f, k->fc };
        else if (on_a)
            k->a = u, k->fa = f;
        else
            k->c = u, k->fc = f;
    }
}

/* GSL's own handler would end the program. */
static pthread_once_t quiet_once = PTHREAD_ONCE_INIT;

static void be_quiet(void)
{
    gsl_set_error_handler_off();
}

static enum status narrow_down(struct line *l, const struct bracket *k)
{
    const bool up = k->a < k->c;
    gsl_function g = { line_value, l };

    pthread_once(&quiet_once, be_quiet);
    gsl_min_fminimizer *m = gsl_min_fminimizer_alloc(gsl_min_fminimizer_brent);
    if (m == NULL)
        return err_nomem(l->err, 256, "the optimiser");
    int rc = gsl_min_fminimizer_set_with_values(m, &g, k->b, k->fb, up ? k->a : k->c,
                                                up ? k->fa : k->fc, up ? k->c : k->a,
                                                up ? k->fc : k->fa);
    while (rc == GSL_SUCCESS && !ended(l) &&
           gsl_min_fminimizer_x_upper(m) - gsl_min_fminimizer_x_lower(m) > narrow)
        rc = gsl_min_fminimizer_iterate(m);
    gsl_min_fminimizer_free(m); /* however it ended, the trace holds the best point */
    return l->rc;
}

enum status tune_line(struct tune_job *job, const struct tune_point *from, size_t max_evals,
                      struct err *err)
{
    struct line l = { .job = job, .left = max_evals, .rc = ST_OK, .err = err,
                      .tol = tune_tolerance(job), .wall = 1e300 };
    struct bracket k = { 0 };
    double u;

    tune_from_hp(job, from->hp, &u);
    if (enclose(&l, u, &k)) {
        step_by_parabolas(&l, &k);
        if (encloses(&k) && !ended(&l))
            l.rc = narrow_down(&l, &k);
    }
    if (l.rc == ST_OK && max_evals > 0 && l.left == 0 && !settled(&l))
        job->res->why = TUNE_EVALS;
    return l.rc;
}

bool tune_line_suits(const struct tune_job *job)
{
    return job->nfree == 1 && tune_profiles_full(job) && !job->opts->approx &&
           job->full.n >= TUNE_MANY_ROWS;
}

#else

bool tune_line_suits(const struct tune_job *job)
{
    (void)job;
    return false;
}

enum status tune_line(struct tune_job *job, const struct tune_point *from, size_t max_evals,
                      struct err *err)
{
    return tune_descend(job, from, true, max_evals, err);
}

#endif
