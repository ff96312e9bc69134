/* app/runs/sweep.h -- a grid of settings as one table: the statements that `sweep` expands into,
 * and what it remembers. */
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
    /* brief name of a figure: rmse, nlpd, nmll, coverage, effdim, iterations, seconds */
    char show[16];
    bool fits;                  /* each point is a fit with a score; otherwise it is a tuning */
    /* arguments that are the same for all points; NULL: none (tune: no tuning) */
    char *tune, *fit, *split;
    size_t *first; /* serial of the next run when each point began; SIZE_MAX: not begun */
};
void sweep_free(struct sweep *);
extern const struct owner sweep_owner;
struct sweep *sweep_of(const struct workspace *); /* the last sweep; NULL if there is none */
/* Appends the values of one key, whose name has been set, in the syntax of sweep_parse. */
enum status sweep_values(struct sweep_key *, const char *text, struct err *err);
void sweep_key_free(struct sweep_key *);
/* Parses the grid "key=values ...". Values are a list a,b,c; an interval a..b (every whole number;
 * doubling for rank and features; otherwise seven steps on the log scale); a..b/step; a..b*2; or
 * name0..name4. Also accepts show=, tune=, fit= and file= (of a split). USAGE names the word that
 * is wrong. */
enum status sweep_parse(const char *text, struct sweep *out, struct err *err);
/* Writes the statements of point i, one per line. */
void sweep_statements(const struct sweep *, size_t i, struct buf *out);
/* Writes the statements after the last point: they bring back the training rows that rows= had set
 * aside, and show the table. */
void sweep_after(const struct sweep *, struct buf *out);
/* The index of the value that key k has at point i. The first key varies fastest. */
size_t sweep_index(const struct sweep *, size_t i, size_t k);

#endif
