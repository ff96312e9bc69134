/* compute/cpu/simd_counts.h -- the loops of counts.h for one vector level; included by
 * simd_level.h.  LEVEL_LEAST8(a, b) is the lesser of each pair of bytes, where there is an
 * instruction for it. */

typedef uint8_t counts_vec __attribute__((vector_size(VEC_BYTES)));
enum { COUNTS_VECS = COUNTS_ROWS / VEC_BYTES };

INLINE counts_vec counts_lesser(counts_vec a, counts_vec b)
{
#ifdef LEVEL_LEAST8
    return (counts_vec)LEVEL_LEAST8(a, b);
#else
    const counts_vec less = (counts_vec)(a < b);

    return (a & less) | (b & ~less);
#endif
}

LOOP void counts_least(size_t n, const uint32_t *index, const uint8_t *value, const uint8_t *table,
                       uint8_t *least)
{
    counts_vec sum[COUNTS_VECS] = { { 0 } };

    for (size_t i = 0; i < n; i++) {
        const uint8_t *y = table + (size_t)index[i] * COUNTS_ROWS;
        const counts_vec v = (counts_vec){ 0 } + value[i];
        UNROLL
        for (size_t c = 0; c < COUNTS_VECS; c++)
            sum[c] += counts_lesser(*(const counts_vec *)(const void *)(y + c * VEC_BYTES), v);
    }
    memcpy(least, sum, sizeof sum);
}

LOOP void counts_ratio(double sum, const double *sums, const double *least, double *out)
{
    const f64_vec one = (f64_vec){ 0 } + 1.0;

    for (size_t j = 0; j < COUNTS_ROWS; j += LANES64) {
        const f64_vec few = *(const level_loose *)(const void *)(least + j);
        const f64_vec most = sum + *(const level_loose *)(const void *)(sums + j) - few;
        const f64_ivec some = most > 0.0;
        const f64_vec above = (f64_vec)((some & (f64_ivec)few) | (~some & (f64_ivec)one));
        const f64_vec below = (f64_vec)((some & (f64_ivec)most) | (~some & (f64_ivec)one));
        *(level_loose *)(void *)(out + j) = (level_loose)(above / below);
    }
}
