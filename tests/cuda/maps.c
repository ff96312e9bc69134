/* tests/cuda/maps.c -- maps that learn on the device: their features against those of the net in
 * double precision on the processor, and products of operators over them; other orders of threads,
 * little memory, and calls that fail (pair.h). */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "pair.h"

#include "base/mem.h"
#include "emulated_device.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One map alone: inputs, M = out. */
static const struct job maps[] = {
    { .kernel = "mlp(width=40,out=12)", .n = 70, .d = 5, .M = 12 },
    { .kernel = "mlp(width=300,depth=1,out=6,norm=none)", .n = 33, .d = 17, .M = 6 },
    { .kernel = "mlp(width=31,depth=3,out=8,norm=batch,rows=unit)", .n = 41, .d = 3, .M = 8 },
    { .kernel = "mlp(width=16,out=4,rows=unit)", .n = 1, .d = 2, .M = 4 },
    { .kernel = "cnn(shape=6x5,channels=4:3,out=10)", .n = 29, .d = 30, .M = 10 },
    { .kernel = "cnn(shape=5x7x2,channels=5,out=6,norm=batch)", .n = 30, .d = 70, .M = 6 },
    { .kernel = "cnn(shape=4x4,channels=6:5,out=6,norm=none)", .n = 31, .d = 16, .M = 6 },
};
enum { MAPS = sizeof maps / sizeof *maps };

/* The features of a pair's rows by the loops in double precision; the caller frees them. */
static double *reference(const struct pair *p, size_t d)
{
    const struct net *net = p->k.term[0].net;
    const struct net_shape *s = &net->shape;
    double *w = mem_calloc(net->count, sizeof *w, "weights", NULL);
    double *x = mem_calloc(p->n * d, sizeof *x, "rows", NULL);
    double *f = mem_calloc(p->n * s->out, sizeof *f, "features", NULL);
    double *work = mem_calloc(net_work_size(s, p->n), sizeof *work, "work", NULL);

    for (size_t i = 0; i < net->count; i++)
        w[i] = (double)net->w[i];
    for (size_t i = 0; i < p->n * d; i++)
        x[i] = (double)(float)p->x[i];
    net_forward64_for_tests(s, w, p->n, &(struct net_pass64){ .x = x, .f = f, .work = work });
    free(w), free(x), free(work);
    return f;
}

START_TEST(features_there)
{
    const struct job *j = &maps[_i % MAPS];

    emu_order = _i / MAPS;
    const size_t before = emulated_launches();
    struct pair p = pair_open(j);
    const size_t made = emulated_launches() - before;
    double *f = reference(&p, j->d), *z = mem_calloc(j->n * j->M, sizeof *z, "rows", NULL);
    ok(fop_tile64(p.dev, 0, j->n, z, j->M, &fail));
    ck_assert_msg(apart(j->n * j->M, z, f) <= 3e-6, "%s: %g", j->kernel,
                  apart(j->n * j->M, z, f));
    ck_assert(!fop_lost(p.dev, NULL));
#ifndef ON_DEVICE
    /* A product and its norm for each layer; patches and pools for those of images. */
    const struct net_shape *s = &p.k.term[0].net->shape;
    ck_assert_uint_ge(made, 2 * (s->depth + 1) + (s->image.rows ? 2 * s->depth : 0));
#endif
    pair_close(&p);
    ck_assert_uint_eq(emulated_used(), 0);
    free(f), free(z);
}
END_TEST

static const struct job mixed[] = {
    { .kernel = "mlp(width=24,out=6) * mlp(width=16,out=4)", .n = 60, .d = 4, .M = 24 },
    { .kernel = "mlp(width=24,out=6) + rbf", .n = 60, .d = 4, .M = 70 },
    { .kernel = "mlp(matern(nu=5/2),width=24,out=4)", .n = 60, .d = 4, .M = 64 },
    { .kernel = "mlp(width=24,out=3)", .n = 60, .d = 4, .M = 4 }, /* a column of zeros beside */
    { .kernel = "mlp(width=24,out=3) * mlp(width=16,out=3) + rbf", .n = 60, .d = 4, .M = 74 },
    { .kernel = "cnn(rbf,shape=4x3,channels=4,out=2) + linear", .n = 60, .d = 12, .M = 76 },
    { .kernel = "mlp(width=24,out=8)", .n = 60, .d = 4, .M = 8, .weighted = true },
};
enum { MIXED = sizeof mixed / sizeof *mixed };

/* W = Z'(Z P) of both, and how far apart they are; *calls: those of the device so far, before it is
 * closed. */
static double passes_apart(const struct job *j, struct err *lost, size_t *calls)
{
    struct pair p = pair_open(j);
    double *P = normals(5, 3 * j->M), *a = mem_calloc(3 * j->M, sizeof *a, "results", NULL);
    double *b = mem_calloc(3 * j->M, sizeof *b, "results", NULL);

    ok(fop_pass(p.cpu, 3, P, a, NULL, &fail));
    ok(fop_pass(p.dev, 3, P, b, NULL, &fail));
    const double far = apart(3 * j->M, b, a);
    err_clear(lost);
    fop_lost(p.dev, lost);
    *calls = emulated_calls();
    pair_close(&p);
    free(P), free(a), free(b);
    return far;
}

START_TEST(mixed_there)
{
    struct job j = mixed[_i % MIXED];
    struct err lost = { 0 };

    j.precision = _i / MIXED ? PREC_DOUBLE : PREC_FLOAT;
    size_t calls;
    const double far = passes_apart(&j, &lost, &calls);
    ck_assert_msg(far <= 2e-5, "%s: %g", j.kernel, far);
    ck_assert_int_eq(lost.code, ST_OK);
    ck_assert_uint_eq(emulated_used(), 0);
}
END_TEST

#ifndef ON_DEVICE
/* Rows in chunks of a few are the same bits as all at once. */
START_TEST(maps_in_chunks)
{
    const struct job *j = &maps[_i];
    double *z[2];

    for (int i = 0; i < 2; i++) {
        z[i] = mem_calloc(j->n * j->M, sizeof *z[i], "rows", NULL);
        if (i)
            setenv("GPDESK_EMU_MEMORY", "400000", 1);
        struct pair p = pair_open(j);
        unsetenv("GPDESK_EMU_MEMORY");
        ok(fop_tile64(p.dev, 0, j->n, z[i], j->M, &fail));
        ck_assert(!fop_lost(p.dev, NULL));
        pair_close(&p);
    }
    ck_assert_mem_eq(z[0], z[1], j->n * j->M * sizeof *z[0]);
    free(z[0]), free(z[1]);
}
END_TEST

/* Each call fails, once or from then on, and each request for memory: the processor makes the
 * features, and a device that failed for good is told as lost. */
START_TEST(maps_calls_fail)
{
    static const char *const ways[] = { "GPDESK_EMU_FAIL", "GPDESK_EMU_ONCE", "GPDESK_EMU_NOMEM" };
    const struct job *j = &mixed[_i / 3];
    const bool memory = _i % 3 == 2;
    struct err lost = { 0 };
    char at[24];

    size_t calls;
    const size_t before = emulated_calls();
    ck_assert_double_le(passes_apart(j, &lost, &calls), 2e-5);
    calls -= before;
    /* Those of the nets come first; memory of the operator itself may be refused with an error. */
    const size_t tried = memory ? 4 : calls;
    ck_assert_uint_gt(calls, 20);
    for (size_t q = 1; q <= tried; q++) {
        snprintf(at, sizeof at, "%zu", (memory ? emulated_requests() : emulated_calls()) + q);
        setenv(ways[_i % 3], at, 1);
        size_t now;
        const double far = passes_apart(j, &lost, &now);
        unsetenv(ways[_i % 3]);
        ck_assert_msg(far <= 2e-5, "%s, %s %zu of %zu: %g", j->kernel, ways[_i % 3], q, calls, far);
        ck_assert_int_eq(lost.code, memory ? ST_OK : ST_BACKEND);
        ck_assert_uint_eq(emulated_used(), 0);
    }
}
END_TEST
#endif

void maps_add(TCase *t)
{
    tcase_add_loop_test(t, features_there, 0, 3 * MAPS);
    tcase_add_loop_test(t, mixed_there, 0, 2 * MIXED);
#ifndef ON_DEVICE
    tcase_add_loop_test(t, maps_in_chunks, 0, MAPS);
    tcase_add_loop_test(t, maps_calls_fail, 0, 3 * 2);
#endif
}
