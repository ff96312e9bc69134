/* compute/ritz.c -- Ritz values from the coefficients of conjugate gradients: see solver.h.
 *
 * T_kk = 1/alpha_k + beta_{k-1}/alpha_{k-1},  T_{k,k+1} = sqrt(beta_k)/alpha_k  (methods.md D.2) is
 * the Lanczos matrix of P^-1/2 A P^-1/2.  Its eigenvalues by bisection on the number of negative
 * pivots of T - x I (Golub & Van Loan 2013, section 8.4): as many of them as are wanted. */
#include "compute/solver.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

struct tridiag { size_t n; double *d, *e2; };

static enum status tridiag_new(const struct solve_info *in, struct tridiag *t, struct err *err)
{
    const size_t n = in->nhist;

    *t = (struct tridiag){ .n = n };
    t->d = mem_calloc(2 * n, sizeof *t->d, "Ritz values", err);
    if (t->d == NULL)
        return ST_NOMEM;
    t->e2 = t->d + n;
    for (size_t i = 0; i < n; i++) {
        t->d[i] = 1.0 / in->alpha[i] + (i ? in->beta[i - 1] / in->alpha[i - 1] : 0.0);
        t->e2[i] = i + 1 < n ? in->beta[i] / (in->alpha[i] * in->alpha[i]) : 0.0;
    }
    return ST_OK;
}

/* Eigenvalues below x. */
static size_t below(const struct tridiag *t, double x)
{
    size_t count = 0;
    double q = 1.0;

    for (size_t i = 0; i < t->n; i++) {
        q = t->d[i] - x - (i ? t->e2[i - 1] / q : 0.0);
        if (fabs(q) < DBL_MIN)
            q = -DBL_MIN;
        count += q < 0.0;
    }
    return count;
}

enum status ritz_values(const struct solve_info *in, size_t from, size_t to, double *theta,
                        struct err *err)
{
    struct tridiag t;

    if (from >= to)
        return ST_OK;
    if (to > in->nhist)
        return err_set(err, ST_RANGE, "there are %zu Ritz values, not %zu", in->nhist, to);
    enum status rc = tridiag_new(in, &t, err);
    if (rc != ST_OK)
        return rc;
    double lo = INFINITY, hi = 0.0;
    for (size_t i = 0; i < t.n; i++) { /* Gershgorin */
        const double r = (i ? sqrt(t.e2[i - 1]) : 0.0) + sqrt(t.e2[i]);
        lo = fmin(lo, t.d[i] - r);
        hi = fmax(hi, t.d[i] + r);
    }
    lo = fmax(lo, 0.0); /* A is positive definite */
    if (!isfinite(hi))
        rc = err_set(err, ST_RANGE, "the coefficients of the solver are not finite");
    for (size_t k = from; rc == ST_OK && k < to; k++) {
        double a = k > from ? theta[k - 1 - from] : lo, b = hi;
        while (b - a > 2.0 * DBL_EPSILON * b) {
            const double mid = 0.5 * (a + b);
            if (mid <= a || mid >= b)
                break;
            if (below(&t, mid) > k)
                b = mid;
            else
                a = mid;
        }
        theta[k - from] = 0.5 * (a + b);
    }
    free(t.d);
    return rc;
}

double ritz_condition(const struct solve_info *in, double *least, double *most)
{
    *least = *most = NAN;
    if (in->nhist < 2 || ritz_values(in, 0, 1, least, NULL) != ST_OK ||
        ritz_values(in, in->nhist - 1, in->nhist, most, NULL) != ST_OK)
        return NAN;
    return *most / *least;
}
