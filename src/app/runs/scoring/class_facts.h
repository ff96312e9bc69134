/* app/runs/scoring/class_facts.h -- what predictions of classes show beside their scores, for
 * `check` and for `why` (share/doc/methods.md 17.14). */
#ifndef GPDESK_CLASS_FACTS_H
#define GPDESK_CLASS_FACTS_H

#include "app/core/run.h"
#include "compute/stats/judgement.h"

/* The probability of class c in row i; of two classes with one function, c = 1 is the positive
 * one. */
double class_facts_p(const struct prediction *, size_t c, size_t i);

/* A row of which another class was the likeliest, whatever was chosen. */
struct class_error { size_t row, seen, taken; double p; }; /* row of the table; p of `taken` */
enum { CLASS_ERRORS = 10 };
#define CLASS_FACTS_RARE 0.05
struct class_facts {
    size_t n, classes;
    struct judged_classes judged;
    /* Rows of a class that had a probability below CLASS_FACTS_RARE: how many, how many the
     * probabilities expect, and the standard deviation of that number. */
    size_t surprising;
    double expected, expected_sd;
    struct class_error error[CLASS_ERRORS]; /* those with the largest p, falling */
    size_t nerror, wrong;                   /* how many are kept; all rows with errors */
    /* Of each class; those that were predicted rightly, by a decision rule where there is one. */
    size_t rows[TARGETS_MOST], found[TARGETS_MOST];
    size_t commonest, rarest;               /* of the classes that have rows */
    double accuracy, balanced;
};
/* Rows whose class is unknown are left out. */
void class_facts_of(const struct prediction *, size_t classes, struct class_facts *);
/* More rows are surprising than chance explains. */
bool class_facts_surprise(const struct class_facts *);
/* One class has ten times the rows of another, and the mean over the classes of the rows found is
 * more than 0.05 below the share of all rows. */
bool class_facts_imbalance(const struct class_facts *);
/* Appends "row 17: north taken for south (99.8 %); row ..", at most `most` of them. */
void class_facts_errors(struct buf *, const struct class_facts *, char *const *names, size_t most);

#endif
