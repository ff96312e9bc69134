/* compute/models/exact_system.h -- the system A = S K1 S + lam2 I of an exact kernel at amplitude 1
 * (n x n, stored on request), with the row factors S of source.h, as compute/linop.h wants it: what
 * solvers, preconditioners and estimates take beside that of random features
 * (share/doc/methods.md 5). */
#ifndef GPDESK_EXACT_SYSTEM_H
#define GPDESK_EXACT_SYSTEM_H

#include "compute/linop.h"
#include "compute/models/exact.h"

struct exact_system;
/* Opens the system; kernel, hp, inputs and row factors are borrowed and must outlive it.  The
 * caller closes it. */
enum status exact_system_open(const struct backend_ops *, const struct exact_rows *,
                              struct exact_system **out, struct err *);
/* Stores K1 (exact_op_store).  Where that rounds, the operator has an `exact` form. */
enum status exact_system_store(struct exact_system *, bool half, const struct ctl *, struct err *);
void exact_system_close(struct exact_system *); /* NULL is fine */
/* The system at lam2, the ratio of noise to amplitude squared.  One at a time: a later call changes
 * lam2 of those before. */
struct linop exact_system_linop(struct exact_system *, double lam2);
/* The products with K1 alone; lent. */
struct exact_op *exact_system_op(const struct exact_system *);

#endif
