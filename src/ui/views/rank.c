/* ui/views/rank.c -- view 5: what a fit costs by rank, as advised and as taken; or its spectrum. */
#include "ui/view.h"

#include "app/advise.h"
#include "app/spectral.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct rank_state { int x, y; bool spectrum; };

static const char *shown(const struct view *v)
{
    const struct rank_state *s = v->state;
    return s->spectrum ? "spectrum" : "rank";
}

void rank_show(struct view *v, const char *plot)
{
    struct rank_state *s = v->state;
    s->spectrum = strcmp(plot, "spectrum") == 0;
}

static void rank_draw(struct view *v, const struct canvas *c)
{
    const struct rank_state *s = v->state;
    struct desk *d = v->desk;
    const struct advise_state *a = d->ws->advice;
    const struct spectral_state *p = d->ws->spectral;
    const bool have = s->spectrum ? p && p->have : a && a->have;

    if (!have) {
        draw_paragraph(c, 1, 2, theme_attr(R_DIM),
                       s->spectrum ? "No spectrum yet. Type  spectrum  for the eigenvalues of the last "
                                     "fit's system, or of the fit to come; r shows the ranks."
                                   : "No advice yet. Type  advise  for what a fit will cost at each "
                                     "rank, before it; s shows the spectrum.");
        return;
    }
    struct plot_request q = { d, shown(v), NULL, s->x, s->y, false };
    const uint64_t what = 5 + (uint64_t)s->spectrum * 16 + (uint64_t)(s->x * 4 + s->y) * 64;
    plotpane_draw(v->plot, c, what, d->ws->serial, plot_request_make, &q, desk_now());
}

static bool rank_key(struct view *v, int key)
{
    struct rank_state *s = v->state;
    char line[80];

    if (axis_key(v, key, &s->x, &s->y))
        return true;
    switch (key) {
    case 'r': s->spectrum = false; return true;
    case 's': s->spectrum = true; return true;
    case 'a': desk_prompt(v->desk, "advise "); return true;
    case 'd': desk_execf(v->desk, "describe %s", shown(v)); return true;
    case 'p':
        snprintf(line, sizeof line, "plot %s out=%s.svg", shown(v), shown(v));
        desk_prompt(v->desk, line);
        return true;
    default: return false;
    }
}

static void rank_title(struct view *v, struct buf *b)
{
    const struct rank_state *s = v->state;
    const struct spectral_state *p = v->desk->ws->spectral;
    const struct advise_state *a = v->desk->ws->advice;

    if (s->spectrum && p && p->have)
        buf_printf(b, ": spectrum of %s", p->run[0] ? p->run : "the fit to come");
    else if (!s->spectrum && a && a->have)
        buf_printf(b, ": %zu features", a->features);
}

static const struct keyhelp keys[] = {
    { "r s", "iterations and seconds by rank; the spectrum" },
    { "a", "put advise on the prompt" },
    { "x y X", "logarithmic or linear axes; as they were" },
    { "d", "the plot in words (runs: describe rank)" },
    { "p", "put an export on the prompt (plot ... out=FILE.svg)" },
    { NULL, NULL }
};
const struct view_ops view_rank = {
    '5', "Rank", "Rank",
    "What advise expects of a fit at each rank of its preconditioner: iterations with their range, and "
    "seconds to build and solve; fits that were then made lie over it. The upright line is the rank of "
    "least time. s turns to the spectrum: eigenvalues above the noise take iterations, and those before "
    "the rank are taken care of by the preconditioner.",
    keys, sizeof(struct rank_state), rank_draw, rank_key, plot_verdict, rank_title, true,
};
