/* tests/fuzz/fuzz_input.c -- the demultiplexer under any bytes.
 *
 * Held to: it ends, memory stays bounded, text is valid UTF-8 without control characters, and the
 * events do not depend on where the bytes were split. */
#include "fuzz.h"

#include "base/buf.h"
#include "ui/input.h"

#include <string.h>

static void fail(const char *why)
{
    fprintf(stderr, "fuzz_input: %s\n", why);
    abort();
}

static void check_text(const char *s, size_t n)
{
    if (strlen(s) != n)
        fail("a paste with a NUL inside");
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)s[i] < 0x20 && s[i] != '\n') || s[i] == 0x7f)
            fail("a paste with a control character");
    if (n && s[n - 1] == '\n')
        fail("a paste that ends in a newline");
}

/* All events as text. */
static void events(const uint8_t *data, size_t n, size_t step, struct buf *out)
{
    struct input *in = input_new();
    struct input_event e;
    size_t most = 0;
    if (!in)
        return;
    for (size_t at = 0, k; at <= n; at += k) {
        k = step ? step : at % 7 + 1;             /* 0: pieces of every size */
        if (at + k > n)
            k = n - at;
        input_feed(in, (const char *)data + at, k);
        bool end = at + k == n;
        if (end)
            input_expire(in);
        while (input_next(in, &e)) {
            if (++most > 2 * n + 4)
                fail("more events than bytes");
            if (e.kind == INPUT_PASTE)
                check_text(e.bytes, e.n);
            else if (e.n >= INPUT_SEQ_MAX + 8)
                fail("a key longer than any");
            buf_printf(out, "%d:%x:%d,%d,%d:", e.kind, (unsigned)e.key, e.button, e.x, e.y);
            buf_putn(out, e.bytes, e.n);
            buf_putc(out, '\n');
            if (end)
                input_expire(in);
        }
        if (end)
            break;
    }
    if (input_hold_ms(in) >= 0 && input_hold_ms(in) < 50)
        fail("a hold shorter than a lone Esc");
    input_free(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf whole = { 0 }, bytes = { 0 }, mixed = { 0 };
    if (n == 0 || n > 20000)
        return 0;
    events(data, n, n, &whole);
    events(data, n, 1, &bytes);
    events(data, n, 0, &mixed);
    if (whole.len != bytes.len || mixed.len != whole.len ||
        (whole.len && (memcmp(whole.s, bytes.s, whole.len) || memcmp(whole.s, mixed.s, whole.len))))
        fail("the events depend on where the bytes were split");
    buf_free(&whole);
    buf_free(&bytes);
    buf_free(&mixed);
    return 0;
}

static uint64_t state;

static size_t draw(size_t below) /* splitmix64 */
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (size_t)((z ^ (z >> 31)) % below);
}

/* Parts of what terminals send are set in, doubled or lost; what grows long is begun anew. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed)
{
    static const char *const piece[] = {"\033",      "\033[", "\033O", "\033]", "\033[200~",
                                        "\033[201~", "\r",    "\n",    "\xe2",  "\x80",
                                        "\033[<",    ";",     "M",     "~",     "9"};
    const size_t room = most < 512 ? most : 512;

    state = seed;
    n = n < room ? n : room;
    for (size_t k = draw(6); k > 0; k--) {
        const size_t at = n ? draw(n) : 0;
        const char *p = piece[draw(sizeof piece / sizeof *piece)];
        const size_t len = strlen(p);
        switch (draw(4)) {
        case 0:
            if (n)
                data[at] = (uint8_t)draw(256);
            break;
        case 1:
            if (n)
                memmove(data + at, data + at + 1, --n - at);
            break;
        case 2:
            if (n + len <= room) {
                memmove(data + at + len, data + at, n - at);
                memcpy(data + at, p, len);
                n += len;
            }
            break;
        default:
            if (2 * n <= room) {
                memcpy(data + n, data, n);
                n *= 2;
            }
        }
    }
    return n;
}
