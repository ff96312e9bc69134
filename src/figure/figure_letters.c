/* figure/figure_letters.c -- see figure_letters.h. */
#include "figure/figure_letters.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* True for a letter that a usual font may lack. Latin, Greek, Cyrillic, punctuation and common
 * signs are not among them. */
static bool is_rare(uint32_t u)
{
    /* What the fonts DejaVu, Liberation and Noto have in common, sans, bold and monospaced, and
     * accents, which are drawn with the letter before them. */
    static const uint16_t common[][2] = {
        { 0x00a0, 0x017f }, { 0x02c6, 0x02c7 }, { 0x02d8, 0x02dd }, { 0x0300, 0x033f },
        { 0x0384, 0x038a }, { 0x038c, 0x038c }, { 0x038e, 0x03a1 }, { 0x03a3, 0x03ce },
        { 0x0400, 0x045f }, { 0x0490, 0x0491 }, { 0x1e80, 0x1e85 }, { 0x2010, 0x2011 },
        { 0x2013, 0x2015 }, { 0x2018, 0x201e }, { 0x2020, 0x2022 }, { 0x2026, 0x2026 },
        { 0x2030, 0x2030 }, { 0x2032, 0x2033 }, { 0x2039, 0x203a }, { 0x20ac, 0x20ac },
        { 0x2116, 0x2116 }, { 0x2122, 0x2122 }, { 0x2190, 0x2195 }, { 0x2202, 0x2202 },
        { 0x2206, 0x2206 }, { 0x2212, 0x2212 }, { 0x2219, 0x221a }, { 0x221e, 0x221e },
        { 0x2248, 0x2248 }, { 0x2260, 0x2261 }, { 0x2264, 0x2265 }, { 0x2500, 0x2500 },
        { 0x2502, 0x2502 }, { 0x25a0, 0x25a1 }, { 0x25cb, 0x25cb }, { 0x25cf, 0x25cf },
    };
    bool found = u < 0x80;

    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        found |= u >= common[i][0] && u <= common[i][1];
    return !found;
}

size_t figure_letters(struct buf *b, const char *s)
{
    size_t rare = 0;

    while (*s != '\0') {
        uint32_t u;
        const size_t n = text_decode(s, &u);
        if (u != UINT32_MAX && is_rare(u)) {
            buf_printf(b, u > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)u);
            rare++;
        } else {
            buf_putn(b, s, n > 0 ? n : 1);
        }
        s += n > 0 ? n : 1;
    }
    return rare;
}

/* Widths of the letters from blank to ~ in hundredths of the size: the larger ones of DejaVu Sans
 * and Liberation Sans, in the second row of their bold fonts. */
static const unsigned char widths[2][95] = {
    { 32,  41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64,
      64,  64, 64, 34, 34, 84, 84, 84, 56, 102, 69, 69, 73, 78, 67, 62, 78, 76, 30, 50, 67, 56, 87,
      75,  79, 67, 79, 73, 67, 62, 74, 69, 99, 69, 67, 69, 40, 34, 40, 84, 56, 50, 62, 64, 55, 64,
      62,  36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64,
      34,  64, 84 },
    { 35,  46, 53, 84, 70, 101, 88, 31, 46, 46, 53, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70, 70,
      70,  70, 70, 40, 40, 84, 84, 84, 62, 100, 78, 77, 74, 84, 69, 69, 83, 84, 38, 56, 78, 64, 100,
      84,  86, 74, 86, 78, 73, 69, 82, 78, 111, 78, 73, 73, 46, 37, 46, 84, 56, 50, 68, 72, 60, 72,
      68,  44, 72, 72, 35, 35, 67, 35, 105, 72, 69, 72, 72, 50, 60, 48, 72, 66, 93, 65, 66, 59, 72,
      37,  72, 84 },
};

static bool accent(uint32_t u) /* on the letter before it */
{
    return u >= 0x300 && u < 0x340;
}

double figure_letters_width(uint32_t u, bool bold)
{
    const double more = bold ? 1.2 : 1;

    if (accent(u))
        return 0;
    if (u >= 32 && u < 127)
        return widths[bold][u - 32] / 100.0;
    if (u < 0x100)
        return more * (strchr("\xa9\xae\xbc\xbd\xbe\xc6\xe6", (int)u) ? 1.07 : 0.84);
    if ((u >= 0x384 && u < 0x3d0) || (u >= 0x430 && u < 0x460))
        return more * 0.95; /* Greek, and the small letters of Cyrillic */
    return more * 1.2;
}

double figure_letters_mono(uint32_t u)
{
    return accent(u) ? 0 : 0.603;
}

size_t figure_letters_fit(const char *s, double width)
{
    size_t n = 0;

    while (s[n] != '\0') {
        uint32_t u;
        const size_t k = text_decode(s + n, &u);
        width -= figure_letters_width(u, false);
        if (width < 0)
            break;
        n += k > 0 ? k : 1;
    }
    return n;
}

/* Calls `each` with every text of a panel. */
static void texts(struct figure *f, void (*each)(char **text, void *ctx), void *ctx)
{
    struct axis *axis[] = { &f->x, &f->y };

    each(&f->title, ctx);
    each(&f->reason, ctx);
    for (size_t a = 0; a < 2; a++) {
        each(&axis[a]->label, ctx);
        for (size_t i = 0; i < axis[a]->nname; i++)
            each(&axis[a]->name[i], ctx);
    }
    for (size_t i = 0; i < f->ns; i++) {
        each(&f->s[i].title, ctx);
        each(&f->s[i].class_names, ctx);
    }
}

struct rewriting { size_t rare; bool failed; };

static void rewrite(char **text, void *ctx)
{
    struct rewriting *r = ctx;
    struct buf b = { 0 };

    if (*text == NULL)
        return;
    const size_t rare = figure_letters(&b, *text);
    char *fresh = rare > 0 ? buf_take(&b) : NULL;
    r->failed |= rare > 0 && fresh == NULL;
    if (fresh != NULL) {
        free(*text);
        *text = fresh;
        r->rare += rare;
    }
    buf_free(&b);
}

enum status figure_letters_all(struct figure *f, size_t *rare)
{
    struct rewriting r = { 0 };

    for (; f != NULL; f = f->next)
        texts(f, rewrite, &r);
    if (rare != NULL)
        *rare = r.rare;
    return r.failed ? ST_NOMEM : ST_OK;
}

static void look(char **text, void *ctx)
{
    bool *found = ctx;

    for (const char *s = *text; s != NULL && *s != '\0' && !*found;) {
        uint32_t u;
        const size_t n = text_decode(s, &u);
        *found = u != UINT32_MAX && is_rare(u);
        s += n > 0 ? n : 1;
    }
}

bool figure_letters_found(const struct figure *f)
{
    bool found = false;

    for (; f != NULL; f = f->next)
        texts((struct figure *)f, look, &found); /* which changes nothing */
    return found;
}
