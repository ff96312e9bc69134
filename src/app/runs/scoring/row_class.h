/* app/runs/scoring/row_class.h -- the probability of one row's positive class, and the class that
 * is predicted, as `predict` has them, for what looks at a single row of a fit of two classes. */
#ifndef GPDESK_ROW_CLASS_H
#define GPDESK_ROW_CLASS_H

#include "app/shell/rec.h"
#include "compute/features/source.h"
#include "compute/models/model.h"
#include "data/encoding.h"

struct row_class { bool known; double p; size_t taken; };
/* Of the first row of the source; not known where the model has no classes.  O(one prediction). */
enum status row_class_of(const struct model *, const struct encoding *, const struct source *,
                         const struct tools *, struct row_class *, struct err *);
/* The members `predicted` and `p` of a record, and "predicted NAME (p 0.93 of POSITIVE)" where they
 * are known. */
void row_class_tell(const struct row_class *, const struct encoding *, struct rec *);

#endif
