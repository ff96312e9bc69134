/* compute/cpu/simd_columns.h -- products of a tile of features with right-hand sides, a column at a
 * time; included by simd_real.h, which says what stands for what. */

INLINE void N(halve)(VEC *a, const int n)
{
    UNROLL
    for (int i = 0; i < n; i++)
        a[i] = ZIPLO(a[i], a[i + n]) + ZIPHI(a[i], a[i + n]);
}

/* Sums each of LANES vectors over its lanes: lane i of the result is the sum of a[i].  In each of
 * log2(LANES) steps, pairs of vectors of partial sums become one. */
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

/* Z P of two columns in each of four places, V vectors of rows of each; as many cache lines from
 * `ahead` on are prefetched. */
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

/* The progress of Z't: the current piece, and the columns of it that are done. */
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

/* The sums of kept_dot for four blocks, a few columns of each at a time, and then as many columns
 * of Z't, which come from the cache while those ahead come from memory.  It is one loop, because
 * the CPU looks no more than some hundred instructions ahead.  When the columns of a tile are
 * single vectors, they are prefetched FAR columns ahead, which is longer than memory takes, while
 * they still stay in the first-level cache; else a block ahead, V vectors of a column at a time. */
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

INLINE void N(axpy_any)(size_t cols, const REAL *z, const size_t cs, size_t rows,
                        const struct simd_down *d, const void *ahead)
{
    const REAL *t = d->t;
    const size_t k = d->k, ldw = d->ldw;
    double *w = d->w;
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

LOOP void N(axpy)(size_t cols, const void *z, size_t cs, size_t rows, const struct simd_down *d,
                  const void *ahead)
{
    switch (cs) { /* tiles of the usual sizes get constant addresses */
    case 16:
        N(axpy_any)(cols, z, 16, rows, d, ahead);
        break;
    case 32:
        N(axpy_any)(cols, z, 32, rows, d, ahead);
        break;
    case 128:
        N(axpy_any)(cols, z, 128, rows, d, ahead);
        break;
    default:
        N(axpy_any)(cols, z, cs, rows, d, ahead);
        break;
    }
}

LOOP void N(axpy_stack)(size_t cols, const void *zv, size_t cs, size_t rows, struct simd_stack st,
                        const struct simd_down *d)
{
    const REAL *z = zv, *t = d->t;
    const size_t k = d->k, ldw = d->ldw;
    double *w = d->w;
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
                              struct simd_stack st, const struct simd_down *d)
{
    const size_t groups = d->k, ldw = d->ldw;
    const REAL *t = d->t;
    double *w = d->w;

    for (size_t g = 0; g < groups; g++, t += cs * LANES, w += ldw) {
        size_t j = 0;
        for (; j + LANES <= cols; j += LANES)
            N(axpy_block_cols)(LANES, z + j * cs, cs, rows, st, t, w + j * LANES);
        for (; j < cols; j++)
            N(axpy_block_cols)(1, z + j * cs, cs, rows, st, t, w + j * LANES);
    }
}

LOOP void N(axpy_block)(size_t cols, const void *z, size_t cs, size_t rows, struct simd_stack st,
                        const struct simd_down *groups)
{
    switch (cs) { /* tiles of the usual sizes get constant addresses */
    case 16:
        N(axpy_block_any)(cols, z, 16, rows, st, groups);
        break;
    case 32:
        N(axpy_block_any)(cols, z, 32, rows, st, groups);
        break;
    case 128:
        N(axpy_block_any)(cols, z, 128, rows, st, groups);
        break;
    default:
        N(axpy_block_any)(cols, z, cs, rows, st, groups);
        break;
    }
}
