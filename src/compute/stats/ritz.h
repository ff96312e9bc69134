/* compute/stats/ritz.h -- spectra: of a symmetric tridiagonal matrix, and from it what conjugate
 * gradients have learnt of their system. */
#ifndef GPDESK_RITZ_H
#define GPDESK_RITZ_H

#include "base/status.h"

#include <stddef.h>

struct solve_info;

/* The eigenvalues of the symmetric tridiagonal matrix with diagonal d (n) and off-diagonal e (n-1),
 * ascending, into d; e is overwritten.  Errors are a few eps |T|.  g (n; NULL: none) becomes V'g, V
 * the eigenvectors in the same order.  RANGE when an entry is not finite. */
enum status ritz_tridiag(size_t n, double *d, double *e, double *g, struct err *);
/* The Ritz values (ascending) of P^-1 A from the coefficients of conjugate gradients
 * (share/doc/methods.md 10.1), of the first RITZ_MOST steps at most: all of them cost the square of
 * their number.  theta: that many; *count: how many there are.  They lie within the spectrum. */
enum { RITZ_MOST = 2048 };
enum status ritz_values(const struct solve_info *, double *theta, size_t *count, struct err *);
/* The condition number from the extreme Ritz values of all steps, a lower bound; NaN before two
 * steps and where the coefficients do not have it.  NOMEM alone is a failure.  Its cost is that of
 * a vector operation a step. */
enum status ritz_condition(const struct solve_info *, double *condition, double *least,
                           double *most, struct err *);

#endif
