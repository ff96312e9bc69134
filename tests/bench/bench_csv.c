/* tests/bench/bench_csv.c -- how fast tables are read: generated numbers of several forms in one
 * file each, then files named on the command line.
 *     bench_csv [FILE...]        MB/s are of unpacked text, by processor time (other programs
 *                                may share the machine), everything included */
#include "data/formats/import.h"
#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 400000, COLS = 11 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t state = 1;

static double draw(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return ((double)((z ^ (z >> 31)) >> 11) * 0x1p-53 - 0.5) * 20.0;
}

static int print(FILE *f, int form, double x)
{
    switch (form) {
    case 0: return fprintf(f, "%.0f", x * 1000.0);
    case 1: return fprintf(f, "%.6g", x);
    case 2: return fprintf(f, "%.15g", x);
    case 3: return fprintf(f, "%.17g", x);
    case 4: return fprintf(f, "%.8e", x);
    default: return fprintf(f, "\"%.6g\"", x);
    }
}

static const char *const form_name[] = { "whole numbers", "6 digits", "15 digits", "17 digits",
                                         "exponents", "quoted" };

/* The best of three. */
static void measure(const char *what, const char *path, double bytes)
{
    double best = INFINITY;
    size_t n = 0, cols = 0;
    for (int k = 0; k < 3; k++) {
        struct table *t;
        struct err err = { 0 };
        double start = now();
        if (import_file(path, NULL, NULL, &t, &err) != ST_OK) {
            printf("%-24s error[%s]: %s\n", what, err.name, err.msg);
            return;
        }
        best = fmin(best, now() - start);
        n = t->n;
        cols = t->ncols;
        if (bytes == 0.0)
            bytes = (double)t->file_size;
        table_unref(t);
    }
    double cells = (double)n * (double)cols;
    printf("%-24s %8zu x %-4zu %7.1f MB %7.3f s %7.0f MB/s %6.1f ns/cell\n", what, n, cols,
           bytes / 1e6, best, bytes / best / 1e6, 1e9 * best / cells);
    fflush(stdout);
}

static void scanner_alone(int form)
{
    enum { N = 200000, WIDTH = 32 };
    char *text = calloc(N, WIDTH);
    size_t bytes = 0;
    for (size_t i = 0; text != NULL && i < N; i++) {
        FILE *f = fmemopen(text + i * WIDTH, WIDTH, "w");
        bytes += (size_t)print(f, form, draw());
        fclose(f);
    }
    double best = INFINITY, sum = 0.0;
    for (int k = 0; text != NULL && k < 5; k++) {
        double start = now(), x;
        for (size_t i = 0; i < N; i++)
            if (scan_number(text + i * WIDTH, '.', &x) != NULL)
                sum += x;
        best = fmin(best, now() - start);
    }
    printf("  scan_number, %-16s %5.1f ns/number %6.0f MB/s   (%g)\n", form_name[form],
           1e9 * best / N, (double)bytes / best / 1e6, sum);
    free(text);
}

int main(int argc, char **argv)
{
    const char *tmp = getenv("TMPDIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/gpdesk-bench-XXXXXX", tmp != NULL ? tmp : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0) {
        perror(path);
        return 1;
    }
    close(fd);
    for (int form = 0; form < 5; form++)
        scanner_alone(form);
    for (int form = 0; form < 6; form++) {
        FILE *f = fopen(path, "w");
        double bytes = 0.0;
        for (size_t i = 0; f != NULL && i < ROWS; i++)
            for (size_t j = 0; j < COLS; j++) {
                bytes += print(f, form, draw()) + 1;
                fputc(j + 1 < COLS ? ',' : '\n', f);
            }
        if (f == NULL || fclose(f) != 0) {
            perror(path);
            return 1;
        }
        measure(form_name[form], path, bytes);
    }
    unlink(path);
    for (int i = 1; i < argc; i++)
        measure(argv[i], argv[i], 0.0);
    printf("peak memory %zu MB\n", mem_peak_rss() >> 20);
    return 0;
}
