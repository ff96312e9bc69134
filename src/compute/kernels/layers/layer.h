/* compute/kernels/layers/layer.h -- layers: they stand between a row that holds a sequence and the
 * kernels of an expression, as in conv(rbf,width=9) (share/doc/methods.md 4).
 *
 * A layer is one file of this folder that ends in one `const struct layer_ops`, one row of the list
 * below and one line of make.  Parsing, printing, help, completion, binding, feature maps, exact
 * values and encodings use the row and know no layer by name. */
#ifndef GPDESK_LAYER_H
#define GPDESK_LAYER_H

#include "base/status.h"
#include "compute/kernels/layers/row_layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a layer treats the sequence in a row (row_layout.h).
 * LAYER_WINDOWS: the kernel inside reads the windows itself and is summed over all pairs of them.
 * LAYER_NUMBERS: the sequence becomes a fixed list of numbers, which the kernels inside read like
 * other inputs. */
enum layer_kind { LAYER_NONE, LAYER_WINDOWS, LAYER_NUMBERS };

/* The factor c of a sum over m windows: 1/sqrt(m), 1 or 1/m (share/doc/methods.md 4.5). */
enum layer_average { AVERAGE_SQRT, AVERAGE_NONE, AVERAGE_FULL };
/* What is drawn for a symbol of counts (features/hash.h): a sign or a normal number. */
enum layer_symbol { SYMBOL_SIGNS, SYMBOL_GAUSS };
/* What is done about the terms of a series that its features leave out (features/tensor.h). */
enum layer_bias { BIAS_NONE, BIAS_NORMALIZE, BIAS_SKETCH };
/* How the vectors of nodes are scaled: each number standardised; each vector to length 1; or the
 * given numbers divided by one common factor.  It has no meaning for symbols. */
enum layer_norm { NORM_STANDARD, NORM_UNIT, NORM_RAW };

/* What a layer over symbols compares: words anywhere, pairs of them with up to `gap` letters
 * between, or words by their places. */
enum layer_counted { COUNTED_NOTHING, COUNTED_WORDS, COUNTED_PAIRS, COUNTED_PLACES };

struct layer_ops;
/* A layer in use.  Plain data; copy by assignment. */
struct layer {
    const struct layer_ops *ops; /* NULL: none */
    enum layer_average average;  /* LAYER_WINDOWS */
    enum layer_norm norm;        /* LAYER_WINDOWS */
    enum layer_symbol symbol;    /* kernels of counts by hashes */
    enum layer_bias bias;        /* kernels of counts by a series, with the next four: */
    size_t terms;                /* how many of its terms have features, */
    double shares;               /* of which term r gets a share proportional to r^shares; */
    double largest, zeta;        /* the largest norm of the training rows, 0: not known, and the
                                  * square of the ratio of the least one to it */
    size_t width;                /* positions of a window; letters of the longest words */
    size_t shortest;             /* letters of the shortest words; 0: all have `width` */
    size_t mismatches;           /* letters by which words that count as equal may differ */
    size_t gap;                  /* the most letters between two words of a pair */
    size_t shift;                /* places by which equal words may be apart */
    unsigned strands;            /* nonzero: a word of ACGT and its reverse complement are one */
    unsigned cosine;             /* nonzero: values are divided by the lengths as vectors */
    size_t filters;              /* LAYER_NUMBERS: how many numbers it makes */
    bool chosen;      /* ops was chosen by kernel_choose_filters; another binding may choose
                       * differently */
    bool symbols;     /* positions hold symbols, not vectors */
    size_t channels;  /* numbers of a position, or number of symbols; 0: not bound to rows */
    size_t others;    /* the last of the symbols that are no letters of words (row_layout.h) */
    size_t positions; /* length of the longest training row, for costs; 0: not known */
    /* LAYER_WINDOWS: the part of a row that it reads (row_layout.h): the numbers of a row, the
     * index of the part and how many there are; 0 parts: it is the only one. */
    size_t flat, part, parts;
};
enum { KERNEL_WIDTH_MOST = 1024, KERNEL_FILTERS_MOST = 65536 };

/* A setting in the brackets of a layer, behind the kernels inside.  A list ends at .name == NULL
 * and is in the order in which settings are printed. */
struct layer_setting {
    const char *name;
    size_t offset;            /* of its field in struct layer */
    size_t from;              /* of the field for the lower end of a range, as n=1..5; 0: none */
    double most;              /* its value is a whole number from 1 to this; or 0, and one of */
    bool zero;                /* it may be 0, too */
    const char *const *words; /* these words, which end in NULL; the field is an enum */
    const char *expected;     /* the words, for messages */
    bool quiet;               /* the first word, or where it starts, is not printed */
    double lo, hi;            /* lo < hi: instead its value is a number from lo to hi, or 0 */
};

struct fm_step;
struct kernel;
struct kernel_ops;
struct kterm;
/* LAYER_NUMBERS: the map that is drawn once and then applied to each row (layer_map.h). */
struct layer_map_ops {
    void *(*make)(const struct layer *, uint64_t seed, struct err *err);
    void (*free)(void *map);
    enum status (*refer)(void *map, const double *row, struct err *err);
    enum status (*apply)(const void *map, const double *row, double *numbers, struct err *err);
};

/* LAYER_WINDOWS: the values of many pairs at once.  They are those of `exact`, bit for bit. */
struct layer_tile_ops {
    /* Prepares `rows` rows, at most KERNEL_TILE, for the kernel with that layer; the sequence of
     * row j begins at y + j * stride and is borrowed.  NULL: no memory. */
    void *(*make)(const struct kterm *, size_t rows, const double *y, size_t stride);
    void (*free)(void *tile);
    /* out[i + j * ld] <- k(row i of x, row j of the tile) for m rows of x. */
    void (*values)(const void *tile, size_t m, const double *x, size_t stride, double *out,
                   size_t ld);
};

/* LAYER_WINDOWS: kernels that are dot products of counts of words, for features (words.h). */
typedef void layer_word_fn(void *ctx, uint64_t word, double weight);
struct layer_word_ops {
    /* How many different words there can be; 0: that is not known. */
    double (*kinds)(const struct layer *);
    /* Hands down the words of a sequence x one by one, with the square root of what a pair of them
     * counts.  numbered: as numbers below kinds; else as any 64 bits. */
    void (*each)(const struct layer *, const double *x, bool numbered, layer_word_fn *, void *ctx);
    /* By which all counts of a row are divided. */
    double (*length)(const struct layer *, const double *x);
    /* The letters of the shortest word: a row with fewer has none, and is no error. */
    size_t (*least)(const struct layer *);
};

struct layer_ops {
    const char *name, *title, *formula, *cite;
    const char *example;                  /* for completion */
    const char *help;                     /* lines of `help kernels` */
    enum layer_kind kind;
    unsigned rows;                        /* the kinds of rows that it can read, ROWS_... */
    const struct layer_ops *family;       /* the layer under whose name sessions keep its rows;
                                           * NULL: this one */
    /* Its value is a sum over pairs of words of `shortest` to `width` letters. */
    enum layer_counted counted;
    struct layer start;                   /* its default settings */
    const struct layer_setting *settings; /* NULL: none */
    const char *hint;                     /* for a setting that it does not have */
    /* The kernel inside when none can be chosen; its parameters are settings of the layer. */
    const struct kernel_ops *inside;
    /* Refuses kernels (from `from` on) that cannot stand inside.  NULL: any can. */
    enum status (*check)(const struct kernel *, size_t from, struct err *err);
    /* The largest width for the channels that it is bound to.  NULL: there is no limit. */
    size_t (*widest)(const struct layer *);
    /* LAYER_WINDOWS: the value at two rows; x and y point at their sequences.  hp: those of the
     * kernel inside; grad (NULL: none): derivatives in their logarithms. */
    double (*exact)(const struct kterm *, const double *hp, const double *x, const double *y,
                    double *grad);
    const struct layer_tile_ops *tile; /* NULL: pair by pair, by `exact` */
    const struct layer_word_ops *words; /* NULL: it is no kernel of words */
    bool drawn_none; /* it has no random features: models are exact */
    /* Writes the steps that project a window for a stationary kernel inside and returns how many.
     * NULL: kernel_gaussian_steps. */
    size_t (*project)(struct fm_step *out);
    /* A layer with the same kernel that is cheaper for these windows; NULL: none. */
    const struct layer_ops *(*cheaper)(const struct layer *);
    const struct layer_map_ops *map;      /* LAYER_NUMBERS */
};

/* The registry: a row for each layer, in the order in which help lists them. */
#define LAYER_ROWS(row)   \
    row(layer_conv)       \
    row(layer_fastconv)   \
    row(layer_graph)      \
    row(layer_graphpoly)  \
    row(layer_convdense)  \
    row(layer_spectrum)   \
    row(layer_mismatch)   \
    row(layer_gappy)      \
    row(layer_tanimoto)   \
    row(layer_tanimotodp) \
    row(layer_wd)

#define LAYER_DECLARED(name) extern const struct layer_ops name;
LAYER_ROWS(LAYER_DECLARED)
#undef LAYER_DECLARED

/* kernel_ops.recipe of what stands inside a kernel of words: FM_WORDS. */
size_t layer_words_recipe(const double *params, bool alone, struct fm_step *out);
const struct layer_ops *layer_at(size_t i);           /* NULL past the end */
const struct layer_ops *layer_find(const char *name); /* NULL: there is none */
/* The setting that is its width: "width" of windows, "n" of words; NULL: it has none to choose. */
const char *layer_width_name(const struct layer_ops *); /* NULL is fine */

static inline enum layer_kind layer_kind(const struct layer *l)
{
    return l->ops ? l->ops->kind : LAYER_NONE;
}
/* The positions that a row needs. */
static inline size_t layer_least(const struct layer *l)
{
    return l->ops && l->ops->words ? 1 : l->width;
}
/* True when two layers make the same numbers of a sequence, or none. */
static inline bool layer_same_numbers(const struct layer *a, const struct layer *b)
{
    return layer_kind(a) == layer_kind(b) &&
           (layer_kind(a) != LAYER_NUMBERS || (a->width == b->width && a->filters == b->filters));
}
/* The index in a row at which the part begins that a layer over windows reads. */
static inline size_t layer_first(const struct layer *l, const double *row)
{
    return l->parts > 1 ? (size_t)row[l->flat + l->part] : l->flat;
}
/* What its positions hold: ROWS_... */
static inline unsigned layer_rows(const struct layer *l)
{
    return l->symbols ? ROWS_SYMBOLS : l->ops->rows & ROWS_COUNTS ? ROWS_COUNTS : ROWS_VECTORS;
}
/* The row under whose name sessions keep how a sequence is read; NULL: no layer. */
static inline const struct layer_ops *layer_family(const struct layer *l)
{
    return l->ops && l->ops->family ? l->ops->family : l->ops;
}

#endif
