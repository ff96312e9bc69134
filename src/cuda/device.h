/* cuda/device.h -- what the driver in backend.c asks of a device: memory, copies, launches, dense
 * products. device.cu implements it with CUDA, and tests/emulated_device.c with loops over the same
 * kernels.
 *
 * Work goes to one of two streams and is done in order; nothing is complete before device_wait.
 * Every call reports its failure: NOMEM with the sizes, BACKEND for everything reported by the
 * device itself. After a BACKEND failure the device may be lost, so later calls may fail as
 * well. */
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
    double hz;             /* their clock in Hz; 0: unknown */
    int cluster;           /* the largest number of blocks in a cluster; 1: no clusters */
    size_t shared;         /* bytes of shared memory available to a block */
    /* Double-precision products run at half the single-precision speed or faster. */
    bool fast_double;
    size_t dense; /* size from which it pays to send a matrix of the host here to be factorised */
};
enum { STREAM_COPY, STREAM_WORK, STREAMS };

/* The number of devices; if it is 0, `why` says why. */
size_t device_count(char *why, size_t len);
enum status device_open(size_t index, struct device **, struct err *);
void device_close(struct device *);
enum status device_describe(struct device *, struct device_info *, struct err *);

/* what: names the memory in an error message. */
enum status device_alloc(struct device *, void **, size_t bytes, const char *what, struct err *);
void device_free(struct device *, void *);
/* Host memory for direct copies to and from the device: two pieces for each device. */
enum status device_pinned(struct device *, void **, size_t bytes, struct err *);
void device_unpinned(struct device *, void *);
enum status device_zero(struct device *, void *, size_t bytes, struct err *);
enum status device_copy(struct device *, void *to, const void *from, size_t bytes, struct err *);
/* Asynchronous, on a stream: the host memory must stay valid until device_wait or an event shows
 * that the copy is complete. */
enum status device_upload(struct device *, int stream, void *to, const void *from, size_t bytes,
                          struct err *);
enum status device_download(struct device *, void *to, const void *from, size_t bytes,
                            struct err *); /* waits until it is complete */
enum status device_wait(struct device *, struct err *);
/* Slots 0..5 mark the work queued on a stream so far; another stream, or the caller (stream -1),
 * waits for it. */
enum status device_mark(struct device *, int slot, int stream, struct err *);
enum status device_after(struct device *, int slot, int stream, struct err *);

/* Between device_record and device_recorded, launches on STREAM_WORK are recorded and not run.
 * device_replay runs them as one launch. Meanwhile no memory may be allocated and nothing waited
 * for. UNSUPPORTED: the launches could not be recorded and must be made normally; nothing else has
 * happened. */
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
/* blocks: in a cluster; K: 1, 2 or 4. */
enum status device_sweep(struct device *, enum sweep_source, int K, int blocks,
                         const struct sweep_args *, struct err *);
enum status device_pad(struct device *, const struct pad_args *, struct err *);
enum status device_merge(struct device *, const struct merge_args *, struct err *);
enum status device_narrow(struct device *, size_t n, const double *from, float *to, struct err *);
/* to += from, for whole arrays. */
enum status device_add(struct device *, size_t n, const float *from, double *to, struct err *);
/* scale * from = hi + lo in half precision, to some 22 bits. */
enum status device_split(struct device *, size_t n, float scale, const float *from, uint16_t *hi,
                         uint16_t *lo, struct err *);
/* to += scale * diag(row) * from, m x n column-major. */
enum status device_add_rows(struct device *, size_t m, size_t n, double scale, const double *row,
                            const float *from, double *to, struct err *);
/* Copies the lower triangle to the upper one, n x n. */
enum status device_mirror(struct device *, size_t n, double *A, size_t ld, struct err *);

enum status device_layout(struct device *, const struct layout_args *, struct err *);
/* A := diag(row) A, m x n column-major. */
enum status device_scale_rows(struct device *, size_t m, size_t n, const double *row, double *A,
                              struct err *);
enum status device_radial(struct device *, const struct radial_args *, struct err *);
/* many.h and descent.h. */
enum status device_values(struct device *, const struct values_args *, struct err *);
enum status device_ready(struct device *, const struct ready_args *, struct err *);
enum status device_level(struct device *, int K, const struct level_args *, struct err *);
enum status device_pack(struct device *, const struct pack_args *, struct err *);
enum status device_many(struct device *, const struct many_args *, struct err *);
enum status device_descent(struct device *, const struct descent_args *, struct err *);
enum status device_gram_ready(struct device *, const struct gram_args *, struct err *);
enum status device_affine(struct device *, enum affine_part, const struct affine_args *,
                          struct err *);
enum status device_cg_direction(struct device *, const struct cg_args *, struct err *);
enum status device_cg_step(struct device *, const struct cg_args *, struct err *);

/* Matrix products, column-major, on STREAM_WORK. */

enum status device_dgemm(struct device *, bool ta, bool tb, size_t m, size_t n, size_t k,
                         const double *A, size_t lda, const double *B, size_t ldb, double beta,
                         double *C, size_t ldc, struct err *);
enum status device_sgemm(struct device *, bool ta, bool tb, size_t m, size_t n, size_t k,
                         const float *A, size_t lda, const float *B, size_t ldb, float beta,
                         float *C, size_t ldc, struct err *);
/* Numbers in half precision with sums in single precision, on the matrix units. */
enum status device_hgemm(struct device *, bool ta, bool tb, size_t m, size_t n, size_t k,
                         const uint16_t *A, size_t lda, const uint16_t *B, size_t ldb, float beta,
                         float *C, size_t ldc, struct err *);
/* Lower triangle of C (n x n) = A A' + beta C, A n x k. */
enum status device_dsyrk(struct device *, size_t n, size_t k, const double *A, size_t lda,
                         double beta, double *C, size_t ldc, struct err *);
enum status device_ssyrk(struct device *, size_t n, size_t k, const float *A, size_t lda,
                         float beta, float *C, size_t ldc, struct err *);

/* Factorisations, column-major, lower triangles, on STREAM_WORK. */

/* A = L L'. Waits for the result. NOT_PD: *pivot, counted from 0. */
enum status device_potrf(struct device *, size_t n, double *A, size_t lda, size_t *pivot,
                         struct err *);
/* X := op(L)^-1 X (right: X op(L)^-1), where op is the transpose if `trans`; X is m x n. */
enum status device_trsm(struct device *, bool right, bool trans, size_t m, size_t n,
                        const double *L, size_t ldl, double *X, size_t ldx, struct err *);
/* A^-1 from its factor; lower triangle. */
enum status device_potri(struct device *, size_t n, double *A, size_t lda, struct err *);
/* A = Q T Q'. A is overwritten; d and e receive T; b := Q'b (n x k). */
enum status device_sytrd(struct device *, size_t n, double *A, size_t lda, double *d, double *e,
                         size_t k, double *b, size_t ldb, struct err *);
/* Eigenvalues in ascending order and, if `vectors`, eigenvectors in place of A. */
enum status device_syevd(struct device *, size_t n, double *A, size_t lda, double *w, bool vectors,
                         struct err *);
/* C (n x n, lower) += alpha A A', A n x k. */
enum status device_dsyrk_add(struct device *, size_t n, size_t k, double alpha, const double *A,
                             size_t lda, double *C, size_t ldc, struct err *);
/* A = L L' in single precision. */
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
