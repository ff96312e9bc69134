/* tests/bench/bench_machine.c -- the machine of a benchmark run, as one JSON object: what it is,
 * and what a short probe finds that it can do.
 *
 *     bench_machine FILE VERSION COMPILER */
#include "report.h"

#include "base/buf.h"
#include "base/mem.h"
#include "compute/backend.h"
#include "compute/linalg/blas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The first line of /proc/cpuinfo that begins with `key`, without it. */
static void cpuinfo(const char *key, char *out, size_t len)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[4096];

    snprintf(out, len, "%s", "unknown");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0) {
            const char *p = strchr(line, ':');
            snprintf(out, len, "%.*s", p ? (int)strcspn(p + 1 + strspn(p + 1, " "), "\n") : 0,
                     p ? p + 1 + strspn(p + 1, " ") : "");
            break;
        }
    if (f)
        fclose(f);
}

static double load(void)
{
    double one = 0.0;

    return getloadavg(&one, 1) == 1 ? one : -1.0;
}

static void field(struct buf *b, const char *key, double x)
{
    buf_printf(b, ",\n \"%s\":", key);
    buf_json_double(b, x);
}

static void text(struct buf *b, const char *key, const char *s)
{
    buf_printf(b, "%s\"%s\":", b->len > 1 ? ",\n " : "", key);
    buf_json_string(b, s);
}

static void probe(struct buf *b, const char *words, const char *key, double x, const char *unit)
{
    printf("%-46s %8.4g %s\n", words, x, unit);
    fflush(stdout);
    field(b, key, x);
}

int main(int argc, char **argv)
{
    struct buf b = { 0 };
    char name[128], model[64], day[32];
    const time_t t = time(NULL);
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct pool *pool = pool_new(cores > 0 ? (size_t)cores : 1, NULL);

    if (argc != 4 || !pool) {
        fprintf(stderr, "bench_machine FILE VERSION COMPILER\n");
        return 2;
    }
    blas_init();
    cpuinfo("model name", name, sizeof name);
    cpuinfo("model\t", model, sizeof model);
    strftime(day, sizeof day, "%Y-%m-%d %H:%M", localtime(&t));
    buf_putc(&b, '{');
    text(&b, "gpdesk", argv[2]);
    text(&b, "date", day);
    text(&b, "cpu", name);
    text(&b, "cpu_model", model);
    text(&b, "level", cpu_level());
    text(&b, "blas", blas_describe());
    text(&b, "compiler", argv[3]);
    field(&b, "cores", (double)cores);
    field(&b, "load_at_start", load());
    field(&b, "memory_bytes", (double)mem_physical());
    field(&b, "l1d_bytes", (double)sysconf(_SC_LEVEL1_DCACHE_SIZE));
    field(&b, "l2_bytes", (double)sysconf(_SC_LEVEL2_CACHE_SIZE));
    field(&b, "l3_bytes", (double)sysconf(_SC_LEVEL3_CACHE_SIZE));
    printf("%s (model %s), %ld cores, level %s, load %.2f\n%s\n", name, model, cores, cpu_level(),
           load(), blas_describe());
    probe(&b, "clock of a working thread", "clock_ghz", report_clock_ghz(), "GHz");
    probe(&b, "float32 multiply-adds in registers, 1 thread", "fma_f32_gflops", report_fma(false),
          "GFLOP/s");
    probe(&b, "float64 multiply-adds in registers, 1 thread", "fma_f64_gflops", report_fma(true),
          "GFLOP/s");
    probe(&b, "scaling 16 KB in place, 1 thread", "scale_16k_gbs", report_scale(16 << 10), "GB/s");
    probe(&b, "scaling 256 KB in place, 1 thread", "scale_256k_gbs", report_scale(256 << 10),
          "GB/s");
    probe(&b, "scaling 8 MB in place, 1 thread", "scale_8m_gbs", report_scale(8 << 20), "GB/s");
    probe(&b, "scaling 256 MB in place, 1 thread", "scale_256m_gbs", report_scale(256 << 20),
          "GB/s");
    probe(&b, "reading 256 MB, 1 thread", "read_gbs", report_read(NULL, 256 << 20), "GB/s");
    probe(&b, "reading 256 MB, all threads, wall time", "read_all_gbs",
          report_read(pool, 256 << 20), "GB/s");
    probe(&b, "copying 128 MB, 1 thread", "copy_gbs", report_copy(NULL, 256 << 20), "GB/s");
    probe(&b, "copying 128 MB, all threads, wall time", "copy_all_gbs",
          report_copy(pool, 256 << 20), "GB/s");
    buf_puts(&b, "}\n");
    FILE *f = fopen(argv[1], "w");
    const bool failed = !f || fputs(buf_str(&b), f) < 0 || fclose(f) != 0;
    if (failed)
        perror(argv[1]);
    buf_free(&b);
    pool_free(pool);
    return failed;
}
