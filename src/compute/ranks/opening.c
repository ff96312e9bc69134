/* compute/ranks/opening.c -- opening an operator on all ranks: each is told what rows it is to
 * have, and those that neither have them nor see them in files are sent them (drawn.h). */
#include "compute/ranks/ranks_impl.h"

#include "base/mem.h"
#include "compute/ranks/content.h"
#include "compute/ranks/drawn.h"

#include <stdlib.h>
#include <string.h>

/* The sums of the sources that had operators last, by name, for their next operators. */
enum { SUMMED = 4 };
static struct { uint64_t name; size_t n, d; uint64_t *sum; } summed[SUMMED];

static void remember(const struct source *src, const uint64_t *sum)
{
    const size_t bytes = content_segments(src->n) * sizeof *sum;
    uint64_t *own = src->name != 0 ? mem_calloc(1, bytes, "sums of rows", NULL) : NULL;

    if (!own)
        return;
    memcpy(own, sum, bytes);
    free(summed[SUMMED - 1].sum);
    memmove(summed + 1, summed, (SUMMED - 1) * sizeof summed[0]);
    summed[0].name = src->name;
    summed[0].n = src->n;
    summed[0].d = src->d;
    summed[0].sum = own;
}

static const uint64_t *remembered(const struct source *src)
{
    for (size_t i = 0; i < SUMMED && src->name != 0; i++)
        if (summed[i].name == src->name && summed[i].n == src->n && summed[i].d == src->d)
            return summed[i].sum;
    return NULL;
}

static enum status sum_rows(struct ranks_state *s, struct err *err)
{
    const size_t segments = content_segments(s->n);
    const uint64_t *before = remembered(s->src);

    if (s->sum)
        return ST_OK;
    s->sum = mem_calloc(segments, sizeof *s->sum, "sums of rows", err);
    enum status rc = s->sum ? ST_OK : ST_NOMEM;
    if (rc == ST_OK && before)
        memcpy(s->sum, before, segments * sizeof *before);
    else if (rc == ST_OK)
        rc = content_of_source(s->opts.pool, s->src, s->sum, err);
    if (rc == ST_OK && !before)
        remember(s->src, s->sum);
    if (rc != ST_OK) {
        free(s->sum);
        s->sum = NULL;
    }
    return rc;
}

/* Asks the ranks of `some` to open the operator; told: the answer of each. */
static enum status ask(struct team *t, struct ranks_state *s, struct drawn *d,
                       const struct team_deal *some, bool sent, double *told, const struct ctl *ctl,
                       struct err *err)
{
    struct team_ask a = { .head = { .op = ASK_OPEN, .state = s->name }, .deal = some,
                          .told = told };
    enum status failed = ST_OK;

    team_begin(t, &a.head, some, ctl);
    for (size_t i = 0, r = 0; i < some->count; i++, r++) {
        while (s->deal.rank[r] != some->rank[i])
            r++;
        struct err why = { 0 };
        bool lost = false;
        enum status rc = drawn_for(d, s->deal.row[r], s->deal.row[r + 1], sent, &why);
        if (rc != ST_OK) { /* of a description: there is no room for the numbers of its rows */
            d->places.len = 0;
            rc = drawn_for(d, s->deal.row[r], s->deal.row[r + 1], sent, &why);
        }
        if (team_tell(t, &a, i, drawn_bytes(d)) != ST_OK)
            continue;
        rc = drawn_send(d, &t->rank[some->rank[i]].wire, &lost, &why);
        if (lost)
            team_lose(t, some->rank[i], &why);
        if (rc == ST_OK || failed != ST_OK || (lost && rc == ST_IO))
            continue;
        failed = rc;
        if (err)
            *err = why;
    }
    struct err there = { 0 };
    const enum status rc = team_wait(t, &a, ctl, &there);
    if (failed != ST_OK)
        return failed;
    if (rc != ST_OK && err)
        *err = there;
    return rc;
}

enum status opening_there(struct team *t, struct ranks_state *s, const struct ctl *ctl,
                          struct err *err)
{
    double told[TEAM_MOST] = { 0.0 };
    struct drawn d;
    enum status rc = team_deal(t, s->n, &s->deal, err);

    if (rc == ST_OK)
        rc = sum_rows(s, err);
    if (rc == ST_OK)
        rc = drawn_of(&d, s->fm, s->src, &s->opts, s->sum, err);
    if (rc != ST_OK)
        return rc;
    d.device = t->devices > 0;
    rc = ask(t, s, &d, &s->deal, false, told, ctl, err);
    struct team_deal some = { .n = s->n };
    for (size_t i = 0; rc == ST_OK && i < s->deal.count; i++)
        if (told[i] == 0.0)
            some.rank[some.count++] = s->deal.rank[i];
    if (rc == ST_OK && some.count > 0) {
        rc = ask(t, s, &d, &some, true, told, ctl, err);
        for (size_t i = 0; rc == ST_OK && i < some.count; i++)
            if (told[i] == 0.0)
                rc = err_set(err, ST_INTERNAL, "a rank asks for rows that it was sent");
    }
    drawn_free(&d);
    return rc;
}
