/* compute/kernels/layers/conv.c -- conv(k): the sum of a stationary kernel over all pairs of
 * windows (share/doc/methods.md 4.1; Morrow et al. 2017; Parkinson & Wang 2023); and convdense(k),
 * the same kernel with features from dense random filters, whose entries are all drawn. */
#include "compute/features/featmap.h"
#include "compute/kernels/layers/windows.h"

/* For letters, dense filters cost an addition for each position, structured ones three times the
 * logarithm of the numbers in a window: 6 to 28 % less time up to 8 positions (bench_windows).  For
 * vectors, dense filters cost a product for each number.  Beyond some 64 numbers structured filters
 * have the smaller error, by up to a half at 9 x 20. */
static const struct layer_ops *conv_cheaper(const struct layer *l)
{
    const size_t numbers = l->width * l->channels;
    const bool dense = l->channels > 0 &&
                       (l->symbols ? l->width <= 8 && numbers <= 64 : numbers <= 16);

    return dense ? &layer_convdense : NULL;
}

const struct layer_ops layer_conv = {
    .name = "conv",
    .title = "Convolution",
    .formula = "c c' sum_a sum_b k(window a, window b'), k rbf, matern, cauchy or rq; "
               "width, average=sqrt|none|full",
    .cite = "Morrow et al. 2017; Parkinson & Wang 2023",
    .example = "conv(rbf,width=9)",
    .help = "conv(rbf,width=9,average=sqrt)   compares all windows of 9 positions of two sequences "
            "by rbf.\n"
            "           average=none: their sum, which grows with length; full: their mean; sqrt: "
            "between\n"
            "           the two, so that a sequence of unlike windows has variance 1. The kernel "
            "inside is\n"
            "           rbf, matern, cauchy or rq\n",
    .kind = LAYER_WINDOWS,
    .rows = ROWS_SYMBOLS | ROWS_VECTORS,
    .start = { .width = 9 },
    .settings = windows_settings,
    .hint = "width=9, average=sqrt|none|full; a lengthscale goes inside: conv(rbf(l=2))",
    .check = windows_check,
    .exact = windows_exact,
    .cheaper = conv_cheaper,
};

static size_t convdense_project(struct fm_step *out)
{
    out[0] = (struct fm_step){ .op = FM_DENSE };
    return 1;
}

const struct layer_ops layer_convdense = {
    .name = "convdense",
    .title = "Convolution by dense filters",
    .formula = "the kernel of conv with dense random filters, for windows of few numbers; conv "
               "uses it where it is cheaper",
    .cite = "Morrow et al. 2017",
    .example = "convdense(rbf,width=3)",
    .help =
        "convdense(rbf,width=3)   the same kernel with dense random filters (Morrow et al. 2017). "
        "conv uses\n"
        "           them where windows have few letters; a note says so\n",
    .kind = LAYER_WINDOWS,
    .rows = ROWS_SYMBOLS | ROWS_VECTORS,
    .family = &layer_conv,
    .start = {.width = 9},
    .settings = windows_settings,
    .hint = "width=9, average=sqrt|none|full; a lengthscale goes inside: conv(rbf(l=2))",
    .check = windows_check,
    .exact = windows_exact,
    .project = convdense_project,
};
