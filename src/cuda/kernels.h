/* cuda/kernels.h -- arguments of the device kernels: plain data, by value.  Pointers are to device
 * memory. */
#ifndef GPDESK_CUDA_KERNELS_H
#define GPDESK_CUDA_KERNELS_H

#include "cuda/arith.h"

/* Steps. */

/* One step of a feature map (fm_op in featmap.h) with its hyperparameters put in. */
struct dev_step {
    int op;        /* enum fm_op */
    int row;       /* of signs, scales, permutations; where in the table of 1/l, -1: x itself */
    int first, count; /* inputs that begin a kernel: of a row; FM_APPEND: count, where it goes */
    double value;  /* FM_CIRCLE: turns per unit; FM_APPEND, FM_RELU: the factor */
};
struct dev_term {
    int d, D, nb, nsteps;
    int paired, phase;    /* columns are pairs; the steps (after FM_SUM) have an FM_PHASE */
    int copied;           /* FM_COPY 1, FM_ONE 2: no blocks; else 0 */
    int first;            /* in a row: of what is copied; of the sequence */
    size_t mf, col0, cols;
    int width, channels, symbols, average; /* windows of a sequence; width 0: none */
    int nsum, sum_paired, sum_phase; /* their steps, FM_SUM too; are pairs; have an FM_PHASE */
    const struct dev_step *steps;
    const double *inv;
    const int8_t *signs;  /* rows of nb D */
    const double *scale;
    const uint32_t *perm;
    const double *filter; /* FM_DENSE: d rows of nb D */
};
/* Where features go: rows of ld, times `out` and the row's factor (NULL: 1); or the layout of
 * sweeps, neither; FORM_F16: rows of ld in half precision, neither. */
enum dev_form { FORM_F32, FORM_F64, FORM_SWEEP32, FORM_SWEEP16, FORM_F16 };
struct dev_out {
    void *z;
    enum dev_form form;
    size_t ld;
    struct sweep_shape shape;
    double out;
    const double *factor; /* of row 0 of z */
};
struct steps_args {
    struct dev_term term;
    const void *x;        /* rows of d inputs, of this tile: double where x64, else float */
    int x64;
    size_t ldx, rows;
    int wide;             /* double arithmetic */
    int per;              /* rows of one block */
    struct dev_out to;
    void *scratch; /* in place of shared memory, so much for each block; NULL: that is enough */
    size_t scratch_bytes;
};

/* The way back (gradients_real.h): from numbers B for every row and column to sums over rows. */
enum { BACK_LINKS = 48 };
struct dev_link { int q0, q1; }; /* steps, from the one that begins to the one that ends it */
struct back_args {
    struct steps_args s;         /* to: out and factor alone */
    const void *B;               /* rows of ldb: double where b64, else float */
    int b64;
    size_t ldb;
    int links, inner;            /* links; of them within the sum over windows, which come first */
    struct dev_link link[BACK_LINKS];
    size_t slots;                /* 2 D for each link, then D (copied columns: cols) */
    double *part;                /* of each block of the grid: slots, added to */
};

/* out[i] = sum of slot i over all blocks. */
struct back_sum_args { size_t blocks, slots; const double *part; double *out; };

/* Dense projections (project.h). */

enum { PROJECT_THREADS = 256, PROJECT_MOST = 128 }; /* inputs */
struct project_args {
    const void *x;          /* rows of ldx, as in steps_args */
    int x64, first, d;
    size_t ldx, rows;
    const double *inv;      /* d */
    const uint32_t
        *W; /* 256 words for 16 frequencies and 16 inputs; ks of these for 16 frequencies */
    const float *scale;     /* of each frequency, to turns; a multiple of 32 of them */
    int ks, per;            /* 2, 4, 6 or 8; sixteens of frequencies of one block */
    size_t mf, col0;
    struct dev_out to;
};

/* Sweeps. */

enum sweep_source { FROM_HALF, FROM_FLOAT, FROM_CHAIN };
/* Inputs as the fused loop reads them: rows of D numbers (a power of two), divided by the
 * lengthscales, zeros at their end.  16 bytes a load, and no question where a row ends: some 20
 * instructions a frequency less. */
struct pad_args {
    const float *x;
    size_t ldx, rows;
    int first, d, D, bits;
    const float *inv;
    float *to;
};

/* The plain chain of a single term: such rows, three times signs and transform, scale, sines;
 * thread t of slice s has the 16 frequencies from 16 (s threads + t) on. */
struct sweep_chain {
    const float *x;        /* rows of D */
    const uint32_t *signs; /* two for each thread of all slices: 3 x 16 bits, set: minus */
    const float *scale;    /* 16 for each thread of all slices: to turns */
    int D;
};
struct sweep_args {
    struct sweep_shape shape;
    const void *z;         /* rows in the layout, or NULL (FROM_CHAIN) */
    struct sweep_chain chain;
    size_t row0, rows;     /* of z and x the first one is row0 of the data */
    size_t n;              /* stride of V and T */
    int slice0;            /* the slice of a cluster's first block */
    int clusters;
    int up;                /* t = Z P (P), else t = V */
    int down;              /* W += Z't */
    int add;               /* T += t, not T = t */
    int square;            /* row factors apply twice: Z'S S Z */
    int keep;              /* FROM_CHAIN: writes the features made, in half precision, to z_out */
    const float *P;        /* K vectors in the layout (width 4) */
    const double *V;       /* K vectors of n, or NULL */
    double *T;             /* likewise, or NULL */
    const double *factor;  /* n, or NULL */
    double *part;          /* clusters x K x a row of the layout (width 4): added to */
    uint16_t *z_out;
};
/* Sums of the clusters, in order: W[k][col] += or = sum * out[col]. */
struct merge_args {
    struct sweep_shape shape;
    int clusters, K;
    size_t M;
    const double *part, *out;
    double *W;             /* K vectors of M */
};

/* P, K vectors of M, as the layout has it (width 4), times the columns' factors. */
struct layout_args {
    struct sweep_shape shape;
    int K;
    size_t M;
    const double *P, *out;
    float *to;
};

/* A sum Z^'Z^ as the preconditioner wants it: A_ij = row_i row_j A_ij (row NULL: as it is), its
 * diagonal (1 + relative) times that, and lam2 more; lower triangle. */
struct gram_args { size_t M; float *A; const double *row; float relative; double lam2; };

/* Exact kernels (radial.h). */

enum {
    RADIAL_ROWS = 64,
    RADIAL_DEPTH = 16,
    RADIAL_TABLE = 1024,
    RADIAL_MOST = 4,
    RADIAL_FACTORS = 8
};
struct radial_args {
    size_t n, m;                 /* columns: rows of X; rows: of Y */
    const float *X, *Y;          /* d numbers each */
    int d, factors, chunks, K;   /* chunks of columns; vectors */
    const float *inv, *table;    /* as struct backend_radial has them */
    int begins[RADIAL_FACTORS], ends[RADIAL_FACTORS]; /* a product */
    int from[RADIAL_FACTORS], to[RADIAL_FACTORS];     /* inputs that a factor reads lie there */
    float weight[RADIAL_FACTORS];
    const double *V;             /* K vectors of n */
    double *part;                /* chunks x K x m */
};

/* Conjugate gradients. */

/* As cg_slot and cg_step in backend.h; event CG_SKIPPED: a step after one with an event. */
enum { CG_SKIPPED = 4, CG_THREADS = 1024 };
struct dev_cg_slot { double rz, goal; int fresh; };
struct dev_cg_step { double rz, beta, alpha, rel; int event; };
struct cg_args {
    size_t M;
    int active;
    int *step;                   /* of each slot: which one of the run this is, counted there */
    double lam2;
    const struct dev_cg_slot *slot;
    struct dev_cg_step *history; /* rows of `active` */
    double *X, *R, *P;           /* of each slot M */
    const double *Z, *W;         /* P^-1 R, Z'Z P */
};

#endif
