/* app/runs/scoring/scoring_labels.c -- scores and findings of several classes: which are taken for
 * which, and whether their probabilities are honest (share/doc/methods.md 17.8 to 17.11). */
#include "app/runs/scoring/scoring_impl.h"

#include "base/mem.h"
#include "compute/stats/judgement.h"
#include "compute/stats/label_scores.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAIRS_SHOWN = 3 };

/* The rows by class (rows of the matrix) and by what they were taken for; NULL: no memory. */
static size_t *confusion(const struct prediction *p)
{
    size_t *count = mem_calloc(p->classes, p->classes * sizeof *count, "counts", NULL);

    if (count)
        label_scores_confusion(p->n, p->classes, p->y, p->prob, count);
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
    const size_t C = p->classes;
    size_t *count = confusion(p), rows, taken;
    double row[TARGETS_MOST], recall[TARGETS_MOST], precision[TARGETS_MOST];

    rec_strs(rec, "classes", (const char *const *)enc->classes, C);
    if (!count)
        return;
    rec_open(rec, "confusion");
    for (size_t a = 0; a < C; a++) {
        for (size_t b = 0; b < C; b++)
            row[b] = (double)count[a * C + b];
        rec_nums(rec, enc->classes[a], row, C);
        sums_of(count, C, a, &rows, &taken);
        recall[a] = rows ? (double)count[a * C + a] / (double)rows : NAN;
        precision[a] = taken ? (double)count[a * C + a] / (double)taken : NAN;
    }
    rec_close(rec);
    rec_nums(rec, "recall", recall, C);
    rec_nums(rec, "precision", precision, C);
    free(count);
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
    if (count)
        most_confused(rec, enc, count, p->classes);
    free(count);
}

/* Their mean confidence against the share of rows that they name. */
static struct scoring_finding calibration_finding(const struct scoring *s)
{
    const struct prediction *p = &s->pred;
    const bool train = s->part == PART_TRAIN;
    struct scoring_finding f = { "calibration", true, "" };
    double sure = 0.0, right = 0.0, var = 0.0;

    for (size_t i = 0; i < p->n; i++) {
        sure += p->mean_scaled[i];
        var += p->mean_scaled[i] * (1.0 - p->mean_scaled[i]);
        right += p->mean[i] == p->y[i];
    }
    const double z = var > 0.0 ? (right - sure) / sqrt(var) : 0.0;
    f.ok = train || !(fabs(z) > judgement_errors);
    snprintf(f.text, sizeof f.text,
             "%smean probability of the likeliest class %.4f, its share %.4f (z %.1f): %s",
             train ? "of rows that were fitted: " : "", sure / (double)p->n, right / (double)p->n,
             z, f.ok ? "they agree" : z > 0.0 ? "too cautious" : "too sure");
    return f;
}

/* Rows of a class to which they gave little. */
static struct scoring_finding confident_finding(const struct prediction *p)
{
    struct scoring_finding f = { "confident", true, "" };
    double expected = 0.0, least = 1.0;
    size_t wrong = 0, worst = 0;

    for (size_t i = 0; i < p->n; i++) {
        const double seen = p->prob[(size_t)p->y[i] * p->n + i];
        for (size_t c = 0; c < p->classes; c++)
            expected += p->prob[c * p->n + i] < 0.05 ? p->prob[c * p->n + i] : 0.0;
        wrong += seen < 0.05;
        if (seen < least)
            least = seen, worst = i;
    }
    f.ok = (double)wrong <= expected + judgement_errors * sqrt(expected) + 1.0;
    snprintf(f.text, sizeof f.text,
             "%zu rows are of a class to which they gave less than 5 %% (expected %.1f); the least "
             "likely one, %.2g %%, is row %zu", wrong, expected, 100.0 * least,
             p->n ? p->row[worst] + 1 : 0);
    return f;
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
    size_t n = 0;

    f[n++] = calibration_finding(s);
    f[n++] = confident_finding(&s->pred);
    f[n++] = class_finding(s);
    f[n] = (struct scoring_finding){ "information", m->log_loss < m->log_loss_constant, "" };
    snprintf(f[n].text, sizeof f[n].text,
             "log loss %.4f nats a row, %.4f by the constant shares of the classes: %s",
             m->log_loss, m->log_loss_constant,
             f[n].ok ? "the inputs tell of the class" : "no better than the shares alone");
    return n + 1;
}
