/* ui/keymap.h -- what keys do, as data: one table feeds the keys themselves, the help, the
 * searchable list (`?`), the palette and `bind conflict`.
 *
 * A row either runs a command line, which the log shows, or is an act of the screen that changes
 * nothing but what is seen.  The user's own keys (app/shell/bindings.h) come first. */
#ifndef GPDESK_KEYMAP_H
#define GPDESK_KEYMAP_H

#include "app/shell/bindings.h"
#include "app/shell/palette.h"
#include "base/buf.h"

enum act {
    ACT_NONE,
    ACT_UP,
    ACT_DOWN,
    ACT_LEFT,
    ACT_RIGHT,
    ACT_PGUP,
    ACT_PGDN,
    ACT_TOP,
    ACT_END,
    ACT_OPEN,
    ACT_SORT,
    ACT_FILTER,
    ACT_HIDE,
    ACT_SHOW_ALL,
    ACT_MARK,
    ACT_LOGX,
    ACT_LOGY,
    ACT_AXES,
    ACT_ZOOM_IN,
    ACT_ZOOM_OUT,
    ACT_ZOOM_ALL,
    ACT_PAN_LEFT,
    ACT_PAN_RIGHT,
    ACT_BACK,
    ACT_FORTH,     /* iterations of a run */
    ACT_PLOT_HERE, /* changes from a table to its plot */
    ACT_OWN_1,
    ACT_OWN_2,
    ACT_OWN_3,   /* actions of the one view that lists them */
    ACT_OF_DESK, /* the actions below belong to the screen, not to a view */
    ACT_HELP,
    ACT_KEYS,
    ACT_PALETTE,
    ACT_EXPLAIN,
    ACT_SEARCH,
    ACT_NEXT,
    ACT_PREV,
    ACT_PANE,
    ACT_PANE_NEXT,
    ACT_PANE_PREV,
    ACT_PROMPT,
    ACT_VIEW,
    ACT_ZOOM,
    ACT_FULL,
    ACT_CLOSE,
    ACT_WIDER,
    ACT_NARROWER,
    ACT_TALLER,
    ACT_LOWER,
    ACT_REDRAW,
    ACT_SUSPEND,
    ACT_INTERRUPT,
    ACT_QUIT,
    ACT_EDITOR /* done by the line editor; only listed here */
};
/* The kinds of view to which a row applies: any of these bits (0: every view). */
enum { KIND_PLOT = 1, KIND_TABLE = 2, KIND_RUNS = 4, KIND_TRACE = 8, KIND_TEXT = 16 };
struct keyrow {
    const char *keys;                 /* canonical names separated by blanks: "Up k" */
    enum act act;
    const char *name;                 /* one word: `bind view Z @zoom` */
    const char *does;
    /* the line it runs, after replacing {run} {marks} {plot} {view}. A line that ends with a blank
     * or = is put on the prompt. NULL: act */
    const char *line;
    unsigned kinds;
};
/* Each table ends with an entry whose keys are NULL. */
extern const struct keyrow keymap_both[];     /* with either focus */
extern const struct keyrow keymap_view[];     /* in a view */
extern const struct keyrow keymap_prompt[];   /* at the prompt: keys of the line editor */

struct desk;
struct view;
/* The name of a key as bindings write it: "Ctrl-k", "Up", "Alt-3"; "" if it has no name. */
void keymap_name(int key, char out[BIND_KEY_MAX]);
/* The built-in row of a key in a focus; NULL if there is none. Rows whose command does not exist
 * are skipped. */
const struct keyrow *keymap_find(const struct view *, bool prompt, const char *key);
const struct keyrow *keymap_by_name(const struct view *, const char *name);
/* True if the row applies to this view. */
bool keymap_applies(const struct keyrow *, const struct view *);
/* The row's keys as bound now, without those to which the user or the view's own table has given
 * another meaning. v NULL: no particular view. */
void keymap_keys(const struct keyrow *, const struct view *v, bool prompt, struct buf *out);
/* Adds everything that keys do, in this view and everywhere, to the list of `?`. */
enum status keymap_fill(struct palette *, const struct view *, struct err *);
/* Writes keys with two meanings, and user keys that hide built-in ones, one sentence per line. */
void keymap_conflicts(struct buf *out);
/* Replaces {run} {marks} {plot} {view}. Returns false if one of them has no value now; *why says
 * which. */
bool keymap_line(struct view *, const char *tmpl, struct buf *out, const char **why);

#endif
