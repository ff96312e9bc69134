/* compute/linalg/blas.c -- the one file that includes CBLAS and LAPACKE: single-threaded calls for
 * pool tasks, tiled products, and LAPACK's eigenproblems with checked workspaces.
 *
 * OpenBLAS is limited to one thread.  Its own workers spin after every call and would take the core
 * that our pool and the screen need, and its split of a product depends on the number of threads.
 * It starts them when it is loaded, before main; blas_init ends them. */
#include "compute/linalg/blas.h"

#include "base/mem.h"
#include "compute/backend.h"
#include "compute/linalg/blas_kernels.h"

#include <cblas.h>
#include <lapacke.h>

#include <assert.h>
#include <limits.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#define CM CblasColMajor

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static CBLAS_TRANSPOSE op(bool t)
{
    return t ? CblasTrans : CblasNoTrans;
}

/* OpenBLAS calls this before a fork: it joins its threads, which return only for a call that wants
 * several.  Builds without threads do not have it. */
extern int blas_thread_shutdown_(void) __attribute__((weak));
/* OpenBLAS calls the first of these when it is loaded: it chooses the kernels, by OPENBLAS_CORETYPE
 * or by the processor.  The second undoes that.  Builds for one processor do not have them. */
extern void gotoblas_dynamic_init(void) __attribute__((weak));
extern void gotoblas_dynamic_quit(void) __attribute__((weak));

/* The best kernels by the instructions that there are, as OPENBLAS_CORETYPE calls them, or NULL. */
static const char *kernels_here(void)
{
#ifdef __x86_64__
    __builtin_cpu_init(); /* a constructor may run before libgcc's */
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512cd");
    return avx2 && avx512 ? "SKYLAKEX" : avx2 ? "HASWELL" : NULL;
#else
    return NULL;
#endif
}

/* Has OpenBLAS choose again, by name.  The name stands in the environment in place of another entry
 * meanwhile: setenv needs memory, and without it results would come from other kernels, unsaid. */
static void choose_again(const char *kernels)
{
    char entry[40];
    char *alone[] = { entry, NULL };
    char **const all = environ, *const first = all ? all[0] : NULL;

    snprintf(entry, sizeof entry, "OPENBLAS_CORETYPE=%s", kernels);
    if (first)
        all[0] = entry;
    else
        environ = alone;
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
    if (first)
        all[0] = first;
    else
        environ = all;
}

/* A processor that is newer than the library is unknown to it, and it takes kernels without AVX2,
 * which use a quarter of such a core.  It then chooses again; when the program is loaded, so that
 * no result comes from two kinds of kernels. */
static void __attribute__((constructor)) choose_kernels(void)
{
    static const char *const old[] = { "Prescott", "Barcelona", "Nehalem", "Sandybridge" };
    const char *kernels = kernels_here(), *chosen = openblas_get_corename();
    bool poor = false;

    for (size_t i = 0; i < sizeof old / sizeof old[0]; i++)
        poor = poor || strcasecmp(chosen, old[i]) == 0;
    if (!kernels || !gotoblas_dynamic_init || !gotoblas_dynamic_quit || !poor ||
        getenv("OPENBLAS_CORETYPE"))
        return;
    choose_again(kernels);
}

void blas_init(void)
{
    openblas_set_num_threads(1);
    if (openblas_get_parallel() == 1 && blas_thread_shutdown_)
        blas_thread_shutdown_();
}

enum status blas_room(size_t threads, struct err *err)
{
    const size_t mib = (size_t)1 << 20, own = (size_t)openblas_get_num_threads();
    const size_t most = threads > own ? threads : own, needed = (256 + 128 * most) * mib;
    struct rlimit l;

    if (getrlimit(RLIMIT_AS, &l) != 0 || l.rlim_cur == RLIM_INFINITY || l.rlim_cur >= needed)
        return ST_OK;
    err_named(err, ST_LIMIT, "address-space",
              "the address space is limited to %zu MB (ulimit -v), and linear algebra with %zu "
              "thread%s needs %zu MB",
              (size_t)l.rlim_cur / mib, most, most == 1 ? "" : "s", needed / mib);
    err_hint(err, "gpdesk --threads=1, or ulimit -v unlimited; --mem= bounds what gpdesk keeps");
    return ST_LIMIT;
}

static const char *flavour(void)
{
    switch (openblas_get_parallel()) {
    case 0: return "serial";
    case 1: return "pthread";
    case 2: return "OpenMP";
    default: return "unknown threading";
    }
}

const char *blas_describe(void)
{
    static char text[160];
    char version[64] = "OpenBLAS";
    const char *config = openblas_get_config(); /* "OpenBLAS 0.3.21 NO_AFFINITY ..." */
    int words = 0;
    size_t n = 0;
    for (; config && config[n] && n + 1 < sizeof version; n++) {
        if (config[n] == ' ' && ++words == 2)
            break;
        version[n] = config[n];
    }
    if (n)
        version[n] = '\0';
    snprintf(text, sizeof text, "%s, %s kernels, %s build, 1 thread per call", version,
             openblas_get_corename(), flavour());
    return text;
}

bool blas_flavour_ok_for_tests(struct err *err)
{
    if (openblas_get_parallel() != 2)
        return true;
    err_named(err, ST_UNSUPPORTED, "blas",
              "OpenBLAS was built with OpenMP, which hangs in child processes");
    err_hint(err, "apt-get install libopenblas0-pthread, and remove libopenblas0-openmp");
    return false;
}

enum status blas_fits(size_t a, size_t b, size_t c, struct err *err)
{
    const size_t most = a > b ? (a > c ? a : c) : (b > c ? b : c);
    if (most <= INT_MAX)
        return ST_OK;
    return err_set(err, ST_LIMIT, "a matrix dimension of %zu is beyond what BLAS can address (%d)",
                   most, INT_MAX);
}

/* Single-threaded calls for pool tasks. */

void blas_sgemm1(bool ta, bool tb, size_t m, size_t n, size_t k, float alpha, const float *A,
                 size_t lda, const float *B, size_t ldb, float beta, float *C, size_t ldc)
{
    cblas_sgemm(CM, op(ta), op(tb), (int)m, (int)n, (int)k, alpha, A, (int)lda, B, (int)ldb, beta,
                C, (int)ldc);
}

void blas_dgemm1(bool ta, bool tb, size_t m, size_t n, size_t k, double alpha, const double *A,
                 size_t lda, const double *B, size_t ldb, double beta, double *C, size_t ldc)
{
    cblas_dgemm(CM, op(ta), op(tb), (int)m, (int)n, (int)k, alpha, A, (int)lda, B, (int)ldb, beta,
                C, (int)ldc);
}

void blas_ssyrk1(bool lower, bool trans, size_t n, size_t k, float alpha, const float *A,
                 size_t lda, float beta, float *C, size_t ldc)
{
    cblas_ssyrk(CM, lower ? CblasLower : CblasUpper, op(trans), (int)n, (int)k, alpha, A,
                (int)lda, beta, C, (int)ldc);
}

void blas_dsyrk1(bool lower, bool trans, size_t n, size_t k, double alpha, const double *A,
                 size_t lda, double beta, double *C, size_t ldc)
{
    cblas_dsyrk(CM, lower ? CblasLower : CblasUpper, op(trans), (int)n, (int)k, alpha, A,
                (int)lda, beta, C, (int)ldc);
}

void blas_sgemv1_for_tests(bool ta, size_t m, size_t n, float alpha, const float *A, size_t lda,
                           const float *x, float beta, float *y)
{
    cblas_sgemv(CM, op(ta), (int)m, (int)n, alpha, A, (int)lda, x, 1, beta, y, 1);
}

void blas_dgemv1(bool ta, size_t m, size_t n, double alpha, const double *A, size_t lda,
                 const double *x, double beta, double *y)
{
    cblas_dgemv(CM, op(ta), (int)m, (int)n, alpha, A, (int)lda, x, 1, beta, y, 1);
}

void blas_dsymv1(bool lower, size_t n, const double *A, size_t lda, const double *x, double *y)
{
    cblas_dsymv(CM, lower ? CblasLower : CblasUpper, (int)n, 1.0, A, (int)lda, x, 1, 0.0, y, 1);
}

double blas_ddot(size_t n, const double *x, const double *y)
{
    return cblas_ddot((int)n, x, 1, y, 1);
}

double blas_dnrm2(size_t n, const double *x)
{
    return cblas_dnrm2((int)n, x, 1);
}

void blas_daxpy(size_t n, double a, const double *x, double *y)
{
    cblas_daxpy((int)n, a, x, 1, y, 1);
}

void blas_dscal(size_t n, double a, double *x)
{
    cblas_dscal((int)n, a, x, 1);
}

size_t blas_potrf1(size_t n, double *A, size_t lda)
{
    const lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)n, A, (int)lda);
    return info > 0 ? (size_t)info : 0;
}

void blas_trsm1(bool right, bool trans, size_t m, size_t n, double alpha, const double *L,
                size_t ldl, double *X, size_t ldx)
{
    cblas_dtrsm(CM, right ? CblasRight : CblasLeft, CblasLower, op(trans), CblasNonUnit, (int)m,
                (int)n, alpha, L, (int)ldl, X, (int)ldx);
}

void blas_trmm1(bool trans, size_t m, size_t n, const double *L, size_t ldl, double *X, size_t ldx)
{
    cblas_dtrmm(CM, CblasLeft, CblasLower, op(trans), CblasNonUnit, (int)m, (int)n, 1.0, L,
                (int)ldl, X, (int)ldx);
}

void blas_trsv1(bool trans, size_t n, const double *L, size_t ldl, double *x)
{
    cblas_dtrsv(CM, CblasLower, op(trans), CblasNonUnit, (int)n, L, (int)ldl, x, 1);
}

void blas_trtri1(size_t n, double *L, size_t ldl)
{
    LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'L', 'N', (int)n, L, (int)ldl);
}

void blas_lauum1(size_t n, double *L, size_t ldl)
{
    LAPACKE_dlauum_work(LAPACK_COL_MAJOR, 'L', (int)n, L, (int)ldl);
}

enum status blas_finite(bool lower, size_t m, size_t n, const double *A, size_t lda,
                        struct err *err)
{
    for (size_t j = 0; j < n; j++) {
        double sum = 0.0;
        for (size_t i = lower ? j : 0; i < m; i++)
            sum += 0.0 * A[i + j * lda]; /* NaN if the entry is NaN or infinite, else 0 */
        if (sum != 0.0)
            return err_set(err, ST_RANGE, "column %zu of the matrix to decompose is not finite",
                           j + 1);
    }
    return ST_OK;
}

/* Tiled products. */

struct gemm {
    bool ta, tb;
    size_t m, n, k, lda, ldb, ldc, tm, tn, rows; /* rows: tiles along m */
    double alpha, beta;
    const double *A, *B;
    double *C;
};

static void gemm_tile(void *ctx, size_t task, size_t worker)
{
    (void)worker;
    const struct gemm *g = ctx;
    const size_t i = task % g->rows * g->tm, j = task / g->rows * g->tn;
    const size_t m = g->m - i < g->tm ? g->m - i : g->tm;
    const size_t n = g->n - j < g->tn ? g->n - j : g->tn;
    const double *A = g->A + (g->ta ? i * g->lda : i);
    const double *B = g->B + (g->tb ? j : j * g->ldb);
    double *C = g->C + i + j * g->ldc;
    if (g->n == 1 && !g->tb) /* one column: gemv reads A at the speed of memory, gemm does not */
        blas_dgemv1(g->ta, g->ta ? g->k : m, g->ta ? m : g->k, g->alpha, A, g->lda, B, g->beta, C);
    else
        blas_dgemm1(g->ta, g->tb, m, n, g->k, g->alpha, A, g->lda, B, g->ldb, g->beta, C, g->ldc);
}

/* True where 64 workers would be idle for more than a sixth of the time. */
static bool gemm_uneven(const struct gemm *g)
{
    enum { WORKERS = 64 };
    const size_t tiles = blas_tiles(g->m, g->tm) * blas_tiles(g->n, g->tn);

    return 6 * tiles < 5 * WORKERS * blas_tiles(tiles, WORKERS);
}

/* Chooses the tile from the shape alone, not from the number of threads: kernels for AVX-512 treat
 * small tiles at the edge in another way, with other bits.  512 x 512 keeps the packing of both
 * operands below 3 % of the product.  Smaller tiles are taken until every worker has something to
 * do, as long as a tile is worth its packing: a quarter of a millisecond.  Tiles of 512 x 128 are
 * 3 % faster than those of 256 x 256. */
static void gemm_shape(struct gemm *g)
{
    enum { WORTH = 1 << 23 }; /* multiply-adds of a tile */

    g->tm = 512;
    g->tn = 512;
    while (gemm_uneven(g) && (g->tm > 64 || g->tn > 64) &&
           (g->tm < g->m ? g->tm : g->m) * (g->tn < g->n ? g->tn : g->n) * g->k > WORTH) {
        if (g->n > g->tn / 2 && (g->tn > 128 || (g->tn > 64 && g->tn >= g->tm)))
            g->tn /= 2;
        else if (g->tm > 64)
            g->tm /= 2;
        else
            g->tn /= 2;
    }
    g->rows = blas_tiles(g->m, g->tm);
}

enum status blas_dgemm(struct pool *pool, bool ta, bool tb, size_t m, size_t n, size_t k,
                       double alpha, const double *A, size_t lda, const double *B, size_t ldb,
                       double beta, double *C, size_t ldc, struct err *err)
{
    enum status rc = blas_fits(m, n, k, err);
    if (rc == ST_OK)
        rc = blas_fits(lda, ldb, ldc, err);
    if (rc != ST_OK || m == 0 || n == 0)
        return rc;
    struct gemm g = { .ta = ta, .tb = tb, .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb,
                      .ldc = ldc, .alpha = alpha, .beta = beta, .A = A, .B = B, .C = C };
    gemm_shape(&g);
    pool_run(pool, g.rows * blas_tiles(n, g.tn), gemm_tile, &g);
    return ST_OK;
}

void blas_lower_tile(size_t t, size_t *i, size_t *j)
{
    size_t r = (size_t)((sqrt(8.0 * (double)t + 1.0) - 1.0) / 2.0);
    while ((r + 1) * (r + 2) / 2 <= t)
        r++;
    while (r * (r + 1) / 2 > t)
        r--;
    *i = r;
    *j = t - r * (r + 1) / 2;
}

struct gram {
    size_t m, n, lda, ldg, t, parts; /* t: edge of a tile; parts: tasks of one below the diagonal */
    const double *A;
    double *G;
};

/* Mirroring works on squares of whole cache lines and prefetches those of the next square, because
 * neighbouring entries of a row lie in different lines, often a power of two apart. */
enum { EDGE = 16 };
typedef double two __attribute__((vector_size(16), aligned(8), may_alias));

static void mirror_square(double *G, size_t ld, size_t i, size_t j)
{
    for (size_t a = 0; a < EDGE; a++)
        for (size_t line = 0; line < EDGE; line += 8) {
            __builtin_prefetch(G + (i + EDGE + a) * ld + j + line, 1);
            __builtin_prefetch(G + (j + a) * ld + i + EDGE + line);
        }
    for (size_t a = 0; a < EDGE; a += 2)
        for (size_t b = 0; b < EDGE; b += 2) {
            const two x = *(const two *)(G + (j + b) * ld + i + a),
                      y = *(const two *)(G + (j + b + 1) * ld + i + a);
            *(two *)(G + (i + a) * ld + j + b) = (two){ x[0], y[0] };
            *(two *)(G + (i + a + 1) * ld + j + b) = (two){ x[1], y[1] };
        }
}

void blas_mirror(size_t i0, size_t ni, size_t j0, size_t nj, double *G, size_t ld)
{
    for (size_t jb = j0; jb < j0 + nj; jb += EDGE)
        for (size_t ib = i0; ib < i0 + ni; ib += EDGE) {
            if (ib >= jb + EDGE && ib + EDGE <= i0 + ni && jb + EDGE <= j0 + nj) {
                mirror_square(G, ld, ib, jb);
                continue;
            }
            for (size_t i = ib; i < i0 + ni && i < ib + EDGE; i++)
                for (size_t j = jb; j < j0 + nj && j < jb + EDGE && j < i; j++)
                    G[i * ld + j] = G[j * ld + i];
        }
}

/* A tile of A'A.  Squares below the diagonal come first, usually in halves, which take as long as a
 * square on the diagonal. */
static void gram_tile(void *ctx, size_t task, size_t worker)
{
    (void)worker;
    const struct gram *g = ctx;
    const size_t squares = blas_tiles(g->n, g->t), below = squares * (squares - 1) / 2 * g->parts;
    size_t i = task - below, j = i, nj = g->t;
    if (task < below) {
        blas_lower_tile(task / g->parts, &i, &j);
        nj = g->t / g->parts;
        i = (i + 1) * g->t;
        j = j * g->t + task % g->parts * nj;
    } else {
        i *= g->t, j *= g->t;
        nj = least(nj, g->n - j);
    }
    const size_t ni = least(g->t, g->n - i);
    double *C = g->G + i + j * g->ldg;
    if (i == j)
        blas_dsyrk1(true, true, ni, g->m, 1.0, g->A + i * g->lda, g->lda, 0.0, C, g->ldg);
    else
        blas_dgemm1(true, false, ni, nj, g->m, 1.0, g->A + i * g->lda, g->lda, g->A + j * g->lda,
                    g->lda, 0.0, C, g->ldg);
    blas_mirror(i, ni, j, nj, g->G, g->ldg);
}

enum status blas_dgram(struct pool *pool, size_t m, size_t n, const double *A, size_t lda,
                       double *G, size_t ldg, struct err *err)
{
    enum status rc = blas_fits(m, n, lda > ldg ? lda : ldg, err);
    if (rc != ST_OK || n == 0)
        return rc;
    const size_t t = n >= 2048 ? 1024 : n >= 1024 ? 512 : 128, r = blas_tiles(n, t);
    /* Halves pack one factor twice, which costs 4 % at 512, and let more threads work. */
    struct gram g = { m, n, lda, ldg, t, t == 512 && m < 4 * n ? 1 : 2, A, G };
    pool_run(pool, r + r * (r - 1) / 2 * g.parts, gram_tile, &g);
    return ST_OK;
}

/* Factorisations by a backend. */

static const struct backend_dense *_Atomic elsewhere;
static _Atomic size_t elsewhere_least;

void blas_on(const struct backend_dense *d)
{
    elsewhere_least = d ? d->least() : SIZE_MAX;
    elsewhere = d;
}

const struct backend_dense *blas_elsewhere(size_t n)
{
    const struct backend_dense *d = elsewhere;

    return d && n >= elsewhere_least ? d : NULL;
}

bool blas_answered(enum status rc, struct err *err)
{
    if (rc == ST_OK || rc == ST_NOT_PD || rc == ST_CANCELLED)
        return true;
    if (rc == ST_BACKEND) /* the device is lost: do not ask it again */
        blas_on(NULL);
    err_clear(err);
    return false;
}

/* LAPACK with checked workspaces. */

static enum status lapack_failed(lapack_int info, const char *what, size_t n, struct err *err)
{
    if (info < 0)
        return err_set(err, ST_INTERNAL, "%s (n = %zu) refused its argument %d", what, n,
                       (int)-info);
    return err_set(err, ST_RANGE,
                   "%s (n = %zu) did not converge: does the matrix hold NaN or infinity?", what, n);
}

/* LAPACK answers a workspace query with a floating-point number and takes the size as an int.  The
 * formulas of dsyevd, computed here in 64 bits, serve every n that an int can describe. */
enum status blas_dsyevd(size_t n, double *A, size_t lda, double *w, bool want_vectors,
                        struct err *err)
{
    enum status rc = blas_fits(n, lda, 0, err);
    if (rc == ST_OK)
        rc = blas_finite(true, n, n, A, lda, err);
    if (rc != ST_OK || n == 0)
        return rc;
    const struct backend_dense *other = blas_elsewhere(n);
    if (other && blas_answered(rc = other->eigen(n, A, lda, w, want_vectors, err), err))
        return rc;
    const size_t lwork = want_vectors ? 1 + 6 * n + 2 * n * n : 2 * n + 1 + 64 * n;
    const size_t liwork = want_vectors ? 3 + 5 * n : 1;
    if ((rc = blas_fits(lwork, liwork, 0, err)) != ST_OK)
        return rc;
    double *work = mem_aligned(lwork, sizeof *work, "eigenproblem workspace", err);
    lapack_int *iwork = work ? mem_calloc(liwork, sizeof *iwork, "eigenproblem workspace", err)
                             : NULL;
    if (!iwork) {
        free(work);
        return ST_NOMEM;
    }
    const lapack_int info = LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, want_vectors ? 'V' : 'N', 'L',
                                                (lapack_int)n, A, (lapack_int)lda, w, work,
                                                (lapack_int)lwork, iwork, (lapack_int)liwork);
    free(work);
    free(iwork);
    return info == 0 ? ST_OK : lapack_failed(info, "the symmetric eigenproblem", n, err);
}

/* The same for some: the workspace that dsyevr would ask for is 10 n and at most 70 n numbers. */
static enum status largest(size_t n, size_t p, double *A, size_t lda, double *w, double *V,
                           size_t ldv, struct err *err)
{
    const size_t lwork = 70 * n, liwork = 10 * n;
    enum status rc = blas_fits(lwork, liwork, 0, err);
    if (rc != ST_OK)
        return rc;
    double *work = mem_aligned(lwork + n, sizeof *work, "eigenproblem workspace", err);
    lapack_int *iwork = work ? mem_calloc(liwork + 2 * p, sizeof *iwork, "eigenproblem workspace",
                                          err)
                             : NULL;
    if (!iwork) {
        free(work);
        return ST_NOMEM;
    }
    double *all = work + lwork;
    lapack_int found = 0;
    const lapack_int info =
        LAPACKE_dsyevr_work(LAPACK_COL_MAJOR, 'V', 'I', 'L', (lapack_int)n, A, (lapack_int)lda, 0.0,
                            0.0, (lapack_int)(n - p + 1), (lapack_int)n, 0.0, &found, all, V,
                            (lapack_int)ldv, iwork + liwork, work, (lapack_int)lwork, iwork,
                            (lapack_int)liwork);
    if (info == 0)
        memcpy(w, all, p * sizeof *w);
    free(work);
    free(iwork);
    return info == 0 && (size_t)found == p ? ST_OK
                                           : lapack_failed(info, "the symmetric eigenproblem", n,
                                                           err);
}

enum status blas_dsyevr(size_t n, size_t p, double *A, size_t lda, double *w, double *V,
                        size_t ldv, struct err *err)
{
    enum { FEW = 4 }; /* up to n / FEW of them take less time by themselves */

    if (p <= n / FEW && blas_elsewhere(n) == NULL) {
        enum status rc = blas_fits(n, lda, 0, err);
        if (rc == ST_OK)
            rc = blas_finite(true, n, n, A, lda, err);
        return rc != ST_OK || p == 0 ? rc : largest(n, p, A, lda, w, V, ldv, err);
    }
    double *all = mem_calloc(n + 1, sizeof *all, "eigenvalues", err);
    const enum status rc = all ? blas_dsyevd(n, A, lda, all, true, err) : ST_NOMEM;
    for (size_t j = 0; rc == ST_OK && j < p; j++) {
        w[j] = all[n - p + j];
        memcpy(V + j * ldv, A + (n - p + j) * lda, n * sizeof *V);
    }
    free(all);
    return rc;
}

enum status blas_sytrd1(size_t n, double *A, size_t lda, double *d, double *e, size_t k, double *b,
                        size_t ldb, struct err *err)
{
    /* dsytrd: n * 64; dormtr: k * 64 and the 65 x 64 block reflector. */
    const size_t lwork = 64 * (n > k ? n : k) + 65 * 64;
    const enum status rc = blas_fits(lwork, k, 0, err);
    if (rc != ST_OK)
        return rc;
    double *work = mem_aligned(lwork + n, sizeof *work, "tridiagonal reduction", err);
    if (!work)
        return ST_NOMEM;
    double *tau = work + lwork;
    lapack_int info = LAPACKE_dsytrd_work(LAPACK_COL_MAJOR, 'L', (int)n, A, (int)lda, d, e, tau,
                                          work, (int)lwork);
    if (info == 0 && k)
        info = LAPACKE_dormtr_work(LAPACK_COL_MAJOR, 'L', 'L', 'T', (int)n, (int)k, A, (int)lda,
                                   tau, b, (int)ldb, work, (int)lwork);
    free(work);
    return info == 0 ? ST_OK : lapack_failed(info, "the tridiagonal reduction", n, err);
}

enum status blas_tridiag_ends(size_t n, const double *d, const double *e, double *least,
                              double *most, struct err *err)
{
    enum status rc = blas_fits(5 * n, 0, 0, err);
    if (rc == ST_OK)
        rc = blas_finite(false, n, 1, d, n, err);
    if (rc == ST_OK && n > 1)
        rc = blas_finite(false, n - 1, 1, e, n - 1, err);
    *least = *most = NAN;
    if (rc != ST_OK || n == 0)
        return rc;
    double *work = mem_calloc(5 * n, sizeof *work, "eigenvalues", err);
    lapack_int *iwork = work ? mem_calloc(5 * n, sizeof *iwork, "eigenvalues", err) : NULL;
    lapack_int info = 0;
    for (int end = 0; iwork && info == 0 && end < 2; end++) {
        const lapack_int at = end ? (lapack_int)n : 1;
        lapack_int found = 0, blocks = 0;
        info = LAPACKE_dstebz_work('I', 'E', (lapack_int)n, 0.0, 0.0, at, at, 2.0 * DBL_MIN, d, e,
                                   &found, &blocks, work, iwork, iwork + n, work + n,
                                   iwork + 2 * n);
        *(end ? most : least) = info == 0 && found > 0 ? work[0] : NAN;
    }
    rc = !iwork ? ST_NOMEM : info ? lapack_failed(info, "the extreme eigenvalues", n, err) : ST_OK;
    free(work);
    free(iwork);
    return rc;
}

enum status blas_house_qr1(size_t m, size_t n, double *A, size_t lda, struct err *err)
{
    const size_t lwork = 64 * n + 1;
    double *work = mem_aligned(lwork + n, sizeof *work, "QR workspace", err);
    if (!work)
        return ST_NOMEM;
    double *tau = work + lwork;
    lapack_int info = LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, (int)m, (int)n, A, (int)lda, tau, work,
                                          (int)lwork);
    if (info == 0)
        info = LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, (int)m, (int)n, (int)n, A, (int)lda, tau,
                                   work, (int)lwork);
    free(work);
    return info == 0 ? ST_OK : lapack_failed(info, "the QR factorisation", n, err);
}

enum status blas_reflectors1(size_t m, size_t n, double *A, size_t lda, double *tau,
                             struct err *err)
{
    double work[64 * 64];
    assert(n <= 64);
    const lapack_int info = LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, (int)m, (int)n, A, (int)lda, tau,
                                                work, 64 * 64);
    return info == 0 ? ST_OK : lapack_failed(info, "the QR factorisation", n, err);
}

void blas_larft1(size_t m, size_t k, const double *V, size_t ldv, const double *tau, double *T,
                 size_t ldt)
{
    LAPACKE_dlarft_work(LAPACK_COL_MAJOR, 'F', 'C', (int)m, (int)k, V, (int)ldv, tau, T, (int)ldt);
    for (size_t j = 0; j < k; j++)
        for (size_t i = j + 1; i < k; i++)
            T[i + j * ldt] = 0.0;
}

double blas_larfg1(size_t n, double *alpha, double *x)
{
    double tau = 0.0;
    LAPACKE_dlarfg_work((int)n, alpha, x, 1, &tau);
    return tau;
}

void blas_dger1(size_t m, size_t n, double alpha, const double *x, const double *y, double *A,
                size_t lda)
{
    cblas_dger(CM, (int)m, (int)n, alpha, x, 1, y, 1, A, (int)lda);
}

void blas_syr21(size_t n, double alpha, const double *x, const double *y, double *A, size_t lda)
{
    cblas_dsyr2(CM, CblasLower, (int)n, alpha, x, 1, y, 1, A, (int)lda);
}

enum status blas_gesdd1(size_t m, size_t n, double *A, size_t lda, double *s, double *Vt,
                        size_t ldvt, struct err *err)
{
    /* dgesdd, JOBZ='O', m >= n: 3 n + max(m, 5 n^2 + 4 n), and room for its blocked paths. */
    const size_t square = 5 * n * n + 4 * n;
    const size_t lwork = 3 * n + (m > square ? m : square) + 64 * (m + 3 * n) + n * n;
    enum status rc = blas_fits(lwork, lda, ldvt, err);
    if (rc != ST_OK)
        return rc;
    double *work = mem_aligned(lwork, sizeof *work, "SVD workspace", err);
    lapack_int *iwork = work ? mem_calloc(8 * n, sizeof *iwork, "SVD workspace", err) : NULL;
    if (!iwork) {
        free(work);
        return ST_NOMEM;
    }
    double unused;
    const lapack_int info = LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'O', (int)m, (int)n, A, (int)lda,
                                                s, &unused, 1, Vt, (int)ldvt, work, (int)lwork,
                                                iwork);
    free(work);
    free(iwork);
    return info == 0 ? ST_OK : lapack_failed(info, "the singular value decomposition", n, err);
}
