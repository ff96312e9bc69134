/* compute/models/sparse_level.c -- see sparse_level.h. */
#include "compute/models/sparse_level.h"

#include "base/mem.h"

#include <stdlib.h>

struct tuning_sizes sparse_level_sizes(size_t n, size_t rows, size_t most)
{
    if (rows == 0)
        rows = most;
    return (struct tuning_sizes){ .rows = rows < n ? rows : n, .cols = 1, .all_cols = 1,
                                  .all_rows = n };
}

struct sparse_level *sparse_level_open(struct tuning_level *l, struct err *err)
{
    struct sparse_level *h = l->held = mem_calloc(1, sizeof *h, "the inducing points", err);

    if (h == NULL)
        return NULL;
    h->X = exact_inputs(l->src, err);
    if (h->X != NULL)
        return h;
    sparse_level_close(l);
    return NULL;
}

void sparse_level_close(struct tuning_level *l)
{
    struct sparse_level *h = l->held;

    if (h == NULL)
        return;
    select_points_free(&h->points);
    free(h->X);
    free(h);
    l->held = NULL;
}

struct columns_of sparse_level_rows(const struct tuning_level *l, const double *hp)
{
    const struct sparse_level *h = l->held;

    return (struct columns_of){ .k = l->task->kernel, .hp = hp, .X = h->X, .n = l->n,
                                .d = l->src->d, .row_scale = l->src->row_scale,
                                .pool = l->task->on.pool };
}
