/* app/plots/landscape.h -- the marginal likelihood over one or two hyperparameters. `landscape`
 * sets all others to their optimum or to a value and shows the path of the tuning. `tradeoff` shows
 * the two parts of the likelihood: data fit against complexity. */
#ifndef GPDESK_LANDSCAPE_H
#define GPDESK_LANDSCAPE_H

#include "app/core/workspace.h"

enum status cmd_landscape(struct workspace *, const struct args *, struct err *);
enum status cmd_tradeoff(struct workspace *, const struct args *, struct err *);

#endif
