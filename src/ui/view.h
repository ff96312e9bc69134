/* ui/view.h -- what a view is, and the desk that all parts of the screen share.
 *
 * A view draws workspace state into a canvas and turns keys into command lines; drawing reads
 * state and writes cells, so resize, redraw and tests are the same call.  Everything here runs on
 * the main thread. */
#ifndef GPDESK_VIEW_H
#define GPDESK_VIEW_H

#include "app/core/workspace.h"
#include "ui/picker.h"
#include "ui/draw.h"
#include "ui/input.h"
#include "ui/keymap.h"
#include "ui/logbook.h"
#include "ui/plotpane.h"

struct desk;
struct view;
struct view_ops {
    char digit;                      /* Alt-digit */
    const char *tab, *title;         /* "Resid", "Residual" */
    const char *about;               /* F1: what it shows, how to read it */
    const struct keyrow *keys;       /* its own; those of all views are in keymap.c */
    unsigned kinds;                  /* KIND_* */
    size_t state_size;
    void (*draw)(struct view *, const struct canvas *);
    bool (*act)(struct view *, enum act);             /* true: taken; may be NULL */
    void (*verdict)(struct view *, struct buf *);     /* one sentence */
    void (*title_more)(struct view *,
                       struct buf *); /* after the title; the rest may be NULL, too */
    struct run *(*run)(const struct view *);          /* the run on show; NULL: the selected one */
    void (*plot_words)(const struct view *,
                       struct buf *); /* "residual r7": for plot and describe */
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
enum {
    VIEW_DATA,
    VIEW_RUNS,
    VIEW_RESIDUAL,
    VIEW_NMLL,
    VIEW_RANK,
    VIEW_CALIB,
    VIEW_PCA,
    VIEW_LESSON,
    VIEW_LOG,
    N_VIEWS
};
extern const struct view_ops *const view_table[N_VIEWS];
extern const struct view_ops view_data, view_runs, view_residual, view_nmll, view_rank, view_calib,
    view_pca, view_lesson, view_log, view_list;

enum focus { FOCUS_PROMPT, FOCUS_VIEW };
enum pane { PANE_MAIN, PANE_SECOND, PANE_LIST, PANE_LOG, N_PANES };
enum { MARKS_MAX = 6, MEDIUM_COLS = 110, MEDIUM_ROWS = 32,         /* from there on: panes */
       SMALL_NEWS = 4 };         /* rows of the newest message where there is no strip of the log */

/* Text over the view: help, a long result.  beside: above the view, which it belongs to; the rest
 * is how things stood when it was opened. */
struct pager {
    bool open;
    char *title;
    char *text;
    size_t top, rows, left;
    int page, width;
    bool cut, beside;
    size_t jobs, ndata, cur;
};
/* How a plot's axes differ from the figure's own: 0 as it is, 1 log, 2 linear; the x range as
 * shares. */
struct axes { int x, y; double lo, hi; };        /* lo == hi: all */

/* A picture over the whole screen: picture.c. */
enum picture_state { PICTURE_NONE, PICTURE_ASKED, PICTURE_COMES, PICTURE_STANDS };
struct picture {
    enum picture_state state;
    int can; /* 0 not asked yet */
    char *bytes;
    size_t n, done;
    double until;
    char below[256];
};

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
    bool zoom, full;                 /* the active pane alone; nothing but the plot */
    int dx, dy;                      /* the left column wider, the log taller than by default */
    int rows, cols;
    struct pager pager;
    char **match; size_t nmatch;     /* completions on show */
    bool welcome;                    /* the first-start choice stands in the view */
    char sel[16];                    /* the selected run; "" none */
    char led[16]; /* sel as restarts have led it: it goes on with them until the user picks */
    size_t seen_runs, seen_scored, seen_data, seen_cur;
    const void *seen_pca;
    bool picked;                     /* the user chose this view after the last line typed */
    bool watch_trace;                /* a fit is new: show its residual once it has one */
    char *line;                      /* the last line run */
    char mark[MARKS_MAX][16]; size_t nmarks;
    char over[MARKS_MAX][16];
    size_t nover;                    /* drawn over the selected run: plot or compare named them */
    bool shown_now;                  /* the line or event in hand has brought a plot forward */
    bool has[N_PANES];               /* panes on the screen, from the last draw */
    struct canvas mark_frame; char *mark_title; /* of the active pane, from this draw */
    bool quiet;                      /* the newest message was read: the log's strip is small */
    bool quit_asked, mouse, clear;
    struct ask ask;                  /* palette, keys, search: has the keyboard while open */
    char *find;                      /* what was last searched for */
    const struct keyrow *learning;   /* its line stands in the job line and waits for Enter */
    char *learn_line;
    struct learned *learned; size_t nlearned;   /* keys whose line is known by now */
    bool first_session;
    char scrub_run[16]; size_t scrub;           /* a run drawn up to this trace point; 0: all */
    char *filter;                    /* of the table of runs */
    struct run **shown; size_t nshown;          /* the runs as sorted and filtered */
    unsigned shown_serial; bool shown_stale;
    struct canvas pane[N_PANES];     /* from the last draw, h == 0: not there */
    struct canvas tab[N_VIEWS];
    int drag;                        /* 0 none, 'x' the left column's edge, 'y' the log's */
    struct picture picture;
    double rang;                     /* when a job that may ring began */
    char *copy_page;                 /* a page over the view while a line is run: what copy means */
    bool dirty, urgent;              /* draw soon; draw now (a key was pressed) */
    bool unsaved;                    /* rows of the session have waited too long for the disk */
    double echoed;                   /* when a key was last drawn for */
    bool started;                    /* the lines of the command line have been run */
    int exit_signal;
    char told[256];                  /* the last word on gnuplot */
    char theme[16], glyphs[8], editing[8];   /* the options as last seen */
};
struct learned { char name[24]; unsigned uses; };

/* What views may ask for (ui.c). */
void desk_exec(struct desk *, const char *line);         /* log it and run it */
void desk_execf(struct desk *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void desk_prompt(struct desk *, const char *text);       /* put it on the prompt, go there */
void desk_show(struct desk *, size_t view);
void desk_act(struct desk *, enum act); /* keys.c: an act of the screen or its view */
struct view *desk_view(struct desk *);                   /* the view in the active pane */
void desk_page(struct desk *, const char *title, const char *text); /* text over the view */
void desk_page_close(struct desk *);
double desk_now(void);

/* Runs by id and selection. */
struct run *desk_find(const struct desk *, const char *id);
struct run *desk_selected(const struct desk *);          /* NULL: none */
struct run *
desk_selected_of(const struct desk *,
                 enum run_kind); /* else the one that runs, else the newest that has begun */
bool desk_marked(const struct desk *, const struct run *);
/* The runs drawn over the selected one: the marked, and those that a line named.  i from 0; NULL:
 * no more. */
struct run *desk_over(const struct desk *, size_t i);
void desk_mark(struct desk *, const struct run *);       /* toggles */
void desk_move(struct desk *, int by);                   /* selection in the runs as sorted */
void desk_runs(struct desk *);                           /* brings desk.shown up to date */
void desk_runs_free(struct desk *);
void run_sort_next(struct desk *, int column);           /* again: the other way round */

/* Words that several views use (views/words.c). */
char run_glyph(const struct run *);                      /* '>' runs, '!' not converged, ... */
void run_details(const struct run *, struct buf *);      /* "key<TAB>value" lines */
void run_line(const struct run *, struct buf *);
void kernel_short(const struct run *, char *out, size_t len); /* "matern 5/2" */
void next_steps(const struct workspace *, struct buf *); /* "command<TAB>why" lines */
bool axes_act(const struct view *, enum act, struct axes *);
void axes_apply(struct figure *, const struct axes *);
uint64_t axes_stamp(const struct axes *);
bool scrub_act(struct view *, enum act, struct run *);   /* { } */
/* The views of how a fit or a tuning goes: their state, and what they share (views/trace.c). */
struct trace_state { struct axes axes; };
void trace_draw(struct view *, const struct canvas *, const char *plot, struct run *);
bool trace_act(struct view *, enum act);
void trace_verdict(struct view *, struct buf *);
size_t scrub_at(const struct desk *, const struct run *);/* trace points to draw; 0: all */
bool plot_copy(struct view *, bool all, struct buf *);   /* its sentence, or its numbers */
/* Makes plot `name` of a run as a plotpane_make: ctx is a struct plot_request. */
struct plot_request { struct desk *desk; const char *name; struct run *run; const struct axes *axes;
                      bool marks; };
struct figure *plot_request_make(void *ctx, struct err *);
void plot_verdict(struct view *, struct buf *);          /* of the figure on show */

void data_show_plot(struct view *);                       /* columns instead of the table */
void rank_show(struct view *, const char *plot);         /* "rank" or "spectrum" */
void lesson_show(struct view *, const char *plot, const char *run); /* beside the text */
bool calib_show(struct view *, const char *plot);         /* turns to the page of a plot */

#endif
