/* data/molecules/smiles.h -- adds columns made from a column of SMILES to a table that was read
 * (fingerprint=, descriptors=). */
#ifndef GPDESK_SMILES_H
#define GPDESK_SMILES_H

#include "data/import_option.h"

extern const struct import_option smiles_options[];
/* True if the options ask for such columns. */
bool smiles_asked(const struct import_opts *);
/* types= as given, and the column of SMILES as text, so that it is not taken for a sequence of
 * letters; the caller frees it.  NOT_FOUND if there is no such column. */
enum status smiles_types(const struct table *, const struct import_opts *, char **types,
                         struct err *);
/* Adds the columns before that of the SMILES.  Molecules that cannot be read have missing cells;
 * they are counted in the notes, and the first three are named with their reasons. */
enum status smiles_append(struct table *, const struct import_opts *, const struct ctl *,
                          struct err *);

#endif
