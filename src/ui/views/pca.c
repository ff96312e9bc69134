/* ui/views/pca.c -- view 7: kernel principal components and clusters. */
#include "ui/view.h"

struct pca_view { int x, y; };

static void pca_draw(struct view *v, const struct canvas *c)
{
    struct pca_view *s = v->state;
    const struct pca_state *p = &v->desk->ws->pca;
    if (!p->have && !p->have_clusters) {
        draw_paragraph(c, 1, 2, theme_attr(R_DIM),
                       "Nothing here yet. Type  pca  for the principal components of the data as the "
                       "kernel sees them, cluster k=4  for groups.");
        return;
    }
    struct plot_request q = { v->desk, "pca", NULL, s->x, s->y, false };
    uint64_t what = 7 + (uint64_t)(s->x * 4 + s->y) * 16;
    uint64_t stamp = (uint64_t)(uintptr_t)p->coords * 31 + (uint64_t)(uintptr_t)p->color * 7 +
                     (uint64_t)(uintptr_t)p->clusters.label + p->n + p->have_clusters;
    plotpane_draw(v->plot, c, what, stamp, plot_request_make, &q, desk_now());
}

static bool pca_key(struct view *v, int key)
{
    struct pca_view *s = v->state;
    if (axis_key(v, key, &s->x, &s->y))
        return true;
    switch (key) {
    case 'd': desk_exec(v->desk, "describe pca"); return true;
    case 'c': desk_prompt(v->desk, "cluster k="); return true;
    case 'p': desk_prompt(v->desk, "plot pca out=pca.svg"); return true;
    default: return false;
    }
}

static void pca_title(struct view *v, struct buf *b)
{
    const struct pca_state *p = &v->desk->ws->pca;
    if (p->have && p->sampled)
        buf_printf(b, ": a sample of %zu rows", p->n);
    if (p->have_clusters)
        buf_printf(b, "%s %zu clusters", p->sampled ? "," : ":", p->clusters.k);
}

static const struct keyhelp keys[] = {
    { "x y X", "logarithmic or linear axes; as they were" },
    { "c", "cluster: put the command on the prompt" },
    { "d", "the plot in words (runs: describe pca)" },
    { "p", "put an export on the prompt (plot ... out=FILE.svg)" },
    { NULL, NULL }
};
const struct view_ops view_pca = {
    '7', "PCA", "PCA and clusters",
    "Rows placed by the first two principal components of the kernel's feature space: rows that the "
    "kernel finds alike lie together. Colours are clusters (cluster k=N) or the target. The shares "
    "on the axes say how much of the variation each component carries.",
    keys, sizeof(struct pca_view), pca_draw, pca_key, plot_verdict, pca_title, true,
};
