/* base/text.c -- UTF-8, display widths, escaping, numbers for people. */
#include "base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

size_t text_decode(const char *s, uint32_t *cp)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t n;
    uint32_t c, least;

    *cp = UINT32_MAX;
    if (p[0] < 0x80) {
        *cp = p[0];
        return 1;
    }
    if (p[0] >= 0xc2 && p[0] < 0xe0) {
        n = 2, c = p[0] & 0x1fu, least = 0x80;
    } else if (p[0] >= 0xe0 && p[0] < 0xf0) {
        n = 3, c = p[0] & 0x0fu, least = 0x800;
    } else if (p[0] >= 0xf0 && p[0] < 0xf5) {
        n = 4, c = p[0] & 0x07u, least = 0x10000;
    } else {
        return 1;
    }
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) /* stops at the NUL, too */
            return 1;
        c = c << 6 | (p[i] & 0x3fu);
    }
    if (c < least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 1;
    *cp = c;
    return n;
}

struct range {
    uint32_t lo, hi;
};
/* Widths when the locale does not know them (LANG=C): the blocks that matter in practice. */
static const struct range zero_ranges[] = {
    { 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x0610, 0x061a },
    { 0x064b, 0x065f }, { 0x0900, 0x0902 }, { 0x093c, 0x093c }, { 0x0941, 0x0948 },
    { 0x0e31, 0x0e31 }, { 0x0e34, 0x0e3a }, { 0x0e47, 0x0e4e }, { 0x1ab0, 0x1aff },
    { 0x1dc0, 0x1dff }, { 0x200b, 0x200f }, { 0x202a, 0x202e }, { 0x2060, 0x2064 },
    { 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f }, { 0xfeff, 0xfeff },
    { 0xe0100, 0xe01ef },
};
static const struct range wide_ranges[] = {
    { 0x1100, 0x115f }, { 0x231a, 0x231b }, { 0x2329, 0x232a }, { 0x2e80, 0x303e },
    { 0x3041, 0x33ff }, { 0x3400, 0x4dbf }, { 0x4e00, 0x9fff }, { 0xa000, 0xa4cf },
    { 0xa960, 0xa97f }, { 0xac00, 0xd7a3 }, { 0xf900, 0xfaff }, { 0xfe10, 0xfe19 },
    { 0xfe30, 0xfe6f }, { 0xff00, 0xff60 }, { 0xffe0, 0xffe6 }, { 0x1f300, 0x1f64f },
    { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd },
};

static bool in_ranges(uint32_t cp, const struct range *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (cp >= r[i].lo && cp <= r[i].hi)
            return true;
    return false;
}

/* The display width of one character: 0 if combining, 2 if wide. */
static size_t cell_width(uint32_t cp)
{
    if (cp < 0x300 || cp == UINT32_MAX)
        return 1;
    const int w = wcwidth((wchar_t)cp); /* the width that curses assumes */
    if (w >= 0)
        return (size_t)w;
    if (in_ranges(cp, zero_ranges, sizeof zero_ranges / sizeof *zero_ranges))
        return 0;
    return in_ranges(cp, wide_ranges, sizeof wide_ranges / sizeof *wide_ranges) ? 2 : 1;
}

size_t text_width(const char *s)
{
    size_t cols = 0;
    while (*s) {
        uint32_t cp;
        s += text_decode(s, &cp);
        cols += cell_width(cp);
    }
    return cols;
}

size_t text_fit(const char *s, size_t cols)
{
    size_t bytes = 0, used = 0;
    while (s[bytes]) {
        uint32_t cp;
        const size_t n = text_decode(s + bytes, &cp);
        used += cell_width(cp);
        if (used > cols)
            break;
        bytes += n;
    }
    return bytes;
}

/* Writes one character in a safe form: itself or an escape. */
static void safe_char(const char *s, size_t n, uint32_t cp, char out[12])
{
    if (cp == UINT32_MAX)
        snprintf(out, 12, "\\x%02x", (unsigned char)*s);
    else if (cp == '\n' || cp == '\t' || cp == '\r')
        snprintf(out, 12, "\\%c", cp == '\n' ? 'n' : cp == '\t' ? 't' : 'r');
    else if (cp < 0x20 || cp == 0x7f)
        snprintf(out, 12, "\\x%02x", (unsigned)cp);
    else if ((cp >= 0x80 && cp < 0xa0) || cp == 0x061c || cp == 0x200e || cp == 0x200f ||
             (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069) || cp == 0xfeff)
        snprintf(out, 12, "\\u%04x", (unsigned)cp);
    else
        memcpy(out, s, n), out[n] = '\0';
}

void text_safe(struct buf *b, const char *s, size_t cols)
{
    size_t used = 0;            /* columns written */
    size_t mark = b->len;       /* the last position with room for ".." */
    const size_t room = cols < 2 ? 0 : cols - 2;
    while (*s) {
        uint32_t cp;
        char shown[12];
        const size_t n = text_decode(s, &cp);
        safe_char(s, n, cp, shown);
        const size_t w = text_width(shown);
        if (cols && used + w > cols) {
            if (!b->failed && b->s) {
                b->len = mark;
                b->s[mark] = '\0';
            }
            buf_putn(b, "..", cols < 2 ? cols : 2);
            return;
        }
        buf_puts(b, shown);
        used += w;
        if (used <= room)
            mark = b->len;
        s += n;
    }
}

const char *text_quoted(const char *s, char *out, size_t len)
{
    struct buf b = { 0 };

    text_safe(&b, s, 40);
    snprintf(out, len, "'%.*s'", (int)(len - 3), buf_str(&b));
    buf_free(&b);
    return out;
}

void text_csv(struct buf *b, const char *s)
{
    if (!strpbrk(s, ",\"\r\n") && s[0] != ' ') {
        buf_puts(b, s);
        return;
    }
    buf_putc(b, '"');
    for (; *s; s++) {
        if (*s == '"')
            buf_putc(b, '"');
        buf_putc(b, *s);
    }
    buf_putc(b, '"');
}

bool text_is_formula(const char *s)
{
    return *s != '\0' && strchr("=+-@\t\r", *s) != NULL;
}

void text_csv_guarded(struct buf *b, const char *s)
{
    struct buf guarded = { 0 };

    if (!text_is_formula(s)) {
        text_csv(b, s);
        return;
    }
    buf_printf(&guarded, "'%s", s);
    text_csv(b, buf_str(&guarded));
    b->failed |= guarded.failed;
    buf_free(&guarded);
}

void text_count(char *out, size_t len, uint64_t n)
{
    char digits[24], grouped[32];
    const int nd = snprintf(digits, sizeof digits, "%" PRIu64, n);
    size_t k = 0;
    for (int i = 0; i < nd; i++) {
        if (i && (nd - i) % 3 == 0)
            grouped[k++] = ',';
        grouped[k++] = digits[i];
    }
    grouped[k] = '\0';
    snprintf(out, len, "%s", grouped);
}

void text_seconds(char *out, size_t len, double s)
{
    if (!(s >= 0) || !isfinite(s))
        snprintf(out, len, "?");
    else if (s < 0.095)
        snprintf(out, len, "%.2f s", s);
    else if (s < 59.95)
        snprintf(out, len, "%.1f s", s);
    else if (s < 3599.5)
        snprintf(out, len, "%d min %02d s", (int)(lround(s) / 60), (int)(lround(s) % 60));
    else if (s < 1e9)
        snprintf(out, len, "%ld h %02ld min", lround(s / 60) / 60, lround(s / 60) % 60);
    else
        snprintf(out, len, "%.3g h", s / 3600);
}

void text_number(char *out, size_t len, double x)
{
    const double a = fabs(x);
    if (isnan(x))
        snprintf(out, len, "-");
    else if (a < 1e6 && (a >= 1e4 || x == rint(x)))
        snprintf(out, len, "%.0f", x == 0 ? 0.0 : x);
    else
        snprintf(out, len, "%.4g", x);
}

static locale_t c_locale;
static void c_locale_make(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* [+-] digits [. digits] [e [+-] digits], at least one digit before the exponent. */
static bool number_shape(const char *s, size_t len)
{
    size_t i = 0, digits = 0;
    if (i < len && (s[i] == '+' || s[i] == '-'))
        i++;
    for (; i < len && isdigit((unsigned char)s[i]); i++)
        digits++;
    if (i < len && s[i] == '.')
        for (i++; i < len && isdigit((unsigned char)s[i]); i++)
            digits++;
    if (digits == 0)
        return false;
    if (i < len && (s[i] == 'e' || s[i] == 'E')) {
        i++;
        if (i < len && (s[i] == '+' || s[i] == '-'))
            i++;
        const size_t first = i;
        while (i < len && isdigit((unsigned char)s[i]))
            i++;
        if (i == first)
            return false;
    }
    return i == len;
}

bool text_double(const char *s, size_t len, double *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char small[128], *copy = small;

    if (!number_shape(s, len))
        return false;
    pthread_once(&once, c_locale_make);
    if (len >= sizeof small && !(copy = malloc(len + 1)))
        return false;
    memcpy(copy, s, len);
    copy[len] = '\0';
    const double x = c_locale ? strtod_l(copy, NULL, c_locale) : strtod(copy, NULL);
    if (copy != small)
        free(copy);
    if (!isfinite(x))
        return false;
    *out = x;
    return true;
}

bool text_scaled(const char *s, double *out)
{
    size_t n = strlen(s);
    double unit = 1, base = 1000;

    if (n && s[n - 1] == '%') {
        unit = 0.01;
        n--;
    } else {
        if (n && s[n - 1] == 'B') {
            base = 1024;
            n--;
            if (n && s[n - 1] == 'i')
                n--;
        }
        const char c = n ? s[n - 1] : '\0';
        const int power = c == 'k' || c == 'K' ? 1 : c == 'M' ? 2 : c == 'G' ? 3 : c == 'T' ? 4 : 0;
        if (power)
            n--;
        unit = pow(base, power);
    }
    double x;
    if (!text_double(s, n, &x) || !isfinite(x * unit))
        return false;
    *out = unit == 0.01 ? x / 100 : x * unit;
    return true;
}

size_t text_span(const char *s, const char *stops)
{
    size_t n = 0;
    long depth = 0;
    char quote = '\0';

    for (; s[n] && (quote || depth > 0 || !strchr(stops, s[n])); n++)
        if (quote)
            quote = s[n] == quote ? '\0' : quote;
        else if (s[n] == '\'' || s[n] == '"')
            quote = s[n];
        else
            depth += s[n] == '(' ? 1 : s[n] == ')' ? -1 : 0;
    return n;
}

size_t text_distance(const char *a, const char *b, size_t limit)
{
    enum { LONGEST = 128 };
    const size_t na = strlen(a), nb = strlen(b);
    size_t row[LONGEST + 1];

    if (strcmp(a, b) == 0)
        return 0;
    if (na > LONGEST || nb > LONGEST || (na > nb ? na - nb : nb - na) > limit)
        return limit + 1;
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            const size_t up = row[j];
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (up + 1 < best)
                best = up + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = up;
            row[j] = best;
        }
    }
    return row[nb] < limit + 1 ? row[nb] : limit + 1;
}

/* Bytes of the next word of text_wrap. */
static size_t wrap_word(const char *s)
{
    size_t n = strcspn(s, " ");

    while (s[n] == ' ' && s[n + 1] == '%')
        n += 1 + strcspn(s + n + 1, " ");
    return n;
}

void text_wrap(struct buf *out, const char *text, size_t width, const char *first, const char *rest)
{
    size_t at = text_width(first);
    bool fresh = true;

    buf_puts(out, first);
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        const size_t n = wrap_word(text);
        const size_t was = out->len;
        if (!fresh)
            buf_putc(out, ' ');
        buf_putn(out, text, n);
        const size_t w = text_width(buf_str(out) + was);
        if (!fresh && at + w > width && !out->failed) {
            out->s[out->len = was] = '\0';
            buf_printf(out, "\n%s", rest);
            buf_putn(out, text, n);
            at = text_width(rest) + w - 1;
        } else {
            at += w;
        }
        fresh = false;
        text += n;
    }
}
