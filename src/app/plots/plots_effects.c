/* app/plots/plots_effects.c -- the plots of `effects` and `importance`: what those commands kept,
 * or for columns that are named here a job that computes their effects. */
#include "app/plots/plots.h"

#include "app/runs/effects_run.h"
#include "base/mem.h"

#include <stdlib.h>

/* One of both. */
struct drawn {
    struct figure *kept;
    struct effects_run *work;
};

static void drawn_free(void *in)
{
    struct drawn *d = in;

    if (!d)
        return;
    figure_free(d->kept);
    effects_run_free(d->work);
    free(d);
}

static struct figure *drawn_make(void *in, struct job *job, struct err *err)
{
    struct drawn *d = in;
    struct figure *f = d->kept;

    d->kept = NULL;
    return f ? f : effects_run_figure(d->work, job, err);
}

static struct figure *kept_effects(struct workspace *ws, struct run *r, const struct args *a,
                                   struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "effects", "No effects have been computed yet. try: effects", err);
}

static struct figure *kept_importance(struct workspace *ws, struct run *r, const struct args *a,
                                      struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "importance", "No importance has been computed yet. try: importance",
                     err);
}

static struct figure *kept_words(struct workspace *ws, struct run *r, const struct args *a,
                                 struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "words", "No words have been weighed yet. try: words", err);
}

static enum status effects_prepare(struct workspace *ws, struct run *r, const struct args *a,
                                   struct plot_work *out, struct err *err)
{
    struct effects_opts o = { .rows = 200, .target = args_text(a, "target") };
    const char **word = NULL;
    struct drawn *d = mem_calloc(1, sizeof *d, "plot", err);

    if (!d)
        return ST_NOMEM;
    *out = (struct plot_work){ d, drawn_make, drawn_free };
    if (args_many(a, "runs") == 0 && !o.target) {
        d->kept = kept_effects(ws, r, a, err);
        if (!d->kept)
            return err->code;
        if (!figure_nothing(d->kept))
            return ST_OK;
        figure_free(d->kept);
        d->kept = NULL;
    }
    enum status rc = effects_run_words(ws, a, "runs", &r, &word, &o.words, err);
    o.word = word;
    if (rc == ST_OK) {
        d->work = effects_run_new(r, &o, err);
        rc = d->work ? ST_OK : err->code;
    }
    free(word);
    return rc;
}

const struct plot_ops plots_effects_row = {
    .name = "effects",
    .title = "How the predicted mean changes with each column",
    .axes = "column, target",
    .help = "Partial dependence: the average prediction over a sample of held-out rows when all of "
            "them take one value of a column. Numbers are curves with the 95 % band of the average "
            "and the range of 80 % of the rows; where that is wide, other columns decide. "
            "Categories are bars from the average of all rows. x1*x3 is a map over the quantiles "
            "of two columns. Without columns it draws the last result of effects.",
    .make = kept_effects,
    .columns = true,
    .of_target = true,
    .prepare = effects_prepare,
};

const struct plot_ops plots_importance_row = {
    .name = "importance",
    .title = "Columns on which the error depends",
    .axes = "column, rise of the RMSE",
    .help = "From importance: the rise of the RMSE on held-out rows when a column is permuted, "
            "with two standard errors to each side; a bar whose line crosses 0 may be chance. With "
            "pairs=yes also the interactions H of the most important columns.",
    .make = kept_importance,
};

static struct figure *kept_profile(struct workspace *ws, struct run *r, const struct args *a,
                                   struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "profile", "No row has been explained yet by a kernel of words. try: "
                     "explain-row row:1", err);
}

const struct plot_ops plots_profile_row = {
    .name = "profile",
    .title = "Words of one row, by position",
    .axes = "letter, weight",
    .help = "From explain-row with a kernel of words: at each position of the row the sum of the "
            "weights of the words that cover it. With wd, whose words have places, a letter by "
            "position: that sum with each letter there.",
    .make = kept_profile,
};

const struct plot_ops plots_words_row = {
    .name = "words",
    .title = "Words of sequences on which a fit depends",
    .axes = "word, weight",
    .help = "From words: what each of the heaviest words adds to the function, with two sds to "
            "each side; of a word whose line crosses 0 the rows say little. With wd words have "
            "places.",
    .make = kept_words,
};
