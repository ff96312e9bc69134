/* data/molecules/drawing.h -- a molecule as RDKit draws it, with the atoms that each count of its
 * fingerprint comes from: what explain-row leaves out atom by atom. */
#ifndef GPDESK_DRAWING_H
#define GPDESK_DRAWING_H

#include "data/kinds/counts.h"
#include "data/molecules/fingerprint.h"
#include "compute/ctl.h"

struct drawing_atom {
    char element[4];
    int charge, hydrogens;
    double x, y; /* in the plane, in lengths of a bond; y upwards */
};
struct drawing_bond { size_t a, b; int order; /* 4: aromatic */ };
/* The atoms at most `radius` bonds from one in the middle. */
struct drawing_environment { uint32_t place; size_t atom, radius; };
struct drawing {
    struct drawing_atom *atom;
    struct drawing_bond *bond;
    struct drawing_environment *environment;
    size_t atoms, bonds, environments, atom_cap, bond_cap, environment_cap;
};

/* Reads the text of a drawing (molecules/protocol.h) into an empty one. FORMAT. Free it after a
 * failure, too. */
enum status drawing_parse_for_tests(const char *text, struct drawing *, struct err *);
/* Asks RDKit for a molecule and the environments of a fingerprint that it makes. NOT_FOUND,
 * BACKEND, IO when there is no RDKit that works, with what to do. */
enum status drawing_read(const char *smiles, const struct fingerprint *, struct drawing *,
                         struct err *);
/* The same for n molecules (NULL: none), for none of which counts are needed; who cannot be read
 * has no atoms.  CANCELLED. */
enum status drawing_read_all(const char *const *smiles, size_t n, struct drawing *,
                             const struct ctl *, struct err *);
void drawing_free(struct drawing *);
/* The counts of all environments without this atom (SIZE_MAX: of all), by rising place, into an
 * array with room for as many as there are environments. bits: each is 1. Returns their number;
 * SIZE_MAX: NOMEM. */
size_t drawing_counts(const struct drawing *, size_t without, bool bits, struct count *,
                      struct err *);

#endif
