/* app/core/owner.c -- loops over the owners of state in a workspace. See owner.h. They run in the
 * order of the list; state is freed in reverse order. */
#include "app/core/owner.h"

#include "app/core/workspace.h"
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>

static size_t count(const struct workspace *ws)
{
    size_t n = 0;

    while (ws->owner && ws->owner[n])
        n++;
    return n;
}

/* Where the owner's state is kept; NULL if the owner is not in the list. */
static void **slot_of(const struct workspace *ws, const struct owner *o)
{
    for (size_t i = 0; ws->owner && ws->owner[i]; i++)
        if (ws->owner[i] == o)
            return &ws->state[i];
    return NULL;
}

void *owner_state(const struct workspace *ws, const struct owner *o)
{
    void **slot = slot_of(ws, o);

    return slot ? *slot : NULL;
}

void *owner_take(struct workspace *ws, const struct owner *o, void *state)
{
    void **slot = slot_of(ws, o), *before = slot ? *slot : state;

    if (slot)
        *slot = state;
    if (before && o->free && (!slot || before != state))
        o->free(before);
    return slot ? state : NULL;
}

void *owner_release(struct workspace *ws, const struct owner *o)
{
    void **slot = slot_of(ws, o), *state = slot ? *slot : NULL;

    if (slot)
        *slot = NULL;
    return state;
}

enum status owner_make_all(struct workspace *ws, const struct owner *const *list, struct err *err)
{
    ws->owner = list;
    const size_t n = count(ws);

    ws->state = mem_calloc(n ? n : 1, sizeof *ws->state, "the workspace", err);
    if (!ws->state) {
        ws->owner = NULL;
        return ST_NOMEM;
    }
    for (size_t i = 0; i < n; i++)
        if (list[i]->make && !(ws->state[i] = list[i]->make(err)))
            return ST_NOMEM;
    return ST_OK;
}

/* The slot is emptied before its state is freed, so that nothing can find it half freed. */
static void drop(struct workspace *ws, size_t i)
{
    void *state = owner_release(ws, ws->owner[i]);

    if (state && ws->owner[i]->free)
        ws->owner[i]->free(state);
}

void owner_clear_all(struct workspace *ws)
{
    for (size_t i = count(ws); i-- > 0;) {
        const struct owner *o = ws->owner[i];
        if (o->clear && ws->state[i]) {
            o->clear(ws->state[i]);
            continue;
        }
        drop(ws, i);
        if (o->make)
            ws->state[i] = o->make(NULL);
    }
}

void owner_free_all(struct workspace *ws)
{
    for (size_t i = count(ws); i-- > 0;)
        drop(ws, i);
    free(ws->state);
    ws->state = NULL;
    ws->owner = NULL;
}

void owner_begin_all(struct workspace *ws)
{
    for (size_t i = 0; ws->owner[i]; i++)
        if (ws->owner[i]->begin)
            ws->owner[i]->begin(ws);
}

void owner_end_all(struct workspace *ws)
{
    for (size_t i = 0; ws->owner[i]; i++)
        if (ws->owner[i]->end)
            ws->owner[i]->end(ws);
}

bool owner_changed_any(struct workspace *ws, const char *line)
{
    bool any = false;

    for (size_t i = 0; ws->owner[i]; i++)
        any |= ws->owner[i]->changed && ws->owner[i]->changed(ws, line);
    return any;
}

void owner_revert_all(struct workspace *ws)
{
    for (size_t i = 0; ws->owner[i]; i++)
        if (ws->owner[i]->revert)
            ws->owner[i]->revert(ws);
}

void owner_queued_all(struct workspace *ws, const struct args *a)
{
    for (size_t i = 0; ws->owner[i]; i++)
        if (ws->owner[i]->queued)
            ws->owner[i]->queued(ws, a);
}

size_t owner_place(const struct workspace *ws, const struct args *a)
{
    for (size_t i = 0; ws->owner[i]; i++)
        if (ws->owner[i]->place)
            return ws->owner[i]->place(ws, a);
    return ws->nscript;
}

void owner_ended_all(struct workspace *ws, const struct owner_step *step)
{
    for (size_t i = 0; ws->owner[i]; i++)
        if (ws->owner[i]->ended)
            ws->owner[i]->ended(ws, step);
}

size_t owner_shown(const struct workspace *ws)
{
    for (size_t i = 0; ws->owner[i]; i++)
        if (ws->owner[i]->shown)
            return ws->owner[i]->shown(ws);
    return SIZE_MAX;
}

bool owner_strayed_any(struct workspace *ws)
{
    bool any = false;

    for (size_t i = 0; ws->owner[i]; i++)
        any |= ws->owner[i]->strayed && ws->owner[i]->strayed(ws);
    return any;
}

void owner_named_all(struct workspace *ws, const struct run *r)
{
    for (size_t i = 0; ws->owner && ws->owner[i]; i++)
        if (ws->owner[i]->named)
            ws->owner[i]->named(ws, r);
}

void owner_pump_all(struct workspace *ws)
{
    for (size_t i = 0; ws->owner && ws->owner[i]; i++)
        if (ws->owner[i]->pump)
            ws->owner[i]->pump(ws);
}

void owner_told_all(struct workspace *ws, const struct rec *r)
{
    for (size_t i = 0; ws->owner && ws->owner[i]; i++)
        if (ws->owner[i]->told)
            ws->owner[i]->told(ws, r);
}
