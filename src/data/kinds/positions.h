/* data/kinds/positions.h -- what kernels over windows and static filters read of a row: its
 * positions, one after the other, as symbols or vectors (row_layout.h). Kinds of rows that have
 * positions say what is at each (row_kind.positions); the rest is the same for all of them. */
#ifndef GPDESK_POSITIONS_H
#define GPDESK_POSITIONS_H

#include "data/encode_group.h"
#include "data/encoding_column.h"
#include "data/kinds/kind.h"

/* How many numbers a position of a row has: 1, a symbol, or one for each channel of the layer. */
size_t positions_numbers(const struct enc_held *);

/* Fitting. Determines what is at a position of column c, once for all layers that read it alike;
 * layer NULL: for kernels of columns. *held points to it until the next is added. */
enum status positions_fit(struct encoding_fitting *, const struct row_kind *,
                          const struct column *c, const struct layer *, struct enc_held **held);
/* Adds the positions themselves, for a kernel over windows: *at is their index in encoding.held. */
enum status positions_fit_windows(struct encoding_fitting *, const struct row_kind *,
                                  const struct column *c, const struct layer *, size_t *at);
/* Adds a column for each filter. */
enum status positions_fit_filters(struct encoding_fitting *, const struct row_kind *,
                                  const struct column *c, const struct layer *);
/* Sets drop[i] for the training rows that have no window of `width` positions (0: no layer reads
 * them). Such rows have no mean, so without missing=drop the first of them is an error. */
enum status positions_lost(struct encoding_fitting *, const struct row_kind *,
                           const struct column *, size_t width, const size_t *train, size_t n,
                           bool *drop);
/* STATE: the error for a row with fewer positions than `width`. */
enum status positions_too_short(const struct row_kind *, const struct table *,
                                const struct column *, size_t row, size_t width, struct err *err);

/* Applying. Sets g->least, the number of positions that a row needs. */
void positions_map(struct encode_group *);
/* For windows and filters: allocates room for the longest of rows[0..n) (NULL: of the first n), and
 * makes the filters. */
enum status positions_map_windows(const size_t *rows, size_t n, struct encode_group *,
                                  struct err *);
/* Parses "39#2", number 2 of position 39, both counted from 1, as encodings store it. Returns false
 * for anything else. */
bool positions_level(const char *level, size_t *position, size_t *number);
void positions_free(struct encode_group *); /* frees its filters */
enum cell_state positions_judge(const struct encoding *, const struct encode_group *, size_t row);
/* x: the numbers of the row, from its first on. */
enum status positions_encode(const struct encoding *, const struct encode_group *, size_t row,
                             double *x, size_t *cut, struct err *err);

#endif
