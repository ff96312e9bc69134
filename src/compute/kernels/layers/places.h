/* compute/kernels/layers/places.h -- a row of counts (ROWS_COUNTS, layer.h): how many places it
 * has, then each place, in ascending order, with its value.  What reads counts reads them here. */
#ifndef GPDESK_PLACES_H
#define GPDESK_PLACES_H

#include "compute/kernels/layers/layer.h"

#include <stdlib.h>

/* x points at the counts of a row. */
static inline size_t places_count(const double *x)
{
    return (size_t)x[0];
}
static inline double places_at(const double *x, size_t i)
{
    return x[1 + i * COUNTS_CHANNELS];
}
static inline double places_value(const double *x, size_t i)
{
    return x[2 + i * COUNTS_CHANNELS];
}
static inline double places_sum(const double *x)
{
    double sum = 0.0;

    for (size_t i = 0; i < places_count(x); i++)
        sum += places_value(x, i);
    return sum;
}

/* The places that occur in rows, each with an index in the order of its first occurrence.  slot:
 * open addressing by place, the index plus 1, 0 where there is none; place: by index. */
struct places_index {
    size_t n, slots;
    uint32_t *slot, *place;
};

/* Makes room for the places of `most` counts.  False: no memory; places_index_free either way. */
static inline bool places_index_init(struct places_index *p, size_t most)
{
    *p = (struct places_index){ .slots = 64 };
    while (p->slots < 2 * most)
        p->slots *= 2;
    p->slot = calloc(p->slots, sizeof *p->slot);
    p->place = calloc(most + 1, sizeof *p->place);
    return p->slot != NULL && p->place != NULL;
}
static inline void places_index_free(struct places_index *p)
{
    free(p->slot);
    free(p->place);
}
/* Where a place is, or may be entered. */
static inline size_t places_slot(const struct places_index *p, uint32_t place)
{
    size_t s = (size_t)(place * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (p->slots - 1);

    while (p->slot[s] != 0 && p->place[p->slot[s] - 1] != place)
        s = (s + 1) & (p->slots - 1);
    return s;
}
/* The index of a place plus 1; 0: no row has it. */
static inline uint32_t places_find(const struct places_index *p, uint32_t place)
{
    return p->slot[places_slot(p, place)];
}
/* Enters the places of a row. */
static inline void places_enter(struct places_index *p, const double *x)
{
    for (size_t i = 0; i < places_count(x); i++) {
        const uint32_t place = (uint32_t)places_at(x, i);
        const size_t s = places_slot(p, place);
        if (p->slot[s] != 0)
            continue;
        p->place[p->n++] = place;
        p->slot[s] = (uint32_t)p->n;
    }
}

#endif
