/* app/runs/scoring/scoring_units.c -- converts scores to the units of the target, selects one of
 * several targets, and describes the coverage of the intervals. */
#include "app/runs/scoring/scoring_impl.h"

#include "compute/stats/class_scores.h"
#include "compute/stats/label_scores.h"

#include <math.h>
#include <stdio.h>

struct prediction scoring_prediction(const struct prediction *p, size_t j)
{
    struct prediction one = *p;
    double **const at[] = { &one.y, &one.mean, &one.sd_latent, &one.sd,
                            &one.y_scaled, &one.mean_scaled, &one.var_scaled };

    for (size_t i = 0; j > 0 && i < sizeof at / sizeof *at; i++)
        if (*at[i])
            *at[i] += j * p->n;
    if (one.reach)
        one.reach += j;
    one.t = 1;
    return one;
}

double scoring_unlike(const struct scoring *s, size_t i)
{
    const struct encoding one = encoding_for(&s->enc, 0);
    const struct prediction *p = &s->pred;

    if (!p->var_scaled || !(s->latent99 >= 0.0) || !isfinite(p->var_scaled[i]))
        return NAN;
    const double noise = s->model->noises[0], amplitude = s->model->amplitudes[0];
    const double sd = one.ysd > 0 ? one.ysd : 1.0;
    const double latent = one.yscale == Y_LOG ? p->var_scaled[i] - noise * noise
                                              : p->sd_latent[i] / sd * (p->sd_latent[i] / sd);
    return latent > s->latent99 * amplitude * amplitude;
}

/* CRPS of a log-normal forecast (Baran & Lerch 2015, the equation for the log-normal). */
static double crps_lognormal(double y, double mu, double sd)
{
    const double w = (log(y) - mu) / sd;

    return y * (2 * metrics_normal_cdf(w) - 1)
           - 2 * exp(mu + 0.5 * sd * sd)
                 * (metrics_normal_cdf(w - sd) + metrics_normal_cdf(sd / sqrt(2.0)) - 1);
}

/* With `scale y=log` the model is Gaussian in log y. Densities get the Jacobian. Point errors and
 * CRPS are computed in y itself. Coverage is the same in both. */
static void metrics_log_target(const struct encoding *enc, const struct prediction *p,
                               const struct metrics *model, struct metrics *raw)
{
    double jac = 0, crps = 0;
    const double n = (double)p->n;

    for (size_t i = 0; i < p->n; i++)
        jac += log(p->y[i]) / n;
    raw->nlpd = model->nlpd + log(enc->ysd) + jac;
    raw->nlpd_constant = model->nlpd_constant + log(enc->ysd) + jac;
    if (p->var_scaled) {
        for (size_t i = 0; i < p->n; i++)
            crps += crps_lognormal(p->y[i], enc->ymean + enc->ysd * p->mean_scaled[i],
                                   enc->ysd * sqrt(p->var_scaled[i])) / n;
        raw->crps = crps;
    }
}

/* The sd over the training rows of the target in its own units. */
static double raw_y_sd(const struct encoding *enc)
{
    if (enc->yown > 0)
        return enc->yown;
    if (enc->yscale != Y_LOG)
        return enc->ysd > 0 ? enc->ysd : 1.0;
    /* A session of an earlier version: the sd of a log-normal with the training moments of log y */
    const double v = enc->ysd * enc->ysd;
    return exp(enc->ymean + 0.5 * v) * sqrt(expm1(v));
}

enum status scoring_metrics(const struct encoding *enc, const struct prediction *p,
                            struct metrics *scaled, struct metrics *raw, struct err *err)
{
    struct metrics model;

    if (enc->nclasses) {
        const enum status scored =
            p->classes ? label_scores(p->n, p->classes, p->y, p->prob, p->mean, raw, err)
                       : class_scores(p->n, p->y, p->mean, p->taken, raw, err);
        *scaled = *raw;
        return scored;
    }
    const double sd = raw_y_sd(enc);
    enum status rc = metrics_compute(p->n, p->y_scaled, p->mean_scaled, p->var_scaled, p->reach,
                                     &model, err);

    if (rc == ST_OK) /* point scores are in the target's own units */
        rc = metrics_compute(p->n, p->y, p->mean, NULL, NULL, raw, err);
    if (rc != ST_OK)
        return rc;
    raw->coverage50 = model.coverage50;
    raw->coverage90 = model.coverage90;
    raw->coverage95 = model.coverage95;
    raw->mean_z2 = model.mean_z2;
    raw->mean_z2_se = model.mean_z2_se;
    raw->ence = model.ence;
    if (enc->yscale == Y_LOG) {
        metrics_log_target(enc, p, &model, raw);
    } else {
        const double unit = enc->ysd > 0 ? enc->ysd : 1.0; /* of the model, 1 under y=none */
        raw->nlpd = model.nlpd + log(unit);
        raw->nlpd_constant = model.nlpd_constant + log(unit);
        raw->crps = model.crps * unit;
    }
    *scaled = *raw; /* "scaled" always means divided by the training sd of the target */
    scaled->rmse = raw->rmse / sd;
    scaled->mae = raw->mae / sd;
    scaled->crps = raw->crps / sd;
    scaled->nlpd = raw->nlpd - log(sd);
    scaled->nlpd_constant = raw->nlpd_constant - log(sd);
    return ST_OK;
}

/* For every target. */
enum status scoring_all_metrics(const struct encoding *enc, const struct prediction *p,
                               struct metrics *scaled, struct metrics *raw, struct err *err)
{
    enum status rc = ST_OK;

    for (size_t j = 0; rc == ST_OK && j < p->t; j++) {
        const struct encoding e = encoding_for(enc, j);
        const struct prediction one = scoring_prediction(p, j);
        rc = scoring_metrics(&e, &one, &scaled[j], &raw[j], err);
    }
    return rc;
}
