/* data/expr_impl.h -- private to expressions: expr.c reads text and makes a program of it,
 * expr_eval.c checks its types and computes it, expr_source.c writes it for other programs. */
#ifndef GPDESK_EXPR_IMPL_H
#define GPDESK_EXPR_IMPL_H

#include "data/expr.h"

/* A function or an operator. */
struct expr_fn {
    const char *name;
    size_t least, most;      /* number of arguments */
    /* The value for arguments that are finite numbers. What is not finite is a fault. */
    double (*f)(const double *x, size_t n);
    bool absent;             /* f also gets missing arguments (NaN), and may return NaN */
    const char *fault;       /* "log of a number that is not above 0" */
    const char *help;
};

/* A program for a stack: operands come before their operation. */
enum expr_code {
    EXPR_PUSH_NUMBER, EXPR_PUSH_WORD, EXPR_PUSH_COLUMN, EXPR_CALL, EXPR_COMPARE, EXPR_AND, EXPR_OR,
    EXPR_NOT, EXPR_IS_MISSING, EXPR_IF,
};
enum expr_compare { EXPR_EQ, EXPR_NE, EXPR_LT, EXPR_LE, EXPR_GT, EXPR_GE };
struct expr_instr {
    enum expr_code code;
    double number;
    char *text;              /* EXPR_PUSH_WORD: the word; EXPR_PUSH_COLUMN: the column's name, */
    bool quoted;             /* which was written in quotes */
    size_t col;              /* EXPR_PUSH_COLUMN, after expr_bind */
    enum expr_compare compare;
    bool words;              /* EXPR_COMPARE, EXPR_IS_MISSING, EXPR_IF: of words */
    const struct expr_fn *fn; /* EXPR_CALL: with nargs arguments */
    size_t nargs;
    size_t faults, first;    /* rows without a value, and the first of them */
};

struct expr {
    struct expr_instr *code;
    size_t n, cap;
    size_t depth;            /* slots of the stack that the program needs */
    const struct table *table; /* NULL: not bound */
    enum expr_type type;
    char *absent;
    double *slot;            /* depth blocks of numbers, */
    const char **word;       /* and of words */
};

const struct expr_fn *expr_function(const char *name); /* NULL if there is none */
extern const struct expr_fn expr_plus, expr_minus, expr_times, expr_over, expr_power, expr_negate;
size_t expr_operands(const struct expr_instr *); /* how many an instruction takes from the stack */
/* Sets the error "there is no function ..." with the nearest names. */
enum status expr_no_function(const char *name, struct err *);

#endif
