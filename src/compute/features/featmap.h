/* compute/features/featmap.h -- a kernel drawn at a seed, as data: an ordered list of steps that
 * any backend interprets, or recognises and fuses (share/doc/methods.md 3).
 *
 * z(x) in R^M with z(x).z(y) ~ k(x, y) at amplitude 1.  Columns of a paired term interleave
 * (cos_j, sin_j), scaled by sqrt(1/Mf), so that z.z = 1 exactly (3.1); frequencies are structured
 * and orthogonal (SORF, 3.2) with padding to at least 32.
 *
 * A term is a product of kernels.  For each block of D frequencies its steps work on three vectors
 * of D: v, where the steps of each kernel begin again with the row; the phase p, to which
 * stationary kernels add (the spectrum of a product is the convolution of the spectra); and the
 * gain g, which all others multiply (independent unbiased features, so that their product is
 * unbiased, too). */
#ifndef GPDESK_FEATMAP_H
#define GPDESK_FEATMAP_H

#include "compute/kernels/kernel.h"

#include <stddef.h>
#include <stdint.h>

enum fm_op {
    FM_SCALE_IN, /* v = x * (1/l): hp[index], with ARD fm_lengthscale; pads with zeros to D; index
                  * FM_NONE: x itself                                                   */
    FM_CIRCLE,   /* v = (cos a_i, sin a_i) / l pairs, a_i = 2 pi x_i / hp[also]; l as above */
    FM_APPEND,   /* v_d = value, times hp[index] unless FM_NONE                         */
    FM_SIGN,     /* v *= signs (row `index` of the term's)                             */
    FM_FHT,      /* v = H v, unnormalised, natural (Sylvester) order                    */
    FM_SHUFFLE,  /* v_j = v_perm(j) (row `index` of the term's)                         */
    FM_SCALE,    /* v_j *= scale_j (row `index`: chi lengths, radial factor, D^(-3/2))  */
    FM_PHASE,    /* p += v                                                              */
    FM_TIMES,    /* g *= v                                                              */
    FM_RELU,     /* g *= value * max(v, 0)                                              */
    FM_ERF,      /* g *= erf(v)                                                         */
    FM_SINCOS,   /* z_2j = g cos p_j * c, z_2j+1 = g sin p_j * c; without any FM_PHASE p is v */
    FM_EMIT,     /* z_j = g * c                                                         */
    FM_COPY,     /* z = x: a column for each input, once                                */
    FM_ONE,      /* z = 1: one column                                                   */
    FM_WINDOWS,  /* of a sequence (row_layout.h): v = a window * (1/l), all that follows up to  */
    FM_SUM,      /* here for each of them; z = c times the sum of what was emitted          */
    FM_TURN,     /* after FM_SUM and the steps of more factors: each pair of columns is turned by p
                  * and multiplied by g (columns that are no pairs: times g cos p, g sin p) */
    FM_DENSE,    /* v_j = sum over the d inputs of filter j of this block, times v_i         */
    FM_HASH,     /* of counts: z_j = the symbol of the place that feature j takes (hash.h), a sign
                  * or (value 1) a normal number; FM_SUM follows, which multiplies by c alone    */
    FM_WORDS,    /* of sequences: z_j = how often the word of column j occurs, or the signed sum of
                  * the words whose hash is j (words.h); FM_SUM follows, as above            */
    FM_TENSOR,   /* of counts to the power `value`: sketches of a series (tensor.h), which depend on
                  * each other; c is 1, and FM_SUM follows                                       */
};
#define FM_NONE SIZE_MAX
struct fm_step {
    enum fm_op op;
    size_t index, also;
    double value;
    const uint8_t *group; /* the group of each of its inputs, for lengthscales by group; else
                           * NULL */
    size_t first,
        count; /* FM_SCALE_IN, FM_CIRCLE, FM_COPY, FM_APPEND: the inputs are `count` numbers of a
                * row from `first` on */
};
/* The index of the lengthscale of input i in FM_SCALE_IN (where `also` is their number) and
 * FM_CIRCLE (where the period follows them). */
static inline size_t fm_lengthscale(const struct fm_step *s, size_t i)
{
    const size_t nl = s->op == FM_CIRCLE ? s->also - s->index : s->also;

    return s->index + (nl < 2 ? 0 : s->group ? s->group[i] : i);
}


/* One block of columns made by one list of steps, repeated over nb blocks of D. */
struct fm_term {
    size_t d, D, nb;       /* inputs, padded inputs, blocks: nb = ceil(Mf / D) */
    size_t first; /* index of the first of these inputs in a row (with FM_WINDOWS featmap_first
                   * says where the sequence begins) */
    size_t mf, col0, cols; /* frequencies; first column of Z; columns (2 mf where paired) */
    size_t hp0, nl; /* first hyperparameter of this term; lengthscales of its first kernel: 1,
                     * d (ARD) or one for each group of inputs */
    size_t weight;         /* index of the weight that multiplies its columns; FM_NONE: none */
    bool phase64;          /* heavy tails: project in float64 */
    bool paired;           /* columns are pairs: FM_SINCOS, or phases in FM_TURN */
    size_t nsum; /* with FM_WINDOWS: the steps up to FM_SUM, inclusive.  Further steps multiply by
                  * kernels of other inputs and end in FM_TURN */
    bool sum_paired;       /* the columns that FM_SUM adds are pairs */
    const struct layer *windows; /* with FM_WINDOWS: what a row is; d is then the number of inputs
                                  * of a window.  Else NULL */
    const struct fm_step *steps; size_t nsteps;
    int8_t *signs;         /* rows x nb*D, +-1; a structured projection applies row 0 first */
    double *scale; /* rows x nb*D: multiplies the unnormalised HDHDHD output (D^(-3/2) inside) */
    uint32_t *perm;        /* rows x nb*D, each block of D a permutation of 0..D-1 */
    double *filter; /* FM_DENSE: d x nb*D, entry i of filter j at i * nb*D + j; else NULL */
    double out;            /* sqrt(1/mf); 1 for FM_COPY, FM_ONE, FM_WORDS */
    uint64_t seed, stream; /* FM_HASH, FM_WORDS: of its draws, for places or words as they occur */
    struct tensor *tensor; /* FM_TENSOR, else NULL */
};
/* Terms are in the order of the kernel's products.  Their columns are not: single stationary
 * kernels come first, then sums over windows, then all others, then (with few features) columns of
 * zeros. */
struct featmap {
    size_t d, M, nterms;
    struct fm_term *term;
    struct kernel kernel; uint64_t seed;
};

/* Draws kernel k for d inputs and M columns (M even, >= 2).  The same arguments give the same
 * features on every backend.  NULL and *err on failure; free with featmap_free. O(M) memory. */
struct featmap *featmap_new(const struct kernel *k, size_t d, size_t M, uint64_t seed,
                            struct err *err);
/* For the golden tests: from given signs (3 x nb*D) and row lengths chi (mf), without padding
 * beyond D. */
struct featmap *featmap_given_for_tests(const struct kernel *k, size_t d, size_t D, size_t mf,
                                        const int8_t *signs, const double *chi, struct err *err);
void featmap_free(struct featmap *); /* NULL is fine */
/* True for the steps of one stationary kernel: FM_SCALE_IN, three times FM_SIGN and FM_FHT,
 * FM_SCALE, FM_SINCOS.  Backends have loops of their own for them. */
bool featmap_is_plain(const struct fm_term *);
/* True when those steps stand between FM_WINDOWS and FM_SUM, whatever follows. */
bool featmap_sums_plain(const struct fm_term *);
/* True for FM_WINDOWS, FM_DENSE, FM_SINCOS, FM_SUM, whatever follows: dense filters. */
static inline bool featmap_sums_dense(const struct fm_term *t)
{
    return t->filter != NULL;
}
/* True when it begins with FM_WINDOWS. */
static inline bool featmap_is_windowed(const struct fm_term *t)
{
    return t->windows != NULL;
}
/* Where the inputs of a term begin in rows such as x: rows of one source begin alike. */
static inline size_t featmap_first(const struct fm_term *t, const double *x)
{
    return t->windows ? layer_first(t->windows, x) : t->first;
}
/* True when it begins with FM_HASH; below, when its sums are then signs. */
static inline bool featmap_is_hashed(const struct fm_term *t)
{
    return t->nsteps > 0 && t->steps[0].op == FM_HASH;
}
static inline bool featmap_is_signed(const struct fm_term *t)
{
    return featmap_is_hashed(t) && t->steps[0].value == 0.0;
}
/* True when it begins with FM_WORDS. */
static inline bool featmap_is_words(const struct fm_term *t)
{
    return t->nsteps > 0 && t->steps[0].op == FM_WORDS;
}
/* True for all of these and FM_TENSOR: columns come from whole rows, not from windows. */
static inline bool featmap_is_counts(const struct fm_term *t)
{
    return t->tensor != NULL || featmap_is_hashed(t) || featmap_is_words(t);
}
/* True when all columns of all terms are such signs, times one constant for each term. */
bool featmap_all_signed(const struct featmap *);
/* The same of the map of a kernel that is not drawn yet. */
bool featmap_kernel_signed(const struct kernel *);
/* Some of its terms draw as they go: they begin with FM_HASH, FM_WORDS or FM_TENSOR. */
bool featmap_kernel_hashed(const struct kernel *);
/* The columns that a kernel can fill for d inputs: a finite number for linear and constant ones,
 * else SIZE_MAX. */
size_t featmap_most_for_tests(const struct kernel *k, size_t d);
/* True when all columns of M for d inputs are of terms whose products are the kernel itself: linear
 * and constant ones, and words with a column each. */
bool featmap_is_kernel(const struct kernel *k, size_t d, size_t M);
/* For a note: how many words there can be for the i-th term of M columns for d inputs that counts
 * words (0: not known), and its columns: each word has one where they are enough (words.h).  False:
 * there is no such term. */
bool featmap_words(const struct kernel *k, size_t d, size_t M, size_t i, double *kinds,
                   size_t *columns);
/* The predicted bytes of a map with M columns, with the copies that the loops of the CPU make. */
double featmap_bytes(const struct kernel *k, size_t d, size_t M);
/* The smallest number of columns with which kernel k can be drawn for d inputs. */
size_t featmap_least(const struct kernel *k, size_t d);

#endif
