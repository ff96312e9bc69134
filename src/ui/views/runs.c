/* ui/views/runs.c -- view 2: every tuning and fit of the session in one table, sorted and filtered;
 * also the narrow list of wide screens. */
#include "ui/views/runs.h"
#include "ui/views/words.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum run_col {
    C_RUN,
    C_KERNEL,
    C_FEATURES,
    C_RANK,
    C_IT,
    C_RESIDUAL,
    C_NMLL,
    C_RMSE,
    C_COVER,
    C_TIME,
    C_NOTE,
    N_COLUMNS
};
/* min: the width of the pane from which a column is shown. */
static const struct { const char *head; int w; bool right; int min; } columns[N_COLUMNS] = {
    [C_RUN] = { "run", 4, false, 0 }, [C_KERNEL] = { "kernel", 11, false, 0 },
    [C_FEATURES] = { "features", 8, true, 0 }, [C_RANK] = { "rank", 5, true, 70 },
    [C_IT] = { "it", 6, true, 0 }, [C_RESIDUAL] = { "residual", 8, true, 90 },
    [C_NMLL] = { "NMLL", 9, true, 0 }, [C_RMSE] = { "RMSE", 8, true, 0 },
    [C_COVER] = { "cover95", 7, true, 64 }, [C_TIME] = { "time", 9, true, 80 },
    [C_NOTE] = { "note", 6, false, 0 },
};
struct runs_state {
    size_t top;
    enum run_col col;            /* under the cursor */
    int sort; /* column + 1; negative: descending; 0: in order of creation */
    unsigned hidden;            /* a bit for each column */
    int y0;                     /* row of the first run in the last drawing */
};

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
    const struct model_ops *kind = run_model_kind(r);

    *c = (struct cells){ "-", "-", "-", "-", "-", "-", "-", "-" };
    const bool over = (r->state == RUN_DONE || r->state == RUN_STOPPED) &&
                      (r->kind == RUN_TUNE ? r->tune.evaluations > 0 : r->info.solver[0] != 0);
    if (r->kind == RUN_FIT) {
        size_t m = over ? r->info.features : r->fit.features;
        if (over && !kind->draws)
            snprintf(c->features, sizeof c->features, "%s", kind->name);
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
        if (kind->draws)
            snprintf(c->features, sizeof c->features, "%zu", r->topt.features);
        else
            snprintf(c->features, sizeof c->features, "%s", kind->name);
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

/* Choosing and ordering runs. */

static double elapsed(const struct run *r, double now)
{
    return r->state == RUN_QUEUED    ? NAN
           : r->state == RUN_RUNNING ? now - r->started
                                     : r->ended - r->started;
}

/* The key by which a column sorts; NaN always comes last. */
static double sort_value(const struct run *r, enum run_col c)
{
    const bool fit = r->kind == RUN_FIT;
    switch (c) {
    case C_FEATURES: return (double)(fit ? r->info.solver[0] ? r->info.features : r->fit.features
                                         : r->topt.features);
    case C_RANK: return fit ? (double)(r->info.solver[0] ? r->info.rank : r->fit.rank) : NAN;
    case C_IT: return fit ? (double)r->info.iterations : (double)r->tune.evaluations;
    case C_RESIDUAL: return fit ? r->info.true_residual : NAN;
    case C_NMLL: return fit || !r->tune.evaluations ? NAN : r->tune.best.nmll;
    case C_RMSE: return fit && r->has_score ? r->score_raw.rmse : NAN;
    case C_COVER: return fit && r->has_score ? r->score_scaled.coverage95 : NAN;
    case C_TIME: return elapsed(r, desk_now());
    default: return NAN;
    }
}

static int compare_runs(const void *a, const void *b, void *ctx)
{
    const struct run *p = *(struct run *const *)a, *q = *(struct run *const *)b;
    const struct runs_state *s = ctx;
    const enum run_col c = (enum run_col)(abs(s->sort) - 1);
    int by = 0;
    if (c == C_KERNEL) {
        by = strcmp(p->kernel_text ? p->kernel_text : "", q->kernel_text ? q->kernel_text : "");
    } else if (c == C_NOTE) {
        by = (int)q->star - (int)p->star;
        by = by ? by : strcmp(q->note ? q->note : "", p->note ? p->note : "");
    } else if (c != C_RUN) {
        const double x = sort_value(p, c), y = sort_value(q, c);
        if (isnan(x) || isnan(y))
            return isnan(x) - isnan(y)       ? isnan(x) - isnan(y)
                   : p->created < q->created ? -1
                   : p < q                   ? -1
                                             : 1;
        by = x < y ? -1 : x > y;
    }
    if (c == C_RUN && by == 0)                       /* in order of creation */
        by = p->created != q->created ? p->created < q->created ? -1 : 1
           : p->kind != q->kind ? (int)p->kind - (int)q->kind
           : atoi(p->id + 1) < atoi(q->id + 1) ? -1 : atoi(p->id + 1) > atoi(q->id + 1);
    return s->sort < 0 ? -by : by;
}

/* True if every word of the filter occurs somewhere in the run's row. */
static bool passes(const struct run *r, const char *filter)
{
    char word[64];
    struct buf b = { 0 };
    bool ok = true;
    buf_printf(&b, "%s %s %s %s %s%s", r->id, r->kernel_text ? r->kernel_text : "",
               r->dataset_name ? r->dataset_name : "", run_state_name(r->state),
               r->note ? r->note : "", r->star ? " star *" : "");
    for (filter += strspn(filter, " "); *filter && ok; filter += strspn(filter, " ")) {
        const size_t n = strcspn(filter, " ");
        snprintf(word, sizeof word, "%.*s", n < 60 ? (int)n : 60, filter);
        ok = strcasestr(buf_str(&b), word) != NULL;
        filter += n;
    }
    buf_free(&b);
    return ok;
}

void runs_list(struct desk *d)
{
    struct runs_state *s = d->view[VIEW_RUNS].state;
    const size_t n = d->ws->nrun;
    struct run **grown = realloc(d->table.shown, (n ? n : 1) * sizeof *grown);
    if (!grown) {
        d->table.nshown = 0;
        return;
    }
    d->table.shown = grown;
    d->table.nshown = 0;
    for (size_t i = 0; i < n; i++)
        if (!d->table.filter || passes(d->ws->run[i], d->table.filter))
            d->table.shown[d->table.nshown++] = d->ws->run[i];
    if (s && s->sort)
        qsort_r(d->table.shown, d->table.nshown, sizeof *d->table.shown, compare_runs, s);
}

void runs_list_free(struct desk *d)
{
    free(d->table.shown);
    free(d->table.filter);
    d->table.shown = NULL;
    d->table.filter = NULL;
    d->table.nshown = 0;
}

void runs_move(struct desk *d, int by)
{
    const struct run *r = desk_selected(d);
    runs_list(d);
    long at = 0, n = (long)d->table.nshown;
    while (at < n && d->table.shown[at] != r)
        at++;
    at = at == n ? 0 : at + by;     /* the run is filtered out: move to the first that is left */
    at = at < 0 ? 0 : at >= n ? n - 1 : at;
    if (n > 0 && d->table.shown[at] != r) {
        snprintf(d->sel, sizeof d->sel, "%s", d->table.shown[at]->id);
        d->nover = 0;
    }
}

static size_t selected_index(const struct desk *d)
{
    const struct run *r = desk_selected(d);
    for (size_t i = 0; i < d->table.nshown; i++)
        if (d->table.shown[i] == r)
            return i;
    return SIZE_MAX;
}

/* Scrolls so that the selected run is visible. */
static void scroll_to(struct runs_state *s, size_t at, size_t n, int page)
{
    size_t p = page > 0 ? (size_t)page : 1;
    if (at == SIZE_MAX)
        at = s->top;
    if (at < s->top)
        s->top = at;
    if (at >= s->top + p)
        s->top = at - p + 1;
    if (s->top + p > n)
        s->top = n > p ? n - p : 0;
}

static enum role role_of(const struct run *r)
{
    switch (words_glyph(r)) {
    case '>': return R_ACCENT;
    case '!': case '~': return R_WARN;
    case 'x': return R_BAD;
    case '.': return R_DIM;
    default: return R_TEXT;
    }
}

/* The i-th cell of a run's row. */
static void cell_of(const struct run *r, const struct cells *t, enum run_col c, char *out,
                    size_t len)
{
    switch (c) {
    case C_RUN: snprintf(out, len, "%s", r->id); break;
    case C_KERNEL: words_kernel(r, out, len); break;
    case C_FEATURES: snprintf(out, len, "%s", t->features); break;
    case C_RANK: snprintf(out, len, "%s", t->rank); break;
    case C_IT: snprintf(out, len, "%s", t->it); break;
    case C_RESIDUAL: snprintf(out, len, "%s", t->resid); break;
    case C_NMLL: snprintf(out, len, "%s", t->nmll); break;
    case C_RMSE: snprintf(out, len, "%s", t->rmse); break;
    case C_COVER: snprintf(out, len, "%s", t->cover); break;
    case C_TIME: snprintf(out, len, "%s", t->time); break;
    default: snprintf(out, len, "%s", r->note ? r->note : ""); break;
    }
}

/* The left edges of the columns that fit; -1 for the others. */
static void place_columns(const struct runs_state *s, const struct canvas *c, int x[N_COLUMNS],
                          int w[N_COLUMNS])
{
    int at = 2;
    for (int j = 0; j < N_COLUMNS; j++) {
        w[j] = j == C_KERNEL && c->w >= 100 ? 18 : columns[j].w;
        x[j] = -1;
        if (s->hidden & 1u << j || c->w < columns[j].min)
            continue;
        if (j == C_NOTE) {
            w[j] = c->w - at - 2;
            x[j] = w[j] >= 5 ? at + 1 : -1;
        } else if (at + w[j] <= c->w) {
            x[j] = at;
            at += w[j] + 1;
        }
    }
}

static void draw_head(const struct view *v, const struct canvas *c, const int *x, const int *w)
{
    const struct runs_state *s = v->state;
    for (int j = 0; j < N_COLUMNS; j++) {
        char head[24];
        if (x[j] < 0)
            continue;
        const bool by = abs(s->sort) == j + 1;
        snprintf(head, sizeof head, "%s%s", columns[j].head, !by ? "" : s->sort > 0 ? "<" : ">");
        const bool cursor =
            (int)s->col == j && v->desk->focus == FOCUS_VIEW && desk_view(v->desk) == v;
        draw_field(c, 0, x[j], w[j], columns[j].right, theme_attr(cursor ? R_SELECT : R_COLUMN),
                   head);
    }
}

static void draw_run(const struct view *v, const struct canvas *c, int row, const struct run *r,
                     bool on, const int *x, const int *w)
{
    struct cells t;
    char cell[200];
    const unsigned long a = theme_attr(on ? R_SELECT : role_of(r));
    cells_fill(r, desk_now(), &t);
    if (on)
        draw_fill(c, row, 0, c->w, a, " ");
    const char head[3] = { desk_marked(v->desk, r) ? '*' : ' ', words_glyph(r), 0 };
    draw_text(c, row, 0, a, head);
    for (int j = 0; j < N_COLUMNS; j++) {
        if (x[j] < 0)
            continue;
        cell_of(r, &t, (enum run_col)j, cell, sizeof cell);
        if (j == C_NOTE) {
            if (r->star)
                draw_text(c, row, x[j], a, theme_glyph.star);
            draw_safe(c, row, x[j] + (r->star ? 2 : 0), w[j] - 2, a, cell);
        } else {
            draw_field(c, row, x[j], w[j], columns[j].right, a, cell);
        }
    }
}

static void draw_wide(struct view *v, const struct canvas *c)
{
    struct runs_state *s = v->state;
    const struct desk *d = v->desk;
    int x[N_COLUMNS], w[N_COLUMNS];
    place_columns(s, c, x, w);
    draw_head(v, c, x, w);
    v->page = c->h - 1;
    s->y0 = 1;
    size_t at = selected_index(d);
    scroll_to(s, at, d->table.nshown, v->page);
    for (int i = 0; i < v->page && s->top + (size_t)i < d->table.nshown; i++)
        draw_run(v, c, i + 1, d->table.shown[s->top + (size_t)i], s->top + (size_t)i == at, x, w);
    if (d->table.nshown == 0)
        draw_text(c, 1, 2, theme_attr(R_DIM), "no run matches; q shows all runs again");
}

static void runs_draw(struct view *v, const struct canvas *c)
{
    if (v->desk->ws->nrun == 0) {
        draw_paragraph(
            c, 1, 2, theme_attr(R_DIM),
            "No runs yet. A tuning (tune) finds the hyperparameters, a fit (fit) makes a "
            "model; each becomes a row here.");
        return;
    }
    draw_wide(v, c);
}

static void open_run(struct desk *d, const struct run *r)
{
    char title[64];
    struct buf b = { 0 };
    words_details(r, &b);
    snprintf(title, sizeof title, "Run %s", r->id);
    desk_page(d, title, buf_str(&b));
    buf_free(&b);
}

/* Moves to the next visible column. */
static void move_column(struct view *v, int by)
{
    struct runs_state *s = v->state;
    int x[N_COLUMNS], w[N_COLUMNS], j = (int)s->col;
    place_columns(s, &v->at, x, w);
    do
        j += by;
    while (j >= 0 && j < N_COLUMNS && x[j] < 0);
    if (j >= 0 && j < N_COLUMNS)
        s->col = (enum run_col)j;
}

static void runs_sort_next(struct desk *d, int column)
{
    struct runs_state *s = d->view[VIEW_RUNS].state;
    s->sort = s->sort == column + 1 ? -(column + 1) : s->sort == -(column + 1) ? 0 : column + 1;
}

static bool table_act(struct view *v, enum act act)
{
    struct runs_state *s = v->state;
    switch (act) {
    case ACT_LEFT: move_column(v, -1); return true;
    case ACT_RIGHT: move_column(v, 1); return true;
    case ACT_SORT: runs_sort_next(v->desk, (int)s->col); return true;
    case ACT_HIDE:
        if (s->col != C_RUN) {
            s->hidden |= 1u << s->col;
            move_column(v, -1);
        }
        return true;
    case ACT_SHOW_ALL: s->hidden = 0; return true;
    default: return false;
    }
}

static bool runs_act(struct view *v, enum act act)
{
    struct desk *d = v->desk;
    struct run *r = desk_selected(d);
    int page = v->page > 1 ? v->page - 1 : 1;
    switch (act) {
    case ACT_UP: runs_move(d, -1); return true;
    case ACT_DOWN: runs_move(d, 1); return true;
    case ACT_PGUP: runs_move(d, -page); return true;
    case ACT_PGDN: runs_move(d, page); return true;
    case ACT_TOP: runs_move(d, -1000000); return true;
    case ACT_END: runs_move(d, 1000000); return true;
    case ACT_MARK:
        if (r) {
            desk_mark(d, r);
            runs_move(d, 1);
        }
        return true;
    case ACT_OPEN:
        if (r)
            open_run(d, r);
        return true;
    default: return v->ops == &runs_view && table_act(v, act);
    }
}

static bool runs_filter(struct view *v, const char *what)
{
    struct desk *d = v->desk;
    free(d->table.filter);
    d->table.filter = *what ? strdup(what) : NULL;
    runs_list(d);
    if (d->table.nshown && selected_index(d) == SIZE_MAX)
        snprintf(d->sel, sizeof d->sel, "%s", d->table.shown[0]->id);
    return true;
}

static bool runs_find(struct view *v, const char *what, int dir)
{
    struct desk *d = v->desk;
    const size_t at = selected_index(d);
    for (size_t k = 1; k <= d->table.nshown; k++) {
        const size_t ahead = dir > 0 ? k : d->table.nshown - k;
        const size_t i = ((at == SIZE_MAX ? 0 : at) + ahead) % d->table.nshown;
        if (passes(d->table.shown[i], what)) {
            snprintf(d->sel, sizeof d->sel, "%s", d->table.shown[i]->id);
            return true;
        }
    }
    return false;
}

static void copy_row(const struct run *r, char sep, struct buf *b)
{
    struct cells t;
    char cell[400];
    cells_fill(r, desk_now(), &t);
    for (int j = 0; j < N_COLUMNS; j++) {
        if (j == C_KERNEL)
            snprintf(cell, sizeof cell, "%s", r->kernel_text ? r->kernel_text : "");
        else
            cell_of(r, &t, (enum run_col)j, cell, sizeof cell);
        text_csv(b, cell);
        buf_putc(b, j + 1 < N_COLUMNS ? sep : '\n');
    }
}

static bool runs_copy(struct view *v, bool all, struct buf *b)
{
    const struct runs_state *s = v->state;
    const struct desk *d = v->desk;
    const struct run *r = desk_selected(d);
    char cell[400];
    struct cells t;
    if (!all && r) {
        cells_fill(r, desk_now(), &t);
        cell_of(r, &t, v->ops == &runs_view ? s->col : C_RUN, cell, sizeof cell);
        buf_puts(b, cell);
        return b->len > 0;
    }
    for (int j = 0; j < N_COLUMNS; j++)
        buf_printf(b, "%s%c", columns[j].head, j + 1 < N_COLUMNS ? ',' : '\n');
    for (size_t i = 0; i < d->table.nshown; i++)
        copy_row(d->table.shown[i], ',', b);
    return d->table.nshown > 0;
}

static void runs_click(struct view *v, int row, int col)
{
    struct runs_state *s = v->state;
    struct desk *d = v->desk;
    if (row < s->y0 && v->ops == &runs_view) {       /* a click on the heading sorts by it */
        int x[N_COLUMNS], w[N_COLUMNS];
        place_columns(s, &v->at, x, w);
        for (int j = 0; j < N_COLUMNS; j++)
            if (x[j] >= 0 && col >= x[j] && col < x[j] + w[j]) {
                s->col = (enum run_col)j;
                runs_sort_next(d, j);
            }
        return;
    }
    const size_t i = s->top + (size_t)(row - s->y0);
    if (row >= s->y0 && i < d->table.nshown)
        snprintf(d->sel, sizeof d->sel, "%s", d->table.shown[i]->id);
}

static void runs_verdict(struct view *v, struct buf *b)
{
    const struct run *r = desk_selected(v->desk);
    if (r)
        words_line(r, b);
}

static void runs_title(struct view *v, struct buf *b)
{
    const struct desk *d = v->desk;
    if (d->table.filter) {
        buf_printf(b, ": %zu of %zu with '", d->table.nshown, d->ws->nrun);
        text_safe(b, d->table.filter, 30);
        buf_puts(b, "'");
    } else if (d->ws->nrun) {
        buf_printf(b, ": %zu", d->ws->nrun);
    }
    if (d->nmarks)
        buf_printf(b, ", %zu marked", d->nmarks);
}

static const struct keyrow keys[] = {
    {"Enter", ACT_OPEN, "open", "all that is known about the run", NULL, 0},
    {"Left h", ACT_LEFT, "column-before", "another column", NULL, 0},
    {"Right l", ACT_RIGHT, "column-after", "another column", NULL, 0},
    {"s", ACT_SORT, "sort", "sort by the column; again: reversed; again: in order of making",
     NULL, KIND_TABLE},
    {"f", ACT_FILTER, "filter", "show only runs that match what you type", NULL, 0},
    {"-", ACT_HIDE, "hide", "hide the column", NULL, KIND_TABLE},
    {"0", ACT_SHOW_ALL, "columns", "all columns again", NULL, KIND_TABLE},
    {"p", ACT_NONE, "plot", "plot the run", "plot {plot}", 0},
    {"S", ACT_NONE, "score", "score a fit on its test rows", "score {run}", 0},
    {"m", ACT_NONE, "note", "write a note: the line waits on the prompt", "note {run} ", 0},
    {"K", ACT_NONE, "stop", "stop the run and keep its best result", "stop {run}", 0},
    {NULL, ACT_NONE, NULL, NULL, NULL, 0},
};
static void runs_plot(const struct view *v, struct buf *b)
{
    const struct run *r = desk_selected(v->desk);
    if (r)
        buf_printf(b, "%s %s", r->kind == RUN_FIT ? "residual" : "nmll", r->id);
}

const struct view_ops runs_view = {
    .tab = "Runs",
    .title = "Runs",
    .about = "Every tuning (t1, t2, ..) and fit (r1, r2, ..). In front: > runs, . waits, ! "
             "stopped before it reached its tolerance, ~ stopped by you, x failed, * marked. RMSE "
             "is in units of the target; cover95 is the share of rows inside the 95 % interval: "
             "near 0.95 is honest.",
    .keys = keys,
    .kinds = KIND_TABLE | KIND_RUNS,
    .news = VIEW_NEWS_FIT,
    .beside = VIEW_RESIDUAL,
    .state_size = sizeof(struct runs_state),
    .draw = runs_draw,
    .act = runs_act,
    .verdict = runs_verdict,
    .title_more = runs_title,
    .plot_words = runs_plot,
    .find = runs_find,
    .filter = runs_filter,
    .copy = runs_copy,
    .click = runs_click,
};

/* The left column of a wide screen. */

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
    draw_fill(c, row++, 0, c->w, theme_attr(R_RULE), theme_glyph.h);
    if (ws->nrun == 0) {
        draw_text(c, row, 1, theme_attr(R_DIM), "no runs yet");
        return;
    }
    draw_printf(c, row++, 0, theme_attr(R_COLUMN), "  %-3s %-10s %6s %10s", "run", "kernel", "it",
                "NMLL/RMSE");
    v->page = c->h - row;
    s->y0 = row;
    size_t at = selected_index(d);
    scroll_to(s, at, d->table.nshown, v->page);
    for (int i = 0; i < v->page && s->top + (size_t)i < d->table.nshown; i++) {
        const struct run *r = d->table.shown[s->top + (size_t)i];
        struct cells t;
        cells_fill(r, desk_now(), &t);
        bool on = s->top + (size_t)i == at;
        unsigned long a = theme_attr(on ? R_SELECT : role_of(r));
        if (on)
            draw_fill(c, row + i, 0, c->w, a, " ");
        char head[3] = { desk_marked(d, r) ? '*' : ' ', words_glyph(r), 0 };
        draw_text(c, row + i, 0, a, head);
        draw_field(c, row + i, 2, 4, false, a, r->id);
        if (r->star)
            draw_text(c, row + i, c->w - 1, a, theme_glyph.star);
        char kernel[40];
        words_kernel(r, kernel, sizeof kernel);
        draw_field(c, row + i, 6, 10, false, a, kernel);
        draw_field(c, row + i, 17, 6, true, a, t.it);
        draw_field(c, row + i, 24, 10, true, a, r->kind == RUN_FIT ? t.rmse : t.nmll);
    }
}

const struct view_ops runs_list_view = {
    .tab = "",
    .title = "Data & runs",
    .about = "",
    .keys = keys,
    .kinds = KIND_RUNS,
    .state_size = sizeof(struct runs_state),
    .draw = list_draw,
    .act = runs_act,
    .plot_words = runs_plot,
    .find = runs_find,
    .filter = runs_filter,
    .copy = runs_copy,
    .click = runs_click,
};
