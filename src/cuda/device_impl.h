/* cuda/device_impl.h -- what the files of the device share: its state, and the conversion of
 * failures of CUDA and its libraries into our errors. */
#ifndef GPDESK_CUDA_DEVICE_IMPL_H
#define GPDESK_CUDA_DEVICE_IMPL_H

extern "C" { /* C, all of it */
#include "base/status.h"
}
#include "cuda/device.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

enum { SLOTS = 6, PINNED = 2 };

/* Creating streams, handles and pinned memory takes longer than a small job. So those of a closed
 * operator are kept for the next one on the same device. */
struct device {
    struct device *next; /* the list of kept ones */
    int index;
    struct { void *at; size_t bytes; bool busy; } pinned[PINNED];
    cudaStream_t stream[STREAMS];
    cudaEvent_t slot[SLOTS];
    cublasHandle_t blas;
    cusolverDnHandle_t solver; /* created on first use */
    cusolverDnParams_t params;
    int *said;                 /* on the device: the status of a factorisation */
    void *work, *host_work;
    size_t work_bytes, host_bytes;
    cudaDeviceProp prop;
};

static inline enum status failed(cudaError_t e, const char *what, struct err *err)
{
    if (e == cudaSuccess)
        return ST_OK;
    cudaGetLastError(); /* clears the error if it can be cleared */
    return err_set(err, ST_BACKEND, "the CUDA device failed (%s): %s", what, cudaGetErrorString(e));
}

static inline enum status blas_failed(cublasStatus_t s, const char *what, struct err *err)
{
    if (s == CUBLAS_STATUS_SUCCESS)
        return ST_OK;
    return err_set(err, ST_BACKEND, "cuBLAS failed (%s): %s", what, cublasGetStatusString(s));
}

static inline enum status solver_failed(cusolverStatus_t s, const char *what, struct err *err)
{
    if (s == CUSOLVER_STATUS_SUCCESS)
        return ST_OK;
    return err_set(err, ST_BACKEND, "cuSOLVER failed (%s): status %d", what, (int)s);
}

/* Makes the device current for the calling thread, because jobs may come from any thread. */
static inline enum status enter(struct device *d, struct err *err)
{
    return failed(cudaSetDevice(d->index), "choosing it", err);
}

/* Blocks of 256 threads for n numbers: at most sixteen of each multiprocessor. */
static inline unsigned blocks_for(const struct device *d, size_t n)
{
    const size_t most = 16 * (size_t)d->prop.multiProcessorCount, need = (n + 255) / 256;

    return (unsigned)(need < most ? need ? need : 1 : most);
}

static inline enum status launched(const char *what, struct err *err)
{
    return failed(cudaGetLastError(), what, err);
}

#endif
