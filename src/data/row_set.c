/* data/row_set.c -- see row_set.h. A row is known by a number of 64 bits, made from its cells. */
#include "data/row_set.h"

#include "base/fnv.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Open addressing; 0 is an empty place. */
struct row_set { uint64_t *at; size_t mask; };

static uint64_t mixed(uint64_t h, const void *bytes, size_t n)
{
    h = fnv_bytes(h, bytes, n);
    h ^= h >> 29;
    return h * 0xbf58476d1ce4e5b9u;
}

static uint64_t cell_key(uint64_t h, const struct column *c, size_t row)
{
    struct buf room = { 0 };

    if (c->type == COL_REAL) {
        const double v = column_at(c, row) + 0.0; /* -0 becomes 0 */
        return isnan(v) ? mixed(h, "", 1) : mixed(h, &v, sizeof v);
    }
    const char *s = table_column_text(c, row, &room);
    h = mixed(h, s ? s : "", s ? strlen(s) + 1 : 1);
    buf_free(&room);
    if (c->type == COL_HELD && c->cells->beside) {
        size_t n = 0;
        const void *p = c->cells->beside(c, row, &n);
        h = p ? mixed(h, p, n) : h;
    }
    return h;
}

struct row_set *row_set_new(size_t n, struct err *err)
{
    struct row_set *s = mem_calloc(1, sizeof *s, "measured rows", err);
    size_t room = 64;

    while (room < 2 * n)
        room *= 2;
    if (!s)
        return NULL;
    s->mask = room - 1;
    s->at = mem_calloc(room, sizeof *s->at, "measured rows", err);
    if (s->at)
        return s;
    free(s);
    return NULL;
}

void row_set_free(struct row_set *s)
{
    if (s)
        free(s->at);
    free(s);
}

bool row_set_add(struct row_set *s, const struct table *t, const size_t *col, size_t row)
{
    uint64_t key = FNV_START;

    for (; *col != SIZE_MAX; col++)
        key = cell_key(key, &t->col[*col], row);
    key = key ? key : 1;
    size_t i = key & s->mask;
    while (s->at[i] && s->at[i] != key)
        i = (i + 1) & s->mask;
    const bool fresh = !s->at[i];
    s->at[i] = key;
    return fresh;
}
