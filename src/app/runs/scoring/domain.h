/* app/runs/scoring/domain.h -- how alike rows are to the nearest training row, and how errors,
 * predicted sd and coverage go with it: for counts and molecules by the kernel tanimoto, for
 * sequences by the share of positions with the same letter (share/doc/methods.md 11.14). */
#ifndef GPDESK_DOMAIN_H
#define GPDESK_DOMAIN_H

#include "app/core/job.h"
#include "app/core/run.h"
#include "app/shell/rec.h"
#include "figure/figure.h"

enum { DOMAIN_BINS = 20 };
struct domain_bin {
    double from, to;             /* of the similarity */
    size_t rows, train;          /* rows that were predicted; training rows, each left out */
    double square, sd2, guess2;  /* means: of squared errors, of squared sd, and of squared errors
                                  * of the training mean (NaN: unknown) */
    double coverage95;           /* NaN for two classes */
};
/* Rows that are in a pair of alike rows with very different targets (cliffs.h), and the others. */
struct domain_cliffs {
    bool have;
    double similar, difference; /* as `cliffs` has them by default */
    struct domain_bin in, out;  /* rows, and the means over them */
};
struct domain {
    char column[64];
    const char *by;              /* "tanimoto", "letters" */
    size_t rows, of, train;      /* rows compared, of so many */
    double median, train_median; /* similarities */
    size_t nbins;                /* ascending, from the first with a row to the last */
    struct domain_bin bin[DOMAIN_BINS];
    double below;                /* the model only guesses below this similarity; NaN: nowhere */
    struct domain_bin guessed;   /* the rows there */
    bool judged;                 /* there are rows enough to tell */
    struct domain_cliffs cliffs; /* of counts and molecules */
};
struct domain_ask {
    const struct dataset *data;
    const struct encoding *enc;
    /* One target each (scoring_prediction).  train: a sample of the training rows, of which only
     * rows and values are used. */
    const struct prediction *at, *train;
    const char *target; /* its column, where errors on cliffs are wanted; or NULL */
    struct job *job;
};
/* One for each input of the model that has such similarities, at most `most`, into out.  Returns
 * CANCELLED or NOMEM when it fails. */
enum { DOMAIN_COLUMNS = 4 };
enum status domain_measure(const struct domain_ask *, struct domain *out, size_t most, size_t *n,
                           struct err *);
/* True if the rows are about as alike to the training rows as these are to one another. */
bool domain_same(const struct domain *);
/* A sentence; the array "domain" and a table of bins in a record. */
void domain_words(const struct domain *, struct buf *);
void domain_tell(struct rec *, const struct domain *, size_t n);
/* Error, sd and coverage by similarity of n columns, at least one; y: the name of the target. */
struct figure *domain_figure(const struct domain *, size_t n, const char *run, const char *y,
                             struct err *);

#endif
