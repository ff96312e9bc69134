/* data/encode_group.h -- the encoded columns that come from one column of a table: what encode()
 * and the kinds of rows share while an encoding is applied. */
#ifndef GPDESK_ENCODE_GROUP_H
#define GPDESK_ENCODE_GROUP_H

#include "data/encoding.h"

struct layer_map;
struct row_kind;

struct encode_group {
    const struct row_kind *row;
    const struct column *c;
    size_t col;             /* of the table */
    size_t first, n;        /* of its numbers or levels in the encoding; n == 0: only a flag */
    size_t flag;            /* its ENC_MISSING; SIZE_MAX: none */
    bool levels;
    enum enc_kind kind;     /* of its numbers */
    uint32_t *to;           /* table code -> level of the encoding; UINT32_MAX: never seen */
    double *value;          /* levels as numbers, when the table has numbers there */

    /* Kinds with positions: sequences and sets of nodes. */
    struct column *own;     /* words of new data as sequences: c points there */
    bool windows;           /* the row of symbols or vectors itself */
    size_t room;            /* positions of a row that windows and filters read */
    size_t least;           /* a row with fewer positions counts as missing */
    size_t *position;       /* ENC_LETTER: of each column, from 0 */
    unsigned char *letter;  /* ENC_LETTER: of each column */
    /* With numbers for letters, or of nodes: which of them; SIZE_MAX: how many nodes there are. */
    size_t *channel;
    size_t *from; /* of nodes: where each of the encoding's numbers stands in this table */
    uint8_t code[256];
    struct layer_map *conv;  /* ENC_FILTER */
};

#endif
