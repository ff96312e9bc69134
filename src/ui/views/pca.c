/* ui/views/pca.c -- view 7: kernel principal components and clusters. */
#include "ui/views/figures.h"
#include "app/runs/clustering.h"

struct pca_view { struct axes axes; };

static void pca_draw(struct view *v, const struct canvas *c)
{
    struct pca_view *s = v->state;
    const struct pca_state *p = clustering_state_of(v->desk->ws);
    if (!p->have && !p->have_clusters) {
        draw_paragraph(
            c, 1, 2, theme_attr(R_DIM),
            "No components yet. Type  pca  for the principal components of the data as the kernel "
            "sees them, or  cluster k=4  for groups.");
        return;
    }
    struct figures_request q = { v->desk, "pca", NULL, &s->axes, false };
    uint64_t what = 7 + axes_stamp(&s->axes) * 16;
    uint64_t stamp = (uint64_t)(uintptr_t)p->coords * 31 + (uint64_t)(uintptr_t)p->color * 7 +
                     (uint64_t)(uintptr_t)p->clusters.label + p->n + p->have_clusters;
    plotpane_draw(v->plot, c, what, stamp, figures_make, &q, desk_now());
}

static bool pca_act(struct view *v, enum act act)
{
    struct pca_view *s = v->state;
    return axes_act(v, act, &s->axes);
}

static void pca_plot(const struct view *v, struct buf *b)
{
    (void)v;
    buf_puts(b, "pca");
}

static void pca_title(struct view *v, struct buf *b)
{
    const struct pca_state *p = clustering_state_of(v->desk->ws);
    if (p->have && p->sampled)
        buf_printf(b, ": a sample of %zu rows", p->n);
    if (p->have_clusters)
        buf_printf(b, "%s %zu clusters", p->sampled ? "," : ":", p->clusters.k);
}

static const struct keyrow keys[] = {
    { "k", ACT_NONE, "cluster", "cluster: the line waits on the prompt", "cluster k=", 0 },
    { NULL, ACT_NONE, NULL, NULL, NULL, 0 },
};
const struct view_ops pca_view = {
    .tab = "PCA",
    .title = "PCA and clusters",
    .about = "Rows placed by the first two principal components of the kernel's feature space: "
             "rows that the kernel finds alike lie together. Colours are clusters (cluster k=N) "
             "or the target. The shares on the axes say how much of the variation each component "
             "carries.",
    .keys = keys,
    .kinds = KIND_PLOT,
    .news = VIEW_NEWS_COMPONENTS,
    .beside = VIEW_CALIB,
    .plots = "pca",
    .state_size = sizeof(struct pca_view),
    .draw = pca_draw,
    .act = pca_act,
    .verdict = figures_verdict,
    .title_more = pca_title,
    .plot_words = pca_plot,
    .copy = figures_copy,
};
