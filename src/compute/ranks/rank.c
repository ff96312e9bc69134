/* compute/ranks/rank.c -- the process of a rank: it listens, works and meets (rank.h). */
#include "compute/ranks/rank.h"

#include "base/clock.h"
#include "base/mem.h"
#include "compute/backend_load.h"
#include "compute/linalg/blas.h"
#include "compute/ranks/answer.h"
#include "compute/ranks/crew.h"
#include "compute/ranks/parted.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { BEAT_MS = 1000, THREADS_MOST = 1024 };
static const double TICK_SECONDS = 0.1;

/* A message that waits for the working thread, a request with its head apart; body NULL with bytes:
 * there was no memory for it.  own: the body is released by free. */
struct note {
    struct note *next;
    enum wire_kind kind;
    struct ask_head ask;
    size_t bytes;
    void *body;
    bool own;
};

struct rank {
    struct wire wire;
    pthread_mutex_t writing, waiting;
    pthread_cond_t came;
    struct note *first, **last;
    struct mem_spares spares; /* of bodies */
    /* A meeting under way: where its numbers are to go. */
    void *_Atomic met;
    atomic_size_t met_bytes;
    /* The request at work, and the last one that was to be stopped. */
    atomic_uint_least64_t serial, stopped;
    struct cancel cancel;
    struct answers answers;
    struct crew crew; /* the processes of which this is the first */
    double told; /* when the last tick was sent */
    bool tells;  /* this is the rank whose ticks are wanted */
};

/* Listening. */

static void take(struct rank *r, struct note *note)
{
    pthread_mutex_lock(&r->waiting);
    note->next = NULL;
    *r->last = note;
    r->last = &note->next;
    pthread_cond_signal(&r->came);
    pthread_mutex_unlock(&r->waiting);
}

static enum status stop_came(struct rank *r, uint64_t bytes)
{
    uint64_t serial = 0;

    if (bytes != sizeof serial || wire_get(&r->wire, &serial, sizeof serial, NULL) != ST_OK)
        return ST_FORMAT;
    atomic_store(&r->stopped, serial);
    if (atomic_load(&r->serial) == serial)
        atomic_store(&r->cancel.stop, true);
    return ST_OK;
}

/* Where a body goes: the numbers of a meeting to where they were; rows, which stay as long as their
 * operator, to memory of their own; all else to what an earlier body has left. */
static void body_make(struct rank *r, struct note *note)
{
    const size_t bytes = note->bytes;

    note->own = note->kind == WIRE_ASK && note->ask.op == ASK_OPEN;
    if (note->kind == WIRE_MET && bytes == r->met_bytes)
        note->body = r->met;
    else if (bytes > 0)
        note->body = note->own ? mem_aligned(bytes, 1, "rows", NULL)
                               : mem_spare_take(&r->spares, bytes, "a message", NULL);
}

static enum status message_came(struct rank *r)
{
    struct wire_head head;
    enum status rc = wire_next(&r->wire, &head, NULL);

    if (rc != ST_OK || head.kind == WIRE_STOP)
        return rc == ST_OK ? stop_came(r, head.bytes) : rc;
    struct note *note = mem_calloc(1, sizeof *note, "a message", NULL);
    if (!note)
        return ST_NOMEM;
    *note = (struct note){ .kind = (enum wire_kind)head.kind, .bytes = head.bytes };
    if (head.kind == WIRE_ASK) {
        rc = head.bytes < sizeof note->ask ? ST_FORMAT
                                           : wire_get(&r->wire, &note->ask, sizeof note->ask, NULL);
        note->bytes -= sizeof note->ask;
    }
    if (rc == ST_OK)
        body_make(r, note);
    if (rc == ST_OK)
        rc = note->body ? wire_get(&r->wire, note->body, note->bytes, NULL)
                        : wire_skip(&r->wire, note->bytes, NULL);
    if (rc == ST_OK)
        take(r, note);
    return rc; /* else the process ends */
}

/* Ends the process when the connection ends: nobody is left to work for. */
static void *listen_on(void *ctx)
{
    struct rank *r = ctx;

    for (;;) {
        if (wire_waits(&r->wire, BEAT_MS)) {
            if (message_came(r) != ST_OK)
                _exit(0);
        } else if (crew_lives(&r->crew) && pthread_mutex_trylock(&r->writing) == 0) {
            /* Of several processes all have to live.  A front end that does other things for
             * minutes reads none: full, it has enough. */
            const enum status rc =
                wire_takes(&r->wire) ? wire_begin(&r->wire, WIRE_BEAT, 0, NULL) : ST_OK;
            pthread_mutex_unlock(&r->writing);
            if (rc != ST_OK)
                _exit(0);
        }
    }
    return NULL;
}

/* A process of a crew that is not the first. */
static void *beat(void *ctx)
{
    const struct rank *r = ctx;

    crew_beat(&r->crew);
    return NULL;
}

static struct note *next_note(struct rank *r)
{
    pthread_mutex_lock(&r->waiting);
    while (!r->first)
        pthread_cond_wait(&r->came, &r->waiting);
    struct note *note = r->first;
    r->first = note->next;
    if (!r->first)
        r->last = &r->first;
    pthread_mutex_unlock(&r->waiting);
    return note;
}

static void note_free(struct rank *r, struct note *note)
{
    if (note->own)
        free(note->body);
    else if (note->body != r->met)
        mem_spare_give(&r->spares, note->body);
    free(note);
}

/* Telling. */

static void send_all(struct rank *r, enum wire_kind kind, const void *a, size_t na, const void *b,
                     size_t nb)
{
    pthread_mutex_lock(&r->writing);
    enum status rc = wire_begin(&r->wire, kind, na + nb, NULL);
    rc = rc == ST_OK && na ? wire_put(&r->wire, a, na, NULL) : rc;
    rc = rc == ST_OK && nb ? wire_put(&r->wire, b, nb, NULL) : rc;
    pthread_mutex_unlock(&r->writing);
    if (rc != ST_OK)
        _exit(0);
}

static void tick(void *ctx, const struct tick *t)
{
    struct rank *r = ctx;
    const struct wire_tick told = { t->phase, t->done, t->total };
    const double now = clock_now();

    if (!r->tells || now - r->told < TICK_SECONDS)
        return;
    r->told = now;
    send_all(r, WIRE_TICK, &told, sizeof told, NULL, 0);
}

/* Meeting (share.h): the numbers go to the front end and come back from there to where they
 * were. */
static enum status meet(struct rank *r, enum wire_kind kind, size_t n, double *x, struct err *err)
{
    r->met = x;
    r->met_bytes = n * sizeof *x;
    send_all(r, kind, x, n * sizeof *x, NULL, 0);
    struct note *note = next_note(r);
    const bool met = note->kind == WIRE_MET && note->bytes == n * sizeof *x &&
                     (note->body == x || n == 0);
    if (!met && note->kind != WIRE_ENDED && note->kind != WIRE_MET)
        _exit(1); /* a request in the middle of another: the two sides are out of step */
    note_free(r, note);
    r->met = NULL;
    return met ? ST_OK : err_set(err, ST_CANCELLED, "stopped");
}

static enum status meet_most(void *ctx, size_t n, double *x, struct err *err)
{
    struct rank *r = ctx;

    return r->crew.size > 1 ? crew_meet(&r->crew, false, n, x, err)
                            : meet(r, WIRE_MOST, n, x, err);
}

static enum status meet_sum(void *ctx, size_t n, double *x, struct err *err)
{
    struct rank *r = ctx;

    return r->crew.size > 1 ? crew_meet(&r->crew, true, n, x, err) : meet(r, WIRE_SUM, n, x, err);
}

/* Working. */

static void done(struct rank *r, const struct ask_head *ask, enum status rc, const struct err *err,
                 const struct answer *answer)
{
    struct wire_done d = { .serial = ask->serial, .rc = (int32_t)rc };
    struct err device;
    const double *out = rc == ST_OK && answer->out ? answer->out + answer->from : NULL;

    d.numbers = out ? answer->numbers : 0;
    if (parted_lost(&device))
        snprintf(d.device, sizeof d.device, "%.*s", (int)sizeof d.device - 1, device.msg);
    if (rc != ST_OK) {
        d.machine = err->machine;
        memcpy(d.name, err->name, sizeof d.name);
        memcpy(d.msg, err->msg, sizeof d.msg);
        memcpy(d.hint, err->hint, sizeof d.hint);
    }
    send_all(r, WIRE_DONE, &d, sizeof d, out, d.numbers * sizeof *out);
}

/* Whether the rows are here, as a number. */
static enum status tell_whether(bool there, struct answer *answer, struct err *err)
{
    *answer = (struct answer){ .out = mem_calloc(1, sizeof *answer->out, "an answer", err),
                               .numbers = 1 };
    if (!answer->out)
        return ST_NOMEM;
    *answer->out = there;
    return ST_OK;
}

static void asked(struct rank *r, struct note *note)
{
    const struct ask_head *ask = &note->ask;
    struct answer answer = { .out = NULL };
    struct err err = { 0 };
    enum status rc;

    atomic_store(&r->cancel.stop, false);
    atomic_store(&r->serial, ask->serial);
    if (atomic_load(&r->stopped) == ask->serial)
        atomic_store(&r->cancel.stop, true);
    r->tells = ask->first != 0;
    if (!note->body && note->bytes > 0) {
        rc = err_nomem(&err, note->bytes, "a request");
    } else if (ask->op == ASK_OPEN) {
        bool there = false;
        rc = r->crew.size > 1
                 ? crew_open(&r->crew, &r->answers, ask, &note->body, note->bytes, &there, &err)
                 : answer_open(&r->answers, ask, &note->body, note->bytes, &there, &err);
        if (rc == ST_OK)
            rc = tell_whether(there, &answer, &err);
    } else if (r->crew.size > 1) {
        rc = crew_ask(&r->crew, &r->answers, ask, note->body, note->bytes, &answer, &err);
    } else {
        rc = answer_ask(&r->answers, ask, note->body, note->bytes, &answer, &err);
    }
    done(r, ask, rc, &err, &answer);
    free(answer.out);
}

/* Takes the device that the front end wants, modulo those that are here. */
static void settle_device(struct rank *r, uint32_t wanted, struct wire_hello *here)
{
    const char *why = "", *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    const struct backend_ops *be = wanted ? backend_module(&why) : NULL;
    const size_t n = be && be->devices && be->range ? be->devices(NULL, 0) : 0;
    struct backend_device d = { 0 };
    struct err err = { 0 };

    if (n > 0) {
        const size_t turn = r->crew.size > 1 && local ? strtoul(local, NULL, 10) : 0;
        const size_t i = (wanted - 1 + turn) % n;
        if (be->use(i, &err) == ST_OK && be->describe(i, &d, &err) == ST_OK) {
            r->answers.device = be;
            here->device = 1 + (uint32_t)i;
        }
    }
    snprintf(here->card, sizeof here->card, "%.*s", (int)sizeof here->card - 1,
             here->device ? d.name : n > 0 ? err.msg : *why || !wanted ? why : "it has no device");
}

/* Takes the vector code and as many threads as the front end wants. */
static void settle(struct rank *r, const struct wire_hello *there)
{
    size_t threads = there->threads;

    cpu_force_level(there->level, NULL); /* the front end compares what came of it */
    blas_init();
    while (threads > 1 && !(r->answers.pool = pool_new(threads, NULL)))
        threads /= 2;
}

/* This process settles, and all others of its crew do as the first; false where they are not
 * alike. */
static bool settle_all(struct rank *r, struct wire_hello *there, struct wire_hello *here)
{
    struct wire_hello other;
    struct err err;
    bool alike = true;

    if (r->crew.size > 1)
        r->crew.calls->share(there, sizeof *there);
    settle(r, there);
    wire_hello_of(here, there->threads);
    settle_device(r, there->device, here);
    if (r->crew.rank != 0)
        r->crew.calls->send(0, here, sizeof *here);
    char last[WIRE_WORDS];
    memcpy(last, here->host, sizeof last);
    for (size_t i = 1; r->crew.rank == 0 && i < r->crew.size; i++) {
        r->crew.calls->receive(i, &other, sizeof other);
        alike &= wire_hello_sound(&other) && wire_hello_alike(here, &other, &err);
        if (strcmp(last, other.host) != 0) /* those of a machine follow one another, or it counts */
            here->machines++;              /* more often than it is */
        memcpy(last, other.host, sizeof last);
    }
    return alike;
}

/* What both sides tell first: the front end how many threads there shall be. */
static bool greet(struct rank *r)
{
    struct wire_hello there, here;
    struct wire_head head;

    if (wire_next(&r->wire, &head, NULL) != ST_OK || head.kind != WIRE_HELLO ||
        head.bytes != sizeof there || wire_get(&r->wire, &there, sizeof there, NULL) != ST_OK ||
        !wire_hello_sound(&there) || there.threads > THREADS_MOST)
        return false;
    if (!settle_all(r, &there, &here))
        return false;
    send_all(r, WIRE_HELLO, &here, sizeof here, NULL, 0);
    return true;
}

static int serve(int in, int out)
{
    static struct rank r;
    static struct ctl ctl;
    pthread_t listener;
    bool well = true;

    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    r = (struct rank){ .wire = { in, out, 0.0 } };
    ctl = (struct ctl){ .cancel = &r.cancel, .tick = tick, .ctx = &r };
    r.answers = (struct answers){ .ctl = &ctl,
                                  .share = { .most = meet_most, .sum = meet_sum, .ctx = &r } };
    r.last = &r.first;
    pthread_mutex_init(&r.writing, NULL);
    pthread_mutex_init(&r.waiting, NULL);
    pthread_cond_init(&r.came, NULL);
    struct err err = { 0 };
    struct wire_hello there, here;
    if (crew_begin(&r.crew, &err) != ST_OK)
        return 1;
    if (!r.crew.calls)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (r.crew.rank != 0 && settle_all(&r, &there, &here) &&
        pthread_create(&listener, NULL, beat, &r) == 0)
        crew_work(&r.crew, &r.answers);
    if (!greet(&r) || pthread_create(&listener, NULL, listen_on, &r) != 0)
        return 1;
    while (well) {
        struct note *note = next_note(&r);
        if (note->kind == WIRE_ASK && note->ask.op == ASK_END) {
            crew_end(&r.crew);
            _exit(0);
        }
        if (note->kind == WIRE_ASK)
            asked(&r, note);
        else
            well = note->kind == WIRE_ENDED; /* of a meeting that this one left by itself */
        note_free(&r, note);
    }
    return 1;
}

int rank_called(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], RANK_ARGUMENT) != 0)
        return -1;
    if (argc == 2)
        return serve(STDIN_FILENO, STDOUT_FILENO);
    if (strcmp(argv[2], RANK_MPIRUN) != 0)
        return -1;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execvp(argv[2], argv + 2);
    return RANK_NO_PROGRAM;
}
