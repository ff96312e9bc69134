/* cuda/device.h -- what the driver of backend.c asks of a device: memory, copies, launches, dense
 * products.  device.cu answers with CUDA; tests/emulated_device.c with loops over the same kernels.
 *
 * Work goes to one of two streams in order; nothing has ended before device_wait.  Every call
 * reports what failed: NOMEM with the numbers, BACKEND for everything that the device itself says.
 * After a BACKEND failure the device may be lost: what follows may fail as well. */
#ifndef GPDESK_CUDA_DEVICE_H
#define GPDESK_CUDA_DEVICE_H

#include "base/status.h"
#include "cuda/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct device;
struct device_info {
    char name[96];         /* "NVIDIA H200, compute capability 9.0" */
    size_t memory, free;   /* bytes */
    int sms;               /* multiprocessors */
    double hz;             /* their clock; 0: not known */
    int cluster;           /* blocks that a cluster may have; 1: none */
    size_t shared;         /* bytes of shared memory that a block may have */
    bool fast_double;      /* double products at half the speed of single ones or better */
    size_t dense; /* size from which a matrix of the host is worth the way for its factor */
};
enum { STREAM_COPY, STREAM_WORK, STREAMS };

/* Devices here; 0 and why, where there is none. */
size_t device_count(char *why, size_t len);
enum status device_open(size_t index, struct device **, struct err *);
void device_close(struct device *);
enum status device_describe(struct device *, struct device_info *, struct err *);

/* what: for the message of a failure. */
enum status device_alloc(struct device *, void **, size_t bytes, const char *what, struct err *);
void device_free(struct device *, void *);
/* Memory of the host that copies go to and from without a detour: two pieces of a device. */
enum status device_pinned(struct device *, void **, size_t bytes, struct err *);
void device_unpinned(struct device *, void *);
enum status device_zero(struct device *, void *, size_t bytes, struct err *);
enum status device_copy(struct device *, void *to, const void *from, size_t bytes, struct err *);
/* On a stream; host memory has to stay until device_wait or an event says that it is over. */
enum status device_upload(struct device *, int stream, void *to, const void *from, size_t bytes,
                          struct err *);
enum status device_download(struct device *, void *to, const void *from, size_t bytes,
                            struct err *); /* waits */
enum status device_wait(struct device *, struct err *);
/* Slots 0..5: the work so far of a stream; another stream, or the caller (stream -1), waits. */
enum status device_mark(struct device *, int slot, int stream, struct err *);
enum status device_after(struct device *, int slot, int stream, struct err *);

/* Between record and recorded what is launched on STREAM_WORK is remembered and not run;
 * device_replay runs it as one launch.  No memory may be given out and nothing waited for in
 * between.  UNSUPPORTED: it could not be remembered, and is to be launched as ever; nothing else
 * has happened. */
struct device_graph;
enum status device_record(struct device *, struct err *);
enum status device_recorded(struct device *, struct device_graph **, struct err *);
enum status device_replay(struct device *, struct device_graph *, struct err *);
void device_graph_free(struct device *, struct device_graph *);

/* Launches, on STREAM_WORK. */

enum status device_steps(struct device *, const struct steps_args *, struct err *);
enum status device_back(struct device *, const struct back_args *, struct err *);
enum status device_back_sum(struct device *, const struct back_sum_args *, struct err *);
enum status device_project(struct device *, const struct project_args *, struct err *);
/* blocks: of a cluster; K: 1, 2 or 4. */
enum status device_sweep(struct device *, enum sweep_source, int K, int blocks,
                         const struct sweep_args *, struct err *);
enum status device_pad(struct device *, const struct pad_args *, struct err *);
enum status device_merge(struct device *, const struct merge_args *, struct err *);
enum status device_narrow(struct device *, size_t n, const double *from, float *to, struct err *);
/* to += from, whole arrays. */
enum status device_add(struct device *, size_t n, const float *from, double *to, struct err *);
/* scale * from = hi + lo in half precision, to some 22 bits. */
enum status device_split(struct device *, size_t n, float scale, const float *from, uint16_t *hi,
                         uint16_t *lo, struct err *);
/* to += scale * diag(row) * from, m x n column-major. */
enum status device_add_rows(struct device *, size_t m, size_t n, double scale, const double *row,
                            const float *from, double *to, struct err *);
/* The upper triangle from the lower one, n x n. */
enum status device_mirror(struct device *, size_t n, double *A, size_t ld, struct err *);

enum status device_layout(struct device *, const struct layout_args *, struct err *);
/* A := diag(row) A, m x n column-major. */
enum status device_scale_rows(struct device *, size_t m, size_t n, const double *row, double *A,
                              struct err *);
enum status device_radial(struct device *, const struct radial_args *, struct err *);
enum status device_gram_ready(struct device *, const struct gram_args *, struct err *);
enum status device_cg_direction(struct device *, const struct cg_args *, struct err *);
enum status device_cg_step(struct device *, const struct cg_args *, struct err *);

/* Products, column-major, on STREAM_WORK. */

enum status device_dgemm(struct device *, bool ta, bool tb, size_t m, size_t n, size_t k,
                         const double *A, size_t lda, const double *B, size_t ldb, double beta,
                         double *C, size_t ldc, struct err *);
enum status device_sgemm(struct device *, bool ta, bool tb, size_t m, size_t n, size_t k,
                         const float *A, size_t lda, const float *B, size_t ldb, float beta,
                         float *C, size_t ldc, struct err *);
/* Of numbers in half precision, summed in single: the matrix units. */
enum status device_hgemm(struct device *, bool ta, bool tb, size_t m, size_t n, size_t k,
                         const uint16_t *A, size_t lda, const uint16_t *B, size_t ldb, float beta,
                         float *C, size_t ldc, struct err *);
/* Lower triangle of C (n x n) = A A' + beta C, A n x k. */
enum status device_dsyrk(struct device *, size_t n, size_t k, const double *A, size_t lda,
                         double beta, double *C, size_t ldc, struct err *);
enum status device_ssyrk(struct device *, size_t n, size_t k, const float *A, size_t lda,
                         float beta, float *C, size_t ldc, struct err *);

/* Factorisations, column-major, lower triangles, on STREAM_WORK. */

/* A = L L'; waits.  NOT_PD: *pivot, from 0. */
enum status device_potrf(struct device *, size_t n, double *A, size_t lda, size_t *pivot,
                         struct err *);
/* X := op(L)^-1 X (right: X op(L)^-1), op the transpose where `trans`; X m x n. */
enum status device_trsm(struct device *, bool right, bool trans, size_t m, size_t n,
                        const double *L, size_t ldl, double *X, size_t ldx, struct err *);
/* A^-1 from its factor, lower triangle. */
enum status device_potri(struct device *, size_t n, double *A, size_t lda, struct err *);
/* A = Q T Q', destroyed; d, e: T; b := Q'b (n x k). */
enum status device_sytrd(struct device *, size_t n, double *A, size_t lda, double *d, double *e,
                         size_t k, double *b, size_t ldb, struct err *);
/* Eigenvalues, ascending, and (vectors) eigenvectors in A's place. */
enum status device_syevd(struct device *, size_t n, double *A, size_t lda, double *w, bool vectors,
                         struct err *);
/* C (n x n, lower) += alpha A A', A n x k. */
enum status device_dsyrk_add(struct device *, size_t n, size_t k, double alpha, const double *A,
                             size_t lda, double *C, size_t ldc, struct err *);
/* The same in single precision. */
enum status device_spotrf(struct device *, size_t n, float *A, size_t lda, struct err *);
enum status device_strsm(struct device *, bool right, bool trans, size_t m, size_t n,
                         const float *L, size_t ldl, float *X, size_t ldx, struct err *);
enum status device_ssyrk_add(struct device *, size_t n, size_t k, float alpha, const float *A,
                             size_t lda, float *C, size_t ldc, struct err *);
enum status device_axpy(struct device *, size_t n, double a, const double *x, double *y,
                        struct err *);
/* out[j] = |column j|, m x n. */
enum status device_norms(struct device *, size_t m, size_t n, const double *A, double *out,
                         struct err *);

#ifdef __cplusplus
}
#endif
#endif
