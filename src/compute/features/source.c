/* compute/features/source.c -- rows from arrays, and subsets of rows. */
#include "compute/features/source.h"

#include "compute/kernels/kernel.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static enum status array_rows(const struct source *s, size_t r0, size_t r1, double *x,
                              struct err *err)
{
    const struct source_array *a = (const struct source_array *)(const void *)s;

    (void)err;
    for (size_t r = r0; r < r1; r++)
        memcpy(x + (r - r0) * s->d, a->x + r * a->ld, s->d * sizeof *x);
    return ST_OK;
}

void source_array_init(struct source_array *a, const double *x, size_t n, size_t d, size_t ld)
{
    *a = (struct source_array){ .base = { .n = n, .d = d, .rows = array_rows }, .x = x, .ld = ld };
}

/* Fetches runs of consecutive rows together, so that a subset in order is as fast as its source. */
static enum status subset_rows(const struct source *s, size_t r0, size_t r1, double *x,
                               struct err *err)
{
    const struct source_subset *u = (const struct source_subset *)(const void *)s;

    for (size_t r = r0; r < r1;) {
        size_t e = r + 1;
        while (e < r1 && u->idx[e] == u->idx[e - 1] + 1)
            e++;
        const enum status rc =
            u->of->rows(u->of, u->idx[r], u->idx[r] + (e - r), x + (r - r0) * s->d, err);
        if (rc != ST_OK)
            return rc;
        r = e;
    }
    return ST_OK;
}

void source_subset_init(struct source_subset *u, const struct source *of, const size_t *idx,
                        size_t n)
{
    *u = (struct source_subset){.base = {.n = n,
                                         .d = of->d,
                                         .rows = subset_rows,
                                         .layout = of->layout},
                                .of = of,
                                .idx = idx};
}

/* A whole number from lo to hi. */
static bool is_index(double v, double lo, double hi)
{
    return v >= lo && v <= hi && v == floor(v);
}

/* True if the part that begins at x ends within `room` numbers. */
static bool part_sound(const struct row_part *p, size_t room, const double *x)
{
    const size_t per = p->rows == ROWS_SYMBOLS ? 1 : p->channels;

    if (room < 1 || !is_index(x[0], 0.0, (double)((room - 1) / per)))
        return false;
    for (size_t i = 0; p->rows == ROWS_COUNTS && i < (size_t)x[0]; i++)
        if (!is_index(x[1 + i * per], i > 0 ? x[1 + (i - 1) * per] + 1.0 : 0.0, UINT32_MAX) ||
            !(x[2 + i * per] > 0.0))
            return false;
    for (size_t i = 0; p->rows == ROWS_SYMBOLS && i < (size_t)x[0]; i++)
        if (!is_index(x[1 + i], 0.0, UINT32_MAX))
            return false;
    return true;
}

bool source_row_sound(const struct row_layout *l, size_t d, const double *row)
{
    const size_t head = row_layout_head(l);

    if (head > d)
        return false;
    for (size_t p = 0; p < l->nparts; p++) {
        if (l->nparts > 1 && !is_index(row[l->flat + p], (double)head, (double)d))
            return false;
        const size_t at = l->nparts > 1 ? (size_t)row[l->flat + p] : l->flat;
        if (!part_sound(&l->part[p], d - at, row + at))
            return false;
    }
    return true;
}

/* What a position of a part is, in words. */
static const char *position_words(unsigned rows)
{
    return rows == ROWS_SYMBOLS ? "letters" : rows == ROWS_COUNTS ? "counts" : "numbers";
}

/* SHAPE unless the rows have the part that a layer reads. */
static enum status part_suits(const struct row_layout *rows, const struct layer *l,
                              struct err *err)
{
    const size_t parts = l->parts > 1 ? l->parts : 1;

    if (parts != rows->nparts)
        return err_set(err, ST_SHAPE,
                       "the kernel is made for rows of %zu sequences, the data have %zu", parts,
                       rows->nparts);
    if (l->flat != rows->flat)
        return err_set(err, ST_SHAPE,
                       "the kernel is made for %zu numbers beside the sequence, the data have "
                       "%zu",
                       l->flat, rows->flat);
    const struct row_part *p = &rows->part[l->part];
    if (l->channels != p->channels || layer_rows(l) != p->rows)
        return err_set(err, ST_SHAPE,
                       "the kernel is made for positions of %zu %s, the data have %zu "
                       "%s",
                       l->channels, position_words(layer_rows(l)), p->channels,
                       position_words(p->rows));
    return ST_OK;
}

enum status source_suits(const struct source *s, const struct kernel *k, struct err *err)
{
    const bool windows = kernel_reads_windows(k);
    enum status rc = ST_OK;

    if (windows != (s->layout.nparts > 0))
        return err_set(err, ST_SHAPE,
                       windows ? "a kernel over windows reads sequences, not columns of "
                                 "numbers"
                               : "these rows are sequences of different lengths: only "
                                 "kernels over windows read them");
    for (size_t t = 0; rc == ST_OK && t < k->nterms; t++)
        if (kterm_reads_windows(&k->term[t]))
            rc = part_suits(&s->layout, &k->term[t].layer, err);
    return rc;
}
