/* figure/plot_show.c -- see plot_show.h. */
#include "figure/plot_show.h"

#include "figure/gnuplot_child.h"
#include "base/mem.h"
#include "compute/ctl.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* A window. */

static struct child window = { 0, -1, -1, -1 };
static char *window_term; /* "qt"; NULL: unknown so far */
static int limit_ms = 10000;

void plot_window_limit_for_tests(int ms)
{
    limit_ms = ms;
}

static void close_window(void)
{
    if (window.pid)
        child_kill(&window);
    window = (struct child){ 0, -1, -1, -1 };
    free(window_term);
    window_term = NULL;
}

static enum status stopped(struct err *err)
{
    return err_set(err, ST_CANCELLED, "stopped before gnuplot's window was there");
}

static enum status send_all(const struct ctl *ctl, const struct buf *b, struct err *err)
{
    const long long end = child_now_ms() + limit_ms;

    for (size_t done = 0; done < b->len;) {
        const ssize_t k = child_write(&window, b->s + done, b->len - done);
        if (k > 0) {
            done += (size_t)k;
            continue;
        }
        if (k < 0 && errno != EAGAIN && errno != EINTR)
            return err_set(err, ST_IO, "gnuplot's window is gone");
        struct pollfd fd = { .fd = window.in, .events = POLLOUT };
        if (ctl_stopped(ctl))
            return stopped(err);
        if (child_now_ms() >= end)
            return err_set(err, ST_LIMIT, "gnuplot does not take the picture");
        poll(&fd, 1, 100);
    }
    return ST_OK;
}

/* Reads until gnuplot has printed "GPX-TERM name". */
static enum status read_term(const struct ctl *ctl, struct err *err)
{
    static const char mark[] = "GPX-TERM ";
    const long long end = child_now_ms() + limit_ms;
    struct buf b = { 0 };
    char chunk[512];

    while (child_now_ms() < end && !ctl_stopped(ctl)) {
        struct pollfd fd = { .fd = window.err, .events = POLLIN };
        poll(&fd, 1, 100);
        const ssize_t k = read(window.err, chunk, sizeof chunk);
        if (k == 0)
            break;
        if (k > 0)
            buf_putn(&b, chunk, (size_t)k);
        const char *at = b.len ? strstr(b.s, mark) : NULL;
        const char *line = at ? strchr(at, '\n') : NULL;
        if (line) {
            at += sizeof mark - 1;
            window_term = strndup(at, strcspn(at, " \r\n"));
            break;
        }
        if (b.len > 65536)
            break;
    }
    buf_free(&b);
    if (window_term && strcmp(window_term, "none"))
        return ST_OK;
    if (ctl_stopped(ctl))
        return stopped(err);
    err_set(err, ST_UNSUPPORTED, window_term ? "this gnuplot opens no windows"
                                             : "gnuplot does not say whether it opens windows");
    err_hint(err, window_term ? "apt-get install gnuplot-qt; or out=FILE.png" : "out=FILE.png");
    return ST_UNSUPPORTED;
}

static enum status open_window(const struct ctl *ctl, struct err *err)
{
    struct buf b = { 0 };
    char *program = child_program(err);
    int status;

    if (!program)
        return ST_NOT_FOUND;
    if (window.pid && child_ended(&window, &status))
        close_window();
    enum status rc = ST_OK;
    if (!window.pid) {
        rc = child_start_display(&window, program, err);
        if (rc == ST_OK) {
            buf_puts(&b, "term = 'none'\ndo for [t in 'x11 wxt qt'] { if (strstrt(GPVAL_TERMINALS, "
                         "t.' ') > 0) "
                         "{ term = t } }\nprint 'GPX-TERM '.term\n");
            rc = send_all(ctl, &b, err);
        }
        if (rc == ST_OK)
            rc = read_term(ctl, err);
        if (rc != ST_OK)
            close_window();
    }
    buf_free(&b);
    free(program);
    return rc;
}

enum status plot_window(const struct ctl *ctl, const struct figure *f, bool dark, struct err *err)
{
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    struct buf b = { 0 }, term = { 0 };
    char drop[1024];

    if (!(x && *x) && !(wayland && *wayland)) {
        err_set(err, ST_UNSUPPORTED, "there is no display for a window");
        err_hint(err, "plot NAME out=FILE.png, or P in a view for the whole screen");
        return ST_UNSUPPORTED;
    }
    enum status rc = open_window(ctl, err);
    if (rc != ST_OK)
        return rc;
    while (read(window.err, drop, sizeof drop) > 0 || read(window.out, drop, sizeof drop) > 0)
        ; /* read complaints about fonts: a full pipe would block gnuplot */
    buf_printf(&term, "set term %s size 900,600 title 'gpdesk'", window_term);
    figure_gnuplot(f, buf_str(&term), NULL, false, dark, &b);
    rc = b.failed || term.failed ? err_nomem(err, b.len, "a plot") : send_all(ctl, &b, err);
    if (rc != ST_OK)
        close_window();
    buf_free(&b), buf_free(&term);
    return rc;
}

/* Sixel. */

bool plot_show_sixel_in_reply(const char *s, size_t n, bool *whole)
{
    const char *at = memmem(s, n, "\033[?", 3), *end = s + n;
    bool found = false;

    *whole = false;
    if (!at)
        return false;
    for (at += 3; at < end;) { /* numbers separated by semicolons, then c */
        unsigned v = 0;
        const char *first = at;
        while (at < end && *at >= '0' && *at <= '9' && v < 100000)
            v = v * 10 + (unsigned)(*at++ - '0');
        found |= at > first && v == 4;
        if (at < end && *at == 'c')
            *whole = true;
        if (at >= end || *at != ';')
            break;
        at++;
    }
    return *whole && found;
}

enum status plot_show_sixel_refused(struct err *err)
{
    err_set(err, ST_UNSUPPORTED,
            "this terminal has not said that it shows pictures (sixel graphics)");
    err_hint(err, "out=FILE.png, to=window, or P in a view for the whole screen");
    return ST_UNSUPPORTED;
}

bool plot_show_sixel_ask(int fd, int ms)
{
    const long long until = child_now_ms() + ms;
    struct termios was, raw;
    char reply[256];
    size_t n = 0;
    bool whole = false, yes = false;

    if (tcgetattr(fd, &was) != 0)
        return false;
    raw = was;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0, raw.c_cc[VTIME] = 0;
    if (tcsetattr(fd, TCSADRAIN, &raw) != 0)
        return false;
    if (write(fd, "\033[c", 3) == 3)
        while (!whole && n < sizeof reply && child_now_ms() < until) {
            struct pollfd p = { .fd = fd, .events = POLLIN };
            if (poll(&p, 1, (int)(until - child_now_ms())) <= 0)
                break;
            const ssize_t k = read(fd, reply + n, sizeof reply - n);
            if (k <= 0)
                break;
            n += (size_t)k;
            yes = plot_show_sixel_in_reply(reply, n, &whole);
        }
    tcsetattr(fd, TCSADRAIN, &was);
    return yes;
}

void plot_show_sixel_size(int fd, size_t *w, size_t *h)
{
    struct winsize s;

    *w = 800, *h = 480;
    if (ioctl(fd, TIOCGWINSZ, &s) == 0 && s.ws_xpixel > 200 && s.ws_ypixel > 200 && s.ws_row > 4) {
        *w = s.ws_xpixel < 3000 ? s.ws_xpixel : 3000;
        *h = (size_t)s.ws_ypixel * (s.ws_row - 2u) / s.ws_row;
        *h = *h < 2000 ? *h : 2000;
    }
}

enum status plot_show_sixel_show(int fd, const char *bytes, size_t n, struct err *err)
{
    static const char ask[] = "\r\npress any key to continue ";
    struct termios was, raw;
    enum status rc = ST_OK;
    char key[64];

    if (tcgetattr(fd, &was) != 0) {
        err_set(err, ST_IO, "standard output is not a terminal");
        err_hint(err, "plot NAME out=FILE.png");
        return ST_IO;
    }
    raw = was;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1, raw.c_cc[VTIME] = 0;
    tcsetattr(fd, TCSADRAIN, &raw);
    for (size_t done = 0; rc == ST_OK && done < n + sizeof ask - 1;) {
        const char *from = done < n ? bytes + done : ask + (done - n);
        const ssize_t k = write(fd, from, done < n ? n - done : n + sizeof ask - 1 - done);
        if (k < 0 && errno == EAGAIN) {
            struct pollfd p = { .fd = fd, .events = POLLOUT };
            if (poll(&p, 1, 5000) <= 0)
                rc = err_set(err, ST_IO, "the terminal takes no more of the picture");
        } else if (k < 0 && errno != EINTR)
            rc = err_system(err, errno, NULL, "the picture cannot be shown: %s", strerror(errno));
        done += k > 0 ? (size_t)k : 0;
    }
    struct pollfd p = { .fd = fd, .events = POLLIN };
    if (rc == ST_OK && poll(&p, 1, -1) > 0 && (p.revents & POLLIN)) /* a signal ends it, too */
        (void)!read(fd, key, sizeof key);
    tcsetattr(fd, TCSADRAIN, &was);
    return rc;
}
