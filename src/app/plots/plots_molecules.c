/* app/plots/plots_molecules.c -- plots of molecules and of other rows that are compared with one
 * another: what `cliffs` kept, or a job that compares the rows. */
#include "app/plots/plots.h"

#include "app/runs/cliffs.h"
#include "app/runs/molecules/molecule_list.h"
#include "app/runs/row_inspect.h"
#include "app/runs/scoring/domain.h"
#include "app/runs/scoring/scoring.h"
#include "app/shell/args.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct figure *kept_cliffs(struct workspace *ws, struct run *r, const struct args *a,
                                  struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "cliffs", "No pairs have been compared yet. try: cliffs", err);
}

static struct figure *copied(void *in, struct job *job, struct err *err)
{
    (void)job;
    return figure_copy(in, err);
}

static void figure_freed(void *in)
{
    figure_free(in);
}

static struct figure *compared(void *in, struct job *job, struct err *err)
{
    return cliffs_figure(in, job, err);
}

static void cliffs_freed(void *in)
{
    cliffs_free(in);
}

static enum status cliffs_prepare(struct workspace *ws, struct run *r, const struct args *a,
                                  struct plot_work *out, struct err *err)
{
    const struct cliffs_opts o = { .similar = CLIFFS_SIMILAR, .difference = NAN };
    struct figure *kept = kept_cliffs(ws, r, a, err);

    if (!kept)
        return err->code;
    *out = (struct plot_work){ kept, copied, figure_freed };
    if (!figure_nothing(kept))
        return ST_OK;
    const struct dataset *d = ws_dataset(ws, NULL, err);
    struct cliffs *c = d ? cliffs_new(ws, d, &o, err) : NULL;
    if (!c)
        return err->code;
    figure_free(kept);
    *out = (struct plot_work){ c, compared, cliffs_freed };
    return ST_OK;
}

const struct plot_ops plots_cliffs_row = {
    .name = "cliffs",
    .title = "Alike pairs of rows with different targets",
    .axes = "1 - similarity, |difference|",
    .help = "Pairs of molecules, or of other rows of counts, that are at least 0.7 alike, by how "
            "much their targets differ. The steepest, top left, are named; a model that is smooth "
            "in the similarity cannot follow them. A line is at the difference that two "
            "measurements of one row have by the noise of the last fit. It draws the last result "
            "of cliffs.",
    .make = kept_cliffs,
    .prepare = cliffs_prepare,
};

/* Error and sd by similarity to the nearest training row. */

struct comparing {
    struct dataset *data;
    struct encoding enc;
    struct prediction at, train;
    char run[16];
    char *target;
};

static void comparing_freed(void *in)
{
    struct comparing *c = in;

    if (!c)
        return;
    dataset_unref(c->data);
    encoding_free(&c->enc);
    run_prediction_free(&c->at);
    run_prediction_free(&c->train);
    free(c->target);
    free(c);
}

static struct figure *similarity_drawn(void *in, struct job *job, struct err *err)
{
    const struct comparing *c = in;
    const struct domain_ask ask = { .data = c->data, .enc = &c->enc, .at = &c->at,
                                    .train = &c->train, .job = job };
    struct domain *d = mem_calloc(DOMAIN_COLUMNS, sizeof *d, "plot", err);
    size_t n = 0;
    enum status rc = d ? domain_measure(&ask, d, DOMAIN_COLUMNS, &n, err) : ST_NOMEM;
    struct figure *f = rc != ST_OK ? NULL
                       : n == 0 ? plots_nothing("similarity",
                                                "No input is a molecule, counts or a sequence of "
                                                "letters. try: plot sderror", err)
                                : domain_figure(d, n, c->run, c->target, err);

    free(d);
    return f;
}

static struct figure *kept_similarity(struct workspace *ws, struct run *r, const struct args *a,
                                      struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "similarity", "No rows have been compared yet. try: plot similarity", err);
}

/* Why rows cannot be compared, as a figure; NULL: they can, or *err says why not. */
static struct figure *not_comparable(const struct run *r, struct err *err)
{
    struct figure *f = plots_no_prediction("similarity", r, true, err);

    if (f || !r)
        return f;
    if (!r->has_test)
        return plots_nothing("similarity", "This run has no predictions of held-out rows. try: "
                                           "split test=20%, then fit and score", err);
    return r->data ? NULL
                   : plots_nothing("similarity", "The data of this run are not loaded. try: open "
                                                 "FILE", err);
}

static enum status similarity_prepare(struct workspace *ws, struct run *r, const struct args *a,
                                      struct plot_work *out, struct err *err)
{
    struct figure *no = not_comparable(r, err);
    struct prediction one;
    size_t j;

    *out = (struct plot_work){ no, copied, figure_freed };
    if (no)
        return ST_OK;
    enum status rc = plots_target(ws, r, a, &j, &one, err);
    struct comparing *c = rc == ST_OK ? mem_calloc(1, sizeof *c, "plot", err) : NULL;
    if (!c)
        return err->code;
    const struct prediction train = scoring_prediction(&r->train_pred, r->has_train ? j : 0);
    snprintf(c->run, sizeof c->run, "%s", r->id);
    rc = encoding_copy(&c->enc, &r->enc, err);
    if (rc == ST_OK)
        rc = run_prediction_copy(&one, &c->at, err);
    if (rc == ST_OK)
        rc = run_prediction_copy(&train, &c->train, err);
    c->target = rc == ST_OK ? mem_strdup(encoding_for(&r->enc, j).target, err) : NULL;
    c->data = c->target ? dataset_snapshot(r->data, err) : NULL;
    if (!c->data) {
        comparing_freed(c);
        return err->code;
    }
    *out = (struct plot_work){ c, similarity_drawn, comparing_freed };
    return ST_OK;
}

const struct plot_ops plots_similarity_row = {
    .name = "similarity",
    .title = "Error and sd by similarity to the training rows",
    .axes = "similarity, error and sd",
    .help = "For molecules, counts and sequences: error, predicted sd and coverage of held-out "
            "rows against their similarity to the nearest training row (by tanimoto, or the share "
            "of positions with the same letter), beside that of training rows that were left out. "
            "Where the error reaches that of the training mean, the model only guesses.",
    .of_target = true,
    .make = kept_similarity,
    .prepare = similarity_prepare,
};

/* A molecule with its atoms coloured. */

static struct figure *kept_molecule(struct workspace *ws, struct run *r, const struct args *a,
                                    struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "molecule", "No molecule has been drawn yet. try: plot molecule row:12",
                     err);
}

static enum status molecule_prepare(struct workspace *ws, struct run *r, const struct args *a,
                                    struct plot_work *out, struct err *err)
{
    const char *word = NULL;
    size_t row, target;

    if (!r) {
        struct figure *no = plots_nothing("molecule", "There is no fit yet. try: fit", err);
        *out = (struct plot_work){ no, copied, figure_freed };
        return no ? ST_OK : err->code;
    }
    for (size_t i = 0; i < args_many(a, "runs"); i++)
        if (!args_looks_like_run(args_many_at(a, "runs", i)))
            word = args_many_at(a, "runs", i);
    if (!word) {
        err_set(err, ST_USAGE, "plot molecule draws a row of the data");
        err_hint(err, "plot molecule row:12 out=FILE.svg");
        return ST_USAGE;
    }
    enum status rc = row_inspect_find(r, word, &row, err);
    if (rc == ST_OK)
        rc = run_target(r, args_text(a, "target"), &target, err);
    if (rc == ST_OK)
        rc = row_inspect_molecule_new(r, row, target, &out->in, err);
    out->make = row_inspect_molecule;
    out->free = row_inspect_molecule_free;
    (void)ws;
    return rc;
}

const struct plot_ops plots_molecule_row = {
    .name = "molecule",
    .title = "A molecule, its atoms coloured by what they add to the mean",
    .axes = "atom, rise of the mean",
    .help = "Of a row (plot molecule row:12 out=FILE.svg): how much lower the predicted mean is "
            "without each atom, that is without all counts that it takes part in, as explain-row "
            "tells it. An .svg file gets the molecule as RDKit draws it, blue atoms raise the mean "
            "and orange ones lower it; other files and the screen show bars. It needs RDKit.",
    .columns = true,
    .of_target = true,
    .make = kept_molecule,
    .prepare = molecule_prepare,
};

/* Molecules side by side. */

static struct figure *kept_molecules(struct workspace *ws, struct run *r, const struct args *a,
                                     struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "molecules", "No molecules have been drawn yet. try: plot molecules "
                                      "cliffs", err);
}

/* The rows of the line, as row:12 or by a name, and how alike each is to the first. */
static enum status named_rows(const struct run *r, const struct args *a, size_t *row, size_t *n,
                              struct err *err)
{
    *n = 0;
    for (size_t i = 0; i < args_many(a, "runs"); i++) {
        const char *word = args_many_at(a, "runs", i);
        if (args_looks_like_run(word))
            continue;
        if (*n == MOLECULE_LIST_SHOWN) {
            err_set(err, ST_RANGE, "plot molecules draws %d molecules at most",
                    MOLECULE_LIST_SHOWN);
            err_hint(err, "plot molecules row:1 row:2  |  two pictures");
            return ST_RANGE;
        }
        const enum status rc = row_inspect_find(r, word, &row[*n], err);
        if (rc != ST_OK) {
            err_hint(err, "plot molecules [pick|neighbours|cliffs]  |  plot molecules row:12 "
                     "row:15");
            return rc;
        }
        ++*n;
    }
    return ST_OK;
}

static enum status rows_list(const struct run *r, const struct args *a, void **out,
                             struct err *err)
{
    size_t row[MOLECULE_LIST_SHOWN], n, target = SIZE_MAX;
    enum status rc = named_rows(r, a, row, &n, err);

    if (rc == ST_OK)
        rc = run_target(r, args_text(a, "target"), &target, err);
    const struct encoding one = rc == ST_OK ? encoding_for(&r->enc, target)
                                            : (struct encoding){ 0 };
    return rc == ST_OK ? molecule_list_of_rows(r->data, one.target, row, n, out, err) : rc;
}

static void list_freed(void *in)
{
    molecule_list_free(in);
}

static enum status molecules_prepare(struct workspace *ws, struct run *r, const struct args *a,
                                     struct plot_work *out, struct err *err)
{
    const char *first = NULL;

    for (size_t i = 0; i < args_many(a, "runs") && !first; i++)
        if (!args_looks_like_run(args_many_at(a, "runs", i)))
            first = args_many_at(a, "runs", i);
    const bool command = first && (!strcmp(first, "pick") || !strcmp(first, "neighbours") ||
                                   !strcmp(first, "cliffs"));
    out->make = molecule_list_figure;
    out->free = list_freed;
    if (!first || command)
        return molecule_list_last(ws, first, &out->in, err);
    if (!r || !r->data || !r->has_enc) {
        err_set(err, ST_STATE, "rows are those of a fit's data, and there is none");
        err_hint(err, "fit, then plot molecules %.40s", first);
        return ST_STATE;
    }
    return rows_list(r, a, &out->in, err);
}

const struct plot_ops plots_molecules_row = {
    .name = "molecules",
    .title = "Molecules side by side: picked, neighbours, cliffs or rows",
    .axes = "molecule, similarity",
    .help = "The molecules that pick, neighbours or cliffs told last (plot molecules cliffs names "
            "one of these commands), or rows (plot molecules row:12 row:15), each with its name, "
            "target and similarity below it. Files of pictures get the structures as RDKit draws "
            "them, 24 at most; the screen and .txt files names and shortened SMILES. Two of a "
            "cliff stand beside each other.",
    .columns = true,
    .of_target = true,
    .make = kept_molecules,
    .prepare = molecules_prepare,
};
