/* compute/simd_rows.h -- projections of wide terms, a row at a time; included by simd_real.h.
 *
 * A lane tile of a wide term goes through the second-level cache four times; one row of it stays in
 * the first-level cache for all three transforms.  Only the third one's stages inside a vector are
 * left for later: the rows are then transposed, a part of the entries at a time, and these stages are
 * plain additions of whole vectors.  Inputs are read in order, the next row's fetched into the
 * second-level cache meanwhile.
 *
 * A row is D / LANES vectors; the stages across them go in two or three passes, of radices A
 * (stride 1), B and C.  Stages of one transform commute: each begins where the last one ended, and
 * shares that pass with it.
 *
 *   two     A1 | lanes B1 D2 B2 | lanes A2 D3 A3 | B3
 *   three   A1 | B1 | lanes C1 D2 C2 | lanes B2 | A2 D3 A3 | B3 | C3
 *
 * Signs are bits: a word for each lane of a group of vectors that a pass holds in registers, those of
 * vector k in bit k from the highest on.  As words of their own they were three rows more. */

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
    default:
        return (struct N(radices)){ 0, 0, 0 };
    }
}

/* Where this is the faster way, by measurement: one block of 4096 (51 cycles a vector for 57) or 8192
 * floats (50 for 73).  Several blocks read their inputs once in either way, and lanes are as fast or
 * faster (8192: 50, 4096: 37 for 41); doubles gain nothing. */
LOOP bool N(goes_by_row)(const struct fm_term *fm, size_t dp)
{
    return LEVEL_ROWS && sizeof(REAL) == sizeof(float) && fm->nb == 1 && dp == fm->D && !fm->phase64 &&
           N(row_radices)(fm->D).A > 0;
}

/* Vectors of sign words, and where each transform's begin: D1 and D3 in groups of A, D2 of the widest radix. */
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

/* Asks for `lines` lines of the cache. */
INLINE void N(ask)(const char **at, const int lines)
{
    UNROLL
    for (int i = 0; i < lines; i++)
        __builtin_prefetch(*at + i * 64, 0, 2);
    *at += lines * 64;
}

/* One pass over a row of n vectors in place; lanes: first the stages inside each; signs: flips, and
 * the same stages again, of the next transform; lines: asked for with each group of R. */
INLINE void N(row_pass)(const int R, const size_t n, const size_t stride, REAL *v, const bool lanes,
                        const IVEC *signs, const char **ahead, const int lines)
{
    for (size_t high = 0; high < n; high += stride * (size_t)R)
        for (size_t low = 0; low < stride; low++) {
            REAL *p = v + (high + low) * LANES;
            VEC a[16];
            UNROLL
            for (int k = 0; k < R; k++)
                a[k] = lanes ? N(fht_lanes)(p + (size_t)k * stride * LANES)
                             : V_LOAD(p + (size_t)k * stride * LANES);
            N(butterfly)(a, R);
            if (signs) {
                N(flip_bits)(a, R, *signs++);
                N(butterfly)(a, R);
            }
            UNROLL
            for (int k = 0; k < R; k++)
                V_STORE(p + (size_t)k * stride * LANES, a[k]);
            N(ask)(ahead, lines);
        }
}

/* The rest of three transforms after the first pass.  Each pass asks for as many lines of the next
 * row's doubles (two a vector) as it has time for: asked for evenly they were 5 cycles a vector dearer,
 * not at all 25. */
INLINE void N(row_rest)(const int A, const int B, const int C, REAL *v, const IVEC *two,
                        const IVEC *three, const char **at)
{
    const size_t a = (size_t)A, ab = a * (size_t)B, n = ab * (size_t)C;

    if (C == 1) {
        N(row_pass)(B, n, a, v, true, two, at, LANES * B * 7 / 128);
        N(row_pass)(A, n, 1, v, true, three, at, LANES * A * 7 / 128);
        N(row_pass)(B, n, a, v, false, NULL, at, LANES * B * 2 / 128);
        return;
    }
    N(row_pass)(B, n, a, v, false, NULL, at, LANES * 1 / 16);
    N(row_pass)(C, n, ab, v, true, two, at, LANES * 5 / 16);
    N(row_pass)(B, n, a, v, true, NULL, at, LANES * 3 / 16);
    N(row_pass)(A, n, 1, v, false, three, at, LANES * 2 / 16);
    N(row_pass)(B, n, a, v, false, NULL, at, LANES * 1 / 16);
    N(row_pass)(C, n, ab, v, false, NULL, at, LANES * 1 / 16);
}

/* R vectors of inputs, times 1/l. */
INLINE void N(row_scaled)(const int R, const double *x, const double *inv, const bool even, VEC *a)
{
    UNROLL
    for (int k = 0; k < R; k++)
        a[k] = N(narrowed)(x + (size_t)k * LANES, inv + (even ? 0 : (size_t)k * LANES), even);
}

/* The first pass, from d doubles. */
INLINE void N(row_read)(const int R, const struct simd_term *t, const double *x, const bool even,
                        REAL *v, const IVEC *signs, const char **ahead)
{
    const size_t step = (size_t)R * LANES;
    double last[2][16 * LANES] = { { 0.0 } };
    VEC a[16];

    for (size_t i = 0; i < t->D; i += step, v += step) {
        const double *from = x + i, *inv = even ? t->inv : t->inv + i;
        if (i >= t->d) {
            memset(v, 0, (t->D - i) * sizeof *v);
            return;
        }
        if (i + step > t->d) {
            memcpy(last[0], from, (t->d - i) * sizeof *from);
            memcpy(last[1], t->inv + i, (t->d - i) * sizeof *inv);
            N(row_scaled)(R, last[0], last[1], false, a);
        } else {
            N(row_scaled)(R, from, inv, even, a);
        }
        N(flip_bits)(a, R, *signs++);
        N(butterfly)(a, R);
        UNROLL
        for (int k = 0; k < R; k++)
            V_STORE(v + (size_t)k * LANES, a[k]);
        N(ask)(ahead, LANES * 3 / 16);
    }
}

INLINE void N(row_as)(const int A, const int B, const int C, const struct simd_term *t,
                      const struct N(work) *w, size_t row)
{
    const double *x = w->rows + row * w->ldx;
    const char *ahead = (const char *)((uintptr_t)x + w->ldx * sizeof *x);
    REAL *v = w->v + row * (t->D + LANES);
    const IVEC *s = t->signs;
    size_t at[3];

    N(row_signs)(t->D, at);
    if (w->even)
        N(row_read)(A, t, x, true, v, s, &ahead);
    else
        N(row_read)(A, t, x, false, v, s, &ahead);
    N(row_rest)(A, B, C, v, s + at[1], s + at[2], &ahead);
}

/* All rows; those that are not there are zeros. */
LOOP void N(row_project)(const struct simd_term *t, const struct N(work) *w)
{
    const size_t ld = t->D + LANES; /* one line, so that the same entry of 16 rows meets 16 sets */
    const struct N(radices) r = N(row_radices)(t->D);

    for (size_t row = 0; row < w->n; row++)
        if (r.C > 1)
            N(row_as)(8, 8, 8, t, w, row);
        else
            N(row_as)(16, 16, 1, t, w, row);
    if (w->n < LANES)
        memset(w->v + w->n * ld, 0, (LANES - w->n) * ld * sizeof *w->v);
}

/* Entries j .. j + N(PART) - 1 of all rows, transposed; then the stages that were inside vectors. */
LOOP const REAL *N(row_part)(const struct simd_term *t, const REAL *v, size_t j, REAL *to)
{
    for (size_t i = 0; i < N(PART); i += LANES) {
        const REAL *from = v + j + i;
        VEC a[LANES];
        UNROLL
        for (int r = 0; r < LANES; r++)
            a[r] = V_LOAD(from + (size_t)r * (t->D + LANES));
        N(turn_square)(a);
        N(butterfly)(a, LANES);
        UNROLL
        for (int e = 0; e < LANES; e++)
            V_STORE(to + (i + (size_t)e) * LANES, a[e]);
    }
    return to;
}

LOOP void N(row_load)(const struct simd_term *t, const double *x, size_t ldx, size_t n,
                      struct N(work) *w)
{
    w->rows = x;
    w->ldx = ldx;
    w->n = n;
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
