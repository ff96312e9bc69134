/* data/molecules/drawing.c -- see drawing.h. */
#include "data/molecules/drawing.h"

#include "data/molecules/molecules.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void drawing_free(struct drawing *d)
{
    free(d->atom);
    free(d->bond);
    free(d->environment);
    *d = (struct drawing){ 0 };
}

static enum status bad(struct err *err)
{
    return err_set(err, ST_FORMAT, "the drawing of a molecule cannot be read");
}

/* One item without its semicolon. Widths keep the numbers within an int. */
static enum status take_item(const char *s, struct drawing *d, struct err *err)
{
    struct drawing_atom a = { 0 };
    struct drawing_bond b;
    struct drawing_environment e;
    unsigned place;
    int x, y, end = 0;
    enum status rc;

    if (sscanf(s, "a %3[A-Za-z*] %3d %3d %8d %8d%n", a.element, &a.charge, &a.hydrogens, &x, &y,
               &end) == 5 && s[end] == '\0') {
        a.x = x / 1000.0;
        a.y = y / 1000.0;
        rc = mem_grow((void **)&d->atom, &d->atom_cap, d->atoms + 1, sizeof a, "atoms", err);
        if (rc == ST_OK)
            d->atom[d->atoms++] = a;
        return rc;
    }
    if (sscanf(s, "b %7zu %7zu %1d%n", &b.a, &b.b, &b.order, &end) == 3 && s[end] == '\0' &&
        b.a < d->atoms && b.b < d->atoms && b.order >= 1 && b.order <= 4) {
        rc = mem_grow((void **)&d->bond, &d->bond_cap, d->bonds + 1, sizeof b, "bonds", err);
        if (rc == ST_OK)
            d->bond[d->bonds++] = b;
        return rc;
    }
    if (sscanf(s, "e %10u %7zu %2zu%n", &place, &e.atom, &e.radius, &end) == 3 && s[end] == '\0' &&
        e.atom < d->atoms && e.radius <= MOLECULES_RADIUS_MOST) {
        e.place = place;
        rc = mem_grow((void **)&d->environment, &d->environment_cap, d->environments + 1, sizeof e,
                      "environments", err);
        if (rc == ST_OK)
            d->environment[d->environments++] = e;
        return rc;
    }
    return bad(err);
}

enum status drawing_parse_for_tests(const char *text, struct drawing *d, struct err *err)
{
    enum status rc = ST_OK;

    *d = (struct drawing){ 0 };
    while (rc == ST_OK && *text != '\0') {
        char item[80];
        const size_t n = strcspn(text, ";");
        if (text[n] == '\0' || n >= sizeof item)
            return bad(err);
        memcpy(item, text, n);
        item[n] = '\0';
        text += n + 1;
        rc = take_item(item, d, err);
    }
    return rc == ST_OK && d->atoms == 0 ? bad(err) : rc;
}

/* Asking. */

struct asking {
    const char *const *text;
    struct drawing *d;
    bool all; /* who cannot be read ends nothing */
};

static const char *text_of(void *ctx, size_t i, size_t *length)
{
    const struct asking *a = ctx;
    const char *text = a->text[i] ? a->text[i] : "";

    *length = strlen(text);
    return text;
}

static enum status take(void *ctx, size_t i, const struct molecule *m, struct err *err)
{
    const struct asking *a = ctx;

    if (m->state == MOLECULE_READ)
        return drawing_parse_for_tests(m->drawn, &a->d[i], err);
    return a->all ? ST_OK : err_set(err, ST_FORMAT, "%s", m->reason);
}

enum status drawing_read(const char *smiles, const struct fingerprint *how, struct drawing *d,
                         struct err *err)
{
    struct asking a = { &smiles, d, false };
    const struct molecules_list list = { .n = 1, .ctx = &a, .text = text_of, .take = take };
    struct molecules_ask ask = how->ask;

    *d = (struct drawing){ 0 };
    ask.want = MOLECULES_DRAWN;
    return molecules_read(&list, &ask, &(struct molecules_limits){ 0 }, NULL, err);
}

enum status drawing_read_all(const char *const *smiles, size_t n, struct drawing *d,
                             const struct ctl *ctl, struct err *err)
{
    struct asking a = { smiles, d, true };
    const struct molecules_list list = { .n = n, .ctx = &a, .text = text_of, .take = take };
    struct fingerprint how;
    const enum status rc = fingerprint_parse("morgan(radius=0)", "encoding", &how, err);

    for (size_t i = 0; i < n; i++)
        d[i] = (struct drawing){ 0 };
    if (rc != ST_OK)
        return rc;
    how.ask.want = MOLECULES_DRAWN;
    return molecules_read(&list, &how.ask, &(struct molecules_limits){ 0 }, ctl, err);
}

/* Counting. */

/* How many bonds each atom is from `from`, up to `most`; SIZE_MAX: more. */
static void spread(const struct drawing *d, size_t from, size_t most, size_t *bonds)
{
    for (size_t i = 0; i < d->atoms; i++)
        bonds[i] = i == from ? 0 : SIZE_MAX;
    for (size_t step = 0; step < most; step++)
        for (size_t k = 0; k < d->bonds; k++) {
            const struct drawing_bond *b = &d->bond[k];
            if (bonds[b->a] == step && bonds[b->b] == SIZE_MAX)
                bonds[b->b] = step + 1;
            else if (bonds[b->b] == step && bonds[b->a] == SIZE_MAX)
                bonds[b->a] = step + 1;
        }
}

static int by_place(const void *a, const void *b)
{
    const struct count *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

size_t drawing_counts(const struct drawing *d, size_t without, bool bits, struct count *out,
                      struct err *err)
{
    size_t *bonds = mem_calloc(d->atoms + 1, sizeof *bonds, "atoms", err), n = 0, m = 0;

    if (bonds == NULL)
        return SIZE_MAX;
    if (without != SIZE_MAX)
        spread(d, without, MOLECULES_RADIUS_MOST, bonds);
    for (size_t k = 0; k < d->environments; k++) {
        const struct drawing_environment *e = &d->environment[k];
        if (without == SIZE_MAX || bonds[e->atom] > e->radius)
            out[n++] = (struct count){ .value = 1.0, .place = e->place };
    }
    free(bonds);
    qsort(out, n, sizeof *out, by_place);
    for (size_t k = 0; k < n; k++)
        if (m > 0 && out[m - 1].place == out[k].place)
            out[m - 1].value += bits ? 0.0 : 1.0;
        else
            out[m++] = out[k];
    return m;
}
