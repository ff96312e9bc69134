/* compute/cpu/simd_tensor.h -- the loop of tensor_loops.h for one vector level; included by
 * simd_level.h. */

enum { TENSOR_VECS = 8 };

/* The first `vecs` vectors of the sums. */
INLINE void tensor_sums(const int vecs, size_t n, const uint32_t *at, const double *value,
                        const double *in, double *out)
{
    f64_vec sum[TENSOR_VECS] = { { 0 } };

    for (size_t i = 0; i < n; i++) {
        const double *p = in + at[i];
        UNROLL
        for (int c = 0; c < vecs; c++)
            sum[c] += value[i] * *(const level_loose *)(const void *)(p + c * LANES64);
    }
    UNROLL
    for (int c = 0; c < vecs; c++)
        *(level_loose *)(void *)(out + c * LANES64) = sum[c];
}

LOOP void tensor_fold(size_t m, size_t n, const uint32_t *at, const double *value,
                      const double *in, double *out)
{
    size_t b = 0;

    for (; b + TENSOR_VECS * LANES64 <= m; b += TENSOR_VECS * LANES64)
        tensor_sums(TENSOR_VECS, n, at, value, in + b, out + b);
    for (; b + LANES64 <= m; b += LANES64)
        tensor_sums(1, n, at, value, in + b, out + b);
    for (; b < m; b++) {
        double sum = 0.0;
        for (size_t i = 0; i < n; i++)
            sum += value[i] * in[at[i] + b];
        out[b] = sum;
    }
}
