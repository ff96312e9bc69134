/* compute/models/fit.h -- a fit under way, with functions that the kinds of model share.  For
 * src/compute/models and the folders in it only. */
#ifndef GPDESK_FIT_H
#define GPDESK_FIT_H

#include "compute/models/model_impl.h"

struct fit {
    const struct model_ops *kind;
    const struct fit_opts *o;
    const struct source *src;
    const double *y;        /* t vectors of n, multiplied by the row factors of src */
    struct tools on;
    struct fit_plan plan;
    struct model *m;        /* sizes, kernel and scale are set; the fit fills w, X and L */
    struct fit_info *info;
    struct solve_info *trace;
    struct model_map z;     /* map and operator, for a kind that draws features */
    size_t t;               /* targets: the number of vectors in y, b and the weights */
    double ratio, *b;       /* noise^2 / amplitude^2 in force; Z'y (t x M), or NULL */
    double weights;         /* sum of the weights of rows (n without weights) */
    bool free_scale;        /* amplitude and noise may follow the data */
    double slack[TARGETS_MOST]; /* how far c of `moments` may be too low: an unfinished solve */
    double *residual;       /* features: y - Z w (t x n) once `moments` has run */
    double *inverse;        /* exact: the diagonal of (K1 + ratio I)^-1 (n) */
    struct exact_system *system; /* exact by products: open from `fit` to `end` */
    size_t *start_from;     /* exact by products, while it solves: each row's place in the start, or
                             * SIZE_MAX; NULL: all in their places */
    struct sparse_fit *sparse;   /* sparse: from `fit` to `end`; then residual and inverse hold its
                                  * left-out squares and variances */
};

/* m training rows, each predicted from all others, at amplitude 1: the squares of their residuals
 * over their predictive variances (t x m), and the variances of the function alone (m).  The caller
 * frees both. */
struct left_out { size_t m; double *z2, *latent; };
enum status model_left_out_features(struct fit *, struct left_out *, struct err *);

/* An exact kernel by products (model_products.c).  model_products_plan chooses between a Cholesky
 * factor, which p already describes where memory allows it (factor), and the solvers on products,
 * by counted cost, or takes the named solver; then it fills p and the note.  fit, moments and
 * predict are those of struct model_ops. */
enum status model_products_plan(const struct fit_opts *, size_t n, size_t d, bool factor,
                                struct fit_plan *p, char note[256], struct err *);
/* The counted cost of conjugate gradients with a preconditioner of rank at->rank and the iterations
 * of a forecast: build, iteration, seconds (of `solves` solves) and bytes. */
void model_products_cost(const struct fit_opts *, size_t n, size_t d, double solves,
                         struct rank_guess *at);
/* That of the i-th solver of those that step on rows, in `way`; false: there are no more. */
bool model_products_stepping(const struct fit_opts *, size_t n, size_t d, size_t i,
                             struct advice_way *way);
/* model_products_sample: before the plan, enters the forecast of a sample into the options, where
 * there are rows enough for it to matter. */
enum status model_products_sample(const struct fit *, struct fit_opts *, struct err *);
enum status model_products_fit(struct fit *, struct err *);
enum status model_products_moments(struct fit *, double *rr, double *c, struct err *);
enum status model_products_predict(struct prediction *, struct err *);

/* The watch of a solve on products against o->against (model_watch.c); close it also after a
 * failure. */
enum status model_watch_open(const struct fit *, struct solve_watch **, struct err *);
void model_watch_close(struct solve_watch *); /* NULL is fine */

double fit_now(void); /* seconds of a monotonic clock, for reported times */
/* Adds a warning to the fit.  Only the first one is kept, because it matters most. */
void fit_warn(struct fit_info *, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Takes over the solves of all targets: the worst outcome and residuals, and the largest number of
 * iterations.  The solve with that number becomes the trace. */
void fit_gather(struct fit *, struct solve_info *each);

/* The right-hand sides B and solutions X (k vectors of m->M) of a solve: those of the targets, then
 * those of the functions that the fit solves for.  fit_block_new takes the former from b; the
 * caller fills the latter (fit_block_sides, NULL without functions).  fit_block_end hands the
 * solutions to the model, with the residual of the worst function, and frees the block. */
struct fit_block { size_t k; const double *B; double *X, *own; };
enum status fit_block_new(struct fit *, const double *b, struct fit_block *, struct err *);
double *fit_block_sides(const struct fit *, const struct fit_block *);
void fit_block_end(struct fit *, struct fit_block *, const struct solve_info *each,
                   enum status rc);
/* The start of such a solve from that of the targets (t vectors), with the functions of the given
 * start where they are draws of the same random numbers, each divided by row_scale (NULL: 1), else
 * 0, as for rows that the start does not have.  The result is x0 itself without functions, or in
 * *own, which the caller frees. */
const double *fit_block_start(const struct fit *, const struct fit_block *, const double *x0,
                              const double *row_scale, double **own, struct err *);

#endif
