/* app/runs/scoring/calibrating_classes.h -- calibrations of classes: a temperature for their
 * probabilities, or prediction sets (share/doc/methods.md 17.12, 17.13). */
#ifndef GPDESK_CALIBRATING_CLASSES_H
#define GPDESK_CALIBRATING_CLASSES_H

#include "app/runs/scoring/scoring_impl.h"
#include "compute/likelihood/temperature.h"
#include "compute/stats/calibration.h"

struct calibrating_classes {
    enum calibration_way way;      /* TEMPERATURE or CONFORMAL */
    struct temperature temperature;
    double level, reach;           /* of the sets */
    size_t rows;
};

/* The way that `auto` means for the run, which has a model; USAGE for one that its targets do not
 * have. */
enum status calibrating_classes_way(const struct run *, enum calibration_way *, struct err *);
/* What the encoded rows, which the model has not seen, ask of it; c->way and c->level are given. */
enum status calibrating_classes_measure(const struct model *, const struct encoding *,
                                        const struct encoded *, struct job *,
                                        struct calibrating_classes *c, struct err *);
/* Enters it into a copy of the model and into the figures of its run. */
void calibrating_classes_apply(const struct calibrating_classes *, struct model *,
                               struct fit_info *);
/* The classes of the prediction set of row i, the likeliest first; returns their number. */
size_t calibrating_classes_set(const struct model *, size_t classes, const struct prediction *,
                               size_t i, size_t class[TARGETS_MOST]);
/* The members and words of the result of `calibrate`. */
void calibrating_classes_tell(struct rec *, const struct calibrating_classes *);
/* Those of `score`, where the run was calibrated. */
void calibrating_classes_score_json(struct rec *, const struct run *, const struct prediction *);
void calibrating_classes_score_text(struct rec *, const struct run *, const struct prediction *);

#endif
