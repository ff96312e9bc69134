/* ui/plotpane.h -- a live plot in a pane: one gnuplot child, the figure it shows, and when to make
 * it again.
 *
 * A view identifies its data by a stamp, a number that changes with them. The pane makes the figure
 * again when the stamp or the size has changed, at most three times a second while data streams in.
 * Nothing blocks: the last frame is shown until the next one is ready. */
#ifndef GPDESK_PLOTPANE_H
#define GPDESK_PLOTPANE_H

#include "figure/figure.h"
#include "ui/draw.h"

#include <poll.h>
#include <stdint.h>

struct plotpane;
struct plotpane *plotpane_new(void);      /* NULL: out of memory */
void plotpane_free(struct plotpane *);
/* what: a constant for the kind of plot (a change is shown at once); stamp: identifies its data.
 * make returns a new figure, which the pane owns, or NULL and *err if there is none. */
typedef struct figure *plotpane_make(void *ctx, struct err *err);
void plotpane_draw(struct plotpane *, const struct canvas *, uint64_t what, uint64_t stamp,
                   plotpane_make *make, void *ctx, double now);
/* the figure being shown; NULL if none */
const struct figure *plotpane_figure(const struct plotpane *);
/* Until the next plotpane_draw no figure counts as shown: a view that draws words instead has no
 * verdict of a plot. */
void plotpane_off(struct plotpane *);
/* Time (monotonic seconds) at which a redraw is wanted although nothing else happens; 0: none. */
double plotpane_due(const struct plotpane *);
size_t plotpane_poll(struct plotpane *, struct pollfd *fds, int *timeout_ms);
bool plotpane_service(struct plotpane *);           /* true: draw again */
bool plotpane_awaited(
    const struct plotpane *); /* a plot requested by a key is not ready yet */
/* a new state of gnuplot to report, otherwise NULL */
const char *plotpane_trouble(struct plotpane *);
void plotpane_forget(struct plotpane *);    /* the theme has changed: request the figure again */

#endif
