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
enum missing_policy { MISSING_ERROR, MISSING_MEAN, MISSING_MEDIAN, MISSING_DROP };
enum y_scale { Y_STANDARD, Y_LOG, Y_NONE };
enum x_scale { X_STANDARD, X_NONE };

/* The encoding fitted on training rows: one-hot, missing, standardisation. Plain data + names.
 *
 * A sequence becomes what the kernel reads: letters at the positions that vary (ENC_LETTER),
 * largest values of filters (ENC_FILTER), or, for kernels over windows, a row of symbols (source.h)
 * behind all columns: d is then ncol, 1 and the length of the longest; col is NULL where there are
 * no others. */
enum enc_kind { ENC_REAL, ENC_LEVEL, ENC_MISSING, ENC_LETTER, ENC_FILTER, ENC_POOL };
struct enc_col {
    char *column;             /* source column's name */
    enum enc_kind kind;       /* a number; 1 where the cell has the level; 1 where it is missing;
                               * 1 where the sequence has the letter at the position; a filter's
                               * value; the mean of a number over a set of nodes, or how many they
                               * are */
    char *level; /* ENC_LEVEL; ENC_LETTER: position, from 1, and letter: "39V"; with numbers
                  * for letters, or in stretches of a series, position and which of them:
                  * "39#2"; ENC_POOL: the number's name, "" the nodes themselves */
    double mean, sd;          /* (x - mean) / sd; sd 1 for a (nearly) constant column */
    double fill;              /* missing becomes this before scaling */
    double limit;             /* encoded values are cut to -limit..limit; 0: never */
    bool constant;            /* nearly constant on training rows: always encoded as 0 */
};
/* A number of the nodes of sets: (x - mean) / sd; flag: 0 where a table has no such number. */
struct enc_node { char *name; bool flag; double mean, sd; };
struct enc_sequence {
    char *column;             /* NULL: no filters, no windows, no numbers for letters */
    double *value; /* of each letter of the alphabet, layer.channels numbers; NULL: one-hot */
    size_t kmer;              /* a position is a word of so many letters, one-hot; 0: one letter */
    char order[SEQUENCE_LETTERS_MOST + 1]; /* the alphabet */
    struct enc_node *node;    /* of sets of nodes, layer.channels; value is NULL then */
    bool series;              /* their positions mean something */
    struct layer layer; /* with channels */
    uint64_t seed;            /* of the filters */
    size_t inputs;            /* windows: numbers of a row of symbols in training */
};
struct enc_target { char *name; double mean, sd, own; };     /* own: as yown */
struct encoding {
    size_t d;                 /* numbers of a row */
    size_t ncol; struct enc_col *col; /* those that are columns: the first of a row */
    /* Of each kernel of the expression, where they read columns of their own: the first, and how
     * many; nparts 0: all read all. */
    size_t nparts; struct enc_part { size_t first, n; } part[KERNEL_MAX_TERMS];
    struct enc_sequence seq;
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
    /* New data (not want_y): rows with letters outside the alphabet, or (by position) that no
     * training row has at their place; the first of them. */
    size_t strange, strange_first;
    bool strange_place;
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
