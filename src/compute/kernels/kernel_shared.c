/* compute/kernels/kernel_shared.c -- parts that several kernels share: the lengthscale, and the
 * steps of a structured Gaussian projection (share/doc/methods.md 3.2). */
#include "compute/kernels/kernels.h"

#include "compute/features/featmap.h"

const struct hparam kernel_lengthscale[] = {
    { "lengthscale", "standard deviations of the inputs", 1e-2, 1e3, 1.0,
      "distance over which the function changes; l for short" },
    { 0 },
};

/* Three times random signs and a Hadamard transform, each orthogonal up to a scale, then the row
 * lengths (SORF; Yu et al. 2016).  The factors 1/sqrt(D) are folded into the lengths. */
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
