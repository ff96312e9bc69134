/* tests/compute/check_memory.c -- the memory that a fit is said to need is what it takes: the peak
 * of resident memory, less what was resident before, each fit in a process of its own.  Within 10
 * %, and 4 MB for the heap's own rounding.  Sizes of about a hundred megabytes and more: what a
 * plan decides about. */
#include "compute/backend.h"
#include "compute/linalg/blas.h"
#include "compute/models/model.h"
#include "compute/rng.h"

#include "base/mem.h"

#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 8, POSITIONS = 30, LETTERS = 20, THREADS = 2 };
static const double within = 0.10, heap = 4e6;

struct fit_case {
    const char *kernel, *solver, *precond;
    enum plan plan;
    enum storing store;
    enum precision precision;
    size_t n, M, rank;
    enum variance_mode variance;
    size_t variance_count, targets;
    bool look; /* for the noise ratio */
};

static const struct fit_case cases[] = {
    {"rbf", "pcg", "srht2", PLAN_STORE, STORE_FLOAT32, PREC_FLOAT, 12000, 2048, 256, VAR_NONE, 0,
     1, false},
    {"rbf", "pcg", "srht2", PLAN_STORE, STORE_FLOAT16, PREC_FLOAT, 24000, 2048, 256, VAR_NONE, 0,
     1, false},
    {"rbf", "cg", "none", PLAN_STORE, STORE_AUTO, PREC_DOUBLE, 8000, 2048, 0, VAR_NONE, 0, 1,
     false},
    {"rbf", "pcg", "srht2", PLAN_REGENERATE, STORE_AUTO, PREC_FLOAT, 4000, 4096, 512, VAR_NONE, 0,
     1, false},
    {"rbf", "cg", "none", PLAN_REGENERATE, STORE_AUTO, PREC_FLOAT, 4000, 8192, 0, VAR_COUNT, 2048,
     1, false},
    {"rbf", "pcg", "srht2", PLAN_STORE, STORE_FLOAT32, PREC_FLOAT, 10000, 2048, 128, VAR_NONE, 0,
     8, false},
    {"rbf", "direct", NULL, PLAN_DIRECT, STORE_AUTO, PREC_FLOAT, 4000, 2560, 0, VAR_ALL, 0, 1,
     false},
    {"rbf", "pcg", "srht2", PLAN_DIRECT, STORE_AUTO, PREC_FLOAT, 4000, 2560, 256, VAR_NONE, 0, 1,
     false},
    {"rbf", "pcg", "srht2", PLAN_DIRECT, STORE_AUTO, PREC_FLOAT, 4000, 2560, 256, VAR_ALL, 0, 1,
     false},
    {"rbf", "exact", NULL, PLAN_AUTO, STORE_AUTO, PREC_FLOAT, 3000, 2048, 0, VAR_ALL, 0, 1, false},
    {"matern(nu=1/2) + linear", "cg", "none", PLAN_STORE, STORE_FLOAT32, PREC_FLOAT, 12000, 2048,
     0, VAR_NONE, 0, 1, false},
    {"conv(rbf,width=9)", "pcg", "srht2", PLAN_STORE, STORE_FLOAT32, PREC_FLOAT, 6000, 4096, 128,
     VAR_NONE, 0, 1, false},
    {"conv(rbf,width=9)", "pcg", "srht2", PLAN_REGENERATE, STORE_AUTO, PREC_FLOAT, 600, 8192, 512,
     VAR_NONE, 0, 1, false},
    {"convdense(rbf,width=5)", "direct", NULL, PLAN_DIRECT, STORE_AUTO, PREC_FLOAT, 1500, 2560, 0,
     VAR_ALL, 0, 1, false},
    {"rbf", "direct", NULL, PLAN_DIRECT, STORE_AUTO, PREC_FLOAT, 4200, 2048, 0, VAR_ALL, 0, 1,
     true},
    {"rbf", "pcg", "srht2", PLAN_DIRECT, STORE_AUTO, PREC_FLOAT, 4200, 2048, 256, VAR_ALL, 0, 1,
     true},
};

static double resident(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    double kb = NAN;

    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kb = atof(line + 6);
    if (f)
        fclose(f);
    return 1024.0 * kb;
}

/* Numbers, or sequences of one family: three letters of one changed. */
static double *inputs_new(const struct fit_case *c, struct source_array *src, struct fit_opts *o,
                          struct err *err)
{
    const bool sequences = strncmp(c->kernel, "conv", 4) == 0;
    const size_t d = sequences ? 1 + POSITIONS : INPUTS;
    double *x = malloc(c->n * d * sizeof *x);

    for (size_t i = 0; i < c->n; i++)
        for (size_t j = 0; j < d; j++)
            x[i * d + j] = !sequences ? rng_normal(1, rng_stream(RNG_TEST, 0), i * d + j)
                           : j == 0   ? POSITIONS
                                      : (double)rng_below(1, rng_stream(RNG_TEST, 1), j, LETTERS);
    for (size_t i = 0; sequences && i < 3 * c->n; i++)
        x[i / 3 * d + 1 + rng_below(1, rng_stream(RNG_TEST, 2), i, POSITIONS)] =
            (double)rng_below(1, rng_stream(RNG_TEST, 3), i, LETTERS);
    source_array_init(src, x, c->n, d, d);
    ck_assert_msg(kernel_parse(c->kernel, &o->kernel, o->hp, err) == ST_OK, "%s", err->msg);
    if (!sequences)
        return x;
    src->base.layout =
        (struct row_layout){ .nparts = 1, .part = { { ROWS_SYMBOLS, LETTERS, POSITIONS } } };
    ck_assert_msg(kernel_bind_rows(&o->kernel, &src->base.layout, NULL, err) == ST_OK, "%s",
                  err->msg);
    return x;
}

START_TEST(taken_is_predicted)
{
    const struct fit_case *c = &cases[_i];
    struct fit_opts o = {.solver = c->solver,
                         .precond = c->precond,
                         .features = c->M,
                         .rank = c->rank,
                         .rtol = 1e-12,
                         .maxit = 2,
                         .variance = c->variance,
                         .variance_count = c->variance_count,
                         .plan = c->plan,
                         .store = c->store,
                         .precision = c->precision,
                         .seed = 7,
                         .targets = c->targets,
                         .amplitude = 1.0,
                         .noise = 0.3,
                         .keep_scale = !c->look};
    struct source_array src;
    struct pool *pool = pool_new(THREADS, NULL);
    struct fit_info info;
    struct model *m;
    struct err err = { 0 };
    enum plan plan;
    size_t bytes;
    char note[256];

    blas_init();
    double *x = inputs_new(c, &src, &o, &err);
    for (size_t h = 0; h < kernel_nhp(&o.kernel); h++)
        o.hp[h] = 2.0;
    double *y = malloc(c->n * c->targets * sizeof *y);
    for (size_t i = 0; i < c->n * c->targets; i++)
        y[i] = rng_normal(1, rng_stream(RNG_TEST, 4), i);
    ck_assert_msg(model_plan(c->n, src.base.d, &o, THREADS, &plan, &bytes, note, &err) == ST_OK,
                  "%s", err.msg);
    const double before = resident();
    ck_assert_msg(model_fit(&src.base, y, &o, &(struct tools){backend_cpu(), pool, NULL}, &m, &info,
                            NULL, &err) == ST_OK,
                  "%s", err.msg);
    const double taken = (double)mem_peak_rss() - before, said = (double)bytes;
    printf("# %-24s %-7s n=%-6zu M=%-5zu taken %6.1f MB of %6.1f MB predicted\n", c->kernel,
           c->solver, c->n, c->M, 1e-6 * taken, 1e-6 * said);
    ck_assert_msg(fabs(taken - said) <= within * said + heap,
                  "%s, %s, n=%zu, M=%zu: %s\ntakes %.1f MB, predicted %.1f MB", c->kernel,
                  c->solver, c->n, c->M, note, 1e-6 * taken, 1e-6 * said);
    ck_assert_uint_eq(info.predicted_bytes, bytes);
    model_unref(m);
    pool_free(pool);
    free(x);
    free(y);
}
END_TEST

int main(void)
{
#ifdef SUPPORT_SANITIZED
    puts("a sanitizer takes memory of its own");
    return 77;
#endif
    if (isnan(resident())) {
        puts("no /proc here");
        return 77;
    }
    Suite *s = suite_create("memory");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, taken_is_predicted, 0, sizeof cases / sizeof cases[0]);
    suite_add_tcase(s, t);
    return support_run(s);
}
