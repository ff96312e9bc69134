/* app/runs/bo/bo_figure.c -- the plot bo: the best value so far against measurements and against
 * seconds, a curve for each contender over its seeds.  See bo_impl.h. */
#include "app/runs/bo/bo_impl.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A contender at each round: means over the seeds that have reached it, and one standard error to
 * each side. */
struct curve {
    double *measured, *seconds, *mean, *lo, *hi;
    size_t n, seeds; /* rounds that some seed has reached; seeds that have ended */
};

/* The seeds of a contender in order: rounds of one seed follow one another. */
static void fill(const struct bo *g, size_t who, struct curve *c)
{
    double total = 0.0;

    for (size_t r = 0; r <= g->rounds; r++) {
        size_t seeds = 0;
        double sum = 0.0, squares = 0.0, seconds = 0.0, measured = 0.0;
        for (size_t i = 0; i < g->told; i++) {
            const struct bo_round *at = &g->at[i];
            if (at->who != who || at->round != r)
                continue;
            seeds++;
            sum += at->best;
            seconds += at->seconds;
            measured += (double)at->measured;
        }
        if (seeds == 0)
            return;
        c->mean[r] = sum / (double)seeds;
        for (size_t i = 0; i < g->told; i++)
            if (g->at[i].who == who && g->at[i].round == r)
                squares += (g->at[i].best - c->mean[r]) * (g->at[i].best - c->mean[r]);
        const double se =
            seeds > 1 ? sqrt(squares / (double)(seeds * (seeds - 1))) : 0.0;
        c->lo[r] = c->mean[r] - se;
        c->hi[r] = c->mean[r] + se;
        total += seconds / (double)seeds;
        c->seconds[r] = total;
        c->measured[r] = measured / (double)seeds;
        c->seeds = seeds;
        c->n = r + 1;
    }
}

static bool curve_make(const struct bo *g, struct curve *c, struct err *err)
{
    double *room = mem_calloc(5 * (g->rounds + 1), sizeof *room, "a plot", err);

    *c = (struct curve){ .measured = room };
    if (!room)
        return false;
    c->seconds = room + (g->rounds + 1);
    c->mean = c->seconds + (g->rounds + 1);
    c->lo = c->mean + (g->rounds + 1);
    c->hi = c->lo + (g->rounds + 1);
    return true;
}

static bool draw_curve(struct figure *f, const struct curve *c, bool seconds, const char *title,
                       int color, struct err *err)
{
    const double *x = seconds ? c->seconds : c->measured;
    struct series *s = NULL;

    if (c->n == 0)
        return true;
    if (!seconds && c->seeds > 1) {
        s = figure_add_band(f, NULL, c->n, x, c->lo, c->hi, err);
        if (!s)
            return false;
        s->color = color;
    }
    s = figure_add(f, title, MARK_LINEPOINTS, c->n, x, c->mean, err);
    if (s)
        s->color = color;
    return s != NULL;
}

/* The contender whose mean is the best at the end. */
static bool verdict(struct figure *f, const struct bo *g, const struct curve *c, struct err *err)
{
    size_t best = SIZE_MAX, random = SIZE_MAX;
    struct buf words = { 0 };
    char a[32], b[32];

    for (size_t i = 0; i < g->nwho; i++) {
        if (c[i].n == 0)
            continue;
        if (g->who[i].rule < 0)
            random = i;
        if (best == SIZE_MAX || bo_rounds_utility(g, c[i].mean[c[i].n - 1]) >
                                    bo_rounds_utility(g, c[best].mean[c[best].n - 1]))
            best = i;
    }
    if (best == SIZE_MAX)
        return true;
    const struct curve *w = &c[best];
    text_number(a, sizeof a, w->mean[w->n - 1]);
    text_number(b, sizeof b, w->mean[0]);
    buf_printf(&words, "%s%s%s: best %s after %.0f measurements, from %s", g->who[best].word,
               *g->who[best].solver ? " " : "", g->who[best].solver, a, w->measured[w->n - 1], b);
    if (random != SIZE_MAX && random != best) {
        text_number(a, sizeof a, c[random].mean[c[random].n - 1]);
        buf_printf(&words, "; at random %s", a);
    }
    if (w->seeds > 1)
        buf_printf(&words, " (means of %zu seeds)", w->seeds);
    const bool ok = !words.failed && figure_verdict(f, err, "%s", buf_str(&words)) == ST_OK;
    buf_free(&words);
    return ok;
}

static struct figure *panel(const struct bo *g, const struct curve *c, bool seconds,
                            struct err *err)
{
    struct figure *f = figure_new("bo", seconds ? "against time" : "Best measured value", err);
    bool ok = f && figure_label(f, seconds ? "seconds" : "measurements", "best so far", err) ==
                       ST_OK;

    for (size_t i = 0; ok && i < g->nwho; i++) {
        char title[2 * BO_WORD + 2];
        snprintf(title, sizeof title, "%s%s%s", g->who[i].word, *g->who[i].solver ? " " : "",
                 g->who[i].solver);
        ok = draw_curve(f, &c[i], seconds, seconds ? NULL : title, (int)i, err);
    }
    if (ok && !seconds)
        ok = verdict(f, g, c, err);
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}

struct figure *bo_figure(const struct bo *g, struct err *err)
{
    struct curve c[BO_CONTENDERS_MOST] = { { .n = 0 } };
    struct figure *f = NULL;
    bool ok = true;

    for (size_t i = 0; ok && i < g->nwho; i++) {
        ok = curve_make(g, &c[i], err);
        if (ok)
            fill(g, i, &c[i]);
    }
    f = ok ? panel(g, c, false, err) : NULL;
    if (f) {
        f->next = panel(g, c, true, err);
        f->across = 2;
    }
    if (f && !f->next) {
        figure_free(f);
        f = NULL;
    }
    for (size_t i = 0; i < g->nwho; i++)
        free(c[i].measured);
    return f;
}
