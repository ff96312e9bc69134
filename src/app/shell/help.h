/* app/shell/help.h -- pages of help beside those of the commands themselves. */
#ifndef GPDESK_HELP_H
#define GPDESK_HELP_H

#include "app/shell/command.h"

/* Writes a page of `help` that is not a command: "kernels", "grammar"; false if there is none. */
bool help_topic(const char *name, struct buf *out);
const char *help_topic_at(size_t i);                /* NULL past the end */
bool help_plot(const char *name, struct buf *out);  /* how to read a plot; false: no such plot */
void help_overview(struct buf *out);                /* groups and verbs, one screen */
size_t help_search(const char *word, struct buf *out); /* `help /word`: lines found */

#endif
