/* data/molecules/molecule_repeats.h -- which rows of a column of molecules have the same text, so
 * that each text is read once. */
#ifndef GPDESK_MOLECULE_REPEATS_H
#define GPDESK_MOLECULE_REPEATS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct molecule_repeats {
    size_t rows, n;    /* rows with a text; different texts */
    const char **text; /* n of them, in the order in which they first occur; they are not copied */
    size_t *of;        /* of each row: the number of its text; SIZE_MAX: a missing cell */
};
/* A number of a text that differs, as good as certainly, for any other; never 0. */
uint64_t molecule_repeats_number(const char *text, size_t length);
/* Finds the different texts of `rows` rows (NULL: a missing cell).  Its time grows with the number
 * of characters.  Free it after a failure, too. */
enum status molecule_repeats_find(struct molecule_repeats *, const char *const *text, size_t rows,
                                  struct err *);
void molecule_repeats_free(struct molecule_repeats *);

#endif
