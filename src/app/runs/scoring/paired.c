/* app/runs/scoring/paired.c -- paired differences between scored runs. See paired.h. */
#include "app/runs/scoring/paired.h"

#include "compute/stats/class_scores.h"
#include "base/mem.h"
#include "base/text.h"
#include "data/split_by.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A difference of fewer standard errors than this may be chance. */
static const double chance = 2.0;

/* The second run less the first: below 0 the second is better. */
struct paired {
    size_t rows, groups;     /* groups 0: rows count as independent */
    double rmse, rmse_se;    /* of the RMSE, in units of the target */
    double mse, mse_se;      /* of the mean squared error */
    double nlpd, nlpd_se;    /* in nats a row; NaN where a run has no variances */
    bool classes;            /* then the log loss, and instead of errors: */
    double error, error_se;  /* of the share of rows with another class */
};

/* The groups of rows: numbers below n for each row, and room for n sums.  NULL, NULL: every row is
 * a group of its own. */
struct groups { size_t n; uint32_t *of; double *sum; };

static double mean_of(size_t n, const double *difference, const struct groups *g, double *se)
{
    const double count = (double)(g->of ? g->n : n);
    double mean = 0.0, squares = 0.0;

    for (size_t i = 0; i < n; i++)
        mean += difference[i] / (double)n;
    for (size_t k = 0; g->of && k < g->n; k++)
        g->sum[k] = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double from = difference[i] - mean;
        if (g->of)
            g->sum[g->of[i]] += from;
        else
            squares += from * from;
    }
    for (size_t k = 0; g->of && k < g->n; k++)
        squares += g->sum[k] * g->sum[k];
    *se = count > 1.0 ? sqrt(count / (count - 1.0) * squares) / (double)n : NAN;
    return mean;
}

double paired_mean_for_tests(size_t n, const double *difference, uint32_t *group, size_t ngroups,
                             double *se)
{
    double sum[8];

    return ngroups > 8 ? NAN : mean_of(n, difference, &(struct groups){ ngroups, group, sum }, se);
}

static const struct prediction *predicted(const struct run *r)
{
    return r->has_test ? &r->test_pred : r->has_train ? &r->train_pred : NULL;
}

static enum status not_scored(const struct run *r, struct err *err)
{
    err_set(err, ST_STATE, r->has_score ? "a session keeps the scores of %s and not its predictions"
                                        : "%s was not scored", r->id);
    err_hint(err, "score %s", r->id);
    return ST_STATE;
}

/* OK if both predictions are of the same rows and the same target. */
static enum status same_rows(const struct run *a, const struct run *b, size_t ja, size_t jb,
                             struct err *err)
{
    const struct prediction *p = predicted(a), *q = predicted(b);
    char x[40], y[40];

    if (!p || !q)
        return not_scored(p ? b : a, err);
    if (p->part != q->part || p->n != q->n || memcmp(p->row, q->row, p->n * sizeof *p->row) != 0) {
        err_set(err, ST_STATE, "%s was scored on %zu %s rows and %s on %zu %s rows: not the same",
                a->id, p->n, dataset_part_words[p->part], b->id, q->n,
                dataset_part_words[q->part]);
        err_hint(err, "score both on one split");
        return ST_STATE;
    }
    const char *s = encoding_for(&a->enc, ja).target, *t = encoding_for(&b->enc, jb).target;
    if (strcmp(s, t) != 0)
        return err_set(err, ST_STATE, "%s predicts %s and %s predicts %s", a->id,
                       text_quoted(s, x, sizeof x), b->id, text_quoted(t, y, sizeof y));
    if (memcmp(p->y + ja * p->n, q->y + jb * p->n, p->n * sizeof *p->y) != 0)
        return err_set(err, ST_STATE, "the rows of %s and %s have other values of %s", a->id, b->id,
                       text_quoted(s, x, sizeof x));
    return ST_OK;
}

/* The negative log density of row i in units of the target, so that a model of its logarithm can be
 * compared. */
static double surprise(const struct encoding *one, const struct prediction *p, size_t i)
{
    if (one->nclasses) {
        const double likely = p->classes       ? p->prob[(size_t)p->y[i] * p->n + i]
                              : p->y[i] > 0.5 ? p->mean[i]
                                              : 1.0 - p->mean[i];
        return -log(fmax(likely, CLASS_SCORES_CLIP));
    }
    const double v = p->var_scaled[i], e = p->y_scaled[i] - p->mean_scaled[i];
    const double unit = one->ysd > 0.0 ? one->ysd : 1.0;

    return 0.5 * (log(2.0 * M_PI * v) + e * e / v) + log(unit) +
           (one->yscale == Y_LOG ? log(p->y[i]) : 0.0);
}

/* The view of target j, as scoring_prediction makes it. */
static struct prediction of_target(const struct run *r, size_t j)
{
    struct prediction p = *predicted(r);

    p.y += j * p.n;
    p.mean += j * p.n;
    p.y_scaled += j * p.n;
    p.mean_scaled += j * p.n;
    p.var_scaled = p.var_scaled ? p.var_scaled + j * p.n : NULL;
    return p;
}

/* Numbers the groups that have a row in a prediction, from those of the table. */
static void number_groups(const struct prediction *p, const uint32_t *all, uint32_t *number,
                          struct groups *g)
{
    for (size_t i = 0; i < p->n; i++)
        number[all[p->row[i]]] = UINT32_MAX;
    for (size_t i = 0; i < p->n; i++) {
        uint32_t *to = &number[all[p->row[i]]];
        if (*to == UINT32_MAX)
            *to = (uint32_t)g->n++;
        g->of[i] = *to;
    }
}

/* The groups of the rows, if the split keeps groups together. */
static enum status groups_of(const struct run *r, const struct prediction *p, struct groups *g,
                             struct err *err)
{
    const struct split *s = r->data ? &r->data->split : NULL;
    const size_t col = s && s->by == SPLIT_BY_GROUP && s->column
                           ? table_find(r->data->table, s->column) : SIZE_MAX;
    uint32_t *all = NULL;
    size_t n = 0;

    *g = (struct groups){ 0 };
    if (col == SIZE_MAX)
        return ST_OK;
    const enum status rc = split_groups(r->data->table, col, &all, &n, NULL, err);
    if (rc != ST_OK)
        return rc;
    uint32_t *number = mem_calloc(n, sizeof *number, "groups", err);
    g->of = number ? mem_calloc(p->n, sizeof *g->of, "groups", err) : NULL;
    g->sum = g->of ? mem_calloc(n, sizeof *g->sum, "groups", err) : NULL;
    if (g->sum)
        number_groups(p, all, number, g);
    free(number);
    free(all);
    if (g->sum)
        return ST_OK;
    free(g->of);
    return ST_NOMEM;
}

/* 1 where the predicted class is another one. */
static double is_wrong(const struct prediction *p, size_t i)
{
    return run_prediction_class(p, i) != p->y[i];
}

static enum status make(const struct run *a, const struct run *b, size_t ja, size_t jb,
                        struct paired *out, struct err *err)
{
    enum status rc = same_rows(a, b, ja, jb, err);

    *out = (struct paired){ .nlpd = NAN, .nlpd_se = NAN };
    if (rc != ST_OK)
        return rc;
    const struct prediction p = of_target(a, ja), q = of_target(b, jb);
    const struct encoding of_a = encoding_for(&a->enc, ja), of_b = encoding_for(&b->enc, jb);
    double *d = mem_calloc(p.n, sizeof *d, "differences", err), first = 0.0, second = 0.0;
    struct groups g;
    rc = d ? groups_of(a, &p, &g, err) : ST_NOMEM;
    if (rc != ST_OK) {
        free(d);
        return rc;
    }
    out->rows = p.n;
    out->groups = g.n;
    out->classes = of_a.nclasses > 0;
    for (size_t i = 0; out->classes && i < p.n; i++)
        d[i] = is_wrong(&q, i) - is_wrong(&p, i);
    if (out->classes)
        out->error = mean_of(p.n, d, &g, &out->error_se);
    for (size_t i = 0; !out->classes && i < p.n; i++) {
        const double e = p.y[i] - p.mean[i], f = q.y[i] - q.mean[i];
        first += e * e / (double)p.n;
        second += f * f / (double)p.n;
        d[i] = f * f - e * e;
    }
    out->mse = mean_of(p.n, d, &g, &out->mse_se);
    /* b - a = (b^2 - a^2) / (b + a) */
    const double sum = sqrt(first) + sqrt(second);
    out->rmse = sum > 0.0 ? out->mse / sum : 0.0;
    out->rmse_se = sum > 0.0 ? out->mse_se / sum : 0.0;
    if (out->classes)
        out->mse = out->mse_se = out->rmse = out->rmse_se = NAN;
    if (out->classes || (p.var_scaled && q.var_scaled)) {
        for (size_t i = 0; i < p.n; i++)
            d[i] = surprise(&of_b, &q, i) - surprise(&of_a, &p, i);
        out->nlpd = mean_of(p.n, d, &g, &out->nlpd_se);
    }
    free(g.of);
    free(g.sum);
    free(d);
    return ST_OK;
}

/* "better by 0.012 +- 0.004 in RMSE", with what may be chance. */
static void words_of(struct rec *r, const char *name, double difference, double se)
{
    rec_text(r, "%s ", name);
    if (difference == 0.0)
        rec_text(r, "equal");
    else
        rec_text(r, "%s by %.3g", difference < 0.0 ? "better" : "worse", fabs(difference));
    if (isfinite(se))
        rec_text(r, " +- %.2g%s", se, fabs(difference) < chance * se ? " (within chance)" : "");
}

static void tell_one(const struct run *a, const struct run *b, const struct paired *p,
                     struct rec *r)
{
    rec_int(r, "rows", (int64_t)p->rows);
    if (p->groups)
        rec_int(r, "groups", (int64_t)p->groups);
    rec_num(r, "rmse_difference", p->rmse);
    rec_num(r, "rmse_se", p->rmse_se);
    rec_num(r, "mse_difference", p->mse);
    rec_num(r, "mse_se", p->mse_se);
    rec_num(r, "nlpd_difference", p->nlpd);
    rec_num(r, "nlpd_se", p->nlpd_se);
    if (p->classes) {
        rec_num(r, "error_difference", p->error);
        rec_num(r, "error_se", p->error_se);
    }
    rec_text(r, "\n%s against %s on the same %zu rows", b->id, a->id, p->rows);
    if (p->groups)
        rec_text(r, " of %zu group%s", p->groups, p->groups == 1 ? "" : "s");
    rec_text(r, ": ");
    words_of(r, p->classes ? "error rate" : "RMSE", p->classes ? p->error : p->rmse,
             p->classes ? p->error_se : p->rmse_se);
    if (isfinite(p->nlpd)) {
        rec_text(r, ", ");
        words_of(r, p->classes ? "log loss" : "NLPD", p->nlpd, p->nlpd_se);
    }
    if (p->groups == 1)
        rec_text(r, "; one group has no standard error");
}

enum status paired_tell(const struct run *const *run, const size_t *target, size_t n,
                        struct rec *r, struct err *err)
{
    size_t scored = 0;

    for (size_t i = 0; i < n; i++)
        scored += run[i]->has_score;
    rec_array(r, "paired");
    for (size_t i = 1; scored > 1 && i < n; i++) {
        struct paired p;
        struct err why = { 0 };
        const enum status rc = make(run[0], run[i], target[0], target[i], &p, &why);
        if (rc == ST_NOMEM) {
            *err = why;
            return rc;
        }
        rec_item(r);
        rec_str(r, "run", run[i]->id);
        rec_str(r, "with", run[0]->id);
        if (rc == ST_OK) {
            tell_one(run[0], run[i], &p, r);
        } else {
            rec_str(r, "skipped", why.msg);
            rec_text(r, "\n%s and %s are not compared row by row: ", run[i]->id, run[0]->id);
            rec_safe(r, why.msg);
            if (*why.hint)
                rec_text(r, " (try: %s)", why.hint);
        }
        rec_close(r);
    }
    rec_array_close(r);
    return ST_OK;
}
