/* app/runs/scoring/calibrating_classes.c -- see calibrating_classes.h. */
#include "app/runs/scoring/calibrating_classes.h"
#include "app/runs/scoring/class_facts.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status calibrating_classes_way(const struct run *r, enum calibration_way *way,
                                    struct err *err)
{
    const bool classes = r->model->kind->classes, sigmoid = r->model->kind->margin;

    if (classes && *way == CALIBRATION_BOTH)
        *way = sigmoid ? CALIBRATION_CONFORMAL : CALIBRATION_TEMPERATURE;
    if (sigmoid && *way == CALIBRATION_TEMPERATURE) {
        err_named(err, ST_UNSUPPORTED, "calibration-method",
                  "the probabilities of %s are a sigmoid by left-out rows already", r->id);
        err_hint(err, "calibrate method=conformal");
        return ST_UNSUPPORTED;
    }
    const bool of_numbers = *way == CALIBRATION_SCALE || *way == CALIBRATION_LOCAL ||
                            *way == CALIBRATION_CV || *way == CALIBRATION_ABSOLUTE;
    if (classes ? !of_numbers : *way != CALIBRATION_TEMPERATURE)
        return ST_OK;
    err_named(err, ST_USAGE, "calibration-method", "method=%s is of %s, and %s predicts %s",
              calibration_words[*way],
              classes ? "variances of numbers" : "probabilities of classes", r->id,
              classes ? "classes" : "numbers");
    err_hint(err, classes ? "calibrate method=temperature  |  calibrate method=conformal"
                          : "calibrate method=auto");
    return ST_USAGE;
}

static enum status find_temperature(const struct model *m, const struct encoded *e,
                                    struct job *job, size_t classes, struct temperature *t,
                                    struct err *err)
{
    double *mean = NULL;
    enum status rc = scoring_latent(m, e, job, &mean, err);

    if (rc == ST_OK) {
        const struct temperature_rows rows = {
            .of = m->likelihood, .n = e->n, .classes = classes, .mean = mean,
            .var = mean + m->t * e->n, .label = e->yraw, .pool = job->pool, .ctl = &job->ctl
        };
        rc = temperature_find(&rows, t, err);
    }
    free(mean);
    return rc;
}

static enum status find_sets(const struct model *m, const struct encoding *enc,
                             const struct encoded *e, struct job *job,
                             struct calibrating_classes *c, struct err *err)
{
    struct prediction p = { .n = 0 };
    double *lack = mem_calloc(e->n + 1, sizeof *lack, "calibration rows", err);
    enum status rc = lack ? scoring_rows(m, enc, e, job, &p, err) : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < p.n; i++) {
        const double y = p.y[i];
        if (y >= 0.0 && y < (double)enc->nclasses)
            lack[i] = 1.0 - class_facts_p(&p, (size_t)y, i);
        else
            rc = err_set(err, ST_RANGE, "calibration row %zu has class %g, not 0 to %zu",
                         p.row[i] + 1, y, enc->nclasses - 1);
    }
    if (rc == ST_OK)
        rc = calibration_sets(p.n, lack, c->level, &c->reach, err);
    run_prediction_free(&p);
    free(lack);
    return rc;
}

enum status calibrating_classes_measure(const struct model *m, const struct encoding *enc,
                                        const struct encoded *e, struct job *job,
                                        struct calibrating_classes *c, struct err *err)
{
    c->rows = e->n;
    return c->way == CALIBRATION_TEMPERATURE
               ? find_temperature(m, e, job, enc->nclasses, &c->temperature, err)
               : find_sets(m, enc, e, job, c, err);
}

void calibrating_classes_apply(const struct calibrating_classes *c, struct model *m,
                               struct fit_info *i)
{
    if (c->way == CALIBRATION_TEMPERATURE) {
        m->temperature = c->temperature.best;
        m->set_reach = 0.0; /* those of the old probabilities */
    } else {
        m->set_reach = c->reach;
    }
    snprintf(i->calibration, sizeof i->calibration, "%s", calibration_words[c->way]);
    i->calibration_rows = c->rows;
    i->calibration_level = m->set_reach > 0.0 ? c->level : 0.0;
    i->calibration_temperature = m->temperature;
    i->calibration_set = m->set_reach;
}

size_t calibrating_classes_set(const struct model *m, size_t classes, const struct prediction *p,
                               size_t i, size_t class[TARGETS_MOST])
{
    size_t n = 0;

    for (size_t c = 0; c < classes; c++) {
        const double seen = class_facts_p(p, c, i);
        size_t k = n;
        if (!calibration_holds(seen, m->set_reach))
            continue;
        for (; k > 0 && class_facts_p(p, class[k - 1], i) < seen; k--)
            class[k] = class[k - 1];
        class[k] = c;
        n++;
    }
    return n;
}

/* What the temperature says of the probabilities before it.  Rows that do not bound it, because
 * none of them is wrong, cannot say that probabilities were too sure; a note tells of them. */
static const char *verdict(const struct temperature *t)
{
    if (t->at_bound && t->best > 1.0 && t->best < 0.99 * TEMPERATURE_MOST)
        return "";
    if (fabs(log(t->best)) < 0.1)
        return " (the probabilities are nearly right)";
    return t->best < 1.0 ? " (the probabilities were too cautious)"
                         : " (the probabilities were too sure)";
}

void calibrating_classes_tell(struct rec *rec, const struct calibrating_classes *c)
{
    const struct temperature *t = &c->temperature;

    if (c->way != CALIBRATION_TEMPERATURE) {
        rec_num(rec, "level", c->level);
        rec_num(rec, "quantile", c->reach);
        rec_text(rec, "sets at %g %% hold every class with a probability of at least %.4g",
                 100.0 * c->level, 1.0 - c->reach);
        return;
    }
    rec_num(rec, "temperature", t->best);
    rec_num(rec, "log_loss_before", t->before);
    rec_num(rec, "log_loss_after", t->after);
    rec_text(rec, "temperature %.4g: log loss there %.4f, %.4f before%s", t->best, t->after,
             t->before, verdict(t));
}

/* The sets of all rows: the share that holds the observed class, of those whose class is known;
 * the mean number of classes; the share without any. */
struct sets { double coverage, size, empty; };

static struct sets sets_of(const struct run *r, const struct prediction *p)
{
    struct sets s = { 0.0, 0.0, 0.0 };
    size_t known = 0;

    for (size_t i = 0; i < p->n; i++) {
        size_t held = 0;
        for (size_t c = 0; c < r->enc.nclasses; c++) {
            const bool in = calibration_holds(class_facts_p(p, c, i), r->model->set_reach);
            held += in;
            s.coverage += in && p->y[i] == (double)c;
        }
        s.size += (double)held / (double)p->n;
        s.empty += held ? 0.0 : 1.0 / (double)p->n;
        known += !isnan(p->y[i]);
    }
    s.coverage = known ? s.coverage / (double)known : NAN;
    return s;
}

static bool calibrated(const struct run *r, const struct prediction *p)
{
    return r->model && r->info.calibration_rows && p->n;
}

void calibrating_classes_score_json(struct rec *rec, const struct run *r,
                                    const struct prediction *p)
{
    const struct fit_info *i = &r->info;

    if (!calibrated(r, p))
        return;
    rec_open(rec, "calibration");
    rec_str(rec, "method", i->calibration);
    rec_int(rec, "rows", (int64_t)i->calibration_rows);
    if (i->calibration_temperature > 0.0)
        rec_num(rec, "temperature", i->calibration_temperature);
    if (i->calibration_set > 0.0)
        rec_num(rec, "quantile", i->calibration_set);
    rec_close(rec);
    if (!(r->model->set_reach > 0.0))
        return;
    const struct sets s = sets_of(r, p);
    rec_num(rec, "set_level", i->calibration_level);
    rec_num(rec, "set_coverage", s.coverage);
    rec_num(rec, "set_size", s.size);
    rec_num(rec, "set_empty", s.empty);
}

void calibrating_classes_score_text(struct rec *rec, const struct run *r,
                                    const struct prediction *p)
{
    const struct fit_info *i = &r->info;

    if (!calibrated(r, p))
        return;
    rec_text(rec, "\n  calibrated by %zu rows (%s)", i->calibration_rows, i->calibration);
    if (i->calibration_temperature > 0.0)
        rec_text(rec, ": temperature %.4g", i->calibration_temperature);
    if (!(r->model->set_reach > 0.0))
        return;
    const struct sets s = sets_of(r, p);
    rec_text(rec, ": %.1f %% of the rows have their class in the %g %% set of %.2f classes on "
             "average", 100.0 * s.coverage, 100.0 * i->calibration_level, s.size);
    if (s.empty > 0.0)
        rec_text(rec, ", %.1f %% of which are empty", 100.0 * s.empty);
}
