/* data/formats/scan_date.c -- dates in text, as decimal years. */
#include "data/calendar.h"
#include "data/formats/import.h"

#include <string.h>
#include <strings.h>

struct cursor { const char *s, *end; };

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Reads least to most digits as a number in lo..hi. */
static bool take_number(struct cursor *c, size_t least, size_t most, int lo, int hi, int *out)
{
    size_t n = 0;
    int x = 0;

    for (; n < most && c->s < c->end && is_digit(*c->s); n++)
        x = x * 10 + (*c->s++ - '0');
    *out = x;
    return n >= least && (c->s == c->end || !is_digit(*c->s)) && x >= lo && x <= hi;
}

static bool take_char(struct cursor *c, const char *any)
{
    if (c->s == c->end || *c->s == '\0' || strchr(any, *c->s) == NULL)
        return false;
    c->s++;
    return true;
}

/* "Mar", "March" */
static bool take_month(struct cursor *c, int *month)
{
    static const char *const name[] = { "january", "february", "march",     "april",   "may",
                                        "june",    "july",     "august",    "september", "october",
                                        "november", "december" };
    size_t len = 0;

    while (c->s + len < c->end && ((c->s[len] | 0x20) >= 'a' && (c->s[len] | 0x20) <= 'z'))
        len++;
    for (*month = 1; *month <= 12; ++*month) {
        const char *full = name[*month - 1];
        if ((len == 3 || len == strlen(full)) && strncasecmp(c->s, full, len) == 0) {
            c->s += len;
            return true;
        }
    }
    return false;
}

/* Reads +hh:mm, -hhmm or Z to the end, as a share of the day to be subtracted. */
static bool take_zone(struct cursor *c, double *share)
{
    int h, m = 0;

    if (c->s == c->end || take_char(c, "Zz"))
        return c->s == c->end;
    const bool west = *c->s == '-';
    if (!take_char(c, "+-") || c->end - c->s < 2)
        return false;
    struct cursor hours = { c->s, c->s + 2 };
    if (!take_number(&hours, 2, 2, 0, 14, &h))
        return false;
    c->s += 2;
    (void)take_char(c, ":");
    if (c->s < c->end && !take_number(c, 2, 2, 0, 59, &m))
        return false;
    *share -= (west ? -1.0 : 1.0) * (h * 60.0 + m) / 1440.0;
    return c->s == c->end;
}

/* Reads h:mm[:ss[.fff]] with AM or PM and a time zone, to the end, as a share of the day. */
static bool take_time(struct cursor *c, double *share)
{
    int h, m, sec = 0;
    double frac = 0.0;

    if (!take_number(c, 1, 2, 0, 24, &h) || !take_char(c, ":") || !take_number(c, 2, 2, 0, 59, &m))
        return false;
    if (take_char(c, ":")) {
        if (!take_number(c, 2, 2, 0, 60, &sec))
            return false;
        if (c->s < c->end && *c->s == '.') {
            const char *first = c->s++;
            while (c->s < c->end && is_digit(*c->s))
                c->s++;
            if (c->s - first < 2 ||
                !scan_number_all(first, (size_t)(c->s - first), '.', &frac))
                return false;
        }
    }
    struct cursor half = *c;
    while (take_char(&half, " "))
        ;
    if (half.end - half.s >= 2 && strchr("AaPp", *half.s) != NULL && (half.s[1] | 0x20) == 'm') {
        const bool pm = (*half.s | 0x20) == 'p';
        if (h < 1 || h > 12)
            return false;
        h = h % 12 + (pm ? 12 : 0);
        half.s += 2;
        *c = half;
    }
    if (h == 24)
        return false;
    *share = (h * 3600.0 + m * 60.0 + sec + frac) / 86400.0;
    return take_zone(c, share);
}

/* Three numbers with the same separator between them, in the order "ymd", "dmy" or "mdy". Where
 * points separate them the day comes before the month. */
static bool take_numbers(struct cursor *c, const char *order, int *y, int *m, int *d)
{
    char sep[2] = "";

    for (size_t k = 0; k < 3; k++) {
        if (k > 0 && c->s < c->end && sep[0] == '\0')
            sep[0] = *c->s;
        if (sep[0] == '.' && order[0] == 'm')
            return false;
        if (k > 0 && (strchr("-/.", sep[0]) == NULL || !take_char(c, sep)))
            return false;
        if (!(order[k] == 'y' ? take_number(c, 4, 4, 1, 9999, y)
                              : take_number(c, 1, 2, 1, order[k] == 'm' ? 12 : 31,
                                            order[k] == 'm' ? m : d)))
            return false;
    }
    return true;
}

/* "31 Mar 2024", "31-March-2024", "Mar 31, 2024" */
static bool take_named(struct cursor *c, int *y, int *m, int *d)
{
    const bool first = c->s < c->end && !is_digit(*c->s);

    if (first ? !take_month(c, m) || !take_char(c, " ") || !take_number(c, 1, 2, 1, 31, d)
              : !take_number(c, 1, 2, 1, 31, d) || !take_char(c, " -") || !take_month(c, m))
        return false;
    if (first)
        (void)take_char(c, ",");
    return take_char(c, " -") && take_number(c, 4, 4, 1, 9999, y);
}

static bool iso(struct cursor c, double *year)
{
    int y, m, d = 1;
    double share = 0.0;

    if (!take_number(&c, 4, 4, 1, 9999, &y) || !take_char(&c, "-") ||
        !take_number(&c, 2, 2, 1, 12, &m))
        return false;
    if (c.s < c.end && (!take_char(&c, "-") || !take_number(&c, 2, 2, 1, 31, &d)))
        return false;
    if (c.s < c.end && (!take_char(&c, "T ") || !take_time(&c, &share)))
        return false;
    return calendar_year(y, m, d, share, year);
}

static bool other(struct cursor c, enum date_order order, double *year)
{
    static const char *const words[] = { "ymd", "dmy", "mdy" };
    int y = 0, m = 0, d = 0;
    double share = 0.0;

    if (!(order == DATE_NAMED ? take_named(&c, &y, &m, &d)
                              : take_numbers(&c, words[order], &y, &m, &d)))
        return false;
    (void)take_char(&c, ",");
    if (c.s < c.end && (!take_char(&c, "T ") || !take_time(&c, &share)))
        return false;
    return calendar_year(y, m, d, share, year);
}

bool scan_date_as(const char *s, size_t len, enum date_order order, double *year)
{
    struct cursor c = { s, s + len };

    while (c.s < c.end && (*c.s == ' ' || *c.s == '\t'))
        c.s++;
    while (c.s < c.end && (c.end[-1] == ' ' || c.end[-1] == '\t'))
        c.end--;
    return (order == DATE_YMD && iso(c, year)) || other(c, order, year);
}

bool scan_date(const char *s, size_t len, double *year)
{
    struct cursor c = { s, s + len };

    while (c.s < c.end && (*c.s == ' ' || *c.s == '\t'))
        c.s++;
    while (c.s < c.end && (c.end[-1] == ' ' || c.end[-1] == '\t'))
        c.end--;
    return iso(c, year);
}

unsigned scan_date_orders(const char *s, size_t len)
{
    unsigned orders = 0;
    double year;

    for (unsigned k = 0; k < DATE_ORDERS && len >= 6 && len < 64; k++)
        orders |= scan_date_as(s, len, (enum date_order)k, &year) ? 1u << k : 0u;
    return orders;
}
