/* compute/ranks/crew.c -- requests to a rank of several processes (crew.h). */
#include "compute/ranks/crew.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/module.h"
#include "compute/linalg/tall.h"
#include "compute/ranks/answer.h"
#include "compute/ranks/drawn.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The module. */

/* The module, where the environment says that the process was started by MPI.  NULL: it was not, or
 * the module cannot be opened (*err). */
static const struct crew_calls *module_calls(struct err *err)
{
    static const struct module mpi = { .file = "libgpdesk-mpi.so",
                                       .variable = "GPDESK_MPI_MODULE",
                                       .entry = CREW_ENTRY,
                                       .abi = CREW_ABI };
    const struct crew_calls *calls = NULL;
    struct buf path = { 0 };

    if (!getenv("OMPI_COMM_WORLD_SIZE"))
        return NULL;
    if (module_path(&mpi, &path))
        calls = module_open(&mpi, buf_str(&path), err);
    else
        err_set(err, ST_BACKEND, "%s is not there", mpi.file);
    buf_free(&path);
    return calls;
}

enum status crew_begin(struct crew *c, struct err *err)
{
    *c = (struct crew){ .size = 1 };
    err_clear(err);
    c->calls = module_calls(err);
    if (!c->calls)
        return err->code;
    return c->calls->begin(&c->rank, &c->size) == 0
               ? ST_OK : err_set(err, ST_BACKEND, "MPI cannot be started");
}

/* Signs of life: one each second, and without three of them a process may be hung. */
static const double silent_most = 3.0;

bool crew_lives(const struct crew *c)
{
    return c->size < 2 || c->calls->silence() <= silent_most;
}

void crew_beat(const struct crew *c)
{
    for (;;) {
        c->calls->beat();
        nanosleep(&(struct timespec){ 1, 0 }, NULL);
    }
}

/* Meetings.  Before each, all tell whether they are there: one that has left the request, because
 * it failed or was stopped, waits in `agree` until all others have. */

/* What all know afterwards: whether one has left, or meets; and 1 + the last process that has ended
 * with an error, and with one of its own, not because it was stopped. */
enum { LEFT, MEETS, ENDED, FAILED, STATES };

static void tell(const struct crew *c, double state[STATES], int mine, enum status rc)
{
    const double who = (double)(c->rank + 1);

    state[LEFT] = mine == LEFT;
    state[MEETS] = mine == MEETS;
    state[ENDED] = rc != ST_OK ? who : 0.0;
    state[FAILED] = rc != ST_OK && rc != ST_CANCELLED ? who : 0.0;
    c->calls->most(STATES, state);
}

enum status crew_meet(struct crew *c, int sum, size_t n, double *x, struct err *err)
{
    double state[STATES];

    tell(c, state, MEETS, ST_OK);
    if (state[LEFT] > 0.0)
        return err_set(err, ST_CANCELLED, "stopped");
    (sum ? c->calls->sum : c->calls->most)(n, x);
    return ST_OK;
}

/* The error of a request is that of the last process that failed by itself, for all of them. */
static enum status agree(const struct crew *c, enum status rc, struct err *err)
{
    double state[STATES];

    do
        tell(c, state, LEFT, rc);
    while (state[MEETS] > 0.0);
    const size_t teller = (size_t)(state[FAILED] > 0.0 ? state[FAILED] : state[ENDED]);
    if (teller == 0)
        return ST_OK;
    err->code = rc != ST_OK ? rc : ST_CANCELLED;
    if (c->rank == teller - 1 && c->rank != 0)
        c->calls->send(0, err, sizeof *err);
    else if (c->rank == 0 && teller > 1)
        c->calls->receive(teller - 1, err, sizeof *err);
    return err->code;
}

/* Opening. */

/* What all get first: the head, then the description up to its rows. */
struct opening { struct ask_head ask; struct drawn_head head; };

static void cut_of(const struct crew *c, size_t n, size_t i, size_t *r0, size_t *r1)
{
    const size_t of = share_segments(n, SHARE_JOINED);

    *r0 = share_row(n, of * i / c->size, of);
    *r1 = share_row(n, of * (i + 1) / c->size, of);
}

/* The factors and then the rows of a process: from the whole message at the first, which hands out
 * those of all others. */
static void deal_out(struct crew *c, const struct drawn_head *h, size_t row, const char *all,
                     char *mine)
{
    size_t r0, r1;

    cut_of(c, h->n, c->rank, &r0, &r1);
    if (!all) {
        c->calls->receive(0, mine, (r1 - r0) * row);
        return;
    }
    memcpy(mine, all + r0 * row, (r1 - r0) * row);
    for (size_t i = 1; i < c->size; i++) {
        cut_of(c, h->n, i, &r0, &r1);
        c->calls->send(i, all + r0 * row, (r1 - r0) * row);
    }
}

/* The part of a process in opening; `all` is the whole message at the first, else NULL.  Where one
 * of them has not got its rows, none opens. */
static enum status open_own(struct crew *c, struct answers *a, const struct opening *o,
                            const char *all, bool *there, struct err *err)
{
    struct drawn_head h = o->head;
    size_t r0, r1;
    bool own = false;

    cut_of(c, h.n, c->rank, &r0, &r1);
    h.r0 = r0, h.r1 = r1;
    const size_t common = (size_t)drawn_common(&h), bytes = sizeof h + (size_t)drawn_body(&h);
    char *body = mem_aligned(bytes, 1, "rows", err);
    if (!body)
        _exit(1); /* the others wait for it: without memory for its rows it is lost */
    memcpy(body, &h, sizeof h);
    if (all)
        memcpy(body + sizeof h, all + sizeof h, common);
    c->calls->share(body + sizeof h, common);
    char *at = body + sizeof h + common;
    if (all)
        all += sizeof h + common;
    if (h.scaled) {
        deal_out(c, &h, sizeof(double), all, at);
        at += (r1 - r0) * sizeof(double);
        all = all ? all + h.n * sizeof(double) : NULL;
    }
    if (h.sent)
        deal_out(c, &h, h.inputs * sizeof(double), all, at);
    void *mine = body;
    struct answer_state *s = answer_find(a, &o->ask, &mine, bytes, &own, err);
    double missing = s && !own;
    c->calls->most(1, &missing);
    *there = missing == 0.0;
    enum status rc = s ? ST_OK : err->code;
    if (s && *there)
        rc = answer_open_found(a, s, err);
    else
        answer_forget(a, s);
    free(mine);
    return rc;
}

/* True for a message that has the rows that it says. */
static bool whole(const struct drawn_head *h, size_t bytes, size_t size)
{
    return bytes >= sizeof *h && h->r0 == 0 && h->r1 == h->n && h->n < SIZE_MAX / 4096 &&
           h->from == 0 && h->listed == h->n && h->inputs < 1 << 26 && h->scaled <= 1 &&
           h->sent <= 1 && sizeof *h + drawn_body(h) == (double)bytes &&
           share_segments(h->n, SHARE_JOINED) >= size;
}

enum status crew_open(struct crew *c, struct answers *a, const struct ask_head *ask, void **body,
                      size_t bytes, bool *there, struct err *err)
{
    struct opening o = { .ask = *ask };

    if (bytes >= sizeof o.head)
        memcpy(&o.head, *body, sizeof o.head);
    if (!whole(&o.head, bytes, c->size))
        return err_set(err, ST_FORMAT, "%zu processes cannot share these rows", c->size);
    c->calls->share(&o, sizeof o);
    return agree(c, open_own(c, a, &o, *body, there, err), err);
}

/* All other requests. */

/* The rows of process i in a request, of the n that come with it: whole pieces of a basis, whole
 * segments of all others. */
static void part_of(const struct crew *c, const struct ask_head *ask, size_t n, size_t i,
                    size_t *r0, size_t *r1)
{
    if (!ask_of_basis(ask)) {
        cut_of(c, n, i, r0, r1);
        return;
    }
    const size_t M = ask->arg[1];
    size_t first = 0, end = tall_pieces(M);
    while (tall_row(M, first) < ask->arg[2])
        first++;
    while (tall_row(M, end) > ask->arg[3])
        end--;
    *r0 = tall_row(M, first + (end - first) * i / c->size) - ask->arg[2];
    *r1 = tall_row(M, first + (end - first) * (i + 1) / c->size) - ask->arg[2];
}

/* The numbers for all, then this process's part of the vectors of rows. */
static double *numbers_of(struct crew *c, const struct ask_head *ask, const struct ask_sizes *z,
                          size_t n, const double *all, size_t *count)
{
    size_t r0, r1;

    part_of(c, ask, n, c->rank, &r0, &r1);
    const size_t rows = r1 - r0;
    *count = z->all + z->rows * rows;
    double *x = mem_aligned(*count + 1, sizeof *x, "a request", NULL);
    if (!x)
        _exit(1);
    if (all)
        memcpy(x, all, z->all * sizeof *x);
    c->calls->share(x, z->all * sizeof *x);
    for (size_t k = 0; k < z->rows; k++)
        if (all) {
            const double *v = all + z->all + k * n;
            memcpy(x + z->all + k * rows, v + r0, rows * sizeof *x);
            for (size_t i = 1, a, b; i < c->size; i++) {
                part_of(c, ask, n, i, &a, &b);
                c->calls->send(i, v + a, (b - a) * sizeof *x);
            }
        } else {
            c->calls->receive(0, x + z->all + k * rows, rows * sizeof *x);
        }
    return x;
}

/* The answer's vectors of rows come together at the first. */
static void gather(struct crew *c, const struct ask_head *ask, const struct ask_sizes *z, size_t n,
                   struct answer *own)
{
    size_t r0, r1;

    part_of(c, ask, n, c->rank, &r0, &r1);
    const size_t rows = r1 - r0;
    const double *mine = own->out + z->out;
    if (z->out_rows == 0)
        return;
    if (c->rank != 0) {
        for (size_t k = 0; k < z->out_rows; k++)
            c->calls->send(0, mine + k * rows, rows * sizeof *mine);
        return;
    }
    double *all = mem_aligned(z->out + z->out_rows * n, sizeof *all, "an answer", NULL);
    if (!all)
        _exit(1);
    memcpy(all, own->out, z->out * sizeof *all);
    for (size_t k = 0; k < z->out_rows; k++)
        memcpy(all + z->out + k * n + r0, mine + k * rows, rows * sizeof *all);
    for (size_t i = 1; i < c->size; i++)
        for (size_t k = 0; k < z->out_rows; k++) {
            part_of(c, ask, n, i, &r0, &r1);
            c->calls->receive(i, all + z->out + k * n + r0, (r1 - r0) * sizeof *all);
        }
    free(own->out);
    own->out = all;
    own->numbers = z->out + z->out_rows * n;
}

/* The part of a process in a request, which all of them have found to be sound. */
static enum status take_part(struct crew *c, struct answers *a, const struct ask_head *ask,
                             const double *all, struct answer *answer, struct err *err)
{
    struct ask_sizes z;
    size_t n = 0, count = 0;

    if (!answer_sizes(a, ask, &z, &n))
        return ST_FORMAT; /* CLOSE */
    double *x = numbers_of(c, ask, &z, n, all, &count);
    struct ask_head own = *ask;
    if (ask_of_basis(ask)) {
        part_of(c, ask, n, c->rank, &own.arg[2], &own.arg[3]);
        own.arg[2] += ask->arg[2], own.arg[3] += ask->arg[2];
    }
    enum status rc = answer_ask(a, &own, x, count * sizeof *x, answer, err);
    free(x);
    rc = agree(c, rc, err);
    if (rc == ST_OK)
        gather(c, ask, &z, n, answer);
    return rc;
}

enum status crew_ask(struct crew *c, struct answers *a, const struct ask_head *ask, void *body,
                     size_t bytes, struct answer *answer, struct err *err)
{
    struct opening o = { .ask = *ask };
    struct ask_sizes z;
    size_t n;

    if (ask->op == ASK_CLOSE) {
        c->calls->share(&o, sizeof o);
        return answer_ask(a, ask, NULL, 0, answer, err);
    }
    if (!answer_sizes(a, ask, &z, &n) ||
        (double)bytes != 8.0 * ((double)z.all + (double)z.rows * (double)n))
        return err_set(err, ST_FORMAT, "a request that is none");
    c->calls->share(&o, sizeof o);
    return take_part(c, a, ask, body, answer, err);
}

void crew_end(struct crew *c)
{
    struct opening o = { .ask = { .op = ASK_END } };

    if (c->size > 1)
        c->calls->share(&o, sizeof o);
    if (c->calls)
        c->calls->end();
}

void crew_work(struct crew *c, struct answers *a)
{
    for (;;) {
        struct answer answer = { .out = NULL };
        struct err err = { 0 };
        struct opening o;

        c->calls->share(&o, sizeof o);
        if (o.ask.op == ASK_END) {
            c->calls->end();
            _exit(0);
        } else if (o.ask.op == ASK_OPEN) {
            bool there;
            agree(c, open_own(c, a, &o, NULL, &there, &err), &err);
        } else if (o.ask.op == ASK_CLOSE) {
            answer_ask(a, &o.ask, NULL, 0, &answer, &err);
        } else {
            o.ask.first = 1; /* all parts of the answer are where gather looks for them */
            take_part(c, a, &o.ask, NULL, &answer, &err);
        }
        free(answer.out);
    }
}
