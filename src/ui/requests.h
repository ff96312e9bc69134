/* ui/requests.h -- what commands ask of the screen (workspace.screen), and what the screen
 * remembers. */
#ifndef GPDESK_REQUESTS_H
#define GPDESK_REQUESTS_H

#include "app/core/ws_screen.h"
#include "ui/desk.h"

/* Fills all but `show` and `picture`; ctx is the desk. */
void requests_fill(struct ws_screen *);
/* Layout, panes' sizes and learnt keys from one start to the next: $XDG_STATE_HOME/gpdesk/screen.
 */
void requests_remember(struct desk *);
void requests_save(const struct desk *);
/* OSC 52 with the text in base64; false: longer than terminals take. */
bool requests_clipboard(const char *text, struct buf *out);

#endif
