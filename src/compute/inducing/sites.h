/* compute/inducing/sites.h -- two classes at inducing points: a prior of m directions and of what
 * each row has on its own (FITC), and the likelihood's posterior of it in sites
 * (likelihood/latent.h; share/doc/methods.md 16.15 to 16.18). */
#ifndef GPDESK_SITES_H
#define GPDESK_SITES_H

#include "compute/inducing/select.h"
#include "compute/likelihood/latent.h"

struct likelihood_ops;
/* Rows at given points.  The caller sets nothing; it frees it (sites_free) when all went well. */
struct sites {
    const struct likelihood_ops *of;
    struct bound b;       /* V, what the points miss of each row, and the factor of the points */
    struct latent l;      /* the posterior at the last amplitude */
    struct latent_low low;
    double *all;
};
/* y: n values of -1 and +1.  Z: m points (m x d).  O(n m^2). */
enum status sites_make(const struct columns_of *, const double *Z, size_t m,
                       const struct likelihood_ops *, const double *y, struct sites *,
                       const struct ctl *, struct err *);
void sites_free(struct sites *);
/* The posterior at an amplitude, to `tolerance` (0: the usual one). */
enum status sites_at(struct sites *, double amplitude, double tolerance, const struct ctl *,
                     struct err *);
/* The likeliest amplitude within bounds, from *amplitude on if that is positive, and the posterior
 * there. */
enum status sites_best(struct sites *, const double within[2], double *amplitude,
                       const struct ctl *, struct err *);
/* The derivatives of the negative log evidence in the hyperparameters of the kernel, then in log
 * amplitude and 0, at fixed points. */
enum status sites_slope(const struct columns_of *, const double *Z, const struct sites *,
                        double *grad, const struct ctl *, struct err *);
/* loss (m) <- by how much the log evidence is lower without each point, at the sites and the level
 * of the last sites_at. */
enum status sites_weigh(const struct columns_of *, const double *Z, const struct sites *,
                        double *loss, const struct ctl *, struct err *);
/* Chooses points by the regression on -1 and +1: where a way judges sets, it does so at the
 * likeliest amplitude and noise with the points `by` (NULL: random ones). */
enum status sites_choose(const struct select_job *, const struct select_points *by, bool *stopped,
                         struct err *);

#endif
