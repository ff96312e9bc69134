/* app/commands/palette_fill.h -- the items of the palette. */
#ifndef GPDESK_PALETTE_FILL_H
#define GPDESK_PALETTE_FILL_H

#include "app/shell/palette.h"

/* Adds commands, options, plots and pages, then the runs and columns of the workspace. */
enum status palette_fill(struct palette *, const struct workspace *, struct err *);

#endif
