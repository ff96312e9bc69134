/* app/core/kept.c -- see kept.h. */
#include "app/core/kept.h"

#include "app/core/workspace.h"
#include "app/core/ws_screen.h"
#include "app/core/ws_tell.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct kept { struct figure **v; size_t n, cap; };

static void *make(struct err *err)
{
    return mem_calloc(1, sizeof(struct kept), "the workspace", err);
}

static void state_free(void *state)
{
    struct kept *k = state;

    for (size_t i = 0; i < k->n; i++)
        figure_free(k->v[i]);
    free(k->v);
    free(k);
}

const struct owner kept_owner = { .name = "figures", .make = make, .free = state_free };

static struct figure **find(const struct kept *k, const char *name)
{
    for (size_t i = 0; k && i < k->n; i++)
        if (!strcmp(k->v[i]->name, name))
            return &k->v[i];
    return NULL;
}

enum status kept_take(struct workspace *ws, struct figure *f, struct err *err)
{
    struct kept *k = owner_state(ws, &kept_owner);
    struct figure **at = find(k, f->name);

    ws->serial++;
    if (at) {
        figure_free(*at);
        *at = f;
        return ST_OK;
    }
    if (!k || mem_grow((void **)&k->v, &k->cap, k->n + 1, sizeof *k->v, "a plot", err) != ST_OK) {
        figure_free(f);
        return k ? err->code : err_nomem(err, 0, "a plot");
    }
    k->v[k->n++] = f;
    return ST_OK;
}

struct figure *kept_copy(struct workspace *ws, const char *name, const char *reason,
                         struct err *err)
{
    struct figure **at = find(owner_state(ws, &kept_owner), name);

    return at ? figure_copy(*at, err) : figure_empty(name, reason, err);
}

void kept_job_done(struct workspace *ws, struct job *job, enum status rc, const struct err *why,
                   const struct kept_end *end, const char *run)
{
    struct err err = *why;

    if (rc == ST_OK && job->discard)
        rc = ST_CANCELLED;
    if (rc == ST_CANCELLED) {
        ws_note(ws, "stopped", "%s was stopped before there was a result", end->verb);
        ws->unconverged = true;
        return;
    }
    if (rc == ST_OK && end->draw) {
        struct figure *f = end->draw(job->arg, &err);
        rc = f ? kept_take(ws, f, &err) : err.code;
    }
    if (rc == ST_OK && end->write)
        rc = end->write(job->arg, &err);
    if (rc != ST_OK) {
        ws_error(ws, &err, job->line);
        return;
    }
    end->tell(ws, job->arg);
    if (end->view)
        ws_screen_show(ws, end->view, run);
    ws->serial++;
}
