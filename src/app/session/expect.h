/* app/session/expect.h -- the figures of a run as words, and whether they have come out again. */
#ifndef GPDESK_EXPECT_H
#define GPDESK_EXPECT_H

#include "app/core/workspace.h"

/* What makes a run itself, with all digits: "nmll 382.7, lengthscale 2.9, amplitude 2.4, noise 0.2"
 * of a tuning, outcome, features, iterations and residual of a fit; score: its scores.  Several
 * targets: a number each.  Nothing when there are none. */
void expect_figures(const struct run *, bool score, struct buf *out);

extern const struct command expect_rows[]; /* `expect`; ends at .name == NULL */

#endif
