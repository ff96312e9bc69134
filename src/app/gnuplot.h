/* app/gnuplot.h -- the gnuplot child processes: a persistent one for live panes, one-shot ones for
 * exports.  Never blocks the caller: the live child is driven from the main poll loop. */
#ifndef GPDESK_GNUPLOT_H
#define GPDESK_GNUPLOT_H

#include "app/figure.h"
#include "base/status.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

struct gnuplot;  /* the live child: started on first use, restarted after death or hang */
struct gnuplot *gnuplot_new(struct err *);
void gnuplot_free(struct gnuplot *);
/* Asks for a picture of w x h cells; the newest request replaces an unsent one. */
enum status gnuplot_request(struct gnuplot *, const struct figure *, size_t w, size_t h, bool utf8,
                            struct err *);
/* For the poll loop: fills up to 3 pollfds, returns how many; *timeout_ms is lowered as needed. */
size_t gnuplot_poll(struct gnuplot *, struct pollfd *fds, int *timeout_ms);
/* After poll: reads, writes, kills what hangs. true when a new frame (or a state change) is there. */
bool gnuplot_service(struct gnuplot *);
/* The last frame: h rows of w cells (UTF-8 text and a colour per cell); NULL when none. */
struct frame_cell { char ch[5]; short fg; };   /* fg: 0..255 palette, -1 default */
struct frame { size_t w, h; struct frame_cell *cell; unsigned serial; };
const struct frame *gnuplot_frame(const struct gnuplot *);
/* "" while well; else one sentence, said once per change ("gnuplot is not installed: ..."). */
const char *gnuplot_state(const struct gnuplot *);

/* Writes a figure to path (.svg .png .pdf .txt .csv by suffix), atomically, within a time limit.
 * Blocking: call from a worker or in batch.  Falls back, and says so in *note, where gnuplot is
 * missing (txt and csv never need it; svg is then drawn by the built-in writer). */
enum status plot_export(const struct figure *, const char *path, size_t width, size_t height,
                        struct buf *note, struct err *);

#endif
