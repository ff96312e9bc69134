/* tests/bench/ffht_loops.c -- loops around FFHT (Andoni et al. 2015), another program's transform,
 * so that bench_compute can time it beside ours: built by peers.py with FFHT's own files and flags
 * into a library of its own, never part of gpdesk.  FFHT_CHUNK: of releases before 2017, whose
 * transform takes such an argument. */
#include <string.h>

#ifdef FFHT_CHUNK
int FHTFloat(float *v, int n, int chunk);
#define TRANSFORM(v, bits) FHTFloat(v, 1 << (bits), (1 << (bits)) < 8 ? 8 : FFHT_CHUNK)
#else
int fht_float(float *v, int bits);
#define TRANSFORM(v, bits) fht_float(v, bits)
#endif

void ffht_rows(float *v, size_t rows, int bits);
void ffht_project(const float *x, size_t rows, int bits, size_t blocks, const float *signs,
                  const float *scale, float *out);

/* Rows of 2^bits numbers, each transformed in place. */
void ffht_rows(float *v, size_t rows, int bits)
{
    for (size_t r = 0; r < rows; r++)
        TRANSFORM(v + (r << bits), bits);
}

/* H D3 H D2 H D1 x of rows of 2^bits numbers, once for each block, times scale: signs 3 x 2^bits of
 * a block, as factors of 1 and -1; scale and a row of out: blocks x 2^bits. */
void ffht_project(const float *restrict x, size_t rows, int bits, size_t blocks,
                  const float *restrict signs, const float *restrict scale, float *restrict out)
{
    const size_t D = (size_t)1 << bits;

    for (size_t r = 0; r < rows; r++, x += D)
        for (size_t b = 0; b < blocks; b++, out += D) {
            const float *s = signs + 3 * b * D;
            memcpy(out, x, D * sizeof *out);
            for (int t = 0; t < 3; t++, s += D) {
                for (size_t i = 0; i < D; i++)
                    out[i] *= s[i];
                TRANSFORM(out, bits);
            }
            for (size_t i = 0; i < D; i++)
                out[i] *= scale[b * D + i];
        }
}
