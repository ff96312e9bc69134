/* app/shell/palette.h -- everything that a user can choose, as one list searched by a few letters:
 * commands, options, plots, pages, runs and columns; the screen adds its views and keys. */
#ifndef GPDESK_PALETTE_H
#define GPDESK_PALETTE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct workspace;
struct palette_item {
    char *label;          /* "fit", "run r7", "option theme": searched first */
    char *about;          /* one line of description, searched too */
    char *line;           /* line to run; if it ends in a blank or = it is put on the prompt */
    char *keys;           /* keys that are bound to it now; "" if none */
    int act;              /* action of the screen that has no line; 0: none */
};
struct palette {
    struct palette_item *v; size_t n, cap;
    bool words; /* labels are sentences: search them by whole words instead of letters */
};

/* Appends an item and copies its texts. keys and line may be NULL. */
enum status palette_add(struct palette *, const char *label, const char *about, const char *line,
                        const char *keys, int act, struct err *);
void palette_free(struct palette *);
/* Scores how well a text matches the letters of `query` in order: 0 not at all; more for beginnings
 * of words and for adjacent letters.  Blanks separate words, all of which must match. */
int palette_score(const char *query, const char *text);
/* Writes the indices of the matching items to `order`, best first, ties in the order of the list.
 * Returns their number. `order` has room for p->n. An empty query matches all. A query that is the
 * name of a key finds that key first ("z" finds the key z). */
size_t palette_match(const struct palette *, const char *query, size_t *order);

#endif
