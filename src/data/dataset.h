/* data/dataset.h -- a table with meaning: roles, types, policies and split, and its encoding into
 * the standardised numbers that compute reads. It has value semantics: a job works on a
 * dataset_snapshot. */
#ifndef GPDESK_DATASET_H
#define GPDESK_DATASET_H

#include "data/encoding.h"
#include "data/table.h"

/* ROLE_WEIGHT: the noise variance of a row is noise^2 divided by the cell. */
enum col_role { ROLE_INPUT, ROLE_TARGET, ROLE_ID, ROLE_SPLIT, ROLE_SKIP, ROLE_WEIGHT };
const char *dataset_role_name(enum col_role);
enum part {
    PART_TRAIN,
    PART_VALID,
    PART_TEST,
    PART_LEFT,
    PARTS
}; /* LEFT: training rows that are set aside */
/* The parts that can be scored, "train" in commands and sessions, "training" in sentences; NULL
 * ends. */
extern const char *const dataset_part_words[], *const dataset_part_names[];

/* What a split follows: single rows, or a column, whose groups of rows stay together, or whose
 * later times are predicted from earlier ones (split_by.h). */
enum split_by { SPLIT_BY_ROWS, SPLIT_BY_GROUP, SPLIT_BY_TIME };
extern const char *const split_by_words[]; /* "rows", "group", "time"; NULL ends */
struct split {
    char *how;           /* in canonical words: "test=20% seed=7", "file=... column=split0" */
    enum split_by by; char *column; /* the column of a split by group or time; else NULL */
    uint8_t *part;       /* n values of enum part; NULL: all rows are for training */
    /* The fold of each row; NULL: no folds. By time, rows of fold nfolds only train. */
    uint32_t *fold; size_t nfolds;
    size_t count[PARTS];
};
struct dataset {
    int refs;
    char *name;
    struct table *table;
    enum col_role *role; /* table->ncols roles */
    char *coding;   /* set by `cols encoding=`: for letters a word of letters.h; NULL: one-hot */
    char **group;        /* table->ncols names; NULL: the column is in no group */
    enum missing_policy missing; bool missing_flag;
    enum y_scale yscale; enum x_scale xscale;
    /* The target is a class (classes.h), whose probability depends on the function by this link
     * ("probit", "logit", "dirichlet"); NULL: it is a number. positive: of two classes, the cell of
     * the one whose probability is predicted; NULL: chosen. alpha: of several; otherwise 0. */
    char *link, *positive;
    double alpha;
    bool balanced;  /* classes all weigh the same (compute/likelihood: dirichlet.h, latent.h), */
    char *rule;     /* and which one is chosen (decision.h); NULL: the likeliest */
    bool link_said; /* by `likelihood`; otherwise the link follows the target (classes_look) */
    struct split split;
    /* The kernel in use, which decides how a column with positions is encoded and which columns
     * each of its parts reads. It is set in a job's snapshot, before encoding_fit. nterms 0: a
     * kernel that reads all columns. */
    struct kernel kernel;
    char *steps;  /* what was done to the table after reading it (prepare.h); NULL: nothing */
    char *notes;  /* the decisions of dataset_new, as lines "note[name]: text" and "warning[...]" */
};
/* Makes a dataset and takes a reference to the table. target: names and patterns as for
 * dataset_set_role. NULL: the columns that were read as targets, otherwise the last column, or the
 * last numeric one if that contains words. name: if NULL, it is made from the path (its stem, or
 * the directory's name if the stem is data, train or test). Text, identifiers, empty columns and
 * columns of the words train, valid and test are not inputs; the notes say so. */
struct dataset *dataset_new(struct table *, const char *name, const char *target, struct err *);
struct dataset *dataset_ref(struct dataset *);
void dataset_unref(struct dataset *);
/* Makes room for the roles of `more` columns behind n: inputs in no group.  NOMEM. */
enum status dataset_grow(struct dataset *, size_t n, size_t more, struct err *);
/* *d becomes what *c is, and *c what *d was; both keep their references. */
void dataset_exchange(struct dataset *d, struct dataset *c);
/* An immutable copy of its own that shares the table: what a job works on. */
struct dataset *dataset_snapshot(const struct dataset *, struct err *);

/* The column whose kind makes it the only input at first (row_kind.sole); ncols: there is none. */
size_t dataset_sole(const struct table *);
size_t dataset_target(const struct dataset *);  /* column of the first target; SIZE_MAX: none */
size_t dataset_targets(const struct dataset *); /* number of targets */
size_t dataset_weight(const struct dataset *);  /* its column; SIZE_MAX: none */
/* The number of inputs after encoding, with every level of the table. */
size_t dataset_inputs_for_tests(const struct dataset *);
/* Appends lines "warning[...]: text" about inputs that may give the target away: those equal to it
 * or in the same order, categories that determine it, and identifiers that sort it. whole: examines
 * about 20,000 rows, and rows that occur in both training and test, for `summary` in a job;
 * otherwise only 2,000 rows, which takes some milliseconds. */
enum status summary_leaks(const struct dataset *, bool whole, struct buf *notes, struct err *);

/* Sets a role. pattern: names separated by commas, with * as wildcard. *changed: the number of
 * columns that changed. Columns named as targets become the only targets (at most
 * TARGET_COLUMNS_MOST);
 * former targets become inputs. There can be only one column of weights; the former one is
 * skipped. */
enum status dataset_set_role(struct dataset *, const char *pattern, enum col_role, size_t *changed,
                             struct err *);
/* type: a word of kind_type_at. Replaces the table by a converted copy. */
enum status dataset_set_type(struct dataset *, const char *pattern, const char *type,
                             size_t *changed, struct err *);
/* Converts the cells of column j to a type, into an empty column without a name. */
enum status dataset_convert(const struct table *, size_t j, const char *type, struct column *to,
                            struct err *);
/* OK if the table has this column; otherwise NOT_FOUND with the nearest names. */
enum status dataset_find_column(const struct table *, const char *name, struct err *);
/* Marks the columns of a list of names and patterns. A name in double quotes is not a pattern. */
enum status dataset_select(const struct table *, const char *list, bool *in, struct err *);
/* Chooses the encoding of the inputs whose kinds offer this choice: "onehot", or a word of a kind
 * (letters.h); others keep theirs. The error is that of the first input that offers any. */
enum status dataset_set_coding(struct dataset *, const char *word, struct err *);
/* Columns of one group share a lengthscale in kernels with ard=group. group NULL: in no group. */
enum status dataset_set_group(struct dataset *, const char *pattern, const char *group,
                              size_t *changed, struct err *);

enum status split_random(struct dataset *, double test, double valid, uint64_t seed, struct err *);
/* The same, or with folds > 0 in folds, so that each value of the target has its share of every
 * part to within a row. STATE unless there is one target, of at most a row in ten different
 * values. */
enum status split_stratified(struct dataset *, double test, double valid, size_t folds,
                             uint64_t seed, struct err *);
enum status split_ordered(struct dataset *, double test, double valid, struct err *);
enum status split_folds(struct dataset *, size_t k, uint64_t seed, struct err *);
/* Splits by a mask column of 0 and 1 (1 = test), or the words train, valid, test. path NULL: it is
 * a column of the data itself, which gets ROLE_SPLIT. The numbers of rows must agree. */
enum status split_column(struct dataset *, const char *path, const char *column, struct err *);
/* Sets training rows of the present split aside, chosen at random by the seed, so that at most
 * `rows` remain. With the same seed, a smaller set is a subset of a larger one. 0: all of them are
 * used again. STATE if there are folds. */
enum status split_train(struct dataset *, size_t rows, uint64_t seed, struct err *);
/* Keeps so many of the training rows aside as validation rows, chosen at random by the seed; the
 * validation rows that there were are set aside.  RANGE unless two rows remain for training, STATE
 * if there are folds. */
enum status split_aside(struct dataset *, size_t rows, uint64_t seed, struct err *);
void dataset_split_none(struct dataset *);

/* group[j] of input j of the encoding: equal for the inputs of one group, and for the levels of a
 * column that is in none. Appends to notes (unless NULL) which inputs each group has. */
enum status dataset_groups(const struct dataset *, const struct encoding *, size_t *group,
                           struct buf *notes, struct err *);
/* Row indices of a part, which the caller frees; those inside or outside a fold. In a split by time
 * only the rows before a fold are outside of it. */
enum status dataset_rows(const struct dataset *, enum part, size_t **rows, size_t *n,
                         struct err *);
enum status dataset_fold_rows(const struct dataset *, size_t fold, bool in, size_t **rows,
                              size_t *n, struct err *);
/* Statistics of a numeric column, or of the level codes of a category (whose mean is then
 * meaningless). For text, only n, missing and unique. rows NULL: all rows. bins: 20 of equal width
 * between bin_lo and bin_hi. */
struct col_summary {
    size_t n, missing, unique;
    double mean, sd, min, q25, median, q75, max;
    bool unique_exact;
    double bin_lo, bin_hi;
    size_t bins[20];
};
enum status column_summary(const struct table *, size_t col, const size_t *rows, size_t n,
                           struct col_summary *, struct err *);

#endif
