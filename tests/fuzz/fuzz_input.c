/* tests/fuzz/fuzz_input.c -- the demultiplexer under any bytes.
 *
 * Held to: it ends, memory stays bounded, text is valid UTF-8 without control characters, and the
 * events do not depend on where the bytes were split.  Built two ways: with libFuzzer
 *     clang -g -fsanitize=fuzzer,address,undefined -DLIBFUZZER ...
 * and, in `make check`, with a main that mutates seeds by a fixed generator. */
#include "fuzz.h"

#include "base/buf.h"
#include "ui/input.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

#ifndef LIBFUZZER
static uint64_t state = 20240607;

static uint64_t next(void)                        /* splitmix64 */
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int main(void)
{
    static const char *const seed[] = {
        "fit rank=512\r",
        "\033[A\033[B\033OC\033OD\033[1;5C\033[5~\033[6~\033[H\033[F",
        "\033[200~one\r\ntwo\tthree\033[201~after",
        "\033[<64;10;5M\033[<0;3;4M\033[<0;3;4m",
        "\033\033[A\033b\0331\033[[A\033[[E\033[M abc",
        "\033]11;rgb:0000/0000/0000\033\\x\033]0;t\a",
        "\033P1$r0m\033\\y",
        "\xe6\x97\xa5\xf0\x9f\x98\x80 \xc3\xa9 \xff\xc0\x80",
        "\033[200~\033[201",
        "\033[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19;20;21;22;23;24;25;26;27;28;29;30m",
    };
    static const char *const piece[] = {"\033",      "\033[", "\033O", "\033]", "\033[200~",
                                        "\033[201~", "\r",    "\n",    "\xe2",  "\x80",
                                        "\033[<",    ";",     "M",     "~",     "9"};
    enum { SEEDS = sizeof seed / sizeof *seed, PIECES = sizeof piece / sizeof *piece };
    uint8_t data[512];
    size_t runs = 0;
    for (; fuzz_goes_on(runs, 30000); runs++) {
        const char *s = seed[next() % SEEDS];
        size_t n = strlen(s);
        memcpy(data, s, n);
        for (size_t k = next() % 6; k > 0; k--) {
            size_t at = n ? next() % n : 0;
            const char *p = piece[next() % PIECES];
            size_t len = strlen(p);
            switch (next() % 4) {
            case 0: if (n) data[at] = (uint8_t)next(); break;
            case 1: if (n) memmove(data + at, data + at + 1, --n - at); break;
            case 2:
                if (n + len < sizeof data) {
                    memmove(data + at + len, data + at, n - at);
                    memcpy(data + at, p, len);
                    n += len;
                }
                break;
            default:
                if (2 * n < sizeof data) {
                    memcpy(data + n, data, n);
                    n *= 2;
                }
            }
        }
        LLVMFuzzerTestOneInput(data, n);
    }
    printf("1..1\nok 1 - %zu mutated inputs\n", runs);
    return 0;
}
#endif
