/* compute/kernels/layers/tanimotodp.c -- tanimotodp: the Tanimoto similarity by dot products, of
 * two rows of counts as vectors, each count to a power (share/doc/methods.md 4.9; Ralaivola et al.
 * 2005; Tripp et al. 2023, theorem 4.1).  It has no hyperparameters; two rows without any count are
 * equal.  Where all counts are 0 or 1 it is the kernel tanimoto. */
#include "compute/kernels/kernel.h"
#include "compute/kernels/layers/layer.h"
#include "compute/kernels/layers/places.h"

#include <math.h>

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
    { "power", 0.01, 2.0, 0.5, "a number from 0.01 to 2", NULL },
    { 0 },
};

static const struct kernel_ops counts = {
    .name = "products",
    .title = TITLE,
    .formula = FORMULA,
    .cite = CITE,
    .params = powers,
    .hparams = none,
    .pair = counts_pair,
};

const struct layer_ops layer_tanimotodp = {
    .name = "tanimotodp",
    .title = TITLE,
    .formula = FORMULA,
    .cite = CITE,
    .example = "tanimotodp(power=0.5)",
    .help = "tanimotodp(power=1/2)   compares counts by dot products of their powers, here of "
            "their roots; it\n"
            "           has no hyperparameters, and models with it are exact\n",
    .kind = LAYER_WINDOWS,
    .rows = ROWS_COUNTS,
    .family = &layer_tanimoto,
    .one_position = true,
    .start = { .width = 1, .channels = COUNTS_CHANNELS },
    .hint = "kernel tanimotodp(power=1/2)",
    .inside = &counts,
    .exact = tanimotodp_exact,
    .drawn_none = true,
};
