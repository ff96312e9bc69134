/* tests/emulated_device.c -- cuda/device.h without a device: its memory is the host's, its kernels
 * are loops over blocks and threads (cuda/port.h), its products are written out.
 *
 *   GPDESK_EMU_MEMORY   bytes that it has (1 GB)
 *   GPDESK_EMU_FULL     bytes from which on nothing more is given out, whatever it says to have
 *   GPDESK_EMU_LOST     the launch that fails, and all after it (0: none)
 *   GPDESK_EMU_FAIL     the call of any kind (memory, copies, launches, waiting) that fails, and
 *                       all after it (0: none)
 *   GPDESK_EMU_ONCE     the call that fails, alone
 *   GPDESK_EMU_ONLY     the device that fails (any)
 *   GPDESK_EMU_NOMEM    the request for memory that is refused, alone
 *   GPDESK_EMU_ORDER    in which threads run between two barriers: port.h (0)
 *   GPDESK_EMU_GRAPHS   0: launches cannot be remembered (1)
 *   GPDESK_EMU_CLUSTER  blocks of a cluster at most (8)
 *   GPDESK_EMU_SHARED   bytes of shared memory of a block at most (232448)
 *   GPDESK_EMU_DOUBLE   0: slow at double products (1)
 *   GPDESK_EMU_DENSE    the size from which it factorises matrices of the host (none)
 *
 * Memory is filled with NaN when it is given out: what nobody wrote shows.  Around each piece lie
 * guards of NaN, which are looked at when it is given back (under AddressSanitizer nobody may touch
 * them at all): what is read beyond an end shows too, and what is written there ends the program.
 * Loads and stores of 16 bytes at once have to lie at multiples of 16 (VECTOR in port.h). */
#include "cuda/device.h"

#include "base/mem.h"
#include "compute/features/featmap.h"
#include "cuda/affine.h"
#include "cuda/gradients.h"
#include "cuda/cg.h"
#include "cuda/descent.h"
#include "cuda/many.h"
#include "cuda/project.h"
#include "cuda/radial.h"
#include "cuda/sweep.h"
#include "emulated_device.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define HIDE(p, n) __asan_poison_memory_region(p, n)
#define SHOW(p, n) __asan_unpoison_memory_region(p, n)
#else
#define HIDE(p, n) ((void)(p), (void)(n))
#define SHOW(p, n) ((void)(p), (void)(n))
#endif

int emu_order;
static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER; /* OWN arrays are static */
static size_t used, launches, calls, requests;
static struct device_graph *recording;
static bool spoiled; /* something was launched that cannot be remembered */
static size_t replays, opened;

enum { GUARD = 256 }; /* what cudaMalloc gives out lies at multiples of it */
struct block { size_t bytes; char *at; };
struct device { size_t memory; };

static size_t number(const char *name, size_t otherwise)
{
    const char *s = getenv(name);

    return s && *s ? strtoull(s, NULL, 10) : otherwise;
}

size_t emulated_launches(void)
{
    return launches;
}

size_t emulated_used(void)
{
    return used;
}

size_t emulated_calls(void)
{
    return calls;
}

size_t emulated_requests(void)
{
    return requests;
}

/* True for the device that was opened last, unless another one is to fail. */
static bool fails(void)
{
    const size_t only = number("GPDESK_EMU_ONLY", opened);

    return only == opened;
}

/* Every call that a device may fail. */
static enum status call(const char *what, struct err *err)
{
    const size_t from = number("GPDESK_EMU_FAIL", 0), one = number("GPDESK_EMU_ONCE", 0);
    const size_t at = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);

    if (fails() && ((from && at >= from) || at == one))
        return err_set(err, ST_BACKEND, "the CUDA device failed (%s): call %zu was told to", what,
                       at);
    return ST_OK;
}

size_t device_count(char *why, size_t len)
{
    if (len)
        why[0] = '\0';
    return 2;
}

enum status device_open(size_t index, struct device **out, struct err *err)
{
    opened = index;
    *out = NULL;
    if (call("opening it", err) != ST_OK)
        return ST_BACKEND;
    *out = mem_calloc(1, sizeof **out, "device", err);
    if (!*out)
        return ST_NOMEM;
    emu_order = (int)number("GPDESK_EMU_ORDER", (size_t)emu_order);
    (*out)->memory = number("GPDESK_EMU_MEMORY", (size_t)1 << 30);
    return ST_OK;
}

void device_close(struct device *d)
{
    free(d);
}

enum status device_describe(struct device *d, struct device_info *i, struct err *err)
{
    *i = (struct device_info){ 0 };
    if (call("its properties", err) != ST_OK)
        return ST_BACKEND;
    *i = (struct device_info){ .name = "emulated device", .memory = d->memory,
                               .free = d->memory > used ? d->memory - used : 0, .sms = 3 };
    i->cluster = (int)number("GPDESK_EMU_CLUSTER", 8);
    i->shared = number("GPDESK_EMU_SHARED", 232448);
    i->fast_double = number("GPDESK_EMU_DOUBLE", 1) != 0;
    i->dense = number("GPDESK_EMU_DENSE", SIZE_MAX);
    return ST_OK;
}

static enum status launch(struct err *err)
{
    const size_t lost = number("GPDESK_EMU_LOST", 0);

    spoiled |= recording != NULL;
    launches++;
    if (lost && launches >= lost)
        return err_set(err, ST_BACKEND, "the CUDA device failed: launch %zu was told to", launches);
    return call("a launch", err);
}

/* Launches remembered: those of a step of conjugate gradients. */

struct logged {
    enum {
        LOG_ZERO,
        LOG_COPY,
        LOG_SCALE,
        LOG_GEMM,
        LOG_DIRECTION,
        LOG_STEP,
        LOG_SWEEP,
        LOG_MERGE,
        LOG_LAYOUT,
        LOG_PAD
    } op;
    const void *from, *more;
    void *to;
    size_t a, b, c, ld[3];
    bool ta, tb;
    double beta;
    int K, blocks;
    enum sweep_source source;
    union {
        struct cg_args cg;
        struct sweep_args sweep;
        struct merge_args merge;
        struct layout_args layout;
        struct pad_args pad;
    } u;
};
struct device_graph { size_t n; struct logged at[40]; };

size_t emulated_replays(void)
{
    return replays;
}

/* True: kept, and not to be run. */
static bool keep(struct logged l)
{
    if (!recording)
        return false;
    spoiled |= recording->n == 40;
    if (!spoiled)
        recording->at[recording->n++] = l;
    return true;
}

enum status device_record(struct device *d, struct err *err)
{
    (void)d;
    if (number("GPDESK_EMU_GRAPHS", 1) == 0)
        return err_set(err, ST_UNSUPPORTED, "no graphs here");
    recording = mem_calloc(1, sizeof *recording, "launches", err);
    spoiled = false;
    return recording ? ST_OK : ST_NOMEM;
}

enum status device_recorded(struct device *d, struct device_graph **out, struct err *err)
{
    (void)d;
    *out = spoiled ? NULL : recording;
    if (spoiled)
        free(recording);
    recording = NULL;
    return *out ? ST_OK : err_set(err, ST_UNSUPPORTED, "launches of another kind");
}

void device_graph_free(struct device *d, struct device_graph *g)
{
    (void)d;
    free(g);
}

static enum status replay_one(struct device *d, const struct logged *l, struct err *err)
{
    switch (l->op) {
    case LOG_ZERO: return device_zero(d, l->to, l->a, err);
    case LOG_COPY: return device_copy(d, l->to, l->from, l->a, err);
    case LOG_SCALE: return device_scale_rows(d, l->a, l->b, l->from, l->to, err);
    case LOG_GEMM:
        return device_dgemm(d, l->ta, l->tb, l->a, l->b, l->c, l->from, l->ld[0], l->more, l->ld[1],
                            l->beta, l->to, l->ld[2], err);
    case LOG_DIRECTION: return device_cg_direction(d, &l->u.cg, err);
    case LOG_STEP: return device_cg_step(d, &l->u.cg, err);
    case LOG_SWEEP: return device_sweep(d, l->source, l->K, l->blocks, &l->u.sweep, err);
    case LOG_PAD: return device_pad(d, &l->u.pad, err);
    case LOG_MERGE: return device_merge(d, &l->u.merge, err);
    default: return device_layout(d, &l->u.layout, err);
    }
}

enum status device_replay(struct device *d, struct device_graph *g, struct err *err)
{
    enum status rc = ST_OK;

    replays++;
    for (size_t i = 0; rc == ST_OK && i < g->n; i++)
        rc = replay_one(d, &g->at[i], err);
    return rc;
}

/* Memory. */

void emu_vector(uintptr_t p, const char *what)
{
    if (p % 16 == 0)
        return;
    fprintf(stderr, "emulated device: 16 bytes at once, and not at a multiple of 16: %s\n", what);
    abort();
}

/* A piece between two guards: NaN all over, in every format. */
static size_t piece_behind(size_t bytes)
{
    return GUARD + (16 - bytes % 16) % 16;
}

static void *piece_new(size_t bytes)
{
    const size_t behind = piece_behind(bytes);
    struct block *b = malloc(sizeof *b);
    void *at = NULL;

    if (!b || posix_memalign(&at, GUARD, GUARD + bytes + behind) != 0) {
        free(b);
        return NULL;
    }
    memset(at, 0xff, GUARD + bytes + behind);
    *b = (struct block){ bytes, at };
    memcpy(at, &b, sizeof b);
    HIDE(b->at, GUARD);
    HIDE(b->at + GUARD + bytes, behind);
    return b->at + GUARD;
}

static size_t piece_free(void *p)
{
    char *at = (char *)p - GUARD;
    struct block *b;
    bool good = true;

    SHOW(at, GUARD);
    memcpy(&b, at, sizeof b);
    const size_t bytes = b->bytes;
    SHOW(at + GUARD + bytes, piece_behind(bytes));
    for (size_t i = sizeof b; i < GUARD; i++)
        good &= at[i] == (char)0xff;
    for (size_t i = 0; i < piece_behind(bytes); i++)
        good &= at[GUARD + bytes + i] == (char)0xff;
    if (!good) {
        fprintf(stderr, "emulated device: written beyond a piece of %zu bytes\n", bytes);
        abort();
    }
    free(at);
    free(b);
    return bytes;
}

enum status device_alloc(struct device *d, void **out, size_t bytes, const char *what,
                         struct err *err)
{
    const size_t full = number("GPDESK_EMU_FULL", SIZE_MAX);
    const bool refused = ++requests == number("GPDESK_EMU_NOMEM", 0);
    char need[24], have[24];

    *out = NULL;
    if (call("memory", err) != ST_OK)
        return ST_BACKEND;
    if (!refused && used + bytes <= d->memory && used + bytes <= full)
        *out = piece_new(bytes);
    if (!*out) {
        mem_format(need, sizeof need, (double)bytes);
        mem_format(have, sizeof have, (double)(d->memory > used ? d->memory - used : 0));
        return err_named(err, ST_NOMEM, "memory", "the device has no %s for %s: %s are free", need,
                         what, have);
    }
    used += bytes;
    return ST_OK;
}

void device_free(struct device *d, void *p)
{
    (void)d;
    if (p)
        used -= piece_free(p);
}

enum status device_pinned(struct device *d, void **out, size_t bytes, struct err *err)
{
    (void)d;
    *out = NULL;
    if (call("memory for copies", err) != ST_OK)
        return ST_BACKEND;
    *out = mem_aligned(bytes, 1, "staging", err);
    return *out ? ST_OK : ST_NOMEM;
}

void device_unpinned(struct device *d, void *p)
{
    (void)d;
    free(p);
}

enum status device_zero(struct device *d, void *p, size_t bytes, struct err *err)
{
    if (keep((struct logged){ .op = LOG_ZERO, .to = p, .a = bytes }))
        return ST_OK;
    (void)d;
    memset(p, 0, bytes);
    return call("clearing", err);
}

enum status device_copy(struct device *d, void *to, const void *from, size_t bytes, struct err *err)
{
    if (keep((struct logged){ .op = LOG_COPY, .to = to, .from = from, .a = bytes }))
        return ST_OK;
    (void)d;
    memcpy(to, from, bytes);
    return launch(err);
}

enum status device_upload(struct device *d, int stream, void *to, const void *from, size_t bytes,
                          struct err *err)
{
    (void)d, (void)stream;
    memcpy(to, from, bytes);
    return call("copying to it", err);
}

enum status device_download(struct device *d, void *to, const void *from, size_t bytes,
                            struct err *err)
{
    const enum status rc = call("copying from it", err);

    (void)d;
    if (rc == ST_OK)
        memcpy(to, from, bytes);
    return rc;
}

enum status device_wait(struct device *d, struct err *err)
{
    (void)d;
    return call("its work", err);
}

enum status device_mark(struct device *d, int slot, int stream, struct err *err)
{
    (void)d, (void)slot, (void)stream;
    return call("an event", err);
}

enum status device_after(struct device *d, int slot, int stream, struct err *err)
{
    (void)d, (void)slot, (void)stream;
    return call("its work", err);
}

/* Launches. */

/* A grid of blocks; back: the derivatives, else the features. */
static enum status steps_launch(const struct steps_args *a, struct steps_grid g,
                                const struct back_args *back, struct err *err)
{
    enum status rc = launch(err);
    char *smem = rc == ST_OK ? mem_aligned(g.smem, 1, "shared memory", err) : NULL;

    if (rc == ST_OK && !smem)
        return ST_NOMEM;
    if (rc == ST_OK && !a->scratch && g.smem > number("GPDESK_EMU_SHARED", 232448))
        rc = err_set(err, ST_BACKEND, "%zu bytes of shared memory are too many", g.smem);
    pthread_mutex_lock(&one_launch);
    for (int y = 0; rc == ST_OK && y < g.chunks; y++)
        for (int x = 0; x < g.blocks; x++) {
            char *at = a->scratch ? (char *)a->scratch +
                                        (size_t)(y * g.blocks + x) * a->scratch_bytes : smem;
            memset(at, 0xff, g.smem);
            if (back && a->wide)
                back_block_f64(back, x, y, g.threads, (double *)(void *)at);
            else if (back)
                back_block_f32(back, x, y, g.threads, (float *)(void *)at);
            else if (a->wide)
                steps_block_f64(a, x, y, g.threads, (double *)(void *)at);
            else
                steps_block_f32(a, x, y, g.threads, (float *)(void *)at);
        }
    pthread_mutex_unlock(&one_launch);
    free(smem);
    return rc;
}

enum status device_steps(struct device *d, const struct steps_args *a, struct err *err)
{
    (void)d;
    return steps_launch(a, steps_grid(a), NULL, err);
}

enum status device_back(struct device *d, const struct back_args *a, struct err *err)
{
    (void)d;
    return steps_launch(&a->s, back_grid(a), a, err);
}

enum status device_back_sum(struct device *d, const struct back_sum_args *a, struct err *err)
{
    (void)d;
    for (size_t i = 0; i < a->slots; i++)
        back_sum_one(a->blocks, a->slots, a->part, i, a->out);
    return launch(err);
}

enum status device_project(struct device *d, const struct project_args *a, struct err *err)
{
    static void (*const fn[])(const struct project_args *, int, int) = {
        project_block_2, project_block_4, project_block_6, project_block_8
    };
    const size_t rows = PROJECT_THREADS / 2, sixteens = project_sixteens(a->mf);
    const enum status rc = launch(err);

    (void)d;
    pthread_mutex_lock(&one_launch);
    for (size_t x = 0; rc == ST_OK && x < (a->rows + rows - 1) / rows; x++)
        for (size_t y = 0; y < (sixteens + (size_t)a->per - 1) / (size_t)a->per; y++)
            fn[a->ks / 2 - 1](a, (int)x, (int)y);
    pthread_mutex_unlock(&one_launch);
    return rc;
}

typedef void sweep_fn(const struct sweep_args *, int cluster, int blocks, struct sweep_here);

enum status device_sweep(struct device *d, enum sweep_source from, int K, int blocks,
                         const struct sweep_args *a, struct err *err)
{
    static sweep_fn *const fn[3][3] = {
        { sweep_block_half1, sweep_block_half2, sweep_block_half4 },
        { sweep_block_float1, sweep_block_float2, sweep_block_float4 },
        { sweep_block_chain1, sweep_block_chain2, sweep_block_chain4 },
    };
    const size_t bytes = SWEEP_SMEM(K, 4, a->shape.threads);
    if (keep((struct logged){
            .op = LOG_SWEEP, .source = from, .K = K, .blocks = blocks, .u.sweep = *a}))
        return ST_OK;
    enum status rc = launch(err);
    char *smem = rc == ST_OK ? mem_aligned((size_t)blocks * bytes, 1, "shared memory", err) : NULL;

    (void)d;
    if (rc == ST_OK && !smem)
        return ST_NOMEM;
    pthread_mutex_lock(&one_launch);
    for (int c = 0; rc == ST_OK && c < a->clusters; c++) {
        memset(smem, 0xff, (size_t)blocks * bytes);
        fn[from][K / 2](a, c, blocks, (struct sweep_here){ smem, bytes });
    }
    pthread_mutex_unlock(&one_launch);
    free(smem);
    return rc;
}

enum status device_pad(struct device *d, const struct pad_args *a, struct err *err)
{
    if (keep((struct logged){ .op = LOG_PAD, .u.pad = *a }))
        return ST_OK;
    (void)d;
    for (size_t i = 0; i < a->rows * (size_t)a->D; i++)
        pad_one(a, i);
    return launch(err);
}

enum status device_merge(struct device *d, const struct merge_args *a, struct err *err)
{
    if (keep((struct logged){ .op = LOG_MERGE, .u.merge = *a }))
        return ST_OK;
    (void)d;
    for (int k = 0; k < a->K; k++)
        for (size_t j = 0; j < a->M; j++)
            merge_one(a, k, j);
    return launch(err);
}

enum status device_layout(struct device *d, const struct layout_args *a, struct err *err)
{
    if (keep((struct logged){ .op = LOG_LAYOUT, .u.layout = *a }))
        return ST_OK;
    (void)d;
    for (int k = 0; k < a->K; k++)
        for (size_t j = 0; j < sweep_row(a->shape); j++)
            layout_one(a, k, j);
    return launch(err);
}

enum status device_scale_rows(struct device *d, size_t m, size_t n, const double *row, double *A,
                              struct err *err)
{
    if (keep((struct logged){ .op = LOG_SCALE, .to = A, .from = row, .a = m, .b = n }))
        return ST_OK;
    (void)d;
    for (size_t i = 0; i < m * n; i++)
        A[i] *= row[i % m];
    return launch(err);
}

static enum status cg_launch(const struct cg_args *a,
                             void (*fn)(const struct cg_args *, int, double *), struct err *err)
{
    double smem[CG_THREADS];
    const enum status rc = launch(err);

    pthread_mutex_lock(&one_launch);
    for (int i = 0; rc == ST_OK && i < a->active; i++) {
        memset(smem, 0xff, sizeof smem);
        fn(a, i, smem);
    }
    pthread_mutex_unlock(&one_launch);
    return rc;
}

enum status device_cg_direction(struct device *d, const struct cg_args *a, struct err *err)
{
    if (keep((struct logged){ .op = LOG_DIRECTION, .u.cg = *a }))
        return ST_OK;
    (void)d;
    return cg_launch(a, cg_direction_block, err);
}

enum status device_cg_step(struct device *d, const struct cg_args *a, struct err *err)
{
    if (keep((struct logged){ .op = LOG_STEP, .u.cg = *a }))
        return ST_OK;
    (void)d;
    return cg_launch(a, cg_step_block, err);
}

enum status device_narrow(struct device *d, size_t n, const double *from, float *to,
                          struct err *err)
{
    (void)d;
    for (size_t i = 0; i < n; i++)
        to[i] = (float)from[i];
    return launch(err);
}

enum status device_add(struct device *d, size_t n, const float *from, double *to, struct err *err)
{
    (void)d;
    for (size_t i = 0; i < n; i++)
        to[i] += (double)from[i];
    return launch(err);
}

enum status device_split(struct device *d, size_t n, float scale, const float *from, uint16_t *hi,
                         uint16_t *lo, struct err *err)
{
    (void)d;
    for (size_t i = 0; i < n; i++)
        split_half(scale * from[i], hi + i, lo + i);
    return launch(err);
}

enum status device_add_rows(struct device *d, size_t m, size_t n, double scale, const double *row,
                            const float *from, double *to, struct err *err)
{
    (void)d;
    for (size_t i = 0; i < m * n; i++)
        to[i] += scale * row[i % m] * (double)from[i];
    return launch(err);
}

enum status device_mirror(struct device *d, size_t n, double *A, size_t ld, struct err *err)
{
    (void)d;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < j; i++)
            A[j * ld + i] = A[i * ld + j];
    return launch(err);
}

/* Products. */

/* C := op(A) op(B) + beta C, or the lower triangle of it.  Each number is summed in the order of q;
 * the rows of a panel, which is 64 bytes wide, are summed side by side. */
enum { PANEL = 64 };
#define GEMM(name, FROM, REAL, VALUE)                                                              \
    static void name(bool ta, bool tb, size_t m, size_t n, size_t k, const FROM *A, size_t lda,    \
                     const FROM *B, size_t ldb, REAL beta, REAL *C, size_t ldc, bool lower)        \
    {                                                                                              \
        typedef REAL panel __attribute__((vector_size(PANEL)));                                    \
        enum { ROWS = PANEL / sizeof(REAL) };                                                      \
        panel *a = aligned_alloc(PANEL, (k + 1) * sizeof *a);                                      \
        REAL *b = malloc((n * k + 1) * sizeof *b);                                                 \
                                                                                                   \
        if (!a || !b)                                                                              \
            abort();                                                                               \
        for (size_t j = 0; j < n; j++)                                                             \
            for (size_t q = 0; q < k; q++)                                                         \
                b[j * k + q] = VALUE(B[tb ? q * ldb + j : j * ldb + q]);                           \
        for (size_t i = 0; i < m; i += ROWS) {                                                     \
            const size_t rows = m - i < ROWS ? m - i : ROWS;                                       \
            for (size_t q = 0; q < k; q++)                                                         \
                for (size_t r = 0; r < ROWS; r++)                                                  \
                    a[q][r] = r < rows ? VALUE(A[ta ? (i + r) * lda + q : q * lda + i + r]) : 0;   \
            for (size_t j = 0; j < (lower && i + rows < n ? i + rows : n); j++) {                  \
                panel s = { 0 };                                                                   \
                for (size_t r = 0; beta != 0 && r < rows; r++)                                     \
                    s[r] = beta * C[j * ldc + i + r];                                              \
                for (size_t q = 0; q < k; q++)                                                     \
                    s += a[q] * b[j * k + q];                                                      \
                for (size_t r = lower && j > i ? j - i : 0; r < rows; r++)                         \
                    C[j * ldc + i + r] = s[r];                                                     \
            }                                                                                      \
        }                                                                                          \
        free(a);                                                                                   \
        free(b);                                                                                   \
    }
GEMM(gemm64, double, double, )
GEMM(gemm32, float, float, )
GEMM(gemm16, uint16_t, float, half_value)

enum status device_dgemm(struct device *d, bool ta, bool tb, size_t m, size_t n, size_t k,
                         const double *A, size_t lda, const double *B, size_t ldb, double beta,
                         double *C, size_t ldc, struct err *err)
{
    if (keep((struct logged){ .op = LOG_GEMM, .ta = ta, .tb = tb, .a = m, .b = n, .c = k, .from = A,
                              .more = B, .to = C, .ld = { lda, ldb, ldc }, .beta = beta }))
        return ST_OK;
    (void)d;
    gemm64(ta, tb, m, n, k, A, lda, B, ldb, beta, C, ldc, false);
    return launch(err);
}

enum status device_sgemm(struct device *d, bool ta, bool tb, size_t m, size_t n, size_t k,
                         const float *A, size_t lda, const float *B, size_t ldb, float beta,
                         float *C, size_t ldc, struct err *err)
{
    (void)d;
    gemm32(ta, tb, m, n, k, A, lda, B, ldb, beta, C, ldc, false);
    return launch(err);
}

enum status device_hgemm(struct device *d, bool ta, bool tb, size_t m, size_t n, size_t k,
                         const uint16_t *A, size_t lda, const uint16_t *B, size_t ldb, float beta,
                         float *C, size_t ldc, struct err *err)
{
    (void)d;
    gemm16(ta, tb, m, n, k, A, lda, B, ldb, beta, C, ldc, false);
    return launch(err);
}

enum status device_dsyrk(struct device *d, size_t n, size_t k, const double *A, size_t lda,
                         double beta, double *C, size_t ldc, struct err *err)
{
    (void)d;
    gemm64(false, true, n, n, k, A, lda, A, lda, beta, C, ldc, true);
    return launch(err);
}

enum status device_ssyrk(struct device *d, size_t n, size_t k, const float *A, size_t lda,
                         float beta, float *C, size_t ldc, struct err *err)
{
    (void)d;
    gemm32(false, true, n, n, k, A, lda, A, lda, beta, C, ldc, true);
    return launch(err);
}

enum status device_dsyrk_add(struct device *d, size_t n, size_t k, double alpha, const double *A,
                             size_t lda, double *C, size_t ldc, struct err *err)
{
    (void)d;
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++)
            for (size_t q = 0; q < k; q++)
                C[j * ldc + i] += alpha * A[q * lda + i] * A[q * lda + j];
    return launch(err);
}

enum status device_axpy(struct device *d, size_t n, double a, const double *x, double *y,
                        struct err *err)
{
    (void)d;
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
    return launch(err);
}

enum status device_norms(struct device *d, size_t m, size_t n, const double *A, double *out,
                         struct err *err)
{
    double smem[CG_THREADS];

    (void)d;
    for (size_t j = 0; j < n; j++)
        norm_block(m, A, j, out, smem);
    return launch(err);
}

/* Factorisations: for small matrices. */

/* By the book, for either precision: A = L L' (false: not positive definite at *pivot), and
 * X := op(L)^-1 X or X op(L)^-1. */
#define FACTOR(potrf, solve, trsm, REAL, ROOT)                                                     \
    static bool potrf(size_t n, REAL *A, size_t lda, size_t *pivot)                                \
    {                                                                                              \
        for (size_t j = 0; j < n; j++) {                                                           \
            REAL s = A[j * lda + j];                                                               \
            for (size_t q = 0; q < j; q++)                                                         \
                s -= A[q * lda + j] * A[q * lda + j];                                              \
            *pivot = j;                                                                            \
            if (!(s > 0))                                                                          \
                return false;                                                                      \
            A[j * lda + j] = ROOT(s);                                                              \
            for (size_t i = j + 1; i < n; i++) {                                                   \
                REAL t = A[j * lda + i];                                                           \
                for (size_t q = 0; q < j; q++)                                                     \
                    t -= A[q * lda + i] * A[q * lda + j];                                          \
                A[j * lda + i] = t / A[j * lda + j];                                               \
            }                                                                                      \
            for (size_t i = 0; i < j; i++) /* nobody promises that it stays */                     \
                A[j * lda + i] = (REAL)NAN;                                                        \
        }                                                                                          \
        return true;                                                                               \
    }                                                                                              \
    /* One system, of numbers x[i * step]. */                                                      \
    static void solve(bool trans, size_t n, const REAL *L, size_t ldl, REAL *x, size_t step)       \
    {                                                                                              \
        for (size_t q = 0; q < n; q++) {                                                           \
            const size_t i = trans ? n - 1 - q : q;                                                \
            REAL s = x[i * step];                                                                  \
            for (size_t k = trans ? i + 1 : 0; k < (trans ? n : i); k++)                           \
                s -= (trans ? L[i * ldl + k] : L[k * ldl + i]) * x[k * step];                      \
            x[i * step] = s / L[i * ldl + i];                                                      \
        }                                                                                          \
    }                                                                                              \
    static void trsm(bool right, bool trans, size_t m, size_t n, const REAL *L, size_t ldl,        \
                     REAL *X, size_t ldx)                                                          \
    {                                                                                              \
        for (size_t i = 0; right && i < m; i++) /* x op(L) = b: op(L)' x' = b' */                  \
            solve(!trans, n, L, ldl, X + i, ldx);                                                  \
        for (size_t j = 0; !right && j < n; j++)                                                   \
            solve(trans, m, L, ldl, X + j * ldx, 1);                                               \
    }
FACTOR(potrf64, solve_one, trsm64, double, sqrt)
FACTOR(potrf32, solve32, trsm32, float, sqrtf)

enum status device_potrf(struct device *d, size_t n, double *A, size_t lda, size_t *pivot,
                         struct err *err)
{
    size_t at;

    (void)d;
    if (potrf64(n, A, lda, &at))
        return launch(err);
    if (pivot)
        *pivot = at;
    return err_set(err, ST_NOT_PD, "not positive definite (pivot %zu)", at + 1);
}

enum status device_spotrf(struct device *d, size_t n, float *A, size_t lda, struct err *err)
{
    size_t at;

    (void)d;
    return potrf32(n, A, lda, &at) ? launch(err) : err_set(err, ST_NOT_PD, "pivot %zu", at + 1);
}

enum status device_trsm(struct device *d, bool right, bool trans, size_t m, size_t n,
                        const double *L, size_t ldl, double *X, size_t ldx, struct err *err)
{
    (void)d;
    trsm64(right, trans, m, n, L, ldl, X, ldx);
    return launch(err);
}

enum status device_strsm(struct device *d, bool right, bool trans, size_t m, size_t n,
                         const float *L, size_t ldl, float *X, size_t ldx, struct err *err)
{
    (void)d;
    trsm32(right, trans, m, n, L, ldl, X, ldx);
    return launch(err);
}

enum status device_ssyrk_add(struct device *d, size_t n, size_t k, float alpha, const float *A,
                             size_t lda, float *C, size_t ldc, struct err *err)
{
    (void)d;
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++)
            for (size_t q = 0; q < k; q++)
                C[j * ldc + i] += alpha * A[q * lda + i] * A[q * lda + j];
    return launch(err);
}

enum status device_radial(struct device *d, const struct radial_args *a, struct err *err)
{
    double smem[RADIAL_SMEM / sizeof(double)];
    const enum status rc = launch(err);

    (void)d;
    pthread_mutex_lock(&one_launch);
    for (int y = 0; rc == ST_OK && y < a->chunks; y++)
        for (size_t x = 0; x < (a->m + RADIAL_ROWS - 1) / RADIAL_ROWS; x++) {
            memset(smem, 0xff, sizeof smem);
            radial_block(a, (int)x, y, smem);
        }
    pthread_mutex_unlock(&one_launch);
    return rc;
}

enum status device_values(struct device *d, const struct values_args *a, struct err *err)
{
    (void)d;
    for (size_t e = 0; e < a->r.m * a->r.n; e++)
        values_one(a, e);
    return launch(err);
}

enum status device_affine(struct device *d, enum affine_part part, const struct affine_args *a,
                          struct err *err)
{
    double smem[AFFINE_THREADS];

    (void)d;
    pthread_mutex_lock(&one_launch);
    for (size_t i = 0; i < affine_numbers(part, a); i++) {
        if (part == AFFINE_PATCHES)
            affine_patch_one(a, i);
        else if (part == AFFINE_POOL)
            affine_pool_one(a, i);
        else
            affine_row_block(a, i, smem);
    }
    pthread_mutex_unlock(&one_launch);
    return launch(err);
}

enum status device_ready(struct device *d, const struct ready_args *a, struct err *err)
{
    (void)d;
    for (size_t i = 0; i < (a->n + MANY_COLS - 1) / MANY_COLS * MANY_COLS; i++)
        ready_one(a, i);
    return launch(err);
}

enum status device_level(struct device *d, int K, const struct level_args *a, struct err *err)
{
    double smem[MANY_THREADS];

    (void)d;
    for (int c = 0; c < K; c++)
        level_block(a, c, smem);
    return launch(err);
}

enum status device_pack(struct device *d, const struct pack_args *a, struct err *err)
{
    (void)d;
    for (size_t i = 0; i < (a->n + MANY_COLS - 1) / MANY_COLS * 2 * (size_t)a->eights * 32; i++)
        pack_one(a, i);
    return launch(err);
}

enum status device_many(struct device *d, const struct many_args *a, struct err *err)
{
    static void (*const fn[])(const struct many_args *, int, int, float *) = {
        many_block_1_0, many_block_1_2, many_block_1_4, many_block_1_8,
        many_block_3_0, many_block_3_2, many_block_3_4, many_block_3_8,
        many_block_9_0, many_block_9_2, many_block_9_4, many_block_9_8,
    };
    float smem[MANY_SMEM / sizeof(float)];
    const enum status rc = launch(err);

    (void)d;
    pthread_mutex_lock(&one_launch);
    for (int y = 0; rc == ST_OK && y < a->r.chunks; y++)
        for (size_t x = 0; x < (a->r.m + MANY_ROWS - 1) / MANY_ROWS; x++) {
            memset(smem, 0xff, sizeof smem);
            fn[many_which(a)](a, (int)x, y, smem);
        }
    pthread_mutex_unlock(&one_launch);
    return rc;
}

enum status device_descent(struct device *d, const struct descent_args *a, struct err *err)
{
    double smem[DESCENT_THREADS];

    (void)d;
    for (int c = 0; c < a->k; c++)
        descent_block(a, c, smem);
    return launch(err);
}

enum status device_gram_ready(struct device *d, const struct gram_args *a, struct err *err)
{
    (void)d;
    for (size_t j = 0; j < a->M; j++)
        for (size_t i = j; i < a->M; i++)
            gram_ready_one(a, i, j);
    return launch(err);
}

enum status device_potri(struct device *d, size_t n, double *A, size_t lda, struct err *err)
{
    double *X = mem_calloc(n, n * sizeof *X, "an inverse", err);

    (void)d;
    if (!X)
        return ST_NOMEM;
    for (size_t j = 0; j < n; j++) {
        X[j * n + j] = 1.0;
        solve_one(false, n, A, lda, X + j * n, 1);
        solve_one(true, n, A, lda, X + j * n, 1);
    }
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            A[j * lda + i] = i < j ? NAN : X[j * n + i];
    free(X);
    return launch(err);
}

/* Householder's reduction (Golub & Van Loan 8.3.1) of the lower triangle. */
enum status device_sytrd(struct device *d, size_t n, double *A, size_t lda, double *diag, double *e,
                         size_t k, double *b, size_t ldb, struct err *err)
{
    double *v = mem_calloc(n, sizeof *v, "a reflector", err),
           *p = mem_calloc(n, sizeof *p, "p", err);

    (void)d;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < j; i++)
            A[j * lda + i] = A[i * lda + j];
    for (size_t j = 0; j + 1 < n; j++) {
        double norm = 0.0, vv = 0.0, vp = 0.0;
        for (size_t i = j + 1; i < n; i++)
            norm = hypot(norm, v[i] = A[j * lda + i]);
        e[j] = v[j + 1] > 0.0 ? -norm : norm;
        v[j + 1] -= e[j];
        for (size_t i = j + 1; i < n; i++)
            vv += v[i] * v[i];
        const double tau = vv > 0.0 ? 2.0 / vv : 0.0;
        for (size_t i = j + 1; i < n; i++) {
            p[i] = 0.0;
            for (size_t q = j + 1; q < n; q++)
                p[i] += tau * A[q * lda + i] * v[q];
            vp += 0.5 * tau * p[i] * v[i];
        }
        for (size_t i = j + 1; i < n; i++)
            p[i] -= vp * v[i];
        for (size_t q = j + 1; q < n; q++)
            for (size_t i = j + 1; i < n; i++)
                A[q * lda + i] -= v[i] * p[q] + p[i] * v[q];
        for (size_t c = 0; c < k; c++) {
            double s = 0.0;
            for (size_t i = j + 1; i < n; i++)
                s += tau * v[i] * b[c * ldb + i];
            for (size_t i = j + 1; i < n; i++)
                b[c * ldb + i] -= s * v[i];
        }
    }
    for (size_t j = 0; j < n; j++)
        diag[j] = A[j * lda + j];
    free(v), free(p);
    return launch(err);
}

/* Jacobi's rotations of the columns of A V = V w. */
enum status device_syevd(struct device *d, size_t n, double *A, size_t lda, double *w, bool vectors,
                         struct err *err)
{
    double *V = mem_calloc(n, n * sizeof *V, "vectors", err);

    (void)d;
    if (!V)
        return ST_NOMEM;
    for (size_t j = 0; j < n; j++) {
        V[j * n + j] = 1.0;
        for (size_t i = 0; i < j; i++)
            A[j * lda + i] = A[i * lda + j];
    }
    for (int sweep = 0; sweep < 20; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                const double apq = A[q * lda + p], app = A[p * lda + p], aqq = A[q * lda + q];
                if (fabs(apq) < 1e-300 || fabs(apq) < 1e-18 * sqrt(fabs(app * aqq)))
                    continue;
                const double th = (aqq - app) / (2.0 * apq);
                const double t = (th < 0.0 ? -1.0 : 1.0) / (fabs(th) + hypot(1.0, th));
                const double c = 1.0 / hypot(1.0, t), s = t * c;
                for (size_t i = 0; i < n; i++) {
                    const double x = A[p * lda + i], y = A[q * lda + i];
                    A[p * lda + i] = c * x - s * y;
                    A[q * lda + i] = s * x + c * y;
                }
                for (size_t i = 0; i < n; i++) {
                    const double x = A[i * lda + p], y = A[i * lda + q];
                    A[i * lda + p] = c * x - s * y;
                    A[i * lda + q] = s * x + c * y;
                    const double f = V[p * n + i], g = V[q * n + i];
                    V[p * n + i] = c * f - s * g;
                    V[q * n + i] = s * f + c * g;
                }
            }
    for (size_t j = 0; j < n; j++)
        w[j] = A[j * lda + j];
    for (size_t j = 0; j < n; j++) { /* ascending */
        size_t least = j;
        for (size_t q = j + 1; q < n; q++)
            least = w[q] < w[least] ? q : least;
        const double t = w[j];
        w[j] = w[least];
        w[least] = t;
        for (size_t i = 0; i < n; i++) {
            const double x = V[j * n + i];
            V[j * n + i] = V[least * n + i];
            V[least * n + i] = x;
        }
    }
    for (size_t j = 0; vectors && j < n; j++)
        memcpy(A + j * lda, V + j * n, n * sizeof *V);
    free(V);
    return launch(err);
}
