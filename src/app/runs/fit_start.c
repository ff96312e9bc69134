/* app/runs/fit_start.c -- see fit_start.h. */
#include "app/runs/fit_start.h"

#include "app/core/ws_tell.h"
#include "app/runs/fitting.h"
#include "app/runs/race.h"
#include "base/text.h"
#include "data/prepare_rows.h"

#include <stdio.h>
#include <string.h>

/* True where the steps of a dataset are those of an earlier one, and then rows that were told. */
static bool rows_told(const struct dataset *was, const struct dataset *d)
{
    const char *before = was->steps ? was->steps : "", *now = d->steps ? d->steps : "";
    const size_t n = strlen(before);
    bool told = false;

    if (strcmp(was->name, d->name) != 0 || strncmp(now, before, n) != 0)
        return false;
    for (now += n; *now; now += strcspn(now, "\n")) {
        now += *now == '\n';
        if (!prepare_rows_is(now))
            return false;
        told = told || prepare_rows_adds(now);
    }
    return told;
}

static bool same_kernel(struct kernel a, struct kernel b)
{
    struct buf p = { 0 }, q = { 0 };

    kernel_unbind(&a);
    kernel_unbind(&b);
    kernel_print(&a, &p);
    kernel_print(&b, &q);
    const bool same = strcmp(buf_str(&p), buf_str(&q)) == 0;
    buf_free(&p);
    buf_free(&q);
    return same;
}

/* The last fit, if rows were told since; else NULL. */
static const struct run *told_since(struct workspace *ws, const struct dataset *d,
                                    const struct fit_opts *o)
{
    const struct run *r = *ws->last_fit ? ws_run(ws, ws->last_fit, NULL) : NULL;
    const struct model *m = r ? r->model : NULL;

    if (m == NULL || r->data == NULL || m->kind != model_kind_of(o) || !rows_told(r->data, d) ||
        m->t != dataset_targets(d) || !same_kernel(m->kernel, o->kernel))
        return NULL;
    return m->kind->draws && (m->M != o->features || m->seed != o->seed) ? NULL : r;
}

const struct model *fit_start_choose(struct workspace *ws, const struct dataset *d,
                                     const struct fit_opts *o, struct fit_start *f)
{
    const struct run *r = o->start || race_running(ws) ? NULL : told_since(ws, d, o);

    for (size_t i = 0; o->start && !r && i < ws->nrun; i++)
        if (ws->run[i]->model == o->start)
            r = ws->run[i];
    f->by_itself = r && !o->start;
    f->origin = r && r->data ? dataset_ref(r->data) : NULL;
    if (r)
        snprintf(f->id, sizeof f->id, "%s", r->id);
    return o->start ? o->start : r ? r->model : NULL;
}

void fit_start_free(struct fit_start *f)
{
    dataset_unref(f->origin);
    f->origin = NULL;
}

void fit_start_rows(const struct fit_start *f, struct encoding *enc, const struct encoded *e,
                    struct encoded *old, struct fit_opts *o)
{
    const struct model *m = o->start;

    if (m && f->by_itself && m->d != e->base.d) { /* longer sequences, or a new level */
        model_unref((struct model *)m);
        o->start = m = NULL;
    }
    if (m && f->origin && m->kind->keeps_inputs &&
        fitting_rows(f->origin, PART_TRAIN, false, enc, old, NULL, NULL) == ST_OK &&
        old->n == m->M && old->base.d == m->d)
        o->start_rows = old->x;
}

void fit_start_note(struct workspace *ws, const struct run *r, const struct fit_start *f,
                    bool given)
{
    const struct fit_info *i = &r->info;
    char where[80] = "", why[80] = "";

    if (i->start_rows)
        snprintf(where, sizeof where, " at %zu of %zu rows", i->start_rows, i->rows);
    if (f->by_itself)
        snprintf(why, sizeof why, "rows were told since %s: ", f->id);
    if (i->resumed)
        ws_tell(ws, REC_NOTE, r->id, "start", NULL,
                "%s goes on after the %zu steps made before, with their velocity and average, as "
                "if it had not been stopped", i->solver, i->resumed);
    else if (i->warm)
        ws_tell(ws, REC_NOTE, r->id, "start", NULL,
                "%sthe solver started from the %s of %s%s: its first residual is %.2g instead of 1",
                why, i->projected ? "predictions" : "weights", *f->id ? f->id : "the given run",
                where, i->start_residual);
    else if (given && !f->by_itself)
        ws_tell(ws, REC_NOTE, r->id, "start", "fit solver=pcg",
                "a direct solve needs no start, so the given run was not used");
}
