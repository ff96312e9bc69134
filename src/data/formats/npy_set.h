/* data/formats/npy_set.h -- tables in several NPY files, as xGPR's users have them: blocks of
 * inputs with a file of targets for each. */
#ifndef GPDESK_NPY_SET_H
#define GPDESK_NPY_SET_H

#include "data/formats/import.h"

struct parts {
    size_t n;       /* 0: the path is one file, to be read by its content */
    char **x, **y;  /* y NULL: no targets */
    char *path;     /* absolute: what the table is named after */
};
/* path: a directory with pairs (x_3.npy and y_3.npy, 0_xblock.npy and 0_yblock.npy, X.npy and
 * y.npy: a word's first x becomes y); a pattern (x_*.npy); a list, a text file with one file or one
 * pair a line; NPY files with commas between them; or one NPY file where target is another. target:
 * one file, a pattern, or files with commas between them, or NULL: the pairs are found as in a
 * directory.  Patterns are sorted with numbers in their order. */
enum status npy_set_find(const char *path, const char *target, struct parts *out, struct err *err);
void npy_set_free(struct parts *);
bool npy_set_is_pattern(
    const char *path); /* holds * ? or [, or is NPY files with commas, and is no file */
bool npy_set_is_npy(const char *word);       /* ends as the name of an NPY file does */
/* One table, the rows in the order of the files; targets are its last columns. */
enum status npy_set_import(const struct parts *, const struct import_opts *, const struct ctl *,
                         struct table **out, struct err *err);

#endif
