/* tests/compute/check_share.c -- sums over rows that several processes share (compute/share.h):
 * with 1, 2, 3, 4 and 8 of them, played by threads that each have an operator over their rows, all
 * sums of a feature operator have the bits that one operator over all rows gives, for any number of
 * threads of each; and they are the sums of plain loops. */
#include "compute/features/fop_rows.h"
#include "compute/fold.h"
#include "compute/linalg/blas.h"
#include "compute/rng.h"
#include "compute/share.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { N = 9100, D = 12, MOST = 8, RHS = 9, SKETCH = 20, GROUPS = 7, EACH = 1293, PER = 40,
       CLASSES = 3 };

/* Collective calls of threads: all tell where their numbers are, and each adds them up in an order
 * of its own. */
struct meeting {
    size_t processes;
    pthread_barrier_t barrier;
    const double *x[MOST];
};
struct seat { struct meeting *m; size_t rank; };

static enum status meet(const struct seat *s, size_t n, double *x, bool most)
{
    struct meeting *m = s->m;
    double *all = malloc((n + 1) * sizeof *all);

    ck_assert_ptr_nonnull(all);
    m->x[s->rank] = x;
    pthread_barrier_wait(&m->barrier);
    for (size_t j = 0; j < n; j++)
        all[j] = m->x[s->rank][j];
    for (size_t i = 1; i < m->processes; i++)
        for (size_t j = 0; j < n; j++) {
            const double v = m->x[(s->rank + i) % m->processes][j];
            all[j] = most ? fmax(all[j], v) : all[j] + v;
        }
    pthread_barrier_wait(&m->barrier);
    memcpy(x, all, n * sizeof *x);
    free(all);
    return ST_OK;
}

static enum status meet_most(void *ctx, size_t n, double *x, struct err *err)
{
    (void)err;
    return meet(ctx, n, x, true);
}

static enum status meet_sum(void *ctx, size_t n, double *x, struct err *err)
{
    (void)err;
    return meet(ctx, n, x, false);
}

/* What is computed: a kernel with M columns over rows of one kind. */
struct task {
    const char *kernel;
    size_t M;
    enum precision precision;
    enum { NUMBERS, VECTORS, COUNTS, SPARSE } rows;
    bool weights, store, half;
    const char *level; /* of vector code; NULL: the best one here */
};
/* Sums by segments and by tiles; with their own centre; of bits; with rows so unlike a sample that
 * bounds have to be found anew. */
static const struct task tasks[] = {
    { "rbf", 64, PREC_FLOAT, NUMBERS, false, false, false, NULL },
    { "rbf", 64, PREC_FLOAT, NUMBERS, true, true, false, "portable" },
    { "rbf", 576, PREC_FLOAT, NUMBERS, false, false, false, "portable" },
    { "rbf + matern(nu=3/2)", 500, PREC_FLOAT, NUMBERS, true, true, false, NULL },
    { "matern(nu=5/2)", 640, PREC_FLOAT, NUMBERS, true, false, false, NULL },
    { "rbf", 256, PREC_FLOAT, NUMBERS, false, true, true, NULL },
    { "rbf", 160, PREC_DOUBLE, NUMBERS, true, false, false, NULL },
    { "rbf", 576, PREC_DOUBLE, NUMBERS, false, true, false, NULL },
    { "rbf(ard)", 128, PREC_FLOAT, NUMBERS, false, false, false, NULL },
    { "conv(rbf,width=2)", 128, PREC_FLOAT, VECTORS, true, false, false, NULL },
    { "tanimoto", 128, PREC_FLOAT, COUNTS, false, false, false, NULL },
    { "linear + rbf", 128, PREC_FLOAT, SPARSE, false, false, false, NULL },
    { "linear + rbf", 576, PREC_FLOAT, SPARSE, true, false, false, NULL },
};

/* Rows, vectors and matrices that all processes have. */
struct given {
    double *X, *w, *y, *P, *omega, *S, *labels;
    size_t block[PER];
    struct featmap *fm;
    struct kernel k;
    double hp[KERNEL_MAX_HP];
    struct row_layout layout;
};

static double *normals(size_t n, uint32_t sub)
{
    double *v = malloc(n * sizeof *v);

    ck_assert_ptr_nonnull(v);
    for (size_t i = 0; i < n; i++)
        v[i] = rng_normal(17, rng_stream(RNG_TEST, sub), i);
    return v;
}

static void rows_make(const struct task *t, struct given *g)
{
    g->X = normals(N * D, 1);
    for (size_t i = 0; i < N; i++) {
        double *x = g->X + i * D;
        if (t->rows == VECTORS) { /* 3 to 5 positions of 2 numbers */
            x[0] = 3.0 + (double)(i % 3);
            for (size_t j = 1; j < D; j++)
                x[j] += 1.0;
        } else if (t->rows == COUNTS) { /* 3 or 4 places */
            x[0] = 3.0 + (double)(i % 2);
            for (size_t j = 0; j < 4; j++) {
                x[1 + 2 * j] = (double)(10 * j + rng_below(17, RNG_TEST, 4 * i + j, 5));
                x[2 + 2 * j] = 1.0 + (double)(i * j % 3);
            }
        } else if (t->rows == SPARSE) { /* few rows have more than one number, and large ones */
            for (size_t j = 0; j + 1 < D; j++)
                x[j] = i % 1000 == 500 + j ? 1e4 * x[j] : 0.0;
        }
    }
    if (t->rows == VECTORS || t->rows == COUNTS)
        g->layout = (struct row_layout){
            .nparts = 1,
            .part = { t->rows == VECTORS ? (struct row_part){ ROWS_VECTORS, 2, 5, 0 }
                                         : (struct row_part){ ROWS_COUNTS, COUNTS_CHANNELS, 4, 0 } }
        };
}

static void given_make(const struct task *t, struct given *g)
{
    size_t from[KERNEL_MAX_HP];
    struct err err = { 0 };

    *g = (struct given){ .w = NULL };
    rows_make(t, g);
    ck_assert_msg(kernel_parse(t->kernel, &g->k, g->hp, &err) == ST_OK, "%s", err.msg);
    if (g->layout.nparts)
        ck_assert_msg(kernel_bind_rows(&g->k, &g->layout, NULL, &err) == ST_OK, "%s", err.msg);
    else
        ck_assert_int_eq(kernel_bind(&g->k, D, from, NULL), ST_OK);
    for (size_t h = 0; h < kernel_nhp(&g->k); h++)
        g->hp[h] = t->rows == VECTORS ? 1.0 : 2.0 + 0.1 * (double)h;
    g->fm = featmap_new(&g->k, D, t->M, 5, &err);
    ck_assert_msg(g->fm != NULL, "%s", err.msg);
    g->w = t->weights ? normals(N, 2) : NULL;
    for (size_t i = 0; g->w && i < N; i++)
        g->w[i] = 0.5 + fabs(g->w[i]);
    g->y = normals(RHS * N, 3);
    g->P = normals(RHS * t->M, 4);
    g->labels = malloc(N * sizeof *g->labels);
    for (size_t i = 0; i < N; i++)
        g->labels[i] = (double)(i * i % CLASSES);
    g->omega = normals(SKETCH * t->M, 5);
    g->S = normals(t->M * t->M, 6);
    for (size_t j = 0; j < t->M; j++)
        for (size_t i = 0; i < j; i++)
            g->S[i * t->M + j] = g->S[j * t->M + i];
    for (size_t i = 0; i < PER; i++)
        g->block[i] = 37 * i % (N / 16 + 1);
}

static void given_free(struct given *g)
{
    free(g->X), free(g->w), free(g->y), free(g->P), free(g->omega), free(g->S);
    free(g->labels);
    featmap_free(g->fm);
}

/* One process, and all that it has summed. */
enum { RESULTS = 20 };
struct process {
    const struct task *t;
    const struct given *g;
    struct seat seat;
    size_t r0, r1, threads;
    bool alone;
    double *out[RESULTS];
    size_t len[RESULTS], results;
    struct err failed; /* the first */
};

static double *result(struct process *p, size_t n)
{
    double *v = calloc(n + 1, sizeof *v);

    ck_assert_ptr_nonnull(v);
    ck_assert_uint_lt(p->results, RESULTS);
    p->out[p->results] = v;
    p->len[p->results++] = n;
    return v;
}

/* k vectors of all rows, those here alone. */
static double *here(const struct process *p, size_t k, const double *v)
{
    const size_t n = p->r1 - p->r0;
    double *some = malloc((k * n + 1) * sizeof *some);

    ck_assert_ptr_nonnull(some);
    for (size_t c = 0; c < k; c++)
        memcpy(some + c * n, v + c * N + p->r0, n * sizeof *some);
    return some;
}

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) != ST_OK && p->failed.code == ST_OK)                                            \
            p->failed = err;                                                                       \
    } while (0)

static void products(struct process *p, struct fop *f, const double *y)
{
    const struct given *g = p->g;
    const size_t M = p->t->M;
    struct err err = { 0 };
    double *G = result(p, M * M), *zty = result(p, 3 * M), *C = result(p, M * M);

    MUST(fop_gram_of(f, 3, y, G, zty, NULL, NULL, &err));
    if (fop_has_dtile(f))
        MUST(fop_dgram(f, 0, C, NULL, &err));
    MUST(fop_sketch(f, SKETCH, g->omega, result(p, SKETCH * M), NULL, &err));
    MUST(fop_pass(f, 1, g->P, result(p, M), NULL, &err));
    MUST(fop_pass(f, RHS, g->P, result(p, RHS * M), NULL, &err));
    MUST(fop_pass_exact(f, 2, g->P, result(p, 2 * M), NULL, &err));
    MUST(fop_ztv(f, RHS, y, result(p, RHS * M), NULL, &err));
}

static void rows_summed(struct process *p, struct fop *f, const double *y)
{
    const struct given *g = p->g;
    const size_t M = p->t->M, nhp = kernel_nhp(&g->k);
    const struct fop_slope with = { g->S, y, g->P, 2, nhp }, without = { NULL, y, g->P, 2, nhp };
    const struct fop_groups groups = { GROUPS, EACH, p->t->precision };
    struct err err = { 0 };

    MUST(fop_diagonal(f, result(p, M), NULL, &err));
    if (fop_has_dtile(f))
        MUST(fop_slope_form(f, 0, y, g->P, result(p, 1), &err));
    MUST(fop_back(f, &with, result(p, nhp), NULL, &err));
    MUST(fop_back(f, &without, result(p, nhp), NULL, &err));
    MUST(fop_means(f, &groups, result(p, GROUPS * M), NULL, &err));
    struct fop_blocks *b = fop_blocks_new(f, 16, PER, 2, &err);
    ck_assert_ptr_nonnull(b);
    MUST(fop_blocks_pass(b, g->block, g->P, result(p, 2 * M), &err));
    fop_blocks_free(b);
}

/* The gradient of a multinomial logistic loss and a product with its Hessian. */
static void classes_summed(struct process *p, struct fop *f)
{
    static const double offset[CLASSES] = { 0.1, -0.2, 0.3 }, weight[CLASSES] = { 1.0, 2.0, 0.5 };
    const size_t M = p->t->M;
    struct fop_softmax of = { .classes = CLASSES, .labels = p->g->labels + p->r0,
                              .weight = weight, .offset = offset, .W = p->g->P };
    struct err err = { 0 };

    MUST(fop_softmax(f, &of, result(p, CLASSES * M), result(p, 1), NULL, &err));
    of.V = p->g->omega;
    of.keep = true;
    MUST(fop_softmax(f, &of, result(p, CLASSES * M), NULL, NULL, &err));
}

static void *process_run(void *ctx)
{
    struct process *p = ctx;
    const struct given *g = p->g;
    const struct share share = { N, p->r0, p->r1, meet_most, meet_sum, &p->seat };
    struct pool *pool = p->threads > 1 ? pool_new(p->threads, NULL) : NULL;
    const struct fop_opts o = { .pool = pool, .precision = p->t->precision, .store = p->t->store,
                                .half = p->t->half, .row_scale = g->w ? g->w + p->r0 : NULL,
                                .share = p->alone ? NULL : &share };
    struct source_array src;
    struct err err = { 0 };
    double *y = here(p, RHS, g->y);

    source_array_init(&src, g->X + p->r0 * D, p->r1 - p->r0, D, D);
    src.base.layout = g->layout;
    struct fop *f = fop_new(backend_cpu(), g->fm, &src.base, &o, &err);
    if (f) {
        MUST(fop_set(f, g->hp, &err));
        products(p, f, y);
        rows_summed(p, f, y);
        classes_summed(p, f);
    } else {
        p->failed = err;
    }
    fop_free(f);
    pool_free(pool);
    free(y);
    return NULL;
}

static void process_free(struct process *p)
{
    for (size_t i = 0; i < p->results; i++)
        free(p->out[i]);
}

static const size_t counts[] = { 1, 2, 3, 4, 8 };

/* Runs `count` processes and compares each with `one`. */
static void processes_agree(const struct process *one, size_t count)
{
    struct process p[MOST];
    struct meeting m = { .processes = count };
    pthread_t thread[MOST];

    ck_assert_int_eq(pthread_barrier_init(&m.barrier, NULL, (unsigned)count), 0);
    const size_t of = share_segments(N, SHARE_JOINED);
    for (size_t i = 0; i < count; i++) {
        p[i] = (struct process){ .t = one->t, .g = one->g, .seat = { &m, i },
                                 .r0 = share_row(N, of * i / count, of),
                                 .r1 = share_row(N, of * (i + 1) / count, of),
                                 .threads = 1 + (i + count) % 3 };
        ck_assert_int_eq(pthread_create(&thread[i], NULL, process_run, &p[i]), 0);
    }
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(p[i].failed.code == ST_OK, "%s, %zu processes: %s", one->t->kernel, count,
                      p[i].failed.msg);
        for (size_t r = 0; r < one->results; r++)
            ck_assert_msg(memcmp(p[i].out[r], one->out[r], one->len[r] * sizeof(double)) == 0,
                          "%s, M=%zu: result %zu of %zu processes has other bits",
                          one->t->kernel, one->t->M, r, count);
        process_free(&p[i]);
    }
    pthread_barrier_destroy(&m.barrier);
}

/* Gram matrix, Z'y and diagonal against plain loops over rows of the operator. */
static void right(const struct process *one)
{
    const struct task *t = one->t;
    const struct given *g = one->g;
    const size_t M = t->M;
    const struct fop_opts o = { .precision = PREC_DOUBLE, .row_scale = g->w };
    const double tol = t->precision == PREC_DOUBLE ? 1e-13 : t->rows == SPARSE ? 1e-3 : 3e-5;
    struct source_array src;
    double *Z = malloc(N * M * sizeof *Z), *G = calloc(M * M, sizeof *G);

    ck_assert(Z && G);
    source_array_init(&src, g->X, N, D, D);
    src.base.layout = g->layout;
    struct fop *f = fop_new(backend_cpu(), g->fm, &src.base, &o, NULL);
    ck_assert_int_eq(fop_set(f, g->hp, NULL), ST_OK);
    ck_assert_int_eq(fop_tile64(f, 0, N, Z, M, NULL), ST_OK);
    blas_dsyrk1(true, false, M, N, 1.0, Z, M, 0.0, G, M);
    for (size_t j = 0; j < M; j++) {
        double zty = 0.0;
        for (size_t i = j; i < M; i++) {
            const double size = sqrt(G[i * M + i] * G[j * M + j]);
            ck_assert_double_le(fabs(one->out[0][j * M + i] - G[j * M + i]), tol * size);
            ck_assert(one->out[0][j * M + i] == one->out[0][i * M + j]);
        }
        for (size_t r = 0; r < N; r++)
            zty += g->y[r] * Z[r * M + j];
        ck_assert_double_le(fabs(one->out[1][j] - zty), tol * sqrt((double)N * G[j * M + j]));
    }
    fop_free(f);
    free(Z);
    free(G);
}

START_TEST(same_bits)
{
    struct given g;
    const struct task *t = &tasks[_i];
    struct process one = { .t = t, .g = &g, .r1 = N, .threads = 3, .alone = true };

    if (t->level) /* each test runs in a process of its own */
        ck_assert_int_eq(cpu_force_level(t->level, NULL), ST_OK);
    given_make(t, &g);
    process_run(&one);
    ck_assert_msg(one.failed.code == ST_OK, "%s: %s", t->kernel, one.failed.msg);
    right(&one);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        processes_agree(&one, counts[i]);
    process_free(&one);
    given_free(&g);
}
END_TEST

/* Sums of parts whose sizes differ: the same for any way to deal them out, and as exact as long
 * double; with one fold, to the error that fold.h states. */
START_TEST(parts_fold)
{
    enum { PARTS = 37, WIDE = 3000 };
    double *v = malloc(PARTS * WIDE * sizeof *v), *sum = malloc(WIDE * sizeof *sum);

    for (size_t i = 0; i < PARTS * WIDE; i++)
        v[i] = exp(4.0 * rng_normal(3, rng_stream(RNG_TEST, 1), i)) *
               rng_normal(3, rng_stream(RNG_TEST, 2), i);
    for (int both = 0; both < 2; both++) {
        const struct share_parts parts = { PARTS, PARTS, WIDE, v, both };
        ck_assert_int_eq(share_fold(NULL, NULL, &parts, sum, NULL), ST_OK);
        for (size_t j = 0; j < WIDE; j++) {
            long double exact = 0.0L;
            double most = 0.0;
            for (size_t i = 0; i < PARTS; i++) {
                exact += (long double)v[i * WIDE + j];
                most = fmax(most, fabs(v[i * WIDE + j]));
            }
            const double far = (double)fabsl(exact - (long double)sum[j]);
            ck_assert_double_le(far, most * (both ? 0x1p-51 : PARTS * 0x1p-47));
        }
    }
    free(v);
    free(sum);
}
END_TEST

/* Rows that are no whole segments of every sum are refused, and so are blocks that would be in two
 * processes. */
START_TEST(shares_refused)
{
    struct given g;
    struct err err = { 0 };
    struct source_array src;

    given_make(&tasks[0], &g);
    source_array_init(&src, g.X, 128, D, D);
    const struct share share = { N, 0, 128, meet_most, meet_sum, NULL };
    const struct fop_opts o = { .share = &share };
    ck_assert(!share_fits(N, 0, 128) && !share_fits(N, 0, 0) && share_fits(N, 0, N));
    ck_assert_ptr_null(fop_new(backend_cpu(), g.fm, &src.base, &o, &err));
    ck_assert_int_eq(err.code, ST_SHAPE);
    const struct share all = { N, 0, N, meet_most, meet_sum, NULL };
    const struct fop_opts whole = { .share = &all };
    source_array_init(&src, g.X, N, D, D);
    struct fop *f = fop_new(backend_cpu(), g.fm, &src.base, &whole, &err);
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_null(fop_blocks_new(f, 24, 4, 1, &err));
    ck_assert_int_eq(err.code, ST_SHAPE);
    fop_free(f);
    given_free(&g);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("share");
    TCase *t = tcase_create("share");

    blas_init();
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, same_bits, 0, (int)(sizeof tasks / sizeof tasks[0]));
    tcase_add_test(t, parts_fold);
    tcase_add_test(t, shares_refused);
    suite_add_tcase(s, t);
    return support_run(s);
}
