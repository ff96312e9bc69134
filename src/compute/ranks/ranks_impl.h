/* compute/ranks/ranks_impl.h -- an operator over ranks, for the files of this folder. */
#ifndef GPDESK_RANKS_IMPL_H
#define GPDESK_RANKS_IMPL_H

#include "compute/backend.h"
#include "compute/ranks/team.h"

struct ranks_state {
    uint32_t name;       /* by which ranks know it */
    unsigned generation; /* of the team that has opened it; 0: none */
    struct team_deal deal;
    const struct featmap *fm;
    const struct source *src;
    struct fop_opts opts;
    struct ctl stop; /* for what is asked without a ctl, and the opening */
    double *hp; /* nhp numbers that were set last; NULL: none were */
    bool unhalved;
    void *here; /* the processor's operator, for tiles */
    /* What ranks have of a preconditioner (U NULL: nothing), and how its rows are dealt out. */
    struct { const double *U; size_t L; struct team_deal deal; } basis;
    uint64_t *sum; /* of the segments of its rows (content.h); NULL: not yet known */
    size_t n, M, nhp;
};

/* ranks.c: asks the team, again where a rank is lost.  Without a ctl the result is wanted even
 * after a stop, which ranks do not wait for: BACKEND then sends the caller to this process. */
enum status ranks_ask(struct ranks_state *, struct team_ask *, const struct ctl *, struct err *);
void *ranks_open(const struct featmap *, const struct source *, const struct fop_opts *,
                 struct err *);
void ranks_close(void *state);
/* opening.c: opens the operator on all ranks that are there, with the rows that each is to have. */
enum status opening_there(struct team *, struct ranks_state *, const struct ctl *, struct err *);
/* basis_ops.c: the functions `basis` and `basis_add` of the backend; the basis as a request, for
 * operators that are opened anew; and how it is dealt out. */
enum status basis_ops_give(void *state, size_t L, const double *U, double seconds, struct err *);
enum status basis_ops_add(void *state, size_t k, const double *c, double *Y, const struct ctl *,
                          struct err *);
struct team_ask basis_ops_ask(const struct ranks_state *);
void basis_ops_deal(struct ranks_state *);
/* ranks.c: what is known of the team's meetings: how many machines and processes there are, and the
 * numbers and seconds of the last one through the front end (numbers 0: there was none). */
struct ranks_meeting { size_t machines, count, numbers; double seconds; };
void ranks_meeting(struct ranks_meeting *);
/* basis_ops.c: whether handing out a factor of M x L pays, of which an application takes so many
 * seconds in one process. */
bool basis_ops_pays_for_tests(const struct ranks_meeting *, size_t M, size_t L, double seconds);
extern const struct backend_ops ranks_ops; /* ranks_ops.c */

#endif
