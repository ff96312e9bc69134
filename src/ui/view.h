/* ui/view.h -- what a view is, and the list of all views.
 *
 * A view draws workspace state into a canvas and turns keys into command lines; drawing reads
 * state and writes cells, so resize, redraw and tests are the same call.  A view is its file in
 * views/, one row of WS_SCREEN_VIEWS (app/core/ws_screen.h: its key and its words), and its line in
 * ui.mk: what brings it forward and the plots it shows are entries of its own row.  Everything here
 * runs on the main thread. */
#ifndef GPDESK_VIEW_H
#define GPDESK_VIEW_H

#include "app/core/workspace.h"
#include "app/core/ws_screen.h"
#include "ui/draw.h"
#include "ui/keymap.h"
#include "ui/plotpane.h"

enum view_place {
#define VIEW_PLACE(id, file, key, word, shows, line) VIEW_##id,
    WS_SCREEN_VIEWS(VIEW_PLACE)
#undef VIEW_PLACE
    N_VIEWS
};
/* News in the workspace that bring a view forward, unless the user has picked another view. */
enum view_news {
    VIEW_NEWS_DATA = 1, VIEW_NEWS_TUNING = 2, VIEW_NEWS_TRACE = 4, /* a fit has iterations */
    VIEW_NEWS_FIT = 8,                                             /* it ended without iterations */
    VIEW_NEWS_SCORE = 16, VIEW_NEWS_COMPONENTS = 32
};

struct desk;
struct view;
/* Entries may be NULL, except those of the first block and draw. */
struct view_ops {
    const char *tab, *title;         /* "Resid", "Residual" */
    const char *about;               /* F1: what it shows and how to read it */
    const struct keyrow *keys;       /* its own keys or NULL; keymap.c has the common ones */
    unsigned kinds;                  /* KIND_* */
    unsigned news;                   /* VIEW_NEWS_* */
    enum view_place beside;     /* shown in the second pane while this view is in the main pane */
    const char *plots;               /* names of the plots that it shows, separated by blanks */
    bool any_plot;                   /* it shows the plots that no other view shows */
    size_t state_size;
    void (*draw)(struct view *, const struct canvas *);
    bool (*act)(struct view *, enum act);             /* true: the action was handled */
    void (*verdict)(struct view *, struct buf *);     /* writes one sentence */
    void (*title_more)(struct view *, struct buf *);  /* after the title */
    struct run *(*run)(const struct view *);    /* the run being shown; NULL: the selected one */
    /* "residual r7": the arguments of plot and describe. */
    void (*plot_words)(const struct view *, struct buf *);
    void (*show)(struct view *, const char *plot, const char *run); /* one of its plots; run may
                                                                     * be "" */
    bool (*find)(struct view *, const char *what, int dir); /* search: true when found */
    bool (*filter)(struct view *, const char *what);  /* while it is typed */
    bool (*copy)(struct view *, bool all, struct buf *);    /* the cell, or everything as CSV */
    void (*click)(struct view *, int row, int col);   /* in its canvas of the last draw */
    void (*close)(struct view *);                     /* frees what the state points to */
};
/* An open view: its own scroll position and choices. */
struct view {
    const struct view_ops *ops;
    struct desk *desk;
    void *state;
    struct plotpane *plot;           /* the pane it is drawn in */
    int page;                        /* rows it can show, from the last draw */
    struct canvas at;                /* where, from the last draw */
    bool second;                     /* in the second pane of a wide screen */
};
extern const struct view_ops *const view_table[N_VIEWS];
#define VIEW_DECLARED(id, file, key, word, shows, line) extern const struct view_ops file##_view;
WS_SCREEN_VIEWS(VIEW_DECLARED)
#undef VIEW_DECLARED
extern const struct view_ops runs_list_view;          /* the left column of a wide screen */

/* Its key, alone in a view and with Alt from anywhere; 0: it has none (runs_list_view). */
char view_key(const struct view_ops *);

/* Places in view_table; N_VIEWS: there is none. */
size_t view_of_key(char key);
size_t view_of_plot(const char *plot, bool known);    /* known: any_plot will do, too */
size_t view_of_news(enum view_news);

#endif
