/* app/plots/plots_data.c -- plots of columns, standardised residuals, components and clusters. */
#include "app/plots/plots.h"

#include "app/runs/scoring/scoring.h"
#include "app/runs/clustering.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The plot pairs. */

enum { PAIR_ROWS = 2000, PAIR_PANELS = 12 };

/* An evenly spaced sample of the rows, the same for all columns. */
static size_t sample_rows(size_t n, size_t *row)
{
    const size_t k = n < PAIR_ROWS ? n : PAIR_ROWS;

    for (size_t i = 0; i < k; i++)
        row[i] = (size_t)((double)i * (double)n / (double)k);
    return k;
}

static double cell(const struct column *c, size_t row)
{
    return c->type == COL_REAL                                            ? column_at(c, row)
           : c->type == COL_CATEGORY && c->code[row] != UINT32_MAX ? (double)c->code[row]
                                                                         : NAN;
}

static double correlation(size_t n, const double *x, const double *y)
{
    double m = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;

    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]) && isfinite(y[i])) {
            m++;
            const double dx = x[i] - sx, dy = y[i] - sy;
            sx += dx / m;
            sy += dy / m;
            sxx += dx * (x[i] - sx);
            syy += dy * (y[i] - sy);
            sxy += dx * (y[i] - sy);
        }
    return sxx > 0 && syy > 0 ? sxy / sqrt(sxx * syy) : NAN;
}

static bool level_names(struct figure *f, const struct column *c, struct err *err)
{
    const size_t n = c->nlevels < 24 ? c->nlevels : 24;

    if (c->type != COL_CATEGORY || c->nlevels > 24)
        return true;
    return figure_names(&f->x, n, (const char *const *)c->level, err) == ST_OK;
}

static struct figure *pair_panel(const struct table *t, size_t xc, size_t yc, size_t n,
                                 const size_t *row, double *r, struct err *err)
{
    double *x = mem_calloc(2 * n + 1, sizeof *x, "plot", err), *y = x + n;
    struct buf name = { 0 }, target = { 0 }, title = { 0 };

    if (!x)
        return NULL;
    for (size_t i = 0; i < n; i++)
        x[i] = cell(&t->col[xc], row[i]), y[i] = cell(&t->col[yc], row[i]);
    *r = t->col[xc].type == COL_REAL && t->col[yc].type == COL_REAL ? correlation(n, x, y) : NAN;
    text_safe(&name, t->col[xc].name, 24);
    text_safe(&target, t->col[yc].name, 24);
    if (isfinite(*r))
        buf_printf(&title, "correlation %.2f", fabs(*r) < 0.005 ? 0.0 : *r);
    struct figure *f = figure_new("pairs", buf_str(&title), err);
    const bool ok = f && figure_label(f, buf_str(&name), buf_str(&target), err) == ST_OK
                    && level_names(f, &t->col[xc], err)
                    && figure_add(f, "", MARK_POINTS, n, x, y, err);
    buf_free(&name), buf_free(&target), buf_free(&title);
    free(x);
    return plots_finish(f, ok);
}

/* The columns that were named, or every numeric and categorical input. */
static size_t pair_columns(const struct dataset *d, const struct args *a, size_t *pick,
                           struct err *err)
{
    const size_t asked = a ? args_many(a, "runs") : 0;
    size_t n = 0;

    for (size_t i = 0; i < asked && n < PAIR_PANELS; i++) {
        pick[n] = table_find(d->table, args_many_at(a, "runs", i));
        if (pick[n++] == SIZE_MAX) {
            err_set(err, ST_NOT_FOUND, "there is no column %s", args_many_at(a, "runs", i));
            err_hint(err, "cols");
            return SIZE_MAX;
        }
    }
    for (size_t j = 0; !asked && j < d->table->ncols && n < PAIR_PANELS; j++)
        if (d->role[j] == ROLE_INPUT &&
            (d->table->col[j].type == COL_REAL || d->table->col[j].type == COL_CATEGORY))
            pick[n++] = j;
    return n;
}

static struct figure *plots_pairs(struct workspace *ws, struct run *r, const struct args *a,
                           struct err *err)
{
    struct dataset *d = ws_dataset(ws, NULL, NULL);
    size_t pick[PAIR_PANELS], row[PAIR_ROWS], target = SIZE_MAX, best = 0;
    struct figure *first = NULL, **tail = &first;
    double most = 0;

    (void)r;
    if (!d)
        return plots_nothing("pairs", "No data is loaded. try: demo co2, or open FILE.csv", err);
    const char *named = a ? args_text(a, "target") : NULL;
    for (size_t j = d->table->ncols; j-- > 0;)
        if (d->role[j] == ROLE_TARGET && (!named || !strcmp(named, d->table->col[j].name)))
            target = j;
    if (target == SIZE_MAX)
        return plots_nothing("pairs", "No column is the target. try: cols NAME role=target", err);
    const size_t n = pair_columns(d, a, pick, err), rows = sample_rows(d->table->n, row);
    if (n == SIZE_MAX)
        return NULL;
    if (!n)
        return plots_nothing("pairs",
                             "No column of numbers or categories is an input. try: cols NAME "
                             "role=input",
                             err);
    for (size_t i = 0; i < n; i++) {
        double c;
        *tail = pair_panel(d->table, pick[i], target, rows, row, &c, err);
        if (!*tail) {
            figure_free(first);
            return NULL;
        }
        if (fabs(c) > most)
            most = fabs(c), best = pick[i];
        tail = &(*tail)->next;
    }
    first->across = n <= 3 ? n : n <= 8 ? 3 : 4;
    struct buf b = { 0 };
    if (most > 0) {
        text_safe(&b, d->table->col[best].name, 24);
        buf_printf(&b, " has the largest correlation with the target (%.2f in size); ",
                   most);
    }
    const bool ok = figure_verdict(first, err, "%s%zu input%s, %zu of %zu rows", buf_str(&b), n,
                                   n == 1 ? "" : "s", rows, d->table->n) == ST_OK;
    buf_free(&b);
    return plots_finish(first, ok);
}

const struct plot_ops plots_pairs_row = {
    .name = "pairs",
    .title = "Inputs against the target",
    .axes = "input, target",
    .help = "One panel for each input, with its correlation if it is a number; at most 2000 rows "
            "and 12 panels. Name columns to choose them.",
    .make = plots_pairs,
    .columns = true,
};

/* Standardised residuals. */

static struct figure *plots_zscore(struct workspace *ws, struct run *r, const struct args *a,
                            struct err *err)
{
    struct figure *f = plots_no_prediction("zscore", r, true, err);
    struct prediction one, *p = &one;
    size_t target, n = 0, tails = 0;
    char title[120], of[40];

    if (f || !plots_prediction(r) || plots_target(ws, r, a, &target, p, err) != ST_OK)
        return f;
    double *z = mem_calloc(2 * p->n + 1, sizeof *z, "plot", err), *q = z + p->n, mean = 0, sd = 0;
    if (!z)
        return NULL;
    for (size_t i = 0; i < p->n; i++) {
        const double v = (p->y_scaled[i] - p->mean_scaled[i]) / sqrt(p->var_scaled[i]);
        if (isfinite(v))
            z[n++] = v;
    }
    qsort(z, n, sizeof *z, by_value);
    for (size_t i = 0; i < n; i++) {
        q[i] = metrics_normal_quantile(((double)i + 0.5) / (double)n);
        tails += fabs(z[i]) > 3;
        mean += z[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        sd += (z[i] - mean) * (z[i] - mean) / (double)n;
    sd = sqrt(sd);
    snprintf(title, sizeof title, "Standardised residuals%s%s %s against a normal law",
             run_suffix(r, target, of, sizeof of), *of ? "," : " of", r->id);
    f = figure_new("zscore", title, err);
    const double ends[2] = { n ? fmin(q[0], z[0]) : -3, n ? fmax(q[n - 1], z[n - 1]) : 3 };
    bool ok = f && figure_label(f, "normal quantile", "(observed - mean) / sd", err) == ST_OK
              && figure_add(f, "rows", MARK_POINTS, n, q, z, err);
    struct series *s = ok ? figure_add(f, "normal", MARK_LINE, 2, ends, ends, err) : NULL;
    ok = s != NULL;
    if (s) {
        s->faint = true;
        ok = figure_verdict(
                 f, err,
                 "mean %.2f, sd %.2f (0 and 1 are right); %zu of %zu beyond 3 sd (a normal "
                 "law has %.1f): %s",
                 mean, sd, tails, n, 0.0027 * (double)n,
                 (double)tails > 3 + 0.0081 * (double)n ? "heavy tails"
                 : sd > 1.2                             ? "overconfident"
                 : sd < 0.8                             ? "too cautious"
                                                        : "as a normal law") == ST_OK;
    }
    free(z);
    return plots_finish(f, ok);
}

const struct plot_ops plots_zscore_row = {
    .name = "zscore",
    .title = "Standardised residuals against a normal law",
    .axes = "normal quantile, residual in sd",
    .help = "On the diagonal the errors are as the model says; steeper: overconfident; bent at "
            "the ends: outliers.",
    .make = plots_zscore,
    .of_target = true,
};

/* All of check in one figure: coverage, residuals, error by sd, sd of test and training rows. */
static struct figure *plots_check(struct workspace *ws, struct run *r, const struct args *a,
                           struct err *err)
{
    typedef struct figure *maker(struct workspace *, struct run *, const struct args *,
                                 struct err *);
    static maker *const numbers[] = { plots_calibration, plots_zscore, plots_sderror, plots_sd,
                                      NULL };
    static maker *const two[] = { plots_calibration, plots_roc, plots_pr, NULL };
    static maker *const several[] = { plots_labels_honest, plots_confusion, plots_roc, plots_pr,
                                      NULL };
    const struct prediction *p = plots_prediction(r);
    maker *const *part = p && p->classes ? several
                         : r && r->has_enc && r->enc.nclasses ? two
                                                              : numbers;
    struct figure *first = plots_no_prediction("check", r, true, err), **tail = &first;
    struct buf b = { 0 };

    if (first || !plots_prediction(r))
        return first;
    for (size_t i = 0; part[i]; i++) {
        *tail = part[i](ws, r, a, err);
        if (!*tail) {
            figure_free(first);
            buf_free(&b);
            return NULL;
        }
        const char *all = (*tail)->verdict, *end = all ? strrchr(all, ':') : NULL;
        if (i == 0 && all)
            buf_puts(&b, all);
        else if (part != numbers)
            buf_printf(&b, "; %.*s", (int)strcspn(all ? all : "", ":,("), all ? all : "");
        else if (end) /* the conclusion of each panel, without its numbers */
            buf_printf(&b, "; %s%s", i == 1 ? "residuals" : "sd", end);
        (*tail)->square = false;
        free((*tail)->verdict);
        (*tail)->verdict = NULL;
        tail = &(*tail)->next;
    }
    char *name = mem_strdup("check", err);
    bool ok = name != NULL;
    if (name) {
        free(first->name);
        first->name = name;
        first->across = 2;
        ok = figure_verdict(first, err, "%s", buf_str(&b)) == ST_OK;
    }
    buf_free(&b);
    return plots_finish(first, ok);
}

const struct plot_ops plots_check_row = {
    .name = "check",
    .title = "All of check at a glance",
    .axes = "four panels",
    .help = "Coverage, standardised residuals, error against sd, sd of both kinds of rows.",
    .make = plots_check,
    .of_target = true,
};

/* Components and clusters. */

static struct figure *plots_scree(struct workspace *ws, struct run *r, const struct args *a,
                           struct err *err)
{
    const struct pca_state *p = clustering_state_of(ws);
    double sum = 0;
    size_t half = 0;

    (void)r, (void)a;
    if (!p->have)
        return plots_nothing("scree", "There are no components yet. try: pca dims=20", err);
    const size_t n = p->k.p;
    double *x = mem_calloc(3 * n + 1, sizeof *x, "plot", err), *share = x + n, *all = share + n;
    if (!x)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)i + 1;
        share[i] = p->k.ev[i] / p->k.total;
        sum += share[i];
        all[i] = sum;
        half = !half && sum >= 0.5 ? i + 1 : half;
    }
    struct figure *f = figure_new("scree", "Share of the variance by component", err);
    bool ok = f && figure_label(f, "component", "share of the variance", err) == ST_OK
              && figure_add(f, "each", MARK_BARS, n, x, share, err)
              && figure_add(f, "together", MARK_LINEPOINTS, n, x, all, err);
    if (ok)
        f->x.whole = true, f->y.lo = 0;
    char upto[64];
    if (half)
        snprintf(upto, sizeof upto, "%zu hold half of it", half);
    else
        snprintf(upto, sizeof upto, "more are needed for half of it: pca dims=%zu",
                 2 * n < 500 ? 2 * n : 500);
    ok = ok && figure_verdict(f, err, "%zu components hold %.1f %% of the variance of %zu rows; %s",
                              n, 100 * sum, p->n, upto) == ST_OK;
    free(x);
    return plots_finish(f, ok);
}

const struct plot_ops plots_scree_row = {
    .name = "scree",
    .title = "Share of the variance by component",
    .axes = "component, share",
    .help = "Each component's share of the variance in feature space, and the cumulative share.",
    .make = plots_scree,
};

static struct figure *plots_silhouette(struct workspace *ws, struct run *r, const struct args *a,
                                struct err *err)
{
    const struct pca_state *p = clustering_state_of(ws);
    size_t best = 0;

    (void)r, (void)a;
    if (!p->have_clusters || p->nk < 1)
        return plots_nothing("silhouette", "Nothing has been clustered yet. try: cluster k=2..12",
                             err);
    double *x = mem_calloc(p->nk, sizeof *x, "plot", err);
    if (!x)
        return NULL;
    for (size_t i = 0; i < p->nk; i++) {
        x[i] = (double)p->k_tried[i];
        best = p->silhouettes[i] > p->silhouettes[best] ? i : best;
    }
    struct figure *f = figure_new("silhouette", "How many clusters: mean silhouette", err);
    bool ok = f && figure_label(f, "clusters", "silhouette", err) == ST_OK
              && figure_add(f, "", MARK_LINEPOINTS, p->nk, x, p->silhouettes, err)
              && figure_add_vline(f, "best", x[best], err);
    if (ok)
        f->x.whole = true;
    const double s = p->silhouettes[best];
    ok = ok && figure_verdict(f, err, "%zu clusters have the best silhouette, %.2f: %s",
                              p->k_tried[best], s,
                              s > 0.5    ? "well apart"
                              : s > 0.25 ? "partly apart"
                                         : "no clear groups") == ST_OK;
    free(x);
    return plots_finish(f, ok);
}

const struct plot_ops plots_silhouette_row = {
    .name = "silhouette",
    .title = "How many clusters",
    .axes = "clusters, silhouette",
    .help = "The mean silhouette for each number of clusters that cluster tried: 1 is well "
            "separated, 0 not at all.",
    .make = plots_silhouette,
};
