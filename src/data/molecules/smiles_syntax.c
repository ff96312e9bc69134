/* data/molecules/smiles_syntax.c -- the grammar of SMILES (opensmiles.org), with what RDKit adds:
 * [#6], dative bonds, ring numbers %(123). */
#include "data/molecules/smiles_syntax.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { RINGS_MOST = 256, DEPTH_MOST = 4096, NUMBER_MOST = 100000 };

struct reading {
    const char *s;
    size_t n, i;
    bool atom;          /* a bond, a branch or a ring number may follow */
    bool bond;          /* a bond waits for its atom */
    bool opened;        /* a parenthesis was just opened */
    bool any;           /* there was an atom */
    size_t depth, rings;
    uint32_t ring[RINGS_MOST]; /* numbers that wait for their other end */
};

static char at(const struct reading *r, size_t i)
{
    return i < r->n ? r->s[i] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Symbols of elements, with a blank after each. */
static const char elements[] =
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se "
    "Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb "
    "Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm "
    "Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og "
    "b c n o p s se as te si * D T ";

/* True if these letters are a symbol. */
static bool is_symbol(const char *s, size_t n)
{
    for (const char *e = elements; *e != '\0'; e += strcspn(e, " ") + 1)
        if (strcspn(e, " ") == n && strncmp(e, s, n) == 0)
            return true;
    return false;
}

/* Letters of the symbol of an atom in brackets; 0: there is none. */
static size_t symbol(const struct reading *r, size_t i)
{
    if (at(r, i) == '#') {
        size_t k = 1;
        while (is_digit(at(r, i + k)))
            k++;
        return k > 1 ? k : 0;
    }
    if (i + 1 < r->n && is_symbol(r->s + i, 2))
        return 2;
    return i < r->n && is_symbol(r->s + i, 1) ? 1 : 0;
}

static const char *take_bracket(struct reading *r)
{
    size_t i = r->i + 1;

    while (is_digit(at(r, i))) /* an isotope */
        i++;
    const size_t letters = symbol(r, i);
    if (letters == 0) {
        r->i = i;
        return "brackets hold no element";
    }
    for (i += letters; i < r->n && r->s[i] != ']'; i++)
        if ((r->s[i] == '\0' || strchr("@+-:H0123456789", r->s[i]) == NULL) &&
            !(r->s[i] >= 'A' && r->s[i] <= 'Z' && memchr(r->s + r->i, '@', i - r->i) != NULL)) {
            r->i = i;
            return "this does not belong into brackets";
        }
    if (i >= r->n)
        return "a bracket is not closed";
    r->i = i + 1;
    return NULL;
}

/* Letters of an atom that needs no brackets; 0: there is none. */
static size_t plain_atom(const struct reading *r)
{
    const char c = at(r, r->i), next = at(r, r->i + 1);

    if ((c == 'C' && next == 'l') || (c == 'B' && next == 'r'))
        return 2;
    return c != '\0' && strchr("BCNOPSFIbcnops*", c) != NULL ? 1 : 0;
}

/* The number of a ring at the present character; NUMBER_MOST: it is none. */
static uint32_t ring_number(struct reading *r)
{
    const size_t i = r->i;
    uint32_t x = 0;

    if (is_digit(at(r, i)))
        return r->i++, (uint32_t)(r->s[i] - '0');
    if (at(r, i + 1) == '(') {
        size_t k = i + 2;
        for (; is_digit(at(r, k)) && x < NUMBER_MOST; k++)
            x = 10 * x + (uint32_t)(r->s[k] - '0');
        if (k == i + 2 || at(r, k) != ')' || x >= NUMBER_MOST)
            return NUMBER_MOST;
        return r->i = k + 1, x;
    }
    if (!is_digit(at(r, i + 1)) || !is_digit(at(r, i + 2)))
        return NUMBER_MOST;
    r->i = i + 3;
    return (uint32_t)(10 * (r->s[i + 1] - '0') + r->s[i + 2] - '0');
}

static const char *take_ring(struct reading *r)
{
    size_t k = 0;

    if (!r->atom || r->opened)
        return "a ring number follows no atom";
    const uint32_t number = ring_number(r);
    if (number == NUMBER_MOST)
        return "a ring number was expected after %";
    r->bond = false;
    while (k < r->rings && r->ring[k] != number)
        k++;
    if (k < r->rings)
        r->ring[k] = r->ring[--r->rings];
    else if (r->rings == RINGS_MOST)
        return "too many rings are open";
    else
        r->ring[r->rings++] = number;
    return NULL;
}

static const char *take_branch(struct reading *r)
{
    const bool opens = r->s[r->i] == '(';

    if (opens && (!r->atom || r->bond || r->opened))
        return "a parenthesis opens where no atom stands before it";
    if (opens && r->depth == DEPTH_MOST)
        return "parentheses are nested too deeply";
    if (!opens && r->depth == 0)
        return "a parenthesis is closed that was not opened";
    if (!opens && (r->bond || r->opened || !r->atom))
        return "a parenthesis closes where an atom was expected";
    r->depth = opens ? r->depth + 1 : r->depth - 1;
    r->opened = opens;
    r->i++;
    return NULL;
}

static const char *take_bond(struct reading *r)
{
    const char c = r->s[r->i];

    if (!r->atom || r->bond)
        return "a bond follows no atom";
    r->i += (c == '-' && at(r, r->i + 1) == '>') || (c == '<' && at(r, r->i + 1) == '-') ? 2 : 1;
    r->bond = true;
    return NULL;
}

static const char *take_next(struct reading *r)
{
    const char c = r->s[r->i];
    const size_t letters = plain_atom(r);
    const char *wrong = NULL;

    if (letters > 0 || c == '[') {
        if (letters > 0)
            r->i += letters;
        else
            wrong = take_bracket(r);
        r->atom = r->any = true;
        r->bond = r->opened = false;
        return wrong;
    }
    if (c == '(' || c == ')')
        return take_branch(r);
    if (is_digit(c) || c == '%')
        return take_ring(r);
    if (c == '.') {
        if (!r->atom || r->bond)
            return "a dot follows no atom";
        r->atom = false;
        r->i++;
        return NULL;
    }
    if (strchr("-=#$:/\\~<", c) != NULL)
        return take_bond(r);
    return c > ' ' && c <= '~' ? "no atom is written so" : "no SMILES has this character";
}

const char *smiles_syntax_wrong(const char *s, size_t n, size_t *where)
{
    struct reading r = { .n = n };
    size_t lead = 0;

    while (r.n > 0 && strchr(" \t\r\n", s[r.n - 1]) != NULL && s[r.n - 1] != '\0')
        r.n--;
    while (lead < r.n && (s[lead] == ' ' || s[lead] == '\t'))
        lead++;
    r.s = s + lead;
    r.n -= lead;
    *where = 0;
    if (r.n == 0)
        return "it is empty";
    while (r.i < r.n) {
        const char *wrong = r.s[r.i] == '\0' ? "no SMILES has this character" : take_next(&r);
        if (wrong != NULL) {
            *where = r.i < r.n ? lead + r.i + 1 : 0;
            return wrong;
        }
    }
    return r.depth > 0     ? "a parenthesis is not closed"
           : r.rings > 0   ? "a ring is not closed"
           : r.bond        ? "a bond leads nowhere"
           : r.atom        ? NULL
           : r.any         ? "a dot leads nowhere"
                           : "it has no atoms";
}
