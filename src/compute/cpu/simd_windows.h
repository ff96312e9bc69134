/* compute/cpu/simd_windows.h -- sums over windows of sequences, and dense filters; included by
 * simd_real.h, which says what stands for what. */

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
    N(load)(t, &(struct simd_inputs){k->x, t->d, k->n}, w);
}

/* sum += the rows of z with the indices lane[], one after the other. */
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

/* Four windows of vectors at a time, so that each entry of a filter is read once for all four. */
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
