/* app/runs/movable.h -- a fitted run, a sample of its rows and the columns that can be replaced in
 * them: what `effects`, `importance` and `explain-row` begin with.
 *
 * The inputs that come from one column move together: the levels of a category, the numbers of a
 * cell, and columns that were computed from it alone (`season`, `let`). */
#ifndef GPDESK_MOVABLE_H
#define GPDESK_MOVABLE_H

#include "app/core/job.h"
#include "app/core/workspace.h"
#include "compute/stats/effects.h"

enum movable_kind { MOVABLE_NUMBER, MOVABLE_LEVELS, MOVABLE_OTHER };
struct movable_column {
    char *name;   /* of the column, or of the group */
    bool *moves;  /* movable_inputs flags: columns of the encoding, then the parts of a row */
    size_t at;    /* its column of the table; SIZE_MAX: several (a group) */
    enum movable_kind kind;
    size_t first, last; /* positions of a sequence, from 1; 0: none */
    size_t from, to;    /* further inputs that move: from to to - 1 of a row */
};
/* Rows, encoded: x is n x d; the encoding says which row of the table each is. */
struct movable_rows { struct encoded e; double *x; };
struct movable {
    struct dataset *data;
    struct encoding enc;
    struct model *model;
    char run[16];
    size_t target;
    enum part part;       /* of the sample: test rows, else validation, else training */
    size_t available;     /* complete rows of that part may be fewer */
    struct movable_rows sample, train;
    struct movable_column *col;
    size_t ncol;
};

/* The number of columns and of parts of a row that an encoding has. */
size_t movable_inputs(const struct encoding *);
/* Main thread: takes what a job needs of a fit. STATE if the run has no model, or its data are not
 * loaded; movable_take: UNSUPPORTED for several classes, which have a function each. target: a
 * name, or NULL. by_group: columns of one named group move together. Free it with movable_free, on
 * failure too. */
enum status movable_take(struct movable *, const struct run *, const char *target, bool by_group,
                         struct err *);
enum status movable_take_any(struct movable *, const struct run *, const char *target,
                             bool by_group, struct err *);
void movable_free(struct movable *);
/* Instead of columns: each position of the sequences that the model reads, or each `window` of them
 * (0: as many as make about fifty), and each number that is a mean over nodes; columns that are no
 * sequences stay. UNSUPPORTED if positions have no meaning, RANGE. */
enum status movable_positions(struct movable *, size_t window, struct err *);
void movable_drop_columns(struct movable *);
/* The column of this name, or the one that moves this column of the table; SIZE_MAX: none. */
size_t movable_find(const struct movable *, const char *name);
/* NOT_FOUND with the nearest names. */
enum status movable_unknown(const struct movable *, const char *name, struct err *);

/* Worker: draws at most `rows` of the held-out rows (without any, of the training rows), by the
 * run's seed, into `sample`. */
enum status movable_sample(struct movable *, size_t rows, struct err *);
/* UNSUPPORTED if rows of the sample differ in length where position is counted from the first. */
enum status movable_positions_agree(const struct movable *, struct err *);
/* At most 4000 training rows, into `train`: donors. first: a row of the table that comes first and
 * may be of any part; SIZE_MAX: none. */
enum status movable_donors(struct movable *, size_t first, struct err *);
/* The flags of column c for rows of d inputs; the caller frees them. */
bool *movable_mask(const struct movable *, size_t c, size_t d, struct err *);
/* The question to a model, in terms of the sample. on is borrowed. */
struct effects_ask movable_ask(const struct movable *, const struct tools *on);
/* The cell of a row of the table in column c, a number or a word; "" for groups and cells of
 * special kinds. */
void movable_cell(const struct movable *, size_t c, size_t row, struct buf *out);
/* The same with few digits, for text and pictures. */
void movable_show(const struct movable *, size_t c, size_t row, struct buf *out);
/* The same as a field of a CSV file. */
void movable_csv(const struct movable *, size_t c, const char *cell, struct buf *out);
/* Main thread: says in a note how many predictions a job makes at most, and about how long they
 * and `pairs` further values of the kernel take. always: also where that is not felt. */
void movable_tell_cost(struct workspace *, const struct movable *, double predictions,
                       double pairs, bool always);
/* "200 of 3000 test rows" */
void movable_words(const struct movable *, struct buf *out);

#endif
