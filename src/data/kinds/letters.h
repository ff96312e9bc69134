/* data/kinds/letters.h -- numbers for the letters of sequences, instead of one-hot: substitution
 * scores, physico-chemical scales, or a table of the user's. */
#ifndef GPDESK_LETTERS_H
#define GPDESK_LETTERS_H

#include "base/status.h"

#include <stddef.h>

enum { LETTERS_CHANNELS_MOST = 256 };
struct letters {
    char order[65];        /* the letters that have numbers */
    size_t channels;
    double *value;         /* of each letter in order, `channels` numbers; freed by letters_free */
    const char *source;    /* whose figures; "" for a file's */
};
/* "blosum62", "scales", or a table file: a column of single letters, the others numbers.  All
 * numbers of a table are scaled by one factor so that two letters differ as much as one-hot ones on
 * average (squared distance 2): lengthscales mean the same.  NOT_FOUND, FORMAT. */
enum status letters_find(const char *word, struct letters *, struct err *);
void letters_free(struct letters *);
/* "kmer3" and the like: the letters of a word together; 0: something else.  Up to LETTERS_KMER_MOST
 * of them, and so many different words. */
enum { LETTERS_KMER_MOST = 8, LETTERS_WORDS_MOST = 65536 };
size_t letters_kmer(const char *word);

#endif
