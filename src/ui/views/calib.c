/* ui/views/calib.c -- view 6: are the error bars honest: coverage, sd, error against sd, parity. */
#include "ui/view.h"

#include <stdio.h>
#include <string.h>

struct calib_state { size_t which; int x, y; };
static const struct { const char *plot, *title; } pages[] = {
    { "calibration", "coverage" }, { "sd", "histogram of sd" }, { "sderror", "error against sd" },
    { "parity", "predicted against observed" },
};
enum { PAGES = sizeof pages / sizeof *pages };

/* The selected fit when it has predictions, else the last that has. */
static struct run *shown(const struct view *v)
{
    struct run *r = desk_selected(v->desk);
    if (r && r->kind == RUN_FIT && (r->has_test || r->has_train))
        return r;
    for (size_t i = v->desk->ws->nrun; i-- > 0;) {
        struct run *k = v->desk->ws->run[i];
        if (k->kind == RUN_FIT && (k->has_test || k->has_train))
            return k;
    }
    return NULL;
}

/* The second pane of a wide screen shows the page after the main one's. */
static size_t page_of(const struct view *v)
{
    const struct calib_state *s = v->state, *m = v->desk->view[VIEW_CALIB].state;
    return (v->second && m ? m->which + 1 : s->which) % PAGES;
}

static void calib_draw(struct view *v, const struct canvas *c)
{
    struct calib_state *s = v->state;
    struct run *r = shown(v);
    if (!r) {
        draw_paragraph(c, 1, 2, theme_attr(R_DIM),
                       "No predictions yet. This view shows whether the uncertainties are honest: "
                       "type  score  (test rows) or  check  after a fit.");
        return;
    }
    size_t k = page_of(v);
    struct plot_request q = { v->desk, pages[k].plot, r, s->x, s->y, false };
    uint64_t what = 6 + (uint64_t)(uintptr_t)r * 64 + k * 16 + (uint64_t)(s->x * 4 + s->y);
    uint64_t stamp = (uint64_t)(uintptr_t)r->test_pred.mean * 31 +
                     (uint64_t)(uintptr_t)r->train_pred.mean + r->test_pred.n + r->train_pred.n +
                     7919 * v->desk->ws->look;
    plotpane_draw(v->plot, c, what, stamp, plot_request_make, &q, desk_now());
}

/* " target=NAME" where the run has several; else nothing. */
static const char *target_words(const struct view *v, const struct run *r, char *out, size_t len)
{
    struct buf b = { 0 };
    *out = '\0';
    if (ws_run_targets(r) > 1 && v->desk->ws->look < ws_run_targets(r)) {
        command_quote(&b, encoding_for(&r->enc, v->desk->ws->look).target);
        if (b.len + 9 < len)
            snprintf(out, len, " target=%s", buf_str(&b));
        buf_free(&b);
    }
    return out;
}

static bool calib_key(struct view *v, int key)
{
    char target[96];
    struct calib_state *s = v->state;
    const struct run *r = shown(v);
    if (axis_key(v, key, &s->x, &s->y))
        return true;
    switch (key) {
    case UK_RIGHT: case 'l': case 'n': case ']':
        s->which = (s->which + 1) % PAGES;
        return true;
    case UK_LEFT: case 'h': case 'N': case '[':
        s->which = (s->which + PAGES - 1) % PAGES;
        return true;
    case 'k': case UK_UP: desk_move(v->desk, -1); return true;
    case 'j': case UK_DOWN: desk_move(v->desk, 1); return true;
    case 'c':
        if (r)
            desk_execf(v->desk, "check %s%s", r->id, target_words(v, r, target, sizeof target));
        return true;
    case 'd':
        if (r)
            desk_execf(v->desk, "describe %s %s%s", pages[s->which].plot, r->id,
                       target_words(v, r, target, sizeof target));
        return true;
    case 't':
        v->desk->ws->look = (v->desk->ws->look + 1) % ws_run_targets(r);
        return true;
    case 'p':
        if (r) {
            char line[192];
            snprintf(line, sizeof line, "plot %s %s%s out=%s-%s.svg", pages[s->which].plot, r->id,
                     target_words(v, r, target, sizeof target), pages[s->which].plot, r->id);
            desk_prompt(v->desk, line);
        }
        return true;
    default: return false;
    }
}

bool calib_show(struct view *v, const char *plot)
{
    struct calib_state *s = v->state;
    for (size_t i = 0; i < PAGES; i++)
        if (strcmp(pages[i].plot, plot) == 0) {
            s->which = i;
            return true;
        }
    return false;
}

static void calib_title(struct view *v, struct buf *b)
{
    const struct run *r = shown(v);
    if (r)
        buf_printf(b, ": %s, %s (%zu of %d)", r->id, pages[page_of(v)].title, page_of(v) + 1,
                   PAGES);
}

static const struct keyhelp keys[] = {
    { "Left Right, h l", "coverage, sd, error against sd, parity" },
    { "Up Down, j k", "another run" },
    { "t", "another target, where there are several" },
    { "x y X", "logarithmic or linear axes; as they were" },
    { "c", "check the fit (runs: check)" },
    { "d", "the plot in words (runs: describe)" },
    { "p", "put an export on the prompt (plot ... out=FILE.svg)" },
    { NULL, NULL }
};
const struct view_ops view_calib = {
    '6', "Calib", "Calibration",
    "Coverage: the share of test rows that fall inside the central interval of each level, against "
    "the level; on the diagonal the error bars are honest, below it they are too small. Histogram "
    "of sd: the predicted standard deviation on training and test rows; test rows far from the "
    "training data have larger ones. Error against sd: rows in bins of equal count by sd; when sd "
    "tells error, the points follow the diagonal. Parity: predicted against observed.",
    keys, sizeof(struct calib_state), calib_draw, calib_key, plot_verdict, calib_title, true,
};
