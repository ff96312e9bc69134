/* ui/screen.h -- the layout for a size, and drawing everything into it.
 *
 * It depends only on the desk and the size of the terminal: a resize is just the next drawing. */
#ifndef GPDESK_SCREEN_H
#define GPDESK_SCREEN_H

#include "ui/desk.h"

/* Where everything is. A canvas with h == 0 is not on the screen. */
struct layout {
    bool frames;                 /* panes have frames (medium and wide) */
    struct canvas header, tabs, rule1, main, verdict, rule2, log, rule3, job, prompt;
    struct canvas list, second, inspector, notes;   /* whole panes, with their frames */
};
enum layout_kind { LAYOUT_AUTO, LAYOUT_MAIN, LAYOUT_TWO, LAYOUT_THREE, LAYOUT_SLIDE };
struct layout_wish {
    enum layout_kind kind;       /* if it does not fit, the next smaller kind is used */
    int prompt_rows;             /* rows that the line editor wants */
    int log_rows;           /* rows that the newest message wants; negative: the view is the log */
    bool zoom, full;             /* zoom: only one pane; full: nothing else at all */
    int dx, dy;                  /* how much wider the left column and taller the log are */
};
enum layout_kind screen_layout(int rows, int cols, const struct layout_wish *, struct layout *);
enum layout_kind screen_layout_named(const char *name);      /* AUTO if there is no such name */
/* Scrolls the page over the view to the next line that contains the text. Returns false if there is
 * none. */
bool screen_pager_find(struct desk *, const char *what, int dir);
void screen_draw(struct desk *);

#endif
