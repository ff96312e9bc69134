/* data/kinds/nodes.h -- columns of sets of nodes with numbers for each node: graphs, molecules,
 * stretches of a time series. */
#ifndef GPDESK_NODES_H
#define GPDESK_NODES_H

#include "data/table.h"

struct nodes {
    size_t *at;       /* n + 1 offsets: where the word of a row begins; an empty one is missing */
    char *marks;      /* the words of all rows: a letter o for each node, and a NUL (spill.h) */
    size_t shortest, longest; /* lengths of the rows that are not missing; 0: there are none */
    size_t n, d;      /* nodes of all rows; numbers of each node */
    char **name;      /* one for each number */
    bool *flag;       /* 1 or 0 for a word: 0 in a table without it */
    double *v;        /* n x d (spill.h) */
    bool series;      /* positions have a meaning: earlier values, the last one at the end */
};
extern const struct cell_ops nodes_cells; /* columns of sets of nodes */
/* Describes a column of sets of nodes in one or two lines of notes. */
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
/* The numbers of the first node of a row. */
static inline const double *nodes_at(const struct nodes *o, size_t row)
{
    return o->v + (o->at[row] - row) * o->d;
}
/* A row as it is, and without each of its nodes: 1 + nodes_count rows, in an empty column without a
 * name. For a series, each value is replaced by the mean of the row instead. */
enum status nodes_leave_out(const struct nodes *, size_t row, struct column *to, struct err *);

/* Replaces a table with one node in each row by a table of graphs. opts->graph names the column
 * that says which graph a node belongs to; its rows need not be consecutive, and graphs are in the
 * order of their first nodes. Numbers and categories (one number for each level) belong to the
 * nodes. opts->target belongs to the graph and must be equal for all of its nodes. With
 * opts->describe, columns of elements and x, y, z become the description of the neighbourhood of
 * each atom. FORMAT names row and graph. */
enum status nodes_gather(struct table **, const struct import_opts *, const struct ctl *,
                         struct err *);
/* Does the same with an array of three dimensions, read as a table of nodes x numbers columns.
 * opts->lengths: an NPY file with the number of nodes of each row; NULL: all. */
enum status nodes_fold(struct table **, size_t numbers, const struct import_opts *,
                       const struct ctl *, struct err *);
/* opts->window "column:12" adds a column with the values of the 12 rows before each; "column:12:24"
 * those of rows 24 to 13 before it, for forecasts further ahead. The first rows have none and are
 * missing. */
enum status nodes_window(struct table *, const struct import_opts *, struct err *);
/* Converts column j, lists of words separated by a blank ("C O Cl"), to sets of nodes with a number
 * for each word, 1 or 0. */
enum { NODES_LABELS_MOST = 256 };
enum status nodes_labels(const struct table *, size_t j, struct column *to, struct err *);

#endif
