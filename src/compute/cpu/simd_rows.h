/* compute/cpu/simd_rows.h -- projections of wide terms, a row at a time; included by simd_real.h.
 *
 * A lane tile of a wide term goes through the second-level cache four times; one row of it stays in
 * the first-level cache for all three transforms.  Only the third one's stages inside a vector are
 * left for later: the rows are then transposed, a part of the entries at a time, and these stages
 * are plain additions of whole vectors.  Inputs are read in order, the next row's fetched into the
 * second-level cache meanwhile.
 *
 * A row is D / LANES vectors; the stages across them go in two or three passes, of radices A
 * (stride 1), B and C.  Stages of one transform commute: each begins where the last one ended, and
 * shares that pass with it.
 *
 *   two     A1 | lanes B1 D2 B2 | lanes A2 D3 A3 | B3
 *   three   A1 | B1 | lanes C1 D2 C2 | lanes B2 | A2 D3 A3 | B3 | C3
 *
 * With three, what happens inside A B vectors (4 KB) is done for these before the next; rows of 64
 * KB go through the second-level cache in the passes C alone.  A vector lies between such blocks,
 * so that a pass across them does not meet one set of the cache.
 *
 * Signs are bits: a word for each lane of a group of vectors that a pass holds in registers, those
 * of vector k in bit k from the highest on.  As words of their own they were three rows more. */

struct N(radices) {
    int A, B, C; /* C: 1 where two are enough, A: 0 where the width has none */
};

LOOP struct N(radices) N(row_radices)(size_t D)
{
    switch (D / LANES) {
    case 256:
        return (struct N(radices)){ 16, 16, 1 };
    case 512:
        return (struct N(radices)){ 8, 8, 8 };
    case 1024:
        return (struct N(radices)){ 8, 8, 16 };
    default:
        return (struct N(radices)){ 0, 0, 0 };
    }
}

/* True when rows are faster than lanes.  Measured cycles for a vector, rows against lanes, with one
 * block: 4096 floats 50 against 57, 8192 50 against 73, 16384 62 against 89; 2048 doubles 35
 * against 39, 4096 37 against 42, 8192 57 against 78.  With several blocks lanes read their inputs
 * only once and are as fast or faster (floats, 8192: 50; 4096: 37 against 41). */
LOOP bool N(goes_by_row)(const struct fm_term *fm, size_t dp)
{
    return LEVEL_ROWS && fm->nb == 1 && dp == fm->D && !fm->phase64 && N(row_radices)(fm->D).A > 0;
}

/* The number of vectors of sign words, and in `at` where those of each transform begin: D1 and D3
 * in groups of A, D2 in groups of the widest radix. */
LOOP size_t N(row_signs)(size_t D, size_t at[3])
{
    const struct N(radices) r = N(row_radices)(D);
    const size_t n = D / LANES, a = n / (size_t)r.A, last = n / (size_t)(r.C > 1 ? r.C : r.B);

    at[0] = 0;
    at[1] = a;
    at[2] = a + last;
    return 2 * a + last;
}

/* Signs of D entries to groups of R vectors `stride` apart. */
LOOP void N(pack_signs)(const int8_t *sign, size_t D, size_t R, size_t stride, IVEC *to)
{
    for (size_t i = 0; i < D; i++)
        if (sign[i] < 0) {
            const size_t v = i / LANES, high = v / (stride * R), k = v / stride % R;
            N(word) *group = (N(word) *)(to + high * stride + v % stride);
            group[i % LANES] |= (N(word))((N(uword))1 << (sizeof(REAL) * 8 - 1 - k));
        }
}

INLINE void N(flip_bits)(VEC *v, const int R, const IVEC signs)
{
    UNROLL
    for (int k = 0; k < R; k++)
        v[k] = (VEC)((IVEC)v[k] ^ ((signs << k) & N(HIGHEST)));
}

/* Prefetches `lines` cache lines. */
INLINE void N(ask)(const char **at, const int lines)
{
    UNROLL
    for (int i = 0; i < lines; i++)
        __builtin_prefetch(*at + i * 64, 0, 2);
    *at += lines * 64;
}

/* The position of vector i of a row, in vectors. */
INLINE size_t N(row_place)(size_t D, size_t i)
{
    return D / LANES > 256 ? i + i / 64 : i;
}

/* The distance between rows: an odd number of cache lines, so that the same entry of many rows
 * falls into many sets. */
LOOP size_t N(row_ld)(size_t D)
{
    return N(row_place)(D, D / LANES) * LANES + LANES;
}

/* The cache lines that are prefetched with each 8 vectors in A1, B1, C1 D2 C2, B2, A2 D3 A3, B3,
 * C3: as many as each pass has time for, together those of 8 vectors of doubles.  Spreading them
 * evenly costs 5 cycles a vector more, not prefetching 25. */
static const int N(lines)[7] = { LANES >= 16 ? 3 : 2, LANES >= 16,     LANES >= 16 ? 5 : 3,
                                 LANES >= 16 ? 3 : 2, LANES / 8,       LANES >= 16,
                                 LANES >= 16 };

/* A pass of radix R over n vectors in place, at distance `apart`, in groups of neighbours of
 * `stride`. lanes: first the stages inside each; lines: those prefetched with each R.  All members
 * but n and lines are constants where a pass is called, and are folded into its code. */
struct N(row_pass) {
    int R;
    size_t n, stride, apart;
    bool lanes;
    int lines;
};

/* signs: flips, and the same stages again, of the next transform; or NULL. */
INLINE void N(row_pass)(const struct N(row_pass) pass, REAL *v, const IVEC *signs,
                        const char **ahead)
{
    const int R = pass.R;
    const size_t n = pass.n, stride = pass.stride, apart = pass.apart;

    for (size_t high = 0; high < n; high += stride * (size_t)R)
        for (size_t low = 0; low < stride; low++) {
            REAL *p = v + (high + low) * LANES;
            VEC a[16];
            UNROLL
            for (int k = 0; k < R; k++)
                a[k] = pass.lanes ? N(fht_lanes)(p + (size_t)k * apart * LANES)
                                  : V_LOAD(p + (size_t)k * apart * LANES);
            N(butterfly)(a, R);
            if (signs) {
                N(flip_bits)(a, R, *signs++);
                N(butterfly)(a, R);
            }
            UNROLL
            for (int k = 0; k < R; k++)
                V_STORE(p + (size_t)k * apart * LANES, a[k]);
            N(ask)(ahead, pass.lines);
        }
}

/* R vectors of inputs, times 1/l. */
INLINE void N(row_scaled)(const int R, const double *x, const double *inv, const bool even, VEC *a)
{
    UNROLL
    for (int k = 0; k < R; k++)
        a[k] = N(narrowed)(x + (size_t)k * LANES, inv + (even ? 0 : (size_t)k * LANES), even);
}

/* One row of inputs; even: all have one lengthscale. */
struct N(row_inputs) {
    const struct simd_term *t;
    const double *x;
    bool even;
};

/* A1 of n vectors, the i0-th input on. */
INLINE void N(row_read)(const int R, const struct N(row_inputs) in, size_t i0, size_t n, REAL *v,
                        const IVEC *signs, const char **ahead)
{
    const struct simd_term *t = in.t;
    const double *x = in.x;
    const bool even = in.even;
    const size_t step = (size_t)R * LANES, end = i0 + n * LANES;
    VEC a[16];

    for (size_t i = i0; i < end; i += step, v += step) {
        if (i >= t->d) {
            memset(v, 0, (end - i) * sizeof *v);
            return;
        }
        if (i + step > t->d) {
            double last[2][16 * LANES] = { { 0.0 } };
            memcpy(last[0], x + i, (t->d - i) * sizeof *x);
            memcpy(last[1], t->inv + i, (t->d - i) * sizeof *x);
            N(row_scaled)(R, last[0], last[1], false, a);
        } else {
            N(row_scaled)(R, x + i, even ? t->inv : t->inv + i, even, a);
        }
        N(flip_bits)(a, R, *signs++);
        N(butterfly)(a, R);
        UNROLL
        for (int k = 0; k < R; k++)
            V_STORE(v + (size_t)k * LANES, a[k]);
        N(ask)(ahead, N(lines)[0] * R / 8);
    }
}

INLINE void N(row_two)(const int A, const int B, const struct N(row_inputs) in, REAL *v,
                       const char *ahead)
{
    typedef struct N(row_pass) pass;
    const size_t a = (size_t)A, n = a * (size_t)B;
    const int *l = N(lines), more = l[1] + l[6];
    const IVEC *s = in.t->signs;
    size_t at[3];

    N(row_signs)(in.t->D, at);
    N(row_read)(A, in, 0, n, v, s, &ahead);
    N(row_pass)((pass){B, n, a, a, true, (l[2] + more) * B / 8}, v, s + at[1], &ahead);
    N(row_pass)((pass){A, n, 1, 1, true, (l[3] + l[4]) * A / 8}, v, s + at[2], &ahead);
    N(row_pass)((pass){B, n, a, a, false, l[5] * B / 8}, v, NULL, &ahead);
}

INLINE void N(row_three)(const int A, const int B, const int C, const struct N(row_inputs) in,
                         REAL *v, const char *ahead)
{
    typedef struct N(row_pass) pass;
    const size_t a = (size_t)A, ab = a * (size_t)B, n = ab * (size_t)C, groups = ab / a;
    const size_t step = (ab + 1) * LANES;
    const IVEC *s = in.t->signs;
    const int *l = N(lines);
    size_t at[3];

    N(row_signs)(in.t->D, at);
    for (size_t i = 0; i < (size_t)C; i++) {
        N(row_read)(A, in, i * ab * LANES, ab, v + i * step, s + i * groups, &ahead);
        N(row_pass)((pass){B, ab, a, a, false, l[1] * B / 8}, v + i * step, NULL, &ahead);
    }
    N(row_pass)((pass){C, n, ab, ab + 1, true, l[2] * C / 8}, v, s + at[1], &ahead);
    for (size_t i = 0; i < (size_t)C; i++) {
        REAL *p = v + i * step;
        N(row_pass)((pass){B, ab, a, a, true, l[3] * B / 8}, p, NULL, &ahead);
        N(row_pass)((pass){A, ab, 1, 1, false, l[4] * A / 8}, p, s + at[2] + i * groups, &ahead);
        N(row_pass)((pass){B, ab, a, a, false, l[5] * B / 8}, p, NULL, &ahead);
    }
    N(row_pass)((pass){C, n, ab, ab + 1, false, l[6] * C / 8}, v, NULL, &ahead);
}

LOOP void N(row_as)(const struct simd_term *t, const double *x, const bool even, REAL *v,
                    const char *ahead)
{
    const struct N(row_inputs) in = {t, x, even};
    const size_t n = t->D / LANES;

    if (n == 256)
        N(row_two)(16, 16, in, v, ahead);
    else if (n == 512)
        N(row_three)(8, 8, 8, in, v, ahead);
    else
        N(row_three)(8, 8, 16, in, v, ahead);
}

/* Projects all rows; missing rows are zeros. */
LOOP void N(row_project)(const struct simd_term *t, const struct N(work) *w)
{
    const size_t ld = N(row_ld)(t->D);

    for (size_t r = 0; r < w->in.n; r++) {
        const double *x = w->in.x + r * w->in.ldx;
        const char *next = (const char *)((uintptr_t)x + w->in.ldx * sizeof *x);
        if (w->even)
            N(row_as)(t, x, true, w->v + r * ld, next);
        else
            N(row_as)(t, x, false, w->v + r * ld, next);
    }
    if (w->in.n < LANES)
        memset(w->v + w->in.n * ld, 0, (LANES - w->in.n) * ld * sizeof *w->v);
}

/* Transposes entries j .. j + N(PART) - 1 of all rows, then runs the stages inside vectors. */
LOOP const REAL *N(row_part)(const struct simd_term *t, const REAL *v, size_t j, REAL *to)
{
    const size_t ld = N(row_ld)(t->D);

    v += N(row_place)(t->D, j / LANES) * LANES; /* a part lies within 64 vectors */
    for (size_t i = 0; i < N(PART); i += LANES) {
        VEC a[LANES];
        UNROLL
        for (int r = 0; r < LANES; r++)
            a[r] = V_LOAD(v + i + (size_t)r * ld);
        N(turn_square)(a);
        N(butterfly)(a, LANES);
        UNROLL
        for (int e = 0; e < LANES; e++)
            V_STORE(to + (i + (size_t)e) * LANES, a[e]);
    }
    return to;
}

LOOP void N(row_load)(const struct simd_term *t, const struct simd_inputs *in, struct N(work) *w)
{
    w->in = *in;
    w->even = true;
    for (size_t i = 1; i < t->d; i++)
        w->even &= t->inv[i] == t->inv[0];
}

LOOP void N(row_prepare)(struct simd_term *t, const struct fm_term *fm)
{
    const struct N(radices) r = N(row_radices)(t->D);
    const size_t A = (size_t)r.A, last = (size_t)(r.C > 1 ? r.C : r.B);
    size_t at[3];
    IVEC *s = t->signs;

    memset(s, 0, N(row_signs)(t->D, at) * VEC_BYTES);
    for (size_t row = 0; row < 3; row++)
        N(pack_signs)(fm->signs + row * fm->D, t->D, row == 1 ? last : A,
                      row == 1 ? t->D / LANES / last : 1, s + at[row]);
}
