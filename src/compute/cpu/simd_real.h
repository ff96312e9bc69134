/* compute/cpu/simd_real.h -- the loops of simd.h for one precision; included by simd_level.h with
 *
 *   REAL, N(name)          number type and the suffixed name of a function
 *   VEC, IVEC, WVEC        vector of numbers, of integers of that size, of as many doubles
 *   N(word), N(HIGHEST)    integer of a number's size, its highest bit
 *   LANES, ZIPLO, ZIPHI    numbers in a vector; interleaved lower and upper halves of two
 *   N(reduce)(t, &r, &m)   r = t - rint(t); m = integer whose lowest bit is rint(t) mod 2
 *   N(sin_c), N(cos_c)     coefficients of sin(pi r) / r and (cos(pi r) - 1) / r^2 in r^2
 *
 * Vector extensions of GCC and Clang throughout: the same text compiles for every level. */

typedef REAL N(loose) __attribute__((vector_size(VEC_BYTES), aligned(sizeof(REAL)), may_alias));
typedef double N(wloose) __attribute__((vector_size(LANES * 8), aligned(8), may_alias));

#define V_LOAD(p) (*(const VEC *)(const void *)(p))
#define V_STORE(p, v) (*(VEC *)(void *)(p) = (v))
#define V_BROADCAST(s) ((VEC){ 0 } + (s))

/* Hadamard transforms. */

/* One stage of radix R at distance h. */
INLINE void N(stage)(VEC *v, const int R, const int h)
{
    UNROLL
    for (int i = 0; i < R / 2; i++) {
        const int k = i / h * 2 * h + i % h;
        const VEC a = v[k], b = v[k + h];
        v[k] = a + b;
        v[k + h] = a - b;
    }
}

INLINE void N(butterfly)(VEC *v, const int R)
{
    N(stage)(v, R, 1);
    if (R >= 4)
        N(stage)(v, R, 2);
    if (R >= 8)
        N(stage)(v, R, 4);
    if (R >= 16)
        N(stage)(v, R, 8);
}

/* Signs are masks of the highest bit.  Flipping costs one operation for each of three transforms;
 * folding signs into the stages as factors costs none, but fused operations overwrite one of the
 * three numbers that a butterfly needs twice, and the copies cost more. */
INLINE void N(flip)(VEC *v, const int R, const N(word) *sign, size_t stride)
{
    UNROLL
    for (int k = 0; k < R; k++)
        v[k] = (VEC)((IVEC)v[k] ^ sign[(size_t)k * stride]);
}

/* A pass of radix R over n entries at distance `stride`.  in may be shorter (mask: its length - 1,
 * at least R - 1): entries beyond repeat, which is what the stages over padding zeros amount to;
 * only at stride 1.  before: signs of the entries; mid: signs between this transform's stages and
 * the same ones of the next transform, which follow in registers.  Either may be NULL. */
INLINE void N(pass)(const int R, const size_t n, const size_t stride, const REAL *in,
                    const size_t mask, REAL *out, const N(word) *before, const N(word) *mid)
{
    for (size_t high = 0; high < n / (size_t)R; high += stride)
        for (size_t low = 0; low < stride; low++) {
            const size_t at = high * (size_t)R + low;
            const REAL *p = in + (at & mask) * LANES;
            REAL *q = out + at * LANES;
            VEC v[16];
            UNROLL
            for (int k = 0; k < R; k++)
                v[k] = V_LOAD(p + (size_t)k * stride * LANES);
            if (before)
                N(flip)(v, R, before + at, stride);
            N(butterfly)(v, R);
            if (mid) {
                N(flip)(v, R, mid + at, stride);
                N(butterfly)(v, R);
            }
            UNROLL
            for (int k = 0; k < R; k++)
                V_STORE(q + (size_t)k * stride * LANES, v[k]);
        }
}

enum { N(ALL) = -1 }; /* a mask that repeats nothing */

/* The same for sizes known at run time only. */
LOOP void N(pass_any)(size_t bits, size_t n, size_t stride, const REAL *in, size_t mask, REAL *out,
                      const N(word) *before)
{
    switch (bits) {
    case 1:
        N(pass)(2, n, stride, in, mask, out, before, NULL);
        break;
    case 2:
        N(pass)(4, n, stride, in, mask, out, before, NULL);
        break;
    case 3:
        N(pass)(8, n, stride, in, mask, out, before, NULL);
        break;
    default:
        N(pass)(16, n, stride, in, mask, out, before, NULL);
        break;
    }
}

/* Radices of the passes over 2^bits entries, first (stride 1) to last; larger ones first, so that
 * the widest strides meet few cache sets: sixteen lines 4 KB apart are more than one has room for.
 * What the first-level cache does not hold goes by passes of at most 8 after two of 16. */
LOOP size_t N(radices)(size_t bits, size_t out[16])
{
    const size_t two = MOST_BITS == 4 && bits > 14 ? 2 : 0, left = bits - 4 * two;
    const size_t most = MOST_BITS == 4 && (bits == 12 || two) ? 3 : MOST_BITS;
    const size_t m = (left + most - 1) / most;

    for (size_t i = 0; i < two; i++)
        out[i] = 4;
    for (size_t i = 0; i < m; i++)
        out[two + i] = left / m + (i < left % m);
    return two + m;
}

LOOP size_t N(log2)(size_t n)
{
    size_t bits = 0;

    while ((size_t)1 << bits < n)
        bits++;
    return bits;
}

/* The stages inside a vector.  Where a level can load half a vector twice, the first of them comes
 * without a shuffle. */
INLINE VEC N(fht_lanes)(const REAL *p)
{
#define FLIPPED(h) (ZIP(v, v, FOR_LANES(FLIP_##h##_)) + v * (VEC){ FOR_LANES(SIDE_##h##_) })
#ifdef TWICE
    VEC v = TWICE(p) + TWICE(p + LANES / 2) * (VEC){ FOR_LANES(SIDE_HALF_) };
#else
    VEC v = V_LOAD(p);
#if LANES >= 16
    v = FLIPPED(8);
#elif LANES >= 8
    v = FLIPPED(4);
#elif LANES >= 4
    v = FLIPPED(2);
#else
    v = FLIPPED(1);
#endif
#endif
#if LANES >= 4
    v = FLIPPED(1);
#endif
#if LANES >= 8
    v = FLIPPED(2);
#endif
#if LANES >= 16
    v = FLIPPED(4);
#endif
#undef FLIPPED
    return v;
}

/* The first pass of a row, after the stages inside its vectors.  What comes next, often another
 * row, is asked for meanwhile: the processor itself looks no further than a page of 4 KB. */
INLINE void N(pass_lanes)(const int R, size_t n, REAL *data)
{
    enum { AHEAD = 8192 };

    for (size_t at = 0; at < n; at += (size_t)R) {
        REAL *p = data + at * LANES;
        VEC v[16];
        UNROLL
        for (int k = 0; k < R; k++)
            v[k] = N(fht_lanes)(p + (size_t)k * LANES);
        UNROLL
        for (int k = 0; k < R; k++)
            if (k * VEC_BYTES % 64 == 0)
                __builtin_prefetch((const void *)((uintptr_t)(p + k * LANES) + AHEAD), 1, 3);
        N(butterfly)(v, R);
        UNROLL
        for (int k = 0; k < R; k++)
            V_STORE(p + (size_t)k * LANES, v[k]);
    }
}

LOOP void N(pass_lanes_any)(size_t bits, size_t n, REAL *v)
{
    switch (bits) {
    case 1:
        N(pass_lanes)(2, n, v);
        break;
    case 2:
        N(pass_lanes)(4, n, v);
        break;
    case 3:
        N(pass_lanes)(8, n, v);
        break;
    default:
        N(pass_lanes)(16, n, v);
        break;
    }
}

/* A transform's passes upwards.  in may be shorter than the result, as in N(pass). */
struct N(chain) {
    size_t bits[16], stride[16], m;
    const N(word) *before; /* signs of what comes in, or NULL */
    const REAL *in;
    size_t mask;
    REAL *v;
    bool lanes; /* first the stages inside each vector */
};

enum { N(CACHED) = 32768 / VEC_BYTES }; /* entries that stay in the first-level cache */

LOOP void N(chain)(struct N(chain) *c, size_t n, const REAL *in, size_t mask, REAL *v,
                   const N(word) *before)
{
    size_t stride = 1;

    *c = (struct N(chain)){ .in = in, .mask = mask, .v = v, .before = before };
    c->m = N(radices)(N(log2)(n), c->bits);
    for (size_t q = 0; q < c->m; q++) {
        c->stride[q] = stride;
        stride <<= c->bits[q];
    }
}

/* Pass q over entries at .. at + n - 1. */
LOOP void N(chain_pass)(const struct N(chain) *c, size_t q, size_t at, size_t n)
{
    REAL *v = c->v + at * LANES;

    if (q == 0 && c->lanes)
        N(pass_lanes_any)(c->bits[q], n, v);
    else if (q == 0)
        N(pass_any)(c->bits[q], n, 1, c->in + (at & c->mask) * LANES, c->mask, v,
                    c->before ? c->before + at : NULL);
    else
        N(pass_any)(c->bits[q], n, c->stride[q], v, N(ALL), v, NULL);
}

/* Passes 0 .. q over entries at .. at + n - 1, n the stride of pass q + 1: each cached part goes
 * through all of its passes before the next one. */
LOOP void N(chain_up)(const struct N(chain) *c, size_t q, size_t at, size_t n)
{
    size_t from = 0;

    if (n > N(CACHED) && q > 0) {
        for (size_t i = 0; i < n; i += c->stride[q])
            N(chain_up)(c, q - 1, at + i, c->stride[q]);
        from = q;
    }
    for (; from <= q; from++)
        N(chain_pass)(c, from, at, n);
}

/* Three transforms: H D3 H D2 H D1 x
 *
 * Stages of one transform commute.  The first goes down through the strides, the second up again,
 * the third down: where two meet they share a pass.  Wide terms are cut into parts that the
 * first-level cache holds; of the passes across parts, those of the first and second transform
 * enclose all that happens inside a part, and the third's are shared with the second's. */

enum { N(PART) = MOST_BITS == 4 ? 256 : 512 };

LOOP bool N(in_parts)(const struct simd_term *t)
{
    return t->D > 2 * N(PART) && t->dp == t->D && !t->wide && !t->by_row;
}

/* Entries that a block's results come in at a time. */
LOOP size_t N(part_size)(const struct simd_term *t)
{
    return N(in_parts)(t) || t->by_row ? N(PART) : t->D;
}

/* Where entry e of a term in parts is: a vector between parts, so that the same entry of several
 * parts does not fall into one set of the cache. */
INLINE size_t N(place)(const struct simd_term *t, size_t e)
{
    return N(in_parts)(t) ? e + e / N(PART) : e;
}

/* All three of A B C entries, x to v; s: 3 D signs. */
INLINE void N(whole)(const int A, const int B, const int C, const REAL *x, REAL *v,
                     const N(word) *s)
{
    const size_t a = (size_t)A, ab = a * (size_t)B, n = ab * (size_t)C;
    const N(word) *two = s + n, *three = two + n;

    if (C > 1)
        N(pass)(C, n, ab, x, N(ALL), v, s, NULL);
    if (C > 1)
        N(pass)(B, n, a, v, N(ALL), v, NULL, NULL);
    else
        N(pass)(B, n, a, x, N(ALL), v, s, NULL);
    N(pass)(A, n, 1, v, N(ALL), v, NULL, two);
    N(pass)(B, n, a, v, N(ALL), v, NULL, C > 1 ? NULL : three);
    if (C > 1) {
        N(pass)(C, n, ab, v, N(ALL), v, NULL, three);
        N(pass)(B, n, a, v, N(ALL), v, NULL, NULL);
    }
    N(pass)(A, n, 1, v, N(ALL), v, NULL, NULL);
}

/* The last two, after a first one of mask + 1 entries. */
INLINE void N(last_two)(const int A, const int B, const int C, const REAL *in, size_t mask, REAL *v,
                        const N(word) *two)
{
    const size_t a = (size_t)A, ab = a * (size_t)B, n = ab * (size_t)C;
    const N(word) *three = two + n;

    N(pass)(A, n, 1, in, mask, v, two, NULL);
    N(pass)(B, n, a, v, N(ALL), v, NULL, C > 1 ? NULL : three);
    if (C > 1) {
        N(pass)(C, n, ab, v, N(ALL), v, NULL, three);
        N(pass)(B, n, a, v, N(ALL), v, NULL, NULL);
    }
    N(pass)(A, n, 1, v, N(ALL), v, NULL, NULL);
}

/* A first transform of fewer entries than the others, x to a; *mask + 1 entries are left in a,
 * enough for any radix. */
LOOP void N(first)(const struct simd_term *t, const REAL *x, REAL *a, const N(word) * s,
                   size_t *mask)
{
    size_t len = t->dp;
    struct N(chain) c;

    N(chain)(&c, t->dp, x, N(ALL), a, s);
    if (c.m == 0)
        V_STORE(a, (VEC)((IVEC)V_LOAD(x) ^ s[0]));
    else
        N(chain_up)(&c, c.m - 1, 0, t->dp);
    for (; len < 16 && len < t->D; len *= 2)
        memcpy(a + len * LANES, a, len * LANES * sizeof *a);
    *mask = len - 1;
}

INLINE void N(fixed)(const struct simd_term *t, const int A, const int B, const int C,
                     const REAL *x, REAL *a, REAL *v, const N(word) *s)
{
    size_t mask;

    if (t->dp == t->D) {
        N(whole)(A, B, C, x, v, s);
        return;
    }
    N(first)(t, x, a, s, &mask);
    N(last_two)(A, B, C, a, mask, v, s + t->dp);
}

/* Of any size, one after the other. */
LOOP void N(one_by_one)(const struct simd_term *t, const REAL *x, REAL *a, REAL *v,
                        const N(word) *s)
{
    struct N(chain) c;
    size_t mask;

    N(first)(t, x, a, s, &mask);
    s += t->dp;
    N(chain)(&c, t->D, a, mask, v, s);
    N(chain_up)(&c, c.m - 1, 0, t->D);
    N(chain)(&c, t->D, v, N(ALL), v, s + t->D);
    N(chain_up)(&c, c.m - 1, 0, t->D);
}

/* A pass of radix R across n entries in parts. */
INLINE void N(across)(const int R, size_t n, const REAL *in, REAL *out, const N(word) *before,
                      const N(word) *mid)
{
    const size_t stride = n / (size_t)R, step = (stride + stride / N(PART)) * LANES;

    for (size_t part = 0; part < stride; part += N(PART), in += LANES, out += LANES)
        for (size_t low = part; low < part + N(PART); low++, in += LANES, out += LANES) {
            VEC v[16];
            UNROLL
            for (int k = 0; k < R; k++)
                v[k] = V_LOAD(in + (size_t)k * step);
            if (before)
                N(flip)(v, R, before + low, stride);
            N(butterfly)(v, R);
            if (mid) {
                N(flip)(v, R, mid + low, stride);
                N(butterfly)(v, R);
            }
            UNROLL
            for (int k = 0; k < R; k++)
                V_STORE(out + (size_t)k * step, v[k]);
        }
}

INLINE void N(across_as)(const int R, size_t n, const REAL *in, REAL *out, const N(word) *before,
                         const N(word) *mid)
{
    if (before)
        N(across)(R, n, in, out, before, NULL);
    else if (mid)
        N(across)(R, n, in, out, NULL, mid);
    else
        N(across)(R, n, in, out, NULL, NULL);
}

/* The widest pass of n entries in parts; returns its radix.  Where one pass does not reach a part,
 * two share the way. */
LOOP size_t N(across_any)(size_t n, const REAL *in, REAL *out, const N(word) *before,
                          const N(word) *mid)
{
    const size_t left = N(log2)(n / N(PART)), half = (left + 1) / 2;
    const size_t bits = left <= MOST_BITS ? left : half < MOST_BITS ? half : MOST_BITS;

    if (bits == 1)
        N(across_as)(2, n, in, out, before, mid);
    else if (bits == 2)
        N(across_as)(4, n, in, out, before, mid);
    else if (bits == 3)
        N(across_as)(8, n, in, out, before, mid);
    else
        N(across_as)(16, n, in, out, before, mid);
    return (size_t)1 << bits;
}

/* The first transform of n entries in parts, and the second, whose signs are s. */
LOOP void N(meet)(REAL *v, size_t n, const N(word) *s)
{
    if (n == N(PART)) {
        const int A = MOST_BITS == 4 ? 16 : 8, C = MOST_BITS == 4 ? 1 : 8;
        const size_t a = (size_t)A, aa = a * a;
        if (C > 1)
            N(pass)(C, n, aa, v, N(ALL), v, NULL, NULL);
        N(pass)(A, N(PART), a, v, N(ALL), v, NULL, NULL);
        N(pass)(A, N(PART), 1, v, N(ALL), v, NULL, s);
        N(pass)(A, N(PART), a, v, N(ALL), v, NULL, NULL);
        if (C > 1)
            N(pass)(C, n, aa, v, N(ALL), v, NULL, NULL);
        return;
    }
    const size_t stride = n / N(across_any)(n, v, v, NULL, NULL);
    const size_t step = (stride + stride / N(PART)) * LANES;
    for (size_t i = 0; i < n / stride; i++)
        N(meet)(v + i * step, stride, s + i * stride);
    N(across_any)(n, v, v, NULL, NULL);
}

/* The third transform of n entries in parts, but for what happens inside a part. */
LOOP void N(descend)(REAL *v, size_t n)
{
    if (n == N(PART))
        return;
    const size_t stride = n / N(across_any)(n, v, v, NULL, NULL);
    const size_t step = (stride + stride / N(PART)) * LANES;
    for (size_t i = 0; i < n / stride; i++)
        N(descend)(v + i * step, stride);
}

LOOP void N(project_parts)(const struct simd_term *t, const REAL *x, REAL *v, const N(word) *s)
{
    const size_t stride = t->D / N(across_any)(t->D, x, v, s, NULL);
    const size_t step = (stride + stride / N(PART)) * LANES;

    for (size_t i = 0; i < t->D / stride; i++)
        N(meet)(v + i * step, stride, s + t->D + i * stride);
    N(across_any)(t->D, v, v, NULL, s + 2 * t->D);
    for (size_t i = 0; i < t->D / stride; i++)
        N(descend)(v + i * step, stride);
}

/* H D3 H D2 H D1 x of one block; N(part) has the results.  x: dp vectors at their places; a, v: D.
 */
LOOP void N(project)(const struct simd_term *t, size_t block, const REAL *x, REAL *a, REAL *v)
{
    const N(word) *s = (const N(word) *)t->signs + block * (t->dp + 2 * t->D);

    if (N(in_parts)(t))
        N(project_parts)(t, x, v, s);
    else if (t->D == 32)
        N(fixed)(t, 8, 4, 1, x, a, v, s);
    else if (t->D == 64)
        N(fixed)(t, 8, 8, 1, x, a, v, s);
    else if (t->D == 128 && MOST_BITS == 4)
        N(fixed)(t, 16, 8, 1, x, a, v, s);
    else if (t->D == 128)
        N(fixed)(t, 8, 4, 4, x, a, v, s);
    else if (t->D == 256 && MOST_BITS == 4)
        N(fixed)(t, 16, 16, 1, x, a, v, s);
    else if (t->D == 256)
        N(fixed)(t, 8, 8, 4, x, a, v, s);
    else if (t->D == 512)
        N(fixed)(t, 8, 8, 8, x, a, v, s);
    else
        N(one_by_one)(t, x, a, v, s);
}

LOOP size_t N(row_ld)(size_t D);

/* Entries of lanes that all of a block take, or as many rows. */
LOOP size_t N(room)(const struct simd_term *t)
{
    return t->by_row ? N(row_ld)(t->D) : N(place)(t, t->D);
}

/* Workspace of one lane tile. */
struct N(work) {
    REAL *keep, *v;  /* columns of one block when nobody else keeps them; its phases */
    REAL *x, *a;     /* inputs, and the transforms' way station */
    REAL *part;      /* a part of the phases */
    double *wide;    /* heavy tails: the same in double, instead of x and a */
    const double *rows; /* by row: n of them, ldx apart */
    size_t ldx, n;
    bool even;          /* all inputs have one lengthscale */
};

LOOP struct N(work) N(work_in)(const struct simd_term *t, void *scratch)
{
    struct N(work) w = { .keep = scratch };

    w.v = w.keep + 2 * t->D * LANES;
    w.part = w.v + N(room)(t) * LANES;
    w.a = w.part + N(PART) * LANES;
    w.x = w.a + t->D * LANES;
    w.wide = (double *)(void *)w.a;
    return w;
}

/* Squares. */

INLINE void N(shuffle)(VEC *a)
{
    VEC b[LANES];

    UNROLL
    for (int i = 0; i < LANES / 2; i++) {
        b[2 * i] = ZIPLO(a[i], a[i + LANES / 2]);
        b[2 * i + 1] = ZIPHI(a[i], a[i + LANES / 2]);
    }
    UNROLL
    for (int i = 0; i < LANES; i++)
        a[i] = b[i];
}

/* LANES columns of LANES rows, transposed by log2(LANES) perfect shuffles: each rotates the bits
 * of (column, row) by one. */
INLINE void N(turn_square)(VEC *a)
{
    N(shuffle)(a);
    if (LANES >= 4)
        N(shuffle)(a);
    if (LANES >= 8)
        N(shuffle)(a);
    if (LANES >= 16)
        N(shuffle)(a);
}

INLINE void N(transpose)(const REAL *cols, size_t n, REAL *z, size_t ldz)
{
    VEC a[LANES];

    UNROLL
    for (int i = 0; i < LANES; i++)
        a[i] = V_LOAD(cols + i * LANES);
    N(turn_square)(a);
    for (size_t i = 0; i < n; i++)
        *(N(loose) *)(void *)(z + i * ldz) = a[i];
}

#include "compute/cpu/simd_rows.h"

/* Results. */

/* Results from entry j on, N(part_size) of them; to: room for a part. */
LOOP const REAL *N(part)(const struct simd_term *t, const REAL *v, size_t j, REAL *to)
{
    const int A = MOST_BITS == 4 ? 16 : 8, C = MOST_BITS == 4 ? 1 : 8;
    const size_t n = N(PART), a = (size_t)A;
    const REAL *from = v + N(place)(t, j) * LANES;

    if (t->by_row)
        return N(row_part)(t, v, j, to);
    if (!N(in_parts)(t))
        return v + j * LANES;
    if (C > 1) {
        N(pass)(C, n, a * a, from, N(ALL), to, NULL, NULL);
        from = to;
    }
    N(pass)(A, n, a, from, N(ALL), to, NULL, NULL);
    N(pass)(A, n, 1, to, N(ALL), to, NULL, NULL);
    return to;
}

LOOP void N(fht)(void *data, size_t n)
{
    struct N(chain) c;

    N(chain)(&c, n, data, N(ALL), data, NULL);
    if (c.m > 0)
        N(chain_up)(&c, c.m - 1, 0, n);
}

LOOP void N(fht_row)(void *data, size_t n)
{
    REAL *v = data;

    if (n < LANES) {
        for (size_t h = 1; h < n; h *= 2)
            for (size_t i = 0; i < n; i++)
                if (!(i & h)) {
                    const REAL a = v[i], b = v[i + h];
                    v[i] = a + b;
                    v[i + h] = a - b;
                }
        return;
    }
    struct N(chain) c;
    N(chain)(&c, n / LANES, v, N(ALL), v, NULL);
    c.lanes = true;
    if (c.m > 0)
        N(chain_up)(&c, c.m - 1, 0, n / LANES);
    else
        V_STORE(v, N(fht_lanes)(v));
}

/* Preparation. */

LOOP void N(prepare_block)(struct simd_term *t, const struct fm_term *fm, size_t block)
{
    N(word) *out = (N(word) *)t->signs + block * (t->dp + 2 * t->D);

    for (size_t row = 0; row < 3 && !t->by_row; row++)
        for (size_t i = 0; i < (row == 0 ? t->dp : t->D); i++)
            *out++ = fm->signs[(row * fm->nb + block) * fm->D + i] < 0 ? N(HIGHEST) : 0;
    for (size_t i = block * t->D; i < (block + 1) * t->D; i++)
        ((REAL *)t->scale)[i] = (REAL)(fm->scale[i] * 0.31830988618379067154); /* half turns */
}

LOOP size_t N(sign_bytes)(const struct simd_term *t)
{
    size_t at[3];

    return t->by_row ? N(row_signs)(t->D, at) * VEC_BYTES : (t->dp + 2 * t->D) * sizeof(REAL);
}

LOOP enum status N(prepare)(struct simd_term *t, const struct fm_term *fm, struct err *err)
{
    size_t dp = 1;

    while (dp < fm->d)
        dp *= 2;
    *t = (struct simd_term){ .d = fm->d, .D = fm->D, .dp = dp, .nb = fm->nb, .mf = fm->mf };
    t->by_row = N(goes_by_row)(fm, dp);
    t->signs = mem_aligned(t->nb, N(sign_bytes)(t), "signs", err);
    t->scale = mem_aligned(t->nb * t->D, sizeof(REAL), "feature scales", err);
    t->inv = mem_calloc(t->d, sizeof *t->inv, "lengthscales", err);
    if (!t->signs || !t->scale || !t->inv) {
        simd_term_free(t);
        return ST_NOMEM;
    }
    if (t->by_row)
        N(row_prepare)(t, fm);
    for (size_t b = 0; b < t->nb; b++)
        N(prepare_block)(t, fm, b);
    return N(prepare_wide)(t, fm, err);
}

/* Heavy tails: x, a, v and a part of half as many lanes of the double term; x twice. */
LOOP size_t N(wide_places)(const struct simd_term *w)
{
    return 2 * N(place)(w, w->dp) + w->D + N(place)(w, w->D) + N(PART);
}

LOOP size_t N(scratch)(const struct simd_term *t)
{
    const size_t narrow = t->by_row ? 0 : (N(place)(t, t->dp) + t->D) * sizeof(REAL);
    const size_t wide = t->wide ? N(wide_places)(t->wide) / 2 * sizeof(double) : 0;

    return ((2 * t->D + N(room)(t) + N(PART)) * sizeof(REAL) +
            (t->wide ? wide : narrow)) * LANES;
}

/* Features. */

INLINE void N(sincos)(VEC t, VEC *s, VEC *c)
{
    VEC r;
    IVEC parity;

    N(reduce)(t, &r, &parity);
    const VEC u = r * r;
    VEC p = V_BROADCAST(N(sin_c)[SIN_TERMS - 1]), q = V_BROADCAST(N(cos_c)[COS_TERMS - 1]);
    UNROLL
    for (int i = SIN_TERMS - 2; i >= 0; i--)
        p = p * u + N(sin_c)[i];
    UNROLL
    for (int i = COS_TERMS - 2; i >= 0; i--)
        q = q * u + N(cos_c)[i];
    q = q * u + (REAL)1;
    p = p * r;
    const IVEC sign = parity << (sizeof(REAL) * 8 - 1);
    *s = (VEC)((IVEC)p ^ sign);
    *c = (VEC)((IVEC)q ^ sign);
}

LOOP void N(sincospi)(size_t n, const void *t, void *s, void *c)
{
    for (size_t i = 0; i < n; i += LANES) {
        VEC a, b;
        N(sincos)(V_LOAD((const REAL *)t + i), &a, &b);
        V_STORE((REAL *)s + i, a);
        V_STORE((REAL *)c + i, b);
    }
}

/* Chains of steps. */

LOOP void N(sign)(size_t n, const int8_t *sign, const void *from, void *to)
{
    for (size_t i = 0; i < n; i++)
        V_STORE((REAL *)to + i * LANES, V_LOAD((const REAL *)from + i * LANES) * (REAL)sign[i]);
}

LOOP void N(scale)(size_t n, const double *scale, void *v)
{
    for (size_t i = 0; i < n; i++)
        V_STORE((REAL *)v + i * LANES, V_LOAD((REAL *)v + i * LANES) * (REAL)scale[i]);
}

INLINE void N(combine_as)(const enum fm_op op, REAL gain, size_t n, const REAL *v, REAL *to,
                          bool first)
{
    for (size_t i = 0; i < n * LANES; i += LANES) {
        VEC f = V_LOAD(v + i);
        if (op == FM_RELU)
            f = (VEC)((IVEC)f & (f > 0)) * gain;
        if (op == FM_ERF)
            f = N(erf)(f);
        if (!first)
            f = op == FM_PHASE ? V_LOAD(to + i) + f : V_LOAD(to + i) * f;
        V_STORE(to + i, f);
    }
}

LOOP void N(combine)(enum fm_op op, double gain, size_t n, const void *v, void *to, bool first)
{
    switch (op) {
    case FM_PHASE:
        N(combine_as)(FM_PHASE, 1, n, v, to, first);
        break;
    case FM_RELU:
        N(combine_as)(FM_RELU, (REAL)gain, n, v, to, first);
        break;
    case FM_ERF:
        N(combine_as)(FM_ERF, 1, n, v, to, first);
        break;
    default:
        N(combine_as)(FM_TIMES, 1, n, v, to, first);
        break;
    }
}

LOOP void N(columns)(size_t n, double c, const void *p, const void *g, void *z, size_t cs)
{
    const REAL *phase = p, *gain = g;
    REAL *to = z;

    for (size_t j = 0; j < n; j++) {
        VEC f = V_BROADCAST((REAL)c), a, b;
        if (gain)
            f *= V_LOAD(gain + j * LANES);
        if (!phase) {
            V_STORE(to + j * cs, f);
            continue;
        }
        N(sincos)(V_LOAD(phase + j * LANES) * (REAL)0.31830988618379067154, &a, &b);
        V_STORE(to + 2 * j * cs, f * b);
        V_STORE(to + (2 * j + 1) * cs, f * a);
    }
}

/* n rows into lanes, times 1/l; the other lanes and entries d..dp-1 are zero. */
LOOP void N(lanes)(const struct simd_term *t, const double *x, size_t ldx, size_t n, REAL *out)
{
    REAL square[LANES * LANES] __attribute__((aligned(VEC_BYTES)));
    size_t i = 0;

    memset(square, 0, sizeof square);
    for (; i + LANES <= t->d; i += LANES) { /* squares: whole cache lines of each row */
        const N(wloose) inv = *(const N(wloose) *)(const void *)(t->inv + i);
        for (size_t r = 0; r < n; r++) {
            const N(wloose) *from = (const N(wloose) *)(const void *)(x + r * ldx + i);
            V_STORE(square + r * LANES, __builtin_convertvector(*from * inv, VEC));
        }
        N(transpose)(square, LANES, out + N(place)(t, i) * LANES, LANES);
    }
    for (; i < t->dp; i++)
        for (size_t r = 0; r < LANES; r++)
            out[N(place)(t, i) * LANES + r] =
                i < t->d && r < n ? (REAL)(x[r * ldx + i] * t->inv[i]) : (REAL)0;
}

LOOP void N(load)(const struct simd_term *t, const double *x, size_t ldx, size_t n,
                    struct N(work) *w)
{
    if (t->by_row)
        N(row_load)(t, x, ldx, n, w);
    else if (t->wide)
        N(lanes_wide)(t->wide, x, ldx, n, w->wide);
    else
        N(lanes)(t, x, ldx, n, w->x);
}

/* Phases of one block in half turns, up to t->scale. */
LOOP void N(phases)(const struct simd_term *t, size_t block, const struct N(work) *w)
{
    if (t->by_row)
        N(row_project)(t, w);
    else if (t->wide)
        N(project_wide)(t->wide, block, w->wide, w->v);
    else
        N(project)(t, block, w->x, w->a, w->v);
}

INLINE void N(add_wide)(VEC a, double *t)
{
    N(wloose) *w = (N(wloose) *)(void *)t;

    *w += __builtin_convertvector(a, WVEC);
}

/* Columns of jn frequencies v (half turns: v scale) of one block. */
LOOP void N(block_keep)(size_t jn, const REAL *v, const REAL *scale, REAL *z, size_t cs)
{
    for (size_t j = 0; j < jn; j++) {
        VEC s, c;
        N(sincos)(V_LOAD(v + j * LANES) * scale[j], &s, &c);
        V_STORE(z + 2 * j * cs, c);
        V_STORE(z + (2 * j + 1) * cs, s);
    }
}

/* The same, and their products with one vector, added to sums[2]; z may be NULL. */
INLINE void N(block_dot1)(size_t jn, const REAL *v, const REAL *scale, REAL *z, size_t cs,
                          const REAL *P, VEC *sums)
{
    VEC even = sums[0], odd = sums[1];

    for (size_t j = 0; j < jn; j++) {
        VEC s, c;
        N(sincos)(V_LOAD(v + j * LANES) * scale[j], &s, &c);
        if (z) {
            V_STORE(z + 2 * j * cs, c);
            V_STORE(z + (2 * j + 1) * cs, s);
        }
        even += c * P[2 * j];
        odd += s * P[2 * j + 1];
    }
    sums[0] = even;
    sums[1] = odd;
}

/* Products of a block's kept columns with one vector; the same sums as above, bit for bit. */
INLINE void N(kept_dot)(size_t jn, const REAL *z, size_t cs, const REAL *P, double *t)
{
    VEC even = { 0 }, odd = { 0 };

    for (size_t j = 0; j < jn; j++) {
        even += V_LOAD(z + 2 * j * cs) * P[2 * j];
        odd += V_LOAD(z + (2 * j + 1) * cs) * P[2 * j + 1];
    }
    N(add_wide)(even + odd, t);
}

/* The same for two vectors of rows side by side: whole cache lines in order. */
INLINE void N(kept_dot_pair)(size_t jn, const REAL *z, size_t cs, const REAL *P, double *t)
{
    VEC e0 = { 0 }, o0 = { 0 }, e1 = { 0 }, o1 = { 0 };

    for (size_t j = 0; j < jn; j++) {
        const REAL *c = z + 2 * j * cs, *s = c + cs;
        e0 += V_LOAD(c) * P[2 * j];
        e1 += V_LOAD(c + LANES) * P[2 * j];
        o0 += V_LOAD(s) * P[2 * j + 1];
        o1 += V_LOAD(s + LANES) * P[2 * j + 1];
    }
    N(add_wide)(e0 + o0, t);
    N(add_wide)(e1 + o1, t + LANES);
}

INLINE void N(kept_dot4)(size_t jn, const REAL *z, size_t cs, const REAL *P, size_t ldp, double *t,
                         size_t ldt)
{
    VEC e0 = { 0 }, e1 = { 0 }, e2 = { 0 }, e3 = { 0 }, o0 = { 0 }, o1 = { 0 }, o2 = { 0 },
        o3 = { 0 };

    for (size_t j = 0; j < jn; j++) {
        const VEC c = V_LOAD(z + 2 * j * cs), s = V_LOAD(z + (2 * j + 1) * cs);
        const REAL *p = P + 2 * j;
        e0 += c * p[0];
        o0 += s * p[1];
        e1 += c * p[ldp];
        o1 += s * p[ldp + 1];
        e2 += c * p[2 * ldp];
        o2 += s * p[2 * ldp + 1];
        e3 += c * p[3 * ldp];
        o3 += s * p[3 * ldp + 1];
    }
    N(add_wide)(e0 + o0, t);
    N(add_wide)(e1 + o1, t + ldt);
    N(add_wide)(e2 + o2, t + 2 * ldt);
    N(add_wide)(e3 + o3, t + 3 * ldt);
}

LOOP void N(kept_dots)(size_t jn, const REAL *z, size_t cs, size_t k, const REAL *P, size_t ldp,
                         double *t, size_t ldt)
{
    size_t c = 0;

    for (; c + 4 <= k; c += 4)
        N(kept_dot4)(jn, z, cs, P + c * ldp, ldp, t + c * ldt, ldt);
    for (; c < k; c++)
        N(kept_dot)(jn, z, cs, P + c * ldp, t + c * ldt);
}

/* Products of a block's kept columns with LANES vectors at once, P[column][vector]. */
INLINE void N(kept_dot_block)(size_t cols, const REAL *z, size_t cs, const REAL *P, double *t,
                              size_t ldt)
{
    VEC acc[LANES] = { 0 };

    for (size_t j = 0; j < cols; j++) {
        const VEC a = V_LOAD(z + j * cs);
        UNROLL
        for (int i = 0; i < LANES; i++)
            acc[i] += a * P[j * LANES + (size_t)i];
    }
    UNROLL
    for (int i = 0; i < LANES; i++)
        N(add_wide)(acc[i], t + (size_t)i * ldt);
}

LOOP void N(kept_dot_blocks)(size_t jn, const REAL *z, size_t cs, size_t groups, const REAL *P,
                               size_t ldp, double *t, size_t ldt)
{
    for (size_t g = 0; g < groups; g++)
        N(kept_dot_block)(2 * jn, z, cs, P + g * ldp, t + g * LANES * ldt, ldt);
}

LOOP size_t N(in_block)(const struct simd_term *t, size_t b)
{
    const size_t left = t->mf - b * t->D;

    return left < t->D ? left : t->D;
}

/* Frequencies of block b from entry j on that come in one part. */
LOOP size_t N(in_part)(const struct simd_term *t, size_t b, size_t j)
{
    const size_t left = N(in_block)(t, b) - j, most = N(part_size)(t);

    return left < most ? left : most;
}

/* All columns of block b, whose phases are there. */
LOOP void N(keep_all)(const struct simd_term *t, size_t b, const struct N(work) *w, REAL *z,
                      size_t cs)
{
    const REAL *scale = (const REAL *)t->scale + b * t->D;

    for (size_t j = 0, m; j < N(in_block)(t, b); j += m) {
        m = N(in_part)(t, b, j);
        N(block_keep)(m, N(part)(t, w->v, j, w->part), scale + j, z + 2 * j * cs, cs);
    }
}

LOOP void N(keep_dot1)(const struct simd_term *t, size_t b, const struct N(work) *w, REAL *z,
                       size_t cs, const REAL *P, double *sums)
{
    const REAL *scale = (const REAL *)t->scale + b * t->D;
    VEC acc[2] = { 0 };

    for (size_t j = 0, m; j < N(in_block)(t, b); j += m) {
        const REAL *v = N(part)(t, w->v, j, w->part);
        m = N(in_part)(t, b, j);
        if (z)
            N(block_dot1)(m, v, scale + j, z + 2 * j * cs, cs, P + 2 * j, acc);
        else
            N(block_dot1)(m, v, scale + j, NULL, 0, P + 2 * j, acc);
    }
    N(add_wide)(acc[0] + acc[1], sums);
}

LOOP void N(gen)(const struct simd_term *t, const double *x, size_t ldx, size_t n, void *zv,
                   size_t cs, size_t k, const void *Pv, size_t ldp, double *sums, size_t ldt,
                   void *scratch)
{
    struct N(work) w = N(work_in)(t, scratch);
    const REAL *P = Pv;
    REAL *z = zv;

    N(load)(t, x, ldx, n, &w);
    for (size_t b = 0; b < t->nb; b++) {
        N(phases)(t, b, &w);
        if (k == 1) {
            N(keep_dot1)(t, b, &w, z, cs, P, sums);
        } else {
            REAL *keep = z ? z : w.keep;
            const size_t step = z ? cs : LANES;
            N(keep_all)(t, b, &w, keep, step);
            N(kept_dots)(N(in_block)(t, b), keep, step, k, P, ldp, sums, ldt);
        }
        z = z ? z + 2 * t->D * cs : NULL;
        P = P ? P + 2 * t->D : NULL;
    }
}

LOOP void N(gen_block)(const struct simd_term *t, const double *x, size_t ldx, size_t n, void *zv,
                         size_t cs, size_t groups, const void *Pv, size_t ldp, double *sums,
                         size_t ldt, void *scratch)
{
    struct N(work) w = N(work_in)(t, scratch);
    const REAL *P = Pv;
    REAL *z = zv;

    N(load)(t, x, ldx, n, &w);
    for (size_t b = 0; b < t->nb; b++, P += 2 * t->D * LANES) {
        const size_t step = z ? cs : LANES;
        REAL *keep = z ? z + 2 * b * t->D * cs : w.keep;
        N(phases)(t, b, &w);
        N(keep_all)(t, b, &w, keep, step);
        N(kept_dot_blocks)(N(in_block)(t, b), keep, step, groups, P, ldp, sums, ldt);
    }
}

LOOP void N(dot_block)(const struct simd_term *t, const void *zv, size_t cs, size_t rows,
                         size_t groups, const void *Pv, size_t ldp, double *sums, size_t ldt)
{
    const REAL *z = zv, *P = Pv;

    for (size_t b = 0; b < t->nb; b++, z += 2 * t->D * cs, P += 2 * t->D * LANES)
        for (size_t r = 0; r < rows; r += LANES)
            N(kept_dot_blocks)(N(in_block)(t, b), z + r, cs, groups, P, ldp, sums + r, ldt);
}

LOOP void N(dot)(const struct simd_term *t, const void *zv, size_t cs, size_t rows, size_t k,
                   const void *Pv, size_t ldp, double *sums, size_t ldt)
{
    const REAL *z = zv, *P = Pv;

    for (size_t b = 0; b < t->nb; b++, z += 2 * t->D * cs, P += 2 * t->D) {
        const size_t jn = N(in_block)(t, b);
        size_t r = 0;
        for (; k == 1 && r + 2 * LANES <= rows; r += 2 * LANES)
            N(kept_dot_pair)(jn, z + r, cs, P, sums + r);
        for (; r < rows; r += LANES)
            N(kept_dots)(jn, z + r, cs, k, P, ldp, sums + r, ldt);
    }
}

/* Products with columns. */

INLINE void N(halve)(VEC *a, const int n)
{
    UNROLL
    for (int i = 0; i < n; i++)
        a[i] = ZIPLO(a[i], a[i + n]) + ZIPHI(a[i], a[i + n]);
}

/* Sums each of LANES vectors over its lanes: lane i of the result is the sum of a[i]. Two vectors
 * of partial sums become one, log2(LANES) times. */
INLINE VEC N(sums)(VEC *a)
{
    if (LANES >= 16)
        N(halve)(a, 8);
    if (LANES >= 8)
        N(halve)(a, 4);
    if (LANES >= 4)
        N(halve)(a, 2);
    N(halve)(a, 1);
    return a[0];
}

INLINE void N(axpy_cols)(const REAL *z, size_t cs, size_t rows, struct simd_stack st, const REAL *t,
                         double *w)
{
    const VEC t0 = V_LOAD(t);
    VEC acc[LANES];
    size_t r = LANES;

    UNROLL
    for (int i = 0; i < LANES; i++)
        acc[i] = V_LOAD(z + (size_t)i * cs) * t0;
    for (size_t b = 0; b < st.tiles; b++, r = 0, z += st.zstep, t += st.tstep)
        for (; r < rows; r += LANES) {
            const VEC tr = V_LOAD(t + r);
            UNROLL
            for (int i = 0; i < LANES; i++)
                acc[i] += V_LOAD(z + (size_t)i * cs + r) * tr;
        }
    N(add_wide)(N(sums)(acc), w);
}

/* Two columns of each of four places, V vectors of rows of each; as many lines from `ahead` on are
 * fetched into the cache. */
INLINE void N(flow_pair)(const int V, const REAL *const z[4], size_t cs, const REAL *const P[4],
                         size_t j, const REAL *const ahead[4], VEC *even, VEC *odd)
{
    UNROLL
    for (int b = 0; b < 4; b++) {
        UNROLL
        for (int v = 0; v < 2 * V; v++)
            __builtin_prefetch(ahead[b] + (j * (size_t)V + (size_t)v) * LANES, 0, 3);
        UNROLL
        for (int v = 0; v < V; v++) {
            even[b * V + v] += V_LOAD(z[b] + j * cs + v * LANES) * P[b][j];
            odd[b * V + v] += V_LOAD(z[b] + (j + 1) * cs + v * LANES) * P[b][j + 1];
        }
    }
}

/* How far the way back has come: a piece, and columns of it. */
struct N(flow_back) { size_t piece, at; };

INLINE void N(flow_down)(const struct simd_flow *f, size_t cs, size_t rows, const REAL *t,
                         size_t cols, struct N(flow_back) * back)
{
    for (size_t i = 0; i < cols; i += LANES) {
        N(axpy_cols)
        ((const REAL *)f->down[back->piece] + back->at * cs, cs, rows, (struct simd_stack){1, 0, 0},
         t, f->w[back->piece] + back->at);
        back->at += LANES;
        if (back->at == 2 * f->jn) {
            back->at = 0;
            back->piece++;
        }
    }
}

/* As kept_dot, of four blocks, a few columns of each at a time; then as many columns of the way
 * back, which come from the cache while those ahead come from memory.  One loop, because the
 * processor looks no more than some hundred instructions ahead.  Where the columns of a tile are
 * single vectors they are asked for FAR columns before they are met: earlier than memory takes to
 * answer, and still in the first-level cache; else a block ahead, V vectors of a column at a time.
 */
INLINE void N(flow_vectors)(const int V, const struct simd_flow *f, size_t cs, size_t rows,
                            const void *t)
{
    enum { PAIRS = LANES >= 16 ? 2 : 1, EACH = 2 * PAIRS, FAR = 32 };
    const REAL *const P[4] = { f->P[0], f->P[1], f->P[2], f->P[3] };
    const size_t step = (size_t)V * LANES, cols = 2 * f->jn;
    const size_t here = rows == LANES ? cols - FAR : 0; /* what lies ahead is of this block */
    struct N(flow_back) back = { 0, 0 };
    size_t turn = 0;

    for (size_t r = 0; r < rows; r += step) {
        const REAL *const z[4] = { (const REAL *)f->z[0] + r, (const REAL *)f->z[1] + r,
                                   (const REAL *)f->z[2] + r, (const REAL *)f->z[3] + r };
        VEC even[8] = { 0 }, odd[8] = { 0 };
        for (size_t j = 0, end = here; end <= cols; end = end < cols ? cols : cols + 1) {
            const REAL *ahead[4];
            UNROLL
            for (int b = 0; b < 4; b++)
                ahead[b] = end < cols ? z[b] + FAR * LANES
                                      : (const REAL *)f->ahead[b] + cols * r - here * LANES;
            for (; j < end; j += EACH) {
                UNROLL
                for (size_t i = 0; i < PAIRS; i++)
                    N(flow_pair)(V, z, cs, P, j + 2 * i, ahead, even, odd);
                if (++turn < rows / step)
                    continue;
                turn = 0;
                N(flow_down)(f, cs, rows, t, EACH * f->pieces, &back);
            }
        }
        UNROLL
        for (int b = 0; b < 4; b++)
            UNROLL
            for (int v = 0; v < V; v++)
                V_STORE((REAL *)f->sums[b] + r + (size_t)v * LANES,
                        even[b * V + v] + odd[b * V + v]);
    }
}

LOOP void N(flow)(const struct simd_flow *f, size_t cs, size_t rows, const void *t)
{
    if (rows % (2 * LANES) == 0)
        N(flow_vectors)(2, f, cs, rows, t);
    else
        N(flow_vectors)(1, f, cs, rows, t);
}

LOOP void N(axpy)(size_t cols, const void *zv, size_t cs, size_t rows, size_t k, const void *tv,
                    double *w, size_t ldw, const void *ahead)
{
    const REAL *z = zv, *t = tv;
    size_t j = 0;

    for (; j + LANES <= cols; j += LANES) {
        const char *next = ahead ? (const char *)ahead + j * cs * sizeof(REAL) : NULL;
        for (size_t i = 0; next && i < LANES * cs * sizeof(REAL); i += 64)
            __builtin_prefetch(next + i, 0, 2);
        for (size_t c = 0; c < k; c++)
            N(axpy_cols)(z + j * cs, cs, rows, (struct simd_stack){ 1, 0, 0 }, t + c * cs,
                         w + c * ldw + j);
    }
    for (; j < cols; j++)
        for (size_t c = 0; c < k; c++) {
            REAL sum = 0;
            for (size_t r = 0; r < rows; r++)
                sum += z[j * cs + r] * t[c * cs + r];
            w[c * ldw + j] += (double)sum;
        }
}

LOOP void N(axpy_stack)(size_t cols, const void *zv, size_t cs, size_t rows, struct simd_stack st,
                          size_t k, const void *tv, double *w, size_t ldw)
{
    const REAL *z = zv, *t = tv;
    size_t j = 0;

    for (; j + LANES <= cols; j += LANES)
        for (size_t c = 0; c < k; c++)
            N(axpy_cols)(z + j * cs, cs, rows, st, t + c * cs, w + c * ldw + j);
    for (; j < cols; j++)
        for (size_t c = 0; c < k; c++) {
            REAL sum = 0;
            for (size_t b = 0; b < st.tiles; b++)
                for (size_t r = 0; r < rows; r++)
                    sum += z[b * st.zstep + j * cs + r] * t[b * st.tstep + c * cs + r];
            w[c * ldw + j] += (double)sum;
        }
}

/* n columns (a constant) at once: the vector holds right-hand sides, features are broadcast. */
INLINE void N(axpy_block_cols)(const int n, const REAL *z, const size_t cs, size_t rows,
                               struct simd_stack st, const REAL *t, double *w)
{
    VEC acc[LANES] = { 0 };

    for (size_t b = 0; b < st.tiles; b++, z += st.zstep, t += st.tstep)
        for (size_t r = 0; r < rows; r++) {
            const VEC a = V_LOAD(t + r * LANES);
            UNROLL
            for (int i = 0; i < n; i++)
                acc[i] += a * z[(size_t)i * cs + r];
        }
    UNROLL
    for (int i = 0; i < n; i++)
        N(add_wide)(acc[i], w + (size_t)i * LANES);
}

INLINE void N(axpy_block_any)(size_t cols, const REAL *z, const size_t cs, size_t rows,
                              struct simd_stack st, size_t groups, const REAL *t, double *w,
                              size_t ldw)
{
    for (size_t g = 0; g < groups; g++, t += cs * LANES, w += ldw) {
        size_t j = 0;
        for (; j + LANES <= cols; j += LANES)
            N(axpy_block_cols)(LANES, z + j * cs, cs, rows, st, t, w + j * LANES);
        for (; j < cols; j++)
            N(axpy_block_cols)(1, z + j * cs, cs, rows, st, t, w + j * LANES);
    }
}

LOOP void N(axpy_block)(size_t cols, const void *z, size_t cs, size_t rows, struct simd_stack st,
                          size_t groups, const void *t, double *w, size_t ldw)
{
    switch (cs) { /* tiles of the usual sizes get constant addresses */
    case 16:
        N(axpy_block_any)(cols, z, 16, rows, st, groups, t, w, ldw);
        break;
    case 32:
        N(axpy_block_any)(cols, z, 32, rows, st, groups, t, w, ldw);
        break;
    case 128:
        N(axpy_block_any)(cols, z, 128, rows, st, groups, t, w, ldw);
        break;
    default:
        N(axpy_block_any)(cols, z, cs, rows, st, groups, t, w, ldw);
        break;
    }
}

/* Rows. */

LOOP void N(store_rows)(const REAL *cols, size_t ncols, size_t n, REAL *z, size_t ldz)
{
    size_t j = 0;

    for (; j + LANES <= ncols; j += LANES)
        N(transpose)(cols + j * LANES, n, z + j, ldz);
    for (; j < ncols; j++)
        for (size_t r = 0; r < n; r++)
            z[r * ldz + j] = cols[j * LANES + r];
}

/* d cos p / d log l = p sin p, d sin p / d log l = -p cos p, p in radians. */
LOOP void N(block_derivative)(const struct simd_term *t, size_t b, const struct N(work) *w, REAL c,
                              REAL *dz)
{
    const REAL *scale = (const REAL *)t->scale + b * t->D, *v = NULL;

    for (size_t j = 0, m = 0; j < N(in_block)(t, b); j++, m--, v += LANES) {
        if (m == 0) {
            m = N(in_part)(t, b, j);
            v = N(part)(t, w->v, j, w->part);
        }
        const VEC turn = V_LOAD(v) * scale[j];
        const VEC p = turn * (c * (REAL)3.14159265358979323846);
        VEC s, q;
        N(sincos)(turn, &s, &q);
        V_STORE(dz + 2 * j * LANES, s * p);
        V_STORE(dz + (2 * j + 1) * LANES, -(q * p));
    }
}

LOOP void N(turns)(const struct simd_term *t, const double *x, size_t ldx, size_t n, void *to,
                   void *scratch)
{
    struct N(work) w = N(work_in)(t, scratch);
    const REAL *scale = t->scale;
    REAL *out = to;

    N(load)(t, x, ldx, n, &w);
    for (size_t b = 0; b < t->nb; b++, scale += t->D, out += t->D * LANES) {
        N(phases)(t, b, &w);
        for (size_t j = 0, m; j < N(in_block)(t, b); j += m) {
            const REAL *v = N(part)(t, w.v, j, w.part);
            m = N(in_part)(t, b, j);
            for (size_t i = 0; i < m; i++)
                V_STORE(out + (j + i) * LANES, V_LOAD(v + i * LANES) * scale[j + i]);
        }
    }
}

LOOP void N(rows)(const struct simd_term *t, const double *x, size_t ldx, size_t n, double c,
                    void *zv, void *dzv, size_t ldz, void *scratch)
{
    struct N(work) w = N(work_in)(t, scratch);
    REAL *z = zv, *dz = dzv;

    N(load)(t, x, ldx, n, &w);
    for (size_t b = 0; b < t->nb; b++) {
        const size_t jn = N(in_block)(t, b), at = 2 * b * t->D;
        N(phases)(t, b, &w);
        if (z) {
            N(keep_all)(t, b, &w, w.keep, LANES);
            for (size_t i = 0; i < 2 * jn * LANES; i += LANES)
                V_STORE(w.keep + i, V_LOAD(w.keep + i) * (REAL)c);
            N(store_rows)(w.keep, 2 * jn, n, z + at, ldz);
        }
        if (dz) {
            N(block_derivative)(t, b, &w, (REAL)c, w.keep);
            N(store_rows)(w.keep, 2 * jn, n, dz + at, ldz);
        }
    }
}

/* Sums over windows. */

LOOP void N(load_windows)(const struct simd_term *t, const struct simd_windows *k,
                          struct N(work) *w)
{
    const size_t per = k->symbols ? 1 : k->channels;

    if (k->symbols && !t->wide && !t->by_row) {
        memset(w->x, 0, N(place)(t, t->dp) * LANES * sizeof *w->x);
        for (size_t i = 0; i < k->n; i++)
            for (size_t q = 0; q < k->width; q++)
                if (k->at[i][q] < (double)k->channels) {
                    const size_t e = q * k->channels + (size_t)k->at[i][q];
                    w->x[N(place)(t, e) * LANES + i] = (REAL)t->inv[e];
                }
        return;
    }
    for (size_t i = 0; i < k->n; i++) {
        double *x = k->x + i * t->d;
        if (!k->symbols) {
            memcpy(x, k->at[i], k->width * per * sizeof *x);
            continue;
        }
        memset(x, 0, t->d * sizeof *x);
        for (size_t q = 0; q < k->width; q++)
            if (k->at[i][q] < (double)k->channels)
                x[q * k->channels + (size_t)k->at[i][q]] = 1.0;
    }
    N(load)(t, k->x, t->d, k->n, w);
}

/* sum += the rows of z that lane[] names, one after the other. */
LOOP void N(add_lanes)(size_t cols, const REAL *z, size_t ldz, size_t n, const uint8_t *lane,
                       REAL *sum)
{
    size_t j = 0;

    for (; j + 4 * LANES <= cols; j += 4 * LANES) {
        VEC a = *(N(loose) *)(void *)(sum + j), b = *(N(loose) *)(void *)(sum + j + LANES);
        VEC c = *(N(loose) *)(void *)(sum + j + 2 * LANES);
        VEC d = *(N(loose) *)(void *)(sum + j + 3 * LANES);
        for (size_t i = 0; i < n; i++) {
            const REAL *row = z + lane[i] * ldz + j;
            a += V_LOAD(row);
            b += V_LOAD(row + LANES);
            c += V_LOAD(row + 2 * LANES);
            d += V_LOAD(row + 3 * LANES);
        }
        *(N(loose) *)(void *)(sum + j) = a;
        *(N(loose) *)(void *)(sum + j + LANES) = b;
        *(N(loose) *)(void *)(sum + j + 2 * LANES) = c;
        *(N(loose) *)(void *)(sum + j + 3 * LANES) = d;
    }
    for (; j < cols; j++)
        for (size_t i = 0; i < n; i++)
            sum[j] += z[lane[i] * ldz + j];
}

LOOP void N(windows)(const struct simd_term *t, const struct simd_windows *k, void *sumv,
                     size_t lds, void *scratch)
{
    struct N(work) w = N(work_in)(t, scratch);
    REAL *sum = sumv, *turned = k->turned;
    const size_t ldt = 2 * t->D + SIMD_TURNED_PAD;

    N(load_windows)(t, k, &w);
    for (size_t b = 0; b < t->nb; b++) {
        const size_t jn = N(in_block)(t, b), at = 2 * b * t->D;
        N(phases)(t, b, &w);
        if (k->derivative)
            N(block_derivative)(t, b, &w, (REAL)1, w.keep);
        else
            N(keep_all)(t, b, &w, w.keep, LANES);
        N(store_rows)(w.keep, 2 * jn, k->n, turned, ldt);
        for (size_t r = 0; r < k->rows; r++)
            if (k->first[r + 1] > k->first[r])
                N(add_lanes)(2 * jn, turned, ldt, k->first[r + 1] - k->first[r],
                             k->lane + k->first[r], sum + r * lds + at);
    }
}

/* Dense filters. */

/* LANES phases in half turns as pairs, or their derivatives in log l (block_derivative). */
INLINE void N(dense_put)(VEC turn, bool derivative, REAL *to)
{
    VEC s, c;

    N(sincos)(turn, &s, &c);
    if (derivative) {
        const VEC p = turn * (REAL)3.14159265358979323846, was = s;
        s = -(c * p);
        c = was * p;
    }
    V_STORE(to, ZIPLO(c, s));
    V_STORE(to + LANES, ZIPHI(c, s));
}

/* A window of symbols: its phases are sums of one row of the table for each letter. */
LOOP void N(dense_symbols)(const struct simd_dense *t, size_t j0, size_t jn,
                           const struct simd_windows *k, const double *at, REAL *to)
{
    const REAL *row[KERNEL_WIDTH_MOST];
    size_t n = 0;

    for (size_t q = 0; q < k->width; q++)
        if (at[q] < (double)k->channels)
            row[n++] = (const REAL *)t->filter + (q * k->channels + (size_t)at[q]) * t->ld + j0;
    for (size_t j = 0; j < jn; j += 4 * LANES) {
        VEC p[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
        for (size_t i = 0; i < n; i++) {
            UNROLL
            for (int u = 0; u < 4; u++)
                p[u] += *(const N(loose) *)(const void *)(row[i] + j + (size_t)u * LANES);
        }
        for (int u = 0; u < 4; u++)
            N(dense_put)(p[u] * (REAL)t->inv, k->derivative, to + 2 * (j + (size_t)u * LANES));
    }
}

/* Four windows of vectors, so that each number of a filter is read once for them all. */
LOOP void N(dense_vectors)(const struct simd_dense *t, size_t j0, size_t jn,
                           const struct simd_windows *k, const REAL *x, REAL *to, size_t ldt)
{
    const REAL *filter = (const REAL *)t->filter + j0;

    for (size_t j = 0; j < jn; j += 2 * LANES) {
        VEC p[8] = { { 0 } };
        for (size_t e = 0; e < t->d; e++) {
            const VEC a = *(const N(loose) *)(const void *)(filter + e * t->ld + j);
            const VEC b = *(const N(loose) *)(const void *)(filter + e * t->ld + j + LANES);
            UNROLL
            for (int i = 0; i < 4; i++) {
                p[2 * i] += a * x[4 * e + (size_t)i];
                p[2 * i + 1] += b * x[4 * e + (size_t)i];
            }
        }
        for (int i = 0; i < 8; i++)
            N(dense_put)(p[i] * (REAL)t->inv, k->derivative,
                         to + (size_t)(i / 2) * ldt + 2 * (j + (size_t)(i % 2) * LANES));
    }
}

LOOP void N(dense)(const struct simd_dense *t, size_t j0, const struct simd_windows *k, void *sumv,
                   size_t lds)
{
    const size_t left = t->mf - j0, jn = left < SIMD_DENSE_BLOCK ? left : SIMD_DENSE_BLOCK;
    const size_t ldt = 2 * SIMD_DENSE_BLOCK + SIMD_TURNED_PAD;
    REAL *sum = sumv, *turned = k->turned, *x = (REAL *)(void *)k->x;

    for (size_t i = 0; k->symbols && i < k->n; i++)
        N(dense_symbols)(t, j0, jn, k, k->at[i], turned + i * ldt);
    for (size_t i = 0; !k->symbols && i < k->n; i += 4) {
        for (size_t e = 0; e < t->d; e++)
            for (size_t w = 0; w < 4; w++)
                x[4 * e + w] = (REAL)k->at[i + w < k->n ? i + w : i][e];
        N(dense_vectors)(t, j0, jn, k, x, turned + i * ldt, ldt);
    }
    for (size_t r = 0; r < k->rows; r++)
        if (k->first[r + 1] > k->first[r])
            N(add_lanes)(2 * jn, turned, ldt, k->first[r + 1] - k->first[r], k->lane + k->first[r],
                         sum + r * lds + 2 * j0);
}

#undef V_LOAD
#undef V_STORE
#undef V_BROADCAST
