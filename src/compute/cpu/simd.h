/* compute/cpu/simd.h -- the inner loops over features, compiled for each vector level of the CPU
 * behind one table (share/doc/methods.md 3.1, 3.2, 3.13).
 *
 * Rows live in vector lanes: a lane tile holds `lanes` rows of one term, so every butterfly of a
 * Hadamard transform is a plain vector addition.  Features are generated column by column:
 * column c of a tile of rows starts at z + c * cs (cs: rows in the tile, a multiple of lanes).
 * Numbers have the precision of the table in use (float or double); sums over rows and over blocks
 * of columns are returned as double.  Phases are kept in half turns, p / pi, so that reduction to
 * one period is exact: t - 2 rint(t / 2) has no rounding error. */
#ifndef GPDESK_SIMD_H
#define GPDESK_SIMD_H

#include "base/status.h"
#include "compute/cpu/counts.h"
#include "compute/cpu/hash_loops.h"
#include "compute/cpu/pairs.h"
#include "compute/cpu/tensor_loops.h"
#include "compute/features/featmap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIMD_LANES_MOST = 16, SIMD_RHS_MOST = 8 };

/* One term of a feature map, prepared for the loops: S H D3 H D2 H D1 x with phases in half turns
 * (scale includes 1/pi). */
struct simd_term {
    size_t d, D, dp, nb, mf; /* dp: power of two >= d; the first transform works on dp entries */
    void *signs;             /* per block: dp, D, D masks, the highest bit of a number or nothing */
    void *scale;             /* nb * D */
    double *inv;             /* d: 1/lengthscale of each input */
    bool by_row;             /* each row alone: signs are bits (simd_rows.h) */
    struct simd_term *wide;  /* heavy tails: the same in double, phases reduced before rounding */
};

/* Windows of sequences whose features are to be summed: n <= lanes of them, each given by the place
 * of its first position in a row.  Row r of `rows` receives those in lanes
 * lane[first[r]] .. lane[first[r + 1] - 1], in this order. */
struct simd_windows {
    size_t n, width, channels;
    bool symbols, derivative; /* features, or their derivatives in log l */
    const double *const *at;
    size_t rows;
    const uint32_t *first;
    const uint8_t *lane;
    double *x;   /* lanes x width * channels: scratch */
    void *turned; /* lanes x (2 D + SIMD_TURNED_PAD) numbers: scratch */
};
enum { SIMD_TURNED_PAD = 16 };
/* Dense random filters on such windows: entry i of filter j, divided by pi, is at i * ld + j, with
 * ld a multiple of SIMD_DENSE_PAD and padding after the last filter; inv: 1/lengthscale. */
struct simd_dense { size_t d, mf, ld; const void *filter; double inv; };
enum { SIMD_DENSE_BLOCK = 128, SIMD_DENSE_PAD = 64 };

/* Z P of four blocks of jn frequencies each (16 or more, a power of two) in four places, which
 * memory serves faster than one: kept columns z, right-hand sides P, sums of each row in the
 * precision of the columns.  ahead: the columns that will be needed next, which are prefetched.
 * down: columns for Z't, added to w, in `pieces` places (0, 4 or 8) of 2 jn each. */
enum { SIMD_FLOW_PIECES = 8 };
struct simd_flow {
    size_t jn, pieces;
    const void *z[4], *P[4], *ahead[4], *down[SIMD_FLOW_PIECES];
    double *w[SIMD_FLOW_PIECES];
    void *sums[4];
};

/* Rows of inputs: n of them (at most `lanes` where a lane tile is made), row r at x + r * ldx. */
struct simd_inputs {
    const double *x;
    size_t ldx, n;
};

/* Z P: right-hand sides P with their sums t += Z P, k vectors at distances ldp and ldt, or k groups
 * of `lanes` vectors.  k 0: none. */
struct simd_up {
    size_t k;
    const void *P;
    size_t ldp;
    double *t;
    size_t ldt;
};

/* Z't: vectors t with their sums w += Z't, k vectors, those of w ldw apart, or k groups. */
struct simd_down {
    size_t k;
    const void *t;
    double *w;
    size_t ldw;
};

/* Tiles whose sums are taken together: their number, and the distance between them in z and in
 * t. */
struct simd_stack { size_t tiles, zstep, tstep; };

/* Loops over one precision. */
struct simd_real {
    size_t lanes, size; /* numbers in a vector; bytes of one */
    /* Fills a term for this table; NOMEM leaves nothing to free.  Free with simd_term_free. */
    enum status (*prepare)(struct simd_term *, const struct fm_term *, struct err *);
    /* Bytes of scratch for one worker. */
    size_t (*scratch)(const struct simd_term *);
    /* Unscaled cos, sin columns (no factor sqrt(1/mf)) of a lane tile of rows of d inputs.  z may
     * be NULL: not kept.  For each right-hand side P[c] (2 mf numbers) of `up` also
     * t[c * ldt + lane] += z . P[c]. */
    void (*gen)(const struct simd_term *, const struct simd_inputs *, void *z, size_t cs,
                const struct simd_up *up, void *scratch);
    /* The sums of `gen`, with the same bits, from kept columns of `rows` rows (a multiple of
     * lanes). */
    void (*dot)(const struct simd_term *, const void *z, size_t cs, size_t rows,
                const struct simd_up *);
    /* The sums of `dot` for four blocks at once and one vector, a few columns at a time,
     * interleaved with what `axpy` adds to w for the columns of `down`. */
    void (*flow)(const struct simd_flow *f, size_t cs, size_t rows, const void *t);
    /* w[c * ldw + j] += sum over rows of z_j t[c]; t: k vectors of cs numbers.  ahead: columns that
     * will be read next, fetched into the cache meanwhile; or NULL. */
    void (*axpy)(size_t cols, const void *z, size_t cs, size_t rows, const struct simd_down *,
                 const void *ahead);
    /* gen, dot and axpy for many right-hand sides in groups of `lanes`.  Layouts: P[g * ldp +
     * column
     * * lanes + i]; t[(g * lanes + i) * ldt + row] as output, t[(g * cs + row) * lanes + i] as
     * input; w[g * ldw + column * lanes + i]. */
    void (*gen_block)(const struct simd_term *, const struct simd_inputs *, void *z, size_t cs,
                      const struct simd_up *groups, void *scratch);
    void (*dot_block)(const struct simd_term *, const void *z, size_t cs, size_t rows,
                      const struct simd_up *groups);
    /* axpy for groups sums over a stack of tiles before it adds to w. */
    void (*axpy_block)(size_t cols, const void *z, size_t cs, size_t rows, struct simd_stack,
                       const struct simd_down *groups);
    /* As axpy, for a stack of tiles (a stack of one: the same bits). */
    void (*axpy_stack)(size_t cols, const void *z, size_t cs, size_t rows, struct simd_stack,
                       const struct simd_down *);
    /* The columns of at most `lanes` rows, row-major, times c; with dz also (alone if z is NULL)
     * dz/dlog l. */
    void (*rows)(const struct simd_term *, const struct simd_inputs *, double c, void *z, void *dz,
                 size_t ldz, void *scratch);
    /* sum (row-major, lds apart) += unscaled columns of windows, whose features are those of a row
     * of width * channels inputs.  Each addition is one rounding, in the order of the lanes. */
    void (*windows)(const struct simd_term *, const struct simd_windows *, void *sum, size_t lds,
                    void *scratch);
    /* `windows` for the columns of SIMD_DENSE_BLOCK dense filters from j0 on; turned and x: for at
     * least 4 lanes, (2 SIMD_DENSE_BLOCK + SIMD_TURNED_PAD) numbers of each in turned.  sum: the
     * first column of the row, whatever j0. */
    void (*dense)(const struct simd_dense *, size_t j0, const struct simd_windows *, void *sum,
                  size_t lds);
    /* The phases of those rows in half turns: frequency j of row r at to[j * lanes + r]. */
    void (*turns)(const struct simd_term *, const struct simd_inputs *, void *to, void *scratch);
    /* In-place transforms of `lanes` rows in lanes: v[i * lanes + lane], i < n (power of two); and
     * of one row of n numbers (v aligned as a vector is). */
    void (*fht)(void *v, size_t n);
    void (*fht_row)(void *v, size_t n);
    /* sine and cosine of pi t, n a multiple of lanes. */
    void (*sincospi)(size_t n, const void *t, void *s, void *c);
    /* For chains of steps, n entries of lanes: to = sign * from; v *= scale; to = f(v), or times
     * (FM_PHASE: plus) f(v) unless first, f that of the step (FM_RELU: times gain). */
    void (*sign)(size_t n, const int8_t *sign, const void *from, void *to);
    void (*scale)(size_t n, const double *scale, void *v);
    void (*combine)(enum fm_op, double gain, size_t n, const void *v, void *to, bool first);
    /* n columns c * g (g NULL: 1) from z on, each cs numbers after the last; with phases p
     * (radians) pairs of c * g * cos p and c * g * sin p. */
    void (*columns)(size_t n, double c, const void *p, const void *g, void *z, size_t cs);
};

/* Products C += R'L of float32 blocks on matrix units, if a level has them.  Numbers are rounded to
 * 17 bits; products are exact; their sums over the rows of a block are float32. */
enum { SIMD_TILES_ROWS = 256, SIMD_TILES_COLS = 32 };
/* A part of the product of two packed blocks of `rows` rows: mi columns of R from i0 on times nj
 * columns of L from j0 on, i0 and j0 multiples of SIMD_TILES_COLS.  lower: blocks above the
 * diagonal are left out.  next_*: factors that will be needed next and are prefetched, or NULL. */
struct simd_product {
    size_t rows, i0, mi, j0, nj;
    const void *right, *left;
    bool lower, fresh; /* fresh: C counts as 0 */
    const void *next_right, *next_left;
};
struct simd_tiles {
    size_t (*bytes)(size_t cols); /* of a packed block of up to SIMD_TILES_ROWS rows; one form */
    /* Packs a row-major block into 64-byte aligned results; z is rounded in place.  The two factors
     * of a product have different forms; either may be NULL. */
    void (*pack)(size_t rows, size_t cols, float *z, size_t ld, void *left, void *right);
    /* C[j * ldc + i] += sum over rows of R(i0 + i) L(j0 + j), i < mi, j < nj. */
    void (*product)(const struct simd_product *, double *C, size_t ldc);
};

struct simd {
    const char *name;
    struct simd_real f32, f64;
    const struct simd_tiles *tiles; /* NULL: none */
    struct pairs_loops pairs;
    struct counts_loops counts;
    struct hash_loops hash;
    struct tensor_loops tensor;
    void (*add)(size_t n, const float *x, double *y);                   /* y += x */
    void (*axpy_rows)(size_t n, double a, const float *x, double *y);   /* y += a x */
    /* sum += (s + C) - C, for fold.h; true if some |s| > 0 is at least part C. */
    bool (*fold)(size_t n, double part, const double *s, const double *C, double *sum);
    /* The same, and rest += (t + D) - D with t = s - ((s + C) - C) and D = finer C. */
    bool (*fold_both)(size_t n, double part, double finer, const double *s, const double *C,
                      double *sum, double *rest);
    /* unit = factor times the largest power of two in x d (0 below the normal numbers). */
    void (*units)(size_t n, double factor, const double *x, double d, double *unit);
    /* Conversion to IEEE float16 (to nearest, ties to even) and back: the same bits at every level,
     * but for the payload of NaN. */
    void (*narrow)(size_t n, const float *x, uint16_t *half);
    void (*widen)(size_t n, const uint16_t *half, float *x);
};

void simd_term_free(struct simd_term *);

/* All but the first on x86-64 only; simd_amx is simd_avx512 with matrix units. */
extern const struct simd simd_portable, simd_avx2, simd_avx512, simd_amx;
extern const struct simd_tiles simd_amx_tiles;
bool simd_amx_usable(void); /* also asks the kernel for permission */
/* The table in force (see cpu_level in backend.h). */
const struct simd *cpu_simd_now(void);

#endif
