/* compute/stats/label_scores.c -- see label_scores.h. */
#include "compute/stats/label_scores.h"

#include "base/mem.h"
#include "compute/stats/class_scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum status check(size_t n, size_t classes, const double *label, const double *p,
                         struct err *err)
{
    if (n == 0)
        return err_set(err, ST_RANGE, "there are no rows to score");
    for (size_t i = 0; i < n; i++)
        if (!(label[i] >= 0.0 && label[i] < (double)classes))
            return err_set(err, ST_RANGE, "row %zu has class %g, not 0 to %zu", i + 1, label[i],
                           classes - 1);
    for (size_t i = 0; i < n * classes; i++)
        if (!(p[i] >= 0.0 && p[i] <= 1.0))
            return err_set(err, ST_RANGE, "row %zu has probability %g", i % n + 1, p[i]);
    return ST_OK;
}

size_t label_scores_class(size_t n, size_t classes, const double *p, size_t i)
{
    size_t best = 0;

    for (size_t c = 1; c < classes; c++)
        if (p[c * n + i] > p[best * n + i])
            best = c;
    return best;
}

void label_scores_confusion(size_t n, size_t classes, const double *label, const double *taken,
                            size_t *count)
{
    memset(count, 0, classes * classes * sizeof *count);
    for (size_t i = 0; i < n; i++)
        count[(size_t)label[i] * classes + (size_t)taken[i]]++;
}

/* Bin k holds k / B < p <= (k + 1) / B, and the first one 0 as well. */
static size_t bin_of(double p)
{
    size_t at = 0;

    while (at + 1 < LABEL_SCORES_BINS && p > (double)(at + 1) / LABEL_SCORES_BINS)
        at++;
    return at;
}

static void fill_bins(size_t n, const double *confidence, const double *right,
                      struct label_bin bin[LABEL_SCORES_BINS])
{
    memset(bin, 0, LABEL_SCORES_BINS * sizeof *bin);
    for (size_t i = 0; i < n; i++) {
        struct label_bin *b = &bin[bin_of(confidence[i])];
        b->n++;
        b->confidence += confidence[i];
        b->share += right[i];
    }
    for (size_t b = 0; b < LABEL_SCORES_BINS; b++) {
        bin[b].confidence = bin[b].n ? bin[b].confidence / (double)bin[b].n : NAN;
        bin[b].share = bin[b].n ? bin[b].share / (double)bin[b].n : NAN;
    }
}

/* The range of the share of n Bernoulli numbers with probabilities p between the quantiles of 2.5
 * and 97.5 %.  chance (n + 1) is work space: chance[k] of k ones so far, by convolution. */
static void honest_range(size_t n, const double *p, double *chance, double *lo, double *hi)
{
    enum { EXACT = 1000 };
    double mean = 0.0, var = 0.0, below = 0.0;
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        mean += p[i] / (double)n;
        var += p[i] * (1.0 - p[i]);
    }
    *lo = fmax(mean - 1.96 * sqrt(var) / (double)n, 0.0);
    *hi = fmin(mean + 1.96 * sqrt(var) / (double)n, 1.0);
    if (n > EXACT || n == 0)
        return;
    chance[0] = 1.0;
    for (size_t i = 0; i < n; i++) {
        chance[i + 1] = chance[i] * p[i];
        for (size_t m = i; m > 0; m--)
            chance[m] = chance[m] * (1.0 - p[i]) + chance[m - 1] * p[i];
        chance[0] *= 1.0 - p[i];
    }
    for (below = chance[0]; below < 0.025 && k < n; below += chance[++k])
        ;
    *lo = (double)k / (double)n;
    for (; below < 0.975 && k < n; below += chance[++k])
        ;
    *hi = (double)k / (double)n;
}

enum status label_scores_bins(size_t n, const double *confidence, const double *right,
                              struct label_bin bin[LABEL_SCORES_BINS], struct err *err)
{
    double *p = mem_calloc(2 * n + 1, sizeof *p, "bins", err);

    if (p == NULL)
        return ST_NOMEM;
    fill_bins(n, confidence, right, bin);
    for (size_t b = 0; b < LABEL_SCORES_BINS; b++) {
        size_t k = 0;
        for (size_t i = 0; i < n; i++)
            if (bin_of(confidence[i]) == b)
                p[k++] = confidence[i];
        honest_range(k, p, p + n, &bin[b].lo, &bin[b].hi);
    }
    free(p);
    return ST_OK;
}

static double log_clipped(double p)
{
    return log(fmax(p, CLASS_SCORES_CLIP));
}

/* What follows from the confusion matrix: recalls are averaged over the classes that occur. */
static void by_counts(size_t n, size_t classes, const size_t *count, struct metrics *m)
{
    double right = 0.0, recall = 0.0, constant = 0.0, most = 0.0;
    size_t seen = 0;

    for (size_t a = 0; a < classes; a++) {
        double all = 0.0;
        for (size_t b = 0; b < classes; b++)
            all += (double)count[a * classes + b];
        right += (double)count[a * classes + a];
        if (all == 0.0)
            continue;
        seen++;
        recall += (double)count[a * classes + a] / all;
        constant -= all / (double)n * log(all / (double)n);
        most = fmax(most, all);
    }
    m->accuracy = right / (double)n;
    m->balanced_accuracy = recall / (double)seen;
    m->majority = most / (double)n;
    m->log_loss_constant = constant;
}

/* The areas of each class against all others, averaged over those that have any. */
static enum status areas(size_t n, size_t classes, const double *label, const double *p,
                         struct metrics *m, struct err *err)
{
    double *y = mem_calloc(n, sizeof *y, "classes", err), roc = 0.0, pr = 0.0;
    enum status rc = y ? ST_OK : ST_NOMEM;
    struct metrics one;
    size_t k = 0;

    for (size_t c = classes == 2; rc == ST_OK && c < classes; c++) {
        for (size_t i = 0; i < n; i++)
            y[i] = label[i] == (double)c;
        rc = metrics_compute(n, y, p + c * n, NULL, NULL, &one, err);
        if (rc != ST_OK || !isfinite(one.auroc))
            continue;
        roc += one.auroc;
        pr += one.auprc;
        k++;
    }
    free(y);
    m->auroc = k ? roc / (double)k : NAN;
    m->auprc = k ? pr / (double)k : NAN;
    return rc;
}

/* Calibration of the likeliest classes. */
static enum status by_bins(size_t n, size_t classes, const double *label, const double *p,
                           struct metrics *m, struct err *err)
{
    double *confidence = mem_calloc(2 * n + 1, sizeof *confidence, "bins", err);
    double *right = confidence + n;
    struct label_bin bin[LABEL_SCORES_BINS];

    if (confidence == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const size_t c = label_scores_class(n, classes, p, i);
        confidence[i] = p[c * n + i];
        right[i] = label[i] == (double)c;
    }
    fill_bins(n, confidence, right, bin);
    free(confidence);
    m->ece = m->mce = 0.0;
    for (size_t b = 0; b < LABEL_SCORES_BINS; b++) {
        const double off = bin[b].n ? fabs(bin[b].share - bin[b].confidence) : 0.0;
        m->ece += off * (double)bin[b].n / (double)n;
        m->mce = fmax(m->mce, off);
    }
    return ST_OK;
}

/* The confusions of the chosen classes, or of the likeliest. */
static enum status by_choice(size_t n, size_t classes, const double *label, const double *p,
                             const double *taken, struct metrics *m, struct err *err)
{
    size_t *count = mem_calloc(classes, classes * sizeof *count, "counts", err);
    double *own = count && !taken ? mem_calloc(n, sizeof *own, "classes", err) : NULL;
    const bool good = count && (taken || own);

    for (size_t i = 0; own && i < n; i++)
        own[i] = (double)label_scores_class(n, classes, p, i);
    if (good) {
        label_scores_confusion(n, classes, label, own ? own : taken, count);
        by_counts(n, classes, count, m);
    }
    free(own);
    free(count);
    return good ? ST_OK : ST_NOMEM;
}

enum status label_scores(size_t n, size_t classes, const double *label, const double *p,
                         const double *taken, struct metrics *m, struct err *err)
{
    enum status rc = check(n, classes, label, p, err);
    double loss = 0.0, brier = 0.0;

    if (rc != ST_OK)
        return rc;
    metrics_none(m);
    m->n = n;
    rc = by_choice(n, classes, label, p, taken, m, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < n; i++) {
        loss -= log_clipped(p[(size_t)label[i] * n + i]);
        m->clipped += p[(size_t)label[i] * n + i] < CLASS_SCORES_CLIP;
        for (size_t c = 0; c < classes; c++) {
            const double off = p[c * n + i] - (label[i] == (double)c);
            brier += off * off;
        }
    }
    m->log_loss = loss / (double)n;
    m->brier = brier / (double)n;
    rc = by_bins(n, classes, label, p, m, err);
    return rc == ST_OK ? areas(n, classes, label, p, m, err) : rc;
}
