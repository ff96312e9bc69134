/* compute/features/fop.h -- a feature operator: Z (n x M) over data (share/doc/methods.md 1.4, 3),
 * never formed unless stored, on whatever backend.  With row factors in its options, Z stands for
 * diag(row_scale) Z in all of these functions.  k right-hand sides are k contiguous vectors of M or
 * n.  Functions return CANCELLED when ctl stops them. */
#ifndef GPDESK_FOP_H
#define GPDESK_FOP_H

#include "compute/backend.h"

struct fop;

/* fm and src are borrowed and must outlive the operator.  The rows of src can have the numbers of
 * maps that learn behind their inputs (kernel_learned_rows); else the operator makes them.  The
 * caller owns the result; NULL and *err on failure. */
struct fop *fop_new(const struct backend_ops *be, const struct featmap *fm,
                    const struct source *src, const struct fop_opts *opts, struct err *err);
/* For tests: over a given row-major Z (n x M), which is not copied and must outlive the
 * operator. */
struct fop *fop_dense_for_tests(const double *Z, size_t n, size_t M, size_t ld, struct pool *pool,
                                struct err *err);
void fop_free(struct fop *);
size_t fop_rows(const struct fop *);
size_t fop_cols(const struct fop *);
struct pool *fop_pool(const struct fop *);
enum precision fop_precision(const struct fop *);

/* Predicted bytes of workspace: of a Gram matrix (L 0) or a sketch of L columns, beside its result;
 * and of passes with k vectors, beside stored features. */
double fop_product_bytes(size_t n, size_t M, size_t L, enum precision, size_t threads);
double fop_pass_bytes(size_t M, size_t k, enum precision, size_t threads);
/* The part of a Gram matrix's workspace that is kept for the next one. */
double fop_kept_bytes(size_t n, size_t M, enum precision, size_t threads);

/* Sets the hyperparameters (natural scale); stored and formed matrices are dropped. */
enum status fop_set(struct fop *, const double *hp, struct err *);
/* W[c] = Z'(Z P[c]) for k vectors of M, which do not overlap. */
enum status fop_pass(struct fop *, size_t k, const double *P, double *W, const struct ctl *,
                     struct err *);
/* fop_pass with unrounded features, when the stored ones are rounded to float16. */
enum status fop_pass_exact(struct fop *, size_t k, const double *P, double *W, const struct ctl *,
                           struct err *);
/* True when the device has failed and the CPU works in its place; *why (may be NULL) is its
 * error. */
bool fop_lost(const struct fop *, struct err *why);
/* True when the device has no loops for some step of the map, and the CPU does all. */
bool fop_declined(const struct fop *);
bool fop_half(const struct fop *); /* true if stored features are float16 */
void fop_unhalve(struct fop *);    /* drops them: features are then made anew in each pass */
/* T[c] = Z P[c] (k vectors of n), and W[c] = Z'V[c] (k vectors of M). */
enum status fop_zp(struct fop *, size_t k, const double *P, double *T, const struct ctl *,
                   struct err *);
enum status fop_ztv(struct fop *, size_t k, const double *V, double *W, const struct ctl *,
                    struct err *);
/* Rows r0..r1-1 of Z, (r1-r0) x ld row-major, in single or double precision.  Thread-safe. */
enum status fop_tile(struct fop *, size_t r0, size_t r1, float *z, size_t ld, struct err *);
enum status fop_tile64(struct fop *, size_t r0, size_t r1, double *z, size_t ld, struct err *);
/* grad[i] += sum of B o dZ / dlog hp[i] over rows r0..r1-1, for every hyperparameter i; Z and B:
 * those rows, (r1-r0) x ld (share/doc/methods.md 6.12, 3.13). */
enum status fop_grad(struct fop *, size_t r0, size_t r1, const double *Z, const double *B,
                     size_t ld, double *grad, struct err *err);
bool fop_has_dtile(const struct fop *); /* true if fop_dtile works; else use fop_grad */
/* Rows r0..r1-1 of dZ / dlog hp[ihp] in double. */
enum status fop_dtile(struct fop *, size_t ihp, size_t r0, size_t r1, double *dz, size_t ld,
                      struct err *);

/* G = Z'Z (M x M, both triangles, ld = M), zty = Z'y (M) and yty = y'y; the last two may be NULL.
 * Sums run in float32 over short chunks of rows and are merged in float64 (with PREC_DOUBLE all is
 * float64), so that G + lam2 I stays positive definite down to lam2 ~ 1e-7 n.  O(n M^2).
 *
 * The same bits for any number of threads, and of processes that share the rows: up to M = 2048
 * rows are summed in at most 64 segments, else in terms of at most 2048 rows, whose limits follow
 * from n and M alone; what terms sum to does not depend on an order (share/doc/methods.md 27).  The
 * sums of at most four segments for each thread exist at a time, in 128 MB, but one for each thread
 * in any case (fop_product_bytes).  yty is the sum over the rows here. */
enum status fop_gram(struct fop *, const double *y, double *G, double *zty, double *yty,
                     const struct ctl *, struct err *);
/* fop_gram for ny vectors y of n: zty is ny vectors of M, yty ny numbers. */
enum status fop_gram_of(struct fop *, size_t ny, const double *y, double *G, double *zty,
                        double *yty, const struct ctl *, struct err *);
/* Forms Z'Z by fop_gram and keeps it (8 M^2 bytes).  Until fop_set, pass, gram and sketch then use
 * it instead of the features. */
enum status fop_form(struct fop *, const struct ctl *, struct err *);
/* The formed matrix, M columns with leading dimension *ld, both triangles; NULL: none. */
const double *fop_formed(const struct fop *, size_t *ld);
/* Takes the formed matrix from the operator, which makes features anew from then on: M x M, both
 * triangles; the caller frees it.  NULL: none. */
double *fop_take_formed(struct fop *);
/* C = Z'D (M x M, not symmetric, column-major) with D = dZ / dlog hp[ihp], for the gradient 6.6.
 * Sums as in fop_gram. */
enum status fop_dgram(struct fop *, size_t ihp, double *C, const struct ctl *, struct err *);
/* Y = Z'(Z Omega), M x L column-major, by matrix products on tiles of rows. */
enum status fop_sketch(struct fop *, size_t L, const double *Omega, double *Y, const struct ctl *,
                       struct err *);
/* fop_sketch with features that a device may round to float16.  The matrix stays symmetric, which
 * is all that a preconditioner needs. */
enum status fop_sketch_rough(struct fop *, size_t L, const double *Omega, double *Y,
                             const struct ctl *, struct err *);

/* The Nystrom approximation on the device (backend.h).  UNSUPPORTED when it is not available or
 * failed; Omega is then unchanged. */
enum status fop_nystrom(struct fop *, size_t L, int passes, double *Omega, double *ev,
                        const struct ctl *, struct err *);
/* Makes an approximate Cholesky factor of Z'Z + lam2 I that stays on the device (backend.h).
 * UNSUPPORTED when that is not available or failed. */
enum status fop_factor(struct fop *, double lam2, const struct ctl *, struct err *);
/* Products U diag(c) U' Y (compute/linalg/tall.h) by the processes of an operator that has several,
 * where that is faster than the `seconds` that they take here: true when they have U (M x L), which
 * is borrowed until fop_basis_drop.  fop_basis_add, Y += U diag(c) U' Y for k vectors: UNSUPPORTED
 * where they have it no longer; Y is then of no use. */
bool fop_basis(struct fop *, size_t L, const double *U, double seconds);
enum status fop_basis_add(struct fop *, size_t k, const double *c, double *Y, const struct ctl *,
                          struct err *);
void fop_basis_drop(struct fop *);
/* Conjugate gradients with vectors on the device (struct backend_cg), for cg.c.  fop_cg_open
 * returns NULL when it is not available.  After BACKEND (the device is lost) only close may be
 * called. */
struct fop_cg;
struct fop_cg *fop_cg_open(struct fop *, size_t k, double lam2, const struct backend_inverse *);
void fop_cg_close(struct fop_cg *);
enum status fop_cg_put(struct fop_cg *, size_t slot, const double *X, const double *R,
                       struct err *);
enum status fop_cg_get(struct fop_cg *, size_t slot, double *X, double *R, struct err *);
enum status fop_cg_swap(struct fop_cg *, size_t i, size_t j, struct err *);
enum status fop_cg_run(struct fop_cg *, size_t active, size_t m, const struct cg_slot *,
                       struct cg_step *, size_t *done, const struct ctl *, struct err *);

#endif
