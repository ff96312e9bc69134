/* data/kinds/letters.h -- numbers for the letters of sequences, instead of one-hot: substitution
 * scores, physico-chemical scales, or a table of the user. */
#ifndef GPDESK_LETTERS_H
#define GPDESK_LETTERS_H

#include "base/status.h"

#include <stddef.h>

enum { LETTERS_CHANNELS_MOST = 256 };
struct letters {
    char order[65];        /* the letters that have numbers */
    size_t channels;
    double *value;         /* `channels` numbers for each letter in order; freed by letters_free */
    const char *source;    /* the source of the numbers; "" for a file */
};
/* Finds "blosum62", "scales", or a table file with one column of single letters and otherwise
 * numbers. All numbers of a table are scaled by one factor so that two letters differ on average as
 * much as one-hot ones (squared distance 2), and lengthscales mean the same. NOT_FOUND, FORMAT. */
enum status letters_find(const char *word, struct letters *, struct err *);
void letters_free(struct letters *);
/* The k of "kmer3" and similar words: k letters together form a word; 0 for anything else. k is at
 * most LETTERS_KMER_MOST, with at most LETTERS_WORDS_MOST different words. */
enum { LETTERS_KMER_MOST = 8, LETTERS_WORDS_MOST = 65536 };
size_t letters_kmer(const char *word);

#endif
