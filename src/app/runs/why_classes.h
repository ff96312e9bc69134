/* app/runs/why_classes.h -- what `why` finds for classes: probabilities that do not hold, sure
 * errors, rare classes, and rows that contradict each other. */
#ifndef GPDESK_WHY_CLASSES_H
#define GPDESK_WHY_CLASSES_H

#include "app/runs/scoring/class_facts.h"
#include "app/runs/why.h"
#include "data/encoding.h"

/* A copy of what the run holds, because the job does not see the workspace. */
struct why_classes {
    char run[16];
    bool scored;               /* on rows that the fit had not seen: */
    struct class_facts facts;
    double loss, constant;     /* the log loss, and that of the constant shares */
    bool valid, calibrated;    /* the split has validation rows; it is a calibration already */
};
void why_classes_take(struct why_classes *, const struct run *);
/* Adds causes to *n of CAUSES_MOST.  e: the encoded training rows; names: of the classes. */
enum status why_classes_look(const struct why_classes *, const struct encoded *e,
                             char *const *names, struct cause *, size_t *n, struct err *);

#endif
