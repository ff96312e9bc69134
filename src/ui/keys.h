/* ui/keys.h -- the one place where keys become actions and command lines. */
#ifndef GPDESK_KEYS_H
#define GPDESK_KEYS_H

#include "ui/desk.h"

void keys_event(struct desk *, const struct input_event *);
void keys_interrupt(struct desk *);      /* Ctrl-C, or SIGINT from outside */
/* Runs a line as a key does. A line that ends with a blank or = is put on the prompt instead. */
void keys_line(struct desk *, const char *line);
void keys_act(struct desk *, enum act);  /* an action of the screen or of its view */

#endif
