/* app/plots/plots_classes.c -- plots of a target with two values: whether probabilities are honest,
 * and how well they, or predicted means, tell the values apart; and the same curves of several
 * classes, each against all others. */
#include "app/plots/plots.h"

#include "app/plots/plots_labels.h"
#include "base/text.h"

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
    bool ok = f && class_scores(p->n, p->y, p->mean, p->taken, &m, err) == ST_OK &&
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

static const char *const curve_labels[2][2] = {
    { "share of positive rows found (recall)",
      "share of rows found that are positive (precision)" },
    { "share of negative rows taken for positive", "share of positive rows found" },
};
static const char *const several_labels[2][2] = {
    { "share of the class that is found (recall)",
      "share that is of the class (precision)" },
    { "share of other rows taken for the class", "share of the class that is found" },
};

/* Several classes. */

enum { CURVES = 8, PLACES = 201 };
/* The rows of one class against all others: the curve of k points from the first threshold on,
 * x ascending, with its end before them, and its area. */
struct one_curve { size_t k; double *x, *y, area; };

/* The points of a curve with its end before them: x, then y, k + 1 of each.  NULL: no memory. */
static double *curve_points(bool roc, const struct class_point *at, size_t k, struct err *err)
{
    double *v = mem_calloc(2 * (k + 1), sizeof *v, "plot", err);

    if (v == NULL)
        return NULL;
    v[0] = 0.0;
    v[k + 1] = roc || k == 0 ? 0.0 : at[0].precision;
    for (size_t i = 0; i < k; i++) {
        v[i + 1] = roc ? at[i].false_share : at[i].recall;
        v[k + 2 + i] = roc ? at[i].recall : at[i].precision;
    }
    return v;
}

/* Of class c; x NULL where all rows or none are of it.  The caller frees x, which holds y. */
static enum status one_against_rest(bool roc, const struct plots_labels *l, size_t c, double *y,
                                    struct one_curve *out, struct err *err)
{
    const double *p = l->prob + c * l->n;
    struct metrics m;

    *out = (struct one_curve){ .area = NAN };
    for (size_t i = 0; i < l->n; i++)
        y[i] = l->label[i] == (double)c;
    enum status rc = metrics_compute(l->n, y, p, NULL, NULL, &m, err);
    if (rc != ST_OK || !isfinite(m.auroc))
        return rc;
    struct class_point *at = class_scores_curve(l->n, y, p, &out->k, err);
    out->x = at ? curve_points(roc, at, out->k, err) : NULL;
    out->y = out->x ? out->x + out->k + 1 : NULL;
    out->area = roc ? m.auroc : m.auprc;
    free(at);
    return out->x ? ST_OK : ST_NOMEM;
}

/* Adds a curve at equal places of x: straight between points (roc), or the precision at which so
 * much is found. */
static void add_places(bool roc, const struct one_curve *c, double *sum)
{
    size_t i = 0;

    for (size_t j = 0; j < PLACES; j++) {
        const double x = (double)j / (PLACES - 1);
        while (i < c->k && c->x[i] < x - 1e-12)
            i++;
        if (!roc || i == 0 || c->x[i] <= x) {
            size_t last = i; /* the highest of several points at one place */
            while (roc && last < c->k && c->x[last + 1] <= x + 1e-12)
                last++;
            sum[j] += c->y[last];
        } else {
            const double t = (x - c->x[i - 1]) / (c->x[i] - c->x[i - 1]);
            sum[j] += c->y[i - 1] + t * (c->y[i] - c->y[i - 1]);
        }
    }
}

/* What the curves of all classes add up to. */
struct curves {
    bool roc;
    size_t used, best, worst; /* classes with a curve; those with the largest, least area */
    double sum[PLACES], area[TARGETS_MOST], mean;
};

static enum status mean_curve(struct figure *f, struct curves *s, struct err *err)
{
    double x[PLACES];
    char title[64];

    for (size_t j = 0; j < PLACES; j++) {
        x[j] = (double)j / (PLACES - 1);
        s->sum[j] /= (double)s->used;
    }
    snprintf(title, sizeof title, "mean of %zu classes %.3f", s->used, s->mean);
    struct series *m = figure_add(f, title, s->roc ? MARK_LINE : MARK_STAIRS, PLACES, x, s->sum,
                                  err);
    if (m == NULL)
        return ST_NOMEM;
    m->dashed = true;
    m->color = 7;
    return ST_OK;
}

/* The curves of the most frequent classes into the figure, and the sums of all. */
static enum status add_curves(struct figure *f, const struct plots_labels *l, struct curves *s,
                              struct err *err)
{
    double *y = mem_calloc(l->n + 1, sizeof *y, "plot", err);
    size_t which[CURVES];
    const size_t k = plots_labels_frequent(l->n, l->classes, l->label, CURVES, which);
    enum status rc = y ? ST_OK : ST_NOMEM;
    struct buf title = { 0 };

    for (size_t c = 0, at = 0; rc == ST_OK && c < l->classes; c++) {
        struct one_curve one;
        rc = one_against_rest(s->roc, l, c, y, &one, err);
        s->area[c] = one.area;
        if (one.x) {
            add_places(s->roc, &one, s->sum);
            s->mean += one.area;
            s->best = s->used == 0 || one.area > s->area[s->best] ? c : s->best;
            s->worst = s->used == 0 || one.area < s->area[s->worst] ? c : s->worst;
            s->used++;
        }
        const bool drawn = at < k && which[at] == c;
        at += drawn;
        buf_clear(&title);
        text_safe(&title, l->name[c], 20);
        buf_printf(&title, " %.3f", one.area);
        if (drawn && one.x && !figure_add(f, buf_str(&title), s->roc ? MARK_LINE : MARK_STAIRS,
                                          one.k + 1, one.x, one.y, err))
            rc = ST_NOMEM;
        free(one.x);
    }
    s->mean /= (double)s->used;
    buf_free(&title);
    free(y);
    return rc;
}

static enum status curves_words(struct figure *f, const struct plots_labels *l,
                                const struct curves *s, struct err *err)
{
    struct buf worst = { 0 }, best = { 0 };

    text_safe(&worst, l->name[s->worst], 30);
    text_safe(&best, l->name[s->best], 30);
    const enum status rc =
        figure_verdict(f, err, "%s %.4f, the mean of %zu classes, each against all others: least "
                       "%.4f of %s, most %.4f of %s", s->roc ? "AUROC" : "AUPRC", s->mean,
                       s->used, s->area[s->worst], buf_str(&worst), s->area[s->best],
                       buf_str(&best));
    buf_free(&worst), buf_free(&best);
    return rc;
}

static struct figure *several_curves(const char *name, bool roc, const struct run *r,
                                     struct err *err)
{
    struct curves *s = mem_calloc(1, sizeof *s, "plot", err);
    struct plots_labels l = { 0 };
    struct figure *f = NULL;
    char title[112];

    if (s == NULL)
        return NULL;
    s->roc = roc;
    if (plots_labels_open(r, &l, err) == ST_OK) {
        plots_labels_title(&l, roc ? "ROC curves of" : "Precision and recall of", r, title,
                           sizeof title);
        f = figure_new(name, title, err);
    }
    bool ok = f && figure_label(f, several_labels[roc][0], several_labels[roc][1], err) == ST_OK &&
              add_curves(f, &l, s, err) == ST_OK;
    if (ok && s->used == 0) {
        figure_free(f);
        f = plots_nothing(name, "These rows are all of one class. try: split test=20% "
                                "stratify=yes", err);
    } else if (ok) {
        f->square = true;
        f->x.lo = f->y.lo = 0.0;
        f->x.hi = f->y.hi = 1.0;
        ok = mean_curve(f, s, err) == ST_OK && (!roc || reference(f, "chance", 0.0, 1.0, err)) &&
             curves_words(f, &l, s, err) == ST_OK;
    }
    plots_labels_close(&l);
    free(s);
    return plots_finish(f, ok);
}

/* A curve of points from the first threshold on. roc: true over false positives; else precision
 * over recall. */
static struct figure *curve(const char *name, bool roc, struct run *r, struct err *err)
{
    struct figure *f = plots_no_prediction(name, r, false, err);
    const struct prediction *p = f ? NULL : plots_prediction(r);
    if (p && p->classes > 2)
        return several_curves(name, roc, r, err);
    const double *score = p && p->classes ? p->prob + p->n : p ? p->mean : NULL;
    double *y = p ? two_values(name, p, &f, err) : NULL;
    struct metrics m = { 0 };
    char title[112];
    size_t k = 0;

    if (y == NULL)
        return f;
    struct class_point *at = class_scores_curve(p->n, y, score, &k, err);
    double *v = at ? curve_points(roc, at, k, err) : NULL;
    double rate = 0.0;
    for (size_t i = 0; i < p->n; i++)
        rate += y[i] / (double)p->n;
    snprintf(title, sizeof title, "%s of %s (%zu %s rows)",
             roc ? "ROC curve" : "Precision and recall", r->id, p->n, rows_word(p));
    f = v ? figure_new(name, title, err) : NULL;
    bool ok = f && metrics_compute(p->n, y, score, NULL, NULL, &m, err) == ST_OK &&
              figure_label(f, curve_labels[roc][0], curve_labels[roc][1], err) == ST_OK &&
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
    .title = "True against false positives, of classes",
    .axes = "false positives, true positives",
    .help = "Of a target with two values, by probability or predicted mean: along the diagonal is "
            "chance. Of several classes, each against all others: the eight most frequent with "
            "their areas, and the mean of all.",
    .make = plots_roc,
};

const struct plot_ops plots_pr_row = {
    .name = "pr",
    .title = "Precision against recall, of classes",
    .axes = "recall, precision",
    .help = "Of a target with two values: the share of rows found that are positive, over the "
            "share of positive rows found. Of several classes, each against all others: the eight "
            "most frequent with their areas, and the mean of all.",
    .make = plots_pr,
};
