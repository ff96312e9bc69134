/* compute/stats/metrics.c -- scores of predictions: errors, rank correlation, and how well the
 * predictive variances describe the errors.  Everywhere e = y - mean, sd^2 = var_y (noise included)
 * and z = e / sd, over n rows (share/doc/methods.md 11). */
#include "compute/stats/metrics.h"

#include "base/mem.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const double log_2pi = 1.8378770664093454836;

/* Phi(z) by the complementary error function, which keeps relative precision in the lower tail. */
double metrics_normal_cdf(double z)
{
    return 0.5 * erfc(-z * M_SQRT1_2);
}

/* Newton's method on the logarithm of the upper tail, log Q(z) = log q with q = min(p, 1 - p).  The
 * logarithm is concave, so the iteration cannot overshoot; it starts from the asymptote of the tail
 * or, near the centre, from a straight line.  Working with the tail instead of p itself keeps the
 * relative precision of q. */
double metrics_normal_quantile(double p)
{
    if (!(p >= 0.0 && p <= 1.0))
        return NAN;
    if (p == 0.0 || p == 1.0)
        return p == 0.0 ? -INFINITY : INFINITY;
    const double q = p < 0.5 ? p : 1.0 - p, t = sqrt(-2.0 * log(q));
    double z = q > 0.1 ? (0.5 - q) * sqrt(2.0 * M_PI) : t - (log_2pi + 2.0 * log(t)) / (2.0 * t);
    for (int i = 0; i < 30; i++) {
        const double tail = 0.5 * erfc(z * M_SQRT1_2);
        const double hazard = exp(-0.5 * (z * z + log_2pi)) / tail;
        const double step = log(tail / q) / hazard;
        z += step;
        if (fabs(step) <= 1e-15 * (1.0 + z))
            break;
    }
    return p < 0.5 ? -z : z;
}

/* Ranks and order. */

struct item {
    double x;
    size_t i;
};

static int by_value(const void *a, const void *b)
{
    const struct item *p = a, *q = b;
    if (p->x != q->x)
        return p->x < q->x ? -1 : 1;
    return p->i < q->i ? -1 : p->i > q->i; /* stable */
}

static struct item *sorted(size_t n, const double *x, struct err *err)
{
    struct item *it = mem_calloc(n, sizeof *it, "sorting scores", err);
    if (!it)
        return NULL;
    for (size_t i = 0; i < n; i++)
        it[i] = (struct item){ x[i], i };
    qsort(it, n, sizeof *it, by_value);
    return it;
}

/* Ranks from 0; equal values share the mean of their ranks. */
static enum status ranks(size_t n, const double *x, double *rank, struct err *err)
{
    struct item *it = sorted(n, x, err);
    if (!it)
        return ST_NOMEM;
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && it[j].x == it[i].x; j++)
            ;
        for (size_t q = i; q < j; q++)
            rank[it[q].i] = 0.5 * (double)(i + j - 1);
    }
    free(it);
    return ST_OK;
}

static bool is_constant(size_t n, const double *a)
{
    for (size_t i = 1; i < n; i++)
        if (a[i] != a[0])
            return false;
    return true;
}

/* Pearson's correlation, by centred sums; NaN where one of the two is constant. */
static double correlation(size_t n, const double *a, const double *b)
{
    double ma = 0.0, mb = 0.0, aa = 0.0, bb = 0.0, ab = 0.0;

    if (is_constant(n, a) || is_constant(n, b)) /* sums of a constant's rounding are not 0 */
        return NAN;
    for (size_t i = 0; i < n; i++) {
        ma += a[i] / (double)n;
        mb += b[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        aa += (a[i] - ma) * (a[i] - ma);
        bb += (b[i] - mb) * (b[i] - mb);
        ab += (a[i] - ma) * (b[i] - mb);
    }
    return aa > 0.0 && bb > 0.0 ? ab / (sqrt(aa) * sqrt(bb)) : NAN;
}

enum status metrics_spearman(size_t n, const double *a, const double *b, double *rho,
                             struct err *err)
{
    double *r = mem_calloc(n, 2 * sizeof *r, "ranks", err);
    if (!r)
        return ST_NOMEM;
    enum status rc = ranks(n, a, r, err);
    if (rc == ST_OK)
        rc = ranks(n, b, r + n, err);
    if (rc == ST_OK)
        *rho = correlation(n, r, r + n);
    free(r);
    return rc;
}

/* How many of the rows have the greater of two values, *positive; 0 where the target has not
 * exactly two. */
static size_t positives(size_t n, const double *y, double *positive)
{
    double least = y[0], most = y[0];
    size_t count = 0, others = 0;

    for (size_t i = 1; i < n; i++) {
        least = fmin(least, y[i]);
        most = fmax(most, y[i]);
    }
    for (size_t i = 0; i < n; i++) {
        count += y[i] == most;
        others += y[i] == least;
    }
    *positive = most;
    return least < most && count + others == n ? count : 0;
}

/* One walk from the greatest mean down, past all rows of equal means together (share/doc/methods.md
 * 11.12, 11.13; Fawcett 2006). */
static enum status classes(size_t n, const double *y, const double *mean, double *auroc,
                           double *auprc, struct err *err)
{
    double positive = NAN, pairs = 0.0, precision = 0.0;
    const size_t all = n > 0 ? positives(n, y, &positive) : 0;
    size_t right = 0, seen = 0;

    *auroc = *auprc = NAN;
    if (all == 0)
        return ST_OK;
    struct item *it = sorted(n, mean, err);
    if (!it)
        return ST_NOMEM;
    while (seen < n) {
        const double at = it[n - 1 - seen].x, wrong = (double)(seen - right);
        size_t found = 0, rows = 0;
        for (; seen < n && it[n - 1 - seen].x == at; seen++, rows++)
            found += y[it[n - 1 - seen].i] == positive;
        right += found;
        /* the negatives that stand behind these, and half of those beside them */
        const double beside = (double)(rows - found);
        pairs += (double)found * ((double)(n - all) - wrong - 0.5 * beside);
        precision += (double)found * (double)right / (double)seen;
    }
    free(it);
    *auroc = pairs / ((double)all * (double)(n - all));
    *auprc = precision / (double)all;
    return ST_OK;
}

/* sup_x |F_a(x) - F_b(x)|: one walk through both sorted samples, past all copies of a value
 * together, so that ties count once.  O(n log n + m log m). */
enum status metrics_ks(size_t n, const double *a, size_t m, const double *b, double *ks,
                       struct err *err)
{
    struct item *p = sorted(n, a, err), *q = p ? sorted(m, b, err) : NULL;
    if (q) {
        *ks = n && m ? 0.0 : NAN;
        for (size_t i = 0, j = 0; i < n && j < m;) {
            const double x = p[i].x < q[j].x ? p[i].x : q[j].x;
            while (i < n && p[i].x <= x)
                i++;
            while (j < m && q[j].x <= x)
                j++;
            *ks = fmax(*ks, fabs((double)i / (double)n - (double)j / (double)m));
        }
    }
    free(p);
    free(q);
    return q ? ST_OK : ST_NOMEM;
}

/* Probabilistic scores. */

/* share[l]: the share of rows with |e| <= sd reach, the central interval of that probability
 * (share/doc/methods.md 11.5). */
void metrics_coverage(size_t n, const double *y, const double *mean, const double *var_y,
                      const struct reach *reach, size_t nlevels, const double *levels,
                      double *share)
{
    for (size_t l = 0; l < nlevels; l++) {
        const double z = reach_at(reach, levels[l]);
        size_t inside = 0;
        for (size_t i = 0; i < n; i++)
            inside += fabs(y[i] - mean[i]) <= z * sqrt(var_y[i]);
        share[l] = n ? (double)inside / (double)n : NAN;
    }
}

/* The width of each interval plus 2/(1 - level) times how far the target lies outside of it
 * (Gneiting & Raftery 2007; share/doc/methods.md 11.7). */
double metrics_interval_score_for_tests(size_t n, const double *y, const double *mean,
                                        const double *var_y, double level)
{
    const double z = metrics_normal_quantile(0.5 + 0.5 * level), alpha = 1.0 - level;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double half = z * sqrt(var_y[i]), miss = fabs(y[i] - mean[i]) - half;
        sum += 2.0 * half + (miss > 0.0 ? 2.0 / alpha * miss : 0.0);
    }
    return n ? sum / (double)n : NAN;
}

/* One bin of predictions ordered by sd. */
struct bin {
    double sd, var, abs, square;
    size_t count;
};

static void fill_bin(struct bin *b, const struct item *it, size_t from, size_t to, const double *y,
                     const double *mean, const double *var_y)
{
    *b = (struct bin){ .count = to - from };
    for (size_t q = from; q < to; q++) {
        const size_t i = it[q].i;
        const double e = y[i] - mean[i];
        b->sd += sqrt(var_y[i]);
        b->var += var_y[i];
        b->abs += fabs(e);
        b->square += e * e;
    }
}

size_t metrics_bins(size_t n, const double *y, const double *mean, const double *var_y,
                    size_t nbins, const struct metrics_bins *out, struct err *err)
{
    struct item *it = sorted(n, var_y, err);
    const size_t used = !it ? 0 : n < nbins ? n : nbins;
    for (size_t k = 0; k < used; k++) {
        struct bin b;
        fill_bin(&b, it, n * k / used, n * (k + 1) / used, y, mean, var_y);
        out->sd[k] = b.sd / (double)b.count;
        out->mae[k] = b.abs / (double)b.count;
        out->rmse[k] = sqrt(b.square / (double)b.count);
    }
    free(it);
    return used;
}

/* Mean over bins of |RMV - RMSE| / RMV (Levi et al. 2022; share/doc/methods.md 11.6). */
static enum status expected_calibration(size_t n, const double *y, const double *mean,
                                        const double *var_y, double *ence, struct err *err)
{
    struct item *it = sorted(n, var_y, err);
    if (!it)
        return ST_NOMEM;
    const size_t used = n < 10 ? n : 10;
    *ence = 0.0;
    for (size_t k = 0; k < used; k++) {
        struct bin b;
        fill_bin(&b, it, n * k / used, n * (k + 1) / used, y, mean, var_y);
        *ence += fabs(1.0 - sqrt(b.square / b.var)) / (double)used;
    }
    free(it);
    return ST_OK;
}

/* RANGE for the first row with a value that no score is defined for. */
static enum status check_input(size_t n, const double *y, const double *mean, const double *var_y,
                               struct err *err)
{
    if (n == 0)
        return err_set(err, ST_RANGE, "no rows to score");
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(y[i]) || !isfinite(mean[i]))
            return err_set(err, ST_RANGE, "row %zu: target %g, prediction %g cannot be scored",
                           i + 1, y[i], mean[i]);
        if (var_y && (!(var_y[i] > 0.0) || !isfinite(var_y[i])))
            return err_set(err, ST_RANGE, "row %zu: a predictive variance of %g cannot be scored",
                           i + 1, var_y[i]);
    }
    return ST_OK;
}

/* RMSE, MAE, R2 and Pearson's correlation (share/doc/methods.md 11.1, 11.3).  Sums of squares are
 * taken about the mean, in a second pass, and not as differences of raw moments. */
static void errors(size_t n, const double *y, const double *mean, struct metrics *m)
{
    double centre = 0.0, sse = 0.0, sae = 0.0, sst = 0.0;
    for (size_t i = 0; i < n; i++)
        centre += y[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double e = y[i] - mean[i];
        sse += e * e;
        sae += fabs(e);
        sst += (y[i] - centre) * (y[i] - centre);
    }
    m->rmse = sqrt(sse / (double)n);
    m->mae = sae / (double)n;
    m->r2 = sst > 0.0 ? 1.0 - sse / sst : NAN;
    m->pearson = correlation(n, y, mean);
    m->nlpd_constant = 0.5 * (log_2pi + log(sse / (double)n) + 1.0);
}

/* Mean negative log density and continuous ranked probability score of a normal prediction
 * (share/doc/methods.md 11.2, 11.4), and the mean of z^2 (11.8). */
static void densities(size_t n, const double *y, const double *mean, const double *var_y,
                      struct metrics *m)
{
    double nlpd = 0.0, crps = 0.0, z2 = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double sd = sqrt(var_y[i]), z = (y[i] - mean[i]) / sd;
        nlpd += 0.5 * (log_2pi + log(var_y[i]) + z * z);
        crps += sd * (z * (2.0 * metrics_normal_cdf(z) - 1.0) +
                      2.0 * exp(-0.5 * (z * z + log_2pi)) - 1.0 / sqrt(M_PI));
        z2 += z * z;
    }
    m->nlpd = nlpd / (double)n;
    m->crps = crps / (double)n;
    m->mean_z2 = z2 / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double e = y[i] - mean[i], off = e * e / var_y[i] - m->mean_z2;
        squares += off * off;
    }
    m->mean_z2_se = sqrt(squares) / (double)n;
}

void metrics_none(struct metrics *m)
{
    *m = (struct metrics){ .rmse = NAN, .mae = NAN, .r2 = NAN, .pearson = NAN, .spearman = NAN,
                           .nlpd = NAN, .nlpd_constant = NAN, .crps = NAN, .coverage50 = NAN,
                           .coverage90 = NAN, .coverage95 = NAN, .mean_z2 = NAN,
                           .mean_z2_se = NAN, .ence = NAN, .auroc = NAN, .auprc = NAN,
                           .accuracy = NAN, .majority = NAN, .base_rate = NAN, .log_loss = NAN,
                           .log_loss_constant = NAN, .brier = NAN, .calibration_ad = NAN,
                           .ece = NAN, .balanced_accuracy = NAN, .mce = NAN };
}

enum status metrics_compute(size_t n, const double *y, const double *mean, const double *var_y,
                            const struct reach *reach, struct metrics *m, struct err *err)
{
    metrics_none(m);
    m->n = n;
    enum status rc = check_input(n, y, mean, var_y, err);
    if (rc != ST_OK)
        return rc;
    errors(n, y, mean, m);
    rc = metrics_spearman(n, y, mean, &m->spearman, err);
    if (rc == ST_OK)
        rc = classes(n, y, mean, &m->auroc, &m->auprc, err);
    if (rc != ST_OK || !var_y)
        return rc;
    static const double levels[3] = { 0.5, 0.9, 0.95 };
    double share[3];
    densities(n, y, mean, var_y, m);
    metrics_coverage(n, y, mean, var_y, reach, 3, levels, share);
    m->coverage50 = share[0];
    m->coverage90 = share[1];
    m->coverage95 = share[2];
    return expected_calibration(n, y, mean, var_y, &m->ence, err);
}

/* share/doc/methods.md 6.10: with var_f = sigma^2 h for a training row, var_y = sigma^2 (1 + h). */
double metrics_left_out_variance(double var_y, double noise2)
{
    if (!(noise2 > 0.0) || !(var_y > noise2))
        return var_y;
    return noise2 / (1.0 - fmin((var_y - noise2) / noise2, 1.0 - 1e-9));
}
