/* compute/ranks/team.c -- requests to ranks and their answers (team.h). */
#include "compute/ranks/team.h"

#include "base/clock.h"
#include "compute/share.h"

#include <pthread.h>
#include <time.h>

/* Between looks at how even the work is: seconds of work of each rank. */
static double look_seconds = 4.0;
static const double uneven = 1.5;
enum { FEW_SEGMENTS = 3 }; /* with fewer for each rank there is nothing to give away */

void team_balance_after(double seconds)
{
    look_seconds = seconds;
}

void team_balance(struct team *t, const struct team_deal *d)
{
    const size_t of = share_segments(d->n, SHARE_JOINED);
    double total = 0.0, longest = 0.0, rate = 0.0;

    for (size_t i = 0; i < d->count; i++) {
        const struct team_rank *r = &t->rank[d->rank[i]];
        const double w = r->work - r->looked;
        total += w;
        longest = w > longest ? w : longest;
        rate += (double)(d->row[i + 1] - d->row[i]) / (w > 0.0 ? w : 1e-9);
    }
    if (total < look_seconds * (double)d->count || d->count < 2)
        return;
    const bool again = longest > uneven * total / (double)d->count &&
                       of >= FEW_SEGMENTS * d->count;
    for (size_t i = 0; i < d->count; i++) {
        struct team_rank *r = &t->rank[d->rank[i]];
        const double w = r->work - r->looked;
        if (again)
            r->speed = (double)(d->row[i + 1] - d->row[i]) / (w > 0.0 ? w : 1e-9) *
                       (double)d->count / rate;
        r->looked = r->work;
    }
    t->generation += again;
}

static double speed_of(const struct team_rank *r)
{
    return r->speed > 0.0 ? r->speed : 1.0;
}

/* The segments at which ranks begin: by speed, and at least one each. */
static void cut(const struct team *t, struct team_deal *d, size_t of)
{
    double all = 0.0, some = 0.0;

    for (size_t i = 0; i < d->count; i++)
        all += speed_of(&t->rank[d->rank[i]]);
    for (size_t i = 0, at = 0; i < d->count; i++) {
        some += speed_of(&t->rank[d->rank[i]]);
        const size_t most = of - (d->count - 1 - i), end = (size_t)((double)of * some / all + 0.5);
        at = end > at ? end : at + 1;
        at = at < most && i + 1 < d->count ? at : most;
        d->row[i + 1] = share_row(d->n, at, of);
    }
}

enum status team_deal(struct team *t, size_t n, struct team_deal *d, struct err *err)
{
    const size_t of = share_segments(n, SHARE_JOINED);

    *d = (struct team_deal){ .n = n };
    if (t->alive == 0)
        return err_set(err, ST_BACKEND, "no rank is left: %.400s", t->why.msg);
    const size_t some = t->alive < of ? t->alive : of;
    for (size_t i = 0; i < t->count && d->count < some; i++)
        if (t->rank[i].alive)
            d->rank[d->count++] = i;
    cut(t, d, of);
    for (size_t i = 0; i < d->count; i++)
        t->rank[d->rank[i]].rows = d->row[i + 1] - d->row[i];
    return ST_OK;
}

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;

enum status team_take(const struct ctl *ctl, struct err *err)
{
    while (pthread_mutex_trylock(&busy) != 0) {
        if (ctl_stopped(ctl))
            return err_set(err, ST_CANCELLED, "stopped while another job uses the ranks");
        nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
    }
    return ST_OK;
}

void team_give(void)
{
    pthread_mutex_unlock(&busy);
}

void team_begin(struct team *t, struct ask_head *head, const struct team_deal *d,
                const struct ctl *ctl)
{
    const double now = clock_now();

    head->serial = ++t->serial;
    for (size_t i = 0; i < d->count; i++) {
        struct team_rank *r = &t->rank[d->rank[i]];
        r->doing = TEAM_WORKS;
        r->wire.ctl = ctl;
        r->heard = r->since = now;
    }
}

enum status team_tell(struct team *t, const struct team_ask *a, size_t i, uint64_t bytes)
{
    struct ask_head head = a->head;
    struct team_rank *r = &t->rank[a->deal->rank[i]];
    struct err err = { 0 };

    head.first = i == 0;
    if (ask_of_basis(&head)) {
        head.arg[2] = a->deal->row[i];
        head.arg[3] = a->deal->row[i + 1];
    }
    if (!r->alive)
        return ST_IO;
    r->sent += sizeof head + bytes;
    enum status rc = wire_begin(&r->wire, WIRE_ASK, sizeof head + bytes, &err);
    rc = rc == ST_OK ? wire_put(&r->wire, &head, sizeof head, &err) : rc;
    if (rc != ST_OK)
        team_lose(t, a->deal->rank[i], &err);
    return rc;
}

static uint64_t numbers_in(const struct team_ask *a, size_t n)
{
    uint64_t all = a->rows.k * n;

    for (size_t p = 0; p < TEAM_PARTS; p++)
        all += a->all[p].rows * a->all[p].cols;
    return all;
}

enum status team_put(struct team_rank *r, const double *x, size_t numbers, struct err *err)
{
    enum status rc = ST_OK;

    r->unsent += numbers * sizeof *x;
    while (rc == ST_OK && numbers > 0 && !ctl_stopped(r->wire.ctl)) {
        const size_t some = numbers < TEAM_PIECE / sizeof *x ? numbers : TEAM_PIECE / sizeof *x;
        rc = wire_put(&r->wire, x, some * sizeof *x, err);
        r->unsent -= some * sizeof *x;
        x += some;
        numbers -= some;
    }
    return rc;
}

/* The numbers of a request for rank i. */
static enum status send_numbers(const struct team_ask *a, size_t i, struct team_rank *r,
                                struct err *err)
{
    const size_t r0 = a->deal->row[i], n = a->deal->row[i + 1] - r0;
    enum status rc = ST_OK;

    for (size_t p = 0; p < TEAM_PARTS; p++) {
        const struct team_block *b = &a->all[p];
        if (b->rows == b->ld && rc == ST_OK)
            rc = team_put(r, b->p, b->rows * b->cols, err);
        for (size_t c = 0; b->rows != b->ld && rc == ST_OK && c < b->cols; c++)
            rc = team_put(r, b->p + c * b->ld, b->rows, err);
    }
    for (size_t c = 0; rc == ST_OK && c < a->rows.k; c++)
        rc = team_put(r, a->rows.p + c * a->deal->n + r0, n, err);
    return rc;
}

enum status team_ask(struct team *t, struct team_ask *a, const struct ctl *ctl, struct err *err)
{
    const struct team_deal *d = a->deal;

    team_begin(t, &a->head, d, ctl);
    for (size_t i = 0; i < d->count; i++) {
        const uint64_t bytes = sizeof(double) * numbers_in(a, d->row[i + 1] - d->row[i]);
        struct err why = { 0 };
        if (team_tell(t, a, i, bytes) == ST_OK &&
            send_numbers(a, i, &t->rank[d->rank[i]], &why) != ST_OK)
            team_lose(t, d->rank[i], &why);
    }
    return team_wait(t, a, ctl, err);
}
