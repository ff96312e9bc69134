/* data/molecules/drawing_svg.h -- a molecule as an SVG document, with a value of each atom as its
 * colour: blue where the atom raises the mean, orange where it lowers it. */
#ifndef GPDESK_DRAWING_SVG_H
#define GPDESK_DRAWING_SVG_H

#include "base/buf.h"
#include "data/molecules/drawing.h"

/* value: of each atom; lines: text below it, any bytes. */
void drawing_svg(const struct drawing *, const double *value, const char *const *lines,
                 size_t nlines, struct buf *out);

#endif
