/* app/core/ws_screen.h -- what a full screen does for commands.  The screen fills one of these and
 * puts it into the workspace while it is there; without a screen commands write text. */
#ifndef GPDESK_WS_SCREEN_H
#define GPDESK_WS_SCREEN_H

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct workspace;
enum ws_screen_part { WS_SCREEN_CELL, WS_SCREEN_VIEW, WS_SCREEN_LINE };

/* Each function gets workspace.screen_ctx as `ctx`; `said` receives words about what was done. */
struct ws_screen {
    /* Shows a plot or a page by name.  runs: names with blanks between them, those after the first
     * drawn over it; "" when none applies.  false: there is no place for this one. */
    bool (*show)(void *ctx, const char *name, const char *runs);
    /* Takes a copy of a picture of sixel graphics and shows it until a key.  false: the terminal
     * has not said that it shows such pictures (where that turns out later, it is an error
     * record). */
    bool (*picture)(void *ctx, const char *sixel, size_t n);
    /* The view of a digit comes to the front; NOT_FOUND: there is none. */
    enum status (*view)(void *ctx, char digit, struct err *);
    void (*layout)(void *ctx, const char *name, struct buf *said);
    void (*theme)(void *ctx); /* the option has changed */
    void (*palette)(void *ctx, const char *letters);
    /* What stands in the chosen part of the screen, appended to text; NOT_FOUND: nothing yet. */
    enum status (*copy)(void *ctx, enum ws_screen_part, struct buf *text, struct err *);
    void (*clipboard)(void *ctx, const char *text, struct buf *said);
    /* Built-in keys that keys of the user cover, a line each. */
    void (*conflicts)(void *ctx, struct buf *said);
};
/* `show`, where there is a screen; false without one. */
bool ws_screen_show(struct workspace *, const char *name, const char *runs);

#endif
