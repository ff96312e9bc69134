/* compute/kernels/layers/wordlist.h -- what kernels share that count words and multiply the counts
 * of two sequences: spectrum, mismatch, gappy.  Each says which words a sequence has
 * (layer_ops.words); values, tiles and numbers of words are made here. */
#ifndef GPDESK_WORDLIST_H
#define GPDESK_WORDLIST_H

#include "compute/kernels/kernel.h"
#include "compute/kernels/layers/layer.h"

/* The letters of which words are made: 0 to this, less one.  The symbol for letters outside the
 * alphabet (X of proteins) is none of them. */
static inline uint64_t wordlist_letters(const struct layer *l)
{
    return l->channels - l->others;
}
/* Words of k letters as numbers to that base: how many different ones there can be (with
 * strands=both a word and its reverse complement are one); the lesser of a word and its reverse
 * complement, where these are one; and the number of that among those. */
double wordlist_kinds(const struct layer *, size_t k);
uint64_t wordlist_strand(const struct layer *, uint64_t word, size_t k);
uint64_t wordlist_number(const struct layer *, uint64_t word, size_t k);

/* layer_ops.exact, layer_ops.tile and layer_word_ops.length of words that weigh 1. */
double wordlist_exact(const struct kterm *, const double *hp, const double *x, const double *y,
                      double *grad);
extern const struct layer_tile_ops wordlist_tile;
double wordlist_length(const struct layer *, const double *x);
/* kernel_ops.pair and kernel_ops.hparams of what stands inside, which is never evaluated: the layer
 * compares whole sequences. */
double wordlist_pair(const double *params, const double *hp, size_t nl, size_t d, const double *x,
                     const double *y, double *grad);
extern const struct hparam wordlist_hparams[];
/* The words of norm= and strands=, and the rows of their settings (NORM also for wd). */
extern const char *const wordlist_norms[], *const wordlist_strands[];
#define WORDLIST_NORM                                                                              \
    { .name = "norm", .offset = offsetof(struct layer, cosine), .words = wordlist_norms,           \
      .expected = "none or cosine", .quiet = true }
#define WORDLIST_STRANDS                                                                           \
    { .name = "strands", .offset = offsetof(struct layer, strands), .words = wordlist_strands,     \
      .expected = "one or both", .quiet = true }

#endif
