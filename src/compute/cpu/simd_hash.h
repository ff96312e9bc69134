/* compute/cpu/simd_hash.h -- the loops of hash_loops.h for one vector level; included by
 * simd_level.h.  LEVEL_SIGNS(v) has the sign bits of a vector of floats as a number, where there is
 * an instruction for it. */

enum { HASH_VECS = HASH_LANES / LANES32 };

INLINE uint32_t hash_bits(f32_vec v)
{
    const f32_ivec top = (f32_ivec)v << 31;
#ifdef LEVEL_SIGNS
    return (uint32_t)LEVEL_SIGNS(top);
#else
    uint32_t bits = 0;

    for (int i = 0; i < LANES32; i++)
        bits |= (uint32_t)(top[i] < 0) << i;
    return bits;
#endif
}

LOOP void hash_signs_of(size_t n, const uint32_t *first, const uint32_t *pair, const float *key,
                        uint16_t *signs)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t *p = pair + first[i], *end = pair + first[i + 1];
        const f32_vec *k = (const f32_vec *)(const void *)(key + (size_t)*p * HASH_LANES);
        f32_vec least[HASH_VECS];
        uint32_t bits = 0;

        UNROLL
        for (size_t c = 0; c < HASH_VECS; c++)
            least[c] = k[c];
        for (p++; p < end; p++) {
            k = (const f32_vec *)(const void *)(key + (size_t)*p * HASH_LANES);
            UNROLL
            for (size_t c = 0; c < HASH_VECS; c++)
                least[c] = f32_least(least[c], k[c]);
        }
        UNROLL
        for (size_t c = 0; c < HASH_VECS; c++)
            bits |= hash_bits(least[c]) << (c * LANES32);
        signs[i] = (uint16_t)bits;
    }
}

LOOP void hash_columns32(size_t n, const uint16_t *bits, float *z)
{
    const f32_ivec one = (f32_ivec){ 0 } + 0x3f800000, top = (f32_ivec){ 0 } + INT32_MIN;
    f32_ivec lane[HASH_VECS];

    for (int i = 0; i < HASH_LANES; i++)
        lane[i / LANES32][i % LANES32] = 1 << i;
    for (size_t r = 0; r < n; r += HASH_LANES) {
        const f32_ivec word = (f32_ivec){ 0 } + (int32_t)bits[r / HASH_LANES];
        UNROLL
        for (size_t c = 0; c < HASH_VECS; c++)
            *(f32_ivec *)(void *)(z + r + c * LANES32) =
                (((word & lane[c]) != 0) & top) | one;
    }
}

LOOP void hash_columns64(size_t n, const uint16_t *bits, double *z)
{
    for (size_t r = 0; r < n; r++)
        z[r] = bits[r / HASH_LANES] >> (r % HASH_LANES) & 1 ? -1.0 : 1.0;
}
