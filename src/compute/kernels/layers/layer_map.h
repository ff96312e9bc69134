/* compute/kernels/layers/layer_map.h -- a layer that turns a sequence into numbers (LAYER_NUMBERS),
 * drawn at a seed.  It has no hyperparameters: it is made once, before anything is fitted. */
#ifndef GPDESK_LAYER_MAP_H
#define GPDESK_LAYER_MAP_H

#include "compute/kernels/layers/layer.h"

struct layer_map;

/* The same layer, rows and seed give the same numbers.  NULL and *err on failure; free with
 * layer_map_free. */
struct layer_map *layer_map_new(const struct layer *, uint64_t seed, struct err *err);
void layer_map_free(struct layer_map *); /* NULL is fine */
/* Remembers this row (source.h): rows with the same windows at the same positions then cost less.
 * The numbers of no row change. */
enum status layer_map_refer(struct layer_map *, const double *row, struct err *err);
/* numbers <- layer.filters numbers; zeros for a row shorter than a window.  Thread-safe. */
enum status layer_map_apply(const struct layer_map *, const double *row, double *numbers,
                            struct err *err);

#endif
