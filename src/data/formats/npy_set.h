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
bool npy_set_is_pattern(
    const char *path); /* holds * ? or [, or is NPY files with commas, and is no file */
bool npy_set_is_npy(const char *word);       /* ends as the name of an NPY file does */

#endif
