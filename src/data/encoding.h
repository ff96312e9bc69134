/* data/encoding.h -- from the cells of a table to the standardised numbers that compute reads:
 * fitted on training rows, stored with a run, applied to any table with columns of the same
 * names. */
#ifndef GPDESK_ENCODING_H
#define GPDESK_ENCODING_H

#include "data/table.h"
#include "compute/features/source.h"
#include "compute/kernels/kernel.h"

struct dataset;
struct encode_group;
struct row_kind;
enum missing_policy { MISSING_ERROR, MISSING_MEAN, MISSING_MEDIAN, MISSING_DROP };
enum y_scale { Y_STANDARD, Y_LOG, Y_NONE };
enum x_scale { X_STANDARD, X_NONE };

/* The encoding fitted on training rows: one-hot, missing, standardisation. Plain data + names.
 *
 * A cell of a kind of its own (kinds/kind.h) becomes what the kernel reads: numbers of the kind's
 * choice (ENC_CELL), values of filters (ENC_FILTER), or, for kernels over windows, a row of symbols
 * or vectors (source.h) behind all columns: d is then ncol, 1 and the room for the longest; col is
 * NULL where there are no others. */
enum enc_kind { ENC_REAL, ENC_LEVEL, ENC_MISSING, ENC_FILTER, ENC_CELL };
struct enc_col {
    char *column;             /* source column's name */
    enum enc_kind kind;       /* a number; 1 where the cell has the level; 1 where it is missing; a
                               * filter's value; a number of the kind of rows, */
    const struct row_kind *of; /* which is this, */
    unsigned number;           /* and the number of this sort (row_kind.numbers) */
    char *level;               /* ENC_LEVEL; ENC_CELL: which, in the kind's own words; else NULL */
    double mean, sd;          /* (x - mean) / sd; sd 1 for a (nearly) constant column */
    double fill;              /* missing becomes this before scaling */
    double limit;             /* encoded values are cut to -limit..limit; 0: never */
    bool constant;            /* nearly constant on training rows: always encoded as 0 */
};
/* What is kept of a column of a kind of its own. */
struct enc_held {
    char *column;             /* NULL: nothing is */
    const struct row_kind *kind; /* of that column; not NULL where column is not */
    void *state;              /* the kind's own: row_kind.state_bytes */
    struct layer layer;       /* that reads it, with channels; ops NULL: none */
    uint64_t seed;            /* of the filters */
    size_t inputs;            /* windows: numbers of a row of symbols or vectors in training */
};
struct enc_target { char *name; double mean, sd, own; };     /* own: as yown */
struct encoding {
    size_t d;                 /* numbers of a row */
    size_t ncol; struct enc_col *col; /* those that are columns: the first of a row */
    /* Of each kernel of the expression, where they read columns of their own: the first, and how
     * many; nparts 0: all read all. */
    size_t nparts; struct enc_part { size_t first, n; } part[KERNEL_MAX_TERMS];
    struct enc_held held;
    char *target; enum y_scale yscale;
    char *weight;             /* column of the rows' weights; NULL: all 1 */
    double ymean, ysd;        /* of y, or of log y */
    /* The sd of y itself over the training rows, whatever the scale: what scaled scores are divided
     * by.  0: not known, as in sessions of earlier versions. */
    double yown;
    size_t nmore;
    struct enc_target *more; /* further targets, in the order of the table's columns */
    enum missing_policy missing;
};
/* Statistics over the training rows (without those that the policy drops). Appends what was decided
 * to notes as lines "note[name]: text". Fails on a constant target, log of y <= 0, missing cells
 * under MISSING_ERROR. */
enum status encoding_fit(const struct dataset *, const size_t *train, size_t ntrain,
                         struct encoding *out, struct buf *notes, struct err *);
void encoding_free(struct encoding *);
/* Fixes in a kernel what the encoding makes of rows (kernel_bind_rows, _flat, _inputs), not its
 * lengthscales; one that was bound to no rows also gets its filters (kernel_choose_filters). */
enum status encoding_bind(const struct encoding *, struct kernel *, struct err *);
size_t encoding_targets(const struct encoding *);
/* The encoding as if target j were its only one: lent, for whatever looks at one target. */
struct encoding encoding_for(const struct encoding *, size_t j);
/* Target j by name; NULL or "": the first.  NOT_FOUND names them. */
enum status encoding_find(const struct encoding *, const char *name, size_t *j, struct err *);
enum status encoding_copy(struct encoding *dst, const struct encoding *src, struct err *);
char *encoding_to_json(const struct encoding *, struct err *);   /* for the session; caller frees */
enum status encoding_from_json(const char *json, struct encoding *out, struct err *);

/* Rows whose cells hold what training had nowhere, or not at that place: how many, the first, and
 * the kind that knows how to tell of it; NULL: there are none. */
struct strange_rows {
    const struct row_kind *kind;
    size_t n, first;
    bool place;
};
/* Rows of a table through an encoding: a source that owns an n x d matrix, or makes its rows anew.
 * rows: which, n of them (NULL: all rows of the table, n is not looked at). Columns are found by
 * name. Missing cells and levels never seen in training follow the policy: an error, their mean, or
 * the row is dropped; both are counted. want_y: rows without a target are dropped (an error under
 * MISSING_ERROR), several targets as one; y stays NULL when the table has no such columns (new
 * data). Row i of the source is row[i] of the table. */
struct encoded {
    struct source base;
    double *x;               /* n x d; NULL: see below */
    size_t t;                /* targets */
    double *y;               /* t vectors of n, scaled; NULL */
    double *yraw;            /* t vectors of n, units of the target; NULL */
    double *row_scale;       /* n, roots of the weights, also in base; NULL: all 1, or no such
                                column in this table (new data) */
    size_t *row; size_t n;   /* table row of each */
    size_t missing_cells, unseen_levels, dropped;
    struct strange_rows strange; /* of new data (not want_y) */
    size_t cut;              /* values beyond enc_col.limit */
    /* Where x does not fit in memory it is NULL, and rows are encoded as they are asked for: the
     * encoding and the table then outlive this. */
    const struct encoding *enc;
    const struct table *table;
    struct encode_group *group; size_t ngroup;
};
enum status encode(const struct encoding *, const struct table *, const size_t *rows, size_t n,
                   bool want_y, struct encoded *out, struct err *);
void encode_free(struct encoded *);
/* Back to units of the target: mean and sd of a Gaussian in scaled units. Under log the median-
 * based mean exp(m + v/2) and its sd are returned, and q(p) quantiles are exact. var NULL (a fit
 * without variances): no sd is written, and under log the mean is the median exp(m). */
/* One value in scaled units, in units of the target: maps quantiles exactly. */
double encoding_value(const struct encoding *, double scaled);
void encoding_unscale(const struct encoding *, size_t n, const double *mean, const double *var,
                      double *out_mean, double *out_sd);

#endif
