/* cuda/device.cu -- implements device.h with CUDA: the runtime (linked statically) and kernels.
 * device_linalg.cu has the parts of cuBLAS and cuSOLVER.
 *
 * Every call and every launch is checked. After a permanent failure (a lost device) everything that
 * follows fails, too; the caller then stops using the device. */
extern "C" { /* C, all of it */
#include "base/status.h"
#include "compute/features/featmap.h"
}
#include "cuda/device_impl.h"

#include "cuda/cg.h"
#include "cuda/gradients.h"
#include "cuda/project.h"
#include "cuda/radial.h"
#include "cuda/sweep.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t waiting_lock = PTHREAD_MUTEX_INITIALIZER;
static struct device *waiting;

static void bytes_text(char *out, size_t len, double b)
{
    const char *unit[] = { "B", "kB", "MB", "GB" };
    int i = 0;

    for (; b >= 1000.0 && i < 3; i++)
        b /= 1000.0;
    snprintf(out, len, "%.1f %s", b, unit[i]);
}

/* Devices. */

size_t device_count(char *why, size_t len)
{
    int n = 0;
    const cudaError_t e = cudaGetDeviceCount(&n);

    if (len)
        why[0] = '\0';
    if (e == cudaSuccess && n > 0)
        return (size_t)n;
    cudaGetLastError();
    if (e == cudaErrorInsufficientDriver)
        snprintf(why, len, "no CUDA device: there is no driver, or one older than CUDA %d.%d",
                 CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    else
        snprintf(why, len, "no CUDA device: %s",
                 e == cudaSuccess ? "the driver sees none" : cudaGetErrorString(e));
    return 0;
}

static enum status open_handles(struct device *d, struct err *err)
{
    enum status rc = enter(d, err);

    for (int i = 0; rc == ST_OK && i < STREAMS; i++)
        rc = failed(cudaStreamCreateWithFlags(&d->stream[i], cudaStreamNonBlocking), "a stream",
                    err);
    for (int i = 0; rc == ST_OK && i < SLOTS; i++)
        rc = failed(cudaEventCreateWithFlags(&d->slot[i], cudaEventDisableTiming), "an event", err);
    if (rc == ST_OK)
        rc = blas_failed(cublasCreate(&d->blas), "start", err);
    if (rc == ST_OK)
        rc = blas_failed(cublasSetStream(d->blas, d->stream[STREAM_WORK]), "stream", err);
    /* reproducible sums: no atomics; single precision means float32, not TF32 */
    if (rc == ST_OK)
        rc = blas_failed(cublasSetAtomicsMode(d->blas, CUBLAS_ATOMICS_NOT_ALLOWED), "mode", err);
    if (rc == ST_OK)
        rc = blas_failed(cublasSetMathMode(d->blas, CUBLAS_DEFAULT_MATH), "mode", err);
    return rc;
}

static struct device *take_waiting(int index)
{
    struct device *d = NULL;

    pthread_mutex_lock(&waiting_lock);
    for (struct device **at = &waiting; *at && !d; at = &(*at)->next)
        if ((*at)->index == index) {
            d = *at;
            *at = d->next;
            break;
        }
    pthread_mutex_unlock(&waiting_lock);
    return d;
}

static void destroy(struct device *d)
{
    cudaSetDevice(d->index);
    if (d->params)
        cusolverDnDestroyParams(d->params);
    if (d->solver)
        cusolverDnDestroy(d->solver);
    cudaFree(d->said);
    cudaFree(d->work);
    free(d->host_work);
    if (d->blas)
        cublasDestroy(d->blas);
    for (int i = 0; i < SLOTS; i++)
        if (d->slot[i])
            cudaEventDestroy(d->slot[i]);
    for (int i = 0; i < STREAMS; i++)
        if (d->stream[i])
            cudaStreamDestroy(d->stream[i]);
    for (int i = 0; i < PINNED; i++)
        cudaFreeHost(d->pinned[i].at);
    cudaGetLastError();
    free(d);
}

enum status device_open(size_t index, struct device **out, struct err *err)
{
    *out = take_waiting((int)index);
    if (*out)
        return ST_OK;
    struct device *d = (struct device *)calloc(1, sizeof *d);

    if (!d)
        return err_nomem(err, sizeof *d, "a device");
    d->index = (int)index;
    enum status rc = failed(cudaGetDeviceProperties(&d->prop, d->index), "its properties", err);
    if (rc == ST_OK && d->prop.major < 8)
        rc = err_set(err, ST_UNSUPPORTED,
                     "CUDA device %zu (%s) has compute capability %d.%d; 8.0 is "
                     "needed", index, d->prop.name, d->prop.major, d->prop.minor);
    if (rc == ST_OK)
        rc = open_handles(d, err);
    if (rc != ST_OK) {
        destroy(d);
        return rc;
    }
    *out = d;
    return ST_OK;
}

void device_close(struct device *d)
{
    if (!d)
        return;
    if (device_wait(d, NULL) != ST_OK) { /* the device seems to be lost */
        destroy(d);
        return;
    }
    cudaFree(d->work);
    d->work = NULL;
    d->work_bytes = 0;
    pthread_mutex_lock(&waiting_lock);
    d->next = waiting;
    waiting = d;
    pthread_mutex_unlock(&waiting_lock);
}

enum status device_describe(struct device *d, struct device_info *i, struct err *err)
{
    size_t left = 0, all = 0;
    int ratio = 0, khz = 0;
    enum status rc = enter(d, err);

    memset(i, 0, sizeof *i);
    if (rc == ST_OK)
        rc = failed(cudaMemGetInfo(&left, &all), "its memory", err);
    if (rc == ST_OK)
        rc = failed(cudaDeviceGetAttribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio,
                                           d->index), "its properties", err);
    if (rc != ST_OK)
        return rc;
    snprintf(i->name, sizeof i->name, "%.60s, compute capability %d.%d", d->prop.name,
             d->prop.major, d->prop.minor);
    i->memory = all;
    i->free = left;
    i->sms = d->prop.multiProcessorCount;
    if (cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, d->index) == cudaSuccess)
        i->hz = 1e3 * (double)khz;
    i->cluster = d->prop.major >= 9 ? SWEEP_CLUSTER : 1;
    i->shared = d->prop.sharedMemPerBlockOptin;
    i->fast_double = ratio > 0 && ratio <= 2;
    i->dense = i->fast_double ? 1024 : 8192;
    return ST_OK;
}

/* Memory. */

enum status device_alloc(struct device *d, void **out, size_t bytes, const char *what,
                         struct err *err)
{
    enum status rc = enter(d, err);

    *out = NULL;
    if (rc != ST_OK)
        return rc;
    const cudaError_t e = cudaMalloc(out, bytes);
    if (e != cudaErrorMemoryAllocation)
        return failed(e, "memory", err);
    char need[32], have[32];
    size_t left = 0, all = 0;
    cudaGetLastError();
    cudaMemGetInfo(&left, &all);
    bytes_text(need, sizeof need, (double)bytes);
    bytes_text(have, sizeof have, (double)left);
    err_named(err, ST_NOMEM, "memory", "the device has no %s for %s: %s are free", need, what,
              have);
    err_hint(err, "fit plan=regenerate, fewer features, or set device=cpu");
    return ST_NOMEM;
}

void device_free(struct device *d, void *p)
{
    if (p && cudaSetDevice(d->index) == cudaSuccess)
        cudaFree(p);
}

enum status device_pinned(struct device *d, void **out, size_t bytes, struct err *err)
{
    enum status rc = enter(d, err);
    int at = 0;

    *out = NULL;
    while (at < PINNED && d->pinned[at].busy)
        at++;
    if (rc == ST_OK && at == PINNED)
        rc = err_set(err, ST_INTERNAL, "the device has %d places for copies", PINNED);
    if (rc == ST_OK && d->pinned[at].bytes < bytes) {
        cudaFreeHost(d->pinned[at].at);
        d->pinned[at].bytes = 0;
        d->pinned[at].at = NULL;
        rc = failed(cudaMallocHost(&d->pinned[at].at, bytes), "memory for copies", err);
        d->pinned[at].bytes = rc == ST_OK ? bytes : 0;
    }
    if (rc == ST_OK) {
        d->pinned[at].busy = true;
        *out = d->pinned[at].at;
    }
    return rc;
}

void device_unpinned(struct device *d, void *p)
{
    for (int i = 0; i < PINNED; i++)
        if (p && d->pinned[i].at == p)
            d->pinned[i].busy = false;
}

enum status device_zero(struct device *d, void *p, size_t bytes, struct err *err)
{
    enum status rc = enter(d, err);

    return rc == ST_OK ? failed(cudaMemsetAsync(p, 0, bytes, d->stream[STREAM_WORK]), "clearing",
                                err) : rc;
}

enum status device_copy(struct device *d, void *to, const void *from, size_t bytes, struct err *err)
{
    enum status rc = enter(d, err);

    return rc == ST_OK ? failed(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice,
                                                d->stream[STREAM_WORK]), "copying there", err) : rc;
}

enum status device_upload(struct device *d, int stream, void *to, const void *from, size_t bytes,
                          struct err *err)
{
    enum status rc = enter(d, err);

    return rc == ST_OK ? failed(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice,
                                                d->stream[stream]), "copying to it", err) : rc;
}

enum status device_download(struct device *d, void *to, const void *from, size_t bytes,
                            struct err *err)
{
    enum status rc = enter(d, err);

    if (rc == ST_OK)
        rc = failed(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost,
                                    d->stream[STREAM_WORK]), "copying from it", err);
    return rc == ST_OK ? failed(cudaStreamSynchronize(d->stream[STREAM_WORK]), "its work", err)
                       : rc;
}

enum status device_wait(struct device *d, struct err *err)
{
    enum status rc = enter(d, err);

    for (int i = 0; rc == ST_OK && i < STREAMS; i++)
        rc = failed(cudaStreamSynchronize(d->stream[i]), "its work", err);
    return rc;
}

enum status device_mark(struct device *d, int slot, int stream, struct err *err)
{
    enum status rc = enter(d, err);

    return rc == ST_OK ? failed(cudaEventRecord(d->slot[slot], d->stream[stream]), "an event", err)
                       : rc;
}

enum status device_after(struct device *d, int slot, int stream, struct err *err)
{
    enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    return failed(stream < 0 ? cudaEventSynchronize(d->slot[slot])
                             : cudaStreamWaitEvent(d->stream[stream], d->slot[slot], 0),
                  "its work", err);
}

/* Recorded launches. */

struct device_graph { cudaGraphExec_t exec; };

enum status device_record(struct device *d, struct err *err)
{
    const enum status rc = enter(d, err);

    if (rc == ST_OK && cudaStreamBeginCapture(d->stream[STREAM_WORK],
                                              cudaStreamCaptureModeRelaxed) != cudaSuccess) {
        cudaGetLastError();
        return err_set(err, ST_UNSUPPORTED, "launches cannot be recorded");
    }
    return rc;
}

enum status device_recorded(struct device *d, struct device_graph **out, struct err *err)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaError_t e = cudaStreamEndCapture(d->stream[STREAM_WORK], &graph);

    *out = NULL;
    if (e == cudaSuccess && graph)
        e = cudaGraphInstantiate(&exec, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    if (e == cudaSuccess && exec)
        *out = (struct device_graph *)calloc(1, sizeof **out);
    if (*out) {
        (*out)->exec = exec;
        return ST_OK;
    }
    if (exec)
        cudaGraphExecDestroy(exec);
    cudaGetLastError();
    return err_set(err, ST_UNSUPPORTED, "launches cannot be recorded");
}

enum status device_replay(struct device *d, struct device_graph *g, struct err *err)
{
    const enum status rc = enter(d, err);

    return rc == ST_OK ? failed(cudaGraphLaunch(g->exec, d->stream[STREAM_WORK]), "a step", err)
                       : rc;
}

void device_graph_free(struct device *d, struct device_graph *g)
{
    if (g && cudaSetDevice(d->index) == cudaSuccess)
        cudaGraphExecDestroy(g->exec);
    free(g);
}

/* Steps. */

/* Shared memory, or the device memory that replaces it. */
static __device__ __forceinline__ char *room_of(const steps_args *a, char *smem)
{
    return a->scratch ? (char *)a->scratch +
                            ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * a->scratch_bytes
                      : smem;
}

static __global__ void __launch_bounds__(256)
    steps_float(const __grid_constant__ steps_args a, int threads)
{
    extern __shared__ char smem[];

    steps_block_f32(&a, (int)blockIdx.x, (int)blockIdx.y, threads, (float *)room_of(&a, smem));
}

static __global__ void __launch_bounds__(256)
    steps_double(const __grid_constant__ steps_args a, int threads)
{
    extern __shared__ char smem[];

    steps_block_f64(&a, (int)blockIdx.x, (int)blockIdx.y, threads, (double *)room_of(&a, smem));
}

/* More than 48 KB of shared memory must be requested. The second dimension of a grid is at most
 * 65535. */
template <typename F> static enum status roomy(F *f, size_t smem, struct err *err)
{
    if (smem <= 48 << 10)
        return ST_OK;
    return failed(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)smem),
                  "shared memory", err);
}

enum status device_steps(struct device *d, const struct steps_args *a, struct err *err)
{
    struct steps_args some = *a;
    const size_t most = (size_t)65535 * (size_t)a->per;
    enum status rc = enter(d, err);

    for (size_t r = 0; rc == ST_OK && r < a->rows; r += most) {
        const bool half = a->to.form == FORM_SWEEP16 || a->to.form == FORM_F16;
        const size_t size = a->to.form == FORM_F64 ? 8 : half ? 2 : 4;
        const size_t ld = a->to.form == FORM_SWEEP32 || a->to.form == FORM_SWEEP16
                              ? sweep_row(a->to.shape) : a->to.ld;
        some.rows = a->rows - r < most ? a->rows - r : most;
        some.x = (const char *)a->x + r * a->ldx * (a->x64 ? 8 : 4);
        some.to.z = (char *)a->to.z + r * ld * size;
        some.to.factor = a->to.factor ? a->to.factor + r : NULL;
        const struct steps_grid g = steps_grid(&some);
        const dim3 grid((unsigned)g.blocks, (unsigned)g.chunks);
        const size_t smem = a->scratch ? 0 : g.smem;
        rc = a->wide ? roomy(steps_double, smem, err) : roomy(steps_float, smem, err);
        if (rc != ST_OK)
            return rc;
        if (a->wide)
            steps_double<<<grid, (unsigned)g.threads, smem, d->stream[STREAM_WORK]>>>(some,
                                                                                      g.threads);
        else
            steps_float<<<grid, (unsigned)g.threads, smem, d->stream[STREAM_WORK]>>>(some,
                                                                                     g.threads);
        rc = launched("making features", err);
    }
    return rc;
}

static __global__ void __launch_bounds__(256)
    back_float(const __grid_constant__ back_args a, int threads)
{
    extern __shared__ char smem[];

    back_block_f32(&a, (int)blockIdx.x, (int)blockIdx.y, threads, (float *)room_of(&a.s, smem));
}

static __global__ void __launch_bounds__(256)
    back_double(const __grid_constant__ back_args a, int threads)
{
    extern __shared__ char smem[];

    back_block_f64(&a, (int)blockIdx.x, (int)blockIdx.y, threads, (double *)room_of(&a.s, smem));
}

enum status device_back(struct device *d, const struct back_args *a, struct err *err)
{
    const struct steps_grid g = back_grid(a);
    const dim3 grid((unsigned)g.blocks, (unsigned)g.chunks);
    const size_t smem = a->s.scratch ? 0 : g.smem;
    enum status rc = enter(d, err);

    if (rc == ST_OK)
        rc = a->s.wide ? roomy(back_double, smem, err) : roomy(back_float, smem, err);
    if (rc != ST_OK)
        return rc;
    if (a->s.wide)
        back_double<<<grid, (unsigned)g.threads, smem, d->stream[STREAM_WORK]>>>(*a, g.threads);
    else
        back_float<<<grid, (unsigned)g.threads, smem, d->stream[STREAM_WORK]>>>(*a, g.threads);
    return launched("derivatives", err);
}

static __global__ void back_sum_kernel(const back_sum_args a)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < a.slots)
        back_sum_one(a.blocks, a.slots, a.part, i, a.out);
}

enum status device_back_sum(struct device *d, const struct back_sum_args *a, struct err *err)
{
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    back_sum_kernel<<<(unsigned)((a->slots + 127) / 128), 128, 0, d->stream[STREAM_WORK]>>>(*a);
    return launched("adding up derivatives", err);
}

#define PROJECT_KERNEL(ks)                                                                         \
    static __global__ void __launch_bounds__(PROJECT_THREADS, 2)                                   \
        k_project_##ks(const __grid_constant__ project_args a)                                     \
    {                                                                                              \
        project_block_##ks(&a, (int)blockIdx.x, (int)blockIdx.y);                                  \
    }
PROJECT_KERNEL(2)
PROJECT_KERNEL(4)
PROJECT_KERNEL(6)
PROJECT_KERNEL(8)

enum status device_project(struct device *d, const struct project_args *a, struct err *err)
{
    static void (*const fn[])(project_args) = { k_project_2, k_project_4, k_project_6,
                                                k_project_8 };
    const size_t rows = PROJECT_THREADS / 2, sixteens = project_sixteens(a->mf);
    const dim3 grid((unsigned)((a->rows + rows - 1) / rows),
                    (unsigned)((sixteens + (size_t)a->per - 1) / (size_t)a->per));
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    fn[a->ks / 2 - 1]<<<grid, PROJECT_THREADS, 0, d->stream[STREAM_WORK]>>>(*a);
    return launched("making features", err);
}

/* Sweeps. */

static __device__ __forceinline__ int cluster_rank(int blocks)
{
#if __CUDA_ARCH__ >= 900
    if (blocks > 1) {
        int r;
        asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
        return r;
    }
#endif
    (void)blocks;
    return 0;
}

/* least: blocks of a multiprocessor at once; registers for one right-hand side leave room for
 * two. */
#define SWEEP_KERNEL(name, least)                                                                  \
    static __global__ void __launch_bounds__(SWEEP_THREADS, least)                                 \
        k_##name(const __grid_constant__ sweep_args a, int blocks)                                 \
    {                                                                                              \
        extern __shared__ char smem[];                                                             \
        sweep_here here;                                                                           \
        here.rank = cluster_rank(blocks);                                                          \
        here.smem = smem;                                                                          \
        sweep_block_##name(&a, (int)blockIdx.x / blocks, blocks, here);                            \
    }
SWEEP_KERNEL(half1, 2)
SWEEP_KERNEL(half2, 1)
SWEEP_KERNEL(half4, 1)
SWEEP_KERNEL(float1, 2)
SWEEP_KERNEL(float2, 1)
SWEEP_KERNEL(float4, 1)
SWEEP_KERNEL(chain1, 2)
SWEEP_KERNEL(chain2, 1)
SWEEP_KERNEL(chain4, 1)

typedef void sweep_kernel(sweep_args, int);

enum status device_sweep(struct device *d, enum sweep_source from, int K, int blocks,
                         const struct sweep_args *a, struct err *err)
{
    static sweep_kernel *const fn[3][3] = { { k_half1, k_half2, k_half4 },
                                            { k_float1, k_float2, k_float4 },
                                            { k_chain1, k_chain2, k_chain4 } };
    sweep_kernel *f = fn[from][K / 2];
    const size_t smem = SWEEP_SMEM(K, 4, a->shape.threads);
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute cluster = {};
    enum status rc = enter(d, err);

    if (rc == ST_OK)
        rc = roomy(f, smem, err);
    if (rc != ST_OK)
        return rc;
    config.gridDim = dim3((unsigned)(a->clusters * blocks));
    config.blockDim = dim3((unsigned)a->shape.threads);
    config.dynamicSmemBytes = smem;
    config.stream = d->stream[STREAM_WORK];
    if (blocks > 1) {
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim.x = (unsigned)blocks;
        cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
        config.attrs = &cluster;
        config.numAttrs = 1;
    }
    rc = failed(cudaLaunchKernelEx(&config, f, *a, blocks), "a pass over the rows", err);
    return rc == ST_OK ? launched("a pass over the rows", err) : rc;
}

static __global__ void pad_kernel(pad_args a, size_t n)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        pad_one(&a, i);
}

enum status device_pad(struct device *d, const struct pad_args *a, struct err *err)
{
    const size_t n = a->rows * (size_t)a->D;
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    pad_kernel<<<blocks_for(d, n), 256, 0, d->stream[STREAM_WORK]>>>(*a, n);
    return launched("inputs", err);
}

static __global__ void merge_kernel(merge_args a)
{
    const size_t col = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (col < a.M)
        merge_one(&a, (int)blockIdx.y, col);
}

enum status device_merge(struct device *d, const struct merge_args *a, struct err *err)
{
    const dim3 grid((unsigned)((a->M + 127) / 128), (unsigned)a->K);
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    merge_kernel<<<grid, 128, 0, d->stream[STREAM_WORK]>>>(*a);
    return launched("adding up a pass", err);
}

/* Small ones. */

static __global__ void narrow_kernel(size_t n, const double *from, float *to)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        to[i] = (float)from[i];
}

static __global__ void add_kernel(size_t n, const float *from, double *to)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        to[i] += (double)from[i];
}

enum status device_narrow(struct device *d, size_t n, const double *from, float *to,
                          struct err *err)
{
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    narrow_kernel<<<blocks_for(d, n), 256, 0, d->stream[STREAM_WORK]>>>(n, from, to);
    return launched("rounding", err);
}

enum status device_add(struct device *d, size_t n, const float *from, double *to, struct err *err)
{
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    add_kernel<<<blocks_for(d, n), 256, 0, d->stream[STREAM_WORK]>>>(n, from, to);
    return launched("adding", err);
}

static __global__ void split_kernel(size_t n, float scale, const float *from, uint16_t *hi,
                                    uint16_t *lo)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        split_half(scale * from[i], hi + i, lo + i);
}

static __global__ void add_rows_kernel(size_t m, size_t n, double scale, const double *row,
                                       const float *from, double *to)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < m * n;
         i += (size_t)gridDim.x * blockDim.x)
        to[i] += scale * row[i % m] * (double)from[i];
}

enum status device_split(struct device *d, size_t n, float scale, const float *from, uint16_t *hi,
                         uint16_t *lo, struct err *err)
{
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    split_kernel<<<blocks_for(d, n), 256, 0, d->stream[STREAM_WORK]>>>(n, scale, from, hi, lo);
    return launched("splitting", err);
}

enum status device_add_rows(struct device *d, size_t m, size_t n, double scale, const double *row,
                            const float *from, double *to, struct err *err)
{
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    add_rows_kernel<<<blocks_for(d, m * n), 256, 0, d->stream[STREAM_WORK]>>>(m, n, scale, row,
                                                                              from, to);
    return launched("adding", err);
}

/* Tiles of 32 x 32 through shared memory, so that both sides go by whole lines. */
static __global__ void mirror_kernel(size_t n, double *A, size_t ld)
{
    __shared__ double tile[32][33];
    const size_t i0 = (size_t)blockIdx.x * 32, j0 = (size_t)blockIdx.y * 32;

    if (i0 < j0)
        return;
    for (size_t j = threadIdx.y; j < 32; j += blockDim.y)
        if (i0 + threadIdx.x < n && j0 + j < n)
            tile[j][threadIdx.x] = A[(j0 + j) * ld + i0 + threadIdx.x];
    __syncthreads();
    for (size_t i = threadIdx.y; i < 32; i += blockDim.y) {
        const size_t row = j0 + threadIdx.x, col = i0 + i;
        if (col < n && row < col)
            A[col * ld + row] = tile[threadIdx.x][i];
    }
}

enum status device_mirror(struct device *d, size_t n, double *A, size_t ld, struct err *err)
{
    const unsigned tiles = (unsigned)((n + 31) / 32);
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    mirror_kernel<<<dim3(tiles, tiles), dim3(32, 8), 0, d->stream[STREAM_WORK]>>>(n, A, ld);
    return launched("mirroring", err);
}

static __global__ void layout_kernel(layout_args a)
{
    const size_t col = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (col < sweep_row(a.shape))
        layout_one(&a, (int)blockIdx.y, col);
}

enum status device_layout(struct device *d, const struct layout_args *a, struct err *err)
{
    const dim3 grid((unsigned)((sweep_row(a->shape) + 127) / 128), (unsigned)a->K);
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    layout_kernel<<<grid, 128, 0, d->stream[STREAM_WORK]>>>(*a);
    return launched("right-hand sides", err);
}

static __global__ void scale_rows_kernel(size_t m, size_t n, const double *row, double *A)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < m * n;
         i += (size_t)gridDim.x * blockDim.x)
        A[i] *= row[i % m];
}

enum status device_scale_rows(struct device *d, size_t m, size_t n, const double *row, double *A,
                              struct err *err)
{
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    scale_rows_kernel<<<blocks_for(d, m * n), 256, 0, d->stream[STREAM_WORK]>>>(m, n, row, A);
    return launched("scaling", err);
}

/* Conjugate gradients. */

static __global__ void __launch_bounds__(CG_THREADS)
    cg_direction_kernel(const __grid_constant__ cg_args a)
{
    __shared__ double smem[CG_THREADS];

    cg_direction_block(&a, (int)blockIdx.x, smem);
}

static __global__ void __launch_bounds__(CG_THREADS)
    cg_step_kernel(const __grid_constant__ cg_args a)
{
    __shared__ double smem[CG_THREADS];

    cg_step_block(&a, (int)blockIdx.x, smem);
}

enum status device_cg_direction(struct device *d, const struct cg_args *a, struct err *err)
{
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    cg_direction_kernel<<<(unsigned)a->active, CG_THREADS, 0, d->stream[STREAM_WORK]>>>(*a);
    return launched("a direction", err);
}

enum status device_cg_step(struct device *d, const struct cg_args *a, struct err *err)
{
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    cg_step_kernel<<<(unsigned)a->active, CG_THREADS, 0, d->stream[STREAM_WORK]>>>(*a);
    return launched("a step", err);
}

static __global__ void __launch_bounds__(RADIAL_THREADS)
    radial_kernel(const __grid_constant__ radial_args a)
{
    __shared__ __align__(16) char smem[RADIAL_SMEM];

    radial_block(&a, (int)blockIdx.x, (int)blockIdx.y, (double *)smem);
}

enum status device_radial(struct device *d, const struct radial_args *a, struct err *err)
{
    const dim3 grid((unsigned)((a->m + RADIAL_ROWS - 1) / RADIAL_ROWS), (unsigned)a->chunks);
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    radial_kernel<<<grid, RADIAL_THREADS, 0, d->stream[STREAM_WORK]>>>(*a);
    return launched("an exact kernel", err);
}

static __global__ void gram_ready_kernel(const gram_args a)
{
    const size_t i = (size_t)blockIdx.x * 32 + threadIdx.x, j0 = (size_t)blockIdx.y * 32;

    for (size_t j = j0 + threadIdx.y; j < j0 + 32; j += blockDim.y)
        if (i < a.M && j <= i)
            gram_ready_one(&a, i, j);
}

enum status device_gram_ready(struct device *d, const struct gram_args *a, struct err *err)
{
    const unsigned tiles = (unsigned)((a->M + 31) / 32);
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    gram_ready_kernel<<<dim3(tiles, tiles), dim3(32, 8), 0, d->stream[STREAM_WORK]>>>(*a);
    return launched("Z'Z", err);
}

/* Norms. */

static __global__ void __launch_bounds__(CG_THREADS)
    norm_kernel(size_t m, const double *A, double *out)
{
    __shared__ double smem[CG_THREADS];

    norm_block(m, A, blockIdx.x, out, smem);
}

enum status device_norms(struct device *d, size_t m, size_t n, const double *A, double *out,
                         struct err *err)
{
    const enum status rc = enter(d, err);

    if (rc != ST_OK)
        return rc;
    norm_kernel<<<(unsigned)n, CG_THREADS, 0, d->stream[STREAM_WORK]>>>(m, A, out);
    return launched("norms", err);
}
