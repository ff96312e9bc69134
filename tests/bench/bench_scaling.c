/* tests/bench/bench_scaling.c -- how long jobs would take on many cores: the tasks of the pool are
 * recorded on one core, cut as for 64 threads, then scheduled on 2 to 64 cores.  Each
 * task in order goes to the core that is free first, a job begins after the one before has ended,
 * and what the calling thread does between jobs is done on one core.  A job takes at least the time
 * in which the bytes that its tasks are known to move pass through the memory, which all cores
 * share.
 *
 *   bench_scaling [--small] [--features M] [--rows n] [--bandwidth GB/s] [--stages] [JOB]
 *   bench_scaling --real THREADS [--small] [--features M] [--rows n] [JOB]
 *
 * --real runs the jobs instead on one thread and on THREADS in turn, at least 3 times each and for
 * 6 seconds, and compares the least wall seconds of each.  Only an idle machine shows what threads
 * bring.  What is lost is either time in which threads wait (busy), or time that the same work
 * takes longer where other cores work too: two copies of a job at once, on one thread each, show
 * what the machine leaves of twice the speed.
 *
 * Without --features M is 512 and 2,048; --small: 512 alone; --stages: what each stage loses.
 * Rows are 10,000, 20,000, 100,000 and 200,000, or n and 2 n.  More rows come from the last two
 * runs: jobs, tasks, seconds and bytes of each stage continue on the line through both, in tasks of
 * equal length.  From 65,536 rows on products are cut as for any more (fop_panel.c), so that a line
 * should begin there. */
#include "report.h"

#include "compute/backend.h"
#include "compute/linalg/blas.h"
#include "compute/models/model.h"
#include "compute/rng.h"
#include "compute/stats/kpca.h"
#include "compute/tuners/tune.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INPUTS = 10, ROOM = 1 << 21, CUT_FOR = 64, PHASES = 64, SIZES = 6 };
static const size_t cores[SIZES] = { 2, 4, 8, 16, 32, 64 };
static double bandwidth = 200e9; /* bytes a second of the whole machine */
static bool stages;
static struct pool_task *record;
static struct err err;

static void must(enum status rc)
{
    if (rc != ST_OK)
        report_die(err.msg);
}

/* The jobs of one name: their number, tasks, seconds on one core, seconds of the calling thread
 * before them, bytes; and for each number of cores the seconds that a schedule takes. */
struct stage {
    const char *name;
    double jobs, tasks, seconds, alone, bytes;
    double rounds[SIZES]; /* tasks that the core with most of them does, if all are equally long */
    double takes[SIZES];
};
struct run { struct stage phase[PHASES]; size_t phases; double alone; };

static struct stage *phase_named(struct run *r, const char *name)
{
    size_t i = 0;

    while (i < r->phases && strcmp(r->phase[i].name, name) != 0)
        i++;
    if (i == PHASES)
        report_die("too many phases");
    if (i == r->phases)
        r->phase[r->phases++] = (struct stage){ .name = name };
    return &r->phase[i];
}

/* Seconds of some recorded tasks on so many cores. */
static double job_takes(size_t n, const struct pool_task *task, size_t many)
{
    double free_at[CUT_FOR] = { 0 }, end = 0.0, bytes = 0.0;

    for (size_t i = 0; i < n; i++) {
        size_t first = 0;
        for (size_t c = 1; c < many; c++)
            if (free_at[c] < free_at[first])
                first = c;
        free_at[first] += task[i].end - task[i].start;
        end = free_at[first] > end ? free_at[first] : end;
        bytes += task[i].bytes;
    }
    return fmax(end, bytes / bandwidth);
}

/* What was recorded, by phase and scheduled.  begin, end: processor time of the whole. */
static struct run *scheduled(const struct pool_trace *t, double begin, double end)
{
    struct run *r = report_need(1, sizeof *r);
    double last = begin;

    for (size_t i = 0, n; i < t->used; i += n) {
        const struct pool_task *task = t->task + i;
        for (n = 1; i + n < t->used && task[n].job == task->job; n++)
            ;
        struct stage *p = phase_named(r, task->name);
        p->jobs += 1.0;
        p->tasks += (double)n;
        p->alone += task->start - last;
        for (size_t k = 0; k < n; k++) {
            p->seconds += task[k].end - task[k].start;
            p->bytes += task[k].bytes;
        }
        for (size_t c = 0; c < SIZES; c++) {
            p->rounds[c] += ceil((double)n / (double)cores[c]);
            p->takes[c] += job_takes(n, task, cores[c]);
        }
        last = task[n - 1].end;
    }
    r->alone = end - last;
    return r;
}

static double on_line(double a, double b, double times)
{
    return fmax(a + (b - a) * (times - 1.0), 0.0);
}

/* The same for seconds of few tasks: those that change by less than a quarter while n doubles do
 * not depend on n, and a line would multiply their scatter. */
static double steady(double a, double b, double times)
{
    return fabs(b - a) < 0.25 * a ? 0.5 * (a + b) : on_line(a, b, times);
}

/* The run of `times` as many rows as the first of two, of which the second has twice as many. */
static struct run *continued(const struct run *a, struct run *b, double times)
{
    struct run *r = report_need(1, sizeof *r);

    r->alone = steady(a->alone, b->alone, times);
    for (size_t i = 0; i < a->phases; i++) {
        const struct stage *p = &a->phase[i], *q = phase_named(b, p->name);
        struct stage *to = phase_named(r, p->name);
        /* Fewer jobs, of fewer iterations, do not become none. */
        to->jobs = fmax(on_line(p->jobs, q->jobs, times), fmax(q->jobs, 1.0));
        to->tasks = fmax(on_line(p->tasks, q->tasks, times), fmax(q->tasks, to->jobs));
        const bool few = p->jobs == q->jobs && p->tasks == q->tasks && q->tasks < 64.0 * q->jobs;
        to->seconds = (few ? steady : on_line)(p->seconds, q->seconds, times);
        to->alone = steady(p->alone, q->alone, times);
        to->bytes = on_line(p->bytes, q->bytes, times);
        for (size_t c = 0; c < SIZES; c++) {
            to->rounds[c] = fmax(on_line(p->rounds[c], q->rounds[c], times),
                                 fmax(q->rounds[c], to->tasks / (double)cores[c]));
            to->rounds[c] = fmax(to->rounds[c], to->jobs);
            to->takes[c] = fmax(to->rounds[c] * to->seconds / to->tasks, to->bytes / bandwidth);
        }
    }
    return r;
}

/* The efficiency of 64 cores if all work were cut into equal parts: what the memory leaves. */
static double memory_leaves(const struct run *r, double one, double alone)
{
    double takes = alone / 64.0;

    for (size_t i = 0; i < r->phases; i++)
        takes += fmax(r->phase[i].seconds / 64.0, r->phase[i].bytes / bandwidth);
    return one / takes / 64.0;
}

/* Prints the stages that keep 64 cores from a hundredth of the job or more. */
static void tell_stages(const struct run *r, double one)
{
    for (size_t i = 0; i < r->phases; i++) {
        const struct stage *p = &r->phase[i];
        const double lost = p->takes[SIZES - 1] - p->seconds / 64.0;
        if (lost + p->alone > 0.0005 * one)
            printf("    %-20s %7.0f jobs %9.0f tasks %9.4f s, alone %8.5f s; lost on 16, 64: "
                   "%.5f %.5f s\n",
                   p->name, p->jobs, p->tasks, p->seconds, p->alone,
                   p->takes[3] - p->seconds / 16.0, lost);
    }
    printf("    %-20s alone %.5f s\n", "at the end", r->alone);
}

/* Prints the efficiency for each number of cores, in brackets what the memory would leave of 64,
 * and the phase that loses most on 64. */
static void tell(const char *what, size_t n, size_t M, const char *how, const struct run *r)
{
    double one = r->alone, alone = r->alone;
    char words[120];
    double share[SIZES];

    for (size_t i = 0; i < r->phases; i++) {
        one += r->phase[i].seconds + r->phase[i].alone;
        alone += r->phase[i].alone;
    }
    printf("%-9s %9zu %6zu %-9s %8.2f s %5.1f %%", what, n, M, how, one, 100.0 * alone / one);
    for (size_t c = 0; c < SIZES; c++) {
        double takes = alone;
        for (size_t i = 0; i < r->phases; i++)
            takes += r->phase[i].takes[c];
        share[c] = one / takes / (double)cores[c];
        printf(" %4.0f", 100.0 * share[c]);
    }
    printf(" (%3.0f)", 100.0 * memory_leaves(r, one, alone));
    double worst = alone / one;
    const char *name = "between jobs";
    for (size_t i = 0; i < r->phases; i++) {
        const struct stage *p = &r->phase[i];
        const double lost = (p->takes[SIZES - 1] - p->seconds / 64.0) / one;
        if (lost > worst) {
            worst = lost;
            name = p->name;
        }
    }
    printf("  %s\n", name);
    if (stages)
        tell_stages(r, one);
    snprintf(words, sizeof words, "%s n=%zu M=%zu %s, 16 cores", what, n, M, how);
    report_row(&(struct report_row){ .section = "scaling", .what = words, .threads = 16,
        .value = 100.0 * share[3], .unit = "%", .sense = REPORT_ABSOLUTE, .floor = 80.0 });
    snprintf(words, sizeof words, "%s n=%zu M=%zu %s, 64 cores", what, n, M, how);
    report_row(&(struct report_row){ .section = "scaling", .what = words, .threads = 64,
        .value = 100.0 * share[5], .unit = "%", .sense = REPORT_ABSOLUTE, .floor = 65.0 });
    fflush(stdout);
}

/* The jobs. */

struct job {
    size_t n, M;
    struct pool *pool;
    struct kernel k;
    double *X, *y, *mean;
    struct source_array src;
    struct model *model;
};

static void job_open(struct job *j, size_t n, size_t M, struct pool *pool)
{
    double hp[KERNEL_MAX_HP];

    *j = (struct job){ .n = n, .M = M, .pool = pool };
    must(kernel_parse("rbf", &j->k, hp, &err));
    j->X = report_need(n * INPUTS, sizeof *j->X);
    j->y = report_need(n, sizeof *j->y);
    j->mean = report_need(8 * n, sizeof *j->mean); /* or 8 coordinates of each row */
    for (size_t i = 0; i < n * INPUTS; i++)
        j->X[i] = rng_normal(1, rng_stream(RNG_TEST, 0), i);
    for (size_t i = 0; i < n; i++)
        j->y[i] = sin(j->X[i * INPUTS]) + 0.5 * cos(j->X[i * INPUTS + 1]) +
                  0.3 * rng_normal(1, rng_stream(RNG_TEST, 1), i);
    source_array_init(&j->src, j->X, n, INPUTS, INPUTS);
}

static void job_close(struct job *j)
{
    model_unref(j->model);
    free(j->X), free(j->y), free(j->mean);
}

static void search(struct job *j, bool approx, size_t evals)
{
    const struct tune_opts o = { .method = "bayes", .features = j->M, .max_evals = evals,
                                 .subsample = j->n, .polish = !approx, .approx = approx,
                                 .probes = 16, .rank = approx ? 64 : 0, .seed = 7 };
    struct tune_result r;

    must(tune_run(&j->k, &j->src.base, j->y, &o, &(struct tools){ backend_cpu(), j->pool, NULL },
                  &r, &err));
    tune_result_free(&r);
}

static void fit(struct job *j, const char *solver, enum plan plan)
{
    struct fit_opts o = { .solver = solver, .features = j->M, .kernel = j->k, .seed = 7,
                          .rtol = 1e-12, .maxit = 20, .rank = j->M / 8, .plan = plan,
                          .variance = VAR_NONE, .keep_scale = true, .amplitude = 1.0,
                          .noise = 0.3 };
    struct fit_info info;

    o.hp[0] = 2.0;
    if (strcmp(solver, "direct") == 0 || strcmp(solver, "exact") == 0)
        o.variance = VAR_ALL, o.rank = 0;
    must(model_fit(&j->src.base, j->y, &o, &(struct tools){ backend_cpu(), j->pool, NULL },
                   &j->model, &info, NULL, &err));
}

static void do_tune(struct job *j) { search(j, false, 0); }
static void do_slq(struct job *j) { search(j, true, 2); }
static void do_direct(struct job *j) { fit(j, "direct", PLAN_AUTO); }
static void do_stored(struct job *j) { fit(j, "pcg", PLAN_STORE); }
static void do_made(struct job *j) { fit(j, "pcg", PLAN_REGENERATE); }
static void do_exact(struct job *j) { fit(j, "exact", PLAN_AUTO); }

static void predict(struct job *j, double *var)
{
    must(model_predict(j->model, &j->src.base, j->mean, var,
                       &(struct tools){ backend_cpu(), j->pool, NULL }, &err));
}
static void do_mean(struct job *j) { predict(j, NULL); }
static void do_variance(struct job *j) { predict(j, j->mean + j->n); }

static void do_pca(struct job *j)
{
    struct kernel k = j->k;
    size_t from[KERNEL_MAX_HP];
    const double l = 2.0;
    struct kpca pca;

    must(kernel_bind(&k, INPUTS, from, &err));
    struct featmap *fm = featmap_new(&k, INPUTS, j->M, 5, &err);
    const struct fop_opts o = { .pool = j->pool };
    struct fop *f = fm ? fop_new(backend_cpu(), fm, &j->src.base, &o, &err) : NULL;
    if (!f)
        report_die(err.msg);
    must(fop_set(f, &l, &err));
    must(kpca_fit(f, 8, 7, NULL, &pca, &err));
    must(kpca_project(&pca, f, j->mean, NULL, &err));
    kpca_free(&pca);
    fop_free(f);
    featmap_free(fm);
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct what { const char *name; void (*fn)(struct job *); bool fitted; };
enum { LEAST = 3, MOST = 100, ENOUGH = 6 /* seconds */ };
struct real { struct pool *one, *other, *many; size_t threads; };

static const struct what whats[] = {
    { "tune", do_tune, false },
    { "direct", do_direct, false },
    { "stored", do_stored, false }, /* pcg, features stored */
    { "made", do_made, false },     /* pcg, features made anew in each pass */
    { "score", do_mean, true },
    { "variance", do_variance, true },
    { "pca", do_pca, false },
    { "slq", do_slq, false },
    { "exact", do_exact, false },
};

static struct run *measured(const struct what *w, size_t n, size_t M, struct pool *pool)
{
    struct pool_trace trace = { .task = record, .room = ROOM, .threads = CUT_FOR };
    struct job j;

    job_open(&j, n, M, pool);
    pool_trace_for_tests(pool, &trace);
    if (w->fitted)
        fit(&j, "direct", PLAN_AUTO);
    trace.used = trace.jobs = 0;
    const double begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    w->fn(&j);
    const double end = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    pool_trace_for_tests(pool, NULL);
    job_close(&j);
    if (trace.used > ROOM)
        report_die("more tasks than there is room for");
    return scheduled(&trace, begin, end);
}

/* Measures n and, with `twice`, 2 n rows, and continues these up to `most` rows. */
static void rows_of(const struct what *w, size_t n, bool twice, size_t most, size_t M,
                    struct pool *pool)
{
    struct run *a = measured(w, n, M, pool);

    tell(w->name, n, M, "measured", a);
    if (twice) {
        struct run *b = measured(w, 2 * n, M, pool);
        tell(w->name, 2 * n, M, "measured", b);
        for (size_t f = 10; n * f <= most; f *= 10) {
            struct run *c = continued(a, b, (double)f);
            tell(w->name, n * f, M, "continued", c);
            free(c);
        }
        free(b);
    }
    free(a);
}

struct took { double wall, processor; };

static struct took time_of(const struct what *w, size_t n, size_t M, struct pool *pool)
{
    struct job j;

    job_open(&j, n, M, pool);
    if (w->fitted)
        fit(&j, "direct", PLAN_AUTO);
    const struct took begin = { seconds_of(CLOCK_MONOTONIC), seconds_of(CLOCK_PROCESS_CPUTIME_ID) };
    w->fn(&j);
    const struct took t = { seconds_of(CLOCK_MONOTONIC) - begin.wall,
                            seconds_of(CLOCK_PROCESS_CPUTIME_ID) - begin.processor };
    job_close(&j);
    return t;
}

static struct took quicker(struct took a, struct took b) { return b.wall < a.wall ? b : a; }

struct copy { const struct what *w; size_t n, M; struct pool *pool; struct took took; };

static void *copy_run(void *ctx)
{
    struct copy *c = ctx;

    c->took = time_of(c->w, c->n, c->M, c->pool);
    return NULL;
}

/* Wall seconds of two copies of a job at once, each on one thread: what the clock and the memory
 * of two cores leave to either. */
static double two_copies(const struct what *w, size_t n, size_t M, const struct real *r)
{
    struct copy a = { w, n, M, r->one, { 0, 0 } }, b = { w, n, M, r->other, { 0, 0 } };
    pthread_t there;

    if (pthread_create(&there, NULL, copy_run, &b) != 0)
        report_die("no thread");
    copy_run(&a);
    pthread_join(there, NULL);
    return 0.5 * (a.took.wall + b.took.wall);
}

/* One job on one thread and on some in turn. */
static void real_row(const struct what *w, size_t n, size_t M, const struct real *r)
{
    struct took one = { INFINITY, 0 }, many = { INFINITY, 0 };
    double copies = INFINITY;
    const double begin = seconds_of(CLOCK_MONOTONIC);
    char words[120];

    for (size_t i = 0; i < LEAST || (i < MOST && seconds_of(CLOCK_MONOTONIC) - begin < ENOUGH);
         i++) {
        one = quicker(one, time_of(w, n, M, r->one));
        many = quicker(many, time_of(w, n, M, r->many));
        copies = fmin(copies, two_copies(w, n, M, r));
    }
    const double threads = (double)r->threads;
    printf("%-9s %9zu %6zu %9.4f s %9.4f s on %zu %5.2f times, threads busy %3.0f %%, "
           "two copies at once %4.2f times\n", w->name, n, M, one.wall, many.wall, r->threads,
           one.wall / many.wall, 100.0 * many.processor / many.wall / threads,
           2.0 * one.wall / copies);
    snprintf(words, sizeof words, "%s n=%zu M=%zu, %zu threads by one", w->name, n, M, r->threads);
    report_row(&(struct report_row){ .section = "threads", .what = words, .threads = r->threads,
        .value = one.wall / many.wall, .unit = "times", .sense = REPORT_ABSOLUTE,
        .floor = 0.925 * threads });
    fflush(stdout);
}

static void real_rows(const struct what *w, size_t rows, size_t M, const struct real *r)
{
    static const size_t usual[] = { 10000, 100000 };

    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        if (!rows || i == 0)
            real_row(w, rows ? rows : usual[i], M, r);
}

/* All rows of a job: `rows`, or the usual ones. */
static void job_rows(const struct what *w, size_t rows, size_t M, struct pool *pool)
{
    enum { FEW = 10000, MANY = 100000, END = 10000000 };

    if (!rows)
        rows_of(w, FEW, true, FEW, M, pool);
    rows_of(w, rows ? rows : MANY, true, END, M, pool);
}

struct asked { bool small; size_t features, rows, real; const char *only; };

static struct asked options(int argc, char **argv)
{
    struct asked a = { 0 };

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--small") == 0)
            a.small = true;
        else if (strcmp(argv[i], "--stages") == 0)
            stages = true;
        else if (strcmp(argv[i], "--rows") == 0 && i + 1 < argc)
            a.rows = (size_t)atol(argv[++i]);
        else if (strcmp(argv[i], "--features") == 0 && i + 1 < argc)
            a.features = (size_t)atol(argv[++i]);
        else if (strcmp(argv[i], "--real") == 0 && i + 1 < argc)
            a.real = (size_t)atol(argv[++i]);
        else if (strcmp(argv[i], "--bandwidth") == 0 && i + 1 < argc)
            bandwidth = 1e9 * atof(argv[++i]);
        else
            a.only = argv[i];
    }
    return a;
}

/* The jobs that are asked for: `exact`, the last, whose columns are its rows, comes once. */
static void jobs(const struct asked *a, struct pool *one, const struct real *r)
{
    const struct what *last = &whats[sizeof whats / sizeof whats[0] - 1];
    const size_t most = a->features ? a->features : a->small ? 512 : 2048;

    for (size_t M = a->features ? a->features : 512; M <= most; M *= 4)
        for (const struct what *w = whats; w < last; w++)
            if (a->only && strcmp(a->only, w->name) != 0)
                continue;
            else if (r->many)
                real_rows(w, a->rows, M, r);
            else
                job_rows(w, a->rows, M, one);
    if (a->features || (a->only && strcmp(a->only, last->name) != 0))
        return;
    if (r->many)
        real_row(last, a->rows ? a->rows : a->small ? 1000 : 4000, 512, r);
    else
        rows_of(last, a->small ? 1000 : 4000, false, 0, 512, one);
}

static struct pool *pool_of(size_t threads)
{
    struct pool *p = pool_new(threads, &err);

    if (!p)
        report_die(err.msg);
    return p;
}

int main(int argc, char **argv)
{
    const struct asked a = options(argc, argv);

    blas_init();
    report_open(getenv("GPDESK_BENCH_ROWS"));
    record = report_need(ROOM, sizeof *record);
    struct real r = { .one = pool_of(1), .other = pool_of(1), .threads = a.real };
    if (a.real)
        r.many = pool_of(a.real);
    else
        printf("schedules of recorded tasks, %.0f GB/s shared; %% of one core's speed on each of\n"
               "%-9s %9s %6s %-9s %10s %7s %4s %4s %4s %4s %4s %4s mem.  most lost on 64\n",
               bandwidth / 1e9, "job", "n", "M", "tasks", "one core", "alone", "2", "4", "8", "16",
               "32", "64");
    jobs(&a, r.one, &r);
    pool_free(r.one);
    pool_free(r.other);
    pool_free(r.many);
    free(record);
    return report_close();
}
