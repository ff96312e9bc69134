/* data/kinds/sequence.h -- columns of sequences: proteins, DNA, RNA, or words over any letters.
 *
 * The letters of a column lie one row after the other; a number for each letter (its symbol) is
 * made only when rows are encoded, and only for the rows in hand. */
#ifndef GPDESK_SEQUENCE_H
#define GPDESK_SEQUENCE_H

#include "data/table.h"

enum alphabet { ALPHABET_PROTEIN, ALPHABET_DNA, ALPHABET_RNA, ALPHABET_OTHER };
enum { SEQUENCE_LETTERS_MOST = 64 }; /* of an alphabet */

struct sequences {
    char *letters;              /* of all rows, each with a NUL behind it (spill.h) */
    size_t *at;                 /* n + 1: where a row begins; an empty one is missing */
    enum alphabet kind;
    char order[SEQUENCE_LETTERS_MOST + 1]; /* the letters of the alphabet in order */
    size_t shortest, longest;   /* of the rows that are not missing; 0: there are none */
    size_t common; /* letters with which all of these begin alike; at most longest - 1 */
    /* Letters that the alphabet does not have (X, -, * of proteins, N of DNA): how many rows hold
     * one, the first of these, and which letters they are. */
    size_t unknown_rows, unknown_first;
    char unknown[32];
    size_t *line; /* FASTA: the line on which the record of each row begins (spill.h); else NULL */
};

/* Column j (text or category) as sequences, into an empty column without a name.  Letters of
 * proteins, DNA and RNA become capitals.  Lists of single letters with a blank between ("0 0 1 2",
 * the labels of nodes) are sequences too.  FORMAT with the row: other blanks, too many letters. */
enum status sequence_make(const struct table *, size_t j, struct column *to, struct err *);
/* The same letters as they are, without an alphabet: new data for a model that has one. */
enum status sequence_words(const struct table *, size_t j, struct column *to, struct err *);
/* Is a column of words one of sequences, by its name and by every cell? */
bool sequence_guess(const struct table *, size_t j);
/* True for a column of words that by its name holds lists of labels, several letters each. */
bool sequence_is_labels(const struct table *, size_t j);
/* What a column of sequences is, in one line or two of notes. */
void sequence_note(const struct table *, const struct column *, struct buf *notes);
/* A warning for a column that has the name and the letters of sequences, but a blank in some cell:
 * that is hard to find by eye. */
void sequence_note_blank(const struct table *, size_t j, struct buf *notes);
/* What to do about rows whose sequence has letters outside its alphabet, as unknown= says: NULL or
 * "keep", they stay as they are; "missing", such a sequence counts as missing; the table's notes
 * tell of both.  "stop": FORMAT with the first row, its name and line, the letter and its place. */
enum status sequence_unknown(struct table *, const char *policy, struct err *);
/* Letters of n rows and where they begin are there: what alphabet they are of, and all else.
 * FORMAT: too many different letters. */
enum status sequences_judge(struct sequences *, size_t n, const char *column, struct err *);
void sequences_free(struct sequences *); /* NULL is fine */
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
/* Numbers for a position of such a sequence, one-hot: its letters, and for proteins one for every
 * other letter; unknown letters of other alphabets are none of them. */
size_t sequence_alphabet_channels(enum alphabet, const char *order);
/* code[c]: symbol of letter c, `channels` where it has none. */
void sequence_alphabet_codes(const char *order, size_t channels, uint8_t code[256]);

#endif
