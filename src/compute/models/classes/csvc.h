/* compute/models/classes/csvc.h -- support vector classification at the price C of errors, by
 * LIBSVM (Chang & Lin, ACM Transactions on Intelligent Systems and Technology 2 (2011);
 * share/doc/methods.md 18), on a kernel matrix that is there.  The one place of that library. */
#ifndef GPDESK_CSVC_H
#define GPDESK_CSVC_H

#include "base/status.h"
#include "compute/ctl.h"

#include <stdbool.h>
#include <stddef.h>

#define CSVC_EPS 1e-4 /* largest violation of the conditions of optimality (18.3) */

struct csvc; /* rows with their kernel matrix: opaque */

/* False in a program that was built without the library; csvc_new then fails. */
bool csvc_here(void);
/* n rows with the symmetric kernel matrix K (n x n, both triangles), which is copied, and labels y
 * of -1 and +1, which are borrowed.  It takes 16 n^2 bytes.  NULL and err: NOMEM, UNSUPPORTED. */
struct csvc *csvc_new(size_t n, const double *K, const double *y, struct err *);
void csvc_free(struct csvc *); /* NULL is fine */

/* How a training ended: the constant of the decision function and the steps of the solver. */
struct csvc_end { double rho; size_t iterations; };
/* Trains on m of the rows, of both classes: coef (n) <- y_i alpha_i, 0 for all other rows.  LIBSVM
 * prints nothing and uses no random numbers.  Every 1,000 steps it lets this program look: when ctl
 * stops, or after CSVC_STEPS (at 10,000,000 it would write to stderr), the kernel values that it
 * reads are made NaN, on which it ends.  The rows are then spoiled, and this and every later
 * training is CANCELLED or LIMIT. */
#define CSVC_STEPS 9000000
enum status csvc_train(struct csvc *, double C, size_t m, const size_t *rows, double *coef,
                       struct csvc_end *, const struct ctl *, struct err *);
/* The decision value of row i, sum_j coef_j K_ij - rho. */
double csvc_value(const struct csvc *, const double *coef, double rho, size_t i);

#endif
