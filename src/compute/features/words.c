/* compute/features/words.c -- counts of words as features (words.h; share/doc/methods.md 4.11).
 *
 * Hashed, a word falls on a column and has a sign, both drawn for it by the counter-based generator
 * as it occurs (Weinberger et al. 2009): nothing is kept, and the same word has the same column in
 * every row, thread and session.  Products of two rows are unbiased, because the signs of two
 * different words that meet in a column are independent. */
#include "compute/features/words.h"

#include "compute/rng.h"

#include <math.h>
#include <string.h>

struct sum { const struct fm_term *t; double *z; };

static void add_numbered(void *ctx, uint64_t word, double weight)
{
    const struct sum *s = ctx;

    s->z[word] += weight;
}

static void add_hashed(void *ctx, uint64_t word, double weight)
{
    const struct sum *s = ctx;
    uint32_t bits[4];

    rng_u32x4(s->t->seed, s->t->stream, word, bits);
    s->z[(uint64_t)bits[0] * s->t->mf >> 32] += bits[1] & 1 ? -weight : weight;
}

/* In a product each column has a frequency or a sign of its own: the columns that the words leave
 * are copies of theirs, so that each word has many. */
static void copy_columns(size_t kinds, size_t columns, double *z)
{
    const size_t copies = columns / kinds;
    const double by = sqrt(1.0 / (double)copies);

    for (size_t j = 0; j < kinds; j++)
        z[j] *= by;
    for (size_t c = 1; c < copies; c++)
        memcpy(z + c * kinds, z, kinds * sizeof *z);
}

void words_row(const struct fm_term *t, const double *x, double *z)
{
    const struct layer_word_ops *of = t->windows->ops->words;
    const double kinds = of->kinds(t->windows);
    const bool numbered = kinds > 0.0 && kinds <= (double)t->mf;
    struct sum s = { t, z };

    memset(z, 0, t->mf * sizeof *z);
    of->each(t->windows, x, numbered, numbered ? add_numbered : add_hashed, &s);
    const double by = 1.0 / of->length(t->windows, x);
    for (size_t j = 0; j < t->mf; j++)
        z[j] *= by;
    if (numbered && t->nsteps > t->nsum)
        copy_columns((size_t)kinds, t->mf, z);
}
