/* app/runs/words/word_repeats.h -- tells where a few rows of a kernel of words outweigh all others,
 * because they are long or repeat themselves. */
#ifndef GPDESK_WORD_REPEATS_H
#define GPDESK_WORD_REPEATS_H

#include "base/buf.h"
#include "compute/kernels/kernel.h"
#include "data/encoding.h"

/* Worker: adds note[repeats], which names norm=cosine, where the largest k(x, x) of the training
 * rows, at amplitude 1, is far above the median; nothing for other kernels. */
enum status word_repeats_note(const struct kernel *, const struct encoded *, struct buf *notes,
                              struct err *);

#endif
