/* compute/features/source.c -- rows from arrays, and subsets of rows. */
#include "compute/features/source.h"

#include "compute/kernels/kernel.h"

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
                                         .row = of->row,
                                         .channels = of->channels,
                                         .flat = of->flat},
                                .of = of,
                                .idx = idx};
}

enum status source_suits(const struct source *s, const struct kernel *k, struct err *err)
{
    const bool windows = kernel_reads_windows(k);

    if (windows != (s->row != ROW_FLAT))
        return err_set(err, ST_SHAPE,
                       windows ? "a kernel over windows reads sequences, not columns of "
                                 "numbers"
                               : "these rows are sequences of different lengths: only "
                                 "kernels over windows read them");
    if (!windows)
        return ST_OK;
    if (k->layer.flat != s->flat)
        return err_set(err, ST_SHAPE,
                       "the kernel is made for %zu numbers beside the sequence, the data have "
                       "%zu",
                       k->layer.flat, s->flat);
    if (k->layer.channels != s->channels || k->layer.symbols != (s->row == ROW_SYMBOLS))
        return err_set(err, ST_SHAPE,
                       "the kernel is made for positions of %zu %s, the data have %zu "
                       "%s",
                       k->layer.channels, k->layer.symbols ? "letters" : "numbers", s->channels,
                       s->row == ROW_SYMBOLS ? "letters" : "numbers");
    return ST_OK;
}
