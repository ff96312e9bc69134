/* app/runs/molecules/molecule_sketch.h -- a molecule as lines and letters, with a value of each
 * atom as its colour: blue where the atom raises the mean, orange where it lowers it. */
#ifndef GPDESK_MOLECULE_SKETCH_H
#define GPDESK_MOLECULE_SKETCH_H

#include "data/molecules/drawing.h"
#include "figure/sketch.h"

/* The size of a molecule whose bonds have their usual length, and its margins. */
void molecule_sketch_size(const struct drawing *, double *w, double *h);
/* A box of a sketch: its middle and its size. */
struct molecule_box { double x, y, w, h; };
/* Draws a molecule in the middle of a box, smaller where it would not fit.  value: of each atom;
 * NULL: no colours. */
void molecule_sketch(struct sketch *, const struct drawing *, const struct molecule_box *,
                     const double *value);

#endif
