/* app/commands/cmd_calibrate.c -- calibrate: the row of the command table and its job. */
#include "app/commands/commands.h"
#include "app/core/workspace.h"
#include "app/runs/scoring/calibrating.h"
#include "app/shell/args.h"

#include <string.h>

static enum status calibrate_part(const struct args *a, struct err *err)
{
    const char *on = args_text(a, "on");

    if (!on || strcmp(on, "valid") == 0)
        return ST_OK;
    err_set(err, ST_USAGE, strcmp(on, "train") == 0
            ? "calibrate on=train: the model was fitted to these rows, so that their errors are "
              "too small"
            : strcmp(on, "test") == 0
            ? "calibrate on=test: a score of these rows would then say nothing about new ones"
            : "calibrate on=%.40s: there are no such rows", on);
    err_hint(err, "calibrate on=valid  |  calibrate share=0.1");
    return ST_USAGE;
}

static enum status cmd_calibrate(struct workspace *ws, const struct args *a, struct err *err)
{
    struct run *r = ws_run(ws, args_text(a, "run"), err);
    struct calibrating_ask ask = {
        .level = args_num(a, "level"), .rows = (size_t)args_int(a, "rows", 0),
        .share = args_given(a, "share") ? args_num(a, "share") : 0.0,
        .folds = (size_t)args_int(a, "folds", 10),
        .seed = args_given(a, "seed") ? (uint64_t)args_int(a, "seed", 0) : ws->opt.seed,
    };
    const int ways = args_given(a, "on") + args_given(a, "rows") + args_given(a, "share");
    enum status rc = r ? calibrate_part(a, err) : err->code;

    if (rc != ST_OK)
        return rc;
    if (ways > 1) {
        err_set(err, ST_USAGE, "calibrate: choose on=valid, share= or rows=");
        err_hint(err, "help calibrate");
        return ST_USAGE;
    }
    for (int i = 0; calibration_words[i]; i++)
        if (strcmp(args_text(a, "method"), calibration_words[i]) == 0)
            ask.way = (enum calibration_way)i;
    if (ways > 0 && ask.way == CALIBRATION_CV) {
        err_set(err, ST_USAGE, "calibrate method=cv+ takes all training rows, fold by fold: leave "
                               "on=, share= and rows= out");
        err_hint(err, "calibrate method=cv+ folds=10");
        return ST_USAGE;
    }
    return calibrating_start(ws, r, &ask, args_line(a), err);
}

const struct command cmd_calibrate_rows[] = {
    {"calibrate",
     "model",
     "Set variances, intervals or probabilities by rows that were kept aside",
     "calibrate share=0.1\nsplit test=20% valid=10%; fit; calibrate on=valid level=0.9",
     {{"run", ARG_RUN, ARGF_POS, ".", 0, 0, NULL, NULL, "a fit; . is the last one"},
      {"on", ARG_WORD, 0, NULL, 0, 0, NULL, "part",
       "valid: by the validation rows of the split; the means stay as they are (the default)"},
      {"share", ARG_SHARE, 0, NULL, 1e-6, 0.9, NULL, NULL,
       "fit anew without this share of the training rows, and calibrate by these"},
      {"rows", ARG_INT, 0, NULL, 1, 1e9, NULL, "rows", "the same with a number of rows"},
      {"method", ARG_CHOICE, 0, "auto", 0, 0,
       "auto|scale|conformal|absolute|local|cv+|temperature", NULL,
       "numbers: scale the variances, set the intervals by conformal quantiles, (auto) both, or "
       "both of one variance for all rows (absolute) or of variances that follow the size of "
       "errors from row to row (local), or intervals by fits of folds (cv+); "
       "classes: a temperature for the probabilities (auto), or conformal prediction sets"},
      {"level", ARG_REAL, 0, "0.95", 0.5, 0.99, NULL, NULL,
       "the level that intervals or sets have to keep and that score reports"},
      {"folds", ARG_INT, 0, "10", 2, TARGETS_MOST, NULL, "folds",
       "method=cv+: into how many the training rows are dealt"},
      {"seed", ARG_INT, 0, NULL, 0, 9e15, NULL, NULL,
       "draws the rows of share= and rows=, or the folds; default: set seed"}},
     CMD_JOB | CMD_NEEDS_MODEL | CMD_CHANGES,
     cmd_calibrate,
     "A new run has the result; the old one stays. scale multiplies all variances by the mean\n"
     "squared z-score of the calibration rows; conformal makes a new row like these lie inside\n"
     "the interval with the probability of its level, whatever the shape of the errors.\n"
     "Levels 0.5, 0.8, 0.9, 0.95 and 0.99 have quantiles of their own; between them the\n"
     "intervals are interpolated. score then tells how many rows are inside, and how wide the\n"
     "intervals are.\n"
     "absolute takes no word of the model about where it is sure: all intervals are as wide.\n"
     "local learns the size of errors by a second regression on the kernel's features, for noise\n"
     "that is not the same everywhere; sd and intervals follow it.\n"
     "cv+ keeps no rows aside: it fits folds= times without a fold, and the interval of a new row\n"
     "asks all of these fits.\n"
     "Of classes, temperature divides the latent functions by the number that makes the log loss\n"
     "of the calibration rows least; conformal finds how probable a class has to be to stand in\n"
     "the set of a row, so that the set holds the class of a new row at the level, and predict\n"
     "columns=set writes the sets. The second goes on from the first: calibrate; calibrate\n"
     "method=conformal level=0.9."},
    {.name = NULL},
};
