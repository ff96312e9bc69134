/* compute/likelihood/discriminant.h -- several classes by a linear discriminant on random
 * features: normal densities around the means of the classes, with one covariance for all (Mika et
 * al., Neural Networks for Signal Processing IX, 1999; share/doc/methods.md 26).
 *
 * With features Z (n x M) at amplitude 1, weights u_i of rows with the sum N, and of each class c
 * the sum N_c of its weights and the mean m_c of its features,
 *   A = Z'UZ - sum of N_c m_c m_c' + lambda I,  lambda = 1 / amplitude^2,
 *   f_c = s (z'w_c - m_c'w_c / 2) + log of its share,  w_c = N A^-1 m_c,
 * the logarithm of the density of z under the covariance A / (s N), less what is the same for all
 * classes. */
#ifndef GPDESK_DISCRIMINANT_H
#define GPDESK_DISCRIMINANT_H

#include "compute/likelihood/dirichlet.h"

/* The sums of the rows; the description is borrowed. */
struct discriminant {
    struct dirichlet_rows rows;
    size_t n, M, C;
    double *A, *mean, *size, all; /* A (M x M) without lambda; C means of M; N_c; N */
    double *L;                    /* M x M: the factor of the last setting */
};
/* O(n M^2).  RANGE for labels that are none.  Close it also after a failure. */
enum status discriminant_open(struct discriminant *, const struct dirichlet_rows *, struct err *);
void discriminant_close(struct discriminant *);
/* At lambda: W (C vectors of M) and constant (C), so that f_c = s (z'W_c + constant_c) + the
 * logarithm of the share.  O(M^3).  NOT_PD when rounding is larger than lambda. */
enum status discriminant_at(struct discriminant *, double lambda, double *W, double *constant,
                            struct err *);

#endif
