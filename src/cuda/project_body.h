/* cuda/project_body.h -- features of a plain chain of at most 128 inputs as a dense product on
 * matrix units; included with PS(name), the suffixed name of a function, and KS, sixteens of
 * inputs.
 *
 * A warp owns 16 rows: their inputs, divided by the lengthscales and by a power of two of the row,
 * stay in registers as hi + lo in half precision; it walks over frequencies by 16, of which the
 * matrix W = S H D H D H D comes as hi + lo too, in the order in which the units take it.  Three of
 * the four products, summed in single precision, have some 22 bits. */

DEV void PS(project_block)(const struct project_args *a, int group, int part)
{
    enum { LANES_ = PROJECT_THREADS, ROWS = PROJECT_THREADS / 2 };
    OWN(uint32_t, ah, 4 * KS);
    OWN(uint32_t, al, 4 * KS);
    OWN(uint32_t, b, 8);
    OWN(float, acc, 8);
    /* The two small products are summed separately, so that their sum is rounded once. */
    OWN(float, low, 8);
    OWN(float, big, 2);
    OWN(float, other, 2);
    OWN(float, gain, 2);
    const size_t row0 = (size_t)group * ROWS;
    const int all = (int)project_sixteens(a->mf), first = part * a->per;
    const int last = first + a->per < all ? first + a->per : all;

    LANES(l, LANES_) {
        UNROLL
        for (int h = 0; h < 2; h++) {
            const size_t row = row0 + project_row(l, h);
            float most = 0.0F;
            UNROLL
            for (int s = 0; s < KS; s++)
                UNROLL
                for (int i = 0; i < 4; i++)
                    most = fmaxf(most, fabsf(project_input(a, row, project_k(l, s, i))));
            big[ME(l)][h] = most;
        }
    }
    UNROLL
    for (int mask = 1; mask < 4; mask *= 2) { /* the four lanes of a row */
        LANES(l, LANES_)
            UNROLL
            for (int h = 0; h < 2; h++)
                other[ME(l)][h] = PEER(big, l, mask, h);
        LANES(l, LANES_)
            UNROLL
            for (int h = 0; h < 2; h++)
                big[ME(l)][h] = fmaxf(big[ME(l)][h], other[ME(l)][h]);
    }
    LANES(l, LANES_) {
        UNROLL
        for (int h = 0; h < 2; h++) {
            const size_t row = row0 + project_row(l, h);
            const float down = project_down(big[ME(l)][h]);
            UNROLL
            for (int s = 0; s < KS; s++)
                UNROLL
            for (int i = 0; i < 4;
                 i += 2) { /* registers of A: (g, low), (g+8, low), (g, high), .. */
                uint16_t hi[2], lo[2];
                UNROLL
                for (int q = 0; q < 2; q++)
                    split_half(project_input(a, row, project_k(l, s, i + q)) * down, &hi[q],
                               &lo[q]);
                ah[ME(l)][4 * s + h + i] = (uint32_t)hi[0] | (uint32_t)hi[1] << 16;
                al[ME(l)][4 * s + h + i] = (uint32_t)lo[0] | (uint32_t)lo[1] << 16;
            }
            big[ME(l)][h] = 1.0F / down;
            gain[ME(l)][h] = (float)project_gain(a, row);
        }
    }
    for (int u = first; u < last; u++) {
        LANES(l, LANES_)
            UNROLL
            for (int i = 0; i < 8; i++)
                acc[ME(l)][i] = low[ME(l)][i] = 0.0F;
        UNROLL
        for (int s = 0; s < KS; s++) {
            LANES(l, LANES_)
                project_load(a->W + ((size_t)u * KS + (size_t)s) * 256, l % 32, b[ME(l)]);
            UNROLL
            for (int t = 0; t < 2; t++) {
                MMA(LANES_, low, 4 * t, al, 4 * s, b, 4 * t);
                MMA(LANES_, low, 4 * t, ah, 4 * s, b, 4 * t + 2);
                MMA(LANES_, acc, 4 * t, ah, 4 * s, b, 4 * t);
            }
        }
        LANES(l, LANES_) {
            UNROLL
            for (int t = 0; t < 2; t++) {
                const size_t freq = project_freq(u, t, l % 4);
                const size_t place = project_place(&a->to, a->col0 + 2 * freq);
                float scale[2];
                project_scales(a->scale, freq, scale);
                UNROLL
                for (int h = 0; h < 2; h++) {
                    const size_t row = row0 + project_row(l, h);
                    float z[4];
                    UNROLL
                    for (int i = 0; i < 2; i++) {
                        const int at = 4 * t + 2 * h + i;
                        const float turn =
                            (acc[ME(l)][at] + low[ME(l)][at]) * big[ME(l)][h] * scale[i];
                        turns_f32(turn, 1, &z[2 * i + 1], &z[2 * i]);
                    }
                    if (row < a->rows)
                        project_put(a, row, freq, place, gain[ME(l)][h], z);
                }
            }
        }
    }
}
