/* app/shell/manual.h -- the manual page, completions for shells, and the commands' part of the HTML
 * manual, written from the tables of commands, options and pages.  `make` asks the program for
 * them. */
#ifndef GPDESK_MANUAL_H
#define GPDESK_MANUAL_H

#include "base/buf.h"

#include <stdbool.h>

/* what: "man", "bash", "zsh", "fish", "html"; false: none of these. */
bool manual_write(const char *what, struct buf *out);

#endif
