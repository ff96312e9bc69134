/* compute/ranks/answer.h -- how a rank answers what it is asked (ask.h): operators of the
 * processor's backend, or of its device (parted.h), over its rows. */
#ifndef GPDESK_ANSWER_H
#define GPDESK_ANSWER_H

#include "compute/backend.h"
#include "compute/ctl.h"
#include "compute/pool.h"
#include "compute/ranks/ask.h"
#include "compute/ranks/kept.h"
#include "compute/share.h"

/* The operators that are open, by the numbers that the front end gave them, and the rows that are
 * here. */
struct answer_state;
struct answers {
    struct answer_state *first;
    struct kept_store kept;
    struct pool *pool;
    const struct ctl *ctl;
    const struct backend_ops *device; /* NULL: none */
    struct share share; /* its two meetings and their context; rows are those of an operator */
};
/* What goes back: `numbers` of `out`, from its number `from` on.  The caller frees out. */
struct answer { double *out; size_t from, numbers; };
/* Opens an operator from the body of the request.  It takes the body over (free) and sets *body to
 * NULL if it succeeds.  *there false: it succeeded, but the rows are not here, neither in files nor
 * from an earlier operator, and the operator is not open.
 * The two halves of it: finds the rows, then opens. */
enum status answer_open(struct answers *, const struct ask_head *, void **body, size_t bytes,
                        bool *there, struct err *err);
struct answer_state *answer_find(struct answers *, const struct ask_head *, void **body,
                                 size_t bytes, bool *there, struct err *err);
enum status answer_open_found(struct answers *, struct answer_state *, struct err *err);
/* Gives up what was found. */
void answer_forget(struct answers *, struct answer_state *);
/* Everything else, from bytes / 8 numbers.  FORMAT for what is no request. */
enum status answer_ask(struct answers *, const struct ask_head *, const double *in, size_t bytes,
                       struct answer *, struct err *err);
/* What a request of an operator takes and gives (ask.h), of its `n` rows of all processes; false:
 * it is none. */
bool answer_sizes(const struct answers *, const struct ask_head *, struct ask_sizes *, size_t *n);
size_t answer_hyperparameters_for_tests(const struct answers *); /* of the newest operator */

#endif
