/* app/clustering.h -- kernel PCA and kernel k-means as background jobs. */
#ifndef GPDESK_CLUSTERING_H
#define GPDESK_CLUSTERING_H

#include "app/job.h"
#include "app/workspace.h"

struct clustering_opts {
    size_t dims;
    const char *color;                /* "target" or a column's name; NULL: target */
    const size_t *k; size_t nk;       /* cluster: candidates; the best silhouette wins. 0: pca only */
    size_t rows;                      /* at most so many rows (an even sample) */
    size_t features;
};
/* With run NULL: the current kernel and hyperparameters on the training rows of `d`. */
enum status clustering_run(struct workspace *, struct dataset *d, const struct run *,
                           const struct clustering_opts *, const char *line, struct err *err);
void pca_state_free(struct pca_state *);

#endif
