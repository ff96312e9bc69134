/* app/plots/plots_search.c -- the plots of `bo` and `suggest`: what those commands kept. */
#include "app/plots/plots.h"

static struct figure *plots_bo(struct workspace *ws, struct run *r, const struct args *a,
                               struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "bo", "No search has run yet. try: bo draw dims=3 l=0.5 start=100", err);
}

static struct figure *plots_suggest(struct workspace *ws, struct run *r, const struct args *a,
                                    struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "suggest", "Nothing has been suggested yet. try: suggest 8", err);
}

const struct plot_ops plots_bo_row = {
    .name = "bo",
    .title = "The best value so far in rounds of proposals",
    .axes = "measurements, seconds; the best measured value",
    .help = "From bo, while it runs: for each rule and solver the mean over the seeds, with "
            "one standard error to each side, against measurements and against seconds.",
    .make = plots_bo,
};

const struct plot_ops plots_suggest_row = {
    .name = "suggest",
    .title = "What the proposed rows promise",
    .axes = "sd of a new measurement, predicted mean",
    .help = "The candidates of the last suggest with the chosen rows marked, and the best measured "
            "value as a line. Rows far to the right are the least known, rows above the line are "
            "expected to improve on it.",
    .make = plots_suggest,
};
