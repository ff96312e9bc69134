/* compute/models/exact_form.h -- a kernel expression in the form in which loops over pairs of rows
 * compute it: a sum of products of functions of a distance or of a scalar product
 * (share/doc/methods.md 5.8, 5.9). */
#ifndef GPDESK_EXACT_FORM_H
#define GPDESK_EXACT_FORM_H

#include "compute/backend.h"
#include "compute/cpu/pairs.h"
#include "compute/models/exact.h"

/* One factor.  It reads `inputs` numbers of a row, those with one entry (pairs.h) first: number i
 * is that at place[i], and inv[i] (x - centre[i]) or, with turn > 0, the two numbers (cos, sin)
 * (turn x) inv[i] are its entries.  inv: 1 / lengthscale, times the scale of the closed form.
 * first: it begins a product. */
struct exact_factor {
    struct pairs_value value;
    struct pairs_entries entries;
    bool first;
    double turn;
    size_t inputs, *place;
    double *inv, *centre;
    float *panels; /* of all rows */
};
struct exact_form {
    size_t n, d, factors;
    struct exact_factor factor[KERNEL_MAX_TERMS];
    float *tables; /* of the factors without closed form; NULL: all have one */
};

/* The form of a kernel with its rows packed: 4 bytes for each number that a factor reads, 8 where
 * the number is large beside its lengthscale.  *out is NULL if the kernel has no such form: then
 * it is computed pair by pair.  NOMEM is the only failure.  The caller frees it. */
enum status exact_form_new(const struct exact_rows *, struct exact_form **out, struct err *);
void exact_form_free(struct exact_form *); /* NULL is fine */
/* True if the kernel has such a form, which is then not kept. */
bool exact_form_has(const struct kernel *, size_t d);
/* Floats of a row in all factors. */
size_t exact_form_entries(const struct exact_form *);
/* Tiles of PAIRS_COLS columns, and the columns of tile t in whole panels. */
static inline size_t exact_form_tiles(const struct exact_form *form)
{
    return (form->n + PAIRS_COLS - 1) / PAIRS_COLS;
}
static inline size_t exact_form_cols(const struct exact_form *form, size_t t)
{
    const size_t left = form->n - t * PAIRS_COLS;

    return left < PAIRS_COLS ? (left + PAIRS_PANEL - 1) / PAIRS_PANEL * PAIRS_PANEL : PAIRS_COLS;
}
/* Writes the entries of row x (d inputs) as row r of a group, all factors one after another. */
void exact_form_row(const struct exact_form *, const double *x, size_t r, float *group);
/* K <- the values of `rows` rows of a group with the columns of tile t.  K, S and P have
 * PAIRS_GROUP x PAIRS_COLS floats; S and P are scratch. */
struct exact_scratch { float *K, *S, *P; };
void exact_form_values(const struct exact_form *, const struct pairs_loops *, size_t t,
                       const float *group, size_t rows, const struct exact_scratch *);

/* True for a kernel of one factor that falls with a distance.  exact_form_numbers writes the
 * numbers behind such values, squared scaled distances, to S (PAIRS_GROUP x PAIRS_COLS). */
bool exact_form_falls(const struct exact_form *);
void exact_form_numbers(const struct exact_form *, const struct pairs_loops *, size_t t,
                        const float *group, size_t rows, float *S);

/* A kernel that a device computes (backend_radial): entry f d + i of `inv`, table, weight and
 * closed form of each factor.  False where a factor is not a function of one distance between
 * inputs. */
bool exact_form_radial(const struct kernel *, const double *hp, size_t d, float *inv, float *tables,
                       float *weights, struct backend_closed *closed);

#endif
