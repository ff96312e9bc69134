/* app/shell/bindings.h -- keys that the user has bound to command lines, and how keys are written.
 *
 * There is one table per process, because the configuration file is read before a workspace exists.
 * The screen knows the built-in keys (ui/keymap.h); this table overrides them. */
#ifndef GPDESK_BINDINGS_H
#define GPDESK_BINDINGS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum bind_focus { BIND_PROMPT = 1, BIND_VIEW = 2, BIND_BOTH = 3 };
enum { BIND_KEY_MAX = 40 };
struct binding { enum bind_focus focus; char key[BIND_KEY_MAX]; char *line; };

/* "ctrl-k" "C-k" "^K" as "Ctrl-k", "alt-x" "M-x" as "Alt-x", "f2" as "F2", "pgup" as "PgUp"; one
 * character stands for itself.  USAGE with a list of names if it is not a key. */
enum status binding_key(const char *text, char out[BIND_KEY_MAX], struct err *);
/* Binds a key in these focuses and replaces earlier lines; line NULL or "" removes them.  Keys that
 * are needed for typing cannot be bound at the prompt: USAGE. */
enum status binding_set(enum bind_focus, const char *key, const char *line, struct err *);
const struct binding *binding_at(size_t i);             /* NULL if i is past the end */
/* The line of a key (by its canonical name) in a focus; NULL if it is not bound. */
const char *binding_find(enum bind_focus, const char *key);
void bindings_clear_for_tests(void);
const char *bindings_focus_name(enum bind_focus);           /* "prompt", "view", "both" */

#endif
