/* tests/bench/bench_solve.c -- dense algebra against the bare LAPACK call, and a Nystrom build with
 * its solve, in parts.
 *
 *   bench_solve dense N...            each factorisation at these sizes
 *   bench_solve exact N               an exact GP of N rows, fit and predict N, in parts
 *   bench_solve nystrom ROWS M RANK   RBF features of 8 uniform inputs: one JSON object per line */
#include "report.h"

#include "compute/backend.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/features/featmap.h"
#include "compute/features/fop.h"
#include "compute/preconds/precond.h"
#include "compute/rng.h"
#include "compute/solvers/solver.h"

#include <cblas.h>
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

/* Dense. */

struct system {
    size_t n, k;
    const double *S; /* positive definite */
    double *A, *w, *b, *bb;
    struct pool *pool;
};

static double *spd(size_t n)
{
    double *A = memory(n * n);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            A[i + j * n] = (i == j ? 4.0 : 0.0) +
                           1.0 / (1.0 + 0.1 * fabs((double)i - (double)j));
    return A;
}

static void fresh(const struct system *s)
{
    memcpy(s->A, s->S, s->n * s->n * sizeof *s->A);
}

/* Every job starts from its own copy of the matrix: the copy is in the time of both. */
static void run_factor(void *ctx)
{
    const struct system *s = ctx;
    struct err err;
    fresh(s);
    must(blas_dpotrf(s->pool, s->n, s->A, s->n, NULL, NULL, &err), &err);
}

static void run_factor_bare(void *ctx)
{
    const struct system *s = ctx;
    fresh(s);
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)s->n, s->A, (int)s->n) != 0)
        report_die("dpotrf");
}

/* Of the factor that is in S. */
static void run_invert(void *ctx)
{
    const struct system *s = ctx;
    struct err err;
    fresh(s);
    must(blas_dpotri(s->pool, s->n, s->A, s->n, &err), &err);
}

static void run_invert_bare(void *ctx)
{
    const struct system *s = ctx;
    fresh(s);
    if (LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', (int)s->n, s->A, (int)s->n) != 0)
        report_die("dpotri");
}

static void run_solve(void *ctx)
{
    const struct system *s = ctx;
    struct err err;
    memcpy(s->bb, s->b, s->n * s->k * sizeof *s->b);
    must(blas_dtrsm(s->pool, false, s->n, s->k, s->S, s->n, s->bb, s->n, &err), &err);
}

static void run_solve_bare(void *ctx)
{
    const struct system *s = ctx;
    memcpy(s->bb, s->b, s->n * s->k * sizeof *s->b);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)s->n,
                (int)s->k, 1.0, s->S, (int)s->n, s->bb, (int)s->n);
}

static void run_tridiag(void *ctx)
{
    const struct system *s = ctx;
    struct err err;
    double *b = s->w + 2 * s->n;
    for (size_t i = 0; i < s->n; i++)
        b[i] = 1.0;
    fresh(s);
    must(blas_tridiag(s->pool, s->n, s->A, s->n, s->w, s->w + s->n, 1, b, s->n, &err), &err);
}

static void run_tridiag_bare(void *ctx)
{
    const struct system *s = ctx;
    double *work = memory(64 * s->n);
    fresh(s);
    LAPACKE_dsytrd_work(LAPACK_COL_MAJOR, 'L', (int)s->n, s->A, (int)s->n, s->w, s->w + s->n,
                        s->w + 2 * s->n, work, 64 * (int)s->n);
    free(work);
}

static void run_gram(void *ctx)
{
    const struct system *s = ctx;
    struct err err;
    must(blas_dgram(s->pool, s->n, s->n, s->S, s->n, s->A, s->n, &err), &err);
}

static void run_gram_bare(void *ctx)
{
    const struct system *s = ctx;
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (int)s->n, (int)s->n, 1.0, s->S, (int)s->n,
                0.0, s->A, (int)s->n);
}

/* The same work: one triangle is not what A'A is asked for. */
static void run_gram_filled(void *ctx)
{
    const struct system *s = ctx;
    run_gram_bare(ctx);
    blas_mirror(0, s->n, 0, s->n, s->A, s->n);
}

static void step(const char *name, const char *call, struct system *s, size_t cores, double flops,
                 double fma, void (*ours)(void *), void (*bare)(void *))
{
    char what[80];
    double t[2];
    s->pool = NULL;
    report_times(REPORT_THREAD, 2, (struct report_job[]){ { ours, s }, { bare, s } }, t);
    snprintf(what, sizeof what, "%s, n=%zu", name, s->n);
    report_row(&(struct report_row){.section = "dense",
                                    .what = what,
                                    .value = t[0] * 1e3,
                                    .unit = "ms",
                                    .baseline = t[1] * 1e3,
                                    .baseline_name = call,
                                    .sense = REPORT_LONGER,
                                    .floor = 1.1,
                                    .goal = 1.03,
                                    .rate = 1e-9 * flops / t[0],
                                    .rate_unit = "GFLOP/s",
                                    .limit = fma,
                                    .limit_name = "fused multiply-adds in registers"});
    if (cores < 2)
        return;
    struct system many = *s;
    many.pool = pool_new(cores, NULL);
    report_times(REPORT_WALL, 2, (struct report_job[]){ { ours, &many }, { bare, s } }, t);
    snprintf(what, sizeof what, "the same, %zu threads, wall time", cores);
    report_row(&(struct report_row){ .section = "dense", .what = what, .threads = cores,
        .value = t[0] * 1e3, .unit = "ms", .baseline = t[1] * 1e3, .baseline_name = call,
        .sense = REPORT_FASTER, .rate = 1e-9 * flops / t[0], .rate_unit = "GFLOP/s",
        .limit = (double)cores * fma, .limit_name = "fused multiply-adds in registers" });
    pool_free(many.pool);
}

static void dense(size_t n, size_t cores)
{
    double *S = spd(n), *L = spd(n);
    struct system s = { .n = n, .k = 256, .S = S, .A = memory(n * n), .w = memory(4 * n),
                        .b = memory(256 * n), .bb = memory(256 * n) };
    const double n3 = (double)n * (double)n * (double)n, fma = report_fma(true);
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)n, L, (int)n) != 0)
        report_die("dpotrf");
    for (size_t i = 0; i < 256 * n; i++)
        s.b[i] = 1.0 / (double)(1 + i % 97);
    step("Cholesky factor", "dpotrf", &s, cores, n3 / 3.0, fma, run_factor, run_factor_bare);
    step("product A'A", "dsyrk", &s, cores, n3, fma, run_gram, run_gram_bare);
    step("product A'A again", "dsyrk, triangle copied", &s, cores, n3, fma, run_gram,
         run_gram_filled);
    if (n <= 2048)
        step("tridiagonal reduction", "dsytrd", &s, cores, n3 * 4.0 / 3.0, fma, run_tridiag,
             run_tridiag_bare);
    s.S = L;
    step("inverse from the factor", "dpotri", &s, cores, n3 * 2.0 / 3.0, fma, run_invert,
         run_invert_bare);
    step("256 triangular solves", "dtrsm", &s, cores, 256.0 * (double)n * (double)n, fma, run_solve,
         run_solve_bare);
    free(S), free(L), free(s.A), free(s.w), free(s.b), free(s.bb);
}

/* Exact GP. */

struct gp {
    size_t n, d;
    double *X, *Xt, *y, *K, *C, *mean, *w, hp[KERNEL_MAX_HP];
    struct kernel k;
};

static void run_gp_matrix(void *ctx)
{
    struct gp *g = ctx;
    struct err err;
    must(
        exact_matrix(&(struct exact_rows){.k = &g->k, .hp = g->hp, .X = g->X, .n = g->n, .d = g->d},
                     0.01, g->K, NULL, &err),
        &err);
}

/* Fit and predict: matrix, factor, weights, cross-covariances in parts, means. */
static void run_gp(void *ctx)
{
    enum { PART = 256 };
    struct gp *g = ctx;
    struct err err;
    run_gp_matrix(g);
    must(blas_dpotrf(NULL, g->n, g->K, g->n, NULL, NULL, &err), &err);
    memcpy(g->w, g->y, g->n * sizeof *g->w);
    must(blas_dtrsm(NULL, false, g->n, 1, g->K, g->n, g->w, g->n, &err), &err);
    must(blas_dtrsm(NULL, true, g->n, 1, g->K, g->n, g->w, g->n, &err), &err);
    for (size_t i = 0; i < g->n; i += PART) {
        const size_t m = g->n - i < PART ? g->n - i : PART;
        exact_cross(&(struct exact_rows){.k = &g->k, .hp = g->hp, .X = g->X, .n = g->n, .d = g->d},
                    g->Xt + i * g->d, m, g->C);
        blas_dgemv1(true, g->n, m, 1.0, g->C, g->n, g->w, 0.0, g->mean + i);
    }
}

static void run_gp_factor(void *ctx)
{
    struct gp *g = ctx;
    run_gp_matrix(g);
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)g->n, g->K, (int)g->n) != 0)
        report_die("dpotrf");
}

static void exact(size_t n)
{
    struct gp g = { .n = n, .d = 8, .X = memory(n * 8), .Xt = memory(n * 8), .y = memory(n),
                    .K = memory(n * n), .C = memory(n * 256), .mean = memory(n), .w = memory(n) };
    struct err err;
    char what[80];
    double t[3];
    must(kernel_parse("rbf", &g.k, g.hp, &err), &err);
    g.hp[0] = 1.9;
    for (size_t i = 0; i < n * 8; i++) {
        g.X[i] = 3.46 * rng_uniform(1, rng_stream(RNG_TEST, 0), i) - 1.73;
        g.Xt[i] = 3.46 * rng_uniform(1, rng_stream(RNG_TEST, 2), i) - 1.73;
    }
    for (size_t i = 0; i < n; i++)
        g.y[i] = sin(2.0 * g.X[i * 8]) + g.X[i * 8 + 1] * g.X[i * 8 + 2];
    report_rounds = 3;
    report_times(REPORT_THREAD, 3, (struct report_job[]){ { run_gp, &g }, { run_gp_matrix, &g },
                                                  { run_gp_factor, &g } }, t);
    snprintf(what, sizeof what, "exact GP, n=%zu: fit, predict %zu", n, n);
    report_row(&(struct report_row){ .section = "exact", .what = what, .value = t[0], .unit = "s",
        .baseline = n == 4000 ? 3.84 : 0.0, .baseline_name = "scikit-learn 1.2", .published = true,
        .sense = REPORT_FASTER, .floor = n == 4000 ? 3.0 : 0.0, .goal = n == 4000 ? 5.0 : 0.0 });
    report_row(&(struct report_row){ .section = "exact", .what = "the same beside its bare factor",
        .value = t[0], .unit = "s", .baseline = t[2] - t[1], .baseline_name = "dpotrf",
        .sense = REPORT_LONGER });
    report_row(&(struct report_row){ .section = "exact", .what = "its kernel matrix alone",
        .value = t[1], .unit = "s", .rate = 0.5e-9 * (double)n * (double)n / t[1],
        .rate_unit = "Gpair/s" });
    free(g.X), free(g.Xt), free(g.y), free(g.K), free(g.C), free(g.mean), free(g.w);
}

/* Nystrom. */

static struct {
    double sketch, sketch_cpu, last, last_cpu;
} clock_of;

static void listen(void *ctx, const struct tick *t)
{
    (void)ctx;
    if (t->phase != PHASE_SKETCH)
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
        must(precond_find(names[q], &err)->build(SOLVE_RIDGE(f, 0.0), &po, &ctl, &p, &err), &err);
        const double build = seconds() - t, build_cpu = cpu() - c;
        precond_set_noise(p, lam2);
        const struct solve_opts so = { .rtol = 1e-6, .maxit = 300, .pre = p };
        t = seconds();
        c = cpu();
        must(solver_find("pcg", &err)
                 ->solve(SOLVE_RIDGE(f, lam2), 1, b, w, &so, NULL, &info, &err),
             &err);
        t = seconds() - t;
        c = cpu() - c;
        printf("{\"precond\":\"%s\",\"rows\":%zu,\"features\":%zu,\"rank\":%zu,\"threads\":%zu,"
               "\"build\":%.2f,\"sketch\":%.2f,\"build_cpu\":%.2f,\"sketch_cpu\":%.2f,\"ratio\":%."
               "3g,\"ev1\":%.4g,"
               "\"solve\":%.2f,\"solve_cpu\":%.2f,\"iterations\":%zu,\"outcome\":\"%s\",\"true\":%."
               "2e,\"drift\":%.2f,"
               "\"replaced\":%zu}\n",
               names[q], n, M, rank, threads, build, clock_of.sketch, build_cpu,
               clock_of.sketch_cpu, precond_ratio(p), precond_eigenvalues(p)[0], t, c,
               info.iterations, solve_outcome(info.why), info.true_residual, info.drift,
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
    report_open(NULL);
    if (argc == 3 && strcmp(argv[1], "exact") == 0) {
        exact(number(argv[2]));
        return report_close();
    }
    if (argc == 5 && strcmp(argv[1], "nystrom") == 0) {
        nystrom(number(argv[2]), number(argv[3]), number(argv[4]), cores);
        return 0;
    }
    if (argc < 3 || strcmp(argv[1], "dense") != 0) {
        fprintf(stderr, "usage: bench_solve dense N... | exact N | nystrom ROWS M RANK\n");
        return 2;
    }
    report_rounds = 3;
    for (int i = 2; i < argc; i++)
        dense(number(argv[i]), cores);
    return report_close();
}
