/* data/molecules/molecule_repeats.c -- see molecule_repeats.h. */
#include "data/molecules/molecule_repeats.h"

#include "base/fnv.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

uint64_t molecule_repeats_number(const char *s, size_t n)
{
    uint64_t h = fnv_bytes(FNV_START, s, n);

    h ^= h >> 32;
    h *= UINT64_C(0xd6e8feb86659fd93);
    h ^= h >> 32;
    return h != 0 ? h : 1;
}

/* Open addressing with linear steps; at most half of the slots are taken. */
struct slot { uint64_t number; size_t text; };
struct seen { struct slot *slot; size_t size; };

static struct slot *find(const struct seen *s, const struct molecule_repeats *r, uint64_t number,
                         const char *text)
{
    size_t at = (size_t)number & (s->size - 1);

    while (s->slot[at].number != 0 && (s->slot[at].number != number ||
                                       strcmp(r->text[s->slot[at].text], text) != 0))
        at = (at + 1) & (s->size - 1);
    return &s->slot[at];
}

/* Doubles the slots. */
static enum status grow(struct seen *s, struct err *err)
{
    const struct seen old = *s;

    s->size = old.size > 0 ? 2 * old.size : 1024;
    s->slot = mem_calloc(s->size, sizeof *s->slot, "different molecules", err);
    if (s->slot == NULL) {
        *s = old;
        return ST_NOMEM;
    }
    for (size_t k = 0; k < old.size; k++) {
        size_t at = (size_t)old.slot[k].number & (s->size - 1);
        if (old.slot[k].number == 0)
            continue;
        while (s->slot[at].number != 0)
            at = (at + 1) & (s->size - 1);
        s->slot[at] = old.slot[k];
    }
    free(old.slot);
    return ST_OK;
}

enum status molecule_repeats_find(struct molecule_repeats *r, const char *const *text, size_t rows,
                                  struct err *err)
{
    struct seen seen = { 0 };
    size_t cap = 0;

    *r = (struct molecule_repeats){ 0 };
    r->of = mem_calloc(rows + 1, sizeof *r->of, "different molecules", err);
    enum status rc = r->of != NULL ? grow(&seen, err) : ST_NOMEM;
    if (rc == ST_OK)
        rc = mem_grow((void **)&r->text, &cap, 1, sizeof *r->text, "different molecules", err);
    for (size_t i = 0; i < rows && rc == ST_OK; i++) {
        r->of[i] = SIZE_MAX;
        if (text[i] == NULL)
            continue;
        r->rows++;
        const uint64_t number = molecule_repeats_number(text[i], strlen(text[i]));
        struct slot *slot = find(&seen, r, number, text[i]);
        if (slot->number == 0) {
            rc = mem_grow((void **)&r->text, &cap, r->n + 1, sizeof *r->text,
                          "different molecules", err);
            if (rc != ST_OK)
                break;
            *slot = (struct slot){ number, r->n };
            r->of[i] = r->n;
            r->text[r->n++] = text[i];
            rc = 2 * r->n > seen.size ? grow(&seen, err) : ST_OK;
        } else {
            r->of[i] = slot->text;
        }
    }
    free(seen.slot);
    return rc;
}

void molecule_repeats_free(struct molecule_repeats *r)
{
    free(r->text);
    free(r->of);
    *r = (struct molecule_repeats){ 0 };
}
