/* compute/kernels/kernel.h -- covariance functions: the registry, and kernel expressions
 * (share/doc/methods.md 2).
 *
 * A kernel is one file of this folder that ends in one `const struct kernel_ops`, and one row of
 * the list in kernels.h.  Parsing, help, completion, bounds, feature maps, exact values and the
 * tests that compare features with exact values all follow from that row.
 *
 * Conventions (share/doc/methods.md 1): the amplitude is 1, so that k(x, x) = 1 for stationary
 * kernels; lengthscales l are in units of the standardised inputs; r = |x - x'|.  Amplitude (beta)
 * and noise (sigma) belong to the model, not to the kernel.
 *
 * An expression is a sum of products, k1 k2 + w^2 k3 + .. (2.18).  Every product after the first
 * has a weight w, its standard deviation over that of the first, so that one amplitude scales the
 * whole. */
#ifndef GPDESK_KERNEL_H
#define GPDESK_KERNEL_H

#include "base/buf.h"
#include "base/status.h"
#include "compute/kernels/layers/layer.h"
#include "compute/kernels/net.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KERNEL_MAX_TERMS = 8, KERNEL_MAX_PARAMS = 5, KERNEL_NAME_MAX = 32 };
enum {
    KERNEL_MAX_GROUPED = 2048 /* largest number of inputs for lengthscales by group */
};

/* A tunable hyperparameter, optimised on the log scale within [lo, hi]. */
struct hparam { const char *name, *unit; double lo, hi, init; const char *help; };
/* A value that is not written as a number: read moves *at behind it, or returns false. */
struct kparam_text {
    bool (*read)(const char **at, double *v);
    void (*write)(double v, struct buf *out);
};
/* A fixed shape parameter written in the kernel string: matern(nu=5/2). */
struct kparam { const char *name; double lo, hi, init; const char *help;
                bool (*valid)(double v); /* NULL: any value in [lo, hi] */
                const char *const *words; /* its values 0, 1 .. by name, ending in NULL; or NULL */
                const struct kparam_text *text; /* or NULL */
};

/* The value of a kernel at two rows x and y as a closed form in one number s, for loops over many
 * pairs.  u and v are x and y over their lengthscales, or as they are where there are none; with
 * `circle` each input x becomes the two numbers (cos, sin)(2 pi x / p) / l, where p is the
 * hyperparameter after the lengthscales.
 *   KERNEL_ONE    1
 *   KERNEL_DOT    (s + c)^p1, s = u.v, p1 a small whole number
 *   KERNEL_GAUSS  exp(-c s), s = |u - v|^2 here and below
 *   KERNEL_DECAY  (1 + p1 a + p2 a^2) exp(-a), a = c sqrt(s)
 *   KERNEL_POWER  (1 + c s)^-p1
 * KERNEL_NONE: there is no such form at these parameters. */
enum kernel_form { KERNEL_NONE, KERNEL_ONE, KERNEL_DOT, KERNEL_GAUSS, KERNEL_DECAY, KERNEL_POWER };
struct kernel_closed { enum kernel_form form; bool circle; double c, p1, p2; };

struct fm_step; /* featmap.h */
struct kernel_ops {
    const char *name, *title, *formula, *cite; /* "matern", "Matern", "(1+a+a^2/3)exp(-a), ...", */
    const struct kparam *params;  /* ends at .name == NULL; may be NULL */
    const struct hparam *hparams; /* ends at .name == NULL; [0] is lengthscale where there is one */
    unsigned rows; /* the kinds of rows that it reads, ROWS_... (layer.h); 0: numbers */
    const char *const *examples;  /* further settings for completion, ending in NULL; or NULL */
    bool of_distance; /* has `pair`, but for a single input depends on the distance only */
    bool blind; /* a constant: it reads no input */
    /* Its features are a net that a tuning learns (net.h), of this shape for rows of that many
     * inputs. */
    bool learns;
    struct net_shape (*shape)(const double *params, size_t inputs);
    enum status (*fits)(const double *params, size_t inputs, struct err *); /* NULL: any do */
    const char *built; /* how it depends on the libraries of this build; NULL: it does not */
    /* The radial factor of frequency j, by which the chi-distributed row length of SORF is
     * multiplied (share/doc/methods.md 3.4 to 3.6); NULL: 1 for all j. */
    double (*radial)(const double *params, uint64_t seed, uint64_t stream, uint64_t j);
    bool (*heavy)(const double *params); /* frequencies need float64 phases (Matern 1/2); or NULL */
    /* Stationary kernels: the value and its derivative in log l, from a = r / l (2.13). */
    double (*exact)(const double *params, double r_over_l);
    double (*dlogl)(const double *params, double r_over_l);
    /* All other kernels have these two instead.  recipe: writes the steps from a row to features,
     * at most KERNEL_RECIPE, and returns how many; indices of hyperparameters, signs, scales and
     * shuffles count from the kernel's own first.  alone: no other factor multiplies it, so that
     * exact features need no random projection.  pair: the value at two rows of d inputs; hp: nl
     * lengthscales (1, or d with ARD) if it has any, then the others; grad (NULL: none):
     * derivatives in the logarithms of hp. */
    size_t (*recipe)(const double *params, bool alone, struct fm_step *out);
    double (*pair)(const double *params, const double *hp, size_t nl, size_t d, const double *x,
                   const double *y, double *grad);
    /* Their gradient in the d inputs of x. */
    void (*slope)(const double *params, const double *hp, size_t nl, size_t d, const double *x,
                  const double *y, double *dx);
    /* The value at amplitude 1 as an expression that C and Python (with NumPy's functions) share,
     * for predictors that are exported as programs.  Its variables: r2 = |u - v|^2, uv = u.v, uu =
     * u.u, vv = v.v, and their angle, where u and v are the two rows after the steps FM_SCALE_IN,
     * FM_CIRCLE and FM_APPEND with which the kernel begins; p0, p1 .. are params.  NULL, or NULL
     * from it: no function of the standard libraries gives the value. */
    const char *(*code)(const double *params);
    struct kernel_closed (*closed)(const double *params); /* NULL: there is no such form */
};
enum { KERNEL_RECIPE = 32 };
const struct kernel_ops *kernel_at(size_t i); /* NULL past the end */
struct kernel;
/* True if for a single input k(x, x') depends on |x - x'| only. */
bool kernel_of_distance(const struct kernel *);
/* NOT_FOUND with the nearest names in the hint. */
const struct kernel_ops *kernel_find(const char *name, struct err *err);

/* One kernel of an expression.
 * times    it multiplies the kernel before it; otherwise it begins a new product of the sum
 * ard      0: one lengthscale for all inputs; KERNEL_ARD: one for each input, whose number is not
 *          known yet (until kernel_bind one value stands for all); else the number of lengthscales
 * grouped  the inputs of a group share a lengthscale
 * layer    the layer around it (ops NULL: none)
 * on       the columns that it reads, as the user names them ("": all)
 * first, count  the numbers of a row that these are (count 0: all, or not bound); a kernel over
 *          windows reads the sequence behind them
 * map      the map that learns before it, mlp(rbf,out=4), with its settings (NULL: none): it reads
 *          the coordinates that this makes of all inputs
 * net      of a kernel that learns, or of its map: the weights, NULL before a tuning */
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
    const struct kernel_ops *map;
    double map_params[KERNEL_MAX_PARAMS];
    const struct net *net;
};
/* A kernel expression.  Plain data; copy by assignment.  Its vector of hyperparameters has for each
 * kernel its hparams in order (with ARD d values, or one for each group, for ops->hparams[0]), and
 * after each product but the first its weight.  Their names are "lengthscale", with ARD
 * "lengthscale[1]" ...; with several kernels they begin with the number of the kernel,
 * "1.lengthscale", "2.weight" (the number of the product's first kernel). */
struct kernel {
    size_t nterms;
    struct kterm term[KERNEL_MAX_TERMS];
    size_t ngrouped; /* inputs of the map; 0: no kernel is bound to groups */
    /* The group of each input of a row, from 0 in order of appearance: a kernel that reads inputs
     * from `first` on begins there in it, too. */
    uint8_t group[KERNEL_MAX_GROUPED];
};
/* The kinds of rows (ROWS_...) that all kernels of an expression, outside layers, can read. */
unsigned kernel_rows(const struct kernel *);
/* True when a kernel reads windows of sequences itself (LAYER_WINDOWS). */
static inline bool kterm_reads_windows(const struct kterm *t)
{
    return layer_kind(&t->layer) == LAYER_WINDOWS;
}
/* The layer of the first of its kernels that stands in a layer of this kind; NULL: none does. */
static inline const struct layer *kernel_layer(const struct kernel *k, enum layer_kind kind)
{
    for (size_t t = 0; t < k->nterms; t++)
        if (layer_kind(&k->term[t].layer) == kind)
            return &k->term[t].layer;
    return NULL;
}
static inline bool kernel_reads_windows(const struct kernel *k)
{
    return kernel_layer(k, LAYER_WINDOWS) != NULL;
}
/* True when some kernel stands in a layer. */
static inline bool kernel_has_layer(const struct kernel *k)
{
    return kernel_reads_windows(k) || kernel_layer(k, LAYER_NUMBERS) != NULL;
}
/* True when its kernels read different inputs of a row, because of `on` or because some stand in a
 * layer. */
bool kernel_reads_parts(const struct kernel *);
/* Fixes what the rows are, and for each kernel over windows the part that it reads (NULL: the
 * first; of others it has no meaning).  SHAPE when the kernel was bound to other rows, LIMIT where
 * a width is too large for them. */
enum status kernel_bind_rows(struct kernel *, const struct row_layout *, const size_t *part,
                             struct err *err);
/* Fixes which numbers of a row kernel t reads.  SHAPE when it was bound to others. */
enum status kernel_bind_inputs(struct kernel *, size_t t, size_t first, size_t count,
                               struct err *err);
/* Undoes the last two functions, for other rows; lengthscales of ard stay bound. */
void kernel_unbind(struct kernel *);
/* For a kernel that was just bound to rows: replaces each layer that has a cheaper equivalent for
 * its windows (conv: dense filters).  The kernel is then printed and saved with that; one that was
 * bound before keeps its layers.  The choice is the same on every machine.  Returns how many layers
 * were replaced. */
size_t kernel_choose_filters(struct kernel *);
/* True when kernel t reads number i of a row. */
bool kernel_reads_input(const struct kernel *, size_t t, size_t i);
/* How many of the d numbers of a row kernel t reads (for windows, the numbers of one window). */
static inline size_t kernel_inputs(const struct kernel *k, size_t t, size_t d)
{
    const struct kterm *term = &k->term[t];

    if (kterm_reads_windows(term))
        return term->layer.width * term->layer.channels;
    if (term->count)
        return term->count;
    const struct layer *windows = kernel_layer(k, LAYER_WINDOWS);
    return windows ? windows->flat : d;
}

/* Parses "rbf", "matern(nu=3/2)", "rbf(l=0.3)", "rbf(ard)" or "rbf ard", "rbf(ard=8)" (8 inputs),
 * "rbf(ard=group)", "rbf(ard=1x4:2:1)" (6 inputs, the fifth is the second group),
 * "rbf * periodic + linear(weight=0.1)".  Values given for hyperparameters go to hp_set (natural
 * scale, NaN where not given; length KERNEL_MAX_HP).  Errors: USAGE with the position in the text,
 * NOT_FOUND. */
enum { KERNEL_MAX_HP = 256 };
enum status kernel_parse(const char *text, struct kernel *out, double hp_set[KERNEL_MAX_HP],
                         struct err *err);
/* Puts new names into the lists of columns behind "on": now(ctx, name) is the new name of a column,
 * NULL where it keeps its name.  False, and the kernel stays as it was, if the result could not be
 * written: a list has less than KERNEL_ON_MOST bytes, and names have no ". */
bool kernel_parse_rename(struct kernel *, const char *(*now)(void *ctx, const char *name),
                         void *ctx);
void kernel_print(const struct kernel *, struct buf *out); /* canonical: "matern(nu=5/2,ard)" */
void kernel_print_param(const struct kparam *, double v, struct buf *out); /* "5/2", "layer" */
/* Fixes the lengthscales of an ARD kernel for d inputs.  group: a number for each input; inputs
 * with equal numbers share a lengthscale where the kernel says ard=group.  With NULL, and in
 * kernel_bind, each input has its own, or the groups of an earlier binding stay.  from[i]
 * (KERNEL_MAX_HP): the index of the earlier hyperparameter from which hyperparameter i starts.
 * LIMIT for more than KERNEL_MAX_HP hyperparameters, SHAPE when bound to other inputs or groups.
 * Without ARD nothing changes. */
enum status kernel_bind_groups(struct kernel *, size_t d, const size_t *group,
                               size_t from[KERNEL_MAX_HP], struct err *err);
enum status kernel_bind(struct kernel *, size_t d, size_t from[KERNEL_MAX_HP], struct err *err);
bool kernel_has_ard(const struct kernel *);
bool kernel_has_groups(const struct kernel *); /* one of its kernels says ard=group */
bool kernel_is_radial(const struct kernel *); /* one kernel, a function of r / l */
/* A bound of |e| / |z| for a row of features z that is rounded to float16, z + e: sqrt(2) 2^-12
 * where all features are sines and cosines (a stationary kernel, or a sum of them), else infinite,
 * because the other features are unbounded or are sums. */
double kernel_half_error(const struct kernel *);
/* For factor t: whether it begins a product; its first hyperparameter, their number, the number of
 * its lengthscales; and the index of its product's weight (SIZE_MAX: the first product has
 * none). */
struct kernel_place { bool first; size_t hp0, nhp, nl, weight; };
struct kernel_place kernel_place(const struct kernel *, size_t t);
/* The index of the hyperparameter that is the lengthscale of input i in factor t, of a bound
 * kernel; SIZE_MAX: there is none. */
size_t kernel_lengthscale_of(const struct kernel *, size_t t, size_t i);
/* True when hyperparameter i is a lengthscale of ard: a long one says that its inputs hardly
 * matter. */
bool kernel_hp_is_ard(const struct kernel *, size_t i);
bool kernel_has_lengthscales(const struct kernel *); /* one of its kernels has one or more */
size_t kernel_nhp(const struct kernel *);                  /* how many hyperparameters */
/* Name ("lengthscale"), bounds and start of hyperparameter i. */
void kernel_hp_info(const struct kernel *, size_t i, char name[KERNEL_NAME_MAX], struct hparam *);
/* The covariance of two standardised rows of d inputs, and its gradient in log hp (kernel_nhp
 * entries; NULL: none). */
double kernel_exact(const struct kernel *, const double *hp, size_t d, const double *x,
                    const double *y, double *grad);
/* The covariance and dx (d) <- its gradient in x, for kernels that have one (share/doc/methods.md
 * 5.13); work: d numbers.  kernel_exact_slopes: false for kernels over windows of sequences and for
 * those whose functions have no derivative, as Matern ones with nu below 1; *which names the
 * kernel. */
double kernel_exact_slope(const struct kernel *, const double *hp, size_t d, const double *x,
                          const double *y, double *dx, double *work);
bool kernel_exact_slopes(const struct kernel *, const char **which);
/* The value of kernel t alone; hp: its own hyperparameters. */
double kernel_exact_term(const struct kernel *, size_t t, const double *hp, size_t d,
                         const double *x, const double *y);
/* The value of a kernel behind a map at two rows of the map's coordinates. */
double kernel_exact_mapped(const struct kterm *, const double *hp, const double *x,
                           const double *y);
/* True when some kernel of the expression has no random features, or two that read windows are
 * multiplied: models are then exact. */
bool kernel_draws_none(const struct kernel *);
/* Maps that learn (kernel_learned.c).  A kernel is one, or stands behind one. */
static inline const struct kernel_ops *kterm_map(const struct kterm *t)
{
    return t->map ? t->map : t->ops->learns ? t->ops : NULL;
}
static inline bool kterm_learns(const struct kterm *t)
{
    return kterm_map(t) != NULL;
}
bool kernel_learns(const struct kernel *); /* one of its kernels does */
const struct kernel_ops *kernel_learned_map(const struct kernel *); /* the first map */
/* The shape of the net of kernel t for rows of that many inputs. */
struct net_shape kernel_learned_shape(const struct kernel *, size_t t, size_t inputs);
/* What maps put behind the inputs of a row, product by product: its numbers; the place of those of
 * the product of kernel t among them; and those that are features themselves (all: no kernel of
 * the expression has random features), 0 from kernel_learned_features where some have. */
struct kernel_block { size_t first, count; };
size_t kernel_learned_numbers(const struct kernel *);
bool kernel_learned_zero(const struct kernel *, size_t number); /* stands beside an odd number */
struct kernel_block kernel_learned_block(const struct kernel *, size_t t);
size_t kernel_learned_copied(const struct kernel *, bool *all);
size_t kernel_learned_features(const struct kernel *);
/* What makes the features of kernel t's net of rows, as net_rows; NULL in its place: net_rows. */
struct kernel_maker {
    enum status (*rows)(void *ctx, size_t t, size_t n, const double *x, size_t stride, double *f,
                        size_t ld, struct err *err);
    void *ctx;
};
/* These numbers for n rows, at most NET_GROUP, of inputs `stride` apart; they begin `ld` apart. */
enum status kernel_learned_rows(const struct kernel *, size_t n, const double *x, size_t stride,
                                double *out, size_t ld, struct err *err);
enum status kernel_learned_rows_by(const struct kernel *, const struct kernel_maker *, size_t n,
                                   const double *x, size_t stride, double *out, size_t ld,
                                   struct err *err);
/* n rows of `had` numbers, `ld` apart, become the products of each with each of q further ones. */
void kernel_learned_multiply(size_t n, size_t had, double *block, size_t ld, size_t q,
                             const double *f);
/* STATE where some map has learned no weights, SHAPE where not for so many inputs (0: any). */
enum status kernel_learned_ready(const struct kernel *, size_t inputs, struct err *err);
/* SHAPE where a map cannot read rows of so many inputs. */
enum status kernel_learned_fits(const struct kernel *, size_t inputs, struct err *err);
/* The nets of its kernels, NULL where there are none. */
struct kernel_nets { const struct net *of[KERNEL_MAX_TERMS]; };
struct kernel_nets kernel_learned_nets(const struct kernel *);
void kernel_learned_take(struct kernel *, const struct kernel_nets *);
bool kernel_learned_same(const struct kernel *, const struct kernel *);
/* UNSUPPORTED where a map stands in an expression that has no features. */
enum status kernel_learned_check(const struct kernel *, struct err *err);
/* The layer without random features; NULL: none is. */
const struct layer_ops *kernel_drawn_none(const struct kernel *);
/* True when some kernel of the expression counts words: models are exact unless features= is given,
 * although it has features. */
bool kernel_counts_words(const struct kernel *);
/* True for kernels of counts, whose spectrum falls so slowly that features cost accuracy: up to
 * some thousand rows models with them are better exact. */
bool kernel_is_flat(const struct kernel *);

#endif
