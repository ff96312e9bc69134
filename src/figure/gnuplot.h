/* figure/gnuplot.h -- the gnuplot child processes: a persistent one for live panes, and one for
 * each export. The live child never blocks the caller, because the main poll loop drives it.
 *
 * The program is "gnuplot" from PATH, or the value of the environment variable GPDESK_GNUPLOT. It
 * is started without a shell, with a clean environment, in its own process group. */
#ifndef GPDESK_GNUPLOT_H
#define GPDESK_GNUPLOT_H

#include "figure/figure.h"
#include "base/status.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

struct gnuplot;  /* the live child: started on first use, restarted after it dies or hangs */
/* Call it from the main thread: the child dies with the thread that started it. */
struct gnuplot *gnuplot_new(struct err *);
void gnuplot_free(struct gnuplot *); /* ends the child */
/* Sets the number of colours of the terminal and its background for later frames (default 256,
 * dark). */
void gnuplot_style(struct gnuplot *, int colors, bool dark);
/* Requests an image of w x h cells. The newest request replaces an unsent one. The figure is copied
 * and thinned. While gnuplot does not work, the built-in plot becomes the frame. */
enum status gnuplot_request(struct gnuplot *, const struct figure *, size_t w, size_t h, bool utf8,
                            struct err *);
/* For the poll loop: fills up to 3 pollfds and returns how many. *timeout_ms is lowered if needed;
 * -1 means none. */
size_t gnuplot_poll(struct gnuplot *, struct pollfd *fds, int *timeout_ms);
/* Call after poll: reads, writes, restarts, and kills its child if that hangs. Returns true if
 * there is a new frame or a change of state. It never blocks and may be called at any time. */
bool gnuplot_service(struct gnuplot *);
/* true while gnuplot works on a request (false while it is not available and the built-in plot is
 * shown) */
bool gnuplot_busy_for_tests(const struct gnuplot *);
/* The last frame, h rows of w cells; NULL if there is none. Valid until the next call. */
const struct frame *gnuplot_frame(const struct gnuplot *);
/* "" if gnuplot works; otherwise a sentence ("gnuplot is not installed: ..."), to be reported when
 * it changes. */
const char *gnuplot_state(const struct gnuplot *);
/* The process id of the child; 0 if none is running. */
long gnuplot_pid_for_tests(const struct gnuplot *);

struct ctl;
/* Writes a figure to path (.svg .png .pdf .txt .csv by suffix), atomically and within a time limit.
 * width, height: pixels (0: 800 x 480; for pdf points of 1/96 inch), cells for txt (0: 80 x 24).
 * dark: light lines on a dark background. The call blocks: use it on a worker or in a batch. If
 * gnuplot is missing, *note says so; txt and csv never need it, and svg is then drawn by the
 * built-in writer. CANCELLED if ctl (may be NULL) asks to stop while gnuplot works. */
enum status plot_export(const struct ctl *, const struct figure *, const char *path, size_t width,
                        size_t height, bool dark, struct buf *note, struct err *);
/* The same for a PDF file that given commands draw, which write it as PLOT_EXPORT_PAGES; within
 * three times the limit. way: what to do where gnuplot fails ("out=FILE.svg"). */
#define PLOT_EXPORT_PAGES "plot.pdf"
enum status plot_export_pages(const struct ctl *, const struct buf *commands, const char *path,
                              const char *way, struct err *);
/* The time limit for gnuplot (20,000 ms). */
void plot_export_limit_for_tests(int ms);

#endif
