/* compute/ranks/team_meet.c -- waiting for ranks: their meetings, their answers, and what becomes
 * of a request that one of them does not finish (team.h). */
#include "compute/ranks/team.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { LOOK_MS = 20 }; /* between looks at whether the request is to stop */

/* A request under way. */
struct wait {
    struct team *t;
    const struct team_ask *ask;
    const struct ctl *ctl;
    bool ending;      /* no more meetings: stopped, failed, or a rank was lost */
    bool lost;
    bool late;        /* it was stopped, and nobody wants the answers */
    enum status rc;   /* of the ranks, the first that failed by itself */
    struct err err;
};

static struct team_rank *rank_at(const struct wait *w, size_t i)
{
    return &w->t->rank[w->ask->deal->rank[i]];
}

static bool at_work(const struct team_rank *r)
{
    return r->alive && r->doing != TEAM_IDLE;
}

/* Seconds since the rank began what it does now, which ends here. */
static double lap(struct team_rank *r, double now)
{
    const double s = now - r->since;

    r->since = now;
    return s;
}

static void lose(struct wait *w, size_t i, const struct err *why)
{
    team_lose(w->t, w->ask->deal->rank[i], why);
    w->lost = true;
}

/* Tells a rank that the request is to end; where a message to it was left in the middle, after the
 * rest of it, which are zeros. */
static void end_one(struct wait *w, size_t i)
{
    static const double zeros[1024];
    const uint64_t serial = w->ask->head.serial;
    struct team_rank *r = rank_at(w, i);
    struct err why = {0};
    enum status rc = ST_OK;

    while (rc == ST_OK && r->unsent > 0 && !ctl_stopped(r->wire.ctl)) {
        const size_t some = r->unsent < sizeof zeros ? r->unsent : sizeof zeros;
        rc = wire_put(&r->wire, zeros, some, &why);
        r->unsent -= some;
    }
    if (rc == ST_OK && r->unsent > 0)
        return;
    rc = rc == ST_OK ? wire_begin(&r->wire, WIRE_STOP, sizeof serial, &why) : rc;
    rc = rc == ST_OK ? wire_put(&r->wire, &serial, sizeof serial, &why) : rc;
    if (rc != ST_OK)
        lose(w, i, &why);
}

/* Tells all ranks at work that the request is to end. */
static void end_all(struct wait *w)
{
    if (w->ending)
        return;
    w->ending = true;
    for (size_t i = 0; i < w->ask->deal->count; i++)
        if (at_work(rank_at(w, i)))
            end_one(w, i);
}

/* Reads numbers of the message at hand; less of them when the request is stopped. */
static enum status take_some(const struct wait *w, struct team_rank *r, double *x, size_t n,
                             struct err *err)
{
    enum status rc = ST_OK;

    while (rc == ST_OK && n > 0 && !w->late && !ctl_stopped(w->ctl)) {
        const size_t some = n < TEAM_PIECE / sizeof *x ? n : TEAM_PIECE / sizeof *x;
        rc = wire_get(&r->wire, x, some * sizeof *x, err);
        r->unread -= some * sizeof *x;
        x += some;
        n -= some;
    }
    return rc;
}

/* The message at hand has been read, unless the request was stopped. */
static enum status all_taken(struct team_rank *r)
{
    r->doing = r->unread == 0 ? r->then : TEAM_WORKS;
    return ST_OK;
}

/* Reads more of a message that nobody wants any longer. */
static enum status drop_some(struct team_rank *r, struct err *err)
{
    const uint64_t some = r->unread < TEAM_PIECE ? r->unread : TEAM_PIECE;
    const enum status rc = wire_skip(&r->wire, some, err);

    r->heard = clock_now();
    r->unread -= some;
    return rc == ST_OK ? all_taken(r) : rc;
}

/* Meetings. */

static enum status meeting_came(struct wait *w, struct team_rank *r, const struct wire_head *head,
                                struct err *err)
{
    const size_t n = head->bytes / sizeof *r->x;

    if (r->doing != TEAM_WORKS || head->bytes % sizeof *r->x != 0)
        return err_set(err, ST_FORMAT, "it brings numbers that nobody asked for");
    if (mem_grow((void **)&r->x, &r->cap, n + 1, sizeof *r->x, "sums of processes", err) != ST_OK)
        return ST_NOMEM;
    r->kind = (enum wire_kind)head->kind;
    r->n = n;
    r->unread = head->bytes;
    r->then = TEAM_MEETS;
    const enum status rc = take_some(w, r, r->x, n, err);
    r->work += lap(r, clock_now());
    return rc == ST_OK ? all_taken(r) : rc;
}

/* The largest numbers of all, or their sums, in the first rank's. */
static void add_up(struct wait *w)
{
    const size_t count = w->ask->deal->count;
    struct team_rank *first = rank_at(w, 0);

    for (size_t i = 1; i < count; i++) {
        const double *x = rank_at(w, i)->x;
        for (size_t j = 0; j < first->n; j++)
            first->x[j] = first->kind == WIRE_SUM ? first->x[j] + x[j] : fmax(first->x[j], x[j]);
    }
}

/* All ranks are in a meeting: is it the same one? */
static bool agree(const struct wait *w)
{
    const struct team_rank *first = rank_at(w, 0);
    bool same = true;

    for (size_t i = 1; i < w->ask->deal->count; i++)
        same &= rank_at(w, i)->kind == first->kind && rank_at(w, i)->n == first->n;
    return same;
}

static void hold_meeting(struct wait *w)
{
    const struct team_rank *first = rank_at(w, 0);
    const double begun = clock_now();

    for (size_t i = 0; i < w->ask->deal->count; i++)
        rank_at(w, i)->waiting += lap(rank_at(w, i), begun);
    add_up(w);
    for (size_t i = 0; i < w->ask->deal->count && !ctl_stopped(w->ctl); i++) {
        struct team_rank *r = rank_at(w, i);
        struct err why = { 0 };
        enum status rc = wire_begin(&r->wire, WIRE_MET, first->n * sizeof *first->x, &why);
        rc = rc == ST_OK ? team_put(r, first->x, first->n, &why) : rc;
        r->doing = TEAM_WORKS;
        r->heard = clock_now();
        r->sums += lap(r, r->heard);
        if (rc != ST_OK) {
            lose(w, i, &why);
            end_all(w);
            return;
        }
    }
    w->t->met = first->n;
    w->t->meetings++;
    w->t->numbers += first->n;
    w->t->met_seconds = clock_now() - begun;
}

/* Ranks that wait for a meeting that will not be held go on. */
static void end_meetings(struct wait *w)
{
    for (size_t i = 0; i < w->ask->deal->count; i++) {
        struct team_rank *r = rank_at(w, i);
        struct err why = { 0 };
        if (!r->alive || r->doing != TEAM_MEETS)
            continue;
        r->doing = TEAM_WORKS;
        if (wire_begin(&r->wire, WIRE_ENDED, 0, &why) != ST_OK)
            lose(w, i, &why);
    }
}

/* Answers. */

static enum status take_block(const struct wait *w, struct team_rank *r, const struct team_block *b,
                              struct err *err)
{
    enum status rc = ST_OK;

    for (size_t c = 0; rc == ST_OK && c < b->cols; c++)
        rc = take_some(w, r, b->p + c * b->ld, b->rows, err);
    return rc;
}

static enum status take_answer(const struct wait *w, size_t i, uint64_t numbers, struct err *err)
{
    const struct team_ask *a = w->ask;
    struct team_rank *r = rank_at(w, i);
    const size_t r0 = a->deal->row[i], n = a->deal->row[i + 1] - r0;
    uint64_t want = (a->out_rows[0].k + a->out_rows[1].k) * n + (a->told ? 1 : 0);
    enum status rc = ST_OK;

    for (size_t p = 0; i == 0 && p < TEAM_PARTS; p++)
        want += a->out[p].rows * a->out[p].cols;
    if (numbers != want)
        return err_set(err, ST_FORMAT, "it answers with %llu numbers, not %llu",
                       (unsigned long long)numbers, (unsigned long long)want);
    for (size_t p = 0; i == 0 && rc == ST_OK && p < TEAM_PARTS; p++)
        rc = take_block(w, r, &a->out[p], err);
    for (size_t p = 0; p < 2; p++)
        for (size_t c = 0; rc == ST_OK && c < a->out_rows[p].k; c++)
            rc = take_some(w, r, a->out_rows[p].p + c * a->deal->n + r0, n, err);
    return rc == ST_OK && a->told ? take_some(w, r, a->told + i, 1, err) : rc;
}

/* Ends the strings of a rank's error, which is then that of the request unless one came first. */
static void take_error(struct wait *w, struct wire_done *d)
{
    d->name[sizeof d->name - 1] = d->msg[sizeof d->msg - 1] = d->hint[sizeof d->hint - 1] = '\0';
    const bool known = d->rc > ST_OK && d->rc < N_STATUS;
    const enum status rc = known ? (enum status)d->rc : ST_INTERNAL;

    if (w->rc != ST_OK && (w->rc != ST_CANCELLED || rc == ST_CANCELLED))
        return;
    w->rc = rc;
    if (*d->name)
        err_named(&w->err, rc, d->name, "%s", d->msg);
    else
        err_set(&w->err, rc, "%s", *d->msg ? d->msg : status_words(rc));
    if (*d->hint)
        err_hint(&w->err, "%s", d->hint);
    w->err.machine = d->machine != 0;
}

static enum status done_came(struct wait *w, size_t i, const struct wire_head *head,
                             struct err *err)
{
    struct team_rank *r = rank_at(w, i);
    struct wire_done d;

    if (head->bytes < sizeof d || r->doing != TEAM_WORKS)
        return err_set(err, ST_FORMAT, "it answers what nobody asked");
    enum status rc = wire_get(&r->wire, &d, sizeof d, err);
    if (rc == ST_OK && (d.serial != w->ask->head.serial ||
                        head->bytes != sizeof d + d.numbers * sizeof(double)))
        rc = err_set(err, ST_FORMAT, "it answers what nobody asked");
    r->unread = d.numbers * sizeof(double);
    r->then = TEAM_IDLE;
    if (rc == ST_OK && d.rc == ST_OK && !w->late)
        rc = take_answer(w, i, d.numbers, err);
    if (rc != ST_OK)
        return rc;
    r->work += lap(r, clock_now());
    all_taken(r);
    d.device[sizeof d.device - 1] = '\0';
    if (*d.device) {
        r->lacks = true;
        snprintf(r->lack, sizeof r->lack, "%s", d.device);
    }
    if (d.rc != ST_OK && !w->late) {
        take_error(w, &d);
        end_all(w);
    }
    return ST_OK;
}

static enum status tick_came(const struct wait *w, size_t i, const struct wire_head *head,
                             struct err *err)
{
    struct wire_tick t;

    if (head->bytes != sizeof t)
        return err_set(err, ST_FORMAT, "it tells progress in %llu bytes",
                       (unsigned long long)head->bytes);
    const struct team_deal *d = w->ask->deal;
    const enum status rc = wire_get(&rank_at(w, i)->wire, &t, sizeof t, err);
    if (rc != ST_OK || i != 0 || t.phase >= N_PHASES)
        return rc;
    if (t.total == d->row[1] - d->row[0] && t.done <= t.total) { /* rows: as many of all */
        t.done = (uint64_t)((double)t.done / (double)t.total * (double)d->n);
        t.total = d->n;
    }
    ctl_tell(w->ctl, (enum phase)t.phase, t.done, t.total, NAN);
    return rc;
}

static enum status message_came(struct wait *w, size_t i, struct err *err)
{
    struct team_rank *r = rank_at(w, i);
    struct wire_head head;
    enum status rc = wire_next(&r->wire, &head, err);

    r->heard = clock_now();
    if (rc != ST_OK)
        return rc;
    switch (head.kind) {
    case WIRE_BEAT: return head.bytes == 0 ? ST_OK : wire_skip(&r->wire, head.bytes, err);
    case WIRE_TICK: return tick_came(w, i, &head, err);
    case WIRE_MOST:
    case WIRE_SUM: return meeting_came(w, r, &head, err);
    case WIRE_DONE: return done_came(w, i, &head, err);
    default: return err_set(err, ST_FORMAT, "it sends what is no answer");
    }
}

/* Waits for messages, for a moment at most, and takes one from each rank that has any. */
static void listen_all(struct wait *w)
{
    struct pollfd p[TEAM_MOST];
    const size_t count = w->ask->deal->count;

    for (size_t i = 0; i < count; i++)
        p[i] = (struct pollfd){ .fd = at_work(rank_at(w, i)) ? rank_at(w, i)->wire.in : -1,
                                .events = POLLIN };
    poll(p, count, LOOK_MS);
    const double now = clock_now();
    for (size_t i = 0; i < count; i++) {
        struct team_rank *r = rank_at(w, i);
        struct err why = { 0 };
        if (!at_work(r))
            continue;
        enum status rc = ST_OK;
        if (p[i].revents)
            rc = r->unread > 0 ? drop_some(r, &why) : message_came(w, i, &why);
        else if (now - r->heard > r->wire.patience)
            rc = err_set(&why, ST_IO, "it did not answer for %.3g s", r->wire.patience);
        if (rc == ST_NOMEM) { /* its numbers are still on their way: only an end helps */
            w->rc = w->rc == ST_OK ? rc : w->rc;
            w->err = why;
        }
        if (rc != ST_OK)
            lose(w, i, &why);
    }
}

/* How many ranks are in each state. */
static void count_all(const struct wait *w, size_t *work, size_t *meet)
{
    *work = *meet = 0;
    for (size_t i = 0; i < w->ask->deal->count; i++) {
        *work += at_work(rank_at(w, i)) && rank_at(w, i)->doing == TEAM_WORKS;
        *meet += at_work(rank_at(w, i)) && rank_at(w, i)->doing == TEAM_MEETS;
    }
}

/* Whether a stopped request is to be left, with what ranks still do: their users wait. */
static bool leaves(struct wait *w, double *stopped)
{
    const double now = clock_now();

    if (!ctl_stopped(w->ctl))
        return false;
    *stopped = *stopped > 0.0 ? *stopped : now;
    if (now - *stopped < 1e-3 * TEAM_LEAVE_MS)
        return false;
    w->t->late = *w->ask->deal;
    w->t->late_serial = w->ask->head.serial;
    return true;
}

enum status team_wait(struct team *t, const struct team_ask *a, const struct ctl *ctl,
                      struct err *err)
{
    struct wait w = { .t = t, .ask = a, .ctl = ctl };
    double stopped = 0.0;
    size_t work, meet;

    for (size_t i = 0; i < a->deal->count; i++)
        w.lost |= !t->rank[a->deal->rank[i]].alive;
    for (count_all(&w, &work, &meet); work + meet > 0; count_all(&w, &work, &meet)) {
        if (w.lost || ctl_stopped(ctl))
            end_all(&w);
        if (leaves(&w, &stopped))
            break;
        if (meet > 0 && !w.ending && work == 0) {
            if (meet == a->deal->count && agree(&w)) {
                hold_meeting(&w);
                continue;
            }
            w.rc = err_set(&w.err, ST_INTERNAL, "ranks are out of step");
            end_all(&w);
        }
        if (w.ending)
            end_meetings(&w);
        listen_all(&w);
    }
    if (ctl_stopped(ctl) && (w.rc == ST_OK || w.rc == ST_CANCELLED) && w.ending)
        return err_set(err, ST_CANCELLED, "stopped");
    if (w.lost && w.rc != ST_NOMEM)
        return err_set(err, ST_BACKEND, "%s", t->why.msg);
    if (w.rc != ST_OK && err)
        *err = w.err;
    return w.rc;
}

enum status team_settle(struct team *t, const struct ctl *ctl, struct err *err)
{
    const struct team_ask a = {.head = {.serial = t->late_serial}, .deal = &t->late};
    struct wait w = {.t = t, .ask = &a, .ending = true, .late = true};
    size_t work, meet;

    for (size_t i = 0; i < t->late.count; i++) {
        rank_at(&w, i)->heard = clock_now();
        rank_at(&w, i)->wire.ctl = ctl;
    }
    for (count_all(&w, &work, &meet); work + meet > 0; count_all(&w, &work, &meet)) {
        for (size_t i = 0; i < t->late.count; i++)
            if (at_work(rank_at(&w, i)) && rank_at(&w, i)->unsent > 0)
                end_one(&w, i);
        if (ctl_stopped(ctl))
            return err_set(err, ST_CANCELLED, "stopped");
        end_meetings(&w);
        listen_all(&w);
    }
    t->late.count = 0;
    return ST_OK;
}
