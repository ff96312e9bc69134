/* app/runs/clustering.h -- kernel PCA and kernel k-means as background jobs. */
#ifndef GPDESK_CLUSTERING_H
#define GPDESK_CLUSTERING_H

#include "data/formats/import.h"
#include "app/core/job.h"
#include "app/core/workspace.h"
#include "compute/stats/kpca.h"

/* kPCA and clusters of the last `pca` / `cluster`. */
struct pca_state { bool have; struct kpca k; double *coords; size_t n; size_t *row; size_t dims;
                   double *color; char *color_name; bool sampled; char run[16];
                   struct kmeans clusters; bool have_clusters;
                   double *fresh;
                   size_t nfresh, *fresh_row, *fresh_label; /* rows of another file, placed there */
                   size_t nk, k_tried[64];
                   double silhouettes[64];
}; /* of cluster: each k that it tried */
extern const struct owner clustering_owner;
/* Of the last job; with `have` false before the first. */
const struct pca_state *clustering_state_of(const struct workspace *);

struct clustering_opts {
    size_t dims;
    const char *color;                /* "target" or a column's name; NULL: target */
    const size_t *k;
    size_t nk; /* cluster: candidates; the best silhouette wins. 0: pca only */
    size_t rows;                      /* at most so many rows (an even sample) */
    size_t features;
    const char *file, *out; /* new rows to place there; CSV of coordinates and labels; NULL: none */
};
/* The CSV: set (train or new), row (of its table, from 1), pc1 .. , and with clusters the cluster,
 * counted from 0: that of the nearest centre for new rows. With run NULL: the current kernel and
 * hyperparameters on the training rows of `d`. */
enum status clustering_run(struct workspace *, struct dataset *d, const struct run *,
                           const struct clustering_opts *, const char *line, struct err *err);

#endif
