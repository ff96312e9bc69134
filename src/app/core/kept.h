/* app/core/kept.h -- figures that jobs made, kept by name until the next of that name: what
 * `plot NAME` and the panes of the screen show of them. */
#ifndef GPDESK_KEPT_H
#define GPDESK_KEPT_H

#include "app/core/owner.h"
#include "figure/figure.h"

extern const struct owner kept_owner;
/* Keeps a figure under its name in place of the earlier one.  It is taken, also on failure. */
enum status kept_take(struct workspace *, struct figure *, struct err *);
/* A copy of the figure of that name; without any, a figure that says the reason. */
struct figure *kept_copy(struct workspace *, const char *name, const char *reason, struct err *);

#endif
