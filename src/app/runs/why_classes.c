/* app/runs/why_classes.c -- see why_classes.h. */
#include "app/runs/why_classes.h"

#include "app/runs/scoring/repeats.h"
#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void why_classes_take(struct why_classes *w, const struct run *r)
{
    *w = (struct why_classes){ .scored = false };
    snprintf(w->run, sizeof w->run, "%s", r->id);
    w->valid = r->data && r->data->split.part && r->data->split.count[PART_VALID];
    w->calibrated = r->info.calibration_rows > 0;
    if (r->kind != RUN_FIT || !r->has_score || r->score_part != PART_TEST || !r->has_test ||
        r->test_pred.part != PART_TEST)
        return;
    class_facts_of(&r->test_pred, r->enc.nclasses, &w->facts);
    w->scored = w->facts.n > 0;
    w->loss = r->score_raw.log_loss;
    w->constant = r->score_raw.log_loss_constant;
}

/* score as in why.c: the weight of the kind of evidence, less where the case is weak. */
static struct cause *add(struct cause *all, size_t *n, const char *name, double weight,
                         double severity)
{
    if (*n == CAUSES_MOST || !(severity >= 1.0))
        return NULL;
    all[*n] = (struct cause){ .name = name, .score = weight - 0.1 / sqrt(severity) };
    return &all[(*n)++];
}

static void say(char *out, size_t len, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void say(char *out, size_t len, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(out, len, fmt, ap);
    va_end(ap);
}
#define EVIDENCE(c, ...) say((c)->evidence, sizeof (c)->evidence, __VA_ARGS__)
#define TRY(c, ...) say((c)->try, sizeof (c)->try, __VA_ARGS__)

static void look_probabilities(const struct why_classes *w, struct cause *all, size_t *n)
{
    const struct judged_classes *j = &w->facts.judged;
    struct cause *c = j->verdict == PROBABILITIES_HOLD
                          ? NULL
                          : add(all, n, "probabilities", 0.9,
                                fabs(j->share - j->confidence) / (judgement_errors * j->se));

    if (c == NULL)
        return;
    EVIDENCE(c, "on %zu test rows the likeliest class has a mean probability of %.4f and is right "
             "in a share of %.4f (standard error %.4f): the probabilities %s", j->n, j->confidence,
             j->share, j->se, judgement_classes_word(j->verdict));
    if (w->calibrated) /* the rows that it was by are of another kind, or too few */
        TRY(c, "check %s", w->run);
    else
        TRY(c, w->valid ? "calibrate %s on=valid" : "calibrate %s share=0.1", w->run);
}

static void look_errors(const struct why_classes *w, char *const *names, struct cause *all,
                        size_t *n)
{
    const struct class_facts *f = &w->facts;
    struct cause *c = !class_facts_surprise(f) || f->nerror == 0
                          ? NULL
                          : add(all, n, "confident", 0.8,
                                (double)f->surprising / (f->expected + 1.0));
    struct buf rows = { 0 };

    if (c == NULL)
        return;
    class_facts_errors(&rows, f, names, 2);
    EVIDENCE(c, "%zu of %zu test rows are of a class to which they gave less than %g %% (expected "
             "%.1f); the surest errors: %s", f->surprising, f->n, 100.0 * CLASS_FACTS_RARE,
             f->expected, buf_str(&rows));
    TRY(c, "show %zu..%zu", f->error[0].row + 1, f->error[0].row + 1);
    buf_free(&rows);
}

static void look_information(const struct why_classes *w, struct cause *all, size_t *n)
{
    struct cause *c =
        w->loss < w->constant ? NULL : add(all, n, "information", 0.95, 1.0 + w->loss);

    if (c == NULL)
        return;
    EVIDENCE(c, "the log loss of test rows is %.4f nats, and %.4f by the constant shares of the "
             "classes: the inputs, as this kernel reads them, tell nothing", w->loss, w->constant);
    TRY(c, "tune; fit");
}

/* Classes that are rare in training: without any row, or found far less often than others. */
static void look_balance(const struct why_classes *w, const struct encoded *e, char *const *names,
                         struct cause *all, size_t *n)
{
    const struct class_facts *f = &w->facts;
    size_t rows[TARGETS_MOST] = { 0 };
    struct buf name = { 0 };

    for (size_t i = 0; i < e->n; i++)
        if (e->yraw[i] >= 0.0 && e->yraw[i] < TARGETS_MOST)
            rows[(size_t)e->yraw[i]]++;
    for (size_t k = 0; w->scored && k < f->classes; k++) {
        if (rows[k] || !f->rows[k])
            continue;
        struct cause *c = add(all, n, "imbalance", 0.97, 4.0);
        text_safe(&name, names[k], 40);
        if (c) {
            EVIDENCE(c, "no training row is of class %s, of which there are %zu test rows",
                     buf_str(&name), f->rows[k]);
            TRY(c, "split test=20%% stratify=yes; tune; fit");
        }
        buf_free(&name);
        return;
    }
    if (!w->scored || !class_facts_imbalance(f))
        return;
    struct cause *c = add(all, n, "imbalance", 0.75, 20.0 * (f->accuracy - f->balanced));
    text_safe(&name, names[f->rarest], 40);
    if (c) {
        EVIDENCE(c, "class %s has %zu of %zu training rows, and %zu of its %zu test rows are "
                 "found; right are %.1f %% of all test rows, but %.1f %% on average over the "
                 "classes", buf_str(&name), rows[f->rarest], e->n, f->found[f->rarest],
                 f->rows[f->rarest], 100.0 * f->accuracy, 100.0 * f->balanced);
        TRY(c, "score %s", w->run);
    }
    buf_free(&name);
}

static enum status look_conflicts(const struct encoded *e, struct cause *all, size_t *n,
                                  struct err *err)
{
    struct repeats r;
    const enum status rc = repeats_find(e, e->yraw, &r, err);
    const double share = rc == ST_OK ? (double)r.least_wrong / (double)e->n : 0.0;
    struct cause *c = rc == ST_OK && r.least_wrong >= 5
                          ? add(all, n, "conflicts", 0.94, share / 0.005)
                          : NULL;

    if (c == NULL)
        return rc;
    EVIDENCE(c, "%zu of %zu training rows have the inputs of a row of another class, as rows %zu "
             "and %zu; whatever the model, %zu of them are predicted wrongly", r.conflicts, e->n,
             r.first[0] + 1, r.first[1] + 1, r.least_wrong);
    TRY(c, "show %zu..%zu; show %zu..%zu", r.first[0] + 1, r.first[0] + 1, r.first[1] + 1,
        r.first[1] + 1);
    return rc;
}

enum status why_classes_look(const struct why_classes *w, const struct encoded *e,
                             char *const *names, struct cause *all, size_t *n, struct err *err)
{
    if (w->scored) {
        look_probabilities(w, all, n);
        look_errors(w, names, all, n);
        look_information(w, all, n);
    }
    look_balance(w, e, names, all, n);
    return look_conflicts(e, all, n, err);
}
