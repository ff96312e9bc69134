/* app/runs/scoring/map_unseen.c -- see map_unseen.h. */
#include "app/runs/scoring/map_unseen.h"

#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "compute/likelihood/held.h"
#include "compute/likelihood/likelihood.h"

#include <stdlib.h>

/* softmax and discriminant search by rows left out. */
static bool searches(const struct fit_opts *o)
{
    return kernel_learns(&o->kernel) && o->likelihood && o->likelihood->several &&
           !o->keep_scale && model_kind_of(o)->point;
}

void map_unseen_look(const struct workspace *ws, const struct fit_opts *o, struct map_unseen *u)
{
    *u = (struct map_unseen){ .wanted = searches(o) };
    for (size_t i = u->wanted ? ws->nrun : 0; i-- > 0;) {
        const struct run *t = ws->run[i];
        if (t->kind != RUN_TUNE || !kernel_learned_same(&t->fit.kernel, &o->kernel))
            continue;
        if (t->topt.before == 0) /* what one that goes on keeps aside, the one before has seen */
            u->by = (struct tune_opts){ .seed = t->topt.seed, .restart = t->topt.restart,
                                        .stop_valid = t->topt.stop_valid,
                                        .dealt = t->topt.dealt };
        return;
    }
}

enum status map_unseen_rows(struct map_unseen *u, const struct encoded *e, struct fit_opts *o,
                            struct err *err)
{
    if (!u->wanted || u->by.dealt == 0 || u->by.dealt != learn_mark(e->row, e->n))
        return ST_OK;
    free(u->row);
    u->row = mem_calloc(e->n + 1, sizeof *u->row, "order of rows", err);
    if (u->row == NULL)
        return ST_NOMEM;
    u->by.labels = o->labels;
    u->n = learn_aside(&u->by, e->n, u->row);
    u->n = u->n < HELD_UNSEEN_LEAST ? 0 : u->n;
    o->unseen = u->n ? u->row : NULL;
    o->nunseen = u->n;
    return ST_OK;
}

enum status map_unseen_again(struct map_unseen *u, const struct tune_opts *by,
                             const struct encoded *e, struct fit_opts *o, struct err *err)
{
    u->wanted = searches(o);
    u->by = (struct tune_opts){ .seed = by->seed, .restart = by->restart,
                                .stop_valid = by->stop_valid, .dealt = learn_mark(e->row, e->n) };
    return map_unseen_rows(u, e, o, err);
}

void map_unseen_note(struct workspace *ws, const struct run *r, const struct map_unseen *u)
{
    if (u->wanted && u->n == 0)
        ws_tell(ws, REC_NOTE, r->id, "seen", r->data && r->data->split.count[PART_VALID]
                    ? "calibrate on=valid"
                    : "split test=20% valid=10%, then tune, fit and calibrate on=valid",
                "the amplitude is chosen by left-out rows, but the map was trained on these, too: "
                "the probabilities may be too sure");
    else if (u->wanted)
        ws_tell(ws, REC_NOTE, r->id, "aside", "fit amplitude=3",
                "the amplitude is chosen by the %zu rows that the training of the map kept aside",
                u->n);
}

void map_unseen_free(struct map_unseen *u)
{
    free(u->row);
    u->row = NULL;
}
