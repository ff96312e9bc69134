/* compute/ranks/ranks.c -- the team of the program, and operators that it has open (ranks.h). */
#include "compute/ranks/ranks.h"

#include "base/mem.h"
#include "compute/ranks/ranks_impl.h"
#include "compute/share.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct team team;
/* What the team is to be; whether there is one, whether it has to be started anew, and why it could
 * not be. */
static struct {
    bool started, renew;
    size_t count, threads;
    char hosts[HOSTS_LETTERS];
    uint32_t device;
    bool device_asked;
    struct err failed;
} plan;
/* What is told of it, for other threads. */
static struct {
    pthread_mutex_t lock;
    size_t count, lost;
    struct err why;
    struct ranks_sums sums;
    struct ranks_one one[TEAM_MOST];
} shown = { .lock = PTHREAD_MUTEX_INITIALIZER };
static size_t lost_before; /* by earlier teams */
static struct ranks_sums sums_before;
/* Operators that ranks are still to close. */
enum { CLOSING = 64 };
static struct {
    size_t count;
    uint32_t name[CLOSING];
} closing;
static struct backend_ops ops; /* for the team of the moment */

void ranks_program_for_tests(const char *path, double patience)
{
    team_program(path, patience);
}

void ranks_start_within_for_tests(double seconds)
{
    team_start_within(seconds);
}

void ranks_balance_for_tests(double seconds)
{
    team_balance_after(seconds);
}

static void show(void)
{
    pthread_mutex_lock(&shown.lock);
    shown.count = plan.started ? team.count : 0;
    shown.sums = (struct ranks_sums){sums_before.meetings + team.meetings,
                                     sums_before.numbers + team.numbers};
    shown.lost = lost_before + team.lost + (plan.failed.code != ST_OK);
    shown.why = plan.failed.code != ST_OK ? plan.failed : team.why;
    for (size_t i = 0; i < shown.count; i++) {
        const struct team_rank *r = &team.rank[i];
        struct ranks_one *one = &shown.one[i];
        *one = (struct ranks_one){ .pid = (long)r->hello.pid, .threads = r->hello.threads,
                                   .processes = r->crew ? r->crew : 1,
                                   .rows = r->rows, .alive = r->alive, .work = r->work,
                                   .waiting = r->waiting, .sums = r->sums, .sent = r->sent,
                                   .number = r->hello.device ? r->hello.device - 1 : 0,
                                   .lacks = r->lacks };
        snprintf(one->device, sizeof one->device, "%.95s", r->hello.device ? r->hello.card : "");
        snprintf(one->lack, sizeof one->lack, "%s", r->lack);
        snprintf(one->host, sizeof one->host, "%.95s", r->hello.host);
    }
    pthread_mutex_unlock(&shown.lock);
}

/* Ends a team that is taken. */
static void end_team(bool hurried)
{
    if (plan.started) {
        lost_before += team.lost;
        team_end(&team, hurried);
        team.lost = 0;
        sums_before.meetings += team.meetings;
        sums_before.numbers += team.numbers;
        team.meetings = team.numbers = 0;
    }
    lost_before += plan.failed.code != ST_OK;
    err_clear(&plan.failed);
    plan.started = plan.renew = false;
    closing.count = 0;
}

const struct backend_ops *ranks_use(const struct ranks_plan *p)
{
    const char *hosts = p->hosts ? p->hosts : "";

    plan.renew = !plan.started || plan.count != p->count || plan.threads != p->threads ||
                 plan.device != p->device || plan.device_asked != p->device_asked ||
                 strcmp(plan.hosts, hosts) != 0 || team.alive != team.count;
    plan.count = p->count;
    plan.threads = p->threads;
    plan.device = p->device;
    plan.device_asked = p->device_asked;
    snprintf(plan.hosts, sizeof plan.hosts, "%s", hosts);
    ops = ranks_ops;
    const size_t all = *hosts ? hosts_count(hosts, NULL) : p->count;
    while (share_segments(ops.least, SHARE_JOINED) < all && share_segments(ops.least, SHARE_JOINED)
                                                                < SHARE_SEGMENTS)
        ops.least *= 2; /* a segment for each process */
    return &ops;
}

/* Starts a team that is taken, where that is due. */
static enum status start_team(const struct ctl *ctl, struct err *err)
{
    const struct ranks_plan of = { plan.count, plan.threads, plan.hosts, plan.device,
                                   plan.device_asked };
    struct err why = { 0 };

    if (!plan.renew && plan.failed.code != ST_OK && err)
        *err = plan.failed;
    if (!plan.renew)
        return plan.failed.code;
    end_team(false);
    const enum status rc = team_start(&team, &of, ctl, &why);
    plan.started = rc == ST_OK;
    if (rc == ST_CANCELLED)
        plan.renew = true; /* the next operator tries it */
    else
        plan.failed = why;
    show();
    if (rc != ST_OK && err)
        *err = why;
    return rc;
}

enum status ranks_start_for_tests(const struct ctl *ctl, struct err *err)
{
    enum status rc = team_take(ctl, err);

    if (rc != ST_OK)
        return rc;
    rc = start_team(ctl, err);
    team_give();
    return rc;
}

void ranks_end(bool hurried)
{
    if (team_take(NULL, NULL) != ST_OK)
        return;
    end_team(hurried);
    show();
    plan.renew = true;
    team_give();
}

size_t ranks_count(void)
{
    pthread_mutex_lock(&shown.lock);
    const size_t n = shown.count;
    pthread_mutex_unlock(&shown.lock);
    return n;
}

bool ranks_at(size_t i, struct ranks_one *one)
{
    pthread_mutex_lock(&shown.lock);
    const bool there = i < shown.count;
    if (there)
        *one = shown.one[i];
    pthread_mutex_unlock(&shown.lock);
    return there;
}

struct ranks_sums ranks_sums(void)
{
    pthread_mutex_lock(&shown.lock);
    const struct ranks_sums s = shown.sums;
    pthread_mutex_unlock(&shown.lock);
    return s;
}

size_t ranks_lost(struct err *why)
{
    pthread_mutex_lock(&shown.lock);
    const size_t n = shown.lost;
    if (why)
        *why = shown.why;
    pthread_mutex_unlock(&shown.lock);
    return n;
}

void ranks_meeting(struct ranks_meeting *m)
{
    *m = (struct ranks_meeting){ .count = 0 };
    if (team_take(NULL, NULL) != ST_OK)
        return;
    for (size_t i = 0; i < team.count; i++) {
        const struct team_rank *r = &team.rank[i];
        bool known = !r->alive;
        for (size_t j = 0; j < i && !known; j++)
            known = team.rank[j].alive && strcmp(team.rank[j].hello.host, r->hello.host) == 0;
        m->machines += known ? 0 : 1;
        m->machines += r->alive ? r->hello.machines - 1 : 0;
        m->count += r->alive ? (r->crew > 1 ? r->crew : 1) : 0;
    }
    m->numbers = team.met;
    m->seconds = team.met_seconds;
    team_give();
}

/* Operators. */

/* Ends operators on ranks that were at work on a stopped request when the operators were closed. */
static enum status close_late(const struct ctl *ctl, struct err *err)
{
    struct team_deal all = {.count = 0};
    struct team_ask a = {.head = {.op = ASK_CLOSE}, .deal = &all};
    enum status rc = team_settle(&team, ctl, err);

    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < team.count; i++)
        if (team.rank[i].alive)
            all.rank[all.count++] = i;
    for (; rc == ST_OK && closing.count > 0 && all.count > 0; closing.count -= rc == ST_OK) {
        a.head.state = closing.name[closing.count - 1];
        rc = team_ask(&team, &a, ctl, err);
    }
    if (rc == ST_OK)
        closing.count = 0;
    return rc == ST_BACKEND ? ST_OK : rc; /* a lost rank: what is asked next is asked of others */
}

/* Sends what was set after it was opened: hyperparameters, and that features are exact. */
static enum status set_there(struct ranks_state *s, const struct ctl *ctl, struct err *err)
{
    struct team_ask hp = { .head = { .op = ASK_SET, .state = s->name }, .deal = &s->deal };
    struct team_ask un = { .head = { .op = ASK_UNHALVE, .state = s->name }, .deal = &s->deal };
    enum status rc = ST_OK;

    basis_ops_deal(s);
    hp.all[0] = (struct team_block){ s->hp, s->nhp, 1, s->nhp };
    if (s->hp)
        rc = team_ask(&team, &hp, ctl, err);
    if (rc == ST_OK && s->unhalved)
        rc = team_ask(&team, &un, ctl, err);
    if (rc == ST_OK && s->basis.U) {
        struct team_ask basis = basis_ops_ask(s);
        basis.deal = &s->basis.deal;
        rc = team_ask(&team, &basis, ctl, err);
    }
    return rc;
}

/* Does what `a` asks (NULL: only sees to it that the operator is open), as often as ranks are
 * lost meanwhile. */
static enum status ask_team(struct ranks_state *s, struct team_ask *a, const struct ctl *ctl,
                            struct err *err)
{
    enum status rc;
    unsigned before;

    do {
        err_clear(err);
        rc = close_late(ctl, err);
        before = team.generation;
        if (rc == ST_OK && s->generation != before) {
            rc = opening_there(&team, s, ctl, err);
            if (rc == ST_OK)
                rc = set_there(s, ctl, err);
            if (rc == ST_OK)
                s->generation = before;
        }
        if (rc == ST_OK && a) {
            a->head.state = s->name;
            a->deal = ask_of_basis(&a->head) ? &s->basis.deal : &s->deal;
            rc = team_ask(&team, a, ctl, err);
            if (rc == ST_OK && !ask_of_basis(&a->head))
                team_balance(&team, &s->deal);
        }
    } while (rc == ST_BACKEND && team.generation != before && team.alive > 0);
    return rc;
}

enum status ranks_ask(struct ranks_state *s, struct team_ask *a, const struct ctl *ctl,
                      struct err *err)
{
    struct err own = { 0 };
    enum status rc = team_take(ctl, err);

    if (rc != ST_OK)
        return rc;
    rc = ask_team(s, a, ctl ? ctl : &s->stop, err ? err : &own);
    show();
    team_give();
    if (rc == ST_CANCELLED && !ctl)
        rc = err_set(err, ST_BACKEND, "stopped; this process does what is left");
    return rc;
}

void *ranks_open(const struct featmap *fm, const struct source *src, const struct fop_opts *opts,
                 struct err *err)
{
    struct ranks_state *s = mem_calloc(1, sizeof *s, "an operator over ranks", err);
    struct fop_opts own = *opts;

    if (!s)
        return NULL;
    *s = (struct ranks_state){ .fm = fm, .src = src, .opts = *opts, .n = src->n, .M = fm->M,
                               .nhp = kernel_nhp(&fm->kernel) };
    s->stop.cancel = opts->ctl ? opts->ctl->cancel : NULL;
    s->opts.ctl = &s->stop;
    own.store = own.half = false;
    s->here = backend_cpu()->open(fm, src, &own, err);
    enum status rc = s->here ? team_take(&s->stop, err) : ST_NOMEM;
    if (rc == ST_OK) {
        rc = start_team(&s->stop, err);
        s->name = ++team.names;
        if (rc == ST_OK)
            rc = ask_team(s, NULL, &s->stop, err);
        show();
        team_give();
    }
    if (rc == ST_OK)
        return s;
    ranks_close(s);
    return NULL;
}

void ranks_close(void *state)
{
    struct ranks_state *s = state;
    struct team_ask a = { .head = { .op = ASK_CLOSE } };
    struct err err = { 0 };

    if (!s)
        return;
    if (s->generation != 0 && team_take(NULL, &err) == ST_OK) {
        a.head.state = s->name;
        a.deal = &s->deal;
        if (team.late.count > 0 && closing.count < CLOSING)
            closing.name[closing.count++] = s->name;
        else if (s->generation == team.generation && team_settle(&team, NULL, &err) == ST_OK)
            team_ask(&team, &a, NULL, &err);
        team_give();
    }
    if (s->here)
        backend_cpu()->close(s->here);
    free(s->hp);
    free(s->sum);
    free(s);
}
