/* tests/bench/bench_rows.c -- writes data of any size without holding it: X.npy (n x d, float32, C
 * order) and y.npy (n, float32).  y is a sum of waves along random directions plus noise of
 * standard deviation 0.1: an error of the mean of 0.1 is the best there is.
 *
 *     bench_rows DIR ROWS INPUTS [SEED] */
#include "compute/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 128, WAVES = 6 };

static void header(FILE *f, const char *shape)
{
    char h[HEAD + 1];

    memset(h, ' ', sizeof h);
    memcpy(h, "\x93NUMPY\x01\0\x76\0", 10); /* 118 bytes follow */
    const int n = snprintf(h + 10, HEAD - 10,
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", shape);
    h[10 + n] = ' ';
    h[HEAD - 1] = '\n';
    fwrite(h, 1, HEAD, f);
}

static FILE *file(const char *dir, const char *name, const char *shape)
{
    char path[4200];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    if (!f) {
        perror(path);
        exit(1);
    }
    header(f, shape);
    return f;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: bench_rows DIR ROWS INPUTS [SEED]\n");
        return 2;
    }
    const size_t n = strtoull(argv[2], NULL, 10), d = strtoull(argv[3], NULL, 10);
    const uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
    char shape[64];
    snprintf(shape, sizeof shape, "%zu, %zu", n, d);
    FILE *fx = file(argv[1], "X.npy", shape);
    snprintf(shape, sizeof shape, "%zu,", n);
    FILE *fy = file(argv[1], "y.npy", shape);
    double *w = calloc(WAVES * d, sizeof *w);
    float *x = calloc(d, sizeof *x);
    if (n == 0 || d == 0 || !w || !x)
        return 2;
    for (size_t k = 0; k < WAVES * d; k++)
        w[k] = rng_normal(seed, rng_stream(RNG_TEST, 1), k);
    for (size_t i = 0; i < n; i++) {
        double y = 0.0;
        for (size_t j = 0; j < d; j += 4) { /* uniform, of standard deviation 1 */
            uint32_t u[4];
            rng_u32x4(seed, rng_stream(RNG_TEST, 2), i * ((d + 3) / 4) + j / 4, u);
            for (size_t k = 0; k < 4 && j + k < d; k++)
                x[j + k] = (float)(((double)u[k] / 4294967296.0 - 0.5) * 3.4641016151377544);
        }
        for (size_t k = 0; k < WAVES; k++) {
            double p = 0.0;
            for (size_t j = 0; j < d; j++)
                p += w[k * d + j] * x[j];
            y += sin(p * 0.7 / sqrt((double)d));
        }
        const float t = (float)(y + 0.1 * rng_normal(seed, rng_stream(RNG_TEST, 3), i));
        fwrite(x, sizeof *x, d, fx);
        fwrite(&t, sizeof t, 1, fy);
    }
    free(w);
    free(x);
    if (fclose(fx) || fclose(fy)) {
        perror(argv[1]);
        return 1;
    }
    return 0;
}
