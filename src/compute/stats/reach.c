/* compute/stats/reach.c -- how far central intervals reach.
 *
 * The standard deviation is what the density is best with; the share of the errors inside so many
 * of them is another question, which the shape of the errors decides.  A few large errors make the
 * sd large for all rows; errors with a bound are never as far out as normal ones.  Left-out rows
 * show the shape.  With |z|_(k) the k-th of n of them in ascending order and z_p = Phi^-1((1+p)/2),
 * the level p reaches (share/doc/methods.md 6.20)
 *   z_p (q_p/z_p)^w,   q_p = |z|_(k), k = ceil((n + 1) p), the split-conformal quantile,
 *   w = d^2/(d^2 + doubt^2 p (1 - p)/n),   d = share of |z| <= z_p, less p,
 * so that a share which differs from its level by less than its standard error moves little.
 * Between the levels the reach is linear in z_p, and beyond the last one proportional to it. */
#include "compute/stats/reach.h"

#include "compute/stats/metrics.h"

#include <math.h>

static const double levels[REACH_LEVELS] = { 0.5, 0.8, 0.9, 0.95, 0.99 };
/* Phi^-1((1 + level)/2) */
static const double normal[REACH_LEVELS] = { 0.67448975019608174, 1.2815515655446004,
                                             1.6448536269514722, 1.9599639845400542,
                                             2.5758293035489004 };

double reach_level(size_t i)
{
    return levels[i];
}

bool reach_is_normal(const struct reach *r)
{
    return r == NULL || !(r->at[0] > 0.0);
}

bool reach_holds(const struct reach *r)
{
    bool zero = true, grows = isfinite(r->at[REACH_LEVELS - 1]);

    for (size_t i = 0; i < REACH_LEVELS; i++) {
        zero = zero && r->at[i] == 0.0;
        grows = grows && r->at[i] > 0.0 && (i == 0 || r->at[i] >= r->at[i - 1]);
    }
    return zero || grows;
}

/* From x to y along the polygon through the origin and the points (x[i], y[i]), along the straight
 * line from the origin beyond the last one, and alike on the negative side. */
static double along(const double *x, const double *y, double at)
{
    const double far = fabs(at);
    size_t i = 0;

    while (i < REACH_LEVELS && far > x[i])
        i++;
    if (i == REACH_LEVELS)
        return at * y[REACH_LEVELS - 1] / x[REACH_LEVELS - 1];
    const double x0 = i ? x[i - 1] : 0.0, y0 = i ? y[i - 1] : 0.0;
    return copysign(x[i] > x0 ? y0 + (far - x0) * (y[i] - y0) / (x[i] - x0) : y[i], at);
}

double reach_from_normal(const struct reach *r, double z)
{
    return reach_is_normal(r) ? z : along(normal, r->at, z);
}

double reach_to_normal(const struct reach *r, double z)
{
    return reach_is_normal(r) ? z : along(r->at, normal, z);
}

double reach_at(const struct reach *r, double level)
{
    for (size_t i = 0; i < REACH_LEVELS; i++)
        if (level == levels[i])
            return reach_is_normal(r) ? normal[i] : r->at[i];
    return reach_from_normal(r, metrics_normal_quantile(0.5 + 0.5 * level));
}

/* How many of n ascending values are at most that. */
static size_t up_to(size_t n, const double *v, double most)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (v[mid] <= most)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct reach reach_left_out(size_t n, const double *z2, double variance, double doubt)
{
    const double rows = (double)n;
    struct reach r = { { 0.0 } };
    bool moved = false;

    if (n == 0 || !(variance > 0.0) || !isfinite(z2[n - 1]))
        return r;
    for (size_t i = 0; i < REACH_LEVELS; i++) {
        const double p = levels[i], z = normal[i];
        const double share = (double)up_to(n, z2, z * z * variance) / rows;
        const size_t k = (size_t)ceil((rows + 1.0) * p);
        const double d2 = (share - p) * (share - p), se2 = p * (1.0 - p) / rows;
        const double w = d2 / (d2 + doubt * doubt * se2);
        const double q = k <= n ? sqrt(z2[k - 1] / variance) : z; /* too few rows: unknown */
        r.at[i] = q > 0.0 ? z * pow(q / z, w) : z;
        if (i > 0)
            r.at[i] = fmax(r.at[i], r.at[i - 1]);
        moved = moved || r.at[i] != z;
    }
    return moved && r.at[0] > 0.0 ? r : (struct reach){ { 0.0 } };
}
