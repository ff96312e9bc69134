/* tests/compute/check_ranks_device.c -- ranks that use devices (compute/ranks/parted.h): real
 * processes, this program again, each with an emulated device, give the processor's sums and fits
 * within single precision, and the same bits for any number of them; a device that fails at any
 * moment, or is not there, changes no more than that. */
#include "compute/linalg/blas.h"
#include "compute/models/model.h"
#include "compute/ranks/parted.h"
#include "compute/ranks/rank.h"
#include "compute/ranks/ranks.h"
#include "summed.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = SUMMED_N, D = SUMMED_D };

/* The module of the emulated device, which make puts beside the tests; false: it is not built. */
static bool module_here(void)
{
    char path[4096];

    if (!realpath("tests/emulated.so", path))
        return false;
    setenv("GPDESK_CUDA_MODULE", path, 1);
    return true;
}

static const struct backend_ops *ranks_of(size_t count, size_t threads, uint32_t device)
{
    const struct ranks_plan plan = { .count = count, .threads = threads, .device = device,
                                     .device_asked = true };
    const struct backend_ops *be = ranks_use(&plan);
    struct err err = { 0 };

    ck_assert_msg(ranks_start_for_tests(NULL, &err) == ST_OK, "%s", err.msg);
    ck_assert_uint_eq(ranks_count(), count);
    return be;
}

static double apart(size_t n, const double *a, const double *b)
{
    double diff = 0.0, size = 0.0;

    for (size_t i = 0; i < n; i++) {
        diff += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return size > 0.0 ? sqrt(diff / size) : sqrt(diff);
}

/* As in check_cuda_host: of features in single precision, and in double precision; more where they
 * are rounded to float16, by each in its own way, and of single numbers, in which much cancels. */
static double tolerance(const struct summed_task *t, size_t numbers)
{
    return t->precision == PREC_DOUBLE ? 1e-11
           : numbers <= 4              ? 5e-3
           : t->half                   ? 1e-4
                                       : 2e-5;
}

static void near_all(const struct summed *many, const struct summed *one, const char *what)
{
    ck_assert_uint_eq(many->results, one->results);
    for (size_t r = 0; r < one->results; r++) {
        const double d = apart(one->len[r], many->out[r], one->out[r]);
        ck_assert_msg(d <= tolerance(one->t, one->len[r]),
                      "%s, M=%zu, %s: result %zu is %g apart", one->t->kernel, one->t->M, what, r,
                      d);
    }
}

static bool same_all(const struct summed *a, const struct summed *b)
{
    bool same = a->results == b->results;

    for (size_t r = 0; same && r < a->results; r++)
        same = memcmp(a->out[r], b->out[r], a->len[r] * sizeof(double)) == 0;
    return same;
}

/* Those of summed.c that differ in what a device does: features made anew, stored, in float16, in
 * double precision, several terms, windows; and counts, which stay with the processor. */
static const size_t tasks[] = { 0, 1, 5, 6, 8, 9, 10, 11 };
enum { TASKS = sizeof tasks / sizeof *tasks };

START_TEST(same_bits)
{
    const struct summed_task *t = summed_task_at(tasks[_i]);
    struct summed cpu, one, many;
    struct summed_given g;
    struct ranks_one rank;

    if (!module_here())
        return;
    if (t->level)
        ck_assert_int_eq(cpu_force_level(t->level, NULL), ST_OK);
    summed_make(t, &g);
    summed_over(backend_cpu(), t, &g, &cpu);
    summed_over(ranks_of(1, 2, 1), t, &g, &one);
    near_all(&one, &cpu, "one rank");
    ck_assert_msg(same_all(&one, &cpu) == (t->rows == SUMMED_COUNTS),
                  "%s: who has summed?", t->kernel);
    for (size_t count = 2 + (size_t)_i % 2; count <= 3; count += 2) {
        summed_over(ranks_of(count, 1, 1), t, &g, &many);
        for (size_t i = 0; i < count; i++) { /* there are two devices */
            ck_assert(ranks_at(i, &rank));
            ck_assert_uint_eq(rank.number, i % 2);
            ck_assert_str_eq(rank.device, "emulated device");
            ck_assert(!rank.lacks);
        }
        ck_assert_msg(same_all(&many, &one), "%s: %zu ranks have other bits", t->kernel, count);
        summed_done(&many);
    }
    ck_assert_uint_eq(ranks_lost(NULL), 0);
    summed_done(&one);
    summed_done(&cpu);
    summed_free(&g);
    ranks_end(false);
}
END_TEST

/* Each device fails at some call, or one of two does: the processor goes on, that of this rank
 * alone, and nobody waits for it. */
START_TEST(fails)
{
    static const struct { const char *call, *only; bool told[2]; } cases[] = {
        { "1", NULL, { true, true } },   { "4", NULL, { true, true } },
        { "9", NULL, { true, true } },   { "60", NULL, { true, true } },
        { "300", NULL, { true, true } }, { "600", NULL, { true, true } },
        { "1", "1", { false, true } },   { "7", "0", { true, false } },
        { "90", "1", { false, true } },  { "900", "0", { true, false } },
    };
    const struct summed_task *t = summed_task_at(_i % 2 ? 6 : 1);
    struct summed cpu, many;
    struct summed_given g;
    struct ranks_one rank;

    if (!module_here())
        return;
    setenv("GPDESK_EMU_FAIL", cases[_i].call, 1);
    if (cases[_i].only)
        setenv("GPDESK_EMU_ONLY", cases[_i].only, 1);
    if (t->level)
        ck_assert_int_eq(cpu_force_level(t->level, NULL), ST_OK);
    summed_make(t, &g);
    summed_over(backend_cpu(), t, &g, &cpu);
    summed_over(ranks_of(2, 1, 1), t, &g, &many);
    near_all(&many, &cpu, cases[_i].call);
    for (size_t i = 0; i < 2; i++) {
        ck_assert(ranks_at(i, &rank));
        ck_assert_msg(rank.lacks == cases[_i].told[i], "call %s, rank %zu: %s", cases[_i].call, i,
                      rank.lack);
        ck_assert(rank.alive && (!rank.lacks || strstr(rank.lack, "was told to")));
    }
    ck_assert_uint_eq(ranks_lost(NULL), 0);
    summed_done(&many);
    summed_done(&cpu);
    summed_free(&g);
    ranks_end(false);
}
END_TEST

/* The first device of a plan, and none at all. */
START_TEST(devices)
{
    struct ranks_one rank;

    if (!module_here())
        return;
    ranks_of(2, 1, 2);
    ck_assert(ranks_at(0, &rank) && rank.number == 1 && *rank.device);
    ck_assert(ranks_at(1, &rank) && rank.number == 0 && *rank.device);
    ranks_of(2, 1, 0);
    ck_assert(ranks_at(0, &rank) && !*rank.device && !rank.lacks);
    setenv("GPDESK_CUDA_MODULE", "/no/such/module.so", 1);
    ranks_of(2, 1, 1);
    ck_assert(ranks_at(1, &rank) && !*rank.device && rank.lacks);
    ck_assert_ptr_nonnull(strstr(rank.lack, "cannot be loaded"));
    ranks_end(false);
}
END_TEST

/* A column that is 0 in the sample, or far larger outside it: bounds of Gram matrices are then
 * found from all rows, by every rank. */
START_TEST(unlike_sample)
{
    enum { M = 64 };
    const struct summed_task *t = summed_task_at(0);
    const struct fop_opts o = { .precision = PREC_FLOAT };
    static double G[3][M * M], X[N * D];
    const char *const text = "linear";
    double hp[KERNEL_MAX_HP];
    size_t from[KERNEL_MAX_HP];
    struct source_array src;
    struct summed_given g;
    struct kernel k;
    struct err err = { 0 };

    if (!module_here())
        return;
    summed_make(t, &g);
    memcpy(X, g.X, sizeof X);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++)
            X[i * D + j] *= i % 128 < 16 ? (j == 0 ? 0.0 : 1e-6) : i % 128 == 77 ? 1e4 : 1.0;
    source_array_init(&src, X, N, D, D);
    ck_assert_int_eq(kernel_parse(text, &k, hp, &err), ST_OK);
    ck_assert_int_eq(kernel_bind(&k, D, from, &err), ST_OK);
    struct featmap *fm = featmap_new(&k, D, M, 5, &err);
    ck_assert_msg(fm != NULL, "%s", err.msg);
    for (size_t c = 0; c < 3; c++) {
        struct fop *f = fop_new(c ? ranks_of(c, 1, 1) : backend_cpu(), fm, &src.base, &o, &err);
        ck_assert_msg(f != NULL, "%s", err.msg);
        ck_assert_msg(fop_gram(f, NULL, G[c], NULL, NULL, NULL, &err) == ST_OK, "%s", err.msg);
        ck_assert(!fop_lost(f, NULL));
        fop_free(f);
    }
    ck_assert_double_le(apart(sizeof G[0] / sizeof **G, G[1], G[0]), 2e-5);
    ck_assert(memcmp(G[1], G[2], sizeof G[1]) == 0);
    featmap_free(fm);
    summed_free(&g);
    ranks_end(false);
}
END_TEST

/* Fits. */

struct figures { double mean[N], var[N]; };

static void fit_over(const struct backend_ops *be, const char *solver, struct figures *out)
{
    struct fit_opts o = { .solver = solver, .features = 128, .rtol = 1e-6, .maxit = 60, .seed = 3,
                          .amplitude = 1.0, .noise = 0.3, .plan = PLAN_REGENERATE };
    struct tools on = { be, NULL, NULL };
    struct source_array src;
    struct summed_given g;
    struct fit_info info;
    struct model *m = NULL;
    struct err err = { 0 };

    summed_make(summed_task_at(0), &g);
    source_array_init(&src, g.X, N, D, D);
    o.kernel = g.k;
    o.hp[0] = 3.0;
    if (strcmp(solver, "direct") == 0)
        o.plan = PLAN_DIRECT;
    for (size_t i = 0; i < N; i++)
        g.y[i] = sin(g.X[i * D]) + 0.5 * g.X[i * D + 1] + 0.1 * g.y[i];
    ck_assert_msg(model_fit(&src.base, g.y, &o, &on, &m, &info, NULL, &err) == ST_OK, "%s: %s",
                  solver, err.msg);
    ck_assert_msg(model_predict(m, &src.base, out->mean, out->var, &on, &err) == ST_OK, "%s: %s",
                  solver, err.msg);
    model_unref(m);
    summed_free(&g);
}

START_TEST(fits)
{
    static const char *const solvers[] = { "pcg", "direct" };
    static struct figures cpu, one, two;

    if (!module_here())
        return;
    for (size_t i = 0; i < 2; i++) {
        fit_over(backend_cpu(), solvers[i], &cpu);
        fit_over(ranks_of(1, 2, 1), solvers[i], &one);
        fit_over(ranks_of(2, 1, 1), solvers[i], &two);
        ck_assert_msg(memcmp(&one, &two, sizeof one) == 0, "%s: other bits by two ranks",
                      solvers[i]);
        ck_assert_double_le(apart(N, two.mean, cpu.mean), 1e-4);
        ck_assert_double_le(apart(N, two.var, cpu.var), 1e-3);
        ck_assert(memcmp(two.mean, cpu.mean, sizeof two.mean) != 0);
    }
    ranks_end(false);
}
END_TEST

int main(int argc, char **argv)
{
    const int status = rank_called(argc, argv);

    if (status >= 0)
        return status;
    if (!module_here())
        printf("# tests/emulated.so is not built: ranks with devices are not tested\n");
    Suite *s = suite_create("ranks with devices");
    TCase *t = tcase_create("devices");

    blas_init();
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, same_bits, 0, TASKS);
    tcase_add_loop_test(t, fails, 0, 10);
    tcase_add_test(t, devices);
    tcase_add_test(t, unlike_sample);
    tcase_add_test(t, fits);
    suite_add_tcase(s, t);
    return support_run(s);
}
