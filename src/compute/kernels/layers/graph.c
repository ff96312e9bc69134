/* compute/kernels/layers/graph.c -- graph(k): the sum of a stationary kernel over all pairs of
 * nodes, which is conv with windows of one position (share/doc/methods.md 4.2; Parkinson & Wang
 * 2023). */
#include "compute/kernels/layers/windows.h"

const struct layer_ops layer_graph = {
    .name = "graph",
    .title = "Set of nodes",
    .formula = "c c' sum_a sum_b k(node a, node b'), k rbf, matern, cauchy or rq: conv with "
               "windows of one position; average=sqrt|none|full, norm=standard|unit|raw",
    .cite = "Parkinson & Wang 2023",
    .example = "graph(rbf)",
    .help = "graph(rbf)  compares sets of nodes (labels, or numbers for each node: open NODES "
            "graph=COLUMN);\n"
            "           it is conv with windows of one position; norm=unit scales nodes to length "
            "1\n",
    .kind = LAYER_WINDOWS,
    .rows = ROWS_SYMBOLS | ROWS_VECTORS,
    .family = &layer_conv,
    .start = { .width = 1 },
    .settings = windows_settings_one_position,
    .hint = "average=sqrt|none|full; a lengthscale goes inside: graph(rbf(l=2))",
    .check = windows_check,
    .exact = windows_exact,
};
