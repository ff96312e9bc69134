/* data/expr.h -- expressions over the columns of a table, as in `where price > 0 and make != 'bmw'`
 * and `let bmi = weight / height^2`. They have no side effects, and every row is computed alone. */
#ifndef GPDESK_EXPR_H
#define GPDESK_EXPR_H

#include "data/table.h"

struct expr;
/* The value of an expression: a number, a word, or true and false (kept as 1 and 0). */
enum expr_type { EXPR_NUMBER, EXPR_WORD, EXPR_TRUTH };

/* Reads an expression. USAGE names the place and what was expected. Nesting and length are
 * limited, so any text is safe. Free it with expr_free. */
enum status expr_parse(const char *text, struct expr **out, struct err *);
void expr_free(struct expr *);
/* Finds the columns and checks the types of all operands. NOT_FOUND: the table has no such column
 * (expr_absent names it). The table must outlive the expression or the next call. */
enum status expr_bind(struct expr *, const struct table *, struct err *);
enum expr_type expr_type(const struct expr *); /* of a bound expression */
const char *expr_absent(const struct expr *);  /* of the last expr_bind that failed; or NULL */
/* The i-th name of a column that the expression uses; NULL if i is past the end. */
const char *expr_column(const struct expr *, size_t i);
const char *expr_word(const struct expr *, size_t i); /* the i-th word in single quotes, likewise */
/* Computes rows first..first+n-1 of the bound table. number: n values of a number or truth, NaN if
 * missing; word: n words of a table's column or of the expression, NULL if missing. The other array
 * may be NULL. use: false for rows of the table whose faults do not count; NULL: all count. NOMEM,
 * and IO if a file of the table has changed. */
enum { EXPR_BLOCK = 512 };                     /* the largest n */
enum status expr_rows(struct expr *, size_t first, size_t n, const bool *use, double *number,
                      const char **word, struct err *);
/* Writes what had no value in the rows that were computed since expr_bind ("log of a number that is
 * not above 0 in 3 rows, first in row 7; ..."): nothing if there was no such row. */
void expr_faults(const struct expr *, struct buf *out);

/* The functions, for help and completion: "log", "logarithm to base e". False if i is past the
 * end. */
bool expr_function_at(size_t i, const char **name, const char **help);

/* Reads a name at *p, in double quotes or backquotes (with \" \\ \n \t \xNN) or up to one of
 * `stops`, without the blanks around it, and appends it to out. USAGE if a quote is not closed. */
enum status expr_name(const char **p, const char *stops, struct buf *out, struct err *);
/* Writes a name so that expressions and expr_name read it back. */
void expr_write_name(struct buf *, const char *name);

#endif
