/* app/runs/restarts.c -- several tunings from different starting points. See restarts.h. */
#include "app/runs/restarts.h"

#include "app/shell/text_table.h"
#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Nats. Optima that differ by less are treated as equal, because no choice between them matters. */
static const double SAME = 1.0;
enum { SHOWN_HP = 3 };

struct restarts {
    size_t refs, n, ended;
    char id[RESTARTS_MOST][16];
    struct err failure; /* the first failure */
};

struct restarts *restarts_new(struct err *err)
{
    struct restarts *g = mem_calloc(1, sizeof *g, "restarts", err);

    if (g)
        g->refs = 1;
    return g;
}

struct restarts *restarts_ref(struct restarts *g)
{
    if (g)
        g->refs++;
    return g;
}

void restarts_unref(struct restarts *g)
{
    if (g && --g->refs == 0)
        free(g);
}

void restarts_add(struct restarts *g, const char *run)
{
    snprintf(g->id[g->n++], sizeof g->id[0], "%s", run);
}

void restarts_ended(struct restarts *g, enum status rc, const struct err *err)
{
    g->ended++;
    if (rc != ST_OK && rc != ST_CANCELLED && g->failure.code == ST_OK && err)
        g->failure = *err;
}

bool restarts_over(const struct restarts *g)
{
    return g->ended >= g->n;
}

/* True if both runs belong to one line: those are made one after the other, so that their serials
 * are consecutive. */
static bool of_one_line(const struct run *a, const struct run *b)
{
    return a->kind == RUN_TUNE && b->kind == RUN_TUNE && a->topt.restarts > 1 &&
           a->topt.restarts == b->topt.restarts &&
           a->serial - a->topt.restart == b->serial - b->topt.restart;
}

struct run *restarts_left(struct workspace *ws, const struct run *r, size_t i)
{
    for (size_t k = 0; r && k < ws->nrun; k++) {
        struct run *o = ws->run[k];
        if ((o->state == RUN_RUNNING || o->state == RUN_QUEUED) && of_one_line(r, o) && i-- == 0)
            return o;
    }
    return NULL;
}

const struct err *restarts_failure(const struct restarts *g)
{
    return &g->failure;
}

/* The i-th run, if it has a result. */
static struct run *result_of(struct workspace *ws, const struct restarts *g, size_t i)
{
    struct run *r = ws_run(ws, g->id[i], NULL);

    return r && r->kind == RUN_TUNE && r->tune.evaluations && isfinite(r->tune.best.score) ? r
                                                                                           : NULL;
}

struct run *restarts_best(struct workspace *ws, const struct restarts *g)
{
    struct run *best = NULL;

    for (size_t i = 0; i < g->n; i++) {
        struct run *r = result_of(ws, g, i);
        if (!r)
            continue;
        const struct tune_point *p = &r->tune.best, *q = best ? &best->tune.best : NULL;
        if (!q || (p->subsampled != q->subsampled ? q->subsampled : p->score < q->score))
            best = r;
    }
    return best;
}

struct run *restarts_best_of(struct workspace *ws, const struct run *r)
{
    struct restarts g = { 0 };

    for (size_t k = 0; k < ws->nrun && g.n < RESTARTS_MOST; k++)
        if (of_one_line(r, ws->run[k]))
            restarts_add(&g, ws->run[k]->id);
    return restarts_best(ws, &g);
}

static void number(struct text_table *g, double v)
{
    char text[32] = "";

    if (isfinite(v))
        text_number(text, sizeof text, v);
    text_table_cell(g, text, 0);
}

/* By how much a run's objective ended above the best; NaN if the two cannot be compared. Says
 * whether probe estimates are precise enough to tell. */
static double above(const struct run *r, const struct run *best)
{
    return r && r->tune.best.subsampled == best->tune.best.subsampled
               ? r->tune.best.score - best->tune.best.score
               : NAN;
}

static bool tied(const struct run *r, const struct run *best)
{
    return r != best && above(r, best) < fmax(r->tune.best.se, best->tune.best.se);
}

static void row(struct text_table *g, struct rec *rec, struct workspace *ws,
                const struct restarts *all, size_t i, const struct run *best)
{
    const struct run *any = ws_run(ws, all->id[i], NULL), *r = result_of(ws, all, i);
    const size_t nhp = best->tune.nhp;

    rec_item(rec);
    rec_str(rec, "run", all->id[i]);
    rec_str(rec, "state", any ? run_state_name(any->state) : NULL);
    rec_num(rec, "evaluations", r ? (double)r->tune.evaluations : NAN);
    rec_num(rec, tune_objective_name(best->topt.objective), r ? r->tune.best.score : NAN);
    rec_num(rec, "above", above(r, best));
    rec_bool(rec, "tie", r && tied(r, best));
    rec_close(rec);
    text_table_cell(g, r == best ? "*" : "", 0);
    text_table_cell(g, all->id[i], 0);
    text_table_cell(g, any ? run_state_name(any->state) : "-", 0);
    number(g, r ? (double)r->tune.evaluations : NAN);
    for (size_t h = 0; nhp <= SHOWN_HP && h < nhp; h++)
        number(g, r ? r->tune.best.hp[h] : NAN);
    number(g, r ? r->tune.best.noise : NAN);
    number(g, r ? r->tune.best.score : NAN);
    if (r == best)
        text_table_cell(g, "", 0);
    else
        text_table_printf(g, isfinite(above(r, best)) ? "%+.2f" : "-", above(r, best));
}

static void head(struct text_table *g, const struct run *best)
{
    const size_t nhp = best->tune.nhp <= SHOWN_HP ? best->tune.nhp : 0;

    text_table_init(g, 7 + nhp);
    text_table_cell(g, "", 0);
    text_table_cell(g, "run", 0);
    text_table_cell(g, "state", 0);
    text_table_cell(g, "evaluations", 0);
    for (size_t h = 0; h < nhp; h++) {
        char name[KERNEL_NAME_MAX];
        kernel_hp_info(&best->fit.kernel, h, name, NULL);
        text_table_cell(g, name, 0);
    }
    text_table_cell(g, "noise", 0);
    text_table_cell(g, best->topt.objective == TUNE_NMLL ? "NMLL" : "score", 0);
    text_table_cell(g, "above", 0);
}

/* Says whether the other runs agree with the best one. */
static void verdict(struct rec *rec, struct workspace *ws, const struct restarts *g,
                    const struct run *best)
{
    const char *what = best->topt.objective == TUNE_NMLL ? "NMLL" : "score";
    size_t same = 0, ties = 0;

    for (size_t i = 0; i < g->n; i++) {
        const struct run *r = result_of(ws, g, i);
        same += r && r != best && above(r, best) < SAME;
        ties += r && tied(r, best);
    }
    rec_text(rec, "  %s has the least %s and is used", best->id, what);
    if (ties)
        rec_text(rec,
                 "; %zu other%s tie%s with it: the difference is within its standard error", ties,
                 ties > 1 ? "s" : "", ties > 1 ? "" : "s");
    else if (same)
        rec_text(rec, "; %zu other%s within %g nat of it", same, same > 1 ? "s are" : " is", SAME);
    else
        rec_text(rec, "; no other comes within %g nat: more restarts may find a better one", SAME);
    rec_text(rec, "\n  compare");
    for (size_t i = 0; i < g->n && i < 8; i++)
        rec_text(rec, " %s", g->id[i]);
    rec_text(rec, " shows them side by side");
}

void restarts_tell(struct workspace *ws, const struct restarts *g)
{
    static const bool right[7 + SHOWN_HP] = {false, false, false, true, true,
                                             true,  true,  true,  true, true};
    const struct run *best = restarts_best(ws, g);
    struct text_table grid;
    struct rec rec;

    if (!best)
        return;
    rec_init(&rec, REC_RESULT, "restarts");
    rec_str(&rec, "best", best->id);
    rec_str(&rec, "objective", tune_objective_name(best->topt.objective));
    rec_array(&rec, "runs");
    head(&grid, best);
    for (size_t i = 0; i < g->n; i++)
        row(&grid, &rec, ws, g, i, best);
    rec_array_close(&rec);
    text_table_print(&grid, right, &rec.text);
    text_table_free(&grid);
    verdict(&rec, ws, g, best);
    ws_emit(ws, &rec);
}
