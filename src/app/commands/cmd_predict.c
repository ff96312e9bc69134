/* app/commands/cmd_predict.c -- scores, checks, predictions, components and clusters of a fit: the
 * rows of the command table and the jobs they start. The work itself is in app/runs/scoring and in
 * app/runs/clustering.c. */
#include "app/commands/commands.h"

#include "app/core/ws_tell.h"
#include "app/runs/clustering.h"
#include "app/runs/scoring/scoring.h"
#include "app/shell/args.h"
#include "app/shell/import_args.h"
#include "app/shell/options.h"

#include <stdlib.h>
#include <string.h>

enum { PCA_FEATURES = 2048 };

/* Score, check, predict. */

static enum status cmd_score(struct workspace *ws, const struct args *a, struct err *err)
{
    struct run *r = ws_run(ws, args_text(a, "run"), err);
    enum part part = PART_TEST;

    if (!r)
        return err->code;
    const struct scoring_how how = {
        .baseline = !strcmp(args_text(a, "baseline"), "yes")  ? BASELINE_YES
                    : !strcmp(args_text(a, "baseline"), "no") ? BASELINE_NO
                                                              : BASELINE_AUTO,
        .tune = args_bool(a, "tune"),
    };
    if (args_bool(a, "folds"))
        return scoring_folds(ws, r, &how, args_line(a), err);
    if (how.tune) {
        err_set(err, ST_USAGE, "score tune=yes tunes again in each fold: it needs folds");
        err_hint(err, "split folds=5, then fit, then score folds tune=yes");
        return ST_USAGE;
    }
    for (int i = 0; dataset_part_words[i]; i++)
        if (!strcmp(args_text(a, "on"), dataset_part_words[i]))
            part = (enum part)i;
    return scoring_score(ws, r, part, &how, args_line(a), err);
}

static enum status cmd_check(struct workspace *ws, const struct args *a, struct err *err)
{
    struct run *r = ws_run(ws, args_text(a, "run"), err);
    size_t j = 0;
    const enum status rc = r ? run_target(r, args_text(a, "target"), &j, err) : err->code;

    return rc == ST_OK ? scoring_check(ws, r, j, args_line(a), err) : rc;
}

static enum status cmd_predict(struct workspace *ws, const struct args *a, struct err *err)
{
    struct run *r = ws_run(ws, args_text(a, "run"), err);
    struct import_opts o;
    enum status rc = r ? ws_no_keyboard(ws, args_text(a, "file"), err) : err->code;

    if (rc == ST_OK)
        rc = import_args_options(a, ws->opt.mem, &o, err);
    if (rc != ST_OK)
        return rc;
    const struct scoring_out out = { .path = args_text(a, "out"),
                                     .guard = !strcmp(args_text(a, "quote"), "formulas"),
                                     .columns = args_text(a, "columns"),
                                     .ids = args_text(a, "id"),
                                     .samples = (size_t)args_int(a, "samples", 0),
                                     .seed = args_given(a, "seed")
                                                 ? (uint64_t)args_int(a, "seed", 0)
                                                 : ws->opt.seed,
                                     .quantiles = args_text(a, "quantiles"),
                                     .has_above = args_given(a, "above"),
                                     .above = args_num(a, "above") };
    return scoring_predict(ws, r, args_text(a, "file"), &out, &o, args_line(a), err);
}

/* Pca, cluster. */

static enum status explore(struct workspace *ws, const struct args *a, const size_t *k, size_t nk,
                           struct err *err)
{
    struct run *r = NULL;
    struct dataset *d;
    struct clustering_opts o = {
        .dims = (size_t)args_int(a, "dims", 2), .color = args_text(a, "color"), .k = k, .nk = nk,
        .rows = (size_t)args_int(a, "rows", 5000),
        .features = (size_t)args_int(a, "features", PCA_FEATURES),
        .file = args_text(a, "file"), .out = args_text(a, "out"),
    };
    const char *run = args_text(a, "run");

    if (o.file && args_looks_like_run(o.file)) /* `pca r2` is a run; a file of that name is ./r2 */
        run = o.file, o.file = NULL;
    if (strcmp(run, ".") || ws->last_fit[0]) {
        r = ws_run(ws, run, err);
        if (!r)
            return err->code;
    }
    if (r && !r->model)
        r = NULL;
    d = r && r->data ? r->data : ws_dataset(ws, NULL, err);
    if (!d)
        return err->code;
    if (r && !r->data)
        r = NULL;
    if (!r)
        ws_note(ws, "kernel",
                "there is no fitted run with data, so the current kernel and hyperparameters are "
                "used");
    o.features += o.features & 1;
    return clustering_run(ws, d, r, &o, args_line(a), err);
}

static enum status cmd_pca(struct workspace *ws, const struct args *a, struct err *err)
{
    return explore(ws, a, NULL, 0, err);
}

static enum status cmd_cluster(struct workspace *ws, const struct args *a, struct err *err)
{
    size_t *k = NULL, n = 0;
    enum status rc = args_ints(a, "k", &k, &n, err);

    for (size_t i = 0; rc == ST_OK && i < n; i++)
        if (k[i] < 2 || k[i] > 64)
            rc = err_set(err, ST_RANGE, "k=%zu is out of range: between 2 and 64 clusters", k[i]);
    if (rc == ST_OK)
        rc = explore(ws, a, k, n, err);
    free(k);
    return rc;
}

#define RUN_ARG { "run", ARG_RUN, ARGF_POS, ".", 0, 0, NULL, NULL, "a fit; . is the last one" }
#define TARGET_ARG                                                                                 \
    {                                                                                              \
        "target", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,                                           \
            "with several targets, which one; default: the first"                                  \
    }

#define PLACE_ARGS                                                                                 \
    {"file", ARG_FILE, ARGF_POS | ARGF_RUN,                                                        \
     NULL,   0,        0,                                                                          \
     NULL,   NULL,     "new rows to place among the training rows; or a fit: r2"},                 \
        {"run", ARG_RUN, 0, ".", 0, 0, NULL, NULL, "a fit whose kernel is used"},                  \
    {                                                                                              \
        "out", ARG_OUT, 0, NULL, 0, 0, NULL, NULL, "CSV to write: coordinates and clusters"        \
    }

struct command cmd_predict_rows[] = {
    {"score",
     "model",
     "Score a fit on held-out rows: errors and calibration",
     "score",
     {RUN_ARG,
      {"on", ARG_CHOICE, 0, "test", 0, 0, "train|test|valid", NULL, "which rows to score"},
      {"folds", ARG_BOOL, 0, "no", 0, 0, NULL, NULL,
       "refit and score on each fold of split folds=K"},
      {"tune", ARG_BOOL, 0, "no", 0, 0, NULL, NULL,
       "with folds: repeat the tuning of this fit in each fold, on its training rows alone"},
      {"baseline", ARG_CHOICE, 0, "auto", 0, 0, "auto|yes|no", NULL,
       "score the mean and ridge regression beside it; auto: no ridge where it takes long"}},
     CMD_JOB | CMD_NEEDS_MODEL | CMD_CHANGES,
     cmd_score,
     "rmse and mae are in units of the target; scaled scores are divided by the training\n"
     "standard deviation. Several targets have a row each. The baselines are the training mean\n"
     "and standard deviation, and ridge regression on the same inputs at its likeliest parameter:\n"
     "a model that is no better has learnt nothing more than they did."},
    {"check",
     "model",
     "Check the uncertainty: calibration, outliers, shift, starvation",
     "check",
     {RUN_ARG, TARGET_ARG},
     CMD_JOB | CMD_NEEDS_MODEL,
     cmd_check,
     NULL},
    {"predict",
     "model",
     "Predict the rows of a file, or the test rows",
     "predict out=predictions.csv\npredict columns=row,y,mean,sd,lo95,hi95 out=intervals.csv\n"
     "predict samples=4 quantiles=5,95 above=0.5 out=functions.csv",
     {{"file", ARG_FILE, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "a table with the same input columns (options as in open); default: the test rows"},
      {"out", ARG_OUT, 0, NULL, 0, 0, NULL, NULL,
       "CSV to write: row, ids, mean, sd_latent, sd (with several targets mean_NAME and so on)"},
      {"columns", ARG_PREDICTED, 0, NULL, 0, 0, NULL, NULL,
       "what to write, in this order: {predicted}; default: row,id,mean,sd_latent,sd"},
      {"id", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "columns of the table that identify its rows; default: those with role id"},
      {"samples", ARG_INT, 0, NULL, 1, 1000, NULL, "functions",
       "further columns sample1 ..: functions drawn from the posterior, each one at all rows"},
      {"quantiles", ARG_TEXT, 0, NULL, 0, 0, NULL, NULL,
       "further columns: quantiles of a new measurement, in percent: 5,50,95"},
      {"above", ARG_REAL, 0, NULL, 0, 0, NULL, NULL,
       "a further column: the chance that a new measurement is above this value"},
      {"seed", ARG_INT, 0, NULL, 0, 9e15, NULL, NULL, "seed of samples=; default: set seed"},
      {"quote", ARG_CHOICE, 0, "no", 0, 0, "no|formulas", NULL,
       "formulas: put an apostrophe before text that begins with = + - @, for spreadsheets"},
      IMPORT_ARGS_ROWS(true),
      {"run", ARG_RUN, 0, ".", 0, 0, NULL, NULL, "a fit; . is the last one"},
      IMPORT_ARGS_CELLS(true)},
     CMD_JOB | CMD_NEEDS_MODEL,
     cmd_predict,
     "sd_latent is the uncertainty of the function, sd that of a new measurement (noise\n"
     "included). lo95 and hi95 bound the central 95 % interval of a new measurement, which\n"
     "after a tuning reaches as many sd as left-out rows want (fit rescale=); under scale\n"
     "y=log they are exact quantiles. y is the observed value, where the file has it."},
    {"pca",
     "model",
     "Compute the kernel PCA of the training rows",
     "pca dims=3",
     {PLACE_ARGS,
      {"dims", ARG_INT, 0, "2", 1, 500, NULL, "components", "number of components"},
      {"color", ARG_COLUMN, 0, "target", 0, 0, NULL, NULL,
       "column that colours the points; length: length of the sequence, or number of nodes"},
      {"rows", ARG_INT, 0, "5000", 10, 1e6, NULL, "rows",
       "largest number of rows (an evenly spaced sample)"},
      {"features", ARG_INT, 0, "2048", 2, 32768, NULL, "columns", "number of random features"}},
     CMD_JOB | CMD_NEEDS_DATA,
     cmd_pca,
     "out= writes set (train, new), row, pc1 .. and the colour; rows of the file are placed\n"
     "among the training rows. plot pca and plot scree draw the result."},
    {"cluster",
     "model",
     "Cluster by kernel k-means on the leading components",
     "cluster k=2..4",
     {PLACE_ARGS,
      {"k", ARG_INTS, 0, "2..8", 2, 64, NULL, "clusters",
       "number, list or range; the best silhouette wins"},
      {"dims", ARG_INT, 0, "10", 1, 500, NULL, "components", "number of components"},
      {"color", ARG_COLUMN, 0, "target", 0, 0, NULL, NULL,
       "column kept beside the labels; length: length of the sequence, or number of nodes"},
      {"rows", ARG_INT, 0, "5000", 10, 1e6, NULL, "rows",
       "largest number of rows (an evenly spaced sample)"},
      {"features", ARG_INT, 0, "2048", 2, 32768, NULL, "columns", "number of random features"}},
     CMD_JOB | CMD_NEEDS_DATA,
     cmd_cluster,
     "out= writes set (train, new), row, pc1 .., cluster and the colour; rows of the file take\n"
     "the cluster of the nearest centre. plot pca and plot silhouette draw the result."},
    {.name = NULL},
};
