/* ui/input.c -- turns bytes from the terminal into keys, pastes and mouse events. See input.h.
 *
 * The first bytes of `in` decide: escape sequences by their grammar (ECMA-48: CSI parameters are
 * 0x30..0x3f, intermediates 0x20..0x2f, the final byte 0x40..0x7e), characters by UTF-8. A scan
 * returns the number of bytes of the event, or 0 if it may be incomplete. */
#include "ui/input.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

struct input {
    struct buf in;        /* bytes not yet returned, from `head` on */
    size_t head;
    struct buf paste;     /* the cleaned text of the current paste */
    bool pasting, truncated, paste_done, cr; /* cr: the last pasted byte was a CR */
    bool expired;         /* the caller's timer ran out: do not wait for more */
    char event[INPUT_SEQ_MAX + 8];
};

static const char paste_end[] = "\033[201~";
enum { PASTE_END = sizeof paste_end - 1 };

struct input *input_new(void)
{
    return calloc(1, sizeof(struct input));
}

void input_free(struct input *p)
{
    if (!p)
        return;
    buf_free(&p->in);
    buf_free(&p->paste);
    free(p);
}

void input_feed(struct input *p, const char *bytes, size_t n)
{
    p->expired = false;
    if (p->head) {      /* few bytes are held, because callers drain the events after each feed */
        p->in.len -= p->head;
        memmove(p->in.s, p->in.s + p->head, p->in.len + 1);
        p->head = 0;
    }
    buf_putn(&p->in, bytes, n);
}

/* Length of the UTF-8 character at s (avail bytes); 0 if incomplete, -1 if it is not UTF-8. */
static int utf8_scan(const unsigned char *s, size_t avail, int *code)
{
    int need = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? -1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3
             : s[0] < 0xf5 ? 4 : -1;
    if (need < 0)
        return -1;
    int c = need == 1 ? s[0] : s[0] & (0xff >> (need + 1));
    for (int i = 1; i < need; i++) {
        if ((size_t)i >= avail)
            return 0;
        if ((s[i] & 0xc0) != 0x80)
            return -1;
        c = c << 6 | (s[i] & 0x3f);
    }
    if ((need == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) ||
        (need == 4 && (c < 0x10000 || c > 0x10ffff)))
        return -1;
    *code = c;
    return need;
}

static int csi_tilde(int n)
{
    static const struct { int n, key; } t[] = {
        { 1, UK_HOME }, { 2, UK_INSERT }, { 3, UK_DELETE }, { 4, UK_END }, { 5, UK_PGUP },
        { 6, UK_PGDN }, { 7, UK_HOME }, { 8, UK_END }, { 11, UK_F1 }, { 12, UK_F2 },
        { 13, UK_F3 }, { 14, UK_F4 }, { 15, UK_F5 }, { 17, UK_F6 }, { 18, UK_F7 },
        { 19, UK_F8 }, { 20, UK_F9 }, { 21, UK_F10 }, { 23, UK_F11 }, { 24, UK_F12 },
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++)
        if (t[i].n == n)
            return t[i].key;
    return UK_NONE;
}

static int csi_letter(unsigned char c)
{
    switch (c) {
    case 'A': return UK_UP;
    case 'B': return UK_DOWN;
    case 'C': return UK_RIGHT;
    case 'D': return UK_LEFT;
    case 'H': return UK_HOME;
    case 'F': return UK_END;
    case 'Z': return UK_BACKTAB;
    case 'P': return UK_F1;
    case 'Q': return UK_F2;
    case 'R': return UK_F3;
    case 'S': return UK_F4;
    default: return UK_NONE;
    }
}

static int modifiers(int m)   /* xterm: 1 + shift + 2 alt + 4 ctrl */
{
    m = m > 1 ? m - 1 : 0;
    return (m & 1 ? UK_SHIFT : 0) | (m & 2 ? UK_ALT : 0) | (m & 4 ? UK_CTRL : 0);
}

/* Up to 3 decimal parameters, each limited: no key needs more. */
static int csi_params(const unsigned char *s, size_t n, int out[3])
{
    int k = 0;
    out[0] = out[1] = out[2] = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == ';') {
            if (++k > 2)
                return 3;
        } else if (s[i] >= '0' && s[i] <= '9') {
            out[k] = out[k] < 100000 ? out[k] * 10 + (s[i] - '0') : out[k];
        } else {
            return -1;
        }
    }
    return k + 1;
}

/* A complete CSI sequence ESC [ body end. */
static void csi_event(struct input *p, const unsigned char *body, size_t n, unsigned char end,
                      struct input_event *e)
{
    int v[3];
    if (n && body[0] == '<' && (end == 'M' || end == 'm')) {
        if (csi_params(body + 1, n - 1, v) == 3 && v[1] > 0 && v[2] > 0) {
            e->kind = INPUT_MOUSE;
            e->button = v[0];
            e->x = v[1] - 1;
            e->y = v[2] - 1;
            e->release = end == 'm';
        }
        return;
    }
    if (n && body[0] == '?' && end == 'c') {
        e->kind = INPUT_REPLY;
        return;
    }
    int np = csi_params(body, n, v);
    if (np < 0)
        return;
    if (end == '~' && v[0] == 200) {
        p->pasting = true;
        p->cr = false;
        buf_clear(&p->paste);
        p->truncated = false;
        return;
    }
    int key = end == '~' ? csi_tilde(v[0]) : csi_letter(end);
    if (key != UK_NONE && np >= 2)
        key |= modifiers(v[1]);
    e->key = key;
}

/* Each scan below returns the length of the sequence at s, or 0 while it may be incomplete (`more`:
 * the timer has not run out), and fills e if it is a key or a mouse event. */

/* ESC [ ... */
static size_t csi_scan(struct input *p, const unsigned char *s, size_t n, bool more,
                       struct input_event *e)
{
    size_t i = 2;
    if (n > 2 && s[2] == '[') {             /* Linux console: ESC [ [ A .. E are F1 .. F5 */
        if (n == 3)
            return more ? 0 : 3;
        e->key = s[3] >= 'A' && s[3] <= 'E' ? UK_F1 + (s[3] - 'A') : UK_NONE;
        return 4;
    }
    while (i < n && i < INPUT_SEQ_MAX && s[i] >= 0x20 && s[i] <= 0x3f)
        i++;
    if (i == INPUT_SEQ_MAX)
        return i;                           /* no key is that long */
    if (i == n) {
        if (more)
            return 0;
        e->key = n == 2 ? ('[' | UK_ALT) : UK_NONE;
        return n;
    }
    if (s[i] < 0x40 || s[i] > 0x7e)
        return i;               /* the sequence was broken off: the other byte is read on its own */
    if (i == 2 && s[2] == 'M') {            /* the old mouse report is followed by three bytes */
        if (n < 6 && more)
            return 0;
        return n < 6 ? n : 6;
    }
    csi_event(p, s + 2, i - 2, s[i], e);
    return i + 1;
}

/* ESC O ... */
static size_t ss3_scan(const unsigned char *s, size_t n, bool more, struct input_event *e)
{
    size_t i = 2;
    while (i < n && i < 8 && ((s[i] >= '0' && s[i] <= '9') || s[i] == ';'))
        i++;
    if (i == n) {
        if (more)
            return 0;
        e->key = n == 2 ? ('O' | UK_ALT) : UK_NONE;
        return n;
    }
    int v[3], np = csi_params(s + 2, i - 2, v), key = csi_letter(s[i]);
    if (key == UK_NONE) {                   /* Alt-O, followed by another key */
        e->key = i == 2 ? ('O' | UK_ALT) : UK_NONE;
        return i;
    }
    e->key = key | (i > 2 ? modifiers(v[np >= 2 ? 1 : 0]) : 0);
    return i + 1;
}

/* ESC ] or ESC P: a reply of the terminal, up to BEL or ESC \ */
static size_t reply_scan(const unsigned char *s, size_t n, bool more, struct input_event *e)
{
    for (size_t i = 2; i < n && i < INPUT_REPLY_MAX; i++) {
        if (s[i] == 7 && s[1] == ']')
            return i + 1;
        if (s[i] == 033) {
            if (i + 1 == n)
                return more ? 0 : n;
            return s[i + 1] == '\\' ? i + 2 : i;
        }
    }
    if (n >= INPUT_REPLY_MAX)
        return INPUT_REPLY_MAX;
    if (more)
        return 0;
    e->key = n == 2 ? (s[1] | UK_ALT) : UK_NONE;
    return n;
}

static size_t esc_scan(struct input *p, const unsigned char *s, size_t n, struct input_event *e)
{
    const bool more = !p->expired;
    if (n == 1) {
        e->key = UK_ESC;
        return more ? 0 : 1;
    }
    switch (s[1]) {
    case 3: case 4: case 12: case 26:   /* Esc, quickly followed by Ctrl-C, D, L or Z: two keys */
        e->key = UK_ESC;
        return 1;
    case 033:                               /* Alt with a sequence, otherwise a lone Esc */
        if (n == 2 && more)
            return 0;
        if (n > 2 && (s[2] == '[' || s[2] == 'O')) {
            size_t k = esc_scan(p, s + 1, n - 1, e);
            if (k && e->kind == INPUT_KEY && e->key != UK_NONE)
                e->key |= UK_ALT;
            return k ? k + 1 : 0;
        }
        e->key = UK_ESC;
        return 1;
    case '[': return csi_scan(p, s, n, more, e);
    case 'O': return ss3_scan(s, n, more, e);
    case ']': case 'P': return reply_scan(s, n, more, e);
    default: break;
    }
    int code = 0, k = utf8_scan(s + 1, n - 1, &code);
    if (k == 0)
        return more ? 0 : n;
    if (k < 0)
        return 2;
    e->key = code | UK_ALT;
    return (size_t)k + 1;
}

/* Appends pasted bytes as clean text: line ends are kept (CR and CRLF become one), tabs become
 * blanks, other controls and invalid UTF-8 become question marks. Returns the number of bytes
 * used. */
static size_t paste_clean(struct input *p, const unsigned char *s, size_t n, bool last)
{
    size_t i = 0;
    while (i < n) {
        int code = 0, k = utf8_scan(s + i, n - i, &code);
        if (k == 0 && !last && n - i < 4)
            break;                              /* the rest of this character has not arrived */
        if (p->paste.len >= INPUT_PASTE_MAX) {
            p->truncated = true;
            i += k > 0 ? (size_t)k : 1;
            continue;
        }
        if (k <= 0) {
            buf_putc(&p->paste, '?');
            k = 1;
        } else if (code == '\n' && p->cr) {
            ;
        } else if (code == '\n' || code == '\r') {
            buf_putc(&p->paste, '\n');
        } else if (code == '\t') {
            buf_putc(&p->paste, ' ');
        } else if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
            buf_putc(&p->paste, '?');
        } else {
            buf_putn(&p->paste, (const char *)s + i, (size_t)k);
        }
        p->cr = code == '\r';
        i += (size_t)k;
    }
    return i;
}

/* Moves the part of the paste that has arrived. Returns true if its end was found or waited for too
 * long. */
static bool paste_step(struct input *p)
{
    const unsigned char *s = (const unsigned char *)p->in.s + p->head;
    size_t n = p->in.len - p->head, stop = n;
    bool end = false;
    for (size_t i = 0; i < n; i++)
        if (s[i] == 033 && n - i >= PASTE_END && !memcmp(s + i, paste_end, PASTE_END)) {
            stop = i;
            end = true;
            break;
        }
    if (!end && !p->expired) {                  /* the end mark may be split: keep its beginning */
        size_t keep = n < PASTE_END - 1 ? n : PASTE_END - 1;
        while (keep && memcmp(s + n - keep, paste_end, keep))
            keep--;
        stop = n - keep;
    }
    bool done = end || p->expired;
    p->head += paste_clean(p, s, stop, done) + (end ? PASTE_END : 0);
    return done;
}

static void paste_event(struct input *p, struct input_event *e)
{
    while (p->paste.len && p->paste.s[p->paste.len - 1] == '\n')
        p->paste.s[--p->paste.len] = '\0';  /* a line copied with its line end is still one line */
    e->kind = INPUT_PASTE;
    e->bytes = buf_str(&p->paste);
    e->n = p->paste.len;
    e->truncated = p->truncated;
    p->pasting = false;
}

bool input_next(struct input *p, struct input_event *e)
{
    if (p->in.failed || p->paste.failed) {  /* out of memory: drop everything, but stay usable */
        buf_free(&p->in);
        buf_free(&p->paste);
        p->head = 0;
        p->pasting = false;
    }
    for (;;) {
        *e = (struct input_event){ .kind = INPUT_KEY, .key = UK_NONE, .bytes = p->event };
        if (p->pasting) {
            if (!paste_step(p))
                return false;
            paste_event(p, e);
            return true;
        }
        size_t n = p->in.len - p->head, used;
        if (n == 0) {
            p->expired = false;
            return false;
        }
        const unsigned char *s = (const unsigned char *)p->in.s + p->head;
        if (s[0] == 033) {
            used = esc_scan(p, s, n, e);
            if (used == 0)
                return false;
        } else {
            int code = 0, k = utf8_scan(s, n, &code);
            if (k == 0 && !p->expired)
                return false;
            used = k > 0 ? (size_t)k : k == 0 ? n : 1;
            e->key = k > 0 && code ? code : UK_NONE;
        }
        size_t keep = used < sizeof p->event - 1 ? used : 0;
        memcpy(p->event, s, keep);
        p->event[keep] = '\0';
        e->n = keep;
        p->head += used;
        if (e->kind != INPUT_KEY || e->key != UK_NONE)
            return true;
    }
}

int input_hold_ms(const struct input *p)
{
    size_t n = p->in.len - p->head;
    if (p->pasting)
        return 10000;           /* a slow connection: better late than executed by mistake */
    if (n == 0 || p->expired)
        return -1;
    return n <= 2 && p->in.s[p->head] == 033 ? 50 : 500;
}

void input_expire(struct input *p)
{
    p->expired = true;
}
