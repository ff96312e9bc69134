/* ui/terminal.h -- the terminal under curses: its modes, its size, and giving it back whatever
 * happens. */
#ifndef GPDESK_TERMINAL_H
#define GPDESK_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

struct desk;
/* NULL when a full screen is possible, else why not (perhaps written to out). */
const char *terminal_refuses(char *out, size_t len);
bool terminal_begin(void);               /* remembers the modes of the terminal */
void terminal_end(void);                 /* and sets them again */
void terminal_modes(void);               /* those of curses that the screen needs */
void terminal_paste(bool on);            /* bracketed paste */
void terminal_mouse(bool on);
void terminal_size(struct desk *);       /* asks for the size, tells curses and the prompt */
void terminal_leave(void);               /* the shell's screen; terminal_back returns */
void terminal_back(struct desk *);
void terminal_suspend(struct desk *);    /* Ctrl-Z */
void terminal_say(const char *bytes);    /* to the terminal as they are */
void terminal_crashes(bool on);          /* a crash leaves the terminal usable */
void terminal_rescue(void);              /* a signal handler gives it back, without waiting */

#endif
