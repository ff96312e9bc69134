/* ui/view.h -- what a view is, and the desk that all parts of the screen share.
 *
 * A view draws workspace state into a canvas and turns keys into command lines; drawing reads
 * state and writes cells, so resize, redraw and tests are the same call.  Everything here runs on
 * the main thread. */
#ifndef GPDESK_VIEW_H
#define GPDESK_VIEW_H

#include "app/workspace.h"
#include "ui/draw.h"
#include "ui/input.h"
#include "ui/logbook.h"
#include "ui/plotpane.h"

struct desk;
struct view;
struct keyhelp { const char *keys, *does; };     /* ends at .keys == NULL */
struct view_ops {
    char digit;                      /* Alt-digit */
    const char *tab, *title;         /* "Resid", "Residual" */
    const char *about;               /* F1: what it shows, how to read it */
    const struct keyhelp *keys;
    size_t state_size;
    void (*draw)(struct view *, const struct canvas *);
    bool (*key)(struct view *, int key);              /* true: taken; may be NULL */
    void (*verdict)(struct view *, struct buf *);     /* one sentence */
    void (*title_more)(struct view *, struct buf *);  /* after the title; may be NULL */
    bool plot;                       /* drawn by plotpane_draw */
};
/* An open view: its own scroll position and choices. */
struct view {
    const struct view_ops *ops;
    struct desk *desk;
    void *state;
    struct plotpane *plot;           /* the pane it is drawn in */
    int page;                        /* rows it can show, from the last draw */
    bool second;                     /* in the second pane of a wide screen */
};
enum { VIEW_DATA, VIEW_RUNS, VIEW_RESIDUAL, VIEW_NMLL, VIEW_RANK, VIEW_CALIB, VIEW_PCA, VIEW_LOG, N_VIEWS };
extern const struct view_ops *const view_table[N_VIEWS];
extern const struct view_ops view_data, view_runs, view_residual, view_nmll, view_rank, view_calib, view_pca,
    view_log, view_list;

enum focus { FOCUS_PROMPT, FOCUS_VIEW };
enum pane { PANE_MAIN, PANE_SECOND, PANE_LIST, PANE_LOG, N_PANES };
enum { MARKS_MAX = 6, MEDIUM_COLS = 110, MEDIUM_ROWS = 32 };   /* from there on: panes */

/* Text over the view: help, a long result. */
struct pager { bool open; char *title; char *text; size_t top, rows, left; int page; bool cut; };

struct desk {
    struct workspace *ws;
    const struct ui_opts *opts;
    struct logbook log;
    size_t log_scroll;
    struct view view[N_VIEWS], second[N_VIEWS];
    size_t main;                     /* the view in the main pane */
    struct plotpane *plot[2];        /* main, second */
    struct view list;                /* the left column of a wide screen */
    enum focus focus;
    enum pane active;
    bool zoom;
    int rows, cols;
    struct pager pager;
    char **match; size_t nmatch;     /* completions on show */
    bool welcome;                    /* the first-start choice stands in the view */
    char sel[16];                    /* the selected run; "" none */
    size_t seen_runs, seen_scored, seen_data, seen_cur;
    const void *seen_pca;
    bool picked;                     /* the user chose this view after the last line typed */
    bool watch_trace;                /* a fit is new: show its residual once it has one */
    char *line;                      /* the last line run */
    char mark[MARKS_MAX][16]; size_t nmarks;
    bool has[N_PANES];               /* panes on the screen, from the last draw */
    struct canvas mark_frame; char *mark_title; /* of the active pane, from this draw */
    bool quiet;                      /* the newest message was read: the log's strip is small */
    bool quit_asked, mouse, clear;
    bool dirty, urgent;              /* draw soon; draw now (a key was pressed) */
    int exit_signal;
    char told[256];                  /* the last word on gnuplot */
    char theme[16];                  /* the option as last seen */
};

/* What views may ask for (ui.c). */
void desk_exec(struct desk *, const char *line);         /* log it and run it */
void desk_execf(struct desk *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void desk_prompt(struct desk *, const char *text);       /* put it on the prompt, go there */
void desk_show(struct desk *, size_t view);
void desk_page(struct desk *, const char *title, const char *text); /* text over the view */
void desk_page_close(struct desk *);
double desk_now(void);

/* Runs by id and selection. */
struct run *desk_find(const struct desk *, const char *id);
struct run *desk_selected(const struct desk *);          /* NULL: none */
struct run *desk_selected_of(const struct desk *, enum run_kind); /* else the newest of them */
bool desk_marked(const struct desk *, const struct run *);
void desk_mark(struct desk *, const struct run *);       /* toggles */
void desk_move(struct desk *, int by);                   /* selection in the list of runs */

/* Words that several views use (views/words.c). */
char run_glyph(const struct run *);                      /* '>' runs, '!' not converged, ... */
void run_details(const struct run *, struct buf *);      /* "key<TAB>value" lines */
void run_line(const struct run *, struct buf *);
void kernel_short(const struct run *, char *out, size_t len); /* "matern 5/2" */
void next_steps(const struct workspace *, struct buf *); /* "command<TAB>why" lines */
bool axis_key(const struct view *, int key, int *x, int *y); /* 0 as it is, 1 log, 2 linear */
void axis_apply(struct figure *, int x, int y);
/* Makes plot `name` of a run as a plotpane_make: ctx is a struct plot_request. */
struct plot_request { struct desk *desk; const char *name; struct run *run; int x, y; bool marks; };
struct figure *plot_request_make(void *ctx, struct err *);
void plot_verdict(struct view *, struct buf *);          /* of the figure on show */

void data_show_plot(struct view *);                       /* columns instead of the table */
void rank_show(struct view *, const char *plot);         /* "rank" or "spectrum" */
bool calib_show(struct view *, const char *plot);         /* turns to the page of a plot */

#endif
