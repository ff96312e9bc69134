/* app/runs/words/word_list.h -- the words that occur in the training rows of a fit whose kernel
 * counts words, and what the fit makes of each: its latent function at a row that holds this word
 * and nothing else (share/doc/methods.md 14.7).  Under `words` and `motif`. */
#ifndef GPDESK_WORD_LIST_H
#define GPDESK_WORD_LIST_H

#include "app/runs/movable.h"

/* Where a word stands: its letters in a training row (`letters` of them from `at` on), from which
 * position on, and whether it is read as its reverse complement.  Of a pair of words `gap` letters
 * from `half` on may be any. */
struct word_at {
    const double *at;
    size_t letters, place, row;
    double last;
    bool back;
    size_t half, gap;
};
/* One word: its places (word_list.at[first] and those behind it, by row), in how many rows it
 * occurs and in how many of the upper half of the target. */
struct word { size_t first, places, rows, upper; double weight, sd; };
struct word_list {
    struct movable m;   /* the run; its columns are not used */
    bool placed;        /* the kernel compares by place: a word at another place is another one */
    bool strands;       /* and a word and its reverse complement are one */
    bool deviations;    /* the fit has variances */
    struct encoded e;   /* the training rows, and all their numbers */
    double *x;
    bool *upper;        /* per training row: the positive class, or a target above the median */
    size_t rows_upper;
    struct word_at *at;
    size_t nat;
    struct word *word;
    size_t n;
};
/* Main thread: takes the run.  UNSUPPORTED unless its kernel is one that counts words.  Free it
 * with word_list_free, on failure too. */
enum status word_list_take(struct word_list *, const struct run *, const char *target,
                           struct err *);
void word_list_free(struct word_list *);
/* Worker: all words of `from` to `to` letters; 0, 0: those of the kernel. */
enum status word_list_find(struct word_list *, size_t from, size_t to, struct err *);
/* Worker: the weights of n words (which: their indices, NULL: the first n), with sd also their
 * posterior sds; of regressions in units of the target (of its logarithm where that is fitted). */
enum status word_list_weigh(struct word_list *, const size_t *which, size_t n, bool sd,
                            struct job *, struct err *);
/* The letters of the shortest words that the kernel counts. */
size_t word_list_shortest(const struct word_list *);
/* The number of a letter of a word at one of its places (SIZE_MAX: any letter), and the letters of
 * the alphabet. */
size_t word_list_letter(const struct word_at *, size_t j);
const char *word_list_alphabet(const struct word_list *);
void word_list_text(const struct word_list *, const struct word_at *, struct buf *out);
/* "latent units", "log of y" or the target's name. */
void word_list_unit(const struct word_list *, struct buf *out);

#endif
