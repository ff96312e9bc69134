/* compute/models/joint.h -- joint draws of an exact model at given rows (share/doc/methods.md
 * 15.11): no random features, so that kernels without them have draws, too. */
#ifndef GPDESK_JOINT_H
#define GPDESK_JOINT_H

#include "compute/models/functions.h"

/* Rows at most: the factor of their covariance then takes 800 MB. */
enum { JOINT_ROWS = 10000 };

/* True if the model has what joint draws at n rows need: it is exact, with its factor. */
bool joint_can(const struct model *, size_t n);
/* F <- the values of key->count draws at all rows of a source, in scaled units and without noise,
 * one draw after the other.  A function of the model, the rows and the key.  Memory: 8 n (n + 2
 * training rows) bytes. */
enum status joint_values(const struct model *, const struct source *, const struct functions_key *,
                         const struct tools *, double *F, struct err *);

#endif
