/* compute/features/fop_rows.h -- sums and forms over the rows of a feature operator that are
 * neither passes nor Gram matrices.  Callers never fetch all rows: where the backend has a function
 * of the same name it is called, because it alone may be able to read the rows; else tiles of rows
 * are made here.  Partial sums are those of fixed tiles or segments of rows and are folded
 * (fold.h): the bits do not depend on the number of threads, nor on how many processes share the
 * rows (fop_opts.share).  fop_outer and fop_outer_back are for rows that are all here. */
#ifndef GPDESK_FOP_ROWS_H
#define GPDESK_FOP_ROWS_H

#include "compute/features/fop.h"

/* diag (M) = the diagonal of Z'Z. */
enum status fop_diagonal(struct fop *, double *diag, const struct ctl *, struct err *);

/* True when fop_dgram and fop_slope_form serve, and for one or two hyperparameters take less time
 * than fop_back. */
bool fop_slopes_apart(const struct fop *);
/* *out = r' D w with D = dZ / dlog hp[ihp], r of n and w of M numbers. */
enum status fop_slope_form(struct fop *, size_t ihp, const double *r, const double *w, double *out,
                           struct err *);
/* The derivative of a function of Z whose derivative in Z itself is B = Z S + T V' (n x M;
 * share/doc/methods.md 6.12): grad[i] += sum of B o dZ / dlog hp[i] over all rows, for each of nhp
 * hyperparameters.  S: M x M symmetric, both triangles (NULL: 0); T: k vectors of n; V: k vectors
 * of M.  Where features are float32, Z S is a product in float32. */
struct fop_slope { const double *S, *T, *V; size_t k, nhp; };
enum status fop_back(struct fop *, const struct fop_slope *, double *grad, const struct ctl *,
                     struct err *);

/* q[c n + i] = |L_c^-1 z_i|^2 for each row i and factor c: L is `count` lower triangles of M x M
 * after each other.  Rows z_i are made in `precision`, and the rest is float64.  Rows are handled
 * in tiles of a multiple of BLAS_COLUMNS, the last one padded to one, so that the bits of a row do
 * not depend on how a caller cuts its rows into such tiles, nor on the number of threads. */
enum { FOP_FORM_ROWS = 64 };
struct fop_factors { const double *L; size_t count; enum precision precision; };
enum status fop_forms(struct fop *, const struct fop_factors *, double *q, const struct ctl *,
                      struct err *);

/* C (`groups` vectors of M) += the means of z over the first `each` rows, the next, and so on; rows
 * z are made in `precision`. */
struct fop_groups { size_t groups, each; enum precision precision; };
enum status fop_means(struct fop *, const struct fop_groups *, double *C, const struct ctl *,
                      struct err *);

/* For each row i: dot[i] = z_i'v and square[i] = z_i'z_i, with rows in float32 and sums in
 * float64. */
enum status fop_dots(struct fop *, const float *v, double *dot, double *square, const struct ctl *,
                     struct err *);

/* K = Z Z' (n x n, both triangles) in float64, for few rows.  `keep`: the rows (8 n M bytes) stay
 * for fop_outer_back until then or fop_set. */
enum status fop_outer(struct fop *, bool keep, double *K, const struct ctl *, struct err *);
/* grad[i] += sum of (S Z) o dZ / dlog hp[i], S symmetric n x n with both triangles, for each of nhp
 * hyperparameters. */
enum status fop_outer_back(struct fop *, const double *S, size_t nhp, double *grad,
                           const struct ctl *, struct err *);

/* A multinomial logistic model of C classes over the rows (share/doc/methods.md 25): f = W'z +
 * offset are the functions of a row, p is their softmax, y the unit vector of the row's label (n
 * labels, 0 to C - 1), and u the weight of its class (C weights; NULL: all 1). */
struct fop_softmax {
    size_t classes;
    const double *labels, *weight, *offset;
    const double *W, *V; /* C vectors of M; V NULL: the gradient is wanted */
    double *h;           /* not NULL: n numbers that become u C / (C - 1) p_c (1 - p_c) */
    size_t c;
    bool keep;           /* features of all rows may be kept (8 n M bytes) until fop_set */
};
/* *loss = the sum over rows of u (log sum exp f - f_label), and sum (C vectors of M) = that of z u
 * (p - y)', or with V of z u (diag p - p p') V'z, the product of the second derivative and V.
 * Either may be NULL.  Features and sums are float64. */
enum status fop_softmax(struct fop *, const struct fop_softmax *, double *sum, double *loss,
                        const struct ctl *, struct err *);
double fop_softmax_bytes(size_t n, size_t M, size_t classes, size_t threads);

/* Products with some rows: rows come in blocks of `rows` neighbours, of which a product takes
 * `per`. */
struct fop_blocks;
struct fop_blocks *fop_blocks_new(struct fop *, size_t rows, size_t per, size_t k, struct err *);
void fop_blocks_free(struct fop_blocks *);
/* W[c] = sum of Z_B'(Z_B P[c]) over the `per` blocks at[..], for k vectors of M. */
enum status fop_blocks_pass(struct fop_blocks *, const size_t *at, const double *P, double *W,
                            struct err *);

#endif
