/* ui/views/trace.h -- the views of the progress of a fit or a tuning: their state, and what they
 * share. */
#ifndef GPDESK_VIEWS_TRACE_H
#define GPDESK_VIEWS_TRACE_H

#include "ui/views/axes.h"

struct trace_state { struct axes axes; };
void trace_draw(struct view *, const struct canvas *, const char *plot, struct run *);
bool trace_act(struct view *, enum act);
void trace_verdict(struct view *, struct buf *);

#endif
