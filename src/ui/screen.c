/* ui/screen.c -- decides what goes where, and draws it. See screen.h. */
#include "ui/screen.h"

#include "app/core/job.h"
#include "app/runs/restarts.h"
#include "app/session/store.h"
#include "app/session/timeline.h"
#include "app/core/trace.h"
#include "app/core/workspace_exec.h"
#include "base/mem.h"
#include "base/text.h"
#include "ui/prompt.h"
#include "ui/views/runs.h"
#include "ui/views/words.h"

#include <math.h>
#include <stdint.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Layout. */

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* Takes n rows from the bottom or the top of the rest. */
static struct canvas take_bottom(struct canvas *left, int n)
{
    n = least(n, left->h);
    left->h -= n;
    return (struct canvas){ left->y + left->h, left->x, n, left->w };
}

static struct canvas take_top(struct canvas *left, int n)
{
    n = least(n, left->h);
    struct canvas r = { left->y, left->x, n, left->w };
    left->y += n;
    left->h -= n;
    return r;
}

/* 80x24 and below: one view above the log. The view loses height first, then the other parts are
 * dropped. */
static void layout_small(struct canvas left, int rows, int log_rows, struct layout *l)
{
    const bool only_log = log_rows < 0;     /* the log fills the view, so there is no strip of it */
    l->header = take_top(&left, 1);
    if (rows >= 12)
        l->tabs = take_top(&left, 1);
    if (rows >= 18)
        l->rule1 = take_top(&left, 1);
    if (rows >= 10 && !only_log) {
        int want = rows >= 16 ? 2 + most(0, rows - 24) / 4 : 1;
        if (log_rows > want)
            want = least(log_rows, most(want, rows / 4));
        if (rows >= 18)
            l->rule3 = take_bottom(&left, 1);
        l->log = take_bottom(&left, want);
        if (rows >= 14)
            l->rule2 = take_bottom(&left, 1);
    } else if (rows >= 10) {
        l->rule3 = take_bottom(&left, 1);
    } else if (log_rows > 1) {          /* the message of a line, until the view gets the focus */
        l->log = take_bottom(&left, least(left.h - 1, least(log_rows - 1, SMALL_NEWS)));
    }
    if (rows >= 9)
        l->verdict = take_bottom(&left, 1);
    l->main = left;
}

static int between(int v, int lo, int hi)
{
    return v > hi ? most(lo, hi) : v < lo ? lo : v;
}

/* The log has at least 5 rows and at most a quarter of the screen. */
static void layout_medium(struct canvas left, int rows, const struct layout_wish *w,
                          struct layout *l)
{
    l->frames = true;
    l->header = take_top(&left, 1);
    l->tabs = take_top(&left, 1);
    /* Neighbouring panes share the line between them, so each begins on the edge of the last
     * one. */
    const int low =
        between(most(rows >= MEDIUM_ROWS ? 9 : 6, rows * 3 / 10) + w->dy, 4, left.h - 8);
    const int up = left.h - low + 1;
    const int list = between((left.w >= 100 ? 40 : 32) + w->dx, 24, left.w - 40);
    const int y = left.y + up - 1, x = left.x + list - 1;
    l->list = (struct canvas){ left.y, left.x, up, list };
    l->main = (struct canvas){ left.y, x, up, left.w - list + 1 };
    l->inspector = (struct canvas){ y, left.x, low, list };
    l->log = (struct canvas){ y, x, low, left.w - list + 1 };
}

static void layout_wide(struct canvas left, int rows, const struct layout_wish *w, struct layout *l)
{
    l->frames = true;
    l->header = take_top(&left, 1);
    l->tabs = take_top(&left, 1);
    const int low = between(most(9, rows / 5) + w->dy, 4, left.h - 24);
    const int up = left.h - low + 1, right = most(46, left.w * 3 / 10);
    const int list = between(42 + w->dx, 24, left.w - right - 40), mid = left.w - list - right + 2;
    const int half = (up + 1) / 2, notes = most(11, up / 4);
    const int x1 = left.x + list - 1, x2 = x1 + mid - 1, y2 = left.y + half - 1;
    l->list = (struct canvas){ left.y, left.x, up, list };
    l->main = (struct canvas){ left.y, x1, half, mid };
    l->second = (struct canvas){ y2, x1, up - half + 1, mid };
    l->inspector = (struct canvas){ left.y, x2, up - notes + 1, right };
    l->notes = (struct canvas){ left.y + up - notes, x2, notes, right };
    l->log = (struct canvas){ left.y + up - 1, left.x, low, left.w };
}

/* One pane alone: a zoomed one, or the slide of a talk (a header line, the plot, its verdict). The
 * message of the last command is shown below it until the view gets the focus, because an error
 * would otherwise go unseen. */
static void layout_alone(struct canvas left, int rows, const struct layout_wish *w,
                         struct layout *l)
{
    if (!w->full)
        l->header = take_top(&left, 1);
    if (w->log_rows > 1)
        l->log = take_bottom(&left, least(most(1, left.h / 3), w->log_rows - 1));
    if (l->log.h && rows >= 16)
        l->rule2 = take_bottom(&left, 1);
    if (rows >= 12)
        l->verdict = take_bottom(&left, 1);
    l->main = left;
}

static enum layout_kind fitting(int rows, int cols, enum layout_kind kind)
{
    if (kind == LAYOUT_AUTO)
        return cols >= 160 && rows >= 45 ? LAYOUT_THREE
             : cols >= MEDIUM_COLS && rows >= MEDIUM_ROWS ? LAYOUT_TWO : LAYOUT_MAIN;
    if (kind == LAYOUT_THREE && (cols < 130 || rows < 40))
        kind = LAYOUT_TWO;
    if (kind == LAYOUT_TWO && (cols < 80 || rows < 24))
        kind = LAYOUT_MAIN;
    return kind;
}

enum layout_kind screen_layout(int rows, int cols, const struct layout_wish *w, struct layout *l)
{
    struct canvas left = { 0, 0, rows, cols };
    enum layout_kind kind = fitting(rows, cols, w->kind);
    memset(l, 0, sizeof *l);
    l->prompt = take_bottom(&left, most(1, least(w->prompt_rows, rows / 3)));
    if (rows < 5 || cols < 20)
        return LAYOUT_MAIN;
    l->job = take_bottom(&left, 1);
    if (rows < 8 || cols < 40) {
        l->log = left;               /* as much as there is room for */
        return LAYOUT_MAIN;
    }
    if (w->zoom || w->full || kind == LAYOUT_SLIDE)
        layout_alone(left, rows, w, l);
    else if (kind == LAYOUT_THREE)
        layout_wide(left, rows, w, l);
    else if (kind == LAYOUT_TWO)
        layout_medium(left, rows, w, l);
    else
        layout_small(left, rows, w->log_rows, l);
    return kind;
}

enum layout_kind screen_layout_named(const char *name)
{
    static const char *const names[] = { "auto", "main", "two", "three", "slide" };
    for (int i = 0; i < 5; i++)
        if (strcmp(names[i], name) == 0)
            return (enum layout_kind)i;
    return LAYOUT_AUTO;
}

/* The header: the current data and settings. */

static size_t resident_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    unsigned long all = 0, rss = 0;
    if (f) {
        if (fscanf(f, "%lu %lu", &all, &rss) != 2)
            rss = 0;
        fclose(f);
    }
    return rss * (size_t)sysconf(_SC_PAGESIZE);
}

/* "kin40k 36,000 x 8 -> y  matern(nu=5/2)  features=8192 rank=512 seed=7" */
static void current_words(const struct workspace *ws, struct buf *b)
{
    char a[32];
    if (ws->cur < ws->ndata) {
        const struct dataset *d = ws->data[ws->cur];
        const char *target = "no target";
        size_t inputs = 0;
        for (size_t j = d->table->ncols; j-- > 0;) { /* the first of several */
            inputs += d->role[j] == ROLE_INPUT;
            if (d->role[j] == ROLE_TARGET)
                target = d->table->col[j].name;
        }
        text_safe(b, d->name, 24);
        text_count(a, sizeof a, d->table->n);
        buf_printf(b, " %s x %zu %s ", a, inputs, theme_glyph.utf8 ? theme_glyph.arrow : "->");
        text_safe(b, target, 20);
        if (dataset_targets(d) > 1)
            buf_printf(b, " +%zu", dataset_targets(d) - 1);
    } else {
        buf_puts(b, "no data");
    }
    struct buf k = { 0 };
    kernel_print(&ws->kernel, &k);
    buf_puts(b, "  ");
    text_safe(b, buf_str(&k), 30);
    buf_free(&k);
    for (size_t i = ws->nrun; i-- > 0;) {
        const struct run *r = ws->run[i];
        if (r->kind != RUN_FIT)
            continue;
        bool over = r->info.solver[0] != '\0';
        size_t m = over ? r->info.features : r->fit.features;
        size_t rank = over ? r->info.rank : r->fit.rank;
        if (over && !run_model_kind(r)->draws)
            buf_printf(b, "  %s", r->info.solver);
        else if (m)
            buf_printf(b, "  features=%zu", m);
        if (rank)
            buf_printf(b, " rank=%zu", rank);
        break;
    }
    buf_printf(b, " seed=%llu", (unsigned long long)ws->opt.seed);
}

static void session_words(const struct workspace *ws, struct buf *b)
{
    if (!store_of(ws)) {
        buf_puts(b, "session: none");
        return;
    }
    const char *path = store_path(store_of(ws)), *base = path ? strrchr(path, '/') : NULL;
    buf_puts(b, "session: ");
    text_safe(b, base ? base + 1 : path ? path : "", 24);
    if (*store_trouble(store_of(ws))) {
        buf_puts(b, " NOT SAVED");
        return;
    }
    if (store_unsaved(store_of(ws)) >= STORE_UNSAVED_SHOWN) {
        buf_puts(b, " (not saved yet)");
        return;
    }
    time_t t = (time_t)store_saved_at(store_of(ws));
    struct tm tm;
    char s[32];
    if (t && localtime_r(&t, &tm) && strftime(s, sizeof s, "%H:%M:%S", &tm))
        buf_printf(b, " (saved %s)", s);
}

/* named: the view whose name is shown here if there is no row of tabs, otherwise NULL. */
static void draw_header(const struct desk *d, const struct canvas *c, const struct view_ops *named)
{
    const struct workspace *ws = d->ws;
    struct buf b = { 0 };
    char used[24], all[24];
    draw_fill(c, 0, 0, c->w, theme_attr(R_HEAD_DIM), " ");
    const char *focus = d->focus == FOCUS_VIEW ? "[view]" : "[prompt]";
    int right = c->w - (int)strlen(focus) - 1;
    draw_text(c, 0, right, theme_attr(R_HEAD), focus);
    struct canvas in = draw_inner(c, 0, 0, 1, right - 1);
    int x = 2;
    if (named)
        x += draw_printf(&in, 0, 0, theme_attr(R_TAB_ON), "[%c %s]", view_key(named),
                         named->tab) - 1;
    else
        x += draw_text(&in, 0, 1, theme_attr(R_HEAD), "gpdesk");
    if (timeline_view(ws) != SIZE_MAX) /* an earlier state is shown, which nothing can change */
        x += draw_printf(&in, 0, x, theme_attr(R_SELECT),
                         " as after command %zu: read-only, ] later ", timeline_view(ws)) +
             1;
    current_words(ws, &b);
    for (char *last; (int)text_width(buf_str(&b)) > in.w - x && (last = strrchr(b.s, ' '));)
        b.s[b.len = (size_t)(last - b.s)] = '\0'; /* only whole words */
    const char *arrow = theme_glyph.utf8 ? theme_glyph.arrow : "->";
    const size_t tail = strlen(arrow) + 1;
    if (b.len > tail && strcmp(b.s + b.len - tail + 1, arrow) == 0)
        b.s[b.len -= tail] = '\0';               /* cut to the part that fits */
    x += draw_text(&in, 0, x, theme_attr(R_HEAD_DIM), buf_str(&b)) + 3;
    struct buf piece[4] = { { 0 } };          /* as many pieces as fit, in this order */
    size_t mem = ws->opt.mem ? ws->opt.mem : mem_physical();
    if (store_of(ws) || c->w >= 150)
        session_words(ws, &piece[0]);
    mem_format(used, sizeof used, (double)resident_bytes());
    mem_format(all, sizeof all, (double)mem);
    buf_printf(&piece[1], "memory %s of %s", used, all);
    buf_printf(&piece[2], "%zu thread%s", ws->opt.threads, ws->opt.threads == 1 ? "" : "s");
    buf_printf(&piece[3], "theme %s", theme_name());
    int end = in.w - 1;
    for (size_t i = 0; i < 4; i++) {
        const char *s = buf_str(&piece[i]);
        int w = (int)text_width(s);
        if (w && x + w + 2 <= end) {
            draw_text(&in, 0, end - w, theme_attr(R_HEAD_DIM), s);
            end -= w + 3;
        }
        buf_free(&piece[i]);
    }
    buf_free(&b);
}

static void draw_tabs(struct desk *d, const struct canvas *c)
{
    int x = 0;
    draw_fill(c, 0, 0, c->w, theme_attr(R_TAB), " ");
    for (size_t i = 0; i < N_VIEWS; i++) {
        char s[40];
        bool on = i == d->main;
        const struct view_ops *o = view_table[i];
        snprintf(s, sizeof s, on ? "[%c %s]" : " %c %s ", view_key(o),
                 c->w >= 100 ? o->title : o->tab);
        const int w = draw_text(c, 0, x, theme_attr(on ? R_TAB_ON : R_TAB), s);
        d->panes.tab[i] = (struct canvas){ c->y, c->x + x, 1, w };
        x += w;
    }
    if (c->w - x > 10)
        draw_text(c, 0, c->w - 8, theme_attr(R_TAB), "F1 help");
}

/* The job line. */

static void value_words(const struct job_view *j, bool wide, struct buf *b)
{
    const struct tick *t = &j->tick;
    char s[40];
    const enum phase_kind kind = phase_kind(t->phase);
    if (isnan(t->value))
        return;
    if (kind == PHASE_SEARCH) {
        text_number(s, sizeof s, t->value2);
        buf_printf(b, "   best %s %s", t->phase == PHASE_TUNE ? "NMLL" : phase_value(t->phase), s);
    } else if (kind == PHASE_CHOICE) {
        text_number(s, sizeof s, t->value2);
        buf_printf(b, "   best %s %s", phase_value(t->phase), s);
    } else if (kind == PHASE_RESIDUAL && !isnan(t->target)) {
        buf_printf(b, "   %s %.1e %s %.0e", solver_estimates(t->method) ? "estimate" : "resid",
                   t->value, theme_glyph.utf8 ? theme_glyph.arrow : "->", t->target);
        const struct trace_fit *f = &j->progress.fit;
        if (wide && f->rate < 1 && f->r2 >= 0.5)
            buf_printf(b, "   x%.3g/it", f->rate);
    }
}

/* A key that is being taught: the line it will run. */
static void draw_lesson(const struct desk *d, const struct canvas *c)
{
    struct buf b = { 0 };
    keymap_keys(d->learn.row, NULL, false, &b);
    int x = draw_text(c, 0, 1, theme_attr(R_KEY), buf_str(&b));
    x += draw_text(c, 0, x + 1, theme_attr(R_DIM), "=") + 2;
    buf_clear(&b);
    text_safe(&b, d->learn.line ? d->learn.line : "", 0);
    x += draw_text(c, 0, x + 1, theme_attr(R_COMMAND), buf_str(&b)) + 1;
    draw_text(c, 0, x + 3, theme_attr(R_DIM), "Enter runs it   Esc does not   (set learn=off)");
    buf_free(&b);
}

/* When nothing runs: keys worth knowing. */
static void draw_idle(const struct desk *d, const struct canvas *c)
{
    static const char *const keys[2][7] = {
        { "F1 help", "F2 find", "Tab completes", "Alt-digit views", "Esc view keys", NULL },
        { "i prompt", "? keys", "1-9 views", "Tab pane", "z zoom", "q close", NULL },
    };
    int x = 1 + draw_text(c, 0, 1, theme_attr(R_GOOD), "ready");
    for (const char *const *k = keys[d->focus == FOCUS_VIEW]; *k && x + 3 + (int)strlen(*k) <= c->w;
         k++)
        x += 3 + draw_text(c, 0, x + 3, theme_attr(R_DIM), *k);
}

/* Ctrl-D while something runs asks once. */
static void draw_quit_question(const struct desk *d, const struct canvas *c, int x)
{
    const size_t n = jobs_count(d->ws->jobs);
    draw_printf(c, 0, x, theme_attr(R_WARN),
                "   %zu job%s: Ctrl-D again stops %s, keeps the best so far, and quits", n,
                n == 1 ? "" : "s", n == 1 ? "it" : "them");
}

/* The phase, how far it is, how fast, and how long it still takes. */
static void job_status(const struct desk *d, const struct job_view *j, const struct run *r,
                       int width, struct buf *b)
{
    const struct tick *t = &j->tick;
    const char *what = j->stopping ? "stopping"
                       : t->method ? t->method
                       : t->phase  ? phase_word(t->phase)
                       : j->verb   ? j->verb
                                   : "";
    char s[40];
    if (strcmp(what, j->name) != 0)
        buf_printf(b, " %s", what);
    if (t->phase && t->total)
        buf_printf(b, " %zu/%zu", t->done, t->total);
    if (r && r->kind == RUN_TUNE && r->topt.restarts > 1)
        buf_printf(b, " of restart %zu/%zu", r->topt.restart + 1, r->topt.restarts);
    value_words(j, width >= 90, b);
    const double rate = j->progress.rate, left = j->progress.left;
    if (!isnan(rate) && rate > 0 && width >= 60) {
        if (rate >= 0.3)
            buf_printf(b, "   %.3g /s", rate);
        else
            buf_printf(b, "   %.2g s each", 1 / rate);
    }
    text_seconds(s, sizeof s, isnan(left) ? j->seconds : left);
    buf_printf(b, "   %s%s", s, isnan(left) ? "" : " left");
    const size_t more = jobs_count(d->ws->jobs) + workspace_waiting(d->ws);
    if (more > 1)
        buf_printf(b, "   +%zu", more - 1);
}

static void draw_job(const struct desk *d, const struct canvas *c)
{
    struct job_view j;
    struct buf b = { 0 };
    if (d->learn.row) {
        draw_lesson(d, c);
        return;
    }
    if (!jobs_view(d->ws->jobs, 0, &j)) {
        draw_idle(d, c);
        return;
    }
    int x = draw_printf(c, 0, 0, theme_attr(R_ACCENT), " %s", j.name);
    if (d->quit_asked) {
        draw_quit_question(d, c, x);
        return;
    }
    const struct run *r = desk_find(d, j.name);
    job_status(d, &j, r, c->w, &b);
    x += draw_text(c, 0, x, theme_attr(j.stopping ? R_WARN : R_TEXT), buf_str(&b)) + 3;
    buf_free(&b);
    const char *stop = c->w < 100                     ? ""
                     : r && restarts_left(d->ws, r, 1) ? "   Ctrl-C stops all restarts"
                                                       : "   Ctrl-C stops";
    const double share = j.progress.share;
    const int room = c->w - x - 7 - (int)strlen(stop);
    if (!isnan(share) && room >= 8) {
        int w = least(room, 40);
        draw_text(c, 0, x, theme_attr(R_DIM), "[");
        draw_bar(c, 0, x + 1, w - 2, share);
        draw_text(c, 0, x + w - 1, theme_attr(R_DIM), "]");
        x += w + draw_printf(c, 0, x + w, theme_attr(R_TEXT), " %3.0f%%", 100 * share);
    }
    draw_text(c, 0, x, theme_attr(R_DIM), stop);
}

/* Panes. */

/* Rows of a table keep their columns: they are cut and scrolled sideways instead of wrapped. */
static bool is_table_row(const char *s)
{
    size_t gaps = 0;
    for (s += strspn(s, " "); *s; s++)
        gaps += s[0] == ' ' && s[1] == ' ' && s[2] && s[2] != ' ';
    return gaps >= 3;
}

static int draw_table_row(struct pager *p, const struct canvas *c, const char *s)
{
    s += text_fit(s, p->left);
    if ((int)text_width(s) <= c->w - 1) {
        draw_text(c, 0, 1, theme_attr(R_TEXT), s);
        return 1;
    }
    struct canvas in = draw_inner(c, 0, 1, 1, c->w - 2);
    int w = draw_text(&in, 0, 0, theme_attr(R_TEXT), s);
    draw_text(c, 0, 1 + w, theme_attr(R_DIM), theme_glyph.dots);
    p->cut = true;
    return 1;
}

static void draw_pager(struct desk *d, const struct canvas *screen)
{
    struct pager *p = &d->pager;
    size_t row = 0;
    struct canvas whole = *screen, body = whole, *c = &body;
    draw_clear(c);
    if (p->rows > (size_t)c->h && c->h > 2)
        body.h--;                              /* the last row shows the position */
    p->page = c->h;
    p->width = c->w;
    p->cut = p->left > 0;
    if (p->top + (size_t)c->h > p->rows)
        p->top = p->rows > (size_t)c->h ? p->rows - (size_t)c->h : 0;
    struct buf line = { 0 };
    size_t total = 0;
    for (const char *s = p->text; s && *s;) {
        const char *nl = strchr(s, '\n');
        size_t n = nl ? (size_t)(nl - s) : strlen(s), from = total;
        char *raw = strndup(s, n), *tab = raw ? strchr(raw, '\t') : NULL;
        if (!raw)
            break;
        buf_clear(&line);
        text_safe(&line, tab ? tab + 1 : raw, 0);
        int col = tab ? least(18, c->w / 3) : 0, w = c->w - 1 - col;
        bool table = is_table_row(buf_str(&line));
        size_t in_by = draw_indent(buf_str(&line));
        size_t rows = w > 0 && !table ? draw_wrap(buf_str(&line), (size_t)w, in_by, NULL, NULL) : 1;
        total += rows;
        if (from + rows > p->top && row < (size_t)c->h) {
            struct canvas in = draw_inner(c, (int)row, col, c->h - (int)row, w);
            size_t skip = from < p->top ? p->top - from : 0;
            if (tab) {
                *tab = '\0';
                draw_text(c, (int)row, 1, theme_attr(R_KEY), raw);
            }
            if (table)
                row += (size_t)draw_table_row(p, &in, buf_str(&line));
            else if (skip == 0)
                row += (size_t)draw_paragraph(&in, 0, 1, theme_attr(R_TEXT), buf_str(&line));
            else
                row += rows - skip;
        }
        free(raw);
        s = nl ? nl + 1 : NULL;
    }
    p->rows = total;
    buf_free(&line);
    if (body.h < whole.h)
        draw_printf(&whole, whole.h - 1, 1, theme_attr(R_SELECT),
                    " %zu-%zu of %zu   PgUp PgDn%s   Esc closes ", p->top + 1,
                    p->top + (size_t)c->h, total, p->cut ? " Left Right" : "");
    else if (total > (size_t)whole.h)
        d->dirty = true;                       /* only now is it known that it does not fit */
}

static size_t line_rows(const struct pager *p, const char *line, size_t n);

/* A page about the view's plot is placed above it if there is room for both. *view is the rest of
 * the room, with height 0 if there is none. */
static struct canvas page_place(struct desk *d, const struct canvas *all, struct canvas *view)
{
    enum { PLOT_LEAST = 6 };
    struct pager *p = &d->pager;
    struct canvas page = *all;
    size_t rows = 1;                           /* a line below it */
    *view = draw_inner(all, all->h, 0, 0, all->w);
    p->width = all->w;
    for (const char *s = p->text; s && *s && p->beside;) {
        const size_t n = strcspn(s, "\n");
        rows += line_rows(p, s, n);
        s += n + (s[n] == '\n');
    }
    if (!p->beside || all->h < 2 * PLOT_LEAST)
        return page;
    page.h = least(rows < 1000 ? (int)rows : 1000, most(all->h * 3 / 5, all->h - 16));
    *view = draw_inner(all, page.h, 0, all->h - page.h, all->w);
    page.h--;
    draw_fill(all, page.h, 0, all->w, theme_attr(R_RULE), theme_glyph.h);
    return page;
}

/* The number of rows that a line of the page takes. */
static size_t line_rows(const struct pager *p, const char *line, size_t n)
{
    char *raw = strndup(line, n), *tab = raw ? strchr(raw, '\t') : NULL;
    struct buf b = { 0 };
    if (!raw)
        return 1;
    text_safe(&b, tab ? tab + 1 : raw, 0);
    const int w = p->width - 1 - (tab ? least(18, p->width / 3) : 0);
    const size_t rows =
        w > 0 && !is_table_row(buf_str(&b))
            ? draw_wrap(buf_str(&b), (size_t)w, draw_indent(buf_str(&b)), NULL, NULL)
            : 1;
    buf_free(&b);
    free(raw);
    return rows;
}

bool screen_pager_find(struct desk *d, const char *what, int dir)
{
    struct pager *p = &d->pager;
    size_t row = 0, best = SIZE_MAX;
    for (const char *s = p->text; s && *s;) {
        const char *nl = strchr(s, '\n');
        const size_t n = nl ? (size_t)(nl - s) : strlen(s);
        char *line = strndup(s, n);
        const bool hit = line && strcasestr(line, what);
        free(line);
        if (hit && dir > 0 && row > p->top && best == SIZE_MAX)
            best = row;
        if (hit && dir < 0 && row < p->top)
            best = row;
        row += line_rows(p, s, n);
        s = nl ? nl + 1 : NULL;
    }
    if (best == SIZE_MAX)
        return false;
    p->top = best;
    return true;
}

static void draw_welcome(const struct desk *d, const struct canvas *c)
{
    static const struct { const char *n, *what, *line; } choice[] = {
        { "1", "open a file of yours", "open FILE.csv target=NAME" },
        { "2", "a tour on bundled data (5 min)", "tour" },
        { "3", "lessons", "lesson" },
        { "4", "just the prompt", "" },
    };
    int row = c->h > 12 ? 1 : 0;
    draw_text(c, row, 2, theme_attr(R_TITLE), "gpdesk: Gaussian processes at the terminal");
    row += 2;
    for (size_t i = 0; i < 4; i++, row++) {
        draw_text(c, row, 3, theme_attr(R_KEY), choice[i].n);
        draw_text(c, row, 6, theme_attr(R_TEXT), choice[i].what);
        draw_text(c, row, 40, theme_attr(R_COMMAND), choice[i].line);
    }
    row++;
    draw_text(c, row, 2, theme_attr(R_DIM),
              "Type a number and Enter, or any command: the prompt below is live.");
    if (d->ws->opt.threads && c->h > 10)
        draw_text(c, row + 1, 2, theme_attr(R_DIM),
                  "Tab completes, F1 explains the screen, Ctrl-D leaves.");
}

static void view_name(struct view *v, struct buf *b)
{
    if (view_key(v->ops))
        buf_printf(b, "%c %s", view_key(v->ops), v->ops->title);
    else
        buf_puts(b, v->ops->title);
    if (v->ops->title_more)
        v->ops->title_more(v, b);
}

static void view_draw(struct view *v, const struct canvas *c)
{
    plotpane_off(v->plot);
    v->ops->draw(v, c);
}

static void draw_verdict(struct view *v, const struct canvas *c, int col)
{
    struct buf b = { 0 };
    if (v->ops->verdict)
        v->ops->verdict(v, &b);
    struct canvas in = draw_inner(c, 0, col, c->h, c->w - col);
    if (in.h > 1)
        draw_paragraph(&in, 0, 0, theme_attr(R_ACCENT), buf_str(&b));
    else
        /* mark that the text is cut */
        draw_field(&in, 0, 0, in.w, false, theme_attr(R_ACCENT), buf_str(&b));
    buf_free(&b);
}

/* A sentence too long for its row gets the row above as well, if the view has rows to spare. */
static struct canvas widen_verdict(struct view *v, const struct canvas *row, struct canvas *rest)
{
    enum { ROWS_TO_GIVE = 10 };
    struct canvas c = *row;
    struct buf b = { 0 };
    if (v->ops->verdict)
        v->ops->verdict(v, &b);
    if ((int)text_width(buf_str(&b)) > row->w - 1 && rest->h >= ROWS_TO_GIVE && row->h == 1 &&
        rest->y + rest->h == row->y) {
        rest->h--;
        c.y--;
        c.h++;
    }
    buf_free(&b);
    return c;
}

/* The sentence is that of the last drawing. If it has changed and needs another row, the view is
 * drawn again. */
static void draw_with_verdict(struct view *v, const struct canvas *row, const struct canvas *room)
{
    struct canvas rest = *room, verdict = widen_verdict(v, row, &rest);
    v->at = rest;
    view_draw(v, &rest);

    struct canvas other = *room;
    const struct canvas needed = widen_verdict(v, row, &other);
    if (needed.h != verdict.h) {
        draw_clear(room);
        verdict = needed;
        v->at = other;
        view_draw(v, &other);
    }
    draw_verdict(v, &verdict, 1);
}

/* A view in a frame, with its verdict in the last row. */
static void draw_view_pane(struct desk *d, struct view *v, const struct canvas *c, enum pane which)
{
    struct buf title = { 0 };
    if (c->h < 3)
        return;
    d->panes.has[which] = true;
    d->panes.pane[which] = *c;
    bool over = which == PANE_MAIN && d->pager.open;
    if (over)
        text_safe(&title, d->pager.title, 60);
    else
        view_name(v, &title);
    struct canvas frame = draw_frame(c, buf_str(&title));
    struct canvas in = draw_inner(&frame, 0, 1, frame.h, frame.w - 2);
    if (d->focus == FOCUS_VIEW && d->active == which) {
        d->panes.frame = *c;
        free(d->panes.title);
        d->panes.title = strdup(buf_str(&title));
    }
    buf_free(&title);
    if (over) {
        const struct canvas page = page_place(d, &in, &in);
        draw_pager(d, &page);
        if (in.h <= 0)
            return;
    }
    if (which == PANE_MAIN && d->welcome) {
        draw_welcome(d, &in);
        return;
    }
    if (in.h > 6 && v->ops->verdict) {
        const int rows = in.h > 14 ? 2 : 1;       /* rows of the sentence below it */
        struct canvas last = draw_inner(&in, in.h - rows, 0, rows, in.w);
        in.h -= rows;
        v->at = in;
        view_draw(v, &in);
        draw_verdict(v, &last, 0);
    } else {
        v->at = in;
        view_draw(v, &in);
    }
}

/* The view that a zoomed pane shows. */
static struct view *zoomed(struct desk *d)
{
    if (d->zoom && d->active == PANE_LIST)
        return &d->view[VIEW_RUNS];
    if (d->zoom && d->active == PANE_LOG)
        return &d->view[VIEW_LOG];
    if (d->zoom && d->active == PANE_SECOND)
        return &d->second[view_table[d->main]->beside];
    return &d->view[d->main];
}

static void draw_main(struct desk *d, const struct layout *l)
{
    struct view *v = zoomed(d);
    v->plot = d->plot[0];
    if (l->frames) {
        draw_view_pane(d, v, &l->main, PANE_MAIN);
        return;
    }
    d->panes.has[PANE_MAIN] = l->main.h > 0;
    d->panes.pane[PANE_MAIN] = l->main;
    if (l->main.h <= 0)
        return;
    if (d->zoom && d->active != PANE_MAIN)
        d->panes.has[d->active] = true;
    struct canvas rest = l->main;
    if (d->pager.open) {
        const struct canvas page = page_place(d, &l->main, &rest);
        draw_pager(d, &page);
    }
    if (d->pager.open && rest.h <= 0) {
        struct buf b = { 0 };
        text_safe(&b, d->pager.title, 0);
        if (d->pager.cut && d->pager.rows <= (size_t)l->main.h)
            buf_puts(&b, "   (Left Right: the rest of the rows)");
        draw_text(&l->verdict, 0, 1, theme_attr(R_TITLE), buf_str(&b));
        buf_free(&b);
    } else if (d->welcome) {
        draw_welcome(d, &l->main);
    } else {
        draw_with_verdict(v, &l->verdict, &rest);
    }
}

/* Draws "key<TAB>text" lines as two wrapped columns. */
static void draw_pairs(const struct canvas *c, const char *text, int keyw, bool stacked)
{
    int row = 0;
    char *copy = strdup(text), *save = NULL;
    for (char *s = copy ? strtok_r(copy, "\n", &save) : NULL; s && row < c->h;
         s = strtok_r(NULL, "\n", &save)) {
        char *tab = strchr(s, '\t');
        if (tab)
            *tab++ = '\0';
        struct canvas key = draw_inner(c, row, 1, 1, stacked ? c->w - 1 : keyw - 2);
        draw_text(&key, 0, 0, theme_attr(stacked ? R_COMMAND : R_DIM), s);
        if (stacked)
            row++;
        struct canvas in = draw_inner(c, row, stacked ? 3 : keyw, c->h - row,
                                      c->w - (stacked ? 3 : keyw) - 1);
        row += most(1, draw_paragraph(&in, 0, 0, theme_attr(stacked ? R_DIM : R_TEXT),
                                      tab ? tab : ""));
    }
    free(copy);
}

static void draw_inspector(struct desk *d, const struct canvas *c)
{
    struct run *r = desk_selected(d);
    struct buf b = { 0 }, title = { 0 };
    if (c->h < 3)
        return;
    buf_puts(&title, "Inspector");
    if (r) {
        buf_printf(&title, ": %s", r->id);
        words_details(r, &b);
    }
    struct canvas in = draw_frame(c, buf_str(&title));
    if (r)
        draw_pairs(&in, buf_str(&b), 12, false);
    else
        draw_text(&in, 0, 1, theme_attr(R_DIM), "no run selected");
    buf_free(&b);
    buf_free(&title);
}

static void draw_panes(struct desk *d, const struct layout *l)
{
    if (l->list.h) {
        d->list.plot = NULL;
        draw_view_pane(d, &d->list, &l->list, PANE_LIST);
    }
    if (l->second.h) {
        struct view *v = &d->second[view_table[d->main]->beside];
        v->plot = d->plot[1];
        draw_view_pane(d, v, &l->second, PANE_SECOND);
    }
    if (l->inspector.h)
        draw_inspector(d, &l->inspector);
    if (l->notes.h) {
        struct buf b = { 0 };
        struct canvas in = draw_frame(&l->notes, "What next");
        words_next(d->ws, &b);
        draw_pairs(&in, buf_str(&b), 0, true);
        buf_free(&b);
    }
}

static void draw_log(struct desk *d, const struct layout *l)
{
    struct canvas c = l->log;
    if (c.h <= 0)
        return;
    d->panes.has[PANE_LOG] = true;
    d->panes.pane[PANE_LOG] = c;
    if (l->frames) {
        if (d->focus == FOCUS_VIEW && d->active == PANE_LOG) {
            d->panes.frame = c;
            free(d->panes.title);
            d->panes.title = strdup("Log");
        }
        c = draw_frame(&c, "Log");
    }
    c = draw_inner(&c, 0, 1, c.h, c.w - 2);
    size_t none = 0;                  /* view 9 scrolls its own pane; the strip stays at the end */
    logbook_draw(&d->log, &c, d->main == VIEW_LOG ? &none : &d->log_scroll);
}

/* Draws completions above the prompt, in columns. */
static void draw_matches(const struct desk *d, const struct canvas *screen, int bottom)
{
    size_t width = 8;
    if (!d->nmatch)
        return;
    for (size_t i = 0; i < d->nmatch; i++) {
        size_t w = text_width(d->match[i]) + 2;
        width = w > width ? w : width;
    }
    if (width > (size_t)screen->w)
        width = (size_t)screen->w;
    int across = most(1, screen->w / (int)width), rows = ((int)d->nmatch + across - 1) / across;
    int room = most(1, least(rows, bottom / 2));
    int shown = least((int)d->nmatch, room * across);
    for (int r = 0; r < room; r++) {
        int y = bottom - room + r;
        draw_fill(screen, y, 0, screen->w, theme_attr(R_TAB), " ");
        for (int k = 0; k < across; k++) {
            int i = r * across + k;
            if (i >= shown)
                break;
            if (i == shown - 1 && shown < (int)d->nmatch)
                draw_printf(screen, y, k * (int)width, theme_attr(R_DIM), "+%d more",
                            (int)d->nmatch - shown + 1);
            else
                draw_safe(screen, y, k * (int)width, (int)width - 1, theme_attr(R_KEY),
                          d->match[i]);
        }
    }
}

static void draw_prompt(const struct canvas *c, const struct prompt_view *p, int *y, int *x)
{
    const size_t n = strlen(PROMPT_TEXT);
    *y = c->y;
    *x = c->x;
    for (size_t i = 0; i < p->rows && (int)i < c->h; i++) {
        const char *s = buf_str(&p->text[i]);
        bool plain = strncmp(s, PROMPT_TEXT, n) == 0;
        if (plain)
            draw_text(c, (int)i, 0, theme_attr(R_PROMPT), PROMPT_TEXT);
        draw_text(c, (int)i, plain ? (int)n : 0, theme_attr(R_TEXT), s + (plain ? n : 0));
    }
    *y += (int)p->row;
    *x += least((int)p->col, c->w - 1);
}

static void wish_of(struct desk *d, const struct prompt_view *p, struct layout_wish *w)
{
    const int news = (int)logbook_last_rows(&d->log, (size_t)most(1, d->cols - 1));
    const bool log_alone = d->main == VIEW_LOG || (d->zoom && d->active == PANE_LOG);
    *w = (struct layout_wish){
        .kind = screen_layout_named(d->ws->opt.layout), .prompt_rows = (int)p->rows,
        .log_rows = log_alone ? -1 : d->quiet ? 0 : least(news + 1, 6),
        .zoom = d->zoom, .full = d->full, .dx = d->dx, .dy = d->dy,
    };
}

/* Draws everything but the prompt. */
static void draw_all(struct desk *d, const struct layout *l)
{
    if (l->header.h)
        draw_header(d, &l->header, l->tabs.h > 0 ? NULL : zoomed(d)->ops);
    if (l->tabs.h)
        draw_tabs(d, &l->tabs);
    const struct canvas *rules[] = { &l->rule1, &l->rule2, &l->rule3 };
    for (size_t i = 0; i < 3; i++)
        if (rules[i]->h)
            draw_fill(rules[i], 0, 0, rules[i]->w, theme_attr(R_RULE), theme_glyph.h);
    draw_main(d, l);
    draw_panes(d, l);
    draw_log(d, l);
    if (d->panes.frame.h)
        draw_frame_mark(&d->panes.frame, d->panes.title);
    if (l->job.h)
        draw_job(d, &l->job);
}

/* The place of a list of choices: over the main view, with or without a frame. */
static struct canvas list_place(const struct layout *l)
{
    const struct canvas *m = &l->main;
    return l->frames ? draw_inner(m, 1, 1, m->h - 2, m->w - 2) : *m;
}

void screen_draw(struct desk *d)
{
    struct prompt_view p;
    struct layout l;
    struct layout_wish wish;
    struct canvas screen = { 0, 0, d->rows, d->cols };
    int y = 0, x = 0;
    prompt_rows((size_t)d->cols, (size_t)most(1, least(PROMPT_ROWS, d->rows / 3)), &p);
    wish_of(d, &p, &wish);
    screen_layout(d->rows, d->cols, &wish, &l);
    draw_begin(d->rows, d->cols);
    d->panes.frame.h = 0;
    memset(d->panes.has, 0, sizeof d->panes.has);
    memset(d->panes.pane, 0, sizeof d->panes.pane);
    memset(d->panes.tab, 0, sizeof d->panes.tab);
    werase(stdscr);
    runs_list(d);
    draw_all(d, &l);
    draw_matches(d, &screen, l.job.h ? l.job.y : l.prompt.y);
    draw_prompt(&l.prompt, &p, &y, &x);
    prompt_view_free(&p);
    if (d->ask.kind != ASK_NONE) {
        const struct canvas body = list_place(&l);
        const struct canvas line = { l.prompt.y + l.prompt.h - 1, l.prompt.x, 1, l.prompt.w };
        picker_draw(d, &body, &line, &y, &x);
    }
    if (d->clear) {
        clearok(curscr, TRUE);
        d->clear = false;
    }
    curs_set(d->focus == FOCUS_PROMPT || d->ask.kind != ASK_NONE ? 1 : 0);
    move(y, x);
    wnoutrefresh(stdscr);
    doupdate();
}
