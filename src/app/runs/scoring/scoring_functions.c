/* app/runs/scoring/scoring_functions.c -- what `predict` writes behind its columns: values of
 * functions drawn from the posterior (samples=), quantiles of a new observation (quantiles=) and
 * the chance that one exceeds a value (above=). */
#include "app/runs/scoring/scoring_impl.h"

#include "compute/models/functions.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads "5,50,95": percentages between 0 and 100. */
enum status scoring_functions_quantiles(const char *list, struct scoring_more *m, struct err *err)
{
    m->nquantiles = 0;
    for (const char *p = list; p; p = *p ? p + 1 : NULL) {
        char *end;
        const double q = strtod(p, &end);
        if (end == p || (*end && *end != ',') || !(q > 0.0 && q < 100.0) ||
            m->nquantiles == SCORING_QUANTILES) {
            err_named(err, ST_RANGE, "quantiles",
                      m->nquantiles == SCORING_QUANTILES
                          ? "quantiles=%.60s: at most %d of them"
                          : "quantiles=%.60s: percentages between 0 and 100 are expected, at most "
                            "%d of them",
                      list, (int)SCORING_QUANTILES);
            err_hint(err, "predict quantiles=5,50,95");
            return ST_RANGE;
        }
        m->quantile[m->nquantiles++] = q;
        p = end;
    }
    return ST_OK;
}

enum status scoring_functions_draw(struct scoring *s, const struct encoded *e, struct job *job,
                                   struct err *err)
{
    const struct tools on = { job->backend, job->pool, &job->ctl };
    const size_t S = s->more.samples, t = s->pred.t;
    enum status rc = ST_OK;

    if (S == 0)
        return ST_OK;
    s->more.sample = mem_calloc(t * S, (e->n ? e->n : 1) * sizeof *s->more.sample, "samples", err);
    if (!s->more.sample)
        return ST_NOMEM;
    for (size_t j = 0; rc == ST_OK && j < t; j++) {
        const struct functions_key key = { .seed = s->more.seed, .target = j, .count = S };
        const struct encoding one = encoding_for(&s->enc, j);
        double *F = s->more.sample + j * S * e->n;
        struct functions *f = NULL;
        rc = functions_new(s->model, &key, &on, &f, err);
        if (rc == ST_OK)
            rc = functions_values(f, &e->base, F, &on, err);
        for (size_t i = 0; rc == ST_OK && i < S * e->n; i++)
            F[i] = encoding_value(&one, F[i]);
        functions_free(f);
    }
    return rc;
}

/* Cells. */

static void named(struct buf *b, const struct scoring *s, size_t j, const char *name)
{
    struct buf all = { 0 };

    if (encoding_targets(&s->enc) > 1)
        buf_printf(&all, "%s_%s", name, encoding_for(&s->enc, j).target);
    else
        buf_puts(&all, name);
    buf_putc(b, ',');
    text_csv(b, buf_str(&all));
    buf_free(&all);
}

static void heads(struct buf *b, const struct scoring *s, size_t j)
{
    const struct scoring_more *m = &s->more;
    char name[48];

    for (size_t k = 0; k < m->samples; k++) {
        snprintf(name, sizeof name, "sample%zu", k + 1);
        named(b, s, j, name);
    }
    for (size_t k = 0; k < m->nquantiles; k++) {
        snprintf(name, sizeof name, "q%.12g", m->quantile[k]);
        named(b, s, j, name);
    }
    if (m->has_above)
        named(b, s, j, "above");
}

static void number(struct buf *b, double v)
{
    buf_putc(b, ',');
    if (!isnan(v))
        buf_json_double(b, v);
}

/* Quantiles and the chance are taken in scaled units, and so are exact under y=log, too; they are
 * those of the intervals (compute/stats/reach.h). */
void scoring_functions_cells(struct buf *b, const struct scoring *s, size_t i)
{
    const struct scoring_more *m = &s->more;

    for (size_t j = 0; j < encoding_targets(&s->enc); j++) {
        if (i == SIZE_MAX) {
            heads(b, s, j);
            continue;
        }
        const struct encoding one = encoding_for(&s->enc, j);
        const size_t n = s->pred.n, at = j * n + i;
        for (size_t k = 0; k < m->samples; k++)
            number(b, m->sample[(j * m->samples + k) * n + i]);
        if (!s->pred.var_scaled)
            continue;
        const double mean = s->pred.mean_scaled[at], sd = sqrt(s->pred.var_scaled[at]);
        const struct reach *reach = s->pred.reach + j;
        for (size_t k = 0; k < m->nquantiles; k++)
            number(b, encoding_value(
                          &one, mean + sd * reach_from_normal(reach, metrics_normal_quantile(
                                                                         m->quantile[k] / 100.0))));
        if (m->has_above)
            number(b, metrics_normal_cdf(reach_to_normal(
                          reach, (mean - encoding_scaled(&one, m->above)) / sd)));
    }
}

void scoring_functions_json(struct rec *rec, const struct scoring *s)
{
    if (s->more.samples)
        rec_int(rec, "samples", (int64_t)s->more.samples);
    if (s->more.nquantiles)
        rec_nums(rec, "quantiles", s->more.quantile, s->more.nquantiles);
    if (s->more.has_above)
        rec_num(rec, "above", s->more.above);
}
