/* compute/kernels/mlp.c -- a kernel whose features are learned: phi(x).phi(y), where phi is a
 * multilayer perceptron (net.h; share/doc/methods.md 23).  A tuning learns its weights; its
 * features are the outputs of the net, which the operator makes of each row (features/learned.c).
 */
#include "compute/kernels/kernels.h"

static const struct kparam mlp_params[] = {
    { "width", 1.0, NET_WIDTH_MOST, 512.0, "numbers of a hidden layer, 1 to 4096",
      kernel_learned_whole, NULL, NULL },
    { "depth", 1.0, NET_DEPTH_MOST, 2.0, "hidden layers, 1 to 8", kernel_learned_whole, NULL,
      NULL },
    { "out", 1.0, NET_OUT_MOST, 64.0, "features, 1 to 1024", kernel_learned_whole, NULL, NULL },
    { "norm", 0.0, 2.0, 1.0, "layer, batch or none: of each hidden layer", kernel_learned_whole,
      kernel_learned_norms, NULL },
    { "rows", 0.0, 1.0, 0.0, "plain or unit: features of length 1", kernel_learned_whole,
      kernel_learned_lengths, NULL },
    { 0 },
};

static struct net_shape mlp_shape(const double *p, size_t inputs)
{
    return (struct net_shape){ .inputs = inputs, .width = (size_t)p[0], .depth = (size_t)p[1],
                               .out = (size_t)p[2], .norm = (enum net_norm)p[3],
                               .unit_rows = p[4] != 0.0 };
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
    .recipe = kernel_learned_recipe,
};
