/* app/session/expect.h -- the figures of a run as text, and whether a repeated run gives them
 * again. */
#ifndef GPDESK_EXPECT_H
#define GPDESK_EXPECT_H

#include "app/core/workspace.h"

/* Writes the figures of a run with all digits. For a tuning: "nmll 382.7, lengthscale 2.9,
 * amplitude 2.4, noise 0.2"; for a fit: outcome, features, iterations and residual; if `score`: its
 * scores. Several targets have a number each. Writes nothing if there are none. */
void expect_figures(const struct run *, bool score, struct buf *out);

/* the row of `expect`; ends with an entry whose name is NULL */
extern const struct command expect_rows[];

#endif
