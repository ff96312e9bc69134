/* app/commands/cmd_diag.c -- the commands that examine a fit before or after it is made: their rows
 * of the table. */
#include "app/runs/advise.h"
#include "app/commands/commands.h"
#include "app/commands/learned_args.h"
#include "app/runs/cliffs.h"
#include "app/runs/effects_run.h"
#include "app/runs/importance.h"
#include "app/runs/row_inspect.h"
#include "app/runs/inducing_run.h"
#include "app/runs/words/motif_run.h"
#include "app/runs/words/words_run.h"
#include "app/runs/spectrum_run.h"
#include "app/runs/why.h"
#include "app/core/ws_tell.h"
#include "compute/models/rescale.h"
#include "compute/preconds/precond.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Requires a preconditioner that has a rank. */
static enum status ranked_precond(const struct args *a, struct fit_opts *o, struct err *err)
{
    if (!args_given(a, "precond"))
        return ST_OK;
    const struct precond_ops *p = precond_find(args_text(a, "precond"), err);
    if (!p)
        return err->code;
    if (!p->ranked) {
        err_set(err, ST_USAGE, "precond=%s has no rank, so there is nothing to advise on", p->name);
        err_hint(err, "advise precond=srht2");
        return ST_USAGE;
    }
    const struct model_ops *kind = model_kind_named(args_text(a, "model"));
    if (!p->sketches && !(kind && kind->exact)) {
        err_set(err, ST_USAGE, "advise predicts random sketches, and precond=%s does not use one",
                p->name);
        err_hint(err, "race pcg(rank=100),pcg(precond=%s,rank=100)", p->name);
        return ST_USAGE;
    }
    o->precond = p != precond_usual() || !p->sketches ? p->name : NULL;
    return ST_OK;
}

static enum status no_advice(struct err *err)
{
    err_set(err, ST_UNSUPPORTED, "advise predicts iterations by rank, and a fit with m inducing "
                                 "points takes one factor of m x m: dry says what it takes");
    err_hint(err, "dry fit solver=sparse inducing=100  |  advise  |  advise model=exact");
    return ST_UNSUPPORTED;
}

static enum status cmd_advise(struct workspace *ws, const struct args *a, struct err *err)
{
    struct dataset *d = ws_dataset(ws, args_text(a, "data"), err);
    struct fit_opts o = { .kind = model_kind_named(args_text(a, "model")) };
    struct advise_opts ao = { .solves = (size_t)args_int(a, "solves", 1),
                              .rows = (size_t)args_int(a, "rows", 0),
                              .plain = !strcmp(args_text(a, "law"), "plain") };
    size_t *ranks = NULL;
    enum status rc = o.kind && o.kind->points ? no_advice(err)
                     : d                      ? cmd_model_fit(ws, a, d, &o, err)
                                              : err->code;

    o.maxit = (size_t)args_int(a, "maxit", 500);
    if (rc == ST_OK && !d->link) /* classes are refused below, whatever the kernel */
        rc = learned_args_fit(ws, a, &o, err);
    if (rc == ST_OK)
        rc = ranked_precond(a, &o, err);
    if (rc == ST_OK && args_given(a, "rank"))
        rc = args_ints(a, "rank", &ranks, &ao.nrank, err);
    ao.rank = ranks;
    if (rc == ST_OK)
        rc = advise_start(ws, d, &o, &ao, args_line(a), err);
    free(ranks);
    return rc;
}

/* Shows the spectrum of a fit; without a fit, of the one that the current settings would make. */
static enum status cmd_spectrum(struct workspace *ws, const struct args *a, struct err *err)
{
    const size_t rows = (size_t)args_int(a, "rows", 0);
    struct fit_opts o = { .kind = model_kind_named(args_text(a, "model")) };

    if (args_given(a, "run") || (ws->last_fit[0] && !args_given(a, "model"))) {
        struct run *r = ws_run(ws, args_text(a, "run"), err);
        if (!r)
            return err->code;
        if (r->kind != RUN_FIT) {
            err_set(err, ST_STATE, "%s is a tuning, which has no spectrum", r->id);
            err_hint(err, "fit, then spectrum");
            return ST_STATE;
        }
        if (!r->model && r->data)
            ws_tell(ws, REC_NOTE, r->id, "unfinished", "fit, then spectrum",
                    "%s did not come to an end: this is the spectrum at its settings", r->id);
        return spectrum_run_start(ws, r, NULL, NULL, rows, args_line(a), err);
    }
    struct dataset *d = ws_dataset(ws, NULL, err);
    enum status rc = d ? cmd_model_fit(ws, a, d, &o, err) : err->code;
    if (rc == ST_OK && !d->link)
        rc = learned_args_fit(ws, a, &o, err);
    return rc == ST_OK ? spectrum_run_start(ws, NULL, d, &o, rows, args_line(a), err) : rc;
}

static enum status cmd_inducing(struct workspace *ws, const struct args *a, struct err *err)
{
    const struct run *r = ws_run(ws, args_text(a, "run"), err);

    return r ? inducing_run_start(ws, r, args_text(a, "out"), args_line(a), err) : err->code;
}

static enum status cmd_words(struct workspace *ws, const struct args *a, struct err *err)
{
    const struct run *r = ws_run(ws, args_text(a, "run"), err);
    const struct words_run_opts o = { .count = (size_t)args_int(a, "count", 20),
                                      .target = args_text(a, "target"),
                                      .out = args_text(a, "out") };

    return r ? words_run_start(ws, r, &o, args_line(a), err) : err->code;
}

static enum status cmd_motif(struct workspace *ws, const struct args *a, struct err *err)
{
    const struct run *r = ws_run(ws, args_text(a, "run"), err);
    const struct motif_run_opts o = { .width = (size_t)args_int(a, "width", 8),
                                      .target = args_text(a, "target"),
                                      .out = args_text(a, "out") };

    return r ? motif_run_start(ws, r, &o, args_line(a), err) : err->code;
}

static enum status cmd_why(struct workspace *ws, const struct args *a, struct err *err)
{
    const bool tuned = !args_given(a, "run") && !ws->last_fit[0] && ws->nrun; /* no fit yet */
    const struct run *r = ws_run(ws, tuned ? ws->run[ws->nrun - 1]->id : args_text(a, "run"), err);
    return r ? why_start(ws, r, args_line(a), err) : err->code;
}

static enum status cmd_neighbours(struct workspace *ws, const struct args *a, struct err *err)
{
    const struct run *r = ws_run(ws, args_text(a, "run"), err);

    return r ? row_inspect_neighbours(ws, r, args_text(a, "row"), (size_t)args_int(a, "count", 10),
                                      args_line(a), err)
             : err->code;
}

static enum status cmd_cliffs(struct workspace *ws, const struct args *a, struct err *err)
{
    const struct cliffs_opts o = { .column = args_text(a, "column"),
                                   .similar = args_num(a, "similar"),
                                   .difference = args_given(a, "difference")
                                                     ? args_num(a, "difference") : (double)NAN,
                                   .count = (size_t)args_int(a, "count", 20) };
    const struct dataset *d = ws_dataset(ws, NULL, err);

    return d ? cliffs_start(ws, d, &o, args_line(a), err) : err->code;
}

static enum status cmd_explain_row(struct workspace *ws, const struct args *a, struct err *err)
{
    struct run *r = ws_run(ws, args_text(a, "run"), err);
    struct row_inspect_ask q = { .column = args_text(a, "column"), .out = args_text(a, "out") };
    enum status rc = r ? row_inspect_find(r, args_text(a, "row"), &q.row, err) : err->code;

    if (rc == ST_OK)
        rc = run_target(r, args_text(a, "target"), &q.target, err);
    return rc != ST_OK ? rc : row_inspect_explain(ws, r, &q, args_line(a), err);
}

static enum status cmd_effects(struct workspace *ws, const struct args *a, struct err *err)
{
    struct effects_opts o = { .rows = (size_t)args_int(a, "rows", 0),
                              .top = (size_t)args_int(a, "top", 0),
                              .target = args_text(a, "target"),
                              .out = args_text(a, "out") };
    const char **word = NULL;
    struct run *r;
    enum status rc = effects_run_words(ws, a, "columns", &r, &word, &o.words, err);

    o.word = word;
    if (rc == ST_OK)
        rc = effects_run_start(ws, r, &o, args_line(a), err);
    free(word);
    return rc;
}

static enum status cmd_importance(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *by = args_text(a, "by");
    const struct importance_opts o = { .by = !strcmp(by, "group")      ? IMPORTANCE_GROUP
                                             : !strcmp(by, "position") ? IMPORTANCE_POSITION
                                                                       : IMPORTANCE_COLUMN,
                                       .window = (size_t)args_int(a, "window", 0),
                                       .pairs = args_bool(a, "pairs"),
                                       .rows = (size_t)args_int(a, "rows", 0),
                                       .repeats = (size_t)args_int(a, "repeats", 0),
                                       .top = (size_t)args_int(a, "top", 0),
                                       .target = args_text(a, "target"),
                                       .out = args_text(a, "out") };
    const struct run *r = ws_run(ws, args_text(a, "run"), err);

    return r ? importance_start(ws, r, &o, args_line(a), err) : err->code;
}

const struct command cmd_diag_rows[] = {
    {"advise",
     "model",
     "Predict what a fit will cost at each rank",
     "advise features=512 rank=16,32,64",
     {{"data", ARG_DATASET, ARGF_POS, ".", 0, 0, NULL, NULL, "dataset; . is the current one"},
      {"kernel", ARG_KERNEL, 0, NULL, 0, 0, NULL, NULL, "kernel; default: the current one"},
      {"features", ARG_INT, 0, "4096", 2, 1048576, NULL, "columns",
       "random features (columns of Z) of the planned fit"},
      {"model", ARG_CHOICE, 0, "features", 0, 0, "features|exact|sparse", NULL,
       "random features, or the exact kernel: pcg by rank, beside a factor and steps on rows; "
       "sparse names what tells the cost of inducing points"},
      {"rank", ARG_INTS, 0, NULL, 0, 65536, NULL, "columns",
       "number, list or range: 128..2048*2; default: growing ranks from 16"},
      {"rtol", ARG_REAL, 0, "1e-6", 1e-15, 1, NULL, NULL,
       "relative residual at which the fit ends"},
      {"maxit", ARG_INT, 0, "500", 1, 1e7, NULL, "iterations",
       "largest number of iterations of the fit"},
      {"solves", ARG_INT, 0, "1", 1, 1e9, NULL, "solves",
       "number of solves with one preconditioner"},
      {"rows", ARG_INT, 0, NULL, 64, 16384, NULL, "rows",
       "rows in the sample; default 2048, or all for up to 2048 features"},
      {"law", ARG_CHOICE, 0, "session", 0, 0, "session|plain", NULL,
       "session: corrected by the fits of this session; plain: not"},
      {"precond", ARG_SKETCH, 0, NULL, 0, 0, NULL, NULL, "{sketches}"},
      {"rescale", ARG_CHOICE, 0, "yes", 0, 0, RESCALE_CHOICES, NULL,
       "as in fit: the noise is adjusted to these features"},
      {"precision", ARG_CHOICE, 0, "float", 0, 0, "float|double", NULL, "as in fit"},
      {"seed", ARG_INT, 0, NULL, 0, 9e15, NULL, NULL,
       "seed of the random features; default: set seed"}},
     CMD_JOB | CMD_NEEDS_DATA | CMD_HP_KEYS,
     cmd_advise,
     "A sample of rows predicts iterations with their range, seconds and memory; * has the\n"
     "least time. \"more than\" stands where the range has no upper end. Seconds come from\n"
     "sizes and the processor and are right to a factor of two.\n"
     "plot rank draws the prediction, and later fits beside it."},
    {"spectrum",
     "model",
     "Show the eigenvalues of a fit's system, and what its solver saw",
     "spectrum",
     {{"run", ARG_RUN, ARGF_POS, ".", 0, 0, NULL, NULL,
       "a fit; . is the last one; without a fit, the planned one"},
      {"kernel", ARG_KERNEL, 0, NULL, 0, 0, NULL, NULL, "planned fit: kernel"},
      {"features", ARG_INT, 0, "4096", 2, 1048576, NULL, "columns",
       "planned fit: random features (columns of Z)"},
      {"model", ARG_CHOICE, 0, "features", 0, 0, "features|exact", NULL,
       "planned fit: random features, or the exact kernel"},
      {"rows", ARG_INT, 0, NULL, 64, 16384, NULL, "rows",
       "rows in the sample; default 2048, or all for up to 2048 features"},
      {"rtol", ARG_REAL, 0, "1e-6", 1e-15, 1, NULL, NULL, "planned fit: as in fit"},
      {"maxit", ARG_INT, 0, "500", 1, 1e7, NULL, "iterations", "planned fit: as in fit"},
      {"rescale", ARG_CHOICE, 0, "no", 0, 0, RESCALE_CHOICES, NULL,
       "planned fit: has no effect here"},
      {"precision", ARG_CHOICE, 0, "float", 0, 0, "float|double", NULL, "planned fit: as in fit"},
      {"seed", ARG_INT, 0, NULL, 0, 9e15, NULL, NULL, "planned fit: as in fit"}},
     CMD_JOB | CMD_NEEDS_DATA | CMD_HP_KEYS,
     cmd_spectrum,
     "It shows the eigenvalues of Z'Z, or of an exact fit's kernel matrix, from a sample of\n"
     "rows, the noise among them, the rank, the condition numbers without and with the\n"
     "preconditioner, the effective dimension, and the Ritz values of the fit's own iteration.\n"
     "plot spectrum draws it."},
    {"inducing",
     "model",
     "Show the inducing points that a sparse fit keeps, and what each is worth",
     "inducing",
     {{"run", ARG_RUN, ARGF_POS, ".", 0, 0, NULL, NULL, "a sparse fit; . is the last fit"},
      {"out", ARG_OUT, 0, NULL, 0, 0, NULL, NULL,
       "CSV to write: point, row, target, letters, nearest, loss, sequence, inputs (scaled)"}},
     CMD_JOB | CMD_NEEDS_MODEL,
     cmd_inducing,
     "A point that is a training row has its row and target; another one of letters says in how\n"
     "many letters it differs from the nearest training row. loss is what the bound (of fitc and\n"
     "dtc the log likelihood) loses without the point; the most valuable points come first.\n"
     "plot inducing shows the course of the choice, and the targets of the points."},
    {"words",
     "model",
     "List the words of sequences on which a fit depends",
     "words",
     {{"run", ARG_RUN, ARGF_POS, ".", 0, 0, NULL, NULL, "a fit; . is the last one"},
      {"count", ARG_INT, 0, "20", 1, 100000, NULL, "words", "how many are listed"},
      {"target", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL, "with several targets, which one"},
      {"out", ARG_OUT, 0, NULL, 0, 0, NULL, NULL, "CSV to write: all words, with their sds"}},
     CMD_JOB | CMD_NEEDS_DATA,
     cmd_words,
     "For kernels of words (spectrum, mismatch, wd), any model: the weight of a word is what it\n"
     "adds to the function, its mean with its posterior sd, in units of the target; of two\n"
     "classes, of the latent function. A word holds its shorter words where the kernel counts\n"
     "these, too. With wd words have places. Rows with the word are counted in each half of the\n"
     "target (of two classes, in each class). plot words draws the last result."},
    {"motif",
     "model",
     "Align training sequences at the window that a fit finds heaviest",
     "motif width=6",
     {{"run", ARG_RUN, ARGF_POS, ".", 0, 0, NULL, NULL, "a fit; . is the last one"},
      {"width", ARG_INT, 0, "8", 1, 1024, NULL, "letters", "letters of the window"},
      {"target", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL, "with several targets, which one"},
      {"out", ARG_OUT, 0, NULL, 0, 0, NULL, NULL, "a logo of the letters as SVG"}},
     CMD_JOB | CMD_NEEDS_DATA,
     cmd_motif,
     "Each training row of the upper half of the target (of two classes, of the positive one)\n"
     "gives the window that adds most to the function, as words has it. At each position the\n"
     "letters are listed by their share of these windows, with the mean weight of the windows\n"
     "that have them, and the information that they carry (of DNA at most 2 bits). In the logo\n"
     "letters are as high as the information times their share."},
    {"why",
     "model",
     "Find out what is wrong with a fit or tuning, and what to do",
     "why",
     {{"run", ARG_RUN, ARGF_POS, ".", 0, 0, NULL, NULL,
       "a fit or a tuning (t1); . is the last fit, or without fits the last tuning"}},
     CMD_JOB | CMD_NEEDS_DATA,
     cmd_why,
     "It checks the outcome, repeated rows, columns, noise and lengthscales (leave-one-out\n"
     "errors on a sample), features, variances and rank (from the spectrum). Causes come with a\n"
     "score, the most likely first; try shows what to type."},
    {"neighbours",
     "model",
     "List the training rows that are most like one row",
     "neighbours row:12",
     {{"row", ARG_WORD, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0, NULL, NULL,
       "a row of the data by its number, row:12, or by its cell of text, such as a name; or the "
       "SMILES of any molecule"},
      {"run", ARG_RUN, ARGF_POS, ".", 0, 0, NULL, NULL, "a fit; . is the last one"},
      {"count", ARG_INT, 0, "10", 1, 1000, NULL, "rows", "number of rows to list"}},
     CMD_JOB | CMD_NEEDS_DATA,
     cmd_neighbours,
     "Rows are ordered by distance in the feature space of the fit (at most 2048 of its\n"
     "features) and shown with their targets and how much these exceed the row's own, beside the\n"
     "sd that the fit expects of such a difference."},
    {"cliffs",
     "data",
     "List pairs of molecules that are alike with very different targets",
     "cliffs",
     {{"column", ARG_COLUMN, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "column of molecules or counts (default: the input that is one)"},
      {"similar", ARG_REAL, 0, "0.7", 0, 1, NULL, NULL, "how alike they are at least (tanimoto)"},
      {"difference", ARG_REAL, 0, NULL, 0, 1e300, NULL, NULL,
       "difference of the target from which on a pair is one (default: its standard deviation)"},
      {"count", ARG_INT, 0, "20", 1, 100000, NULL, "pairs", "number of pairs to list"}},
     CMD_JOB | CMD_NEEDS_DATA,
     cmd_cliffs,
     "All pairs of rows, of training and of test, are compared by exact values of the kernel\n"
     "tanimoto. The steepest come first: |difference| over 1 - similarity. A model that is\n"
     "smooth in the similarity cannot follow a cliff. Pairs with equal counts are apart."},
    {"explain-row",
     "model",
     "Show what a prediction depends on: columns, letters, nodes, atoms",
     "explain-row row:12",
     {{"row", ARG_WORD, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0, NULL, NULL,
       "a row of the data by its number, row:12, or by its cell of text, such as a name"},
      {"run", ARG_RUN, ARGF_POS, ".", 0, 0, NULL, NULL, "a fit; . is the last one"},
      {"target", ARG_WORD, 0, NULL, 0, 0, NULL, NULL, "with several targets, which one"},
      {"column", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL, "a sequence or molecule: its parts"},
      {"out", ARG_OUT, 0, NULL, 0, 0, NULL, NULL,
       "CSV to write: position, letter, changed_to, change (of words: weight); or column, value, "
       "typical, change"}},
     CMD_JOB | CMD_NEEDS_DATA,
     cmd_explain_row,
     "For numbers and categories: how much higher the mean is with the row's own value of each\n"
     "column than with those of the training rows, on average; of several classes the function\n"
     "of the predicted class less that of the next likely one. For sequences every letter is\n"
     "tried at every position, and no letter (masked, in the last row). For graphs each node is\n"
     "left out, for a time series each value is replaced by the mean; of a molecule that RDKit\n"
     "reads each atom, with all counts that it takes part in, else each piece of the text or\n"
     "place of the counts (column=NAME where there are other inputs). plot row draws it. With a\n"
     "kernel of words also what the words over each position weigh: plot profile."},
    {"effects",
     "model",
     "Show how the predicted mean changes with each column",
     "effects x1,x3",
     {{"columns", ARG_COLUMN, ARGF_POS | ARGF_MANY, NULL, 0, 0, NULL, NULL,
       "columns x1,x3, patterns, a pair x1*x3, or all (the default); a fit: r2"},
      {"rows", ARG_INT, 0, "200", 1, 5000, NULL, "rows",
       "rows over which predictions are averaged"},
      {"target", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL, "with several targets, which one"},
      {"top", ARG_INT, 0, "4", 1, 1000, NULL, "columns", "columns in the table, by their range"},
      {"out", ARG_OUT, 0, NULL, 0, 0, NULL, NULL, "CSV to write: every value of every column"}},
     CMD_JOB | CMD_NEEDS_DATA,
     cmd_effects,
     "Partial dependence: held-out rows (else training rows) take one value of the column\n"
     "after the other, all else stays, and their predictions are averaged. sd is that of the\n"
     "average by the model. What belongs to one column moves together: its levels, its\n"
     "season. Where columns are correlated, the rows so made may be unlike any real row.\n"
     "A pair gives a map and H, its interaction. plot effects draws the last result."},
    {"importance",
     "model",
     "Find the columns on which the error depends, by permuting them",
     "importance",
     {{"run", ARG_RUN, ARGF_POS, ".", 0, 0, NULL, NULL, "a fit; . is the last one"},
      {"by", ARG_CHOICE, 0, "column", 0, 0, "column|group|position", NULL,
       "group: columns with the same cols NAME group=G together; position: of sequences, series"},
      {"window", ARG_INT, 0, NULL, 1, 1e6, NULL, "positions",
       "with by=position: so many are permuted together; otherwise at most 48 such windows"},
      {"pairs", ARG_BOOL, 0, "no", 0, 0, NULL, NULL,
       "also the interactions H of the five most important columns"},
      {"rows", ARG_INT, 0, "2000", 3, 1e6, NULL, "rows", "at most so many held-out rows"},
      {"repeats", ARG_INT, 0, "5", 1, 100, NULL, "permutations", "permutations of each column"},
      {"target", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL, "with several targets, which one"},
      {"top", ARG_INT, 0, "4", 1, 1000, NULL, "columns", "columns in the text"},
      {"out", ARG_OUT, 0, NULL, 0, 0, NULL, NULL, "CSV to write: every column"}},
     CMD_JOB | CMD_NEEDS_DATA,
     cmd_importance,
     "The rise of the RMSE on held-out rows (else training rows) when the values of a column\n"
     "are permuted among them, with its standard error over the rows. Columns that say the\n"
     "same share their importance: put them in a group. H (Friedman & Popescu 2008) is 0\n"
     "where two columns add up, and 1 where only both together matter.\n"
     "by=position permutes the letters at each position of sequences of one length, or the\n"
     "values at each time of a series. Nodes of graphs have no order: with a kernel of columns\n"
     "the means over them are permuted. plot importance draws the last result."},
    {.name = NULL},
};
