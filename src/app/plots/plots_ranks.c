/* app/plots/plots_ranks.c -- the plot of the processes that shared the rows of the last job. */
#include "app/core/rank_notes.h"
#include "app/plots/plots.h"

#include <stdio.h>
#include <string.h>

/* The model (share/doc/ranks.md): seconds for a message, and bytes a second on one machine and on a
 * network of 10 Gbit/s. */
static const double LATENCY = 19e-6, HERE = 3e9, NETWORK = 1.25e9;

/* Seconds of work: n M t / (P c), where n M t are the core-seconds of all. */
static void work_by_model(const struct rank_notes *n, double *y)
{
    double work = 0.0, alive = 0.0;

    for (size_t i = 0; i < n->count; i++) {
        const struct ranks_one *one = &n->one[i];
        work += one->work * (double)(one->threads * one->processes);
        alive += one->alive ? (double)(one->threads * one->processes) : 0.0;
    }
    for (size_t i = 0; i < n->count; i++)
        y[i] = n->one[i].alive && alive > 0.0 ? work / alive : 0.0;
}

/* Seconds of sums through the front end: of each meeting P (latency + 2 x 8 M k / bandwidth). */
static double sums_by_model(const struct rank_notes *n)
{
    bool here = true;
    double alive = 0.0;

    for (size_t i = 0; i < n->count; i++) {
        here &= strcmp(n->one[i].host, n->one[0].host) == 0;
        alive += n->one[i].alive;
    }
    return alive * ((double)n->sums.meetings * LATENCY +
                    16.0 * (double)n->sums.numbers / (here ? HERE : NETWORK));
}

/* Adds a mark for each; points lie on bars, and stay to be seen in text. */
static bool add(struct figure *f, const char *title, enum mark mark, size_t n, const double *y,
                struct err *err)
{
    double x[RANKS_MOST];

    for (size_t i = 0; i < n; i++)
        x[i] = (double)i;
    struct series *s = figure_add(f, title, mark, n, x, y, err);
    if (s)
        s->foremost = mark == MARK_POINTS;
    return s != NULL;
}

static struct figure *draw(const struct rank_notes *n, struct err *err)
{
    double work[RANKS_MOST], waiting[RANKS_MOST], sums[RANKS_MOST];
    double by_model[RANKS_MOST], sums_model[RANKS_MOST], most = 0.0, total = 0.0, longest = 0.0;
    char name[RANKS_MOST][48];
    const char *names[RANKS_MOST];

    for (size_t i = 0; i < n->count; i++) {
        const struct ranks_one *one = &n->one[i];
        work[i] = one->work, waiting[i] = one->waiting, sums[i] = one->sums;
        sums_model[i] = sums_by_model(n);
        most = sums[i] > most ? sums[i] : most;
        longest = work[i] > longest ? work[i] : longest;
        total += work[i];
        snprintf(name[i], sizeof name[i], "%zu %.16s%s", i + 1, one->host,
                 one->alive ? "" : " lost");
        names[i] = name[i];
    }
    work_by_model(n, by_model);
    struct figure *f = figure_new("ranks", "Processes that share the rows", err);
    const bool ok = f && figure_label(f, "process", "seconds", err) == ST_OK &&
                    figure_names(&f->x, n->count, names, err) == ST_OK &&
                    add(f, "work", MARK_BARS, n->count, work, err) &&
                    add(f, "work by the model", MARK_LINEPOINTS, n->count, by_model, err) &&
                    add(f, "waiting for others", MARK_POINTS, n->count, waiting, err) &&
                    add(f, "sums", MARK_POINTS, n->count, sums, err) &&
                    add(f, "sums by the model", MARK_LINEPOINTS, n->count, sums_model, err) &&
                    figure_verdict(f, err,
                                   "%zu processes: the longest worked %.3g s, %.0f %% of an even "
                                   "share; sums took %.3g s, by the model %.3g s",
                                   n->count, longest,
                                   total > 0.0 ? 100.0 * longest * (double)n->count / total : 0.0,
                                   most, sums_by_model(n)) == ST_OK;
    return plots_finish(f, ok);
}

static struct figure *plots_ranks(struct workspace *ws, struct run *r, const struct args *a,
                                  struct err *err)
{
    const struct rank_notes n = rank_notes_now();

    (void)ws, (void)r, (void)a;
    if (n.count == 0)
        return figure_empty("ranks", "No job has had several processes yet. try: set ranks=2; fit",
                            err);
    return draw(&n, err);
}

const struct plot_ops plots_ranks_row = {
    .name = "ranks",
    .title = "What each process that shared the rows has done",
    .axes = "process, seconds",
    .help = "Of the job with ranks= or hosts= that is running, or of the last one: the seconds "
            "that each process worked, waited for the others, and that sums were on their way; "
            "and what it would work, and sums through the front end would take, by the model: n "
            "M t / (P c) with all core-seconds of the job, and for each of its meetings P times "
            "19 us and 16 bytes a number. Where a bar is longer than its mark, that process is "
            "slow, has more rows, or another program is on its machine.",
    .live = PLOT_OF_BOTH,
    .make = plots_ranks,
};
