/* tests/compute/check_share.c -- sums over rows that several processes share (compute/share.h):
 * with 1, 2, 3, 4 and 8 of them, played by threads that each have an operator over their rows, all
 * sums of a feature operator have the bits that one operator over all rows gives, for any number of
 * threads of each; and they are the sums of plain loops. */
#include "compute/features/fop_rows.h"
#include "compute/fold.h"
#include "compute/linalg/blas.h"
#include "compute/rng.h"
#include "compute/share.h"
#include "summed.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { N = SUMMED_N, D = SUMMED_D, RHS = SUMMED_RHS, MOST = 8 };

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

/* One process, and all that it has summed. */
struct process {
    struct summed sums;
    struct seat seat;
    size_t r0, r1, threads;
    bool alone;
};

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

static void *process_run(void *ctx)
{
    struct process *p = ctx;
    const struct summed_given *g = p->sums.g;
    const struct summed_task *t = p->sums.t;
    const struct share share = { N, p->r0, p->r1, meet_most, meet_sum, &p->seat };
    struct pool *pool = p->threads > 1 ? pool_new(p->threads, NULL) : NULL;
    const struct fop_opts o = { .pool = pool, .precision = t->precision, .store = t->store,
                                .half = t->half, .row_scale = g->w ? g->w + p->r0 : NULL,
                                .share = p->alone ? NULL : &share };
    struct source_array src;
    struct err err = { 0 };
    double *y = here(p, RHS, g->y);

    source_array_init(&src, g->X + p->r0 * D, p->r1 - p->r0, D, D);
    src.base.layout = g->layout;
    struct fop *f = fop_new(backend_cpu(), g->fm, &src.base, &o, &err);
    if (f) {
        ck_assert_int_eq(fop_set(f, g->hp, &err), ST_OK);
        summed_all(&p->sums, f, y);
    } else {
        p->sums.failed = err;
    }
    fop_free(f);
    pool_free(pool);
    free(y);
    return NULL;
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
        p[i] = (struct process){ .sums = { .t = one->sums.t, .g = one->sums.g,
                                            .r0 = share_row(N, of * i / count, of) },
                                 .seat = { &m, i },
                                 .r0 = share_row(N, of * i / count, of),
                                 .r1 = share_row(N, of * (i + 1) / count, of),
                                 .threads = 1 + (i + count) % 3 };
        ck_assert_int_eq(pthread_create(&thread[i], NULL, process_run, &p[i]), 0);
    }
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
    for (size_t i = 0; i < count; i++) {
        const struct summed *own = &p[i].sums, *ref = &one->sums;
        ck_assert_msg(own->failed.code == ST_OK, "%s, %zu processes: %s", ref->t->kernel, count,
                      own->failed.msg);
        for (size_t r = 0; r < ref->results; r++)
            ck_assert_msg(memcmp(own->out[r], ref->out[r], ref->len[r] * sizeof(double)) == 0,
                          "%s, M=%zu: result %zu of %zu processes has other bits", ref->t->kernel,
                          ref->t->M, r, count);
        summed_done(&p[i].sums);
    }
    pthread_barrier_destroy(&m.barrier);
}

/* Gram matrix, Z'y and diagonal against plain loops over rows of the operator. */
static void right(const struct process *one)
{
    const struct summed_task *t = one->sums.t;
    const struct summed_given *g = one->sums.g;
    const size_t M = t->M;
    const struct fop_opts o = { .precision = PREC_DOUBLE, .row_scale = g->w };
    const double tol = t->precision == PREC_DOUBLE ? 1e-13 : t->rows == SUMMED_SPARSE ? 1e-3 : 3e-5;
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
            ck_assert_double_le(fabs(one->sums.out[0][j * M + i] - G[j * M + i]), tol * size);
            ck_assert(one->sums.out[0][j * M + i] == one->sums.out[0][i * M + j]);
        }
        for (size_t r = 0; r < N; r++)
            zty += g->y[r] * Z[r * M + j];
        ck_assert_double_le(fabs(one->sums.out[1][j] - zty), tol * sqrt((double)N * G[j * M + j]));
    }
    fop_free(f);
    free(Z);
    free(G);
}

START_TEST(same_bits)
{
    struct summed_given g;
    const struct summed_task *t = summed_chosen(_i);
    struct process one = { .sums = { .t = t, .g = &g }, .r1 = N, .threads = 3, .alone = true };

    if (t->level) /* each test runs in a process of its own */
        ck_assert_int_eq(cpu_force_level(t->level, NULL), ST_OK);
    summed_make(t, &g);
    process_run(&one);
    ck_assert_msg(one.sums.failed.code == ST_OK, "%s: %s", t->kernel, one.sums.failed.msg);
    right(&one);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        processes_agree(&one, counts[i]);
    summed_done(&one.sums);
    summed_free(&g);
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
    for (int way = 0; way < 4; way++) { /* the last two: by bounds that hold, and that do not */
        const int both = way > 0;
        const struct share_parts parts = { PARTS, PARTS, WIDE, v, both };
        double *bound = calloc(3 * WIDE + 1, sizeof *bound);
        for (size_t i = 0; i < PARTS; i++)
            for (size_t j = 0; j < WIDE; j++)
                bound[j] = fmax(bound[j], (way == 2 ? 40.0 : 0.01) * fabs(v[i * WIDE + j]));
        ck_assert_int_eq(way < 2 ? share_fold(NULL, NULL, &parts, sum, NULL)
                                 : share_fold_within(NULL, NULL, &parts, bound, bound + WIDE, sum,
                                                     NULL),
                         ST_OK);
        free(bound);
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
    struct summed_given g;
    struct err err = { 0 };
    struct source_array src;

    summed_make(summed_task_at(0), &g);
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
    summed_free(&g);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("share");
    TCase *t = tcase_create("share");

    blas_init();
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, same_bits, 0, summed_count());
    tcase_add_test(t, parts_fold);
    tcase_add_test(t, shares_refused);
    suite_add_tcase(s, t);
    return support_run(s);
}
