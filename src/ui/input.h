/* ui/input.h -- turns raw bytes from the terminal into complete events.
 *
 * This is pure code: no curses, no readline, no clock. It never returns half a character or half an
 * escape sequence. Incomplete input is held until more bytes come or the caller's timer runs out
 * (input_hold_ms, then input_expire). Whatever the bytes are, memory stays bounded and every call
 * returns. */
#ifndef GPDESK_INPUT_H
#define GPDESK_INPUT_H

#include <stdbool.h>
#include <stddef.h>

/* Keys are Unicode code points, control characters 1..31 and 127, or these constants above
 * Unicode. */
enum {
    UK_NONE = 0,          /* an unknown sequence: ignore it */
    UK_TAB = 9, UK_ENTER = 13, UK_ESC = 27, UK_DEL = 127,
    UK_UP = 0x200000, UK_DOWN, UK_LEFT, UK_RIGHT, UK_HOME, UK_END, UK_INSERT, UK_DELETE,
    UK_PGUP, UK_PGDN, UK_BACKTAB,
    UK_F1, UK_F2, UK_F3, UK_F4, UK_F5, UK_F6, UK_F7, UK_F8, UK_F9, UK_F10, UK_F11, UK_F12,
    UK_ALT = 0x1000000, UK_CTRL = 0x2000000, UK_SHIFT = 0x4000000  /* modifiers, combined by | */
};
#define UK_CTRLKEY(c) ((c) & 31)

enum input_kind { INPUT_KEY, INPUT_PASTE, INPUT_MOUSE, INPUT_REPLY };
struct input_event {
    enum input_kind kind;
    int key;              /* for INPUT_KEY */
    const char *bytes;    /* KEY: as received, for the line editor. PASTE: the cleaned text, NUL- */
    size_t n; /* terminated: line ends are kept, it has no other controls and is valid UTF-8. */
              /* REPLY: how the terminal identifies itself, CSI ? ... c, as received */
    bool truncated;       /* PASTE: it exceeds INPUT_PASTE_MAX, and the rest was dropped */
    int button, x, y;     /* MOUSE: SGR button code and cell, counted from 0 */
    bool release;
};
enum { INPUT_PASTE_MAX = 1 << 20, INPUT_SEQ_MAX = 64, INPUT_REPLY_MAX = 4096 };

struct input;
struct input *input_new(void);            /* NULL: out of memory */
void input_free(struct input *);
void input_feed(struct input *, const char *bytes, size_t n);
/* The next complete event; out->bytes is valid until the next call. Returns false if there is
 * none. */
bool input_next(struct input *, struct input_event *out);
/* How many milliseconds after the last byte input_expire should be called; -1 if nothing is
 * held. */
int input_hold_ms(const struct input *);
/* No more bytes came in time: what is held is complete, and input_next returns it. */
void input_expire(struct input *);

#endif
