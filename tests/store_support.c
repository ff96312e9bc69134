/* tests/store_support.c -- see store_support.h. */
#include "store_support.h"

#include "app/commands/app.h"
#include "app/shell/options.h"
#include "app/session/store.h"
#include "app/core/workspace_exec.h"

#include <stdio.h>
#include <stdlib.h>

static void keep(void *ctx, const struct rec *r)
{
    struct desk *d = ctx;

    if (r->type == REC_TICK || r->type == REC_RESULT)
        return;
    buf_printf(&d->said, "%s[%s]: %s\n", rec_type_name(r->type), r->name, buf_str(&r->text));
}

enum status desk_open(struct desk *d, const char *session, struct err *err)
{
    struct options opt;

    *d = (struct desk){ 0 };
    options_default(&opt);
    opt.threads = 1;
    opt.seed = 7;
    opt.mem = (size_t)512 << 20;
    d->ws = app_workspace(&opt, err);
    if (!d->ws) {
        fprintf(stderr, "no workspace: %s\n", err->msg);
        abort();
    }
    d->sink = (struct sink){ .take = keep, .ctx = d };
    d->ws->sinks = &d->sink;
    return session ? store_open(d->ws, session, err) : ST_OK;
}

void desk_close(struct desk *d)
{
    workspace_free(d->ws);
    buf_free(&d->said);
    d->ws = NULL;
}

bool desk_run(struct desk *d, const char *line)
{
    const size_t before = d->ws->errors;

    workspace_exec(d->ws, line);
    workspace_drain(d->ws);
    return d->ws->errors == before;
}
