/* app/session/store_owner.c -- the part that the session file takes in every statement. */
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

/* What a statement changes goes into one transaction.  A session that was opened by the statement
 * itself holds nothing back, and store_release of it does nothing. */
static void begin(struct workspace *ws)
{
    store_hold(store_of(ws));
}

static void end(struct workspace *ws)
{
    store_release(store_of(ws));
}

/* Who works at the keyboard without a session gets one: nothing is lost. */
static void begin_session(struct workspace *ws)
{
    struct err err = { 0 };

    if (store_begin(ws, &err) == ST_OK) {
        ws_note(ws, "session", "saved as you work in %s", store_shown(store_of(ws)));
    } else {
        ws->no_session = true; /* said once */
        ws_tell(ws, REC_WARNING, NULL, "session", "save FILE", "this work is not being saved: %s",
                err.msg);
    }
}

static void ended(struct workspace *ws, const struct owner_step *step)
{
    const unsigned flags = step->cmd->flags;

    if (step->kept && store_of(ws))
        store_script_from(store_of(ws), step->at);
    if (!store_of(ws) && ws->interactive && !ws->no_session && step->rc == ST_OK &&
        flags & CMD_CHANGES)
        begin_session(ws);
    struct store *st = store_of(ws);
    if (!st)
        return;
    store_command(st, args_line(step->args), step->rc, step->seconds);
    if (step->changed || flags & (CMD_CHANGES | CMD_SETS))
        store_state(st, ws);
}

static void told(struct workspace *ws, const struct rec *r)
{
    if (store_of(ws))
        store_message(store_of(ws), r);
}

const struct owner store_owner = { .name = "session", .free = close_store, .begin = begin,
                                   .end = end, .ended = ended, .told = told };
