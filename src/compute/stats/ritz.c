/* compute/stats/ritz.c -- eigenvalues of symmetric tridiagonal matrices (ritz.h).
 *
 * Implicit symmetric QR steps with Wilkinson's shift (Golub & Van Loan 2013, algorithm 8.3.3).
 * They are similarity transformations by rotations and hence backward stable; no eigenvector is
 * formed, the rotations are applied to one vector g.  From conjugate gradients
 * (share/doc/methods.md 10.1):
 *   T_kk = 1/alpha_k + beta_{k-1}/alpha_{k-1},  T_{k,k+1} = sqrt(beta_k)/alpha_k. */
#include "compute/stats/ritz.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/solvers/solver.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { STEPS_MOST = 60 }; /* for one eigenvalue; two or three are usual */

/* One QR step on rows lo..hi, where no off-diagonal entry is negligible: a bulge is created by the
 * shift and chased down by rotations (c, s). */
static void qr_step(double *d, double *e, double *g, size_t lo, size_t hi)
{
    const double half = 0.5 * (d[hi - 1] - d[hi]), e2 = e[hi - 1] * e[hi - 1];
    const double root = copysign(hypot(half, e[hi - 1]), half);
    double x = d[lo] - (d[hi] - e2 / (half + root)), z = e[lo];

    for (size_t k = lo; k < hi; k++) {
        const double r = hypot(x, z), c = r > 0.0 ? x / r : 1.0, s = r > 0.0 ? -z / r : 0.0;
        const double a = d[k], b = e[k], f = d[k + 1];
        if (k > lo)
            e[k - 1] = r;
        d[k] = c * c * a - 2.0 * c * s * b + s * s * f;
        d[k + 1] = s * s * a + 2.0 * c * s * b + c * c * f;
        e[k] = c * s * (a - f) + (c * c - s * s) * b;
        if (g) {
            const double gk = g[k];
            g[k] = c * gk - s * g[k + 1];
            g[k + 1] = s * gk + c * g[k + 1];
        }
        x = e[k];
        if (k + 1 < hi) {
            z = -s * e[k + 1];
            e[k + 1] *= c;
        }
    }
}

struct pair { double d, g; };

static int ascending(const void *a, const void *b)
{
    const double x = ((const struct pair *)a)->d, y = ((const struct pair *)b)->d;
    return (x > y) - (x < y);
}

static enum status sort_pairs(size_t n, double *d, double *g, struct err *err)
{
    struct pair *p = n ? mem_calloc(n, sizeof *p, "eigenvalues", err) : NULL;

    if (p == NULL)
        return n ? ST_NOMEM : ST_OK;
    for (size_t i = 0; i < n; i++)
        p[i] = (struct pair){ d[i], g ? g[i] : 0.0 };
    qsort(p, n, sizeof *p, ascending);
    for (size_t i = 0; i < n; i++) {
        d[i] = p[i].d;
        if (g)
            g[i] = p[i].g;
    }
    free(p);
    return ST_OK;
}

enum status ritz_tridiag(size_t n, double *d, double *e, double *g, struct err *err)
{
    double size = 0.0;

    for (size_t i = 0; i < n; i++) {
        if (!isfinite(d[i]) || (i + 1 < n && !isfinite(e[i])))
            return err_set(err, ST_RANGE, "a tridiagonal matrix is not finite");
        size = fmax(size, fabs(d[i]) + (i + 1 < n ? fabs(e[i]) : 0.0));
    }
    for (size_t hi = n ? n - 1 : 0, steps = 0; hi > 0;) {
        size_t lo = hi;
        while (lo > 0 && fabs(e[lo - 1]) > DBL_EPSILON * (fabs(d[lo - 1]) + fabs(d[lo])) &&
               fabs(e[lo - 1]) > DBL_MIN + 0.01 * DBL_EPSILON * size)
            lo--;
        if (lo == hi) {
            hi--;
            steps = 0;
        } else if (++steps > STEPS_MOST) {
            return err_set(err, ST_RANGE,
                           "the eigenvalues of a tridiagonal matrix do not converge");
        } else {
            qr_step(d, e, g, lo, hi);
        }
    }
    return sort_pairs(n, d, g, err);
}

enum status ritz_values(const struct solve_info *in, double *theta, size_t *count,
                        struct err *err)
{
    const size_t n = in->nhist < RITZ_MOST ? in->nhist : RITZ_MOST;
    double *e = mem_calloc(n + 1, sizeof *e, "Ritz values", err);

    *count = 0;
    if (e == NULL)
        return ST_NOMEM;
    solve_lanczos(in, n, theta, e);
    const enum status rc = ritz_tridiag(n, theta, e, NULL, err);
    free(e);
    if (rc == ST_OK)
        *count = n;
    return rc;
}

enum status ritz_condition(const struct solve_info *in, double *condition, double *least,
                           double *most, struct err *err)
{
    const size_t n = in->nhist;

    *condition = *least = *most = NAN;
    if (n < 2)
        return ST_OK;
    double *d = mem_calloc(2 * n, sizeof *d, "Ritz values", err);
    if (d == NULL)
        return ST_NOMEM;
    solve_lanczos(in, n, d, d + n);
    const enum status rc = blas_tridiag_ends(n, d, d + n, least, most, err);
    free(d);
    if (rc == ST_OK && *least > 0.0)
        *condition = *most / *least;
    else
        *least = *most = NAN;
    if (rc == ST_NOMEM)
        return rc;
    err_clear(err);
    return ST_OK;
}
