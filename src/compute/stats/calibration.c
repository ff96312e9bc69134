/* compute/stats/calibration.c -- see calibration.h.
 *
 * With z = e/sd of n rows that the model was not fitted to, share/doc/methods.md 6.21:
 *   factor = mean z^2,
 * the minimiser of the mean negative log density over one factor for all variances (FM-GP,
 * section 2.4), and for the level p the split-conformal quantile
 *   q_p = |z|_(k), k = ceil((n + 1) p),
 * inside of which a new row like these lies with a probability of at least p, whatever the shape
 * of the errors (Vovk et al. 2005; Lei et al. 2018). */
#include "compute/stats/calibration.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

const char *const calibration_words[] = {
    "auto", "scale", "conformal", "temperature", "local", "cv+", "absolute", NULL
};

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* (n + 1) p, without the error that 0.9 has in binary: 10 times 0.9 is 9. */
static size_t rank_of(size_t n, double p)
{
    return (size_t)ceil((double)(n + 1) * p - 1e-9);
}

static size_t least_rows(double level)
{
    size_t n = 1;

    while (rank_of(n, level) > n)
        n++;
    return n;
}

/* The quantiles of n ascending |z|. */
static struct reach quantiles(size_t n, const double *z)
{
    struct reach r = { { 0.0 } };

    for (size_t i = 0; i < REACH_LEVELS; i++) {
        const size_t k = rank_of(n, reach_level(i));
        const double normal = reach_at(NULL, reach_level(i));
        r.at[i] = k <= n ? z[k - 1]
                         : i ? r.at[i - 1] * normal / reach_at(NULL, reach_level(i - 1)) : normal;
    }
    return r;
}

static enum status enough(size_t n, const char *what, double level, struct err *err)
{
    if (n >= least_rows(level))
        return ST_OK;
    err_named(err, ST_RANGE, "few-calibration-rows",
              "%zu calibration rows are too few for %s at %g %%: at least %zu", n, what,
              100.0 * level, least_rows(level));
    err_hint(err, "calibrate rows=%zu", 10 * least_rows(level));
    return ST_RANGE;
}

enum status calibration_sets(size_t n, double *lack, double level, double *reach, struct err *err)
{
    const enum status rc = enough(n, "prediction sets", level, err);

    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        if (!(lack[i] >= 0.0 && lack[i] <= 1.0))
            return err_set(err, ST_RANGE, "calibration row %zu has probability %g", i + 1,
                           1.0 - lack[i]);
    qsort(lack, n, sizeof *lack, ascending);
    *reach = fmax(lack[rank_of(n, level) - 1], DBL_MIN); /* 0 stands for none */
    return ST_OK;
}

bool calibration_holds(double p, double reach)
{
    return 1.0 - p <= reach;
}

enum status calibration_of(size_t n, const double *e, const double *v, enum calibration_way way,
                           double level, struct calibration *c, struct err *err)
{
    double sum = 0.0;

    *c = (struct calibration){ .factor = 1.0 };
    if (enough(n, "intervals", level, err) != ST_OK)
        return ST_RANGE;
    double *z = mem_calloc(n, sizeof *z, "calibration rows", err);
    if (!z)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++) {
        z[i] = fabs(e[i]) / sqrt(v[i]);
        sum += z[i] * z[i];
    }
    c->z2 = sum / (double)n;
    enum status rc = ST_OK;
    if (!isfinite(c->z2) || !(c->z2 > 0.0))
        rc = err_set(err, ST_RANGE, "the errors of the calibration rows are %s",
                     c->z2 == 0.0 ? "all 0" : "not finite");
    qsort(z, n, sizeof *z, ascending);
    if (rc == ST_OK && way != CALIBRATION_CONFORMAL)
        c->factor = c->z2;
    if (rc == ST_OK && way != CALIBRATION_SCALE) {
        c->reach = quantiles(n, z);
        for (size_t i = 0; i < REACH_LEVELS; i++)
            c->reach.at[i] /= sqrt(c->factor);
    }
    if (rc == ST_OK && way != CALIBRATION_SCALE && !(c->reach.at[0] > 0.0))
        rc = err_set(err, ST_RANGE, "half of the calibration rows are predicted without any error: "
                     "their quantiles say nothing");
    free(z);
    return rc;
}
