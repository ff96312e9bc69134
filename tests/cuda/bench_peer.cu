/* tests/cuda/bench_peer.cu -- see bench_peer.h. */
#include "tests/cuda/bench_peer.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

static cublasHandle_t blas;

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    std::fprintf(stderr, "bench: %s failed: %s\n", what, cudaGetErrorString(cudaGetLastError()));
    std::exit(1);
}

const char *peer_open(void)
{
    int n = 0;

    if (cudaGetDeviceCount(&n) != cudaSuccess || n < 1)
        return "no CUDA device";
    return cublasCreate(&blas) == CUBLAS_STATUS_SUCCESS ? nullptr : "cuBLAS does not start";
}

/* Numbers that are no zeros: zeros run faster than data does. */
static __global__ void fill(size_t n, float *p, unsigned seed)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        unsigned h = (unsigned)i * 2654435761u + seed;
        h ^= h >> 15;
        h *= 2246822519u;
        h ^= h >> 13;
        p[i] = (float)(int)h * 4.6566e-10f;
    }
}

static __global__ void write4(size_t n, float4 *p, float v)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        p[i] = make_float4(v, v + 1.0f, v + 2.0f, v + (float)i);
}

static float *numbers(size_t n, unsigned seed)
{
    float *p = nullptr;

    must(cudaMalloc(&p, n * sizeof *p) == cudaSuccess, "memory");
    fill<<<1024, 256>>>(n, p, seed);
    must(cudaDeviceSynchronize() == cudaSuccess, "filling");
    return p;
}

template <typename F> static double median(F work)
{
    std::vector<float> ms;
    cudaEvent_t a, b;

    cudaEventCreate(&a);
    cudaEventCreate(&b);
    work();
    for (int i = 0; i < 9; i++) {
        float t = 0;
        cudaEventRecord(a);
        work();
        cudaEventRecord(b);
        must(cudaEventSynchronize(b) == cudaSuccess, "timing");
        cudaEventElapsedTime(&t, a, b);
        ms.push_back(t);
    }
    cudaEventDestroy(a);
    cudaEventDestroy(b);
    std::sort(ms.begin(), ms.end());
    return (double)ms[ms.size() / 2] * 1e-3;
}

double peer_two_gemv(size_t n, size_t M)
{
    float *Z = numbers(n * M, 1), *p = numbers(M, 2), *t = numbers(n, 3), *w = numbers(M, 4);
    const float one = 1, zero = 0;
    const double s = median([&] {
        must(cublasSgemv_64(blas, CUBLAS_OP_T, (int64_t)M, (int64_t)n, &one, Z, (int64_t)M, p, 1,
                            &zero, t, 1) == CUBLAS_STATUS_SUCCESS, "gemv");
        must(cublasSgemv_64(blas, CUBLAS_OP_N, (int64_t)M, (int64_t)n, &one, Z, (int64_t)M, t, 1,
                            &zero, w, 1) == CUBLAS_STATUS_SUCCESS, "gemv");
    });

    cudaFree(Z), cudaFree(p), cudaFree(t), cudaFree(w);
    return s;
}

double peer_two_gemm(size_t n, size_t M, size_t L)
{
    const size_t rows = 4096, blocks = (n + rows - 1) / rows;
    float *Z = numbers(rows * M, 1), *O = numbers(M * L, 2), *T = numbers(rows * L, 3);
    float *Y = numbers(M * L, 4);
    const float one = 1, zero = 0;
    const double s = median([&] {
        for (int i = 0; i < 4; i++) {
            must(cublasSgemm_64(blas, CUBLAS_OP_T, CUBLAS_OP_N, (int64_t)L, (int64_t)rows,
                                (int64_t)M, &one, O, (int64_t)M, Z, (int64_t)M, &zero, T,
                                (int64_t)L) == CUBLAS_STATUS_SUCCESS, "gemm");
            must(cublasSgemm_64(blas, CUBLAS_OP_N, CUBLAS_OP_T, (int64_t)M, (int64_t)L,
                                (int64_t)rows, &one, Z, (int64_t)M, T, (int64_t)L, &one, Y,
                                (int64_t)M) == CUBLAS_STATUS_SUCCESS, "gemm");
        }
    });

    cudaFree(Z), cudaFree(O), cudaFree(T), cudaFree(Y);
    return s / 4.0 * (double)blocks;
}

double peer_write(size_t n, size_t M)
{
    const size_t most = (size_t)8 << 30, bytes = n * M * 4, some = bytes < most ? bytes : most;
    float *Z = numbers(some / 4, 1);
    const double s = median([&] { write4<<<4096, 256>>>(some / 16, (float4 *)Z, 0.5f); });

    cudaFree(Z);
    return s * (double)bytes / (double)some;
}

double peer_syrk(size_t n, size_t M)
{
    float *Z = numbers(n * M, 1), *G = numbers(M * M, 2);
    const float one = 1, zero = 0;
    const double s = median([&] {
        must(cublasSsyrk_64(blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, (int64_t)M, (int64_t)n, &one,
                            Z, (int64_t)M, &zero, G, (int64_t)M) == CUBLAS_STATUS_SUCCESS, "syrk");
    });

    cudaFree(Z), cudaFree(G);
    return s;
}
