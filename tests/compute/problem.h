/* tests/compute/problem.h -- an operator over random rows, and what it must compute by plain loops:
 * for the programs that test products of features. */
#ifndef GPDESK_TESTS_PROBLEM_H
#define GPDESK_TESTS_PROBLEM_H

#include "compute/features/fop.h"
#include "compute/kernels/kernel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of standard normals, a feature map over them, and Z in float64 from the interpreter. */
struct problem {
    size_t n, d, M;
    double *X, *Z, l;
    const double *scale; /* of the rows; NULL: none */
    struct source_array src;
    struct featmap *fm;
};
struct problem problem_new(const char *kernel, size_t n, size_t d, size_t M, double l);
void problem_free(struct problem *);
/* Its operator on the CPU, set to the lengthscale l.  The caller frees it. */
struct fop *problem_fop(const struct problem *, struct pool *, enum precision, bool store);

/* Shapes on both sides of every edge: one row, a last tile that is not full, a last block of
 * frequencies that is not full, one and two inputs, wide inputs. */
struct problem_shape { const char *kernel; size_t n, d, M; };
enum { N_SHAPES = 9, RHS = 17 };
extern const struct problem_shape shapes[N_SHAPES];

struct kernel parsed(const char *text, double hp[KERNEL_MAX_HP]);
double *normals(size_t n, uint32_t sub); /* the caller frees them */
double norm(size_t n, const double *v);
/* |got - want| <= tol |want| in the Euclidean norm. */
void assert_near(size_t n, const double *got, const double *want, double tol, const char *what);
/* Tolerances: float features carry phase errors of 2^-24 |p| sqrt(stages); |p| is below 100 here
 * (far more for heavy tails, whose phases are double); sums add as much again. */
double tolerance(enum precision);
/* T = Z P and W = Z'T by plain loops. */
void plain_products(const struct problem *, size_t k, const double *P, double *T, double *W);
/* All products of the operator against them, for 1 to RHS vectors. */
void check_products(const struct problem *, enum precision, bool store);

#endif
