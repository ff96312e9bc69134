/* ui/plotpane.h -- a live plot in a pane: one gnuplot child, the figure it shows, when to remake
 * it.
 *
 * A view says what it shows by a stamp (any number that changes with the data); the pane remakes
 * the figure when the stamp or the size changed, at most three times a second while data stream
 * in. Nothing here waits: the last frame stands until the next is there. */
#ifndef GPDESK_PLOTPANE_H
#define GPDESK_PLOTPANE_H

#include "figure/figure.h"
#include "ui/draw.h"

#include <poll.h>
#include <stdint.h>

struct plotpane;
struct plotpane *plotpane_new(void);      /* NULL: out of memory */
void plotpane_free(struct plotpane *);
/* what: a constant of the kind of plot (a change is shown at once); stamp: of its data.  make is
 * called for a new figure (the pane owns it), NULL and *err when there is none. */
typedef struct figure *plotpane_make(void *ctx, struct err *err);
void plotpane_draw(struct plotpane *, const struct canvas *, uint64_t what, uint64_t stamp,
                   plotpane_make *make, void *ctx, double now);
const struct figure *plotpane_figure(const struct plotpane *);   /* the one shown; NULL */
/* Until it is drawn again none is shown: a view that draws words instead has no sentence of a plot.
 */
void plotpane_off(struct plotpane *);
/* Seconds (monotonic) at which a redraw is wanted although nothing else happens; 0: none. */
double plotpane_due(const struct plotpane *);
size_t plotpane_poll(struct plotpane *, struct pollfd *fds, int *timeout_ms);
bool plotpane_service(struct plotpane *);           /* true: draw again */
bool plotpane_awaited(
    const struct plotpane *); /* the picture asked for by a key is not there yet */
const char *plotpane_trouble(struct plotpane *);    /* a new state of gnuplot to tell, else NULL */
void plotpane_forget(struct plotpane *);            /* theme changed: ask again */

#endif
