/* compute/likelihood/likelihood.h -- what a target is, given the latent function: a number with
 * Gaussian noise, or one of two classes, y = -1 or +1, with a probability that rises with the
 * function (Rasmussen & Williams 2006, chapter 3; share/doc/methods.md 16).
 *
 * A likelihood is one file of this folder that ends in one `const struct likelihood_ops`, one row
 * of the list below and one line of make.  Where a posterior has no closed form, the row
 * approximates it by a Gaussian: a site precision tau_i for each row, and weights alpha, so that
 * with S = diag(sqrt(tau)) and B = I + S K S a new row with covariances k has
 *   mean = k' alpha,   var = k(x, x) - k' S B^-1 S k. */
#ifndef GPDESK_LIKELIHOOD_H
#define GPDESK_LIKELIHOOD_H

#include "base/status.h"
#include "compute/ctl.h"

#include <stdbool.h>
#include <stddef.h>

struct latent;
struct likelihood_ops {
    const char *name, *link; /* "bernoulli", "probit": the words that choose it; link NULL: none */
    const char *title;       /* for help and lists */
    const char *method;      /* how its posterior is found; NULL: in closed form */
    bool classes;            /* targets are -1 and +1, with probabilities; there is no noise */
    bool several;            /* classes: targets are 0, 1, 2, ... for up to TARGETS_MOST classes,
                              * each with a latent function of its own */
    bool low;                /* `posterior` takes the prior of inducing points, too (latent.low) */
    /* Fills the results of a struct latent.  NULL: the posterior is Gaussian.  CANCELLED when ctl
     * stops it; NOT_PD when B cannot be factorised.  O(n^3) a sweep. */
    enum status (*posterior)(struct latent *, const struct ctl *, struct err *);
    /* The probability of +1 where the latent value is Gaussian; NULL unless `classes`. */
    double (*probability)(double mean, double var);
};

/* The registry.  The first row is the usual one; the first of a name is its usual link. */
#define LIKELIHOOD_ROWS(row) \
    row(gaussian_likelihood) \
    row(probit_likelihood)   \
    row(logit_likelihood)    \
    row(dirichlet_likelihood) \
    row(softmax_likelihood)   \
    row(discriminant_likelihood)

#define LIKELIHOOD_DECLARED(name) extern const struct likelihood_ops name;
LIKELIHOOD_ROWS(LIKELIHOOD_DECLARED)
#undef LIKELIHOOD_DECLARED

/* link NULL: the usual one of that name.  NULL: there is none; err (may be NULL) lists the
 * words. */
const struct likelihood_ops *likelihood_find(const char *name, const char *link, struct err *err);
/* By its link alone, which no other has; NULL: there is none. */
const struct likelihood_ops *likelihood_linked(const char *link);

#endif
