/* app/runs/words/word_profile.h -- the words of one row by position, of a fit whose kernel counts
 * words: at each position the sum of the weights of the words that cover it (share/doc/methods.md
 * 14.8).  Part of `explain-row`. */
#ifndef GPDESK_WORD_PROFILE_H
#define GPDESK_WORD_PROFILE_H

#include "app/shell/rec.h"
#include "compute/features/source.h"
#include "compute/kernels/kernel.h"
#include "figure/figure.h"

struct word_profile {
    bool placed;      /* words have places: a letter weighs otherwise at another position */
    size_t positions;
    const char *own;  /* the row's letters, and those that were tried; borrowed */
    const char *letter;
    size_t letters;
    char unit[64];
    double *weight;   /* positions: with the row's letters */
    double *with;     /* letters x positions: with another letter at the position */
};
/* What the kernel counts are words alone. */
bool word_profile_has(const struct kernel *);
/* rows: the row, then with each letter at each position, and last with an unknown letter at each
 * of them; mean: its function at these, in units of the target.  Fills weight and with; the caller
 * sets all else and frees it. */
enum status word_profile_make(const struct kernel *, const struct source *rows, const double *mean,
                              struct word_profile *, struct err *);
void word_profile_free(struct word_profile *);
/* "profile" and the line of text about it. */
void word_profile_record(const struct word_profile *, struct rec *);
/* The figure "profile". */
struct figure *word_profile_draw(const struct word_profile *, const char *title, struct err *);

#endif
