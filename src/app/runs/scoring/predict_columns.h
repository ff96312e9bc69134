/* app/runs/scoring/predict_columns.h -- the columns that `predict` can write: a table with a row
 * for each, and a choice of them.
 *
 * To add a column, add its function and its row in predict_columns.c. Parsing, completion, the
 * default columns, the header of the file and the result in JSON all use the row. */
#ifndef GPDESK_PREDICT_COLUMNS_H
#define GPDESK_PREDICT_COLUMNS_H

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct scoring;
struct table;
struct words_row;

enum {
    PREDICT_DEFAULT = 1,  /* written when columns= is not given */
    PREDICT_VARIANCE = 2, /* exists only where the fit has variances */
    PREDICT_OBSERVED = 4, /* needs the observed value of the target */
    PREDICT_NUMBER = 16,  /* of a number; */
    PREDICT_CLASS = 32,   /* of two classes; */
    PREDICT_LABEL = 64,   /* of several classes; with none of these three, of all */
    PREDICT_SET = 128,    /* needs a model with prediction sets */
    PREDICT_ONCE = 8,     /* one column for the row; all others have one for each target */
};
struct predict_column {
    const char *name, *about;
    unsigned flags;
    /* The value of target j in prediction i (units of the target); NaN leaves the cell empty. */
    double (*value)(const struct scoring *, size_t j, size_t i);
    /* Instead of `value`: writes the cells of prediction i (i SIZE_MAX: the names), each with a
     * comma before it. */
    void (*write)(const struct scoring *, const struct table *, size_t i, struct buf *out);
};

/* A choice of columns, in the order in which they are written. Plain data. */
enum { PREDICT_COLUMNS_MOST = 32 };
struct predict_columns {
    const struct predict_column *at[PREDICT_COLUMNS_MOST];
    size_t n;
};
/* Reads "id,y,mean". list NULL: the default columns. of: what is predicted, PREDICT_NUMBER, _CLASS
 * or _LABEL; columns of the others do not exist then. ids: columns are named by
 * id=, so that they come first where the list does not say where. NOT_FOUND for an unknown name,
 * with the nearest ones; USAGE for a repeated or an empty one. */
enum status predict_columns_parse(const char *list, unsigned of, bool ids,
                                  struct predict_columns *out, struct err *err);
/* True if one of them has any of these flags. */
bool predict_columns_need(const struct predict_columns *, unsigned flags);
/* Drops those that need variances, for a fit without. */
void predict_columns_without_variance(struct predict_columns *);

/* The cells of ids that a spreadsheet would take for formulas. */
size_t predict_columns_formulas(const struct scoring *, const struct table *);

/* Names of the columns in command lines, for completion and help. */
extern const struct words_row predict_columns_words;

#endif
