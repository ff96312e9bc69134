/* cuda/kernels.h -- arguments of the device kernels: plain data, passed by value. Pointers refer to
 * device memory. */
#ifndef GPDESK_CUDA_KERNELS_H
#define GPDESK_CUDA_KERNELS_H

#include "cuda/arith.h"

/* Steps. */

/* One step of a feature map (fm_op in featmap.h) with the values of its hyperparameters. */
struct dev_step {
    int op;        /* enum fm_op */
    int row;       /* row of signs, scales or permutations; row in the table of 1/l, -1: x itself */
    /* Inputs where a kernel begins: those of a row; FM_APPEND: their number, and where it goes. */
    int first, count;
    double value;  /* FM_CIRCLE: turns per unit; FM_APPEND, FM_RELU: the factor */
};
struct dev_term {
    int d, D, nb, nsteps;
    int paired, phase;    /* columns are pairs; the steps (after FM_SUM) contain an FM_PHASE */
    int copied;           /* 1 for FM_COPY, 2 for FM_ONE, which have no blocks; otherwise 0 */
    int first;            /* index in a row: of the copied part; of the sequence or, if it has */
    int parts;            /* several (row_layout.h), of the number that says where it begins */
    size_t mf, col0, cols;
    int width, channels, symbols, average; /* windows of a sequence; width 0: none */
    /* The number of their steps, including FM_SUM; whether they are pairs, and have an FM_PHASE. */
    int nsum, sum_paired, sum_phase;
    const struct dev_step *steps;
    const double *inv;
    const int8_t *signs;  /* rows of nb D numbers */
    const double *scale;
    const uint32_t *perm;
    const double *filter; /* FM_DENSE: d rows of nb D numbers */
};
/* Where features go: rows with stride ld, multiplied by `out` and the factor of the row (NULL: 1);
 * the layout of sweeps without either; or FORM_F16, rows with stride ld in half precision without
 * either. */
enum dev_form { FORM_F32, FORM_F64, FORM_SWEEP32, FORM_SWEEP16, FORM_F16 };
struct dev_out {
    void *z;
    enum dev_form form;
    size_t ld;
    struct sweep_shape shape;
    double out;
    const double *factor; /* for row 0 of z */
};
struct steps_args {
    struct dev_term term;
    const void *x;        /* rows of d inputs of this tile: double if x64, otherwise float */
    int x64;
    size_t ldx, rows;
    int wide;             /* use double arithmetic */
    int per;              /* rows for each block */
    struct dev_out to;
    /* Used instead of shared memory, with a part for each block; NULL: shared memory is large
     * enough. */
    void *scratch;
    size_t scratch_bytes;
};

/* Going backwards (gradients_real.h): from numbers B for every row and column to sums over rows. */
enum { BACK_LINKS = 48 };
struct dev_link { int q0, q1; }; /* the steps from the first to the last of a link */
struct back_args {
    struct steps_args s;         /* of `to`, only out and factor are used */
    const void *B;               /* rows with stride ldb: double if b64, otherwise float */
    int b64;
    size_t ldb;
    int links, inner;  /* number of links; of those inside the sum over windows, which come first */
    struct dev_link link[BACK_LINKS];
    size_t slots;                /* 2 D for each link, then D (for copied columns: cols) */
    double *part;                /* slots for each block of the grid, added to */
};

/* out[i] = the sum of slot i over all blocks. */
struct back_sum_args { size_t blocks, slots; const double *part; double *out; };

/* Dense projections (project.h). */

enum { PROJECT_THREADS = 256, PROJECT_MOST = 128 }; /* inputs */
struct project_args {
    const void *x;          /* rows with stride ldx, as in steps_args */
    int x64, first, d;
    size_t ldx, rows;
    const double *inv;      /* d numbers */
    const uint32_t
        *W; /* 256 words for 16 frequencies and 16 inputs; ks of these for each 16 frequencies */
    const float *scale;     /* for each frequency, to turns; their number is a multiple of 32 */
    int ks, per;            /* 2, 4, 6 or 8; how many groups of 16 frequencies a block handles */
    size_t mf, col0;
    struct dev_out to;
};

/* Sweeps. */

enum sweep_source { FROM_HALF, FROM_FLOAT, FROM_CHAIN };
/* Inputs as the fused loop reads them: rows of D numbers (a power of two), divided by the
 * lengthscales, padded with zeros. Loads are 16 bytes wide and need no check for the end of a row,
 * which saves about 20 instructions per frequency. */
struct pad_args {
    const float *x;
    size_t ldx, rows;
    int first, d, D, bits;
    const float *inv;
    float *to;
};

/* The plain chain of a single term: such rows, then three times signs and transform, scales, sines.
 * Thread t of slice s has the 16 frequencies from 16 (s threads + t) on. */
struct sweep_chain {
    const float *x;        /* rows of D numbers */
    /* Two for each thread of all slices: 3 x 16 bits; a set bit means minus. */
    const uint32_t *signs;
    const float *scale;    /* 16 for each thread of all slices: factor to turns */
    int D;
};
struct sweep_args {
    struct sweep_shape shape;
    const void *z;         /* rows in the layout of sweeps, or NULL (FROM_CHAIN) */
    struct sweep_chain chain;
    size_t row0, rows;     /* the first row of z and x is row row0 of the data */
    size_t n;              /* stride of V and T */
    int slice0;            /* slice of the first block of a cluster */
    int clusters;
    int up;                /* t = Z P, otherwise t = V */
    int down;              /* W += Z't */
    int add;               /* T += t, otherwise T = t */
    int square;            /* factors of rows apply twice: Z'S S Z */
    int keep;              /* FROM_CHAIN: also writes the features to z_out in half precision */
    const float *P;        /* K vectors in the layout of sweeps (width 4) */
    const double *V;       /* K vectors of n, or NULL */
    double *T;             /* K vectors of n, or NULL */
    const double *factor;  /* n numbers, or NULL */
    double *part;          /* clusters x K x a row of the layout (width 4): added to */
    uint16_t *z_out;
};
/* Sums over the clusters, in order: W[k][col] += or = sum * out[col]. */
struct merge_args {
    struct sweep_shape shape;
    int clusters, K;
    size_t M;
    const double *part, *out;
    double *W;             /* K vectors of M */
};

/* Puts P, K vectors of M, into the layout of sweeps (width 4), multiplied by the factors of the
 * columns. */
struct layout_args {
    struct sweep_shape shape;
    int K;
    size_t M;
    const double *P, *out;
    float *to;
};

/* Prepares a sum Z^'Z^ for the preconditioner: A_ij = row_i row_j A_ij (row NULL: unchanged); the
 * diagonal is multiplied by 1 + relative, and lam2 is added. Only the lower triangle. */
struct gram_args { size_t M; float *A; const double *row; float relative; double lam2; };

/* Exact kernels (radial.h). */

enum {
    RADIAL_ROWS = 64,
    RADIAL_DEPTH = 16,
    RADIAL_TABLE = 1024,
    RADIAL_MOST = 4,
    RADIAL_FACTORS = 8
};
enum { RADIAL_CUBICS, RADIAL_GAUSS, RADIAL_DECAY, RADIAL_POWER }; /* enum backend_form */
struct radial_args {
    size_t n, m;                 /* columns: rows of X; rows: rows of Y */
    const float *X, *Y;          /* d numbers for each row */
    const uint32_t *at;          /* row i is row at[i] of X; NULL: row i of Y */
    int d, factors, chunks, K;   /* chunks of columns; number of vectors */
    const float *inv, *table;    /* as in struct backend_radial */
    /* True for the first and last factor of a product. */
    int begins[RADIAL_FACTORS], ends[RADIAL_FACTORS];
    int from[RADIAL_FACTORS], to[RADIAL_FACTORS];     /* the range of inputs that a factor reads */
    float weight[RADIAL_FACTORS];
    int form[RADIAL_FACTORS];                         /* enum backend_form */
    float p1[RADIAL_FACTORS], p2[RADIAL_FACTORS];
    const double *V;             /* K vectors of n */
    double *part;                /* chunks x K x m */
};

/* Values of a kernel at rows at[] of X and all rows: to[i n + j], i < m. */
struct values_args { struct radial_args r; float *to; };

/* Products with many vectors (many.h). */

enum {
    MANY_THREADS = 256,
    MANY_ROWS = 128,   /* of a block: 16 of each warp */
    MANY_COLS = 32,    /* of a tile */
    MANY_MOST = 72,    /* vectors: a target and 64 samples in one launch */
    MANY_FLUSH = 4,    /* tiles whose sums are single precision */
    MANY_INPUTS = 128, /* that matrix units take */
    MANY_DEPTH = 16    /* inputs of a step where they do not */
};
/* Numbers of rows over their lengthscales as h + l in units of 1/unit (many_split): h'h and
 * 2 h'l + l'l. */
struct many_norms { float *high, *low; };
struct many_args {
    struct radial_args r;        /* V is not used; K is at most MANY_MOST */
    const uint32_t *V;           /* vectors in halves (pack_args) */
    const double *back;          /* K factors of their sums */
    float up;                    /* a power of two: values times this are made halves */
    int ks;                      /* sixteens of inputs on matrix units: 2, 4 or 8; 0: none */
    float unit;
    const uint32_t *X16;         /* all rows in halves (ready_args) */
    struct many_norms cols, rows;
};
/* Rows of x (n x d) for matrix units: norms, and (to NULL: no more) their halves in the order in
 * which many.h takes them as columns: 128 words for 8 rows and 16 inputs. */
struct ready_args {
    size_t n;
    const float *x, *inv;
    int d, from, inputs, ks;
    float unit;
    struct many_norms norms;
    uint32_t *to;
};
/* K vectors of n in halves, hi + lo, in the order in which many.h takes them: 128 words for 16 rows
 * and 8 vectors, of which there are `eights`.  What is packed is up[c] row[j] (V[c n + j] - lever
 * power[t - last[j]] v[c n + j]) (v NULL: V alone; row NULL: 1).  A coordinate that stands still,
 * t - last[j] > powers, is left as it is unless `all`. */
struct pack_args {
    size_t n;
    int K, eights, all;
    const double *V, *v, *row, *up;
    double lever;
    const double *power;
    uint32_t powers, t;
    const uint32_t *last;
    uint32_t *to;
};
/* up[c]: the power of two that brings the largest |row V[c]| of K vectors to 16; back[c]: the
 * reciprocal of up[c] times `other`. */
struct level_args { size_t n; const double *V, *row; double other; double *up, *back; };

/* A step of dual descent (descent.h). */

enum { DESCENT_THREADS = 512 };
#define DESCENT_LAST 0xffffffffu
/* An entry of a batch: its coordinate; the steps since it was last met, this one counted; the next
 * entry of the same coordinate (DESCENT_LAST: none); whether it is the first of these. */
struct descent_entry { uint32_t at, gap, next, first; };
struct descent_args {
    size_t n, m;
    int k, chunks, coasts;
    const double *part;                /* chunks x k x m: parts of rows of K u */
    const struct descent_entry *batch; /* m */
    double lam2, length, rho, newest;
    const double *row, *B;             /* n factors or NULL; k vectors of n */
    const double *coast;               /* 4 numbers for each gap below `coasts` (backend_path) */
    double *w, *v, *a;                 /* k vectors of n; a may be NULL */
    uint32_t *last, t;                 /* n; the number of this step */
    double *E, *square;                /* k x m; k */
};

/* Learned maps (affine.h). */

/* One layer over n rows of `places` places, the rows x cols pixels of an image (rows 0: one), each
 * of which makes `out` numbers of `planes` in each of its 3 x 3 neighbours.  Of b and what follows
 * there are `out` numbers, or NULL. */
enum { AFFINE_THREADS = 256 };
enum affine_part { AFFINE_PATCHES, AFFINE_ROWS, AFFINE_POOL };
struct affine_args {
    size_t n;
    int out, places, rows, cols, planes;
    int standardise, activate, unit;
    double eps;                  /* added to variances */
    const float *b, *gain, *shift, *mean, *rstd;
    const float *x;
    float *to;
};

/* Conjugate gradients. */

/* As cg_slot and cg_step in backend.h. CG_SKIPPED: a step after one with an event. */
enum { CG_SKIPPED = 4, CG_THREADS = 1024 };
struct dev_cg_slot { double rz, goal; int fresh; };
struct dev_cg_step { double rz, beta, alpha, rel; int event; };
struct cg_args {
    size_t M;
    int active;
    int *step;                   /* for each slot: the number of its step in this run */
    double lam2;
    const struct dev_cg_slot *slot;
    struct dev_cg_step *history; /* rows of `active` entries */
    double *X, *R, *P;           /* M numbers for each slot */
    const double *Z, *W;         /* P^-1 R, Z'Z P */
};

#endif
