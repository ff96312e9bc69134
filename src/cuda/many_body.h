/* cuda/many_body.h -- the kernel of many.h; included with MB(name), the suffixed name of a
 * function, NV, eights of vectors, and KS, sixteens of inputs on matrix units (0: differences). */

DEV void MB(many_block)(const struct many_args *a, int block, int chunk, float *smem)
{
    enum { LANES_ = MANY_THREADS };
#if KS
    OWN(uint32_t, ah, 4 * KS);
    OWN(uint32_t, al, 4 * KS);
    OWN(float, norms, 4);
#endif
    OWN(uint32_t, b, 4);
    OWN(uint32_t, kh, 4);
    OWN(uint32_t, kl, 4);
    OWN(float, s, 16);
    OWN(float, low, 16); /* of distances; then the product of factors so far */
    OWN(float, val, 16);
    OWN(float, acc, 4 * NV);
    OWN(double, sum, 4 * NV);
    const size_t row0 = (size_t)block * MANY_ROWS;
    const size_t tiles = (a->r.n + MANY_COLS - 1) / MANY_COLS;
    const size_t first = tiles * (size_t)chunk / (size_t)a->r.chunks;
    const size_t end = tiles * (size_t)(chunk + 1) / (size_t)a->r.chunks;

    (void)smem;
    LANES(l, LANES_) {
        UNROLL
        for (int i = 0; i < 4 * NV; i++)
            acc[ME(l)][i] = 0.0f, sum[ME(l)][i] = 0.0;
#if KS
        UNROLL
        for (int k = 0; k < KS; k++)
            many_inputs(a, row0, l, k, &ah[ME(l)][4 * k], &al[ME(l)][4 * k]);
        for (int h = 0; h < 2; h++) {
            const size_t row = row0 + project_row(l, h);
            const size_t i = row >= a->r.m ? 0 : a->r.at ? (size_t)a->r.at[row] : row;
            norms[ME(l)][h] = a->rows.high[i];
            norms[ME(l)][2 + h] = a->rows.low[i];
        }
#endif
    }
    for (size_t tile = first; tile < end; tile++) {
        const size_t col0 = tile * MANY_COLS;
        LANES(l, LANES_)
            UNROLL
            for (int i = 0; i < 16; i++)
                val[ME(l)][i] = s[ME(l)][i] = low[ME(l)][i] = 0.0f;
#if KS
        UNROLL
        for (int t = 0; t < 4; t++)
            UNROLL
            for (int k = 0; k < KS; k++) {
                LANES(l, LANES_)
                    many_load(a->X16 + ((tile * 4 + (size_t)t) * KS + (size_t)k) * 128 +
                                  (size_t)(l % 32) * 4, b[ME(l)]);
                MMA(LANES_, low, 4 * t, al, 4 * k, b, 2);
                MMA(LANES_, low, 4 * t, al, 4 * k, b, 0);
                MMA(LANES_, low, 4 * t, ah, 4 * k, b, 2);
                MMA(LANES_, s, 4 * t, ah, 4 * k, b, 0);
            }
        LANES(l, LANES_) {
            many_distances(a, col0, l, norms[ME(l)], low[ME(l)], s[ME(l)]);
            many_values(a, 0, s[ME(l)], low[ME(l)], val[ME(l)]);
        }
#else
        for (int f = 0; f < a->r.factors; f++) {
            LANES(l, LANES_)
                UNROLL
                for (int i = 0; i < 16; i++)
                    s[ME(l)][i] = 0.0f;
            for (int i0 = a->r.from[f]; i0 < a->r.to[f]; i0 += MANY_DEPTH) {
                SYNC();
                many_fetch(a, f, row0, col0, i0, smem);
                SYNC();
                LANES(l, LANES_)
                    many_differences(smem, l, s[ME(l)]);
            }
            LANES(l, LANES_)
                many_values(a, f, s[ME(l)], low[ME(l)], val[ME(l)]);
        }
#endif
        UNROLL
        for (int kk = 0; kk < 2; kk++) {
            LANES(l, LANES_)
                many_left(val[ME(l)], kk, kh[ME(l)], kl[ME(l)]);
            UNROLL
            for (int e = 0; e < NV; e++) {
                LANES(l, LANES_)
                    many_load(a->V + (((tile * 2 + (size_t)kk) * NV + (size_t)e) * 32 +
                                      (size_t)(l % 32)) * 4, b[ME(l)]);
                MMA(LANES_, acc, 4 * e, kl, 0, b, 0);
                MMA(LANES_, acc, 4 * e, kh, 0, b, 2);
                MMA(LANES_, acc, 4 * e, kh, 0, b, 0);
            }
        }
        if ((tile - first) % MANY_FLUSH == MANY_FLUSH - 1 || tile + 1 == end)
            LANES(l, LANES_)
                UNROLL
                for (int i = 0; i < 4 * NV; i++) {
                    sum[ME(l)][i] += (double)acc[ME(l)][i];
                    acc[ME(l)][i] = 0.0f;
                }
    }
    LANES(l, LANES_)
        UNROLL
        for (int i = 0; i < 4 * NV; i++) {
            const size_t row = row0 + project_row(l, i % 4 / 2);
            const int c = i / 4 * 8 + 2 * (l % 4) + i % 2;
            if (row < a->r.m && c < a->r.K)
                a->r.part[((size_t)chunk * (size_t)a->r.K + (size_t)c) * a->r.m + row] =
                    sum[ME(l)][i] * a->back[c];
        }
}
#undef NV
#undef KS
#undef MB
