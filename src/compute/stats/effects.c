/* compute/stats/effects.c -- partial dependence, permutations and interactions: see effects.h. */
#include "compute/stats/effects.h"

#include "base/mem.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_ROWS = 4096 }; /* predictions at a time, so that memory does not grow with places */

/* A source: its row r is row r % rows.n with the inputs j for which moves[j] taken from row
 * from[r / per] of the donors.  All is borrowed. */
struct moved_source {
    struct source base;
    struct effects_rows rows;
    const double *donors;
    const size_t *from;
    size_t per;
    const bool *moves;
};

static enum status moved_rows(const struct source *s, size_t r0, size_t r1, double *x,
                              struct err *err)
{
    const struct moved_source *u = (const struct moved_source *)(const void *)s;
    const size_t d = s->d;

    (void)err;
    for (size_t r = r0; r < r1; r++, x += d) {
        const double *donor = u->donors + u->from[r / u->per] * d;
        memcpy(x, u->rows.x + r % u->rows.n * d, d * sizeof *x);
        for (size_t j = 0; j < d; j++)
            if (u->moves[j])
                x[j] = donor[j];
    }
    return ST_OK;
}

static struct moved_source moved_of(const struct effects_rows *rows, const bool *moves,
                                    const double *donors, const size_t *from, size_t per, size_t n)
{
    const struct source *like = rows->like;

    return (struct moved_source){ .base = { .n = n, .d = like->d, .rows = moved_rows,
                                            .layout = like->layout },
                                  .rows = *rows, .donors = donors, .from = from, .per = per,
                                  .moves = moves };
}

/* Predictions of what is asked for all rows of a source. */
static enum status predict(const struct effects_ask *q, const struct source *src, double *mean,
                           double *all, struct err *err)
{
    const struct ctl quiet = { .cancel = q->on->ctl ? q->on->ctl->cancel : NULL };
    const struct tools on = { q->on->be, q->on->pool, &quiet };
    const enum status rc = model_predict(q->m, src, all, NULL, &on, err);

    if (rc == ST_OK)
        memcpy(mean, all + q->target * src->n, src->n * sizeof *mean);
    for (size_t i = 0; rc == ST_OK && q->less && i < src->n; i++)
        mean[i] -= all[q->other * src->n + i];
    return rc;
}

/* The variances of averages of one target. */
static enum status average(const struct effects_ask *q, const struct source *src, double *var,
                           double *all, struct err *err)
{
    const struct ctl quiet = { .cancel = q->on->ctl ? q->on->ctl->cancel : NULL };
    const struct tools on = { q->on->be, q->on->pool, &quiet };
    const size_t places = src->n / q->rows.n;
    const enum status rc = model_average(q->m, src, q->rows.n, all, &on, err);

    if (rc == ST_OK)
        memcpy(var, all + q->target * places, places * sizeof *var);
    return rc;
}

static void tell(const struct effects_ask *q, size_t made)
{
    if (q->steps == NULL)
        return;
    const struct effects_steps *s = q->steps;
    ctl_tell(q->on->ctl, PHASE_EFFECTS, s->done < s->all ? s->done : s->all, s->all, (double)NAN);
    q->steps->done += made;
}

enum status effects_curve(const struct effects_ask *q, const bool *moves, const double *donors,
                          const size_t *from, size_t places, double *each, double *var,
                          struct err *err)
{
    const size_t n = q->rows.n, fit = BLOCK_ROWS / n, block = fit > 0 ? fit : 1;
    double *all = mem_calloc(block * n * q->m->t, sizeof *all, "predictions", err);
    enum status rc = all ? ST_OK : ST_NOMEM;

    for (size_t p = 0; rc == ST_OK && p < places; p += block) {
        const size_t some = places - p < block ? places - p : block;
        const struct moved_source src =
            moved_of(&q->rows, moves, donors, from + p, n, some * n);
        tell(q, some * n);
        rc = predict(q, &src.base, each + p * n, all, err);
        if (rc == ST_OK && var)
            rc = average(q, &src.base, var + p, all, err);
    }
    free(all);
    return rc;
}

enum status effects_permuted(const struct effects_ask *q, const bool *moves, size_t repeats,
                             uint64_t seed, uint64_t stream, double *moved, struct err *err)
{
    const size_t n = q->rows.n;
    double *all = mem_calloc(n * q->m->t, sizeof *all, "predictions", err);
    size_t *from = all ? mem_calloc(n, sizeof *from, "a permutation", err) : NULL;
    enum status rc = from ? ST_OK : ST_NOMEM;

    for (size_t p = 0; rc == ST_OK && p < repeats; p++) {
        const struct moved_source src = moved_of(&q->rows, moves, q->rows.x, from, 1, n);
        rng_permutation(seed, stream + p, n, from);
        tell(q, n);
        rc = predict(q, &src.base, moved + p * n, all, err);
    }
    free(all);
    free(from);
    return rc;
}

/* The standard error of sqrt(b) - sqrt(a), a and b the means of a_i and b_i, to first order: that
 * of the mean of b_i / (2 sqrt b) - a_i / (2 sqrt a). */
void effects_rise(size_t n, size_t repeats, const double *y, const double *mean,
                  const double *moved, struct effects_rise *out)
{
    double a = 0.0, b = 0.0, rise = 0.0, mse = 0.0;

    for (int second = 0; second < 2; second++) {
        const double ra = sqrt(a), rb = sqrt(b);
        for (size_t i = 0; i < n; i++) {
            const double ai = (y[i] - mean[i]) * (y[i] - mean[i]);
            double bi = 0.0;
            for (size_t p = 0; p < repeats; p++) {
                const double e = y[i] - moved[p * n + i];
                bi += e * e / (double)repeats;
            }
            if (!second) {
                a += ai / (double)n;
                b += bi / (double)n;
            } else {
                const double u = (rb > 0.0 ? bi / (2.0 * rb) : 0.0)
                                 - (ra > 0.0 ? ai / (2.0 * ra) : 0.0) - (rb - ra) / 2.0;
                rise += u * u;
                mse += (bi - ai - (b - a)) * (bi - ai - (b - a));
            }
        }
    }
    const double free_rows = n > 1 ? (double)n * (double)(n - 1) : NAN;
    *out = (struct effects_rise){ .rmse = sqrt(a), .permuted = sqrt(b), .rise = sqrt(b) - sqrt(a),
                                  .se = sqrt(rise / free_rows), .mse = b - a,
                                  .mse_se = sqrt(mse / free_rows) };
}

void effects_interaction(size_t n, const double *both, const double *a, const double *b, double *h,
                         double *part)
{
    double mab = 0.0, ma = 0.0, mb = 0.0, whole = 0.0, rest = 0.0;

    for (size_t i = 0; i < n; i++) {
        mab += both[i] / (double)n;
        ma += a[i] / (double)n;
        mb += b[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        const double f = both[i] - mab, r = f - (a[i] - ma) - (b[i] - mb);
        whole += f * f;
        rest += r * r;
    }
    *part = n ? sqrt(rest / (double)n) : NAN;
    const double rounding = 1e-13 * fabs(mab);
    *h = whole > (double)n * rounding * rounding ? sqrt(rest / whole) : NAN;
}
