/* app/commands/cmd_suggest.c -- what to measure next: the rows of the command table.  The work is
 * in app/runs/suggesting.c, telling.c and replaying.c. */
#include "app/commands/commands.h"
#include "app/core/workspace.h"
#include "app/runs/replaying.h"
#include "app/runs/suggesting.h"
#include "app/runs/telling.h"
#include "app/shell/import_args.h"

static enum status cmd_suggest(struct workspace *ws, const struct args *a, struct err *err)
{
    struct run *r = ws_run(ws, args_text(a, "run"), err);
    const enum status rc = r ? ws_no_keyboard(ws, args_text(a, "pool"), err) : err->code;

    return rc == ST_OK ? suggesting_start(ws, r, a, err) : rc;
}

static enum status cmd_tell(struct workspace *ws, const struct args *a, struct err *err)
{
    const enum status rc = ws_no_keyboard(ws, args_text(a, "file"), err);

    return rc == ST_OK ? telling_start(ws, a, err) : rc;
}

static enum status cmd_bo(struct workspace *ws, const struct args *a, struct err *err)
{
    return replaying_start(ws, a, err);
}

struct command cmd_suggest_rows[] = {
    {"suggest",
     "model",
     "Choose the rows to measure next",
     "suggest 4 goal=max\nsuggest 8 x1=0..1 x2=0.25 by=ei apart=0.05",
     {{"count", ARG_INT, ARGF_POS, "1", 1, 1000, NULL, "rows", "how many rows to choose"},
      {"pool", ARG_FILE, 0, NULL, 0, 0, NULL, NULL,
       "a table of rows that can be measured (options as in open)"},
      {"column", ARG_COLUMN, ARGF_POS | ARGF_MANY | ARGF_PAIRS, NULL, 0, 0, NULL, NULL,
       "instead of a file, values of inputs: NAME=20..80 NAME=5..9/0.5 NAME=water,dmso NAME=7; "
       "default: the measured range"},
      {"out", ARG_OUT, 0, NULL, 0, 0, NULL, NULL, "CSV to write: id, inputs, mean, sd, chance"},
      {"goal", ARG_WORD, 0, "max", 0, 0, NULL, NULL,
       "max, min, or a value that the target is to reach"},
      {"by", ARG_CHOICE, 0, "thompson", 0, 0, SUGGESTING_RULES, NULL,
       "a function from the posterior for each row; expected improvement; mean plus 2 sd; mean; "
       "sd"},
      {"apart", ARG_REAL, 0, "0.01", 0, 1, NULL, NULL,
       "how unlike two proposals are at least: 1 minus their correlation under the kernel"},
      {"again", ARG_BOOL, 0, "no", 0, 0, NULL, NULL,
       "also rows that were measured, or that the file has twice"},
      {"candidates", ARG_INT, 0, "10000", 10, 1e7, NULL, "rows",
       "how many rows to make from ranges, at most"},
      {"target", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "with several targets, which one; default: the first"},
      {"seed", ARG_INT, 0, NULL, 0, 9e15, NULL, NULL,
       "seed of functions and candidates; default: set seed"},
      {"quote", ARG_CHOICE, 0, "no", 0, 0, "no|formulas", NULL,
       "formulas: put an apostrophe before text that begins with = + - @, for spreadsheets"},
      IMPORT_ARGS_ROWS(true),
      {"run", ARG_RUN, 0, ".", 0, 0, NULL, NULL, "a fit; . is the last one"},
      IMPORT_ARGS_CELLS(true)},
     CMD_JOB | CMD_SETS | CMD_NEEDS_DATA | CMD_NEEDS_MODEL | CMD_CHANGES,
     cmd_suggest,
     "mean and sd are those of a new measurement; chance is that of the function to be better\n"
     "there than the best measured value. Rows that were measured are not proposed. Steps such\n"
     "as where and let apply to the candidates, too. The same seed gives the same rows."},
    {"tell",
     "model",
     "Tell the measurements of suggested rows",
     "tell s1=3.1 s2=failed",
     {{"file", ARG_FILE, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "the CSV of suggest with a column of the target: values, the word failed, or nothing yet"},
      {"id", ARG_WORD, ARGF_POS | ARGF_MANY | ARGF_PAIRS, NULL, 0, 0, NULL, NULL,
       "instead of a file: s3=0.82 s4=failed"},
      {"goal", ARG_CHOICE, 0, "max", 0, 0, "max|min", NULL, "which measured value is the best"}},
     CMD_JOB | CMD_SETS | CMD_NEEDS_DATA | CMD_CHANGES,
     cmd_tell,
     "Measured rows join the training rows of the current data; rows without a value stay\n"
     "pending. An unknown id, or another value than before, changes nothing. The next fit uses\n"
     "the rows; hyperparameters stay until tune. Sessions and undo keep what was told."},
    {"bo",
     "model",
     "Replay the data as if unmeasured, round by round",
     "bo table start=20 rounds=2 batch=10 by=ei,random",
     {{"of", ARG_CHOICE, ARGF_POS, "table", 0, 0, "table", NULL, "the current data"},
      {"start", ARG_INT, 0, "96", 2, 1e6, NULL, "rows", "measured before the first round"},
      {"rounds", ARG_INT, 0, "5", 1, 1000, NULL, "rounds", "how often rows are chosen"},
      {"batch", ARG_INT, 0, "96", 1, 1000, NULL, "rows", "chosen in a round"},
      {"by", ARG_WORD, 0, "thompson", 0, 0, NULL, NULL,
       "rules of suggest and random, with commas between them; each replays all rounds"},
      {"goal", ARG_WORD, 0, "max", 0, 0, NULL, NULL,
       "max, min, or a value that the target is to reach"},
      {"tune", ARG_CHOICE, 0, "each", 0, 0, "each|start|no", NULL,
       "when hyperparameters are tuned: in each round, in the first, or never"},
      {"apart", ARG_REAL, 0, "0.01", 0, 1, NULL, NULL, "as for suggest"},
      {"seeds", ARG_INT, 0, "1", 1, 100, NULL, "seeds",
       "replays of each rule; the rules share the rows that a seed starts with"},
      {"seed", ARG_INT, 0, NULL, 0, 9e15, NULL, NULL, "the first of them; default: set seed"}},
     CMD_JOB | CMD_NEEDS_DATA,
     cmd_bo,
     "A line for each round: rows measured, the best value among them, and the share of the best\n"
     "1 % of all rows that is found. Fits are exact up to 4,000 rows, with 4,096 features beyond.\n"
     "The data, the kernel and its hyperparameters stay as they are."},
    {.name = NULL},
};
