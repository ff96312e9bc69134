/* app/plots/plots_boundary.h -- the classes that a model predicts over a plane of two inputs. */
#ifndef GPDESK_PLOTS_BOUNDARY_H
#define GPDESK_PLOTS_BOUNDARY_H

#include "app/core/job.h"
#include "compute/models/model.h"
#include "data/encoding.h"
#include "figure/figure.h"

/* A grid of nx x ny places of two inputs, in their units (each ascending), and the inputs of the
 * model there (nx ny rows, x fastest); n training rows at `at`, with their class or NaN.  All is
 * borrowed. */
struct plots_boundary_plane {
    const struct model *m;
    const struct encoding *enc;
    const char *run, *name[2];
    size_t nx, ny;
    const double *x, *y, *inputs;
    size_t n;
    const double *at[2], *label;
};
struct figure *plots_boundary_figure(const struct plots_boundary_plane *, struct job *,
                                     struct err *);

#endif
