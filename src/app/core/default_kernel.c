/* app/core/default_kernel.c -- see default_kernel.h. */
#include "app/core/default_kernel.h"

#include "app/core/ws_tell.h"
#include "base/text.h"
#include "data/kinds/kind.h"

#include <string.h>

static const char usual[] = "matern(nu=5/2)", similarity[] = "tanimoto";

/* What the inputs of the current dataset are. */
struct inputs {
    size_t counts, others;
    const struct column *of; /* the last column of counts or molecules */
};

static struct inputs inputs_of(struct workspace *ws)
{
    const struct dataset *d = ws->cur < ws->ndata ? ws->data[ws->cur] : NULL;
    struct inputs in = { 0 };

    for (size_t j = 0; d && j < d->table->ncols; j++) {
        if (d->role[j] != ROLE_INPUT)
            continue;
        if (kind_of(&d->table->col[j])->rows & ROWS_COUNTS) {
            in.counts++;
            in.of = &d->table->col[j];
        } else {
            in.others++;
        }
    }
    return in;
}

static enum status take(struct workspace *ws, const char *text, struct err *err)
{
    double set[KERNEL_MAX_HP];
    struct kernel k;
    enum status rc = kernel_parse(text, &k, set, err);

    if (rc == ST_OK)
        ws_kernel_take(ws, &k, set);
    memset(ws->hp_bound, 0, sizeof ws->hp_bound);
    ws->kernel_chosen = false;
    return rc;
}

enum status default_kernel_take(struct workspace *ws, struct err *err)
{
    enum status rc = take(ws, usual, NULL);

    ws->amplitude = 1.0;
    ws->noise = 0.1;
    return rc == ST_OK ? rc : take(ws, "rbf", err);
}

static bool is_now(const struct workspace *ws, const char *text)
{
    struct buf now = { 0 };

    kernel_print(&ws->kernel, &now);
    const bool same = strcmp(buf_str(&now), text) == 0;
    buf_free(&now);
    return same;
}

void default_kernel_follow(struct workspace *ws)
{
    if (ws->kernel_chosen || ws->cur >= ws->ndata)
        return;
    const struct inputs in = inputs_of(ws);
    const bool alone = in.counts == 1 && in.others == 0;
    if (alone == is_now(ws, similarity) || take(ws, alone ? similarity : usual, NULL) != ST_OK)
        return;
    if (alone)
        ws_tell(ws, REC_NOTE, NULL, "default-kernel", "kernel rbf",
                "the inputs are counts alone, so the kernel is %s until you choose one",
                similarity);
    else
        ws_tell(ws, REC_NOTE, NULL, "default-kernel", "kernel rbf",
                "the inputs are no longer counts alone, so the kernel is %s until you choose one",
                usual);
}
