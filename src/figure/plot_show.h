/* figure/plot_show.h -- plots outside the pane: in a window if there is a display, or as sixel
 * graphics if the terminal supports them. */
#ifndef GPDESK_PLOT_SHOW_H
#define GPDESK_PLOT_SHOW_H

#include "figure/figure.h"

/* Shows the figure in gnuplot's window, which stays until the program ends; the next figure
 * replaces it. UNSUPPORTED without a display, or if gnuplot cannot open windows. Only one thread
 * may call it, and the window lives as long as that thread. CANCELLED if ctl (may be NULL) asks to
 * stop. */
struct ctl;
enum status plot_window(const struct ctl *, const struct figure *, bool dark, struct err *err);
/* How many milliseconds gnuplot may take to say which window system it has (10,000). */
void plot_window_limit_for_tests(int ms);

/* True if a reply to CSI c says that the terminal supports sixel graphics. *whole: the reply is
 * complete. */
bool plot_show_sixel_in_reply(const char *reply, size_t n, bool *whole);
enum status plot_show_sixel_refused(
    struct err *err); /* sets the error UNSUPPORTED, with alternatives */
/* Asks the terminal behind fd and waits at most ms milliseconds. Its modes are restored. */
bool plot_show_sixel_ask(int fd, int ms);
/* The size in pixels of the terminal behind fd, without one line; 800 x 480 if it is unknown. */
void plot_show_sixel_size(int fd, size_t *w, size_t *h);
/* Writes all bytes and waits for a key or a signal. */
enum status plot_show_sixel_show(int fd, const char *bytes, size_t n, struct err *err);

#endif
