/* app/plots/plots_learned.h -- what maps have learned, drawn along one input or over two. */
#ifndef GPDESK_PLOTS_LEARNED_H
#define GPDESK_PLOTS_LEARNED_H

#include "app/core/job.h"
#include "compute/kernels/kernel.h"
#include "data/encoding.h"
#include "figure/figure.h"

/* nx places of an input (ny 1) or a grid of nx x ny of two, in their units (each ascending), with
 * the d inputs of the model there (nx ny rows, x fastest).  level: the input is a category, whose
 * levels these names are (NULL: numbers).  row: of the table, for the title (0: typical values).
 * All is borrowed. */
struct plots_learned_view {
    const struct kernel *kernel;
    const char *run, *name[2], *const *level;
    size_t nx, ny, d, row;
    const double *x, *y, *inputs;
};
struct figure *plots_learned_figure(const struct plots_learned_view *, struct job *, struct err *);

#endif
