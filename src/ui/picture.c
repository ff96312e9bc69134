/* ui/picture.c -- see picture.h. */
#include "ui/picture.h"

#include "app/core/job.h"
#include "app/core/ws_tell.h"
#include "figure/plot_show.h"
#include "base/mem.h"
#include "base/text.h"
#include "ui/terminal.h"
#include "ui/desk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_WITHIN 2.0     /* seconds to wait for an answer; generous for slow connections */
enum { CHUNK = 256, TURN = 1 << 16 };

static void forget(struct desk *d)
{
    free(d->picture.bytes);
    d->picture.bytes = NULL;
    d->picture.state = PICTURE_NONE;
    d->picture.below[0] = '\0';
}

static void begin(struct desk *d)
{
    d->picture.state = PICTURE_COMES;
    d->picture.done = 0;
    terminal_say("\033[0m\033[H\033[2J");
}

static void refuse(struct desk *d)
{
    struct err err = { 0 };
    d->picture.can = -1;
    forget(d);
    plot_show_sixel_refused(&err);
    ws_error(d->ws, &err, d->line);
    d->dirty = true;
}

bool picture_take(struct desk *d, const char *sixel, size_t n)
{
    if (d->picture.can < 0)
        return false;
    picture_end(d);
    char *copy = mem_calloc(n ? n : 1, 1, "a picture", NULL);
    if (!copy)
        return false;
    memcpy(copy, sixel, n);
    d->picture.bytes = copy;
    d->picture.n = n;
    if (d->picture.can > 0) {
        begin(d);
    } else {
        d->picture.state = PICTURE_ASKED;
        d->picture.until = desk_now() + ANSWER_WITHIN;
        terminal_say("\033[c");
    }
    return true;
}

void picture_reply(struct desk *d, const char *bytes, size_t n)
{
    bool whole;
    const bool yes = plot_show_sixel_in_reply(bytes, n, &whole);
    if (d->picture.state != PICTURE_ASKED || !whole)
        return;
    if (!yes) {
        refuse(d);
        return;
    }
    d->picture.can = 1;
    begin(d);
}

bool picture_up(const struct desk *d)
{
    return d->picture.state == PICTURE_COMES || d->picture.state == PICTURE_STANDS;
}

void picture_end(struct desk *d)
{
    if (d->picture.state == PICTURE_COMES)
        terminal_say("\033\\");                    /* ends an incomplete image */
    if (picture_up(d))
        d->clear = d->urgent = true;
    forget(d);
}

/* Updates the job line with plain bytes, because curses does not know what is on the screen. */
void picture_draw(struct desk *d)
{
    struct job_view j;
    struct buf b = { 0 }, safe = { 0 };
    if (d->picture.state != PICTURE_STANDS)
        return;
    if (jobs_view(d->ws->jobs, 0, &j))
        job_words(&j, &b);
    else
        buf_puts(&b, "ready");
    buf_puts(&b, "   press any key to continue");
    text_safe(&safe, buf_str(&b), d->cols > 2 ? (size_t)d->cols - 1 : 1);
    if (strcmp(buf_str(&safe), d->picture.below) != 0) {
        snprintf(d->picture.below, sizeof d->picture.below, "%s", buf_str(&safe));
        buf_clear(&b);
        buf_printf(&b, "\033[%d;1H\033[K%s", d->rows, d->picture.below);
        terminal_say(buf_str(&b));
    }
    buf_free(&b);
    buf_free(&safe);
}

size_t picture_poll(const struct desk *d, struct pollfd *p, double *seconds)
{
    if (d->picture.state == PICTURE_ASKED)
        *seconds = d->picture.until - desk_now();
    if (d->picture.state != PICTURE_COMES)
        return 0;
    *p = (struct pollfd){ STDOUT_FILENO, POLLOUT, 0 };
    return 1;
}

/* Writes as much as the terminal accepts now, limited so that keys are still handled. */
void picture_service(struct desk *d)
{
    if (d->picture.state == PICTURE_ASKED && desk_now() >= d->picture.until)
        refuse(d);
    for (size_t turn = 0; d->picture.state == PICTURE_COMES && turn < TURN; turn += CHUNK) {
        struct pollfd p = { STDOUT_FILENO, POLLOUT, 0 };
        const size_t left = d->picture.n - d->picture.done;
        if (left == 0) {
            d->picture.state = PICTURE_STANDS;
            d->dirty = true;
            return;
        }
        if (poll(&p, 1, 0) <= 0 || !(p.revents & POLLOUT))
            return;
        const ssize_t k =
            write(STDOUT_FILENO, d->picture.bytes + d->picture.done, left < CHUNK ? left : CHUNK);
        if (k < 0 && errno != EINTR && errno != EAGAIN) {
            picture_end(d);
            return;
        }
        d->picture.done += k > 0 ? (size_t)k : 0;
    }
}
