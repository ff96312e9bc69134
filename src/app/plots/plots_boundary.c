/* app/plots/plots_boundary.c -- the classes that a model predicts over a plane of two inputs: the
 * likeliest one and its probability, the lines between them, and the training rows. */
#include "app/plots/plots_boundary.h"

#include "app/plots/plots.h"
#include "app/plots/plots_labels.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/likelihood/temperature.h"
#include "compute/stats/label_scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 7, ROWS_MOST = 1500 }; /* the eighth colour is that of the lines */

/* Probabilities of all classes at the places: classes x n. */
static enum status probabilities(const struct plots_boundary_plane *p, size_t n, double *prob,
                                 struct job *job, struct err *err)
{
    const struct tools on = { job->backend, job->pool, &job->ctl };
    const size_t C = p->m->kind->several ? p->m->t : 1;
    double *mean = mem_calloc(2 * C, (n + 1) * sizeof *mean, "functions", err);
    struct source_array src;
    enum status rc = mean ? ST_OK : ST_NOMEM;

    source_array_init(&src, p->inputs, n, p->enc->d, p->enc->d);
    if (rc == ST_OK)
        rc = model_predict(p->m, &src.base, mean, p->m->kind->margin ? NULL : mean + C * n, &on,
                           err);
    const struct temperature_rows rows = { .of = p->m->likelihood, .n = n,
                                           .classes = p->enc->nclasses, .mean = mean,
                                           .var = mean ? mean + C * n : NULL, .pool = job->pool };
    if (rc == ST_OK && C > 1)
        rc = temperature_apply(&rows, p->m->temperature, prob, err);
    else if (rc == ST_OK)
        model_probabilities(p->m, n, mean, mean + n, prob + n);
    for (size_t i = 0; rc == ST_OK && C == 1 && i < n; i++)
        prob[i] = 1.0 - prob[n + i];
    free(mean);
    return rc;
}

/* The colour of each class: its number where there are few, otherwise its place among those with
 * the largest regions; -1: grey. */
struct hues { size_t classes, k, which[NAMED]; int of[TARGETS_MOST]; };

static enum status choose_hues(const struct plots_boundary_plane *p, const double *prob,
                               struct hues *h, struct err *err)
{
    const size_t n = p->nx * p->ny;
    double *likeliest = mem_calloc(n, sizeof *likeliest, "plot", err);

    if (!likeliest)
        return ST_NOMEM;
    h->classes = p->enc->nclasses;
    for (size_t i = 0; i < n; i++)
        likeliest[i] = (double)label_scores_class(n, h->classes, prob, i);
    h->k = plots_labels_frequent(n, h->classes, likeliest, NAMED, h->which);
    free(likeliest);
    for (size_t c = 0; c < h->classes; c++)
        h->of[c] = h->classes <= NAMED ? (int)c : -1;
    for (size_t j = 0; h->classes > NAMED && j < h->k; j++)
        h->of[h->which[j]] = (int)j;
    return ST_OK;
}

/* Regions: the likeliest class (hue) and its probability (height). */
static enum status add_regions(struct figure *f, const struct plots_boundary_plane *p,
                               const struct hues *h, const double *prob, struct err *err)
{
    const size_t n = p->nx * p->ny;
    double *z = mem_calloc(n, sizeof *z, "plot", err);
    int *hue = mem_calloc(n, sizeof *hue, "plot", err);
    const struct figure_surface of = { p->nx, p->ny, p->x, p->y, z };
    size_t sure = 0;

    for (size_t i = 0; z && hue && i < n; i++) {
        const size_t c = label_scores_class(n, h->classes, prob, i);
        z[i] = prob[c * n + i];
        hue[i] = h->of[c];
        sure += z[i] >= 0.9;
    }
    struct series *s = z && hue ? figure_add_cells(f, "probability of the likeliest class", &of,
                                                   err) : NULL;
    enum status rc = s ? figure_classes(s, hue, err) : ST_NOMEM;
    free(z);
    free(hue);
    return rc != ST_OK ? rc
                       : figure_verdict(f, err, "the likeliest class has a probability of 0.9 or "
                                        "more in %.0f %% of this plane%s",
                                        100.0 * (double)sure / (double)n,
                                        p->enc->d > 2 ? "; all other inputs at typical values"
                                                      : "");
}

/* The lines where the likeliest class changes: for each class the contour at 0 of its probability
 * less the greatest of the others. */
static enum status add_lines(struct figure *f, const struct plots_boundary_plane *p, size_t classes,
                             const double *prob, struct err *err)
{
    const size_t n = p->nx * p->ny;
    double *z = mem_calloc(n, sizeof *z, "plot", err), *xy = NULL;
    struct figure *each = z ? figure_new("boundary", "", err) : NULL;
    const struct figure_surface of = { p->nx, p->ny, p->x, p->y, z };
    size_t points = 0, at = 0;
    bool ok = each != NULL;

    for (size_t c = classes == 2; ok && c < classes; c++) {
        for (size_t i = 0; i < n; i++) {
            double other = 0.0;
            for (size_t o = 0; o < classes; o++)
                other = o != c ? fmax(other, prob[o * n + i]) : other;
            z[i] = prob[c * n + i] - other;
        }
        const struct series *s = figure_add_contour(each, "", &of, 0.0, err);
        ok = s != NULL;
        points += ok ? s->n : 0;
    }
    xy = ok ? mem_calloc(2 * points + 1, sizeof *xy, "plot", err) : NULL;
    for (size_t k = 0; xy && k < each->ns; k++) {
        const struct series *s = &each->s[k];
        memcpy(xy + at, s->x, s->n * sizeof *xy);
        memcpy(xy + points + at, s->y, s->n * sizeof *xy);
        at += s->n;
    }
    struct series *s = xy ? figure_add(f, "boundary", MARK_LINE, points, xy, xy + points, err)
                          : NULL;
    if (s)
        s->color = 7;
    free(xy);
    free(z);
    figure_free(each);
    return s ? ST_OK : ST_NOMEM;
}

/* An even sample of the training rows whose class has a colour of its own, or has none. */
static enum status add_some(struct figure *f, const struct plots_boundary_plane *p,
                            const struct hues *h, bool named, struct err *err)
{
    double *x = mem_calloc(2 * p->n + 1, sizeof *x, "plot", err), *y = x ? x + p->n : NULL;
    int *hue = mem_calloc(p->n + 1, sizeof *hue, "plot", err);
    const size_t every = (p->n + ROWS_MOST - 1) / ROWS_MOST;
    struct buf names = { 0 };
    size_t k = 0;

    for (size_t i = 0; x && hue && i < p->n; i += every) {
        const int c = p->label[i] >= 0.0 ? h->of[(size_t)p->label[i]] : -2;
        if (c == -2 || (c >= 0) != named)
            continue;
        x[k] = p->at[0][i];
        y[k] = p->at[1][i];
        hue[k++] = c;
    }
    enum status rc = x && hue ? ST_OK : ST_NOMEM;
    if (rc == ST_OK && k > 0) {
        struct series *s = figure_add(f, named ? "" : "other classes", MARK_POINTS, k, x, y, err);
        rc = s ? ST_OK : ST_NOMEM;
        if (s && !named)
            s->faint = true;
        for (size_t c = 0; c < (h->classes <= NAMED ? h->classes : h->k); c++) {
            text_safe(&names, p->enc->classes[h->classes <= NAMED ? c : h->which[c]], 20);
            buf_putc(&names, '\n');
        }
        if (rc == ST_OK && named)
            rc = figure_classes(s, hue, err);
        if (rc == ST_OK && named)
            rc = figure_class_names(s, buf_str(&names), err);
    }
    buf_free(&names);
    free(x), free(hue);
    return rc;
}

static enum status add_words(struct figure *f, const struct plots_boundary_plane *p,
                             struct err *err)
{
    struct buf x = { 0 }, y = { 0 };

    text_safe(&x, p->name[0], 40);
    text_safe(&y, p->name[1], 40);
    const enum status rc = figure_label(f, buf_str(&x), buf_str(&y), err);
    buf_free(&x), buf_free(&y);
    return rc;
}

struct figure *plots_boundary_figure(const struct plots_boundary_plane *p, struct job *job,
                                     struct err *err)
{
    const size_t n = p->nx * p->ny;
    double *prob = mem_calloc(p->enc->nclasses, (n + 1) * sizeof *prob, "probabilities", err);
    struct buf title = { 0 };
    struct figure *f = NULL;
    struct hues h;

    if (prob && probabilities(p, n, prob, job, err) == ST_OK) {
        buf_printf(&title, "Classes of %s (paler: less sure), ", p->run);
        text_safe(&title, p->enc->target, 30);
        f = figure_new("boundary", buf_str(&title), err);
    }
    const bool ok = f && choose_hues(p, prob, &h, err) == ST_OK &&
                    add_words(f, p, err) == ST_OK &&
                    add_regions(f, p, &h, prob, err) == ST_OK &&
                    add_some(f, p, &h, false, err) == ST_OK &&
                    add_some(f, p, &h, true, err) == ST_OK &&
                    add_lines(f, p, h.classes, prob, err) == ST_OK &&
                    (p->enc->d <= 2 ||
                     figure_verdict(f, err, "all other inputs at typical values: rows differ from "
                                            "the plane in these") == ST_OK);
    buf_free(&title);
    free(prob);
    return plots_finish(f, ok);
}

static struct figure *kept_boundary(struct workspace *ws, struct run *r, const struct args *a,
                                    struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "boundary", "No boundary has been computed yet. try: plot boundary", err);
}

const struct plot_ops plots_boundary_row = {
    .name = "boundary",
    .title = "The predicted classes over two inputs",
    .axes = "input, another input",
    .help = "Of a fit that predicts classes: the likeliest one over the plane of two numeric "
            "inputs (default: the first two), stronger where it is surer, the lines between them, "
            "and training rows. Other numbers stand at their median, categories at their most "
            "frequent level, or all at those of a row (row:12).",
    .make = kept_boundary,
    .columns = true,
    .prepare = plots_boundary,
};
