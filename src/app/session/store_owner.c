/* app/session/store_owner.c -- what the session file does before and after every statement. */
#include "app/session/store_impl.h"

#include "app/shell/command.h"

static void close_store(void *state)
{
    store_close(state);
}

struct store *store_of(const struct workspace *ws)
{
    return owner_state(ws, &store_owner);
}

/* The changes of a statement go into one transaction. A session that the statement itself opens
 * holds nothing back, and store_release does nothing for it. */
static void begin(struct workspace *ws)
{
    store_hold(store_of(ws));
}

static void end(struct workspace *ws)
{
    store_release(store_of(ws));
}

static void ended(struct workspace *ws, const struct owner_step *step)
{
    const unsigned flags = step->cmd->flags;

    struct store *st = store_of(ws);

    if (!st)
        return;
    if (step->kept)
        store_script_from(st, step->at);
    store_command(st, args_line(step->args), step->rc, step->seconds);
    if (step->changed || flags & (CMD_CHANGES | CMD_SETS))
        store_state(st, ws);
}

static void told(struct workspace *ws, const struct rec *r)
{
    if (store_of(ws))
        store_message(store_of(ws), r);
}

static void named(struct workspace *ws, const struct run *r)
{
    if (store_of(ws))
        store_named(store_of(ws), r);
}

const struct owner store_owner = { .name = "session", .free = close_store, .begin = begin,
                                   .end = end, .ended = ended, .named = named, .told = told };
