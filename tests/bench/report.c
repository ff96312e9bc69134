/* tests/bench/report.c -- see report.h. */
#include "report.h"

#include "base/buf.h"
#include "base/mem.h"
#include "compute/backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

size_t report_rounds = 5;
static FILE *rows;
static bool broken;

void report_die(const char *what)
{
    fprintf(stderr, "benchmark: %s\n", what);
    exit(1);
}

void *report_need(size_t count, size_t size)
{
    struct err err;
    void *p = mem_aligned(count, size, "benchmark", &err);

    if (!p)
        report_die(err.msg);
    memset(p, 0, count * size);
    return p;
}

/* What published figures were measured at: a Zen 4 core under load. */
static const double published_ghz = 3.66;

/* Rows. */

void report_open(const char *path)
{
    path = path ? path : getenv("GPDESK_BENCH_ROWS");
    if (path && !(rows = fopen(path, "a"))) {
        perror(path);
        exit(1);
    }
}

int report_close(void)
{
    if (rows && fclose(rows) != 0)
        broken = true;
    rows = NULL;
    return broken;
}

void report_head(void)
{
    printf("%-58s %9s %-12s %9s %-28s %7s %-15s %7s %8s %-11s %6s\n", "what", "value", "unit",
           "baseline", "", "ratio", "floor (goal)", "cycles", "rate", "", "limit");
}

static double ratio_of(const struct report_row *r)
{
    switch (r->sense) {
    case REPORT_FASTER: return r->baseline / r->value;
    case REPORT_HIGHER:
    case REPORT_NEAR:
    case REPORT_LONGER: return r->value / r->baseline;
    default: return NAN;
    }
}

static bool at_most(const struct report_row *r)
{
    return r->sense == REPORT_LONGER || r->sense == REPORT_BELOW;
}

/* The ratio, or the value, by cycles instead of seconds; NAN: the figure is of this run. */
static double by_cycles(const struct report_row *r)
{
    const double here = r->published || r->by_cycles ? report_clock_ghz() : 0.0;

    if (!(here > 0.0) || at_most(r))
        return NAN;
    return (r->sense == REPORT_ABSOLUTE ? r->value : ratio_of(r)) * published_ghz / here;
}

static bool reached(const struct report_row *r, double mark)
{
    const double x =
        r->sense == REPORT_ABSOLUTE || r->sense == REPORT_BELOW ? r->value : ratio_of(r);

    if (r->sense == REPORT_NEAR)
        return fabs(x - 1.0) <= mark;
    return at_most(r) ? x <= mark : x >= mark;
}

static void number(const char *key, double x, bool given)
{
    struct buf b = { 0 };

    buf_puts(&b, key);
    buf_json_double(&b, given ? x : NAN);
    broken |= fputs(buf_str(&b), rows) < 0;
    buf_free(&b);
}

static void string(const char *key, const char *s)
{
    struct buf b = { 0 };

    buf_puts(&b, key);
    if (s)
        buf_json_string(&b, s);
    else
        buf_puts(&b, "null");
    broken |= fputs(buf_str(&b), rows) < 0;
    buf_free(&b);
}

static void write_row(const struct report_row *r)
{
    static const char *const sense[] = { NULL, "times as fast", "times the rate", "times as long",
                                         "the value, at least", "times as much, within",
                                         "the value, at most" };

    string("{\"section\":", r->section);
    string(",\"row\":", r->what);
    number(",\"threads\":", r->threads ? (double)r->threads : 1.0, true);
    number(",\"value\":", r->value, true);
    string(",\"unit\":", r->unit);
    number(",\"baseline\":", r->baseline, r->baseline > 0.0);
    string(",\"baseline_name\":", r->baseline > 0.0 ? r->baseline_name : NULL);
    string(",\"baseline_from\":",
           r->baseline > 0.0 ? r->published ? "published" : "this run" : NULL);
    number(",\"ratio\":", ratio_of(r), r->baseline > 0.0);
    string(",\"ratio_is\":", sense[r->sense]);
    number(",\"floor\":", r->floor, r->floor > 0.0);
    number(",\"goal\":", r->goal, r->goal > 0.0);
    broken |= fprintf(rows, ",\"reached\":%s",
                      r->floor > 0.0 ? reached(r, r->floor) ? "true" : "false" : "null") < 0;
    const double cycles = by_cycles(r);
    number(",\"by_cycles\":", cycles, !isnan(cycles));
    broken |= fprintf(rows, ",\"reached_by_cycles\":%s", isnan(cycles) || r->floor <= 0.0 ? "null"
                      : cycles >= r->floor ? "true" : "false") < 0;
    number(",\"rate\":", r->rate, r->rate > 0.0);
    string(",\"rate_unit\":", r->rate > 0.0 ? r->rate_unit : NULL);
    number(",\"limit\":", r->limit, r->limit > 0.0);
    string(",\"limit_name\":", r->limit > 0.0 ? r->limit_name : NULL);
    number(",\"of_limit\":", r->rate / r->limit, r->limit > 0.0);
    broken |= fputs("}\n", rows) < 0 || fflush(rows) != 0;
}

void report_row(const struct report_row *r)
{
    char base[16] = "", name[40] = "", ratio[16] = "", mark[40] = "", rate[16] = "", of[16] = "";
    char cycles[16] = "";

    if (r->baseline > 0.0) {
        snprintf(base, sizeof base, "%.4g", r->baseline);
        snprintf(name, sizeof name, "%s%s", r->baseline_name, r->published ? " *" : "");
    }
    if (r->baseline > 0.0 && r->sense != REPORT_FIGURE)
        snprintf(ratio, sizeof ratio, "%.2f", ratio_of(r));
    if (r->floor > 0.0)
        snprintf(mark, sizeof mark, "%s %g%s",
                 r->sense == REPORT_NEAR ? "1 +-"
                 : at_most(r)            ? "<="
                                         : ">=",
                 r->floor, reached(r, r->floor) ? " yes" : " NO");
    if (r->floor > 0.0 && r->goal > 0.0)
        snprintf(mark + strlen(mark), sizeof mark - strlen(mark), " (%g%s)", r->goal,
                 reached(r, r->goal) ? " yes" : "");
    if (r->rate > 0.0)
        snprintf(rate, sizeof rate, "%.4g", r->rate);
    if (r->limit > 0.0)
        snprintf(of, sizeof of, "%.0f %%", 100.0 * r->rate / r->limit);
    if (!isnan(by_cycles(r)))
        snprintf(cycles, sizeof cycles, "%.2f", by_cycles(r));
    printf("%-58s %9.4g %-12s %9s %-28s %7s %-15s %7s %8s %-11s %6s\n", r->what, r->value, r->unit,
           base, name, ratio, mark, cycles, rate, r->rate > 0.0 ? r->rate_unit : "", of);
    fflush(stdout);
    if (rows)
        write_row(r);
}

/* Times. */

static double now(enum report_clock clock)
{
    struct timespec t;

    clock_gettime(clock == REPORT_WALL      ? CLOCK_MONOTONIC
                  : clock == REPORT_PROCESS ? CLOCK_PROCESS_CPUTIME_ID
                                            : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void report_times(enum report_clock clock, size_t n, const struct report_job *jobs, double *seconds)
{
    enum { JOBS = 8, ROUNDS = 15 };
    static const double least = 2e-3, enough = 0.8; /* seconds: of one measurement, of all */
    double t[JOBS][ROUNDS], total = 0.0;
    size_t calls[JOBS], rounds;

    if (n > JOBS)
        report_die("too many jobs in one comparison");
    for (size_t j = 0; j < n; j++) { /* the first call warms up, the second counts */
        double once;
        jobs[j].fn(jobs[j].ctx);
        const double t0 = now(clock);
        jobs[j].fn(jobs[j].ctx);
        once = now(clock) - t0;
        calls[j] = once > least ? 1 : (size_t)(least / fmax(once, 1e-8)) + 1;
        total += once * (double)calls[j];
    }
    rounds = (size_t)(enough / total);
    rounds = rounds < report_rounds ? report_rounds : rounds > ROUNDS ? ROUNDS : rounds;
    rounds = rounds > ROUNDS ? ROUNDS : rounds;
    for (size_t i = 0; i < rounds; i++)
        for (size_t j = 0; j < n; j++) {
            const double t0 = now(clock);
            for (size_t c = 0; c < calls[j]; c++)
                jobs[j].fn(jobs[j].ctx);
            t[j][i] = (now(clock) - t0) / (double)calls[j];
        }
    for (size_t j = 0; j < n; j++) {
        qsort(t[j], rounds, sizeof t[j][0], ascending);
        seconds[j] = 0.5 * (t[j][(rounds - 1) / 2] + t[j][rounds / 2]);
    }
}

double report_time(enum report_clock clock, void (*fn)(void *), void *ctx)
{
    double t;

    report_times(clock, 1, &(struct report_job){ fn, ctx }, &t);
    return t;
}

/* What the machine can do. */

/* Twelve chains hide the latency of any processor in mind; the compiler fuses each into one
 * instruction where the level has it. */
#define FMA_LOOP(name, attribute, type, bytes)                                                   \
    typedef type name##_vec __attribute__((vector_size(bytes)));                                 \
    attribute static double name(size_t n)                                                       \
    {                                                                                            \
        name##_vec a[12], x = { 0 }, y = { 0 };                                                  \
        double sum = 0.0;                                                                        \
        x += (type)0.999;                                                                        \
        y += (type)1e-3;                                                                         \
        for (int i = 0; i < 12; i++)                                                             \
            a[i] = y * (type)i;                                                                  \
        for (size_t k = 0; k < n; k++) {                                                         \
            _Pragma("GCC unroll 12") for (int i = 0; i < 12; i++)                                \
                a[i] = a[i] * x + y;                                                             \
        }                                                                                        \
        for (int i = 0; i < 12; i++)                                                             \
            sum += (double)a[i][0];                                                              \
        return sum;                                                                              \
    }

FMA_LOOP(fma_f32_portable, , float, 16)
FMA_LOOP(fma_f64_portable, , double, 16)
#ifdef __x86_64__
FMA_LOOP(fma_f32_avx2, __attribute__((target("avx2,fma"))), float, 32)
FMA_LOOP(fma_f64_avx2, __attribute__((target("avx2,fma"))), double, 32)
FMA_LOOP(fma_f32_avx512, __attribute__((target("avx512f,avx512vl,avx512dq"))), float, 64)
FMA_LOOP(fma_f64_avx512, __attribute__((target("avx512f,avx512vl,avx512dq"))), double, 64)
#endif

enum { FMA_ROUNDS = 1 << 18 };
struct fma_probe { double (*fn)(size_t); volatile double sink; };

static void run_fma(void *ctx)
{
    struct fma_probe *p = ctx;

    p->sink = p->fn(FMA_ROUNDS);
}

double report_fma(bool dbl)
{
    struct fma_probe p = { .fn = dbl ? fma_f64_portable : fma_f32_portable };
    size_t bytes = 16;

#ifdef __x86_64__
    if (strcmp(cpu_level(), "avx2") == 0) {
        p.fn = dbl ? fma_f64_avx2 : fma_f32_avx2;
        bytes = 32;
    } else if (strcmp(cpu_level(), "portable") != 0) {
        p.fn = dbl ? fma_f64_avx512 : fma_f32_avx512;
        bytes = 64;
    }
#endif
    const double flops = 2.0 * 12.0 * FMA_ROUNDS * (double)bytes / (dbl ? 8.0 : 4.0);
    return 1e-9 * flops / report_time(REPORT_THREAD, run_fma, &p);
}

enum { CHAIN = 1 << 20, LINKS = 8 };
struct chain { volatile unsigned long sink; };

/* Additions of registers, each after the last: one cycle each on every processor in mind (constants
 * may be added without any). */
static void run_chain(void *ctx)
{
    struct chain *c = ctx;
    unsigned long x = 1, y = (unsigned long)c->sink | 1;

    for (size_t i = 0; i < CHAIN; i++) {
#if defined(__x86_64__)
        _Pragma("GCC unroll 8") for (int k = 0; k < LINKS; k++)
            __asm__ volatile("add %1, %0" : "+r"(x) : "r"(y));
#elif defined(__aarch64__)
        _Pragma("GCC unroll 8") for (int k = 0; k < LINKS; k++)
            __asm__ volatile("add %0, %0, %1" : "+r"(x) : "r"(y));
#else
        x += y;
#endif
    }
    c->sink = x;
}

double report_clock_ghz(void)
{
    static double ghz = -1.0;
    struct chain c = { 0 };

#if defined(__x86_64__) || defined(__aarch64__)
    if (ghz < 0.0)
        ghz = 1e-9 * LINKS * CHAIN / report_time(REPORT_THREAD, run_chain, &c);
#else
    (void)run_chain;
    (void)c;
    ghz = 0.0;
#endif
    return ghz;
}

typedef double wide __attribute__((vector_size(64), may_alias));
struct memory_probe { double *from, *to; size_t n; struct pool *pool; double sums[256]; };

static void read_task(void *ctx, size_t task, size_t worker)
{
    struct memory_probe *p = ctx;
    const size_t tasks = pool_threads(p->pool), i0 = p->n / 64 * task / tasks * 64;
    const size_t i1 = p->n / 64 * (task + 1) / tasks * 64;
    wide s[4] = { 0 };

    (void)worker;
    const size_t part = (i1 - i0) / 4; /* four places at once: memory serves them faster than one */
    for (size_t i = i0; i < i0 + part; i += 16)
        for (size_t j = 0; j < 4; j++) {
            s[j] += *(const wide *)(const void *)(p->from + i + j * part);
            s[j] += *(const wide *)(const void *)(p->from + i + j * part + 8);
        }
    s[0] += s[1] + s[2] + s[3];
    p->sums[task % 256] = s[0][0] + s[0][7];
}

static void copy_task(void *ctx, size_t task, size_t worker)
{
    const struct memory_probe *p = ctx;
    const size_t tasks = pool_threads(p->pool), i0 = p->n * task / tasks;

    (void)worker;
    memcpy(p->to + i0, p->from + i0, (p->n * (task + 1) / tasks - i0) * sizeof *p->to);
}

static void run_read(void *ctx)
{
    struct memory_probe *p = ctx;

    pool_run(p->pool, pool_threads(p->pool), read_task, p);
}

static void run_copy(void *ctx)
{
    struct memory_probe *p = ctx;

    pool_run(p->pool, pool_threads(p->pool), copy_task, p);
}

static void run_scale(void *ctx)
{
    const struct memory_probe *p = ctx;

    for (size_t i = 0; i + 8 <= p->n; i += 8)
        *(wide *)(void *)(p->from + i) *= 0.999;
}

static double probe(void (*run)(void *), struct pool *pool, size_t bytes, size_t parts,
                    double moved)
{
    struct memory_probe p = { .n = bytes / parts / sizeof(double), .pool = pool };
    double t;

    p.from = report_need(p.n, sizeof *p.from);
    p.to = parts > 1 ? report_need(p.n, sizeof *p.to) : NULL;
    t = report_time(pool_threads(pool) > 1 ? REPORT_WALL : REPORT_THREAD, run, &p);
    free(p.from);
    free(p.to);
    return 1e-9 * moved / t;
}

double report_read(struct pool *pool, size_t bytes)
{
    return probe(run_read, pool, bytes, 1, (double)bytes);
}

double report_scale(size_t bytes)
{
    return probe(run_scale, NULL, bytes, 1, 2.0 * (double)bytes);
}

double report_copy(struct pool *pool, size_t bytes)
{
    return probe(run_copy, pool, bytes, 2, (double)bytes);
}
