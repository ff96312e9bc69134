/* data/encoding.h -- converts the cells of a table to the standardised numbers that compute reads.
 * An encoding is fitted on training rows, stored with a run, and applied to any table that has
 * columns of the same names. */
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
enum x_scale { X_STANDARD, X_NONE, X_COMMON };
/* Their words in commands, records and sessions, in the order of the enumerations; NULL ends. */
extern const char *const encoding_missing_words[], *const encoding_yscale_words[],
    *const encoding_xscale_words[];

/* The encoding fitted on training rows: one-hot levels, missing cells, standardisation. It is plain
 * data and names.
 *
 * A cell of a special kind (kinds/kind.h) becomes what the kernel reads: numbers chosen by the kind
 * (ENC_CELL), values of filters (ENC_FILTER) or, for kernels over windows, a part of the row behind
 * all columns, of symbols, vectors or counts (row_layout.h). Then d has room for the longest cell
 * of each such column, and col is NULL if there are no columns. */
enum enc_kind { ENC_REAL, ENC_LEVEL, ENC_MISSING, ENC_FILTER, ENC_CELL };
struct enc_col {
    char *column;             /* name of the source column */
    /* a number; 1 if the cell has the level; 1 if it is missing; the value of a filter; a number of
     * the kind of rows,. */
    enum enc_kind kind;
    const struct row_kind *of; /* which is this one, */
    unsigned number;           /* and the sort of its number (row_kind.numbers) */
    char *level;   /* ENC_LEVEL and ENC_CELL: which one, in the words of the kind; otherwise NULL */
    double mean, sd;    /* the value is (x - mean) / sd; sd is 1 for a (nearly) constant column */
    double fill;              /* replaces a missing value, before scaling */
    double limit;             /* encoded values are limited to -limit..limit; 0: unlimited */
    bool constant;            /* (nearly) constant on the training rows, so always encoded as 0 */
};
/* What the encoding keeps about a column of a special kind, for the layers that read it alike. */
struct enc_held {
    char *column;             /* its name */
    const struct row_kind *kind; /* its kind */
    void *state;              /* belongs to the kind: row_kind.state_bytes */
    /* The layer that reads it, with its channels, and the largest width of any; ops NULL: none. */
    struct layer layer;
    uint64_t seed;            /* of the filters */
    size_t inputs;            /* windows: numbers of its part of a row in training; 0: no part */
};
struct enc_target { char *name; double mean, sd, own; };     /* own: see yown */
struct encoding {
    size_t d;                 /* length of an encoded row */
    size_t ncol; struct enc_col *col; /* those that are columns: the first of a row */
    /* Of each kernel of the expression, where they read columns of their own: the first, and how
     * many; for one over windows, the index in `held` of what it reads. nparts 0: all read all. */
    size_t nparts; struct enc_part { size_t first, n, held; } part[KERNEL_MAX_TERMS];
    size_t nheld; struct enc_held *held; /* those with parts of a row are in the order of these */
    char *target; enum y_scale yscale;
    char *weight;             /* column of the weights of rows; NULL: all weights are 1 */
    double ymean, ysd;        /* of y, or of log y */
    /* The target is a class: the cells of the classes. With alpha 0 these are the negative and the
     * positive one, encoded as -1 and +1; otherwise they are encoded as 0, 1, 2, ... and alpha is
     * that of the likelihood (compute/likelihood/dirichlet.h). nclasses 0: it is a number. */
    char **classes; size_t nclasses;
    double alpha;
    bool balanced; /* as in struct dataset */
    char *rule;
    /* The sd of y itself over the training rows, whatever the scale: scaled scores are divided by
     * it. 0: unknown, as in sessions of earlier versions. */
    double yown;
    size_t nmore;
    struct enc_target *more; /* further targets, in the order of the table's columns */
    enum missing_policy missing;
    char *steps;             /* what new data have to go through first (prepare.h); NULL: nothing */
};
/* Fits the encoding on the training rows (without those that the policy drops). Appends its
 * decisions to notes as lines "note[name]: text". Fails on a constant target, on log of y <= 0, and
 * on missing cells under MISSING_ERROR. Free it with encoding_free. */
enum status encoding_fit(const struct dataset *, const size_t *train, size_t ntrain,
                         struct encoding *out, struct buf *notes, struct err *);
void encoding_free(struct encoding *);
/* Fixes in a kernel what follows from the encoding (kernel_bind_rows, _inputs), but not its
 * lengthscales. A kernel that was bound to no rows also gets its filters
 * (kernel_choose_filters). */
enum status encoding_bind(const struct encoding *, struct kernel *, struct err *);
/* True if the kernel is bound to rows of this encoding. */
bool encoding_binds(const struct encoding *, const struct kernel *);
/* The columns that a kernel names are inputs of the dataset; STATE or NOT_FOUND says which is not,
 * and what to do. */
enum status encoding_can_read(const struct dataset *, const struct kernel *, struct err *);
/* True if it reads this column of the table. */
bool encoding_reads(const struct encoding *, const char *column);
/* What a row is.  encoding_width sets d from it. */
struct row_layout encoding_layout(const struct encoding *);
void encoding_width(struct encoding *);
/* The entry of `held` that is part p of a row (NULL past the last), and the index in a training row
 * at which that begins. */
const struct enc_held *encoding_part(const struct encoding *, size_t p);
size_t encoding_part_first(const struct encoding *, size_t p);
/* What is kept about the source of a column of numbers; NULL: nothing. */
const struct enc_held *encoding_held(const struct encoding *, const struct enc_col *);
size_t encoding_targets(const struct encoding *);
/* Of several classes: how many, and alpha; otherwise zeros. */
struct source_labels encoding_labels(const struct encoding *);
/* The encoding as if target j were its only one. It borrows from the encoding and must not be
 * freed. */
struct encoding encoding_for(const struct encoding *, size_t j);
/* The index of a target by name; NULL or "": the first. NOT_FOUND lists the names. */
enum status encoding_find(const struct encoding *, const char *name, size_t *j, struct err *);
enum status encoding_copy(struct encoding *dst, const struct encoding *src, struct err *);
/* For the session; the caller frees it. */
char *encoding_to_json(const struct encoding *, struct err *);
enum status encoding_from_json(const char *json, struct encoding *out, struct err *);

/* Rows with cells that training never had, or not at that place: how many, the first of them, and
 * the kind that describes them; NULL: there are none. */
struct strange_rows {
    const struct row_kind *kind;
    const struct enc_held *held; /* of the encoding; NULL: it keeps nothing about them */
    size_t n, first;
    bool place;
};
/* Rows of a table through an encoding: a source that owns an n x d matrix, or computes its rows
 * when needed. rows: the n rows to use (NULL: all rows of the table; n is ignored). Columns are
 * found by name. Missing cells and levels never seen in training follow the policy: an error, their
 * mean, or the row is dropped; both are counted. want_y: rows without a target are dropped (an
 * error under MISSING_ERROR); several targets count as one. y stays NULL if the table has no such
 * columns (new data). Row i of the source is row[i] of the table. */
struct encoded {
    struct source base;
    double *x;               /* n x d; NULL: see below */
    size_t t;                /* number of targets */
    double *y;               /* t vectors of n, scaled; NULL: none */
    double *yraw;            /* t vectors of n, in units of the target (of classes 0 and 1); NULL:
                              * none */
    /* n square roots of the weights, also in base; NULL: all are 1, or the table has no such column
     * (new data). */
    double *row_scale;
    size_t *row; size_t n;   /* the table row of each */
    size_t missing_cells, unseen_levels, dropped;
    struct strange_rows strange; /* for new data (not want_y) */
    size_t cut;              /* number of values beyond enc_col.limit */
    struct source_places *places; /* as in base; NULL: not known */
    /* If x does not fit into memory it is NULL and rows are encoded when they are asked for. The
     * encoding and the table must then outlive this. */
    const struct encoding *enc;
    const struct table *table;
    struct encode_group *group; size_t ngroup;
};
enum status encode(const struct encoding *, const struct table *, const size_t *rows, size_t n,
                   bool want_y, struct encoded *out, struct err *);
void encode_free(struct encoded *);
/* Converts the mean and sd of a Gaussian in scaled units back to units of the target. Under log,
 * the mean exp(m + v/2) of the log-normal and its sd are returned; quantiles are mapped exactly.
 * var NULL (a fit without variances): no sd is written, and under log the mean is the median
 * exp(m). */
/* Converts one scaled value to units of the target; this maps quantiles exactly. */
double encoding_value(const struct encoding *, double scaled);
/* Its inverse; -infinity for a value that no log target has. */
double encoding_scaled(const struct encoding *, double value);
void encoding_unscale(const struct encoding *, size_t n, const double *mean, const double *var,
                      double *out_mean, double *out_sd);

#endif
