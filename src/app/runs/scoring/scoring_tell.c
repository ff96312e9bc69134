/* app/runs/scoring/scoring_tell.c -- scores as a sentence, as a table (several targets) and as
 * JSON. */
#include "app/runs/scoring/scoring_impl.h"

#include "app/core/measures.h"
#include "app/core/ws_tell.h"
#include "app/shell/text_table.h"
#include "compute/stats/class_scores.h"
#include "compute/stats/judgement.h"
#include "data/kinds/kind.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

void scoring_tell_counts(struct workspace *ws, const struct scoring *s)
{
    ws_tell_lines(ws, buf_str(&s->notes));
    if (s->missing_cells && s->enc.missing != MISSING_DROP)
        ws_note(ws, "missing", "%zu missing cell%s filled as the missing policy says",
                s->missing_cells, s->missing_cells == 1 ? " was" : "s were");
    if (s->unseen_levels)
        ws_warn(ws, "unseen",
                "%zu cell%s a category never seen in training, encoded as none of the known ones",
                s->unseen_levels, s->unseen_levels == 1 ? " holds" : "s hold");
    if (s->strange.kind) {
        struct buf words = { 0 };
        const char *name = s->strange.kind->tell_strange(&s->strange, &words);
        ws_warn(ws, name, "%s", buf_str(&words));
        buf_free(&words);
    }
    if (s->cut)
        ws_warn(ws, "extreme",
                "%zu value%s far outside what training has seen (more than ten times "
                "its largest, standardised) %s cut to that limit",
                s->cut, s->cut == 1 ? "" : "s", s->cut == 1 ? "was" : "were");
    if (s->shortened)
        ws_warn(ws, "shortened", "%zu row%s greater counts than all training rows and %s taken "
                "as large as the largest of those: only the exact model knows larger ones",
                s->shortened, s->shortened == 1 ? " has" : "s have",
                s->shortened == 1 ? "is" : "are");
    if (s->formulas)
        ws_note(ws, "formulas", "%zu cell%s with = + - or @, which a spreadsheet may run as a "
                "formula: predict .. quote=formulas", s->formulas,
                s->formulas == 1 ? " begins" : "s begin");
    if (s->dropped)
        ws_note(ws, "dropped", "%zu row%s left out as the missing policy says", s->dropped,
                s->dropped == 1 ? " was" : "s were");
}

/* True if a score that most targets do not have is missing for all of these. */
static bool left_out(const struct measure *m, size_t t, const double *v)
{
    bool none = m->omit;

    for (size_t j = 0; j < t; j++)
        none = none && isnan(v[j]);
    return none;
}

/* For one target plain numbers, for several targets arrays in their order. */
void scoring_tell_json(struct rec *rec, size_t t, const struct metrics *raw,
                       const struct metrics *scaled)
{
    const struct measure *m;
    double v[TARGETS_MOST];

    for (size_t k = 0; (m = measure_at(k)) != NULL; k++) {
        if (m->group != MEASURE_SCORES)
            continue;
        for (size_t j = 0; j < t; j++)
            v[j] = measure_score(m, m->of == MEASURE_OF_SCALED ? &scaled[j] : &raw[j]);
        if (left_out(m, t, v))
            continue;
        if (t > 1)
            rec_nums(rec, m->name, v, t);
        else
            rec_num(rec, m->name, v[0]);
    }
}

static void number_cell(struct text_table *g, double v)
{
    char text[32] = "-";

    if (isfinite(v))
        text_number(text, sizeof text, v);
    text_table_cell(g, text, 0);
}

/* The standard errors of the three shares of n rows, in parentheses. */
static void shares_errors(struct rec *rec, size_t n)
{
    rec_text(rec, " (standard errors %.1f / %.1f / %.1f %%)", 100 * judgement_share_se(n, 0.5),
             100 * judgement_share_se(n, 0.9), 100 * judgement_share_se(n, 0.95));
}

/* One row for each target. */
void scoring_tell_table(struct rec *rec, const struct encoding *enc, const struct metrics *raw,
                        const struct metrics *scaled)
{
    static const char *const head[] = { "  target", "RMSE", "/sd", "R2", "NLPD", "scaled", "50 %",
                                        "90 %", "95 %" };
    enum { COLS = sizeof head / sizeof *head };
    static const bool right[COLS] = { false, true, true, true, true, true, true, true, true };
    struct text_table g;

    text_table_init(&g, COLS);
    for (size_t c = 0; c < COLS; c++)
        text_table_cell(&g, head[c], 0);
    for (size_t j = 0; j < encoding_targets(enc); j++) {
        const struct metrics *r = &raw[j], *s = &scaled[j];
        struct buf name = { 0 };
        buf_puts(&name, "  ");
        buf_puts(&name, encoding_for(enc, j).target);
        text_table_cell(&g, buf_str(&name), 26);
        buf_free(&name);
        const double v[COLS - 1] = { r->rmse, s->rmse, r->r2, r->nlpd, s->nlpd,
                                     100 * r->coverage50, 100 * r->coverage90,
                                     100 * r->coverage95 };
        for (size_t c = 0; c < COLS - 1; c++)
            number_cell(&g, v[c]);
    }
    text_table_print(&g, right, &rec->text);
    text_table_free(&g);
    rec_text(rec, "  /sd, scaled: by the training sd; 50, 90, 95 %%: share of rows inside");
    shares_errors(rec, raw->n);
}

void scoring_tell_clipped(struct rec *rec, const struct metrics *m)
{
    if (m->clipped > 0)
        rec_text(rec, "\n  %zu row%s of a class with probability 0: counted as %g, %.1f nats each",
                 m->clipped, m->clipped == 1 ? "" : "s", CLASS_SCORES_CLIP,
                 -log(CLASS_SCORES_CLIP));
}

/* Probabilities of two classes; each line fits 78 columns. */
static void tell_classes(struct rec *rec, const struct metrics *m)
{
    rec_text(rec, "  accuracy %.4f (the commoner class alone %.4f)  base rate %.4f\n", m->accuracy,
             m->majority, m->base_rate);
    if (isfinite(m->auroc))
        rec_text(rec, "  AUROC %.4f  AUPRC %.4f (by chance 0.5 and %.4f)\n", m->auroc, m->auprc,
                 m->base_rate);
    rec_text(rec, "  log loss %.4f nats (of the constant base rate %.4f)  Brier %.4f\n",
             m->log_loss, m->log_loss_constant, m->brier);
    rec_text(rec, "  probabilities are off by %.4f on average (ECE; by bins %.4f)", m->ece,
             m->calibration_ad);
    scoring_tell_clipped(rec, m);
}

/* Six lines at most, with the baselines seven; each fits 78 columns. +- gives standard errors. */
void scoring_tell_text(struct rec *rec, const struct metrics *raw, const struct metrics *sc,
                       bool fresh)
{
    char a[32], b[32];

    if (isfinite(raw->log_loss)) {
        tell_classes(rec, raw);
        return;
    }
    text_number(a, sizeof a, raw->rmse);
    text_number(b, sizeof b, raw->mae);
    rec_text(rec, "  RMSE %s (scaled %.4f)  MAE %s (%.4f)  R2 %.3f", a, sc->rmse, b, sc->mae,
             raw->r2);
    if (isfinite(raw->spearman)) /* a constant has no ranks */
        rec_text(rec, "  Spearman %.3f", raw->spearman);
    if (isfinite(raw->auroc))
        rec_text(rec, "\n  AUROC %.4f  AUPRC %.4f (of two values, the greater is positive)",
                 raw->auroc, raw->auprc);
    if (isnan(raw->nlpd))
        return;
    text_number(a, sizeof a, raw->nlpd);
    text_number(b, sizeof b, raw->crps);
    rec_text(rec, "\n  NLPD %s (scaled %.4f; with one constant variance %.4f)   CRPS %s\n", a,
             sc->nlpd, sc->nlpd_constant, b);
    const double share[] = { raw->coverage50, raw->coverage90, raw->coverage95 };
    static const double level[] = { 0.5, 0.9, 0.95 };
    rec_text(rec, "  in the 50 / 90 / 95 %% interval: ");
    for (size_t i = 0; i < 3; i++)
        rec_text(rec, "%s%.1f +- %.1f", i ? " / " : "", 100 * share[i],
                 100 * judgement_share_se(raw->n, level[i]));
    rec_text(rec, " %%");
    const struct judged j = judgement_score(raw);
    if (!fresh || j.verdict == INTERVALS_HOLD)
        return;
    rec_text(rec, "\n  the intervals %s (mean z^2 %.2f, standard error %.2f)",
             judgement_word(j.verdict), j.z2, j.z2_se);
}
