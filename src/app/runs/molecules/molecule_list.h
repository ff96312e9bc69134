/* app/runs/molecules/molecule_list.h -- the molecules that pick, neighbours or cliffs told last,
 * which `plot molecules` draws side by side. */
#ifndef GPDESK_MOLECULE_LIST_H
#define GPDESK_MOLECULE_LIST_H

#include "app/core/job.h"
#include "app/core/owner.h"
#include "app/core/workspace.h"
#include "figure/figure.h"

enum { MOLECULE_LIST_SHOWN = 24 }; /* molecules that are drawn */

/* A molecule: its text, and up to three lines below it.  value: what bars show; NaN: none. */
struct molecule_item { const char *smiles, *line[3]; double value; };
struct molecule_list;

extern const struct owner molecule_list_owner;
/* from: the command; value: what the values are.  pairs: items 0 and 1, 2 and 3, .. belong
 * together. */
struct molecule_list *molecule_list_new(const char *from, const char *title, const char *value,
                                        bool pairs, struct err *);
/* Adds one and copies it; only counts those that are not drawn anyway. */
enum status molecule_list_add(struct molecule_list *, const struct molecule_item *, struct err *);
/* Main thread: keeps the list as the last of its command; NULL does nothing. */
void molecule_list_keep(struct workspace *, struct molecule_list *);
void molecule_list_free(void *);

/* For a plot: a copy of the last list, or of the last of this command (NULL: of any). STATE, with
 * what to do, if there is none. */
enum status molecule_list_last(struct workspace *, const char *from, void **out, struct err *);
struct figure *molecule_list_figure(void *, struct job *, struct err *);

/* Rows of a dataset, with how alike each is to the first by its counts (NaN where it has none).
 * target: a column; NULL: none. */
struct dataset;
enum status molecule_list_of_rows(const struct dataset *, const char *target, const size_t *row,
                                  size_t n, void **out, struct err *err);

/* The column of molecules that is an input of the dataset; SIZE_MAX: there is none. */
size_t molecule_list_column(const struct dataset *);
/* Writes "NAME (row 12)", the name shortened, or "row 12" where no column of words but `smiles` has
 * one. */
enum { MOLECULE_LIST_HEAD = 128 };
struct table;
void molecule_list_head(const struct table *, size_t row, size_t smiles,
                        char out[MOLECULE_LIST_HEAD]);

#endif
