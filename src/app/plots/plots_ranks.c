/* app/plots/plots_ranks.c -- the plot of the processes that shared the rows of the last job. */
#include "app/core/rank_notes.h"
#include "app/plots/plots.h"

#include <stdio.h>

/* What each would work if the work of all were shared by rows. */
static void even(const struct rank_notes *n, double *y)
{
    double work = 0.0, rows = 0.0;

    for (size_t i = 0; i < n->count; i++) {
        work += n->one[i].work;
        rows += n->one[i].alive ? (double)n->one[i].rows : 0.0;
    }
    for (size_t i = 0; i < n->count; i++)
        y[i] = n->one[i].alive && rows > 0.0 ? work * (double)n->one[i].rows / rows : 0.0;
}

static struct figure *draw(const struct rank_notes *n, struct err *err)
{
    double x[RANKS_MOST], work[RANKS_MOST], waiting[RANKS_MOST], sums[RANKS_MOST];
    double model[RANKS_MOST], most = 0.0, total = 0.0, longest = 0.0;
    char name[RANKS_MOST][48];
    const char *names[RANKS_MOST];

    for (size_t i = 0; i < n->count; i++) {
        const struct ranks_one *one = &n->one[i];
        x[i] = (double)i;
        work[i] = one->work, waiting[i] = one->waiting, sums[i] = one->sums;
        most = sums[i] > most ? sums[i] : most;
        longest = work[i] > longest ? work[i] : longest;
        total += work[i];
        snprintf(name[i], sizeof name[i], "%zu %.16s%s", i + 1, one->host,
                 one->alive ? "" : " lost");
        names[i] = name[i];
    }
    even(n, model);
    struct figure *f = figure_new("ranks", "Processes that share the rows", err);
    const bool ok = f && figure_label(f, "process", "seconds", err) == ST_OK &&
                    figure_names(&f->x, n->count, names, err) == ST_OK &&
                    figure_add(f, "work", MARK_BARS, n->count, x, work, err) &&
                    figure_add(f, "work, if shared by rows", MARK_POINTS, n->count, x, model,
                               err) &&
                    figure_add(f, "waiting for others", MARK_POINTS, n->count, x, waiting, err) &&
                    figure_add(f, "sums", MARK_POINTS, n->count, x, sums, err) &&
                    figure_verdict(f, err,
                                   "%zu processes: the longest worked %.3g s, %.0f %% of an even "
                                   "share; sums took %.3g s",
                                   n->count, longest,
                                   total > 0.0 ? 100.0 * longest * (double)n->count / total : 0.0,
                                   most) == ST_OK;
    return plots_finish(f, ok);
}

static struct figure *plots_ranks(struct workspace *ws, struct run *r, const struct args *a,
                                  struct err *err)
{
    const struct rank_notes *n = rank_notes_last();

    (void)ws, (void)r, (void)a;
    if (n->count == 0)
        return figure_empty("ranks", "No job has had several processes yet. try: set ranks=2; fit",
                            err);
    return draw(n, err);
}

const struct plot_ops plots_ranks_row = {
    .name = "ranks",
    .title = "What each process that shared the rows has done",
    .axes = "process, seconds",
    .help = "Of the last job with ranks= or hosts=: the seconds that each process worked, waited "
            "for the others, and that sums were on their way; and what it would work if the work "
            "of all were shared by rows. Where one bar is longer than its mark, that process is "
            "slow, or another program is on its machine.",
    .make = plots_ranks,
};
