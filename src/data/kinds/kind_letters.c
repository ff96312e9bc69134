/* data/kinds/kind_letters.c -- sequences of letters: proteins, DNA, RNA, words. */
#include "data/kinds/kind.h"

#include "data/kinds/sequence.h"

static enum status finish(struct table *t, const struct import_opts *opts, struct err *err)
{
    return sequence_unknown(t, opts->unknown, err);
}

const struct row_kind kind_letters = {
    .name = "letters",
    .cells = &sequence_cells,
    .type = "sequence",
    .guess = sequence_guess,
    .make = sequence_make,
    .note = sequence_note,
    .near_miss = sequence_note_blank,
    .finish = finish,
};
