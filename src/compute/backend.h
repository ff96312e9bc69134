/* compute/backend.h -- the interface of devices.  src/cuda includes only this and featmap.h of
 * compute.
 *
 * A backend opens a feature operator: a drawn feature map over rows of data, Z (n x M).  It
 * interprets the steps of the map and knows no kernel by name.  Fits spend most of their time in
 * `pass`, W = Z'(Z P). */
#ifndef GPDESK_BACKEND_H
#define GPDESK_BACKEND_H

#include "base/status.h"
#include "compute/ctl.h"
#include "compute/features/featmap.h"
#include "compute/pool.h"
#include "compute/features/source.h"

#include <stdbool.h>
#include <stddef.h>

#define BACKEND_ABI   19 /* 19: `range` */
#define BACKEND_ENTRY "gpdesk_backend"

struct share; /* compute/share.h */
enum precision { PREC_FLOAT, PREC_DOUBLE };        /* of features inside a tile; sums are double */
/* How features are stored with PLAN_STORE. */
enum storing { STORE_AUTO, STORE_FLOAT32, STORE_FLOAT16, STORE_BITS };
enum plan { PLAN_AUTO, PLAN_STORE, PLAN_REGENERATE, PLAN_DIRECT };

struct fop_opts {
    struct pool *pool;
    enum precision precision;
    bool store;        /* keep Z in memory (n x M in the precision) instead of making it anew */
    /* Stored features are rounded to float16 (PREC_FLOAT only): `pass` is then (Z + E)'(Z + E) with
     * |E| bounded by kernel_half_error.  Everything else, pass_exact too, makes Z anew. */
    bool half;
    /* n factors (the roots of the weights of rows) that multiply the rows of Z and of dZ
     * everywhere; NULL: ones.  Borrowed; they must outlive the operator. */
    const double *row_scale;
    /* The rows of the source are those of one process among several (share_fits): sums
     * over rows are then over the rows of all of them, by collective calls.  Vectors of n have the
     * rows of this process, while fop_chosen and fop_groups count the rows of all.  For backends
     * with `shares`.  NULL: all rows are here.  Borrowed. */
    const struct share *share;
    /* What stops the opening, and the functions without a ctl of their own where they can be
     * stopped; its `cancel` must outlive the operator.  NULL: nothing does. */
    const struct ctl *ctl;
    /* pool_run and pool_threads, for a backend in a module of its own; fop_new sets them. */
    void (*run)(struct pool *, size_t tasks, pool_fn *fn, void *ctx);
    size_t threads;
};

/* The name and memory of a device. */
struct backend_device {
    char name[96];      /* "NVIDIA H200" */
    size_t memory, free; /* bytes; free: at the moment */
};

/* P^-1 of a preconditioner: diag(d) (M numbers); or I + U diag(c) U' (U: M x L, column-major); or
 * with `factor` the factor that backend_ops.factor left on the device; or, with none of these,
 * I. */
struct backend_inverse { const double *d, *U, *c; size_t L; bool factor; };
/* A column before its next step: r.P^-1 r of the last step (fresh: start a new direction), and the
 * residual |r| at which the caller wants to decide. */
struct cg_slot { double rz, goal; bool fresh; };
/* One step of one column (share/doc/methods.md 9.1), and the event that it ended with. */
enum cg_event { CG_NONE, CG_GOAL, CG_BAD_RZ, CG_BAD_PQ };
struct cg_step { double rz, beta, alpha, rel; enum cg_event event; };
/* Conjugate gradients for Z'Z + lam2 I with vectors and scalars on the device of the operator.  It
 * runs the recursion only; solvers/cg.c makes the decisions.  k slots, each with X, R and a
 * direction. */
struct backend_cg {
    void *(*open)(void *state, size_t k, double lam2, const struct backend_inverse *, struct err *);
    void (*close)(void *cg);
    /* Copies X and R (M each; NULL: not this one) to a slot, and back. */
    enum status (*put)(void *cg, size_t slot, const double *X, const double *R, struct err *);
    enum status (*get)(void *cg, size_t slot, double *X, double *R, struct err *);
    enum status (*swap)(void *cg, size_t i, size_t j, struct err *);
    /* Takes at most m steps of the first `active` slots and records step[i * active + slot].  It
     * ends after *done steps, at the first event of any slot, on ctl, or to report progress. */
    enum status (*run)(void *cg, size_t active, size_t m, const struct cg_slot *,
                       struct cg_step *step, size_t *done, const struct ctl *, struct err *);
};

/* Factorisations of matrices in host memory, with the interfaces of blas.h (column-major, lower
 * triangle).  After a failure other than NOT_PD and CANCELLED the matrix is unchanged, and the CPU
 * does the work. */
struct backend_dense {
    size_t (*least)(void); /* the size from which it pays */
    enum status (*potrf)(size_t n, double *A, size_t lda, const struct ctl *, size_t *pivot,
                         struct err *);
    enum status (*potri)(size_t n, double *A, size_t lda, struct err *);
    enum status (*tridiag)(size_t n, double *A, size_t lda, double *d, double *e, size_t k,
                           double *b, size_t ldb, struct err *);
    enum status (*eigen)(size_t n, double *A, size_t lda, double *w, bool vectors, struct err *);
    /* Cholesky factors of A + shift I for one shift after another, with A (n x n, lower) and k
     * vectors b kept on the device.  keep NULL: not available.  pays: true when that many factors
     * take less time than a tridiagonal form, by operation count.  at: diag (n), the diagonal of
     * the factor; quad (k), b'(A + shift I)^-1 b; the trace of the inverse (NULL: not wanted).
     * NOT_PD: no factor at this shift. */
    bool (*pays)(size_t n, size_t factors);
    void *(*keep)(size_t n, const double *A, size_t k, const double *b, struct err *);
    void (*drop)(void *kept);
    enum status (*at)(void *kept, double shift, double *diag, double *quad, double *trace,
                      const struct ctl *, struct err *);
};

/* Stochastic dual descent for the system S K S + lam2 I (n x n; S has the n numbers `row` on its
 * diagonal, NULL: I) with iterates and right-hand sides B (k vectors of n) on the device.  The
 * iterate is in the lazy form of share/doc/methods.md 9.11 and 9.12: w, v and the sum of an average
 * of coordinate i stand where step last[i] has left them, and m steps that leave it alone take the
 * sum to f1 sum + f2 w + f3 v and v to f0 v, with four numbers f of `coast` for each m < coasts; f0
 * of the last is below 1e-14, and beyond it a coordinate stands still.
 * newest: the weight of the newest iterate in the sum.  batch: rows of a step. */
struct backend_path {
    size_t k, batch, coasts;
    double rho, newest, lam2;
    bool averaged;
    const double *coast, *row, *B;
};
struct backend_descent {
    /* For an operator of backend_exact.open, which must outlive it. */
    void *(*open)(void *exact, const struct backend_path *, struct err *);
    void (*close)(void *);
    /* Copies the iterate after step t there and back: w, v, and a (NULL without an average) have
     * the k numbers of a coordinate beside each other. */
    enum status (*put)(void *, size_t t, const double *w, const double *v, const double *a,
                       const size_t *last, struct err *);
    enum status (*get)(void *, double *w, double *v, double *a, size_t *last, struct err *);
    /* Takes at most `steps` steps, as many as one look at ctl allows, without waiting in between:
     * the batch of step s is at[s batch ..]; square[s k + c] receives the sum of the squared errors
     * of its rows for vector c. */
    enum status (*run)(void *, size_t steps, const size_t *at, double length, double *square,
                       size_t *done, const struct ctl *, struct err *);
};

/* A sum of products of kernels that are functions of a distance r.  Factor f multiplies the d
 * inputs by inv[f d + i] (0: it does not read input i).  table[f] has its values: cubics
 * c0 + t (c1 + t (c2 + t c3)) on BACKEND_TABLE equal parts of v = r / (1 + r), with t from 0 to 1
 * in each.  weight[f]: the weight of the product that begins with f; 0: f multiplies the factor
 * before it.  closed[f]: its closed form. */
enum { BACKEND_TABLE = 1024 };
/* With s the square of scale r, a = sqrt(s): 2^-s, (1 + p1 a + p2 a^2) 2^-a, (1 + s)^-p1; NONE:
 * take the table.  slope: the largest derivative in s; 0: it has none at s = 0. */
enum backend_form { BACKEND_NONE, BACKEND_GAUSS, BACKEND_DECAY, BACKEND_POWER };
struct backend_closed { enum backend_form form; double scale, p1, p2, slope; };
struct backend_radial {
    size_t d, factors;
    const float *inv, *table, *weight;
    const struct backend_closed *closed;
};
/* Products with such a kernel matrix over rows X (n x d) in single precision; it is not stored. */
struct backend_exact {
    void *(*open)(const struct backend_radial *, size_t n, const double *X, struct err *);
    void (*close)(void *);
    /* Keeps k vectors of n on the device: products with V NULL and this k take them. */
    enum status (*hold)(void *, size_t k, const double *V, struct err *);
    /* W[c] = K(Y, X) V[c], c < k: Y is m x d (NULL: X itself), V k vectors of n, W k vectors of
     * m. */
    enum status (*apply)(void *, size_t m, const double *Y, size_t k, const double *V, double *W,
                         const struct ctl *, struct err *);
    /* The same for rows at[0] .. at[m - 1] of X, which may repeat. */
    enum status (*rows)(void *, size_t m, const size_t *at, size_t k, const double *V, double *W,
                        const struct ctl *, struct err *);
    /* C (n x m) = columns at[0] .. at[m - 1] of K. */
    enum status (*columns)(void *, size_t m, const size_t *at, double *C, const struct ctl *,
                           struct err *);
    const struct backend_descent *descent; /* NULL: descents stay on the CPU */
};

/* The map of rows to learned features (kernels/net.h): `layer` has its depth + 1 layers, w its
 * `count` weights.  Its affine steps are products of matrices in single precision. */
struct backend_net {
    const struct net_shape *shape;
    const struct net_layer *layer;
    const float *w;
    size_t count;
};
struct backend_nets {
    void *(*open)(const struct backend_net *, struct err *); /* copies the weights */
    void (*close)(void *);
    /* f (n rows of out) <- the features of inputs x (n rows), each row contiguous; callable from
     * any pool task. */
    enum status (*rows)(void *, size_t n, const float *x, float *f, struct err *);
};

/* Requests of compute/features/fop_rows.h, and blocks of rows: `per` blocks at[..] of `rows`
 * neighbours each. */
struct fop_factors;
struct fop_groups;
struct fop_softmax;
struct fop_chosen { size_t rows, per; const size_t *at; };

/* Of a backend of several processes, since they were started: how many there are, the seconds that
 * they worked, all together, and that sums took. */
struct backend_spent { size_t ranks; double work, sums; };

/* NULL members: `has_dtile` to `grad` are done by the CPU backend, `gram` to `blocks` by blocks
 * of rows from the backend's tiles.  A backend that has all of these is asked for tiles of
 * samples of at most 4096 rows only: the rows can be where the caller cannot read them.  BACKEND
 * from any of them means that the device failed; the operator then continues on the CPU. */
struct backend_ops {
    unsigned abi;                                     /* BACKEND_ABI at build time */
    const char *name, *summary;                       /* "cpu", "AVX-512, 2 threads" */
    size_t least; /* operators of fewer rows are left to the CPU backend */
    bool shares;  /* takes fop_opts.share */
    int (*probe)(char *why, size_t len);              /* score; 0: not usable here, and why */
    /* False for a map that has steps without loops here; the CPU then takes it.  NULL: serves
     * all. */
    bool (*serves)(const struct featmap *);
    void *(*open)(const struct featmap *, const struct source *, const struct fop_opts *,
                  struct err *);
    void (*close)(void *state);
    /* New hyperparameters (natural scale); drops a stored Z, which is filled at the next use. */
    enum status (*set)(void *state, const double *hp, struct err *);
    /* W[c] = Z'(Z P[c]), c < k.  P, W: k vectors of M doubles each, contiguous; no overlap. */
    enum status (*pass)(void *state, size_t k, const double *P, double *W, const struct ctl *,
                        struct err *);
    /* `pass` with unrounded features, when `half` stores rounded ones; NULL: pass is exact. */
    enum status (*pass_exact)(void *state, size_t k, const double *P, double *W, const struct ctl *,
                              struct err *);
    /* Drops the rounded features, so that they are made anew in each pass.  NULL: there are
     * none. */
    void (*unhalve)(void *state);
    /* T[c] = Z P[c] (k vectors of n), and W[c] = Z' V[c] (V: k vectors of n). */
    enum status (*zp)(void *state, size_t k, const double *P, double *T, const struct ctl *,
                      struct err *);
    enum status (*ztv)(void *state, size_t k, const double *V, double *W, const struct ctl *,
                       struct err *);
    /* From now on pass, pass_exact, zp, ztv, gram, sketch and back are of rows r0..r1-1 alone,
     * while vectors of n keep their places.  What they sum to depends on these rows and on the
     * device, but on no others, and not on what was asked before.  NULL: not available. */
    void (*range)(void *state, size_t r0, size_t r1);
    /* Rows r0..r1-1 of Z, (r1-r0) x ld; callable from any pool task. */
    enum status (*tile)(void *state, size_t r0, size_t r1, float *z, size_t ld, struct err *);
    enum status (*tile64)(void *state, size_t r0, size_t r1, double *z, size_t ld, struct err *);
    /* Rows r0..r1-1 of dZ / dlog hp[i] in double.  UNSUPPORTED where has_dtile is false (ard,
     * products and others): use grad. */
    bool (*has_dtile)(void *state);
    enum status (*dtile)(void *state, size_t i, size_t r0, size_t r1, double *dz, size_t ld,
                         struct err *);
    /* dtile in float32, for the fast gradient.  NULL: use dtile. */
    enum status (*dtile32)(void *state, size_t i, size_t r0, size_t r1, float *dz, size_t ld,
                           struct err *);
    /* grad[i] += sum over rows r0..r1-1 and columns of B o dZ / dlog hp[i], for every i, from the
     * rows of Z and of B (both (r1-r0) x ld): one transposed transform, whatever the number of
     * hyperparameters (share/doc/methods.md 3.13).  Callable from any pool task. */
    enum status (*grad)(void *state, size_t r0, size_t r1, const double *Z, const double *B,
                        size_t ld, double *grad, struct err *);
    /* grad[i] += sum of B o dZ / dlog hp[i] over all rows, for every i, with B = Z S + T V': S M x
     * M symmetric, both triangles (NULL: 0), T k vectors of n, V k vectors of M (6.12).  NULL, or
     * UNSUPPORTED or no room: by tiles and `grad`. */
    enum status (*back)(void *state, const double *S, size_t k, const double *T, const double *V,
                        double *grad, const struct ctl *, struct err *);
    /* As fop_gram_of (without yty) and fop_sketch in fop.h; G: M columns of ld, both triangles.
     * UNSUPPORTED from gram: by blocks of rows after all. */
    enum status (*gram)(void *state, size_t ny, const double *y, double *G, size_t ld, double *zty,
                        const struct ctl *, struct err *);
    /* rough: features may be rounded to float16, but equally in both products. */
    enum status (*sketch)(void *state, size_t L, const double *Omega, double *Y, bool rough,
                          const struct ctl *, struct err *);
    /* As the functions of the same names in fop.h and fop_rows.h; UNSUPPORTED: from tiles. */
    enum status (*dgram)(void *state, size_t ihp, double *C, const struct ctl *, struct err *);
    enum status (*diagonal)(void *state, double *diag, const struct ctl *, struct err *);
    enum status (*slope_form)(void *state, size_t ihp, const double *r, const double *w,
                              double *out, struct err *);
    enum status (*forms)(void *state, const struct fop_factors *, double *q, const struct ctl *,
                         struct err *);
    enum status (*means)(void *state, const struct fop_groups *, double *C, const struct ctl *,
                         struct err *);
    enum status (*dots)(void *state, const float *v, double *dot, double *square,
                        const struct ctl *, struct err *);
    enum status (*outer)(void *state, bool keep, double *K, const struct ctl *, struct err *);
    enum status (*outer_back)(void *state, const double *S, size_t nhp, double *grad,
                              const struct ctl *, struct err *);
    enum status (*softmax)(void *state, const struct fop_softmax *, double *sum, double *loss,
                           const struct ctl *, struct err *);
    enum status (*blocks)(void *state, const struct fop_chosen *, size_t k, const double *P,
                          double *W, struct err *);
    /* The Nystrom approximation (share/doc/methods.md 8.1 to 8.3) from a test matrix Omega (M x L),
     * which becomes U; ev (L) is filled.  After a failure other than CANCELLED the CPU may
     * succeed. */
    enum status (*nystrom)(void *state, size_t L, int passes, double *Omega, double *ev,
                           const struct ctl *, struct err *);
    /* Makes the Cholesky factor of Z'Z + lam2 I in single precision, from features that may be
     * rounded to float16, and keeps it on the device for backend_inverse.  NULL or UNSUPPORTED: not
     * available. */
    enum status (*factor)(void *state, double lam2, const struct ctl *, struct err *);
    const struct backend_dense *dense;
    const struct backend_exact *exact; /* NULL: exact kernels are computed on the CPU */
    const struct backend_cg *cg; /* NULL: vectors stay on the CPU */
    const struct backend_nets *nets; /* NULL: learned features are made on the CPU */
    /* For a backend with several devices: their number (0, and the reason); the description of one
     * (SIZE_MAX: the one in use); the choice of the one that opens operators from now on.  NULL:
     * there is one device. */
    size_t (*devices)(char *why, size_t len);
    enum status (*describe)(size_t device, struct backend_device *, struct err *);
    enum status (*use)(size_t device, struct err *);
    void (*spent)(struct backend_spent *); /* NULL: it is one process */
    /* Hands out the rows of U (M x L), for Y += U diag(c) U' Y of k vectors with the bits of
     * tall_add (compute/linalg/tall.h); it takes the place of the one before.  `seconds`: what
     * one takes here.  U NULL: drops it.  UNSUPPORTED: it does not pay.  Borrowed until then.
     * NULL: it stays here. */
    enum status (*basis)(void *state, size_t L, const double *U, double seconds, struct err *);
    enum status (*basis_add)(void *state, size_t k, const double *c, double *Y,
                             const struct ctl *, struct err *);
};
const struct backend_ops *backend_cpu(void);
/* The vector level in use: "portable", "avx2", "avx512" or "amx".  cpu_force_level must come before
 * the first use. */
const char *cpu_level(void);
const char *cpu_blas(void); /* the library of dense products: name, core type, threads */
enum status cpu_force_level(const char *level, struct err *err);

#endif
