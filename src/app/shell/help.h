/* app/shell/help.h -- help pages other than those of the commands themselves. */
#ifndef GPDESK_HELP_H
#define GPDESK_HELP_H

#include "app/shell/command.h"

/* Writes a page of `help` that is not a command: "kernels", "grammar"; false if there is none. */
bool help_topic(const char *name, struct buf *out);
const char *help_topic_at(size_t i);                /* NULL if i is past the end */
/* How to read a plot; false if there is no such plot. */
bool help_plot(const char *name, struct buf *out);
void help_overview(struct buf *out);                /* groups and verbs on one screen */
/* `help /word`: returns the number of lines found. */
size_t help_search(const char *word, struct buf *out);

#endif
