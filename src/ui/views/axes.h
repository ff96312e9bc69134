/* ui/views/axes.h -- the axes of a plot on the screen, and how far a run is drawn. */
#ifndef GPDESK_VIEWS_AXES_H
#define GPDESK_VIEWS_AXES_H

#include "ui/desk.h"

#include <stdint.h>

/* How the axes of a plot differ from those of its figure: 0 unchanged, 1 log, 2 linear. The x range
 * is given as shares. */
struct axes { int x, y; double lo, hi; };        /* lo == hi: the whole range */

bool axes_act(const struct view *, enum act, struct axes *);
void axes_apply(struct figure *, const struct axes *);
uint64_t axes_stamp(const struct axes *);
bool axes_scrub(struct view *, enum act, struct run *);  /* the keys { and } */
/* number of trace points to draw; 0: all */
size_t axes_scrub_at(const struct desk *, const struct run *);

#endif
