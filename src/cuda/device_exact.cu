/* cuda/device_exact.cu -- the part of device.h for exact kernels: values, products with many
 * vectors (many.h), steps of dual descent (descent.h); and for learned maps (affine.h). */
#include "cuda/device_impl.h"

#include "cuda/affine.h"
#include "cuda/descent.h"
#include "cuda/many.h"

static __global__ void values_kernel(const __grid_constant__ values_args a, size_t n)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        values_one(&a, i);
}

enum status device_values(struct device *d, const struct values_args *a, struct err *err)
{
    const size_t n = a->r.m * a->r.n;
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    values_kernel<<<blocks_for(d, n), 256, 0, d->stream[STREAM_WORK]>>>(*a, n);
    return launched("an exact kernel", err);
}

static __global__ void ready_kernel(const ready_args a, size_t n)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        ready_one(&a, i);
}

enum status device_ready(struct device *d, const struct ready_args *a, struct err *err)
{
    const size_t n = (a->n + MANY_COLS - 1) / MANY_COLS * MANY_COLS;
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    ready_kernel<<<blocks_for(d, n), 256, 0, d->stream[STREAM_WORK]>>>(*a, n);
    return launched("inputs", err);
}

static __global__ void __launch_bounds__(MANY_THREADS) level_kernel(const level_args a)
{
    __shared__ double smem[MANY_THREADS];

    level_block(&a, (int)blockIdx.x, smem);
}

enum status device_level(struct device *d, int K, const struct level_args *a, struct err *err)
{
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    level_kernel<<<(unsigned)K, MANY_THREADS, 0, d->stream[STREAM_WORK]>>>(*a);
    return launched("vectors", err);
}

static __global__ void pack_kernel(const pack_args a, size_t n)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        pack_one(&a, i);
}

enum status device_pack(struct device *d, const struct pack_args *a, struct err *err)
{
    const size_t n = (a->n + MANY_COLS - 1) / MANY_COLS * 2 * (size_t)a->eights * 32;
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    pack_kernel<<<blocks_for(d, n), 256, 0, d->stream[STREAM_WORK]>>>(*a, n);
    return launched("vectors", err);
}

#define MANY_KERNEL(v, k)                                                                          \
    static __global__ void __launch_bounds__(MANY_THREADS)                                         \
        k_many_##v##_##k(const __grid_constant__ many_args a)                                      \
    {                                                                                              \
        __shared__ __align__(16) char smem[k ? 16 : MANY_SMEM];                                    \
        many_block_##v##_##k(&a, (int)blockIdx.x, (int)blockIdx.y, (float *)smem);                 \
    }
MANY_KERNEL(1, 0)
MANY_KERNEL(1, 2)
MANY_KERNEL(1, 4)
MANY_KERNEL(1, 8)
MANY_KERNEL(3, 0)
MANY_KERNEL(3, 2)
MANY_KERNEL(3, 4)
MANY_KERNEL(3, 8)
MANY_KERNEL(9, 0)
MANY_KERNEL(9, 2)
MANY_KERNEL(9, 4)
MANY_KERNEL(9, 8)

enum status device_many(struct device *d, const struct many_args *a, struct err *err)
{
    static void (*const fn[])(many_args) = {
        k_many_1_0, k_many_1_2, k_many_1_4, k_many_1_8, k_many_3_0, k_many_3_2,
        k_many_3_4, k_many_3_8, k_many_9_0, k_many_9_2, k_many_9_4, k_many_9_8,
    };
    const dim3 grid((unsigned)((a->r.m + MANY_ROWS - 1) / MANY_ROWS), (unsigned)a->r.chunks);
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    fn[many_which(a)]<<<grid, MANY_THREADS, 0, d->stream[STREAM_WORK]>>>(*a);
    return launched("an exact kernel", err);
}

static __global__ void __launch_bounds__(DESCENT_THREADS)
    descent_kernel(const __grid_constant__ descent_args a)
{
    __shared__ double smem[DESCENT_THREADS];

    descent_block(&a, (int)blockIdx.x, smem);
}

enum status device_descent(struct device *d, const struct descent_args *a, struct err *err)
{
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    descent_kernel<<<(unsigned)a->k, DESCENT_THREADS, 0, d->stream[STREAM_WORK]>>>(*a);
    return launched("a step of a descent", err);
}

static __global__ void patches_kernel(const __grid_constant__ affine_args a, size_t n)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        affine_patch_one(&a, i);
}

static __global__ void __launch_bounds__(AFFINE_THREADS)
    rows_kernel(const __grid_constant__ affine_args a)
{
    __shared__ double smem[AFFINE_THREADS];

    affine_row_block(&a, blockIdx.x, smem);
}

static __global__ void pool_kernel(const __grid_constant__ affine_args a, size_t n)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        affine_pool_one(&a, i);
}

enum status device_affine(struct device *d, enum affine_part part, const struct affine_args *a,
                          struct err *err)
{
    const cudaStream_t s = d->stream[STREAM_WORK];
    const size_t n = affine_numbers(part, a);
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    if (part == AFFINE_PATCHES)
        patches_kernel<<<blocks_for(d, n), 256, 0, s>>>(*a, n);
    else if (part == AFFINE_ROWS)
        rows_kernel<<<(unsigned)n, AFFINE_THREADS, 0, s>>>(*a);
    else
        pool_kernel<<<blocks_for(d, n), 256, 0, s>>>(*a, n);
    return launched("a learned map", err);
}
