/* compute/kernels/layers/graphpoly.c -- graphpoly(degree=2): the sum over all pairs of nodes of
 * powers of their products, like the SOAP kernel (share/doc/methods.md 4.3; Bartok et al. 2013;
 * Parkinson & Wang 2023, with the correction given there).  The power is a kernel that is not in
 * the registry; its features are a TensorSRHT, as those of poly (3.10). */
#include "compute/features/featmap.h"
#include "compute/kernels/kernel.h"
#include "compute/kernels/layers/windows.h"

#include <math.h>

/* The steps of poly without a lengthscale and without lower degrees. */
static size_t power_recipe(const double *params, bool alone, struct fm_step *out)
{
    size_t n = 0;

    (void)alone;
    for (size_t q = 0; q < (size_t)params[0]; q++) {
        out[n++] = (struct fm_step){ .op = FM_SCALE_IN, .index = FM_NONE };
        out[n++] = (struct fm_step){ .op = FM_SIGN, .index = q };
        out[n++] = (struct fm_step){ .op = FM_FHT };
        out[n++] = (struct fm_step){ .op = FM_SHUFFLE, .index = q };
        out[n++] = (struct fm_step){ .op = FM_TIMES };
    }
    return n;
}

static double power_pair(const double *params, const double *hp, size_t nl, size_t d,
                         const double *x, const double *y, double *grad)
{
    double sum = 0.0;

    (void)hp, (void)nl, (void)grad;
    for (size_t i = 0; i < d; i++)
        sum += x[i] * y[i];
    return pow(sum, params[0]);
}

static bool power_whole(double v)
{
    return v == floor(v);
}

static const struct kparam power_params[] = {
    { "degree", 2.0, 4.0, 2.0, "2, 3 or 4", power_whole, NULL, NULL },
    { 0 },
};
static const struct hparam none[] = { { 0 } };

static const struct kernel_ops power = {
    .name = "power",
    .title = "Polynomial of node pairs",
    .formula = "(a.b)^degree",
    .cite = "Bartok et al. 2013; Parkinson & Wang 2023",
    .params = power_params,
    .hparams = none,
    .recipe = power_recipe,
    .pair = power_pair,
};

static enum status graphpoly_check(const struct kernel *k, size_t from, struct err *err)
{
    if (k->term[from].layer.norm != NORM_STANDARD)
        return ST_OK;
    return err_set(err, ST_USAGE,
                   "graphpoly reads nodes that are not centred: norm=unit or norm=raw");
}

const struct layer_ops layer_graphpoly = {
    .name = "graphpoly",
    .title = "Polynomial of a set of nodes",
    .formula = "c c' sum_a sum_b (node a . node b')^degree: degree=2..4, "
               "norm=unit|raw, average=sqrt|none|full",
    .cite = "Bartok et al. 2013; Parkinson & Wang 2023",
    .example = "graphpoly(degree=2)",
    .help = "graphpoly(degree=2,norm=unit,average=sqrt)   sums powers of the products of all pairs "
            "of nodes, like\n"
            "           the SOAP kernel; it has no lengthscale; norm=raw uses one factor for all\n",
    .kind = LAYER_WINDOWS,
    .rows = ROWS_SYMBOLS | ROWS_VECTORS,
    .family = &layer_conv,
    .start = { .width = 1, .norm = NORM_UNIT },
    .settings = windows_settings_one_position,
    .hint = "kernel graphpoly(degree=2,norm=unit,average=sqrt)",
    .inside = &power,
    .check = graphpoly_check,
    .exact = windows_exact,
};
