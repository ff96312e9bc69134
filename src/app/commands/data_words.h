/* app/commands/data_words.h -- describes a dataset as text and as JSON. */
#ifndef GPDESK_DATA_WORDS_H
#define GPDESK_DATA_WORDS_H

#include "app/shell/rec.h"
#include "data/dataset.h"

struct workspace;

/* The column of the first target; SIZE_MAX if there is none. */
size_t data_words_target_col(const struct dataset *);
/* "y1", "y1, y2", "y1, y2, y3 and 9 more"; "none". */
void data_words_target(const struct dataset *, struct buf *out);
/* "target": the name of the first target, or null; if there are several, also "targets" with all
 * names. */
void data_words_target_json(struct rec *, const struct dataset *);
/* Describes the inputs after encoding: a category gives one column for each level. */
size_t data_words_inputs(const struct dataset *);
/* The summary shown by `open`, `demo` and `use`. */
void data_words_text(const struct dataset *, struct rec *);
/* The likelihood follows the target, unless the command `likelihood` has said one: dirichlet of
 * words, otherwise gaussian; a note says so.  Call it where the target or its type may have
 * changed.  fresh: the target is a new one, whose numbers may be classes, which a note says. */
#define DATA_WORDS_ALPHA 0.01 /* of dirichlet unless alpha= says otherwise */
enum status data_words_classes(struct workspace *, struct dataset *, bool fresh,
                               struct err *);
/* New data whose inputs have one unit, as pixels do, are scaled by one sd: scale x=common, which a
 * note says.  (Others keep x=standard: an sd for each input.)  looks: those of the columns of the
 * table, which a job has taken because that reads cells; the caller frees them.  NULL: NOMEM. */
struct unit_look { double most; bool zero; }; /* largest of whole numbers from 0, NaN: others */
struct unit_look *data_words_looks(const struct table *, struct err *);
void data_words_units(struct workspace *, struct dataset *, const struct unit_look *looks);
/* Warns of inputs that give the target away. */
void data_words_leaks(struct workspace *, const struct dataset *);
/* Warns of molecules in both training and test rows; equal: tells of those in several rows, too. */
void data_words_molecules(struct workspace *, const struct dataset *, bool equal);

#endif
