/* ui/requests.h -- what commands ask of the screen (workspace.screen), and what the screen
 * remembers. */
#ifndef GPDESK_REQUESTS_H
#define GPDESK_REQUESTS_H

#include "app/core/ws_screen.h"
#include "ui/desk.h"

/* Fills all functions except `show` and `picture`; ctx is the desk. */
void requests_fill(struct ws_screen *);
/* Reads and writes layout, sizes of panes and learned keys: $XDG_STATE_HOME/gpdesk/screen. */
void requests_remember(struct desk *);
void requests_save(const struct desk *);
/* Writes OSC 52 with the text in base64. Returns false if the text is longer than terminals
 * accept. */
bool requests_clipboard(const char *text, struct buf *out);

#endif
