/* figure/gnuplot.c -- the gnuplot child of the live panes.
 *
 * A request becomes commands that end with `print 'GPEND n'` on the output stream: what arrives
 * before that line is the frame. Only one request is active at a time. The child may be missing,
 * die, hang, refuse or send garbage. Then the built-in plot takes its place, one sentence gives the
 * reason, and another child is tried later. */
#include "figure/gnuplot.h"

#include "figure/figure_layout.h"
#include "figure/gnuplot_child.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    HANG_MS = 2000,       /* without an answer after this time it is killed */
    /* Limit for the first answer of a new child, which loads fonts and libraries. */
    FIRST_MS = 4000,
    RESTART_MS = 500,
    RETRY_MS = 30000,     /* wait after GIVE_UP failures in a row, or if it is not installed */
    GIVE_UP = 3,
    STDERR_MOST = 4096
};

struct gnuplot {
    struct child child;
    struct figure_style style;
    struct figure *want; /* the newest request, kept so that it can be drawn again */
    size_t w, h;
    bool utf8, waiting;  /* waiting: gnuplot has not answered `want` */
    bool busy;           /* the child is working on a request */
    struct figure *sent; /* the figure of that request; it owns the curves that `layout` shows */
    struct layout *layout;
    struct buf tx, rx, err;
    size_t tx_done;
    unsigned token;
    bool answered;       /* this child has answered at least once */
    long long deadline, start_at;
    unsigned failures;   /* consecutive failures */
    struct frame frame;
    bool have_frame;
    char state[256];
};

struct gnuplot *gnuplot_new(struct err *err)
{
    struct gnuplot *g = mem_calloc(1, sizeof *g, "plots", err);

    if (g == NULL)
        return NULL;
    g->child = (struct child){ 0, -1, -1, -1 };
    g->style = (struct figure_style){ .dark = true, .colors = 256 };
    return g;
}

static void drop_sent(struct gnuplot *g)
{
    if (g->layout != NULL)
        layout_free(g->layout);
    free(g->layout);
    g->layout = NULL;
    figure_free(g->sent);
    g->sent = NULL;
    g->busy = false;
    buf_clear(&g->rx); /* whatever arrives now was not requested */
}

void gnuplot_free(struct gnuplot *g)
{
    if (g == NULL)
        return;
    child_kill(&g->child);
    drop_sent(g);
    figure_free(g->want);
    frame_free(&g->frame);
    buf_free(&g->tx);
    buf_free(&g->rx);
    buf_free(&g->err);
    free(g);
}

void gnuplot_style(struct gnuplot *g, int colors, bool dark)
{
    g->style.colors = colors;
    g->style.dark = dark;
}

static void take_frame(struct gnuplot *g, struct frame *fr)
{
    frame_free(&g->frame);
    g->frame = *fr;
    g->have_frame = true;
}

/* Draws the newest request with the built-in plot. */
static enum status draw_ourselves(struct gnuplot *g, struct err *err)
{
    struct figure_style st = g->style;
    struct frame fr;

    st.utf8 = g->utf8;
    enum status rc = figure_frame(g->want, g->w, g->h, &st, &fr, err);
    if (rc == ST_OK)
        take_frame(g, &fr);
    return rc;
}

/* Sets the state sentence. Returns true if it has changed. */
static bool say(struct gnuplot *g, const char *sentence)
{
    if (strcmp(g->state, sentence) == 0)
        return false;
    snprintf(g->state, sizeof g->state, "%s", sentence);
    return true;
}

static bool working(const struct gnuplot *g)
{
    return g->state[0] == '\0' && g->failures == 0;
}

enum status gnuplot_request(struct gnuplot *g, const struct figure *f, size_t w, size_t h,
                            bool utf8, struct err *err)
{
    const struct figure *thin = figure_thinned(f, w, err);

    if (thin == NULL)
        return ST_NOMEM;
    struct figure *copy = thin != f ? (struct figure *)thin : figure_copy(f, err);
    if (copy == NULL)
        return ST_NOMEM;
    const bool other = g->want == NULL || strcmp(g->want->name != NULL ? g->want->name : "",
                                                 f->name != NULL ? f->name : "") != 0;
    const bool resized = other || !g->have_frame || g->w != w || g->h != h || g->utf8 != utf8;
    figure_free(g->want);
    g->want = copy;
    g->w = w;
    g->h = h;
    g->utf8 = utf8;
    g->waiting = w > 0 && h > 0;
    /* If there is no frame to show, or gnuplot does not work, draw the built-in plot at once. */
    if (resized || !working(g) || !g->waiting)
        return draw_ourselves(g, err);
    return ST_OK;
}

bool gnuplot_busy_for_tests(const struct gnuplot *g)
{
    return g->busy || (g->waiting && g->failures == 0);
}

const struct frame *gnuplot_frame(const struct gnuplot *g)
{
    return g->have_frame ? &g->frame : NULL;
}

const char *gnuplot_state(const struct gnuplot *g)
{
    return g->state;
}

long gnuplot_pid_for_tests(const struct gnuplot *g)
{
    return (long)g->child.pid;
}

/* Failure. */

/* Ends the child, schedules the next attempt, and draws the built-in plot. */
static bool failed(struct gnuplot *g, const char *sentence)
{
    if (g->err.len > 0)
        log_info("gnuplot: %s", buf_str(&g->err));
    log_info("gnuplot: %s", sentence);
    child_kill(&g->child);
    drop_sent(g);
    buf_clear(&g->tx);
    buf_clear(&g->rx);
    buf_clear(&g->err);
    g->answered = false;
    g->waiting = g->want != NULL && g->w > 0 && g->h > 0;
    g->failures++;
    g->start_at = child_now_ms() + (g->failures >= GIVE_UP ? RETRY_MS : RESTART_MS);
    say(g, sentence);
    if (g->want != NULL)
        draw_ourselves(g, NULL);
    return true;
}

static bool missing(struct gnuplot *g, const char *why)
{
    char words[256];

    snprintf(words, sizeof words, "%.150s: gpdesk draws plots itself (finer ones: apt-get install "
             "gnuplot-nox)", why);
    g->failures = g->failures < GIVE_UP ? GIVE_UP - 1 : g->failures;
    return failed(g, words);
}

static bool ended(struct gnuplot *g)
{
    int status = -1;

    /* The streams close slightly before the process can be waited for. */
    for (int i = 0; i < 10 && !child_ended(&g->child, &status); i++)
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    if (g->child.pid == 0 && status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return missing(g, "gnuplot cannot be run");
    return failed(g, "gnuplot ended unexpectedly: gpdesk draws plots itself until it is back");
}

/* Work. */

static bool start(struct gnuplot *g)
{
    struct err e = { 0 };
    char *program = child_program(&e);

    if (program == NULL)
        return missing(g, e.msg);
    enum status rc = child_start(&g->child, program, NULL, &e);
    free(program);
    return rc != ST_OK && failed(g, e.msg);
}

/* Writes the commands for the newest request. */
static bool begin(struct gnuplot *g)
{
    struct figure_style st = g->style;

    st.utf8 = g->utf8;
    drop_sent(g);
    g->layout = mem_calloc(1, sizeof *g->layout, "a plot", NULL);
    g->sent = figure_copy(g->want, NULL);
    if (g->layout == NULL || g->sent == NULL ||
        layout_init(g->layout, g->sent, g->w, g->h, &st, 0, NULL) != ST_OK) {
        drop_sent(g);
        g->waiting = false;
        return say(g, "memory is short: plots stand still");
    }
    buf_clear(&g->tx);
    buf_clear(&g->rx);
    buf_clear(&g->err);
    g->tx_done = 0;
    g->token = (g->token + 1) % 1000000000;
    layout_gnuplot(g->layout, &g->tx);
    buf_printf(&g->tx, "set print '-'\nprint 'GPEND %u'\n", g->token);
    if (g->tx.failed) {
        drop_sent(g);
        buf_free(&g->tx);
        g->waiting = false;
        return say(g, "memory is short: plots stand still");
    }
    g->busy = true;
    g->waiting = false;
    g->deadline = child_now_ms() + (g->answered ? HANG_MS : FIRST_MS);
    return false;
}

static bool write_some(struct gnuplot *g)
{
    while (g->child.in >= 0 && g->tx_done < g->tx.len) {
        const ssize_t k = child_write(&g->child, g->tx.s + g->tx_done, g->tx.len - g->tx_done);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return true;
        if (k < 0)
            return false;
        g->tx_done += (size_t)k;
    }
    return true;
}

/* Reads what has arrived. Returns false at the end of the stream. */
static bool drain(int fd, struct buf *b, size_t most)
{
    char chunk[65536];

    for (int rounds = 0; rounds < 64; rounds++) {
        const ssize_t k = read(fd, chunk, sizeof chunk);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        if (k == 0)
            return false;
        if (b->len < most)
            buf_putn(b, chunk, (size_t)k);
    }
    return true;
}

/* The whole answer has arrived: converts bytes to cells. */
static bool finish(struct gnuplot *g, size_t bytes)
{
    struct frame fr;

    if (!layout_read(g->layout, buf_str(&g->rx), bytes)) {
        g->answered = true;
        if (g->failures + 1 >= GIVE_UP)
            return failed(g, "gnuplot does not draw: gpdesk draws plots itself");
        log_info("gnuplot: no picture; %s", buf_str(&g->err));
        drop_sent(g);
        g->failures++;
        say(g, "gnuplot could not draw this plot: gpdesk drew it itself");
        draw_ourselves(g, NULL);
        return true;
    }
    g->answered = true;
    g->failures = 0;
    say(g, "");
    if (layout_draw(g->layout, &fr, NULL) == ST_OK)
        take_frame(g, &fr);
    drop_sent(g);
    return true;
}

/* Looks for the end mark at the end of what has arrived. */
static bool answer(struct gnuplot *g, size_t *bytes)
{
    char mark[32];
    const size_t n = (size_t)snprintf(mark, sizeof mark, "GPEND %u\n", g->token);

    if (g->rx.len < n || memcmp(g->rx.s + g->rx.len - n, mark, n) != 0)
        return false;
    *bytes = g->rx.len - n;
    return true;
}

static bool service_child(struct gnuplot *g)
{
    size_t bytes;

    if (!write_some(g))
        return ended(g);
    if (!drain(g->child.err, &g->err, STDERR_MOST)) {
        close(g->child.err);
        g->child.err = -1;
    }
    const size_t most = g->layout != NULL ? layout_read_limit(g->layout) : 65536;
    const bool open = drain(g->child.out, &g->rx, most);
    if (g->rx.failed)
        return failed(g, "memory is short: gpdesk draws plots itself");
    if (g->busy && answer(g, &bytes))
        return finish(g, bytes);
    if (!open)
        return ended(g);
    if (g->rx.len >= most)
        return failed(g, "gnuplot did not send a picture: gpdesk draws plots itself");
    if (g->busy && child_now_ms() >= g->deadline)
        return failed(g, "gnuplot did not answer and was ended: gpdesk draws plots itself until "
                         "another one is up");
    return false;
}

bool gnuplot_service(struct gnuplot *g)
{
    bool changed = false;

    if (g->child.pid > 0)
        changed = service_child(g);
    if (g->child.pid == 0 && g->waiting && child_now_ms() >= g->start_at)
        changed |= start(g);
    if (g->child.pid > 0 && g->waiting && !g->busy) {
        changed |= begin(g);
        if (g->busy && !write_some(g))
            changed |= ended(g);
    }
    return changed;
}

static void lower(int *timeout_ms, long long at)
{
    const long long left = at - child_now_ms();
    const int ms = left <= 0 ? 0 : left > 60000 ? 60000 : (int)left;

    if (*timeout_ms < 0 || *timeout_ms > ms)
        *timeout_ms = ms;
}

size_t gnuplot_poll(struct gnuplot *g, struct pollfd *fds, int *timeout_ms)
{
    size_t n = 0;

    if (g->child.pid == 0) {
        if (g->waiting)
            lower(timeout_ms, g->start_at);
        return 0;
    }
    if (g->busy)
        lower(timeout_ms, g->deadline);
    else if (g->waiting)
        *timeout_ms = 0;
    fds[n++] = (struct pollfd){ .fd = g->child.out, .events = POLLIN };
    if (g->child.err >= 0)
        fds[n++] = (struct pollfd){ .fd = g->child.err, .events = POLLIN };
    if (g->busy && g->tx_done < g->tx.len)
        fds[n++] = (struct pollfd){ .fd = g->child.in, .events = POLLOUT };
    return n;
}
