/* data/expr_source.h -- an expression as the text of a program. Every operation is written as the
 * call of a function, so that the same text does in C and in Python. The functions are those of
 * share/predictors/steps.c and steps.py. */
#ifndef GPDESK_EXPR_SOURCE_H
#define GPDESK_EXPR_SOURCE_H

#include "data/expr.h"

/* What the text depends on beside the expression. */
struct expr_source {
    /* The place of a column, and its type: 1 if it holds words, 0 numbers, -1 unknown. */
    void (*column)(void *ctx, const char *name, size_t *place, int *words);
    void *ctx;
    void (*word)(struct buf *, const char *text); /* writes a word as a string */
    /* How a line that keeps a number or a word begins and ends; long expressions have some. */
    const char *number_line, *word_line, *stop;
};
/* Appends the lines of a function that ends by returning the value (expr.h), and sets its type. A
 * column of unknown type gets the one that its use needs; STATE names one whose use fits both. */
enum status expr_source_write(const struct expr *, const struct expr_source *, struct buf *,
                              enum expr_type *, struct err *);

#endif
