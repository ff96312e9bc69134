/* ui/ui.h -- the workbench at a terminal: full screen, or one event per line.
 *
 * Both modes run until `quit`, the end of input or a signal, and return the exit status of the
 * program: 0, or 128 + n after signal n (SIGHUP, SIGTERM, a terminal that vanished). Before they
 * return, running jobs have been stopped with their best iterates kept, and the session is on disk.
 * The caller frees the workspace.
 *
 * The order in main is lifecycle_prepare, workspace_new, ui_run. Both modes add their own sink to
 * ws->sinks and remove it again. Nothing else may write to stdout, stderr or the terminal
 * meanwhile, so the caller removes its text or JSON sink first. */
#ifndef GPDESK_UI_H
#define GPDESK_UI_H

#include <stdbool.h>
#include <stddef.h>

struct workspace;

enum ui_color { UI_COLOR_AUTO, UI_COLOR_ALWAYS, UI_COLOR_NEVER };  /* --color */
struct ui_opts {
    bool plain;               /* --plain: line mode */
    enum ui_color color;      /* AUTO: decided by NO_COLOR and TERM */
    const char *theme;  /* "auto", "dark", "light", "mono"; NULL: $GPDESK_THEME, otherwise auto */
    /* Called when the screen listens, before the first prompt. The session is opened here, so that
     * its notes reach the log. NULL: none. */
    void (*start)(struct workspace *, void *ctx);
    void *ctx;
    const char *const *line; /* then these lines run as if typed: `open FILE`, the -e lines of -i */
    size_t nlines;
};

/* Full screen. If the terminal does not support it, runs plain_run and says why. */
int ui_run(struct workspace *ws, const struct ui_opts *);
/* Line mode on stdin and stdout. why: a sentence that is shown first, or NULL. */
int plain_run(struct workspace *ws, const struct ui_opts *, const char *why);
/* Line mode started from a full screen. When the option `plain` is switched off again, returns -1
 * and stops nothing. */
int plain_again(struct workspace *ws, const struct ui_opts *);

#endif
