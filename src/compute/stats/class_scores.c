/* compute/stats/class_scores.c -- scores of predicted probabilities (share/doc/methods.md 16.11 to
 * 16.14). */
#include "compute/stats/class_scores.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static enum status check(size_t n, const double *y, const double *p, struct err *err)
{
    if (n == 0)
        return err_set(err, ST_RANGE, "there are no rows to score");
    for (size_t i = 0; i < n; i++) {
        if (y[i] != 0.0 && y[i] != 1.0)
            return err_set(err, ST_RANGE, "row %zu has class %g, not 0 or 1", i + 1, y[i]);
        if (!(p[i] >= 0.0 && p[i] <= 1.0))
            return err_set(err, ST_RANGE, "row %zu has probability %g", i + 1, p[i]);
    }
    return ST_OK;
}

static double log_clipped(double p)
{
    return log(fmin(fmax(p, CLASS_SCORES_CLIP), 1.0 - CLASS_SCORES_CLIP));
}

void class_scores_bins(size_t n, const double *y, const double *p,
                       struct class_bin bin[CLASS_SCORES_BINS])
{
    for (size_t b = 0; b < CLASS_SCORES_BINS; b++)
        bin[b] = (struct class_bin){ 0, 0.0, 0.0 };
    for (size_t i = 0; i < n; i++) {
        size_t at = 0; /* bin k holds k / B < p <= (k + 1) / B, and the first one 0 as well */
        while (at + 1 < CLASS_SCORES_BINS && p[i] > (double)(at + 1) / CLASS_SCORES_BINS)
            at++;
        struct class_bin *b = &bin[at];
        b->n++;
        b->mean += p[i];
        b->share += y[i];
    }
    for (size_t b = 0; b < CLASS_SCORES_BINS; b++) {
        bin[b].mean = bin[b].n ? bin[b].mean / (double)bin[b].n : NAN;
        bin[b].share = bin[b].n ? bin[b].share / (double)bin[b].n : NAN;
    }
}

/* Two deviations of the bins, empty ones skipped: unweighted, and weighted by rows (16.13). */
static void calibration(size_t n, const double *y, const double *p, struct metrics *m)
{
    struct class_bin bin[CLASS_SCORES_BINS];
    double plain = 0.0, weighted = 0.0;
    size_t used = 0;

    class_scores_bins(n, y, p, bin);
    for (size_t b = 0; b < CLASS_SCORES_BINS; b++) {
        if (bin[b].n == 0)
            continue;
        const double off = fabs(bin[b].share - bin[b].mean);
        plain += off;
        weighted += off * (double)bin[b].n / (double)n;
        used++;
    }
    m->calibration_ad = plain / (double)used;
    m->ece = weighted;
}

enum status class_scores(size_t n, const double *y, const double *p, const double *taken,
                         struct metrics *m, struct err *err)
{
    struct metrics all;
    double right[2] = { 0.0, 0.0 }, loss = 0.0, brier = 0.0, ones = 0.0;
    size_t clipped = 0;
    enum status rc = check(n, y, p, err);

    if (rc == ST_OK)
        rc = metrics_compute(n, y, p, NULL, NULL, &all, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < n; i++) {
        right[y[i] == 1.0] += (taken ? taken[i] : (double)(p[i] >= 0.5)) == y[i];
        loss -= log_clipped(y[i] == 1.0 ? p[i] : 1.0 - p[i]);
        clipped += (y[i] == 1.0 ? p[i] : 1.0 - p[i]) < CLASS_SCORES_CLIP;
        brier += (y[i] - p[i]) * (y[i] - p[i]);
        ones += y[i];
    }
    const double rate = ones / (double)n;
    const double auroc = all.auroc, auprc = all.auprc;
    metrics_none(m);
    m->n = n;
    m->clipped = clipped;
    m->auroc = auroc;
    m->auprc = auprc;
    m->accuracy = (right[0] + right[1]) / (double)n;
    m->balanced_accuracy = ones == 0.0        ? right[0] / (double)n
                           : rate == 1.0 ? right[1] / (double)n
                                         : 0.5 * (right[0] / ((double)n - ones) + right[1] / ones);
    m->base_rate = rate;
    m->majority = fmax(rate, 1.0 - rate);
    m->log_loss = loss / (double)n;
    m->log_loss_constant = -(rate * log_clipped(rate) + (1.0 - rate) * log_clipped(1.0 - rate));
    m->brier = brier / (double)n;
    calibration(n, y, p, m);
    return ST_OK;
}

/* sum (y - p) and sum (1 - 2p)(y - p) over their standard deviations (16.14). */
struct class_honesty class_scores_honesty(size_t n, const double *y, const double *p)
{
    double mean = 0.0, var = 0.0, spread = 0.0, spread_var = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double v = p[i] * (1.0 - p[i]), w = 1.0 - 2.0 * p[i];
        mean += y[i] - p[i];
        var += v;
        spread += w * (y[i] - p[i]);
        spread_var += w * w * v;
    }
    return (struct class_honesty){ var > 0.0 ? mean / sqrt(var) : NAN,
                                   spread_var > 0.0 ? spread / sqrt(spread_var) : NAN };
}

struct item { double p, y; };

static int falling(const void *a, const void *b)
{
    const double x = ((const struct item *)a)->p, y = ((const struct item *)b)->p;

    return (x < y) - (x > y);
}

struct class_point *class_scores_curve(size_t n, const double *y, const double *p, size_t *k,
                                       struct err *err)
{
    struct item *it = mem_calloc(n, sizeof *it, "a curve", err);
    struct class_point *out = it ? mem_calloc(n, sizeof *out, "a curve", err) : NULL;
    double ones = 0.0, found = 0.0, wrong = 0.0;

    *k = 0;
    for (size_t i = 0; out && i < n; i++) {
        it[i] = (struct item){ p[i], y[i] };
        ones += y[i];
    }
    if (out)
        qsort(it, n, sizeof *it, falling);
    for (size_t i = 0, j; out && i < n; i = j) {
        for (j = i; j < n && it[j].p == it[i].p; j++) {
            found += it[j].y;
            wrong += 1.0 - it[j].y;
        }
        out[(*k)++] = (struct class_point){ ones > 0.0 ? found / ones : NAN,
                                            (double)n > ones ? wrong / ((double)n - ones) : NAN,
                                            found / (found + wrong) };
    }
    free(it);
    return out;
}
