/* app/plots/landscape.h -- the marginal likelihood over one or two hyperparameters: `landscape`
 * (all others at their best or at a value, with the path of the tuning) and `tradeoff` (its parts:
 * fit against complexity). */
#ifndef GPDESK_LANDSCAPE_H
#define GPDESK_LANDSCAPE_H

#include "app/core/workspace.h"

enum status cmd_landscape(struct workspace *, const struct args *, struct err *);
enum status cmd_tradeoff(struct workspace *, const struct args *, struct err *);

#endif
