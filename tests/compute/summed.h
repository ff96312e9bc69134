/* tests/compute/summed.h -- every sum over rows that a feature operator has, for tests that compare
 * operators whose rows are here with such whose rows are shared. */
#ifndef GPDESK_TESTS_SUMMED_H
#define GPDESK_TESTS_SUMMED_H

#include "compute/features/fop.h"

enum { SUMMED_N = 9100, SUMMED_D = 12, SUMMED_RHS = 9, SUMMED_SKETCH = 20, SUMMED_GROUPS = 7,
       SUMMED_EACH = 1293, SUMMED_PER = 40, SUMMED_CLASSES = 3, SUMMED_RESULTS = 20 };

/* What is computed: a kernel with M columns over rows of one kind. */
struct summed_task {
    const char *kernel;
    size_t M;
    enum precision precision;
    enum { SUMMED_NUMBERS, SUMMED_VECTORS, SUMMED_COUNTS, SUMMED_SPARSE } rows;
    bool weights, store, half;
    const char *level; /* of vector code; NULL: the best one here */
};
const struct summed_task *summed_task_at(size_t i); /* NULL past the end */
/* How many of them a test loops over, all or as many as GPDESK_SUMS wants, and which is the i-th of
 * these: they are spread over all. */
int summed_count(void);
const struct summed_task *summed_chosen(int i);

/* Rows, vectors and matrices. */
struct summed_given {
    double *X, *w, *y, *P, *omega, *S, *labels;
    size_t block[SUMMED_PER];
    struct featmap *fm;
    struct kernel k;
    double hp[KERNEL_MAX_HP];
    struct row_layout layout;
};
void summed_make(const struct summed_task *, struct summed_given *);
void summed_free(struct summed_given *);

/* All that an operator over rows from r0 on has summed. */
struct summed {
    const struct summed_task *t;
    const struct summed_given *g;
    size_t r0;
    double *out[SUMMED_RESULTS];
    size_t len[SUMMED_RESULTS], results;
    struct err failed; /* the first */
};
/* y: SUMMED_RHS vectors of the operator's rows. */
void summed_all(struct summed *, struct fop *, const double *y);
/* The same of an operator of that backend over all rows, on two threads. */
void summed_over(const struct backend_ops *, const struct summed_task *,
                 const struct summed_given *, struct summed *);
void summed_done(struct summed *); /* frees the results */

#endif
