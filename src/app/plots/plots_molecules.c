/* app/plots/plots_molecules.c -- plots of molecules and of other rows of counts: what `cliffs` and
 * `check` kept, or a job that compares the rows. */
#include "app/plots/plots.h"

#include "app/runs/cliffs.h"

#include <math.h>

static struct figure *kept_cliffs(struct workspace *ws, struct run *r, const struct args *a,
                                  struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "cliffs", "No pairs have been compared yet. try: cliffs", err);
}

static struct figure *copied(void *in, struct job *job, struct err *err)
{
    (void)job;
    return figure_copy(in, err);
}

static void figure_freed(void *in)
{
    figure_free(in);
}

static struct figure *compared(void *in, struct job *job, struct err *err)
{
    return cliffs_figure(in, job, err);
}

static void cliffs_freed(void *in)
{
    cliffs_free(in);
}

static enum status cliffs_prepare(struct workspace *ws, struct run *r, const struct args *a,
                                  struct plot_work *out, struct err *err)
{
    const struct cliffs_opts o = { .similar = 0.7, .difference = NAN };
    struct figure *kept = kept_cliffs(ws, r, a, err);

    if (!kept)
        return err->code;
    *out = (struct plot_work){ kept, copied, figure_freed };
    if (!figure_nothing(kept))
        return ST_OK;
    const struct dataset *d = ws_dataset(ws, NULL, err);
    struct cliffs *c = d ? cliffs_new(ws, d, &o, err) : NULL;
    if (!c)
        return err->code;
    figure_free(kept);
    *out = (struct plot_work){ c, compared, cliffs_freed };
    return ST_OK;
}

const struct plot_ops plots_cliffs_row = {
    .name = "cliffs",
    .title = "Alike pairs of rows with different targets",
    .axes = "1 - similarity, |difference|",
    .help = "Pairs of molecules, or of other rows of counts, that are at least 0.7 alike, by how "
            "much their targets differ. The steepest, top left, are named; a model that is smooth "
            "in the similarity cannot follow them. A line is at the difference that two "
            "measurements of one row have by the noise of the last fit. It draws the last result "
            "of cliffs.",
    .make = kept_cliffs,
    .prepare = cliffs_prepare,
};
