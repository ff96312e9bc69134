/* app/runs/clustering.h -- kernel PCA and kernel k-means as background jobs. */
#ifndef GPDESK_CLUSTERING_H
#define GPDESK_CLUSTERING_H

#include "data/formats/import.h"
#include "app/core/job.h"
#include "app/core/workspace.h"
#include "compute/stats/kpca.h"

/* Results of the last `pca` and `cluster`. */
struct pca_state { bool have; struct kpca k; double *coords; size_t n; size_t *row; size_t dims;
                   double *color; char *color_name; bool sampled; char run[16];
                   struct kmeans clusters; bool have_clusters;
                   double *fresh;
                   /* rows of another file, projected onto the same components */
                   size_t nfresh, *fresh_row, *fresh_label;
                   size_t nk, k_tried[64];
                   double silhouettes[64];
}; /* cluster: each k that was tried */
extern const struct owner clustering_owner;
/* The result of the last job. `have` is false before the first. */
const struct pca_state *clustering_state_of(const struct workspace *);

struct clustering_opts {
    size_t dims;
    const char *color;                /* "target" or a column's name; NULL: target */
    const size_t *k;
    /* cluster: candidate numbers of clusters; the best mean silhouette wins. 0: pca only */
    size_t nk;
    size_t rows;                      /* use at most this many rows (an evenly spaced sample) */
    size_t features;
    /* new rows to project; CSV file of coordinates and labels; NULL: none */
    const char *file, *out;
};
/* Queues the job. The CSV has the columns set (train or new), row (of its table, from 1), pc1, pc2,
 * ... and, after clustering, cluster (from 0; for new rows that of the nearest centre). If run is
 * NULL, the current kernel and hyperparameters are used on the training rows of `d`. */
enum status clustering_run(struct workspace *, struct dataset *d, const struct run *,
                           const struct clustering_opts *, const char *line, struct err *err);

#endif
