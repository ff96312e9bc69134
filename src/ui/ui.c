/* ui/ui.c -- the full screen: start and stop of curses, the one poll loop, the desk.
 *
 * The loop waits for a key, the workers, signals and gnuplot. It draws at most twenty times a
 * second, four times if only the progress of a job has changed, and never if nothing has. */
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
#include "ui/terminal.h"
#include "ui/views/runs.h"

#include <errno.h>
#include <math.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEY_FRAME 0.05        /* seconds between draws for keys: at most 20 a second */

/* A result too long for the log's pane is shown over the view, where it can be scrolled. */
static void page_result(struct desk *d, const struct rec *r)
{
    size_t rows = 1;
    for (const char *p = buf_str(&r->text); *p; p++)
        rows += *p == '\n' && p[1];
    const bool alone = d->zoom || d->full ||
                       screen_layout_named(d->ws->opt.layout) == LAYOUT_SLIDE;
    const bool panes = d->rows >= MEDIUM_ROWS && d->cols >= MEDIUM_COLS && !alone;
    const int high = d->panes.has[PANE_LOG] ? d->panes.pane[PANE_LOG].h : d->rows * 3 / 10;
    const size_t room = panes ? (size_t)(high > 3 ? high - 2 : 1) /* its frame takes two */
                              : d->rows >= 10 ? 6 : SMALL_NEWS;
    if (d->rows < 8 || d->cols < 40)           /* there is no view to show it over */
        return;
    if (r->type != REC_RESULT || rows <= room || d->main == VIEW_LOG || !d->line)
        return;
    if (lesson_of(d->ws) && strncmp(d->line, "lesson ", 7) == 0)
        return;                             /* the view of a lesson shows text and plot of a step */
    desk_page(d, d->line, buf_str(&r->text));
    d->quiet = true;                           /* it is already on the screen */
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

/* Selects the first run; the others are drawn over it. */
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
    struct desk *d = ctx;
    if (lesson_of(d->ws) && d->main == VIEW_LESSON) { /* a lesson shows its plots beside it */
        lesson_view.show(&d->view[VIEW_LESSON], plot, runs ? runs : "");
        d->picked = true; /* the lesson may be over when a job of the line is first seen */
        return true;
    }
    d->picked = true; /* other results of the same line do not come forward over it */
    d->shown_now = true;
    select_shown(d, runs ? runs : "");
    const char *run = runs && *runs ? d->sel : "";
    const size_t at = view_of_plot(plot, plot_find(plot, NULL) != NULL);
    if (at == N_VIEWS)
        return false; /* it is a page of text */
    desk_show(d, at);
    if (view_table[at]->show)
        view_table[at]->show(&d->view[at], plot, run);
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

static void on_dropped(void *ctx, const char *words)
{
    struct desk *d = ctx;
    logbook_add(&d->log, LOG_WARNING, words);
}

static char **on_complete(void *ctx, const char *line, size_t pos, size_t *start)
{
    return lifecycle_complete(((struct desk *)ctx)->ws, line, pos, start);
}

/* The numbers of the first-start choice. They are no commands, so no typed command is lost. */
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

/* A page gives way to jobs begun after it was opened, and to other data. Jobs that were already
 * running continue behind it. */
static bool outdated(const struct desk *d, size_t view)
{
    const struct pager *p = &d->pager;
    return view_table[view]->news & VIEW_NEWS_DATA
               ? p->ndata != d->ws->ndata || p->cur != d->ws->cur
               : p->jobs != jobs_submitted(d->ws->jobs);
}

/* Restarts are created together and run one after the other. The selection follows the running one,
 * and finally goes to the best, unless the user has selected another run. */
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
               (r->ended > 0.0 || !(r->started > 0.0))) { /* skip a run that is stopping */
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

/* News in the workspace brings its view forward, unless the user has picked a view since the last
 * line. */
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
    /* Data comes first: a job on it may have begun and even ended since the last look. */
    if (ws->ndata && (ws->ndata != d->seen.data || ws->cur != d->seen.cur)) {
        view = view_of_news(VIEW_NEWS_DATA);
        d->welcome = false;
    }
    if (ws->nrun != d->seen.runs && newest) {
        snprintf(d->sel, sizeof d->sel, "%s", newest->id);
        d->nover = 0;
        d->seen.trace_due = newest->kind == RUN_FIT;
        if (newest->kind == RUN_TUNE)
            view = view_of_news(VIEW_NEWS_TUNING);
    }
    follow_restarts(d, ws->nrun != d->seen.runs ? newest : NULL);
    if (d->seen.trace_due && newest) {
        const bool over = newest->state != RUN_RUNNING && newest->state != RUN_QUEUED;
        d->seen.trace_due = newest->ntrace < 2 && !over;
        if (!d->seen.trace_due)
            view = view_of_news(newest->ntrace > 1 ? VIEW_NEWS_TRACE : VIEW_NEWS_FIT);
    }
    if (scored > d->seen.scored)
        view = view_of_news(VIEW_NEWS_SCORE);
    if (pca && pca != d->seen.pca)
        view = view_of_news(VIEW_NEWS_COMPONENTS);
    d->seen.runs = ws->nrun;
    d->seen.scored = scored;
    d->seen.pca = pca;
    d->seen.data = ws->ndata;
    d->seen.cur = ws->cur;
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
    requests_remember(d);
    d->list = (struct view){ .ops = &runs_list_view, .desk = d };
    return (d->list.state = calloc(1, runs_list_view.state_size)) != NULL;
}

static void close_view(struct view *v)
{
    if (v->state && v->ops->close)
        v->ops->close(v);
    free(v->state);
}

static void desk_close(struct desk *d)
{
    requests_save(d);
    picker_close(d);
    runs_list_free(d);
    free(d->find);
    free(d->learn.known);
    free(d->learn.line);
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
    free(d->panes.title);
    draw_begin(0, 0);
}

static void take_input(struct desk *d, struct input *in)
{
    struct input_event e;
    while (!d->ws->quit && input_next(in, &e)) {
        if (e.kind == INPUT_REPLY)
            picture_reply(d, e.bytes, e.n);
        else if (picture_up(d))
            picture_end(d);                    /* any key closes it and has no other effect */
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
    for (int sig; (sig = lifecycle_signal_next()) != 0;) {
        picture_end(d);
        switch (sig) {
        case SIGWINCH: terminal_size(d); break;
        case SIGTSTP: terminal_suspend(d); break;
        case SIGCONT: terminal_back(d); break;
        case SIGINT: keys_interrupt(d); d->urgent = true; break;
        default:
            d->exit_signal = sig;
            d->ws->quit = true;
        }
    }
}

/* gnuplot started or failed: reported once, whichever pane noticed. */
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
        terminal_mouse(d->mouse);
    }
}

/* Rings the bell after a long job. */
static void watch_jobs(struct desk *d)
{
    struct job_view j;
    const double now = desk_now();
    if (jobs_view(d->ws->jobs, 0, &j)) {
        d->rang = now - j.seconds;
    } else if (d->rang > 0) {
        if (d->ws->opt.bell && now - d->rang > lifecycle_ring_after())
            terminal_say("\007");
        d->rang = 0;
    }
}

/* Shows that something is not on disk in time; saving wakes the loop by itself. */
static void watch_session(struct desk *d, int *timeout)
{
    const double unsaved = store_of(d->ws) ? store_unsaved(store_of(d->ws)) : 0;

    if (unsaved >= STORE_UNSAVED_SHOWN && !d->unsaved)
        d->dirty = true;
    else if (unsaved > 0 && unsaved < STORE_UNSAVED_SHOWN)
        *timeout = lower(*timeout, STORE_UNSAVED_SHOWN - unsaved);
    d->unsaved = unsaved >= STORE_UNSAVED_SHOWN;
}

/* Draws if it is time; otherwise lowers the timeout accordingly. */
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
    if (jobs_count(d->ws->jobs)) {             /* the clock runs, also in a phase without ticks */
        if (now >= *drawn + 1)
            d->dirty = true;
        *timeout = lower(*timeout, *drawn + 1 - now);
    }
    if (!d->dirty && !d->urgent)
        return;
    const double frame = 1.0 / (d->ws->opt.fps > 0 ? d->ws->opt.fps : 4);
    /* A key does not wait for progress: only other keys count for the limit. */
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
    if (d->dirty)                              /* drawing found that it must be repeated */
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
        if (ready < 0 && errno != EINTR && errno != ENOMEM)
            break;
        if (ready < 0 && errno == ENOMEM)
            usleep(10000);
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
    int sigfd = lifecycle_signal_open();
    bool first = false;
    char *history = lifecycle_history_path(&first);
    struct prompt_hooks hooks = { on_line, NULL, on_complete, on_matches, d, NULL,
                                  on_dropped };
    struct sink sink = { on_rec, d, d->ws->sinks };
    prompt_open_screen(&hooks, history);
    free(history);
    terminal_size(d);
    d->ws->sinks = &sink;
    struct ws_screen screen = { .show = on_show, .picture = on_picture };
    requests_fill(&screen);
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
        lifecycle_finish(d->ws, true);
    d->ws->sinks = sink.next;
    d->ws->screen = NULL;
    prompt_close();
    input_free(in);
    lifecycle_signal_close();
}

/* Runs the screen until the end or until F5 asks for line mode; then runs line mode until F5 asks
 * for the screen. */
static int screen_and_lines(struct desk *d, struct workspace *ws, const struct ui_opts *o)
{
    loop_on_screen(d);
    while (!ws->quit && ws->opt.plain) {
        terminal_leave();
        terminal_end();
        const int rc = plain_again(ws, o);
        if (rc >= 0)
            return rc;
        terminal_back(d);
        loop_on_screen(d);
    }
    return d->exit_signal ? 128 + d->exit_signal : 0;
}

int ui_run(struct workspace *ws, const struct ui_opts *o)
{
    static struct desk desk;
    char why[160];
    int status = 0;
    const char *not = o->plain ? NULL : terminal_refuses(why, sizeof why);
    if (o->plain || not)
        return plain_run(ws, o, not);
    unsetenv("LINES");             /* curses would trust these instead of the terminal */
    unsetenv("COLUMNS");
    terminal_begin();
    SCREEN *screen = newterm(NULL, stdout, stdin);
    if (!screen)
        return plain_run(ws, o, "line mode: curses does not start on this terminal");
    ws->interactive = true;
    terminal_crashes(true);
    lifecycle_signal_late(terminal_rescue);
    terminal_modes();
    terminal_paste(true);
    theme_init(o);
    if (desk_open(&desk, ws, o))
        status = screen_and_lines(&desk, ws, o);
    if (!isendwin())
        terminal_leave();
    desk_close(&desk);
    terminal_end();
    delscreen(screen);
    terminal_crashes(false);
    return status;
}
