/* compute/ranks/basis_ops.c -- a preconditioner whose rows the ranks have (compute/linalg/tall.h):
 * an application then takes one small meeting and reads each rank's own memory, in place of all
 * of it in that of the front end. */
#include "compute/ranks/ranks.h"
#include "compute/ranks/ranks_impl.h"

#include "base/mem.h"
#include "compute/linalg/tall.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Handing it out has to pay within so many applications. */
static const double soon = 100.0;
/* Of a message between processes of MPI, which meet without the front end: seconds, and bytes a
 * second (10 Gbit/s).  They meet three times, in log2(P) steps there and back: before the sums, for
 * them, and at the end. */
static const double latency = 2e-5, bandwidth = 1.25e9, meets = 3.0;
static bool always;

void basis_ops_always_for_tests(bool yes)
{
    always = yes;
}

/* `seconds` are bound by the memory of one machine.  Machines share them.  Against this stand the
 * vectors, which travel there and back once, and a meeting of 2 L numbers: together no more than
 * the two meetings of M numbers that a pass has, of which the last one is known.  Handing out sends
 * M L numbers, a meeting its numbers to every rank. */
static bool pays(const struct ranks_meeting *m, size_t M, size_t L, double seconds)
{
    const double numbers = (double)M * (double)L;
    double cost, sent;

    if (m->machines < 2)
        return false;
    if (m->numbers > 0) {
        cost = 2.0 * m->seconds;
        sent = numbers / ((double)m->count * (double)m->numbers) * m->seconds;
    } else {
        cost = meets * 2.0 * log2((double)m->count) * latency + 16.0 * (double)M / bandwidth;
        sent = 8.0 * numbers / bandwidth;
    }
    return (seconds * (1.0 - 1.0 / (double)m->machines) - cost) * soon > sent;
}

bool basis_ops_pays_for_tests(const struct ranks_meeting *m, size_t M, size_t L, double seconds)
{
    return pays(m, M, L, seconds);
}

void basis_ops_deal(struct ranks_state *s)
{
    const size_t of = tall_pieces(s->M), count = s->deal.count;

    s->basis.deal = s->deal;
    s->basis.deal.n = s->M;
    for (size_t i = 0; i <= count; i++)
        s->basis.deal.row[i] = tall_row(s->M, of * i / count);
}

struct team_ask basis_ops_ask(const struct ranks_state *s)
{
    return (struct team_ask){ .head = { .op = ASK_BASIS, .state = s->name,
                                        .arg = { s->basis.L, s->M } },
                              .rows = { (double *)s->basis.U, s->basis.L } };
}

enum status basis_ops_give(void *state, size_t L, const double *U, double seconds, struct err *err)
{
    struct ranks_state *s = state;
    struct ranks_meeting m;
    struct err own;

    ranks_meeting(&m);
    if (U && !always && !pays(&m, s->M, L, seconds))
        return ST_UNSUPPORTED;
    s->basis.U = U;
    s->basis.L = U ? L : 0;
    struct team_ask a = basis_ops_ask(s);
    const enum status rc = ranks_ask(s, &a, &s->stop, err ? err : &own);
    if (rc != ST_OK)
        s->basis.U = NULL, s->basis.L = 0;
    return rc;
}

enum status basis_ops_add(void *state, size_t k, const double *c, double *Y, const struct ctl *ctl,
                          struct err *err)
{
    struct ranks_state *s = state;
    double *in = mem_calloc(k * s->M + k, sizeof *in, "a preconditioner", err), *bound;
    struct team_ask a = { .head = { .op = ASK_BASIS_ADD, .arg = { k, s->M, 0, 0, s->basis.L } },
                          .all = { { (double *)c, s->basis.L, 1, s->basis.L } },
                          .rows = { in, k }, .out_rows = { { Y, k } } };

    if (!in)
        return ST_NOMEM;
    bound = in + k * s->M;
    tall_bounds(s->M, k, Y, s->M, bound);
    a.all[1] = (struct team_block){ bound, k, 1, k };
    memcpy(in, Y, k * s->M * sizeof *in); /* it may be asked twice */
    const enum status rc = ranks_ask(s, &a, ctl, err);
    free(in);
    return rc;
}
