/* app/runs/words/word_repeats.c -- see word_repeats.h. */
#include "app/runs/words/word_repeats.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* The largest k(x, x) in units of the median from which on it is told: that of a row that has its
 * words ten times as often as others. */
static const double FAR = 100.0;

/* The first kernel of words that is not divided by the lengths; NULL: none. */
static const struct kterm *counting(const struct kernel *k)
{
    for (size_t t = 0; t < k->nterms; t++) {
        const struct layer *l = &k->term[t].layer;
        if (l->ops && l->ops->words && l->symbols && !l->cosine)
            return &k->term[t];
    }
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static enum status own_values(const struct layer *of, const struct source *rows, double *own,
                              struct err *err)
{
    struct layer l = *of;
    double *x = mem_calloc(rows->d, sizeof *x, "a row", err);
    enum status rc = x ? ST_OK : ST_NOMEM;

    l.cosine = 1; /* by which rows would be divided */
    for (size_t i = 0; rc == ST_OK && i < rows->n; i++) {
        rc = rows->rows(rows, i, i + 1, x, err);
        if (rc == ST_OK) {
            const double length = l.ops->words->length(&l, x + layer_first(&l, x));
            own[i] = length * length;
        }
    }
    free(x);
    return rc;
}

enum status word_repeats_note(const struct kernel *k, const struct encoded *e, struct buf *notes,
                              struct err *err)
{
    const struct kterm *t = counting(k);
    size_t most = 0;

    if (!t || e->n < 3)
        return ST_OK;
    double *own = mem_calloc(e->n, sizeof *own, "values of the kernel", err);
    const enum status rc = own ? own_values(&t->layer, &e->base, own, err) : ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < e->n; i++)
        most = own[i] > own[most] ? i : most;
    if (rc == ST_OK) {
        const double high = own[most];
        qsort(own, e->n, sizeof *own, by_value);
        const double middle = own[e->n / 2];
        if (high > FAR * middle)
            buf_printf(notes,
                       "note[repeats]: k(x, x) of %s is %.3g in row %zu, which is long or repeats "
                       "its words, and %.3g in the middle of the training rows: few rows outweigh "
                       "the others; norm=cosine in its brackets divides by that\n",
                       t->layer.ops->name, high, e->row[most] + 1, middle);
    }
    free(own);
    return rc;
}
