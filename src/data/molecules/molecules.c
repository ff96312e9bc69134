/* data/molecules/molecules.c -- gives molecules to processes of gpdesk-molecules, one at a time to
 * each, and takes the answers (molecules.h).  One thread serves all processes. */
#include "data/molecules/molecules.h"

#include "base/mem.h"
#include "data/molecules/helper.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many processes may end one after the other, with nothing read in between, before the program
 * itself is taken to be broken. */
enum { LOSSES_MOST = 64, LOOK_MS = 20 };
static const double default_seconds = 2;
static const size_t default_memory = (size_t)2 << 30;

struct reader { /* a process and the molecule that it reads */
    struct helper helper;
    bool has;   /* a molecule was given to it, or is to be given once more */
    bool again; /* for the second time */
    size_t item;
};

struct reading {
    const struct molecules_list *list;
    const struct molecules_ask *ask;
    struct molecules_limits limits;
    char *program;
    struct reader *reader;
    size_t readers, next, done;
    size_t losses; /* processes that ended since the last answer */
};

/* Texts that are not worth a question. */

static size_t trimmed(const char **s, size_t n)
{
    while (n > 0 && (**s == ' ' || **s == '\t' || **s == '\r' || **s == '\n'))
        (*s)++, n--;
    while (n > 0 && ((*s)[n - 1] == ' ' || (*s)[n - 1] == '\t' || (*s)[n - 1] == '\r' ||
                     (*s)[n - 1] == '\n'))
        n--;
    return n;
}

/* Fills *m and returns true if the text is no SMILES at first sight. */
static bool refused(const char *s, size_t n, struct molecule *m, char *reason, size_t len)
{
    *m = (struct molecule){ .state = MOLECULE_WRONG, .canonical = "", .scaffold = "", .drawn = "",
                            .reason = reason };
    if (n == 0) {
        snprintf(reason, len, "it is empty");
        return true;
    }
    if (n > MOLECULES_TEXT_MOST) {
        m->state = MOLECULE_LARGE;
        snprintf(reason, len, "it has %zu characters; at most %d are read", n,
                 MOLECULES_TEXT_MOST);
        return true;
    }
    for (size_t i = 0; i < n; i++)
        if (s[i] <= ' ' || s[i] > '~') {
            snprintf(reason, len, "character %zu is %s, which no SMILES has", i + 1,
                     s[i] == ' '    ? "a blank"
                     : s[i] == '\t' ? "a tab"
                     : s[i] == '\0' ? "a NUL"
                                    : "no printable ASCII");
            return true;
        }
    return false;
}

/* Answers. */

static enum status give(struct reading *r, size_t item, const struct molecule *m,
                        const struct ctl *ctl, struct err *err)
{
    r->done++;
    if (r->done % 256 == 0)
        ctl_tell(ctl, PHASE_READ, r->done, r->list->n, 0);
    return r->list->take(r->list->ctx, item, m, err);
}

static enum status give_up(struct reading *r, struct reader *w, enum molecule_state state,
                           const struct ctl *ctl, struct err *err)
{
    struct molecule m = { .state = state, .canonical = "", .scaffold = "", .drawn = "" };
    char reason[120];

    if (state == MOLECULE_SLOW)
        snprintf(reason, sizeof reason, "reading it takes more than %.3g s", r->limits.seconds);
    else
        snprintf(reason, sizeof reason, "RDKit fails on it");
    m.reason = reason;
    w->has = w->again = false;
    return give(r, w->item, &m, ctl, err);
}

/* Texts of a reply have no NUL at their end. */
static const char *text_of(char **at, const char *from, size_t n)
{
    char *to = *at;

    memcpy(to, from, n);
    to[n] = '\0';
    *at += n + 1;
    return to;
}

static enum status take_answer(struct reading *r, struct reader *w, const struct ctl *ctl,
                               struct err *err)
{
    struct molecules_reply reply;
    enum status rc = helper_answer(&w->helper, r->program, &reply, err);

    if (rc != ST_OK)
        return rc;
    const struct molecules_got *g = &reply.got;
    char *texts = mem_calloc((size_t)g->canonical + g->scaffold + g->drawn + g->reason + 4,
                             1,
                             "the answer about a molecule", err);
    if (!texts)
        return ST_NOMEM;
    char *at = texts;
    const struct molecule m = {
        .state = g->state == MOLECULES_OK           ? MOLECULE_READ
                 : g->state == MOLECULES_UNREADABLE ? MOLECULE_WRONG
                                                    : MOLECULE_LARGE,
        .pairs = g->pairs,
        .places = reply.places,
        .counts = reply.counts,
        .descriptor = g->described ? reply.descriptor : NULL,
        .canonical = text_of(&at, reply.canonical, g->canonical),
        .scaffold = text_of(&at, reply.scaffold, g->scaffold),
        .drawn = text_of(&at, reply.drawn, g->drawn),
        .fragments = g->fragments,
        .reason = text_of(&at, reply.reason, g->reason),
    };
    r->losses = 0;
    w->has = w->again = false;
    rc = give(r, w->item, &m, ctl, err);
    free(texts);
    /* After an allocation failed it may keep what it had. */
    if (rc == ST_OK && g->state == MOLECULES_NO_MEMORY)
        helper_end(&w->helper);
    return rc;
}

/* Its process has ended: once by chance (killed by somebody, short of memory), twice by fault. */
static enum status lost(struct reading *r, struct reader *w, const struct ctl *ctl, struct err *err)
{
    if (++r->losses > LOSSES_MOST) {
        err_set(err, ST_BACKEND, "%.300s ended %zu times, one after the other, and read nothing",
                r->program, r->losses);
        err_hint(err, "%.200s --version   (tells whether it runs)", r->program);
        return ST_BACKEND;
    }
    if (w->again)
        return give_up(r, w, MOLECULE_CRASHED, ctl, err);
    w->again = w->has;
    return ST_OK;
}

static enum status look(struct reading *r, struct reader *w, const struct ctl *ctl, struct err *err)
{
    enum helper_event event;
    enum status rc = helper_look(&w->helper, r->program, r->limits.seconds, &event, err);

    if (rc != ST_OK)
        return rc;
    switch (event) {
    case HELPER_ANSWERED: return take_answer(r, w, ctl, err);
    case HELPER_SLOW: return give_up(r, w, MOLECULE_SLOW, ctl, err);
    case HELPER_LOST: return lost(r, w, ctl, err);
    default: return ST_OK;
    }
}

/* The next text that is worth a question, for this process; the others are answered here. */
static enum status find_work(struct reading *r, struct reader *w, const struct ctl *ctl,
                             struct err *err)
{
    enum status rc = ST_OK;

    while (rc == ST_OK && !w->has && r->next < r->list->n) {
        struct molecule m;
        char reason[160];
        size_t n;
        const size_t i = r->next++;
        const char *s = r->list->text(r->list->ctx, i, &n);
        n = trimmed(&s, n);
        if (refused(s, n, &m, reason, sizeof reason)) {
            rc = give(r, i, &m, ctl, err);
        } else {
            w->has = true;
            w->item = i;
        }
    }
    return rc;
}

/* Gives it a molecule if it waits for one, and starts a process where one is needed. */
static enum status keep_busy(struct reading *r, struct reader *w, const struct ctl *ctl,
                             struct err *err)
{
    struct helper *h = &w->helper;
    enum status rc = ST_OK;

    if (h->doing == HELPER_STARTING || h->doing == HELPER_BUSY)
        return ST_OK;
    rc = find_work(r, w, ctl, err);
    if (rc != ST_OK || !w->has)
        return rc;
    if (h->doing == HELPER_ENDED)
        return helper_start(h, r->program, r->limits.memory, err);
    size_t n;
    const char *s = r->list->text(r->list->ctx, w->item, &n);
    n = trimmed(&s, n);
    helper_ask(h, r->ask, s, n);
    return ST_OK;
}

static void wait_for_any(const struct reading *r)
{
    struct pollfd at[MOLECULES_HELPERS_MOST];
    nfds_t n = 0;

    for (size_t i = 0; i < r->readers; i++)
        if (r->reader[i].helper.fd >= 0)
            at[n++] = (struct pollfd){ .fd = r->reader[i].helper.fd, .events = POLLIN };
    poll(at, n, LOOK_MS);
}

static enum status read_all(struct reading *r, const struct ctl *ctl, struct err *err)
{
    enum status rc = ST_OK;

    while (rc == ST_OK && r->done < r->list->n) {
        for (size_t i = 0; i < r->readers && rc == ST_OK; i++) {
            rc = look(r, &r->reader[i], ctl, err);
            if (rc == ST_OK)
                rc = keep_busy(r, &r->reader[i], ctl, err);
        }
        if (rc == ST_OK && ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "stopped after %zu of %zu molecules", r->done,
                         r->list->n);
        if (rc == ST_OK && r->done < r->list->n)
            wait_for_any(r);
    }
    return rc;
}

static enum status settings(const struct molecules_ask *ask, const struct molecules_limits *limits,
                            struct err *err)
{
    const char *wrong = molecules_ask_wrong(ask);

    if (!wrong && !(limits->seconds >= 0))
        wrong = "a time that is no time";
    if (!wrong)
        return ST_OK;
    err_set(err, ST_RANGE, "molecules cannot be read with %s", wrong);
    err_hint(err, "a radius up to %d, a size up to %d, seconds above 0", MOLECULES_RADIUS_MOST,
             MOLECULES_SIZE_MOST);
    return ST_RANGE;
}

enum status molecules_read(const struct molecules_list *list, const struct molecules_ask *ask,
                           const struct molecules_limits *limits, const struct ctl *ctl,
                           struct err *err)
{
    struct reading r = { .list = list, .ask = ask, .limits = *limits };
    enum status rc = settings(ask, limits, err);

    if (rc != ST_OK)
        return rc;
    if (r.limits.seconds == 0)
        r.limits.seconds = default_seconds;
    if (r.limits.memory == 0)
        r.limits.memory = default_memory;
    r.readers = limits->helpers > 0 ? limits->helpers : 1;
    if (r.readers > MOLECULES_HELPERS_MOST)
        r.readers = MOLECULES_HELPERS_MOST;
    if (r.readers > list->n)
        r.readers = list->n;
    if (list->n == 0)
        return ST_OK;
    r.program = helper_program(err);
    if (!r.program)
        return err->code;
    r.reader = mem_calloc(r.readers, sizeof *r.reader, "processes that read molecules", err);
    if (!r.reader) {
        free(r.program);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < r.readers; i++)
        r.reader[i].helper.fd = -1;
    rc = read_all(&r, ctl, err);
    for (size_t i = 0; i < r.readers; i++)
        helper_end(&r.reader[i].helper);
    free(r.reader);
    free(r.program);
    return rc;
}

enum status molecules_version(char *out, size_t len, struct err *err)
{
    struct helper h = { .fd = -1 };
    enum helper_event event = HELPER_NOTHING;
    char *program = helper_program(err);

    if (!program)
        return err->code;
    enum status rc = helper_start(&h, program, default_memory, err);
    while (rc == ST_OK && event == HELPER_NOTHING) {
        struct pollfd at = { .fd = h.fd, .events = POLLIN };
        poll(&at, 1, LOOK_MS);
        rc = helper_look(&h, program, default_seconds, &event, err);
    }
    if (rc == ST_OK)
        snprintf(out, len, "%s", h.version);
    helper_end(&h);
    free(program);
    return rc;
}
