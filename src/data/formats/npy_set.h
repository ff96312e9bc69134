/* data/formats/npy_set.h -- tables in several NPY files, as xGPR's users have them: blocks of
 * inputs, with one file of targets for each. */
#ifndef GPDESK_NPY_SET_H
#define GPDESK_NPY_SET_H

#include "data/formats/import.h"

struct parts {
    size_t n;       /* 0: the path is a single file, to be read by its content */
    char **x, **y;  /* y NULL: no targets */
    char *path;     /* absolute; the table is named after it */
};
/* True if the path contains * ? or [, or lists NPY files with commas, and no file has this name. */
bool npy_set_is_pattern(const char *path);
bool npy_set_is_npy(const char *word);       /* true if it ends like the name of an NPY file */

#endif
