/* ui/views/figures.h -- shows figures of the table of plots in a pane. */
#ifndef GPDESK_VIEWS_FIGURES_H
#define GPDESK_VIEWS_FIGURES_H

#include "ui/views/axes.h"

/* Makes the plot `name` of a run, as a plotpane_make; ctx is a struct figures_request. */
struct figures_request { struct desk *desk; const char *name; struct run *run;
                         const struct axes *axes; bool marks; };
struct figure *figures_make(void *ctx, struct err *);
void figures_verdict(struct view *, struct buf *);       /* of the figure being shown */
bool figures_copy(struct view *, bool all, struct buf *); /* copies its sentence, or its numbers */

#endif
