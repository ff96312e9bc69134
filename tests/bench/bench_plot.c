/* tests/bench/bench_plot.c -- from a run of 100,000 trace points to a picture: the figure, the
 * built-in plot, gnuplot's picture in a pane, words and numbers.  Least of five, wall and processor
 * time. */
#include "figure/figure.h"
#include "figure/gnuplot.h"
#include "app/core/job.h"
#include "app/core/workspace.h"
#include "base/buf.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POINTS = 100000, TIMES = 5, W = 198, H = 50 };

static double processor(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static struct run *long_run(void)
{
    struct run *r = calloc(1, sizeof *r);

    r->trace = calloc(POINTS, sizeof *r->trace);
    if (!r->trace)
        exit(1);
    snprintf(r->id, sizeof r->id, "r1");
    r->kind = RUN_FIT, r->state = RUN_DONE;
    r->trace_target = 1e-6;
    r->info.condition = NAN;
    for (uint32_t i = 0; i < POINTS; i++) {
        const double wave = 1 + 0.5 * sin(i * 0.37) * sin(i * 0.011);
        r->trace[i] = (struct trace_point){ .step = i, .value = wave * pow(10, -6.0 * i / POINTS),
                                            .value2 = i % 50 ? NAN : pow(10, -6.0 * i / POINTS) };
        r->trace[i].point[0] = i;
    }
    r->ntrace = r->captrace = POINTS;
    return r;
}

/* gnuplot's frame, driven as the screen does; the built-in one comes first and is not waited for.
 */
static bool pane(struct gnuplot *g, const struct figure *f, struct err *err)
{
    const struct frame *fr = gnuplot_frame(g);
    const unsigned before = fr ? fr->serial : 0;

    if (gnuplot_request(g, f, W, H, true, err) != ST_OK)
        return false;
    for (const double end = job_now() + 20; job_now() < end;) {
        struct pollfd fds[3];
        int timeout = 1000;
        const size_t n = gnuplot_poll(g, fds, &timeout);
        poll(fds, (nfds_t)n, timeout < 1000 && timeout >= 0 ? timeout : 1000);
        gnuplot_service(g);
        fr = gnuplot_frame(g);
        if (fr && fr->serial != before && !gnuplot_busy_for_tests(g))
            return true;
    }
    return false;
}

int main(void)
{
    static const char *const what[] = {"figure", "built-in frame 198x50", "gnuplot pane 198x50",
                                       "words", "csv"};
    double wall[5], cpu[5];
    struct workspace ws = { 0 };
    struct run *r = long_run();
    struct err err = { 0 };
    const struct figure_style st = { .utf8 = true, .dark = true, .colors = 256 };
    struct gnuplot *g = gnuplot_new(&err);

    for (int k = 0; k < 5; k++)
        wall[k] = cpu[k] = INFINITY;
    for (int t = 0; g && t < TIMES; t++) {
        struct figure *f = NULL;
        struct frame fr;
        for (int k = 0; k < 5; k++) {
            struct buf b = { 0 };
            const double t0 = job_now(), c0 = processor();
            bool ok = true;
            if (k == 0)
                f = plot_find("residual", &err)->make(&ws, r, NULL, &err);
            else if (k == 1)
                ok = figure_frame(f, W, H, &st, &fr, &err) == ST_OK;
            else if (k == 2)
                ok = pane(g, f, &err);
            else if (k == 3)
                figure_describe(f, &b);
            else
                figure_csv(f, &b);
            if (ok && f) {
                wall[k] = fmin(wall[k], job_now() - t0);
                cpu[k] = fmin(cpu[k], processor() - c0);
            }
            if (k == 1 && ok)
                frame_free(&fr);
            buf_free(&b);
        }
        figure_free(f);
    }
    printf("%d trace points, least of %d: ms, processor ms (must: 200 ms for figure and picture)\n",
           POINTS, TIMES);
    for (int k = 0; k < 5; k++)
        printf("%-24s %8.1f %8.1f\n", what[k], 1e3 * wall[k], 1e3 * cpu[k]);
    printf("%-24s %8.1f %8.1f\n", "figure and gnuplot", 1e3 * (wall[0] + wall[2]),
           1e3 * (cpu[0] + cpu[2]));
    gnuplot_free(g);
    free(r->trace);
    free(r);
    return 0;
}
