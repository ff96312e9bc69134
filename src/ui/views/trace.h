/* ui/views/trace.h -- the views of how a fit or a tuning goes: their state, and what they share. */
#ifndef GPDESK_VIEWS_TRACE_H
#define GPDESK_VIEWS_TRACE_H

#include "ui/views/axes.h"

struct trace_state { struct axes axes; };
void trace_draw(struct view *, const struct canvas *, const char *plot, struct run *);
bool trace_act(struct view *, enum act);
void trace_verdict(struct view *, struct buf *);

#endif
