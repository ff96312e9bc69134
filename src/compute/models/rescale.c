/* compute/models/rescale.c -- the table of rules for amplitude and noise. */
#include "compute/models/rescale.h"

#include <string.h>

#define RESCALE_ROW(word, ratio, scale, title) { word, ratio, scale, title }
#define RESCALE_COMMA ,
static const struct rescale table[] = { RESCALE_TABLE(RESCALE_ROW, RESCALE_COMMA) };
enum { ROWS = sizeof table / sizeof table[0] };

const struct rescale *rescale_at_for_tests(size_t i)
{
    return i < ROWS ? &table[i] : NULL;
}

const struct rescale *rescale_find(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

void rescale_apply(const struct rescale *r, struct fit_opts *o)
{
    o->keep_scale = r->scale == SCALE_GIVEN;
    o->keep_ratio = !r->ratio;
    o->scale = r->scale;
}

const struct rescale *rescale_of(const struct fit_opts *o)
{
    for (size_t i = 0; i < ROWS; i++)
        if (o->keep_scale ? table[i].scale == SCALE_GIVEN
                          : table[i].scale == o->scale && table[i].ratio == !o->keep_ratio)
            return &table[i];
    return &table[ROWS - 1];
}
