/* compute/cpu/backend_windows.h -- rows of sequences for the CPU backend: z(S) = c sum_a
 * z0(window_a) (share/doc/methods.md 4.1).
 *
 * Rows of a tile that agree in a window (mutants of one protein agree in most) share its features:
 * at each position the distinct windows are found, made in vector lanes, and added to the rows that
 * have them.  The sum of a row takes its windows in order, so that its bits do not depend on its
 * neighbours. */
#ifndef GPDESK_BACKEND_WINDOWS_H
#define GPDESK_BACKEND_WINDOWS_H

#include "compute/cpu/backend_steps.h"
#include "compute/cpu/simd.h"

enum { WINDOWS_ROWS_MOST = 128 };

/* A term over windows.  term, term64: prepared for real and for float64 (plain chains); dense: its
 * filters in float32, rows of windows_filter_ld, each divided by pi (dense filters), or NULL.
 * room: workspace of one thread for tiles of up to `rows` rows of d numbers, windows_room bytes
 * aligned to a cache line; scratch: that of the loops and of backend_steps.h. */
struct windows {
    const struct fm_term *t;
    const struct simd *simd;
    const struct simd_term *term, *term64;
    const float *dense;
    const struct steps *steps;
    const double *hp;
    void *room, *scratch;
    size_t rows, d;
    /* Signs of a hash: the bits of all rows (cpu_bits.c), and which row is the first; else NULL. */
    const uint64_t *bits;
    size_t words, row;
};
/* The dense filters of a term in float32; the caller frees them.  NULL and *err: no memory. */
float *windows_filters(const struct fm_term *, struct err *err);
/* Bytes of room for windows_columns and windows_slopes; with `back` for windows_back, too. */
size_t windows_room(const struct windows *, size_t rows, size_t d, bool back);
/* The derivatives in log l of the columns of t, which is not a product, for up to `rows` <=
 * WINDOWS_ROWS_MOST whole rows, times `out` and the factor of each row; z: row-major, in the
 * precision of real. */
void windows_slopes(const struct windows *, const struct simd_real *, const struct simd_inputs *,
                    double out, void *z, size_t ldz);
/* All columns of any term over windows for such rows, times `out`. */
void windows_columns(const struct windows *, const struct simd_real *, const struct simd_inputs *,
                     double out, void *z, size_t ldz);
/* grad[i] += sum of B o dZ / dlog hp[i] over these rows, but for weights. */
void windows_back(const struct windows *, const struct simd_inputs *, double out,
                  const struct steps_back *, double *grad);

#endif
