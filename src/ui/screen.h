/* ui/screen.h -- the layout for a size, and drawing everything into it.
 *
 * Pure in the desk and the terminal's size: a resize is just the next draw. */
#ifndef GPDESK_SCREEN_H
#define GPDESK_SCREEN_H

#include "ui/view.h"

/* Where things are; a canvas with h == 0 is not on the screen. */
struct layout {
    bool frames;                 /* panes with frames (medium and wide) */
    struct canvas header, tabs, rule1, main, verdict, rule2, log, rule3, job, prompt;
    struct canvas list, second, inspector, notes;   /* whole panes, frame included */
};
/* prompt_rows: rows the line editor wants; log_rows: rows that the newest
 * message wants, negative when the view is the log. */
void screen_layout(int rows, int cols, int prompt_rows, int log_rows, bool zoom, struct layout *);
void screen_draw(struct desk *);

#endif
