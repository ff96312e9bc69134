/* compute/inducing/select.h -- which points a sparse model keeps: the registry of the ways to
 * choose them (share/doc/methods.md 22.5 to 22.8).
 *
 * A way is one file of this folder that ends in a `struct select_ops`, one row of the list below
 * and one line of make.  Choices are functions of the rows, the options and the seed alone; the
 * number of threads changes no bit. */
#ifndef GPDESK_SELECT_H
#define GPDESK_SELECT_H

#include "compute/ctl.h"
#include "compute/features/source.h"
#include "compute/inducing/bound.h"
#include "compute/solvers/solve.h"

/* What the user asks for: m points, the approximation, how they are chosen, and the values of its
 * parameters (0: default; a negative count of steps is meant for each point). */
struct basis;
struct select_ops;
struct select_opts {
    size_t m;
    enum bound_approx approx;
    const struct select_ops *ops; /* NULL: random */
    double params[SOLVER_MAX_PARAMS];
};

/* The points: Z (m x d, row-major), and for each the training row that it is, or -1.  `skipped`
 * candidates were left out because the others span them, so that there may be fewer points than
 * wanted. */
struct select_points { size_t m, skipped; double *Z, *origin; };
void select_points_free(struct select_points *);

/* What is chosen from: the rows with their source (whose kind of rows says what a point is), the
 * targets, and the amplitude of each and the ratio at which sets are judged. */
struct select_job {
    const struct columns_of *rows;
    const struct source *src;
    const double *y, *amplitude;
    size_t t;
    double ratio;
    const struct select_opts *o;
    uint64_t seed;
    size_t mem_limit; /* bytes; 0: none */
    /* Ticks of PHASE_INDUCING: value is the bound or likelihood of the set, value2 the best so far,
     * passes the share of moves that were accepted. */
    const struct ctl *ctl;
    struct select_points *out;
    bool stopped;     /* out: it was stopped, and the points are the best until then */
};
struct select_ops {
    const char *name, *help;
    bool judged; /* it depends on the amplitude and noise, so that it is made anew where these have
                  * moved */
    bool drawn;  /* it depends on nothing but the rows and the seed */
    const struct solver_param *params; /* ends at .name == NULL; may be NULL */
    enum status (*choose)(struct select_job *, struct err *);
};
#define SELECT_ROWS(row) \
    row(random_select) \
    row(kmeans_select) \
    row(greedy_select) \
    row(pchol_select)  \
    row(dpp_select)    \
    row(anneal_select)

#define SELECT_DECLARED(name) extern const struct select_ops name;
SELECT_ROWS(SELECT_DECLARED)
#undef SELECT_DECLARED
const struct select_ops *select_at(size_t i); /* NULL past the end */
/* Parses "greedy(subset=20)" into the way and its parameters; NOT_FOUND, USAGE, RANGE. */
enum status select_parse(const char *text, struct select_opts *, struct err *);
/* The same as text, parameters that were given in brackets. */
void select_print(const struct select_opts *, char *out, size_t len);
enum { SELECT_TEXT_MAX = 64 };
/* The number of points on n rows: o->m, at most n. */
size_t select_count(const struct select_opts *, size_t n);
/* The place in a row at which part p begins: the number of its positions, then these. */
size_t select_part(const struct row_layout *, const double *row, size_t p);
/* Chooses.  A stop is no failure: the best points until then are returned, which may be fewer.
 * UNSUPPORTED where a way cannot choose from such rows. */
enum status select_points(struct select_job *, struct err *);

/* For the ways. */
double select_param(const struct select_job *, size_t i);  /* the given value or the default */
size_t select_steps(const struct select_job *, size_t i);  /* of a count that may be per point */
enum status select_points_new(size_t m, size_t d, struct select_points *, struct err *);
/* Sets point i to training row `row`. */
void select_take(const struct select_job *, size_t i, size_t row);
/* Sets point i to z, which is no training row unless it equals row `like`. */
void select_put(const struct select_job *, size_t i, const double *z);
/* The basis of the job's rows, or (span) of points alone. */
enum status select_basis(const struct select_job *, size_t most, bool span, struct basis *,
                         struct err *);
/* Adds random rows to job->out until it has m points or all others are spanned; `have` are there
 * already, also in `span` (a basis of points alone). */
enum status select_fill(struct select_job *, struct basis *span, size_t have, struct err *);
void select_tick(const struct select_job *, size_t done, size_t total, double value, double best,
                 double accepted);

#endif
