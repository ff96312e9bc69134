/* app/session/store_gate.c -- lines of a batch wait for the disk. See store_gate.h. */
#include "app/session/store_gate.h"

#include "app/core/workspace.h"
#include "app/session/store_impl.h"

static uint64_t ticket_of(void *ctx)
{
    const struct store *st = store_of(ctx);

    return st ? store_ticket(st) : 0;
}

/* Writes the lines whose records are on disk; if nothing can be saved, writes all of them. */
static void pump(struct workspace *ws)
{
    struct rec_writer *w = owner_state(ws, &store_gate_owner);
    struct store *st = store_of(ws);

    if (!w)
        return;
    if (st)
        store_mend(st);
    if (st && !*store_trouble(st)) {
        rec_writer_release(w, store_durable(st));
        return;
    }
    if (st) {
        rec_writer_hold(w, NULL, NULL); /* the warning comes first */
        store_tell_trouble(st);
        rec_writer_hold(w, ticket_of, ws);
    }
    rec_writer_release(w, UINT64_MAX);
}

void store_gate_release(struct workspace *ws)
{
    struct rec_writer *w = owner_state(ws, &store_gate_owner);

    if (w)
        rec_writer_release(w, UINT64_MAX);
}

/* Another session is being opened; the lines belong to the batch and stay. */
static void clear(void *state)
{
    (void)state;
}

const struct owner store_gate_owner = { .name = "gate", .clear = clear, .pump = pump };

void store_gate_open(struct workspace *ws, struct rec_writer *w)
{
    if (owner_take(ws, &store_gate_owner, w))
        rec_writer_hold(w, ticket_of, ws);
}

void store_gate_end(struct workspace *ws)
{
    struct rec_writer *w = owner_release(ws, &store_gate_owner);

    if (!w)
        return;
    rec_writer_hold(w, NULL, NULL);
    rec_writer_release(w, UINT64_MAX);
}
