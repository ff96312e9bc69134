/* app/core/kept.h -- figures made by jobs, kept by name until another of the same name replaces
 * them. `plot NAME` and the panes of the screen show them. */
#ifndef GPDESK_KEPT_H
#define GPDESK_KEPT_H

#include "app/core/owner.h"
#include "figure/figure.h"

extern const struct owner kept_owner;
/* Keeps a figure under its name and frees the earlier one of that name. Takes ownership of the
 * figure, on failure too. */
enum status kept_take(struct workspace *, struct figure *, struct err *);
/* A copy of the figure of that name, which the caller frees. If there is none, a figure that shows
 * `reason` as its text. */
struct figure *kept_copy(struct workspace *, const char *name, const char *reason, struct err *);

#endif
