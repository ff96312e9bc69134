/* data/split_by.h -- splits that follow a column: whole groups of rows stay together, or the rows
 * are cut where their time is later. */
#ifndef GPDESK_SPLIT_BY_H
#define GPDESK_SPLIT_BY_H

#include "data/dataset.h"

/* What is wanted. Either shares (folds 0) or folds. */
struct split_ask {
    const char *column;
    double test, valid;  /* shares of the rows */
    size_t folds;
    bool seeded;         /* groups: at random by the seed; otherwise by their sizes */
    uint64_t seed;
};
/* What was done, for the result. */
struct split_told {
    size_t groups, count[PARTS]; /* groups in all, and in each part */
    size_t missing;              /* groups: rows with a missing cell, which are one group */
    bool left_out;               /* groups: the column was an input */
    size_t ties, nties;          /* time: rows with one time that a border met; how many borders */
};

/* No group is on both sides. The column can be of numbers, categories or text; equal cells are a
 * group, and so are all missing ones. Groups are taken for the test rows, then for the validation
 * rows, the smallest first (of equal ones those that appear later), or in random order: each that
 * brings the number of rows nearer to the share, and at least one. So large groups train. With
 * folds, the largest group comes first (or a random order), each into the fold with the fewest
 * rows. An input of words is none any more (ROLE_SPLIT): training never sees the levels of the test
 * rows. USAGE for other columns, NOT_FOUND, STATE for the target, RANGE for too few groups. */
enum status split_grouped(struct dataset *, const struct split_ask *, struct split_told *,
                          struct err *);
/* The last rows by a column of numbers or dates are the test rows, those before them the validation
 * rows. Rows of one time stay together, on the side that brings the number nearer to the share.
 * With folds, the rows are cut into folds + 1 blocks of about one size: the first one only trains,
 * and each other is predicted from all rows before it (dataset_fold_rows). Missing cells have no
 * place in time: RANGE. */
enum status split_timed(struct dataset *, const struct split_ask *, struct split_told *,
                        struct err *);
/* The group of each row by the cells of a column, numbered in the order of appearance; the caller
 * frees *group. *missing (may be NULL): the rows with a missing cell. */
enum status split_groups(const struct table *, size_t col, uint32_t **group, size_t *ngroups,
                         size_t *missing, struct err *);

#endif
