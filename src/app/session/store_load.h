/* app/session/store_load.h -- shared by the files that read a session and by nobody else.
 *
 *   store_load.c        the rows of the file, the workspace, earlier states
 *   store_read_data.c   datasets
 *   store_read_run.c    fits and tunings
 *   store_read_model.c  fitted models
 *   store_read_field.c  values that these share
 */
#ifndef GPDESK_STORE_LOAD_H
#define GPDESK_STORE_LOAD_H

#include "app/session/store_impl.h"

enum { STORE_MANY = 1 << 24, STORE_NAME_MOST = 1 << 20 }; /* of anything; bytes of a name */
#define STORE_ROWS_MOST ((int64_t)1 << 40)

/* A table that datasets and runs of the session share. */
struct shared_table {
    char *path, *recipe;
    struct table *table;
    bool changed;              /* the file is not what it was */
};
struct loader {
    struct workspace *ws;
    struct sdb *db;
    struct store_loaded *out;
    struct shared_table *table;
    size_t ntable, captable, capversion, caprun, capaway;
    bool recall;               /* later, beside a loaded workspace: its tables serve */
    struct dataset **made;     /* of each version, once made; NULL: not usable */
    bool *tried;
    char *state;               /* body of the workspace's row */
    bool state_damaged;
    size_t damaged_lines;
    char **interrupted;        /* commands that were running when the program ended */
    size_t ninterrupted;
    enum status rc;
    struct err err;
};

/* store_load.c: says what is damaged and left out. */
void store_load_damaged(struct loader *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* True when rc is a failure, which then ends the loading. */
bool store_load_fatal(struct loader *, enum status rc);

/* The dataset of a version, made on first use, lent; NULL: not usable.  *changed: its file is not
 * what it was. */
struct dataset *store_read_dataset(struct loader *, int64_t id, bool *changed);
/* A row of the table of runs (sdb_row_fn; ctx is the loader). */
bool store_read_run(void *ctx, int64_t row, const char *name, const char *body, bool good);
size_t store_read_run_number(const char *name); /* 7 of "r7" or "t7"; 0: no name of a run */
/* The model of a run; what is wrong with it goes into the document. */
void store_read_model(struct loader *, struct jdoc *, struct run *);
/* Variance factors of the runs, as far as memory allows. */
void store_read_model_factors(struct loader *);
/* n doubles of a run; NULL with the reason when they are not all there, whole.  Caller frees. */
double *store_read_model_doubles(struct loader *, const char *owner, const char *what, size_t n,
                                 struct err *);

/* Index of a word among words (NULL-terminated); -1: it is none of them. */
int store_read_field_word(const char *const *words, const char *word);
bool store_read_field_kernel(struct jdoc *, struct kernel *, const char *path);
void store_read_field_hp(struct jdoc *, double *hp, size_t n, const char *path);
double store_read_field_positive(struct jdoc *, const char *path, bool zero); /* zero: or 0 */
void store_read_field_bounds(struct jdoc *, const char *in, struct tune_bound *hp, size_t n,
                             struct tune_bound *amplitude, struct tune_bound *noise);
size_t store_read_field_size(struct jdoc *, const char *path);
enum outcome store_read_field_outcome(struct jdoc *, const char *path);
/* How many targets a list is of; one when there is no list. */
size_t store_read_field_targets(struct jdoc *, const char *path);
/* Amplitudes or noises of t targets, positive; of one target the number read before. */
void store_read_field_each(struct jdoc *, const char *path, size_t t, double *each);

#endif
