/* compute/simd_real.h -- the loops of simd.h for one precision; included by simd_level.h with
 *
 *   REAL, N(name)          number type and the suffixed name of a function
 *   VEC, IVEC, WVEC        vector of numbers, of integers of that size, of as many doubles
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

/* ---- Hadamard transforms --------------------------------------------------------------------- */

/* One stage of radix R at distance h.  a + s b and a - s b contract to fused operations. */
INLINE void N(stage)(VEC *v, const int R, const int h, const REAL *s)
{
    UNROLL
    for (int i = 0; i < R / 2; i++) {
        const int k = i / h * 2 * h + i % h;
        const VEC a = v[k], b = v[k + h];
        v[k] = a + b * s[i / h];
        v[k + h] = a - b * s[i / h];
    }
}

/* All stages of radix R; s holds R - 1 signs in the order of use. */
INLINE void N(butterfly)(VEC *v, const int R, const REAL *s)
{
    N(stage)(v, R, 1, s);
    if (R >= 4)
        N(stage)(v, R, 2, s + R / 2);
    if (R >= 8)
        N(stage)(v, R, 4, s + R / 2 + R / 4);
    if (R >= 16)
        N(stage)(v, R, 8, s + R / 2 + R / 4 + R / 8);
}

/* Which set of R - 1 signs a group takes: its number counted over the upper indices, over the lower
 * ones, or the same set for all. */
enum { N(SAME), N(HIGH), N(LOW) };

INLINE const REAL *N(set_of)(const REAL *s, const int which, size_t high, size_t low, const int R)
{
    return which == N(SAME) ? s : s + (which == N(HIGH) ? high : low) * (size_t)(R - 1);
}

/* A pass of radix R over n entries at distance `stride`.  in may be shorter (mask: its length - 1,
 * at least R - 1): entries beyond repeat, which is what the stages over padding zeros amount to;
 * only at stride 1.  two: the first stages of the next transform follow in registers. */
INLINE void N(pass)(const int R, const size_t n, const size_t stride, const REAL *in, size_t mask,
                    REAL *out, const REAL *one, const int one_of, const REAL *two)
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
            N(butterfly)(v, R, N(set_of)(one, one_of, high / stride, low, R));
            if (two)
                N(butterfly)(v, R, N(set_of)(two, N(LOW), 0, low, R));
            UNROLL
            for (int k = 0; k < R; k++)
                V_STORE(q + (size_t)k * stride * LANES, v[k]);
        }
}

/* The same for sizes known at run time only. */
LOOP void N(pass_any)(size_t bits, size_t n, size_t stride, const REAL *in, size_t mask,
                        REAL *out, const REAL *one, int one_of, const REAL *two)
{
    switch (bits) {
    case 1:
        N(pass)(2, n, stride, in, mask, out, one, one_of, two);
        break;
    case 2:
        N(pass)(4, n, stride, in, mask, out, one, one_of, two);
        break;
    case 3:
        N(pass)(8, n, stride, in, mask, out, one, one_of, two);
        break;
    default:
        N(pass)(16, n, stride, in, mask, out, one, one_of, two);
        break;
    }
}

/* Radices of the passes over 2^bits entries, first (stride 1) to last; larger ones first, so that
 * the widest strides meet few cache sets: sixteen lines 4 KB apart are more than one has room for. */
LOOP size_t N(radices)(size_t bits, size_t out[16])
{
    const size_t most = MOST_BITS == 4 && bits == 12 ? 3 : MOST_BITS;
    const size_t m = (bits + most - 1) / most;

    for (size_t i = 0; i < m; i++)
        out[i] = bits / m + (i < bits % m);
    return m;
}

LOOP size_t N(log2)(size_t n)
{
    size_t bits = 0;

    while ((size_t)1 << bits < n)
        bits++;
    return bits;
}

/* Signs are folded by simulating a transform on them: after the stage over one bit, both entries
 * of a pair carry the first one's sign.  f (n entries) ends as f[0], the sign left over. */
LOOP REAL *N(fold)(REAL *f, size_t n, size_t stride, size_t bits, REAL *out)
{
    const size_t R = (size_t)1 << bits;

    for (size_t high = 0; high < n / (stride * R); high++)
        for (size_t low = 0; low < stride; low++) {
            REAL *g = f + high * stride * R + low;
            for (size_t h = 1; h < R; h *= 2)
                for (size_t k = 0; k < R; k += 2 * h)
                    *out++ = g[k * stride] * g[(k + h) * stride];
        }
    return out;
}

/* Keeps the entries whose bits of this pass are zero: they carry the signs of the next pass. */
LOOP size_t N(squeeze)(REAL *f, size_t n, size_t stride, size_t bits)
{
    const size_t R = (size_t)1 << bits;
    size_t m = 0;

    for (size_t high = 0; high < n / (stride * R); high++)
        for (size_t low = 0; low < stride; low++)
            f[m++] = f[high * stride * R + low];
    return m;
}

/* One transform's signs, passes ascending (radix 0 first) or descending. */
LOOP REAL *N(fold_all)(REAL *f, size_t n, const size_t *bits, size_t m, bool down, REAL *out,
                         REAL *left)
{
    for (size_t q = 0; q < m; q++) {
        const size_t b = bits[down ? m - 1 - q : q], R = (size_t)1 << b;
        const size_t stride = down ? n / R : 1;
        out = N(fold)(f, n, stride, b, out);
        n = N(squeeze)(f, n, stride, b);
    }
    *left *= f[0];
    return out;
}

/* The stages inside a vector. */
INLINE VEC N(fht_lanes)(VEC v)
{
#define FLIPPED(h) (ZIP(v, v, FOR_LANES(FLIP_##h##_)) + v * (VEC){ FOR_LANES(SIDE_##h##_) })
    v = FLIPPED(1);
#if LANES >= 4
    v = FLIPPED(2);
#endif
#if LANES >= 8
    v = FLIPPED(4);
#endif
#if LANES >= 16
    v = FLIPPED(8);
#endif
#undef FLIPPED
    return v;
}

static const REAL N(ones)[15] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

/* The first pass of a row, after the stages inside its vectors. */
INLINE void N(pass_lanes)(const int R, size_t n, REAL *data)
{
    for (size_t at = 0; at < n; at += (size_t)R) {
        REAL *p = data + at * LANES;
        VEC v[16];
        UNROLL
        for (int k = 0; k < R; k++)
            v[k] = N(fht_lanes)(V_LOAD(p + (size_t)k * LANES));
        N(butterfly)(v, R, N(ones));
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

/* A transform's passes upwards: radices, strides and signs of each.  in may be shorter than the
 * result, as in N(pass). */
struct N(chain) {
    size_t bits[16], stride[16], m;
    const REAL *s[16];
    const REAL *in;
    size_t mask;
    REAL *v;
    int sets;   /* how groups take their signs */
    bool lanes; /* first the stages inside each vector */
};

enum { N(CACHED) = 32768 / VEC_BYTES }; /* entries that stay in the first-level cache */

LOOP const REAL *N(chain)(struct N(chain) *c, size_t n, const REAL *in, size_t mask, REAL *v,
                            const REAL *s, int sets)
{
    size_t stride = 1;

    c->m = N(radices)(N(log2)(n), c->bits);
    c->in = in;
    c->mask = mask;
    c->v = v;
    c->sets = sets;
    c->lanes = false;
    for (size_t q = 0; q < c->m; q++) {
        const size_t R = (size_t)1 << c->bits[q];
        c->stride[q] = stride;
        c->s[q] = s;
        stride *= R;
        s += sets == N(SAME) ? 0 : n / stride * (R - 1);
    }
    return s;
}

/* Pass q over entries at .. at + n - 1. */
LOOP void N(chain_pass)(const struct N(chain) *c, size_t q, size_t at, size_t n)
{
    const size_t R = (size_t)1 << c->bits[q];
    const REAL *s = c->s[q] + (c->sets == N(SAME) ? 0 : at / (c->stride[q] * R) * (R - 1));

    if (q == 0 && c->lanes)
        N(pass_lanes_any)(c->bits[q], n, c->v + at * LANES);
    else if (q == 0)
        N(pass_any)(c->bits[q], n, 1, c->in + (at & c->mask) * LANES, c->mask, c->v + at * LANES, s,
                    c->sets, NULL);
    else
        N(pass_any)(c->bits[q], n, c->stride[q], c->v + at * LANES, n - 1, c->v + at * LANES, s,
                    c->sets, NULL);
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

/* A transform of dp entries: passes ascending, each with signs per upper index. *mask + 1 entries
 * are left in v, enough for any radix. */
LOOP const REAL *N(first)(const struct simd_term *t, const REAL *x, REAL *v, const REAL *s,
                            size_t *mask)
{
    size_t len = t->dp;
    struct N(chain) c;

    s = N(chain)(&c, t->dp, x, t->dp - 1, v, s, N(HIGH));
    if (c.m == 0)
        memcpy(v, x, LANES * sizeof *v);
    else
        N(chain_up)(&c, c.m - 1, 0, t->dp);
    for (; len < 16 && len < t->D; len *= 2)
        memcpy(v + len * LANES, v, len * LANES * sizeof *v);
    *mask = len - 1;
    return s;
}

/* The second and third transform: D = A B (C), radices from stride 1 up.  The second goes up
 * through the strides, the third down again: where they meet they share a pass. */
INLINE void N(project_two)(const int A, const int B, const REAL *a, size_t mask, REAL *v,
                           const REAL *s)
{
    const size_t D = (size_t)A * (size_t)B, signs = (size_t)B * (size_t)(A - 1);

    N(pass)(A, D, 1, a, mask, v, s, N(HIGH), NULL);
    s += signs;
    N(pass)(B, D, (size_t)A, v, D - 1, v, s, N(SAME), s + (B - 1));
    s += (size_t)(B - 1) * (size_t)(A + 1);
    N(pass)(A, D, 1, v, D - 1, v, s, N(SAME), NULL);
}

INLINE void N(project_three)(const int A, const int B, const int C, const REAL *a, size_t mask,
                             REAL *v, const REAL *s)
{
    const size_t AB = (size_t)A * (size_t)B, D = AB * (size_t)C;

    N(pass)(A, D, 1, a, mask, v, s, N(HIGH), NULL);
    s += D / (size_t)A * (size_t)(A - 1);
    N(pass)(B, D, (size_t)A, v, D - 1, v, s, N(HIGH), NULL);
    s += (size_t)C * (size_t)(B - 1);
    N(pass)(C, D, AB, v, D - 1, v, s, N(SAME), s + (C - 1));
    s += (size_t)(C - 1) * (AB + 1);
    N(pass)(B, D, (size_t)A, v, D - 1, v, s, N(LOW), NULL);
    s += (size_t)A * (size_t)(B - 1);
    N(pass)(A, D, 1, v, D - 1, v, s, N(SAME), NULL);
}

/* The third transform's passes down from q over n entries at v, signs the same for every part:
 * each cached part goes through all of its passes before the next one. */
LOOP void N(chain_down)(const struct N(chain) *c, size_t q, REAL *v, size_t n)
{
    const size_t part = c->stride[q];

    N(pass_any)(c->bits[q], n, part, v, n - 1, v, c->s[q], N(LOW), NULL);
    if (n > N(CACHED) && q > 0) {
        for (size_t i = 0; i < n; i += part)
            N(chain_down)(c, q - 1, v + i * LANES, part);
        return;
    }
    while (q-- > 0)
        N(pass_any)(c->bits[q], n, c->stride[q], v, n - 1, v, c->s[q], N(LOW), NULL);
}

/* Any number of passes, of sizes known at run time only. */
LOOP void N(project_any)(const struct simd_term *t, const REAL *a, size_t mask, REAL *v,
                           const REAL *s)
{
    struct N(chain) c;

    N(chain)(&c, t->D, a, mask, v, s, N(HIGH));
    const size_t last = c.m - 1, stride = c.stride[last], R = (size_t)1 << c.bits[last];
    for (size_t i = 0; last > 0 && i < t->D; i += stride)
        N(chain_up)(&c, last - 1, i, stride);
    s = c.s[last];
    N(pass_any)(c.bits[last], t->D, stride, last ? v : a, last ? t->D - 1 : mask, v, s, N(SAME),
                s + (R - 1));
    s += (R - 1) * (1 + stride);
    for (size_t q = last; q-- > 0;) {
        c.s[q] = s;
        s += c.stride[q] * (((size_t)1 << c.bits[q]) - 1);
    }
    for (size_t i = 0; last > 0 && i < t->D; i += stride)
        N(chain_down)(&c, last - 1, v + i * LANES, stride);
}

/* H D3 H D2 H D1 x of one block, up to its sign.  x: dp vectors.  a, v: D vectors. Common widths
 * have loops of constant size; their radices are those of N(radices). */
LOOP void N(project)(const struct simd_term *t, size_t block, const REAL *x, REAL *a, REAL *v)
{
    const REAL *s = (const REAL *)t->fold + block * (t->dp + 2 * t->D - 3);
    size_t mask;

    if (t->dp == t->D)
        a = v; /* nothing is repeated: in place, half the cache */
    s = N(first)(t, x, a, s, &mask);
    if (t->D == 32)
        N(project_two)(8, 4, a, mask, v, s);
    else if (t->D == 64)
        N(project_two)(8, 8, a, mask, v, s);
    else if (t->D == 128 && MOST_BITS == 4)
        N(project_two)(16, 8, a, mask, v, s);
    else if (t->D == 128)
        N(project_three)(8, 4, 4, a, mask, v, s);
    else if (t->D == 256 && MOST_BITS == 4)
        N(project_two)(16, 16, a, mask, v, s);
    else if (t->D == 256)
        N(project_three)(8, 8, 4, a, mask, v, s);
    else if (t->D == 512)
        N(project_three)(8, 8, 8, a, mask, v, s);
    else
        N(project_any)(t, a, mask, v, s);
}

LOOP void N(fht)(void *data, size_t n)
{
    struct N(chain) c;

    N(chain)(&c, n, data, n - 1, data, N(ones), N(SAME));
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
    N(chain)(&c, n / LANES, v, n / LANES - 1, v, N(ones), N(SAME));
    c.lanes = true;
    if (c.m > 0)
        N(chain_up)(&c, c.m - 1, 0, n / LANES);
    else
        V_STORE(v, N(fht_lanes)(V_LOAD(v)));
}

/* ---- preparation ----------------------------------------------------------------------------- */

LOOP void N(prepare_block)(struct simd_term *t, const struct fm_term *fm, size_t block, REAL *f)
{
    size_t bits[16], m;
    REAL *out = (REAL *)t->fold + block * (t->dp + 2 * t->D - 3), left = 1;

    for (size_t row = 0; row < 3; row++) {
        const size_t n = row == 0 ? t->dp : t->D;
        for (size_t i = 0; i < n; i++)
            f[i] = fm->signs[(row * fm->nb + block) * fm->D + i];
        m = N(radices)(N(log2)(n), bits);
        out = N(fold_all)(f, n, bits, m, row == 2, out, &left);
    }
    for (size_t i = block * t->D; i < (block + 1) * t->D; i++) {
        const double half_turns = fm->scale[i] * 0.31830988618379067154;
        ((REAL *)t->scale)[i] = (REAL)half_turns * left;
    }
}

LOOP enum status N(prepare)(struct simd_term *t, const struct fm_term *fm, struct err *err)
{
    size_t dp = 1;

    while (dp < fm->d)
        dp *= 2;
    *t = (struct simd_term){ .d = fm->d, .D = fm->D, .dp = dp, .nb = fm->nb, .mf = fm->mf };
    t->fold = mem_aligned(t->nb, (dp + 2 * t->D - 3) * sizeof(REAL), "folded signs", err);
    t->scale = mem_aligned(t->nb * t->D, sizeof(REAL), "feature scales", err);
    t->inv = mem_calloc(t->d, sizeof *t->inv, "lengthscales", err);
    REAL *f = mem_aligned(t->D, sizeof *f, "signs", err);
    if (!t->fold || !t->scale || !t->inv || !f) {
        simd_term_free(t);
        free(f);
        return ST_NOMEM;
    }
    for (size_t b = 0; b < t->nb; b++)
        N(prepare_block)(t, fm, b, f);
    free(f);
    return N(prepare_wide)(t, fm, err);
}

/* Workspace of one lane tile. */
struct N(work) {
    REAL *keep, *v; /* columns of one block when nobody else keeps them; its phases */
    REAL *x, *a;    /* inputs, and the transforms' way station */
    double *wide;   /* heavy tails: the same in double, instead of x and a */
};

LOOP struct N(work) N(work_in)(const struct simd_term *t, void *scratch)
{
    struct N(work) w = { .keep = scratch };

    w.v = w.keep + 2 * t->D * LANES;
    w.a = w.v + t->D * LANES;
    w.x = w.a + t->D * LANES;
    w.wide = (double *)(void *)w.a;
    return w;
}

LOOP size_t N(scratch)(const struct simd_term *t)
{
    const size_t narrow = (t->dp + t->D) * sizeof(REAL), wide = (t->dp + t->D) * sizeof(double);

    return (3 * t->D * sizeof(REAL) + (t->wide ? wide : narrow)) * LANES;
}

/* ---- features -------------------------------------------------------------------------------- */

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

/* ---- chains of steps --------------------------------------------------------------------------- */

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
    memset(out, 0, t->dp * LANES * sizeof *out);
    for (size_t i = 0; i < t->d; i++)
        for (size_t r = 0; r < n; r++)
            out[i * LANES + r] = (REAL)(x[r * ldx + i] * t->inv[i]);
}

LOOP void N(load)(const struct simd_term *t, const double *x, size_t ldx, size_t n,
                    const struct N(work) *w)
{
    if (t->wide)
        N(lanes_wide)(t->wide, x, ldx, n, w->wide);
    else
        N(lanes)(t, x, ldx, n, w->x);
}

/* Phases of one block in half turns, up to t->scale. */
LOOP void N(phases)(const struct simd_term *t, size_t block, const struct N(work) *w)
{
    if (t->wide)
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

/* The same, and their product with one vector; z may be NULL. */
INLINE void N(block_dot1)(size_t jn, const REAL *v, const REAL *scale, REAL *z, size_t cs,
                          const REAL *P, double *t)
{
    VEC even = { 0 }, odd = { 0 };

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
    N(add_wide)(even + odd, t);
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

LOOP void N(gen)(const struct simd_term *t, const double *x, size_t ldx, size_t n, void *zv,
                   size_t cs, size_t k, const void *Pv, size_t ldp, double *sums, size_t ldt,
                   void *scratch)
{
    const struct N(work) w = N(work_in)(t, scratch);
    const REAL *P = Pv, *scale = t->scale;
    REAL *z = zv;

    N(load)(t, x, ldx, n, &w);
    for (size_t b = 0; b < t->nb; b++, scale += t->D) {
        const size_t jn = N(in_block)(t, b);
        N(phases)(t, b, &w);
        if (k == 1) {
            if (z)
                N(block_dot1)(jn, w.v, scale, z, cs, P, sums);
            else
                N(block_dot1)(jn, w.v, scale, NULL, 0, P, sums);
        } else {
            REAL *keep = z ? z : w.keep;
            const size_t step = z ? cs : LANES;
            N(block_keep)(jn, w.v, scale, keep, step);
            N(kept_dots)(jn, keep, step, k, P, ldp, sums, ldt);
        }
        z = z ? z + 2 * t->D * cs : NULL;
        P = P ? P + 2 * t->D : NULL;
    }
}

LOOP void N(gen_block)(const struct simd_term *t, const double *x, size_t ldx, size_t n, void *zv,
                         size_t cs, size_t groups, const void *Pv, size_t ldp, double *sums,
                         size_t ldt, void *scratch)
{
    const struct N(work) w = N(work_in)(t, scratch);
    const REAL *P = Pv, *scale = t->scale;
    REAL *z = zv;

    N(load)(t, x, ldx, n, &w);
    for (size_t b = 0; b < t->nb; b++, scale += t->D, P += 2 * t->D * LANES) {
        const size_t jn = N(in_block)(t, b), step = z ? cs : LANES;
        REAL *keep = z ? z + 2 * b * t->D * cs : w.keep;
        N(phases)(t, b, &w);
        N(block_keep)(jn, w.v, scale, keep, step);
        N(kept_dot_blocks)(jn, keep, step, groups, P, ldp, sums, ldt);
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

/* As kept_dot, of four blocks. */
LOOP void N(dot4)(size_t jn, const void *const zv[4], size_t cs, size_t rows,
                  const void *const Pv[4], void *const sums[4])
{
    const REAL *P0 = Pv[0], *P1 = Pv[1], *P2 = Pv[2], *P3 = Pv[3];

    for (size_t r = 0; r < rows; r += LANES) {
        const REAL *z0 = (const REAL *)zv[0] + r, *z1 = (const REAL *)zv[1] + r;
        const REAL *z2 = (const REAL *)zv[2] + r, *z3 = (const REAL *)zv[3] + r;
        VEC e0 = { 0 }, e1 = { 0 }, e2 = { 0 }, e3 = { 0 };
        VEC o0 = { 0 }, o1 = { 0 }, o2 = { 0 }, o3 = { 0 };
        for (size_t j = 0; j < 2 * jn; j += 2) {
            e0 += V_LOAD(z0 + j * cs) * P0[j];
            o0 += V_LOAD(z0 + (j + 1) * cs) * P0[j + 1];
            e1 += V_LOAD(z1 + j * cs) * P1[j];
            o1 += V_LOAD(z1 + (j + 1) * cs) * P1[j + 1];
            e2 += V_LOAD(z2 + j * cs) * P2[j];
            o2 += V_LOAD(z2 + (j + 1) * cs) * P2[j + 1];
            e3 += V_LOAD(z3 + j * cs) * P3[j];
            o3 += V_LOAD(z3 + (j + 1) * cs) * P3[j + 1];
        }
        V_STORE((REAL *)sums[0] + r, e0 + o0);
        V_STORE((REAL *)sums[1] + r, e1 + o1);
        V_STORE((REAL *)sums[2] + r, e2 + o2);
        V_STORE((REAL *)sums[3] + r, e3 + o3);
    }
}

/* ---- products with columns ------------------------------------------------------------------- */

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

/* ---- rows ------------------------------------------------------------------------------------ */

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
INLINE void N(transpose)(const REAL *cols, size_t n, REAL *z, size_t ldz)
{
    VEC a[LANES];

    UNROLL
    for (int i = 0; i < LANES; i++)
        a[i] = V_LOAD(cols + i * LANES);
    N(shuffle)(a);
    if (LANES >= 4)
        N(shuffle)(a);
    if (LANES >= 8)
        N(shuffle)(a);
    if (LANES >= 16)
        N(shuffle)(a);
    for (size_t i = 0; i < n; i++)
        *(N(loose) *)(void *)(z + i * ldz) = a[i];
}

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
LOOP void N(block_derivative)(size_t jn, const REAL *v, const REAL *scale, REAL c, REAL *dz)
{
    for (size_t j = 0; j < jn; j++) {
        const VEC t = V_LOAD(v + j * LANES) * scale[j];
        const VEC p = t * (c * (REAL)3.14159265358979323846);
        VEC s, q;
        N(sincos)(t, &s, &q);
        V_STORE(dz + 2 * j * LANES, s * p);
        V_STORE(dz + (2 * j + 1) * LANES, -(q * p));
    }
}

LOOP void N(turns)(const struct simd_term *t, const double *x, size_t ldx, size_t n, void *to,
                   void *scratch)
{
    const struct N(work) w = N(work_in)(t, scratch);
    const REAL *scale = t->scale;
    REAL *v = to;

    N(load)(t, x, ldx, n, &w);
    for (size_t b = 0; b < t->nb; b++, scale += t->D, v += t->D * LANES) {
        const size_t jn = N(in_block)(t, b);
        N(phases)(t, b, &w);
        for (size_t j = 0; j < jn; j++)
            V_STORE(v + j * LANES, V_LOAD(w.v + j * LANES) * scale[j]);
    }
}

LOOP void N(rows)(const struct simd_term *t, const double *x, size_t ldx, size_t n, double c,
                    void *zv, void *dzv, size_t ldz, void *scratch)
{
    const struct N(work) w = N(work_in)(t, scratch);
    const REAL *scale = t->scale;
    REAL *z = zv, *dz = dzv;

    N(load)(t, x, ldx, n, &w);
    for (size_t b = 0; b < t->nb; b++, scale += t->D) {
        const size_t jn = N(in_block)(t, b), at = 2 * b * t->D;
        N(phases)(t, b, &w);
        if (z) {
            N(block_keep)(jn, w.v, scale, w.keep, LANES);
            for (size_t i = 0; i < 2 * jn * LANES; i += LANES)
                V_STORE(w.keep + i, V_LOAD(w.keep + i) * (REAL)c);
            N(store_rows)(w.keep, 2 * jn, n, z + at, ldz);
        }
        if (dz) {
            N(block_derivative)(jn, w.v, scale, (REAL)c, w.keep);
            N(store_rows)(w.keep, 2 * jn, n, dz + at, ldz);
        }
    }
}

/* ---- sums over windows ------------------------------------------------------------------------- */

LOOP void N(load_windows)(const struct simd_term *t, const struct simd_windows *k,
                          const struct N(work) *w)
{
    const size_t per = k->symbols ? 1 : k->channels;

    if (k->symbols && !t->wide) {
        memset(w->x, 0, t->dp * LANES * sizeof *w->x);
        for (size_t i = 0; i < k->n; i++)
            for (size_t q = 0; q < k->width; q++)
                if (k->at[i][q] < (double)k->channels) {
                    const size_t e = q * k->channels + (size_t)k->at[i][q];
                    w->x[e * LANES + i] = (REAL)t->inv[e];
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
    const struct N(work) w = N(work_in)(t, scratch);
    const REAL *scale = t->scale;
    REAL *sum = sumv, *turned = k->turned;
    const size_t ldt = 2 * t->D + SIMD_TURNED_PAD;

    N(load_windows)(t, k, &w);
    for (size_t b = 0; b < t->nb; b++, scale += t->D) {
        const size_t jn = N(in_block)(t, b), at = 2 * b * t->D;
        N(phases)(t, b, &w);
        if (k->derivative)
            N(block_derivative)(jn, w.v, scale, (REAL)1, w.keep);
        else
            N(block_keep)(jn, w.v, scale, w.keep, LANES);
        N(store_rows)(w.keep, 2 * jn, k->n, turned, ldt);
        for (size_t r = 0; r < k->rows; r++)
            if (k->first[r + 1] > k->first[r])
                N(add_lanes)(2 * jn, turned, ldt, k->first[r + 1] - k->first[r],
                             k->lane + k->first[r], sum + r * lds + at);
    }
}

#undef V_LOAD
#undef V_STORE
#undef V_BROADCAST
