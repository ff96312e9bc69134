/* compute/features/fop.h -- a feature operator in use: Z (n x M) over data, never formed unless
 * stored. Thin, backend-neutral; with row factors in its options Z stands for diag(row_scale) Z in
 * all of these; also over an explicit Z, for tests and small problems. Vectors: k right-hand sides
 * are k contiguous vectors (stride M or n). */
#ifndef GPDESK_FOP_H
#define GPDESK_FOP_H

#include "compute/backend.h"

struct fop;

/* fm and src outlive the operator. */
struct fop *fop_new(const struct backend_ops *be, const struct featmap *fm,
                    const struct source *src, const struct fop_opts *opts, struct err *err);
/* Over a given row-major Z (n x M), copied not: it outlives the operator. */
struct fop *fop_dense_for_tests(const double *Z, size_t n, size_t M, size_t ld, struct pool *pool,
                                struct err *err);
void fop_free(struct fop *);
size_t fop_rows(const struct fop *);
size_t fop_cols(const struct fop *);
struct pool *fop_pool(const struct fop *);
enum precision fop_precision(const struct fop *);

/* Bytes that a Gram (L 0) or a sketch of L columns holds beside its result, and what passes of k
 * vectors hold beside a store of the features. */
double fop_product_bytes(size_t n, size_t M, size_t L, enum precision, size_t threads);
double fop_pass_bytes(size_t M, size_t k, enum precision, size_t threads);
/* What of a Gram's stays for the next one. */
double fop_kept_bytes(size_t n, size_t M, enum precision, size_t threads);

enum status fop_set(struct fop *, const double *hp, struct err *);
enum status fop_pass(struct fop *, size_t k, const double *P, double *W, const struct ctl *,
                     struct err *);
/* The same with unrounded features, where those stored are rounded to float16. */
enum status fop_pass_exact(struct fop *, size_t k, const double *P, double *W, const struct ctl *,
                           struct err *);
/* Did a device fail?  Since then the processor works in its place; why: what it said (may be NULL).
 */
bool fop_lost(const struct fop *, struct err *why);
bool fop_half(const struct fop *); /* are they? */
void fop_unhalve(struct fop *);    /* from now on they are made anew */
enum status fop_zp(struct fop *, size_t k, const double *P, double *T, const struct ctl *,
                   struct err *);
enum status fop_ztv(struct fop *, size_t k, const double *V, double *W, const struct ctl *,
                    struct err *);
enum status fop_tile(struct fop *, size_t r0, size_t r1, float *z, size_t ld, struct err *);
enum status fop_tile64(struct fop *, size_t r0, size_t r1, double *z, size_t ld, struct err *);
/* grad[i] += sum of B o dZ / d log hp[i] over rows r0..r1-1, for every hyperparameter i; Z, B:
 * those rows, (r1-r0) x ld. */
enum status fop_grad(struct fop *, size_t r0, size_t r1, const double *Z, const double *B,
                     size_t ld, double *grad, struct err *err);
/* The same over all rows where the operator is, with B = Z S + T V' (backend.h); UNSUPPORTED: it is
 * for fop_grad. */
enum status fop_back(struct fop *, const double *S, size_t k, const double *T, const double *V,
                     double *grad, const struct ctl *, struct err *);
bool fop_has_back(const struct fop *);
bool fop_has_dtile(const struct fop *); /* rows of derivatives, else fop_grad alone */
enum status fop_dtile(struct fop *, size_t ihp, size_t r0, size_t r1, double *dz, size_t ld,
                      struct err *);

/* G = Z'Z, full symmetric M x M (ld = M), every sum over short float32 row chunks merged in
 * float64 (float64 throughout under PREC_DOUBLE), so that G + lam2 I stays positive definite down
 * to lam2 ~ 1e-7 n.  zty (M) and yty may be NULL.  Same bits for any thread count. */
enum status fop_gram(struct fop *, const double *y, double *G, double *zty, double *yty,
                     const struct ctl *, struct err *);
/* The same for ny vectors y of n: zty ny vectors of M, yty ny numbers. */
enum status fop_gram_of(struct fop *, size_t ny, const double *y, double *G, double *zty,
                        double *yty, const struct ctl *, struct err *);
/* Forms Z'Z once, as fop_gram, and keeps it (8 M^2 bytes): pass, gram and sketch then work on it
 * and no longer on the features, until fop_set. */
enum status fop_form(struct fop *, const struct ctl *, struct err *);
/* The matrix formed, M columns of *ld, both triangles; NULL: none. */
const double *fop_formed(const struct fop *, size_t *ld);
/* C = Z' dZ_i, dZ_i = dZ / d log hp[i] (M x M, not symmetric, column-major), for the exact
 * gradient.  Sums as in fop_gram. */
enum status fop_dgram(struct fop *, size_t ihp, double *C, const struct ctl *, struct err *);
/* Y = Z'(Z Omega), M x L column-major (L vectors of M), by matrix products on row tiles. */
enum status fop_sketch(struct fop *, size_t L, const double *Omega, double *Y, const struct ctl *,
                       struct err *);
/* The same of features that a device may round to float16, which a preconditioner does not mind: it
 * is still symmetric. */
enum status fop_sketch_rough(struct fop *, size_t L, const double *Omega, double *Y,
                             const struct ctl *, struct err *);

/* The Nystrom approximation where the operator is (backend.h); UNSUPPORTED: there is no such thing
 * there, or it did not work, and Omega is as it was. */
enum status fop_nystrom(struct fop *, size_t L, int passes, double *Omega, double *ev,
                        const struct ctl *, struct err *);
/* A Cholesky factor of Z'Z + lam2 I, rough, that stays where the operator is (backend.h);
 * UNSUPPORTED: there is no such thing there, or it did not work. */
enum status fop_factor(struct fop *, double lam2, const struct ctl *, struct err *);
/* Conjugate gradients with vectors where the operator is (struct backend_cg); for cg.c, which is
 * also told when there is nothing of the kind: NULL.  After BACKEND (the device is lost) only close
 * is left. */
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
