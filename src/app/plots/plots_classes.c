/* app/plots/plots_classes.c -- plots of a target with two values: whether probabilities are honest,
 * and how well they, or predicted means, tell the values apart. */
#include "app/plots/plots.h"

#include "app/core/run.h"
#include "base/mem.h"
#include "compute/stats/class_scores.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *rows_word(const struct prediction *p)
{
    return p->part == PART_TRAIN ? "training" : "held-out";
}

/* The diagonal or another line of reference. */
static bool reference(struct figure *f, const char *title, double y0, double y1, struct err *err)
{
    const double x[2] = { 0.0, 1.0 }, y[2] = { y0, y1 };
    struct series *s = figure_add(f, title, MARK_LINE, 2, x, y, err);

    if (s == NULL)
        return false;
    s->faint = true;
    f->x.lo = f->y.lo = 0.0;
    f->x.hi = f->y.hi = 1.0;
    return true;
}

/* Observed share of the positive class over mean probability, with the 95 % range that honest
 * probabilities would have in each bin. */
struct figure *plots_reliability(struct run *r, struct err *err)
{
    const struct prediction *p = plots_prediction(r);
    struct class_bin bin[CLASS_SCORES_BINS];
    double x[CLASS_SCORES_BINS], y[CLASS_SCORES_BINS], lo[CLASS_SCORES_BINS], hi[CLASS_SCORES_BINS];
    char title[96];
    struct metrics m;
    size_t n = 0;

    class_scores_bins(p->n, p->y, p->mean, bin);
    for (size_t b = 0; b < CLASS_SCORES_BINS; b++) {
        if (bin[b].n == 0)
            continue;
        const double se = sqrt(bin[b].mean * (1.0 - bin[b].mean) / (double)bin[b].n);
        x[n] = bin[b].mean;
        y[n] = bin[b].share;
        lo[n] = fmax(bin[b].mean - 1.96 * se, 0.0);
        hi[n++] = fmin(bin[b].mean + 1.96 * se, 1.0);
    }
    snprintf(title, sizeof title, "Reliability of %s (%zu %s rows)", r->id, p->n, rows_word(p));
    struct figure *f = figure_new("calibration", title, err);
    bool ok = f && class_scores(p->n, p->y, p->mean, &m, err) == ST_OK &&
              figure_label(f, "mean predicted probability of a bin", "share of the positive class",
                           err) == ST_OK &&
              figure_add_band(f, "95 % of honest ones", n, x, lo, hi, err) &&
              figure_add(f, r->id, MARK_LINEPOINTS, n, x, y, err) &&
              reference(f, "honest", 0.0, 1.0, err);
    if (ok) {
        const double z = class_scores_honesty(p->n, p->y, p->mean).spread_z;
        f->square = true;
        ok = figure_verdict(f, err, "off by %.4f on average (ECE); Spiegelhalter's z %.1f: %s",
                            m.ece, z,
                            fabs(z) <= 2.5 ? "honest"
                            : z > 0        ? "too sure"
                                           : "too cautious") == ST_OK;
    }
    return plots_finish(f, ok);
}

/* The scores and 0/1 values of a run whose target has two values; NULL with a figure that says why
 * not, or with an error. The caller frees the array. */
static double *two_values(const char *name, const struct prediction *p, struct figure **why,
                          struct err *err)
{
    double lo = INFINITY, hi = -INFINITY;
    bool two = true;

    for (size_t i = 0; i < p->n; i++) {
        lo = fmin(lo, p->y[i]);
        hi = fmax(hi, p->y[i]);
    }
    for (size_t i = 0; i < p->n; i++)
        two = two && (p->y[i] == lo || p->y[i] == hi);
    if (!two || !(hi > lo)) {
        *why = plots_nothing(name, hi > lo ? "The target has more than two values. try: likelihood "
                                             "bernoulli, with a target of two"
                                           : "These rows are all of one class. try: split test=20% "
                                             "stratify=yes", err);
        return NULL;
    }
    double *y = mem_calloc(p->n, sizeof *y, "plot", err);
    for (size_t i = 0; y && i < p->n; i++)
        y[i] = p->y[i] == hi;
    return y;
}

/* A curve of points from the first threshold on. roc: true over false positives; else precision
 * over recall. */
static struct figure *curve(const char *name, bool roc, struct run *r, struct err *err)
{
    static const char *const labels[2][2] = {
        { "share of positive rows found (recall)",
          "share of rows found that are positive (precision)" },
        { "share of negative rows taken for positive", "share of positive rows found" },
    };
    struct figure *f = plots_no_prediction(name, r, false, err);
    const struct prediction *p = f ? NULL : plots_prediction(r);
    double *y = p ? two_values(name, p, &f, err) : NULL;
    struct metrics m = { 0 };
    char title[112];
    size_t k = 0;

    if (y == NULL)
        return f;
    struct class_point *at = class_scores_curve(p->n, y, p->mean, &k, err);
    double *v = at ? mem_calloc(2 * (k + 1), sizeof *v, "plot", err) : NULL;
    if (v != NULL) {
        v[0] = 0.0;
        v[k + 1] = roc ? 0.0 : at[0].precision;
        for (size_t i = 0; i < k; i++) {
            v[i + 1] = roc ? at[i].false_share : at[i].recall;
            v[k + 2 + i] = roc ? at[i].recall : at[i].precision;
        }
    }
    double rate = 0.0;
    for (size_t i = 0; i < p->n; i++)
        rate += y[i] / (double)p->n;
    snprintf(title, sizeof title, "%s of %s (%zu %s rows)",
             roc ? "ROC curve" : "Precision and recall", r->id, p->n, rows_word(p));
    f = v ? figure_new(name, title, err) : NULL;
    bool ok = f && metrics_compute(p->n, y, p->mean, NULL, NULL, &m, err) == ST_OK &&
              figure_label(f, labels[roc][0], labels[roc][1], err) == ST_OK &&
              figure_add(f, r->id, roc ? MARK_LINE : MARK_STAIRS, k + 1, v, v + k + 1, err) &&
              reference(f, "chance", roc ? 0.0 : rate, roc ? 1.0 : rate, err);
    if (ok) {
        f->square = true;
        ok = figure_verdict(f, err,
                            roc ? "AUROC %.4f: a positive row has the higher score in that share "
                                  "of pairs (chance %.4f)"
                                : "AUPRC %.4f, the average precision (chance %.4f, the share of "
                                  "positive rows)",
                            roc ? m.auroc : m.auprc, roc ? 0.5 : rate) == ST_OK;
    }
    free(v);
    free(at);
    free(y);
    return plots_finish(f, ok);
}

struct figure *plots_roc(struct workspace *ws, struct run *r, const struct args *a, struct err *err)
{
    (void)ws;
    (void)a;
    return curve("roc", true, r, err);
}

struct figure *plots_pr(struct workspace *ws, struct run *r, const struct args *a, struct err *err)
{
    (void)ws;
    (void)a;
    return curve("pr", false, r, err);
}

const struct plot_ops plots_roc_row = {
    .name = "roc",
    .title = "True against false positives, of two classes",
    .axes = "false positives, true positives",
    .help = "Of a target with two values, by probability or predicted mean: along the diagonal is "
            "chance.",
    .make = plots_roc,
};

const struct plot_ops plots_pr_row = {
    .name = "pr",
    .title = "Precision against recall, of two classes",
    .axes = "recall, precision",
    .help = "Of a target with two values: the share of rows found that are positive, over the "
            "share of positive rows found.",
    .make = plots_pr,
};
