/* data/kinds/sequence.h -- columns of sequences: proteins, DNA, RNA, or words over any letters,
 * which are bytes: texts, too, whose blanks are letters.
 *
 * The letters of a column are stored one row after the other. A number for each letter (its symbol)
 * is computed only when rows are encoded, and only for those rows. */
#ifndef GPDESK_SEQUENCE_H
#define GPDESK_SEQUENCE_H

#include "data/table.h"

enum alphabet { ALPHABET_PROTEIN, ALPHABET_DNA, ALPHABET_RNA, ALPHABET_OTHER };
enum { SEQUENCE_LETTERS_MOST = 255 }; /* in an alphabet: all bytes but NUL */

struct sequences {
    char *letters;              /* those of all rows, each row followed by a NUL (spill.h) */
    size_t *at;                 /* n + 1 offsets: where a row begins; an empty row is missing */
    enum alphabet kind;
    char order[SEQUENCE_LETTERS_MOST + 1]; /* the letters of the alphabet in order */
    size_t shortest, longest;   /* lengths of the rows that are not missing; 0: there are none */
    size_t common; /* number of letters with which all of these begin alike; at most longest - 1 */
    /* Letters that the alphabet does not have (X, -, * of proteins, N of DNA): how many rows
     * contain one, the first of these rows, and which letters they are. */
    size_t unknown_rows, unknown_first;
    char unknown[32];
    /* FASTA: the line on which the record of each row begins (spill.h); otherwise NULL. */
    size_t *line;
};

/* Converts column j (text or category) to sequences, into an empty column without a name. Letters
 * of proteins, DNA and RNA become capitals. Lists of single letters separated by blanks ("0 0 1 2",
 * the labels of nodes) are sequences, too. Texts keep their blanks; FORMAT names the row where a
 * few blanks are in words of DNA, RNA or proteins. */
enum status sequence_make(const struct table *, size_t j, struct column *to, struct err *);
/* Converts the letters as they are, without an alphabet: new data for a model that has one. */
enum status sequence_words(const struct table *, size_t j, struct column *to, struct err *);
/* True if a column of words is one of sequences, by its name and by every cell. */
bool sequence_guess(const struct table *, size_t j);
/* True for a column of words whose name says that it holds lists of labels, several letters
 * each. */
bool sequence_is_labels(const struct table *, size_t j);
/* Describes a column of sequences in one or two lines of notes. */
void sequence_note(const struct table *, const struct column *, struct buf *notes);
/* Warns of a column that has the name and the letters of sequences but a blank in some cell, which
 * is hard to find by eye. */
void sequence_note_blank(const struct table *, size_t j, struct buf *notes);
/* Handles rows whose sequence has letters outside its alphabet, as unknown= says. NULL or "keep":
 * they stay unchanged. "missing": such a sequence counts as missing. The table's notes report both.
 * "stop": FORMAT names the first such row with its name and line, the letter and its position. */
enum status sequence_unknown(struct table *, const char *policy, struct err *);
/* Given the letters of n rows and their offsets, determines the alphabet and everything else. */
void sequences_judge(struct sequences *, size_t n);
void sequences_free(struct sequences *); /* NULL is allowed */
extern const struct cell_ops sequence_cells;

/* The sequences of a column that has them. */
static inline struct sequences *sequence_of(const struct column *c)
{
    return c->held;
}
static inline const char *sequence_at(const struct sequences *s, size_t row, size_t *len)
{
    *len = s->at[row + 1] - s->at[row] - 1;
    return s->letters + s->at[row];
}

const char *sequence_alphabet_name(enum alphabet);
/* How many numbers a position of such a sequence has when one-hot: one for each letter and, for
 * proteins, one for every other letter; unknown letters of other alphabets have none. */
size_t sequence_alphabet_channels(enum alphabet, const char *order);
/* code[c]: the symbol of letter c; `channels` if it has none. */
void sequence_alphabet_codes(const char *order, size_t channels, uint8_t code[256]);

#endif
