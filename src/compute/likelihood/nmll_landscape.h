/* compute/likelihood/nmll_landscape.h -- the negative log marginal likelihood (NMLL, in nats) at
 * many settings of a kernel, for an evenly spaced sample of the rows.
 *
 * One decomposition of the Gram (or kernel) matrix at a kernel setting gives the NMLL at every
 * amplitude and noise (share/doc/methods.md 6.8), so that a grid over a lengthscale and the noise
 * costs as many decompositions as it has lengthscales.  Where such a matrix would cost too much,
 * probes give the value at one setting of everything (nmll_slq, nmll_slq_exact). */
#ifndef GPDESK_NMLL_LANDSCAPE_H
#define GPDESK_NMLL_LANDSCAPE_H

#include "compute/backend.h"
#include "compute/likelihood/nmll.h"

struct nmll_landscape_opts {
    const struct kernel *kernel; /* bound; it must outlive the landscape */
    bool exact;                  /* the kernel matrix (n x n), else features (M x M) */
    bool store;                  /* exact, by probes: it is kept as float32 for the iterations */
    size_t features;
    uint64_t seed;
    enum precision precision;
    const struct backend_ops *backend;
    struct pool *pool;
};
/* Borrowed until the landscape is closed.  y: t targets of rows->n values each.  row_scale: the
 * square roots of the weights of rows; NULL means 1. */
struct nmll_landscape_rows {
    const struct source *rows;
    const double *y, *row_scale;
    size_t t;
};

struct nmll_landscape;
/* Takes n <= rows->n rows, every (rows->n / n)-th.  The caller owns the result.  NULL and *err on
 * failure. */
struct nmll_landscape *nmll_landscape_open(const struct nmll_landscape_opts *,
                                           const struct nmll_landscape_rows *, size_t n,
                                           struct err *err);
void nmll_landscape_close(struct nmll_landscape *); /* NULL is fine */
/* The decomposition at hyperparameters hp (natural scale); the caller frees *out with
 * nmll_eig_free. O(n M^2 + M^3), or O(n^3) for the exact kernel.  CANCELLED when ctl stops it. */
enum status nmll_landscape_at(struct nmll_landscape *, const double *hp, struct nmll_eig *out,
                              const struct ctl *, struct err *err);
/* The least NMLL within bounds of amplitude and noise; equal bounds give the value there. */
double nmll_landscape_best(const struct nmll_landscape *, const struct nmll_eig *,
                           const struct nmll_bounds *);
/* The NMLL of one target at an amplitude and noise, divided into the fit y' Ky^-1 y / 2, the
 * complexity log|Ky| / 2, and a constant (n / 2) log(2 pi), which is in `value` alone. */
struct nmll_parts { double value, fit, complexity; };
struct nmll_parts nmll_landscape_parts(const struct nmll_landscape *, const struct nmll_eig *,
                                       double amplitude, double noise);
/* A setting of everything; amplitude and noise are the same for all targets. */
struct nmll_landscape_point {
    const double *hp;
    double amplitude, noise;
};
/* The NMLL by probes at a point, and *se, its standard error.  NaN where the matrix is not positive
 * definite or a value is out of range. */
enum status nmll_landscape_probe(struct nmll_landscape *, const struct nmll_landscape_point *,
                                 const struct nmll_slq_opts *, double *value, double *se,
                                 const struct ctl *, struct err *err);

#endif
