/* ui/prompt.h -- the line editor: readline, fed from our own ring and drawn by us. It is the only
 * file that includes readline.
 *
 * There are two modes. On a screen, readline never touches the terminal: bytes come through
 * prompt_feed, and the caller draws what prompt_rows returns. In line mode, readline reads
 * descriptor 0 and draws on stdout itself. There is one prompt per process. */
#ifndef GPDESK_PROMPT_H
#define GPDESK_PROMPT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define PROMPT_TEXT "gpdesk> "

struct prompt_hooks {
    /* Receives a finished line; a pasted block may contain line ends. It is never called from
     * inside readline, so it may do anything. */
    void (*line)(void *ctx, const char *line);
    /* End of input in line mode (Ctrl-D on an empty line). */
    void (*end)(void *ctx);
    /* Completions of the word that ends at byte pos, as from command_complete. */
    char **(*complete)(void *ctx, const char *line, size_t pos, size_t *start);
    /* There are several completions: show them. The caller copies what it keeps. */
    void (*matches)(void *ctx, char *const *match, size_t n);
    void *ctx;
    void (*toggle)(void *ctx);           /* line mode: F5 was pressed; may be NULL */
    /* The line grew beyond what a line may hold and was dropped; the words say so. */
    void (*dropped)(void *ctx, const char *words);
};
/* history: file of earlier lines, created when needed (NULL: none). */
void prompt_open_screen(const struct prompt_hooks *, const char *history);
void prompt_open_plain(const struct prompt_hooks *, const char *history);
void prompt_close(void);

/* Screen: passes whole characters and whole escape sequences to readline. */
void prompt_feed(const char *bytes, size_t n);
/* Inserts text (valid UTF-8, line ends allowed) at the cursor as one undo step. */
void prompt_paste(const char *text);
/* Line mode: descriptor 0 is readable. */
void prompt_read(void);
/* Line mode: call these around output while the prompt is shown. */
void prompt_hide(void);
void prompt_show(void);
void prompt_suspend(void);  /* line mode: restores the terminal; prompt_resume takes it back */
void prompt_resume(void);

/* Empties the line and leaves a search, as Ctrl-C does first. */
void prompt_clear(void);
void prompt_set(const char *text);   /* replaces the line; the cursor goes to its end */
const char *prompt_text(void);
/* True if nothing is typed, no search or argument is active, and no line that was too long goes
 * on. */
bool prompt_empty(void);
bool prompt_searching(void);         /* true during Ctrl-R and the like: Esc ends it */
bool prompt_vi(void);                /* true in vi editing mode: Esc belongs to the line editor */
void prompt_editing(const char *mode);  /* "emacs", "vi", or "auto" as in ~/.inputrc */
void prompt_resize(size_t rows, size_t cols);

/* What to draw: at most max_rows rows around the cursor (safe for the terminal, clipped to cols),
 * and the position of the cursor. */
enum { PROMPT_ROWS = 12 };
struct prompt_view {
    size_t rows, row, col;           /* position of the cursor in these rows */
    struct buf text[PROMPT_ROWS];
};
void prompt_rows(size_t cols, size_t max_rows, struct prompt_view *);
void prompt_view_free(struct prompt_view *);

#endif
