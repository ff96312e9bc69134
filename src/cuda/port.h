/* cuda/port.h -- one text of each device kernel for two compilers.
 *
 * A kernel's body is C and C++ at once.  nvcc makes device code of it; cc makes a loop over the
 * threads of a block, so that the very same index arithmetic, transforms, reductions and barriers
 * run, and are tested, where there is no device.
 *
 *   LANES(t, n) { .. }     what every thread t of n does up to the next barrier
 *   OWN(type, name, m)     m numbers of each thread that live across barriers (registers); thread
 * t's are name[ME(t)] SYNC()                 the barrier of a block; CLUSTER_SYNC() that of a
 * cluster of blocks PEER(name, t, mask, i) thread t ^ mask's name[i], for masks within a warp; read
 * before any thread of the warp writes name again (EXCHANGE takes care of it) VECTOR(p) what is
 * read or written at p goes by 16 bytes, so that p is a multiple of 16: the emulation looks
 *
 * Between two barriers no thread may read what another one writes.  The emulation runs the threads
 * in an order that tests choose, so that a missing barrier shows as a different result. */
#ifndef GPDESK_CUDA_PORT_H
#define GPDESK_CUDA_PORT_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#include <cuda_fp16.h>

#define DEV static __device__ __forceinline__
#define BOTH static __host__ __device__ __forceinline__
#define DEVICE_CODE 1
#define LANES(t, n)                                                                                \
    for (int t = ((void)(n), (int)threadIdx.x), t##_once = 1; t##_once; t##_once = 0)
#define OWN(type, name, m) type name[1][m]
#define ME(t) 0
#define SYNC() __syncthreads()
#define UNROLL _Pragma("unroll")
#define PEER(name, t, mask, i) __shfl_xor_sync(0xffffffffu, name[0][i], mask)
#define VECTOR(p) ((void)0)
#else
#define DEV static inline
#define BOTH static inline
#define DEVICE_CODE 0
/* 0: ascending; 1: descending; 2: odd threads first. Tests choose it. */
extern int emu_order;
#define LANES(t, n)                                                                                \
    for (int t##_at = 0, t = emu_at(0, n); t##_at < (n); t = emu_at(++t##_at, n))
static inline int emu_at(int i, int n)
{
    if (i >= n || emu_order == 0)
        return i;
    if (emu_order == 1)
        return n - 1 - i;
    const int odd = n / 2; /* 1, 3, 5 .. then 0, 2, 4 .. */
    return i < odd ? 2 * i + 1 : 2 * (i - odd);
}
enum { EMU_THREADS = 2048 }; /* largest number of blocks times threads of a cluster */
#define OWN(type, name, m) static type name[EMU_THREADS][m]
#define ME(t) (t)
#define SYNC() ((void)0)
#define UNROLL
#define PEER(name, t, mask, i) name[(t) ^ (mask)][i]
void emu_vector(uintptr_t p, const char *what);
#define VECTOR(p) emu_vector((uintptr_t)(p), #p)
#endif

#endif
