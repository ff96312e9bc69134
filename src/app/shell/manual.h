/* app/shell/manual.h -- the manual page, completions for shells, and the commands' part of the HTML
 * manual, written from the tables of commands, options and pages. `make` runs the program to write
 * them. */
#ifndef GPDESK_MANUAL_H
#define GPDESK_MANUAL_H

#include "base/buf.h"

#include <stdbool.h>

/* Writes one of "man", "bash", "zsh", "fish" or "html". Returns false for any other word. */
bool manual_write(const char *what, struct buf *out);

#endif
