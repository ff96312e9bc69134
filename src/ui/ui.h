/* ui/ui.h -- the workbench at a terminal: full screen, or one event a line.
 *
 * Both run until `quit`, the end of the input or a signal, and return the exit status of the
 * program: 0, or 128 + n after signal n (SIGHUP, SIGTERM, a terminal that vanished).  Before they
 * return, running jobs have been stopped with their best iterates kept and the session is on disk;
 * the caller frees the workspace.
 *
 * Order in main: lifecycle_prepare(), then workspace_new, then ui_run.
 * They put their own sink on ws->sinks and take it off again; nothing else may write to stdout,
 * stderr or the terminal meanwhile, so the caller removes its text or JSON sink first. */
#ifndef GPDESK_UI_H
#define GPDESK_UI_H

#include <stdbool.h>
#include <stddef.h>

struct workspace;

enum ui_color { UI_COLOR_AUTO, UI_COLOR_ALWAYS, UI_COLOR_NEVER };  /* --color */
struct ui_opts {
    bool plain;               /* --plain: line mode */
    enum ui_color color;      /* AUTO: NO_COLOR and TERM decide */
    const char *theme;        /* "auto" "dark" "light" "mono"; NULL: $GPDESK_THEME, else auto */
    /* Called once the screen listens, before the first prompt: open the session here, so that its
     * notes reach the log.  NULL: none. */
    void (*start)(struct workspace *, void *ctx);
    void *ctx;
    const char *const *line;  /* then run as if typed: `open FILE`, the -e lines of -i */
    size_t nlines;
};

/* Full screen; falls back to plain_run, with the reason in words, where the terminal cannot. */
int ui_run(struct workspace *ws, const struct ui_opts *);
/* Line mode on stdin and stdout; why: one sentence said first, or NULL. */
int plain_run(struct workspace *ws, const struct ui_opts *, const char *why);
/* The same from a full screen, until the option `plain` is off again: then -1 and nothing is
 * stopped. */
int plain_again(struct workspace *ws, const struct ui_opts *);

#endif
