/* ui/terminal.h -- the terminal below curses: its modes, its size, and restoring it whatever
 * happens. */
#ifndef GPDESK_TERMINAL_H
#define GPDESK_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

struct desk;
/* NULL if a full screen is possible, otherwise the reason (possibly written to out). */
const char *terminal_refuses(char *out, size_t len);
bool terminal_begin(void);               /* saves the modes of the terminal */
void terminal_end(void);                 /* restores them */
void terminal_modes(void);               /* sets the curses modes that the screen needs */
void terminal_paste(bool on);            /* bracketed paste */
void terminal_mouse(bool on);
void terminal_size(struct desk *);       /* reads the size and passes it to curses and the prompt */
void terminal_leave(void);               /* shows the shell's screen; terminal_back returns */
void terminal_back(struct desk *);
void terminal_suspend(struct desk *);    /* Ctrl-Z */
void terminal_say(const char *bytes);    /* writes bytes to the terminal unchanged */
void terminal_crashes(bool on);          /* on: a crash leaves the terminal usable */
void terminal_rescue(void);     /* for a signal handler: restores the terminal without waiting */

#endif
