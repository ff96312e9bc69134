/* ui/prompt.h -- the line editor: readline fed from our own ring, drawn by us.  The only file that
 * includes readline.
 *
 * Two ways to use it: on a screen (readline never touches the terminal: bytes come through
 * prompt_feed, the line is read back with prompt_rows and drawn by the caller), and plain
 * (readline reads fd 0 and draws on stdout itself). One prompt per process. */
#ifndef GPDESK_PROMPT_H
#define GPDESK_PROMPT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define PROMPT_TEXT "gpdesk> "

struct prompt_hooks {
    /* A finished line (may hold newlines when a block was pasted; not NULL).  Never called from
     * inside readline, so it may do anything. */
    void (*line)(void *ctx, const char *line);
    /* End of input in plain mode (Ctrl-D on an empty line). */
    void (*end)(void *ctx);
    /* Completions of the word that ends at byte pos: as command_complete. */
    char **(*complete)(void *ctx, const char *line, size_t pos, size_t *start);
    /* Several completions: show them (the caller copies what it keeps). */
    void (*matches)(void *ctx, char *const *match, size_t n);
    void *ctx;
    void (*toggle)(void *ctx);           /* plain: F5; may be NULL */
};
/* history: file of earlier lines, created on demand (NULL: none is kept). */
void prompt_open_screen(const struct prompt_hooks *, const char *history);
void prompt_open_plain(const struct prompt_hooks *, const char *history);
void prompt_close(void);

/* Screen: hands over whole characters and whole escape sequences only. */
void prompt_feed(const char *bytes, size_t n);
/* Inserts text (valid UTF-8, newlines allowed) at the cursor as one undoable step. */
void prompt_paste(const char *text);
/* Plain: fd 0 is readable. */
void prompt_read(void);
/* Plain: around output of ours while a prompt stands on the terminal. */
void prompt_hide(void);
void prompt_show(void);
void prompt_suspend(void);  /* plain: the terminal as it was; prompt_resume: ours again */
void prompt_resume(void);

/* Empties the line and leaves a search; what Ctrl-C does first. */
void prompt_clear(void);
void prompt_set(const char *text);   /* replaces the line; cursor at its end */
const char *prompt_text(void);
bool prompt_empty(void);             /* nothing typed and no search or argument under way */
bool prompt_searching(void);         /* in Ctrl-R or the like: Esc ends it */
bool prompt_vi(void);                /* set editing-mode vi: Esc belongs to the line editor */
void prompt_editing(const char *mode);  /* "emacs", "vi", "auto": as ~/.inputrc says */
void prompt_resize(size_t rows, size_t cols);

/* What to draw: at most max_rows rows (text safe for the terminal, clipped to cols) around the
 * cursor, and where the cursor is. */
enum { PROMPT_ROWS = 12 };
struct prompt_view {
    size_t rows, row, col;           /* cursor: row of the rows, column */
    struct buf text[PROMPT_ROWS];
};
void prompt_rows(size_t cols, size_t max_rows, struct prompt_view *);
void prompt_view_free(struct prompt_view *);

#endif
