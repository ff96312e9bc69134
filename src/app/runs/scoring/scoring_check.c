/* app/runs/scoring/scoring_check.c -- the command check: calibration, outliers, shift and sequence
 * distance, one sentence for each finding. */
#include "app/runs/scoring/scoring_impl.h"

#include "app/core/ws_tell.h"
#include "app/runs/intervals.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/features/featmap.h"
#include "compute/stats/class_scores.h"
#include "compute/stats/judgement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The Kolmogorov-Smirnov distance between the predictive sd of these rows and that of training rows
 * (share/doc/methods.md 11; xGPR's Figure 2b). Each training row is treated as if it had been left
 * out, because its own target narrows its sd; with few rows this is so strong that any new row
 * would look strange. Weighted rows are taken as they are, because the effect of their own target
 * is not known here. The result is NaN if the model interpolates most training rows, because the
 * rest of their variance is rounding. *larger is the ratio of the root mean variances, these rows
 * over training rows. */
static double sd_distance(const struct scoring *s, const struct run *r,
                          const struct prediction *train, const struct prediction *p,
                          double *larger)
{
    const double noise2 = r ? r->info.noise * r->info.noise : 0.0;
    double *a = mem_calloc(train->n, sizeof *a, "variances", NULL), ks = NAN;
    size_t passed = 0;
    double own = 0.0, these = 0.0;

    for (size_t i = 0; a && i < train->n; i++) {
        passed += train->var_scaled[i] > (2.0 - 1e-3) * noise2;
        a[i] = s->enc.weight ? train->var_scaled[i]
                             : metrics_left_out_variance(train->var_scaled[i], noise2);
        own += a[i] / (double)train->n;
    }
    for (size_t i = 0; i < p->n; i++)
        these += p->var_scaled[i] / (double)p->n;
    *larger = sqrt(these / own);
    if (!a || 2 * passed > train->n ||
        metrics_ks(train->n, a, p->n, p->var_scaled, &ks, NULL) != ST_OK)
        ks = NAN;
    free(a);
    return ks;
}

static double rank_correlation(const struct prediction *p)
{
    struct metrics m;
    double *e = mem_calloc(p->n, sizeof *e, "errors", NULL), r = NAN;

    if (e) {
        for (size_t i = 0; i < p->n; i++)
            e[i] = fabs(p->y[i] - p->mean[i]);
        if (metrics_compute(p->n, e, p->sd, NULL, NULL, &m, NULL) == ST_OK)
            r = m.spearman;
    }
    free(e);
    return r;
}

/* Of kinds that are compared by parts: how many lie between these rows and the training rows. */
static void drift_words(const struct row_drift *l, struct buf *out)
{
    if (l->related)
        buf_printf(out,
                   "%zu %ss differ from the training consensus at the median (most %zu), in "
                   "training rows %zu (most %zu); ",
                   l->median, l->part, l->most, l->train_median, l->train_most);
    buf_printf(out, "nearest training row %zu %s%s away (of training rows: %zu): ", l->nearest,
               l->part, l->nearest == 1 ? "" : "s", l->train_nearest);
    if (l->related && l->beyond > 0.1)
        buf_printf(out, "%.0f %% have more changes than 99 %% of the training rows: an "
                        "extrapolation", 100 * l->beyond);
    else
        buf_puts(out, l->same ? "the same kind of rows" : "further from the training data");
}

/* Takes the words, which are freed. */
static struct scoring_finding finding_of(const char *name, bool ok, struct buf *words)
{
    struct scoring_finding f = { name, ok, "" };

    snprintf(f.text, sizeof f.text, "%s", buf_str(words));
    buf_free(words);
    return f;
}

/* What needs the data: of several columns each with its name. Returns the number of findings. */
static size_t data_findings(const struct scoring *s, struct scoring_finding *f)
{
    struct buf drift = { 0 }, domain = { 0 };
    bool same = true, known = true;
    size_t n = 0;

    for (size_t i = 0; i < s->ndrift; i++) {
        buf_puts(&drift, i > 0 ? ". " : "");
        if (s->ndrift > 1) {
            text_safe(&drift, s->drift[i].column, 24);
            buf_puts(&drift, ": ");
        }
        drift_words(&s->drift[i], &drift);
        same &= s->drift[i].same;
    }
    for (size_t i = 0; i < s->ndomain; i++) {
        buf_puts(&domain, i > 0 ? ". " : "");
        domain_words(&s->domain[i], &domain);
        known &= domain_same(&s->domain[i]) && 10 * s->domain[i].guessed.rows <= s->domain[i].rows;
    }
    if (s->ndrift > 0)
        f[n++] = finding_of("changes", same, &drift);
    if (s->ndomain > 0)
        f[n++] = finding_of("domain", known, &domain);
    return n;
}

const char *scoring_coverage_words(const struct metrics *m)
{
    const struct judged j = judgement_score(m);
    const enum judged_side middle = judgement_share(m->n, m->coverage50, 0.5, 0.06);
    const bool wide = middle == JUDGED_WIDE, narrow = middle == JUDGED_NARROW;

    if (j.coverage == JUDGED_NARROW)
        return narrow ? "overconfident"
               : wide ? "too cautious for most rows, overconfident about the worst"
                      : "overconfident about the worst rows (heavy tails)";
    if (judgement_side(&j) == JUDGED_WIDE)
        return narrow ? "overconfident near the mean" : "too cautious";
    return wide     ? "honest at 95 %, too cautious for most rows"
           : narrow ? "honest at 95 %, overconfident near the mean"
                    : "honest";
}

/* Whether the features limit the variances: what the fit warned of stays true, whatever the
 * coverage is, because that of the targets depends on the noise as well. */
static struct scoring_finding starvation_finding(const struct run *r, const struct judged *j)
{
    const double share = r->info.effective_dimension / (double)(r->model->Mv ? r->model->Mv : 1);
    const bool grows = !strcmp(r->info.warning_name, "starved");
    const bool narrow = j->verdict == INTERVALS_NARROW;
    const bool kernel = r->model->Mv == r->model->M &&
                        featmap_is_kernel(&r->model->kernel, r->model->d, r->model->M);
    struct scoring_finding f = { "starvation", kernel || (!grows && (share < 0.5 || !narrow)), "" };

    if (kernel_learned_features(&r->fit.kernel)) { /* it learns to use all that it has */
        f.ok = true;
        snprintf(f.text, sizeof f.text, "effective dimension %.0f of the %zu features learned",
                 r->info.effective_dimension, r->model->Mv);
        return f;
    }
    snprintf(f.text, sizeof f.text,
             "effective dimension %.0f of %zu variance features (%.0f %%): %s",
             r->info.effective_dimension, r->model->Mv, 100 * share,
             kernel  ? "the features are the kernel itself"
             : grows ? narrow ? "it still grows with the features, so variances are too small; try "
                              "more features, or variance=all"
                            : "it still grows with the features, so sd_latent is too small, "
                              "although the intervals of the targets, which count the noise, are "
                              "not too narrow"
             : share < 0.5 ? "variances are not starved"
             : narrow      ? "variances are too small; try more features, or variance=all"
                           : "near the limit, yet the intervals are not too narrow");
    return f;
}

/* The judgement of the checked rows.  A model was fitted to its training rows and is nearer to them
 * than to new ones: their judgement is that of left-out rows, n = 0 where the fit has none. */
static struct judged checked(const struct scoring *s, const struct run *r)
{
    if (s->part != PART_TRAIN)
        return judgement_score(&s->raw[s->target]);
    return r && s->target == 0 ? intervals_left_out(r) : (struct judged){ 0 };
}

/* The findings on coverage and mean z^2 from that judgement; returns their number. */
static size_t interval_findings(const struct scoring *s, const struct judged *j,
                                struct scoring_finding *f)
{
    const struct metrics *m = &s->raw[s->target];
    const bool train = s->part == PART_TRAIN;

    f[0] = (struct scoring_finding){ "calibration",
                                     j->n == 0 || judgement_side(j) == JUDGED_RIGHT, "" };
    f[1] = (struct scoring_finding){ "spread", j->n == 0 || j->spread == JUDGED_RIGHT, "" };
    if (train && j->n == 0) {
        snprintf(f[0].text, sizeof f[0].text,
                 "not judged: %.1f %% of the targets lie inside the 95 %% interval of a model that "
                 "was fitted to these rows (split test=20%% holds rows out)",
                 100 * m->coverage95);
        return 1;
    }
    snprintf(f[0].text, sizeof f[0].text,
             "%s%.1f %% of the targets lie inside the 95 %% interval (standard error %.1f %%)%s",
             train ? "the model was fitted to these rows; predicted from the others, " : "",
             100 * j->coverage95, 100 * j->coverage95_se, train ? "" : ", ");
    if (!train)
        snprintf(f[0].text + strlen(f[0].text), sizeof f[0].text - strlen(f[0].text),
                 "%.1f %% inside the 50 %% one (%.1f %%): %s", 100 * m->coverage50,
                 100 * judgement_share_se(m->n, 0.5),
                 scoring_coverage_words(m));
    snprintf(f[1].text, sizeof f[1].text,
             "%ssquared errors are %.2f x the predicted variance on average (standard error "
             "%.2f; 1 is right): the intervals %s",
             train ? "predicted from the others, " : "", j->z2, j->z2_se,
             judgement_word(j->verdict));
    return 2;
}

/* The most confident rows of the wrong class: how many have a probability below 5 % for what was
 * observed, and how many the probabilities themselves expect. */
static struct scoring_finding confident_finding(const struct prediction *p)
{
    struct scoring_finding f = { "confident", true, "" };
    double expected = 0.0, var = 0.0, least = 1.0;
    size_t wrong = 0, worst = 0;

    for (size_t i = 0; i < p->n; i++) {
        const double rare = fmin(p->mean[i], 1.0 - p->mean[i]);
        const double seen = p->y[i] > 0.5 ? p->mean[i] : 1.0 - p->mean[i];
        if (rare < 0.05) {
            expected += rare;
            var += rare * (1.0 - rare);
            wrong += seen < 0.05;
        }
        if (seen < least)
            least = seen, worst = i;
    }
    f.ok = (double)wrong <= expected + judgement_errors * sqrt(var) + 1.0;
    snprintf(f.text, sizeof f.text,
             "%zu rows are of a class to which they gave less than 5 %% (expected %.1f); the least "
             "likely one, %.2g %%, is row %zu", wrong, expected, 100.0 * least,
             p->n ? p->row[worst] + 1 : 0);
    return f;
}

/* What can be told of probabilities (share/doc/methods.md 16.14). */
static size_t class_findings(const struct scoring *s, struct scoring_finding *f)
{
    const struct metrics *m = &s->raw[s->target];
    const struct prediction *p = &s->pred;
    const struct class_honesty h = class_scores_honesty(p->n, p->y, p->mean);
    const bool train = s->part == PART_TRAIN, sure = h.spread_z > judgement_errors;
    double mean = 0.0;
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++)
        mean += p->mean[i] / (double)p->n;
    f[n] = (struct scoring_finding){ "calibration",
                                     train || !(fabs(h.mean_z) > judgement_errors), "" };
    snprintf(f[n].text, sizeof f[n].text,
             "%smean probability %.4f, share of the positive class %.4f (z %.1f): %s",
             train ? "of rows that were fitted: " : "", mean, m->base_rate, h.mean_z,
             f[n].ok ? "they agree"
             : h.mean_z > 0 ? "the positive class is more frequent than predicted"
                            : "the positive class is less frequent than predicted");
    n++;
    f[n] = (struct scoring_finding){ "honesty", train || !(fabs(h.spread_z) > judgement_errors),
                                     "" };
    snprintf(f[n].text, sizeof f[n].text,
             "%sprobabilities are off by %.4f on average (ECE of ten bins; Spiegelhalter's z "
             "%.1f): %s", train ? "of rows that were fitted: " : "", m->ece, h.spread_z,
             f[n].ok ? "honest" : sure ? "too sure; try another kernel, or tune"
                                       : "too cautious; try another kernel, or tune");
    n++;
    f[n++] = confident_finding(p);
    f[n] = (struct scoring_finding){ "ranking", m->auroc > 0.55, "" };
    snprintf(f[n].text, sizeof f[n].text,
             "AUROC %.3f (chance 0.5), AUPRC %.3f (chance %.3f): the order of the probabilities %s",
             m->auroc, m->auprc, m->base_rate,
             f[n].ok ? "tells the classes apart" : "says little about the class");
    n++;
    n += scoring_labels_conflicts(s, f + n);
    return n + data_findings(s, f + n);
}

static size_t check_findings(const struct scoring *s, const struct run *r,
                             struct scoring_finding *f)
{
    if (s->pred.classes)
        return scoring_labels_findings(s, f);
    if (s->enc.nclasses)
        return class_findings(s, f);
    const struct metrics *m = &s->raw[s->target];
    const struct prediction one = scoring_prediction(&s->pred, s->target), *p = &one;
    const struct prediction train = scoring_prediction(&s->train, s->target);
    size_t n = 0, out = 0, worst = 0;
    double zmax = 0;

    const struct judged j = checked(s, r);
    n = interval_findings(s, &j, f);
    for (size_t i = 0; i < p->n; i++) {
        const double z = fabs(p->y_scaled[i] - p->mean_scaled[i]) / sqrt(p->var_scaled[i]);
        out += z > 4;
        if (z > zmax)
            zmax = z, worst = i;
    }
    f[n] = (struct scoring_finding){ "outliers", (double)out <= 1 + 1e-3 * (double)p->n, "" };
    snprintf(
        f[n].text, sizeof f[n].text,
        "%zu of %zu errors exceed 4 sd (a normal error would give %.1f); the largest, %.1f sd, is "
        "row %zu",
        out, p->n, 6.3e-5 * (double)p->n, zmax, p->row[worst] + 1),
        n++;
    const double rho = rank_correlation(p);
    f[n] = (struct scoring_finding){ "sd-error", isfinite(rho) && rho > 0.05, "" };
    snprintf(f[n].text, sizeof f[n].text,
             "rank correlation of sd and absolute error %.2f, ENCE %.3f: the sd %s", rho, m->ence,
             f[n].ok ? "tells where errors are larger" : "says little about where errors are"), n++;
    if (s->train.n && s->train.sd) {
        double larger;
        const double ks = sd_distance(s, r, &train, p, &larger);
        f[n] = (struct scoring_finding){ "shift", !(ks >= 0.2), "" };
        if (isnan(ks))
            snprintf(f[n].text, sizeof f[n].text,
                     "not judged: with so little noise (%.2g) the model "
                     "passes through its training rows",
                     r ? r->info.noise : NAN);
        else
            snprintf(f[n].text, sizeof f[n].text,
                     "sd of these rows against sd of left-out training rows: %.2f x on average, KS "
                     "distance %.2f: %s",
                     larger, ks,
                     f[n].ok ? "the same kind of rows"
                             : "these rows lie further from the training data");
        n++;
    }
    n += data_findings(s, f + n);
    if (r && r->model && r->model->kind->draws && isfinite(r->info.effective_dimension))
        f[n++] = starvation_finding(r, &j);
    return n;
}

size_t scoring_findings(const struct run *r, size_t target, struct scoring_finding *out)
{
    const bool test = r->score_part != PART_TRAIN;
    struct scoring s = { .enc = r->enc, .target = target, .part = r->score_part };

    if (!r->has_score || !(test ? r->has_test : r->has_train))
        return 0;
    s.pred = test ? r->test_pred : r->train_pred;
    if (test && r->has_train)
        s.train = r->train_pred;
    s.raw[target] = *run_metrics(r, target, true);
    return s.pred.sd || s.pred.classes ? check_findings(&s, r, out) : 0;
}

static void intervals_json(struct rec *rec, const struct scoring *s, const struct run *r)
{
    const struct judged j = judgement_score(&s->raw[s->target]), fair = checked(s, r);

    rec_num(rec, "coverage95_se", j.coverage95_se);
    rec_num(rec, "mean_z2", j.z2);
    rec_num(rec, "mean_z2_se", j.z2_se);
    rec_str(rec, "intervals", fair.n ? judgement_word(fair.verdict) : "are not judged");
    rec_num(rec, "ence", s->raw[s->target].ence);
}

static void honesty_json(struct rec *rec, const struct prediction *p)
{
    const struct class_honesty h = class_scores_honesty(p->n, p->y, p->mean);

    rec_num(rec, "mean_z", h.mean_z);
    rec_num(rec, "spread_z", h.spread_z);
}

void scoring_check_done(struct workspace *ws, struct job *job, enum status rc,
                        const struct err *err)
{
    struct scoring *s = job->arg;
    struct run *r = ws_run(ws, s->run, NULL);
    struct scoring_finding f[SCORING_FINDINGS];
    struct rec rec;

    if (rc == ST_OK && !s->pred.sd && !s->pred.classes) {
        struct err e;
        rc = err_named(&e, ST_STATE, "no-variance", "%s has no predictive variance to check",
                       s->run);
        err_hint(&e, "fit variance=auto");
        scoring_ended_early(ws, job, rc, &e);
        return;
    }
    if (scoring_ended_early(ws, job, rc, err))
        return;
    scoring_tell_counts(ws, s);
    rec_init(&rec, REC_RESULT, "check"); /* first: a finding that lacks memory ends the result */
    const size_t n = check_findings(s, r, f);
    snprintf(rec.run, sizeof rec.run, "%s", s->run);
    rec_str(&rec, "run", s->run);
    rec_str(&rec, "on", dataset_part_words[s->part]);
    rec_int(&rec, "rows", (int64_t)s->pred.n);
    if (s->pred.t > 1)
        rec_str(&rec, "target", encoding_for(&s->enc, s->target).target);
    scoring_tell_json(&rec, 1, &s->raw[s->target], &s->scaled[s->target]);
    if (s->pred.classes)
        scoring_labels_json(&rec, &s->enc, &s->pred);
    else if (s->enc.nclasses)
        honesty_json(&rec, &s->pred);
    else
        intervals_json(&rec, s, r);
    if (s->enc.nclasses)
        scoring_labels_check_json(&rec, s);
    rec_text(&rec, "%s checked on %zu %s rows", s->run, s->pred.n, dataset_part_words[s->part]);
    if (s->pred.t > 1) {
        rec_text(&rec, ": target ");
        rec_safe(&rec, encoding_for(&s->enc, s->target).target);
    }
    rec_open(&rec, "findings");
    for (size_t i = 0; i < n; i++) {
        rec_open(&rec, f[i].name);
        rec_bool(&rec, "ok", f[i].ok);
        rec_str(&rec, "text", f[i].text);
        rec_close(&rec);
        char first[32];
        snprintf(first, sizeof first, "  %s %-12s ", f[i].ok ? "ok" : "! ", f[i].name);
        rec_text(&rec, "\n");
        text_wrap(&rec.text, f[i].text, 78, first, "                  ");
    }
    rec_close(&rec);
    domain_tell(&rec, s->domain, s->ndomain);
    rec_num(&rec, "seconds", s->seconds);
    if (r) {
        scoring_move_prediction(&r->test_pred, &r->has_test, &s->pred);
        scoring_move_prediction(&r->train_pred, &r->has_train, &s->train);
    }
    ws_emit(ws, &rec);
    ws->serial++;
}
