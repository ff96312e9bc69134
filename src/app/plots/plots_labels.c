/* app/plots/plots_labels.c -- plots of predicted classes, two or several: which are taken for
 * which, and whether the probabilities of the chosen ones are honest. */
#include "app/plots/plots_labels.h"

#include "app/plots/plots.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/stats/judgement.h"
#include "compute/stats/label_scores.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rows. */

/* True if the predictions of a run are classes. */
static bool has_labels(const struct run *r)
{
    return r && r->has_enc && r->enc.nclasses > 1 && plots_prediction(r);
}

/* Row i of the prediction as row k. Two classes: the mean is the probability of the second. */
static void take_row(const struct prediction *p, size_t i, struct plots_labels *l, size_t k)
{
    l->label[k] = p->y[i];
    l->chosen[k] = run_prediction_class(p, i);
    if (p->classes) {
        for (size_t c = 0; c < l->classes; c++)
            l->prob[c * l->n + k] = p->prob[c * p->n + i];
        return;
    }
    l->prob[k] = 1.0 - p->mean[i];
    l->prob[l->n + k] = p->mean[i];
}

enum status plots_labels_open(const struct run *r, struct plots_labels *l, struct err *err)
{
    const struct prediction *p = plots_prediction(r);
    size_t n = 0, k = 0;

    *l = (struct plots_labels){ .classes = r->enc.nclasses, .name = r->enc.classes,
                                .train = p->part == PART_TRAIN };
    for (size_t i = 0; i < p->n; i++)
        n += isfinite(p->y[i]);
    l->n = n;
    l->label = mem_calloc(n + 1, sizeof *l->label, "plot", err);
    l->chosen = mem_calloc(n + 1, sizeof *l->chosen, "plot", err);
    l->prob = mem_calloc(n + 1, l->classes * sizeof *l->prob, "plot", err);
    if (!l->label || !l->chosen || !l->prob)
        return ST_NOMEM;
    for (size_t i = 0; i < p->n; i++)
        if (isfinite(p->y[i]))
            take_row(p, i, l, k++);
    return ST_OK;
}

void plots_labels_close(struct plots_labels *l)
{
    free(l->label), free(l->chosen), free(l->prob);
    l->label = l->chosen = l->prob = NULL;
}

size_t plots_labels_frequent(size_t n, size_t classes, const double *label, size_t most,
                             size_t *which)
{
    size_t *count = mem_calloc(classes, sizeof *count, "plot", NULL), k = 0;

    if (!count)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (label[i] >= 0.0)
            count[(size_t)label[i]]++;
    for (size_t c = 0; c < classes; c++) {
        size_t before = 0; /* classes that are more frequent, or as frequent and earlier */
        for (size_t o = 0; o < classes; o++)
            before += count[o] > count[c] || (count[o] == count[c] && o < c);
        if (before < most && count[c] > 0)
            which[k++] = c;
    }
    free(count);
    return k;
}

void plots_labels_title(const struct plots_labels *l, const char *what, const struct run *r,
                        char *out, size_t len)
{
    snprintf(out, len, "%s %s (%zu %s rows)", what, r->id, l->n,
             l->train ? "training" : "held-out");
}

/* The reason why a plot of classes shows nothing; NULL: it does. */
static struct figure *no_classes(const char *name, const struct run *r, struct err *err)
{
    struct figure *f = plots_no_prediction(name, r, false, err);

    if (f || !plots_prediction(r) || has_labels(r))
        return f;
    return plots_nothing(name, "This plot is of classes, and this run predicts numbers. try: "
                               "likelihood dirichlet, then fit and score", err);
}

/* Confusion. */

/* count[a C + b]: rows of class a that are taken for class b. */
static size_t *counts_of(const struct plots_labels *l, struct err *err)
{
    size_t *count = mem_calloc(l->classes, l->classes * sizeof *count, "plot", err);

    if (count)
        label_scores_confusion(l->n, l->classes, l->label, l->chosen, count);
    return count;
}

/* Rows of the true class a go down: class 0 stands at the top. */
static enum status confusion_cells(struct figure *f, const struct plots_labels *l,
                                   const size_t *count, struct err *err)
{
    const size_t C = l->classes;
    double *v = mem_calloc(C, (2 * C + 1) * sizeof *v, "plot", err), *share = v ? v + C : NULL;
    double *number = v ? share + C * C : NULL;
    enum status rc = v ? ST_OK : ST_NOMEM;

    for (size_t a = 0; v && a < C; a++) {
        size_t rows = 0;
        v[a] = (double)a;
        for (size_t b = 0; b < C; b++)
            rows += count[a * C + b];
        for (size_t b = 0; b < C; b++) {
            const size_t at = (C - 1 - a) * C + b;
            number[at] = (double)count[a * C + b];
            share[at] = rows ? number[at] / (double)rows : NAN;
        }
    }
    const struct figure_surface of = { C, C, v, v, share };
    struct series *s = v ? figure_add_cells(f, "share of the true class", &of, err) : NULL;
    if (v && !s)
        rc = ST_NOMEM;
    if (rc == ST_OK)
        rc = figure_counts(s, "rows", number, err);
    free(v);
    return rc;
}

static enum status confusion_names(struct figure *f, const struct plots_labels *l,
                                   struct err *err)
{
    const size_t C = l->classes;
    const char **down = mem_calloc(C, sizeof *down, "plot", err);

    if (!down)
        return ST_NOMEM;
    for (size_t c = 0; c < C; c++)
        down[C - 1 - c] = l->name[c];
    enum status rc = figure_names(&f->x, C, (const char *const *)l->name, err);
    if (rc == ST_OK)
        rc = figure_names(&f->y, C, down, err);
    free(down);
    return rc;
}

/* The most frequent confusion, and what is right. */
static enum status confusion_words(struct figure *f, const struct plots_labels *l,
                                   const size_t *count, struct err *err)
{
    const size_t C = l->classes;
    size_t right = 0, worst = 0, rows = 0;
    struct buf of = { 0 }, as = { 0 };

    for (size_t k = 0; k < C * C; k++) {
        if (k / C == k % C)
            right += count[k];
        else if (k / C != k % C && (worst / C == worst % C || count[k] > count[worst]))
            worst = k;
    }
    for (size_t b = 0; b < C; b++)
        rows += count[worst / C * C + b];
    text_safe(&of, l->name[worst / C], 30);
    text_safe(&as, l->name[worst % C], 30);
    enum status rc = count[worst]
        ? figure_verdict(f, err, "%zu of %zu rows are right (%.4f); most often %s is taken for %s "
                         "(%zu of %zu)", right, l->n, (double)right / (double)l->n, buf_str(&of),
                         buf_str(&as), count[worst], rows)
        : figure_verdict(f, err, "all %zu rows are right", l->n);
    buf_free(&of), buf_free(&as);
    return rc;
}

struct figure *plots_confusion(struct workspace *ws, struct run *r, const struct args *a,
                               struct err *err)
{
    struct figure *f = no_classes("confusion", r, err);
    struct plots_labels l;
    char title[96];

    (void)ws, (void)a;
    if (f || !plots_prediction(r))
        return f;
    enum status rc = plots_labels_open(r, &l, err);
    size_t *count = rc == ST_OK ? counts_of(&l, err) : NULL;
    plots_labels_title(&l, "Classes predicted by", r, title, sizeof title);
    f = count ? figure_new("confusion", title, err) : NULL;
    const bool ok = f && figure_label(f, "predicted class", "true class", err) == ST_OK &&
                    confusion_names(f, &l, err) == ST_OK &&
                    confusion_cells(f, &l, count, err) == ST_OK &&
                    confusion_words(f, &l, count, err) == ST_OK;
    if (ok)
        f->square = true;
    free(count);
    plots_labels_close(&l);
    return plots_finish(f, ok);
}

const struct plot_ops plots_confusion_row = {
    .name = "confusion",
    .title = "Which classes are taken for which",
    .axes = "predicted class, true class",
    .help = "From the last score of a run that predicts classes: of the rows of each true class "
            "(down) the share that was taken for each class (across), with their number. The "
            "diagonal is right.",
    .make = plots_confusion,
};

/* Reliability. */

/* The rows by the probability of their chosen class. */
static enum status fill(const struct plots_labels *l, double *confidence,
                        struct label_bin bin[LABEL_SCORES_BINS], struct err *err)
{
    double *right = mem_calloc(l->n + 1, sizeof *right, "plot", err);

    if (!right)
        return ST_NOMEM;
    for (size_t i = 0; i < l->n; i++) {
        confidence[i] = l->prob[(size_t)l->chosen[i] * l->n + i];
        right[i] = l->label[i] == l->chosen[i];
    }
    const enum status rc = label_scores_bins(l->n, confidence, right, bin, err);
    free(right);
    return rc;
}

static bool honest_line(struct figure *f, struct err *err)
{
    const double end[2] = { 0.0, 1.0 };
    struct series *s = figure_add(f, "honest", MARK_LINE, 2, end, end, err);

    if (s)
        s->faint = true;
    return s != NULL;
}

static enum status honest_words(struct figure *f, const struct plots_labels *l,
                                const struct label_bin *bin, const double *confidence,
                                struct err *err)
{
    double sure = 0.0, var = 0.0, right = 0.0, ece = 0.0;

    for (size_t i = 0; i < l->n; i++) {
        sure += confidence[i];
        var += confidence[i] * (1.0 - confidence[i]);
        right += l->label[i] == l->chosen[i];
    }
    for (size_t b = 0; b < LABEL_SCORES_BINS; b++)
        if (bin[b].n)
            ece += fabs(bin[b].share - bin[b].confidence) * (double)bin[b].n / (double)l->n;
    const double n = (double)l->n;
    const struct judged_classes j = judgement_classes(l->n, sure / n, right / n, var / n);
    return figure_verdict(f, err, "off by %.4f on average (ECE); mean probability of the chosen "
                          "class %.4f, %.4f are right: the probabilities %s", ece, j.confidence,
                          j.share, judgement_classes_word(j.verdict));
}

/* The panel of shares over probabilities. */
static struct figure *honest_panel(const char *name, const struct plots_labels *l,
                                   const struct run *r, const struct label_bin *bin,
                                   const double *confidence, struct err *err)
{
    double x[LABEL_SCORES_BINS], y[LABEL_SCORES_BINS], lo[LABEL_SCORES_BINS],
        hi[LABEL_SCORES_BINS];
    char title[96];
    size_t n = 0;

    for (size_t b = 0; b < LABEL_SCORES_BINS; b++) {
        if (bin[b].n == 0)
            continue;
        x[n] = bin[b].confidence;
        y[n] = bin[b].share;
        lo[n] = bin[b].lo;
        hi[n++] = bin[b].hi;
    }
    plots_labels_title(l, "Reliability of", r, title, sizeof title);
    struct figure *f = figure_new(name, title, err);
    const bool ok = f &&
                    figure_label(f, "mean probability of the chosen class", "share that is right",
                                 err) == ST_OK &&
                    figure_add_band(f, "95 % of honest ones", n, x, lo, hi, err) &&
                    figure_add(f, r->id, MARK_LINEPOINTS, n, x, y, err) && honest_line(f, err) &&
                    honest_words(f, l, bin, confidence, err) == ST_OK;
    if (ok) {
        f->x.lo = f->y.lo = 0.0;
        f->x.hi = f->y.hi = 1.0;
        f->square = true;
    }
    return plots_finish(f, ok);
}

/* How many rows have which probability: the bins of the other panel. */
static struct figure *confidence_panel(const struct label_bin *bin, struct err *err)
{
    double x[LABEL_SCORES_BINS], y[LABEL_SCORES_BINS];

    for (size_t b = 0; b < LABEL_SCORES_BINS; b++) {
        x[b] = ((double)b + 0.5) / LABEL_SCORES_BINS;
        y[b] = (double)bin[b].n;
    }
    struct figure *f = figure_new("reliability", "How sure it is", err);
    const bool ok = f && figure_label(f, "probability of the chosen class", "rows", err) == ST_OK &&
                    figure_add(f, "", MARK_BARS, LABEL_SCORES_BINS, x, y, err);
    if (ok) {
        f->x.lo = 0.0;
        f->x.hi = 1.0;
        f->y.whole = true;
    }
    return plots_finish(f, ok);
}

static struct figure *reliability(const char *name, const struct run *r, bool histogram,
                                  struct err *err)
{
    struct figure *f = no_classes(name, r, err);
    struct label_bin bin[LABEL_SCORES_BINS];
    struct plots_labels l;

    if (f || !plots_prediction(r))
        return f;
    enum status rc = plots_labels_open(r, &l, err);
    double *confidence = rc == ST_OK ? mem_calloc(l.n + 1, sizeof *confidence, "plot", err) : NULL;
    if (confidence && fill(&l, confidence, bin, err) == ST_OK)
        f = honest_panel(name, &l, r, bin, confidence, err);
    free(confidence);
    plots_labels_close(&l);
    if (f && histogram) {
        f->next = confidence_panel(bin, err);
        f->across = 2;
    }
    return plots_finish(f, f && (!histogram || f->next));
}

struct figure *plots_labels_honest(struct workspace *ws, struct run *r, const struct args *a,
                                   struct err *err)
{
    (void)ws, (void)a;
    return reliability("reliability", r, false, err);
}

struct figure *plots_labels_calibration(const struct run *r, struct err *err)
{
    return reliability("calibration", r, false, err);
}

static struct figure *plot_reliability(struct workspace *ws, struct run *r, const struct args *a,
                                       struct err *err)
{
    (void)ws, (void)a;
    return reliability("reliability", r, true, err);
}

const struct plot_ops plots_reliability_row = {
    .name = "reliability",
    .title = "Are the probabilities of the chosen classes honest?",
    .axes = "probability of the chosen class, share that is right; rows",
    .help = "Rows in 15 bins of the probability of the class that was chosen, (k/15, (k+1)/15]: "
            "the share that is right over the mean probability, with the range in which 95 % of "
            "honest ones lie, and how many rows each bin has. Below the diagonal they are too "
            "sure.",
    .make = plot_reliability,
};
