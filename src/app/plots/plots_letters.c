/* app/plots/plots_letters.c -- plots of sequences and of all kinds of rows that tell how far rows
 * lie from the training rows: the uncertainty against the number of letters that differ. */
#include "app/plots/plots.h"
#include "app/runs/scoring/scoring.h"
#include "data/kinds/distance.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MOST = 24, ROWS_LEAST = 5 };

/* Rows grouped by the number of letters that differ; distant rows are grouped in steps of
 * `step`. */
struct by_letters {
    size_t n, step;
    double rows[GROUPS_MOST], square[GROUPS_MOST], variance[GROUPS_MOST];
};

/* The number of letters by which each row differs; SIZE_MAX: not computed, because there are too
 * many rows to find the nearest. */
static size_t *letters_of(const struct row_distance *v, const struct prediction *p,
                          struct err *err)
{
    const size_t afford = v->affordable, stride = v->related ? 1 : (p->n + afford - 1) / afford;
    size_t *at = mem_calloc(p->n ? p->n : 1, sizeof *at, "plot", err);

    for (size_t i = 0; at && i < p->n; i++)
        at[i] = i % stride ? SIZE_MAX : distance_of(v, p->row[i]);
    return at;
}

static void gather(const struct prediction *p, const size_t *at, struct by_letters *g)
{
    for (size_t i = 0; i < p->n; i++) {
        const double e = p->y[i] - p->mean[i];
        if (at[i] == SIZE_MAX || !isfinite(e) || at[i] / g->step >= GROUPS_MOST)
            continue;
        const size_t k = at[i] / g->step;
        g->rows[k]++;
        g->square[k] += e * e;
        g->variance[k] += p->sd[i] * p->sd[i];
        g->n = k + 1 > g->n ? k + 1 : g->n;
    }
}

static size_t largest(size_t n, const size_t *at)
{
    size_t most = 0;

    for (size_t i = 0; i < n; i++)
        most = at[i] != SIZE_MAX && at[i] > most ? at[i] : most;
    return most;
}

/* For each group with enough rows: its position, error and sd. */
static size_t curves(const struct by_letters *g, double *x, double *rmse, double *sd)
{
    size_t m = 0;

    for (size_t k = 0; k < g->n; k++) {
        if (g->rows[k] < ROWS_LEAST)
            continue;
        x[m] = ((double)k + 0.5) * (double)g->step - 0.5;
        rmse[m] = sqrt(g->square[k] / g->rows[k]);
        sd[m++] = sqrt(g->variance[k] / g->rows[k]);
    }
    return m;
}

/* The label of the axis. */
static bool label_letters(struct figure *f, const struct row_distance *v, const char *y,
                          struct err *err)
{
    char word[96];

    snprintf(word, sizeof word,
             v->related ? "%ss changed" : "%ss that differ from the nearest training row",
             v->kind->part);
    return figure_label(f, word, y, err) == ST_OK;
}

/* Gives both panels the same axis of letters. */
static void same_axis(struct figure *f, const struct by_letters *test,
                      const struct by_letters *train)
{
    const size_t n = test->n > train->n ? test->n : train->n;
    size_t first = 0;

    while (first + 1 < n && test->rows[first] == 0.0 && train->rows[first] == 0.0)
        first++;
    f->x.whole = true;
    f->x.lo = (double)(first * test->step) - 0.5;
    f->x.hi = (double)(n * test->step) - 0.5;
}

/* The number of rows of both kinds, as the lower panel. */
static struct figure *spread_panel(const struct row_distance *v, const struct by_letters *test,
                                   const struct by_letters *train, struct err *err)
{
    struct figure *f = figure_new("mutations", "How many rows", err);
    double x[GROUPS_MOST], share[2][GROUPS_MOST], sum[2] = { 0, 0 };
    bool ok = f && label_letters(f, v, "share of rows", err);
    const size_t n = test->n > train->n ? test->n : train->n;

    for (size_t k = 0; k < n; k++)
        sum[0] += test->rows[k], sum[1] += train->rows[k];
    for (size_t k = 0; k < n; k++) {
        x[k] = ((double)k + 0.5) * (double)test->step - 0.5;
        share[0][k] = test->rows[k] / fmax(sum[0], 1.0);
        share[1][k] = train->rows[k] / fmax(sum[1], 1.0);
    }
    ok = ok && (sum[1] == 0.0 ||
                figure_add(f, "training rows (sample)", MARK_STEPS, n, x, share[1], err));
    ok = ok && figure_add(f, "held-out rows", MARK_STEPS, n, x, share[0], err);
    if (ok)
        same_axis(f, test, train);
    return plots_finish(f, ok);
}

static enum status conclude(struct figure *f, const struct row_distance *v,
                            const struct by_letters *g, size_t m, const double *x,
                            const double *rmse, const double *sd, struct err *err)
{
    const char *part = v->kind->part;
    double beyond[2] = { 0, 0 }, rows = 0.0;

    for (size_t k = 0; v->related && k < g->n; k++)
        if (k * g->step > v->q99)
            beyond[0] += g->square[k], beyond[1] += g->variance[k], rows += g->rows[k];
    if (m < 2)
        return figure_verdict(f, err,
                              "all held-out rows differ in about %.0f %ss: RMSE %.3g, sd %.3g",
                              x[0], part, rmse[0], sd[0]);
    if (rows < ROWS_LEAST)
        return figure_verdict(
            f, err,
            "from %.0f to %.0f %ss the RMSE goes from %.3g to %.3g, the sd from %.3g to %.3g",
            x[0], x[m - 1], part, rmse[0], rmse[m - 1], sd[0], sd[m - 1]);
    const double ratio = sqrt(beyond[0] / beyond[1]);
    return figure_verdict(f, err,
                          "from %.0f to %.0f %ss the RMSE goes from %.3g to %.3g, the sd from "
                          "%.3g to %.3g: beyond "
                          "the %zu %ss of training errors are %.2g x the sd, %s",
                          x[0], x[m - 1], part, rmse[0], rmse[m - 1], sd[0], sd[m - 1], v->q99,
                          part, ratio,
                          ratio > 1.2   ? "overconfident"
                          : ratio < 0.8 ? "too cautious"
                                        : "honest");
}

static struct figure *draw(const struct row_distance *v, const struct run *r, const char *of,
                           const char *target, const struct prediction *p,
                           const struct prediction *seen, struct err *err)
{
    struct by_letters test = { .n = 0 }, train = { .n = 0 };
    size_t *at = letters_of(v, p, err), *own = at && seen ? letters_of(v, seen, err) : NULL;
    double x[GROUPS_MOST], rmse[GROUPS_MOST], sd[GROUPS_MOST];
    struct figure *f = NULL;
    char title[192];

    if (!at || (seen && !own)) {
        free(at);
        return NULL;
    }
    const size_t a = largest(p->n, at), b = own ? largest(seen->n, own) : 0;
    test.step = train.step = ((a > b ? a : b) + GROUPS_MOST) / GROUPS_MOST;
    gather(p, at, &test);
    if (own)
        gather(seen, own, &train);
    free(at);
    free(own);
    const size_t m = curves(&test, x, rmse, sd);
    if (m == 0) {
        snprintf(title, sizeof title, "There are too few rows with one number of %ss.",
                 v->kind->part);
        return plots_nothing("mutations", title, err);
    }
    snprintf(title, sizeof title, "Uncertainty%s%s %s by %ss %s", of, *of ? "," : " of", r->id,
             v->kind->part, v->related ? "changed from the training consensus" : "that differ");
    f = figure_new("mutations", title, err);
    struct buf label = { 0 };
    buf_puts(&label, "error, sd (");
    text_safe(&label, target ? target : "y", 40);
    buf_puts(&label, ")");
    bool ok = f && label_letters(f, v, buf_str(&label), err) &&
              figure_add(f, p->part == PART_TRAIN ? "RMSE, training rows" : "RMSE, held-out rows",
                         MARK_LINEPOINTS, m, x, rmse, err) &&
              figure_add(f, "predicted sd", MARK_LINEPOINTS, m, x, sd, err);
    buf_free(&label);
    if (ok)
        same_axis(f, &test, &train);
    if (ok)
        ok = conclude(f, v, &test, m, x, rmse, sd, err) == ST_OK;
    const size_t k = ok && seen ? curves(&train, x, rmse, sd) : 0;
    if (ok && k) {
        struct series *s = figure_add(f, "sd, training rows", MARK_LINEPOINTS, k, x, sd, err);
        ok = s != NULL;
        if (s)
            s->dashed = true;
    }
    if (ok && v->related) {
        struct series *s = figure_add_vline(f, "99 % of training", (double)v->q99 + 0.5, err);
        ok = s != NULL;
        if (s)
            s->faint = true;
    }
    if (ok)
        ok = (f->next = spread_panel(v, &test, &train, err)) != NULL;
    return plots_finish(f, ok);
}

static struct figure *plots_mutations(struct workspace *ws, struct run *r, const struct args *a,
                               struct err *err)
{
    struct figure *f = plots_no_prediction("mutations", r, true, err);
    struct prediction one, *p = &one;
    struct row_distance v;
    struct err why = { 0 };
    char of[40];
    size_t target;

    if (f || !plots_prediction(r) || plots_target(ws, r, a, &target, p, err) != ST_OK)
        return f;
    if (!r->data)
        return plots_nothing("mutations", "The data of this run are not loaded. try: open FILE",
                             err);
    const enum status rc = distance_open(r->data, distance_first(r->data), &v, &why);
    if (rc == ST_NOMEM) {
        *err = why;
        return NULL;
    }
    if (rc != ST_OK)
        return plots_nothing("mutations", "No input is a sequence of letters. try: plot sderror",
                             err);
    const bool train = r->has_train && r->train_pred.sd && plots_prediction(r) != &r->train_pred;
    const struct prediction seen = scoring_prediction(&r->train_pred, train ? target : 0);
    run_suffix(r, target, of, sizeof of);
    f = draw(&v, r, of, r->has_enc ? encoding_for(&r->enc, target).target : NULL, p,
             train ? &seen : NULL, err);
    distance_close(&v);
    return f;
}

const struct plot_ops plots_mutations_row = {
    .name = "mutations",
    .title = "Uncertainty by letters that differ",
    .axes = "letters, error and sd",
    .help = "For sequences: error and predicted sd of held-out rows against the number of letters "
            "that differ from the most frequent letter at their position in training (for "
            "unrelated sequences: from the nearest training row). Beyond the numbers of the "
            "training rows a model extrapolates.",
    .make = plots_mutations,
};
