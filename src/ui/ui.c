/* ui/ui.c -- the full screen: start and stop of curses, the one poll loop, the desk.
 *
 * The loop waits for a key, the workers, signals and gnuplot, and draws at most twenty times a
 * second, four when only a job's progress changed, never when nothing did. */
#include "ui/ui.h"

#include "app/core/job.h"
#include "app/core/workspace_exec.h"
#include "app/teach/lesson.h"
#include "app/shell/options.h"
#include "app/runs/restarts.h"
#include "app/runs/clustering.h"
#include "app/plots/plot_rows.h"
#include "app/session/store.h"
#include "base/mem.h"
#include "ui/requests.h"
#include "ui/keys.h"
#include "ui/lifecycle.h"
#include "ui/picture.h"
#include "ui/prompt.h"
#include "ui/screen.h"

#include <errno.h>
#include <math.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#undef lines      /* term.h takes short names */
#undef columns
#undef bell

#define KEY_FRAME 0.05        /* seconds between draws for keys: at most 20 a second */

const struct view_ops *const view_table[N_VIEWS] = {
    &view_data,  &view_runs, &view_residual, &view_nmll, &view_rank,
    &view_calib, &view_pca,  &view_lesson,   &view_log,
};

double desk_now(void)
{
    return job_now();
}

/* The terminal. */

static const char modes_on[] = "\033[?2004h";
static const char modes_off[] = "\033[?2004l\033[?1006l\033[?1002l";
static const char mouse_on[] = "\033[?1002h\033[?1006h", mouse_off[] = "\033[?1006l\033[?1002l";
static const char rescue[] = "\033[?2004l\033[?1006l\033[?1002l\033[?1049l\033[?25h\033[0m\r\n";
static struct termios saved_termios;
static bool have_termios;

static void say(const char *s)
{
    for (size_t n = strlen(s); n > 0;) {
        ssize_t k = write(STDOUT_FILENO, s, n);
        if (k < 0 && errno != EINTR)
            return;
        if (k > 0) {
            s += k;
            n -= (size_t)k;
        }
    }
}

void ui_say(const char *bytes)
{
    say(bytes);
}

/* Nothing else ends the program any more: what the terminal takes without waiting. */
static void give_terminal_back(void)
{
    struct pollfd p = { STDOUT_FILENO, POLLOUT, 0 };
    if (poll(&p, 1, 0) == 1 && p.revents == POLLOUT) {
        ssize_t k = write(STDOUT_FILENO, rescue, sizeof rescue - 1);
        (void)k;
    }
    if (have_termios)
        tcsetattr(STDIN_FILENO, TCSANOW, &saved_termios);
}

/* Our own bug: leave the terminal usable, then die as we would have. */
static void on_crash(int sig)
{
    ssize_t k = write(STDOUT_FILENO, rescue, sizeof rescue - 1);
    (void)k;
    if (have_termios)
        tcsetattr(STDIN_FILENO, TCSANOW, &saved_termios);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void catch_crashes(bool on)
{
    static const int sigs[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
    static char stack[16384];
    static struct sigaction old[5];
    if (on) {
        stack_t ss = { .ss_sp = stack, .ss_size = sizeof stack };
        sigaltstack(&ss, NULL);
    }
    for (size_t i = 0; i < 5; i++) {
        if (on) {
            struct sigaction sa = { .sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_RESETHAND };
            sigaction(sigs[i], &sa, &old[i]);
        } else {
            sigaction(sigs[i], &old[i], NULL);
        }
    }
}

/* NULL when a full screen is possible, else why not. */
static const char *why_not(char *out, size_t len)
{
    const char *term = getenv("TERM");
    int rc = 0;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return "this is not a terminal";
    if (!term || !*term)
        return "line mode: TERM is not set";
    if (strcmp(term, "dumb") == 0)
        return "line mode: the terminal is dumb";
    if (setupterm(NULL, STDOUT_FILENO, &rc) != OK || rc != 1) {
        snprintf(out, len, "line mode: the terminal type %.40s is not known here", term);
        return out;
    }
    const char *cup = tigetstr("cup");
    bool can = cup && cup != (char *)-1;
    del_curterm(cur_term);
    if (!can) {
        snprintf(out, len, "line mode: the terminal %.40s cannot place its cursor", term);
        return out;
    }
    return NULL;
}

static void terminal_modes(void)
{
    raw();           /* Ctrl-C is a byte, Ctrl-S reaches the history search */
    noecho();
    nonl();
    intrflush(stdscr, FALSE);
    typeahead(-1);   /* curses must not peek at our input */
}

static void terminal_size(struct desk *d)
{
    struct winsize w = { 0 };
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row && w.ws_col) {
        d->rows = w.ws_row;
        d->cols = w.ws_col;
    } else {
        getmaxyx(stdscr, d->rows, d->cols);
    }
    if (d->rows != LINES || d->cols != COLS)
        resizeterm(d->rows, d->cols);
    prompt_resize((size_t)d->rows, (size_t)d->cols);
    d->urgent = true;
}

static void leave_screen(void)
{
    const char *alt = tigetstr("smcup");
    if (!alt || alt == (char *)-1) {           /* no second screen to return from: leave it clean */
        werase(stdscr);
        wrefresh(stdscr);
    }
    say(modes_off);
    endwin();
}

static void back_on_screen(struct desk *d)
{
    reset_prog_mode();
    terminal_modes();
    say(modes_on);
    if (d->mouse)
        say(mouse_on);
    terminal_size(d);
    refresh();
    d->clear = d->urgent = true;
}

void ui_suspend(struct desk *d)
{
    leave_screen();
    loop_suspend();
    back_on_screen(d);
}

/* The desk. */

struct run *desk_find(const struct desk *d, const char *id)
{
    for (size_t i = 0; i < d->ws->nrun; i++)
        if (strcmp(d->ws->run[i]->id, id) == 0)
            return d->ws->run[i];
    return NULL;
}

struct run *desk_selected(const struct desk *d)
{
    struct run *r = desk_find(d, d->sel);
    return r ? r : d->ws->nrun ? d->ws->run[d->ws->nrun - 1] : NULL;
}

struct run *desk_selected_of(const struct desk *d, enum run_kind kind)
{
    struct run *best = NULL, *r = desk_selected(d);
    if (r && r->kind == kind)
        return r;
    for (size_t i = d->ws->nrun; i-- > 0;) {
        r = d->ws->run[i];
        if (r->kind == kind && r->state == RUN_RUNNING)
            return r;
        if (r->kind == kind && (!best || (best->state == RUN_QUEUED && r->state != RUN_QUEUED)))
            best = r;
    }
    return best;
}

bool desk_marked(const struct desk *d, const struct run *r)
{
    for (size_t i = 0; i < d->nmarks; i++)
        if (strcmp(d->mark[i], r->id) == 0)
            return true;
    return false;
}

struct run *desk_over(const struct desk *d, size_t i)
{
    const struct run *selected = desk_selected(d);
    for (size_t k = 0; k < d->nmarks + d->nover; k++) {
        struct run *r = desk_find(d, k < d->nmarks ? d->mark[k] : d->over[k - d->nmarks]);
        if (r && r != selected && !(k >= d->nmarks && desk_marked(d, r)) && i-- == 0)
            return r;
    }
    return NULL;
}

void desk_mark(struct desk *d, const struct run *r)
{
    for (size_t i = 0; i < d->nmarks; i++)
        if (strcmp(d->mark[i], r->id) == 0) {
            memmove(&d->mark[i], &d->mark[i + 1], (--d->nmarks - i) * sizeof *d->mark);
            return;
        }
    if (d->nmarks == MARKS_MAX) {
        logbook_add(&d->log, LOG_NOTE, "six runs are marked already: Space on one unmarks it");
        return;
    }
    snprintf(d->mark[d->nmarks++], sizeof *d->mark, "%s", r->id);
}

void desk_page(struct desk *d, const char *title, const char *text)
{
    desk_page_close(d);
    d->pager.title = strdup(title);
    d->pager.text = strdup(text);
    d->pager.open = d->pager.title && d->pager.text;
    d->pager.top = 0;
    d->pager.jobs = jobs_submitted(d->ws->jobs);
    d->pager.ndata = d->ws->ndata;
    d->pager.cur = d->ws->cur;
    d->pager.beside = d->shown_now;
}

void desk_page_close(struct desk *d)
{
    free(d->pager.title);
    free(d->pager.text);
    d->pager = (struct pager){ 0 };
}

void desk_show(struct desk *d, size_t view)
{
    desk_page_close(d);
    d->main = view;
    d->quiet = true;
    d->active = PANE_MAIN;
    d->welcome = false;
    d->urgent = true;
}

void desk_prompt(struct desk *d, const char *text)
{
    prompt_set(text);
    d->focus = FOCUS_PROMPT;
}

void desk_exec(struct desk *d, const char *line)
{
    struct buf echo = { 0 };
    buf_puts(&echo, PROMPT_TEXT);
    for (const char *p = line; *p; p++) {
        buf_putc(&echo, *p);
        if (*p == '\n')
            buf_puts(&echo, "      > ");
    }
    logbook_add(&d->log, LOG_COMMAND, buf_str(&echo));
    d->quiet = false;
    buf_free(&echo);
    d->log_scroll = 0;
    char *copy = strdup(line);                 /* it may be the text of a page or of a binding */
    char *page = d->pager.open ? d->pager.text : NULL;
    d->copy_page = page ? strdup(page) : NULL;
    desk_page_close(d);
    free(d->line);
    d->line = copy;
    d->shown_now = false;
    if (copy)
        workspace_exec(d->ws, copy);
    d->shown_now = false;
    free(d->copy_page);
    d->copy_page = NULL;
    d->dirty = true;
}

void desk_execf(struct desk *d, const char *fmt, ...)
{
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    desk_exec(d, line);
}

/* A result too long for the log's pane is shown over the view, where it can be scrolled. */
static void page_result(struct desk *d, const struct rec *r)
{
    size_t rows = 1;
    for (const char *p = buf_str(&r->text); *p; p++)
        rows += *p == '\n' && p[1];
    const bool panes = d->rows >= MEDIUM_ROWS && d->cols >= MEDIUM_COLS;
    const size_t room = panes ? (size_t)d->rows * 3 / 10 - 2 : d->rows >= 10 ? 6 : SMALL_NEWS;
    if (d->rows < 8 || d->cols < 40)           /* no view that it could stand over */
        return;
    if (r->type != REC_RESULT || rows <= room || d->main == VIEW_LOG || !d->line)
        return;
    if (lesson_of(d->ws) && strncmp(d->line, "lesson ", 7) == 0)
        return;                                /* a step of a lesson has its text and plot there */
    desk_page(d, d->line, buf_str(&r->text));
    d->quiet = true;                           /* it is on the screen already */
}

static void on_rec(void *ctx, const struct rec *r)
{
    struct desk *d = ctx;
    d->dirty = true;
    if (r->type == REC_TICK)
        return;
    logbook_rec(&d->log, r);
    d->quiet = false;
    page_result(d, r);
}

static bool on_picture(void *ctx, const char *sixel, size_t n)
{
    return picture_take(ctx, sixel, n);
}

/* The first run is selected, the others are drawn over it. */
static void select_shown(struct desk *d, const char *runs)
{
    d->nover = 0;
    for (size_t i = 0; *(runs += strspn(runs, " ")); i++) {
        const size_t n = strcspn(runs, " ");
        char *to = i == 0 ? d->sel : d->nover < MARKS_MAX ? d->over[d->nover++] : NULL;
        if (to)
            snprintf(to, sizeof d->sel, "%.*s", n < sizeof d->sel ? (int)n : (int)sizeof d->sel - 1,
                     runs);
        runs += n;
    }
}

static bool on_show(void *ctx, const char *plot, const char *runs)
{
    static const struct { const char *plot; size_t view; } where[] = {
        { "columns", VIEW_DATA }, { "residual", VIEW_RESIDUAL }, { "nmll", VIEW_NMLL },
        { "calibration", VIEW_CALIB }, { "sd", VIEW_CALIB }, { "sderror", VIEW_CALIB },
        { "parity", VIEW_CALIB }, { "pca", VIEW_PCA }, { "rank", VIEW_RANK },
        { "spectrum", VIEW_RANK }, { "draws", VIEW_LESSON }, { "kernel", VIEW_LESSON },
        { "covariance", VIEW_LESSON }, { "lesson", VIEW_LESSON },
    };
    struct desk *d = ctx;
    if (lesson_of(d->ws) && d->main == VIEW_LESSON) { /* a lesson has its pictures beside it */
        lesson_show(&d->view[VIEW_LESSON], plot, runs);
        return true;
    }
    d->picked = true; /* what came with it in one line is not brought forward over it */
    d->shown_now = true;
    select_shown(d, runs ? runs : "");
    const char *run = runs && *runs ? d->sel : "";
    for (size_t i = 0; i < sizeof where / sizeof *where; i++)
        if (strcmp(where[i].plot, plot) == 0) {
            desk_show(d, where[i].view);
            if (where[i].view == VIEW_CALIB)
                calib_show(&d->view[VIEW_CALIB], plot);
            if (where[i].view == VIEW_RANK)
                rank_show(&d->view[VIEW_RANK], plot);
            if (where[i].view == VIEW_LESSON)
                lesson_show(&d->view[VIEW_LESSON], plot, run);
            if (where[i].view == VIEW_DATA)
                data_show_plot(&d->view[VIEW_DATA]);
            return true;
        }
    if (!plot_find(plot, NULL))
        return false; /* a page of text */
    desk_show(d, VIEW_LESSON); /* plots without a view of their own */
    lesson_show(&d->view[VIEW_LESSON], plot, run);
    return true;
}

static void on_matches(void *ctx, char *const *match, size_t n)
{
    struct desk *d = ctx;
    d->match = calloc(n, sizeof *d->match);
    for (size_t i = 0; d->match && i < n; i++)
        if ((d->match[d->nmatch] = strdup(match[i])))
            d->nmatch++;
}

static char **on_complete(void *ctx, const char *line, size_t pos, size_t *start)
{
    return loop_complete(((struct desk *)ctx)->ws, line, pos, start);
}

/* The numbers of the first-start choice; they are no commands, so nothing typed is eaten. */
static bool choose(struct desk *d, const char *line)
{
    while (*line == ' ')
        line++;
    if (*line < '1' || *line > '4' || line[1 + strspn(line + 1, " ")])
        return false;
    switch (*line) {
    case '1': prompt_set("open "); break;
    case '2': desk_exec(d, "tour"); break;
    case '3': desk_exec(d, "lesson"); break;
    default: break;
    }
    d->welcome = false;
    return true;
}

static void on_line(void *ctx, const char *line)
{
    struct desk *d = ctx;
    char taught[48];
    if (!d->pager.open && lesson_shorthand(d->ws, line, taught, sizeof taught)) {
        desk_exec(d, taught);
        return;
    }
    if (line[strspn(line, " \n")] == '\0') {
        desk_page_close(d);
        return;
    }
    if (d->welcome && choose(d, line))
        return;
    d->picked = d->main == VIEW_LOG;
    desk_exec(d, line);
}

/* A page gives way to what was begun after it was opened, and to other data; what was running
 * already when it was asked for goes on behind it. */
static bool outdated(const struct desk *d, size_t view)
{
    const struct pager *p = &d->pager;
    return view == VIEW_DATA ? p->ndata != d->ws->ndata || p->cur != d->ws->cur
                             : p->jobs != jobs_submitted(d->ws->jobs);
}

/* Restarts are made at once and run one after the other: the selection goes with the one that runs,
 * and at the end to the best of them, unless the user has selected another. */
static void follow_restarts(struct desk *d, const struct run *newest)
{
    const struct run *r = desk_find(d, d->led);
    if (newest && newest->kind == RUN_TUNE && newest->topt.restarts > 1) {
        const struct run *first = restarts_left(d->ws, newest, 0);
        r = first ? first : newest;
    } else if (!r || strcmp(d->led, d->sel) != 0) {
        d->led[0] = '\0';
        return;
    } else if (r->state != RUN_RUNNING &&
               (r->ended > 0.0 || !(r->started > 0.0))) { /* not: it is stopping */
        const struct run *next = restarts_left(d->ws, r, 0);
        r = next ? next : restarts_best_of(d->ws, r);
    }
    if (!r)
        return;
    snprintf(d->sel, sizeof d->sel, "%s", r->id);
    snprintf(d->led, sizeof d->led, "%s", r->id);
    if (!restarts_left(d->ws, r, 0) && r->ended > 0.0)
        d->led[0] = '\0';
}

/* What is new in the workspace brings its view forward, unless the user has picked one since the
 * last line. */
static void follow(struct desk *d)
{
    const struct workspace *ws = d->ws;
    size_t scored = 0, view = N_VIEWS;
    const struct run *newest = ws->nrun ? ws->run[ws->nrun - 1] : NULL;
    for (size_t i = 0; i < ws->nrun; i++)
        scored += ws->run[i]->has_test;
    const struct pca_state *last = clustering_state_of(ws);
    const void *pca =
        last->have_clusters ? (const void *)last->clusters.label : (const void *)last->coords;
    /* Data first: a job on them may have begun, and even ended, since the last look. */
    if (ws->ndata && (ws->ndata != d->seen_data || ws->cur != d->seen_cur)) {
        view = VIEW_DATA;
        d->welcome = false;
    }
    if (ws->nrun != d->seen_runs && newest) {
        snprintf(d->sel, sizeof d->sel, "%s", newest->id);
        d->nover = 0;
        d->watch_trace = newest->kind == RUN_FIT;
        if (newest->kind == RUN_TUNE)
            view = VIEW_NMLL;
    }
    follow_restarts(d, ws->nrun != d->seen_runs ? newest : NULL);
    if (d->watch_trace && newest) {
        const bool over = newest->state != RUN_RUNNING && newest->state != RUN_QUEUED;
        d->watch_trace = newest->ntrace < 2 && !over;
        if (!d->watch_trace)
            view = newest->ntrace > 1 ? VIEW_RESIDUAL : VIEW_RUNS;
    }
    if (scored > d->seen_scored)
        view = VIEW_CALIB;
    if (pca && pca != d->seen_pca)
        view = VIEW_PCA;
    d->seen_runs = ws->nrun;
    d->seen_scored = scored;
    d->seen_pca = pca;
    d->seen_data = ws->ndata;
    d->seen_cur = ws->cur;
    const bool taught = lesson_of(ws) && d->main == VIEW_LESSON;
    if (view < N_VIEWS && !d->picked && !d->zoom && !taught) {
        d->main = view;
        if (d->pager.open && outdated(d, view))
            desk_page_close(d);
    }
}

/* Open, loop, close. */

static bool desk_open(struct desk *d, struct workspace *ws, const struct ui_opts *o)
{
    *d = (struct desk){ .ws = ws, .opts = o, .dirty = true };
    for (size_t i = 0; i < 2; i++)
        if (!(d->plot[i] = plotpane_new()))
            return false;
    for (size_t i = 0; i < N_VIEWS; i++)
        for (int k = 0; k < 2; k++) {
            struct view *v = k ? &d->second[i] : &d->view[i];
            size_t size = view_table[i]->state_size;
            *v = (struct view){ .ops = view_table[i], .desk = d, .second = k == 1 };
            if (size && !(v->state = calloc(1, size)))
                return false;
        }
    snprintf(d->theme, sizeof d->theme, "%s", ws->opt.theme);
    snprintf(d->glyphs, sizeof d->glyphs, "%s", "auto");
    snprintf(d->editing, sizeof d->editing, "%s", "auto");
    asked_remember(d);
    d->list = (struct view){ .ops = &view_list, .desk = d };
    return (d->list.state = calloc(1, view_list.state_size)) != NULL;
}

static void close_view(struct view *v)
{
    if (v->state && v->ops->close)
        v->ops->close(v);
    free(v->state);
}

static void desk_close(struct desk *d)
{
    asked_save(d);
    picker_close(d);
    desk_runs_free(d);
    free(d->find);
    free(d->learned);
    free(d->learn_line);
    for (size_t i = 0; i < N_VIEWS; i++) {
        close_view(&d->view[i]);
        close_view(&d->second[i]);
    }
    close_view(&d->list);
    plotpane_free(d->plot[0]);
    plotpane_free(d->plot[1]);
    desk_page_close(d);
    logbook_free(&d->log);
    for (size_t i = 0; i < d->nmatch; i++)
        free(d->match[i]);
    free(d->match);
    free(d->line);
    free(d->mark_title);
    draw_begin(0, 0);
}

static void take_input(struct desk *d, struct input *in)
{
    struct input_event e;
    while (!d->ws->quit && input_next(in, &e)) {
        if (e.kind == INPUT_REPLY)
            picture_reply(d, e.bytes, e.n);
        else if (picture_up(d))
            picture_end(d);                    /* any key: this one has done its work */
        else
            keys_event(d, &e);
    }
}

static bool read_input(struct desk *d, struct input *in)
{
    char bytes[4096];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n > 0) {
        input_feed(in, bytes, (size_t)n);
        take_input(d, in);
        return true;
    }
    return n < 0 && (errno == EINTR || errno == EAGAIN);
}

static void take_signals(struct desk *d)
{
    for (int sig; (sig = loop_signal_next()) != 0;) {
        picture_end(d);
        switch (sig) {
        case SIGWINCH: terminal_size(d); break;
        case SIGTSTP: ui_suspend(d); break;
        case SIGCONT: back_on_screen(d); break;
        case SIGINT: keys_interrupt(d); d->urgent = true; break;
        default:
            d->exit_signal = sig;
            d->ws->quit = true;
        }
    }
}

/* gnuplot came or went: said once, whichever pane noticed. */
static void tell_gnuplot(struct desk *d)
{
    for (size_t i = 0; i < 2; i++) {
        const char *s = plotpane_trouble(d->plot[i]);
        if (!s || strcmp(s, d->told) == 0)
            continue;
        snprintf(d->told, sizeof d->told, "%s", s);
        logbook_add(&d->log, LOG_NOTE, s);
        d->dirty = true;
    }
}

static int lower(int timeout, double seconds)
{
    int ms = seconds <= 0 ? 0 : seconds > 3600 ? 3600000 : (int)(seconds * 1000) + 1;
    return timeout < 0 || ms < timeout ? ms : timeout;
}

static bool differs(char *seen, size_t len, const char *now)
{
    if (strcmp(seen, now) == 0)
        return false;
    snprintf(seen, len, "%s", now);
    return true;
}

/* Options of the screen take effect at once. */
static void watch_options(struct desk *d)
{
    const struct options *o = &d->ws->opt;
    const bool theme = differs(d->theme, sizeof d->theme, o->theme) && theme_set(d->theme);
    const bool marks = differs(d->glyphs, sizeof d->glyphs, o->glyphs);
    if (marks)
        theme_glyphs(d->glyphs);
    if (theme || marks) {
        plotpane_forget(d->plot[0]);
        plotpane_forget(d->plot[1]);
        d->clear = true;
    }
    if (differs(d->editing, sizeof d->editing, o->editing))
        prompt_editing(d->editing);
    if (d->mouse != o->mouse) {
        d->mouse = o->mouse;
        say(d->mouse ? mouse_on : mouse_off);
    }
}

/* The bell, after a job worth waiting for. */
static void watch_jobs(struct desk *d)
{
    struct job_view j;
    const double now = desk_now();
    if (jobs_view(d->ws->jobs, 0, &j)) {
        d->rang = now - j.seconds;
    } else if (d->rang > 0) {
        if (d->ws->opt.bell && now - d->rang > loop_ring_after())
            say("\007");
        d->rang = 0;
    }
}

/* What is not on disk in time is shown so; saving wakes the loop by itself. */
static void watch_session(struct desk *d, int *timeout)
{
    const double unsaved = store_of(d->ws) ? store_unsaved(store_of(d->ws)) : 0;

    if (unsaved >= STORE_UNSAVED_SHOWN && !d->unsaved)
        d->dirty = true;
    else if (unsaved > 0 && unsaved < STORE_UNSAVED_SHOWN)
        *timeout = lower(*timeout, STORE_UNSAVED_SHOWN - unsaved);
    d->unsaved = unsaved >= STORE_UNSAVED_SHOWN;
}

/* Draws when it is time; lowers the timeout to when it will be. */
static void draw_if_due(struct desk *d, double *drawn, int *timeout)
{
    double now = desk_now();
    for (size_t i = 0; i < 2; i++) {
        double due = plotpane_due(d->plot[i]);
        if (due > 0 && due <= now)
            d->dirty = true;
        else if (due > 0)
            *timeout = lower(*timeout, due - now);
    }
    if (jobs_count(d->ws->jobs)) {             /* a running clock, also in a phase without ticks */
        if (now >= *drawn + 1)
            d->dirty = true;
        *timeout = lower(*timeout, *drawn + 1 - now);
    }
    if (!d->dirty && !d->urgent)
        return;
    const double frame = 1.0 / (d->ws->opt.fps > 0 ? d->ws->opt.fps : 4);
    /* A key waits for no progress: only other keys count against the limit. */
    double at = d->urgent ? d->echoed + KEY_FRAME : *drawn + frame;
    if (now < at) {
        *timeout = lower(*timeout, at - now);
        return;
    }
    if (d->urgent)
        d->echoed = now;
    d->dirty = d->urgent = false;
    follow(d);
    watch_options(d);
    watch_jobs(d);
    if (picture_up(d))
        picture_draw(d);
    else
        screen_draw(d);
    *drawn = now;
    if (d->dirty)                              /* drawing found that it must draw again */
        *timeout = lower(*timeout, frame);
    for (size_t i = 0; i < 2; i++)
        if (plotpane_due(d->plot[i]) > 0)
            *timeout = lower(*timeout, plotpane_due(d->plot[i]) - now);
}

static void run_loop(struct desk *d, struct input *in, int sigfd)
{
    double drawn = -1, held = 0;
    while (!d->ws->quit && !d->ws->opt.plain) {
        struct pollfd p[10];
        double soon = INFINITY;
        int timeout = -1, hold = input_hold_ms(in);
        watch_session(d, &timeout);
        draw_if_due(d, &drawn, &timeout);
        if (hold >= 0)
            timeout = lower(timeout, held + hold / 1000.0 - desk_now());
        p[0] = (struct pollfd){ STDIN_FILENO, POLLIN, 0 };
        p[1] = (struct pollfd){ workspace_fd(d->ws), POLLIN, 0 };
        p[2] = (struct pollfd){ sigfd, POLLIN, 0 };
        nfds_t n = 3;
        for (size_t i = 0; i < 2; i++)
            n += plotpane_poll(d->plot[i], p + n, &timeout);
        n += picture_poll(d, p + n, &soon);
        if (soon < 1e9)
            timeout = lower(timeout, soon);
        int ready = poll(p, n, timeout);
        if (ready < 0 && errno != EINTR)
            break;
        take_signals(d);
        if (ready < 0)
            continue;
        if (p[0].revents) {
            held = desk_now();
            if (!read_input(d, in)) {          /* the terminal is gone */
                d->exit_signal = SIGHUP;
                d->ws->quit = true;
            }
        } else if (hold >= 0 && desk_now() >= held + hold / 1000.0) {
            input_expire(in);
            take_input(d, in);
        }
        if (p[1].revents) {
            workspace_pump(d->ws);
            d->dirty = true;
        }
        for (size_t i = 0; i < 2; i++)
            if (plotpane_service(d->plot[i])) {
                d->dirty = true;
                d->urgent |= plotpane_awaited(d->plot[i]);
            }
        picture_service(d);
        tell_gnuplot(d);
    }
    picture_end(d);
}

static void start(struct desk *d, bool first)
{
    const struct ui_opts *o = d->opts;
    d->welcome = first && d->ws->ndata == 0 && o->nlines == 0;
    if (o->start)
        o->start(d->ws, o->ctx);
    if (d->ws->ndata)
        d->welcome = false;
    for (size_t i = 0; i < o->nlines && !d->ws->quit; i++)
        desk_exec(d, o->line[i]);
}

static void loop_on_screen(struct desk *d)
{
    struct input *in = input_new();
    int sigfd = loop_signal_open();
    bool first = false;
    char *history = loop_history_path(&first);
    struct prompt_hooks hooks = { on_line, NULL, on_complete, on_matches, d, NULL };
    struct sink sink = { on_rec, d, d->ws->sinks };
    prompt_open_screen(&hooks, history);
    free(history);
    terminal_size(d);
    d->ws->sinks = &sink;
    struct ws_screen screen = { .show = on_show, .picture = on_picture };
    asked_fill(&screen);
    d->ws->screen = &screen;
    d->ws->screen_ctx = d;
    if (!d->started)
        start(d, first);
    d->started = true;
    if (in)
        run_loop(d, in, sigfd);
    const bool ending = d->ws->quit;
    if (ending && jobs_count(d->ws->jobs) && !d->exit_signal) {
        logbook_add(&d->log, LOG_NOTE,
                    "stopping what runs, keeping the best so far ...  (Ctrl-C: without waiting)");
        screen_draw(d);
    }
    if (ending)
        loop_finish(d->ws, true);
    d->ws->sinks = sink.next;
    d->ws->screen = NULL;
    prompt_close();
    input_free(in);
    loop_signal_close();
}

/* The screen until the end, or until line mode is asked for (F5): then lines until the screen is.
 */
static int screen_and_lines(struct desk *d, struct workspace *ws, const struct ui_opts *o)
{
    loop_on_screen(d);
    while (!ws->quit && ws->opt.plain) {
        leave_screen();
        if (have_termios)
            tcsetattr(STDIN_FILENO, TCSANOW, &saved_termios);
        const int rc = plain_again(ws, o);
        if (rc >= 0)
            return rc;
        back_on_screen(d);
        loop_on_screen(d);
    }
    return d->exit_signal ? 128 + d->exit_signal : 0;
}

int ui_run(struct workspace *ws, const struct ui_opts *o)
{
    static struct desk desk;
    char why[160];
    int status = 0;
    const char *not = o->plain ? NULL : why_not(why, sizeof why);
    if (o->plain || not)
        return plain_run(ws, o, not);
    unsetenv("LINES");             /* curses would believe them against the terminal */
    unsetenv("COLUMNS");
    have_termios = tcgetattr(STDIN_FILENO, &saved_termios) == 0;
    SCREEN *screen = newterm(NULL, stdout, stdin);
    if (!screen)
        return plain_run(ws, o, "line mode: curses does not start on this terminal");
    ws->interactive = true;
    catch_crashes(true);
    loop_signal_late(give_terminal_back);
    terminal_modes();
    say(modes_on);
    theme_init(o);
    if (desk_open(&desk, ws, o))
        status = screen_and_lines(&desk, ws, o);
    if (!isendwin())
        leave_screen();
    desk_close(&desk);
    if (have_termios)
        tcsetattr(STDIN_FILENO, TCSANOW, &saved_termios);
    delscreen(screen);
    catch_crashes(false);
    return status;
}
