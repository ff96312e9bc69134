/* compute/likelihood/dirichlet.h -- several classes as regressions, one for each class, on the same
 * random features (Milios et al., NeurIPS 2018; share/doc/methods.md 17).
 *
 * The target of class c in a row is the mean of a log-normal distribution that has the moments of a
 * gamma distribution, and its noise variance is known: both take two values, one in rows of the
 * class (own) and one in all others.  So the sums of a class follow from those of all rows and
 * those of its own rows, and no n x classes matrix is made.
 *
 * With features Z (n x M) at amplitude 1, amplitude beta of the class and the variances v_off,
 * v_own:
 *   A = Z'Z + (v_off / v_own - 1) Zc'Zc + rho I = L L',  rho = v_off / beta^2,
 *   mean + z'w,  w = A^-1 b,   variance of the function  v_off |L^-1 z|^2. */
#ifndef GPDESK_DIRICHLET_H
#define GPDESK_DIRICHLET_H

#include "compute/features/fop.h"
#include "compute/likelihood/nmll.h"
#include "compute/tools.h"

/* Target and noise variance in a row of another class [0] and of the class itself [1]. */
struct dirichlet_value { double y, var; };
void dirichlet_values(double alpha, struct dirichlet_value of[2]);

/* The rows: labels 0 to classes - 1 as numbers (src->n), the map of their features at hp.  All is
 * borrowed. */
struct dirichlet_rows {
    const struct featmap *map;
    const struct source *src;
    const double *labels, *hp;
    size_t classes;
    double alpha;
    const double *weight; /* of the rows of each class, which divides noise variances; NULL: 1 */
    enum precision precision;
    struct tools on;
    const size_t *unseen; size_t nunseen; /* rows that a learned map has not seen; 0: unknown */
};
/* RANGE for labels that are none, and fewer than 2 or too many classes. */
enum status dirichlet_labels(const struct dirichlet_rows *, struct err *);
/* Weights with which all classes of n labels that have rows weigh the same, and n together:
 * n / (K n_c) of K such classes; 1 of a class without rows. */
void dirichlet_balance(size_t n, size_t classes, const double *labels, double *weight);

/* The sums of all rows, and those of the class that was taken last. */
struct dirichlet {
    struct dirichlet_rows rows;
    struct dirichlet_value of[2];
    size_t n, M;
    struct fop *all, *own; /* operators of all rows, and of the class's (NULL: it has none) */
    double *G, *sum;       /* Z'Z (M x M) and Z'1 (M); */
    double *Gc, *sumc;     /* those of the class */
    size_t *row, nown;     /* its rows */
    double *scale, total;  /* square roots of the weights of n rows (NULL: 1); sums of weights, */
    double logs, own_part; /* of their logarithms, and of the weights of the class's rows */
    double mean;           /* the mean of its targets, which the model adds to its predictions */
    struct source_subset subset;
};
/* Makes the sums of all rows: O(n M^2).  RANGE for labels that are none.  Close it also after a
 * failure. */
enum status dirichlet_open(struct dirichlet *, const struct dirichlet_rows *, struct err *);
void dirichlet_close(struct dirichlet *);
/* Takes class c: its rows, mean and sums, O(n_c M^2). */
enum status dirichlet_take(struct dirichlet *, size_t c, struct err *);
/* The class taken last, at an amplitude: its factor L (M x M, lower triangle), weights w (M) and
 * negative log marginal likelihood in nats, with all constants.  NOT_PD when rounding is larger
 * than what is added to the diagonal. */
enum status dirichlet_at(const struct dirichlet *, double amplitude, double *L, double *w,
                         double *value, struct err *);
/* The likeliest amplitude within bounds, near the one passed in; L and w are work space. */
enum status dirichlet_best(const struct dirichlet *, const double within[2], double *L, double *w,
                           double *amplitude, struct err *);

/* The sum over all classes, each at its best amplitude within bounds (NMLL_BEST; told->amplitude is
 * their geometric mean) or at the given one, with its gradient (share/doc/methods.md 17.6). */
enum status dirichlet_nmll(const struct dirichlet_rows *, const struct nmll_ask *,
                           const struct nmll_told *, struct err *);

/* Probabilities: p[c n + i], the mean of the softmax of independent normal values with means and
 * variances of `classes` vectors of n, divided by the temperature.  Two classes by the integral in
 * one dimension, more by fixed draws; each row sums to 1.  The bits depend on nothing else. */
enum status dirichlet_softmax(struct pool *, size_t n, size_t classes, const double *mean,
                              const double *var, double temperature, double *p, struct err *);

#endif
