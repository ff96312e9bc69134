/* app/core/ws_screen.h -- what a full screen does for commands. The screen fills one of these and
 * puts it into the workspace while it is open. Without a screen, commands write text. */
#ifndef GPDESK_WS_SCREEN_H
#define GPDESK_WS_SCREEN_H

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The views, in the order of the screen: identifier, file (ui/views/FILE.c, which defines
 * FILE_view), key, word of `view`, what it shows, and the command line that says the same without
 * a screen. */
#define WS_SCREEN_VIEWS(_)                                                                    \
    _(DATA, data, "1", "data", "the data", "summary")                                         \
    _(RUNS, runs, "2", "runs", "the runs", "runs")                                            \
    _(RESIDUAL, residual, "3", "residual", "the residual", "describe residual")               \
    _(NMLL, nmll, "4", "nmll", "NMLL and tuning", "describe nmll")                            \
    _(RANK, rank, "5", "rank", "ranks and the spectrum", "describe rank")                     \
    _(CALIB, calib, "6", "calibration", "calibration and uncertainty", "describe calibration")\
    _(PCA, pca, "7", "pca", "PCA and clusters", "describe pca")                               \
    _(LESSON, lesson, "8", "lesson", "the lesson", "lesson")                                  \
    _(LOG, log, "9", "log", "the log", "history")

struct workspace;
enum ws_screen_part { WS_SCREEN_CELL, WS_SCREEN_VIEW, WS_SCREEN_LINE };

/* Each function gets workspace.screen_ctx as `ctx`. Where there is a `said`, it receives a sentence
 * about what was done. */
struct ws_screen {
    /* Shows a plot or a page by name. runs: names separated by blanks; those after the first are
     * drawn over it; "" if none applies. Returns false if the screen has no place for it. */
    bool (*show)(void *ctx, const char *name, const char *runs);
    /* Copies a sixel image and shows it until a key is pressed. Returns false if the terminal has
     * not announced sixel support. If it turns out later that it has none, an error record says
     * so. */
    bool (*picture)(void *ctx, const char *sixel, size_t n);
    /* Brings the view of this key to the front; NOT_FOUND if there is none. */
    enum status (*view)(void *ctx, char key, struct err *);
    void (*layout)(void *ctx, const char *name, struct buf *said);
    void (*theme)(void *ctx); /* called when the option has changed */
    void (*palette)(void *ctx, const char *letters);
    /* Appends what the chosen part of the screen shows to text; NOT_FOUND if it is empty. */
    enum status (*copy)(void *ctx, enum ws_screen_part, struct buf *text, struct err *);
    void (*clipboard)(void *ctx, const char *text, struct buf *said);
    /* Lists the built-in keys that the user's own keys hide, one per line. */
    void (*conflicts)(void *ctx, struct buf *said);
};
/* Calls `show` if there is a screen; returns false without one. */
bool ws_screen_show(struct workspace *, const char *name, const char *runs);

#endif
