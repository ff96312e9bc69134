/* compute/kernels/kernel_tile.h -- the values of a kernel expression at many pairs of rows: up to
 * KERNEL_TILE rows are prepared together, and others are compared with all of them at once.  The
 * values are those of kernel_exact, bit for bit (of kernels that learn, whose features are in
 * single precision, up to its rounding). */
#ifndef GPDESK_KERNEL_TILE_H
#define GPDESK_KERNEL_TILE_H

#include "compute/kernels/kernel.h"

enum { KERNEL_TILE = 64 };
struct kernel_tile;
/* True if some kernel of the expression has loops over tiles.  Without any a tile is no faster than
 * kernel_exact. */
bool kernel_tile_has(const struct kernel *);
/* Prepares `rows` rows of Y, ldy apart, with d inputs.  Everything is borrowed.  Where memory is
 * short it computes pair by pair; NULL: not even that. */
struct kernel_tile *kernel_tile_new(const struct kernel *, const double *hp, size_t d, size_t rows,
                                    const double *Y, size_t ldy);
void kernel_tile_free(struct kernel_tile *); /* NULL is fine */
/* out[i + j * ld] <- k(row i of X, row j of the tile) for m rows of X, ldx apart. */
void kernel_tile_values(const struct kernel_tile *, size_t m, const double *X, size_t ldx,
                        double *out, size_t ld);

#endif
