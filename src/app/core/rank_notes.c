/* app/core/rank_notes.c -- see rank_notes.h. */
#include "app/core/rank_notes.h"

#include "app/core/workspace.h"
#include "app/core/ws_tell.h"

#include <stdio.h>
#include <string.h>

/* Ranks count from their start, once for the program; so what was told is kept beside them. */
static struct rank_notes told, last;
static size_t told_lost;
static bool told_lacks[RANKS_MOST]; /* of those in `told` */

/* The seconds since a rank was told last; of one that is new, all. */
static void since(struct ranks_one *now, const struct ranks_one *before)
{
    if (before->pid != now->pid || strcmp(before->host, now->host) != 0)
        return;
    now->work -= before->work;
    now->waiting -= before->waiting;
    now->sums -= before->sums;
    now->sent -= before->sent;
}

/* What ranks have done in all, and since they were told of last; false: nothing since. */
static bool count(struct rank_notes *all, struct rank_notes *now)
{
    double work = 0.0;

    *all = (struct rank_notes){ 0 };
    while (all->count < RANKS_MOST && ranks_at(all->count, &all->one[all->count]))
        all->count++;
    all->sums = ranks_sums();
    *now = *all;
    now->sums.meetings -= told.sums.meetings;
    now->sums.numbers -= told.sums.numbers;
    for (size_t i = 0; i < now->count; i++) {
        if (i < told.count)
            since(&now->one[i], &told.one[i]);
        work += now->one[i].work;
    }
    return work > 0.0;
}

struct rank_notes rank_notes_now(void)
{
    struct rank_notes all, now;

    return count(&all, &now) ? now : last;
}

/* Takes down what ranks have done since the last call; false: nothing. */
static bool look(void)
{
    struct rank_notes all, now;
    const bool some = count(&all, &now);

    told = all;
    if (some)
        last = now;
    return some;
}

static void note(struct workspace *ws, const struct job *job)
{
    struct rec r;
    size_t all = 0;
    char device[24];

    rec_init(&r, REC_NOTE, "ranks");
    snprintf(r.run, sizeof r.run, "%s", job->name);
    for (size_t i = 0; i < last.count; i++)
        all += last.one[i].processes;
    rec_text(&r, all == 1 ? "%zu process had the rows:" : "%zu processes shared the rows:", all);
    rec_array(&r, "ranks");
    for (size_t i = 0; i < last.count; i++) {
        const struct ranks_one *one = &last.one[i];
        rec_item(&r);
        rec_str(&r, "host", one->host);
        rec_int(&r, "processes", (int64_t)one->processes);
        rec_int(&r, "rows", (int64_t)one->rows);
        rec_num(&r, "work", one->work);
        rec_num(&r, "waiting", one->waiting);
        rec_num(&r, "sums", one->sums);
        rec_int(&r, "sent", (int64_t)one->sent);
        rec_str(&r, "device", *one->device ? one->device : NULL);
        rec_close(&r);
        if (*one->device && !one->lacks)
            snprintf(device, sizeof device, "cuda:%u, ", one->number);
        else
            device[0] = '\0';
        rec_text(&r, "%s %zu%s: %s%zu rows, work %.2f s, waiting %.2f s, sums %.2f s",
                 i ? ";" : "", i + 1, one->processes > 1 ? " (MPI)" : "", device, one->rows,
                 one->work, one->waiting, one->sums);
    }
    rec_array_close(&r);
    snprintf(r.hint, sizeof r.hint, "plot ranks");
    ws_emit(ws, &r);
}

/* Tells once of each rank that has no device, or has it no longer. */
static void tell_lacks(struct workspace *ws, const struct job *job)
{
    struct ranks_one one;

    for (size_t i = 0; i < RANKS_MOST && ranks_at(i, &one); i++) {
        const bool same = i < told.count && told.one[i].pid == one.pid &&
                          strcmp(told.one[i].host, one.host) == 0;
        if (one.lacks && !(same && told_lacks[i]))
            ws_tell(ws, REC_WARNING, job->name, "rank-device", NULL,
                    "rank %zu on %s: %s; its processor did the work", i + 1, one.host, one.lack);
        told_lacks[i] = one.lacks;
    }
}

void rank_notes_warn(struct workspace *ws, const struct job *job)
{
    struct err why;
    const size_t lost = ranks_lost(&why);
    struct ranks_one one;
    size_t alive = 0;

    for (size_t i = 0; ranks_at(i, &one); i++)
        alive += one.alive;
    if (lost > told_lost && alive == 0)
        ws_tell(ws, REC_WARNING, job->name, "ranks", *why.hint ? why.hint : "set ranks=1",
                "%s; this process went on alone, with the same results", why.msg);
    else if (lost > told_lost)
        ws_tell(ws, REC_WARNING, job->name, "rank-lost", NULL,
                "%s; the work went on without it, with the same results", why.msg);
    told_lost = lost;
    tell_lacks(ws, job);
}

void rank_notes_tell(struct workspace *ws, const struct job *job)
{
    const char *verb = job->ops->verb;

    if (look() && (strcmp(verb, "fit") == 0 || strcmp(verb, "tune") == 0))
        note(ws, job);
}
