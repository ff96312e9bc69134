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

#include "compute/cpu/simd_fht.h"

/* Workspace of one lane tile. */
struct N(work) {
    REAL *keep, *v;  /* columns of one block that are not kept elsewhere; its phases */
    REAL *x, *a;     /* inputs; intermediate result of the transforms */
    REAL *part;      /* a part of the phases */
    double *wide;    /* heavy tails: x and a in double */
    struct simd_inputs in; /* by row: the rows */
    bool even;             /* all inputs have one lengthscale */
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

/* The results from entry j on, N(part_size) of them; to: workspace for a part. */
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

/* Writes n rows into lanes, times 1/l; the other lanes and entries d..dp-1 are zero. */
LOOP void N(lanes)(const struct simd_term *t, const struct simd_inputs *in, REAL *out)
{
    const double *x = in->x;
    const size_t ldx = in->ldx, n = in->n;
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

LOOP void N(load)(const struct simd_term *t, const struct simd_inputs *in, struct N(work) *w)
{
    if (t->by_row)
        N(row_load)(t, in, w);
    else if (t->wide)
        N(lanes_wide)(t->wide, in, w->wide);
    else
        N(lanes)(t, in, w->x);
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

/* block_keep with the products of the columns with one vector, added to sums[2]; z may be NULL. */
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

/* kept_dot for two adjacent vectors of rows: whole cache lines in order. */
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

/* The number of frequencies of block b from entry j on that are in one part. */
LOOP size_t N(in_part)(const struct simd_term *t, size_t b, size_t j)
{
    const size_t left = N(in_block)(t, b) - j, most = N(part_size)(t);

    return left < most ? left : most;
}

/* Makes all columns of block b from its phases. */
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

LOOP void N(gen)(const struct simd_term *t, const struct simd_inputs *in, void *zv, size_t cs,
                 const struct simd_up *up, void *scratch)
{
    const size_t k = up->k, ldp = up->ldp, ldt = up->ldt;
    struct N(work) w = N(work_in)(t, scratch);
    const REAL *P = up->P;
    double *sums = up->t;
    REAL *z = zv;

    N(load)(t, in, &w);
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

LOOP void N(gen_block)(const struct simd_term *t, const struct simd_inputs *in, void *zv, size_t cs,
                       const struct simd_up *groups, void *scratch)
{
    struct N(work) w = N(work_in)(t, scratch);
    const REAL *P = groups->P;
    REAL *z = zv;

    N(load)(t, in, &w);
    for (size_t b = 0; b < t->nb; b++, P += 2 * t->D * LANES) {
        const size_t step = z ? cs : LANES;
        REAL *keep = z ? z + 2 * b * t->D * cs : w.keep;
        N(phases)(t, b, &w);
        N(keep_all)(t, b, &w, keep, step);
        N(kept_dot_blocks)(N(in_block)(t, b), keep, step, groups->k, P, groups->ldp, groups->t,
                           groups->ldt);
    }
}

LOOP void N(dot_block)(const struct simd_term *t, const void *zv, size_t cs, size_t rows,
                       const struct simd_up *groups)
{
    const REAL *z = zv, *P = groups->P;

    for (size_t b = 0; b < t->nb; b++, z += 2 * t->D * cs, P += 2 * t->D * LANES)
        for (size_t r = 0; r < rows; r += LANES)
            N(kept_dot_blocks)(N(in_block)(t, b), z + r, cs, groups->k, P, groups->ldp,
                               groups->t + r, groups->ldt);
}

LOOP void N(dot)(const struct simd_term *t, const void *zv, size_t cs, size_t rows,
                 const struct simd_up *up)
{
    const size_t k = up->k, ldp = up->ldp, ldt = up->ldt;
    const REAL *z = zv, *P = up->P;
    double *sums = up->t;

    for (size_t b = 0; b < t->nb; b++, z += 2 * t->D * cs, P += 2 * t->D) {
        const size_t jn = N(in_block)(t, b);
        size_t r = 0;
        for (; k == 1 && r + 2 * LANES <= rows; r += 2 * LANES)
            N(kept_dot_pair)(jn, z + r, cs, P, sums + r);
        for (; r < rows; r += LANES)
            N(kept_dots)(jn, z + r, cs, k, P, ldp, sums + r, ldt);
    }
}

#include "compute/cpu/simd_columns.h"

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

LOOP void N(turns)(const struct simd_term *t, const struct simd_inputs *in, void *to, void *scratch)
{
    struct N(work) w = N(work_in)(t, scratch);
    const REAL *scale = t->scale;
    REAL *out = to;

    N(load)(t, in, &w);
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

LOOP void N(rows)(const struct simd_term *t, const struct simd_inputs *in, double c, void *zv,
                  void *dzv, size_t ldz, void *scratch)
{
    const size_t n = in->n;
    struct N(work) w = N(work_in)(t, scratch);
    REAL *z = zv, *dz = dzv;

    N(load)(t, in, &w);
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

#include "compute/cpu/simd_windows.h"

#undef V_LOAD
#undef V_STORE
#undef V_BROADCAST
