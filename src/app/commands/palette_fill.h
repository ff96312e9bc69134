/* app/commands/palette_fill.h -- what the palette lists. */
#ifndef GPDESK_PALETTE_FILL_H
#define GPDESK_PALETTE_FILL_H

#include "app/shell/palette.h"

/* Commands, options, plots, pages, then the runs and columns of the workspace. */
enum status palette_fill(struct palette *, const struct workspace *, struct err *);

#endif
