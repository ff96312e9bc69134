/* compute/cpu/simd_level.h -- one processor level: simd_real.h for float and double, and the table.
 * The including file sets the compiler's target, and defines
 *
 *   LEVEL            name of the table, LEVEL_NAME its text
 *   VEC_BYTES        bytes of a vector register
 *   MOST_BITS        log2 of the largest radix that stays in registers
 *   SHUFFLE_LO/HI_n  lane lists of interleaved halves for n lanes (below)
 *   f32_reduce, f64_reduce   see simd_real.h
 *   PAIRS_ROWS and f32_root, f32_least, f32_cubic   see simd_pairs.h
 *   LEVEL_TWICE32, LEVEL_TWICE64(p)  half a vector at p, in both halves of one, where a load can
 *   LEVEL_NARROW, LEVEL_WIDEN(from, to)  a vector of floats to float16 and back, where there are
 *                    instructions for it
 *   LEVEL_LEAST8     see simd_counts.h; LEVEL_SIGNS see simd_hash.h
 *   LEVEL_ROWS       1 where wide terms go a row at a time (simd_rows.h) */
#ifndef __has_builtin
#define __has_builtin(x) 0
#endif
/* Checks for undefined behaviour on every access of unrolled loops take compilers a minute for each
 * file and find nothing that the address sanitizer would not.  These functions are compiled without
 * them. */
#ifndef LEVEL_ROWS
#define LEVEL_ROWS 0
#endif
#define LOOP static __attribute__((no_sanitize("undefined")))
#define INLINE LOOP inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define ZIP_LO_2 0, 2
#define ZIP_HI_2 1, 3
#define ZIP_LO_4 0, 4, 1, 5
#define ZIP_HI_4 2, 6, 3, 7
#define ZIP_LO_8 0, 8, 1, 9, 2, 10, 3, 11
#define ZIP_HI_8 4, 12, 5, 13, 6, 14, 7, 15
#define ZIP_LO_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_HI_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define FLIP_1_2 1, 0
#define FLIP_1_4 1, 0, 3, 2
#define FLIP_2_4 2, 3, 0, 1
#define FLIP_1_8 1, 0, 3, 2, 5, 4, 7, 6
#define FLIP_2_8 2, 3, 0, 1, 6, 7, 4, 5
#define FLIP_4_8 4, 5, 6, 7, 0, 1, 2, 3
#define FLIP_1_16 FLIP_1_8, 9, 8, 11, 10, 13, 12, 15, 14
#define FLIP_2_16 FLIP_2_8, 10, 11, 8, 9, 14, 15, 12, 13
#define FLIP_4_16 FLIP_4_8, 12, 13, 14, 15, 8, 9, 10, 11
#define FLIP_8_16 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7
#define SIDE_1_2 1, -1
#define SIDE_1_4 SIDE_1_2, SIDE_1_2
#define SIDE_2_4 1, 1, -1, -1
#define SIDE_1_8 SIDE_1_4, SIDE_1_4
#define SIDE_2_8 SIDE_2_4, SIDE_2_4
#define SIDE_4_8 1, 1, 1, 1, -1, -1, -1, -1
#define SIDE_1_16 SIDE_1_8, SIDE_1_8
#define SIDE_2_16 SIDE_2_8, SIDE_2_8
#define SIDE_4_16 SIDE_4_8, SIDE_4_8
#define SIDE_8_16 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1
#define SIDE_HALF_2 SIDE_1_2
#define SIDE_HALF_4 SIDE_2_4
#define SIDE_HALF_8 SIDE_4_8
#define SIDE_HALF_16 SIDE_8_16
#define ALL_4 0, 1, 2, 3
#define ALL_8 ALL_4, 4, 5, 6, 7
#define ALL_16 ALL_8, 8, 9, 10, 11, 12, 13, 14, 15
#define ZIP(a, b, list) __builtin_shufflevector(a, b, list)
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

typedef float f32_vec __attribute__((vector_size(VEC_BYTES), may_alias));
typedef int32_t f32_ivec __attribute__((vector_size(VEC_BYTES), may_alias));
typedef double f32_wvec __attribute__((vector_size(2 * VEC_BYTES), may_alias));
typedef double f64_vec __attribute__((vector_size(VEC_BYTES), may_alias));
typedef int64_t f64_ivec __attribute__((vector_size(VEC_BYTES), may_alias));
typedef float f64_nvec __attribute__((vector_size(VEC_BYTES / 2), may_alias));
typedef int32_t f32_word;
typedef int64_t f64_word;
typedef uint32_t f32_uword;
typedef uint64_t f64_uword;
typedef double level_loose __attribute__((vector_size(VEC_BYTES), aligned(8), may_alias));
static const f32_word f32_HIGHEST = INT32_MIN;
static const f64_word f64_HIGHEST = INT64_MIN;

INLINE void f32_reduce(f32_vec t, f32_vec *r, f32_ivec *parity);
INLINE void f64_reduce(f64_vec t, f64_vec *r, f64_ivec *parity);

/* Minimax in r^2 on |r| <= 1/2, absolute error of the function: below 4e-9 (float), 2e-19. */
static const float f32_sin_c[] = { 3.14159258004836845F, -5.16770687901277583F,
                                   2.55003137754541758F, -0.598045171918789866F,
                                   0.0772201203611254122F };
static const float f32_cos_c[] = { -4.93480215608785984F, 4.05870959975080458F,
                                   -1.33521610473841293F, 0.234953925058493707F,
                                   -0.0244206991189306933F };
static const double f64_sin_c[] = { 3.141592653589793232309,  -5.16771278004996855146,
                                    2.550164039877241335348,  -0.5992645293174580084077,
                                    0.08214588655328341535542, -0.007370430356027730337476,
                                    0.0004662991705802350149996, -0.00002190202152836269879624,
                                    7.683940368375032966657e-7 };
static const double f64_cos_c[] = { -4.934802200544679305973, 4.058712126416767665202,
                                    -1.335262768854558925171, 0.2353306303580646005712,
                                    -0.02580689137730826815297, 0.001929574191715335504867,
                                    -0.000104637433127250799944, 0.00000430075694502309529383,
                                    -1.343798346029188265316e-7 };

/* Double. */

#define REAL double
#define N(name) f64_##name
#define VEC f64_vec
#define IVEC f64_ivec
#define WVEC f64_vec
#define LANES (VEC_BYTES / 8)
#define ZIPLO(a, b) ZIP(a, b, CAT(ZIP_LO_, LANES64))
#define ZIPHI(a, b) ZIP(a, b, CAT(ZIP_HI_, LANES64))
#define FOR_LANES(name) CAT(name, LANES64)
#ifdef LEVEL_TWICE64
#define TWICE(p) LEVEL_TWICE64(p)
#endif
#define SIN_TERMS 9
#define COS_TERMS 9

/* Nothing is wider than double. */
static enum status f64_prepare_wide(struct simd_term *t, const struct fm_term *fm, struct err *err)
{
    (void)t;
    (void)fm;
    (void)err;
    return ST_OK;
}

static void f64_lanes_wide(const struct simd_term *t, const struct simd_inputs *in, double *out)
{
    (void)t;
    (void)in;
    (void)out;
}

static void f64_project_wide(const struct simd_term *t, size_t block, double *wide, double *v)
{
    (void)t;
    (void)block;
    (void)wide;
    (void)v;
}

/* A vector of inputs times 1/l, or, even, all times the first of these. */
INLINE f64_vec f64_narrowed(const double *x, const double *inv, const bool even)
{
    const level_loose *v = (const level_loose *)(const void *)x;

    return (f64_vec)(even ? v[0] * inv[0] : v[0] * *(const level_loose *)(const void *)inv);
}

INLINE f64_vec f64_erf(f64_vec x)
{
    f64_vec y = { 0 };

    for (size_t i = 0; i < LANES; i++)
        y[i] = erf(x[i]);
    return y;
}

#include "compute/cpu/simd_real.h"

#undef REAL
#undef N
#undef VEC
#undef IVEC
#undef WVEC
#undef LANES
#undef ZIPLO
#undef ZIPHI
#undef FOR_LANES
#undef TWICE
#undef SIN_TERMS
#undef COS_TERMS

/* Float. */

#define REAL float
#define N(name) f32_##name
#define VEC f32_vec
#define IVEC f32_ivec
#define WVEC f32_wvec
#define LANES (VEC_BYTES / 4)
#define ZIPLO(a, b) ZIP(a, b, CAT(ZIP_LO_, LANES32))
#define ZIPHI(a, b) ZIP(a, b, CAT(ZIP_HI_, LANES32))
#define FOR_LANES(name) CAT(name, LANES32)
#ifdef LEVEL_TWICE32
#define TWICE(p) LEVEL_TWICE32(p)
#endif
#define SIN_TERMS 5
#define COS_TERMS 5

/* Heavy tails: phases come from the wide term already in half turns and reduced to [-1, 1]. */
static enum status f32_prepare_wide(struct simd_term *t, const struct fm_term *fm, struct err *err)
{
    if (!fm->phase64)
        return ST_OK;
    t->wide = mem_calloc(1, sizeof *t->wide, "feature term", err);
    if (!t->wide || f64_prepare(t->wide, fm, err) != ST_OK) {
        free(t->wide);
        t->wide = NULL;
        simd_term_free(t);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < t->nb * t->D; i++)
        ((float *)t->scale)[i] = 1.0F;
    return ST_OK;
}

INLINE f32_vec f32_narrowed(const double *x, const double *inv, const bool even)
{
    const f64_nvec a = __builtin_convertvector(f64_narrowed(x, inv, even), f64_nvec);
    const f64_nvec b = __builtin_convertvector(
        f64_narrowed(x + LANES / 2, even ? inv : inv + LANES / 2, even), f64_nvec);

    return (f32_vec)__builtin_shufflevector(a, b, CAT(ALL_, LANES32));
}

/* x P(x^2) / Q(x^2), least relative error on |x| <= 3.925, where erf is 1 to 3e-8; 4e-7 as
 * computed. */
INLINE f32_vec f32_erf(f32_vec x)
{
    static const float P[] = {
    1.1283791065216064F, 0.1905955672264099F, 0.052769534289836884F, 0.0037726254668086767F,
    0.0002848448057193309F, 2.0460090581764234e-06F
    };
    static const float Q[] = {
    1.0F, 0.5022436380386353F, 0.1141834706068039F, 0.014983351342380047F, 0.0011638751020655036F,
    3.804764855885878e-05F
    };
    const f32_vec most = (f32_vec){ 0 } + 3.925F, one = (f32_vec){ 0 } + 1.0F;
    const f32_ivec far = (x > most) | (x < -most);
    const f32_vec side = (f32_vec)(((f32_ivec)x & (f32_ivec)-one & ~(f32_ivec)one) | (f32_ivec)one);
    const f32_vec t = x * x;
    f32_vec p = (f32_vec){ 0 } + P[5], q = (f32_vec){ 0 } + Q[5];
    for (int i = 5; i-- > 0;) {
        p = p * t + P[i];
        q = q * t + Q[i];
    }
    p = x * p / q;
    return (f32_vec)(((f32_ivec)side & far) | ((f32_ivec)p & ~far));
}

/* A float tile is two double tiles: lanes 0.. and LANES64.. */
static void f32_lanes_wide(const struct simd_term *t, const struct simd_inputs *in, double *out)
{
    const size_t half = LANES / 2, n = in->n;
    const struct simd_inputs first = {in->x, in->ldx, n < half ? n : half};
    const struct simd_inputs last = {n > half ? in->x + half * in->ldx : in->x, in->ldx,
                                     n > half ? n - half : 0};

    f64_lanes(t, &first, out);
    f64_lanes(t, &last, out + f64_place(t, t->dp) * half);
}

static void f32_project_wide(const struct simd_term *t, size_t block, double *wide, float *v)
{
    const size_t half = LANES / 2, one = f64_place(t, t->dp) * half, step = f64_part_size(t);
    double *a = wide + 2 * one, *p = a + t->D * half, *part = p + f64_place(t, t->D) * half;
    const double *scale = (const double *)t->scale + block * t->D;

    for (size_t h = 0; h < 2; h++) {
        f64_project(t, block, wide + h * one, a, p);
        for (size_t j = 0; j < t->D; j += step) {
            const double *q = f64_part(t, p, j, part);
            for (size_t i = 0; i < step; i++) {
                f64_vec r;
                f64_ivec parity;
                f64_reduce(*(const f64_vec *)(const void *)(q + i * half) * (0.5 * scale[j + i]),
                           &r, &parity);
                *(f64_nvec *)(void *)(v + (j + i) * LANES + h * half) =
                    __builtin_convertvector(r + r, f64_nvec);
            }
        }
    }
}

#include "compute/cpu/simd_real.h"

/* Both. */

static void level_add(size_t n, const float *x, double *y)
{
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        f32_add_wide(*(const f32_loose *)(const void *)(x + i), y + i);
    for (; i < n; i++)
        y[i] += (double)x[i];
}

static void level_axpy_rows(size_t n, double a, const float *x, double *y)
{
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        const f32_vec v = *(const f32_loose *)(const void *)(x + i);
        f32_wloose *w = (f32_wloose *)(void *)(y + i);
        *w += __builtin_convertvector(v, f32_wvec) * a;
    }
    for (; i < n; i++)
        y[i] += a * (double)x[i];
}

/* Both folds: what the first leaves is rounded to multiples of finer units. */
static bool level_fold_both(size_t n, double part, double finer, const double *s, const double *C,
                            double *sum, double *rest)
{
    enum { WIDE = VEC_BYTES / 8 };
    const f64_ivec size = (f64_ivec){ 0 } + INT64_MAX;
    f64_ivec beyond = { 0 };
    bool any = false;
    size_t i = 0;

    for (; i + WIDE <= n; i += WIDE) {
        const f64_vec v = *(const level_loose *)(s + i), c = *(const level_loose *)(C + i);
        const f64_vec a = (f64_vec)((f64_ivec)v & size), raised = v + c, q = raised - c;
        const f64_vec d = c * finer, again = (v - q) + d;
        beyond |= (a >= c * part) & (a > 0.0);
        *(level_loose *)(sum + i) += q;
        *(level_loose *)(rest + i) += again - d;
    }
    for (; i < n; i++) {
        const double a = s[i] < 0.0 ? -s[i] : s[i], raised = s[i] + C[i], q = raised - C[i];
        const double d = C[i] * finer, again = (s[i] - q) + d;
        any |= a >= C[i] * part && a > 0.0;
        sum[i] += q;
        rest[i] += again - d;
    }
    for (size_t l = 0; l < WIDE; l++)
        any |= beyond[l] != 0;
    return any;
}

/* See simd.h: -1 in `beyond` where a number is more than its bound. */
static bool level_fold(size_t n, double part, const double *s, const double *C, double *sum)
{
    enum { WIDE = VEC_BYTES / 8 };
    const f64_ivec size = (f64_ivec){ 0 } + INT64_MAX; /* all but the sign */
    f64_ivec beyond = { 0 };
    bool any = false;
    size_t i = 0;

    for (; i + WIDE <= n; i += WIDE) {
        const f64_vec v = *(const level_loose *)(s + i), c = *(const level_loose *)(C + i);
        const f64_vec a = (f64_vec)((f64_ivec)v & size), raised = v + c;
        beyond |= (a >= c * part) & (a > 0.0);
        *(level_loose *)(sum + i) += raised - c;
    }
    for (; i < n; i++) {
        const double a = s[i] < 0.0 ? -s[i] : s[i], raised = s[i] + C[i];
        any |= a >= C[i] * part && a > 0.0;
        sum[i] += raised - C[i];
    }
    for (size_t l = 0; l < WIDE; l++)
        any |= beyond[l] != 0;
    return any;
}

/* See simd.h: the largest power of two in a number is its exponent alone. */
static void level_units(size_t n, double factor, const double *x, double d, double *unit)
{
    enum { WIDE = VEC_BYTES / 8 };
    const f64_ivec exponent = (f64_ivec){ 0 } + INT64_C(0x7ff0000000000000);
    size_t i = 0;

    for (; i + WIDE <= n; i += WIDE) {
        const f64_vec v = *(const level_loose *)(x + i) * d;
        *(level_loose *)(unit + i) = (f64_vec)((f64_ivec)v & exponent) * factor;
    }
    for (; i < n; i++) {
        const f64_vec v = (f64_vec){ 0 } + x[i] * d;
        unit[i] = ((f64_vec)((f64_ivec)v & exponent) * factor)[0];
    }
}

/* One number to float16 and back (adding a power of two rounds as the instruction does). */
INLINE uint16_t level_narrow1(float x)
{
    union { float f; uint32_t u; } v = { x }, tiny;
    const uint32_t sign = v.u >> 16 & 0x8000;

    v.u &= 0x7fffffff;
    tiny.f = v.f + 0.5F; /* its last bit is that of the smallest float16 */
    if (v.u >= 0x47800000)
        return (uint16_t)(sign | (v.u > 0x7f800000 ? 0x7e00 | (v.u >> 13 & 0x3ff) : 0x7c00));
    if (v.u < 0x38800000)
        return (uint16_t)(sign | (tiny.u - 0x3f000000));
    return (uint16_t)(sign | ((v.u + 0xfff + (v.u >> 13 & 1) - 0x38000000) >> 13));
}

INLINE float level_widen1(uint16_t h)
{
    union { uint32_t u; float f; } v = { (uint32_t)(h & 0x7fff) << 13 };

    v.f *= 0x1p112F;
    if ((h & 0x7c00) == 0x7c00)
        v.u |= 0x7f800000;
    v.u |= (uint32_t)(h & 0x8000) << 16;
    return v.f;
}

LOOP void level_narrow(size_t n, const float *x, uint16_t *half)
{
    size_t i = 0;

#ifdef LEVEL_NARROW
    for (; i + LANES <= n; i += LANES)
        LEVEL_NARROW(x + i, half + i);
#endif
    for (; i < n; i++)
        half[i] = level_narrow1(x[i]);
}

LOOP void level_widen(size_t n, const uint16_t *half, float *x)
{
    size_t i = 0;

#ifdef LEVEL_WIDEN
    for (; i + LANES <= n; i += LANES)
        LEVEL_WIDEN(half + i, x + i);
#endif
    for (; i < n; i++)
        x[i] = level_widen1(half[i]);
}

#include "compute/cpu/simd_counts.h"
#include "compute/cpu/simd_pairs.h"
#include "compute/cpu/simd_hash.h"
#include "compute/cpu/simd_tensor.h"

#define LEVEL_REAL(p, type)                                                                        \
    {                                                                                              \
        .lanes = VEC_BYTES / sizeof(type), .size = sizeof(type), .prepare = p##_prepare,           \
        .scratch = p##_scratch, .gen = p##_gen, .dot = p##_dot, .flow = p##_flow,                  \
        .axpy = p##_axpy, .gen_block = p##_gen_block, .dot_block = p##_dot_block,                  \
        .axpy_block = p##_axpy_block, .axpy_stack = p##_axpy_stack, .rows = p##_rows,              \
        .turns = p##_turns, .fht = p##_fht, .fht_row = p##_fht_row, .sincospi = p##_sincospi,      \
        .sign = p##_sign, .scale = p##_scale, .combine = p##_combine, .columns = p##_columns,      \
        .windows = p##_windows, .dense = p##_dense                                                 \
    }

#define LEVEL_LOOPS                                                                              \
    .f32 = LEVEL_REAL(f32, float), .f64 = LEVEL_REAL(f64, double), .add = level_add,             \
    .fold = level_fold, .fold_both = level_fold_both, .units = level_units,                      \
    .axpy_rows = level_axpy_rows, .narrow = level_narrow, .widen = level_widen,                  \
    .pairs = { .numbers = pairs_numbers, .values = pairs_values, .vectors = pairs_pack,          \
               .sums = pairs_sums },                                                             \
    .counts = { .least = counts_least, .ratio = counts_ratio },                                  \
    .hash = { .signs = hash_signs_of, .columns32 = hash_columns32, .columns64 = hash_columns64 }, \
    .tensor = { .fold = tensor_fold }

const struct simd LEVEL = { .name = LEVEL_NAME, LEVEL_LOOPS };
#ifdef LEVEL_TILES
const struct simd LEVEL_TILES = { .name = LEVEL_TILES_NAME, LEVEL_LOOPS,
                                  .tiles = &simd_amx_tiles };
#endif
