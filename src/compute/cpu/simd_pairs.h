/* compute/cpu/simd_pairs.h -- the loops of pairs.h for one vector level; included by simd_level.h
 * with the names of single precision (simd_real.h), and PAIRS_ROWS, the rows whose numbers stay in
 * registers with those of 4 vectors of columns. */

#define V_LOAD(p) (*(const f32_vec *)(const void *)(p))
#define V_STORE(p, v) (*(f32_vec *)(void *)(p) = (v))
/* s - 0 is s, of either sign of 0, and compilers know it. */
#define V_BROADCAST(s) ((s) - (f32_vec){ 0 })

enum { PAIRS_VECS = 4, PAIRS_UNIT_VECS = PAIRS_UNIT / LANES };

/* The root and the least of each lane, as single instructions where there are any (b where a is not
 * a number); and c0 + x (c1 + x (c2 + x c3)) with the numbers of each lane's part of a table. */
INLINE f32_vec f32_root(f32_vec a);
INLINE f32_vec f32_least(f32_vec a, f32_vec b);
INLINE f32_vec f32_cubic(const float *table, f32_ivec part, f32_vec x);

/* Numbers of pairs. */

/* PAIRS_ROWS rows of a group with PAIRS_VECS vectors of a panel: x and y are their first
 * entries. */
INLINE void pairs_block(struct pairs_entries e, const bool dot, const float *x, const float *y,
                        float *S)
{
    const float *xr = x + (e.plain + e.split) * PAIRS_PANEL,
                *yr = y + (e.plain + e.split) * PAIRS_GROUP;
    f32_vec sum[PAIRS_ROWS][PAIRS_VECS] = { { { 0 } } };

    for (size_t i = 0; i < e.plain; i++, x += PAIRS_PANEL, y += PAIRS_GROUP)
        UNROLL
        for (int r = 0; r < PAIRS_ROWS; r++) {
            const f32_vec b = V_BROADCAST(y[r]);
            UNROLL
            for (int v = 0; v < PAIRS_VECS; v++) {
                const f32_vec a = V_LOAD(x + v * LANES), u = a - b;
                sum[r][v] += dot ? a * b : u * u;
            }
        }
    for (size_t i = 0; i < e.split; i++) {
        UNROLL
        for (int r = 0; r < PAIRS_ROWS; r++) {
            const f32_vec b = V_BROADCAST(y[r]), br = V_BROADCAST(yr[r]);
            UNROLL
            for (int v = 0; v < PAIRS_VECS; v++) {
                const f32_vec u = (V_LOAD(x + v * LANES) - b) + (V_LOAD(xr + v * LANES) - br);
                sum[r][v] += u * u;
            }
        }
        x += PAIRS_PANEL, xr += PAIRS_PANEL, y += PAIRS_GROUP, yr += PAIRS_GROUP;
    }
    UNROLL
    for (int r = 0; r < PAIRS_ROWS; r++)
        UNROLL
        for (int v = 0; v < PAIRS_VECS; v++)
            V_STORE(S + r * PAIRS_COLS + v * LANES, sum[r][v]);
}

LOOP void pairs_numbers(struct pairs_entries e, const float *panels, size_t cols,
                        const float *group, size_t rows, float *S)
{
    const size_t size = (e.plain + 2 * e.split) * PAIRS_PANEL;

    for (size_t j = 0; j < cols; j += PAIRS_PANEL, panels += size)
        for (size_t r = 0; r < rows; r += PAIRS_ROWS)
            for (size_t v = 0; v < PAIRS_PANEL; v += PAIRS_VECS * LANES)
                if (e.dot)
                    pairs_block(e, true, panels + v, group + r, S + r * PAIRS_COLS + j + v);
                else
                    pairs_block(e, false, panels + v, group + r, S + r * PAIRS_COLS + j + v);
}

/* Values. */

/* The constants of a value: what exceeds `most` counts as that, and 2^-126 is nothing beside 1. */
static const float pairs_far = 126.0F;
struct pairs_constants { f32_vec most, weight, c, p1, p2, q[6]; };

/* weight 2^-t for 0 <= t <= 126, with q the coefficients below times the weight. */
INLINE f32_vec pairs_power2(const struct pairs_constants *k, f32_vec t, const bool weigh)
{
    f32_vec f, p = k->q[5];
    f32_ivec odd;

    f32_reduce(t, &f, &odd);
    UNROLL
    for (int i = 5; i-- > 0;)
        p = p * f + k->q[i];
    p = weigh ? p * f + k->weight : p * f + 1.0F;
    return (f32_vec)((f32_ivec)p - (__builtin_convertvector(t - f, f32_ivec) << 23));
}

/* 2^-f = 1 + f q(f) on |f| <= 1/2 by the polynomial q of least relative error, 2e-9; 2^0 is 1
 * exactly. */
LOOP struct pairs_constants pairs_constants(const struct pairs_value *v)
{
    static const float q[] = { -0.693147182F, 0.240226477F,   -0.0555033237F,
                               0.00961843692F, -0.00133988739F, 0.00015353362F };
    const float weigh = v->form == KERNEL_GAUSS ? v->weight : 1.0F;
    const float most = v->form == KERNEL_GAUSS   ? pairs_far
                       : v->form == KERNEL_DECAY ? pairs_far * pairs_far
                                                 : 1e30F;
    struct pairs_constants k = { V_BROADCAST(most),  V_BROADCAST(v->weight), V_BROADCAST(v->c),
                                 V_BROADCAST(v->p1), V_BROADCAST(v->p2),     { { 0 } } };

    for (int i = 0; i < 6; i++)
        k.q[i] = V_BROADCAST(q[i] * weigh);
    if (v->form == KERNEL_DECAY)
        k.p1 *= k.weight, k.p2 *= k.weight;
    return k;
}

/* log(1 + z) / log 2 for 0 <= z <= 1e30.  With u = 1 + z, rounded, and u = 2^e (1 + f) it is that
 * of u and of what u has lost, (z - (u - 1)) / u.  log(1 + f) = f + f^2 q(f) by the polynomial q of
 * least relative error, 3e-8, where sqrt(1/2) <= 1 + f <= sqrt 2. */
INLINE f32_vec pairs_log2p(f32_vec z)
{
    static const float q[] = { -0.499999911F, 0.333339512F, -0.250017554F, 0.199620724F,
                               -0.165705085F, 0.149179742F, -0.143075228F, 0.0873484462F };
    const f32_vec u = z + 1.0F, lost = (z - (u - 1.0F)) / u;
    const f32_ivec e = ((f32_ivec)u - 0x3f3504f3) >> 23; /* sqrt(1/2) */
    const f32_vec f = (f32_vec)((f32_ivec)u - (e << 23)) - 1.0F;
    f32_vec p = V_BROADCAST(q[7]);

    UNROLL
    for (int i = 7; i-- > 0;)
        p = p * f + q[i];
    p = f + (f * f * p + lost);
    return p * 1.44269504F + __builtin_convertvector(e, f32_vec);
}

INLINE f32_vec pairs_gauss(const struct pairs_constants *k, f32_vec s)
{
    return pairs_power2(k, f32_least(s, k->most), true);
}

INLINE f32_vec pairs_decay(const struct pairs_constants *k, f32_vec s)
{
    const f32_vec a = f32_root(f32_least(s, k->most));

    return (k->weight + a * (k->p1 + a * k->p2)) * pairs_power2(k, a, false);
}

INLINE f32_vec pairs_inverse(const struct pairs_constants *k, f32_vec s)
{
    return k->weight / (1.0F + f32_least(s, k->most));
}

INLINE f32_vec pairs_power(const struct pairs_constants *k, f32_vec s)
{
    const f32_vec t = pairs_log2p(f32_least(s, k->most)) * k->p1;

    return k->weight * pairs_power2(k, f32_least(t, V_BROADCAST(pairs_far)), false);
}

INLINE f32_vec pairs_dot(const struct pairs_constants *k, f32_vec s, float power)
{
    const f32_vec q = s + k->c;
    f32_vec p = k->weight * q;

    for (float i = 1.0F; i < power; i += 1.0F)
        p *= q;
    return p;
}

INLINE f32_vec pairs_table(const struct pairs_constants *k, const float *table, f32_vec s)
{
    const f32_vec r = f32_root(f32_least(s, V_BROADCAST(1e24F)));
    const f32_vec v = f32_least(r / (1.0F + r) * (float)BACKEND_TABLE,
                                V_BROADCAST((float)BACKEND_TABLE - 0.0001F));
    const f32_ivec part = __builtin_convertvector(v, f32_ivec);

    return k->weight * f32_cubic(table, part, v - __builtin_convertvector(part, f32_vec));
}

INLINE void pairs_put(const enum pairs_mode mode, float *at, f32_vec v)
{
    if (mode == PAIRS_TIMES)
        v *= V_LOAD(at);
    else if (mode == PAIRS_ADD)
        v += V_LOAD(at);
    V_STORE(at, v);
}

/* s is the number of a pair in `value`, an expression. */
#define PAIRS_LOOP(value)                                                                          \
    for (size_t r = 0; r < rows * PAIRS_COLS; r += PAIRS_COLS)                                     \
        for (size_t j = r; j < r + cols; j += LANES) {                                             \
            const f32_vec s = V_LOAD(S + j);                                                       \
            pairs_put(mode, K + j, value);                                                         \
        }

INLINE void pairs_values_by(const enum pairs_mode mode, const struct pairs_value *v, size_t rows,
                            size_t cols, const float *S, float *K)
{
    const struct pairs_constants k = pairs_constants(v);

    if (v->table)
        PAIRS_LOOP(pairs_table(&k, v->table, s))
    else if (v->form == KERNEL_GAUSS)
        PAIRS_LOOP(pairs_gauss(&k, s))
    else if (v->form == KERNEL_DECAY)
        PAIRS_LOOP(pairs_decay(&k, s))
    else if (v->form == KERNEL_POWER && v->p1 == 1.0F)
        PAIRS_LOOP(pairs_inverse(&k, s))
    else if (v->form == KERNEL_POWER)
        PAIRS_LOOP(pairs_power(&k, s))
    else if (v->form == KERNEL_DOT)
        PAIRS_LOOP(pairs_dot(&k, s, v->p1))
    else
        PAIRS_LOOP(((void)s, k.weight))
}

LOOP void pairs_values(const struct pairs_value *v, enum pairs_mode mode, size_t rows, size_t cols,
                       const float *S, float *K)
{
    if (mode == PAIRS_STORE)
        pairs_values_by(PAIRS_STORE, v, rows, cols, S, K);
    else if (mode == PAIRS_TIMES)
        pairs_values_by(PAIRS_TIMES, v, rows, cols, S, K);
    else
        pairs_values_by(PAIRS_ADD, v, rows, cols, S, K);
}

/* Vectors: units of 16 in blocks of up to four, a column after the other, then single ones. */

enum { PAIRS_BLOCK = 4 };

/* Columns j to j + LANES of LANES vectors, of which only `count` exist; a block is `wide` vectors
 * wide. */
LOOP void pairs_turn(size_t count, size_t cols, const double *V, size_t ldv, float *to, size_t wide)
{
    f32_vec a[LANES];

    for (size_t i = 0; i < LANES; i++)
        for (size_t l = 0; l < LANES; l++)
            a[i][l] = i < count && l < cols ? (float)V[i * ldv + l] : 0.0F;
    f32_turn_square(a);
    for (size_t i = 0; i < LANES; i++)
        V_STORE(to + i * wide, a[i]);
}

/* The same where all exist. */
LOOP void pairs_turn_all(const double *V, size_t ldv, float *to, size_t wide)
{
    f32_vec a[LANES];

    UNROLL
    for (size_t i = 0; i < LANES; i++)
        a[i] = __builtin_convertvector(*(const f32_wloose *)(const void *)(V + i * ldv), f32_vec);
    f32_turn_square(a);
    UNROLL
    for (size_t i = 0; i < LANES; i++)
        V_STORE(to + i * wide, a[i]);
}

LOOP void pairs_pack(struct pairs_vectors v, size_t cols, const double *V, size_t ldv, float *to)
{
    const size_t all = v.units * PAIRS_UNIT;

    for (size_t u = 0, w; u < v.units; u += w) {
        w = v.units - u < PAIRS_BLOCK ? v.units - u : PAIRS_BLOCK;
        for (size_t c = 0; c < w * PAIRS_UNIT; c += LANES)
            for (size_t j = 0; j < PAIRS_COLS; j += LANES) {
                const size_t c0 = u * PAIRS_UNIT + c, count = v.k > c0 ? v.k - c0 : 0;
                float *at = to + j * w * PAIRS_UNIT + c;
                if (count >= LANES && j + LANES <= cols)
                    pairs_turn_all(V + c0 * ldv + j, ldv, at, w * PAIRS_UNIT);
                else
                    pairs_turn(count, cols > j ? cols - j : 0, V + c0 * ldv + j, ldv, at,
                               w * PAIRS_UNIT);
            }
        to += w * PAIRS_UNIT * PAIRS_COLS;
    }
    for (size_t c = all; c < all + v.single; c++, to += PAIRS_COLS)
        for (size_t j = 0; j < PAIRS_COLS; j++)
            to[j] = j < cols ? (float)V[c * ldv + j] : 0.0F;
}

/* Sums. */

INLINE void pairs_add(double *to, f32_vec a)
{
    f32_wloose *w = (f32_wloose *)(void *)to;

    *w += __builtin_convertvector(a, f32_wvec);
}

/* R rows of K times C vectors of lanes of a block `wide` vectors wide. */
enum { PAIRS_MOST = 12 };
INLINE void pairs_product(const int R, const int C, size_t cols, const float *K, const float *V,
                          size_t wide, double *sums, size_t lds)
{
    f32_vec sum[PAIRS_MOST][PAIRS_BLOCK] = { { { 0 } } };

    for (size_t j = 0; j < cols; j++, V += wide)
        UNROLL
        for (int r = 0; r < R; r++) {
            const f32_vec b = V_BROADCAST(K[(size_t)r * PAIRS_COLS + j]);
            UNROLL
            for (int c = 0; c < C; c++)
                sum[r][c] += b * V_LOAD(V + c * LANES);
        }
    UNROLL
    for (int r = 0; r < R; r++)
        UNROLL
        for (int c = 0; c < C; c++)
            pairs_add(sums + (size_t)r * lds + c * LANES, sum[r][c]);
}

/* Vectors of 64 bytes take all units of a block at once, in 24 registers or fewer of 32; others go
 * unit by unit.  What stands for rows past the last is not read. */
LOOP void pairs_units(size_t units, size_t rows, size_t cols, const float *K, const float *V,
                      double *sums, size_t lds)
{
    const size_t wide = units * PAIRS_UNIT;

#if VEC_BYTES == 64
    if (units < 3) {
        if (units == 2)
            pairs_product(12, 2, cols, K, V, wide, sums, lds);
        else
            pairs_product(12, 1, cols, K, V, wide, sums, lds);
        return;
    }
    for (size_t r = 0; r < rows; r += 6)
        if (units == 4)
            pairs_product(6, 4, cols, K + r * PAIRS_COLS, V, wide, sums + r * lds, lds);
        else
            pairs_product(6, 3, cols, K + r * PAIRS_COLS, V, wide, sums + r * lds, lds);
#else
    const int R = VEC_BYTES == 32 ? 6 : 2;
    for (size_t u = 0; u < wide; u += PAIRS_UNIT)
        for (size_t r = 0; r < rows; r += (size_t)R)
            pairs_product(R, PAIRS_UNIT_VECS, cols, K + r * PAIRS_COLS, V + u, wide,
                          sums + r * lds + u, lds);
#endif
}

/* Four rows of K times one vector; sums stay apart by lane. */
LOOP void pairs_single(size_t cols, const float *K, const float *V, double *sums, size_t lds)
{
    f32_vec sum[4][2] = { { { 0 } } };

    for (size_t j = 0; j < cols; j += 2 * LANES)
        UNROLL
        for (int r = 0; r < 4; r++)
            UNROLL
            for (int h = 0; h < 2; h++)
                sum[r][h] += V_LOAD(K + (size_t)r * PAIRS_COLS + j + (size_t)h * LANES) *
                             V_LOAD(V + j + (size_t)h * LANES);
    UNROLL
    for (int r = 0; r < 4; r++)
        pairs_add(sums + (size_t)r * lds, sum[r][0] + sum[r][1]);
}

LOOP void pairs_sums(struct pairs_vectors v, size_t rows, size_t cols, const float *K,
                     const float *V, double *sums)
{
    const size_t lds = pairs_sums_size(v);

    for (size_t u = 0, w; u < v.units; u += w, V += w * PAIRS_UNIT * PAIRS_COLS) {
        w = v.units - u < PAIRS_BLOCK ? v.units - u : PAIRS_BLOCK;
        pairs_units(w, rows, cols, K, V, sums + u * PAIRS_UNIT, lds);
    }
    sums += v.units * PAIRS_UNIT;
    for (size_t c = 0; c < v.single; c++, V += PAIRS_COLS, sums += PAIRS_LANES)
        for (size_t r = 0; r < rows; r += 4)
            pairs_single(cols, K + r * PAIRS_COLS, V, sums + r * lds, lds);
}
