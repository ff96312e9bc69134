/* app/runs/scoring/repeats.c -- see repeats.h. */
#include "app/runs/scoring/repeats.h"

#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1024 };
struct hashed { uint64_t h; double y; size_t row; };

static int by_hash(const void *a, const void *b)
{
    const struct hashed *p = a, *q = b;

    if (p->h != q->h)
        return (p->h > q->h) - (p->h < q->h);
    if (p->y != q->y)
        return (p->y > q->y) - (p->y < q->y);
    return (p->row > q->row) - (p->row < q->row);
}

static uint64_t hash_row(const double *x, size_t d)
{
    uint64_t h = 0x9e3779b97f4a7c15u;

    for (size_t j = 0; j < d; j++) {
        uint64_t bits;
        const double v = x[j] + 0.0; /* makes -0 and 0 equal */
        memcpy(&bits, &v, sizeof bits);
        h = (h ^ bits) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

/* Rows a to b - 1 have equal inputs and ascending y. */
static void group(const struct hashed *v, size_t a, size_t b, struct repeats *out)
{
    double mean = 0.0;
    size_t most = 0;

    for (size_t i = a; i < b; i++)
        mean += v[i].y;
    mean /= (double)(b - a);
    for (size_t i = a; i < b; i++)
        out->squares += (v[i].y - mean) * (v[i].y - mean);
    out->free_rows += (double)(b - a - 1);
    out->rows += b - a > 1 ? b - a : 0;
    if (v[a].y == v[b - 1].y)
        return;
    for (size_t i = a, end; i < b; i = end) {
        for (end = i; end < b && v[end].y == v[i].y; end++)
            ;
        most = end - i > most ? end - i : most;
    }
    if (out->conflicts == 0) {
        out->first[0] = v[a].row;
        out->first[1] = v[b - 1].row;
    }
    out->conflicts += b - a;
    out->conflict_inputs++;
    out->least_wrong += b - a - most;
}

enum status repeats_find(const struct encoded *e, const double *y, struct repeats *out,
                         struct err *err)
{
    struct hashed *v = mem_calloc(e->n + 1, sizeof *v, "rows", err);
    double *x = v ? mem_calloc(BLOCK * e->base.d, sizeof *x, "rows", err) : NULL;
    enum status rc = x ? ST_OK : ST_NOMEM;

    *out = (struct repeats){ .rows = 0 };
    for (size_t r = 0; rc == ST_OK && r < e->n; r += BLOCK) {
        const size_t n = e->n - r < BLOCK ? e->n - r : BLOCK;
        rc = e->base.rows(&e->base, r, r + n, x, err);
        for (size_t i = 0; rc == ST_OK && i < n; i++)
            v[r + i] = (struct hashed){ hash_row(x + i * e->base.d, e->base.d), y[r + i],
                                        e->row ? e->row[r + i] : r + i };
    }
    if (rc == ST_OK)
        qsort(v, e->n, sizeof *v, by_hash);
    for (size_t i = 0, end; rc == ST_OK && i < e->n; i = end) {
        for (end = i; end < e->n && v[end].h == v[i].h; end++)
            ;
        group(v, i, end, out);
    }
    free(x);
    free(v);
    return rc;
}
