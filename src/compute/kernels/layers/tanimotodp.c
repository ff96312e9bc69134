/* compute/kernels/layers/tanimotodp.c -- tanimotodp: the Tanimoto similarity by dot products, of
 * two rows of counts as vectors, each count to a power (share/doc/methods.md 4.9; Ralaivola et al.
 * 2005; Tripp et al. 2023, theorem 4.1).  It has no hyperparameters; two rows without any count are
 * equal.  Where all counts are 0 or 1 it is the kernel tanimoto. */
#include "compute/features/featmap.h"
#include "compute/kernels/kernel.h"
#include "compute/kernels/kernel_tile.h"
#include "compute/kernels/layers/layer.h"
#include "compute/kernels/layers/places.h"

#include <math.h>
#include <stdlib.h>

/* What counts are divided by, and the power that they are raised to. */
struct form { double by, power; };

static double entry(const struct form *f, const double *x, size_t i)
{
    const double v = places_value(x, i) / f->by;

    return f->power == 0.5 ? sqrt(v) : f->power == 1.0 ? v : pow(v, f->power);
}

static double largest(const double *x, double least)
{
    for (size_t i = 0; i < places_count(x); i++)
        least = fmax(least, places_value(x, i));
    return least;
}

/* x.y; places are in ascending order, so that both rows are read once. */
static double dot(const struct form *f, const double *x, const double *y)
{
    const size_t m = places_count(x), n = places_count(y);
    double sum = 0.0;

    for (size_t i = 0, j = 0; i < m && j < n;) {
        const double p = places_at(x, i), q = places_at(y, j);
        if (p == q)
            sum += entry(f, x, i) * entry(f, y, j);
        i += p <= q;
        j += q <= p;
    }
    return sum;
}

/* x.y / (x.x + y.y - x.y).  It does not change when both rows are divided by one number: where
 * squares are too large or too small for a double, that is the largest count. */
static double tanimotodp_exact(const struct kterm *t, const double *hp, const double *x,
                               const double *y, double *grad)
{
    struct form f = { 1.0, t->params[0] };
    double xy = dot(&f, x, y), all = dot(&f, x, x) + dot(&f, y, y) - xy;

    (void)hp, (void)grad;
    if (places_count(x) + places_count(y) == 0)
        return 1.0;
    if (!(all >= 1e-200 && all <= 1e200)) {
        f.by = largest(y, largest(x, 0.0));
        xy = dot(&f, x, y);
        all = dot(&f, x, x) + dot(&f, y, y) - xy;
    }
    return all > 0.0 ? xy / all : 1.0;
}

/* Tiles: for each place that occurs in one of its rows, the entries of all of them side by side.  A
 * row's dot products with all of them are added up place by place, in the order of dot. */

/* in: the places of the tile; entry: KERNEL_TILE for each place, 0 where a row has none; square:
 * y.y of each row. */
struct tile {
    const struct kterm *k;
    struct places_index in;
    size_t rows, stride;
    double *entry, square[KERNEL_TILE];
    const double *y;
};

static void tile_free(void *tile)
{
    struct tile *t = tile;

    if (t == NULL)
        return;
    places_index_free(&t->in);
    free(t->entry);
    free(t);
}

static void *tile_make(const struct kterm *k, size_t rows, const double *y, size_t stride)
{
    const struct form f = { 1.0, k->params[0] };
    struct tile *t = calloc(1, sizeof *t);
    size_t all = 0;

    if (t == NULL)
        return NULL;
    *t = (struct tile){ .k = k, .rows = rows, .y = y, .stride = stride };
    for (size_t j = 0; j < rows; j++)
        all += places_count(y + j * stride);
    if (places_index_init(&t->in, all)) {
        for (size_t j = 0; j < rows; j++)
            places_enter(&t->in, y + j * stride);
        t->entry = calloc(t->in.n + 1, KERNEL_TILE * sizeof *t->entry);
    }
    if (t->entry == NULL) {
        tile_free(t);
        return NULL;
    }
    for (size_t j = 0; j < rows; j++, y += stride) {
        for (size_t i = 0; i < places_count(y); i++) {
            const size_t at = places_find(&t->in, (uint32_t)places_at(y, i)) - 1;
            t->entry[at * KERNEL_TILE + j] = entry(&f, y, i);
        }
        t->square[j] = dot(&f, y, y);
    }
    return t;
}

static void tile_values(const void *tile, size_t m, const double *x, size_t stride, double *out,
                        size_t ld)
{
    const struct tile *t = tile;
    const struct form f = { 1.0, t->k->params[0] };

    for (size_t r = 0; r < m; r++, x += stride) {
        double sum[KERNEL_TILE] = { 0.0 }, square = 0.0;
        for (size_t i = 0; i < places_count(x); i++) {
            const size_t at = places_find(&t->in, (uint32_t)places_at(x, i));
            const double v = entry(&f, x, i);
            square += v * v;
            if (at == 0)
                continue;
            const double *y = t->entry + (at - 1) * KERNEL_TILE;
            for (size_t j = 0; j < KERNEL_TILE; j++)
                sum[j] += v * y[j];
        }
        for (size_t j = 0; j < t->rows; j++) {
            const double all = square + t->square[j] - sum[j];
            out[r + j * ld] = all >= 1e-200 && all <= 1e200
                                  ? sum[j] / all
                                  : tanimotodp_exact(t->k, NULL, x, t->y + j * t->stride, NULL);
        }
    }
}

static const struct layer_tile_ops tile_ops = { tile_make, tile_free, tile_values };

#define TITLE "Similarity of counts by dot products"
#define FORMULA "a.b / (a.a + b.b - a.b), a and b counts to a power; 1 for two rows without counts"
#define CITE "Ralaivola et al. 2005; Tripp et al. 2023"

/* What stands inside is never evaluated: the layer compares whole rows. */
static double counts_pair(const double *params, const double *hp, size_t nl, size_t d,
                          const double *x, const double *y, double *grad)
{
    (void)params, (void)hp, (void)nl, (void)d, (void)x, (void)y, (void)grad;
    return 1.0;
}

static const struct hparam none[] = { { 0 } };

static const struct kparam powers[] = {
    { "power", 0.01, 2.0, 0.5, "a number from 0.01 to 2", NULL, NULL, NULL },
    { 0 },
};

/* The features are sketches of the first terms of a series (features/tensor.h). */
static size_t counts_recipe(const double *params, bool alone, struct fm_step *out)
{
    (void)alone;
    out[0] = (struct fm_step){ .op = FM_TENSOR, .value = params[0] };
    return 1;
}

/* The residual of the series is made of a last term and of those before it. */
static enum status check_bias(const struct kernel *k, size_t from, struct err *err)
{
    const struct layer *l = &k->term[from].layer;

    if (l->bias != BIAS_SKETCH || l->terms > 1)
        return ST_OK;
    err_set(err, ST_USAGE, "tanimotodp: bias=sketch needs two terms or more");
    err_hint(err, "kernel tanimotodp(terms=2,bias=sketch)");
    return ST_USAGE;
}

static const char *const biases[] = { "none", "normalize", "sketch", NULL };
static const struct layer_setting settings[] = {
    { .name = "terms", .offset = offsetof(struct layer, terms), .most = 8.0, .quiet = true },
    { .name = "shares", .offset = offsetof(struct layer, shares), .lo = -4.0, .hi = 4.0,
      .quiet = true },
    { .name = "bias", .offset = offsetof(struct layer, bias), .words = biases,
      .expected = "none, normalize or sketch", .quiet = true },
    { .name = "largest", .offset = offsetof(struct layer, largest), .lo = 1e-150, .hi = 1e150,
      .quiet = true },
    { .name = "zeta", .offset = offsetof(struct layer, zeta), .lo = 1e-4, .hi = 1.0,
      .quiet = true },
    { 0 },
};

static const struct kernel_ops counts = {
    .name = "products",
    .title = TITLE,
    .formula = FORMULA,
    .cite = CITE,
    .params = powers,
    .hparams = none,
    .recipe = counts_recipe,
    .pair = counts_pair,
};

const struct layer_ops layer_tanimotodp = {
    .name = "tanimotodp",
    .title = TITLE,
    .formula = FORMULA,
    .cite = CITE,
    .example = "tanimotodp(power=0.5)",
    .help = "tanimotodp(power=1/2,terms=4,shares=-1,bias=none)   compares counts by dot products "
            "of their\n"
            "           powers, here of their roots; it has no hyperparameters.  Its features are "
            "of the first\n"
            "           `terms` of a series, term r with a share of r^shares of them; "
            "bias=normalize makes rows\n"
            "           as long as they are, bias=sketch adds what is left out\n",
    .kind = LAYER_WINDOWS,
    .rows = ROWS_COUNTS,
    .family = &layer_tanimoto,
    .start = { .width = 1, .channels = COUNTS_CHANNELS, .terms = 4, .shares = -1.0 },
    .settings = settings,
    .hint = "kernel tanimotodp(power=1/2,terms=4,shares=-1,bias=none)",
    .check = check_bias,
    .inside = &counts,
    .exact = tanimotodp_exact,
    .tile = &tile_ops,
};
