/* cuda/device_linalg.cu -- the dense linear algebra of device.h: products by cuBLAS, factorisations
 * by cuSOLVER. The workspace of factorisations is kept with the device. */
#include "cuda/device_impl.h"

#include <stdlib.h>

/* Products. */

static cublasOperation_t op(bool t)
{
    return t ? CUBLAS_OP_T : CUBLAS_OP_N;
}

enum status device_dgemm(struct device *d, bool ta, bool tb, size_t m, size_t n, size_t k,
                         const double *A, size_t lda, const double *B, size_t ldb, double beta,
                         double *C, size_t ldc, struct err *err)
{
    const double one = 1.0;
    const enum status rc = enter(d, err);

    if (rc == ST_OK && n == 1 && !tb) /* for a vector, only reading the matrix matters */
        return blas_failed(cublasDgemv_64(d->blas, op(ta), (int64_t)(ta ? k : m),
                                          (int64_t)(ta ? m : k), &one, A, (int64_t)lda, B, 1, &beta,
                                          C, 1), "dgemv", err);
    return rc != ST_OK ? rc
                       : blas_failed(cublasDgemm_64(d->blas, op(ta), op(tb), (int64_t)m, (int64_t)n,
                                                    (int64_t)k, &one, A, (int64_t)lda, B,
                                                    (int64_t)ldb, &beta, C, (int64_t)ldc),
                                     "dgemm", err);
}

enum status device_sgemm(struct device *d, bool ta, bool tb, size_t m, size_t n, size_t k,
                         const float *A, size_t lda, const float *B, size_t ldb, float beta,
                         float *C, size_t ldc, struct err *err)
{
    const float one = 1.0F;
    const enum status rc = enter(d, err);

    return rc != ST_OK ? rc
                       : blas_failed(cublasSgemm_64(d->blas, op(ta), op(tb), (int64_t)m, (int64_t)n,
                                                    (int64_t)k, &one, A, (int64_t)lda, B,
                                                    (int64_t)ldb, &beta, C, (int64_t)ldc),
                                     "sgemm", err);
}

enum status device_hgemm(struct device *d, bool ta, bool tb, size_t m, size_t n, size_t k,
                         const uint16_t *A, size_t lda, const uint16_t *B, size_t ldb, float beta,
                         float *C, size_t ldc, struct err *err)
{
    const float one = 1.0F;
    const enum status rc = enter(d, err);

    return rc != ST_OK ? rc
                       : blas_failed(cublasGemmEx_64(d->blas, op(ta), op(tb), (int64_t)m,
                                                     (int64_t)n,
                                                     (int64_t)k, &one, A, CUDA_R_16F, (int64_t)lda,
                                                     B, CUDA_R_16F, (int64_t)ldb, &beta, C,
                                                     CUDA_R_32F, (int64_t)ldc, CUBLAS_COMPUTE_32F,
                                                     CUBLAS_GEMM_DEFAULT), "gemm of halves", err);
}

enum status device_dsyrk(struct device *d, size_t n, size_t k, const double *A, size_t lda,
                         double beta, double *C, size_t ldc, struct err *err)
{
    const double one = 1.0;
    const enum status rc = enter(d, err);

    return rc != ST_OK ? rc
                       : blas_failed(cublasDsyrk_64(d->blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                                                    (int64_t)n, (int64_t)k, &one, A, (int64_t)lda,
                                                    &beta, C, (int64_t)ldc), "dsyrk", err);
}

enum status device_ssyrk(struct device *d, size_t n, size_t k, const float *A, size_t lda,
                         float beta, float *C, size_t ldc, struct err *err)
{
    const float one = 1.0F;
    const enum status rc = enter(d, err);

    return rc != ST_OK ? rc
                       : blas_failed(cublasSsyrk_64(d->blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                                                    (int64_t)n, (int64_t)k, &one, A, (int64_t)lda,
                                                    &beta, C, (int64_t)ldc), "ssyrk", err);
}

/* Factorisations. */

static enum status solver_ready(struct device *d, struct err *err)
{
    enum status rc = enter(d, err);

    if (rc != ST_OK || d->solver)
        return rc;
    rc = solver_failed(cusolverDnCreate(&d->solver), "start", err);
    if (rc != ST_OK) {
        d->solver = NULL;
        return rc;
    }
    rc = solver_failed(cusolverDnSetStream(d->solver, d->stream[STREAM_WORK]), "stream", err);
    if (rc == ST_OK)
        rc = solver_failed(cusolverDnCreateParams(&d->params), "parameters", err);
    if (rc == ST_OK && !d->said)
        rc = failed(cudaMalloc((void **)&d->said, sizeof *d->said), "memory", err);
    return rc;
}

/* Workspace on the device and on the host for the next factorisation. The last one no longer needs
 * its own: a stream is processed in order, and freeing waits. */
static enum status solver_room(struct device *d, size_t bytes, size_t host, struct err *err)
{
    if (bytes > d->work_bytes) {
        cudaFree(d->work);
        d->work = NULL;
        d->work_bytes = 0;
        const enum status rc = device_alloc(d, &d->work, bytes, "a factorisation", err);
        if (rc != ST_OK)
            return rc;
        d->work_bytes = bytes;
    }
    if (host > d->host_bytes) {
        free(d->host_work);
        d->host_work = malloc(host);
        d->host_bytes = d->host_work ? host : 0;
        if (!d->host_work)
            return err_nomem(err, host, "a factorisation");
    }
    return ST_OK;
}

/* The status of the last factorisation: 0, an invalid argument (negative), or what failed. */
static enum status solver_said(struct device *d, int *said, struct err *err)
{
    enum status rc = failed(cudaMemcpyAsync(said, d->said, sizeof *said, cudaMemcpyDeviceToHost,
                                            d->stream[STREAM_WORK]), "copying from it", err);
    if (rc == ST_OK)
        rc = failed(cudaStreamSynchronize(d->stream[STREAM_WORK]), "a factorisation", err);
    if (rc == ST_OK && *said < 0)
        rc = err_set(err, ST_BACKEND, "cuSOLVER refused its argument %d", -*said);
    return rc;
}

enum status device_potrf(struct device *d, size_t n, double *A, size_t lda, size_t *pivot,
                         struct err *err)
{
    size_t bytes = 0, host = 0;
    int said = 0;
    enum status rc = solver_ready(d, err);

    if (rc == ST_OK)
        rc = solver_failed(cusolverDnXpotrf_bufferSize(d->solver, d->params, CUBLAS_FILL_MODE_LOWER,
                                                       (int64_t)n, CUDA_R_64F, A, (int64_t)lda,
                                                       CUDA_R_64F, &bytes, &host), "potrf", err);
    if (rc == ST_OK)
        rc = solver_room(d, bytes, host, err);
    if (rc == ST_OK)
        rc = solver_failed(cusolverDnXpotrf(d->solver, d->params, CUBLAS_FILL_MODE_LOWER,
                                            (int64_t)n, CUDA_R_64F, A, (int64_t)lda, CUDA_R_64F,
                                            d->work, d->work_bytes, d->host_work, d->host_bytes,
                                            d->said), "potrf", err);
    if (rc == ST_OK)
        rc = solver_said(d, &said, err);
    if (rc != ST_OK || said == 0)
        return rc;
    if (pivot)
        *pivot = (size_t)said - 1;
    return err_set(err, ST_NOT_PD, "the %zu x %zu matrix is not positive definite (pivot %d)", n, n,
                   said);
}

enum status device_trsm(struct device *d, bool right, bool trans, size_t m, size_t n,
                        const double *L, size_t ldl, double *X, size_t ldx, struct err *err)
{
    const double one = 1.0;
    const enum status rc = enter(d, err);

    return rc != ST_OK ? rc
                       : blas_failed(cublasDtrsm_64(d->blas, right ? CUBLAS_SIDE_RIGHT
                                                                   : CUBLAS_SIDE_LEFT,
                                                    CUBLAS_FILL_MODE_LOWER, op(trans),
                                                    CUBLAS_DIAG_NON_UNIT, (int64_t)m, (int64_t)n,
                                                    &one, L, (int64_t)ldl, X, (int64_t)ldx), "trsm",
                                     err);
}

/* The interface of these functions is limited to sizes of an int. */
static enum status solver_int(size_t n, size_t lda, struct err *err)
{
    return n <= 46340 && lda <= 46340 ? ST_OK
                                      : err_set(err, ST_UNSUPPORTED,
                                                "a matrix of %zu is too large", n);
}

enum status device_potri(struct device *d, size_t n, double *A, size_t lda, struct err *err)
{
    int work = 0, said = 0;
    enum status rc = solver_int(n, lda, err);

    if (rc == ST_OK)
        rc = solver_ready(d, err);
    if (rc == ST_OK)
        rc = solver_failed(cusolverDnDpotri_bufferSize(d->solver, CUBLAS_FILL_MODE_LOWER, (int)n, A,
                                                       (int)lda, &work), "potri", err);
    if (rc == ST_OK)
        rc = solver_room(d, (size_t)work * sizeof(double), 0, err);
    if (rc == ST_OK)
        rc = solver_failed(cusolverDnDpotri(d->solver, CUBLAS_FILL_MODE_LOWER, (int)n, A, (int)lda,
                                            (double *)d->work, work, d->said), "potri", err);
    if (rc == ST_OK)
        rc = solver_said(d, &said, err);
    if (rc == ST_OK && said > 0)
        rc = err_set(err, ST_NOT_PD, "the factor to invert is singular");
    return rc;
}

enum status device_sytrd(struct device *d, size_t n, double *A, size_t lda, double *diag, double *e,
                         size_t k, double *b, size_t ldb, struct err *err)
{
    int w1 = 0, w2 = 0, said = 0;
    double *tau = NULL, *work = NULL;
    enum status rc = solver_int(n, lda > ldb ? lda : ldb, err);

    if (rc == ST_OK)
        rc = solver_ready(d, err);
    if (rc == ST_OK)
        rc = solver_failed(cusolverDnDsytrd_bufferSize(d->solver, CUBLAS_FILL_MODE_LOWER, (int)n, A,
                                                       (int)lda, diag, e, tau, &w1), "sytrd", err);
    if (rc == ST_OK && k)
        rc = solver_failed(cusolverDnDormtr_bufferSize(d->solver, CUBLAS_SIDE_LEFT,
                                                       CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, (int)n,
                                                       (int)k, A, (int)lda, tau, b, (int)ldb, &w2),
                           "ormtr", err);
    if (rc == ST_OK)
        rc = solver_room(d, (n + (size_t)(w1 > w2 ? w1 : w2)) * sizeof(double), 0, err);
    if (rc != ST_OK)
        return rc;
    tau = (double *)d->work;
    work = tau + n;
    rc = solver_failed(cusolverDnDsytrd(d->solver, CUBLAS_FILL_MODE_LOWER, (int)n, A, (int)lda,
                                        diag, e, tau, work, w1, d->said), "sytrd", err);
    if (rc == ST_OK)
        rc = solver_said(d, &said, err);
    if (rc == ST_OK && k)
        rc = solver_failed(cusolverDnDormtr(d->solver, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER,
                                            CUBLAS_OP_T, (int)n, (int)k, A, (int)lda, tau, b,
                                            (int)ldb, work, w2, d->said), "ormtr", err);
    return rc == ST_OK && k ? solver_said(d, &said, err) : rc;
}

enum status device_syevd(struct device *d, size_t n, double *A, size_t lda, double *w, bool vectors,
                         struct err *err)
{
    const cusolverEigMode_t job = vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
    size_t bytes = 0, host = 0;
    int said = 0;
    enum status rc = solver_ready(d, err);

    if (rc == ST_OK)
        rc = solver_failed(cusolverDnXsyevd_bufferSize(d->solver, d->params, job,
                                                       CUBLAS_FILL_MODE_LOWER, (int64_t)n,
                                                       CUDA_R_64F, A, (int64_t)lda, CUDA_R_64F, w,
                                                       CUDA_R_64F, &bytes, &host), "syevd", err);
    if (rc == ST_OK)
        rc = solver_room(d, bytes, host, err);
    if (rc == ST_OK)
        rc = solver_failed(cusolverDnXsyevd(d->solver, d->params, job, CUBLAS_FILL_MODE_LOWER,
                                            (int64_t)n, CUDA_R_64F, A, (int64_t)lda, CUDA_R_64F, w,
                                            CUDA_R_64F, d->work, d->work_bytes, d->host_work,
                                            d->host_bytes, d->said), "syevd", err);
    if (rc == ST_OK)
        rc = solver_said(d, &said, err);
    if (rc == ST_OK && said > 0)
        rc = err_set(err, ST_UNSUPPORTED, "the symmetric eigenproblem did not converge there");
    return rc;
}

enum status device_dsyrk_add(struct device *d, size_t n, size_t k, double alpha, const double *A,
                             size_t lda, double *C, size_t ldc, struct err *err)
{
    const double one = 1.0;
    const enum status rc = enter(d, err);

    return rc != ST_OK ? rc
                       : blas_failed(cublasDsyrk_64(d->blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                                                    (int64_t)n, (int64_t)k, &alpha, A, (int64_t)lda,
                                                    &one, C, (int64_t)ldc), "dsyrk", err);
}

enum status device_spotrf(struct device *d, size_t n, float *A, size_t lda, struct err *err)
{
    size_t bytes = 0, host = 0;
    int said = 0;
    enum status rc = solver_ready(d, err);

    if (rc == ST_OK)
        rc = solver_failed(cusolverDnXpotrf_bufferSize(d->solver, d->params, CUBLAS_FILL_MODE_LOWER,
                                                       (int64_t)n, CUDA_R_32F, A, (int64_t)lda,
                                                       CUDA_R_32F, &bytes, &host), "potrf", err);
    if (rc == ST_OK)
        rc = solver_room(d, bytes, host, err);
    if (rc == ST_OK)
        rc = solver_failed(cusolverDnXpotrf(d->solver, d->params, CUBLAS_FILL_MODE_LOWER,
                                            (int64_t)n, CUDA_R_32F, A, (int64_t)lda, CUDA_R_32F,
                                            d->work, d->work_bytes, d->host_work, d->host_bytes,
                                            d->said), "potrf", err);
    if (rc == ST_OK)
        rc = solver_said(d, &said, err);
    if (rc == ST_OK && said)
        return err_set(err, ST_NOT_PD, "the matrix is not positive definite there");
    return rc;
}

enum status device_strsm(struct device *d, bool right, bool trans, size_t m, size_t n,
                         const float *L,
                         size_t ldl, float *X, size_t ldx, struct err *err)
{
    const float one = 1.0F;
    const enum status rc = enter(d, err);

    if (rc == ST_OK && n == 1 && !right) /* for a vector, only reading the matrix matters */
        return blas_failed(cublasStrsv_64(d->blas, CUBLAS_FILL_MODE_LOWER, op(trans),
                                          CUBLAS_DIAG_NON_UNIT,
                                          (int64_t)m, L, (int64_t)ldl, X, 1), "trsv", err);
    return rc != ST_OK ? rc
                       : blas_failed(cublasStrsm_64(d->blas, right ? CUBLAS_SIDE_RIGHT
                                                                   : CUBLAS_SIDE_LEFT,
                                                    CUBLAS_FILL_MODE_LOWER, op(trans),
                                                    CUBLAS_DIAG_NON_UNIT, (int64_t)m, (int64_t)n,
                                                    &one, L, (int64_t)ldl, X, (int64_t)ldx), "trsm",
                                     err);
}

enum status device_ssyrk_add(struct device *d, size_t n, size_t k, float alpha, const float *A,
                             size_t lda, float *C, size_t ldc, struct err *err)
{
    const float one = 1.0F;
    const enum status rc = enter(d, err);

    return rc != ST_OK ? rc
                       : blas_failed(cublasSsyrk_64(d->blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                                                    (int64_t)n, (int64_t)k, &alpha, A, (int64_t)lda,
                                                    &one, C, (int64_t)ldc), "ssyrk", err);
}

enum status device_axpy(struct device *d, size_t n, double a, const double *x, double *y,
                        struct err *err)
{
    const enum status rc = enter(d, err);

    return rc != ST_OK ? rc : blas_failed(cublasDaxpy_64(d->blas, (int64_t)n, &a, x, 1, y, 1),
                                          "daxpy", err);
}
