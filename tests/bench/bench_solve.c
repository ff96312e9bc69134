/* tests/bench/bench_solve.c -- dense algebra against the bare LAPACK call, and a Nystrom build with
 * its solve, in parts.  One JSON object per line.
 *
 *   bench_solve dense N...            each factorisation at these sizes
 *   bench_solve nystrom ROWS M RANK   RBF features of 8 uniform inputs */
#include "compute/blas.h"
#include "compute/featmap.h"
#include "compute/fop.h"
#include "compute/precond.h"
#include "compute/rng.h"
#include "compute/solver.h"

#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* CPU seconds of all threads: what a busy machine leaves comparable. */
static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *memory(size_t doubles)
{
    void *p = aligned_alloc(64, (doubles * sizeof(double) + 63) / 64 * 64);
    if (!p) {
        fprintf(stderr, "bench_solve: out of memory\n");
        exit(1);
    }
    return p;
}

static void must(enum status rc, const struct err *err)
{
    if (rc == ST_OK)
        return;
    fprintf(stderr, "bench_solve: %s\n", err->msg);
    exit(1);
}

/* ---- dense ------------------------------------------------------------------------------------ */

static double *spd(size_t n)
{
    double *A = memory(n * n);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            A[i + j * n] = (i == j ? 4.0 : 0.0) +
                           1.0 / (1.0 + 0.1 * fabs((double)i - (double)j));
    return A;
}

static double factor(struct pool *pool, size_t n, double *A)
{
    struct err err;
    const double t = seconds();
    must(blas_dpotrf(pool, n, A, n, NULL, NULL, &err), &err);
    return seconds() - t;
}

static double factor_bare(size_t n, double *A)
{
    const double t = seconds();
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)n, A, (int)n) != 0)
        exit(1);
    return seconds() - t;
}

static double invert(struct pool *pool, size_t n, double *A)
{
    struct err err;
    const double t = seconds();
    must(blas_dpotri(pool, n, A, n, &err), &err);
    return seconds() - t;
}

static double invert_bare(size_t n, double *A)
{
    const double t = seconds();
    if (LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', (int)n, A, (int)n) != 0)
        exit(1);
    return seconds() - t;
}

static double eigen(size_t n, double *A, double *w, bool vectors)
{
    struct err err;
    const double t = seconds();
    must(blas_dsyevd(n, A, n, w, vectors, &err), &err);
    return seconds() - t;
}

static double tridiagonal(struct pool *pool, size_t n, double *A, double *w)
{
    struct err err;
    double *b = w + 2 * n;
    for (size_t i = 0; i < n; i++)
        b[i] = 1.0;
    const double t = seconds();
    must(blas_tridiag(pool, n, A, n, w, w + n, 1, b, n, &err), &err);
    return seconds() - t;
}

static double tridiagonal_bare(size_t n, double *A, double *w)
{
    double *work = memory(64 * n);
    const double t = seconds();
    LAPACKE_dsytrd_work(LAPACK_COL_MAJOR, 'L', (int)n, A, (int)n, w, w + n, w + 2 * n, work,
                        64 * (int)n);
    const double used = seconds() - t;
    free(work);
    return used;
}

static void report(const char *step, size_t n, size_t threads, double ours, double bare,
                   double flops)
{
    printf("{\"step\":\"%s\",\"n\":%zu,\"threads\":%zu,\"seconds\":%.4f,\"bare\":%.4f,"
           "\"ratio\":%.3f,\"gflops\":%.1f}\n", step, n, threads, ours, bare, ours / bare,
           flops / ours * 1e-9);
    fflush(stdout);
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static void dense(size_t n, size_t cores)
{
    double *S = spd(n), *A = memory(n * n), *w = memory(4 * n);
    const double n3 = (double)n * (double)n * (double)n;
    double potrf = INFINITY, potri = INFINITY, trd = INFINITY, evd = INFINITY, bare;
    for (int r = 0; r < 3; r++) {
        memcpy(A, S, n * n * sizeof *A);
        potrf = least(potrf, factor_bare(n, A));
        potri = least(potri, invert_bare(n, A));
        memcpy(A, S, n * n * sizeof *A);
        trd = least(trd, tridiagonal_bare(n, A, w));
    }
    for (size_t threads = 1; threads <= cores; threads++) {
        struct pool *pool = pool_new(threads, NULL);
        double f = INFINITY, i = INFINITY, t = INFINITY;
        for (int r = 0; r < 3; r++) {
            memcpy(A, S, n * n * sizeof *A);
            f = least(f, factor(pool, n, A));
            i = least(i, invert(pool, n, A));
            memcpy(A, S, n * n * sizeof *A);
            t = least(t, tridiagonal(pool, n, A, w));
        }
        report("dpotrf", n, threads, f, potrf, n3 / 3.0);
        report("dpotri", n, threads, i, potri, n3 * 2.0 / 3.0);
        report("tridiag", n, threads, t, trd, n3 * 4.0 / 3.0);
        pool_free(pool);
    }
    memcpy(A, S, n * n * sizeof *A);
    bare = eigen(n, A, w, false);
    memcpy(A, S, n * n * sizeof *A);
    evd = eigen(n, A, w, true);
    report("dsyevd", n, 1, evd, bare, n3 * 9.0);
    free(S), free(A), free(w);
}

/* ---- Nystrom ---------------------------------------------------------------------------------- */

static struct {
    double sketch, sketch_cpu, last, last_cpu;
} clock_of;

static void listen(void *ctx, const struct tick *t)
{
    (void)ctx;
    if (strcmp(t->phase, "sketch") != 0)
        return;
    if (t->done == 0) {
        clock_of.last = seconds();
        clock_of.last_cpu = cpu();
    } else if (t->done == t->total) {
        clock_of.sketch += seconds() - clock_of.last;
        clock_of.sketch_cpu += cpu() - clock_of.last_cpu;
    }
}

static void nystrom(size_t n, size_t M, size_t rank, size_t threads)
{
    struct err err = { 0 };
    struct pool *pool = pool_new(threads, &err);
    double *x = memory(n * 8), *b = memory(M), *w = memory(M), *y = memory(n), hp[KERNEL_MAX_HP];
    struct kernel kernel;
    struct source_array src;
    for (size_t i = 0; i < n * 8; i++)
        x[i] = 3.46 * rng_uniform(1, rng_stream(RNG_TEST, 0), i) - 1.73;
    for (size_t i = 0; i < n; i++)
        y[i] = sin(x[i * 8] * 2.0) + x[i * 8 + 1] * x[i * 8 + 2] +
               0.1 * rng_normal(1, rng_stream(RNG_TEST, 1), i);
    source_array_init(&src, x, n, 8, 8);
    must(kernel_parse("rbf", &kernel, hp, &err), &err);
    struct featmap *fm = featmap_new(&kernel, 8, M, 7, &err);
    const struct fop_opts o = { .pool = pool, .precision = PREC_FLOAT };
    struct fop *f = fm ? fop_new(backend_cpu(), fm, &src.base, &o, &err) : NULL;
    must(f ? ST_OK : err.code, &err);
    hp[0] = 2.0;
    must(fop_set(f, hp, &err), &err);
    must(fop_ztv(f, 1, y, b, NULL, &err), &err);
    const struct ctl ctl = { .tick = listen };
    static const char *const names[] = { "gauss", "srht", "srht2" };
    for (size_t q = 0; q < 3; q++) {
        const struct precond_opts po = { .rank = rank, .seed = 7 };
        const double lam2 = 0.005;
        struct precond *p;
        struct solve_info info;
        clock_of.sketch = clock_of.sketch_cpu = 0.0;
        double t = seconds(), c = cpu();
        must(precond_find(names[q], &err)->build(f, &po, &ctl, &p, &err), &err);
        const double build = seconds() - t, build_cpu = cpu() - c;
        precond_set_noise(p, lam2);
        const struct solve_opts so = { .rtol = 1e-6, .maxit = 300, .pre = p };
        t = seconds();
        c = cpu();
        must(solver_find("pcg", &err)->solve(f, lam2, 1, b, w, &so, NULL, &info, &err), &err);
        t = seconds() - t;
        c = cpu() - c;
        printf("{\"precond\":\"%s\",\"rows\":%zu,\"features\":%zu,\"rank\":%zu,\"threads\":%zu,"
               "\"build\":%.2f,\"sketch\":%.2f,\"build_cpu\":%.2f,\"sketch_cpu\":%.2f,\"ratio\":%.3g,\"ev1\":%.4g,"
               "\"solve\":%.2f,\"solve_cpu\":%.2f,\"iterations\":%zu,\"outcome\":\"%s\",\"true\":%.2e,\"drift\":%.2f,"
               "\"replaced\":%zu}\n", names[q], n, M, rank, threads, build, clock_of.sketch,
               build_cpu, clock_of.sketch_cpu, precond_ratio(p), precond_eigenvalues(p)[0], t, c,
               info.iterations, outcome_name(info.why), info.true_residual, info.drift,
               info.replaced);
        fflush(stdout);
        solve_info_free(&info);
        precond_free(p);
    }
    fop_free(f);
    featmap_free(fm);
    pool_free(pool);
    free(x), free(b), free(w), free(y);
}

static size_t number(const char *s)
{
    return (size_t)strtoull(s, NULL, 10);
}

int main(int argc, char **argv)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t cores = online > 0 ? (size_t)online : 1;
    blas_init();
    printf("{\"blas\":\"%s\"}\n", blas_describe());
    if (argc == 5 && strcmp(argv[1], "nystrom") == 0) {
        nystrom(number(argv[2]), number(argv[3]), number(argv[4]), cores);
        return 0;
    }
    if (argc < 3 || strcmp(argv[1], "dense") != 0) {
        fprintf(stderr, "usage: bench_solve dense N... | nystrom ROWS M RANK\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        dense(number(argv[i]), cores);
    return 0;
}
