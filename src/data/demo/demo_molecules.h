/* data/demo/demo_molecules.h -- generated molecules with a known energy of pairs, for demo.c. */
#ifndef GPDESK_DEMO_MOLECULES_H
#define GPDESK_DEMO_MOLECULES_H

#include "data/table.h"

enum { MOLECULES_KINDS = 4 };
#define MOLECULES_COLUMNS "mol element x y z energy atoms1 atoms2 atoms3 atoms4"
/* o->n molecules into a table with these columns: one row an atom, the molecule's energy and how
 * many atoms of each kind it has in each of its rows. */
enum status molecules_make(struct table *, const struct demo_opts *, struct err *);
/* Of n atoms, without noise. */
double molecules_energy(size_t n, const unsigned char *kind, const double (*at)[3]);

#endif
