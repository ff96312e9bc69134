/* app/plots/plots_labels.h -- the scored rows of a run that predicts classes, two or several, in
 * one form for all plots of classes. */
#ifndef GPDESK_PLOTS_LABELS_H
#define GPDESK_PLOTS_LABELS_H

#include "app/core/run.h"
#include "figure/figure.h"

/* n rows: their class and the class that was chosen, 0 to classes - 1, and `classes` vectors of
 * probabilities.  The names are borrowed from the run. */
struct plots_labels {
    size_t n, classes;
    double *label, *chosen, *prob; /* owned */
    char *const *name;
    bool train; /* they are training rows */
};
/* Of the run's last score, without rows whose class is unknown.  Close it also after a failure. */
enum status plots_labels_open(const struct run *, struct plots_labels *, struct err *);
void plots_labels_close(struct plots_labels *);
/* The most frequent classes, at most `most`, in the order of their number: of the rows of `label`.
 * Returns how many. */
size_t plots_labels_frequent(size_t n, size_t classes, const double *label, size_t most,
                             size_t *which);
/* The first panel of plot reliability, as the figure of plot calibration. */
struct figure *plots_labels_calibration(const struct run *, struct err *);
/* "reliability of r1 (30 held-out rows)" */
void plots_labels_title(const struct plots_labels *, const char *what, const struct run *,
                        char *out, size_t len);

#endif
