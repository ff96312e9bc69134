/* data/molecules/molecules.h -- molecules from SMILES, by RDKit in processes of gpdesk-molecules:
 * fingerprints, canonical SMILES, descriptors, scaffolds.
 *
 * A text that nobody can read in reasonable time or memory is an ordinary case: its process is
 * killed, the molecule is told apart from the others with a reason, and another process goes on. */
#ifndef GPDESK_MOLECULES_H
#define GPDESK_MOLECULES_H

#include "base/status.h"
#include "compute/ctl.h"
#include "molecules/protocol.h"

#include <stddef.h>

enum molecule_state {
    MOLECULE_READ,
    MOLECULE_WRONG,   /* it is no SMILES, or no molecule that there can be */
    MOLECULE_SLOW,    /* reading it takes longer than allowed */
    MOLECULE_LARGE,   /* it takes more memory than allowed, or is too long a text */
    MOLECULE_CRASHED, /* the process that read it ended, twice */
};

/* What was found out about a molecule; unless it was read, only state and reason. */
struct molecule {
    enum molecule_state state;
    size_t pairs;                         /* of its fingerprint, by rising place */
    const unsigned char *places, *counts; /* molecules_number */
    const double *descriptor;             /* MOLECULES_DESCRIPTORS of them, if asked for */
    const char *canonical, *scaffold;     /* "" unless asked for; a chain has the scaffold "" */
    const char *drawn;                    /* "" unless asked for (drawing.h) */
    size_t fragments;                     /* parts that are not bonded to each other */
    const char *reason;                   /* "" if it was read; else part of a sentence */
};

struct molecules_limits {
    double seconds; /* of processor time for a molecule; 0: 2 */
    size_t memory;  /* bytes of address space of a process; 0: 2 GiB */
    size_t helpers; /* processes at a time, at most MOLECULES_HELPERS_MOST; 0: 1 */
};
enum { MOLECULES_HELPERS_MOST = 64 };

struct molecules_list {
    size_t n;
    void *ctx;
    const char *(*text)(void *ctx, size_t i, size_t *length); /* may contain any bytes */
    /* Takes what was found about molecule i, in the order of the answers.  The molecule and what
     * it points to last only for the call. */
    enum status (*take)(void *ctx, size_t i, const struct molecule *, struct err *);
};

/* Reads every molecule of a list.  Beside the failures of take: NOT_FOUND, BACKEND, IO when there
 * is no gpdesk-molecules that works, with what to do; CANCELLED; RANGE for settings that cannot
 * be. */
enum status molecules_read(const struct molecules_list *, const struct molecules_ask *,
                           const struct molecules_limits *, const struct ctl *, struct err *);
/* The version of RDKit, as "2022.09.3". NOT_FOUND, BACKEND, IO as above. */
enum status molecules_version(char *out, size_t len, struct err *);

#endif
