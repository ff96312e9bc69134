/* compute/kernels/mlp.c -- a kernel whose features are learned: phi(x).phi(y), where phi is a
 * multilayer perceptron (net.h; share/doc/methods.md 23).  A tuning learns its weights; its
 * features are the outputs of the net, which the operator makes of each row (features/learned.c).
 */
#include "compute/features/featmap.h"
#include "compute/kernels/kernels.h"

#include <math.h>

static bool mlp_whole(double v)
{
    return v == floor(v);
}

static bool mlp_even(double v)
{
    return v == 2.0 * floor(0.5 * v);
}

static const char *const norms[] = { "none", "layer", "batch", NULL };
static const char *const rows[] = { "plain", "unit", NULL };

static const struct kparam mlp_params[] = {
    { "width", 1.0, NET_WIDTH_MOST, 512.0, "numbers of a hidden layer, 1 to 4096", mlp_whole,
      NULL },
    { "depth", 1.0, NET_DEPTH_MOST, 2.0, "hidden layers, 1 to 8", mlp_whole, NULL },
    { "out", 2.0, NET_OUT_MOST, 64.0, "features, an even number from 2 to 1024", mlp_even, NULL },
    { "norm", 0.0, 2.0, 1.0, "layer, batch or none: of each hidden layer", mlp_whole, norms },
    { "rows", 0.0, 1.0, 0.0, "plain or unit: features of length 1", mlp_whole, rows },
    { 0 },
};

static struct net_shape mlp_shape(const double *p, size_t inputs)
{
    return (struct net_shape){ .inputs = inputs, .width = (size_t)p[0], .depth = (size_t)p[1],
                               .out = (size_t)p[2], .norm = (enum net_norm)p[3],
                               .unit_rows = p[4] != 0.0 };
}

static size_t mlp_recipe(const double *params, bool alone, struct fm_step *out)
{
    (void)params, (void)alone; /* the features of a product are made before (kernel_learned.c) */
    out[0] = (struct fm_step){ .op = FM_COPY };
    return 1;
}

static const struct hparam none[] = { { 0 } };
static const char *const examples[] = { "mlp(rbf,out=4)", "mlp(out=8) * mlp(out=8)", "mlp + rbf",
                                        NULL };

const struct kernel_ops kernel_mlp = {
    .name = "mlp",
    .title = "Learned features",
    .formula = "phi(x).phi(y), phi learned by tune",
    .cite = "Wilson et al. 2016; methods.md 23",
    .params = mlp_params,
    .hparams = none,
    .learns = true,
    .shape = mlp_shape,
    .examples = examples,
    .recipe = mlp_recipe,
};
