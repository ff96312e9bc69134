/* cuda/device_impl.h -- what the files of the device share: its state, and how failures of CUDA and
 * its libraries become ours. */
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

/* Streams, handles and pinned memory take longer to make than a small job takes to run: what an
 * operator has closed waits for the next one on that device. */
struct device {
    struct device *next; /* of those that wait */
    int index;
    struct { void *at; size_t bytes; bool busy; } pinned[PINNED];
    cudaStream_t stream[STREAMS];
    cudaEvent_t slot[SLOTS];
    cublasHandle_t blas;
    cusolverDnHandle_t solver; /* from its first use on */
    cusolverDnParams_t params;
    int *said;                 /* on the device: what a factorisation reports */
    void *work, *host_work;
    size_t work_bytes, host_bytes;
    cudaDeviceProp prop;
};

static inline enum status failed(cudaError_t e, const char *what, struct err *err)
{
    if (e == cudaSuccess)
        return ST_OK;
    cudaGetLastError(); /* forget it, where it can be forgotten */
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

/* The calling thread's device; jobs may come from any thread. */
static inline enum status enter(struct device *d, struct err *err)
{
    return failed(cudaSetDevice(d->index), "choosing it", err);
}

static inline enum status launched(const char *what, struct err *err)
{
    return failed(cudaGetLastError(), what, err);
}

#endif
