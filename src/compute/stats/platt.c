/* compute/stats/platt.c -- see platt.h.  Newton's method with halved steps on the two parameters,
 * in the form that loses no digits where probabilities are near 0 or 1 (Lin, Lin & Weng, Machine
 * Learning 68 (2007), algorithm 1). */
#include "compute/stats/platt.h"

#include <math.h>
#include <stdbool.h>

enum { STEPS_MOST = 100 };
#define RIDGE 1e-12    /* on the diagonal of the Hessian, which is singular where all f are equal */
#define STEP_LEAST 1e-12
#define NEAR 1e-9      /* a gain below this share of the value cannot be told from rounding */
#define GRADIENT 1e-12 /* of a row, at which a step cannot gain anything in double precision */

double platt_probability(const struct platt *p, double f)
{
    const double z = p->a * f + p->b;

    return z >= 0.0 ? exp(-z) / (1.0 + exp(-z)) : 1.0 / (1.0 + exp(z));
}

double platt_loss(size_t n, const double *f, const double *y, const struct platt *p)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double z = y[i] > 0.0 ? p->a * f[i] + p->b : -(p->a * f[i] + p->b);
        sum += z >= 0.0 ? z + log1p(exp(-z)) : log1p(exp(z)); /* -log 1/(1 + exp(z)) */
    }
    return sum / (double)n;
}

/* Decision values with the targets of both classes. */
struct rows { size_t n; const double *f, *y; double high, low; };

static double target(const struct rows *r, size_t i)
{
    return r->y[i] > 0.0 ? r->high : r->low;
}

/* The negative log likelihood: -sum of t log p + (1 - t) log(1 - p). */
static double value(const struct rows *r, const struct platt *p)
{
    double sum = 0.0;

    for (size_t i = 0; i < r->n; i++) {
        const double z = p->a * r->f[i] + p->b, t = target(r, i);
        sum += z >= 0.0 ? t * z + log1p(exp(-z)) : (t - 1.0) * z + log1p(exp(z));
    }
    return sum;
}

/* Gradient and Hessian in (a, b). */
struct slope { double a, b, aa, ab, bb, size; };

static struct slope slope_at(const struct rows *r, const struct platt *p)
{
    struct slope s = { .aa = RIDGE, .bb = RIDGE };

    for (size_t i = 0; i < r->n; i++) {
        const double f = r->f[i], q = platt_probability(p, f), d = target(r, i) - q;
        const double w = q * platt_probability(&(struct platt){ -p->a, -p->b }, f);
        s.a += f * d;
        s.b += d;
        s.aa += f * f * w;
        s.ab += f * w;
        s.bb += w;
        s.size += fabs(f);
    }
    return s;
}

struct platt platt_fit(size_t n, const double *f, const double *y)
{
    size_t positive = 0;

    for (size_t i = 0; i < n; i++)
        positive += y[i] > 0.0;
    const double up = (double)positive, down = (double)(n - positive);
    const struct rows r = { n, f, y, (up + 1.0) / (up + 2.0), 1.0 / (down + 2.0) };
    struct platt p = { 0.0, log((down + 1.0) / (up + 1.0)) };
    double now = value(&r, &p);

    for (size_t k = 0; k < STEPS_MOST; k++) {
        const struct slope s = slope_at(&r, &p);
        if (fabs(s.a) <= GRADIENT * s.size && fabs(s.b) <= GRADIENT * (double)n)
            break;
        const double det = s.aa * s.bb - s.ab * s.ab;
        const double da = -(s.bb * s.a - s.ab * s.b) / det, db = -(s.aa * s.b - s.ab * s.a) / det;
        const double along = s.a * da + s.b * db;
        const bool near = -along < NEAR * (1.0 + now); /* a full step, which needs no proof */
        double step = 1.0, then = now;
        for (; step >= STEP_LEAST; step *= 0.5) {
            const struct platt next = { p.a + step * da, p.b + step * db };
            then = value(&r, &next);
            if (near || then < now + 1e-4 * step * along) {
                p = next;
                break;
            }
        }
        if (step < STEP_LEAST)
            break;
        now = then;
    }
    return p;
}
