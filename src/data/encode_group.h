/* data/encode_group.h -- the encoded columns that come from one column of a table: what encode()
 * and the kinds of rows share while an encoding is applied. */
#ifndef GPDESK_ENCODE_GROUP_H
#define GPDESK_ENCODE_GROUP_H

#include "data/encoding.h"

struct layer_map;

struct encode_group {
    const struct row_kind *row;
    const struct enc_held *held; /* what the encoding keeps about the column; NULL: nothing */
    const struct column *c;
    size_t col;             /* index in the table */
    /* Range of its numbers or levels in the encoding; n == 0: only a flag. For windows the first
     * number of its part of a row. */
    size_t first, n;
    bool empty;             /* the column is missing in every row of the table */
    size_t flag;            /* index of its ENC_MISSING; SIZE_MAX: none */
    struct column *own;     /* words of new data converted to cells of the kind; c points to it */
    void *map;              /* what the kind has prepared (row_kind.map); NULL: nothing */

    /* Kinds with positions (kinds/positions.h). */
    bool windows;           /* it is a part of the row, of symbols, vectors or counts */
    size_t told;            /* where the row says that the part begins; SIZE_MAX: nowhere */
    bool filters;           /* numbers that a layer computes from it are read */
    size_t room;            /* positions of a row that windows and filters read */
    size_t least;           /* a row with fewer positions counts as missing */
    struct layer_map *conv; /* filters */
};

#endif
