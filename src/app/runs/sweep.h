/* app/runs/sweep.h -- a grid of settings as one table: what `sweep` expands into and what it
 * remembers. */
#ifndef GPDESK_SWEEP_H
#define GPDESK_SWEEP_H

#include "app/core/owner.h"
#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { SWEEP_KEYS = 6, SWEEP_VALUES = 200, SWEEP_POINTS = 400 };

struct sweep_key { char name[48]; char **value; size_t n; };
struct sweep {
    struct sweep_key key[SWEEP_KEYS];
    size_t nkeys, npoints;
    char show[16];              /* rmse nlpd nmll coverage effdim iterations seconds */
    bool fits;                  /* each point is a fit with a score, else a tuning */
    char *tune, *fit, *split;   /* fixed arguments; NULL: none (tune: no tuning) */
    size_t *first; /* of each point: serial of the next run when it began; SIZE_MAX: not yet */
};
void sweep_free(struct sweep *);
extern const struct owner sweep_owner;
struct sweep *sweep_of(const struct workspace *); /* the last one; NULL: none */
/* The values of one key, whose name is set, appended; as in sweep_parse. */
enum status sweep_values(struct sweep_key *, const char *text, struct err *err);
void sweep_key_free(struct sweep_key *);
/* The grid behind "key=values ...": lists a,b,c; a..b (whole numbers one by one, doubling for rank
 * and features, else seven steps on the log scale); a..b/step; a..b*2; name0..name4.  Also show=,
 * tune=, fit= and file= (of a split).  USAGE with the word that is wrong. */
enum status sweep_parse(const char *text, struct sweep *out, struct err *err);
/* The statements of point i, one a line. */
void sweep_statements(const struct sweep *, size_t i, struct buf *out);
/* Those after the last point: training rows that rows= had set aside come back; the table. */
void sweep_after(const struct sweep *, struct buf *out);
/* Which value of key k point i has: the first key runs fastest. */
size_t sweep_index(const struct sweep *, size_t i, size_t k);

#endif
