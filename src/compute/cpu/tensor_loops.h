/* compute/cpu/tensor_loops.h -- sparse circular convolutions (features/tensor.h): the loop of each
 * vector level. */
#ifndef GPDESK_TENSOR_LOOPS_H
#define GPDESK_TENSOR_LOOPS_H

#include <stddef.h>
#include <stdint.h>

struct tensor_loops {
    /* out[b] <- sum over i < n of value[i] in[at[i] + b], b < m; in has 2 m numbers, at[i] is at
     * most m. */
    void (*fold)(size_t m, size_t n, const uint32_t *at, const double *value, const double *in,
                 double *out);
};

#endif
