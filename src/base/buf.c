/* base/buf.c -- the growable string. */
#include "base/buf.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for n more bytes and the NUL. */
static bool reserve(struct buf *b, size_t n)
{
    if (b->failed)
        return false;
    if (n > PTRDIFF_MAX - b->len - 1 ||
        mem_grow((void **)&b->s, &b->cap, b->len + n + 1, 1, "text", NULL) != ST_OK) {
        b->failed = true;
        return false;
    }
    return true;
}

void buf_free(struct buf *b)
{
    free(b->s);
    *b = (struct buf){ 0 };
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = false;
    if (b->s)
        b->s[0] = '\0';
}

char *buf_take(struct buf *b)
{
    if (!b->s && reserve(b, 0))
        b->s[0] = '\0';
    char *s = b->failed ? NULL : b->s;
    if (!s)
        free(b->s);
    *b = (struct buf){ 0 };
    return s;
}

const char *buf_str(const struct buf *b)
{
    return b->s ? b->s : "";
}

void buf_putn(struct buf *b, const char *s, size_t n)
{
    if (!reserve(b, n))
        return;
    if (n)
        memcpy(b->s + b->len, s, n);
    b->len += n;
    b->s[b->len] = '\0';
}

void buf_putc(struct buf *b, char c)
{
    buf_putn(b, &c, 1);
}

void buf_puts(struct buf *b, const char *s)
{
    buf_putn(b, s, strlen(s));
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    char small[256];
    const int n = vsnprintf(small, sizeof small, fmt, ap);
    if (n < 0) {
        b->failed = true;
    } else if ((size_t)n < sizeof small) {
        buf_putn(b, small, (size_t)n);
    } else if (reserve(b, (size_t)n)) {
        vsnprintf(b->s + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

/* Characters that are legal in JSON but would act on a terminal that shows the line. */
static bool needs_escape(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x061c || cp == 0x200e ||
           cp == 0x200f || (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069);
}

void buf_json_string(struct buf *b, const char *s)
{
    buf_putc(b, '"');
    while (*s) {
        uint32_t cp;
        const size_t n = text_decode(s, &cp);
        if (cp == UINT32_MAX)
            buf_puts(b, "\\ufffd");
        else if (cp == '"' || cp == '\\')
            buf_printf(b, "\\%c", (char)cp);
        else if (cp == '\n')
            buf_puts(b, "\\n");
        else if (cp == '\t')
            buf_puts(b, "\\t");
        else if (needs_escape(cp))
            buf_printf(b, "\\u%04x", (unsigned)cp);
        else
            buf_putn(b, s, n);
        s += n;
    }
    buf_putc(b, '"');
}

void buf_json_double(struct buf *b, double x)
{
    if (!isfinite(x)) {
        buf_puts(b, "null");
        return;
    }
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, x);
        if (strtod(digits, NULL) == x)
            break;
    }
    buf_puts(b, digits);
}
