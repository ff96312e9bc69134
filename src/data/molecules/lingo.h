/* data/molecules/lingo.h -- LINGO counts of a SMILES: how often each piece of its text occurs
 * (Vidal, Thormann and Pons, J. Chem. Inf. Model. 45, 2005).  They need no chemistry. */
#ifndef GPDESK_LINGO_H
#define GPDESK_LINGO_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { LINGO_LENGTH_MOST = 16 };

struct lingo {
    uint32_t *place, *count; /* `n` of each, by rising place */
    size_t n, places_cap, counts_cap;
};
/* The pieces of `length` letters of a text.  Chlorine and bromine are one letter, a digit that
 * closes a ring is 0, and so is a ring number of two digits with its %; what stands in brackets
 * keeps its digits.  A text of fewer letters is one piece.  The place of a piece of up to four
 * letters is the letters themselves, so that no two pieces share one; that of a longer piece is a
 * hash.  Keeps the storage of *out for the next text.  RANGE: a length of 0 or above
 * LINGO_LENGTH_MOST. */
enum status lingo_counts(const char *text, size_t n, size_t length, struct lingo *out,
                         struct err *);
void lingo_free(struct lingo *);

#endif
