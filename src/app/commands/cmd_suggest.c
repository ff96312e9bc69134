/* app/commands/cmd_suggest.c -- what to measure next: the rows of the command table.  The work is
 * in app/runs/suggesting.c, telling.c and bo/. */
#include "app/commands/commands.h"
#include "app/core/workspace.h"
#include "app/runs/asking.h"
#include "app/runs/bo/bo.h"
#include "app/runs/suggesting.h"
#include "app/runs/telling.h"
#include "app/shell/import_args.h"

static enum status cmd_suggest(struct workspace *ws, const struct args *a, struct err *err)
{
    struct run *r = ws_run(ws, args_text(a, "run"), err);
    const enum status rc = r ? ws_no_keyboard(ws, args_text(a, "pool"), err) : err->code;

    return rc == ST_OK ? suggesting_start(ws, r, a, err) : rc;
}

static enum status cmd_pick(struct workspace *ws, const struct args *a, struct err *err)
{
    struct run *r = ws_run(ws, args_text(a, "run"), err);
    const enum status rc = r ? ws_no_keyboard(ws, args_text(a, "pool"), err) : err->code;

    return rc == ST_OK ? suggesting_pick(ws, r, a, err) : rc;
}

static enum status cmd_tell(struct workspace *ws, const struct args *a, struct err *err)
{
    const enum status rc = ws_no_keyboard(ws, args_text(a, "file"), err);

    return rc == ST_OK ? telling_start(ws, a, err) : rc;
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
    {"pick",
     "model",
     "Pick the best rows of a pool, unlike one another if asked",
     "pick test count=5 by=mean\npick test count=5 similar=0.9 out=chosen.csv",
     {{"pool", ARG_FILE, ARGF_POS, "test", 0, 0, NULL, NULL,
       "a table of rows (options as in open), or the word test: the test rows, whose targets say "
       "how good the choice is"},
      {"count", ARG_INT, 0, "100", 1, 1000, NULL, "rows", "how many rows to pick"},
      {"out", ARG_OUT, 0, NULL, 0, 0, NULL, NULL,
       "CSV to write: row, columns of the pool, mean, sd, nearest"},
      {"goal", ARG_CHOICE, 0, "max", 0, 0, "max|min", NULL, "which target is the best"},
      {"by", ARG_CHOICE, 0, "thompson", 0, 0, "thompson|mean|ucb|improvement", NULL,
       "a function from the posterior for each row; mean; mean plus 2 sd; expected improvement"},
      {"similar", ARG_REAL, 0, "1", 0, 1, NULL, NULL,
       "how alike two picked rows are at most: their correlation under the kernel"},
      {"target", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "with several targets, which one; default: the first"},
      {"seed", ARG_INT, 0, NULL, 0, 9e15, NULL, NULL, "seed of functions; default: set seed"},
      {"quote", ARG_CHOICE, 0, "no", 0, 0, "no|formulas", NULL,
       "formulas: put an apostrophe before text that begins with = + - @, for spreadsheets"},
      IMPORT_ARGS_ROWS(true),
      {"run", ARG_RUN, 0, ".", 0, 0, NULL, NULL, "a fit; . is the last one"},
      IMPORT_ARGS_CELLS(true)},
     CMD_JOB | CMD_NEEDS_DATA | CMD_NEEDS_MODEL,
     cmd_pick,
     "No training row is picked, and of a file none that was measured. nearest is the similarity\n"
     "to the training row most like it, diversity the mean of 1 - similarity between the picked.\n"
     "With test the observed mean of the picked stands beside that of the best rows, of by=mean\n"
     "and of all candidates. by=thompson draws an exact model jointly at up to 10,000 rows; else\n"
     "it needs a kernel with random features. Nothing in the workspace changes; suggest remembers\n"
     "what it proposes."},
    {"ask",
     "model",
     "Ask for the measurement of a row of your own",
     "ask x1=0.5 x2=0.25 x3=0 x4=1 x5=0 x6=0 x7=0 x8=0 x9=0 x10=",
     {{"rows", ARG_TEXT, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "as scripts have them: a JSON list of rows, each with its id"},
      {"column", ARG_COLUMN, ARGF_POS | ARGF_MANY | ARGF_PAIRS, NULL, 0, 0, NULL, NULL,
       "a value for each input: temp=45 solvent=water; NAME= where it is not known"}},
     CMD_NEEDS_DATA | CMD_CHANGES,
     asking_run,
     "The row gets the next id and waits for tell, as those of suggest do, which will not propose\n"
     "it. In the script of a session ask stands for suggest: it has the rows that were proposed,\n"
     "with their ids, so that the script tells the same values of the same rows anywhere."},
    {"tell",
     "model",
     "Tell the measurements of suggested rows",
     "tell s1=3.1 s2=failed",
     {{"file", ARG_FILE, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "the CSV of suggest with a column of the target: values, the word failed, or nothing yet"},
      {"id", ARG_WORD, ARGF_POS | ARGF_MANY | ARGF_PAIRS, NULL, 0, 0, NULL, NULL,
       "instead of a file: s3=0.82 s4=failed; with several targets s3=0.82,1.4"},
      {"goal", ARG_WORD, 0, "max", 0, 0, NULL, NULL,
       "which measured value is the best: max, min, or the nearest to a value"}},
     CMD_JOB | CMD_SETS | CMD_NEEDS_DATA | CMD_CHANGES,
     cmd_tell,
     "Measured rows join the training rows of the current data; rows without a value stay\n"
     "pending. An unknown id, another value than before, or other inputs in the file than were\n"
     "proposed change nothing. The next fit uses the rows; hyperparameters stay until tune.\n"
     "Sessions, scripts and undo keep what was told; an id is never used again."},
    {"bo",
     "model",
     "Fit, propose and measure in rounds: data replayed, a drawn function, a formula",
     "bo table start=20 rounds=2 batch=10 by=ei,random\n"
     "bo draw dims=3 l=0.5 start=60 rounds=2 batch=10\n"
     "bo 'sin(5*x)*(1-tanh(x^2))' x=-2..2 rounds=3",
     {{"of", ARG_WORD, ARGF_POS, "table", 0, 0, NULL, NULL,
       "table: the current data as if unmeasured; draw: a function drawn from the prior of the "
       "kernel; or a formula in the arithmetic of let"},
      {"column", ARG_COLUMN, ARGF_POS | ARGF_MANY | ARGF_PAIRS, NULL, 0, 0, NULL, NULL,
       "for a formula, the values of its columns: x=-2..2 n=1..9/1 m=1,2,5"},
      {"dims", ARG_INT, 0, NULL, 1, 100, NULL, "inputs", "of a draw, each from 0 to 1; default: 8"},
      {"l", ARG_REAL, 0, NULL, 1e-6, 1e6, NULL, NULL,
       "of a draw, its lengthscale where an input goes from 0 to 1; default: 0.3"},
      {"noise", ARG_REAL, 0, NULL, 0, 1e6, NULL, NULL,
       "of a draw or a formula, the standard deviation of a measurement; default: 0.001 and 0"},
      {"start", ARG_INT, 0, NULL, 2, 1e6, NULL, "rows",
       "measured before the first round; default: 96, for a draw 5,000, for a formula a few"},
      {"rounds", ARG_INT, 0, NULL, 1, 1000, NULL, "rounds",
       "how often rows are chosen; default: 5, for a draw or a formula 10"},
      {"batch", ARG_INT, 0, NULL, 1, 1000, NULL, "rows",
       "chosen in a round; default: 96, for a draw 200, for a formula 1"},
      {"by", ARG_WORD, 0, "thompson", 0, 0, NULL, NULL,
       "rules of suggest and random, with commas between them; each runs all rounds"},
      {"solver", ARG_WORD, 0, NULL, 0, 0, NULL, NULL,
       "solvers of an exact kernel, with commas between them, each for every rule; default: "
       "Cholesky up to 4,000 rows, 4,096 features beyond"},
      {"goal", ARG_WORD, 0, "max", 0, 0, NULL, NULL,
       "max, min, or a value that the target is to reach"},
      {"tune", ARG_CHOICE, 0, NULL, 0, 0, "each|start|no", NULL,
       "when hyperparameters are tuned: in each round, in the first, or never; default: each, "
       "for a draw no, because its own are known"},
      {"apart", ARG_REAL, 0, "0.01", 0, 1, NULL, NULL, "as for suggest"},
      {"candidates", ARG_INT, 0, "10000", 10, 1e7, NULL, "rows",
       "of a draw or a formula, how many rows a round chooses from; by=thompson climbs from there"},
      {"rtol", ARG_REAL, 0, "0.01", 1e-12, 1, NULL, NULL, "tolerance of a solver that iterates"},
      {"maxit", ARG_INT, 0, NULL, 1, 1e9, NULL, "iterations", "at most; default: the solver's own"},
      {"seeds", ARG_INT, 0, "1", 1, 100, NULL, "seeds",
       "repetitions; rules and solvers share the truths and first rows of a seed"},
      {"seed", ARG_INT, 0, NULL, 0, 9e15, NULL, NULL, "the first of them; default: set seed"}},
     CMD_JOB,
     bo_start,
     "A line for each round while it runs: rows measured, the best value among them, and for a\n"
     "table the share of the best 1 % of its rows that is found. Ctrl-C keeps the rounds so far.\n"
     "A draw has features of its own, not those of any model. Nothing in the workspace changes."},
    {.name = NULL},
};
