/* tests/bench/bench_memory.c -- the memory that a fit is predicted to need, against what it takes:
 * the peak of resident memory (VmHWM) less what was resident before, each fit in a process of its
 * own.
 *
 *     bench_memory [--threads N] [--only WORDS] */
#include "report.h"

#include "compute/backend.h"
#include "compute/linalg/blas.h"
#include "compute/models/model.h"
#include "compute/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INPUTS = 8 };
struct fit_case {
    const char *what, *solver, *precond;
    size_t n, M, rank, targets;
    enum variance_mode variance;
    size_t variance_count;
    enum plan plan;
    enum storing store;
    enum precision precision;
    bool rescale; /* amplitude and noise follow the data */
};

static double status_bytes(const char *key)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    double kb = NAN;

    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            kb = atof(line + strlen(key));
    if (f)
        fclose(f);
    return 1024.0 * kb;
}

/* From here on the peak counts anew. */
static void forget_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");

    if (!f || fputs("5", f) < 0 || fclose(f) != 0)
        report_die("/proc/self/clear_refs cannot be written");
}

/* Predicted and taken, in bytes, of one fit: in a child. */
static void measure(const struct fit_case *c, size_t threads, double out[2])
{
    double *x = report_need(c->n * INPUTS, sizeof *x),
           *y = report_need(c->n * c->targets, sizeof *y);
    struct fit_opts o = { .solver = c->solver, .precond = c->precond, .features = c->M,
                          .rank = c->rank, .rtol = 1e-12, .maxit = 2, .variance = c->variance,
                          .variance_count = c->variance_count, .plan = c->plan, .store = c->store,
                          .precision = c->precision, .seed = 7, .targets = c->targets,
                          .amplitude = 1.0, .noise = 0.3, .keep_scale = !c->rescale };
    struct pool *pool = pool_new(threads, NULL);
    struct source_array src;
    struct fit_info info;
    struct model *m;
    struct err err;
    enum plan plan;
    size_t bytes;
    char note[256];

    blas_init();
    for (size_t i = 0; i < c->n * INPUTS; i++)
        x[i] = rng_normal(1, rng_stream(RNG_TEST, 0), i);
    for (size_t i = 0; i < c->n * c->targets; i++)
        y[i] = sin(x[i % c->n * INPUTS]) + 0.1 * rng_normal(1, rng_stream(RNG_TEST, 1), i);
    source_array_init(&src, x, c->n, INPUTS, INPUTS);
    if (kernel_parse("rbf", &o.kernel, o.hp, &err) != ST_OK ||
        model_plan(c->n, INPUTS, &o, threads, &plan, &bytes, note, &err) != ST_OK)
        report_die(err.msg);
    o.hp[0] = 2.0;
    const double before = status_bytes("VmRSS:");
    forget_peak();
    if (model_fit(&src.base, y, &o, &(struct tools){backend_cpu(), pool, NULL}, &m, &info, NULL,
                  &err) != ST_OK)
        report_die(err.msg);
    /* A rank that the fit chooses is not known before: then what it says once it is. */
    out[0] = (double)(info.rank_chosen ? info.peak_bytes : bytes);
    out[1] = status_bytes("VmHWM:") - before;
}

static void row(const struct fit_case *c, size_t threads)
{
    double got[2] = { NAN, NAN };
    int ends[2], status;
    char what[100];

    fflush(NULL);
    if (pipe(ends) != 0)
        report_die("pipe");
    const pid_t child = fork();
    if (child == 0) {
        measure(c, threads, got);
        _exit(write(ends[1], got, sizeof got) != (ssize_t)sizeof got);
    }
    close(ends[1]);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0 ||
        read(ends[0], got, sizeof got) != (ssize_t)sizeof got)
        report_die(c->what);
    close(ends[0]);
    snprintf(what, sizeof what, "%s, n=%zu M=%zu", c->what, c->n, c->M);
    report_row(&(struct report_row){.section = "memory",
                                    .what = what,
                                    .threads = threads,
                                    .value = got[1] * 1e-6,
                                    .unit = "MB",
                                    .baseline = got[0] * 1e-6,
                                    .baseline_name = "predicted",
                                    .sense = REPORT_NEAR,
                                    .floor = got[0] > 100e6 ? 0.1 : 0.0});
}

int main(int argc, char **argv)
{
    static const struct fit_case cases[] = {
        {"fit store rank=512, no variance", "pcg", "srht2", 20000, 4096, 512, 1, VAR_NONE, 0,
         PLAN_STORE, STORE_FLOAT32, PREC_FLOAT, false},
        {"fit store float16 rank=512, no variance", "pcg", "srht2", 20000, 4096, 512, 1, VAR_NONE,
         0, PLAN_STORE, STORE_FLOAT16, PREC_FLOAT, false},
        {"fit store double rank=512, no variance", "pcg", "srht2", 10000, 4096, 512, 1, VAR_NONE, 0,
         PLAN_STORE, STORE_AUTO, PREC_DOUBLE, false},
        {"fit store, no preconditioner", "cg", "none", 20000, 4096, 0, 1, VAR_NONE, 0, PLAN_STORE,
         STORE_FLOAT32, PREC_FLOAT, false},
        {"fit regenerate rank=512, no variance", "pcg", "srht2", 20000, 8192, 512, 1, VAR_NONE, 0,
         PLAN_REGENERATE, STORE_AUTO, PREC_FLOAT, false},
        {"fit regenerate rank=512 gauss, no variance", "pcg", "gauss", 20000, 8192, 512, 1,
         VAR_NONE, 0, PLAN_REGENERATE, STORE_AUTO, PREC_FLOAT, false},
        {"fit regenerate, variance=2048", "cg", "none", 20000, 16384, 0, 1, VAR_COUNT, 2048,
         PLAN_REGENERATE, STORE_AUTO, PREC_FLOAT, false},
        {"fit regenerate rank=256, variance=all", "pcg", "srht2", 10000, 4096, 256, 1, VAR_ALL, 0,
         PLAN_REGENERATE, STORE_AUTO, PREC_FLOAT, false},
        {"fit direct, variance=all", "direct", NULL, 10000, 4096, 0, 1, VAR_ALL, 0, PLAN_DIRECT,
         STORE_AUTO, PREC_FLOAT, false},
        {"fit direct, no variance", "direct", NULL, 10000, 4096, 0, 1, VAR_NONE, 0, PLAN_DIRECT,
         STORE_AUTO, PREC_FLOAT, false},
        {"fit on Z'Z rank=512, variance=1024", "pcg", "srht2", 10000, 4096, 512, 1, VAR_COUNT, 1024,
         PLAN_DIRECT, STORE_AUTO, PREC_FLOAT, false},
        {"fit store rank=256, 16 targets", "pcg", "srht2", 20000, 4096, 256, 16, VAR_NONE, 0,
         PLAN_STORE, STORE_FLOAT32, PREC_FLOAT, false},
        {"fit regenerate, many rows", "cg", "none", 1000000, 512, 0, 1, VAR_ALL, 0, PLAN_REGENERATE,
         STORE_AUTO, PREC_FLOAT, false},
        {"fit store rescaled, rank chosen, variance=auto", "pcg", "srht2", 20000, 8192, 0, 1,
         VAR_AUTO, 0, PLAN_STORE, STORE_FLOAT32, PREC_FLOAT, true},
        {"fit regenerate rescaled, rank chosen, no variance", "pcg", "srht2", 20000, 8192, 0, 1,
         VAR_NONE, 0, PLAN_REGENERATE, STORE_AUTO, PREC_FLOAT, true},
        {"fit direct rescaled, variance=all", "direct", NULL, 10000, 4096, 0, 1, VAR_ALL, 0,
         PLAN_DIRECT, STORE_AUTO, PREC_FLOAT, true},
        {"fit exact", "exact", NULL, 4000, 4096, 0, 1, VAR_ALL, 0, PLAN_AUTO, STORE_AUTO,
         PREC_FLOAT, false},
    };
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = online > 0 ? (size_t)online : 1;
    const char *only = "";

    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--threads") == 0)
            threads = (size_t)atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--only") == 0)
            only = argv[i + 1];
    report_open(NULL);
    report_head();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strstr(cases[i].what, only))
            row(&cases[i], threads);
    return report_close();
}
