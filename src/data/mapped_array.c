/* data/mapped_array.c -- see mapped_array.h. */
#include "data/mapped_array.h"

#include "compute/features/source.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

struct piece {
    struct npy h;
    const char *p;           /* its items */
    size_t first;            /* its first row in the whole array */
    size_t row, col;         /* distances in bytes between rows and between columns */
    char *path;
    struct npy_stamp seen;
};

struct mapped_array {
    int refs;
    size_t n, cols, npieces, cap, bytes;
    struct piece *piece;
};

struct mapped_array *mapped_array_new(size_t cols, struct err *err)
{
    struct mapped_array *nb = mem_calloc(1, sizeof *nb, "an array", err);

    if (nb) {
        nb->refs = 1;
        nb->cols = cols;
    }
    return nb;
}

struct mapped_array *mapped_array_ref(struct mapped_array *nb)
{
    if (nb)
        __atomic_add_fetch(&nb->refs, 1, __ATOMIC_RELAXED);
    return nb;
}

void mapped_array_unref(struct mapped_array *nb)
{
    if (!nb || __atomic_sub_fetch(&nb->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < nb->npieces; i++) {
        spill_free(nb->piece[i].p);
        free(nb->piece[i].path);
    }
    free(nb->piece);
    free(nb);
}

size_t mapped_array_bytes(const struct mapped_array *nb)
{
    return nb->bytes;
}

size_t mapped_array_stride(const struct mapped_array *nb)
{
    return nb->npieces > 0 ? nb->piece[0].row : 0;
}

bool mapped_array_file(const struct mapped_array *nb, size_t i, struct source_file *f)
{
    const struct piece *q = nb->piece + i;

    if (i >= nb->npieces)
        return false;
    *f = (struct source_file){ .path = q->path, .first = q->first, .rows = q->h.rows,
                               .at = q->h.at, .row = q->row, .column = q->col,
                               .size = (uint32_t)q->h.size, .kind = q->h.kind,
                               .swap = q->h.swap };
    return true;
}

static enum status changed(const char *path, struct err *err)
{
    struct buf b = { 0 };

    text_safe(&b, path, 200);
    err_named(err, ST_IO, "changed",
              "%s has changed or is gone since it was opened, and its numbers "
              "are read in place",
              buf_str(&b));
    err_hint(err, "open it again");
    buf_free(&b);
    return ST_IO;
}

static enum status check(const struct piece *q, struct err *err)
{
    struct npy_stamp now;

    return npy_stamp(q->path, &now) && memcmp(&now, &q->seen, sizeof now) == 0
               ? ST_OK
               : changed(q->path, err);
}

enum status mapped_array_add(struct mapped_array *nb, const char *path, const struct npy *h,
                        const struct npy_stamp *seen, struct err *err)
{
    void *list = nb->piece;
    struct piece q = { .h = *h, .first = nb->n, .seen = *seen };
    enum status rc = mem_grow(&list, &nb->cap, nb->npieces + 1, sizeof q, "a list of files", err);

    nb->piece = list;
    if (rc != ST_OK)
        return rc;
    q.row = h->fortran ? h->size : h->size * h->cols;
    q.col = h->fortran ? h->size * h->rows : h->size;
    q.path = mem_strdup(path, err);
    if (!q.path)
        return ST_NOMEM;
    rc = check(&q, err);
    if (rc == ST_OK && !(q.p = spill_map(path, h->at, h->rows * h->cols * h->size, err)))
        rc = err ? err->code : ST_IO;
    if (rc != ST_OK) {
        free(q.path);
        return rc;
    }
    nb->piece[nb->npieces++] = q;
    nb->n += h->rows;
    nb->bytes += h->rows * h->cols * h->size;
    return ST_OK;
}

/* The last piece that begins at or before the row. */
static const struct piece *piece_of(const struct mapped_array *nb, size_t row)
{
    size_t lo = 0, hi = nb->npieces;

    while (hi - lo > 1) {
        const size_t mid = lo + (hi - lo) / 2;
        if (nb->piece[mid].first <= row)
            lo = mid;
        else
            hi = mid;
    }
    return &nb->piece[lo];
}

double mapped_array_at(const struct mapped_array *nb, size_t col, size_t row)
{
    const struct piece *q = piece_of(nb, row);

    return npy_item(&q->h, q->p + (row - q->first) * q->row + col * q->col);
}

enum status mapped_array_check(const struct mapped_array *nb, size_t first, size_t last,
                               struct err *err)
{
    const struct piece *a = piece_of(nb, first), *b = piece_of(nb, last);

    for (const struct piece *q = a; q <= b; q++) {
        const enum status rc = check(q, err);
        if (rc != ST_OK)
            return rc;
    }
    return ST_OK;
}
