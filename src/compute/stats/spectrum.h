/* compute/stats/spectrum.h -- the spectrum of Z'Z (n rows, M columns) or of an exact kernel matrix,
 * and the targets along its eigenvectors, estimated from a sample of rows (share/doc/methods.md
 * 13).
 *
 * A sample of m of n rows has as many effective degrees of freedom at a noise l as all n rows have
 * at a larger one k,
 *   D_n(k) = D_m(l),   k = l (1 - D/n) / (1 - D/m),   D(k) = sum_j lam_j / (lam_j + k)     (13.1)
 * where lam are the eigenvalues, those of the sample times n / m (sampling as a free compression;
 * after Simon, Dickens, Karkada & DeWeese 2023 for learning curves).  M features of a kernel relate
 * to infinitely many features in the same way, with M in place of n.
 *
 * Real rows are not quite in general position.  The deviation from the law at a given D/m is read
 * from a second spectrum, of half of the sample, and subtracted.  Beyond three quarters of the
 * sample the curve continues as the power law of its end, bent by the two factors towards
 * min(n, M).  The eigenvalues themselves are found from the curve D(k) by iterative matching. */
#ifndef GPDESK_SPECTRUM_H
#define GPDESK_SPECTRUM_H

#include "compute/ctl.h"
#include "compute/features/fop.h"
#include "compute/linop.h"

/* An exact kernel counts as infinitely many features. */
#define SPECTRUM_KERNEL ((size_t)1 << 52)
/* Eigenvalues in groups, descending: lam[i] stands for count[i] of them, and b2[i] is the squared
 * length of b = Z'y in the span of their eigenvectors. */
struct spectrum {
    /* Rows, columns (SPECTRUM_KERNEL for an exact kernel), rows of the sample. */
    size_t n, M, sample;
    size_t groups;
    double *lam, *count, *b2; /* groups each, in one block, freed by spectrum_free */
    double known;          /* index up to which the sample determines it; beyond: extrapolated */
};
void spectrum_free(struct spectrum *);

/* For a sample of m of n rows: the eigenvalues of (n / m) Z_s Z_s' (m, descending) and the squares
 * (u_j'y_s)^2 of the sampled targets along the eigenvectors. */
struct spectrum_part { size_t m; double *lam, *uy2; };
/* The spectrum from a sample and from half of it (NULL: no correction; not needed for m == n). */
enum status spectrum_estimate(size_t n, size_t M, const struct spectrum_part *whole,
                              const struct spectrum_part *half, struct spectrum *, struct err *);
/* The spectrum of an operator with t vectors y of targets, from a sample of `rows` rows (0: chosen
 * from the sizes), spread over the data.  half (NULL: not wanted): the spectrum as half of the
 * sample gives it.  The same bits for any number of threads.  With `exact`, where there are at most
 * 2048 columns and all rows cost no more than a few seconds of one core, the eigenvalues are those
 * of Z'Z itself (the sample is then all n rows, and half stays empty): where the noise is as small
 * as the last eigenvalues, the number of iterations follows from those, which no sample shows. */
struct spectrum_ask { size_t t; const double *y; size_t rows, mem_limit; bool exact; };
bool spectrum_exact(size_t n, size_t M, const struct spectrum_ask *);
enum status spectrum_sample(struct fop *, const struct spectrum_ask *, struct spectrum *,
                            struct spectrum *half, const struct ctl *, struct err *);
/* The same of the matrix G of a system (linop.h), from the columns of the sampled rows; M is then
 * SPECTRUM_KERNEL, and `exact` has no effect. */
enum status spectrum_system(const struct linop *, const struct spectrum_ask *, struct spectrum *,
                            struct spectrum *half, const struct ctl *, struct err *);
/* The eigenvalue at an index, from 1 (interpolated between groups by a power law); the effective
 * dimension sum lam / (lam + noise). */
double spectrum_at(const struct spectrum *, double index);
double spectrum_dimension(const struct spectrum *, double noise);
/* The effective dimension of the kernel itself, of which M features are a sample in general
 * position; a lower estimate.  About M where M features are too few to tell. */
double spectrum_kernel_dimension(const struct spectrum *, double noise);

#endif
