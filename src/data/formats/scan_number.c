/* data/formats/scan_number.c -- numbers in text.
 *
 * A number of up to 19 significant digits is an integer w times 10^q.  Both are exact in the 64-bit
 * significand of the x87 long double when |q| <= 27 (10^27 = 5^27 2^27, and 5^27 < 2^63), so one
 * multiplication or division there is wrong by at most half a unit in the last of 64 bits. Rounding
 * that to the 53 bits of a double is right unless the 11 bits to be dropped lie within one unit of
 * the half-way point: those, and everything else that is unusual, go to strtod.  For w <= 2^53 and
 * |q| <= 22 double arithmetic alone is exact (Clinger 1990). */
#include "data/formats/import.h"

#include "base/text.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const double pow10_double[] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

#if LDBL_MANT_DIG == 64
static const long double pow10_long[] = {
    1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
    1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
    1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L,
};

/* Computes w * 10^q in *out. Returns false if 64 bits do not determine how the double is
 * rounded. */
static bool scale_long(uint64_t w, int q, double *out)
{
    if (q < -27 || q > 27)
        return false;
    long double x = (long double)w;
    x = q < 0 ? x / pow10_long[-q] : x * pow10_long[q];
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits); /* the significand comes first */
    uint64_t dropped = bits & 0x7ff;
    if (dropped >= 0x3ff && dropped <= 0x401)
        return false;
    *out = (double)x;
    return true;
}
#else
static bool scale_long(uint64_t w, int q, double *out)
{
    (void)w, (void)q, (void)out;
    return false;
}
#endif

/* Text that looks like a number but is refused has overflowed. */
static const char *convert(const char *text, size_t len, const char *e, double *out)
{
    if (!text_double(text, len, out))
        *out = *text == '-' ? -(double)INFINITY : (double)INFINITY;
    return e;
}

/* Unusual numbers: copied with a decimal point and passed to strtod in the C locale. */
static const char *scan_slow(const char *s, const char *e, char dec, double *out)
{
    char few[64];
    size_t len = (size_t)(e - s);
    if (*s == '+') { /* text_double accepts what strtod does, also without the sign */
        s++;
        len--;
    }
    if (len < sizeof few) {
        memcpy(few, s, len);
        char *comma = dec != '.' ? memchr(few, dec, len) : NULL;
        if (comma != NULL)
            *comma = '.';
        return convert(few, len, e, out);
    }
    char *copy = strndup(s, len);
    if (copy == NULL)
        return NULL;
    char *comma = dec != '.' ? memchr(copy, dec, len) : NULL;
    if (comma != NULL)
        *comma = '.';
    convert(copy, len, e, out);
    free(copy);
    return e;
}

#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Eight ASCII digits at once: a digit's high half is 3 and stays 3 when 6 is added; then pairs,
 * fours and eights are joined by multiplications (D. Lemire 2018; W. Mula). */
static inline bool eight_digits(const char *p, uint64_t *w)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    const uint64_t high = 0xf0f0f0f0f0f0f0f0u;
    if (((v & high) | (((v + 0x0606060606060606u) & high) >> 4)) != 0x3333333333333333u)
        return false;
    v -= 0x3030303030303030u;
    v = v * 10 + (v >> 8);
    const uint64_t mask = 0x000000ff000000ffu;
    v = ((v & mask) * 0x000f424000000064u + ((v >> 16 & mask) * 0x0000271000000001u)) >> 32;
    *w = *w * 100000000u + (uint32_t)v;
    return true;
}
#else
static inline bool eight_digits(const char *p, uint64_t *w)
{
    (void)p, (void)w;
    return false;
}
#endif

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* The exponent at p ("e-05"), or 0 if there is none; limited, because it may have any number of
 * digits. */
static const char *scan_exponent(const char *p, int *q)
{
    const char *start = p++;
    bool minus = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    if (!is_digit(*p))
        return start;
    int e = 0;
    for (; is_digit(*p); p++)
        if (e < 100000)
            e = e * 10 + (*p - '0');
    *q += minus ? -e : e;
    return p;
}

const char *scan_number(const char *s, char dec, double *out)
{
    const char *p = s;
    bool minus = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    const char *first = p;
    uint64_t w = 0;
    int q = 0;
    while (is_digit(*p))
        w = w * 10 + (uint64_t)(*p++ - '0');
    size_t digits = (size_t)(p - first);
    const char *lead = first;
    if (*p == dec) {
        const char *frac = ++p;
        while (eight_digits(p, &w))
            p += 8;
        while (is_digit(*p))
            w = w * 10 + (uint64_t)(*p++ - '0');
        q = -(int)(p - frac);
        digits += (size_t)(p - frac);
    }
    if (digits == 0)
        return NULL;
    if ((*p | 0x20) == 'e')
        p = scan_exponent(p, &q);
    if (digits > 19) { /* w has overflowed unless the number begins with zeros */
        while (*lead == '0' || *lead == dec) {
            digits -= *lead == '0';
            lead++;
        }
        if (digits > 19)
            return scan_slow(s, p, dec, out);
    }
    if (w <= (uint64_t)1 << 53 && q >= -22 && q <= 22) {
        double x = (double)w;
        x = q < 0 ? x / pow10_double[-q] : x * pow10_double[q];
        *out = minus ? -x : x;
        return p;
    }
    double x;
    if (w == 0)
        x = 0.0;
    else if (!scale_long(w, q, &x))
        return scan_slow(s, p, dec, out);
    *out = minus ? -x : x;
    return p;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void trim(const char **s, size_t *len)
{
    while (*len > 0 && is_blank((*s)[0])) {
        (*s)++;
        (*len)--;
    }
    while (*len > 0 && is_blank((*s)[*len - 1]))
        (*len)--;
}

bool scan_number_all(const char *s, size_t len, char dec, double *out)
{
    trim(&s, &len);
    if (len == 0 || len > 4096)
        return false;
    char few[4096 + 16];
    memcpy(few, s, len);
    memset(few + len, 0, 16);
    return scan_number(few, dec, out) == few + len;
}

/* The bytes of a mark for thousands at s; 0: there is none. A blank is also one that does not break
 * lines (U+00A0, U+202F). */
static size_t mark_at(const char *s, const char *end, char thousands)
{
    if (*s == thousands)
        return 1;
    if (thousands != ' ')
        return 0;
    return end - s >= 2 && memcmp(s, "\xc2\xa0", 2) == 0 ? 2
         : end - s >= 3 && memcmp(s, "\xe2\x80\xaf", 3) == 0 ? 3 : 0;
}

bool scan_number_marked(const char *s, size_t len, char dec, char thousands, double *out)
{
    char plain[64];
    size_t n = 0, digits = 0, marks = 0;

    if (scan_number_all(s, len, dec, out))
        return true;
    trim(&s, &len);
    if (thousands == '\0' || len >= sizeof plain)
        return false;
    const char *end = s + len;
    if (s < end && (*s == '-' || *s == '+'))
        plain[n++] = *s++;
    for (; s < end && (is_digit(*s) || mark_at(s, end, thousands) > 0); s++) {
        if (is_digit(*s)) {
            digits++;
            plain[n++] = *s;
            continue;
        }
        if (marks++ == 0 ? digits < 1 || digits > 3 : digits != 3)
            return false;
        digits = 0;
        s += mark_at(s, end, thousands) - 1;
    }
    if (marks == 0 || digits != 3 || (s < end && *s != dec))
        return false;
    while (s < end)
        plain[n++] = *s++;
    return scan_number_all(plain, n, dec, out);
}

bool scan_not_finite(const char *s, size_t len)
{
    static const char *const words[] = { "nan", "inf", "infinity", "1.#inf", "1.#ind", "1.#qnan" };
    trim(&s, &len);
    if (len > 0 && (*s == '-' || *s == '+')) {
        s++;
        len--;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == len && strncasecmp(s, words[i], len) == 0)
            return true;
    return false;
}
