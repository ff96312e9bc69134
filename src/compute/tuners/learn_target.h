/* compute/tuners/learn_target.h -- what a map learns from: the likelihood of targets of numbers, or
 * of classes by a regression for each (share/doc/methods.md 23.5 to 23.7, 23.9, 23.14). */
#ifndef GPDESK_LEARN_TARGET_H
#define GPDESK_LEARN_TARGET_H

#include "compute/tuners/tune.h"

/* theta: the parameters of the likelihood, all logarithms: of numbers squared amplitude and noise
 * variance; of several targets the squared amplitude of each, and the ratio of the noise variance
 * to it, which all share; of classes the squared amplitude of each.  inverse, w and mean are those
 * of the rows that were asked last. */
struct learn_target {
    size_t q, count, targets; /* features, the parameters in theta, targets of numbers */
    struct source_labels labels; /* classes 0: a target of numbers */
    double *theta, *grad; /* borrowed: count numbers each */
    double *w, *inverse, *mean, *work;
};
/* Takes q, the number of targets and the labels: count, and the doubles that learn_target_room
 * hands it. */
size_t learn_target_size(struct learn_target *, size_t q, size_t targets, struct source_labels,
                         size_t watched);
void learn_target_room(struct learn_target *, double *room);
/* The start for rows with these targets: features have about the squared length `size`. */
void learn_target_begin(struct learn_target *, double size, size_t n, const double *y);
/* The start at the amplitudes and the noise that were learned before. */
void learn_target_from(struct learn_target *, const struct tune_opts *);
/* Of numbers: moves the noise variance, on average over targets, up to `least`. */
void learn_target_least(struct learn_target *, double least);
/* Moves them to the values or into the ranges that the user gave. */
void learn_target_hold(struct learn_target *, const struct tune_opts *);
/* The NMLL of n rows with features F, targets y (targets x n) and roots of weights (scale; NULL:
 * all 1, as for classes), its derivatives dF in F (NULL: none) and, in t->grad, in theta; effdim:
 * NaN of classes.  NOT_PD where F has no usable likelihood. */
struct learn_rows { size_t n; const double *F, *y, *scale; double *dF, nmll, effdim; };
enum status learn_target_ask(struct learn_target *, struct learn_rows *, struct pool *,
                             struct err *);
/* Other rows under the model of those asked last: of numbers the negative log density and the
 * squared error of a row, each the mean over targets, and that error times the row's weight; of
 * classes the log loss and the share of wrong ones. */
struct learn_told { double density, error, weighted; };
enum status learn_target_look(const struct learn_target *, const struct learn_rows *,
                              struct learn_told *, struct pool *, struct err *);
/* Fills amplitudes and noises; of classes the geometric mean of the amplitudes, and the known noise
 * of rows of other classes. */
void learn_target_point(const struct learn_target *, struct tune_point *);

#endif
