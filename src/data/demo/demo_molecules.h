/* data/demo/demo_molecules.h -- generated molecules with a known pair energy, for demo.c. */
#ifndef GPDESK_DEMO_MOLECULES_H
#define GPDESK_DEMO_MOLECULES_H

#include "data/table.h"

enum { MOLECULES_KINDS = 4 };
#define MOLECULES_COLUMNS "mol element x y z energy atoms1 atoms2 atoms3 atoms4"
/* Writes o->n molecules into a table with these columns: one row for each atom, with the energy of
 * its molecule and the number of atoms of each kind. */
enum status molecules_make(struct table *, const struct demo_opts *, struct err *);
/* The energy of n atoms without noise. */
double molecules_energy(size_t n, const unsigned char *kind, const double (*at)[3]);

#endif
