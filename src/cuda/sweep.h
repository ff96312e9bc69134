/* cuda/sweep.h -- the sweeps of sweep_body.h: each source of features, for 1, 2 and 4 right-hand
 * sides. */
#ifndef GPDESK_CUDA_SWEEP_H
#define GPDESK_CUDA_SWEEP_H

#include "cuda/kernels.h"

/* The same numbers as enum sweep_source, for the preprocessor. */
#define FROM_HALF_ 0
#define FROM_FLOAT_ 1
#define FROM_CHAIN_ 2

#if DEVICE_CODE
/* On the host one thread runs at a time: the memory of its own block, or of another block of its
 * cluster. */
struct sweep_here { int rank; char *smem; };
#if __CUDA_ARCH__ >= 900
static __device__ __forceinline__ char *sweep_remote(char *p, int rank)
{
    uint64_t out;
    asm("mapa.u64 %0, %1, %2;" : "=l"(out) : "l"((uint64_t)p), "r"(rank));
    return (char *)out;
}
static __device__ __forceinline__ void sweep_cluster_sync(int blocks)
{
    if (blocks == 1) {
        __syncthreads();
        return;
    }
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
#else
static __device__ __forceinline__ char *sweep_remote(char *p, int rank)
{
    (void)rank; /* clusters of one block, as the driver chooses */
    return p;
}
static __device__ __forceinline__ void sweep_cluster_sync(int blocks)
{
    (void)blocks;
    __syncthreads();
}
#endif
#define EMU_OR_RANK struct sweep_here here
#define LANE_COUNT(blocks, nt) (nt)
#define RANK(l, nt) here.rank
#define LOCAL(l, nt) (l)
#define BLOCK_SMEM(b) ((b) == here.rank ? here.smem : sweep_remote(here.smem, b))
#define CLUSTER_SYNC(blocks) sweep_cluster_sync(blocks)
#else
struct sweep_here { char *smem; size_t bytes; };
#define EMU_OR_RANK struct sweep_here here
#define LANE_COUNT(blocks, nt) ((blocks) * (nt))
#define RANK(l, nt) ((l) / (nt))
#define LOCAL(l, nt) ((l) % (nt))
#define BLOCK_SMEM(b) (here.smem + (size_t)(b) * here.bytes)
#define CLUSTER_SYNC(blocks) ((void)0)
#endif

/* Bytes of shared memory of a block. */
#define SWEEP_SMEM(K, R, nt)                                                                       \
    (((size_t)(K) * (size_t)(nt)*SWEEP_COLS + 2 * (SWEEP_THREADS / 32 + 1) * (R) * (K)) * 4)

#define SOURCE 0
#define R 2
#define K 1
#define S(name) name##_half1
#include "cuda/sweep_body.h"
#undef K
#undef S
#define K 2
#define S(name) name##_half2
#include "cuda/sweep_body.h"
#undef K
#undef S
#define K 4
#define S(name) name##_half4
#include "cuda/sweep_body.h"
#undef K
#undef R
#undef S
#undef SOURCE
#define SOURCE 1
#define R 2
#define K 1
#define S(name) name##_float1
#include "cuda/sweep_body.h"
#undef K
#undef S
#define K 2
#define S(name) name##_float2
#include "cuda/sweep_body.h"
#undef K
#undef R
#undef S
#define R 1
#define K 4
#define S(name) name##_float4
#include "cuda/sweep_body.h"
#undef K
#undef R
#undef S
#undef SOURCE
#define SOURCE 2
#define R 2
#define K 1
#define S(name) name##_chain1
#include "cuda/sweep_body.h"
#undef K
#undef S
#define K 2
#define S(name) name##_chain2
#include "cuda/sweep_body.h"
#undef K
#undef R
#undef S
#define R 1
#define K 4
#define S(name) name##_chain4
#include "cuda/sweep_body.h"
#undef K
#undef R
#undef S
#undef SOURCE

/* Value i of a padded tile. */
DEV void pad_one(const struct pad_args *a, size_t i)
{
    const size_t row = i >> a->bits;
    const int k = (int)(i & ((size_t)a->D - 1));

    a->to[i] = k < a->d ? a->x[row * a->ldx + (size_t)(a->first + k)] * a->inv[k] : 0.0F;
}

/* Column col of W[k] from the sums of the clusters. */
DEV void merge_one(const struct merge_args *a, int k, size_t col)
{
    const size_t width = sweep_row(a->shape), at = sweep_place(a->shape, 4, col);
    double sum = 0.0;

    for (int c = 0; c < a->clusters; c++)
        sum += a->part[((size_t)c * (size_t)a->K + (size_t)k) * width + at];
    a->W[(size_t)k * a->M + col] = sum * a->out[col];
}

/* Column col of a row of the layout, including those after the last one. */
DEV void layout_one(const struct layout_args *a, int k, size_t col)
{
    const size_t to = (size_t)k * sweep_row(a->shape) + sweep_place(a->shape, 4, col);

    a->to[to] = col < a->M ? (float)(a->P[(size_t)k * a->M + col] * a->out[col]) : 0.0F;
}

#endif
