/* data/dataset.h -- a table with meaning: roles, types, policies, split; and its encoding into the
 * standardised numbers that compute reads. Value semantics: a job takes a dataset_snapshot. */
#ifndef GPDESK_DATASET_H
#define GPDESK_DATASET_H

#include "data/encoding.h"
#include "data/table.h"

/* ROLE_WEIGHT: the noise variance of a row is noise^2 over the cell. */
enum col_role { ROLE_INPUT, ROLE_TARGET, ROLE_ID, ROLE_SPLIT, ROLE_SKIP, ROLE_WEIGHT };
const char *dataset_role_name(enum col_role);
enum part {
    PART_TRAIN,
    PART_VALID,
    PART_TEST,
    PART_LEFT,
    PARTS
}; /* LEFT: for training, but set aside */

struct split {
    char *how;           /* canonical words: "test=20% seed=7", "file=... column=split0" */
    uint8_t *part;       /* n, enum part; NULL: all rows train */
    uint32_t *fold; size_t nfolds; /* k folds; NULL: none */
    size_t count[PARTS];
};
struct dataset {
    int refs;
    char *name;
    struct table *table;
    enum col_role *role; /* table->ncols */
    char *coding;        /* of `cols encoding=`: for letters a word of letters.h; NULL: one-hot */
    char **group;        /* table->ncols; an entry NULL: the column is in none */
    enum missing_policy missing; bool missing_flag;
    enum y_scale yscale; enum x_scale xscale;
    struct split split;
    /* The kernel in use, which says what becomes of a column with positions and which columns each
     * part of it reads; set in a job's snapshot, before encoding_fit.  nterms 0: any that reads all
     * columns. */
    struct kernel kernel;
    char *notes;         /* what dataset_new decided: lines "note[name]: text", "warning[...]" */
};
/* Takes a reference on the table. target: names and patterns, as of dataset_set_role; NULL: the
 * columns that were read as targets, else the last column, or the last one of numbers when that
 * holds words. name NULL: from the path (stem, or the directory's name when the stem is data,
 * train or test). Text, identifiers, empty columns and columns of the words train/valid/test are
 * no inputs: said in notes. */
struct dataset *dataset_new(struct table *, const char *name, const char *target, struct err *);
struct dataset *dataset_ref(struct dataset *);
void dataset_unref(struct dataset *);
/* A private, immutable copy sharing the table: what a job works on. */
struct dataset *dataset_snapshot(const struct dataset *, struct err *);

size_t dataset_target(const struct dataset *);  /* the first's column; SIZE_MAX: none */
size_t dataset_targets(const struct dataset *); /* how many */
size_t dataset_weight(const struct dataset *);  /* column; SIZE_MAX: none */
/* For tests: inputs after encoding, with every level of the table. */
size_t dataset_inputs_for_tests(const struct dataset *);
/* Appends lines "warning[...]: text" about inputs that may give the target away: equal to it or in
 * the same order, categories that determine it, identifiers that order it. whole: from some 20,000
 * rows, and rows that occur in train and in test, for `summary`, in a job; else a glance at 2000
 * rows, some milliseconds. */
enum status summary_leaks(const struct dataset *, bool whole, struct buf *notes, struct err *);

/* Patterns: names separated by commas, * as wildcard. *changed: how many. The columns named as
 * targets are all targets then (TARGETS_MOST of them at most): former ones become inputs. A weight
 * must be one column; the former one is skipped. */
enum status dataset_set_role(struct dataset *, const char *pattern, enum col_role, size_t *changed,
                             struct err *);
/* type: as kind_type_at has it.  Replaces the table by a converted copy. */
enum status dataset_set_type(struct dataset *, const char *pattern, const char *type,
                             size_t *changed, struct err *);
/* Marks the columns of a list of names and patterns; names in double quotes are no patterns. */
enum status dataset_select(const struct table *, const char *list, bool *in, struct err *);
/* What the cells of its first input of a kind that leaves a choice become: "onehot", or as the kind
 * has it (letters.h). */
enum status dataset_set_coding(struct dataset *, const char *word, struct err *);
/* Columns of one group share a lengthscale of kernels with ard=group.  group NULL: none. */
enum status dataset_set_group(struct dataset *, const char *pattern, const char *group,
                              size_t *changed, struct err *);

enum status split_random(struct dataset *, double test, double valid, uint64_t seed, struct err *);
enum status split_ordered(struct dataset *, double test, double valid, struct err *);
enum status split_folds(struct dataset *, size_t k, uint64_t seed, struct err *);
/* A mask column: 0/1 (1 = test) or words train/valid/test. path NULL: a column of the data itself,
 * which then gets ROLE_SPLIT. Row counts must agree. */
enum status split_column(struct dataset *, const char *path, const char *column, struct err *);
/* Sets training rows of the split in force aside, at random by the seed, so that at most `rows`
 * train; of one seed fewer rows are some of the more.  0: all of them train again.  STATE with
 * folds. */
enum status split_train(struct dataset *, size_t rows, uint64_t seed, struct err *);
void dataset_split_none(struct dataset *);

/* group[j] of the encoding's input j: equal for the inputs of one group, and for the levels of one
 * column that is in none.  Appends to notes which inputs each has (NULL: nothing). */
enum status dataset_groups(const struct dataset *, const struct encoding *, size_t *group,
                           struct buf *notes, struct err *);
/* Row indices of a part; caller frees. fold: rows in / not in a fold when nfolds. */
enum status dataset_rows(const struct dataset *, enum part, size_t **rows, size_t *n,
                         struct err *);
enum status dataset_fold_rows(const struct dataset *, size_t fold, bool in, size_t **rows,
                              size_t *n, struct err *);
/* Of a column of numbers, or of the level codes of a category (its mean then has no meaning); text:
 * only n, missing and unique. rows NULL: all. bins: 20 equal ones between bin_lo and bin_hi. */
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
