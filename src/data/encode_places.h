/* data/encode_places.h -- where the cells of encoded rows lie in files. */
#ifndef GPDESK_ENCODE_PLACES_H
#define GPDESK_ENCODE_PLACES_H

#include "data/encode_group.h"

/* For rows row[0], row[1], .. (lent) of a table through its groups.  NULL: some of the cells are in
 * no file that is known, or are no numbers and categories. */
struct source_places *encode_places(const struct encoding *, const struct table *,
                                    const struct encode_group *, size_t ngroups,
                                    const size_t *row);
void encode_places_free(struct source_places *);

#endif
