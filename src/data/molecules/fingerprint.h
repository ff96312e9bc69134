/* data/molecules/fingerprint.h -- counts of molecules as a column: how they are made
 * (fingerprint=), and collecting them row by row. */
#ifndef GPDESK_FINGERPRINT_H
#define GPDESK_FINGERPRINT_H

#include "data/kinds/counts.h"
#include "data/molecules/lingo.h"
#include "molecules/protocol.h"

struct fingerprint {
    bool lingo;
    size_t length;            /* of the pieces of lingo */
    struct molecules_ask ask; /* of morgan */
    char name[64]; /* all settings, so that others make another column: "morgan2_1024_bits" */
};
/* Reads "lingo(length=4)" or "morgan(radius=2,size=0,values=counts|bits,chirality=no|yes,
 * salts=keep|largest)", of which every setting may be left out.  option: "fingerprint" of open or
 * "encoding" of cols, for the message.  USAGE, RANGE. */
enum status fingerprint_parse(const char *word, const char *option, struct fingerprint *,
                              struct err *);
/* Writes the settings as fingerprint_parse reads them. */
void fingerprint_words(const struct fingerprint *, struct buf *out);

struct fingerprint_rows {
    size_t n;
    size_t *from, *places; /* of each row, in count[] */
    bool *missing;         /* true until a row is added */
    struct count *count;
    size_t used, cap;
};
enum status fingerprint_rows_init(struct fingerprint_rows *, size_t n, struct err *);
/* Adds a row, in any order: places in ascending order with whole numbers, as 32-bit numbers. */
enum status fingerprint_rows_add(struct fingerprint_rows *, size_t row, size_t n,
                                 const unsigned char *places, const unsigned char *counts,
                                 struct err *);
/* Adds a row with counts as a column keeps them. */
enum status fingerprint_rows_copy(struct fingerprint_rows *, size_t row, size_t n,
                                  const struct count *, struct err *);
/* Makes a column of counts without a name, empty before. */
enum status fingerprint_rows_column(const struct fingerprint_rows *, struct column *to,
                                    struct err *);
void fingerprint_rows_free(struct fingerprint_rows *);

#endif
