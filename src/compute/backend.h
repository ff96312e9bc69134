/* compute/backend.h -- devices.  With featmap.h all that src/cuda knows of compute.
 *
 * A backend opens a feature operator: a drawn feature map over rows of data.  It interprets the
 * map's steps and knows no kernel by name.  Every fit lives in `pass`; the sum over rows inside it
 * is the only place where rows meet. */
#ifndef GPDESK_BACKEND_H
#define GPDESK_BACKEND_H

#include "base/status.h"
#include "compute/ctl.h"
#include "compute/features/featmap.h"
#include "compute/pool.h"
#include "compute/features/source.h"

#include <stdbool.h>
#include <stddef.h>

#define BACKEND_ABI 9 /* 9: factors of a matrix that stays */
#define BACKEND_ENTRY "gpdesk_backend"

enum precision { PREC_FLOAT, PREC_DOUBLE };        /* of features inside a tile; sums are double */
/* How features are kept under PLAN_STORE. */
enum storing { STORE_AUTO, STORE_FLOAT32, STORE_FLOAT16 };
enum plan { PLAN_AUTO, PLAN_STORE, PLAN_REGENERATE, PLAN_DIRECT };

struct fop_opts {
    struct pool *pool;
    enum precision precision;
    bool store;        /* keep Z resident (rows x M of the precision) instead of regenerating */
    /* Stored features are rounded to float16 (PREC_FLOAT alone): `pass` is then (Z + E)'(Z + E)
     * with |E| as kernel_half_error says; everything else, pass_exact too, makes Z anew. */
    bool half;
    /* n factors (the roots of row weights) that multiply the rows of Z wherever they are used, and
     * of dZ; NULL: ones.  They outlive the operator. */
    const double *row_scale;
    /* pool_run and pool_threads, for a backend that lies in a module of its own: fop_new fills them
     * in. */
    void (*run)(struct pool *, size_t tasks, pool_fn *fn, void *ctx);
    size_t threads;
};

/* A device in words and numbers. */
struct backend_device {
    char name[96];      /* "NVIDIA H200" */
    size_t memory, free; /* bytes; free: now */
};

/* P^-1 of a preconditioner: diag(d) (M numbers); or I + U diag(c) U' (U: M x L, column-major); or
 * (factor) by what `factor` has left there; or, with none of these, I. */
struct backend_inverse { const double *d, *U, *c; size_t L; bool factor; };
/* A column of a recursion before its next step: (r, P^-1 r) of the last one, unless its direction
 * is forgotten (fresh); and the residual |r| at which whoever watches wants to be asked. */
struct cg_slot { double rz, goal; bool fresh; };
/* One step of one column; event: what it ended with. */
enum cg_event { CG_NONE, CG_GOAL, CG_BAD_RZ, CG_BAD_PQ };
struct cg_step { double rz, beta, alpha, rel; enum cg_event event; };
/* Conjugate gradients for Z'Z + lam2 I with vectors and scalars where the operator is: the
 * recursion alone, of solvers/cg.c, which decides what comes of it.  k slots, each with X, R and a
 * direction. */
struct backend_cg {
    void *(*open)(void *state, size_t k, double lam2, const struct backend_inverse *, struct err *);
    void (*close)(void *cg);
    /* X and R (M each; NULL: as they are) of a slot, in and out; put returns with both copied. */
    enum status (*put)(void *cg, size_t slot, const double *X, const double *R, struct err *);
    enum status (*get)(void *cg, size_t slot, double *X, double *R, struct err *);
    enum status (*swap)(void *cg, size_t i, size_t j, struct err *);
    /* At most m steps of the first `active` slots, step[i * active + slot]; *done of them, ended by
     * the first event of any slot, by ctl, or because the caller should hear of what was done so
     * far. */
    enum status (*run)(void *cg, size_t active, size_t m, const struct cg_slot *,
                       struct cg_step *step, size_t *done, const struct ctl *, struct err *);
};

/* Factorisations of matrices of the host, as blas.h has them (column-major, lower triangle).
 * Whatever fails but NOT_PD and CANCELLED leaves the matrix as it was, and the processor does it.
 */
struct backend_dense {
    size_t (*least)(void); /* the size from which it pays */
    enum status (*potrf)(size_t n, double *A, size_t lda, const struct ctl *, size_t *pivot,
                         struct err *);
    enum status (*potri)(size_t n, double *A, size_t lda, struct err *);
    enum status (*tridiag)(size_t n, double *A, size_t lda, double *d, double *e, size_t k,
                           double *b, size_t ldb, struct err *);
    enum status (*eigen)(size_t n, double *A, size_t lda, double *w, bool vectors, struct err *);
    /* Factors of A + shift I for one shift after another, A (n x n, lower) and k vectors b staying
     * there. keep NULL: there are none; pays: whether so many take less time than a tridiagonal
     * form, by count. at: diag (n), the factor's diagonal; quad (k), b'(A + shift I)^-1 b; trace of
     * the inverse (NULL: not wanted).  NOT_PD: there is no factor at this shift. */
    bool (*pays)(size_t n, size_t factors);
    void *(*keep)(size_t n, const double *A, size_t k, const double *b, struct err *);
    void (*drop)(void *kept);
    enum status (*at)(void *kept, double shift, double *diag, double *quad, double *trace,
                      const struct ctl *, struct err *);
};

/* A sum of products of kernels that are functions of a distance alone.  Factor f reads d inputs
 * times inv[f d + i] (0: not that one) and is table[f], cubics c0 + t (c1 + t (c2 + t c3)) over
 * BACKEND_TABLE equal parts of v = r / (1 + r), t from 0 to 1 in each.  weight[f]: that of the
 * product that begins with f; 0: f multiplies the one before. */
enum { BACKEND_TABLE = 1024 };
struct backend_radial { size_t d, factors; const float *inv, *table, *weight; };
/* Products with such a matrix over rows X (n of d), in single precision, which nobody stores. */
struct backend_exact {
    void *(*open)(const struct backend_radial *, size_t n, const double *X, struct err *);
    void (*close)(void *);
    /* W[c] = K(Y, X) V[c], c < k: Y m rows of d (NULL: X itself), V k vectors of n, W k of m. */
    enum status (*apply)(void *, size_t m, const double *Y, size_t k, const double *V, double *W,
                         const struct ctl *, struct err *);
};

/* What a backend leaves NULL of `has_dtile` to `grad` is done by the processor's; of `gram` and
 * `sketch`, by blocks of rows from its tiles.  BACKEND from any of them: the device failed, and the
 * operator goes on with the processor. */
struct backend_ops {
    unsigned abi;                                     /* BACKEND_ABI at build time */
    const char *name, *summary;                       /* "cpu", "AVX-512, 2 threads" */
    int (*probe)(char *why, size_t len);              /* score; 0: not usable here, and why */
    void *(*open)(const struct featmap *, const struct source *, const struct fop_opts *,
                  struct err *);
    void (*close)(void *state);
    /* New hyperparameters (natural scale); drops a stored Z, which is filled at the next use. */
    enum status (*set)(void *state, const double *hp, struct err *);
    /* W[c] = Z'(Z P[c]), c < k.  P, W: k vectors of M doubles each, contiguous; no overlap. */
    enum status (*pass)(void *state, size_t k, const double *P, double *W, const struct ctl *,
                        struct err *);
    /* The same with unrounded features where `half` stores rounded ones; NULL: pass is that. */
    enum status (*pass_exact)(void *state, size_t k, const double *P, double *W, const struct ctl *,
                              struct err *);
    /* Drops the rounded features: from now on they are made anew.  NULL: there are never any. */
    void (*unhalve)(void *state);
    /* T[c] = Z P[c] (k vectors of n), and W[c] = Z' V[c] (V: k vectors of n). */
    enum status (*zp)(void *state, size_t k, const double *P, double *T, const struct ctl *,
                      struct err *);
    enum status (*ztv)(void *state, size_t k, const double *V, double *W, const struct ctl *,
                       struct err *);
    /* Rows r0..r1-1 of Z, (r1-r0) x ld; callable from any pool task. */
    enum status (*tile)(void *state, size_t r0, size_t r1, float *z, size_t ld, struct err *);
    enum status (*tile64)(void *state, size_t r0, size_t r1, double *z, size_t ld, struct err *);
    /* The same rows of dZ / d log hp[i] (double); where has_dtile says no (ARD, products and the
     * like): UNSUPPORTED, see grad. */
    bool (*has_dtile)(void *state);
    enum status (*dtile)(void *state, size_t i, size_t r0, size_t r1, double *dz, size_t ld,
                         struct err *);
    /* Rows in float32, both Z and dZ, for the fast gradient.  NULL: use dtile. */
    enum status (*dtile32)(void *state, size_t i, size_t r0, size_t r1, float *dz, size_t ld,
                           struct err *);
    /* grad[i] += sum over rows r0..r1-1 and columns of B o dZ / d log hp[i], for every i, from the
     * rows of Z and of B (both (r1-r0) x ld): one transform back, whatever the number of
     * hyperparameters.  Callable from any pool task. */
    enum status (*grad)(void *state, size_t r0, size_t r1, const double *Z, const double *B,
                        size_t ld, double *grad, struct err *);
    /* grad[i] += sum of B o dZ / d log hp[i] over all rows, for every i, with B = Z S + T V': S M x
     * M symmetric, both triangles (NULL: none), T k vectors of n, V k of M.  NULL, or UNSUPPORTED:
     * by tiles of `grad`. */
    enum status (*back)(void *state, const double *S, size_t k, const double *T, const double *V,
                        double *grad, const struct ctl *, struct err *);
    /* As fop_gram_of (without yty) and fop_sketch in fop.h; G: M columns of ld, both triangles. */
    enum status (*gram)(void *state, size_t ny, const double *y, double *G, size_t ld, double *zty,
                        const struct ctl *, struct err *);
    /* rough: features may be rounded to float16, the same ones in both products. */
    enum status (*sketch)(void *state, size_t L, const double *Omega, double *Y, bool rough,
                          const struct ctl *, struct err *);
    /* The Nystrom approximation (precond.h) from a test matrix, M x L: Omega becomes U, ev (L) is
     * filled. What fails here but CANCELLED may work by blas.h. */
    enum status (*nystrom)(void *state, size_t L, int passes, double *Omega, double *ev,
                           const struct ctl *, struct err *);
    /* The Cholesky factor of Z'Z + lam2 I in single precision, of features that may be rounded to
     * float16, is made and stays there, for backend_inverse.  NULL, UNSUPPORTED: there is none. */
    enum status (*factor)(void *state, double lam2, const struct ctl *, struct err *);
    const struct backend_dense *dense;
    const struct backend_exact *exact; /* NULL: exact kernels are the processor's */
    const struct backend_cg *cg; /* NULL: vectors are the processor's */
    /* Of a backend with several devices: how many (0 and why not); one in words (SIZE_MAX: that
     * in use); which one opens operators from now on.  NULL: there is one. */
    size_t (*devices)(char *why, size_t len);
    enum status (*describe)(size_t device, struct backend_device *, struct err *);
    enum status (*use)(size_t device, struct err *);
};
const struct backend_ops *backend_cpu(void);
/* The CPU level in force: "portable", "avx2", "avx512" or "amx"; cpu_force_level before the first
 * use. */
const char *cpu_level(void);
const char *cpu_blas(void); /* the library of dense products: name, core type, threads */
enum status cpu_force_level(const char *level, struct err *err);

#endif
