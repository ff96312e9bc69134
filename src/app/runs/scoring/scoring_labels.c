/* app/runs/scoring/scoring_labels.c -- scores and findings of several classes: which are taken for
 * which, and whether their probabilities are honest (share/doc/methods.md 17.8 to 17.11). */
#include "app/runs/scoring/class_facts.h"
#include "app/runs/scoring/scoring_impl.h"

#include "base/mem.h"
#include "compute/stats/label_scores.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAIRS_SHOWN = 3, ERRORS_SHOWN = 3 };

/* The rows by class (rows of the matrix) and by what they were taken for; NULL: no memory. */
static size_t *confusion(const struct prediction *p)
{
    const size_t C = p->classes ? p->classes : 2;
    size_t *count = mem_calloc(C, C * sizeof *count, "counts", NULL);
    double *taken = count ? mem_calloc(p->n, sizeof *taken, "the chosen classes", NULL) : NULL;

    for (size_t i = 0; taken && i < p->n; i++)
        taken[i] = (double)run_prediction_class(p, i);
    if (taken) {
        label_scores_confusion(p->n, C, p->y, taken, count);
    } else {
        free(count);
        count = NULL;
    }
    free(taken);
    return count;
}

/* Rows of class c, and rows that are taken for it. */
static void sums_of(const size_t *count, size_t C, size_t c, size_t *rows, size_t *taken)
{
    *rows = *taken = 0;
    for (size_t k = 0; k < C; k++) {
        *rows += count[c * C + k];
        *taken += count[k * C + c];
    }
}

void scoring_labels_json(struct rec *rec, const struct encoding *enc, const struct prediction *p)
{
    const size_t C = enc->nclasses;
    size_t *count = confusion(p), rows, taken, wrong = p->n;
    double row[TARGETS_MOST], recall[TARGETS_MOST], precision[TARGETS_MOST];

    rec_strs(rec, "classes", (const char *const *)enc->classes, C);
    if (enc->rule)
        rec_str(rec, "rule", enc->rule);
    if (!count)
        return;
    rec_open(rec, "confusion");
    for (size_t a = 0; a < C; a++) {
        for (size_t b = 0; b < C; b++)
            row[b] = (double)count[a * C + b];
        rec_nums(rec, enc->classes[a], row, C);
        sums_of(count, C, a, &rows, &taken);
        wrong -= count[a * C + a];
        recall[a] = rows ? (double)count[a * C + a] / (double)rows : NAN;
        precision[a] = taken ? (double)count[a * C + a] / (double)taken : NAN;
    }
    rec_close(rec);
    rec_num(rec, "error", (double)wrong / (double)p->n);
    rec_nums(rec, "recall", recall, C);
    rec_nums(rec, "precision", precision, C);
    free(count);
}

/* By which rule classes are chosen; false: the likeliest are. */
static bool rule_text(struct rec *rec, const struct encoding *enc)
{
    if (!enc->rule)
        return false;
    rec_text(rec, "\n  classes are chosen by ");
    rec_safe(rec, enc->rule);
    return true;
}

void scoring_labels_rule(struct rec *rec, const struct encoding *enc, const struct metrics *m)
{
    if (rule_text(rec, enc))
        rec_text(rec, ": mean over classes %.4f", m->balanced_accuracy);
}

/* "A for B 12 of 150": the most frequent errors. */
static void most_confused(struct rec *rec, const struct encoding *enc, size_t *count, size_t C)
{
    for (size_t shown = 0; shown < PAIRS_SHOWN; shown++) {
        size_t at = SIZE_MAX, rows, taken;
        for (size_t k = 0; k < C * C; k++)
            if (k / C != k % C && count[k] && (at == SIZE_MAX || count[k] > count[at]))
                at = k;
        if (at == SIZE_MAX)
            break;
        rec_text(rec, shown ? ", " : "\n  most often taken for another class: ");
        rec_safe(rec, enc->classes[at / C]);
        rec_text(rec, " for ");
        rec_safe(rec, enc->classes[at % C]);
        sums_of(count, C, at / C, &rows, &taken);
        rec_text(rec, " (%zu of %zu)", count[at], rows);
        count[at] = 0; /* the next ones */
    }
}

void scoring_labels_text(struct rec *rec, const struct encoding *enc, const struct prediction *p,
                         const struct metrics *m)
{
    size_t *count = confusion(p);

    rec_text(rec, "  accuracy %.4f (the commonest class alone %.4f)  mean over classes %.4f\n",
             m->accuracy, m->majority, m->balanced_accuracy);
    if (isfinite(m->auroc))
        rec_text(rec, "  AUROC %.4f  AUPRC %.4f (of each class against all others, on average)\n",
                 m->auroc, m->auprc);
    rec_text(rec, "  log loss %.4f nats (of the constant shares %.4f)  Brier %.4f\n", m->log_loss,
             m->log_loss_constant, m->brier);
    rec_text(rec, "  probabilities are off by %.4f on average (ECE), by %.4f at most (MCE)", m->ece,
             m->mce);
    scoring_tell_clipped(rec, m);
    rule_text(rec, enc);
    if (count)
        most_confused(rec, enc, count, p->classes);
    free(count);
}

/* Their mean confidence against the share of rows that they name. */
static struct scoring_finding calibration_finding(const struct scoring *s,
                                                  const struct class_facts *c)
{
    const struct judged_classes *j = &c->judged;
    const bool train = s->part == PART_TRAIN;
    struct scoring_finding f = { "calibration", train || j->verdict == PROBABILITIES_HOLD, "" };

    snprintf(f.text, sizeof f.text,
             "%smean probability of the likeliest class %.4f, its share %.4f (standard error %.4f)"
             "%s%s%s", train ? "of rows that were fitted: " : "", j->confidence, j->share, j->se,
             train ? "" : ": the probabilities ", train ? "" : judgement_classes_word(j->verdict),
             f.ok ? "" : "; calibrate sets them by rows kept aside");
    return f;
}

/* Rows of a class to which they gave little, and the surest errors. */
static struct scoring_finding confident_finding(const struct scoring *s,
                                                const struct class_facts *c)
{
    struct scoring_finding f = { "confident", !class_facts_surprise(c), "" };
    struct buf rows = { 0 };

    class_facts_errors(&rows, c, s->enc.classes, ERRORS_SHOWN);
    snprintf(f.text, sizeof f.text,
             "%zu rows are of a class to which they gave less than %g %% (expected %.1f)%s%s",
             c->surprising, 100.0 * CLASS_FACTS_RARE, c->expected,
             c->nerror ? "; the surest errors: " : "", buf_str(&rows));
    buf_free(&rows);
    return f;
}

/* Classes of very different numbers of rows. */
static struct scoring_finding imbalance_finding(const struct scoring *s,
                                                const struct class_facts *c)
{
    struct scoring_finding f = { "imbalance", !class_facts_imbalance(c), "" };
    const size_t a = c->commonest, b = c->rarest;
    struct buf names[2] = { { 0 }, { 0 } };

    if (c->n == 0)
        return f;
    text_safe(&names[0], s->enc.classes[a], 24);
    text_safe(&names[1], s->enc.classes[b], 24);
    snprintf(f.text, sizeof f.text,
             "the commonest class, %s, has %zu rows, the rarest, %s, %zu, of which %.1f %% are "
             "found; right are %.1f %% of all rows and %.1f %% on average over the classes%s",
             buf_str(&names[0]), c->rows[a], buf_str(&names[1]), c->rows[b],
             100.0 * (double)c->found[b] / (double)c->rows[b], 100.0 * c->accuracy,
             100.0 * c->balanced, f.ok ? "" : ": accuracy alone flatters");
    buf_free(&names[0]);
    buf_free(&names[1]);
    return f;
}

size_t scoring_labels_conflicts(const struct scoring *s, struct scoring_finding *f)
{
    const struct repeats *r = &s->repeats;

    if (!s->have_repeats)
        return 0;
    *f = (struct scoring_finding){ "conflicts", r->conflicts == 0, "" };
    if (r->conflicts)
        snprintf(f->text, sizeof f->text,
                 "%zu training rows have the inputs of a row of another class, as rows %zu and "
                 "%zu: at least %zu of them are predicted wrongly by any model",
                 r->conflicts, r->first[0] + 1, r->first[1] + 1, r->least_wrong);
    else
        snprintf(f->text, sizeof f->text,
                 "no training rows with equal inputs are of different classes");
    return 1;
}

void scoring_labels_check_json(struct rec *rec, const struct scoring *s)
{
    struct class_facts c;

    class_facts_of(&s->pred, s->enc.nclasses, &c);
    rec_num(rec, "confidence", c.judged.confidence);
    rec_num(rec, "confidence_share", c.judged.share);
    rec_num(rec, "confidence_se", c.judged.se);
    rec_str(rec, "probabilities", s->part == PART_TRAIN
                                      ? "are not judged"
                                      : judgement_classes_word(c.judged.verdict));
    rec_array(rec, "confident_errors");
    for (size_t k = 0; k < c.nerror; k++) {
        rec_item(rec);
        rec_int(rec, "row", (int64_t)c.error[k].row + 1);
        rec_str(rec, "class", s->enc.classes[c.error[k].seen]);
        rec_str(rec, "taken_for", s->enc.classes[c.error[k].taken]);
        rec_num(rec, "p", c.error[k].p);
        rec_close(rec);
    }
    rec_array_close(rec);
    if (!s->have_repeats)
        return;
    rec_open(rec, "conflicts");
    rec_int(rec, "rows", (int64_t)s->repeats.conflicts);
    rec_int(rec, "inputs", (int64_t)s->repeats.conflict_inputs);
    rec_int(rec, "least_wrong", (int64_t)s->repeats.least_wrong);
    rec_close(rec);
}

/* The class of which the least share is found. */
static struct scoring_finding class_finding(const struct scoring *s)
{
    const struct prediction *p = &s->pred;
    const size_t C = p->classes;
    size_t *count = confusion(p), worst = 0, of = 0;
    double least = 2.0;
    struct scoring_finding f = { "classes", true, "" };
    struct buf name = { 0 };

    for (size_t c = 0; count && c < C; c++) {
        size_t rows, taken;
        sums_of(count, C, c, &rows, &taken);
        const double share = rows ? (double)count[c * C + c] / (double)rows : 2.0;
        if (share < least)
            least = share, worst = c, of = rows;
    }
    text_safe(&name, s->enc.classes[worst], 40);
    f.ok = !(least < 0.5);
    snprintf(f.text, sizeof f.text,
             "of class %s %.1f %% of %zu rows are found, the least of all classes%s",
             buf_str(&name), 100.0 * fmin(least, 1.0), of,
             f.ok ? "" : ": more rows of it, or another kernel, would help");
    buf_free(&name);
    free(count);
    return f;
}

size_t scoring_labels_findings(const struct scoring *s, struct scoring_finding *f)
{
    const struct metrics *m = &s->raw[0];
    struct class_facts c;
    size_t n = 0;

    class_facts_of(&s->pred, s->enc.nclasses, &c);
    f[n++] = calibration_finding(s, &c);
    f[n++] = confident_finding(s, &c);
    f[n++] = class_finding(s);
    f[n++] = imbalance_finding(s, &c);
    f[n] = (struct scoring_finding){ "information", m->log_loss < m->log_loss_constant, "" };
    snprintf(f[n].text, sizeof f[n].text,
             "log loss %.4f nats a row, %.4f by the constant shares of the classes: %s",
             m->log_loss, m->log_loss_constant,
             f[n].ok ? "the inputs tell of the class" : "no better than the shares alone");
    n++;
    return n + scoring_labels_conflicts(s, f + n);
}
