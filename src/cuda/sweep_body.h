/* cuda/sweep_body.h -- one pass over rows of features: t = Z P, W += Z't, both from one reading, or
 * one generation, of each row.  Included with
 *
 *   S(name)  the suffixed name of a function
 *   K        right-hand sides at once
 *   R        rows at once
 *   SOURCE   enum sweep_source
 *
 * A cluster of blocks owns some rows, a block a slice of the columns, a thread SWEEP_COLS of them:
 * with their sums W in registers, and with the features themselves, between the product and the way
 * back. What blocks tell each other is R K sums, once for R rows.  Sums are float32 for about FLUSH
 * rows, then double, and clusters are added in order: the same bits every time. */

/* Loads the features of row r of the group into z; after the last row they are zeros. */
DEV void S(sweep_load)(const struct sweep_args *a, int rank, int t, size_t row, int ok,
                       float z[SWEEP_COLS])
{
#if SOURCE == FROM_CHAIN_
    (void)a, (void)rank, (void)t, (void)row, (void)ok, (void)z;
#else
    const size_t nt = (size_t)a->shape.threads;
    const size_t at = row * sweep_row(a->shape) + (size_t)(a->slice0 + rank) * nt * SWEEP_COLS;
#if SOURCE == FROM_HALF_
    const uint16_t *h = (const uint16_t *)a->z + at + (size_t)t * 8;
    UNROLL
    for (int q = 0; q < SWEEP_COLS / 8; q++) {
        VECTOR(h + (size_t)q * 8 * nt);
#if DEVICE_CODE
        uint4 raw = { 0, 0, 0, 0 };
        if (ok)
            raw = __ldcs((const uint4 *)(h + (size_t)q * 8 * nt));
        const uint32_t word[4] = { raw.x, raw.y, raw.z, raw.w };
        UNROLL
        for (int i = 0; i < 4; i++) {
            const __half2 pair = *(const __half2 *)&word[i];
            const float2 f = __half22float2(pair);
            z[8 * q + 2 * i] = f.x;
            z[8 * q + 2 * i + 1] = f.y;
        }
#else
        for (int i = 0; i < 8; i++)
            z[8 * q + i] = ok ? half_value(h[(size_t)q * 8 * nt + (size_t)i]) : 0.0F;
#endif
    }
#else
    const float *f = (const float *)a->z + at + (size_t)t * 4;
    UNROLL
    for (int q = 0; q < SWEEP_COLS / 4; q++) {
        VECTOR(f + (size_t)q * 4 * nt);
#if DEVICE_CODE
        float4 v = { 0, 0, 0, 0 };
        if (ok)
            v = __ldcs((const float4 *)(f + (size_t)q * 4 * nt));
        z[4 * q] = v.x;
        z[4 * q + 1] = v.y;
        z[4 * q + 2] = v.z;
        z[4 * q + 3] = v.w;
#else
        for (int i = 0; i < 4; i++)
            z[4 * q + i] = ok ? f[(size_t)q * 4 * nt + (size_t)i] : 0.0F;
#endif
    }
#endif
#endif
}

#if SOURCE == FROM_CHAIN_
/* One of the three sign flips of a thread's 16 numbers. */
DEV void S(chain_sign)(uint32_t lo, uint32_t hi, int which, float v[16])
{
    const uint32_t bits = which == 0 ? lo : which == 1 ? lo >> 16 : hi;
    UNROLL
    for (int i = 0; i < 16; i++)
        v[i] = bits >> i & 1u ? -v[i] : v[i];
}

/* The Hadamard transform of D numbers, 16 in each of D / 16 neighbouring threads: four stages
 * within a thread, the others with a partner. */
DEV void S(chain_home)(float v[16])
{
    UNROLL
    for (int h = 1; h < 16; h *= 2)
        UNROLL
        for (int i = 0; i < 16; i++)
            if ((i & h) == 0) {
                const float a = v[i], b = v[i + h];
                v[i] = a + b;
                v[i + h] = a - b;
            }
}
#endif

/* The kernel.  smem of each block: P of its slice (K threads SWEEP_COLS floats), then sums: of
 * warps, 2 x 8 x R K; of the block, 2 x R K.  BLOCK_SMEM(rank): that of another block of the
 * cluster. */
DEV void S(sweep_block)(const struct sweep_args *a, int cluster, int blocks, EMU_OR_RANK)
{
    enum { RK = R * K, WARPS = SWEEP_THREADS / 32, FLUSH = 256 };
    const int nt = a->shape.threads, lanes = LANE_COUNT(blocks, nt);
    const size_t per = (size_t)nt * SWEEP_COLS, width = sweep_row(a->shape);
    OWN(float, acc, K * SWEEP_COLS);
    OWN(float, z, R * SWEEP_COLS);
    OWN(float, sum, RK);
    OWN(float, other, RK > 16 ? RK : 16);
    int parity = 0, since = 0;

    LANES(l, lanes) {
        const int rank = RANK(l, nt), t = LOCAL(l, nt);
        float *p = (float *)BLOCK_SMEM(rank);
        UNROLL
        for (int i = 0; i < K * SWEEP_COLS; i++)
            acc[ME(l)][i] = 0.0F;
        for (int i = t; a->up && i < K * nt * SWEEP_COLS; i += nt) {
            const size_t k = (size_t)i / per, in = (size_t)i % per;
            p[i] = a->P[k * width + (size_t)(a->slice0 + rank) * per + in];
        }
    }
    SYNC();
    for (size_t at = (size_t)cluster * R; at < a->rows; at += (size_t)a->clusters * R) {
#if SOURCE == FROM_CHAIN_
        UNROLL
        for (int r = 0; r < R; r++) {
            OWN(float, v, 16);
            LANES(l, lanes) {
                const size_t row = at + (size_t)r,
                             first = (size_t)(LOCAL(l, nt) * 16) % (size_t)a->chain.D;
                UNROLL
                for (int i = 0; i < 16; i += 4) {
                    UNROLL
                    for (int q = 0; q < 4; q++)
                        v[ME(l)][i + q] = 0.0F;
                    if (row < a->rows)
                        get_four(a->chain.x + row * (size_t)a->chain.D + first + (size_t)i,
                                 v[ME(l)] + i);
                }
            }
            UNROLL
            for (int which = 0; which < 3; which++) {
                LANES(l, lanes) {
                    const size_t own =
                        (size_t)(a->slice0 + RANK(l, nt)) * (size_t)nt + (size_t)LOCAL(l, nt);
                    S(chain_sign)(a->chain.signs[2 * own], a->chain.signs[2 * own + 1], which,
                                  v[ME(l)]);
                    S(chain_home)(v[ME(l)]);
                }
                for (int mask = 1; 16 * mask < a->chain.D; mask *= 2) {
                    LANES(l, lanes)
                        UNROLL
                        for (int i = 0; i < 16; i++)
                            other[ME(l)][i] = PEER(v, l, mask, i);
                    LANES(l, lanes)
                        UNROLL
                        for (int i = 0; i < 16; i++)
                            v[ME(l)][i] = other[ME(l)][i] + v[ME(l)][i] * (l & mask ? -1.0F : 1.0F);
                }
            }
            LANES(l, lanes) {
                const size_t own =
                    (size_t)(a->slice0 + RANK(l, nt)) * (size_t)nt + (size_t)LOCAL(l, nt);
                UNROLL
                for (int i = 0; i < 16; i += 4) {
                    float scale[4];
                    get_four(a->chain.scale + 16 * own + (size_t)i, scale);
                    UNROLL
                    for (int q = 0; q < 4; q++) {
                        float *to = z[ME(l)] + r * SWEEP_COLS + 2 * (i + q);
                        turns_f32(v[ME(l)][i + q] * scale[q], 1, to + 1, to);
                    }
                }
                if (a->keep && at + (size_t)r < a->rows) {
                    const size_t t = (size_t)LOCAL(l, nt);
                    uint16_t *out = a->z_out + (at + (size_t)r) * width +
                                    (size_t)(a->slice0 + RANK(l, nt)) * per + t * 8;
                    UNROLL
                    for (int q = 0; q < SWEEP_COLS / 8; q++)
                        put_eight(out + (size_t)q * 8 * (size_t)nt,
                                  z[ME(l)] + r * SWEEP_COLS + 8 * q);
                }
            }
        }
#else
        LANES(l, lanes)
            UNROLL
            for (int r = 0; r < R; r++)
                S(sweep_load)(a, RANK(l, nt), LOCAL(l, nt), at + (size_t)r,
                              at + (size_t)r < a->rows, z[ME(l)] + r * SWEEP_COLS);
#endif
        if (a->up) {
            LANES(l, lanes) {
                const float *p = (const float *)BLOCK_SMEM(RANK(l, nt)) + (size_t)LOCAL(l, nt) * 4;
                UNROLL
                for (int i = 0; i < RK; i++)
                    sum[ME(l)][i] = 0.0F;
                UNROLL
                for (int k = 0; k < K; k++)
                    UNROLL
                    for (int q = 0; q < SWEEP_COLS / 4; q++) {
                        const float *p4 = p + (size_t)k * per + (size_t)q * 4 * (size_t)nt;
                        VECTOR(p4);
#if DEVICE_CODE
                        const float4 f = *(const float4 *)p4;
                        const float pv[4] = { f.x, f.y, f.z, f.w };
#else
                        const float *pv = p4;
#endif
                        UNROLL
                        for (int r = 0; r < R; r++)
                            UNROLL
                            for (int i = 0; i < 4; i++)
                                sum[ME(l)][r * K + k] +=
                                    z[ME(l)][r * SWEEP_COLS + 4 * q + i] * pv[i];
                    }
            }
            UNROLL
            for (int mask = 16; mask > 0; mask /= 2) {
                LANES(l, lanes)
                    UNROLL
                    for (int i = 0; i < RK; i++)
                        other[ME(l)][i] = PEER(sum, l, mask, i);
                LANES(l, lanes)
                    UNROLL
                    for (int i = 0; i < RK; i++)
                        sum[ME(l)][i] += other[ME(l)][i];
            }
            LANES(l, lanes) {
                const int t = LOCAL(l, nt);
                float *warp = (float *)BLOCK_SMEM(RANK(l, nt)) + (size_t)K * per +
                              (size_t)(parity * WARPS * RK);
                if (t % 32 == 0)
                    UNROLL
                    for (int i = 0; i < RK; i++)
                        warp[t / 32 * RK + i] = sum[ME(l)][i];
            }
            SYNC();
            LANES(l, lanes) {
                const int t = LOCAL(l, nt);
                const float *warp = (const float *)BLOCK_SMEM(RANK(l, nt)) + (size_t)K * per +
                                    (size_t)(parity * WARPS * RK);
                float *whole = (float *)BLOCK_SMEM(RANK(l, nt)) + (size_t)K * per +
                               (size_t)(2 * WARPS * RK + parity * RK);
                if (t < RK) {
                    float s = 0.0F;
                    for (int w = 0; w < nt / 32; w++)
                        s += warp[w * RK + t];
                    whole[t] = s;
                }
            }
            CLUSTER_SYNC(blocks);
        }
        LANES(l, lanes) {
            const int t = LOCAL(l, nt);
            UNROLL
            for (int r = 0; r < R; r++)
                UNROLL
                for (int k = 0; k < K; k++) {
                    const size_t row = a->row0 + at + (size_t)r;
                    const int ok = at + (size_t)r < a->rows;
                    float s = 0.0F;
                    for (int b = 0; a->up && b < blocks; b++)
                        s += ((const float *)BLOCK_SMEM(b))[(size_t)K * per +
                                                            (size_t)(2 * WARPS * RK + parity * RK +
                                                                     r * K + k)];
                    double d = a->up ? (double)s : ok && a->V ? a->V[(size_t)k * a->n + row] : 0.0;
                    if (a->factor && ok) {
                        const double f = a->factor[row];
                        d *= a->square ? f * f : f;
                    }
                    if (a->T && ok && t == 0 && RANK(l, nt) == 0)
                        a->T[(size_t)k * a->n + row] =
                            d + (a->add ? a->T[(size_t)k * a->n + row] : 0.0);
                    const float td = ok ? (float)d : 0.0F;
                    UNROLL
                    for (int i = 0; a->down && i < SWEEP_COLS; i++)
                        acc[ME(l)][k * SWEEP_COLS + i] += td * z[ME(l)][r * SWEEP_COLS + i];
                }
        }
        parity ^= 1;
        since += R;
        const int last = at + (size_t)a->clusters * R >= a->rows;
        if (a->down && (since >= FLUSH || last)) {
            since = 0;
            LANES(l, lanes) {
                const size_t t = (size_t)LOCAL(l, nt);
                UNROLL
                for (int k = 0; k < K; k++)
                    UNROLL
                    for (int i = 0; i < SWEEP_COLS; i++) {
                        double *part = a->part + ((size_t)cluster * K + (size_t)k) * width +
                                       (size_t)(a->slice0 + RANK(l, nt)) * per + t * 4;
                        part[(size_t)(i / 4 * 4) * (size_t)nt + (size_t)(i % 4)] +=
                            (double)acc[ME(l)][k * SWEEP_COLS + i];
                        acc[ME(l)][k * SWEEP_COLS + i] = 0.0F;
                    }
            }
        }
    }
    CLUSTER_SYNC(blocks); /* no block leaves while others read its sums */
}
