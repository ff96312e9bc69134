/* tests/bench/bench_learn.c -- one step of Adam of a map that learns: its features, the likelihood,
 * the way back and the step itself, on random rows of INPUTS numbers.
 *
 *   bench_learn [--rows FILE] [--count ROWS] [KERNEL...]
 *
 * KERNEL: mlp by default.  Products are counted by hand (a net's way there and back, twice
 * its multiply-adds each, without the derivatives of its inputs); the limit is a product of 1536 x
 * 1536 single precision numbers, in turn with the steps.  "on 2 cores" is a schedule of the tasks
 * recorded on one, cut as for two threads: each task in order goes to the core that is free first.
 */
#include "report.h"

#include "compute/linalg/blas.h"
#include "compute/rng.h"
#include "compute/solvers/descent.h"
#include "compute/tuners/learn_maps.h"
#include "compute/tuners/learn_target.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INPUTS = 15, SQUARE = 1536, ROOM = 1 << 18 };
static struct err err;

static void must(enum status rc)
{
    if (rc != ST_OK)
        report_die(err.msg);
}

struct steps {
    struct kernel k;
    struct learn_maps maps;
    struct learn_target to;
    struct pool *pool;
    size_t n, all, since;
    float *x;
    double *y, *F, *dF, *theta, *grad, *first, *second, *own;
};

static void steps_open(struct steps *s, const char *kernel, size_t n, struct pool *pool)
{
    const struct tune_opts o = { .seed = 7 };

    *s = (struct steps){ .n = n, .pool = pool };
    must(kernel_parse(kernel, &s->k, NULL, &err));
    must(learn_maps_open(&s->maps, &s->k, INPUTS, 0, 7, &err));
    must(learn_maps_room(&s->maps, n, pool, &err));
    const size_t q = s->maps.q;
    s->own = report_need(learn_target_size(&s->to, q, 1, (struct source_labels){ 0 }, 0) + 1, 8);
    learn_target_room(&s->to, s->own);
    s->all = s->maps.count + s->to.count;
    s->x = report_need(n * INPUTS, sizeof *s->x);
    s->y = report_need(n, sizeof *s->y);
    s->F = report_need(n * q, sizeof *s->F);
    s->dF = report_need(n * q, sizeof *s->dF);
    s->theta = report_need(4 * s->all, sizeof *s->theta);
    s->grad = s->theta + s->all;
    s->first = s->grad + s->all;
    s->second = s->first + s->all;
    for (size_t i = 0; i < n * INPUTS; i++)
        s->x[i] = (float)rng_normal(1, rng_stream(RNG_TEST, 0), i);
    for (size_t i = 0; i < n; i++)
        s->y[i] = sin((double)s->x[i * INPUTS]) + 0.3 * rng_normal(1, rng_stream(RNG_TEST, 1), i);
    learn_maps_begin(&s->maps, &o, s->theta);
    s->to.theta = s->theta + s->maps.count;
    s->to.grad = s->grad + s->maps.count;
    learn_target_begin(&s->to, learn_maps_size(&s->maps), n, s->y);
}

static void steps_close(struct steps *s)
{
    learn_maps_close(&s->maps);
    free(s->x), free(s->y), free(s->F), free(s->dF), free(s->theta), free(s->own);
}

static void run_step(void *ctx)
{
    struct steps *s = ctx;
    struct learn_rows r = { .n = s->n, .F = s->F, .y = s->y, .dF = s->dF };

    must(learn_maps_forward(&s->maps, s->theta, s->n, s->x, true, s->F, &err));
    must(learn_target_ask(&s->to, &r, s->pool, &err));
    must(learn_maps_back(&s->maps, s->dF, s->grad, &err));
    for (size_t i = s->maps.count; i < s->all; i++)
        s->grad[i] /= (double)s->n;
    amsgrad_adam_step(s->all, ++s->since, 1e-3, s->grad, s->first, s->second, s->theta);
}

/* Multiply-adds of a step, times two, in 1e9. */
static double operations(const struct steps *s)
{
    struct net_layer l[NET_DEPTH_MOST + 1];
    const double q = (double)s->maps.q;
    double each = 2.0 * 2.0 * q * q; /* the Gram matrix, and the derivatives in features */

    for (size_t t = 0; t < s->k.nterms; t++) {
        const struct kterm *term = &s->k.term[t];
        if (!kterm_learns(term))
            continue;
        const struct net_shape shape = kernel_learned_shape(&s->k, t, INPUTS);
        net_layers(&shape, l);
        for (size_t i = 0; i <= shape.depth; i++)
            each += (i ? 6.0 : 4.0) * (double)(l[i].places * l[i].in * l[i].out);
    }
    return 1e-9 * each * (double)s->n;
}

static struct product { float *a, *b, *c; } product;

static void run_product(void *ctx)
{
    (void)ctx;
    blas_sgemm1(true, false, SQUARE, SQUARE, SQUARE, 1.0F, product.a, SQUARE, product.b, SQUARE,
                0.0F, product.c, SQUARE);
}

static double processor(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* How many times as fast two cores take the tasks of a step as one. */
static double on_two(const struct pool_trace *t, double begin, double end)
{
    double two = 0.0, last = begin;

    if (t->used > ROOM)
        report_die("more tasks than there is room for");
    for (size_t i = 0, n; i < t->used; i += n) {
        double free_at[2] = { 0.0, 0.0 };
        two += t->task[i].start - last;
        for (n = 0; i + n < t->used && t->task[i + n].job == t->task[i].job; n++) {
            const size_t first = free_at[1] < free_at[0];
            free_at[first] += t->task[i + n].end - t->task[i + n].start;
            last = t->task[i + n].end;
        }
        two += fmax(free_at[0], free_at[1]);
    }
    return (end - begin) / (two + end - last);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void schedule(const char *kernel, size_t n, struct pool *pool)
{
    enum { STEPS = 5 };
    struct pool_trace t = { .task = report_need(ROOM, sizeof *t.task), .room = ROOM,
                            .threads = 2 };
    struct steps s;
    double times[STEPS];

    pool_trace_for_tests(pool, &t);
    steps_open(&s, kernel, n, pool);
    run_step(&s);
    for (size_t i = 0; i < STEPS; i++) {
        t.used = t.jobs = 0;
        const double begin = processor();
        run_step(&s);
        times[i] = on_two(&t, begin, processor());
    }
    pool_trace_for_tests(pool, NULL);
    qsort(times, STEPS, sizeof *times, ascending);
    report_row(&(struct report_row){ .section = "learn", .what = "the same, on 2 cores",
        .threads = 2, .value = times[STEPS / 2], .unit = "x", .sense = REPORT_ABSOLUTE,
        .floor = 1.8 });
    steps_close(&s);
    free(t.task);
}

static void bench(const char *kernel, size_t n)
{
    struct pool *one = pool_new(1, &err);
    struct steps s;
    double t[2];
    char what[160];

    if (!one)
        report_die(err.msg);
    steps_open(&s, kernel, n, one);
    run_step(&s);
    report_times(REPORT_THREAD, 2, (struct report_job[]){ { run_step, &s },
                                                          { run_product, NULL } }, t);
    snprintf(what, sizeof what, "Adam step, %s, %zu rows", kernel, n);
    report_row(&(struct report_row){ .section = "learn", .what = what, .value = t[0], .unit = "s",
        .sense = REPORT_FIGURE, .rate = operations(&s) / t[0],
        .limit = 2e-9 * pow(SQUARE, 3.0) / t[1], .rate_unit = "GFLOP/s",
        .limit_name = "sgemm" });
    steps_close(&s);
    schedule(kernel, n, one);
    pool_free(one);
}

int main(int argc, char **argv)
{
    size_t n = 20000, kernels = 0;
    const char *path = NULL;

    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--rows") == 0)
            path = argv[i + 1];
    blas_init();
    report_open(path);
    report_head();
    product = (struct product){ report_need(SQUARE * SQUARE, sizeof(float)),
                                report_need(SQUARE * SQUARE, sizeof(float)),
                                report_need(SQUARE * SQUARE, sizeof(float)) };
    for (size_t i = 0; i < SQUARE * SQUARE; i++)
        product.a[i] = product.b[i] = (float)(i % 1009) / 1009.0F;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--count") == 0 && i + 1 < argc)
            n = (size_t)atol(argv[++i]);
        else if (strcmp(argv[i], "--rows") == 0 && i + 1 < argc)
            i++;
        else
            bench(argv[i], n), kernels++;
    }
    if (kernels == 0)
        bench("mlp", n);
    free(product.a), free(product.b), free(product.c);
    return report_close();
}
