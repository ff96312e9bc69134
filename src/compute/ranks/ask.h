/* compute/ranks/ask.h -- what the front end can ask ranks for: the functions of a backend, and how
 * many numbers go there and come back.  Both sides use the one table. */
#ifndef GPDESK_ASK_H
#define GPDESK_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Arguments, then the numbers that all ranks get; vectors of rows, of which each rank gets its own;
 * the answer, which the first rank sends; and vectors of rows that each sends.
 * OPEN      a drawn map and what its rows are (drawn.h); each answers with a number of its own: 1,
 *           or 0 where it has to be sent them
 * END       the process ends, without an answer
 * SET       - ; hyperparameters
 * PASS, PASS_EXACT  k; P; - ; W
 * ZP        k; P; - ; - ; T
 * ZTV       k; - ; V; W
 * GRAM      ny; - ; y; G, zty
 * SKETCH    L, rough; Omega; - ; Y
 * DGRAM     ihp; - ; - ; C
 * DIAGONAL  - ; - ; - ; diag
 * SLOPE     ihp; w; r; out
 * BACK      k, 1 with S; S, V; T; grad
 * FORMS     count, precision; L; - ; - ; q
 * MEANS     groups, each, precision; - ; - ; C
 * DOTS      - ; v; - ; - ; dot, square
 * SOFTMAX   classes, 1 with V, c, keep, what is wanted; offset, weight, W, V; labels; sum, loss; h
 * BLOCKS    rows, per, k; P, at; - ; W
 * BASIS     L, M, and the rows r0, r1 of U that this rank has; - ; U (columns, not vectors); -
 * BASIS_ADD k, M, r0, r1, L; c, bounds (tall.h); Y; - ; Y */
enum ask_op {
    ASK_OPEN, ASK_CLOSE, ASK_END, ASK_SET, ASK_PASS, ASK_PASS_EXACT, ASK_UNHALVE, ASK_ZP, ASK_ZTV,
    ASK_GRAM, ASK_SKETCH, ASK_DGRAM, ASK_DIAGONAL, ASK_SLOPE, ASK_BACK, ASK_FORMS, ASK_MEANS,
    ASK_DOTS, ASK_SOFTMAX, ASK_BLOCKS, ASK_BASIS, ASK_BASIS_ADD, ASK_OPS
};
enum { ASK_ARGS = 5 };
enum { ASK_WANT_SUM = 1, ASK_WANT_LOSS = 2, ASK_WANT_H = 4 }; /* of SOFTMAX */
/* first: the rank that sends the answer.  serial: counts what was asked. */
struct ask_head { uint32_t op, state, first, unused; uint64_t serial, arg[ASK_ARGS]; };
struct ask_sizes { size_t all, rows, out, out_rows; };
/* For an operator of M columns and nhp hyperparameters; false where there is no such request, or
 * numbers without end. */
bool ask_sizes(const struct ask_head *, size_t M, size_t nhp, struct ask_sizes *);
/* True where vectors of rows are those of the basis: the rows arg[2] to arg[3] - 1 of arg[1]. */
static inline bool ask_of_basis(const struct ask_head *a)
{
    return a->op == ASK_BASIS || a->op == ASK_BASIS_ADD;
}

#endif
