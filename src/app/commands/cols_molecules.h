/* app/commands/cols_molecules.h -- `cols encoding= descriptors= scaffold=` of columns of SMILES. */
#ifndef GPDESK_COLS_MOLECULES_H
#define GPDESK_COLS_MOLECULES_H

#include "app/shell/args.h"
#include "data/dataset.h"

struct workspace;

/* True if the arguments ask for something that is made from molecules of the columns named. */
bool cols_molecules_asked(const struct dataset *, const struct args *);
/* Checks the settings and starts a job that makes the columns and then changes the dataset. */
enum status cols_molecules_start(struct workspace *, const struct dataset *, const struct args *,
                                 struct err *);

#endif
