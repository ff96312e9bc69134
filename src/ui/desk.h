/* ui/desk.h -- the desk: what all parts of the screen share, and what views ask of it.
 *
 * Functions here change the desk and run lines; they draw nothing and know no view by name. */
#ifndef GPDESK_DESK_H
#define GPDESK_DESK_H

#include "app/core/run.h"
#include "ui/input.h"
#include "ui/logbook.h"
#include "ui/picker.h"
#include "ui/view.h"

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

/* The workspace when it was last looked at: what differs is new. */
struct desk_seen {
    size_t runs, scored, data, cur;
    const void *pca;
    bool trace_due;                  /* a fit is new: its residual is shown once it has one */
};
/* Learning the command lines that keys stand for. */
struct desk_learned { char name[24]; unsigned uses; };
struct desk_learning {
    const struct keyrow *row;        /* its line stands in the job line and waits for Enter */
    char *line;
    struct desk_learned *known;      /* keys whose line is known by now */
    size_t nknown;
    bool first_session;
};
/* Where things are, from the last draw. */
struct desk_panes {
    bool has[N_PANES];
    struct canvas pane[N_PANES];     /* h == 0: not there */
    struct canvas tab[N_VIEWS];
    struct canvas frame; char *title; /* of the active pane */
    int drag;                        /* 0 none, 'x' the left column's edge, 'y' the log's */
};
/* The runs as the table shows them. */
struct desk_table {
    char *filter;
    struct run **shown; size_t nshown; /* sorted and filtered */
    unsigned serial; bool stale;
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
    struct desk_seen seen;
    bool picked;                     /* the user chose this view after the last line typed */
    char *line;                      /* the last line run */
    char mark[MARKS_MAX][16]; size_t nmarks;
    char over[MARKS_MAX][16];
    size_t nover;                    /* drawn over the selected run: plot or compare named them */
    bool shown_now;                  /* the line or event in hand has brought a plot forward */
    bool quiet;                      /* the newest message was read: the log's strip is small */
    bool quit_asked, mouse, clear;
    struct ask ask;                  /* palette, keys, search: has the keyboard while open */
    char *find;                      /* what was last searched for */
    struct desk_learning learn;
    char scrub_run[16]; size_t scrub;           /* a run drawn up to this trace point; 0: all */
    struct desk_table table;
    struct desk_panes panes;
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

void desk_exec(struct desk *, const char *line);         /* logs a line and runs it */
void desk_execf(struct desk *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void desk_prompt(struct desk *, const char *text);       /* puts it on the prompt, goes there */
void desk_show(struct desk *, size_t view);
struct view *desk_view(struct desk *);                   /* the view in the active pane */
void desk_page(struct desk *, const char *title, const char *text); /* text over the view */
void desk_page_close(struct desk *);
double desk_now(void);                                   /* seconds, monotonic */

/* Runs by id and selection. */
struct run *desk_find(const struct desk *, const char *id);
struct run *desk_selected(const struct desk *);          /* NULL: none */
/* The selected run if it is of this kind, else the one that runs, else the newest that has
 * begun. */
struct run *desk_selected_of(const struct desk *, enum run_kind);
bool desk_marked(const struct desk *, const struct run *);
/* The runs drawn over the selected one: the marked, and those that a line named.  i from 0; NULL:
 * no more. */
struct run *desk_over(const struct desk *, size_t i);
void desk_mark(struct desk *, const struct run *);       /* toggles */

#endif
