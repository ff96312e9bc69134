/* tests/bench/report.h -- what every benchmark shares: clocks, repetitions, the probes of the
 * machine, and one line of the table with its JSON object.
 *
 * A comparison times its jobs in turn, round after round, and takes the median of each: other work
 * on the machine meets all of them alike.  Times of one thread are its processor time, of several
 * the time on the wall. */
#ifndef GPDESK_BENCH_REPORT_H
#define GPDESK_BENCH_REPORT_H

#include "compute/pool.h"

#include <stdbool.h>
#include <stddef.h>

/* What the ratio of a row means, and what its floor demands. */
enum report_sense {
    REPORT_FIGURE,   /* no ratio */
    REPORT_FASTER,   /* seconds: baseline / value, at least the floor */
    REPORT_HIGHER,   /* rates: value / baseline, at least the floor */
    REPORT_LONGER,   /* seconds: value / baseline, at most the floor */
    REPORT_ABSOLUTE, /* the value itself, at least the floor */
    REPORT_NEAR,     /* value / baseline, within the floor of 1 */
    REPORT_BELOW,    /* the value itself, at most the floor */
};

struct report_row {
    const char *section, *what;
    size_t threads;             /* 0 counts as 1 */
    double value;
    const char *unit;
    double baseline;            /* in the same unit; 0: none */
    const char *baseline_name;
    bool published;             /* the baseline is a figure from elsewhere, not of this run */
    bool by_cycles; /* so is the floor itself; either way the ratio (or the value) is also
                     * given by cycles, as if both cores ran at one clock */
    enum report_sense sense;
    double floor, goal;         /* 0: none */
    double rate, limit;         /* work done a second, and what the machine can do; 0: none */
    const char *rate_unit, *limit_name;
};

/* --rows FILE (or GPDESK_BENCH_ROWS): JSON lines are appended there. */
void report_open(const char *path);
void report_head(void);
void report_row(const struct report_row *);
int report_close(void); /* 0, or 1 when the file could not be written */

struct report_job { void (*fn)(void *ctx); void *ctx; };
/* Processor time of this thread, time on the wall, processor time of all threads. */
enum report_clock { REPORT_THREAD, REPORT_WALL, REPORT_PROCESS };
/* Medians in seconds of `n` jobs timed in turn. */
void report_times(enum report_clock clock, size_t n, const struct report_job *jobs,
                  double *seconds);
double report_time(enum report_clock clock, void (*fn)(void *), void *ctx);
/* Rounds of the longest measurement; short jobs get up to 15. */
extern size_t report_rounds;

/* A message and exit status 1. */
void report_die(const char *what) __attribute__((noreturn));
/* Aligned, zeroed; dies without memory. */
void *report_need(size_t count, size_t size);

/* Of one thread, at the processor level in force: floating point operations a second of fused
 * multiply-adds in registers (half as many vector operations of any kind), in 1e9. */
double report_fma(bool dbl);
/* The clock of one thread in GHz while it works, from a chain of dependent additions; 0: not known.
 */
double report_clock_ghz(void);
/* Bytes a second, in 1e9: reading, scaling in place (read and written), copying `bytes` in all. */
double report_read(struct pool *, size_t bytes);
double report_scale(size_t bytes);
double report_copy(struct pool *, size_t bytes);

#endif
