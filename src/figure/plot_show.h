/* figure/plot_show.h -- pictures beyond the pane: a window where there is a display, sixel graphics
 * where the terminal says that it shows them. */
#ifndef GPDESK_PLOT_SHOW_H
#define GPDESK_PLOT_SHOW_H

#include "figure/figure.h"

/* Shows the figure in gnuplot's window, which stays until the program ends; the next one takes its
 * place. UNSUPPORTED without a display or without a gnuplot that opens windows.  Called by one
 * thread only, which the window lives as long as.  CANCELLED when ctl (may be NULL) says so. */
struct ctl;
enum status plot_window(const struct ctl *, const struct figure *, bool dark, struct err *err);
/* Milliseconds gnuplot may take to say which window it has (10,000); for tests. */
void plot_window_limit_for_tests(int ms);

/* Does a reply to "who are you" (CSI c) say that the terminal shows sixel graphics?  *whole: it has
 * ended. */
bool plot_show_sixel_in_reply(const char *reply, size_t n, bool *whole);
enum status plot_show_sixel_refused(
    struct err *err); /* the words for it: UNSUPPORTED, with what else there is */
/* Asks the terminal behind fd, waiting at most ms; its modes are as before afterwards. */
bool plot_show_sixel_ask(int fd, int ms);
/* Pixels of the terminal behind fd, less a line; 800 x 480 where it does not tell. */
void plot_show_sixel_size(int fd, size_t *w, size_t *h);
/* Writes all bytes and waits for a key (any key; or a signal). */
enum status plot_show_sixel_show(int fd, const char *bytes, size_t n, struct err *err);

#endif
