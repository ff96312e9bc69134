/* data/molecules/smiles_syntax.h -- whether a text can be a SMILES, by its grammar alone: what a
 * column of SMILES is recognised by, and what stands in for RDKit where there is none.  Chemistry
 * is not looked at: a carbon with five bonds passes. */
#ifndef GPDESK_SMILES_SYNTAX_H
#define GPDESK_SMILES_SYNTAX_H

#include <stddef.h>

/* What is wrong with n characters, as part of a sentence, and at which of them, from 1 (0: at the
 * end); NULL: nothing.  Blanks around the text do not count as part of it. */
const char *smiles_syntax_wrong(const char *s, size_t n, size_t *at);

#endif
