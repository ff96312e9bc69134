/* compute/ranks/crew.c -- requests to a rank of several processes (crew.h). */
#include "compute/ranks/crew.h"

#include "base/buf.h"
#include "base/mem.h"
#include "compute/backend_load.h"
#include "compute/ranks/answer.h"
#include "compute/ranks/drawn.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The module. */

/* The module, where the environment says that the process was started by MPI.  NULL: it was not, or
 * the module cannot be opened (*err). */
static const struct crew_calls *module_calls(struct err *err)
{
    const struct crew_calls *(*entry)(void) = NULL;
    struct buf path = { 0 };

    if (!getenv("OMPI_COMM_WORLD_SIZE"))
        return NULL;
    const bool there = backend_load_path("GPDESK_MPI_MODULE", CREW_MODULE, &path);
    void *module = there ? dlopen(buf_str(&path), RTLD_NOW | RTLD_LOCAL) : NULL;
    void *at = module ? dlsym(module, CREW_ENTRY) : NULL;
    memcpy(&entry, &at, sizeof entry);
    const struct crew_calls *calls = entry ? entry() : NULL;
    buf_free(&path);
    if (calls && calls->abi == CREW_ABI)
        return calls;
    err_set(err, ST_BACKEND, "%s is not there, or of another version", CREW_MODULE);
    return NULL;
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

/* Meetings.  Before each, all tell whether they are there: one that has left the request, because
 * it failed or was stopped, waits in `leave` until all others have. */

enum { LEFT, MEETS, STATES };

static void tell(const struct crew *c, double state[STATES], int mine)
{
    state[LEFT] = mine == LEFT;
    state[MEETS] = mine == MEETS;
    c->calls->most(STATES, state);
}

enum status crew_meet(struct crew *c, int sum, size_t n, double *x, struct err *err)
{
    double state[STATES];

    tell(c, state, MEETS);
    if (state[LEFT] > 0.0)
        return err_set(err, ST_CANCELLED, "stopped");
    (sum ? c->calls->sum : c->calls->most)(n, x);
    return ST_OK;
}

static void leave(const struct crew *c)
{
    double state[STATES];

    do
        tell(c, state, LEFT);
    while (state[MEETS] > 0.0);
}

/* The error of a request is that of the last process that failed by itself, for all of them. */
static enum status agree(const struct crew *c, enum status rc, struct err *err)
{
    double who[2] = { rc != ST_OK ? (double)(c->rank + 1) : 0.0,
                      rc != ST_OK && rc != ST_CANCELLED ? (double)(c->rank + 1) : 0.0 };

    leave(c);
    c->calls->most(2, who);
    const size_t teller = (size_t)(who[1] > 0.0 ? who[1] : who[0]);
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

static size_t body_bytes(const struct drawn_head *h, size_t rows)
{
    return sizeof *h + h->text + rows * (h->inputs + (h->scaled ? 1 : 0)) * sizeof(double);
}

/* Opens what a process has of the rows; `all` is the whole message at the first, else NULL. */
static enum status open_own(struct crew *c, struct answers *a, const struct opening *o,
                            const char *all, struct err *err)
{
    struct drawn_head h = o->head;
    size_t r0, r1;

    cut_of(c, h.n, c->rank, &r0, &r1);
    h.r0 = r0, h.r1 = r1;
    const size_t rows = r1 - r0, row = h.inputs * sizeof(double);
    const size_t text = h.text, bytes = body_bytes(&h, rows);
    char *body = mem_aligned(bytes, 1, "rows", err);
    if (!body)
        _exit(1); /* the others wait for it: without memory for its rows it is lost */
    memcpy(body, &h, sizeof h);
    if (all)
        memcpy(body + sizeof h, all + sizeof h, text);
    c->calls->share(body + sizeof h, text);
    char *x = body + sizeof h + text;
    if (all) {
        const char *from = all + sizeof h + text, *scale = from + h.n * row;
        memcpy(x, from + r0 * row, rows * row);
        if (h.scaled)
            memcpy(x + rows * row, scale + r0 * sizeof(double), rows * sizeof(double));
        for (size_t i = 1; i < c->size; i++) {
            cut_of(c, h.n, i, &r0, &r1);
            c->calls->send(i, from + r0 * row, (r1 - r0) * row);
            if (h.scaled)
                c->calls->send(i, scale + r0 * sizeof(double), (r1 - r0) * sizeof(double));
        }
    } else {
        c->calls->receive(0, x, rows * row);
        if (h.scaled)
            c->calls->receive(0, x + rows * row, rows * sizeof(double));
    }
    const enum status rc = answer_open(a, &o->ask, body, bytes, err);
    if (rc != ST_OK)
        free(body);
    return rc;
}

/* True for a message that has the rows that it says. */
static bool whole(const struct drawn_head *h, size_t bytes, size_t size)
{
    return bytes >= sizeof *h && h->r0 == 0 && h->r1 == h->n && h->n < SIZE_MAX / 4096 &&
           h->inputs < 1 << 26 && h->text < 1 << 20 && body_bytes(h, h->n) == bytes &&
           share_segments(h->n, SHARE_JOINED) >= size;
}

static enum status open_first(struct crew *c, struct answers *a, const struct ask_head *ask,
                              void *body, size_t bytes, struct err *err)
{
    struct opening o = { .ask = *ask };

    if (bytes >= sizeof o.head)
        memcpy(&o.head, body, sizeof o.head);
    if (!whole(&o.head, bytes, c->size))
        return err_set(err, ST_FORMAT, "%zu processes cannot share these rows", c->size);
    c->calls->share(&o, sizeof o);
    const enum status rc = agree(c, open_own(c, a, &o, body, err), err);
    if (rc == ST_OK)
        free(body); /* each has its rows */
    return rc;
}

/* All other requests. */

/* The numbers for all, then this process's part of the vectors of rows. */
static double *numbers_of(struct crew *c, const struct ask_sizes *z, size_t n, const double *all,
                          size_t *count)
{
    size_t r0, r1;

    cut_of(c, n, c->rank, &r0, &r1);
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
                cut_of(c, n, i, &a, &b);
                c->calls->send(i, v + a, (b - a) * sizeof *x);
            }
        } else {
            c->calls->receive(0, x + z->all + k * rows, rows * sizeof *x);
        }
    return x;
}

/* The answer's vectors of rows come together at the first. */
static void gather(struct crew *c, const struct ask_sizes *z, size_t n, struct answer *own)
{
    size_t r0, r1;

    cut_of(c, n, c->rank, &r0, &r1);
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
            cut_of(c, n, i, &r0, &r1);
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
    double *x = numbers_of(c, &z, n, all, &count);
    enum status rc = answer_ask(a, ask, x, count * sizeof *x, answer, err);
    free(x);
    rc = agree(c, rc, err);
    if (rc == ST_OK)
        gather(c, &z, n, answer);
    return rc;
}

enum status crew_ask(struct crew *c, struct answers *a, const struct ask_head *ask, void *body,
                     size_t bytes, struct answer *answer, struct err *err)
{
    struct opening o = { .ask = *ask };
    struct ask_sizes z;
    size_t n;

    if (ask->op == ASK_OPEN)
        return open_first(c, a, ask, body, bytes, err);
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
            agree(c, open_own(c, a, &o, NULL, &err), &err);
        } else if (o.ask.op == ASK_CLOSE) {
            answer_ask(a, &o.ask, NULL, 0, &answer, &err);
        } else {
            o.ask.first = 1; /* all parts of the answer are where gather looks for them */
            take_part(c, a, &o.ask, NULL, &answer, &err);
        }
        free(answer.out);
    }
}
