/* app/runs/scoring/row_class.h -- the probabilities of one row's classes, and the class that is
 * predicted, as `predict` has them, for what looks at a single row of a fit of classes. */
#ifndef GPDESK_ROW_CLASS_H
#define GPDESK_ROW_CLASS_H

#include "app/core/job.h"
#include "app/shell/rec.h"
#include "compute/features/source.h"
#include "compute/models/model.h"
#include "data/dataset.h"
#include "data/encoding.h"

/* known: there are probabilities; p: that of the positive class of two with one function.  taken:
 * the class that is predicted.  several: there is a function for each class, which is then always
 * known; `second` is the likeliest class but `taken`, against which that is explained, and `of`
 * has all probabilities. */
struct row_class {
    bool known, several;
    double p;
    size_t taken, second;
    double of[TARGETS_MOST];
};
/* Worker thread: of the first row of the source; not known where the model has no classes, or one
 * function without variances.  The factor for variances is made again from the training rows of the
 * dataset where a session did not keep it.  O(one prediction) otherwise. */
enum status row_class_of(struct model *, const struct dataset *, struct encoding *,
                         const struct source *, struct job *, struct row_class *, struct err *);
/* What is explained of n rows: means holds their functions, one after another.  Of several classes
 * f(taken) - f(second) takes the place of the first function, the one of the log of their odds. */
void row_class_contrast(const struct row_class *, size_t n, double *means);
/* The members `predicted` and `p` of a record, of several classes also `runner_up` and
 * `probabilities`, and "predicted NAME (p 0.93 of POSITIVE)" where they are known. */
void row_class_tell(const struct row_class *, const struct encoding *, struct rec *);
/* "NAME less NAME", at most `most` letters of each, of several classes. */
void row_class_words(const struct row_class *, const struct encoding *, size_t most, struct buf *);

#endif
