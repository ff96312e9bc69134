/* figure/gnuplot.h -- the gnuplot child processes: a persistent one for live panes, one-shot ones
 * for exports.  The live child never blocks the caller: it is driven from the main poll loop.
 *
 * The program is "gnuplot" from PATH, or what the environment variable GPDESK_GNUPLOT names; it is
 * started without a shell, with a clean environment, in a process group of its own. */
#ifndef GPDESK_GNUPLOT_H
#define GPDESK_GNUPLOT_H

#include "figure/figure.h"
#include "base/status.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

struct gnuplot;  /* the live child: started on first use, restarted after death or hang */
/* Call from the main thread (the child dies with the thread that started it). */
struct gnuplot *gnuplot_new(struct err *);
void gnuplot_free(struct gnuplot *); /* ends the child */
/* Colours of the terminal and its background, for frames from now on (256 colours, dark). */
void gnuplot_style(struct gnuplot *, int colors, bool dark);
/* Asks for a picture of w x h cells; the newest request replaces an unsent one.  The figure is
 * copied (thinned).  While gnuplot does not work the built-in plot becomes the frame. */
enum status gnuplot_request(struct gnuplot *, const struct figure *, size_t w, size_t h, bool utf8,
                            struct err *);
/* For the poll loop: fills up to 3 pollfds, returns how many; *timeout_ms (-1: none yet) is lowered
 * as needed. */
size_t gnuplot_poll(struct gnuplot *, struct pollfd *fds, int *timeout_ms);
/* After poll: reads, writes, restarts, kills what hangs (its own child only).  true when a new
 * frame or a change of state is there.  Never blocks; harmless at any time. */
bool gnuplot_service(struct gnuplot *);
/* gnuplot is at work on a request (false while it does not work: the built-in plot stands). */
bool gnuplot_busy_for_tests(const struct gnuplot *);
/* The last frame: h rows of w cells; NULL when none. Valid until the next call. */
const struct frame *gnuplot_frame(const struct gnuplot *);
/* "" while well; else one sentence ("gnuplot is not installed: ..."): say it when it changes. */
const char *gnuplot_state(const struct gnuplot *);
/* The child's process id, 0 when none runs (for tests). */
long gnuplot_pid_for_tests(const struct gnuplot *);

struct ctl;
/* Writes a figure to path (.svg .png .pdf .txt .csv by suffix), atomically, within a time limit.
 * width, height: pixels (0: 800 x 480; points of 1/96 inch for pdf), cells for txt (0: 80 x 24).
 * dark: light lines on a dark ground.  Blocking: call from a worker or in batch.  Falls back, and
 * says so in *note, where gnuplot is missing (txt and csv never need it; svg is then drawn by the
 * built-in writer).  CANCELLED when ctl (may be NULL) says so while gnuplot is at work. */
enum status plot_export(const struct ctl *, const struct figure *, const char *path, size_t width,
                        size_t height, bool dark, struct buf *note, struct err *);
/* Time gnuplot may take for it (20,000 ms); for tests. */
void plot_export_limit_for_tests(int ms);

#endif
