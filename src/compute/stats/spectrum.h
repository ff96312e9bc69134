/* compute/stats/spectrum.h -- the spectrum of Z'Z, and how the targets lie in it, from a sample of
 * rows.
 *
 * A sample of m of n rows has as many effective degrees of freedom at a noise l as all n rows have
 * at a larger one,
 *   D_n(k) = D_m(l),   k = l (1 - D/n) / (1 - D/m),   D(k) = sum_j lam_j / (lam_j + k)
 * (sampling as a free compression; Simon, Dickens, Karkada & DeWeese 2023 for learning curves), and
 * M features of a kernel relate to all of its features in the same way, with M for n.  Real rows
 * are not quite in general position; how far that puts the law off at a given D/m is read from a
 * second spectrum, of half of the sample, and taken back.  Beyond three quarters of the sample the
 * curve goes on as the last power, bent by the two factors towards min(n, M).  What D(k) says of
 * the eigenvalues themselves is found by matching, from the top down. */
#ifndef GPDESK_SPECTRUM_H
#define GPDESK_SPECTRUM_H

#include "compute/ctl.h"
#include "compute/features/fop.h"

/* Eigenvalues in groups, descending: lam[i] stands for count[i] of them, and b2[i] is the square of
 * b = Z'y along these. */
struct spectrum {
    size_t n, M, sample;   /* rows, columns, rows of the sample */
    size_t groups;
    double *lam, *count, *b2; /* of one block, freed by spectrum_free */
    double known;          /* index up to which the sample itself speaks; beyond, the law goes on */
};
void spectrum_free(struct spectrum *);

/* Of a sample of m of n rows: the eigenvalues of Z_s Z_s' n / m (descending) and (u_j'y_s)^2. */
struct spectrum_part { size_t m; double *lam, *uy2; };
/* The spectrum from a sample and from half of it (NULL: no correction; not needed for m == n). */
enum status spectrum_estimate(size_t n, size_t M, const struct spectrum_part *whole,
                              const struct spectrum_part *half, struct spectrum *, struct err *);
/* The same from an operator and t vectors y of targets: a sample of `rows` rows (0: chosen by
 * sizes), spread over the data.  half (NULL: not wanted): what half of the sample would have said.
 * Same bits for any thread count. */
struct spectrum_ask { size_t t; const double *y; size_t rows, mem_limit; };
enum status spectrum_sample(struct fop *, const struct spectrum_ask *, struct spectrum *,
                            struct spectrum *half, const struct ctl *, struct err *);
/* The eigenvalue at an index from 1 (between groups: by powers); effective dimension at a noise. */
double spectrum_at(const struct spectrum *, double index);
double spectrum_dimension(const struct spectrum *, double noise);
/* The same for the kernel itself, of which M features are a sample, from below (as if they were in
 * general position): M where the features show no end to it. */
double spectrum_kernel_dimension(const struct spectrum *, double noise);

#endif
