/* ui/views/runs.c -- view 2: every tuning and fit of the session as one table; also the narrow
 * list of wide screens. */
#include "ui/view.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct runs_state { size_t top; };

static void sci(char *out, size_t len, double v)
{
    if (isnan(v))
        snprintf(out, len, "-");
    else
        snprintf(out, len, "%.1e", v);
}

static void num(char *out, size_t len, double v)
{
    if (isnan(v))
        snprintf(out, len, "-");
    else
        text_number(out, len, v);
}

/* A run's figures as short texts. */
struct cells {
    char features[24], rank[24], it[24], resid[24], nmll[24], rmse[24], cover[24], time[24];
};

static void cells_fill(const struct run *r, double now, struct cells *c)
{
    *c = (struct cells){ "-", "-", "-", "-", "-", "-", "-", "-" };
    const bool over = (r->state == RUN_DONE || r->state == RUN_STOPPED) &&
                      (r->kind == RUN_TUNE ? r->tune.evaluations > 0 : r->info.solver[0] != 0);
    if (r->kind == RUN_FIT) {
        size_t m = over ? r->info.features : r->fit.features;
        if (over && strcmp(r->info.solver, "exact") == 0)
            snprintf(c->features, sizeof c->features, "exact");
        else if (m)
            snprintf(c->features, sizeof c->features, "%zu", m);
        size_t rank = over ? r->info.rank : r->fit.rank;
        if (rank)
            snprintf(c->rank, sizeof c->rank, "%zu", rank);
        if (over && r->info.why != OUT_DIRECT) {
            snprintf(c->it, sizeof c->it, "%zu", r->info.iterations);
            sci(c->resid, sizeof c->resid, r->info.true_residual);
        } else if (over) {
            snprintf(c->it, sizeof c->it, "direct");
        } else if (r->ntrace) {
            snprintf(c->it, sizeof c->it, "%u", r->trace[r->ntrace - 1].step);
            sci(c->resid, sizeof c->resid, r->trace[r->ntrace - 1].value);
        }
        if (r->has_score) {
            num(c->rmse, sizeof c->rmse, r->score_raw.rmse);
            if (!isnan(r->score_scaled.coverage95))
                snprintf(c->cover, sizeof c->cover, "%.3f", r->score_scaled.coverage95);
        }
    } else {
        if (r->topt.features && !r->topt.exact)
            snprintf(c->features, sizeof c->features, "%zu", r->topt.features);
        else
            snprintf(c->features, sizeof c->features, "exact");
        if (over) {
            snprintf(c->it, sizeof c->it, "%zu", r->tune.evaluations);
            num(c->nmll, sizeof c->nmll, r->tune.best.nmll);
        } else if (r->ntrace) {
            snprintf(c->it, sizeof c->it, "%zu", r->ntrace);
            num(c->nmll, sizeof c->nmll, r->trace[r->ntrace - 1].value2);
        }
    }
    double t = r->state == RUN_RUNNING ? now - r->started : r->ended - r->started;
    if (r->state != RUN_QUEUED && t >= 0 && t < 1e9)
        text_seconds(c->time, sizeof c->time, t);
}

/* Keeps the selected run on the page. */
static size_t selected_index(const struct desk *d)
{
    const struct run *r = desk_selected(d);
    for (size_t i = 0; i < d->ws->nrun; i++)
        if (d->ws->run[i] == r)
            return i;
    return 0;
}

static void scroll_to(struct runs_state *s, size_t at, size_t n, int page)
{
    size_t p = page > 0 ? (size_t)page : 1;
    if (at < s->top)
        s->top = at;
    if (at >= s->top + p)
        s->top = at - p + 1;
    if (s->top + p > n)
        s->top = n > p ? n - p : 0;
}

static enum role role_of(const struct run *r)
{
    switch (run_glyph(r)) {
    case '>': return R_ACCENT;
    case '!': case '~': return R_WARN;
    case 'x': return R_BAD;
    case '.': return R_DIM;
    default: return R_TEXT;
    }
}

static void draw_wide(struct view *v, const struct canvas *c)
{
    struct runs_state *s = v->state;
    const struct desk *d = v->desk;
    /* min: the width of the pane from which on a column is shown. */
    const struct { const char *head; int w; bool right; int min; } col[] = {
        { "run", 4, false, 0 }, { "kernel", c->w >= 100 ? 18 : 11, false, 0 },
        { "features", 8, true, 0 }, { "rank", 5, true, 70 }, { "it", 6, true, 0 },
        { "residual", 8, true, 90 }, { "NMLL", 9, true, 0 }, { "RMSE", 8, true, 0 },
        { "cover95", 7, true, 64 }, { "time", 9, true, 80 },
    };
    int x = 2;
    for (size_t j = 0; j < sizeof col / sizeof *col; j++)
        if (c->w >= col[j].min) {
            draw_field(c, 0, x, col[j].w, col[j].right, theme_attr(R_COLUMN), col[j].head);
            x += col[j].w + 1;
        }
    if (c->w > x + 6)
        draw_text(c, 0, x + 1, theme_attr(R_COLUMN), "note");
    v->page = c->h - 1;
    size_t at = selected_index(d);
    scroll_to(s, at, d->ws->nrun, v->page);
    double now = desk_now();
    for (int i = 0; i < v->page && s->top + (size_t)i < d->ws->nrun; i++) {
        const struct run *r = d->ws->run[s->top + (size_t)i];
        struct cells t;
        cells_fill(r, now, &t);
        bool on = s->top + (size_t)i == at;
        unsigned long a = theme_attr(on ? R_SELECT : role_of(r));
        if (on)
            draw_fill(c, i + 1, 0, c->w, a, " ");
        char head[3] = { desk_marked(d, r) ? '*' : ' ', run_glyph(r), 0 };
        draw_text(c, i + 1, 0, a, head);
        char kernel[40];
        kernel_short(r, kernel, sizeof kernel);
        const char *cell[] = { r->id, kernel, t.features, t.rank,
                               t.it, t.resid, t.nmll, t.rmse, t.cover, t.time };
        x = 2;
        for (size_t j = 0; j < sizeof col / sizeof *col; j++)
            if (c->w >= col[j].min) {
                draw_field(c, i + 1, x, col[j].w, col[j].right, a, cell[j]);
                x += col[j].w + 1;
            }
        if (c->w > x + 6) {
            if (r->star)
                draw_text(c, i + 1, x + 1, a, glyph.star);
            draw_safe(c, i + 1, x + (r->star ? 3 : 1), c->w - x - 3, a, r->note ? r->note : "");
        }
    }
}

static void runs_draw(struct view *v, const struct canvas *c)
{
    if (v->desk->ws->nrun == 0) {
        draw_paragraph(c, 1, 2, theme_attr(R_DIM),
                       "No runs yet. A tuning (tune) finds the hyperparameters, a fit (fit) makes a "
                       "model; each becomes a row here.");
        return;
    }
    draw_wide(v, c);
}

static bool runs_key(struct view *v, int key)
{
    struct desk *d = v->desk;
    struct run *r = desk_selected(d);
    int page = v->page > 1 ? v->page - 1 : 1;
    switch (key) {
    case 'k': case UK_UP: desk_move(d, -1); return true;
    case 'j': case UK_DOWN: desk_move(d, 1); return true;
    case UK_PGUP: desk_move(d, -page); return true;
    case UK_PGDN: desk_move(d, page); return true;
    case 'g': case UK_HOME: desk_move(d, -1000000); return true;
    case 'G': case UK_END: desk_move(d, 1000000); return true;
    default: break;
    }
    if (!r)
        return false;
    char line[64];
    switch (key) {
    case ' ':
        desk_mark(d, r);
        desk_move(d, 1);
        return true;
    case UK_ENTER: {
        struct buf b = { 0 };
        run_details(r, &b);
        snprintf(line, sizeof line, "Run %s", r->id);
        desk_page(d, line, buf_str(&b));
        buf_free(&b);
        return true;
    }
    case '=': {
        struct buf b = { 0 };
        if (d->nmarks == 0)
            return false;
        buf_puts(&b, "compare");
        for (size_t i = 0; i < d->nmarks; i++)
            buf_printf(&b, " %s", d->mark[i]);
        if (d->nmarks == 1 && !desk_marked(d, r))
            buf_printf(&b, " %s", r->id);
        desk_exec(d, buf_str(&b));
        buf_free(&b);
        return true;
    }
    case 'p':
        desk_execf(d, "plot %s %s", r->kind == RUN_FIT ? "residual" : "nmll", r->id);
        return true;
    case 'S':
        if (r->kind == RUN_FIT)
            desk_execf(d, "score %s", r->id);
        return true;
    case 'n':
        snprintf(line, sizeof line, "note %s ", r->id);
        desk_prompt(d, line);
        return true;
    case 's':
        if (r->state == RUN_RUNNING || r->state == RUN_QUEUED)
            desk_execf(d, "stop %s", r->id);
        return true;
    default:
        return false;
    }
}

static void runs_verdict(struct view *v, struct buf *b)
{
    const struct run *r = desk_selected(v->desk);
    if (r)
        run_line(r, b);
}

static void runs_title(struct view *v, struct buf *b)
{
    const struct desk *d = v->desk;
    if (d->ws->nrun)
        buf_printf(b, ": %zu", d->ws->nrun);
    if (d->nmarks)
        buf_printf(b, ", %zu marked", d->nmarks);
}

static const struct keyhelp keys[] = {
    { "arrows, jk, g G", "choose a run" },
    { "Enter", "all that is known about it" },
    { "Space", "mark it; marked runs share the plots" },
    { "=", "compare the marked (runs: compare ...)" },
    { "p", "plot it (runs: plot residual or nmll)" },
    { "S", "score a fit on its test rows" },
    { "n", "write a note" },
    { "s", "stop it" },
    { NULL, NULL }
};
const struct view_ops view_runs = {
    '2', "Runs", "Runs",
    "Every tuning (t1, t2, ..) and fit (r1, r2, ..). In front: > runs, . waits, ! stopped before it "
    "reached its tolerance, ~ stopped by you, x failed, * marked. RMSE is in units of the target; "
    "cover95 is the share of rows inside the 95 % interval: near 0.95 is honest.",
    keys, sizeof(struct runs_state), runs_draw, runs_key, runs_verdict, runs_title, false,
};

/* --- the left column of a wide screen --------------------------------------------------------- */

static int list_datasets(struct view *v, const struct canvas *c)
{
    const struct workspace *ws = v->desk->ws;
    char a[32], t[32];
    int row = 0;
    for (size_t i = 0; i < ws->ndata && row < c->h / 3; i++) {
        const struct dataset *d = ws->data[i];
        size_t inputs = 0;
        for (size_t j = 0; j < d->table->ncols; j++)
            inputs += d->role[j] == ROLE_INPUT;
        bool on = i == ws->cur;
        draw_text(c, row, 0, theme_attr(R_ACCENT), on ? ">" : " ");
        draw_safe(c, row, 1, 16, theme_attr(on ? R_TITLE : R_TEXT), d->name);
        text_count(a, sizeof a, d->table->n);
        draw_printf(c, row++, 17, theme_attr(R_TEXT), "%9s x %zu", a, inputs);
        if (on && d->split.part && row < c->h) {
            text_count(a, sizeof a, d->split.count[PART_TRAIN]);
            text_count(t, sizeof t, d->split.count[PART_TEST]);
            draw_printf(c, row++, 3, theme_attr(R_DIM), "train %s  test %s", a, t);
        }
    }
    return row;
}

static void list_draw(struct view *v, const struct canvas *c)
{
    struct runs_state *s = v->state;
    const struct desk *d = v->desk;
    const struct workspace *ws = d->ws;
    int row = list_datasets(v, c);
    if (ws->ndata == 0)
        draw_text(c, row++, 1, theme_attr(R_DIM), "no data yet");
    draw_fill(c, row++, 0, c->w, theme_attr(R_RULE), glyph.h);
    if (ws->nrun == 0) {
        draw_text(c, row, 1, theme_attr(R_DIM), "no runs yet");
        return;
    }
    draw_printf(c, row++, 0, theme_attr(R_COLUMN), "  %-3s %-10s %6s %10s", "run", "kernel", "it",
                "NMLL/RMSE");
    v->page = c->h - row;
    size_t at = selected_index(d);
    scroll_to(s, at, ws->nrun, v->page);
    for (int i = 0; i < v->page && s->top + (size_t)i < ws->nrun; i++) {
        const struct run *r = ws->run[s->top + (size_t)i];
        struct cells t;
        cells_fill(r, desk_now(), &t);
        bool on = s->top + (size_t)i == at;
        unsigned long a = theme_attr(on ? R_SELECT : role_of(r));
        if (on)
            draw_fill(c, row + i, 0, c->w, a, " ");
        char head[3] = { desk_marked(d, r) ? '*' : ' ', run_glyph(r), 0 };
        draw_text(c, row + i, 0, a, head);
        draw_field(c, row + i, 2, 4, false, a, r->id);
        char kernel[40];
        kernel_short(r, kernel, sizeof kernel);
        draw_field(c, row + i, 6, 10, false, a, kernel);
        draw_field(c, row + i, 17, 6, true, a, t.it);
        draw_field(c, row + i, 24, 10, true, a, r->kind == RUN_FIT ? t.rmse : t.nmll);
    }
}

const struct view_ops view_list = {
    0, "", "Data & runs", "", keys, sizeof(struct runs_state), list_draw, runs_key, NULL, NULL,
    false,
};
