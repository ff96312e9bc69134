/* tests/bench/bench_gp.c -- tune, fit and score on the shared data without the program around them:
 *
 *   bench_gp NAME KERNEL [key=value...]
 *
 * Keys: tune fit rank solver seed threads rtol split method evals exact polish l amplitude noise.
 *
 * Reads ../shared/data/NAME/{data,splits}.csv.gz through zcat, standardises on the training rows,
 * prints each evaluation and the figures of the table. */
#include "base/mem.h"
#include "compute/backend.h"
#include "compute/linalg/blas.h"
#include "compute/stats/metrics.h"
#include "compute/models/model.h"
#include "compute/tuners/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct table { double *v; size_t rows, cols; char name[64][32]; };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_gp: %s\n", what);
    exit(1);
}

static struct table read_csv(const char *path)
{
    char cmd[4096], *line = NULL;
    size_t cap = 0, room = 0;
    struct table t = { 0 };

    snprintf(cmd, sizeof cmd, "zcat '%s'", path);
    FILE *in = popen(cmd, "r");
    if (in == NULL || getline(&line, &cap, in) <= 0)
        die(path);
    for (char *p = strtok(line, ",\n"); p && t.cols < 64; p = strtok(NULL, ",\n"))
        snprintf(t.name[t.cols++], sizeof t.name[0], "%s", p);
    while (getline(&line, &cap, in) > 0) {
        if (mem_grow((void **)&t.v, &room, (t.rows + 1) * t.cols, sizeof *t.v, "data", NULL))
            die("memory");
        char *p = line;
        for (size_t c = 0; c < t.cols; c++, p++)
            t.v[t.rows * t.cols + c] = strtod(p, &p);
        t.rows++;
    }
    free(line);
    pclose(in);
    return t;
}

struct data { size_t n, nt, d; double *X, *y, *Xt, *yt; };

static struct data load(const char *name, const char *split)
{
    char path[512];
    const char *root = getenv("GPDESK_SHARED") ? getenv("GPDESK_SHARED") : "../shared";
    struct data s = { 0 };

    snprintf(path, sizeof path, "%s/data/%s/data.csv.gz", root, name);
    struct table t = read_csv(path);
    snprintf(path, sizeof path, "%s/data/%s/splits.csv.gz", root, name);
    struct table m = read_csv(path);
    size_t col = 0, yc = t.cols - 1;
    while (col < m.cols && strcmp(m.name[col], split) != 0)
        col++;
    if (col == m.cols || m.rows != t.rows)
        die("split");
    s.d = t.cols - 1;
    s.X = malloc(t.rows * s.d * sizeof *s.X), s.Xt = malloc(t.rows * s.d * sizeof *s.X);
    s.y = malloc(t.rows * sizeof *s.y), s.yt = malloc(t.rows * sizeof *s.y);
    for (size_t c = 0; c < t.cols; c++) {
        double mean = 0, var = 0, n = 0;
        for (size_t r = 0; r < t.rows; r++)
            if (m.v[r * m.cols + col] < 0.5)
                mean += t.v[r * t.cols + c], n += 1;
        mean /= n;
        for (size_t r = 0; r < t.rows; r++)
            if (m.v[r * m.cols + col] < 0.5)
                var += pow(t.v[r * t.cols + c] - mean, 2) / n;
        const double sd = var > 1e-20 ? sqrt(var) : 1.0;
        s.n = s.nt = 0;
        for (size_t r = 0; r < t.rows; r++) {
            const double v = (t.v[r * t.cols + c] - mean) / sd;
            const int test = m.v[r * m.cols + col] > 0.5;
            double *X = test ? s.Xt : s.X, *y = test ? s.yt : s.y;
            const size_t i = test ? s.nt++ : s.n++;
            if (c == yc)
                y[i] = v;
            else
                X[i * s.d + c] = v;
        }
    }
    free(t.v);
    free(m.v);
    return s;
}

static double start_time, last_time;
static void on_tick(void *ctx, const struct tick *t)
{
    (void)ctx;
    if (t->phase != PHASE_TUNE)
        return;
    printf("  %3zu  nmll %.2f  best %.2f  ", t->done, t->value, t->value2);
    for (size_t i = 0; i < t->npoint; i++)
        printf(" %.5g", t->point[i]);
    printf("   %.2f s\n", now() - last_time);
    last_time = now();
    fflush(stdout);
}

static const char *opt(int argc, char **argv, const char *key, const char *fallback)
{
    const size_t n = strlen(key);
    for (int i = 3; i < argc; i++)
        if (strncmp(argv[i], key, n) == 0 && argv[i][n] == '=')
            return argv[i] + n + 1;
    return fallback;
}

int main(int argc, char **argv)
{
    struct err err = { 0 };
    struct kernel k;
    double set[KERNEL_MAX_HP];

    if (argc < 3)
        die("bench_gp NAME KERNEL [key=value...]");
    blas_init();
    struct pool *pool = pool_new((size_t)atoi(opt(argc, argv, "threads", "2")), &err);
    if (pool == NULL || kernel_parse(argv[2], &k, set, &err) != ST_OK)
        die(err.msg);
    struct data s = load(argv[1], opt(argc, argv, "split", "split0"));
    struct source_array src, test;
    source_array_init(&src, s.X, s.n, s.d, s.d);
    source_array_init(&test, s.Xt, s.nt, s.d, s.d);
    printf("%s: %zu train, %zu test, %zu inputs\n", argv[1], s.n, s.nt, s.d);

    const uint64_t seed = (uint64_t)atoll(opt(argc, argv, "seed", "7"));
    const bool exact = atoi(opt(argc, argv, "exact", "0"));
    struct ctl ctl = { .tick = on_tick };
    struct fit_opts fo = { .solver = exact ? "exact" : opt(argc, argv, "solver", "pcg"),
                           .features = (size_t)atol(opt(argc, argv, "fit", "8192")),
                           .rank = (size_t)atol(opt(argc, argv, "rank", "1024")),
                           .rtol = atof(opt(argc, argv, "rtol", "1e-6")), .maxit = 500,
                           .seed = seed, .kernel = k };
    fo.amplitude = atof(opt(argc, argv, "amplitude", "0"));
    fo.noise = atof(opt(argc, argv, "noise", "0"));
    fo.hp[0] = atof(opt(argc, argv, "l", "0"));
    start_time = last_time = now();
    if (fo.noise == 0.0) {
        struct tune_opts to = { .method = opt(argc, argv, "method", "bayes"),
                                .kind = exact ? &exact_model : NULL,
                                .features = (size_t)atol(opt(argc, argv, "tune", "2048")),
                                .max_evals = (size_t)atol(opt(argc, argv, "evals", "0")),
                                .polish = atoi(opt(argc, argv, "polish", "1")), .seed = seed };
        struct tune_result tr;
        if (tune_run(&k, &src.base, s.y, &to, &(struct tools){backend_cpu(), pool, &ctl}, &tr,
                     &err) != ST_OK)
            die(err.msg);
        printf("tune: %.1f s, %zu evaluations, nmll %.3f, hp %.5g, amplitude %.5g, noise %.5g, "
               "effective dimension %.0f; %s\n", now() - start_time, tr.evaluations, tr.best.nmll,
               tr.best.hp[0], tr.best.amplitude, tr.best.noise, tr.effective_dimension,
               tr.verdict);
        memcpy(fo.hp, tr.best.hp, sizeof fo.hp);
        fo.amplitude = tr.best.amplitude;
        fo.noise = tr.best.noise;
        tune_result_free(&tr);
    }
    if (fo.features == 0)
        return 0;
    struct model *m;
    struct fit_info info;
    if (model_fit(&src.base, s.y, &fo, &(struct tools){backend_cpu(), pool, &ctl}, &m, &info, NULL,
                  &err) != ST_OK)
        die(err.msg);
    printf("fit: %s %s rank %zu, %zu iterations, residual %.2e true %.2e, ratio %.3g, variance "
           "%zu, effective dimension %.0f\n  %s\n  %s %s\n  seconds: features %.2f precond %.2f "
           "solve %.2f variance %.2f total %.2f\n", info.solver, info.precond, info.rank,
           info.iterations, info.residual, info.true_residual, info.ratio,
           info.variance_features, info.effective_dimension, info.plan_note, info.warning_name,
           info.warning, info.seconds.features, info.seconds.precond, info.seconds.solve,
           info.seconds.variance, info.seconds.total);
    printf("  train rmse %.4f, scale %.4f: amplitude %.4f noise %.4f\n", info.train_rmse,
           info.scale, info.amplitude, info.noise);
    double t = now();
    double *mean = malloc(s.nt * sizeof *mean), *var = malloc(s.nt * sizeof *var), vbar = 0.0;
    if (model_predict(m, &test.base, mean, NULL, &(struct tools){backend_cpu(), pool, NULL},
                      &err) != ST_OK)
        die(err.msg);
    const double tm = now() - t;
    t = now();
    if (model_predict(m, &test.base, mean, var, &(struct tools){backend_cpu(), pool, NULL}, &err) !=
        ST_OK)
        die(err.msg);
    for (size_t i = 0; i < s.nt; i++) {
        vbar += var[i] / (double)s.nt;
        var[i] += m->noise * m->noise;
    }
    struct metrics me;
    if (metrics_compute(s.nt, s.yt, mean, var, NULL, &me, &err) != ST_OK)
        die(err.msg);
    printf("score: rmse_scaled %.4f  coverage95 %.4f  nlpd %.4f  nlpd_constant %.4f  "
           "(mean latent sd %.4f; mean %.2f s, with variance %.2f s)\n", me.rmse, me.coverage95,
           me.nlpd, me.nlpd_constant, sqrt(vbar), tm, now() - t);
    printf("total %.1f s, peak %.2f GB\n", now() - start_time, (double)mem_peak_rss() / 1e9);
    model_unref(m);
    pool_free(pool);
    free(mean);
    free(var);
    free(s.X);
    free(s.Xt);
    free(s.y);
    free(s.yt);
    return 0;
}
