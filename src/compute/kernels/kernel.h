/* compute/kernels/kernel.h -- covariance functions: the registry, and a kernel expression in use.
 *
 * A kernel is one file of this folder that ends in one `const struct kernel_ops`, and one row of
 * the list in kernels.h.  From that row come parsing, help, completion, bounds, feature maps, exact
 * forms and the tests that hold the one to the other.
 *
 * Conventions (share/doc/methods.md 1): amplitude 1, so k(x,x) = 1 for stationary kernels; the
 * lengthscale l is 1/s in units of the standardised inputs; r = |x - x'|.  Amplitude (beta) and
 * noise (sqrt(lam2)) belong to the model, not to the kernel.
 *
 * An expression is a sum of products, k1 k2 + w^2 k3 + ..: every product after the first has a
 * weight w, its standard deviation over that of the first, so that one amplitude scales all. */
#ifndef GPDESK_KERNEL_H
#define GPDESK_KERNEL_H

#include "base/buf.h"
#include "base/status.h"
#include "compute/kernels/layers/layer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KERNEL_MAX_TERMS = 8, KERNEL_MAX_PARAMS = 4, KERNEL_NAME_MAX = 32 };
enum {
    KERNEL_MAX_GROUPED = 2048
}; /* inputs of a kernel with a lengthscale for each group of them */

/* A tunable hyperparameter, optimised on the log scale within [lo, hi]. */
struct hparam { const char *name, *unit; double lo, hi, init; const char *help; };
/* A fixed shape parameter written in the kernel string: matern(nu=5/2). */
struct kparam { const char *name; double lo, hi, init; const char *help;
                bool (*valid)(double v); /* NULL: any value in [lo, hi] */ };

struct fm_step; /* featmap.h */
struct kernel_ops {
    const char *name, *title, *formula, *cite; /* "matern", "Matern", "(1+a+a^2/3)exp(-a), ...", */
    const struct kparam *params;  /* ends at .name == NULL; may be NULL */
    const struct hparam *hparams; /* ends at .name == NULL; [0] is lengthscale where there is one */
    unsigned rows; /* ROWS_..., which it reads (layer.h); 0: numbers */
    const char *const *examples;  /* settings that completion offers, too; NULL-terminated; NULL */
    bool of_distance; /* a kernel of `pair` that, of one input, depends on the distance alone */
    bool blind; /* the same for all rows: no input matters to it */
    const char *built; /* what of it depends on how the program was built; NULL: nothing */
    /* The radial factor of frequency j: the chi-distributed SORF row length is multiplied by it
     * (share/doc/methods.md 3.4); NULL: 1 for all j. */
    double (*radial)(const double *params, uint64_t seed, uint64_t stream, uint64_t j);
    bool (*heavy)(const double *params); /* frequencies need float64 phases (Matern 1/2); or NULL */
    /* Exact value and its derivative in log l, from a = r / l (r scaled). Stationary kernels. */
    double (*exact)(const double *params, double r_over_l);
    double (*dlogl)(const double *params, double r_over_l);
    /* All other kernels have these two instead.  recipe: the steps from a row to features, at most
     * KERNEL_RECIPE; hyperparameters, signs, scales and shuffles are counted from the kernel's own
     * first; alone: no other factor multiplies it (what it then writes itself needs no random
     * projection).  pair: the value at two rows of d inputs; hp: nl lengthscales where it has
     * them (1, or d with ARD), then the others; grad (NULL: none) in their logarithms. */
    size_t (*recipe)(const double *params, bool alone, struct fm_step *out);
    double (*pair)(const double *params, const double *hp, size_t nl, size_t d, const double *x,
                   const double *y, double *grad);
};
enum { KERNEL_RECIPE = 32 };
const struct kernel_ops *kernel_at(size_t i); /* NULL past the end */
struct kernel;
/* True if k(x, x') of one input depends on |x - x'| alone. */
bool kernel_of_distance(const struct kernel *);
/* NOT_FOUND with the nearest names in the hint. */
const struct kernel_ops *kernel_find(const char *name, struct err *err);

/* One kernel of an expression.  times: multiplies the one before, else added.  ard: 0, one
 * lengthscale for all inputs; KERNEL_ARD, one for each of inputs not yet counted (one value stands
 * for all until kernel_bind); else how many.  grouped: inputs of one group share a lengthscale.
 * layer: what it stands in; ops NULL: nothing.  on: the columns that it reads, as the user
 * names them ("": all); first, count: which numbers of a row these are (count 0: all, or not
 * bound); a kernel over windows reads the sequence behind them. */
#define KERNEL_ARD SIZE_MAX
enum { KERNEL_ON_MOST = 120 };
struct kterm {
    const struct kernel_ops *ops;
    double params[KERNEL_MAX_PARAMS];
    size_t ard;
    bool grouped, times;
    struct layer layer;
    char on[KERNEL_ON_MOST];
    size_t first, count;
};
/* A kernel expression.  Plain data; copy by assignment.  Hyperparameter vector: of each kernel its
 * hparams in order, with ARD d values (or one for each group) for ops->hparams[0]; after each
 * product but the first its weight.  Names: "lengthscale", with ARD "lengthscale[1]" ...; with
 * several kernels prefixed by their numbers, "1.lengthscale", "2.weight" (the number of the
 * product's first kernel). */
struct kernel {
    size_t nterms;
    struct kterm term[KERNEL_MAX_TERMS];
    size_t ngrouped; /* inputs of the map; 0: no kernel is bound to groups */
    uint8_t group[KERNEL_MAX_GROUPED]; /* of each input, counted from 0 in order of appearance */
    struct layer layer; /* the first that a kernel stands in, and the widest width of any */
};
/* What all kernels of an expression read of the rows they share, outside layers: ROWS_.... */
unsigned kernel_rows(const struct kernel *);
/* Does a kernel read windows of sequences itself (LAYER_WINDOWS)? */
static inline bool kernel_reads_windows(const struct kernel *k)
{
    return layer_kind(&k->layer) == LAYER_WINDOWS;
}
static inline bool kterm_reads_windows(const struct kterm *t)
{
    return layer_kind(&t->layer) == LAYER_WINDOWS;
}
/* Do its kernels read different inputs of a row: because of `on`, or beside a layer? */
bool kernel_reads_parts(const struct kernel *);
/* Fixes what a position is and how many numbers stand before the sequence; SHAPE: the kernel was
 * made for other rows. */
enum status kernel_bind_rows(struct kernel *, size_t channels, bool symbols, size_t positions,
                             struct err *err);
enum status kernel_bind_flat(struct kernel *, size_t flat, struct err *err);
/* Fixes which numbers kernel t reads; SHAPE: it was made to read others. */
enum status kernel_bind_inputs(struct kernel *, size_t t, size_t first, size_t count,
                               struct err *err);
/* Undoes these three, for other rows; lengthscales of ard stay bound. */
void kernel_unbind(struct kernel *);
/* Of a kernel that was just bound to rows: each layer that has a cheaper row for its windows
 * (conv: dense filters) becomes that, which is how the kernel is printed and saved from then
 * on; a kernel that was bound before keeps what it has.  The same choice on every machine.  Returns
 * how many. */
size_t kernel_choose_filters(struct kernel *);
/* Does kernel t read number i of a row? */
bool kernel_reads_input(const struct kernel *, size_t t, size_t i);
/* How many numbers kernel t reads of rows with d of them (of windows, those of one window). */
size_t kernel_inputs(const struct kernel *, size_t t, size_t d);

/* "rbf", "matern(nu=3/2)", "rbf(l=0.3)", "rbf(ard)" or "rbf ard", "rbf(ard=8)" (for 8 inputs),
 * "rbf(ard=group)", "rbf(ard=1x4:2:1)" (6 inputs, the fifth is the second group),
 * "rbf * periodic + linear(weight=0.1)".  Values given for hyperparameters go to hp_set (natural
 * scale, NaN where not given; length KERNEL_MAX_HP).  Errors: USAGE with position, NOT_FOUND. */
enum { KERNEL_MAX_HP = 256 };
enum status kernel_parse(const char *text, struct kernel *out, double hp_set[KERNEL_MAX_HP],
                         struct err *err);
void kernel_print(const struct kernel *, struct buf *out); /* canonical: "matern(nu=5/2,ard)" */
/* Fixes the lengthscales of an ARD kernel for d inputs.  group: any number for each input, equal
 * ones share a lengthscale where the kernel says ard=group; NULL, and kernel_bind: each its own, or
 * as before where it is bound.  from[i] (KERNEL_MAX_HP): which of the
 * hyperparameters before is the start of hyperparameter i.  LIMIT: more of them than
 * KERNEL_MAX_HP; SHAPE: already made for other inputs or groups.  Nothing changes without ARD. */
enum status kernel_bind_groups(struct kernel *, size_t d, const size_t *group,
                               size_t from[KERNEL_MAX_HP], struct err *err);
enum status kernel_bind(struct kernel *, size_t d, size_t from[KERNEL_MAX_HP], struct err *err);
bool kernel_has_ard(const struct kernel *);
bool kernel_has_groups(const struct kernel *); /* one of its kernels says ard=group */
bool kernel_is_radial(const struct kernel *); /* one kernel, a function of r / l */
/* Bound of |e| / |z| for a row z of features and its rounding to float16, z + e: sqrt(2) 2^-12
 * where all are sines and cosines (one stationary kernel, or a sum of them); infinite for all
 * others, whose features have no bound or are sums. */
double kernel_half_error(const struct kernel *);
/* Of factor t: does it begin a product; its first hyperparameter and how many it has; the weight of
 * its product (SIZE_MAX: the first product has none). */
struct kernel_place { bool first; size_t hp0, nhp, nl, weight; };
struct kernel_place kernel_place(const struct kernel *, size_t t);
/* The hyperparameter that is the lengthscale of input i in factor t (bound); SIZE_MAX: it has none.
 */
size_t kernel_lengthscale_of(const struct kernel *, size_t t, size_t i);
size_t kernel_nhp(const struct kernel *);                  /* how many hyperparameters */
/* Name ("lengthscale"), bounds and start of hyperparameter i. */
void kernel_hp_info(const struct kernel *, size_t i, char name[KERNEL_NAME_MAX], struct hparam *);
/* Exact covariance of two standardised rows, and its gradient in log hp (grad may be NULL). */
double kernel_exact(const struct kernel *, const double *hp, size_t d, const double *x,
                    const double *y, double *grad);

#endif
