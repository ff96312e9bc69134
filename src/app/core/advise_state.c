/* app/core/advise_state.c -- see advise_state.h. */
#include "app/core/advise_state.h"

#include <stdlib.h>

void advise_state_free(struct advise_state *s)
{
    if (!s)
        return;
    diagnose_advice_free(&s->a);
    free(s->dataset), free(s->kernel), free(s->command);
    free(s);
}

static void state_free(void *state)
{
    advise_state_free(state);
}

const struct owner advise_state_owner = { .name = "advice", .free = state_free };

struct advise_state *advise_state_of(const struct workspace *ws)
{
    return owner_state(ws, &advise_state_owner);
}
