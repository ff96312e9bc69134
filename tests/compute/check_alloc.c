/* tests/compute/check_alloc.c -- iterations ask for no memory: a solve of three times as many of
 * them asks as often as the shorter one.  Counted are all requests of our own code, wrapped by the
 * linker (features.mk), whichever thread makes them.  What is asked for before is touched first by
 * the thread that works in it, and stays. */
#include "compute/linalg/blas.h"
#include "compute/models/model.h"
#include "compute/rng.h"
#include "compute/solvers/solver.h"

#include "support.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static atomic_size_t asked;
static size_t fail_at; /* the request that fails, counted by `asked`; 0: none */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
int __real_posix_memalign(void **p, size_t align, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
int __wrap_posix_memalign(void **p, size_t align, size_t n);

static bool fails(void)
{
    return ++asked == fail_at;
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
    return fails() ? NULL : __real_aligned_alloc(align, n);
}

int __wrap_posix_memalign(void **p, size_t align, size_t n)
{
    return fails() ? ENOMEM : __real_posix_memalign(p, align, n);
}

enum { N = 700, D_IN = 5, M = 512, K = 2, SHORT = 8, LONG = 24, THREADS = 3 };

struct data { double *X, *B, *x, hp[KERNEL_MAX_HP]; struct source_array src; struct pool *pool; };

static void data_new(struct data *t)
{
    t->X = malloc(N * D_IN * sizeof *t->X);
    t->B = malloc(2 * K * M * sizeof *t->B);
    t->x = t->B + K * M;
    for (size_t i = 0; i < N * D_IN; i++)
        t->X[i] = rng_normal(1, rng_stream(RNG_TEST, 60), i);
    for (size_t i = 0; i < K * M; i++)
        t->B[i] = rng_normal(1, rng_stream(RNG_TEST, 61), i);
    for (size_t i = 0; i < KERNEL_MAX_HP; i++)
        t->hp[i] = 1.5;
    source_array_init(&t->src, t->X, N, D_IN, D_IN);
    t->pool = pool_new(THREADS, NULL);
}

static void data_free(struct data *t)
{
    pool_free(t->pool);
    free(t->X);
    free(t->B);
}

/* Requests of a solve of so many iterations, a fresh operator each time. */
static size_t requests(struct data *t, const char *kernel, const struct solver_ops *ops,
                       const char *pre, struct fop_opts o, size_t k, size_t iterations)
{
    struct kernel kern;
    struct precond *p = NULL;
    struct solve_info info[K];

    ck_assert(kernel_parse(kernel, &kern, NULL, NULL) == ST_OK);
    struct featmap *fm = featmap_new(&kern, D_IN, M, 5, NULL);
    o.pool = t->pool;
    struct fop *f = fop_new(backend_cpu(), fm, &t->src.base, &o, NULL);
    ck_assert_ptr_nonnull(f);
    ck_assert(fop_set(f, t->hp, NULL) == ST_OK);
    const struct precond_opts po = { .rank = 20, .seed = 3 };
    ck_assert(precond_find(pre, NULL)->build(SOLVE_RIDGE(f, 0.0), &po, NULL, &p, NULL) == ST_OK);
    precond_set_noise(p, 1e-6);
    const size_t before = asked;
    const struct solve_opts so = { .rtol = 1e-15, .maxit = iterations, .check_every = 5, .pre = p };
    ck_assert(ops->solve(SOLVE_RIDGE(f, 1e-6), k, t->B, t->x, &so, NULL, info, NULL) == ST_OK);
    const size_t n = asked - before;
    ck_assert_uint_gt(n, 0);
    for (size_t i = 0; i < k; i++) {
        ck_assert_msg(info[i].iterations == iterations, "%s, %s, %s: %zu iterations of %zu", kernel,
                      ops->name, pre, info[i].iterations, iterations);
        solve_info_free(&info[i]);
    }
    precond_free(p);
    fop_free(f);
    featmap_free(fm);
    return n;
}

static void compare(struct data *t, const char *kernel, const struct solver_ops *ops,
                    const char *pre, struct fop_opts o, size_t k)
{
    const size_t few = requests(t, kernel, ops, pre, o, k, SHORT),
                 many = requests(t, kernel, ops, pre, o, k, LONG);

    /* Each thread makes itself a workspace when it first meets a batch: when that is, is chance. */
    ck_assert_msg(many < few + THREADS && few < many + THREADS,
                  "%s, %s, %s%s%s%s, %zu: %zu requests in %d iterations, %zu in %d", kernel,
                  ops->name, pre, o.store ? ", stored" : "", o.half ? " in float16" : "",
                  o.precision == PREC_DOUBLE ? ", double" : "", k, few, SHORT, many, LONG);
}

/* Every solver that iterates, over features made anew and stored, in both precisions. */
START_TEST(iterations_ask_for_nothing)
{
    static const char *const kernels[] = { "rbf", "rbf + linear", "arccos", "poly(degree=3)" };
    struct data t;

    data_new(&t);
    for (size_t i = 0; solver_at(i); i++) {
        const struct solver_ops *ops = solver_at(i);
        const char *pre = ops->uses_precond ? "srht" : "none";
        if (!ops->iterative || ops->dual)
            continue;
        for (size_t q = 0; q < sizeof kernels / sizeof kernels[0]; q++)
            compare(&t, kernels[q], ops, pre, (struct fop_opts){ .store = q % 2 == 1 }, 1);
        compare(&t, "rbf", ops, pre, (struct fop_opts){ .store = true }, K);
        compare(&t, "rbf", ops, pre, (struct fop_opts){ .precision = PREC_DOUBLE }, K);
        if (ops->corrects)
            compare(&t, "rbf", ops, pre, (struct fop_opts){ .store = true, .half = true }, 1);
    }
    data_free(&t);
}
END_TEST

/* Requests of passes with 1, 3 and 17 right-hand sides and of their halves once a pass with 17 has
 * been; rows likewise. */
static size_t pass_requests(struct fop *f, double *P, double *T, float *z)
{
    static const size_t ks[] = { 1, 3, 17 };
    bool ok = fop_pass(f, 17, P, P + 17 * M, NULL, NULL) == ST_OK &&
              fop_tile(f, 0, 100, z, M, NULL) == ST_OK;
    const size_t before = asked; /* an assertion asks for memory, too */

    for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++) {
        ok &= fop_pass(f, ks[i], P, P + 17 * M, NULL, NULL) == ST_OK;
        ok &= fop_zp(f, ks[i], P, T, NULL, NULL) == ST_OK;
        ok &= fop_ztv(f, ks[i], T, P + 17 * M, NULL, NULL) == ST_OK;
    }
    ok &= fop_tile(f, 50, 200, z, M, NULL) == ST_OK;
    const size_t made = asked - before;
    ck_assert(ok);
    return made;
}

/* And passes themselves, once their workspace is there. */
START_TEST(passes_ask_for_nothing)
{
    struct data t;
    struct kernel kern;

    data_new(&t);
    ck_assert(kernel_parse("matern(nu=3/2)", &kern, NULL, NULL) == ST_OK);
    struct featmap *fm = featmap_new(&kern, D_IN, M, 5, NULL);
    double *P = calloc(2 * 17 * M, sizeof *P), *T = calloc(17 * N, sizeof *T);
    float *z = calloc(N * M, sizeof *z);
    for (int store = 0; store < 2; store++) {
        const struct fop_opts o = { .pool = t.pool, .store = store == 1 };
        struct fop *f = fop_new(backend_cpu(), fm, &t.src.base, &o, NULL);
        ck_assert(fop_set(f, t.hp, NULL) == ST_OK);
        ck_assert_uint_eq(pass_requests(f, P, T, z), 0);
        fop_free(f);
    }
    free(P);
    free(T);
    free(z);
    featmap_free(fm);
    data_free(&t);
}
END_TEST

/* Sequences and graphs. */

enum { POSITIONS = 30, LETTERS = 5, FLAT = 2, SEQ_D = FLAT + 1 + POSITIONS * LETTERS };

/* After FLAT numbers up to POSITIONS letters, or as many vectors. */
static void sequences_new(struct data *t, bool symbols)
{
    const size_t per = symbols ? 1 : LETTERS, d = FLAT + 1 + POSITIONS * per;

    data_new(t);
    free(t->X);
    t->X = calloc(N * d, sizeof *t->X);
    for (size_t i = 0; i < N; i++) {
        double *x = t->X + i * d;
        for (size_t j = 0; j < FLAT; j++)
            x[j] = rng_normal(1, rng_stream(RNG_TEST, 62), i * FLAT + j);
        x[FLAT] = (double)(POSITIONS - rng_below(1, rng_stream(RNG_TEST, 63), i, 20));
        for (size_t p = 0; p < POSITIONS * per; p++)
            x[FLAT + 1 + p] =
                symbols ? (double)rng_below(1, rng_stream(RNG_TEST, 64), i * POSITIONS + p, LETTERS)
                        : rng_normal(1, rng_stream(RNG_TEST, 65), i * SEQ_D + p);
    }
    source_array_init(&t->src, t->X, N, d, d);
    t->src.base.layout = (struct row_layout){
        .flat = FLAT, .nparts = 1, .part = { { symbols ? ROWS_SYMBOLS : ROWS_VECTORS, LETTERS, 0 } }
    };
}

static const char *const windowed[] = {
    "conv(rbf,width=4)",
    "conv(cauchy,width=3)",
    "convdense(rbf,width=5)",
    "convdense(cauchy,width=3)",
    "graph(rbf)",
    "graphpoly(degree=2)",
    "conv(matern(nu=5/2),width=4) * rbf(inputs=1:2)",
    "convdense(matern(nu=1/2),width=2) * linear(inputs=1:1) + conv(rbf,width=1) + rbf(inputs=1:2)",
};

START_TEST(windows_ask_for_nothing)
{
    const bool graph = strncmp(windowed[_i], "graph", 5) == 0;
    double *P = calloc(2 * 17 * M, sizeof *P), *T = calloc(17 * N, sizeof *T);
    float *z = calloc(N * M, sizeof *z);
    struct kernel kern;
    struct data t;
    struct err err = { 0 };

    sequences_new(&t, !graph && _i % 2 == 0);
    ck_assert_msg(kernel_parse(windowed[_i], &kern, NULL, &err) == ST_OK, "%s", err.msg);
    ck_assert_msg(kernel_bind_rows(&kern, &t.src.base.layout, NULL, &err) == ST_OK, "%s", err.msg);
    struct featmap *fm = featmap_new(&kern, t.src.base.d, M, 5, &err);
    ck_assert_msg(fm != NULL, "%s", err.msg);
    for (int how = 0; how < 3; how++) {
        const struct fop_opts o = { .pool = t.pool, .store = how == 1,
                                    .precision = how == 2 ? PREC_DOUBLE : PREC_FLOAT };
        struct fop *f = fop_new(backend_cpu(), fm, &t.src.base, &o, &err);
        ck_assert_msg(f && fop_set(f, t.hp, &err) == ST_OK, "%s: %s", windowed[_i], err.msg);
        /* Rows in double mode are rounded one by one. */
        const size_t n = pass_requests(f, P, T, z);
        ck_assert_msg(n == (how == 2 ? 1 : 0), "%s, %s: %zu requests", windowed[_i],
                      how == 0 ? "made anew" : how == 1 ? "stored" : "double", n);
        fop_free(f);
    }
    free(P);
    free(T);
    free(z);
    featmap_free(fm);
    data_free(&t);
}
END_TEST

/* First touch. */

/* Features of 64 MB; a group of rows is as large as a huge page. */
enum { TOUCH_ROWS = 4096, TOUCH_COLS = 4096, TOUCH_THREADS = 2 };

static struct { pthread_barrier_t all; atomic_size_t threads; long faults[TOUCH_THREADS]; } touch;

static long thread_faults(void)
{
    struct rusage u;

    ck_assert_int_eq(getrusage(RUSAGE_THREAD, &u), 0);
    return u.ru_minflt;
}

static size_t resident(void)
{
    size_t all, here = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    ck_assert(f && fscanf(f, "%zu %zu", &all, &here) == 2);
    fclose(f);
    return here * (size_t)sysconf(_SC_PAGESIZE);
}

/* A thread's first rows wait until every thread has some; pages that it touches from then on count.
 */
static enum status touch_rows(const struct source *s, size_t r0, size_t r1, double *x,
                              struct err *err)
{
    static _Thread_local size_t me;
    static _Thread_local long before;

    if (me == 0) {
        me = ++touch.threads;
        pthread_barrier_wait(&touch.all);
        before = thread_faults();
    }
    touch.faults[me - 1] = thread_faults() - before;
    const struct source_array *a = s->ctx;
    return a->base.rows(&a->base, r0, r1, x, err);
}

/* Opening an operator touches nothing of what it keeps; the first pass does, each thread its own;
 * the second finds all of it. */
START_TEST(who_works_touches_first)
{
#ifdef SUPPORT_SANITIZED
    return; /* has pages of its own */
#endif
    const size_t bytes = (size_t)TOUCH_ROWS * TOUCH_COLS * sizeof(float), some = bytes / 8;
    double *X = calloc(TOUCH_ROWS, sizeof *X), *P = calloc(2 * TOUCH_COLS, sizeof *P),
           hp[KERNEL_MAX_HP] = {1.0, 1.0};
    struct source_array array;
    struct kernel kern;
    struct err err = { 0 };

    for (size_t i = 0; i < TOUCH_ROWS; i++)
        X[i] = rng_normal(1, rng_stream(RNG_TEST, 62), i);
    for (size_t i = 0; i < 2 * TOUCH_COLS; i++)
        P[i] = 1.0;
    source_array_init(&array, X, TOUCH_ROWS, 1, 1);
    const struct source src = { .n = TOUCH_ROWS, .d = 1, .rows = touch_rows, .ctx = &array };
    pthread_barrier_init(&touch.all, NULL, TOUCH_THREADS);
    ck_assert(kernel_parse("rbf", &kern, NULL, &err) == ST_OK);
    struct featmap *fm = featmap_new(&kern, 1, TOUCH_COLS, 5, &err);
    const struct fop_opts o = { .pool = pool_new(TOUCH_THREADS, NULL), .store = true };
    const size_t at0 = resident();
    struct fop *f = fop_new(backend_cpu(), fm, &src, &o, &err);
    ck_assert_msg(f && fop_set(f, hp, &err) == ST_OK, "%s", err.msg);
    const size_t at1 = resident();
    ck_assert_uint_lt(at1, at0 + some);
    ck_assert(fop_pass(f, 1, P, P + TOUCH_COLS, NULL, &err) == ST_OK);
    const size_t at2 = resident();
    ck_assert_uint_gt(at2 + some, at1 + bytes);
    ck_assert_uint_eq(touch.threads, TOUCH_THREADS);
    for (size_t i = 0; i < TOUCH_THREADS; i++)
        ck_assert_msg(touch.faults[i] > 0, "thread %zu touched no page first", i);
    ck_assert(fop_pass(f, 1, P, P + TOUCH_COLS, NULL, &err) == ST_OK);
    ck_assert_uint_lt(resident(), at2 + some / 8);
    fop_free(f);
    pool_free(o.pool);
    featmap_free(fm);
    pthread_barrier_destroy(&touch.all);
    free(X);
    free(P);
}
END_TEST

/* Each request of a fit fails in turn: the fit ends with an error, or is what it is without. */
static const char *const fitted[] = { "direct", "pcg", "exact" };

START_TEST(a_fit_without_memory_is_an_error)
{
    enum { ROWS = 40 };
    double set[KERNEL_MAX_HP], y[ROWS];
    struct data t;
    struct fit_opts o = { .solver = fitted[_i], .features = 16, .rank = 4, .rtol = 1e-8,
                          .maxit = 50, .seed = 3, .amplitude = 1.0, .noise = 0.3 };
    struct fit_info want, got;
    struct err err = { 0 };
    size_t told = 0;

    ck_assert(kernel_parse("rbf", &o.kernel, set, NULL) == ST_OK);
    o.hp[0] = 1.5;
    data_new(&t);
    source_array_init(&t.src, t.X, ROWS, D_IN, D_IN);
    for (size_t i = 0; i < ROWS; i++)
        y[i] = sin(t.X[i * D_IN]);
    const struct tools on = { backend_cpu(), NULL, NULL };
    for (size_t at = 0;; at++) { /* 0: none fails */
        struct model *m = NULL;
        asked = 0;
        fail_at = at;
        memset(&got, 0, sizeof got);
        const enum status rc = model_fit(&t.src.base, y, &o, &on, &m, &got, NULL, &err);
        fail_at = 0;
        ck_assert(at > 0 || rc == ST_OK);
        if (at == 0)
            want = got;
        else if (rc == ST_OK)
            ck_assert_msg(!memcmp(&got.residual, &want.residual, sizeof got.residual) &&
                              !memcmp(&got.true_residual, &want.true_residual,
                                      sizeof got.true_residual) &&
                              !strcmp(got.warning, want.warning),
                          "%s: request %zu fails, and nothing is said", fitted[_i], at);
        told += rc != ST_OK;
        err_clear(&err);
        model_unref(m);
        if (asked < at)
            break;
    }
    ck_assert_uint_gt(told, 5);
    data_free(&t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("alloc");
    TCase *t = tcase_create("all");

    blas_init();
    tcase_set_timeout(t, 120);
    tcase_add_test(t, iterations_ask_for_nothing);
    tcase_add_test(t, passes_ask_for_nothing);
    tcase_add_loop_test(t, windows_ask_for_nothing, 0, sizeof windowed / sizeof windowed[0]);
    tcase_add_test(t, who_works_touches_first);
    tcase_add_loop_test(t, a_fit_without_memory_is_an_error, 0, sizeof fitted / sizeof *fitted);
    suite_add_tcase(s, t);
    return support_run(s);
}
