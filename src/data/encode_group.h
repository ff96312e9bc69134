/* data/encode_group.h -- the encoded columns that come from one column of a table: what encode()
 * and the kinds of rows share while an encoding is applied. */
#ifndef GPDESK_ENCODE_GROUP_H
#define GPDESK_ENCODE_GROUP_H

#include "data/encoding.h"

struct layer_map;

struct encode_group {
    const struct row_kind *row;
    const struct column *c;
    size_t col;             /* of the table */
    size_t first, n;        /* of its numbers or levels in the encoding; n == 0: only a flag */
    bool empty;             /* all of its cells are missing in the table */
    size_t flag;            /* its ENC_MISSING; SIZE_MAX: none */
    struct column *own;     /* words of new data as cells of the kind: c points there */
    void *map;              /* what the kind found out (row_kind.map); NULL */

    /* Kinds with positions (kinds/positions.h). */
    bool windows;           /* the row of symbols or vectors itself */
    bool filters;           /* numbers that a layer makes of it */
    size_t room;            /* positions of a row that windows and filters read */
    size_t least;           /* a row with fewer positions counts as missing */
    struct layer_map *conv; /* filters */
};

#endif
