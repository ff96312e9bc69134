/* ui/desk.h -- the desk: the state that all parts of the screen share, and what views ask of it.
 *
 * Functions here change the desk and run lines. They draw nothing and know no view by name. */
#ifndef GPDESK_DESK_H
#define GPDESK_DESK_H

#include "app/core/run.h"
#include "ui/input.h"
#include "ui/logbook.h"
#include "ui/picker.h"
#include "ui/view.h"

enum focus { FOCUS_PROMPT, FOCUS_VIEW };
enum pane { PANE_MAIN, PANE_SECOND, PANE_LIST, PANE_LOG, N_PANES };
enum { MARKS_MAX = 6, MEDIUM_COLS = 110, MEDIUM_ROWS = 32,  /* from this size on there are panes */
       SMALL_NEWS = 4 };         /* rows of the newest message if the log has no strip */

/* A text over the view: help, or a long result. beside: it is above the view that it belongs to.
 * The other members record the state when it was opened. */
struct pager {
    bool open;
    char *title;
    char *text;
    size_t top, rows, left;
    int page, width;
    bool cut, beside;
    size_t jobs, ndata, cur;
};

/* An image over the whole screen: see picture.c. */
enum picture_state { PICTURE_NONE, PICTURE_ASKED, PICTURE_COMES, PICTURE_STANDS };
struct picture {
    enum picture_state state;
    int can; /* 0: not asked yet */
    char *bytes;
    size_t n, done;
    double until;
    char below[256];
};

/* The workspace as last seen: a difference is news. */
struct desk_seen {
    size_t runs, scored, data, cur;
    const void *pca;
    bool trace_due;                  /* a fit is new: its residual is shown as soon as it has one */
};
/* Teaching the command lines behind keys. */
struct desk_learned { char name[24]; unsigned uses; };
struct desk_learning {
    const struct keyrow *row;        /* its line is shown in the job line and waits for Enter */
    char *line;
    struct desk_learned *known;      /* keys whose line has been learned */
    size_t nknown;
    bool first_session;
};
/* Where everything was in the last drawing. */
struct desk_panes {
    bool has[N_PANES];
    struct canvas pane[N_PANES];     /* h == 0: not on the screen */
    struct canvas tab[N_VIEWS];
    struct canvas frame; char *title; /* frame and title of the active pane */
    int drag;               /* 0: none; 'x': the edge of the left column; 'y': that of the log */
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
    struct plotpane *plot[2];        /* of the main and the second pane */
    struct view list;                /* the left column of a wide screen */
    enum focus focus;
    enum pane active;
    bool zoom, full;                 /* zoom: only the active pane; full: only the plot */
    int dx, dy;         /* how much wider the left column and taller the log are than by default */
    int rows, cols;
    struct pager pager;
    char **match; size_t nmatch;     /* completions being shown */
    bool welcome;                    /* the view shows the choice offered at the first start */
    char sel[16];                    /* the selected run; "" if none */
    /* the run that was selected automatically among restarts; the selection follows them until the
     * user selects one */
    char led[16];
    struct desk_seen seen;
    bool picked;                     /* the user chose this view after the last typed line */
    char *line;                      /* the last line that was run */
    char mark[MARKS_MAX][16]; size_t nmarks;
    char over[MARKS_MAX][16];
    size_t nover;                   /* runs drawn over the selected one, named by plot or compare */
    bool shown_now;                  /* the current line or event has brought a plot forward */
    bool quiet;             /* the newest message was read, so the log needs only a small strip */
    bool quit_asked, mouse, clear;
    struct ask ask;                 /* palette, keys or search: has the keyboard while it is open */
    char *find;                      /* the last text searched for */
    struct desk_learning learn;
    /* a run is drawn only up to this trace point; 0: completely */
    char scrub_run[16]; size_t scrub;
    struct desk_table table;
    struct desk_panes panes;
    struct picture picture;
    double rang;                     /* when the job began that may ring the bell */
    char *copy_page;        /* a page that is over the view while a line runs: what `copy` copies */
    bool dirty, urgent;              /* draw soon; draw now (a key was pressed) */
    bool unsaved;                    /* records of the session have waited too long to be on disk */
    double echoed;                   /* when a key last caused a drawing */
    bool started;                    /* the lines given on the command line have been run */
    int exit_signal;
    char told[256];                  /* the last message about gnuplot */
    char theme[16], glyphs[8], editing[8];   /* the options as last seen */
};

void desk_exec(struct desk *, const char *line);         /* logs a line and runs it */
void desk_execf(struct desk *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void desk_prompt(struct desk *, const char *text);       /* puts it on the prompt and moves there */
void desk_show(struct desk *, size_t view);
struct view *desk_view(struct desk *);                   /* the view in the active pane */
void desk_page(struct desk *, const char *title, const char *text); /* shows text over the view */
void desk_page_close(struct desk *);
double desk_now(void);                                   /* monotonic seconds */

/* Runs by id and by selection. */
struct run *desk_find(const struct desk *, const char *id);
struct run *desk_selected(const struct desk *);          /* NULL if none */
/* The selected run if it is of this kind, otherwise the running one, otherwise the newest that has
 * begun. */
struct run *desk_selected_of(const struct desk *, enum run_kind);
bool desk_marked(const struct desk *, const struct run *);
/* The i-th run drawn over the selected one: marked runs and runs named by a line. NULL if i is past
 * the end. */
struct run *desk_over(const struct desk *, size_t i);
void desk_mark(struct desk *, const struct run *);       /* toggles the mark */

#endif
