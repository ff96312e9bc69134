/* app/runs/bo/bo_impl.h -- private to bo: bo.c reads the line and tells the rounds, bo_rounds.c
 * runs them, bo_world.c is what they measure, and bo_figure.c draws them. */
#ifndef GPDESK_BO_IMPL_H
#define GPDESK_BO_IMPL_H

#include "app/core/job.h"
#include "app/core/workspace.h"
#include "compute/models/propose.h"
#include "compute/solvers/solver.h"
#include "data/dataset.h"
#include "figure/figure.h"

#include <stdatomic.h>

/* What is measured: rows of the current data, whose values are known; a function from the prior of
 * the kernel over a cube with edges of 1; or a formula of columns with ranges. */
enum bo_kind { BO_TABLE, BO_DRAW, BO_FORMULA };
/* When hyperparameters are tuned: in each round, in the first one, or never. */
enum bo_tune { BO_TUNE_EACH, BO_TUNE_START, BO_TUNE_NO };

enum { BO_CONTENDERS_MOST = 24, BO_DIMS_MOST = 100, BO_WORD = 32 };

/* Who chooses the rows: a rule of suggest, or no rule (-1: at random); and who fits.  solver "": an
 * exact kernel for few rows, features for many; else of an exact kernel. */
struct bo_contender {
    int rule;
    char word[BO_WORD], solver[BO_WORD];
    const struct model_ops *kind;
    const char *name; /* of the solver, as fit_opts has it */
    double params[SOLVER_MAX_PARAMS];
};

/* A round of a contender with a seed; round 0 is the start. */
struct bo_round {
    size_t who, seed, round, measured;
    double best, found, seconds; /* found: NaN where no pool is known */
};

struct bo {
    const struct args *a;
    enum bo_kind kind;
    struct dataset *data;  /* of the workspace; BO_DRAW and BO_FORMULA: columns without rows */
    size_t dims;           /* BO_DRAW, BO_FORMULA: inputs, the first columns */
    struct fit_opts fit;   /* kernel, hyperparameters, seed and tolerance of all fits */
    struct propose_opts o;
    double value;          /* goal=VALUE, in units of the target */
    double noise;          /* standard deviation of measurements of a draw or a formula */
    struct bo_contender who[BO_CONTENDERS_MOST];
    size_t nwho, start, rounds, batch, seeds, candidates;
    uint64_t seed;
    enum bo_tune tune;
    /* The rounds so far: the worker writes one behind the others and then counts it. */
    struct bo_round *at; atomic_size_t n;
    size_t told;           /* main thread: how many of them */
    /* What the worker has to say about the numbers of a fit; empty: nothing. */
    char warning_name[32], warning[256];
};

/* Rows of a table that can be measured, with inputs as the data have them. */
struct bo_rows { struct table *t; size_t *row, n; };

/* What a seed measures, and what was measured so far. */
struct bo_world;
/* Measures the rows to start with: a function of the seed alone. */
enum status bo_world_open(const struct bo *, uint64_t seed, const struct tools *,
                          struct bo_world **, struct err *);
void bo_world_close(struct bo_world *);
/* The data as they are, and the rows of it that were measured; borrowed. */
const struct dataset *bo_world_data(const struct bo_world *, const size_t **rows, size_t *n);
/* The encoding of its rows: the inputs as all those are encoded that can be measured, so that it is
 * the same in every round, and the target by the rows that were measured.  The caller frees it. */
enum status bo_world_encoding(struct bo_world *, struct encoding *out, struct err *);
/* The rows to choose from, new ones for each round where there is no pool; measured ones are not
 * among them.  at random: spread evenly, `count` of them, rather than near good rows.  The caller
 * frees *out (bo_world_rows_free). */
enum status bo_world_rows(const struct bo_world *, size_t round, bool at_random, size_t count,
                          struct bo_rows *out, struct err *);
void bo_world_rows_free(struct bo_rows *);
/* Measures rows i of them, n indices into rows->row. */
enum status bo_world_measure(struct bo_world *, const struct bo_rows *, const size_t *i, size_t n,
                             const struct tools *, struct err *);
/* The ranges of encoded inputs that can take any value (BO_DIMS_MOST each; equal ends: an input
 * that cannot).  False: there is none. */
bool bo_world_ranges(const struct bo_world *, const struct encoding *, double *lo, double *hi);
/* Moves row i of c to encoded inputs x, where they can take any value. */
void bo_world_move(const struct bo_world *, const struct encoding *, const struct bo_rows *c,
                   size_t i, const double *x);
/* The best measured value, and the share of the pool's best 1 % that was found (NaN: no pool). */
void bo_world_score(const struct bo_world *, double *best, double *found);

/* All rounds of all contenders, on the worker thread. */
enum status bo_rounds_work(struct job *, struct err *);
double bo_rounds_utility(const struct bo *, double y);

/* The plot of the rounds that were told, on the main thread.  The caller owns it. */
struct figure *bo_figure(const struct bo *, struct err *);

#endif
