/* compute/likelihood/held.h -- rows of several classes that a search leaves out, to judge by them
 * what the others cannot tell: how wide the prior is, and how sure probabilities may be
 * (share/doc/methods.md 25.6). */
#ifndef GPDESK_HELD_H
#define GPDESK_HELD_H

#include "compute/likelihood/dirichlet.h"

enum {
    HELD_FOLDS = 5,          /* of few rows each is left out once; of more, */
    HELD_FOLDS_BELOW = 600,
    HELD_ROWS = 2000,        /* a fifth, at most so many, */
    HELD_TRAIN_ROWS = 4000,  /* and at most so many of the others are used */
    HELD_UNSEEN_LEAST = 30   /* of fewer rows that a map has not seen none tells anything */
};
/* One part of the rows: those to learn from and those that are left out, with their labels. */
struct held {
    struct source_subset train_rows, rows; /* `base` of each is the source */
    struct dirichlet_rows train, out;
    size_t *order;
    double *labels;
};
size_t held_folds(size_t n);
/* Part `fold` of held_folds, drawn by the seed; of rows with some that a map has not seen there is
 * one part, which leaves those out.  rows are borrowed.  Free it also after a failure. */
enum status held_make(struct held *, const struct dirichlet_rows *, size_t fold, uint64_t seed,
                      struct err *);
void held_free(struct held *);
/* The sum over the left-out rows of -u log p of their class, u the weight of the class, for
 * probabilities p (C vectors of rows), and in *weight the sum of the u. */
double held_loss(const struct held *, const double *p, double *weight);
/* p (C vectors of n) <- softmax(scale f + offset) of functions f. */
void held_softmax(size_t n, size_t C, const double *f, double scale, const double *offset,
                  double *p);

#endif
