/* data/kinds/distance.c -- see distance.h. */
#include "data/kinds/distance.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLE_MOST = 1000 };

size_t distance_first(const struct dataset *d)
{
    size_t j = 0;

    while (j < d->table->ncols &&
           (d->role[j] != ROLE_INPUT || kind_of(&d->table->col[j])->distance == NULL))
        j++;
    return j;
}

enum status distance_open(const struct dataset *d, size_t j, struct row_distance *v,
                          struct err *err)
{
    *v = (struct row_distance){ .kind = NULL };
    if (j >= d->table->ncols || kind_of(&d->table->col[j])->distance == NULL)
        return err_set(err, ST_NOT_FOUND, "no input is of a kind whose rows are compared by parts");
    v->c = &d->table->col[j];
    v->kind = kind_of(v->c);
    enum status rc = dataset_rows(d, PART_TRAIN, &v->train, &v->ntrain, err);
    if (rc == ST_OK && v->ntrain == 0)
        rc = err_set(err, ST_STATE, "there are no training rows");
    if (rc == ST_OK)
        rc = v->kind->distance->open(v, err);
    if (rc != ST_OK)
        distance_close(v);
    return rc;
}

void distance_close(struct row_distance *v)
{
    if (v->own != NULL)
        v->kind->distance->close(v->own);
    free(v->train);
    *v = (struct row_distance){ .kind = NULL };
}

size_t distance_of(const struct row_distance *v, size_t row)
{
    const struct distance_ops *ops = v->kind->distance;

    return v->related ? ops->changes(v, row) : ops->nearest(v, row);
}

static int by_size(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* The median distance of an evenly spaced sample of rows to their nearest training rows. */
static size_t median_nearest(const struct row_distance *v, const size_t *row, size_t n,
                             size_t *room)
{
    const size_t m = n < v->affordable ? n : v->affordable;
    size_t got = 0;

    for (size_t i = 0; i < m; i++) {
        const size_t d = v->kind->distance->nearest(
            v, row[(size_t)((double)i * (double)n / (double)m)]);
        if (d != SIZE_MAX)
            room[got++] = d;
    }
    qsort(room, got, sizeof *room, by_size);
    return got ? room[got / 2] : 0;
}

/* If a sample is divided at random into two parts, one row in a hundred lies beyond 99 % of the
 * other part. */
static bool are_same(const struct row_drift *l)
{
    const double near = (double)l->nearest, own = fmax(1.0, (double)l->train_nearest);

    return near <= 1.5 * own && !(l->related && l->beyond > 0.1);
}

enum status distance_drift(const struct dataset *d, size_t column, const size_t *row, size_t n,
                           struct row_drift *look, struct err *err)
{
    struct row_distance v;

    enum status rc = distance_open(d, column, &v, err);
    if (rc != ST_OK)
        return rc;
    const size_t most = v.affordable > SAMPLE_MOST ? v.affordable : SAMPLE_MOST;
    size_t *room = mem_calloc(n > most ? n : most, sizeof *room, "parts that differ", err),
           beyond = 0;
    if (room == NULL) {
        distance_close(&v);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        room[i] = v.kind->distance->changes(&v, row[i]);
        beyond += room[i] > v.q99;
    }
    qsort(room, n, sizeof *room, by_size);
    *look = (struct row_drift){ .column = v.c->name,
                                .related = v.related,
                                .median = room[n / 2],
                                .most = room[n - 1],
                                .train_median = v.median,
                                .train_most = v.most,
                                .beyond = (double)beyond / (double)n,
                                .part = v.kind->part };
    look->nearest = median_nearest(&v, row, n, room);
    look->train_nearest = median_nearest(&v, v.train, v.ntrain, room);
    look->same = are_same(look);
    free(room);
    distance_close(&v);
    return ST_OK;
}
