/* compute/cpu/simd_fht.h -- Hadamard transforms of columns of lanes; included by simd_real.h, which
 * says what stands for what. */

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

/* Signs are masks of the highest bit.  Flipping costs one operation in each of the three
 * transforms. Folding signs into the stages as factors would cost none, but fused operations
 * overwrite one of the three numbers that a butterfly needs twice, and the copies cost more. */
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

/* `pass` for sizes that are known only at run time. */
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
 * row, is prefetched, because the CPU itself looks no further than a page of 4 KB. */
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

/* Runs pass q over entries at .. at + n - 1. */
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

/* Runs passes 0 .. q over entries at .. at + n - 1, n the stride of pass q + 1.  Each part that
 * fits the cache goes through all of its passes before the next part. */
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

/* The position of entry e of a term in parts.  There is a vector between parts, so that the same
 * entry of several parts does not fall into one set of the cache. */
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

/* The three transforms one after the other, for any size. */
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
