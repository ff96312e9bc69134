/* compute/kernels/layers/layer.c -- the registry of layers. */
#include "compute/kernels/layers/layer.h"

#include "compute/features/featmap.h"

#include <string.h>

#define LAYER_ADDRESS(name) &name,
static const struct layer_ops *const layers[] = { LAYER_ROWS(LAYER_ADDRESS) };
#undef LAYER_ADDRESS

const struct layer_ops *layer_at(size_t i)
{
    return i < sizeof layers / sizeof layers[0] ? layers[i] : NULL;
}

const struct layer_ops *layer_find(const char *name)
{
    for (size_t i = 0; layer_at(i); i++)
        if (strcmp(layer_at(i)->name, name) == 0)
            return layer_at(i);
    return NULL;
}

const char *layer_width_name(const struct layer_ops *ops)
{
    for (const struct layer_setting *s = ops ? ops->settings : NULL; s && s->name; s++)
        if (s->offset == offsetof(struct layer, width))
            return s->name;
    return NULL;
}

size_t layer_words_recipe(const double *params, bool alone, struct fm_step *out)
{
    (void)params, (void)alone;
    out[0] = (struct fm_step){ .op = FM_WORDS };
    return 1;
}
