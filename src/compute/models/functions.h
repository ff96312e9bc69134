/* compute/models/functions.h -- functions drawn from the posterior of a fitted model
 * (share/doc/methods.md 5.10 to 5.13, 6.18, 6.19).  A function has one value at every input: the
 * values of a draw at many rows are those of one and the same function, so that their joint
 * distribution is the model's, without noise.
 *
 * A draw is a function of the model, the seed, the target and the number of the draw alone.  A set
 * of draws has the same bits for any number of threads; the same draw as part of another set agrees
 * to rounding (1e-9), because products with several vectors add in another order.  Functions of
 * different targets are independent.
 *
 * A model without the factor of all its weights has the functions that its fit solved for
 * (fit_opts.samples): the seed of a key then has no effect, and those of different targets are
 * multiples of each other but for the means. */
#ifndef GPDESK_FUNCTIONS_H
#define GPDESK_FUNCTIONS_H

#include "compute/models/model.h"

/* Random features of a draw from the prior of an exact kernel.  2000 of them understate posterior
 * variances by 20 % on the data set pol, 8192 by 2 % (share/doc/methods.md 5.10). */
enum { FUNCTIONS_FEATURES = 8192 };

/* Which draws: `count` of them from number `first` on, of one target. */
struct functions_key { uint64_t seed; size_t target, first, count; };
struct functions;
/* Draws functions from the posterior.  STATE, with the fit that can, when the model cannot: its
 * kind has no functions, or it lacks both the Cholesky factor of all its weights and enough
 * functions of its fit.  Takes 8 (M + n) bytes
 * for each function; the costs are those of two triangular solves, and for an exact kernel of
 * FUNCTIONS_FEATURES features of all training rows.  The model is kept by reference.  The caller
 * owns *out (functions_free). */
enum status functions_new(const struct model *, const struct functions_key *, const struct tools *,
                          struct functions **out, struct err *);
void functions_free(struct functions *); /* NULL is fine */
/* F <- the values of all functions at the rows of a source, in scaled units: `count` vectors of
 * src->n, one function after the other.  SHAPE when the inputs do not suit the model. */
enum status functions_values(const struct functions *, const struct source *, double *F,
                             const struct tools *, struct err *);

/* For a search that climbs functions (models/propose.c).  functions_smooth: true
 * if the functions of a model have gradients, that is, it is not over windows of sequences, and its
 * kernel is not Matern with nu below 1, whose functions have no derivative.  Else *err (may be
 * NULL) is that of functions_slopes: UNSUPPORTED.
 *
 * functions_slopes: value F[i] and gradient G + i d of function which[i] < count at row i of X
 * (n x d, row-major, standardised inputs as a source gives them), in scaled units: many functions,
 * each at rows of its own, in one call.  All in double precision; the value agrees with
 * functions_values to the precision of the model.  A row costs `columns` features and M values of
 * the kernel, whatever `count`; the same bits for any number of threads. */
bool functions_smooth(const struct model *, struct err *);
enum status functions_slopes(const struct functions *, size_t n, const double *X,
                                       const size_t *which, double *F, double *G,
                                       const struct tools *, struct err *);

/* varf (n for each target) <- the variances by the functions that the fit solved for: the mean of
 * their squares around the predicted mean, at the amplitude of each target (share/doc/methods.md
 * 5.12).  With S of them they scatter by sqrt(2 / S), 18 % for 64. */
enum status functions_spread(const struct model *, const struct source *, double *varf,
                             const struct tools *, struct err *);

/* For fits: the right-hand sides of the functions m->S, at a ratio of noise to amplitude in the
 * system of the fit, thus with row factors.  Exact: S x n, the model has its inputs.  Features:
 * S x M, from the operator of the fit over n rows. */
enum status functions_sides_exact(const struct model *, const double *row_scale, double ratio,
                                  double *B, const struct tools *, struct err *);
enum status functions_sides_features(const struct model *, struct fop *, double ratio, double *B,
                                     const struct ctl *, struct err *);

/* For kinds of models (model_ops.functions): what a kind fills in.  The value of function s at x is
 * z(x)'W_s + k(x, X)'V_s, with `columns` features z at `seed` and, if V is not NULL, the training
 * inputs of the model. */
struct functions {
    struct model *m;
    struct functions_key key;
    size_t columns;
    uint64_t seed;
    struct featmap *map; /* these features */
    double *W; /* count x columns */
    double *V; /* count x training rows, or NULL */
};
enum status functions_exact(const struct model *, struct functions *, const struct tools *,
                            struct err *);
enum status functions_features(const struct model *, struct functions *, const struct tools *,
                               struct err *);
enum status functions_sparse(const struct model *, struct functions *, const struct tools *,
                             struct err *);
enum status functions_exact_solved(const struct model *, struct functions *, struct err *);
enum status functions_features_solved(const struct model *, struct functions *, struct err *);
/* For the golden files: an exact model's function from given normals, the weights w of `columns`
 * features of the prior and the noise zeta of the training rows (at amplitude 1). */
enum status functions_given_for_tests(const struct model *, size_t columns, const double *w,
                                      const double *zeta, const struct tools *,
                                      struct functions **out, struct err *);

#endif
