/* compute/inducing/basis.h -- a set of inducing points that grows and changes one by one, with its
 * bound or likelihood at a fixed amplitude and noise: a point that is added or exchanged costs
 * O(n m + m^2), not a new factorisation (share/doc/methods.md 22.5, 22.6).
 *
 * The span of the points has an orthonormal basis (in the norm of the kernel) that follows the
 * points: row i of the lower triangular L are the coordinates of point i, L L' = K_zz.  Column k of
 * V (n x m) holds S times basis function k at the rows, Q1 = V V'. */
#ifndef GPDESK_BASIS_H
#define GPDESK_BASIS_H

#include "compute/inducing/columns.h"
#include "compute/likelihood/nmll.h"

/* Points whose distance from the span of the others, squared, is below this share of k(z, z) count
 * as spanned: they cannot be told from it in double precision. */
#define BASIS_SPANNED 1e-10

/* Over n rows with t targets y (multiplied by the row factors); amplitude of each target, ratio of
 * noise to amplitude.  bound: the term of the trace counts (VFE), else not (DTC).  y NULL: the span
 * alone is kept, without values at the rows.  Everything is borrowed. */
struct basis_of {
    const struct columns_of *rows;
    const double *y, *amplitude;
    size_t t;
    double ratio;
    bool bound;
};
struct basis {
    struct basis_of of;
    size_t n, d, m, most; /* points, and the most of them */
    struct columns *rows, *points;
    double *Z;           /* most x d: the points, in slots; */
    size_t *slot;        /* place i in the order of L is slot[i] */
    double *L;           /* most x most */
    double *V, *G, *C;   /* n x most; V'V; (ratio I + V'V)^-1 (most x most each) */
    double *b;           /* t x most: V'y */
    double *own, *missed; /* n: diag(K1), diag(K1 - Q1) */
    double logdet, trace, yty[TARGETS_MOST]; /* log|ratio I + V'V|; of missed */
    double value;        /* minus the log likelihood or bound */
};
/* NOMEM. */
enum status basis_new(const struct basis_of *, size_t most, struct basis *, struct err *);
void basis_free(struct basis *);

/* A point that may come in: its column and what follows from it. */
struct basis_try {
    double *a, *g, *h; /* its coordinates; V'q; C g (most of each) */
    double *q;         /* n: S times the new basis function */
    double d, gamma, s, qy[TARGETS_MOST]; /* its distance from the span, squared; q'q; the pivot
                                           * ratio + q'q - g'C g that it adds to C^-1; q'y */
    bool spanned;
    double value;      /* minus the log likelihood or bound with it; +inf: spanned */
};
/* `p` of them in one allocation, freed by basis_try_free. */
struct basis_try *basis_try_new(const struct basis *, size_t p, struct err *);
void basis_try_free(struct basis_try *); /* NULL is fine */
/* Computes p points Z (p x d) for being added. */
enum status basis_tries(const struct basis *, size_t p, const double *Z, struct basis_try *,
                        struct err *);
/* The same for training row `row`, whose column of S K1 is in t->q. */
void basis_row(const struct basis *, size_t row, struct basis_try *t);
/* The same for one that would replace the point at a place in the order of L. */
enum status basis_exchange(const struct basis *, size_t place, const double *z, struct basis_try *,
                           struct err *);
/* Adds a point that was computed by basis_tries and is not spanned. */
void basis_add(struct basis *, const double *z, const struct basis_try *);
/* Takes out the point at a place; those behind it move up. */
void basis_remove(struct basis *, size_t place);
/* Computes everything anew from the points, as after many exchanges. */
enum status basis_refresh(struct basis *, struct err *);
/* Point at a place. */
static inline const double *basis_point(const struct basis *b, size_t place)
{
    return b->Z + b->slot[place] * b->d;
}

#endif
