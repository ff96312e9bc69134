/* compute/kernels/layers/layer_map.c -- calls of the map of a layer's row (layer_map.h). */
#include "compute/kernels/layers/layer_map.h"

#include "base/mem.h"

#include <stdlib.h>

struct layer_map {
    const struct layer_map_ops *ops;
    void *map; /* the layer's own */
};

struct layer_map *layer_map_new(const struct layer *l, uint64_t seed, struct err *err)
{
    struct layer_map *m = mem_calloc(1, sizeof *m, "a layer", err);

    if (!m)
        return NULL;
    m->ops = l->ops->map;
    m->map = m->ops->make(l, seed, err);
    if (m->map)
        return m;
    free(m);
    return NULL;
}

void layer_map_free(struct layer_map *m)
{
    if (m)
        m->ops->free(m->map);
    free(m);
}

enum status layer_map_refer(struct layer_map *m, const double *row, struct err *err)
{
    return m->ops->refer(m->map, row, err);
}

enum status layer_map_apply(const struct layer_map *m, const double *row, double *numbers,
                            struct err *err)
{
    return m->ops->apply(m->map, row, numbers, err);
}
