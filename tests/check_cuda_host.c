/* tests/check_cuda_host.c -- the CUDA backend without a device: its driver and its kernels, run by
 * loops over blocks and threads (emulated_device.c), against the processor backend and against
 * published constants.  The bodies of the kernels are those that nvcc compiles.
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

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct backend_ops *gpdesk_backend(void);
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

/* Operators. */

struct job {
    const char *kernel;
    size_t n, d, M;
    enum precision precision;
    bool store, half, weighted;
    size_t channels, flat; /* of sequences; numbers before one */
};
struct pair {
    struct kernel k;
    struct featmap *fm;
    struct source_array *src;
    double *x, *factor, hp[KERNEL_MAX_HP];
    size_t n, M;
    struct fop *cpu, *dev;
    struct pool *pool;
};

static double normal(uint64_t stream, size_t i)
{
    return rng_normal(7, rng_stream(RNG_TEST, (uint32_t)stream), i);
}

static double *normals(uint64_t stream, size_t n)
{
    double *v = mem_calloc(n, sizeof *v, "numbers", NULL);

    for (size_t i = 0; i < n; i++)
        v[i] = normal(stream, i);
    return v;
}

static void sequence_rows(double *x, size_t n, size_t ld, size_t flat, size_t channels)
{
    const size_t d = ld - flat;

    for (size_t i = 0; i < n; i++) {
        double *row = x + i * ld + flat;
        row[0] = (double)(i % 4 == 3 ? 2 : d / 2 + rng_below(9, RNG_TEST, i, d / 2));
        for (size_t p = 1; p < d; p++)
            row[p] = (double)rng_below(9, RNG_TEST + 1, i * ld + p, channels + 1);
    }
}

static struct pair pair_open(const struct job *j)
{
    struct pair p = { .n = j->n, .M = j->M };
    struct err err = { 0 };
    size_t from[KERNEL_MAX_HP];

    ck_assert_msg(kernel_parse(j->kernel, &p.k, NULL, &err) == ST_OK, "%s: %s", j->kernel, err.msg);
    if (j->channels)
        ck_assert_int_eq(kernel_bind_rows(&p.k, j->channels, true, j->d - 1 - j->flat, &err),
                         ST_OK);
    if (j->channels)
        ck_assert_int_eq(kernel_bind_flat(&p.k, j->flat, &err), ST_OK);
    else
        ck_assert_int_eq(kernel_bind(&p.k, j->d, from, &err), ST_OK);
    p.x = normals(1, j->n * j->d);
    if (j->channels)
        sequence_rows(p.x, j->n, j->d, j->flat, j->channels);
    p.src = mem_calloc(1, sizeof *p.src, "rows", NULL);
    source_array_init(p.src, p.x, j->n, j->d, j->d);
    if (j->channels) {
        p.src->base.row = ROW_SYMBOLS;
        p.src->base.channels = j->channels;
        p.src->base.flat = j->flat;
    }
    p.factor = normals(2, j->n);
    for (size_t i = 0; i < j->n; i++)
        p.factor[i] = exp(0.3 * p.factor[i]);
    p.pool = pool_new(2, &err);
    p.fm = featmap_new(&p.k, j->d, j->M, 11, &err);
    ck_assert_msg(p.fm != NULL, "%s: %s", j->kernel, err.msg);
    const struct fop_opts o = { .pool = p.pool, .precision = j->precision, .store = j->store,
                                .half = j->half, .row_scale = j->weighted ? p.factor : NULL };
    p.cpu = fop_new(backend_cpu(), p.fm, &p.src->base, &o, &err);
    ck_assert_msg(p.cpu != NULL, "%s: %s", j->kernel, err.msg);
    p.dev = fop_new(gpdesk_backend(), p.fm, &p.src->base, &o, &err);
    ck_assert_msg(p.dev != NULL, "%s: %s", j->kernel, err.msg);
    for (size_t i = 0; i < kernel_nhp(&p.k); i++) {
        char name[KERNEL_NAME_MAX];
        struct hparam h;
        kernel_hp_info(&p.k, i, name, &h);
        p.hp[i] = h.init * exp(0.2 * normal(3, i)) * (j->d > 2 ? sqrt((double)j->d / 2) : 1.0);
        p.hp[i] = fmin(fmax(p.hp[i], h.lo), h.hi);
    }
    ck_assert_int_eq(fop_set(p.cpu, p.hp, &err), ST_OK);
    ck_assert_msg(fop_set(p.dev, p.hp, &err) == ST_OK, "%s", err.msg);
    return p;
}

static void pair_close(struct pair *p)
{
    fop_free(p->cpu);
    fop_free(p->dev);
    featmap_free(p->fm);
    pool_free(p->pool);
    free(p->src);
    free(p->x);
    free(p->factor);
}

static double norm(size_t n, const double *v)
{
    double s = 0.0;

    for (size_t i = 0; i < n; i++)
        s += v[i] * v[i];
    return sqrt(s);
}

/* |a - b| / |b| */
static double apart(size_t n, const double *a, const double *b)
{
    double s = 0.0;

    for (size_t i = 0; i < n; i++)
        s += (a[i] - b[i]) * (a[i] - b[i]);
    ck_assert(isfinite(s));
    return sqrt(s) / fmax(norm(n, b), 1e-300);
}

static struct err fail;
#define ok(call) ck_assert_msg((call) == ST_OK, "%s: %s", #call, fail.msg)

/* All operations of both, and how far apart they may be.  Single precision: phases of some tens of
 * radians lose their last bits, features differ by up to about 1e-5, and a
 * feature that is a power or a product of others by a few times that. */
static void compare(const struct job *j, double tol)
{
    enum { KMOST = 13 };
    struct pair p = pair_open(j);
    const size_t n = p.n, M = p.M, ld = M + 3;
    double *P = normals(5, KMOST * M), *V = normals(6, KMOST * n);
    double *a = mem_calloc(KMOST * (n > M ? n : M), sizeof *a, "results", NULL);
    double *b = mem_calloc(KMOST * (n > M ? n : M), sizeof *b, "results", NULL);
    double *za = mem_calloc(n * ld, sizeof *za, "rows", NULL);
    double *zb = mem_calloc(n * ld, sizeof *zb, "rows", NULL);
    static const size_t ks[] = { 1, 2, 3, 4, 7, 13 };

    ok(fop_tile64(p.cpu, 0, n, za, ld, &fail));
    ok(fop_tile64(p.dev, 0, n, zb, ld, &fail));
    ck_assert_double_le(apart(n * ld, zb, za), 1e-12);
    float *f = mem_calloc(n * M, sizeof *f, "rows", NULL);
    ok(fop_tile(p.dev, 1, n, f, M, &fail));
    for (size_t r = 1; r < n; r++)
        for (size_t c = 0; c < M; c++)
            zb[(r - 1) * M + c] = za[r * ld + c] - (double)f[(r - 1) * M + c];
    ck_assert_msg(norm((n - 1) * M, zb) <= fmax(tol, 1e-7) * norm(n * ld, za),
                  "%s: rows of features, %g", j->kernel, norm((n - 1) * M, zb) / norm(n * ld, za));
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
        const size_t k = ks[i];
        const char *what[] = { "pass", "exact pass", "Z P", "Z'V" };
        for (int op = 0; op < 4; op++) {
            struct fop *of[] = { p.cpu, p.dev };
            double *to[] = { a, b };
            for (int o = 0; o < 2; o++) {
                if (op == 0)
                    ok(fop_pass(of[o], k, P, to[o], NULL, &fail));
                else if (op == 1)
                    ok(fop_pass_exact(of[o], k, P, to[o], NULL, &fail));
                else if (op == 2)
                    ok(fop_zp(of[o], k, P, to[o], NULL, &fail));
                else
                    ok(fop_ztv(of[o], k, V, to[o], NULL, &fail));
            }
            const size_t len = k * (op == 2 ? n : M);
            const double most = op == 0 && j->half ? fmax(tol, 1e-4) : tol;
            ck_assert_msg(apart(len, b, a) <= most, "%s: %s of %zu, %g", j->kernel, what[op], k,
                          apart(len, b, a));
        }
    }
    double *Ga = mem_calloc(M * M, sizeof *Ga, "Gram", NULL);
    double *Gb = mem_calloc(M * M, sizeof *Gb, "Gram", NULL);
    double ya[2], yb[2];
    ok(fop_gram_of(p.cpu, 2, V, Ga, a, ya, NULL, &fail));
    ok(fop_gram_of(p.dev, 2, V, Gb, b, yb, NULL, &fail));
    ck_assert_double_le(apart(M * M, Gb, Ga), tol);
    ck_assert_double_le(apart(2 * M, b, a), tol);
    ck_assert(ya[0] == yb[0] && ya[1] == yb[1]);
    ok(fop_sketch(p.cpu, 9, P, a, NULL, &fail));
    ok(fop_sketch(p.dev, 9, P, b, NULL, &fail));
    ck_assert_double_le(apart(9 * M, b, a), tol);
    /* Features rounded to float16, to half a unit in 2^11: some 2e-4 of each, in each product. */
    ok(fop_sketch_rough(p.dev, 9, P, b, NULL, &fail));
    ck_assert_msg(apart(9 * M, b, a) <= fmax(tol, 4e-4), "%s: rough sketch, %g", j->kernel,
                  apart(9 * M, b, a));
    for (size_t i = 0; i < 9; i++) /* and symmetric: P' (G P) */
        for (size_t l = 0; l < i; l++) {
            double u = 0.0, v = 0.0, size = norm(M, P + i * M) * norm(M, b + l * M);
            for (size_t q = 0; q < M; q++) {
                u += P[i * M + q] * b[l * M + q];
                v += P[l * M + q] * b[i * M + q];
            }
            ck_assert_double_le(fabs(u - v), 2e-6 * size);
        }
    double ga[KERNEL_MAX_HP] = { 0 }, gb[KERNEL_MAX_HP] = { 0 };
    ok(fop_tile64(p.dev, 0, n, zb, M, &fail));
    ok(fop_grad(p.cpu, 0, n, zb, zb, M, ga, &fail)); /* given B, derivatives are the processor's */
    ok(fop_grad(p.dev, 0, n, zb, zb, M, gb, &fail));
    ck_assert_double_le(apart(kernel_nhp(&p.k), gb, ga), 1e-12);
    ck_assert(!fop_lost(p.dev, NULL));
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(P), free(V), free(a), free(b), free(za), free(zb), free(f), free(Ga), free(Gb);
}

/* The gradient's sum over all rows, B = Z S + T V', against the processor's way back from B. */
static void compare_back(const struct job *j, double tol)
{
    enum { K = 3 };
    struct pair p = pair_open(j);
    const size_t n = p.n, M = p.M, nhp = kernel_nhp(&p.k);
    double *S = normals(40, M * M), *T = normals(41, K * n), *V = normals(42, K * M);
    double *Z = mem_calloc(n * M, sizeof *Z, "rows", NULL),
           *B = mem_calloc(n * M, sizeof *B, "B", NULL);

    for (size_t i = 0; i < M; i++)
        for (size_t l = 0; l < i; l++)
            S[i * M + l] = S[l * M + i];
    ok(fop_tile64(p.cpu, 0, n, Z, M, &fail));
    for (int how = 0; how < 3; how++) { /* S and vectors; S alone; vectors alone */
        double a[KERNEL_MAX_HP] = { 0 }, b[KERNEL_MAX_HP] = { 0 }, size = 0.0;
        for (size_t r = 0; r < n; r++)
            for (size_t c = 0; c < M; c++) {
                double s = 0.0;
                for (size_t q = 0; how < 2 && q < M; q++)
                    s += Z[r * M + q] * S[q * M + c];
                for (size_t q = 0; how != 1 && q < K; q++)
                    s += T[q * n + r] * V[q * M + c];
                B[r * M + c] = s;
                size += s * s;
            }
        ok(fop_grad(p.cpu, 0, n, Z, B, M, a, &fail));
        ok(fop_back(p.dev, how < 2 ? S : NULL, how != 1 ? K : 0, T, V, b, NULL, &fail));
        /* Sums of n M terms of either sign: what they may lose is a share of their size. */
        const double most =
            tol * (norm(nhp, a) + 0.1 * sqrt(size) * norm(n * M, Z) / sqrt((double)n));
        for (size_t h = 0; h < nhp; h++)
            ck_assert_msg(fabs(a[h] - b[h]) <= most,
                          "%s, %d: hyperparameter %zu, %g, not %g (of %g)", j->kernel, how, h, b[h],
                          a[h], most);
    }
    ck_assert(!fop_lost(p.dev, NULL));
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(S), free(T), free(V), free(Z), free(B);
}

static const struct job jobs[] = {
    {.kernel = "rbf", .n = 70, .d = 5, .M = 64},
    {.kernel = "matern(nu=5/2)", .n = 67, .d = 90, .M = 300},
    {.kernel = "matern(nu=3/2,ard)", .n = 33, .d = 7, .M = 130},
    {.kernel = "matern(nu=1/2)", .n = 40, .d = 6, .M = 96},
    {.kernel = "cauchy", .n = 40, .d = 40, .M = 150},
    {.kernel = "rq(alpha=1)", .n = 40, .d = 300, .M = 1030},
    {.kernel = "periodic", .n = 40, .d = 3, .M = 100},
    {.kernel = "linear", .n = 40, .d = 12, .M = 12},
    {.kernel = "poly(degree=3)", .n = 40, .d = 9, .M = 100},
    {.kernel = "arccos", .n = 40, .d = 9, .M = 100},
    {.kernel = "erf", .n = 40, .d = 9, .M = 100},
    {.kernel = "rbf + matern(nu=5/2) + linear", .n = 40, .d = 4, .M = 200},
    {.kernel = "rbf * periodic + constant", .n = 40, .d = 4, .M = 151 + 1},
    {.kernel = "linear * rbf(ard)", .n = 40, .d = 4, .M = 128},
    {.kernel = "conv(rbf,width=3)", .n = 24, .d = 13, .M = 96, .channels = 5},
    {.kernel = "periodic(inputs=1:2) + matern(nu=3/2,ard=2,inputs=2:3)", .n = 30, .d = 5, .M = 72},
    {.kernel = "rbf(inputs=2:4)", .n = 30, .d = 5, .M = 72},
    {.kernel = "rbf(ard=2,inputs=2:3) * conv(cauchy,width=5) * linear(inputs=1:2)",
     .n = 20,
     .d = 16,
     .M = 64,
     .channels = 4,
     .flat = 3},
    {.kernel = "convdense(matern(nu=5/2),width=3)", .n = 24, .d = 13, .M = 96, .channels = 5},
    {.kernel = "convdense(rbf,width=3) * rbf + linear",
     .n = 20,
     .d = 16,
     .M = 96,
     .channels = 5,
     .flat = 3},
    {.kernel = "conv(rbf,width=3) * rbf + linear",
     .n = 20,
     .d = 16,
     .M = 96,
     .channels = 5,
     .flat = 3},
    {.kernel = "poly(inputs=2:3) * conv(rbf,width=4) + periodic",
     .n = 20,
     .d = 16,
     .M = 96,
     .channels = 5,
     .flat = 3},
    {.kernel = "graph(matern(nu=5/2))", .n = 24, .d = 9, .M = 70, .channels = 4},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

static double tolerance(const struct job *j)
{
    return j->precision == PREC_DOUBLE ? 1e-11 : 2e-5;
}

START_TEST(made_anew)
{
    compare(&jobs[_i], tolerance(&jobs[_i]));
}
END_TEST

START_TEST(derivatives)
{
    struct job j = jobs[_i / 2];

    j.precision = _i % 2 ? PREC_DOUBLE : PREC_FLOAT;
    j.weighted = _i % 4 > 1;
    j.store = _i % 3 == 0;
    compare_back(&j, tolerance(&j));
}
END_TEST

START_TEST(in_double)
{
    struct job j = jobs[_i];

    j.precision = PREC_DOUBLE;
    j.weighted = _i % 2;
    j.store = _i % 3 == 0;
    compare(&j, tolerance(&j));
}
END_TEST

START_TEST(stored)
{
    struct job j = jobs[_i];

    j.store = true;
    j.weighted = _i % 2 == 0;
    compare(&j, tolerance(&j));
}
END_TEST

START_TEST(stored_half)
{
    struct job j = jobs[_i];
    struct kernel k;

    ck_assert_int_eq(kernel_parse(j.kernel, &k, NULL, NULL), ST_OK);
    if (!(kernel_half_error(&k) < 1.0) || j.channels)
        return;
    j.store = j.half = true;
    compare(&j, tolerance(&j));
}
END_TEST

#ifndef ON_DEVICE
/* More columns than a cluster holds; clusters of several blocks; every source of features. */
START_TEST(wide)
{
    static const char *const clusters[] = { "8", "1" };
    struct job j = { .kernel = "rbf", .n = 21, .d = 40, .M = 16500, .store = _i / 2 % 3 > 0,
                     .half = _i / 2 % 3 == 2, .weighted = _i / 2 % 2 };
    struct pair p;

    setenv("GPDESK_EMU_CLUSTER", clusters[_i % 2], 1);
    p = pair_open(&j);
    double *P = normals(5, 3 * j.M), *a = normals(6, 3 * j.M), *b = normals(7, 3 * j.M);
    ok(fop_pass(p.cpu, 3, P, a, NULL, &fail));
    ok(fop_pass(p.dev, 3, P, b, NULL, &fail));
    ck_assert_double_le(apart(3 * j.M, b, a), j.half ? 1e-4 : 2e-5);
    ok(fop_zp(p.cpu, 1, P, a, NULL, &fail));
    ok(fop_zp(p.dev, 1, P, b, NULL, &fail));
    ck_assert_double_le(apart(j.n, b, a), 2e-5);
    ok(fop_ztv(p.cpu, 1, P, a, NULL, &fail));
    ok(fop_ztv(p.dev, 1, P, b, NULL, &fail));
    ck_assert_double_le(apart(j.M, b, a), 2e-5);
    pair_close(&p);
    free(P), free(a), free(b);
}
END_TEST

/* A barrier that is missing shows when threads run in another order. */
START_TEST(any_order_of_threads)
{
    struct job j = jobs[_i];
    double *first = NULL, *P = normals(5, 4 * j.M);

    for (int store = 0; store < 2; store++)
        for (emu_order = 0; emu_order < 3; emu_order++) {
            double *w = mem_calloc(2 * 4 * j.M, sizeof *w, "results", NULL);
            j.store = store;
            struct pair p = pair_open(&j);
            ok(fop_pass(p.dev, 4, P, w, NULL, &fail));
            ok(fop_pass(p.dev, 1, P, w + 4 * j.M, NULL, &fail));
            struct solve_info info;
            ok(solver_find("cg", NULL)
                   ->solve(&(struct ridge){p.dev, 0.7}, 1, P, w + 5 * j.M,
                           &(struct solve_opts){.maxit = 4}, NULL, &info, &fail));
            solve_info_free(&info);
            pair_close(&p);
            if (emu_order)
                ck_assert_mem_eq(w, first, 6 * j.M * sizeof *w);
            else {
                free(first);
                first = w;
            }
            if (emu_order)
                free(w);
        }
    free(first);
    free(P);
}
END_TEST

/* Inputs that do not fit stream through two buffers: the same bits. */
START_TEST(streaming)
{
    struct job j = { .kernel = "matern(nu=5/2,inputs=1:8)", .n = 30000, .d = 600, .M = 64 };
    static const char *const memory[] = { "1000000000", "120000000" }; /* inputs: 72 MB */
    double *w[2], *P = normals(5, j.M), *t[2];

    for (int i = 0; i < 2; i++) {
        setenv("GPDESK_EMU_MEMORY", memory[i], 1);
        w[i] = normals(6, j.M);
        t[i] = normals(7, j.n);
        struct err err = { 0 };
        struct source_array src;
        struct kernel k;
        double *x = normals(1, j.n * j.d);
        ck_assert_int_eq(kernel_parse(j.kernel, &k, NULL, &err), ST_OK);
        source_array_init(&src, x, j.n, j.d, j.d);
        struct featmap *fm = featmap_new(&k, j.d, j.M, 11, &err);
        const struct fop_opts o = { 0 };
        struct fop *f = fop_new(gpdesk_backend(), fm, &src.base, &o, &err);
        ck_assert_msg(f != NULL, "%s", err.msg);
        const double hp = 20.0;
        ok(fop_set(f, &hp, &fail));
        const size_t before = emulated_used();
        ck_assert_int_eq(before > 70000000, i == 0);
        ok(fop_pass(f, 1, P, w[i], NULL, &fail));
        ok(fop_zp(f, 1, P, t[i], NULL, &fail));
        fop_free(f);
        featmap_free(fm);
        free(x);
    }
    ck_assert_double_le(apart(j.M, w[1], w[0]), 1e-6); /* launches are cut elsewhere */
    ck_assert_mem_eq(t[0], t[1], j.n * sizeof *t[0]);
    for (int i = 0; i < 2; i++)
        free(w[i]), free(t[i]);
    free(P);
}
END_TEST

START_TEST(out_of_memory)
{
    struct job j = { .kernel = "rbf", .n = 2000, .d = 4, .M = 1024 };
    struct pair p = pair_open(&j); /* this much is there */
    struct err err = { 0 };
    const struct fop_opts o = { .store = true };

    setenv("GPDESK_EMU_MEMORY", "7000000", 1);
    ck_assert_ptr_null(fop_new(gpdesk_backend(), p.fm, &p.src->base, &o, &err));
    ck_assert_int_eq(err.code, ST_NOMEM);
    ck_assert_ptr_nonnull(strstr(err.msg, "2000 x 1024"));
    ck_assert_msg(strstr(err.msg, "takes 7.8 MB") != NULL, "%s", err.msg);
    ck_assert_ptr_nonnull(strstr(err.hint, "regenerate"));
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    /* In the middle, too. */
    setenv("GPDESK_EMU_MEMORY", "1500000", 1);
    p = pair_open(&(struct job){ .kernel = "rbf", .n = 300, .d = 4, .M = 512 });
    double *G = mem_calloc(512 * 512, sizeof *G, "Gram", NULL);
    ck_assert_int_eq(fop_gram(p.dev, NULL, G, NULL, NULL, NULL, &err), ST_NOMEM);
    ck_assert_ptr_nonnull(strstr(err.msg, "the device has no 2.0 MB for the Gram matrix"));
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(G);
}
END_TEST

/* A device that fails in the middle of a solve: the processor goes on from the last iterate. */
START_TEST(device_lost)
{
    struct job j = { .kernel = "matern(nu=5/2)", .n = 400, .d = 4, .M = 128, .store = _i == 1,
                     .half = _i == 2 };
    struct solve_info ia = { 0 }, ib = { 0 };
    struct err err = { 0 };
    char at[24];

    j.store |= j.half;
    struct pair p = pair_open(&j);
    double *b = normals(5, j.M), *xa = normals(6, j.M), *xb = normals(6, j.M);
    const struct solve_opts o = { .rtol = 1e-5, .maxit = 400 };
    const struct solver_ops *cg = solver_find("cg", &err);
    ok(cg->solve(&(struct ridge){ p.cpu, 1.0 }, 1, b, xa, &o, NULL, &ia, &fail));
    snprintf(at, sizeof at, "%zu", emulated_launches() + 60);
    setenv("GPDESK_EMU_LOST", at, 1);
    ok(cg->solve(&(struct ridge){ p.dev, 1.0 }, 1, b, xb, &o, NULL, &ib, &fail));
    unsetenv("GPDESK_EMU_LOST");
    ck_assert(fop_lost(p.dev, &err));
    ck_assert_int_eq(err.code, ST_BACKEND);
    ck_assert_int_eq(ib.why, OUT_RTOL);
    ck_assert_double_le(apart(j.M, xb, xa), 1e-4);
    ck_assert_uint_gt(ib.iterations, 20); /* not all before, not all after */
    solve_info_free(&ia);
    solve_info_free(&ib);
    pair_close(&p);
    free(b), free(xa), free(xb);
}
END_TEST

#endif /* ON_DEVICE */

#ifndef ON_DEVICE
/* Everything that asks the device, once; out: numbers of it all.  The first failure ends it. */
enum { ASKED = 12 };
static enum status ask_all(int kind, double *out, struct err *err)
{
    enum { N = 70, M = 32, D = 3 };
    const bool store = kind > 0, dbl = kind == 2;
    struct pool *pool = pool_new(1, NULL);
    struct source_array src;
    struct kernel k;
    size_t from[KERNEL_MAX_HP], its;
    double *x = normals(1, N * D), *y = normals(2, N), *b = normals(3, 3 * M),
           *sol = normals(4, 3 * M), se;
    double hp[KERNEL_MAX_HP], g[KERNEL_MAX_HP + 2], *G = normals(5, N * N), d[N], e[N];
    struct precond *pre = NULL;
    struct exact_op *op = NULL;
    struct solve_info info[3] = { { 0 } };
    const struct backend_dense *dense = gpdesk_backend()->dense;

    ck_assert_int_eq(kernel_parse("matern(nu=5/2)", &k, NULL, NULL), ST_OK);
    ck_assert_int_eq(kernel_bind(&k, D, from, NULL), ST_OK);
    source_array_init(&src, x, N, D, D);
    hp[0] = 1.3;
    struct featmap *fm = featmap_new(&k, D, M, 11, NULL);
    const struct fop_opts o = { .pool = pool, .store = store, .half = kind == 1,
                                .precision = dbl ? PREC_DOUBLE : PREC_FLOAT };
    struct fop *f = fop_new(gpdesk_backend(), fm, &src.base, &o, err);
    enum status rc = f ? fop_set(f, hp, err) : err->code;
    if (rc == ST_OK)
        rc = nmll_features(
            f, &(struct nmll_ask){.y = y, .hp = hp, .nhp = 1, .amplitude = 1.1, .noise = 0.4},
            &(struct nmll_told){.value = &out[0], .grad = g}, NULL, err),
        out[1] = g[0];
    const struct nmll_slq_opts slq = { .rank = 8, .probes = 12, .rtol = 1e-5, .probe_rtol = 1e-3 };
    if (rc == ST_OK)
        rc = nmll_slq(
            f, &(struct nmll_ask){.y = y, .hp = hp, .nhp = 1, .amplitude = 1.1, .noise = 0.4}, &slq,
            &(struct nmll_told){.value = &out[2], .se = &se, .grad = g, .iterations = &its}, NULL,
            err),
        out[3] = g[0];
    for (int i = 0; rc == ST_OK && i < 2; i++) {
        const struct precond_opts po = { .rank = 8, .lam2 = 0.3 };
        rc = precond_find(i ? "gram" : "srht2", NULL)->build(f, &po, NULL, &pre, err);
        if (rc == ST_OK)
            precond_set_noise(pre, 0.3);
        const struct solve_opts so = { .rtol = 1e-5, .maxit = 80, .pre = pre };
        if (rc == ST_OK)
            rc = solver_find("pcg", NULL)
                     ->solve(&(struct ridge){f, 0.3}, 3, b, sol, &so, NULL, info, err);
        out[4 + i] = norm(3 * M, sol);
        for (size_t c = 0; c < 3; c++)
            solve_info_free(&info[c]);
        precond_free(pre);
        pre = NULL;
    }
    if (rc == ST_OK)
        rc = fop_zp(f, 1, sol, y, NULL, err), out[6] = norm(N, y);
    if (rc == ST_OK)
        rc = exact_op_open(
            gpdesk_backend(),
            &(struct exact_rows){.k = &k, .hp = hp, .X = x, .n = N, .d = D, .pool = pool}, &op,
            err);
    if (rc == ST_OK)
        rc = exact_op_apply(op, N, NULL, 1, y, d, NULL, err), out[7] = norm(N, d);
    exact_op_close(op);
    exact_cross(&(struct exact_rows){ .k = &k, .hp = hp, .X = x, .n = N, .d = D }, x, N, G);
    for (size_t i = 0; i < N; i++)
        G[i + i * N] += 1.0;
    blas_on(dense); /* what fails there the processor does */
    if (rc == ST_OK)
        rc = blas_dpotrf(pool, N, G, N, NULL, NULL, err);
    if (rc == ST_OK)
        rc = blas_dpotri(pool, N, G, N, err);
    if (rc == ST_OK)
        rc = blas_tridiag(pool, N, G, N, d, e, 1, y, N, err);
    out[8] = norm(N, d);
    double a = 1.0, s = 0.5;
    for (size_t i = 0; i < N; i++)
        y[i] = normal(2, i);
    if (rc == ST_OK)
        rc = nmll_exact(
            &k, &src.base,
            &(struct nmll_ask){.y = y,
                               .hp = hp,
                               .scale = NMLL_BEST,
                               .within = &(struct nmll_bounds){{0.1, 10.0}, {0.01, 1.0}}},
            &(struct nmll_told){.value = &out[9], .amplitude = &a, .noise = &s}, pool, NULL, err),
        out[10] = a, out[11] = s;
    blas_on(NULL);
    fop_free(f);
    featmap_free(fm);
    pool_free(pool);
    free(x), free(y), free(b), free(sol), free(G);
    return rc;
}

/* Each call of a device fails, once or for good, and each request for memory: nothing is lost of
 * the host's or of the device's, and either the figures come, from the processor if need be, or an
 * error that says what there was no room for.  GPDESK_EMU_SOME: how many of the calls are tried,
 * evenly spread (8). */
START_TEST(every_call_fails)
{
    static const char *const ways[] = { "GPDESK_EMU_FAIL", "GPDESK_EMU_ONCE", "GPDESK_EMU_NOMEM" };
    const int way = _i % 3, kind = _i / 3;
    const bool memory = way == 2;
    double good[ASKED], out[ASKED];
    struct err err = { 0 };
    char at[24];

    setenv("GPDESK_EMU_DENSE", "16", 1);
    const size_t before = memory ? emulated_requests() : emulated_calls();
    ck_assert_msg(ask_all(kind, good, &err) == ST_OK, "%s", err.msg);
    const size_t calls = (memory ? emulated_requests() : emulated_calls()) - before;
    const char *asked = getenv("GPDESK_EMU_SOME");
    const size_t wanted = asked ? strtoull(asked, NULL, 10) : 8,
                 some = wanted < calls ? wanted : calls;
    ck_assert_uint_gt(calls, memory ? 20 : 200);
    for (size_t q = 0; q < some; q++) {
        const size_t n = q * calls / some + 1,
                     now = memory ? emulated_requests() : emulated_calls();
        snprintf(at, sizeof at, "%zu", now + n);
        setenv(ways[way], at, 1);
        err_clear(&err);
        const enum status rc = ask_all(kind, out, &err);
        unsetenv(ways[way]);
        ck_assert_msg(rc == ST_OK || (memory && rc == ST_NOMEM), "%s %zu of %zu: %s", ways[way], n,
                      calls, err.msg);
        if (rc != ST_OK)
            ck_assert_msg(strstr(err.msg, "the device has no ") != NULL, "%s", err.msg);
        for (int i = 0; rc == ST_OK && i < ASKED;
             i++) /* solutions to 1e-5; features in float32 and halves */
            ck_assert_msg(fabs(out[i] - good[i]) <= 2e-3 * fabs(good[i]) + 2e-3,
                          "%s %zu of %zu: %d is %g, not %g", ways[way], n, calls, i, out[i],
                          good[i]);
        ck_assert_msg(emulated_used() == 0, "%s %zu of %zu: %zu bytes", ways[way], n, calls,
                      emulated_used());
    }
}
END_TEST
#endif

START_TEST(stopping)
{
    struct cancel cancel = { true };
    const struct ctl ctl = { .cancel = &cancel };
    struct pair p = pair_open(&jobs[0]);
    double *P = normals(5, p.M), *w = normals(6, p.M * p.M);
    struct err err = { 0 };

    ck_assert_int_eq(fop_pass(p.dev, 1, P, w, &ctl, &err), ST_CANCELLED);
    ck_assert_int_eq(fop_gram(p.dev, NULL, w, NULL, NULL, &ctl, &err), ST_CANCELLED);
    atomic_store(&cancel.stop, false);
    ck_assert_int_eq(fop_pass(p.dev, 1, P, w, &ctl, &err), ST_OK);
    pair_close(&p);
    free(P), free(w);
}
END_TEST

/* Conjugate gradients. */

/* Solves with every preconditioner, few and many right-hand sides, from a start and with probes: on
 * the device the same steps as here, up to the rounding of the operators.  In double the steps are
 * compared one by one. */
static const struct {
    const char *kernel, *precond;
    size_t k, nprobes;
    struct job how;
} solves[] = {
    {"rbf", NULL, 1, 0, {.precision = PREC_DOUBLE}},
    {"matern(nu=5/2)", "srht2", 1, 0, {.store = true}},
    {"matern(nu=5/2)", "srht2", 3, 0, {.precision = PREC_DOUBLE, .weighted = true}},
    {"rbf(ard)", "gauss", 7, 5, {.store = true, .half = true}},
    {"rbf + linear", "jacobi", 13, 0, {.weighted = true}},
    {"rbf * periodic", "srht", 13, 9, {.precision = PREC_DOUBLE, .store = true}},
    {"matern(nu=1/2)", "none", 2, 0, {.store = true}},
};
enum { SOLVES = sizeof solves / sizeof *solves };

START_TEST(gradients_there)
{
    struct job j = solves[_i].how;
    j.kernel = solves[_i].kernel;
    j.n = 150, j.d = 4, j.M = 96;
    struct pair p = pair_open(&j);
    const size_t M = j.M, k = solves[_i].k;
    double *b = normals(5, k * M), *x0 = normals(6, k * M), *x[2];
    struct solve_info *info[2];
    struct precond *pre = NULL;

    ck_assert_ptr_nonnull(gpdesk_backend()->cg);
    if (solves[_i].precond)
        ok(precond_find(solves[_i].precond, NULL)
               ->build(p.cpu, &(struct precond_opts){.rank = 24}, NULL, &pre, &fail));
    if (pre)
        precond_set_noise(pre, 0.4);
    for (size_t i = 0; i < M; i++) /* one that has nothing to do, one that begins at its end */
        b[(k - 1) * M + i] = k > 2 ? 0.0 : b[(k - 1) * M + i];
    for (int o = 0; o < 2; o++) {
        struct fop *f = o ? p.dev : p.cpu;
        x[o] = normals(7, k * M);
        info[o] = mem_calloc(k, sizeof *info[o], "outcomes", NULL);
        const struct solve_opts so = {.rtol = j.precision == PREC_DOUBLE ? 1e-9 : 1e-5,
                                      .maxit = 300,
                                      .nprobes = solves[_i].nprobes,
                                      .probe_rtol = 1e-2,
                                      .pre = pre,
                                      .x0 = _i % 2 ? x0 : NULL};
        const size_t before = emulated_launches();
        ok(solver_find("pcg", NULL)
               ->solve(&(struct ridge){f, 0.4}, k, b, x[o], &so, NULL, info[o], &fail));
#ifndef ON_DEVICE
        if (o) /* not a pass of the operator for each step, but launches of its own */
            ck_assert_uint_gt(emulated_launches() - before, 5 * info[o][0].iterations);
#else
        (void)before;
#endif
    }
    ck_assert(!fop_lost(p.dev, NULL));
    for (size_t c = 0; c < k; c++) {
        const struct solve_info *h = &info[0][c], *d = &info[1][c];
        const bool probe = c < solves[_i].nprobes;
        ck_assert_int_eq(d->why, h->why);
        ck_assert_int_eq(d->why, OUT_RTOL);
        ck_assert_double_le(apart(M, x[1] + c * M, x[0] + c * M),
                            probe ? 3e-2 : j.precision == PREC_DOUBLE ? 1e-7 : 1e-3);
        if (!probe)
            ck_assert_double_le(d->true_residual, 1e-5);
        for (size_t i = 0; j.precision == PREC_DOUBLE && i < 12 && i < h->nhist; i++) {
            ck_assert_uint_lt(i, d->nhist);
            ck_assert_double_le(fabs(d->alpha[i] - h->alpha[i]), 1e-6 * fabs(h->alpha[i]));
            ck_assert_double_le(fabs(d->beta[i] - h->beta[i]), 1e-5 * fabs(h->beta[i]) + 1e-12);
        }
        if (j.precision == PREC_DOUBLE) {
            ck_assert_uint_le(d->iterations, h->iterations + 2);
            ck_assert_uint_le(h->iterations, d->iterations + 2);
        }
    }
    for (int o = 0; o < 2; o++) {
        for (size_t c = 0; c < k; c++)
            solve_info_free(&info[o][c]);
        free(info[o]), free(x[o]);
    }
    precond_free(pre);
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(b), free(x0);
}
END_TEST

#ifndef ON_DEVICE
/* Steps that are recorded and launched again are those that are launched one by one, bit by bit:
 * with every preconditioner, features stored or made anew, when columns leave and when memory moves
 * between runs. */
START_TEST(recorded_steps)
{
    static const char *const pres[] = { "none", "jacobi", "srht" };
    struct job j = { .kernel = "matern(nu=5/2)", .n = 150, .d = 4, .M = 96, .store = _i > 0,
                     .half = _i == 2 };
    double *b = normals(5, 5 * j.M), *x[2];

    for (int o = 0; o < 2; o++) {
        struct pair p = pair_open(&j);
        struct precond *pre = NULL;
        struct solve_info info[3];
        setenv("GPDESK_EMU_GRAPHS", o ? "1" : "0", 1);
        ok(precond_find(pres[_i], NULL)
               ->build(p.cpu, &(struct precond_opts){.rank = 24}, NULL, &pre, &fail));
        precond_set_noise(pre, 0.4);
        x[o] = normals(7, 3 * j.M);
        const size_t before = emulated_replays();
        const struct solve_opts so = {.rtol = 1e-5,
                                      .maxit = 300,
                                      .pre = pre,
                                      .nprobes = 1,
                                      .probe_rtol = 0.1,
                                      .check_every = 10};
        ok(solver_find("pcg", NULL)
               ->solve(&(struct ridge){p.dev, 0.4}, 3, b, x[o], &so, NULL, info, &fail));
        const size_t replays = emulated_replays() - before;
        ck_assert_msg(o ? replays > info[1].iterations / 2 : replays == 0, "%zu of %zu", replays,
                      info[1].iterations);
        for (int c = 0; c < 3; c++)
            solve_info_free(&info[c]);
        struct fop_cg *cg = fop_cg_open(p.dev, 1, 0.5, &(struct backend_inverse){ .L = 0 });
        struct cg_slot slot = { .fresh = true };
        struct cg_step step[12];
        size_t done;
        ok(fop_cg_put(cg, 0, x[o], b, &fail));
        for (int run = 0; run < 3;
             run++) { /* between them a pass of more vectors, which wants more room */
            for (size_t left = 4; left > 0;
                 left -= done) { /* a run ends when it has taken some time */
                ok(fop_cg_run(cg, 1, left, &slot, step, &done, NULL, &fail));
                ck_assert(done > 0 && done <= left);
                slot = (struct cg_slot){ .rz = step[done - 1].rz };
            }
            double *W = normals(8, 5 * j.M);
            ok(fop_pass(p.dev, (size_t)run + 3, b, W, NULL, &fail));
            free(W);
        }
        ok(fop_cg_get(cg, 0, x[o], NULL, &fail));
        fop_cg_close(cg);
        precond_free(pre);
        ck_assert(!fop_lost(p.dev, NULL));
        pair_close(&p);
        ck_assert_uint_eq(emulated_used(), 0);
    }
    ck_assert_mem_eq(x[0], x[1], 3 * j.M * sizeof *x[0]);
    free(b), free(x[0]), free(x[1]);
}
END_TEST
#endif

/* A run ends with the first event of any column, and nothing is done after it. */
START_TEST(events)
{
    struct job j = { .kernel = "rbf", .n = 60, .d = 3, .M = 64, .precision = PREC_DOUBLE };
    struct pair p = pair_open(&j);
    const size_t M = j.M;
    double *b = normals(5, 2 * M), *x = mem_calloc(2 * M, sizeof *x, "x", NULL), *r = normals(8, M);
    struct cg_slot slot[2] = { { .goal = 0.0, .fresh = true }, { .goal = 0.0, .fresh = true } };
    struct cg_step step[40];
    size_t done;

    for (size_t i = 0; i < M; i++)
        b[M + i] = 0.0; /* r'z = 0 in the first step */
    struct fop_cg *cg = fop_cg_open(p.dev, 2, 0.5, &(struct backend_inverse){ .L = 0 });
    ck_assert_ptr_nonnull(cg);
    ok(fop_cg_put(cg, 0, x, b, &fail));
    ok(fop_cg_put(cg, 1, x, b + M, &fail));
    ok(fop_cg_run(cg, 2, 20, slot, step, &done, NULL, &fail));
    ck_assert_uint_eq(done, 1);
    ck_assert_int_eq(step[0].event, CG_NONE);
    ck_assert_int_eq(step[1].event, CG_BAD_RZ);
    ok(fop_cg_get(cg, 0, NULL, r, &fail));
    ck_assert_double_le(fabs(norm(M, r) - step[0].rel), 1e-12 * step[0].rel);
    ok(fop_cg_swap(cg, 0, 1, &fail)); /* the other way round, alone, up to a goal */
    ok(fop_cg_swap(cg, 1, 0, &fail));
    slot[0] = (struct cg_slot){ .rz = step[0].rz, .goal = 0.3 * step[0].rel };
    ok(fop_cg_run(cg, 1, 30, slot, step, &done, NULL, &fail));
    ck_assert_uint_gt(done, 1);
    ck_assert_uint_lt(done, 30);
    for (size_t i = 0; i < done; i++)
        ck_assert_int_eq(step[i].event, i + 1 < done ? CG_NONE : CG_GOAL);
    ok(fop_cg_get(cg, 0, x, r, &fail));
    double *Ax = normals(9, M); /* r is b - A x of the x that is there */
    ok(fop_pass(p.cpu, 1, x, Ax, NULL, &fail));
    for (size_t i = 0; i < M; i++)
        Ax[i] = b[i] - Ax[i] - 0.5 * x[i];
    ck_assert_double_le(apart(M, r, Ax), 1e-10);
    fop_cg_close(cg);
    pair_close(&p);
    free(b), free(x), free(r), free(Ax);
}
END_TEST

/* The whole factor made there: a few steps where there are hundreds without, of every kind of
 * features; and after the device is lost the processor's own. */
START_TEST(factor_there)
{
    static const struct { const char *kernel; struct job how; } of[] = {
        { "rbf", { .precision = PREC_FLOAT } },
        { "matern(nu=5/2)", { .precision = PREC_FLOAT, .store = true, .half = true } },
        { "rbf + linear", { .precision = PREC_FLOAT, .weighted = true } },
        { "rbf * periodic", { .precision = PREC_DOUBLE } },
    };
    const bool lost = _i / 4 == 1, full = _i / 4 == 2;
    struct job j = of[_i % 4].how;
    j.kernel = of[_i % 4].kernel;
    j.n = 300, j.d = 4, j.M = 120;
    struct pair p = pair_open(&j);
    const double noise = j.precision == PREC_DOUBLE ? 1e-3 : 0.1;
    double *b = normals(5, 3 * j.M), *x[2];
    size_t steps[2] = { 0, 0 };
    char at[24];

    for (int o = 0; o < 2; o++) {
        struct fop *f = o ? p.dev : p.cpu;
        struct precond *pre = NULL;
        struct solve_info info[3];
        const struct precond_opts po = { .lam2 = noise };
        x[o] = normals(7, 3 * j.M);
        const size_t before = emulated_launches();
#ifndef ON_DEVICE
        if (o && full) {
            snprintf(at, sizeof at, "%zu", emulated_used() + 20000);
            setenv("GPDESK_EMU_FULL", at, 1);
        }
#endif
        const enum status rc = precond_find("gram", NULL)->build(f, &po, NULL, &pre, &fail);
        unsetenv("GPDESK_EMU_FULL");
        if (o && full) { /* an error with numbers, and nothing is lost */
            ck_assert_int_eq(rc, ST_NOMEM);
            ck_assert_msg(strstr(fail.msg, "the device has no ") != NULL, "%s", fail.msg);
            ck_assert(!fop_lost(f, NULL));
            memcpy(x[1], x[0], 3 * j.M * sizeof *x[1]);
            break;
        }
        ck_assert_msg(rc == ST_OK, "%s", fail.msg);
        const size_t made = emulated_launches() - before;
#ifndef ON_DEVICE
        ck_assert_int_eq(made > 2, o); /* features, products, a factor */
        if (o && lost) {
            snprintf(at, sizeof at, "%zu", emulated_launches() + 4);
            setenv("GPDESK_EMU_LOST", at, 1);
        }
#else
        (void)at, (void)made;
#endif
        precond_set_noise(pre, noise);
        const struct solve_opts so = {
            .rtol = j.precision == PREC_DOUBLE ? 1e-9 : 1e-5, .maxit = 60, .pre = pre};
        ok(solver_find("pcg", NULL)
               ->solve(&(struct ridge){f, noise}, 3, b, x[o], &so, NULL, info, &fail));
        unsetenv("GPDESK_EMU_LOST");
        ck_assert_int_eq(fop_lost(f, NULL), o && lost);
        for (size_t c = 0; c < 3; c++) {
            ck_assert_int_eq(info[c].why, OUT_RTOL);
            ck_assert_uint_le(info[c].iterations, 12);
            steps[o] += info[c].iterations;
            solve_info_free(&info[c]);
        }
        precond_free(pre);
    }
    /* Residuals of 1e-5 and features 1e-5 apart, times the condition of some 1e4. */
    ck_assert_double_le(apart(3 * j.M, x[1], x[0]), j.precision == PREC_DOUBLE ? 1e-4 : 0.2);
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(b), free(x[0]), free(x[1]);
}
END_TEST

/* Exact kernels. */

/* K V without K, against K: sums and products, inputs of their own, more rows than a tile, near and
 * far points; of the rows themselves and of others. */
START_TEST(exact_there)
{
    static const struct { const char *kernel; bool there;
    } of[] = {
        {"rbf", true},
        {"matern(nu=1/2)", true},
        {"matern(nu=5/2,ard)", true},
        {"cauchy", true},
        {"rbf(ard=2,inputs=2:3) * matern(nu=3/2,inputs=4:5) + cauchy", true},
        {"rbf + matern(nu=3/2) * rbf(ard)", true},
        {"rbf + linear", false},
        {"periodic", false},
    };
    enum { N = 150, D = 5, K = 6, OTHER = 70 };
    double *X = normals(60, N * D), *Y = normals(61, OTHER * D), *V = normals(62, K * N),
           hp[KERNEL_MAX_HP];
    double *C = mem_calloc(N * N, sizeof *C, "kernel", NULL), *W = normals(63, K * N);
    struct kernel k;
    struct exact_op *op;
    size_t from[KERNEL_MAX_HP];

    ok(kernel_parse(of[_i].kernel, &k, NULL, &fail));
    ok(kernel_bind(&k, D, from, &fail));
    for (size_t h = 0; h < KERNEL_MAX_HP; h++)
        hp[h] = exp(0.3 * normal(64, h));
    for (size_t i = 0; i < D; i++) { /* coincident, near and far */
        X[D + i] = X[i];
        X[2 * D + i] = X[i] + 1e-4;
        X[3 * D + i] = 1e5;
    }
    struct pool *pool = pool_new(2, NULL);
    ok(exact_op_open(gpdesk_backend(),
                     &(struct exact_rows){.k = &k, .hp = hp, .X = X, .n = N, .d = D, .pool = pool},
                     &op, &fail));
    ck_assert_int_eq(exact_op_there(op, NULL), of[_i].there);
    for (int other = 0; other < 3;
         other++) { /* rows of their own; others; these with the device lost */
        const size_t m = other ? OTHER : N;
#ifndef ON_DEVICE
        if (other == 2)
            setenv("GPDESK_EMU_LOST", "1", 1);
#endif
        const double *Yo = other ? Y : X;
        exact_cross(&(struct exact_rows){ .k = &k, .hp = hp, .X = X, .n = N, .d = D }, Yo, m, C);
        for (int back = 0; back < 2; back++) { /* other orders of threads: the same bits */
            double *again = normals(65, K * m);
#ifndef ON_DEVICE
            emu_order = back;
#endif
            ok(exact_op_apply(op, m, other ? Y : NULL, K, V, again, NULL, &fail));
            if (back)
                ck_assert_mem_eq(again, W, K * m * sizeof *W);
            memcpy(W, again, K * m * sizeof *W);
            free(again);
        }
        for (size_t c = 0; c < K; c++)
            for (size_t i = 0; i < m; i++) {
                double s = 0.0, size = 0.0;
                for (size_t j = 0; j < N; j++) {
                    s += C[i * N + j] * V[c * N + j];
                    size += fabs(C[i * N + j] * V[c * N + j]);
                }
                /* Single precision of distances and of the table. */
                ck_assert_msg(fabs(s - W[c * m + i]) <= 4e-6 * size + 1e-6,
                              "%s: %g, not %g (of %g)", of[_i].kernel, W[c * m + i], s, size);
            }
    }
#ifndef ON_DEVICE
    struct err why = { 0 };
    unsetenv("GPDESK_EMU_LOST");
    ck_assert(!exact_op_there(op, &why));
    ck_assert_int_eq(why.code, of[_i].there ? ST_BACKEND : ST_OK);
#endif
    struct cancel cancel = { true };
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(
            exact_op_apply(op, N, NULL, 1, V, W, &(struct ctl){.cancel = &cancel}, &fail),
            ST_CANCELLED);
        exact_op_close(op);
        op = NULL;
        if (!again)
            ok(exact_op_open(
                gpdesk_backend(),
                &(struct exact_rows){.k = &k, .hp = hp, .X = X, .n = N, .d = D, .pool = pool}, &op,
                &fail));
    }
    pool_free(pool);
    ck_assert_uint_eq(emulated_used(), 0);
    free(X), free(Y), free(V), free(C), free(W);
}
END_TEST

/* Marginal likelihood. */

/* Value and gradient, by the Gram and by probes, with the features there and here; a device that is
 * lost in the middle of the gradient leaves the processor's (_i / 2 1). */
START_TEST(likelihood_there)
{
    struct job j = { .kernel = "rbf(ard) * periodic + matern(nu=5/2)", .n = 150, .d = 3, .M = 64,
                     .store = true, .precision = _i % 2 ? PREC_DOUBLE : PREC_FLOAT };
    struct pair p = pair_open(&j);
    const size_t nhp = kernel_nhp(&p.k);
    const struct nmll_slq_opts slq = { .rank = 16, .probes = 5, .rtol = 1e-9, .probe_rtol = 1e-6 };
    double *y = normals(50, j.n), value[2][2], g[2][2][KERNEL_MAX_HP + 2], se;
    size_t its;
    char at[24];

    for (int o = 0; o < 2; o++) {
        struct fop *f = o ? p.dev : p.cpu;
        ok(nmll_slq(
            f, &(struct nmll_ask){.y = y, .hp = p.hp, .nhp = nhp, .amplitude = 1.3, .noise = 0.4},
            &slq,
            &(struct nmll_told){
                .value = &value[1][o], .se = &se, .grad = g[1][o], .iterations = &its},
            NULL, &fail));
        if (o && _i / 2) {
            snprintf(at, sizeof at, "%zu", emulated_launches() + 14);
            setenv("GPDESK_EMU_LOST", at, 1);
        }
        ok(nmll_features(
            f, &(struct nmll_ask){.y = y, .hp = p.hp, .nhp = nhp, .amplitude = 1.3, .noise = 0.4},
            &(struct nmll_told){.value = &value[0][o], .grad = g[0][o]}, NULL, &fail));
    }
    unsetenv("GPDESK_EMU_LOST");
#ifndef ON_DEVICE
    ck_assert_int_eq(fop_lost(p.dev, NULL), _i / 2 == 1);
#endif
    const double tol = j.precision == PREC_DOUBLE ? 1e-9 : 1e-4;
    for (int how = 0; how < 2; how++) {
        ck_assert_double_le(fabs(value[how][1] - value[how][0]), tol * fabs(value[how][0]));
        ck_assert_msg(apart(nhp + 2, g[how][1], g[how][0]) <= (how ? fmax(10.0 * tol, 1e-6) : tol),
                      "%d: %g", how, apart(nhp + 2, g[how][1], g[how][0]));
    }
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(y);
}
END_TEST

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

#ifndef ON_DEVICE
/* The best amplitudes and noises by factors on the device and by the tridiagonal form here: the
 * same values, gradients and effective dimensions; one target and two, free and at a bound, of
 * features and of an exact kernel; and a device that is lost in the middle (_i 1), full (2), or
 * asked to stop (3). */
START_TEST(profiles_there)
{
    struct job j = {
        .kernel = "matern(nu=5/2)", .n = 160, .d = 3, .M = 80, .precision = PREC_DOUBLE};
    struct pair p = pair_open(&j);
    static const double noise_bounds[][2] = { { 1e-3, 10.0 }, { 0.9, 10.0 }, { 1e-4, 5e-3 } };
    const double ab[2] = { 1e-2, 1e2 };
    double *y = normals(70, 2 * j.n), amp[2][2], noise[2][2], g[2][KERNEL_MAX_HP], value[2], dim[2];
    struct cancel cancel = { true };
    bool limited = false;
    char at[24];

    for (size_t i = 0; i < j.n; i++) {
        y[i] = sin(2.0 * p.x[i * j.d]) + 0.2 * y[i];
        y[j.n + i] = p.x[i * j.d + 1] + 0.3 * y[j.n + i];
    }
    setenv("GPDESK_EMU_DENSE", "16", 1);
    for (int exact = 0; exact < 2; exact++)
        for (size_t t = 1; t <= 2; t++)
            for (int b = 0; b < 3; b++) {
                enum status rc = ST_OK;
                const double *nb = noise_bounds[b];
                for (int o = 0; o < 2; o++) {
                    const size_t before = emulated_launches();
                    amp[o][0] = 1.0, noise[o][0] = 0.5;
                    if (o)
                        blas_on(gpdesk_backend()->dense);
                    if (o && _i == 1) {
                        snprintf(at, sizeof at, "%zu", emulated_calls() + 40);
                        setenv("GPDESK_EMU_FAIL", at, 1);
                    }
                    if (o && _i == 2)
                        setenv("GPDESK_EMU_FULL", "1000", 1);
                    const struct ctl ctl = { .cancel = o && _i == 3 ? &cancel : NULL };
                    if (exact)
                        rc = nmll_exact(
                            &p.k, &p.src->base,
                            &(struct nmll_ask){
                                .t = t,
                                .y = y,
                                .hp = p.hp,
                                .scale = NMLL_BEST,
                                .within = &(struct nmll_bounds){{ab[0], ab[1]}, {nb[0], nb[1]}}},
                            &(struct nmll_told){.value = &value[o],
                                                .amplitude = amp[o],
                                                .noise = noise[o],
                                                .effdim = &dim[o]},
                            p.pool, &ctl, &fail);
                    else
                        rc = nmll_features(
                            p.cpu,
                            &(struct nmll_ask){
                                .t = t,
                                .y = y,
                                .hp = p.hp,
                                .nhp = kernel_nhp(&p.k),
                                .scale = NMLL_BEST,
                                .within = &(struct nmll_bounds){{ab[0], ab[1]}, {nb[0], nb[1]}}},
                            &(struct nmll_told){.value = &value[o],
                                                .amplitude = amp[o],
                                                .noise = noise[o],
                                                .grad = b ? NULL : g[o],
                                                .effdim = &dim[o],
                                                .limited = &limited},
                            &ctl, &fail);
                    blas_on(NULL);
                    unsetenv("GPDESK_EMU_FAIL");
                    unsetenv("GPDESK_EMU_FULL");
                    ck_assert_msg(rc == (o && _i == 3 ? ST_CANCELLED : ST_OK), "%s", fail.msg);
                    ck_assert(!limited);
                    ck_assert(o || emulated_launches() == before);
                    if (o && _i == 0) /* factors, not a form */
                        ck_assert_uint_gt(emulated_launches() - before, 30);
                }
                if (_i == 3)
                    continue;
                /* Where noise and amplitude are both at a bound there is a corner, and no parabola.
                 */
                ck_assert_msg(fabs(value[1] - value[0]) <= (b == 2 ? 1e-5 * fabs(value[0]) : 1e-5),
                              "%s, %zu targets, bounds %d: %.9g, not %.9g (noise %g, %g)",
                              exact ? "exact" : "features", t, b, value[1], value[0], noise[1][0],
                              noise[0][0]);
                ck_assert_double_le(fabs(dim[1] - dim[0]), 1e-2);
                for (size_t q = 0; q < t; q++) {
                    ck_assert_double_le(fabs(log(amp[1][q] / amp[0][q])), 1e-3);
                    ck_assert_double_le(fabs(log(noise[1][q] / noise[0][q])), 1e-3);
                }
                if (!exact && !b)
                    ck_assert_double_le(apart(kernel_nhp(&p.k), g[1], g[0]), 1e-3);
            }
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(y);
}
END_TEST
#endif

#ifndef ON_DEVICE
/* A transform that is too wide for shared memory takes memory of the device: the same bits. */
START_TEST(little_shared_memory)
{
    struct job j = { .kernel = "matern(nu=5/2,ard) * linear", .n = 90, .d = 5, .M = 128 };
    double *P = normals(5, j.M), w[2][128], grad[2][KERNEL_MAX_HP];
    size_t nhp = 0;

    for (int i = 0; i < 2; i++) {
        setenv("GPDESK_EMU_SHARED", i ? "64" : "100000", 1);
        struct pair p = pair_open(&j);
        nhp = kernel_nhp(&p.k);
        memset(grad[i], 0, sizeof grad[i]);
        ok(fop_pass(p.dev, 1, P, w[i], NULL, &fail));
        ok(fop_back(p.dev, NULL, 1, P, P, grad[i], NULL, &fail));
        ck_assert(!fop_lost(p.dev, NULL));
        pair_close(&p);
    }
    ck_assert_mem_eq(w[0], w[1], sizeof w[0]);
    ck_assert_mem_eq(grad[0], grad[1], nhp * sizeof grad[0][0]);
    ck_assert_uint_eq(emulated_used(), 0);
    free(P);
}
END_TEST
#endif

/* Factorisations. */

#ifdef ON_DEVICE
enum { DENSE = 1500, SMALL_DENSE = 1100 };
#else
enum { DENSE = 150, SMALL_DENSE = 40 };
#endif

/* A = B'B / n + I / 10 of random B: lower triangle, and NaN above where nobody may look. */
static double *matrix(size_t n, size_t ld)
{
    double *B = normals(20, n * n), *A = mem_calloc(n, ld * sizeof *A, "a matrix", NULL);

    for (size_t j = 0; j < n; j++) {
        for (size_t i = j; i < n; i++)
            for (size_t q = 0; q < n; q++)
                A[j * ld + i] += B[i * n + q] * B[j * n + q] / (double)n;
        A[j * ld + j] += 0.1;
    }
    free(B);
    return A;
}

static double *copy_of(size_t n, const double *A)
{
    double *B = mem_calloc(n, sizeof *B, "a copy", NULL);

    memcpy(B, A, n * sizeof *B);
    return B;
}

/* Each by blas.h with the device and without: factor, inverse, tridiagonal form (what follows from
 * it), eigenpairs.  What lies above the diagonal stays as it was. */
START_TEST(factorisations)
{
    const size_t n = _i ? SMALL_DENSE : DENSE, ld = n + (_i ? 3 : 0), size = n * ld;
    double *A = matrix(n, ld), *F[2], *w[2], *d[2], *e[2], *b[2];
    size_t before[2], pivot = 0;

    setenv("GPDESK_EMU_DENSE", "32", 1);
    for (size_t j = 1; j < n; j++)
        A[j * ld] = 777.0; /* above the diagonal */
    for (int o = 0; o < 2; o++) {
        blas_on(o ? gpdesk_backend()->dense : NULL);
        before[o] = emulated_launches();
        ck_assert_uint_eq(before[o], before[0]); /* here nothing is launched */
        F[o] = copy_of(size, A);
        ok(blas_dpotrf(NULL, n, F[o], ld, NULL, NULL, &fail));
        ck_assert(F[o][ld] == 777.0);
        w[o] = copy_of(size, F[o]);
        ok(blas_dpotri(NULL, n, w[o], ld, &fail));
        ck_assert(w[o][ld] == 777.0);
    }
#ifndef ON_DEVICE
    ck_assert_uint_gt(emulated_launches(), before[1]);
#endif
    ck_assert_double_le(apart(size, F[1], F[0]), 1e-11);
    ck_assert_double_le(apart(size, w[1], w[0]), 1e-10);
    free(F[0]), free(F[1]), free(w[0]), free(w[1]);
    for (int o = 0; o < 2; o++) { /* |T - x I| and b'(A - x I)^-1 b of both forms, by a recursion */
        blas_on(o ? gpdesk_backend()->dense : NULL);
        F[o] = copy_of(size, A);
        d[o] = normals(22, n), e[o] = normals(23, n), b[o] = normals(24, 2 * n);
        ok(blas_tridiag(NULL, n, F[o], ld, d[o], e[o], 2, b[o], n, &fail));
        w[o] = mem_calloc(4, sizeof *w[o], "moments", NULL);
        for (int c = 0; c < 2; c++) {
            double delta = 1.0, u = 0.0;
            for (size_t i = 0; i < n; i++) {
                const double l = i ? e[o][i - 1] / delta : 0.0;
                delta = d[o][i] + 0.5 - (i ? l * e[o][i - 1] : 0.0);
                u = b[o][(size_t)c * n + i] - l * u;
                w[o][c] += u * u / delta;
                w[o][2] += log(delta);
            }
        }
        free(F[o]), free(d[o]), free(e[o]), free(b[o]);
    }
    ck_assert_double_le(apart(3, w[1], w[0]), 1e-11);
    free(w[0]), free(w[1]);
    for (int o = 0; o < 2; o++) {
        blas_on(o ? gpdesk_backend()->dense : NULL);
        F[o] = copy_of(size, A);
        w[o] = normals(25, n);
        ok(blas_dsyevd(n, F[o], ld, w[o], true, &fail));
    }
    ck_assert_double_le(apart(n, w[1], w[0]), 1e-12);
    for (size_t j = 0; j < n; j++) { /* A v = w v */
        double worst = 0.0;
        for (size_t i = 0; i < n; i += 7) {
            double s = 0.0;
            for (size_t q = 0; q < n; q++)
                s += (q > i ? A[i * ld + q] : A[q * ld + i]) * F[1][j * ld + q];
            worst = fmax(worst, fabs(s - w[1][j] * F[1][j * ld + i]));
        }
        ck_assert_double_le(worst, 1e-11);
    }
    A[ld * (n - 2) + n - 2] = -1.0; /* indefinite, and asked to stop */
    ck_assert_int_eq(blas_dpotrf(NULL, n, A, ld, NULL, &pivot, &fail), ST_NOT_PD);
    ck_assert_uint_eq(pivot, n - 2);
    struct cancel cancel = { true };
    ck_assert_int_eq(blas_dpotrf(NULL, n, A, ld, &(struct ctl){ .cancel = &cancel }, NULL, &fail),
                     ST_CANCELLED);
    blas_on(NULL);
    free(F[0]), free(F[1]), free(w[0]), free(w[1]), free(A);
    ck_assert_uint_eq(emulated_used(), 0);
}
END_TEST

/* The preconditioner made there is the one made here: the same products with any vector,
 * eigenvalues; half precision of the sketch alone is between them. */
START_TEST(preconditioner_there)
{
    static const char *const names[] = { "gauss", "srht", "srht2" };
    struct job j = { .kernel = "rbf", .n = 130, .d = 4, .M = 160, .store = _i == 1,
                     .precision = _i == 2 ? PREC_DOUBLE : PREC_FLOAT };
    struct pair p = pair_open(&j);
    struct precond *pre[2] = { NULL, NULL };
    double *x = normals(30, 2 * j.M), *y[2];
    const size_t L = 40;

    for (int o = 0; o < 2; o++) {
        const size_t before = emulated_launches();
        ok(precond_find(names[_i], NULL)
               ->build(o ? p.dev : p.cpu, &(struct precond_opts){.rank = L}, NULL, &pre[o], &fail));
#ifndef ON_DEVICE
        ck_assert_int_eq(emulated_launches() - before > 20, o);
#else
        (void)before;
#endif
        precond_set_noise(pre[o], 0.3);
        y[o] = normals(31, 2 * j.M);
        ok(precond_apply(pre[o], p.pool, 2, x, y[o], &fail));
    }
    const double *ea = precond_eigenvalues(pre[0]), *eb = precond_eigenvalues(pre[1]);
    for (size_t i = 0; i < L; i++)
        ck_assert_double_le(fabs(ea[i] - eb[i]), (_i == 2 ? 1e-7 : 2e-3) * ea[0]);
    for (size_t i = 1; i < L; i++)
        ck_assert(eb[i] <= eb[i - 1] && eb[i] >= 0.0);
    ck_assert_double_le(apart(2 * j.M, y[1], y[0]), _i == 2 ? 1e-5 : 3e-2);
    for (int o = 0; o < 2; o++)
        precond_free(pre[o]), free(y[o]);
    ck_assert(!fop_lost(p.dev, NULL));
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(x);
}
END_TEST

#ifndef ON_DEVICE
/* Sums of float32 products where double ones are slow. */
START_TEST(slow_double)
{
    setenv("GPDESK_EMU_DOUBLE", "0", 1);
    compare(&jobs[1], tolerance(&jobs[1]));
    compare(&jobs[JOBS - 1], tolerance(&jobs[JOBS - 1]));
}
END_TEST

START_TEST(devices)
{
    const struct backend_ops *be = gpdesk_backend();
    struct backend_device d;
    struct err err = { 0 };
    char why[64];

    ck_assert_uint_eq(be->abi, BACKEND_ABI);
    ck_assert_uint_eq(be->devices(why, sizeof why), 2);
    ck_assert_int_eq(be->describe(1, &d, &err), ST_OK);
    ck_assert_str_eq(d.name, "emulated device");
    ck_assert_int_eq(be->use(1, &err), ST_OK);
    ck_assert_int_eq(be->use(2, &err), ST_NOT_FOUND);
    ck_assert_str_eq(err.msg, "there is no CUDA device 2: the last one is 1");
}
END_TEST

#else
/* Sizes of real work: many tiles, clusters of several blocks, each store; and the same bits again.
 */
static const struct job large[] = {
    { .kernel = "rbf", .n = 20000, .d = 8, .M = 4096 },
    { .kernel = "matern(nu=5/2)", .n = 6000, .d = 90, .M = 32768 },
    { .kernel = "matern(nu=3/2)", .n = 5000, .d = 300, .M = 8192 },
    { .kernel = "rbf", .n = 3000, .d = 700, .M = 2048 },
    { .kernel = "rbf * periodic + linear", .n = 20000, .d = 6, .M = 2048 },
    { .kernel = "matern(nu=1/2)", .n = 20000, .d = 20, .M = 2048 },
};
enum { LARGE = sizeof large / sizeof *large };

START_TEST(large_jobs)
{
    struct job j = large[_i / 4];

    j.store = _i % 4 > 0;
    j.half = _i % 4 == 2 && _i / 4 < 4;
    j.weighted = _i % 4 == 3;
    struct pair p = pair_open(&j);
    double *P = normals(5, 13 * j.M), *V = normals(6, 2 * j.n);
    double *a = mem_calloc(13 * j.M + 2 * j.n, sizeof *a, "results", NULL);
    double *b = mem_calloc(13 * j.M + 2 * j.n, sizeof *b, "results", NULL);
    for (size_t k = 1; k <= 13; k += k == 4 ? 9 : k == 1 ? 1 : 2) { /* 1, 2, 4, 13 */
        ok(fop_pass(p.cpu, k, P, a, NULL, &fail));
        ok(fop_pass(p.dev, k, P, b, NULL, &fail));
        ck_assert_msg(apart(k * j.M, b, a) <= (j.half ? 1e-4 : 2e-5), "%s: pass of %zu, %g",
                      j.kernel, k, apart(k * j.M, b, a));
        ok(fop_pass(p.dev, k, P, a, NULL, &fail));
        ck_assert_mem_eq(a, b, k * j.M * sizeof *a); /* the same sums in the same order */
    }
    ok(fop_zp(p.cpu, 2, P, a, NULL, &fail));
    ok(fop_zp(p.dev, 2, P, b, NULL, &fail));
    ck_assert_double_le(apart(2 * j.n, b, a), 2e-5);
    ok(fop_ztv(p.cpu, 2, V, a, NULL, &fail));
    ok(fop_ztv(p.dev, 2, V, b, NULL, &fail));
    ck_assert_double_le(apart(2 * j.M, b, a), 2e-5);
    ok(fop_sketch(p.cpu, 12, P, a, NULL, &fail));
    ok(fop_sketch(p.dev, 12, P, b, NULL, &fail));
    ck_assert_double_le(apart(12 * j.M, b, a), 2e-5);
    ok(fop_sketch_rough(p.dev, 12, P, b, NULL, &fail));
    ck_assert_double_le(apart(12 * j.M, b, a), 4e-4);
    ck_assert_msg(!fop_lost(p.dev, &fail), "%s", fail.msg);
    pair_close(&p);
    free(P), free(V), free(a), free(b);
}
END_TEST
#endif

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
    tcase_set_timeout(ops, 120);
    tcase_add_loop_test(ops, made_anew, 0, JOBS);
    tcase_add_loop_test(ops, derivatives, 0, 2 * JOBS);
    tcase_add_loop_test(ops, in_double, 0, JOBS);
    tcase_add_loop_test(ops, stored, 0, JOBS);
    tcase_add_loop_test(ops, stored_half, 0, JOBS);
#ifndef ON_DEVICE
    tcase_add_loop_test(ops, wide, 0, 6);
    tcase_add_loop_test(ops, any_order_of_threads, 0, JOBS);
    tcase_add_test(ops, streaming);
    tcase_add_test(ops, out_of_memory);
    tcase_add_loop_test(ops, device_lost, 0, 3);
    tcase_add_loop_test(ops, every_call_fails, 0, 9);
    tcase_add_loop_test(ops, profiles_there, 0, 4);
    tcase_add_loop_test(ops, recorded_steps, 0, 3);
    tcase_add_test(ops, slow_double);
    tcase_add_test(ops, little_shared_memory);
    tcase_add_test(ops, devices);
#else
    tcase_set_timeout(ops, 900);
    if (!getenv("GPDESK_CUDA_SMALL"))
        tcase_add_loop_test(ops, large_jobs, 0, 4 * LARGE);
#endif
    tcase_add_test(ops, stopping);
    tcase_add_loop_test(ops, gradients_there, 0, SOLVES);
    tcase_add_test(ops, events);
#ifdef ON_DEVICE
    tcase_add_loop_test(ops, likelihood_there, 0, 2);
#else
    tcase_add_loop_test(ops, likelihood_there, 0, 4);
#endif
    tcase_add_loop_test(ops, factorisations, 0, 2);
    tcase_add_loop_test(ops, preconditioner_there, 0, 3);
    tcase_add_loop_test(ops, exact_there, 0, 8);
#ifdef ON_DEVICE
    tcase_add_loop_test(ops, factor_there, 0, 4);
#else
    tcase_add_loop_test(ops, factor_there, 0, 12);
#endif
    suite_add_tcase(s, ops);
    return support_run(s);
}
