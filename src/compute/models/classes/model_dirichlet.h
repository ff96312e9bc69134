/* compute/models/classes/model_dirichlet.h -- what kinds of model of several classes share: the
 * labels that they keep, and their weights.  For this folder only. */
#ifndef GPDESK_MODEL_DIRICHLET_H
#define GPDESK_MODEL_DIRICHLET_H

#include "compute/likelihood/dirichlet.h"
#include "compute/models/fit.h"

/* What a model of several classes keeps in its state: labels 0 to t - 1 of n training rows, and a
 * weight of each class or NULL.  model_dirichlet_keep fills the state from the fit; UNSUPPORTED
 * where rows have weights.  model_dirichlet_check: STATE unless a state, which a session may have
 * damaged, is that of n rows.  model_dirichlet_forget drops the factors. */
enum status model_dirichlet_keep(struct fit *, struct err *);
enum status model_dirichlet_check(const struct model *, size_t n, struct err *);
const double *model_dirichlet_of(const struct model *);
const double *model_dirichlet_weight(const struct model *, size_t n);
void model_dirichlet_forget(struct model *);
enum status model_dirichlet_no_weights(struct err *);
extern const double model_dirichlet_amplitudes[2]; /* that a fit searches */
/* Kinds on random features.  The rows of a model whose state is filled; all is borrowed. */
struct dirichlet_rows model_dirichlet_rows(const struct model *, const struct featmap *,
                                           const struct source *, const struct tools *);
/* RANGE for a number of features that is odd, and LIMIT where p->bytes are more than is allowed. */
enum status model_dirichlet_fits(const struct fit_opts *, const struct fit_plan *p,
                                 struct err *);
/* The means of all classes of a prediction; opens the map, which the caller closes. */
enum status model_dirichlet_means(struct prediction *, struct model_map *, struct err *);
void model_dirichlet_end(struct fit *, enum status);
bool model_dirichlet_suits(const struct model *, const struct source *, struct err *);
/* p->varf: variances of the functions of a prediction by their factors L_c, v_c |L_c^-1 z|^2 with
 * v_c the squares of m->noises. */
enum status model_dirichlet_variances(const struct prediction *, struct fop *, size_t factors,
                                      struct err *);
/* Kernels of all kinds of several classes on features are tuned by the Dirichlet regressions. */
extern const struct model_tuning model_dirichlet_tuning;

#endif
