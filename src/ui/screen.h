/* ui/screen.h -- the layout for a size, and drawing everything into it.
 *
 * Pure in the desk and the terminal's size: a resize is just the next draw. */
#ifndef GPDESK_SCREEN_H
#define GPDESK_SCREEN_H

#include "ui/desk.h"

/* Where things are; a canvas with h == 0 is not on the screen. */
struct layout {
    bool frames;                 /* panes with frames (medium and wide) */
    struct canvas header, tabs, rule1, main, verdict, rule2, log, rule3, job, prompt;
    struct canvas list, second, inspector, notes;   /* whole panes, frame included */
};
enum layout_kind { LAYOUT_AUTO, LAYOUT_MAIN, LAYOUT_TWO, LAYOUT_THREE, LAYOUT_SLIDE };
struct layout_wish {
    enum layout_kind kind;       /* what does not fit gives the next smaller */
    int prompt_rows;             /* rows the line editor wants */
    int log_rows;                /* rows the newest message wants; negative: the view is the log */
    bool zoom, full;             /* one pane alone; nothing but it */
    int dx, dy;                  /* the left column wider, the log taller */
};
enum layout_kind screen_layout(int rows, int cols, const struct layout_wish *, struct layout *);
enum layout_kind screen_layout_named(const char *name);      /* AUTO when there is none */
/* Moves the page over the view to the next place that holds the text. */
bool screen_pager_find(struct desk *, const char *what, int dir);
void screen_draw(struct desk *);

#endif
