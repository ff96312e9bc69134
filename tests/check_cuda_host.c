/* tests/check_cuda_host.c -- the CUDA backend without a device: its driver and its kernels, run by
 * loops over blocks and threads (emulated_device.c), against the processor backend and against
 * published constants.  The bodies of the kernels are those that nvcc compiles.  Here are the tests
 * that need no operator; operators.c, solves.c and maps.c in tests/cuda have the others.
 *
 * With -DON_DEVICE (tests/cuda/check_cuda) the same comparisons, and larger ones, of the module
 * itself on the device that is there. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/support.h"

#include "base/mem.h"
#include "compute/backend.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/features/fop.h"
#include "compute/likelihood/nmll.h"
#include "compute/likelihood/nmll_impl.h"
#include "compute/preconds/precond.h"
#include "compute/rng.h"
#include "compute/solvers/solver.h"
#include "cuda/arith.h"
#include "cuda/batch.h"
#include "cuda/project.h"
#include "emulated_device.h"
#include "pair.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef ON_DEVICE
#include "compute/backend_load.h"

const struct backend_ops *gpdesk_backend(void)
{
    return backend_module(NULL);
}
size_t emulated_used(void)
{
    return 0;
}
size_t emulated_launches(void)
{
    return 0;
}
size_t emulated_replays(void)
{
    return 0;
}
size_t emulated_calls(void)
{
    return 0;
}
#endif

/* Arithmetic. */

START_TEST(half_precision)
{
    /* Published values of binary16: 1, -2, 65504, the least normal and subnormal, a third. */
    static const struct { float x; uint16_t h; } known[] = {
        { 1.0F, 0x3c00 },     { -2.0F, 0xc000 },      { 65504.0F, 0x7bff },
        { 0x1p-14F, 0x0400 }, { 0x1p-24F, 0x0001 },   { 0.333251953125F, 0x3555 },
        { 0.0F, 0x0000 },     { -0.0F, 0x8000 },      { INFINITY, 0x7c00 },
        { 65519.0F, 0x7bff }, { 65520.0F, 0x7c00 },   { 0x1p-25F, 0x0000 },
        { 0x1.8p-25F, 0x0001 },
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ck_assert_uint_eq(half_of(known[i].x), known[i].h);
    for (uint32_t h = 0; h < 0x10000; h++) { /* there and back, and the compiler's own type */
        const float f = half_value((uint16_t)h);
        if (isnan(f))
            continue;
        ck_assert_uint_eq(half_of(f), h);
#ifdef __FLT16_MAX__
        _Float16 own;
        const uint16_t bits = (uint16_t)h;
        memcpy(&own, &bits, sizeof own);
        ck_assert((float)own == f);
#endif
    }
#ifdef __FLT16_MAX__
    for (uint64_t i = 0; i < 200000; i++) { /* ties and all */
        const float x = (float)(rng_normal(3, RNG_TEST, i) * exp2(-24.0 + (double)(i % 36)));
        const _Float16 own = (_Float16)x;
        uint16_t bits;
        memcpy(&bits, &own, sizeof bits);
        ck_assert_uint_eq(half_of(x), bits);
    }
#endif
}
END_TEST

START_TEST(turns)
{
    for (uint64_t i = 0; i < 100000; i++) {
        const float t = (float)(rng_normal(4, RNG_TEST, i) * exp2((double)(i % 24)));
        const double a = 2.0 * M_PI * ((double)t - rint((double)t));
        float s, c;
        double s64, c64;
        turns_f32(t, 1, &s, &c);
        turns_f64((double)t, &s64, &c64);
        ck_assert_double_le(fabs((double)s - sin(a)), 1e-6);
        ck_assert_double_le(fabs((double)c - cos(a)), 1e-6);
        ck_assert_double_le(fabs(s64 - sin(a)), 1e-15);
        ck_assert_double_le(fabs(c64 - cos(a)), 1e-15);
    }
}
END_TEST

/* Every column has a place of its own, within the row; 16 bytes of a thread lie together, and those
 * of neighbours beside them. */
START_TEST(layout)
{
    static const struct sweep_shape shapes[] = { { 1, 32 }, { 1, 256 }, { 2, 160 }, { 5, 256 } };

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int width = 4; width <= 8; width += 4) {
            const size_t row = sweep_row(shapes[i]);
            unsigned char *seen = mem_calloc(row, 1, "places", NULL);
            for (size_t col = 0; col < row; col++) {
                const size_t at = sweep_place(shapes[i], width, col);
                ck_assert_uint_lt(at, row);
                ck_assert_uint_eq(seen[at], 0);
                seen[at] = 1;
                if (col % (size_t)width)
                    ck_assert_uint_eq(at, sweep_place(shapes[i], width, col - 1) + 1);
                else if (col + SWEEP_COLS < row &&
                         (col / SWEEP_COLS + 1) % (size_t)shapes[i].threads)
                    ck_assert_uint_eq(sweep_place(shapes[i], width, col + SWEEP_COLS),
                                      at + (size_t)width);
            }
            free(seen);
        }
}
END_TEST

/* A launch is predicted to take no more than its share, or is the least there is; and a device's
 * peers of more lanes get more.  Rates of an H200 beside what its data sheet says it can do at
 * most. */
START_TEST(batches)
{
    const struct device_info h200 = { .sms = 132, .hz = 1.98e9, .fast_double = true };
    const struct device_info small = { .sms = 20, .hz = 1.2e9 };
    static const double sheet[] = { 7.2e11, 7.2e11, 990e12, 67e12, 67e12 };

    for (int what = BATCH_FUSED; what <= BATCH_DOUBLE; what++) {
        const double fast = batch_rate(&h200, what), slow = batch_rate(&small, what);
        ck_assert_double_le(fast, sheet[what]);
        ck_assert_double_lt(slow, fast);
        for (double each = 1e-13; each < 1.0; each *= 1.7) {
            const size_t n = batch_count(0.0, each, 16, 1000000);
            ck_assert(n >= 16 && n <= 1000000);
            if (n > 16)
                ck_assert_double_le((double)n * each, BATCH_SECONDS);
            if (n < 1000000)
                ck_assert_double_gt((double)(n + 1) * each, BATCH_SECONDS);
        }
    }
    ck_assert_uint_eq(batch_count(1.0, 1e-9, 16, 100), 16); /* nothing is left */
    ck_assert_uint_eq(batch_count(0.0, 1.0, 16, 5), 5);     /* no more than there are */
    /* Regenerated passes of 32,768 features: some 300,000 rows a launch. */
    const size_t rows = batch_count(0.0, 32768.0 / batch_rate(&h200, BATCH_FUSED), 64, 10000000);
    ck_assert(rows > 100000 && rows < 1000000);
    const struct device_info unknown = { .sms = 0 };
    ck_assert_double_gt(batch_rate(&unknown, BATCH_HALF), 0.0);
}
END_TEST

#ifndef ON_DEVICE
/* The emulated product of 16 x 16 by 16 x 8 from the layout of PTX, against the product written
 * out, with operands put where project.h says that the kernel and its tables put them. */
START_TEST(matrix_units)
{
    float A[16][16], W[32][16]; /* rows of inputs; frequencies x inputs */
    uint32_t a[32][4], b[32][8], words[2][256] = { { 0 } };
    float acc[32][8];

    for (int i = 0; i < 32; i++)
        for (int k = 0; k < 16; k++) {
            if (i < 16)
                A[i][k] =
                    half_value(half_of((float)rng_normal(5, RNG_TEST, (uint64_t)(i * 16 + k))));
            W[i][k] = half_value(half_of((float)rng_normal(6, RNG_TEST, (uint64_t)(i * 16 + k))));
            for (int lo = 0; lo < 2; lo++) /* lo holds half of it */
                words[project_sixteen(i)][project_word(i, k & ~1, lo)] |=
                    (uint32_t)half_of(lo ? 0.5F * W[i][k] : W[i][k]) << (k % 2 ? 16 : 0);
        }
    for (int u = 0; u < 2; u++) {
        for (int l = 0; l < 32; l++) {
            for (int h = 0; h < 2; h++)
                for (int i = 0; i < 4; i += 2) {
                    const size_t row = project_row(l, h);
                    a[l][h + i] = (uint32_t)half_of(A[row][project_k(l, 0, i)]) |
                                  (uint32_t)half_of(A[row][project_k(l, 0, i + 1)]) << 16;
                }
            project_load(words[u], l, b[l]);
            for (int i = 0; i < 8; i++)
                acc[l][i] = 0.0F;
        }
        for (int t = 0; t < 2; t++) {
            MMA(32, acc, 4 * t, a, 0, b, 4 * t);
            MMA(32, acc, 4 * t, a, 0, b, 4 * t + 2);
        }
        for (int l = 0; l < 32; l++)
            for (int at = 0; at < 8;
                 at++) { /* as the kernel reads them: two neighbours of a tile */
                const size_t row = project_row(l, at / 2 % 2),
                             freq = project_freq(u, at / 4, l % 4) + at % 2;
                double s = 0.0;
                for (size_t k = 0; k < 16; k++)
                    s += 1.5 * (double)A[row][k] * (double)W[freq][k];
                ck_assert_double_le(fabs(s - (double)acc[l][at]), 1e-5);
            }
    }
}
END_TEST

/* What the four lanes of a row store at once are whole sectors of 32 bytes, but in rows of halves:
 * two of 16. */
START_TEST(whole_sectors)
{
    const struct sweep_shape shape = { 2, 256 };

    for (int u = 0; u < 64; u++)
        for (int t = 0; t < 2; t++)
            for (int form = 0; form < 4; form++) { /* rows and sweeps, of 4 bytes and of 2 */
                const size_t size = form % 2 ? 2 : 4, some = form == 1 ? 2 : 16 * size / 32;
                size_t sector[16], n = 0;
                for (int q = 0; q < 4; q++)
                    for (size_t i = 0; i < 4; i++) {
                        const size_t col = 2 * project_freq(u, t, q) + i;
                        const size_t at =
                            form < 2 ? col : sweep_place(shape, (int)(16 / size), col);
                        size_t k = 0;
                        while (k < n && sector[k] != at * size / 32)
                            k++;
                        sector[k] = at * size / 32;
                        n += k == n;
                    }
                ck_assert_uint_eq(n, some);
            }
}
END_TEST

/* Dense projections keep the digits of single precision for inputs of any size, one block or many,
 * also where a row has large and small inputs. */
START_TEST(projections)
{
    static const double sizes[] = { 1.0, 1e-6, 300.0, 1e6 };
    enum { N = 37, M = 420 };
    struct err err = { 0 };
    const size_t d = (size_t[]){ 3, 31, 33, 90, 128 }[_i];
    float *z = mem_calloc(N * M, sizeof *z, "rows", NULL);
    double *exact = mem_calloc(N * M, sizeof *exact, "rows", NULL);

    for (size_t s = 0; s < 4; s++) {
        double *x = mem_calloc(N * d, sizeof *x, "rows", NULL);
        for (size_t i = 0; i < N * d; i++) {
            x[i] = sizes[s] * rng_normal(11, RNG_TEST, i);
            x[i] = (double)(float)(i % 7 ? x[i] : 1e-3 * x[i]);
        }
        struct source_array src;
        struct kernel k;
        source_array_init(&src, x, N, d, d);
        ck_assert_int_eq(kernel_parse("rbf", &k, NULL, &err), ST_OK);
        struct featmap *fm = featmap_new(&k, d, M, 3, &err);
        struct fop *f =
            fop_new(gpdesk_backend(), fm, &src.base, &(struct fop_opts){.threads = 1}, &err);
        ck_assert_msg(f != NULL, "%s", err.msg);
        const double hp = sqrt((double)d);
        ck_assert_int_eq(fop_set(f, &hp, &err), ST_OK);
        ck_assert_int_eq(fop_tile(f, 0, N, z, M, &err), ST_OK);
        ck_assert_int_eq(fop_tile64(f, 0, N, exact, M, &err), ST_OK);
        double worst = 0.0; /* of a feature, times sqrt(M / 2) */
        for (size_t i = 0; i < N * M; i++)
            worst = fmax(worst, fabs((double)z[i] - exact[i]) * sqrt(M / 2.0));
        /* |w'x| <= some 4 sizes; 22 bits of each of d terms, and the sines' 1e-6. */
        ck_assert_msg(worst <= 1.5e-6 + 2e-6 * sizes[s], "d = %zu, x = %g: %g", d, sizes[s], worst);
        fop_free(f);
        featmap_free(fm);
        free(x);
    }
    free(z), free(exact);
}
END_TEST
#endif

/* Amplitude and noise by factors. */

struct valley { double at, slope, wall; size_t asked; };

/* A valley as those of the likelihood: n log c falls, the determinant rises. */
static double valley(void *ctx, double x)
{
    struct valley *v = ctx;

    v->asked++;
    return x < v->wall
               ? INFINITY
               : log(exp(v->slope * (v->at - x)) + exp(x - v->at)) - 0.1 * exp(-0.1 * x * x);
}

/* The least value, as a fine grid has it, with a dozen or two of values: valleys anywhere, walls
 * beside them. */
START_TEST(search_with_few_values)
{
    size_t asked = 0, searches = 0;

    for (double at = -9.0; at < 9.0; at += 1.7)
        for (int start = -1; start < 3; start++)
            for (int wall = 0; wall < 2; wall++) {
                struct valley v = { at, 0.5 + 0.2 * start, wall ? at - 1.0 : -20.0, 0 };
                double best = INFINITY, where, x;
                for (double u = -12.0; u <= 8.0; u += 1e-4)
                    best = fmin(best, valley(&v, u));
                v.asked = 0;
                const double from = start < 0 ? NAN : at + (double)(start - 1) * 1.5;
                const double got = nmll_search_few(valley, &v, -12.0, 8.0, from, &where);
                x = valley(&v, where);
                ck_assert(got == x && where >= -12.0 && where <= 8.0);
                ck_assert_msg(got <= best + 1e-7, "valley at %g from %g: %.9g, not %.9g", at, from,
                              got, best);
                asked += v.asked;
                searches++;
                ck_assert_uint_le(v.asked, 40);
            }
    ck_assert_msg(asked <= NMLL_FACTORS * searches, "%g values a search",
                  (double)asked / (double)searches);
}
END_TEST

/* The choice by count: a dozen factors are quicker on a device that is quick at double products, at
 * every size that goes there; not on one that is slow at them. */
START_TEST(factors_or_a_form)
{
    const struct device_info h200 = { .sms = 132, .hz = 1.98e9, .fast_double = true };
    const struct device_info game = { .sms = 128, .hz = 2.5e9 };

    for (size_t n = 1024; n <= 32768; n *= 2) {
        ck_assert_double_lt(NMLL_FACTORS * batch_cholesky(&h200, n), batch_tridiagonal(&h200, n));
        ck_assert(n < 4096 ||
                  NMLL_FACTORS * batch_cholesky(&game, n) > batch_tridiagonal(&game, n));
    }
}
END_TEST

int main(void)
{
#ifdef ON_DEVICE
    const char *why;

    if (!backend_module(&why)) {
        printf("1..0 # SKIP %s\n", why);
        return 0;
    }
    setenv("CK_FORK", "no", 1); /* a child cannot use the device that its parent has looked at */
#endif
    Suite *s = suite_create("cuda_host");
    TCase *arith = tcase_create("arithmetic"), *ops = tcase_create("operators");

    tcase_set_timeout(arith, 60);
    tcase_add_test(arith, half_precision);
    tcase_add_test(arith, turns);
    tcase_add_test(arith, layout);
    tcase_add_test(arith, batches);
    tcase_add_test(arith, search_with_few_values);
    tcase_add_test(arith, factors_or_a_form);
#ifndef ON_DEVICE
    tcase_add_test(arith, matrix_units);
    tcase_add_test(arith, whole_sectors);
    tcase_add_loop_test(arith, projections, 0, 5);
#endif
    suite_add_tcase(s, arith);
#ifdef ON_DEVICE
    tcase_set_timeout(ops, 900);
#else
    tcase_set_timeout(ops, 120);
#endif
    operators_add(ops);
    solves_add(ops);
    maps_add(ops);
    suite_add_tcase(s, ops);
    return support_run(s);
}
