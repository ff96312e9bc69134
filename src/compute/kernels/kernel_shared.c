/* compute/kernels/kernel_shared.c -- what the files of the kernels have in common: their
 * lengthscale, and the steps of a structured Gaussian projection. */
#include "compute/kernels/kernels.h"

#include "compute/features/featmap.h"

const struct hparam kernel_lengthscale[] = {
    { "lengthscale", "standard deviations of the inputs", 1e-2, 1e3, 1.0,
      "distance over which the function changes; l for short" },
    { 0 },
};

/* Three times signs and a Hadamard transform, then the row lengths (Yu et al. 2016, SORF). */
size_t kernel_gaussian_steps(struct fm_step *out)
{
    size_t n = 0;

    for (size_t q = 0; q < 3; q++) {
        out[n++] = (struct fm_step){ .op = FM_SIGN, .index = q };
        out[n++] = (struct fm_step){ .op = FM_FHT };
    }
    out[n++] = (struct fm_step){ .op = FM_SCALE, .index = 0 };
    return n;
}
