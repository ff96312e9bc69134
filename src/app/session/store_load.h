/* app/session/store_load.h -- shared only by the files that read a session.
 *
 *   store_load.c        the rows of the file, the workspace, earlier states
 *   store_read_data.c   datasets
 *   store_read_run.c    fits and tunings
 *   store_read_model.c  fitted models
 *   store_read_field.c  values that several of these read */
#ifndef GPDESK_STORE_LOAD_H
#define GPDESK_STORE_LOAD_H

#include "app/session/store_impl.h"

/* at most this many of anything; bytes of a name */
enum { STORE_MANY = 1 << 24, STORE_NAME_MOST = 1 << 20 };
#define STORE_ROWS_MOST ((int64_t)1 << 40)

/* A table that several datasets and runs of the session share. */
struct shared_table {
    char *path, *recipe;
    char *steps;               /* applied after reading (data/prepare.h); "": none */
    struct table *table;
    bool changed;              /* the file has changed */
};
struct loader {
    struct workspace *ws;
    struct sdb *db;
    struct store_loaded *out;
    struct shared_table *table;
    size_t ntable, captable, capversion, caprun, capaway;
    bool recall;    /* reading one earlier state, beside a loaded workspace whose tables are used */
    struct dataset **made;     /* one for each version, once it is made; NULL: unusable */
    bool *tried;
    char *state;               /* the body of the workspace's row */
    bool state_damaged;
    size_t damaged_lines;
    char **interrupted;        /* commands that were running when the program ended */
    size_t ninterrupted;
    enum status rc;
    struct err err;
};

/* Reports what is damaged and left out (store_load.c). */
void store_load_damaged(struct loader *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns true if rc is a failure; loading then ends. */
bool store_load_fatal(struct loader *, enum status rc);

/* The dataset of a version, made on first use and borrowed; NULL if it is unusable. *changed: its
 * file has changed. */
struct dataset *store_read_dataset(struct loader *, int64_t id, bool *changed);
/* Reads a row of the table of runs (an sdb_row_fn; ctx is the loader). */
bool store_read_run(void *ctx, int64_t row, const char *name, const char *body, bool good);
/* 7 for "r7" and "t7"; 0 if it is not the name of a run */
size_t store_read_run_number(const char *name);
/* Reads the model of a run. Errors are recorded in the document. */
void store_read_model(struct loader *, struct jdoc *, struct run *);
/* Reads the variance factors of the runs, as far as memory allows. */
void store_read_model_factors(struct loader *);
/* Reads n doubles of a run, which the caller frees; NULL with the reason if they are absent or
 * damaged. */
double *store_read_model_doubles(struct loader *, const char *owner, const char *what, size_t n,
                                 struct err *);

/* The index of a word in `words` (NULL-terminated); -1 if it is not there. */
int store_read_field_word(const char *const *words, const char *word);
bool store_read_field_kernel(struct jdoc *, struct kernel *, const char *path);
/* The kernel of a state: one that learns comes without its weights where they are lost or damaged,
 * and has to be tuned again; the rest of the state is whole. */
bool store_read_field_current(struct jdoc *, struct kernel *, const char *path);
void store_read_field_hp(struct jdoc *, double *hp, size_t n, const char *path);
/* zero: 0 is allowed, too */
double store_read_field_positive(struct jdoc *, const char *path, bool zero);
void store_read_field_bounds(struct jdoc *, const char *in, struct tune_bound *hp, size_t n,
                             struct tune_bound *amplitude, struct tune_bound *noise);
size_t store_read_field_size(struct jdoc *, const char *path);
/* The likelihood of two classes with the link that is there; NULL: there is none. */
const struct likelihood_ops *store_read_field_link(struct jdoc *, const char *path);
enum outcome store_read_field_outcome(struct jdoc *, const char *path);
/* The number of targets in a list; 1 if there is no list. */
size_t store_read_field_targets(struct jdoc *, const char *path);
/* Reads positive amplitudes or noises of t targets. For one target the number that was already read
 * is used. */
void store_read_field_each(struct jdoc *, const char *path, size_t t, double *each);

#endif
