/* data/kinds/kind_nodes.c -- sets of nodes with numbers for each: graphs, molecules, stretches of a
 * time series. */
#include "data/kinds/kind.h"

#include "data/kinds/nodes.h"

/* Rows that are nodes become graphs; a column of numbers becomes its past values. */
static enum status gather(struct table **t, const struct import_opts *opts, const struct ctl *ctl,
                          struct err *err)
{
    enum status rc = ST_OK;

    if ((opts->describe != NULL && opts->graph == NULL) ||
        (opts->lengths != NULL && (*t)->depth == 0)) {
        err_set(err, ST_USAGE,
                opts->lengths != NULL
                    ? "lengths= belongs to an array of rows, nodes and numbers: this file "
                      "has no three dimensions"
                    : "describe= belongs to graph=COLUMN: the rows are atoms");
        return ST_USAGE;
    }
    if ((*t)->depth > 0)
        rc = nodes_fold(t, (*t)->depth, opts, ctl, err);
    if (rc == ST_OK && opts->graph != NULL)
        rc = nodes_gather(t, opts, ctl, err);
    return rc == ST_OK && opts->window != NULL ? nodes_window(*t, opts, err) : rc;
}

const struct row_kind kind_nodes = {
    .name = "nodes",
    .cells = &nodes_cells,
    .type = "sequence",
    .guess = sequence_is_labels,
    .claims = sequence_is_labels,
    .make = nodes_labels,
    .note = nodes_note,
    .gather = gather,
};
