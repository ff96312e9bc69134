/* compute/likelihood/nmll_landscape.h -- the likelihood at many settings of a kernel, of an even
 * sample of the rows.
 *
 * One decomposition of the Gram (or kernel) matrix at a kernel setting gives the likelihood at
 * every amplitude and noise, so a grid over a lengthscale and the noise costs as many
 * decompositions as it has lengthscales.  Where a Gram matrix would cost too much, probes give the
 * value at one setting of all (nmll_slq). */
#ifndef GPDESK_NMLL_LANDSCAPE_H
#define GPDESK_NMLL_LANDSCAPE_H

#include "compute/backend.h"
#include "compute/likelihood/nmll.h"

struct nmll_landscape_opts {
    const struct kernel *kernel; /* bound; it must outlive the landscape */
    bool exact;                  /* the kernel matrix (n x n), else features (M x M) */
    size_t features;
    uint64_t seed;
    enum precision precision;
    const struct backend_ops *backend;
    struct pool *pool;
};
/* Lent until the landscape is closed.  y: t targets of rows->n values; row_scale: the roots of the
 * rows' weights, NULL: 1. */
struct nmll_landscape_rows {
    const struct source *rows;
    const double *y, *row_scale;
    size_t t;
};

struct nmll_landscape;
/* Of n <= rows->n rows, every (rows->n / n)-th.  NULL and *err on failure. */
struct nmll_landscape *nmll_landscape_open(const struct nmll_landscape_opts *,
                                           const struct nmll_landscape_rows *, size_t n,
                                           struct err *err);
void nmll_landscape_close(struct nmll_landscape *); /* NULL is fine */
/* The decomposition at natural hyperparameters hp; free it with nmll_eig_free.  O(n M^2 + M^3), or
 * O(n^3) for the exact kernel.  CANCELLED when ctl stops it. */
enum status nmll_landscape_at(struct nmll_landscape *, const double *hp, struct nmll_eig *out,
                              const struct ctl *, struct err *err);
/* The least value within bounds of amplitude and noise (equal bounds: there). */
double nmll_landscape_best(const struct nmll_landscape *, const struct nmll_eig *,
                           const struct nmll_bounds *);
/* The value of one target at an amplitude and noise: the fit y' K^-1 y / 2, the complexity
 * log |K| / 2, and a constant. */
struct nmll_parts { double value, fit, complexity; };
struct nmll_parts nmll_landscape_parts(const struct nmll_landscape *, const struct nmll_eig *,
                                       double amplitude, double noise);
/* By probes at hp, amplitude and noise, the same for all targets; *se: standard error.  NaN where
 * there is no value (a matrix that is not positive definite). */
enum status nmll_landscape_probe(struct nmll_landscape *, const double *hp, double amplitude,
                                 double noise, const struct nmll_slq_opts *, double *value,
                                 double *se, const struct ctl *, struct err *err);

#endif
