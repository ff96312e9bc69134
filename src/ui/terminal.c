/* ui/terminal.c -- see terminal.h. */
#include "ui/terminal.h"

#include "ui/desk.h"
#include "ui/lifecycle.h"
#include "ui/prompt.h"

#include <errno.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#undef lines      /* curses has macros of these names */
#undef columns
#undef bell

static const char modes_on[] = "\033[?2004h";
static const char modes_off[] = "\033[?2004l\033[?1006l\033[?1002l";
static const char mouse_on[] = "\033[?1002h\033[?1006h", mouse_off[] = "\033[?1006l\033[?1002l";
static const char rescue[] = "\033[?2004l\033[?1006l\033[?1002l\033[?1049l\033[?25h\033[0m\r\n";
static struct termios saved_termios;
static bool have_termios;

void terminal_say(const char *s)
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

/* Nothing else can end the program any more: writes what the terminal accepts without waiting. */
void terminal_rescue(void)
{
    struct pollfd p = { STDOUT_FILENO, POLLOUT, 0 };
    if (poll(&p, 1, 0) == 1 && p.revents == POLLOUT) {
        ssize_t k = write(STDOUT_FILENO, rescue, sizeof rescue - 1);
        (void)k;
    }
    if (have_termios)
        tcsetattr(STDIN_FILENO, TCSANOW, &saved_termios);
}

/* After a crash: makes the terminal usable, then dies as the signal would have. */
static void on_crash(int sig)
{
    ssize_t k = write(STDOUT_FILENO, rescue, sizeof rescue - 1);
    (void)k;
    if (have_termios)
        tcsetattr(STDIN_FILENO, TCSANOW, &saved_termios);
    signal(sig, SIG_DFL);
    raise(sig);
}

void terminal_crashes(bool on)
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

/* NULL if a full screen is possible, otherwise the reason. */
const char *terminal_refuses(char *out, size_t len)
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

void terminal_modes(void)
{
    raw();           /* Ctrl-C is then a byte, and Ctrl-S reaches the history search */
    noecho();
    nonl();
    intrflush(stdscr, FALSE);
    typeahead(-1);   /* curses must not read ahead in our input */
}

void terminal_size(struct desk *d)
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

void terminal_leave(void)
{
    const char *alt = tigetstr("smcup");
    if (!alt || alt == (char *)-1) {    /* there is no second screen to return from, so clear it */
        werase(stdscr);
        wrefresh(stdscr);
    }
    terminal_say(modes_off);
    endwin();
}

void terminal_back(struct desk *d)
{
    reset_prog_mode();
    terminal_modes();
    terminal_say(modes_on);
    if (d->mouse)
        terminal_say(mouse_on);
    terminal_size(d);
    refresh();
    d->clear = d->urgent = true;
}

void terminal_suspend(struct desk *d)
{
    terminal_leave();
    lifecycle_suspend();
    terminal_back(d);
}

bool terminal_begin(void)
{
    return have_termios = tcgetattr(STDIN_FILENO, &saved_termios) == 0;
}

void terminal_end(void)
{
    if (have_termios)
        tcsetattr(STDIN_FILENO, TCSANOW, &saved_termios);
}

void terminal_paste(bool on)
{
    terminal_say(on ? modes_on : modes_off);
}

void terminal_mouse(bool on)
{
    terminal_say(on ? mouse_on : mouse_off);
}
