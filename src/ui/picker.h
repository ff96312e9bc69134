/* ui/picker.h -- an input line over the view for the palette, the keys, a search or a filter. It
 * has the keyboard until Enter or Esc. */
#ifndef GPDESK_PICKER_H
#define GPDESK_PICKER_H

#include "app/shell/palette.h"
#include "ui/draw.h"
#include "ui/input.h"

struct desk;
enum ask_kind { ASK_NONE, ASK_PALETTE, ASK_KEYS, ASK_SEARCH, ASK_FILTER };
struct ask {
    enum ask_kind kind;
    char text[128];
    struct palette list;             /* for palette and keys */
    size_t *order, n, sel, top;
    int page;
};
void picker_open(struct desk *, enum ask_kind, const char *text);
void picker_close(struct desk *);
void picker_event(struct desk *, const struct input_event *);
/* Draws the list into `body` and the typed text into `line`; either may be empty. */
void picker_draw(struct desk *, const struct canvas *body, const struct canvas *line, int *y,
                 int *x);

#endif
