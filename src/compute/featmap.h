/* compute/featmap.h -- a kernel drawn at a seed, as data: an ordered list of steps that any
 * backend interprets, or recognises and fuses.
 *
 * z(x) in R^M with z(x).z(y) ~ k(x,y) (amplitude 1).  Columns of a paired term interleave
 * (cos_j, sin_j), scaled by sqrt(1/Mf), so that z.z = 1 exactly; SORF as in methods.md A.1 with
 * padding of at least 32 (A.2). */
#ifndef GPDESK_FEATMAP_H
#define GPDESK_FEATMAP_H

#include "compute/kernel.h"

#include <stddef.h>
#include <stdint.h>

enum fm_op {
    FM_SCALE_IN, /* v = x * (1/l): hp[index], with ARD hp[index + i]; pads with zeros to D */
    FM_SIGN,     /* v *= signs (row `index` of the block's three)                      */
    FM_FHT,      /* v = H v, unnormalised, natural (Sylvester) order                    */
    FM_SCALE,    /* p_j = v_j * scale_j (chi lengths, radial factor, D^(-3/2) folded in) */
    FM_SINCOS,   /* z_2j = cos p_j * c, z_2j+1 = sin p_j * c                            */
};
struct fm_step { enum fm_op op; size_t index; double value; };

/* One block of columns made by one list of steps, repeated over nb blocks of D. */
struct fm_term {
    size_t d, D, nb;       /* inputs, padded inputs, blocks: nb = ceil(Mf / D) */
    size_t mf, col0, cols; /* frequencies; first column of Z; columns (2 mf) */
    size_t hp0, nl;        /* first hyperparameter of this term; its lengthscales: 1 or d (ARD) */
    bool phase64;          /* heavy tails: project in float64 */
    const struct fm_step *steps; size_t nsteps;
    int8_t *signs;         /* 3 x nb*D, +-1; row 0 applied first */
    double *scale;         /* nb*D: multiplies the unnormalised HDHDHD output (D^(-3/2) inside) */
    double out;            /* sqrt(1/mf) */
};
struct featmap {
    size_t d, M, nterms;
    struct fm_term *term;
    struct kernel kernel; uint64_t seed;
};

/* Draws kernel k for d inputs and M columns (M even, >= 2).  The same arguments give the same
 * features on every backend.  NULL and *err on failure; free with featmap_free. O(M) memory. */
struct featmap *featmap_new(const struct kernel *k, size_t d, size_t M, uint64_t seed,
                            struct err *err);
/* From given signs (3 x nb*D) and row lengths chi (mf), without padding beyond D: golden tests. */
struct featmap *featmap_given(const struct kernel *k, size_t d, size_t D, size_t mf,
                              const int8_t *signs, const double *chi, struct err *err);
void featmap_free(struct featmap *); /* NULL is fine */

#endif
