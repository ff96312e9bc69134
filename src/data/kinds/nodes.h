/* data/kinds/nodes.h -- columns of sets of nodes with numbers for each: graphs, molecules,
 * stretches of a time series. */
#ifndef GPDESK_NODES_H
#define GPDESK_NODES_H

#include "data/table.h"

struct nodes {
    size_t *at;       /* n + 1: where the word of a row begins; an empty one is missing */
    char *marks;      /* the words of all rows: a letter o for each node, and a NUL (spill.h) */
    size_t shortest, longest; /* of the rows that are not missing; 0: there are none */
    size_t n, d;      /* nodes of all rows, numbers of each */
    char **name;      /* of the numbers */
    bool *flag;       /* 1 or 0 for a word: one that a table lacks is 0 there */
    double *v;        /* n x d (spill.h) */
    bool series;      /* positions mean something: earlier values, the last one last */
};
extern const struct cell_ops nodes_cells; /* columns of sets of nodes */
/* What a column of sets of nodes is, in one line or two of notes. */
void nodes_note(const struct table *, const struct column *, struct buf *notes);
/* The nodes of a column that has them. */
static inline struct nodes *nodes_of(const struct column *c)
{
    return c->held;
}
static inline size_t nodes_count(const struct nodes *o, size_t row)
{
    return o->at[row + 1] - o->at[row] - 1;
}
/* The numbers of a row, its first node's first. */
static inline const double *nodes_at(const struct nodes *o, size_t row)
{
    return o->v + (o->at[row] - row) * o->d;
}
/* A row as it is, and without each of its nodes: 1 + nodes_count rows, into an empty column without
 * a name.  Of a series each value is replaced by the row's mean instead. */
enum status nodes_leave_out(const struct nodes *, size_t row, struct column *to, struct err *);

/* Replaces a table of nodes, one a row, by one of graphs: opts->graph names the column that says
 * which graph a node is of (rows of a graph need not stand together; graphs are in the order of
 * their first nodes); numbers and categories (one number a level) are the nodes', opts->target the
 * graph's own, the same in all of its nodes.  With opts->describe, columns of elements and x, y, z
 * become what is around each atom (nodes_describe).  FORMAT with row and graph. */
enum status nodes_gather(struct table **, const struct import_opts *, const struct ctl *,
                         struct err *);
/* The same from an array of three dimensions, read as a table of nodes x numbers columns;
 * opts->lengths: an NPY file with the nodes of each row, or NULL: all. */
enum status nodes_fold(struct table **, size_t numbers, const struct import_opts *,
                       const struct ctl *, struct err *);
/* opts->window, "column:12": one more column, with the values of the 12 rows before each;
 * "column:12:24" of the rows 24 to 13 before it, for forecasts further ahead.  The first rows have
 * none: missing. */
enum status nodes_window(struct table *, const struct import_opts *, struct err *);
/* Column j, lists of words with a blank between ("C O Cl"), as sets of nodes: a number for each
 * word, 1 or 0. */
enum { NODES_LABELS_MOST = 256 };
enum status nodes_labels(const struct table *, size_t j, struct column *to, struct err *);

#endif
