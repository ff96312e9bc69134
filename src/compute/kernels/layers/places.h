/* compute/kernels/layers/places.h -- a row of counts (ROWS_COUNTS, layer.h): how many places it
 * has, then each place, in ascending order, with its value.  What reads counts reads them here. */
#ifndef GPDESK_PLACES_H
#define GPDESK_PLACES_H

#include "compute/kernels/layers/layer.h"

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

#endif
