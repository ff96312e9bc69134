/* ui/views/lesson.c -- view 8: the current step of the lesson beside the plot it explains, and
 * sliders under plots that follow the hyperparameters. */
#include "ui/views/figures.h"

#include "app/plots/draws.h"
#include "app/plots/plot_rows.h"
#include "app/teach/lesson.h"
#include "app/commands/commands.h"
#include "base/fnv.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_NARROW = 34, SIDE_BY_SIDE = 60 };

struct lesson_view {
    char plot[24], run[16];   /* what is drawn; "": nothing yet */
    size_t slider;
    size_t top;               /* lines of the page above the window */
    unsigned serial;          /* serial of the lesson when it was last drawn */
    size_t step;
    bool follow;              /* keep the end visible, because a question has appeared */
    bool taught;              /* the plot is that of a lesson and goes when the lesson is over */
    struct axes axes;
};

static void lesson_show(struct view *v, const char *plot, const char *run)
{
    struct lesson_view *s = v->state;

    if (strcmp(plot, "lesson") == 0)
        return;
    snprintf(s->plot, sizeof s->plot, "%s", plot);
    snprintf(s->run, sizeof s->run, "%s", run);
    s->taught = lesson_of(v->desk->ws) != NULL;
}

static bool has_sliders(const struct lesson_view *s)
{
    const struct plot_ops *p = *s->plot ? plot_find(s->plot, NULL) : NULL;

    return p && p->of_kernel;
}

/* Sliders. */

/* The hyperparameters in order: those of the kernel that fit, amplitude, noise. */
static size_t sliders(const struct workspace *ws)
{
    const size_t n = kernel_nhp(&ws->kernel);

    return (n < 6 ? n : 6) + 2;
}

static double slider_value(const struct workspace *ws, size_t i, char name[KERNEL_NAME_MAX])
{
    const size_t n = sliders(ws) - 2;
    struct hparam h;

    if (i < n) {
        kernel_hp_info(&ws->kernel, i, name, &h);
        return ws->hp[i];
    }
    snprintf(name, KERNEL_NAME_MAX, "%s", i == n ? "amplitude" : "noise");
    return i == n ? ws->amplitude : ws->noise;
}

static void slider_move(struct view *v, double factor)
{
    struct lesson_view *s = v->state;
    char name[KERNEL_NAME_MAX];
    const double old = slider_value(v->desk->ws, s->slider, name);
    const double to = fmin(fmax(old * factor, 1e-4), 1e4);

    desk_execf(v->desk, "set %s=%.3g", name, to);
}

/* Names of hyperparameters need much room: they are cut in narrow panes. */
static void shorten(char name[KERNEL_NAME_MAX])
{
    static const struct { const char *name, *shorter; } cut[] = {
        { "lengthscale", "l" }, { "amplitude", "amp" }, { "weight", "w" },
    };

    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        char *at = strstr(name, cut[i].name);
        if (!at)
            continue;
        const size_t from = strlen(cut[i].name), to = strlen(cut[i].shorter);
        memcpy(at, cut[i].shorter, to);
        memmove(at + to, at + from, strlen(at + from) + 1);
    }
}

static void draw_sliders(struct view *v, const struct canvas *c)
{
    struct lesson_view *s = v->state;
    const struct workspace *ws = v->desk->ws;
    const size_t n = sliders(ws);
    int x = 0;

    s->slider = s->slider < n ? s->slider : n - 1;
    for (size_t i = 0; i < n && x < c->w - 8; i++) {
        char name[KERNEL_NAME_MAX], text[KERNEL_NAME_MAX + 40];
        const double value = slider_value(ws, i, name);
        const bool on = i == s->slider;
        if (c->w < 30 + 24 * (int)n)
            shorten(name);
        snprintf(text, sizeof text, on ? "[%s %.3g]" : " %s %.3g ", name, value);
        x += draw_text(c, 0, x, theme_attr(on ? R_SELECT : R_TEXT), text) + 1;
    }
    const char *how = v->desk->focus == FOCUS_VIEW ? "arrows move, Enter adds a point"
                                                   : "Esc, then arrows";
    if (x + (int)strlen(how) + 2 < c->w)
        draw_text(c, 0, x + 1, theme_attr(R_DIM), how);
}

/* The plot. */

/* A number that changes with everything the plot shows. */
static uint64_t stamp_of(const struct view *v)
{
    const struct lesson_view *s = v->state;
    const struct workspace *ws = v->desk->ws;
    uint64_t h = FNV_START;

    if (!has_sliders(s))
        return ws->serial;
    h = fnv_bytes(h, ws->hp, kernel_nhp(&ws->kernel) * sizeof *ws->hp);
    h = fnv_bytes(h, &ws->amplitude, sizeof ws->amplitude);
    h = fnv_bytes(h, &ws->noise, sizeof ws->noise);
    for (size_t i = 0; i < ws->kernel.nterms; i++)
        h = fnv_bytes(h, &ws->kernel.term[i].ops, sizeof ws->kernel.term[i].ops);
    for (size_t i = 0; i < ws->kernel.nterms; i++)
        h = fnv_bytes(h, ws->kernel.term[i].params, sizeof ws->kernel.term[i].params);
    const void *data = ws->cur < ws->ndata ? (const void *)ws->data[ws->cur]->table : NULL;
    h = fnv_bytes(h, &data, sizeof data);
    if (draws_state_of(ws))
        h = fnv_bytes(h, draws_state_of(ws), sizeof *draws_state_of(ws));
    return h;
}

/* Makes the plot as the line that asked for it says: which runs, columns and axes. */
static struct figure *as_asked(void *ctx, struct err *err)
{
    struct figures_request *q = ctx;
    struct figure *f = cmd_plot_shown(q->desk->ws, q->name, err);

    if (!f)
        return figures_make(ctx, err);
    if (q->axes)
        axes_apply(f, q->axes);
    return f;
}

static void draw_plot(struct view *v, const struct canvas *c)
{
    struct lesson_view *s = v->state;
    struct canvas pane = *c;

    if (!*s->plot || !v->plot || c->h < 3)
        return;
    if (has_sliders(s) && c->h > 6) {
        struct canvas last = draw_inner(c, c->h - 1, 0, 1, c->w);
        draw_sliders(v, &last);
        pane.h--;
    }
    struct run *r = *s->run ? desk_find(v->desk, s->run) : ws_run(v->desk->ws, NULL, NULL);
    struct run *running = ws_newest_running(v->desk->ws);
    const struct plot_ops *p = plot_find(s->plot, NULL);
    if (!*s->run && running && p && plot_follows(p, running))
        r = running;
    struct figures_request q = { v->desk, s->plot, r, &s->axes, false };
    uint64_t what = fnv_bytes(8, s->plot, strlen(s->plot)) + axes_stamp(&s->axes);
    what = fnv_bytes(what, &r, sizeof r);
    plotpane_draw(v->plot, &pane, what, stamp_of(v), as_asked, &q, desk_now());
}

/* The page. */

static unsigned long attr_of(char how)
{
    switch (how) {
    case 'H': return theme_attr(R_TITLE);
    case '>': return theme_attr(R_COMMAND);
    case '?': return theme_attr(R_ACCENT);
    case 'a': return theme_attr(R_KEY);
    case '!': return theme_attr(R_GOOD);
    case ' ': return theme_attr(R_DIM);
    default: return theme_attr(R_TEXT);
    }
}

/* The number of rows that a line of the page takes, with the empty row before it. */
static size_t line_rows(const char *line, char before, int w)
{
    const bool apart = before && (*line != before || *line == 'T');

    return draw_wrap(line + 2, (size_t)(*line == '>' ? w - 2 : w), draw_indent(line + 2), NULL,
                     NULL) +
           apart;
}

static size_t page_lines(char *page, char **line, size_t most)
{
    size_t n = 0;
    char *save = NULL;

    for (char *s = strtok_r(page, "\n", &save); s && n < most; s = strtok_r(NULL, "\n", &save))
        if (strlen(s) >= 2)
            line[n++] = s;
    return n;
}

/* Chooses where the window begins: at the start of a step, or at its end once something new is
 * there. */
static void place_window(struct lesson_view *s, const struct lesson_state *l, char **line, size_t n,
                         int w, int h)
{
    if (s->step != l->step || !l->serial)
        s->top = 0, s->follow = false;
    else if (s->serial != l->serial)
        s->follow = lesson_question(l) || *l->reply;
    s->step = l->step;
    s->serial = l->serial;
    if (s->follow) {
        size_t rows = 0, first = n;
        while (first > 0 &&
               rows + line_rows(line[first - 1], first > 1 ? *line[first - 2] : '\0', w) <=
                   (size_t)h)
            first--, rows += line_rows(line[first], first ? *line[first - 1] : '\0', w);
        s->top = first;
    }
    s->top = s->top < n ? s->top : n ? n - 1 : 0;
}

static void draw_page(struct view *v, const struct canvas *c)
{
    enum { LINES_MOST = 200 };
    struct lesson_view *s = v->state;
    struct workspace *ws = v->desk->ws;
    struct buf page = { 0 };
    char *line[LINES_MOST];
    int row = 0;

    lesson_page(ws, &page);
    char *text = buf_take(&page);
    if (!text)
        return;
    const size_t n = page_lines(text, line, LINES_MOST);
    const int w = c->w - 1;
    v->page = c->h;
    place_window(s, lesson_of(ws), line, n, w, c->h);
    size_t i = s->top;
    for (; i < n && row < c->h; i++) {
        const char before = i > s->top ? *line[i - 1] : '\0';
        row += before && (*line[i] != before || *line[i] == 'T');
        if (row >= c->h)
            break;
        const int by = *line[i] == '>' ? 2 : 0;
        struct canvas in = draw_inner(c, row, by, c->h - row, w - by);
        if (by)
            draw_text(c, row, 0, theme_attr(R_DIM), ">");
        row += draw_paragraph(&in, 0, 0, attr_of(*line[i]), line[i] + 2);
    }
    if ((i < n || row > c->h) && c->h > 2)
        draw_text(c, c->h - 1, c->w - 7, theme_attr(R_SELECT), " PgDn ");
    free(text);
}

static void draw_nothing(struct view *v, const struct canvas *c)
{
    draw_paragraph(
        c, 1, 2, theme_attr(R_DIM),
        v->desk->ws->ndata
            ? "No lesson is open. Type  lesson  for a list, lesson 1  to begin; or  draw  to "
              "see functions given the data."
            : "No lesson is open. Type  lesson  for a list, lesson 1  to begin, tour  for "
              "five minutes of everything; or  draw  to see functions at random.");
}

static void lesson_draw(struct view *v, const struct canvas *c)
{
    struct lesson_view *s = v->state;

    if (!lesson_of(v->desk->ws)) {
        if (s->taught) { /* it shows the data of the lesson, which need not be the current ones */
            *s->plot = *s->run = '\0';
            s->taught = false;
        }
        if (*s->plot)
            draw_plot(v, c);
        else
            draw_nothing(v, c);
        return;
    }
    if (!*s->plot || c->w < SIDE_BY_SIDE) {
        const int left = c->w > 90 ? (c->w - 86) / 2 : 1;
        struct canvas in = draw_inner(c, 0, left, c->h, c->w - 2 * left);
        draw_page(v, &in);
        return;
    }
    const int text = c->w >= 100 ? c->w * 2 / 5 : TEXT_NARROW;
    struct canvas left = draw_inner(c, 0, 0, c->h, text);
    struct canvas right = draw_inner(c, 0, text + 1, c->h, c->w - text - 1);
    draw_page(v, &left);
    draw_plot(v, &right);
}

/* Keys. */

static bool slider_act(struct view *v, enum act act)
{
    struct lesson_view *s = v->state;
    const size_t n = sliders(v->desk->ws);

    switch (act) {
    case ACT_LEFT: s->slider = s->slider ? s->slider - 1 : n - 1; return true;
    case ACT_RIGHT: s->slider = (s->slider + 1) % n; return true;
    case ACT_UP: slider_move(v, 1.1); return true;
    case ACT_DOWN: slider_move(v, 1.0 / 1.1); return true;
    case ACT_OWN_1: desk_exec(v->desk, "point"); return true;
    default: return false;
    }
}

static bool lesson_act(struct view *v, enum act act)
{
    struct lesson_view *s = v->state;
    const struct lesson_state *l = lesson_of(v->desk->ws);

    if (*s->plot && ((has_sliders(s) && slider_act(v, act)) || axes_act(v, act, &s->axes)))
        return true;
    if (!l)
        return false;
    switch (act) {
    case ACT_PGUP: case ACT_UP: s->follow = false; s->top -= s->top > 2 ? 2 : s->top; return true;
    case ACT_PGDN: case ACT_DOWN: s->follow = false; s->top += 2; return true;
    case ACT_TOP: s->follow = false; s->top = 0; return true;
    case ACT_OWN_1: desk_exec(v->desk, "lesson next"); return true;
    default: return false;
    }
}

static void lesson_plot(const struct view *v, struct buf *b)
{
    const struct lesson_view *s = v->state;

    buf_printf(b, "%s%s%s", s->plot, *s->run ? " " : "", s->run);
}

static void lesson_title(struct view *v, struct buf *b)
{
    const struct lesson_state *l = lesson_of(v->desk->ws);
    const struct lesson_view *s = v->state;

    if (l)
        buf_printf(b, ": %s %s, step %zu of %zu", l->l.id, l->l.title, l->step + 1, l->l.n);
    else if (*s->plot)
        buf_printf(b, ": %s", s->plot);
}

static void lesson_verdict(struct view *v, struct buf *b)
{
    const struct lesson_state *l = lesson_of(v->desk->ws);
    const struct lesson_view *s = v->state;

    if (*s->plot)
        figures_verdict(v, b);
    if (!b->len && l)
        buf_printf(b, "lesson %s, step %zu of %zu: Enter on an empty line continues", l->l.id,
                   l->step + 1, l->l.n);
}

static const struct keyrow keys[] = {
    {"Enter", ACT_OWN_1, "point", "add a point (functions, kernels); else: continue the lesson",
     NULL, 0},
    {"n", ACT_NONE, "lesson-next", "continue the lesson (also: Enter on an empty line)",
                                   "lesson next",
     0},
    {"b", ACT_NONE, "lesson-back", "go back one step", "lesson back", 0},
    {NULL, ACT_NONE, NULL, NULL, NULL, 0},
};
const struct view_ops lesson_view = {
    .tab = "Lesson",
    .title = "Lesson",
    .about = "The current step of the lesson, and the plot that it is about. Lessons run real "
             "commands: lesson lists them, lesson 1 begins, Enter on an empty line continues; a "
             "question is answered by its letter and Enter. lesson back returns to the step "
             "before, lesson quiz asks all questions; layout slide is for a projector. Under "
             "functions drawn at random and under kernels the hyperparameters are sliders: in the "
             "view (Esc) choose one with Left and Right, move it with Up and Down, and the picture "
             "follows. Enter there adds a point where the function is known least.",
    .keys = keys,
    .kinds = KIND_PLOT,
    .beside = VIEW_DATA,
    .plots = "lesson draws kernel covariance",
    .any_plot = true,
    .state_size = sizeof(struct lesson_view),
    .draw = lesson_draw,
    .act = lesson_act,
    .verdict = lesson_verdict,
    .title_more = lesson_title,
    .plot_words = lesson_plot,
    .show = lesson_show,
    .copy = figures_copy,
};
