/* ui/views/calib.c -- view 6: whether the error bars are honest: coverage, sd, error against sd,
 * parity. */
#include "ui/views/figures.h"
#include "ui/views/runs.h"

#include <stdio.h>
#include <string.h>

struct calib_state { size_t which; struct axes axes; };
enum { PAGES = 4 };
/* Of numbers, and of classes, where sd and parity say nothing. */
static const struct page { const char *plot, *title; } of_numbers[PAGES] = {
    { "calibration", "coverage" }, { "sd", "histogram of sd" }, { "sderror", "error against sd" },
    { "parity", "predicted against observed" },
}, of_classes[PAGES] = {
    { "calibration", "probabilities" }, { "confusion", "confusion" }, { "roc", "ROC" },
    { "pr", "precision and recall" },
};

static const struct page *pages_of(const struct run *r)
{
    return r && r->has_enc && r->enc.nclasses ? of_classes : of_numbers;
}

/* The selected fit if it has predictions, otherwise the last fit that has. */
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

/* The second pane of a wide screen shows the page that follows the main one's. */
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
    struct figures_request q = { v->desk, pages_of(r)[k].plot, r, &s->axes, false };
    uint64_t what = 6 + (uint64_t)(uintptr_t)r * 64 + k * 16 + axes_stamp(&s->axes) * 31;
    uint64_t stamp = (uint64_t)(uintptr_t)r->test_pred.mean * 31 +
                     (uint64_t)(uintptr_t)r->train_pred.mean + r->test_pred.n + r->train_pred.n +
                     7919 * v->desk->ws->look;
    plotpane_draw(v->plot, c, what, stamp, figures_make, &q, desk_now());
}

/* " target=NAME" if the run has several targets, otherwise nothing. */
static const char *target_words(const struct view *v, const struct run *r, char *out, size_t len)
{
    struct buf b = { 0 };
    *out = '\0';
    if (run_targets(r) > 1 && v->desk->ws->look < run_targets(r)) {
        command_quote(&b, encoding_for(&r->enc, v->desk->ws->look).target);
        if (b.len + 9 < len)
            snprintf(out, len, " target=%s", buf_str(&b));
        buf_free(&b);
    }
    return out;
}

static bool calib_act(struct view *v, enum act act)
{
    struct calib_state *s = v->state, *m = v->desk->view[VIEW_CALIB].state;
    const struct run *r = shown(v);
    if (axes_act(v, act, &s->axes))
        return true;
    switch (act) {
    case ACT_RIGHT: m->which = (m->which + 1) % PAGES; return true;
    case ACT_LEFT: m->which = (m->which + PAGES - 1) % PAGES; return true;
    case ACT_UP: runs_move(v->desk, -1); return true;
    case ACT_DOWN: runs_move(v->desk, 1); return true;
    case ACT_OWN_1:
        if (r)
            v->desk->ws->look = (v->desk->ws->look + 1) % run_targets(r);
        return true;
    default: return false;
    }
}

static void calib_plot(const struct view *v, struct buf *b)
{
    char target[96];
    const struct run *r = shown(v);
    if (r)
        buf_printf(b, "%s %s%s", pages_of(r)[page_of(v)].plot, r->id,
                   target_words(v, r, target, sizeof target));
}

static void calib_show(struct view *v, const char *plot, const char *run)
{
    struct calib_state *s = v->state;
    (void)run;
    for (size_t i = 0; i < PAGES; i++)
        if (strcmp(of_numbers[i].plot, plot) == 0 || strcmp(of_classes[i].plot, plot) == 0)
            s->which = i;
}

static void calib_title(struct view *v, struct buf *b)
{
    const struct run *r = shown(v);
    if (r)
        buf_printf(b, ": %s, %s (%zu of %d)", r->id, pages_of(r)[page_of(v)].title, page_of(v) + 1,
                   PAGES);
}

static const struct keyrow keys[] = {
    {"Left h", ACT_LEFT, "page-before", "coverage, histogram of sd, error against sd, parity: back "
     "(of classes: probabilities, confusion, ROC, precision)", NULL, 0},
    {"Right l", ACT_RIGHT, "page-after", "coverage, histogram of sd, error against sd, parity: on "
     "(of classes: probabilities, confusion, ROC, precision)", NULL, 0},
    {"t", ACT_OWN_1, "target", "another target, where there are several", NULL, 0},
    {"v", ACT_NONE, "check", "check the fit: one sentence a finding", "check {run}", 0},
    {NULL, ACT_NONE, NULL, NULL, NULL, 0},
};
const struct view_ops calib_view = {
    .tab = "Calib",
    .title = "Calibration",
    .about = "Coverage: the share of test rows that fall inside the central interval of each "
             "level, against the level; on the diagonal the error bars are honest, below it they "
             "are too small. Histogram of sd: the predicted standard deviation on training and "
             "test rows; test rows far from the training data have larger ones. Error against sd: "
             "rows in bins of equal count by sd; when sd tells error, the points follow the "
             "diagonal. Parity: predicted against observed. Of classes: predicted probabilities "
             "against the shares that come true, which classes are taken for which, ROC, and "
             "precision against recall.",
    .keys = keys,
    .kinds = KIND_PLOT,
    .news = VIEW_NEWS_SCORE,
    .beside = VIEW_CALIB,
    .plots = "calibration sd sderror parity confusion roc pr",
    .state_size = sizeof(struct calib_state),
    .draw = calib_draw,
    .act = calib_act,
    .verdict = figures_verdict,
    .title_more = calib_title,
    .run = shown,
    .plot_words = calib_plot,
    .show = calib_show,
    .copy = figures_copy,
};
